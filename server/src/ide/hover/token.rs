//! The tokens inside a shape: what this very dimension, tile or letter means.

use buflens_syntax::{ArrayShape, SyntaxKind, SyntaxToken};

use super::space;
use crate::ide::markdown::escape;
use crate::model::Platforms;
use crate::model::bytes::{self, PaddedDimension, Padding};

/// What the very token means.
pub(super) fn meaning(token: &SyntaxToken, array: &ArrayShape, platforms: Platforms) -> String {
    // The how manieth of its kind among its siblings.
    let siblings = token
        .parent()
        .into_iter()
        .flat_map(|parent| parent.children_with_tokens());
    let place = siblings
        .filter(|sibling| sibling.kind() == token.kind())
        .position(|sibling| sibling.text_range() == token.text_range())
        .unwrap_or(0);
    match token.kind() {
        SyntaxKind::ElementType => format!(
            "**{}**: {}",
            escape(token.text()),
            element_type(token.text())
        ),
        SyntaxKind::Dimension => dimension_focus(place, array),
        SyntaxKind::MinorToMajor => match place {
            0 => format!(
                "**dimension {}** varies fastest: its elements are neighbours in memory",
                token.text()
            ),
            _ if place + 1 == array.dimensions.len() => {
                format!("**dimension {}** varies slowest", token.text())
            }
            1 => format!("**dimension {}** varies second fastest", token.text()),
            2 => format!("**dimension {}** varies third fastest", token.text()),
            _ => format!(
                "**dimension {}**: {place} dimensions vary faster",
                token.text()
            ),
        },
        SyntaxKind::TileSize => {
            let Some(tile) = token.parent() else {
                return String::new();
            };
            if tile
                .prev_sibling()
                .is_some_and(|before| before.kind() == SyntaxKind::Tile)
            {
                return "**inner tile**: reorders the elements within the tile before it"
                    .to_owned();
            }
            let extents = tile
                .children_with_tokens()
                .filter(|child| child.kind() == SyntaxKind::TileSize)
                .count();
            let layout = array.layout.as_ref();
            let minor = extents.checked_sub(place + 1);
            let number = layout
                .zip(minor)
                .and_then(|(layout, minor)| layout.minor_to_major.get(minor));
            match number {
                _ if token.text() == "*" => {
                    "**tile extent \\***: this dimension is combined with the next one".to_owned()
                }
                Some(number) => format!(
                    "**tile extent {}**: dimension {number} is rounded up to a multiple of it",
                    token.text()
                ),
                None if array.dimensions.is_empty() => format!(
                    "**tile extent {0}**: a scalar takes one whole tile of {0}",
                    token.text()
                ),
                None => format!(
                    "**tile extent {}**: the tile has more dimensions than the shape, whose missing ones count as 1 and are rounded up to it",
                    token.text()
                ),
            }
        }
        SyntaxKind::LayoutKeyword => layout_keyword(token.text()).to_owned(),
        SyntaxKind::MemorySpace => {
            space::meaning(token.text().parse().unwrap_or(0), false, platforms).finish()
        }
        _ => String::new(),
    }
}

fn dimension_focus(place: usize, array: &ArrayShape) -> String {
    let Some(dimension) = array.dimensions.get(place) else {
        return String::new();
    };
    let size = match (dimension.size, dimension.dynamic) {
        (Some(size), true) => format!(
            "at most {}, known at run time",
            bytes::counted(size, "element")
        ),
        (Some(size), false) => bytes::counted(size, "element"),
        (None, _) => "unbounded".to_owned(),
    };
    let padded = Padding::of(array).and_then(|padding| {
        let of_this = |row: &&PaddedDimension| row.numbers == [place as u64] && row.to != row.from;
        let row = padding.dimensions.iter().find(of_this)?.clone();
        Some(format!(
            ", {} in memory (tile {})",
            bytes::grouped(row.to),
            row.tile.unwrap_or(1)
        ))
    });
    format!(
        "**dimension {place}**: {size}{}",
        padded.unwrap_or_default()
    )
}

