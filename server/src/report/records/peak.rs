//! What a memory space holds at a moment, and what would be without some of it.

use rustc_hash::FxHashSet;
use serde::Serialize;

use super::{Moment, Source, Space, Value, label, missing_live_ranges, spaces, value};
use crate::audit::attribution::{self, By};
use crate::audit::peak::{self, Held};
use crate::audit::{Audit, kernels};
use crate::model::bytes::grouped;
use crate::model::occupancy::{self, Kind, Occupancy};
use crate::model::{self, Dump, space};

/// For so many values it is told where the peak moves to without them.
const MOST_WHAT_IFS: usize = 100;
/// Where all memory spaces are asked for, the peaks of so many are told: a record names all spaces, so that
/// the answer would grow with their square. No platform has more than 13.
pub const MOST_SPACES: usize = 64;
/// So many values are named where there is no peak.
const MOST_LARGEST: usize = 100;
/// So many allocations are named that hold less than they reserve.
const MOST_IDLE: usize = 4;

/// What is asked of a memory space.
#[derive(Debug, Clone)]
pub struct PeakQuery<'q> {
    /// The memory space.
    pub color: u64,
    /// The step; that of the true peak if there is none.
    pub step: Option<u64>,
    /// Values that are left out, as numbers into [`Dump::values`].
    pub without: &'q [u32],
    /// So many values at most.
    pub limit: usize,
}

impl PeakQuery<'_> {
    /// What the true peak of a memory space holds, at most `limit` of its values.
    pub fn true_peak(color: u64, limit: usize) -> Self {
        Self {
            color,
            step: None,
            without: &[],
            limit,
        }
    }
}

/// What a memory space holds at a step.
#[derive(Debug, Clone, Serialize)]
pub struct Peak<L> {
    /// `tpu`, `gpu`, `cpu` or `unknown`.
    pub platform: &'static str,
    /// The memory space.
    pub space: u64,
    /// Its name.
    pub name: String,
    /// Why there is no peak.
    pub reason: Option<String>,
    /// The step.
    pub step: Option<u64>,
    /// The instruction that runs then.
    pub instruction: Option<String>,
    /// Bytes occupied then.
    pub occupied_bytes: Option<u64>,
    /// The sizes of the allocations, without thread-local ones.
    pub reserved_bytes: Option<u64>,
    /// The allocations that hold less than they reserve at the step, the largest gaps first.
    pub idle: Vec<Idle>,
    /// The occupied bytes by kind of allocation.
    pub kinds: Option<Kinds>,
    /// How much of the parameters' is in buffers that the caller gave away, and held by what was written over them; `None`
    /// without a peak, or if it is not known what the instructions are.
    pub written_over_parameters: Option<u64>,
    /// The ranges of steps within 5 % of the peak.
    pub near: Option<Vec<(u64, u64)>>,
    /// The highest other local maxima, apart from any higher one.
    pub next: Option<Vec<Moment>>,
    /// What the compiler prints.
    pub xla_peak: Option<PrintedPeak>,
    /// Values that should have a live range and have none, or no readable place in an allocation: the true peak may be higher. `None`
    /// without a peak.
    pub missing_live_ranges: Option<usize>,
    /// How many bytes the allocations lack of the total that the compiler prints, as where a file is cut;
    /// `None` where either is not known.
    pub missing_bytes: Option<u64>,
    /// How many kernels there are whose scratch is in no allocation, if it is known what the
    /// instructions are.
    pub kernels: Option<usize>,
    /// The ids of the values that are left out.
    pub without: Vec<u64>,
    /// Their names.
    pub without_names: Vec<String>,
    /// The names of others that hold the very same bytes before or after them.
    pub without_buffer: Vec<String>,
    /// Where values are left out, what is occupied with them: at the step asked for, else at the true peak.
    pub before: Option<Moment>,
    /// All memory spaces, with nothing left out.
    pub spaces: Vec<Space>,
    /// The values alive at the step, the largest first.
    pub values: Vec<PeakValue<L>>,
    /// How many more there are.
    pub values_left_out: usize,
    /// The largest values of the memory space, where there is no peak.
    pub largest: Vec<Value<L>>,
}

