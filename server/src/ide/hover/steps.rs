//! Steps of the schedule, live ranges and the peak list.

use buflens_syntax::facts::{LiveRange, PeakValue};
use rustc_hash::{FxHashMap, FxHashSet};

use super::instruction::Instruction;
use super::life::{MAX_SHARING, steps};
use super::value::{self, MAX_LISTED, title};
use super::{Context, peak, percent};
use crate::ide::markdown::{Table, Text, code, cut, listed};
use crate::model::bytes;
use crate::model::{Dump, NameId, Value};

/// The hover on a step: what runs, is born and dies there.
pub(super) fn step(context: &Context, step: u64) -> Option<String> {
    let dump = context.dump;
    let max = dump.max.as_ref().map(|(max, _)| max.value);
    let at = usize::try_from(step).unwrap_or(usize::MAX);
    let Some(entry) = dump.steps.get(at) else {
        return (max == Some(step)).then(|| {
            format!("**step {step}**: behind the last instruction, the end of the program")
        });
    };
    let name = entry.name;
    let instruction = Instruction::named(context, name);
    let plain = instruction
        .as_ref()
        .map(|instruction| format!(", {}", instruction.plain(context)));
    let last = max.and_then(|max| max.checked_sub(1));
    let of = last.map(|last| format!(" of 0-{last}")).unwrap_or_default();
    let mut hover = Text::new(&format!(
        "**step {step}**{of}: runs {}{}",
        code(&cut(&dump.names[name], 100)),
        plain.unwrap_or_default()
    ));
    let [mut born, mut dies] = dump.begin_and_end_at(at).map(Iterator::collect);
    let taken = take_over(dump, step, &mut born, &mut dies);
    let mut table = Table::default();
    let begins = dump.values_of(name).map(|at| &dump.values[at as usize]);
    let begins = begins
        .filter(|value| value.has_live_range())
        .map(|value| dump.live(value).0)
        .min();
    let new = match begins {
        Some(begins) if begins != step && born.is_empty() => {
            format!("nothing: its value begins at step {begins}")
        }
        _ => some(dump, &mut born),
    };
    table.fact("born here", new);
    if !taken.is_empty() {
        table.fact("taken over in place", handed(dump, taken));
    }
    table.fact("needed here for the last time", some(dump, &mut dies));
    if let Some(occupied) = peak::at_step(context, step) {
        table.fact("occupied", occupied);
    }
    if let Some(scratch) = dump.scratch_at(step).filter(|&bytes| bytes > 0) {
        let scratch = bytes::display(scratch);
        table.fact("scratch", format!("{scratch} of VMEM, in no value"));
    }
    // Without the allocations no live range is known by its value.
    if dump.has_live_ranges() && !dump.allocations.is_empty() {
        hover.paragraph(&table.to_string());
    }
    if dump.values_of(name).next().is_none()
        && let Some(at) = visible(dump, name)
    {
        hover.paragraph(&format!(
            "It takes no bytes of its own: it shows {}.",
            value::line(context, at)
        ));
    }
    if let Some(source) = instruction.and_then(|instruction| instruction.summary(context)) {
        hover.paragraph(&source);
    }
    Some(hover.finish())
}

/// Takes from `born` and `dies` the values that take over the bytes of another at `step`, each behind the one before.
fn take_over<'d>(
    dump: &Dump,
    step: u64,
    born: &mut Vec<&'d Value>,
    dies: &mut Vec<&'d Value>,
) -> Vec<(&'d Value, &'d Value)> {
    let bytes = |value: &Value| (value.allocation(), value.offset, value.size);
    // What lives for this step only may be one in a chain: it takes over, and has no heir.
    let before: FxHashMap<_, &'d Value> = dies
        .iter()
        .filter(|value| dump.live(value).0 < step && value.size > 0 && value.allocation().is_some())
        .map(|&value| (bytes(value), value))
        .collect();
    let mut taken = Vec::new();
    born.retain(|&value| match before.get(&bytes(value)) {
        Some(&old) => {
            taken.push((old, value));
            false
        }
        None => true,
    });
    let gone: FxHashSet<u64> = taken.iter().map(|(old, _)| old.id).collect();
    dies.retain(|value| !gone.contains(&value.id));
    taken
}

/// 10.00 GiB (10,737,418,240 B): `custom-call.1` -> `wide.arg_tuple.3{3}`, the largest first.
fn handed(dump: &Dump, mut taken: Vec<(&Value, &Value)>) -> String {
    taken.sort_unstable_by_key(|(_, new)| (std::cmp::Reverse(new.size), new.id));
    // One buffer may have several heirs in a row.
    let mut old: Vec<(u64, u64)> = taken.iter().map(|(old, _)| (old.id, old.size)).collect();
    old.sort_unstable();
    old.dedup();
    let sum = old
        .iter()
        .fold(0_u64, |sum, (_, size)| sum.saturating_add(*size));
    let names = listed(&taken, MAX_LISTED, |(old, new)| {
        format!("{} -> {}", title(dump, old), title(dump, new))
    });
    format!("{}: {names}", bytes::display(sum))
}

