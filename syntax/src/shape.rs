//! Shapes and layouts as data.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::SyntaxKind;
use crate::grammar::{self, Parser};
use crate::sink::{Sink, SyntaxError};

/// A shape with its layout.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Shape {
    /// An array, a token or an opaque value. Tuples have very many, of which few differ: those are shared.
    Array(Arc<ArrayShape>),
    /// A tuple of shapes.
    Tuple(Vec<Shape>),
}

/// An element type and its width.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ElementType {
    /// As printed: `bf16`.
    pub name: Cow<'static, str>,
    /// Bits of one element; `None` for a type that is not known here. `token` has 0, `opaque` 64.
    pub bits: Option<u32>,
}

/// The shape of an array.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ArrayShape {
    /// The type of an element.
    pub element: ElementType,
    /// The dimensions, number 0 first.
    pub dimensions: Vec<Dimension>,
    /// How the elements lie in memory; not printed where shapes stand without layout. Few of very many shapes differ
    /// in it.
    pub layout: Option<Arc<Layout>>,
}

impl ArrayShape {
    /// Whether the size of some dimension is known at run time alone.
    pub fn is_dynamic(&self) -> bool {
        self.dimensions.iter().any(|dimension| dimension.dynamic)
    }
}

/// The size of a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dimension {
    /// Elements; the bound of a dynamic dimension, `None` if it has none (`?`).
    pub size: Option<u64>,
    /// Whether the true size is known only at run time (`<=16`, `?`).
    pub dynamic: bool,
}

/// One extent of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TileExtent {
    /// So many elements.
    Elements(u64),
    /// `*`: the dimension is combined with the next more minor one.
    Combined,
}

/// How an array's elements lie in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Dimension numbers, fastest varying first.
    pub minor_to_major: Vec<u64>,
    /// The tiles, outermost first; the extents of each most major first.
    pub tiles: Vec<Vec<TileExtent>>,
    /// `L(n)`: the number of elements is rounded up to a multiple of n.
    pub tail_alignment: Option<u64>,
    /// `E(n)`: an element takes n bits.
    pub element_bits: Option<u64>,
    /// `S(n)`: the memory space; 0 is not printed.
    pub memory_space: u64,
    /// `SC(d:a,b)`: physical dimension d (0 is the most major) is split at a and b.
    pub splits: Vec<(u64, Vec<u64>)>,
    /// `M(n)`: bytes before the data of a dynamic shape.
    pub metadata_prefix: u64,
}

/// Every element type with a known width.
const ELEMENT_TYPES: [(&str, u32); 30] = [
    ("pred", 8),
    ("s1", 1),
    ("u1", 1),
    ("s2", 2),
    ("u2", 2),
    ("s4", 4),
    ("u4", 4),
    ("s8", 8),
    ("u8", 8),
    ("s16", 16),
    ("u16", 16),
    ("s32", 32),
    ("u32", 32),
    ("s64", 64),
    ("u64", 64),
    ("f16", 16),
    ("bf16", 16),
    ("f32", 32),
    ("f64", 64),
    ("c64", 64),
    ("c128", 128),
    ("f8e5m2", 8),
    ("f8e4m3", 8),
    ("f8e4m3fn", 8),
    ("f8e4m3b11fnuz", 8),
    ("f8e5m2fnuz", 8),
    ("f8e4m3fnuz", 8),
    ("f8e3m4", 8),
    ("f8e8m0fnu", 8),
    ("f4e2m1fn", 4),
];

impl ElementType {
    /// The names of all types that are known.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let others = ["token", "opaque"];
        ELEMENT_TYPES.iter().map(|&(name, _)| name).chain(others)
    }

    fn new(name: &str) -> Self {
        match name {
            "token" => Self {
                name: Cow::Borrowed("token"),
                bits: Some(0),
            },
            "opaque" => Self {
                name: Cow::Borrowed("opaque"),
                bits: Some(64),
            },
            _ => match ELEMENT_TYPES.iter().find(|(known, _)| *known == name) {
                Some(&(known, bits)) => Self {
                    name: Cow::Borrowed(known),
                    bits: Some(bits),
                },
                None => Self {
                    name: Cow::Owned(name.to_owned()),
                    bits: None,
                },
            },
        }
    }
}

