//! The results of computations: which loop, branch or call an instruction at the root serves.

use buflens_syntax::ast::{self, AstNode};
use buflens_syntax::facts;

use crate::ide::markdown::{code, cut};
use crate::model::{Dump, NameId};

/// So many loops, calls and branches behind a computation are asked whether they call it. Its caller is the next one
/// but for those that its own body or its sister computations hold.
const MAX_CALLERS: usize = 64;

/// The word for an instruction that hands its operand to other computations, which take over its bytes.
pub(super) fn taker(opcode: &str) -> Option<&'static str> {
    Some(match opcode {
        "while" => "loop",
        "conditional" => "conditional",
        "call" => "call",
        "async-start" | "async-update" | "async-done" => "asynchronous call",
        _ => return None,
    })
}

/// What the result of `name` is for, if it is the root of its computation: `the condition of the loop while`.
/// Only the HLO text tells.
pub(super) fn of_root(dump: &Dump, name: NameId) -> Option<String> {
    let entry = dump.module.instructions.get(name)?;
    let at = dump.at::<facts::Instruction>(entry.row)?;
    let document = &dump.files.get(at.file)?.document;
    let (_, token) = document.token_at(at.start + at.row.name.start)?;
    if !ast::Instruction::around(&token)?.is_root() {
        return None;
    }
    let header =
        dump.at::<facts::Computation>(*dump.module.computations.get(entry.computation? as usize)?)?;
    if header.row.entry {
        return Some("the program's result".to_owned());
    }
    let (caller, key) = caller(dump, header.text(header.row.name), dump.step_of(name)?)?;
    let caller = code(&cut(&dump.names[caller], 100));
    Some(match key.as_str() {
        "condition" => format!("the condition of the loop {caller}"),
        "body" => format!("the result of the body of the loop {caller}"),
        "to_apply" | "calls" => format!("the result of the computation that {caller} calls"),
        _ => format!("the result of a branch of {caller}"),
    })
}

/// Who calls `computation`, whose last step is `step`, and by which attribute. In the schedule a computation stands
/// before its caller.
fn caller(dump: &Dump, computation: &str, step: u32) -> Option<(NameId, String)> {
    let behind = dump.steps.get(step as usize + 1..)?.iter();
    let callers = behind
        .filter_map(|step| {
            dump.at::<facts::Instruction>(dump.module.instructions.get(step.name)?.row)
        })
        .filter(|at| taker(at.text(at.row.opcode)).is_some());
    callers.take(MAX_CALLERS).find_map(|at| {
        let document = &dump.files.get(at.file)?.document;
        let (_, token) = document.token_at(at.start + at.row.name.start)?;
        let attribute = ast::Instruction::around(&token)?
            .attributes()
            .find(|attribute| {
                attribute
                    .computations()
                    .any(|called| called.text() == computation)
            })?;
        let name = dump.names.get(at.text(at.row.name))?;
        Some((name, attribute.key()?.text().to_owned()))
    })
}
