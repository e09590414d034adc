//! Occupied bytes, the slow and obvious way: step by step, of what the second reader finds.

use super::oracle::{Allocation, Facts};
use super::shapes::logical_bytes;

/// A value that occupies bytes.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    /// Its number in [`Facts::values`].
    pub value: usize,
    /// The number of its allocation.
    pub allocation: usize,
    pub low: u64,
    /// Behind its last byte.
    pub high: u64,
    pub start: u64,
    /// The last step.
    pub end: u64,
}

/// The kinds of allocations that are occupied over time, in the order of their bytes.
pub const KINDS: [&str; 4] = ["parameter", "output", "constant", "temp"];

/// What an allocation is for.
pub fn kind(allocation: &Allocation) -> &'static str {
    if allocation.has(", thread-local") {
        "thread-local"
    } else if allocation.has(", parameter ") {
        "parameter"
    } else if allocation.has(", constant") {
        "constant"
    } else if allocation.has(", maybe-live-out") {
        "output"
    } else {
        "temp"
    }
}

pub fn color(allocation: &Allocation) -> u64 {
    allocation.color.map_or(0, |color| color.value)
}

/// The memory spaces, in order.
pub fn colors(facts: &Facts) -> Vec<u64> {
    let mut colors: Vec<u64> = facts.allocations.iter().map(color).collect();
    colors.sort_unstable();
    colors.dedup();
    colors
}

/// The sum of the sizes of the allocations in a memory space, those that are thread-local or the others.
pub fn total(facts: &Facts, space: u64, thread_local: bool) -> u64 {
    let of_space = facts.allocations.iter().filter(|allocation| {
        color(allocation) == space && (kind(allocation) == "thread-local") == thread_local
    });
    of_space.map(|allocation| allocation.size.value).sum()
}

/// All that occupies bytes in a memory space, by allocation and offset.
pub fn blocks(facts: &Facts, space: u64) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (at, value) in facts.values.iter().enumerate() {
        let allocation = &facts.allocations[value.allocation];
        if color(allocation) != space || kind(allocation) == "thread-local" || value.size.value == 0
        {
            continue;
        }
        let Some(live) = value.live else { continue };
        let live = &facts.live_ranges[live];
        blocks.push(Block {
            value: at,
            allocation: value.allocation,
            low: value.offset.value,
            high: value.offset.value + value.size.value,
            start: live.start.value,
            end: live.end.value,
        });
    }
    blocks.sort_by_key(|block| (block.allocation, block.low));
    blocks
}

/// The bytes that are in at least one of `blocks`, which are sorted, at `step`.
pub fn occupied<'b>(blocks: impl IntoIterator<Item = &'b Block>, step: u64) -> u64 {
    let mut bytes = 0;
    // Behind the last byte that has been counted, in which allocation.
    let (mut allocation, mut counted) = (usize::MAX, 0);
    for block in blocks {
        if step < block.start || block.end < step {
            continue;
        }
        if block.allocation != allocation {
            (allocation, counted) = (block.allocation, 0);
        }
        if block.high > counted {
            bytes += block.high - block.low.max(counted);
            counted = block.high;
        }
    }
    bytes
}

/// The bytes that those of `blocks` that are `chosen` occupy at each step from 0 to before `steps`.
pub fn curve(blocks: &[Block], steps: u64, chosen: impl Fn(&Block) -> bool) -> Vec<u64> {
    let blocks: Vec<Block> = blocks.iter().copied().filter(chosen).collect();
    (0..steps).map(|step| occupied(&blocks, step)).collect()
}

/// The first step with the most bytes, and these.
pub fn peak(curve: &[u64]) -> (u64, u64) {
    let mut best = (0, 0);
    for (step, &bytes) in curve.iter().enumerate() {
        if bytes > best.1 {
            best = (step as u64, bytes);
        }
    }
    best
}

/// The step that the compiler takes for the peak, by its own rule: at each step at which some value
/// begins, the unpadded bytes of all values alive, and of all that ended with the step before; each
/// value counts the whole result of its instruction. `None` if the instructions are not there.
pub fn printed_step(facts: &Facts) -> Option<u64> {
    let mut ranges = Vec::new();
    for value in &facts.values {
        let Some(live) = value.live else { continue };
        let shape = &facts.used[value.used?].instruction.shape.text;
        let live = &facts.live_ranges[live];
        ranges.push((live.start.value, live.end.value, logical_bytes(shape)));
    }
    let mut starts: Vec<u64> = ranges.iter().map(|range| range.0).collect();
    starts.sort_unstable();
    starts.dedup();
    let mut best = (0, 0);
    for step in starts {
        let counts = |&&(start, end, _): &&(u64, u64, u64)| start <= step && step <= end + 1;
        let bytes = ranges
            .iter()
            .filter(counts)
            .map(|range| range.2)
            .sum::<u64>();
        if bytes > best.1 {
            best = (step, bytes);
        }
    }
    Some(best.0)
}
