//! What people ask a dump about memory, answered over the whole of it: what the peak is made of,
//! where padding goes, which parameters are donated, what is copied and moved, and what of it changed between two
//! compiles.
//!
//! Each answer is plain data with numbers into the dump's tables; `report` and `lsp` put it into
//! words, `checks` turns what is worth a hint into findings.

pub mod attribution;
pub mod copies;
pub mod diff;
pub mod donation;
#[cfg(test)]
pub(crate) mod fixture;
pub mod kernels;
pub mod made;
pub mod offload;
pub mod out_of_memory;
pub mod padding;
pub mod peak;

use crate::model::Dump;
use crate::model::origin::Origins;
use crate::model::shapes::Shapes;
use crate::model::source::Libraries;

/// A dump, with what has been read of its shapes and instructions.
#[derive(Debug)]
pub struct Audit<'d> {
    /// The dump.
    pub dump: &'d Dump,
    /// Its shapes.
    pub shapes: Shapes<'d>,
    /// Its instructions.
    pub origins: Origins<'d>,
    /// Whose lines of source are not the user's own.
    pub libraries: Libraries,
}

impl<'d> Audit<'d> {
    /// Nothing read yet.
    pub fn new(dump: &'d Dump, libraries: Libraries) -> Self {
        Self {
            dump,
            shapes: Shapes::new(dump),
            origins: Origins::new(dump),
            libraries,
        }
    }
}
