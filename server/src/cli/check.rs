//! `buflens check`: what does not add up.

use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use rayon::prelude::*;

use super::dumps::{self, Found};
use super::{FINDINGS, UNREADABLE, complain};
use crate::checks::{self, Finding, Severities, Severity};
use crate::model::Dump;
use crate::report::{Counts, Judged, json, text};
use crate::workspace::{self, LoadError, Loaded};

/// The width of the output where the terminal does not tell it.
const WIDTH: usize = 100;
/// Dumps of so many bytes are held at a time; a larger one is held alone.
const BATCH_BYTES: u64 = 256 << 20;
/// So many dumps are held at a time, however small they are.
const BATCH: usize = 64;

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

/// What came out of a dump.
type Checked = Result<(Loaded, Vec<Judged>), LoadError>;

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

    /// Checks dumps in parallel, a batch at a time, and writes the findings in the order of the
    /// dumps. Memory is that of a batch, however many dumps there are.
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
        // Shown on stderr, if that is a terminal.
        let progress = if found.len() > BATCH {
            ProgressBar::new(found.len() as u64)
        } else {
            ProgressBar::hidden()
        };
        let mut rest = found;
        while !rest.is_empty() {
            let batch;
            (batch, rest) = rest.split_at(batch_length(rest));
            let checked: Vec<Checked> = batch
                .par_iter()
                .flat_map_iter(|found| check(found, &severities))
                .collect();
            progress.suspend(|| self.write_all(checked, totals, &mut write))?;
            progress.inc(batch.len() as u64);
        }
        progress.finish_and_clear();
        Ok(())
    }

    fn write_all(
        &self,
        checked: Vec<Checked>,
        totals: &mut Totals,
        mut write: impl FnMut(&Dump, &[Judged]) -> io::Result<()>,
    ) -> io::Result<()> {
        for checked in checked {
            match checked {
                Ok((loaded, findings)) => {
                    for note in loaded.notes.iter() {
                        complain(note);
                        totals.is_unreadable = true;
                    }
                    totals.counts.dumps += 1;
                    for judged in &findings {
                        totals.counts.add(judged.severity);
                        totals.is_denied |= self.deny.denies(judged.severity);
                    }
                    write(&loaded.dump, &findings)?;
                }
                Err(problem) => {
                    complain(problem);
                    totals.is_unreadable = true;
                }
            }
        }
        Ok(())
    }
}

#[derive(Debug, Default)]
struct Totals {
    counts: Counts,
    is_denied: bool,
    is_unreadable: bool,
}

/// How many of the dumps, of which there is at least one, are held at the same time.
fn batch_length(found: &[Found]) -> usize {
    let mut bytes = 0;
    let fitting = found.iter().take(BATCH).take_while(|found| {
        bytes += found.bytes;
        bytes <= BATCH_BYTES
    });
    fitting.count().max(1)
}

/// Checks the dump that the files found are parts of. A file among them that is none, since it
/// was renamed or is no dump at all, is a dump of its own.
fn check(found: &Found, severities: &Severities) -> Vec<Checked> {
    let mut checked: Vec<Checked> = Vec::new();
    for path in &found.paths {
        let name = path.file_name();
        let is_done = |loaded: &Loaded| {
            loaded
                .dump
                .files
                .iter()
                .any(|file| file.path.file_name() == name)
        };
        if !checked.iter().flatten().any(|(loaded, _)| is_done(loaded)) {
            checked.push(workspace::load(path).map(|loaded| {
                let findings = judged(checks::check(&loaded.dump), severities);
                (loaded, findings)
            }));
        }
    }
    checked
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
    fn a_batch_is_bounded_in_number_and_bytes() {
        let dump = |bytes| Found {
            paths: vec!["x".into()],
            bytes,
        };
        assert_eq!(batch_length(&vec![dump(1); 200]), BATCH);
        assert_eq!(batch_length(&[dump(BATCH_BYTES - 1), dump(1), dump(1)]), 2);
        assert_eq!(batch_length(&[dump(BATCH_BYTES + 1), dump(1)]), 1);
    }

    #[test]
    fn what_is_denied_is_at_least_as_bad() {
        assert!(
            Deny::Warning.denies(Severity::Error) && !Deny::Warning.denies(Severity::Information)
        );
        assert!(Deny::Hint.denies(Severity::Hint) && !Deny::Never.denies(Severity::Error));
    }
}
