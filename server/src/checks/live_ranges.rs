//! The schedule and the live ranges on it.

use std::cell::LazyCell;

use rustc_hash::{FxHashMap, FxHashSet};

use super::structure::Section;
use super::{Code, Doubts, Finding, Findings};
use crate::model::{At, Dump, Instruction, NameId, Row, Step, Value, is_async_call};
use buflens_syntax::facts::{self, Heading};

/// From so many values without a live range on, the live ranges may be another compilation's.
const FOREIGN: usize = 8;

/// `sequence`: steps 0, 1, 2 ... and as many as the heading says, of all that lives.
pub(super) fn check_sequence(dump: &Dump, doubts: &mut Doubts, findings: &mut Findings) {
    let mut is_sound = doubts.are_whole(&[Section::LiveRanges]);
    let mut repeated = Vec::new();
    let mut expected = 0_u64;
    for (at, step) in dump.steps.iter().enumerate() {
        let Some(line) = dump.at::<facts::Step>(step.row) else {
            continue;
        };
        let number = line.row.step.value;
        // A number that is missing, or has more than 64 bits, is a finding of its own.
        if line.row.step.is_read() && number != expected {
            is_sound = false;
            let message = format!("step {number} where step {expected} is expected");
            let finding = Finding::new(Code::Sequence, line.place(line.row.step.span), message);
            // If the next one goes on from here, a step is missing; else one number is wrong.
            let next = dump
                .steps
                .get(at + 1)
                .and_then(|next| dump.at::<facts::Step>(next.row));
            if next.is_some_and(|next| Some(next.row.step.value) == number.checked_add(1)) {
                findings.push(finding);
                expected = number;
            } else {
                findings.push(finding.fixed_by(expected.to_string()));
            }
        }
        expected = expected.saturating_add(1);
        let is_first = dump.step_of(step.name).is_none_or(|it| it as usize == at);
        if !is_first && !line.row.name.is_empty() {
            repeated.push(step);
        }
    }
    if let Some((max, place)) = &dump.max {
        let count = dump.steps.len() as u64;
        if max.value != count && is_sound {
            is_sound = false;
            let last = dump
                .steps
                .last()
                .and_then(|step| dump.at::<facts::Step>(step.row));
            let message = format!("max {} where the schedule has {count} steps", max.value);
            let mut finding = Finding::new(Code::Sequence, place.clone(), message);
            // Where a value lives on, a step may be missing at the end.
            if dump.values.iter().all(|value| value.live.1 <= count) {
                finding = finding.fixed_by(count.to_string());
            }
            if let Some(last) = last {
                finding = finding.related(last.place(last.row.step.span), "the last step");
            }
            findings.push(finding);
        }
    }
    if is_sound && !dump.steps.is_empty() {
        check_scheduled(dump, doubts, findings);
    }
    for step in repeated {
        if let Some(line) = dump.at::<facts::Step>(step.row)
            && !doubts.steps.contains(&step.name)
        {
            let message = format!("`{}` runs a second time", line.text(line.row.name));
            let place = line.place(line.row.name);
            findings.push(Finding::new(Code::Sequence, place, message));
        }
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

/// `live-range`: each line belongs to a value, and each lies in the schedule, from its definition on.
pub(super) fn check_ranges(dump: &Dump, doubts: &mut Doubts, findings: &mut Findings) {
    if dump.steps.is_empty() {
        return;
    }
    let last = dump.steps.len() as u64;
    for (number, value) in dump.values.iter().enumerate() {
        if value.live_range.is_none()
            || is_plain(dump, value, last)
            || doubts.steps.contains(&value.name)
        {
            continue;
        }
        let Some(line) = dump.live_range(value) else {
            continue;
        };
        // What is missing, or has more than 64 bits, is a finding of its own.
        if !line.row.start.is_read() || !line.row.end.is_read() {
            doubts.live_ranges.insert(number as u32);
            continue;
        }
        if let Some(finding) = problem(dump, value, &line, last) {
            doubts.live_ranges.insert(number as u32);
            findings.push(finding);
        }
    }
    if dump.allocations.is_empty()
        || !doubts.are_whole(&[Section::Allocations, Section::LiveRanges])
    {
        return;
    }
    // A file of another compilation beside this one is one finding, not a finding a value.
    let (without, with) = (values_without(dump).count(), known(dump));
    if without > FOREIGN && without > with && !dump.stray_live_ranges.is_empty() {
        doubts.live_ranges_incomplete = true;
        doubts.live_ranges_foreign = true;
        let heading = dump
            .headings
            .iter()
            .find(|(heading, _)| *heading == Heading::Ranges);
        if let Some((_, place)) = heading {
            let message = format!(
                "the live ranges seem to be those of another compilation: {without} of {} values have none",
                without + with
            );
            findings.push(Finding::new(Code::LiveRange, place.clone(), message));
        }
        return;
    }
    // A value whose name is wrong in the assignment alone has the live range of its name below `Used values:`.
    let strays = dump.stray_live_ranges.iter().rev();
    let strays = strays.filter_map(|&row| Some((row, dump.at::<facts::LiveRange>(row)?)));
    let mut by_name: FxHashMap<_, Row> = strays.map(|(row, line)| (key(&line), row)).collect();
    let mut explained = FxHashSet::default();
    let mut missing = Vec::new();
    for (value, placement) in values_without(dump) {
        let used = dump.used(value).filter(|_| !value.is_alike);
        let its = used.and_then(|used| {
            let (name, index) = (used.row.value.name, used.row.value.index);
            by_name.remove(&(used.text(name), index_text(used.text(index))))
        });
        if let Some(row) = its {
            doubts.live_ranges_incomplete = true;
            explained.insert(row);
        } else {
            missing.push(placement);
        }
    }
    // A line of a wrong name leaves a value without a line.
    let mut missing = missing.into_iter();
    for row in &dump.stray_live_ranges {
        let line = dump.at::<facts::LiveRange>(*row);
        let Some(line) = line.filter(|_| !explained.contains(row)) else {
            continue;
        };
        let (name, index) = (line.text(line.row.name), line.text(line.row.index));
        doubts.live_ranges_incomplete = true;
        let message =
            format!("`{name}{index}` is no value of the assignment, or has a live range already");
        let mut finding = Finding::new(Code::LiveRange, line.place(line.row.name), message);
        if let Some(first) = line_of(dump, name, index) {
            finding = finding.related(first.place(first.row.name), "the first one");
        }
        if let Some(placement) = missing.next() {
            finding = finding.related(
                placement.place(placement.row.value.name),
                "a value without a live range",
            );
        }
        findings.push(finding);
    }
    if !dump.has_live_ranges() {
        return;
    }
    for placement in missing {
        doubts.live_ranges_incomplete = true;
        let message = format!("value {} has no live range", placement.row.value.id.value);
        let place = placement.place(placement.row.value.name);
        findings.push(Finding::new(Code::LiveRange, place, message));
    }
}

/// The name and the index on a line.
fn key<'d>(line: &At<'d, facts::LiveRange>) -> (&'d str, &'d str) {
    let index = line.text(line.row.index);
    (line.text(line.row.name), index_text(index))
}

/// The index that `printed` says, which is not printed for arrays in a value's reference.
fn index_text(printed: &str) -> &str {
    if printed.is_empty() { "{}" } else { printed }
}

/// How many values have a live range.
fn known(dump: &Dump) -> usize {
    dump.values
        .iter()
        .filter(|value| value.live_range.is_some())
        .count()
}

/// The live range that the value with this name and index has.
fn line_of<'d>(dump: &'d Dump, name: &str, index: &str) -> Option<At<'d, facts::LiveRange>> {
    let (name, index) = (dump.names.get(name)?, dump.names.get(index)?);
    let value = dump.values_at(name, index).next()?;
    dump.live_range(&dump.values[value as usize])
}

