//! Shapes without their layouts, and in what two of them differ.

use std::borrow::Cow;
use std::fmt;

use buflens_syntax::{ArrayShape, Shape};

use super::head;
use crate::checks::labels::cut;
use crate::model::bytes::counted;
use crate::model::shapes::Shapes;

/// An array without its layout.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Array {
    pub element: Cow<'static, str>,
    /// `None` is a dimension without a size.
    pub sizes: Vec<Option<u64>>,
}

impl Array {
    fn new(shape: &ArrayShape) -> Self {
        Self {
            element: shape.element.name.clone(),
            sizes: shape.dimensions.iter().map(|it| it.size).collect(),
        }
    }

    /// The array that `shape` is, if it is one.
    pub fn of(shape: &Shape) -> Option<Self> {
        match shape {
            Shape::Array(array) => Some(Self::new(array)),
            Shape::Tuple(_) => None,
        }
    }

    pub fn rank(&self) -> usize {
        self.sizes.len()
    }

    pub fn with(&self, sizes: Vec<Option<u64>>) -> Self {
        Self {
            element: self.element.clone(),
            sizes,
        }
    }

    pub fn has_sizes_of(&self, other: &Self) -> bool {
        let is_one = |(one, other): (&Option<u64>, &Option<u64>)| {
            one.is_none() || other.is_none() || one == other
        };
        self.rank() == other.rank() && self.sizes.iter().zip(&other.sizes).all(is_one)
    }

    /// Whether both have elements of one type. One floating type stands for another.
    pub fn has_type_of(&self, other: &Self) -> bool {
        let is_floating = |it: &Self| it.element.starts_with('f') || it.element.starts_with("bf");
        self.element == other.element || is_floating(self) && is_floating(other)
    }

    /// Whether it is another, layouts apart.
    pub fn is_like(&self, other: &Self) -> bool {
        self.has_type_of(other) && self.has_sizes_of(other)
    }

    /// Whether no dimension is larger than that of `other`.
    pub fn fits_into(&self, other: &Self) -> bool {
        let fits = |(size, of): (&Option<u64>, &Option<u64>)| of.is_none() || size <= of;
        self.rank() == other.rank() && self.sizes.iter().zip(&other.sizes).all(fits)
    }

    /// The sizes in their brackets.
    pub fn listed(&self) -> String {
        let size = |size: &Option<u64>| size.map_or("?".to_owned(), |size| size.to_string());
        let sizes: Vec<String> = self.sizes.iter().map(size).collect();
        format!("[{}]", sizes.join(","))
    }

    /// The product of the sizes, if all are printed.
    pub fn elements(&self) -> Option<u64> {
        let mut sizes = self.sizes.iter();
        sizes.try_fold(1_u64, |product, size| product.checked_mul((*size)?))
    }
}

impl fmt::Display for Array {
    /// As much of it as a message shows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&cut(&format!("{}{}", self.element, self.listed())))
    }
}

/// Whether the shapes are one but for their layouts.
pub(super) fn are_compatible(one: &Shape, other: &Shape) -> bool {
    match (one, other) {
        (Shape::Array(one), Shape::Array(other)) => {
            let sizes = one.dimensions.iter().zip(&other.dimensions);
            one.element.name == other.element.name
                && one.dimensions.len() == other.dimensions.len()
                && sizes
                    .map(|(one, other)| (one.size, other.size))
                    .all(|(one, other)| one.is_none() || other.is_none() || one == other)
        }
        (Shape::Tuple(one), Shape::Tuple(other)) => {
            one.len() == other.len()
                && (one.iter().zip(other)).all(|(one, other)| are_compatible(one, other))
        }
        _ => false,
    }
}

/// A shape in a message: an array without its layout, a tuple by its length.
pub(super) fn shown(shape: &Shape) -> String {
    match shape {
        Shape::Array(array) => format!("`{}`", Array::new(array)),
        Shape::Tuple(elements) => format!("a tuple of {}", counted(elements.len(), "element")),
    }
}

/// What `found` and `expected` are, if they differ by more than layouts.
pub(in crate::checks) fn difference<'d>(
    shapes: &Shapes<'d>,
    found: &'d str,
    expected: &'d str,
) -> Option<(String, String)> {
    // Of arrays mostly the layout alone is another.
    if found == expected || !found.starts_with('(') && head(found) == head(expected) {
        return None;
    }
    let (found, expected) = (shapes.read(found)?, shapes.read(expected)?);
    let (mut found, mut expected) = (&*found, &*expected);
    let mut index = Vec::new();
    // Of two tuples with very many elements the first one that differs.
    while let (Shape::Tuple(ours), Shape::Tuple(theirs)) = (found, expected)
        && ours.len() == theirs.len()
    {
        let mut pairs = ours.iter().zip(theirs).enumerate();
        let (number, (one, other)) = pairs.find(|(_, (one, other))| !are_compatible(one, other))?;
        index.push(number.to_string());
        (found, expected) = (one, other);
    }
    let shown = |shape| match &*index {
        [] => shown(shape),
        index => format!(
            "a tuple with {} at {{{}}}",
            shown(shape),
            cut(&index.join(","))
        ),
    };
    (!are_compatible(found, expected)).then(|| (shown(found), shown(expected)))
}

/// What an element of `whole` and `found` are, if that is no such element. Of a tuple, whose elements are several, nothing is said.
pub(in crate::checks) fn element_difference<'d>(
    shapes: &Shapes<'d>,
    whole: &'d str,
    found: &'d str,
) -> Option<(String, String)> {
    let (whole, found) = (shapes.read(whole)?, shapes.read(found)?);
    let whole = Array::of(&whole)?;
    let element = whole.with(Vec::new());
    if Array::of(&found).is_some_and(|found| found.is_like(&element)) {
        return None;
    }
    let expected = match whole.rank() {
        0 => format!("`{element}`"),
        _ => format!("an element of `{whole}`"),
    };
    Some((expected, shown(&found)))
}
