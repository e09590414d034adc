//! The copies that the compiler inserted: what they move, when, and at what cost.

use buflens_syntax::facts::Computation;
use buflens_syntax::{ArrayShape, InstructionParts, OperandParts, Shape};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Audit;
use crate::model::shapes::shape_text;
use crate::model::{Dump, NameId, space};

/// The memory space that is host memory, on TPUs and GPUs; a CPU has only space 0.
pub const HOST: u64 = 5;

/// What a copy is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// The same data in another layout; on a TPU some are converted to another element type on the way.
    Layout,
    /// A transposition that writes its result.
    Transpose,
    /// Another buffer with the same contents in the same layout and memory space.
    Plain,
    /// A copy of what is not known: where and how its operand lies stands in a file that is not there.
    Unknown,
    /// From one memory space to another, not asynchronous and not host memory.
    Space,
    /// Asynchronous, into faster memory.
    Prefetch,
    /// Asynchronous, from faster memory back to the main one.
    WriteBack,
    /// To host memory.
    Offload,
    /// Back from host memory.
    Reload,
}

impl Purpose {
    /// `layout`, `transpose`, `plain`, `unknown`, `space`, `prefetch`, `write-back`, `offload`, `reload`
    pub fn name(self) -> &'static str {
        match self {
            Self::Layout => "layout",
            Self::Transpose => "transpose",
            Self::Plain => "plain",
            Self::Unknown => "unknown",
            Self::Space => "space",
            Self::Prefetch => "prefetch",
            Self::WriteBack => "write-back",
            Self::Offload => "offload",
            Self::Reload => "reload",
        }
    }
}

/// One end of a copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct End {
    /// The value, as a number into [`crate::model::Dump::values`], if it has one.
    pub value: Option<u32>,
    /// The memory space, if it is known.
    pub color: Option<u64>,
    /// The shape with its layout; empty if it is not known.
    pub shape: String,
}

/// A copy, or the start of an asynchronous one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    /// The instruction.
    pub name: NameId,
    /// What it is for.
    pub purpose: Purpose,
    /// What it reads: the operand's name as printed.
    pub operand: Option<NameId>,
    /// Whence.
    pub from: End,
    /// Whither.
    pub to: End,
    /// Bytes that it writes, padding included; 0 where the dump does not say, see [`Copy::written`].
    pub bytes: u64,
    /// The steps from its start to its end, the same for one that is not asynchronous.
    pub window: Option<(u64, u64)>,
    /// Whether its result is alive at the true peak of its memory space.
    pub at_peak: bool,
    /// The earlier copy that it takes back: A -> B, and then B -> A.
    pub round_trip: Option<NameId>,
}

impl Copy {
    /// Bytes that it writes, padding included; `None` where the dump does not say how large that is.
    pub fn written(&self, dump: &Dump) -> Option<u64> {
        let value = dump.values.get(self.to.value? as usize)?;
        value.placement.map(|_| value.size)
    }
}

/// What `copies` write together, of those of which that is known; `None` if it is of none.
pub fn written<'c>(dump: &Dump, copies: impl IntoIterator<Item = &'c Copy>) -> Option<u64> {
    let known = copies.into_iter().filter_map(|copy| copy.written(dump));
    known.reduce(u64::saturating_add)
}

/// All copies, those with the most bytes first.
pub fn copies(audit: &Audit) -> Vec<Copy> {
    let dump = audit.dump;
    let mut names = FxHashSet::default();
    let mut copies = Vec::new();
    for value in &dump.values {
        let opcode = match value.opcode {
            Some(opcode) => &dump.names[opcode],
            None => dump.opcode(value.name).unwrap_or_default(),
        };
        let is_copy = matches!(opcode, "copy" | "transpose") || opcode.ends_with("-start");
        if is_copy && names.insert(value.name) {
            copies.extend(read(audit, value.name));
        }
    }
    find_round_trips(&mut copies);
    copies.sort_by_key(|copy| {
        let start = copy.window.map_or(u64::MAX, |window| window.0);
        (std::cmp::Reverse(copy.bytes), start, copy.name)
    });
    copies
}

