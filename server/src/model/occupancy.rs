//! How many bytes of each memory space are occupied at each step, and where that is most.
//!
//! Occupied at a step are, of each allocation, the bytes that lie in some value alive then, both
//! ends of its live range included: the length of the union of the values' byte ranges. Summing
//! the values instead counts bytes twice wherever one value takes over from another at that step.
//! Values without live range (thread-local ones, and their constants) are left out.

mod curve;
mod sweep;
#[cfg(test)]
mod tests;

use rustc_hash::FxHashSet;

pub use self::curve::{Change, Curve, Moment};

use self::curve::Changes;
use self::sweep::Block;
use super::cancel::checkpoint;
use super::{Allocation, Dump, Platforms, Value, space};

/// What an allocation is for, by its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The buffer of an entry parameter, donated or not.
    Parameter,
    /// A part of the result.
    Output,
    /// A literal of the program.
    Constant,
    /// Everything that comes and goes.
    Temp,
    /// Scratch of a computation that an instruction calls: a reducer, a comparison.
    ThreadLocal,
}

impl Kind {
    /// The kinds that take part in occupancy.
    pub const OCCUPYING: [Self; 4] = [Self::Parameter, Self::Output, Self::Constant, Self::Temp];

    /// `parameter`, `output`, `constant`, `temp`, `thread-local`
    pub fn name(self) -> &'static str {
        match self {
            Self::Parameter => "parameter",
            Self::Output => "output",
            Self::Constant => "constant",
            Self::Temp => "temp",
            Self::ThreadLocal => "thread-local",
        }
    }
}

impl Allocation {
    /// What the allocation is for. A donated parameter is a parameter.
    pub fn kind(&self) -> Kind {
        let kinds = self.kinds();
        if kinds.thread_local {
            Kind::ThreadLocal
        } else if self.is_parameter() {
            Kind::Parameter
        } else if kinds.constant {
            Kind::Constant
        } else if kinds.maybe_live_out {
            Kind::Output
        } else {
            Kind::Temp
        }
    }

    /// Whether the result takes the buffer of this parameter over.
    pub fn is_donated(&self) -> bool {
        self.is_parameter() && self.kinds().maybe_live_out
    }
}

/// How full an allocation gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fill {
    /// The first step at which the most bytes are occupied, and these.
    pub fullest: Moment,
    /// Bytes occupied at the peak of the memory space.
    pub at_peak: u64,
}

impl Fill {
    /// Takes the place of one. No step is the last number.
    const NONE: Self = Self {
        fullest: Moment {
            step: u64::MAX,
            bytes: 0,
        },
        at_peak: 0,
    };
}

/// Whether nothing of note of `size` bytes is left free: values begin at round offsets, so some bytes often are.
pub fn is_full(bytes: u64, size: u64) -> bool {
    u128::from(bytes) * 2000 >= u128::from(size) * 1999
}

/// A memory space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    /// Its number.
    pub color: u64,
    /// The sum of the sizes of its allocations in bytes, without thread-local ones.
    pub reserved: u64,
    /// The sum of the sizes of its thread-local allocations in bytes.
    pub thread_local: u64,
    /// The bytes occupied over time; `None` where [`Occupancy::reason`] says why.
    pub curve: Option<Curve>,
}

impl Space {
    /// The first step at which the most bytes are occupied.
    pub fn peak(&self) -> Option<Moment> {
        self.curve.as_ref().map(Curve::peak)
    }

    /// The same where anything is occupied at all.
    pub fn peak_if_any(&self) -> Option<Moment> {
        self.peak().filter(|peak| peak.bytes > 0)
    }
}

/// The occupancy of all memory spaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// The memory spaces that some allocation is in, by number.
    pub spaces: Vec<Space>,
    /// How full each allocation of [`Dump::allocations`] gets; [`Fill::NONE`] for thread-local ones. Empty without curves.
    fills: Vec<Fill>,
    /// The allocations in which values share bytes at more than one step, or may.
    overlapping: Vec<u32>,
    /// Why there are no curves and so no peaks.
    pub reason: Option<&'static str>,
    /// So many values that should have a live range have none, or none that makes sense, or lie in no
    /// allocation, or at no place that can be read: the true peak may be higher.
    pub missing: usize,
}

