//! Lines of source and the values that they made, held against a plain reader of stacks.
#![allow(clippy::needless_pass_by_value)] // `json!` makes values.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use crate::support::answers::{json_of, run};
use crate::support::client::{Server, path_of, uri};
use crate::support::dumps::{beside, dumps_below, fixtures, fixtures_in};
use crate::support::frames::{Frame, stacks};
use crate::support::none_of;
use crate::support::occupancy::{blocks, color, colors, curve, kind, occupied, peak};
use crate::support::oracle::Facts;
use serde_json::{Value, json};

/// So many steps times values are gone through to find peaks.
const WORK: u64 = 2_000_000;

/// Whose lines are not the user's own, as far as these dumps have any.
fn is_library(file: &str) -> bool {
    let marks = [
        "site-packages/",
        "dist-packages/",
        "/lib/python3",
        "<frozen ",
        "jax/_src/",
        "torch_xla/core/",
    ];
    marks.iter().any(|mark| file.contains(mark))
}

/// What a file made: each value by its line, with the line that made it, whether that is the
/// innermost of the user's own, and the source.
type Values = BTreeSet<(String, u64, Option<u64>, bool, String)>;

fn source(stack: &[Frame]) -> Option<&Frame> {
    let own = stack.iter().find(|(file, _)| !is_library(file));
    own.or(stack.first())
}

fn shown((file, line): &Frame) -> String {
    line.map_or_else(|| file.clone(), |line| format!("{file}:{line}"))
}

