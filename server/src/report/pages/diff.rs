//! What changed between two compiles.

mod folders;

use std::cmp::Reverse;

use super::{STATIC, counted, short_source, step};
use crate::model::bytes::{grouped, rounded, signed};
use crate::report::chart::LEAST_PEAK;
use crate::report::page::Page;
use crate::report::records::{Answer, Change, ChangedValue, CopyRecord, Diff, SpaceChange, Value};
use crate::report::table::{Cell, Column, Place, Table, times};

pub use self::folders::pages;

/// What changed between two dumps.
pub fn page<L>(answer: &Answer<Diff<L>>) -> Page {
    let diff = &answer.content;
    let mut page = Page::default();
    page.verdict(verdict(&answer.module, diff));
    for note in &diff.notes {
        page.text(note);
    }
    page.text(format!("{STATIC} {}", recognised(diff)));
    if diff.nothing_changed {
        return page;
    }
    let donated = diff.donation.len() + diff.donation_left_out;
    if donated > 0 {
        let parameters = counted(donated, "parameter");
        page.text(format!(
            "{parameters} with another donation: the list is below."
        ));
    }
    page.table(totals(diff));
    peaks(&mut page, diff);
    list(
        &mut page,
        "Changed values",
        diff.changed
            .iter()
            .map(|it| changed(&diff.spaces, it))
            .collect(),
        diff.changed_left_out,
    );
    list(
        &mut page,
        "New values",
        diff.added.iter().map(new).collect(),
        diff.added_left_out,
    );
    list(
        &mut page,
        "Values that are gone",
        diff.removed.iter().map(gone).collect(),
        diff.removed_left_out,
    );
    donation(&mut page, diff);
    copies(&mut page, diff);
    page
}

fn verdict<L>(module: &str, diff: &Diff<L>) -> String {
    if diff.nothing_changed {
        return format!("{module}: nothing changed");
    }
    let first = diff.spaces.first();
    let peak = first.and_then(|space| {
        let moved = moved(&space.occupied_bytes)?;
        let reserved = space.reserved_bytes.delta.unwrap_or(0);
        let reserved = match reserved {
            0 => "the same reserved".to_owned(),
            delta => format!("{} reserved", signed(delta, rounded)),
        };
        Some(format!(
            "{module}: {} occupied at the true peak {moved}, {reserved}",
            space.name
        ))
    });
    let total = || {
        Some(format!(
            "{module}: in all {}",
            moved(&diff.totals.total_bytes)?
        ))
    };
    peak.or_else(total)
        .unwrap_or_else(|| format!("{module}: bytes cannot be compared"))
}

/// `965.7 MiB -> 1.26 GiB (+324.0 MiB, +33.6 %)`
fn moved(change: &Change) -> Option<String> {
    let (before, after) = change.before.zip(change.after)?;
    let shown = growth(change).filter(|percent| percent.abs() >= 0.05);
    let delta = match (change.delta?, shown) {
        (0, _) => return Some(format!("{} as before", rounded(after))),
        (delta, Some(percent)) => match times(percent) {
            Some(times) => format!("{}, {times} times as much", signed(delta, rounded)),
            None => format!("{}, {percent:+.1} %", signed(delta, rounded)),
        },
        (delta, None) => signed(delta, rounded),
    };
    Some(format!(
        "{} -> {} ({delta})",
        rounded(before),
        rounded(after)
    ))
}

/// By how many percent it grew; `None` from nothing.
fn growth(change: &Change) -> Option<f64> {
    let before = change.before.filter(|&before| before > 0)?;
    Some(change.delta? as f64 * 100.0 / before as f64)
}

