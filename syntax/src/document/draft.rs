//! A document that is being edited.

use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use super::cut::{Cutter, check_length};
use super::{Block, Document, TooLarge};
use crate::position::{Encoding, LineColumn};

/// Text that is not cut yet is held in pieces of so many bytes and up to twice as many, unless its lines are longer: each
/// edit writes one anew.
const PIECE: usize = 8 << 10;

/// Of blocks that edits have taken away so many bytes are kept, and of a document that is left no more than a part, as they
/// may share a text with all that was taken away.
const MOST_TAKEN: usize = 128 << 10;
const TAKEN_PART: u32 = 4;

/// A document of which several edits are made in turn. What they touch is cut into blocks once, behind the last: a client
/// may send ten thousands at once, and each may move the cuts of many blocks.
#[derive(Debug)]
pub struct Draft {
    /// The blocks that edits have touched are pieces of text, which say nothing but where their lines begin.
    document: Document,
    /// Of each block, whether it is such a piece.
    is_piece: Vec<bool>,
    /// Blocks that begin with long lines and have been touched: these lines may still be there.
    replaced: Vec<Arc<Block>>,
    taken: Taken,
}

/// Blocks that edits have taken away, the last ones last.
#[derive(Debug, Clone, Default)]
pub(super) struct Taken {
    blocks: VecDeque<Arc<Block>>,
    ids: HashSet<u64>,
    /// Of their texts.
    bytes: usize,
}

impl Taken {
    /// Not one that would drive all others out.
    fn add(&mut self, block: &Arc<Block>) {
        if block.text.len() > MOST_TAKEN {
            return;
        }
        if !self.ids.insert(block.id) {
            self.blocks.retain(|it| it.id != block.id);
            self.bytes -= block.text.len();
        }
        self.blocks.push_back(Arc::clone(block));
        self.bytes += block.text.len();
        self.bound(MOST_TAKEN);
    }

    /// Forgets what was taken away first, down to `most` bytes.
    fn bound(&mut self, most: usize) {
        while self.bytes > most
            && let Some(first) = self.blocks.pop_front()
        {
            self.forget(&first);
        }
    }

    /// Forgets those for which more than `most` bytes are held, as the text that they were a part of may be long.
    fn bound_held(&mut self, most: usize) {
        for block in std::mem::take(&mut self.blocks) {
            if block.text.held() > most {
                self.forget(&block);
            } else {
                self.blocks.push_back(block);
            }
        }
    }

    fn forget(&mut self, block: &Block) {
        self.ids.remove(&block.id);
        self.bytes -= block.text.len();
    }
}

impl Draft {
    pub(super) fn new(mut document: Document) -> Self {
        Self {
            is_piece: vec![false; document.blocks.len()],
            replaced: Vec::new(),
            taken: Arc::unwrap_or_clone(std::mem::take(&mut document.taken)),
            document,
        }
    }

    /// The length of the text in bytes.
    pub fn length(&self) -> u32 {
        self.document.len()
    }

    /// As [`Document::offset`], of the text as it is now.
    pub fn offset(&self, position: LineColumn, encoding: Encoding) -> Option<u32> {
        self.document.offset(position, encoding)
    }

    /// Replaces `range` (bytes, on character boundaries) by `text`.
    ///
    /// # Errors
    /// If the result is longer than 32-bit offsets can address.
    ///
    /// # Panics
    /// If the range is not one of the text, as slicing a string does.
    pub fn edit(&mut self, range: Range<u32>, text: &str) -> Result<(), TooLarge> {
        let document = &self.document;
        check_length(
            u64::from(document.len()) - u64::from(range.end - range.start) + text.len() as u64,
        )?;
        let mut first = document.block_at(range.start).unwrap_or(0);
        let mut next = document.block_at(range.end).map_or(0, |last| last + 1);
        let mut piece = if next == 0 {
            text.to_owned()
        } else {
            let (start, last) = (document.starts[first], document.starts[next - 1]);
            let before = &document.blocks[first].text[..(range.start - start) as usize];
            let behind = &document.blocks[next - 1].text[(range.end - last) as usize..];
            [before, text, behind].concat()
        };
        // No line reaches from one block into the next.
        while !piece.ends_with('\n') && next < document.blocks.len() {
            piece.push_str(&document.blocks[next].text);
            next += 1;
        }
        // Where nothing is left of the end of the text, what is before it may be cut otherwise.
        if piece.is_empty() && first > 0 {
            first -= 1;
            piece.push_str(&document.blocks[first].text);
        }
        for at in first..next {
            if self.is_piece[at] {
                continue;
            }
            let block = &self.document.blocks[at];
            if block.is_long() {
                self.replaced.push(Arc::clone(block));
            } else {
                self.taken.add(block);
            }
        }
        self.replace(first..next, pieces(piece), true);
        Ok(())
    }

