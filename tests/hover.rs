//! Hover on a value's line holds its numbers, every one of them exact.

use crate::support::client::{Server, uri};
use crate::support::command::run;
use crate::support::dumps::{dumps_below, fixtures, fixtures_in};
use crate::support::oracle::{Facts, Spot};
use crate::support::shapes::Array;
use crate::support::{Random, grouped, none_of};
use serde_json::{Value, json};

/// Lines of a dump that are tried; smaller dumps are tried whole.
const LINES: usize = 60;

/// Whether `text` holds `number`, not as a part of a longer number.
fn holds(text: &str, number: &str) -> bool {
    let is_part = |character: Option<char>| character.is_some_and(|c| c.is_ascii_digit());
    text.match_indices(number).any(|(at, _)| {
        let before = &text[..at];
        let behind = &text[at + number.len()..];
        let is_continued = is_part(before.chars().next_back())
            || (before.ends_with([',', '.']) && is_part(before.chars().rev().nth(1)))
            || is_part(behind.chars().next())
            || (behind.starts_with([',', '.']) && is_part(behind.chars().nth(1)));
        !is_continued
    })
}

#[test]
fn numbers_are_found_whole() {
    assert!(holds("325.0 MiB (340,787,200 B)", "340,787,200 B"));
    assert!(!holds("1,340,787,200 B", "340,787,200 B"));
    assert!(holds("steps 13-14 of 0-17", "steps 13-14"));
    assert!(!holds("steps 13-142", "steps 13-14"));
    assert!(holds("of 512.", "512"));
}

/// The Markdown of a hover.
fn markdown(hover: &Value) -> String {
    match &hover["contents"] {
        Value::String(text) => text.clone(),
        contents => contents["value"].as_str().unwrap_or_default().to_owned(),
    }
}

/// What the hover of a value's line must hold: each of the inner lists, in one of its spellings.
fn wanted(facts: &Facts, at: usize) -> Vec<Vec<String>> {
    let value = &facts.values[at];
    let mut wanted = vec![vec![format!("{} B", grouped(value.size.value))]];
    // Where a value without bytes ends tells nothing.
    if value.size.value > 0 {
        wanted.push(vec![grouped(value.offset.value + value.size.value)]);
    }
    if let Some(array) = Array::read(&value.shape.text)
        && array.logical_bytes() != value.size.value
    {
        wanted.push(vec![format!("{} B", grouped(array.logical_bytes()))]);
    }
    if let Some(live) = value.live {
        let (start, end) = (
            facts.live_ranges[live].start.value,
            facts.live_ranges[live].end.value,
        );
        let mut spellings = vec![
            format!("steps {start}-{end}"),
            format!("steps {}-{}", grouped(start), grouped(end)),
        ];
        if start == end {
            spellings.push(format!("step {start}"));
        }
        wanted.push(spellings);
    }
    wanted
}

fn missing(facts: &Facts, at: usize, hover: &str) -> Vec<String> {
    let is_missing = |spellings: &Vec<String>| !spellings.iter().any(|text| holds(hover, text));
    wanted(facts, at)
        .into_iter()
        .filter(is_missing)
        .map(|spellings| spellings[0].clone())
        .collect()
}

#[test]
fn hover_on_a_value_holds_its_numbers() {
    let mut random = Random(21);
    let mut failures = Vec::new();
    let mut asked = 0;
    let mut server = Server::start();
    for dump in dumps_below(&fixtures()) {
        let facts = Facts::read(&dump);
        let uri = server.open(&facts.files[0].path, &facts.files[0].text);
        let mut spots: Vec<(usize, Spot)> = Vec::new();
        for at in random.choose((0..facts.values.len()).collect(), LINES) {
            let value = &facts.values[at];
            let reference = &value.reference;
            for spot in [
                reference.id.spot,
                reference.name.spot,
                value.size.spot,
                value.offset.spot,
            ] {
                spots.push((at, spot));
            }
        }
        let request = |spot: &Spot| {
            let position = json!({ "line": spot.line, "character": facts.utf16(*spot) });
            (
                "textDocument/hover",
                json!({ "textDocument": { "uri": uri }, "position": position }),
            )
        };
        let requests: Vec<_> = spots.iter().map(|(_, spot)| request(spot)).collect();
        let answers = server.requests(&requests);
        asked += answers.len();
        for ((at, spot), answer) in spots.into_iter().zip(answers) {
            let place = facts.position(spot);
            match answer {
                Err(error) => failures.push(format!("{place}: {error}")),
                Ok(hover) => {
                    let text = markdown(&hover);
                    let missing = missing(&facts, at, &text);
                    if !missing.is_empty() {
                        failures.push(format!(
                            "{place}: {} lacks {missing:?}: {text}",
                            facts.line(spot).trim()
                        ));
                    }
                }
            }
        }
        server.notify(
            "textDocument/didClose",
            &json!({ "textDocument": { "uri": uri } }),
        );
    }
    server.finish();
    println!("{asked} hovers");
    assert!(asked > 4000, "only {asked} hovers");
    none_of(&failures, "hovers without a number");
}

/// The numbers of a value are the same, wherever it is named.
#[test]
fn hover_on_a_header_holds_them_too() {
    let mut failures = Vec::new();
    let mut server = Server::start();
    for dump in fixtures_in(&["cpu-run-on", "tpu-split", "gpu-combined"]) {
        let facts = Facts::read(&dump);
        for file in &facts.files {
            server.open(&file.path, &file.text);
        }
        for (at, value) in facts.values.iter().enumerate().take(30) {
            let Some(used) = value.used else { continue };
            let spot = facts.used[used].header.id.spot;
            let document = json!({ "uri": uri(facts.path(spot)) });
            let position = json!({ "line": spot.line, "character": facts.utf16(spot) });
            let parameters = json!({ "textDocument": document, "position": position });
            let hover = server
                .request("textDocument/hover", &parameters)
                .expect("a hover");
            let size = format!("{} B", grouped(facts.values[at].size.value));
            if !holds(&markdown(&hover), &size) {
                failures.push(format!("{}: without {size}", facts.position(spot)));
            }
        }
    }
    server.finish();
    none_of(&failures, "hovers without the size");
}

/// An instruction that defines several values tells where it comes from, too.
#[test]
fn an_instruction_with_elements_has_its_line_of_source() {
    let file = "tests/fixtures/dumps/tpu-split/module_0055.jit_attention.cl_933746096.after_optimizations.txt";
    let file = crate::support::root().join(file);
    let text = std::fs::read_to_string(&file).expect("a file");
    let line = text.lines().position(|line| line.contains("fusion.6 = "));
    let place = format!("{}:{}:6", file.display(), line.expect("a line") + 1);
    let output = run(["hover", &place], std::time::Duration::from_secs(60));
    assert!(output.stdout.contains("`fusion.6{1}`"), "{}", output.stdout);
    assert!(output.stdout.contains("`gen.py:112`"), "{}", output.stdout);
}

/// The example of the README: the command line says what the editor shows.
#[test]
fn the_command_line_explains_too() {
    for dump in fixtures_in(&["tpu-run-on", "cpu-split"]).iter().take(4) {
        let facts = Facts::read(dump);
        let at = facts.values.len() / 2;
        let place = facts.position(facts.values[at].reference.name.spot);
        let output = run(["hover", &place], std::time::Duration::from_secs(60));
        assert_eq!(output.code, Some(0), "{place}: {}", output.stderr);
        let missing = missing(&facts, at, &output.stdout);
        assert!(
            missing.is_empty(),
            "{place}: {} lacks {missing:?}",
            output.stdout
        );
    }
}
