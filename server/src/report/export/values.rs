//! A row for each value.

use rustc_hash::FxHashMap;

use crate::audit::{padding, peak};
use crate::model::space;
use crate::report::records::{self, FileLocation, Source};
use crate::report::table::{Cell, Column, Place, Table};

/// What the columns are called, in their order.
const COLUMNS: [&str; 21] = [
    "id",
    "name",
    "index",
    "kind",
    "space",
    "space_name",
    "allocation",
    "offset",
    "bytes",
    "logical_bytes",
    "padding_bytes",
    "first_step",
    "last_step",
    "at_peak",
    "own_peak_bytes",
    "shape",
    "opcode",
    "op_name",
    "source",
    "file",
    "line",
];

/// Every value, in the order of the dump.
pub fn table(source: &Source<'_, '_, FileLocation>) -> Table {
    let columns = COLUMNS.map(|key| Column::new("", key, Place::Exact));
    let mut table = Table::new(&columns);
    let dump = source.audit.dump;
    let held = held(source);
    for (at, found) in (0..).zip(&dump.values) {
        let Some(value) = records::value(source, at) else {
            continue;
        };
        let color = dump.color_of(at);
        let at_peak = dump.is_at_peak(found);
        // Nothing is held by a value of no bytes, wherever it is alive.
        let own = held.get(&at).copied();
        let own = own.or((at_peak == Some(true)).then_some(0));
        // Without a shape that is understood it is not known either.
        let padding = value
            .logical_bytes
            .map(|_| padding::of_value(source.audit, at).map_or(0, |padding| padding.bytes));
        let location = value.location;
        table.rows.push(vec![
            Cell::Number(value.id),
            Cell::text(value.name),
            Cell::text(value.index),
            value.kind.into(),
            Cell::number(color),
            color
                .map(|color| space::named(color, dump.platforms))
                .into(),
            Cell::number(value.allocation),
            Cell::number(value.offset),
            Cell::number(value.bytes),
            Cell::number(value.logical_bytes),
            Cell::number(padding),
            Cell::number(value.live.map(|[first, _]| first)),
            Cell::number(value.live.map(|[_, last]| last)),
            at_peak
                .map(|is_there| if is_there { "yes" } else { "no" })
                .into(),
            Cell::number(own),
            value.shape.into(),
            value.opcode.into(),
            value.op_name.into(),
            value.source.into(),
            location.as_ref().map(|location| &*location.file).into(),
            Cell::number(location.as_ref().map(|location| u64::from(location.line))),
        ]);
    }
    table
}

/// The values alive at the true peaks of their memory spaces, as numbers into the dump's table, each
/// with the bytes that are not counted for another one.
fn held(source: &Source<'_, '_, FileLocation>) -> FxHashMap<u32, u64> {
    let spaces = source.audit.dump.occupancy().spaces.iter();
    let peaks = spaces.filter_map(|space| peak::peak(source.audit, space.color, None, &[]).ok());
    let held = peaks.flat_map(|peak| peak.values);
    held.map(|held| (held.value, held.share)).collect()
}
