//! `buflens diff`: what changed between two compiles.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::one_dump::{has_suffix, load};
use super::output::Format;
use super::{FINDINGS, UNREADABLE, complain};
use crate::audit::Audit;
use crate::model::source::Libraries;
use crate::model::{Dump, Place};
use crate::report::pages::diff as page;
use crate::report::records::{self, Answer, Diffs, FileLocation, Source};
use crate::workspace::{self, Found, Loaded};

/// Show what changed between two compiles: totals, peaks, values, donation and copies.
///
/// Values are recognised by where they come from and what they are, whatever their names are now.
#[derive(Debug, Args)]
pub struct Diff {
    /// What was before: a file, which stands for its whole dump, the beginning of the names of its files, or a folder of
    /// dumps; `-` for what is piped in.
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// What is now: a file or a folder.
    #[arg(value_name = "AFTER")]
    after: PathBuf,
    /// How the answer is written.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// So many rows of each list at most; 20 in text, Markdown and HTML, all in JSON and CSV if it
    /// is not given.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Exit with 1 if something changed.
    #[arg(long)]
    exit_code: bool,
    /// Source files with this in their path are a library's, not the user's own. May be repeated.
    #[arg(long = "library", value_name = "MARK")]
    libraries: Vec<String>,
}

/// What two dumps differ in.
type Compared = Answer<records::Diff<FileLocation>>;

impl Diff {
    pub fn run(&self) -> io::Result<ExitCode> {
        let paths = [&self.before, &self.after];
        let mut is_unreadable = false;
        let mut sides = [Vec::new(), Vec::new()];
        for (side, path) in sides.iter_mut().zip(paths) {
            let (found, problems) = workspace::find(std::slice::from_ref(path));
            for problem in &problems {
                complain(problem);
            }
            is_unreadable |= !problems.is_empty();
            *side = found
                .iter()
                .filter_map(|found| assigned(found, path))
                .collect();
            if side.is_empty() && problems.is_empty() {
                complain(format_args!("there is no dump at {}", path.display()));
                if let Some(unread) = workspace::unread(std::slice::from_ref(path)) {
                    complain(unread);
                }
            }
            is_unreadable |= side.is_empty();
        }
        if sides.iter().any(Vec::is_empty) {
            return Ok(ExitCode::from(UNREADABLE));
        }
        let is_changed = match &sides {
            [before, after] if before.len() == 1 && after.len() == 1 => {
                self.one(&before[0].path, &after[0].path, &mut is_unreadable)?
            }
            _ => self.many(sides, &mut is_unreadable)?,
        };
        let code = match (is_unreadable, is_changed && self.exit_code) {
            (true, _) => UNREADABLE,
            (false, true) => FINDINGS,
            (false, false) => 0,
        };
        Ok(ExitCode::from(code))
    }

    /// Writes about two dumps, and tells whether something changed.
    fn one(&self, before: &Path, after: &Path, is_unreadable: &mut bool) -> io::Result<bool> {
        let Some(answer) = self.compared([before, after], is_unreadable) else {
            return Ok(false);
        };
        self.format
            .write(&answer, || page::page(&answer), || page::table([&answer]))?;
        Ok(!answer.content.nothing_changed)
    }

    /// Writes about folders of dumps, of which two are held at a time.
    fn many(&self, sides: [Vec<Assigned>; 2], is_unreadable: &mut bool) -> io::Result<bool> {
        let Paired { pairs, alone } = paired(sides);
        let compared = pairs.iter();
        let compared =
            compared.filter_map(|[before, after]| self.compared([before, after], is_unreadable));
        let compared: Vec<Compared> = compared.collect();
        for path in alone.iter().flatten() {
            if let Some(problem) = workspace::head_problem(path) {
                complain(problem);
                *is_unreadable = true;
            }
        }
        let stem = |path: PathBuf| {
            workspace::stem_or_path(&path)
                .to_string_lossy()
                .into_owned()
        };
        let alone = alone.map(|paths| paths.into_iter().map(stem).collect());
        let diffs = Diffs::new(compared, alone);
        let limit = self.limit();
        self.format.write(
            &diffs,
            || page::pages(&diffs, limit),
            || page::table(&diffs.pairs),
        )?;
        Ok(!diffs.nothing_changed())
    }

