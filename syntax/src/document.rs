//! A text in blocks: what is kept of a document, and how an edit changes it.

mod cut;
mod kind;
mod trees;

use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use rowan::{GreenNode, NodeOrToken};

use crate::facts::{Facts, FactsSink, KnownShapes};
use crate::line::{LineKind, Mode, is_name_byte};
use crate::mentions::{Mention, MentionSink};
use crate::position::{Encoding, LineColumn, Units};
use crate::scan::{Follow, Lines, without_line_end};
use crate::sink::{SyntaxError, TreeSink};
use crate::{SyntaxKind, SyntaxNode, SyntaxToken, grammar};

pub use cut::{Reader, TooLarge};
pub use kind::DocumentKind;

use cut::{Cutter, check_length, is_long};
use trees::Trees;

/// A run of whole lines that is read on its own.
#[derive(Debug)]
pub struct Block {
    /// Distinguishes the blocks of all documents, for the cache of trees.
    id: u64,
    text: Box<str>,
    mode: Mode,
    follow: Follow,
    /// Where its lines begin, and what they are.
    line_starts: Box<[u32]>,
    kinds: Box<[LineKind]>,
    /// Where lines begin for an editor, if it takes other characters for line ends, too.
    editor_lines: Option<Box<[u32]>>,
    units: OnceLock<Units>,
    facts: OnceLock<Facts>,
    errors: OnceLock<Box<[SyntaxError]>>,
}

impl Block {
    /// A block of lines that end with `\n`, begin at `line_starts`, and are `kinds`.
    fn new(
        text: &str,
        mode: Mode,
        follow: Follow,
        line_starts: &[u32],
        kinds: &[LineKind],
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let has_returns = memchr::memchr(b'\r', text.as_bytes()).is_some();
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            text: text.into(),
            mode,
            follow,
            line_starts: line_starts.into(),
            kinds: kinds.into(),
            editor_lines: has_returns.then(|| editor_lines(text)),
            units: OnceLock::new(),
            facts: OnceLock::new(),
            errors: OnceLock::new(),
        }
    }

    /// The text of the block.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where in the format the block begins.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// What the block says. Computed at the first call, with the errors unless the block begins with
    /// a long line; the inside of such lines is read only when it is asked for.
    pub fn facts(&self) -> &Facts {
        self.facts.get_or_init(|| {
            if self.is_long() {
                return self.read::<false>().0;
            }
            let (facts, errors) = self.read::<true>();
            // Nobody else fills them in but for the same text.
            let _ = self.errors.set(errors);
            facts
        })
    }

    /// Whether [`Block::facts`] has been computed.
    pub fn has_facts(&self) -> bool {
        self.facts.get().is_some()
    }

    /// What is wrong in the block. Computed at the first call.
    pub fn errors(&self) -> &[SyntaxError] {
        if !self.is_long() {
            self.facts();
        }
        self.errors.get_or_init(|| self.read::<true>().1)
    }

    /// A pass over the text: with `DETAIL` over every token.
    fn read<const DETAIL: bool>(&self) -> (Facts, Box<[SyntaxError]>) {
        thread_local! {
            /// Rows are gathered here, so that none has to be moved while their number grows.
            static GATHERED: RefCell<(Facts, KnownShapes)> = RefCell::default();
        }
        let (mut facts, mut shapes) = GATHERED.take();
        let mut sink = FactsSink::<DETAIL>::new(&self.text, &mut facts, &mut shapes);
        grammar::block(self.lines(), &mut sink);
        let errors = sink.errors.into();
        let exact = facts.take();
        GATHERED.set((facts, shapes));
        (exact, errors)
    }

    fn lines(&self) -> Lines<'_> {
        Lines {
            text: &self.text,
            starts: &self.line_starts,
            kinds: &self.kinds,
            mode: self.mode,
            follow: self.follow,
        }
    }

    /// Where lines begin for an editor.
    fn editor_lines(&self) -> &[u32] {
        self.editor_lines.as_deref().unwrap_or(&self.line_starts)
    }

    /// Whether the block begins with a long line.
    fn is_long(&self) -> bool {
        is_long(&self.text, &self.line_starts)
    }

    /// What the block's instructions mention, in the order of the text. A pass over every token at
    /// every call.
    pub fn mentions(&self) -> Vec<Mention> {
        let mut sink = MentionSink::new(&self.text);
        grammar::block(self.lines(), &mut sink);
        sink.mentions
    }

    /// The lossless tree of the block, built anew at every call.
    pub fn tree(&self) -> GreenNode {
        let mut sink = TreeSink::new(&self.text);
        grammar::block(self.lines(), &mut sink);
        sink.finish()
    }

    fn units(&self) -> &Units {
        self.units.get_or_init(|| Units::new(&self.text))
    }
}

