//! What is reserved and occupied, of many dumps.

use std::path::Path;

use serde::Serialize;

use super::{PrintedPeak, SCHEMA, Space, missing_live_ranges, spaces};
use crate::audit::{Audit, peak};
use crate::model::{Dump, space};
use crate::workspace::{program_name, stem_or_path};

/// Many dumps, the one with the highest peak first.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    schema: u32,
    /// The dumps.
    pub modules: Vec<Module>,
    /// How many more there are.
    pub modules_left_out: usize,
}

/// A dump.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Module {
    /// What the program is called.
    pub module: String,
    /// The path that its files have in common.
    pub stem: String,
    /// `tpu`, `gpu`, `cpu` or `unknown`.
    pub platform: &'static str,
    /// The sizes of all allocations.
    pub total_bytes: Option<u64>,
    /// How many bytes the allocations lack of the total that the compiler prints, as where a file is cut;
    /// `None` where either is not known.
    pub missing_bytes: Option<u64>,
    /// How many allocations, if they are there.
    pub allocations: Option<usize>,
    /// How many values, if a section is there that names them all.
    pub values: Option<usize>,
    /// How many steps the schedule has, if it is there.
    pub steps: Option<u64>,
    /// The memory spaces, by number.
    pub spaces: Vec<Space>,
    /// What the compiler prints; `occupied_bytes` are those of memory space 0.
    pub xla_peak: Option<PrintedPeak>,
    /// Why there are no peaks.
    pub reason: Option<&'static str>,
    /// Values that should have a live range and have none, or lie in no allocation; `None` without peaks.
    pub missing_live_ranges: Option<usize>,
}

impl Module {
    /// The bytes occupied at the peak of memory space `color`.
    pub fn peak_bytes(&self, color: u64) -> Option<u64> {
        Some(self.space(color)?.peak.as_ref()?.occupied_bytes)
    }

    /// The memory space of this number.
    pub fn space(&self, color: u64) -> Option<&Space> {
        let at = self.spaces.binary_search_by_key(&color, |it| it.color);
        Some(&self.spaces[at.ok()?])
    }
}

impl Summary {
    /// The dumps sorted by the peak of memory space `color`, the highest first, those without
    /// last; then by name.
    pub fn new(mut modules: Vec<Module>, color: u64) -> Self {
        sort_by_peak(&mut modules, |module| module, color);
        Self {
            schema: SCHEMA,
            modules,
            modules_left_out: 0,
        }
    }
}

/// Sorts by the peak of memory space `color`, the highest first, those without last; then by name.
pub(super) fn sort_by_peak<T>(all: &mut [T], module: impl Fn(&T) -> &Module, color: u64) {
    all.sort_by(|left, right| {
        let (left, right) = (module(left), module(right));
        let peaks = right.peak_bytes(color).cmp(&left.peak_bytes(color));
        let names = || (&left.module, &left.stem).cmp(&(&right.module, &right.stem));
        peaks.then_with(names)
    });
}

/// The record of a dump that was read for the sake of the file at `path`.
pub fn module(audit: &Audit, path: &Path) -> Module {
    let dump = audit.dump;
    let has_allocations = !dump.allocations.is_empty();
    let has_values = has_allocations || dump.has_used_values();
    Module {
        module: program_name(dump),
        stem: stem_or_path(path).to_string_lossy().into_owned(),
        platform: space::platform(dump.platforms),
        total_bytes: total_bytes(dump),
        missing_bytes: dump.missing_bytes(),
        allocations: has_allocations.then_some(dump.allocations.len()),
        values: has_values.then_some(dump.values.len()),
        steps: steps(dump),
        spaces: spaces(audit),
        xla_peak: peak::printed(audit, 0).map(PrintedPeak::from),
        reason: dump.occupancy().reason,
        missing_live_ranges: missing_live_ranges(dump),
    }
}

/// The sizes of all allocations; where these are not there, the total that the compiler prints.
fn total_bytes(dump: &Dump) -> Option<u64> {
    if dump.allocations.is_empty() {
        return dump.printed_bytes();
    }
    let sizes = dump.allocations.iter().map(|allocation| allocation.size);
    Some(sizes.fold(0, u64::saturating_add))
}

/// How many steps the schedule has, if it is there.
pub(super) fn steps(dump: &Dump) -> Option<u64> {
    let printed = dump.max.as_ref().map(|(max, _)| max.value);
    let counted = || dump.has_live_ranges().then_some(dump.steps.len() as u64);
    printed.or_else(counted)
}
