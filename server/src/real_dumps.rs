//! The real dumps at hand, for tests that walk them.

use std::path::{Path, PathBuf};

use buflens_syntax::Document;

use self::dumps::{beside, dumps_below, fixtures};
use crate::model::{Dump, File};

#[allow(dead_code)] // Tests of the whole program need more of it.
#[path = "../../tests/support/dumps.rs"]
mod dumps;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The files of each compilation with an assignment, which comes first: of the fixtures, and of what lies beside the
/// project, if that is there.
pub fn compilations() -> Vec<Vec<PathBuf>> {
    let beside = beside();
    if beside.is_empty() {
        println!("the corpus is not here; only the fixtures are read");
    }
    let folders = std::iter::once(fixtures()).chain(beside);
    let dumps = folders.flat_map(|folder| dumps_below(&folder));
    dumps.map(|dump| dump.files).collect()
}

/// The files of the first fixture whose path has `part` in it.
pub fn fixture(part: &str) -> Vec<PathBuf> {
    let has_part = |path: &PathBuf| path.to_string_lossy().contains(part);
    let found = dumps_below(&fixtures()).into_iter().map(|dump| dump.files);
    let mut found = found.filter(|files| files.first().is_some_and(has_part));
    found.next().expect("a fixture")
}

/// The dump of these files.
pub fn read(paths: &[PathBuf]) -> Dump {
    let file = |path: &PathBuf| File {
        path: path.clone(),
        document: Document::new(&std::fs::read_to_string(path).expect("UTF-8")).expect("4 GiB"),
        lossy: false,
    };
    Dump::new(paths.iter().map(file).collect())
}
