//! Filling the rows from the grammar's events, and gathering the errors among them.

use super::{
    Allocation, Computation, Gathered, Heading, Instruction, Line, LiveRange, Number, OutOfMemory,
    OutOfMemoryKind, PeakValue, Placement, Position, ReportAllocation, ReportRow, Span, Step,
    TableRow, Total, TreeNode, Use, UsedValue, ValueReference,
};
use rustc_hash::FxHashSet;

use crate::SyntaxKind;
use crate::grammar::tree_prefix;
use crate::line::out_of_memory::end;
use crate::sink::{Sink, SyntaxError};

/// Shapes in which nothing is wrong.
#[derive(Default)]
pub(crate) struct KnownShapes(FxHashSet<Box<str>>);

impl KnownShapes {
    /// So many are known at once, each of so many bytes.
    const MOST: usize = 1024;
    const MOST_BYTES: usize = 128;
}

/// What takes the rows of a text.
pub(crate) trait Rows {
    /// The line with this number in the block is read next.
    fn line(&mut self, _number: usize) {}
    /// It says this.
    fn push(&mut self, text: &str, row: Line);
}

impl Rows for Gathered {
    fn line(&mut self, number: usize) {
        self.line = number as u16;
    }

    #[inline]
    fn push(&mut self, text: &str, row: Line) {
        Self::push(self, text, row);
    }
}

impl Rows for Vec<Line> {
    fn push(&mut self, _: &str, row: Line) {
        self.push(row);
    }
}

/// Instructions, each with the line that it stands on, as [`Block::row_with`](crate::Block::row_with) knows it.
#[derive(Default)]
pub(crate) struct Instructions {
    line: usize,
    pub(crate) rows: Vec<(usize, Instruction)>,
}

impl Rows for Instructions {
    fn line(&mut self, number: usize) {
        self.line = number;
    }

    fn push(&mut self, _: &str, row: Line) {
        if let Line::Instruction(row) = row {
            self.rows.push((self.line, row));
        }
    }
}

/// Makes rows of the grammar's events: of all tokens with `DETAIL`, so that the errors are
/// all errors, or without what no row needs.
pub(crate) struct FactsSink<'t, 'f, R, const DETAIL: bool> {
    text: &'t str,
    rows: &'f mut R,
    shapes: &'f mut KnownShapes,
    pub(crate) errors: Vec<SyntaxError>,
    /// How many nodes are open whose inside no row needs.
    inside: u32,
    /// The line being read and its start.
    line: SyntaxKind,
    line_start: u32,
    allocation: Allocation,
    instruction: Instruction,
    value: ValueReference,
    human: [Span; 4],
    row: Row,
}

/// What a line has said so far.
#[derive(Default)]
struct Row {
    /// Where the shape, index or reference began.
    shape_start: u32,
    index_start: u32,
    reference_start: u32,
    in_reference: bool,
    in_allocation: bool,
    first: Number,
    second: Number,
    third: Number,
    name: Span,
    index: Span,
    shape_span: Span,
    /// The size of an allocation, as people read it.
    size: Span,
    percentage: Span,
    computation_entry: bool,
    /// The last keyword, which tells attributes apart.
    keyword: Span,
}

impl<'t, 'f, R: Rows, const DETAIL: bool> FactsSink<'t, 'f, R, DETAIL> {
    /// A sink that gives what `text` says to `rows`.
    pub(crate) fn new(text: &'t str, rows: &'f mut R, shapes: &'f mut KnownShapes) -> Self {
        Self {
            text,
            rows,
            shapes,
            errors: Vec::new(),
            inside: 0,
            line: SyntaxKind::Root,
            line_start: 0,
            allocation: Allocation::default(),
            instruction: Instruction::default(),
            value: ValueReference::default(),
            human: Default::default(),
            row: Row::default(),
        }
    }

