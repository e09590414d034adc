//! The running sums, percentages, lists of shapes and remainders in the tables of the report.

use std::borrow::Cow;

use buflens_syntax::facts::{ReportRow, Span};
use buflens_syntax::lexer::{Token, tokens};
use rustc_hash::FxHashMap;

use super::push;
use super::slots::Slots;
use crate::checks::labels::cut;
use crate::checks::{Doubts, Findings};
use crate::model::shapes::ShapeId;
use crate::model::{At, Dump, bytes};

/// Adds up a table's rows from the top.
pub(super) struct Sum {
    /// The bytes of all rows, those that are not shown as well.
    pub(super) whole: u64,
    /// The bytes of the rows so far.
    so_far: u64,
}

impl Sum {
    pub(super) fn new(whole: u64) -> Self {
        Self { whole, so_far: 0 }
    }

    /// Adds a row of `size` bytes and compares its running sum and its percentage. Tells whether
    /// they are right.
    pub(super) fn add(
        &mut self,
        dump: &Dump,
        at: &At<ReportRow>,
        size: u64,
        (cumulative, percentage): (Span, Span),
        findings: &mut Findings,
    ) -> bool {
        self.so_far = self.so_far.saturating_add(size);
        let expected = bytes::human(self.so_far);
        if at.text(cumulative) != expected {
            let message = format!(
                "{} where the sizes up to here add up to {expected}",
                at.text(cumulative)
            );
            push(dump, at, cumulative, message, &[], findings);
            return false;
        }
        let expected = self.percentage();
        let found = at.text(percentage).trim();
        if found != expected {
            let message = format!(
                "{found} % where {cumulative} of {whole} are {expected} %",
                cumulative = at.text(cumulative),
                whole = bytes::human(self.whole)
            );
            push(dump, at, percentage, message, &[], findings);
            return false;
        }
        true
    }

    /// What is not shown yet.
    pub(super) fn rest(&self) -> u64 {
        self.whole.saturating_sub(self.so_far)
    }

    fn percentage(&self) -> String {
        if self.whole == 0 {
            // The compiler divides nothing by nothing.
            return "-nan".to_owned();
        }
        let percentage = 100.0 * self.so_far as f64 / self.whole as f64;
        // As `printf` rounds.
        percentage.round_ties_even().to_string()
    }
}

/// Compares what a table of slots, whose sizes and offsets are right, says besides. `slots` are
/// those of its allocation. Tells whether the sums are right.
pub(super) fn check_slots<'d>(
    dump: &Dump,
    rows: impl Iterator<Item = At<'d, ReportRow>>,
    slots: &Slots,
    doubts: &mut Doubts,
    findings: &mut Findings,
) -> bool {
    let whole = slots
        .iter()
        .map(|slot| slot.size)
        .fold(0, u64::saturating_add);
    let (mut sum, mut shown) = (Sum::new(whole), 0);
    let mut plain = FxHashMap::default();
    for at in rows {
        match at.row {
            ReportRow::Slot {
                cumulative,
                percentage,
                offset,
                shapes,
                ..
            } => {
                let Some(slot) = slots.at(offset.value).map(|at| slots.slot(at)) else {
                    return false;
                };
                shown += 1;
                // Behind a row that is missing, all sums are off.
                if !sum.add(dump, &at, slot.size, (cumulative, percentage), findings) {
                    return false;
                }
                let is_in_doubt = slot
                    .values
                    .iter()
                    .any(|value| doubts.values.contains(value));
                let expected = shape_list(dump, slot.values, &mut plain);
                if !is_in_doubt && items(at.text(shapes)) != expected {
                    let message = format!(
                        "other shapes than those of the values at offset {}: {}",
                        offset.value,
                        cut(&expected.join(", "))
                    );
                    push(dump, &at, shapes, message, slot.values, findings);
                    doubts.values.extend(slot.values);
                }
            }
            ReportRow::Rest(number) => {
                let left = slots.len().saturating_sub(shown);
                if number.value != left as u64 {
                    let message = format!(
                        "{} values not shown where {left} offsets of the allocation have no row",
                        number.value
                    );
                    push(dump, &at, number.span, message, &[], findings);
                }
            }
            _ => {}
        }
    }
    true
}

/// `f32[4]`, `5×s32[]`: the values' shapes without layout, sorted. (Older compilers print them in no
/// order that the dump tells.) `plain` has shapes without layout by those with layout.
fn shape_list<'p>(
    dump: &Dump,
    values: &[u32],
    plain: &'p mut FxHashMap<ShapeId, String>,
) -> Vec<Cow<'p, str>> {
    let shapes = values
        .iter()
        .map(|&value| dump.values[value as usize].shape);
    for shape in shapes.clone().flatten() {
        plain
            .entry(shape)
            .or_insert_with(|| without_layout(&dump.shapes[shape]));
    }
    let mut shapes: Vec<&str> = shapes
        .map(|shape| shape.map_or("", |shape| &plain[&shape]))
        .collect();
    shapes.sort_unstable();
    let items = shapes.chunk_by(|one, other| one == other);
    let items = items.map(|equal| match equal.len() {
        1 => equal[0].into(),
        count => format!("{count}×{}", equal[0]).into(),
    });
    let mut items: Vec<Cow<str>> = items.collect();
    items.sort_unstable();
    items
}

/// The items of a row's list, sorted.
fn items(list: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let is_end = |char: char| {
        match char {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        char == ',' && depth == 0
    };
    let mut items: Vec<&str> = list.split(is_end).map(str::trim).collect();
    items.sort_unstable();
    items
}

/// A shape's text without its layouts, which are all that stands in braces.
fn without_layout(shape: &str) -> String {
    let mut depth = 0_usize;
    let kept = tokens(shape).filter_map(|(token, text)| match token {
        Token::LBrace => {
            depth += 1;
            None
        }
        Token::RBrace => {
            depth = depth.saturating_sub(1);
            None
        }
        _ => (depth == 0).then_some(text),
    });
    kept.collect()
}