fn element_type(name: &str) -> &'static str {
    match name {
        "pred" => "boolean, one byte",
        "bf16" => "brain float: 16 bits with the exponent of an f32",
        "f16" => "IEEE half-precision float, 16 bits",
        "f32" => "IEEE single-precision float, 32 bits",
        "f64" => "IEEE double-precision float, 64 bits",
        "c64" => "complex number of two f32",
        "c128" => "complex number of two f64",
        "token" => "orders side effects; takes no bytes",
        "opaque" => "a pointer to something that XLA does not look into",
        _ if name.starts_with("f8") => "float of 8 bits",
        _ if name.starts_with("f4") => {
            "float of 4 bits; a whole byte each unless the layout says `E(4)`"
        }
        "s1" | "u1" | "s2" | "u2" | "s4" | "u4" => {
            "narrow integer; a whole byte each unless the layout has `E(n)`"
        }
        _ if name.starts_with('s') => "signed integer",
        _ if name.starts_with('u') => "unsigned integer",
        _ => "element type",
    }
}

fn layout_keyword(keyword: &str) -> &'static str {
    match keyword {
        "T" => {
            "**T(...)**: tiles, in elements. Dimensions are rounded up to the first tile, fastest varying dimension last."
        }
        "L" => "**L(n)**: the number of elements is rounded up to a multiple of n.",
        "E" => "**E(n)**: an element takes n bits; without it a narrow type takes a whole byte.",
        "S" => "**S(n)**: memory space n, the color of the value.",
        "SC" => {
            "**SC(d:cut)**: physical dimension d (0 varies slowest) is split at the cut between memories; sizes are per memory."
        }
        "M" => "**M(n)**: n bytes of run-time sizes stand before the data of a dynamic shape.",
        "D" => "**D(...)**: how each dimension is stored (dense, compressed ...).",
        "P" => "**P(...)**: the physical shape of a sparse array.",
        "#" => "**#(type)**: the type of a sparse array's indices.",
        "*" => "**\\*(type)**: the type of a sparse array's pointers.",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use buflens_syntax::{Document, Shape};

    use super::*;

    /// What each token of the shape in a value's line means.
    fn meanings(shape: &str) -> Vec<String> {
        let text = format!(
            "BufferAssignment:\nallocation 0: size 1, constant:\n value: <1 a @0> (size=1,offset=0): {shape}\n"
        );
        let document = Document::new(&text).unwrap();
        let Ok(Shape::Array(array)) = Shape::read(shape) else {
            panic!("{shape}")
        };
        let start = text.find(shape).unwrap();
        let tpu = Platforms {
            cpu: false,
            gpu: false,
            tpu: true,
        };
        let tokens = (start..start + shape.len()).filter_map(|at| document.token_at(at as u32));
        let mut all: Vec<String> = tokens
            .map(|(_, token)| meaning(&token, &array, tpu))
            .collect();
        all.dedup();
        all.retain(|meaning| !meaning.is_empty());
        all
    }

    #[test]
    fn every_part_of_a_layout_has_its_own_meaning() {
        assert_eq!(
            meanings("pred[32,513]{0,1:T(8,128)(4,1)E(8)S(1)}"),
            [
                "**pred**: boolean, one byte",
                "**dimension 0**: 32 elements, 128 in memory (tile 128)",
                "**dimension 1**: 513 elements, 520 in memory (tile 8)",
                "**dimension 0** varies fastest: its elements are neighbours in memory",
                "**dimension 1** varies slowest",
                "**T(...)**: tiles, in elements. Dimensions are rounded up to the first tile, fastest varying dimension last.",
                "**tile extent 8**: dimension 1 is rounded up to a multiple of it",
                "**tile extent 128**: dimension 0 is rounded up to a multiple of it",
                "**inner tile**: reorders the elements within the tile before it",
                "**E(n)**: an element takes n bits; without it a narrow type takes a whole byte.",
                "**S(n)**: memory space n, the color of the value.",
                "**memory space 1**: VMEM (TPU)\n\nOn-chip vector memory, apart from HBM: holds prefetched data and results that XLA keeps on chip.",
            ]
        );
    }

    #[test]
    fn a_tile_may_have_more_extents_than_the_shape() {
        assert!(meanings("f32[16]{0:T(8,128)}").contains(
            &"**tile extent 8**: the tile has more dimensions than the shape, whose missing ones count as 1 and are rounded up to it".to_owned()
        ));
    }
}