impl Shape {
    /// Reads the shape that makes up all of `text`, by the grammar that reads it in a line.
    ///
    /// # Errors
    /// With a message if the text is no shape.
    ///
    /// ```
    /// use buflens_syntax::Shape;
    /// let Ok(Shape::Array(array)) = Shape::read("bf16[4,288]{1,0:T(8,128)(2,1)}") else { panic!() };
    /// assert_eq!(array.element.bits, Some(16));
    /// assert_eq!(array.layout.as_ref().map(|layout| layout.tiles.len()), Some(2));
    /// ```
    pub fn read(text: &str) -> Result<Self, String> {
        let mut sink = ShapeSink {
            text,
            ..ShapeSink::default()
        };
        let mut parser = Parser::new(text, &mut sink);
        parser.enter(0, text.len());
        if grammar::shape(&mut parser).is_ok() && parser.peek().is_some() {
            let _ = parser.fail("the end of the shape");
        }
        match (sink.error, sink.done) {
            (None, Some(shape)) => Ok(shape),
            (error, _) => {
                Err(error.unwrap_or_else(|| "expected a shape, found nothing".to_owned()))
            }
        }
    }

    /// The number of elements of the tuple's shape that makes up all of `text`, without a look at what
    /// they are: there can be tens of thousands. `None` if it is no tuple.
    ///
    /// ```
    /// use buflens_syntax::Shape;
    /// assert_eq!(Shape::tuple_elements("(f32[2,3]{1,0}, /*index=1*/(s32[], u8[4]))"), Some(2));
    /// assert_eq!(Shape::tuple_elements("f32[2,3]{1,0}"), None);
    /// ```
    pub fn tuple_elements(text: &str) -> Option<usize> {
        let elements = text.strip_prefix('(')?.strip_suffix(')')?;
        Some(listed(elements))
    }

    /// Where the elements of the tuple's shape that makes up all of `text` stand in it, by the grammar. `None` if it is
    /// no tuple, or no shape.
    ///
    /// ```
    /// use buflens_syntax::Shape;
    /// let text = "(f32[2,3]{1,0}, /*index=1*/(s32[], u8[4]))";
    /// let elements = Shape::elements(text).unwrap();
    /// let texts: Vec<&str> = elements.into_iter().map(|it| &text[it.start as usize..it.end as usize]).collect();
    /// assert_eq!(texts, ["f32[2,3]{1,0}", "(s32[], u8[4])"]);
    /// assert_eq!(Shape::elements("f32[2,3]{1,0}"), None);
    /// ```
    pub fn elements(text: &str) -> Option<Vec<Range<u32>>> {
        // An array's shape, as most are, ends otherwise, and need not be read.
        if !text.trim_end().ends_with(')') {
            return None;
        }
        let mut sink = PartsSink::in_shapes(1);
        let mut parser = Parser::new(text, &mut sink);
        parser.enter(0, text.len());
        let is_whole = grammar::shape(&mut parser).is_ok() && parser.peek().is_none();
        (is_whole && sink.is_tuple && !sink.is_broken).then_some(sink.parts)
    }

    /// Where the shapes of the parameters of a computation stand in its header, `line`, and behind them that of its
    /// result, by the grammar. `None` if the header has none, or is broken.
    ///
    /// ```
    /// use buflens_syntax::Shape;
    /// let line = "%add (x: f32[2], /*index=1*/y: (s32[], u8[4])) -> f32[2] {";
    /// let shapes = Shape::in_header(line).unwrap();
    /// let texts: Vec<&str> = shapes.into_iter().map(|it| &line[it.start as usize..it.end as usize]).collect();
    /// assert_eq!(texts, ["f32[2]", "(s32[], u8[4])", "f32[2]"]);
    /// assert_eq!(Shape::in_header("ENTRY main.4 {"), None);
    /// ```
    pub fn in_header(line: &str) -> Option<Vec<Range<u32>>> {
        let mut sink = PartsSink::in_shapes(0);
        let mut parser = Parser::new(line, &mut sink);
        parser.enter(0, line.len());
        let is_whole = grammar::computation_header(&mut parser).is_ok();
        (is_whole && !sink.parts.is_empty() && !sink.is_broken).then_some(sink.parts)
    }

