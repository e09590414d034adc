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

/// Asserts that `value` has the keys of `promised`, and theirs below.
#[track_caller]
pub fn has_keys(value: &Value, promised: &Value) {
    match promised {
        Value::Object(promised) => {
            for (key, below) in promised {
                let found = value.get(key);
                has_keys(
                    found.unwrap_or_else(|| panic!("no `{key}` in {value}")),
                    below,
                );
            }
        }
        Value::Array(promised) => {
            let first = value.as_array().and_then(|list| list.first());
            has_keys(first.expect("an element"), &promised[0]);
        }
        Value::Number(_) => assert!(value.is_u64(), "{value} is no integer"),
        Value::String(_) => assert!(value.is_string(), "{value} is no text"),
        _ => {}
    }
}
