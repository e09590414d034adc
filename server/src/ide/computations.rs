//! Who calls a computation of the HLO text, and whom its instructions call.

use std::ops::Range;

use buflens_syntax::ast::{AstNode, Attribute};
use buflens_syntax::{MentionKind, SyntaxKind, facts};
use memchr::memmem::Finder;

use super::references::{Known, is_token};
use crate::model::cancel::checkpoint;
use crate::model::{Dump, NameId, Place};

/// An instruction that calls a computation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Caller {
    /// The instruction.
    pub(super) name: NameId,
    /// Its opcode.
    pub(super) opcode: String,
    /// The attribute that names the computation.
    pub(super) key: String,
    /// The computation's name there.
    pub(super) place: Place,
}

/// At most `limit` callers of a computation, in the order of the text. In a compiler's text callers stand
/// behind what they call, so only `within` bytes behind the computation's header are searched.
pub(super) fn callers(dump: &Dump, computation: u32, limit: usize, within: u32) -> Vec<Caller> {
    let mut callers = Vec::new();
    let row = dump.module.computations.get(computation as usize);
    let Some(header) = row.and_then(|&row| dump.at::<facts::Computation>(row)) else {
        return callers;
    };
    let document = &dump.files[header.file].document;
    let name = header.text(header.row.name);
    let finder = Finder::new(name);
    let first = document.block_at(header.start).unwrap_or(0);
    for number in first..document.blocks().len() {
        let Some((start, block)) = document.block(number) else {
            break;
        };
        if start.saturating_sub(header.start) > within {
            break;
        }
        checkpoint();
        let mut known = Known::default();
        for hit in finder.find_iter(block.text().as_bytes()) {
            let at = hit as u32;
            let kind = SyntaxKind::ComputationName;
            if !is_token(document, start, block, at, name, kind, &mut known) {
                continue;
            }
            let Some(row) = known.instruction_at(at) else {
                continue;
            };
            let token = document.token_at(start + at).map(|(_, token)| token);
            let key = token
                .and_then(|token| Attribute::around(&token)?.key())
                .map_or_else(String::new, |key| key.text().to_owned());
            let Some(caller) = dump.names.get(row.name.text(block.text())) else {
                continue;
            };
            callers.push(Caller {
                name: caller,
                opcode: row.opcode.text(block.text()).to_owned(),
                key,
                place: Place {
                    file: header.file,
                    range: start + at..start + at + name.len() as u32,
                },
            });
            if callers.len() >= limit {
                return callers;
            }
        }
    }
    callers
}

/// The computations that the instructions of a computation call, each with where, in the order of the text.
pub(super) fn callees(dump: &Dump, computation: u32) -> Vec<(NameId, Place)> {
    let mut callees = Vec::new();
    let file = dump.module.computations.get(computation as usize).copied();
    let file = file.and_then(|row| Some(dump.at::<facts::Computation>(row)?.file));
    let Some(file) = file else {
        return callees;
    };
    for (start, block, lines) in dump.blocks_of(computation) {
        let mut instructions = block.rows_on::<facts::Instruction>(lines);
        let Some(first) = instructions.next() else {
            continue;
        };
        let last = instructions.next_back().unwrap_or(first);
        let own: Range<u32> = first.span.start..last.span.end;
        let mentions = block.mentions().into_iter().filter(|mention| {
            mention.kind == MentionKind::Computation && own.contains(&mention.span.start)
        });
        callees.extend(mentions.filter_map(|mention| {
            let name = dump.names.get(mention.span.text(block.text()))?;
            let range = start + mention.span.start..start + mention.span.end;
            Some((name, Place { file, range }))
        }));
    }
    callees
}

/// How many instructions a computation has.
pub(super) fn instruction_count(dump: &Dump, computation: u32) -> usize {
    dump.blocks_of(computation)
        .map(|(_, block, lines)| block.count_on::<facts::Instruction>(&lines))
        .sum()
}
