//! Which values of an allocation can be drawn on one track. A viewer of traces takes slices for
//! calls: on a track they have to lie within one another or apart.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// So many slices lie within one another at most. Viewers drop those below 255 others or more.
const DEPTH: usize = 100;

/// Lanes, each with the ends of the slices that are open in it, the innermost last.
#[derive(Debug, Default)]
pub struct Lanes {
    open: Vec<Vec<u64>>,
    /// The innermost end of each lane that has one, with the lane.
    innermost: BTreeSet<(u64, usize)>,
    /// The lanes in which nothing is open.
    free: BTreeSet<usize>,
}

impl Lanes {
    /// The lane for the slice of `steps`: where it lies within the shortest that holds it all, else one
    /// with nothing in it. Slices come in the order of their first steps, of equal ones the longest
    /// first.
    pub fn place(&mut self, steps: RangeInclusive<u64>) -> usize {
        let (start, last) = steps.into_inner();
        while let Some(&(end, lane)) = self.innermost.first().filter(|(end, _)| *end < start) {
            self.innermost.remove(&(end, lane));
            self.open[lane].pop();
            self.settle(lane);
        }
        let mut holding = self.innermost.range((last, 0)..);
        let lane = match holding.find(|(_, lane)| self.open[*lane].len() < DEPTH) {
            Some(&(end, lane)) => {
                self.innermost.remove(&(end, lane));
                lane
            }
            None => self.free.pop_first().unwrap_or_else(|| {
                self.open.push(Vec::new());
                self.open.len() - 1
            }),
        };
        self.open[lane].push(last);
        self.settle(lane);
        lane
    }

    fn settle(&mut self, lane: usize) {
        match self.open[lane].last() {
            Some(&end) => self.innermost.insert((end, lane)),
            None => self.free.insert(lane),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(slices: &[(u64, u64)]) -> Vec<usize> {
        let mut lanes = Lanes::default();
        let place = |&(start, last)| lanes.place(start..=last);
        slices.iter().map(place).collect()
    }

    #[test]
    fn slices_of_a_lane_nest_or_are_apart() {
        // Within one another; apart; across.
        assert_eq!(lanes(&[(0, 9), (0, 4), (2, 4)]), [0, 0, 0]);
        assert_eq!(lanes(&[(0, 4), (5, 9), (10, 10)]), [0, 0, 0]);
        assert_eq!(lanes(&[(0, 4), (4, 9), (5, 9)]), [0, 1, 1]);
        // In the shortest that holds it; then in the first lane that is free again.
        assert_eq!(lanes(&[(0, 9), (1, 10), (2, 8), (12, 13)]), [0, 1, 0, 0]);
    }

    #[test]
    fn no_lane_is_too_deep() {
        let slices = [(0, 9); DEPTH + 1];
        let lanes = lanes(&slices);
        assert_eq!((lanes[DEPTH - 1], lanes[DEPTH]), (0, 1));
    }
}
