//! What the grammar reports to: the tree, or what is kept instead of it.

use rowan::{GreenNode, GreenToken, Language, NodeOrToken};
use rustc_hash::FxHashMap;

use crate::SyntaxKind;
use crate::kind::Dumps;

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

/// Both, in one pass.
impl<A: Sink, B: Sink> Sink for (A, B) {
    const DETAIL: bool = A::DETAIL || B::DETAIL;
    const SHAPES: bool = A::SHAPES || B::SHAPES;
    const INSIDE: bool = A::INSIDE || B::INSIDE;

    fn knows_shape(&mut self, shape: &str) -> bool {
        self.0.knows_shape(shape) && self.1.knows_shape(shape)
    }

    fn learn_shape(&mut self, shape: &str) {
        self.0.learn_shape(shape);
        self.1.learn_shape(shape);
    }

    fn wants_operand(&self) -> bool {
        self.0.wants_operand() || self.1.wants_operand()
    }

    fn line(&mut self, number: usize) {
        self.0.line(number);
        self.1.line(number);
    }

    fn open(&mut self, kind: SyntaxKind, at: u32) {
        self.0.open(kind, at);
        self.1.open(kind, at);
    }

    fn token(&mut self, kind: SyntaxKind, start: u32, end: u32) {
        self.0.token(kind, start, end);
        self.1.token(kind, start, end);
    }

    fn close(&mut self, kind: SyntaxKind, at: u32) {
        self.0.close(kind, at);
        self.1.close(kind, at);
    }

    fn error(&mut self, error: SyntaxError) {
        self.0.error(error.clone());
        self.1.error(error);
    }
}

/// Builds the lossless tree. Equal tokens and equal shapes are there once, however often they are printed: a tuple has
/// thousands of elements and a handful of shapes.
pub(crate) struct TreeSink<'t> {
    text: &'t str,
    tokens: FxHashMap<(SyntaxKind, &'t str), GreenToken>,
    shapes: FxHashMap<&'t str, GreenNode>,
    /// The children, so far, of the nodes that are open, one after the other.
    children: Vec<NodeOrToken<GreenNode, GreenToken>>,
    /// Where in the text each open node begins, and at which of the children.
    open: Vec<(u32, usize)>,
}

impl<'t> TreeSink<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            text,
            tokens: FxHashMap::default(),
            shapes: FxHashMap::default(),
            children: Vec::new(),
            open: Vec::new(),
        }
    }

    /// The root.
    pub(crate) fn finish(mut self) -> GreenNode {
        let root = self.children.pop().and_then(NodeOrToken::into_node);
        root.expect("the grammar opens a root and closes it")
    }
}

impl Sink for TreeSink<'_> {
    const DETAIL: bool = true;

    fn open(&mut self, _: SyntaxKind, at: u32) {
        self.open.push((at, self.children.len()));
    }

    fn token(&mut self, kind: SyntaxKind, start: u32, end: u32) {
        let text = &self.text[start as usize..end as usize];
        let token = self.tokens.entry((kind, text));
        let token = token.or_insert_with(|| GreenToken::new(Dumps::kind_to_raw(kind), text));
        self.children.push(token.clone().into());
    }

    fn close(&mut self, kind: SyntaxKind, at: u32) {
        let (start, first) = self.open.pop().expect("the grammar closes what it opens");
        let children = self.children.drain(first..);
        let new = || GreenNode::new(Dumps::kind_to_raw(kind), children);
        let node = if kind == SyntaxKind::ArrayShape {
            // What is read of the same text is the same, wherever that stands.
            let text = &self.text[start as usize..at as usize];
            self.shapes.entry(text).or_insert_with(new).clone()
        } else {
            new()
        };
        self.children.push(node.into());
    }

    fn error(&mut self, _: SyntaxError) {}
}

#[cfg(test)]
mod tests {
    use crate::SyntaxKind;
    use crate::document::Document;

    #[test]
    fn equal_shapes_are_there_once() {
        let text = "BufferAssignment:\nallocation 0: size 8, preallocated-temp:\n \
                    value: <1 a @0> (size=8,offset=0): f32[2]{0}\n \
                    value: <2 b @0> (size=8,offset=0): f32[2]{0}\n \
                    value: <3 c @0> (size=8,offset=0): f32[2]\n";
        let root = Document::new(text).expect("below 4 GiB").root();
        let shapes: Vec<_> = root
            .descendants()
            .filter(|node| node.kind() == SyntaxKind::ArrayShape)
            .collect();
        let [first, second, third] = shapes.as_slice() else {
            panic!("three shapes, not {shapes:?}");
        };
        assert!(std::ptr::eq(first.green(), second.green()));
        assert!(!std::ptr::eq(first.green(), third.green()));
        assert_eq!(root.text().to_string(), text);
    }
}
