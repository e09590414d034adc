//! Reading a dump from disk.

use std::fmt;
use std::fs::{self, File as DiskFile};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use buflens_syntax::{Document, DocumentKind, TooLarge};

use super::ahead::{PIECE, read_pieces};
use super::beside::{Beside, Totals, beside};
use super::names::{Sibling, is_piped, module_name, siblings};
use super::on_disk::{is_large, read_large};
use crate::model::cancel::checkpoint;
use crate::model::{Dump, File, FileId, Join, Numbering, Part};

/// A dump, read for the sake of one of its files.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The dump.
    pub dump: Arc<Dump>,
    /// The file asked for.
    pub file: FileId,
    /// Siblings that the dump had to do without.
    pub notes: Arc<[Note]>,
}

impl Loaded {
    /// A note for each file that turned out to have changed when its text was read again, so that some of what was told
    /// of it is told of blanks. To be asked when all has been told.
    pub fn changed(&self) -> impl Iterator<Item = Note> {
        let lost = self.dump.files.iter().filter(|it| it.document.is_lost());
        lost.map(|file| Note::Changed {
            path: file.path.clone(),
        })
    }

    /// Those of them that are not among the notes anyway.
    pub fn later_notes(&self) -> impl Iterator<Item = Note> {
        self.changed().filter(|note| !self.notes.contains(note))
    }
}

/// Why a sibling is not part of its dump.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Note {
    /// It is large and still being read.
    Reading {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        bytes: u64,
    },
    /// It is there, but cannot be read or is of another compilation.
    LeftOut {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Somebody wrote to it at the same time: what was read need not be what it held at any one time.
    Changed {
        /// The file.
        path: PathBuf,
    },
}

impl Note {
    /// The file that is left out, if it is about one.
    pub(super) fn left_out(&self) -> Option<&PathBuf> {
        match self {
            Self::LeftOut { path, .. } => Some(path),
            Self::Reading { .. } | Self::Changed { .. } => None,
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reading { path, bytes } => {
                write!(
                    f,
                    "{} ({} MiB) is still being read; answers do without it",
                    path.display(),
                    bytes >> 20
                )
            }
            Self::LeftOut { path, reason } => {
                write!(f, "{} is left out: {reason}", path.display())
            }
            Self::Changed { path } => {
                write!(
                    f,
                    "{} changed while it was read; ask again when nobody writes to it",
                    path.display()
                )
            }
        }
    }
}

/// A file that was asked for cannot be read.
#[derive(Debug)]
pub struct LoadError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub reason: ReadError,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for LoadError {}

/// Why a file cannot be read.
#[derive(Debug)]
pub enum ReadError {
    /// The system says so.
    Io(io::Error),
    /// It is longer than offsets can count.
    TooLarge(TooLarge),
    /// It is a folder, a pipe or a device.
    NoFile,
    /// It is a link to what is not there.
    LostLink,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::TooLarge(error) => error.fmt(f),
            Self::NoFile => write!(f, "it is not a regular file"),
            Self::LostLink => write!(f, "it is a link to a file that is not there"),
        }
    }
}

