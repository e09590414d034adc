//! Reading what a document says while its text is still being cut.

use std::sync::Arc;

use buflens_syntax::{Block, Document, Reader, Source, TooLarge};

use crate::model::cancel::{self, Token};

/// Texts are cut in pieces of so many bytes.
pub(super) const PIECE: usize = 512 << 10;

/// The document of a text, and of what it says as much as the other cores have read meanwhile.
///
/// # Errors
/// If the text is longer than 32-bit offsets can address.
pub fn read_text(text: &Arc<String>) -> Result<Document, TooLarge> {
    reading_ahead(|read| Document::cut(text, PIECE, read))
}

/// The document of the pieces that `source` hands over, likewise.
pub(super) fn read_pieces<E>(
    source: impl FnOnce(&mut dyn FnMut(&str) -> Result<(), TooLarge>) -> Result<(), E>,
) -> Result<Document, E> {
    let mut reader = Reader::default();
    reading_ahead(|read| {
        source(&mut |piece| {
            let blocks = reader.read(piece)?;
            // Of a short text all is cut before another core has begun.
            if piece.len() >= PIECE / 2 {
                read(blocks);
            }
            Ok(())
        })
    })?;
    Ok(reader.finish())
}

/// The document of the pieces that `source` hands over, of which no more text is held than what is being read: all
/// that its blocks say, and what is wrong in them, is read at once, and `join` takes them one by one, each with its
/// number and its place in the text.
pub(super) fn read_once<E: Send>(
    again: Box<dyn Source>,
    mut join: impl FnMut(usize, u32, &Block) + Send,
    source: impl FnOnce(&mut dyn FnMut(&str) -> Result<(), TooLarge>) -> Result<(), E>,
) -> Result<Document, E> {
    let mut reader = Reader::releasing(again);
    let (mut unread, mut read): (Vec<Arc<Block>>, Vec<Arc<Block>>) = Default::default();
    let (mut number, mut start) = (0, 0);
    let mut join_all = |blocks: Vec<Arc<Block>>| {
        for block in blocks {
            join(number, start, &block);
            number += 1;
            start += block.length();
        }
    };
    source(&mut |piece| {
        // While the piece before is read, the one before that is done with, and this one is cut.
        let cut = || {
            join_all(std::mem::take(&mut read));
            reader.release(unread.len());
            reader.read(piece).map(<[Arc<Block>]>::to_vec)
        };
        let (new, ()) = cancel::join(cut, || read_blocks(&unread));
        read = std::mem::replace(&mut unread, new?);
        Ok(())
    })?;
    read_blocks(&unread);
    join_all(read);
    join_all(unread);
    reader.release(0);
    let document = reader.finish();
    // The end of a text is cut when it is known to be one.
    let rest = document.blocks().skip(number);
    for (number, (start, block)) in (number..).zip(rest) {
        join(number, start, block);
    }
    Ok(document)
}

fn read_blocks(blocks: &[Arc<Block>]) {
    let blocks = blocks.iter().filter(|block| !block.has_facts());
    cancel::map(blocks.collect(), |block| {
        block.facts();
        block.errors();
    });
}

/// Does `work`, and meanwhile reads what the blocks that it hands over say, on the other cores. What is
/// not read when it ends is left to whoever needs it, who needs all of it at once.
fn reading_ahead<R>(work: impl FnOnce(&mut dyn FnMut(&[Arc<Block>])) -> R) -> R {
    let over = Token::default();
    let over = &over;
    rayon::in_place_scope(|scope| {
        // Also where the work is cancelled.
        let _over = over.guard();
        work(&mut |blocks| {
            // Long lines that repeat are one block, and read once.
            let unread = blocks.iter().filter(|block| !block.has_facts());
            let blocks: Vec<Arc<Block>> = unread.cloned().collect();
            scope.spawn(move |_| {
                for block in blocks {
                    if over.is_cancelled() {
                        return;
                    }
                    block.facts();
                }
            });
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_several_pieces_is_read_as_the_whole() {
        // The pieces would end within a character.
        let line = format!("{}\u{1f600}\n", "a".repeat(96));
        let text = format!("BufferAssignment:\n{}", line.repeat(3 * PIECE / line.len()));
        let starts = |document: &Document| -> Vec<u32> {
            assert_eq!(document.text(), text);
            document.blocks().map(|(start, _)| start).collect()
        };
        let whole = starts(&Document::new(&text).expect("a short text"));
        let shared = Arc::new(text.clone());
        assert_eq!(starts(&read_text(&shared).expect("a short text")), whole);
        let pieces = read_pieces(|take| text.split_inclusive('\u{1f600}').try_for_each(take));
        assert_eq!(starts(&pieces.expect("a short text")), whole);
    }

    #[test]
    fn all_blocks_but_those_at_the_end_are_handed_over() {
        let text = "BufferAssignment:\n".to_owned() + &"allocation 0: size 4:\n".repeat(100_000);
        let text = Arc::new(text);
        let (mut blocks, mut count) = (0, 0);
        let document = Document::cut(&text, PIECE, |new| {
            blocks += new.len();
            count += 1;
        });
        let all = document.expect("a short text").blocks().len();
        assert_eq!(count, text.len() / PIECE);
        assert!(all / 4 < blocks && blocks < all, "{blocks} of {all}");
        let line = Arc::new("a".repeat(4 * PIECE) + "\n");
        let document = Document::cut(&line, PIECE, |_| panic!("no line is whole"));
        assert_eq!(document.expect("a short text").blocks().len(), 1);
    }
}
