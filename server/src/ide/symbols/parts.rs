//! What the sections of a dump hold: allocations, values, the peak, its breakdown.

use std::cmp::Reverse;
use std::ops::Range;

use buflens_syntax::facts;

use super::{Symbol, SymbolKind, counted, more};
use crate::model::bytes::rounded;
use crate::model::{Allocation, At, Dump, FileId, Place, Row, Value};

/// So much of a shape is shown.
const SHAPE: usize = 60;

/// The allocations of `file` with their values: `limit` of both together, the largest.
pub(super) fn allocations(dump: &Dump, file: FileId, limit: usize, end: u32) -> Vec<Symbol> {
    // A value counts at most as much as its allocation and behind it, so none comes without it.
    let mut sizes = Vec::with_capacity(dump.allocations.len() + dump.values.len());
    for allocation in &dump.allocations {
        sizes.push(allocation.size);
        let values = &dump.values[range_of(&allocation.values)];
        sizes.extend(values.iter().map(|value| value.size.min(allocation.size)));
    }
    let mut chosen = largest(&sizes, limit).into_iter();
    let mut symbols = Vec::new();
    let mut left_out = (0, 0);
    for allocation in &dump.allocations {
        let is_chosen = chosen.next() == Some(true);
        let values = &dump.values[range_of(&allocation.values)];
        let values: Vec<&Value> = values
            .iter()
            .filter(|_| chosen.next() == Some(true))
            .collect();
        left_out.1 += allocation.values.len() - values.len();
        let header = dump.header(allocation).filter(|header| header.file == file);
        let Some(header) = header else { continue };
        if is_chosen {
            symbols.push(of_allocation(dump, allocation, &header, &values));
        } else {
            left_out.0 += 1;
        }
    }
    symbols.extend(more(
        &[(left_out.0, "allocation"), (left_out.1, "value")],
        end,
    ));
    symbols
}

fn of_allocation(
    dump: &Dump,
    allocation: &Allocation,
    header: &At<facts::Allocation>,
    values: &[&Value],
) -> Symbol {
    let mut words = dump.words(allocation);
    words.extend((allocation.color != 0).then(|| format!("color {}", allocation.color)));
    let line = header.place(header.row.line).range;
    let last = dump.values[range_of(&allocation.values)].last();
    let last = last
        .and_then(|last| dump.placement(last))
        .map(|at| at.place(at.row.line).range.end);
    let of_value = |value: &&Value| {
        let at = dump.placement(value)?;
        let (line, name) = (at.place(at.row.line), at.place(at.row.value.name));
        Some(of_value(dump, value, line, name))
    };
    Symbol {
        // Editors seldom show the detail, and size and kind are what one looks for.
        name: format!(
            "allocation {}: {} {}",
            allocation.index,
            rounded(allocation.size),
            words.join(", ")
        )
        .trim_end()
        .to_owned(),
        detail: counted(allocation.values.len(), "value"),
        kind: SymbolKind::Allocation,
        range: line.start..last.unwrap_or(line.end).max(line.end),
        selection: header.place(header.row.index.span).range,
        children: values.iter().filter_map(of_value).collect(),
    }
}

fn of_value(dump: &Dump, value: &Value, whole: Place, name: Place) -> Symbol {
    let shape = dump.placement(value).map(|at| at.text(at.row.shape));
    let shape: String = shape.unwrap_or_default().chars().take(SHAPE).collect();
    Symbol {
        name: dump.name_of(value),
        detail: format!("{} {shape}", rounded(value.size))
            .trim_end()
            .to_owned(),
        kind: SymbolKind::Value,
        range: whole.range,
        selection: name.range,
        children: Vec::new(),
    }
}

/// The entries of section C in `file`: the `limit` largest values.
pub(super) fn used_values(dump: &Dump, file: FileId, limit: usize, end: u32) -> Vec<Symbol> {
    let used = dump
        .values
        .iter()
        .filter_map(|it| Some((it, dump.used_value(it)?.header)));
    let mut used: Vec<(&Value, Row)> = used.filter(|(_, row)| row.file() == file).collect();
    let sizes: Vec<u64> = used.iter().map(|(value, _)| value.size).collect();
    let mut chosen = largest(&sizes, limit).into_iter();
    let all = used.len();
    used.retain(|_| chosen.next() == Some(true));
    // Section A lists them by allocation, section C by id.
    used.sort_unstable_by_key(|(_, row)| *row);
    let left_out = all - used.len();
    let symbol = |(value, at): (&Value, At<facts::UsedValue>)| {
        let header = at.place(at.row.value.span);
        let instruction = dump
            .instruction(value)
            .map(|at| at.place(at.row.span).range.end);
        let range = header.range.start
            ..instruction
                .unwrap_or(header.range.end)
                .max(header.range.end);
        of_value(
            dump,
            value,
            Place { file, range },
            at.place(at.row.value.name),
        )
    };
    let lines = used.into_iter();
    let lines = lines.filter_map(|(value, row)| Some((value, dump.at(row)?)));
    lines
        .map(symbol)
        .chain(more(&[(left_out, "value")], end))
        .collect()
}

