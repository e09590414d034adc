//! `buflens parse`, run as a process.

use std::fs;
use std::time::Duration;

use crate::support::command::run;

const LIMIT: Duration = Duration::from_secs(60);

/// What is printed, and the exit code.
fn parse(arguments: &[&str]) -> (String, Option<i32>) {
    let output = run(["parse"].iter().chain(arguments), LIMIT);
    (output.stdout, output.code)
}

#[test]
fn a_tree_holds_every_token() {
    let planted = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tests/fixtures/readme/planted-error.txt"
    );
    let (out, code) = parse(&[planted]);
    assert_eq!(code, Some(0));
    let tokens = out
        .lines()
        .filter_map(|line| line.split_once(" \"").map(|(_, text)| format!("\"{text}")));
    let text: String = tokens
        .map(|token| serde_json::from_str::<String>(&token).expect(&token))
        .collect();
    assert_eq!(text, fs::read_to_string(planted).unwrap());
    assert_eq!(parse(&["--errors", planted]), (String::new(), Some(0)));
}

#[test]
fn syntax_errors_can_be_listed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.txt");
    fs::write(&path, "BufferAssignment:\nallocation 0: size many:\n").unwrap();
    let path = path.to_str().unwrap();
    let (out, code) = parse(&["--errors", path]);
    assert_eq!(code, Some(1));
    assert!(out.starts_with(&format!("{path}:2:20: ")), "{out}");
    // A mark of UTF-8 is no text, and the facts have no such number.
    for (size, problem) in [
        ("18446744073709551614", ""),
        (
            "18446744073709551615",
            ":2:20: expected a size in bytes, found a number of 2^64 - 1 or more\n",
        ),
    ] {
        let text = format!("\u{feff}BufferAssignment:\nallocation 0: size {size}:\n");
        fs::write(path, text).unwrap();
        let (out, code) = parse(&["--errors", path]);
        assert_eq!(code, Some(i32::from(!problem.is_empty())));
        assert_eq!(out.strip_prefix(path).unwrap_or(&out), problem);
    }
}
