//! What leads from the values of a dump to the instructions of its HLO text, and back.

use std::collections::BTreeSet;

use crate::support::client::{Server, path_of, uri};
use crate::support::dumps::{Dump, beside, dumps_below, files_below, fixtures};
use crate::support::none_of;
use crate::support::oracle::{Facts, Spot};
use serde_json::{Value, json};

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Places of a dump that are tried.
const PLACES: usize = 40;

/// The dumps with an HLO text that names are followed in: the fixtures, and every so many of those beside.
fn followed() -> Vec<Dump> {
    let mut dumps = dumps_below(&fixtures());
    let beside: Vec<Dump> = beside()
        .iter()
        .flat_map(|folder| dumps_below(folder))
        .collect();
    if beside.is_empty() {
        eprintln!("there are no further dumps beside the project: skipped");
    }
    dumps.extend(beside.into_iter().step_by(16));
    let has_module = |dump: &Dump| dump.files.iter().any(|file| *file == dump.path(".txt"));
    let is_small = |dump: &Dump| {
        let bytes = dump
            .files
            .iter()
            .map(|file| file.metadata().map_or(0, |it| it.len()));
        bytes.sum::<u64>() < 2 << 20
    };
    dumps.retain(|dump| has_module(dump) && is_small(dump));
    dumps
}

fn at(facts: &Facts, spot: Spot) -> Value {
    json!({
        "textDocument": { "uri": uri(facts.path(spot)) },
        "position": { "line": spot.line, "character": facts.utf16(spot) },
    })
}

/// The files and lines, from 0, that an answer leads to.
fn places(answer: &Value) -> BTreeSet<(String, u64)> {
    let links = list(answer).iter();
    links
        .map(|link| {
            let uri = link.get("targetUri").unwrap_or(&link["uri"]);
            let range = link.get("targetSelectionRange").unwrap_or(&link["range"]);
            (
                path_of(&text(uri)),
                range["start"]["line"].as_u64().unwrap_or(u64::MAX),
            )
        })
        .collect()
}

fn place_of(facts: &Facts, spot: Spot) -> (String, u64) {
    (facts.path(spot).display().to_string(), spot.line as u64)
}

