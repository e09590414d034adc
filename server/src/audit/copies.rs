//! The copies that the compiler inserted, in fusions of their own as well: what they move, when, and at what cost.

use std::sync::Arc;

use buflens_syntax::{ArrayShape, InstructionParts, OperandParts, Shape, facts};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Audit;
use crate::model::bytes::taken;
use crate::model::origin::called;
use crate::model::shapes::shape_text;
use crate::model::space::{self, HOST};
use crate::model::{Dump, NameId};

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
    /// What it reads, as printed: `add.1`, `tuple#1`.
    pub operand: String,
    /// Whence.
    pub from: End,
    /// Whither.
    pub to: End,
    /// Bytes that it writes, padding included: those of its result, or of the part that it writes there.
    /// `None` where the dump does not say how large that is.
    pub bytes: Option<u64>,
    /// The steps from its start to its end, the same for one that is not asynchronous.
    pub window: Option<(u64, u64)>,
    /// Whether its result is alive at the true peak of its memory space; `None` where that is not known.
    pub at_peak: Option<bool>,
    /// The earlier copy that it takes back: A -> B, and then B -> A.
    pub round_trip: Option<NameId>,
    /// The loop that makes it in each of its turns, by the HLO text.
    pub in_loop: Option<Loop>,
}

/// A loop with something in its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loop {
    /// The innermost `while`.
    pub name: NameId,
    /// How many turns it takes, with those of the loops around it; `None` where the compiler does not know, and of what is in a
    /// branch.
    pub turns: Option<u64>,
}

/// What `copies` write together, of those of which that is known; `None` if it is of none.
pub fn written<'c>(copies: impl IntoIterator<Item = &'c Copy>) -> Option<u64> {
    let known = copies.into_iter().filter_map(|copy| copy.bytes);
    known.reduce(u64::saturating_add)
}

/// The loop that runs instruction `name` in its body.
fn loop_of(audit: &Audit, name: NameId) -> Option<Loop> {
    let dump = audit.dump;
    let turns = |name: NameId| {
        let origin = audit.origins.named(name);
        let (_, count) = origin
            .parts
            .attribute("backend_config")?
            .split_once("\"known_trip_count\":{\"n\":\"")?;
        count.split_once('"')?.0.parse::<u64>().ok()
    };
    let all: Vec<NameId> = dump.runners_of(name).collect();
    let is = |it: &&NameId, opcode| dump.opcode(**it) == Some(opcode);
    let loops = all.iter().filter(|it| is(it, "while"));
    let turns = loops.clone().map(|&it| turns(it));
    let turns = turns.reduce(|one, other| one?.checked_mul(other?));
    // How often a branch runs nobody knows.
    let is_chosen = all.iter().any(|it| is(&it, "conditional"));
    let turns = turns.flatten().filter(|_| !is_chosen);
    loops.copied().next().map(|name| Loop { name, turns })
}

/// All copies, those with the most bytes first.
pub fn copies(audit: &Audit) -> Vec<Copy> {
    copies_from(audit, 0)
}

