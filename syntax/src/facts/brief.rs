//! Rows in brief: what is held of every line of the kinds that dumps have by the hundred thousand.
//!
//! They say numbers and texts, and on which line of the block these stand. Where exactly, the line is read again
//! for when it is asked: [`Block::rows`](crate::Block::rows) gives the same rows with all their spans.

use super::{AllocationKinds, Number};

/// One of the texts of a block, as a number into [`Facts::names`](super::Facts::names) or
/// [`Facts::shapes`](super::Facts::shapes).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Text(pub(super) u16);

impl Text {
    /// What is not printed.
    pub const NONE: Self = Self(u16::MAX);

    /// Its place among the texts of the block; `None` for what is not printed.
    pub fn place(self) -> Option<usize> {
        (self != Self::NONE).then_some(self.0 as usize)
    }
}

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row {
    /// An allocation's header.
    Allocation(Allocation),
    /// A ` value:` line.
    Placement(Placement),
    /// A used value's header.
    UsedValue(Reference),
    /// A line below ` positions:`.
    Position(Position),
    /// A line below ` uses:`.
    Use(Use),
    /// An instruction, of section C or of a module.
    Instruction(Instruction),
    /// A line of the schedule.
    Step(Step),
    /// A live range.
    LiveRange(LiveRange),
}

/// `<27 copy-start{0} (phi) @1>`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference {
    /// The value's id.
    pub id: u64,
    /// The defining instruction's name.
    pub name: Text,
    /// The shape index with its braces.
    pub index: Text,
    /// The memory space. `None` is what is not printed, or larger than any memory space's number.
    pub color: Option<u16>,
    /// Whether the value is marked `(phi)`.
    pub phi: bool,
    /// Whether it is read to its end. Else its id or name may be cut.
    pub is_whole: bool,
}

/// An allocation's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocation {
    /// The running number.
    pub index: u64,
    /// Size in bytes.
    pub size: u64,
    /// The memory space; 0 is not printed.
    pub color: u64,
    /// The entry parameter whose buffer this is.
    pub parameter: Option<u64>,
    /// The parameter's shape, without layout.
    pub parameter_shape: Text,
    /// Which leaf of the parameter.
    pub parameter_index: Text,
    /// What else the header says.
    pub kinds: AllocationKinds,
    /// Whether the shape of the whole result is printed.
    pub has_output_shape: bool,
    /// Whether the size is printed and below 2^64 - 1.
    pub is_read: bool,
}

/// A ` value:` line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    /// Which value.
    pub value: Reference,
    /// Size in bytes.
    pub size: u64,
    /// Offset in bytes from the start of the allocation.
    pub offset: u64,
    /// The shape with its layout.
    pub shape: Text,
    /// Whether size and offset are printed and below 2^64 - 1.
    pub is_read: bool,
}

/// A line below ` positions:`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The instruction at which the value is visible.
    pub name: Text,
    /// At which index of the instruction's result.
    pub index: Text,
}

/// A line below ` uses:`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Use {
    /// The instruction that reads the value.
    pub name: Text,
    /// As which of its operands, from 0; 2^64 - 1 where it is that or larger, or not printed.
    pub operand: u64,
    /// At which index of the operand.
    pub index: Text,
}

/// The head of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    /// Its name.
    pub name: Text,
    /// Its shape with layouts.
    pub shape: Text,
    /// Its opcode.
    pub opcode: Text,
    /// The number of a `parameter` instruction; 2^64 - 1 where it is that or larger, or none.
    pub parameter: u64,
    /// Whether the shape is a tuple's.
    pub is_tuple: bool,
    /// Whether `ROOT` stands before it.
    pub is_root: bool,
}

/// A line of the flattened schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The logical time; 2^64 - 1 where it is that or larger, or where it or the name is not printed.
    pub step: u64,
    /// The instruction that runs then.
    pub name: Text,
}

/// When a value is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveRange {
    /// First step. `u64::MAX`, as is the last, if one of them is not printed, or that or larger.
    pub start: u64,
    /// Last step.
    pub end: u64,
    /// The defining instruction.
    pub name: Text,
    /// Which part of its result.
    pub index: Text,
}

/// The number of a memory space, if it can be one.
pub(super) fn color(number: Number) -> Option<u16> {
    number.get()?.try_into().ok()
}
