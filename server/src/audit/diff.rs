//! What changed between two compiles of a program: which values are in both, whatever they are
//! called now, and what became of the others, of the peaks, of donation and of copies.

mod matching;
mod peaks;
mod traits;

use rustc_hash::FxHashMap;

pub use self::matching::{Evidence, Pair};
pub use self::peaks::Peaks;

use self::traits::Side;
use super::Audit;
use super::copies::{Copy, Purpose, copies, written};
use super::donation::{Parameter, Verdict, donation};
use crate::model::shapes::shape_text;
use crate::model::{Dump, Part};
use buflens_syntax::{Shape, facts};

/// Of a pair of dumps the first and the second.
pub type Both<T> = [T; 2];

/// What changed. Values are numbers into [`crate::model::Dump::values`] of their dump.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Diff {
    /// The values that are in both, in the order of the first dump.
    pub pairs: Vec<Pair>,
    /// Those that are in one alone: gone, and new; those with the most bytes first.
    pub alone: Both<Vec<u32>>,
    /// Whether the allocations of a dump are all there. If not, what is alone in the other dump may
    /// be in this one as well.
    pub is_whole: Both<bool>,
    /// Whether there are allocations at all.
    pub has_allocations: Both<bool>,
    /// Whether the instructions of both are all there.
    pub has_instructions: bool,
    /// The pairs whose bytes, kind of allocation or memory space differ, the largest difference first.
    pub changed: Vec<Changed>,
    /// How many of the others have another offset, allocation or live range.
    pub shifted: usize,
    /// How many of the others have another layout of the same bytes.
    pub relaid: usize,
    /// The peaks of the memory spaces, by number, where they are known on both sides.
    pub peaks: Vec<Peaks>,
    /// The parameters that are donated, or donated in vain, in one of the two alone.
    pub donation: Vec<Both<Parameter>>,
    /// The copies that are in one alone.
    pub copies_alone: Both<Vec<Copy>>,
    /// The copies that are for something else now, or write more or less.
    pub copies_changed: Vec<Both<Copy>>,
    /// The bytes that all copies write.
    pub copied: Both<u64>,
}

/// A value that is in both and not the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Changed {
    /// The value.
    pub pair: Pair,
    /// Why its bytes differ, if they do.
    pub resized: Option<Cause>,
    /// Whether the kind of its allocation or the memory space differs.
    pub is_moved: bool,
}

/// Why a value has other bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Other dimensions.
    Shape,
    /// Another element type.
    Type,
    /// The same array, or arrays, in another layout.
    Layout,
    /// The same shape, rounded up or shared in another way.
    Padding,
}

impl Cause {
    /// `shape`, `type`, `layout`, `padding`
    pub fn name(self) -> &'static str {
        match self {
            Self::Shape => "shape",
            Self::Type => "type",
            Self::Layout => "layout",
            Self::Padding => "padding",
        }
    }
}

/// What changed from the first to the second.
pub fn diff(audits: Both<&Audit>) -> Diff {
    let dumps = audits.map(|audit| audit.dump);
    let with_instructions = dumps.into_iter().all(has_instructions);
    let [before, after] = audits.map(|audit| Side::of(audit, with_instructions));
    let pairs = matching::pairs(&before, &after);
    let partners = Partners::new(&pairs, dumps);
    let mut diff = Diff {
        alone: [0, 1].map(|side| alone(dumps[side], &partners.0[side])),
        is_whole: dumps.map(is_whole),
        has_allocations: dumps.map(|dump| !dump.allocations.is_empty()),
        has_instructions: with_instructions,
        ..Diff::default()
    };
    for &pair in &pairs {
        diff.compare(audits, pair);
    }
    diff.changed.sort_by_key(|changed| {
        let [before, after] = sizes(dumps, changed.pair);
        (
            std::cmp::Reverse(before.abs_diff(after)),
            std::cmp::Reverse(before.max(after)),
        )
    });
    let is_whole = diff.is_whole == [true; 2];
    if is_whole {
        diff.peaks = peaks::peaks(audits, &pairs, &partners);
    }
    diff.pairs = pairs;
    // Who reads what is told with the instructions.
    if with_instructions && is_whole {
        diff.compare_donation(audits, &partners);
        diff.compare_copies(audits, &partners);
    }
    diff
}

/// Of each value its partner in the other dump.
struct Partners(Both<Vec<Option<u32>>>);

