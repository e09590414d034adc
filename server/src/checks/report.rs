//! The memory-usage report says what the assignment says.

mod running;
mod slots;
mod spaces;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use buflens_syntax::facts::{self, Number, ReportRow, Span, Total};
use rustc_hash::FxHashSet;

use self::running::Sum;
use self::slots::Slots;
use self::spaces::{Space, spaces};
use super::structure::{Section, code_behind};
use super::totals::check_human;
use super::{Code, Context, Doubts, Finding, Findings};
use super::{allocations, shapes};
use crate::model::{At, Dump, FileId, Part, Place, bytes};

/// `report-total` and, for its own totals, `human-bytes`. What the report shows to be wrong in the
/// assignment is added to `doubts`.
pub(super) fn check_report(context: &Context, doubts: &mut Doubts, findings: &mut Findings) {
    let dump = context.dump;
    let Some(file) = dump.file_of(Part::Report) else {
        return;
    };
    let has_assignment = !dump.allocations.is_empty() && doubts.are_whole(&[Section::Allocations]);
    let report = Report {
        context,
        file,
        spaces: spaces(dump, doubts),
        has_assignment,
        are_known: has_assignment && doubts.are_whole(&[Section::Report]),
    };
    let are_known = report.are_known;
    if are_known && !findings.has(Code::ColorMismatch) && !report.has_its_spaces(findings) {
        return;
    }
    let off = report.check_totals(findings);
    if are_known && report.check_end(doubts, findings) {
        return;
    }
    // A value that is missing is missing in the tables, too.
    if doubts.values_unplaced {
        return;
    }
    if are_known {
        report.check_tables(&off, doubts, findings);
        report.check_allocations(doubts, findings);
    }
}

/// So many allocations of a memory space have a table in the newer form.
const MOST_TABLES: usize = 50;

struct Report<'c, 'd> {
    context: &'c Context<'d>,
    file: FileId,
    /// By memory space.
    spaces: BTreeMap<u64, Space>,
    /// Whether the assignment is there, each of its lines.
    has_assignment: bool,
    /// Whether every line about an allocation was understood, here and in the assignment.
    are_known: bool,
}

/// A row that is not as the assignment has it.
struct Strange<'s, 'd> {
    at: At<'d, ReportRow>,
    /// What in it is off.
    span: Span,
    message: String,
    /// The values at its offset.
    values: &'s [u32],
    /// How many more values it has than there are.
    excess: i128,
}

