//! Which parameters give their buffers to the result, and which could or should.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use buflens_syntax::{Dimension, ElementType, InstructionParts, Shape, facts};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Audit;
use crate::model::cancel::checkpoint;
use crate::model::occupancy::Moment;
use crate::model::opcodes::is_elementwise;
use crate::model::origin::called;
use crate::model::shapes::shape_text;
use crate::model::{Allocation, Dump, NameId, Platform, Value, bytes};

/// Of the outputs that a parameter could be donated to at most so many are told.
const MAX_OUTPUTS: usize = 16;

/// What becomes of a parameter's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It is the buffer of a part of the result as well.
    Donated,
    /// The caller donates it, but no output is written over it.
    NotUsable,
    /// It is not donated, and could be to an output that has its size: each output is matched with
    /// one parameter at most, of several with the one that is needed for the shortest time.
    CouldMatch,
    /// It is not donated, alive at the peak of its memory space, and read for the last time before.
    Dead,
    /// None of these.
    Kept,
    /// Not donated; a section that would tell more is missing.
    Unknown,
}

impl Verdict {
    /// `donated`, `not-usable`, `could-match`, `dead`, `kept`, `unknown`
    pub fn name(self) -> &'static str {
        match self {
            Self::Donated => "donated",
            Self::NotUsable => "not-usable",
            Self::CouldMatch => "could-match",
            Self::Dead => "dead",
            Self::Kept => "kept",
            Self::Unknown => "unknown",
        }
    }
}

/// An entry parameter, or a leaf of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its allocation, as a number into [`crate::model::Dump::allocations`].
    pub allocation: u32,
    /// The HLO parameter's number.
    pub number: u64,
    /// Its value, as a number into [`crate::model::Dump::values`], if it has one.
    pub value: Option<u32>,
    /// What becomes of it.
    pub verdict: Verdict,
    /// The last step at which it is read, and by whom. `None` if it is never read, or nothing is
    /// known.
    pub last_read: Option<(u64, NameId)>,
    /// Whether it is alive at the peak of its memory space; `None` where that is not known.
    pub at_peak: Option<bool>,
    /// The outputs that it could be donated to, as numbers into
    /// [`crate::model::Dump::allocations`]: at most 16, the one that it is matched with first, then
    /// those of its shape, then those that have its size and number of elements. Where the verdict is another than
    /// [`Verdict::CouldMatch`], other parameters are matched with all of them.
    pub outputs: Vec<u32>,
    /// What donating it to the output that it is matched with would save. `None` if it is matched with
    /// none.
    pub saving: Option<Saving>,
    /// Whether that output may be written over it in place: not if its last reader [makes that apart](InPlace::makes_apart),
    /// so that it would have to lie elsewhere first. `None` if it is matched with none.
    pub in_place: Option<bool>,
}

/// By how much less a program could do at most if parameters were donated to the outputs that they are
/// matched with, and all else stayed when it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Saving {
    /// Reserved bytes. What lies in an output before it is written has to lie somewhere, so the
    /// peak that is left stays reserved.
    pub reserved: u64,
    /// Bytes occupied at the peaks. A parameter is needed until its last reader, which may write over
    /// it. `None` where no peak is known, or not how long a parameter is read.
    pub peak: Option<u64>,
}

impl Parameter {
    /// The output that it is matched with: it is no other parameter's.
    pub fn output(&self) -> Option<u32> {
        let first = self.outputs.first().copied();
        first.filter(|_| self.verdict == Verdict::CouldMatch)
    }
}

/// The parameters of a dump, the largest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Donation {
    /// All parameters.
    pub parameters: Vec<Parameter>,
    /// What donating all that are matched with outputs would save, by memory space.
    pub savings: BTreeMap<u64, Saving>,
}

