//! The live ranges on the schedule.

use rustc_hash::{FxHashMap, FxHashSet};

use super::structure::Section;
use super::{Code, Doubts, Finding, Findings};
use crate::model::shapes::index_numbers;
use crate::model::{
    Allocation, At, Dump, Instruction, NameId, Row, Value, index_text, is_async_call,
};
use buflens_syntax::facts;

/// `live-range`: each line belongs to a value, and each lies in the schedule, from its definition on.
pub(super) fn check_ranges(dump: &Dump, doubts: &mut Doubts, findings: &mut Findings) {
    if dump.steps.is_empty() {
        return;
    }
    let scale = Scale::new(dump, doubts);
    // Of two lines the second may be the right one.
    let strays = dump.stray_live_ranges.iter();
    let strays = strays.filter_map(|&row| Some((row, dump.at::<facts::LiveRange>(row)?)));
    let doubled = strays.clone().filter_map(|(_, line)| {
        let (name, index) = key(&line);
        value_at(dump, name, index)
    });
    let doubled: FxHashSet<u32> = doubled.collect();
    for (number, value) in dump.values.iter().enumerate() {
        if !value.has_live_range()
            || is_plain(dump, value, &scale)
            || doubts.steps.contains(&value.name)
            || doubts.live_ranges.contains(&(number as u32))
            || doubled.contains(&(number as u32))
        {
            continue;
        }
        if let Some(finding) = problem(dump, value, &scale) {
            doubts.live_ranges.insert(number as u32);
            findings.push(finding);
        }
    }
    if dump.allocations.is_empty()
        || !doubts.are_whole(&[Section::Allocations, Section::LiveRanges])
    {
        return;
    }
    // A value whose name or index is wrong in the assignment alone has the live range of those below `Used
    // values:`, whatever it got by the wrong ones.
    let by_name = strays.clone().rev().map(|(row, line)| (key(&line), row));
    let mut by_name: FxHashMap<_, Row> = by_name.collect();
    let mut explained = FxHashSet::default();
    let (mut missing, mut wrongly_named) = (Vec::new(), FxHashSet::default());
    for (at, value) in (0..).zip(&dump.values) {
        let is_doubted = doubts.values.contains(&at);
        if value.has_live_range() && !is_doubted {
            continue;
        }
        let used = (!value.is_alike()).then(|| dump.used(value)).flatten();
        let its = used.and_then(|used| {
            let (name, index) = (used.row.value.name, used.row.value.index);
            by_name.remove(&(used.text(name), index_text(used.text(index))))
        });
        if let Some(row) = its {
            doubts.live_ranges_incomplete = true;
            explained.insert(row);
            wrongly_named.insert((value.name, value.index));
        } else if !is_doubted && let Some(placement) = needing_one(dump, value) {
            missing.push((value, placement));
        }
    }
    // A line of a wrong name leaves a value without a line. One that has its name from a wrong one has lost its
    // line to that.
    missing.retain(|(value, _)| !wrongly_named.contains(&(value.name, value.index)));
    let is_single = missing.len() == 1 && dump.stray_live_ranges.len() == 1;
    let mut missing = missing.into_iter();
    for (_, line) in strays.filter(|(row, _)| !explained.contains(row)) {
        let (name, index) = (line.text(line.row.name), line.text(line.row.index));
        doubts.live_ranges_incomplete = true;
        let place = |line: &At<facts::LiveRange>| line.place(line.row.name.to(line.row.index));
        let missing = missing.next();
        let is_before = |value: &Value| {
            &dump.names[value.name] == name
                && index_numbers(&dump.names[value.index]) < index_numbers(index)
        };
        let finding = |place, message: &str| {
            Finding::new(Code::LiveRange, place, format!("`{name}{index}` {message}"))
        };
        let here = place(&line);
        let value = value_at(dump, name, index);
        let first = value.and_then(|at| dump.live_range(&dump.values[at as usize]));
        let step = value.and_then(|at| dump.step_of(dump.values[at as usize].name));
        let begins =
            |line: &At<facts::LiveRange>| step.map(u64::from) == Some(line.row.start.value);
        let (first_begins, begins) = (first.as_ref().is_some_and(begins), begins(&line));
        // The parts of a result ascend, so that the first line should be that of the part before.
        let is_of_part_before = missing.as_ref().is_some_and(|(it, _)| is_before(it));
        let is_decided = first.is_none() || is_of_part_before || first_begins != begins;
        doubts.live_ranges.extend(value);
        let mut finding = match first.as_ref().map(place) {
            Some(first) if is_of_part_before || begins && !first_begins => {
                finding(first, "has another live range below").related(here, "the second one")
            }
            Some(first) => {
                finding(here, "has another live range above").related(first, "the first one")
            }
            None => finding(here, "is no value of the assignment"),
        };
        if let Some((value, placement)) = missing {
            finding = finding.related(
                placement.place(placement.row.value.name),
                "a value without a live range",
            );
            let is_certain = is_single && is_decided && !index.is_empty();
            let (name, index) = (&dump.names[value.name], &dump.names[value.index]);
            finding = finding.fixed_if(is_certain, format!("{name}{index}"));
        }
        findings.push(finding);
    }
    if !dump.has_live_ranges() {
        return;
    }
    for (_, placement) in missing {
        doubts.live_ranges_incomplete = true;
        let message = format!("value {} has no live range", placement.row.value.id.value);
        let place = placement.place(placement.row.value.name);
        findings.push(Finding::new(Code::LiveRange, place, message));
    }
}

