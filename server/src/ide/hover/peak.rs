//! The true peaks of memory spaces, and what a value or allocation has to do with them.

use std::collections::BTreeMap;

use super::value::{self, NAME_LIMIT, title};
use super::{Context, percent};
use crate::audit::peak::NEAR;
use crate::audit::{Audit, donation};
use crate::ide::markdown::{code, cut, listed};
use crate::model::bytes::{display, grouped, rounded};
use crate::model::occupancy::{self, Kind, Moment};
use crate::model::source::Libraries;
use crate::model::space;
use crate::model::{Allocation, Dump, Value};

/// What holds of every such number.
pub(super) const STATIC: &str = "static, this module only";
/// So many of an allocation's values at the peak are named.
pub(super) const MAX_HELD: usize = 4;
/// So many memory spaces are told of at a step.
const MAX_SPACES: usize = 8;
/// An output is told as nearly a parameter's size if it differs by at most this part of it.
const NEAR_SIZE: u64 = 8;

/// The peak of its memory space, for a value that is alive then and takes part.
pub(in crate::ide) fn of_value(dump: &Dump, value: &Value) -> Option<Moment> {
    let allocation = dump.allocation_of(value)?;
    let peak = dump.occupancy().peak_if_any(allocation.color)?;
    let takes_part = value.size > 0
        && allocation.kind() != Kind::ThreadLocal
        && !space::is_flags(allocation.color, dump.platforms);
    (takes_part && dump.is_alive(value, peak.step)).then_some(peak)
}

/// `the HBM peak`, `the peak of memory space 1`
pub(super) fn name(context: &Context, color: u64) -> String {
    match space::name(color, context.platforms) {
        Some(name) => format!("the {name} peak"),
        None => format!("the peak of memory space {color}"),
    }
}

/// ``step 13 (`copy.3`)``
fn step(dump: &Dump, step: u64) -> String {
    match dump.instruction_at(step) {
        Some(name) => format!("step {step} ({})", code(&cut(name, NAME_LIMIT))),
        None => format!("step {step}"),
    }
}

/// `33.7 % of 965.7 MiB at step 13`, of a value alive at `peak`.
pub(super) fn share(dump: &Dump, value: &Value, peak: Moment) -> String {
    let printed = dump.peak.as_ref().map(|peak| peak.step.value);
    let same = if printed == Some(peak.step) {
        ", which XLA prints as its peak too"
    } else {
        ""
    };
    format!(
        "{} of {} at step {}{same}{}",
        percent(value.size, peak.bytes),
        rounded(peak.bytes),
        peak.step,
        missing(dump)
    )
}

/// What has to be said where not every value takes part.
fn missing(dump: &Dump) -> String {
    match dump.occupancy().missing {
        0 => String::new(),
        1 => "; one value without live range or place is not counted".to_owned(),
        many => format!(
            "; {} values without live range or place are not counted",
            grouped(many as u64)
        ),
    }
}

/// What would become of `peak`, at which value `at` is alive, if the value went away, with those that
/// have its bytes before and after it.
pub(super) fn if_gone(context: &Context, at: u32, peak: Moment) -> Option<String> {
    let dump = context.dump;
    let buffer = occupancy::buffer(dump, at);
    let after = dump.occupancy().if_all_gone(dump, &buffer)?;
    let others = listed(&buffer[1..], MAX_HELD, |&other| {
        title(dump, &dump.values[other as usize])
    });
    let it = match &buffer[..] {
        [_] => "it".to_owned(),
        _ => format!("its buffer (also {others})"),
    };
    if after.bytes == 0 {
        let allocation = dump.allocation_of(dump.values.get(at as usize)?)?;
        let name = space::named(allocation.color, context.platforms);
        return Some(format!(
            "If {it} went away nothing of {name} would be occupied."
        ));
    }
    let bytes = rounded(after.bytes);
    let saved = peak.bytes.saturating_sub(after.bytes);
    let stays = peak.step == after.step;
    let outcome = match (stays, saved) {
        (true, 0) => format!("stays at {bytes}, since others hold the same bytes"),
        (false, 0) => format!("stays at {bytes}, at {} then", step(dump, after.step)),
        (true, _) => format!("stays at step {}: {bytes} (-{})", peak.step, rounded(saved)),
        (false, _) => {
            let name = dump.instruction_at(after.step).unwrap_or_default();
            let to = match name {
                "" => String::new(),
                name => format!("{} at ", code(&cut(name, NAME_LIMIT))),
            };
            format!(
                "moves to {to}step {}: {bytes} (-{})",
                after.step,
                rounded(saved)
            )
        }
    };
    Some(format!(
        "If {it} went away the peak {outcome}, with the schedule and placement as they are."
    ))
}