    /// The document with the edits made.
    pub fn finish(mut self) -> Document {
        let mut at = 0;
        while let Some(first) = self.is_piece[at..].iter().position(|&it| it) {
            at = self.cut(at + first);
        }
        for block in &self.replaced {
            self.taken.add(block);
        }
        let length = self.document.len();
        self.taken.bound((length / TAKEN_PART) as usize);
        self.taken.bound_held(2 * length as usize);
        self.document.taken = self.taken.into();
        self.document.finish_replacing();
        self.document
    }

    /// Cuts the pieces from block `first` on, which is one, and as many blocks behind them as cuts differ. Gives the number of the
    /// block behind.
    fn cut(&mut self, first: usize) -> usize {
        let count = self.is_piece.len();
        // The block before may end in a line whose meaning lies in the one behind it.
        let from = first.saturating_sub(1);
        let (mut next, mut end) = (from, first + 1);
        let mut more = 1;
        let mut scratch = String::new();
        let replacement = loop {
            // Pieces that follow have to be cut in any case.
            while end < count && self.is_piece[end] {
                end += 1;
            }
            let blocks = Arc::make_mut(&mut self.document.blocks);
            for (block, is_piece) in blocks.iter_mut().zip(&self.is_piece).take(end).skip(next) {
                // A piece may be a line of half the text: it goes before there are blocks of it.
                match Arc::get_mut(block).filter(|_| *is_piece) {
                    Some(piece) if scratch.is_empty() => scratch = piece.text.take(),
                    Some(piece) => scratch.push_str(&piece.text.take()),
                    None => scratch.push_str(&block.text),
                }
            }
            next = end;
            let ahead = self.document.two_lines(next);
            let mut cutter = Cutter::new(self.document.blocks[from].mode);
            // What is taken in again unchanged, or is what it was before, is known already. Where nothing else is left, it
            // would hold all of the text before that it shares.
            if from > 0 || next < count {
                let before = self.replaced.iter().chain(&self.taken.blocks);
                cutter.know(before.chain(self.cut_in(from..next)));
            } else {
                self.replaced.clear();
                self.taken = Taken::default();
            }
            let (blocks, cut) = cutter.finish(&scratch, ahead);
            let is_met = |behind: &Arc<Block>| {
                scratch.ends_with('\n') && cut.is_some_and(|cut| cut.mode == behind.mode)
                    || scratch.is_empty() && self.document.blocks[from].mode == behind.mode
            };
            if self.document.blocks.get(next).is_none_or(is_met) {
                break blocks;
            }
            end = (next + more).min(count);
            more *= 2;
        };
        let behind = from + replacement.len();
        let stay: HashSet<u64> = replacement.iter().map(|block| block.id).collect();
        let go = self.cut_in(from..next);
        let go: Vec<_> = go.filter(|it| !stay.contains(&it.id)).cloned().collect();
        for block in &go {
            self.taken.add(block);
        }
        self.replace(from..next, replacement, false);
        behind
    }

    /// Those of the blocks in `range` that are no pieces.
    fn cut_in(&self, range: Range<usize>) -> impl Iterator<Item = &Arc<Block>> {
        let blocks = self.document.blocks[range.clone()].iter();
        let blocks = blocks.zip(&self.is_piece[range]);
        blocks.filter_map(|(block, is_piece)| (!is_piece).then_some(block))
    }

    fn replace(&mut self, range: Range<usize>, replacement: Vec<Arc<Block>>, are_pieces: bool) {
        let are_pieces = std::iter::repeat_n(are_pieces, replacement.len());
        self.is_piece.splice(range.clone(), are_pieces);
        self.document.replace(range, replacement);
    }
}

