//! Whether the lines below `positions:` show results as a whole.

use super::names::NameId;
use super::shapes::{index_numbers, index_of};
use super::{Dump, Value};

/// Of more lines that show values at one place these are looked at.
const MOST: usize = 64;

impl Dump {
    /// Instructions of whose results the lines below `positions:` do not show each part once: two show a value at the same
    /// index, or there are more or fewer parts than the shape has; and those that read a value or stand in the schedule,
    /// and are shown nowhere. In the order of these lines; none where there are none.
    pub fn oddly_shown(&self) -> Vec<NameId> {
        if self.positions.is_empty() {
            return Vec::new();
        }
        let mut flat = vec![self.names.get("{}")];
        let names = (0..self.names.count()).map(NameId::at);
        let is_odd = |&name: &NameId| {
            let shown = self.positions_by_name.of(name.place());
            if shown.len() < 2 {
                let is_known =
                    || self.uses_by(name).next().is_some() || self.step_of(name).is_some();
                return match shown.first() {
                    Some(&at) => Some(self.positions[at as usize].index) != flat[0],
                    None => is_known(),
                };
            }
            for part in flat.len() - 1..shown.len() - 1 {
                flat.push(self.names.get(&format!("{{{part}}}")));
            }
            // Most tuples have no tuples in them.
            let mut indices = shown.iter().zip(&flat);
            let parts = self.parts_shown(shown[0]);
            let is_flat_and_whole = parts.is_none_or(|parts| parts + 1 == shown.len())
                && indices.all(|(&at, &index)| Some(self.positions[at as usize].index) == index);
            !is_flat_and_whole && !self.is_whole(name, shown)
        };
        let mut odd: Vec<NameId> = names.filter(is_odd).collect();
        // A tuple of which nothing but the whole is shown.
        let is_tuple = |value: &&Value| {
            let parts = value.shape.and_then(|shape| self.shapes.elements(shape));
            parts.is_some_and(|parts| parts > 0)
        };
        let whole = self.values.iter().filter(is_tuple);
        let names = whole
            .flat_map(|value| self.positions_of(value))
            .map(|it| it.name);
        odd.extend(names.filter(|name| self.positions_by_name.of(name.place()).len() == 1));
        odd.sort_by_cached_key(|&name| {
            let (shown, used) = (self.positions_at(name).min(), self.uses_by(name).min());
            let lines = [shown, used, self.step_of(name)];
            lines.map(|line| line.unwrap_or(u32::MAX))
        });
        odd.dedup();
        odd
    }

    /// How many parts the value has that the position `at` shows, if its shape is known.
    fn parts_shown(&self, at: u32) -> Option<usize> {
        let value = &self.values[self.positions[at as usize].value as usize];
        self.shapes.elements(value.shape?)
    }

    /// Whether `shown`, the positions at `name` sorted by index, show each part of a result once.
    fn is_whole(&self, name: NameId, shown: &[u32]) -> bool {
        let index = |at: u32| self.positions[at as usize].index;
        let are_unique = shown
            .windows(2)
            .all(|pair| index(pair[0]) != index(pair[1]));
        let has_all = |&at: &u32| {
            let index = &self.names[index(at)];
            let before = index_before(index);
            let has = |part: usize| self.shows(name, &index_of_part(index, part));
            before.is_none_or(|before| self.shows(name, &before))
                && self
                    .parts_shown(at)
                    .is_none_or(|parts| parts.checked_sub(1).is_none_or(has) && !has(parts))
        };
        are_unique && shown.iter().all(has_all)
    }

    /// Whether a line below `positions:` shows this value, a number into [`Dump::values`], at `name` and `index`. Of very many
    /// lines there only some are looked at.
    pub fn shows_value(&self, name: NameId, index: NameId, value: u32) -> bool {
        let mut shown = self.positions_at_index(name, index).take(MOST);
        shown.any(|at| self.positions[at as usize].value == value)
    }

    /// Whether some line below `positions:` shows a value at `name` and `index`.
    pub fn shows(&self, name: NameId, index: &str) -> bool {
        let index = self.names.get(index);
        index.is_some_and(|index| self.positions_at_index(name, index).next().is_some())
    }
}

/// The index that has to be there for `index` to be: that of the part before it in its tuple, or of the tuple itself.
/// `None` of the whole result.
///
/// `{1,2}` needs `{1,1}`, `{1,0}` needs `{1}`, and `{0}` needs `{}`.
pub fn index_before(index: &str) -> Option<String> {
    let mut numbers = index_numbers(index);
    let last = numbers.pop()?;
    numbers.extend(last.checked_sub(1));
    Some(index_of(&numbers))
}

/// The index of a part, from 0, of what stands at `index`.
fn index_of_part(index: &str, part: usize) -> String {
    let mut numbers = index_numbers(index);
    numbers.push(part as u64);
    index_of(&numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_needs_the_one_before_it() {
        let before = |index| index_before(index);
        assert_eq!(before("{}"), None);
        assert_eq!(before("{0}").as_deref(), Some("{}"));
        assert_eq!(before("{12}").as_deref(), Some("{11}"));
        assert_eq!(before("{3,0}").as_deref(), Some("{3}"));
        assert_eq!(before("{3,0,7}").as_deref(), Some("{3,0,6}"));
        assert_eq!(before("{x}"), None);
        assert_eq!(index_of_part("{}", 0), "{0}");
        assert_eq!(index_of_part("{3}", 10), "{3,10}");
    }
}
