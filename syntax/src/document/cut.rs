//! Cutting a text into blocks, whole or as it comes.

use std::collections::HashMap;
use std::sync::Arc;

use memchr::{memchr, memchr_iter};

use super::text::Text;
use super::{Block, Document, Origin, Source};
use crate::line::{LineKind, Mode};
use crate::scan::{Cut, Follow, LONG_LINE, Scanner};

/// The text is longer than 4 GiB - 1, the most that 32-bit offsets can address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge {
    /// The length of the text in bytes.
    pub length: u64,
}

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the text has {} bytes; at most {} can be read",
            self.length,
            u32::MAX
        )
    }
}

impl std::error::Error for TooLarge {}

pub(super) fn check_length(length: u64) -> Result<(), TooLarge> {
    if length > u64::from(u32::MAX) {
        Err(TooLarge { length })
    } else {
        Ok(())
    }
}

/// So many blocks at the start of a document are held: by them it is known what it is.
const HELD: usize = 8;

/// Blocks share the text that they are cut of in pieces of about so many bytes, which are gone when all their blocks
/// are. They are small enough that the next one is made where one was.
const PIECE: usize = 64 << 10;

/// Of so many blocks of one length, the last ones that are to be known, it is known whether one equals them.
const SAME_LENGTH: usize = 8;

/// Reads a document from pieces of its text. Equal long lines are kept once, so the document can
/// be much smaller than its text, and of the text no more is held than what is not cut yet.
#[derive(Debug)]
pub struct Reader {
    cutter: Cutter,
    /// The text from the start of the block that is not cut yet.
    rest: String,
    length: u64,
    /// Whether much of the piece before was in long lines.
    has_long_lines: bool,
    /// So many blocks, of so many bytes, have been released or are held for good.
    released: (usize, u32),
    origin: Option<Arc<Origin>>,
}

impl Default for Reader {
    fn default() -> Self {
        Self {
            cutter: Cutter::new(Mode::Start),
            rest: String::new(),
            length: 0,
            has_long_lines: false,
            released: (0, 0),
            origin: None,
        }
    }
}

impl Reader {
    /// A reader whose texts can be read again from `source`, and need not be held.
    pub fn releasing(source: Box<dyn Source>) -> Self {
        Self {
            origin: Some(Arc::new(Origin::new(source))),
            ..Self::default()
        }
    }

    /// Lets go of the texts of the blocks given so far but for the last `unread` ones. Those that somebody else has,
    /// and the first ones, which say what the document is, are held. For a reader that is [`Reader::releasing`].
    pub fn release(&mut self, unread: usize) {
        let Some(origin) = &self.origin else { return };
        let blocks = &mut self.cutter.blocks;
        let read = blocks.len().saturating_sub(unread);
        while self.released.0 < read {
            let (number, start) = self.released;
            let stand_in = Arc::clone(&blocks[0]);
            let block = std::mem::replace(&mut blocks[number], stand_in);
            self.released = (number + 1, start + block.text.len() as u32);
            blocks[number] = if number < HELD {
                block
            } else {
                let released = Arc::try_unwrap(block).map(|it| Arc::new(it.release(origin, start)));
                released.unwrap_or_else(|shared| shared)
            };
        }
    }

    /// Takes the next piece of the text, of any length, and gives the blocks that are whole since.
    ///
    /// # Errors
    /// If the text gets longer than 32-bit offsets can address; the reader is of no use then.
    pub fn read(&mut self, piece: &str) -> Result<&[Arc<Block>], TooLarge> {
        self.length += piece.len() as u64;
        check_length(self.length)?;
        let before = self.cutter.blocks.len();
        let mut piece = piece;
        while !piece.is_empty() {
            let mut end = PIECE.min(piece.len());
            while !piece.is_char_boundary(end) {
                end += 1;
            }
            let (next, rest) = piece.split_at(end);
            self.read_piece(next);
            piece = rest;
        }
        Ok(&self.cutter.blocks[before..])
    }

    fn read_piece(&mut self, piece: &str) {
        self.rest.push_str(piece);
        // A line is not looked at again and again until it is whole.
        if memchr(b'\n', piece.as_bytes()).is_none() {
            return;
        }
        let whole = Arc::new(std::mem::take(&mut self.rest));
        self.cutter.whole = (!self.has_long_lines).then(|| Arc::clone(&whole));
        let long = self.cutter.cut(&whole, None).iter();
        let long = long.filter(|block| block.is_long());
        let long: usize = long.map(|block| block.text.len()).sum();
        self.has_long_lines = long > whole.len() / 4;
        let rest = &whole[self.cutter.forget()..];
        self.rest.reserve_exact(rest.len() + PIECE);
        self.rest.push_str(rest);
    }