impl<'d> Report<'_, 'd> {
    /// All rows, each with its block.
    fn rows(&self) -> impl Iterator<Item = At<'d, ReportRow>> + Clone + use<'d> {
        let (dump, file) = (self.context.dump, self.file);
        dump.files[file]
            .document
            .blocks()
            .flat_map(move |(start, block)| {
                block.report().iter().map(move |row| At {
                    file,
                    start,
                    block,
                    row,
                })
            })
    }

    /// Gives the memory spaces whose totals are not the sums of their allocations.
    fn check_totals(&self, findings: &mut Findings) -> FxHashSet<u64> {
        let dump = self.context.dump;
        let mut off = FxHashSet::default();
        let mut color = None;
        let (mut sum, mut spaces) = (0_u128, 0);
        for at in self.rows() {
            match at.row {
                ReportRow::Space { color: space, .. } => color = Some(space),
                ReportRow::SpaceTotal(total) => {
                    let total = At {
                        file: at.file,
                        start: at.start,
                        block: at.block,
                        row: total,
                    };
                    spaces += 1;
                    sum += u128::from(total.row.bytes.value);
                    let is_off = |color: &Number| {
                        self.check_space(color.value, at.place(color.span), &total, findings)
                    };
                    match color.filter(|_| self.are_known).filter(is_off) {
                        Some(color) => _ = off.insert(color.value),
                        None => check_human(&total, !dump.allocations.is_empty(), findings),
                    }
                }
                _ => {}
            }
        }
        let total = dump.total.and_then(|row| dump.at::<Total>(row));
        if let Some(total) = total
            && spaces > 0
            && dump.allocations.is_empty()
            && u128::from(total.row.bytes.value) != sum
        {
            let message = format!(
                "total of {} bytes where the report's memory spaces add up to {sum}",
                total.row.bytes.value
            );
            findings.push(Finding::new(
                Code::ReportTotal,
                total.place(total.row.bytes.span),
                message,
            ));
        }
        // The older form has one total of its own.
        for (start, block) in dump.files[self.file].document.blocks() {
            for &row in block.totals() {
                let own = At {
                    file: self.file,
                    start,
                    block,
                    row,
                };
                let expected: u128 = match total.filter(|total| total.file != self.file) {
                    Some(total) => total.row.bytes.value.into(),
                    None if !self.has_assignment => {
                        check_human(&own, false, findings);
                        continue;
                    }
                    None => dump
                        .allocations
                        .iter()
                        .map(|allocation| u128::from(allocation.size))
                        .sum(),
                };
                if u128::from(row.bytes.value) == expected {
                    check_human(&own, true, findings);
                } else if !findings.has(Code::TotalBytes) {
                    let message = format!(
                        "total of {} bytes where the assignment has {expected}",
                        row.bytes.value
                    );
                    let mut finding =
                        Finding::new(Code::ReportTotal, own.place(row.bytes.span), message);
                    if let Some(total) = total {
                        finding = finding
                            .related(total.place(total.row.bytes.span), "the assignment's total")
                            .fixed_by(expected.to_string());
                    }
                    findings.push(finding);
                }
            }
        }
        off
    }

    /// Compares each table of slots with the allocation it belongs to. Of memory spaces that are `off` it is not
    /// known which one that is, where tables are sorted by size.
    fn check_tables(&self, off: &FxHashSet<u64>, doubts: &mut Doubts, findings: &mut Findings) {
        let mut tables: BTreeMap<u64, (Place, usize)> = BTreeMap::new();
        let mut color = 0;
        let mut of_space: &[u32] = &[];
        let mut tables_of_space = 0;
        let mut allocation: Option<u32> = None;
        // The older form names each table's allocation, the newer one sorts them.
        let (mut is_named, mut named) = (false, FxHashSet::default());
        // The table of all allocations has each of their headers once, too.
        let mut is_running = false;
        let mut heading = None;
        let mut rows = self.rows();
        // Where those of the table begin that is being read, and how many they are.
        let (mut first, mut count) = (rows.clone(), 0);
        loop {
            let own = of_table(first.clone(), count);
            let before = rows.clone();
            let Some(at) = rows.next() else {
                self.check_table(allocation, heading, &own, doubts, findings);
                break;
            };
            match at.row {
                ReportRow::Space { color: space, .. } => {
                    self.check_table(allocation, heading.take(), &own, doubts, findings);
                    (color, tables_of_space) = (space.value, 0);
                    tables.insert(color, (at.place(space.span), 0));
                    let space = self.spaces.get(&color).filter(|_| !off.contains(&color));
                    of_space = space.map_or(&[], |space| &space.by_size);
                    count = 0;
                }
                ReportRow::Allocation(header) => {
                    self.check_table(allocation, heading.take(), &own, doubts, findings);
                    count = 0;
                    is_named = true;
                    allocation = self.check_named(&at, &header, doubts, findings);
                    let is_again = |number: &u32| !named.insert((is_running, *number));
                    if let Some(number) = allocation.filter(is_again) {
                        allocation = None;
                        doubts.headers.insert(number);
                        let message = format!("allocation {number} stands here twice");
                        let place = at.place(header.index.span);
                        findings.push(Finding::new(Code::ReportTotal, place, message));
                    }
                }
                ReportRow::Table(span) => {
                    if !is_named {
                        self.check_table(allocation, heading.take(), &own, doubts, findings);
                        count = 0;
                        // Which table is whose depends on the sizes and memory spaces of all.
                        allocation = of_space
                            .get(tables_of_space)
                            .copied()
                            .filter(|_| doubts.headers.is_empty());
                        tables_of_space += 1;
                        if let Some((_, tables)) = tables.get_mut(&color) {
                            *tables = tables_of_space;
                        }
                    }
                    heading = Some(at.place(span));
                }
                ReportRow::Slot { .. } => {
                    if count == 0 {
                        first = before;
                    }
                    count += 1;
                }
                ReportRow::Rest(_) if count > 0 => count += 1,
                ReportRow::Rest(_) | ReportRow::SpaceTotal(_) | ReportRow::Running { .. } => {}
            }
            is_running = matches!(at.row, ReportRow::Running { .. });
        }
        if doubts.headers.is_empty() && doubts.allocations.is_empty() {
            self.check_counts(&tables, findings);
        }
    }

    /// The older form's table of allocations: running sums, percentages and what is not shown.
    fn check_allocations(&self, doubts: &Doubts, findings: &mut Findings) {
        if !doubts.allocations.is_empty() || !doubts.headers.is_empty() {
            return;
        }
        let dump = self.context.dump;
        let sizes = dump.allocations.iter().map(|allocation| allocation.size);
        let mut sum = Sum::new(sizes.fold(0, u64::saturating_add));
        let mut shown = 0;
        for at in self.rows() {
            match at.row {
                ReportRow::Running {
                    cumulative,
                    percentage,
                    rest,
                    allocation,
                } => {
                    let number = usize::try_from(allocation.value).unwrap_or(usize::MAX);
                    let Some(size) = dump.allocations.get(number).map(|it| it.size) else {
                        return;
                    };
                    shown += 1;
                    // Behind a row that is missing or doubled, all sums are off.
                    if !sum.add(dump, &at, size, (cumulative, percentage), findings) {
                        return;
                    }
                    let expected = bytes::human(sum.rest());
                    if at.text(rest) != expected {
                        let message = format!("{} where {expected} remain", at.text(rest));
                        push(dump, &at, rest, message, &[], findings);
                        return;
                    }
                }
                ReportRow::Rest(number) => {
                    let left = dump.allocations.len().saturating_sub(shown);
                    if number.value != left as u64 {
                        let message = format!(
                            "{} allocations not shown where {left} have no row",
                            number.value
                        );
                        push(dump, &at, number.span, message, &[], findings);
                    }
                    return;
                }
                // The newer form has no such table; here the tables of slots follow.
                ReportRow::Space { .. } => return,
                ReportRow::Table(_) if shown > 0 => return,
                _ => {}
            }
        }
    }

    /// The newer form has a table for each allocation of a memory space, at least for the first [`MOST_TABLES`].
    fn check_counts(&self, tables: &BTreeMap<u64, (Place, usize)>, findings: &mut Findings) {
        let mut differing = tables.iter().filter_map(|(&color, (place, count))| {
            let allocations = self.context.dump.allocations_in(color).count();
            (allocations != *count && allocations <= MOST_TABLES).then_some((
                color,
                place,
                count,
                allocations,
            ))
        });
        // An allocation in the wrong memory space is missing in another.
        if let Some((color, place, count, allocations)) = differing.next() {
            let message =
                format!("{count} tables for {allocations} allocations of memory space {color}");
            let mut finding = Finding::new(Code::ReportTotal, place.clone(), message);
            for (color, place, ..) in differing {
                let message = format!("nor does memory space {color} agree");
                finding = finding.related(place.clone(), message);
            }
            // Nothing else in the dump confirms the memory space of an allocation without values.
            for empty in self
                .context
                .dump
                .allocations
                .iter()
                .filter(|allocation| allocation.values.is_empty())
                .take(8)
            {
                if let Some(header) = self.context.dump.header(empty) {
                    finding = finding.related(
                        header.place(header.row.line),
                        "an allocation without values",
                    );
                }
            }
            findings.push(finding);
        }
    }

    /// A header in the older form agrees with section A.
    fn check_named(
        &self,
        at: &At<ReportRow>,
        header: &facts::ReportAllocation,
        doubts: &mut Doubts,
        findings: &mut Findings,
    ) -> Option<u32> {
        let number = u32::try_from(header.index.value).ok()?;
        let Some(allocation) = self.context.dump.allocations.get(number as usize) else {
            let message = format!("the assignment has no allocation {}", header.index.value);
            findings.push(Finding::new(
                Code::ReportTotal,
                at.place(header.index.span),
                message,
            ));
            return None;
        };
        let expected = bytes::human(allocation.size);
        let found = at.text(header.size);
        let has_other_size = !doubts.allocations.contains(&number) && found != expected;
        let there = self.context.dump.header(allocation)?;
        let attributes = |line| attributes(line).unwrap_or_default();
        let has_other_header =
            attributes(at.text(header.line)) != attributes(there.text(there.row.line));
        if !has_other_size && !has_other_header {
            return Some(number);
        }
        // Whose rows follow is not known then, and one finding is enough where two headers have the number.
        if doubts.headers.insert(number) {
            let finding = |span, message| Finding::new(Code::ReportTotal, at.place(span), message);
            findings.push(if has_other_size {
                let message = format!(
                    "allocation {number} has {found} here and {expected} in the assignment"
                );
                let finding = finding(header.size, message);
                finding.related(there.place(there.row.size.span), "its size")
            } else {
                let message = format!("allocation {number} has another header in the assignment");
                let finding = finding(header.line, message);
                finding.related(there.place(there.row.line), "the header")
            });
        }
        None
    }

    /// Compares the rows of one table with the values of its allocation.
    fn check_table(
        &self,
        allocation: Option<u32>,
        heading: Option<Place>,
        rows: &(impl Iterator<Item = At<'d, ReportRow>> + Clone),
        doubts: &mut Doubts,
        findings: &mut Findings,
    ) {
        let (Some(number), Some(heading)) = (allocation, heading) else {
            return;
        };
        if doubts.allocations.contains(&number) {
            return;
        }
        let Some(allocation) = self.context.dump.allocations.get(number as usize) else {
            return;
        };
        let slots = Slots::new(self.context.dump, allocation);
        let mut matched = vec![false; slots.len()];
        let mut strange = Vec::new();
        for at in rows.clone() {
            let ReportRow::Slot {
                size,
                offset,
                values,
                ..
            } = at.row
            else {
                continue;
            };
            let slot = slots.at(offset.value).filter(|&slot| !matched[slot]);
            let Some(slot) = slot else {
                strange.push(Strange {
                    at,
                    span: offset.span,
                    message: format!(
                        "no value of allocation {number} lies at offset {}",
                        offset.value
                    ),
                    values: &[],
                    excess: values.value.into(),
                });
                continue;
            };
            matched[slot] = true;
            let slot = slots.slot(slot);
            let excess = i128::from(values.value) - slot.values.len() as i128;
            let strange_at = |span, message| Strange {
                at,
                span,
                message,
                values: slot.values,
                excess,
            };
            let expected = bytes::human(slot.size);
            if at.text(size) != expected {
                let denied = |&value: &u32| {
                    let shape = self.context.placed(value)?;
                    let told = shapes::expected_size(self.context.dump, shape)?;
                    let is_told = bytes::human(told) == at.text(size);
                    is_told.then(|| shapes::size_denied(self.context.dump, value, told))?
                };
                if let Some(finding) = slot.values.iter().find_map(denied) {
                    findings.push(finding.related(at.place(size), "the report"));
                    doubts.allocations.insert(number);
                    continue;
                }
                let message = format!(
                    "{} at offset {} where the largest value has {expected}",
                    at.text(size),
                    offset.value
                );
                strange.push(strange_at(size, message));
            } else if excess != 0 {
                let message = format!(
                    "{} values at offset {} where the assignment has {}",
                    values.value,
                    offset.value,
                    slot.values.len()
                );
                strange.push(strange_at(values.span, message));
            }
        }
        // Values that a row is short of lie elsewhere now: where there is no row.
        let others: Vec<u32> = slots
            .iter()
            .zip(&matched)
            .filter(|(_, is_matched)| !**is_matched)
            .flat_map(|(slot, _)| slot.values)
            .copied()
            .collect();
        if !strange.is_empty() {
            doubts.allocations.insert(number);
        }
        // A value that lies elsewhere is missing in one row, and too many in another.
        let excess: i128 = strange.iter().map(|it| it.excess).sum();
        let is_moved = strange.len() > 1 && excess == 0 && strange.iter().all(|it| it.excess != 0);
        let is_rest = |at: At<ReportRow>| matches!(at.row, ReportRow::Rest(_));
        let has_rest = || rows.clone().any(is_rest);
        let misplaced = self.misplaced(&strange, &others);
        if let Some(finding) = misplaced.filter(|_| !has_rest()) {
            findings.push(finding);
            return;
        }
        let further = strange.split_off(if is_moved { 1 } else { strange.len() });
        for it in strange {
            let moved = further.iter().flat_map(|other| other.values);
            let values = it.values.iter().chain(moved).chain(others.iter().take(8));
            let values: Vec<u32> = values.copied().collect();
            let mut finding = finding(self.context.dump, &it.at, it.span, it.message, &values);
            for other in &further {
                finding = finding.related(other.at.place(other.span), other.message.clone());
            }
            findings.push(finding);
        }
        if !doubts.allocations.contains(&number) {
            let are_right =
                running::check_slots(self.context.dump, rows.clone(), &slots, doubts, findings);
            let left = matched.iter().filter(|is_matched| !**is_matched).count();
            // Rows are left out behind a `The rest` alone. A file that is cut has been told.
            if are_right && left > 0 && !has_rest() && !findings.has(Code::Truncated) {
                let message = format!(
                    "the table has no row for {left} of {} offsets of allocation {number}",
                    slots.len()
                );
                let last = rows.clone().filter_map(|at| match at.row {
                    ReportRow::Slot { offset, .. } => Some(at.place(offset.span).range.start),
                    _ => None,
                });
                let last = last.last().unwrap_or(heading.range.start);
                let document = &self.context.dump.files[self.file].document;
                let code = code_behind(document, last, Code::ReportTotal);
                findings.push(Finding::new(code, heading, message));
                doubts.allocations.insert(number);
            }
        }
    }

    /// The finding on the one value that lies where a table without remainder has no row, where one row lacks a value.
    fn misplaced(&self, strange: &[Strange], others: &[u32]) -> Option<Finding> {
        let ([row], [stray]) = (strange, others) else {
            return None;
        };
        let dump = self.context.dump;
        let stray = dump.placement(&dump.values[*stray as usize])?;
        let (ReportRow::Slot { offset: there, .. }, here) = (row.at.row, stray.row.offset) else {
            return None;
        };
        // Where other values lie at the row's offset, that is right; else it is if it is better aligned.
        let is_right = !row.values.is_empty()
            || allocations::alignment(there.value) > allocations::alignment(here.value);
        if row.excess != 1 || !is_right {
            return None;
        }
        let message = format!(
            "the report has no row for offset {}, and {}",
            here.value, row.message
        );
        let finding = Finding::new(Code::ReportTotal, stray.place(here.span), message);
        let finding = finding.related(row.at.place(row.span), "the row");
        Some(finding.fixed_by(there.value.to_string()))
    }
}

