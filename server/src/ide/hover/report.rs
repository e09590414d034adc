//! Rows of the memory-usage report: which values the slot stands for.

use buflens_syntax::Document;

use super::{Context, allocation, value};
use crate::ide::slots;
use crate::model::bytes;

/// The hover on the slot whose row ends at `end`, in bytes from the start of the document.
pub(super) fn slot(context: &Context, document: &Document, end: u32) -> Option<String> {
    let slot = slots::at(context.dump, document, end)?;
    let count = bytes::counted(slot.count, "value");
    let offset_text = bytes::grouped(slot.offset);
    let Some(allocation) = slot.allocation else {
        return Some(format!(
            "**slot at offset {offset_text}**: {count}, at different times"
        ));
    };
    let kind = value::kind(context.dump, allocation);
    let heading = format!(
        "**slot at offset {offset_text}** of allocation {} ({kind})",
        allocation.index
    );
    let mut values = slot.values;
    values.sort_by_key(|&at| allocation::time(context.dump, &context.dump.values[at as usize]));
    if values.is_empty() {
        return Some(format!("{heading}: {count}"));
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
