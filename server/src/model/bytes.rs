//! Sizes in bytes: of shapes, with and without padding, and as people read them.
//!
//! A dump holds two sizes of an array. Lists of the live-range section count *unpadded* bytes,
//! [`logical_bytes`]; allocations count what is really taken, [`padded_bytes`], where a TPU's
//! tiles round dimensions up. Backends depart from the padded size in a few known ways, which
//! [`is_possible_size`] knows.

use buflens_syntax::{ArrayShape, Dimension, Layout, Shape, TileExtent};

use super::{Platforms, space};

/// Elements to which a TPU rounds up an array without tiles.
const UNTILED_ELEMENTS: u64 = 1024;
/// Bytes that a TPU puts before the data of a dynamic array.
pub const DYNAMIC_PREFIX: u64 = 1024;
/// Orders are only tried for arrays of at most so many dimensions; larger ones do not occur.
const MAX_ORDER_RANK: usize = 12;

/// Unpadded bytes, as the peak list counts them: of a tuple its table of pointers alone. `None`
/// for an unknown element type, an unbounded dimension, or more than 64 bits hold.
pub fn logical_bytes(shape: &Shape) -> Option<u64> {
    match shape {
        Shape::Array(array) => array_bytes(array),
        Shape::Tuple(elements) => (elements.len() as u64).checked_mul(8),
    }
}

/// The same of an array.
pub fn array_bytes(array: &ArrayShape) -> Option<u64> {
    bytes_of(array, elements(&array.dimensions)?)
}

/// The bytes that an array takes with its tiles, its alignment and, where it is split over
/// memories, in one of them. `None` as for [`logical_bytes`], or for a layout that makes no sense.
pub fn padded_bytes(array: &ArrayShape) -> Option<u64> {
    Padding::of(array).map(|padding| padding.bytes)
}

/// Whether some rule of a platform in `platforms` gives a value of this shape `size` bytes. A
/// shape whose size is unknown can have any.
pub fn is_possible_size(shape: &Shape, size: u64, platforms: Platforms) -> bool {
    match shape {
        Shape::Tuple(elements) => is_possible_table(elements.len() as u64, size, platforms),
        Shape::Array(array) => {
            possible_sizes(array, platforms).is_none_or(|sizes| sizes.contains(&Some(size)))
        }
    }
}

/// The sizes that the rules of the platforms in `platforms` give a value of this shape. `None` where any is possible.
pub fn possible_sizes(array: &ArrayShape, platforms: Platforms) -> Option<[Option<u64>; 3]> {
    let (padded, logical) = (padded_bytes(array)?, array_bytes(array)?);
    let with_sizes = padded.checked_add(run_time_sizes(array));
    let elsewhere = with_sizes.filter(|_| platforms.cpu || platforms.gpu);
    if !platforms.tpu {
        return Some([elsewhere, None, None]);
    }
    let prefix = if array.is_dynamic() {
        DYNAMIC_PREFIX
    } else {
        0
    };
    let is_tiled = array
        .layout
        .as_ref()
        .is_some_and(|layout| !layout.tiles.is_empty());
    let on_tpu = if is_sync_flag(array) {
        // Sync flags stand alone; a tile means nothing to them.
        [logical, padded]
    } else if is_tiled || padded == 0 {
        [padded, padded]
    } else {
        [untiled_tpu_bytes(array)?; 2]
    };
    let [one, other] = on_tpu.map(|bytes| bytes.checked_add(prefix));
    Some([elsewhere, one, other])
}

/// The bytes of the run-time sizes of all dimensions, which CPU and GPU append to a dynamic array.
pub fn run_time_sizes(array: &ArrayShape) -> u64 {
    if array.is_dynamic() {
        4 * array.dimensions.len() as u64
    } else {
        0
    }
}

/// The bytes that an array takes: with its padding, and on TPU in blocks where it has no tile.
pub fn taken(array: &ArrayShape, platforms: Platforms) -> Option<u64> {
    if is_untiled(array, platforms) {
        untiled_tpu_bytes(array)
    } else {
        padded_bytes(array)
    }
}

/// Whether it is an array on TPU whose layout has no tiles; that of a scalar is not printed then. Flags for
/// synchronisation never have any.
pub fn is_untiled(array: &ArrayShape, platforms: Platforms) -> bool {
    let layout = array.layout.as_ref();
    platforms.tpu
        && !(platforms.cpu || platforms.gpu)
        && layout.map_or(array.dimensions.is_empty(), |layout| {
            layout.tiles.is_empty()
        })
        && !is_sync_flag(array)
}

