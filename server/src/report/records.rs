//! The answers to questions about memory as programs read them: one set of records for the command
//! line's JSON and the language server's commands. A contract, described in `docs/cli.md` and
//! `docs/lsp-extensions.md`: what is here may grow, and nothing may change its name or meaning.

mod allocation;
mod audit;
mod diff;
mod listing;
mod made;
mod map;
mod oom;
mod padding;
mod peak;
mod summary;

use serde::Serialize;

pub use self::allocation::{AllocatedValue, AllocationValues, allocation};
pub use self::audit::{Audits, Copies, CopyRecord, Donation, DonationParameter, DonationSpace};
pub use self::audit::{Offload, audits, copies, donation};
pub use self::diff::{
    Change, ChangedValue, Diff, Diffs, PeakChange, PeakMember, SpaceChange, diff,
};
pub use self::listing::{Listed, Listing, listed};
pub use self::made::{Made, MadeDump, MadeLine, MadePart, MadeSpace, MadeValue, made};
pub use self::map::{MOST_MAPPED, Map, MapAllocation, MapSpace, MapValues, TextId, map};
pub use self::oom::{
    EntryRecord, FailedDump, FailedText, FailureRecord, OutOfMemory, Size, failed,
};
pub use self::padding::{PaddedSpace, PaddedValue, Padding, padding};
pub use self::peak::{
    Attributed, Idle, Kinds, MOST_SPACES, Peak, PeakQuery, PeakValue, PrintedPeak, ValuesAtOffset,
    WhatIf, attribution, no_allocation, peak, space_names, space_problem, step_problem,
    values_at_offset, what_if,
};
pub use self::summary::{Module, Summary, module};

use super::Spot;
use crate::audit::Audit;
use crate::model::{Dump, Place, Value as DumpValue, occupancy, space};
use crate::workspace::program_name;

/// The version of the contract.
pub const SCHEMA: u32 = 1;

/// An answer about one dump.
#[derive(Debug, Clone, Serialize)]
pub struct Answer<T> {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What the program is called.
    pub module: String,
    /// The answer itself.
    #[serde(flatten)]
    pub content: T,
}

impl<T> Answer<T> {
    /// An answer about `dump`.
    pub fn new(dump: &Dump, content: T) -> Self {
        Self {
            schema: SCHEMA,
            module: program_name(dump),
            content,
        }
    }
}

/// A dump with a way to name places in it.
pub struct Source<'a, 'd, L> {
    /// The dump.
    pub audit: &'a Audit<'d>,
    /// Names a place as the reader of the records does.
    pub locate: &'a dyn Fn(&Place) -> Option<L>,
}

/// A place in a file, for the command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileLocation {
    /// The path as it was given, or a sibling of it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, in characters.
    pub column: u32,
}

impl FileLocation {
    /// Where `place` begins.
    pub fn new(dump: &Dump, place: &Place) -> Option<Self> {
        let spot = Spot::new(dump, place)?;
        Some(Self {
            file: spot.path.to_string_lossy().into_owned(),
            line: spot.line,
            column: spot.column,
        })
    }
}

/// A step, what runs then, and the bytes occupied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Moment {
    /// The step.
    pub step: u64,
    /// The instruction that runs then.
    pub instruction: Option<String>,
    /// Bytes.
    pub occupied_bytes: u64,
}

impl Moment {
    /// The moment with its instruction's name.
    pub fn new(dump: &Dump, moment: occupancy::Moment) -> Self {
        Self {
            step: moment.step,
            instruction: dump.instruction_at(moment.step).map(str::to_owned),
            occupied_bytes: moment.bytes,
        }
    }
}

/// A memory space.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Space {
    /// Its number.
    pub color: u64,
    /// Its name on the platform, or its number in words.
    pub name: String,
    /// The sizes of its allocations, without thread-local ones.
    pub reserved_bytes: u64,
    /// The sizes of its thread-local allocations.
    pub thread_local_bytes: u64,
    /// Padding among the bytes occupied at its peak.
    pub padding_bytes: Option<u64>,
    /// Its true peak.
    pub peak: Option<Moment>,
}

