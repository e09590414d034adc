//! Reading many dumps: how many at a time, and what is said of those that tell nothing.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::complain;
use super::one_dump::{Problem, is_broken, not_understood};
use crate::model::bytes::grouped;
use crate::model::cancel::on_few_threads;
use crate::workspace::{self, Found, LoadError, Loaded, Note};

/// Dumps of so many bytes are held at a time; a larger one is held alone.
const BATCH_BYTES: u64 = 256 << 20;
/// So many dumps are held at a time, however small they are.
const BATCH: usize = 64;

/// What `told` tells of each dump in `found`, with the dump that it has looked at, in their order, and whether something
/// was unreadable, which is said. A file without a dump in it is left out; it is said what it is instead if somebody
/// named it, or it is called a part of a dump. A pattern names the texts of a program's other stages, too, and of these
/// nothing is said.
pub fn each<T: Send>(
    found: &[Found],
    told: impl Fn(Loaded) -> (Loaded, Result<T, Problem>) + Sync,
) -> io::Result<(Vec<T>, bool)> {
    struct Read<T> {
        path: PathBuf,
        made: Result<T, Problem>,
        is_broken: bool,
        notes: Vec<Note>,
        not_understood: Vec<String>,
    }
    let read = |loaded: Loaded| {
        let path = loaded.dump.files[loaded.file].path.clone();
        let is_broken = is_broken(&loaded);
        let (loaded, made) = told(loaded);
        let not_understood = not_understood(&loaded.dump);
        let notes = loaded.notes.iter().cloned().chain(loaded.later_notes());
        Read {
            path,
            made,
            is_broken,
            notes: notes.collect(),
            not_understood,
        }
    };
    let program = |found: &Found| workspace::program_path(&found.stem());
    let (compilations, texts): (Vec<&Found>, Vec<&Found>) =
        found.iter().partition(|found| found.is_compilation);
    let programs: FxHashSet<PathBuf> = compilations.into_iter().map(program).collect();
    let stages = texts
        .iter()
        .filter(|text| programs.contains(&program(text)));
    let stages: FxHashSet<&PathBuf> = stages.flat_map(|text| &text.paths).collect();
    let named = found.iter().filter(|found| found.is_named);
    let named: FxHashSet<&PathBuf> = named.flat_map(|found| &found.paths).collect();
    let is_wanted = |path: &PathBuf| named.contains(path) && !stages.contains(path);
    let (mut all, mut is_unreadable) = (Vec::new(), false);
    for_each(found, read, |read| {
        let read = match read {
            Ok(read) => read,
            Err(problem) => {
                complain(problem);
                is_unreadable = true;
                return Ok(());
            }
        };
        for note in &read.notes {
            complain(note);
            is_unreadable = true;
        }
        for problem in &read.not_understood {
            complain(problem);
        }
        match read.made {
            Ok(made) => all.push(made),
            Err(problem) if read.is_broken || is_wanted(&read.path) => {
                complain(format_args!("{}: {problem}", read.path.display()));
                is_unreadable = true;
            }
            Err(_) => {}
        }
        Ok(())
    })?;
    Ok((all, is_unreadable))
}

/// Reads dumps in parallel, a batch at a time, and hands what `work` makes of each to `take`, in
/// the order of `found`. Memory is that of a batch, however many dumps there are.
pub fn for_each<T: Send>(
    found: &[Found],
    work: impl Fn(Loaded) -> T + Sync,
    mut take: impl FnMut(Result<T, LoadError>) -> io::Result<()>,
) -> io::Result<()> {
    let progress = Progress::of(found.len());
    let mut rest = found;
    while !rest.is_empty() {
        progress.show(found.len() - rest.len());
        let batch;
        (batch, rest) = rest.split_at(batch_length(rest));
        let loaded = batch.par_iter().flat_map_iter(|found| found.load(&work));
        // A dump that is alone would be read on this thread.
        let done: Vec<Result<T, LoadError>> = on_few_threads(|| loaded.collect());
        progress.hide();
        done.into_iter().try_for_each(&mut take)?;
    }
    Ok(())
}

/// How far a long reading is, in a line on stderr that what is told replaces.
struct Progress {
    /// So many dumps there are; `None` where nothing is shown: of few, and where no terminal is.
    of: Option<usize>,
}

impl Progress {
    fn of(count: usize) -> Self {
        let is_shown = count > BATCH && io::stderr().is_terminal();
        Self {
            of: is_shown.then_some(count),
        }
    }

    fn line(done: usize, of: usize) -> String {
        format!("{} of {} dumps", grouped(done as u64), grouped(of as u64))
    }

    fn show(&self, done: usize) {
        if let Some(of) = self.of {
            // Nothing is lost if it cannot be written.
            let _ = write!(io::stderr(), "\r{}", Self::line(done, of));
        }
    }

    /// With blanks and not with an escape, which some terminals show.
    fn hide(&self) {
        if let Some(of) = self.of {
            let _ = write!(io::stderr(), "\r{}\r", " ".repeat(Self::line(of, of).len()));
        }
    }
}

/// Gives the memory of a dump back aside. Nobody waits for that, least of all the end of the process.
pub fn drop_aside(loaded: Loaded) {
    rayon::spawn(move || drop(loaded));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_bounded_in_number_and_bytes() {
        let dump = |bytes| Found {
            paths: vec!["x".into()],
            bytes,
            ..Found::default()
        };
        assert_eq!(batch_length(&vec![dump(1); 200]), BATCH);
        assert_eq!(batch_length(&[dump(BATCH_BYTES - 1), dump(1), dump(1)]), 2);
        assert_eq!(batch_length(&[dump(BATCH_BYTES + 1), dump(1)]), 1);
    }
}
