//! When a value lives, who reads it last, and who has its bytes at other times.

use std::ops::Range;

use super::instruction::Instruction;
use super::value::{NAME_LIMIT, allocation, is_phi, named, title};
use crate::ide::markdown::{code, cut};
use crate::model::bytes;
use crate::model::{Dump, Value};

/// So many values with the same bytes are named.
const MAX_NEIGHBOURS: usize = 6;
/// They are looked for among so many values of the allocation before and behind the value.
const NEIGHBOURHOOD: usize = 20_000;

/// Whether the value is known to be alive at `step`.
pub(super) fn is_alive(value: &Value, step: u64) -> bool {
    value.live_range.is_some() && value.live.0 <= step && step <= value.live.1
}

/// `steps 13-14 of 0-17: defined by copy.3, last read by reshape.6`
pub(super) fn alive(dump: &Dump, value: &Value, instruction: Option<&Instruction>) -> String {
    if value.live_range.is_none() {
        return unknown_life(dump, value).to_owned();
    }
    let (start, end) = value.live;
    let max = dump.max.as_ref().map(|(max, _)| max.value);
    let of = max.map(|max| format!(" of 0-{max}")).unwrap_or_default();
    let name = code(&cut(&dump.names[value.name], NAME_LIMIT));
    let is_parameter = instruction.is_some_and(|instruction| instruction.opcode == "parameter");
    let defined = match dump.step_of(value.name).map(u64::from) {
        _ if is_parameter && start == 0 => "there from the start".to_owned(),
        Some(step) if is_parameter && step > start => {
            "there from the start of its computation".to_owned()
        }
        Some(step) if step != start => format!("defined by {name} at step {step}"),
        _ => format!("defined by {name}"),
    };
    let is_last = max == Some(end);
    let is_result =
        allocation(dump, value).is_some_and(|allocation| allocation.kinds.maybe_live_out);
    let kept = match (is_last, is_result) {
        (true, true) => ", kept to the end as a part of the result",
        (true, false) => ", kept to the end",
        (false, _) => "",
    };
    let read = match last_read(dump, value) {
        Some((reader, step)) if u64::from(step) == end => format!(", last read by {reader}"),
        Some((reader, step)) => format!(", last read by {reader} at step {step}"),
        None if is_last && is_result => String::new(),
        // Loops hand bytes from value to value without an instruction that reads them.
        None if is_phi(dump, value) => {
            ", not read itself: control flow hands its bytes on".to_owned()
        }
        None => ", never read".to_owned(),
    };
    format!("steps {start}-{end}{of}: {defined}{read}{kept}")
}

fn unknown_life(dump: &Dump, value: &Value) -> &'static str {
    let kinds = allocation(dump, value)
        .map(|allocation| allocation.kinds)
        .unwrap_or_default();
    if kinds.thread_local {
        "during each call: thread-local scratch has no live range"
    } else if !dump.has_live_ranges() {
        "unknown: the live ranges are not there (in newer dumps they are a file of their own, `...-live-range.txt`)"
    } else if kinds.constant {
        "always: a constant of a computation outside of the schedule, without live range"
    } else {
        "unknown: no live range is printed for it"
    }
}

/// Who is the last to read the value within its live range, or to pass it on, and when.
fn last_read(dump: &Dump, value: &Value) -> Option<(String, u32)> {
    let uses = slice(&dump.uses, &value.uses)
        .iter()
        .map(|entry| (entry.name, true));
    let positions = slice(&dump.positions, &value.positions)
        .iter()
        .map(|entry| (entry.name, false));
    let others = positions.filter(|(name, _)| *name != value.name);
    let (step, _, name) = uses
        .chain(others)
        .filter_map(|(name, is_use)| Some((dump.step_of(name)?, is_use, name)))
        .filter(|(step, ..)| u64::from(*step) <= value.live.1)
        .max()?;
    Some((code(&cut(&dump.names[name], NAME_LIMIT)), step))
}

fn slice<'d, T>(all: &'d [T], range: &Range<u32>) -> &'d [T] {
    all.get(range.start as usize..range.end as usize)
        .unwrap_or_default()
}

/// The operand that ends where the value begins, with the very same bytes: no copy was made.
pub(super) fn written_over(
    dump: &Dump,
    value: &Value,
    instruction: &Instruction,
) -> Option<String> {
    let same_bytes = |other: &Value| {
        (other.allocation, other.offset, other.size) == (value.allocation, value.offset, value.size)
    };
    let operands = instruction
        .operands
        .iter()
        .filter_map(|(_, name)| named(dump, dump.names.get(name)?));
    let mut others = operands.map(|at| &dump.values[at as usize]);
    let other = others.find(|other| {
        value.size > 0
            && other.id != value.id
            && other.live_range.is_some()
            && value.live_range.is_some()
            && other.live.1 == value.live.0
            && same_bytes(other)
    })?;
    Some(title(dump, other))
}

/// The values that have the same bytes at other times: those nearest in time, in time order.
pub(super) fn neighbours(dump: &Dump, at: u32) -> Option<String> {
    let value = &dump.values[at as usize];
    if value.size == 0 || value.live_range.is_none() {
        return None;
    }
    let all = allocation(dump, value)?.values.clone();
    let from = at.saturating_sub(NEIGHBOURHOOD as u32).max(all.start);
    let to = at.saturating_add(NEIGHBOURHOOD as u32).min(all.end);
    let end = |value: &Value| u128::from(value.offset) + u128::from(value.size);
    let mut found: Vec<&Value> = (from..to)
        .filter(|&other| other != at)
        .filter_map(|other| dump.values.get(other as usize))
        .filter(|other| other.size > 0 && other.live_range.is_some())
        .filter(|other| {
            u128::from(other.offset) < end(value) && u128::from(value.offset) < end(other)
        })
        .collect();
    let count = found.len();
    if count > MAX_NEIGHBOURS {
        let distance = |other: &Value| {
            if other.live.1 <= value.live.0 {
                value.live.0 - other.live.1
            } else {
                other.live.0.saturating_sub(value.live.1)
            }
        };
        found.select_nth_unstable_by_key(MAX_NEIGHBOURS, |other| {
            (distance(other), other.live, other.id)
        });
        found.truncate(MAX_NEIGHBOURS);
    }
    found.sort_unstable_by_key(|other| (other.live, other.id));
    let mut texts: Vec<String> = found
        .iter()
        .map(|other| format!("{} {}-{}", title(dump, other), other.live.0, other.live.1))
        .collect();
    let more = count - found.len();
    if more > 0 || (from, to) != (all.start, all.end) {
        let more = bytes::grouped(more as u64);
        texts.push(if to - from < all.end - all.start {
            format!("at least {more} more")
        } else {
            format!("{more} more")
        });
    }
    (!texts.is_empty()).then(|| texts.join(", "))
}
