//! `buflens oom`: what a failure for want of memory says, and what it leaves out.

use std::borrow::Cow;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use buflens_syntax::{Document, DocumentKind, TooLarge};
use clap::Args;

use super::log::Log;
use super::one_dump::{Problem, load, only_dump};
use super::output::Format;
use super::{UNREADABLE, complain};
use crate::audit::Audit;
use crate::model::failure::{Failure, Form, failures};
use crate::model::source::Libraries;
use crate::model::{Part, Place};
use crate::report::pages::oom as page;
use crate::report::records::{self, FailedText, FileLocation, OutOfMemory, Source};
use crate::workspace::{self, Beside, Loaded};

/// Explain what a compiler or a runtime printed when memory ran out, and what it left out: with
/// the dump of the program, the true peak and the values that are not in the list.
#[derive(Debug, Args)]
pub struct Oom {
    /// Texts: a message in a file, or a log with one in it; `-` for what is piped in.
    #[arg(required = true, value_name = "FILE")]
    paths: Vec<PathBuf>,
    /// The dump of the program, a file of it or a folder that holds one; without this it is looked
    /// for beside the text and in `dumps` below.
    #[arg(long, value_name = "PATH")]
    dump: Option<PathBuf>,
    /// How the answer is written.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// So many rows at most; 20 in text, Markdown and HTML, all in JSON and CSV if it is not given.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

impl Oom {
    pub fn run(&self) -> io::Result<ExitCode> {
        let (mut texts, mut is_unreadable) = (Vec::new(), false);
        for path in &self.paths {
            match self.text(path) {
                Ok(text) => {
                    // A dump that was asked for must be there.
                    is_unreadable |= self.dump.is_some() && text.reason.is_some();
                    texts.push(text);
                }
                Err(problem) => {
                    complain(format_args!("{}: {problem}", path.display()));
                    is_unreadable = true;
                }
            }
        }
        if !texts.is_empty() {
            let answer = OutOfMemory::new(texts);
            self.format
                .write(&answer, || page::page(&answer), || page::entries(&answer))?;
        }
        Ok(ExitCode::from(if is_unreadable { UNREADABLE } else { 0 }))
    }

    fn limit(&self) -> usize {
        self.format.rows(self.limit)
    }

    fn text(&self, path: &Path) -> Result<FailedText<FileLocation>, Problem> {
        if path.is_dir() {
            return Err(
                "this is a folder, and no message: `buflens peak` explains the dump in it, \
                        and --dump names it beside a message"
                    .to_owned(),
            );
        }
        let log = read(path)?;
        let document = &log.document;
        if Part::from(document.kind()) != Part::None {
            return Err("this is a dump, and no message: `buflens peak` explains it".to_owned());
        }
        if document.kind() != DocumentKind::OutOfMemory {
            return Err("no failure for want of memory is in it in a form that is known: expected a \
                        line such as `Ran out of memory in memory space hbm. Used N of M hbm.`, \
                        `Out of memory while trying to allocate N bytes.`, `Attempting to allocate N. \
                        That was not possible.`, `Can't reduce memory use below N by rematerialization`, \
                        `Largest program allocations in hbm:` or `BufferAssignment OOM Debugging.`"
                .to_owned());
        }
        let failures = failures(document);
        // Of the scratch of one instruction no dump tells.
        let is_scoped =
            |failure: &Failure| failure.message.is_some_and(|it| it.form == Form::Scoped);
        let are_scoped = failures.iter().all(is_scoped);
        let (dump, reason) = match self.dump(path, document) {
            Ok(dump) => (Some(dump), None),
            Err(problem) => (None, Some(problem).filter(|_| !are_scoped)),
        };
        let audit = dump
            .as_ref()
            .map(|loaded| Audit::new(&loaded.dump, Libraries::default()));
        let locate = |place: &Place| FileLocation::new(audit.as_ref()?.dump, place);
        let source = audit.as_ref().map(|audit| Source {
            audit,
            locate: &locate,
        });
        let failures = failures
            .iter()
            .map(|failure| (log.line_at(failure.line.start) + 1, failure));
        let failures = records::failed(failures, source.as_ref(), self.limit());
        // What it says is not what the dump says now.
        let changed = dump.as_ref().and_then(|dump| dump.changed().next());
        Ok(FailedText {
            file: path.to_string_lossy().into_owned(),
            reason: reason.or(changed.map(|note| note.to_string())),
            failures,
        })
    }

    /// The dump of the program.
    fn dump(&self, path: &Path, document: &Document) -> Result<Loaded, Problem> {
        let only = |path: &PathBuf| {
            let (file, problems) = only_dump(std::slice::from_ref(path))?;
            problems.iter().for_each(complain);
            Ok::<_, Problem>(Beside::One(file))
        };
        let found = match &self.dump {
            Some(file) if !file.is_dir() => only(file)?,
            Some(folder) => match workspace::within(folder, path, document) {
                Beside::None => only(folder)?,
                Beside::Other(programs) => {
                    return Err(format!(
                        "the text is of {}, and the dumps in {} are of other programs; name a file \
                         of one with --dump to see it all the same",
                        programs.join(", "),
                        folder.display()
                    ));
                }
                found => found,
            },
            None => workspace::beside(path, document, &workspace::Totals::default()),
        };
        let dump = match found {
            Beside::One(assignment) => assignment,
            Beside::None | Beside::Other(_) => {
                return Err(
                    "there is no dump of the program beside the text or in `dumps` \
                                below; name it with --dump PATH"
                        .to_owned(),
                );
            }
            Beside::Several(mut candidates) if candidates.len() == 1 => {
                let one = candidates.remove(0);
                if self.dump.is_none() {
                    return Err(format!(
                        "it is not known whether {} is of this program; name it with --dump if it is",
                        one.display()
                    ));
                }
                one
            }
            Beside::Several(candidates) => {
                let names: Vec<String> = candidates
                    .iter()
                    .take(5)
                    .map(|path| path.display().to_string())
                    .collect();
                let more = match candidates.len().saturating_sub(names.len()) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                return Err(format!(
                    "there are {} dumps that may be of the program; name one with --dump PATH: {}{more}",
                    candidates.len(),
                    names.join(", ")
                ));
            }
        };
        let loaded = load(&dump)?;
        for note in loaded.notes.iter() {
            complain(note);
        }
        Ok(loaded)
    }
}

fn read(path: &Path) -> Result<Log, Problem> {
    // A document is no longer, and some files have no end.
    let most = u64::from(u32::MAX) + 1;
    let mut bytes = Vec::new();
    if workspace::is_piped(path) {
        io::stdin().lock().take(most).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes))
    }
    .map_err(|error| error.to_string())?;
    if bytes.len() as u64 == most {
        return Err(TooLarge { length: most }.to_string());
    }
    Log::new(&decoded(&bytes)).map_err(|error| error.to_string())
}

/// The text of `bytes`: UTF-16 where they say so, as what PowerShell writes to files, else UTF-8.
fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    let units = |of: fn([u8; 2]) -> u16| {
        let pairs = bytes[2..].chunks_exact(2);
        let units: Vec<u16> = pairs.map(|pair| of([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units).into()
    };
    match bytes {
        [0xff, 0xfe, ..] => units(u16::from_le_bytes),
        [0xfe, 0xff, ..] => units(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes),
    }
}