/// A value that is visible at `name`, for instructions that define none.
fn visible(dump: &Dump, name: NameId) -> Option<u32> {
    dump.shown(name).or_else(|| {
        dump.positions_at(name)
            .next()
            .map(|at| dump.positions[at as usize].value)
    })
}

/// `copy.3` 325.0 MiB, `fusion.5` 320.6 MiB: 645.6 MiB (...), the largest first.
fn some(dump: &Dump, values: &mut [&Value]) -> String {
    if values.is_empty() {
        return "nothing".to_owned();
    }
    let sum = values
        .iter()
        .fold(0_u64, |sum, value| sum.saturating_add(value.size));
    if let [only] = values {
        return format!("{} {}", title(dump, only), bytes::display(only.size));
    }
    values.sort_unstable_by_key(|value| (std::cmp::Reverse(value.size), value.id));
    let names = listed(values, MAX_LISTED, |value| {
        format!("{} {}", title(dump, value), bytes::rounded(value.size))
    });
    format!("{names}: {} in all", bytes::display(sum))
}

/// The hover on a live range's steps.
pub(super) fn live_range(context: &Context, at: u32) -> String {
    let value = &context.dump.values[at as usize];
    let (start, end) = context.dump.live(value);
    let length = length(context.dump, start, end);
    let peak = peak::during(context, value).map(|peak| format!(", {peak}"));
    format!(
        "**live range**: {length}{}\n\n{}",
        peak.unwrap_or_default(),
        value::hover(context, at)
    )
}

/// The hover on a live range whose value is not known, as where the allocations are not there.
pub(super) fn stray_live_range(dump: &Dump, text: &str, row: &LiveRange) -> String {
    let name = format!("{}{}", row.name.text(text), row.index.text(text));
    let (start, end) = (row.start.value, row.end.value);
    format!(
        "**{}**: alive at {}, {}\n\nIts bytes are unknown: no allocation at hand holds this value.",
        code(&cut(&name, 100)),
        steps((start, end)),
        length(dump, start, end)
    )
}

/// `2 steps (11.8 % of the program), both ends included`. The step behind the last instruction is none.
fn length(dump: &Dump, start: u64, end: u64) -> String {
    let max = dump
        .max
        .as_ref()
        .map(|(max, _)| max.value)
        .filter(|&max| max > 0);
    let last = max.map_or(end, |max| end.min(max - 1));
    let length = last
        .saturating_sub(start)
        .saturating_add(u64::from(start <= last));
    let share = match max {
        Some(max) => format!(" ({} of the program)", percent(length, max)),
        None => String::new(),
    };
    let ends = if max == Some(end) {
        "alive to the end"
    } else {
        "both ends included"
    };
    format!("{}{share}, {ends}", bytes::counted(length, "step"))
}

/// The hover on a line of the peak list.
pub(super) fn peak_line(context: &Context, text: &str, row: &PeakValue) -> String {
    let dump = context.dump;
    let step = dump.peak.as_ref().map_or(0, |peak| peak.step.value);
    let total = dump.listed_bytes();
    let name = row.name.text(text);
    let values = peak_values(dump, name, row.index.text(text), step);
    let allocated = match values.as_slice() {
        [only] => {
            let value = &dump.values[*only as usize];
            let differs = dump.is_placed(value) && value.size != row.bytes.value;
            differs.then(|| format!(", **{}** allocated", bytes::display(value.size)))
        }
        [] => None,
        many => Some(format!(
            "; this older list names no element, so it may stand for any of {} values, and its bytes are those of the \
             instruction's whole shape",
            many.len()
        )),
    };
    let mut hover = Text::new(&format!(
        "**{}** at step {step}, XLA's peak: {} unpadded{}",
        code(&cut(&format!("{name}{}", row.index.text(text)), 100)),
        bytes::display(row.bytes.value),
        allocated.unwrap_or_default()
    ));
    if let Some(total) = total {
        hover.item(&format!(
            "{} of the {} listed",
            percent(row.bytes.value, total),
            bytes::display(total)
        ));
        if let Some(cumulative) = row.cumulative.get() {
            hover.item(&format!(
                "up to this line {} ({})",
                bytes::display(cumulative),
                percent(cumulative, total)
            ));
        }
    }
    if let [only] = values.as_slice()
        && let Some(twins) = listed_twins(dump, *only, step)
    {
        hover.item(&format!("same bytes as {twins}, also listed"));
    }
    if let Some(printed) = peak::printed(context, color_of(dump, &values)) {
        hover.item(&printed);
    }
    match values.as_slice() {
        [] => {}
        [only] => hover.paragraph(&value::hover(context, *only)),
        many => hover.paragraph(&value::list(context, "", many)),
    }
    hover.finish()
}

