//! Which parameter could be donated to which output, in the order in which JAX and XLA pair them.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use buflens_syntax::{Dimension, ElementType};
use rustc_hash::{FxHashMap, FxHashSet};

use super::in_place::{InPlace, Obstacle, Pairing};
use super::{needed_until, output_of, value_of};
use crate::audit::Audit;
use crate::model::{Allocation, Dump, Value, bytes};

/// Of the outputs that a parameter could be donated to at most so many are told.
const MAX_OUTPUTS: usize = 16;
/// Of so many parameters of one size those are chosen that are worth the most together; of more each on its own.
const MOST_CHOSEN: usize = 16;

/// An array's type and dimensions.
pub(super) type Array<'a> = (&'a ElementType, &'a [Dimension]);

/// What a parameter and an output have in common: memory space, size in bytes, and the array, unless bytes alone make a
/// pair, see [`Donors::take_any_output`](crate::model::Donors).
type Key<'a> = (u64, u64, Option<Array<'a>>);

fn key<'a>(dump: &Dump, allocation: &Allocation, array: Option<Array<'a>>) -> Key<'a> {
    let array = array.filter(|_| !dump.donors().take_any_output);
    (allocation.color, allocation.size, array)
}

/// Parameters that are not donated, and the outputs that they could be donated to.
pub(super) struct Matching<'a> {
    outputs: Outputs<'a>,
    /// The parameters, in the order of their allocations' numbers.
    candidates: Vec<Candidate<'a>>,
    /// The output that a parameter is matched with.
    matched: FxHashMap<u32, u32>,
    /// The parameter that an output is matched with.
    parameters: FxHashMap<u32, u32>,
}

impl<'a> Matching<'a> {
    /// Of those allocations alone for which `is_asked` holds. Only those of one memory space and size are matched with each
    /// other.
    pub(super) fn of(
        audit: &'a Audit,
        is_asked: impl Fn(&Allocation) -> bool,
        in_place: &mut InPlace,
    ) -> Self {
        let allocation = |&at: &u32| (at, &audit.dump.allocations[at as usize]);
        let asked = |allocations: &'a [u32]| {
            let allocations = allocations.iter().map(allocation);
            allocations.filter(|(_, allocation)| is_asked(allocation))
        };
        let outputs = Outputs::of(audit, asked(audit.dump.outputs()));
        // A hover asks for one size, of which there may be thousands of parameters and no output.
        let candidates = if outputs.all.is_empty() {
            Vec::new()
        } else {
            candidates(audit, asked(audit.dump.parameters()))
        };
        let matched = outputs.matched(&candidates, in_place);
        let parameters = matched.iter().map(|(&at, &output)| (output, at)).collect();
        Self {
            outputs,
            candidates,
            matched,
            parameters,
        }
    }

    /// The output that JAX would pair a parameter with if it alone were donated, and the parameters that are matched with
    /// that and with others before the one of this parameter. None of these if it is that one.
    pub(super) fn before(&self, at: u32) -> (Option<u32>, Vec<u32>) {
        let candidates = &self.candidates;
        let candidate = candidates.binary_search_by_key(&at, |it| it.allocation);
        let (Some(output), Ok(place)) = (self.matched.get(&at), candidate) else {
            return (None, Vec::new());
        };
        let in_order = self.outputs.of_size(&candidates[place].key, None);
        let before = in_order.into_iter().take_while(|it| it != output);
        let parameters = before
            .clone()
            .filter_map(|it| self.parameters.get(&it).copied());
        (before.clone().next(), parameters.collect())
    }

    /// The memory spaces of those that are matched with outputs.
    pub(super) fn colors(&self, dump: &Dump) -> BTreeSet<u64> {
        let matched = self.matched.keys();
        matched
            .map(|&at| dump.allocations[at as usize].color)
            .collect()
    }

    /// The output that a parameter is matched with, and all that have its size.
    pub(super) fn of_parameter(&self, at: u32) -> (Option<u32>, Vec<u32>) {
        let output = self.matched.get(&at).copied();
        let candidates = &self.candidates;
        let outputs = match candidates.binary_search_by_key(&at, |it| it.allocation) {
            Ok(place) => self.outputs.of_size(&candidates[place].key, output),
            Err(_) => Vec::new(),
        };
        (output, outputs)
    }
}

/// A parameter that is not donated.
struct Candidate<'a> {
    allocation: u32,
    /// The parameter's number.
    number: Option<u64>,
    /// What an output must have for it.
    key: Key<'a>,
    /// It, as a number into [`crate::model::Dump::values`].
    value: Option<u32>,
}

