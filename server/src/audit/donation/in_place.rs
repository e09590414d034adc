//! What a program can write over what it reads, and what keeps an output from the place of a parameter.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use buflens_syntax::{InstructionParts, facts};
use rustc_hash::FxHashMap;

use super::filling;
use crate::model::fused::{NEEDING, Operands, is_needing};
use crate::model::occupancy::buffer;
use crate::model::shapes::{index_numbers, shape_text};
use crate::model::{Dump, NameId, Part, Platform, Value};

/// What keeps an output from being written over a parameter that is donated to it, so that XLA copies one of them.
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
    /// One instruction reads the parameter, and reads what depends on the output as well.
    After {
        /// It reads the parameter.
        reader: NameId,
        /// It makes the output.
        maker: NameId,
    },
    /// The instruction that makes the output depends on nothing that reads the parameter: XLA copies both.
    Apiece(NameId),
}

impl Obstacle {
    /// `` `fusion.1` makes that without it``, with each instruction as `name` has it: "it" is the parameter, "that" the output.
    pub fn reason(self, name: impl Fn(NameId) -> String) -> String {
        match self {
            Self::Apart(reader) => {
                format!(
                    "{} makes that without writing over what it reads",
                    name(reader)
                )
            }
            Self::Unordered { reader, maker } => format!(
                "nothing has {} read it before {} makes that",
                name(reader),
                name(maker)
            ),
            Self::After { reader, maker } => {
                format!(
                    "{} reads it after {} has made that",
                    name(reader),
                    name(maker)
                )
            }
            Self::Apiece(maker) => format!("{} makes that without it", name(maker)),
        }
    }
}

/// What donating a parameter to an output comes to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pairing {
    /// What keeps the output from taking the parameter's place.
    pub obstacle: Option<Obstacle>,
    /// The copy of the parameter that becomes the output, which the compiler has made to keep the parameter. It needs
    /// none of one that is donated.
    pub spared: Option<NameId>,
    /// The values that have to lie where the output does, as each is written over the one before, in the order of time. What
    /// else lies there before them, even if that is written over, may have another place then. None where nothing is known.
    pub written: Vec<u32>,
    /// What the last reader of the parameter can write over it, be it not the output.
    pub(super) made_over: Option<u32>,
}

impl Pairing {
    /// The step at which the first of [`Pairing::written`] is made.
    pub(super) fn begin(&self, dump: &Dump) -> Option<u64> {
        let first = self.written.first().map(|&at| &dump.values[at as usize]);
        first
            .filter(|it| it.has_live_range())
            .map(|it| dump.live(it).0)
    }
}

/// So many instructions are looked at for each half of the parameters to learn what runs before what; of parameters behind these
/// nothing is told.
const MOST_LOOKS: usize = 1 << 17;

