//! `buflens summary`: what dumps reserve and occupy.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::dumps;
use super::one_dump::{Problem, told_of};
use super::output::Format;
use super::{UNREADABLE, complain, complain_of_none};
use crate::audit;
use crate::model::source::Libraries;
use crate::report::pages::summary as page;
use crate::report::records;
use crate::workspace::{self, Loaded};

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

impl Summary {
    pub fn run(&self) -> io::Result<ExitCode> {
        let (found, problems) = workspace::find(&self.paths);
        for problem in &problems {
            complain(problem);
        }
        let (modules, mut is_unreadable) = dumps::each(&found, read)?;
        is_unreadable |= !problems.is_empty();
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

fn read(loaded: Loaded) -> (Loaded, Result<records::Module, Problem>) {
    told_of(loaded, |Loaded { dump, file, .. }| {
        let audit = audit::Audit::new(dump, Libraries::default());
        records::module(&audit, &dump.files[*file].path)
    })
}
