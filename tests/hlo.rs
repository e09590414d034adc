//! The HLO text as a language: what belongs to which value, findings on changed texts, completion.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::client::{Server, path_of};
use crate::support::command::check;
use crate::support::dumps::{Dump, beside, dumps_below, files_below, fixtures};
use crate::support::oracle::Facts;
use crate::support::{Random, none_of};
use serde_json::{Value, json};

/// Names that are tried in a dump.
const NAMES: usize = 6;

fn text(path: &PathBuf) -> String {
    String::from_utf8_lossy(&fs::read(path).expect("a file")).into_owned()
}

/// The line and column of each instruction's name in an HLO text, the name itself, its opcode.
fn instructions(text: &str) -> BTreeMap<String, (usize, usize)> {
    let mut all = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let Some(rest) = line.strip_prefix("  ") else {
            continue;
        };
        let rest = rest.strip_prefix("ROOT ").unwrap_or(rest);
        let rest = rest.strip_prefix('%').unwrap_or(rest);
        let Some((name, _)) = rest.split_once(" = ") else {
            continue;
        };
        if !name.is_empty() && !name.contains([' ', '"', '{']) {
            all.insert(name.to_owned(), (number, line.len() - rest.len()));
        }
    }
    all
}

fn at(uri: &str, line: usize, column: usize) -> Value {
    json!({ "textDocument": { "uri": uri }, "position": { "line": line, "character": column } })
}

/// Where an answer of links leads: file names and lines, from 0.
fn targets(answer: &Value) -> BTreeSet<(String, u64)> {
    let links = answer.as_array().cloned().unwrap_or_default();
    let target = |link: &Value| {
        let file = path_of(link["targetUri"].as_str().expect("a URI"));
        let line = &link["targetSelectionRange"]["start"]["line"];
        (file, line.as_u64().expect("a line"))
    };
    links.iter().map(target).collect()
}

/// Some values of a dump and their instructions lead to each other.
fn both_ways(server: &mut Server, dump: &Dump, random: &mut Random, failures: &mut Vec<String>) {
    let facts = Facts::read(dump);
    let Some(module) = facts.module else {
        return;
    };
    let module = &dump.files[module];
    let module_text = text(module);
    let lines: Vec<&str> = module_text.lines().collect();
    let known = instructions(&module_text);
    let assignment = server.open_file(&dump.files[0]);
    let uri = server.open_file(module);
    let file = module.display().to_string();
    let assigned = dump.files[0].display().to_string();
    let values: Vec<_> = facts.values.iter().collect();
    for value in random.choose(values, NAMES) {
        let name = &value.reference.name;
        let Some(&(line, column)) = known.get(&name.text) else {
            failures.push(format!("{}: {} is in no HLO text", dump.name(), name.text));
            continue;
        };
        let there = at(&assignment, name.spot.line, name.spot.column);
        let here = at(&uri, line, column + 1);
        let reads = lines[line].contains("(%");
        let answers = server.requests(&[
            ("textDocument/implementation", there),
            ("textDocument/definition", here.clone()),
            ("textDocument/declaration", here.clone()),
            ("textDocument/typeDefinition", here.clone()),
            ("textDocument/hover", here),
        ]);
        let answers: Vec<Value> = answers
            .into_iter()
            .map(|answer| answer.expect("an answer"))
            .collect();
        let own = BTreeSet::from([(file.clone(), line as u64)]);
        let mut wrong = |what: &str, answer: &Value| {
            failures.push(format!(
                "{}: {what} of {}: {answer}",
                dump.name(),
                name.text
            ));
        };
        if targets(&answers[0]) != own {
            wrong("the HLO line", &answers[0]);
        }
        if targets(&answers[1]) != own {
            wrong("definition", &answers[1]);
        }
        let value_line = (assigned.clone(), value.line.line as u64);
        if !targets(&answers[2]).contains(&value_line) {
            wrong("declaration", &answers[2]);
        }
        let header = facts.allocations[value.allocation].line.line as u64;
        if !targets(&answers[3]).contains(&(assigned.clone(), header)) {
            wrong("the allocation", &answers[3]);
        }
        let hover = answers[4].to_string();
        let has_bytes = hover.contains(" B)") || hover.contains(" B,");
        if !has_bytes || (reads && !hover.contains("operand 0")) {
            wrong("hover", &answers[4]);
        }
    }
    for uri in [uri, assignment] {
        let parameters = json!({ "textDocument": { "uri": uri } });
        server.notify("textDocument/didClose", &parameters);
    }
}