impl Partners {
    fn new(pairs: &[Pair], dumps: Both<&Dump>) -> Self {
        let mut partners = dumps.map(|dump| vec![None; dump.values.len()]);
        for pair in pairs {
            partners[0][pair.before as usize] = Some(pair.after);
            partners[1][pair.after as usize] = Some(pair.before);
        }
        Self(partners)
    }

    /// The value of the second dump that value `at` of the first is.
    fn after(&self, at: u32) -> Option<u32> {
        *self.0[0].get(at as usize)?
    }
}

/// Whether all allocations are there: a dump that was cut short lacks their total, or has another.
fn is_whole(dump: &Dump) -> bool {
    let total = dump
        .total
        .and_then(|row| dump.at::<facts::Total>(row)?.row.bytes.get());
    let sizes = dump
        .allocations
        .iter()
        .map(|allocation| u128::from(allocation.size));
    match total {
        Some(total) => sizes.sum::<u128>() == u128::from(total),
        None => {
            !dump.allocations.is_empty()
                && dump.has_live_ranges()
                && dump.stray_live_ranges.is_empty()
        }
    }
}

/// Whether it is known what defines each value: used values may be missing, or cut short.
pub fn has_instructions(dump: &Dump) -> bool {
    let mut values = dump.values.iter();
    values.all(|value| dump.opcode(value.name).is_some())
}

/// Whether the true peaks are known: without some live ranges they may be higher.
pub fn has_peaks(dump: &Dump) -> bool {
    dump.occupancy().reason.is_none() && dump.occupancy().missing == 0
}

fn alone(dump: &Dump, partners: &[Option<u32>]) -> Vec<u32> {
    let mut alone: Vec<u32> = (0..)
        .zip(partners)
        .filter(|(_, partner)| partner.is_none())
        .map(|(at, _)| at)
        .collect();
    alone.sort_by_key(|&at| std::cmp::Reverse(dump.values[at as usize].size));
    alone
}

/// Whether two shapes are the same but for their layouts.
fn has_arrays_of(one: &Shape, other: &Shape) -> bool {
    match (one, other) {
        (Shape::Array(one), Shape::Array(other)) => {
            (&one.element, &one.dimensions) == (&other.element, &other.dimensions)
        }
        (Shape::Tuple(one), Shape::Tuple(other)) => {
            let mut both = one.iter().zip(other);
            one.len() == other.len() && both.all(|(one, other)| has_arrays_of(one, other))
        }
        _ => false,
    }
}

fn sizes(dumps: Both<&Dump>, pair: Pair) -> Both<u64> {
    let [before, after] = dumps;
    [
        before.values[pair.before as usize].size,
        after.values[pair.after as usize].size,
    ]
}

impl Diff {
    /// Whether value `at`, which is alone in `dump`, is known not to be in the other one: without its allocation
    /// a value has neither shape nor size to be known again by.
    pub fn is_sure(&self, side: usize, dump: &Dump, at: u32) -> bool {
        let has_place = || dump.values[at as usize].allocation().is_some();
        self.is_whole[1 - side]
            && self.has_allocations[side]
            && (self.is_whole[side] || has_place())
    }

    fn compare(&mut self, audits: Both<&Audit>, pair: Pair) {
        let at = [pair.before, pair.after];
        let values = [0, 1].map(|side| &audits[side].dump.values[at[side] as usize]);
        let allocations = [0, 1].map(|side| audits[side].dump.allocation_of(values[side]));
        let are_placed = [0, 1].map(|side| audits[side].dump.is_placed(values[side]));
        let ([Some(old), Some(new)], [true, true]) = (allocations, are_placed) else {
            // Where a dump has no allocations, or a line is broken, nothing is known of bytes.
            return;
        };
        let texts = [0, 1].map(|side| shape_text(audits[side].dump, values[side]));
        let resized = (values[0].size != values[1].size).then(|| {
            let shapes = [0, 1].map(|side| audits[side].shapes.of(values[side]));
            match shapes {
                _ if texts[0] == texts[1] => Cause::Padding,
                [Some(old), Some(new)] if has_arrays_of(old, new) => Cause::Layout,
                [Some(Shape::Array(old)), Some(Shape::Array(new))]
                    if old.dimensions == new.dimensions =>
                {
                    Cause::Type
                }
                _ => Cause::Shape,
            }
        });
        let is_moved = (old.kind(), old.color) != (new.kind(), new.color);
        if resized.is_some() || is_moved {
            self.changed.push(Changed {
                pair,
                resized,
                is_moved,
            });
            return;
        }
        let places = values.map(|value| (value.allocation(), value.offset));
        // An unknown time is not another one.
        let times = [0, 1].map(|side| {
            let live_range = audits[side].dump.live_range_of(values[side]);
            live_range.map(|it| it.steps)
        });
        let is_elsewhen = times[0] != times[1] && !times.contains(&None);
        self.shifted += usize::from(places[0] != places[1] || is_elsewhen);
        self.relaid += usize::from(texts[0] != texts[1]);
    }

