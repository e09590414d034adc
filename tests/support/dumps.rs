//! Dumps on disk: the fixtures, and what lies beside the project on the machines that made it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::root;

/// The suffixes of the files of one compilation. The first that fits counts.
pub const SUFFIXES: [&str; 5] = [
    "-buffer-assignment-values.txt",
    "-buffer-assignment.txt",
    "-live-range.txt",
    "-memory-usage-report.txt",
    ".txt",
];

/// The files of one compilation.
#[derive(Debug, Clone)]
pub struct Dump {
    /// The path without the suffix.
    pub stem: PathBuf,
    /// The files, the assignment first.
    pub files: Vec<PathBuf>,
}

impl Dump {
    /// The folder and the name, for messages.
    pub fn name(&self) -> String {
        let part = |path: Option<&std::ffi::OsStr>| {
            path.map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default()
        };
        let folder = part(self.stem.parent().and_then(Path::file_name));
        format!("{folder}/{}", part(self.stem.file_name()))
    }

    /// The path of the file with this suffix, whether it is there or not.
    pub fn path(&self, suffix: &str) -> PathBuf {
        PathBuf::from(format!("{}{suffix}", self.stem.display()))
    }
}

/// The folder of whole dumps.
pub fn fixtures() -> PathBuf {
    root().join("tests/fixtures/dumps")
}

/// The folder of broken files.
pub fn broken() -> PathBuf {
    root().join("tests/fixtures/broken")
}

/// Further dumps and examples that may lie beside the project.
pub fn beside() -> Vec<PathBuf> {
    let shared = root().join("../shared");
    ["corpus", "seeds"]
        .iter()
        .map(|name| shared.join(name))
        .filter(|path| path.is_dir())
        .collect()
}

/// All files below `folder`, sorted.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder that can be read") {
            let path = entry.expect("an entry that can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// The dumps below `folder`: those that have an assignment.
pub fn dumps_below(folder: &Path) -> Vec<Dump> {
    let mut stems: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    for path in files_below(folder) {
        let text = path.display().to_string();
        if let Some(stem) = SUFFIXES.iter().find_map(|suffix| text.strip_suffix(suffix)) {
            stems.entry(PathBuf::from(stem)).or_default().push(path);
        }
    }
    let mut dumps = Vec::new();
    for (stem, mut files) in stems {
        let place = |path: &PathBuf| {
            let text = path.display().to_string();
            [
                "-buffer-assignment.txt",
                "-buffer-assignment-values.txt",
                "-live-range.txt",
            ]
            .iter()
            .position(|suffix| text.ends_with(suffix))
            .unwrap_or(9)
        };
        files.sort_by_key(|path| (place(path), path.clone()));
        if place(&files[0]) == 0 {
            dumps.push(Dump { stem, files });
        }
    }
    dumps
}

/// The fixtures in these folders.
pub fn fixtures_in(folders: &[&str]) -> Vec<Dump> {
    folders
        .iter()
        .flat_map(|folder| dumps_below(&fixtures().join(folder)))
        .collect()
}
