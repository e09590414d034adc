//! Where bytes go into padding.

use super::{STATIC, counted, percent, short_source};
use crate::model::bytes::{display, rounded};
use crate::report::page::Page;
use crate::report::records::{Answer, PaddedValue, Padding};
use crate::report::table::{Cell, Column, Place, Table};

/// The whole answer.
pub fn page<L>(answer: &Answer<Padding<L>>) -> Page {
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
    page.table(values(padding));
    if padding.values_left_out > 0 {
        page.text(format!(
            "... and {} with less.",
            counted(padding.values_left_out, "value")
        ));
    }
    page
}

fn verdict<L>(module: &str, padding: &Padding<L>) -> String {
    if padding.values.is_empty() {
        return format!("{module}: no value has padding");
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
        Column::new("dimension", "", Place::Row),
        Column::new("value", "value", Place::Cut),
        Column::new("shape", "shape", Place::Below),
        Column::new("better order", "", Place::Below),
        Column::new("source", "", Place::Below),
        Column::new("op_name", "op_name", Place::Below),
        Column::new("", "source", Place::Exact),
        Column::new("", "id", Place::Exact),
        Column::new("", "allocation", Place::Exact),
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
    let number = |number: Option<u64>| number.map_or(Cell::Empty, Cell::Number);
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
        Cell::Bytes(value.bytes),
        rounded_up.into(),
        Cell::text(value.label()),
        value.shape.clone().into(),
        better.into(),
        short_source(value.source.as_deref()).into(),
        value.op_name.clone().into(),
        value.source.clone().into(),
        Cell::Number(value.id),
        number(value.allocation),
        number(value.logical_bytes),
        number(dimension.and_then(|it| it.number)),
        number(dimension.map(|it| it.from)),
        number(dimension.map(|it| it.to)),
        number(dimension.and_then(|it| it.tile)),
        order_text.into(),
        number(order.map(|order| order.bytes)),
    ]
}