/// The values that should have a live range, but have none. Scratch of computations called per
/// element, and constants of computations that are not in the schedule, need none.
fn values_without(dump: &Dump) -> impl Iterator<Item = (&Value, At<'_, facts::Placement>)> {
    dump.values
        .iter()
        .filter(|value| value.live_range.is_none())
        .filter_map(|value| {
            let allocation = dump.allocations.get(value.allocation? as usize)?;
            let needs_none = allocation.kinds.thread_local
                || (allocation.kinds.constant && dump.step_of(value.name).is_none());
            let placement = dump.placement(value).filter(|_| !needs_none)?;
            Some((value, placement))
        })
}

/// A parameter of the entry is there from the first step on, and one that is not donated to the last.
fn entry_parameter_problem(
    dump: &Dump,
    value: &Value,
    line: &At<facts::LiveRange>,
    last: u64,
) -> Option<Finding> {
    let allocation = dump.allocations.get(value.allocation? as usize)?;
    // The buffer of a parameter that is not donated holds nothing else.
    if allocation.parameter.is_none()
        || allocation.kinds.maybe_live_out
        || allocation.values.len() != 1
    {
        return None;
    }
    let (start, end) = (line.row.start, line.row.end);
    let (span, message) = if start.value != 0 {
        (
            start.span,
            format!(
                "the live range of a parameter begins at step {}, not at 0",
                start.value
            ),
        )
    } else if end.value != last {
        (
            end.span,
            format!(
                "the live range of a parameter that is not donated ends at step {}, not at {last}",
                end.value
            ),
        )
    } else {
        return None;
    };
    Some(Finding::new(Code::LiveRange, line.place(span), message))
}

