//! The HLO text: its tables, computations and instructions.

use std::ops::Range;
use std::sync::Arc;

use buflens_syntax::facts::{self, Heading, brief};
use buflens_syntax::{Block, Document};

use super::Join;
use crate::model::calling::{CALLING, Calling};
use crate::model::fused::MayCopy;
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
    /// Whether it may only copy.
    copying: MayCopy,
    /// The title of the table that the next rows belong to.
    table: String,
}

impl ReadModule {
    /// The computation that is being read has ended.
    fn end_computation(&mut self) {
        let may_copy = std::mem::take(&mut self.copying).may_copy();
        let copying = &mut self.module.copying;
        copying.extend(self.computation.filter(|_| may_copy));
    }

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
        let mut read = std::mem::take(&mut self.reading.module);
        read.end_computation();
        let mut module = read.module;
        module.instructions.shrink_to_fit();
        module.signatures.shrink_to_fit();
        module.calling.shrink_to_fit();
        module.copying.shrink_to_fit();
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
        let mut read = std::mem::take(&mut self.reading.module);
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
                title.text(content.text()).clone_into(&mut read.table);
            }
            if let Some(rows) = read.module.tables.under(&read.table) {
                rows.push(row(number));
            }
        }
        if let Some((_, title)) = titles.last() {
            title.text(content.text()).clone_into(&mut read.table);
        }
        let texts = self.texts_of(content, &facts);
        let mut headers = content.computations().iter().enumerate().peekable();
        let instructions = facts.rows().filter_map(|(line, row)| match row {
            brief::Row::Instruction(instruction) => Some((line, instruction)),
            _ => None,
        });
        for (line, instruction) in instructions {
            let is_before = |header: &facts::Computation| {
                content.line_of(header.line.start) <= Some(line.into())
            };
            while let Some((at, header)) = headers.next_if(|(_, header)| is_before(header)) {
                self.push_computation(&mut read, header, content, row(at));
            }
            let (name, opcode) = (texts.name(instruction.name), texts.name(instruction.opcode));
            let ReadModule {
                ref mut module,
                computation,
                ref mut copying,
                ..
            } = read;
            let entry = Instruction {
                row: row(line.into()),
                computation,
                shape: self.shape(&texts, instruction.shape),
            };
            let signatures = &mut module.signatures;
            signatures.push(computation, entry.row, entry.shape, &instruction);
            let printed = &self.dump.names[opcode];
            copying.push(printed);
            if CALLING.contains(&printed) {
                module.calling.push(Calling {
                    row: entry.row,
                    name,
                    opcode,
                });
            }
            let first = module.instructions.first(name, entry);
            if first.computation != computation
                && let Some(computation) = computation
            {
                module.repeated.entry((computation, name)).or_insert(entry);
            }
        }
        for (at, header) in headers {
            self.push_computation(&mut read, header, content, row(at));
        }
        self.reading.module = read;
    }

    fn push_computation(
        &mut self,
        read: &mut ReadModule,
        header: &facts::Computation,
        block: &Block,
        row: Row,
    ) {
        read.end_computation();
        let module = &mut read.module;
        let number = module.computations.len() as u32;
        let name = self.dump.names.intern(header.name.text(block.text()));
        module.computations_by_name.entry(name).or_insert(number);
        module.computations.push(row);
        read.computation = Some(number);
    }
}
