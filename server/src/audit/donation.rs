//! Which parameters give their buffers to the result, and which could or should.

mod in_place;
mod matching;
mod saving;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use in_place::InPlace;
pub use in_place::{Obstacle, Pairing};
use matching::{Array, Matching, array};
pub use saving::Saving;
use saving::Savings;

use super::Audit;
use crate::model::cancel::join;
use crate::model::{Allocation, Dump, NameId, Value};

/// What becomes of a parameter's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It is the buffer of a part of the result as well.
    Donated,
    /// The caller donates it, but no output is written over it.
    NotUsable,
    /// It is not donated, and could be to an output that has its size: each output is matched with
    /// one parameter at most, of several with the one that is needed for the shortest time.
    CouldMatch,
    /// It is not donated, alive at the peak of its memory space, and read for the last time before.
    Dead,
    /// None of these.
    Kept,
    /// Not donated; a section that would tell more is missing.
    Unknown,
}

impl Verdict {
    /// `donated`, `not-usable`, `could-match`, `dead`, `kept`, `unknown`
    pub fn name(self) -> &'static str {
        match self {
            Self::Donated => "donated",
            Self::NotUsable => "not-usable",
            Self::CouldMatch => "could-match",
            Self::Dead => "dead",
            Self::Kept => "kept",
            Self::Unknown => "unknown",
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
    /// Whether it is alive at the peak of its memory space; `None` where that is not known.
    pub at_peak: Option<bool>,
    /// The outputs that it could be donated to, as numbers into
    /// [`crate::model::Dump::allocations`]: at most 16, the one that it is matched with first, then
    /// those of its shape, then those that have its size and number of elements. Where the verdict is another than
    /// [`Verdict::CouldMatch`], other parameters are matched with all of them.
    pub outputs: Vec<u32>,
    /// The output that it is matched with, if the verdict is that. Of thousands of parameters few may be.
    pub matched: Option<Box<Match>>,
    /// What is copied over it, if it is donated and a part of the result is made elsewhere first.
    pub copied_over: Option<CopiedOver>,
}

/// A part of the result that lies elsewhere in the same memory space before it is copied over a donated parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopiedOver {
    /// The copy.
    pub copy: NameId,
    /// What it copies, as a number into [`crate::model::Dump::values`].
    pub source: u32,
}

/// The output that a parameter is matched with: it is no other parameter's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// Its allocation, as a number into [`crate::model::Dump::allocations`].
    pub output: u32,
    /// What donating the parameter to it would save.
    pub saving: Saving,
    /// What donating the parameter to it comes to.
    pub pairing: Pairing,
    /// The parameters, as numbers into [`crate::model::Dump::allocations`], that have to be donated as well for that: JAX
    /// pairs the parameter with the output of the first of them otherwise, where something is in the way.
    pub only_with: Vec<u32>,
}

/// The parameters of a dump, the largest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Donation {
    /// All parameters.
    pub parameters: Vec<Parameter>,
    /// What donating all that are matched with outputs would save, by memory space.
    pub savings: BTreeMap<u64, Saving>,
}

/// What becomes of each parameter.
pub fn donation(audit: &Audit) -> Donation {
    let dump = audit.dump;
    let matching = Matching::of(audit, |_| true, &mut InPlace::new(dump));
    let savings = Savings::new(dump, matching.colors(dump));
    let of_half = |allocations: &[u32]| {
        let mut in_place = InPlace::new(dump);
        let mut parameters = parameters(&matching, allocations, &mut in_place);
        let donated = savings.donated(&mut parameters, &mut in_place);
        (parameters, donated)
    };
    // Neighbours have much in common, such as the instruction that makes their outputs.
    let all = dump.parameters();
    let (one, other) = all.split_at(all.len() / 2);
    let ((mut parameters, mut donated), of_other) = join(|| of_half(one), || of_half(other));
    // Of thousands of parameters it takes as much as they do: not while they are moved into one list.
    drop(matching);
    parameters.extend(of_other.0);
    // No two are of one allocation.
    parameters.sort_unstable_by_key(|parameter| {
        let size = dump.allocations[parameter.allocation as usize].size;
        (Reverse(size), parameter.number, parameter.allocation)
    });
    donated.extend(of_other.1);
    donated.sort_by_key(|it| it.color);
    let of_spaces = donated.chunk_by(|one, next| one.color == next.color);
    let of_spaces = of_spaces.filter_map(|all| Some((all.first()?.color, savings.of_all(all))));
    Donation {
        parameters,
        savings: of_spaces.collect(),
    }
}

