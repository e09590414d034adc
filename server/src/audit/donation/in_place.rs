//! What a program can write over what it reads, and what keeps an output from the place of a parameter.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use buflens_syntax::{InstructionParts, facts};
use rustc_hash::{FxHashMap, FxHashSet};

use super::filling;
use crate::model::fused::{NEEDING, is_needing};
use crate::model::occupancy::buffer;
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

/// So many instructions are looked at to learn what runs before what; of parameters behind these nothing is told.
const MOST_LOOKS: usize = 1 << 17;

/// Which instructions can write over what they read, each read once.
pub struct InPlace<'d> {
    pub(super) dump: &'d Dump,
    /// The operands that a fusion needs until its result is whole.
    fused: FxHashMap<NameId, Arc<FxHashSet<u64>>>,
    /// Whether another instruction needs all of them.
    needing: FxHashMap<NameId, bool>,
    /// So many instructions more are looked at to learn what runs before what.
    looks_left: usize,
    /// By step, the last search that has met it.
    met_by: Vec<u32>,
    searches: u32,
}

impl<'d> InPlace<'d> {
    /// Of the instructions of a dump.
    pub fn new(dump: &'d Dump) -> Self {
        Self {
            dump,
            fused: FxHashMap::default(),
            needing: FxHashMap::default(),
            looks_left: MOST_LOOKS,
            met_by: Vec::new(),
            searches: 0,
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
        let readers = readers.map(|it| outermost(dump, it));
        let mut readers: Vec<_> = readers.map(|it| (dump.step_of(it), it)).collect();
        readers.sort_unstable_by_key(|&(step, it)| (step, &dump.names[it]));
        readers.dedup();
        // Where they run is known of some.
        readers.iter().find_map(|(step, _)| *step)?;
        let waits = outermost(dump, maker);
        // The last one first: less lies between.
        for &(step, reader) in readers.iter().rev().filter(|(_, it)| *it != waits) {
            let is_before = match step {
                Some(step) => self.depends(waits, step)?,
                None => false,
            };
            if !is_before {
                return Some(Obstacle::Unordered { reader, maker });
            }
        }
        None
    }

    /// Whether `name` depends on what runs at `step`. `None` where too much has been looked at to learn it.
    fn depends(&mut self, name: NameId, step: u32) -> Option<bool> {
        let dump = self.dump;
        self.met_by.resize(dump.steps.len(), 0);
        self.searches += 1;
        // What runs first is looked at first, as it is nearest to that step.
        let mut waiting = BinaryHeap::new();
        let mut next = Some(name);
        while let Some(name) = next {
            self.looks_left = self.looks_left.checked_sub(1)?;
            for at in dump.uses_by(name) {
                let operand = dump.values[dump.uses[at as usize].value as usize].name;
                // What runs before it does not depend on it.
                let runs_at = dump.step_of(operand).filter(|&at| at >= step);
                let Some(runs_at) = runs_at else { continue };
                if runs_at == step {
                    return Some(true);
                }
                let met_by = &mut self.met_by[runs_at as usize];
                if std::mem::replace(met_by, self.searches) != self.searches {
                    waiting.push(Reverse(runs_at));
                }
            }
            let first = waiting.pop();
            next = first.map(|Reverse(at)| dump.steps[at as usize].name);
        }
        Some(false)
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
                // What it is made of is in the HLO text alone.
                let parts = || dump.file_of(Part::Module).and_then(|_| parts());
                let of_fusion = || parts().map_or_else(Arc::default, |it| dump.needed_by(&it));
                let needed = self.fused.entry(reader).or_insert_with(of_fusion);
                // Which operand it is takes reading a line.
                let mut operands = operands(dump, value, reader);
                !needed.is_empty() && operands.any(|operand| needed.contains(&operand))
            }
            Some(opcode) if NEEDING.contains(&opcode) => {
                let is_needing = || parts().is_some_and(|it| is_needing(&it));
                *self.needing.entry(reader).or_insert_with(is_needing)
            }
            _ => false,
        }
    }
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

#[cfg(test)]
mod tests;
