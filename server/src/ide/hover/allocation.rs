//! Allocations: what the bytes are for and who lies in them.

use std::cmp::Reverse;

use buflens_syntax::facts;
use rustc_hash::FxHashMap;

use super::instruction::Instruction;
use super::life::alive;
use super::value::{self, MAX_LISTED, extent, kind, title};
use super::{Context, peak, percent, shape};
use crate::ide::markdown::{Table, Text, code, cut};
use crate::model::bytes;
use crate::model::space;
use crate::model::{Allocation, Dump, Value};

/// So many values are asked for their layout.
const MAX_ASKED: usize = 1000;
/// So many values of a slot are named.
const MAX_IN_SLOT: usize = 6;

/// The bytes of all allocations: as printed, else their sum.
pub(super) fn total(dump: &Dump) -> u64 {
    let printed = dump.total.and_then(|row| dump.at::<facts::Total>(row));
    match printed {
        Some(total) => total.row.bytes.value,
        None => dump.allocations.iter().fold(0, |sum: u64, allocation| {
            sum.saturating_add(allocation.size)
        }),
    }
}

/// The hover on the header of allocation `at`.
pub(super) fn hover(context: &Context, at: u32) -> String {
    let dump = context.dump;
    let allocation = &dump.allocations[at as usize];
    let header = || dump.at::<facts::Allocation>(allocation.header);
    let is_known = allocation.is_read() || header().is_none_or(|header| header.row.size.is_read());
    let mut hover = Text::new(&if is_known {
        summary(context, allocation)
    } else {
        format!(
            "**allocation {}**: its header is not understood, so its size is unknown",
            allocation.index
        )
    });
    if is_known {
        for line in peak::of_allocation(context, at) {
            hover.item(&line);
        }
    }
    if let Some(donation) = peak::donation(context, at) {
        hover.item(&donation);
    }
    match dump.held_by(allocation) {
        [] => hover.paragraph("No value lies in it: reserved, or never used."),
        [only] => {
            let mut table = Table::default();
            table.fact("value", title(dump, only));
            table.fact("bytes", extent(dump, only, allocation));
            let instruction = Instruction::named(context, only.name);
            table.fact("alive", alive(dump, only, instruction.as_ref()));
            hover.paragraph(&table.to_string());
            // A parameter's metadata is its argument's name, which stands above.
            let source = instruction.filter(|_| !allocation.is_parameter());
            if let Some(source) = source.and_then(|instruction| instruction.summary(context)) {
                hover.paragraph(&source);
            }
        }
        many => hover.paragraph(&values_in_time_order(dump, at, many)),
    }
    hover.finish()
}

/// What it is for, its size, and what share of its memory space that is.
fn summary(context: &Context, allocation: &Allocation) -> String {
    let space = context.dump.occupancy().space(allocation.color);
    let reserved = space.map_or(0, |space| space.reserved);
    let share = if allocation.kinds().thread_local || reserved == 0 {
        String::new()
    } else {
        format!(
            ", {} of the {} reserved in {} ({})",
            percent(allocation.size, reserved),
            bytes::rounded(reserved),
            space::named(allocation.color, context.platforms),
            peak::STATIC
        )
    };
    format!(
        "**allocation {}**: {}\n\n{}, {}{share}",
        allocation.index,
        purpose(context, allocation),
        bytes::display(allocation.size),
        space::short(allocation.color, context.platforms),
    )
}

/// The values in time order; of many only the slots with the largest.
fn values_in_time_order(dump: &Dump, allocation: u32, values: &[Value]) -> String {
    if values.len() > MAX_LISTED {
        return slots(dump, values, &in_use(dump, allocation));
    }
    let mut table = Table::default();
    table.row([
        "steps".into(),
        "value".into(),
        "bytes".into(),
        "offset .. end".into(),
    ]);
    let mut values: Vec<&Value> = values.iter().collect();
    let count = values.len();
    values.sort_by_key(|value| time(dump, value));
    for value in values {
        let steps = dump.live_range_of(value);
        let steps = steps.map(|it| format!("{}-{}", it.steps.0, it.steps.1));
        table.row([
            steps.unwrap_or_default(),
            title(dump, value),
            bytes::rounded(value.size),
            span(value.offset, value.size),
        ]);
    }
    let order = if dump.has_live_ranges() {
        ", in time order"
    } else {
        ""
    };
    format!("{count} values{order}:\n\n{table}")
}

