//! Which parameters are donated, what is copied, and what moves between memory spaces.

use std::collections::BTreeMap;

use buflens_syntax::Shape;
use serde::Serialize;

use super::{Moment, Source, source_line, value_place};
use crate::audit::copies::{self as copy, Copy, written};
use crate::audit::donation::{self as donate, Parameter, Saving, Verdict};
use crate::audit::{Audit, offload as traffic};
use crate::model::{Dump, NameId, Place, space};

/// The audits that were asked for.
#[derive(Debug, Clone, Serialize)]
pub struct Audits<L> {
    /// What becomes of the parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub donation: Option<Donation<L>>,
    /// The copies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copies: Option<Copies<L>>,
    /// What moves between memory spaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offload: Option<Offload>,
}

/// What becomes of the parameters.
#[derive(Debug, Clone, Serialize)]
pub struct Donation<L> {
    /// Why it is not known when they are read.
    pub reason: Option<&'static str>,
    /// The parameters, the largest first.
    pub parameters: Vec<DonationParameter<L>>,
    /// How many more there are.
    pub parameters_left_out: usize,
    /// The bytes of all parameters; as below, the sum over `spaces`, `None` without allocations.
    pub parameter_bytes: Option<u64>,
    /// Of those that are donated.
    pub donated_bytes: Option<u64>,
    /// Of those that the caller donates, but that no output is written over.
    pub not_usable_bytes: Option<u64>,
    /// Of those that could be donated, each to an output of its own.
    pub could_match_bytes: Option<u64>,
    /// By so many bytes at most less would be reserved if these were donated.
    pub could_match_reserved_bytes: Option<u64>,
    /// By so many bytes at most the occupied peaks would fall then.
    pub could_match_peak_bytes: Option<u64>,
    /// Of those that are dead before the peak; `None` if that is not known of all.
    pub dead_bytes: Option<u64>,
    /// The same of each memory space that parameters are in, by number.
    pub spaces: Vec<DonationSpace>,
}

/// The parameters in a memory space.
#[derive(Debug, Clone, Serialize)]
pub struct DonationSpace {
    /// The memory space.
    pub color: u64,
    /// Its name.
    pub name: String,
    /// As in [`Donation`].
    pub parameter_bytes: u64,
    /// As in [`Donation`].
    pub donated_bytes: u64,
    /// As in [`Donation`].
    pub not_usable_bytes: u64,
    /// As in [`Donation`].
    pub could_match_bytes: u64,
    /// As in [`Donation`].
    pub could_match_reserved_bytes: u64,
    /// By so many bytes at most the occupied peak would fall then.
    pub could_match_peak_bytes: Option<u64>,
    /// As in [`Donation`].
    pub dead_bytes: Option<u64>,
    /// The peak, else the bytes of all parameters: what others are large or small beside.
    #[serde(skip)]
    pub whole_bytes: u64,
}

/// An entry parameter, or a leaf of one.
#[derive(Debug, Clone, Serialize)]
pub struct DonationParameter<L> {
    /// The HLO parameter's number.
    pub parameter: u64,
    /// Which leaf of it.
    pub index: String,
    /// The name of its value.
    pub name: Option<String>,
    /// The argument's path in the user's program.
    pub op_name: Option<String>,
    /// The number of its allocation.
    pub allocation: u64,
    /// The memory space.
    pub space: u64,
    /// Bytes.
    pub bytes: u64,
    /// `donated`, `not-usable`, `could-match`, `dead`, `kept` or `unknown`.
    pub verdict: &'static str,
    /// The last step at which it is read.
    pub last_read: Option<LastRead>,
    /// Whether it is alive at the peak of its memory space.
    pub alive_at_peak: Option<bool>,
    /// The numbers of the allocations of outputs that it could be donated to, of a `could-match` the
    /// one that no other parameter is matched with first.
    pub outputs: Vec<u64>,
    /// Whether the first of them can be written over it in place: not if what reads it last makes that output and
    /// needs it until that is whole, or if something reads it that need not run before what makes that output, or that makes it
    /// without it. `null` if it is matched with none.
    pub in_place: Option<bool>,
    /// By how many reserved bytes less it does at most if it is donated to the first of them. `null` if it is matched with none.
    pub saved_reserved_bytes: Option<u64>,
    /// The same of the bytes occupied at the peak. `null` as well if that is not known.
    pub saved_peak_bytes: Option<u64>,
    /// The copy of the parameter that becomes the first of them, and is not needed if the parameter is donated.
    pub spares_copy: Option<String>,
    /// The numbers of the allocations of parameters that have to be donated as well: JAX pairs this one with another output
    /// otherwise, where something is in the way.
    pub only_with: Vec<u64>,
    /// The copy that writes a part of the result over it, if it is donated and that is made elsewhere.
    pub copied_over_by: Option<String>,
    /// The allocation's line.
    pub location: Option<L>,
}

