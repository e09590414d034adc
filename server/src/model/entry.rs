//! What goes into the program and comes out of it: the allocations of its parameters, and those of its result.

use rustc_hash::FxHashMap;

use super::shapes::index_numbers;
use super::{Dump, NameId};

impl Dump {
    /// The instruction that gives the program's result, as the allocation of that tells it.
    pub fn result(&self) -> Option<NameId> {
        let root = self.allocations.iter().find(|it| it.has_output_shape())?;
        // Others may lie there before it.
        let values = root.values.clone();
        let last = values.max_by_key(|&at| self.live(&self.values[at as usize]))?;
        Some(self.values[last as usize].name)
    }

    /// The allocations of the entry's parameters, as numbers into [`Dump::allocations`], in their order. The first call finds
    /// them.
    pub fn parameters(&self) -> &[u32] {
        self.parameters.get_or_init(|| {
            let all = (0..).zip(&self.allocations);
            let parameters = all.filter(|(_, it)| it.is_parameter());
            parameters.map(|(at, _)| at).collect()
        })
    }

    /// The allocations with parts of the result in them, and no parameter, as numbers into [`Dump::allocations`]: in the order
    /// of these parts, behind them what is in no part that is known. The first call finds them.
    pub fn outputs(&self) -> &[u32] {
        self.outputs.get_or_init(|| {
            let all = (0..).zip(&self.allocations);
            let outputs = all.filter(|(_, it)| it.kinds().maybe_live_out && !it.is_parameter());
            let mut outputs: Box<[u32]> = outputs.map(|(at, _)| at).collect();
            if !outputs.is_empty() {
                let places = self.places_in_result();
                outputs.sort_by_key(|at| (!places.contains_key(at), places.get(at)));
            }
            outputs
        })
    }

    /// Of each allocation with a part of the result, where in that its first one is.
    fn places_in_result(&self) -> FxHashMap<u32, Vec<u64>> {
        let mut places: FxHashMap<u32, Vec<u64>> = FxHashMap::default();
        let all = self.result().into_iter();
        for at in all.flat_map(|result| self.positions_at(result)) {
            let position = self.positions[at as usize];
            if let Some(allocation) = self.values[position.value as usize].allocation() {
                let place = index_numbers(&self.names[position.index]);
                let first = places.entry(allocation).or_insert_with(|| place.clone());
                if place < *first {
                    *first = place;
                }
            }
        }
        places
    }
}