#[test]
fn values_and_instructions_lead_to_each_other() {
    let (mut failures, mut random) = (Vec::new(), Random(11));
    let mut server = Server::start();
    for dump in dumps_below(&fixtures()) {
        both_ways(&mut server, &dump, &mut random, &mut failures);
    }
    let folders = beside();
    if folders.is_empty() {
        println!("no dumps beside the project; only its fixtures are tried");
    }
    for folder in folders {
        for dump in dumps_below(&folder) {
            let sizes = dump
                .files
                .iter()
                .map(|file| fs::metadata(file).map_or(0, |data| data.len()));
            if sizes.sum::<u64>() < 1 << 20 {
                both_ways(&mut server, &dump, &mut random, &mut failures);
            }
        }
    }
    server.finish();
    none_of(&failures, "names that lead elsewhere");
}

/// The HLO texts of the fixtures, of all stages.
fn modules() -> Vec<PathBuf> {
    let mut files = files_below(&fixtures());
    files.retain(|path| {
        path.extension().is_some_and(|end| end == "txt") && text(path).starts_with("HloModule")
    });
    files
}

/// What is changed in an HLO text, and what is found then.
struct Change {
    name: &'static str,
    code: &'static str,
    /// The changed text, if there is something to change, and the line of the change from 1.
    make: fn(&str) -> Option<(String, usize)>,
}

/// Replaces the first `from` behind `start` by `to`.
fn replaced(text: &str, start: usize, from: &str, to: &str) -> Option<(String, usize)> {
    let at = start + text.get(start..)?.find(from)?;
    let line = text[..at].lines().count() + usize::from(text[..at].ends_with('\n'));
    let changed = format!("{}{to}{}", &text[..at], &text[at + from.len()..]);
    Some((changed, line))
}

fn entry(text: &str) -> usize {
    text.find("\nENTRY ").unwrap_or(0)
}

