//! Advice on parameters and outputs: donation.

use std::cell::LazyCell;
use std::cmp::Reverse;
use std::fmt::Write as _;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Advice, MAX_RELATED};
use crate::audit::donation::{
    CopiedOver, Donation, Match, Obstacle, Parameter, Verdict, holds_output, value_of,
};
use crate::checks::labels::{cut, size_place, space_title, step_title, value_place};
use crate::checks::{Code, Finding};
use crate::model::Allocation;
use crate::model::bytes::{counted, rounded};
use crate::model::occupancy::Kind;

impl Advice<'_, '_> {
    /// `missed-donation`: one finding for each output that some parameter could be donated to, as
    /// far as there are parameters, and for each that is donated in vain. Also tells these outputs.
    pub(super) fn missed_donations(&self, donation: &Donation) -> (Vec<Finding>, FxHashSet<u32>) {
        let key = |parameter: &Parameter| {
            let allocation = &self.dump.allocations[parameter.allocation as usize];
            (allocation.color, allocation.size)
        };
        // How many parameters and outputs there are of each size.
        let counts = LazyCell::new(|| {
            let (mut parameters, mut outputs): (FxHashMap<_, u64>, FxHashMap<_, u64>) =
                <_>::default();
            for parameter in donation
                .parameters
                .iter()
                .filter(|it| !it.outputs.is_empty())
            {
                *parameters.entry(key(parameter)).or_default() += 1;
            }
            for &at in self.dump.outputs() {
                let output = &self.dump.allocations[at as usize];
                if holds_output(&self.audit, output) {
                    *outputs.entry((output.color, output.size)).or_default() += 1;
                }
            }
            (parameters, outputs)
        });
        // What the findings of a memory space promise one by one, which may be more than can be had of all.
        let is_told = |it: &&Match| it.saving.reserved >= self.thresholds.min_bytes;
        let mut promised: FxHashMap<u64, (u64, u64)> = FxHashMap::default();
        for parameter in &donation.parameters {
            if let Some(matched) = parameter.matched.as_deref().filter(is_told) {
                let (count, bytes) = promised.entry(key(parameter).0).or_default();
                let reserved = matched.saving.reserved;
                (*count, *bytes) = (*count + 1, bytes.saturating_add(reserved));
            }
        }
        let mut taken = FxHashSet::default();
        let mut findings = Vec::new();
        for parameter in &donation.parameters {
            let (color, size) = key(parameter);
            if parameter.verdict == Verdict::NotUsable && size >= self.thresholds.min_bytes {
                let message = format!(
                    "{} is donated, but no output is written over its {}",
                    self.parameter(parameter.number, parameter.value),
                    rounded(size)
                );
                findings.extend(self.parameter_finding(Code::MissedDonation, parameter, message));
            }
            if let Some(copied) = parameter
                .copied_over
                .filter(|_| size >= self.thresholds.min_bytes)
            {
                let message = self.copied_over(parameter, copied);
                let finding = self.parameter_finding(Code::MissedDonation, parameter, message);
                let source = value_place(self.dump, copied.source);
                findings.extend(finding.map(|it| it.related_if(source, "what is copied")));
            }
            let Some(matched) = parameter.matched.as_deref().filter(is_told) else {
                continue;
            };
            let Match {
                output,
                saving,
                pairing,
                only_with,
            } = matched;
            let output = *output;
            taken.insert(output);
            let mut message = format!(
                "{} is not donated, and allocation {} holds a part of the result that takes \
                 the same {}: if the caller needs the parameter no longer, donating it reserves up to \
                 {} less",
                self.parameter(parameter.number, parameter.value),
                self.dump.allocations[output as usize].index,
                rounded(size),
                rounded(saving.reserved)
            );
            let space = space_title(self.dump, color);
            let _ = match saving.peak {
                None => Ok(()),
                Some(0) => write!(message, ", but does not lower the peak of {space}"),
                Some(saved) => write!(
                    message,
                    ", and lowers the peak of {space} by up to {}",
                    rounded(saved)
                ),
            };
            let name = |name| format!("`{}`", cut(&self.dump.names[name]));
            if let Some(copy) = pairing.spared {
                let _ = write!(
                    message,
                    "; {}, the copy that becomes the output, is not needed then",
                    name(copy)
                );
            }
            if let Some(obstacle) = pairing.obstacle {
                let beside = match obstacle {
                    Obstacle::Apart(_) => "it",
                    Obstacle::Unordered { .. } | Obstacle::After { .. } => "a copy of it",
                    Obstacle::Apiece(_) => "copies of both",
                };
                let _ = write!(message, "; beside {beside}, as {}", obstacle.reason(name));
            }
            if let [first, others @ ..] = only_with.as_slice() {
                let allocation = &self.dump.allocations[*first as usize];
                let number = self.dump.parameter_number(allocation).unwrap_or_default();
                let first = self.parameter(number, value_of(self.dump, allocation));
                let others = match others.len() {
                    0 => String::new(),
                    count => format!(
                        " and {} of this size before it",
                        counted(count as u64, "other")
                    ),
                };
                let _ = write!(
                    message,
                    "; only with {first}{others} donated as well: JAX pairs it with another output otherwise",
                );
            }
            let (parameters, outputs) = &*counts;
            let (count, outputs) = (parameters[&(color, size)], outputs[&(color, size)]);
            if count > outputs {
                let _ = write!(
                    message,
                    " ({count} parameters that are not donated have this size, and {})",
                    counted(outputs, "such output")
                );
            }
            let together = donation.savings.get(&color).map_or(0, |it| it.reserved);
            if let Some(&(count, bytes)) = promised.get(&color)
                && bytes > together
            {
                let _ = write!(
                    message,
                    "; all {count} such hints together, up to {}",
                    rounded(together)
                );
            }
            let finding = self.parameter_finding(Code::MissedDonation, parameter, message);
            let place = size_place(self.dump, output);
            findings.extend(finding.map(|it| it.related_if(place, "the output")));
        }
        (findings, taken)
    }