/// The values that fill allocation `at` at its fullest step and at the peak, by their ids: whether they are named above.
fn in_use(dump: &Dump, at: u32) -> FxHashMap<u64, bool> {
    let allocation = &dump.allocations[at as usize];
    let fill = dump.occupancy().fill(at);
    let peak = dump.occupancy().peak_if_any(allocation.color);
    let steps = [
        fill.map(|fill| fill.fullest.step),
        peak.map(|peak| peak.step),
    ];
    let mut in_use = FxHashMap::default();
    for step in steps.into_iter().flatten() {
        let alive = peak::alive_in(dump, allocation, step).into_iter();
        for (nth, value) in alive.enumerate() {
            *in_use.entry(value.id).or_default() |= nth < peak::MAX_HELD;
        }
    }
    in_use
}

/// The values that begin at one offset.
#[derive(Default)]
struct Slot {
    /// That of the largest.
    size: u64,
    is_named: bool,
    is_in_use: bool,
}

/// Values by where they begin: those of one slot take turns. Those [`in_use`] are shown before others, of these the ones named
/// above.
fn slots(dump: &Dump, values: &[Value], in_use: &FxHashMap<u64, bool>) -> String {
    let mut slots: FxHashMap<u64, Slot> = FxHashMap::default();
    for value in values {
        let slot = slots.entry(value.offset).or_default();
        slot.size = value.size.max(slot.size);
        if let Some(is_named) = in_use.get(&value.id) {
            slot.is_in_use = true;
            slot.is_named |= is_named;
        }
    }
    let mut largest: Vec<(u64, Slot)> = slots.into_iter().collect();
    let count = largest.len();
    largest.sort_unstable_by_key(|(offset, slot)| {
        (!slot.is_named, !slot.is_in_use, Reverse(slot.size), *offset)
    });
    largest.truncate(MAX_LISTED);
    largest.sort_unstable_by_key(|(offset, slot)| (Reverse(slot.size), *offset));
    let mut table = Table::default();
    table.row(["offset .. end".into(), "bytes".into(), "values".into()]);
    for &(offset, Slot { size, .. }) in &largest {
        let mut here: Vec<&Value> = values
            .iter()
            .filter(|value| value.offset == offset)
            .collect();
        let count = here.len();
        here.sort_by_key(|value| (!in_use.contains_key(&value.id), time(dump, value)));
        here.truncate(MAX_IN_SLOT);
        here.sort_by_key(|value| time(dump, value));
        let mut names: Vec<String> = here
            .iter()
            .map(|value| match dump.live_range_of(value) {
                Some(it) => format!("{} {}-{}", title(dump, value), it.steps.0, it.steps.1),
                None => title(dump, value),
            })
            .collect();
        if count > names.len() {
            let more = (count - names.len()) as u64;
            names.push(format!("{} more", bytes::grouped(more)));
        }
        table.row([span(offset, size), bytes::rounded(size), names.join(", ")]);
    }
    let shown = if count == largest.len() {
        String::new()
    } else if in_use.is_empty() {
        format!(" ({} of them)", largest.len())
    } else {
        let shown = largest.len();
        format!(" ({shown} of them: in use at the peak or the fullest step, else the largest)")
    };
    format!(
        "{} values in {}{shown}, the largest first{}:\n\n{table}",
        bytes::grouped(values.len() as u64),
        bytes::counted(count, "slot"),
        if dump.has_live_ranges() {
            ", each in time order"
        } else {
            ""
        }
    )
}

/// What values are sorted by: those without live range come last.
pub(super) fn time(dump: &Dump, value: &Value) -> (bool, (u64, u64), u64) {
    (!value.has_live_range(), dump.live(value), value.id)
}

fn span(offset: u64, size: u64) -> String {
    let end = bytes::grouped(offset.saturating_add(size));
    format!("{} .. {end}", bytes::grouped(offset))
}

