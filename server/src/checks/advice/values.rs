//! Advice on values: padding, constants, and what the peak holds more than once.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use buflens_syntax::ArrayShape;
use rustc_hash::FxHashMap;

use super::Advice;
use crate::audit::padding::{ValuePadding, of_value};
use crate::checks::labels::{cut, size_place, space_title, step_title, title, value_place};
use crate::checks::{Code, Finding};
use crate::model::Allocation;
use crate::model::bytes::{counted, rounded};
use crate::model::cancel::checkpoint;
use crate::model::occupancy::{Kind, Moment, alive, exclusive};
use crate::model::shapes::shape_text;

/// Of so many values it is asked which pass made them.
const MOST_TRACED: usize = 16;

/// `loop-residuals`: from such a part of the peak on they are worth to be told.
const LEAST_KEPT: u64 = 10;

/// In the trace path of what `jax.checkpoint` does not keep.
const COMPUTED_AGAIN: &str = "rematted_computation";

/// What a trace path tells of the passes of a training step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// What was not kept of the forward pass is computed again.
    Again,
    /// Gradients.
    Backward,
    /// The forward pass is the only one: no gradient is taken.
    Alone,
    /// Several, and some values are computed again.
    Mixed,
}

impl Pass {
    /// The pass that a trace path names: as JAX does, or TensorFlow. In JAX also the forward pass has a name, `jvp(`.
    fn of(path: &str) -> Option<Self> {
        if path.contains(COMPUTED_AGAIN) {
            Some(Self::Again)
        } else if path.contains("transpose(") || path.contains("gradient_tape/") {
            Some(Self::Backward)
        } else if path.starts_with("jit(") && !path.contains("jvp(") {
            Some(Self::Alone)
        } else {
            None
        }
    }
}

impl Advice<'_, '_> {
    /// `padding`: one finding for each shape.
    pub(super) fn padding(&self) -> Vec<Finding> {
        let dump = self.dump;
        let mut by_shape: BTreeMap<(&str, u64), Vec<u32>> = BTreeMap::new();
        for (at, value) in (0..).zip(&dump.values) {
            if value.size >= self.thresholds.min_bytes
                && let Some(shape) = shape_text(dump, value)
            {
                by_shape.entry((shape, value.size)).or_default().push(at);
            }
        }
        let padded = by_shape.into_values().filter_map(|values| {
            let padding = of_value(&self.audit, values[0])?;
            let is_much = padding.bytes >= self.thresholds.min_bytes
                && padding.ratio() >= self.thresholds.padding_ratio;
            is_much.then_some((padding, values))
        });
        let mut padded: Vec<(ValuePadding, Vec<u32>)> = padded.collect();
        padded.sort_by_key(|(padding, _)| (Reverse(padding.bytes), padding.value));
        let finding = |(padding, values): &(ValuePadding, Vec<u32>)| {
            let is_at_peak = |at: &u32| self.is_at_peak(self.value(*at));
            let shown = values.iter().copied().find(|at| is_at_peak(at));
            let first = shown.unwrap_or(values[0]);
            let line = dump.placement(self.value(first))?;
            let mut message = format!(
                "{} takes {} for {} of data, {:.2}x",
                title(self.dump, first),
                rounded(padding.bytes.saturating_add(padding.logical)),
                rounded(padding.logical),
                padding.ratio()
            );
            if let Some(dimension) = padding.dimension {
                let rounds = match (dimension.number, dimension.tile) {
                    (Some(number), _) => format!("the tile rounds dimension {number}"),
                    (None, Some(_)) => "the tile rounds a dimension that only it has".to_owned(),
                    (None, None) => "without a tile a TPU rounds the elements".to_owned(),
                };
                let (from, to) = (dimension.from, dimension.to);
                let _ = write!(message, ": {rounds} up from {from} to {to}");
            }
            if shown.is_some() {
                message += "; it is alive at the peak";
            }
            if let Some((order, bytes)) = &padding.order {
                let order: Vec<String> = order.iter().map(u64::to_string).collect();
                let _ = write!(
                    message,
                    ". If its layout were {{{}}} with the same tile, it would take {}",
                    order.join(","),
                    rounded(*bytes)
                );
            }
            if values.len() > 1 {
                let _ = write!(
                    message,
                    " ({} of this shape)",
                    counted(values.len() - 1, "more value")
                );
            }
            let others = values.iter().copied().filter(|&at| at != first);
            let place = line.place(line.row.shape);
            Some(self.finding(Code::Padding, place, message, others))
        };
        padded.iter().filter_map(finding).collect()
    }

