//! Definition, declaration, type definition, implementation.

use std::ops::Range;

use buflens_syntax::facts::{self, Span};

use super::subject::{Subject, is_module};
use crate::model::{At, Dump, FileId, Place, Row};

/// Somewhere to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The whole of it: the line.
    pub place: Place,
    /// What to put the cursor on, within the place.
    pub selection: Range<u32>,
}

impl Target {
    fn new<T>(at: &At<T>, whole: Span, selection: Span) -> Self {
        Self {
            place: at.place(whole),
            selection: at.place(selection).range,
        }
    }
}

/// Where a request leads, and from which text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Navigation {
    /// The name or number under the cursor.
    pub origin: Range<u32>,
    /// Where it leads.
    pub targets: Vec<Target>,
}

impl Navigation {
    /// The targets in the order of the files and their text, each once; `None` without any.
    fn new(origin: Range<u32>, mut targets: Vec<Target>) -> Option<Self> {
        targets.sort_unstable_by_key(|target| (target.place.file, target.selection.start));
        targets.dedup();
        (!targets.is_empty()).then_some(Self { origin, targets })
    }
}

/// The value's header in section C, or from there the instruction that defines it.
pub fn definition(dump: &Dump, file: FileId, offset: u32) -> Option<Navigation> {
    let (origin, subject) = Subject::at(dump, file, offset)?;
    let computation = dump.computation_at(file, origin.start);
    let targets = match &subject {
        Subject::Values {
            values,
            header: true,
        } => defining_instructions(dump, values),
        Subject::Step(step) => step_line(dump, *step).into_iter().collect(),
        Subject::Allocation(_) => allocation(dump, subject.allocation(dump)?)
            .into_iter()
            .collect(),
        Subject::TableRow(row) => table_row(dump, *row).into_iter().collect(),
        Subject::Computation { name } => self::computation(dump, name).into_iter().collect(),
        Subject::Instruction { name } | Subject::Definition { name } if is_module(dump, file) => {
            instruction_in(dump, computation, name)
                .into_iter()
                .collect()
        }
        _ => subject
            .values(dump)
            .into_iter()
            .filter_map(|value| value_header(dump, value))
            .collect(),
    };
    // A name that stands for no value (of a fusion's inside, of a dump without its other files).
    let by_name = || {
        let is_computation = matches!(subject, Subject::Computation { .. });
        let name = subject.name().filter(|_| !is_computation)?;
        hlo_instruction(dump, name).or_else(|| step_named(dump, name))
    };
    let targets = if targets.is_empty() {
        by_name().into_iter().collect()
    } else {
        targets
    };
    Navigation::new(origin, targets)
}

/// The line in section A.
pub fn declaration(dump: &Dump, file: FileId, offset: u32) -> Option<Navigation> {
    let (origin, subject) = Subject::at(dump, file, offset)?;
    Navigation::new(origin, declarations(dump, &subject))
}

/// The lines in section A of the values that are meant.
pub(super) fn declarations(dump: &Dump, subject: &Subject) -> Vec<Target> {
    subject
        .values(dump)
        .into_iter()
        .filter_map(|value| value_line(dump, value))
        .collect()
}

/// The header of the allocation.
pub fn type_definition(dump: &Dump, file: FileId, offset: u32) -> Option<Navigation> {
    let (origin, subject) = Subject::at(dump, file, offset)?;
    let of_values = subject.values(dump).into_iter().filter_map(|value| {
        let number = dump.values[value as usize].allocation()?;
        Some(dump.allocations[number as usize].header)
    });
    let headers = of_values.chain(subject.allocation(dump));
    Navigation::new(
        origin,
        headers.filter_map(|row| allocation(dump, row)).collect(),
    )
}