/// What the schedule tells of the live ranges.
struct Scale {
    /// The end of the schedule, one step behind the last; `None` if that is in doubt.
    end: Option<u64>,
    /// Whether the steps of instructions are known.
    has_steps: bool,
}

impl Scale {
    fn new(dump: &Dump, doubts: &Doubts) -> Self {
        let count = dump.steps.len() as u64;
        let has_steps = !doubts.steps_shifted;
        let max = dump.max.as_ref().map(|(max, _)| max.value);
        // Where a step is missing, also the last one, the heading knows better.
        let lives_on = || dump.values.iter().any(|value| dump.live(value).1 > count);
        let is_missing = max.is_some_and(|max| max != count) && lives_on();
        Self {
            end: if !has_steps || is_missing {
                max
            } else {
                Some(count)
            },
            has_steps,
        }
    }
}

/// The name and the index on a line.
fn key<'d>(line: &At<'d, facts::LiveRange>) -> (&'d str, &'d str) {
    let index = line.text(line.row.index);
    (line.text(line.row.name), index_text(index))
}

/// The value with this name and index.
fn value_at(dump: &Dump, name: &str, index: &str) -> Option<u32> {
    let (name, index) = (dump.names.get(name)?, dump.names.get(index)?);
    dump.values_at(name, index).next()
}

/// Where a value lies that should have a live range. Scratch of computations called per element, and
/// constants of computations that are not in the schedule, need none; nor do those that stand twice.
fn needing_one<'d>(dump: &'d Dump, value: &Value) -> Option<At<'d, facts::Placement>> {
    let allocation = dump.allocations.get(value.allocation()? as usize)?;
    let needs_none = allocation.kinds().thread_local
        || (allocation.kinds().constant && dump.step_of(value.name).is_none());
    (!needs_none).then(|| dump.placement(value))?
}

/// A parameter of the entry is there from the first step on, and one that is not donated to the last.
fn entry_parameter_problem(dump: &Dump, value: &Value, scale: &Scale) -> Option<Finding> {
    let allocation = dump.allocations.get(value.allocation()? as usize)?;
    // The buffer of a parameter that is not donated holds nothing else.
    if !allocation.is_parameter()
        || allocation.kinds().maybe_live_out
        || allocation.values.len() != 1
    {
        return None;
    }
    let (start, end) = dump.live(value);
    let of_start = start != 0;
    let message = if of_start {
        format!("the live range of a parameter begins at step {start}, not at 0")
    } else if let Some(last) = scale.end.filter(|&last| last != end) {
        format!(
            "the live range of a parameter that is not donated ends at step {end}, not at {last}"
        )
    } else {
        return None;
    };
    let line = dump.live_range(value)?;
    let number = if of_start {
        line.row.start
    } else {
        line.row.end
    };
    Some(Finding::new(
        Code::LiveRange,
        line.place(number.span),
        message,
    ))
}