/// What `file` made in a dump.
fn made(facts: &Facts, stacks: &[Vec<Frame>], file: &str) -> Values {
    let mut values = Values::new();
    for (value, stack) in facts.values.iter().zip(stacks) {
        let Some(frame) = stack.iter().find(|(other, _)| other == file) else {
            continue;
        };
        let source = source(stack).expect("a line");
        let path = facts.path(value.line).display().to_string();
        let is_direct = std::ptr::eq(source, frame);
        values.insert((
            path,
            value.line.line as u64 + 1,
            frame.1,
            is_direct,
            shown(source),
        ));
    }
    values
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn lines_made_what_a_plain_reader_says() {
    let mut folders = vec![fixtures()];
    folders.extend(beside());
    if folders.len() == 1 {
        eprintln!("there are no further dumps beside the project: skipped");
    }
    let mut failures = Vec::new();
    for folder in folders {
        let dumps = dumps_below(&folder);
        let read: Vec<Facts> = dumps.iter().map(Facts::read).collect();
        let stacks: Vec<Vec<Vec<Frame>>> = read.iter().map(stacks).collect();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (file, _) in stacks.iter().flatten().flatten() {
            *counts.entry(file).or_default() += 1;
        }
        let mut files: Vec<&str> = counts.keys().copied().collect();
        files.sort_by_key(|file| std::cmp::Reverse(counts[file]));
        for file in files.into_iter().take(6) {
            let answer = json_of(&["where", file, &folder.display().to_string()]);
            assert_eq!(answer["files"], json!([file]));
            let found: Values = list(&answer["values"])
                .iter()
                .map(|value| {
                    (
                        text(&value["location"]["file"]),
                        value["location"]["line"].as_u64().unwrap_or(0),
                        value["line"].as_u64(),
                        value["is_direct"] == true,
                        text(&value["source"]),
                    )
                })
                .collect();
            let expected: Values = read
                .iter()
                .zip(&stacks)
                .flat_map(|(facts, stacks)| made(facts, stacks, file))
                .collect();
            failures.extend(found.symmetric_difference(&expected).map(|it| {
                let what = if found.contains(it) {
                    "too much"
                } else {
                    "missing"
                };
                format!("{file}: {what}: {it:?}")
            }));
            failures.extend(compare_lines(&answer, &stacks, file));
        }
        eprintln!("{}: {} dumps", folder.display(), dumps.len());
    }
    none_of(&failures, "differences");
}

/// How many values each line made, with all that it calls.
fn compare_lines(answer: &Value, stacks: &[Vec<Vec<Frame>>], file: &str) -> Vec<String> {
    let mut expected: BTreeMap<Option<u64>, u64> = BTreeMap::new();
    for stack in stacks.iter().flatten() {
        let lines = stack.iter().filter(|(other, _)| other == file);
        let lines: BTreeSet<Option<u64>> = lines.map(|(_, line)| *line).collect();
        for line in lines {
            *expected.entry(line).or_default() += 1;
        }
    }
    let found: BTreeMap<Option<u64>, u64> = list(&answer["by_line"])
        .iter()
        .map(|line| (line["line"].as_u64(), line["values"].as_u64().unwrap_or(0)))
        .collect();
    let is_same = found == expected;
    (!is_same)
        .then(|| format!("{file}: lines {found:?}, expected {expected:?}"))
        .into_iter()
        .collect()
}

#[test]
fn bytes_at_the_peak_are_those_of_a_union() {
    let mut failures = Vec::new();
    let mut spaces = 0;
    for dump in dumps_below(&fixtures()) {
        let facts = Facts::read(&dump);
        let stacks = stacks(&facts);
        let steps = facts.max.map_or(0, |max| max.value);
        // A program from standard input is called `-`, which is an option on the command line.
        let mut frames = stacks.iter().flatten();
        let frame = frames.find(|(file, line)| line.is_some() && !file.starts_with('-'));
        let Some((file, line)) = frame else {
            continue;
        };
        if steps * facts.values.len() as u64 > WORK || facts.live_ranges.is_empty() {
            continue;
        }
        let asked = format!("{file}:{}", line.expect("a line"));
        let assignment = dump.files[0].display().to_string();
        let answer = json_of(&["where", &asked, &assignment]);
        let is_made = |value: usize| stacks[value].contains(&(file.clone(), *line));
        for space in colors(&facts) {
            let of_space = |value: &&crate::support::oracle::Value| {
                color(&facts.allocations[value.allocation]) == space
            };
            let made = (0..facts.values.len()).filter(|&at| is_made(at));
            let mut made = made.map(|at| &facts.values[at]).filter(of_space);
            if made.next().is_none() {
                continue;
            }
            spaces += 1;
            let blocks = blocks(&facts, space);
            let (step, bytes) = peak(&curve(&blocks, steps, |_| true));
            let expected = occupied(blocks.iter().filter(|block| is_made(block.value)), step);
            let found = list(&answer["dumps"][0]["spaces"])
                .iter()
                .find(|it| it["color"] == space);
            let found = found.unwrap_or(&Value::Null);
            if found["at_peak_bytes"] != expected || found["peak"]["occupied_bytes"] != bytes {
                failures.push(format!(
                    "{} @{space}: {found}, expected {expected} of {bytes}",
                    dump.name()
                ));
            }
        }
        for value in list(&answer["values"]) {
            let line = value["location"]["line"].as_u64().expect("a line") as usize - 1;
            let at = facts
                .values
                .iter()
                .find(|it| it.line.line == line && it.line.file == 0);
            let allocation = &facts.allocations[at.expect("a value").allocation];
            let is_scratch = kind(allocation) == "thread-local";
            if value["at_peak"].is_null() != is_scratch {
                failures.push(format!("{}: {value}", dump.name()));
            }
        }
    }
    assert!(spaces > 50, "{spaces} memory spaces");
    none_of(&failures, "differences");
}

/// A dump with tables of frames: parents one too high, a circle, numbers out of range.
const TABLES: &str = r#"HloModule jit_f

FileNames
1 "/app/pkg/net.py"
2 "/opt/venv/lib/python3.11/site-packages/jax/numpy.py"
3 "C:\\app\\train.py"

FunctionNames
1 "net"
2 "add"
3 "main"

FileLocations
1 {file_name_id=1 function_name_id=1 line=7 end_line=7 column=0 end_column=0}
2 {file_name_id=2 function_name_id=2 line=90 end_line=90 column=0 end_column=0}
3 {file_name_id=3 function_name_id=3 line=3 end_line=3 column=0 end_column=0}
4 {file_name_id=9 function_name_id=9 line=3 end_line=3 column=0 end_column=0}

StackFrames
1 {file_location_id=3 parent_frame_id=1}
2 {file_location_id=1 parent_frame_id=2}
3 {file_location_id=2 parent_frame_id=3}
4 {file_location_id=1 parent_frame_id=6}
5 {file_location_id=2 parent_frame_id=5}
6 {file_location_id=4 parent_frame_id=3}
7 {file_location_id=99 parent_frame_id=2}

"#;

/// An assignment with a value for each of these pieces of metadata: 16 bytes each, all alive at the peak.
fn assignment(metadata: &[&str]) -> String {
    let mut text = "BufferAssignment:\n".to_owned();
    let (mut used, mut ranges) = (String::new(), String::new());
    for (at, metadata) in metadata.iter().enumerate() {
        let _ = write!(
            text,
            "allocation {at}: size 16, preallocated-temp:\n value: <{at} v.{at} @0> (size=16,offset=0): f32[4]{{0}}\n"
        );
        let _ = write!(
            used,
            "<{at} v.{at} @0>\n positions:\n  v.{at}\n uses:\n from instruction: %v.{at} = f32[4]{{0}} iota(), iota_dimension=0, metadata={{op_name=\"f\" {metadata}}}\n"
        );
        let _ = writeln!(ranges, "    v.{at}{{}}:0-1");
    }
    let total = 16 * metadata.len();
    format!(
        "{text}\nTotal bytes used: {total} ({total}B)\n\nUsed values:\n{used}\nHloLiveRange (max 1):\n  InstructionSequence:\n    0:v.0\n  BufferLiveRange:\n{ranges}  Live ranges at 0 (peak):\n"
    )
}

/// A folder with a dump of this assignment and an HLO text with this head.
fn folder(metadata: &[&str], module: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let stem = "module_0001.jit_f.cpu_after_optimizations";
    let write =
        |name: String, text: &str| std::fs::write(folder.path().join(name), text).expect("a file");
    write(
        format!("{stem}-buffer-assignment.txt"),
        &assignment(metadata),
    );
    let mut text = format!("{module}\nENTRY %main () -> f32[4] {{\n");
    for at in 0..metadata.len() {
        let _ = writeln!(text, "  %v.{at} = f32[4]{{0}} iota(), iota_dimension=0");
    }
    write(format!("{stem}.txt"), &(text + "}\n"));
    folder
}

/// The names of the values that `asked` made, and whether it made them itself.
fn names(folder: &Path, asked: &str) -> Vec<(String, bool)> {
    let answer = json_of(&["where", asked, &folder.display().to_string()]);
    let values = list(&answer["values"]).iter();
    values
        .map(|value| (text(&value["name"]), value["is_direct"] == true))
        .collect()
}

#[test]
fn stacks_end_whatever_the_tables_say() {
    let metadata = [
        "stack_frame_id=1",
        "stack_frame_id=2",
        "stack_frame_id=3",
        "stack_frame_id=4",
        "stack_frame_id=5",
        "stack_frame_id=6",
        "stack_frame_id=7",
        "stack_frame_id=0",
        "stack_frame_id=18446744073709551614",
        r#"source_file="/app/pkg/net.py" source_line=7"#,
        r#"source_file="/app/pkg/net.py" source_line=7 stack_frame_id=99"#,
    ];
    let folder = folder(&metadata, TABLES);
    let of = |asked: &str| names(folder.path(), asked);
    let direct = |names: &[usize]| -> Vec<(String, bool)> {
        names.iter().map(|at| (format!("v.{at}"), true)).collect()
    };
    // The user's own line made what the library did for it; a circle ends where it begins.
    assert_eq!(of("net.py:7"), direct(&[1, 2, 3, 4, 5, 9, 10]));
    let called = |names: &[(usize, bool)]| -> Vec<(String, bool)> {
        names
            .iter()
            .map(|(at, is)| (format!("v.{at}"), *is))
            .collect()
    };
    assert_eq!(of("numpy.py:90"), called(&[(2, false), (4, false)]));
    assert_eq!(
        of("train.py:3"),
        called(&[(0, true), (1, false), (2, false), (5, false), (6, true)])
    );

    // Numbers that are meant as they are.
    let plain = TABLES
        .replace("parent_frame_id=1}", "parent_frame_id=0}")
        .replace("parent_frame_id=2}", "parent_frame_id=1}");
    let folder = self::folder(&["stack_frame_id=1", "stack_frame_id=2"], &plain);
    assert_eq!(
        names(folder.path(), r"app\train.py:3"),
        called(&[(0, true), (1, false)])
    );
}

#[test]
fn what_is_not_there_is_told_with_what_is_near() {
    let lines = [
        r#"source_file="/app/pkg/net.py" source_line=7"#,
        r#"source_file="/app/pkg/net.py" source_line=40"#,
        r#"source_file="/app/other/net.py" source_line=90"#,
    ];
    let folder = folder(&lines, "HloModule jit_f\n");
    let path = folder.path().display().to_string();
    let (out, _) = run(&["where", "pkg/net.py:12-15", &path], 1);
    assert!(
        out.contains("pkg/net.py:12-15 made no value in 1 dump"),
        "{out}"
    );
    assert!(out.contains("Dumps name it /app/pkg/net.py."), "{out}");
    let nearest = out.split("nearest").nth(1).expect("lines");
    assert!(
        nearest.find("\n7 ") < nearest.find("\n40 ") && !nearest.contains("\n90 "),
        "{out}"
    );

    // Two files of one name are told of, and more of the path tells them apart.
    let (out, _) = run(&["where", "net.py", &path], 0);
    assert!(
        out.contains("net.py made 3 values of jit_f: 48 B of the 48 B"),
        "{out}"
    );
    assert!(
        out.contains("any of 2 files: /app/other/net.py, /app/pkg/net.py"),
        "{out}"
    );
    let of = |asked: &str, more: &[&str]| -> Value {
        json_of(&[&["where", asked, &path], more].concat())["files"].clone()
    };
    assert_eq!(of("pkg/net.py", &[]), json!(["/app/pkg/net.py"]));
    assert_eq!(of("/here/net.py", &[]).as_array().map(Vec::len), Some(2));
    assert_eq!(
        of("/here/net.py", &["--source-map", "/app/other=/here"]),
        json!(["/app/other/net.py"])
    );

    let (out, _) = run(&["where", "nothing.py", &path], 1);
    let out = out.replace('\n', " ");
    assert!(
        out.contains("Files that made values: /app/other/net.py, /app/pkg/net.py."),
        "{out}"
    );
    let (out, _) = run(&["where", "net.py:7", "--format", "csv", &path], 0);
    let rows: Vec<&str> = out.lines().collect();
    assert!(
        rows[0].starts_with("bytes,at_peak,kind,opcode,value,shape,op_name,source,source_line"),
        "{out}"
    );
    assert!(
        rows[1].starts_with("16,yes,temp,iota,v.0,f32[4]{0},f,/app/pkg/net.py:7,7,yes,jit_f"),
        "{out}"
    );
    assert_eq!(rows.len(), 2);
    let (_, err) = run(&["where", "net.py:0", &path], 2);
    assert!(err.contains("no line from 1"), "{err}");
    let (_, err) = run(&["where", "net.py", "--source-map", "/app", &path], 2);
    assert!(err.contains("expected FROM=TO"), "{err}");
    let (_, err) = run(&["where", "net.py", &format!("{path}/none")], 2);
    assert!(err.contains("none"), "{err}");
}

#[test]
fn values_tell_their_memory_space() {
    let folder = fixtures().join("tpu-split").display().to_string();
    let source = "gen.py";
    let answer = json_of(&["where", source, &folder]);
    let values = list(&answer["values"]);
    let spaces: BTreeSet<u64> = values
        .iter()
        .filter_map(|it| it["space"].as_u64())
        .collect();
    assert!(spaces.is_superset(&[0, 1].into()), "{spaces:?}");
    let (out, _) = run(&["where", source, &folder], 0);
    let (_, of_values) = out.split_once("Values, the largest first").expect("values");
    for name in ["  HBM  ", "  VMEM  "] {
        assert!(of_values.contains(name), "{name}: {of_values}");
    }
    let (csv, _) = run(&["where", source, &folder, "--format", "csv"], 0);
    assert!(
        csv.lines()
            .next()
            .expect("a header")
            .contains(",allocation,space,space_name,"),
        "{csv}"
    );
    // One of them alone, and by line what it holds at the peak of that.
    let alone = json_of(&["where", source, &folder, "--space", "vmem"]);
    let in_vmem: Vec<&Value> = values.iter().filter(|it| it["space"] == 1).collect();
    assert!(list(&alone["values"]).iter().eq(in_vmem));
    assert!(
        list(&alone["by_line"])
            .iter()
            .all(|it| it["space_name"] == "VMEM"),
        "{alone}"
    );
    let most = |answer: &Value| list(&answer["by_line"])[0]["at_peak_bytes"].as_u64();
    assert!(
        most(&alone) > Some(0) && most(&alone) < most(&answer),
        "{alone}"
    );
    let (out, _) = run(&["where", source, &folder, "--space", "pinned HBM"], 1);
    assert!(
        out.contains("gen.py made no value in pinned HBM in "),
        "{out}"
    );
    let (_, err) = run(&["where", source, &folder, "--space", "disk"], 2);
    assert!(
        err.contains("no platform has a memory space `disk`"),
        "{err}"
    );
}

#[test]
fn text_from_dumps_stays_text() {
    let hostile = r#"source_file="/app/<script>alert(1)</script>.py" source_line=7"#;
    let folder = folder(&[hostile, hostile], "HloModule jit_f\n");
    let path = folder.path().display().to_string();
    let asked = "script>.py";
    for format in ["html", "markdown", "text"] {
        let (out, _) = run(&["where", asked, "--format", format, &path], 0);
        // In Markdown a backslash before it makes it text.
        let markup = out.replace("\\<", "");
        assert!(
            format == "text" || !markup.contains("<script>alert(1)"),
            "{out}"
        );
        assert!(out.contains("2 values"), "{out}");
    }
}

/// Starts a server that has read `settings`, and opens a file.
fn server(settings: Value, path: &Path) -> (Server, String) {
    let mut server = Server::start();
    server.notify(
        "workspace/didChangeConfiguration",
        &json!({ "settings": { "buflens": settings } }),
    );
    let uri = server.open_file(path);
    (server, uri)
}

#[test]
fn links_lead_to_where_the_source_is_here() {
    let sources = tempfile::tempdir().expect("a folder");
    let root = sources.path().canonicalize().expect("a folder");
    std::fs::write(root.join("caf\u{e9} (1).py"), "").expect("a file");
    let metadata = [
        r#"source_file="/app/caf\303\251 (1).py" source_line=7"#,
        r#"source_file="/app/gone.py" source_line=8"#,
        r#"source_file="C:\\app\\caf\303\251 (1).py" source_line=9"#,
    ];
    let folder = folder(&metadata, "HloModule jit_f\n");
    let path = folder
        .path()
        .join("module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt");
    let here = root.display().to_string();
    let (mut server, uri) = server(
        json!({ "sourceMap": { "/app": here, r"C:\app\": here } }),
        &path,
    );
    let expected = crate::support::client::uri(&root.join("caf\u{e9} (1).py"));
    let text_document = json!({ "textDocument": { "uri": uri } });
    // Settings are taken over in a task of their own.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let links = loop {
        let links = server
            .request("textDocument/documentLink", &text_document)
            .expect("links");
        if !list(&links).is_empty() {
            break links;
        }
        assert!(std::time::Instant::now() < deadline, "no links");
    };
    let targets: Vec<String> = list(&links)
        .iter()
        .map(|link| text(&link["target"]))
        .collect();
    let same = |target: &String, line: u32| {
        let (target, fragment) = target.split_once('#').expect("a line");
        path_of(target) == path_of(&expected) && fragment == format!("L{line}")
    };
    assert!(
        targets.len() == 2 && same(&targets[0], 7) && same(&targets[1], 9),
        "{targets:?}"
    );
    // A hover has the same links, and none to what is not there.
    let mut hover = |line: u32| {
        let position = json!({ "line": line, "character": 10 });
        let parameters = json!({ "textDocument": { "uri": uri }, "position": position });
        let hover = server
            .request("textDocument/hover", &parameters)
            .expect("a hover");
        text(&hover["contents"]["value"])
    };
    let (first, second) = (hover(2), hover(4));
    let target = expected.replace('(', "%28").replace(')', "%29");
    assert!(
        first.contains(&format!("(1).py:7`]({target}#L7)")),
        "{first}"
    );
    assert!(
        second.contains("`gone.py:8`") && !second.contains("]("),
        "{second}"
    );
    server.finish();
}

#[test]
fn an_editor_asks_for_the_buffers_of_a_line() {
    let dump = &fixtures_in(&["tpu-split"])
        .into_iter()
        .find(|dump| dump.name().contains("module_0055"))
        .expect("a dump");
    let (mut server, _) = server(json!({}), &dump.files[0]);
    server.open_file(&dump.files[1]);
    let mut ask = |argument: Value| {
        let parameters = json!({ "command": "buflens.where", "arguments": [argument] });
        server.request("workspace/executeCommand", &parameters)
    };
    let answer = ask(json!({ "file": uri(Path::new("/elsewhere/models/gen.py")), "line": 116 }));
    let mut answer = answer.expect("an answer");
    let assignment = dump.files[0].display().to_string();
    let mut same = json_of(&["where", "/elsewhere/models/gen.py:116", &assignment]);
    let place = answer["values"][0]["location"].take();
    let at = same["values"][0]["location"].take();
    assert_eq!(answer, same);
    assert_eq!(path_of(&text(&place["uri"])), text(&at["file"]));
    assert_eq!(
        place["range"]["start"]["line"]
            .as_u64()
            .map(|line| line + 1),
        at["line"].as_u64()
    );
    let whole = ask(json!({ "file": "gen.py", "limit": 2 })).expect("an answer");
    assert_eq!(list(&whole["values"]).len(), 2);
    assert!(whole["values_left_out"].as_u64() > Some(2), "{whole}");
    let error = ask(json!({ "file": "gen.py", "line": 0 })).expect_err("an error");
    assert_eq!(error["code"], -32602);

    // The same by the search for symbols, the largest first.
    let symbols = server
        .request("workspace/symbol", &json!({ "query": "gen.py:112" }))
        .expect("symbols");
    let symbols: Vec<String> = list(&symbols).iter().map(|it| text(&it["name"])).collect();
    assert_eq!(symbols[0], "fusion.6{1}: gen.py:112");
    assert_eq!(symbols.len(), 3, "{symbols:?}");
    server.finish();
}

/// As `summary` and `ls` do.
#[test]
fn a_file_that_is_called_a_dump_and_is_none_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = "module_0001.f.cpu_after_optimizations-buffer-assignment.txt";
    std::fs::write(folder.path().join(name), "hello\n").expect("a file");
    let folder = folder.path().display().to_string();
    let (_, err) = run(&["where", "model.py", &folder], 2);
    assert!(err.contains(name), "{err}");
}
