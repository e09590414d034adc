//! The length of the union of the byte ranges alive, as it changes over time.

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

/// The steps at which the length of the union of `blocks` changes, in order, and by how much.
///
/// A segment tree over the ends of the byte ranges holds how often each stretch is covered, so
/// each block costs the logarithm of their number.
pub fn changes(blocks: &[Block]) -> Vec<(u64, i128)> {
    match blocks {
        [] => return Vec::new(),
        [only] => {
            let length = i128::from(only.high - only.low);
            return vec![(only.start, length), (only.end, -length)];
        }
        _ => {}
    }
    let mut ends: Vec<u64> = blocks
        .iter()
        .flat_map(|block| [block.low, block.high])
        .collect();
    ends.sort_unstable();
    ends.dedup();
    let mut events: Vec<(u64, bool, u32, u32)> = Vec::with_capacity(2 * blocks.len());
    for block in blocks {
        let low = ends.partition_point(|&end| end < block.low) as u32;
        let high = ends.partition_point(|&end| end < block.high) as u32;
        events.push((block.start, true, low, high));
        events.push((block.end, false, low, high));
    }
    // Which of the events of one step comes first makes no difference: the length is taken behind all.
    events.sort_unstable_by_key(|event| event.0);
    let mut cover = Cover::new(ends);
    let mut changes = Vec::new();
    let mut length = 0;
    let mut events = events.into_iter().peekable();
    while let Some((step, ..)) = events.peek().copied() {
        while let Some((_, begins, low, high)) = events.next_if(|event| event.0 == step) {
            cover.change(low as usize, high as usize, if begins { 1 } else { -1 });
        }
        let now = cover.length();
        if now != length {
            changes.push((step, i128::from(now) - i128::from(length)));
            length = now;
        }
    }
    changes
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

    /// Covers the stretches from end number `low` to end number `high` once more, or once less.
    fn change(&mut self, low: usize, high: usize, by: i32) {
        self.change_below(1, 0, self.leaves, low, high, by);
    }

    fn change_below(
        &mut self,
        node: usize,
        from: usize,
        to: usize,
        low: usize,
        high: usize,
        by: i32,
    ) {
        if high <= from || to <= low {
            return;
        }
        if low <= from && to <= high {
            self.counts[node] += by;
        } else {
            let middle = usize::midpoint(from, to);
            self.change_below(2 * node, from, middle, low, high, by);
            self.change_below(2 * node + 1, middle, to, low, high, by);
        }
        self.lengths[node] = if self.counts[node] > 0 {
            self.end(to) - self.end(from)
        } else if to - from == 1 {
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
