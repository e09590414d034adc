//! Advice on memory spaces and allocations as a whole: the true peak, gaps, the device's capacity.

use std::cmp::Reverse;

use super::{Advice, Thresholds};
use crate::checks::labels::{size_place, space_title, step_place, step_title};
use crate::checks::{Code, Finding, budgets};
use crate::model::Platforms;
use crate::model::bytes::{display, rounded};
use crate::model::occupancy::Kind;

impl Advice<'_, '_> {
    /// `xla-peak-step`, at any size.
    pub(super) fn peak_step(&self) -> Option<Finding> {
        let dump = self.dump;
        let printed = dump.peak.as_ref()?;
        let step = printed.step.value;
        let peak = self.peak(0)?;
        let curve = dump.occupancy().space(0)?.curve.as_ref()?;
        let occupied = curve.at(step);
        if step >= curve.steps() || occupied >= peak.bytes {
            return None;
        }
        let space = space_title(self.dump, 0);
        let message = format!(
            "the compiler takes {} for the peak, but {space} holds the most at {}: {}, which is {} \
             more than at step {step}",
            step_title(self.dump, step),
            step_title(self.dump, peak.step),
            display(peak.bytes),
            display(peak.bytes - occupied)
        );
        let finding = Finding::new(Code::XlaPeakStep, printed.place.clone(), message);
        let fullest = step_place(dump, peak.step);
        Some(finding.related_if(fullest, format!("here {space} holds the most")))
    }

    /// `fragmentation`
    pub(super) fn fragmentation(&self) -> Vec<Finding> {
        let dump = self.dump;
        let occupancy = dump.occupancy();
        let mut found = Vec::new();
        for (at, allocation) in (0..).zip(&dump.allocations) {
            // A TPU's other memories hold what no dump tells: the scratch of kernels.
            let is_told = allocation.color == 0 || !dump.platforms.tpu;
            if allocation.kind() != Kind::Temp || !is_told {
                continue;
            }
            if let Some(fill) = occupancy.fill(at).filter(|_| occupancy.missing == 0) {
                let full = u128::from(allocation.size) * u128::from(self.thresholds.full_percent);
                let gap = allocation.size.saturating_sub(fill.fullest.bytes);
                let is_full = u128::from(fill.fullest.bytes) * 100 >= full;
                // Many small values, as the tables of tuples are, lie apart for their alignment.
                let is_large = gap.min(fill.fullest.bytes) >= self.thresholds.min_bytes;
                if !is_full && is_large {
                    found.push((gap, at, fill.fullest));
                }
            }
        }
        found.sort_by_key(|&(gap, at, _)| (Reverse(gap), at));
        let finding = |&(gap, at, fullest): &(u64, u32, crate::model::occupancy::Moment)| {
            let size = dump.allocations[at as usize].size;
            let percent = fullest.bytes as f64 * 100.0 / size as f64;
            let message = format!(
                "never more than {percent:.1} % full: {} of {} are occupied at the fullest, {}, so \
                 at least {} are gaps at every step",
                rounded(fullest.bytes),
                rounded(size),
                step_title(self.dump, fullest.step),
                rounded(gap)
            );
            Some(Finding::new(
                Code::Fragmentation,
                size_place(self.dump, at)?,
                message,
            ))
        };
        found.iter().filter_map(finding).collect()
    }

    /// `capacity`
    pub(super) fn capacity(&self) -> Vec<Finding> {
        let colors = self.dump.occupancy().spaces.iter().map(|it| it.color);
        colors.filter_map(|color| self.above(color)).collect()
    }

    /// What is found if a memory space, with all that lies in its memory, reserves more than the device has of it.
    fn above(&self, color: u64) -> Option<Finding> {
        let dump = self.dump;
        let capacity = self.thresholds.capacity_of(color, dump.platforms)?;
        let (together, reserved) = dump.occupancy().in_memory_of(color, dump.platforms);
        let more = reserved.checked_sub(capacity).filter(|&more| more > 0)?;
        let of_spaces = together.iter().flat_map(|it| dump.allocations_in(it.color));
        let of_spaces = of_spaces.filter(|(_, allocation)| allocation.kind() != Kind::ThreadLocal);
        let (largest, _) =
            of_spaces.max_by_key(|(at, allocation)| (allocation.size, Reverse(*at)))?;
        let others = together.iter().filter(|it| it.color != color);
        let others: Vec<String> = others.map(|it| space_title(dump, it.color)).collect();
        let with = match others.join(" and ") {
            none if none.is_empty() => none,
            others => format!(", those in {others} included,"),
        };
        let message = format!(
            "the allocations in {}{with} take {} together, {} more than the {} that the device has; this \
             is the largest",
            space_title(dump, color),
            display(reserved),
            display(more),
            rounded(capacity)
        );
        Some(Finding::new(
            Code::Capacity,
            size_place(dump, largest)?,
            message,
        ))
    }
}

impl Thresholds {
    /// The bytes that the device has of memory space `color`, if they are configured; the last
    /// word counts.
    pub fn capacity_of(&self, color: u64, platforms: Platforms) -> Option<u64> {
        budgets::limit(&self.capacity, color, platforms)
    }
}
