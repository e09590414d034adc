//! The values of an allocation by their offsets, as the report lists them.

use crate::model::{Allocation, Dump};

/// The values of one allocation that share an offset.
pub(super) struct Slot<'s> {
    /// The size of the largest, in bytes.
    pub(super) size: u64,
    /// The values, as numbers into [`Dump::values`].
    pub(super) values: &'s [u32],
}

/// All slots of one allocation, in the order of their offsets.
pub(super) struct Slots {
    slots: Vec<Bounds>,
    values: Vec<u32>,
}

struct Bounds {
    offset: u64,
    size: u64,
    /// Where its values begin.
    first: u32,
}

impl Slots {
    pub(super) fn new(dump: &Dump, allocation: &Allocation) -> Self {
        let mut values: Vec<u32> = allocation.values.clone().collect();
        values.sort_by_key(|&at| dump.values[at as usize].offset);
        let mut slots: Vec<Bounds> = Vec::new();
        for (first, &at) in (0..).zip(&values) {
            let value = &dump.values[at as usize];
            match slots.last_mut() {
                Some(last) if last.offset == value.offset => last.size = last.size.max(value.size),
                _ => slots.push(Bounds {
                    offset: value.offset,
                    size: value.size,
                    first,
                }),
            }
        }
        Self { slots, values }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The number of the slot at `offset`.
    pub(super) fn at(&self, offset: u64) -> Option<usize> {
        let found = self.slots.binary_search_by_key(&offset, |it| it.offset);
        found.ok()
    }

    /// The slot with this number, one of [`Slots::at`].
    pub(super) fn slot(&self, number: usize) -> Slot<'_> {
        let behind = self.slots.get(number + 1);
        let end = behind.map_or(self.values.len(), |next| next.first as usize);
        let Bounds { size, first, .. } = self.slots[number];
        Slot {
            size,
            values: &self.values[first as usize..end],
        }
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = Slot<'_>> {
        (0..self.len()).map(|number| self.slot(number))
    }
}
