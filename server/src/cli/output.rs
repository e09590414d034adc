//! How the answers about memory are written.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use clap::ValueEnum;
use serde::Serialize;

use super::one_dump::Problem;
use crate::model::Dump;
use crate::report::html;
use crate::report::page::{NARROWEST, Page};
use crate::report::table::Table;

/// The width of the output where neither a terminal nor `COLUMNS` tells it.
const WIDTH: usize = 80;

/// So many rows are shown to people who chose no number.
const FOR_PEOPLE: usize = 20;

/// Writes as long as somebody reads: whoever closes the pipe has seen enough, but what the exit code tells has
/// still to be found.
pub struct WhileRead<W>(pub W);

impl<W: Write> Write for WhileRead<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(bytes.len()),
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0.flush() {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            flushed => flushed,
        }
    }
}

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Sentences and tables that fit the terminal.
    Text,
    /// All that is known, for programs.
    Json,
    /// The main table with exact numbers.
    Csv,
    /// Sentences and tables for a document.
    Markdown,
    /// A page for a browser, with everything it needs.
    Html,
}

impl Format {
    /// Writes what the format asks for to stdout, as long as somebody reads.
    pub fn write(
        self,
        record: &impl Serialize,
        page: impl FnOnce() -> Page,
        table: impl FnOnce() -> Table,
    ) -> io::Result<()> {
        match self {
            Self::Text => {
                let mut out = BufWriter::new(WhileRead(anstream::stdout().lock()));
                page().write_text(&mut out, width())?;
                out.flush()
            }
            Self::Json => {
                let mut out = BufWriter::new(WhileRead(io::stdout().lock()));
                serde_json::to_writer(&mut out, record)?;
                writeln!(out)?;
                out.flush()
            }
            Self::Csv => table().write_csv(WhileRead(io::stdout().lock())),
            Self::Markdown => {
                let mut out = BufWriter::new(WhileRead(io::stdout().lock()));
                page().write_markdown(&mut out)?;
                out.flush()
            }
            Self::Html => {
                let document = html::document(&page());
                WhileRead(io::stdout().lock()).write_all(document.as_bytes())
            }
        }
    }

    /// How many rows, if no number was chosen: people want the largest, programs all.
    pub fn rows(self, chosen: Option<usize>) -> usize {
        chosen.unwrap_or(if self.is_for_people() {
            FOR_PEOPLE
        } else {
            usize::MAX
        })
    }

    /// Whether people read it, who want the largest and not all.
    pub fn is_for_people(self) -> bool {
        matches!(self, Self::Text | Self::Markdown | Self::Html)
    }
}

/// How many columns there are.
pub fn width() -> usize {
    width_or(WIDTH)
}

/// How many columns there are; `default` where neither a terminal nor `COLUMNS` tells it.
pub fn width_or(default: usize) -> usize {
    let of_terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let chosen = || std::env::var("COLUMNS").ok()?.parse().ok();
    let width = of_terminal.or_else(chosen).unwrap_or(default);
    width.max(NARROWEST)
}

/// Writes what is said of a dump to a file, whole or not at all, and never over a part of the dump.
///
/// # Errors
/// With a sentence that names the file.
pub fn write_about(
    dump: &Dump,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Problem> {
    let shown = path.display();
    if is_part_of(path, dump) {
        return Err(format!(
            "{shown} is a file of the dump, and is not overwritten"
        ));
    }
    write_whole(path, write).map_err(|error| format!("{shown} cannot be written: {error}"))
}

/// Whether `path` is one of the dump's own files.
fn is_part_of(path: &Path, dump: &Dump) -> bool {
    let Ok(path) = path.canonicalize() else {
        return false;
    };
    let mut files = dump.files.iter();
    files.any(|file| file.path.canonicalize().is_ok_and(|file| file == path))
}

/// The file that was named, unless it is `-`, stdout.
pub fn named(path: Option<&Path>) -> Option<&Path> {
    path.filter(|path| *path != Path::new("-"))
}

/// The reason alone, of an error that names the temporary file behind it.
fn without_path(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((reason, _)) => io::Error::new(error.kind(), reason),
        None => error,
    }
}

/// Whether there is nothing at `path`, or nothing where a link there leads.
fn is_missing(path: &Path) -> bool {
    let metadata = path.metadata();
    metadata.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Writes a file whole or not at all: who reads `path` sees the old text or the new one.
pub fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    // A pipe or a device is no file that another could take the place of.
    if path.metadata().is_ok_and(|it| !it.is_file()) {
        let mut out = BufWriter::new(File::create(path)?);
        write(&mut out)?;
        return out.flush();
    }
    // A link goes on leading to what is written, be that there yet or not.
    let mut target = path.to_owned();
    while is_missing(&target)
        && let Ok(next) = target.read_link()
    {
        target = target.parent().unwrap_or(Path::new("")).join(next);
    }
    let path = target.canonicalize().unwrap_or(target);
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    builder.prefix(".buflens-");
    // As any new file: a temporary one would be for its owner alone.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(folder.unwrap_or(Path::new(".")));
    let mut file = file.map_err(without_path)?;
    // Who could not read the old text must not read the new one.
    if let Ok(replaced) = path.metadata() {
        file.as_file().set_permissions(replaced.permissions())?;
    }
    let mut out = BufWriter::new(&mut file);
    write(&mut out)?;
    out.flush()?;
    drop(out);
    file.persist(path)?;
    Ok(())
}