/// What becomes of each parameter.
pub fn donation(audit: &Audit) -> Donation {
    let dump = audit.dump;
    let allocations = (0..).zip(&dump.allocations);
    let matching = Matching::of(audit, allocations.clone());
    let mut sharing = InPlace::new(dump);
    let of_parameters = allocations.filter_map(|(at, it)| Some((at, it, it.parameter()?)));
    let mut parameters = Vec::with_capacity(of_parameters.clone().count());
    let mut of_all: BTreeMap<u64, Vec<(u64, Option<u64>)>> = BTreeMap::new();
    for (at, allocation, number) in of_parameters {
        let value = value_of(dump, allocation);
        let last_read = value.and_then(|value| dump.last_read(&dump.values[value as usize]));
        let peak = dump.occupancy().peak(allocation.color);
        let at_peak = value.and_then(|at| dump.is_at_peak(&dump.values[at as usize]));
        let (output, outputs) = matching.of_parameter(at);
        // Where nobody is known to read it, that may be for want of the section that tells.
        let is_unread = |value: &Value| value.is_used() && dump.uses_of(value).is_empty();
        // A loop stands behind its body in the schedule, but has the bytes from before it on.
        let end = value.map_or(0, |at| dump.live(&dump.values[at as usize]).1);
        let is_read_before = |step: u64| match last_read {
            Some((last, _)) => last.min(end) < step,
            None => value.is_some_and(|value| is_unread(&dump.values[value as usize])),
        };
        let is_known = value.is_some_and(|at| {
            let value = &dump.values[at as usize];
            value.has_live_range()
                && (at_peak != Some(true) || last_read.is_some() || is_unread(value))
        });
        let verdict = if allocation.is_donated() {
            Verdict::Donated
        } else if dump.is_donated_in_vain(allocation) {
            Verdict::NotUsable
        } else if output.is_some() {
            Verdict::CouldMatch
        } else if peak.is_none() || !is_known {
            Verdict::Unknown
        } else if at_peak == Some(true)
            && allocation.size > 0
            && peak.is_some_and(|peak| is_read_before(peak.step))
        {
            Verdict::Dead
        } else {
            Verdict::Kept
        };
        let saving = output.map(|_| {
            let from = value.and_then(|at| needed_until(dump, &dump.values[at as usize]));
            let freed = (allocation.size, from);
            of_all.entry(allocation.color).or_default().push(freed);
            saving(dump, allocation.color, &[freed])
        });
        let in_place = output.map(|output| {
            let read = value.zip(last_read);
            !read.is_some_and(|(at, (_, reader))| {
                sharing.makes_apart(&dump.values[at as usize], reader, output)
            })
        });
        parameters.push(Parameter {
            allocation: at,
            number,
            value,
            verdict,
            last_read,
            at_peak,
            outputs,
            saving,
            in_place,
        });
    }
    // No two are of one allocation.
    parameters.sort_unstable_by_key(|parameter| {
        let size = dump.allocations[parameter.allocation as usize].size;
        (Reverse(size), parameter.number, parameter.allocation)
    });
    let savings = of_all.iter();
    let savings = savings.map(|(&color, freed)| (color, saving(dump, color, freed)));
    Donation {
        parameters,
        savings: savings.collect(),
    }
}

/// The output that the parameter in allocation `at` is matched with, as [`donation`] has it, and
/// all outputs that have its size, as in [`Parameter::outputs`]. Looks at its memory space alone.
pub fn outputs_for(audit: &Audit, at: u32) -> (Option<u32>, Vec<u32>) {
    let parameter = &audit.dump.allocations[at as usize];
    let of_space = audit.dump.allocations_in(parameter.color);
    let of_size = of_space.filter(|(_, other)| other.size == parameter.size);
    Matching::of(audit, of_size).of_parameter(at)
}

/// The step at which a parameter is needed for the last time, 0 if never. `None` where that is not known.
fn needed_until(dump: &Dump, value: &Value) -> Option<u64> {
    // What does not stay to the end is not counted as occupied behind its own.
    let steps = dump.steps.len() as u64;
    let stays = value.has_live_range() && dump.live(value).1.saturating_add(1) >= steps;
    if !stays || !value.is_used() {
        return None;
    }
    let last = dump.last_read(value).map(|(step, _)| step);
    let never = dump.uses_of(value).is_empty().then_some(0);
    Some(last.or(never)?.min(dump.live(value).1))
}

