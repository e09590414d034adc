//! What a program can write over what it reads, and what keeps an output from the place of a parameter.

use buflens_syntax::{InstructionParts, facts};
use rustc_hash::{FxHashMap, FxHashSet};

use super::filling;
use crate::model::cancel::checkpoint;
use crate::model::occupancy::buffer;
use crate::model::opcodes::is_elementwise;
use crate::model::origin::called;
use crate::model::shapes::{index_numbers, shape_text};
use crate::model::{Dump, NameId, Part, Platform, Value};

/// What may keep an output from being written over a parameter that is donated to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// What reads the parameter last makes the output and needs the parameter until that is whole, so the output would have
    /// to lie elsewhere first.
    Apart(NameId),
    /// One instruction reads the parameter, another makes the output, and the first need not run before the second. With the
    /// parameter donated, XLA may copy it instead of putting them in order.
    Unordered {
        /// It reads the parameter.
        reader: NameId,
        /// It makes the output.
        maker: NameId,
    },
}

/// What donating a parameter to an output comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pairing {
    /// What may keep the output from taking the parameter's place.
    pub obstacle: Option<Obstacle>,
    /// The copy of the parameter that becomes the output, which the compiler has made to keep the parameter. It needs
    /// none of one that is donated.
    pub spared: Option<NameId>,
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
/// So many instructions are looked at to learn what runs before what; of parameters behind these nothing is told.
const MOST_LOOKS: usize = 1 << 17;

/// Which instructions can write over what they read, each read once.
pub struct InPlace<'d> {
    pub(super) dump: &'d Dump,
    /// The operands that a fusion needs until its result is whole.
    fused: FxHashMap<NameId, FxHashSet<u64>>,
    /// Whether another instruction needs all of them.
    needing: FxHashMap<NameId, bool>,
    /// So many instructions more are looked at to learn what runs before what.
    looks_left: usize,
}

impl<'d> InPlace<'d> {
    /// Of the instructions of a dump.
    pub fn new(dump: &'d Dump) -> Self {
        Self {
            dump,
            fused: FxHashMap::default(),
            needing: FxHashMap::default(),
            looks_left: MOST_LOOKS,
        }
    }

    /// What donating `parameter` to the output in allocation `output` comes to. Where nothing is known, nothing is in the way;
    /// and a TPU's compiler decides on copies when its instructions are in order already.
    pub fn pairing(&mut self, parameter: &Value, output: u32) -> Pairing {
        let dump = self.dump;
        // What is written over in turn to become the output.
        let mut chain = filling(dump, &dump.allocations[output as usize])
            .map_or_else(Vec::new, |output| buffer(dump, output));
        chain.sort_by_key(|&at| dump.live(&dump.values[at as usize]));
        let mut chain = chain.into_iter().map(|at| &dump.values[at as usize]);
        let (Some((_, last)), Some(first)) = (dump.last_read(parameter), chain.next()) else {
            return Pairing::default();
        };
        let spared = self.is_copy(first, parameter).then_some(first.name);
        let written = spared.and_then(|_| chain.next()).unwrap_or(first);
        let is_output = chain.next().is_none();
        let is_apart = |it: &mut Self| {
            it.is_sorted_apart(parameter, written, is_output)
                || it.has_another_shape(parameter, written)
                || it.needs(parameter, last)
        };
        let obstacle = if last == written.name && is_apart(self) {
            Some(Obstacle::Apart(last))
        } else {
            self.unordered(parameter, spared, written.name)
        };
        Pairing { obstacle, spared }
    }

    /// Whether the compiler makes a copy of `parameter` in one of the allocations `outputs`.
    pub(super) fn is_copied_to(&self, parameter: &Value, outputs: &[u32]) -> bool {
        let dump = self.dump;
        let readers = dump.uses_of(parameter).iter();
        let made = readers.flat_map(|it| dump.values_of(it.name));
        made.map(|at| &dump.values[at as usize]).any(|it| {
            self.is_copy(it, parameter) && it.allocation().is_some_and(|at| outputs.contains(&at))
        })
    }

    /// Whether `copy` is one of `value`, and in the same layout.
    fn is_copy(&self, copy: &Value, value: &Value) -> bool {
        let dump = self.dump;
        let mut readers = dump.uses_of(value).iter();
        dump.opcode(copy.name) == Some("copy")
            && readers.any(|it| it.name == copy.name)
            && shape_text(dump, copy).is_some_and(|shape| shape_text(dump, value) == Some(shape))
    }