/// The copies that write `least` bytes or more, those with the most first, and among them some that write less. As in
/// [`copies`] it is known of each whether it takes an earlier one back.
pub fn copies_from(audit: &Audit, least: u64) -> Vec<Copy> {
    let dump = audit.dump;
    let mut names = FxHashSet::default();
    let mut copy_at = |number: u32, least: u64| {
        let value = &dump.values[number as usize];
        let opcode = match value.opcode {
            Some(opcode) => &dump.names[opcode],
            None => dump.opcode(value.name).unwrap_or_default(),
        };
        let is_small = || {
            let written = dump.shown(value.name);
            written.is_some_and(|at| dump.values[at as usize].size < least)
        };
        let is_copy = match opcode {
            "copy" | "transpose" => !is_small(),
            "fusion" => !is_small() && dump.copied_in(value.name).is_some(),
            // What is asynchronous may write what another instruction defines.
            _ => opcode.ends_with("-start"),
        };
        let is_new = is_copy && names.insert(value.name);
        let copy = is_new.then(|| read(audit, value.name)).flatten();
        copy.map(|copy| (number, copy))
    };
    let numbers = 0..dump.values.len() as u32;
    let mut copies: Vec<(u32, Copy)> = numbers.filter_map(|at| copy_at(at, least)).collect();
    // One of these may take back what a small one did.
    let read_by_them = copies.iter().filter_map(|(_, copy)| copy.from.value);
    let read_by_them: Vec<u32> = read_by_them.collect();
    copies.extend(read_by_them.into_iter().filter_map(|at| copy_at(at, 0)));
    copies.sort_unstable_by_key(|(number, _)| *number);
    let mut copies: Vec<Copy> = copies.into_iter().map(|(_, copy)| copy).collect();
    find_round_trips(dump, &mut copies);
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
    // Where the result is in the tuple of an asynchronous operation, which operand it is made of, and what
    // that is.
    let (index, array, moved, source) = match result.as_ref() {
        Shape::Array(array) if !is_async => ("{}", array, WHOLE, None),
        Shape::Tuple(elements) if is_async => match elements.as_slice() {
            [Shape::Array(to), Shape::Array(from), ..] if parts.opcode == "copy-start" => {
                ("{0}", to, WHOLE, Some(from))
            }
            [Shape::Tuple(operands), Shape::Array(to), ..] => {
                let (moved, from) = moved(dump, parts, operands, to)?;
                ("{1}", to, moved, Some(from))
            }
            _ => return None,
        },
        _ => return None,
    };
    let operand = parts.operands.get(moved)?;
    // What hides elements of tuples in HLO text leaves names in the values that stand nowhere else.
    let in_module = || {
        let line = dump.at::<facts::Instruction>(dump.module.instructions.get(name)?.row)?;
        let parts = InstructionParts::read(line.text(line.row.span));
        shape_of(audit, parts.operands.get(moved)?)
    };
    // An asynchronous slice shows at its index what the called computation defines.
    let written = dump.names.get(index);
    let written = written.and_then(|index| dump.shown_at(name, index));
    let value = written.map(|at| &dump.values[at as usize]);
    let is_wrapped = parts.opcode == "fusion";
    let step = if is_wrapped {
        Step::in_fusion(dump, name)?
    } else {
        let from = shape_of(audit, operand).or_else(in_module);
        let to = value.and_then(|value| shape_text(dump, value));
        Step {
            opcode: parts.opcode,
            from: from.unwrap_or_default(),
            to: to.unwrap_or_default(),
        }
    };
    let from_array = audit.shapes.read(step.from);
    let from_array = source.or(match from_array.as_deref() {
        Some(Shape::Array(array)) => Some(array),
        _ => None,
    });
    let read = dump.read_by(operand);
    let from = End {
        value: read,
        // In a fusion none is printed; that of the result is the fusion's own.
        color: match from_array.filter(|_| !is_wrapped) {
            Some(array) => space::of_array(array),
            None => read.and_then(|at| dump.color_of(at)),
        },
        shape: step.from.to_owned(),
    };
    let to = End {
        value: written,
        color: space::of_array(array),
        shape: step.to.to_owned(),
    };
    let bytes = if moved == UPDATE {
        source.and_then(|part| taken(part, dump.platforms))
    } else if let Some(value) = value {
        dump.is_placed(value).then_some(value.size)
    } else {
        // Without used values it is not known what the instruction shows, but where buffers are assigned, layouts
        // are final.
        let has_buffers = !dump.allocations.is_empty();
        has_buffers.then(|| taken(array, dump.platforms)).flatten()
    };
    // Without used values that is not printed.
    let to_array = audit.shapes.read(step.to);
    let to_array = match to_array.as_deref() {
        Some(Shape::Array(array)) => array,
        _ => array,
    };
    Some(Copy {
        name,
        purpose: purpose(
            step.opcode,
            from_array.map(|it| &**it),
            to_array,
            (from.color, to.color),
        ),
        operand: operand.to_string(),
        from,
        to,
        bytes,
        window: window(dump, name, is_async),
        at_peak: value.and_then(|value| dump.is_at_peak(value)),
        round_trip: None,
        in_loop: loop_of(audit, name),
    })
}

/// What moves the data, and the shapes of what it makes of what; empty where they are not printed.
struct Step<'d> {
    opcode: &'d str,
    from: &'d str,
    to: &'d str,
}

