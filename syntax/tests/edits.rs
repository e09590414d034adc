//! An edited document is the document read fresh: cuts, trees, facts and errors.

use std::path::Path;

use buflens_syntax::{Document, Draft, Encoding, LineColumn};
use proptest::prelude::*;

/// A few dumps of every form, with lines for random text to come from.
fn dumps() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dumps");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder of dumps")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths
        .iter()
        .map(|path| std::fs::read_to_string(path).expect("a dump"))
        .collect()
}

fn assert_same(edited: &Document, text: &str) {
    let fresh = Document::new(text).expect("a small text");
    assert_eq!(edited.text(), text);
    assert_eq!(edited.kind(), fresh.kind());
    let blocks = |document: &Document| -> Vec<_> {
        document
            .blocks()
            .map(|(start, block)| {
                (
                    start,
                    block.text().len(),
                    block.mode(),
                    block.facts().clone(),
                    block.errors().to_vec(),
                    block.tree(),
                )
            })
            .collect()
    };
    for (edited, fresh) in blocks(edited).into_iter().zip(blocks(&fresh)) {
        assert_eq!(edited, fresh);
    }
    assert_eq!(edited.blocks().len(), fresh.blocks().len());
    assert_eq!(edited.line_count(), fresh.line_count());
    for line in (0..fresh.line_count()).step_by(7) {
        assert_eq!(edited.line_range(line), fresh.line_range(line));
    }
}

fn assert_same_places(draft: &Draft, document: &Document) {
    assert_eq!(draft.length(), document.len());
    for line in (0..document.line_count() + 2).step_by(7) {
        for column in [0, 5, 90] {
            let at = LineColumn { line, column };
            let offset = document.offset(at, Encoding::Utf16);
            assert_eq!(draft.offset(at, Encoding::Utf16), offset, "{at:?}");
        }
    }
}

fn assert_same_facts(one: &Document, other: &Document) {
    assert_eq!(one.kind(), other.kind());
    assert_eq!(one.line_count(), other.line_count());
    let blocks = |document: &Document| -> Vec<_> {
        let blocks = document.blocks();
        let blocks = blocks.map(|(start, it)| (start, it.text().len(), it.mode(), it.facts()));
        blocks.collect()
    };
    assert_eq!(blocks(one), blocks(other));
}

/// Places are given in so many parts of the text.
const SHARES: usize = 10_000;

/// Where an edit is, as a share of the text, how long it is, and what it puts there.
#[derive(Debug, Clone)]
struct Edit {
    at: usize,
    removed: usize,
    inserted: Inserted,
}

#[derive(Debug, Clone)]
enum Inserted {
    Text(String),
    /// Some lines of the text itself, from this share of it on.
    Lines(usize, usize),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let text = prop_oneof![
        3 => "[0-9]{1,3}",
        2 => "[ -~]{0,12}",
        1 => "\\PC{0,6}",
        2 => proptest::sample::select(vec![
            "\n", "\r\n", "\n\n", " positions:\n", "Used values:\n", "<7 add.1 @0>", " uses:\n  (none)\n", "{", "}", "\"",
            "BufferAssignment:\n", "HloModule m\n", "    0:x\n", " from instruction: %a = f32[] add(%b)\n", "*** End x ***\n",
            "Ran out of memory on HBM, (2.0G)\n", "  1. Size: 4B\n", "Peak buffers:\n",
            " // c {\n", "//", "  ROOT  a   = f32[] abs(\n", "    a{}:0-1\n", "    a{}: 4 bytes\n", "  BufferLiveRange: \n",
            "  InstructionSequence:\n", " value: <1 x @0> (size=4,offset=0): f32[]\n", "      ├── a (",
        ]).prop_map(String::from),
    ]
    .prop_map(Inserted::Text);
    let inserted = prop_oneof![4 => text, 1 => (0..SHARES, 0_usize..40).prop_map(|(at, lines)| Inserted::Lines(at, lines))];
    let removed = prop_oneof![5 => 0_usize..4, 2 => 0_usize..200, 1 => 0_usize..20_000];
    let edit = (0..SHARES, removed, inserted).prop_map(|(at, removed, inserted)| Edit {
        at,
        removed,
        inserted,
    });
    proptest::collection::vec(edit, 1..12)
}

fn boundary(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn share(text: &str, share: usize) -> usize {
    boundary(text, text.len() * share / SHARES)
}

fn run(text: &str, edits: &[Edit]) {
    let mut text = text.to_owned();
    let mut document = Document::new(&text).expect("a small text");
    let mut draft = document.clone().draft();
    for edit in edits {
        let start = share(&text, edit.at);
        let end = boundary(&text, start + edit.removed).max(start);
        let inserted = match &edit.inserted {
            Inserted::Text(text) => text.clone(),
            Inserted::Lines(at, lines) => text[share(&text, *at)..]
                .split_inclusive('\n')
                .skip(1)
                .take(*lines)
                .collect(),
        };
        text.replace_range(start..end, &inserted);
        let range = start as u32..end as u32;
        draft.edit(range.clone(), &inserted).expect("a small text");
        document = document.edit(range, &inserted).expect("a small text");
    }
    assert_same(&document, &text);
    assert_same_places(&draft, &document);
    assert_same_facts(&draft.finish(), &document);
}

proptest! {
    // Some six edits a case; PROPTEST_CASES asks for more.
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(1_700), ..ProptestConfig::default() })]
    #[test]
    fn edited_equals_fresh(dump in 0_usize..1_000, edits in edits()) {
        let dumps = dumps();
        run(&dumps[dump % dumps.len()], &edits);
    }

    #[test]
    fn any_text_is_kept(text in "\\PC{0,40}(\n|\r\n|\r|\\PC{0,20}|allocation 0: size |<1 a| value: |\t){0,30}") {
        let document = Document::new(&text).expect("a small text");
        prop_assert_eq!(document.root().text().to_string(), text.clone());
        prop_assert_eq!(document.text(), text.clone());
        document.errors();
        for (_, block) in document.blocks() {
            block.facts();
        }
        for offset in 0..=document.len() + 1 {
            document.token_at(offset);
            for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
                let position = document.line_column(offset, encoding);
                let back = document.offset(position, encoding).expect("a line of the text");
                prop_assert!(back <= document.len());
                if text.is_char_boundary(offset as usize) && document.line_range(position.line).is_some_and(|line| line.contains(&offset)) {
                    prop_assert_eq!(back, offset);
                }
            }
        }
    }
}

#[test]
fn empty_texts_can_be_edited() {
    let document = Document::new("").expect("an empty text");
    let document = document
        .edit(0..0, "BufferAssignment:\n")
        .expect("a small text");
    assert_same(&document, "BufferAssignment:\n");
    let document = document.edit(0..18, "").expect("an empty text");
    assert_same(&document, "");
    let mut draft = document.draft();
    for (range, text) in [
        (0..0, "Used values:\n"),
        (0..13, ""),
        (0..0, "\n"),
        (1..1, "\r"),
    ] {
        draft.edit(range, text).expect("a small text");
    }
    assert_same(&draft.finish(), "\n\r");
}
