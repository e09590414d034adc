//! Where bytes go into padding.

use serde::Serialize;

use super::{Source, Value, value};
use crate::audit::padding::{self as table, ValuePadding};
use crate::model::space;

/// Padding by memory space, allocation and value.
#[derive(Debug, Clone, Serialize)]
pub struct Padding<L> {
    /// Why nothing is known of peaks.
    pub reason: Option<&'static str>,
    /// The memory spaces.
    pub spaces: Vec<PaddedSpace>,
    /// The allocations with padding, that with the most first.
    pub allocations: Vec<PaddedAllocation>,
    /// How many more there are.
    pub allocations_left_out: usize,
    /// The values with padding, that with the most first.
    pub values: Vec<PaddedValue<L>>,
    /// How many more there are.
    pub values_left_out: usize,
}

/// The padding in a memory space at its peak.
#[derive(Debug, Clone, Serialize)]
pub struct PaddedSpace {
    /// The memory space.
    pub color: u64,
    /// Its name.
    pub name: String,
    /// Bytes of padding among those occupied.
    pub padding_bytes: Option<u64>,
    /// Bytes occupied at the peak.
    pub occupied_bytes: Option<u64>,
    /// The step of the peak.
    pub step: Option<u64>,
}

/// The padding in an allocation.
#[derive(Debug, Clone, Serialize)]
pub struct PaddedAllocation {
    /// The number of the allocation.
    pub allocation: u64,
    /// Its memory space.
    pub space: u64,
    /// Its size.
    pub bytes: u64,
    /// The padding of the value that has the most in it.
    pub padding_bytes: u64,
}

/// The padding of a value.
#[derive(Debug, Clone, Serialize)]
pub struct PaddedValue<L> {
    /// The value.
    #[serde(flatten)]
    pub value: Value<L>,
    /// Bytes of padding.
    pub padding_bytes: u64,
    /// The number of its memory space.
    pub space: Option<u64>,
    /// Whether it is alive at the peak of its memory space; `null` where no peak is known.
    pub at_peak: Option<bool>,
    /// The size over the bytes without padding.
    pub ratio: f64,
    /// The dimension whose rounding costs most.
    pub dimension: Option<Dimension>,
    /// The order of dimensions that takes the fewest bytes, if it takes fewer.
    pub order: Option<Order>,
}

/// A dimension that a tile rounds up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Dimension {
    /// Its number; `null` for one that only the tile has, and for all elements of an array without tiles.
    pub number: Option<u64>,
    /// Elements as the shape says.
    pub from: u64,
    /// Elements in memory.
    pub to: u64,
    /// The tile's extent.
    pub tile: Option<u64>,
}

/// An order of dimensions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Order {
    /// The numbers of the dimensions, fastest varying first.
    pub minor_to_major: Vec<u64>,
    /// The bytes that a value would take.
    pub bytes: u64,
}

/// The padding of all memory spaces, or of one; at most `limit` allocations and values.
pub fn padding<L>(source: &Source<'_, '_, L>, color: Option<u64>, limit: usize) -> Padding<L> {
    let dump = source.audit.dump;
    let found = table::padding(source.audit, color);
    let spaces = found.spaces.iter().map(|space| PaddedSpace {
        color: space.color,
        name: space::named(space.color, dump.platforms),
        padding_bytes: space.bytes,
        occupied_bytes: space.peak.map(|peak| peak.bytes),
        step: space.peak.map(|peak| peak.step),
    });
    let allocations = found.allocations.iter().take(limit);
    let allocations = allocations.filter_map(|padding| {
        let allocation = dump.allocations.get(padding.allocation as usize)?;
        Some(PaddedAllocation {
            allocation: allocation.index,
            space: allocation.color,
            bytes: allocation.size,
            padding_bytes: padding.bytes,
        })
    });
    let values = found.values.iter().take(limit);
    let values: Vec<PaddedValue<L>> = values
        .filter_map(|padding| padded_value(source, padding))
        .collect();
    Padding {
        reason: dump.occupancy().reason,
        spaces: spaces.collect(),
        allocations: allocations.collect(),
        allocations_left_out: found.allocations.len().saturating_sub(limit),
        values_left_out: found.values.len().saturating_sub(values.len()),
        values,
    }
}

fn padded_value<L>(source: &Source<'_, '_, L>, padding: &ValuePadding) -> Option<PaddedValue<L>> {
    let dump = source.audit.dump;
    let of_dump = dump.values.get(padding.value as usize)?;
    Some(PaddedValue {
        value: value(source, padding.value)?,
        padding_bytes: padding.bytes,
        space: dump.color_of(padding.value),
        at_peak: dump.is_at_peak(of_dump),
        // More digits than anybody needs would differ from machine to machine.
        ratio: (padding.ratio() * 100.0).round() / 100.0,
        dimension: padding.dimension.map(|rounded| Dimension {
            number: rounded.number,
            from: rounded.from,
            to: rounded.to,
            tile: rounded.tile,
        }),
        order: padding.order.as_ref().map(|(minor_to_major, bytes)| Order {
            minor_to_major: minor_to_major.clone(),
            bytes: *bytes,
        }),
    })
}
