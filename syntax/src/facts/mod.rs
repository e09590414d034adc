//! What a block says, as rows of numbers and spans: everything that is asked of whole documents.
//!
//! Spans count bytes from the start of the block, so that an edit elsewhere changes no row. Rows
//! stand in the order of the text. A value's positions, uses and instruction may stand in a later
//! block than its header.
//!
//! Of the kinds of lines that there are by the hundred thousand, rows are held [in brief](brief); with all
//! spans they are had from [`Block::rows`] and the like, which read their lines again.

pub mod brief;
mod gather;
mod packed;
mod packed_rows;
mod sink;

use crate::Block;
use crate::line::LineKind;

pub use packed::Facts;
pub use packed_rows::{Pack, PackedRows};

pub(crate) use gather::Gathered;
pub(crate) use sink::{FactsSink, Instructions, KnownShapes, Rows};

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

    /// From its start to the end of `other`, which stands behind it or is not there.
    #[must_use]
    pub fn to(self, other: Span) -> Self {
        let end = self.end.max(other.end);
        Self { end, ..self }
    }

    /// Its text in `text`, the text of the block.
    pub fn text(self, text: &str) -> &str {
        &text[self.start as usize..self.end as usize]
    }

    /// The bytes of its text, to compare: whether characters end there is not looked at.
    pub(crate) fn bytes(self, text: &str) -> &[u8] {
        &text.as_bytes()[self.start as usize..self.end as usize]
    }
}

/// A printed number: where it stands and what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Number {
    /// Where it stands. Empty when it is not printed.
    pub span: Span,
    /// Its value; `u64::MAX` when it is that or larger (a syntax error then).
    pub value: u64,
}

impl Number {
    /// The value if the number is printed.
    pub fn get(self) -> Option<u64> {
        (!self.span.is_empty()).then_some(self.value)
    }

    /// Whether it is printed and below 2^64 - 1. If not, that is a syntax error, and `value` says nothing.
    pub fn is_read(self) -> bool {
        self.get().is_some_and(|value| value != u64::MAX)
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

impl ValueReference {
    /// Whether it is read to its end in `text`, the text of the block. Else its id or name may be cut.
    pub fn is_whole(&self, text: &str) -> bool {
        self.span.text(text).ends_with('>')
    }
}

/// The kinds that an allocation's header names.
#[expect(
    clippy::struct_excessive_bools,
    reason = "the header is a list of flags"
)]
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
    /// Size in bytes.
    pub size: Number,
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

impl Placement {
    /// Whether size and offset are printed and below 2^64 - 1.
    pub fn is_read(&self) -> bool {
        self.size.is_read() && self.offset.is_read()
    }
}

/// A used value's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct UsedValue {
    /// Which value.
    pub value: ValueReference,
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

impl Instruction {
    /// Whether `ROOT` stands before it in the text of its block.
    pub fn is_root(&self, text: &str) -> bool {
        self.root(text).is_some()
    }

    /// The `ROOT` before it in the text of its block.
    pub fn root(&self, text: &str) -> Option<Span> {
        let before = text.get(..self.span.start as usize)?;
        let before = before.trim_end_matches([' ', '\t']);
        let start = before.strip_suffix("ROOT")?.len() as u32;
        let end = before.len() as u32;
        Some(Span { start, end })
    }
}

/// A line of the flattened schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Step {
    /// The logical time.
    pub step: Number,
    /// The instruction that runs then.
    pub name: Span,
}

impl Step {
    /// The logical time. `None` where that or the name is missing or cut, or it has more than 64 bits.
    pub fn number(&self) -> Option<u64> {
        (self.step.is_read() && !self.name.is_empty()).then_some(self.step.value)
    }
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
        /// The running sum of the sizes, as people read it.
        cumulative: Span,
        /// Its share of all slots of the table, without the sign.
        percentage: Span,
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
    Allocation(ReportAllocation),
    /// What stands before an allocation in the older form's table of allocations.
    Running {
        /// The running sum of the sizes, as people read it.
        cumulative: Span,
        /// Its share of the total, without the sign.
        percentage: Span,
        /// The total less the running sum.
        rest: Span,
        /// The allocation's number.
        allocation: Number,
    },
    /// `The rest 3 values are less than 5% ...`, with the number.
    Rest(Number),
}

/// An allocation in the memory-usage report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReportAllocation {
    /// The line without its line end.
    pub line: Span,
    /// The running number.
    pub index: Number,
    /// The size, as people read it.
    pub size: Span,
    /// The memory space; not printed for space 0.
    pub color: Number,
    /// The entry parameter whose buffer this is.
    pub parameter: Number,
}

