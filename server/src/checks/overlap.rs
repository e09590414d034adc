//! Two values never use the same bytes at the same time.

use std::collections::BTreeMap;

use super::labels::title_of;
use super::{Code, Doubts, Finding, Findings};
use crate::model::cancel::checkpoint;
use crate::model::{Dump, NameId, Value, space};

/// So many values that lie over others are looked at for each value.
const MOST_OVER: usize = 64;

/// `bytes-overlap`: byte ranges that intersect while both values are alive for more than one step.
/// At a single common step one value takes the other's place.
pub(super) fn check_overlap(dump: &Dump, doubts: &Doubts, findings: &mut Findings) {
    let whole = dump.names.get("{}");
    let occupancy = dump.occupancy();
    for (number, allocation) in (0..).zip(&dump.allocations) {
        if occupancy.lie_apart(number)
            || doubts.allocations.contains(&number)
            || space::TPU_SPARSE_CORES.contains(&allocation.color)
        {
            continue;
        }
        let mut values: Vec<u32> = (allocation.values.start..allocation.values.end)
            .filter(|&at| {
                let value = &dump.values[at as usize];
                let (start, end) = dump.live(value);
                let is_doubted = doubts.too_large.contains(&at) || doubts.live_ranges.contains(&at);
                value.size > 0 && start < end && !is_doubted
            })
            .filter(|&at| !is_asynchronous(dump, whole, &dump.values[at as usize]))
            .collect();
        values.sort_by_key(|&at| dump.live(&dump.values[at as usize]));
        sweep(dump, &values, findings);
    }
}

/// The contexts of asynchronous calls share bytes although their printed ranges overlap: their
/// thread runs them one after the other. They are elements of what an `async-start`, printed as
/// `OPCODE-start` where it calls a single instruction, and its updates return. `whole` is the index `{}`, which most have.
fn is_asynchronous(dump: &Dump, whole: Option<NameId>, value: &Value) -> bool {
    let is_context = Some(value.index) != whole && dump.names[value.index].starts_with("{2,");
    if !is_context && !dump.has_async_calls {
        return false;
    }
    // Of a value whose instruction is nowhere, its index has to do.
    dump.opcode(value.name).map_or(is_context, |opcode| {
        opcode == "async-start"
            || opcode.ends_with("-update")
            || (opcode.ends_with("-start") && is_context)
    })
}

/// Takes the values by their start; those alive lie side by side in a sound dump, so that only the
/// neighbours in memory need a look.
fn sweep(dump: &Dump, values: &[u32], findings: &mut Findings) {
    // By offset, side by side; and those that lie over others, which a sound dump has in branches and loops only.
    let mut alive: BTreeMap<u64, u32> = BTreeMap::new();
    let mut over: Vec<u32> = Vec::new();
    let mut ends = std::collections::BinaryHeap::new();
    for &at in values {
        checkpoint();
        let value = &dump.values[at as usize];
        let (start, last) = dump.live(value);
        while let Some(&(std::cmp::Reverse(end), ended)) = ends.peek() {
            if end > start {
                break;
            }
            ends.pop();
            let offset = dump.values[ended as usize].offset;
            if alive.get(&offset) == Some(&ended) {
                alive.remove(&offset);
            }
        }
        over.retain(|&at| dump.live(&dump.values[at as usize]).1 > start);
        let below = alive.range(..=value.offset).next_back();
        let above = alive.range(value.offset..value.end()).next();
        let neighbours = below.into_iter().chain(above).map(|(_, &at)| at);
        let others = neighbours.chain(over.iter().copied());
        let mut shared = others
            .map(|at| &dump.values[at as usize])
            .filter(|other| intersect(value, other))
            .peekable();
        if shared.peek().is_none() {
            alive.insert(value.offset, at);
            ends.push((std::cmp::Reverse(last), at));
            continue;
        }
        let conflict = shared.find(|other| !dump.are_apart(other, value));
        findings.extend(conflict.and_then(|other| report(dump, value, other)));
        if over.len() < MOST_OVER {
            over.push(at);
        }
    }
}

fn intersect(one: &Value, other: &Value) -> bool {
    one.offset < other.end() && other.offset < one.end()
}

fn report(dump: &Dump, value: &Value, other: &Value) -> Option<Finding> {
    let (here, there) = (dump.placement(value)?, dump.placement(other)?);
    let start = value.offset.max(other.offset);
    let end = value.end().min(other.end());
    let message = format!(
        "{} shares bytes {start} .. {end} of the allocation with {} while both are alive, at steps {}-{}",
        title_of(dump, value),
        title_of(dump, other),
        dump.live(value).0.max(dump.live(other).0),
        dump.live(value).1.min(dump.live(other).1),
    );
    let mut finding = Finding::new(
        Code::BytesOverlap,
        here.place(here.row.offset.span),
        message,
    );
    finding = finding.related(there.place(there.row.line), "the other value");
    for value in [value, other] {
        if let Some(line) = dump.live_range(value) {
            let (start, end) = dump.live(value);
            let message = format!("{} is alive at steps {start}-{end}", title_of(dump, value));
            finding = finding.related(line.place(line.row.name), message);
        }
    }
    Some(finding)
}
