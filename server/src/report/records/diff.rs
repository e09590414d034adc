//! What changed between two compiles of a program.

mod notes;

use std::collections::BTreeMap;

use serde::Serialize;

use super::audit::{CopyRecord, DonationParameter, copy_record, parameter};
use super::{Answer, Module, Moment, SCHEMA, Source, Value, module, value};
use crate::audit::copies::Copy;
use crate::audit::diff::{self as compare, Both, Changed};
use crate::model::occupancy::{Kind, alive, by_kind, reserved_by_kind};
use crate::model::{Dump, space};

/// A number in both compiles; `None` where a dump does not tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Change {
    /// In the first.
    pub before: Option<u64>,
    /// In the second.
    pub after: Option<u64>,
    /// By how much the second is more.
    pub delta: Option<i64>,
}

impl Change {
    fn new([before, after]: Both<Option<u64>>) -> Self {
        let delta = before
            .zip(after)
            .map(|(before, after)| difference(before, after));
        Self {
            before,
            after,
            delta,
        }
    }

    /// Whether nothing is known to differ.
    pub fn is_none(&self) -> bool {
        self.before == self.after
    }
}

/// `after` less `before`.
fn difference(before: u64, after: u64) -> i64 {
    let delta = i128::from(after) - i128::from(before);
    i64::try_from(delta).unwrap_or(if delta < 0 { i64::MIN } else { i64::MAX })
}

/// What changed. All lists have the largest first.
#[derive(Debug, Clone, Serialize)]
pub struct Diff<L> {
    /// Whether all below is the same in both.
    pub nothing_changed: bool,
    /// What has to be known to read the rest, in sentences.
    pub notes: Vec<String>,
    /// The first dump, as `summary` tells of it.
    pub before: Module,
    /// The second.
    pub after: Module,
    /// Numbers of the whole dump.
    pub totals: Totals,
    /// The memory spaces of both, by number.
    pub spaces: Vec<SpaceChange>,
    /// How many values are in both.
    pub matched: usize,
    /// The same by what they were recognised by.
    pub matched_by: BTreeMap<&'static str, usize>,
    /// How many of them differ in nothing but offset, allocation or live range.
    pub shifted: usize,
    /// How many differ in their layout and take the same bytes.
    pub relaid: usize,
    /// Values of a dump of which it cannot be known whether the other, which is cut short, has them.
    pub not_known: NotKnown,
    /// New values.
    pub added: Vec<Value<L>>,
    /// How many more there are.
    pub added_left_out: usize,
    /// Values that are gone.
    pub removed: Vec<Value<L>>,
    /// How many more there are.
    pub removed_left_out: usize,
    /// Values with other bytes, or in another kind of allocation or memory space.
    pub changed: Vec<ChangedValue<L>>,
    /// How many more there are.
    pub changed_left_out: usize,
    /// What is alive at the peak of a memory space in the second alone.
    pub peak_entered: Vec<PeakMember<L>>,
    /// How many more there are.
    pub peak_entered_left_out: usize,
    /// What is alive at the peak of a memory space in the first alone.
    pub peak_left: Vec<PeakMember<L>>,
    /// How many more there are.
    pub peak_left_left_out: usize,
    /// What is alive at the peaks of both with other bytes.
    pub peak_changed: Vec<PeakChange<L>>,
    /// How many more there are.
    pub peak_changed_left_out: usize,
    /// Parameters with another verdict.
    pub donation: Vec<Pair<DonationParameter<L>>>,
    /// How many more there are.
    pub donation_left_out: usize,
    /// New copies.
    pub copies_added: Vec<CopyRecord<L>>,
    /// How many more there are.
    pub copies_added_left_out: usize,
    /// Copies that are gone.
    pub copies_removed: Vec<CopyRecord<L>>,
    /// How many more there are.
    pub copies_removed_left_out: usize,
    /// Copies that are for something else now.
    pub copies_changed: Vec<Pair<CopyRecord<L>>>,
    /// How many more there are.
    pub copies_changed_left_out: usize,
}

