//! Shapes by their text: few of a dump's shapes are distinct, so each is kept and read once.

use std::sync::{Arc, Mutex, OnceLock};

use buflens_syntax::{ArrayShape, Layout, Shape};
use rustc_hash::{FxHashMap, FxHashSet};

use super::bytes::{is_possible_size, logical_bytes};
use super::cancel::lock;
use super::names::{NameId, Names};
use super::{Allocation, Dump, Value};

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

/// The shapes that a dump prints with its values and with their instructions.
#[derive(Debug, Clone, Default)]
pub struct ShapeTexts {
    texts: Names,
}

impl ShapeTexts {
    /// The id of a shape, which is added if it is new.
    pub(super) fn intern(&mut self, text: &str) -> ShapeId {
        ShapeId(self.texts.intern(text))
    }

    /// The bytes of all of them.
    pub(super) fn bytes(&self) -> usize {
        self.texts.bytes()
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
    by_id: Box<[OnceLock<Option<Shape>>]>,
    /// Those of other texts.
    by_text: Mutex<FxHashMap<&'d str, Option<Arc<Shape>>>>,
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
    pub fn read(&self, text: &'d str) -> Option<Arc<Shape>> {
        if let Some(shape) = lock(&self.by_text).get(text) {
            return shape.clone();
        }
        let shape = Shape::read(text).ok().map(Arc::new);
        lock(&self.by_text).entry(text).or_insert(shape).clone()
    }

    fn with_id(&self, id: ShapeId) -> Option<&Shape> {
        let shape = &self.by_id[id.0.place()];
        let read = || {
            let mut shape = Shape::read(&self.dump.shapes[id]).ok()?;
            lock(&self.parts).share(&mut shape);
            Some(shape)
        };
        shape.get_or_init(read).as_ref()
    }

    /// The shape of the parameter whose buffer the allocation is.
    pub fn of_parameter(&self, allocation: &Allocation) -> Option<&Shape> {
        self.with_id(allocation.parameter_shape?)
    }

    /// The shape printed with the value in its allocation.
    pub fn of(&self, value: &Value) -> Option<&Shape> {
        self.with_id(value.shape?)
    }

    /// The shape of the result of the instruction that section C prints with the value.
    pub fn of_result(&self, value: &Value) -> Option<&Shape> {
        self.with_id(self.dump.used_value(value)?.result?)
    }

    /// The bytes of the value without padding.
    pub fn logical_bytes(&self, value: &Value) -> Option<u64> {
        logical_bytes(self.of(value)?)
    }

    /// How many of the value's bytes are padding. None of a tuple's table; nor where the size is
    /// not the shape's own, as that of a value that shares a larger one's buffer.
    pub fn padding(&self, value: &Value) -> u64 {
        let Some(shape) = self.of(value) else {
            return 0;
        };
        let is_array = matches!(shape, Shape::Array(_));
        match logical_bytes(shape) {
            Some(logical)
                if is_array
                    && value.size > logical
                    && is_possible_size(shape, value.size, self.dump.platforms) =>
            {
                value.size - logical
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

#[cfg(test)]
mod tests {
    use buflens_syntax::Document;

    use super::*;
    use crate::model::File;

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
}
