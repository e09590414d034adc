//! Shapes by their text: few of a dump's shapes are distinct, so each is kept and read once.

use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use buflens_syntax::{ArrayShape, Layout, Shape};
use rustc_hash::{FxHashMap, FxHashSet};

use super::bytes::{array_bytes, is_possible_table, possible_sizes};
use super::cancel::lock;
use super::names::{NameId, Names};
use super::{Dump, ParameterLeaf, Platforms, Value};

/// A shape as it is printed: equal ids, equal texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShapeId(NameId);

impl ShapeId {
    /// The id with this number, which is one of an id.
    pub(super) fn of_number(number: u32) -> Self {
        Self(NameId::of_number(number))
    }

    /// Its number, from 1.
    pub(super) fn number(self) -> u32 {
        self.0.number()
    }
}

/// The shapes that a dump prints with its values and with their instructions. The states of one dump, before and after
/// an edit, have most in common, and what is known of them.
#[derive(Debug, Clone, Default)]
pub struct ShapeTexts {
    texts: Names,
    /// Those whose sizes `extents` has.
    platforms: Platforms,
    /// By number, as far as they have been asked for; `None` of what is no shape.
    extents: Arc<[OnceLock<Option<Extent>>]>,
}

/// What is asked of nearly every shape, and all that is kept of most.
#[derive(Debug, Clone)]
enum Extent {
    Array {
        /// The memory space of the layout.
        space: u64,
        /// Bytes without padding.
        logical_bytes: Option<u64>,
        /// See [`possible_sizes`].
        sizes: Sizes,
    },
    /// Where the elements of a tuple stand in its text.
    Tuple(Box<[Range<u32>]>),
}

/// The sizes that are possible: mostly one.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Sizes {
    Any,
    One(u64),
    Several(Box<[u64]>),
}

impl Extent {
    fn of(text: &str, platforms: Platforms) -> Option<Self> {
        if let Some(elements) = Shape::elements(text) {
            return Some(Self::Tuple(elements.into()));
        }
        let Ok(Shape::Array(array)) = Shape::read(text) else {
            return None;
        };
        let layout = array.layout.as_ref();
        Some(Self::Array {
            space: layout.map_or(0, |layout| layout.memory_space),
            logical_bytes: array_bytes(&array),
            sizes: Sizes::of(&array, platforms),
        })
    }
}

impl Sizes {
    fn of(array: &ArrayShape, platforms: Platforms) -> Self {
        let Some(sizes) = possible_sizes(array, platforms) else {
            return Self::Any;
        };
        let mut sizes: Vec<u64> = sizes.into_iter().flatten().collect();
        sizes.dedup();
        match sizes[..] {
            [size] => Self::One(size),
            _ => Self::Several(sizes.into()),
        }
    }

    fn have(&self, bytes: u64) -> bool {
        match self {
            Self::Any => true,
            Self::One(size) => *size == bytes,
            Self::Several(sizes) => sizes.contains(&bytes),
        }
    }
}

impl ShapeTexts {
    /// The id of a shape, which is added if it is new.
    pub(super) fn intern(&mut self, text: &str) -> ShapeId {
        ShapeId(self.texts.intern(text))
    }

    /// Makes room for what is asked of all shapes, for a dump of these platforms.
    pub(super) fn complete(&mut self, platforms: Platforms) {
        let count = self.texts.count();
        let is_known = self.platforms == platforms;
        if !is_known || self.extents.len() < count {
            let known = self.extents.iter().filter(|_| is_known).cloned();
            let all = known.chain(std::iter::repeat_with(OnceLock::new));
            (self.platforms, self.extents) = (platforms, all.take(count).collect());
        }
    }

    /// The bytes of all of them.
    pub(super) fn bytes(&self) -> usize {
        self.texts.bytes()
    }

    fn extent(&self, id: ShapeId) -> Option<&Extent> {
        let extent = self.extents.get(id.0.place())?;
        let read = || Extent::of(&self[id], self.platforms);
        extent.get_or_init(read).as_ref()
    }

