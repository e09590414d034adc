//! One compilation: its files joined, its allocations, values, live ranges and peak.

pub mod bytes;
mod dump;
pub mod failure;
mod join;
mod names;
pub mod occupancy;
pub mod origin;
pub mod shapes;
pub mod source;
pub mod space;

pub use dump::{
    Allocation, At, Dump, File, FileId, Instruction, Part, Peak, Place, Platforms, Position, Row,
    Step, Tables, Use, Value,
};
pub use names::{NameId, Names};
