//! Which dumps are at and below some paths.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::hash::{Hash, Hasher};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ignore::{WalkBuilder, WalkState};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use super::load::{LoadError, Loaded, Note, load};
use super::names::{is_piped, part_of_head, part_of_name, part_of_suffix, stem_or_path};
use super::patterns::{Programs, begun_with};
use super::unread::is_compressed;
use crate::model::Part;
use crate::model::cancel::lock;

/// So many bytes of a file are looked at to see whether it is part of a dump.
const HEAD: u64 = 4096;

/// Files whose names say that they belong to one dump.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// Those that were met, in their order; at least one.
    pub paths: Vec<PathBuf>,
    /// Their bytes.
    pub bytes: u64,
    /// Another number as soon as a file comes, goes or changes.
    pub stamp: u64,
    /// Whether there is more than HLO texts, which alone say nothing about memory.
    pub is_compilation: bool,
    /// Whether one of them was named, and not met in a folder.
    pub is_named: bool,
}

impl Found {
    /// The path that its files have in common.
    pub fn stem(&self) -> PathBuf {
        let path = self.paths.first().map_or(Path::new(""), PathBuf::as_path);
        stem_or_path(path)
    }

    /// Reads the dump that the files are parts of. A file among them that is none, since it was
    /// renamed or is no dump at all, is a dump of its own.
    pub fn load<T>(&self, work: &impl Fn(Loaded) -> T) -> Vec<Result<T, LoadError>> {
        let (mut names, mut done, mut failed): (FxHashSet<OsString>, _, Vec<LoadError>) =
            (FxHashSet::default(), Vec::new(), Vec::new());
        let is_among = |names: &FxHashSet<OsString>, path: &Path| {
            path.file_name().is_some_and(|name| names.contains(name))
        };
        for path in &self.paths {
            if is_among(&names, path) {
                continue;
            }
            match load(path) {
                Ok(loaded) => {
                    let files = loaded.dump.files.iter().map(|file| &file.path);
                    let left_out = loaded.notes.iter().filter_map(Note::left_out);
                    let paths = files.chain(left_out);
                    names.extend(paths.filter_map(|it| it.file_name().map(ToOwned::to_owned)));
                    done.push(Ok(work(loaded)));
                }
                Err(error) => failed.push(error),
            }
        }
        // The notes of a dump tell of what it has to do without.
        failed.retain(|error| !is_among(&names, &error.path));
        done.extend(failed.into_iter().map(Err));
        done
    }
}

/// A file that is part of a dump, or was named.
#[derive(Debug)]
struct Member {
    path: PathBuf,
    bytes: u64,
    stamp: u64,
    part: Part,
    /// Whether it was named, and not met in a folder.
    is_named: bool,
    /// Whether it was read and is no part of a dump, nor would be one if it were unpacked.
    is_foreign: bool,
}

impl Member {
    fn new(path: &Path, metadata: &Metadata, part: Part) -> Self {
        let mut hasher = FxHasher::default();
        (path.file_name(), metadata.len(), metadata.modified().ok()).hash(&mut hasher);
        Self {
            path: path.to_owned(),
            bytes: metadata.len(),
            stamp: hasher.finish(),
            part,
            is_named: false,
            is_foreign: false,
        }
    }

    /// What is piped in.
    fn piped(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            bytes: 0,
            stamp: 0,
            part: Part::None,
            is_named: true,
            is_foreign: false,
        }
    }

    /// A file that somebody named. It is read whatever it is, and checking says if it is no dump.
    fn named(path: &Path, metadata: &Metadata) -> Self {
        // A pipe has no head that could be read twice.
        let part = metadata.is_file().then(|| part_at(path).ok()).flatten();
        Self {
            is_named: true,
            is_foreign: part == Some(Part::None) && !is_compressed(path),
            ..Self::new(path, metadata, part.unwrap_or(Part::None))
        }
    }
}

/// What cannot be read.
#[derive(Debug)]
struct Unread {
    path: PathBuf,
    /// Why, with the path.
    problem: String,
}

impl Unread {
    fn new(path: &Path, error: &io::Error) -> Self {
        Self {
            path: path.to_owned(),
            problem: format!("{}: {error}", path.display()),
        }
    }