impl Occupancy {
    /// The occupancy of `dump` without the values `left_out`, numbers into [`Dump::values`].
    /// Whatever else there is stays where and when it is.
    pub fn without(dump: &Dump, left_out: &[u32]) -> Self {
        let left_out: FxHashSet<u32> = left_out.iter().copied().collect();
        let mut spaces = spaces(dump);
        let steps = match steps(dump) {
            Ok(steps) => steps,
            Err(reason) => {
                return Self {
                    spaces,
                    reason: Some(reason),
                    ..Self::default()
                };
            }
        };
        let is_counted = |at: &u32| left_out.is_empty() || !left_out.contains(at);
        let mut of_spaces = vec![Changes::default(); spaces.len()];
        let mut fills = Vec::with_capacity(dump.allocations.len());
        let mut overlapping = Vec::new();
        // Of one allocation at a time. On this thread alone: others may be waiting for the outcome.
        let mut blocks = Vec::new();
        for (number, allocation) in (0..).zip(&dump.allocations) {
            checkpoint();
            let place = spaces.binary_search_by_key(&allocation.color, |space| space.color);
            let place = place
                .ok()
                .filter(|_| allocation.kind() != Kind::ThreadLocal);
            fills.push(place.map_or(Fill::NONE, |place| {
                let values = allocation.values.clone().filter(is_counted);
                blocks.reserve_exact(allocation.values.len());
                let mut fullest = Moment { step: 0, bytes: 0 };
                let are_apart = occupied(dump, values, steps, &mut blocks, |before, moment| {
                    of_spaces[place].add(before, moment);
                    if moment.bytes > fullest.bytes {
                        fullest = moment;
                    }
                });
                if !are_apart {
                    overlapping.push(number);
                }
                Fill {
                    fullest,
                    at_peak: 0,
                }
            }));
        }
        drop(blocks);
        for (space, changes) in spaces.iter_mut().zip(of_spaces) {
            let curve = Curve::new(changes, steps);
            let mut at_peak = alive(dump, space.color, curve.peak().step);
            at_peak.retain(is_counted);
            for (at, bytes) in exclusive(dump, &at_peak) {
                let allocation = dump.values[at as usize].allocation();
                if let Some(fill) = allocation.and_then(|at| fills.get_mut(at as usize)) {
                    fill.at_peak += bytes;
                }
            }
            space.curve = Some(curve);
        }
        Self {
            spaces,
            fills,
            overlapping,
            reason: None,
            missing: missing(dump),
        }
    }

    /// The space of this number.
    pub fn space(&self, color: u64) -> Option<&Space> {
        let place = self
            .spaces
            .binary_search_by_key(&color, |space| space.color);
        Some(&self.spaces[place.ok()?])
    }

    /// The memory spaces that lie in the memory of `color`, itself among them, and the bytes that they reserve together.
    pub fn in_memory_of(&self, color: u64, platforms: Platforms) -> (Vec<&Space>, u64) {
        let spaces = self.spaces.iter();
        let together = spaces.filter(|it| space::lies_in(it.color, color, platforms));
        let together: Vec<&Space> = together.collect();
        let reserved = together.iter().map(|it| it.reserved);
        let reserved = reserved.fold(0, u64::saturating_add);
        (together, reserved)
    }

    /// The peak of a memory space.
    pub fn peak(&self, color: u64) -> Option<Moment> {
        self.space(color)?.peak()
    }

    /// The same where anything is occupied at all.
    pub fn peak_if_any(&self, color: u64) -> Option<Moment> {
        self.space(color)?.peak_if_any()
    }

    /// How full an allocation gets.
    pub fn fill(&self, allocation: u32) -> Option<Fill> {
        let fill = self.fills.get(allocation as usize);
        fill.copied().filter(|fill| *fill != Fill::NONE)
    }