const CHANGES: [Change; 11] = [
    Change {
        name: "another operand",
        code: "unresolved-name",
        make: |text| {
            let start = entry(text);
            replaced(text, start, " bitcast(%", " bitcast(%x")
                .or_else(|| replaced(text, start, " bitcast(", " bitcast(x"))
        },
    },
    Change {
        name: "an operand less",
        code: "operand-count",
        make: |text| {
            let at = entry(text);
            let opcode = [" add(", " multiply(", " bitcast(", " copy("]
                .into_iter()
                .find(|opcode| text[at..].contains(*opcode))?;
            let start = at + text[at..].find(opcode)? + opcode.len();
            let end = start + text[start..].find(')')?;
            let operand = text[start..end].rsplit(", ").next()?;
            let from = end - operand.len() - usize::from(text[start..end].contains(", ")) * 2;
            let line = text[..from].lines().count();
            Some((format!("{}{}", &text[..from], &text[end..]), line))
        },
    },
    Change {
        name: "a layout's digit",
        code: "layout-order",
        make: |text| {
            replaced(
                text,
                entry(text) + text[entry(text)..].find(" = ")?,
                "]{1,0",
                "]{1,1",
            )
        },
    },
    Change {
        name: "a frame",
        code: "stack-frame",
        make: |text| {
            text.contains("\nStackFrames\n")
                .then(|| replaced(text, entry(text), "stack_frame_id=", "stack_frame_id=99"))
                .flatten()
        },
    },
    Change {
        name: "a computation",
        code: "unresolved-name",
        make: |text| replaced(text, entry(text), "to_apply=%", "to_apply=%x"),
    },
    Change {
        name: "an attribute's letter",
        code: "misspelling",
        make: |text| replaced(text, entry(text), ", dimensions=", ", dimension="),
    },
    Change {
        name: "an opcode's letter",
        code: "misspelling",
        make: |text| {
            replaced(
                text,
                entry(text),
                " get-tuple-element(",
                " get-tupel-element(",
            )
        },
    },
    Change {
        name: "an attribute less",
        code: "missing-attribute",
        make: |text| replaced(text, entry(text), ", kind=kLoop", ""),
    },
    Change {
        name: "a header's result",
        code: "instruction-shape",
        make: |text| replaced(text, entry(text), ") -> f32[", ") -> s32["),
    },
    Change {
        name: "a header's parameter",
        code: "instruction-shape",
        make: |text| {
            let header = text.find("\n%")?;
            let end = header + 1 + text[header + 1..].find('\n')?;
            let at = header + text[header..end].find(": f32[")?;
            replaced(text, at, ": f32[", ": s32[")
        },
    },
    Change {
        name: "a parameter",
        code: "instruction-shape",
        make: |text| {
            let header = text.find("\n%")?;
            let number = header + text[header..].find(" parameter(")?;
            let line = text[..number].rfind('\n')?;
            let at = line + text[line..number].find(" = f32[")?;
            replaced(text, at, " = f32[", " = s32[")
        },
    },
];

#[test]
fn a_change_of_an_hlo_text_gives_one_finding() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a folder");
    let mut mutants = Vec::new();
    for path in modules() {
        let text = text(&path);
        for change in &CHANGES {
            let Some((changed, line)) = (change.make)(&text) else {
                continue;
            };
            let file = root.join(format!("{:04}.txt", mutants.len()));
            fs::write(&file, changed).expect("a file");
            mutants.push((change, file.display().to_string(), line, path.clone()));
        }
    }
    for change in &CHANGES {
        let tried = mutants.iter().filter(|mutant| mutant.0.name == change.name);
        assert!(tried.count() > 5, "{}", change.name);
    }
    let (_, findings) = check(&[&root]);
    let mut failures = Vec::new();
    for (change, file, line, path) in &mutants {
        let found: Vec<_> = findings
            .iter()
            .filter(|finding| finding.file == *file)
            .collect();
        let is_it =
            found.len() == 1 && found[0].code == change.code && found[0].line == *line as u64;
        if !is_it {
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            let (name, path) = (change.name, path.display());
            failures.push(format!("{name} in line {line} of {path}: {found:?}"));
        }
    }
    none_of(&failures, "changes that give something else");
}

/// `client` opens `text`, whose `$0` is the cursor.
fn cursor(server: &mut Server, text: &str) -> Value {
    let before = text.split("$0").next().expect("text");
    let line = before.matches('\n').count();
    let column = before.len() - before.rfind('\n').map_or(0, |end| end + 1);
    let path = std::env::temp_dir().join("written-by-hand.hlo");
    let uri = server.open(&path, &text.replace("$0", ""));
    at(&uri, line, column)
}

const BY_HAND: &str = "HloModule test\n\n// Two of the same name.\nadd {\n    x = f32[] parameter(0)\n    y = f32[] parameter(1)\n    ROOT add = f32[] add(x, y)\n}\n\nENTRY %main (x: f32[4]) -> f32[] {\n  %x = f32[4]{0} parameter(0)\n  %zero = f32[] constant(0) // nothing\n  ROOT %sum = f32[] reduce(%x, %zero), dimensions={0}, to_apply=add\n}\n";

