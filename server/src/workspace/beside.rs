//! Which dump is that of the program that a failure tells of.

use std::collections::BTreeSet;
use std::fs;
use std::hash::Hash;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use buflens_syntax::facts::{self, brief};
use buflens_syntax::{Document, DocumentKind};
use lru::LruCache;

use super::find::{find, head_problem};
use super::load::{length, read};
use super::names::module_name;
use crate::model::cancel::lock;
use crate::model::failure::{self, Failure, Form, failures, is_main_memory};
use crate::model::space;

/// The folder below the text's own where dumps are looked for too.
const BELOW: &str = "dumps";
const SUFFIX: &str = "-buffer-assignment.txt";
/// So many files are looked at in a folder.
const MOST_FILES: usize = 10_000;
/// So many dumps are added up to find the one with the total that the message says ...
const MOST_ADDED_UP: usize = 64;
/// ... each of so many bytes at most.
const MOST_BYTES: u64 = 16 << 20;
/// So many sizes of values are kept of each.
const MOST_SIZES: usize = 64;

/// The dumps that may be of the program that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beside {
    /// None is there.
    None,
    /// Those that are there are of other programs than the text, which is of these.
    Other(Vec<String>),
    /// It can only be this one: its assignment.
    One(PathBuf),
    /// It may be any of these; where it is one alone, nothing says that it is not.
    Several(Vec<PathBuf>),
}

/// Bytes of memory space 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Sums {
    /// Of all allocations.
    total: u64,
    /// Of those that are temporary.
    temp: u64,
    /// The sizes of the largest values that a message may be about, [`MOST_SIZES`] at most.
    largest: BTreeSet<u64>,
}

/// What the allocations of dumps add up to, and which instructions they have values of, kept until their
/// files change: whoever looks at the text of a failure in an editor asks again and again.
pub struct Totals {
    sums: Kept<PathBuf, Sums>,
    /// By assignment and instruction.
    makers: Kept<(PathBuf, String), bool>,
}

type Kept<K, T> = Mutex<LruCache<K, (Stamp, Option<T>)>>;

/// The length of a file, and when it was written.
type Stamp = (u64, Option<SystemTime>);

impl Default for Totals {
    fn default() -> Self {
        const MOST_KEPT: NonZeroUsize = NonZeroUsize::new(16 * MOST_ADDED_UP).unwrap();
        Self {
            sums: Mutex::new(LruCache::new(MOST_KEPT)),
            makers: Mutex::new(LruCache::new(MOST_KEPT)),
        }
    }
}

impl Totals {
    /// Of the assignment at `path`; none if it is large or broken.
    fn of(&self, path: &Path) -> Option<Sums> {
        kept(&self.sums, path.to_owned(), path, added_up)
    }

    /// Whether the assignment at `path` has a value of this instruction; `false` if it is large or broken.
    fn has(&self, path: &Path, instruction: &str) -> bool {
        let key = (path.to_owned(), instruction.to_owned());
        let is_made_by = |path: &Path| {
            let file = read(path).ok()?;
            let blocks = file.document.blocks();
            let mut names = blocks.flat_map(|(_, block)| {
                let rows = block.rows::<facts::Placement>();
                rows.map(|row| row.value.name.text(block.text()))
            });
            Some(names.any(|name| name == instruction))
        };
        kept(&self.makers, key, path, is_made_by).unwrap_or(false)
    }
}

/// What `read` says of the file at `path`, unless it is large; kept as `key`.
fn kept<K: Hash + Eq, T: Clone>(
    cache: &Kept<K, T>,
    key: K,
    path: &Path,
    read: impl FnOnce(&Path) -> Option<T>,
) -> Option<T> {
    let stamp = length(path).ok()?;
    if let Some((known, said)) = lock(cache).get(&key)
        && *known == stamp
    {
        return said.clone();
    }
    let said = (stamp.0 <= MOST_BYTES).then(|| read(path)).flatten();
    lock(cache).put(key, (stamp, said.clone()));
    said
}

