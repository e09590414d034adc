//! Definition, declaration, type definition, implementation.

use std::ops::Range;

use crate::model::{Dump, FileId, Place};

/// Somewhere to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The whole of it: the line.
    pub place: Place,
    /// What to put the cursor on, within the place.
    pub selection: Range<u32>,
}

/// Where a request leads, and from which text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Navigation {
    /// The name or number under the cursor.
    pub origin: Range<u32>,
    /// Where it leads.
    pub targets: Vec<Target>,
}

/// The value's header in section C, or from there the instruction that defines it.
pub fn definition(dump: &Dump, file: FileId, offset: u32) -> Option<Navigation> {
    let _ = (dump, file, offset);
    None
}

/// The line in section A.
pub fn declaration(dump: &Dump, file: FileId, offset: u32) -> Option<Navigation> {
    let _ = (dump, file, offset);
    None
}

/// The header of the allocation.
pub fn type_definition(dump: &Dump, file: FileId, offset: u32) -> Option<Navigation> {
    let _ = (dump, file, offset);
    None
}

/// The instruction in the HLO text, else behind `from instruction:`.
pub fn implementation(dump: &Dump, file: FileId, offset: u32) -> Option<Navigation> {
    let _ = (dump, file, offset);
    None
}