/// The memory space of the first of `values`, else the main one.
fn color_of(dump: &Dump, values: &[u32]) -> u64 {
    let first = values.first().and_then(|&at| dump.color_of(at));
    first.unwrap_or(0)
}

/// The values that a line of the peak list can mean.
fn peak_values(dump: &Dump, name: &str, index: &str, step: u64) -> Vec<u32> {
    let Some(name) = dump.names.get(name) else {
        return Vec::new();
    };
    if !index.is_empty() {
        return dump
            .names
            .get(index)
            .and_then(|index| dump.values_at(name, index).next())
            .into_iter()
            .collect();
    }
    dump.values_of(name)
        .filter(|&at| dump.is_alive(&dump.values[at as usize], step))
        .collect()
}

/// The other values alive at `step` with the very bytes of value `at`: what the list counts again.
fn listed_twins(dump: &Dump, at: u32, step: u64) -> Option<String> {
    let value = &dump.values[at as usize];
    let bytes = value.offset..value.end();
    let sharing = dump.values_in(dump.allocation_of(value)?, bytes, MAX_SHARING);
    let others = sharing.into_iter().filter(|&other| other != at);
    let twins: Vec<String> = others
        .filter_map(|other| dump.values.get(other as usize))
        .filter(|other| (other.offset, other.size) == (value.offset, value.size))
        .filter(|other| dump.is_alive(other, step))
        .take(MAX_LISTED)
        .map(|other| title(dump, other))
        .collect();
    (!twins.is_empty()).then(|| twins.join(", "))
}

/// The hover on the step of `Live ranges at N (peak)`.
pub(super) fn peak_heading(context: &Context, step: u64) -> Option<String> {
    let listed_bytes = context.dump.listed_bytes();
    let listed = listed_bytes.map(|bytes| format!(", where it lists {}", bytes::display(bytes)));
    let spaces = context.dump.occupancy().spaces.iter();
    let reserved = spaces.fold(0_u64, |sum, space| sum.saturating_add(space.reserved));
    let twice = match listed_bytes {
        Some(listed) if reserved > 0 && listed > reserved => format!(
            "; more than the {} reserved: values that take each other's place are counted twice",
            bytes::rounded(reserved)
        ),
        _ => String::new(),
    };
    Some(format!(
        "**step {step}** is what XLA takes for the peak{}{twice}\n\nXLA chooses it by unpadded bytes, all memory spaces mixed, \
         and counts the table of pointers for every element of a tuple. {}\n\n{}",
        listed.unwrap_or_default(),
        peak::printed(context, 0)
            .unwrap_or_else(|| "Another step may need more memory.".to_owned()),
        self::step(context, step)?
    ))
}

#[cfg(test)]
mod tests {
    use crate::audit::fixture::{audited, real};

    #[test]
    fn what_begins_and_ends_at_a_step_is_what_a_full_pass_finds() {
        let cut_schedule = "BufferAssignment:\nallocation 0: size 8, preallocated-temp:\n value: <0 a @0> \
                            (size=4,offset=0): f32[]\n value: <1 b @0> (size=4,offset=4): f32[]\n\n\n\
                            HloLiveRange (max 2):\n  InstructionSequence:\n    0:a\n  BufferLiveRange:\n    a{}:0-99\n";
        let sound = real("cpu-combined/module_0066.jit_nested_loops");
        for dump in [sound, audited(cut_schedule)] {
            let mut seen = 0;
            for step in 0..dump.steps.len() {
                let full = |live: fn(&(u64, u64)) -> u64| {
                    let values = dump.values.iter().filter(|it| it.has_live_range());
                    let there = values.filter(|value| live(&dump.live(value)) == step as u64);
                    there.map(|value| value.id).collect::<Vec<_>>()
                };
                let found = dump.begin_and_end_at(step);
                let found = found.map(|values| values.map(|it| it.id).collect::<Vec<_>>());
                assert_eq!(found, [full(|live| live.0), full(|live| live.1)], "{step}");
                seen += found[0].len();
            }
            assert!(seen > 0);
            let behind = dump.begin_and_end_at(dump.steps.len());
            assert_eq!(behind.map(Iterator::count), [0, 0]);
        }
    }
}