/// `, at the HBM peak (step 13)`, of a value's live range.
pub(super) fn during(context: &Context, value: &Value) -> Option<String> {
    let dump = context.dump;
    let allocation = dump.allocation_of(value)?;
    let name = name(context, allocation.color);
    if let Some(peak) = of_value(dump, value) {
        return Some(format!("at {name} (step {})", peak.step));
    }
    let peak = dump.occupancy().peak_if_any(allocation.color)?;
    let curve = dump.occupancy().space(allocation.color)?.curve.as_ref()?;
    let (start, end) = dump.live_range_of(value)?.steps;
    if space::is_flags(allocation.color, dump.platforms) {
        return None;
    }
    let most = curve.most_in(start, end.saturating_add(1))?;
    let is_near = u128::from(most.bytes) * 100 >= u128::from(peak.bytes) * u128::from(NEAR);
    if !is_near || allocation.kind() == Kind::ThreadLocal || value.size == 0 {
        return None;
    }
    Some(if most.bytes == peak.bytes {
        format!(
            "at step {}, which holds as much as {name} (step {})",
            most.step, peak.step
        )
    } else {
        format!(
            "within {} % of {name} at step {} ({})",
            100 - NEAR,
            most.step,
            rounded(most.bytes)
        )
    })
}

/// Whether the step that XLA prints as the peak is that of memory space `color`.
pub(super) fn printed(context: &Context, color: u64) -> Option<String> {
    let dump = context.dump;
    let printed = dump.peak.as_ref()?.step.value;
    let curve = dump.occupancy().space(color)?.curve.as_ref()?;
    let peak = dump
        .occupancy()
        .peak_if_any(color)
        .filter(|_| printed < curve.steps())?;
    let there = curve.at(printed);
    let (space, most) = (space::named(color, context.platforms), rounded(peak.bytes));
    Some(if printed == peak.step {
        format!("XLA's step {printed} is the maximum of {space} too: {most} occupied.")
    } else if there == peak.bytes {
        format!(
            "XLA's step {printed} holds the maximum of {space}, {most}, as {} does before it.",
            step(dump, peak.step)
        )
    } else {
        format!(
            "XLA's step {printed} is not the maximum of {space}: {} holds {most}, +{}.",
            step(dump, peak.step),
            rounded(peak.bytes - there)
        )
    })
}

/// What of the result of `name` is alive at the peak of its memory space.
pub(super) fn of_result(context: &Context, name: &str) -> Option<String> {
    let dump = context.dump;
    let values = dump.values_of(dump.names.get(name)?).take(1000);
    let mut held: Vec<(u64, Moment, u64)> = Vec::new();
    for value in values.filter_map(|at| dump.values.get(at as usize)) {
        let (Some(peak), Some(allocation)) = (of_value(dump, value), dump.allocation_of(value))
        else {
            continue;
        };
        match held
            .iter_mut()
            .find(|(color, ..)| *color == allocation.color)
        {
            Some((_, _, bytes)) => *bytes = bytes.saturating_add(value.size),
            None => held.push((allocation.color, peak, value.size)),
        }
    }
    let texts: Vec<String> = held
        .into_iter()
        .map(|(color, peak, bytes)| {
            let name = self::name(context, color);
            format!("at {name} (step {}) {}", peak.step, rounded(bytes))
        })
        .collect();
    (!texts.is_empty()).then(|| format!("Alive of its result: {}.", texts.join(", ")))
}

