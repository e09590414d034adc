//! What a block says, as rows of numbers and spans: everything that is asked of whole documents.
//!
//! Spans count bytes from the start of the block, so that an edit elsewhere changes no row. Rows
//! stand in the order of the text. A value's positions, uses and instruction may stand in a later
//! block than its header.

use crate::SyntaxKind;
use crate::grammar::tree_prefix;
use crate::sink::{Sink, SyntaxError};

/// A range of bytes in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// Behind the last byte.
    pub end: u32,
}

impl Span {
    /// Whether there is nothing in it; a part of a line that is not there has an empty span.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Its text in `text`, the text of the block.
    pub fn text(self, text: &str) -> &str {
        &text[self.start as usize..self.end as usize]
    }
}

/// A printed number: where it stands and what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Number {
    /// Where it stands. Empty when it is not printed.
    pub span: Span,
    /// Its value; `u64::MAX` when it does not fit into 64 bits (a syntax error then).
    pub value: u64,
}

impl Number {
    /// The value if the number is printed.
    pub fn get(self) -> Option<u64> {
        (!self.span.is_empty()).then_some(self.value)
    }
}

/// `<27 copy-start{0} (phi) @1>`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ValueReference {
    /// All of it, with the brackets.
    pub span: Span,
    /// The value's id.
    pub id: Number,
    /// The defining instruction's name.
    pub name: Span,
    /// The shape index with its braces; empty where it is not printed.
    pub index: Span,
    /// Whether the value is marked `(phi)`.
    pub phi: bool,
    /// The memory space.
    pub color: Number,
}

/// The kinds that an allocation's header names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct AllocationKinds {
    /// `constant`
    pub constant: bool,
    /// `thread-local`
    pub thread_local: bool,
    /// `maybe-live-out`
    pub maybe_live_out: bool,
    /// `preallocated-temp`
    pub preallocated_temp: bool,
}

/// An allocation's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Allocation {
    /// The line without its line end.
    pub line: Span,
    /// The running number.
    pub index: Number,
    /// Size in bytes. Not printed exactly in the memory-usage report.
    pub size: Number,
    /// The size as the memory-usage report prints it.
    pub human_size: Span,
    /// The memory space; not printed for space 0.
    pub color: Number,
    /// The entry parameter whose buffer this is.
    pub parameter: Number,
    /// The parameter's shape, without layout.
    pub parameter_shape: Span,
    /// Which leaf of the parameter.
    pub parameter_index: Span,
    /// The shape of the whole result, where the result's root is in this allocation.
    pub output_shape: Span,
    /// What else the header says.
    pub kinds: AllocationKinds,
    /// The first of its rows among the block's placements. Unused in a memory-usage report.
    pub placements: u32,
}

/// A ` value:` line: where in its allocation a value lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Placement {
    /// The line without its line end.
    pub line: Span,
    /// Which value.
    pub value: ValueReference,
    /// Size in bytes.
    pub size: Number,
    /// Offset in bytes from the start of the allocation.
    pub offset: Number,
    /// The shape with its layout.
    pub shape: Span,
}

/// A used value's header, with the numbers of the rows that belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct UsedValue {
    /// Which value.
    pub value: ValueReference,
    /// The first of its rows among the block's positions; they end where the next value's begin.
    pub positions: u32,
    /// The first of its rows among the block's uses.
    pub uses: u32,
    /// The first of its rows among the block's instructions.
    pub instructions: u32,
}

/// A line below ` positions:`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Position {
    /// The instruction at which the value is visible.
    pub name: Span,
    /// At which index of the instruction's result.
    pub index: Span,
}

/// A line below ` uses:`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Use {
    /// The instruction that reads the value.
    pub name: Span,
    /// As which of its operands, from 0.
    pub operand: Number,
    /// At which index of the operand.
    pub index: Span,
}

/// The head of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Instruction {
    /// The instruction from its name (or `%`) to its end.
    pub span: Span,
    /// Its name.
    pub name: Span,
    /// Its shape with layouts.
    pub shape: Span,
    /// Its opcode.
    pub opcode: Span,
    /// The number of a `parameter` instruction.
    pub parameter: Number,
}

