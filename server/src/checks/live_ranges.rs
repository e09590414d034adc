//! The schedule and the live ranges on it.

use super::structure::Section;
use super::{Code, Doubts, Finding, Findings};
use crate::model::{At, Dump, Instruction, NameId, Value, is_async_call};
use buflens_syntax::facts::{self, Heading};

/// From so many values without a live range on, the live ranges may be another compilation's.
const FOREIGN: usize = 8;

/// `sequence`: steps 0, 1, 2 ... and as many as the heading says.
pub(super) fn check_sequence(dump: &Dump, doubts: &Doubts, findings: &mut Findings) {
    let mut is_sound = true;
    let mut expected = 0_u64;
    for (at, step) in dump.steps.iter().enumerate() {
        let Some(line) = dump.at::<facts::Step>(step.row) else {
            continue;
        };
        let number = line.row.step.value;
        if number != expected {
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
        if dump
            .step_of(step.name)
            .is_some_and(|first| first as usize != at)
        {
            let message = format!("`{}` runs a second time", line.text(line.row.name));
            findings.push(Finding::new(
                Code::Sequence,
                line.place(line.row.name),
                message,
            ));
        }
    }
    let Some((max, place)) = &dump.max else {
        return;
    };
    let count = dump.steps.len() as u64;
    if max.value != count && is_sound && doubts.are_whole(&[Section::LiveRanges]) {
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

/// `live-range`: each line belongs to a value, and each lies in the schedule, from its definition on.
pub(super) fn check_ranges(dump: &Dump, doubts: &mut Doubts, findings: &mut Findings) {
    if dump.steps.is_empty() {
        return;
    }
    let last = dump.steps.len() as u64;
    for (number, value) in dump.values.iter().enumerate() {
        if value.live_range.is_none() || is_plain(dump, value, last) {
            continue;
        }
        let Some(line) = dump.live_range(value) else {
            continue;
        };
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
    // A line of a wrong name leaves a value without a line.
    let mut missing = values_without(dump);
    for &row in &dump.stray_live_ranges {
        let Some(line) = dump.at::<facts::LiveRange>(row) else {
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
fn values_without(dump: &Dump) -> impl Iterator<Item = At<'_, facts::Placement>> {
    dump.values
        .iter()
        .filter(|value| value.live_range.is_none())
        .filter_map(|value| {
            let allocation = dump.allocations.get(value.allocation? as usize)?;
            let needs_none = allocation.kinds.thread_local
                || (allocation.kinds.constant && dump.step_of(value.name).is_none());
            dump.placement(value).filter(|_| !needs_none)
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
