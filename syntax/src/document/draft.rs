//! A document that is being edited.

use std::ops::Range;
use std::sync::Arc;

use super::cut::{Cutter, check_length};
use super::{Block, Document, TooLarge};
use crate::position::{Encoding, LineColumn};

/// Text that is not cut yet is held in pieces of so many bytes and up to twice as many, unless its lines are longer: each
/// edit writes one anew.
const PIECE: usize = 8 << 10;

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
}

impl Draft {
    pub(super) fn new(document: Document) -> Self {
        let is_piece = vec![false; document.blocks.len()];
        Self {
            document,
            is_piece,
            replaced: Vec::new(),
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
        let long = self.cut_in(first..next).filter(|block| block.is_long());
        let long: Vec<Arc<Block>> = long.cloned().collect();
        self.replaced.extend(long);
        self.replace(first..next, pieces(piece), true);
        Ok(())
    }

    /// The document with the edits made.
    pub fn finish(mut self) -> Document {
        let mut at = 0;
        while let Some(first) = self.is_piece[at..].iter().position(|&it| it) {
            at = self.cut(at + first);
        }
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
            // What is taken in again unchanged is known already. Where nothing else is left, it would hold all of the
            // text before that it shares.
            if from > 0 || next < count {
                cutter.know(self.replaced.iter().chain(self.cut_in(from..next)));
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