    /// Whether `made` is of a sort that cannot write it over a parameter `value`: not over another operand, as each is sorted
    /// in place; and what XLA sorts for a CPU, and is an output as it is, it copies over a donated parameter.
    fn is_sorted_apart(&self, value: &Value, made: &Value, is_output: bool) -> bool {
        let dump = self.dump;
        if dump.opcode(made.name) != Some("sort") {
            return false;
        }
        let is_own = |operand: u64| {
            let element = index_numbers(&dump.names[made.index]);
            element.first().is_none_or(|element| *element == operand)
        };
        let is_copied = is_output && dump.platforms.only() == Some(Platform::Cpu);
        is_copied || !operands(dump, value, made.name).any(is_own)
    }

    /// Where `maker` does not depend on all readers of `parameter` but `spared`: the last of the others. `None` also where that
    /// is not known.
    fn unordered(
        &mut self,
        parameter: &Value,
        spared: Option<NameId>,
        maker: NameId,
    ) -> Option<Obstacle> {
        let dump = self.dump;
        if !matches!(dump.platforms.only(), Some(Platform::Cpu | Platform::Gpu)) {
            return None;
        }
        let readers = dump.uses_of(parameter).iter().map(|it| it.name);
        let readers = readers.filter(|&it| Some(it) != spared);
        // What reads it in a computation that is called stands beside the call.
        let readers = readers.filter(|&it| !dump.is_call(it));
        // Of what stands in a loop the loop comes before or behind. Without the HLO text it is not known what does.
        let has_module = dump.file_of(Part::Module).is_some();
        if !has_module && readers.clone().any(|it| dump.opcode(it) == Some("while")) {
            return None;
        }
        let mut readers: FxHashSet<NameId> = readers.map(|it| outermost(dump, it)).collect();
        let waits = outermost(dump, maker);
        let first = readers.iter().filter_map(|&it| dump.step_of(it)).min()?;
        let (mut known, mut waiting) = (FxHashSet::default(), vec![waits]);
        while let Some(name) = waiting.pop() {
            readers.remove(&name);
            if readers.is_empty() {
                return None;
            }
            self.looks_left = self.looks_left.checked_sub(1)?;
            let operands = dump.uses_by(name).map(|at| dump.uses[at as usize].value);
            let operands = operands.map(|at| dump.values[at as usize].name);
            // What runs before all readers depends on none.
            waiting.extend(operands.filter(|&it| {
                dump.step_of(it).is_some_and(|step| step >= first) && known.insert(it)
            }));
        }
        let steps = readers.into_iter().map(|it| (dump.step_of(it), it));
        let (_, reader) = steps.max()?;
        Some(Obstacle::Unordered { reader, maker })
    }

    /// Whether two values can have no bytes in common, as one is made of the other and has another shape or layout. A GPU
    /// asks for less, and of a TPU it is not known.
    pub(super) fn has_another_shape(&self, value: &Value, made: &Value) -> bool {
        let dump = self.dump;
        let shapes = [value, made].map(|it| shape_text(dump, it));
        dump.platforms.only() == Some(Platform::Cpu)
            && matches!(shapes, [Some(one), Some(other)] if one != other)
    }

    /// Whether `reader` needs `value`, which it reads, until its result is whole.
    pub(super) fn needs(&mut self, value: &Value, reader: NameId) -> bool {
        let dump = self.dump;
        let parts = || {
            let text = dump.instruction_text(reader)?;
            Some(InstructionParts::read_up_to(text, 0))
        };
        match dump.opcode(reader) {
            Some("fusion") => {
                let of_fusion = || parts().map_or_else(FxHashSet::default, |it| needed(dump, &it));
                let mut operands = operands(dump, value, reader);
                let needed = self.fused.entry(reader).or_insert_with(of_fusion);
                operands.any(|operand| needed.contains(&operand))
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

/// As which operands `reader` reads `value`.
fn operands(dump: &Dump, value: &Value, reader: NameId) -> impl Iterator<Item = u64> {
    let uses = dump.uses_of(value).iter();
    uses.filter(move |it| it.name == reader)
        .filter_map(|it| Some(dump.at::<facts::Use>(it.row)?.row.operand.value))
}

/// The instruction of the program itself that runs `name`: the loop, of what is in its body.
fn outermost(dump: &Dump, name: NameId) -> NameId {
    dump.runners_of(name).last().unwrap_or(name)
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
    let rows = body.into_iter().flat_map(|body| dump.instructions_of(body));
    let texts = rows.rev().map(|(text, row)| row.span.text(text));
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

#[cfg(test)]
mod tests;
