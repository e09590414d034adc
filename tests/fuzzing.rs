//! What fuzzing has found, and the inputs that it starts from, by the same checks and with any compiler.

#[path = "fuzz/src/lib.rs"]
mod fuzz;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fuzz::arguments::Folder;

/// The inputs of a target: those that failed once, and its kept corpus.
fn inputs(target: &str) -> Vec<PathBuf> {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz");
    let mut inputs = Vec::new();
    for folder in ["crashes", "corpus"] {
        // Not every target has failed.
        let Ok(entries) = fs::read_dir(fuzz.join(folder).join(target)) else {
            continue;
        };
        inputs.extend(entries.map(|entry| entry.expect("an entry").path()));
    }
    inputs.sort();
    assert!(
        inputs.len() >= 20,
        "only {} inputs of {target}",
        inputs.len()
    );
    inputs
}

fn check_all(target: &str, check: impl Fn(&[u8])) {
    let failed: Vec<String> = inputs(target)
        .into_iter()
        .filter(|path| {
            let data = fs::read(path).expect("an input");
            catch_unwind(AssertUnwindSafe(|| check(&data))).is_err()
        })
        .map(|path| path.display().to_string())
        .collect();
    assert!(failed.is_empty(), "{target} fails, see above: {failed:#?}");
}

#[test]
fn any_bytes_are_read_without_loss() {
    check_all("lossless", fuzz::lossless::check);
}

#[test]
fn any_edits_lead_to_what_is_read_fresh() {
    check_all("edits", |data| {
        fuzz::edits::check(data);
    });
}

#[test]
fn any_texts_are_explained() {
    check_all("requests", fuzz::requests::check);
}

#[test]
fn any_messages_are_answered() {
    check_all("shell", fuzz::shell::check);
}

#[test]
fn any_arguments_end_with_a_code() {
    let folder = Folder::new();
    check_all("arguments", |data| {
        fuzz::arguments::check(data, &folder, |arguments| {
            let output = Command::new(env!("CARGO_BIN_EXE_buflens"))
                .args(arguments)
                .current_dir(folder.inside())
                .stdin(Stdio::null())
                .output()
                .expect("the program runs");
            assert!(
                !String::from_utf8_lossy(&output.stderr).contains("panicked"),
                "{output:?}"
            );
            output
                .status
                .code()
                .and_then(|code| u8::try_from(code).ok())
                .filter(|code| *code <= 2)
        });
    });
}