/// Where lines begin for an editor, to which a lone `\r` is a line end too.
fn editor_lines(text: &str) -> Box<[u32]> {
    let bytes = text.as_bytes();
    let mut line_starts = vec![0];
    for end in memchr::memchr2_iter(b'\n', b'\r', bytes) {
        let is_half = bytes[end] == b'\r' && bytes.get(end + 1) == Some(&b'\n');
        if !is_half && end + 1 < bytes.len() {
            line_starts.push(end as u32 + 1);
        }
    }
    line_starts.into()
}

/// A text, cut into blocks. Cheap to clone, however many blocks it has: clones share everything.
#[derive(Debug, Clone)]
pub struct Document {
    blocks: Arc<[Arc<Block>]>,
    /// The first byte of each block, and the length of the text.
    starts: Arc<[u32]>,
    /// The first line of each block, and the number of lines.
    first_lines: Arc<[u32]>,
    kind: DocumentKind,
    trees: Arc<Mutex<Trees>>,
}

impl Document {
    /// Cuts `text` into blocks; nothing is read yet.
    ///
    /// # Errors
    /// If the text is longer than 32-bit offsets can address.
    pub fn new(text: &str) -> Result<Self, TooLarge> {
        Self::cut(text, text.len(), |_| ())
    }

    /// Cuts `text` into blocks, and hands over those that are whole since the last time after every
    /// `piece` bytes; not those at the end.
    ///
    /// # Errors
    /// If the text is longer than 32-bit offsets can address.
    pub fn cut(
        text: &str,
        piece: usize,
        mut each: impl FnMut(&[Arc<Block>]),
    ) -> Result<Self, TooLarge> {
        check_length(text.len() as u64)?;
        let mut cutter = Cutter::new(Mode::Start);
        let mut start = 0;
        while text.len() - start > piece {
            let mut end = start + piece.max(1);
            while !text.is_char_boundary(end) {
                end += 1;
            }
            // A line is not looked at again and again until it is whole.
            if memchr::memchr(b'\n', &text.as_bytes()[start..end]).is_some() {
                each(cutter.cut(&text[..end], None));
            }
            start = end;
        }
        let (blocks, _) = cutter.finish(text, None);
        Ok(Self::of_blocks(blocks, Arc::default()))
    }

    fn of_blocks(blocks: Vec<Arc<Block>>, trees: Arc<Mutex<Trees>>) -> Self {
        let mut starts = Vec::with_capacity(blocks.len() + 1);
        let mut first_lines = Vec::with_capacity(blocks.len() + 1);
        let (mut start, mut line) = (0, 0);
        for block in &blocks {
            starts.push(start);
            first_lines.push(line);
            start += block.text.len() as u32;
            line += block.editor_lines().len() as u32;
        }
        starts.push(start);
        // Behind a last line end there is one more line, which is empty.
        let ends_line = blocks
            .last()
            .is_none_or(|block| block.text.ends_with(['\n', '\r']));
        first_lines.push(line + u32::from(ends_line));
        let kind = kind::kind_of(&blocks);
        Self {
            blocks: blocks.into(),
            starts: starts.into(),
            first_lines: first_lines.into(),
            kind,
            trees,
        }
    }

