//! Instructions that run a computation of the module: their operands are its parameters, and their
//! result is its root's, but for layouts.

use std::ops::Range;

use buflens_syntax::facts::{self, Span};
use buflens_syntax::{InstructionParts, Shape};
use rustc_hash::FxHashSet;

use super::inference::{difference, element_difference};
use super::labels::cut;
use super::{Code, Context, Finding};
use crate::model::bytes::counted;
use crate::model::origin::{branches, called_name};
use crate::model::shapes::ShapeId;
use crate::model::signature::{Given, Parameter};
use crate::model::{At, Dump, Place, Row};

/// A shape, if it is known, and the place to tell of it at.
#[derive(Clone)]
pub(super) struct Shaped<'d> {
    pub place: Place,
    pub shape: Option<&'d str>,
    /// The instruction whose result it is the shape of.
    pub instruction: Option<Row>,
}

impl<'d> Shaped<'d> {
    /// The shape of the result of `instruction`, if that is there and has one.
    pub fn new(place: Place, instruction: Option<(Row, &'d str)>) -> Self {
        let shape = instruction.map(|(_, shape)| shape);
        Self {
            place,
            shape: shape.filter(|shape| !shape.is_empty()),
            instruction: instruction.map(|(row, _)| row),
        }
    }

    /// The one that stands at `shape`, counted from `start` in the block of `at`.
    fn printed<T>(at: &At<'d, T>, start: u32, shape: Range<u32>) -> Self {
        let (start, end) = (start + shape.start, start + shape.end);
        let span = Span { start, end };
        Self {
            place: at.place(span),
            shape: Some(at.text(span)).filter(|shape| !shape.is_empty()),
            instruction: None,
        }
    }
}

/// A shape that does not follow from others.
pub(super) struct Odd {
    pub finding: Finding,
    /// The instruction, if it is that of a result.
    pub result: Option<Row>,
    /// The instructions whose shapes it does not follow from.
    pub others: Vec<Row>,
}

impl Odd {
    /// The findings of those that do not come of another: what is wrong with a result is told there,
    /// and not where it is read.
    pub fn first(all: Vec<Self>) -> impl Iterator<Item = Finding> {
        let wrong: FxHashSet<Row> = all.iter().filter_map(|odd| odd.result).collect();
        let is_first = move |odd: &Self| !odd.others.iter().any(|it| wrong.contains(it));
        all.into_iter().filter(is_first).map(|odd| odd.finding)
    }
}

/// What a computation takes and gives.
pub(super) struct Signature<'d> {
    parameters: &'d [Parameter],
    /// `None` if that is ambiguous.
    given: Option<&'d Given>,
}

/// An instruction that is a parameter or the result of a computation.
struct Own<'d> {
    shape: Option<&'d str>,
    instruction: Row,
    is_parameter: bool,
}

impl<'d> Own<'d> {
    fn new(dump: &'d Dump, instruction: Row, shape: ShapeId, is_parameter: bool) -> Self {
        Self {
            shape: Some(&dump.shapes[shape]).filter(|shape| !shape.is_empty()),
            instruction,
            is_parameter,
        }
    }

    fn parameter(dump: &'d Dump, it: &Parameter) -> Self {
        Self::new(dump, it.instruction, it.shape, true)
    }

    fn given(dump: &'d Dump, it: &Given) -> Self {
        Self::new(dump, it.instruction, it.shape, false)
    }

    /// The parameter's number, or the shape of the result.
    fn place(&self, dump: &Dump) -> Option<Place> {
        let at = dump.at::<facts::Instruction>(self.instruction)?;
        let parameter = self.is_parameter.then_some(at.row.parameter.span);
        Some(at.place(parameter.unwrap_or(at.row.shape)))
    }
}

impl<'d> Signature<'d> {
    /// That of a computation, unless it is empty.
    pub fn of(dump: &'d Dump, computation: u32) -> Option<Self> {
        let (parameters, given) = dump.module.signatures.of(computation)?;
        Some(Self { parameters, given })
    }

