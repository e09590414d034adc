//! Instructions that run a computation of the module: their operands are its parameters, and their
//! result is its root's, but for layouts.

use buflens_syntax::InstructionParts;
use buflens_syntax::facts::{self, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use super::inference::difference;
use super::{Code, Context, Finding};
use crate::model::bytes::counted;
use crate::model::origin::called;
use crate::model::{At, Place, Row};

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

/// An instruction of a computation as the result of it.
pub(super) struct Given<'d> {
    pub is_root: bool,
    pub result: Shaped<'d>,
}

impl Given<'_> {
    /// Without a `ROOT` the last instruction is the root.
    pub fn replace(&mut self, behind: Self) {
        if !self.is_root {
            *self = behind;
        }
    }
}

/// What a computation takes and gives.
#[derive(Default)]
pub(super) struct Signature<'d> {
    pub parameters: Vec<(u64, Shaped<'d>)>,
    pub given: Option<Given<'d>>,
}

impl<'d> Signature<'d> {
    /// `instruction-shape`: what `header` says that the computation takes and gives is not what its parameters and its root
    /// are. A parameter that others disagree with too, as `is_doubted` tells, is wrong itself.
    pub fn problems(
        &self,
        context: &Context<'d>,
        header: &At<'d, facts::Computation>,
        is_doubted: impl Fn(Row) -> bool,
    ) -> Vec<Odd> {
        let line = header.text(header.row.line);
        let Some((before, behind)) = line.rsplit_once("->") else {
            return Vec::new();
        };
        let mut parameters: Vec<_> = self.parameters.iter().collect();
        parameters.sort_by_key(|(number, _)| *number);
        let parameter = |number: u64| {
            let at = parameters.binary_search_by_key(&number, |(own, _)| *own);
            at.ok().map(|at| &parameters[at].1)
        };
        let parameters = (0..)
            .zip(taken(before))
            .filter_map(|(number, (at, shape))| {
                let own = parameter(number)?;
                let (found, expected) = difference(&context.shapes, shape, own.shape?)?;
                let place = within(header, at, shape);
                let wrong = own.instruction.filter(|&it| is_doubted(it));
                let (place, message, other) = if wrong.is_some() {
                    let message = format!("{expected}, while the header has {found}");
                    (own.place.clone(), message, (place, "in the header"))
                } else {
                    let message = format!("{found}, while parameter {number} is {expected}");
                    (place, message, (own.place.clone(), "the parameter"))
                };
                let finding = Finding::new(Code::InstructionShape, place, message);
                Some(Odd {
                    finding: finding.related(other.0, other.1),
                    result: wrong,
                    others: Vec::new(),
                })
            });
        let result = self.given.as_ref().and_then(|given| {
            let root = &given.result;
            let shape = behind.trim_end().strip_suffix('{')?.trim();
            let (found, expected) = difference(&context.shapes, shape, root.shape?)?;
            let blanks = behind.len() - behind.trim_start().len();
            let place = within(header, before.len() + "->".len() + blanks, shape);
            let message = format!("{found}, while the root gives {expected}");
            let finding = Finding::new(Code::InstructionShape, place, message);
            Some(Odd {
                finding: finding.related(root.place.clone(), "the root"),
                result: None,
                others: root.instruction.into_iter().collect(),
            })
        });
        parameters.chain(result).collect()
    }
}

/// The place of `text`, which stands at `at` in the line of `header`.
fn within(header: &At<facts::Computation>, at: usize, text: &str) -> Place {
    let start = header.row.line.start + at as u32;
    let end = start + text.len() as u32;
    header.place(Span { start, end })
}

