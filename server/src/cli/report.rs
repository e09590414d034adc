//! `buflens report`: everything about one dump in one file for a browser.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::check::{chosen_capacity, devices};
use super::one_dump::{Given, Problem};
use super::output::{named, write_about};
use crate::checks::{Severities, Thresholds};
use crate::model::device::Device;
use crate::report::html::dump::{self, Wanted};
use crate::report::records::{FileLocation, Source};

/// Write one HTML file with everything about a dump: the peak, the memory map, padding, donation,
/// copies, findings. It loads nothing, so it can be kept and passed on.
#[derive(Debug, Args)]
pub struct Report {
    #[command(flatten)]
    given: Given,
    /// The file to write; `-` is stdout.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The device whose main memory the program has to fit into: `v5e`, `H100-80GB`.
    #[arg(long, value_parser = devices(), ignore_case = true, hide_possible_values = true, value_name = "NAME")]
    device: Option<Device>,
    /// The bytes that the device has of a memory space: `HBM=15.75GiB`, `@1=16777216`. May be
    /// repeated; goes before what is known of the device.
    #[arg(long = "capacity", value_parser = chosen_capacity, value_name = "SPACE=BYTES")]
    capacities: Vec<(String, u64)>,
    /// So many rows of each table at most.
    #[arg(long, value_name = "N", default_value_t = dump::ROWS)]
    limit: usize,
}

impl Report {
    pub fn run(&self) -> io::Result<ExitCode> {
        self.given.run(|source| self.write(source))
    }

    fn write(&self, source: &Source<'_, '_, FileLocation>) -> Result<io::Result<()>, Problem> {
        let dump = source.audit.dump;
        let device = self.device.as_ref();
        if let Some(problem) = device.and_then(|device| device.problem(dump.platforms)) {
            return Err(problem);
        }
        let of_device = device.map(Device::capacity);
        let wanted = Wanted {
            limit: self.limit,
            device: self.device,
            thresholds: Thresholds {
                capacity: of_device
                    .into_iter()
                    .chain(self.capacities.clone())
                    .collect(),
                ..Thresholds::default()
            },
            severities: Severities::default(),
        };
        let document = dump::report(source, &wanted);
        match named(Some(&self.output)) {
            None => Ok(io::stdout().lock().write_all(document.as_bytes())),
            Some(path) => write_about(dump, path, |out| out.write_all(document.as_bytes())).map(Ok),
        }
    }
}