/// Looks beside the text at `path`, which is `document`, and in `dumps/` below for the dump of its
/// program: by the name of the program, which the message says or the operators of the list begin with, else
/// by the name of the text, else by the kernel or the total, or that of the temporaries, that the message says.
pub fn beside(path: &Path, document: &Document, totals: &Totals) -> Beside {
    let folder = path.parent().unwrap_or(Path::new(""));
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    if document.kind() != DocumentKind::OutOfMemory {
        return Beside::None;
    }
    let folders = [folder, &folder.join(BELOW)];
    let found = folders.iter().flat_map(|folder| assignments(folder));
    among(found.collect(), path, document, totals)
}

/// The same among the dumps in `folder` and below.
pub fn within(folder: &Path, path: &Path, document: &Document) -> Beside {
    let (found, _) = find(&[folder.to_owned()]);
    let paths = found.into_iter().flat_map(|found| found.paths);
    among(
        paths.filter(|path| is_assignment(path)).collect(),
        path,
        document,
        &Totals::default(),
    )
}

/// The same among these assignments.
fn among(mut found: Vec<PathBuf>, path: &Path, document: &Document, totals: &Totals) -> Beside {
    found.sort();
    let failures = failures(document);
    let programs = programs(&failures);
    let own = path.file_stem().map(|stem| stem.to_string_lossy());
    let is_called = |path: &&PathBuf| {
        let module = module_name(path);
        module.is_some_and(|module| match (&own, programs.is_empty()) {
            (_, false) => programs.contains(&module),
            (Some(own), true) => module == *own || module.strip_prefix("jit_") == Some(own),
            (None, true) => false,
        })
    };
    let called: Vec<PathBuf> = found.iter().filter(is_called).cloned().collect();
    if let [one] = &called[..] {
        return Beside::One(one.clone());
    }
    let mut candidates = if !called.is_empty() {
        called.clone()
    } else if programs.is_empty() {
        found
    } else {
        let is_there = !found.is_empty();
        // A name may be left out.
        found.retain(|path| module_name(path).is_none());
        if found.is_empty() && is_there {
            return Beside::Other(programs);
        }
        found
    };
    // A compiler that fails may leave an empty file behind.
    if candidates.len() <= MOST_ADDED_UP {
        candidates.retain(|path| head_problem(path).is_none());
    }
    if candidates.is_empty() {
        return Beside::None;
    }
    if let [one] = &with_kernel(&candidates, &failures, totals)[..] {
        return Beside::One(one.clone());
    }
    let fitting: Vec<PathBuf> = candidates
        .iter()
        .take(MOST_ADDED_UP)
        .filter(|path| fits(path, &failures, totals))
        .cloned()
        .collect();
    match (&called[..], &fitting[..]) {
        (_, [one]) => Beside::One(one.clone()),
        (_, [.., last]) if is_repeated(&fitting, totals) => Beside::One(last.clone()),
        ([.., last], []) if is_repeated(&called, totals) => Beside::One(last.clone()),
        (_, []) => Beside::Several(candidates),
        _ => Beside::Several(fitting),
    }
}

fn assignments(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.take(MOST_FILES).map(|entry| {
        // The path as it was given: `./x` is no way to write `x`.
        let path = entry.path();
        path.strip_prefix(".").map(Path::to_owned).unwrap_or(path)
    });
    paths.filter(|path| is_assignment(path)).collect()
}

fn is_assignment(path: &Path) -> bool {
    path.to_string_lossy().ends_with(SUFFIX)
}

/// Those of `paths` that have a value of each kernel that a message names.
fn with_kernel(paths: &[PathBuf], failures: &[Failure], totals: &Totals) -> Vec<PathBuf> {
    let messages = failures.iter().filter_map(|failure| failure.message);
    let kernels: Vec<&str> = messages.filter_map(|message| message.kernel).collect();
    if kernels.is_empty() {
        return Vec::new();
    }
    let has_all = |path: &&PathBuf| kernels.iter().all(|kernel| totals.has(path, kernel));
    let paths = paths.iter().take(MOST_ADDED_UP);
    paths.filter(has_all).cloned().collect()
}