/// Who reads a parameter last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastRead {
    /// The step.
    pub step: u64,
    /// The instruction.
    pub instruction: String,
}

/// The copies of a program.
#[derive(Debug, Clone, Serialize)]
pub struct Copies<L> {
    /// Why nothing is known of peaks.
    pub reason: Option<&'static str>,
    /// The copies, those with the most bytes first.
    pub copies: Vec<CopyRecord<L>>,
    /// How many more there are.
    pub copies_left_out: usize,
    /// How many of all are in loops, and so made in each turn.
    pub in_loops: usize,
    /// What all write with all turns of these, as far as it is known; `null` where the turns of some are not.
    pub bytes_of_all_turns: Option<u64>,
    /// What all of them write once, by memory space.
    pub spaces: Vec<CopiedSpace>,
}

/// What copies write to a memory space.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CopiedSpace {
    /// The memory space.
    pub color: u64,
    /// Its name.
    pub name: String,
    /// The bytes of all copies to it, as far as they are known.
    pub copied_bytes: Option<u64>,
    /// The bytes of those alive at its peak.
    pub at_peak_bytes: Option<u64>,
}

/// A copy.
#[derive(Debug, Clone, Serialize)]
pub struct CopyRecord<L> {
    /// The instruction.
    pub name: String,
    /// What it is for: `layout`, `transpose`, `plain`, `space`, `prefetch`, `write-back`,
    /// `offload`, `reload`.
    pub kind: &'static str,
    /// What it reads.
    pub operand: String,
    /// The bytes that it writes, if they are known.
    pub bytes: Option<u64>,
    /// Whence.
    pub from: End,
    /// Whither.
    pub to: End,
    /// The steps from its start to its end.
    pub window: Option<(u64, u64)>,
    /// Whether its result is alive at the peak of its memory space.
    pub alive_at_peak: Option<bool>,
    /// The name of that memory space.
    #[serde(skip)]
    pub peak_of: Option<String>,
    /// The earlier copy that it takes back.
    pub round_trip: Option<String>,
    /// The loop that makes it in each of its turns.
    pub in_loop: Option<String>,
    /// How many turns that takes, with those of the loops around it.
    pub turns: Option<u64>,
    /// The trace path.
    pub op_name: Option<String>,
    /// The line of source.
    pub source: Option<String>,
    /// The line of the value that it writes, else its own.
    pub location: Option<L>,
}

/// One end of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct End {
    /// The memory space.
    pub space: Option<u64>,
    /// The layout of an array.
    pub layout: Option<String>,
    /// The shape with its layout.
    pub shape: Option<String>,
}

/// What moves between memory spaces.
#[derive(Debug, Clone, Serialize)]
pub struct Offload {
    /// Why it is not known what happens at the same time.
    pub reason: Option<&'static str>,
    /// From where to where, the most bytes first.
    pub traffic: Vec<Traffic>,
    /// Host parameters that come back whole.
    pub comes_back: Vec<ComesBack>,
}

/// What moves from one memory space to another.
#[derive(Debug, Clone, Serialize)]
pub struct Traffic {
    /// From this memory space.
    pub from: Option<u64>,
    /// To this one.
    pub to: Option<u64>,
    /// `HBM -> VMEM`.
    #[serde(skip)]
    pub route: String,
    /// How many copies.
    pub copies: usize,
    /// Bytes, as far as they are known.
    pub bytes: Option<u64>,
    /// When the most bytes are in flight.
    pub most_in_flight: Option<InFlight>,
}

