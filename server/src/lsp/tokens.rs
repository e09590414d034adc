//! Semantic tokens in the protocol's packed form.

use std::ops::Range;

use buflens_syntax::Document;
use tower_lsp::ls_types as lsp;

use super::convert;
use super::view::View;
use crate::ide::tokens::{self, TokenKind};
use crate::workspace::Unavailable;

/// Above so many bytes clients have to ask for ranges.
const FULL: u32 = 1 << 20;
/// Of a longer line only so many bytes are coloured; editors do not draw more.
const COLUMNS: u32 = 10_000;

/// How the kinds of tokens are called, in the order of [`number`].
pub fn legend() -> lsp::SemanticTokensLegend {
    lsp::SemanticTokensLegend {
        token_types: vec![
            lsp::SemanticTokenType::KEYWORD,
            lsp::SemanticTokenType::VARIABLE,
            lsp::SemanticTokenType::FUNCTION,
            lsp::SemanticTokenType::OPERATOR,
            lsp::SemanticTokenType::TYPE,
            lsp::SemanticTokenType::NUMBER,
            lsp::SemanticTokenType::STRING,
            lsp::SemanticTokenType::PROPERTY,
            lsp::SemanticTokenType::COMMENT,
        ],
        token_modifiers: vec![lsp::SemanticTokenModifier::DEFINITION],
    }
}

fn number(kind: TokenKind) -> u32 {
    match kind {
        TokenKind::Keyword => 0,
        TokenKind::Name => 1,
        TokenKind::Computation => 2,
        TokenKind::Opcode => 3,
        TokenKind::Type => 4,
        TokenKind::Number => 5,
        TokenKind::String => 6,
        TokenKind::Attribute => 7,
        TokenKind::Comment => 8,
    }
}

/// The tokens of a whole document, unless it is large.
pub fn full(view: &View) -> Result<lsp::SemanticTokens, Unavailable> {
    let document = view.document()?;
    if document.len() > FULL {
        return Err(Unavailable::Absent);
    }
    Ok(packed(view, &document, 0..document.len()))
}

pub fn range(view: &View, range: lsp::Range) -> Result<lsp::SemanticTokens, Unavailable> {
    let document = view.document()?;
    let range = convert::bytes(&document, range, view.capabilities.encoding);
    Ok(packed(view, &document, range))
}

/// Every token is told by its distance from the one before.
fn packed(view: &View, document: &Document, range: Range<u32>) -> lsp::SemanticTokens {
    let mut before = lsp::Position::default();
    let token = |token: tokens::Token| {
        let lsp::Range { start, end } = view.range(document, &token.range);
        let delta_line = start.line.saturating_sub(before.line);
        let delta_start = if delta_line == 0 {
            start.character.saturating_sub(before.character)
        } else {
            start.character
        };
        before = start;
        lsp::SemanticToken {
            delta_line,
            delta_start,
            length: end.character.saturating_sub(start.character),
            token_type: number(token.kind),
            token_modifiers_bitset: u32::from(token.definition),
        }
    };
    let data = tokens::tokens(document, range, COLUMNS)
        .into_iter()
        .map(token)
        .collect();
    lsp::SemanticTokens {
        result_id: None,
        data,
    }
}
