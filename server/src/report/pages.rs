//! The answers about memory for people, made of the same [`super::records`] that programs get.

pub mod allocation;
pub mod audit;
pub mod diff;
pub mod findings;
pub mod listing;
pub mod made;
pub mod oom;
pub mod padding;
pub mod peak;
pub mod summary;

use super::records::{Moment, Value};
use crate::model::bytes::{counted, display, rounded};
use crate::model::source::{OF_ALL_OPERATIONS, file_name};

/// What all numbers have in common, said once on each page.
const STATIC: &str = "Static, this module only.";

/// `step 13 (copy.3)`
fn step(moment: &Moment) -> String {
    match &moment.instruction {
        Some(instruction) => format!("step {} ({instruction})", moment.step),
        None => format!("step {}", moment.step),
    }
}

/// Whether `bytes` are worth a sentence next to a `whole`: 1 % of it, or 1 MiB.
fn is_worth(bytes: u64, whole: u64) -> bool {
    bytes > 0 && (bytes >= 1 << 20 || u128::from(bytes) * 100 >= u128::from(whole))
}

/// `6+32768`: the allocation, and bytes from its start.
fn whereabouts<L>(value: &Value<L>) -> Option<String> {
    Some(format!("{}+{}", value.allocation?, value.offset?))
}

/// `13-14`, `7`
pub(super) fn range((start, end): (u64, u64)) -> String {
    if start == end {
        return start.to_string();
    }
    format!("{start}-{end}")
}

/// The steps during which a value is alive.
fn live<L>(value: &Value<L>) -> Option<String> {
    let [start, end] = value.live?;
    Some(range((start, end)))
}

/// `model.py:12` of `/home/user/model.py:12`: the folders are in the way. `None` of a line that tells values apart
/// from no others.
fn short_source(source: Option<&str>) -> Option<String> {
    let source = source.filter(|source| !source.contains(OF_ALL_OPERATIONS))?;
    Some(file_name(source).to_owned())
}

/// What makes the numbers of a dump too small: values whose live ranges are not printed, and bytes of
/// allocations that are not there.
fn missing(values: Option<usize>, bytes: Option<u64>) -> impl Iterator<Item = String> {
    let values = values.filter(|&values| values > 0).map(|values| {
        let (verb, them) = match values {
            1 => ("lacks", "it is"),
            _ => ("lack", "they are"),
        };
        format!(
            "{} {verb} a live range or a place in an allocation: {them} left out, and the true peak may be higher.",
            counted(values, "value")
        )
    });
    let bytes = bytes.filter(|&bytes| bytes > 0).map(|bytes| {
        format!(
            "Allocations of {} that the compiler counts are not there, as where a file is cut: the numbers here are too small.",
            display(bytes)
        )
    });
    bytes.into_iter().chain(values)
}

/// `3.2 %`
fn percent(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}

/// `VMEM: 145.0 KiB occupied at step 5 (x), 145.0 KiB reserved`
fn space_line(space: &super::records::Space) -> String {
    let reserved = rounded(space.reserved_bytes);
    match &space.peak {
        Some(peak) if peak.occupied_bytes == 0 => {
            format!("{} nothing occupied ({reserved} reserved)", space.name)
        }
        Some(peak) => format!(
            "{} {} occupied at {} ({reserved} reserved)",
            space.name,
            rounded(peak.occupied_bytes),
            step(peak)
        ),
        None => format!("{} {reserved} reserved", space.name),
    }
}