/// Reads the file at `path` and its siblings on disk, for what is asked of them now: the texts of large files are not held,
/// but read again where they are asked for. What is wrong in those is known then.
///
/// # Errors
/// If the file itself cannot be read. Siblings that cannot are left out, with a note.
pub fn load(path: &Path) -> Result<Loaded, LoadError> {
    let mut numbering = Numbering::default();
    // As long as everything is as the names of the files say, it is joined as it is read.
    let mut join = Some(Join::new(&mut numbering));
    let mut read = |path: &Path, part: Part, file: FileId| match &mut join {
        Some(_) if !matches!(part, Part::Report | Part::None) && is_large(path) => {
            let read_it = read_large(path, part, file, &mut join);
            if read_it.is_err() {
                join = None;
            }
            read_it
        }
        Some(joining) => {
            let content = read(path)?;
            joining.document(file, &content.document);
            Ok(content)
        }
        None => read(path),
    };
    let (mut files, mut notes) = (Vec::new(), Vec::new());
    let as_named = siblings(path).into_iter();
    let before: Vec<_> = as_named
        .map(|it| (length(&it.path).ok(), it.path))
        .collect();
    for Sibling {
        path: sibling,
        part,
    } in siblings(path)
    {
        if sibling == path {
            // A pipe will do here: this very file was asked for.
            let file = read(path, part, files.len()).map_err(|reason| LoadError {
                path: path.to_owned(),
                reason,
            })?;
            files.push((part, file));
            continue;
        }
        match length(&sibling).and_then(|_| read(&sibling, part, files.len())) {
            Ok(file) => files.push((part, file)),
            Err(error) if is_missing(&error) => {}
            Err(error) => notes.push(Note::LeftOut {
                path: sibling,
                reason: error.to_string(),
            }),
        }
    }
    let failed = files
        .iter()
        .find(|(_, file)| file.path == path)
        .map(|(_, file)| beside(path, &file.document, &Totals::default()));
    if let Some(Beside::One(assignment)) = failed {
        for Sibling { path, part } in siblings(&assignment) {
            match length(&path).and_then(|_| read(&path, part, files.len())) {
                Ok(file) => files.push((part, file)),
                Err(error) if is_missing(&error) => {}
                Err(error) => notes.push(Note::LeftOut {
                    path,
                    reason: error.to_string(),
                }),
            }
        }
    }
    let files = belonging(files, path);
    let before = before.into_iter();
    let changed = before.filter(|(before, path)| length(path).ok() != *before);
    notes.extend(changed.map(|(_, path)| Note::Changed { path }));
    let file = files.iter().position(|file| file.path == path).unwrap_or(0);
    let dump = match join.filter(|join| join.is_of(&files)) {
        Some(join) => join.finish(files),
        None => Dump::new(files),
    };
    Ok(Loaded {
        dump: Arc::new(dump),
        file,
        notes: notes.into(),
    })
}

/// Whether there is no such file.
pub(super) fn is_missing(error: &ReadError) -> bool {
    use io::ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound};
    // A sibling's name may be longer than names can be.
    matches!(error, ReadError::Io(error) if matches!(error.kind(), InvalidFilename | InvalidInput | NotADirectory | NotFound))
}

/// The length in bytes and the time of the last change of a regular file.
pub(super) fn length(path: &Path) -> Result<(u64, Option<std::time::SystemTime>), ReadError> {
    let metadata = fs::metadata(path).map_err(|error| {
        let is_lost = error.kind() == io::ErrorKind::NotFound && path.is_symlink();
        if is_lost {
            ReadError::LostLink
        } else {
            ReadError::Io(error)
        }
    })?;
    if !metadata.is_file() {
        return Err(ReadError::NoFile);
    }
    let length = metadata.len();
    if length > u64::from(u32::MAX) {
        return Err(ReadError::TooLarge(TooLarge { length }));
    }
    Ok((length, metadata.modified().ok()))
}

/// Reads a file alone, or what is piped in, piece by piece. What is not UTF-8 is replaced, and the file marked.
pub fn read(path: &Path) -> Result<File, ReadError> {
    tracing::debug!("reading {}", path.display());
    let (document, lossy) = if is_piped(path) {
        read_from(&mut io::stdin().lock())?
    } else {
        read_from(&mut DiskFile::open(path).map_err(ReadError::Io)?)?
    };
    Ok(File {
        path: path.to_owned(),
        document,
        lossy,
    })
}

/// How a text is written.
#[derive(Debug, Default)]
pub(super) struct Form {
    /// Some bytes were no text, and are replaced.
    lossy: bool,
    /// It has a mark before it.
    is_marked: bool,
}

impl Form {
    pub(super) fn is_plain(&self) -> bool {
        !self.lossy && !self.is_marked
    }
}

/// What `source` says up to its end, and whether it was not UTF-8.
fn read_from(source: &mut impl Read) -> Result<(Document, bool), ReadError> {
    let mut form = Form::default();
    let document = read_pieces(|take| pieces(source, &mut form, take))?;
    Ok((document, form.lossy))
}

