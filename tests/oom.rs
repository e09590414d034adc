//! `buflens oom`, run as a process.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const SHORT: &str = "E: Ran out of memory on HBM, the total memory required for HLO temporaries \
                     (20.00G) exceeds available HBM (15.75G).\n";
/// As libtpu printed it in 2025, in a log with a prefix.
const LISTED: &str = "\
[rank0]: Ran out of memory in memory space hbm. Used 20.00G of 15.75G hbm. Exceeded hbm capacity by 4.25G.
[rank0]: Total hbm usage >= 20.25G:
[rank0]:     arguments        20.00G 
[rank0]:   Largest program allocations in hbm:
[rank0]:   1. Size: 512B
[rank0]:      Operator: op_name=\"jit(oom_args)/slice\" source_file=\"oom.py\" source_line=17
[rank0]:      Shape: f32[1,1]{1,0:T(1,128)}
[rank0]:      Unpadded size: 4B
[rank0]:      Extra memory due to padding: 508B (128.0x expansion)
[rank0]:      XLA label: slice.8 = slice(a.2), slice={[0:1], [0:1]}
[rank0]:      Allocation type: HLO temp
";
const DUMP: &str = "tests/fixtures/dumps/out-of-memory/module_0000.jit_oom_args.cl_933746096.after_optimizations-buffer-assignment.txt";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn run(arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_buflens"));
    command.args(arguments).current_dir(root());
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program runs");
    // A program that does not read its input may be gone already.
    let _ = child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(input.as_bytes());
    child.wait_with_output().expect("the program ends")
}

#[track_caller]
fn check(arguments: &[&str], input: &str, code: i32) -> (String, String) {
    let output = run(arguments, input);
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let (out, err) = (text(output.stdout), text(output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}{err}");
    (out, err)
}

#[track_caller]
fn failure(arguments: &[&str], input: &str) -> Value {
    let (out, _) = check(arguments, input, 0);
    let answer: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(answer["schema"], 1);
    answer["texts"][0]["failures"][0].clone()
}

#[test]
fn the_short_message_is_told_what_it_counts() {
    let failure = failure(&["oom", "-", "--dump", DUMP, "--format", "json"], SHORT);
    assert_eq!(failure["form"], "total");
    assert_eq!(failure["wanted"]["text"], "20.00G");
    let dump = &failure["dump"];
    assert_eq!(dump["module"], "jit_oom_args");
    assert_eq!(dump["message_counts"], "reserved");
    assert_eq!(dump["parameter_bytes"], 5_u64 * 4 * (1 << 30));
    assert_eq!(dump["temp_bytes"], 512);
    assert_eq!(dump["listed_bytes"], 0);
    assert_eq!(dump["unlisted_bytes"], dump["peak"]["occupied_bytes"]);

    let (out, _) = check(&["oom", "-", "--dump", DUMP], SHORT, 0);
    let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        out.contains(
            "calls \"HLO temporaries\" are all of these together: the temporaries are 512 B"
        ),
        "{out}"
    );
}

