//! The schedule: steps 0, 1, 2 ... of all that lives.

use std::cell::LazyCell;

use buflens_syntax::facts;
use rustc_hash::FxHashSet;

use super::structure::Section;
use super::{Code, Doubts, Finding, Findings};
use crate::model::{At, Dump, Step};

/// `sequence`: steps 0, 1, 2 ... and as many as the heading says, of all that lives.
pub(super) fn check_sequence(dump: &Dump, doubts: &mut Doubts, findings: &mut Findings) {
    let lines = dump.steps.iter().map(|step| dump.at(step.row));
    let Some(lines) = lines.collect::<Option<Vec<_>>>() else {
        return;
    };
    let numbers = Numbers::new(dump, &lines);
    doubts.steps_shifted = numbers.are_shifted();
    let told = numbers.check(doubts, findings);
    let is_sound = doubts.are_whole(&[Section::LiveRanges]) && numbers.off == 0;
    let is_counted = is_sound && check_count(dump, &lines, findings);
    if is_counted && !lines.is_empty() {
        check_scheduled(dump, doubts, findings);
        check_known(dump, &lines, doubts, findings);
    }
    for (at, line) in lines.iter().enumerate() {
        let name = dump.steps[at].name;
        let is_first = dump.step_of(name).is_none_or(|first| first as usize == at);
        if !is_first
            && !line.row.name.is_empty()
            && !told.contains(&at)
            && !doubts.steps.contains(&name)
        {
            let message = format!("`{}` runs a second time", line.text(line.row.name));
            let place = line.place(line.row.name);
            findings.push(Finding::new(Code::Sequence, place, message));
        }
    }
}

/// The schedule runs what the HLO text has.
fn check_known(dump: &Dump, lines: &[At<facts::Step>], doubts: &Doubts, findings: &mut Findings) {
    if dump.instructions.is_empty() || !doubts.are_whole(&[Section::Module]) {
        return;
    }
    let unknown = dump.steps.iter().zip(lines).filter(|(step, _)| {
        !dump.instructions.contains_key(&step.name) && !doubts.steps.contains(&step.name)
    });
    for (_, line) in unknown {
        let message = format!(
            "`{}` runs at step {}, and is no instruction of the HLO text",
            line.text(line.row.name),
            line.row.step.value
        );
        let place = line.place(line.row.name);
        findings.push(Finding::new(Code::Sequence, place, message));
    }
}

/// Whether there are as many steps as the heading says.
fn check_count(dump: &Dump, lines: &[At<facts::Step>], findings: &mut Findings) -> bool {
    let count = lines.len() as u64;
    let Some((max, place)) = dump.max.as_ref().filter(|(max, _)| max.value != count) else {
        return true;
    };
    let message = format!("max {} where the schedule has {count} steps", max.value);
    let mut finding = Finding::new(Code::Sequence, place.clone(), message);
    // Where a value lives on, a step may be missing at the end.
    if dump.values.iter().all(|value| value.live.1 <= count) {
        finding = finding.fixed_by(count.to_string());
    }
    if let Some(last) = lines.last() {
        finding = finding.related(last.place(last.row.step.span), "the last step");
    }
    findings.push(finding);
    false
}

/// The numbers of the steps.
struct Numbers<'a, 'd> {
    dump: &'d Dump,
    lines: &'a [At<'d, facts::Step>],
    /// How many are not their line's place in the list.
    off: usize,
}

impl<'a, 'd> Numbers<'a, 'd> {
    fn new(dump: &'d Dump, lines: &'a [At<'d, facts::Step>]) -> Self {
        let mut numbers = Self {
            dump,
            lines,
            off: 0,
        };
        let is_off = |at: &usize| numbers.at(*at).is_some_and(|it| it != *at as u64);
        numbers.off = (0..lines.len()).filter(is_off).count();
        numbers
    }

    /// Whether lines are missing, doubled or in another order. One number alone that is not its line's
    /// place, in a list that is as long as the heading says, is wrong itself.
    fn are_shifted(&self) -> bool {
        let count = self.lines.len() as u64;
        let is_counted = |(max, _): &(facts::Number, _)| max.value == count;
        self.off > 1 || (self.off == 1 && !self.dump.max.as_ref().is_none_or(is_counted))
    }

    /// The number on a line, if it is there to its end. A number that is missing or cut, or has more than
    /// 64 bits, is a finding of its own.
    fn at(&self, at: usize) -> Option<u64> {
        let step = self.lines.get(at)?.row;
        let is_whole = step.step.is_read() && !step.name.is_empty();
        is_whole.then_some(step.step.value)
    }

    /// Tells the numbers that are wrong. Returns the places of their lines.
    fn check(&self, doubts: &Doubts, findings: &mut Findings) -> FxHashSet<usize> {
        let errors = LazyCell::new(|| self.errors());
        let is_whole = doubts.are_whole(&[Section::LiveRanges]);
        let mut told = FxHashSet::default();
        let mut expected = 0_u64;
        let mut at = 0;
        while at < self.lines.len() {
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
                    findings.push(self.swapped(at, [number, expected]));
                    expected = expected.saturating_add(2);
                    at += 1;
                } else {
                    findings.push(self.wrong(at, [number, expected]));
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
        if at + 1 < self.lines.len() {
            next.is_some() && self.at(at + 1) == next
        } else {
            let max = self.dump.max.as_ref();
            max.is_some_and(|(max, _)| Some(max.value) == next)
        }
    }

    fn swapped(&self, at: usize, [number, expected]: [u64; 2]) -> Finding {
        let (line, next) = (&self.lines[at], &self.lines[at + 1]);
        let message = format!("step {number} stands before step {expected}: the steps ascend");
        let finding = Finding::new(Code::Sequence, line.place(line.row.step.span), message);
        finding.related(next.place(next.row.step.span), "the step behind")
    }

    fn wrong(&self, at: usize, [number, expected]: [u64; 2]) -> Finding {
        let line = &self.lines[at];
        let message = format!("step {number} where step {expected} is expected");
        let finding = Finding::new(Code::Sequence, line.place(line.row.step.span), message);
        if self.are_shifted() {
            finding
        } else {
            finding.fixed_by(expected.to_string())
        }
    }

    /// Where the errors of the schedule's file begin, ascending.
    fn errors(&self) -> Vec<u32> {
        let Some(first) = self.lines.first() else {
            return Vec::new();
        };
        let errors = self.dump.files[first.file].document.errors();
        let mut starts: Vec<_> = errors.into_iter().map(|(range, _)| range.start).collect();
        starts.sort_unstable();
        starts
    }

    /// Whether something is not understood on the line before, on this line or between the two.
    fn is_told(&self, at: usize, errors: &[u32]) -> bool {
        let line = &self.lines[at];
        let end = line.place(line.row.step.span).range.end;
        let before = at.checked_sub(1).map(|before| &self.lines[before]);
        let start = before.map_or(0, |line| line.place(line.row.step.span).range.start);
        let behind = errors.partition_point(|&error| error < start);
        errors.get(behind).is_some_and(|&error| error < end)
    }
}

/// What has a live range is in the schedule. Where it is not, the step at which it begins to live has a
/// wrong name; or, of a parameter, the only step of a name that nothing else in the dump has.
fn check_scheduled(dump: &Dump, doubts: &mut Doubts, findings: &mut Findings) {
    let is_unknown = |step: &&Step| {
        dump.values_of(step.name).next().is_none() && dump.positions_at(step.name).next().is_none()
    };
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
            values.any(|at| dump.values[at as usize].live.0 == value.live.0)
        };
        let first = usize::try_from(value.live.0).ok();
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
