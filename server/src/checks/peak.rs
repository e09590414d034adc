//! The peak that the compiler printed: its step, its members, their bytes.

use buflens_syntax::facts;
use rustc_hash::{FxHashMap, FxHashSet};

use super::structure::{Section, ends_openly, is_on_last_line};
use super::{Code, Context, Doubts, Finding, Findings, keep_single_fix};
use crate::model::cancel::join;
use crate::model::shapes::index_numbers;
use crate::model::{At, Dump, NameId, Peak, Place, Row, bytes};

/// A live range with its value's name and index.
struct Alive {
    row: Row,
    /// The value, as a number into the dump's table, if it is known.
    value: Option<u32>,
    key: (NameId, NameId),
    start: u64,
    end: u64,
}

/// `peak-step`, `peak-members`, `peak-bytes` and `cumulative-bytes`.
pub(super) fn check_peak(context: &Context, doubts: &Doubts, findings: &mut Findings) {
    let dump = context.dump;
    let Some(peak) = &dump.peak else { return };
    let lines = lines(dump, peak);
    let mut of_members = findings.fork();
    // Behind a cut or a broken line, the lists are not whole.
    if doubts.are_whole(&[Section::LiveRanges, Section::Peak]) {
        check_members(context, peak, &lines, doubts, &mut of_members);
    }
    // A line too many or too few, or one of another value, is no mistake in the numbers.
    if !of_members.has(Code::PeakMembers) {
        let mut of_bytes = findings.fork();
        check_bytes(context, &lines, doubts, &mut of_bytes);
        keep_single_fix(&mut of_bytes.list);
        findings.join(of_bytes);
    }
    findings.join(of_members);
}

/// `peak-step` and `peak-members`.
fn check_members(
    context: &Context,
    peak: &Peak,
    lines: &[Line],
    doubts: &Doubts,
    findings: &mut Findings,
) {
    let dump = context.dump;
    let is_sound = doubts.are_whole(&[Section::Values])
        && doubts.live_ranges.is_empty()
        && !doubts.live_ranges_incomplete
        && !findings.has(Code::Sequence)
        && !findings.has(Code::ValueShape);
    let printed = peak.step.value;
    let (by_rule, differing) = join(
        || is_sound.then(|| step_by_rule(context)).flatten(),
        || members(dump, peak, lines, printed),
    );
    if let Some(step) = by_rule.filter(|&step| step != printed) {
        let message = format!(
            "step {printed} is printed as the peak where the compiler's rule gives step {step}"
        );
        let finding = Finding::new(Code::PeakStep, peak.place.clone(), message);
        if members(dump, peak, lines, step).is_empty() {
            findings.push(finding.fixed_by(step.to_string()));
            return;
        } else if differing.is_empty() {
            // The list is of this step: a live range or a shape must be wrong.
            findings.push(relate_starts(dump, step, finding));
            return;
        }
        // A live range that the list disagrees with explains the step as well.
    }
    if breaks_off(dump, peak, &differing) {
        let message = format!(
            "the file ends inside the peak list, which lacks {}",
            bytes::counted(differing.len(), "value")
        );
        findings.push(Finding::new(Code::Truncated, peak.place.clone(), message));
        return;
    }
    // A live range that is known to be wrong explains a member that is.
    let wrong = doubts.live_ranges.iter();
    let wrong = wrong.filter_map(|&at| live_range(dump, at));
    let blamed: FxHashSet<Row> = wrong
        .chain(dump.stray_live_ranges.iter().copied())
        .collect();
    let is_blamed = |row: &Row| blamed.contains(row);
    // So does one that is missing.
    let is_missing = |rows: &[Row]| rows.is_empty() && doubts.live_ranges_incomplete;
    let is_single = differing.len() == 1 && by_rule.is_some();
    for difference in differing.into_iter().filter(|difference| {
        !difference.rows.iter().any(is_blamed) && !is_missing(&difference.rows)
    }) {
        let of_live_range = is_single.then(|| of_live_range(dump, printed, lines, &difference));
        if let Some(finding) = of_live_range.flatten() {
            findings.push(finding);
            continue;
        }
        let mut finding = Finding::new(Code::PeakMembers, difference.place, difference.message);
        // Of two lines that list the same, either may be the wrong one.
        let is_sure = is_single && difference.before.is_none();
        if let Some(instead) = difference.instead.filter(|_| is_sure) {
            finding = finding.fixed_by(instead);
        }
        if let Some(before) = difference.before {
            finding = finding.related(before, "listed before");
        }
        for line in difference
            .rows
            .iter()
            .filter_map(|&row| dump.at::<facts::LiveRange>(row))
        {
            let message = format!(
                "alive at steps {}-{}",
                line.row.start.value, line.row.end.value
            );
            finding = finding.related(line.place(line.row.name), message);
        }
        findings.push(finding);
    }
}