/// `HBM 965.7 MiB (the peak), VMEM 145.0 KiB (66.3 % of its peak)`: the bytes occupied at a step.
pub(super) fn at_step(context: &Context, step: u64) -> Option<String> {
    let dump = context.dump;
    let space = |space: &occupancy::Space| {
        let curve = space.curve.as_ref().filter(|curve| step < curve.steps())?;
        let (bytes, peak) = (curve.at(step), curve.peak());
        let is_flags = space::is_flags(space.color, context.platforms);
        let rank = match bytes {
            _ if peak.bytes == 0 || is_flags => return None,
            0 => String::new(),
            _ if step == peak.step => format!(", the most of {} steps", grouped(curve.steps())),
            _ if bytes == peak.bytes => format!(", as much as at the peak, step {}", peak.step),
            _ => format!(", {} of the peak", percent(bytes, peak.bytes)),
        };
        let name = space::named(space.color, context.platforms);
        Some(format!("{name} {}{rank}", rounded(bytes)))
    };
    let spaces = dump.occupancy().spaces.iter().take(MAX_SPACES);
    let texts: Vec<String> = spaces.filter_map(space).collect();
    (!texts.is_empty()).then(|| format!("{}{}", texts.join("; "), missing(dump)))
}

/// ``1.26 GiB reserved, 965.7 MiB occupied at the peak, step 13 (`copy.3`)``, of memory space `color`.
pub(super) fn summary(dump: &Dump, color: u64) -> Option<String> {
    let occupancy = dump.occupancy();
    let space = occupancy.space(color)?;
    let mut parts = vec![format!("{} reserved", rounded(space.reserved))];
    if let Some(peak) = dump.occupancy().peak_if_any(color) {
        let missing = missing(dump);
        let at = step(dump, peak.step);
        parts.push(format!(
            "{} occupied at the peak, {at}{missing}",
            rounded(peak.bytes)
        ));
    }
    if space.thread_local > 0 {
        parts.push(format!("{} thread-local", rounded(space.thread_local)));
    }
    Some(parts.join(", "))
}

/// Why nothing is said of peaks, as a sentence.
pub(super) fn reason(dump: &Dump) -> Option<String> {
    let reason = dump.occupancy().reason?;
    Some(format!("No peak is known: {reason}."))
}

/// How full allocation `at` gets, and what it holds at the peak of its memory space.
pub(super) fn of_allocation(context: &Context, at: u32) -> Vec<String> {
    let dump = context.dump;
    let allocation = &dump.allocations[at as usize];
    let (Some(fill), Some(peak)) = (
        dump.occupancy().fill(at),
        dump.occupancy().peak_if_any(allocation.color),
    ) else {
        return Vec::new();
    };
    let name = name(context, allocation.color);
    let at_peak = format!("{name} (step {})", peak.step);
    let mut lines = Vec::new();
    let is_single = allocation.values.len() == 1;
    if !is_single && fill.fullest.bytes > fill.at_peak {
        lines.push(format!(
            "fullest at {}: {}{}",
            step(dump, fill.fullest.step),
            filled(fill.fullest.bytes, allocation.size),
            held(dump, allocation, fill.fullest.step, is_single)
        ));
    }
    let most = if !is_single && fill.fullest.bytes == fill.at_peak {
        ", its fullest"
    } else {
        ""
    };
    lines.push(match fill.at_peak {
        // Its bytes are there all the time, whoever reads them.
        0 if allocation.kind() == Kind::Constant => format!("not in use at {at_peak}"),
        0 if dump.keeps_scratch(allocation) => format!("no value at {at_peak}"),
        0 => format!("**Empty at {at_peak}**"),
        bytes if occupancy::is_full(bytes, allocation.size) => format!(
            "full at {at_peak}{}",
            held(dump, allocation, peak.step, is_single)
        ),
        bytes => format!(
            "at {at_peak}{most}: {}{}",
            filled(bytes, allocation.size),
            held(dump, allocation, peak.step, is_single)
        ),
    });
    lines
}

/// `645.6 MiB (676,986,880 B), 100.0 %`
fn filled(bytes: u64, size: u64) -> String {
    format!("{}, {}", display(bytes), percent(bytes, size))
}

/// The values alive in an allocation at a step, the largest first.
pub(super) fn alive_in<'d>(dump: &'d Dump, allocation: &Allocation, step: u64) -> Vec<&'d Value> {
    let values = allocation.values.clone();
    let mut values: Vec<&Value> = values
        .filter_map(|at| dump.values.get(at as usize))
        .filter(|value| value.size > 0 && dump.is_alive(value, step))
        .collect();
    values.sort_unstable_by_key(|value| (std::cmp::Reverse(value.size), value.id));
    values
}