    /// A link that leads in a circle or nowhere hides nothing; a folder that cannot be opened does. `folder` is walked.
    fn met(error: &ignore::Error, folder: &Path) -> Option<Self> {
        let (mut path, mut cause) = (folder, error);
        while let ignore::Error::WithDepth { err, .. } | ignore::Error::WithPath { err, .. } = cause
        {
            if let ignore::Error::WithPath { path: at, .. } = cause {
                path = at;
            }
            cause = err;
        }
        let is_nowhere = error
            .io_error()
            .is_some_and(|error| error.kind() == io::ErrorKind::NotFound);
        let is_loop = matches!(cause, ignore::Error::Loop { .. });
        (!is_loop && !is_nowhere).then(|| Self {
            path: path.to_owned(),
            problem: error.to_string(),
        })
    }
}

/// Leaves out what compilers write beside dumps, such as flags and metrics, of the programs whose dumps are among
/// `members`: the pattern `module_0001*` names all of it.
fn leave_out_companions(members: &mut Vec<Member>) {
    if members.iter().any(|member| member.is_foreign) {
        let dumps = members.iter().filter(|member| member.part != Part::None);
        let programs = Programs::of(dumps.map(|member| &*member.path));
        members.retain(|member| !member.is_foreign || !programs.have(&member.path));
    }
}

/// The dumps at and below `paths`, as people name them, each once, in the order of their paths; and what could not be
/// read, with the reason. A path that is none, or a folder without dumps, stands for the files whose names begin with it.
pub fn find(paths: &[PathBuf]) -> (Vec<Found>, Vec<String>) {
    let (mut members, mut unread) = (Vec::new(), Vec::new());
    for path in paths {
        if is_piped(path) {
            members.push(Member::piped(path));
            continue;
        }
        let before = members.len();
        let told = unread.len();
        meet(path, &|| true, &mut members, &mut unread);
        if members.len() > before {
            continue;
        }
        let begun = begun_with(path);
        if !begun.is_empty() && !path.exists() {
            unread.truncate(told);
        }
        for path in begun {
            meet(&path, &|| true, &mut members, &mut unread);
        }
        // Other things beside a folder may have such names.
        let mut met = members[before..].iter();
        if path.is_dir() && met.all(|member| member.part == Part::None) {
            members.truncate(before);
        }
    }
    grouped(members, unread)
}

/// The dumps at and below `paths`, as far as they are found while `goes_on`, which is asked at every file and folder.
pub fn find_while(
    paths: &[PathBuf],
    goes_on: &(dyn Fn() -> bool + Sync),
) -> (Vec<Found>, Vec<String>) {
    let (mut members, mut unread) = (Vec::new(), Vec::new());
    for path in paths {
        meet(path, goes_on, &mut members, &mut unread);
    }
    grouped(members, unread)
}

/// Collects the file at `path`, or what is recognised below the folder there.
fn meet(
    path: &Path,
    goes_on: &(dyn Fn() -> bool + Sync),
    members: &mut Vec<Member>,
    unread: &mut Vec<Unread>,
) {
    match path.metadata() {
        Ok(metadata) if metadata.is_dir() => walk(path, goes_on, members, unread),
        Ok(metadata) => members.push(Member::named(path, &metadata)),
        Err(error) => unread.push(Unread::new(path, &error)),
    }
}

/// The dumps that `members` are files of, and the problems, in order. What is unread and lies beside files of a dump is
/// among these: the reading of the dump tells of it.
fn grouped(mut members: Vec<Member>, unread: Vec<Unread>) -> (Vec<Found>, Vec<String>) {
    leave_out_companions(&mut members);
    members.sort_by(|one, other| one.path.cmp(&other.path));
    let mut dumps: BTreeMap<PathBuf, Found> = BTreeMap::new();
    let mut folders = FxHashMap::default();
    for member in members {
        let found = dumps.entry(key(&member.path, &mut folders)).or_default();
        if found
            .paths
            .iter()
            .all(|known| known.file_name() != member.path.file_name())
        {
            found.paths.push(member.path);
            found.bytes += member.bytes;
            // In any order, as paths may be.
            found.stamp = found.stamp.wrapping_add(member.stamp);
            found.is_compilation |= member.part != Part::Module;
        }
        found.is_named |= member.is_named;
    }
    let mut problems = Vec::new();
    for Unread { path, problem } in unread {
        let is_there = path.symlink_metadata().is_ok();
        let part = part_of_suffix(&path).filter(|_| is_there);
        let found = dumps.get_mut(&key(&path, &mut folders));
        if let (Some(part), Some(found)) = (part, found) {
            found.is_compilation |= part != Part::Module;
            found.paths.push(path);
        } else {
            problems.push(problem);
        }
    }
    let mut dumps: Vec<Found> = dumps.into_values().collect();
    dumps.sort();
    problems.sort();
    (dumps, problems)
}

