//! What fusions, and other instructions, need until their result is whole, and what they write it over.

use std::sync::Arc;

use buflens_syntax::{ArrayShape, InstructionParts, Shape};
use rustc_hash::{FxHashMap, FxHashSet};

use super::cancel::{checkpoint, lock};
use super::module::Instruction;
use super::names::NameId;
use super::opcodes::is_elementwise;
use super::origin::called;
use super::shapes::index_numbers;
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
/// What decides on what a fusion needs: the computation that it calls, whether its kind is `kInput`, and whose it is.
pub(super) type Fusion = (u32, bool, Option<Platform>);

/// What a fusion makes of its operands, by their numbers.
#[derive(Debug, Default)]
pub struct Operands {
    /// Those that it needs until its result is whole.
    pub needed: FxHashSet<u64>,
    /// Those that it updates in place: its result can lie nowhere else.
    pub updated: FxHashSet<u64>,
}

impl Dump {
    /// What the HLO text says that a fusion makes of its operands.
    pub fn operands_of(&self, fusion: &InstructionParts) -> Arc<Operands> {
        let Some(body) = called(self, fusion, "calls") else {
            return Arc::default();
        };
        let is_input = fusion.attribute("kind") == Some("kInput");
        let key = (body, is_input, self.platforms.only());
        if let Some(known) = lock(&self.module.fused).get(&key) {
            return Arc::clone(known);
        }
        let operands = Arc::new(operands(self, key));
        lock(&self.module.fused).insert(key, Arc::clone(&operands));
        operands
    }
}

/// How much of a computation is known, and whether it may only copy.
#[derive(Debug, Default)]
pub(super) struct MayCopy {
    instructions: usize,
    has_moved: bool,
    has_done_more: bool,
}

impl MayCopy {
    /// A fusion of more instructions does more than to copy.
    const MOST: usize = 8;

    /// Takes the next instruction's opcode.
    pub(super) fn push(&mut self, opcode: &str) {
        self.instructions += 1;
        match opcode {
            "copy" | "transpose" => self.has_moved = true,
            "bitcast" | "parameter" => {}
            _ => self.has_done_more = true,
        }
    }

    /// What there is to say when all of them are there.
    pub(super) fn may_copy(&self) -> bool {
        self.has_moved && !self.has_done_more && self.instructions <= Self::MOST
    }
}

/// What a fusion does that only moves the data of its one parameter: a `copy`, a `transpose`, or several of them.
#[derive(Debug, Clone, Copy)]
pub struct Moved {
    /// What moves the data first ...
    pub first: Instruction,
    /// ... and last, which mostly is the same.
    pub last: Instruction,
    /// Whether that is a transposition, as several together are.
    pub is_transposed: bool,
}

impl Dump {
    /// What moves the data in a fusion, where that makes all of its result out of its one parameter and nothing else, but for
    /// bitcasts: compilers put fusions around the copies that they make.
    pub fn copied_by(&self, fusion: &InstructionParts) -> Option<Moved> {
        let body = called(self, fusion, "calls")?;
        self.module.copying.binary_search(&body).ok()?;
        self.only_copy(body)
    }

    /// The same of the fusion called `name`. All are looked at when the first is asked for.
    pub fn copied_in(&self, name: NameId) -> Option<Moved> {
        let copied = self.module.copied.get_or_init(|| self.copied());
        copied.get(&name).copied()
    }

    fn copied(&self) -> FxHashMap<NameId, Moved> {
        let mut copied = FxHashMap::default();
        // In the order of the text: one that is not held is read once.
        let bodies = self.module.copying.iter();
        let bodies = bodies.filter_map(|&body| Some((body, self.only_copy(body)?)));
        let bodies: FxHashMap<u32, Moved> = bodies.collect();
        if bodies.is_empty() {
            return copied;
        }
        self.each_calling(&["fusion"], |name, text| {
            let parts = InstructionParts::read_up_to(text, 0);
            let moved = called(self, &parts, "calls").and_then(|body| bodies.get(&body));
            if let Some(moved) = moved {
                copied.entry(name).or_insert(*moved);
            }
        });
        copied
    }

    /// What moves the data of a computation's parameter, if it has no other instructions, but for bitcasts.
    fn only_copy(&self, computation: u32) -> Option<Moved> {
        checkpoint();
        // From the result to the parameter, which is all that there is.
        let mut moved: Option<Moved> = None;
        // What leaves the data in its order is the copy where nothing else is.
        let mut only_turned = None;
        let mut read = None;
        let instructions = self.instructions_of(computation);
        // The last computation goes on where another module begins behind its own.
        let instructions: Vec<_> = instructions.take(MayCopy::MOST + 1).collect();
        if instructions.len() > MayCopy::MOST {
            return None;
        }
        for (block, row) in instructions.iter().rev() {
            let text = block.text();
            let name = row.name.text(text);
            if read.is_some_and(|read| read != name) {
                return None;
            }
            match row.opcode.text(text) {
                "bitcast" | "copy" | "transpose" => {}
                "parameter" if row.parameter.value == 0 && read.is_some() => {
                    read = Some("");
                    continue;
                }
                _ => return None,
            }
            let parts = InstructionParts::read_up_to(row.span.text(text), 1);
            let operand = parts.operands.first()?.name;
            read = Some(operand);
            if parts.opcode == "bitcast" {
                continue;
            }
            let instruction = |name| self.instruction_in(Some(computation), self.names.get(name)?);
            let (own, operand) = (instruction(name)?, instruction(operand)?);
            let together = Moved {
                first: own,
                last: moved.map_or(own, |it| it.last),
                is_transposed: moved.is_some() || parts.opcode == "transpose",
            };
            if is_bitcast(&parts, &self.shapes[operand.shape]) {
                only_turned = Some(together);
            } else {
                moved = Some(together);
            }
        }
        read.filter(|read| read.is_empty())?;
        moved.or(only_turned)
    }
}