/// A line of the text of a failure for want of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OutOfMemory {
    /// What the line is.
    pub kind: OutOfMemoryKind,
    /// The line without its line end.
    pub line: Span,
    /// The words that say what it is about: `HLO temp`, `Unpadded size`.
    pub label: Span,
    /// What stands behind the label and the colon, without what a log put behind the line.
    pub content: Span,
    /// The name of a memory space.
    pub space: Span,
    /// The first sizes on it: for people with a unit, else exact bytes.
    pub sizes: [Span; 4],
    /// The number of an entry.
    pub number: Number,
    /// The instruction in an entry's label.
    pub name: Span,
}

/// What a line of the text of a failure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutOfMemoryKind {
    /// `Ran out of memory in memory space hbm. Used 20.00G of 15.75G hbm.`
    Message,
    /// `  Largest program allocations in hbm:`
    Heading,
    /// `    arguments        20.00G`
    Amount,
    /// `  1. Size: 512B`, `Buffer 1:`
    Entry,
    /// `     Unpadded size: 4B`, of the entry before it
    Property,
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
}

/// Rows of kinds that most blocks have none of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Rare {
    pub(crate) headings: Vec<(Heading, Span)>,
    pub(crate) totals: Vec<Total>,
    pub(crate) peak_values: PackedRows<PeakValue>,
    pub(crate) tree: PackedRows<TreeNode>,
    pub(crate) report: PackedRows<ReportRow>,
    pub(crate) out_of_memory: Vec<OutOfMemory>,
    pub(crate) table_rows: Vec<TableRow>,
    pub(crate) computations: Vec<Computation>,
}

/// The rows that are there, in no more memory than they take. `rows` has room for more.
fn take<T: Copy>(rows: &mut Vec<T>) -> Vec<T> {
    let exact = rows.clone();
    rows.clear();
    exact
}

impl Rare {
    /// The same in no more memory than it takes. There is nothing then, with room for more.
    fn take(&mut self) -> Self {
        Self {
            headings: take(&mut self.headings),
            totals: take(&mut self.totals),
            out_of_memory: take(&mut self.out_of_memory),
            table_rows: take(&mut self.table_rows),
            computations: take(&mut self.computations),
            ..Self::default()
        }
    }
}

/// What one line says: a row of some kind, with all its spans.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Line {
    Heading(Heading, Span),
    Allocation(Allocation),
    Placement(Placement),
    Total(Total),
    UsedValue(UsedValue),
    Position(Position),
    Use(Use),
    Instruction(Instruction),
    Step(Step),
    LiveRange(LiveRange),
    PeakValue(PeakValue),
    TreeNode(TreeNode),
    Report(ReportRow),
    OutOfMemory(OutOfMemory),
    TableRow(TableRow),
    Computation(Computation),
}

/// A kind of rows; see [`Block::rows`].
pub trait Row: Copy {
    /// By what each of them is known in the block: the line that it stands on if it is held in brief, else its number.
    #[doc(hidden)]
    fn places(block: &Block) -> Vec<usize>;
    /// The row that is known by `place`.
    #[doc(hidden)]
    fn at(block: &Block, place: usize) -> Option<Self>;
    /// The row on the logical line that begins with `line`, if it is held in brief.
    #[doc(hidden)]
    fn on_line(block: &Block, line: usize) -> Option<Self>;
}

macro_rules! rows {
    (brief $($type:ident: $($line:ident)|+),*; whole $($whole:ident: $whole_table:ident $($copied:ident)?),* $(,)?) => {
        $(impl Row for $type {
            fn places(block: &Block) -> Vec<usize> {
                let facts = block.facts();
                let rows = facts.rows().filter(|(_, row)| matches!(row, brief::Row::$type(_)));
                rows.map(|(line, _)| line.into()).collect()
            }

            fn at(block: &Block, line: usize) -> Option<Self> {
                block.line_rows(line).find_map(|row| match row {
                    Line::$type(row) => Some(row),
                    _ => None,
                })
            }

            fn on_line(block: &Block, line: usize) -> Option<Self> {
                let may_be_there = matches!(block.line_kind(line)?, $(LineKind::$line)|+);
                may_be_there.then(|| Self::at(block, line)).flatten()
            }
        })*
        $(impl Row for $whole {
            fn places(block: &Block) -> Vec<usize> {
                (0..block.$whole_table().len()).collect()
            }

            fn at(block: &Block, number: usize) -> Option<Self> {
                block.$whole_table().get(number)$(.$copied())?
            }

            fn on_line(_: &Block, _: usize) -> Option<Self> {
                None
            }
        })*
    };
}

rows! {
    // Behind the end of an instruction, on the same line, the header of the next value may stand.
    brief Allocation: AllocationHeader, Placement: ValueLine, UsedValue: ValueHeader | FromInstruction | Continuation,
        Position: Position, Use: Use, Instruction: FromInstruction | Instruction, Step: Step, LiveRange: Range;
    whole Total: totals copied, PeakValue: peak_values, TreeNode: tree_nodes, TableRow: table_rows copied,
        Computation: computations copied,
}