    /// The document with `range` (bytes, on character boundaries) replaced by `text`. Only the
    /// blocks touched are cut and read again, and as many behind them as cuts differ.
    ///
    /// # Errors
    /// If the result is longer than 32-bit offsets can address.
    ///
    /// # Panics
    /// If the range is not one of the document, as slicing a string does.
    pub fn edit(&self, range: Range<u32>, text: &str) -> Result<Self, TooLarge> {
        check_length(
            u64::from(self.len()) - u64::from(range.end - range.start) + text.len() as u64,
        )?;
        let Some(first) = self.block_at(range.start) else {
            return Self::new(text);
        };
        let last = self.block_at(range.end).unwrap_or(first);
        // The block before may end in a line whose meaning lies in the one behind it.
        let from = first.saturating_sub(1);
        let mut scratch = String::new();
        for block in &self.blocks[from..first] {
            scratch.push_str(&block.text);
        }
        scratch.push_str(&self.blocks[first].text[..(range.start - self.starts[first]) as usize]);
        scratch.push_str(text);
        scratch.push_str(&self.blocks[last].text[(range.end - self.starts[last]) as usize..]);

        // Take in blocks behind until the new cuts meet the old ones.
        let mut next = last + 1;
        let mut more = 1;
        let replacement = loop {
            let ahead = self.two_lines(next);
            // What is taken in again unchanged is known already.
            let mut cutter = Cutter::new(self.blocks[from].mode);
            cutter.know(&self.blocks[from..next]);
            let (blocks, cut) = cutter.finish(&scratch, ahead);
            let meets = next == self.blocks.len()
                || (scratch.ends_with('\n')
                    && cut.is_some_and(|cut| cut.mode == self.blocks[next].mode))
                || (scratch.is_empty() && self.blocks[from].mode == self.blocks[next].mode);
            if meets {
                break blocks;
            }
            let end = (next + more).min(self.blocks.len());
            for block in &self.blocks[next..end] {
                scratch.push_str(&block.text);
            }
            next = end;
            more *= 2;
        };
        let mut blocks = Vec::with_capacity(self.blocks.len() + replacement.len());
        blocks.extend_from_slice(&self.blocks[..from]);
        blocks.extend(replacement);
        blocks.extend_from_slice(&self.blocks[next..]);
        Ok(Self::of_blocks(blocks, Arc::clone(&self.trees)))
    }

    /// The first line of block `block` and the line behind it.
    fn two_lines(&self, block: usize) -> Option<(&str, &str)> {
        let text = self.blocks.get(block)?.text();
        let first = grammar::line_at(text, 0);
        let second = match &text[first.len()..] {
            "" => self
                .blocks
                .get(block + 1)
                .map_or("", |block| grammar::line_at(&block.text, 0)),
            rest => grammar::line_at(rest, 0),
        };
        Some((first, second))
    }

    /// What the document is.
    pub fn kind(&self) -> DocumentKind {
        self.kind
    }

    /// Length in bytes.
    pub fn len(&self) -> u32 {
        self.starts[self.blocks.len()]
    }

    /// Whether there is no text at all.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The whole text, put together from the blocks.
    pub fn text(&self) -> String {
        self.blocks.iter().map(|block| &*block.text).collect()
    }

    /// The blocks in order, each with its first byte's offset.
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = (u32, &Block)> {
        self.starts
            .iter()
            .copied()
            .zip(self.blocks.iter().map(|block| &**block))
            .take(self.blocks.len())
    }

    /// The block with number `block`, and its first byte's offset.
    pub fn block(&self, block: usize) -> Option<(u32, &Block)> {
        Some((self.starts[block], self.blocks.get(block)?))
    }

    /// The number of the block that holds the byte at `offset`; the last one for the end of the
    /// text, none in an empty text.
    pub fn block_at(&self, offset: u32) -> Option<usize> {
        let behind = self.starts[..self.blocks.len()].partition_point(|&start| start <= offset);
        behind.checked_sub(1)
    }

    /// What is wrong in the text: the blocks' errors with their offsets in the document. Blocks that
    /// are not read yet are read.
    pub fn errors(&self) -> Vec<(Range<u32>, String)> {
        if self.kind == DocumentKind::OutOfMemory {
            // Logs hold anything, and messages are cut and wrapped.
            return Vec::new();
        }
        self.blocks()
            .flat_map(|(start, block)| {
                block.errors().iter().map(move |error| {
                    (
                        start + error.start..start + error.end,
                        error.message.clone(),
                    )
                })
            })
            .collect()
    }

    /// The text of `range`, which must lie in one block, as every line does.
    pub fn slice(&self, range: Range<u32>) -> &str {
        let Some(block) = self.block_at(range.start) else {
            return "";
        };
        let start = self.starts[block];
        self.blocks[block]
            .text
            .get((range.start - start) as usize..(range.end - start) as usize)
            .unwrap_or("")
    }