#[test]
fn a_text_written_by_hand_is_read_and_completed() {
    let mut server = Server::start();
    assert_eq!(
        server.capabilities["completionProvider"]["triggerCharacters"],
        json!(["%", "="])
    );
    let place = cursor(&mut server, &BY_HAND.replace("(%x, %z", "(%x, %$0z"));
    let uri = place["textDocument"]["uri"]
        .as_str()
        .expect("a URI")
        .to_owned();
    let found = server.diagnostics(&uri);
    assert_eq!(found, Vec::<Value>::new());
    let answer = server
        .request("textDocument/completion", &place)
        .expect("proposals");
    let labels: Vec<&str> = answer["items"]
        .as_array()
        .expect("items")
        .iter()
        .filter_map(|item| item["label"].as_str())
        .collect();
    assert_eq!(labels, ["zero", "x"]);
    assert_eq!(answer["isIncomplete"], false);
    assert_eq!(answer["items"][1]["detail"], "f32[4]{0}");
    // A name means the instruction of its own computation.
    let x = at(&uri, 12, "  ROOT %sum = f32[] reduce(%".len());
    let answer = server
        .request("textDocument/definition", &x)
        .expect("a place");
    let lines: Vec<u64> = targets(&answer)
        .into_iter()
        .map(|target| target.1)
        .collect();
    assert_eq!(lines, [10]);
    let places = server
        .request("textDocument/documentHighlight", &x)
        .expect("places");
    let lines: Vec<_> = places
        .as_array()
        .expect("places")
        .iter()
        .map(|place| place["range"]["start"]["line"].as_u64())
        .collect();
    assert_eq!(lines, [Some(9), Some(10), Some(12)]);
    server.finish();
}

#[test]
fn a_line_without_its_equals_sign_is_no_part_of_the_one_before() {
    let text = "HloModule m\n\nENTRY e {\n  x = f32[4]{0} parameter(0)\n  c = f32[] constant(1)\n  \
                b = f32[4]{0} broadcast(c),\n    dimensions={}\n  y f32[4]{0} add(x, x)\n  \
                ROOT r = f32[4]{0} compare(x, b), direction=LT\n  garbage here\n}\n";
    let mut server = Server::start();
    let uri = server.open(&fixtures().join("by-hand.txt"), text);
    let found = server.diagnostics(&uri);
    let lines: Vec<_> = found
        .iter()
        .map(|it| it["range"]["start"]["line"].as_u64())
        .collect();
    assert_eq!(lines, [Some(7), Some(9)], "{found:#?}");
    server.finish();
}

#[test]
fn nothing_is_proposed_in_a_dump() {
    let mut server = Server::start();
    let dump = &dumps_below(&fixtures())[0];
    let uri = server.open_file(&dump.files[0]);
    let answer = server.request("textDocument/completion", &at(&uri, 2, 8));
    assert_eq!(answer, Ok(Value::Null));
    server.finish();
}