    /// Bytes without padding, of a tuple its table alone.
    pub fn logical_bytes(&self, id: ShapeId) -> Option<u64> {
        match self.extent(id)? {
            Extent::Array { logical_bytes, .. } => *logical_bytes,
            Extent::Tuple(elements) => (elements.len() as u64).checked_mul(8),
        }
    }

    /// The memory space of an array's layout.
    pub fn memory_space(&self, id: ShapeId) -> Option<u64> {
        match self.extent(id)? {
            Extent::Array { space, .. } => Some(*space),
            Extent::Tuple(_) => None,
        }
    }

    /// Whether some rule of the platforms gives a value of the shape so many bytes; `true` of what is no shape.
    pub fn is_possible_size(&self, id: ShapeId, bytes: u64) -> bool {
        self.extent(id).is_none_or(|extent| match extent {
            Extent::Array { sizes, .. } => sizes.have(bytes),
            Extent::Tuple(elements) => {
                is_possible_table(elements.len() as u64, bytes, self.platforms)
            }
        })
    }

    /// How many elements a tuple has, 0 of an array; `None` of what is no shape.
    pub fn elements(&self, id: ShapeId) -> Option<usize> {
        Some(match self.extent(id)? {
            Extent::Array { .. } => 0,
            Extent::Tuple(elements) => elements.len(),
        })
    }

    /// The text of an element of a tuple, from 0.
    pub fn element(&self, id: ShapeId, number: u64) -> Option<&str> {
        let Extent::Tuple(elements) = self.extent(id)? else {
            return None;
        };
        let element = elements.get(usize::try_from(number).ok()?)?;
        self[id].get(element.start as usize..element.end as usize)
    }
}

impl std::ops::Index<ShapeId> for ShapeTexts {
    type Output = str;

    fn index(&self, id: ShapeId) -> &str {
        &self.texts[id.0]
    }
}

/// The shapes of a dump as far as they have been asked for.
#[derive(Debug)]
pub struct Shapes<'d> {
    dump: &'d Dump,
    /// Those of [`Dump::shapes`].
    by_id: Box<[OnceLock<Option<Box<Shape>>>]>,
    /// Those of other texts.
    by_text: Mutex<FxHashMap<Box<str>, Option<Arc<Shape>>>>,
    /// The parts of those in `by_id`.
    parts: Mutex<Parts>,
}

/// What shapes are made of, each once: tuples have very many arrays, of which few differ.
#[derive(Debug, Default)]
struct Parts {
    arrays: FxHashSet<Arc<ArrayShape>>,
    layouts: FxHashSet<Arc<Layout>>,
}

impl Parts {
    /// Takes the parts that others have, where they are equal.
    fn share(&mut self, shape: &mut Shape) {
        match shape {
            Shape::Tuple(elements) => elements.iter_mut().for_each(|element| self.share(element)),
            Shape::Array(array) => self.share_array(array),
        }
    }

    fn share_array(&mut self, array: &mut Arc<ArrayShape>) {
        if let Some(equal) = self.arrays.get(array) {
            *array = Arc::clone(equal);
            return;
        }
        if let Some(layout) = &mut Arc::make_mut(array).layout {
            match self.layouts.get(layout) {
                Some(equal) => *layout = Arc::clone(equal),
                None => {
                    self.layouts.insert(Arc::clone(layout));
                }
            }
        }
        self.arrays.insert(Arc::clone(array));
    }
}

impl<'d> Shapes<'d> {
    /// Nothing read yet.
    pub fn new(dump: &'d Dump) -> Self {
        let count = dump.shapes.texts.count();
        Self {
            dump,
            by_id: (0..count).map(|_| OnceLock::new()).collect(),
            by_text: Mutex::default(),
            parts: Mutex::default(),
        }
    }

