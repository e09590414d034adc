//! `buflens map`: where every value lies, and when.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::Args;

use super::one::One;
use crate::report::records::{self, Answer};

/// Draw where every value lies in its allocation and when.
#[derive(Debug, Args)]
pub struct Map {
    #[command(flatten)]
    one: One,
}

impl Map {
    pub fn run(&self) -> io::Result<ExitCode> {
        self.one.target.run(|source| {
            let map = Answer::new(source.audit.dump, records::map(source.audit, usize::MAX));
            let mut out = BufWriter::new(io::stdout().lock());
            serde_json::to_writer(&mut out, &map).map_err(|it| it.to_string())?;
            Ok(out.flush())
        })
    }
}