#[test]
fn a_stage_without_buffers_says_so() {
    let mut server = Server::start();
    let path = fixtures().join("before-and-after/module_0022.jit_mlp_fwd.cl_878335365.after_optimizations_before_buffer_assignment.txt");
    let uri = server.open_file(&path);
    let known = instructions(&text(&path));
    let (line, column) = known.values().max().expect("instructions");
    let answer = server.request("textDocument/hover", &at(&uri, *line, column + 1));
    let hover = answer.expect("a hover").to_string();
    assert!(
        hover.contains("No buffers are assigned to this stage: see `module_0022.jit_mlp_fwd.cl_878335365.after_optimizations`."),
        "{hover}"
    );
    for (stage, says) in [
        ("before_optimizations", true),
        ("0004.fusion.after_dce.before_pipeline-end", true),
        ("cpu_after_optimizations", false),
        ("cpu_after_optimizations_after_buffer_assignment", false),
    ] {
        let name = format!("/stages/module_0001.jit_f.{stage}.txt");
        let uri = server.open(
            Path::new(&name),
            "HloModule m\n\nENTRY e {\n  ROOT %p = f32[8,8]{1,0} parameter(0)\n}\n",
        );
        let hover = server.request("textDocument/hover", &at(&uri, 3, 12));
        let hover = hover.expect("a hover").to_string();
        let is_said = hover.contains("see the program's `after_optimizations`. Its layouts, and");
        assert_eq!(is_said, says, "{name}: {hover}");
        let has_buffers = hover.contains(
            "The buffers of this text are shown in `module_0001.jit_f.cpu_after_optimizations`.",
        );
        assert_eq!(
            has_buffers,
            stage.ends_with("_after_buffer_assignment"),
            "{name}: {hover}"
        );
    }
    // Tiles come with the last layouts: what an array without one takes is not known before.
    let uri = server.open(
        Path::new("/stages/module_0001.jit_f.cl_1.before_optimizations.txt"),
        "HloModule m\n\nENTRY e {\n  ROOT %p = f32[20]{0} parameter(0)\n}\n",
    );
    for column in [9, 13] {
        let hover = server.request("textDocument/hover", &at(&uri, 3, column));
        let hover = hover.expect("a hover").to_string();
        assert!(
            hover.contains("80 B") && !hover.contains("4,096"),
            "{hover}"
        );
    }
    server.finish();
}

#[test]
fn odd_texts_get_answers() {
    let mut server = Server::start();
    // Thousands of computations of one name, a line of 490 KB, names without marks among names with.
    let computation = |number| {
        format!("%c.{number} (p: f32[]) -> f32[] {{\n  ROOT %p = f32[] parameter(0)\n}}\n\n")
    };
    let computations: Vec<String> = (0..3000).map(computation).collect();
    let parameters: Vec<String> = (0..7)
        .map(|number| format!("  p.{number} = f32[] parameter({number})\n"))
        .collect();
    let operands: Vec<String> = (0..90_000)
        .map(|number| format!("%p.{}", number % 7))
        .collect();
    let odd = format!(
        "HloModule odd\n\n{}ENTRY e {{\n{}  ROOT t = f32[] custom-call({}), custom_call_target=\"f\"\n}}\n",
        computations.concat(),
        parameters.concat(),
        operands.join(", ")
    );
    let path = std::env::temp_dir().join("odd.hlo");
    let uri = server.open(&path, &odd);
    let lines = odd.lines().count();
    assert_eq!(server.diagnostics(&uri), Vec::<Value>::new());
    let last = at(&uri, lines - 2, 250_003);
    for method in [
        "definition",
        "references",
        "documentHighlight",
        "hover",
        "completion",
    ] {
        let mut place = last.clone();
        place["context"] = json!({ "includeDeclaration": true, "triggerKind": 1 });
        let answer = server.request(&format!("textDocument/{method}"), &place);
        let answer = answer.expect("an answer");
        assert!(!answer.is_null() || method == "completion", "{method}");
    }
    let circle = "HloModule m

FileNames
1 \"m.py\"

FunctionNames
1 \"f\"

FileLocations
1 {file_name_id=1 function_name_id=1 line=1 end_line=1 column=0 end_column=0}

StackFrames
1 {file_location_id=1 parent_frame_id=3}
2 {file_location_id=1 parent_frame_id=2}
3 {file_location_id=1 parent_frame_id=1}

ENTRY e {
  ROOT p = f32[] parameter(0), metadata={op_name=\"p\" stack_frame_id=3}
}
";
    let uri = server.open(&std::env::temp_dir().join("circle.hlo"), circle);
    let found = server.diagnostics(&uri);
    let codes: BTreeSet<_> = found
        .iter()
        .filter_map(|found| found["code"].as_str())
        .collect();
    assert_eq!(codes, BTreeSet::from(["stack-frame"]));
    let hover = server.request("textDocument/hover", &at(&uri, 18, 70));
    assert!(hover.is_ok());
    server.finish();
}
