//! How the answers about memory are written.

use std::io::{self, BufWriter, Write};

use clap::ValueEnum;
use serde::Serialize;

use crate::report::page::Page;
use crate::report::table::Table;

/// The width of the output where neither a terminal nor `COLUMNS` tells it.
const WIDTH: usize = 80;

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Sentences and tables that fit the terminal.
    Text,
    /// All that is known, for programs.
    Json,
    /// The main table with exact numbers.
    Csv,
    /// Sentences and tables for a document.
    Markdown,
}

impl Format {
    /// Writes what the format asks for to stdout.
    pub fn write(
        self,
        record: &impl Serialize,
        page: impl FnOnce() -> Page,
        table: impl FnOnce() -> Table,
    ) -> io::Result<()> {
        match self {
            Self::Text => {
                let mut out = BufWriter::new(anstream::stdout().lock());
                page().write_text(&mut out, width())?;
                out.flush()
            }
            Self::Json => {
                let mut out = BufWriter::new(io::stdout().lock());
                serde_json::to_writer(&mut out, record)?;
                writeln!(out)?;
                out.flush()
            }
            Self::Csv => table().write_csv(io::stdout().lock()),
            Self::Markdown => {
                let mut out = BufWriter::new(io::stdout().lock());
                page().write_markdown(&mut out)?;
                out.flush()
            }
        }
    }

    /// Whether people read it, who want the largest and not all.
    pub fn is_for_people(self) -> bool {
        matches!(self, Self::Text | Self::Markdown)
    }
}

/// How many columns there are.
fn width() -> usize {
    let of_terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let chosen = || std::env::var("COLUMNS").ok()?.parse().ok();
    let width = of_terminal.or_else(chosen).unwrap_or(WIDTH);
    // A table does not get any smaller.
    width.max(40)
}
