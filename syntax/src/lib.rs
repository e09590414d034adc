//! Reading of the text dumps in which the XLA compiler says where every tensor of a compiled
//! program lives in memory.
//!
//! - [`Document`] holds a text in blocks, takes edits, and gives each block's tree and facts;
//! - the tree ([`SyntaxNode`]) is lossless and fine-grained, built for a block when asked;
//! - [`facts`] are rows of numbers and spans for whole documents;
//! - [`Shape`] is a shape with its layout, [`InstructionParts`] an instruction, read from its text.
//!
//! Nothing here does I/O, knows the editor's protocol, or panics on any text.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod ast;
mod document;
pub mod facts;
mod grammar;
mod instruction;
mod kind;
pub mod lexer;
mod line;
mod mentions;
mod position;
mod scan;
mod shape;
mod sink;

pub use document::{Block, Document, DocumentKind, Draft, Reader, Source, TooLarge};
pub use grammar::COMPUTATION_ATTRIBUTES;
pub use instruction::{InstructionParts, OperandParts};
pub use kind::{Dumps, SyntaxElement, SyntaxKind, SyntaxNode, SyntaxToken};
pub use line::{Mode, is_name_byte};
pub use mentions::{Mention, MentionKind};
pub use position::{Encoding, LineColumn};
pub use scan::Follow;
pub use shape::{ArrayShape, Dimension, ElementType, Layout, Shape, TileExtent};
pub use sink::SyntaxError;
