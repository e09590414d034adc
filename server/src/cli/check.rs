//! `buflens check`: what does not add up.

use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::dumps::{self, Found};
use super::{FINDINGS, UNREADABLE, complain};
use crate::checks::{self, Finding, Severities, Severity, Thresholds};
use crate::lsp;
use crate::model::{Dump, Part};
use crate::report::{Counts, Judged, json, text};
use crate::workspace::Loaded;

/// The width of the output where the terminal does not tell it.
const WIDTH: usize = 100;

/// Check dumps: where sizes, offsets, totals, live ranges or names contradict each other.
///
/// Exits with 0 if nothing was found, 1 with findings, 2 if something could not be read.
#[derive(Debug, Args)]
pub struct Check {
    /// Files, each of which stands for its whole dump, and folders, which are searched for dumps.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// How the findings are written.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// The severity from which on findings make the exit code 1.
    #[arg(long, value_enum, default_value = "warning", value_name = "LEVEL")]
    deny: Deny,
    /// Gives a code another severity, or turns it off: `color-mismatch=hint`, `human-bytes=off`.
    #[arg(long = "severity", value_parser = chosen_severity, value_name = "CODE=LEVEL")]
    severities: Vec<(String, String)>,
    /// The bytes that the device has of a memory space: `HBM=15.75GiB`, `@1=16777216`. What is
    /// reserved above that is a finding, `capacity`. May be repeated.
    #[arg(long = "capacity", value_parser = chosen_capacity, value_name = "SPACE=BYTES")]
    capacities: Vec<(String, u64)>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Deny {
    Error,
    Warning,
    Information,
    Hint,
    /// The exit code never tells of findings.
    Never,
}

impl Deny {
    fn denies(self, severity: Severity) -> bool {
        match self {
            Self::Error => severity >= Severity::Error,
            Self::Warning => severity >= Severity::Warning,
            Self::Information => severity >= Severity::Information,
            Self::Hint => true,
            Self::Never => false,
        }
    }
}

/// `CODE=LEVEL`, of which both exist.
fn chosen_severity(text: &str) -> Result<(String, String), String> {
    let (code, level) = text.split_once('=').ok_or("expected CODE=LEVEL")?;
    Severities::default().choose(code, level)?;
    Ok((code.to_owned(), level.to_owned()))
}

/// `SPACE=BYTES`, as the server's configuration has it.
pub(super) fn chosen_capacity(text: &str) -> Result<(String, u64), String> {
    let (space, bytes) = text.split_once('=').ok_or("expected SPACE=BYTES")?;
    let bytes = lsp::chosen_capacity(space, &bytes.into())?;
    Ok((space.to_owned(), bytes))
}

impl Check {
    pub fn run(&self) -> io::Result<ExitCode> {
        let (found, problems) = dumps::find(&self.paths);
        for problem in &problems {
            complain(problem);
        }
        if found.is_empty() && problems.is_empty() {
            complain("there is no dump at the given paths");
        }
        let mut totals = Totals {
            is_unreadable: !problems.is_empty(),
            ..Totals::default()
        };
        match self.format {
            Format::Text => {
                let width =
                    terminal_size::terminal_size().map_or(WIDTH, |(width, _)| width.0.into());
                let mut writer =
                    text::Writer::new(BufWriter::new(anstream::stdout().lock()), width);
                self.check_all(&found, &mut totals, |dump, findings| {
                    writer.findings(dump, findings)
                })?;
                writer.finish(&totals.counts)?;
            }
            Format::Json => {
                let mut writer = json::Writer::new(BufWriter::new(io::stdout().lock()))?;
                self.check_all(&found, &mut totals, |dump, findings| {
                    writer.findings(dump, findings)
                })?;
                writer.finish()?;
            }
        }
        Ok(ExitCode::from(match totals {
            Totals {
                is_unreadable: true,
                ..
            } => UNREADABLE,
            Totals {
                is_denied: true, ..
            } => FINDINGS,
            _ => 0,
        }))
    }

    /// Checks the dumps and writes the findings in the order of the dumps.
    fn check_all(
        &self,
        found: &[Found],
        totals: &mut Totals,
        mut write: impl FnMut(&Dump, &[Judged]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut severities = Severities::default();
        for (code, level) in &self.severities {
            severities.choose(code, level).map_err(io::Error::other)?;
        }
        let thresholds = Thresholds {
            capacity: self.capacities.clone(),
            ..Thresholds::default()
        };
        let check = |loaded: Loaded| {
            let findings = checks::check_with(&loaded.dump, &thresholds);
            let findings = judged(findings, &severities);
            (loaded, findings)
        };
        dumps::for_each(found, check, |checked| match checked {
            Ok((loaded, findings)) => {
                for note in loaded.notes.iter() {
                    complain(note);
                    totals.is_unreadable = true;
                }
                if is_text(&loaded.dump) {
                    totals.counts.texts += 1;
                } else {
                    totals.counts.dumps += 1;
                }
                for judged in &findings {
                    totals.counts.add(judged.severity);
                    totals.is_denied |= self.deny.denies(judged.severity);
                }
                write(&loaded.dump, &findings)
            }
            Err(problem) => {
                complain(problem);
                totals.is_unreadable = true;
                Ok(())
            }
        })
    }
}

/// Whether there is the HLO text alone: that of a stage of compilation, or of a program whose dump
/// lies elsewhere.
fn is_text(dump: &Dump) -> bool {
    let mut parts = dump.files.iter().map(|it| it.document.kind().into());
    parts.all(|part: Part| part == Part::Module)
}

#[derive(Debug, Default)]
struct Totals {
    counts: Counts,
    is_denied: bool,
    is_unreadable: bool,
}

fn judged(findings: Vec<Finding>, severities: &Severities) -> Vec<Judged> {
    let judge = |finding: Finding| {
        Some(Judged {
            severity: severities.of(finding.code)?,
            finding,
        })
    };
    findings.into_iter().filter_map(judge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severities_are_read() {
        let chosen = |code: &str, level: &str| Ok((code.to_owned(), level.to_owned()));
        assert_eq!(chosen_severity("syntax=hint"), chosen("syntax", "hint"));
        assert!(chosen_severity("syntax").is_err());
        assert!(chosen_severity("syntax=fatal").is_err());
        assert!(chosen_severity("sintax=off").is_err());
    }

    #[test]
    fn capacities_are_read() {
        let chosen = |space: &str, bytes| Ok((space.to_owned(), bytes));
        assert_eq!(chosen_capacity("HBM=1.5KiB"), chosen("HBM", 1536));
        assert_eq!(chosen_capacity("@1=1024"), chosen("@1", 1024));
        for wrong in ["HBM", "HBM=", "HBM=much", "HDD=1GiB"] {
            assert!(chosen_capacity(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_denied_is_at_least_as_bad() {
        assert!(
            Deny::Warning.denies(Severity::Error) && !Deny::Warning.denies(Severity::Information)
        );
        assert!(Deny::Hint.denies(Severity::Hint) && !Deny::Never.denies(Severity::Error));
    }
}
