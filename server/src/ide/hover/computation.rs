//! Computations and modules: how large they are, and who calls them. And what a stage is not about.

use buflens_syntax::{SyntaxKind, facts};

use super::Context;
use super::value::NAME_LIMIT;
use crate::ide::computations::{Caller, callers, instruction_count};
use crate::ide::markdown::{Text, code, cut};
use crate::model::bytes::counted;
use crate::model::{Dump, FileId};

/// So many callers are named.
const MAX_CALLERS: usize = 4;
/// They are looked for in so many bytes behind the computation.
const NEAR: u32 = 4 << 20;

/// The hover on a computation's name.
pub(super) fn hover(context: &Context, text: &str) -> String {
    let dump = context.dump;
    let title = code(&cut(text, NAME_LIMIT));
    let number = dump
        .names
        .get(text)
        .and_then(|name| dump.computation_named(name));
    let row = number.and_then(|number| dump.module.computations.get(number as usize));
    let header = row.and_then(|&row| dump.at::<facts::Computation>(row));
    let (Some(number), Some(header)) = (number, header) else {
        return format!("**{title}**: a computation, to be called or fused by an instruction");
    };
    let count = counted(instruction_count(dump, number), "instruction");
    if header.row.entry {
        return format!("**{title}**: the computation that the program begins with, {count}");
    }
    let mut found = callers(dump, number, MAX_CALLERS + 1, NEAR);
    let has_more = found.len() > MAX_CALLERS;
    found.truncate(MAX_CALLERS);
    let mut hover = Text::new(&format!("**{title}**: a computation, {count}"));
    let is_fused = !found.is_empty() && found.iter().all(|caller| caller.opcode == "fusion");
    for caller in &found {
        hover.item(&role(dump, caller));
    }
    if has_more {
        hover.item("and others");
    }
    if is_fused {
        hover.paragraph("Fused: its instructions take no memory of their own.");
    }
    hover.finish()
}

/// `body of the loop while.4`
fn role(dump: &Dump, caller: &Caller) -> String {
    let name = code(&cut(&dump.names[caller.name], NAME_LIMIT));
    match (caller.opcode.as_str(), caller.key.as_str()) {
        ("while", "condition") => format!("the condition of the loop {name}"),
        ("while", _) => format!("the body of the loop {name}"),
        ("conditional", _) => format!("a branch of {name}"),
        ("fusion", _) => format!("fused into {name}"),
        ("call", _) => format!("called by {name}"),
        (opcode, "to_apply" | "select" | "scatter") => {
            format!("applied by {name} ({})", code(&cut(opcode, 40)))
        }
        (opcode, _) => format!("called by {name} ({})", code(&cut(opcode, 40))),
    }
}

/// The hover on a module's name.
pub(super) fn module(dump: &Dump, file: FileId, text: &str) -> Option<String> {
    let document = &dump.files.get(file)?.document;
    let instructions: usize = document
        .passing_blocks()
        .map(|(_, block)| block.count_on::<facts::Instruction>(&(0..usize::MAX)))
        .sum();
    Some(format!(
        "**{}**: an HLO module, {}, {}",
        code(&cut(text, NAME_LIMIT)),
        counted(dump.module.computations.len(), "computation"),
        counted(instructions, "instruction"),
    ))
}

/// What is to be said on a `line` in the text of a stage at which memory is not assigned, by the
/// file's name.
pub(super) fn stage(dump: &Dump, file: FileId, line: SyntaxKind) -> Option<String> {
    let is_of_module = matches!(
        line,
        SyntaxKind::InstructionLine | SyntaxKind::ComputationHeader | SyntaxKind::ModuleLine
    );
    if !is_of_module || !dump.allocations.is_empty() || !dump.values.is_empty() {
        return None;
    }
    let name = dump.files.get(file)?.path.file_name()?.to_str()?;
    let name = name.strip_suffix(".txt")?;
    if let Some(stage) = name.strip_suffix("_before_buffer_assignment") {
        let stage = code(&cut(stage, 150));
        return Some(format!(
            "No buffers are assigned to this stage: see {stage}."
        ));
    }
    if let Some(stage) = name.strip_suffix("_after_buffer_assignment") {
        let stage = code(&cut(stage, 150));
        return Some(format!("The buffers of this text are shown in {stage}."));
    }
    let is_of_compiler = name.split('.').any(|part| {
        part.strip_prefix("module_")
            .is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    });
    let why = if name.ends_with(".oom_intermediate_module") {
        "the compiler ran out of memory"
    } else if is_of_compiler && !name.ends_with("after_optimizations") {
        "see the program's `after_optimizations`. Its layouts, and with them the padding, can differ"
    } else {
        return None;
    };
    Some(format!("No buffers are assigned to this stage: {why}."))
}
