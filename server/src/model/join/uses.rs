//! Lines below `uses:` that cannot be as they are printed. They are looked for while a dump is read, as the numbers
//! on these lines are not kept.

use buflens_syntax::facts::brief::{self, Text};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Dump, Join, NameId, Row, Texts, Use};

/// What the lines of section C so far say of who reads what.
#[derive(Debug, Default)]
pub(super) struct Uses {
    /// How many entries there were when an index last stood below `positions:`.
    shown: FxHashMap<NameId, u32>,
    /// The sum of the numbers of the operands that an instruction reads as a whole, by the place of its name; of that
    /// the lowest 32 bits.
    sums: Vec<u32>,
    /// The lines that read a part of an operand: the reader, the operand's number and the index.
    parts: FxHashSet<(NameId, u32, NameId)>,
    /// Who reads a value where nothing shows it, or the same part of an operand twice.
    odd: FxHashSet<NameId>,
}

impl Uses {
    /// The value of the last of `entries` entries is visible at `index`.
    pub(super) fn show(&mut self, index: NameId, entries: usize) {
        self.shown.insert(index, entries as u32);
    }

    /// [`Dump::odd_readers`] of a dump of which all has been read. Any single wrong number of an operand changes the sum,
    /// or how many there are.
    pub(super) fn odd_readers(self, dump: &Dump) -> Vec<NameId> {
        let mut odd = self.odd;
        let mut parts: FxHashMap<NameId, usize> = FxHashMap::default();
        for &(name, ..) in &self.parts {
            *parts.entry(name).or_default() += 1;
        }
        let operands = |name| {
            let parts = parts.get(&name).copied().unwrap_or_default();
            dump.uses_by(name).count().saturating_sub(parts) as u64
        };
        // What an instruction reads a part of, it reads itself.
        let behind_all = |&&(name, operand, _): &&(_, u32, _)| u64::from(operand) >= operands(name);
        odd.extend(self.parts.iter().filter(behind_all).map(|&(name, ..)| name));
        for (place, &sum) in self.sums.iter().enumerate() {
            let name = NameId::at(place);
            let operands = operands(name);
            if sum != (operands * operands.saturating_sub(1) / 2) as u32 {
                odd.insert(name);
            }
        }
        let mut odd: Vec<NameId> = odd.into_iter().collect();
        odd.sort_unstable_by_key(|&name| dump.uses_by(name).next());
        odd
    }
}

impl Join<'_> {
    pub(super) fn push_use(&mut self, reading: brief::Use, texts: &Texts, row: Row) {
        let Some(value) = self.reading.current else {
            return;
        };
        let (name, index) = (texts.name(reading.name), self.index(texts, reading.index));
        let whole = self.index(texts, Text::NONE);
        let (dump, uses) = (&mut self.dump, &mut self.uses);
        dump.uses.push(Use { row, value, name });
        // Beyond this no instruction has operands.
        let operand = u32::try_from(reading.operand).unwrap_or(u32::MAX >> 1);
        let is_shown = uses.shown.get(&index) == Some(&(dump.used_values.len() as u32));
        if !is_shown || index != whole && !uses.parts.insert((name, operand, index)) {
            uses.odd.insert(name);
        }
        if index == whole {
            let place = name.place();
            if uses.sums.len() <= place {
                uses.sums.resize(place + 1, 0);
            }
            uses.sums[place] = uses.sums[place].wrapping_add(operand);
        }
    }
}