/// Opcodes that need their operands until the result is whole, as any of it may be made from any of them. XLA lets the
/// two share no bytes. Of custom calls those do that alias no operand.
const NEEDING: [&str; 10] = [
    "cholesky",
    "convolution",
    "custom-call",
    "dot",
    "fft",
    "gather",
    "pad",
    "reverse",
    "select-and-scatter",
    "transpose",
];
/// Of fusions with more instructions nothing is told.
const MOST_FUSED: usize = 4096;

/// Which instructions can write over what they read, each read once.
pub struct InPlace<'d> {
    dump: &'d Dump,
    /// The operands that a fusion needs until its result is whole.
    fused: FxHashMap<NameId, FxHashSet<u64>>,
    /// Whether another instruction needs all of them.
    needing: FxHashMap<NameId, bool>,
}

impl<'d> InPlace<'d> {
    /// Of the instructions of a dump.
    pub fn new(dump: &'d Dump) -> Self {
        Self {
            dump,
            fused: FxHashMap::default(),
            needing: FxHashMap::default(),
        }
    }

    /// Whether `reader`, which reads `value`, makes what lies in allocation `output` and needs the value until that is
    /// whole. Where nothing is known, it may write over it.
    pub fn makes_apart(&mut self, value: &Value, reader: NameId, output: u32) -> bool {
        let dump = self.dump;
        // Not among all that the reader makes, which may be a value for each parameter. What lies there for a time and does
        // not fill it would have another place.
        let output = &dump.allocations[output as usize];
        let is_output = |made: &&Value| made.name == reader && made.size == output.size;
        let made = dump.held_by(output).iter().find(is_output);
        made.is_some_and(|made| self.has_another_shape(value, made) || self.needs(value, reader))
    }

    /// Whether two values can have no bytes in common, as one is made of the other and has another shape or layout. A GPU
    /// asks for less, and of a TPU it is not known.
    fn has_another_shape(&self, value: &Value, made: &Value) -> bool {
        let dump = self.dump;
        let shapes = [value, made].map(|it| shape_text(dump, it));
        dump.platforms.only() == Some(Platform::Cpu)
            && matches!(shapes, [Some(one), Some(other)] if one != other)
    }

    /// Whether `reader` needs `value`, which it reads, until its result is whole.
    fn needs(&mut self, value: &Value, reader: NameId) -> bool {
        let dump = self.dump;
        let parts = || {
            let text = dump.instruction_text(reader)?;
            Some(InstructionParts::read_up_to(text, 0))
        };
        match dump.opcode(reader) {
            Some("fusion") => {
                let of_fusion = || parts().map_or_else(FxHashSet::default, |it| needed(dump, &it));
                let needed = self.fused.entry(reader).or_insert_with(of_fusion);
                let mut uses = dump.uses_of(value).iter().filter(|it| it.name == reader);
                uses.any(|it| {
                    let operand = dump.at::<facts::Use>(it.row).map(|at| at.row.operand);
                    operand.is_some_and(|operand| needed.contains(&operand.value))
                })
            }
            Some(opcode) if NEEDING.contains(&opcode) => {
                let is_needing = || parts().is_some_and(|it| is_needing(&it));
                *self.needing.entry(reader).or_insert_with(is_needing)
            }
            _ => false,
        }
    }
}

fn is_needing(parts: &InstructionParts) -> bool {
    NEEDING.contains(&parts.opcode) && parts.attribute("output_to_operand_aliasing").is_none()
}

/// Whether an instruction of a fusion of `kind` makes each element of its result from that element of operand `number`
/// alone, or can sort or reduce the operand in place.
fn keeps_to(parts: &InstructionParts, kind: &str, number: usize) -> bool {
    match parts.opcode {
        "bitcast" | "bitcast-convert" | "copy" | "get-tuple-element" | "map" | "reshape"
        | "sort" | "tuple" => true,
        "dynamic-update-slice" | "scatter" => number == 0,
        // The fusions of a GPU that reduce read each element once, for all that they make.
        "reduce" => kind == "kInput",
        opcode => is_elementwise(opcode),
    }
}

