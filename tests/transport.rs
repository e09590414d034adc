//! Messages as bytes: whatever comes, the server answers what can be answered, and goes on.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::client::Server;
use serde_json::{Value, json};

const ASSIGNMENT: &str = "BufferAssignment:\nallocation 0: size 4, thread-local:\n value: <0 a @0> (size=4,offset=0): f32[]\n\n";

fn frame(body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

fn is_served(server: &mut Server) {
    let document = json!({ "textDocument": { "uri": "untitled:none" } });
    let answer = server.request("textDocument/documentSymbol", &document);
    assert_eq!(answer, Ok(Value::Null));
}

fn code(answer: crate::support::client::Answer) -> i64 {
    let error = answer.expect_err("an error");
    error["code"].as_i64().expect("a code")
}

#[test]
fn what_is_no_message_is_answered_and_the_next_one_served() {
    let mut server = Server::start();
    let deep = [b"[".repeat(200_000), b"]".repeat(200_000)].concat();
    let deep_request = format!(
        r#"{{"jsonrpc":"2.0","method":"x","params":{}}}"#,
        String::from_utf8_lossy(&deep)
    );
    let bodies: [(&[u8], i64); 14] = [
        (b"", -32700),
        (b"{", -32700),
        (b"{\"jsonrpc\":\"2.0\",\"method\":", -32700),
        (b"\xff\xfe", -32700),
        (b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}", -32700),
        (&deep, -32700),
        (deep_request.as_bytes(), -32700),
        (b"null", -32600),
        (b"[]", -32600),
        (b"{}", -32600),
        (b"\"text\"", -32600),
        (
            b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"shutdown\"}]",
            -32600,
        ),
        (b"{\"method\":\"shutdown\"}", -32600),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"shutdown\"}",
            -32600,
        ),
    ];
    for (body, expected) in bodies {
        server.write(&frame(body));
        is_served(&mut server);
        assert_eq!(
            std::mem::take(&mut server.unasked),
            [expected],
            "{:.60}",
            String::from_utf8_lossy(body)
        );
    }
    // Answers to nothing, sensible or not, are answered by nothing.
    for body in [
        r#"{"jsonrpc":"2.0","id":999,"result":7}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"m"}}"#,
        r#"{"jsonrpc":"2.0","id":[],"error":7}"#,
    ] {
        server.write(&frame(body.as_bytes()));
        is_served(&mut server);
    }
    assert_eq!(server.unasked, [0; 0]);
    server.finish();
}

#[test]
fn headers_that_are_none_are_skipped_up_to_the_next_one() {
    let mut server = Server::start();
    for noise in [
        "garbage\r\n\r\n",
        "\r\n\r\n\n",
        "Content-Length: abc\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}",
        "Content-Length: -5\r\n\r\n{}",
        "Content-Length: 1000000000000000000\r\n\r\n{}",
        "Content-Length: 99999999999999999999999999\r\n\r\n{}",
        "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}",
        "Content-Length: 2\r\n\r\n{}{\"and\": \"more\"}\r\n",
        &"x".repeat(100_000),
        &"\n\0: :\r".repeat(1000),
    ] {
        server.write(noise.as_bytes());
        is_served(&mut server);
    }
    // Of one of them a part was a body.
    assert_eq!(server.unasked, [-32600]);
    server.expect_logged("bytes of the input are no header of a message");
    for header in [
        "content-length",
        "CONTENT-LENGTH",
        "Content-Type: x\r\nContent-Length",
    ] {
        let body = r#"{"jsonrpc":"2.0","method":"$/x"}"#;
        server.write(format!("{header}:{}\n\n{body}", body.len()).as_bytes());
        is_served(&mut server);
    }
    assert_eq!(server.unasked, [-32600]);
    server.finish();
}

#[test]
fn an_input_that_ends_anywhere_ends_the_server() {
    for part in [
        "",
        "Content",
        "Content-Length: 10\r\n",
        "Content-Length: 10\r\n\r\n{\"js",
    ] {
        let mut server = Server::start();
        server.write(part.as_bytes());
        assert_eq!(server.end().code(), Some(1), "{part}");
    }
    let mut server = Server::start();
    server.request("shutdown", &Value::Null).expect("an answer");
    assert_eq!(server.end().code(), Some(0));
}

