//! Gathering the rows of a block.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::brief::{self, Row, Text};
use super::packed::Packer;
use super::packed_rows::NewRows;
use super::{Facts, Line, PeakValue, Rare, ReportRow, Span, TreeNode, ValueReference};

/// The rows of the block that is being read. Kept from block to block, so that none has to be moved while
/// their number grows.
#[derive(Default)]
pub(crate) struct Gathered {
    /// The number of the line that is being read.
    pub(super) line: u16,
    brief: Packer,
    names: Texts,
    shapes: Texts,
    peak_values: NewRows<PeakValue>,
    tree: NewRows<TreeNode>,
    report: NewRows<ReportRow>,
    rare: Rare,
    has_rare: bool,
}

/// The distinct texts of a block.
#[derive(Default)]
struct Texts {
    spans: Vec<Span>,
    table: HashTable<u16>,
    /// The numbers of the last two.
    last: [u16; 2],
}

impl Texts {
    /// The number of the text at `span` of the block.
    fn number(&mut self, text: &str, span: Span) -> Text {
        if span.is_empty() {
            return Text::NONE;
        }
        let hash = |span: Span| FxBuildHasher.hash_one(span.bytes(text));
        let Self { spans, table, last } = self;
        let own = span.bytes(text);
        // A name stands on several lines of an entry, and next to it mostly the same index.
        let is_own = |at: u16| {
            spans
                .get(at as usize)
                .is_some_and(|it| it.bytes(text) == own)
        };
        if let Some(&at) = last.iter().find(|&&at| is_own(at)) {
            return Text(at);
        }
        let own_hash = hash(span);
        if let Some(&at) = table.find(own_hash, |&at| is_own(at)) {
            *last = [at, last[0]];
            return Text(at);
        }
        // A block of so many texts has more bytes than blocks have.
        let at = u16::try_from(spans.len()).unwrap_or(u16::MAX);
        if at < u16::MAX {
            spans.push(span);
            table.insert_unique(own_hash, at, |&at| hash(spans[at as usize]));
            *last = [at, last[0]];
        }
        Text(at)
    }

    fn clear(&mut self) {
        self.spans.clear();
        self.table.clear();
    }
}

impl Gathered {
    fn reference(&mut self, text: &str, value: &ValueReference) -> brief::Reference {
        brief::Reference {
            id: value.id.value,
            name: self.names.number(text, value.name),
            index: self.names.number(text, value.index),
            color: brief::color(value.color),
            phi: value.phi,
            is_whole: value.is_whole(text),
        }
    }

    /// Adds a row that stands on the line being read.
    #[inline]
    pub(super) fn push(&mut self, text: &str, row: Line) {
        let brief = match row {
            Line::Allocation(row) => Row::Allocation(brief::Allocation {
                index: row.index.value,
                size: row.size.value,
                color: row.color.value,
                parameter: row.parameter.get(),
                parameter_shape: self.shapes.number(text, row.parameter_shape),
                parameter_index: self.names.number(text, row.parameter_index),
                kinds: row.kinds,
                has_output_shape: !row.output_shape.is_empty(),
                is_read: row.size.is_read(),
            }),
            Line::Placement(row) => Row::Placement(brief::Placement {
                value: self.reference(text, &row.value),
                size: row.size.value,
                offset: row.offset.value,
                shape: self.shapes.number(text, row.shape),
                is_read: row.is_read(),
            }),
            Line::UsedValue(row) => Row::UsedValue(self.reference(text, &row.value)),
            Line::Position(row) => Row::Position(brief::Position {
                name: self.names.number(text, row.name),
                index: self.names.number(text, row.index),
            }),
            Line::Use(row) => Row::Use(brief::Use {
                name: self.names.number(text, row.name),
                operand: row.operand.get().unwrap_or(u64::MAX),
                index: self.names.number(text, row.index),
            }),
            Line::Instruction(row) => Row::Instruction(brief::Instruction {
                name: self.names.number(text, row.name),
                shape: self.shapes.number(text, row.shape),
                opcode: self.names.number(text, row.opcode),
                parameter: row.parameter.get().unwrap_or(u64::MAX),
                is_tuple: row.shape.text(text).starts_with('('),
                is_root: row.is_root(text),
            }),
            Line::Step(row) => Row::Step(brief::Step {
                step: row.number().unwrap_or(u64::MAX),
                name: self.names.number(text, row.name),
            }),
            Line::LiveRange(row) => {
                let steps = [row.start, row.end].map(|it| it.value);
                let is_read = row.start.is_read() && row.end.is_read();
                let [start, end] = if is_read { steps } else { [u64::MAX; 2] };
                Row::LiveRange(brief::LiveRange {
                    start,
                    end,
                    name: self.names.number(text, row.name),
                    index: self.names.number(text, row.index),
                })
            }
            row => return self.push_rare(row),
        };
        self.brief.push(self.line, &brief);
    }

    fn push_rare(&mut self, row: Line) {
        let rare = &mut self.rare;
        self.has_rare = true;
        match row {
            Line::Heading(heading, line) => rare.headings.push((heading, line)),
            Line::Total(row) => rare.totals.push(row),
            Line::PeakValue(row) => self.peak_values.push(&row),
            Line::TreeNode(row) => self.tree.push(&row),
            Line::Report(row) => self.report.push(&row),
            Line::OutOfMemory(row) => rare.out_of_memory.push(row),
            Line::TableRow(row) => rare.table_rows.push(row),
            Line::Computation(row) => rare.computations.push(row),
            _ => {}
        }
    }

    /// All that the block says; there is nothing then, with room for more.
    pub(crate) fn take(&mut self) -> (Facts, Option<Box<Rare>>) {
        let facts = self.brief.take(&self.names.spans, &self.shapes.spans);
        self.names.clear();
        self.shapes.clear();
        let has_rare = std::mem::take(&mut self.has_rare);
        let rare = has_rare.then(|| {
            Box::new(Rare {
                peak_values: self.peak_values.take(),
                tree: self.tree.take(),
                report: self.report.take(),
                ..self.rare.take()
            })
        });
        (facts, rare)
    }
}
