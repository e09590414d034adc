//! The copies that the compiler inserted: what they move, when, and at what cost.

use super::Audit;
use crate::model::NameId;

/// What a copy is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// The same data in another layout.
    Layout,
    /// A transposition that writes its result.
    Transpose,
    /// Another buffer with the same contents in the same layout and memory space.
    Plain,
    /// From one memory space to another, not asynchronous and not host memory.
    Space,
    /// Asynchronous, into faster memory or back.
    Prefetch,
    /// To host memory.
    Offload,
    /// Back from host memory.
    Reload,
}

impl Purpose {
    /// `layout`, `transpose`, `plain`, `space`, `prefetch`, `offload`, `reload`
    pub fn name(self) -> &'static str {
        match self {
            Self::Layout => "layout",
            Self::Transpose => "transpose",
            Self::Plain => "plain",
            Self::Space => "space",
            Self::Prefetch => "prefetch",
            Self::Offload => "offload",
            Self::Reload => "reload",
        }
    }
}

/// One end of a copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct End {
    /// The value, as a number into [`crate::model::Dump::values`], if it has one.
    pub value: Option<u32>,
    /// The memory space, if it is known.
    pub color: Option<u64>,
    /// The shape with its layout; empty if it is not known.
    pub shape: String,
}

/// A copy, or the start of an asynchronous one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    /// The instruction.
    pub name: NameId,
    /// What it is for.
    pub purpose: Purpose,
    /// What it reads: the operand's name as printed.
    pub operand: Option<NameId>,
    /// Whence.
    pub from: End,
    /// Whither.
    pub to: End,
    /// Bytes that it writes, padding included.
    pub bytes: u64,
    /// The steps from its start to its end, the same for one that is not asynchronous.
    pub window: Option<(u64, u64)>,
    /// Whether its result is alive at the true peak of its memory space.
    pub at_peak: bool,
    /// The earlier copy that it takes back: A -> B, and then B -> A.
    pub round_trip: Option<NameId>,
}

/// All copies, those with the most bytes first.
pub fn copies(audit: &Audit) -> Vec<Copy> {
    let _ = audit;
    Vec::new()
}