/// Hands over the text of `source` in pieces, and tells how it is written. With a checkpoint before each of them.
pub(super) fn pieces(
    source: &mut impl Read,
    form: &mut Form,
    take: &mut dyn FnMut(&str) -> Result<(), TooLarge>,
) -> Result<(), ReadError> {
    let mut bytes = Vec::with_capacity(PIECE);
    let mut is_first = true;
    loop {
        checkpoint();
        let room = (PIECE - bytes.len()) as u64;
        let count = source.take(room).read_to_end(&mut bytes);
        let is_last = count.map_err(ReadError::Io)? == 0;
        let mut at = 0;
        while at < bytes.len() {
            let (text, behind) = text_of(&bytes[at..]);
            at += text.len();
            // Some editors mark UTF-8 so; no editor counts the mark as text.
            let unmarked = text.strip_prefix('\u{feff}').filter(|_| is_first);
            is_first = false;
            form.is_marked |= unmarked.is_some();
            take(unmarked.unwrap_or(text)).map_err(ReadError::TooLarge)?;
            let bad = match behind {
                Behind::Nothing => 0,
                Behind::NoText(bytes) => bytes,
                Behind::Part if is_last => bytes.len() - at,
                // The character goes on in the next piece.
                Behind::Part => break,
            };
            if bad > 0 {
                form.lossy = true;
                take("\u{fffd}").map_err(ReadError::TooLarge)?;
            }
            at += bad;
        }
        bytes.drain(..at);
        if is_last {
            return Ok(());
        }
    }
}

/// What stands behind the text that bytes begin with.
enum Behind {
    Nothing,
    /// So many bytes that are no text.
    NoText(usize),
    /// The beginning of a character.
    Part,
}

/// The text that `bytes` begin with, and what is behind it.
fn text_of(bytes: &[u8]) -> (&str, Behind) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text, Behind::Nothing),
        Err(error) => {
            let valid = &bytes[..error.valid_up_to()];
            let behind = error.error_len().map_or(Behind::Part, Behind::NoText);
            (std::str::from_utf8(valid).unwrap_or_default(), behind)
        }
    }
}