    /// `large-constant`
    pub(super) fn large_constants(&self) -> Vec<Finding> {
        let dump = self.dump;
        let mut constants: Vec<(u64, u32)> = (0..)
            .zip(&dump.allocations)
            .filter(|(_, allocation)| {
                allocation.kind() == Kind::Constant && allocation.size >= self.thresholds.min_bytes
            })
            .map(|(at, allocation)| (allocation.size, at))
            .collect();
        constants.sort_by_key(|&(size, at)| (Reverse(size), at));
        let finding = |&(size, at): &(u64, u32)| {
            let value = dump.allocations[at as usize].values.clone().next()?;
            let message = format!(
                "the constant {}{} takes {}, and as much in the compiled program: if it were an \
                 argument, it would not be compiled in",
                title(self.dump, value),
                self.source(value),
                rounded(size)
            );
            Some(Finding::new(
                Code::LargeConstant,
                size_place(self.dump, at)?,
                message,
            ))
        };
        constants.iter().filter_map(finding).collect()
    }

    /// The true peak of the main memory, and the temporaries that are alive there, each with the bytes that no one before
    /// it has.
    pub(super) fn temporaries_at_peak(&self) -> Option<(Moment, Vec<(u32, u64)>)> {
        let dump = self.dump;
        let peak = self.peak(0)?;
        let mut values = exclusive(dump, &alive(dump, 0, peak.step));
        values.retain(|&(at, _)| {
            let kind = dump.allocation_of(self.value(at)).map(Allocation::kind);
            kind == Some(Kind::Temp)
        });
        Some((peak, values))
    }

    /// `repeated-shape`: `temporaries` of one shape at the peak of the main memory.
    pub(super) fn repeated_shapes(&self, peak: Moment, temporaries: &[(u32, u64)]) -> Vec<Finding> {
        let dump = self.dump;
        let mut by_shape: BTreeMap<&str, (u64, Vec<u32>)> = BTreeMap::new();
        for &(at, share) in temporaries {
            let value = self.value(at);
            // A value that lies in the bytes of another is no copy of its own.
            if share == value.size
                && let Some(shape) = shape_text(dump, value)
            {
                let group = by_shape.entry(shape).or_default();
                group.0 = group.0.saturating_add(share);
                group.1.push(at);
            }
        }
        let is_much = |(bytes, values): &(u64, Vec<u32>)| {
            *bytes >= self.thresholds.min_bytes
                && values.len() >= self.thresholds.repeated_shapes.max(2)
        };
        let mut found: Vec<(u64, Vec<u32>)> = by_shape.into_values().filter(is_much).collect();
        found.sort_by_key(|(bytes, values)| (Reverse(*bytes), values[0]));
        let finding = |(bytes, values): &(u64, Vec<u32>)| {
            let line = dump.placement(self.value(values[0]))?;
            let hint = match self.pass_of(values) {
                // What the backward pass makes is not kept for it.
                Some(Pass::Backward) => return None,
                Some(Pass::Again) => {
                    ": they have been computed again for the backward pass, but all of them before it needs them"
                }
                Some(Pass::Alone) => "",
                Some(Pass::Mixed) => {
                    ": some have been computed again for the backward pass; if others are kept for it, computing \
                     these again there would free theirs"
                }
                None => {
                    ": if they are kept for a backward pass, computing them again there would free most of it"
                }
            };
            let message = format!(
                "{} values of this shape are alive at the peak of {}, {}, {} together{hint}",
                values.len(),
                space_title(self.dump, 0),
                step_title(self.dump, peak.step),
                rounded(*bytes)
            );
            let others = values[1..].iter().copied();
            let place = line.place(line.row.shape);
            Some(self.finding(Code::RepeatedShape, place, message, others))
        };
        found.iter().filter_map(finding).collect()
    }

    /// `loop-residuals`: `temporaries` that loops of JAX's forward pass keep of each turn, at the peak of the main memory.
    pub(super) fn loop_residuals(
        &self,
        peak: Moment,
        temporaries: &[(u32, u64)],
    ) -> Option<Finding> {
        let dump = self.dump;
        let mut kept: Vec<(u64, u32, String)> = Vec::new();
        for &(at, share) in temporaries {
            if share >= self.thresholds.min_bytes
                && let Some(filling) = self.audit.origins.filling(self.value(at))
                && let Some(path) = filling.op_name
                && path.contains("jvp(")
                && Pass::of(&path).is_none()
            {
                kept.push((share, at, path));
            }
        }
        kept.sort_by_key(|&(share, at, _)| (Reverse(share), at));
        let (_, largest, path) = kept.first()?;
        let shares = kept.iter().map(|(share, ..)| *share);
        let bytes = shares.fold(0, u64::saturating_add);
        // What is kept where `jax.checkpoint` is at work already is what it was told to keep.
        if bytes < peak.bytes / LEAST_KEPT || self.is_rematerialised() {
            return None;
        }
        let message = format!(
            "at least {} of the {} at the peak of {}, {}, {} that a loop of the forward pass fills part by part, this one with \
             `{}`{}: if the backward pass reads them, `jax.checkpoint` of the loop's body keeps less and computes it again there",
            rounded(bytes),
            rounded(peak.bytes),
            space_title(dump, 0),
            step_title(dump, peak.step),
            match kept.len() {
                1 => "are a buffer".to_owned(),
                count => format!("are {}", counted(count, "buffer")),
            },
            cut(path),
            self.source(*largest),
        );
        let line = dump.placement(self.value(*largest))?;
        let others = kept[1..].iter().map(|&(_, at, _)| at);
        Some(self.finding(
            Code::LoopResiduals,
            line.place(line.row.shape),
            message,
            others,
        ))
    }

