//! When a value lives, who reads it last, and who has its bytes at other times.

use super::instruction::Instruction;
use super::role;
use super::value::{NAME_LIMIT, is_phi, title};
use crate::ide::markdown::{code, cut};
use crate::model::bytes;
use crate::model::{Allocation, Dump, NameId, Part, Value};

/// So many values with the same bytes are named.
const MAX_NEIGHBOURS: usize = 6;
/// The values with bytes of another are looked for among so many.
pub(super) const MAX_SHARING: usize = 20_000;

/// `steps 13-14`, or `step 26 (26-26)`.
pub(super) fn steps((start, end): (u64, u64)) -> String {
    if start == end {
        format!("step {start} ({start}-{end})")
    } else {
        format!("steps {start}-{end}")
    }
}

/// `steps 13-14 of 0-17: defined by copy.3, last read by reshape.6`
pub(super) fn alive(dump: &Dump, value: &Value, instruction: Option<&Instruction>) -> String {
    if !value.has_live_range() {
        return unknown_life(dump, value).to_owned();
    }
    let (start, end) = dump.live(value);
    let max = dump.max.as_ref().map(|(max, _)| max.value);
    let of = max.map(|max| format!(" of 0-{max}")).unwrap_or_default();
    let name = code(&cut(&dump.names[value.name], NAME_LIMIT));
    let is_parameter = instruction.is_some_and(|instruction| instruction.opcode() == "parameter");
    let defined = match dump.step_of(value.name).map(u64::from) {
        _ if is_parameter && start == 0 => "there from the start".to_owned(),
        Some(step) if is_parameter && step > start => {
            "there from the start of its computation".to_owned()
        }
        Some(step) if step != start => format!("defined by {name} at step {step}"),
        _ => format!("defined by {name}"),
    };
    let is_last = max == Some(end);
    let is_result = dump
        .allocation_of(value)
        .is_some_and(|allocation| allocation.kinds().maybe_live_out);
    let kept = match (is_last, is_result) {
        (true, true) => ", kept to the end as a part of the result",
        (true, false) => ", kept to the end",
        (false, _) => "",
    };
    let is_kept = is_last && is_result;
    let read = reading(dump, value, is_kept)
        .filter(|(is_read, _)| *is_read || !is_kept)
        .map(|(_, text)| format!(", {text}"))
        .unwrap_or_default();
    let wrong = match max {
        _ if start > end => "; **it ends before it begins**".to_owned(),
        Some(max) if end > max => format!(
            "; **it ends {} behind the schedule**",
            bytes::counted(end - max, "step")
        ),
        _ => String::new(),
    };
    format!("{}{of}: {defined}{read}{kept}{wrong}", steps((start, end)))
}

fn unknown_life(dump: &Dump, value: &Value) -> &'static str {
    // Older dumps hold everything in one file.
    let is_combined = dump.file_of(Part::Assignment).is_some()
        && dump.file_of(Part::Values).is_none()
        && dump.has_used_values();
    let kinds = dump
        .allocation_of(value)
        .map(Allocation::kinds)
        .unwrap_or_default();
    if kinds.thread_local {
        "during each call: thread-local scratch has no live range"
    } else if !dump.has_live_ranges() && is_combined {
        "unknown: the file ends before its live ranges"
    } else if !dump.has_live_ranges() {
        "unknown: the live ranges are not there (in newer dumps they are a file of their own, `...-live-range.txt`)"
    } else if kinds.constant {
        "always: a constant of a computation outside of the schedule, without live range"
    } else {
        "unknown: no live range is printed for it"
    }
}

/// Who is the last to read the value, or to take over its bytes, and whether it is read at all. `None` if the dump
/// does not tell.
fn reading(dump: &Dump, value: &Value, is_kept: bool) -> Option<(bool, String)> {
    if !value.is_used() {
        return None;
    }
    let uses = dump.uses_of(value);
    if uses.is_empty() {
        return Some((false, without_use(dump, value)));
    }
    let end = dump.live(value).1;
    let last = |is_wanted: &dyn Fn(u32) -> bool| {
        let steps = uses
            .iter()
            .filter_map(|entry| Some((dump.step_of(entry.name)?, entry.name)));
        steps.filter(|&(step, _)| is_wanted(step)).max()
    };
    let shown = |name: NameId| code(&cut(&dump.names[name], NAME_LIMIT));
    let (step, reader) = last(&|_| true)?;
    let opcode = dump.opcode(reader).unwrap_or_default();
    // A loop's computations stand before it in the schedule: its state has the bytes from there on.
    if let Some(taker) = role::taker(opcode).filter(|_| u64::from(step) > end) {
        return Some((
            true,
            format!("handed to the {taker} {} at step {end}", shown(reader)),
        ));
    }
    let text = match last(&|step| u64::from(step) <= end) {
        Some((_, reader))
            if !is_kept
                && dump.opcode(reader) == Some("tuple")
                && let Some(role) = role::of_root(dump, reader) =>
        {
            format!("a part of {role}")
        }
        Some((step, reader)) if u64::from(step) == end => format!("last read by {}", shown(reader)),
        Some((step, reader)) => format!("last read by {} at step {step}", shown(reader)),
        None => format!("handed on to {} (step {step})", shown(reader)),
    };
    Some((true, text))
}

