//! `buflens check`: what does not add up, and what takes more than it may.

mod account;

use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::process::ExitCode;

use buflens_syntax::DocumentKind;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use self::account::{Account, Outcome};
use super::config::{Amount, Config, limit};
use super::dumps;
use super::one_dump::no_dump;
use super::output::{WhileRead, width_or, write_whole};
use super::{FINDINGS, UNREADABLE, complain, complain_of_none};
use crate::checks::budgets::{Baseline, Budgets, Percent, Ratio};
use crate::checks::{self, Code, Finding, Severities, Severity, Thresholds};
use crate::model::Dump;
use crate::model::bytes::counted;
use crate::model::device::{DEVICES, Device};
use crate::model::space;
use crate::report::{Counts, Judged, json, judged, markdown, sarif, text};
use crate::workspace::{self, Found, Loaded};

/// The width where nothing tells it: lines of dumps are longer than those of tables.
const WIDTH: usize = 100;

/// Check dumps: where sizes, offsets, totals, live ranges or names contradict each other, and where
/// budgets are not kept.
///
/// Options go before what `buflens.toml` says, which is looked for at and above the working
/// directory. Exits with 1 if a finding is as severe as `--deny` says, 2 if something could not be read,
/// else with 0.
#[derive(Debug, Args)]
pub struct Check {
    /// Files, each of which stands for its whole dump, and folders, which are searched for dumps.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// How the findings are written.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// The severity from which on findings make the exit code 1; `warning` if it is not given.
    #[arg(long, value_enum, value_name = "LEVEL")]
    deny: Option<Deny>,
    /// The severity from which on findings are written; all are if it is not given. Those that are not are counted, and
    /// count for the exit code, all the same.
    #[arg(long, value_parser = severities(), value_name = "LEVEL")]
    show: Option<Severity>,
    /// Gives a code another severity, or turns it off: `color-mismatch=hint`, `human-bytes=off`.
    #[arg(long = "severity", value_parser = chosen_severity, value_name = "CODE=LEVEL")]
    severities: Vec<(String, String)>,
    /// The device whose main memory programs for its platform have to fit into: `v5e`, `H100-80GB`.
    /// What is reserved above that is a finding, `capacity`.
    #[arg(long, value_parser = devices(), ignore_case = true, hide_possible_values = true, value_name = "NAME")]
    device: Option<Device>,
    /// The bytes that the device has of a memory space: `HBM=15.75GiB`, `@1=16777216`. May be
    /// repeated; goes before what is known of the device.
    #[arg(long = "capacity", value_parser = chosen_capacity, value_name = "SPACE=BYTES")]
    capacities: Vec<(String, u64)>,
    /// The bytes that may be occupied at the true peak of a memory space, 0 if none is named:
    /// `hbm=15.75GiB`. May be repeated.
    #[arg(long, value_parser = limit::<u64>, value_name = "[SPACE=]BYTES")]
    max_peak: Vec<(String, u64)>,
    /// The bytes that the temp allocations of a memory space may take together. May be repeated.
    #[arg(long, value_parser = limit::<u64>, value_name = "[SPACE=]BYTES")]
    max_temp: Vec<(String, u64)>,
    /// How many times as large padding may make what is occupied at the true peak: `2x`. May be
    /// repeated.
    #[arg(long, value_parser = limit::<Ratio>, value_name = "[SPACE=]RATIO")]
    max_padding: Vec<(String, Ratio)>,
    /// How much peak, temp and reserved bytes may grow against the baseline: `3%`.
    #[arg(long, value_parser = Percent::read, value_name = "PERCENT")]
    max_growth: Option<Percent>,
    /// The baseline, a file that `--write-baseline` wrote.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Writes what is there now as the baseline of later runs.
    #[arg(long, value_name = "FILE")]
    write_baseline: Option<PathBuf>,
    /// The configuration instead of the nearest `buflens.toml`.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// With the lines in question.
    Text,
    /// All of them, for programs.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// A table, for a comment on a pull request.
    Markdown,
}