/// The programs that messages name, or that the listed operators are of: `jit_f` of `jit(f)/add`.
fn programs(failures: &[Failure]) -> Vec<String> {
    let messages = failures.iter().filter_map(|failure| failure.message);
    let said = messages.filter_map(|message| message.module.map(str::to_owned));
    let entries = failures.iter().flat_map(|failure| &failure.entries);
    let names = entries.filter_map(|entry| {
        let first = entry.op_name.as_deref()?.split('/').next()?;
        let called = first.strip_suffix(')')?.replacen('(', "_", 1);
        // As compilers write it into the names of files.
        let is_kept = |char: char| char.is_ascii_alphanumeric() || "_.-".contains(char);
        Some(called.replace(|char| !is_kept(char), "_"))
    });
    let mut names: Vec<String> = names.chain(said).collect();
    names.sort();
    names.dedup();
    names
}

/// Whether all are of one program and take the same bytes: it was compiled again and failed again.
fn is_repeated(paths: &[PathBuf], totals: &Totals) -> bool {
    let about = |path: &PathBuf| Some((module_name(path)?, totals.of(path)?));
    let mut all = paths.iter().take(MOST_ADDED_UP).map(about);
    let first = all.next().flatten();
    first.is_some() && all.all(|other| other == first)
}

fn added_up(path: &Path) -> Option<Sums> {
    let file = read(path).ok()?;
    let mut sums = Sums::default();
    for (_, block) in file.document.blocks() {
        for (_, row) in block.facts().rows() {
            match row {
                brief::Row::Allocation(it) if it.color == 0 && !it.kinds.thread_local => {
                    sums.total = sums.total.saturating_add(it.size);
                    let stays = it.kinds.constant || it.kinds.maybe_live_out;
                    if !stays && it.parameter.is_none() {
                        sums.temp = sums.temp.saturating_add(it.size);
                    }
                }
                // Of values: those that kernels have for themselves no message calls too large.
                brief::Row::Placement(it)
                    if matches!(it.value.color.unwrap_or(0).into(), 0 | space::HOST) =>
                {
                    sums.largest.insert(it.size);
                    if sums.largest.len() > MOST_SIZES {
                        sums.largest.pop_first();
                    }
                }
                _ => {}
            }
        }
    }
    Some(sums)
}