/// An allocation that holds less than it reserves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Idle {
    /// The number of the allocation.
    pub allocation: u64,
    /// `parameter`, `output`, `constant` or `temp`.
    pub kind: &'static str,
    /// Its size.
    pub bytes: u64,
    /// Bytes occupied of it.
    pub occupied_bytes: u64,
    /// Whether the compiler keeps the rest as scratch of the instructions, which is in no value.
    pub is_scratch: bool,
    /// Bytes that the instruction of the step takes of these; `None` where the HLO text does not tell.
    pub scratch_bytes: Option<u64>,
}

/// The occupied bytes by kind of allocation.
#[derive(Debug, Clone, Serialize)]
pub struct Kinds {
    /// Of parameters, donated or not.
    pub parameter: u64,
    /// Of parts of the result.
    pub output: u64,
    /// Of literals.
    pub constant: u64,
    /// Of all that comes and goes.
    pub temp: u64,
}

impl Kinds {
    /// Each with its name, in the order in which people care.
    pub fn named(&self) -> [(&'static str, u64); 4] {
        [
            ("temp", self.temp),
            ("parameter", self.parameter),
            ("output", self.output),
            ("constant", self.constant),
        ]
    }
}

/// A value alive at a step.
#[derive(Debug, Clone, Serialize)]
pub struct PeakValue<L> {
    /// The value.
    #[serde(flatten)]
    pub value: Value<L>,
    /// Bytes that are not counted for another value already: all add up to those occupied.
    pub own_bytes: u64,
    /// Where the peak moves to if this value alone goes away.
    pub what_if: Option<Moment>,
    /// The ids of the values that hold the very same bytes before or after it: other names of its buffer.
    pub buffer: Vec<u64>,
    /// Where the peak moves to if all of these went away with it; `None` without others.
    pub buffer_what_if: Option<Moment>,
}

/// The step that the compiler prints as the peak.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PrintedPeak {
    /// The step.
    pub step: u64,
    /// The sum of the listed bytes: unpadded, all memory spaces mixed.
    pub listed_bytes: u64,
    /// The bytes really occupied then in the memory space in question.
    pub occupied_bytes: Option<u64>,
}

impl From<peak::Printed> for PrintedPeak {
    fn from(printed: peak::Printed) -> Self {
        Self {
            step: printed.step,
            listed_bytes: printed.listed,
            occupied_bytes: printed.occupied,
        }
    }
}

/// Why `color` makes no sense in `dump`, in a sentence that says what there is, if it does not. Without
/// allocations any may be there.
pub fn space_problem(dump: &Dump, color: u64) -> Option<String> {
    let spaces = &dump.occupancy().spaces;
    if spaces.is_empty() || spaces.iter().any(|space| space.color == color) {
        return None;
    }
    Some(format!(
        "there is no {}; the dump has {}",
        space::short(color, dump.platforms),
        space_names(dump)
    ))
}

/// `HBM (@0), VMEM (@1)`: the memory spaces that the dump has.
pub fn space_names(dump: &Dump) -> String {
    let spaces = dump.occupancy().spaces.iter();
    let names: Vec<String> = spaces
        .map(|space| space::short(space.color, dump.platforms))
        .collect();
    names.join(", ")
}

/// Why `step` makes no sense in `dump`, if it does not.
pub fn step_problem(dump: &Dump, color: u64, step: u64) -> Option<String> {
    let steps = dump.occupancy().space(color)?.curve.as_ref()?.steps();
    (step >= steps).then(|| {
        let last = steps.saturating_sub(1);
        format!("there is no step {step}: the last one is {last}")
    })
}