/// The copy that instruction `name` is, if it is one.
fn read(audit: &Audit, name: NameId) -> Option<Copy> {
    let dump = audit.dump;
    let origin = audit.origins.named(name);
    let parts = &origin.parts;
    let result = audit.shapes.read(parts.shape)?;
    let is_async = parts.opcode.ends_with("-start");
    // Where the result is in the tuple of an asynchronous operation, and what it is made of.
    let (index, array, source) = match result.as_ref() {
        Shape::Array(array) if !is_async => ("{}", array, None),
        Shape::Tuple(elements) if is_async => match elements.as_slice() {
            [Shape::Array(to), Shape::Array(from), ..] if parts.opcode == "copy-start" => {
                ("{0}", to, Some(from))
            }
            [Shape::Tuple(operands), Shape::Array(to), ..] => match operands.as_slice() {
                [Shape::Array(from), ..] if moves(dump, parts, from, to) => ("{1}", to, Some(from)),
                _ => return None,
            },
            _ => return None,
        },
        _ => return None,
    };
    let operand = parts.operands.first()?;
    let operand_name = dump.names.get(operand.name);
    let from_shape = shape_of(audit, operand, operand_name).unwrap_or_default();
    let from_array = audit.shapes.read(from_shape);
    let from_array = source.or(match from_array.as_deref() {
        Some(Shape::Array(array)) => Some(array),
        _ => None,
    });
    let read = operand_name.and_then(|name| shown_at(dump, name, dump.names.get("{}")?));
    let from = End {
        value: read,
        color: from_array.map_or_else(
            || Some(dump.allocation_of(&dump.values[read? as usize])?.color),
            space::of_array,
        ),
        shape: from_shape.to_owned(),
    };
    // An asynchronous slice shows at its index what the called computation defines.
    let written = dump
        .names
        .get(index)
        .and_then(|index| shown_at(dump, name, index));
    let value = written.map(|at| &dump.values[at as usize]);
    let to = End {
        value: written,
        color: space::of_array(array),
        shape: value
            .and_then(|value| shape_text(dump, value))
            .unwrap_or_default()
            .to_owned(),
    };
    let peak = value.and_then(|value| dump.occupancy().peak(dump.allocation_of(value)?.color));
    let is_alive = |step: u64| value.is_some_and(|value| value.is_alive(step));
    Some(Copy {
        name,
        purpose: purpose(parts.opcode, from_array, array, (from.color, to.color)),
        operand: operand_name,
        from,
        to,
        bytes: value.map_or(0, |value| value.size),
        window: window(dump, name, is_async),
        at_peak: peak.is_some_and(|peak| is_alive(peak.step)),
        round_trip: None,
    })
}

/// Whether an asynchronous operation whose tuple holds its operands only moves its operand, or a
/// part of it.
fn moves(dump: &Dump, parts: &InstructionParts, from: &ArrayShape, to: &ArrayShape) -> bool {
    let is_move = |opcode: &str| matches!(opcode, "copy" | "slice" | "dynamic-slice");
    if parts.opcode != "async-start" {
        return parts.opcode.strip_suffix("-start").is_some_and(is_move);
    }
    // What an `async-start` does stands in the computation that it calls, in the HLO text.
    let called = || {
        let name = parts.attribute("calls")?.trim_start_matches('%');
        let row = dump.computation_named(dump.names.get(name)?)?;
        let computation = dump.at::<Computation>(*dump.computations.get(row as usize)?)?;
        let facts = computation.block.facts();
        let first = computation.row.instructions;
        let others = facts.computations.iter().map(|other| other.instructions);
        let end = others.filter(|&other| other > first).min();
        let end = end.map_or(facts.instructions.len(), |end| end as usize);
        let mut opcodes = facts.instructions.get(first as usize..end)?.iter();
        Some(opcodes.all(|row| {
            let opcode = computation.text(row.opcode);
            matches!(opcode, "parameter" | "constant") || is_move(opcode)
        }))
    };
    called().unwrap_or_else(|| {
        parts.operands.len() == 1
            && from.element == to.element
            && space::of_array(from) != space::of_array(to)
    })
}

fn purpose(
    opcode: &str,
    from: Option<&ArrayShape>,
    to: &ArrayShape,
    colors: (Option<u64>, Option<u64>),
) -> Purpose {
    let in_one_space = || {
        let Some(from) = from else {
            return Purpose::Unknown;
        };
        match (&from.layout, &to.layout) {
            (Some(old), Some(new))
                if from.dimensions == to.dimensions
                    && (&old.minor_to_major, &old.tiles) != (&new.minor_to_major, &new.tiles) =>
            {
                Purpose::Layout
            }
            _ => Purpose::Plain,
        }
    };
    if opcode == "transpose" {
        return Purpose::Transpose;
    }
    let (Some(from_color), Some(to_color)) = colors else {
        return in_one_space();
    };
    match (from_color, to_color) {
        (from, to) if from == to => in_one_space(),
        (_, HOST) => Purpose::Offload,
        (HOST, _) => Purpose::Reload,
        (_, 0) if opcode.ends_with("-start") => Purpose::WriteBack,
        _ if opcode.ends_with("-start") => Purpose::Prefetch,
        _ => Purpose::Space,
    }
}

