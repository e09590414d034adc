//! Where bytes go into padding.

use super::{STATIC, counted, is_worth, live, percent, short_source};
use crate::model::bytes::{display, rounded};
use crate::report::page::Page;
use crate::report::records::{Answer, PaddedSpace, PaddedValue, Padding};
use crate::report::table::{Cell, Column, Place, Table};

/// The whole answer; `is_asked` for values even if they have next to no padding.
pub fn page<L>(answer: &Answer<Padding<L>>, is_asked: bool) -> Page {
    let padding = &answer.content;
    let mut page = Page::default();
    page.verdict(verdict(&answer.module, padding));
    let others = padding.spaces.iter().skip(1);
    for space in others.filter(|space| space.padding_bytes.is_some_and(|bytes| bytes > 0)) {
        let (bytes, occupied) = (
            space.padding_bytes.unwrap_or(0),
            space.occupied_bytes.unwrap_or(0),
        );
        page.text(format!(
            "{}: {} of {} ({:.1} %).",
            space.name,
            rounded(bytes),
            rounded(occupied),
            percent(bytes, occupied)
        ));
    }
    page.text(STATIC);
    if !is_asked && is_negligible(padding) {
        let most = padding.values.iter().map(|it| it.padding_bytes).max();
        page.text(format!(
            "That is negligible: {} with padding, at most {} in one; \
             `buflens padding --limit N` shows them.",
            counted(padding.values.len() + padding.values_left_out, "value"),
            rounded(most.unwrap_or(0))
        ));
        return page;
    }
    page.table(values(padding));
    if padding.values.iter().any(|value| value.order.is_some()) {
        page.text(
            "As {1,0}: the bytes with the dimensions in that order, the fastest first, and the same \
             tile.",
        );
    }
    if padding.values_left_out > 0 {
        page.text(format!(
            "... and {}, none with more padding.",
            counted(padding.values_left_out, "more value")
        ));
    }
    page
}

/// Whether no value and no memory space has padding to speak of.
fn is_negligible<L>(padding: &Padding<L>) -> bool {
    let occupied = padding
        .spaces
        .iter()
        .filter_map(|space| space.occupied_bytes);
    // All of a few bytes is still no more than a few.
    let all = occupied.fold(0_u64, u64::saturating_add);
    let of_space = |space: &PaddedSpace| space.padding_bytes.is_none_or(|it| is_worth(it, all));
    let mut values = padding.values.iter();
    !padding.values.is_empty()
        && values.all(|value| value.padding_bytes < 1 << 20)
        && !padding.spaces.iter().any(of_space)
}

fn verdict<L>(module: &str, padding: &Padding<L>) -> String {
    if padding.values.is_empty() && padding.values_left_out == 0 {
        return match padding.reason.filter(|_| padding.spaces.is_empty()) {
            Some(reason) => format!("{module}: no padding is known: {reason}"),
            None => format!("{module}: no value has padding"),
        };
    }
    let first = padding.spaces.first().and_then(|space| {
        Some((
            space,
            space.padding_bytes?,
            space.occupied_bytes?,
            space.step?,
        ))
    });
    match first {
        Some((space, bytes, occupied, step)) => format!(
            "{module}: {} of the {} of {} occupied at the true peak, step {step}, are padding \
             ({:.1} %)",
            display(bytes),
            rounded(occupied),
            space.name,
            percent(bytes, occupied)
        ),
        None => format!(
            "{module}: {} with padding; how much of it is there at the peak is not known: {}",
            counted(padding.values.len() + padding.values_left_out, "value"),
            padding.reason.unwrap_or("the dump does not tell")
        ),
    }
}

/// The values, exact enough for programs.
pub fn values<L>(padding: &Padding<L>) -> Table {
    let mut table = Table::new(&[
        Column::new("padding", "padding_bytes", Place::Row),
        Column::new("ratio", "ratio", Place::Row),
        Column::new("bytes", "bytes", Place::Row),
        Column::new("dimension", "", Place::Loose),
        Column::new("alive", "", Place::Row),
        Column::new("at peak", "at_peak", Place::Row),
        Column::new("value", "value", Place::Cut),
        Column::new("shape", "shape", Place::Own),
        Column::new("better order", "", Place::Own),
        Column::new("source", "", Place::Below),
        Column::new("op_name", "op_name", Place::Spare),
        Column::new("", "source", Place::Exact),
        Column::new("", "id", Place::Exact),
        Column::new("", "allocation", Place::Exact),
        Column::new("", "space", Place::Exact),
        Column::new("", "logical_bytes", Place::Exact),
        Column::new("", "dimension", Place::Exact),
        Column::new("", "dimension_from", Place::Exact),
        Column::new("", "dimension_to", Place::Exact),
        Column::new("", "tile", Place::Exact),
        Column::new("", "order", Place::Exact),
        Column::new("", "order_bytes", Place::Exact),
    ]);
    table.rows = padding.values.iter().map(row).collect();
    table
}