/// The instruction in the HLO text, else behind `from instruction:`.
pub fn implementation(dump: &Dump, file: FileId, offset: u32) -> Option<Navigation> {
    let (origin, subject) = Subject::at(dump, file, offset)?;
    if let Subject::Computation { name } = &subject {
        return Navigation::new(origin, computation(dump, name).into_iter().collect());
    }
    let around = dump.computation_at(file, origin.start);
    let named = subject
        .name()
        .and_then(|name| instruction_in(dump, around, name));
    let targets = named.map_or_else(
        || defining_instructions(dump, &subject.values(dump)),
        |target| vec![target],
    );
    Navigation::new(origin, targets)
}

/// A value's header in section C; where there is none, its line in section A.
pub(super) fn value_header(dump: &Dump, value: u32) -> Option<Target> {
    let header = dump.used(&dump.values[value as usize]);
    let header = header.map(|at| Target::new(&at, at.row.value.span, at.row.value.name));
    header.or_else(|| value_line(dump, value))
}

fn value_line(dump: &Dump, value: u32) -> Option<Target> {
    let at = dump.placement(&dump.values[value as usize])?;
    Some(Target::new(&at, at.row.line, at.row.value.name))
}

/// The header of an allocation.
pub(super) fn allocation(dump: &Dump, header: Row) -> Option<Target> {
    let at = dump.at::<facts::Allocation>(header)?;
    Some(Target::new(&at, at.row.line, at.row.index.span))
}

/// The instructions that define `values`: in the HLO text, else behind `from instruction:`.
fn defining_instructions(dump: &Dump, values: &[u32]) -> Vec<Target> {
    let of_value = |&value: &u32| {
        let value = &dump.values[value as usize];
        hlo_instruction(dump, &dump.names[value.name]).or_else(|| {
            dump.instruction(value)
                .map(|at| Target::new(&at, at.row.span, at.row.name))
        })
    };
    values.iter().filter_map(of_value).collect()
}

/// The line of an instruction in the HLO text.
pub(super) fn hlo_instruction(dump: &Dump, name: &str) -> Option<Target> {
    instruction_in(dump, None, name)
}

/// The line of the instruction that `name` means inside a computation of the HLO text.
pub(super) fn instruction_in(dump: &Dump, computation: Option<u32>, name: &str) -> Option<Target> {
    let instruction = dump.instruction_in(computation, dump.names.get(name)?)?;
    let at = dump.at::<facts::Instruction>(instruction.row)?;
    Some(Target::new(&at, at.row.span, at.row.name))
}

/// The header of a computation in the HLO text.
pub(super) fn computation(dump: &Dump, name: &str) -> Option<Target> {
    let number = dump.computation_named(dump.names.get(name)?)?;
    let at = dump.at::<facts::Computation>(dump.module.computations[number as usize])?;
    Some(Target::new(&at, at.row.line, at.row.name))
}

/// A row of the tables of stack frames.
pub(super) fn table_row(dump: &Dump, row: Row) -> Option<Target> {
    let at = dump.at::<facts::TableRow>(row)?;
    let number = at.row.row.span;
    Some(Target::new(&at, number.to(at.row.content), number))
}

/// The line of a step in the sequence.
fn step_line(dump: &Dump, step: u64) -> Option<Target> {
    let is_it = |at: &At<facts::Step>| at.row.step.value == step;
    let row = dump.steps.get(usize::try_from(step).ok()?)?.row;
    let at = dump.at(row).filter(is_it)?;
    Some(step_target(&at))
}

/// The line of an instruction in the sequence.
pub(super) fn step_named(dump: &Dump, name: &str) -> Option<Target> {
    let step = dump.step_of(dump.names.get(name)?)?;
    Some(step_target(&dump.at(dump.steps[step as usize].row)?))
}

fn step_target(at: &At<facts::Step>) -> Target {
    let (step, name) = (at.row.step.span, at.row.name);
    // Where the file ends in the middle of the line there is no name.
    Target::new(at, step.to(name), if name.is_empty() { step } else { name })
}

#[cfg(test)]
mod tests;