/// The bytes that a TPU gives an array without tiles outside of the sync-flag memories.
pub fn untiled_tpu_bytes(array: &ArrayShape) -> Option<u64> {
    bytes_of(array, untiled_tpu_elements(array)?)
}

/// The same in elements.
pub fn untiled_tpu_elements(array: &ArrayShape) -> Option<u64> {
    elements(&array.dimensions)?.checked_next_multiple_of(UNTILED_ELEMENTS)
}

/// Whether the table of pointers of a tuple with `elements` elements can have `size` bytes.
pub fn is_possible_table(elements: u64, size: u64, platforms: Platforms) -> bool {
    let narrow = elements.saturating_mul(4);
    ((platforms.cpu || platforms.gpu) && Some(size) == elements.checked_mul(8))
        || (platforms.tpu
            && (size == 0
                || Some(size) == narrow.checked_next_multiple_of(32)
                || Some(size) == narrow.checked_next_multiple_of(512)))
}

/// Whether the array lies in one of a TPU's memories for synchronisation flags, in which tiles mean nothing.
pub fn is_sync_flag(array: &ArrayShape) -> bool {
    array
        .layout
        .as_ref()
        .is_some_and(|layout| space::TPU_FLAGS.contains(&layout.memory_space))
}

/// The product of the dimensions, of dynamic ones the bounds.
pub fn elements(dimensions: &[Dimension]) -> Option<u64> {
    let sizes = dimensions.iter().map(|dimension| dimension.size);
    if sizes.clone().any(|size| size.is_none()) {
        return None;
    }
    product(sizes.flatten())
}

/// The product, where a 0 wins over an overflow.
fn product(factors: impl Iterator<Item = u64> + Clone) -> Option<u64> {
    if factors.clone().any(|factor| factor == 0) {
        return Some(0);
    }
    factors.into_iter().try_fold(1_u64, u64::checked_mul)
}

/// The bytes of `count` elements of the array's type.
fn bytes_of(array: &ArrayShape, count: u64) -> Option<u64> {
    match array.layout.as_ref().and_then(|layout| layout.element_bits) {
        Some(bits) => u64::try_from((u128::from(count) * u128::from(bits)).div_ceil(8)).ok(),
        None => count.checked_mul(u64::from(array.element.bits?.div_ceil(8))),
    }
}

/// A dimension, or several that a tile combines, as it lies in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaddedDimension {
    /// Numbers of the logical dimensions, the most minor first. None for a dimension that only
    /// the tile has.
    pub numbers: Vec<u64>,
    /// Elements as the shape says.
    pub whole: u64,
    /// Elements in one memory; less than `whole` where the layout splits the dimension.
    pub from: u64,
    /// The same, rounded up to the tile.
    pub to: u64,
    /// The tile's extent in elements.
    pub tile: Option<u64>,
}

