//! What a memory space holds at a moment, and what would be if some of it were not there.

use rustc_hash::FxHashSet;

use super::Audit;
use crate::model::occupancy::{Moment, Occupancy, alive, by_kind, exclusive};

/// How near to the peak other steps must be to be named, in percent of its bytes.
pub const NEAR: u8 = 95;
/// So many other local maxima are named.
const NEXT: usize = 5;

/// What a memory space holds at a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peak {
    /// The memory space.
    pub color: u64,
    /// The step, and the bytes occupied then.
    pub moment: Moment,
    /// The bytes by kind of allocation, in the order of [`OCCUPYING`](crate::model::occupancy::Kind::OCCUPYING).
    pub kinds: [u64; 4],
    /// The values alive then, the largest first.
    pub values: Vec<Held>,
    /// The ranges of steps, both ends included, within 5 % of the true peak.
    pub near: Vec<(u64, u64)>,
    /// The highest other local maxima, the highest first, each with less than [`NEAR`] % of its bytes at some step between
    /// it and any higher one.
    pub next: Vec<Moment>,
}

/// A value alive at a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// The value, as a number into [`crate::model::Dump::values`].
    pub value: u32,
    /// Its bytes that are not counted for another value already; all shares add up to the bytes
    /// occupied.
    pub share: u64,
}

/// What memory space `color` holds at `step`, or else at its true peak, without the values
/// `left_out`. With these, the true peak is that of what remains.
///
/// # Errors
/// With the reason, where there is no occupancy or no such space or step.
pub fn peak(
    audit: &Audit,
    color: u64,
    step: Option<u64>,
    left_out: &[u32],
) -> Result<Peak, String> {
    let dump = audit.dump;
    let remaining;
    let occupancy = if left_out.is_empty() {
        dump.occupancy()
    } else {
        remaining = Occupancy::without(dump, left_out);
        &remaining
    };
    if let Some(reason) = occupancy.reason {
        return Err(reason.to_owned());
    }
    let curve = occupancy
        .space(color)
        .and_then(|space| space.curve.as_ref())
        .ok_or_else(|| format!("the dump has no allocation in memory space {color}"))?;
    let moment = match step {
        None => curve.peak(),
        Some(step) if step < curve.steps() => Moment {
            step,
            bytes: curve.at(step),
        },
        Some(step) => {
            let last = curve.steps() - 1;
            return Err(format!("there is no step {step}: the last one is {last}"));
        }
    };
    let mut values = alive(dump, color, moment.step);
    let left_out: FxHashSet<u32> = left_out.iter().copied().collect();
    values.retain(|at| !left_out.contains(at));
    let kinds = by_kind(dump, &values);
    let mut values: Vec<Held> = exclusive(dump, &values)
        .into_iter()
        .map(|(value, share)| Held { value, share })
        .collect();
    values.sort_unstable_by_key(|held| {
        let value = &dump.values[held.value as usize];
        (std::cmp::Reverse((value.size, held.share)), held.value)
    });
    Ok(Peak {
        color,
        moment,
        kinds,
        values,
        near: curve.near(NEAR),
        next: curve.next_peaks(NEXT, NEAR),
    })
}

/// The step that the compiler prints as the peak, the bytes that it lists there, and those that
/// memory space `color` really occupies then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Printed {
    /// The step.
    pub step: u64,
    /// The sum of the listed bytes: unpadded, all memory spaces mixed.
    pub listed: u64,
    /// Occupied bytes; `None` without occupancy.
    pub occupied: Option<u64>,
}

/// What the compiler prints of the peak, if it does.
pub fn printed(audit: &Audit, color: u64) -> Option<Printed> {
    let dump = audit.dump;
    let step = dump.peak.as_ref()?.step.value;
    let curve = dump
        .occupancy()
        .space(color)
        .and_then(|space| space.curve.as_ref());
    Some(Printed {
        step,
        listed: dump.listed_bytes().unwrap_or(0),
        occupied: curve
            .filter(|curve| step < curve.steps())
            .map(|curve| curve.at(step)),
    })
}