    /// The part of the shape at `index`, a list of element numbers from the outermost tuple in.
    pub fn at(&self, index: &[u64]) -> Option<&Self> {
        index.iter().try_fold(self, |shape, &element| match shape {
            Self::Tuple(elements) => elements.get(usize::try_from(element).ok()?),
            Self::Array(_) => None,
        })
    }
}

/// How much deeper in brackets it is behind a byte: a look into a table for each, since a tuple's shape may have a
/// million.
const DEPTH: [i8; 256] = {
    let mut depth = [0; 256];
    depth[b'(' as usize] = 1;
    depth[b'[' as usize] = 1;
    depth[b'{' as usize] = 1;
    depth[b')' as usize] = -1;
    depth[b']' as usize] = -1;
    depth[b'}' as usize] = -1;
    depth
};

/// How many things `text` lists, with commas between them that are in no brackets.
pub(crate) fn listed(text: &str) -> usize {
    if text.trim().is_empty() {
        return 0;
    }
    let (mut depth, mut commas) = (0_i64, 0);
    for byte in text.bytes() {
        depth += i64::from(DEPTH[byte as usize]);
        commas += usize::from(byte == b',' && depth == 0);
    }
    commas + 1
}

#[derive(Default)]
struct ShapeSink<'t> {
    text: &'t str,
    /// The elements of the tuples that are not complete, outermost first.
    tuples: Vec<Vec<Shape>>,
    /// The arrays in tuples, by their texts.
    known: FxHashMap<&'t str, Arc<ArrayShape>>,
    array: Option<ArrayShape>,
    /// The layout of it that is not complete.
    layout: Option<Layout>,
    /// Where the array begins.
    start: u32,
    /// How many array shapes are open: the physical shape of a sparse array stands inside another.
    arrays: u32,
    dynamic: bool,
    property: &'t str,
    done: Option<Shape>,
    error: Option<String>,
}