/// How an array's bytes come about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Padding {
    /// The dimensions in the order of memory, the slowest varying first.
    pub dimensions: Vec<PaddedDimension>,
    /// Elements of all dimensions before the tail is aligned.
    pub tiled_elements: u64,
    /// Elements behind that.
    pub elements: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Padding {
    /// Computes the padding of an array; `None` where [`padded_bytes`] is.
    pub fn of(array: &ArrayShape) -> Option<Self> {
        let rank = array.dimensions.len() as u64;
        match &array.layout {
            Some(layout) => Self::with_order(array, layout, &layout.minor_to_major),
            None => Self::with_order(
                array,
                &Layout::default(),
                &(0..rank).rev().collect::<Vec<_>>(),
            ),
        }
    }

    fn with_order(array: &ArrayShape, layout: &Layout, order: &[u64]) -> Option<Self> {
        let rank = array.dimensions.len();
        let mut seen = vec![false; rank];
        for &number in order {
            if std::mem::replace(seen.get_mut(usize::try_from(number).ok()?)?, true) {
                return None;
            }
        }
        if order.len() != rank {
            return None;
        }
        // The first tile alone pads: the others only reorder the bytes within it.
        let tile = layout.tiles.first().filter(|_| !is_sync_flag(array));
        let tile = tile.map_or(&[][..], Vec::as_slice);
        let mut dimensions: Vec<PaddedDimension> = Vec::with_capacity(rank.max(tile.len()));
        for minor in 0..rank.max(tile.len()) {
            let extent = minor
                .checked_add(1)
                .and_then(|back| tile.len().checked_sub(back))
                .map(|at| tile[at]);
            let (numbers, whole, from) = match order.get(minor) {
                Some(&number) => {
                    let whole = array.dimensions[number as usize].size?;
                    (
                        vec![number],
                        whole,
                        largest_piece(layout, (rank - 1 - minor) as u64, whole),
                    )
                }
                None => (Vec::new(), 1, 1),
            };
            if let (Some(TileExtent::Combined), Some(last)) = (extent, dimensions.last_mut()) {
                last.numbers.extend(numbers);
                last.whole = last.whole.checked_mul(whole)?;
                last.from = last.from.checked_mul(from)?;
                continue;
            }
            let tile = match extent {
                Some(TileExtent::Elements(elements)) => Some(elements),
                Some(TileExtent::Combined) | None => None,
            };
            dimensions.push(PaddedDimension {
                numbers,
                whole,
                from,
                to: from,
                tile,
            });
        }
        for dimension in &mut dimensions {
            if let Some(tile) = dimension.tile {
                dimension.to = dimension.from.checked_next_multiple_of(tile)?;
            }
        }
        dimensions.reverse();
        let is_empty = array
            .dimensions
            .iter()
            .any(|dimension| dimension.size == Some(0));
        let tiled_elements = if is_empty {
            0
        } else {
            product(dimensions.iter().map(|dimension| dimension.to))?
        };
        let elements = match layout.tail_alignment {
            Some(alignment) => tiled_elements.checked_next_multiple_of(alignment)?,
            None => tiled_elements,
        };
        Some(Self {
            dimensions,
            tiled_elements,
            elements,
            bytes: bytes_of(array, elements)?,
        })
    }

    /// The dimension whose rounding costs most.
    pub fn blame(&self) -> Option<&PaddedDimension> {
        // to / from compared without dividing; the widest dimension wins a tie.
        self.dimensions
            .iter()
            .filter(|dimension| dimension.to > dimension.from && dimension.from > 0)
            .max_by(|a, b| {
                let a_ratio = u128::from(a.to) * u128::from(b.from);
                let b_ratio = u128::from(b.to) * u128::from(a.from);
                a_ratio.cmp(&b_ratio).then(a.from.cmp(&b.from))
            })
    }
}

/// The largest piece of a dimension of `whole` elements, the `physical`th from the most major
/// one, that lies in one memory.
fn largest_piece(layout: &Layout, physical: u64, whole: u64) -> u64 {
    let Some((_, cuts)) = layout
        .splits
        .iter()
        .find(|(dimension, _)| *dimension == physical)
    else {
        return whole;
    };
    let mut cuts: Vec<u64> = cuts.iter().copied().filter(|&cut| cut < whole).collect();
    cuts.sort_unstable();
    cuts.push(whole);
    let mut start = 0;
    cuts.into_iter()
        .map(|cut| cut - std::mem::replace(&mut start, cut))
        .max()
        .unwrap_or(whole)
}

/// The order of the dimensions, fastest varying first, that takes the fewest bytes under the same
/// tiles, and those bytes; `None` if no order takes fewer than the array's own. All orders of up to
/// four dimensions are tried; of more, all choices of the two fastest ones.
pub fn best_order(array: &ArrayShape) -> Option<(Vec<u64>, u64)> {
    let layout = array
        .layout
        .as_ref()
        .filter(|layout| !layout.tiles.is_empty() && layout.splits.is_empty())?;
    let own = &layout.minor_to_major;
    if own.len() > MAX_ORDER_RANK {
        return None;
    }
    let now = padded_bytes(array)?;
    let mut orders = Vec::new();
    if own.len() <= 4 {
        permutations(&mut own.clone(), 0, &mut orders);
    } else {
        for first in 0..own.len() {
            for second in (0..own.len()).filter(|&second| second != first) {
                let rest = (0..own.len()).filter(|&at| at != first && at != second);
                orders.push(
                    [first, second]
                        .into_iter()
                        .chain(rest)
                        .map(|at| own[at])
                        .collect(),
                );
            }
        }
    }
    let changes = |order: &[u64]| {
        order
            .iter()
            .zip(own)
            .filter(|(new, old)| new != old)
            .count()
    };
    orders
        .into_iter()
        .filter_map(|order| Some((Padding::with_order(array, layout, &order)?.bytes, order)))
        .filter(|(bytes, _)| *bytes < now)
        .min_by_key(|(bytes, order)| (*bytes, changes(order)))
        .map(|(bytes, order)| (order, bytes))
}