/// How many values are the same.
fn recognised<L>(diff: &Diff<L>) -> String {
    let mut text = format!("{} in both", counted(diff.matched, "value"));
    if diff.shifted > 0 {
        text = format!("{text}, {} of them at another offset or time", diff.shifted);
    }
    if diff.relaid > 0 {
        text = format!(
            "{text}, {} in another layout of the same bytes",
            diff.relaid
        );
    }
    let by_shape = diff.matched_by.get("shape").copied().unwrap_or(0);
    if by_shape > 0 {
        text = format!("{text}; {by_shape} recognised by shape alone");
    }
    let (before, after) = (diff.not_known.before, diff.not_known.after);
    // What cannot be recognised is counted on both sides, even if it is the same.
    let unknown = match (before, after) {
        (0, 0) => None,
        (one, 0) | (0, one) => Some(counted(one, "other value")),
        _ => Some(format!("{before} others before and {after} after")),
    };
    if let Some(unknown) = unknown {
        text = format!("{text}; of {unknown} it cannot be known");
    }
    format!("{text}.")
}

fn totals<L>(diff: &Diff<L>) -> Table {
    let mut table = Table::new(&[
        Column::new("", "what", Place::Cut),
        Column::new("before", "before", Place::Row),
        Column::new("after", "after", Place::Row),
        Column::new("delta", "delta", Place::Row),
        Column::new("percent", "percent", Place::Row),
    ]);
    let mut bytes = |what: String, change: &Change, is_always: bool| {
        if is_always || change.delta.is_some_and(|delta| delta != 0) {
            table.rows.push(row(what, change, Cell::Bytes, Cell::Delta));
        }
    };
    for (number, space) in diff.spaces.iter().enumerate() {
        if number > 0 && space.is_none() {
            continue;
        }
        let name = &space.name;
        bytes(
            format!("{name} occupied at the peak"),
            &space.occupied_bytes,
            true,
        );
        for kind in &space.kinds {
            bytes(
                format!("  of which {}", kind.kind),
                &kind.occupied_bytes,
                false,
            );
        }
        bytes("  of which padding".to_owned(), &space.padding_bytes, false);
        bytes(format!("{name} reserved"), &space.reserved_bytes, true);
        for kind in &space.kinds {
            bytes(
                format!("  of which {}", kind.kind),
                &kind.reserved_bytes,
                false,
            );
        }
        bytes(
            format!("{name} thread-local"),
            &space.thread_local_bytes,
            false,
        );
    }
    bytes("total bytes".to_owned(), &diff.totals.total_bytes, true);
    bytes(
        "written by copies".to_owned(),
        &diff.totals.copied_bytes,
        false,
    );
    for (what, change) in &diff.totals.all()[2..] {
        if !change.is_none() {
            table.rows.push(row(
                (*what).to_owned(),
                change,
                Cell::Number,
                Cell::Difference,
            ));
        }
    }
    table
}

fn row(what: String, change: &Change, cell: fn(u64) -> Cell, delta: fn(i64) -> Cell) -> Vec<Cell> {
    let growth = growth(change).filter(|_| !change.is_none());
    vec![
        Cell::text(what),
        change.before.map_or(Cell::text("unknown"), cell),
        change.after.map_or(Cell::text("unknown"), cell),
        change.delta.map_or(Cell::Empty, delta),
        growth.map_or(Cell::Empty, Cell::Growth),
    ]
}