/// Whatever waits for its turn before them.
#[test]
fn an_end_that_is_announced_is_one() {
    let mut server = Server::start();
    let uri = server.open(
        Path::new("/end/x-buffer-assignment.txt"),
        &"x\n".repeat(1000),
    );
    let ask = |id: u64, method: &str, params: &Value| {
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        frame(body.to_string().as_bytes())
    };
    let at = json!({ "textDocument": { "uri": uri } });
    let requests = (1000..1400).map(|id| ask(id, "textDocument/documentSymbol", &at));
    let mut all: Vec<u8> = requests.flatten().collect();
    all.extend(ask(2000, "shutdown", &Value::Null));
    all.extend(frame(br#"{"jsonrpc":"2.0","method":"exit"}"#));
    server.write(&all);
    assert_eq!(server.end().code(), Some(0));
}

#[test]
fn messages_out_of_season_are_refused() {
    let long = "x\n".repeat(100_000);
    let mut server = Server::start_silently("warn");
    let path = Path::new("/season/x-buffer-assignment.txt");
    let uri = server.open(path, &long);
    let at = json!({ "textDocument": { "uri": uri } });
    assert_eq!(
        code(server.request("textDocument/documentSymbol", &at)),
        -32002
    );
    assert_eq!(code(server.request("shutdown", &Value::Null)), -32002);
    assert_eq!(code(server.request("initialize", &json!(7))), -32602);
    server.greet(&json!({}), &json!({}));
    assert_eq!(
        server.request("textDocument/foldingRange", &at),
        Ok(Value::Null),
        "it was opened before its time"
    );
    let again = json!({ "processId": null, "rootUri": null, "capabilities": {} });
    assert_eq!(code(server.request("initialize", &again)), -32600);
    for params in [
        json!(5),
        json!("x"),
        json!([1]),
        json!({ "textDocument": 7 }),
    ] {
        assert_eq!(code(server.request("textDocument/hover", &params)), -32602);
    }
    assert_eq!(code(server.request("no/such", &json!({}))), -32601);
    // A notification that wants an answer.
    let document =
        json!({ "textDocument": { "uri": uri, "languageId": "x", "version": 1, "text": long } });
    assert_eq!(
        code(server.request("textDocument/didOpen", &document)),
        -32600
    );
    server.request("shutdown", &Value::Null).expect("an answer");
    server.open(path, &long);
    assert_eq!(
        code(server.request("textDocument/foldingRange", &at)),
        -32600
    );
    server.notify("exit", &Value::Null);
    assert_eq!(server.end().code(), Some(0));
}

/// The end of the outermost selection, which is the end of the text.
fn end_of_text(server: &mut Server, uri: &str) -> Value {
    let params =
        json!({ "textDocument": { "uri": uri }, "positions": [{ "line": 0, "character": 0 }] });
    let answer = server
        .request("textDocument/selectionRange", &params)
        .expect("an answer");
    let mut selection = &answer[0];
    while selection["parent"].is_object() {
        selection = &selection["parent"];
    }
    selection["range"]["end"].clone()
}

#[test]
fn long_texts_come_in_order_with_short_ones() {
    let mut server = Server::start();
    let path = PathBuf::from("/long/x-buffer-assignment.txt");
    for lines in [9_000_u64, 0, 20_000, 1] {
        let text = "a \"b\\\t\u{e9}\u{1F600}\n".repeat(lines as usize);
        let uri = server.open(&path, &text);
        assert_eq!(
            end_of_text(&mut server, &uri),
            json!({ "line": lines, "character": 0 })
        );
        let insert = |text: &str, version: i64| {
            let at = json!({ "line": 0, "character": 0 });
            let change = json!({ "range": { "start": at, "end": at }, "text": text });
            json!({ "textDocument": { "uri": uri, "version": version }, "contentChanges": [change] })
        };
        server.notify("textDocument/didChange", &insert("1\n", 2));
        server.notify("textDocument/didChange", &insert(&"2\n".repeat(35_000), 3));
        server.notify("textDocument/didChange", &insert("3\n", 4));
        assert_eq!(
            end_of_text(&mut server, &uri),
            json!({ "line": lines + 35_002, "character": 0 })
        );
        let whole = json!({ "textDocument": { "uri": uri, "version": 5 }, "contentChanges": [{ "text": text }] });
        server.notify("textDocument/didChange", &whole);
        assert_eq!(
            end_of_text(&mut server, &uri),
            json!({ "line": lines, "character": 0 })
        );
        server.notify(
            "textDocument/didClose",
            &json!({ "textDocument": { "uri": uri } }),
        );
    }
    server.finish();
}

#[test]
fn a_long_text_is_held_once() {
    // Before `initialize` nothing is done with it.
    let mut server = Server::start_silently("warn");
    assert_eq!(code(server.request("shutdown", &Value::Null)), -32002);
    let Some(before) = server.status("VmHWM") else {
        println!("skipped: only Linux tells how much memory a process has had");
        return;
    };
    let text = "a line of text, and its end\n".repeat(1_500_000);
    server.open(Path::new("/x"), &text);
    assert_eq!(code(server.request("shutdown", &Value::Null)), -32002);
    let peak = server.status("VmHWM").unwrap_or(u64::MAX) - before;
    let length = text.len() as u64 / 1024;
    assert!(
        peak < length * 5 / 4,
        "{peak} KiB for a text of {length} KiB"
    );
}

#[test]
fn cancelling_overtakes_more_requests_than_are_worked_on() {
    let mut server = Server::start();
    let line = " value: <0 a @0> (size=4,offset=0): f32[]\n";
    let text = format!(
        "BufferAssignment:\nallocation 0: size 4, thread-local:\n{}",
        line.repeat(100_000)
    );
    let uri = server.open(Path::new("/cancel/x-buffer-assignment.txt"), &text);
    let document = json!({ "textDocument": { "uri": uri } });
    let requests = vec![("textDocument/documentSymbol", document); 800];
    let ids = server.begin(&requests);
    for id in ids.clone().rev() {
        server.cancel(id);
    }
    let answers = ids.map(|id| server.answer(id));
    let cancelled =
        answers.filter(|answer| answer.as_ref().is_err_and(|error| error["code"] == -32800));
    let cancelled = cancelled.count();
    assert!(cancelled > 700, "only {cancelled} of 800 were cancelled");
    server.finish();
}

#[test]
fn a_client_that_reads_nothing_makes_nothing_grow() {
    const COUNT: usize = 2000;
    let mut server = Command::new(env!("CARGO_BIN_EXE_buflens"))
        .args(["lsp", "--stdio"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut input = server.stdin.take().expect("a pipe");
    let mut output = BufReader::new(server.stdout.take().expect("a pipe"));
    let line = " value: <0 a @0> (size=4,offset=0): f32[]\n";
    let text = format!(
        "{}{}",
        ASSIGNMENT.trim_end(),
        format!("\n{}", line.trim_end()).repeat(1000)
    );
    let document = json!({ "uri": "untitled:x", "languageId": "x", "version": 1, "text": text });
    let mut messages = vec![
        json!({ "jsonrpc": "2.0", "id": "first", "method": "initialize", "params": { "processId": null, "rootUri": null, "capabilities": {} } }),
        json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }),
        json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen", "params": { "textDocument": document } }),
    ];
    messages.extend((0..COUNT).map(|id| json!({ "jsonrpc": "2.0", "id": id, "method": "textDocument/documentSymbol", "params": { "textDocument": { "uri": "untitled:x" } } })));
    let (sent, is_sent) = std::sync::mpsc::channel();
    let writer = std::thread::spawn(move || {
        for message in messages {
            input
                .write_all(&frame(message.to_string().as_bytes()))
                .expect("the server reads");
            let _ = sent.send(());
        }
        input
    });
    // The server takes messages until it has enough of them.
    while is_sent
        .recv_timeout(std::time::Duration::from_secs(2))
        .is_ok()
    {}
    let (mut answers, mut bytes) = (0, 0);
    while answers < COUNT {
        let mut length = 0;
        loop {
            let mut header = String::new();
            assert_ne!(
                output.read_line(&mut header).expect("a header"),
                0,
                "it has ended"
            );
            if header.trim().is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("Content-Length: ") {
                length = value.trim().parse().expect("a length");
            }
        }
        let mut body = vec![0; length];
        output.read_exact(&mut body).expect("a body");
        bytes += body.len();
        let message: Value = serde_json::from_slice(&body).expect("a message");
        answers += usize::from(message["id"].is_u64() && message.get("method").is_none());
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id()));
    if let Ok(status) = status {
        let peak = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .expect("a peak");
        let peak: usize = peak
            .trim()
            .trim_end_matches(" kB")
            .parse()
            .expect("a number");
        // Were nothing held back, all of `bytes` would be there. The 256 answers that are made at
        // once, as trees and as texts, take a quarter to a third of that; it depends on who runs.
        let bound = bytes / 1024 / 2;
        println!("{peak} KiB, of {} KiB of answers", bytes / 1024);
        assert!(peak < bound, "{peak} KiB, expected less than {bound}");
    }
    drop(writer.join().expect("all is written"));
    server.wait().expect("its end");
}

#[test]
fn what_is_logged_can_be_chosen_and_a_wrong_choice_is_told() {
    let mut server = Server::start_silently("a=b=c");
    server.expect_logged("`BUFLENS_LOG` is no filter such as `info`");
    server.write(&frame(b"{"));
    server.expect_logged("the client sent what is no JSON");
    let mut silent = Server::start_silently("error");
    silent.write(&frame(b"{"));
    assert_eq!(code(silent.request("shutdown", &Value::Null)), -32002);
    assert_eq!(silent.logged(), "");
}