/// Of `allocations` of parameters.
fn candidates<'a>(
    audit: &'a Audit,
    allocations: impl Iterator<Item = (u32, &'a Allocation)>,
) -> Vec<Candidate<'a>> {
    let dump = audit.dump;
    let is_free = |allocation: &Allocation| {
        !allocation.is_donated() && !dump.is_donated_in_vain(allocation) && allocation.size > 0
    };
    allocations
        .filter(|(_, allocation)| is_free(allocation))
        .map(|(at, allocation)| {
            let at_value = value_of(dump, allocation);
            let value = at_value.map(|value| &dump.values[value as usize]);
            let array = value.and_then(|value| array(audit, value));
            Candidate {
                allocation: at,
                number: dump.parameter_number(allocation),
                key: key(dump, allocation, array),
                value: at_value,
            }
        })
        .collect()
}

/// The type and dimensions of a value; `None` for a tuple's table.
pub(super) fn array<'a>(audit: &'a Audit, value: &Value) -> Option<Array<'a>> {
    let array = audit.shapes.array_of(value)?;
    Some((&array.element, &array.dimensions))
}

/// What a parameter and an output of another shape must have in common: memory space, size in bytes, and the number of
/// elements, without which JAX does not pair them.
type SizeKey = (u64, u64, Option<u64>);

fn size_key(&(color, size, array): &Key) -> SizeKey {
    let elements = array.and_then(|(_, dimensions)| bytes::elements(dimensions));
    (color, size, elements)
}

/// A part of the result.
#[derive(Clone, Copy)]
struct Output<'a> {
    /// Its allocation.
    at: u32,
    array: Option<Array<'a>>,
}

/// The outputs that no parameter is donated to, by memory space and size.
#[derive(Default)]
struct Outputs<'a> {
    all: FxHashMap<SizeKey, Vec<Output<'a>>>,
    by_shape: FxHashMap<Key<'a>, Vec<Output<'a>>>,
}

impl<'a> Outputs<'a> {
    fn of(audit: &'a Audit, allocations: impl Iterator<Item = (u32, &'a Allocation)>) -> Self {
        let dump = audit.dump;
        let mut outputs = Self::default();
        for (at, allocation) in allocations {
            let Some(array) = output_of(audit, allocation) else {
                continue;
            };
            let key = key(dump, allocation, Some(array));
            let output = Output { at, array: key.2 };
            outputs.by_shape.entry(key).or_default().push(output);
            let size_key = size_key(&key);
            outputs.all.entry(size_key).or_default().push(output);
        }
        outputs
    }

    /// Gives each output to one parameter at most: first to those of its shape, then to those that
    /// have its size and number of elements.
    fn matched(&self, candidates: &[Candidate], in_place: &mut InPlace) -> FxHashMap<u32, u32> {
        let mut of_shape: FxHashMap<&Key, Vec<&Candidate>> = FxHashMap::default();
        for candidate in candidates {
            of_shape.entry(&candidate.key).or_default().push(candidate);
        }
        let mut matched = FxHashMap::default();
        for (key, candidates) in of_shape {
            let outputs = self.by_shape.get(key).into_iter().flatten();
            let outputs: Vec<_> = outputs.map(|it| it.at).collect();
            matched.extend(pairs(candidates, &outputs, in_place));
        }
        let taken: FxHashSet<u32> = matched.values().copied().collect();
        // Not one that had better not be donated to a free one of its shape.
        let has_output = |it: &Candidate| {
            let mut outputs = self.by_shape.get(&it.key).into_iter().flatten();
            outputs.any(|output| !taken.contains(&output.at))
        };
        let mut of_size: FxHashMap<SizeKey, Vec<&Candidate>> = FxHashMap::default();
        for candidate in candidates {
            if !matched.contains_key(&candidate.allocation) && !has_output(candidate) {
                let of_size = of_size.entry(size_key(&candidate.key));
                of_size.or_default().push(candidate);
            }
        }
        for (key, candidates) in of_size {
            let outputs = self.all.get(&key).into_iter().flatten();
            let free = outputs.map(|it| it.at).filter(|at| !taken.contains(at));
            matched.extend(pairs(candidates, &free.collect::<Vec<_>>(), in_place));
        }
        matched
    }

    /// The outputs that a parameter could be donated to, `first` before all others.
    fn of_size(&self, key: &Key, first: Option<u32>) -> Vec<u32> {
        let of_shape = self.by_shape.get(key).into_iter().flatten();
        let of_size = self.all.get(&size_key(key)).into_iter().flatten();
        let others = of_size.filter(|it| it.array != key.2);
        let others = of_shape.chain(others).map(|it| it.at);
        let others = others.filter(|at| Some(*at) != first);
        first.into_iter().chain(others).take(MAX_OUTPUTS).collect()
    }
}

