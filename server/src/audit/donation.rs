//! Which parameters give their buffers to the result, and which could or should.

use std::cmp::Reverse;

use buflens_syntax::{Dimension, ElementType, Shape};
use rustc_hash::FxHashMap;

use super::Audit;
use crate::model::{Allocation, Dump, NameId, Value};

/// Of the outputs that a parameter could be donated to at most so many are told.
const MAX_OUTPUTS: usize = 16;

/// What becomes of a parameter's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It is the buffer of a part of the result as well.
    Donated,
    /// It is not donated, and has the size of an output that no parameter is donated to.
    CouldMatch,
    /// It is not donated, alive at the peak of its memory space, and read for the last time before.
    Dead,
    /// None of these.
    Kept,
}

impl Verdict {
    /// `donated`, `could-match`, `dead`, `kept`
    pub fn name(self) -> &'static str {
        match self {
            Self::Donated => "donated",
            Self::CouldMatch => "could-match",
            Self::Dead => "dead",
            Self::Kept => "kept",
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
    /// Whether it is alive at the peak of its memory space.
    pub at_peak: bool,
    /// The outputs that it could be donated to, as numbers into
    /// [`crate::model::Dump::allocations`]: at most 16, those of its shape before those that have
    /// its size alone.
    pub outputs: Vec<u32>,
}

/// The parameters of a dump, the largest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Donation {
    /// All parameters.
    pub parameters: Vec<Parameter>,
}

/// What becomes of each parameter.
pub fn donation(audit: &Audit) -> Donation {
    let dump = audit.dump;
    let outputs = Outputs::of(audit);
    // Parameters and outputs of one shape mostly stand in the same order: each begins elsewhere.
    let mut earlier: FxHashMap<Key, usize> = FxHashMap::default();
    let mut parameters = Vec::new();
    for (at, allocation) in (0..).zip(&dump.allocations) {
        let Some(number) = allocation.parameter else {
            continue;
        };
        let value = value_of(dump, allocation);
        let last_read = value.and_then(|value| dump.last_read(&dump.values[value as usize]));
        let peak = dump.occupancy().peak(allocation.color);
        let is_alive =
            |step: u64| value.is_some_and(|at| is_alive(&dump.values[at as usize], step));
        let at_peak = peak.is_some_and(|peak| is_alive(peak.step));
        let mut candidates = Vec::new();
        if !allocation.is_donated() && allocation.size > 0 {
            let array = value.and_then(|value| array(audit, &dump.values[value as usize]));
            let key = (allocation.color, allocation.size, array);
            let before = earlier.entry(key.clone()).or_default();
            candidates = outputs.matching(&key, *before);
            *before += 1;
        }
        // Where nobody is known to read it, that may be for want of the section that tells.
        let is_unread = |value: &Value| value.used.is_some() && value.uses.is_empty();
        let is_read_before = |step: u64| match last_read {
            Some((last, _)) => last < step,
            None => value.is_some_and(|value| is_unread(&dump.values[value as usize])),
        };
        let verdict = if allocation.is_donated() {
            Verdict::Donated
        } else if !candidates.is_empty() {
            Verdict::CouldMatch
        } else if at_peak && peak.is_some_and(|peak| is_read_before(peak.step)) {
            Verdict::Dead
        } else {
            Verdict::Kept
        };
        parameters.push(Parameter {
            allocation: at,
            number,
            value,
            verdict,
            last_read,
            at_peak,
            outputs: candidates,
        });
    }
    parameters.sort_by_key(|parameter| {
        let size = dump.allocations[parameter.allocation as usize].size;
        (Reverse(size), parameter.number, parameter.allocation)
    });
    Donation { parameters }
}

/// An array's type and dimensions.
type Array = (ElementType, Vec<Dimension>);

/// What a parameter and an output have in common: memory space, size in bytes, and the array.
type Key = (u64, u64, Option<Array>);

/// The type and dimensions of a value; `None` for a tuple's table.
fn array(audit: &Audit, value: &Value) -> Option<Array> {
    match audit.shapes.of(audit.dump, value)?.as_ref() {
        Shape::Array(array) => Some((array.element.clone(), array.dimensions.clone())),
        Shape::Tuple(_) => None,
    }
}

/// An allocation and what its part of the result is.
type Output = (u32, Option<Array>);

/// The outputs that no parameter is donated to, by memory space and size in bytes.
#[derive(Default)]
struct Outputs {
    all: FxHashMap<(u64, u64), Vec<Output>>,
    by_shape: FxHashMap<Key, Vec<u32>>,
}

