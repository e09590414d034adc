//! What the grammar reports to: the tree, or what is kept instead of it.

use crate::SyntaxKind;

/// A place where a line is not what its section allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// Start of the offending text, in bytes from the start of the block.
    pub start: u32,
    /// Its end.
    pub end: u32,
    /// What was found and what was expected.
    pub message: String,
}

/// Receives the grammar's events in the order of the text. Positions are bytes from the start of
/// the block; the tokens of a block follow each other without gaps.
pub(crate) trait Sink {
    /// Whether the inside of shapes and instructions is wanted. Without it they arrive as
    /// single tokens, which is much faster.
    const DETAIL: bool;
    /// Whether the inside of an instruction's shape is wanted, and of its operands' tuples.
    const SHAPES: bool = Self::DETAIL;

    /// Whether the tokens inside of shapes, operands and attributes are wanted. Without it what is known to be
    /// sound arrives as a single token.
    const INSIDE: bool = Self::DETAIL;

    /// Whether `shape` is known to be a sound shape.
    fn knows_shape(&mut self, _shape: &str) -> bool {
        false
    }

    /// `shape` has been read, and nothing was wrong in it.
    fn learn_shape(&mut self, _shape: &str) {}

    /// Whether an instruction's next operand is wanted. Else it arrives with all behind it as a
    /// single token.
    fn wants_operand(&self) -> bool {
        true
    }

    /// The logical line that begins with the line of this number in the block comes next.
    fn line(&mut self, _number: usize) {}
    fn open(&mut self, kind: SyntaxKind, at: u32);
    fn token(&mut self, kind: SyntaxKind, start: u32, end: u32);
    fn close(&mut self, kind: SyntaxKind, at: u32);
    fn error(&mut self, error: SyntaxError);
}

/// Builds the lossless tree.
pub(crate) struct TreeSink<'t> {
    text: &'t str,
    builder: rowan::GreenNodeBuilder<'static>,
}

impl<'t> TreeSink<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            text,
            builder: rowan::GreenNodeBuilder::new(),
        }
    }

    pub(crate) fn finish(self) -> rowan::GreenNode {
        self.builder.finish()
    }
}

impl Sink for TreeSink<'_> {
    const DETAIL: bool = true;

    fn open(&mut self, kind: SyntaxKind, _: u32) {
        self.builder.start_node(rowan::SyntaxKind(kind as u16));
    }

    fn token(&mut self, kind: SyntaxKind, start: u32, end: u32) {
        self.builder.token(
            rowan::SyntaxKind(kind as u16),
            &self.text[start as usize..end as usize],
        );
    }

    fn close(&mut self, _: SyntaxKind, _: u32) {
        self.builder.finish_node();
    }

    fn error(&mut self, _: SyntaxError) {}
}