/// The operands that a fusion needs until its result is whole, by the computation that it calls in the HLO text: those of
/// which some element is read for another one, unless they are updated in place, or the fusion cuts out slices and no more
/// (`HloDataflowAnalysis::CanShareOperandBufferWithUser`). A fusion of a TPU can write over more of them.
fn needed(dump: &Dump, fusion: &InstructionParts) -> FxHashSet<u64> {
    let kind = fusion.attribute("kind").unwrap_or_default();
    let is_of_tpu = dump.platforms.only() == Some(Platform::Tpu);
    let keeps_to = |parts: &InstructionParts, number: usize| {
        if is_of_tpu {
            !is_needing(parts)
        } else {
            keeps_to(parts, kind, number)
        }
    };
    let body = called(dump, fusion, "calls");
    let blocks = body.into_iter().flat_map(|body| dump.blocks_of(body)).rev();
    let texts = blocks.flat_map(|(_, block, rows)| {
        let rows = block.rows_in::<facts::Instruction>(rows).rev();
        rows.map(|row| row.span.text(block.text()))
    });
    let (mut operands, mut names) = (FxHashSet::default(), FxHashSet::default());
    // The parts of the result, and what is updated in place to become one.
    let (mut results, mut updated) = (FxHashSet::default(), FxHashSet::default());
    let mut are_slices = kind == "kInput";
    for (number, text) in texts.enumerate() {
        checkpoint();
        if number == MOST_FUSED {
            return FxHashSet::default();
        }
        let parts = InstructionParts::read(text);
        let own = || parts.operands.iter().map(|operand| operand.name);
        if number == 0 || results.contains(parts.name) {
            match parts.opcode {
                "tuple" | "bitcast" => results.extend(own()),
                "dynamic-update-slice" | "scatter" => updated.extend(own().next()),
                _ => {}
            }
            are_slices &= matches!(parts.opcode, "tuple" | "bitcast" | "slice");
        }
        if updated.contains(parts.name) && matches!(parts.opcode, "bitcast" | "copy") {
            updated.extend(own());
        }
        let is_needed = names.contains(parts.name);
        let parameter = parts.parameter.filter(|_| is_needed);
        operands.extend(parameter.filter(|_| !updated.contains(parts.name)));
        let read = (0..).zip(own());
        let read = read.filter(|&(number, _)| is_needed || !keeps_to(&parts, number));
        names.extend(read.map(|(_, name)| name));
    }
    if are_slices {
        operands.clear();
    }
    operands
}

/// What it would save if buffers in memory space `color` were not needed beside others: each with its bytes
/// and the step from which on it is not, where that is known.
fn saving(dump: &Dump, color: u64, freed: &[(u64, Option<u64>)]) -> Saving {
    let bytes = freed.iter().map(|(bytes, _)| *bytes);
    let bytes = bytes.fold(0, u64::saturating_add);
    let moment = |&(bytes, step): &(u64, Option<u64>)| Some(Moment { step: step?, bytes });
    let from: Option<Vec<Moment>> = freed.iter().map(moment).collect();
    let space = dump.occupancy().space(color);
    let curve = space.and_then(|space| space.curve.as_ref());
    let Some(((space, curve), from)) = space.zip(curve).zip(from) else {
        return Saving {
            reserved: bytes,
            peak: None,
        };
    };
    let left = curve.peak_if_freed(from).bytes;
    Saving {
        reserved: bytes.min(space.reserved.saturating_sub(left)),
        peak: Some(curve.peak().bytes - left),
    }
}

/// Whether a part of the result that is an array fills the allocation, so that a parameter of its size
/// could be donated to it.
pub fn holds_output(audit: &Audit, allocation: &Allocation) -> bool {
    output_of(audit, allocation).is_some()
}