    /// What changed between the dumps of two files; says on stderr what cannot be read.
    fn compared(&self, paths: [&Path; 2], is_unreadable: &mut bool) -> Option<Compared> {
        let mut loaded = Vec::new();
        for path in paths {
            match load(path) {
                Ok(dump) => {
                    for note in dump.notes.iter() {
                        complain(note);
                        *is_unreadable = true;
                    }
                    loaded.push(dump);
                }
                Err(problem) => {
                    complain(problem);
                    *is_unreadable = true;
                }
            }
        }
        let [before, after] = &loaded[..] else {
            return None;
        };
        let libraries = || Libraries::default().with(self.libraries.iter().cloned());
        let dumps = [before, after].map(|loaded| &*loaded.dump);
        let audits = dumps.map(|dump| Audit::new(dump, libraries()));
        let locate = |dump: &Dump, place: &Place| FileLocation::new(dump, place);
        let in_before = |place: &Place| locate(dumps[0], place);
        let in_after = |place: &Place| locate(dumps[1], place);
        let sources = [
            &Source {
                audit: &audits[0],
                locate: &in_before,
            },
            &Source {
                audit: &audits[1],
                locate: &in_after,
            },
        ];
        let compared = Answer::new(dumps[1], records::diff(sources, self.limit()));
        for note in loaded.iter().flat_map(Loaded::later_notes) {
            complain(note);
            *is_unreadable = true;
        }
        Some(compared)
    }

    /// How many rows.
    fn limit(&self) -> usize {
        self.format.rows(self.limit)
    }
}

/// A dump of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Assigned {
    /// One of its files.
    path: PathBuf,
    /// The folder that it lies in, from the one that was named on.
    folder: PathBuf,
    /// The program that it is called after, with the number that some frameworks put behind the name.
    program: Option<String>,
    /// The bytes of all of them.
    bytes: u64,
}

/// The file that a dump is read by, unless it is a program's text alone that nobody named.
fn assigned(found: &Found, named: &Path) -> Option<Assigned> {
    let paths = found.paths.iter().filter(|path| has_suffix(path));
    let path = paths.min_by_key(|path| !workspace::is_readable(path));
    let path = path.or_else(|| found.paths.iter().find(|path| *path == named))?;
    let folder = path.parent().and_then(|it| it.strip_prefix(named).ok());
    Some(Assigned {
        path: path.clone(),
        folder: folder.unwrap_or(Path::new("")).to_owned(),
        program: workspace::module_name(path),
        bytes: found.bytes,
    })
}

/// Which dumps of two folders are of one program.
#[derive(Debug, Default, PartialEq, Eq)]
struct Paired {
    pairs: Vec<[PathBuf; 2]>,
    alone: [Vec<PathBuf>; 2],
}

/// When two dumps of one program are a pair, from the strongest reason to none.
const PAIRS: [fn(&Assigned, &Assigned) -> bool; 8] = [
    |one, other| is_alike(one, other) && one.folder == other.folder && one.bytes == other.bytes,
    |one, other| is_alike(one, other) && one.folder == other.folder,
    |one, other| one.folder == other.folder && one.bytes == other.bytes,
    |one, other| one.folder == other.folder,
    |one, other| is_alike(one, other) && one.bytes == other.bytes,
    is_alike,
    |one, other| one.bytes == other.bytes,
    |_, _| true,
];

fn is_alike(one: &Assigned, other: &Assigned) -> bool {
    one.program == other.program
}

