//! The HLO text: its tables, computations and instructions.

use std::ops::Range;
use std::sync::Arc;

use buflens_syntax::facts::{self, Heading, brief};
use buflens_syntax::{Block, Document};

use super::Join;
use crate::model::{FileId, Instruction, Module, Row};

/// The HLO text of a state of a dump, joined.
#[derive(Debug)]
pub(super) struct JoinedModule {
    file: FileId,
    document: Document,
    module: Arc<Module>,
}

/// How far an HLO text is joined.
#[derive(Debug, Default)]
pub(super) struct ReadModule {
    module: Module,
    /// The computation that the next instructions belong to.
    computation: Option<u32>,
    /// The title of the table that the next rows belong to.
    table: String,
}

impl ReadModule {
    pub(super) fn set_second(&mut self, range: Range<u32>) {
        self.module.second = Some(range);
    }
}

impl Join<'_> {
    /// The HLO text of the state before, if it is this one.
    pub(super) fn known_module(&mut self, document: &Document) -> Option<JoinedModule> {
        let file = self.reading.file;
        let known = self.numbering.module.take();
        known.filter(|it| it.file == file && it.document.is_same(document))
    }

    /// Ends the HLO text, whose document this is.
    pub(super) fn end_module(&mut self, document: &Document) {
        let mut module = std::mem::take(&mut self.reading.module).module;
        module.instructions.shrink_to_fit();
        module.signatures.shrink_to_fit();
        self.take_module(JoinedModule {
            file: self.reading.file,
            document: document.clone(),
            module: module.into(),
        });
    }

    /// Takes an HLO text that is joined.
    pub(super) fn take_module(&mut self, joined: JoinedModule) {
        if let Some(range) = &joined.module.second {
            self.add_second(range.clone());
        }
        self.dump.module = Arc::clone(&joined.module);
        self.numbering.module = Some(joined);
    }

    /// Joins the next block of the HLO text.
    pub(super) fn read_module_block(&mut self, number: usize, content: &Block) {
        let ReadModule {
            mut module,
            mut computation,
            mut table,
        } = std::mem::take(&mut self.reading.module);
        let file = self.reading.file;
        let facts = content.facts();
        let row = |row: usize| Row::new(file, number, row);
        let mut titles = content
            .headings()
            .iter()
            .filter(|(heading, _)| *heading == Heading::Table)
            .peekable();
        for (number, content_row) in content.table_rows().iter().enumerate() {
            let start = content_row.row.span.start;
            while let Some((_, title)) = titles.next_if(|(_, title)| title.start < start) {
                title.text(content.text()).clone_into(&mut table);
            }
            if let Some(rows) = module.tables.under(&table) {
                rows.push(row(number));
            }
        }
        if let Some((_, title)) = titles.last() {
            title.text(content.text()).clone_into(&mut table);
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
                computation = Some(self.push_computation(&mut module, header, content, row(at)));
            }
            let name = texts.name(instruction.name);
            let entry = Instruction {
                row: row(line.into()),
                computation,
                shape: self.shape(&texts, instruction.shape),
            };
            let signatures = &mut module.signatures;
            signatures.push(computation, entry.row, entry.shape, &instruction);
            let first = module.instructions.first(name, entry);
            if first.computation != computation
                && let Some(computation) = computation
            {
                module.repeated.entry((computation, name)).or_insert(entry);
            }
        }
        for (at, header) in headers {
            computation = Some(self.push_computation(&mut module, header, content, row(at)));
        }
        self.reading.module = ReadModule {
            module,
            computation,
            table,
        };
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
