//! What lies in one allocation, in the order of time.

use serde::Serialize;

use super::{Moment, Source, Value, value};
use crate::model::{Value as DumpValue, space};

/// The values of an allocation.
#[derive(Debug, Clone, Serialize)]
pub struct AllocationValues<L> {
    /// The number of the allocation.
    pub allocation: u64,
    /// `parameter`, `output`, `constant`, `temp` or `thread-local`.
    pub kind: &'static str,
    /// Its memory space.
    pub space: u64,
    /// The name of that.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// The first step at which the most of its bytes are occupied.
    pub fullest: Option<Moment>,
    /// The step in question: that of the true peak of the memory space, if no other was asked for.
    pub step: Option<u64>,
    /// The values, in the order of time.
    pub values: Vec<AllocatedValue<L>>,
    /// How many more there are.
    pub values_left_out: usize,
    /// How many of all of them are alive at the step in question.
    pub values_at_step: usize,
}

/// A value of an allocation.
#[derive(Debug, Clone, Serialize)]
pub struct AllocatedValue<L> {
    /// The value.
    #[serde(flatten)]
    pub value: Value<L>,
    /// Whether it is alive at the step in question.
    pub at_step: bool,
}

/// The values of the allocation with this number, at most `limit`. `None` if there is no such
/// allocation.
pub fn allocation<L>(
    source: &Source<'_, '_, L>,
    number: u64,
    step: Option<u64>,
    limit: usize,
) -> Option<AllocationValues<L>> {
    let dump = source.audit.dump;
    let place = dump.allocation_numbered(number)?;
    let found = &dump.allocations[place as usize];
    let occupancy = dump.occupancy();
    let peak = || Some(occupancy.peak(found.color)?.step);
    let step = step.or_else(peak);
    let of = |at: &u32| dump.values.get(*at as usize);
    let mut values: Vec<u32> = found.values.clone().filter(|at| of(at).is_some()).collect();
    values.sort_by_key(|at| of(at).map(|it| (!it.has_live_range(), dump.live(it), it.offset)));
    let is_alive = |value: &DumpValue| step.is_some_and(|step| dump.is_alive(value, step));
    let alive = values.iter().filter(|at| of(at).is_some_and(is_alive));
    let values_at_step = alive.count();
    let shown = values.iter().take(limit).filter_map(|&at| {
        Some(AllocatedValue {
            value: value(source, at)?,
            at_step: of(&at).is_some_and(is_alive),
        })
    });
    Some(AllocationValues {
        allocation: number,
        kind: found.kind().name(),
        space: found.color,
        name: space::named(found.color, dump.platforms),
        bytes: found.size,
        fullest: occupancy
            .fill(place)
            .map(|fill| Moment::new(dump, fill.fullest)),
        step,
        values: shown.collect(),
        values_left_out: values.len().saturating_sub(limit),
        values_at_step,
    })
}
