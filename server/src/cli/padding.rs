//! `buflens padding`: where bytes go into padding.

use std::io;
use std::process::ExitCode;

use clap::Args;

use super::one_dump::{One, space_named};
use crate::report::pages::padding as page;
use crate::report::records::{self, Answer};

/// Show which values take more bytes than their elements need, the dimension and the tile to
/// blame, and the order of dimensions that would take fewer.
#[derive(Debug, Args)]
pub struct Padding {
    #[command(flatten)]
    one: One,
    /// One memory space, by number or name: `1`, `VMEM`, `host`; all if it is not given.
    #[arg(long, value_name = "SPACE")]
    space: Option<String>,
}

impl Padding {
    pub fn run(&self) -> io::Result<ExitCode> {
        self.one.run(|source| {
            let dump = source.audit.dump;
            let space = self.space.as_deref();
            let color = space.map(|space| space_named(dump, space)).transpose()?;
            let padding = records::padding(source, color, self.one.limit());
            let answer = Answer::new(dump, padding);
            let written = self.one.format.write(
                &answer,
                || page::page(&answer, self.one.is_limited()),
                || page::values(&answer.content),
            );
            Ok(written)
        })
    }
}
