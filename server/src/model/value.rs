//! Values: what a program computes, where that lies, and who sees and reads it.

use std::num::NonZeroU32;

use buflens_syntax::facts;
use buflens_syntax::facts::brief::{self, Text};
use rustc_hash::FxHashMap;

use super::allocation::Allocation;
use super::dump::{At, Dump};
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
    /// Size in bytes, padding included; 0 without placement, and where it is not [read](Dump::is_placed).
    pub size: u64,
    /// Offset in bytes from the start of the allocation; 0 likewise.
    pub offset: u64,
    /// The opcode of the instruction printed in section C; there if that is, and not broken before it.
    pub opcode: Option<NameId>,
    /// One more than the number of what section C says of it.
    pub(super) used: Option<NonZeroU32>,
    /// One more than the number of its live range.
    pub(super) live_range: Option<NonZeroU32>,
    /// How its reference is printed, and whether section C prints it so, too.
    pub(super) printed: Printed,
}

/// What section C says of a value.
#[derive(Debug, Clone, Copy)]
pub struct UsedValue {
    /// The header.
    pub header: Row,
    /// The instruction.
    pub instruction: Option<Row>,
    /// The shape of its result.
    pub result: Option<ShapeId>,
    /// The number of a `parameter`, where that is its instruction; 2^32 - 1 else, and for a number that is no less.
    pub(super) parameter: u32,
    /// The first of its positions, as a number into [`super::Dump::positions`]; the last is before the first of the next
    /// entry.
    pub(super) positions: u32,
    /// The same of its uses, which are in [`super::Dump::uses`].
    pub(super) uses: u32,
}

/// A line of section D.
#[derive(Debug, Clone, Copy)]
pub struct LiveRange {
    /// The line.
    pub row: Row,
    /// First and last step alive, both included.
    pub steps: (u64, u64),
}

// There are a million in a large dump, and nothing but allocations in some.
const _: () = assert!(size_of::<Value>() <= 64);
const _: () = assert!(size_of::<UsedValue>() <= 32);
const _: () = assert!(size_of::<LiveRange>() <= 24);
const _: () = assert!(size_of::<Position>() <= 20);

/// The first value with each id, as numbers into a table of values.
#[derive(Debug, Default)]
pub(super) struct ById {
    /// Of ids that are small, as those that compilers give are, many next to one another: one more than the value's
    /// number, 0 for none.
    small: Vec<Option<Box<[u32; Self::PAGE]>>>,
    /// The same of others.
    others: FxHashMap<u64, u32>,
    count: usize,
}

impl ById {
    const PAGE: usize = 256;
    /// Ids on so many pages are small.
    const PAGES: usize = 1 << 14;

    /// The first value with this id.
    pub(super) fn get(&self, id: u64) -> Option<u32> {
        match Self::small(id) {
            Some((page, place)) => self.small.get(page)?.as_ref()?[place].checked_sub(1),
            None => self.others.get(&id)?.checked_sub(1),
        }
    }

    /// Takes in value `at`, unless one before it has its id.
    pub(super) fn add(&mut self, id: u64, at: u32) {
        let known = match Self::small(id) {
            Some((page, place)) => {
                if self.small.len() <= page {
                    self.small.resize(page + 1, None);
                }
                &mut self.small[page].get_or_insert_with(|| Box::new([0; Self::PAGE]))[place]
            }
            None => self.others.entry(id).or_default(),
        };
        if *known == 0 {
            *known = at + 1;
            self.count += 1;
        }
    }

    fn small(id: u64) -> Option<(usize, usize)> {
        let id = usize::try_from(id).ok()?;
        let (page, place) = (id / Self::PAGE, id % Self::PAGE);
        (page < Self::PAGES).then_some((page, place))
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

    /// Whether section C has it.
    pub fn is_used(&self) -> bool {
        self.used.is_some()
    }

    /// Whether section D has it.
    pub fn has_live_range(&self) -> bool {
        self.live_range.is_some()
    }

    /// The first byte behind it, from the start of the allocation.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.size)
    }
}

impl UsedValue {
    /// The number of the parameter that it is. `None` also for a number that no parameter has, of 2^32 - 1 or more.
    pub fn parameter(&self) -> Option<u64> {
        (self.parameter != u32::MAX).then_some(self.parameter.into())
    }
}

impl Dump {
    /// Whether the size and the offset of a value are read: its line in section A is not broken before them.
    pub fn is_placed(&self, value: &Value) -> bool {
        let is_read = |at: At<facts::Placement>| at.row.is_read();
        // The line is read again only where some line of the allocation is wrong.
        value.placement.is_some()
            && (self.allocation_of(value).is_some_and(Allocation::is_read)
                || self.placement(value).is_some_and(is_read))
    }