/// What a memory space holds, and the values behind it for [`attribution()`].
pub fn peak<L>(source: &Source<'_, '_, L>, query: &PeakQuery) -> (Peak<L>, Vec<Held>) {
    let audit = source.audit;
    let dump = audit.dump;
    let space = dump.occupancy().space(query.color);
    let mut record = Peak {
        platform: space::platform(dump.platforms),
        space: query.color,
        name: space::named(query.color, dump.platforms),
        reason: None,
        step: None,
        instruction: None,
        occupied_bytes: None,
        reserved_bytes: space.map(|space| space.reserved),
        idle: Vec::new(),
        kinds: None,
        written_over_parameters: None,
        near: None,
        next: None,
        xla_peak: peak::printed(audit, query.color).map(PrintedPeak::from),
        missing_live_ranges: missing_live_ranges(dump),
        missing_bytes: dump.missing_bytes(),
        kernels: dump
            .knows_instructions()
            .then(|| kernels::kernels(audit).len()),
        without: ids(dump, query.without),
        without_names: labels(dump, query.without),
        without_buffer: labels(dump, &others_of(dump, query.without)),
        before: None,
        spaces: spaces(audit),
        values: Vec::new(),
        values_left_out: 0,
        largest: Vec::new(),
    };
    let found = match peak::peak(audit, query.color, query.step, query.without) {
        Ok(found) => found,
        Err(reason) => {
            record.reason = Some(reason);
            let largest = largest(dump, query.color)
                .into_iter()
                .take(query.limit.min(MOST_LARGEST));
            record.largest = largest.filter_map(|at| value(source, at)).collect();
            return (record, Vec::new());
        }
    };
    let moment = Moment::new(dump, found.moment);
    let curve = space.and_then(|space| space.curve.as_ref());
    if let Some(curve) = curve.filter(|_| !query.without.is_empty()) {
        let at = |step| occupancy::Moment {
            step,
            bytes: curve.at(step),
        };
        let before = query.step.map_or_else(|| curve.peak(), at);
        record.before = Some(Moment::new(dump, before));
    }
    record.step = Some(moment.step);
    record.instruction = moment.instruction;
    record.occupied_bytes = Some(moment.occupied_bytes);
    let [parameter, output, constant, temp] = found.kinds;
    record.kinds = Some(Kinds {
        parameter,
        output,
        constant,
        temp,
    });
    record.written_over_parameters = dump
        .knows_instructions()
        .then(|| written_over_parameters(dump, &found.values));
    record.idle = idle(dump, query.color, found.moment.step, &found.values);
    record.near = Some(found.near);
    let next = found.next.into_iter();
    record.next = Some(next.map(|moment| Moment::new(dump, moment)).collect());
    let shown = found.values.iter().take(query.limit).enumerate();
    let shown = shown.filter_map(|(number, held)| {
        // With values left out, what another one frees is not what the dump as it is would tell.
        let is_asked = number < MOST_WHAT_IFS && query.without.is_empty();
        let what_if = is_asked
            .then(|| dump.occupancy().if_gone(dump, held.value))
            .flatten();
        let buffer = if is_asked {
            occupancy::buffer(dump, held.value)
        } else {
            Vec::new()
        };
        let others = buffer.get(1..).unwrap_or_default();
        let buffer_what_if = (!others.is_empty())
            .then(|| dump.occupancy().if_all_gone(dump, &buffer))
            .flatten();
        Some(PeakValue {
            value: value(source, held.value)?,
            own_bytes: held.share,
            what_if: what_if.map(|moment| Moment::new(dump, moment)),
            buffer: ids(dump, others),
            buffer_what_if: buffer_what_if.map(|moment| Moment::new(dump, moment)),
        })
    });
    record.values = shown.collect();
    record.values_left_out = found.values.len() - record.values.len();
    (record, found.values)
}

/// The bytes of `held` in the allocations of parameters that are none of the parameters.
fn written_over_parameters(dump: &Dump, held: &[Held]) -> u64 {
    let is_other = |held: &&Held| {
        let Some(value) = dump.values.get(held.value as usize) else {
            return false;
        };
        let allocation = dump.allocation_of(value);
        let number = allocation.and_then(|it| dump.parameter_number(it));
        number.is_some() && dump.parameter_of(value.name) != number
    };
    let others = held.iter().filter(is_other).map(|held| held.share);
    others.fold(0, u64::saturating_add)
}

