//! One compilation: its files joined, its allocations, values, live ranges and peak.

mod allocation;
mod branches;
pub mod bytes;
pub mod cancel;
pub mod device;
mod dump;
mod extents;
pub mod failure;
pub mod fused;
pub mod glossary;
mod join;
pub mod lines;
mod module;
mod names;
pub mod occupancy;
pub mod opcodes;
mod operand;
pub mod origin;
mod platform;
mod row;
mod scratch;
pub mod shapes;
pub mod source;
pub mod source_map;
pub mod space;
mod value;

pub use allocation::Allocation;
pub use dump::{At, Dump, File, FileId, Part, Peak, Place, Step};
pub(crate) use join::is_async_call;
pub use join::{Join, Numbering, read_errors, read_facts};
pub(crate) use module::is_root;
pub use module::{Donors, Instruction, Located, Module, Tables};
pub use names::{NameId, Names, Rank, is_hidden};
pub use platform::{Platform, Platforms};
pub use row::Row;
pub use value::{LiveRange, Position, Use, UsedValue, Value, index_text};
