//! Nodes of the stack trace breakdown.

use buflens_syntax::InstructionParts;
use buflens_syntax::facts::{PeakValue, TreeNode};

use super::{Context, peak, percent};
use crate::ide::markdown::{Table, Text, code, shorten};
use crate::model::Dump;
use crate::model::bytes;
use crate::model::source::unescaped;

/// Of a longer peak list it is not told which values a node stands for.
const MAX_LINES: usize = 500;
/// Nor where their instructions are longer together, in bytes.
const MAX_TEXT: usize = 1 << 18;

/// The hover on a node of the stack trace breakdown.
pub(super) fn node(context: &Context, text: &str, row: &TreeNode) -> String {
    let grand_total = context
        .dump
        .tree
        .as_ref()
        .map_or(row.total.value, |(total, ..)| total.value);
    let mut hover = Text::new(&format!(
        "**{}**: {} unpadded at XLA's peak, {} of {}",
        code(&shorten(row.label.text(text).trim(), 200)),
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
    if let Some(values) = values_at(context.dump, row.label.text(text), row.current.value) {
        table.fact("with padding", peak::by_space(context, &values));
    }
    hover.paragraph(&table.to_string());
    hover.finish()
}

/// The values at XLA's peak that are placed exactly at a node: those whose trace path, or else name,
/// is its label. Equal labels elsewhere in the tree would be mistaken for it, so the bytes decide.
fn values_at(dump: &Dump, label: &str, current: u64) -> Option<Vec<u32>> {
    let lines = &dump.peak.as_ref()?.values;
    if current == 0 || lines.len() > MAX_LINES {
        return None;
    }
    let (mut left, mut sum) = (MAX_TEXT, 0_u64);
    let mut values = Vec::new();
    for &line in lines {
        let line = dump.at::<PeakValue>(line)?;
        let index = line.text(line.row.index);
        let suffix = if index == "{}" { "" } else { index };
        let name = dump.names.get(line.text(line.row.name))?;
        let instruction = dump.instruction_text(name).unwrap_or_default();
        left = left.checked_sub(instruction.len())?;
        let path = op_name(instruction).unwrap_or_else(|| dump.names[name].to_owned());
        if label.strip_suffix(suffix) == Some(path.as_str()) {
            let value = dump.values_at(name, dump.names.get(index)?).next()?;
            dump.values[value as usize].placement?;
            values.push(value);
            sum = sum.saturating_add(line.row.bytes.value);
        }
    }
    (sum == current).then_some(values)
}

/// The trace path of an instruction.
fn op_name(instruction: &str) -> Option<String> {
    let parts = InstructionParts::read(instruction);
    let op_name = parts.entry("op_name").map(unescaped);
    op_name.filter(|op_name| !op_name.is_empty())
}
