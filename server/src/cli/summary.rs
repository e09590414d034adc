//! `buflens summary`: what dumps reserve and occupy.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::dumps;
use super::one_dump::{
    is_broken, is_dump, no_dump, not_understood, or_complain, without_strangers,
};
use super::output::Format;
use super::{UNREADABLE, complain, complain_of_none};
use crate::audit;
use crate::model::source::Libraries;
use crate::report::pages::summary as page;
use crate::report::records;
use crate::workspace::{self, Loaded, Note, Texts};

/// Show what each dump reserves and occupies at its true peak, the largest first.
#[derive(Debug, Args)]
pub struct Summary {
    /// Files, each of which stands for its whole dump, and folders, which are searched for dumps.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// How the answer is written.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// The memory space that dumps are sorted by, by number or name: `1`, `VMEM`, `host`.
    #[arg(long, value_name = "SPACE", default_value = "0", value_parser = crate::model::space::called_anywhere)]
    space: u64,
    /// So many dumps at most.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// What is kept of a dump.
struct Read {
    /// The file that it was read for.
    path: PathBuf,
    /// What it is if it says nothing about memory.
    module: Result<records::Module, String>,
    /// It is called a part of a dump, and is none.
    is_broken: bool,
    notes: std::sync::Arc<[Note]>,
    /// See [`not_understood`].
    not_understood: Vec<String>,
}

impl Summary {
    pub fn run(&self) -> io::Result<ExitCode> {
        let (found, problems) = workspace::find(&self.paths);
        for problem in &problems {
            complain(problem);
        }
        let mut is_unreadable = !problems.is_empty();
        let mut modules = Vec::new();
        dumps::for_each(&found, Texts::Held, read, |read| {
            match read {
                Ok(read) => {
                    for note in read.notes.iter() {
                        complain(note);
                        is_unreadable = true;
                    }
                    for problem in &read.not_understood {
                        complain(problem);
                    }
                    let is_meant = read.is_broken || self.paths.contains(&read.path);
                    let module = or_complain(read.module, &read.path, is_meant, &mut is_unreadable);
                    modules.extend(module);
                }
                Err(problem) => {
                    complain(problem);
                    is_unreadable = true;
                }
            }
            Ok(())
        })?;
        if modules.is_empty() && !is_unreadable {
            is_unreadable = complain_of_none(&self.paths).is_some();
        }
        let has_space = |module: &records::Module| {
            let mut spaces = module.spaces.iter();
            spaces.any(|space| space.color == self.space)
        };
        // 0 is what dumps are sorted by where nothing is asked for.
        if self.space != 0 && !modules.is_empty() && !modules.iter().any(has_space) {
            complain(format_args!("no dump has memory space {}", self.space));
            is_unreadable = true;
        }
        let mut summary = records::Summary::new(modules, self.space);
        let limit = self.limit.unwrap_or(usize::MAX);
        if !self.format.is_for_people() {
            summary.modules_left_out = summary.modules.len().saturating_sub(limit);
            summary.modules.truncate(limit);
        }
        if !summary.modules.is_empty() || self.format == Format::Json {
            self.format.write(
                &summary,
                || page::page(&summary, self.space, limit),
                || page::table(&summary),
            )?;
        }
        Ok(ExitCode::from(if is_unreadable { UNREADABLE } else { 0 }))
    }
}

fn read(loaded: Loaded) -> Read {
    let loaded = without_strangers(loaded);
    let path = loaded.dump.files[loaded.file].path.clone();
    let module = if is_dump(&loaded.dump) {
        let audit = audit::Audit::new(&loaded.dump, Libraries::default());
        Ok(records::module(&audit, &path))
    } else {
        Err(no_dump(&loaded))
    };
    Read {
        path,
        is_broken: is_broken(&loaded),
        module,
        not_understood: not_understood(&loaded.dump),
        notes: loaded.notes,
    }
}
