//! Which dumps are at and below the paths that were given, and how many are read at a time.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ignore::{WalkBuilder, WalkState};
use indicatif::ProgressBar;
use rayon::prelude::*;

use crate::workspace::{self, LoadError, Loaded};

/// So many bytes of a file are looked at to see whether it is part of a dump.
const HEAD: u64 = 4096;
/// Dumps of so many bytes are held at a time; a larger one is held alone.
const BATCH_BYTES: u64 = 256 << 20;
/// So many dumps are held at a time, however small they are.
const BATCH: usize = 64;

/// Files whose names say that they belong to one dump.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// Those that were met, in their order; at least one.
    pub paths: Vec<PathBuf>,
    /// Their bytes.
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
    let mut dumps: BTreeMap<PathBuf, Found> = BTreeMap::new();
    for (path, bytes) in files {
        let found = dumps.entry(key(&path)).or_default();
        if found
            .paths
            .iter()
            .all(|known| known.file_name() != path.file_name())
        {
            found.paths.push(path);
            found.bytes += bytes;
        }
    }
    let mut dumps: Vec<Found> = dumps.into_values().collect();
    dumps.sort();
    problems.sort();
    (dumps, problems)
}

/// Reads dumps in parallel, a batch at a time, and hands what `work` makes of each to `take`, in
/// the order of `found`. Memory is that of a batch, however many dumps there are.
pub fn for_each<T: Send>(
    found: &[Found],
    work: impl Fn(Loaded) -> T + Sync,
    mut take: impl FnMut(Result<T, LoadError>) -> io::Result<()>,
) -> io::Result<()> {
    // Shown on stderr, if that is a terminal.
    let progress = if found.len() > BATCH {
        ProgressBar::new(found.len() as u64)
    } else {
        ProgressBar::hidden()
    };
    let mut rest = found;
    while !rest.is_empty() {
        let batch;
        (batch, rest) = rest.split_at(batch_length(rest));
        let done: Vec<Result<T, LoadError>> = batch
            .par_iter()
            .flat_map_iter(|found| read(found, &work))
            .collect();
        progress.suspend(|| done.into_iter().try_for_each(&mut take))?;
        progress.inc(batch.len() as u64);
    }
    progress.finish_and_clear();
    Ok(())
}

/// How many of the dumps, of which there is at least one, are held at the same time.
fn batch_length(found: &[Found]) -> usize {
    let mut bytes = 0;
    let fitting = found.iter().take(BATCH).take_while(|found| {
        bytes += found.bytes;
        bytes <= BATCH_BYTES
    });
    fitting.count().max(1)
}

/// Reads the dump that the files found are parts of. A file among them that is none, since it was
/// renamed or is no dump at all, is a dump of its own.
fn read<T>(found: &Found, work: &impl Fn(Loaded) -> T) -> Vec<Result<T, LoadError>> {
    let (mut names, mut done): (Vec<OsString>, _) = (Vec::new(), Vec::new());
    for path in &found.paths {
        if names
            .iter()
            .any(|name| Some(name.as_os_str()) == path.file_name())
        {
            continue;
        }
        let loaded = workspace::load(path);
        if let Ok(loaded) = &loaded {
            let files = loaded.dump.files.iter();
            names.extend(files.filter_map(|file| file.path.file_name().map(ToOwned::to_owned)));
        }
        done.push(loaded.map(work));
    }
    done
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
    // Documents and programs quote dumps.
    if path.extension().is_none_or(|extension| extension != "txt") {
        return (None, None);
    }
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

/// Why the file is no part of a dump, by its first lines, without all of it being read.
pub fn problem(path: &Path) -> Option<String> {
    match has_head(path) {
        Ok(true) => None,
        Ok(false) => Some(format!("{}: it does not begin as a dump", path.display())),
        Err(error) => Some(format!("{}: {error}", path.display())),
    }
}

/// Whether the file is part of a dump, by its name or else by its first lines.
fn is_dump(path: &Path) -> io::Result<bool> {
    Ok(workspace::is_dump_name(path) || has_head(path)?)
}

fn has_head(path: &Path) -> io::Result<bool> {
    let mut head = Vec::new();
    File::open(path)?.take(HEAD).read_to_end(&mut head)?;
    Ok(workspace::is_dump_head(&head))
}

/// What all files of a dump have in common: their folder and the stem of their names.
fn key(path: &Path) -> PathBuf {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let stem = workspace::stem(path).unwrap_or_else(|| path.to_owned());
    folder.join(stem.file_name().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_bounded_in_number_and_bytes() {
        let dump = |bytes| Found {
            paths: vec!["x".into()],
            bytes,
        };
        assert_eq!(batch_length(&vec![dump(1); 200]), BATCH);
        assert_eq!(batch_length(&[dump(BATCH_BYTES - 1), dump(1), dump(1)]), 2);
        assert_eq!(batch_length(&[dump(BATCH_BYTES + 1), dump(1)]), 1);
    }
}
