//! How much less a program takes if parameters are donated.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::OnceLock;

use rustc_hash::{FxHashMap, FxHashSet};

use super::in_place::{InPlace, Obstacle, Pairing};
use super::{Match, Parameter, needed_until};
use crate::model::occupancy::{Change, Curve, Kind, Moment, buffer, changes_of};
use crate::model::{Dump, Value};

/// So many temporaries are looked at for each half of the parameters to learn which of them come and go while a buffer is idle;
/// those behind these are taken to do so not.
const MOST_LOOKS: usize = 1 << 13;
/// In so many outputs is looked for room for a copy.
const MOST_ROOMS: usize = 64;

/// By how much less a program could do at most if parameters were donated to the outputs that they are
/// matched with, and all else stayed when it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Saving {
    /// Reserved bytes. The two have one buffer then, so what lies in the output before it is written lies elsewhere, unless it
    /// comes and goes between the two; and so does a copy of one of them.
    pub reserved: u64,
    /// Bytes occupied at the peaks. A parameter is needed until its last reader, which may write over
    /// it. `None` where no peak is known, or not how long a parameter is read.
    pub peak: Option<u64>,
}

/// What donating a parameter changes.
pub(super) struct Donated {
    /// The memory space.
    pub(super) color: u64,
    /// The allocation of the output.
    output: u32,
    /// The bytes of its buffer, which are those of the output.
    bytes: u64,
    /// The step from which on it takes none beside the output. `None` where that is not known.
    free_from: Option<u64>,
    /// What temporaries take more, or less.
    temporaries: Vec<Change>,
    /// The copy that is made of it when the program begins.
    copy: Option<Copied>,
    /// By how much temporaries outgrow what is reserved for them if it alone is donated.
    grown: u64,
}

/// A copy of a parameter.
struct Copied {
    /// The last step at which it is read.
    until: u64,
    /// The allocation of what is written over it then.
    next: Option<u32>,
    /// Whether that is a temporary, which takes its bytes over.
    becomes_temporary: bool,
}

impl Donated {
    fn changes(&self, with_copy: bool) -> impl Iterator<Item = Change> + '_ {
        let copy = self.copy.iter().filter(move |_| with_copy);
        let copy = copy.flat_map(|it| {
            let end = it.until + u64::from(!it.becomes_temporary);
            lying(0..end, self.bytes)
        });
        self.temporaries.iter().copied().chain(copy)
    }
}

/// What so many bytes at some steps change.
fn lying(steps: Range<u64>, bytes: u64) -> [Change; 2] {
    [
        Change::new(steps.start, 0, bytes),
        Change::new(steps.end, bytes, 0),
    ]
}

/// The temporaries of a memory space.
struct Temporaries {
    /// The sizes of their allocations.
    reserved: u64,
    /// What they occupy.
    curve: Curve,
    /// They, by the step at which they begin. Found when they are looked at first.
    values: OnceLock<Vec<u32>>,
}

/// One of [`Dump::outputs`].
struct Room {
    color: u64,
    bytes: u64,
    /// The first step at which anything lies there.
    begin: u64,
}

impl Room {
    fn of(dump: &Dump, at: u32) -> Self {
        let allocation = &dump.allocations[at as usize];
        let held = dump.held_by(allocation).iter();
        let begin = held.map(|value| dump.live(value).0).min();
        Self {
            color: allocation.color,
            bytes: allocation.size,
            begin: begin.unwrap_or(0),
        }
    }
}

/// Of a dump.
pub(super) struct Savings<'d> {
    dump: &'d Dump,
    rooms: FxHashMap<u32, Room>,
    /// By memory space.
    temporaries: FxHashMap<u64, Temporaries>,
}

impl<'d> Savings<'d> {
    /// With what parameters in the memory spaces `colors` need.
    pub(super) fn new(dump: &'d Dump, colors: BTreeSet<u64>) -> Self {
        let rooms = dump.outputs().iter().map(|&at| (at, Room::of(dump, at)));
        let colors = colors.into_iter();
        let temporaries = colors.filter_map(|it| Some((it, Temporaries::of(dump, it)?)));
        Self {
            dump,
            rooms: rooms.collect(),
            temporaries: temporaries.collect(),
        }
    }

