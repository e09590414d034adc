//! The outline, and names to jump to.

use std::ops::Range;

use crate::model::{Dump, FileId, Place};

/// What a symbol is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolKind {
    /// A section.
    Section,
    /// An allocation.
    Allocation,
    /// A value.
    Value,
    /// A computation.
    Computation,
    /// An instruction.
    Instruction,
    /// A remark: how many more there are.
    More,
}

/// An entry of the outline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// Size, kind and the like.
    pub detail: String,
    /// What it is.
    pub kind: SymbolKind,
    /// All of it.
    pub range: Range<u32>,
    /// Its name's place, within the range.
    pub selection: Range<u32>,
    /// What is in it.
    pub children: Vec<Symbol>,
}

/// A symbol found by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its name.
    pub name: String,
    /// Where it belongs: the allocation, the computation.
    pub container: String,
    /// What it is.
    pub kind: SymbolKind,
    /// Its place.
    pub place: Place,
}

/// The outline of a file, with about `limit` entries at most: the largest allocations and values,
/// and a last entry that says how many more there are.
pub fn document_symbols(dump: &Dump, file: FileId, limit: usize) -> Vec<Symbol> {
    let _ = (dump, file, limit);
    Vec::new()
}

/// At most `limit` values, allocations and instructions whose name or op_name contains `query`.
pub fn workspace_symbols(dump: &Dump, query: &str, limit: usize) -> Vec<Found> {
    let _ = (dump, query, limit);
    Vec::new()
}
