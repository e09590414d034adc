//! The HLO text: its tables, computations and instructions.

use std::ops::ControlFlow;
use std::sync::Arc;

use buflens_syntax::facts::{self, Heading, brief};
use buflens_syntax::{Block, Document};

use super::one_dump::OneDump;
use super::{Join, each_in_turn};
use crate::model::{FileId, Instruction, Module, Row};

/// The HLO text of a state of a dump, joined.
#[derive(Debug)]
pub(super) struct JoinedModule {
    file: FileId,
    document: Document,
    module: Arc<Module>,
}

impl Join<'_> {
    /// Joins the HLO text, unless it is that of the state before.
    pub(super) fn join_module(&mut self, file: FileId, document: &Document) {
        let known = self.numbering.module.take();
        let known = known.filter(|it| it.file == file && it.document.is_same(document));
        let joined = known.unwrap_or_else(|| JoinedModule {
            file,
            document: document.clone(),
            module: self.read_module(file, document).into(),
        });
        self.add_second(file, joined.module.second.clone());
        self.dump.module = Arc::clone(&joined.module);
        self.numbering.module = Some(joined);
    }

    fn read_module(&mut self, file: FileId, document: &Document) -> Module {
        let mut module = Module::default();
        let mut computation = None;
        let mut table = "";
        let mut one = OneDump::default();
        each_in_turn(document, |block, start, content| {
            if let Some(line) = one.begins_another(content) {
                module.second = Some(start + line.start..start + line.end);
                return ControlFlow::Break(());
            }
            let facts = content.facts();
            let row = |row: usize| Row::new(file, block, row);
            let mut titles = content
                .headings()
                .iter()
                .filter(|(heading, _)| *heading == Heading::Table)
                .peekable();
            for (number, content_row) in content.table_rows().iter().enumerate() {
                let start = content_row.row.span.start;
                while let Some((_, title)) = titles.next_if(|(_, title)| title.start < start) {
                    table = title.text(content.text());
                }
                if let Some(rows) = module.tables.under(table) {
                    rows.push(row(number));
                }
            }
            if let Some((_, title)) = titles.last() {
                table = title.text(content.text());
            }
            let texts = self.texts_of(content, &facts);
            let mut headers = content.computations().iter().enumerate().peekable();
            let instructions = facts.rows().filter_map(|(line, row)| match row {
                brief::Row::Instruction(instruction) => Some((line, instruction)),
                _ => None,
            });
            for (number, (line, instruction)) in instructions.enumerate() {
                while let Some((at, header)) =
                    headers.next_if(|(_, header)| header.instructions as usize <= number)
                {
                    computation =
                        Some(self.push_computation(&mut module, header, content, row(at)));
                }
                let name = texts.name(instruction.name);
                let entry = Instruction {
                    row: row(line.into()),
                    computation,
                    shape: self.shape(&texts, instruction.shape),
                };
                let signatures = &mut module.signatures;
                signatures.push(computation, entry.row, entry.shape, &instruction);
                let first = module.instructions.entry(name).or_insert(entry);
                if first.computation != computation
                    && let Some(computation) = computation
                {
                    module.repeated.entry((computation, name)).or_insert(entry);
                }
            }
            for (at, header) in headers {
                computation = Some(self.push_computation(&mut module, header, content, row(at)));
            }
            ControlFlow::Continue(())
        });
        module.signatures.shrink_to_fit();
        module
    }

    fn push_computation(
        &mut self,
        module: &mut Module,
        header: &facts::Computation,
        block: &Block,
        row: Row,
    ) -> u32 {
        let number = module.computations.len() as u32;
        let name = self.dump.names.intern(header.name.text(block.text()));
        module.computations_by_name.entry(name).or_insert(number);
        module.computations.push(row);
        number
    }
}