/// Bytes in flight at a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InFlight {
    /// The step.
    pub step: u64,
    /// The instruction that runs then.
    pub instruction: Option<String>,
    /// Bytes.
    pub bytes: u64,
}

/// A host parameter that is copied back whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ComesBack {
    /// The HLO parameter's number.
    pub parameter: Option<u64>,
    /// The number of its allocation.
    pub allocation: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// The copy.
    pub copy: Option<String>,
}

/// All audits.
pub fn audits<L>(
    source: &Source<'_, '_, L>,
    [with_donation, with_copies, with_offload]: [bool; 3],
    limit: usize,
) -> Audits<L> {
    // Both speak of the same copies.
    let found = if with_copies || with_offload {
        copy::copies(source.audit)
    } else {
        Vec::new()
    };
    Audits {
        donation: with_donation.then(|| donation(source, limit)),
        copies: with_copies.then(|| copies_of(source, &found, limit)),
        offload: with_offload.then(|| offload(source.audit, &found)),
    }
}

/// What becomes of the parameters; at most `limit` of them one by one.
pub fn donation<L>(source: &Source<'_, '_, L>, limit: usize) -> Donation<L> {
    let dump = source.audit.dump;
    let donate::Donation {
        parameters: found,
        savings,
    } = donate::donation(source.audit);
    let mut of_spaces: BTreeMap<u64, Vec<(Verdict, u64)>> = BTreeMap::new();
    for parameter in &found {
        if let Some(allocation) = dump.allocations.get(parameter.allocation as usize) {
            let of_space = of_spaces.entry(allocation.color).or_default();
            of_space.push((parameter.verdict, allocation.size));
        }
    }
    let spaces = of_spaces
        .iter()
        .map(|(&color, parameters)| donation_space(dump, color, parameters, savings.get(&color)));
    let spaces: Vec<DonationSpace> = spaces.collect();
    let sum = |bytes: fn(&DonationSpace) -> Option<u64>| {
        let mut known = spaces.iter().map(bytes);
        let sum = known.try_fold(0_u64, |sum, bytes| Some(sum.saturating_add(bytes?)));
        sum.filter(|_| !dump.allocations.is_empty())
    };
    let shown = found.iter().take(limit);
    Donation {
        reason: unknown(dump),
        parameters: shown.filter_map(|found| parameter(source, found)).collect(),
        parameters_left_out: found.len().saturating_sub(limit),
        parameter_bytes: sum(|space| Some(space.parameter_bytes)),
        donated_bytes: sum(|space| Some(space.donated_bytes)),
        not_usable_bytes: sum(|space| Some(space.not_usable_bytes)),
        could_match_bytes: sum(|space| Some(space.could_match_bytes)),
        could_match_reserved_bytes: sum(|space| Some(space.could_match_reserved_bytes)),
        could_match_peak_bytes: sum(|space| space.could_match_peak_bytes),
        dead_bytes: sum(|space| space.dead_bytes),
        spaces,
    }
}

/// The record of a memory space with these parameters, each with its bytes, where donating those that
/// match outputs would save `saving`.
fn donation_space(
    dump: &Dump,
    color: u64,
    parameters: &[(Verdict, u64)],
    saving: Option<&Saving>,
) -> DonationSpace {
    let bytes_of = |is_meant: &dyn Fn(Verdict) -> bool| {
        let these = parameters.iter().filter(|(verdict, _)| is_meant(*verdict));
        these.fold(0, |sum: u64, (_, bytes)| sum.saturating_add(*bytes))
    };
    let parameter_bytes = bytes_of(&|_| true);
    let is_unknown = parameters.iter().any(|(it, _)| *it == Verdict::Unknown);
    let peak = dump.occupancy().peak(color);
    DonationSpace {
        color,
        name: space::named(color, dump.platforms),
        parameter_bytes,
        donated_bytes: bytes_of(&|it| it == Verdict::Donated),
        not_usable_bytes: bytes_of(&|it| it == Verdict::NotUsable),
        could_match_bytes: bytes_of(&|it| it == Verdict::CouldMatch),
        could_match_reserved_bytes: saving.map_or(0, |saving| saving.reserved),
        could_match_peak_bytes: saving.map_or(peak.map(|_| 0), |saving| saving.peak),
        dead_bytes: (!is_unknown).then(|| bytes_of(&|it| it == Verdict::Dead)),
        whole_bytes: peak.map_or(parameter_bytes, |peak| peak.bytes),
    }
}

