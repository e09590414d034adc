//! What the pictures of a memory map show: which memory space, which steps, and which allocations
//! are large enough to be looked at one by one.

use std::ops::Range;

use super::records::{MOST_SPACES, Map, MapAllocation, MapSpace, Moment};
use crate::model::bytes::rounded;
use crate::model::occupancy::Kind;

/// A memory space with less at its peak is not drawn unasked: such spaces hold flags.
pub const LEAST_PEAK: u64 = 4096;

/// What is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Selection {
    /// The memory space; else every one that is worth it, or that of the allocation.
    pub space: Option<u64>,
    /// The one allocation; else all.
    pub allocation: Option<u64>,
    /// The first and the last step; else all.
    pub steps: Option<(u64, u64)>,
}

impl Selection {
    /// Why there is no such thing on the map, in a sentence that says what there is.
    pub fn problem(&self, map: &Map) -> Option<String> {
        if let Some((first, last)) = self.steps {
            if first > last {
                return Some(format!(
                    "the steps {first}..{last} end before they begin; both ends are included"
                ));
            }
            if let Some(end) = map.steps.and_then(|steps| steps.checked_sub(1))
                && last > end
            {
                return Some(format!("there is no step {last}: the last one is {end}"));
            }
        }
        let number = self.allocation?;
        match map.allocations.iter().find(|it| it.allocation == number) {
            Some(found) if self.space.is_none_or(|color| color == found.space) => None,
            Some(found) => Some(format!(
                "allocation {number} is in memory space {}",
                found.space
            )),
            // Where none is there, any may be.
            None => (!map.allocations.is_empty()).then(|| no_allocation(map, number)),
        }
    }
}

fn no_allocation(map: &Map, number: u64) -> String {
    let last = map.allocations.iter().map(|it| it.allocation).max();
    let last = last.map_or_else(String::new, |last| format!(": the last one is {last}"));
    format!("there is no allocation {number} on the map, which leaves out thread-local ones{last}")
}

/// `HBM (@0)`, or `memory space 0` where it has no name.
pub fn label(space: &MapSpace) -> String {
    let (name, color) = (&space.space.name, space.space.color);
    if name.ends_with(&format!(" {color}")) {
        name.clone()
    } else {
        format!("{name} (@{color})")
    }
}

/// One memory space over some of its steps.
#[derive(Debug, Clone)]
pub struct Chart<'m> {
    /// What it is drawn from.
    pub map: &'m Map,
    /// The memory space.
    pub space: &'m MapSpace,
    /// Its true peak, within the steps or not.
    pub peak: &'m Moment,
    /// The first step.
    pub first: u64,
    /// The last step, included.
    pub last: u64,
    /// Places in [`Map::allocations`], the largest first.
    pub allocations: Vec<usize>,
}

impl<'m> Chart<'m> {
    fn new(map: &'m Map, space: &'m MapSpace, selection: &Selection) -> Option<Self> {
        let peak = space.space.peak.as_ref()?;
        let end = map.steps?.checked_sub(1)?;
        let (first, last) = selection.steps.unwrap_or((0, end));
        let allocations = map.allocations.iter().enumerate();
        let allocations = allocations.filter(|(_, it)| {
            it.space == space.space.color
                && selection
                    .allocation
                    .is_none_or(|number| it.allocation == number)
        });
        let mut allocations: Vec<usize> = allocations.map(|(place, _)| place).collect();
        allocations.sort_by_key(|&place| std::cmp::Reverse(map.allocations[place].bytes));
        Some(Self {
            map,
            space,
            peak,
            first: first.min(end),
            last: last.min(end),
            allocations,
        })
    }

    /// How many steps, at least 1.
    pub fn steps(&self) -> u64 {
        (self.last - self.first).saturating_add(1)
    }

