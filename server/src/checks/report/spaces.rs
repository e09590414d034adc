//! The memory spaces of a report, and whether all of them and all allocations are in it.

use std::collections::BTreeMap;

use buflens_syntax::facts::{ReportRow, Total};
use rustc_hash::FxHashSet;

use super::{MOST_TABLES, Report};
use crate::checks::structure::end_of;
use crate::checks::{Code, Doubts, Finding, Findings};
use crate::model::{At, Dump, Place};

/// The allocations of a memory space.
#[derive(Default)]
pub(super) struct Space {
    /// Their sizes' sum.
    pub(super) sum: u128,
    /// Whether one of them has a size that is wrong, nobody knows how much.
    pub(super) in_doubt: bool,
    /// The largest first, as the newer form lists them.
    pub(super) by_size: Vec<u32>,
}

pub(super) fn spaces(dump: &Dump, doubts: &Doubts) -> BTreeMap<u64, Space> {
    let size = |number: u32| {
        doubts
            .sizes
            .get(&number)
            .copied()
            .unwrap_or(dump.allocations[number as usize].size)
    };
    let mut spaces: BTreeMap<u64, Space> = BTreeMap::new();
    for (number, allocation) in (0..).zip(&dump.allocations) {
        let space = spaces.entry(allocation.color).or_default();
        space.sum += u128::from(size(number));
        space.in_doubt |=
            doubts.allocations.contains(&number) && !doubts.sizes.contains_key(&number);
        space.by_size.push(number);
    }
    for space in spaces.values_mut() {
        space
            .by_size
            .sort_by_key(|&number| (std::cmp::Reverse(size(number)), number));
    }
    spaces
}

impl Report<'_, '_> {
    /// Whether each memory space with bytes has allocations, and stands there once. A wrong number in a
    /// heading is one finding, and not one for all below it.
    pub(super) fn has_its_spaces(&self, findings: &mut Findings) -> bool {
        let mut printed: BTreeMap<u64, (Place, u128)> = BTreeMap::new();
        let (mut heading, mut wrong) = (None, None::<(Place, u128, &str)>);
        let (mut headed, mut again) = (FxHashSet::default(), None);
        let is_twice = "this memory space stands here twice";
        for at in self.rows() {
            match at.row {
                ReportRow::Space { color, .. } => {
                    let place = at.place(color.span);
                    if !headed.insert(color.value) {
                        again.get_or_insert_with(|| (place.clone(), 0, is_twice));
                    }
                    heading = Some((color.value, place));
                }
                ReportRow::SpaceTotal(total) if total.bytes.value > 0 => {
                    let Some((color, place)) = heading.take() else {
                        continue;
                    };
                    let sum = self.spaces.get(&color).map(|space| space.sum);
                    let bytes = u128::from(total.bytes.value);
                    wrong = match printed.insert(color, (place.clone(), bytes)) {
                        // Of two, the one with other bytes is the wrong one.
                        Some((first, of_first)) => {
                            let is_its = sum == Some(bytes);
                            let (place, bytes) = if is_its {
                                (first, of_first)
                            } else {
                                (place, bytes)
                            };
                            Some((place, bytes, is_twice))
                        }
                        None if sum.is_none() => Some((
                            place,
                            bytes,
                            "the dump has no allocation in this memory space",
                        )),
                        None => wrong,
                    };
                }
                _ => {}
            }
        }
        // Also where it has no bytes.
        let Some((place, bytes, message)) = wrong.or(again) else {
            return true;
        };
        let mut left = self
            .spaces
            .iter()
            .filter(|(color, space)| space.sum == bytes && !printed.contains_key(color));
        let finding = Finding::new(Code::ReportTotal, place, message);
        findings.push(match (left.next(), left.next()) {
            (Some((color, _)), None) => finding.fixed_by(color.to_string()),
            _ => finding,
        });
        false
    }

    /// The newer form has all memory spaces with bytes, the older one all allocations with their values. Whether
    /// the file is cut.
    pub(super) fn check_end(&self, doubts: &Doubts, findings: &mut Findings) -> bool {
        let is_doubted = !doubts.headers.is_empty() || !doubts.allocations.is_empty();
        if is_doubted || findings.has(Code::ReportTotal) || findings.has(Code::ColorMismatch) {
            return false;
        }
        let (mut printed, mut listed) = (FxHashSet::default(), 0);
        // Memory spaces ascend, each with a table for each of its allocations, at least for the first 50.
        let (mut last, mut tables) = (None, 0);
        let mut is_running = false;
        for at in self.rows() {
            match at.row {
                ReportRow::Space { color, .. } => {
                    printed.insert(color.value);
                    (last, tables) = (Some(color.value), 0);
                }
                ReportRow::Allocation(_) if !is_running => listed += 1,
                ReportRow::Table(_) => tables += 1,
                _ => {}
            }
            is_running = matches!(at.row, ReportRow::Running { .. });
        }
        let document = &self.context.dump.files[self.file].document;
        let is_older = document
            .blocks()
            .any(|(_, block)| !block.totals().is_empty());
        let count = self.context.dump.allocations.len();
        let (code, message) = if is_older && listed < count {
            let message = format!(
                "the report ends before all allocations are listed with their values: {listed} of {count} are"
            );
            (Code::Truncated, message)
        } else if !is_older
            && let Some(last) = last
            && let Some(space) = self.spaces.get(&last)
            && tables < space.by_size.len().min(MOST_TABLES)
        {
            let message = format!(
                "the report ends behind {tables} of {} tables of memory space {last}",
                space.by_size.len()
            );
            (Code::Truncated, message)
        } else if !is_older
            && let Some((color, space)) = self
                .spaces
                .iter()
                .find(|(color, space)| space.sum > 0 && !printed.contains(color))
        {
            let message = format!(
                "the report says nothing of memory space {color}, whose allocations add up to {}",
                space.sum
            );
            let is_behind = printed.iter().all(|it| it < color);
            let code = if is_behind {
                Code::Truncated
            } else {
                Code::ReportTotal
            };
            (code, message)
        } else {
            return false;
        };
        findings.push(Finding::new(code, end_of(self.file, document), message));
        code == Code::Truncated
    }

    /// Whether a space's total is not the sum of its allocations.
    pub(super) fn check_space(
        &self,
        color: u64,
        heading: Place,
        total: &At<Total>,
        findings: &mut Findings,
    ) -> bool {
        let dump = self.context.dump;
        let (sum, in_doubt) = self
            .spaces
            .get(&color)
            .map_or((0, false), |space| (space.sum, space.in_doubt));
        if u128::from(total.row.bytes.value) == sum || in_doubt || findings.has(Code::ColorMismatch)
        {
            return false;
        }
        let message = format!(
            "total of {} bytes where the allocations of memory space {color} add up to {sum}",
            total.row.bytes.value
        );
        let mut finding = Finding::new(
            Code::ReportTotal,
            total.place(total.row.bytes.span),
            message,
        )
        .related(heading, format!("memory space {color}"));
        // The allocation whose move to another space, or whose size, explains the difference.
        let missing = u128::from(total.row.bytes.value).abs_diff(sum);
        for allocation in dump
            .allocations
            .iter()
            .filter(|allocation| u128::from(allocation.size) == missing)
            .take(4)
        {
            if let Some(header) = dump.header(allocation) {
                finding = finding.related(
                    header.place(header.row.line),
                    "of the size of the difference",
                );
            }
        }
        findings.push(finding);
        true
    }
}
