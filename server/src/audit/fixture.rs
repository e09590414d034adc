//! Dumps for the tests of audits and of the advice made from them.

use std::path::{Path, PathBuf};

use buflens_syntax::Document;

use crate::model::{Dump, File};

/// A dump of one file.
pub(crate) fn audited(text: &str) -> Dump {
    dump(vec![(PathBuf::from("dump.txt"), text.to_owned())])
}

/// A real dump: every file whose path below the fixtures begins with `stem`.
pub(crate) fn real(stem: &str) -> Dump {
    dump(texts(stem))
}

/// The files of it.
pub(crate) fn texts(stem: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/dumps");
    let (folder, name) = stem.split_once('/').unwrap();
    let entries = std::fs::read_dir(root.join(folder)).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| {
        path.file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with(name)
    });
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        (path, text)
    };
    paths.into_iter().map(read).collect()
}

/// A dump of these files, by their paths.
pub(crate) fn dump(files: Vec<(PathBuf, String)>) -> Dump {
    let file = |(path, text): (PathBuf, String)| File {
        path,
        document: Document::new(&text).unwrap(),
        lossy: false,
    };
    Dump::new(files.into_iter().map(file).collect())
}
