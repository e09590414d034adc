//! The flow of data, and computations that call each other, as a call hierarchy.
//!
//! An item carries the name of its instruction or computation, and the index of its value, so that it can be found again
//! in whatever its dump has become.

use std::ops::Range;

use serde_json::{Value, json};
use tower_lsp::ls_types as lsp;

use super::view::View;
use crate::ide::call_hierarchy::{self, Call, Item, Node};
use crate::model::{Dump, FileId};
use crate::workspace::{Loaded, Unavailable};

/// So many neighbours at most.
const LIMIT: usize = 1000;

pub fn prepare(
    view: &View,
    position: lsp::Position,
) -> Result<Vec<lsp::CallHierarchyItem>, Unavailable> {
    let (Loaded { dump, file, .. }, offset) = view.cursor(position)?;
    let item = call_hierarchy::prepare(&dump, file, offset).ok_or(Unavailable::Absent)?;
    Ok(item_of(view, &dump, item).into_iter().collect())
}

pub fn incoming(
    view: &View,
    item: &lsp::CallHierarchyItem,
) -> Result<Vec<lsp::CallHierarchyIncomingCall>, Unavailable> {
    let Loaded { dump, .. } = view.loaded()?;
    let calls = call_hierarchy::incoming(&dump, node(&dump, item)?);
    let call = |Call { item, ranges }: Call| {
        let from_ranges = ranges_in(view, &dump, item.place.file, &ranges);
        Some(lsp::CallHierarchyIncomingCall {
            from_ranges,
            from: item_of(view, &dump, item)?,
        })
    };
    Ok(calls.into_iter().take(LIMIT).filter_map(call).collect())
}

pub fn outgoing(
    view: &View,
    item: &lsp::CallHierarchyItem,
) -> Result<Vec<lsp::CallHierarchyOutgoingCall>, Unavailable> {
    let Loaded { dump, file, .. } = view.loaded()?;
    let calls = call_hierarchy::outgoing(&dump, node(&dump, item)?, file);
    let call = |call: Call| {
        // The caller is the item asked for.
        let mut from_ranges = ranges_in(view, &dump, file, &call.ranges);
        if from_ranges.is_empty() {
            from_ranges.push(item.selection_range);
        }
        Some(lsp::CallHierarchyOutgoingCall {
            from_ranges,
            to: item_of(view, &dump, call.item)?,
        })
    };
    Ok(calls.into_iter().take(LIMIT).filter_map(call).collect())
}

fn node(dump: &Dump, item: &lsp::CallHierarchyItem) -> Result<Node, Unavailable> {
    let data = item.data.as_ref();
    let kept = |key| data.and_then(|data| data.get(key)).and_then(Value::as_str);
    if let Some(name) = kept("computation") {
        let name = dump.names.get(name).ok_or(Unavailable::Absent)?;
        return Ok(Node::Computation(name));
    }
    let name = kept("name").unwrap_or(&item.name);
    let name = dump.names.get(name).ok_or(Unavailable::Absent)?;
    if let Some(index) = kept("index") {
        let index = dump.names.get(index).ok_or(Unavailable::Absent)?;
        let value = dump.values_at(name, index).next();
        let node = value.map(|value| Node::of_value(dump, value));
        return node.ok_or(Unavailable::Absent);
    }
    let computation = kept("of").and_then(|of| dump.computation_named(dump.names.get(of)?));
    Ok(Node::Instruction(name, computation))
}

fn item_of(view: &View, dump: &Dump, item: Item) -> Option<lsp::CallHierarchyItem> {
    let lsp::Location { uri, range } = view.location(dump, &item.place)?;
    let mut name = dump.names[item.node.name(dump)].to_owned();
    let (kind, data) = match item.node {
        Node::Instruction(_, computation) => {
            let of = computation.and_then(|at| dump.computation_name(at));
            (lsp::SymbolKind::METHOD, json!({ "name": name, "of": of }))
        }
        Node::Value(_) => {
            let index = item.node.index(dump);
            (
                lsp::SymbolKind::METHOD,
                json!({ "name": name, "index": index }),
            )
        }
        Node::Computation(_) => (lsp::SymbolKind::FUNCTION, json!({ "computation": name })),
    };
    name.push_str(item.node.index(dump).unwrap_or_default());
    Some(lsp::CallHierarchyItem {
        data: Some(data),
        name,
        kind,
        tags: None,
        detail: Some(item.detail),
        uri,
        range,
        selection_range: view.range_in(dump, item.place.file, &item.selection)?,
    })
}

fn ranges_in(view: &View, dump: &Dump, file: FileId, ranges: &[Range<u32>]) -> Vec<lsp::Range> {
    ranges
        .iter()
        .take(LIMIT)
        .filter_map(|range| view.range_in(dump, file, range))
        .collect()
}