fn relate_starts(dump: &Dump, step: u64, mut finding: Finding) -> Finding {
    let beginning = live_ranges(dump).filter(|value| value.start == step);
    for value in beginning.take(4) {
        if let Some(line) = dump.at::<facts::LiveRange>(value.row) {
            finding = finding.related(line.place(line.row.name), format!("begins at step {step}"));
        }
    }
    finding
}

/// A line of the peak list, with the name and the index on it if the dump has them elsewhere.
struct Line {
    row: Row,
    name: Option<NameId>,
    index: Option<NameId>,
}

impl Line {
    fn at<'d>(&self, dump: &'d Dump) -> Option<At<'d, facts::PeakValue>> {
        dump.at(self.row)
    }
}

fn lines(dump: &Dump, peak: &Peak) -> Vec<Line> {
    let mut lines = Vec::with_capacity(peak.values.len());
    // Most have the same index.
    let mut last = ("", dump.names.get(""));
    for &row in &peak.values {
        let Some(at) = dump.at::<facts::PeakValue>(row) else {
            continue;
        };
        let index = at.text(at.row.index);
        if index != last.0 {
            last = (index, dump.names.get(index));
        }
        lines.push(Line {
            row,
            name: dump.names.get(at.text(at.row.name)),
            index: last.1,
        });
    }
    lines
}

/// The line of section D of value `at`.
fn live_range(dump: &Dump, at: u32) -> Option<Row> {
    Some(dump.live_range_of(&dump.values[at as usize])?.row)
}

/// Every line of section D, of known values or not.
fn live_ranges(dump: &Dump) -> impl Iterator<Item = Alive> {
    let known = (0..).zip(&dump.values).filter_map(|(at, value)| {
        let live_range = dump.live_range_of(value)?;
        Some(Alive {
            row: live_range.row,
            value: Some(at),
            key: (value.name, value.index),
            start: live_range.steps.0,
            end: live_range.steps.1,
        })
    });
    let stray = dump.stray_live_ranges.iter().filter_map(|&row| {
        let line = dump.at::<facts::LiveRange>(row)?;
        let key = (
            dump.names.get(line.text(line.row.name))?,
            dump.names.get(line.text(line.row.index))?,
        );
        Some(Alive {
            row,
            value: dump.values_at(key.0, key.1).next(),
            key,
            start: line.row.start.value,
            end: line.row.end.value,
        })
    });
    known.chain(stray)
}

