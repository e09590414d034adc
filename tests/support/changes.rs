//! Numbers of a dump that can be changed, and what must come of it by the format's identities. What
//! is left out has its reason beside it.

use super::oracle::{Facts, LiveRange, Number, Spot};
use super::shapes::Array;
use super::{Random, grouped};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    HeaderIndex,
    HeaderSize,
    HeaderColor,
    Parameter,
    ParameterShape,
    ValueId,
    UsedId,
    ValueSize,
    NegativeSize,
    ValueOffset,
    ValueColor,
    UsedColor,
    ValueIndex,
    UsedIndex,
    FirstPosition,
    UseOperand,
    UseIndex,
    LiveIndex,
    PeakIndex,
    Dimension,
    Layout,
    MemorySpace,
    InstructionShape,
    Total,
    HumanTotal,
    Max,
    Step,
    LiveStart,
    LiveEnd,
    PeakStep,
    PeakBytes,
    Cumulative,
    TreeHeading,
    TreeTotal,
    TreeCurrent,
    TreeRemaining,
    ReportTotal,
    PositionIndex,
    // The numbers at the end of names.
    ValueName,
    UsedName,
    PositionName,
    UseName,
    LiveName,
    PeakName,
    InstructionName,
    StepName,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 46] = [
        Self::HeaderIndex,
        Self::HeaderSize,
        Self::HeaderColor,
        Self::Parameter,
        Self::ParameterShape,
        Self::ValueId,
        Self::UsedId,
        Self::ValueSize,
        Self::NegativeSize,
        Self::ValueOffset,
        Self::ValueColor,
        Self::UsedColor,
        Self::ValueIndex,
        Self::UsedIndex,
        Self::FirstPosition,
        Self::UseOperand,
        Self::UseIndex,
        Self::LiveIndex,
        Self::PeakIndex,
        Self::Dimension,
        Self::Layout,
        Self::MemorySpace,
        Self::InstructionShape,
        Self::Total,
        Self::HumanTotal,
        Self::Max,
        Self::Step,
        Self::LiveStart,
        Self::LiveEnd,
        Self::PeakStep,
        Self::PeakBytes,
        Self::Cumulative,
        Self::TreeHeading,
        Self::TreeTotal,
        Self::TreeCurrent,
        Self::TreeRemaining,
        Self::ReportTotal,
        Self::PositionIndex,
        Self::ValueName,
        Self::UsedName,
        Self::PositionName,
        Self::UseName,
        Self::LiveName,
        Self::PeakName,
        Self::InstructionName,
        Self::StepName,
    ];

    /// Whether it is the number at the end of a name.
    pub fn is_name(self) -> bool {
        self >= Self::ValueName
    }
}

/// What must come of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// A finding at the line.
    Caught,
    /// A finding, if overlap or the peak list tells it: counted apart.
    Apart,
    /// Another dump that a compiler could have written.
    Sound,
}

/// A number that can be changed.
#[derive(Debug, Clone, Copy)]
pub struct Site {
    pub kind: Kind,
    pub number: Number,
    /// The number of the allocation, value, used value or live range, by kind.
    pub of: usize,
}