/// Pairs dumps of the same program for the same platform. Of several with one name those that lie in the
/// same folder are paired first, and of these those whose number behind the name is the same, and that are equally long; then the
/// others likewise, in the order of their paths.
fn paired(sides: [Vec<Assigned>; 2]) -> Paired {
    let mut named: BTreeMap<String, [Vec<Assigned>; 2]> = BTreeMap::new();
    for (side, dumps) in sides.into_iter().enumerate() {
        for dump in dumps {
            named
                .entry(workspace::name_in_every_run(&dump.path))
                .or_default()[side]
                .push(dump);
        }
    }
    let mut paired = Paired::default();
    for [before, mut after] in named.into_values() {
        let mut rest = before;
        for is_pair in PAIRS {
            let mut unpaired = Vec::new();
            for dump in rest {
                match after.iter().position(|other| is_pair(&dump, other)) {
                    Some(place) => paired.pairs.push([dump.path, after.remove(place).path]),
                    None => unpaired.push(dump),
                }
            }
            rest = unpaired;
        }
        for (alone, dumps) in paired.alone.iter_mut().zip([rest, after]) {
            alone.extend(dumps.into_iter().map(|dump| dump.path));
        }
    }
    paired.pairs.sort();
    paired.alone.iter_mut().for_each(|paths| paths.sort());
    paired
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dumps(names: &[(&str, u64)]) -> Vec<Assigned> {
        let dump = |&(name, bytes): &(&str, u64)| Assigned {
            path: format!("{name}-buffer-assignment.txt").into(),
            folder: Path::new(name).parent().expect("a folder").to_owned(),
            program: workspace::module_name(Path::new(&format!("{name}-buffer-assignment.txt"))),
            bytes,
        };
        names.iter().map(dump).collect()
    }

    #[test]
    fn dumps_of_one_program_are_paired() {
        let before = dumps(&[
            ("module_0001.jit_f.cl_1.after_optimizations", 5),
            ("module_0002.jit_g.cl_1.after_optimizations", 5),
            ("module_0003.jit_g.cl_1.after_optimizations", 7),
            ("module_0004.jit_h.cl_1.after_optimizations", 1),
            ("module_0005.jit_f.sm_8.0_gpu_after_optimizations", 1),
        ]);
        let after = dumps(&[
            ("9.module_0011.jit_f.cl_22.after_optimizations", 6),
            ("9.module_0012.jit_g.cl_22.after_optimizations", 7),
            ("9.module_0013.jit_g.cl_22.after_optimizations", 9),
            ("9.module_0014.jit_g.cl_22.after_optimizations", 9),
            ("9.module_0015.jit_h.cpu_after_optimizations", 1),
            ("9.module_0016.jit_f.sm_9.0a_gpu_after_optimizations", 1),
        ]);
        let Paired { pairs, alone } = paired([before, after]);
        let number = |path: &PathBuf| {
            let name = path.to_str().unwrap();
            name.split('.')
                .find_map(|part| part.strip_prefix("module_"))
                .unwrap()
                .to_owned()
        };
        let pairs: Vec<[String; 2]> = pairs.iter().map(|[a, b]| [number(a), number(b)]).collect();
        assert_eq!(
            pairs,
            [
                ["0001", "0011"],
                ["0002", "0013"],
                ["0003", "0012"],
                ["0005", "0016"]
            ]
        );
        let alone = alone.map(|paths| paths.iter().map(number).collect::<Vec<_>>());
        assert_eq!(alone, [vec!["0004"], vec!["0014", "0015"]]);
        // Some frameworks call all of them the same, but for a number.
        let before = [
            ("module_0000.Graph.299.cpu_after_optimizations", 9),
            ("module_0001.Graph.268.cpu_after_optimizations", 5),
        ];
        let after = [("module_0001.Graph.268.cpu_after_optimizations", 6)];
        let Paired { pairs, alone } = paired([dumps(&before), dumps(&after)]);
        assert_eq!(pairs.len(), 1);
        assert_eq!(pairs[0][0], pairs[0][1]);
        assert_eq!(number(&alone[0][0]), "0000");
        // Of several of one program each is that of its folder.
        let [before, after] = [&["eval", "train"][..], &["aux", "eval", "train"]].map(|folders| {
            let names = folders
                .iter()
                .map(|folder| format!("{folder}/module_1.jit_f.cl_1.x"));
            let names: Vec<String> = names.collect();
            dumps(
                &names
                    .iter()
                    .map(|name| (name.as_str(), 5))
                    .collect::<Vec<_>>(),
            )
        });
        let Paired { pairs, alone } = paired([before, after]);
        assert!(
            pairs.iter().all(|[before, after]| before == after),
            "{pairs:?}"
        );
        assert!(
            alone[0].is_empty() && alone[1][0].starts_with("aux"),
            "{alone:?}"
        );
    }
}
