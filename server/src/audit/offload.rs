//! What is in flight between memory spaces, and what comes back from the host.

use super::Audit;
use super::copies::Copy;
use crate::model::occupancy::Moment;

/// What moves into one memory space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traffic {
    /// From this memory space, if it is known.
    pub from: Option<u64>,
    /// To this memory space, if it is known.
    pub to: Option<u64>,
    /// How many copies.
    pub copies: usize,
    /// Bytes in all.
    pub bytes: u64,
    /// The step at which the most bytes are in flight, and these.
    pub most_in_flight: Option<Moment>,
}

/// A host parameter that is copied back to the device as a whole: offloading it saves nothing
/// while the copy is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComesBack {
    /// The parameter's allocation, as a number into [`crate::model::Dump::allocations`].
    pub allocation: u32,
    /// The copy, as a number into the copies.
    pub copy: usize,
}

/// Movement between memory spaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offload {
    /// By the memory spaces between which it goes, the most bytes first.
    pub traffic: Vec<Traffic>,
    /// Host parameters that come back whole.
    pub comes_back: Vec<ComesBack>,
}

/// What `copies` move between memory spaces.
pub fn offload(audit: &Audit, copies: &[Copy]) -> Offload {
    let _ = (audit, copies);
    Offload::default()
}
