//! Files that end between two of their lines: what is missing is all behind the last one.
//!
//! Each is one finding at the end of the file, not one for everything that the rest of the dump has.

use buflens_syntax::facts::{Heading, ReportRow};

use super::structure::{Section, end_of, ends_openly};
use super::{Code, Doubts, Finding, Findings};
use crate::model::{Dump, FileId, Part, Place, Value, bytes};

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
    let printed = dump.values.iter().filter(|value| value.is_used());
    let last = printed.map(|value| value.id).max();
    let missing = || {
        let of_allocations = dump.values.iter();
        of_allocations.filter(|value| !value.is_used() && value.allocation().is_some())
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

/// `truncated`: the assignment ends between two of its lines. Values that lie in no allocation, bytes
/// that the total counts and numbers in the report tell so; one of them alone may be wrong itself.
pub(super) fn check_assignment_end(dump: &Dump, doubts: &mut Doubts, findings: &mut Findings) {
    if !doubts.are_whole(&[Section::Allocations]) || findings.has(Code::AllocationIndex) {
        return;
    }
    let last = dump.allocations.last();
    let Some(last) = last.and_then(|last| dump.header(last)) else {
        return;
    };
    let file = last.file;
    if !headings_of(dump, file).all(|heading| *heading == Heading::Assignment) {
        return;
    }
    let missing = dump.missing_bytes().filter(|&bytes| bytes > 0);
    // A total alone may be wrong itself.
    let is_open = missing.is_some() && ends_openly(&dump.files[file].document);
    // What the file still has, the rest of the dump has alike, or it is of another compilation.
    let is_known = |value: &Value| value.placement.is_none() || value.is_alike();
    let has_values = dump.has_used_values() && !is_open;
    if has_values && !(doubts.are_whole(&[Section::Values]) && dump.values.iter().all(is_known)) {
        return;
    }
    let unplaced = dump.values.iter().filter(|value| value.placement.is_none());
    let unplaced = unplaced.count();
    let named = allocations_reported(dump).saturating_sub(dump.allocations.len() as u64);
    let is_cut = if missing.is_some() {
        unplaced > 0 || named > 0 || is_open
    } else {
        named == 0 && unplaced > 1 && are_behind_the_last(dump)
    };
    if !is_cut {
        return;
    }
    let message = if unplaced > 0 {
        format!("the file ends inside its allocations: {unplaced} of the used values lie in none")
    } else {
        let number = last.row.index.value;
        let more = if named > 0 {
            format!("the report has {named} more")
        } else {
            let bytes = missing.map_or_else(String::new, bytes::display);
            format!("{bytes} of the total are missing")
        };
        format!("the file ends behind allocation {number}: {more}")
    };
    doubts.broken.insert(Section::Allocations);
    doubts.values_unplaced = true;
    // The last allocation may lack values.
    doubts.allocations.insert(dump.allocations.len() as u32 - 1);
    let end = end_of(file, &dump.files[file].document);
    findings.push(Finding::new(Code::Truncated, end, message));
}

/// The headings of a file, in its order.
fn headings_of(dump: &Dump, file: FileId) -> impl Iterator<Item = &Heading> {
    let headings = dump.headings.iter();
    headings.filter_map(move |(heading, place)| (place.file == file).then_some(heading))
}

/// Whether the values that lie in no allocation may be the rest of the last one: its values ascend by
/// id, and every other allocation has some.
fn are_behind_the_last(dump: &Dump) -> bool {
    let Some((last, others)) = dump.allocations.split_last() else {
        return false;
    };
    let ids = dump.held_by(last).iter().map(|value| value.id);
    let id = ids.max();
    let unplaced = dump.values.iter().filter(|value| value.placement.is_none());
    !others.iter().any(|it| it.values.is_empty() && it.size > 0)
        && unplaced
            .map(|value| value.id)
            .all(|it| id.is_none_or(|id| it > id))
}

/// How many allocations there are by the numbers in a report of the older form.
fn allocations_reported(dump: &Dump) -> u64 {
    let Some(file) = dump.file_of(Part::Report) else {
        return 0;
    };
    let rows = dump.files[file].document.blocks();
    let rows = rows.flat_map(|(_, block)| block.report().iter());
    let numbers = rows.filter_map(|row| match row {
        ReportRow::Allocation(header) if header.index.is_read() => Some(header.index.value),
        _ => None,
    });
    numbers.max().map_or(0, |number| number.saturating_add(1))
}
