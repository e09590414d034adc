//! What lies in one allocation.

use super::{STATIC, counted, live, short_source, step};
use crate::model::bytes::{display, rounded};
use crate::report::page::Page;
use crate::report::records::{AllocatedValue, AllocationValues, Answer};
use crate::report::table::{Cell, Column, Place, Table};

/// The whole answer.
pub fn page<L>(answer: &Answer<AllocationValues<L>>) -> Page {
    let found = &answer.content;
    let mut page = Page::default();
    page.verdict(format!(
        "{}: {} in allocation {}, {} of {} ({})",
        answer.module,
        counted(found.values.len() + found.values_left_out, "value"),
        found.allocation,
        display(found.bytes),
        found.name,
        found.kind
    ));
    let fullest = found.fullest.as_ref().map_or_else(String::new, |fullest| {
        let bytes = rounded(fullest.occupied_bytes);
        format!("Fullest at {}: {bytes} are occupied. ", step(fullest))
    });
    page.text(format!("{fullest}{STATIC}"));
    page.table(values(found));
    if found.values_left_out > 0 {
        page.text(format!(
            "... and {} later; --limit N shows more.",
            counted(found.values_left_out, "value")
        ));
    }
    if let Some(step) = found.step {
        let shown = found.values.iter().filter(|it| it.at_step).count();
        let behind = found.values_at_step.saturating_sub(shown);
        let are = if behind == 1 { "is" } else { "are" };
        page.text(match (shown, behind) {
            (0, 0) => format!("None of them is alive at step {step}."),
            (_, 0) => format!("Marked with * are those alive at step {step}."),
            (0, _) => format!("Alive at step {step} {are} {behind} of those left out."),
            _ => format!(
                "Marked with * are those alive at step {step}, as {are} {behind} of those left out."
            ),
        });
    }
    page
}

/// The values, exact enough for programs.
pub fn values<L>(found: &AllocationValues<L>) -> Table {
    let mut table = Table::new(&[
        Column::new("alive", "", Place::Row),
        Column::new("", "", Place::Row),
        Column::new("offset", "offset", Place::Row),
        Column::new("bytes", "bytes", Place::Row),
        Column::new("value", "value", Place::Cut),
        Column::new("shape", "shape", Place::Own),
        Column::new("source", "", Place::Below),
        Column::new("op_name", "op_name", Place::Spare),
        Column::new("", "at_step", Place::Exact),
        Column::new("", "source", Place::Exact),
        Column::new("", "id", Place::Exact),
        Column::new("", "first_step", Place::Exact),
        Column::new("", "last_step", Place::Exact),
        Column::new("", "opcode", Place::Exact),
    ]);
    table.rows = found.values.iter().map(row).collect();
    table
}

fn row<L>(allocated: &AllocatedValue<L>) -> Vec<Cell> {
    let value = &allocated.value;
    let step = |at: usize| {
        value
            .live
            .map_or(Cell::Empty, |live| Cell::Number(live[at]))
    };
    vec![
        live(value).into(),
        allocated.at_step.then_some("*").into(),
        Cell::number(value.offset),
        Cell::bytes(value.bytes),
        Cell::text(value.label()),
        value.shape.clone().into(),
        short_source(value.source.as_deref()).into(),
        value.op_name.clone().into(),
        Cell::text(allocated.at_step.to_string()),
        value.source.clone().into(),
        Cell::Number(value.id),
        step(0),
        step(1),
        value.opcode.clone().into(),
    ]
}