/// Numbers of whole dumps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// The sizes of all allocations.
    pub total_bytes: Change,
    /// What all copies write.
    pub copied_bytes: Change,
    /// How many allocations.
    pub allocations: Change,
    /// How many values.
    pub values: Change,
    /// How many steps.
    pub steps: Change,
}

/// A memory space.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SpaceChange {
    /// Its number.
    pub color: u64,
    /// Its name.
    pub name: String,
    /// The sizes of its allocations, without thread-local ones.
    pub reserved_bytes: Change,
    /// The sizes of its thread-local allocations.
    pub thread_local_bytes: Change,
    /// What is occupied at the true peak.
    pub occupied_bytes: Change,
    /// Padding among these.
    pub padding_bytes: Change,
    /// The true peaks.
    pub peak: Pair<Option<Moment>>,
    /// The kinds of allocations that it has.
    pub kinds: Vec<KindChange>,
    /// How many values are alive at both peaks; `None` where these cannot be compared.
    pub stayed: Option<usize>,
    /// Their bytes.
    pub stayed_bytes: Change,
    /// How many values enter, leave or change their bytes at the peak.
    pub at_peak: usize,
    /// Bytes of parameters' buffers in which other values lie at one peak than at the other.
    pub replaced_bytes: Option<u64>,
}

/// What is reserved and occupied for one kind of allocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KindChange {
    /// `parameter`, `output`, `constant` or `temp`.
    pub kind: &'static str,
    /// The sizes of the allocations.
    pub reserved_bytes: Change,
    /// What is occupied at the true peak.
    pub occupied_bytes: Change,
}

/// How many values there are of which nothing can be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct NotKnown {
    /// In the first dump.
    pub before: usize,
    /// In the second.
    pub after: usize,
}

/// The same in both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pair<T> {
    /// In the first.
    pub before: T,
    /// In the second.
    pub after: T,
}

/// A value that is in both and not the same.
#[derive(Debug, Clone, Serialize)]
pub struct ChangedValue<L> {
    /// `grown`, `shrunk`, or `moved` for one that has the same bytes elsewhere.
    pub change: &'static str,
    /// Why it has other bytes: `shape`, `type`, `layout` or `padding`.
    pub cause: Option<&'static str>,
    /// Whether the kind of allocation or the memory space differs.
    pub moved: bool,
    /// The memory space in the first.
    pub before_space: Option<u64>,
    /// The memory space in the second.
    pub after_space: Option<u64>,
    /// By how many bytes it is larger.
    pub delta: i64,
    /// What the two were recognised by.
    pub by: &'static str,
    /// In the first.
    pub before: Value<L>,
    /// In the second.
    pub after: Value<L>,
}

/// A value alive at a peak.
#[derive(Debug, Clone, Serialize)]
pub struct PeakMember<L> {
    /// The memory space.
    pub space: u64,
    /// Bytes that are not counted for another value already.
    pub own_bytes: u64,
    /// The value.
    #[serde(flatten)]
    pub value: Value<L>,
}

/// A value alive at both peaks, with other bytes.
#[derive(Debug, Clone, Serialize)]
pub struct PeakChange<L> {
    /// The memory space.
    pub space: u64,
    /// Bytes that are not counted for another value already.
    pub own_bytes: Change,
    /// In the first.
    pub before: Value<L>,
    /// In the second.
    pub after: Value<L>,
}

