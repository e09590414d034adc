//! Which files belong together, and open buffers over files on disk.
//!
//! Nothing here knows the editor's protocol; the command line reads dumps through [`load`], the
//! language server through a [`Workspace`].

mod ahead;
mod beside;
mod buffer;
mod cache;
mod compilation;
mod find;
mod index;
mod load;
mod names;
mod on_disk;
mod patterns;
mod unread;

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use buflens_syntax::{Document, Encoding};
use rustc_hash::FxHashMap;

pub use ahead::read_text;
pub use beside::{Beside, Totals, beside, within};
pub use buffer::{Buffer, Change, Edition, Unavailable};
pub use compilation::{PARTS, has_part, problems, program_name};
pub use find::{Found, find, find_while, head_problem, is_part, is_readable};
pub use index::{DumpHit, Hit, Index, Record, SpaceRecord};
pub use load::{LoadError, Loaded, Note, ReadError, load, read};
pub use names::{
    SUFFIXES, Sibling, is_piped, module_name, name_in_every_run, part_of_suffix, program_path,
    siblings, stem, stem_or_path,
};
pub use unread::unread;

use cache::{Cache, Source};

/// The documents that an editor has open, over what lies on disk.
///
/// Its methods only move things about: they are called under a lock that all requests share.
/// Whatever takes time is done by a [`Snapshot`], later and elsewhere.
#[derive(Debug)]
pub struct Workspace {
    encoding: Encoding,
    buffers: FxHashMap<PathBuf, Arc<Buffer>>,
    cache: Arc<Cache>,
}

impl Workspace {
    /// A workspace with no open document. `ready` is called, on a thread of its own, with the path
    /// of each large file that has been read in the background.
    pub fn new(ready: impl Fn(&Path) + Send + Sync + 'static) -> Self {
        Self {
            encoding: Encoding::default(),
            buffers: FxHashMap::default(),
            cache: Arc::new(Cache::new(ready)),
        }
    }

    /// Sets what columns count. To be called before any document is opened.
    pub fn set_encoding(&mut self, encoding: Encoding) {
        self.encoding = encoding;
    }

    /// Opens a document, or replaces it if it is open. Gives what was held of it so far, which takes long to drop.
    pub fn open(
        &mut self,
        path: PathBuf,
        name: String,
        version: i32,
        text: String,
    ) -> Option<impl Send + use<>> {
        let held = (self.close(&path), self.cache.forget_text(&path));
        self.cache.keep(&siblings_of(&path));
        let buffer = Buffer::new(name, self.encoding, version, text);
        self.buffers.insert(path, Arc::new(buffer));
        (held.0.is_some() || held.1.is_some()).then_some(held)
    }

    /// Changes an open document. Tells whether it is open.
    pub fn change(&mut self, path: &Path, version: i32, changes: Vec<Change>) -> bool {
        let buffer = self.buffers.get(path);
        if let Some(buffer) = buffer {
            buffer.change(version, changes);
        }
        buffer.is_some()
    }

    /// Closes a document, and forgets what was read for its sake alone. Gives what was held of it, which
    /// takes long to drop.
    pub fn close(&mut self, path: &Path) -> Option<impl Send + use<>> {
        let buffer = self.buffers.remove(path)?;
        buffer.close();
        let siblings = siblings_of(path);
        let is_last = !siblings.iter().any(|path| self.buffers.contains_key(path));
        Some((buffer, is_last.then(|| self.cache.forget(&siblings))))
    }

    /// The open document at `path`.
    pub fn buffer(&self, path: &Path) -> Option<&Arc<Buffer>> {
        self.buffers.get(path)
    }

    /// The paths of all open documents.
    pub fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.buffers.keys()
    }

    /// What there is at this moment of the dump that the file at `path` belongs to.
    pub fn snapshot(&self, path: &Path) -> Snapshot {
        let open = self.buffers.iter().map(|(path, buffer)| {
            let now = (Arc::clone(buffer), buffer.edition());
            (path.clone(), now)
        });
        let open = open.collect();
        Snapshot {
            path: path.to_owned(),
            files: sources(path, &open),
            open,
            cache: Arc::clone(&self.cache),
        }
    }
}

/// Open documents and their editions at one moment.
type Open = FxHashMap<PathBuf, (Arc<Buffer>, Edition)>;

