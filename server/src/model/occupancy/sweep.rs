//! The length of the union of the byte ranges alive, as it changes over time.

use super::Moment;

/// Some bytes at some steps; neither is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// First step.
    pub start: u64,
    /// Behind the last step.
    pub end: u64,
    /// First byte.
    pub low: u64,
    /// Behind the last byte.
    pub high: u64,
}

impl Block {
    /// What of this lies in `other`.
    pub fn within(self, other: &Self) -> Option<Self> {
        let part = Self {
            start: self.start.max(other.start),
            end: self.end.min(other.end),
            low: self.low.max(other.low),
            high: self.high.min(other.high),
        };
        (part.start < part.end && part.low < part.high).then_some(part)
    }
}

/// Tells the steps at which the length of the union of `blocks` changes, in order, each with the length from then on; the
/// last is 0. Leaves them in another order, and with other bytes: there may be a million, and there is no second table.
///
/// Whether they are known to lie apart: no two share bytes, but that one may begin at the last step of another, whose place
/// it takes.
///
/// A segment tree over the ends of the byte ranges holds how often each stretch is covered, so
/// each block costs the logarithm of their number.
pub fn lengths(blocks: &mut [Block], mut tell: impl FnMut(Moment)) -> bool {
    match blocks {
        [] => return true,
        [only] => {
            tell(Moment {
                step: only.start,
                bytes: only.high - only.low,
            });
            tell(Moment {
                step: only.end,
                bytes: 0,
            });
            return true;
        }
        _ => {}
    }
    let mut ends = Vec::with_capacity(2 * blocks.len());
    ends.extend(blocks.iter().flat_map(|block| [block.low, block.high]));
    ends.sort_unstable();
    ends.dedup();
    ends.shrink_to_fit();
    // From here on a block's bytes are the numbers of the ends.
    for block in &mut *blocks {
        for end in [&mut block.low, &mut block.high] {
            *end = ends.partition_point(|other| other < end) as u64;
        }
    }
    blocks.sort_unstable_by_key(|block| block.start);
    let mut by_end: Vec<u32> = (0..blocks.len() as u32).collect();
    by_end.sort_unstable_by_key(|&at| blocks[at as usize].end);
    let behind_all = by_end.last().map_or(0, |&at| blocks[at as usize].end);
    let mut beginning = blocks.iter().peekable();
    let mut ending = by_end.iter().map(|&at| &blocks[at as usize]).peekable();
    let mut cover = Cover::new(ends);
    let mut length = 0;
    let mut tell_change = |step: u64, bytes: u64| {
        if bytes != length {
            tell(Moment { step, bytes });
            length = bytes;
        }
    };
    // The bytes of all that are alive, which are as many as they cover where no two share any.
    let (mut held, mut are_apart) = (0_u128, true);
    // Nothing begins behind the last end.
    while let Some(first) = ending.peek() {
        let starts = beginning.peek().map(|block| block.start);
        let step = (first.end - 1).min(starts.unwrap_or(u64::MAX));
        while let Some(block) = beginning.next_if(|block| block.start == step) {
            cover.change(block, 1);
            held += u128::from(cover.bytes(block));
        }
        tell_change(step, cover.length());
        // What ends at the last step of all may have been cut there.
        are_apart &= step + 1 != behind_all || held == u128::from(cover.length());
        while let Some(block) = ending.next_if(|block| block.end == step + 1) {
            cover.change(block, -1);
            held -= u128::from(cover.bytes(block));
        }
        are_apart &= held == u128::from(cover.length());
        if beginning.peek().is_none_or(|block| block.start > step + 1) {
            tell_change(step + 1, cover.length());
        }
    }
    are_apart
}

/// How often the stretches between neighbouring ends are covered, and how long the covered ones are
/// together.
struct Cover {
    ends: Vec<u64>,
    leaves: usize,
    /// How often all of a node is covered by ranges that do not cover all of its parent.
    counts: Vec<i32>,
    /// The covered bytes below a node.
    lengths: Vec<u64>,
}

impl Cover {
    fn new(ends: Vec<u64>) -> Self {
        let leaves = ends.len().saturating_sub(1).next_power_of_two();
        Self {
            ends,
            leaves,
            counts: vec![0; 2 * leaves],
            lengths: vec![0; 2 * leaves],
        }
    }

    /// The covered bytes.
    fn length(&self) -> u64 {
        self.lengths[1]
    }

    /// How many bytes a block has, whose bytes are numbers of ends.
    fn bytes(&self, block: &Block) -> u64 {
        self.ends[block.high as usize] - self.ends[block.low as usize]
    }

    /// Covers the stretches of a block, one at least, once more, or once less. Its bytes are numbers of ends.
    fn change(&mut self, block: &Block, by: i32) {
        let (low, high) = (block.low as usize, block.high as usize);
        let (first, last) = (self.leaves + low, self.leaves + high - 1);
        // Level by level from the leaves: the nodes that are covered and whose parents are not.
        let (mut left, mut right, mut width) = (first, last + 1, 1);
        while left < right {
            if left % 2 == 1 {
                self.counts[left] += by;
                self.measure(left, width);
                left += 1;
            }
            if right % 2 == 1 {
                right -= 1;
                self.counts[right] += by;
                self.measure(right, width);
            }
            (left, right, width) = (left / 2, right / 2, 2 * width);
        }
        // What is above them is above one of the ends.
        let (mut left, mut right, mut width) = (first / 2, last / 2, 2);
        while left > 0 {
            self.measure(left, width);
            if right != left {
                self.measure(right, width);
            }
            (left, right, width) = (left / 2, right / 2, 2 * width);
        }
    }

    /// Takes the length of `node`, which has so many leaves, from its own count and from what is below it.
    fn measure(&mut self, node: usize, width: usize) {
        self.lengths[node] = if self.counts[node] > 0 {
            let from = node * width - self.leaves;
            self.end(from + width) - self.end(from)
        } else if width == 1 {
            0
        } else {
            self.lengths[2 * node] + self.lengths[2 * node + 1]
        };
    }

    /// Behind the last end there is nothing.
    fn end(&self, number: usize) -> u64 {
        self.ends[number.min(self.ends.len() - 1)]
    }
}