    // Trees.

    /// The tree of the whole document: a root over the blocks. For tests and small texts.
    pub fn root(&self) -> SyntaxNode {
        let children = self
            .blocks
            .iter()
            .map(|block| NodeOrToken::Node(block.tree()));
        SyntaxNode::new_root(GreenNode::new(
            rowan::SyntaxKind(SyntaxKind::Root as u16),
            children,
        ))
    }

    /// The token at `offset`, and the offset at which its block begins: the one that holds the
    /// byte at the offset, or the one that ends there if that is a word and the other is not.
    pub fn token_at(&self, offset: u32) -> Option<(u32, SyntaxToken)> {
        let block = self.block_at(offset.min(self.len()))?;
        let (start, text) = (self.starts[block], self.blocks[block].text.as_bytes());
        let mut at = (offset - start) as usize;
        let is_word = |at: usize| text.get(at).is_some_and(|&byte| is_name_byte(byte));
        if at > 0 && !is_word(at) && is_word(at - 1) || at == text.len() {
            at = at.checked_sub(1)?;
        }
        let (start, tree) = self.tree(block)?;
        let at = rowan::TextSize::from(at as u32);
        // `token_at_offset` looks at every child of every node on the way; this does not.
        let mut node = tree;
        loop {
            match node.child_or_token_at_range(rowan::TextRange::empty(at))? {
                NodeOrToken::Node(child) => node = child,
                NodeOrToken::Token(token) if token.text_range().end() <= at => {
                    return Some((start, token.next_token()?));
                }
                NodeOrToken::Token(token) => return Some((start, token)),
            }
        }
    }

    // Lines.

    /// The number of lines; at least one.
    pub fn line_count(&self) -> u32 {
        self.first_lines[self.blocks.len()]
    }

    /// The bytes of a line, without its line end. `None` behind the last line.
    pub fn line_range(&self, line: u32) -> Option<Range<u32>> {
        if line >= self.line_count() {
            return None;
        }
        let behind = self.first_lines[..self.blocks.len()].partition_point(|&first| first <= line);
        let Some(number) = behind.checked_sub(1) else {
            return Some(0..0);
        };
        let (start, block) = (self.starts[number], &self.blocks[number]);
        let in_block = (line - self.first_lines[number]) as usize;
        let Some(&first) = block.editor_lines().get(in_block) else {
            return Some(self.len()..self.len());
        };
        let end = block
            .editor_lines()
            .get(in_block + 1)
            .map_or(block.text.len(), |&next| next as usize);
        let text = &block.text[first as usize..end];
        let text = without_line_end(text);
        let text = text.strip_suffix('\r').unwrap_or(text);
        Some(start + first..start + first + text.len() as u32)
    }

    /// The line that holds `offset`.
    pub fn line_at(&self, offset: u32) -> u32 {
        if offset >= self.len() {
            let last = self.line_count() - 1;
            // The last line may be the empty one behind the last line end.
            return last;
        }
        let Some(number) = self.block_at(offset) else {
            return 0;
        };
        let in_block = offset - self.starts[number];
        let line = self.blocks[number]
            .editor_lines()
            .partition_point(|&start| start <= in_block)
            - 1;
        self.first_lines[number] + line as u32
    }

    /// The position of `offset`; behind the end of the text, the end.
    pub fn line_column(&self, offset: u32, encoding: Encoding) -> LineColumn {
        let offset = offset.min(self.len());
        let line = self.line_at(offset);
        let Some(range) = self.line_range(line) else {
            return LineColumn::default();
        };
        let Some(number) = self
            .block_at(range.start)
            .filter(|_| range.start < self.len())
        else {
            return LineColumn { line, column: 0 };
        };
        let (start, block) = (self.starts[number], &self.blocks[number]);
        let units = |offset: u32| {
            block
                .units()
                .before(&block.text, (offset - start) as usize, encoding)
        };
        LineColumn {
            line,
            column: units(offset.min(range.end)) - units(range.start),
        }
    }

