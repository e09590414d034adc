//! Budgets: what a program may take at most, by limits of its own and against a baseline.
//!
//! The formulas are written in `docs/ci.md`. Whether a dump keeps a budget is asked of every dump,
//! also of one that contradicts itself; what cannot be told is a finding, never a pass.

mod baseline;
mod limits;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;

pub use self::baseline::{Baseline, Key, Space, program, spaces};
pub use self::limits::{Percent, Ratio};

use super::labels::{size_place, space_title, step_place, step_title, title, value_place};
use super::{Code, Finding};
use crate::model::bytes::{display, rounded};
use crate::model::occupancy::{Kind, alive};
use crate::model::shapes::Shapes;
use crate::model::{Dump, FileId, Part, Place, Platforms, space};

/// So many of the largest values are named with a finding.
const NAMED: usize = 3;
/// So many bytes more at most are no growth: percent of nothing mean nothing, and a program has some sync flags or scalars
/// more or less with any change.
const LITTLE: u64 = 1024;

/// Limits of memory spaces, which go by name, `hbm`, or by number, `@0`. The last that means a space
/// counts.
pub type Limits<T> = Vec<(String, T)>;

/// What a program may take at most.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Budgets {
    /// `max-peak`: bytes occupied at the true peak.
    pub peak: Limits<u64>,
    /// `max-temp`: the sizes of the temp allocations together, in bytes.
    pub temp: Limits<u64>,
    /// `max-padding`: bytes occupied at the true peak by the same without padding.
    pub padding: Limits<Ratio>,
    /// `max-growth`: how much larger than in the baseline peak, temp and reserved bytes may be.
    pub growth: Option<Percent>,
}

impl Budgets {
    /// These, and those of `base` where these limit nothing.
    #[must_use]
    pub fn over(&self, base: &Self) -> Self {
        Self {
            peak: [&base.peak[..], &self.peak].concat(),
            temp: [&base.temp[..], &self.temp].concat(),
            padding: [&base.padding[..], &self.padding].concat(),
            growth: self.growth.or(base.growth),
        }
    }

    /// Whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        self.growth.is_none() && self.names().next().is_none()
    }

    /// The memory spaces that are limited, as they were named.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let bytes = self.peak.iter().chain(&self.temp).map(|(name, _)| name);
        let ratios = self.padding.iter().map(|(name, _)| name);
        bytes.chain(ratios).map(String::as_str)
    }
}

/// Whether a part of the dump that tells of memory was broken off, by what was `found` in it.
fn is_cut(dump: &Dump, found: &[Finding]) -> bool {
    let tells = |file: FileId| {
        let part = dump
            .files
            .get(file)
            .map(|it| Part::from(it.document.kind()));
        !matches!(part, Some(Part::Module | Part::Report))
    };
    let mut found = found.iter();
    found.any(|finding| finding.code == Code::Truncated && tells(finding.place.file))
}

/// The budgets that a dump does not keep, in which all of this was `found`. `measured` are its
/// [`spaces`], `before` those of the same program in the baseline.
pub fn check(
    dump: &Dump,
    found: &[Finding],
    budgets: &Budgets,
    measured: &[Space],
    before: Option<&[Space]>,
) -> Vec<Finding> {
    let check = Check { dump, measured };
    if is_cut(dump, found) {
        return check.nothing(budgets, before, "the dump is broken off");
    }
    if found.iter().any(|it| it.code == Code::OtherCompilation) {
        return check.nothing(
            budgets,
            before,
            "one of its files is of another compilation",
        );
    }
    if measured.is_empty() {
        return check.nothing(budgets, before, "the allocations are not there");
    }
    let mut findings = Vec::new();
    for space in measured {
        let (color, platforms) = (space.color, dump.platforms);
        let peak = limit(&budgets.peak, color, platforms);
        findings.extend(peak.and_then(|limit| check.peak(space, limit)));
        let temp = limit(&budgets.temp, color, platforms);
        findings.extend(temp.and_then(|limit| check.temp(space, limit)));
        let padding = limit(&budgets.padding, color, platforms);
        findings.extend(padding.and_then(|limit| check.padding(space, limit)));
    }
    if let (Some(most), Some(before)) = (budgets.growth, before) {
        findings.extend(check.growth(most, before));
    }
    findings
}

/// The limit of memory space `color`.
pub(super) fn limit<T: Copy>(limits: &Limits<T>, color: u64, platforms: Platforms) -> Option<T> {
    let mut limits = limits.iter().rev();
    let (_, limit) = limits.find(|(name, _)| space::called(name, platforms) == Some(color))?;
    Some(*limit)
}

/// A dump that is held against budgets.
struct Check<'d> {
    dump: &'d Dump,
    measured: &'d [Space],
}