/// Collects the files below `folder` that are recognised as parts of dumps.
fn walk(
    folder: &Path,
    goes_on: &(dyn Fn() -> bool + Sync),
    members: &mut Vec<Member>,
    unread: &mut Vec<Unread>,
) {
    let found = Mutex::new((members, unread));
    // Dumps often lie in folders that a `.gitignore` names, so such rules are off.
    let walker = WalkBuilder::new(folder)
        .standard_filters(false)
        .follow_links(true)
        .build_parallel();
    walker.run(|| {
        Box::new(|entry| {
            if !goes_on() {
                return WalkState::Quit;
            }
            let (member, unread) = match entry {
                Ok(entry) => judge(&entry),
                Err(error) => (None, Unread::met(&error, folder)),
            };
            if member.is_some() || unread.is_some() {
                let mut found = lock(&found);
                found.0.extend(member);
                found.1.extend(unread);
            }
            WalkState::Continue
        })
    });
}

/// The file at `entry` if it is part of a dump, or why that cannot be told.
fn judge(entry: &ignore::DirEntry) -> (Option<Member>, Option<Unread>) {
    // Reading a named pipe would wait for somebody to write.
    if !entry.file_type().is_some_and(|kind| kind.is_file()) {
        return (None, None);
    }
    let path = entry.path();
    // Documents and programs quote dumps. HLO text that people keep has a suffix of its own.
    let is_text = |extension: &OsStr| extension == "txt" || extension == "hlo";
    if !path.extension().is_some_and(is_text) {
        return (None, None);
    }
    let member = part_at(path).and_then(|part| match part {
        Part::None => Ok(None),
        part => Ok(Some(Member::new(path, &path.metadata()?, part))),
    });
    match member {
        Ok(member) => (member, None),
        Err(error) => (None, Some(Unread::new(path, &error))),
    }
}

/// Whether the file is part of a dump; no if it cannot be read.
pub fn is_part(path: &Path) -> bool {
    part_at(path).is_ok_and(|part| part != Part::None)
}

/// Which part of a dump the file is, by its name or else by its first lines.
fn part_at(path: &Path) -> io::Result<Part> {
    part_of_name(path).map_or_else(|| part_at_head(path), Ok)
}

fn part_at_head(path: &Path) -> io::Result<Part> {
    let mut head = Vec::new();
    File::open(path)?.take(HEAD).read_to_end(&mut head)?;
    Ok(part_of_head(&head))
}

/// Whether the file can be opened. A pipe is not tried: that would wait for somebody to write.
pub fn is_readable(path: &Path) -> bool {
    path.is_file() && File::open(path).is_ok()
}

/// Why the file is no part of a dump, by its first lines, without all of it being read.
pub fn head_problem(path: &Path) -> Option<String> {
    match part_at_head(path) {
        Ok(Part::None) => Some(format!("{}: it does not begin as a dump", path.display())),
        Ok(_) => None,
        Err(error) => Some(format!("{}: {error}", path.display())),
    }
}

