//! Advice: what a sound dump shows that could take less memory.
//!
//! Nothing here is wrong with the dump. Donation may be impossible and a copy may be required, for
//! reasons that no dump tells, so each sentence says "if".

mod copies;
mod parameters;
mod spaces;
#[cfg(test)]
mod tests;
mod values;

use super::budgets::Limits;
use super::labels::{cut, title, value_place};
use super::{Code, Finding, Findings};
use crate::audit::Audit;
use crate::audit::copies::copies_from;
use crate::audit::donation::donation;
use crate::model::cancel::join;
use crate::model::occupancy::Moment;
use crate::model::source::{Libraries, file_name};
use crate::model::{Dump, Place, Value, bytes};

/// Of each code at most so many findings are kept, the largest; the last one says how many more
/// there are.
const MAX_OF_CODE: usize = 20;
/// At most so many others of the same kind are named with a finding.
const MAX_RELATED: usize = 8;

/// From when on something is worth a finding.
#[derive(Debug, Clone, PartialEq)]
pub struct Thresholds {
    /// Bytes that it is about.
    pub min_bytes: u64,
    /// `padding`: bytes by bytes without padding.
    pub padding_ratio: f64,
    /// `fragmentation`: an allocation that is fuller than so many percent at some step is full
    /// enough.
    pub full_percent: u64,
    /// `repeated-shape`: so many values.
    pub repeated_shapes: usize,
    /// `dead-parameter`: read for the last time in the first so many percent of the steps before
    /// the peak.
    pub dead_percent: u64,
    /// `capacity`: the bytes that a device has of a memory space. Spaces go by name, `hbm`, or by
    /// number, `@0`.
    pub capacity: Limits<u64>,
    /// Whose lines of source are told only where there are none of the user's.
    pub libraries: Libraries,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            min_bytes: 1 << 20,
            padding_ratio: 2.0,
            full_percent: 75,
            repeated_shapes: 8,
            dead_percent: 50,
            capacity: Vec::new(),
            libraries: Libraries::default(),
        }
    }
}

/// All advice on a dump in which nothing is wrong.
pub(super) fn advise(dump: &Dump, thresholds: &Thresholds, findings: &mut Findings) {
    let advice = || Advice {
        dump,
        audit: Audit::new(dump, thresholds.libraries.clone()),
        thresholds,
    };
    // In two parts: what donation could do takes as long as the others.
    let (others, of_donation) = join(|| advice().others(), || advice().of_donation());
    for (findings_of_code, one) in others.into_iter().chain(of_donation) {
        findings.extend(bounded(findings_of_code, one));
    }
}

/// The first findings, the last of which says how many more there are.
fn bounded(mut findings: Vec<Finding>, one: &str) -> Vec<Finding> {
    let more = findings.len().saturating_sub(MAX_OF_CODE);
    findings.truncate(MAX_OF_CODE);
    if let Some(last) = findings.last_mut().filter(|_| more > 0) {
        let more = bytes::counted(more, &format!("more {one}"));
        last.message = format!("{} (and {more})", last.message);
    }
    findings
}

/// What the advice of all kinds needs.
struct Advice<'a, 'd> {
    dump: &'d Dump,
    audit: Audit<'d>,
    thresholds: &'a Thresholds,
}

/// Findings of one kind, and what they are about when there are more.
type OfKind = (Vec<Finding>, &'static str);

impl<'d> Advice<'_, 'd> {
    fn of_donation(&self) -> Vec<OfKind> {
        let donation = donation(&self.audit);
        let (missed, outputs) = self.missed_donations(&donation);
        vec![
            (missed, "parameter"),
            (self.dead_parameters(&donation), "parameter"),
            (self.idle_outputs(&outputs), "memory space"),
        ]
    }

    fn others(&self) -> Vec<OfKind> {
        let copies = copies_from(&self.audit, self.least_copied());
        let (repeated, residuals) = match self.temporaries_at_peak() {
            Some((peak, temporaries)) => (
                self.repeated_shapes(peak, &temporaries),
                self.loop_residuals(peak, &temporaries),
            ),
            None => (Vec::new(), None),
        };
        vec![
            (self.padding(), "shape"),
            (self.peak_step().into_iter().collect(), ""),
            (self.layout_copies(&copies), "layout pair"),
            (self.host_offload(&copies), "parameter"),
            (self.fragmentation(), "allocation"),
            (self.large_constants(), "constant"),
            (repeated, "shape"),
            (residuals.into_iter().collect(), ""),
            (self.widened(), "value"),
            (self.capacity(), "memory space"),
        ]
    }

    fn value(&self, at: u32) -> &'d Value {
        &self.dump.values[at as usize]
    }

    /// The true peak of a memory space, where every live range is known.
    fn peak(&self, color: u64) -> Option<Moment> {
        let occupancy = self.dump.occupancy();
        let peak = occupancy.peak_if_any(color);
        peak.filter(|_| occupancy.missing == 0)
    }

    /// Whether a value is alive at the true peak of its memory space.
    fn is_at_peak(&self, value: &Value) -> bool {
        let allocation = self.dump.allocation_of(value);
        let peak = allocation.and_then(|allocation| self.peak(allocation.color));
        peak.is_some_and(|peak| self.dump.is_alive(value, peak.step))
    }

    /// The parameter whose buffer an allocation is, with the path of the argument: `parameter 3
    /// (params['w'])`.
    fn parameter(&self, number: u64, value: Option<u32>) -> String {
        let path = value.and_then(|at| self.audit.origins.of(self.value(at)).op_name.clone());
        match path {
            Some(path) => format!("parameter {number} (`{}`)", cut(&path)),
            None => format!("parameter {number}"),
        }
    }

    /// ` (model.py:12)`, or nothing.
    fn source(&self, at: u32) -> String {
        let source = crate::audit::attribution::source(&self.audit, self.value(at));
        source.map_or_else(String::new, |source| {
            format!(" ({})", cut(file_name(&source)))
        })
    }

    /// A finding with values of its kind as related places.
    fn finding(
        &self,
        code: Code,
        place: Place,
        message: String,
        others: impl Iterator<Item = u32>,
    ) -> Finding {
        let mut finding = Finding::new(code, place, message);
        for other in others.take(MAX_RELATED) {
            if let Some(place) = value_place(self.dump, other) {
                finding = finding.related(place, format!("likewise {}", title(self.dump, other)));
            }
        }
        finding
    }
}