/// Whether the value may be one of a computation that runs asynchronously. Their live ranges begin
/// elsewhere: at the step of the call's start since libtpu 0.0.51, at the start of the caller's
/// computation in newer sources.
fn is_asynchronous(dump: &Dump, value: &Value) -> bool {
    // The root of such a computation is visible as the result of the call's start.
    let positions = &dump.positions[value.positions.start as usize..value.positions.end as usize];
    let is_result = positions.iter().any(|position| {
        position.name != value.name
            && dump.names[position.index].starts_with("{1")
            && is_start(dump, position.name)
    });
    let is_elsewhere = |instruction: &Instruction| {
        let computation = instruction
            .computation
            .and_then(|at| dump.computations.get(at as usize));
        computation
            .and_then(|&row| dump.at::<facts::Computation>(row))
            .is_some_and(|computation| !computation.row.entry)
    };
    is_result
        || (dump.has_async_calls && dump.instructions.get(&value.name).is_none_or(is_elsewhere))
}

/// Whether an instruction calls a computation that runs asynchronously. (The operand of a `copy-start`
/// is visible in its result too, and begins where it is made.)
fn is_start(dump: &Dump, name: NameId) -> bool {
    let mut values = dump
        .values_of(name)
        .filter_map(|at| dump.instruction(&dump.values[at as usize]));
    values
        .next()
        .is_some_and(|at| is_async_call(at.text(at.row.opcode)))
}

/// Whether a value lives from its own step on, as nearly all do, and is no parameter, which tells
/// without its line that there is no problem.
fn is_plain(dump: &Dump, value: &Value, last: u64) -> bool {
    let (start, end) = value.live;
    let has_parameter = |at: u32| {
        let allocation = dump.allocations.get(at as usize);
        allocation.is_some_and(|allocation| allocation.parameter.is_some())
    };
    start <= end
        && end <= last
        && dump.step_of(value.name).map(u64::from) == Some(start)
        && !value.allocation.is_some_and(has_parameter)
}

fn problem(dump: &Dump, value: &Value, line: &At<facts::LiveRange>, last: u64) -> Option<Finding> {
    let (start, end) = (line.row.start, line.row.end);
    if start.value > end.value {
        let message = format!(
            "the live range begins at step {} and ends before, at step {}",
            start.value, end.value
        );
        return Some(
            Finding::new(Code::LiveRange, line.place(start.span), message)
                .related(line.place(end.span), "the end"),
        );
    }
    if end.value > last {
        let message = format!(
            "the live range ends at step {} where {last} is the end of the schedule",
            end.value
        );
        return Some(Finding::new(Code::LiveRange, line.place(end.span), message));
    }
    let defined = u64::from(dump.step_of(value.name)?);
    let instruction = dump.instruction(value);
    let opcode = instruction
        .as_ref()
        .map(|instruction| instruction.text(instruction.row.opcode));
    let is_fine = match opcode {
        // What may begin elsewhere is known from the positions alone.
        None if !dump.has_used_values() => true,
        // A parameter is there from the start of its computation on.
        Some("parameter") | None => start.value <= defined || is_asynchronous(dump, value),
        Some(_) => start.value == defined || is_asynchronous(dump, value),
    };
    if is_fine {
        return entry_parameter_problem(dump, value, line, last);
    }
    let message = format!(
        "the live range begins at step {} where `{}` runs at step {defined}",
        start.value, &dump.names[value.name]
    );
    let mut finding = Finding::new(Code::LiveRange, line.place(start.span), message);
    if let Some(step) = dump
        .steps
        .get(defined as usize)
        .and_then(|step| dump.at::<facts::Step>(step.row))
    {
        finding = finding.related(step.place(step.row.step.span), "its step");
    }
    Some(finding)
}

#[cfg(test)]
mod tests {
    use crate::checks::tests::finds;

    macro_rules! tpu_split {
        ($suffix:literal) => {
            include_str!(concat!(
                "../../../tests/fixtures/dumps/tpu-split/module_0017.jit_host_offload_outputs",
                ".cl_933746096.after_optimizations-",
                $suffix,
                ".txt"
            ))
        };
    }

    #[test]
    fn what_a_copy_reads_begins_where_it_is_made() {
        let dump = [
            tpu_split!("live-range"),
            tpu_split!("buffer-assignment"),
            tpu_split!("buffer-assignment-values"),
        ];
        finds(&dump, "fusion.1{}:4-9", "fusion.1{}:5-9", "live-range");
    }
}