    fn number(&self, span: Span) -> Number {
        let mut value = 0_u64;
        for byte in span.text(self.text).bytes() {
            if byte == b' ' {
                continue;
            }
            let digit = u64::from(byte.wrapping_sub(b'0'));
            value = value
                .checked_mul(10)
                .and_then(|value| value.checked_add(digit))
                .unwrap_or(u64::MAX);
        }
        Number { span, value }
    }

    /// Puts a number where the line has its next one.
    fn next_number(&mut self, span: Span) {
        let number = self.number(span);
        if self.row.first.span.is_empty() {
            self.row.first = number;
        } else if self.row.second.span.is_empty() {
            self.row.second = number;
        } else {
            self.row.third = number;
        }
    }

    /// A line of the text of a failure.
    fn out_of_memory(&self, kind: OutOfMemoryKind, line: Span) -> OutOfMemory {
        let behind = if self.row.keyword.is_empty() {
            line.start
        } else {
            self.row.keyword.end
        };
        let end = line.start + end(line.text(self.text)) as u32;
        let rest = &self.text[behind as usize..end as usize];
        let content = rest.trim_start_matches(|char: char| char == ':' || char.is_whitespace());
        OutOfMemory {
            kind,
            line,
            label: self.row.keyword,
            content: Span {
                start: end - content.len() as u32,
                end,
            },
            space: self.row.index,
            sizes: self.human,
            number: self.row.first,
            name: self.row.name,
        }
    }

    fn report_allocation(&self, line: Span) -> ReportAllocation {
        ReportAllocation {
            line,
            index: self.allocation.index,
            size: self.row.size,
            color: self.allocation.color,
            parameter: self.allocation.parameter,
        }
    }

    fn next_human(&mut self, span: Span) {
        if let Some(free) = self.human.iter_mut().find(|human| human.is_empty()) {
            *free = span;
        }
    }