/// What stands behind the size of an allocation, in a header of the report or the assignment.
fn attributes(line: &str) -> Option<&str> {
    let (_, size) = line.split_once(": size ")?;
    size.find([',', ':']).map(|end| &size[end..])
}

/// The rows of a table: the `count` slots and remainders from `first` on.
fn of_table<'d>(
    first: impl Iterator<Item = At<'d, ReportRow>> + Clone,
    count: usize,
) -> impl Iterator<Item = At<'d, ReportRow>> + Clone {
    let is_own = |at: &At<ReportRow>| matches!(at.row, ReportRow::Slot { .. } | ReportRow::Rest(_));
    first.filter(is_own).take(count)
}

/// Adds a finding on a row, with values that take part.
fn push(
    dump: &Dump,
    at: &At<ReportRow>,
    span: Span,
    message: String,
    values: &[u32],
    findings: &mut Findings,
) {
    findings.push(finding(dump, at, span, message, values));
}

fn finding(
    dump: &Dump,
    at: &At<ReportRow>,
    span: Span,
    message: String,
    values: &[u32],
) -> Finding {
    let mut finding = Finding::new(Code::ReportTotal, at.place(span), message);
    for &value in values.iter().take(24) {
        if let Some(placement) = dump.placement(&dump.values[value as usize]) {
            finding = finding.related(
                placement.place(placement.row.line),
                "a value of the allocation",
            );
        }
    }
    finding
}