fn row<L>(padded: &PaddedValue<L>) -> Vec<Cell> {
    let value = &padded.value;
    let dimension = padded.dimension.as_ref();
    let rounded_up = dimension.map(|it| match it.number {
        Some(number) => format!("{number}: {} -> {}", it.from, it.to),
        None => format!("{} -> {}", it.from, it.to),
    });
    let order = padded.order.as_ref();
    let order_text = order.map(|order| {
        let numbers: Vec<String> = order.minor_to_major.iter().map(u64::to_string).collect();
        format!("{{{}}}", numbers.join(","))
    });
    let better = order
        .zip(order_text.as_ref())
        .map(|(order, text)| format!("as {text} {}", rounded(order.bytes)));
    vec![
        Cell::Bytes(padded.padding_bytes),
        Cell::Ratio(padded.ratio),
        Cell::bytes(value.bytes),
        rounded_up.into(),
        live(value).into(),
        match padded.at_peak {
            Some(true) => Cell::text("yes"),
            Some(false) => Cell::text("no"),
            None => Cell::Empty,
        },
        Cell::text(value.label()),
        value.shape.clone().into(),
        better.into(),
        short_source(value.source.as_deref()).into(),
        value.op_name.clone().into(),
        value.source.clone().into(),
        Cell::Number(value.id),
        Cell::number(value.allocation),
        Cell::number(padded.space),
        Cell::number(value.logical_bytes),
        Cell::number(dimension.and_then(|it| it.number)),
        Cell::number(dimension.map(|it| it.from)),
        Cell::number(dimension.map(|it| it.to)),
        Cell::number(dimension.and_then(|it| it.tile)),
        order_text.into(),
        Cell::number(order.map(|order| order.bytes)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::records::Value;

    fn padding(padding_bytes: u64, space: (u64, u64)) -> Padding<()> {
        let value = Value {
            id: 1,
            name: "a.1".into(),
            index: "{}".into(),
            kind: None,
            allocation: None,
            offset: Some(0),
            bytes: Some(8),
            logical_bytes: None,
            live: Some([0, 3]),
            shape: None,
            opcode: None,
            op_name: None,
            source: None,
            location: None,
        };
        Padding {
            reason: None,
            spaces: vec![PaddedSpace {
                color: 0,
                name: "HBM".into(),
                padding_bytes: Some(space.0),
                occupied_bytes: Some(space.1),
                step: Some(2),
            }],
            allocations: Vec::new(),
            allocations_left_out: 0,
            values: vec![PaddedValue {
                value,
                padding_bytes,
                space: Some(0),
                at_peak: Some(true),
                ratio: 2.0,
                dimension: None,
                order: None,
            }],
            values_left_out: 0,
        }
    }

    #[test]
    fn what_is_negligible_is_little_of_little() {
        assert!(is_negligible(&padding(510, (510, 1 << 30))));
        assert!(!is_negligible(&padding(510, (510, 1000))));
        assert!(!is_negligible(&padding(1 << 20, (510, 1 << 30))));
        assert!(!is_negligible(&padding(510, (1 << 20, 1 << 40))));
    }

    #[test]
    fn negligible_padding_is_a_sentence() {
        let answer = Answer {
            schema: 1,
            module: "jit_f".into(),
            content: padding(510, (510, 1 << 30)),
        };
        let text = |is_asked| {
            let mut out = Vec::new();
            page(&answer, is_asked).write_text(&mut out, 80).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert!(text(false).contains("negligible: 1 value with padding, at most 510 B"));
        let rows = text(true);
        assert!(
            !rows.contains("negligible") && rows.contains("at peak"),
            "{rows}"
        );
        assert!(rows.contains("0-3") && rows.contains("yes"), "{rows}");
    }
}
