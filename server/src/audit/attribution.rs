//! Whose bytes they are: those of a set of values, by what made them.

use super::Audit;
use super::peak::Held;

/// What bytes are added up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The trace path, level by level: `jit(f)`, `jit(f)/while`, ...
    OpName,
    /// The line of source, the user's own before a library's.
    Source,
    /// The opcode of the defining instruction.
    Opcode,
    /// The shape with its layout.
    Shape,
}

/// The bytes of one such thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The path, line, opcode or shape; empty for what the dump does not tell.
    pub name: String,
    /// Bytes: shares, so that no byte counts twice.
    pub bytes: u64,
    /// How many values.
    pub values: usize,
    /// The value with the most bytes, as a number into [`crate::model::Dump::values`].
    pub largest: u32,
}

/// The bytes of `values` added up, the most first.
pub fn attribution(audit: &Audit, values: &[Held], by: By) -> Vec<Group> {
    let _ = (audit, values, by);
    Vec::new()
}
