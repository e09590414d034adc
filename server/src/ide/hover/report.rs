//! Rows of the memory-usage report: which values the slot stands for.

use buflens_syntax::Document;
use buflens_syntax::facts::{Number, ReportRow};

use super::{Context, allocation, value};
use crate::model::bytes;
use crate::model::{Allocation, Dump};

/// The hover on the slot whose row ends at `end`, in bytes from the start of the document.
pub(super) fn slot(context: &Context, document: &Document, end: u32) -> Option<String> {
    let (table, offset, count) = find(document, end)?;
    let allocation = table.allocation(context.dump);
    let count = bytes::grouped(count.value);
    let offset_text = bytes::grouped(offset.value);
    let Some(allocation) = allocation else {
        return Some(format!(
            "**slot at offset {offset_text}**: {count} values lie there at different times"
        ));
    };
    let kind = value::kind(allocation);
    let heading = format!(
        "**slot at offset {offset_text}** of allocation {} ({kind})",
        allocation.index
    );
    let mut values: Vec<u32> = allocation
        .values
        .clone()
        .filter(|&at| {
            context
                .dump
                .values
                .get(at as usize)
                .is_some_and(|value| value.offset == offset.value)
        })
        .collect();
    values.sort_by_key(|&at| allocation::time(&context.dump.values[at as usize]));
    if values.is_empty() {
        return Some(format!("{heading}: {count} values"));
    }
    let takes = if values.len() == 1 {
        "one value lies there"
    } else {
        "values that begin there, in time order; the row's size is that of the largest"
    };
    Some(value::list(
        context,
        &format!("{heading}: {takes}"),
        &values,
    ))
}

/// Which table of the report a row is in. Newer reports do not name the allocation.
#[derive(Default)]
struct Table {
    color: Option<u64>,
    /// Tables before it in its memory space.
    before: usize,
    /// The allocation named in front of it.
    named: Option<u64>,
}

impl Table {
    fn allocation<'d>(&self, dump: &'d Dump) -> Option<&'d Allocation> {
        if let Some(index) = self.named {
            return dump
                .allocations
                .iter()
                .find(|allocation| allocation.index == index);
        }
        let color = self.color?;
        let mut of_color: Vec<&Allocation> = dump
            .allocations
            .iter()
            .filter(|allocation| allocation.color == color)
            .collect();
        // Tables stand in the order of size.
        of_color.sort_by_key(|allocation| (std::cmp::Reverse(allocation.size), allocation.index));
        of_color.get(self.before.checked_sub(1)?).copied()
    }
}

/// The table, the offset and the number of values of the slot whose row ends at `end`.
fn find(document: &Document, end: u32) -> Option<(Table, Number, Number)> {
    let mut table = Table::default();
    let mut found = None;
    for (start, block) in document.blocks() {
        if start >= end {
            break;
        }
        for row in &block.facts().report {
            match row {
                ReportRow::Space { color, .. } if start + color.span.start < end => {
                    table = Table {
                        color: Some(color.value),
                        ..Table::default()
                    };
                    found = None;
                }
                ReportRow::Table(line) if start + line.start < end => {
                    table.before += 1;
                    found = None;
                }
                ReportRow::Allocation(allocation) if start + allocation.line.start < end => {
                    table.named = Some(allocation.index.value);
                    found = None;
                }
                ReportRow::Slot { offset, values, .. } if start + offset.span.start < end => {
                    found = Some((*offset, *values));
                }
                _ => {}
            }
        }
    }
    found.map(|(offset, values)| (table, offset, values))
}