/// A line of the flattened schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Step {
    /// The logical time.
    pub step: Number,
    /// The instruction that runs then.
    pub name: Span,
}

/// When a value is alive, from its first to its last step, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct LiveRange {
    /// The defining instruction.
    pub name: Span,
    /// Which part of its result.
    pub index: Span,
    /// First step.
    pub start: Number,
    /// Last step.
    pub end: Number,
}

/// A line of the peak list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PeakValue {
    /// The defining instruction.
    pub name: Span,
    /// Which part of its result; older compilers leave it out.
    pub index: Span,
    /// Unpadded bytes.
    pub bytes: Number,
    /// Running sum in bytes; older compilers leave it out.
    pub cumulative: Number,
}

/// A node of the stack trace breakdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TreeNode {
    /// 0 for the root.
    pub depth: u32,
    /// The label as printed.
    pub label: Span,
    /// The share of the total, with one decimal.
    pub percentage: Span,
    /// Bytes here and below.
    pub total: Number,
    /// Bytes exactly here.
    pub current: Number,
    /// Bytes that no node up to this one holds.
    pub remaining: Number,
}

/// A table or a row of the memory-usage report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReportRow {
    /// `Memory Space: default (color=0)`
    Space {
        /// The name as printed; wrong for some spaces.
        label: Span,
        /// The memory space.
        color: Number,
    },
    /// `Total bytes: 512 (512B)`
    SpaceTotal(Total),
    /// The heading of a table of slots.
    Table(Span),
    /// A slot: the values of one allocation that share an offset.
    Slot {
        /// The largest value there, as people read it.
        size: Span,
        /// Offset in bytes.
        offset: Number,
        /// How many values lie there.
        values: Number,
        /// Their shapes.
        shapes: Span,
    },
    /// An allocation of the older form, alone on its line or in the table of allocations.
    Allocation(Allocation),
}

/// `Total bytes used: 36864 (36.0KiB)`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Total {
    /// Bytes.
    pub bytes: Number,
    /// The same for people.
    pub human: Span,
}

/// The headings that open a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Heading {
    /// `BufferAssignment:`
    Assignment,
    /// `Used values:`
    Values,
    /// `HloLiveRange (max N):` with the number of steps
    LiveRange(Number),
    /// `HloLiveRange not available ...`
    LiveRangeUnavailable,
    /// `  InstructionSequence:`
    Steps,
    /// `  BufferLiveRange:`
    Ranges,
    /// `  Live ranges at N (peak):`
    Peak(Number),
    /// `  Peak memory could not be determined ...`
    PeakUnknown,
    /// `  Stack trace breakdown for peak usage: N bytes`
    Tree(Number),
    /// The first line of a memory-usage report's part.
    Report,
    /// `HloModule NAME`, with the name
    Module(Span),
    /// `FileNames` and the other tables of a module's header
    Table,
}

/// A line of a table in a module's header, `INT STRING` or `INT {key=value ...}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TableRow {
    /// The row's number, from 1.
    pub row: Number,
    /// What follows it.
    pub content: Span,
}

/// The head of a computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Computation {
    /// Its name.
    pub name: Span,
    /// The line without its line end.
    pub line: Span,
    /// Whether it is the entry computation.
    pub entry: bool,
    /// The first of its rows among the block's instructions.
    pub instructions: u32,
}

/// All that one block says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Section headings, each with its line.
    pub headings: Vec<(Heading, Span)>,
    /// Allocation headers.
    pub allocations: Vec<Allocation>,
    /// ` value:` lines.
    pub placements: Vec<Placement>,
    /// `Total bytes used:` lines.
    pub totals: Vec<Total>,
    /// Headers of used values.
    pub values: Vec<UsedValue>,
    /// Lines below ` positions:`.
    pub positions: Vec<Position>,
    /// Lines below ` uses:`.
    pub uses: Vec<Use>,
    /// Instructions, of section C and of modules.
    pub instructions: Vec<Instruction>,
    /// The schedule.
    pub steps: Vec<Step>,
    /// Live ranges.
    pub live_ranges: Vec<LiveRange>,
    /// The peak list.
    pub peak_values: Vec<PeakValue>,
    /// The stack trace breakdown.
    pub tree: Vec<TreeNode>,
    /// The memory-usage report.
    pub report: Vec<ReportRow>,
    /// Tables of a module's header.
    pub table_rows: Vec<TableRow>,
    /// Computations of a module.
    pub computations: Vec<Computation>,
}