#[test]
fn a_value_leads_to_its_instruction_and_back() {
    let mut failures = Vec::new();
    let (mut pairs, mut dumps) = (0, 0);
    for dump in followed() {
        let facts = Facts::read(&dump);
        let mut server = Server::start();
        for file in &dump.files {
            server.open_file(file);
        }
        let step = facts.values.len().div_ceil(PLACES).max(1);
        dumps += 1;
        for value in facts.values.iter().step_by(step) {
            let name = &value.reference.name;
            let Some((there, _)) = facts.instructions.get(&name.text) else {
                continue;
            };
            pairs += 1;
            let mut from = vec![name.spot];
            from.extend(value.used.map(|used| facts.used[used].header.name.spot));
            from.extend(value.live.map(|live| facts.live_ranges[live].name.spot));
            let mut requests: Vec<(&str, Value)> = from
                .iter()
                .map(|&spot| ("textDocument/implementation", at(&facts, spot)))
                .collect();
            requests.push(("textDocument/declaration", at(&facts, *there)));
            for spot in [name.spot, *there] {
                let mut parameters = at(&facts, spot);
                parameters["context"] = json!({ "includeDeclaration": true });
                requests.push(("textDocument/references", parameters));
                requests.push(("textDocument/prepareCallHierarchy", at(&facts, spot)));
            }
            let answers: Vec<Value> = server
                .requests(&requests)
                .into_iter()
                .map(|answer| answer.expect("an answer"))
                .collect();
            let mut fail = |what: &str, answer: &Value| {
                failures.push(format!(
                    "{}: {what} of {}: {answer}",
                    dump.name(),
                    name.text
                ));
            };
            let expected = BTreeSet::from([place_of(&facts, *there)]);
            for answer in answers
                .iter()
                .take(from.len())
                .filter(|it| places(it) != expected)
            {
                fail("the instruction", answer);
            }
            let [.., back, of_value, item, of_instruction, same_item] = &answers[..] else {
                unreachable!("so many requests");
            };
            if !places(back).contains(&place_of(&facts, value.line)) {
                fail("the value", back);
            }
            // An instruction's references hold those of its values.
            let value_line = place_of(&facts, value.line);
            for answer in [of_value, of_instruction] {
                if !places(answer).contains(&value_line) {
                    fail("references", answer);
                }
            }
            if !places(of_instruction).contains(&place_of(&facts, *there)) {
                fail("references in the HLO text", of_instruction);
            }
            // Of several values each is an item of its own, which some of the instruction's readers read.
            let [name, whole] = [item, same_item].map(|item| text(&item[0]["name"]));
            let is_part = name.starts_with(&format!("{whole}{{"));
            if name != whole && !is_part {
                fail("the item", item);
                continue;
            }
            let calls = ["callHierarchy/incomingCalls", "callHierarchy/outgoingCalls"];
            let asked: Vec<(&str, Value)> = calls
                .iter()
                .flat_map(|call| [item, same_item].map(|item| (*call, json!({ "item": item[0] }))))
                .collect();
            let of = |answer: &Result<Value, Value>| -> BTreeSet<String> {
                let calls = answer.as_ref().map_or(&[][..], |calls| list(calls));
                let end = |call: &Value| {
                    text(
                        call.get("from")
                            .unwrap_or(&call["to"])
                            .get("name")
                            .unwrap_or(&Value::Null),
                    )
                };
                calls.iter().map(end).collect()
            };
            let answers: Vec<_> = server.requests(&asked).iter().map(of).collect();
            let [readers, all_readers, operands, same_operands] = &answers[..] else {
                unreachable!("so many requests");
            };
            let is_same = readers == all_readers || is_part && readers.is_subset(all_readers);
            if !is_same || operands != same_operands {
                fail("calls", &json!(answers));
            }
        }
        server.finish();
    }
    eprintln!("{pairs} values of {dumps} dumps");
    assert!(pairs > 300, "{pairs} values");
    none_of(&failures, "values that do not lead there and back");
}

#[test]
fn calls_stand_where_their_caller_is() {
    let mut asked = 0;
    for folder in ["tuple-heavy", "tpu-split", "gpu-split", "cpu-split"] {
        let mut server = Server::start();
        for module in files_below(&fixtures().join(folder)) {
            let lines = std::fs::read_to_string(&module).expect("a text");
            if !lines.starts_with("HloModule") {
                continue;
            }
            let uri = server.open_file(&module);
            let lines: Vec<&str> = lines.lines().collect();
            for (number, line) in lines.iter().enumerate() {
                let Some(at) = line.find("calls=%") else {
                    continue;
                };
                let place = json!({ "textDocument": { "uri": uri }, "position": { "line": number, "character": at + 8 } });
                let item = server.request("textDocument/prepareCallHierarchy", &place);
                let item = &item.expect("an answer")[0];
                let callers =
                    server.request("callHierarchy/incomingCalls", &json!({ "item": item }));
                for caller in list(&callers.expect("an answer")) {
                    let caller = &caller["from"];
                    assert_eq!(caller["uri"], *uri, "{caller}");
                    let calls =
                        server.request("callHierarchy/outgoingCalls", &json!({ "item": caller }));
                    for call in list(&calls.expect("an answer")) {
                        for range in list(&call["fromRanges"]) {
                            let [line, from, to] = [
                                &range["start"]["line"],
                                &range["start"]["character"],
                                &range["end"]["character"],
                            ]
                            .map(|number| number.as_u64().expect("a number") as usize);
                            let read = lines[line][from..to].trim_start_matches('%');
                            assert_eq!(read, call["to"]["name"], "{call} of {caller}");
                            asked += 1;
                        }
                    }
                }
            }
        }
        server.finish();
    }
    assert!(asked > 100, "{asked} operands");
}