/// The shape of an operand: as printed with it, as its value's, or as its instruction's. A value
/// that it only shows may have another shape there, behind a bitcast.
fn shape_of<'d>(
    audit: &Audit<'d>,
    operand: &OperandParts<'d>,
    name: Option<NameId>,
) -> Option<&'d str> {
    let dump = audit.dump;
    if !operand.shape.is_empty() {
        return Some(operand.shape);
    }
    let (name, whole) = (name?, dump.names.get("{}")?);
    let defined = dump.values_at(name, whole).next();
    let shape = defined.and_then(|at| shape_text(dump, &dump.values[at as usize]));
    let shape = shape.unwrap_or_else(|| audit.origins.named(name).parts.shape);
    (!shape.is_empty()).then_some(shape)
}

/// The value that `name` defines at `index`, else the one value that is visible there.
fn shown_at(dump: &Dump, name: NameId, index: NameId) -> Option<u32> {
    let shown = || {
        let mut values = dump.positions_at_index(name, index);
        let value = values.next().map(|at| dump.positions[at as usize].value)?;
        values
            .all(|at| dump.positions[at as usize].value == value)
            .then_some(value)
    };
    dump.values_at(name, index).next().or_else(shown)
}

/// The steps of a copy: of an asynchronous one those for which its tuple is alive, up to the
/// instruction that waits for it.
fn window(dump: &Dump, name: NameId, is_async: bool) -> Option<(u64, u64)> {
    let step = u64::from(dump.step_of(name)?);
    let tuple = is_async
        .then(|| dump.values_at(name, dump.names.get("{}")?).next())
        .flatten();
    let tuple = tuple.map(|at| &dump.values[at as usize]);
    let end = tuple
        .filter(|tuple| tuple.live_range.is_some())
        .map(|tuple| tuple.live.1);
    Some((step, end.unwrap_or(step).max(step)))
}

/// Finds the copies that bring the result of an earlier one back into the layout and memory space
/// that it came from.
fn find_round_trips(copies: &mut [Copy]) {
    let numbered = copies.iter().enumerate();
    let by_result: FxHashMap<u32, usize> = numbered
        .filter_map(|(at, copy)| Some((copy.to.value?, at)))
        .collect();
    let trip = |copy: &Copy| {
        let earlier = &copies[*by_result.get(&copy.from.value?)?];
        let is_back = || {
            let start = Shape::read(&earlier.from.shape).ok();
            start.is_some() && start == Shape::read(&copy.to.shape).ok()
        };
        let is_other = !matches!(earlier.purpose, Purpose::Plain | Purpose::Transpose);
        (is_other && earlier.name != copy.name && is_back()).then_some(earlier.name)
    };
    let trips: Vec<Option<NameId>> = copies.iter().map(trip).collect();
    for (copy, trip) in copies.iter_mut().zip(trips) {
        copy.round_trip = trip;
    }
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
        let copies = copies(&Audit::new(dump, Libraries::default()));
        for copy in &copies {
            let end = |end: &End| {
                let value = end
                    .value
                    .map(|at| &dump.names[dump.values[at as usize].name]);
                format!("{} {} {:?}", value.unwrap_or("?"), end.shape, end.color)
            };
            writeln!(
                text,
                "{} {} {} B, {} -> {}, steps {:?}{}{}",
                &dump.names[copy.name],
                copy.purpose.name(),
                copy.bytes,
                end(&copy.from),
                end(&copy.to),
                copy.window,
                if copy.at_peak { ", at the peak" } else { "" },
                copy.round_trip
                    .map(|earlier| format!(", takes back {}", &dump.names[earlier]))
                    .unwrap_or_default()
            )
            .unwrap();
        }
        expected.assert_eq(&text);
    }

    const TEXT: &str = r"BufferAssignment:
allocation 0: size 512, parameter 0, shape |f32[8,16]| at ShapeIndex {}:
 value: <1 p.1 @0> (size=512,offset=0): f32[8,16]{1,0}
allocation 1: size 4096, preallocated-temp:
 value: <2 copy.1 @0> (size=512,offset=0): f32[8,16]{0,1}
 value: <3 copy.2 @0> (size=512,offset=512): f32[8,16]{1,0}
 value: <4 copy.3 @0> (size=512,offset=1024): f32[8,16]{1,0}
 value: <5 transpose.1 @0> (size=512,offset=1536): f32[16,8]{1,0}
 value: <6 copy-start{} @0> (size=24,offset=2048): (f32[8,16]{1,0:S(5)}, f32[8,16]{1,0}, u32[])
 value: <8 copy.4 @0> (size=512,offset=2560): f32[8,16]{1,0}
 value: <9 copy.5 @0> (size=512,offset=3072): f32[128,1]{1,0}