/// Whether an instruction is a transposition that leaves all data where it is: it turns the layout as it turns the dimensions
/// (`ShapeUtil::TransposeIsBitcast`).
fn is_bitcast(parts: &InstructionParts, operand: &str) -> bool {
    if parts.opcode != "transpose" {
        return false;
    }
    let [Ok(Shape::Array(from)), Ok(Shape::Array(to))] = [operand, parts.shape].map(Shape::read)
    else {
        return false;
    };
    let (Some(old), Some(new)) = (&from.layout, &to.layout) else {
        return false;
    };
    let turned = index_numbers(parts.attribute("dimensions").unwrap_or_default());
    // Where nothing is padded, it does not matter where a dimension of one element is.
    let matters = |shape: &ArrayShape, dimension: u64| {
        let dimension = shape.dimensions.get(dimension as usize);
        !old.tiles.is_empty() || dimension.is_none_or(|it| it.size != Some(1))
    };
    let from_order = old.minor_to_major.iter().copied();
    let to_order = new.minor_to_major.iter().copied();
    let from_order = from_order.filter(|&it| matters(&from, it)).map(Some);
    let to_order = to_order.filter(|&it| matters(&to, it));
    let to_order = to_order.map(|it| turned.get(it as usize).copied());
    (&old.tiles, old.memory_space) == (&new.tiles, new.memory_space) && from_order.eq(to_order)
}

/// Whether an instruction with an opcode of these is one that needs its operands.
pub fn is_needing(parts: &InstructionParts) -> bool {
    NEEDING.contains(&parts.opcode) && parts.attribute("output_to_operand_aliasing").is_none()
}

/// Whether an instruction of a fusion makes each element of its result from that element of operand `number`
/// alone, or can sort or reduce the operand in place.
fn keeps_to(parts: &InstructionParts, is_input: bool, is_of_cpu: bool, number: usize) -> bool {
    match parts.opcode {
        "bitcast-convert" | "copy" | "get-tuple-element" | "map" | "sort" | "tuple" => true,
        // Of a CPU's these count as any that is not elementwise.
        "bitcast" | "reshape" => !is_of_cpu,
        "dynamic-update-slice" | "scatter" => number == 0,
        // The fusions of a GPU that reduce read each element once, for all that they make.
        "reduce" => is_input,
        opcode => is_elementwise(opcode),
    }
}

/// What a fusion makes of its operands, by the computation that it calls in the HLO text. It needs those of
/// which some element is read for another one, unless they are updated in place, or the fusion cuts out slices and no more
/// (`HloDataflowAnalysis::CanShareOperandBufferWithUser`). A fusion of a TPU can write over more of them.
fn operands(dump: &Dump, (body, is_input, platform): Fusion) -> Operands {
    let is_of_cpu = platform == Some(Platform::Cpu);
    let keeps_to = |parts: &InstructionParts, number: usize| {
        if platform == Some(Platform::Tpu) {
            !is_needing(parts)
        } else {
            keeps_to(parts, is_input, is_of_cpu, number)
        }
    };
    let instructions = dump.instructions_of(body).rev();
    let instructions: Vec<_> = instructions.take(MOST_FUSED + 1).collect();
    let (mut operands, mut names) = (Operands::default(), FxHashSet::default());
    // The parts of the result, and what is updated in place to become one.
    let (mut results, mut updated) = (FxHashSet::default(), FxHashSet::default());
    let mut are_slices = is_input;
    for (number, (block, row)) in instructions.iter().enumerate() {
        checkpoint();
        if number == MOST_FUSED {
            return Operands::default();
        }
        let parts = InstructionParts::read(row.span.text(block.text()));
        let own = || parts.operands.iter().map(|operand| operand.name);
        if number == 0 || results.contains(parts.name) {
            match parts.opcode {
                "dynamic-update-slice" | "scatter" => updated.extend(own().next()),
                "tuple" => results.extend(own()),
                "bitcast" if !is_of_cpu => results.extend(own()),
                _ => {}
            }
            are_slices &= matches!(parts.opcode, "tuple" | "bitcast" | "slice");
        }
        let is_updated = updated.contains(parts.name);
        if is_updated && !is_of_cpu && matches!(parts.opcode, "bitcast" | "copy") {
            updated.extend(own());
        }
        let is_needed = names.contains(parts.name);
        operands
            .updated
            .extend(parts.parameter.filter(|_| is_updated));
        let needed = parts.parameter.filter(|_| is_needed && !is_updated);
        operands.needed.extend(needed);
        let read = (0..).zip(own());
        let read = read.filter(|&(number, _)| is_needed || !keeps_to(&parts, number));
        names.extend(read.map(|(_, name)| name));
    }
    if are_slices {
        operands.needed.clear();
    }
    operands
}