    /// The shape that `text` is, if it is one. For texts that have no id.
    pub fn read(&self, text: &str) -> Option<Arc<Shape>> {
        if let Some(shape) = lock(&self.by_text).get(text) {
            return shape.clone();
        }
        let shape = Shape::read(text).ok().map(Arc::new);
        lock(&self.by_text)
            .entry(text.into())
            .or_insert(shape)
            .clone()
    }

    fn with_id(&self, id: ShapeId) -> Option<&Shape> {
        let shape = &self.by_id[id.0.place()];
        let read = || {
            let mut shape = Shape::read(&self.dump.shapes[id]).ok()?;
            lock(&self.parts).share(&mut shape);
            Some(Box::new(shape))
        };
        shape.get_or_init(read).as_deref()
    }

    /// The shape of the parameter whose leaf this is.
    pub fn of_parameter(&self, leaf: &ParameterLeaf) -> Option<&Shape> {
        self.with_id(leaf.shape?)
    }

    /// The shape printed with the value in its allocation.
    pub fn of(&self, value: &Value) -> Option<&Shape> {
        self.with_id(value.shape?)
    }

    /// The same where it is an array's. A tuple's, which may have thousands of elements, is not read.
    pub fn array_of(&self, value: &Value) -> Option<&ArrayShape> {
        match self.with_id(self.array_id(value)?)? {
            Shape::Array(array) => Some(array),
            Shape::Tuple(_) => None,
        }
    }

    fn array_id(&self, value: &Value) -> Option<ShapeId> {
        let is_array = |&id: &ShapeId| self.dump.shapes.memory_space(id).is_some();
        value.shape.filter(is_array)
    }

    /// The shape of the result of the instruction that section C prints with the value.
    pub fn of_result(&self, value: &Value) -> Option<&Shape> {
        self.with_id(self.dump.result_shape(value)?)
    }

    /// The bytes of the value without padding.
    pub fn logical_bytes(&self, value: &Value) -> Option<u64> {
        self.dump.shapes.logical_bytes(value.shape?)
    }

    /// How many of the value's bytes are padding. None of a tuple's table; nor where the size is
    /// not the shape's own, as that of a value that shares a larger one's buffer.
    pub fn padding(&self, value: &Value) -> u64 {
        let texts = &self.dump.shapes;
        let Some(id) = self.array_id(value) else {
            return 0;
        };
        match texts.logical_bytes(id) {
            Some(logical) if texts.is_possible_size(id, value.size) => {
                value.size.saturating_sub(logical)
            }
            _ => 0,
        }
    }
}

/// The shape with layout that section A prints with the value.
pub fn shape_text<'d>(dump: &'d Dump, value: &Value) -> Option<&'d str> {
    Some(&dump.shapes[value.shape?])
}

/// An index such as `{1,0}` as numbers.
pub fn index_numbers(index: &str) -> Vec<u64> {
    index
        .trim_matches(['{', '}'])
        .split(',')
        .filter_map(|number| number.parse().ok())
        .collect()
}