    /// Whether it is known that no two values of an allocation share bytes, but that one may begin at the last step of another,
    /// whose place it takes.
    pub fn lie_apart(&self, allocation: u32) -> bool {
        self.fill(allocation).is_some() && self.overlapping.binary_search(&allocation).is_err()
    }

    /// The peak of its memory space if the value `at` alone went away, everything else staying
    /// where and when it is. `None` for a value that does not take part.
    pub fn if_gone(&self, dump: &Dump, at: u32) -> Option<Moment> {
        self.if_all_gone(dump, &[at])
    }

    /// The peak of their memory space if `values` went away: one, or all of a [`buffer`].
    pub fn if_all_gone(&self, dump: &Dump, values: &[u32]) -> Option<Moment> {
        let allocation = dump.allocation_of(dump.values.get(*values.first()? as usize)?)?;
        let curve = self.space(allocation.color)?.curve.as_ref()?;
        if allocation.kind() == Kind::ThreadLocal {
            return None;
        }
        let block = |at: u32| block(dump, dump.values.get(at as usize)?, curve.steps());
        // All have the same bytes, and one takes them over from the other.
        let mut own = block(values[0])?;
        for part in values[1..].iter().filter_map(|&at| block(at)) {
            (own.start, own.end) = (own.start.min(part.start), own.end.max(part.end));
        }
        // Bytes that others hold as well are not freed.
        let gone: FxHashSet<u32> = values.iter().copied().collect();
        let others = dump.values_in(allocation, own.low..own.high, usize::MAX);
        let others = others.into_iter().filter(|other| !gone.contains(other));
        let mut shared: Vec<Block> = others
            .filter_map(|other| block(other)?.within(&own))
            .collect();
        let mut held = 0_i128;
        let mut start = own.start;
        let mut best = [
            curve.most_in(0, own.start),
            curve.most_in(own.end, curve.steps()),
        ]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>();
        let mut piece = |start: u64, end: u64, held: i128| {
            if let Some(most) = curve.most_in(start, end) {
                let freed = i128::from(own.high - own.low) - held;
                let bytes = u64::try_from(i128::from(most.bytes) - freed).unwrap_or(0);
                best.push(Moment { bytes, ..most });
            }
        };
        sweep::lengths(&mut shared, |change| {
            piece(start, change.step, held);
            (start, held) = (change.step, change.bytes.into());
        });
        piece(start, own.end, held);
        best.into_iter()
            .max_by_key(|moment| (moment.bytes, std::cmp::Reverse(moment.step)))
    }
}

impl Dump {
    /// Whether a value is alive at the true peak of its memory space, be it one without bytes. `None` where that peak or when
    /// the value is alive is not known, and for a thread-local one, which takes no part.
    pub fn is_at_peak(&self, value: &Value) -> Option<bool> {
        let allocation = self.allocation_of(value)?;
        let peak = self.occupancy().peak(allocation.color)?;
        let takes_part = allocation.kind() != Kind::ThreadLocal && value.has_live_range();
        takes_part.then(|| self.is_alive(value, peak.step))
    }
}

/// Value `at` and all values that hold the very same bytes before and after it without a gap, as
/// where a loop or an instruction that works in place hands a buffer on: `at` first, then the others in
/// the order of time. They are one buffer with several names.
pub fn buffer(dump: &Dump, at: u32) -> Vec<u32> {
    let mut found = vec![at];
    let own = |at: u32| block(dump, dump.values.get(at as usize)?, u64::MAX);
    let value = dump.values.get(at as usize);
    let allocation = value.and_then(|value| dump.allocation_of(value));
    let (Some(allocation), Some(block)) = (allocation, own(at)) else {
        return found;
    };
    let all = dump.values_in(allocation, block.low..block.high, usize::MAX);
    let mut all: Vec<(u32, Block)> = all
        .into_iter()
        .filter_map(|other| Some((other, own(other)?)))
        .filter(|(_, other)| (other.low, other.high) == (block.low, block.high))
        .collect();
    all.sort_unstable_by_key(|(at, other)| (other.start, other.end, *at));
    // Runs of values of which each begins before the last one has ended: touching ranges share a step.
    let mut end = 0;
    let runs = all.chunk_by(|(_, last), (_, next)| {
        end = last.end.max(if end > last.start { end } else { 0 });
        next.start < end
    });
    let mut runs = runs.filter(|run| run.iter().any(|(other, _)| *other == at));
    let others = runs.next().unwrap_or_default().iter();
    found.extend(others.map(|(other, _)| *other).filter(|&other| other != at));
    found
}

