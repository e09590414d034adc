//! What was seen of the blocks of an HLO text, so that of the next state of that text only those are read again that may say
//! something else.
//!
//! What is found in a block hangs on its own text, on the definitions of its computations, on what the computations that
//! it names take and give, and on the frame: the headings, the tables and the headers of computations.

use std::hash::{BuildHasher, Hash};
use std::ops::Range;
use std::sync::Arc;

use buflens_syntax::Block;
use buflens_syntax::facts::Span;
use memchr::memmem;
use rustc_hash::FxBuildHasher;

use crate::model::{Dump, FileId, Located};

/// Of so many computations at most that have changed it is looked where they are named.
const MOST_CHANGED: usize = 8;

/// A sequence, in so many bits that no two that differ are taken for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Digest {
    hash: u64,
    /// [`Self::BASE`] to the power of how many there are.
    power: u64,
}

impl Default for Digest {
    fn default() -> Self {
        Self { hash: 0, power: 1 }
    }
}

impl Digest {
    const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

    fn push(&mut self, item: impl Hash) {
        self.join(Self {
            hash: FxBuildHasher.hash_one(item),
            power: Self::BASE,
        });
    }

    /// Adds those of `next` behind.
    fn join(&mut self, next: Self) {
        self.hash = self.hash.wrapping_mul(next.power).wrapping_add(next.hash);
        self.power = self.power.wrapping_mul(next.power);
    }
}

/// What other blocks may hang on.
#[derive(Debug, Default)]
pub(super) struct Interface {
    /// The headings, the rows of tables and the headers of computations.
    frame: Digest,
    /// Of the instructions: first those of the computation that began before the block, then those of each that begins in it.
    definitions: Vec<Digest>,
}

impl Interface {
    /// That of a block with these instructions, before which so many computations begin.
    pub fn of(block: &Block, instructions: &[Located], computations: u32) -> Self {
        let text = block.text();
        let headings = block.headings().iter().map(|(_, line)| *line);
        let rows = block.table_rows().iter().map(|row| row.row.span);
        let headers = block.computations().iter().map(|header| header.line);
        // In the order of the text: a row that is before a heading is another's.
        let mut lines: Vec<Span> = headings.chain(rows).chain(headers).collect();
        lines.sort_unstable_by_key(|line| line.start);
        let mut frame = Digest::default();
        for line in lines {
            frame.push(line.text(text));
        }
        let mut definitions = vec![Digest::default(); 1 + block.computations().len()];
        for Located {
            computation, row, ..
        } in instructions
        {
            let begun = computation.map_or(0, |it| it + 1);
            if let Some(definitions) =
                definitions.get_mut(begun.saturating_sub(computations) as usize)
            {
                let (name, shape) = (row.name.text(text), row.shape.text(text));
                definitions.push((name, shape, row.parameter.get(), row.is_root(text)));
            }
        }
        Self { frame, definitions }
    }
}

/// A block when it was read.
#[derive(Debug)]
pub struct Seen {
    block: u64,
    interface: Interface,
    /// Whether nothing was found in it.
    is_sound: bool,
}

impl Seen {
    pub(super) fn new(block: &Block, interface: Interface, is_sound: bool) -> Self {
        Self {
            block: block.id(),
            interface,
            is_sound,
        }
    }
}

/// Which blocks are those of the state before.
pub(super) struct Comparison<'s> {
    before: &'s [Arc<Seen>],
    count: usize,
    /// So many at the start are the same, ...
    at_start: usize,
    /// ... and so many at the end.
    at_end: usize,
}

impl<'s> Comparison<'s> {
    /// Of `blocks`, where `before` were seen in the state before.
    pub fn new(before: &'s [Arc<Seen>], blocks: &[&Block]) -> Self {
        let is_same = |(block, seen): &(&&Block, &Arc<Seen>)| block.id() == seen.block;
        let pairs = blocks.iter().zip(before);
        let at_start = pairs.take_while(is_same).count();
        let (rest, gone) = (&blocks[at_start..], &before[at_start..]);
        let pairs = rest.iter().rev().zip(gone.iter().rev());
        Self {
            before,
            count: blocks.len(),
            at_start,
            at_end: pairs.take_while(is_same).count(),
        }
    }

    /// The blocks that are new.
    pub fn new_blocks(&self) -> Range<usize> {
        self.at_start..self.count - self.at_end
    }

    /// What was seen of block `number`, if it is not new.
    pub fn seen(&self, number: usize) -> Option<&'s Arc<Seen>> {
        if number < self.at_start {
            return self.before.get(number);
        }
        let behind = number.checked_sub(self.count - self.at_end)?;
        self.before.get(self.before.len() - self.at_end + behind)
    }

    /// The other blocks of `file` of the dump that have to be read, where the new ones are `interfaces`.
    pub fn others<'i>(
        &self,
        dump: &Dump,
        file: FileId,
        interfaces: impl Iterator<Item = &'i Interface>,
    ) -> Vec<usize> {
        let gone = &self.before[self.at_start..self.before.len() - self.at_end];
        let (old_frame, old_definitions) = joined(gone.iter().map(|seen| &seen.interface));
        let (frame, definitions) = joined(interfaces);
        let numbers = (dump.computations_before(file, self.at_start)..).map(|it| it.checked_sub(1));
        let pairs = definitions.iter().zip(&old_definitions).zip(numbers);
        let changed = pairs.filter(|((new, old), _)| new != old);
        let changed: Vec<Option<u32>> = changed.map(|(_, number)| number).collect();
        let is_all = frame != old_frame
            || definitions.len() != old_definitions.len()
            || changed.len() > MOST_CHANGED;
        let theirs: Vec<Range<usize>> = changed
            .iter()
            .map(|&it| dump.block_numbers_of(it))
            .collect();
        let names = changed
            .iter()
            .filter_map(|it| dump.computation_name((*it)?));
        let names: Vec<memmem::Finder> = names.map(memmem::Finder::new).collect();
        let names_one = |number: usize| {
            let block = dump.files[file].document.block(number);
            let text = block.map_or("", |(_, block)| block.text());
            let mut names = names.iter();
            names.any(|name| name.find(text.as_bytes()).is_some())
        };
        let others = (0..self.count).filter(|&number| {
            self.seen(number).is_some_and(|seen| {
                is_all
                    || !seen.is_sound
                    || theirs.iter().any(|blocks| blocks.contains(&number))
                    || names_one(number)
            })
        });
        others.collect()
    }
}

/// The frame and the definitions, by computation, of blocks that follow each other.
fn joined<'i>(interfaces: impl Iterator<Item = &'i Interface>) -> (Digest, Vec<Digest>) {
    let (mut frame, mut definitions) = (Digest::default(), vec![Digest::default()]);
    for interface in interfaces {
        frame.join(interface.frame);
        let mut own = interface.definitions.iter();
        if let (Some(last), Some(first)) = (definitions.last_mut(), own.next()) {
            last.join(*first);
        }
        definitions.extend(own);
    }
    (frame, definitions)
}

#[cfg(test)]
mod tests;
