//! Requests of every kind, and places in texts.

use serde_json::{Value, json};

use super::client::Answer;

/// The requests about a place, with their parameters.
pub fn requests_at(uri: &str, line: u64, character: u64) -> Vec<(&'static str, Value)> {
    let document = json!({ "uri": uri });
    let position = json!({ "line": line, "character": character });
    let range =
        json!({ "start": position, "end": { "line": line.saturating_add(3), "character": 0 } });
    let at = json!({ "textDocument": document, "position": position });
    let whole = json!({ "textDocument": document });
    let part = json!({ "textDocument": document, "range": range });
    let mut requests: Vec<(&str, Value)> = [
        "textDocument/hover",
        "textDocument/definition",
        "textDocument/declaration",
        "textDocument/typeDefinition",
        "textDocument/implementation",
        "textDocument/documentHighlight",
        "textDocument/prepareCallHierarchy",
        "textDocument/completion",
        "textDocument/signatureHelp",
    ]
    .into_iter()
    .map(|method| (method, at.clone()))
    .collect();
    requests.push((
        "textDocument/references",
        json!({ "textDocument": document, "position": position, "context": { "includeDeclaration": line.is_multiple_of(2) } }),
    ));
    requests.push((
        "textDocument/selectionRange",
        json!({ "textDocument": document, "positions": [position] }),
    ));
    requests.push(("textDocument/semanticTokens/range", part.clone()));
    requests.push(("textDocument/inlayHint", part));
    requests.push((
        "textDocument/codeAction",
        json!({ "textDocument": document, "range": range, "context": { "diagnostics": [] } }),
    ));
    // Answers about whole documents are large; now and then is enough.
    if (line + character).is_multiple_of(7) {
        for method in [
            "textDocument/documentSymbol",
            "textDocument/foldingRange",
            "textDocument/documentLink",
            "textDocument/codeLens",
            "textDocument/diagnostic",
            "textDocument/semanticTokens/full",
        ] {
            requests.push((method, whole.clone()));
        }
        requests.push(("workspace/symbol", json!({ "query": "fusion" })));
    }
    requests
}

/// Whether an answer is no inner error of the server. What it never offered it may refuse.
pub fn is_fine(answer: &Answer) -> bool {
    match answer {
        Ok(_) => true,
        // MethodNotFound, InvalidParams, RequestCancelled, ContentModified.
        Err(error) => matches!(
            error["code"].as_i64(),
            Some(-32601 | -32602 | -32800 | -32801)
        ),
    }
}

/// What is typed at random: nothing, parts of lines, their ends, characters of several units.
pub const PIECES: [&str; 14] = [
    "",
    "",
    "\n",
    "9",
    "0",
    "<3 x @0>",
    " value: ",
    "allocation 1: size 4:\n",
    "é",
    "𝄞",
    "{",
    ")",
    "\r\n",
    "Used values:\n",
];

/// The next place at or before `at` where an editor would put its cursor.
pub fn boundary(text: &str, mut at: usize) -> usize {
    // Not between the halves of a line end either: what an editor would not do.
    while !text.is_char_boundary(at) || (text[..at].ends_with('\r') && text[at..].starts_with('\n'))
    {
        at -= 1;
    }
    at
}

/// The position of an offset, in lines that end with `\n`, `\r\n` or `\r`.
pub fn position(text: &str, offset: usize) -> Value {
    let before = &text[..offset];
    let line = before.matches('\n').count() + before.replace("\r\n", "").matches('\r').count();
    let start = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    json!({ "line": line, "character": before[start..].encode_utf16().count() })
}
