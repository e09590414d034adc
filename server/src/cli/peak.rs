//! `buflens peak`: what a memory space holds when it is fullest.

use std::collections::BTreeSet;
use std::io;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::complain;
use super::one_dump::{One, Problem, space_named, values_named};
use crate::audit::attribution::By;
use crate::model::{Dump, space};
use crate::report::pages::{allocation as allocation_page, peak as page};
use crate::report::records::{self, Answer, Attributed, FileLocation, PeakQuery, Source};

/// Show what a memory space holds at its true peak, or at any step: which values, of whose making,
/// and where the peak would be without them.
#[derive(Debug, Args)]
pub struct Peak {
    #[command(flatten)]
    one: One,
    /// The memory space, by number or name: `1`, `VMEM`, `host`.
    #[arg(long, value_name = "SPACE", default_value = "0")]
    space: String,
    /// Another step than the true peak's.
    #[arg(long, value_name = "N")]
    step: Option<u64>,
    /// Values to leave out, by id or by name: the peak is that of the rest, with the schedule and
    /// the placement as they are.
    #[arg(long, value_name = "ID,NAME")]
    without: Vec<String>,
    /// All values of the allocation with this number instead, in the order of time.
    #[arg(long, value_name = "N", conflicts_with_all = ["space", "without", "by"])]
    allocation: Option<u64>,
    /// What bytes are added up by; `op_name`, `source` and `shape` if it is not given. May be repeated.
    #[arg(long, value_enum)]
    by: Vec<Attribution>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Attribution {
    /// The trace path.
    OpName,
    /// The line of source, the user's own before a library's.
    Source,
    /// The opcode of the defining instruction.
    Opcode,
    /// The shape with its layout.
    Shape,
}

impl From<Attribution> for By {
    fn from(by: Attribution) -> Self {
        match by {
            Attribution::OpName => Self::OpName,
            Attribution::Source => Self::Source,
            Attribution::Opcode => Self::Opcode,
            Attribution::Shape => Self::Shape,
        }
    }
}

/// A peak, and its bytes by what was asked for.
#[derive(Serialize)]
struct Record<'r> {
    #[serde(flatten)]
    peak: &'r Answer<records::Peak<FileLocation>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<serde_json::Map<String, serde_json::Value>>,
}

impl Peak {
    pub fn run(&self) -> io::Result<ExitCode> {
        self.one.run(|source| self.answer(source))
    }

    fn answer(&self, source: &Source<'_, '_, FileLocation>) -> Result<io::Result<()>, Problem> {
        if let Some(number) = self.allocation {
            return self.list(source, number);
        }
        let dump = source.audit.dump;
        let color = space_named(dump, &self.space)?;
        let without = values_named(dump, &self.without.join(","))?;
        if without.is_empty() && !self.without.is_empty() {
            return Err("--without names no value".to_owned());
        }
        if let Some(note) = elsewhere(dump, color, &without) {
            complain(note);
        }
        if let Some(problem) = self
            .step
            .and_then(|step| records::step_problem(dump, color, step))
        {
            return Err(problem);
        }
        let limit = self.one.limit();
        let query = PeakQuery {
            color,
            step: self.step,
            without: &without,
            limit,
        };
        let (peak, held) = records::peak(source, &query);
        let answer = Answer::new(dump, peak);
        let format = self.one.format;
        let mut by: Vec<By> = self.by.iter().copied().map(By::from).collect();
        if by.is_empty() && format.is_for_people() {
            by = vec![By::OpName, By::Source, By::Shape];
        }
        let attributed: Vec<(By, Vec<Attributed>)> = by
            .into_iter()
            .map(|by| {
                let mut groups = records::attribution(source.audit, &held, by);
                if !format.is_for_people() {
                    groups.truncate(limit);
                }
                (by, groups)
            })
            .collect();
        let record = Record {
            peak: &answer,
            by: (!self.by.is_empty()).then(|| {
                let groups = attributed.iter().map(|(by, groups)| {
                    let groups = serde_json::to_value(groups).unwrap_or_default();
                    (page::title(*by).to_owned(), groups)
                });
                groups.collect()
            }),
        };
        let written = format.write(
            &record,
            || page::page(&answer, &attributed, limit),
            || page::values(&answer.content),
        );
        Ok(written)
    }

    /// Lists what lies in one allocation.
    fn list(
        &self,
        source: &Source<'_, '_, FileLocation>,
        number: u64,
    ) -> Result<io::Result<()>, Problem> {
        let dump = source.audit.dump;
        let found = records::allocation(source, number, self.step, self.one.limit());
        let found = found.ok_or_else(|| records::no_allocation(dump, number))?;
        if let Some(problem) = self
            .step
            .and_then(|step| records::step_problem(dump, found.space, step))
        {
            return Err(problem);
        }
        let answer = Answer::new(dump, found);
        Ok(self.one.format.write(
            &answer,
            || allocation_page::page(&answer),
            || allocation_page::values(&answer.content),
        ))
    }
}

/// That none of these values takes anything of memory space `color`.
fn elsewhere(dump: &Dump, color: u64, values: &[u32]) -> Option<String> {
    let color_of = |&at: &u32| dump.color_of(at);
    let colors: BTreeSet<u64> = values.iter().filter_map(color_of).collect();
    let named = |color: u64| space::named(color, dump.platforms);
    let there: Vec<String> = colors.iter().copied().map(named).collect();
    (!there.is_empty() && !colors.contains(&color)).then(|| {
        format!(
            "what --without names lies in {}, and takes nothing of {}",
            there.join(" and "),
            named(color)
        )
    })
}
