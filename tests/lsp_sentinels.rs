//! The rules of the language server's shell, seen from outside: the real binary over its pipes.
//!
//! Each test fails when a rule of `lsp` is broken that nothing else would notice: the order of
//! messages, cancelling under load, clients that answer late, and every way to end.
#![allow(clippy::needless_pass_by_value)] // `json!` makes values.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Long enough for a loaded machine; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

const CONTENT_MODIFIED: i64 = -32801;
const CANCELLED: i64 = -32800;

const ASSIGNMENT: &str = "BufferAssignment:\nallocation 0: size 4, thread-local:\n value: <0 a @0> (size=4,offset=0): f32[]\n\n";

/// The server as a process, and all that it has said and nobody has asked for yet.
struct Client {
    server: Child,
    input: Option<ChildStdin>,
    output: Receiver<Value>,
    unread: VecDeque<Value>,
    next_id: i64,
}

impl Client {
    fn start() -> Self {
        Self::start_logging_to(Stdio::inherit())
    }

    fn start_logging_to(log: Stdio) -> Self {
        let mut server = Command::new(env!("CARGO_BIN_EXE_buflens"))
            .args(["lsp", "--stdio"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("the server starts");
        let input = server.stdin.take();
        let mut output = BufReader::new(server.stdout.take().expect("a pipe"));
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            while let Some(message) = read(&mut output) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        Self {
            server,
            input,
            output: receiver,
            unread: VecDeque::new(),
            next_id: 1,
        }
    }

    fn initialized(capabilities: Value) -> Self {
        let mut client = Self::start();
        client.greet(capabilities);
        client
    }

    fn greet(&mut self, capabilities: Value) {
        let params = json!({ "processId": null, "rootUri": null, "capabilities": capabilities });
        self.initialize(params);
    }

    fn initialize(&mut self, params: Value) -> Value {
        let result = self.ask("initialize", params)["result"].clone();
        self.notify("initialized", json!({}));
        result
    }

    fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("an open pipe");
        input
            .write_all(bytes)
            .and_then(|()| input.flush())
            .expect("the server reads");
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.send_bytes(&frame(
            &json!({ "jsonrpc": "2.0", "method": method, "params": params }),
        ));
    }

    fn request(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send_bytes(&frame(
            &json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }),
        ));
        id
    }

    /// The next message that `wanted` accepts; others are kept.
    fn wait(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        if let Some(at) = self.unread.iter().position(&wanted) {
            return self.unread.remove(at).expect("it is there");
        }
        loop {
            match self
                .output
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(message) if wanted(&message) => return message,
                Ok(message) => self.unread.push_back(message),
                Err(RecvTimeoutError::Timeout) => panic!("no answer; unread: {:?}", self.unread),
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("the server is gone; unread: {:?}", self.unread)
                }
            }
        }
    }

    fn answer(&mut self, id: i64) -> Value {
        self.wait(|message| message.get("method").is_none() && message["id"] == id)
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    fn open(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "xla-buffer-assignment", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    fn change(&mut self, uri: &str, version: i32, change: Value) {
        let document = json!({ "uri": uri, "version": version });
        self.notify(
            "textDocument/didChange",
            json!({ "textDocument": document, "contentChanges": [change] }),
        );
    }

    fn published(&mut self, uri: &str) -> Value {
        self.wait(|message| {
            message["method"] == "textDocument/publishDiagnostics"
                && message["params"]["uri"] == uri
        })["params"]
            .clone()
    }

    /// Everything said until the server has been silent for a while.
    fn rest(&mut self) -> Vec<Value> {
        while let Ok(message) = self.output.recv_timeout(Duration::from_millis(500)) {
            self.unread.push_back(message);
        }
        self.unread.drain(..).collect()
    }

    fn wait_for_end(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.server.try_wait().expect("its state") {
                return status;
            }
            assert!(Instant::now() < deadline, "the server does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn frame(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn read(input: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if input.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end().split_once(": ") {
            Some(("Content-Length", value)) => length = value.parse().ok()?,
            _ if line.trim_end().is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

/// The end of the outermost selection at the start of the text, which is the end of a text of one
/// line.
fn selection(uri: &str) -> Value {
    json!({ "textDocument": { "uri": uri }, "positions": [{ "line": 0, "character": 1_000_000 }] })
}

fn end_of_text(answer: &Value) -> &Value {
    let mut selection = &answer["result"][0];
    while selection["parent"].is_object() {
        selection = &selection["parent"];
    }
    &selection["range"]["end"]
}

const URI: &str = "untitled:one";

#[test]
fn a_request_sees_the_text_of_its_own_moment_in_a_burst() {
    let mut client = Client::initialized(json!({}));
    client.open(URI, "");
    let mut burst = Vec::new();
    let mut ids = Vec::new();
    for version in 2..502 {
        let change = json!({ "range": { "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 0 } }, "text": "x" });
        let document = json!({ "uri": URI, "version": version });
        let change = json!({ "textDocument": document, "contentChanges": [change] });
        burst.extend(frame(
            &json!({ "jsonrpc": "2.0", "method": "textDocument/didChange", "params": change }),
        ));
        let id = client.next_id;
        client.next_id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": "textDocument/selectionRange", "params": selection(URI) });
        burst.extend(frame(&request));
        ids.push((id, version - 1));
    }
    client.send_bytes(&burst);
    let last = ids.len() - 1;
    for (number, (id, length)) in ids.into_iter().enumerate() {
        let answer = client.answer(id);
        if answer.get("error").is_some() && number != last {
            assert_eq!(answer["error"]["code"], CONTENT_MODIFIED, "{answer}");
        } else {
            assert_eq!(
                end_of_text(&answer),
                &json!({ "line": 0, "character": length }),
                "{answer}"
            );
        }
    }
    assert_eq!(client.published(URI)["uri"], URI);
    let published: Vec<i64> = std::iter::once(client.rest())
        .flatten()
        .filter(|message| message["method"] == "textDocument/publishDiagnostics")
        .filter_map(|message| message["params"]["version"].as_i64())
        .collect();
    assert!(
        published.is_sorted() && published.windows(2).all(|pair| pair[0] != pair[1]),
        "{published:?}"
    );
}

#[test]
fn each_open_and_change_is_answered_with_diagnostics_once() {
    let mut client = Client::initialized(json!({}));
    client.open(URI, ASSIGNMENT);
    assert_eq!(client.published(URI)["version"], 1);
    let change = json!({ "text": ASSIGNMENT });
    client.change(URI, 2, change);
    assert_eq!(client.published(URI)["version"], 2);
    let rest = client.rest();
    assert_eq!(rest, Vec::<Value>::new());
}

#[test]
fn waiting_requests_are_cancelled_promptly() {
    let mut client = Client::initialized(json!({}));
    let line = " value: <0 a @0> (size=4,offset=0): f32[]\n";
    let text = format!(
        "BufferAssignment:\nallocation 0: size 4, thread-local:\n{}",
        line.repeat(400_000)
    );
    client.open(URI, &text);
    let document = json!({ "textDocument": { "uri": URI } });
    let ids: Vec<i64> = (0..64)
        .map(|_| client.request("textDocument/documentSymbol", document.clone()))
        .collect();
    let start = Instant::now();
    for id in &ids {
        client.notify("$/cancelRequest", json!({ "id": id }));
    }
    let mut cancelled = 0;
    for id in ids {
        let answer = client.answer(id);
        cancelled += u32::from(answer["error"]["code"] == CANCELLED);
    }
    let took = start.elapsed();
    assert!(cancelled >= 60, "only {cancelled} of 64 were cancelled");
    // Reading the text takes longer than this where 64 answers do not.
    assert!(took < Duration::from_secs(20), "it took {took:?}");
}

#[test]
fn the_server_does_not_wait_for_a_client_that_answers_late() {
    let mut client = Client::initialized(json!({
        "workspace": {
            "configuration": true,
            "didChangeConfiguration": { "dynamicRegistration": true },
            "didChangeWatchedFiles": { "dynamicRegistration": true },
        }
    }));
    let configuration = client.wait(|message| message["method"] == "workspace/configuration");
    let registration = client.wait(|message| message["method"] == "client/registerCapability");
    client.open(URI, "abc");
    let answer = client.ask("textDocument/selectionRange", selection(URI));
    assert_eq!(end_of_text(&answer), &json!({ "line": 0, "character": 3 }));
    assert_eq!(client.published(URI)["version"], 1);
    let settings = json!([{ "severity": { "no-such-code": "off" }, "unknown": 1 }]);
    client.send_bytes(&frame(
        &json!({ "jsonrpc": "2.0", "id": configuration["id"], "result": settings }),
    ));
    client.send_bytes(&frame(
        &json!({ "jsonrpc": "2.0", "id": registration["id"], "result": null }),
    ));
    for setting in ["no-such-code", "buflens.unknown"] {
        client.wait(|message| {
            message["method"] == "window/logMessage"
                && message["params"]["message"]
                    .as_str()
                    .is_some_and(|text| text.contains(setting))
        });
    }
    client.notify(
        "workspace/didChangeConfiguration",
        json!({ "settings": null }),
    );
    let again = client.wait(|message| message["method"] == "workspace/configuration");
    client.send_bytes(&frame(
        &json!({ "jsonrpc": "2.0", "id": again["id"], "result": settings }),
    ));
    assert_eq!(
        client.rest(),
        Vec::<Value>::new(),
        "unknown settings are told once"
    );
}

#[test]
fn the_server_does_not_wait_for_a_log_that_nobody_reads() {
    let mut client = Client::start_logging_to(Stdio::piped());
    client.greet(json!({}));
    // More than a pipe holds.
    for version in 0..3000 {
        let change = json!({ "text": "" });
        client.change("untitled:not-open", version, change);
    }
    client.open(URI, ASSIGNMENT);
    assert_eq!(client.published(URI)["version"], 1);
    client.ask("shutdown", Value::Null);
    client.notify("exit", Value::Null);
    assert!(client.wait_for_end().success());
}

#[test]
fn exit_ends_the_server_while_its_input_is_open() {
    let mut client = Client::initialized(json!({}));
    assert_eq!(client.ask("shutdown", Value::Null)["result"], Value::Null);
    client.notify("exit", Value::Null);
    assert_eq!(client.wait_for_end().code(), Some(0));

    let mut client = Client::initialized(json!({}));
    client.notify("exit", Value::Null);
    assert_eq!(client.wait_for_end().code(), Some(1), "without shutdown");
}

#[test]
fn the_end_of_its_input_ends_the_server() {
    let mut client = Client::initialized(json!({}));
    client.open(URI, ASSIGNMENT);
    client.input = None;
    assert_eq!(client.wait_for_end().code(), Some(1));
}

#[cfg(unix)]
#[test]
fn the_death_of_the_parent_ends_the_server() {
    let mut parent = Command::new("sleep").arg("600").spawn().expect("a process");
    let mut client = Client::start();
    client.initialize(json!({ "processId": parent.id(), "rootUri": null, "capabilities": {} }));
    client.open(URI, "abc");
    assert_eq!(client.published(URI)["version"], 1);
    parent.kill().expect("its end");
    // Nobody has asked for its exit code yet, as an editor that hangs may not.
    assert_eq!(client.wait_for_end().code(), Some(1));
    parent.wait().expect("its exit code");
}

#[test]
fn unknown_methods_are_answered_and_unknown_notifications_are_not() {
    let mut client = Client::initialized(json!({}));
    assert_eq!(
        client.ask("textDocument/noSuchThing", json!({}))["error"]["code"],
        -32601
    );
    assert_eq!(
        client.ask("$/noSuchThing", json!({}))["error"]["code"],
        -32601
    );
    client.notify("$/noSuchThing", json!({}));
    client.notify("noSuchThing", json!({}));
    assert_eq!(
        client.ask("textDocument/hover", json!({ "textDocument": {} }))["error"]["code"],
        -32602
    );
    client.open(URI, "abc");
    assert_eq!(client.published(URI)["version"], 1);
    assert_eq!(client.rest(), Vec::<Value>::new());
}

/// Every request, with a position where there is text.
fn requests(uri: &str) -> Vec<(&'static str, Value)> {
    let document = json!({ "uri": uri });
    let position = json!({ "line": 2, "character": 10 });
    let range =
        json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 3, "character": 0 } });
    let at = json!({ "textDocument": document, "position": position });
    let whole = json!({ "textDocument": document });
    let references = json!({ "textDocument": document, "position": position, "context": { "includeDeclaration": true } });
    let actions =
        json!({ "textDocument": document, "range": range, "context": { "diagnostics": [] } });
    let positions = json!({ "textDocument": document, "positions": [position, { "line": 99, "character": 99 }] });
    vec![
        ("textDocument/hover", at.clone()),
        ("textDocument/definition", at.clone()),
        ("textDocument/declaration", at.clone()),
        ("textDocument/typeDefinition", at.clone()),
        ("textDocument/implementation", at.clone()),
        ("textDocument/documentHighlight", at.clone()),
        ("textDocument/prepareCallHierarchy", at),
        ("textDocument/references", references),
        ("textDocument/documentSymbol", whole.clone()),
        ("textDocument/foldingRange", whole.clone()),
        ("textDocument/semanticTokens/full", whole.clone()),
        (
            "textDocument/semanticTokens/range",
            json!({ "textDocument": document, "range": range }),
        ),
        ("textDocument/documentLink", whole.clone()),
        ("textDocument/diagnostic", whole),
        ("textDocument/selectionRange", positions),
        ("textDocument/codeAction", actions),
        ("workspace/symbol", json!({ "query": "a" })),
    ]
}

#[test]
fn a_client_without_capabilities_is_served() {
    let mut client = Client::start();
    let result =
        client.initialize(json!({ "processId": null, "rootUri": null, "capabilities": {} }));
    let server = &result["capabilities"];
    assert_eq!(server["positionEncoding"], "utf-16");
    assert!(
        server.get("diagnosticProvider").is_none() && server.get("codeActionProvider").is_none(),
        "{server}"
    );
    client.open(URI, ASSIGNMENT);
    assert_eq!(client.published(URI)["version"], 1);
    for uri in [URI, "untitled:never-opened"] {
        for (method, params) in requests(uri) {
            let answer = client.ask(method, params);
            assert!(answer.get("error").is_none(), "{method}: {answer}");
            if method == "textDocument/documentSymbol" {
                let symbols = answer["result"].as_array().map_or(&[][..], Vec::as_slice);
                assert!(
                    symbols
                        .iter()
                        .all(|symbol| symbol.get("location").is_some()),
                    "{symbols:?}"
                );
            }
        }
    }
    assert_eq!(
        client.rest(),
        Vec::<Value>::new(),
        "nothing is asked of a client that can nothing"
    );
}

#[test]
fn a_client_that_pulls_diagnostics_gets_none_pushed() {
    let mut client = Client::initialized(json!({ "textDocument": { "diagnostic": {} } }));
    client.open(URI, ASSIGNMENT);
    let pull =
        |previous: Value| json!({ "textDocument": { "uri": URI }, "previousResultId": previous });
    let first = client.ask("textDocument/diagnostic", pull(Value::Null))["result"].clone();
    assert_eq!(first["kind"], "full");
    let second =
        client.ask("textDocument/diagnostic", pull(first["resultId"].clone()))["result"].clone();
    assert_eq!(second["kind"], "unchanged");
    client.change(URI, 2, json!({ "text": ASSIGNMENT }));
    let third =
        client.ask("textDocument/diagnostic", pull(first["resultId"].clone()))["result"].clone();
    assert_eq!(third["kind"], "full");
    assert_eq!(client.rest(), Vec::<Value>::new());
}

#[test]
fn a_change_that_ends_before_it_starts_drops_the_text_until_it_is_told_again() {
    let mut client = Client::initialized(json!({}));
    client.open(URI, "abc");
    assert_eq!(client.published(URI)["version"], 1);
    let reversed =
        json!({ "start": { "line": 0, "character": 2 }, "end": { "line": 0, "character": 1 } });
    client.change(URI, 2, json!({ "range": reversed, "text": "x" }));
    for (method, params) in requests(URI) {
        let answer = client.ask(method, params);
        let result = &answer["result"];
        assert!(
            result.is_null()
                || result == &json!([])
                || result == &json!({ "items": [], "kind": "full" }),
            "{method}: {answer}"
        );
    }
    let start =
        json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 0 } });
    client.change(URI, 3, json!({ "range": start, "text": "x" }));
    assert_eq!(
        client.ask("textDocument/selectionRange", selection(URI))["result"],
        Value::Null
    );
    client.change(URI, 4, json!({ "text": "whole" }));
    let answer = client.ask("textDocument/selectionRange", selection(URI));
    assert_eq!(end_of_text(&answer), &json!({ "line": 0, "character": 5 }));
    client.notify(
        "textDocument/didClose",
        json!({ "textDocument": { "uri": URI } }),
    );
    client.open(URI, "again");
    let answer = client.ask("textDocument/selectionRange", selection(URI));
    assert_eq!(end_of_text(&answer), &json!({ "line": 0, "character": 5 }));
}

/// The end of the text is what the protocol says such a line is.
#[test]
fn a_change_behind_the_last_line_is_one_of_the_end() {
    let mut client = Client::initialized(json!({}));
    client.open(URI, "abc");
    let beyond =
        json!({ "start": { "line": 7, "character": 0 }, "end": { "line": 9, "character": 1 } });
    client.change(URI, 2, json!({ "range": beyond, "text": "de" }));
    let answer = client.ask("textDocument/selectionRange", selection(URI));
    assert_eq!(end_of_text(&answer), &json!({ "line": 0, "character": 5 }));
}

#[test]
fn a_sibling_in_another_buffer_changes_only_what_it_changes() {
    let folder = tempfile::tempdir().expect("a folder");
    let uri = |name: &str| {
        format!(
            "file://{}",
            folder
                .path()
                .join(name)
                .to_string_lossy()
                .replace('\\', "/")
        )
    };
    let (assignment, ranges) = (uri("m-buffer-assignment.txt"), uri("m-live-range.txt"));
    std::fs::write(folder.path().join("m-buffer-assignment.txt"), ASSIGNMENT).expect("a file");
    let mut client = Client::initialized(json!({}));
    client.open(&assignment, ASSIGNMENT);
    assert_eq!(client.published(&assignment)["version"], 1);
    client.open(
        &ranges,
        "HloLiveRange (max 1):\n  InstructionSequence:\n    0:a\n  BufferLiveRange:\n",
    );
    assert_eq!(client.published(&ranges)["version"], 1);
    let before = client.rest();
    client.change(&ranges, 2, json!({ "text": "HloLiveRange (max 1):\n  InstructionSequence:\n    0:a\n  BufferLiveRange:\n" }));
    assert_eq!(client.published(&ranges)["version"], 2);
    assert_eq!(
        client.rest(),
        Vec::<Value>::new(),
        "the same text, the same diagnostics; before: {before:?}"
    );
}