/// Whether the value may be one of a computation that runs asynchronously. Their live ranges begin
/// elsewhere: at the step of the call's start since libtpu 0.0.51, at the start of the caller's
/// computation in newer sources.
pub(super) fn is_asynchronous(dump: &Dump, value: &Value) -> bool {
    // The root of such a computation is visible as the result of the call's start.
    let is_result = dump.positions_of(value).iter().any(|position| {
        position.name != value.name
            && dump.names[position.index].starts_with("{1")
            && is_start(dump, position.name)
    });
    let is_elsewhere = |instruction: &Instruction| {
        let computation = instruction
            .computation
            .and_then(|at| dump.module.computations.get(at as usize));
        computation
            .and_then(|&row| dump.at::<facts::Computation>(row))
            .is_some_and(|computation| !computation.row.entry)
    };
    is_result
        || (dump.has_async_calls
            && dump
                .module
                .instructions
                .get(value.name)
                .is_none_or(is_elsewhere))
}

/// Whether an instruction calls a computation that runs asynchronously. (The operand of a `copy-start`
/// is visible in its result too, and begins where it is made.)
fn is_start(dump: &Dump, name: NameId) -> bool {
    let values = dump.values_of(name);
    let mut opcodes = values.filter_map(|at| dump.values[at as usize].opcode);
    opcodes
        .next()
        .is_some_and(|opcode| is_async_call(&dump.names[opcode]))
}

/// Whether a value lives from its own step on, as nearly all do, and is no parameter, which tells
/// without its line that there is no problem.
fn is_plain(dump: &Dump, value: &Value, scale: &Scale) -> bool {
    let (start, end) = dump.live(value);
    let has_parameter = |at: u32| {
        let allocation = dump.allocations.get(at as usize);
        allocation.is_some_and(Allocation::is_parameter)
    };
    start <= end
        && scale.end.is_none_or(|last| end <= last)
        && scale.has_steps
        && dump.step_of(value.name).map(u64::from) == Some(start)
        && !value.allocation().is_some_and(has_parameter)
}

fn problem(dump: &Dump, value: &Value, scale: &Scale) -> Option<Finding> {
    let (start, end) = dump.live(value);
    let places = || {
        let line = dump.live_range(value)?;
        Some([line.row.start, line.row.end].map(|number| line.place(number.span)))
    };
    if start > end {
        let message =
            format!("the live range begins at step {start} and ends before, at step {end}");
        let line = dump.live_range(value)?;
        let place = line.place(line.row.start.span.to(line.row.end.span));
        return Some(Finding::new(Code::LiveRange, place, message));
    }
    if let Some(last) = scale.end.filter(|&last| end > last) {
        let message =
            format!("the live range ends at step {end} where {last} is the end of the schedule");
        let [_, end] = places()?;
        return Some(Finding::new(Code::LiveRange, end, message));
    }
    if !scale.has_steps {
        return entry_parameter_problem(dump, value, scale);
    }
    let defined = u64::from(dump.step_of(value.name)?);
    let opcode = value.opcode.map(|opcode| &dump.names[opcode]);
    let is_fine = match opcode {
        // What may begin elsewhere is known from the positions alone.
        None if !dump.has_used_values() => true,
        // A parameter is there from the start of its computation on.
        Some("parameter") | None => start <= defined || is_asynchronous(dump, value),
        Some(_) => start == defined || is_asynchronous(dump, value),
    };
    if is_fine {
        return entry_parameter_problem(dump, value, scale);
    }
    let message = format!(
        "the live range begins at step {start} where `{}` runs at step {defined}",
        &dump.names[value.name]
    );
    let [start, _] = places()?;
    let is_certain = opcode.is_some_and(|opcode| opcode != "parameter");
    let finding = Finding::new(Code::LiveRange, start, message);
    let mut finding = finding.fixed_if(is_certain, defined.to_string());
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