/// What is to be said of a value without any use.
fn without_use(dump: &Dump, value: &Value) -> String {
    if let Some(role) = role::of_root(dump, value.name) {
        role
    } else if is_phi(dump, value) && dump.opcode(value.name) != Some("while") {
        // Loops hand bytes from value to value without an instruction that reads them.
        "not read itself: control flow hands its bytes on".to_owned()
    } else if dump.module.instructions.has(value.name) {
        "never read".to_owned()
    } else {
        "no use is printed".to_owned()
    }
}

/// The operand that ends where the value begins, with the very same bytes: no copy was made.
pub(super) fn written_over(
    dump: &Dump,
    value: &Value,
    instruction: &Instruction,
) -> Option<String> {
    let same_bytes = |other: &Value| {
        (other.allocation(), other.offset, other.size)
            == (value.allocation(), value.offset, value.size)
    };
    let operands = instruction
        .operands()
        .iter()
        .filter_map(|operand| dump.read_by(operand));
    let mut others = operands.map(|at| &dump.values[at as usize]);
    let other = others.find(|other| {
        value.size > 0
            && other.id != value.id
            && other.has_live_range()
            && value.has_live_range()
            && dump.live(other).1 == dump.live(value).0
            && same_bytes(other)
    })?;
    Some(title(dump, other))
}

/// The values that have the same bytes or some of them, as a rule at other times: those nearest in time, in time order.
pub(super) fn neighbours(dump: &Dump, at: u32) -> Option<String> {
    let value = &dump.values[at as usize];
    let (start, end) = dump.live_range_of(value)?.steps;
    if value.size == 0 {
        return None;
    }
    let bytes = value.offset..value.end();
    let sharing = dump.values_in(dump.allocation_of(value)?, bytes, MAX_SHARING);
    let is_all = sharing.len() < MAX_SHARING;
    let others = sharing.into_iter().filter(|&other| other != at);
    let others = others.filter_map(|other| dump.values.get(other as usize));
    let others = others.filter(|other| other.size > 0);
    let mut found: Vec<((u64, u64), &Value)> = others
        .filter_map(|other| Some((dump.live_range_of(other)?.steps, other)))
        .collect();
    let count = found.len();
    if count > MAX_NEIGHBOURS {
        let distance = |(begins, ends): (u64, u64)| {
            if ends <= start {
                start - ends
            } else {
                begins.saturating_sub(end)
            }
        };
        found.select_nth_unstable_by_key(MAX_NEIGHBOURS, |&(steps, other)| {
            (distance(steps), steps, other.id)
        });
        found.truncate(MAX_NEIGHBOURS);
    }
    found.sort_unstable_by_key(|&(steps, other)| (steps, other.id));
    let when = |(begins, ends): (u64, u64), other: &Value| {
        Some(if ends.min(end) > begins.max(start) {
            if dump.are_apart(value, other) {
                "at the same time as printed, but not read any more".to_owned()
            } else {
                "**at the same time**".to_owned()
            }
        } else if begins == end {
            format!("takes over at step {end}")
        } else if ends == start {
            format!("until step {start}")
        } else {
            return None;
        })
    };
    let part = |other: &Value| {
        let shared = value.end().min(other.end()) - value.offset.max(other.offset);
        (shared < value.size).then(|| format!("{} of them", bytes::rounded(shared)))
    };
    let mut texts: Vec<String> = found
        .iter()
        .map(|&((begins, ends), other)| {
            let notes = [part(other), when((begins, ends), other)];
            let notes: Vec<String> = notes.into_iter().flatten().collect();
            let notes = match &notes[..] {
                [] => String::new(),
                notes => format!(" ({})", notes.join(", ")),
            };
            format!("{} {begins}-{ends}{notes}", title(dump, other))
        })
        .collect();
    let more = count - found.len();
    if more > 0 {
        let more = bytes::grouped(more as u64);
        texts.push(if is_all {
            format!("{more} more")
        } else {
            format!("at least {more} more")
        });
    }
    (!texts.is_empty()).then(|| texts.join(", "))
}
