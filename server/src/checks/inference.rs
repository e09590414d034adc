//! The shapes of instructions: what an instruction gives follows from its operands and attributes, by
//! the rules of XLA's `ShapeInference` and `HloVerifier`. Layouts are left out of it, and so are
//! dimensions without a printed size. Of opcodes that are not here nothing is said.

mod compare;

use std::borrow::Cow;
use std::sync::Arc;

use buflens_syntax::Shape;

use compare::{Array, are_compatible, shown};
pub(super) use compare::{difference, element_difference};

use super::labels::cut;
use crate::model::bytes::counted;
use crate::model::opcodes::{Element, elementwise};
use crate::model::shapes::Shapes;

/// An instruction with the shapes that are printed with it and with its operands' instructions.
pub(super) struct Operation<'d, 's> {
    pub shapes: &'s Shapes<'d>,
    pub opcode: &'d str,
    pub result: &'d str,
    pub operands: &'s [&'d str],
    /// Each as `key=value`.
    pub attributes: &'s [&'d str],
}

/// What does not follow.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// The operand that is wrong by its number from 0, else it is the result.
    pub operand: Option<usize>,
    pub message: String,
}

/// Why the rule of an opcode was not followed to its end.
enum Stop {
    /// A shape or an attribute is not known.
    Unknown,
    Wrong(Problem),
}

type Checked<T = ()> = Result<T, Stop>;

