//! Running the program for its answers about memory.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::root;

/// A small dump of a TPU program.
pub const STEM: &str =
    "tests/fixtures/readme/module_0022.jit_mlp_fwd.cl_804429027.after_optimizations";

/// Its assignment.
pub fn file() -> String {
    format!("{STEM}-buffer-assignment.txt")
}

/// Runs the program in a terminal so many columns wide.
pub fn output(arguments: &[&str], columns: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_buflens"))
        .args(arguments)
        .current_dir(root())
        .env("COLUMNS", columns)
        .stdin(Stdio::null())
        .output()
        .expect("the program runs")
}

/// Runs the program, asserts its exit code, and gives what it writes to stdout and stderr.
#[track_caller]
pub fn run(arguments: &[&str], code: i32) -> (String, String) {
    let output = output(arguments, "80");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    let (out, err) = (text(output.stdout), text(output.stderr));
    assert_eq!(
        output.status.code(),
        Some(code),
        "{arguments:?}\n{out}\n{err}"
    );
    (out, err)
}

/// Runs a command that answers in JSON.
#[track_caller]
pub fn json_of(arguments: &[&str]) -> Value {
    let mut all = arguments.to_vec();
    all.extend(["--format", "json"]);
    let (out, err) = run(&all, 0);
    assert_eq!(err, "");
    let value: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(value["schema"], 1);
    value
}
