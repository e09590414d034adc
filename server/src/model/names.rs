//! Interned names.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// A name of a dump: an instruction's or computation's name, or a shape index. Equal texts have
/// equal ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(u32);

/// All names of a dump, each stored once.
#[derive(Debug, Default)]
pub struct Names {
    text: String,
    /// Where each name ends in the text.
    ends: Vec<usize>,
    table: HashTable<NameId>,
}

impl Names {
    /// The id of `name`, which is added if it is new.
    pub fn intern(&mut self, name: &str) -> NameId {
        let hash = hash(name);
        let Self { text, ends, table } = self;
        if let Some(&id) = table.find(hash, |&id| lookup(text, ends, id) == name) {
            return id;
        }
        let id = NameId(ends.len() as u32);
        text.push_str(name);
        ends.push(text.len());
        table.insert_unique(hash, id, |&id| self::hash(lookup(text, ends, id)));
        id
    }

    /// The id of `name`, if the dump has it.
    pub fn get(&self, name: &str) -> Option<NameId> {
        self.table
            .find(hash(name), |&id| &self[id] == name)
            .copied()
    }
}

impl std::ops::Index<NameId> for Names {
    type Output = str;

    fn index(&self, id: NameId) -> &str {
        lookup(&self.text, &self.ends, id)
    }
}

fn lookup<'t>(text: &'t str, ends: &[usize], id: NameId) -> &'t str {
    let at = id.0 as usize;
    let start = if at == 0 { 0 } else { ends[at - 1] };
    &text[start..ends[at]]
}

fn hash(name: &str) -> u64 {
    FxBuildHasher.hash_one(name)
}