    /// The document, when all of the text has been taken.
    pub fn finish(self) -> Document {
        let mut cutter = self.cutter;
        // There is room for more in what is left of the last piece.
        cutter.whole = None;
        let (blocks, _) = cutter.finish(&self.rest, None);
        Document {
            origin: self.origin,
            ..Document::of_blocks(blocks)
        }
    }
}

/// Cuts a text from its start on.
#[derive(Debug)]
pub(super) struct Cutter {
    scanner: Scanner,
    blocks: Vec<Arc<Block>>,
    /// Where the block begins that is not cut yet, and in which mode.
    start: usize,
    mode: Mode,
    /// Where its lines begin, from its start, and what they are.
    line_starts: Vec<u32>,
    kinds: Vec<LineKind>,
    /// Where the line begins that is looked at next.
    at: usize,
    /// Blocks that equal ones of the text are taken for, by their lengths.
    known: HashMap<usize, Vec<Arc<Block>>>,
    /// The text, if blocks share it.
    whole: Option<Arc<String>>,
    /// Whether also those share it that begin with a long line. Where the text is a piece that goes, these stay.
    shares_long: bool,
}

impl Cutter {
    pub(super) fn new(mode: Mode) -> Self {
        Self {
            scanner: Scanner::new(mode),
            blocks: Vec::new(),
            start: 0,
            mode,
            line_starts: Vec::new(),
            kinds: Vec::new(),
            at: 0,
            known: HashMap::new(),
            whole: None,
            shares_long: false,
        }
    }

    /// A cutter of `whole`, with which the blocks share it.
    pub(super) fn sharing(whole: &Arc<String>) -> Self {
        Self {
            whole: Some(Arc::clone(whole)),
            shares_long: true,
            ..Self::new(Mode::Start)
        }
    }

    /// Takes these blocks for equal ones of the text.
    pub(super) fn know<'b>(&mut self, blocks: impl Iterator<Item = &'b Arc<Block>>) {
        for block in blocks {
            self.remember(block);
        }
    }

    /// Cuts `text` as far as it can be without what is behind it, or up to its last line if this
    /// is known: the first line behind it, empty at the end of a document. Gives the new blocks.
    pub(super) fn cut(&mut self, text: &str, behind: Option<&str>) -> &[Arc<Block>] {
        let before = self.blocks.len();
        let from = self.at;
        let mut ends = memchr_iter(b'\n', &text.as_bytes()[from..]).map(|end| from + end + 1);
        // The last line may have no end.
        let mut line_end = || ends.next().or_else(|| behind.map(|_| text.len()));
        let Some(mut end) = line_end() else {
            return &[];
        };
        while self.at < text.len() {
            let next_end = match end {
                end if end < text.len() => line_end(),
                end => behind.map(|_| end),
            };
            let Some(next_end) = next_end else { break };
            let next = match &text[end..next_end] {
                "" => behind.unwrap_or_default(),
                next => next,
            };
            let (kind, cut) = self.scanner.cut_before(&text[self.at..end], next);
            if let Some(cut) = cut {
                self.push(&text[self.start..self.at], cut.follow);
                (self.start, self.mode) = (self.at, cut.mode);
            }
            self.line_starts.push((self.at - self.start) as u32);
            self.kinds.push(kind);
            (self.at, end) = (end, next_end);
        }
        &self.blocks[before..]
    }

    /// The length of the text that is in blocks, which need not be there at the next call.
    fn forget(&mut self) -> usize {
        self.at -= self.start;
        std::mem::take(&mut self.start)
    }

    /// The blocks of `text`, and the cut between it and the two lines behind it, if there is one.
    pub(super) fn finish(
        mut self,
        text: &str,
        behind: Option<(&str, &str)>,
    ) -> (Vec<Arc<Block>>, Option<Cut>) {
        self.cut(text, Some(behind.map_or("", |(first, _)| first)));
        let cut = behind.and_then(|(line, next)| self.scanner.cut_before(line, next).1);
        if self.start < text.len() {
            let follow = cut.map_or(Follow::Nothing, |cut| cut.follow);
            self.push(&text[self.start..], follow);
        }
        (self.blocks, cut)
    }

    fn push(&mut self, text: &str, follow: Follow) {
        let is_long = is_long(text.len(), self.line_starts.get(1).map(|&it| it as usize));
        let new = |starts: &[u32], kinds: &[LineKind]| {
            let whole = self.whole.as_ref().filter(|_| !is_long || self.shares_long);
            let text = match whole {
                Some(whole) => Text::part(whole, self.start..self.start + text.len()),
                None => text.into(),
            };
            Arc::new(Block::new(text, self.mode, follow, starts, kinds))
        };
        let is_equal = |block: &&Arc<Block>| {
            block.mode == self.mode && block.follow == follow && *block.text == *text
        };
        let mut known = self.known.get(&text.len()).into_iter().flatten().rev();
        let block = if let Some(block) = known.find(is_equal) {
            Arc::clone(block)
        } else {
            let block = new(&self.line_starts, &self.kinds);
            // Long lines are often equal, and large.
            if is_long {
                self.remember(&block);
            }
            block
        };
        self.line_starts.clear();
        self.kinds.clear();
        self.blocks.push(block);
    }

    fn remember(&mut self, block: &Arc<Block>) {
        let known = self.known.entry(block.text.len()).or_default();
        if known.len() == SAME_LENGTH {
            known.remove(0);
        }
        known.push(Arc::clone(block));
    }
}