/// What changed between two dumps; at most `limit` rows of each list, and of those at peaks of each memory space.
pub fn diff<L>(sources: Both<&Source<'_, '_, L>>, limit: usize) -> Diff<L> {
    let audits = sources.map(|source| source.audit);
    let dumps = audits.map(|audit| audit.dump);
    let found = compare::diff(audits);
    let modules = audits.map(|audit| {
        let path = audit.dump.files.first().map(|file| file.path.clone());
        module(audit, &path.unwrap_or_default())
    });
    let totals = totals(&modules, &found);
    let spaces = spaces(&modules, &found, dumps);
    let member = |side: usize| {
        let (mut members, mut left_out) = (Vec::new(), 0);
        for peaks in &found.peaks {
            let mut all = peaks.alone[side].clone();
            all.sort_by_key(|held| std::cmp::Reverse(held.share));
            let (kept, more) = first(all, limit);
            left_out += more;
            members.extend(kept.into_iter().filter_map(|held| {
                Some(PeakMember {
                    space: peaks.color,
                    own_bytes: held.share,
                    value: value(sources[side], held.value)?,
                })
            }));
        }
        (members, left_out)
    };
    let (mut peak_changed, mut peak_changed_left_out) = (Vec::new(), 0);
    for peaks in &found.peaks {
        let (kept, more) = first(peaks.changed.clone(), limit);
        peak_changed_left_out += more;
        peak_changed.extend(kept.into_iter().filter_map(|[before, after]| {
            Some(PeakChange {
                space: peaks.color,
                own_bytes: Change::new([Some(before.share), Some(after.share)]),
                before: value(sources[0], before.value)?,
                after: value(sources[1], after.value)?,
            })
        }));
    }
    let [sure, unsure] = [true, false].map(|is_sure| {
        [0, 1].map(|side| {
            let alone = found.alone[side].iter().copied();
            let alone = alone.filter(|&at| found.is_sure(side, dumps[side], at) == is_sure);
            alone.collect::<Vec<u32>>()
        })
    });
    let alone = |side: usize| {
        let all = sure[side].clone();
        let (kept, left_out) = first(all, limit);
        let values = kept.into_iter().filter_map(|at| value(sources[side], at));
        (values.collect(), left_out)
    };
    let copies = |side: usize| {
        let (kept, left_out) = first(found.copies_alone[side].clone(), limit);
        let records = kept.iter().map(|copy| copy_record(sources[side], copy));
        (records.collect(), left_out)
    };
    let (removed, removed_left_out) = alone(0);
    let (added, added_left_out) = alone(1);
    let (peak_left, peak_left_left_out) = member(0);
    let (peak_entered, peak_entered_left_out) = member(1);
    let (copies_removed, copies_removed_left_out) = copies(0);
    let (copies_added, copies_added_left_out) = copies(1);
    let (kept, changed_left_out) = first(found.changed.clone(), limit);
    let changed = kept
        .iter()
        .filter_map(|changed| changed_value(sources, changed));
    let (kept, donation_left_out) = first(found.donation.clone(), limit);
    let donation = kept.iter().filter_map(|[before, after]| {
        Some(Pair {
            before: parameter(sources[0], before)?,
            after: parameter(sources[1], after)?,
        })
    });
    let (kept, copies_changed_left_out) = first(found.copies_changed.clone(), limit);
    let copies_changed = kept.iter().map(|[before, after]: &Both<Copy>| Pair {
        before: copy_record(sources[0], before),
        after: copy_record(sources[1], after),
    });
    let mut matched_by = BTreeMap::new();
    for pair in &found.pairs {
        *matched_by.entry(pair.by.name()).or_default() += 1;
    }
    let is_same = found.alone.iter().all(Vec::is_empty)
        && found.changed.is_empty()
        && found.donation.is_empty()
        && found.copies_alone.iter().all(Vec::is_empty)
        && found.copies_changed.is_empty()
        && found
            .peaks
            .iter()
            .all(|peaks| peaks.alone.iter().all(Vec::is_empty) && peaks.changed.is_empty())
        && totals.all().iter().all(|(_, change)| change.is_none())
        && spaces.iter().all(SpaceChange::is_none);
    Diff {
        nothing_changed: is_same,
        notes: notes::notes(&modules, &found, dumps),
        totals,
        spaces,
        matched: found.pairs.len(),
        matched_by,
        shifted: found.shifted,
        relaid: found.relaid,
        not_known: NotKnown {
            before: unsure[0].len(),
            after: unsure[1].len(),
        },
        added,
        added_left_out,
        removed,
        removed_left_out,
        changed: changed.collect(),
        changed_left_out,
        peak_entered,
        peak_entered_left_out,
        peak_left,
        peak_left_left_out,
        peak_changed,
        peak_changed_left_out,
        donation: donation.collect(),
        donation_left_out,
        copies_added,
        copies_added_left_out,
        copies_removed,
        copies_removed_left_out,
        copies_changed: copies_changed.collect(),
        copies_changed_left_out,
        before: modules[0].clone(),
        after: modules[1].clone(),
    }
}

