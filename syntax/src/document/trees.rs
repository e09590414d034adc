//! The trees of blocks and of lines, and which of them are kept.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::sync::{Arc, MutexGuard, PoisonError};

use lru::LruCache;
use rowan::GreenNode;

use super::{Block, Document};
use crate::SyntaxNode;

/// Trees of the long lines looked at last are kept as long as their texts together have no more bytes than a twentieth
/// of the document, within these bounds; a tree takes up to ten times its text, less where shapes repeat.
const KEPT: RangeInclusive<usize> = 3 << 18..=3 << 20;
/// Trees of blocks with fewer bytes of text are made anew each time: it takes less than a tenth of a millisecond.
const KEPT_FROM: usize = 4 << 10;
/// Of a longer line no tree is made.
const MOST_OF_TREE: usize = 32 << 20;

/// The trees of blocks that begin with a very long line, those looked at last, by the blocks' ids and with the lengths of
/// their texts.
#[derive(Debug)]
pub(super) struct Trees {
    trees: LruCache<u64, (GreenNode, usize)>,
    bytes: usize,
}

impl Default for Trees {
    fn default() -> Self {
        Self {
            trees: LruCache::unbounded(),
            bytes: 0,
        }
    }
}

impl Trees {
    fn get(&mut self, block: &Block) -> Option<GreenNode> {
        self.trees.get(&block.id).map(|(tree, _)| tree.clone())
    }

    /// Keeps a tree, and of the others as many as have `most` bytes of text together with it.
    fn put(&mut self, block: &Block, tree: GreenNode, most: usize) {
        self.bytes += block.text.len();
        if let Some((_, bytes)) = self.trees.put(block.id, (tree, block.text.len())) {
            self.bytes -= bytes;
        }
        while self.bytes > most && self.trees.len() > 1 {
            self.bytes -= self.trees.pop_lru().map_or(0, |(_, (_, bytes))| bytes);
        }
    }
}

impl Document {
    /// The tree of block `block` and its first byte's offset. `None` if there is no such block, and
    /// for a line of more than 32 MiB, whose tree would take ten times as much.
    pub fn tree(&self, block: usize) -> Option<(u32, SyntaxNode)> {
        let (start, block) = self.block(block)?;
        if block.text.len() > MOST_OF_TREE {
            return None;
        }
        let green = if is_kept(block) {
            self.kept_tree(block)
        } else {
            block.tree()
        };
        Some((start, SyntaxNode::new_root(green)))
    }

    /// The tree that the byte at `offset` is in, which lies in block `block` (of its logical line, or of the block if
    /// its tree is kept), and its first byte's offset.
    pub(super) fn tree_around(&self, block: usize, offset: u32) -> Option<(u32, SyntaxNode)> {
        let (start, of_block) = self.block(block)?;
        if is_kept(of_block) {
            return self.tree(block);
        }
        let (line, green) = of_block.tree_of_line(offset - start)?;
        Some((start + line, SyntaxNode::new_root(green)))
    }

    fn kept_tree(&self, block: &Block) -> GreenNode {
        let cached = self.trees().get(block);
        cached.unwrap_or_else(|| {
            let green = block.tree();
            self.trees().put(block, green.clone(), self.most_of_trees());
            green
        })
    }

    /// The numbers of blocks that begin with a very long line and differ, as many as trees are kept of. Whoever
    /// asks for these trees before they are needed lets nobody wait for the longest.
    pub fn long_blocks(&self) -> Vec<usize> {
        let mut room = self.most_of_trees();
        let mut seen = HashSet::new();
        let is_new = |(_, block): &(usize, &Arc<Block>)| is_kept(block) && seen.insert(block.id);
        let long = self.blocks.iter().enumerate().filter(is_new);
        let fitting = long.filter(|(_, block)| {
            let left = room.checked_sub(block.text.len());
            room = left.unwrap_or(room);
            left.is_some()
        });
        fitting.map(|(number, _)| number).collect()
    }

    /// Trees of so many bytes of text are kept.
    fn most_of_trees(&self) -> usize {
        (self.len() as usize / 20).clamp(*KEPT.start(), *KEPT.end())
    }

    fn trees(&self) -> MutexGuard<'_, Trees> {
        // The cache is whole whatever panicked while it was held.
        self.trees.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the block's tree is worth keeping.
fn is_kept(block: &Block) -> bool {
    block.is_long() && block.text.len() >= KEPT_FROM
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_of_long_lines_alone_are_kept_and_the_longest_have_none() {
        let line = |letter: &str, length: usize| format!("{}\n", letter.repeat(length));
        let long = KEPT.end() / 3 * 2;
        let short = line("d", 100).repeat(1000);
        let text = line("a", long) + &line("b", long) + &line("c", MOST_OF_TREE) + &short;
        let document = Document::new(&text).expect("below 4 GiB");
        let kept = |block: usize| {
            let block = &document.blocks[block];
            document.trees().trees.contains(&block.id)
        };
        assert!(document.tree(0).is_some() && kept(0));
        assert!(document.tree(1).is_some() && kept(1));
        assert!(!kept(0), "both are too much");
        assert!(document.tree(2).is_none());
        let others = 3..document.blocks.len();
        assert!(others.clone().all(|block| document.tree(block).is_some()));
        assert!(kept(1) && !others.clone().any(kept));
        assert!(
            document.tree(others.end).is_none(),
            "there is no such block"
        );
        let middle = (2 * long + MOST_OF_TREE / 2) as u32;
        assert!(document.token_at(middle).is_none());
    }

    #[test]
    fn long_lines_that_differ_are_named_as_far_as_their_trees_are_kept() {
        let line = |letter: &str, length: usize| format!("{}\n", letter.repeat(length));
        let text =
            line("a", KEPT_FROM) + "b\n" + &line("a", KEPT_FROM) + &line("c", KEPT.start() / 2);
        let document = Document::new(&text).expect("below 4 GiB");
        assert_eq!(document.long_blocks(), [0, 3]);
        let text = text + &line("d", KEPT.start() / 2) + &line("e", KEPT_FROM) + &line("f", 2000);
        let document = Document::new(&text).expect("below 4 GiB");
        assert_eq!(
            document.long_blocks(),
            [0, 3, 5],
            "not the second one that is so long"
        );
    }
}