/// The record of a parameter.
pub(super) fn parameter<L>(
    source: &Source<'_, '_, L>,
    found: &Parameter,
) -> Option<DonationParameter<L>> {
    let dump = source.audit.dump;
    let allocation = dump.allocations.get(found.allocation as usize)?;
    let header = dump.header(allocation)?;
    let value = found.value.and_then(|at| dump.values.get(at as usize));
    let index = header.text(header.row.parameter_index);
    let last_read = found.last_read.map(|(step, name)| LastRead {
        step,
        instruction: dump.names[name].to_owned(),
    });
    let origins = &source.audit.origins;
    let numbers = |found: &[u32]| {
        let found = found.iter();
        let numbers = found.filter_map(|&at| Some(dump.allocations.get(at as usize)?.index));
        numbers.collect()
    };
    let name = |name: NameId| dump.names[name].to_owned();
    let matched = found.matched.as_deref();
    Some(DonationParameter {
        parameter: found.number,
        index: if index.is_empty() { "{}" } else { index }.to_owned(),
        name: value.map(|value| dump.names[value.name].to_owned()),
        op_name: value.and_then(|value| origins.path(&origins.of(value))),
        allocation: allocation.index,
        space: allocation.color,
        bytes: allocation.size,
        verdict: found.verdict.name(),
        last_read,
        alive_at_peak: found.at_peak,
        outputs: numbers(&found.outputs),
        in_place: matched.map(|it| it.pairing.obstacle.is_none()),
        saved_reserved_bytes: matched.map(|it| it.saving.reserved),
        saved_peak_bytes: matched.and_then(|it| it.saving.peak),
        spares_copy: matched.and_then(|it| it.pairing.spared).map(name),
        only_with: matched.map_or_else(Vec::new, |it| numbers(&it.only_with)),
        copied_over_by: found.copied_over.map(|it| name(it.copy)),
        location: (source.locate)(&header.place(header.row.line)),
    })
}

/// The copies; at most `limit` of them one by one.
pub fn copies<L>(source: &Source<'_, '_, L>, limit: usize) -> Copies<L> {
    copies_of(source, &copy::copies(source.audit), limit)
}

fn copies_of<L>(source: &Source<'_, '_, L>, found: &[Copy], limit: usize) -> Copies<L> {
    let dump = source.audit.dump;
    let mut spaces: BTreeMap<u64, Vec<&Copy>> = BTreeMap::new();
    for copy in found {
        if let Some(color) = copy.to.color {
            spaces.entry(color).or_default().push(copy);
        }
    }
    let spaces = spaces.into_iter().map(|(color, copies)| {
        let is_known = copies.iter().all(|copy| copy.at_peak.is_some());
        let at_peak = copies.iter().copied();
        let at_peak = at_peak.filter(|copy| copy.at_peak == Some(true));
        let at_peak = written(at_peak).unwrap_or(0);
        CopiedSpace {
            color,
            name: space::named(color, dump.platforms),
            copied_bytes: written(copies),
            // Copies on SparseCores have no live range.
            at_peak_bytes: (is_known || at_peak > 0).then_some(at_peak),
        }
    });
    Copies {
        reason: unknown(dump),
        copies: found
            .iter()
            .take(limit)
            .map(|found| copy_record(source, found))
            .collect(),
        copies_left_out: found.len().saturating_sub(limit),
        in_loops: found.iter().filter(|copy| copy.in_loop.is_some()).count(),
        bytes_of_all_turns: bytes_of_all_turns(found),
        spaces: spaces.collect(),
    }
}