impl<'d> Step<'d> {
    /// The copies that a fusion is put around: their shapes may be others than those of the fusion's operand and result.
    fn in_fusion(dump: &'d Dump, fusion: NameId) -> Option<Self> {
        let moved = dump.copied_in(fusion)?;
        let line = dump.at::<facts::Instruction>(moved.first.row)?;
        let parts = InstructionParts::read_up_to(line.text(line.row.span), 1);
        let operand = dump.names.get(parts.operands.first()?.name)?;
        let operand = dump.instruction_in(moved.first.computation, operand)?;
        let opcode = if moved.is_transposed {
            "transpose"
        } else {
            "copy"
        };
        Some(Self {
            opcode,
            from: &dump.shapes[operand.shape],
            to: &dump.shapes[moved.last.shape],
        })
    }
}

/// The operand of which a copy writes all, or a part ...
const WHOLE: usize = 0;
/// ... and the one that an update writes into a part of a buffer.
const UPDATE: usize = 1;

/// The operand that an operation of `opcode` only moves, if it does no more.
fn moved_by(opcode: &str) -> Option<usize> {
    match opcode {
        "copy" | "slice" | "dynamic-slice" => Some(WHOLE),
        "dynamic-update-slice" => Some(UPDATE),
        _ => None,
    }
}

/// The operand that an asynchronous operation whose tuple holds its operands only moves, if it does no more.
fn moved<'s>(
    dump: &Dump,
    parts: &InstructionParts,
    operands: &'s [Shape],
    to: &ArrayShape,
) -> Option<(usize, &'s Arc<ArrayShape>)> {
    let called = called(dump, parts, "calls");
    let moved = match (parts.opcode, called) {
        // What an `async-start` does stands in the computation that it calls, in the HLO text.
        ("async-start", Some(called)) => moved_in(dump, called)?,
        ("async-start", None) => WHOLE,
        (opcode, _) => moved_by(opcode.strip_suffix("-start")?)?,
    };
    let Shape::Array(from) = operands.get(moved)? else {
        return None;
    };
    let is_elsewhere = space::of_array(from) != space::of_array(to);
    let is_move = match (parts.opcode, called) {
        ("async-start", None) => operands.len() == 1 && from.element == to.element && is_elsewhere,
        // In one memory space an update is no copy, but what the program asks for.
        _ => moved == WHOLE || is_elsewhere,
    };
    is_move.then_some((moved, from))
}

/// The operand that a computation of the HLO text only moves, if it does no more.
fn moved_in(dump: &Dump, computation: u32) -> Option<usize> {
    let mut moved = None;
    for (block, row) in dump.instructions_of(computation) {
        let opcode = row.opcode.text(block.text());
        if !matches!(opcode, "parameter" | "constant") {
            moved = moved.max(Some(moved_by(opcode)?));
        }
    }
    moved
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
fn shape_of<'d>(audit: &Audit<'d>, operand: &OperandParts<'d>) -> Option<&'d str> {
    let dump = audit.dump;
    if !operand.shape.is_empty() {
        return Some(operand.shape);
    }
    let shape_at = |at: u32| shape_text(dump, &dump.values[at as usize]);
    if !operand.element.is_empty() {
        return shape_at(dump.read_by(operand)?);
    }
    let (name, whole) = (dump.names.get(operand.name)?, dump.names.get("{}")?);
    let shape = dump.values_at(name, whole).next().and_then(shape_at);
    let shape = shape.unwrap_or_else(|| audit.origins.named(name).parts.shape);
    (!shape.is_empty()).then_some(shape)
}

/// The steps of a copy: of an asynchronous one up to the instruction that waits for it.
fn window(dump: &Dump, name: NameId, is_async: bool) -> Option<(u64, u64)> {
    let step = u64::from(dump.step_of(name)?);
    let flight = dump.flight(name).filter(|_| is_async);
    Some((step, flight.map_or(step, |(_, end)| end.max(step))))
}

/// Finds the copies that bring the result of an earlier one back into the layout and memory space
/// that it came from.
fn find_round_trips(dump: &Dump, copies: &mut [Copy]) {
    // Of a result of which a part is written, another part may be read.
    let is_whole = |copy: &Copy, value: u32| {
        let size = dump.values.get(value as usize).map(|value| value.size);
        copy.bytes.is_none() || copy.bytes == size
    };
    let numbered = copies.iter().enumerate();
    let by_result: FxHashMap<u32, usize> = numbered
        .filter_map(|(at, copy)| Some((copy.to.value?, at)))
        .filter(|&(value, at)| is_whole(&copies[at], value))
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
mod tests;