    /// `instruction-shape`: what is `declared` of the computation is not what its parameters and its root are. What differs from
    /// all that is declared of it is wrong itself, and so is a parameter that others disagree with too, as `is_doubted` tells.
    pub fn problems(
        &self,
        context: &Context<'d>,
        declared: &[Declared<'d>],
        is_doubted: impl Fn(Row) -> bool,
    ) -> Vec<Odd> {
        let dump = context.dump;
        let own = self.parameters.len();
        let (alike, others): (Vec<_>, Vec<_>) =
            declared.iter().partition(|it| it.parameters.len() == own);
        let mut parameters: Vec<_> = self.parameters.iter().collect();
        parameters.sort_by_key(|it| it.number);
        let parameters = parameters.into_iter().filter_map(|it| {
            let (number, own) = (it.number, Own::parameter(dump, it));
            let at = usize::try_from(number).ok()?;
            let declared = alike.iter();
            let declared = declared.map(|it| (it.name, it.parameters.get(at)));
            let wrong = Some(own.instruction).filter(|&it| is_doubted(it));
            let what = || format!("parameter {number} is");
            let finding = declared_otherwise(context, &own, wrong.is_some(), what, declared)?;
            Some(Odd {
                finding,
                result: wrong,
                others: Vec::new(),
            })
        });
        let result = self.given.and_then(|given| {
            let own = Own::given(dump, given);
            let declared = declared.iter();
            let declared = declared.map(|it| (it.name, Some(&it.result)));
            let what = || "the root gives".to_owned();
            Some(Odd {
                finding: declared_otherwise(context, &own, false, what, declared)?,
                result: None,
                others: vec![own.instruction],
            })
        });
        let counts = others.iter().filter_map(|it| {
            let odd = it.parameters.get(own).or(it.parameters.last())?;
            let listed = counted(it.parameters.len(), "parameter");
            let message = format!("{} has {listed}, the computation {own}", it.name);
            Some(Odd {
                finding: Finding::new(Code::OperandCount, odd.place.clone(), message),
                result: None,
                others: Vec::new(),
            })
        });
        parameters.chain(result).chain(counts).collect()
    }
}

/// Where some of `declared` are others than `own`, which is `what`: `parameter 0 is`.
fn declared_otherwise<'a, 'd: 'a>(
    context: &Context<'d>,
    own: &Own<'d>,
    is_doubted: bool,
    what: impl Fn() -> String,
    declared: impl Iterator<Item = (&'static str, Option<&'a Shaped<'d>>)>,
) -> Option<Finding> {
    let (mut agree, mut differ) = (0, Vec::new());
    for (name, declared) in declared {
        let shapes = declared.and_then(|it| Some((it, it.shape?, own.shape?)));
        let Some((declared, found, expected)) = shapes else {
            continue;
        };
        match difference(&context.shapes, found, expected) {
            Some((found, expected)) => differ.push((name, &declared.place, found, expected)),
            None => agree += 1,
        }
    }
    let (name, place, found, expected) = differ.first()?;
    let own = own.place(context.dump)?;
    if is_doubted || agree == 0 && differ.len() > 1 {
        let message = format!("{expected}, while {name} has {found}");
        let finding = Finding::new(Code::InstructionShape, own, message);
        let places = differ.into_iter();
        return Some(places.fold(finding, |finding, (name, place, ..)| {
            finding.related(place.clone(), format!("in {name}"))
        }));
    }
    let what = what();
    let message = format!("{found}, while {what} {expected}");
    let finding = Finding::new(Code::InstructionShape, (*place).clone(), message);
    let (other, _) = what.rsplit_once(' ')?;
    Some(finding.related(own, other.to_owned()))
}

/// What is said in one place of what a computation takes and gives.
pub(super) struct Declared<'d> {
    /// The place, as a sentence has it.
    name: &'static str,
    parameters: Vec<Shaped<'d>>,
    result: Shaped<'d>,
}

impl<'d> Declared<'d> {
    /// What a computation's header says: `%add (x: f32[], y: (s32[], f32[2])) -> f32[] {`
    pub fn in_header(header: &At<'d, facts::Computation>) -> Option<Self> {
        let line = header.row.line;
        let mut takes = Shape::in_header(header.text(line))?;
        let gives = takes.pop()?;
        let shaped = |shape| Shaped::printed(header, line.start, shape);
        Some(Self {
            name: "the header",
            parameters: takes.into_iter().map(shaped).collect(),
            result: shaped(gives),
        })
    }

