//! Interned names.

use std::hash::BuildHasher;
use std::num::NonZeroU32;
use std::sync::Arc;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// A name of a dump: an instruction's or computation's name, an opcode, or a shape index. Equal texts
/// have equal ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(NonZeroU32);

/// Names, each stored once. Clones share what they have in common.
#[derive(Debug, Clone, Default)]
pub struct Names(Arc<Stored>);

#[derive(Debug, Clone, Default)]
struct Stored {
    text: String,
    /// Where each name ends in the text.
    ends: Vec<u32>,
    table: HashTable<NameId>,
}

impl Names {
    /// The id of `name`, which is added if it is new.
    pub fn intern(&mut self, name: &str) -> NameId {
        let hash = hash(name);
        let found = self.0.table.find(hash, |&id| self.0.lookup(id) == name);
        if let Some(&id) = found {
            return id;
        }
        let Stored { text, ends, table } = Arc::make_mut(&mut self.0);
        let Ok(end) = u32::try_from(text.len() + name.len()) else {
            // Of 4 GiB of names that all differ, those behind are as good as the first.
            return NameId::at(0);
        };
        // Room for an eighth more, not for as many again: names stay as long as their dump does.
        if text.capacity() - text.len() < name.len() {
            text.reserve_exact(name.len().max(text.len() / 8));
        }
        if ends.capacity() == ends.len() {
            ends.reserve_exact((ends.len() / 8).max(16));
        }
        text.push_str(name);
        ends.push(end);
        let id = NameId::at(ends.len() - 1);
        table.insert_unique(hash, id, |&id| self::hash(lookup(text, ends, id)));
        id
    }

    /// What orders indices: elements by their number, those within an element behind the others. (The ids themselves are
    /// in the order in which they came up, in states of the dump before an edit as well.)
    pub fn index_order(&self, index: NameId) -> (usize, &str) {
        let text = &self[index];
        (text.len(), text)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.ends.len()
    }

    /// The bytes of all of them.
    pub fn bytes(&self) -> usize {
        self.0.text.len()
    }

    /// All of them, each with its id, in the order of these.
    pub fn iter(&self) -> impl Iterator<Item = (NameId, &str)> {
        let ids = (0..self.count()).map(NameId::at);
        ids.map(|id| (id, &self[id]))
    }

    /// The id of `name`, if the dump has it.
    pub fn get(&self, name: &str) -> Option<NameId> {
        let found = self.0.table.find(hash(name), |&id| &self[id] == name);
        found.copied()
    }
}

impl NameId {
    /// Its place in [`Names::iter`].
    pub fn place(self) -> usize {
        self.0.get() as usize - 1
    }

    /// The one that has this place.
    pub(super) fn at(place: usize) -> Self {
        Self::of_number(place as u32 + 1)
    }

    /// The id with this number, which is one of an id.
    pub(super) fn of_number(number: u32) -> Self {
        Self(NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN))
    }

    /// Its number, from 1.
    pub(super) fn number(self) -> u32 {
        self.0.get()
    }
}

/// Rows of a table by a number that each of them has: the place of a name, a step.
#[derive(Debug, Default)]
pub(super) struct ByNumber {
    rows: Vec<u32>,
    /// Where the rows of each number begin, and how many rows there are.
    starts: Vec<u32>,
}

