//! `buflens ls`: which compilations there are, and which of their files.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::dumps;
use super::one_dump::{Problem, no_dump, without};
use super::output::Format;
use super::{UNREADABLE, complain, complain_of_none};
use crate::audit::Audit;
use crate::checks;
use crate::model::bytes::counted;
use crate::model::source::Libraries;
use crate::report::pages::listing as page;
use crate::report::records::{self, Listed, Listing};
use crate::workspace::{self, Found, Loaded};

/// List compilations: their sizes, which of their files are there, and what is wrong with these.
#[derive(Debug, Args)]
pub struct Ls {
    /// Folders, which are searched for dumps, and files, each of which stands for its whole dump.
    #[arg(required = true, value_name = "DIR")]
    paths: Vec<PathBuf>,
    /// How the answer is written.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// What the list is sorted by.
    #[arg(long, value_enum, default_value = "path")]
    sort: Sort,
    /// So many compilations at most.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// What the list is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// The paths of the files.
    Path,
    /// The bytes occupied at the true peak of memory space 0, the most first.
    Peak,
}

impl Ls {
    pub fn run(&self) -> io::Result<ExitCode> {
        let (found, problems) = workspace::find(&self.paths);
        for problem in &problems {
            complain(problem);
        }
        // Texts of other stages say nothing about memory, and most of the bytes are theirs.
        let (found, texts): (Vec<Found>, Vec<Found>) =
            found.into_iter().partition(|found| found.is_compilation);
        let (listed, mut is_unreadable) = dumps::each(&found, read)?;
        is_unreadable |= !problems.is_empty();
        let texts = texts.iter().map(Found::stem);
        let mut listing = Listing::new(listed, texts.collect());
        if self.sort == Sort::Peak {
            listing.sort_by_peak();
        }
        if listing.compilations.is_empty() && !is_unreadable {
            is_unreadable = complain_of_none(&self.paths).is_some();
            if !listing.texts_alone.is_empty() {
                let texts = counted(listing.texts_alone.len(), "HLO text");
                complain(format_args!("`buflens check` reads the {texts} there"));
            }
        }
        let limit = self.limit.unwrap_or(usize::MAX);
        if !self.format.is_for_people() {
            let count = listing.compilations.len();
            listing.compilations_left_out = count.saturating_sub(limit);
            listing.compilations.truncate(limit);
        }
        if !listing.compilations.is_empty() || self.format == Format::Json {
            self.format.write(
                &listing,
                || page::page(&listing, limit),
                || page::table(&listing),
            )?;
        }
        Ok(ExitCode::from(if is_unreadable { UNREADABLE } else { 0 }))
    }
}

fn read(loaded: Loaded) -> (Loaded, Result<Listed, Problem>) {
    let dump = &loaded.dump;
    let is_part = workspace::PARTS
        .iter()
        .any(|(part, _)| workspace::has_part(dump, *part));
    let path = &dump.files[loaded.file].path;
    let listed = if is_part {
        let strangers = checks::strangers(dump);
        let own = without(loaded.clone(), &strangers);
        let audit = Audit::new(&own.dump, Libraries::default());
        let mut listed = records::listed(&audit, dump, path);
        listed.problems.extend(strangers.into_iter().map(|finding| {
            let path = &dump.files[finding.place.file].path;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            format!("{name}: {}", finding.message)
        }));
        Ok(listed)
    } else {
        Err(no_dump(&loaded))
    };
    (loaded, listed)
}
