//! The HLO text: its tables, computations and instructions.

use std::ops::ControlFlow;

use buflens_syntax::Document;
use buflens_syntax::facts::{self, Heading, brief};

use super::one_dump::OneDump;
use super::{Join, each_in_turn};
use crate::model::{Dump, FileId, Instruction, Row};

impl Join<'_> {
    pub(super) fn read_module(&mut self, file: FileId, document: &Document) {
        let mut computation = None;
        let mut table = "";
        let mut one = OneDump::default();
        each_in_turn(document, |block, start, content| {
            if let Some(line) = one.begins_another(content) {
                self.add_second(file, Some(start + line.start..start + line.end));
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
                if let Some(rows) = self.dump.tables.under(table) {
                    rows.push(row(number));
                }
            }
            if let Some((_, title)) = titles.last() {
                table = title.text(content.text());
            }
            let texts = self.texts_of(content, &facts);
            let dump = &mut self.dump;
            let mut headers = content.computations().iter().enumerate().peekable();
            let instructions = facts.rows().filter_map(|(line, row)| match row {
                brief::Row::Instruction(instruction) => Some((line, instruction)),
                _ => None,
            });
            for (number, (line, instruction)) in instructions.enumerate() {
                while let Some((at, header)) =
                    headers.next_if(|(_, header)| header.instructions as usize <= number)
                {
                    computation = Some(dump.push_computation(header, content.text(), row(at)));
                }
                let name = texts.name(instruction.name);
                let entry = Instruction {
                    row: row(line.into()),
                    computation,
                };
                let first = dump.instructions.entry(name).or_insert(entry);
                if first.computation != computation
                    && let Some(computation) = computation
                {
                    dump.repeated.entry((computation, name)).or_insert(entry);
                }
            }
            for (at, header) in headers {
                computation = Some(dump.push_computation(header, content.text(), row(at)));
            }
            ControlFlow::Continue(())
        });
    }
}

impl Dump {
    fn push_computation(&mut self, header: &facts::Computation, text: &str, row: Row) -> u32 {
        let number = self.computations.len() as u32;
        let name = self.names.intern(header.name.text(text));
        self.computations_by_name.entry(name).or_insert(number);
        self.computations.push(row);
        number
    }
}
