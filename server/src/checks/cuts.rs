//! Files that end between two of their lines: what is missing is all behind the last one.
//!
//! Each is one finding at the end of the file, not one for everything that the rest of the dump has.

use buflens_syntax::facts::Heading;

use super::structure::{Section, end_of};
use super::{Code, Doubts, Finding, Findings};
use crate::model::{Dump, FileId, Part, Place};

/// `truncated`: the values file ends between two entries. Its ids ascend, so what is cut off is all
/// above the last one.
pub(super) fn check_values_end(dump: &Dump, doubts: &mut Doubts, findings: &mut Findings) {
    let Some(file) = dump.file_of(Part::Values) else {
        return;
    };
    let is_second = |second: &Place| second.file == file;
    if !doubts.are_whole(&[Section::Allocations, Section::Values])
        || !headings_of(dump, file).eq([&Heading::Values])
        || dump.second.as_ref().is_some_and(is_second)
    {
        return;
    }
    // Values that no allocation holds are those of another compilation.
    if dump.values.iter().any(|value| value.placement.is_none()) {
        return;
    }
    let printed = dump.values.iter().filter(|value| value.used.is_some());
    let last = printed.map(|value| value.id).max();
    let missing = || {
        let of_allocations = dump.values.iter();
        of_allocations.filter(|value| value.used.is_none() && value.allocation.is_some())
    };
    let Some(first) = missing().min_by_key(|value| value.id) else {
        return;
    };
    if last.is_some_and(|last| first.id <= last) {
        return;
    }
    let (id, count) = (first.id, missing().count());
    let message = if count == 1 {
        format!("the file ends before the entry of value {id}")
    } else {
        format!("the file ends before the entries of {count} values, the first of them value {id}")
    };
    let end = end_of(file, &dump.files[file].document);
    let mut finding = Finding::new(Code::Truncated, end, message);
    if let Some(placement) = dump.placement(first) {
        let place = placement.place(placement.row.value.span);
        finding = finding.related(place, "in its allocation");
    }
    doubts.broken.insert(Section::Values);
    findings.push(finding);
}

/// The headings of a file, in its order.
fn headings_of(dump: &Dump, file: FileId) -> impl Iterator<Item = &Heading> {
    let headings = dump.headings.iter();
    headings.filter_map(move |(heading, place)| (place.file == file).then_some(heading))
}