/// What the allocation is for, in plain words.
fn purpose(context: &Context, allocation: &Allocation) -> String {
    let dump = context.dump;
    let kinds = allocation.kinds();
    let argument = || {
        let first = dump
            .values
            .get(allocation.values.start as usize)
            .filter(|_| !allocation.values.is_empty())?;
        Instruction::named(context, first.name)?.argument()
    };
    let leaf = || {
        let header = dump.header(allocation)?;
        let index = header.text(header.row.parameter_index);
        (index != "{}" && !index.is_empty()).then(|| format!(" at {}", code(&cut(index, 40))))
    };
    let words = match dump.parameter_number(allocation) {
        Some(number) => {
            let name = argument()
                .map(|argument| format!(", {argument}"))
                .unwrap_or_default();
            let donated = if kinds.maybe_live_out {
                "; donated: the result, or a part of it, is written over it"
            } else {
                "; kept for the whole run"
            };
            format!(
                "buffer of entry parameter {number}{}{name}{donated}",
                leaf().unwrap_or_default()
            )
        }
        None if allocation.has_output_shape() => "holds the program's result".to_owned(),
        None if kinds.maybe_live_out => "holds a part of the program's result".to_owned(),
        None if kinds.constant => {
            "a constant of the program; the memory is held for the whole run".to_owned()
        }
        None if kinds.thread_local => {
            "scratch of a computation that an instruction calls; in no live range and no peak"
                .to_owned()
        }
        None if dump.keeps_scratch(allocation) => {
            "VMEM that the compiler keeps: temporaries, and beyond them scratch of its instructions, which is in no value"
                .to_owned()
        }
        None if kinds.preallocated_temp => {
            "the arena of temporaries in this memory space".to_owned()
        }
        None => "memory of a kind that is not printed".to_owned(),
    };
    let is_result = kinds.maybe_live_out && !allocation.is_parameter();
    // A loop's state has the bytes of the result in good time, so it is no temporary.
    let others = dump
        .held_by(allocation)
        .iter()
        .filter(|value| value.has_live_range())
        .filter(|value| {
            dump.max
                .as_ref()
                .is_none_or(|(max, _)| dump.live(value).1 < max.value)
        })
        .any(|value| value.size < allocation.size);
    let scratch = if is_result && others {
        "; before the result smaller temporaries lie in it too"
    } else {
        ""
    };
    format!("{words}{scratch} ({})", kind(dump, allocation))
}

/// The layout of a shape without any, as the allocation's header prints it: that of a value with the same dimensions, of an output
/// the one that stays the longest.
pub(super) fn layout(context: &Context, allocation: &Allocation, shape: &str) -> Option<String> {
    let dump = context.dump;
    let wanted = shape::array_shape(shape)?;
    let values = dump.held_by(allocation).iter().take(MAX_ASKED);
    let mut arrays = values.filter_map(|value| {
        let text = value::shape_text(dump, value);
        let array = shape::array_shape(text)?;
        let is_like = (&array.element, &array.dimensions) == (&wanted.element, &wanted.dimensions);
        is_like.then_some((value, text, array))
    });
    let (value, text, array) = match dump.parameter_number(allocation) {
        Some(_) => arrays.next()?,
        None => arrays.max_by_key(|(value, ..)| (dump.live(value).1, Reverse(value.id)))?,
    };
    let taken = bytes::taken(&array, context.platforms)?;
    let logical = bytes::array_bytes(&array)?;
    let ratio = match logical {
        0 => String::new(),
        _ => format!(", {}", shape::ratio(taken, logical)),
    };
    Some(format!(
        "laid out as {} by {}: {}{ratio}",
        code(&cut(&text[text.find('{')?..], 100)),
        title(dump, value),
        bytes::display(taken),
    ))
}

/// The hover on an offset or size of a value's line: exact, for people, the end and the share.
pub(super) fn number(dump: &Dump, what: &str, value: &Value) -> String {
    let share = match dump.allocation_of(value) {
        Some(allocation) if dump.is_placed(value) => {
            format!("; bytes {}", extent(dump, value, allocation))
        }
        _ => String::new(),
    };
    let number = if what == "offset" {
        value.offset
    } else {
        value.size
    };
    let text = if what == "offset" && number == 0 {
        "0 B: at the start of the allocation".to_owned()
    } else if what == "offset" {
        format!(
            "{} after the start of the allocation",
            bytes::display(number)
        )
    } else {
        bytes::display(number)
    };
    format!("**{what}**: {text}{share}")
}
