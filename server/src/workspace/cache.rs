//! What was read from disk and joined, kept until a file changes.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

use lru::LruCache;
use rustc_hash::FxHashMap;

use super::beside::Totals;
use super::buffer::{Buffer, Edition, Unavailable};
use super::load::{Loaded, Note, belonging, is_missing, length, read};
use crate::model::cancel::{Guard, Token, lock, on_few_threads, run};
use crate::model::{Dump, File, Numbering, Part, read_facts};

/// A sibling up to this many bytes is read before an answer is given; a larger one is read in the
/// background, and answers do without it until then. Values files of 1 GB have been seen beside an
/// assignment of 8 MB. (Tests make do with less.)
const AT_ONCE: u64 = if cfg!(test) { 1 << 16 } else { 64 << 20 };

/// So many dumps are kept of which no file is open: nobody will close them.
const MOST_CLOSED: NonZeroUsize = NonZeroUsize::new(2).unwrap();

/// A file that may be part of a dump.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) part: Part,
    pub(super) buffer: Option<(Arc<Buffer>, Edition)>,
}

/// Tells one content of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stamp {
    Buffer(u64),
    Disk(u64, Option<SystemTime>),
}

/// The outcome of reading a file; empty while it is read.
type Reading = Arc<OnceLock<Result<File, String>>>;

/// A file that was read, or is being read.
struct Kept {
    stamp: Stamp,
    reading: Reading,
    /// A large file is read no further when this goes.
    _wanted: Guard,
}

/// The dump of some files, all in the state that the stamps tell.
#[derive(Debug)]
struct Joined {
    files: Vec<(PathBuf, Stamp)>,
    dump: Arc<Dump>,
}

/// The files of a dump.
pub(super) struct Members {
    pub(super) files: Vec<File>,
    stamps: Vec<(PathBuf, Stamp)>,
    /// The number of the one that was asked for.
    asked: usize,
    notes: Vec<Note>,
}

/// The newest state of a dump, and what all its states have in common.
#[derive(Debug, Default)]
struct States {
    newest: Option<Joined>,
    numbering: Numbering,
}

pub(super) struct Cache {
    files: Mutex<FxHashMap<PathBuf, Kept>>,
    /// By the path of its first file. Whoever needs a dump waits while another joins it.
    dumps: Mutex<FxHashMap<PathBuf, Arc<Mutex<States>>>>,
    /// The files of dumps of which none is open, by the path of the first one.
    closed: Mutex<LruCache<PathBuf, Vec<PathBuf>>>,
    pub(super) totals: Totals,
    ready: Box<dyn Fn(&Path) + Send + Sync>,
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache").finish_non_exhaustive()
    }
}

impl Cache {
    pub(super) fn new(ready: impl Fn(&Path) + Send + Sync + 'static) -> Self {
        Self {
            files: Mutex::default(),
            dumps: Mutex::default(),
            closed: Mutex::new(LruCache::new(MOST_CLOSED)),
            totals: Totals::default(),
            ready: Box::new(ready),
        }
    }

    /// Forgets what was read of these files, and gives it.
    pub(super) fn forget(&self, paths: &[PathBuf]) -> impl Send + use<> {
        let of = |path| {
            (
                lock(&self.files).remove(path),
                lock(&self.dumps).remove(path),
            )
        };
        let forgotten: Vec<_> = paths.iter().map(of).collect();
        forgotten
    }

    /// Forgets what was read of a file, of which another text is used, and gives it.
    pub(super) fn forget_text(&self, path: &Path) -> Option<impl Send + use<>> {
        lock(&self.files).remove(path)
    }

    /// Keeps what is read of these files, which are of one dump, until it is told to forget it.
    pub(super) fn keep(&self, paths: &[PathBuf]) {
        if let Some(first) = paths.first() {
            lock(&self.closed).pop(first);
        }
    }

    /// Keeps what was read of these files, of which none is open, until other dumps are asked for.
    pub(super) fn let_go(&self, files: &[Source]) {
        let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
        let Some(first) = paths.first().cloned() else {
            return;
        };
        let last = lock(&self.closed).push(first.clone(), paths);
        if let Some((oldest, paths)) = last
            && oldest != first
        {
            self.forget(&paths);
        }
    }

