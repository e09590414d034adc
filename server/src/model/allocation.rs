//! Allocations: what the headers of section A say.

use std::num::NonZeroU32;
use std::ops::Range;

use buflens_syntax::facts;
use buflens_syntax::facts::brief;

use super::dump::Dump;
use super::names::NameId;
use super::row::Row;
use super::shapes::ShapeId;

/// An allocation.
#[derive(Debug, Clone)]
pub struct Allocation {
    /// Its header.
    pub header: Row,
    /// The number printed; equal to its place in [`Dump::allocations`] in every sound dump.
    pub index: u64,
    /// Size in bytes.
    pub size: u64,
    /// Memory space; 0 is not printed.
    pub color: u64,
    /// Its values, as numbers into [`Dump::values`].
    pub values: Range<u32>,
    /// What it is the buffer of: one more than the place in [`Dump::parameter_leaves`].
    leaf: Option<NonZeroU32>,
    flags: u8,
}

// There is nothing but allocations in some dumps.
const _: () = assert!(size_of::<Allocation>() <= 48);

/// The leaf of an entry parameter, whose buffer an allocation is.
#[derive(Debug, Clone, Copy)]
pub struct ParameterLeaf {
    /// The number of the parameter.
    pub number: u64,
    /// The shape of the parameter, without layout.
    pub shape: Option<ShapeId>,
    /// Which leaf of it.
    pub index: Option<NameId>,
}

impl Allocation {
    // Bits of `flags`.
    const CONSTANT: u8 = 1;
    const THREAD_LOCAL: u8 = 1 << 1;
    const MAYBE_LIVE_OUT: u8 = 1 << 2;
    const PREALLOCATED_TEMP: u8 = 1 << 3;
    const HAS_OUTPUT_SHAPE: u8 = 1 << 4;
    const IS_READ: u8 = 1 << 5;

    /// What `row`, the header `header`, says; with no values, the next of which has the number `values`. It is the buffer
    /// of the last of the `leaves` of parameters before it, if of any.
    pub(super) fn new(row: Row, header: &brief::Allocation, leaves: usize, values: u32) -> Self {
        let kinds = header.kinds;
        let flags = [
            (kinds.constant, Self::CONSTANT),
            (kinds.thread_local, Self::THREAD_LOCAL),
            (kinds.maybe_live_out, Self::MAYBE_LIVE_OUT),
            (kinds.preallocated_temp, Self::PREALLOCATED_TEMP),
            (header.has_output_shape, Self::HAS_OUTPUT_SHAPE),
            (header.is_read, Self::IS_READ),
        ];
        let flags = flags.into_iter().filter(|&(is_set, _)| is_set);
        Self {
            header: row,
            index: header.index,
            size: header.size,
            color: header.color,
            values: values..values,
            leaf: header.parameter.and(NonZeroU32::new(leaves as u32)),
            flags: flags.fold(0, |flags, (_, flag)| flags | flag),
        }
    }

    /// Whether this is the buffer of a leaf of an entry parameter.
    pub fn is_parameter(&self) -> bool {
        self.leaf.is_some()
    }

    /// What else the header says.
    pub fn kinds(&self) -> facts::AllocationKinds {
        facts::AllocationKinds {
            constant: self.has(Self::CONSTANT),
            thread_local: self.has(Self::THREAD_LOCAL),
            maybe_live_out: self.has(Self::MAYBE_LIVE_OUT),
            preallocated_temp: self.has(Self::PREALLOCATED_TEMP),
        }
    }

    /// Whether the root of the result lies here.
    pub fn has_output_shape(&self) -> bool {
        self.has(Self::HAS_OUTPUT_SHAPE)
    }

    /// Whether its size, and the sizes and offsets of its values, are printed and below 2^64 - 1.
    pub fn is_read(&self) -> bool {
        self.has(Self::IS_READ)
    }

    /// Takes in the next value, number `at`, whose size and offset are read or not.
    pub(super) fn add(&mut self, at: u32, is_read: bool) {
        self.values.end = at + 1;
        if !is_read {
            self.flags &= !Self::IS_READ;
        }
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

impl Dump {
    /// The leaf of an entry parameter whose buffer `allocation` is.
    pub fn parameter_leaf(&self, allocation: &Allocation) -> Option<&ParameterLeaf> {
        self.parameter_leaves
            .get(allocation.leaf?.get() as usize - 1)
    }

    /// The number of that parameter.
    pub fn parameter_number(&self, allocation: &Allocation) -> Option<u64> {
        Some(self.parameter_leaf(allocation)?.number)
    }

    /// The entry parameter whose buffer this is, and what else the header says it is, as it has it: `parameter 3`,
    /// `maybe-live-out`.
    pub fn words(&self, allocation: &Allocation) -> Vec<String> {
        let kinds = allocation.kinds();
        let marks = [
            (kinds.constant, "constant"),
            (kinds.thread_local, "thread-local"),
            (kinds.maybe_live_out, "maybe-live-out"),
            (kinds.preallocated_temp, "preallocated-temp"),
        ];
        let marks = marks.into_iter().filter(|&(is_set, _)| is_set);
        let parameter = self
            .parameter_number(allocation)
            .map(|number| format!("parameter {number}"));
        parameter
            .into_iter()
            .chain(marks.map(|(_, word)| word.to_owned()))
            .collect()
    }
}