allocation 2: size 512, color 5, preallocated-temp:
 value: <7 copy-start{0} @5> (size=512,offset=0): f32[8,16]{1,0:S(5)}

Total bytes used: 5120 (5.0KiB)

Used values:
<1 p.1 @0>
 positions:
  p.1
  bitcast.1
 uses:
  copy.1, operand 0
 from instruction: %p.1 = f32[8,16]{1,0} parameter(0)
<2 copy.1 @0>
 positions:
  copy.1
 uses:
  copy.2, operand 0
 from instruction: %copy.1 = f32[8,16]{0,1} copy(%p.1)
<3 copy.2 @0>
 positions:
  copy.2
 uses:
  copy.3, operand 0
 from instruction: %copy.2 = f32[8,16]{1,0} copy(%copy.1)
<4 copy.3 @0>
 positions:
  copy.3
 uses:
  transpose.1, operand 0
 from instruction: %copy.3 = f32[8,16]{1,0} copy(f32[8,16]{1,0} %copy.2)
<5 transpose.1 @0>
 positions:
  transpose.1
 uses:
  copy-start, operand 0
 from instruction: %transpose.1 = f32[16,8]{1,0} transpose(%copy.3), dimensions={1,0}
<6 copy-start{} @0>
 positions:
  copy-start {}
 uses:
  copy-done, operand 0 {}
 from instruction: %copy-start = (f32[8,16]{1,0:S(5)}, f32[8,16]{1,0}, u32[]) copy-start(%copy.3)
<7 copy-start{0} @5>
 positions:
  copy-start {0}
  copy-done
 uses:
  copy.4, operand 0
 from instruction: %copy-start = (f32[8,16]{1,0:S(5)}, f32[8,16]{1,0}, u32[]) copy-start(%copy.3)
<8 copy.4 @0>
 positions:
  copy.4
 uses:
 from instruction: %copy.4 = f32[8,16]{1,0} copy(f32[8,16]{1,0:S(5)} %copy-done)
<9 copy.5 @0>
 positions:
  copy.5
 uses:
 from instruction: %copy.5 = f32[128,1]{1,0} copy(%bitcast.1)

HloLiveRange (max 10):
  InstructionSequence:
    0:p.1
    1:copy.1
    2:copy.2
    3:copy.3
    4:transpose.1
    5:copy-start
    6:bitcast.1
    7:copy-done
    8:copy.4
    9:copy.5
  BufferLiveRange:
    p.1{}:0-10
    copy.1{}:1-2
    copy.2{}:2-3
    copy.3{}:3-7
    transpose.1{}:4-5
    copy-start{}:5-7
    copy-start{0}:5-8
    copy.4{}:8-10
    copy.5{}:9-10
  Live ranges at 5 (peak):
    p.1{}: 512 bytes