impl Totals {
    /// All of them with what they are called.
    pub fn all(&self) -> [(&'static str, Change); 5] {
        [
            ("total bytes", self.total_bytes),
            ("copied bytes", self.copied_bytes),
            ("allocations", self.allocations),
            ("values", self.values),
            ("steps", self.steps),
        ]
    }
}

impl SpaceChange {
    /// Whether no number of it is known to differ.
    pub fn is_none(&self) -> bool {
        let mut kinds = self.kinds.iter();
        let own = [
            self.reserved_bytes,
            self.thread_local_bytes,
            self.occupied_bytes,
            self.padding_bytes,
        ];
        own.iter().all(Change::is_none)
            && kinds.all(|kind| kind.reserved_bytes.is_none() && kind.occupied_bytes.is_none())
    }
}

/// The first `limit` of them, and how many more there are.
fn first<T>(mut all: Vec<T>, limit: usize) -> (Vec<T>, usize) {
    let left_out = all.len().saturating_sub(limit);
    all.truncate(limit);
    (all, left_out)
}

fn changed_value<L>(
    sources: Both<&Source<'_, '_, L>>,
    changed: &Changed,
) -> Option<ChangedValue<L>> {
    let before = value(sources[0], changed.pair.before)?;
    let after = value(sources[1], changed.pair.after)?;
    let space = |side: usize, at: u32| sources[side].audit.dump.color_of(at);
    Some(ChangedValue {
        change: match before.bytes.cmp(&after.bytes) {
            std::cmp::Ordering::Less => "grown",
            std::cmp::Ordering::Equal => "moved",
            std::cmp::Ordering::Greater => "shrunk",
        },
        cause: changed.resized.map(compare::Cause::name),
        moved: changed.is_moved,
        before_space: space(0, changed.pair.before),
        after_space: space(1, changed.pair.after),
        delta: difference(before.bytes?, after.bytes?),
        by: changed.pair.by.name(),
        before,
        after,
    })
}

fn totals(modules: &Both<Module>, found: &compare::Diff) -> Totals {
    let change = |number: &dyn Fn(usize) -> Option<u64>| Change::new([0, 1].map(number));
    // What is cut short has no number that could be compared.
    let whole = |number: &dyn Fn(usize) -> Option<u64>| {
        change(&|side| number(side).filter(|_| found.is_whole[side]))
    };
    let has_copies = found.is_whole == [true; 2] && found.has_instructions;
    Totals {
        total_bytes: whole(&|side| modules[side].total_bytes),
        copied_bytes: change(&|side| has_copies.then_some(found.copied[side])),
        allocations: whole(&|side| modules[side].allocations.map(|count| count as u64)),
        values: whole(&|side| modules[side].values.map(|count| count as u64)),
        steps: change(&|side| modules[side].steps),
    }
}

fn spaces(modules: &Both<Module>, found: &compare::Diff, dumps: Both<&Dump>) -> Vec<SpaceChange> {
    let mut colors: Vec<u64> = modules
        .iter()
        .flat_map(|it| &it.spaces)
        .map(|it| it.color)
        .collect();
    colors.sort_unstable();
    colors.dedup();
    let of_color = |color: u64| {
        let space = |side: usize| modules[side].space(color);
        // A memory space that a whole dump does not have holds nothing.
        let known =
            |number: &dyn Fn(usize) -> u64| {
                Change::new([0, 1].map(|side| {
                    found.is_whole[side].then(|| space(side).map_or(0, |_| number(side)))
                }))
            };
        let at_peak = |number: &dyn Fn(usize) -> Option<u64>| {
            Change::new([0, 1].map(|side| match space(side) {
                _ if !found.is_whole[side] || !compare::has_peaks(dumps[side]) => None,
                Some(_) => number(side),
                None => Some(0),
            }))
        };
        let held = [0, 1].map(|side| {
            let peak = dumps[side].occupancy().peak(color);
            peak.map_or([0; 4], |peak| {
                by_kind(dumps[side], &alive(dumps[side], color, peak.step))
            })
        });
        let reserved = dumps.map(|dump| reserved_by_kind(dump, color));
        let kinds = Kind::OCCUPYING
            .into_iter()
            .enumerate()
            .map(|(place, kind)| KindChange {
                kind: kind.name(),
                reserved_bytes: known(&|side| reserved[side][place]),
                occupied_bytes: at_peak(&|side| Some(held[side][place])),
            });
        let is_there = |kind: &KindChange| {
            let bytes = [kind.reserved_bytes, kind.occupied_bytes];
            bytes
                .iter()
                .any(|it| it.before.unwrap_or(0) > 0 || it.after.unwrap_or(0) > 0)
        };
        let peaks = found.peaks.binary_search_by_key(&color, |it| it.color);
        let peaks = peaks.ok().map(|place| &found.peaks[place]);
        let peak = |side: usize| space(side).and_then(|space| space.peak.clone());
        let names = [0, 1].map(|side| space(side).map(|space| &space.name));
        let name = match names {
            // The same number means another memory on another platform.
            [Some(before), Some(after)] if before != after => {
                Some(format!("memory space {color} ({before} -> {after})"))
            }
            [before, after] => after.or(before).cloned(),
        };
        SpaceChange {
            color,
            name: name.unwrap_or_else(|| space::named(color, dumps[1].platforms)),
            reserved_bytes: known(&|side| space(side).map_or(0, |it| it.reserved_bytes)),
            thread_local_bytes: known(&|side| space(side).map_or(0, |it| it.thread_local_bytes)),
            occupied_bytes: at_peak(&|side| modules[side].peak_bytes(color)),
            padding_bytes: at_peak(&|side| space(side)?.padding_bytes),
            peak: Pair {
                before: peak(0),
                after: peak(1),
            },
            kinds: kinds.filter(is_there).collect(),
            stayed: peaks.map(|peaks| peaks.stayed),
            stayed_bytes: Change::new([0, 1].map(|side| Some(peaks?.stayed_bytes[side]))),
            at_peak: peaks.map_or(0, |peaks| {
                let alone = peaks.alone.iter().map(Vec::len);
                alone.sum::<usize>() + peaks.changed.len()
            }),
            replaced_bytes: peaks.map(|peaks| peaks.replaced_bytes),
        }
    };
    colors.into_iter().map(of_color).collect()
}

/// What changed in folders of dumps.
#[derive(Debug, Clone, Serialize)]
pub struct Diffs<L> {
    schema: u32,
    /// The dumps that are in both, in the order of the first folder.
    pub pairs: Vec<Answer<Diff<L>>>,
    /// The stems of those that are in the first alone.
    pub only_before: Vec<String>,
    /// The stems of those that are in the second alone.
    pub only_after: Vec<String>,
}

impl<L> Diffs<L> {
    /// Pairs, and what has no partner.
    pub fn new(pairs: Vec<Answer<Diff<L>>>, [only_before, only_after]: Both<Vec<String>>) -> Self {
        Self {
            schema: SCHEMA,
            pairs,
            only_before,
            only_after,
        }
    }

    /// Whether nothing differs.
    pub fn nothing_changed(&self) -> bool {
        let mut pairs = self.pairs.iter();
        self.only_before.is_empty()
            && self.only_after.is_empty()
            && pairs.all(|pair| pair.content.nothing_changed)
    }
}
