//! Which values hold given bytes of an allocation.

use std::ops::Range;

use super::{Allocation, Dump};

/// The values of each allocation by offset, as a tree of intervals: the middle of a range is the root
/// of what is left and right of it.
#[derive(Debug)]
pub(super) struct Extents {
    /// Values, those of an allocation where [`Allocation::values`] has them, by offset.
    order: Vec<u32>,
    /// The highest end among the values of the range whose middle this is.
    highest: Vec<u64>,
}

impl Dump {
    /// The values of `allocation` that hold some of these of its bytes, at whatever time, at most so
    /// many. The first call sorts all values; each takes O(log n) for n values, and for each that it
    /// tells.
    pub fn values_in(&self, allocation: &Allocation, bytes: Range<u64>, most: usize) -> Vec<u32> {
        let extents = self.extents.get_or_init(|| Extents::new(self));
        let mut found = Vec::new();
        if !bytes.is_empty() {
            extents.find(self, place(&allocation.values), &bytes, most, &mut found);
        }
        found
    }
}

impl Extents {
    fn new(dump: &Dump) -> Self {
        let mut extents = Self {
            order: (0..dump.values.len() as u32).collect(),
            highest: vec![0; dump.values.len()],
        };
        for allocation in &dump.allocations {
            let range = place(&allocation.values);
            extents.order[range.clone()].sort_by_key(|&at| dump.values[at as usize].offset);
            extents.fill(dump, range);
        }
        extents
    }

    fn fill(&mut self, dump: &Dump, range: Range<usize>) -> u64 {
        let Some((left, middle, right)) = halves(range) else {
            return 0;
        };
        let own = dump.values[self.order[middle] as usize].end();
        let others = self.fill(dump, left).max(self.fill(dump, right));
        self.highest[middle] = own.max(others);
        self.highest[middle]
    }

    fn find(
        &self,
        dump: &Dump,
        range: Range<usize>,
        bytes: &Range<u64>,
        most: usize,
        found: &mut Vec<u32>,
    ) {
        let Some((left, middle, right)) = halves(range) else {
            return;
        };
        if self.highest[middle] <= bytes.start {
            return;
        }
        self.find(dump, left, bytes, most, found);
        let value = &dump.values[self.order[middle] as usize];
        if value.offset >= bytes.end {
            return;
        }
        if value.end() > bytes.start.max(value.offset) && found.len() < most {
            found.push(self.order[middle]);
        }
        if found.len() < most {
            self.find(dump, right, bytes, most, found);
        }
    }
}

fn place(values: &Range<u32>) -> Range<usize> {
    values.start as usize..values.end as usize
}

/// What is left of the middle of a range, the middle, and what is right of it, unless it is empty.
fn halves(range: Range<usize>) -> Option<(Range<usize>, usize, Range<usize>)> {
    let middle = range.start + range.len() / 2;
    (!range.is_empty()).then(|| (range.start..middle, middle, middle + 1..range.end))
}

#[cfg(test)]
mod tests {
    use buflens_syntax::Document;

    use super::*;
    use crate::model::File;

    #[test]
    fn values_are_found_by_the_bytes_that_they_hold() {
        // Offsets and sizes, in no order; one holds everything, one nothing, one ends behind all numbers.
        let placed = [
            (40, 8),
            (0, 64),
            (0, 8),
            (8, 8),
            (24, 0),
            (12, 20),
            (60, u64::MAX - 1),
        ];
        let lines = placed.iter().enumerate().map(|(at, (offset, size))| {
            format!(" value: <{at} v.{at} @0> (size={size},offset={offset}): f32[]\n")
        });
        let text = format!(
            "BufferAssignment:\nallocation 0: size 64, preallocated-temp:\n value: <90 a @0> (size=64,offset=0): f32[]\n\
             allocation 1: size 64, preallocated-temp:\n{}",
            lines.collect::<String>()
        );
        let dump = Dump::new(vec![File {
            path: "x-buffer-assignment.txt".into(),
            document: Document::new(&text).expect("a text below 4 GiB"),
            lossy: false,
        }]);
        let allocation = &dump.allocations[1];
        let found = |bytes: Range<u64>, most| {
            let mut found = dump.values_in(allocation, bytes, most);
            found.sort_unstable();
            found.iter().map(|at| at - 1).collect::<Vec<_>>()
        };
        for low in 0..70 {
            for high in low..70 {
                let holds = |&(offset, size): &(u64, u64)| {
                    size > 0 && low < high && offset < high && low < offset.saturating_add(size)
                };
                let expected = (0_u32..).zip(&placed).filter(|(_, it)| holds(it));
                let expected: Vec<u32> = expected.map(|(at, _)| at).collect();
                assert_eq!(found(low..high, usize::MAX), expected, "{low}..{high}");
                let few = found(low..high, 2);
                assert_eq!(few.len(), expected.len().min(2));
                assert!(few.iter().all(|at| expected.contains(at)));
            }
        }
        assert_eq!(dump.values_in(&dump.allocations[0], 3..4, 9), [0]);
    }
}
