//! What fusions, and other instructions, need until their result is whole.

use std::sync::Arc;

use buflens_syntax::InstructionParts;
use rustc_hash::FxHashSet;

use super::cancel::{checkpoint, lock};
use super::opcodes::is_elementwise;
use super::origin::called;
use super::{Dump, Platform};

/// Opcodes that need their operands until the result is whole, as any of it may be made from any of them. XLA lets the
/// two share no bytes. Of custom calls those do that alias no operand.
pub const NEEDING: [&str; 10] = [
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
/// What decides on what a fusion needs: the computation that it calls, whether its kind is `kInput`, and whether it is a TPU's.
pub(super) type Fusion = (u32, bool, bool);

impl Dump {
    /// The operands that a fusion needs until its result is whole, by their numbers.
    pub fn needed_by(&self, fusion: &InstructionParts) -> Arc<FxHashSet<u64>> {
        let Some(body) = called(self, fusion, "calls") else {
            return Arc::default();
        };
        let is_input = fusion.attribute("kind") == Some("kInput");
        let is_of_tpu = self.platforms.only() == Some(Platform::Tpu);
        let key = (body, is_input, is_of_tpu);
        if let Some(known) = lock(&self.module.needed).get(&key) {
            return Arc::clone(known);
        }
        let needed = Arc::new(needed(self, key));
        lock(&self.module.needed).insert(key, Arc::clone(&needed));
        needed
    }
}

/// Whether an instruction with an opcode of these is one that needs its operands.
pub fn is_needing(parts: &InstructionParts) -> bool {
    NEEDING.contains(&parts.opcode) && parts.attribute("output_to_operand_aliasing").is_none()
}

/// Whether an instruction of a fusion makes each element of its result from that element of operand `number`
/// alone, or can sort or reduce the operand in place.
fn keeps_to(parts: &InstructionParts, is_input: bool, number: usize) -> bool {
    match parts.opcode {
        "bitcast" | "bitcast-convert" | "copy" | "get-tuple-element" | "map" | "reshape"
        | "sort" | "tuple" => true,
        "dynamic-update-slice" | "scatter" => number == 0,
        // The fusions of a GPU that reduce read each element once, for all that they make.
        "reduce" => is_input,
        opcode => is_elementwise(opcode),
    }
}

/// The operands that a fusion needs until its result is whole, by the computation that it calls in the HLO text: those of
/// which some element is read for another one, unless they are updated in place, or the fusion cuts out slices and no more
/// (`HloDataflowAnalysis::CanShareOperandBufferWithUser`). A fusion of a TPU can write over more of them.
fn needed(dump: &Dump, (body, is_input, is_of_tpu): Fusion) -> FxHashSet<u64> {
    let keeps_to = |parts: &InstructionParts, number: usize| {
        if is_of_tpu {
            !is_needing(parts)
        } else {
            keeps_to(parts, is_input, number)
        }
    };
    let texts = dump
        .instructions_of(body)
        .rev()
        .map(|(text, row)| row.span.text(text));
    let (mut operands, mut names) = (FxHashSet::default(), FxHashSet::default());
    // The parts of the result, and what is updated in place to become one.
    let (mut results, mut updated) = (FxHashSet::default(), FxHashSet::default());
    let mut are_slices = is_input;
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
