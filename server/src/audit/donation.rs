//! Which parameters give their buffers to the result, and which could or should.

use super::Audit;
use crate::model::NameId;

/// What becomes of a parameter's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It is the buffer of a part of the result as well.
    Donated,
    /// It is not donated, and has the size of an output that no parameter is donated to.
    CouldMatch,
    /// It is not donated, alive at the peak of its memory space, and read for the last time before.
    Dead,
    /// None of these.
    Kept,
}

impl Verdict {
    /// `donated`, `could-match`, `dead`, `kept`
    pub fn name(self) -> &'static str {
        match self {
            Self::Donated => "donated",
            Self::CouldMatch => "could-match",
            Self::Dead => "dead",
            Self::Kept => "kept",
        }
    }
}

/// An entry parameter, or a leaf of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its allocation, as a number into [`crate::model::Dump::allocations`].
    pub allocation: u32,
    /// The HLO parameter's number.
    pub number: u64,
    /// Its value, as a number into [`crate::model::Dump::values`], if it has one.
    pub value: Option<u32>,
    /// What becomes of it.
    pub verdict: Verdict,
    /// The last step at which it is read, and by whom. `None` if it is never read, or nothing is
    /// known.
    pub last_read: Option<(u64, NameId)>,
    /// Whether it is alive at the peak of its memory space.
    pub at_peak: bool,
    /// The outputs that it could be donated to, as numbers into
    /// [`crate::model::Dump::allocations`].
    pub outputs: Vec<u32>,
}

/// The parameters of a dump, the largest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Donation {
    /// All parameters.
    pub parameters: Vec<Parameter>,
}

/// What becomes of each parameter.
pub fn donation(audit: &Audit) -> Donation {
    let _ = audit;
    Donation::default()
}