impl Check<'_> {
    /// Nothing can be told of the memory spaces that are limited, for one reason.
    fn nothing(&self, budgets: &Budgets, before: Option<&[Space]>, why: &str) -> Vec<Finding> {
        let limited = [
            (Code::MaxPeak, self.limited(&budgets.peak)),
            (Code::MaxTemp, self.limited(&budgets.temp)),
            (Code::MaxPadding, self.limited(&budgets.padding)),
            (
                Code::MaxGrowth,
                budgets
                    .growth
                    .and(before)
                    .map(|_| "this program".to_owned()),
            ),
        ];
        let finding = |(code, subject): (Code, Option<String>)| {
            let message = format!(
                "it cannot be told whether {} keeps `{code}`: {why}",
                subject?
            );
            Some(Finding::new(code, top(), message))
        };
        limited.into_iter().filter_map(finding).collect()
    }

    /// The last memory space in `limits` that the dump's platform has.
    fn limited<T>(&self, limits: &Limits<T>) -> Option<String> {
        let mut colors = limits.iter().rev();
        let color = colors.find_map(|(name, _)| space::called(name, self.dump.platforms))?;
        Some(space_title(self.dump, color))
    }

    fn peak(&self, space: &Space, limit: u64) -> Option<Finding> {
        let Some(bytes) = space.peak_bytes else {
            return Some(self.unknown(Code::MaxPeak, space.color));
        };
        let step = self.step(space.color);
        let more = bytes.checked_sub(limit).filter(|&more| more > 0)?;
        let message = format!(
            "{} holds {} at its true peak, {}, {} more than the {} of `max-peak`",
            space_title(self.dump, space.color),
            display(bytes),
            step_title(self.dump, step),
            display(more),
            rounded(limit)
        );
        let place = self.peak_place(space.color);
        Some(self.with_largest(
            Finding::new(Code::MaxPeak, place, message),
            self.alive(space.color),
        ))
    }

    fn temp(&self, space: &Space, limit: u64) -> Option<Finding> {
        let more = space
            .temp_bytes
            .checked_sub(limit)
            .filter(|&more| more > 0)?;
        let message = format!(
            "the temp allocations in {} take {} together, {} more than the {} of `max-temp`",
            space_title(self.dump, space.color),
            display(space.temp_bytes),
            display(more),
            rounded(limit)
        );
        let place = self.largest_allocation(space.color, true);
        Some(self.with_largest(
            Finding::new(Code::MaxTemp, place, message),
            self.temporaries(space.color),
        ))
    }

    fn padding(&self, space: &Space, most: Ratio) -> Option<Finding> {
        let (Some(bytes), Some(padding)) = (space.peak_bytes, space.padding_bytes) else {
            return Some(self.unknown(Code::MaxPadding, space.color));
        };
        let without = bytes.saturating_sub(padding);
        let more = most.excess(bytes, without)?;
        let ratio = match without {
            0 => "all of it padding".to_owned(),
            without => format!("{:.3}x", bytes as f64 / without as f64),
        };
        let message = format!(
            "{} holds {} at its true peak, {}, of which {} are padding: {ratio}, {} more than the \
             {most} of `max-padding`",
            space_title(self.dump, space.color),
            display(bytes),
            step_title(self.dump, self.step(space.color)),
            display(padding),
            rounded(more)
        );
        let shapes = Shapes::new(self.dump);
        let pad = |at: u32| shapes.padding(&self.dump.values[at as usize]);
        let padded = alive(self.dump, space.color, self.step(space.color));
        let padded = padded.into_iter().map(|at| (at, pad(at))).collect();
        let place = self.peak_place(space.color);
        Some(self.with_largest(Finding::new(Code::MaxPadding, place, message), padded))
    }

    /// `max-growth`: of each memory space, that of the peak, of temp and of reserved bytes.
    fn growth(&self, most: Percent, before: &[Space]) -> Vec<Finding> {
        let mut findings = Vec::new();
        for now in self.measured {
            let then = before.iter().find(|space| space.color == now.color);
            let color = now.color;
            let title = space_title(self.dump, color);
            // A memory space that was not there held nothing.
            let (temp, reserved) = then.map_or((0, 0), |it| (it.temp_bytes, it.reserved_bytes));
            match (now.peak_bytes, then.map_or(Some(0), |it| it.peak_bytes)) {
                (Some(peak), Some(before)) => {
                    if let Some(message) = grown(most, before, peak) {
                        let step = step_title(self.dump, self.step(color));
                        let message = format!("the true peak of {title}, {step}, {message}");
                        let place = self.peak_place(color);
                        let finding = Finding::new(Code::MaxGrowth, place, message);
                        findings.push(self.with_largest(finding, self.alive(color)));
                    }
                }
                (None, Some(_)) => findings.push(self.unknown(Code::MaxGrowth, color)),
                // Whoever wrote the baseline was told.
                (_, None) => {}
            }
            if let Some(message) = grown(most, temp, now.temp_bytes) {
                let message = format!("the size of the temp allocations in {title} {message}");
                let place = self.largest_allocation(color, true);
                let finding = Finding::new(Code::MaxGrowth, place, message);
                findings.push(self.with_largest(finding, self.temporaries(color)));
            }
            if let Some(message) = grown(most, reserved, now.reserved_bytes) {
                let message = format!("the size of the allocations in {title} {message}");
                let place = self.largest_allocation(color, false);
                findings.push(Finding::new(Code::MaxGrowth, place, message));
            }
        }
        findings
    }

    fn unknown(&self, code: Code, color: u64) -> Finding {
        let occupancy = self.dump.occupancy();
        let reason = occupancy.reason.map_or_else(
            || {
                format!(
                    "{} values lack a live range or a place in an allocation",
                    occupancy.missing
                )
            },
            str::to_owned,
        );
        let message = format!(
            "it cannot be told whether {} keeps `{code}`, since its true peak is not known: {reason}",
            space_title(self.dump, color)
        );
        Finding::new(code, self.largest_allocation(color, false), message)
    }

    /// The step of the true peak.
    fn step(&self, color: u64) -> u64 {
        let peak = self.dump.occupancy().peak(color);
        peak.map_or(0, |peak| peak.step)
    }

    /// The line of the step in the schedule.
    fn peak_place(&self, color: u64) -> Place {
        step_place(self.dump, self.step(color))
            .unwrap_or_else(|| self.largest_allocation(color, false))
    }

    /// The size of the largest allocation of a memory space, or of the largest for temporaries.
    fn largest_allocation(&self, color: u64, is_temp: bool) -> Place {
        let allocations = self.dump.allocations_in(color);
        let fitting = allocations.filter(|(_, allocation)| match allocation.kind() {
            Kind::Temp => true,
            Kind::ThreadLocal => false,
            _ => !is_temp,
        });
        let largest = fitting.max_by_key(|(at, allocation)| (allocation.size, Reverse(*at)));
        let place = largest.and_then(|(at, _)| size_place(self.dump, at));
        place.unwrap_or_else(top)
    }

    /// The values alive at the true peak, with their bytes.
    fn alive(&self, color: u64) -> Vec<(u32, u64)> {
        let values = alive(self.dump, color, self.step(color)).into_iter();
        values.map(|at| (at, self.size(at))).collect()
    }

    /// The values that some temp allocation holds, with their bytes.
    fn temporaries(&self, color: u64) -> Vec<(u32, u64)> {
        let allocations = self.dump.allocations_in(color);
        let temp = allocations.filter(|(_, it)| it.kind() == Kind::Temp);
        let values = temp.flat_map(|(_, allocation)| allocation.values.clone());
        values.map(|at| (at, self.size(at))).collect()
    }

    fn size(&self, at: u32) -> u64 {
        self.dump.values.get(at as usize).map_or(0, |it| it.size)
    }

    /// Names those of `values` with the most bytes.
    fn with_largest(&self, mut finding: Finding, mut values: Vec<(u32, u64)>) -> Finding {
        values.retain(|&(_, bytes)| bytes > 0);
        values.sort_by_key(|&(at, bytes)| (Reverse(bytes), at));
        values.truncate(NAMED);
        let name =
            |&(at, bytes): &(u32, u64)| format!("{} ({})", title(self.dump, at), rounded(bytes));
        let names: Vec<String> = values.iter().map(name).collect();
        let list = match &names[..] {
            [] => return finding,
            [only] => format!("; the only value there is {only}"),
            [first @ .., last] => format!("; the largest are {} and {last}", first.join(", ")),
        };
        finding.message.push_str(&list);
        for (at, bytes) in values {
            if let Some(place) = value_place(self.dump, at) {
                finding = finding.related(place, format!("{} here", rounded(bytes)));
            }
        }
        finding
    }
}

/// The start of the dump, where nothing better is known.
fn top() -> Place {
    Place {
        file: 0,
        range: 0..0,
    }
}

/// What has grown too much, without its subject.
fn grown(most: Percent, before: u64, now: u64) -> Option<String> {
    let more = now.checked_sub(before)?;
    let percent = match before {
        _ if more <= LITTLE => return None,
        0 => String::new(),
        before if most.allows(before, now) => return None,
        before => format!(" by {}", most.exceeded(more, before)),
    };
    Some(format!(
        "has grown{percent} from {} to {}, {} more than in the baseline; `max-growth` is {most}",
        display(before),
        display(now),
        display(more)
    ))
}