/// The files of the dump of `path`, with the documents that are open.
fn sources(path: &Path, open: &Open) -> Vec<Source> {
    let files = siblings(path).into_iter();
    let files = files.map(|Sibling { path, part }| Source {
        buffer: open.get(&path).cloned(),
        path,
        part,
    });
    files.collect()
}

/// A dump at one moment: what is needed to answer a request about it, not yet read.
#[derive(Debug)]
pub struct Snapshot {
    /// The file asked for.
    pub path: PathBuf,
    files: Vec<Source>,
    /// All open documents: the text of a failure has another dump along.
    open: Open,
    cache: Arc<Cache>,
}

impl Snapshot {
    /// The open document at `path`, and its edition at the moment of the snapshot.
    pub fn buffer(&self, path: &Path) -> Option<&(Arc<Buffer>, Edition)> {
        self.open.get(path)
    }

    /// Whether some file of the dump is open.
    pub fn is_open(&self) -> bool {
        self.files.iter().any(|file| file.buffer.is_some())
    }

    /// The text of the file asked for, if it is open.
    pub fn document(&self) -> Result<Document, Unavailable> {
        let (buffer, edition) = self.buffer(&self.path).ok_or(Unavailable::Absent)?;
        buffer.document(edition.revision)
    }

    /// The whole dump. Reads what has changed since it was read last.
    pub fn load(&self) -> Result<Loaded, Unavailable> {
        let more = self.beside();
        let loaded = self.cache.load(&self.path, self.files.iter().chain(&more));
        for files in [&self.files, &more] {
            // What is closed by now has been forgotten before this was read.
            let mut open = files.iter().filter_map(|file| file.buffer.as_ref());
            if open.all(|(buffer, _)| buffer.is_closed()) {
                self.cache.let_go(files);
            }
        }
        loaded
    }

    /// The paths of the files that [`Self::load`] would join, which costs nothing where they have been read.
    pub fn members(&self) -> Result<Vec<PathBuf>, Unavailable> {
        let more = self.beside();
        let sources = self.files.iter().chain(&more);
        let members = self.cache.members(&self.path, sources)?;
        Ok(members.files.into_iter().map(|file| file.path).collect())
    }

    /// The files of the dump of the program that failed.
    fn beside(&self) -> Vec<Source> {
        let beside = |text: Document| beside(&self.path, &text, &self.cache.totals);
        let failed = self.document().ok().filter(|_| self.path.is_absolute());
        match failed.map(beside) {
            Some(Beside::One(assignment)) => sources(&assignment, &self.open),
            _ => Vec::new(),
        }
    }
}

/// The paths of all files of the dump that the file at `path` belongs to.
fn siblings_of(path: &Path) -> Vec<PathBuf> {
    let siblings = siblings(path).into_iter();
    siblings.map(|sibling| sibling.path).collect()
}

