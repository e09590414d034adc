//! Bytes over time.

/// A step and the bytes occupied then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment {
    /// The step.
    pub step: u64,
    /// Bytes.
    pub bytes: u64,
}

/// More bytes, or fewer, from a step on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The step.
    pub step: u64,
    /// By so many bytes; more than the number can hold are as many as it can.
    pub by: i64,
}

impl Change {
    /// To `after` from `before`.
    pub fn new(step: u64, before: u64, after: u64) -> Self {
        let by = i64::try_from(after.abs_diff(before)).unwrap_or(i64::MAX);
        let by = if after < before { -by } else { by };
        Self { step, by }
    }
}

/// By how much bytes change at which steps, in any order.
#[derive(Debug, Clone, Default)]
pub(super) struct Changes {
    rises: Vec<Moment>,
    falls: Vec<Moment>,
}

impl Changes {
    /// Adds what changes where the bytes that were `before` are those of `moment` from its step on.
    pub(super) fn add(&mut self, before: u64, Moment { step, bytes }: Moment) {
        let of_kind = if bytes > before {
            &mut self.rises
        } else {
            &mut self.falls
        };
        let bytes = bytes.abs_diff(before);
        of_kind.push(Moment { step, bytes });
    }

    /// The steps before `steps` from which on the bytes are others than before, with the bytes; the first is 0.
    pub(super) fn add_up(self, steps: u64) -> Vec<Moment> {
        let Self {
            mut rises,
            mut falls,
        } = self;
        for of_kind in [&mut rises, &mut falls] {
            of_kind.sort_unstable_by_key(|change| change.step);
        }
        let (mut rises, mut falls) = (rises.iter().peekable(), falls.iter().peekable());
        let mut merged = vec![Moment { step: 0, bytes: 0 }];
        let mut sum = 0_u128;
        loop {
            let next = [rises.peek(), falls.peek()].map(|next| next.map(|next| next.step));
            let Some(step) = next
                .into_iter()
                .flatten()
                .min()
                .filter(|&step| step < steps)
            else {
                break;
            };
            // What rises first: nothing falls that has not risen.
            while let Some(rise) = rises.next_if(|rise| rise.step == step) {
                sum += u128::from(rise.bytes);
            }
            while let Some(fall) = falls.next_if(|fall| fall.step == step) {
                sum -= u128::from(fall.bytes);
            }
            let bytes = u64::try_from(sum).unwrap_or(u64::MAX);
            match merged.last_mut() {
                Some(last) if last.step == step => last.bytes = bytes,
                _ => merged.push(Moment { step, bytes }),
            }
        }
        merged.dedup_by_key(|moment| moment.bytes);
        merged.shrink_to_fit();
        merged
    }
}

/// Bytes as a function of the step, kept as the steps at which they change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Curve {
    /// The steps from which on the bytes are others than before; the first is 0.
    changes: Vec<Moment>,
    /// How many steps there are.
    steps: u64,
    /// A tree of maxima over `changes`: node `n` has the children `2n` and `2n + 1`, the leaves are
    /// the second half. Each holds the number of the first change with the most bytes below it.
    most: Vec<u32>,
}

impl Curve {
    /// Adds up `changes`. Only steps before `steps` count.
    pub(super) fn new(changes: Changes, steps: u64) -> Self {
        Self::of(changes.add_up(steps), steps)
    }

    /// The bytes of this that are not in `part`, of as many steps, as in [`Curve::changes`].
    #[must_use]
    pub fn without(&self, part: &[Moment]) -> Self {
        let [mut own, mut of_part] = [&self.changes, part].map(|it| it.iter().peekable());
        let (mut before, mut less) = (0, 0);
        let mut changes = Vec::with_capacity(self.changes.len());
        loop {
            let next = [own.peek(), of_part.peek()].into_iter().flatten();
            let Some(step) = next.map(|moment| moment.step).min() else {
                break;
            };
            let is_now = |moment: &&Moment| moment.step == step;
            before = own.next_if(is_now).map_or(before, |it| it.bytes);
            less = of_part.next_if(is_now).map_or(less, |it| it.bytes);
            let bytes = before.saturating_sub(less);
            changes.push(Moment { step, bytes });
        }
        changes.dedup_by_key(|moment| moment.bytes);
        Self::of(changes, self.steps)
    }

    fn of(changes: Vec<Moment>, steps: u64) -> Self {
        let leaves = changes.len();
        let mut most = vec![0; leaves];
        most.extend(0..leaves as u32);
        for node in (1..leaves).rev() {
            most[node] = higher(&changes, most[2 * node], most[2 * node + 1]);
        }
        Self {
            changes,
            steps,
            most,
        }
    }

    /// How many steps there are; the last one is one less.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The steps from which on the bytes are others than before, with the bytes; the first is 0.
    pub fn changes(&self) -> &[Moment] {
        &self.changes
    }

    /// The bytes at `step`; of a step behind the last, as at the last.
    pub fn at(&self, step: u64) -> u64 {
        self.changes[self.change_at(step)].bytes
    }

    /// The first step with the most bytes.
    pub fn peak(&self) -> Moment {
        self.most_in(0, self.steps)
            .unwrap_or(Moment { step: 0, bytes: 0 })
    }