/// All numbers of a dump that are bound by an identity.
pub fn sites(facts: &Facts) -> Vec<Site> {
    let mut sites = Vec::new();
    let mut add = |kind, number: Option<Number>, of| {
        sites.extend(number.map(|number| Site { kind, number, of }));
    };
    for (of, allocation) in facts.allocations.iter().enumerate() {
        add(Kind::HeaderIndex, Some(allocation.index), of);
        // Nothing but the total binds the size of an allocation without values, and the total cannot
        // say which of the sizes is off.
        if !allocation.values.is_empty() {
            add(Kind::HeaderSize, Some(allocation.size), of);
            add(Kind::HeaderColor, allocation.color, of);
        }
        // The ShapeIndex behind it must be its alone too, but only programs with thousands of
        // arguments print another one than `{}`.
        add(Kind::Parameter, allocation.parameter, of);
        if let Some(shape) = &allocation.parameter_shape
            && Array::read(&shape.text).is_some()
            && !allocation.values.is_empty()
        {
            for (_, number) in shape_numbers(&shape.text, shape.spot) {
                add(Kind::ParameterShape, Some(number), of);
            }
        }
    }
    for (of, value) in facts.values.iter().enumerate() {
        add(Kind::ValueSize, Some(value.size), of);
        add(Kind::NegativeSize, Some(value.size), of);
        add(Kind::ValueOffset, Some(value.offset), of);
        // Ids, colors and shapes in A are bound by C.
        if value.used.is_none() {
            continue;
        }
        add(Kind::ValueId, Some(value.reference.id), of);
        add(Kind::ValueColor, value.reference.color, of);
        add(Kind::ValueName, value.reference.name.number_within(), of);
        add(
            Kind::ValueIndex,
            value.reference.name.number_behind(&value.reference.index),
            of,
        );
        // Tuples are printed with their parts, which nothing else repeats in the same way.
        if Array::read(&value.shape.text).is_some() {
            for (kind, number) in shape_numbers(&value.shape.text, value.shape.spot) {
                add(kind, Some(number), of);
            }
        }
    }
    for (of, used) in facts.used.iter().enumerate() {
        add(Kind::UsedId, Some(used.header.id), of);
        add(Kind::UsedColor, used.header.color, of);
        add(
            Kind::UsedIndex,
            used.header.name.number_behind(&used.header.index),
            of,
        );
        for (at, (name, index)) in used.positions.iter().enumerate() {
            // A blank stands between the name and the index.
            let index = name.number_behind(index).map(|number| {
                let spot = Spot {
                    column: number.spot.column + 1,
                    ..number.spot
                };
                Number { spot, ..number }
            });
            if at == 0 {
                add(Kind::FirstPosition, index, of);
            } else {
                add(Kind::PositionIndex, index, of);
                add(Kind::PositionName, name.number_within(), of);
            }
        }
        add(Kind::UsedName, used.header.name.number_within(), of);
        add(
            Kind::InstructionName,
            used.instruction.name.number_within(),
            of,
        );
        for reading in &used.uses {
            add(Kind::UseName, reading.name.number_within(), of);
            add(Kind::UseOperand, Some(reading.operand), of);
            add(Kind::UseIndex, reading.index, of);
        }
        if Array::read(&used.instruction.shape.text).is_some() {
            for (_, number) in
                shape_numbers(&used.instruction.shape.text, used.instruction.shape.spot)
            {
                add(Kind::InstructionShape, Some(number), of);
            }
        }
    }
    if let Some((total, human)) = &facts.total {
        add(Kind::Total, Some(*total), 0);
        let digits = human.text.bytes().take_while(u8::is_ascii_digit).count();
        let value = human.text[..digits].parse().expect("digits");
        let spot = Spot {
            length: digits,
            ..human.spot
        };
        add(Kind::HumanTotal, Some(Number { value, spot }), 0);
    }
    add(Kind::Max, facts.max, 0);
    for (step, name) in &facts.sequence {
        add(Kind::Step, Some(*step), 0);
        add(Kind::StepName, name.number_within(), 0);
    }
    for (of, range) in facts.live_ranges.iter().enumerate() {
        add(Kind::LiveStart, Some(range.start), of);
        add(Kind::LiveEnd, Some(range.end), of);
        add(Kind::LiveName, range.name.number_within(), of);
        add(Kind::LiveIndex, range.name.number_behind(&range.index), of);
    }
    // Without shapes of whole instructions nobody can tell the moment of the peak.
    if !facts.used.is_empty() {
        add(Kind::PeakStep, facts.peak_step, 0);
    }
    for line in &facts.peak {
        add(Kind::PeakBytes, Some(line.bytes), 0);
        add(Kind::PeakName, line.name.number_within(), 0);
        add(Kind::Cumulative, line.cumulative, 0);
        add(
            Kind::PeakIndex,
            line.index
                .as_ref()
                .and_then(|index| line.name.number_behind(index)),
            0,
        );
    }
    add(Kind::TreeHeading, facts.tree_total, 0);
    for &[total, current, remaining] in &facts.tree {
        add(Kind::TreeTotal, Some(total), 0);
        add(Kind::TreeCurrent, Some(current), 0);
        add(Kind::TreeRemaining, Some(remaining), 0);
    }
    for &total in &facts.report_totals {
        add(Kind::ReportTotal, Some(total), 0);
    }
    sites
}

