//! Where bytes go into padding: by value, by allocation and by memory space.

use super::Audit;
use buflens_syntax::ArrayShape;

use crate::model::bytes::{Padding, best_order, elements, untiled_tpu_bytes, untiled_tpu_elements};
use crate::model::occupancy::{Moment, alive, exclusive};

/// All padding of a dump.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PaddingTable {
    /// Each memory space, by number.
    pub spaces: Vec<SpacePadding>,
    /// The allocations with padding, that with the most first.
    pub allocations: Vec<AllocationPadding>,
    /// The values with padding, that with the most first.
    pub values: Vec<ValuePadding>,
}

/// The padding of a memory space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpacePadding {
    /// The memory space.
    pub color: u64,
    /// Its peak; `None` if that is not known.
    pub peak: Option<Moment>,
    /// Bytes of padding among those occupied at the peak.
    pub bytes: Option<u64>,
}

/// The padding of an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllocationPadding {
    /// The allocation, as a number into [`crate::model::Dump::allocations`].
    pub allocation: u32,
    /// The padding of the value that has the most in it: values of one allocation may share bytes.
    pub bytes: u64,
}

/// The padding of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValuePadding {
    /// The value, as a number into [`crate::model::Dump::values`].
    pub value: u32,
    /// Bytes of padding.
    pub bytes: u64,
    /// Bytes without padding.
    pub logical: u64,
    /// The dimension whose rounding costs most.
    pub dimension: Option<Rounded>,
    /// The order of the dimensions, fastest varying first, that takes the fewest bytes under the
    /// same tiles, and these bytes. `None` if no order takes fewer.
    pub order: Option<(Vec<u64>, u64)>,
}

/// A dimension that a tile rounds up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rounded {
    /// The dimension; `None` for one that only the tile has, and for all elements of an array without tiles.
    pub number: Option<u64>,
    /// Elements as the shape says.
    pub from: u64,
    /// Elements in memory.
    pub to: u64,
    /// The tile's extent in elements.
    pub tile: Option<u64>,
}

impl ValuePadding {
    /// Size by bytes without padding; at least 1.
    pub fn ratio(&self) -> f64 {
        (self.bytes.saturating_add(self.logical)) as f64 / self.logical.max(1) as f64
    }
}

/// The padding of every value, or of those of one memory space.
pub fn padding(audit: &Audit, color: Option<u64>) -> PaddingTable {
    let dump = audit.dump;
    let mut table = PaddingTable::default();
    for (number, allocation) in dump.allocations.iter().enumerate() {
        if color.is_some_and(|color| color != allocation.color) {
            continue;
        }
        let values = allocation.values.clone();
        let of_allocation: Vec<ValuePadding> =
            values.filter_map(|at| of_value(audit, at)).collect();
        if let Some(most) = of_allocation.iter().map(|padding| padding.bytes).max() {
            table.allocations.push(AllocationPadding {
                allocation: number as u32,
                bytes: most,
            });
        }
        table.values.extend(of_allocation);
    }
    table
        .allocations
        .sort_by_key(|padding| (std::cmp::Reverse(padding.bytes), padding.allocation));
    table
        .values
        .sort_by_key(|padding| (std::cmp::Reverse(padding.bytes), padding.value));
    let spaces = dump.occupancy().spaces.iter();
    let spaces = spaces.filter(|space| color.is_none_or(|color| color == space.color));
    table.spaces = spaces
        .map(|space| SpacePadding {
            color: space.color,
            peak: space.peak(),
            bytes: space
                .peak()
                .map(|peak| at_step(audit, space.color, peak.step)),
        })
        .collect();
    table
}

/// The padding of value `at`, if it has some.
pub fn of_value(audit: &Audit, at: u32) -> Option<ValuePadding> {
    let dump = audit.dump;
    let value = dump.values.get(at as usize)?;
    let bytes = audit.shapes.padding(value);
    if bytes == 0 {
        return None;
    }
    let array = audit.shapes.array_of(value)?;
    let padded = Padding::of(array)?;
    Some(ValuePadding {
        value: at,
        bytes,
        logical: value.size - bytes,
        dimension: match padded.blame() {
            Some(dimension) => Some(Rounded {
                number: dimension.numbers.first().copied(),
                from: dimension.from,
                to: dimension.to,
                tile: dimension.tile,
            }),
            None if dump.platforms.tpu && untiled_tpu_bytes(array) == Some(value.size) => {
                untiled(array)
            }
            None => None,
        },
        order: best_order(array),
    })
}

/// What a TPU makes of the elements of an array without tiles.
fn untiled(array: &ArrayShape) -> Option<Rounded> {
    Some(Rounded {
        number: None,
        from: elements(&array.dimensions)?,
        to: untiled_tpu_elements(array)?,
        tile: None,
    })
}

/// The bytes of padding among those that memory space `color` occupies at `step`.
pub fn at_step(audit: &Audit, color: u64, step: u64) -> u64 {
    let dump = audit.dump;
    exclusive(dump, &alive(dump, color, step))
        .into_iter()
        .map(|(at, share)| {
            let value = &dump.values[at as usize];
            let padding = audit.shapes.padding(value);
            // Of a value that lies partly under another, as large a part of the padding.
            let part = u128::from(padding) * u128::from(share) / u128::from(value.size.max(1));
            u64::try_from(part).unwrap_or(u64::MAX)
        })
        .fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::fixture::audited;
    use crate::model::source::Libraries;

    #[test]
    fn without_a_tile_all_elements_are_rounded_up() {
        let dump = audited(
            "BufferAssignment:\nallocation 0: size 8192, preallocated-temp:\n value: <0 a.1 @0> (size=4096,offset=0): f32[2,2]{1,0:T(8,128)}\n value: <1 c.1 @0> (size=4096,offset=4096): u32[3]\n",
        );
        let audit = Audit::new(&dump, Libraries::default());
        let of = |at| of_value(&audit, at).and_then(|it| it.dimension);
        let untiled = Rounded {
            number: None,
            from: 3,
            to: 1024,
            tile: None,
        };
        assert_eq!(of(1), Some(untiled));
        assert_eq!(of(0).and_then(|it| it.tile), Some(128));
    }
}