/// What copies write with all turns of the loops that they are in.
fn bytes_of_all_turns(copies: &[Copy]) -> Option<u64> {
    copies.iter().try_fold(0_u64, |sum, copy| {
        let turns = copy.in_loop.map_or(Some(1), |it| it.turns)?;
        Some(sum.saturating_add(copy.bytes.unwrap_or(0).saturating_mul(turns)))
    })
}

/// The record of a copy.
pub(super) fn copy_record<L>(source: &Source<'_, '_, L>, copy: &Copy) -> CopyRecord<L> {
    let dump = source.audit.dump;
    let name = |id: NameId| dump.names[id].to_owned();
    let origin = source.audit.origins.named(copy.name);
    CopyRecord {
        name: name(copy.name),
        kind: copy.purpose.name(),
        operand: copy.operand.clone(),
        bytes: copy.bytes,
        from: end(&copy.from),
        to: end(&copy.to),
        window: copy.window,
        alive_at_peak: copy.at_peak,
        peak_of: copy
            .to
            .color
            .map(|color| space::named(color, dump.platforms)),
        round_trip: copy.round_trip.map(name),
        in_loop: copy.in_loop.map(|it| name(it.name)),
        turns: copy.in_loop.and_then(|it| it.turns),
        op_name: source.audit.origins.path(&origin),
        source: source_line(&origin, source.audit),
        location: copy_place(dump, copy).and_then(|place| (source.locate)(&place)),
    }
}

fn copy_place(dump: &Dump, copy: &Copy) -> Option<Place> {
    let value = copy.to.value.or_else(|| dump.values_of(copy.name).next());
    if let Some(value) = value.and_then(|at| dump.values.get(at as usize)) {
        return value_place(dump, value);
    }
    let row = dump.module.instructions.get(copy.name)?.row;
    let at = dump.at::<buflens_syntax::facts::Instruction>(row)?;
    Some(at.place(at.row.name))
}

fn end(end: &copy::End) -> End {
    let is_laid_out = matches!(
        Shape::read(&end.shape),
        Ok(Shape::Array(array)) if array.layout.is_some()
    );
    // In an array's shape the first brace opens the layout.
    let layout = end.shape.find('{').filter(|_| is_laid_out);
    End {
        space: end.color,
        layout: layout.map(|at| end.shape[at..].to_owned()),
        shape: Some(end.shape.clone()).filter(|shape| !shape.is_empty()),
    }
}

/// What moves between memory spaces.
fn offload(audit: &Audit, copies: &[Copy]) -> Offload {
    let dump = audit.dump;
    let found = traffic::offload(audit, copies);
    let space = |color: Option<u64>| match color {
        Some(color) => space::named(color, dump.platforms),
        None => "unknown".to_owned(),
    };
    let traffic = found.traffic.iter().map(|traffic| Traffic {
        from: traffic.from,
        to: traffic.to,
        route: format!("{} -> {}", space(traffic.from), space(traffic.to)),
        copies: traffic.copies,
        bytes: traffic.bytes,
        most_in_flight: traffic.most_in_flight.map(|moment| {
            let Moment {
                step,
                instruction,
                occupied_bytes,
            } = Moment::new(dump, moment);
            InFlight {
                step,
                instruction,
                bytes: occupied_bytes,
            }
        }),
    });
    let comes_back = found.comes_back.iter().filter_map(|back| {
        let allocation = dump.allocations.get(back.allocation as usize)?;
        Some(ComesBack {
            parameter: dump.parameter_number(allocation),
            allocation: allocation.index,
            bytes: allocation.size,
            copy: copies
                .get(back.copy)
                .map(|copy| dump.names[copy.name].to_owned()),
        })
    });
    Offload {
        reason: unknown(dump),
        traffic: traffic.collect(),
        comes_back: comes_back.collect(),
    }
}

/// Why not everything is known about instructions and when they run.
fn unknown(dump: &Dump) -> Option<&'static str> {
    let occupancy = dump.occupancy();
    if dump.allocations.is_empty() {
        occupancy.reason
    } else if !dump.knows_instructions() {
        Some("the used values are not there, so it is not known what the instructions are")
    } else if occupancy.missing > 0 {
        Some("some live ranges or places are missing")
    } else {
        occupancy.reason
    }
}
