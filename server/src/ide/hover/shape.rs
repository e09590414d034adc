//! Shapes, layouts, tiles and dimensions: what the bytes are made of.

use std::sync::Arc;

use buflens_syntax::{ArrayShape, Layout, Shape, SyntaxKind, SyntaxNode, SyntaxToken, TileExtent};

use super::{Context, token};
use crate::ide::markdown::{Table, Text, code, cut};
use crate::model::Platforms;
use crate::model::bytes::{self, PaddedDimension, Padding};

/// Shapes are shown with so many characters.
pub(super) const SHAPE_LIMIT: usize = 200;
/// So many elements of a tuple are listed.
const MAX_ELEMENTS: usize = 8;

/// The hover on `token`, which is in the shape `node`, whose text is `text`.
pub(super) fn hover(
    token: &SyntaxToken,
    node: &SyntaxNode,
    text: &str,
    context: &Context,
) -> Option<String> {
    if node.kind() == SyntaxKind::TupleShape {
        // It may have tens of thousands of elements, of which few are shown.
        let elements = node.children().take(MAX_ELEMENTS);
        let shapes = elements.map(|element| Shape::read(&element.text().to_string()).ok());
        return tuple(
            text,
            &shapes.collect::<Option<Vec<Shape>>>()?,
            context.takers(),
        );
    }
    let array = array_shape(text)?;
    let focus = token::meaning(token, &array, context.platforms);
    let body = self::array(text, &array, context.takers());
    Some(if focus.is_empty() {
        body
    } else {
        format!("{focus}\n\n{body}")
    })
}

/// The array that `text` is the shape of. A tuple is none, and can be so long that reading it takes
/// milliseconds.
pub(super) fn array_shape(text: &str) -> Option<Arc<ArrayShape>> {
    if text.starts_with('(') {
        return None;
    }
    match Shape::read(text) {
        Ok(Shape::Array(array)) => Some(array),
        _ => None,
    }
}

/// `` `f32[32,513]{1,0}` `` within the limit.
pub(super) fn shown(text: &str) -> String {
    code(&cut(text, SHAPE_LIMIT))
}

/// `4.05x`, or `+0.01 %` where two decimals would hide it.
pub(super) fn ratio(bytes: u64, of: u64) -> String {
    let ratio = bytes as f64 / of.max(1) as f64;
    if ratio >= 1.005 || bytes <= of {
        format!("{ratio:.2}x")
    } else {
        format!("+{:.2} %", (ratio - 1.0) * 100.0)
    }
}

/// `dimension 1, 513 -> 520`: what costs most.
pub(super) fn blame(padding: &Padding) -> Option<String> {
    let worst = padding.blame()?;
    if worst.numbers.is_empty() && padding.dimensions.len() == 1 {
        return Some(format!(
            "a scalar takes a tile of {} elements",
            bytes::grouped(worst.to)
        ));
    }
    Some(format!(
        "{}, {} -> {}",
        dimension_name(worst),
        bytes::grouped(worst.from),
        bytes::grouped(worst.to)
    ))
}

fn dimension_name(dimension: &PaddedDimension) -> String {
    match dimension.numbers.as_slice() {
        [] => "a dimension that only the tile has".to_owned(),
        [number] => format!("dimension {number}"),
        numbers => {
            let numbers: Vec<String> = numbers.iter().rev().map(u64::to_string).collect();
            format!("dimensions {} combined", numbers.join(" and "))
        }
    }
}

