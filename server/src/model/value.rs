//! Values: what a program computes, where that lies, and who sees and reads it.

use std::collections::hash_map::Entry;
use std::num::NonZeroU32;
use std::ops::Range;

use buflens_syntax::facts::brief::{self, Text};
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
    /// One more than the number of the allocation that holds it.
    pub(super) holder: Option<NonZeroU32>,
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
    /// The number of a `parameter`, where that is its instruction; 2^32 - 1 else, and for a number that is no less.
    pub(super) parameter: u32,
    /// Its positions, as numbers into [`super::Dump::positions`].
    pub positions: Range<u32>,
    /// Its uses, as numbers into [`super::Dump::uses`].
    pub uses: Range<u32>,
    /// The line of section D.
    pub live_range: Option<Row>,
    /// First and last step alive, both included; 0 without live range.
    pub live: (u64, u64),
    /// How its reference is printed, and whether section C prints it so, too.
    pub(super) printed: Printed,
}

// There are a million in a large dump.
const _: () = assert!(size_of::<Value>() <= 120);

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

/// What a reference says beside the value's id, name and index, and what came of its comparison: in four bytes, as
/// there may be a million of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Printed(u32);

impl Printed {
    const HAS_INDEX: u32 = 1;
    const PHI: u32 = 1 << 1;
    const ALIKE: u32 = 1 << 2;
    /// From here on one more than the memory space; 0 is what is not printed, or larger than any memory space's number.
    const COLOR: u32 = 3;

    pub(super) fn new(reference: &brief::Reference) -> Self {
        let color = reference.color.map_or(0, |color| u32::from(color) + 1);
        let mark = |is_there, mark| if is_there { mark } else { 0 };
        Self(
            color << Self::COLOR
                | mark(reference.phi, Self::PHI)
                | mark(reference.index != Text::NONE, Self::HAS_INDEX),
        )
    }

    pub(super) fn has_index(self) -> bool {
        self.0 & Self::HAS_INDEX != 0
    }

    /// Whether both references are printed alike.
    pub(super) fn is_same(self, other: Self) -> bool {
        (self.0 ^ other.0) & !Self::ALIKE == 0
    }

    fn color(self) -> Option<u32> {
        (self.0 >> Self::COLOR).checked_sub(1)
    }
}

impl Value {
    /// The memory space that is printed with it. `None` also where the number is too large for one.
    pub fn color(&self) -> Option<u64> {
        self.printed.color().map(u64::from)
    }

    /// Whether section C prints it as section A does, and names its instruction and first position
    /// after it.
    pub fn is_alike(&self) -> bool {
        self.printed.0 & Printed::ALIKE != 0
    }

    pub(super) fn set_alike(&mut self, is_alike: bool) {
        self.printed.0 &= !Printed::ALIKE;
        if is_alike {
            self.printed.0 |= Printed::ALIKE;
        }
    }

    /// The allocation that holds it, as a number into [`super::Dump::allocations`].
    pub fn allocation(&self) -> Option<u32> {
        Some(self.holder?.get() - 1)
    }

    /// The number of the parameter that it is, as section C says. `None` also for a number that no parameter has, of 2^32 - 1
    /// or more.
    pub fn parameter(&self) -> Option<u64> {
        (self.parameter != u32::MAX).then_some(self.parameter.into())
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
