//! Messages of a client: each request is answered, and the server ends when the client has gone.
//!
//! Each part is the text of a message, or, behind byte 0xFE, bytes as they are sent.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

/// What a client sends.
#[derive(Default)]
struct Sent {
    /// Messages, up to the first that may keep the server from answering those behind.
    sound: Vec<u8>,
    /// The ids of the requests in them.
    asked: BTreeSet<u64>,
    rest: Vec<u8>,
}

const RAW: u8 = 0xFE;
/// Longer than any answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// Ids that no input has by chance begin here.
const FIRST_ID: u64 = 7_000_000;

/// Sends the parts to a server.
pub fn check(data: &[u8]) {
    let mut sent = messages(data);
    let (input, mut to_server) = std::io::pipe().expect("a pipe");
    let (mut from_server, output) = std::io::pipe().expect("a pipe");
    let server = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(buflens::lsp::serve(input, output));
    });
    let (arrive, arrived) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = [0; 1 << 12];
        while let Ok(count @ 1..) = from_server.read(&mut bytes) {
            if arrive.send(bytes[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    // If the server has gone, the answers tell.
    let _ = to_server.write_all(&sent.sound);
    let mut received = Vec::new();
    while !sent.asked.is_empty() {
        let bytes = arrived.recv_timeout(PATIENCE);
        received.extend(bytes.unwrap_or_else(|_| panic!("{:?} have no answer", sent.asked)));
        for id in answered(&mut received) {
            assert!(sent.asked.remove(&id), "request {id} is answered twice");
        }
    }
    let _ = to_server.write_all(&sent.rest);
    drop(to_server);
    // It ends when nobody sends any more.
    loop {
        match arrived.recv_timeout(PATIENCE) {
            Ok(_) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("the server does not end"),
        }
    }
    server.join().expect("the server does not panic");
}

/// Takes whole messages off `received`, and gives the ids of the requests that they answer.
fn answered(received: &mut Vec<u8>) -> Vec<u64> {
    let mut ids = Vec::new();
    while let Some(end) = received.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
        let header = std::str::from_utf8(&received[..end]).expect("a header of text");
        let length = header
            .lines()
            .find_map(|line| line.strip_prefix("Content-Length: "));
        let length: usize = length
            .and_then(|length| length.parse().ok())
            .expect("a length");
        let Some(body) = received.get(end + 4..end + 4 + length) else {
            break;
        };
        let message: Value = serde_json::from_slice(body).expect("a message of JSON");
        let is_answer = message.get("method").is_none();
        ids.extend(
            message["id"]
                .as_u64()
                .filter(|&id| is_answer && id >= FIRST_ID),
        );
        received.drain(..end + 4 + length);
    }
    ids
}

fn messages(data: &[u8]) -> Sent {
    let mut sent = Sent::default();
    let mut is_sound = true;
    for (id, part) in (FIRST_ID..).zip(super::parts(data)) {
        if let [RAW, bytes @ ..] = part {
            is_sound = false;
            sent.rest.extend_from_slice(bytes);
            continue;
        }
        let mut text = String::from_utf8_lossy(part).into_owned();
        let message = serde_json::from_str::<Value>(&text).ok();
        let message =
            message.filter(|message| message["method"].is_string() && message["jsonrpc"] == "2.0");
        // The server reads no further behind `exit`.
        is_sound &= message
            .as_ref()
            .is_none_or(|message| message["method"] != "exit");
        if let Some(mut message) = message {
            if is_sound && (message["id"].is_number() || message["id"].is_string()) {
                message["id"] = id.into();
                sent.asked.insert(id);
            }
            if let Some(params) = message.get_mut("params").and_then(Value::as_object_mut) {
                // The server would go when that process does.
                params.remove("processId");
                params.remove("rootPath");
            }
            text = message.to_string();
        }
        // No file of this machine is looked at.
        let text = text.replace("file:", "file:///nowhere/");
        let message = format!("Content-Length: {}\r\n\r\n{text}", text.len());
        let bytes = if is_sound {
            &mut sent.sound
        } else {
            &mut sent.rest
        };
        bytes.extend_from_slice(message.as_bytes());
    }
    sent
}
