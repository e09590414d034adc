//! A text, and edits of it: what is edited is as what is read fresh.
//!
//! An edit is two bytes for where it is, two for how many bytes go, one for how often its text comes, and
//! the text. Behind each edit the text, the cuts, the kind, the facts and the lines are compared, of a long
//! text behind the last one; errors and trees, which depend on the cuts alone, behind the last one, as is what
//! all edits made at once give; and of one input in some the findings.

use std::path::PathBuf;

use buflens::checks;
use buflens::model::{Dump, File};
use buflens_syntax::Document;

use super::{boundary, is_chosen, parts};

/// No text grows longer.
const LONGEST: usize = 200_000;
/// Below this byte a text comes once; from there on twice as often each time.
const REPEATED: u8 = 0xF4;
/// Shorter texts are compared behind each edit, and findings are looked for in them ...
const SHORT: usize = 2_000;
/// ... of one input in so many: they take longer than all else.
const CHECKED_IN: u64 = 16;

/// Edits the first part by the others, and gives how often the result was compared with what is read fresh.
pub fn check(data: &[u8]) -> u64 {
    let mut parts = parts(data);
    let mut text = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let mut document = Document::new(&text).expect("a small text");
    let mut draft = document.clone().draft();
    let mut fresh = Some(document.clone());
    let mut compared = 0;
    for edit in parts {
        let Some((&[at, at_high, gone, gone_high, times], inserted)) = edit.split_first_chunk()
        else {
            continue;
        };
        let number = |low, high| usize::from(u16::from_le_bytes([low, high]));
        let start = boundary(&text, number(at, at_high) % (text.len() + 1));
        let end = boundary(&text, start + number(gone, gone_high)).max(start);
        let inserted = String::from_utf8_lossy(inserted);
        let times = 1 << times.saturating_sub(REPEATED);
        if text.len() + inserted.len() * times > LONGEST {
            continue;
        }
        let inserted = inserted.repeat(times);
        text.replace_range(start..end, &inserted);
        let range = start as u32..end as u32;
        draft.edit(range.clone(), &inserted).expect("a small text");
        document = document.edit(range, &inserted).expect("a small text");
        fresh = (text.len() < SHORT).then(|| same_read_fresh(&document, &text));
        compared += u64::from(fresh.is_some());
    }
    let fresh = fresh.unwrap_or_else(|| {
        compared += 1;
        same_read_fresh(&document, &text)
    });
    same_read_fresh(&draft.finish(), &text);
    assert_same_details(&document, &fresh);
    if text.len() < SHORT && is_chosen(data, CHECKED_IN) {
        assert_eq!(findings(document), findings(fresh));
    }
    compared
}

/// Reads `text` and compares what each answer of a document is made of.
fn same_read_fresh(edited: &Document, text: &str) -> Document {
    let fresh = Document::new(text).expect("a small text");
    assert_eq!(edited.len() as usize, text.len());
    assert_eq!(edited.text(), text);
    assert_eq!(edited.kind(), fresh.kind());
    assert_eq!(edited.blocks().len(), fresh.blocks().len(), "other cuts");
    for ((start, edited), (fresh_start, fresh)) in edited.blocks().zip(fresh.blocks()) {
        assert_eq!(start, fresh_start);
        assert_eq!(edited.text(), fresh.text());
        assert_eq!(edited.mode(), fresh.mode());
        assert_eq!(edited.facts(), fresh.facts());
    }
    assert_eq!(edited.line_count(), fresh.line_count());
    for line in 0..=fresh.line_count() {
        assert_eq!(edited.line_range(line), fresh.line_range(line));
    }
    fresh
}

/// Compares what is made of every token.
fn assert_same_details(edited: &Document, fresh: &Document) {
    for ((_, edited), (_, fresh)) in edited.blocks().zip(fresh.blocks()) {
        assert_eq!(edited.errors(), fresh.errors());
        assert_eq!(edited.tree(), fresh.tree());
    }
    assert_eq!(edited.errors(), fresh.errors());
}

fn findings(document: Document) -> Vec<checks::Finding> {
    let file = File {
        path: PathBuf::from("dump.txt"),
        document,
        lossy: false,
    };
    checks::check(&Dump::new(vec![file]))
}