#[test]
fn a_listed_allocation_is_found_in_the_dump_beside() {
    let folder = tempfile::tempdir().expect("a folder");
    let below = folder.path().join("dumps");
    fs::create_dir(&below).expect("a folder");
    for file in fs::read_dir(root().join(DUMP).parent().expect("a folder")).expect("the fixture") {
        let file = file.expect("a file");
        if file
            .file_name()
            .to_string_lossy()
            .starts_with("module_0000")
        {
            fs::copy(file.path(), below.join(file.file_name())).expect("a copy");
        }
    }
    let text = folder.path().join("train.log");
    fs::write(&text, format!("step 1\n{LISTED}step 2\n")).expect("a file");
    let text = text.to_str().expect("a path");
    let found = failure(&["oom", text, "--format", "json"], "");
    assert_eq!(found["line"], 2);
    let entry = &found["entries"][0];
    assert_eq!(entry["name"], "slice.8");
    assert_eq!(entry["unpadded"]["bytes"], 4);
    assert_eq!(entry["source"], "oom.py:17");
    assert_eq!(
        (&entry["is_exact"], entry["values"].as_array().map(Vec::len)),
        (&Value::Bool(true), Some(1))
    );
    let bytes = |key: &str| found["dump"][key].as_u64().expect("bytes");
    assert_eq!(
        found["dump"]["peak"]["occupied_bytes"],
        bytes("listed_bytes") + bytes("unlisted_bytes")
    );
    // The text stands for the dump of its program.
    let (out, _) = check(&["hover", &format!("{text}:11:28")], "", 0);
    assert!(out.contains("slice.8"), "{out}");
    let (out, _) = check(&["definition", &format!("{text}:11:28")], "", 0);
    assert!(out.contains("buffer-assignment"), "{out}");
    let (out, err) = check(&["check", text], "", 0);
    assert!(!out.contains("train.log"), "{out}{err}");
}

#[test]
fn every_format_is_written_and_hostile_text_is_harmless() {
    let hostile = LISTED.replace("slice.8", "slice<script>\u{1b}[31m");
    for format in ["text", "json", "csv", "markdown", "html"] {
        let (out, _) = check(&["oom", "-", "--format", format], &hostile, 0);
        assert!(!out.contains("\u{1b}[31m"), "{format}");
        assert!(format != "html" || !out.contains("<script>"), "{format}");
        assert!(out.contains("512"), "{format}: {out}");
    }
}

#[test]
fn what_is_no_failure_is_said() {
    for (path, input) in [
        ("-", "all is well\n"),
        ("-", ""),
        (DUMP, ""),
        ("no/such.txt", ""),
    ] {
        let (out, err) = check(&["oom", path], input, 2);
        assert_eq!(out, "");
        let expected = if path == "no/such.txt" {
            "no/such.txt: "
        } else {
            "expected a line such as"
        };
        assert!(err.contains(expected), "{err}");
    }
}

/// Every text of a failed compile that is there is understood, with every size in it, and what
/// it counts is found in its dump.
#[test]
fn the_corpus_is_understood() {
    let corpus = root().join("../shared/corpus/oom");
    if !corpus.is_dir() {
        println!("skipped: the corpus is not here");
        return;
    }
    let mut read = 0;
    for folder in fs::read_dir(corpus).expect("a folder").flatten() {
        let files = fs::read_dir(folder.path()).expect("a folder").flatten();
        for file in files.filter(|file| file.path().is_file()) {
            let path = file.path();
            if path.extension().is_none_or(|extension| extension != "txt") {
                continue;
            }
            let path = path.to_str().expect("a path");
            let found = failure(&["oom", path, "--format", "json"], "");
            let text = fs::read_to_string(path).expect("a text");
            let shown = found.to_string();
            let words = text.split(|char: char| char.is_whitespace() || "();,".contains(char));
            for word in words {
                let word = word.trim_end_matches(['.', ':']);
                let number = word.trim_end_matches(['B', 'K', 'M', 'G']);
                if number.len() + 1 == word.len() && number.parse::<f64>().is_ok() {
                    assert!(
                        shown.contains(&format!("\"{word}\""))
                            || found["message"]
                                .as_str()
                                .is_some_and(|it| it.contains(word)),
                        "{path}: {word} is not read"
                    );
                }
            }
            let dump = &found["dump"];
            assert!(dump.is_object(), "{path}: no dump: {found}");
            if found["form"] != "allocation" {
                assert!(dump["message_counts"].is_string(), "{path}: {dump}");
            }
            for entry in found["entries"].as_array().expect("a list") {
                assert!(entry["size"]["bytes"].is_u64(), "{path}: {entry}");
                assert!(entry["shape"].is_string(), "{path}: {entry}");
            }
            read += 1;
        }
    }
    assert!(read > 0);
    println!("{read} texts read");
}