/// The step that the compiler takes for the peak: the first at which some value begins and the
/// unpadded bytes of all values alive, and of those that ended the step before, are the most. Each
/// value counts the whole result of its instruction.
fn step_by_rule(context: &Context) -> Option<u64> {
    let dump = context.dump;
    let count = dump.values.len() + dump.stray_live_ranges.len();
    let (mut starts, mut ends) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for Alive {
        value, start, end, ..
    } in live_ranges(dump)
    {
        let result = dump.result_shape(&dump.values[value? as usize])?;
        let weight = dump.shapes.logical_bytes(result)?;
        // At the step behind its last one it counts, and not behind that; never where it has ended before it begins.
        let behind = end.saturating_add(2);
        let weight = if behind > start { weight } else { 0 };
        starts.push((start, weight));
        ends.push((behind, weight));
    }
    starts.sort_unstable();
    ends.sort_unstable();
    let mut ending = ends.iter().peekable();
    let (mut sum, mut best) = (0_u128, None::<(u128, u64)>);
    for beginning in starts.chunk_by(|(start, _), (next, _)| start == next) {
        let step = beginning[0].0;
        let weights = beginning.iter().map(|&(_, weight)| u128::from(weight));
        sum += weights.sum::<u128>();
        while let Some(&(_, weight)) = ending.next_if(|&&(behind, _)| behind <= step) {
            sum -= u128::from(weight);
        }
        if best.is_none_or(|(most, _)| sum > most) {
            best = Some((sum, step));
        }
    }
    best.map(|(most, step)| if most == 0 { 0 } else { step })
}

struct Difference {
    place: Place,
    message: String,
    /// The line that lists the same before, if one does: either may be the wrong one.
    before: Option<Place>,
    /// The live ranges that the list disagrees with.
    rows: Vec<Row>,
    /// The value that is not listed, but another one in its place.
    instead: Option<String>,
}

/// The only difference as a finding on the live range of its value, where that must be wrong: a list that adds up lacks
/// no value, and has none too many.
fn of_live_range(
    dump: &Dump,
    step: u64,
    lines: &[Line],
    difference: &Difference,
) -> Option<Finding> {
    let [row] = difference.rows[..] else {
        return None;
    };
    if difference.instead.is_some() || !adds_up(dump, lines) {
        return None;
    }
    let line = dump.at::<facts::LiveRange>(row)?;
    // Where it begins is known from the schedule.
    let number = if step < line.row.start.value {
        line.row.start
    } else {
        line.row.end
    };
    let message = difference.message.clone();
    let finding = Finding::new(Code::PeakMembers, line.place(number.span), message);
    Some(finding.related(difference.place.clone(), "the peak list, which adds up"))
}

/// Whether each line has a running sum, of its bytes and those above it, and the tree the sum of all.
fn adds_up(dump: &Dump, lines: &[Line]) -> bool {
    let mut sum = 0_u128;
    let mut goes_on = |line: &Line| {
        line.at(dump).is_some_and(|line| {
            sum += u128::from(line.row.bytes.value);
            line.row.cumulative.get().map(u128::from) == Some(sum)
        })
    };
    let is_sound = !lines.is_empty() && lines.iter().all(&mut goes_on);
    let total = dump.tree.as_ref().map(|(total, ..)| total.value);
    is_sound && total.is_none_or(|total| u128::from(total) == sum)
}