/// An absolute path without `.` and `..`, so that one file has one key. Links are not followed:
/// an editor may show a file under either name.
pub fn normalized(path: &Path) -> PathBuf {
    let mut normalized = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normalized.pop();
            }
            // Drive letters come in either case.
            Component::Prefix(prefix) => normalized.push(prefix.as_os_str().to_ascii_uppercase()),
            other => normalized.push(other),
        }
    }
    normalized
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Part;

    const ASSIGNMENT: &str = "BufferAssignment:\nallocation 0: size 4, thread-local:\n value: <0 a @0> (size=4,offset=0): f32[]\n\n";
    const RANGES: &str =
        "HloLiveRange (max 1):\n  InstructionSequence:\n    0:a\n  BufferLiveRange:\n    a{}:0-1\n";

    struct Fixture {
        folder: tempfile::TempDir,
        workspace: Workspace,
    }

    impl Fixture {
        fn new() -> Self {
            Self {
                folder: tempfile::tempdir().expect("a folder"),
                workspace: Workspace::new(|_| ()),
            }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn write(&self, name: &str, text: &str) -> PathBuf {
            std::fs::write(self.path(name), text).expect("a file");
            self.path(name)
        }

        fn open(&mut self, name: &str, text: &str) -> PathBuf {
            let path = self.path(name);
            self.workspace
                .open(path.clone(), name.to_owned(), 1, text.to_owned());
            path
        }

        fn parts(&self, path: &Path) -> Vec<Part> {
            let loaded = self.workspace.snapshot(path).load().expect("a dump");
            loaded
                .dump
                .files
                .iter()
                .map(|file| Part::from(file.document.kind()))
                .collect()
        }
    }

    #[test]
    fn a_buffer_wins_over_its_file_and_closing_it_shows_the_file_again() {
        let mut fixture = Fixture::new();
        fixture.write("m-buffer-assignment.txt", "no dump");
        let ranges = fixture.open("m-live-range.txt", RANGES);
        assert_eq!(
            fixture.parts(&ranges),
            [Part::LiveRange],
            "the file on disk is no assignment"
        );
        let assignment = fixture.open("m-buffer-assignment.txt", ASSIGNMENT);
        assert_eq!(fixture.parts(&ranges), [Part::Assignment, Part::LiveRange]);
        fixture.workspace.close(&assignment);
        assert_eq!(fixture.parts(&ranges), [Part::LiveRange]);
    }

    #[test]
    fn the_dump_beside_the_text_of_a_failure_is_the_open_one() {
        let mut fixture = Fixture::new();
        let name = "module_0001.jit_f.x-buffer-assignment.txt";
        fixture.write(name, ASSIGNMENT);
        let text = "Ran out of memory on HBM, the total memory required for HLO temporaries (4B)\n";
        let failed = fixture.open("f.txt", text);
        let values = |fixture: &Fixture| {
            let loaded = fixture.workspace.snapshot(&failed).load().expect("a dump");
            loaded.dump.values.len()
        };
        assert_eq!(values(&fixture), 1);
        let more =
            "allocation 1: size 4, thread-local:\n value: <1 b @0> (size=4,offset=0): f32[]\n";
        let open = fixture.open(name, &format!("{ASSIGNMENT}{more}"));
        assert_eq!(values(&fixture), 2);
        fixture.workspace.close(&open);
        assert_eq!(values(&fixture), 1);
    }

    #[test]
    fn a_dump_is_joined_again_only_when_a_file_changed() {
        let mut fixture = Fixture::new();
        let path = fixture.open("m-buffer-assignment.txt", ASSIGNMENT);
        let load = |fixture: &Fixture| {
            fixture
                .workspace
                .snapshot(&path)
                .load()
                .expect("a dump")
                .dump
        };
        let first = load(&fixture);
        assert!(Arc::ptr_eq(&first, &load(&fixture)));
        fixture.write("m-live-range.txt", RANGES);
        let second = load(&fixture);
        assert!(!Arc::ptr_eq(&first, &second));
        assert_eq!(second.files.len(), 2);
        fixture.workspace.change(
            &path,
            2,
            vec![Change {
                range: None,
                text: ASSIGNMENT.to_owned(),
            }],
        );
        assert!(!Arc::ptr_eq(&second, &load(&fixture)));
    }

    #[test]
    fn a_snapshot_of_an_older_text_is_outdated() {
        let mut fixture = Fixture::new();
        let path = fixture.open("m-buffer-assignment.txt", ASSIGNMENT);
        let old = fixture.workspace.snapshot(&path);
        fixture.workspace.change(
            &path,
            2,
            vec![Change {
                range: None,
                text: "x".to_owned(),
            }],
        );
        assert_eq!(old.load().err(), Some(Unavailable::Outdated));
        assert_eq!(old.document().err(), Some(Unavailable::Outdated));
        assert_eq!(
            fixture
                .workspace
                .snapshot(&path)
                .document()
                .expect("the text")
                .text(),
            "x"
        );
    }

    #[test]
    fn an_unsaved_buffer_is_a_dump_of_its_own() {
        let mut workspace = Workspace::new(|_| ());
        let path = PathBuf::from("untitled:Untitled-1");
        workspace.open(
            path.clone(),
            "untitled:Untitled-1".to_owned(),
            1,
            ASSIGNMENT.to_owned(),
        );
        let loaded = workspace.snapshot(&path).load().expect("a dump");
        assert_eq!(
            (
                loaded.dump.files.len(),
                loaded.dump.values.len(),
                loaded.file
            ),
            (1, 1, 0)
        );
    }

    #[test]
    fn paths_are_normalized() {
        assert_eq!(
            normalized(Path::new("/a/./b/../c.txt")),
            Path::new("/a/c.txt")
        );
        assert_eq!(normalized(Path::new("/../c.txt")), Path::new("/c.txt"));
    }
}
