//! What a program can write over what it reads, and what keeps an output from the place of a parameter.

use buflens_syntax::{InstructionParts, facts};
use rustc_hash::{FxHashMap, FxHashSet};

use super::filling;
use crate::model::cancel::checkpoint;
use crate::model::occupancy::buffer;
use crate::model::opcodes::is_elementwise;
use crate::model::origin::called;
use crate::model::shapes::shape_text;
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
const MOST_LOOKS: usize = 1 << 16;

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

    /// What may keep the output in allocation `output` from being written over `parameter`. Where nothing is known, nothing
    /// does; and a TPU's compiler decides on copies when its instructions are in order already.
    pub fn obstacle(&mut self, parameter: &Value, output: u32) -> Option<Obstacle> {
        let dump = self.dump;
        let (_, last) = dump.last_read(parameter)?;
        let output = filling(dump, &dump.allocations[output as usize])?;
        // What is written over in turn to become the output.
        let chain = buffer(dump, output).into_iter();
        let first = chain.min_by_key(|&at| dump.live(&dump.values[at as usize]))?;
        let first = &dump.values[first as usize];
        let maker = first.name;
        if last == maker {
            let is_apart = self.has_another_shape(parameter, first) || self.needs(parameter, last);
            if is_apart {
                return Some(Obstacle::Apart(last));
            }
        }
        if !matches!(dump.platforms.only(), Some(Platform::Cpu | Platform::Gpu)) {
            return None;
        }
        let reader = self.unordered(parameter, maker)?;
        Some(Obstacle::Unordered { reader, maker })
    }

    /// A reader of `parameter` on which `maker` does not depend. `None` also where that is not known.
    fn unordered(&mut self, parameter: &Value, maker: NameId) -> Option<NameId> {
        let dump = self.dump;
        let readers = dump.uses_of(parameter).iter().map(|it| it.name);
        // What reads it in a computation that is called stands beside the call.
        let readers = readers.filter(|&it| !dump.is_call(it));
        // Of what stands in a loop the loop comes before or behind. Without the HLO text it is not known what does.
        let has_module = dump.file_of(Part::Module).is_some();
        if !has_module && readers.clone().any(|it| dump.opcode(it) == Some("while")) {
            return None;
        }
        let mut readers: FxHashSet<NameId> = readers.map(|it| outermost(dump, it)).collect();
        let maker = outermost(dump, maker);
        let first = readers.iter().filter_map(|&it| dump.step_of(it)).min()?;
        let (mut known, mut waiting) = (FxHashSet::default(), vec![maker]);
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
        steps.max().map(|(_, reader)| reader)
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