/// Whether the allocations of memory space 0 add up to what a message says of it, or one of the largest values is the
/// one that a message says is too large.
fn fits(path: &Path, failures: &[Failure], totals: &Totals) -> bool {
    let messages = failures.iter().filter_map(|failure| failure.message);
    let sizes: Vec<_> = messages
        .filter(|message| match message.form {
            Form::Used | Form::Total => message.space.is_none_or(is_main_memory),
            Form::Allocation => message.space.is_some_and(failure::holds_values),
            Form::Scoped | Form::Request | Form::Rematerialization => false,
        })
        .filter_map(|message| Some((message.form, message.wanted?)))
        .collect();
    let Some(sums) = (!sizes.is_empty()).then(|| totals.of(path)).flatten() else {
        return false;
    };
    sizes.iter().any(|(form, size)| match form {
        Form::Allocation => sums.largest.iter().any(|&bytes| size.is_of(bytes)),
        Form::Used => size.is_of(sums.total) || (sums.temp > 0 && size.is_of(sums.temp)),
        _ => size.is_of(sums.total),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_its_name_else_by_its_total() {
        let folder = tempfile::tempdir().expect("a folder");
        let below = folder.path().join("dumps");
        fs::create_dir(&below).expect("a folder");
        let dump = |module: &str, size: u64| {
            let path = below.join(format!("module_0001.{module}.after_optimizations{SUFFIX}"));
            let text = format!("BufferAssignment:\nallocation 0: size {size}, constant:\n");
            fs::write(&path, text).expect("a file");
            path
        };
        let (f, g, h) = (
            dump("jit_f", 2048),
            dump("jit_g", 4096),
            dump("jit_h", 2048),
        );
        let totals = Totals::default();
        let find = |name: &str, text: &str| {
            let document = Document::new(text).expect("a small text");
            beside(&folder.path().join(name), &document, &totals)
        };
        let short = "Ran out of memory on HBM, the total memory required for HLO temporaries";
        let long = "Largest program allocations in hbm:\n  1. Size: 4B\n     Operator: op_name";
        assert_eq!(
            find("g.txt", &format!("{short} (9.0K)")),
            Beside::One(g.clone())
        );
        assert_eq!(
            find("error.txt", &format!("{short} (4.0K)")),
            Beside::One(g.clone())
        );
        assert_eq!(
            find("error.txt", &format!("{short} (2.0K)")),
            Beside::Several(vec![f.clone(), h.clone()]),
            "two have the total"
        );
        assert_eq!(
            find("error.txt", &format!("{short} (8.0K)")),
            Beside::Several(vec![f.clone(), g.clone(), h.clone()]),
            "none has it"
        );
        let used = "Ran out of memory in memory space hbm. Used";
        assert_eq!(
            find("error.txt", &format!("{used} 4.0K of 1.0K hbm.")),
            Beside::One(g.clone())
        );
        let value = " value: <0 a @0> (size=6144,offset=0): f32[1536]\n";
        let own = dump("jit_own", 6144);
        let text = fs::read_to_string(&own).expect("a text");
        fs::write(&own, format!("{text}{value}")).expect("a file");
        let large =
            "Allocation (size=6144) would exceed memory (size=4096) :: #allocation1 [space=hbm]";
        assert_eq!(find("error.txt", large), Beside::One(own.clone()));
        fs::remove_file(&own).expect("the file");
        let other = "Ran out of memory in memory space vmem. Used";
        assert!(matches!(
            find("error.txt", &format!("{other} 4.0K of 1.0K vmem.")),
            Beside::Several(_)
        ));
        assert_eq!(
            find("g.txt", &format!("{long}=\"jit(f)/add\"")),
            Beside::One(f.clone())
        );
        assert_eq!(
            find("g.txt", &format!("{long}=\"jit(k)/add\"")),
            Beside::Other(vec!["jit_k".to_owned()])
        );
        let named = |program: &str| {
            format!("{short} (9.0K) exceeds available HBM (1.0K). HLO module: {program}.")
        };
        assert_eq!(find("h.txt", &named("jit_g")), Beside::One(g.clone()));
        assert_eq!(
            find("g.txt", &format!("{}\\nSee", named("jit_k"))),
            Beside::Other(vec!["jit_k".to_owned()])
        );
        let kernel = "Allocation (size=64) would exceed memory (size=32) :: #allocation2 [space=vmem, tag = 'a'] :: ";
        let with = |name: &str| format!("{kernel}{name}");
        for (path, name) in [(&f, "a.1"), (&g, "k.1"), (&h, "a.1")] {
            let value = format!(" value: <0 {name} @0> (size=4,offset=0): f32[1]\n");
            let text = fs::read_to_string(path).expect("a text");
            fs::write(path, format!("{text}{value}")).expect("a file");
        }
        assert_eq!(find("error.txt", &with("k.1")), Beside::One(g));
        for name in ["a.1", "b.1"] {
            let found = find("error.txt", &with(name));
            assert!(matches!(found, Beside::Several(_)), "{name}: {found:?}");
        }
        let odd = dump("jit__lambda_", 512);
        assert_eq!(
            find("g.txt", &format!("{long}=\"jit(<lambda>)/add\"")),
            Beside::One(odd)
        );
        let nameless = below.join(format!("mine{SUFFIX}"));
        fs::write(&nameless, "BufferAssignment:\n").expect("a file");
        assert_eq!(
            find("g.txt", &format!("{long}=\"jit(k)/add\"")),
            Beside::Several(vec![nameless.clone()])
        );
        fs::write(below.join(format!("yours{SUFFIX}")), "").expect("a file");
        assert_eq!(
            find("g.txt", &format!("{long}=\"jit(k)/add\"")),
            Beside::Several(vec![nameless])
        );
        assert_eq!(find("g.txt", "no failure"), Beside::None);
    }
}