    /// What donating each of `parameters` that are matched with an output to that changes, and, in these, what it saves.
    pub(super) fn donated(
        &self,
        parameters: &mut [Parameter],
        in_place: &mut InPlace,
    ) -> Vec<Donated> {
        let mut looks_left = MOST_LOOKS;
        let mut all = Vec::new();
        for parameter in parameters {
            let (allocation, value) = (parameter.allocation, parameter.value);
            if let Some(matched) = &mut parameter.matched {
                let donated =
                    self.donated_to(allocation, value, matched, in_place, &mut looks_left);
                matched.saving = self.saving(std::slice::from_ref(&donated), donated.grown);
                all.push(donated);
            }
        }
        all
    }

    /// What it saves that all of `donated`, in one memory space, are.
    pub(super) fn of_all(&self, donated: &[Donated]) -> Saving {
        self.saving(donated, self.grown(donated))
    }

    /// What `donated`, in one memory space, save where the temporaries outgrow by `grown` what is reserved for them.
    fn saving(&self, donated: &[Donated], grown: u64) -> Saving {
        let bytes = donated.iter().map(|it| it.bytes);
        let bytes = bytes.fold(0, u64::saturating_add);
        let freed = |it: &Donated| Some(Change::new(it.free_from?, it.bytes, 0));
        let freed: Option<Vec<Change>> = donated.iter().map(freed).collect();
        let color = donated.first().map(|it| it.color);
        let space = color.and_then(|color| self.dump.occupancy().space(color));
        let curve = space.and_then(|space| space.curve.as_ref());
        let peak = curve
            .zip(freed)
            .map(|(curve, freed)| curve.peak().bytes - curve.peak_if_changed(freed).bytes);
        Saving {
            reserved: bytes.saturating_sub(grown),
            peak,
        }
    }

    /// By how much the temporaries outgrow what is reserved for them if all of `donated`, in one memory space, are donated.
    fn grown(&self, donated: &[Donated]) -> u64 {
        let Some(color) = donated.first().map(|it| it.color) else {
            return 0;
        };
        let with_copies = donated.iter().flat_map(|it| it.changes(true));
        let grown = self.growth(color, with_copies.collect());
        if grown == 0 || donated.iter().all(|it| it.copy.is_none()) {
            return grown;
        }
        let lie_elsewhere = self.lie_in_outputs(color, donated);
        let changes = donated.iter().zip(lie_elsewhere);
        let changes = changes.flat_map(|(it, lies_elsewhere)| it.changes(!lies_elsewhere));
        self.growth(color, changes.collect())
    }

    /// Which copies of parameters can lie in outputs that no parameter is donated to.
    fn lie_in_outputs(&self, color: u64, donated: &[Donated]) -> Vec<bool> {
        let mut taken: FxHashSet<u32> = donated.iter().map(|it| it.output).collect();
        let mut lies_in_output = |it: &Donated| {
            let Some(copy) = &it.copy else { return false };
            let has_room = |at: &&u32| {
                let is_next = copy.next == Some(**at);
                let room = self.rooms.get(*at).filter(|_| !taken.contains(*at));
                room.is_some_and(|room| {
                    room.color == color
                        && room.bytes >= it.bytes
                        && room.begin >= copy.until + u64::from(!is_next)
                })
            };
            let outputs = self.dump.outputs().iter().take(MOST_ROOMS);
            let place = copy.next.iter().chain(outputs).find(has_room).copied();
            place.is_some_and(|at| taken.insert(at))
        };
        donated.iter().map(&mut lies_in_output).collect()
    }

    /// By how much the temporaries of a memory space outgrow what is reserved for them.
    fn growth(&self, color: u64, changes: Vec<Change>) -> u64 {
        if changes.is_empty() {
            return 0;
        }
        self.temporaries.get(&color).map_or(0, |it| {
            let needed = it.curve.peak_if_changed(changes).bytes;
            needed.saturating_sub(it.reserved)
        })
    }