/// The hover on the tuple `text`, which begins with these elements.
fn tuple(text: &str, first: &[Shape], platforms: Platforms) -> Option<String> {
    let elements = Shape::tuple_elements(text)?;
    let mut hover = Text::new(&format!(
        "**tuple** of {}: {}",
        bytes::counted(elements, "element"),
        shown(text)
    ));
    hover.paragraph(&format!(
        "A value of this shape is a table of pointers only; the elements are values elsewhere (some are other names of operands). XLA's lists \
         count {} for the table (8 B per element).",
        bytes::display(elements as u64 * 8),
    ));
    if elements == 0 {
        return Some(hover.finish());
    }
    // Where shapes are printed without, only a scalar may have none.
    let has_layouts = first.iter().any(|element| match element {
        Shape::Array(array) => array.layout.is_some(),
        Shape::Tuple(_) => false,
    });
    let columns = if has_layouts { 4 } else { 3 };
    let head = ["element", "shape", "unpadded", "with padding"];
    let mut table = Table::default();
    table.row(head.into_iter().take(columns).map(str::to_owned));
    for (number, element) in first.iter().enumerate().take(MAX_ELEMENTS) {
        let (shape, padded) = match element {
            Shape::Array(array) => {
                let is_laid_out = array.layout.is_some() || array.dimensions.is_empty();
                let padded = bytes::taken(array, platforms).filter(|_| is_laid_out);
                (without_layout(array), padded)
            }
            Shape::Tuple(inner) => (format!("tuple of {}", inner.len()), None),
        };
        let size = |size: Option<u64>| size.map_or_else(String::new, bytes::display);
        let unpadded = size(bytes::logical_bytes(element));
        let row = [
            format!("`{{{number}}}`"),
            code(&cut(&shape, 60)),
            unpadded,
            size(padded),
        ];
        table.row(row.into_iter().take(columns));
    }
    hover.paragraph(&table.to_string());
    if let Some(more) = elements.checked_sub(MAX_ELEMENTS).filter(|&more| more > 0) {
        hover.paragraph(&format!("and {} more", bytes::grouped(more as u64)));
    }
    Some(hover.finish())
}

/// `f32[32,<=513]`
fn without_layout(array: &ArrayShape) -> String {
    let dimensions: Vec<String> = array
        .dimensions
        .iter()
        .map(|dimension| match (dimension.size, dimension.dynamic) {
            (None, _) => "?".to_owned(),
            (Some(size), true) => format!("<={size}"),
            (Some(size), false) => size.to_string(),
        })
        .collect();
    format!("{}[{}]", array.element.name, dimensions.join(","))
}

/// The bytes of an array and how they come about.
fn array(text: &str, array: &ArrayShape, platforms: Platforms) -> String {
    let logical = bytes::array_bytes(array);
    let Some((padding, logical)) = Padding::of(array).zip(logical) else {
        return format!("{}: its size cannot be told from the text", shown(text));
    };
    let Some(layout) = &array.layout else {
        let note = if array
            .element
            .bits
            .is_some_and(|bits| (1..8).contains(&bits))
        {
            ", less if elements share bytes: no layout is printed here to tell"
        } else if array.dimensions.is_empty() {
            ""
        } else {
            "; no layout is printed here, so padding is not told"
        };
        return format!("{}: {} of data{note}", shown(text), bytes::display(logical));
    };
    let is_split = padding
        .dimensions
        .iter()
        .any(|dimension| dimension.from != dimension.whole);
    let mut hover = Text::default();
    let untiled = bytes::taken(array, platforms).filter(|_| bytes::is_untiled(array, platforms));
    if let Some(taken) = untiled.filter(|&taken| taken != logical) {
        hover.paragraph(&format!(
            "{} for {} of data: without a tile a TPU takes blocks of 1,024 elements",
            bytes::display(taken),
            bytes::display(logical)
        ));
        hover.paragraph(&shown(text));
    } else if is_split {
        hover.paragraph(&format!(
            "{}: {} in each memory, padding included, for {} of data in all",
            shown(text),
            bytes::display(padding.bytes),
            bytes::display(logical)
        ));
    } else if padding.bytes == logical {
        hover.paragraph(&format!(
            "{}: {}, {}",
            shown(text),
            bytes::display(logical),
            if array.is_dynamic() {
                "without its run-time sizes"
            } else {
                "no padding"
            }
        ));
    } else {
        hover.paragraph(&format!(
            "{} for {} of data: **{}**",
            bytes::display(padding.bytes),
            bytes::display(logical),
            ratio(padding.bytes, logical)
        ));
        hover.paragraph(&shown(text));
    }
    if array.dimensions.len() > 1 {
        let order: Vec<String> = layout
            .minor_to_major
            .iter()
            .rev()
            .filter_map(|&number| {
                let size = array.dimensions.get(usize::try_from(number).ok()?)?.size?;
                Some(format!("dimension {number} ({})", bytes::grouped(size)))
            })
            .take(8)
            .collect();
        hover.item(&format!(
            "memory order, slowest first: {}",
            order.join(", ")
        ));
    }
    for dimension in padding
        .dimensions
        .iter()
        .filter(|dimension| dimension.from != dimension.whole)
    {
        hover.item(&format!(
            "split over several memories: {} of {} elements of {} in the fullest one",
            bytes::grouped(dimension.from),
            bytes::grouped(dimension.whole),
            dimension_name(dimension),
        ));
    }
    if !bytes::is_sync_flag(array) {
        tiles(&mut hover, array, layout, &padding);
    } else if !layout.tiles.is_empty() {
        hover.item("the tile means nothing for synchronisation flags");
    }
    if let Some(alignment) = layout.tail_alignment {
        hover.item(&format!(
            "tail alignment L({alignment}): {} -> {} elements",
            bytes::grouped(padding.tiled_elements),
            bytes::grouped(padding.elements),
        ));
    }
    if padding.bytes > logical
        && let Some((order, bytes)) = bytes::best_order(array)
    {
        let order: Vec<String> = order.iter().map(u64::to_string).collect();
        hover.item(&format!(
            "order `{{{}}}` with the same tile: {} ({}), if the operations around it allow",
            order.join(","),
            bytes::display(bytes),
            ratio(bytes, logical),
        ));
    }
    if array.is_dynamic() {
        hover.item(&format!(
            "dynamic: sizes behind `<=` are bounds, for which memory is kept; run-time sizes take {} more",
            match bytes::run_time_sizes(array) {
                sizes if platforms.cpu || platforms.gpu => bytes::display(sizes),
                _ if platforms.tpu => bytes::display(bytes::DYNAMIC_PREFIX),
                _ => "some bytes".to_owned(),
            }
        ));
    }
    hover.finish()
}

