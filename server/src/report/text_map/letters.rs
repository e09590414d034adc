//! Which letter stands for which value.

use rustc_hash::FxHashMap;

use crate::report::records::Map;

/// What all values without a letter of their own are.
pub const OTHER: char = '+';

/// Letters for the values that are seen most.
pub struct Letters {
    of: FxHashMap<usize, char>,
    /// In the order of allocations and time.
    pub named: Vec<(usize, char)>,
    /// Values that are seen as [`OTHER`].
    pub others: usize,
}

impl Letters {
    /// Gives letters to `most` values of `counts`, which says in how many cells each is.
    pub fn new(map: &Map, counts: &FxHashMap<usize, usize>, most: usize) -> Self {
        let mut seen: Vec<usize> = counts.keys().copied().collect();
        seen.sort_by_key(|value| {
            let bytes = map.values.bytes[*value];
            (std::cmp::Reverse((counts[value], bytes)), *value)
        });
        let (mut of, mut free) = (FxHashMap::default(), Self::all().collect::<Vec<char>>());
        for &value in seen.iter().take(most) {
            let name = map.text(map.values.name[value]);
            let wanted = name.chars().filter(char::is_ascii_alphabetic);
            let mut wanted =
                wanted.flat_map(|it| [it.to_ascii_uppercase(), it.to_ascii_lowercase()]);
            let letter = wanted.find(|it| free.contains(it));
            let Some(letter) = letter.or_else(|| free.first().copied()) else {
                break;
            };
            free.retain(|&it| it != letter);
            of.insert(value, letter);
        }
        let mut named: Vec<(usize, char)> =
            of.iter().map(|(&value, &letter)| (value, letter)).collect();
        named.sort_by_key(|&(value, _)| {
            let values = &map.values;
            (
                values.allocation[value],
                values.start[value],
                values.offset[value],
                value,
            )
        });
        Self {
            others: seen.len() - of.len(),
            of,
            named,
        }
    }

    fn all() -> impl Iterator<Item = char> {
        ('A'..='Z').chain('a'..='z').chain('0'..='9')
    }

    /// The letter of a value.
    pub fn of(&self, value: usize) -> char {
        self.of.get(&value).copied().unwrap_or(OTHER)
    }

    /// How many values are seen at all.
    pub fn shown(&self) -> usize {
        self.named.len() + self.others
    }
}
