//! A text in blocks: what is kept of a document, and how an edit changes it.

mod block;
mod cut;
mod draft;
mod kind;
mod text;
mod trees;

use std::ops::Range;
use std::sync::{Arc, Mutex};

use rowan::{GreenNode, NodeOrToken};

use crate::line::is_name_byte;
use crate::position::{Encoding, LineColumn};
use crate::scan::without_line_end;
use crate::{Mode, SyntaxKind, SyntaxNode, SyntaxToken, grammar};

pub use block::Block;
pub use cut::{Reader, TooLarge};
pub use draft::Draft;
pub use kind::DocumentKind;
pub use text::Source;

use cut::{Cutter, check_length, has_long_lines};
use draft::Taken;
use text::Origin;
use trees::Trees;

/// A text, cut into blocks. Cheap to clone, however many blocks it has: clones share everything.
#[derive(Debug, Clone)]
pub struct Document {
    blocks: Arc<Vec<Arc<Block>>>,
    /// The first byte of each block, and the length of the text.
    starts: Arc<Vec<u32>>,
    /// The first line of each block, and the number of lines.
    first_lines: Arc<Vec<u32>>,
    kind: DocumentKind,
    trees: Arc<Mutex<Trees>>,
    /// Blocks that the last edits have taken away, which come back where these are taken back.
    taken: Arc<Taken>,
    /// Where the texts of its blocks are, if not all are held.
    origin: Option<Arc<Origin>>,
}

impl Document {
    /// Cuts `text` into blocks; nothing is read yet.
    ///
    /// # Errors
    /// If the text is longer than 32-bit offsets can address.
    pub fn new(text: &str) -> Result<Self, TooLarge> {
        check_length(text.len() as u64)?;
        let (blocks, _) = Cutter::new(Mode::Start).finish(text, None);
        Ok(Self::of_blocks(blocks))
    }

    /// Cuts `text` into blocks, and hands over those that are whole since the last time after every
    /// `piece` bytes; not those at the end. The blocks share the text, unless much of it is in long lines: of
    /// these many are equal, so that all that are kept are smaller.
    ///
    /// # Errors
    /// If the text is longer than 32-bit offsets can address.
    pub fn cut(
        text: &Arc<String>,
        piece: usize,
        mut each: impl FnMut(&[Arc<Block>]),
    ) -> Result<Self, TooLarge> {
        check_length(text.len() as u64)?;
        let mut cutter = if has_long_lines(text) {
            Cutter::new(Mode::Start)
        } else {
            Cutter::sharing(text)
        };
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
        Ok(Self::of_blocks(blocks))
    }

    fn of_blocks(blocks: Vec<Arc<Block>>) -> Self {
        let mut document = Self {
            blocks: Arc::default(),
            starts: vec![0].into(),
            first_lines: vec![0].into(),
            kind: DocumentKind::Unknown,
            trees: Arc::default(),
            taken: Arc::default(),
            origin: None,
        };
        document.replace(0..0, blocks);
        document.finish_replacing();
        document
    }

    /// The document with `range` (bytes, on character boundaries) replaced by `text`. Only the
    /// blocks touched are cut and read again, and as many behind them as cuts differ.
    ///
    /// # Errors
    /// If the result is longer than 32-bit offsets can address.
    ///
    /// # Panics
    /// If the range is not one of the document, as slicing a string does.
    pub fn edit(self, range: Range<u32>, text: &str) -> Result<Self, TooLarge> {
        let mut draft = self.draft();
        draft.edit(range, text)?;
        Ok(draft.finish())
    }

    /// The document, to be edited several times.
    pub fn draft(self) -> Draft {
        Draft::new(self)
    }

