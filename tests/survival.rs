//! Whatever an editor sends and whatever the text is, the server answers and lives.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::client::Server;
use crate::support::dumps::{broken, dumps_below, files_below, fixtures, fixtures_in};
use crate::support::extremes::extremes;
use crate::support::requests::{PIECES, boundary, is_fine, position, requests_at};
use crate::support::{Random, none_of};
use serde_json::{Value, json};

fn broken_file(name: &str) -> PathBuf {
    broken().join(format!(
        "module_0001.{name}.cpu_after_optimizations-buffer-assignment.txt"
    ))
}

#[test]
fn too_much_of_something_is_served() {
    let mut server = Server::start();
    let mut failures = Vec::new();
    for (name, text) in extremes() {
        let path = PathBuf::from(format!(
            "/extreme/module_0001.{name}.cpu_after_optimizations-buffer-assignment.txt"
        ));
        let uri = server.open(&path, &text);
        let published = server.diagnostics(&uri);
        assert!(
            published.len() <= 1000,
            "{name}: {} diagnostics",
            published.len()
        );
        let lines = text.lines().count();
        for line in [0, 2, lines.saturating_sub(1), lines] {
            ask_everything(&mut server, &uri, line as u64, 30, name, &mut failures);
        }
        server.notify(
            "textDocument/didClose",
            &json!({ "textDocument": { "uri": uri } }),
        );
    }
    server.finish();
    none_of(&failures, "failed requests");
}

fn ask_everything(
    server: &mut Server,
    uri: &str,
    line: u64,
    character: u64,
    name: &str,
    failures: &mut Vec<String>,
) {
    let requests = requests_at(uri, line, character);
    let answers = server.requests(&requests);
    let mut items = Vec::new();
    for ((method, _), answer) in requests.iter().zip(&answers) {
        if !is_fine(answer) {
            failures.push(format!(
                "{name}: {method} at {line}:{character}: {answer:?}"
            ));
        }
        if let (&"textDocument/prepareCallHierarchy", Ok(Value::Array(found))) = (method, answer) {
            items.extend(found.iter().take(2).cloned());
        }
    }
    for item in items {
        for method in ["callHierarchy/incomingCalls", "callHierarchy/outgoingCalls"] {
            let answer = server.request(method, &json!({ "item": item }));
            if !is_fine(&answer) {
                failures.push(format!(
                    "{name}: {method} at {line}:{character}: {answer:?}"
                ));
            }
        }
    }
}

#[test]
fn any_request_at_any_position_is_answered() {
    let mut random = Random(32);
    let mut server = Server::start();
    let mut failures = Vec::new();
    let mut files = files_below(&broken());
    for dump in dumps_below(&fixtures()) {
        files.push(dump.files[random.below(dump.files.len())].clone());
    }
    for path in files {
        let text = String::from_utf8_lossy(&fs::read(&path).expect("a file")).into_owned();
        let uri = server.open(&path, &text);
        let lines: Vec<&str> = text.split('\n').collect();
        let name = path.file_name().expect("a name").display().to_string();
        for _ in 0..6 {
            let line = random.below(lines.len());
            let length = lines[line].encode_utf16().count();
            let character = random.below(length.min(300) + 3);
            ask_everything(
                &mut server,
                &uri,
                line as u64,
                character as u64,
                &name,
                &mut failures,
            );
        }
        for (line, character) in [
            (0, 0),
            (u64::from(u32::MAX), 0),
            (0, u64::from(u32::MAX)),
            (lines.len() as u64, 7),
        ] {
            ask_everything(&mut server, &uri, line, character, &name, &mut failures);
        }
        if random.below(2) == 0 {
            server.notify(
                "textDocument/didClose",
                &json!({ "textDocument": { "uri": uri } }),
            );
        }
    }
    ask_everything(
        &mut server,
        "file:///never/opened-buffer-assignment.txt",
        0,
        0,
        "never opened",
        &mut failures,
    );
    ask_everything(
        &mut server,
        "untitled:Untitled-1",
        0,
        0,
        "no file",
        &mut failures,
    );
    server.finish();
    none_of(&failures, "failed requests");
}

/// Documents that were never saved, in any spelling of their place.
#[test]
fn unsaved_documents_are_served() {
    let text = fs::read_to_string(&fixtures_in(&["smallest"])[0].files[0]).expect("text");
    let mut server = Server::start();
    for uri in [
        "untitled:Untitled-1",
        "file:///a%20b/%C3%A9-buffer-assignment.txt",
        "vscode-remote://host/x.txt",
    ] {
        let document = json!({ "uri": uri, "languageId": "whatever", "version": 1, "text": text });
        server.notify("textDocument/didOpen", &json!({ "textDocument": document }));
        assert_eq!(server.diagnostics(uri), Vec::<Value>::new(), "{uri}");
        let place =
            json!({ "textDocument": { "uri": uri }, "position": { "line": 2, "character": 10 } });
        let hover = server
            .request("textDocument/hover", &place)
            .expect("a hover");
        assert!(hover.to_string().contains("64 B"), "{uri}: {hover}");
    }
    server.finish();
}

