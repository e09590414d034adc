//! What the commands about one dump have in common: which dump, and how words on the command line
//! name its parts.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use buflens_syntax::DocumentKind;
use clap::Args;

use super::dumps::drop_aside;
use super::output::Format;
use super::{UNREADABLE, complain};
use crate::audit::Audit;
use crate::checks::{self, Finding};
use crate::model::bytes::counted;
use crate::model::source::Libraries;
use crate::model::{Dump, FileId, Part, Place, space};
use crate::report::records::{FileLocation, Source, space_names, space_problem};
use crate::workspace::{self, Found, Loaded, Note};

/// So many dumps are named where one was wanted.
const MOST_NAMED: usize = 20;
/// Which dump.
#[derive(Debug, Args)]
pub struct Given {
    /// A file, which stands for its whole dump with all siblings, or several files of one dump, or
    /// a folder that holds one; `-` for what is piped in.
    #[arg(required = true, value_name = "FILE")]
    paths: Vec<PathBuf>,
    /// Source files with this in their path are a library's, not the user's own. May be repeated.
    #[arg(long = "library", value_name = "MARK")]
    libraries: Vec<String>,
}

/// Which dump, and how it is written about.
#[derive(Debug, Args)]
pub struct One {
    #[command(flatten)]
    given: Given,
    /// How the answer is written.
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
    /// So many rows at most; 20 in text, Markdown and HTML, all in JSON and CSV if it is not given.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// Why there is no answer.
pub type Problem = String;

impl Given {
    /// Reads the dump and has `answer` write about it.
    pub fn run(
        &self,
        answer: impl FnOnce(&Source<'_, '_, FileLocation>) -> Result<io::Result<()>, Problem>,
    ) -> io::Result<ExitCode> {
        let (loaded, problems) = match self.load() {
            Ok(loaded) => loaded,
            Err(problem) => {
                complain(problem);
                return Ok(ExitCode::from(UNREADABLE));
            }
        };
        problems.iter().for_each(complain);
        for note in loaded.notes.iter() {
            complain(note);
        }
        let told = about(&loaded.dump, &self.libraries, answer);
        let changed: Vec<Note> = loaded.later_notes().collect();
        changed.iter().for_each(complain);
        match told {
            // Whoever closes the pipe has seen enough, but what the exit code tells is as true.
            Ok(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => {}
            Ok(written) => written?,
            Err(problem) => {
                complain(problem);
                return Ok(ExitCode::from(UNREADABLE));
            }
        }
        let is_whole = loaded.notes.is_empty() && problems.is_empty() && changed.is_empty();
        let code = if is_whole { 0 } else { UNREADABLE };
        drop_aside(loaded);
        Ok(ExitCode::from(code))
    }

    /// The dump, and what else could not be read.
    fn load(&self) -> Result<(Loaded, Vec<Problem>), Problem> {
        let (path, problems) = only_dump(&self.paths)?;
        Ok((load(&path)?, problems))
    }
}

/// Has `answer` tell of a dump, where the files with one of `libraries` in their path are a library's.
pub fn about<T>(
    dump: &Dump,
    libraries: &[String],
    answer: impl FnOnce(&Source<'_, '_, FileLocation>) -> T,
) -> T {
    let libraries = Libraries::default().with(libraries.iter().cloned());
    answer(&Source {
        audit: &Audit::new(dump, libraries),
        locate: &|place: &Place| FileLocation::new(dump, place),
    })
}

/// What `answer` tells of a dump without the files of others beside it, with what it was asked about; else what is there
/// instead of a dump.
pub fn told_of<T>(
    loaded: Loaded,
    answer: impl FnOnce(&Loaded) -> T,
) -> (Loaded, Result<T, Problem>) {
    let loaded = without_strangers(loaded);
    let told = if is_dump(&loaded.dump) {
        Ok(answer(&loaded))
    } else {
        Err(no_dump(&loaded))
    };
    (loaded, told)
}

/// Reads the dump that the file at `path` is a part of.
///
/// # Errors
/// With the reason, also if nothing in it is about memory.
pub fn load(path: &Path) -> Result<Loaded, Problem> {
    let loaded = workspace::load(path).map_err(|error| error.to_string())?;
    let (loaded, told) = told_of(loaded, |_| ());
    told.map_err(|problem| format!("{}: {problem}", path.display()))?;
    for problem in not_understood(&loaded.dump) {
        complain(problem);
    }
    Ok(loaded)
}

/// What is said of files that are broken off, hold another dump or have lines that are not understood: a number there may
/// be in no answer.
/// Not of HLO text, in which compilers come up with attributes of their own.
pub fn not_understood(dump: &Dump) -> Vec<String> {
    let files = dump.files.iter();
    let files = files.filter(|file| Part::from(file.document.kind()).tells_of_memory());
    let broken_lines = files.filter_map(|file| {
        let document = &file.document;
        let errors = document.errors().into_iter();
        let mut lines: Vec<u32> = errors.map(|(at, _)| document.line_at(at.start)).collect();
        lines.dedup();
        // A last line that is cut is told as such.
        lines.retain(|&line| line + 1 < document.line_count());
        let what = match lines.len() {
            0 => return None,
            1 => "a line is not understood, so that a number".to_owned(),
            count => format!(
                "{} are not understood, so that numbers",
                counted(count, "line")
            ),
        };
        let path = file.path.display();
        Some(format!(
            "{path}: {what} may be missing or wrong: `buflens check` tells"
        ))
    });
    let cuts = checks::cuts(dump).into_iter().map(|cut| {
        let path = dump.files[cut.place.file].path.display();
        let message = cut.message;
        format!("{path}: {message}: what it lacks is in no number here")
    });
    let second = dump.second.iter().map(|place| {
        let file = &dump.files[place.file];
        let line = file.document.line_at(place.range.start) + 1;
        let path = file.path.display();
        format!("{path}: another dump begins in line {line}, of which no number here is: expected one in a file")
    });
    broken_lines.chain(cuts).chain(second).collect()
}

impl One {
    /// Reads the dump and has `answer` write about it.
    pub fn run(
        &self,
        answer: impl FnOnce(&Source<'_, '_, FileLocation>) -> Result<io::Result<()>, Problem>,
    ) -> io::Result<ExitCode> {
        self.given.run(answer)
    }