    /// The allocation in this place.
    pub fn allocation(&self, place: usize) -> &'m MapAllocation {
        &self.map.allocations[place]
    }

    /// The sum of the sizes of `places`.
    pub fn bytes(&self, places: &[usize]) -> u64 {
        let sizes = places.iter().map(|&place| self.allocation(place).bytes);
        sizes.fold(0, u64::saturating_add)
    }

    /// What is drawn with a scale of its own: up to `most` allocations alone, none of them below
    /// one part in `share` of all, and the others gathered by kind.
    pub fn groups(&self, most: usize, share: u64) -> Vec<Vec<usize>> {
        let least = (self.bytes(&self.allocations) / share).max(1);
        let is_small = |&place: &usize| self.allocation(place).bytes < least;
        let large = self.allocations.iter().position(is_small);
        let large = large.unwrap_or(self.allocations.len()).min(most);
        let (large, small) = self.allocations.split_at(large);
        let mut groups: Vec<Vec<usize>> = large.iter().map(|&place| vec![place]).collect();
        for kind in Kind::OCCUPYING {
            let of_kind = small.iter().copied();
            let of_kind = of_kind.filter(|&place| self.allocation(place).kind == kind.name());
            groups.push(of_kind.collect());
        }
        groups.retain(|it| !it.is_empty());
        groups
    }

    /// What a group is called: `#6 temp`, `#2 arg 0`, `12 temps`.
    pub fn group_name(&self, group: &[usize]) -> String {
        let Some(first) = group.first().map(|&place| self.allocation(place)) else {
            return String::new();
        };
        match (group.len(), first.parameter) {
            (1, Some(number)) => format!("#{} arg {number}", first.allocation),
            (1, None) => format!("#{} {}", first.allocation, first.kind),
            (many, _) if first.kind == "parameter" => format!("{many} args"),
            (many, _) => format!("{many} {}s", first.kind),
        }
    }

    /// The places in the columns of [`Map::values`] of what lies in an allocation.
    pub fn values(&self, place: usize) -> Range<usize> {
        let of = &self.map.values.allocation;
        let at = |least: usize| of.partition_point(|&it| (it as usize) < least);
        at(place)..at(place + 1)
    }

    /// Whether a value is alive at one of the steps.
    pub fn is_alive(&self, value: usize) -> bool {
        let values = &self.map.values;
        values.start[value] <= self.last && values.last[value] >= self.first
    }

    /// The bytes of a value within its allocation: where they start and how many they are.
    pub fn extent(&self, value: usize) -> (u64, u64) {
        let values = &self.map.values;
        let size = self.allocation(values.allocation[value] as usize).bytes;
        let start = values.offset[value].min(size);
        (start, values.bytes[value].min(size - start))
    }

    /// The fullest of the steps from `first` to `last`, and the bytes occupied then.
    pub fn fullest(&self, first: u64, last: u64) -> (u64, u64) {
        let curve = &self.space.curve;
        let from = curve.partition_point(|&(step, _)| step <= first);
        let before = from.checked_sub(1).map_or(0, |at| curve[at].1);
        let later = curve[from..]
            .iter()
            .take_while(|&&(step, _)| step <= last)
            .copied();
        later.fold((first, before), |best, moment| {
            if moment.1 > best.1 { moment } else { best }
        })
    }

    /// The instruction of a step.
    pub fn instruction(&self, step: u64) -> Option<&'m str> {
        let at = usize::try_from(step).ok()?;
        Some(self.map.text(*self.map.instructions.get(at)?))
    }

    /// The step that the compiler prints as the peak. It is one for the whole module: it is told
    /// with memory space 0.
    pub fn printed_peak(&self) -> Option<u64> {
        let printed = self.map.xla_peak.as_ref();
        let printed = printed.filter(|_| self.space.space.color == 0)?;
        Some(printed.step)
    }

    /// Whether a step is among those that are drawn.
    pub fn has(&self, step: u64) -> bool {
        (self.first..=self.last).contains(&step)
    }

    /// `965.7 MiB of HBM (@0) occupied at the peak, 1.26 GiB reserved`.
    pub fn verdict(&self) -> String {
        let space = &self.space.space;
        format!(
            "{} of {} occupied at the peak, {} reserved",
            rounded(self.peak.occupied_bytes),
            label(self.space),
            rounded(space.reserved_bytes)
        )
    }

    /// `step 13, copy.3`.
    pub fn peak_step(&self) -> String {
        match &self.peak.instruction {
            Some(name) => format!("step {}, {name}", self.peak.step),
            None => format!("step {}", self.peak.step),
        }
    }
}