/// The values of a memory space that are alive at `step` and take part in occupancy, as numbers
/// into [`Dump::values`].
pub fn alive(dump: &Dump, color: u64, step: u64) -> Vec<u32> {
    let is_alive = |value: &Value| {
        block(dump, value, u64::MAX).is_some_and(|block| (block.start..block.end).contains(&step))
    };
    dump.allocations_in(color)
        .filter(|(_, allocation)| allocation.kind() != Kind::ThreadLocal)
        .flat_map(|(_, allocation)| allocation.values.clone())
        .filter(|&at| dump.values.get(at as usize).is_some_and(is_alive))
        .collect()
}

/// The bytes that `values` occupy together, by the kind of their allocations, in the order of
/// [`Kind::OCCUPYING`].
pub fn by_kind(dump: &Dump, values: &[u32]) -> [u64; 4] {
    let mut bytes = [0_u64; 4];
    for (at, own) in exclusive(dump, values) {
        let allocation = dump.values[at as usize].allocation();
        let allocation = allocation.and_then(|at| dump.allocations.get(at as usize));
        let kind = allocation.map(Allocation::kind);
        if let Some(place) = Kind::OCCUPYING
            .iter()
            .position(|&other| Some(other) == kind)
        {
            bytes[place] = bytes[place].saturating_add(own);
        }
    }
    bytes
}

/// The bytes that `values` occupy over time, of so many steps, if there were no others, as in [`Curve::changes`]. Those of an
/// allocation come together.
pub fn changes_of(dump: &Dump, values: &[u32], steps: u64) -> Vec<Moment> {
    let allocation = |&at: &u32| dump.values.get(at as usize).and_then(Value::allocation);
    let (mut changes, mut blocks) = (Changes::default(), Vec::new());
    for together in values.chunk_by(|one, other| allocation(one) == allocation(other)) {
        checkpoint();
        let together = together.iter().copied();
        occupied(dump, together, steps, &mut blocks, |before, moment| {
            changes.add(before, moment);
        });
    }
    changes.add_up(steps)
}

/// Tells from which step on `values`, of one allocation, occupy how many other bytes than before, and whether they are known to
/// [lie apart](Occupancy::lie_apart). In `blocks` is nothing, and nothing is left.
fn occupied(
    dump: &Dump,
    values: impl Iterator<Item = u32>,
    steps: u64,
    blocks: &mut Vec<Block>,
    mut tell: impl FnMut(u64, Moment),
) -> bool {
    let values = values.filter_map(|at| dump.values.get(at as usize));
    // What begins behind the schedule occupies nothing in it.
    let mut are_in_it = true;
    blocks.extend(values.filter_map(|value| {
        are_in_it &= dump.live(value).0 < steps;
        block(dump, value, steps)
    }));
    let mut before = 0;
    let are_apart = sweep::lengths(blocks, |moment| {
        tell(before, moment);
        before = moment.bytes;
    });
    blocks.clear();
    are_in_it && are_apart
}

/// The sizes of a memory space's allocations, by kind, in the order of [`Kind::OCCUPYING`].
pub fn reserved_by_kind(dump: &Dump, color: u64) -> [u64; 4] {
    let of_kind = |kind: Kind| {
        let allocations = dump.allocations_in(color);
        let of_kind = allocations.filter(|(_, it)| it.kind() == kind);
        of_kind.fold(0_u64, |sum, (_, it)| sum.saturating_add(it.size))
    };
    Kind::OCCUPYING.map(of_kind)
}