/// What makes the difference between the peaks.
fn peaks<L>(page: &mut Page, diff: &Diff<L>) {
    for (number, space) in diff.spaces.iter().enumerate() {
        let occupied = space.occupied_bytes;
        let most = occupied.before.max(occupied.after).unwrap_or(0);
        // Sync flags come and go with everything else.
        if space.at_peak == 0 || (number > 0 && most < LEAST_PEAK) {
            continue;
        }
        let is_here = |color: u64| color == space.color;
        let entered = diff.peak_entered.iter().filter(|it| is_here(it.space));
        let left = diff.peak_left.iter().filter(|it| is_here(it.space));
        let changed = diff.peak_changed.iter().filter(|it| is_here(it.space));
        let entered = entered.map(|it| {
            let delta = bytes(it.own_bytes);
            (delta, one_row(delta, "enters", &it.value))
        });
        let left = left.map(|it| {
            let delta = -bytes(it.own_bytes);
            (delta, one_row(delta, "leaves", &it.value))
        });
        let changed = changed.map(|it| {
            let (before, after) = (&it.before, &it.after);
            let delta = it.own_bytes.delta.unwrap_or(0);
            let what = if delta > 0 { "grows" } else { "shrinks" };
            let kind = arrow(before.kind, after.kind).into();
            let row = value_row(delta, what, kind, was(before, after), after);
            (delta, row)
        });
        let mut rows: Vec<(i64, Vec<Cell>)> = entered.chain(changed).chain(left).collect();
        let more = space.at_peak - rows.len();
        // Bytes that are counted for another value make no difference.
        rows.retain(|(delta, _)| *delta != 0);
        if rows.is_empty() {
            continue;
        }
        // What adds to the peak, then what takes from it.
        rows.sort_by_key(|(delta, _)| (*delta < 0, Reverse(delta.unsigned_abs())));
        page.heading(format!("At the peak of {}", space.name));
        page.text(peak_text(space));
        let mut table = Table::new(&VALUE_COLUMNS);
        table.rows = rows.into_iter().map(|(_, row)| row).collect();
        page.table(table);
        left_out(page, more);
    }
}

fn peak_text(space: &SpaceChange) -> String {
    let (before, after) = (space.peak.before.as_ref(), space.peak.after.as_ref());
    let mut text = match (before.map(step), after.map(step)) {
        (Some(before), Some(after)) => format!("It was at {before}, and is at {after}."),
        (Some(before), None) => format!("It was at {before}; now nothing is occupied."),
        (None, Some(after)) => format!("It is at {after}; before, nothing was occupied."),
        (None, None) => String::new(),
    };
    if let Some(stayed) = space.stayed.filter(|_| before.is_some() && after.is_some()) {
        let bytes = match (space.stayed_bytes.before, space.stayed_bytes.after) {
            (Some(before), Some(after)) if before != after => {
                format!("{}, now {}", rounded(before), rounded(after))
            }
            (_, after) => rounded(after.unwrap_or(0)),
        };
        text = format!(
            "{text} {} there at both: {bytes}.",
            counted(stayed, "value")
        );
    }
    let replaced = space.replaced_bytes.filter(|&bytes| bytes > 0);
    if let Some(bytes) = replaced {
        let bytes = rounded(bytes);
        text = format!("{text} In {bytes} of parameters' buffers other values lie than before.");
    }
    text
}

const VALUE_COLUMNS: [Column; 8] = [
    Column::new("delta", "delta", Place::Row),
    Column::new("", "", Place::Row),
    Column::new("kind", "", Place::Loose),
    Column::new("value", "", Place::Cut),
    Column::new("shape", "", Place::Cut),
    Column::new("", "", Place::Own),
    Column::new("source", "", Place::Below),
    Column::new("op_name", "", Place::Spare),
];

fn value_row<L>(
    delta: i64,
    what: &str,
    kind: Cell,
    was: Option<String>,
    value: &Value<L>,
) -> Vec<Cell> {
    vec![
        Cell::Delta(delta),
        Cell::text(what),
        kind,
        Cell::text(value.label()),
        value.shape.clone().into(),
        was.map(|was| format!("was {was}")).into(),
        short_source(value.source.as_deref()).into(),
        value.op_name.clone().into(),
    ]
}

fn one_row<L>(delta: i64, what: &str, value: &Value<L>) -> Vec<Cell> {
    value_row(delta, what, value.kind.into(), None, value)
}

