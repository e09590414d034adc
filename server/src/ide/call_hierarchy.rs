//! The flow of data: who reads an instruction's result, and what it reads.

use std::ops::Range;

use crate::model::{Dump, FileId, NameId, Place};

/// An instruction in the hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The instruction's name.
    pub name: NameId,
    /// Opcode and shape.
    pub detail: String,
    /// Its line, or its value's entry.
    pub place: Place,
    /// Its name there.
    pub selection: Range<u32>,
}

/// A neighbour in the hierarchy, with the ranges that make it one: in the caller's file, as the
/// protocol wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The neighbour.
    pub item: Item,
    /// Where the reading is written.
    pub ranges: Vec<Range<u32>>,
}

/// The instruction at `offset`.
pub fn prepare(dump: &Dump, file: FileId, offset: u32) -> Option<Item> {
    let _ = (dump, file, offset);
    None
}

/// The instructions that read what `name` makes.
pub fn incoming(dump: &Dump, name: NameId) -> Vec<Call> {
    let _ = (dump, name);
    Vec::new()
}

/// The operands of `name`.
pub fn outgoing(dump: &Dump, name: NameId) -> Vec<Call> {
    let _ = (dump, name);
    Vec::new()
}