impl ShapeSink<'_> {
    fn complete(&mut self, shape: Shape) {
        match self.tuples.last_mut() {
            Some(elements) => elements.push(shape),
            None => self.done = Some(shape),
        }
    }

    fn number(&mut self, kind: SyntaxKind, text: &str) {
        let Some(layout) = &mut self.layout else {
            return;
        };
        let number = text.parse::<u64>().ok();
        match (kind, number) {
            (SyntaxKind::MinorToMajor, Some(number)) => layout.minor_to_major.push(number),
            (SyntaxKind::MemorySpace, Some(number)) => layout.memory_space = number,
            (SyntaxKind::TileSize, extent) => {
                let extent = extent.map_or(TileExtent::Combined, TileExtent::Elements);
                if let Some(tile) = layout.tiles.last_mut() {
                    tile.push(extent);
                }
            }
            (SyntaxKind::Number, Some(number)) => match self.property {
                "L" => layout.tail_alignment = Some(number),
                "E" => layout.element_bits = Some(number),
                "M" => layout.metadata_prefix = number,
                "SC" => layout.splits.push((number, Vec::new())),
                // Behind the colon: the cuts of the split just begun.
                "SC:" => {
                    if let Some((_, cuts)) = layout.splits.last_mut() {
                        cuts.push(number);
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }
}

impl Sink for ShapeSink<'_> {
    const DETAIL: bool = true;

    fn open(&mut self, kind: SyntaxKind, at: u32) {
        match kind {
            SyntaxKind::TupleShape => self.tuples.push(Vec::new()),
            SyntaxKind::ArrayShape => {
                if self.arrays == 0 {
                    self.start = at;
                }
                self.arrays += 1;
            }
            SyntaxKind::Layout if self.arrays == 1 => {
                self.layout = self.array.as_ref().map(|array| Layout {
                    minor_to_major: Vec::with_capacity(array.dimensions.len()),
                    ..Layout::default()
                });
            }
            SyntaxKind::Tile if self.arrays == 1 => {
                if let Some(layout) = &mut self.layout {
                    // Most have one or two tiles of two extents.
                    if layout.tiles.is_empty() {
                        layout.tiles.reserve_exact(2);
                    }
                    layout.tiles.push(Vec::with_capacity(2));
                }
            }
            _ => {}
        }
    }

    fn token(&mut self, kind: SyntaxKind, start: u32, end: u32) {
        if self.arrays > 1 {
            return;
        }
        let text = &self.text[start as usize..end as usize];
        match kind {
            SyntaxKind::ElementType => {
                self.array = Some(ArrayShape {
                    element: ElementType::new(text),
                    // Tuples have very many arrays, and these rarely more than two dimensions.
                    dimensions: Vec::with_capacity(2),
                    layout: None,
                });
            }
            SyntaxKind::Punctuation if text == "<=" => self.dynamic = true,
            SyntaxKind::Dimension => {
                let dynamic = std::mem::take(&mut self.dynamic) || text == "?";
                if let Some(array) = &mut self.array {
                    array.dimensions.push(Dimension {
                        size: text.parse().ok(),
                        dynamic,
                    });
                }
            }
            SyntaxKind::LayoutKeyword => self.property = text,
            SyntaxKind::Punctuation if self.property == "SC" && text == ":" => {
                self.property = "SC:";
            }
            SyntaxKind::Punctuation if self.property == "SC:" && text == ")" => {
                self.property = "SC";
            }
            _ => self.number(kind, text),
        }
    }

    fn close(&mut self, kind: SyntaxKind, at: u32) {
        match kind {
            SyntaxKind::TupleShape => {
                let mut elements = self.tuples.pop().unwrap_or_default();
                elements.shrink_to_fit();
                self.complete(Shape::Tuple(elements));
            }
            SyntaxKind::ArrayShape => {
                self.arrays -= 1;
                if self.arrays == 0
                    && let Some(array) = self.array.take()
                {
                    let array = if self.tuples.is_empty() {
                        Arc::new(array)
                    } else {
                        let text = &self.text[self.start as usize..at as usize];
                        let known = self.known.entry(text);
                        Arc::clone(known.or_insert_with(|| Arc::new(array)))
                    };
                    self.complete(Shape::Array(array));
                }
            }
            SyntaxKind::Layout if self.arrays == 1 => {
                self.property = "";
                if let Some(array) = &mut self.array {
                    array.layout = self.layout.take().map(Arc::new);
                }
            }
            _ => {}
        }
    }

    fn error(&mut self, error: SyntaxError) {
        self.error.get_or_insert(error.message);
    }
}

/// Where shapes stand that are in so many others.
#[derive(Default)]
struct PartsSink {
    /// In how many.
    within: u32,
    is_tuple: bool,
    /// How many shapes are open.
    depth: u32,
    /// Where the last part begins.
    start: u32,
    parts: Vec<Range<u32>>,
    is_broken: bool,
}

impl PartsSink {
    fn in_shapes(within: u32) -> Self {
        Self {
            within,
            ..Self::default()
        }
    }
}

fn is_shape(kind: SyntaxKind) -> bool {
    matches!(kind, SyntaxKind::TupleShape | SyntaxKind::ArrayShape)
}

impl Sink for PartsSink {
    const DETAIL: bool = true;

    fn open(&mut self, kind: SyntaxKind, at: u32) {
        if !is_shape(kind) {
            return;
        }
        if self.depth == 0 {
            self.is_tuple = kind == SyntaxKind::TupleShape;
        }
        if self.depth == self.within {
            self.start = at;
        }
        self.depth += 1;
    }

    fn token(&mut self, _: SyntaxKind, _: u32, _: u32) {}

    fn close(&mut self, kind: SyntaxKind, at: u32) {
        if !is_shape(kind) {
            return;
        }
        self.depth -= 1;
        if self.depth == self.within {
            self.parts.push(self.start..at);
        }
    }

    fn error(&mut self, _: SyntaxError) {
        self.is_broken = true;
    }
}