/// Whether much of a text is in long lines, by some of its places.
pub(super) fn has_long_lines(text: &str) -> bool {
    const PLACES: usize = 64;
    let is_in_long_line = |place: usize| {
        let at = text.len() / PLACES * place;
        let around = at..(at + LONG_LINE).min(text.len());
        memchr(b'\n', &text.as_bytes()[around]).is_none()
    };
    let long = (0..PLACES).filter(|&place| is_in_long_line(place));
    text.len() / PLACES > LONG_LINE && long.count() > PLACES / 4
}

/// Whether a block of so many bytes, whose second line begins at `second`, begins with a long line.
pub(super) fn is_long(length: usize, second: Option<usize>) -> bool {
    second.unwrap_or(length) >= LONG_LINE
}

#[cfg(test)]
mod tests {
    use std::ops::Range;
    use std::sync::Mutex;

    use super::*;

    /// Pieces of any length give the document that the whole text gives.
    #[test]
    fn pieces_are_cut_as_the_whole() {
        let long = format!(
            " from instruction: %a = f32[] add({})\n",
            "%b, ".repeat(400)
        );
        let mut text = "\nTotal bytes used: 8 (8B)\n\nUsed values:\n".to_owned();
        for number in 0..40 {
            let header = format!("<{number} a{{{number}}} @0>\r\n positions:\n  a\n uses:\n");
            text += &(header + &long);
        }
        text += "\n*** End of buffer assignment ***";
        let whole = Document::new(&text).expect("a short text");
        for step in [1, 7, 100, 1024, 5000, text.len()] {
            let mut reader = Reader::default();
            for piece in text.as_bytes().chunks(step) {
                let piece = std::str::from_utf8(piece).expect("ASCII");
                reader.read(piece).expect("a short text");
            }
            let read = reader.finish();
            assert_eq!(read.text(), text, "{step}");
            let blocks = |document: &Document| {
                let blocks = document.blocks();
                let blocks = blocks.map(|(start, block)| (start, block.mode, block.follow));
                blocks.collect::<Vec<_>>()
            };
            assert_eq!(blocks(&read), blocks(&whole), "{step}");
        }
    }

    /// A text that may become another.
    #[derive(Debug)]
    struct Changing(Arc<Mutex<String>>);

    impl Source for Changing {
        fn read(&self, range: Range<u32>) -> Option<String> {
            let text = self.0.lock().expect("a text");
            text.get(range.start as usize..range.end as usize)
                .map(str::to_owned)
        }
    }