/// Shares the bytes that `values` occupy together out among them: bytes in which several lie
/// count for the first of them, by offset and then with the largest first. The shares add up to
/// the length of the union.
pub fn exclusive(dump: &Dump, values: &[u32]) -> Vec<(u32, u64)> {
    let value = |&at: &u32| dump.values.get(at as usize);
    let mut sorted: Vec<u32> = values
        .iter()
        .copied()
        .filter(|at| value(at).is_some())
        .collect();
    sorted.sort_unstable_by_key(|&at| {
        let value = &dump.values[at as usize];
        (
            value.allocation(),
            value.offset,
            std::cmp::Reverse(value.size),
            at,
        )
    });
    let mut covered = (None, 0_u64);
    let mut shares = Vec::with_capacity(sorted.len());
    for at in sorted {
        let value = &dump.values[at as usize];
        if covered.0 != value.allocation() {
            covered = (value.allocation(), 0);
        }
        let end = value.end();
        shares.push((at, end.saturating_sub(covered.1.max(value.offset))));
        covered.1 = covered.1.max(end);
    }
    shares
}

/// Every memory space with its totals.
fn spaces(dump: &Dump) -> Vec<Space> {
    let mut spaces: Vec<Space> = Vec::new();
    for (_, allocation) in dump.allocations_by_color() {
        if spaces
            .last()
            .is_none_or(|space| space.color != allocation.color)
        {
            spaces.push(Space {
                color: allocation.color,
                reserved: 0,
                thread_local: 0,
                curve: None,
            });
        }
        let Some(space) = spaces.last_mut() else {
            continue;
        };
        let total = match allocation.kind() {
            Kind::ThreadLocal => &mut space.thread_local,
            _ => &mut space.reserved,
        };
        *total = total.saturating_add(allocation.size);
    }
    spaces
}

/// How many steps there are, or why there is no occupancy.
fn steps(dump: &Dump) -> Result<u64, &'static str> {
    if dump.allocations.is_empty() {
        return Err("the allocations are not there, so no bytes are known");
    }
    if !dump.has_live_ranges() {
        return Err(
            "the live ranges are not there, so it is not known which values exist at the same time",
        );
    }
    match &dump.max {
        Some((max, _)) if max.value > 0 => Ok(max.value),
        _ => Err("the schedule has no steps"),
    }
}

/// The first and the last step at which a value occupies bytes, of so many steps; `None` for one that
/// does not take part.
pub fn steps_of(dump: &Dump, value: &Value, steps: u64) -> Option<(u64, u64)> {
    let block = block(dump, value, steps)?;
    Some((block.start, block.end - 1))
}

/// The bytes and steps of a value that takes part.
fn block(dump: &Dump, value: &Value, steps: u64) -> Option<Block> {
    let (start, last) = dump.live(value);
    let end = last.saturating_add(1).min(steps);
    let high = value.end();
    let is_some = value.has_live_range() && start <= last && start < end && value.offset < high;
    is_some.then_some(Block {
        start,
        end,
        low: value.offset,
        high,
    })
}

/// How many values of allocations that live in the schedule have no live range, or one that ends before
/// it begins, or a place that cannot be read; and how many used values lie in no allocation, as where the assignment is cut.
fn missing(dump: &Dump) -> usize {
    let is_missing = |value: &Value| {
        let number = value.allocation().map(|at| at as usize);
        let Some(allocation) = number.and_then(|at| dump.allocations.get(at)) else {
            return value.is_used();
        };
        let has_no_range = !value.has_live_range() || dump.live(value).0 > dump.live(value).1;
        (has_no_range && value.size > 0 || !dump.is_placed(value))
            && !matches!(allocation.kind(), Kind::ThreadLocal | Kind::Constant)
    };
    dump.values.iter().filter(|value| is_missing(value)).count()
}