    /// What the header of the module says of the entry: `entry_computation_layout={(f32[], /*index=1*/f32[2]{0})->f32[]}`
    pub fn of_program(dump: &'d Dump) -> Option<Self> {
        let (_, at) = dump.in_module_header("entry_computation_layout")?;
        let text = at.text(at.row).strip_suffix('}')?;
        let start = text.find('{')? + 1;
        let end = start + text[start..].rfind("->")?;
        let shaped = |shape| Shaped::printed(&at, at.row.start, shape);
        let parameters = Shape::elements(&text[start..end])?.into_iter();
        let parameters = parameters.map(|it| start as u32 + it.start..start as u32 + it.end);
        let gives = end + "->".len();
        let blanks = text[gives..].len() - text[gives..].trim_start().len();
        Some(Self {
            name: "`entry_computation_layout`",
            parameters: parameters.map(shaped).collect(),
            result: shaped((gives + blanks) as u32..text.trim_end().len() as u32),
        })
    }
}

/// An instruction that runs computations.
pub(super) struct Call<'c, 'd> {
    pub opcode: &'d str,
    /// The opcode's.
    pub place: Place,
    pub text: &'d str,
    pub result: Shaped<'d>,
    pub operands: &'c [Shaped<'d>],
}

/// A computation that an instruction runs.
struct Run<'c, 'd> {
    name: &'d str,
    takes: Vec<Like<'c, 'd>>,
    gives: Like<'c, 'd>,
}

/// What a parameter or the result of a computation has to be.
#[derive(Clone, Copy)]
enum Like<'c, 'd> {
    /// What an operand or the instruction is.
    Whole(&'c Shaped<'d>),
    /// One element of that.
    Element(&'c Shaped<'d>),
    Predicate,
}

impl<'c, 'd> Like<'c, 'd> {
    /// Two elements of each.
    fn twice(operands: &'c [Shaped<'d>]) -> Vec<Self> {
        let elements = operands.iter().map(Self::Element);
        elements.flat_map(|it| [it, it]).collect()
    }

    /// What it has to be and what it is, if that is something else.
    fn difference(self, context: &Context<'d>, found: &'d str) -> Option<(String, String)> {
        match self {
            Self::Whole(own) => difference(&context.shapes, own.shape?, found),
            Self::Element(own) => element_difference(&context.shapes, own.shape?, found),
            Self::Predicate => difference(&context.shapes, "pred[]", found),
        }
    }
}