/// The numbers of an array's shape.
fn shape_numbers(text: &str, spot: Spot) -> Vec<(Kind, Number)> {
    let mut numbers = Vec::new();
    let bytes = text.as_bytes();
    let mut at = text.find('[').unwrap_or(text.len());
    let mut kind = Kind::Dimension;
    while at < bytes.len() {
        let length = bytes[at..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if length == 0 {
            if bytes[at] == b'{' {
                kind = Kind::Layout;
            }
            at += 1;
            continue;
        }
        let is_space = text[..at].ends_with("S(");
        let value = text[at..at + length].parse().expect("digits");
        let spot = Spot {
            column: spot.column + at,
            length,
            ..spot
        };
        numbers.push((
            if is_space { Kind::MemorySpace } else { kind },
            Number { value, spot },
        ));
        at += length;
    }
    numbers
}

/// What must come of putting `new` in the place of a number.
fn verdict(facts: &Facts, site: &Site, new: u64) -> Verdict {
    match site.kind {
        Kind::HeaderSize => {
            let allocation = &facts.allocations[site.of];
            let is_vmem = allocation.color.is_some_and(|color| color.value == 1);
            // A reserved VMEM allocation may be larger than its values.
            if is_vmem && allocation.has("preallocated-temp") && new >= 33_554_432 {
                Verdict::Sound
            } else {
                Verdict::Caught
            }
        }
        // XLA lets the color of a temporary allocation differ from that of its values, if it is not 0.
        Kind::HeaderColor if facts.allocations[site.of].has("preallocated-temp") && new != 0 => {
            Verdict::Sound
        }
        Kind::ValueSize => size_verdict(facts, site.of, new),
        Kind::ValueOffset => offset_verdict(facts, site.of, new),
        Kind::LiveStart => start_verdict(facts, &facts.live_ranges[site.of], new),
        Kind::LiveEnd => end_verdict(facts, site.of, new),
        _ => Verdict::Caught,
    }
}

/// Whether the largest end of an allocation is still its size, when one value has another extent.
fn fits(facts: &Facts, of: usize, size: u64, offset: u64) -> bool {
    let allocation = &facts.allocations[facts.values[of].allocation];
    let end = |&at: &usize| {
        let value = &facts.values[at];
        if at == of {
            size.saturating_add(offset)
        } else {
            value.size.value + value.offset.value
        }
    };
    allocation.values.iter().map(end).max() == Some(allocation.size.value)
}

fn size_verdict(facts: &Facts, of: usize, new: u64) -> Verdict {
    let value = &facts.values[of];
    if !fits(facts, of, new, value.offset.value) {
        return Verdict::Caught;
    }
    let Some(array) = Array::read(&value.shape.text) else {
        // The tables of tuples have the size that their platform likes.
        return Verdict::Sound;
    };
    let allocation = &facts.allocations[value.allocation];
    let is_common = allocation
        .values
        .iter()
        .any(|&other| other != of && facts.values[other].size.value == new);
    // Values that must share one buffer share its size, whatever their shapes are. And an untiled
    // array on a TPU has either its plain size or whole steps of 1,024 elements.
    if is_common || new == array.logical_bytes() {
        Verdict::Sound
    } else {
        Verdict::Caught
    }
}

fn offset_verdict(facts: &Facts, of: usize, new: u64) -> Verdict {
    let value = &facts.values[of];
    let allocation = &facts.allocations[value.allocation];
    if !allocation.has("preallocated-temp") || !fits(facts, of, value.size.value, new) {
        return Verdict::Caught;
    }
    // Inside a temporary allocation a value may lie anywhere, alignment is the producer's business;
    // only bytes of others that are at work at the same time are in the way.
    if facts.collides(of, value.size.value, new, None) {
        Verdict::Apart
    } else {
        Verdict::Sound
    }
}

/// The step of an instruction, if its start is bound to it.
fn start_verdict(facts: &Facts, range: &LiveRange, new: u64) -> Verdict {
    if new > range.end.value || facts.max.is_some_and(|max| new > max.value) {
        return Verdict::Caught;
    }
    let instruction = facts.instructions.get(&range.name.text);
    // Values of computations that run beside the schedule may start earlier or later than their step.
    if instruction.is_none_or(|(_, computation)| facts.asynchronous.contains(computation)) {
        return Verdict::Sound;
    }
    let used = facts
        .used
        .iter()
        .find(|used| used.header.name.text == range.name.text);
    let Some(used) = used else {
        return Verdict::Sound;
    };
    let step = facts
        .sequence
        .iter()
        .find(|(_, name)| name.text == range.name.text);
    let Some((step, _)) = step else {
        return Verdict::Sound;
    };
    // A parameter is alive from the start of its computation, which nothing says.
    if used.instruction.opcode == "parameter" && new <= step.value {
        Verdict::Sound
    } else {
        Verdict::Caught
    }
}

fn end_verdict(facts: &Facts, of: usize, new: u64) -> Verdict {
    let range = &facts.live_ranges[of];
    if new < range.start.value || facts.max.is_some_and(|max| new > max.value) {
        return Verdict::Caught;
    }
    let is_at_peak = |end: u64| {
        facts
            .peak_step
            .is_some_and(|peak| range.start.value <= peak.value && peak.value <= end)
    };
    if is_at_peak(range.end.value) != is_at_peak(new) {
        return Verdict::Caught;
    }
    let value = facts.values.iter().position(|value| value.live == Some(of));
    if value.is_some_and(|at| has_told_end(facts, at)) {
        return Verdict::Caught;
    }
    // Any other end is that of another program, unless it is in the way of a neighbour.
    let collides = value.is_some_and(|at| {
        let value = &facts.values[at];
        facts.collides(
            at,
            value.size.value,
            value.offset.value,
            Some((range.start.value, new)),
        )
    });
    if collides {
        Verdict::Apart
    } else {
        Verdict::Sound
    }
}

/// Whether its readers and positions tell when a value ends: not if it goes through a loop, a branch or a call.
fn has_told_end(facts: &Facts, at: usize) -> bool {
    let Some(used) = facts.values[at].used.map(|used| &facts.used[used]) else {
        return false;
    };
    let own = &used.header.name.text;
    let positions = used.positions.iter().map(|(name, _)| &name.text);
    let readers = used.uses.iter().map(|it| &it.name.text);
    let is_simple = |name: &String| {
        facts.opcodes.get(name).is_some_and(|opcode| {
            let hands_on = ["while", "call", "conditional"].contains(&opcode.as_str());
            !hands_on && !opcode.starts_with("async-")
        })
    };
    let computation = |name: &String| facts.instructions.get(name).map(|it| &it.1);
    let is_inner = |name: &String| computation(name) != Some(&facts.entry);
    let is_inner_root = |name: &String| facts.roots.contains(name) && is_inner(name);
    let is_merged = facts.line(used.header.spot).contains(" (phi)");
    !is_merged
        && computation(own).is_some_and(|own| !facts.asynchronous.contains(own))
        && facts.sequence.iter().any(|(_, name)| name.text == *own)
        && used.instruction.opcode != "parameter"
        && positions.clone().chain(readers).all(is_simple)
        && !positions.clone().any(is_inner_root)
}

/// Another number near `old`: one off, a digit changed, two digits swapped.
fn change(random: &mut Random, old: u64) -> Option<u64> {
    let mut digits = old.to_string().into_bytes();
    let at = random.below(digits.len());
    let new = match random.below(4) {
        0 => old.checked_add(1)?,
        1 => old.checked_sub(1)?,
        2 => {
            digits[at] = b'0' + random.below(10) as u8;
            String::from_utf8(digits).ok()?.parse().ok()?
        }
        _ => {
            digits.swap(at, (at + 1).min(old.to_string().len() - 1));
            String::from_utf8(digits).ok()?.parse().ok()?
        }
    };
    (new != old).then_some(new)
}

/// A number with blanks between groups of three digits.
fn blank_grouped(number: u64) -> String {
    grouped(number).replace(',', " ")
}

/// A changed number for a site, as it is printed, and what must come of it.
pub fn changed(facts: &Facts, site: &Site, random: &mut Random) -> Option<(String, Verdict)> {
    if site.kind == Kind::NegativeSize {
        return Some((format!("-{}", site.number.value), Verdict::Caught));
    }
    if site.kind == Kind::Parameter {
        // A parameter's number is bound only by being its alone.
        let this = &facts.allocations[site.of];
        let others = facts
            .allocations
            .iter()
            .filter(|other| other.parameter_index() == this.parameter_index());
        let others: Vec<u64> = others
            .filter_map(|other| other.parameter)
            .map(|number| number.value)
            .collect();
        let others: Vec<u64> = others
            .into_iter()
            .filter(|&number| number != site.number.value)
            .collect();
        return (!others.is_empty()).then(|| {
            (
                others[random.below(others.len())].to_string(),
                Verdict::Caught,
            )
        });
    }
    let is_grouped = matches!(
        site.kind,
        Kind::TreeHeading | Kind::TreeTotal | Kind::TreeCurrent | Kind::TreeRemaining
    );
    for _ in 0..10 {
        let Some(new) = change(random, site.number.value) else {
            continue;
        };
        let verdict = verdict(facts, site, new);
        if verdict != Verdict::Sound {
            return Some((
                if is_grouped {
                    blank_grouped(new)
                } else {
                    new.to_string()
                },
                verdict,
            ));
        }
    }
    None
}
