//! The memory-usage report says what the assignment says.

use std::collections::BTreeMap;

use buflens_syntax::facts::{self, ReportRow, Span, Total};

use super::allocations::Sizes;
use super::totals::check_human;
use super::{Code, Finding, Findings};
use crate::model::{Allocation, At, Dump, FileId, Part, Place, bytes};

/// `report-total` and, for its own totals, `human-bytes`. Allocations that the report shows to be
/// in doubt are added to `sizes`.
pub(super) fn check_report(dump: &Dump, sizes: &mut Sizes, findings: &mut Findings) {
    let Some(file) = dump.file_of(Part::Report) else { return };
    let report = Report { dump, file };
    report.check_totals(sizes, findings);
    if !dump.allocations.is_empty() && !findings.has(Code::Truncated) && !findings.has(Code::Syntax) {
        report.check_tables(sizes, findings);
    }
}

struct Report<'d> {
    dump: &'d Dump,
    file: FileId,
}

/// The values of one allocation that share an offset.
#[derive(Default)]
struct Slot {
    size: u64,
    values: Vec<u32>,
}

impl<'d> Report<'d> {
    /// All rows, each with its block.
    fn rows(&self) -> impl Iterator<Item = At<'d, ReportRow>> {
        let file = self.file;
        self.dump.files[file].document.blocks().flat_map(move |(start, block)| {
            block.facts().report.iter().map(move |row| At { file, start, block, row })
        })
    }

    fn check_totals(&self, sizes: &Sizes, findings: &mut Findings) {
        let dump = self.dump;
        let mut color = None;
        let (mut sum, mut spaces) = (0_u128, 0);
        for at in self.rows() {
            match at.row {
                ReportRow::Space { color: space, .. } => color = Some(*space),
                ReportRow::SpaceTotal(total) => {
                    let total = At { file: at.file, start: at.start, block: at.block, row: total };
                    check_human(&total, findings);
                    spaces += 1;
                    sum += u128::from(total.row.bytes.value);
                    if let Some(color) = color
                        && !dump.allocations.is_empty()
                    {
                        self.check_space(color.value, at.place(color.span), &total, sizes, findings);
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
            let message = format!("total of {} bytes where the report's memory spaces add up to {sum}", total.row.bytes.value);
            findings.push(Finding::new(Code::ReportTotal, total.place(total.row.bytes.span), message));
        }
        // The older form has one total of its own.
        for (start, block) in dump.files[self.file].document.blocks() {
            for row in &block.facts().totals {
                let own = At { file: self.file, start, block, row };
                check_human(&own, findings);
                let expected: u128 = match total.filter(|total| total.file != self.file) {
                    Some(total) => total.row.bytes.value.into(),
                    None if dump.allocations.is_empty() => continue,
                    None => dump.allocations.iter().map(|allocation| u128::from(allocation.size)).sum(),
                };
                if u128::from(row.bytes.value) != expected && !findings.has(Code::TotalBytes) {
                    let message = format!("total of {} bytes where the assignment has {expected}", row.bytes.value);
                    let mut finding = Finding::new(Code::ReportTotal, own.place(row.bytes.span), message);
                    if let Some(total) = total {
                        finding = finding.related(total.place(total.row.bytes.span), "the assignment's total");
                    }
                    findings.push(finding);
                }
            }
        }
    }

    fn check_space(&self, color: u64, heading: Place, total: &At<Total>, sizes: &Sizes, findings: &mut Findings) {
        let dump = self.dump;
        let of_space: Vec<_> = (0..dump.allocations.len())
            .filter(|&number| dump.allocations[number].color == color)
            .collect();
        let sum: u128 = of_space
            .iter()
            .map(|&number| {
                u128::from(sizes.expected.get(&(number as u32)).copied().unwrap_or(dump.allocations[number].size))
            })
            .sum();
        let in_doubt = of_space.iter().any(|&number| {
            sizes.blamed.contains(&(number as u32)) && !sizes.expected.contains_key(&(number as u32))
        });
        if u128::from(total.row.bytes.value) == sum || in_doubt {
            return;
        }
        let message = format!(
            "total of {} bytes where the allocations of memory space {color} add up to {sum}",
            total.row.bytes.value
        );
        let mut finding = Finding::new(Code::ReportTotal, total.place(total.row.bytes.span), message)
            .related(heading, format!("memory space {color}"));
        // The allocation whose move to another space, or whose size, explains the difference.
        let missing = u128::from(total.row.bytes.value).abs_diff(sum);
        for allocation in dump.allocations.iter().filter(|allocation| u128::from(allocation.size) == missing).take(4) {
            if let Some(header) = dump.at::<facts::Allocation>(allocation.header) {
                finding = finding.related(header.place(header.row.line), "of the size of the difference");
            }
        }
        findings.push(finding);
    }

    /// Compares each table of slots with the allocation it belongs to.
    fn check_tables(&self, sizes: &mut Sizes, findings: &mut Findings) {
        let mut color = 0;
        let mut tables_of_space = 0;
        let mut allocation: Option<u32> = None;
        // The older form names each table's allocation, the newer one sorts them.
        let mut is_named = false;
        let mut rows: Vec<At<'d, ReportRow>> = Vec::new();
        let mut heading = None;
        for at in self.rows() {
            match at.row {
                ReportRow::Space { color: space, .. } => {
                    self.check_table(allocation, heading.take(), &rows, sizes, findings);
                    (color, tables_of_space) = (space.value, 0);
                    rows.clear();
                }
                ReportRow::Allocation(header) => {
                    self.check_table(allocation, heading.take(), &rows, sizes, findings);
                    rows.clear();
                    is_named = true;
                    allocation = self.check_named(&at, header, sizes, findings);
                }
                ReportRow::Table(span) => {
                    if !is_named {
                        self.check_table(allocation, heading.take(), &rows, sizes, findings);
                        rows.clear();
                        allocation = self.nth_largest(color, tables_of_space);
                        tables_of_space += 1;
                    }
                    heading = Some(at.place(*span));
                }
                ReportRow::Slot { .. } => rows.push(at),
                ReportRow::SpaceTotal(_) => {}
            }
        }
        self.check_table(allocation, heading, &rows, sizes, findings);
    }

    /// The allocation of memory space `color` that has `before` larger ones before it.
    fn nth_largest(&self, color: u64, before: usize) -> Option<u32> {
        let allocations = &self.dump.allocations;
        let mut of_space: Vec<_> =
            (0..allocations.len() as u32).filter(|&number| allocations[number as usize].color == color).collect();
        of_space.sort_by_key(|&number| (std::cmp::Reverse(allocations[number as usize].size), number));
        of_space.get(before).copied()
    }

    /// A header in the older form agrees with section A.
    fn check_named(&self, at: &At<ReportRow>, header: &facts::Allocation, sizes: &Sizes, findings: &mut Findings) -> Option<u32> {
        let number = u32::try_from(header.index.value).ok()?;
        let Some(allocation) = self.dump.allocations.get(number as usize) else {
            let message = format!("the assignment has no allocation {}", header.index.value);
            findings.push(Finding::new(Code::ReportTotal, at.place(header.index.span), message));
            return None;
        };
        let expected = bytes::human(allocation.size);
        let there = self.dump.at::<facts::Allocation>(allocation.header)?;
        let found = at.text(header.human_size);
        if !sizes.blamed.contains(&number) && found != expected {
            let message = format!("allocation {number} has {found} here and {expected} in the assignment");
            let finding = Finding::new(Code::ReportTotal, at.place(header.human_size), message);
            findings.push(finding.related(there.place(there.row.size.span), "its size"));
        } else if header.color.value != allocation.color || header.parameter.get() != allocation.parameter {
            let message = format!("allocation {number} has another header in the assignment");
            let finding = Finding::new(Code::ReportTotal, at.place(header.line), message);
            findings.push(finding.related(there.place(there.row.line), "the header"));
        }
        Some(number)
    }

    /// Compares the rows of one table with the values of its allocation.
    fn check_table(
        &self,
        allocation: Option<u32>,
        heading: Option<Place>,
        rows: &[At<'d, ReportRow>],
        sizes: &mut Sizes,
        findings: &mut Findings,
    ) {
        let (Some(number), Some(_)) = (allocation, heading) else { return };
        if sizes.blamed.contains(&number) {
            return;
        }
        let Some(allocation) = self.dump.allocations.get(number as usize) else { return };
        let slots = self.slots(allocation);
        let mut unmatched = slots;
        let mut strange = Vec::new();
        for at in rows {
            let ReportRow::Slot { size, offset, values, .. } = at.row else { continue };
            let Some(slot) = unmatched.remove(&offset.value) else {
                strange.push((at, offset.span, format!("no value of allocation {number} lies at offset {}", offset.value)));
                continue;
            };
            let expected = bytes::human(slot.size);
            if at.text(*size) != expected {
                let message = format!("{} at offset {} where the largest value has {expected}", at.text(*size), offset.value);
                self.push(at, *size, message, &slot.values, findings);
                sizes.blamed.insert(number);
            } else if slot.values.len() as u64 != values.value {
                let message = format!("{} values at offset {} where the assignment has {}", values.value, offset.value, slot.values.len());
                self.push(at, values.span, message, &slot.values, findings);
                sizes.blamed.insert(number);
            }
        }
        // A row without values stands for values that lie elsewhere now: those without a row.
        let others: Vec<u32> = unmatched.into_values().flat_map(|slot| slot.values).collect();
        for (at, span, message) in strange {
            self.push(at, span, message, &others, findings);
            sizes.blamed.insert(number);
        }
    }

    fn slots(&self, allocation: &Allocation) -> BTreeMap<u64, Slot> {
        let mut slots: BTreeMap<u64, Slot> = BTreeMap::new();
        for at in allocation.values.clone() {
            let value = &self.dump.values[at as usize];
            let slot = slots.entry(value.offset).or_default();
            slot.size = slot.size.max(value.size);
            slot.values.push(at);
        }
        slots
    }

    fn push(&self, at: &At<ReportRow>, span: Span, message: String, values: &[u32], findings: &mut Findings) {
        let mut finding = Finding::new(Code::ReportTotal, at.place(span), message);
        for &value in values.iter().take(16) {
            if let Some(placement) = self.dump.placement(&self.dump.values[value as usize]) {
                finding = finding.related(placement.place(placement.row.line), "a value of the allocation");
            }
        }
        findings.push(finding);
    }
}