fn pieces(text: String) -> Vec<Arc<Block>> {
    let (mut pieces, mut start) = (Vec::new(), 0);
    while let Some(rest) = text.as_bytes().get(start + PIECE..) {
        let end = memchr::memchr(b'\n', rest).map(|end| start + PIECE + end + 1);
        let Some(end) = end.filter(|end| end + PIECE <= text.len()) else {
            break;
        };
        pieces.push(Block::piece(text[start..end].into()));
        start = end;
    }
    if start == 0 && !text.is_empty() {
        pieces.push(Block::piece(text.into()));
    } else if start < text.len() {
        pieces.push(Block::piece(text[start..].into()));
    }
    pieces.into_iter().map(Arc::new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Document {
        let lines = (0..20_000).map(|id| format!("allocation {id}: size 4, thread-local:\n"));
        let text = "BufferAssignment:\n".to_owned() + &lines.collect::<String>();
        Document::new(&text).expect("a short text")
    }

    fn ids(document: &Document) -> Vec<u64> {
        document.blocks().map(|(_, block)| block.id).collect()
    }

    #[test]
    fn what_is_taken_back_brings_the_blocks_back() {
        let before = document();
        let middle = before.blocks().len() / 2;
        // In a line of a block, and where it ends and may be cut otherwise.
        for (from_start, text) in [(5, "x"), (0, "y\n"), (0, "  c\n")] {
            let at = before.block(middle).expect("a block").0 + from_start;
            let mut document = before.clone();
            for typed in text.chars().rev() {
                let typed = typed.to_string();
                document = document.edit(at..at, &typed).expect("a short text");
                assert_ne!(ids(&document), ids(&before), "{text:?}");
            }
            for _ in text.chars() {
                document = document.edit(at..at + 1, "").expect("a short text");
            }
            assert_eq!(ids(&document), ids(&before), "{text:?}");
        }
    }

    #[test]
    fn of_what_is_taken_away_little_is_kept() {
        let before = document();
        let kept = |document: &Document| {
            let blocks = document.taken.blocks.iter();
            let bytes: usize = blocks.map(|block| block.text.len()).sum();
            bytes
        };
        let mut document = before.clone();
        for line in 0..2000 {
            let at = document.line_range(line).expect("a line").start;
            document = document.edit(at..at, " ").expect("a short text");
            assert!(kept(&document) <= MOST_TAKEN);
        }
        assert!(kept(&document) > MOST_TAKEN / 2);
        let short = document
            .clone()
            .edit(100..document.len(), "")
            .expect("a short text");
        assert_eq!(kept(&short), 0);
        let empty = before
            .clone()
            .edit(0..before.len(), "")
            .expect("a short text");
        assert_eq!(kept(&empty), 0);
    }

    #[test]
    fn what_is_taken_away_holds_no_long_text() {
        let long = format!("// {}\n", "x".repeat(2000));
        let whole = Arc::new(document().text() + &long.repeat(50));
        let lines = "allocation 7: size 4, thread-local:\n".repeat(2000);
        // All is replaced; and all but what was put in before.
        for is_first in [false, true] {
            let whole = Arc::new(String::clone(&whole));
            let weak = Arc::downgrade(&whole);
            let mut document = Document::cut(&whole, usize::MAX, |_| ()).expect("a short text");
            drop(whole);
            if is_first {
                document = document.edit(0..0, &lines).expect("a short text");
                let rest = lines.len() as u32..document.len();
                document = document.edit(rest, "").expect("a short text");
            } else {
                document = document
                    .clone()
                    .edit(0..document.len(), &lines)
                    .expect("a short text");
            }
            assert_eq!(document.text(), lines);
            assert_eq!(weak.strong_count(), 0);
        }
    }

    #[test]
    fn a_line_that_is_too_long_to_be_kept_drives_nothing_out() {
        let long = format!("{}\n", "%b, ".repeat(MOST_TAKEN / 4));
        let text = document().text() + &long;
        let before = Document::new(&text).expect("a short text");
        let block = before.blocks().len() / 2;
        let at = before.block(block).expect("a block").0 + 5;
        let typed = before.clone().edit(at..at, "x").expect("a short text");
        let end = typed.len() - 9;
        let typed = typed.edit(end..end, "x").expect("a short text");
        let back = typed.edit(at..at + 1, "").expect("a short text");
        assert_eq!(ids(&back)[block], ids(&before)[block]);
    }

    /// As texts that are short have too few blocks for it, this is of a longer one.
    #[test]
    fn blocks_that_come_back_are_those_of_the_text() {
        let mut document = document();
        let mut state = 7_u64;
        let mut next = |most: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as usize % most
        };
        let blocks = |document: &Document| {
            let blocks = document.blocks();
            let blocks = blocks.map(|(start, it)| (start, it.mode, it.follow, it.facts()));
            blocks.collect::<Vec<_>>()
        };
        let (mut edits, mut back) = (Vec::new(), 0);
        // Within a few blocks.
        let from = document.len() as usize / 2;
        for _ in 0..400 {
            let text = document.text();
            let last = if next(2) == 0 { edits.pop() } else { None };
            let is_back = last.is_some();
            let (range, new) = last.unwrap_or_else(|| {
                let start = from + next(20_000);
                let range = start..start + [0, 1, 30][next(3)];
                let new = ["", "7", "\n", "Used values:\n", " value: <"][next(5)];
                (range, new.to_owned())
            });
            let (start, end) = (range.start as u32, range.end as u32);
            document = document.edit(start..end, &new).expect("a short text");
            if is_back {
                back += 1;
            } else {
                let behind = range.start..range.start + new.len();
                edits.push((behind, text[range].to_owned()));
            }
            let fresh = Document::new(&document.text()).expect("a short text");
            assert_eq!(blocks(&document), blocks(&fresh));
        }
        assert!(back > 100, "{back}");
    }
}
