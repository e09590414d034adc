//! The schedule: steps 0, 1, 2 ... of all that lives.

use std::cell::LazyCell;

use buflens_syntax::facts;
use rustc_hash::FxHashSet;

use super::structure::Section;
use super::{Code, Doubts, Finding, Findings};
use crate::model::{Dump, NameId, Place, Step};

/// `sequence`: steps 0, 1, 2 ... and as many as the heading says, of all that lives.
pub(super) fn check_sequence(dump: &Dump, doubts: &mut Doubts, findings: &mut Findings) {
    let numbers = Numbers::new(dump);
    doubts.steps_shifted = numbers.are_shifted();
    let told = numbers.check(doubts, findings);
    let is_sound = doubts.are_whole(&[Section::LiveRanges]) && numbers.off == 0;
    let is_counted = is_sound && check_count(dump, findings);
    if is_counted && !dump.steps.is_empty() {
        check_scheduled(dump, doubts, findings);
        check_known(dump, doubts, findings);
    }
    for (at, step) in dump.steps.iter().enumerate() {
        let name = step.name;
        let is_first = dump.step_of(name).is_none_or(|first| first as usize == at);
        if !is_first
            && !told.contains(&at)
            && !doubts.steps.contains(&name)
            && let Some(line) = dump.at::<facts::Step>(step.row)
            && !line.row.name.is_empty()
        {
            let message = format!("`{}` runs a second time", line.text(line.row.name));
            let place = line.place(line.row.name);
            let first = dump
                .step_of(name)
                .map(|first| dump.steps[first as usize].row);
            let first = first.and_then(|row| dump.at::<facts::Step>(row));
            let first = first.map(|first| first.place(first.row.name));
            let finding = Finding::new(Code::Sequence, place, message);
            findings.push(finding.related_if(first, "the first time"));
            doubts.steps.insert(name);
        }
    }
}

/// The schedule runs what the HLO text has; without that, what shows a value.
fn check_known(dump: &Dump, doubts: &Doubts, findings: &mut Findings) {
    let instructions = &dump.module.instructions;
    let has_text = !instructions.is_empty();
    let section = if has_text {
        Section::Module
    } else {
        Section::Values
    };
    if !has_text && dump.positions.is_empty() || !doubts.are_whole(&[section]) {
        return;
    }
    let is_known = |name: NameId| {
        if has_text {
            instructions.has(name)
        } else {
            shows_something(dump, name)
        }
    };
    let unknown = dump.steps.iter().map(|it| (it.row, it.name));
    let unknown = unknown.filter(|&(_, name)| !is_known(name) && !doubts.steps.contains(&name));
    let mut unknown = unknown.peekable();
    if unknown.peek().is_some() && dump.hides_elements() {
        return;
    }
    for line in unknown.filter_map(|(row, _)| dump.at::<facts::Step>(row)) {
        let what = if has_text {
            "is no instruction of the HLO text"
        } else {
            "shows no value"
        };
        let message = format!(
            "`{}` runs at step {}, and {what}",
            line.text(line.row.name),
            line.row.step.value
        );
        let place = line.place(line.row.name);
        findings.push(Finding::new(Code::Sequence, place, message));
    }
}

/// Whether there are as many steps as the heading says.
fn check_count(dump: &Dump, findings: &mut Findings) -> bool {
    let count = dump.steps.len() as u64;
    let Some((max, place)) = dump.max.as_ref().filter(|(max, _)| max.value != count) else {
        return true;
    };
    let message = format!("max {} where the schedule has {count} steps", max.value);
    let mut finding = Finding::new(Code::Sequence, place.clone(), message);
    // Where a value lives on, a step may be missing at the end.
    if dump.values.iter().all(|value| dump.live(value).1 <= count) {
        finding = finding.fixed_by(count.to_string());
    }
    let last = dump.steps.last();
    if let Some(last) = last.and_then(|last| dump.at::<facts::Step>(last.row)) {
        finding = finding.related(last.place(last.row.step.span), "the last step");
    }
    findings.push(finding);
    false
}

/// The numbers of the steps.
struct Numbers<'d> {
    dump: &'d Dump,
    /// How many are not their line's place in the list.
    off: usize,
}

impl<'d> Numbers<'d> {
    fn new(dump: &'d Dump) -> Self {
        let is_off = |&at: &usize| {
            let number = dump.step_number(at);
            number.is_some_and(|number| number != at as u64)
        };
        let off = (0..dump.steps.len()).filter(is_off);
        Self {
            dump,
            off: off.count(),
        }
    }

    /// Whether lines are missing, doubled or in another order. One number alone that is not its line's
    /// place, in a list that is as long as the heading says, is wrong itself.
    fn are_shifted(&self) -> bool {
        let count = self.dump.steps.len() as u64;
        let is_counted = |(max, _): &(facts::Number, _)| max.value == count;
        self.off > 1 || (self.off == 1 && !self.dump.max.as_ref().is_none_or(is_counted))
    }

    /// The number on a line, if it is there to its end. A number that is missing or cut, or has more than
    /// 64 bits, is a finding of its own.
    fn at(&self, at: usize) -> Option<u64> {
        self.dump.step_number(at)
    }

    /// The number's place.
    fn place(&self, at: usize) -> Option<Place> {
        let line = self.dump.at::<facts::Step>(self.dump.steps.get(at)?.row)?;
        Some(line.place(line.row.step.span))
    }