/// The allocations of a memory space of which `held` fill the least, by bytes.
fn idle(dump: &Dump, color: u64, step: u64, held: &[Held]) -> Vec<Idle> {
    let mut occupied = vec![0_u64; dump.allocations.len()];
    for held in held {
        let value = dump.values.get(held.value as usize);
        if let Some(bytes) = value
            .and_then(model::Value::allocation)
            .and_then(|at| occupied.get_mut(at as usize))
        {
            *bytes = bytes.saturating_add(held.share);
        }
    }
    let of_space = dump.allocations_in(color);
    let of_space = of_space.map(|(at, it)| (it, occupied[at as usize]));
    let of_space =
        of_space.filter(|(it, occupied)| it.kind() != Kind::ThreadLocal && it.size > *occupied);
    let mut idle: Vec<Idle> = of_space
        .map(|(allocation, occupied_bytes)| {
            let is_scratch = dump.keeps_scratch(allocation);
            let scratch = is_scratch.then(|| dump.scratch_at(step)).flatten();
            Idle {
                allocation: allocation.index,
                kind: allocation.kind().name(),
                bytes: allocation.size,
                occupied_bytes,
                is_scratch,
                scratch_bytes: scratch.map(|bytes| bytes.min(allocation.size - occupied_bytes)),
            }
        })
        .collect();
    idle.sort_by_key(|it| std::cmp::Reverse(it.bytes - it.occupied_bytes));
    idle.truncate(MOST_IDLE);
    idle
}

/// The values of a memory space, the largest first.
fn largest(dump: &Dump, color: u64) -> Vec<u32> {
    let of_space = dump.allocations_in(color);
    let mut values: Vec<u32> = of_space.flat_map(|(_, it)| it.values.clone()).collect();
    values.sort_by_key(|&at| std::cmp::Reverse(dump.values.get(at as usize).map(|it| it.size)));
    values
}

fn ids(dump: &Dump, values: &[u32]) -> Vec<u64> {
    let id = |&at: &u32| Some(dump.values.get(at as usize)?.id);
    values.iter().filter_map(id).collect()
}

/// The names of values.
fn labels(dump: &Dump, values: &[u32]) -> Vec<String> {
    let of = |&at: &u32| {
        let value = dump.values.get(at as usize)?;
        Some(label(&dump.names[value.name], &dump.names[value.index]))
    };
    values.iter().filter_map(of).collect()
}

/// The others that hold the very same bytes before or after one of `values`.
fn others_of(dump: &Dump, values: &[u32]) -> Vec<u32> {
    let mut told: FxHashSet<u32> = values.iter().copied().collect();
    let buffers = values.iter().flat_map(|&at| occupancy::buffer(dump, at));
    buffers.filter(|&at| told.insert(at)).collect()
}

/// Bytes with one origin.
#[derive(Debug, Clone, Serialize)]
pub struct Attributed {
    /// The origin; `null` for what the dump does not tell.
    pub name: Option<String>,
    /// Whether these are parameters of the program and copies of them, which come from no line of source:
    /// their `name` is `null`.
    pub parameters: bool,
    /// Bytes, none of them counted twice.
    pub bytes: u64,
    /// How many values.
    pub values: usize,
    /// The id of the largest of them.
    pub largest: Option<u64>,
}

/// The bytes of `values` by origin.
pub fn attribution(audit: &Audit, values: &[Held], by: By) -> Vec<Attributed> {
    let is_parameter = |held: &Held| {
        let value = audit.dump.values.get(held.value as usize);
        by == By::Source && value.is_some_and(|value| attribution::is_argument(audit, value))
    };
    let (parameters, others): (Vec<Held>, Vec<Held>) =
        values.iter().partition(|it| is_parameter(it));
    let record = |group: attribution::Group, parameters| Attributed {
        name: Some(group.name).filter(|name| !name.is_empty()),
        parameters,
        bytes: group.bytes,
        values: group.values,
        largest: audit
            .dump
            .values
            .get(group.largest as usize)
            .map(|value| value.id),
    };
    let groups = |values: &[Held], parameters| {
        let groups = attribution::attribution(audit, values, by).into_iter();
        groups.map(move |group| record(group, parameters))
    };
    let mut all: Vec<Attributed> = groups(&others, false).collect();
    all.extend(groups(&parameters, true));
    // Stable: the order of others with the same bytes stays.
    all.sort_by_key(|group| std::cmp::Reverse(group.bytes));
    all
}

