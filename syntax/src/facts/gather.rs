//! Gathering the rows of a block.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::brief::{self, Text};
use super::{Facts, Line, Rare, Span, ValueReference, take};

/// The rows of the block that is being read. Kept from block to block, so that none has to be moved while
/// their number grows.
#[derive(Default)]
pub(crate) struct Gathered {
    /// The number of the line that is being read.
    pub(super) line: u16,
    allocations: Vec<brief::Allocation>,
    placements: Vec<brief::Placement>,
    values: Vec<brief::UsedValue>,
    positions: Vec<brief::Position>,
    uses: Vec<brief::Use>,
    instructions: Vec<brief::Instruction>,
    steps: Vec<brief::Step>,
    live_ranges: Vec<brief::LiveRange>,
    names: Texts,
    shapes: Texts,
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
        let hash = |span: Span| FxBuildHasher.hash_one(span.text(text));
        let Self { spans, table, last } = self;
        let own = span.text(text);
        // A name stands on several lines of an entry, and next to it mostly the same index.
        let is_own = |at: u16| {
            spans
                .get(at as usize)
                .is_some_and(|it| it.text(text) == own)
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

    fn take(&mut self) -> Box<[Span]> {
        self.table.clear();
        take(&mut self.spans)
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
        let line = self.line;
        match row {
            Line::Allocation(row) => self.allocations.push(brief::Allocation {
                index: row.index.value,
                size: row.size.value,
                color: row.color.value,
                parameter: row.parameter.get(),
                parameter_shape: self.shapes.number(text, row.parameter_shape),
                parameter_index: self.names.number(text, row.parameter_index),
                placements: self.placements.len() as u16,
                line,
                kinds: row.kinds,
                has_output_shape: !row.output_shape.is_empty(),
                is_read: row.size.is_read(),
            }),
            Line::Placement(row) => {
                let placement = brief::Placement {
                    value: self.reference(text, &row.value),
                    size: row.size.value,
                    offset: row.offset.value,
                    shape: self.shapes.number(text, row.shape),
                    line,
                    is_read: row.size.is_read() && row.offset.is_read(),
                };
                self.placements.push(placement);
            }
            Line::UsedValue(row) => {
                let value = brief::UsedValue {
                    value: self.reference(text, &row.value),
                    line,
                    positions: self.positions.len() as u16,
                    uses: self.uses.len() as u16,
                    instructions: self.instructions.len() as u16,
                };
                self.values.push(value);
            }
            Line::Position(row) => self.positions.push(brief::Position {
                name: self.names.number(text, row.name),
                index: self.names.number(text, row.index),
                line,
            }),
            Line::Use(row) => self.uses.push(brief::Use {
                name: self.names.number(text, row.name),
                line,
            }),
            Line::Instruction(row) => self.instructions.push(brief::Instruction {
                name: self.names.number(text, row.name),
                shape: self.shapes.number(text, row.shape),
                opcode: self.names.number(text, row.opcode),
                parameter: row.parameter.get().unwrap_or(u64::MAX),
                line,
                is_tuple: row.shape.text(text).starts_with('('),
            }),
            Line::Step(row) => self.steps.push(brief::Step {
                step: if row.step.is_read() && !row.name.is_empty() {
                    row.step.value
                } else {
                    u64::MAX
                },
                name: self.names.number(text, row.name),
                line,
            }),
            Line::LiveRange(row) => self.live_ranges.push(brief::LiveRange {
                start: row.start.value,
                end: row.end.value,
                name: self.names.number(text, row.name),
                index: self.names.number(text, row.index),
                line,
            }),
            row => self.push_rare(row),
        }
    }

    fn push_rare(&mut self, row: Line) {
        let rare = &mut self.rare;
        self.has_rare = true;
        match row {
            Line::Heading(heading, line) => rare.headings.push((heading, line)),
            Line::Total(row) => rare.totals.push(row),
            Line::PeakValue(row) => rare.peak_values.push(row),
            Line::TreeNode(row) => rare.tree.push(row),
            Line::Report(row) => rare.report.push(row),
            Line::OutOfMemory(row) => rare.out_of_memory.push(row),
            Line::TableRow(row) => rare.table_rows.push(row),
            Line::Computation(mut row) => {
                row.instructions = self.instructions.len() as u32;
                rare.computations.push(row);
            }
            _ => {}
        }
    }

    /// All that the block says; there is nothing then, with room for more.
    pub(crate) fn take(&mut self) -> (Facts, Option<Box<Rare>>) {
        let facts = Facts {
            allocations: take(&mut self.allocations),
            placements: take(&mut self.placements),
            values: take(&mut self.values),
            positions: take(&mut self.positions),
            uses: take(&mut self.uses),
            instructions: take(&mut self.instructions),
            steps: take(&mut self.steps),
            live_ranges: take(&mut self.live_ranges),
            names: self.names.take(),
            shapes: self.shapes.take(),
        };
        let has_rare = std::mem::take(&mut self.has_rare);
        (facts, has_rare.then(|| Box::new(self.rare.take())))
    }
}