    /// The offset of a position. A column behind the end of its line means the end of the line.
    /// `None` behind the last line.
    pub fn offset(&self, position: LineColumn, encoding: Encoding) -> Option<u32> {
        let range = self.line_range(position.line)?;
        let Some(number) = self
            .block_at(range.start)
            .filter(|_| range.start < self.len())
        else {
            return Some(range.start);
        };
        let (start, block) = (self.starts[number], &self.blocks[number]);
        let before = block
            .units()
            .before(&block.text, (range.start - start) as usize, encoding);
        let offset = block.units().offset(
            &block.text,
            before.saturating_add(position.column),
            encoding,
        );
        Some((start + offset as u32).min(range.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only what is wrong may be understood otherwise when more of it is read.
    #[test]
    fn rows_are_the_same_with_and_without_the_inside_of_lines() {
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/dumps");
        let mut blocks = 0;
        for folder in std::fs::read_dir(fixtures).expect("the fixtures") {
            let folder = folder.expect("a folder").path();
            for file in std::fs::read_dir(folder).expect("a folder") {
                let text = std::fs::read(file.expect("a file").path()).expect("a file");
                let text = String::from_utf8_lossy(&text);
                let document = Document::new(&text).expect("below 4 GiB");
                for (_, block) in document.blocks() {
                    let (facts, errors) = block.read::<true>();
                    assert!(
                        facts == block.read::<false>().0 || !errors.is_empty(),
                        "{}",
                        block.text
                    );
                    blocks += 1;
                }
            }
        }
        assert!(blocks > 1000, "{blocks}");
    }

    /// What is wrong, by a reading of every token.
    #[derive(Default)]
    struct AllErrors(Vec<SyntaxError>);

    impl crate::sink::Sink for AllErrors {
        const DETAIL: bool = true;

        fn open(&mut self, _: SyntaxKind, _: u32) {}
        fn token(&mut self, _: SyntaxKind, _: u32, _: u32) {}
        fn close(&mut self, _: SyntaxKind, _: u32) {}
        fn error(&mut self, error: SyntaxError) {
            self.0.push(error);
        }
    }

    /// What is passed over, since it is in its usual form or known, is as sound as the rules say. Whole blocks
    /// of real dumps are broken in some places each.
    #[test]
    fn what_is_passed_over_has_the_errors_that_a_reading_of_every_token_finds() {
        const PIECES: [&str; 26] = [
            "{",
            "}",
            "(",
            ")",
            "[",
            "]",
            "\"",
            "%",
            ",",
            ", ",
            "=",
            " ",
            "  ",
            "/",
            "/*",
            "//",
            "\\",
            "<",
            ">",
            "-",
            "@",
            "0",
            "18446744073709551616",
            "a",
            "\u{e9}",
            "\n",
        ];
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/dumps");
        let mut state = 1_u32;
        let mut random = move |below: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize % below.max(1)
        };
        let (mut sound, mut broken) = (0, 0);
        for file in std::fs::read_dir(fixtures).expect("the fixtures") {
            let text = std::fs::read_to_string(file.expect("a file").path()).expect("UTF-8");
            let document = Document::new(&text).expect("a short text");
            for (_, block) in document.blocks() {
                for round in 0..400 {
                    let mut text = block.text().to_owned();
                    for _ in 0..round % 4 {
                        let mut at = [0, 1].map(|_| random(text.len() + 1));
                        while !at.iter().all(|&at| text.is_char_boundary(at)) {
                            at = [0, 1].map(|_| random(text.len() + 1));
                        }
                        let end = if random(2) == 0 {
                            at[0]
                        } else {
                            at[1].min(at[0] + random(3))
                        };
                        if end >= at[0] && text.is_char_boundary(end) {
                            text.replace_range(at[0]..end, PIECES[random(PIECES.len())]);
                        }
                    }
                    let (blocks, _) = Cutter::new(block.mode).finish(&text, None);
                    for block in blocks {
                        let mut all = AllErrors::default();
                        grammar::block(block.lines(), &mut all);
                        assert_eq!(block.errors(), all.0, "{}", block.text);
                        if all.0.is_empty() {
                            sound += 1;
                        } else {
                            broken += 1;
                        }
                    }
                }
            }
        }
        assert!(
            sound > 9000 && broken > 9000,
            "{sound} sound, {broken} broken"
        );
    }
}