fn permutations(order: &mut Vec<u64>, from: usize, all: &mut Vec<Vec<u64>>) {
    if from == order.len() {
        all.push(order.clone());
        return;
    }
    for at in from..order.len() {
        order.swap(from, at);
        permutations(order, from + 1, all);
        order.swap(from, at);
    }
}

/// Bytes exactly as XLA prints them: `1023B`, `36.0KiB`, `1.26GiB`. XLA truncates before its last
/// division, so the text can be slightly below the rounded value.
pub fn human(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let (mut rest, mut unit) = (bytes, 0);
    while rest >= 1024 * 1024 {
        rest /= 1024;
        unit += 1;
    }
    let (decimals, scale) = if unit == 0 { (1, 10) } else { (2, 100) };
    // Half of the last digit goes to the even one, as `printf` rounds.
    let (mut digits, left) = (rest * scale / 1024, rest * scale % 1024);
    digits += u64::from(left > 512 || left == 512 && digits % 2 == 1);
    let (whole, part) = (digits / scale, digits % scale);
    format!("{whole}.{part:0decimals$}{}iB", UNITS[unit])
}

/// The first letters of KiB and its larger kin; 64 bits end at E.
const UNITS: [&str; 6] = ["K", "M", "G", "T", "P", "E"];

/// Bytes for people, rounded: `512 B`, `325.0 MiB`, `1.26 GiB`.
pub fn rounded(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let (mut value, mut unit) = (bytes as f64 / 1024.0, 0);
    // 1023.95 would be printed as 1024.0.
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = if unit < 2 { 1 } else { 2 };
    format!("{value:.decimals$} {}iB", UNITS[unit])
}

/// Bytes for people, rounded and exact: `325.0 MiB (340,787,200 B)`; below 1 KiB just `512 B`.
pub fn display(bytes: u64) -> String {
    if bytes < 1024 {
        rounded(bytes)
    } else {
        format!("{} ({} B)", rounded(bytes), grouped(bytes))
    }
}

/// What [`read`] accepts.
pub const EXPECTED: &str = "expected a number of bytes, or a text with the unit B, KiB, MiB, GiB or TiB such as \
     \"15.75GiB\"";

/// Bytes as people write them: `15.75GiB`, `12 MiB`, `123`, and as TPU compilers do: `15.75G`. Units
/// are powers of 1024, since XLA's are.
///
/// # Errors
/// [`EXPECTED`], for anything else and for more than 64 bits hold.
pub fn read(text: &str) -> Result<u64, String> {
    exact(text).ok_or_else(|| EXPECTED.to_owned())
}

fn exact(text: &str) -> Option<u64> {
    let text = text.trim();
    let unit = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(unit.unwrap_or(text.len()));
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kib" | "k" => 1 << 10,
        "mib" | "m" => 1 << 20,
        "gib" | "g" => 1 << 30,
        "tib" | "t" => 1 << 40,
        _ => return None,
    };
    let Some((whole, part)) = number.split_once('.') else {
        return number.parse::<u64>().ok()?.checked_mul(factor);
    };
    // Parts of a byte mean nothing, nor do more digits than tell bytes of a TiB apart.
    if factor == 1 || part.len() > 12 {
        return None;
    }
    let whole = whole.parse::<u64>().ok()?.checked_mul(factor)?;
    let parts = u128::from(part.parse::<u64>().ok()?) * u128::from(factor);
    let part = u64::try_from(parts / 10_u128.pow(part.len() as u32)).ok()?;
    whole.checked_add(part)
}

/// A number with separators: `340,787,200`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How many there are of what `one` names one of: `1 value`, `1,234 values`.
pub fn counted<N: TryInto<u64>>(number: N, one: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {one}{plural}", grouped(number))
}

/// A difference as `shown` writes numbers: `+324.0 MiB`, `-7`, `0`.
pub fn signed(number: i64, shown: impl Fn(u64) -> String) -> String {
    let sign = match number {
        1.. => "+",
        0 => "",
        _ => "-",
    };
    format!("{sign}{}", shown(number.unsigned_abs()))
}

#[cfg(test)]
mod tests;
