//! Values: what a program computes, where that lies, and who sees and reads it.

use std::collections::hash_map::Entry;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::names::NameId;
use super::row::Row;
use super::shapes::ShapeId;

/// A value: what one instruction defines at one index of its result.
#[derive(Debug, Clone)]
pub struct Value {
    /// The id, unique in sections A and C of a sound dump.
    pub id: u64,
    /// The defining instruction.
    pub name: NameId,
    /// The shape index with its braces; `{}` also where it is not printed.
    pub index: NameId,
    /// The line of section A.
    pub placement: Option<Row>,
    /// The shape with layout printed there.
    pub shape: Option<ShapeId>,
    /// The allocation that holds it, as a number into [`super::Dump::allocations`].
    pub allocation: Option<u32>,
    /// Size in bytes, padding included; 0 without placement.
    pub size: u64,
    /// Offset in bytes from the start of the allocation; 0 without placement.
    pub offset: u64,
    /// The header in section C.
    pub used: Option<Row>,
    /// The instruction printed in section C.
    pub instruction: Option<Row>,
    /// Its opcode.
    pub opcode: Option<NameId>,
    /// The shape of its result.
    pub result: Option<ShapeId>,
    /// The number of a `parameter`, where that is its instruction; 2^64 - 1 else.
    pub(super) parameter: u64,
    /// Its positions, as numbers into [`super::Dump::positions`].
    pub positions: Range<u32>,
    /// Its uses, as numbers into [`super::Dump::uses`].
    pub uses: Range<u32>,
    /// The line of section D.
    pub live_range: Option<Row>,
    /// First and last step alive, both included; 0 without live range.
    pub live: (u64, u64),
    /// Whether section C prints it as section A does, and names its instruction and first position
    /// after it.
    pub is_alike: bool,
    /// How its reference is printed, for this comparison: equal for equal ones.
    pub(super) printed: Printed,
}

/// The first value with each id, as numbers into a table of values.
#[derive(Debug, Default)]
pub(super) struct ById {
    /// By id, where that is small, as those that compilers give are: one more than the value's number, 0 for none.
    small: Vec<u32>,
    others: FxHashMap<u64, u32>,
    count: usize,
}

impl ById {
    /// So many ids are small.
    const SMALL: usize = 1 << 22;

    /// The first value with this id.
    pub(super) fn get(&self, id: u64) -> Option<u32> {
        match Self::small(id) {
            Some(place) => self.small.get(place)?.checked_sub(1),
            None => self.others.get(&id).copied(),
        }
    }

    /// Takes in value `at`, unless one before it has its id.
    pub(super) fn add(&mut self, id: u64, at: u32) {
        let is_new = match Self::small(id) {
            Some(place) => {
                if self.small.len() <= place {
                    self.small.resize(place + 1, 0);
                }
                let known = &mut self.small[place];
                let is_new = *known == 0;
                if is_new {
                    *known = at + 1;
                }
                is_new
            }
            None => match self.others.entry(id) {
                Entry::Vacant(entry) => {
                    entry.insert(at);
                    true
                }
                Entry::Occupied(_) => false,
            },
        };
        self.count += usize::from(is_new);
    }

    fn small(id: u64) -> Option<usize> {
        let place = usize::try_from(id).ok();
        place.filter(|&place| place < Self::SMALL)
    }

    /// How many ids there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }
}

/// What a reference says beside the value's id, name and index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Printed {
    pub(super) has_index: bool,
    pub(super) phi: bool,
    /// `None` is what is not printed, or larger than any memory space's number.
    pub(super) color: Option<u16>,
}

impl Value {
    /// The memory space that is printed with it. `None` also where the number is too large for one.
    pub fn color(&self) -> Option<u64> {
        self.printed.color.map(u64::from)
    }

    /// The number of the parameter that it is, as section C says.
    pub fn parameter(&self) -> Option<u64> {
        Some(self.parameter).filter(|&number| number != u64::MAX)
    }

    /// The first byte behind it, from the start of the allocation.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.size)
    }

    /// Whether it is known to be alive at `step`.
    pub fn is_alive(&self, step: u64) -> bool {
        self.live_range.is_some() && (self.live.0..=self.live.1).contains(&step)
    }
}

/// Where a value is visible.
#[derive(Debug, Clone, Copy)]
pub struct Position {
    /// The line.
    pub row: Row,
    /// The value, as a number into [`super::Dump::values`].
    pub value: u32,
    /// The instruction.
    pub name: NameId,
    /// The index in its result.
    pub index: NameId,
}

/// Who reads a value.
#[derive(Debug, Clone, Copy)]
pub struct Use {
    /// The line.
    pub row: Row,
    /// The value, as a number into [`super::Dump::values`].
    pub value: u32,
    /// The instruction that reads it.
    pub name: NameId,
}

/// The index that `printed` says: of arrays it is left out in a value's reference.
pub fn index_text(printed: &str) -> &str {
    if printed.is_empty() { "{}" } else { printed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_with_an_id_is_found_however_large_the_id() {
        let mut by_id = ById::default();
        let last = ById::SMALL as u64 - 1;
        let ids = [7, 0, last, last + 1, u64::MAX, 7, u64::MAX, last];
        for (at, id) in ids.into_iter().enumerate() {
            by_id.add(id, at as u32);
        }
        let found = [0, 7, last, last + 1, u64::MAX].map(|id| by_id.get(id));
        assert_eq!(found, [1, 0, 2, 3, 4].map(Some));
        assert_eq!([1, last + 2].map(|id| by_id.get(id)), [None; 2]);
        assert_eq!(by_id.count(), 5);
    }
}