    /// What donating the parameter in an allocation, with this value, to the output that it is matched with changes.
    fn donated_to(
        &self,
        allocation: u32,
        value: Option<u32>,
        matched: &Match,
        in_place: &mut InPlace,
        looks_left: &mut usize,
    ) -> Donated {
        let dump = self.dump;
        let pairing = &matched.pairing;
        let allocation = &dump.allocations[allocation as usize];
        let own = value.map(|at| &dump.values[at as usize]);
        let (color, bytes) = (allocation.color, allocation.size);
        let mut donated = Donated {
            color,
            output: matched.output,
            bytes,
            free_from: own.and_then(|it| free_from(dump, it, pairing)),
            temporaries: Vec::new(),
            copy: None,
            grown: 0,
        };
        let curve = dump.occupancy().space(color);
        let curve = curve.and_then(|space| space.curve.as_ref());
        let Some(((curve, own), begin)) = curve.zip(own).zip(pairing.begin(dump)) else {
            return donated;
        };
        let Some(until) = needed_until(dump, own) else {
            return donated;
        };
        let steps = curve.steps();
        // What else lies in the output, before it is written.
        let held = dump.allocations[matched.output as usize].values.clone();
        let written: FxHashSet<u32> = pairing.written.iter().copied().collect();
        let before: Vec<u32> = held.filter(|at| !written.contains(at)).collect();
        let changes = &mut donated.temporaries;
        if !before.is_empty() {
            changes.extend(changes_to(changes_of(dump, &before, steps)));
        }
        // The steps at which nothing has to lie in the buffer.
        let from = donated.free_from.unwrap_or(until);
        let idle = match pairing.obstacle {
            None => {
                // Both are there for a while, which cannot be in one place.
                if begin < from {
                    changes.extend(lying(begin..from, bytes));
                }
                from..begin
            }
            Some(Obstacle::Apart(_)) => {
                changes.extend(lying(begin..until + 2, bytes));
                0..0
            }
            Some(Obstacle::Unordered { .. } | Obstacle::After { .. }) => 0..begin,
            Some(Obstacle::Apiece(_)) => {
                changes.extend(lying(begin..steps, bytes));
                0..steps
            }
        };
        if !matches!(pairing.obstacle, None | Some(Obstacle::Apart(_))) {
            let next = pairing.made_over;
            let allocation = next.and_then(|it| dump.values[it as usize].allocation());
            let is_temporary = |it: u32| {
                let it = &dump.allocations[it as usize];
                it.color == color && it.kind() == Kind::Temp
            };
            donated.copy = Some(Copied {
                until,
                next: allocation,
                becomes_temporary: allocation.is_some_and(is_temporary)
                    && next.is_some_and(|it| is_first(dump, it)),
            });
        }
        if self.growth(color, donated.changes(true).collect()) > 0 {
            let mut in_turn = Vec::new();
            if let Some(&first) = pairing.written.first() {
                in_turn.extend(buffer(dump, first));
                let other = in_place.other_place(first);
                in_turn.extend(other.map_or_else(Vec::new, |it| buffer(dump, it)));
            }
            let within = self.coming_and_going(color, before, &in_turn, idle, looks_left);
            let within = changes_of(dump, &within, steps).into_iter();
            let moments = within.map(|it| Moment {
                bytes: it.bytes.min(bytes),
                ..it
            });
            let fewer = changes_to(moments).map(|it| Change { by: -it.by, ..it });
            donated.temporaries.extend(fewer);
            add_up(&mut donated.temporaries);
            donated.grown = self.grown(std::slice::from_ref(&donated));
        }
        donated.temporaries.shrink_to_fit();
        donated
    }

