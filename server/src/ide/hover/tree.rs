//! Nodes of the stack trace breakdown.

use buflens_syntax::facts::TreeNode;

use super::{Context, peak, percent, value};
use crate::ide::breakdown::Breakdown;
use crate::ide::markdown::{Table, Text, code, listed, shorten};
use crate::model::{At, bytes};

/// So many of the values at a node are named.
const MAX_NAMED: usize = 4;

/// The hover on a node of the stack trace breakdown.
pub(super) fn node(context: &Context, node: &At<TreeNode>) -> String {
    let row = node.row;
    let grand_total = context
        .dump
        .tree
        .as_ref()
        .map_or(row.total.value, |(total, ..)| total.value);
    let mut hover = Text::new(&format!(
        "**{}**: {} unpadded at XLA's peak, {} of {}",
        code(&shorten(node.text(row.label).trim(), 200)),
        bytes::display(row.total.value),
        percent(row.total.value, grand_total),
        bytes::display(grand_total),
    ));
    let mut table = Table::default();
    table.fact(
        "total",
        format!(
            "{}: this node and all below it",
            bytes::display(row.total.value)
        ),
    );
    let current = if row.current.value == 0 {
        "nothing exactly here; it is all further down".to_owned()
    } else {
        let below = row.total.value.saturating_sub(row.current.value);
        let rest = if below == 0 {
            String::new()
        } else {
            format!(", {} further down", bytes::display(below))
        };
        format!("{}: exactly here{rest}", bytes::display(row.current.value))
    };
    table.fact("current", current);
    table.fact(
        "remaining",
        match row.remaining.value {
            0 => "0 B: the lines up to here account for everything".to_owned(),
            bytes => format!(
                "{} ({}): neither in this line nor in one above it",
                bytes::display(bytes),
                percent(bytes, grand_total)
            ),
        },
    );
    let breakdown = Breakdown::of(context.dump);
    let is_some = |values: &Vec<u32>| !values.is_empty();
    let here = breakdown.as_ref().and_then(|it| it.exactly(node));
    if let Some(values) = here.filter(is_some) {
        let titles = listed(&values, MAX_NAMED, |&at| {
            value::title(context.dump, &context.dump.values[at as usize])
        });
        table.fact("values", titles);
    }
    let below = breakdown.as_ref().and_then(|it| it.below(node));
    if let Some(values) = below.filter(is_some) {
        table.fact("with padding", peak::by_space(context, &values));
    }
    hover.paragraph(&table.to_string());
    hover.finish()
}