/// What all files of a dump have in common: their folder and the stem of their names. `folders`
/// keeps what was asked of the system.
fn key(path: &Path, folders: &mut FxHashMap<PathBuf, PathBuf>) -> PathBuf {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let real = folders
        .entry(folder.to_owned())
        .or_insert_with_key(|folder| folder.canonicalize().unwrap_or_else(|_| folder.clone()));
    let stem = stem_or_path(path);
    real.join(stem.file_name().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn names(found: &[Found]) -> Vec<Vec<String>> {
        let name = |path: &PathBuf| {
            path.file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        };
        found
            .iter()
            .map(|it| it.paths.iter().map(name).collect())
            .collect()
    }

    #[test]
    fn a_pattern_names_what_compilers_write_beside_a_dump() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str| {
            let path = folder.path().join(name);
            fs::write(&path, "").expect("a file");
            path
        };
        let assignment =
            write("17.module_0001.jit_f.cl_8.after_optimizations-buffer-assignment.txt");
        let flags = write("17.module_0001.jit_f.cl_8.flagfile");
        let of_another = write("17.module_0001.jit_f_1.cl_8.flagfile");
        let (renamed, log) = (write("mine-live-range.txt"), write("mine.log"));
        fs::write(&renamed, "BufferAssignment:\n").expect("a file");
        let found = |paths: &[&PathBuf]| {
            let paths: Vec<PathBuf> = paths.iter().map(|&path| path.clone()).collect();
            let found = find(&paths).0.into_iter();
            found.flat_map(|it| it.paths).collect::<Vec<_>>()
        };
        assert_eq!(
            found(&[&assignment, &flags]),
            std::slice::from_ref(&assignment)
        );
        assert_eq!(
            found(&[&flags]),
            std::slice::from_ref(&flags),
            "whatever is named alone is read"
        );
        let both = [assignment.clone(), of_another.clone()];
        assert_eq!(found(&[&assignment, &flags, &of_another]), both);
        assert_eq!(found(&[&renamed, &log]), [renamed.clone(), log.clone()]);

        let packed = write("17.module_0001.jit_f.cl_8.after_optimizations-live-range.txt.gz");
        let with_packed = [assignment.clone(), packed.clone()];
        assert_eq!(found(&[&assignment, &packed]), with_packed, "it is missed");
        fs::remove_file(packed).expect("it is there");

        // What no shell has expanded, or has completed only so far, and the folder that compilers make.
        fs::create_dir(folder.path().join("17.module_0001.jit_f.cl_8")).expect("a folder");
        fs::remove_file(of_another).expect("it is there");
        for name in [
            "17.module_0001",
            "17.module_0001.jit_f.*",
            "17.mod*",
            "17.module_0001.jit_f",
            "17.module_0001.jit_f.cl_8",
            "17.module_0001.jit_f.cl_8.",
            "17.module_0001.jit_f.cl_8.after_optimizations-",
            "17.module_0001.jit_f.cl_8.after_optimizations",
        ] {
            assert_eq!(
                found(&[&folder.path().join(name)]),
                std::slice::from_ref(&assignment),
                "{name}"
            );
        }
        // What lies beside an empty folder is not meant by it.
        fs::create_dir(folder.path().join("notes")).expect("a folder");
        write("notes.txt");
        assert_eq!(found(&[&folder.path().join("notes")]), [] as [PathBuf; 0]);
        for name in ["17.module_00", "17.module_0001.jit"] {
            let (found, problems) = find(&[folder.path().join(name)]);
            assert_eq!((found.len(), problems.len()), (0, 1), "{name}");
        }
    }

    #[test]
    fn files_of_one_dump_are_found_together_and_circles_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            fs::write(folder.path().join(name), text).expect("a file");
        };
        write("module_0001.f.x-live-range.txt", "");
        write("module_0001.f.x-buffer-assignment.txt", "");
        write("module_0001.f.before_optimizations.txt", "HloModule f\n");
        write("renamed.txt", "BufferAssignment:\n");
        write("notes.txt", "notes\n");
        write("kept.hlo", "HloModule kept\n");
        write("quoted.md", "HloModule quoted\n");
        #[cfg(unix)]
        std::os::unix::fs::symlink(folder.path(), folder.path().join("again")).expect("a link");
        let (found, problems) = find(&[folder.path().to_owned()]);
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(
            names(&found),
            [
                vec!["kept.hlo"],
                vec!["module_0001.f.before_optimizations.txt"],
                vec![
                    "module_0001.f.x-buffer-assignment.txt",
                    "module_0001.f.x-live-range.txt"
                ],
                vec!["renamed.txt"],
            ]
        );
        let are: Vec<bool> = found.iter().map(|it| it.is_compilation).collect();
        assert_eq!(are, [false, false, true, true]);
        let before = found[3].stamp;
        write(
            "renamed.txt",
            "BufferAssignment:\nallocation 0: size 4, constant:\n",
        );
        let (found, _) = find(&[folder.path().to_owned()]);
        assert_ne!(found[3].stamp, before);
        let (found, _) = find_while(&[folder.path().to_owned()], &|| false);
        assert_eq!(found, []);
    }
}