/// The shapes of the parameters in a computation's header, each with its place in `text`, which is what stands before the
/// arrow: `%add (x: f32[], y: (s32[], f32[2])) `.
fn taken(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = text.find('(').map_or(text.len(), |open| open + 1);
    let list = text[at..].trim_end();
    let list = list.strip_suffix(')').unwrap_or(list);
    let mut depth = 0;
    let items = list.split(move |char| {
        match char {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        char == ',' && depth == 0
    });
    items.map_while(move |item| {
        let (_, behind) = item.split_once(':')?;
        let shape = behind.trim_start();
        let start = at + item.len() - shape.len();
        at += item.len() + 1;
        Some((start, shape.trim_end()))
    })
}

/// The signatures of a module's computations, by their numbers.
pub(super) type Signatures<'d> = FxHashMap<Option<u32>, Signature<'d>>;

/// An instruction that runs a computation.
pub(super) struct Call<'d> {
    pub opcode: &'d str,
    /// The opcode's.
    pub place: Place,
    pub text: &'d str,
    pub result: Shaped<'d>,
    pub operands: Vec<Shaped<'d>>,
}

impl<'d> Call<'d> {
    /// Whether an instruction with `opcode` runs a computation on its operands as they are.
    pub fn runs(opcode: &str) -> bool {
        matches!(opcode, "call" | "fusion" | "while")
    }

    /// `operand-count` and `instruction-shape`: what does not agree with the computation.
    pub fn problem(&self, context: &Context<'d>, signatures: &Signatures<'d>) -> Option<Odd> {
        let keys: &[_] = match self.opcode {
            "call" => &["to_apply"],
            "fusion" => &["calls"],
            _ => &["condition", "body"],
        };
        let parts = InstructionParts::read_up_to(self.text, 0);
        let mut odd = keys.iter().find_map(|key| {
            let computation = called(context.dump, &parts, key)?;
            let signature = signatures.get(&Some(computation))?;
            let name = context.dump.computation_name(computation)?;
            self.parameters(context, signature, name)
                .or_else(|| self.given(context, signature, name, key))
        })?;
        let operands = self.operands.iter();
        odd.others.extend(operands.filter_map(|it| it.instruction));
        if self.opcode == "while" {
            // Its result follows from its operand, which is checked already.
            odd.others.extend(odd.result.take());
        }
        Some(odd)
    }

    fn parameters(
        &self,
        context: &Context<'d>,
        signature: &Signature<'d>,
        name: &str,
    ) -> Option<Odd> {
        let (takes, found) = (signature.parameters.len(), self.operands.len());
        // Behind what they take, libtpu gives fusions the windows of operands that it prefetches, and says which is whose.
        let has_windows = || self.text.contains(&format!(r#""buffer_index":"{takes}""#));
        if takes != found && !(takes < found && has_windows()) {
            let takes = counted(takes, "parameter");
            let message = format!("`{name}` has {takes}, found {}", counted(found, "operand"));
            return Some(Odd {
                finding: Finding::new(Code::OperandCount, self.place.clone(), message),
                result: None,
                others: Vec::new(),
            });
        }
        signature.parameters.iter().find_map(|(number, parameter)| {
            let operand = self.operands.get(usize::try_from(*number).ok()?)?;
            let (found, expected) = difference(&context.shapes, operand.shape?, parameter.shape?)?;
            let message = format!("{found}, while parameter {number} of `{name}` is {expected}");
            let finding = Finding::new(Code::InstructionShape, operand.place.clone(), message);
            Some(Odd {
                finding: finding.related(parameter.place.clone(), "the parameter"),
                result: None,
                others: parameter.instruction.into_iter().collect(),
            })
        })
    }

    fn given(
        &self,
        context: &Context<'d>,
        signature: &Signature<'d>,
        name: &str,
        key: &str,
    ) -> Option<Odd> {
        let given = &signature.given.as_ref()?.result;
        let expected = if key == "condition" {
            "pred[]"
        } else {
            self.result.shape?
        };
        let (found, expected) = difference(&context.shapes, given.shape?, expected)?;
        // The condition alone is wrong, not the loop.
        let (place, message, result) = if key == "condition" {
            (
                &self.place,
                format!("the condition `{name}` gives {found}, not {expected}"),
                None,
            )
        } else {
            (
                &self.result.place,
                format!("{expected}, while `{name}` gives {found}"),
                self.result.instruction,
            )
        };
        let finding = Finding::new(Code::InstructionShape, place.clone(), message);
        Some(Odd {
            finding: finding.related(given.place.clone(), "its result"),
            result,
            others: given.instruction.into_iter().collect(),
        })
    }
}
