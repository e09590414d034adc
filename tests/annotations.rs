//! Code lenses and inlay hints, asked for as an editor does.

use std::time::{Duration, Instant};

use crate::support::client::Server;
use crate::support::dumps::{Dump, broken, files_below, fixtures, fixtures_in};
use serde_json::{Value, json};

/// A small TPU program in the split form.
fn dump() -> Dump {
    let dumps = fixtures_in(&["tpu-split"]);
    let mut found = dumps
        .into_iter()
        .filter(|dump| dump.name().contains("jit_mlp_fwd"));
    found.next().expect("the fixture")
}

fn items(answer: Value) -> Vec<Value> {
    match answer {
        Value::Array(items) => items,
        other => panic!("no list: {other}"),
    }
}

fn lenses(server: &mut Server, uri: &str) -> Vec<Value> {
    let params = json!({ "textDocument": { "uri": uri } });
    let answer = server.request("textDocument/codeLens", &params);
    items(answer.expect("an answer"))
}

/// The hints on the lines from `first` to before `end`.
fn hints(server: &mut Server, uri: &str, first: usize, end: usize) -> Vec<Value> {
    let range = json!({
        "start": { "line": first, "character": 0 }, "end": { "line": end, "character": 0 }
    });
    let params = json!({ "textDocument": { "uri": uri }, "range": range });
    let answer = server.request("textDocument/inlayHint", &params);
    items(answer.expect("an answer"))
}

/// The first line of `text` that begins with `start`, with its hints in angle quotes.
fn hinted(server: &mut Server, uri: &str, text: &str, start: &str) -> String {
    let number = text.lines().position(|line| line.starts_with(start));
    let number = number.expect("the line");
    let mut line = text.lines().nth(number).unwrap_or_default().to_owned();
    for hint in hints(server, uri, number, number + 1).iter().rev() {
        assert_eq!(hint["position"]["line"], number);
        let at = hint["position"]["character"].as_u64().expect("a column");
        let label = hint["label"].as_str().expect("a label");
        line.insert_str(at as usize, &format!("«{label}»"));
    }
    line
}

#[test]
fn lenses_lead_to_the_true_peak() {
    let dump = dump();
    let mut server = Server::start();
    let assignment = server.open_file(&dump.path("-buffer-assignment.txt"));
    let found = lenses(&mut server, &assignment);
    let of = |line: u64| {
        let of_line = found
            .iter()
            .filter(|lens| lens["range"]["start"]["line"] == line);
        let titles: Vec<&str> = of_line
            .filter_map(|lens| lens["command"]["title"].as_str())
            .collect();
        titles
    };
    assert_eq!(
        of(0),
        [
            "HBM 2.2 MiB reserved, 2.2 MiB occupied at step 14",
            "VMEM 1.6 MiB reserved, 1.6 MiB occupied at step 11"
        ]
    );
    assert_eq!(of(21), ["1.6 MiB temp, full at step 11 fusion.3, 4 values"]);
    let command = &found[1]["command"];
    assert_eq!(command["command"], "buflens.peak");
    assert_eq!(
        command["arguments"],
        json!([{ "uri": assignment, "space": 1, "step": 11 }])
    );
    let live_range = server.open_file(&dump.path("-live-range.txt"));
    let found = lenses(&mut server, &live_range);
    let first = found[0]["command"]["title"].as_str().unwrap_or_default();
    assert!(first.starts_with("true HBM peak: step 14"), "{first}");
    server.finish();
}

#[test]
fn hints_say_what_the_numbers_mean() {
    let dump = dump();
    let mut server = Server::start();
    let read = |suffix| std::fs::read_to_string(dump.path(suffix)).expect("a file");
    let (assignment, live_range) = (read("-buffer-assignment.txt"), read("-live-range.txt"));
    let uri = server.open_file(&dump.path("-buffer-assignment.txt"));
    let mut line = |start| hinted(&mut server, &uri, &assignment, start);
    assert_eq!(
        line("allocation 9"),
        "allocation 9: size 1638912«1.6 MiB», color 1«VMEM», preallocated-temp:"
    );
    assert_eq!(
        line(" value: <50"),
        " value: <50 copy-start.1{0} @1«VMEM»> (size=16384«16.0 KiB»,offset=1605632): f32[256,10]{0,1:T(8,128)S(1)}«pad 1.60x»"
    );
    let uri = server.open_file(&dump.path("-live-range.txt"));
    let mut line = |start| hinted(&mut server, &uri, &live_range, start);
    assert_eq!(
        line("    14:"),
        "    14:convolution_add_fusion.1«HBM 2.2 MiB, the peak»"
    );
    assert_eq!(
        line("    fusion.3{}:"),
        "    fusion.3{}:11-14«at VMEM peak»"
    );
    assert_eq!(line("    copy-start{}:"), "    copy-start{}:1-10");
    // A range holds what is in it.
    let lines = live_range.lines().count();
    let all = hints(&mut server, &uri, 0, lines).len();
    assert_eq!(
        all,
        hints(&mut server, &uri, 0, 10).len() + hints(&mut server, &uri, 10, lines).len()
    );
    server.finish();
}