/// How the peak list differs from the values alive at `step`.
fn members(dump: &Dump, peak: &Peak, lines: &[Line], step: u64) -> Vec<Difference> {
    // Older lists print no index.
    let mut printed = lines.iter().filter_map(|line| line.at(dump));
    let has_index = printed.any(|at| !at.row.index.is_empty());
    let key = |value: &Alive| (value.key.0, has_index.then_some(value.key.1));
    let is_alive = |value: &Alive| (value.start..=value.end).contains(&step);
    // As many as are listed, if the list is right.
    let mut expected: Vec<Alive> = Vec::with_capacity(lines.len());
    expected.extend(live_ranges(dump).filter(is_alive));
    expected.sort_unstable_by_key(|value| (key(value), value.start, value.row));
    // How many of the values of one key are listed, at the place of the first of them: the last ones.
    let mut listed = vec![0; expected.len()];
    let mut is_listed = |wanted: (NameId, Option<NameId>)| {
        let start = expected.partition_point(|value| key(value) < wanted);
        let of_key = expected[start..].partition_point(|value| key(value) == wanted);
        let is_there = listed.get(start).is_some_and(|&count| count < of_key);
        if is_there {
            listed[start] += 1;
        }
        is_there
    };
    let is_member = |line: &Line| match (line.name, line.index) {
        (Some(name), _) if !has_index => is_listed((name, None)),
        (Some(name), Some(index)) => is_listed((name, Some(index))),
        _ => false,
    };
    let are_members: Vec<bool> = lines.iter().map(is_member).collect();
    let mut differences = strangers(dump, lines, &are_members, has_index, step);
    let mut missing: Vec<&Alive> = Vec::new();
    let mut start = 0;
    for of_key in expected.chunk_by(|one, next| key(one) == key(next)) {
        missing.extend(&of_key[..of_key.len() - listed[start]]);
        start += of_key.len();
    }
    missing.sort_by_key(|value| value.key);
    let wrong = differences.len();
    for (at, value) in missing.into_iter().enumerate() {
        let name = format!("{}{}", &dump.names[value.key.0], &dump.names[value.key.1]);
        if at < wrong {
            // A line of a wrong name: one finding for the line and the value that it leaves out.
            let message = &mut differences[at].message;
            *message = format!("{message}; `{name}` is alive, but not listed");
            differences[at].rows.push(value.row);
            let own = &dump.names[value.key.0];
            differences[at].instead = Some(if has_index { name } else { own.to_owned() });
        } else {
            let message = format!("`{name}` is alive at step {step}, but not listed");
            let rows = rows_of(dump, value.key.0, has_index.then_some(value.key.1));
            differences.push(Difference {
                place: peak.place.clone(),
                message,
                before: None,
                rows,
                instead: None,
            });
        }
    }
    differences
}

/// The lines that list no value alive at `step`: those that are no members.
fn strangers(
    dump: &Dump,
    lines: &[Line],
    are_members: &[bool],
    has_index: bool,
    step: u64,
) -> Vec<Difference> {
    let mut strangers = Vec::new();
    if are_members.iter().all(|&is_member| is_member) {
        return strangers;
    }
    let mut listed: FxHashMap<(&str, &str), Place> = FxHashMap::default();
    for (line, is_member) in lines.iter().zip(are_members) {
        let Some(at) = line.at(dump) else { continue };
        let (name, index) = (at.text(at.row.name), at.text(at.row.index));
        let place = at.place(at.row.name.to(at.row.index));
        let before = listed.insert((name, index), place.clone());
        if !is_member {
            let index_id = line.index.filter(|_| has_index);
            let rows = line.name.map(|name| rows_of(dump, name, index_id));
            strangers.push(Difference {
                place,
                message: format!("`{name}{index}` is listed, but not alive at step {step}"),
                before,
                rows: rows.unwrap_or_default(),
                instead: None,
            });
        }
    }
    strangers
}

/// Whether the list stands at the end of its file and is short of several values, or of one where it has none or its
/// last line has no end.
fn breaks_off(dump: &Dump, peak: &Peak, differing: &[Difference]) -> bool {
    let last = peak.values.last();
    let last = last.and_then(|&row| dump.at::<facts::PeakValue>(row));
    let end = last.map_or(peak.place.range.start, |last| {
        last.place(last.row.bytes.span).range.start
    });
    let document = &dump.files[peak.place.file].document;
    let may_be = differing.len() > 1 || last.is_none() || ends_openly(document);
    may_be
        && !differing.is_empty()
        && differing
            .iter()
            .all(|difference| difference.place == peak.place)
        && is_on_last_line(document, end)
}

/// The live ranges of the values with this name, and with this index if the list prints it.
fn rows_of(dump: &Dump, name: NameId, index: Option<NameId>) -> Vec<Row> {
    let live_range = |at: u32| live_range(dump, at);
    match index {
        Some(index) => dump
            .values_at(name, index)
            .filter_map(live_range)
            .take(1)
            .collect(),
        None => dump
            .values_of(name)
            .filter_map(live_range)
            .take(8)
            .collect(),
    }
}