/// The parameters in `allocations`, without what donating them would save.
fn parameters(matching: &Matching, allocations: &[u32], in_place: &mut InPlace) -> Vec<Parameter> {
    let dump = in_place.dump;
    let mut parameters = Vec::with_capacity(allocations.len());
    for &at in allocations {
        let allocation = &dump.allocations[at as usize];
        let Some(number) = dump.parameter_number(allocation) else {
            continue;
        };
        let value = value_of(dump, allocation);
        let own = value.map(|at| &dump.values[at as usize]);
        let last_read = own.and_then(|own| dump.last_read(own));
        let peak = dump.occupancy().peak(allocation.color);
        let at_peak = own.and_then(|own| dump.is_at_peak(own));
        let (output, outputs) = matching.of_parameter(at);
        // Where nobody is known to read it, that may be for want of the section that tells.
        let is_unread = own.is_some_and(|own| own.is_used() && dump.uses_of(own).is_empty());
        // A loop stands behind its body in the schedule, but has the bytes from before it on.
        let end = own.map_or(0, |own| dump.live(own).1);
        let is_read_before =
            |step: u64| last_read.map_or(is_unread, |(last, _)| last.min(end) < step);
        let is_known = own.is_some_and(Value::has_live_range)
            && (at_peak != Some(true) || last_read.is_some() || is_unread);
        let verdict = if allocation.is_donated() {
            Verdict::Donated
        } else if dump.is_donated_in_vain(allocation) {
            Verdict::NotUsable
        } else if output.is_some() {
            Verdict::CouldMatch
        } else if peak.is_none() || !is_known {
            Verdict::Unknown
        } else if at_peak == Some(true)
            && allocation.size > 0
            && peak.is_some_and(|peak| is_read_before(peak.step))
        {
            Verdict::Dead
        } else {
            Verdict::Kept
        };
        let matched = output.map(|output| {
            let pairing = own.map_or_else(Pairing::default, |own| in_place.pairing(own, output));
            let (instead, before) = matching.before(at);
            let alone = own.zip(instead).filter(|_| pairing.obstacle.is_none());
            let is_obstructed = alone
                .is_some_and(|(own, instead)| in_place.pairing(own, instead).obstacle.is_some());
            Box::new(Match {
                output,
                saving: Saving::default(),
                pairing,
                only_with: if is_obstructed { before } else { Vec::new() },
            })
        });
        parameters.push(Parameter {
            allocation: at,
            number,
            value,
            verdict,
            last_read,
            at_peak,
            outputs,
            matched,
            copied_over: copied_over(dump, allocation),
        });
    }
    parameters
}

/// The output that the parameter in allocation `at` is matched with, as [`donation`] has it, what donating it to that comes
/// to, and all outputs that have its size, as in [`Parameter::outputs`]. Looks at what has its memory space and size alone.
pub fn outputs_for(audit: &Audit, at: u32) -> (Option<(u32, Pairing)>, Vec<u32>) {
    let dump = audit.dump;
    let parameter = &dump.allocations[at as usize];
    let is_alike = |it: &Allocation| (it.color, it.size) == (parameter.color, parameter.size);
    let mut in_place = InPlace::new(dump);
    let (output, outputs) = Matching::of(audit, is_alike, &mut in_place).of_parameter(at);
    let pairing = value_of(dump, parameter).zip(output);
    let pairing = pairing.map(|(at, output)| in_place.pairing(&dump.values[at as usize], output));
    let matched = output.map(|output| (output, pairing.unwrap_or_default()));
    (matched, outputs)
}

/// What is copied over the parameter in `allocation`.
fn copied_over(dump: &Dump, allocation: &Allocation) -> Option<CopiedOver> {
    if !allocation.is_donated() {
        return None;
    }
    let of_result =
        all_filling(dump, allocation).filter(|&at| dump.values[at as usize].has_live_range());
    let last = of_result.max_by_key(|&at| dump.live(&dump.values[at as usize]))?;
    let copy = dump.values[last as usize].name;
    if dump.opcode(copy) != Some("copy") {
        return None;
    }
    let mut sources = dump.uses_by(copy).map(|at| dump.uses[at as usize].value);
    let source = sources.find(|&at| {
        let source = dump.allocation_of(&dump.values[at as usize]);
        // From another memory space it has to be copied in any case.
        source.is_some_and(|it| it.index != allocation.index && it.color == allocation.color)
    })?;
    Some(CopiedOver { copy, source })
}

/// The step at which a parameter is needed for the last time, 0 if never. `None` where that is not known.
fn needed_until(dump: &Dump, value: &Value) -> Option<u64> {
    // What does not stay to the end is not counted as occupied behind its own.
    let steps = dump.steps.len() as u64;
    let stays = value.has_live_range() && dump.live(value).1.saturating_add(1) >= steps;
    if !stays || !value.is_used() {
        return None;
    }
    let last = dump.last_read(value).map(|(step, _)| step);
    let never = dump.uses_of(value).is_empty().then_some(0);
    Some(last.or(never)?.min(dump.live(value).1))
}

/// Whether a part of the result that is an array fills `allocation`, one of [`Dump::outputs`], so that a parameter of its size
/// could be donated to it.
pub fn holds_output(audit: &Audit, allocation: &Allocation) -> bool {
    output_of(audit, allocation).is_some()
}

/// The array of the result that fills `allocation`, one of [`Dump::outputs`].
fn output_of<'a>(audit: &'a Audit, allocation: &Allocation) -> Option<Array<'a>> {
    let dump = audit.dump;
    let mut values = all_filling(dump, allocation);
    values.find_map(|at| array(audit, &dump.values[at as usize]))
}

/// The values that stay to the end and fill the allocation: temporaries may lie in it too, before the part of the
/// result.
fn all_filling(dump: &Dump, allocation: &Allocation) -> impl Iterator<Item = u32> {
    let last_step = dump.max.as_ref().map(|(max, _)| max.value);
    let size = allocation.size;
    allocation.values.clone().filter(move |&at| {
        dump.values.get(at as usize).is_some_and(|value| {
            let stays = !value.has_live_range() || Some(dump.live(value).1) == last_step;
            stays && value.size == size
        })
    })
}

/// The first of them.
fn filling(dump: &Dump, allocation: &Allocation) -> Option<u32> {
    all_filling(dump, allocation).next()
}

/// The value that is the parameter itself: a donated one's allocation holds others behind it.
pub fn value_of(dump: &Dump, allocation: &Allocation) -> Option<u32> {
    let number = dump.parameter_number(allocation);
    let is_parameter = |&at: &u32| dump.parameter_of(dump.values[at as usize].name) == number;
    let mut values = allocation.values.clone();
    let own = values.clone().find(is_parameter);
    own.or_else(|| values.next().filter(|_| !allocation.is_donated()))
}

#[cfg(test)]
mod tests;