    /// A token that may be a part of a row.
    fn part(&mut self, kind: SyntaxKind, span: Span) {
        match kind {
            // There the label is the name of a memory space, the first one the message's.
            SyntaxKind::Label if self.line.is_out_of_memory() && self.row.index.is_empty() => {
                self.row.index = span;
            }
            SyntaxKind::Label if self.line.is_out_of_memory() => {}
            SyntaxKind::Size if self.line.is_out_of_memory() => self.next_human(span),
            SyntaxKind::ValueId => self.value.id = self.number(span),
            SyntaxKind::Name if self.row.in_reference => self.value.name = span,
            SyntaxKind::Name
                if self.line == SyntaxKind::FromInstruction
                    || self.line == SyntaxKind::InstructionLine =>
            {
                self.instruction.name = span;
            }
            SyntaxKind::Name
            | SyntaxKind::Label
            | SyntaxKind::ModuleName
            | SyntaxKind::ComputationName => {
                self.row.name = span;
            }
            SyntaxKind::Opcode => self.instruction.opcode = span,
            SyntaxKind::Color if self.row.in_allocation => {
                self.allocation.color = self.number(span);
            }
            SyntaxKind::Color => self.value.color = self.number(span),
            SyntaxKind::AllocationIndex => {
                self.row.in_allocation = true;
                self.allocation.index = self.number(span);
            }
            SyntaxKind::ParameterNumber if self.row.in_allocation => {
                self.allocation.parameter = self.number(span);
            }
            SyntaxKind::ParameterNumber => self.instruction.parameter = self.number(span),
            SyntaxKind::Size if self.row.in_allocation => self.allocation.size = self.number(span),
            SyntaxKind::Size
            | SyntaxKind::Offset
            | SyntaxKind::OperandNumber
            | SyntaxKind::Step
            | SyntaxKind::Bytes
            | SyntaxKind::CumulativeBytes
            | SyntaxKind::GroupedBytes
            | SyntaxKind::Count => self.next_number(span),
            SyntaxKind::HumanBytes => {
                if self.row.in_allocation {
                    self.row.size = span;
                } else {
                    self.next_human(span);
                }
            }
            SyntaxKind::Percentage => self.row.percentage = span,
            SyntaxKind::Keyword => {
                self.row.keyword = span;
                match span.text(self.text) {
                    "phi" => self.value.phi = true,
                    "constant" => self.allocation.kinds.constant = true,
                    "thread-local" => self.allocation.kinds.thread_local = true,
                    "maybe-live-out" => self.allocation.kinds.maybe_live_out = true,
                    "preallocated-temp" => self.allocation.kinds.preallocated_temp = true,
                    "ENTRY" => self.row.computation_entry = true,
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn start_line(&mut self, kind: SyntaxKind, at: u32) {
        self.row = Row::default();
        // These are large, and most lines have none.
        match kind {
            SyntaxKind::FromInstruction | SyntaxKind::InstructionLine => {
                self.instruction = Instruction::default();
            }
            SyntaxKind::ValueLine | SyntaxKind::ValueHeader => {
                self.value = ValueReference::default();
            }
            SyntaxKind::Heading
            | SyntaxKind::PositionLine
            | SyntaxKind::UseLine
            | SyntaxKind::StepLine
            | SyntaxKind::LiveRangeLine
            | SyntaxKind::PeakLine => {}
            _ => {
                self.allocation = Allocation::default();
                self.value = ValueReference::default();
                self.human = Default::default();
            }
        }
        (self.line, self.line_start) = (kind, at);
    }

    fn end_line(&mut self, kind: SyntaxKind, at: u32) {
        let line = Span {
            start: self.line_start,
            end: self.content_end(at),
        };
        let row = match kind {
            SyntaxKind::AllocationHeader => Line::Allocation(Allocation {
                line,
                ..self.allocation
            }),
            SyntaxKind::ValueLine => Line::Placement(Placement {
                line,
                value: self.value,
                size: self.row.first,
                offset: self.row.second,
                shape: self.row.shape_span,
            }),
            SyntaxKind::TotalLine => {
                let total = Total {
                    bytes: self.row.first,
                    human: self.human[0],
                };
                if self.row.keyword.text(self.text) == "Total bytes" {
                    Line::Report(ReportRow::SpaceTotal(total))
                } else {
                    Line::Total(total)
                }
            }
            SyntaxKind::ValueHeader => Line::UsedValue(UsedValue { value: self.value }),
            SyntaxKind::PositionLine => Line::Position(Position {
                name: self.row.name,
                index: self.row.index,
            }),
            SyntaxKind::UseLine if !self.row.name.is_empty() => Line::Use(Use {
                name: self.row.name,
                operand: self.row.first,
                index: self.row.index,
            }),
            SyntaxKind::FromInstruction | SyntaxKind::InstructionLine => {
                // Whatever is wrong behind its head belongs to it.
                if !self.instruction.opcode.is_empty() {
                    self.instruction.span.end = line.end;
                }
                Line::Instruction(self.instruction)
            }
            SyntaxKind::StepLine => Line::Step(Step {
                step: self.row.first,
                name: self.row.name,
            }),
            SyntaxKind::LiveRangeLine => Line::LiveRange(LiveRange {
                name: self.row.name,
                index: self.row.index,
                start: self.row.first,
                end: self.row.second,
            }),
            SyntaxKind::PeakLine => Line::PeakValue(PeakValue {
                name: self.row.name,
                index: self.row.index,
                bytes: self.row.first,
                cumulative: self.row.second,
            }),
            SyntaxKind::TreeLine => {
                // Where the file breaks off before it, there is no label.
                let mut label = self.row.name;
                if label.is_empty() {
                    (label.start, label.end) = (line.end, line.end);
                }
                let before = &self.text[line.start as usize..label.start as usize];
                // 4 characters for the root, then 6 and 4 for each level.
                let depth = if tree_prefix(before) > 4 {
                    (before.chars().count() as u32).saturating_sub(6) / 4
                } else {
                    0
                };
                Line::TreeNode(TreeNode {
                    depth,
                    label,
                    percentage: self.row.percentage,
                    total: self.row.first,
                    current: self.row.second,
                    remaining: self.row.third,
                })
            }
            SyntaxKind::SpaceHeading => Line::Report(ReportRow::Space {
                label: self.row.name,
                color: self.value.color,
            }),
            SyntaxKind::ReportAllocation => {
                Line::Report(ReportRow::Allocation(self.report_allocation(line)))
            }
            SyntaxKind::ReportText if !self.row.first.span.is_empty() => {
                Line::Report(ReportRow::Rest(self.row.first))
            }
            SyntaxKind::ReportText
                if line
                    .text(self.text)
                    .trim_start()
                    .starts_with("cumulative_size; ") =>
            {
                Line::Report(ReportRow::Table(line))
            }
            SyntaxKind::ReportRow if self.row.in_allocation => {
                let running = ReportRow::Running {
                    cumulative: self.human[0],
                    percentage: self.row.percentage,
                    rest: self.human[1],
                    allocation: self.allocation.index,
                };
                self.rows.push(self.text, Line::Report(running));
                Line::Report(ReportRow::Allocation(self.report_allocation(line)))
            }
            SyntaxKind::ReportRow => Line::Report(ReportRow::Slot {
                cumulative: self.human[0],
                percentage: self.row.percentage,
                size: self.human[1],
                offset: self.row.first,
                values: self.row.second,
                shapes: self.row.shape_span,
            }),
            SyntaxKind::Heading => {
                let text = line.text(self.text).trim_start();
                let heading = match text.as_bytes() {
                    [b'B', b'u', b'f', b'f', b'e', b'r', b'A', ..] => Heading::Assignment,
                    [b'B', ..] => Heading::Ranges,
                    [b'U', ..] => Heading::Values,
                    [b'H', ..] if self.row.first.span.is_empty() => Heading::LiveRangeUnavailable,
                    [b'H', ..] => Heading::LiveRange(self.row.first),
                    [b'I', ..] => Heading::Steps,
                    [b'L', ..] => Heading::Peak(self.row.first),
                    [b'P', ..] => Heading::PeakUnknown,
                    [b'S', b't', b'a', b'c', b'k', b' ', ..] => Heading::Tree(self.row.first),
                    [b'A', ..] => Heading::Report,
                    [b'F' | b'S', ..] => Heading::Table,
                    // ` positions:` and ` uses:`
                    _ => return,
                };
                Line::Heading(heading, line)
            }
            SyntaxKind::OutOfMemoryMessage
            | SyntaxKind::OutOfMemoryHeading
            | SyntaxKind::OutOfMemoryAmount
            | SyntaxKind::OutOfMemoryEntry
            | SyntaxKind::OutOfMemoryProperty => {
                let kind = match kind {
                    SyntaxKind::OutOfMemoryMessage => OutOfMemoryKind::Message,
                    SyntaxKind::OutOfMemoryHeading => OutOfMemoryKind::Heading,
                    SyntaxKind::OutOfMemoryAmount => OutOfMemoryKind::Amount,
                    SyntaxKind::OutOfMemoryEntry => OutOfMemoryKind::Entry,
                    _ => OutOfMemoryKind::Property,
                };
                Line::OutOfMemory(self.out_of_memory(kind, line))
            }
            SyntaxKind::ModuleLine => Line::Heading(Heading::Module(self.row.name), line),
            SyntaxKind::TableRow => Line::TableRow(TableRow {
                row: self.row.first,
                content: Span {
                    start: self.row.first.span.end,
                    end: line.end,
                },
            }),
            SyntaxKind::ComputationHeader => Line::Computation(Computation {
                name: self.row.name,
                line,
                entry: self.row.computation_entry,
            }),
            _ => return,
        };
        self.rows.push(self.text, row);
    }

    /// The end of the line that ends at `at`, without its line end.
    fn content_end(&self, at: u32) -> u32 {
        let line = &self.text[self.line_start as usize..at as usize];
        self.line_start + crate::scan::without_line_end(line).len() as u32
    }
}

impl<R: Rows, const DETAIL: bool> Sink for FactsSink<'_, '_, R, DETAIL> {
    const DETAIL: bool = DETAIL;
    const INSIDE: bool = false;

    fn knows_shape(&mut self, shape: &str) -> bool {
        shape.len() <= KnownShapes::MOST_BYTES && self.shapes.0.contains(shape)
    }

    fn learn_shape(&mut self, shape: &str) {
        // A number in it may have been too large.
        if self.errors.is_empty() && shape.len() <= KnownShapes::MOST_BYTES {
            if self.shapes.0.len() == KnownShapes::MOST {
                self.shapes.0.clear();
            }
            self.shapes.0.insert(shape.into());
        }
    }

    fn line(&mut self, number: usize) {
        self.rows.line(number);
    }

    fn open(&mut self, kind: SyntaxKind, at: u32) {
        if self.inside > 0 {
            self.inside += 1;
            return;
        }
        match kind {
            SyntaxKind::Error if self.line != SyntaxKind::Root => {}
            _ if kind.is_line() => self.start_line(kind, at),
            SyntaxKind::ArrayShape | SyntaxKind::TupleShape | SyntaxKind::ShapeList => {
                self.inside = 1;
                self.row.shape_start = at;
            }
            SyntaxKind::Operands
            | SyntaxKind::Attribute
            | SyntaxKind::MetadataEntry
            | SyntaxKind::Signature => self.inside = 1,
            SyntaxKind::ShapeIndex => self.row.index_start = at,
            SyntaxKind::ValueReference => {
                self.row.in_reference = true;
                self.row.reference_start = at;
            }
            SyntaxKind::Instruction => self.instruction.span.start = at,
            _ => {}
        }
    }

    #[inline]
    fn token(&mut self, kind: SyntaxKind, start: u32, end: u32) {
        let says_nothing = matches!(
            kind,
            SyntaxKind::Whitespace | SyntaxKind::Newline | SyntaxKind::Punctuation
        );
        if says_nothing || self.inside > 0 && kind != SyntaxKind::ParameterNumber {
            return;
        }
        self.part(kind, Span { start, end });
    }

    fn close(&mut self, kind: SyntaxKind, at: u32) {
        self.inside = self.inside.saturating_sub(1);
        if self.inside > 0 {
            return;
        }
        match kind {
            SyntaxKind::Error if self.line != SyntaxKind::Error => {}
            _ if kind.is_line() => {
                self.end_line(kind, at);
                self.line = SyntaxKind::Root;
            }
            SyntaxKind::ArrayShape | SyntaxKind::TupleShape | SyntaxKind::ShapeList => {
                let span = Span {
                    start: self.row.shape_start,
                    end: at,
                };
                match self.line {
                    SyntaxKind::FromInstruction | SyntaxKind::InstructionLine => {
                        self.instruction.shape = span;
                    }
                    _ if self.row.in_allocation && self.row.keyword.text(self.text) == "is" => {
                        self.allocation.output_shape = span;
                    }
                    _ if self.row.in_allocation => self.allocation.parameter_shape = span,
                    _ => self.row.shape_span = span,
                }
            }
            SyntaxKind::ShapeIndex => {
                let span = Span {
                    start: self.row.index_start,
                    end: at,
                };
                if self.row.in_reference {
                    self.value.index = span;
                } else if self.row.in_allocation {
                    self.allocation.parameter_index = span;
                } else {
                    self.row.index = span;
                }
            }
            SyntaxKind::ValueReference => {
                self.row.in_reference = false;
                self.value.span = Span {
                    start: self.row.reference_start,
                    end: at,
                };
            }
            SyntaxKind::Instruction => self.instruction.span.end = at,
            _ => {}
        }
    }

    fn error(&mut self, error: SyntaxError) {
        self.errors.push(error);
    }
}
