//! Advice on copies: those that only change a layout, and those that undo an offload.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Advice;
use crate::audit::copies::{Copy, Purpose};
use crate::audit::offload::offload;
use crate::checks::labels::{cut, size_place, space_title, title, value_place};
use crate::checks::{Code, Finding};
use crate::model::bytes::{grouped, rounded};
use crate::model::space::HOST;

/// The element type that a shape's text begins with.
fn element(shape: &str) -> Option<&str> {
    shape.split('[').next()
}

/// Whether a copy is one that the compiler has put in to save memory: into a layout with less padding, and back
/// where the data is read. By these names its rematerialization calls them.
fn is_compression(name: &str) -> bool {
    name.contains("remat_compressed") || name.contains("remat_uncompressed")
}

impl Advice<'_, '_> {
    /// So many bytes a copy writes to be told of. What comes back from host memory may take less here than there, where it
    /// is the parameter that counts.
    pub(super) fn least_copied(&self) -> u64 {
        let mut allocations = self.dump.allocations.iter();
        let has_host_parameters = allocations.any(|it| it.color == HOST && it.is_parameter());
        if has_host_parameters {
            0
        } else {
            self.thresholds.min_bytes
        }
    }

    /// `layout-copy`: one finding for each pair of shapes.
    pub(super) fn layout_copies(&self, copies: &[Copy]) -> Vec<Finding> {
        let mut groups: BTreeMap<(&str, &str), Vec<&Copy>> = BTreeMap::new();
        for copy in copies {
            let only_layout = element(&copy.from.shape) == element(&copy.to.shape)
                && !is_compression(&self.dump.names[copy.name]);
            if copy.purpose == Purpose::Layout
                && only_layout
                && copy.bytes >= Some(self.thresholds.min_bytes)
            {
                let ends = (copy.from.shape.as_str(), copy.to.shape.as_str());
                groups.entry(ends).or_default().push(copy);
            }
        }
        let mut groups: Vec<Vec<&Copy>> = groups.into_values().collect();
        // The copies of a group are as large as each other, in the order of time.
        groups.sort_by_key(|group| {
            let is_at_peak = group.iter().any(|copy| copy.at_peak == Some(true));
            (
                !is_at_peak,
                std::cmp::Reverse(group[0].bytes),
                group[0].name,
            )
        });
        groups
            .iter()
            .filter_map(|group| self.layout_copy(group))
            .collect()
    }

    fn layout_copy(&self, group: &[&Copy]) -> Option<Finding> {
        let worst = |copy: &&&Copy| (copy.at_peak == Some(true), copy.round_trip.is_some());
        let first = group.iter().rev().max_by_key(worst)?;
        let value = first.to.value?;
        let mut message = format!(
            "{}{} writes {} only to change the layout, from `{}` to `{}`",
            title(self.dump, value),
            self.source(value),
            rounded(first.bytes?),
            cut(&first.from.shape),
            cut(&first.to.shape)
        );
        if first.at_peak == Some(true) {
            message += "; it is alive at the peak";
        }
        if let Some(earlier) = first.round_trip {
            let earlier = cut(&self.dump.names[earlier]);
            let _ = write!(message, "; it takes back what `{earlier}` did");
        }
        message += ". If what makes the data and what reads it agreed on a layout, it would go";
        if group.len() > 1 {
            let _ = write!(
                message,
                " ({} more like it)",
                grouped(group.len() as u64 - 1)
            );
        }
        let others = group.iter().filter(|copy| copy.name != first.name);
        let others = others.filter_map(|copy| copy.to.value);
        let place = value_place(self.dump, value)?;
        let mut finding = self.finding(Code::LayoutCopy, place, message, others);
        if let Some(place) = first.from.value.and_then(|at| value_place(self.dump, at)) {
            finding.related.insert(0, (place, "what it copies".into()));
        }
        Some(finding)
    }

    /// `host-offload`: host parameters that are copied back whole.
    pub(super) fn host_offload(&self, copies: &[Copy]) -> Vec<Finding> {
        let offload = offload(&self.audit, copies);
        let large = offload.comes_back.iter().filter(|back| {
            let bytes = self.dump.allocations[back.allocation as usize].size;
            bytes >= self.thresholds.min_bytes
        });
        let finding = |back: &crate::audit::offload::ComesBack| {
            let parameter = &self.dump.allocations[back.allocation as usize];
            let copy = &copies[back.copy];
            let value = copy.to.value?;
            let space = space_title(self.dump, self.dump.color_of(value)?);
            let (start, end) = self.dump.live(self.value(value));
            let message = format!(
                "{} lies in host memory, but all of it is copied back: {} takes {} of {space} at \
                 steps {start}-{end}. If parts of it were read one after the other, less would be there at a time",
                self.parameter(self.dump.parameter_number(parameter)?, copy.from.value),
                title(self.dump, value),
                rounded(copy.bytes?)
            );
            let place = size_place(self.dump, back.allocation)?;
            let finding = Finding::new(Code::HostOffload, place, message);
            Some(finding.related(value_place(self.dump, value)?, "the copy"))
        };
        large.filter_map(finding).collect()
    }
}
