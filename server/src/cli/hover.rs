//! `buflens hover`: what an editor would show for a place.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;

use super::complain;
use super::position::{Failure, Position};
use crate::ide;
use crate::model::source::Libraries;
use crate::report::printable;

/// Explain what is at a place in a dump.
#[derive(Debug, Args)]
pub struct Hover {
    /// The place; lines and columns count from 1, columns in characters.
    #[arg(value_name = "FILE:LINE:COL")]
    position: Position,
}

impl Hover {
    pub fn run(&self) -> io::Result<ExitCode> {
        match self.explain() {
            Ok(markdown) => {
                writeln!(io::stdout().lock(), "{}", printable(markdown.trim_end()))?;
                Ok(ExitCode::SUCCESS)
            }
            Err((code, message)) => {
                complain(message);
                Ok(ExitCode::from(code))
            }
        }
    }

    fn explain(&self) -> Result<String, Failure> {
        let libraries = Libraries::default();
        self.position.told("explanation", |dump, file, offset| {
            let hover = ide::hover::hover(dump, file, offset, &(&libraries).into());
            hover.map(|hover| hover.markdown)
        })
    }
}
