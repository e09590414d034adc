//! Shapes by their text: few of a dump's shapes are distinct, so each is read once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use buflens_syntax::Shape;
use rustc_hash::FxHashMap;

use super::bytes::{is_possible_size, logical_bytes};
use super::{Dump, Value};

/// Of texts that are at least as long, equal ones are mostly one text.
const LONG: usize = 1024;

/// The shapes of a dump as far as they have been asked for.
#[derive(Debug, Default)]
pub struct Shapes<'d>(Mutex<Known<'d>>);

#[derive(Debug, Default)]
struct Known<'d> {
    by_text: FxHashMap<&'d str, Option<Arc<Shape>>>,
    /// Those of long texts by the addresses and lengths of these, so that few are compared whole.
    by_place: FxHashMap<(usize, usize), Option<Arc<Shape>>>,
}

impl<'d> Shapes<'d> {
    /// The shape that `text` is, if it is one.
    pub fn read(&self, text: &'d str) -> Option<Arc<Shape>> {
        if text.len() < LONG {
            return self.by_text(text);
        }
        let place = (text.as_ptr().addr(), text.len());
        if let Some(shape) = self.known().by_place.get(&place) {
            return shape.clone();
        }
        let shape = self.by_text(text);
        self.known().by_place.insert(place, shape.clone());
        shape
    }

    fn by_text(&self, text: &'d str) -> Option<Arc<Shape>> {
        if let Some(shape) = self.known().by_text.get(text) {
            return shape.clone();
        }
        let shape = Shape::read(text).ok().map(Arc::new);
        self.known().by_text.entry(text).or_insert(shape).clone()
    }

    fn known(&self) -> MutexGuard<'_, Known<'d>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The shape printed with the value in its allocation.
    pub fn of(&self, dump: &'d Dump, value: &Value) -> Option<Arc<Shape>> {
        self.read(shape_text(dump, value)?)
    }

    /// The bytes of the value without padding.
    pub fn logical_bytes(&self, dump: &'d Dump, value: &Value) -> Option<u64> {
        logical_bytes(self.of(dump, value)?.as_ref())
    }

    /// How many of the value's bytes are padding. None of a tuple's table; nor where the size is
    /// not the shape's own, as that of a value that shares a larger one's buffer.
    pub fn padding(&self, dump: &'d Dump, value: &Value) -> u64 {
        let Some(shape) = self.of(dump, value) else {
            return 0;
        };
        let is_array = matches!(*shape, Shape::Array(_));
        match logical_bytes(&shape) {
            Some(logical)
                if is_array
                    && value.size > logical
                    && is_possible_size(&shape, value.size, dump.platforms) =>
            {
                value.size - logical
            }
            _ => 0,
        }
    }
}

/// The shape with layout that section A prints with the value.
pub fn shape_text<'d>(dump: &'d Dump, value: &Value) -> Option<&'d str> {
    let placement = dump.placement(value)?;
    Some(placement.text(placement.row.shape))
}