fn tiles(hover: &mut Text, array: &ArrayShape, layout: &Layout, padding: &Padding) {
    let Some(first) = layout.tiles.first() else {
        return;
    };
    let extents: Vec<String> = first.iter().map(extent).collect();
    let tiled: Vec<&PaddedDimension> = padding
        .dimensions
        .iter()
        .filter(|dimension| dimension.tile.is_some())
        .collect();
    let worst = padding.blame();
    let scalar = array
        .dimensions
        .is_empty()
        .then(|| "a scalar takes a whole one".to_owned());
    let roundings: Vec<String> = tiled
        .iter()
        .map(|dimension| {
            let name = dimension_name(dimension);
            let (from, to) = (bytes::grouped(dimension.from), bytes::grouped(dimension.to));
            if dimension.from == dimension.to {
                format!("{name} {from} fits")
            } else if worst == Some(dimension) {
                format!("{name} {from} -> **{to}**")
            } else {
                format!("{name} {from} -> {to}")
            }
        })
        .collect();
    hover.item(&format!(
        "tile {}: {}",
        extents.join(" x "),
        scalar.unwrap_or_else(|| roundings.join(", "))
    ));
    for inner in &layout.tiles[1..] {
        hover.item(&inner_tile(inner, array, layout));
    }
    let elements_per_tile = tiled
        .iter()
        .try_fold(1_u64, |all, dimension| all.checked_mul(dimension.tile?));
    if let Some(elements) = elements_per_tile.filter(|&elements| elements > 1) {
        let counts: Vec<String> = padding
            .dimensions
            .iter()
            .map(|dimension| bytes::grouped(dimension.to / dimension.tile.unwrap_or(1).max(1)))
            .collect();
        hover.item(&format!(
            "{} tile{} of {} elements x {}",
            counts.join(" x "),
            if counts.iter().all(|count| count == "1") {
                ""
            } else {
                "s"
            },
            bytes::grouped(elements),
            element_width(array, layout),
        ));
    }
}

fn extent(extent: &TileExtent) -> String {
    match extent {
        TileExtent::Elements(elements) => elements.to_string(),
        TileExtent::Combined => "*".to_owned(),
    }
}

/// Tiles behind the first one reorder the bytes within it.
fn inner_tile(tile: &[TileExtent], array: &ArrayShape, layout: &Layout) -> String {
    let text: Vec<String> = tile.iter().map(extent).collect();
    let text = text.join(",");
    let bits = layout.element_bits.or(array.element.bits.map(u64::from));
    if let ([TileExtent::Elements(rows), TileExtent::Elements(1)], Some(bits)) = (tile, bits)
        && let Some(word) = rows.checked_mul(bits)
    {
        return format!(
            "({text}) packs {rows} rows of {bits}-bit elements into {word}-bit words, no padding"
        );
    }
    format!("({text}) orders the elements within the tile, no padding")
}

