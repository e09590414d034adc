//! The outline of a failure: the message, the sums, the largest allocations.

use std::cmp::Reverse;

use buflens_syntax::Document;

use super::{Symbol, SymbolKind, counted, more};
use crate::ide::markdown::cut;
use crate::model::failure::{Entry, Failure, Printed, failures};

/// An entry for each failure, with its sums and its allocations, the largest first.
pub(super) fn symbols(document: &Document, limit: usize) -> Vec<Symbol> {
    let failures = failures(document);
    let starts: Vec<u32> = failures.iter().map(|failure| failure.line.start).collect();
    let ends = starts.iter().skip(1).copied().chain([document.len()]);
    let mut left = limit;
    let symbols = failures.iter().zip(ends).take(limit).map(|(failure, end)| {
        let children = children(failure, left, end);
        left = left.saturating_sub(children.len() + 1);
        let name = failure
            .message
            .map_or("largest allocations", |message| message.text);
        let [wanted, available] = failure
            .message
            .map_or([None, None], |message| [message.wanted, message.available]);
        Symbol {
            name: cut(name, 80),
            detail: match (wanted, available) {
                (Some(Printed(wanted)), Some(Printed(there))) => format!("{wanted} of {there}"),
                (Some(Printed(wanted)), None) => wanted.to_owned(),
                _ => counted(failure.entries.len(), "allocation"),
            },
            kind: SymbolKind::Section,
            range: failure.line.start..end,
            selection: failure.line.clone(),
            children,
        }
    });
    symbols.collect()
}

fn children(failure: &Failure, limit: usize, end: u32) -> Vec<Symbol> {
    let mut entries: Vec<&Entry> = failure.entries.iter().collect();
    entries.sort_by_key(|entry| Reverse(entry.size.and_then(Printed::bytes)));
    let mut symbols: Vec<Symbol> = entries
        .iter()
        .take(limit)
        .map(|entry| symbol(entry))
        .collect();
    symbols.extend(more(
        &[(entries.len().saturating_sub(limit), "allocation")],
        end,
    ));
    symbols
}

fn symbol(entry: &Entry) -> Symbol {
    let name = entry
        .name
        .or(entry.label)
        .or(entry.shape)
        .unwrap_or("allocation");
    let size = entry.size.map_or("", |size| size.0);
    let op_name = entry.op_name.as_deref().unwrap_or_default();
    Symbol {
        name: format!("{}. {}", entry.number, cut(name, 80)),
        detail: format!("{size} {}", cut(op_name, 80)).trim().to_owned(),
        kind: SymbolKind::Value,
        range: entry.range.clone(),
        selection: entry.range.start..entry.head,
        children: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_stand_below_their_message_the_largest_first() {
        let text = "Ran out of memory in memory space hbm. Used 2.0K of 1.0K hbm.\n  1. Size: 512B\n     \
                    XLA label: a = copy(b)\n  2. Size: 1.0K\n     Operator: op_name=\"jit(f)/add\"\n";
        let document = Document::new(text).expect("a small text");
        let [failure] = &symbols(&document, 10)[..] else {
            panic!("one failure");
        };
        assert_eq!(failure.detail, "2.0K of 1.0K");
        assert_eq!(failure.range, 0..text.len() as u32);
        let names: Vec<(&str, &str)> = failure
            .children
            .iter()
            .map(|child| (child.name.as_str(), child.detail.as_str()))
            .collect();
        assert_eq!(
            names,
            [("2. allocation", "1.0K jit(f)/add"), ("1. a", "512B")]
        );
        let cut = &symbols(&document, 1)[0].children;
        assert_eq!(cut.last().expect("a remark").kind, SymbolKind::More);
    }
}
