//! What an editor asks, answered in plain data: one file per feature.
//!
//! Every function takes the dump, the file that is looked at and an offset or a range in bytes,
//! and answers with places in the dump's files.

mod breakdown;
pub mod call_hierarchy;
pub mod completion;
mod computations;
#[cfg(test)]
mod corpus;
mod entries;
#[cfg(test)]
mod fixture;
pub mod folding;
mod frames;
pub mod hints;
pub mod hover;
pub mod lenses;
pub mod links;
pub(crate) mod markdown;
pub mod navigation;
pub mod references;
pub mod selection;
mod slots;
pub mod subject;
pub mod symbols;
pub mod tokens;