fn element_width(array: &ArrayShape, layout: &Layout) -> String {
    match (layout.element_bits, array.element.bits) {
        (Some(bits), _) => format!("{bits} bits"),
        (None, Some(bits)) => format!("{} B", bits.div_ceil(8)),
        (None, None) => "?".to_owned(),
    }
}

#[cfg(test)]
// Expected texts are written by a tool.
#[allow(clippy::needless_raw_string_hashes)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    const ANY: Platforms = Platforms {
        cpu: true,
        gpu: true,
        tpu: true,
    };
    const TPU: Platforms = Platforms {
        cpu: false,
        gpu: false,
        tpu: true,
    };

    #[test]
    fn a_tpu_takes_blocks_where_there_is_no_tile() {
        let text = "u32[]{:S(6)}";
        let Ok(Shape::Array(array)) = Shape::read(text) else {
            panic!("{text}")
        };
        assert_eq!(bytes::taken(&array, TPU), Some(4096));
        assert_eq!(bytes::taken(&array, ANY), Some(4));
        // The layout of a scalar is not printed if it has no tile.
        let Ok(Shape::Array(scalar)) = Shape::read("u32[]") else {
            panic!("a scalar")
        };
        assert_eq!(bytes::taken(&scalar, TPU), Some(4096));
        expect![[r#"
            4.0 KiB (4,096 B) for 4 B of data: without a tile a TPU takes blocks of 1,024 elements

            `u32[]{:S(6)}`"#]]
        .assert_eq(&super::array(text, &array, TPU));
        let Ok(Shape::Array(flag)) = Shape::read("u32[]{:S(2)}") else {
            panic!("{text}")
        };
        assert_eq!(bytes::taken(&flag, TPU), Some(4));
    }

    fn check(text: &str, expect: &Expect) {
        let shape = Shape::read(text).unwrap();
        expect.assert_eq(&match &shape {
            Shape::Array(array) => super::array(text, array, ANY),
            Shape::Tuple(elements) => tuple(text, elements, ANY).unwrap(),
        });
    }

    #[test]
    fn tiles_and_packing() {
        check(
            "bf16[4,8,513,5120]{3,2,1,0:T(8,128)(2,1)}",
            &expect![[r#"
                162.5 MiB (170,393,600 B) for 160.3 MiB (168,099,840 B) of data: **1.01x**

                `bf16[4,8,513,5120]{3,2,1,0:T(8,128)(2,1)}`

                - memory order, slowest first: dimension 0 (4), dimension 1 (8), dimension 2 (513), dimension 3 (5,120)
                - tile 8 x 128: dimension 2 513 -> **520**, dimension 3 5,120 fits
                - (2,1) packs 2 rows of 16-bit elements into 32-bit words, no padding
                - 4 x 8 x 65 x 40 tiles of 1,024 elements x 2 B
                - order `{3,1,2,0}` with the same tile: 160.3 MiB (168,099,840 B) (1.00x), if the operations around it allow"#]],
        );
        check(
            "f32[16]{0:T(8,128)}",
            &expect![[r#"
                4.0 KiB (4,096 B) for 64 B of data: **64.00x**

                `f32[16]{0:T(8,128)}`

                - tile 8 x 128: a dimension that only the tile has 1 -> 8, dimension 0 16 -> **128**
                - 1 x 1 tile of 1,024 elements x 4 B"#]],
        );
        check(
            "bf16[]{:T(256)}",
            &expect![[r#"
                512 B for 2 B of data: **256.00x**

                `bf16[]{:T(256)}`

                - tile 256: a scalar takes a whole one
                - 1 tile of 256 elements x 2 B"#]],
        );
        check(
            "s4[64,100]{1,0:T(64,128)(8,1)E(4)}",
            &expect![[r#"
                4.0 KiB (4,096 B) for 3.1 KiB (3,200 B) of data: **1.28x**

                `s4[64,100]{1,0:T(64,128)(8,1)E(4)}`

                - memory order, slowest first: dimension 0 (64), dimension 1 (100)
                - tile 64 x 128: dimension 0 64 fits, dimension 1 100 -> **128**
                - (8,1) packs 8 rows of 4-bit elements into 32-bit words, no padding
                - 1 x 1 tile of 8,192 elements x 4 bits"#]],
        );
    }

    #[test]
    fn alignment_and_splits() {
        check(
            "s32[100]{0:T(1)L(128)S(4)}",
            &expect![[r#"
                512 B for 400 B of data: **1.28x**

                `s32[100]{0:T(1)L(128)S(4)}`

                - tile 1: dimension 0 100 fits
                - tail alignment L(128): 100 -> 128 elements"#]],
        );
        check(
            "f32[9,129]{1,0:T(8,128)S(1)SC(0:8)}",
            &expect![[r#"
                `f32[9,129]{1,0:T(8,128)S(1)SC(0:8)}`: 8.0 KiB (8,192 B) in each memory, padding included, for 4.5 KiB (4,644 B) of data in all

                - memory order, slowest first: dimension 0 (9), dimension 1 (129)
                - split over several memories: 8 of 9 elements of dimension 0 in the fullest one
                - tile 8 x 128: dimension 0 8 fits, dimension 1 129 -> **256**
                - 1 x 2 tiles of 1,024 elements x 4 B"#]],
        );
    }

    #[test]
    fn dynamic_and_unknown() {
        check(
            "s64[<=300,2]{1,0}",
            &expect![[r#"
                `s64[<=300,2]{1,0}`: 4.7 KiB (4,800 B), without its run-time sizes

                - memory order, slowest first: dimension 0 (300), dimension 1 (2)
                - dynamic: sizes behind `<=` are bounds, for which memory is kept; run-time sizes take 8 B more"#]],
        );
        check(
            "f32[?]{0}",
            &expect!["`f32[?]{0}`: its size cannot be told from the text"],
        );
    }

    #[test]
    fn tiles_of_flags_and_bits_without_layout_tell_no_padding() {
        check(
            "u32[]{:T(128)S(2)}",
            &expect![[r#"
            `u32[]{:T(128)S(2)}`: 4 B, no padding

            - the tile means nothing for synchronisation flags"#]],
        );
        check(
            "f4e2m1fn[32,256]",
            &expect![
                "`f4e2m1fn[32,256]`: 8.0 KiB (8,192 B) of data, less if elements share bytes: no layout is printed here to tell"
            ],
        );
    }

    #[test]
    fn a_tuple_is_a_table() {
        check(
            "(f32[9]{0:T(128)}, (s32[], pred[2]), s8[1], s8[2], s8[3], /*index=5*/s8[4], s8[5], s8[6], s8[7], s8[8])",
            &expect![[r#"
                **tuple** of 10 elements: `(f32[9]{0:T(128)}, (s32[], pred[2]), s8[1], s8[2], s8[3], /*index=5*/s8[4], s8[5], s8[6], s8[7], s8[8])`

                A value of this shape is a table of pointers only; the elements are values elsewhere (some are other names of operands). XLA's lists count 80 B for the table (8 B per element).

                | element | shape      | unpadded | with padding |
                |:--------|:-----------|:---------|:---|
                | `{0}`     | `f32[9]`     | 36 B     | 512 B |
                | `{1}`     | `tuple of 2` | 16 B     |  |
                | `{2}`     | `s8[1]`      | 1 B      |  |
                | `{3}`     | `s8[2]`      | 2 B      |  |
                | `{4}`     | `s8[3]`      | 3 B      |  |
                | `{5}`     | `s8[4]`      | 4 B      |  |
                | `{6}`     | `s8[5]`      | 5 B      |  |
                | `{7}`     | `s8[6]`      | 6 B      |  |

                and 2 more"#]],
        );
        // As in the header of an allocation, or in a report.
        check(
            "(f32[9], u32[])",
            &expect![[r#"
            **tuple** of 2 elements: `(f32[9], u32[])`

            A value of this shape is a table of pointers only; the elements are values elsewhere (some are other names of operands). XLA's lists count 16 B for the table (8 B per element).

            | element | shape  | unpadded |
            |:--------|:-------|:---|
            | `{0}`     | `f32[9]` | 36 B |
            | `{1}`     | `u32[]`  | 4 B |"#]],
        );
        check(
            "()",
            &expect![[r#"
                **tuple** of 0 elements: `()`

                A value of this shape is a table of pointers only; the elements are values elsewhere (some are other names of operands). XLA's lists count 0 B for the table (8 B per element)."#]],
        );
    }

    #[test]
    fn ratios_are_never_hidden() {
        assert_eq!(ratio(66_560, 16_416), "4.05x");
        assert_eq!(ratio(1_001, 1_000), "+0.10 %");
        assert_eq!(ratio(1_000, 1_000), "1.00x");
    }
}
