//! What TPU v7 reserves of VMEM for its instructions, beside the values that lie there.

use std::ops::Range;

use buflens_syntax::facts;
use rustc_hash::FxHashMap;

use super::{Allocation, Dump};

/// Values are laid out with less than this between them.
const SHORTEST: u64 = 64 << 10;
/// No chip is known to reserve less.
const LEAST_RESERVED: u64 = 32 << 20;
/// Longer texts of instructions are not looked at.
const MOST_READ: usize = 1 << 20;

impl Dump {
    /// The bytes of an allocation that no value ever lies in, where the compiler keeps them as scratch: TPU v7 reserves all of
    /// VMEM that one of its instructions takes. While another runs, values may lie in a part of what that one takes.
    pub fn scratch_of(&self, allocation: &Allocation) -> Option<Range<u64>> {
        let is_arena = self.platforms.tpu
            && allocation.kinds().preallocated_temp
            && allocation.color == 1
            && allocation.size >= LEAST_RESERVED;
        if !is_arena {
            return None;
        }
        let values = self.held_by(allocation).iter();
        let mut held: Vec<(u64, u64)> = values.map(|it| (it.offset, it.end())).collect();
        held.sort_unstable();
        let (mut longest, mut end) = (0..0, 0);
        for (start, next) in held.into_iter().chain([(allocation.size, allocation.size)]) {
            if start.saturating_sub(end) > longest.end - longest.start {
                longest = end..start;
            }
            end = end.max(next);
        }
        (longest.end - longest.start >= SHORTEST).then_some(longest)
    }

    /// Whether the compiler keeps a part of the allocation as scratch.
    pub fn keeps_scratch(&self, allocation: &Allocation) -> bool {
        self.scratch_of(allocation).is_some()
    }

    /// The bytes of VMEM that the instruction of a step takes as scratch. `None` where the HLO text does not tell.
    pub fn scratch_at(&self, step: u64) -> Option<u64> {
        let step = self.steps.get(usize::try_from(step).ok()?)?;
        // What stands with a value may be shorter.
        let line = self.at::<facts::Instruction>(self.module.instructions.get(step.name)?.row)?;
        let text = Some(line.text(line.row.span)).filter(|text| text.len() <= MOST_READ)?;
        let (_, list) = text.split_once(r#""scoped_memory_configs":["#)?;
        let (list, _) = list.split_once(']')?;
        let list = format!("[{list}]");
        let scopes: Vec<FxHashMap<&str, &str>> = serde_json::from_str(&list).ok()?;
        let is_vmem = |scope: &&FxHashMap<&str, &str>| scope.get("memory_space") == Some(&"1");
        scopes.iter().find(is_vmem)?.get("size")?.parse().ok()
    }
}