    /// The temporaries of a memory space, and those of `before`, that come and go within the steps `idle`, or that come in them and
    /// are written over `in_turn`.
    fn coming_and_going(
        &self,
        color: u64,
        before: Vec<u32>,
        in_turn: &[u32],
        idle: Range<u64>,
        looks_left: &mut usize,
    ) -> Vec<u32> {
        let dump = self.dump;
        let live = |at: u32| dump.live(&dump.values[at as usize]);
        let in_turn: FxHashSet<u32> = in_turn.iter().copied().collect();
        let is_within = |&at: &u32| {
            let (start, end) = live(at);
            idle.contains(&start) && (idle.contains(&end) || in_turn.contains(&at))
        };
        let mut found: Vec<u32> = before.into_iter().filter(is_within).collect();
        // Of an output whose buffer holds a parameter's copy first that is rarely more.
        let temporaries = self.temporaries.get(&color).filter(|_| idle.start > 0);
        let temporaries = temporaries.map_or(&[][..], |it| it.values(dump, color));
        let start = temporaries.partition_point(|&at| live(at).0 < idle.start);
        let temporaries = temporaries[start..].iter().copied();
        let temporaries = temporaries.take_while(|&at| live(at).0 < idle.end);
        for at in temporaries.take(*looks_left) {
            *looks_left -= 1;
            // What is written over it in turn stays with it.
            if is_within(&at) && buffer(dump, at).iter().all(is_within) {
                found.push(at);
            }
        }
        found.sort_by_key(|&at| dump.values[at as usize].allocation());
        found
    }
}

/// Whether value `at` is written over none that had its bytes before.
fn is_first(dump: &Dump, at: u32) -> bool {
    let start = |at: u32| dump.live(&dump.values[at as usize]).0;
    buffer(dump, at)
        .into_iter()
        .all(|it| start(it) >= start(at))
}

impl Temporaries {
    fn of(dump: &Dump, color: u64) -> Option<Self> {
        let space = dump.occupancy().space(color)?;
        let all = space.curve.as_ref()?;
        let (mut reserved, mut others) = (0_u64, Vec::new());
        for (_, allocation) in dump.allocations_in(color) {
            match allocation.kind() {
                Kind::Temp => reserved = reserved.saturating_add(allocation.size),
                Kind::ThreadLocal => {}
                _ => others.extend(allocation.values.clone()),
            }
        }
        Some(Self {
            reserved,
            // Of all values most are temporaries.
            curve: all.without(&changes_of(dump, &others, all.steps())),
            values: OnceLock::new(),
        })
    }

    /// The temporaries of `color`, whose these are.
    fn values(&self, dump: &Dump, color: u64) -> &[u32] {
        self.values.get_or_init(|| {
            let allocations = dump.allocations_in(color);
            let temporary = allocations.filter(|(_, it)| it.kind() == Kind::Temp);
            let values = temporary.flat_map(|(_, it)| it.values.clone());
            let begin = values.filter_map(|at| {
                let value = dump.values.get(at as usize)?;
                value.has_live_range().then(|| (dump.live(value).0, at))
            });
            let mut values: Vec<(u64, u32)> = begin.collect();
            values.sort_unstable();
            values.into_iter().map(|(_, at)| at).collect()
        })
    }
}

/// From one of `moments` to the next, the first of which comes behind none.
fn changes_to(moments: impl IntoIterator<Item = Moment>) -> impl Iterator<Item = Change> {
    let mut before = 0;
    moments.into_iter().map(move |Moment { step, bytes }| {
        let change = Change::new(step, before, bytes);
        before = bytes;
        change
    })
}

/// Makes one of all changes at a step: mostly those that have gone come back elsewhere.
fn add_up(changes: &mut Vec<Change>) {
    changes.sort_unstable_by_key(|change| change.step);
    changes.dedup_by(|next, last| {
        let is_same = next.step == last.step;
        if is_same {
            last.by = last.by.saturating_add(next.by);
        }
        is_same
    });
    changes.retain(|change| change.by != 0);
}

/// The step from which on a parameter that is donated so takes no bytes beside the output. `None` where that is not known.
fn free_from(dump: &Dump, parameter: &Value, pairing: &Pairing) -> Option<u64> {
    let until = needed_until(dump, parameter)?;
    if pairing.spared.is_some() {
        let begin = pairing.begin(dump);
        return Some(begin.map_or(until, |begin| begin.min(until)));
    }
    // What its last reader makes of it lies elsewhere, be it not the output.
    let stays = pairing.obstacle.is_some() || {
        dump.last_read(parameter).is_some() && pairing.made_over.is_none()
    };
    Some(until.saturating_add(stays.into()))
}
