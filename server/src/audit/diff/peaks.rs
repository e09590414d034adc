//! What is there at the true peaks of two compiles.

use std::cmp::Reverse;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Both, Evidence, Pair, Partners, has_peaks};
use crate::audit::Audit;
use crate::audit::peak::{Held, peak};
use crate::model::Dump;

/// What a memory space holds at the peaks of both compiles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Peaks {
    /// The memory space.
    pub color: u64,
    /// What is there at the peak of one only: what leaves, and what enters; the largest first.
    pub alone: Both<Vec<Held>>,
    /// What is there at both, but has other bytes; the largest difference first.
    pub changed: Vec<Both<Held>>,
    /// How many values are there at both.
    pub stayed: usize,
    /// Their bytes at each peak, those not counted for another value.
    pub stayed_bytes: Both<u64>,
    /// Bytes of parameters' buffers in which other values lie at one peak than at the other: what is
    /// written over a donated parameter takes no more than it did. Those values are in no list.
    pub replaced_bytes: u64,
}

/// The peaks of all memory spaces, by number.
pub(super) fn peaks(audits: Both<&Audit>, pairs: &[Pair], partners: &Partners) -> Vec<Peaks> {
    if !audits.iter().all(|audit| has_peaks(audit.dump)) {
        return Vec::new();
    }
    let spaces = audits.map(|audit| &audit.dump.occupancy().spaces);
    let colors = spaces.into_iter().flatten();
    let mut colors: Vec<u64> = colors.map(|space| space.color).collect();
    colors.sort_unstable();
    colors.dedup();
    let dumps = audits.map(|audit| audit.dump);
    let buffers = buffers(dumps, pairs);
    let of_color = |color| {
        // A space that only one of them has is empty in the other.
        let held = audits.map(|audit| match audit.dump.occupancy().space(color) {
            Some(_) => peak(audit, color, None, &[]).ok().map(|peak| peak.values),
            None => Some(Vec::new()),
        });
        let [Some(before), Some(after)] = held else {
            return None;
        };
        let mut peaks = compared(color, before, after, dumps, partners);
        peaks.take_replaced(dumps, &buffers);
        Some(peaks)
    };
    colors.into_iter().filter_map(of_color).collect()
}

/// What is there at both peaks, and what at one alone.
fn compared(
    color: u64,
    before: Vec<Held>,
    after: Vec<Held>,
    dumps: Both<&Dump>,
    partners: &Partners,
) -> Peaks {
    let there: FxHashMap<u32, Held> = after.iter().map(|held| (held.value, *held)).collect();
    let mut peaks = Peaks {
        color,
        ..Peaks::default()
    };
    let mut stayed = FxHashSet::default();
    for old in before {
        let partner = partners.after(old.value);
        let Some(&new) = partner.and_then(|partner| there.get(&partner)) else {
            peaks.alone[0].push(old);
            continue;
        };
        stayed.insert(new.value);
        let both = [old, new];
        for (sum, held) in peaks.stayed_bytes.iter_mut().zip(both) {
            *sum = sum.saturating_add(held.share);
        }
        // Of values that share bytes any may have them counted.
        let sizes = [0, 1].map(|side| dumps[side].values[both[side].value as usize].size);
        if sizes[0] != sizes[1] && old.share != new.share {
            peaks.changed.push(both);
        }
    }
    peaks.changed.sort_by_key(|[old, new]| {
        let difference = old.share.abs_diff(new.share);
        (Reverse(difference), Reverse(old.share.max(new.share)))
    });
    peaks.stayed = stayed.len();
    let entered = after.into_iter();
    let entered = entered.filter(|held| !stayed.contains(&held.value));
    peaks.alone[1] = entered.collect();
    peaks
}

/// Of each dump the allocations of entry parameters that are in both, with a number that is the same for both.
fn buffers(dumps: Both<&Dump>, pairs: &[Pair]) -> Both<FxHashMap<u32, usize>> {
    let mut buffers = [FxHashMap::default(), FxHashMap::default()];
    let parameters = pairs.iter().enumerate();
    for (number, pair) in parameters.filter(|(_, pair)| pair.by == Evidence::Parameter) {
        let values = [pair.before, pair.after];
        for side in [0, 1] {
            let value = dumps[side].values.get(values[side] as usize);
            buffers[side].extend(value.and_then(|value| Some((value.allocation()?, number))));
        }
    }
    buffers
}

impl Peaks {
    /// Leaves out of what is there at one peak only what lies in a parameter's buffer, where that holds as
    /// much at the other.
    fn take_replaced(&mut self, dumps: Both<&Dump>, buffers: &Both<FxHashMap<u32, usize>>) {
        let buffer = |side: usize, held: &Held| {
            let value = dumps[side].values.get(held.value as usize)?;
            buffers[side].get(&value.allocation()?).copied()
        };
        let mut sums: FxHashMap<usize, Both<u64>> = FxHashMap::default();
        for (side, alone) in self.alone.iter().enumerate() {
            for held in alone {
                if let Some(number) = buffer(side, held) {
                    let sum = &mut sums.entry(number).or_default()[side];
                    *sum = sum.saturating_add(held.share);
                }
            }
        }
        sums.retain(|_, [before, after]| before == after);
        for (side, alone) in self.alone.iter_mut().enumerate() {
            alone.retain(|held| !buffer(side, held).is_some_and(|it| sums.contains_key(&it)));
        }
        let bytes = sums.into_values().map(|[bytes, _]| bytes);
        self.replaced_bytes = bytes.fold(0, u64::saturating_add);
    }
}
