//! A text, and edits of it: what is edited is as what is read fresh.
//!
//! An edit is two bytes for where it is, two for how many bytes go, one for how often its text comes, and
//! the text.

use std::path::PathBuf;

use buflens::checks;
use buflens::model::{Dump, File};
use buflens_syntax::Document;

use super::{boundary, parts};

/// No text grows longer.
const LONGEST: usize = 200_000;
/// Below this byte a text comes once; from there on twice as often each time.
const REPEATED: u8 = 0xF4;
/// Findings are looked for in shorter texts.
const CHECKED: usize = 2_000;

/// Edits the first part by the others.
pub fn check(data: &[u8]) {
    let mut parts = parts(data);
    let mut text = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let mut document = Document::new(&text).expect("a small text");
    for edit in parts {
        let Some((&[at, at_high, gone, gone_high, times], inserted)) = edit.split_first_chunk()
        else {
            continue;
        };
        let number = |low, high| usize::from(u16::from_le_bytes([low, high]));
        let start = boundary(&text, number(at, at_high) % (text.len() + 1));
        let end = boundary(&text, start + number(gone, gone_high)).max(start);
        let inserted =
            String::from_utf8_lossy(inserted).repeat(1 << times.saturating_sub(REPEATED));
        if text.len() + inserted.len() > LONGEST {
            continue;
        }
        text.replace_range(start..end, &inserted);
        document = document
            .edit(start as u32..end as u32, &inserted)
            .expect("a small text");
        assert_eq!(document.len() as usize, text.len());
    }
    same(&document, &text);
}

fn same(edited: &Document, text: &str) {
    let fresh = Document::new(text).expect("a small text");
    assert_eq!(edited.text(), text);
    assert_eq!(edited.kind(), fresh.kind());
    assert_eq!(edited.blocks().len(), fresh.blocks().len(), "other cuts");
    for ((start, edited), (fresh_start, fresh)) in edited.blocks().zip(fresh.blocks()) {
        assert_eq!(start, fresh_start);
        assert_eq!(edited.text(), fresh.text());
        assert_eq!(edited.mode(), fresh.mode());
        assert_eq!(edited.facts(), fresh.facts());
        assert_eq!(edited.errors(), fresh.errors());
        assert_eq!(edited.tree(), fresh.tree());
    }
    assert_eq!(edited.errors(), fresh.errors());
    assert_eq!(edited.line_count(), fresh.line_count());
    for line in 0..=fresh.line_count() {
        assert_eq!(edited.line_range(line), fresh.line_range(line));
    }
    if text.len() < CHECKED {
        let findings = |document: &Document| {
            let file = File {
                path: PathBuf::from("dump.txt"),
                document: document.clone(),
                lossy: false,
            };
            checks::check(&Dump::new(vec![file]))
        };
        assert_eq!(findings(edited), findings(&fresh));
    }
}