/// The memory spaces to draw, and those that are not worth it, or too many.
pub fn charts<'m>(map: &'m Map, selection: &Selection) -> (Vec<Chart<'m>>, Vec<&'m MapSpace>) {
    let of_allocation = selection
        .allocation
        .and_then(|number| map.allocations.iter().find(|it| it.allocation == number))
        .map(|it| it.space);
    let color = selection.space.or(of_allocation);
    let occupied = |space: &MapSpace| {
        let peak = space.space.peak.as_ref();
        peak.map_or(0, |peak| peak.occupied_bytes)
    };
    let most = map.spaces.iter().map(occupied).max().unwrap_or(0);
    let least = LEAST_PEAK.min(most);
    let mut left = MOST_SPACES;
    let (drawn, other) = map.spaces.iter().partition(|space: &&MapSpace| {
        let is_worth = color.map_or(occupied(space) >= least, |it| it == space.space.color);
        let is_drawn = is_worth && left > 0;
        left -= usize::from(is_drawn);
        is_drawn
    });
    let drawn: Vec<&MapSpace> = drawn;
    let charts = drawn.iter().filter_map(|it| Chart::new(map, it, selection));
    (charts.collect(), other)
}

/// Why there is no picture, where there is none.
pub fn nothing(map: &Map) -> &'static str {
    map.reason
        .unwrap_or("nothing is occupied there at any step")
}

/// A length in whole pixels or lines, rounded down, at least 0.
#[expect(clippy::cast_sign_loss, reason = "`max` takes the sign")]
pub fn whole(length: f64) -> u64 {
    length.max(0.0) as u64
}

/// 1, 2 or 5 times a power of ten, at least `least`.
pub fn nice(least: u64) -> u64 {
    let mut unit = 1_u64;
    loop {
        for times in [1, 2, 5] {
            let nice = unit.saturating_mul(times);
            if nice >= least {
                return nice;
            }
        }
        unit = unit.saturating_mul(10);
    }
}

/// How a length is shared out over sizes: each gets its part, but at least `floor`.
pub fn shared(sizes: &[u64], length: f64, floor: f64) -> Vec<f64> {
    let mut is_low = vec![false; sizes.len()];
    loop {
        let low = is_low.iter().filter(|&&it| it).count();
        let rest = (length - floor * low as f64).max(0.0);
        let sizes = || sizes.iter().zip(&is_low);
        let sum: f64 = sizes()
            .filter(|(_, low)| !**low)
            .map(|(&size, _)| size as f64)
            .sum();
        let part = |size: u64| rest * size as f64 / sum.max(1.0);
        let more = sizes().position(|(&size, &low)| !low && part(size) < floor);
        let Some(more) = more else {
            let parts = sizes().map(|(&size, &low)| if low { floor } else { part(size) });
            return parts.collect();
        };
        is_low[more] = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::Audit;
    use crate::audit::fixture::real;
    use crate::model::source::Libraries;
    use crate::report::records;

    fn map(stem: &str) -> Map {
        let dump = real(stem);
        records::map(&Audit::new(&dump, Libraries::default()), usize::MAX)
    }

    #[test]
    fn what_is_not_there_is_told_with_what_is() {
        let map = map("tpu-split/module_0017");
        let problem = |space, allocation, steps| {
            Selection {
                space,
                allocation,
                steps,
            }
            .problem(&map)
        };
        let steps = map.steps.unwrap();
        assert_eq!(problem(Some(0), None, Some((0, steps - 1))), None);
        let allocation = problem(None, Some(99), None).unwrap();
        assert!(allocation.contains("ones: the last one is"), "{allocation}");
        let step = problem(None, None, Some((0, steps))).unwrap();
        assert!(step.contains("the last one is"), "{step}");
        let order = problem(None, None, Some((3, 2))).unwrap();
        assert!(order.contains("end before they begin"), "{order}");
        let other = map.allocations.iter().find(|it| it.space != 0).unwrap();
        let elsewhere = problem(Some(0), Some(other.allocation), None).unwrap();
        assert!(elsewhere.contains("is in memory space"), "{elsewhere}");
    }

    #[test]
    fn the_fullest_step_is_the_first_of_the_highest() {
        let map = map("tpu-split/module_0017");
        let (charts, _) = charts(&map, &Selection::default());
        for chart in &charts {
            let peak = chart.peak;
            assert_eq!(
                chart.fullest(chart.first, chart.last),
                (peak.step, peak.occupied_bytes)
            );
        }
        assert!(!charts.is_empty());
    }

    #[test]
    fn small_parts_get_the_floor() {
        assert_eq!(
            shared(&[90, 9, 1, 0], 100.0, 10.0),
            [70.0, 10.0, 10.0, 10.0]
        );
        assert_eq!(shared(&[3, 1], 40.0, 5.0), [30.0, 10.0]);
        assert_eq!(shared(&[0], 40.0, 5.0), [5.0]);
    }
}