    /// The dump of `sources`, read for the sake of the one at `asked`.
    pub(super) fn load<'s>(
        self: &Arc<Self>,
        asked: &Path,
        sources: impl Iterator<Item = &'s Source>,
    ) -> Result<Loaded, Unavailable> {
        let members = self.members(asked, sources)?;
        Ok(Loaded {
            dump: self.joined(members.files, members.stamps),
            file: members.asked,
            notes: members.notes.into(),
        })
    }

    /// Those of `sources` that belong to the dump of the one at `asked`, read but not joined.
    pub(super) fn members<'s>(
        self: &Arc<Self>,
        asked: &Path,
        sources: impl Iterator<Item = &'s Source>,
    ) -> Result<Members, Unavailable> {
        let (mut files, mut stamps, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        for source in sources {
            match self.source(source, asked, &mut notes)? {
                Some((stamp, file)) => {
                    stamps.push((file.path.clone(), stamp));
                    files.push((source.part, file));
                }
                None if source.path == asked => return Err(Unavailable::Absent),
                None => {}
            }
        }
        let files = belonging(files, asked);
        stamps.retain(|(path, _)| files.iter().any(|file| file.path == *path));
        let is_asked = |file: &File| file.path == asked;
        let asked = files.iter().position(is_asked).ok_or(Unavailable::Absent)?;
        Ok(Members {
            files,
            stamps,
            asked,
            notes,
        })
    }

    fn source(
        self: &Arc<Self>,
        source: &Source,
        asked: &Path,
        notes: &mut Vec<Note>,
    ) -> Result<Option<(Stamp, File)>, Unavailable> {
        if let Some((buffer, edition)) = &source.buffer {
            match buffer.document(edition.revision) {
                Ok(document) => {
                    let file = File {
                        path: source.path.clone(),
                        document,
                        lossy: false,
                    };
                    return Ok(Some((Stamp::Buffer(edition.revision), file)));
                }
                // A sibling whose text is not known any more is as good as closed.
                Err(Unavailable::Broken(_)) if source.path != asked => {}
                Err(unavailable) => return Err(unavailable),
            }
        }
        Ok(self.on_disk(&source.path, notes))
    }

    fn on_disk(self: &Arc<Self>, path: &Path, notes: &mut Vec<Note>) -> Option<(Stamp, File)> {
        // A buffer that was never saved has no path on disk.
        if !path.is_absolute() {
            return None;
        }
        let (bytes, modified) = match length(path) {
            Ok(found) => found,
            Err(error) if is_missing(&error) => {
                drop(self.forget(&[path.to_owned()]));
                return None;
            }
            Err(error) => {
                notes.push(Note::LeftOut {
                    path: path.to_owned(),
                    reason: error.to_string(),
                });
                return None;
            }
        };
        let stamp = Stamp::Disk(bytes, modified);
        let (reading, new) = self.reading(path, stamp);
        let content = if bytes <= AT_ONCE {
            Some(reading.get_or_init(|| read(path).map_err(|error| error.to_string())))
        } else if let Some(token) = new {
            // Whoever is the first to ask does without it, however fast the reading is.
            self.read_aside(path, Arc::clone(&reading), token);
            None
        } else {
            reading.get()
        };
        match content {
            Some(Ok(file)) => return Some((stamp, file.clone())),
            Some(Err(reason)) => {
                notes.push(Note::LeftOut {
                    path: path.to_owned(),
                    reason: reason.clone(),
                });
                // What kept it from being read may be mended without a change of the file. A large one would be read again for each
                // answer: not until its dump is closed.
                if bytes <= AT_ONCE {
                    lock(&self.files).remove(path);
                }
            }
            None => notes.push(Note::Reading {
                path: path.to_owned(),
                bytes,
            }),
        }
        None
    }

    /// The place for the content of a file; if it is new, with what trips when nobody wants that any more.
    fn reading(&self, path: &Path, stamp: Stamp) -> (Reading, Option<Token>) {
        let mut files = lock(&self.files);
        if let Some(known) = files.get(path).filter(|known| known.stamp == stamp) {
            return (Arc::clone(&known.reading), None);
        }
        let (reading, token) = (Reading::default(), Token::default());
        let kept = Kept {
            stamp,
            reading: Arc::clone(&reading),
            _wanted: token.guard(),
        };
        files.insert(path.to_owned(), kept);
        (reading, Some(token))
    }

    /// Reads a large file, unless another state of it is there meanwhile, or its dump is closed.
    fn read_aside(self: &Arc<Self>, path: &Path, reading: Reading, token: Token) {
        let (cache, path) = (Arc::clone(self), path.to_owned());
        let read_it = move || {
            let is_read = run(&token, || {
                let outcome =
                    reading.get_or_init(|| read(&path).map_err(|error| error.to_string()));
                if let Ok(file) = outcome {
                    read_facts(&file.document);
                }
            });
            if is_read.is_some() {
                (cache.ready)(&path);
            }
        };
        if let Err(error) = std::thread::Builder::new()
            .name("buflens-read".to_owned())
            .spawn(read_it)
        {
            tracing::error!("no thread to read a large sibling: {error}");
        }
    }

    fn joined(&self, files: Vec<File>, stamps: Vec<(PathBuf, Stamp)>) -> Arc<Dump> {
        let Some((first, _)) = stamps.first() else {
            return Arc::default();
        };
        let entry = Arc::clone(lock(&self.dumps).entry(first.clone()).or_default());
        let mut entry = lock(&entry);
        let States { newest, numbering } = &mut *entry;
        match newest {
            Some(joined) if joined.files == stamps => Arc::clone(&joined.dump),
            _ => {
                // What is out of date is not kept beside what replaces it.
                if let Some(outdated) = newest.take() {
                    numbering.reuse(outdated.dump);
                }
                let dump = Arc::new(on_few_threads(|| Dump::numbered(files, numbering)));
                *newest = Some(Joined {
                    files: stamps,
                    dump: Arc::clone(&dump),
                });
                dump
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_large_sibling_is_read_aside_and_used_when_it_is_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let asked = folder.path().join("m-buffer-assignment.txt");
        std::fs::write(&asked, "BufferAssignment:\n").expect("a file");
        let large = folder.path().join("m-live-range.txt");
        let mut text = "HloLiveRange (max 0):\n".to_owned();
        text.extend(std::iter::repeat_n("\n", AT_ONCE as usize));
        std::fs::write(&large, text).expect("a file");

        let (sender, receiver) = mpsc::channel();
        let mut workspace = crate::workspace::Workspace::new(move |path| {
            let _ = sender.send(path.to_owned());
        });
        workspace.open(
            asked.clone(),
            "m".to_owned(),
            1,
            "BufferAssignment:\n".to_owned(),
        );
        let loaded = workspace.snapshot(&asked).load().expect("a dump");
        assert_eq!(loaded.dump.files.len(), 1);
        assert!(matches!(&*loaded.notes, [Note::Reading { path, .. }] if *path == large));
        assert_eq!(
            receiver
                .recv_timeout(std::time::Duration::from_secs(60))
                .as_ref(),
            Ok(&large)
        );
        let loaded = workspace.snapshot(&asked).load().expect("a dump");
        assert_eq!((loaded.dump.files.len(), &*loaded.notes), (2, &[][..]));
    }

    #[test]
    fn a_large_sibling_that_cannot_be_read_is_not_read_again_for_each_answer() {
        let folder = tempfile::tempdir().expect("a folder");
        let asked = folder.path().join("m-buffer-assignment.txt");
        std::fs::write(&asked, "BufferAssignment:\n").expect("a file");
        let cache = Arc::new(Cache::new(|_| ()));
        let path = folder.path().join("m-live-range.txt");
        std::fs::write(&path, vec![b'\n'; AT_ONCE as usize + 1]).expect("a file");
        let (bytes, modified) = length(&path).expect("a length");
        let (reading, token) = cache.reading(&path, Stamp::Disk(bytes, modified));
        assert!(token.is_some());
        let failed = reading.set(Err("permission denied".to_owned()));
        assert!(failed.is_ok());
        for _ in 0..2 {
            let mut notes = Vec::new();
            assert!(cache.on_disk(&path, &mut notes).is_none());
            assert!(matches!(&notes[..], [Note::LeftOut { .. }]), "{notes:?}");
        }
    }

    #[test]
    fn a_large_sibling_is_read_no_further_when_it_has_changed_or_is_closed() {
        let cache = Cache::new(|_| ());
        let path = Path::new("/m-live-range.txt");
        let read = |bytes| cache.reading(path, Stamp::Disk(bytes, None)).1;
        let first = read(1).expect("a new one");
        assert!(read(1).is_none() && !first.is_cancelled());
        let second = read(2).expect("another state");
        assert!(first.is_cancelled() && !second.is_cancelled());
        drop(cache.forget(&[path.to_owned()]));
        assert!(second.is_cancelled());
    }

    #[test]
    fn of_dumps_that_are_not_open_only_the_last_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut workspace = crate::workspace::Workspace::new(|_| ());
        let paths = [0, 1, 2, 3].map(|number| {
            let path = folder
                .path()
                .join(format!("{number}-buffer-assignment.txt"));
            std::fs::write(&path, "BufferAssignment:\n").expect("a file");
            path
        });
        workspace.open(
            paths[0].clone(),
            "0".to_owned(),
            1,
            "BufferAssignment:\n".to_owned(),
        );
        for path in &paths {
            workspace.snapshot(path).load().expect("a dump");
        }
        let kept = |cache: &Cache| {
            let dumps = lock(&cache.dumps);
            let mut kept: Vec<PathBuf> = dumps.keys().cloned().collect();
            kept.sort();
            kept
        };
        assert_eq!(
            kept(&workspace.cache),
            [&paths[0], &paths[2], &paths[3]].map(PathBuf::clone)
        );
        // What is opened is kept, and what is closed is forgotten.
        workspace.open(
            paths[2].clone(),
            "2".to_owned(),
            1,
            "BufferAssignment:\n".to_owned(),
        );
        workspace.snapshot(&paths[1]).load().expect("a dump");
        assert_eq!(kept(&workspace.cache), paths);
        workspace.close(&paths[0]);
        assert_eq!(kept(&workspace.cache), paths[1..]);
        let late = workspace.snapshot(&paths[2]);
        workspace.close(&paths[2]);
        late.load().expect("a dump");
        assert_eq!(
            kept(&workspace.cache),
            paths[1..3],
            "one that was closed meanwhile"
        );
    }
}