    /// The first step with the most bytes of those from `start` to before `end`.
    pub fn most_in(&self, start: u64, end: u64) -> Option<Moment> {
        let end = end.min(self.steps);
        if start >= end {
            return None;
        }
        let leaves = self.changes.len();
        let (mut low, mut high) = (self.change_at(start), self.change_at(end - 1) + 1);
        let mut best = low as u32;
        low += leaves;
        high += leaves;
        while low < high {
            if low % 2 == 1 {
                best = higher(&self.changes, best, self.most[low]);
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                best = higher(&self.changes, best, self.most[high]);
            }
            low /= 2;
            high /= 2;
        }
        let most = self.changes[best as usize];
        Some(Moment {
            step: most.step.max(start),
            ..most
        })
    }

    /// The first step with the most bytes if there were more, or fewer, from the step of each of `changes` on.
    pub fn peak_if_changed(&self, mut changes: Vec<Change>) -> Moment {
        changes.sort_unstable_by_key(|change| change.step);
        let (mut start, mut sum) = (0, 0_i128);
        let mut best: Option<Moment> = None;
        let end = Change {
            step: self.steps,
            by: 0,
        };
        for next in changes.into_iter().chain([end]) {
            if let Some(most) = self.most_in(start, next.step) {
                let bytes = (i128::from(most.bytes) + sum).max(0);
                let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
                if best.is_none_or(|best| best.bytes < bytes) {
                    best = Some(Moment { bytes, ..most });
                }
            }
            start = next.step;
            sum += i128::from(next.by);
        }
        best.unwrap_or(Moment { step: 0, bytes: 0 })
    }

    /// The ranges of steps, both ends included, with at least `percent` % of the most bytes.
    pub fn near(&self, percent: u8) -> Vec<(u64, u64)> {
        let peak = u128::from(self.peak().bytes);
        let is_near = |bytes: u64| u128::from(bytes) * 100 >= peak * u128::from(percent);
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for (start, end, bytes) in self.pieces() {
            if peak > 0 && is_near(bytes) {
                match ranges.last_mut() {
                    Some(last) if last.1 + 1 == start => last.1 = end - 1,
                    _ => ranges.push((start, end - 1)),
                }
            }
        }
        ranges
    }

    /// The highest local maxima apart from the peak, at most `count`, the highest first. Between each and any higher one
    /// no more than `percent` % of its bytes are occupied at some step: what a plateau goes up and down by is none.
    pub fn next_peaks(&self, count: usize, percent: u8) -> Vec<Moment> {
        let bytes = |at: Option<usize>| {
            at.and_then(|at| self.changes.get(at))
                .map_or(0, |it| it.bytes)
        };
        let is_top = |at: usize| {
            let own = self.changes[at].bytes;
            own > bytes(at.checked_sub(1)) && own > bytes(Some(at + 1))
        };
        let mut tops: Vec<usize> = (0..self.changes.len()).filter(|&at| is_top(at)).collect();
        tops.sort_by_key(|&at| std::cmp::Reverse(self.changes[at].bytes));
        // The least bytes between each change and any peak that is known.
        let mut lowest = vec![0; self.changes.len()];
        let mut peaks = Vec::new();
        let mut known = self.change_at(self.peak().step);
        loop {
            self.raise_to_lowest(&mut lowest, known);
            let is_apart = |at: &usize| {
                let own = u128::from(self.changes[*at].bytes);
                u128::from(lowest[*at]) * 100 <= own * u128::from(percent)
            };
            // Behind one that is not apart from a higher one, none before it is.
            let next = tops
                .iter()
                .position(is_apart)
                .filter(|_| peaks.len() < count);
            let Some(next) = next else { return peaks };
            known = tops[next];
            peaks.push(self.changes[known]);
            tops.drain(..=next);
        }
    }

    /// Takes into account that there is a peak at change `from`.
    fn raise_to_lowest(&self, lowest: &mut [u64], from: usize) {
        let mut walk = |at: usize, least: &mut u64| {
            *least = (*least).min(self.changes[at].bytes);
            lowest[at] = lowest[at].max(*least);
        };
        let (mut up, mut down) = (u64::MAX, u64::MAX);
        (from..self.changes.len()).for_each(|at| walk(at, &mut up));
        (0..=from).rev().for_each(|at| walk(at, &mut down));
    }

    /// First step, step behind the last one, and bytes.
    fn pieces(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let ends = self.changes.iter().skip(1).map(|next| next.step);
        let ends = ends.chain([self.steps]);
        self.changes
            .iter()
            .zip(ends)
            .map(|(moment, end)| (moment.step, end, moment.bytes))
    }

    /// The number of the change that holds at `step`.
    fn change_at(&self, step: u64) -> usize {
        self.changes
            .partition_point(|change| change.step <= step)
            .saturating_sub(1)
    }
}

/// The first of two changes with the more bytes.
fn higher(changes: &[Moment], a: u32, b: u32) -> u32 {
    let key = |at: u32| (changes[at as usize].bytes, std::cmp::Reverse(at));
    if key(b) > key(a) { b } else { a }
}