";

    #[test]
    fn what_copies_are_for() {
        check(
            &audited(TEXT),
            &expect![[r#"
            copy.1 layout 512 B, p.1 f32[8,16]{1,0} Some(0) -> copy.1 f32[8,16]{0,1} Some(0), steps Some((1, 1))
            copy.2 layout 512 B, copy.1 f32[8,16]{0,1} Some(0) -> copy.2 f32[8,16]{1,0} Some(0), steps Some((2, 2)), takes back copy.1
            copy.3 plain 512 B, copy.2 f32[8,16]{1,0} Some(0) -> copy.3 f32[8,16]{1,0} Some(0), steps Some((3, 3)), at the peak
            transpose.1 transpose 512 B, copy.3 f32[8,16]{1,0} Some(0) -> transpose.1 f32[16,8]{1,0} Some(0), steps Some((4, 4)), at the peak
            copy-start offload 512 B, copy.3 f32[8,16]{1,0} Some(0) -> copy-start f32[8,16]{1,0:S(5)} Some(5), steps Some((5, 7)), at the peak
            copy.4 reload 512 B, copy-start f32[8,16]{1,0:S(5)} Some(5) -> copy.4 f32[8,16]{1,0} Some(0), steps Some((8, 8)), takes back copy-start
            copy.5 unknown 512 B, p.1  Some(0) -> copy.5 f32[128,1]{1,0} Some(0), steps Some((9, 9))
        "#]],
        );
        let (without, _) = TEXT.split_once("\nHloLiveRange").unwrap();
        let dump = audited(without);
        let copies = copies(&Audit::new(&dump, Libraries::default()));
        assert_eq!(copies.len(), 7);
        assert!(
            copies
                .iter()
                .all(|copy| copy.window.is_none() && !copy.at_peak)
        );
    }

    #[test]
    fn slices_have_the_bytes_that_are_shown_and_results_are_written_back() {
        check(
            &audited(
                r"BufferAssignment:
allocation 0: size 1024, parameter 0, shape |f32[16,16]| at ShapeIndex {}:
 value: <1 p.1 @0> (size=1024,offset=0): f32[16,16]{1,0}
allocation 1: size 512, color 1, preallocated-temp:
 value: <2 slice.1 @1> (size=512,offset=0): f32[8,16]{1,0:S(1)}
allocation 2: size 1024, preallocated-temp:
 value: <3 slice-start{} @0> (size=24,offset=0): ((f32[16,16]{1,0}), f32[8,16]{1,0:S(1)}, s32[])
 value: <4 copy-start{} @0> (size=24,offset=32): (f32[8,16]{1,0}, f32[8,16]{1,0:S(1)}, u32[])
 value: <5 copy-start{0} @0> (size=512,offset=512): f32[8,16]{1,0}

Total bytes used: 2560 (2.5KiB)

Used values:
<1 p.1 @0>
 positions:
  p.1
  slice-start {0,0}
 uses:
  slice-start, operand 0
 from instruction: %p.1 = f32[16,16]{1,0} parameter(0)
<2 slice.1 @1>
 positions:
  slice.1
  slice-start {1}
  slice-done
 uses:
  copy-start, operand 0
 from instruction: %slice.1 = f32[8,16]{1,0:S(1)} slice(%param_0.1), slice={[0:8], [0:16]}
<3 slice-start{} @0>
 positions:
  slice-start {}
 uses:
  slice-done, operand 0 {}
 from instruction: %slice-start = ((f32[16,16]{1,0}), f32[8,16]{1,0:S(1)}, s32[]) slice-start(%p.1), slice={[0:8], [0:16]}
<4 copy-start{} @0>
 positions:
  copy-start {}
 uses:
  copy-done, operand 0 {}
 from instruction: %copy-start = (f32[8,16]{1,0}, f32[8,16]{1,0:S(1)}, u32[]) copy-start(%slice-done)
<5 copy-start{0} @0>
 positions:
  copy-start {0}
  copy-done
 uses:
 from instruction: %copy-start = (f32[8,16]{1,0}, f32[8,16]{1,0:S(1)}, u32[]) copy-start(%slice-done)
",
            ),
            &expect![[r#"
                slice-start prefetch 512 B, p.1 f32[16,16]{1,0} Some(0) -> slice.1 f32[8,16]{1,0:S(1)} Some(1), steps None
                copy-start write-back 512 B, slice.1  Some(1) -> copy-start f32[8,16]{1,0} Some(0), steps None
            "#]],
        );
    }

    #[test]
    fn real_dumps() {
        check(
            &real("tpu-split/module_0055."),
            &expect![[r#"
            copy-start prefetch 524288 B, q.1 bf16[2,256,8,64]{1,3,2,0:T(8,128)(2,1)} Some(0) -> copy-start bf16[2,256,8,64]{1,3,2,0:T(8,128)(2,1)S(1)} Some(1), steps Some((1, 5)), at the peak
            copy-start.1 prefetch 524288 B, v.1 bf16[2,256,8,64]{1,3,2,0:T(8,128)(2,1)} Some(0) -> copy-start.1 bf16[2,256,8,64]{1,3,2,0:T(8,128)(2,1)S(1)} Some(1), steps Some((6, 11)), at the peak
        "#]],
        );
        check(
            &real("tpu-combined-v5p/module_1690."),
            &expect![[r#"
            copy-start.2 prefetch 16777216 B, Arg_1.2 f32[2048,2048]{1,0:T(8,128)} Some(0) -> copy-start.2 f32[2048,2048]{1,0:T(8,128)S(1)} Some(1), steps Some((1, 3)), at the peak
            copy-start offload 16777216 B, fusion.1 f32[2048,2048]{1,0:T(8,128)} Some(0) -> copy-start f32[2048,2048]{1,0:T(8,128)S(5)} Some(5), steps Some((5, 6)), at the peak
            copy-start.1 reload 16777216 B, copy-start f32[2048,2048]{1,0:T(8,128)S(5)} Some(5) -> copy-start.1 f32[2048,2048]{1,0:T(8,128)} Some(0), steps Some((7, 8)), at the peak, takes back copy-start
        "#]],
        );
    }
}
