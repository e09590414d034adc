//! Buflens: what the text dumps of XLA's buffer assignment say, explained and checked.
//!
//! Arrows point one way: `lsp` and `cli` use `ide`, `checks` and `report`; these use `audit`, `model`
//! and `workspace`; all read through `buflens-syntax`. Only `lsp` knows the editor's protocol.

mod allocator;
pub mod audit;
pub mod checks;
pub mod cli;
pub mod ide;
pub mod lsp;
pub mod model;
#[cfg(test)]
mod real_dumps;
pub mod report;
pub mod workspace;