fn bytes(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn size<L>(value: &Value<L>) -> i64 {
    bytes(value.bytes.unwrap_or(0))
}

fn written<L>(copy: &CopyRecord<L>) -> i64 {
    bytes(copy.bytes.unwrap_or(0))
}

fn new<L>(value: &Value<L>) -> Vec<Cell> {
    one_row(size(value), "new", value)
}

fn gone<L>(value: &Value<L>) -> Vec<Cell> {
    one_row(-size(value), "gone", value)
}

fn changed<L>(spaces: &[SpaceChange], changed: &ChangedValue<L>) -> Vec<Cell> {
    let (before, after) = (&changed.before, &changed.after);
    let what = match changed.cause {
        Some(cause) if changed.moved => &format!("{cause}, moved"),
        Some(cause) => cause,
        None => "moved",
    };
    let space = |color: Option<u64>| {
        let space = spaces.iter().find(|space| Some(space.color) == color);
        space.map(|space| space.name.as_str())
    };
    let (old, new) = (space(changed.before_space), space(changed.after_space));
    let kind = if old == new {
        arrow(before.kind, after.kind)
    } else {
        arrow(old, new)
    };
    let was = was(before, after);
    value_row(changed.delta, what, kind.into(), was, after)
}

/// The name and the shape of `before`, where `after` has others.
fn was<L>(before: &Value<L>, after: &Value<L>) -> Option<String> {
    let mut was = Vec::new();
    if before.label() != after.label() {
        was.push(before.label());
    }
    was.extend(before.shape.clone().filter(|_| before.shape != after.shape));
    (!was.is_empty()).then(|| was.join(" "))
}

/// `a -> b`, or just `a` if that is the same.
fn arrow(before: Option<&str>, after: Option<&str>) -> Option<String> {
    match (before, after) {
        (Some(before), Some(after)) if before != after => Some(format!("{before} -> {after}")),
        (before, after) => after.or(before).map(str::to_owned),
    }
}

fn list(page: &mut Page, title: &str, rows: Vec<Vec<Cell>>, left_out: usize) {
    if rows.is_empty() && left_out == 0 {
        return;
    }
    page.heading(format!("{title}: {}", rows.len() + left_out));
    let mut table = Table::new(&VALUE_COLUMNS);
    table.rows = rows;
    page.table(table);
    self::left_out(page, left_out);
}

fn left_out(page: &mut Page, more: usize) {
    if more > 0 {
        page.text(format!("... and {} more.", grouped(more as u64)));
    }
}

fn donation<L>(page: &mut Page, diff: &Diff<L>) {
    let count = diff.donation.len() + diff.donation_left_out;
    if count == 0 {
        return;
    }
    page.heading(format!("Parameters with another donation: {count}"));
    let mut table = Table::new(&[
        Column::new("bytes", "", Place::Row),
        Column::new("verdict", "", Place::Row),
        Column::new("parameter", "", Place::Cut),
        // Arguments differ where a long one would be cut.
        Column::new("argument", "", Place::Whole),
    ]);
    table.rows = diff
        .donation
        .iter()
        .map(|pair| {
            let after = &pair.after;
            let index = if after.index == "{}" {
                ""
            } else {
                &after.index
            };
            vec![
                Cell::Bytes(after.bytes),
                Cell::text(format!("{} -> {}", pair.before.verdict, after.verdict)),
                Cell::text(format!(
                    "{}{index} {}",
                    after.parameter,
                    after.name.as_deref().unwrap_or_default()
                )),
                after.op_name.clone().into(),
            ]
        })
        .collect();
    page.table(table);
    left_out(page, diff.donation_left_out);
}

fn copies<L>(page: &mut Page, diff: &Diff<L>) {
    let left_out =
        diff.copies_added_left_out + diff.copies_removed_left_out + diff.copies_changed_left_out;
    let mut table = Table::new(&[
        Column::new("delta", "", Place::Row),
        Column::new("", "", Place::Row),
        Column::new("kind", "", Place::Row),
        Column::new("copy", "", Place::Cut),
        Column::new("of", "", Place::Cut),
        Column::new("shapes", "", Place::Own),
        Column::new("source", "", Place::Below),
    ]);
    let row = |delta: i64, what: &str, kind: String, copy: &CopyRecord<L>| {
        vec![
            Cell::Delta(delta),
            Cell::text(what),
            Cell::text(kind),
            Cell::text(&copy.name),
            Cell::text(&copy.operand),
            arrow(copy.from.shape.as_deref(), copy.to.shape.as_deref()).into(),
            short_source(copy.source.as_deref()).into(),
        ]
    };
    let added = diff
        .copies_added
        .iter()
        .map(|copy| row(written(copy), "new", copy.kind.to_owned(), copy));
    let removed = diff
        .copies_removed
        .iter()
        .map(|copy| row(-written(copy), "gone", copy.kind.to_owned(), copy));
    let changed = diff.copies_changed.iter().map(|pair| {
        let delta = written(&pair.after).saturating_sub(written(&pair.before));
        let kind = arrow(Some(pair.before.kind), Some(pair.after.kind));
        let what = match delta {
            _ if pair.before.kind != pair.after.kind => "other",
            1.. => "more",
            _ => "less",
        };
        row(delta, what, kind.unwrap_or_default(), &pair.after)
    });
    table.rows = added.chain(removed).chain(changed).collect();
    if table.rows.is_empty() && left_out == 0 {
        return;
    }
    page.heading(format!("Copies: {}", table.rows.len() + left_out));
    page.table(table);
    self::left_out(page, left_out);
}

/// Every value that differs, for programs.
pub fn table<'a, L: 'a>(pairs: impl IntoIterator<Item = &'a Answer<Diff<L>>>) -> Table {
    let keys = [
        "module",
        "before_stem",
        "after_stem",
        "change",
        "cause",
        "moved",
        "delta",
        "by",
        "before_id",
        "before_name",
        "before_kind",
        "before_bytes",
        "before_shape",
        "after_id",
        "after_name",
        "after_kind",
        "after_bytes",
        "after_shape",
        "op_name",
        "source",
    ];
    let mut table = Table::new(&keys.map(|key| Column::new("", key, Place::Exact)));
    for pair in pairs {
        let diff = &pair.content;
        let mut add = |what: &[Cell; 5], before: Option<&Value<L>>, after: Option<&Value<L>>| {
            let mut row = vec![
                Cell::text(&pair.module),
                Cell::text(&diff.before.stem),
                Cell::text(&diff.after.stem),
            ];
            row.extend(what.iter().cloned());
            for value in [before, after] {
                row.extend([
                    value.map_or(Cell::Empty, |value| Cell::Number(value.id)),
                    value.map(Value::label).into(),
                    value.and_then(|value| value.kind).into(),
                    Cell::number(value.and_then(|value| value.bytes)),
                    value.and_then(|value| value.shape.clone()).into(),
                ]);
            }
            let any = after.or(before);
            row.push(any.and_then(|value| value.op_name.clone()).into());
            row.push(any.and_then(|value| value.source.clone()).into());
            table.rows.push(row);
        };
        for changed in &diff.changed {
            let what = [
                Cell::text(changed.change),
                changed.cause.into(),
                Cell::text(if changed.moved { "yes" } else { "no" }),
                Cell::Delta(changed.delta),
                Cell::text(changed.by),
            ];
            add(&what, Some(&changed.before), Some(&changed.after));
        }
        let alone = |change: &str, delta: i64| {
            [
                Cell::text(change),
                Cell::Empty,
                Cell::Empty,
                Cell::Delta(delta),
                Cell::Empty,
            ]
        };
        for value in &diff.added {
            add(&alone("new", size(value)), None, Some(value));
        }
        for value in &diff.removed {
            add(&alone("gone", -size(value)), Some(value), None);
        }
    }
    table
}
