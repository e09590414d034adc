//! Words of HLO text that XLA's parser asks for: opcodes and attributes that are misspelt, attributes
//! that are not there, or there twice.

use buflens_syntax::facts::{self, Span};
use buflens_syntax::{Mention, MentionKind};

use super::labels::cut;
use super::{Code, Finding};
use crate::model::cancel::checkpoint;
use crate::model::{At, opcodes};

/// What the instruction at `at` with these mentions calls things.
pub(super) fn check_words(at: &At<facts::Instruction>, mentions: &[Mention]) -> Vec<Finding> {
    let opcode = at.text(at.row.opcode);
    if !opcodes::is_known(opcode) {
        // A newer compiler may know it, so only what looks like another one is told.
        let meant = meant(opcode, opcodes::all());
        let told = meant.map(|meant| misspelling(at, at.row.opcode, "an opcode", meant));
        return told.into_iter().collect();
    }
    let keys = mentions.iter().filter_map(|mention| key(at, mention));
    // Sorted, as an instruction may have thousands: equal ones stand side by side, the first one first.
    let mut keys: Vec<(&str, Span)> = keys.map(|key| (at.text(key), key)).collect();
    keys.sort_unstable_by_key(|&(text, key)| (text, key.start));
    let has = |wanted: &str| keys.binary_search_by_key(&wanted, |key| key.0).is_ok();
    let mut findings = Vec::new();
    let mut misspelt = Vec::new();
    for same in keys.chunk_by(|one, next| one.0 == next.0) {
        checkpoint();
        let (text, first) = same[0];
        for &(_, key) in &same[1..] {
            let message = format!("the attribute `{}` stands twice", cut(text));
            let finding = Finding::new(Code::DuplicateName, at.place(key), message);
            findings.push(finding.related(at.place(first), "the first one"));
        }
        if !opcodes::is_known_attribute(text) {
            let missing = opcodes::attributes(opcode).filter(|known| !has(known));
            if let Some(meant) = meant(text, missing) {
                misspelt.push(meant);
                let what = format!("an attribute of `{opcode}`");
                findings.push(misspelling(at, first, &what, meant));
            }
        }
    }
    for required in opcodes::required_attributes(opcode) {
        if !has(required) && !misspelt.contains(required) {
            let message = format!("`{opcode}` needs the attribute `{required}`");
            let place = at.place(at.row.opcode);
            findings.push(Finding::new(Code::MissingAttribute, place, message));
        }
    }
    findings
}

/// The name of the attribute that `mention` is, if it has a value.
fn key(at: &At<facts::Instruction>, mention: &Mention) -> Option<Span> {
    if mention.kind != MentionKind::Attribute {
        return None;
    }
    let (key, _) = at.text(mention.span).split_once('=')?;
    let start = mention.span.start;
    let end = start + key.trim_ascii_end().len() as u32;
    Some(Span { start, end })
}

fn misspelling(at: &At<facts::Instruction>, word: Span, what: &str, meant: &str) -> Finding {
    let message = format!("`{}` is not {what}; is it `{meant}`?", cut(at.text(word)));
    Finding::new(Code::Misspelling, at.place(word), message).fixed_by(meant)
}

/// The one of `known` that is nearest to `word`, if it is so near that it is meant: one slip of the
/// fingers away, or two in a long word.
pub(super) fn meant(word: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let slips = match word.len() {
        0..4 => return None,
        4..8 => 1,
        _ => 2,
    };
    let near = known.filter(|known| known.len().abs_diff(word.len()) <= slips);
    let near = near.map(|known| (strsim::osa_distance(word, known), known));
    let (distance, nearest) = near.min_by_key(|(distance, _)| *distance)?;
    (distance <= slips).then_some(nearest)
}
