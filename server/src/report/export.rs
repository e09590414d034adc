//! A dump for other programs: as one object, as a row for each value, and as a trace. A contract,
//! described in `docs/export.md`: what is here may grow, and nothing may change its name or meaning.

mod lanes;
mod record;
mod trace;
mod values;

use std::io::{self, Write};

use super::Judged;
use super::records::{FileLocation, Source};
use crate::audit::Audit;
use crate::model::{Dump, Place};

/// What a dump can be exported as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One object with all that is known.
    Json,
    /// A row for each value.
    Csv,
    /// Trace events, which <https://ui.perfetto.dev> draws.
    Perfetto,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::Json, Self::Csv, Self::Perfetto];

    /// What it is called on the command line and in the server's command.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Perfetto => "perfetto",
        }
    }

    /// How the names of its files end, without the first dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Perfetto => "perfetto.json",
        }
    }

    /// The format of this name.
    ///
    /// # Errors
    /// With a sentence that says which there are.
    pub fn named(name: &str) -> Result<Self, String> {
        let mut all = Self::ALL.into_iter();
        all.find(|format| format.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            format!("there is no format `{name}`; there are {known}")
        })
    }
}

/// A dump that is exported.
pub struct Export<'a, 'd> {
    /// The dump.
    pub audit: &'a Audit<'d>,
    /// Finds what does not add up in it.
    pub findings: &'a dyn Fn() -> Vec<Judged>,
}

impl Export<'_, '_> {
    /// Why there is nothing to write in `format`, if so.
    pub fn problem(&self, format: Format) -> Option<String> {
        let reason = self.audit.dump.occupancy().reason?;
        (format == Format::Perfetto).then(|| format!("there is no trace to draw: {reason}"))
    }

    /// Writes the dump.
    pub fn write(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Json => record::write(self, out),
            Format::Csv => {
                let locate = |place: &Place| location(self.audit.dump, place);
                let source = Source {
                    audit: self.audit,
                    locate: &locate,
                };
                values::table(&source).write_csv(out)
            }
            Format::Perfetto => trace::write(self.audit, out),
        }
    }
}

/// Where `place` begins. All files of a dump lie in one folder, which says nothing to who gets the
/// export.
fn location(dump: &Dump, place: &Place) -> Option<FileLocation> {
    let location = FileLocation::new(dump, place)?;
    let file = file_name(location.file.as_ref());
    Some(FileLocation { file, ..location })
}

fn file_name(path: &std::path::Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}