impl Facts {
    /// Gives back memory that filling the rows left over.
    pub(crate) fn shrink(&mut self) {
        self.headings.shrink_to_fit();
        self.allocations.shrink_to_fit();
        self.placements.shrink_to_fit();
        self.values.shrink_to_fit();
        self.positions.shrink_to_fit();
        self.uses.shrink_to_fit();
        self.instructions.shrink_to_fit();
        self.steps.shrink_to_fit();
        self.live_ranges.shrink_to_fit();
        self.peak_values.shrink_to_fit();
        self.tree.shrink_to_fit();
        self.report.shrink_to_fit();
        self.table_rows.shrink_to_fit();
        self.computations.shrink_to_fit();
    }
}

/// Fills [`Facts`] from the grammar's events.
pub(crate) struct FactsSink<'t> {
    text: &'t str,
    pub(crate) facts: Facts,
    /// The line being read and its start.
    line: SyntaxKind,
    line_start: u32,
    /// Where the innermost shape, index or reference began.
    shape: Option<u32>,
    index_start: u32,
    reference_start: u32,
    in_reference: bool,
    // The rows being filled.
    value: ValueReference,
    allocation: Allocation,
    in_allocation: bool,
    first: Number,
    second: Number,
    third: Number,
    name: Span,
    index: Span,
    shape_span: Span,
    human: [Span; 2],
    word: Span,
    instruction: Instruction,
    computation_entry: bool,
    /// The last keyword, which tells attributes apart.
    keyword: Span,
}