    #[test]
    fn text_that_is_released_is_read_again_and_known_to_be_the_same() {
        let mut text = "BufferAssignment:\n".to_owned();
        for number in 0..4000 {
            let line = format!("allocation {number}: size 4, thread-local:\n");
            text +=
                &(line + &format!(" value: <{number} a.{number} @0> (size=4,offset=0): f32[]\n"));
        }
        let whole = Document::new(&text).expect("a short text");
        for change in [None, Some("@1"), Some("")] {
            let source = Arc::new(Mutex::new(text.clone()));
            let mut reader = Reader::releasing(Box::new(Changing(Arc::clone(&source))));
            for piece in text.as_bytes().chunks(10_000) {
                let piece = std::str::from_utf8(piece).expect("ASCII");
                let unread = reader.read(piece).expect("a short text").len();
                reader.release(unread);
            }
            let document = reader.finish();
            let held = document
                .blocks()
                .filter(|(_, block)| block.is_held())
                .count();
            assert!(
                held < document.blocks().len() / 2,
                "{held} of {}",
                document.blocks().len()
            );
            if let Some(change) = change {
                let mut text = source.lock().expect("a text");
                *text = text.replace("@0", change);
            }
            assert!(!document.is_lost(), "nothing has been asked for");
            let held_bytes = || -> usize {
                let blocks = document.blocks();
                blocks.map(|(_, block)| block.text.held()).sum()
            };
            let before = held_bytes();
            for (number, (start, same)) in whole.blocks().enumerate() {
                let (found, block) = document.passing_block(number).expect("a block");
                assert_eq!((found, block.text().len()), (start, same.text().len()));
                let is_same = block.text() == same.text() && block.facts() == same.facts();
                assert_eq!(
                    is_same,
                    change.is_none() || document.blocks[number].is_held()
                );
            }
            assert!(before < text.len() / 2 && held_bytes() == before);
            assert_eq!(document.is_lost(), change.is_some());
            if change.is_some() {
                assert_eq!(document.text().len(), text.len());
                assert!(document.is_lost());
                continue;
            }
            for ((_, block), (_, same)) in document.blocks().zip(whole.blocks()) {
                assert_eq!(block.facts(), same.facts());
                assert_eq!(block.text(), same.text());
            }
            assert!(!document.is_lost());
        }
    }

    #[test]
    fn equal_long_lines_are_kept_once_and_an_edit_beside_them_keeps_them() {
        let long = format!(
            " from instruction: %a = f32[] add({})\n",
            "%b, ".repeat(400)
        );
        let value = format!("<1 a{{0}} @0>\n positions:\n  a {{0}}\n uses:\n{long}");
        let text = format!("Used values:\n{}", value.repeat(3));
        let document = Document::new(&text).expect("a short text");
        let long_blocks = |document: &Document| {
            let is_long = |block: &&Arc<Block>| block.text.len() >= LONG_LINE;
            let long = document.blocks.iter().filter(is_long);
            long.map(|block| block.id).collect::<Vec<_>>()
        };
        let ids = long_blocks(&document);
        assert_eq!(ids, [ids[0]; 3]);
        let at = text.rfind("@0").expect("a value") as u32;
        let edited = document
            .clone()
            .edit(at..at + 2, "@1")
            .expect("a short text");
        assert_eq!(long_blocks(&edited), ids);
        assert_eq!(
            edited.text(),
            text[..at as usize].to_owned() + "@1" + &text[at as usize + 2..]
        );
    }

    #[test]
    fn long_lines_share_the_text_of_a_whole_document_and_do_not_outlive_it_alone() {
        let long = format!("%b, {}\n", "%b, ".repeat(400));
        let text = format!("{long}{}{long}", "allocation 0: size 4:\n".repeat(20_000));
        let text = Arc::new(text);
        let document = Document::cut(&text, usize::MAX, |_| ()).expect("a short text");
        let block = &document.blocks[0];
        assert!(block.is_long() && block.text.as_ptr() == text.as_ptr());
        let whole = Arc::downgrade(&text);
        drop(text);
        let kept = document.clone().edit(0..0, "\n").expect("a short text");
        let last = |document: &Document| document.blocks.last().map(|it| it.id);
        assert_eq!(last(&kept), last(&document));
        let other = document
            .clone()
            .edit(0..document.len(), &long)
            .expect("a short text");
        drop((document, kept));
        assert_eq!(other.text(), long);
        assert!(whole.upgrade().is_none());
    }

    /// An instruction is read whole, however many lines it has.
    #[test]
    fn what_continues_a_long_line_is_in_its_block() {
        let first = format!(
            " from instruction: %a = f32[] custom-call({})",
            "%b, ".repeat(400)
        );
        let instruction = format!("{first}, text=\"\n  module\n\", metadata={{}}\n");
        let text = format!("Used values:\n<1 a @0>\n{instruction}<2 b @0>\n{instruction}\n");
        let document = Document::new(&text).expect("a short text");
        let long = |block: &&Arc<Block>| *block.text == *instruction;
        let ids: Vec<u64> = document
            .blocks
            .iter()
            .filter(long)
            .map(|it| it.id)
            .collect();
        assert_eq!(ids, [ids[0]; 2]);
    }
}
