//! Every real dump at hand is read without loss and without an error.
//!
//! The dumps lie outside of the project; without them the fixtures of the project alone are read.

use std::path::{Path, PathBuf};

use buflens_syntax::{Document, DocumentKind};

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            files_below(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "txt") {
            files.push(path);
        }
    }
}

#[test]
fn real_dumps_are_read_without_loss_and_without_errors() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    files_below(&root.join("tests/fixtures/dumps"), &mut files);
    let corpus = root.join("../shared");
    if corpus.is_dir() {
        files_below(&corpus.join("corpus"), &mut files);
        files_below(&corpus.join("seeds"), &mut files);
    } else {
        println!("the corpus is not here; only the fixtures are read");
    }
    let mut failures = Vec::new();
    let mut read = 0;
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a dump is UTF-8");
        let document = Document::new(&text).expect("a dump of less than 4 GiB");
        if matches!(
            document.kind(),
            DocumentKind::Unknown | DocumentKind::Foreign
        ) {
            // Messages of failed compiles.
            continue;
        }
        read += 1;
        if document.root().text() != text.as_str() {
            failures.push(format!("{}: the tree's text is another", path.display()));
        }
        for (range, message) in document.errors().into_iter().take(3) {
            let at = document.line_at(range.start) + 1;
            failures.push(format!("{}:{at}: {message}", path.display()));
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures, the first:\n{}",
        failures.len(),
        failures[..failures.len().min(30)].join("\n")
    );
    println!("{read} dumps read");
}