/// The bytes of each line and their running sum.
fn check_bytes(context: &Context, lines: &[Line], doubts: &Doubts, findings: &mut Findings) {
    let dump = context.dump;
    let is_whole = doubts.are_whole(&[Section::Peak]);
    let mut sum = 0_u128;
    let total = dump
        .tree
        .as_ref()
        .map(|(total, ..)| u128::from(total.value));
    let line_at = |number: usize| lines.get(number)?.at(dump);
    for (number, entry) in lines.iter().enumerate() {
        let Some(line) = entry.at(dump) else { continue };
        // A line that breaks off says enough, and the sum goes on from the next one.
        if !is_read(&line) {
            let next = line_at(number + 1);
            sum = next.as_ref().and_then(sum_before).unwrap_or(sum);
            continue;
        }
        let printed = line.row.bytes.value;
        let cumulative = line.row.cumulative.get().map(u128::from);
        // What follows tells whether a sum is right: it goes on from it.
        let is_confirmed = |sum: u128| match line_at(number + 1) {
            Some(next) => {
                next.row.cumulative.get().map(u128::from)
                    == Some(sum + u128::from(next.row.bytes.value))
            }
            None => total == Some(sum),
        };
        let rise = cumulative.and_then(|cumulative| cumulative.checked_sub(sum));
        let expected = expected_bytes(context, entry, &line, doubts);
        let has_shape = expected.is_some();
        if let Some((expected, shape)) = expected.filter(|&(expected, _)| expected != printed)
            && let Some(place) = shape.place(dump)
        {
            let message = format!("{printed} bytes where the shape has {expected} without padding");
            let finding = Finding::new(Code::PeakBytes, line.place(line.row.bytes.span), message);
            let finding = finding.related(place, "the shape");
            let is_certain = rise == Some(expected.into());
            findings.push(finding.fixed_if(is_certain, expected.to_string()));
            sum = if is_certain {
                sum + u128::from(expected)
            } else {
                sum + u128::from(printed)
            };
        } else if let (Some(cumulative), Some(rise)) = (cumulative, rise)
            && rise != u128::from(printed)
            && !has_shape
            && is_confirmed(cumulative)
        {
            let message = format!("{printed} bytes where the running sum rises by {rise}");
            let finding = Finding::new(Code::PeakBytes, line.place(line.row.bytes.span), message)
                .related(line.place(line.row.cumulative.span), "the running sum");
            findings.push(finding.fixed_by(rise.to_string()));
            sum = cumulative;
            continue;
        } else {
            sum += u128::from(printed);
        }
        if let Some(cumulative) = cumulative.filter(|&cumulative| cumulative != sum) {
            let message = format!("cumulative: {cumulative} where the bytes add up to {sum}");
            let place = line.place(line.row.cumulative.span);
            let finding = Finding::new(Code::CumulativeBytes, place, message)
                .related(line.place(line.row.bytes.span), "the bytes of this line");
            if !is_confirmed(cumulative) {
                findings.push(finding.fixed_by(sum.to_string()));
                continue;
            }
            // The next lines go on from here; the mistake is not repeated for each.
            sum = cumulative;
            // A line that is not understood is the one that is missing.
            if is_whole {
                findings.push(finding);
            }
        }
    }
    let last = lines
        .last()
        .and_then(|last| last.at(dump))
        .filter(|last| last.row.cumulative.get().is_some());
    // A heading that its own tree disagrees with is the tree's finding.
    let root = dump
        .tree
        .as_ref()
        .and_then(|(_, _, nodes)| dump.at::<facts::TreeNode>(*nodes.first()?));
    if let (Some((total, place, _)), Some(last)) = (&dump.tree, last)
        && root.is_none_or(|root| root.row.total.value == total.value)
        && u128::from(total.value) != sum
        && !findings.has(Code::PeakBytes)
        && doubts.are_whole(&[Section::Peak, Section::Tree])
    {
        let message = format!("{} bytes where the peak list adds up to {sum}", total.value);
        let finding = Finding::new(Code::CumulativeBytes, place.clone(), message);
        findings.push(finding.related(last.place(last.row.cumulative.span), "the sum"));
    }
}