/// Numbers as an index: `{1,0}`.
pub fn index_of(numbers: &[u64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    format!("{{{}}}", numbers.join(","))
}

#[cfg(test)]
mod tests {
    use buflens_syntax::Document;

    use super::*;
    use crate::model::File;
    use crate::model::join::Numbering;

    #[test]
    fn equal_arrays_and_layouts_are_there_once() {
        let text = "BufferAssignment:\nallocation 0: size 24, thread-local:\n \
                    value: <0 a @0> (size=24,offset=0): f32[2,3]{1,0}\n \
                    value: <1 b @0> (size=20,offset=0): s8[4,5]{1,0}\n \
                    value: <2 c @0> (size=20,offset=0): s8[4,5]{0,1}\n \
                    value: <3 t{} @0> (size=16,offset=0): (s8[4,5]{1,0}, s8[4,5]{1,0})\n \
                    value: <4 u{} @0> (size=16,offset=0): (f32[], s8[4,5]{1,0})\n";
        let dump = Dump::new(vec![File {
            path: "m-buffer-assignment.txt".into(),
            document: Document::new(text).expect("a short text"),
            lossy: false,
        }]);
        let shapes = Shapes::new(&dump);
        let array = |value: usize, index: &[u64]| {
            let shape = shapes.of(&dump.values[value]).expect("a shape");
            match shape.at(index) {
                Some(Shape::Array(array)) => array,
                other => panic!("an array, found {other:?}"),
            }
        };
        let layout = |value| array(value, &[]).layout.as_ref().expect("a layout");
        assert!(Arc::ptr_eq(layout(0), layout(1)));
        assert_ne!(layout(1), layout(2));
        for in_tuple in [array(3, &[0]), array(3, &[1]), array(4, &[1])] {
            assert!(Arc::ptr_eq(array(1, &[]), in_tuple));
        }
    }

    fn state(text: &str, numbering: &mut Numbering) -> Dump {
        let file = File {
            path: "m-buffer-assignment.txt".into(),
            document: Document::new(text).expect("a short text"),
            lossy: false,
        };
        Dump::numbered(vec![file], numbering)
    }

    #[test]
    fn what_is_known_of_shapes_outlives_an_edit() {
        let of_shape = |shape: &str| {
            format!(
                "BufferAssignment:\nallocation 0: size 24, thread-local:\n \
                 value: <0 a @0> (size=24,offset=0): f32[2,3]{{1,0}}\n \
                 value: <1 t{{}} @0> (size=16,offset=0): {shape}\n"
            )
        };
        let mut numbering = Numbering::default();
        let before = state(&of_shape("(f32[], s8[4,5]{1,0:S(1)})"), &mut numbering);
        let ids = |dump: &Dump| [0, 1].map(|value| dump.values[value].shape.expect("a shape"));
        let [array, tuple] = ids(&before);
        assert_eq!(before.shapes.logical_bytes(array), Some(24));
        assert_eq!(before.shapes.element(tuple, 1), Some("s8[4,5]{1,0:S(1)}"));
        assert_eq!(before.shapes.element(tuple, 2), None);
        assert_eq!(before.shapes.element(array, 0), None);
        let after = state(&of_shape("(f32[])"), &mut numbering);
        let [same, other] = ids(&after);
        assert_eq!(same, array);
        let is_read = |dump: &Dump, id: ShapeId| dump.shapes.extents[id.0.place()].get().is_some();
        assert!(is_read(&after, array) && !is_read(&after, other));
        assert_eq!(after.shapes.element(other, 0), Some("f32[]"));
        // Sizes are another platform's then.
        let text = of_shape("f32[2]{0:T(256)}");
        assert!(!is_read(&state(&text, &mut numbering), array));
    }

    #[test]
    fn sizes_are_those_of_the_platform() {
        let none = Platforms::default();
        let cpu = Platforms { cpu: true, ..none };
        let tpu = Platforms { tpu: true, ..none };
        let either = Platforms { cpu: true, ..tpu };
        for (text, platforms, expected) in [
            ("f32[2,3]{1,0}", cpu, Sizes::One(24)),
            ("f32[2,3]{1,0:T(8,128)}", tpu, Sizes::One(4096)),
            // Without a tile, in blocks.
            ("s32[3]{0}", tpu, Sizes::One(4096)),
            ("s32[3]{0}", either, Sizes::Several([12, 4096].into())),
            // With the sizes of run time behind them, or before them.
            ("f32[<=3]{0}", cpu, Sizes::One(16)),
            ("f32[<=3]{0:T(128)}", tpu, Sizes::One(1536)),
            ("f9[3]{0}", tpu, Sizes::Any),
        ] {
            match Extent::of(text, platforms) {
                Some(Extent::Array { sizes, .. }) => assert_eq!(sizes, expected, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
        assert!(Extent::of("f32[2,3]{1,0}, ", cpu).is_none());
    }
}