impl<'t> FactsSink<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            text,
            facts: Facts::default(),
            line: SyntaxKind::Root,
            line_start: 0,
            shape: None,
            index_start: 0,
            reference_start: 0,
            in_reference: false,
            value: ValueReference::default(),
            allocation: Allocation::default(),
            in_allocation: false,
            first: Number::default(),
            second: Number::default(),
            third: Number::default(),
            name: Span::default(),
            index: Span::default(),
            shape_span: Span::default(),
            human: [Span::default(); 2],
            word: Span::default(),
            instruction: Instruction::default(),
            computation_entry: false,
            keyword: Span::default(),
        }
    }

    fn number(&self, span: Span) -> Number {
        let mut value = 0_u64;
        for byte in span.text(self.text).bytes().filter(|&byte| byte != b' ') {
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
        if self.first.span.is_empty() {
            self.first = number;
        } else if self.second.span.is_empty() {
            self.second = number;
        } else {
            self.third = number;
        }
    }

    fn start_line(&mut self, kind: SyntaxKind, at: u32) {
        let fresh = Self::new(self.text);
        let facts = std::mem::take(&mut self.facts);
        *self = Self {
            facts,
            line: kind,
            line_start: at,
            ..fresh
        };
    }

    fn end_line(&mut self, kind: SyntaxKind, at: u32) {
        let line = Span {
            start: self.line_start,
            end: self.content_end(at),
        };
        let facts = &mut self.facts;
        match kind {
            SyntaxKind::AllocationHeader => {
                let placements = facts.placements.len() as u32;
                facts.allocations.push(Allocation {
                    line,
                    placements,
                    ..self.allocation
                });
            }
            SyntaxKind::ValueLine => facts.placements.push(Placement {
                line,
                value: self.value,
                size: self.first,
                offset: self.second,
                shape: self.shape_span,
            }),
            SyntaxKind::TotalLine => {
                let total = Total {
                    bytes: self.first,
                    human: self.human[0],
                };
                if self.keyword.text(self.text) == "Total bytes" {
                    facts.report.push(ReportRow::SpaceTotal(total));
                } else {
                    facts.totals.push(total);
                }
            }
            SyntaxKind::ValueHeader => facts.values.push(UsedValue {
                value: self.value,
                positions: facts.positions.len() as u32,
                uses: facts.uses.len() as u32,
                instructions: facts.instructions.len() as u32,
            }),
            SyntaxKind::PositionLine => facts.positions.push(Position {
                name: self.name,
                index: self.index,
            }),
            SyntaxKind::UseLine if !self.name.is_empty() => {
                facts.uses.push(Use {
                    name: self.name,
                    operand: self.first,
                    index: self.index,
                });
            }
            SyntaxKind::FromInstruction | SyntaxKind::InstructionLine => {
                facts.instructions.push(self.instruction)
            }
            SyntaxKind::StepLine => facts.steps.push(Step {
                step: self.first,
                name: self.name,
            }),
            SyntaxKind::LiveRangeLine => facts.live_ranges.push(LiveRange {
                name: self.name,
                index: self.index,
                start: self.first,
                end: self.second,
            }),
            SyntaxKind::PeakLine => facts.peak_values.push(PeakValue {
                name: self.name,
                index: self.index,
                bytes: self.first,
                cumulative: self.second,
            }),
            SyntaxKind::TreeLine => facts.tree.push(TreeNode {
                // 4 characters for the root, then 6 and 4 for each level.
                depth: (tree_prefix(
                    &line.text(self.text)[..(self.name.start - line.start) as usize],
                ) > 4)
                    .then(|| {
                        self.text[line.start as usize..self.name.start as usize]
                            .chars()
                            .count() as u32
                    })
                    .map_or(0, |characters| characters.saturating_sub(6) / 4),
                label: self.name,
                percentage: self.word,
                total: self.first,
                current: self.second,
                remaining: self.third,
            }),
            SyntaxKind::SpaceHeading => {
                facts.report.push(ReportRow::Space {
                    label: self.name,
                    color: self.value.color,
                });
            }
            SyntaxKind::ReportAllocation => facts.report.push(ReportRow::Allocation(Allocation {
                line,
                ..self.allocation
            })),
            SyntaxKind::ReportText
                if line
                    .text(self.text)
                    .trim_start()
                    .starts_with("cumulative_size; ") =>
            {
                facts.report.push(ReportRow::Table(line));
            }
            SyntaxKind::ReportRow if self.in_allocation => {
                facts.report.push(ReportRow::Allocation(Allocation {
                    line,
                    ..self.allocation
                }));
            }
            SyntaxKind::ReportRow => facts.report.push(ReportRow::Slot {
                size: self.human[1],
                offset: self.first,
                values: self.second,
                shapes: self.shape_span,
            }),
            SyntaxKind::Heading => {
                let text = line.text(self.text).trim_start();
                let heading = match text.as_bytes() {
                    [b'B', b'u', b'f', b'f', b'e', b'r', b'A', ..] => Heading::Assignment,
                    [b'B', ..] => Heading::Ranges,
                    [b'U', ..] => Heading::Values,
                    [b'H', ..] if self.first.span.is_empty() => Heading::LiveRangeUnavailable,
                    [b'H', ..] => Heading::LiveRange(self.first),
                    [b'I', ..] => Heading::Steps,
                    [b'L', ..] => Heading::Peak(self.first),
                    [b'P', ..] => Heading::PeakUnknown,
                    [b'S', b't', b'a', b'c', b'k', b' ', ..] => Heading::Tree(self.first),
                    [b'A', ..] => Heading::Report,
                    [b'F' | b'S', ..] => Heading::Table,
                    // ` positions:` and ` uses:`
                    _ => return,
                };
                facts.headings.push((heading, line));
            }
            SyntaxKind::ModuleLine => facts.headings.push((Heading::Module(self.name), line)),
            SyntaxKind::TableRow => facts.table_rows.push(TableRow {
                row: self.first,
                content: Span {
                    start: self.first.span.end,
                    end: line.end,
                },
            }),
            SyntaxKind::ComputationHeader => facts.computations.push(Computation {
                name: self.name,
                line,
                entry: self.computation_entry,
                instructions: facts.instructions.len() as u32,
            }),
            _ => {}
        }
    }

    /// The end of the line that ends at `at`, without its line end.
    fn content_end(&self, at: u32) -> u32 {
        let line = &self.text[self.line_start as usize..at as usize];
        self.line_start + crate::scan::without_line_end(line).len() as u32
    }
}