/// Which instructions can write over what they read, each read once.
pub struct InPlace<'d> {
    pub(super) dump: &'d Dump,
    /// What a fusion makes of its operands.
    fused: FxHashMap<NameId, Arc<Operands>>,
    /// Whether another instruction says itself which operand it writes over.
    aliased: FxHashMap<NameId, bool>,
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
            aliased: FxHashMap::default(),
            looks_left: MOST_LOOKS,
            met_by: Vec::new(),
            searches: 0,
        }
    }

    /// What donating `parameter` to the output in allocation `output` comes to. Where nothing is known, nothing is in the way;
    /// and a TPU's compiler decides on copies when its instructions are in order already.
    pub fn pairing(&mut self, parameter: &Value, output: u32) -> Pairing {
        let dump = self.dump;
        let made_over = self.made_over(parameter);
        let written = self.written_over(parameter, output);
        let mut made = written.iter().map(|&at| &dump.values[at as usize]);
        let (Some((_, last)), Some(first)) = (dump.last_read(parameter), made.next()) else {
            return Pairing {
                made_over,
                ..Pairing::default()
            };
        };
        let copy = self.is_copy(first, parameter).then_some(first.name);
        // Without one, the parameter is the output as it is.
        let update = copy.map_or(Some(first), |_| made.next());
        let is_output = made.next().is_none();
        let obstacle = update.and_then(|update| {
            let is_apart = last == update.name
                && (self.is_sorted_apart(parameter, update, is_output)
                    || self.has_another_shape(parameter, update)
                    || self.needs(parameter, last));
            if is_apart {
                Some(Obstacle::Apart(last))
            } else {
                self.out_of_order(parameter, copy, update.name)
            }
        });
        Pairing {
            obstacle,
            spared: copy.filter(|_| obstacle.is_none()),
            written,
            made_over,
        }
    }

    /// As in [`Pairing::written`].
    fn written_over(&mut self, parameter: &Value, output: u32) -> Vec<u32> {
        let dump = self.dump;
        let value = |at: u32| &dump.values[at as usize];
        let mut chain = filling(dump, &dump.allocations[output as usize])
            .map_or_else(Vec::new, |output| buffer(dump, output));
        chain.sort_by_key(|&at| dump.live(value(at)));
        let mut first = chain.len().saturating_sub(1);
        while first > 0
            && self.is_written_over(value(chain[first - 1]), value(chain[first]), parameter)
        {
            first -= 1;
        }
        chain.split_off(first)
    }

    /// Whether `made` has to lie where `before` did.
    fn is_written_over(&mut self, before: &Value, made: &Value, parameter: &Value) -> bool {
        let dump = self.dump;
        if self.updates(made.name, before) {
            return true;
        }
        if dump.file_of(Part::Module).is_none() {
            // What is in loops, and in fusions, is not known.
            let mut readers = dump.uses_of(parameter).iter();
            return !readers.any(|it| it.name == made.name);
        }
        // A loop's state stays where it is.
        let is_in_loop = |it: &Value| outermost(dump, it.name) != it.name;
        is_in_loop(before) || is_in_loop(made)
    }

    /// Whether `maker` has to write what it makes over `value`, which it reads (`HloDataflowAnalysis::GetInPlaceInputOutputPairs`).
    fn updates(&mut self, maker: NameId, value: &Value) -> bool {
        let dump = self.dump;
        match dump.opcode(maker) {
            Some("fusion") => {
                let updated = &self.fused(maker).updated;
                !updated.is_empty() && operands(dump, value, maker).any(|it| updated.contains(&it))
            }
            Some("dynamic-update-slice" | "scatter") => {
                operands(dump, value, maker).any(|it| it == 0)
            }
            Some("while" | "conditional") => true,
            Some("custom-call") => self.is_aliased(maker),
            _ => false,
        }
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

    /// Where `maker` does not depend on all readers of `parameter` but `copy`: the last of the others, and how it stands to
    /// `maker`. `None` also where that is not known.
    fn out_of_order(
        &mut self,
        parameter: &Value,
        copy: Option<NameId>,
        maker: NameId,
    ) -> Option<Obstacle> {
        let dump = self.dump;
        if !matches!(dump.platforms.only(), Some(Platform::Cpu | Platform::Gpu)) {
            return None;
        }
        let readers = dump.uses_of(parameter).iter().map(|it| it.name);
        let readers = readers.filter(|&it| Some(it) != copy);
        // What reads it in a computation that is called stands beside the call.
        let readers = readers.filter(|&it| !dump.is_call(it));
        // These hand it on as it is to others, which read it.
        let hands_on = |it: NameId| {
            let opcode = dump.opcode(it);
            matches!(opcode, Some("bitcast" | "get-tuple-element"))
        };
        let readers = readers.filter(|&it| !hands_on(it));
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
        let mut others = readers.iter().rev().filter(|(_, it)| *it != waits);
        let (step, reader) = loop {
            let &(step, reader) = others.next()?;
            let is_before = match step {
                Some(step) => self.depends(waits, step)?,
                None => false,
            };
            if !is_before {
                break (step, reader);
            }
        };
        // Where too much has been looked at to learn more, no more is told.
        let made_at = dump.step_of(waits);
        if let Some(made_at) = made_at.filter(|&made_at| step.is_some_and(|it| it > made_at))
            && self.depends(reader, made_at).unwrap_or(false)
        {
            return Some(Obstacle::After { reader, maker });
        }
        let mut depends = |step: u32| self.depends(waits, step).unwrap_or(true);
        let is_read = copy.is_some()
            || readers.iter().any(|(_, it)| *it == waits)
            || readers
                .iter()
                .any(|(step, _)| step.is_none_or(&mut depends));
        Some(if is_read {
            Obstacle::Unordered { reader, maker }
        } else {
            Obstacle::Apiece(maker)
        })
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
    fn has_another_shape(&self, value: &Value, made: &Value) -> bool {
        let dump = self.dump;
        let shapes = [value, made].map(|it| shape_text(dump, it));
        dump.platforms.only() == Some(Platform::Cpu)
            && matches!(shapes, [Some(one), Some(other)] if one != other)
    }

    /// As in [`Pairing::made_over`].
    fn made_over(&mut self, parameter: &Value) -> Option<u32> {
        let dump = self.dump;
        let (_, reader) = dump.last_read(parameter)?;
        let mut made = dump.values_of(reader).filter(|&at| {
            let made = &dump.values[at as usize];
            made.size == parameter.size && !self.has_another_shape(parameter, made)
        });
        made.next().filter(|_| !self.needs(parameter, reader))
    }

    /// A value that is read for the last time by what makes `made`, which could be written over it, but lies elsewhere now.
    pub(super) fn other_place(&mut self, made: u32) -> Option<u32> {
        let dump = self.dump;
        let value = &dump.values[made as usize];
        let read = dump.uses_by(value.name);
        let mut read = read.map(|it| dump.uses[it as usize].value);
        read.find(|&at| {
            let other = &dump.values[at as usize];
            let is_elsewhere =
                (other.allocation(), other.offset) != (value.allocation(), value.offset);
            is_elsewhere
                && other.has_live_range()
                && dump.live(other).1 == dump.live(value).0
                && self.made_over(other) == Some(made)
        })
    }

    /// Whether `reader` needs `value`, which it reads, until its result is whole.
    fn needs(&mut self, value: &Value, reader: NameId) -> bool {
        let dump = self.dump;
        match dump.opcode(reader) {
            Some("fusion") => {
                let needed = &self.fused(reader).needed;
                // Which operand it is takes reading a line.
                !needed.is_empty() && operands(dump, value, reader).any(|it| needed.contains(&it))
            }
            Some(opcode) => NEEDING.contains(&opcode) && !self.is_aliased(reader),
            None => false,
        }
    }

    fn fused(&mut self, fusion: NameId) -> &Operands {
        let dump = self.dump;
        self.fused.entry(fusion).or_insert_with(|| {
            // What it is made of is in the HLO text alone.
            let text = dump
                .file_of(Part::Module)
                .and_then(|_| dump.instruction_text(fusion));
            let parts = text.map(|text| InstructionParts::read_up_to(text, 0));
            parts.map_or_else(Arc::default, |it| dump.operands_of(&it))
        })
    }

    /// Whether an instruction, one of [`NEEDING`], says itself which operand it writes over.
    fn is_aliased(&mut self, name: NameId) -> bool {
        let dump = self.dump;
        let is_aliased = || {
            let text = dump.instruction_text(name);
            let parts = text.map(|text| InstructionParts::read_up_to(text, 0));
            parts.is_some_and(|it| !is_needing(&it))
        };
        *self.aliased.entry(name).or_insert_with(is_aliased)
    }
}

/// As which operands `reader` reads `value`.
fn operands(dump: &Dump, value: &Value, reader: NameId) -> impl Iterator<Item = u64> {
    let uses = dump.uses_of(value).iter();
    uses.filter(move |it| it.name == reader)
        .filter_map(|it| Some(dump.at::<facts::Use>(it.row)?.row.operand.value))
}

/// The instruction of the program itself that runs `name`: the loop, of what is in its body. What a `call` or a branch runs has
/// steps of its own.
fn outermost(dump: &Dump, name: NameId) -> NameId {
    let runners = dump.runners_of(name);
    let runners =
        runners.take_while(|&it| !matches!(dump.opcode(it), Some("call" | "conditional")));
    runners.last().unwrap_or(name)
}

#[cfg(test)]
mod tests;