impl Outputs {
    fn of(audit: &Audit) -> Self {
        let dump = audit.dump;
        let last_step = dump.max.as_ref().map(|(max, _)| max.value);
        let mut outputs = Self::default();
        for (at, allocation) in (0..).zip(&dump.allocations) {
            if !allocation.kinds.maybe_live_out || allocation.parameter.is_some() {
                continue;
            }
            // Temporaries may lie in it too, before the part of the result that stays to the end.
            let mut values = allocation.values.clone();
            let output = values.find_map(|value| {
                let value = &dump.values[value as usize];
                let stays = value.live_range.is_none() || Some(value.live.1) == last_step;
                (stays && value.size == allocation.size)
                    .then(|| array(audit, value))
                    .flatten()
            });
            if output.is_some() {
                let (color, size) = (allocation.color, allocation.size);
                let of_shape = outputs.by_shape.entry((color, size, output.clone()));
                of_shape.or_default().push(at);
                outputs
                    .all
                    .entry((color, size))
                    .or_default()
                    .push((at, output));
            }
        }
        outputs
    }

    /// Those that a parameter could be donated to which has `before` others of its shape before it.
    fn matching(&self, key: &Key, before: usize) -> Vec<u32> {
        let of_shape = self.by_shape.get(key).map_or(&[][..], Vec::as_slice);
        let start = before % of_shape.len().max(1);
        let of_shape = of_shape[start..].iter().chain(&of_shape[..start]).copied();
        let of_size = self.all.get(&(key.0, key.1)).into_iter().flatten();
        let others = of_size
            .filter(|(_, array)| *array != key.2)
            .map(|(at, _)| *at);
        of_shape.chain(others).take(MAX_OUTPUTS).collect()
    }
}

/// The value that is the parameter itself: a donated one's allocation holds others behind it.
fn value_of(dump: &Dump, allocation: &Allocation) -> Option<u32> {
    let is_parameter = |&at: &u32| {
        let instruction = dump.instruction(&dump.values[at as usize]);
        instruction.and_then(|at| at.row.parameter.get()) == allocation.parameter
    };
    let mut values = allocation.values.clone();
    let own = values.clone().find(is_parameter);
    own.or_else(|| values.next().filter(|_| !allocation.is_donated()))
}

