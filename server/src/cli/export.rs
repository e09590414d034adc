//! `buflens export`: a dump for other programs.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::one_dump::Given;
use super::output::{named, write_about};
use crate::checks::{self, Severities};
use crate::report::export::{self, Format};
use crate::report::judged;

/// Write all that is known of a dump for other programs.
#[derive(Debug, Args)]
pub struct Export {
    #[command(flatten)]
    given: Given,
    /// What is written: one object, a row for each value, or a trace for ui.perfetto.dev.
    #[arg(long, value_parser = formats())]
    format: Format,
    /// The file that is written, whole or not at all; stdout if it is not given, or `-`.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn formats() -> impl TypedValueParser<Value = Format> {
    let names = PossibleValuesParser::new(Format::ALL.map(Format::name));
    names.try_map(|name| Format::named(&name))
}

impl Export {
    pub fn run(&self) -> io::Result<ExitCode> {
        self.given.run(|source| {
            let dump = source.audit.dump;
            let export = export::Export {
                audit: source.audit,
                findings: &|| judged(checks::check(dump), &Severities::default()),
            };
            if let Some(problem) = export.problem(self.format) {
                return Err(problem);
            }
            let Some(path) = named(self.output.as_deref()) else {
                let mut out = BufWriter::new(io::stdout().lock());
                let written = export.write(self.format, &mut out);
                return Ok(written.and_then(|()| out.flush()));
            };
            write_about(dump, path, |out| export.write(self.format, out)).map(Ok)
        })
    }
}