/// The peak with and without some values.
#[derive(Debug, Clone, Serialize)]
pub struct WhatIf {
    /// The memory space.
    pub space: u64,
    /// Its name.
    pub name: String,
    /// The ids asked for.
    pub without: Vec<u64>,
    /// Those of them that no value has.
    pub unknown: Vec<u64>,
    /// Why there is no peak.
    pub reason: Option<String>,
    /// The true peak.
    pub before: Option<Moment>,
    /// The peak of what remains.
    pub after: Option<Moment>,
    /// By how much it is lower.
    pub saved_bytes: Option<u64>,
    /// What is taken for granted.
    pub note: &'static str,
}

/// What the peak of memory space `color` would be without the values of these ids.
pub fn what_if(audit: &Audit, color: u64, without: Vec<u64>) -> WhatIf {
    let dump = audit.dump;
    let known: Vec<u32> = without
        .iter()
        .filter_map(|&id| dump.value_with_id(id))
        .collect();
    let unknown = without.iter().copied();
    let unknown = unknown.filter(|&id| dump.value_with_id(id).is_none());
    let before = dump.occupancy().peak(color);
    let after = before.and_then(|_| Occupancy::without(dump, &known).peak(color));
    let reason = match before {
        Some(_) => None,
        None => peak::peak(audit, color, None, &[]).err(),
    };
    WhatIf {
        space: color,
        name: space::named(color, dump.platforms),
        unknown: unknown.collect(),
        without,
        reason,
        saved_bytes: before
            .zip(after)
            .map(|(before, after)| before.bytes.saturating_sub(after.bytes)),
        before: before.map(|moment| Moment::new(dump, moment)),
        after: after.map(|moment| Moment::new(dump, moment)),
        note: "with the schedule and the placement as they are",
    }
}

/// The values over a byte of an allocation.
#[derive(Debug, Clone, Serialize)]
pub struct ValuesAtOffset<L> {
    /// The number of the allocation.
    pub allocation: u64,
    /// Bytes from its start.
    pub offset: u64,
    /// The values, in the order of time.
    pub values: Vec<Value<L>>,
}

/// What is said where no allocation has the number `allocation`.
pub fn no_allocation(dump: &Dump, allocation: u64) -> String {
    match dump.allocations.iter().map(|it| it.index).max() {
        Some(last) => format!("there is no allocation {allocation}: the last one is {last}"),
        None => format!(
            "allocation {allocation} is not known: {}",
            dump.occupancy().reason.unwrap_or_default()
        ),
    }
}

/// The values of the allocation with this number that hold the byte at `offset`, at `step` or at
/// any.
///
/// # Errors
/// If there is no such allocation, or no such byte or step in it.
pub fn values_at_offset<L>(
    source: &Source<'_, '_, L>,
    allocation: u64,
    offset: u64,
    step: Option<u64>,
) -> Result<ValuesAtOffset<L>, String> {
    let dump = source.audit.dump;
    let place = dump.allocation_numbered(allocation);
    let place = place.ok_or_else(|| no_allocation(dump, allocation))?;
    let found = &dump.allocations[place as usize];
    if offset >= found.size {
        let bytes = grouped(found.size);
        return Err(format!(
            "allocation {allocation} has {bytes} B, and none at offset {offset}"
        ));
    }
    if let Some(problem) = step.and_then(|step| step_problem(dump, found.color, step)) {
        return Err(problem);
    }
    let holds = |&at: &u32| {
        dump.values.get(at as usize).is_some_and(|value| {
            step.is_none_or(|step| dump.is_alive(value, step))
                && offset
                    .checked_sub(value.offset)
                    .is_some_and(|inside| inside < value.size)
        })
    };
    let mut values: Vec<u32> = found.values.clone().filter(holds).collect();
    values.sort_by_key(|&at| {
        let value = &dump.values[at as usize];
        (!value.has_live_range(), dump.live(value), at)
    });
    Ok(ValuesAtOffset {
        allocation,
        offset,
        values: values
            .into_iter()
            .filter_map(|at| value(source, at))
            .collect(),
    })
}