/// Of files with the names of one dump, those that are what their names say, or nothing at all, which checking
/// tells. A file that was asked for and is a part of another kind than its name says was renamed, and is a dump alone.
pub(super) fn belonging(mut files: Vec<(Part, File)>, asked: &Path) -> Vec<File> {
    let part = |file: &File| Part::from(file.document.kind());
    let is_renamed = |named: Part, file: &File| {
        file.path == asked && part(file) != named && part(file) != Part::None
    };
    if files.iter().any(|(named, file)| is_renamed(*named, file)) {
        files.retain(|(_, file)| file.path == asked);
    } else {
        files.retain(|(named, file)| {
            // Beside a text of another name people keep notes.
            let is_nothing =
                file.document.kind() == DocumentKind::Unknown && module_name(&file.path).is_some();
            file.path == asked || is_nothing || part(file) == *named
        });
    }
    files.into_iter().map(|(_, file)| file).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::model::cancel::{self, Token};

    fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, bytes) in files {
            fs::write(folder.path().join(name), bytes).expect("a file");
        }
        folder
    }

    fn names(loaded: &Loaded) -> Vec<String> {
        let name = |file: &File| {
            file.path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        };
        loaded.dump.files.iter().map(name).collect()
    }

    const ASSIGNMENT: &[u8] = b"BufferAssignment:\n";
    const VALUES: &[u8] = b"\nTotal bytes used: 0 (0B)\n\nUsed values:\n";
    const RANGES: &[u8] = b"HloLiveRange (max 0):\n";

    /// So many line ends; the first that are read trip a token.
    struct Cancelling<'t>(&'t Token, usize);

    impl Read for Cancelling<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.cancel();
            let count = buffer.len().min(self.1);
            buffer[..count].fill(b'\n');
            self.1 -= count;
            Ok(count)
        }
    }

    #[test]
    fn reading_ends_at_the_piece_behind_its_cancelling() {
        let token = Token::default();
        let mut source = Cancelling(&token, 8 * PIECE);
        let read = cancel::run(&token, || read_from(&mut source).expect("text"));
        assert!(read.is_none());
        assert_eq!(source.1, 7 * PIECE);
    }

    #[test]
    fn siblings_are_joined_in_their_order() {
        let folder = folder(&[
            ("m.txt", b"HloModule m\n"),
            ("m-live-range.txt", RANGES),
            ("m-buffer-assignment.txt", ASSIGNMENT),
            ("m-buffer-assignment-values.txt", VALUES),
            (
                "m-memory-usage-report.txt",
                b"Memory Space: HBM (color=0)\n",
            ),
            ("n-live-range.txt", RANGES),
        ]);
        let loaded = load(&folder.path().join("m-live-range.txt")).expect("a dump");
        assert_eq!(
            names(&loaded),
            [
                "m-buffer-assignment.txt",
                "m-buffer-assignment-values.txt",
                "m-live-range.txt",
                "m-memory-usage-report.txt",
                "m.txt"
            ]
        );
        assert_eq!(loaded.file, 2);
    }

    #[test]
    fn a_renamed_file_stands_alone() {
        let folder = folder(&[
            ("m.txt", ASSIGNMENT),
            ("m-buffer-assignment.txt", ASSIGNMENT),
            ("dump.log", ASSIGNMENT),
        ]);
        let load = |name| names(&load(&folder.path().join(name)).expect("a dump"));
        assert_eq!(load("m.txt"), ["m.txt"]);
        assert_eq!(load("m-buffer-assignment.txt"), ["m-buffer-assignment.txt"]);
        assert_eq!(load("dump.log"), ["dump.log"]);
    }

    /// The same dump, with all texts.
    fn held(dump: &Dump) -> Dump {
        let again = |file: &File| read(&file.path).expect("a file");
        Dump::new(dump.files.iter().map(again).collect())
    }

    /// What the dump says, and what is wrong in it.
    fn said(dump: &Dump) -> String {
        let errors = dump.files.iter().map(|file| file.document.errors());
        let errors: Vec<_> = errors.collect();
        let lines = dump.values.iter().map(|value| dump.placement(value));
        let lines: Vec<_> = lines.map(|at| at.map(|at| (at.start, at.row))).collect();
        let (values, steps) = (&dump.values, &dump.steps);
        let module = &dump.module;
        let computations = 0..module.computations.len() as u32;
        let runners: Vec<_> = computations.map(|it| dump.runner_of(it)).collect();
        let names = dump.values.iter().map(|value| value.name);
        let copied: Vec<_> = names.map(|name| dump.copied_in(name)).collect();
        let branches = (0..dump.steps.len() as u32).map(|step| dump.is_in_branch(step));
        let branches: Vec<_> = branches.collect();
        format!(
            "{runners:?}\n{copied:?}\n{branches:?}\n{:?}\n{values:?}\n{steps:?}\n{lines:?}\n{errors:?}",
            dump.allocations
        )
    }

    #[test]
    fn a_dump_whose_texts_are_not_held_says_the_same() {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/dumps");
        let mut released = 0;
        for folder in fs::read_dir(fixtures).expect("the fixtures") {
            for file in fs::read_dir(folder.expect("a folder").path()).expect("a folder") {
                let path = file.expect("a file").path();
                let dump = load(&path).expect("a dump").dump;
                let again = Dump::new(dump.files.clone());
                for dump in [&dump, &again] {
                    assert_eq!(said(&held(dump)), said(dump), "{}", path.display());
                }
                let documents = dump.files.iter().map(|file| &file.document);
                let blocks = documents.flat_map(Document::blocks);
                released += blocks.filter(|(_, block)| !block.is_held()).count();
            }
        }
        assert!(released > 90, "{released}");
    }

    #[test]
    fn a_large_file_that_is_not_what_its_name_says_is_joined_as_what_it_is() {
        let values = " value: <0 a @0> (size=4,offset=0): f32[]\n".repeat(200);
        let assignment = format!("BufferAssignment:\nallocation 0: size 4:\n{values}");
        let marked = format!("\u{feff}{assignment}");
        let no_text = [assignment.as_bytes(), b"\xff\n"].concat();
        for bytes in [assignment.as_bytes(), marked.as_bytes(), &no_text] {
            let folder = folder(&[
                ("m-buffer-assignment.txt", bytes),
                ("m-buffer-assignment-values.txt", assignment.as_bytes()),
                ("m-live-range.txt", RANGES),
            ]);
            for name in ["m-buffer-assignment.txt", "m-buffer-assignment-values.txt"] {
                let dump = load(&folder.path().join(name)).expect("a dump").dump;
                assert_eq!(said(&held(&dump)), said(&dump), "{name}");
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_changes_while_its_dump_is_read_is_told() {
        let folder = folder(&[("m-live-range.txt", RANGES)]);
        let at = |name: &str| folder.path().join(name);
        let (pipe, ranges) = (at("m-buffer-assignment.txt"), at("m-live-range.txt"));
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo").success());
        let notes = |is_changed| {
            std::thread::scope(|scope| {
                let loading = scope.spawn(|| load(&pipe).expect("a dump").notes);
                // Opens when the other side does, and what is read ends when this does.
                let mut end = DiskFile::options().write(true).open(&pipe).expect("a pipe");
                if is_changed {
                    fs::write(&ranges, [RANGES, b"\n"].concat()).expect("a file");
                }
                end.write_all(ASSIGNMENT).expect("a reader");
                drop(end);
                loading.join().expect("notes")
            })
        };
        assert_eq!(notes(false), [].into());
        let path = ranges.clone();
        assert_eq!(notes(true), [Note::Changed { path }].into());
    }

    #[test]
    fn a_file_that_changes_behind_its_reading_is_known_to_have() {
        let headers = (0..4000).map(|it| format!("allocation {it}: size 4, thread-local:\n"));
        let text = "BufferAssignment:\n".to_owned() + &headers.collect::<String>();
        let folder = folder(&[("m-buffer-assignment.txt", text.as_bytes())]);
        let path = folder.path().join("m-buffer-assignment.txt");
        let loaded = load(&path).expect("a dump");
        fs::write(&path, text.replace("size 4", "size 5")).expect("a file");
        assert_eq!(loaded.changed().count(), 0, "nothing has been asked for");
        assert_eq!(loaded.dump.files[0].document.text().len(), text.len());
        let notes: Vec<Note> = loaded.changed().collect();
        assert_eq!(notes, [Note::Changed { path }]);
    }

    #[test]
    fn a_sibling_that_cannot_be_read_is_noted() {
        let folder = folder(&[("m-buffer-assignment.txt", b"BufferAssignment:\n\xff")]);
        fs::create_dir(folder.path().join("m-live-range.txt")).expect("a folder");
        let loaded = load(&folder.path().join("m-buffer-assignment.txt")).expect("a dump");
        assert!(loaded.dump.files[0].lossy);
        assert!(
            matches!(&*loaded.notes, [Note::LeftOut { path, .. }] if path.ends_with("m-live-range.txt"))
        );
    }

    #[test]
    fn characters_may_lie_across_pieces_and_what_is_none_is_replaced() {
        let mut bytes = b"\xef\xbb\xbfBufferAssignment:\n".to_vec();
        bytes.resize(PIECE - 1, b'a');
        bytes.extend("\u{1f600}\n".as_bytes());
        let (document, lossy) = read_from(&mut &bytes[..]).expect("a document");
        assert_eq!(document.text().as_bytes(), &bytes[3..]);
        assert!(!lossy);
        bytes.resize(2 * PIECE - 1, b'b');
        // The first half of a character, and no more of the file.
        bytes.extend(b"\xf0\x9f");
        let (document, lossy) = read_from(&mut &bytes[..]).expect("a document");
        assert_eq!(document.text(), String::from_utf8_lossy(&bytes[3..]));
        assert!(lossy);
    }

    /// A file to which a line is added before each of so many reads.
    struct Growing {
        file: DiskFile,
        path: PathBuf,
        more: u32,
    }

    impl Read for Growing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.more > 0 {
                self.more -= 1;
                let mut file = DiskFile::options().append(true).open(&self.path)?;
                writeln!(file, "allocation {}: size 4:", self.more)?;
            }
            self.file.read(buffer)
        }
    }

    #[test]
    fn a_file_that_grows_while_it_is_read_is_read_to_the_end_that_it_has_then() {
        let folder = folder(&[("m-buffer-assignment.txt", ASSIGNMENT)]);
        let path = folder.path().join("m-buffer-assignment.txt");
        let file = DiskFile::open(&path).expect("a file");
        let mut growing = Growing {
            file,
            path: path.clone(),
            more: 50,
        };
        let (document, lossy) = read_from(&mut growing).expect("a document");
        assert_eq!(document.text(), fs::read_to_string(&path).expect("a file"));
        assert_eq!((document.line_count(), growing.more, lossy), (52, 0, false));
    }

    #[test]
    fn a_disk_that_fails_in_the_middle_is_an_error() {
        struct Failing(usize);
        impl Read for Failing {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.0 -= 1;
                buffer.fill(b'\n');
                (self.0 > 0)
                    .then_some(buffer.len())
                    .ok_or_else(|| io::Error::other("a bad sector"))
            }
        }
        let error = read_from(&mut Failing(300)).expect_err("a bad sector");
        assert_eq!(error.to_string(), "a bad sector");
    }

    #[test]
    fn a_file_that_is_not_there_is_an_error() {
        let error = load(Path::new("nowhere/m-live-range.txt")).expect_err("no file");
        assert!(
            error.to_string().starts_with("nowhere/m-live-range.txt: "),
            "{error}"
        );
        assert!(load(&std::env::temp_dir()).is_err());
    }
}