    /// Whether the HLO text tells that JAX computes something again for the backward pass.
    fn is_rematerialised(&self) -> bool {
        self.dump.module_blocks().any(|block| {
            checkpoint();
            block.text().contains(COMPUTED_AGAIN)
        })
    }

    /// The pass of a training step that made most of `values`, as far as the trace of the first of them tells.
    fn pass_of(&self, values: &[u32]) -> Option<Pass> {
        let values = &values[..values.len().min(MOST_TRACED)];
        let pass_of_one = |&at: &u32| {
            let origin = self.audit.origins.of(self.value(at));
            Pass::of(origin.op_name.as_deref().unwrap_or_default())
        };
        let passes: Vec<Pass> = values.iter().filter_map(pass_of_one).collect();
        let most = |pass: &Pass| passes.iter().filter(|&it| it == pass).count() * 2 > values.len();
        let mut all = [Pass::Backward, Pass::Again, Pass::Alone].into_iter();
        let is_mixed = passes.contains(&Pass::Again);
        all.find(most).or(is_mixed.then_some(Pass::Mixed))
    }

    /// `widened`: a 32-bit value made of a 16-bit one of the same dimensions, both at the peak.
    pub(super) fn widened(&self) -> Vec<Finding> {
        let dump = self.dump;
        let array = |at: u32| self.audit.shapes.array_of(self.value(at));
        let has_type = |array: &ArrayShape, names: &[&str]| names.contains(&&*array.element.name);
        let mut found: Vec<(u64, u32, u32)> = Vec::new();
        for space in &dump.occupancy().spaces {
            let Some(peak) = self.peak(space.color) else {
                continue;
            };
            let large = alive(dump, space.color, peak.step).into_iter();
            let large: Vec<u32> = large
                .filter(|&at| self.value(at).size >= self.thresholds.min_bytes)
                .collect();
            let mut wide: FxHashMap<_, Vec<(u32, &ArrayShape)>> = FxHashMap::default();
            for &at in &large {
                if let Some(array) = array(at).filter(|array| has_type(array, &["f32"])) {
                    wide.entry(self.value(at).name)
                        .or_default()
                        .push((at, array));
                }
            }
            for &narrow in &large {
                let value = self.value(narrow);
                let Some(array) = array(narrow).filter(|array| has_type(array, &["bf16", "f16"]))
                else {
                    continue;
                };
                let twin = dump
                    .uses_of(value)
                    .iter()
                    .filter_map(|reader| wide.get(&reader.name))
                    .flatten()
                    .find(|(at, wide)| {
                        wide.dimensions == array.dimensions && self.is_conversion(*at)
                    });
                if let Some(&(twin, _)) = twin {
                    found.push((self.value(twin).size, twin, narrow));
                }
            }
        }
        found.sort_by_key(|&(size, wide, narrow)| (Reverse(size), wide, narrow));
        found.dedup_by_key(|found| found.1);
        let finding = |&(size, wide, narrow): &(u64, u32, u32)| {
            let message = format!(
                "{} is {} in 32 bits{}, and both are alive at the peak: if what reads it could read \
                 16 bits, {} would go",
                title(self.dump, wide),
                title(self.dump, narrow),
                self.source(wide),
                rounded(size)
            );
            let finding = Finding::new(Code::Widened, value_place(self.dump, wide)?, message);
            Some(finding.related(value_place(self.dump, narrow)?, "the 16-bit value"))
        };
        found.iter().filter_map(finding).collect()
    }

    /// Whether the value's instruction converts it, and does not compute something else from it: a
    /// `convert`, or a fusion that the compiler made of one operation which is one.
    fn is_conversion(&self, at: u32) -> bool {
        let origin = self.audit.origins.of(self.value(at));
        let of_trace = || {
            let path = origin.op_name.as_deref().unwrap_or_default();
            path.ends_with("/convert_element_type")
        };
        match origin.parts.opcode {
            "convert" => true,
            "fusion" => origin.parts.operands.len() == 1 && of_trace(),
            _ => false,
        }
    }
}