    /// How many rows.
    pub fn limit(&self) -> usize {
        self.format.rows(self.limit)
    }

    /// Whether the number of rows was chosen.
    pub fn is_limited(&self) -> bool {
        self.limit.is_some()
    }
}

/// The dump without the files that are of another compilation, whose numbers have nothing to do with
/// it. Each is noted.
fn without_strangers(loaded: Loaded) -> Loaded {
    let strangers = checks::strangers(&loaded.dump);
    without(loaded, &strangers)
}

/// The same where they have been found: `strangers` are the findings about them.
pub fn without(loaded: Loaded, strangers: &[Finding]) -> Loaded {
    if strangers.is_empty() {
        return loaded;
    }
    let files = &loaded.dump.files;
    let is_own = |file: &FileId| strangers.iter().all(|it| it.place.file != *file);
    let own: Vec<FileId> = (0..files.len()).filter(is_own).collect();
    let left_out = strangers.iter().map(|finding| Note::LeftOut {
        path: files[finding.place.file].path.clone(),
        reason: finding.message.clone(),
    });
    Loaded {
        // Whichever file was asked for, it stands for the whole dump.
        file: own.iter().position(|&it| it == loaded.file).unwrap_or(0),
        notes: loaded.notes.iter().cloned().chain(left_out).collect(),
        dump: Arc::new(Dump::new(
            own.iter().map(|&file| files[file].clone()).collect(),
        )),
    }
}

/// What is said of a file without any number about memory.
pub fn no_dump(loaded: &Loaded) -> String {
    let document = &loaded.dump.files[loaded.file].document;
    if document.kind() == DocumentKind::OutOfMemory {
        return "this is the compiler's message, not a dump: `buflens oom` explains it; the dumps lie \
                in the folder that the compiler was given with `--xla_dump_to`"
            .to_owned();
    }
    let is_foreign = Part::from(document.kind()) == Part::None;
    // What it is instead is known to who checks it.
    let findings = is_foreign.then(|| checks::check(&loaded.dump));
    let mut findings = findings.into_iter().flatten();
    let own = findings.find(|finding| finding.place.file == loaded.file);
    own.map_or_else(
        || {
            "neither this file nor a sibling of it holds allocations, values, live ranges or a report"
                .to_owned()
        },
        |finding| finding.message,
    )
}

/// Whether the file is called a part of a dump and holds none.
pub fn is_broken(loaded: &Loaded) -> bool {
    let file = &loaded.dump.files[loaded.file];
    has_suffix(&file.path) && Part::from(file.document.kind()) == Part::None
}

/// Whether there is anything to say about memory.
pub fn is_dump(dump: &Dump) -> bool {
    let mut parts = dump
        .files
        .iter()
        .map(|file| Part::from(file.document.kind()));
    parts.any(Part::tells_of_memory)
}

/// A file of the one dump that is at or below `paths`, and why others there cannot be read.
pub fn only_dump(paths: &[PathBuf]) -> Result<(PathBuf, Vec<Problem>), Problem> {
    let (found, mut problems) = workspace::find(paths);
    // The text of a program before it was compiled lies next to many a dump, and `module_0001*` names both, and what is
    // no dump. What is piped in can be anything, and has no head that could be read twice.
    let is_dump = |path: &PathBuf| has_suffix(path) || !path.is_file() || workspace::is_part(path);
    let is_assigned = |found: &&Found| found.is_compilation && found.paths.iter().any(is_dump);
    let assigned: Vec<&Found> = found.iter().filter(is_assigned).collect();
    let found = if assigned.is_empty() {
        found.iter().collect()
    } else {
        assigned
    };
    let shortest = |found: &Found| {
        let paths = found.paths.iter().filter(|path| has_suffix(path));
        let path = paths.min_by_key(|path| (!workspace::is_readable(path), path.as_os_str().len()));
        path.unwrap_or(&found.paths[0]).clone()
    };
    match found[..] {
        [] if !problems.is_empty() => Err(problems.swap_remove(0)),
        [] => Err(workspace::unread(paths).map_or_else(
            || "there is no dump at the given path".to_owned(),
            |unread| format!("there is no dump at the given path; {unread}"),
        )),
        [one] => Ok((shortest(one), problems)),
        _ => {
            let mut message = format!(
                "there are {} dumps where one is wanted; `buflens summary` shows them all, or \
                 name one of them:",
                found.len()
            );
            for found in found.iter().take(MOST_NAMED) {
                message = format!("{message}\n  {}", shortest(found).display());
            }
            if found.len() > MOST_NAMED {
                message.push_str("\n  ...");
            }
            Err(message)
        }
    }
}

/// Whether the file is called a part of a dump that says something about memory.
pub fn has_suffix(path: &Path) -> bool {
    workspace::part_of_suffix(path).is_some_and(Part::tells_of_memory)
}

/// The number of the memory space that `text` names: `1`, `@1`, `VMEM`, or the start of a name.
pub fn space_named(dump: &Dump, text: &str) -> Result<u64, Problem> {
    if let Some(color) = space::called(text, dump.platforms) {
        return space_problem(dump, color).map_or(Ok(color), Err);
    }
    Err(format!(
        "there is no memory space `{text}`; the dump has {}",
        space_names(dump)
    ))
}

/// The values that `text` names, as numbers into [`Dump::values`]: ids, names and names with an
/// index, between commas.
pub fn values_named(dump: &Dump, text: &str) -> Result<Vec<u32>, Problem> {
    let mut values = Vec::new();
    for word in words(text) {
        let before = values.len();
        match word.parse() {
            Ok(id) => values.extend(dump.value_with_id(id)),
            Err(_) => values.extend(values_called(dump, word)),
        }
        if values.len() == before {
            return Err(format!("the dump has no value `{word}`"));
        }
    }
    values.sort_unstable();
    values.dedup();
    Ok(values)
}

fn values_called(dump: &Dump, word: &str) -> Vec<u32> {
    let word = word.trim_start_matches('%');
    if let Some(name) = dump.names.get(word) {
        return dump.values_of(name).collect();
    }
    let parts = word.find('{').map(|at| word.split_at(at));
    let ids = parts.and_then(|(name, index)| Some((dump.names.get(name)?, dump.names.get(index)?)));
    ids.map_or_else(Vec::new, |(name, index)| {
        dump.values_at(name, index).collect()
    })
}

/// What stands between commas, except for those of an index: `copy.1{0,1},41`.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    let words = text.split(move |char| {
        depth += i32::from(char == '{') - i32::from(char == '}');
        char == ',' && depth <= 0
    });
    words.map(str::trim).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_of_an_index_do_not_part() {
        let parts: Vec<&str> = words("41, copy.1{0,1},a{},,b").collect();
        assert_eq!(parts, ["41", "copy.1{0,1}", "a{}", "b"]);
    }
}