    fn copied_over(&self, parameter: &Parameter, copied: CopiedOver) -> String {
        let dump = self.dump;
        let source = &dump.values[copied.source as usize];
        let step = dump.step_of(copied.copy);
        let mut message = format!(
            "{} is donated, but the result is made elsewhere, and copied over it by `{}`{}: until then it takes \
             another {}",
            self.parameter(parameter.number, parameter.value),
            cut(&dump.names[copied.copy]),
            step.map_or_else(String::new, |step| format!(" at step {step}")),
            rounded(source.size)
        );
        let (made, _) = dump.live(source);
        let name = |name| cut(&dump.names[name]);
        let _ = match parameter.last_read {
            Some((_, reader)) if reader == source.name => {
                write!(
                    message,
                    "; `{}`, which makes it, reads the parameter",
                    name(reader)
                )
            }
            Some((step, reader)) if step > made => write!(
                message,
                "; it is made at step {made}, but `{}` reads the parameter at step {step}",
                name(reader)
            ),
            _ => Ok(()),
        };
        message
    }

    /// `dead-parameter`
    pub(super) fn dead_parameters(&self, donation: &Donation) -> Vec<Finding> {
        let dead = donation.parameters.iter().filter(|parameter| {
            let allocation = &self.dump.allocations[parameter.allocation as usize];
            parameter.verdict == Verdict::Dead && allocation.size >= self.thresholds.min_bytes
        });
        let finding = |parameter: &Parameter| {
            let allocation = &self.dump.allocations[parameter.allocation as usize];
            let peak = self.peak(allocation.color)?;
            let last = match parameter.last_read {
                Some((step, name)) => {
                    let part = u128::from(peak.step) * u128::from(self.thresholds.dead_percent);
                    if u128::from(step) * 100 > part {
                        return None;
                    }
                    let reader = cut(&self.dump.names[name]);
                    format!("is read for the last time at step {step}, by `{reader}`")
                }
                None => "is never read".to_owned(),
            };
            let way_out = if parameter.last_read.is_none() {
                "left out of the call, it would need none (JAX passes what is not read only with `keep_unused=True`)"
            } else if parameter.outputs.is_empty() {
                "no output could take its place, so its bytes are free before the end only in a \
                 program that is split there"
            } else {
                "if it were donated to an output of its size, its bytes would be free from then on"
            };
            let message = format!(
                "{} {last}, but keeps its {} at the peak of {}, {}: {way_out}",
                self.parameter(parameter.number, parameter.value),
                rounded(allocation.size),
                space_title(self.dump, allocation.color),
                step_title(self.dump, peak.step)
            );
            self.parameter_finding(Code::DeadParameter, parameter, message)
        };
        dead.filter_map(finding).collect()
    }

    fn parameter_finding(
        &self,
        code: Code,
        parameter: &Parameter,
        message: String,
    ) -> Option<Finding> {
        Some(Finding::new(
            code,
            size_place(self.dump, parameter.allocation)?,
            message,
        ))
    }

    /// `idle-output`: one finding for each memory space, without the outputs in `left_out`.
    pub(super) fn idle_outputs(&self, left_out: &FxHashSet<u32>) -> Vec<Finding> {
        let dump = self.dump;
        let mut findings = Vec::new();
        for space in &dump.occupancy().spaces {
            let Some(peak) = self.peak(space.color) else {
                continue;
            };
            let is_idle = |at: u32, allocation: &Allocation| {
                allocation.kind() == Kind::Output
                    && allocation.size >= self.thresholds.min_bytes
                    && dump
                        .occupancy()
                        .fill(at)
                        .is_some_and(|fill| fill.at_peak == 0)
            };
            let idle = dump
                .allocations_in(space.color)
                .filter(|(at, allocation)| !left_out.contains(at) && is_idle(*at, allocation));
            let mut idle: Vec<u32> = idle.map(|(at, _)| at).collect();
            let size = |at: u32| dump.allocations[at as usize].size;
            idle.sort_by_key(|&at| (Reverse(size(at)), at));
            let Some((&first, others)) = idle.split_first() else {
                continue;
            };
            let sum = idle
                .iter()
                .fold(0, |sum: u64, &at| sum.saturating_add(size(at)));
            let what = match others.len() {
                0 => format!("this output reserves {}, but is", rounded(sum)),
                more => format!(
                    "this output and {more} more reserve {} together, but are",
                    rounded(sum)
                ),
            };
            // Those that one could be donated to are left out.
            let message = format!(
                "{what} empty at the peak of {}, {}: reserved for a result that does not exist yet, and no \
                 parameter is matched with it",
                space_title(self.dump, space.color),
                step_title(self.dump, peak.step)
            );
            let Some(place) = size_place(self.dump, first) else {
                continue;
            };
            let mut finding = Finding::new(Code::IdleOutput, place, message);
            for &other in others.iter().take(MAX_RELATED) {
                if let Some(place) = size_place(self.dump, other) {
                    finding = finding.related(place, "empty then as well");
                }
            }
            findings.push(finding);
        }
        findings
    }
}