/// The array of the result that fills the allocation, where no parameter is donated to it.
fn output_of<'a>(audit: &'a Audit, allocation: &Allocation) -> Option<Array<'a>> {
    let dump = audit.dump;
    if !allocation.kinds().maybe_live_out || allocation.parameter().is_some() {
        return None;
    }
    // Temporaries may lie in it too, before the part of the result that stays to the end.
    let last_step = dump.max.as_ref().map(|(max, _)| max.value);
    let mut values = allocation.values.clone();
    values.find_map(|value| {
        let value = dump.values.get(value as usize)?;
        let stays = !value.has_live_range() || Some(dump.live(value).1) == last_step;
        (stays && value.size == allocation.size)
            .then(|| array(audit, value))
            .flatten()
    })
}

/// An array's type and dimensions.
type Array<'a> = (&'a ElementType, &'a [Dimension]);

/// What a parameter and an output have in common: memory space, size in bytes, and the array.
type Key<'a> = (u64, u64, Option<Array<'a>>);

/// Parameters that are not donated, and the outputs that they could be donated to.
struct Matching<'a> {
    outputs: Outputs<'a>,
    /// The parameters, in the order of their allocations' numbers.
    candidates: Vec<Candidate<'a>>,
    /// The output that a parameter is matched with.
    matched: FxHashMap<u32, u32>,
}

impl<'a> Matching<'a> {
    /// Of `allocations`, which come in the order of their numbers. Only those of one memory space and size
    /// are matched with each other.
    fn of(
        audit: &'a Audit,
        allocations: impl Iterator<Item = (u32, &'a Allocation)> + Clone,
    ) -> Self {
        let outputs = Outputs::of(audit, allocations.clone());
        let candidates = candidates(audit, allocations);
        let matched = outputs.matched(&candidates);
        Self {
            outputs,
            candidates,
            matched,
        }
    }

    /// The output that a parameter is matched with, and all that have its size.
    fn of_parameter(&self, at: u32) -> (Option<u32>, Vec<u32>) {
        let output = self.matched.get(&at).copied();
        let candidates = &self.candidates;
        let outputs = match candidates.binary_search_by_key(&at, |it| it.allocation) {
            Ok(place) => self.outputs.of_size(&candidates[place].key, output),
            Err(_) => Vec::new(),
        };
        (output, outputs)
    }
}

/// A parameter that is not donated.
struct Candidate<'a> {
    allocation: u32,
    /// What an output must have for it.
    key: Key<'a>,
    /// See [`needed_until`].
    needed_until: Option<u64>,
}

fn candidates<'a>(
    audit: &'a Audit,
    allocations: impl Iterator<Item = (u32, &'a Allocation)>,
) -> Vec<Candidate<'a>> {
    let dump = audit.dump;
    let is_free = |allocation: &Allocation| {
        allocation.parameter().is_some()
            && !allocation.is_donated()
            && !dump.is_donated_in_vain(allocation)
            && allocation.size > 0
    };
    allocations
        .filter(|(_, allocation)| is_free(allocation))
        .map(|(at, allocation)| {
            let value = value_of(dump, allocation).map(|value| &dump.values[value as usize]);
            let array = value.and_then(|value| array(audit, value));
            Candidate {
                allocation: at,
                key: (allocation.color, allocation.size, array),
                needed_until: value.and_then(|value| needed_until(dump, value)),
            }
        })
        .collect()
}

/// The type and dimensions of a value; `None` for a tuple's table.
fn array<'a>(audit: &'a Audit, value: &Value) -> Option<Array<'a>> {
    match audit.shapes.of(value)? {
        Shape::Array(array) => Some((&array.element, &array.dimensions)),
        Shape::Tuple(_) => None,
    }
}

/// What a parameter and an output of another shape must have in common: memory space, size in bytes, and the number of
/// elements, without which JAX does not pair them.
type SizeKey = (u64, u64, Option<u64>);

/// An allocation and what its part of the result is.
type Output<'a> = (u32, Option<Array<'a>>);

/// The outputs that no parameter is donated to, by memory space and size.
#[derive(Default)]
struct Outputs<'a> {
    /// Whether bytes alone make a pair, see [`Donors::take_any_output`](crate::model::Donors).
    have_any_elements: bool,
    all: FxHashMap<SizeKey, Vec<Output<'a>>>,
    by_shape: FxHashMap<Key<'a>, Vec<u32>>,
}