impl<'d> Operation<'d, '_> {
    /// What does not follow, if anything does not. All operands' shapes have to be known.
    pub fn problem(&self) -> Option<Problem> {
        match self.check() {
            Err(Stop::Wrong(problem)) => Some(problem),
            Ok(()) | Err(Stop::Unknown) => None,
        }
    }

    fn check(&self) -> Checked {
        if let Some(element) = elementwise(self.opcode) {
            let is_like = |operand: &&str| head(operand) == head(self.result);
            // As nearly all are.
            let is_plain = element == Element::Same && self.operands.iter().all(is_like);
            return if is_plain {
                Ok(())
            } else {
                self.elementwise(element)
            };
        }
        match self.opcode {
            "get-tuple-element" => self.get_tuple_element(),
            "tuple" => self.tuple(),
            "copy" | "opt-barrier" | "while" | "add-dependency" => self.like_first(),
            "dynamic-update-slice" => self.dynamic_update_slice(),
            "select" => self.select(),
            "clamp" => self.clamp(),
            "broadcast" => self.broadcast(),
            "transpose" => self.transpose(),
            "reshape" => self.reshape(),
            "concatenate" => self.concatenate(),
            "slice" => self.slice(),
            "dynamic-slice" => self.dynamic_slice(),
            "pad" => self.pad(),
            "reduce" => self.reduce(),
            "dot" => self.dot(),
            _ => Ok(()),
        }
    }

    fn operand(&self, number: usize) -> Checked<&'d str> {
        self.operands.get(number).copied().ok_or(Stop::Unknown)
    }

    fn shape(&self, text: &'d str) -> Checked<Arc<Shape>> {
        self.shapes.read(text).ok_or(Stop::Unknown)
    }

    fn array(&self, operand: usize) -> Checked<Array> {
        Array::of(&*self.shape(self.operand(operand)?)?).ok_or(Stop::Unknown)
    }

    fn result(&self) -> Checked<Array> {
        Array::of(&*self.shape(self.result)?).ok_or(Stop::Unknown)
    }

    /// What stands behind the `=` of an attribute.
    fn attribute(&self, key: &str) -> Checked<&'d str> {
        let value = |it: &&'d str| it.strip_prefix(key)?.trim_start().strip_prefix('=');
        let mut values = self.attributes.iter().filter_map(value);
        values.next().map(str::trim).ok_or(Stop::Unknown)
    }

    /// The same without the braces around it.
    fn list(&self, key: &str) -> Checked<&'d str> {
        let inside = |list: &'d str| list.strip_prefix('{')?.strip_suffix('}');
        inside(self.attribute(key)?).ok_or(Stop::Unknown)
    }

    fn numbers(&self, key: &str) -> Checked<Vec<u64>> {
        let numbers = self.list(key)?.split(',').map(str::trim);
        let numbers = numbers.filter(|it| !it.is_empty());
        numbers
            .map(|it| it.parse().map_err(|_| Stop::Unknown))
            .collect()
    }

    /// The numbers of dimensions in an attribute, each below `rank`.
    fn dimensions(&self, key: &str, rank: usize) -> Checked<Vec<usize>> {
        let numbers = self.numbers(key)?.into_iter();
        let within = numbers.map(|it| usize::try_from(it).ok().filter(|&it| it < rank));
        within.collect::<Option<_>>().ok_or_else(|| {
            let has = if rank == 1 {
                "is 1 dimension".to_owned()
            } else {
                format!("are {rank} dimensions")
            };
            let list = self.attribute(key).unwrap_or_default();
            of_result(format!("`{key}={list}`, where there {has}"))
        })
    }

    /// The same of `array`, each at most once.
    fn dimensions_once(&self, key: &str, array: &Array) -> Checked<Vec<usize>> {
        let dimensions = self.dimensions(key, array.rank())?;
        let mut each = dimensions.clone();
        each.sort_unstable();
        each.dedup();
        if each.len() == dimensions.len() {
            return Ok(dimensions);
        }
        let list = self.attribute(key).unwrap_or_default();
        Err(of_result(format!(
            "`{key}={list}` names a dimension of `{array}` twice"
        )))
    }

    /// The result is `expected`.
    fn gives(&self, expected: &Array) -> Checked {
        let found = self.result()?;
        if found.is_like(expected) {
            return Ok(());
        }
        let opcode = self.opcode;
        Err(of_result(format!(
            "`{opcode}` gives `{expected}` here, not `{found}`"
        )))
    }

    /// The same with elements of any type.
    fn gives_sizes(&self, sizes: Vec<Option<u64>>) -> Checked {
        self.gives(&self.result()?.with(sizes))
    }

    fn elementwise(&self, element: Element) -> Checked {
        let (result, first) = (self.result()?, self.array(0)?);
        for number in 1..self.operands.len() {
            let other = self.array(number)?;
            if other.is_like(&first) {
                continue;
            }
            // The one that is not as the result is.
            let (number, found, other) = if other.is_like(&result) {
                (0, first, other)
            } else {
                (number, other, first)
            };
            let message = format!("`{found}`, while the other operand is `{other}`");
            return Err(of_operand(number, message));
        }
        match element {
            Element::Same => self.gives(&first),
            Element::Pred => self.gives(&Array {
                element: Cow::Borrowed("pred"),
                ..first
            }),
            Element::Any => self.gives_sizes(first.sizes),
        }
    }

    fn get_tuple_element(&self) -> Checked {
        let operand = self.shape(self.operand(0)?)?;
        let Shape::Tuple(elements) = &*operand else {
            let message = format!("{} is no tuple", shown(&operand));
            return Err(of_operand(0, message));
        };
        let index: usize = (self.attribute("index")?.parse()).map_err(|_| Stop::Unknown)?;
        let Some(element) = elements.get(index) else {
            let has = counted(elements.len(), "element");
            let message = format!("a tuple of {has} has no element {index}");
            return Err(of_operand(0, message));
        };
        let result = self.shape(self.result)?;
        if are_compatible(&result, element) {
            return Ok(());
        }
        let (element, result) = (shown(element), shown(&result));
        Err(of_result(format!(
            "element {index} of the tuple is {element}, not {result}"
        )))
    }

    fn tuple(&self) -> Checked {
        let result = self.shape(self.result)?;
        let Shape::Tuple(elements) = &*result else {
            return Err(of_result(format!("{} is no tuple", shown(&result))));
        };
        if elements.len() != self.operands.len() {
            let has = counted(elements.len(), "element");
            let takes = counted(self.operands.len(), "operand");
            return Err(of_result(format!("a tuple of {has}, of {takes}")));
        }
        for (number, element) in elements.iter().enumerate() {
            let operand = self.shape(self.operand(number)?)?;
            if !are_compatible(element, &operand) {
                let (operand, element) = (shown(&operand), shown(element));
                let message = format!("{operand}, while element {number} is {element}");
                return Err(of_operand(number, message));
            }
        }
        Ok(())
    }

    fn like_first(&self) -> Checked {
        if let Ok(first) = self.array(0) {
            return self.gives_any(&first);
        }
        let differ = difference(self.shapes, self.result, self.operand(0)?);
        differ.map_or(Ok(()), |(found, expected)| {
            let opcode = self.opcode;
            Err(of_result(format!(
                "`{opcode}` gives {expected} here, not {found}"
            )))
        })
    }

    /// The result, which may be a tuple, is `expected`, which is none.
    fn gives_any(&self, expected: &Array) -> Checked {
        let result = self.shape(self.result)?;
        if matches!(*result, Shape::Array(_)) {
            return self.gives(expected);
        }
        let (opcode, found) = (self.opcode, shown(&result));
        Err(of_result(format!(
            "`{opcode}` gives `{expected}` here, not {found}"
        )))
    }

    fn select(&self) -> Checked {
        let (predicate, first, second) = (self.array(0)?, self.array(1)?, self.array(2)?);
        if !second.is_like(&first) {
            let message = format!("`{second}`, while the other operand is `{first}`");
            return Err(of_operand(2, message));
        }
        let is_sized = predicate.rank() == 0 || predicate.has_sizes_of(&first);
        if !is_sized || predicate.element != "pred" {
            let message = format!("`{predicate}` selects among `{first}`");
            return Err(of_operand(0, message));
        }
        self.gives(&first)
    }

    fn clamp(&self) -> Checked {
        let among = self.array(1)?;
        for number in [0, 2] {
            let bound = self.array(number)?;
            let is_sized = bound.rank() == 0 || bound.has_sizes_of(&among);
            if !is_sized || !bound.has_type_of(&among) {
                let message = format!("`{bound}` is a bound of `{among}`");
                return Err(of_operand(number, message));
            }
        }
        self.gives(&among)
    }

    fn broadcast(&self) -> Checked {
        let (operand, result) = (self.array(0)?, self.result()?);
        if operand.rank() > 0 && self.attribute("dimensions").is_err() {
            let message = format!("`{operand}` needs `dimensions`: only a scalar does without");
            return Err(of_operand(0, message));
        }
        let dimensions = self.dimensions_once("dimensions", &result)?;
        let taken = dimensions.iter().map(|&it| result.sizes[it]).collect();
        if result.with(taken).is_like(&operand) {
            return Ok(());
        }
        let list = self.attribute("dimensions")?;
        Err(of_result(format!(
            "`{operand}` is not the dimensions {list} of `{result}`"
        )))
    }

    fn transpose(&self) -> Checked {
        let operand = self.array(0)?;
        let dimensions = self.dimensions_once("dimensions", &operand)?;
        if dimensions.len() < operand.rank() {
            let list = self.attribute("dimensions").unwrap_or_default();
            return Err(of_result(format!(
                "`dimensions={list}` does not name each dimension of `{operand}` once"
            )));
        }
        self.gives(&operand.with(dimensions.iter().map(|&it| operand.sizes[it]).collect()))
    }

    fn reshape(&self) -> Checked {
        let (operand, result) = (self.array(0)?, self.result()?);
        let elements = |array: &Array| array.elements().ok_or(Stop::Unknown);
        let (from, to) = (elements(&operand)?, elements(&result)?);
        if from != to {
            return Err(of_result(format!(
                "`{operand}` has {from} elements, `{result}` has {to}"
            )));
        }
        self.gives(&operand.with(result.sizes))
    }

    fn concatenate(&self) -> Checked {
        let first = self.array(0)?;
        let along = self.dimensions("dimensions", first.rank())?;
        let &[along] = &*along else {
            return Err(Stop::Unknown);
        };
        let mut sum = first.sizes[along];
        for number in 1..self.operands.len() {
            let other = self.array(number)?;
            let mut expected = first.clone();
            expected.sizes[along] = other.sizes.get(along).copied().flatten();
            if !other.is_like(&expected) {
                let message = format!("`{other}`, while the first operand is `{first}`");
                return Err(of_operand(number, message));
            }
            let both = sum.zip(other.sizes[along]);
            sum = both.and_then(|(sum, size)| sum.checked_add(size));
        }
        let mut expected = first;
        expected.sizes[along] = sum;
        self.gives(&expected)
    }

    fn slice(&self) -> Checked {
        let operand = self.array(0)?;
        let mut sizes = Vec::new();
        for (number, range) in self.list("slice")?.split(',').map(str::trim).enumerate() {
            let inside = range.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
            let numbers = inside.map(|it| it.split(':').map(|it| it.trim().parse::<u64>()));
            let numbers: Option<Vec<u64>> =
                numbers.and_then(|it| it.collect::<Result<_, _>>().ok());
            let (start, limit, stride) = match numbers.as_deref() {
                Some(&[start, limit]) => (start, limit, 1),
                Some(&[start, limit, stride]) => (start, limit, stride),
                _ => return Err(Stop::Unknown),
            };
            let of = operand.sizes.get(number).copied().flatten();
            if start > limit || stride == 0 || of.is_some_and(|of| limit > of) {
                return Err(of_result(format!(
                    "`{range}` is no range of dimension {number} of `{operand}`"
                )));
            }
            sizes.push(Some((limit - start).div_ceil(stride)));
        }
        self.gives(&operand.with(sizes))
    }

    fn dynamic_slice(&self) -> Checked {
        let operand = self.array(0)?;
        let sizes = self.numbers("dynamic_slice_sizes")?;
        let expected = operand.with(sizes.into_iter().map(Some).collect());
        if !expected.fits_into(&operand) {
            let message = format!("`{expected}` is no part of `{operand}`");
            return Err(of_operand(0, message));
        }
        self.indices(&operand, 1)?;
        self.gives(&expected)
    }

    fn dynamic_update_slice(&self) -> Checked {
        let (operand, update) = (self.array(0)?, self.array(1)?);
        if !update.fits_into(&operand) || !update.has_type_of(&operand) {
            let message = format!("`{update}` is no part of `{operand}`");
            return Err(of_operand(1, message));
        }
        self.indices(&operand, 2)?;
        self.gives(&operand)
    }

    /// Where a part of `array` begins: the operands from `first` on, one for each dimension, or one array of all.
    fn indices(&self, array: &Array, first: usize) -> Checked {
        let count = self.operands.len().saturating_sub(first);
        if count == 1 && self.array(first)?.rank() == 1 || count == array.rank() {
            return Ok(());
        }
        let found = counted(count, "index operand");
        let message = format!("{found} into `{array}`: one for each dimension is expected");
        Err(of_operand(0, message))
    }

    /// `padding=LOW_HIGHxLOW_HIGH_INTERIOR`, for each dimension. What is negative cuts off.
    fn pad(&self) -> Checked {
        let (operand, with) = (self.array(0)?, self.array(1)?);
        if with.rank() > 0 || !with.has_type_of(&operand) {
            let message = format!("`{with}` pads `{operand}`");
            return Err(of_operand(1, message));
        }
        let mut sizes = Vec::new();
        for (number, padding) in self.attribute("padding")?.split('x').enumerate() {
            let numbers = padding.trim().split('_').map(str::parse::<i64>);
            let numbers: Vec<i64> =
                (numbers.collect::<Result<_, _>>()).map_err(|_| Stop::Unknown)?;
            let (outside, interior) = match *numbers {
                [low, high] => (low.checked_add(high), 0),
                [low, high, interior] => (low.checked_add(high), interior),
                _ => return Err(Stop::Unknown),
            };
            let size = operand.sizes.get(number).copied().flatten();
            let padded = size.and_then(|size| {
                let size = i64::try_from(size).ok()?;
                let inside = (size - 1).max(0).checked_mul(interior)?;
                let padded = size.checked_add(inside)?.checked_add(outside?)?;
                u64::try_from(padded).ok()
            });
            sizes.push(padded);
        }
        self.gives(&operand.with(sizes))
    }

    /// Of one operand and its start value. Of several there is a tuple of results, of which nothing is said.
    fn reduce(&self) -> Checked {
        let operand = self.array(0)?;
        let dimensions = self.dimensions_once("dimensions", &operand)?;
        if let [_, _] = self.operands
            && self.array(1)?.rank() > 0
        {
            let message = format!("`{}` is no scalar to begin with", self.array(1)?);
            return Err(of_operand(1, message));
        }
        let sizes = operand.sizes.iter().enumerate();
        let kept = sizes.filter(|(number, _)| !dimensions.contains(number));
        self.gives_sizes(kept.map(|(_, size)| *size).collect())
    }

    fn dot(&self) -> Checked {
        // A sparse one has more.
        if self.operands.len() != 2 {
            return Err(Stop::Unknown);
        }
        let (lhs, rhs) = (self.side("lhs", 0)?, self.side("rhs", 1)?);
        for (what, one, other) in [
            ("batch", &lhs.batch, &rhs.batch),
            ("contracting", &lhs.contracting, &rhs.contracting),
        ] {
            if !one.has_sizes_of(other) {
                let (one, other) = (cut(&one.listed()), cut(&other.listed()));
                return Err(of_operand(
                    1,
                    format!("the {what} dimensions are {other}, and {one} of the other operand"),
                ));
            }
        }
        let sizes = lhs.batch.sizes.into_iter().chain(lhs.free).chain(rhs.free);
        self.gives_sizes(sizes.collect())
    }

    /// The dimensions of an operand of `dot`.
    fn side(&self, side: &str, number: usize) -> Checked<Side> {
        let operand = self.array(number)?;
        let list = |what: &str| {
            let key = format!("{side}_{what}_dims");
            // What is empty is not printed.
            match self.attribute(&key) {
                Ok(_) => self.dimensions(&key, operand.rank()),
                Err(_) => Ok(Vec::new()),
            }
        };
        let (batch, contracting) = (list("batch")?, list("contracting")?);
        let is_free = |it: &usize| !batch.contains(it) && !contracting.contains(it);
        let of = |dimensions: &[usize]| {
            let sizes = dimensions.iter().map(|&it| operand.sizes[it]);
            operand.with(sizes.collect())
        };
        Ok(Side {
            batch: of(&batch),
            contracting: of(&contracting),
            free: (0..operand.rank())
                .filter(is_free)
                .map(|it| operand.sizes[it])
                .collect(),
        })
    }
}

/// An operand of `dot`.
struct Side {
    batch: Array,
    contracting: Array,
    free: Vec<Option<u64>>,
}

/// The text of an array's shape without its layout; that of anything else.
fn head(shape: &str) -> &str {
    shape.split('{').next().unwrap_or(shape)
}

fn of_result(message: String) -> Stop {
    Stop::Wrong(Problem {
        operand: None,
        message,
    })
}

fn of_operand(operand: usize, message: String) -> Stop {
    Stop::Wrong(Problem {
        operand: Some(operand),
        message,
    })
}