/// Candidates, each with an output: those that had best be donated together, in the order of both, as JAX pairs them.
fn pairs(
    mut candidates: Vec<&Candidate>,
    outputs: &[u32],
    in_place: &mut InPlace,
) -> Vec<(u32, u32)> {
    // Thousands may have no output of their size.
    if outputs.is_empty() {
        return Vec::new();
    }
    candidates.sort_by_key(|it| (it.number, it.allocation));
    if candidates.len() <= MOST_CHOSEN {
        candidates = best(&candidates, outputs, in_place);
    } else if candidates.len() > outputs.len() {
        // Which output each one gets is known when all are chosen.
        candidates.sort_by_cached_key(|it| {
            let value = it.value.map(|value| &in_place.dump.values[value as usize]);
            let is_copied = value.is_some_and(|value| in_place.is_copied_to(value, outputs));
            let first = outputs.iter().take(MOST_CHOSEN);
            let most = first.map(|&output| worth(it, output, in_place)).max();
            (Reverse((is_copied, most)), it.allocation)
        });
        candidates.truncate(outputs.len());
        candidates.sort_by_key(|it| (it.number, it.allocation));
    }
    let allocations = candidates.into_iter().map(|it| it.allocation);
    allocations.zip(outputs.iter().copied()).collect()
}

/// What a pair without a copy is worth.
const FREE: i64 = 4;

/// What pairing a candidate with an output is worth, and the earlier it is needed no longer the more.
fn worth(candidate: &Candidate, output: u32, in_place: &mut InPlace) -> (i64, Reverse<u64>) {
    let dump = in_place.dump;
    let value = candidate.value.map(|value| &dump.values[value as usize]);
    let until = value.and_then(|value| needed_until(dump, value));
    let pairing = value.map_or_else(Pairing::default, |value| in_place.pairing(value, output));
    let worth = match pairing.obstacle {
        // Even more, as a copy goes that is there now.
        None if pairing.spared.is_some() => FREE + 2,
        None => FREE,
        // The copy may have a place that is free.
        Some(Obstacle::Unordered { .. }) => 1,
        Some(Obstacle::Apart(_) | Obstacle::After { .. }) => 0,
        Some(Obstacle::Apiece(_)) => -FREE,
    };
    (worth, Reverse(until.unwrap_or(u64::MAX)))
}

/// Those of `candidates`, which come in the order in which JAX pairs them, that together with as many first `outputs` are worth
/// the most; of several such choices the one of the most.
fn best<'c, 'a>(
    candidates: &[&'c Candidate<'a>],
    outputs: &[u32],
    in_place: &mut InPlace,
) -> Vec<&'c Candidate<'a>> {
    /// What is chosen, by number, with what that is worth.
    type Choice = ((i64, usize, Reverse<u64>), Vec<usize>);
    let most = candidates.len().min(outputs.len());
    let mut in_order = candidates.iter().zip(outputs);
    let is_free = |(it, output): (&&Candidate, &u32)| worth(it, *output, in_place).0 >= FREE;
    if most == candidates.len() && in_order.all(is_free) {
        return candidates.to_vec();
    }
    // Of those candidates that have been looked at, the best choice of each number of them.
    let mut choices: Vec<Option<Choice>> = vec![None; most + 1];
    choices[0] = Some(((0, 0, Reverse(0)), Vec::new()));
    for (at, candidate) in candidates.iter().enumerate() {
        for count in (0..most).rev() {
            let Some(((sum, _, Reverse(late)), chosen)) = &choices[count] else {
                continue;
            };
            let (worth, Reverse(until)) = worth(candidate, outputs[count], in_place);
            let late = Reverse(late.saturating_add(until));
            let with = (sum + worth, count + 1, late);
            if choices[count + 1]
                .as_ref()
                .is_none_or(|(other, _)| *other < with)
            {
                let mut chosen = chosen.clone();
                chosen.push(at);
                choices[count + 1] = Some((with, chosen));
            }
        }
    }
    let best = choices.into_iter().flatten().max();
    let chosen = best.map_or_else(Vec::new, |(_, chosen)| chosen);
    chosen.into_iter().map(|at| candidates[at]).collect()
}