/// The values in an allocation at a step, the largest first; nothing if there is but one anyway.
fn held(dump: &Dump, allocation: &Allocation, step: u64, is_single: bool) -> String {
    let values = alive_in(dump, allocation, step);
    if is_single || values.is_empty() {
        return String::new();
    }
    let names = listed(&values, MAX_HELD, |value| {
        format!("{} {}", title(dump, value), rounded(value.size))
    });
    format!(", by {names}")
}

/// Whether the parameter in allocation `at`, where it keeps its buffer, needs it, and which output could have taken it.
pub(super) fn donation(context: &Context, at: u32) -> Option<String> {
    let dump = context.dump;
    let allocation = &dump.allocations[at as usize];
    if !allocation.is_parameter() || allocation.is_donated() {
        return None;
    }
    let own = donation::value_of(dump, allocation);
    let last_read = own.and_then(|at| dump.last_read(&dump.values[at as usize]));
    let read = last_read.map(|(step, reader)| {
        let before = match dump.occupancy().peak_if_any(allocation.color) {
            Some(peak) if step < peak.step => {
                format!(", before {}", name(context, allocation.color))
            }
            _ => String::new(),
        };
        let reader = code(&cut(&dump.names[reader], NAME_LIMIT));
        format!(": last read at step {step} by {reader}{before}")
    });
    let audit = Audit::new(dump, Libraries::default());
    let index = |at: u32| dump.allocations[at as usize].index;
    let (matched, of_size) = donation::outputs_for(&audit, at);
    let output = match (matched, of_size.is_empty()) {
        (Some((output, pairing)), _) => {
            let name = |name| code(&cut(&dump.names[name], NAME_LIMIT));
            let copied = pairing.spared.map_or_else(String::new, |copy| {
                format!(" and begins as its copy {}", name(copy))
            });
            let reason = pairing.obstacle.map(|it| it.reason(name));
            let apart = reason.map_or_else(String::new, |reason| format!(", but {reason}"));
            format!(
                "; the output in allocation {} has its size{copied}{apart}",
                index(output)
            )
        }
        (None, false) => {
            "; the outputs of its size are matched with other parameters, or made without it"
                .to_owned()
        }
        (None, true) => nearest(&audit, allocation),
    };
    let verdict = if dump.is_donated_in_vain(allocation) {
        "donated, but no output is written over it"
    } else {
        "not donated"
    };
    Some(format!("{verdict}{}{output}", read.unwrap_or_default()))
}

/// The output whose size comes nearest to that of a parameter.
fn nearest(audit: &Audit, allocation: &Allocation) -> String {
    let dump = audit.dump;
    let distance = |other: &Allocation| other.size.abs_diff(allocation.size);
    let outputs = dump.outputs().iter();
    let outputs = outputs.map(|&at| (at, &dump.allocations[at as usize]));
    let near = outputs.filter(|(_, other)| {
        other.color == allocation.color
            && distance(other) <= allocation.size / NEAR_SIZE
            && donation::holds_output(audit, other)
    });
    match near.min_by_key(|(at, other)| (distance(other), *at)) {
        Some((_, other)) if distance(other) == 0 => {
            format!("; the output in allocation {} has its size", other.index)
        }
        Some((_, other)) => format!(
            "; no output has its size, that in allocation {} comes nearest ({})",
            other.index,
            rounded(other.size)
        ),
        None => String::new(),
    }
}

/// The bytes that `values` occupy together by memory space, in the order of the spaces: `HBM 325.0 MiB`.
pub(super) fn by_space(context: &Context, values: &[u32]) -> String {
    let dump = context.dump;
    let mut sums: BTreeMap<u64, u64> = BTreeMap::new();
    for (at, bytes) in occupancy::exclusive(dump, values) {
        let value = &dump.values[at as usize];
        let Some(allocation) = dump.allocation_of(value) else {
            continue;
        };
        let sum = sums
            .entry(value::color(dump, value, allocation))
            .or_default();
        *sum = sum.saturating_add(bytes);
    }
    let texts: Vec<String> = sums
        .into_iter()
        .map(|(color, sum)| {
            format!(
                "{} {}",
                space::named(color, context.platforms),
                display(sum)
            )
        })
        .collect();
    texts.join(", ")
}