/// A value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Value<L> {
    /// The id.
    pub id: u64,
    /// The defining instruction.
    pub name: String,
    /// The shape index with its braces.
    pub index: String,
    /// `parameter`, `output`, `constant`, `temp` or `thread-local`.
    pub kind: Option<&'static str>,
    /// The number of the allocation that holds it.
    pub allocation: Option<u64>,
    /// Bytes from the start of the allocation; `None` where the dump does not say where it lies.
    pub offset: Option<u64>,
    /// Bytes, padding included; `None` likewise.
    pub bytes: Option<u64>,
    /// Bytes without padding.
    pub logical_bytes: Option<u64>,
    /// First and last step alive.
    pub live: Option<[u64; 2]>,
    /// The shape with its layout.
    pub shape: Option<String>,
    /// The opcode of the defining instruction.
    pub opcode: Option<String>,
    /// The trace path, or of a parameter the argument's.
    pub op_name: Option<String>,
    /// The line of source, `file.py:12`: the innermost that is not a library's, else the innermost.
    pub source: Option<String>,
    /// The value's line.
    pub location: Option<L>,
}

impl<L> Value<L> {
    /// The name, and the index where there is more than one: `copy-start.1{0}`.
    pub fn label(&self) -> String {
        label(&self.name, &self.index)
    }
}

/// A name, and the shape index where there is more than one: `copy-start.1{0}`.
fn label(name: &str, index: &str) -> String {
    match index {
        "{}" | "" => name.to_owned(),
        index => format!("{name}{index}"),
    }
}

/// The record of value `at`.
pub(super) fn value<L>(source: &Source<'_, '_, L>, at: u32) -> Option<Value<L>> {
    let dump = source.audit.dump;
    let value = dump.values.get(at as usize)?;
    let allocation = dump.allocation_of(value);
    let origin = source.audit.origins.of(value);
    let place = value_place(dump, value);
    let placement = dump.placement(value);
    let is_placed = dump.is_placed(value);
    Some(Value {
        id: value.id,
        name: dump.names[value.name].to_owned(),
        index: dump.names[value.index].to_owned(),
        kind: allocation.map(|allocation| allocation.kind().name()),
        allocation: allocation.map(|allocation| allocation.index),
        offset: is_placed.then_some(value.offset),
        bytes: is_placed.then_some(value.size),
        logical_bytes: source.audit.shapes.logical_bytes(value),
        live: dump.live_range_of(value).map(|it| [it.steps.0, it.steps.1]),
        shape: placement.map(|at| at.text(at.row.shape).to_owned()),
        opcode: dump.opcode(value.name).map(str::to_owned),
        op_name: source.audit.origins.path(&origin),
        source: source_line(&origin, source.audit),
        location: place.and_then(|place| (source.locate)(&place)),
    })
}

/// `model.py:12` with the path as the dump prints it.
fn source_line(origin: &crate::model::origin::Origin, audit: &Audit) -> Option<String> {
    origin.source(&audit.libraries).map(ToString::to_string)
}

/// The line of a value among the allocations, else among the used values.
fn value_place(dump: &Dump, value: &DumpValue) -> Option<Place> {
    if let Some(at) = dump.placement(value) {
        return Some(at.place(at.row.line));
    }
    let at = dump.used(value)?;
    Some(at.place(at.row.value.span))
}

/// How many values lack a live range or a place; `None` where no peak is known anyway.
fn missing_live_ranges(dump: &Dump) -> Option<usize> {
    let occupancy = dump.occupancy();
    occupancy.reason.is_none().then_some(occupancy.missing)
}

/// Every memory space.
pub(super) fn spaces(audit: &Audit) -> Vec<Space> {
    let dump = audit.dump;
    let record = |space: &occupancy::Space| {
        let peak = space.peak();
        Space {
            color: space.color,
            name: space::named(space.color, dump.platforms),
            reserved_bytes: space.reserved,
            thread_local_bytes: space.thread_local,
            padding_bytes: peak
                .map(|peak| crate::audit::padding::at_step(audit, space.color, peak.step)),
            peak: peak.map(|peak| Moment::new(dump, peak)),
        }
    };
    dump.occupancy().spaces.iter().map(record).collect()
}
