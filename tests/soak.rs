//! An editor that is used for long: opens, edits, requests, cancels and closes at random. Every
//! request is answered once, the text and what is said of it stay right, and memory does not grow.
//!
//! `BUFLENS_SOAK_ROUNDS=N` does more than the few rounds of every day.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::support::Random;
use crate::support::client::{Answer, Server, uri};
use crate::support::dumps::{dumps_below, fixtures};
use crate::support::generate;
use crate::support::requests::{PIECES, boundary, is_fine, position, requests_at};
use serde_json::{Value, json};

/// One round is one thing that a user does.
const ROUNDS: usize = 20_000;
/// So many documents are open at most.
const MOST_OPEN: usize = 8;
/// A text that has grown by edits to so many bytes is replaced by that of its file.
const LONGEST: usize = 400_000;

/// A document that is open.
struct Document {
    path: PathBuf,
    text: String,
    version: i64,
}

struct Soak {
    server: Server,
    random: Random,
    files: Vec<PathBuf>,
    open: BTreeMap<String, Document>,
    /// Requests that have not been answered.
    pending: Vec<u64>,
}

fn text_of(path: &PathBuf) -> String {
    String::from_utf8_lossy(&fs::read(path).expect("a file")).into_owned()
}

impl Soak {
    fn new(server: Server, seed: u64) -> Self {
        let files = dumps_below(&fixtures())
            .into_iter()
            .flat_map(|dump| dump.files);
        Self {
            server,
            random: Random(seed),
            files: files.collect(),
            open: BTreeMap::new(),
            pending: Vec::new(),
        }
    }

    fn run(&mut self, rounds: usize) {
        for round in 0..rounds {
            match self.random.below(100) {
                0..8 => self.open(),
                8..13 => self.close(),
                13..45 => self.edit(),
                45..48 => self.misfit(),
                48..53 => self.replace(),
                53..63 => self.cancel(),
                _ => self.ask(),
            }
            if round % 64 == 63 {
                self.settle();
            }
        }
        self.settle();
    }

    fn one_of_the_open(&mut self) -> Option<String> {
        let count = self.open.len();
        let at = (count > 0).then(|| self.random.below(count))?;
        self.open.keys().nth(at).cloned()
    }

    fn open(&mut self) {
        let path = self.files[self.random.below(self.files.len())].clone();
        if self.open.len() >= MOST_OPEN || self.open.contains_key(&uri(&path)) {
            return;
        }
        let text = text_of(&path);
        let uri = self.server.open(&path, &text);
        self.open.insert(
            uri,
            Document {
                path,
                text,
                version: 1,
            },
        );
    }

    fn close(&mut self) {
        if let Some(uri) = self.one_of_the_open() {
            self.close_it(&uri);
        }
    }

    fn close_it(&mut self, uri: &str) {
        self.open.remove(uri);
        let document = json!({ "textDocument": { "uri": uri } });
        self.server.notify("textDocument/didClose", &document);
    }

    fn change(&mut self, uri: &str, changes: &Value) {
        let document = self.open.get_mut(uri).expect("an open document");
        document.version += 1;
        let named = json!({ "uri": uri, "version": document.version });
        let params = json!({ "textDocument": named, "contentChanges": changes });
        self.server.notify("textDocument/didChange", &params);
    }

    /// Typing: some small changes of one place.
    fn edit(&mut self) {
        let Some(uri) = self.one_of_the_open() else {
            return;
        };
        let document = self.open.get_mut(&uri).expect("an open document");
        if document.text.len() > LONGEST {
            return self.replace();
        }
        let mut changes = Vec::new();
        for _ in 0..=self.random.below(3) {
            let text = &mut document.text;
            let start = boundary(text, self.random.below(text.len() + 1));
            let end = boundary(text, (start + self.random.below(40)).min(text.len())).max(start);
            let piece = PIECES[self.random.below(PIECES.len())];
            let range = json!({ "start": position(text, start), "end": position(text, end) });
            text.replace_range(start..end, piece);
            changes.push(json!({ "range": range, "text": piece }));
        }
        self.change(&uri, &Value::Array(changes));
    }

    /// A change of what is not there, and the whole text again, as a client does that has lost it.
    fn misfit(&mut self) {
        let Some(uri) = self.one_of_the_open() else {
            return;
        };
        let line = 1_000_000 + self.random.below(1000);
        let far = json!({ "start": { "line": line, "character": 1 }, "end": { "line": line, "character": 2 } });
        self.change(&uri, &json!([{ "range": far, "text": "x" }]));
        let text = self.open[&uri].text.clone();
        self.change(&uri, &json!([{ "text": text }]));
    }

    /// The text of the file again.
    fn replace(&mut self) {
        let Some(uri) = self.one_of_the_open() else {
            return;
        };
        let document = self.open.get_mut(&uri).expect("an open document");
        document.text = text_of(&document.path);
        let text = document.text.clone();
        self.change(&uri, &json!([{ "text": text }]));
    }

    fn cancel(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        // Most often the last, sometimes one that was answered long ago.
        let id = match self.random.below(4) {
            0 => self.pending[0] / 2,
            _ => self.pending[self.pending.len() - 1],
        };
        self.server.cancel(id);
    }