/// Whether a line goes on behind its bytes, which may be cut else.
fn is_read(line: &At<facts::PeakValue>) -> bool {
    let end = line.row.bytes.span.end as usize;
    line.row.bytes.is_read() && end < line.block.text().len()
}

/// The running sum before a line, by its own numbers.
fn sum_before(line: &At<facts::PeakValue>) -> Option<u128> {
    let (bytes, cumulative) = (line.row.bytes, line.row.cumulative.get()?);
    u128::from(cumulative).checked_sub(bytes.value.into())
}

/// The shape of a value, as a number into the dump's table.
enum Printed {
    /// As the value's allocation has it.
    Placed(u32),
    /// As its instruction has it.
    Result(u32),
}

impl Printed {
    fn place(&self, dump: &Dump) -> Option<Place> {
        match *self {
            Self::Placed(at) => {
                let placement = dump.placement(&dump.values[at as usize])?;
                Some(placement.place(placement.row.shape))
            }
            Self::Result(at) => {
                let instruction = dump.instruction(&dump.values[at as usize])?;
                Some(instruction.place(instruction.row.shape))
            }
        }
    }
}

/// The unpadded bytes of a line's value, and the shape that says so.
fn expected_bytes(
    context: &Context,
    line: &Line,
    at: &At<facts::PeakValue>,
    doubts: &Doubts,
) -> Option<(u64, Printed)> {
    let dump = context.dump;
    let name = line.name?;
    if at.row.index.is_empty() {
        // Older lists count the whole result of the instruction.
        let at = dump
            .values_of(name)
            .next()
            .filter(|value| !doubts.values.contains(value))?;
        let result = dump.result_shape(&dump.values[at as usize])?;
        return Some((dump.shapes.logical_bytes(result)?, Printed::Result(at)));
    }
    let index = line.index?;
    let at = dump
        .values_at(name, index)
        .next()
        .filter(|value| !doubts.values.contains(value))?;
    let value = &dump.values[at as usize];
    if value.placement.is_some() {
        let bytes = context.shapes.logical_bytes(value)?;
        return Some((bytes, Printed::Placed(at)));
    }
    let part = context.result(at)?.at(&index_numbers(&dump.names[index]))?;
    Some((bytes::logical_bytes(part)?, Printed::Result(at)))
}

#[cfg(test)]
mod tests {
    use crate::checks::check;
    use crate::checks::tests::{CONCAT, dump, finds};

    const COND_SWITCH: &str = include_str!(
        "../../../tests/fixtures/dumps/tpu-tree-v4/module_0361.jit_cond_switch.cl_878335365.after_optimizations-buffer-assignment.txt"
    );

    /// The list has the name that the live range should have, or has no line for.
    #[test]
    fn a_list_that_is_right_is_not_told() {
        let line = "args_1_.1{}:0-8";
        finds(&[CONCAT], line, "args_1_.1{1}:0-8", "live-range");
        let found = check(&dump(&[&CONCAT.replace(&format!("    {line}\n"), "")]));
        let codes: Vec<&str> = found.iter().map(|finding| finding.code.name()).collect();
        assert_eq!(codes, ["live-range"]);
    }

    #[test]
    fn a_value_listed_twice_is_told_at_both_lines() {
        let line = |index| format!("sort.6{{{index}}}: 16384 bytes (cumulative: 65536 bytes)");
        finds(&[COND_SWITCH], &line(0), &line(1), "peak-members");
    }
}
