//! Which dumps are below the paths that were given, and how one is read.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::{WalkBuilder, WalkState};

use crate::model::{self, Dump, FileId};

/// A dump to be read, known by one of its files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// The first of its files that was met, in the order of paths.
    pub path: PathBuf,
    /// The bytes of its files that were met.
    pub bytes: u64,
}

/// The dumps at and below `paths`, each once, in the order of their paths; and what could not be
/// read, with the reason.
pub fn find(paths: &[PathBuf]) -> (Vec<Found>, Vec<String>) {
    let (mut files, mut problems) = (Vec::new(), Vec::new());
    for path in paths {
        match path.metadata() {
            Ok(metadata) if metadata.is_dir() => walk(path, &mut files, &mut problems),
            // Whatever was named is read, and checking says if it is no dump.
            Ok(metadata) => files.push((path.clone(), metadata.len())),
            Err(error) => problems.push(format!("{}: {error}", path.display())),
        }
    }
    files.sort();
    let mut dumps: BTreeMap<(PathBuf, OsString), Found> = BTreeMap::new();
    for (path, bytes) in files {
        let found = dumps.entry(key(&path)).or_insert(Found { path, bytes: 0 });
        found.bytes += bytes;
    }
    let mut dumps: Vec<Found> = dumps.into_values().collect();
    dumps.sort();
    problems.sort();
    (dumps, problems)
}

/// Collects the files below `folder` that are recognised as parts of dumps.
fn walk(folder: &Path, files: &mut Vec<(PathBuf, u64)>, problems: &mut Vec<String>) {
    let found = Mutex::new((files, problems));
    // Dumps often lie in folders that a `.gitignore` names, so such rules are off.
    let walker = WalkBuilder::new(folder)
        .standard_filters(false)
        .follow_links(true)
        .build_parallel();
    walker.run(|| {
        Box::new(|entry| {
            let (file, problem) = match entry {
                Ok(entry) => judge(&entry),
                Err(error) => (None, walk_problem(&error)),
            };
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            found.0.extend(file);
            found.1.extend(problem);
            WalkState::Continue
        })
    });
}

/// The file at `entry` if it is part of a dump, or why that cannot be told.
fn judge(entry: &ignore::DirEntry) -> (Option<(PathBuf, u64)>, Option<String>) {
    // Reading a named pipe would wait for somebody to write.
    if !entry.file_type().is_some_and(|kind| kind.is_file()) {
        return (None, None);
    }
    let path = entry.path();
    match is_dump(path) {
        Ok(true) => (
            Some((
                path.to_owned(),
                entry.metadata().map_or(0, |metadata| metadata.len()),
            )),
            None,
        ),
        Ok(false) => (None, None),
        Err(error) => (None, Some(format!("{}: {error}", path.display()))),
    }
}

/// A link that leads in a circle or nowhere hides nothing; a folder that cannot be opened does.
fn walk_problem(error: &ignore::Error) -> Option<String> {
    let is_loop = matches!(error, ignore::Error::WithDepth { err, .. } if matches!(**err, ignore::Error::Loop { .. }));
    let is_nowhere = error
        .io_error()
        .is_some_and(|error| error.kind() == io::ErrorKind::NotFound);
    (!is_loop && !is_nowhere).then(|| error.to_string())
}

// The stand-in for `workspace`.

/// Whether the file is part of a dump, by its name or else by its first line.
fn is_dump(path: &Path) -> io::Result<bool> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.starts_with("module_") && name.ends_with(".txt") {
        return Ok(true);
    }
    let mut start = Vec::new();
    File::open(path)?.take(64).read_to_end(&mut start)?;
    let text = String::from_utf8_lossy(&start);
    Ok(text.starts_with("BufferAssignment:"))
}

/// What all files of a dump have in common: their folder and the stem of their names.
fn key(path: &Path) -> (PathBuf, OsString) {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(".txt").unwrap_or(&name);
    let suffixes = [
        "-buffer-assignment-values",
        "-buffer-assignment",
        "-live-range",
        "-memory-usage-report",
    ];
    let stem = suffixes
        .iter()
        .find_map(|suffix| stem.strip_suffix(suffix))
        .unwrap_or(stem);
    (
        folder.canonicalize().unwrap_or_else(|_| folder.to_owned()),
        stem.into(),
    )
}

/// Reads the dump that the file at `path` belongs to, and gives the number of the file in it.
pub fn load(path: &Path) -> Result<(Arc<Dump>, FileId), String> {
    let text = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let text = String::from_utf8_lossy(&text);
    let document = buflens_syntax::Document::new(&text)
        .map_err(|error| format!("{}: {error}", path.display()))?;
    Ok((
        Arc::new(Dump::new(vec![model::File {
            path: path.to_owned(),
            document,
            lossy: false,
        }])),
        0,
    ))
}
