//! `buflens where`: the values that lines of source made.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::one_dump::{about, told_of};
use super::output::Format;
use super::{FINDINGS, UNREADABLE, complain, complain_of_none, dumps};
use crate::model::lines::Lines;
use crate::model::source_map::{Folders, SourceMap};
use crate::model::space;
use crate::report::pages::made as page;
use crate::report::records::{self, FileLocation, Made, MadePart};
use crate::workspace::{self, Loaded};

/// Show which values a line of source made, or its file: of their instructions, the line is among
/// the frames.
#[derive(Debug, Args)]
pub struct Where {
    /// The line, some lines, or all of a file: `model.py:12`, `model.py:10-20`, `model.py`. As much
    /// of the path as tells which file is meant.
    #[arg(value_name = "FILE[:LINE]", allow_hyphen_values = true, value_parser = lines)]
    lines: Lines,
    /// Files, each of which stands for its whole dump, and folders, which are searched for dumps.
    #[arg(default_value = ".")]
    paths: Vec<PathBuf>,
    /// One memory space, by number or name: `1`, `VMEM`, `host`; all if it is not given.
    #[arg(long, value_name = "SPACE", value_parser = is_called)]
    space: Option<String>,
    /// How the answer is written.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// So many rows at most; 20 in text, Markdown and HTML, all in JSON and CSV if it is not given.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Source files with this in their path are a library's, not the user's own. May be repeated.
    #[arg(long = "library", value_name = "MARK")]
    libraries: Vec<String>,
    /// A folder of the machine that compiled, and where the same is here. May be repeated.
    #[arg(long = "source-map", value_name = "FROM=TO")]
    folders: Vec<Folders>,
}

impl Where {
    pub fn run(&self) -> io::Result<ExitCode> {
        let (found, problems) = workspace::find(&self.paths);
        for problem in &problems {
            complain(problem);
        }
        let limit = self.format.rows(self.limit);
        let map = SourceMap::new(self.folders.iter().cloned());
        let read = |loaded| told_of(loaded, |loaded| self.part(loaded, &map, limit));
        let (parts, mut is_unreadable) = dumps::each(&found, read)?;
        is_unreadable |= !problems.is_empty();
        if parts.is_empty() && !is_unreadable {
            is_unreadable = complain_of_none(&self.paths).is_some();
        }
        let made = Made::new(&self.lines, self.space.as_deref(), parts, limit);
        self.format
            .write(&made, || page::page(&made, limit), || page::values(&made))?;
        Ok(ExitCode::from(if is_unreadable {
            UNREADABLE
        } else if made.dumps.is_empty() {
            FINDINGS
        } else {
            0
        }))
    }

    /// What one dump has of it.
    fn part(&self, loaded: &Loaded, map: &SourceMap, limit: usize) -> MadePart<FileLocation> {
        let dump = &*loaded.dump;
        let path = &dump.files[loaded.file].path;
        let space = self.space.as_deref();
        about(dump, &self.libraries, |source| {
            records::made(source, path, &self.lines, space, map, limit)
        })
    }
}

/// What some platform's memory space is called. Which it is depends on the dump's platform.
/// `-:4` is a line of what was piped into a compiler; nothing else begins so.
fn lines(text: &str) -> Result<Lines, String> {
    if text.starts_with('-') && !text.starts_with("-:") {
        return Err("there is no such option".to_owned());
    }
    text.parse()
}

fn is_called(space: &str) -> Result<String, String> {
    space::called_anywhere(space).map(|_| space.to_owned())
}