impl ByNumber {
    /// The rows whose numbers are `numbers`, those of one number in the order of `key` and of the table.
    /// Takes as much memory as the largest number says.
    pub(super) fn new<K: Ord>(
        numbers: impl DoubleEndedIterator<Item = usize> + ExactSizeIterator + Clone,
        key: impl Fn(u32) -> K,
    ) -> Self {
        let most = numbers.clone().max().map_or(0, |number| number + 1);
        let mut starts = vec![0_u32; most + 1];
        for number in numbers.clone() {
            starts[number] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut rows = vec![0; numbers.len()];
        for (row, number) in numbers.enumerate().rev() {
            let start = &mut starts[number];
            *start -= 1;
            rows[*start as usize] = row as u32;
        }
        for number in 0..most {
            let of_number = &mut rows[starts[number] as usize..starts[number + 1] as usize];
            if of_number.len() > 1 {
                of_number.sort_by_key(|&row| key(row));
            }
        }
        Self { rows, starts }
    }

    /// Whether there are no rows.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows with `number`.
    pub(super) fn of(&self, number: usize) -> &[u32] {
        let Some(&[start, end]) = self.starts.get(number..number.saturating_add(2)) else {
            return &[];
        };
        &self.rows[start as usize..end as usize]
    }
}

/// How well something fits what is looked for; the better the less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// The name is what is looked for, in upper or lower case.
    Equal,
    /// The name begins with it.
    Start,
    /// The name has it.
    Part,
    /// What else is known has it.
    Aside,
}

impl Rank {
    /// How `query` is found in `name`, upper and lower case being the same.
    pub fn of(name: &str, query: &str) -> Option<Self> {
        let (name, query) = (name.as_bytes(), query.as_bytes());
        let Some(&first) = query.first() else {
            return Some(Self::Part);
        };
        let last = name.len().checked_sub(query.len())?;
        let (lower, upper) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
        let is_here = |&at: &usize| name[at..at + query.len()].eq_ignore_ascii_case(query);
        let at = memchr::memchr2_iter(lower, upper, &name[..=last]).find(is_here)?;
        Some(match at {
            0 if name.len() == query.len() => Self::Equal,
            0 => Self::Start,
            _ => Self::Part,
        })
    }
}

impl std::ops::Index<NameId> for Names {
    type Output = str;

    fn index(&self, id: NameId) -> &str {
        self.0.lookup(id)
    }
}

impl Stored {
    fn lookup(&self, id: NameId) -> &str {
        lookup(&self.text, &self.ends, id)
    }
}

fn lookup<'t>(text: &'t str, ends: &[u32], id: NameId) -> &'t str {
    let at = id.place();
    let start = if at == 0 { 0 } else { ends[at - 1] };
    &text[start as usize..ends[at] as usize]
}

fn hash(name: &str) -> u64 {
    FxBuildHasher.hash_one(name)
}

/// Whether a character reorders the text around it, or hides in it: what is shown is not what stands there.
pub fn is_hidden(char: char) -> bool {
    matches!(
        char,
        '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ranked_by_where_they_have_the_query() {
        let rank = |name| Rank::of(name, "add.1");
        assert_eq!(rank("ADD.1"), Some(Rank::Equal));
        assert_eq!(rank("add.12"), Some(Rank::Start));
        assert_eq!(rank("a_add.1"), Some(Rank::Part));
        assert_eq!(rank("add"), None);
        assert_eq!(rank(""), None);
        assert_eq!(Rank::of("", ""), Some(Rank::Part));
    }

    #[test]
    fn rows_are_found_by_number_in_the_order_of_a_key() {
        let of_rows = [1, 0, 1, 2, 1];
        let keys = [3, 0, 1, 0, 1];
        let by_number = ByNumber::new(of_rows.into_iter(), |row| keys[row as usize]);
        assert_eq!(by_number.of(0), [1]);
        assert_eq!(by_number.of(1), [2, 4, 0]);
        assert_eq!(by_number.of(2), [3]);
        assert_eq!(by_number.of(3), [0_u32; 0]);
        assert_eq!(by_number.of(usize::MAX), [0_u32; 0]);
        assert!(ByNumber::default().is_empty() && ByNumber::default().of(0).is_empty());
    }

    #[test]
    fn names_are_told_with_their_ids() {
        let mut names = Names::default();
        let ids = ["a", "", "b", "a"].map(|name| names.intern(name));
        assert_eq!((names.count(), names.bytes()), (3, 2));
        let all: Vec<_> = names.iter().collect();
        assert_eq!(all, [(ids[0], "a"), (ids[1], ""), (ids[2], "b")]);
        assert_eq!(ids[2].place(), 2);
    }
}
