//! `buflens definition`: where the value or instruction at a place is defined.

use std::io::{self, Write};
use std::process::ExitCode;

use buflens_syntax::{Encoding, LineColumn};
use clap::Args;

use super::complain;
use super::position::{Failure, Position};
use crate::ide::navigation;
use crate::report::{path_on_a_line, printable};

/// Say where the value or instruction at a place in a dump is defined: `path:line:col: line`.
#[derive(Debug, Args)]
pub struct Definition {
    /// The place; lines and columns count from 1, columns in characters.
    #[arg(value_name = "FILE:LINE:COL")]
    position: Position,
}

impl Definition {
    pub fn run(&self) -> io::Result<ExitCode> {
        match self.targets() {
            Ok(lines) => {
                let mut out = io::stdout().lock();
                for line in lines {
                    writeln!(out, "{}", printable(&line))?;
                }
                Ok(ExitCode::SUCCESS)
            }
            Err((code, message)) => {
                complain(message);
                Ok(ExitCode::from(code))
            }
        }
    }

    fn targets(&self) -> Result<Vec<String>, Failure> {
        self.position.told("definition", |dump, file, offset| {
            let found = navigation::definition(dump, file, offset)?;
            let line = |target: &navigation::Target| {
                let file = dump.files.get(target.place.file)?;
                let LineColumn { line, column } = file
                    .document
                    .line_column(target.selection.start, Encoding::Utf32);
                let text = file.document.slice(file.document.line_range(line)?);
                Some(format!(
                    "{}:{}:{}: {text}",
                    path_on_a_line(&file.path),
                    line + 1,
                    column + 1
                ))
            };
            let lines = found.targets.iter().filter_map(line);
            Some(lines.collect()).filter(|lines: &Vec<String>| !lines.is_empty())
        })
    }
}
