//! Completion in HLO texts.

use tower_lsp::ls_types as lsp;

use super::view::View;
use crate::ide::completion::{self, ItemKind};
use crate::workspace::{Loaded, Unavailable};

/// So many proposals at most.
const LIMIT: usize = 200;

pub fn completion(
    view: &View,
    position: lsp::Position,
) -> Result<lsp::CompletionResponse, Unavailable> {
    let (Loaded { dump, file, .. }, offset) = view.cursor(position)?;
    let found = completion::completion(&dump, file, offset, LIMIT).ok_or(Unavailable::Absent)?;
    let range = view
        .range_in(&dump, file, &found.range)
        .ok_or(Unavailable::Absent)?;
    let item = |(place, item): (usize, completion::Item)| lsp::CompletionItem {
        label: item.text.clone(),
        kind: Some(match item.kind {
            ItemKind::Instruction => lsp::CompletionItemKind::VARIABLE,
            ItemKind::Computation => lsp::CompletionItemKind::FUNCTION,
            ItemKind::Opcode => lsp::CompletionItemKind::KEYWORD,
            ItemKind::Type => lsp::CompletionItemKind::TYPE_PARAMETER,
            ItemKind::Attribute => lsp::CompletionItemKind::PROPERTY,
        }),
        detail: Some(item.detail).filter(|detail| !detail.is_empty()),
        // The nearest first, whatever they are called.
        sort_text: Some(format!("{place:04}")),
        text_edit: Some(lsp::TextEdit::new(range, item.text).into()),
        ..lsp::CompletionItem::default()
    };
    Ok(lsp::CompletionResponse::List(lsp::CompletionList {
        is_incomplete: found.incomplete,
        items: found.items.into_iter().enumerate().map(item).collect(),
    }))
}