    fn compare_donation(&mut self, audits: Both<&Audit>, partners: &Partners) {
        // They tell what is donated in vain.
        let has_texts = audits.map(|audit| audit.dump.file_of(Part::Module).is_some()) == [true; 2];
        let [before, after] = audits.map(|audit| donation(audit).parameters);
        let of_value = after
            .into_iter()
            .filter_map(|parameter| Some((parameter.value?, parameter)));
        let mut of_value: FxHashMap<u32, Parameter> = of_value.collect();
        for old in before {
            let partner = old.value.and_then(|value| partners.after(value));
            let Some(new) = partner.and_then(|partner| of_value.remove(&partner)) else {
                continue;
            };
            // What would become of one that is not donated hangs on all the others and the peak.
            let donation = [&old, &new].map(|parameter| match parameter.verdict {
                Verdict::Donated => Some(Verdict::Donated),
                Verdict::NotUsable if has_texts => Some(Verdict::NotUsable),
                _ => None,
            });
            if donation[0] != donation[1] {
                self.donation.push([old, new]);
            }
        }
    }

    fn compare_copies(&mut self, audits: Both<&Audit>, partners: &Partners) {
        let has_module = |audit: &Audit| audit.dump.file_of(Part::Module).is_some();
        let have_modules = audits.iter().all(|audit| has_module(audit));
        let [before, after] = audits.map(|audit| {
            let mut copies = copies(audit);
            // Which fusions copy, the HLO text alone tells.
            copies.retain(|it| have_modules || audit.dump.copied_in(it.name).is_none());
            copies
        });
        self.copied = [&before, &after].map(|copies| written(copies).unwrap_or(0));
        let mut of_value: FxHashMap<u32, usize> = FxHashMap::default();
        for (place, copy) in after.iter().enumerate() {
            of_value.extend(copy.to.value.map(|value| (value, place)));
        }
        let mut after: Vec<Option<Copy>> = after.into_iter().map(Some).collect();
        let same_value = |old: &Copy| {
            let partner = partners.after(old.to.value?)?;
            of_value.get(&partner).copied()
        };
        // First those that write the same value for the same purpose.
        let mut left = Vec::new();
        for old in before {
            let is_same = |new: &mut Copy| new.purpose == old.purpose;
            match same_value(&old).and_then(|place| after[place].take_if(is_same)) {
                Some(new) => self.compare_copy(old, new),
                None => left.push(old),
            }
        }
        // Then those of the same purpose and bytes, which write what nobody could tell apart.
        let mut same: FxHashMap<_, Vec<usize>> = FxHashMap::default();
        for (place, copy) in after.iter().enumerate().rev() {
            if let Some(copy) = copy {
                same.entry((copy.purpose, copy.bytes))
                    .or_default()
                    .push(place);
            }
        }
        left.retain(|old| {
            let place = same.get_mut(&(old.purpose, old.bytes)).and_then(Vec::pop);
            // They differ in nothing that is told.
            place.and_then(|place| after[place].take()).is_none()
        });
        // What writes the same value for something else now.
        for old in left {
            match same_value(&old).and_then(|place| after[place].take()) {
                Some(new) => self.compare_copy(old, new),
                None => self.copies_alone[0].push(old),
            }
        }
        self.copies_alone[1] = after.into_iter().flatten().collect();
    }

    fn compare_copy(&mut self, old: Copy, new: Copy) {
        let is_known = ![old.purpose, new.purpose].contains(&Purpose::Unknown);
        if old.bytes != new.bytes || (is_known && old.purpose != new.purpose) {
            self.copies_changed.push([old, new]);
        }
    }
}

/// Whether sizes can be compared: another platform has other tiles and another alignment.
pub fn is_same_platform(dumps: Both<&Dump>) -> bool {
    let [before, after] = dumps.map(|dump| dump.platforms.only());
    before == after || before.is_none() || after.is_none()
}

#[cfg(test)]
mod tests;