#[test]
fn they_are_switched_off_and_asked_for_again() {
    let dump = dump();
    let mut server = Server::start_with(&json!({ "workspace": {
        "codeLens": { "refreshSupport": true }, "inlayHint": { "refreshSupport": true }
    } }));
    assert_eq!(server.capabilities["inlayHintProvider"], true);
    let uri = server.open_file(&dump.path("-buffer-assignment.txt"));
    assert!(!lenses(&mut server, &uri).is_empty());
    assert!(!hints(&mut server, &uri, 0, 9).is_empty());
    let is_asked = |server: &Server, what: &str| server.asked.iter().any(|asked| asked == what);
    assert!(!is_asked(&server, "workspace/codeLens/refresh"));
    let settings = json!({ "settings": { "buflens": { "codeLens": false, "inlayHints": { "bytes": false } } } });
    server.notify("workspace/didChangeConfiguration", &settings);
    // The client is asked for them again in a task of its own.
    let deadline = Instant::now() + Duration::from_secs(30);
    while !(is_asked(&server, "workspace/codeLens/refresh")
        && is_asked(&server, "workspace/inlayHint/refresh"))
    {
        assert!(Instant::now() < deadline, "asked: {:?}", server.asked);
        lenses(&mut server, &uri);
    }
    assert!(lenses(&mut server, &uri).is_empty());
    let labels: Vec<Value> = hints(&mut server, &uri, 0, 100)
        .into_iter()
        .map(|hint| hint["label"].clone())
        .collect();
    assert!(labels.contains(&json!("VMEM")) && labels.contains(&json!("pad 1.60x")));
    assert!(!labels.contains(&json!("16.0 KiB")), "{labels:?}");
    server.finish();
}

#[test]
fn a_client_that_cannot_be_asked_is_not() {
    let mut server = Server::start_with(&json!({}));
    let uri = server.open_file(&dump().path("-buffer-assignment.txt"));
    // The settings that come last count, and at once.
    for number in 0..50 {
        let is_on = number % 2 == 1;
        for on in [!is_on, is_on] {
            let settings = json!({ "settings": { "buflens": { "codeLens": on } } });
            server.notify("workspace/didChangeConfiguration", &settings);
        }
        assert_eq!(lenses(&mut server, &uri).is_empty(), !is_on, "{number}");
    }
    assert_eq!(server.asked, Vec::<String>::new());
    server.finish();
}

/// Broken files among them: nothing is an error, all is in its place, and there is not too much.
#[test]
fn every_file_is_annotated_within_its_text() {
    let mut server = Server::start();
    let mut count = 0;
    for path in files_below(&fixtures())
        .iter()
        .chain(&files_below(&broken()))
    {
        let text = String::from_utf8_lossy(&std::fs::read(path).expect("a file")).into_owned();
        let lines: Vec<usize> = text
            .split('\n')
            .map(|line| line.encode_utf16().count())
            .collect();
        let uri = server.open(path, &text);
        let is_inside = |position: &Value| {
            let number = |key: &str| position[key].as_u64().unwrap_or(u64::MAX) as usize;
            lines
                .get(number("line"))
                .is_some_and(|&length| number("character") <= length)
        };
        let found = lenses(&mut server, &uri);
        assert!(found.len() <= 250, "{}: {}", path.display(), found.len());
        for lens in &found {
            assert!(
                is_inside(&lens["range"]["end"]),
                "{}: {lens}",
                path.display()
            );
        }
        let found = hints(&mut server, &uri, 0, lines.len());
        assert!(found.len() <= 2000, "{}: {}", path.display(), found.len());
        let place = |hint: &Value| {
            let position = &hint["position"];
            (position["line"].as_u64(), position["character"].as_u64())
        };
        assert!(found.is_sorted_by_key(place), "{}", path.display());
        for hint in &found {
            assert!(is_inside(&hint["position"]), "{}: {hint}", path.display());
        }
        count += found.len();
        let document = json!({ "textDocument": { "uri": uri } });
        server.notify("textDocument/didClose", &document);
    }
    assert!(count > 1000, "only {count} hints");
    server.finish();
}