/// From which severity on findings make the exit code 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Deny {
    /// Errors alone.
    Error,
    /// Warnings too.
    Warning,
    /// What is worth knowing too.
    Information,
    /// All findings.
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

/// The devices that are known, by name.
pub(super) fn devices() -> impl TypedValueParser<Value = Device> {
    let names = PossibleValuesParser::new(DEVICES.map(|device| device.name));
    names.try_map(|name| Device::named(&name))
}

/// The severities, by name.
fn severities() -> impl TypedValueParser<Value = Severity> {
    let names = PossibleValuesParser::new(Severity::ALL.map(Severity::name));
    names.try_map(|name| Severity::named(&name).ok_or("there is none of this name"))
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
    space::called_anywhere(space)?;
    Ok((space.to_owned(), u64::read(bytes)?))
}

/// What the options and the configuration say together.
struct Settings {
    severities: Severities,
    thresholds: Thresholds,
    deny: Deny,
    /// The least that is written.
    show: Severity,
    account: Account,
}

impl Check {
    pub fn run(&self) -> io::Result<ExitCode> {
        let mut settings = match self.settings() {
            Ok(settings) => settings,
            Err(problem) => {
                complain(problem);
                return Ok(ExitCode::from(UNREADABLE));
            }
        };
        let (found, mut problems) = workspace::find(&self.paths);
        for problem in &problems {
            complain(problem);
        }
        if found.is_empty() && problems.is_empty() {
            problems.extend(complain_of_none(&self.paths));
        }
        let mut totals = Totals {
            is_unreadable: !problems.is_empty(),
            notes: problems,
            ..Totals::default()
        };
        match self.format {
            Format::Text => {
                let out = BufWriter::new(WhileRead(anstream::stdout().lock()));
                let mut writer = text::Writer::new(out, width_or(WIDTH));
                self.check_all(&mut settings, &found, &mut totals, |dump, findings| {
                    writer.findings(dump, findings)
                })?;
                writer.finish(&totals.counts)?;
            }
            Format::Json => {
                let mut writer = json::Writer::new(BufWriter::new(WhileRead(io::stdout().lock())))?;
                self.check_all(&mut settings, &found, &mut totals, |dump, findings| {
                    writer.findings(dump, findings)
                })?;
                writer.finish()?;
            }
            Format::Sarif => {
                let mut writer = sarif::Writer::new(std::env::current_dir()?);
                self.check_all(&mut settings, &found, &mut totals, |dump, findings| {
                    writer.findings(dump, findings);
                    Ok(())
                })?;
                let out = BufWriter::new(WhileRead(io::stdout().lock()));
                writer.finish(out, &totals.notes, !totals.is_unreadable)?;
            }
            Format::Markdown => {
                let mut writer = markdown::Writer::default();
                self.check_all(&mut settings, &found, &mut totals, |dump, findings| {
                    writer.findings(dump, findings);
                    Ok(())
                })?;
                let out = BufWriter::new(WhileRead(io::stdout().lock()));
                writer.finish(out, &totals.counts, &totals.notes)?;
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

    fn settings(&self) -> Result<Settings, String> {
        let config = Config::find(self.config.as_deref())?;
        let mut severities = Severities::default();
        for (code, level) in &self.severities {
            severities.choose(code, level)?;
        }
        let own = Budgets {
            peak: self.max_peak.clone(),
            temp: self.max_temp.clone(),
            padding: self.max_padding.clone(),
            growth: self.max_growth,
        };
        let is_written = self.write_baseline.is_some();
        if let Some(path) = &self.write_baseline {
            let text = path.is_file().then(|| std::fs::read(path)).transpose();
            let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
            let text = text.map(|text| String::from_utf8_lossy(&text).into_owned());
            if text.is_some_and(|text| !text.is_empty() && !Baseline::is_one(&text)) {
                let path = path.display();
                return Err(format!("{path} is no baseline, and is not overwritten"));
            }
        }
        let mut account = Account::new(config.budgets, config.modules, own, is_written);
        // What is to be replaced by what is there now is nothing to measure it against.
        let configured = config.baseline.filter(|_| !is_written);
        let baseline = self.baseline.clone().or(configured);
        match baseline {
            Some(_) if self.baseline.is_some() && !account.limits_growth() => {
                return Err("--baseline says nothing without --max-growth".to_owned());
            }
            Some(path) if account.limits_growth() => {
                let text = std::fs::read_to_string(&path).map_err(|error| error.to_string());
                let baseline = text.and_then(|text| Baseline::read(&text));
                let baseline = baseline.map_err(|error| format!("{}: {error}", path.display()))?;
                account.before = Some(baseline);
            }
            None if account.limits_growth() && !is_written => {
                return Err(
                    "growth is limited, but against what? --baseline, or `baseline` in \
                     `buflens.toml`, names the file, and --write-baseline writes it"
                        .to_owned(),
                );
            }
            _ => {}
        }
        let of = |device: Option<Device>| device.into_iter().map(|it| it.capacity());
        Ok(Settings {
            severities: severities.over(&config.severities),
            thresholds: Thresholds {
                // The last word counts.
                capacity: of(config.device)
                    .chain(config.capacities)
                    .chain(of(self.device))
                    .chain(self.capacities.clone())
                    .collect(),
                ..Thresholds::default()
            },
            deny: self.deny.or(config.deny).unwrap_or(Deny::Warning),
            show: self.show.unwrap_or(Severity::Hint),
            account,
        })
    }

    /// The memory spaces whose capacity this run is asked about, each with what to say if no dump can have it.
    fn asked_capacities(&self) -> Vec<(String, String)> {
        let of_device = self.device.map(|device| {
            let platform = device.platform.name().to_uppercase();
            let unmet = format!(
                "no dump is of a program for a {platform}, so the capacity of {} was not asked about",
                device.name
            );
            (device.capacity().0, unmet)
        });
        let chosen = self.capacities.iter().map(|(space, _)| {
            let unmet = format!(
                "no dump has a memory space `{space}`, so its capacity was not asked about"
            );
            (space.clone(), unmet)
        });
        of_device.into_iter().chain(chosen).collect()
    }

    /// Writes the baseline, if all of it is there.
    fn write_baseline(&self, now: &Baseline, totals: &mut Totals) {
        let Some(path) = &self.write_baseline else {
            return;
        };
        let problem = if let Some(broken) = &totals.broken {
            format!(
                "the baseline is not written, as it would hold wrong numbers of {}",
                broken.display()
            )
        } else if totals.is_unreadable {
            "the baseline is not written, as it would not hold everything".to_owned()
        } else {
            match write_whole(path, |out| now.write(out)) {
                Ok(()) => {
                    if now.without_peak() > 0 {
                        let count = counted(now.without_peak() as u64, "program");
                        totals.note(format!(
                            "{}: of {count} the peak is not known, and will not be compared",
                            path.display()
                        ));
                    }
                    return;
                }
                Err(error) => format!("the baseline cannot be written: {error}"),
            }
        };
        totals.unreadable(&format!("{}: {problem}", path.display()));
    }

    /// Checks the dumps and writes the findings, and sees to what is about all of them.
    fn check_all(
        &self,
        settings: &mut Settings,
        found: &[Found],
        totals: &mut Totals,
        write: impl FnMut(&Dump, &[Judged]) -> io::Result<()>,
    ) -> io::Result<()> {
        let asked = self.asked_capacities();
        let count = asked.len();
        totals.unmet = asked;
        write_findings(settings, found, totals, write)?;
        let unmet = std::mem::take(&mut totals.unmet);
        // Without any dump nothing is asked.
        if totals.counts.dumps > 0 {
            // Without any capacity the run says nothing.
            totals.is_unreadable |= count > 0 && unmet.len() == count;
            for (_, note) in unmet {
                totals.note(note);
            }
        }
        self.write_baseline(&settings.account.now, totals);
        Ok(())
    }
}

/// Checks the dumps and writes the findings in the order of the dumps, of each those about budgets
/// first.
fn write_findings(
    settings: &mut Settings,
    found: &[Found],
    totals: &mut Totals,
    mut write: impl FnMut(&Dump, &[Judged]) -> io::Result<()>,
) -> io::Result<()> {
    let Settings {
        severities,
        thresholds,
        deny,
        show,
        account,
    } = settings;
    let is_measured = account.is_open();
    let check = |loaded: Loaded| {
        let findings = checks::check_with(&loaded.dump, thresholds);
        let measured = is_measured
            .then(|| account::measure(&loaded, &findings))
            .flatten();
        (loaded, findings, measured)
    };
    dumps::for_each(found, check, |checked| match checked {
        Ok((loaded, findings, measured)) => {
            for note in loaded.notes.iter() {
                totals.unreadable(note);
            }
            if is_of(&loaded.dump, DocumentKind::OutOfMemory) {
                let path = loaded.dump.files[loaded.file].path.display();
                totals.unreadable(&format!("{path}: {}", no_dump(&loaded)));
                return Ok(());
            }
            // That of a stage of compilation, or of a program whose dump lies elsewhere.
            if is_of(&loaded.dump, DocumentKind::Module) {
                totals.counts.texts += 1;
            } else {
                totals.counts.dumps += 1;
                totals
                    .unmet
                    .retain(|(space, _)| !loaded.dump.can_have(space));
            }
            let mut all = measured.map_or_else(Vec::new, |measured| {
                account.findings(&loaded.dump, &findings, measured)
            });
            if totals.broken.is_none() && is_broken(&findings) {
                totals.broken = Some(loaded.dump.files[loaded.file].path.clone());
            }
            all.extend(findings);
            let mut findings = judged(all, severities);
            for judged in &findings {
                totals.counts.add(judged.severity);
                totals.is_denied |= deny.denies(judged.severity);
            }
            findings.retain(|judged| judged.severity >= *show);
            let written = write(&loaded.dump, &findings);
            for note in loaded.later_notes() {
                totals.unreadable(&note);
            }
            dumps::drop_aside(loaded);
            written
        }
        Err(problem) => {
            totals.unreadable(&problem);
            Ok(())
        }
    })?;
    let Outcome { notes, problems } = account.finish();
    for text in notes.iter().chain(&problems) {
        complain(text);
    }
    totals.is_unreadable |= !problems.is_empty();
    totals.notes.extend([notes, problems].concat());
    Ok(())
}

/// Whether what was found says that numbers are missing.
fn is_broken(findings: &[Finding]) -> bool {
    let mut codes = findings.iter().map(|finding| finding.code);
    codes.any(|code| {
        matches!(
            code,
            Code::Syntax | Code::Truncated | Code::OtherCompilation
        )
    })
}

/// Whether all files are of this kind.
fn is_of(dump: &Dump, kind: DocumentKind) -> bool {
    let mut kinds = dump.files.iter().map(|it| it.document.kind());
    kinds.all(|it| it == kind)
}

#[derive(Debug, Default)]
struct Totals {
    counts: Counts,
    is_denied: bool,
    is_unreadable: bool,
    /// What is to be said of the run as a whole.
    notes: Vec<String>,
    /// The first file of a dump whose numbers are not all there.
    broken: Option<PathBuf>,
    /// The memory spaces with a capacity of this run that no dump so far can have, and what to say of each.
    unmet: Vec<(String, String)>,
}

impl Totals {
    /// Something could not be read.
    fn unreadable(&mut self, problem: &impl ToString) {
        self.note(problem.to_string());
        self.is_unreadable = true;
    }

    /// Something is to be known of the whole run.
    fn note(&mut self, note: String) {
        complain(&note);
        self.notes.push(note);
    }
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