    fn ask(&mut self) {
        let Some(uri) = self.one_of_the_open() else {
            return;
        };
        let text = &self.open[&uri].text;
        let place = position(text, boundary(text, self.random.below(text.len() + 1)));
        let number = |key: &str| place[key].as_u64().unwrap_or_default();
        let mut requests = requests_at(&uri, number("line"), number("character"));
        for command in ["peak", "padding", "donation", "copies", "map", "textMap"] {
            let params =
                json!({ "command": format!("buflens.{command}"), "arguments": [{ "uri": uri }] });
            requests.push(("workspace/executeCommand", params));
        }
        let other = self.one_of_the_open().unwrap_or_default();
        let diff =
            json!({ "command": "buflens.diff", "arguments": [{ "uri": uri, "other": other }] });
        requests.push(("workspace/executeCommand", diff));
        let count = 1 + self.random.below(3);
        let requests = self.random.choose(requests, count);
        self.pending.extend(self.server.begin(&requests));
    }

    /// Waits for all answers.
    fn settle(&mut self) {
        for id in std::mem::take(&mut self.pending) {
            let answer = self.server.answer(id);
            assert!(is_fine(&answer), "{answer:?}");
        }
    }

    /// Closes everything, and tells how much memory is left, in KiB.
    fn rest(&mut self) -> Option<u64> {
        for uri in self.open.keys().cloned().collect::<Vec<_>>() {
            self.close_it(&uri);
        }
        self.settle();
        // Checks that are under way end, and after a second of rest memory is given back: later if others are at work.
        let mut least = u64::MAX;
        loop {
            std::thread::sleep(std::time::Duration::from_millis(1500));
            self.server
                .request("workspace/symbol", &json!({ "query": "none of this name" }))
                .expect("an answer");
            let now = self.server.status("VmRSS")?;
            if now >= least {
                return Some(least);
            }
            least = now;
        }
    }
}

/// What is said of all that is open.
fn answers(server: &mut Server, open: &BTreeMap<String, Document>) -> Vec<(String, Answer)> {
    let mut answers = Vec::new();
    for (uri, document) in open {
        let lines = document.text.lines().count() as u64;
        for line in [0, lines / 3, lines / 2, lines] {
            // Whole documents are asked about where the sum is a multiple of 7.
            for character in [7 - line % 7, 11] {
                let requests = requests_at(uri, line, character);
                let all = server.requests(&requests);
                for ((method, params), mut answer) in requests.into_iter().zip(all) {
                    if let Ok(answer) = &mut answer
                        && let Some(fields) = answer.as_object_mut()
                    {
                        // No other run has the same.
                        fields.remove("resultId");
                    }
                    answers.push((format!("{method} {params}"), answer));
                }
            }
        }
    }
    answers
}

fn rounds() -> usize {
    std::env::var("BUFLENS_SOAK_ROUNDS").map_or(ROUNDS, |rounds| {
        rounds.parse().expect("BUFLENS_SOAK_ROUNDS is a number")
    })
}

#[test]
fn after_long_use_all_is_as_with_a_fresh_server() {
    let mut soak = Soak::new(Server::start(), 1);
    soak.run(rounds() / 2);
    let mut fresh = Server::start();
    for document in soak.open.values() {
        fresh.open(&document.path, &document.text);
    }
    assert!(!soak.open.is_empty());
    let expected = answers(&mut fresh, &soak.open);
    for (found, expected) in answers(&mut soak.server, &soak.open).iter().zip(&expected) {
        assert_eq!(found, expected);
    }
    fresh.finish();
    soak.server.finish();
}

#[test]
fn memory_does_not_grow() {
    let mut soak = Soak::new(Server::start(), 2);
    let rounds = rounds();
    soak.run(rounds / 2);
    let Some(mut before) = soak.rest() else {
        println!("skipped: only Linux tells how much memory a process has");
        return;
    };
    let mut all = vec![before];
    for _ in 0..4 {
        soak.run(rounds / 8);
        all.extend(soak.rest());
    }
    let after = all[all.len() - 1];
    println!("resident after each part, in KiB: {all:?}");
    // A short run has not seen every file and kind of request when it is warm.
    before = before.max(all[1]);
    assert!(after * 100 <= before * 105, "{all:?}");
    soak.server.finish();
}

/// Only glibc has to be told.
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn memory_of_what_is_closed_is_given_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = generate::dense(10_000_000);
    let mut server = Server::start();
    let resident = |server: &Server| server.status("RssAnon").expect("Linux tells");
    let before = resident(&server);
    // Nothing more the second time. Of another name: what is said when the first is closed is no sign
    // that the second has been read.
    for name in ["first", "second"] {
        let path = folder.path().join(format!("{name}-buffer-assignment.txt"));
        let document = server.open(&path, &text);
        server.diagnostics(&document);
        server.notify(
            "textDocument/didClose",
            &json!({ "textDocument": { "uri": document } }),
        );
        // After a second of rest; a busy machine may take longer.
        let left = |server: &Server| resident(server).saturating_sub(before) * 1024;
        let most = text.len() as u64 / 2;
        let is_given_back = (0..300).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(100));
            left(&server) < most
        });
        assert!(is_given_back, "{} bytes are left", left(&server));
    }
    server.finish();
}