    /// A value's header in section C.
    pub fn used(&self, value: &Value) -> Option<At<'_, facts::UsedValue>> {
        self.at(self.used_value(value)?.header)
    }

    /// The headers in section C before and behind that of a value.
    pub fn used_beside(&self, value: &Value) -> [Option<At<'_, facts::UsedValue>>; 2] {
        let at = value.used.map(|number| number.get() as usize - 1);
        let header = |at: Option<usize>| self.at(self.used_values.get(at?)?.header);
        [
            header(at.and_then(|at| at.checked_sub(1))),
            header(at.map(|at| at + 1)),
        ]
    }

    /// A value's line in section D.
    pub fn live_range(&self, value: &Value) -> Option<At<'_, facts::LiveRange>> {
        self.at(self.live_range_of(value)?.row)
    }

    /// The instruction printed with a value in section C.
    pub fn instruction(&self, value: &Value) -> Option<At<'_, facts::Instruction>> {
        self.at(self.used_value(value)?.instruction?)
    }

    /// What section C says of a value.
    pub fn used_value(&self, value: &Value) -> Option<&UsedValue> {
        self.used_values.get(value.used?.get() as usize - 1)
    }

    /// The shape of the result of the instruction that section C prints with a value.
    pub fn result_shape(&self, value: &Value) -> Option<ShapeId> {
        self.used_value(value)?.result
    }

    /// What section D says of a value.
    pub fn live_range_of(&self, value: &Value) -> Option<&LiveRange> {
        self.live_ranges.get(value.live_range?.get() as usize - 1)
    }

    /// The first and last step at which a value is alive, both included; 0 without live range.
    pub fn live(&self, value: &Value) -> (u64, u64) {
        self.live_range_of(value).map_or((0, 0), |it| it.steps)
    }

    /// Whether a value is known to be alive at `step`.
    pub fn is_alive(&self, value: &Value, step: u64) -> bool {
        let live_range = self.live_range_of(value);
        live_range.is_some_and(|it| (it.steps.0..=it.steps.1).contains(&step))
    }

    /// Where a value is visible, by the lines below its `positions:`.
    pub fn positions_of(&self, value: &Value) -> &[Position] {
        of_value(value, &self.used_values, &self.positions, |it| it.positions)
    }

    /// Who reads a value, by the lines below its `uses:`.
    pub fn uses_of(&self, value: &Value) -> &[Use] {
        of_value(value, &self.used_values, &self.uses, |it| it.uses)
    }

    /// The steps of an asynchronous operation, which `name` starts: its tuple is alive until an instruction waits
    /// for it, or updates it and hands it on.
    pub fn flight(&self, name: NameId) -> Option<(u64, u64)> {
        let whole = self.names.get("{}")?;
        let waits = |name| {
            let mut opcode = self.opcode(name).into_iter();
            opcode.any(|opcode| opcode.ends_with("-done") || opcode.ends_with("-update"))
        };
        let alive = |name| {
            let tuple = &self.values[self.values_at(name, whole).next()? as usize];
            let (start, end) = self.live_range_of(tuple)?.steps;
            // An `all-reduce-start` has no tuple, but its result, which lives on.
            let mut readers = self.uses_of(tuple).iter().map(|it| it.name);
            let waiting = readers.find(|&name| waits(name));
            let waiting = waiting.and_then(|name| self.step_of(name));
            Some((start, waiting.map_or(end, |step| end.min(step.into()))))
        };
        let (start, mut end) = alive(name)?;
        while let Some(step) = usize::try_from(end)
            .ok()
            .and_then(|end| self.steps.get(end))
            && self
                .opcode(step.name)
                .is_some_and(|opcode| opcode.ends_with("-update"))
            && let Some((_, next)) = alive(step.name).filter(|&(_, next)| next > end)
        {
            end = next;
        }
        Some((start, end))
    }
}

/// Those of `rows` that are a value's, which begin with number `first`, and end where those of the next entry begin.
fn of_value<'r, T>(
    value: &Value,
    used_values: &[UsedValue],
    rows: &'r [T],
    first: fn(&UsedValue) -> u32,
) -> &'r [T] {
    let Some(number) = value.used else {
        return &[];
    };
    // One more than the number of the value's own.
    let next = number.get() as usize;
    let start = used_values.get(next - 1).map_or(0, first) as usize;
    let end = used_values
        .get(next)
        .map_or(rows.len(), |next| first(next) as usize);
    rows.get(start..end).unwrap_or_default()
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