impl Sink for FactsSink<'_> {
    const DETAIL: bool = false;

    fn open(&mut self, kind: SyntaxKind, at: u32) {
        match kind {
            SyntaxKind::Error if self.line != SyntaxKind::Root => {}
            _ if kind.is_line() => self.start_line(kind, at),
            SyntaxKind::ArrayShape | SyntaxKind::TupleShape => self.shape = self.shape.or(Some(at)),
            SyntaxKind::ShapeIndex => self.index_start = at,
            SyntaxKind::ValueReference => {
                self.in_reference = true;
                self.reference_start = at;
            }
            SyntaxKind::Instruction => self.instruction.span.start = at,
            _ => {}
        }
    }

    fn token(&mut self, kind: SyntaxKind, start: u32, end: u32) {
        let span = Span { start, end };
        match kind {
            SyntaxKind::ValueId => self.value.id = self.number(span),
            SyntaxKind::Name if self.in_reference => self.value.name = span,
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
                self.name = span;
            }
            SyntaxKind::Opcode => self.instruction.opcode = span,
            SyntaxKind::Color if self.in_allocation => self.allocation.color = self.number(span),
            SyntaxKind::Color => self.value.color = self.number(span),
            SyntaxKind::AllocationIndex => {
                self.in_allocation = true;
                self.allocation.index = self.number(span);
            }
            SyntaxKind::ParameterNumber if self.in_allocation => {
                self.allocation.parameter = self.number(span)
            }
            SyntaxKind::ParameterNumber => self.instruction.parameter = self.number(span),
            SyntaxKind::Size if self.in_allocation => self.allocation.size = self.number(span),
            SyntaxKind::Size
            | SyntaxKind::Offset
            | SyntaxKind::OperandNumber
            | SyntaxKind::Step
            | SyntaxKind::Bytes
            | SyntaxKind::CumulativeBytes
            | SyntaxKind::GroupedBytes
            | SyntaxKind::Count => self.next_number(span),
            SyntaxKind::HumanBytes => {
                if self.in_allocation {
                    self.allocation.human_size = span;
                } else if self.human[0].is_empty() {
                    self.human[0] = span;
                } else {
                    self.human[1] = span;
                }
            }
            SyntaxKind::Percentage => self.word = span,
            // The shapes of a report's row are not read as shapes.
            SyntaxKind::Text if self.line == SyntaxKind::ReportRow => self.shape_span = span,
            SyntaxKind::Keyword => {
                self.keyword = span;
                match span.text(self.text) {
                    "phi" => self.value.phi = true,
                    "constant" => self.allocation.kinds.constant = true,
                    "thread-local" => self.allocation.kinds.thread_local = true,
                    "maybe-live-out" => self.allocation.kinds.maybe_live_out = true,
                    "preallocated-temp" => self.allocation.kinds.preallocated_temp = true,
                    "ENTRY" => self.computation_entry = true,
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn close(&mut self, kind: SyntaxKind, at: u32) {
        match kind {
            SyntaxKind::Error if self.line != SyntaxKind::Error => {}
            _ if kind.is_line() => {
                self.end_line(kind, at);
                self.line = SyntaxKind::Root;
            }
            SyntaxKind::ArrayShape | SyntaxKind::TupleShape => {
                let span = Span {
                    start: self.shape.take().unwrap_or(at),
                    end: at,
                };
                match self.line {
                    SyntaxKind::FromInstruction | SyntaxKind::InstructionLine => {
                        self.instruction.shape = span
                    }
                    _ if self.in_allocation && self.keyword.text(self.text) == "is" => {
                        self.allocation.output_shape = span;
                    }
                    _ if self.in_allocation => self.allocation.parameter_shape = span,
                    _ => self.shape_span = span,
                }
            }
            SyntaxKind::ShapeIndex => {
                let span = Span {
                    start: self.index_start,
                    end: at,
                };
                if self.in_reference {
                    self.value.index = span;
                } else if self.in_allocation {
                    self.allocation.parameter_index = span;
                } else {
                    self.index = span;
                }
            }
            SyntaxKind::ValueReference => {
                self.in_reference = false;
                self.value.span = Span {
                    start: self.reference_start,
                    end: at,
                };
            }
            SyntaxKind::Instruction => self.instruction.span.end = at,
            _ => {}
        }
    }

    fn error(&mut self, _: SyntaxError) {}
}
