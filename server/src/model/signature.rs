//! What the computations of the HLO text take and give.

use buflens_syntax::facts::brief;

use super::row::Row;
use super::shapes::ShapeId;

/// An instruction of a computation that is one of its parameters.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// The computation, as a number into [`Module::computations`](super::Module::computations); `None` before the first.
    computation: Option<u32>,
    /// The parameter's number.
    pub number: u64,
    /// The line.
    pub instruction: Row,
    /// The shape of its result.
    pub shape: ShapeId,
}

/// The instruction of a computation that is its result: its `ROOT`, without one the last.
#[derive(Debug, Clone, Copy)]
pub struct Given {
    computation: Option<u32>,
    is_root: bool,
    /// The line.
    pub instruction: Row,
    /// The shape of its result.
    pub shape: ShapeId,
}

/// A `ROOT` behind the first of its computation.
#[derive(Debug, Clone, Copy)]
pub struct SecondRoot {
    computation: Option<u32>,
    /// The line of the first.
    pub first: Row,
    /// Its own line.
    pub instruction: Row,
}

/// What the computations of the HLO text take and give, in the order of the text.
#[derive(Debug, Default)]
pub struct Signatures {
    parameters: Vec<Parameter>,
    given: Vec<Given>,
    second_roots: Vec<SecondRoot>,
}

impl Signatures {
    /// Adds what the next instruction of the text says of its computation.
    pub(super) fn push(
        &mut self,
        computation: Option<u32>,
        instruction: Row,
        shape: ShapeId,
        brief: &brief::Instruction,
    ) {
        if brief.parameter != u64::MAX {
            self.parameters.push(Parameter {
                computation,
                number: brief.parameter,
                instruction,
                shape,
            });
        }
        let given = Given {
            computation,
            is_root: brief.is_root,
            instruction,
            shape,
        };
        match self.given.last_mut() {
            Some(last) if last.computation == computation && last.is_root => {
                self.second_roots
                    .extend(brief.is_root.then_some(SecondRoot {
                        computation,
                        first: last.instruction,
                        instruction,
                    }));
            }
            Some(last) if last.computation == computation => *last = given,
            _ => self.given.push(given),
        }
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.parameters.shrink_to_fit();
        self.given.shrink_to_fit();
    }

    /// The parameters of each computation, in the order of the text.
    pub fn parameters(&self) -> impl Iterator<Item = &[Parameter]> {
        let is_same = |one: &Parameter, next: &Parameter| one.computation == next.computation;
        self.parameters.chunk_by(is_same)
    }

    /// What says of a computation that it is its result where another instruction has said so before.
    pub fn second_roots(&self) -> &[SecondRoot] {
        &self.second_roots
    }

    /// What a computation takes, in the order of the text, and what it gives unless several say so. `None` if it is empty.
    pub fn of(&self, computation: u32) -> Option<(&[Parameter], Option<&Given>)> {
        let computation = Some(computation);
        let given = self
            .given
            .binary_search_by_key(&computation, |it| it.computation);
        let given = &self.given[given.ok()?];
        let first = self
            .parameters
            .partition_point(|it| it.computation < computation);
        let parameters = &self.parameters[first..];
        let count = parameters.partition_point(|it| it.computation == computation);
        let second = self
            .second_roots
            .binary_search_by_key(&computation, |it| it.computation);
        Some((
            &parameters[..count],
            Some(given).filter(|_| second.is_err()),
        ))
    }
}
