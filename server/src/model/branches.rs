//! What is printed as alive and not read any more: in branches of conditionals and in loops.

use std::collections::BinaryHeap;

use buflens_syntax::InstructionParts;

use super::{Dump, Part, Value, origin};

/// In which branches of conditionals the steps of a schedule are.
#[derive(Debug)]
pub(super) struct Branches {
    /// By step: the first step of the innermost branch that it is in; 0 in none.
    firsts: Vec<u32>,
}

impl Dump {
    /// Whether of two values of an allocation nothing reads the one any more where the other begins, although both are
    /// printed as alive. Main memory is given out by the printed ranges, the faster one by who reads what. The difference is what control flow
    /// adds: a part of a loop's state is printed up to where the next turn's takes its place, what a branch returns up to its
    /// conditional, and what branches are handed up to the last of them, since in the schedule they stand one
    /// behind the other, while only one of them runs. Where it is not known what reads the earlier one, it may be so.
    pub fn are_apart(&self, one: &Value, other: &Value) -> bool {
        let (earlier, later) = if self.live(one).0 <= self.live(other).0 {
            (one, other)
        } else {
            (other, one)
        };
        let allocation = self.allocation_of(later);
        if allocation.is_none_or(|allocation| allocation.color == 0) {
            return false;
        }
        let last = self.reads(earlier).map(|(step, _)| step).max();
        let is_last = last.map_or_else(
            || self.is_read_by_nobody(earlier),
            |step| step <= self.live(later).0,
        );
        is_last || !self.has_used_values() || self.begins_in_branch(later, self.live(earlier).0)
    }

    /// Whether nothing reads a value, shows it elsewhere, or gives it on.
    fn is_read_by_nobody(&self, value: &Value) -> bool {
        self.used_value(value).is_some()
            && self.uses_of(value).is_empty()
            && self
                .positions_of(value)
                .iter()
                .all(|it| it.name == value.name)
            && self.is_root(value.name) == Some(false)
    }

    /// Whether a value begins in a branch of a conditional that begins behind `step`.
    fn begins_in_branch(&self, value: &Value, step: u64) -> bool {
        let begin = usize::try_from(self.live(value).0).ok();
        let first = begin.and_then(|begin| self.branches().firsts.get(begin));
        first.is_some_and(|&first| u64::from(first) > step)
    }

    /// Whether the instruction that runs at `step` may be in a branch of a conditional.
    pub fn is_in_branch(&self, step: u32) -> bool {
        let first = self.branches().firsts.get(step as usize);
        first.is_some_and(|&first| first > 0)
    }

    fn branches(&self) -> &Branches {
        self.branches.get_or_init(|| Branches::new(self))
    }

    /// The first and the last step of each of [`Module::computations`](super::Module::computations), of those in the schedule.
    pub fn steps_of_computations(&self) -> Vec<Option<(u32, u32)>> {
        let mut extents = vec![None; self.module.computations.len()];
        for (step, entry) in (0..).zip(&self.steps) {
            let instruction = self.module.instructions.get(entry.name);
            let computation = instruction.and_then(|it| it.computation);
            if let Some(extent) = computation.and_then(|at| extents.get_mut(at as usize)) {
                extent.get_or_insert((step, step)).1 = step;
            }
        }
        extents
    }
}

impl Branches {
    fn new(dump: &Dump) -> Self {
        if dump.file_of(Part::Module).is_none() {
            return Self::possible(dump);
        }
        let extents = dump.steps_of_computations();
        let mut branches = Vec::new();
        dump.each_calling(&["conditional"], |_, text| {
            let own = origin::branches(&InstructionParts::read_up_to(text, 0));
            branches.extend(own.into_iter().filter_map(|name| {
                extents[dump.computation_named(dump.names.get(name)?)? as usize]
            }));
        });
        Self::innermost(dump.steps.len(), branches)
    }

    /// What is known of `steps` steps from the first and last steps of all branches.
    fn innermost(steps: usize, mut branches: Vec<(u32, u32)>) -> Self {
        branches.sort_unstable();
        let mut next = branches.into_iter().peekable();
        let mut open = BinaryHeap::new();
        let firsts = (0..steps as u32).map(|step| {
            while let Some(branch) = next.next_if(|branch| branch.0 <= step) {
                open.push(branch);
            }
            while open.peek().is_some_and(|branch| branch.1 < step) {
                open.pop();
            }
            open.peek().map_or(0, |branch| branch.0)
        });
        Self {
            firsts: firsts.collect(),
        }
    }

    /// What is known without the HLO text: all before a conditional may be in a branch of its own.
    fn possible(dump: &Dump) -> Self {
        let is_conditional = |name| dump.opcode(name) == Some("conditional");
        let last = dump
            .steps
            .iter()
            .rposition(|step| is_conditional(step.name));
        Self {
            firsts: last.map_or_else(Vec::new, |last| (0..last as u32).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_in_their_innermost_branch() {
        let branches = vec![(2, 9), (10, 12), (4, 5), (6, 7)];
        let firsts = Branches::innermost(14, branches).firsts;
        assert_eq!(firsts, [0, 0, 2, 2, 4, 4, 6, 6, 2, 2, 10, 10, 10, 0]);
    }
}
