//! The outline of an HLO module: computations and their instructions.

use buflens_syntax::Document;
use buflens_syntax::facts::{Instruction, Span};

use super::{Symbol, SymbolKind, counted, more};

/// So much of a shape is shown.
const SHAPE: usize = 60;

/// The computations, and so many instructions that there are at most `limit` of both: those of the
/// entry computation first.
pub(super) fn symbols(document: &Document, limit: usize) -> Vec<Symbol> {
    let mut symbols: Vec<Symbol> = Vec::new();
    let mut entries = Vec::new();
    let mut counts: Vec<usize> = Vec::new();
    each(document, |event| match event {
        Event::Computation {
            name,
            line,
            start,
            text,
            entry,
        } => {
            if let Some(last) = symbols.last_mut() {
                last.range.end = start + line.start;
            }
            entries.push(entry);
            counts.push(0);
            symbols.push(Symbol {
                name: name.text(text).to_owned(),
                detail: String::new(),
                kind: SymbolKind::Computation,
                range: start + line.start..document.len(),
                selection: start + name.start..start + name.end,
                children: Vec::new(),
            });
        }
        Event::Instruction { .. } => {
            if let Some(count) = counts.last_mut() {
                *count += 1;
            }
        }
    });
    let instructions: usize = counts.iter().sum();
    let mut left = limit.saturating_sub(symbols.len());
    let mut shares = vec![0; counts.len()];
    let (first, others): (Vec<usize>, Vec<usize>) = (0..counts.len()).partition(|&at| entries[at]);
    for at in first.into_iter().chain(others) {
        shares[at] = counts[at].min(left);
        left -= shares[at];
        let entry = if entries[at] { "entry, " } else { "" };
        symbols[at].detail = format!("{entry}{}", counted(counts[at], "instruction"));
    }
    let shown: usize = shares.iter().sum();
    let mut next = 0;
    each(document, |event| match event {
        Event::Computation { .. } => next += 1,
        Event::Instruction { row, start, text } => {
            let Some(at) = usize::checked_sub(next, 1) else {
                return;
            };
            if symbols[at].children.len() < shares[at] {
                symbols[at].children.push(of_instruction(&row, start, text));
            }
        }
    });
    let computations = symbols.len().saturating_sub(limit);
    symbols.truncate(limit);
    let left_out = [
        (computations, "computation"),
        (instructions - shown, "instruction"),
    ];
    symbols.extend(more(&left_out, document.len()));
    symbols
}

fn of_instruction(row: &Instruction, start: u32, text: &str) -> Symbol {
    let shape: String = row.shape.text(text).chars().take(SHAPE).collect();
    Symbol {
        name: row.name.text(text).to_owned(),
        detail: format!("{} {shape}", row.opcode.text(text)),
        kind: SymbolKind::Instruction,
        range: start + row.span.start..start + row.span.end,
        selection: start + row.name.start..start + row.name.end,
        children: Vec::new(),
    }
}

/// A computation's header or an instruction, with its block's start and text.
enum Event<'d> {
    Computation {
        name: Span,
        line: Span,
        start: u32,
        text: &'d str,
        entry: bool,
    },
    Instruction {
        row: Instruction,
        start: u32,
        text: &'d str,
    },
}

/// Gives the computations and instructions in the order of the text.
fn each<'d>(document: &'d Document, mut visit: impl FnMut(Event<'d>)) {
    for (start, block) in document.blocks() {
        let text = block.text();
        let mut headers = block.computations().iter().peekable();
        let instructions = block.rows::<Instruction>().map(Some).chain([None]);
        for instruction in instructions {
            let end = instruction.map_or(u32::MAX, |row| row.span.start);
            while let Some(header) = headers.next_if(|header| header.line.start <= end) {
                visit(Event::Computation {
                    name: header.name,
                    line: header.line,
                    start,
                    text,
                    entry: header.entry,
                });
            }
            if let Some(row) = instruction {
                visit(Event::Instruction { row, start, text });
            }
        }
    }
}