/// Whether `value` is known to be alive at `step`.
fn is_alive(value: &Value, step: u64) -> bool {
    value.live_range.is_some() && (value.live.0..=value.live.1).contains(&step)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::{Expect, expect};

    use super::*;
    use crate::audit::fixture::{audited, real};
    use crate::model::source::Libraries;

    fn check(dump: &Dump, expected: &Expect) {
        let mut text = String::new();
        for parameter in donation(&Audit::new(dump, Libraries::default())).parameters {
            let name = |at: u32| &dump.names[dump.values[at as usize].name];
            let read = parameter
                .last_read
                .map(|(step, by)| (step, &dump.names[by]));
            writeln!(
                text,
                "{} ({}) {}, read {read:?}, at peak {}, outputs {:?}",
                parameter.number,
                parameter.value.map_or("?", name),
                parameter.verdict.name(),
                parameter.at_peak,
                parameter.outputs
            )
            .unwrap();
        }
        expected.assert_eq(&text);
    }

    const TEXT: &str = r"BufferAssignment:
allocation 0: size 64, parameter 0, shape |f32[16]| at ShapeIndex {}:
 value: <1 same.1 @0> (size=64,offset=0): f32[16]{0}
allocation 1: size 256, parameter 1, shape |f32[64]| at ShapeIndex {}, maybe-live-out:
 value: <2 donated.1 @0> (size=256,offset=0): f32[64]{0}
 value: <3 inplace.1 @0> (size=256,offset=0): f32[64]{0}
allocation 2: size 32, parameter 2, shape |f32[8]| at ShapeIndex {}:
 value: <4 dead.1 @0> (size=32,offset=0): f32[8]{0}
allocation 3: size 16, parameter 3, shape |f32[4]| at ShapeIndex {}:
 value: <5 late.1 @0> (size=16,offset=0): f32[4]{0}
allocation 4: size 8, parameter 4, shape |f32[2]| at ShapeIndex {}:
 value: <6 unread.1 @0> (size=8,offset=0): f32[2]{0}
allocation 5: size 64, maybe-live-out:
 value: <7 half.1 @0> (size=64,offset=0): s32[16]{0}
 value: <8 other.1 @0> (size=64,offset=0): s32[16]{0}
allocation 6: size 64, maybe-live-out:
 value: <9 out.1 @0> (size=64,offset=0): f32[16]{0}
allocation 7: size 16, output shape is |(f32[64], s32[16])|, maybe-live-out:
 value: <10 tuple.1{} @0> (size=16,offset=0): (f32[64]{0}, s32[16]{0})
allocation 8: size 64, parameter 5, shape |f32[16]| at ShapeIndex {}:
 value: <11 second.1 @0> (size=64,offset=0): f32[16]{0}
allocation 9: size 512, preallocated-temp:
 value: <12 temp.1 @0> (size=512,offset=0): f32[128]{0}

Total bytes used: 1096 (1.1KiB)

Used values:
<1 same.1 @0>
 positions:
  same.1
 uses:
  out.1, operand 0
 from instruction: %same.1 = f32[16]{0} parameter(0)
<2 donated.1 @0>
 positions:
  donated.1
 uses:
  inplace.1, operand 0
 from instruction: %donated.1 = f32[64]{0} parameter(1)
<4 dead.1 @0>
 positions:
  dead.1
 uses:
  half.1, operand 0
 from instruction: %dead.1 = f32[8]{0} parameter(2)
<5 late.1 @0>
 positions:
  late.1
 uses:
  half.1, operand 1
  while.1, operand 0 {2}
 from instruction: %late.1 = f32[4]{0} parameter(3)
<6 unread.1 @0>
 positions:
  unread.1
 uses:
 from instruction: %unread.1 = f32[2]{0} parameter(4)

HloLiveRange (max 12):
  InstructionSequence:
    0:same.1
    1:donated.1
    2:dead.1
    3:late.1
    4:unread.1
    5:second.1
    6:half.1
    7:temp.1
    8:while.1
    9:other.1
    10:out.1
    11:tuple.1
  BufferLiveRange:
    same.1{}:0-12
    donated.1{}:0-9
    inplace.1{}:9-12
    dead.1{}:0-12
    late.1{}:0-12
    unread.1{}:0-12
    half.1{}:6-7
    other.1{}:9-12
    out.1{}:10-12
    tuple.1{}:11-12
    second.1{}:0-12
    temp.1{}:7-8
  Live ranges at 7 (peak):
    temp.1{}: 512 bytes
";

    #[test]
    fn what_becomes_of_parameters() {
        check(
            &audited(TEXT),
            &expect![[r#"
            1 (donated.1) donated, read None, at peak true, outputs []
            0 (same.1) could-match, read Some((10, "out.1")), at peak true, outputs [6, 5]
            5 (second.1) could-match, read None, at peak true, outputs [6, 5]
            2 (dead.1) dead, read Some((6, "half.1")), at peak true, outputs []
            3 (late.1) kept, read Some((8, "while.1")), at peak true, outputs []
            4 (unread.1) dead, read None, at peak true, outputs []
        "#]],
        );
        // Without live ranges sizes are all that is known.
        let (without, _) = TEXT.split_once("\nHloLiveRange").unwrap();
        check(
            &audited(without),
            &expect![[r#"
            1 (donated.1) donated, read None, at peak false, outputs []
            0 (same.1) could-match, read None, at peak false, outputs [6, 5]
            5 (second.1) could-match, read None, at peak false, outputs [6, 5]
            2 (dead.1) kept, read None, at peak false, outputs []
            3 (late.1) kept, read None, at peak false, outputs []
            4 (unread.1) kept, read None, at peak false, outputs []
        "#]],
        );
    }

    #[test]
    fn a_real_dump() {
        check(
            &real("donation/module_0669."),
            &expect![[r#"
            0 (a.1) donated, read Some((15, "dynamic-update-slice.1")), at peak true, outputs []
            2 (v.1) kept, read Some((14, "broadcast_select_fusion")), at peak true, outputs []
            1 (i.1) dead, read Some((7, "copy.3")), at peak true, outputs []
        "#]],
        );
        check(
            &real("tpu-combined-v5p/module_1690."),
            &expect![[r#"
            0 (Arg_0.1) could-match, read Some((4, "fusion.1")), at peak true, outputs [1]
            1 (Arg_1.2) could-match, read Some((3, "copy-done.2")), at peak true, outputs [1]
        "#]],
        );
    }
}
