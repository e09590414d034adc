//! Any arguments: the program ends with a code that it has, and writes only where it is told to.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::parts;

/// The files that the program is run on: two dumps, a message, and what is no dump.
const FILES: [(&str, &str); 7] = [
    (
        "a-buffer-assignment.txt",
        include_str!(
            "../../fixtures/dumps/smallest/module_0001.smallest.cpu_after_optimizations-buffer-assignment.txt"
        ),
    ),
    (
        "b-buffer-assignment.txt",
        include_str!(
            "../../fixtures/dumps/before-and-after/module_0022.jit_mlp_fwd.cl_878335365.after_optimizations-buffer-assignment.txt"
        ),
    ),
    (
        "b-memory-usage-report.txt",
        include_str!(
            "../../fixtures/dumps/before-and-after/module_0022.jit_mlp_fwd.cl_878335365.after_optimizations-memory-usage-report.txt"
        ),
    ),
    (
        "b.txt",
        include_str!(
            "../../fixtures/dumps/before-and-after/module_0022.jit_mlp_fwd.cl_878335365.after_optimizations.txt"
        ),
    ),
    (
        "oom.txt",
        include_str!("../../../syntax/tests/dumps/out-of-memory.txt"),
    ),
    ("no.txt", "no dump\n"),
    ("buflens.toml", "[check]\ndeny = \"error\"\n"),
];

/// A folder to run the program in, within one that must stay as it is.
pub struct Folder(TempDir);

impl Folder {
    /// Makes it where the system has such things.
    pub fn new() -> Self {
        let folder = Self(tempfile::tempdir().expect("a folder"));
        folder.restore();
        folder
    }

    /// Where the program runs.
    pub fn inside(&self) -> PathBuf {
        self.0.path().join("inside")
    }

    fn restore(&self) {
        let inside = self.inside();
        fs::create_dir_all(&inside).expect("a folder");
        for name in names(&inside) {
            if !FILES.iter().any(|(file, _)| *file == name) {
                let path = inside.join(name);
                // A folder is as little wanted.
                fs::remove_file(&path)
                    .or_else(|_| fs::remove_dir_all(&path))
                    .expect("a file that can be removed");
            }
        }
        for (name, text) in FILES {
            fs::write(inside.join(name), text).expect("a file");
        }
    }

    /// Whether `inside` is as it was made, but for files that one of the arguments names.
    fn assert_as_told(&self, arguments: &[String]) {
        let is_told = |name: &str| arguments.iter().any(|argument| argument.contains(name));
        assert_eq!(
            names(self.0.path()),
            ["inside"],
            "{arguments:?} wrote outside"
        );
        let names = names(&self.inside());
        for (name, text) in FILES {
            let is_same =
                fs::read(self.inside().join(name)).is_ok_and(|found| found == text.as_bytes());
            assert!(is_same || is_told(name), "{arguments:?} changed {name}");
        }
        for name in &names {
            let is_known = FILES.iter().any(|(file, _)| file == name);
            assert!(is_known || is_told(name), "{arguments:?} wrote {name}");
        }
        // What has been written is not for the next run.
        if names.len() != FILES.len()
            || arguments
                .iter()
                .any(|argument| FILES.iter().any(|(name, _)| argument.contains(name)))
        {
            self.restore();
        }
    }
}

/// What is in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect()
}

/// Runs the program in `folder` with the parts as its arguments. `run` gives its code if that is from
/// 0 to 2.
pub fn check(data: &[u8], folder: &Folder, run: impl FnOnce(&[String]) -> Option<u8>) {
    let arguments: Vec<String> = parts(data)
        .map(|part| String::from_utf8_lossy(part).into_owned())
        .collect();
    // The user may name any file; this test may not. And the server waits for an editor.
    let is_meant = |argument: &String| {
        !argument.contains(['/', '\\', '\0']) && !argument.contains("..") && argument != "lsp"
    };
    if !arguments.iter().all(is_meant) {
        return;
    }
    let code = run(&arguments);
    assert!(code.is_some(), "{arguments:?} ended with another code");
    folder.assert_as_told(&arguments);
}
