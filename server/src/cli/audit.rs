//! `buflens audit`: donation, copies, and what moves between memory spaces.

use std::io;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::one_dump::One;
use super::output::Format;
use crate::report::pages::audit as page;
use crate::report::records::{self, Answer};
use crate::report::table::Table;

/// Show which parameters are donated and which could be, what the compiler copies, and what moves
/// between memory spaces.
#[derive(Debug, Args)]
pub struct Audit {
    #[command(flatten)]
    one: One,
    /// One audit; all if it is not given. May be repeated.
    #[arg(long, value_enum)]
    only: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Which parameters give their buffers to the result, and which could.
    Donation,
    /// The copies that the compiler inserted.
    Copies,
    /// What moves between memory spaces, and what comes back from the host.
    Offload,
}

impl Audit {
    pub fn run(&self) -> io::Result<ExitCode> {
        self.one.run(|source| {
            if self.one.format == Format::Csv && self.only.len() != 1 {
                return Err("csv holds one table: choose one with --only".to_owned());
            }
            let is_wanted = |part| self.only.is_empty() || self.only.contains(&part);
            let wanted = [Part::Donation, Part::Copies, Part::Offload].map(is_wanted);
            let audits = records::audits(source, wanted, self.one.limit());
            let answer = Answer::new(source.audit.dump, audits);
            let table = || {
                let audits = &answer.content;
                let donation = audits.donation.as_ref().map(page::parameters);
                let copies = || audits.copies.as_ref().map(page::copy_table);
                let offload = || audits.offload.as_ref().map(page::traffic);
                let table = donation.or_else(copies).or_else(offload);
                table.unwrap_or_else(|| Table::new(&[]))
            };
            Ok(self
                .one
                .format
                .write(&answer, || page::page(&answer), table))
        })
    }
}
