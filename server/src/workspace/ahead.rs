//! Reading what a document says while its text is still being cut.

use std::sync::atomic::{AtomicBool, Ordering};

use buflens_syntax::{Document, Reader, TooLarge};

/// Texts are read in pieces of so many bytes.
pub(super) const PIECE: usize = 1 << 20;

/// The document of a text, and of what it says as much as the other cores have read meanwhile.
///
/// # Errors
/// If the text is longer than 32-bit offsets can address.
pub fn read_text(text: &str) -> Result<Document, TooLarge> {
    read_pieces(|take| {
        let mut rest = text;
        while !rest.is_empty() {
            let mut end = PIECE.min(rest.len());
            while !rest.is_char_boundary(end) {
                end += 1;
            }
            let (piece, behind) = rest.split_at(end);
            take(piece)?;
            rest = behind;
        }
        Ok(())
    })
}

/// The document of the pieces that `source` hands over, likewise.
pub(super) fn read_pieces<E>(
    source: impl FnOnce(&mut dyn FnMut(&str) -> Result<(), TooLarge>) -> Result<(), E>,
) -> Result<Document, E> {
    let mut reader = Reader::default();
    let is_cut = AtomicBool::new(false);
    let is_cut = &is_cut;
    rayon::in_place_scope(|scope| {
        let outcome = source(&mut |piece| {
            let blocks = reader.read(piece)?;
            // Of a short text all is cut before another core has begun.
            if piece.len() >= PIECE / 2 {
                let blocks = blocks.to_vec();
                scope.spawn(move |_| {
                    for block in blocks {
                        // From then on whoever needs them reads them, all at once.
                        if is_cut.load(Ordering::Relaxed) {
                            return;
                        }
                        block.facts();
                    }
                });
            }
            Ok(())
        });
        is_cut.store(true, Ordering::Relaxed);
        outcome
    })?;
    Ok(reader.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_several_pieces_is_read_as_the_whole() {
        // The pieces would end within a character.
        let line = format!("{}\u{1f600}\n", "a".repeat(96));
        let text = format!("BufferAssignment:\n{}", line.repeat(3 * PIECE / line.len()));
        let document = read_text(&text).expect("a short text");
        assert_eq!(document.text(), text);
        let whole = Document::new(&text).expect("a short text");
        let starts = |document: &Document| -> Vec<u32> {
            document.blocks().map(|(start, _)| start).collect()
        };
        assert_eq!(starts(&document), starts(&whole));
    }
}