    /// Replaces blocks. In place, if no other document shares them: there are thousands, and an editor that replaces a
    /// word everywhere sends thousands of edits at once.
    fn replace(&mut self, range: Range<usize>, replacement: Vec<Arc<Block>>) {
        let count = replacement.len();
        let (mut start, mut line) = (self.starts[range.start], self.first_lines[range.start]);
        if self.blocks.is_empty() {
            // The line of an empty text is in no block.
            line = 0;
        }
        let (mut starts, mut first_lines) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for block in &replacement {
            starts.push(start);
            first_lines.push(line);
            start += block.text.len() as u32;
            line += block.editor_lines().len() as u32;
        }
        let behind = range.start + count;
        for (numbers, first, new) in [
            (&mut self.starts, start, starts),
            (&mut self.first_lines, line, first_lines),
        ] {
            let numbers = Arc::make_mut(numbers);
            let before = numbers[range.end];
            numbers.splice(range.clone(), new);
            for number in &mut numbers[behind..] {
                *number = *number - before + first;
            }
        }
        let blocks = Arc::make_mut(&mut self.blocks);
        blocks.splice(range, replacement);
        if behind == blocks.len() {
            // Behind a last line end there is one more line, which is empty.
            let last = blocks.last();
            let ends_line = last.is_none_or(|block| block.text.ends_with(['\n', '\r']));
            Arc::make_mut(&mut self.first_lines)[behind] = line + u32::from(ends_line);
        }
    }

    /// When all blocks are there, and are as they are read.
    fn finish_replacing(&mut self) {
        self.kind = kind::kind_of(&self.blocks);
        self.origin = None;
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

    /// Whether text that was not held could not be read again, and is blanks: its source has changed or is gone.
    pub fn is_lost(&self) -> bool {
        self.origin.as_ref().is_some_and(|origin| origin.is_lost())
    }

    /// Whether it is the same as `other`, or a clone. Documents of the same text that were cut on their own are not.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.blocks, &other.blocks)
    }

    /// The whole text, put together from the blocks.
    pub fn text(&self) -> String {
        self.blocks.iter().map(|block| &*block.text).collect()
    }

    /// Whether the text is not held, but for its start and what was asked for.
    pub fn is_released(&self) -> bool {
        self.origin.is_some()
    }

    /// The blocks in order, each with its first byte's offset.
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = (u32, &Block)> + Clone {
        self.starts
            .iter()
            .copied()
            .zip(self.blocks.iter().map(|block| &**block))
            .take(self.blocks.len())
    }

    /// The block with number `block`, and its first byte's offset.
    pub fn block(&self, block: usize) -> Option<(u32, &Block)> {
        let found = self.blocks.get(block)?;
        Some((self.starts[block], found))
    }

    /// The same with its text, for a pass over all of it: a text that is not held is read again, and goes with what is returned.
    pub fn passing_block(&self, block: usize) -> Option<(u32, Arc<Block>)> {
        let found = self.blocks.get(block)?;
        Some((self.starts[block], found.passing()))
    }

    /// All of them in order, likewise.
    pub fn passing_blocks(&self) -> impl Iterator<Item = (u32, Arc<Block>)> {
        let blocks = self.starts.iter().zip(self.blocks.iter());
        blocks.map(|(&start, block)| (start, block.passing()))
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

    /// The token at `offset`, and the offset at which its tree begins, which is that of its logical line, or of its
    /// block if that begins with a long line. The token is the one that holds the byte at the offset, or the one that
    /// ends there if that is a word and the other is not.
    pub fn token_at(&self, offset: u32) -> Option<(u32, SyntaxToken)> {
        let offset = offset.min(self.len());
        let block = self.block_at(offset)?;
        let (start, text) = (self.starts[block], self.blocks[block].text.as_bytes());
        let mut at = (offset - start) as usize;
        let is_word = |at: usize| text.get(at).is_some_and(|&byte| is_name_byte(byte));
        if at > 0 && !is_word(at) && is_word(at - 1) || at == text.len() {
            at = at.checked_sub(1)?;
        }
        let at = start + at as u32;
        let (start, tree) = self.tree_around(block, at)?;
        let at = rowan::TextSize::from(at - start);
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
        let Some(first) = block.editor_lines().get(in_block) else {
            return Some(self.len()..self.len());
        };
        let end = block
            .editor_lines()
            .get(in_block + 1)
            .unwrap_or(block.text.len());
        let text = &block.text[first..end];
        let text = without_line_end(text);
        let first = start + first as u32;
        Some(first..first + text.len() as u32)
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
        let line = self.blocks[number].editor_lines().up_to(in_block) - 1;
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