impl<'d> Call<'_, 'd> {
    /// Whether it is known what the computations take and give that an instruction with `opcode` runs.
    pub fn runs(opcode: &str) -> bool {
        matches!(
            opcode,
            "call"
                | "conditional"
                | "fusion"
                | "map"
                | "reduce"
                | "reduce-window"
                | "scatter"
                | "select-and-scatter"
                | "sort"
                | "while"
        )
    }

    /// `operand-count` and `instruction-shape`: what does not agree with a computation.
    pub fn problem(&self, context: &Context<'d>) -> Option<Odd> {
        let parts = InstructionParts::read_up_to(self.text, 0);
        let mut odd = self.computations(&parts).into_iter().find_map(|run| {
            let computation = context.dump.names.get(run.name)?;
            let computation = context.dump.computation_named(computation)?;
            let signature = Signature::of(context.dump, computation)?;
            self.parameters(context, &signature, &run)
                .or_else(|| self.given(context, &signature, &run))
        })?;
        let operands = self.operands.iter();
        odd.others.extend(operands.filter_map(|it| it.instruction));
        if self.opcode == "while" {
            // Its result follows from its operand, which is checked already.
            odd.others.extend(odd.result.take());
        }
        Some(odd)
    }

    /// The computations that it runs.
    fn computations(&self, parts: &InstructionParts<'d>) -> Vec<Run<'_, 'd>> {
        let (all, result) = (self.operands, Like::Whole(&self.result));
        let whole = || all.iter().map(Like::Whole).collect();
        let (arrays, others) = all.split_at(all.len() / 2);
        let element = Like::Element(&self.result);
        let by_key = match self.opcode {
            "call" => vec![("to_apply", whole(), result)],
            "fusion" => vec![("calls", whole(), result)],
            "while" => vec![
                ("condition", whole(), Like::Predicate),
                ("body", whole(), result),
            ],
            "map" => {
                let elements = all.iter().map(Like::Element);
                vec![("to_apply", elements.collect(), element)]
            }
            // What it begins with stands behind the arrays.
            "reduce" | "reduce-window" => {
                let elements = others.iter().chain(arrays).map(Like::Element);
                vec![("to_apply", elements.collect(), element)]
            }
            // Between the arrays and what is written stand the indices.
            "scatter" => {
                let written = others.get(1..).unwrap_or_default();
                let elements = arrays.iter().chain(written).map(Like::Element);
                vec![("to_apply", elements.collect(), element)]
            }
            "select-and-scatter" => vec![
                ("select", Like::twice(arrays), Like::Predicate),
                ("scatter", Like::twice(arrays), element),
            ],
            "sort" => vec![("to_apply", Like::twice(all), Like::Predicate)],
            _ => return self.branches(parts),
        };
        let runs = by_key.into_iter().filter_map(|(key, takes, gives)| {
            let name = called_name(parts, key)?;
            Some(Run { name, takes, gives })
        });
        runs.collect()
    }

    /// The branches of a `conditional`, each of which takes one operand, behind the one that chooses.
    fn branches(&self, parts: &InstructionParts<'d>) -> Vec<Run<'_, 'd>> {
        let operands = self.operands.get(1..).unwrap_or_default();
        let branches = branches(parts).into_iter().zip(operands);
        let branches = branches.map(|(name, operand)| Run {
            name,
            takes: vec![Like::Whole(operand)],
            gives: Like::Whole(&self.result),
        });
        branches.collect()
    }

    fn parameters(
        &self,
        context: &Context<'d>,
        signature: &Signature<'d>,
        run: &Run<'_, 'd>,
    ) -> Option<Odd> {
        let (takes, given) = (signature.parameters.len(), run.takes.len());
        // Behind what they take, libtpu gives fusions the windows of operands that it prefetches, and says which is whose.
        let has_windows = || self.text.contains(&format!(r#""buffer_index":"{takes}""#));
        if takes != given && !(takes < given && has_windows()) {
            let takes = counted(takes, "parameter");
            let message = format!(
                "`{}` has {takes}, `{}` gives it {given}",
                cut(run.name),
                self.opcode
            );
            return Some(Odd {
                finding: Finding::new(Code::OperandCount, self.place.clone(), message),
                result: None,
                others: Vec::new(),
            });
        }
        signature.parameters.iter().find_map(|it| {
            let (number, parameter) = (it.number, Own::parameter(context.dump, it));
            let operand = run.takes.get(usize::try_from(number).ok()?)?;
            let (expected, found) = operand.difference(context, parameter.shape?)?;
            let place = match operand {
                Like::Whole(operand) | Like::Element(operand) => &operand.place,
                Like::Predicate => &self.place,
            };
            let message = format!(
                "{expected}, while parameter {number} of `{}` is {found}",
                cut(run.name)
            );
            let finding = Finding::new(Code::InstructionShape, place.clone(), message);
            Some(Odd {
                finding: finding.related_if(parameter.place(context.dump), "the parameter"),
                result: None,
                others: vec![parameter.instruction],
            })
        })
    }

    fn given(
        &self,
        context: &Context<'d>,
        signature: &Signature<'d>,
        run: &Run<'_, 'd>,
    ) -> Option<Odd> {
        let given = Own::given(context.dump, signature.given?);
        let (expected, found) = run.gives.difference(context, given.shape?)?;
        let (place, message, result) = if let Like::Whole(result) = run.gives {
            (
                &result.place,
                format!("{expected}, while `{}` gives {found}", cut(run.name)),
                result.instruction,
            )
        } else {
            // The computation alone is wrong, not what runs it.
            (
                &self.place,
                format!("`{}` gives {found}, not {expected}", cut(run.name)),
                None,
            )
        };
        let finding = Finding::new(Code::InstructionShape, place.clone(), message);
        Some(Odd {
            finding: finding.related_if(given.place(context.dump), "its result"),
            result,
            others: vec![given.instruction],
        })
    }
}