impl<'a> Outputs<'a> {
    fn of(audit: &'a Audit, allocations: impl Iterator<Item = (u32, &'a Allocation)>) -> Self {
        let mut outputs = Self {
            have_any_elements: audit.dump.donors().take_any_output,
            ..Self::default()
        };
        for (at, allocation) in allocations {
            let output = output_of(audit, allocation);
            if output.is_some() {
                let key = (allocation.color, allocation.size, output);
                outputs.by_shape.entry(key).or_default().push(at);
                let size_key = outputs.size_key(&key);
                outputs.all.entry(size_key).or_default().push((at, output));
            }
        }
        outputs
    }

    fn size_key(&self, &(color, size, array): &Key) -> SizeKey {
        let array = array.filter(|_| !self.have_any_elements);
        let elements = array.and_then(|(_, dimensions)| bytes::elements(dimensions));
        (color, size, elements)
    }

    /// Gives each output to one parameter at most: first to those of its shape, then to those that
    /// have its size and number of elements.
    fn matched(&self, candidates: &[Candidate]) -> FxHashMap<u32, u32> {
        let mut of_shape: FxHashMap<&Key, Vec<&Candidate>> = FxHashMap::default();
        for candidate in candidates {
            of_shape.entry(&candidate.key).or_default().push(candidate);
        }
        let mut matched = FxHashMap::default();
        for (key, candidates) in of_shape {
            let outputs = self.by_shape.get(key).into_iter().flatten();
            matched.extend(pairs(candidates, outputs.copied().collect()));
        }
        let mut of_size: FxHashMap<SizeKey, Vec<&Candidate>> = FxHashMap::default();
        for candidate in candidates {
            if !matched.contains_key(&candidate.allocation) {
                let of_size = of_size.entry(self.size_key(&candidate.key));
                of_size.or_default().push(candidate);
            }
        }
        let taken: FxHashSet<u32> = matched.values().copied().collect();
        for (key, candidates) in of_size {
            let outputs = self.all.get(&key).into_iter().flatten();
            let free = outputs.map(|(at, _)| *at).filter(|at| !taken.contains(at));
            matched.extend(pairs(candidates, free.collect()));
        }
        matched
    }

    /// The outputs that a parameter could be donated to, `first` before all others.
    fn of_size(&self, key: &Key, first: Option<u32>) -> Vec<u32> {
        let of_shape = self.by_shape.get(key).into_iter().flatten().copied();
        let of_size = self.all.get(&self.size_key(key)).into_iter().flatten();
        let others = of_size
            .filter(|(_, array)| *array != key.2)
            .map(|(at, _)| *at);
        let others = of_shape.chain(others).filter(|at| Some(*at) != first);
        first.into_iter().chain(others).take(MAX_OUTPUTS).collect()
    }
}

/// The candidates that are free the earliest, as many as there are outputs, each with one, both in the order in
/// which they stand in the dump.
fn pairs(mut candidates: Vec<&Candidate>, outputs: Vec<u32>) -> impl Iterator<Item = (u32, u32)> {
    candidates.sort_by_key(|it| (it.needed_until.is_none(), it.needed_until, it.allocation));
    candidates.truncate(outputs.len());
    candidates.sort_by_key(|it| it.allocation);
    let allocations = candidates.into_iter().map(|it| it.allocation);
    allocations.zip(outputs)
}

/// The value that is the parameter itself: a donated one's allocation holds others behind it.
pub fn value_of(dump: &Dump, allocation: &Allocation) -> Option<u32> {
    let is_parameter =
        |&at: &u32| allocation.is_of_parameter(dump.parameter_of(dump.values[at as usize].name));
    let mut values = allocation.values.clone();
    let own = values.clone().find(is_parameter);
    own.or_else(|| values.next().filter(|_| !allocation.is_donated()))
}

#[cfg(test)]
mod tests;