/// Edits at random, then the same text read fresh.
#[test]
fn edited_is_as_read_fresh() {
    let mut random = Random(33);
    for dump in fixtures_in(&["smallest", "cpu-run-on"]).iter().take(3) {
        let mut text = fs::read_to_string(&dump.files[0]).expect("text");
        let path =
            PathBuf::from("/edited/module_0001.e.cpu_after_optimizations-buffer-assignment.txt");
        let mut server = Server::start();
        let uri = server.open(&path, &text);
        let mut published = server.diagnostics(&uri);
        for version in 2..40 {
            let start = boundary(&text, random.below(text.len() + 1));
            let end = boundary(&text, (start + random.below(12)).min(text.len())).max(start);
            let piece = PIECES[random.below(PIECES.len())];
            let range = json!({ "start": position(&text, start), "end": position(&text, end) });
            text.replace_range(start..end, piece);
            server.notify(
                "textDocument/didChange",
                &json!({
                    "textDocument": { "uri": uri, "version": version },
                    "contentChanges": [{ "range": range, "text": piece }]
                }),
            );
            published = server.diagnostics(&uri);
        }
        server.finish();
        let mut fresh = Server::start();
        let uri = fresh.open(&path, &text);
        let expected = fresh.diagnostics(&uri);
        fresh.finish();
        assert_eq!(published, expected, "{}", dump.name());
    }
}

/// Markdown without its code spans.
fn without_code(markdown: &str) -> String {
    let mut rest = markdown;
    let mut text = String::new();
    while let Some(at) = rest.find(['`', '\\']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with('\\') {
            // An escaped mark is no mark.
            rest = rest[1..].strip_prefix(|_: char| true).unwrap_or_default();
            continue;
        }
        let ticks = rest.len() - rest.trim_start_matches('`').len();
        let (fence, behind) = rest.split_at(ticks);
        let closing = behind
            .match_indices(fence)
            .map(|(at, _)| at)
            .find(|&at| !behind[..at].ends_with('`') && !behind[at + ticks..].starts_with('`'));
        match closing {
            Some(at) => rest = &behind[at + ticks..],
            None => rest = behind,
        }
    }
    text + rest
}

#[test]
fn text_of_a_file_makes_no_links() {
    assert_eq!(
        without_code(r"a `[x](y)` \[b\](c) ``d`<e>`` f"),
        "a  b(c)  f"
    );
    let path = broken_file("markup");
    let text = fs::read_to_string(&path).expect("text");
    let mut server = Server::start();
    let uri = server.open(&path, &text);
    let mut failures = Vec::new();
    let mut hovers = 0;
    for (line, content) in text.lines().enumerate() {
        for character in (0..content.len()).step_by(3) {
            let place = json!({ "textDocument": { "uri": uri }, "position": { "line": line, "character": character } });
            let hover = server
                .request("textDocument/hover", &place)
                .expect("an answer");
            let Some(markdown) = hover["contents"]["value"].as_str() else {
                continue;
            };
            hovers += 1;
            let plain = without_code(markdown);
            let is_tag = |at: usize| {
                plain[at + 1..].starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c))
            };
            let tags = plain
                .match_indices('<')
                .filter(|(at, _)| is_tag(*at))
                .count();
            let links = plain.match_indices("](").filter(|(at, _)| {
                plain[at + 2..].starts_with("command:") || plain[at + 2..].starts_with("http://127")
            });
            if tags > 0 || links.count() > 0 {
                failures.push(format!("{}:{character}: {markdown}", line + 1));
            }
        }
    }
    let whole = json!({ "textDocument": { "uri": uri } });
    let links = server
        .request("textDocument/documentLink", &whole)
        .expect("an answer");
    assert!(!links.to_string().contains("command:"), "{links}");
    server.finish();
    assert!(hovers > 20, "only {hovers} hovers");
    none_of(&failures, "hovers with a link or tag from the file");
}

#[test]
fn a_client_without_capabilities_is_served() {
    let path = &fixtures_in(&["smallest"])[0].files[0];
    let mut server = Server::start_with(&json!({}));
    let uri = server.open_file(path);
    assert_eq!(server.diagnostics(&uri), Vec::<Value>::new());
    let place =
        json!({ "textDocument": { "uri": uri }, "position": { "line": 2, "character": 10 } });
    let hover = server
        .request("textDocument/hover", &place)
        .expect("a hover");
    assert!(hover.to_string().contains("64 B"), "{hover}");
    let definition = server
        .request("textDocument/definition", &place)
        .expect("a definition");
    let text = definition.to_string();
    assert!(
        text.contains("\"uri\"") && !text.contains("targetUri"),
        "no plain locations: {text}"
    );
    server.finish();
}

/// Edits that end before they start, unknown methods, notifications about nothing.
#[test]
fn senseless_messages_are_survived() {
    let path = &fixtures_in(&["smallest"])[0].files[0];
    let mut server = Server::start();
    let uri = server.open_file(path);
    server.diagnostics(&uri);
    let far =
        json!({ "start": { "line": 9999, "character": 5 }, "end": { "line": 3, "character": 1 } });
    server.notify(
        "textDocument/didChange",
        &json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": [{ "range": far, "text": "x" }] }),
    );
    server.notify("textDocument/didChange", &json!({ "nothing": true }));
    server.notify(
        "textDocument/didClose",
        &json!({ "textDocument": { "uri": "file:///never" } }),
    );
    server.notify("$/cancelRequest", &json!({ "id": 123_456 }));
    server.notify("buflens/unknown", &json!({}));
    let answer = server.request("buflens/unknown", &json!({}));
    assert!(answer.is_err(), "{answer:?}");
    let uri = server.open_file(Path::new(path));
    let place =
        json!({ "textDocument": { "uri": uri }, "position": { "line": 2, "character": 10 } });
    let hover = server
        .request("textDocument/hover", &place)
        .expect("a hover");
    assert!(hover.to_string().contains("64 B"), "{hover}");
    server.finish();
}