    /// Tells the numbers that are wrong. Returns the places of their lines.
    fn check(&self, doubts: &Doubts, findings: &mut Findings) -> FxHashSet<usize> {
        let errors = LazyCell::new(|| self.errors());
        let is_whole = doubts.are_whole(&[Section::LiveRanges]);
        let mut told = FxHashSet::default();
        let mut expected = 0_u64;
        let mut at = 0;
        while at < self.dump.steps.len() {
            let next = self.at(at + 1);
            let number = self.at(at);
            if number.is_none() && next == Some(expected) {
                // A line too many.
            } else if number.is_none_or(|number| number == expected) {
                expected = expected.saturating_add(1);
            } else if let Some(number) = number {
                told.insert(at);
                let goes_on = self.goes_on(at, number);
                // A line that is not understood is the one that is missing.
                if goes_on && !is_whole && self.is_told(at, &errors) {
                    expected = number.saturating_add(1);
                } else if number == expected.saturating_add(1) && next == Some(expected) {
                    findings.extend(self.swapped(at, [number, expected]));
                    expected = expected.saturating_add(2);
                    at += 1;
                } else {
                    findings.extend(self.wrong(at, [number, expected]));
                    if goes_on {
                        expected = number.saturating_add(1);
                    } else if next != Some(expected) {
                        expected = expected.saturating_add(1);
                    }
                }
            }
            at += 1;
        }
        told
    }

    /// Whether the list goes on from the number on a line: then it is right, and others are missing or
    /// doubled before it.
    fn goes_on(&self, at: usize, number: u64) -> bool {
        let next = number.checked_add(1);
        if at + 1 < self.dump.steps.len() {
            next.is_some() && self.at(at + 1) == next
        } else {
            let max = self.dump.max.as_ref();
            max.is_some_and(|(max, _)| Some(max.value) == next)
        }
    }

    fn swapped(&self, at: usize, [number, expected]: [u64; 2]) -> Option<Finding> {
        let message = format!("step {number} stands before step {expected}: the steps ascend");
        let finding = Finding::new(Code::Sequence, self.place(at)?, message);
        Some(finding.related(self.place(at + 1)?, "the step behind"))
    }

    fn wrong(&self, at: usize, [number, expected]: [u64; 2]) -> Option<Finding> {
        let message = format!("step {number} where step {expected} is expected");
        let finding = Finding::new(Code::Sequence, self.place(at)?, message);
        Some(finding.fixed_if(!self.are_shifted(), expected.to_string()))
    }

    /// Where the errors of the schedule's file begin, ascending.
    fn errors(&self) -> Vec<u32> {
        let Some(first) = self.place(0) else {
            return Vec::new();
        };
        let errors = self.dump.files[first.file].document.errors();
        let mut starts: Vec<_> = errors.into_iter().map(|(range, _)| range.start).collect();
        starts.sort_unstable();
        starts
    }

    /// Whether something is not understood on the line before, on this line or between the two.
    fn is_told(&self, at: usize, errors: &[u32]) -> bool {
        let end = self.place(at).map_or(0, |place| place.range.end);
        let before = at.checked_sub(1).and_then(|before| self.place(before));
        let start = before.map_or(0, |place| place.range.start);
        let behind = errors.partition_point(|&error| error < start);
        errors.get(behind).is_some_and(|&error| error < end)
    }
}

/// Whether some value is the instruction's, or is seen in it.
fn shows_something(dump: &Dump, name: NameId) -> bool {
    dump.values_of(name).next().is_some() || dump.positions_at(name).next().is_some()
}

/// What has a live range is in the schedule. Where it is not, the step at which it begins to live has a
/// wrong name; or, of a parameter, the only step of a name that nothing else in the dump has.
fn check_scheduled(dump: &Dump, doubts: &mut Doubts, findings: &mut Findings) {
    let is_unknown = |step: &&Step| !shows_something(dump, step.name);
    let only_unknown = LazyCell::new(|| {
        let mut unknown = dump.steps.iter().filter(is_unknown);
        unknown.next().filter(|_| unknown.next().is_none())
    });
    for value in &dump.values {
        if dump.step_of(value.name).is_some() || doubts.steps.contains(&value.name) {
            continue;
        }
        let Some(line) = dump.live_range(value) else {
            continue;
        };
        let begins_there = |step: &&Step| {
            // What one instruction makes begins together.
            let mut values = dump.values_of(step.name).take(16);
            values.any(|at| dump.live(&dump.values[at as usize]).0 == dump.live(value).0)
        };
        let first = usize::try_from(dump.live(value).0).ok();
        let at_first = first.and_then(|first| dump.steps.get(first));
        let at_first = at_first.filter(|step| !begins_there(step));
        let wrong = at_first.or(*only_unknown);
        let name = &dump.names[value.name];
        doubts.steps.insert(value.name);
        let step = wrong.and_then(|step| Some((step, dump.at::<facts::Step>(step.row)?)));
        findings.push(if let Some((step, at)) = step {
            doubts.steps.insert(step.name);
            let found = at.text(at.row.name);
            let message = format!(
                "`{found}` runs at step {} where `{name}` is expected, which has a live range but no step",
                at.row.step.value
            );
            let finding = Finding::new(Code::Sequence, at.place(at.row.name), message);
            finding.related(line.place(line.row.name), "its live range")
        } else {
            let message = format!("`{name}` has a live range, but no step of the schedule");
            Finding::new(Code::LiveRange, line.place(line.row.name), message)
        });
    }
}