/// The peak list: its `limit` largest values.
pub(super) fn peak_values(dump: &Dump, file: FileId, limit: usize) -> Vec<Symbol> {
    let rows = dump.peak.iter().flat_map(|peak| &peak.values);
    let rows: Vec<At<facts::PeakValue>> = rows
        .filter_map(|&row| dump.at(row))
        .filter(|at: &At<facts::PeakValue>| at.file == file)
        .collect();
    let sizes: Vec<u64> = rows.iter().map(|at| at.row.bytes.value).collect();
    let chosen = largest(&sizes, limit);
    let left_out = rows.len() - chosen.iter().filter(|&&is| is).count();
    let end = rows
        .last()
        .map_or(0, |at| at.place(at.row.bytes.span).range.end);
    let symbol = |at: &At<facts::PeakValue>| {
        let name = at.place(at.row.name).range;
        let last = if at.row.cumulative.span.is_empty() {
            at.row.bytes
        } else {
            at.row.cumulative
        };
        Symbol {
            name: format!("{}{}", at.text(at.row.name), at.text(at.row.index)),
            detail: rounded(at.row.bytes.value),
            kind: SymbolKind::Value,
            range: name.start..at.place(last.span).range.end.max(name.end),
            selection: name,
            children: Vec::new(),
        }
    };
    let chosen = rows
        .iter()
        .zip(chosen)
        .filter(|(_, is)| *is)
        .map(|(at, _)| symbol(at));
    chosen.chain(more(&[(left_out, "value")], end)).collect()
}

/// The top levels of the stack trace breakdown: `limit` nodes at most.
pub(super) fn tree(dump: &Dump, file: FileId, limit: usize) -> Vec<Symbol> {
    let nodes = dump.tree.iter().flat_map(|(_, _, nodes)| nodes);
    let nodes: Vec<At<facts::TreeNode>> = nodes
        .filter_map(|&row| dump.at(row))
        .filter(|at: &At<facts::TreeNode>| at.file == file)
        .collect();
    let mut budget = limit;
    let mut at = 0;
    let mut symbols = Vec::new();
    while at < nodes.len() {
        symbols.extend(subtree(&nodes, &mut at, 2, &mut budget));
    }
    symbols
}

/// The node at `at` and those below it, `levels` deep; `at` is moved behind them.
fn subtree(
    nodes: &[At<facts::TreeNode>],
    at: &mut usize,
    levels: u32,
    budget: &mut usize,
) -> Option<Symbol> {
    let node = nodes.get(*at)?;
    *at += 1;
    let is_shown = *budget > 0;
    *budget = budget.saturating_sub(1);
    let mut children = Vec::new();
    while nodes
        .get(*at)
        .is_some_and(|next| next.row.depth > node.row.depth)
    {
        if levels == 0 || !is_shown {
            *at += 1;
        } else {
            children.extend(subtree(nodes, at, levels - 1, budget));
        }
    }
    let label = node.place(node.row.label).range;
    let last = &nodes[*at - 1];
    is_shown.then(|| Symbol {
        name: node.text(node.row.label).to_owned(),
        detail: format!(
            "{} ({} %)",
            rounded(node.row.total.value),
            node.text(node.row.percentage)
        ),
        kind: SymbolKind::Section,
        range: label.start..last.place(last.row.remaining.span).range.end.max(label.end),
        selection: label,
        children,
    })
}

fn range_of(values: &Range<u32>) -> Range<usize> {
    values.start as usize..values.end as usize
}

/// Which of `sizes` are among the `limit` largest; of equal ones the first.
fn largest(sizes: &[u64], limit: usize) -> Vec<bool> {
    if sizes.len() <= limit {
        return vec![true; sizes.len()];
    }
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.select_nth_unstable_by_key(limit, |&at| (Reverse(sizes[at]), at));
    let mut chosen = vec![false; sizes.len()];
    for &at in &order[..limit] {
        chosen[at] = true;
    }
    chosen
}
