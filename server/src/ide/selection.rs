//! Growing the selection.

use std::ops::Range;

use buflens_syntax::{Document, SyntaxKind};

use super::entries::{Level, around};

/// The ranges around `offset`, from the token to the whole document, each within the next.
pub fn selection(document: &Document, offset: u32) -> Vec<Range<u32>> {
    let mut ranges: Vec<Range<u32>> = Vec::new();
    let mut push = |range: Range<u32>| {
        let fits = ranges.last().is_none_or(|last| {
            range.start <= last.start && last.end <= range.end && range != *last
        });
        if fits && !range.is_empty() {
            ranges.push(range);
        }
    };
    if let Some((start, token)) = document.token_at(offset) {
        let in_document = |range: Range<u32>| start + range.start..start + range.end;
        push(in_document(token.text_range().into()));
        for node in token
            .parent_ancestors()
            .take_while(|node| node.kind() != SyntaxKind::Block)
        {
            let range = in_document(node.text_range().into());
            let text = document.slice(range.clone()).trim_end_matches(['\n', '\r']);
            push(range.start..range.start + text.len() as u32);
        }
    }
    for level in [Level::Entry, Level::Section] {
        if let Some(range) = around(
            document,
            offset.min(document.len().saturating_sub(1)),
            level,
        ) {
            push(range);
        }
    }
    push(0..document.len());
    ranges
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::{Expect, expect};

    use super::*;
    use crate::ide::fixture::{COMBINED, Fixture, MODULE, run_on, with_cursor};

    fn check(text: &str, snippet: &str, expected: &Expect) {
        let fixture = Fixture::new(&with_cursor(text, snippet));
        let document = &fixture.dump.files[0].document;
        let mut lines = String::new();
        for range in selection(document, fixture.offset) {
            let first = fixture
                .text(0, range.clone())
                .lines()
                .next()
                .unwrap_or("")
                .to_owned();
            let (start, end) = (
                document.line_at(range.start) + 1,
                document.line_at(range.end) + 1,
            );
            writeln!(lines, "{start}-{end} {first}").unwrap();
        }
        expected.assert_eq(&lines);
    }

    #[test]
    fn from_the_token_to_the_document() {
        check(
            COMBINED,
            "(size=64,offset=16384): f32[16]{0:T(1$028)}",
            &expect![[r#"
                11-11 128
                11-11 (128)
                11-11 {0:T(128)}
                11-11 f32[16]{0:T(128)}
                11-11  value: <8 while.4{1} (phi) @0> (size=64,offset=16384): f32[...
                8-12 allocation 3: size 16448, preallocated-temp:
                1-15 BufferAssignment:
                1-92 BufferAssignment:
            "#]],
        );
        check(
            &run_on(),
            "  copy-start {0}\n  co$0py-done\n",
            &expect![[r#"
            33-33 copy-done
            33-33   copy-done
            30-37 <5 copy-start{0} @1>
            17-59 Used values:
            1-85 BufferAssignment:
        "#]],
        );
        check(
            COMBINED,
            "    while.4{1}:3-$06",
            &expect![[r#"
            81-81 6
            81-81     while.4{1}:3-6
            75-83   BufferLiveRange:
            66-92 HloLiveRange (max 7):
            1-92 BufferAssignment:
        "#]],
        );
        check(
            MODULE,
            "bitcast(%get$0-tuple-element.5)",
            &expect![[r#"
            33-33 get-tuple-element.5
            33-33 %get-tuple-element.5
            33-33 (%get-tuple-element.5)
            33-33 %bitcast.6 = f32[16]{0:T(128)} bitcast(%get-tuple-element.5)
            33-33   %bitcast.6 = f32[16]{0:T(128)} bitcast(%get-tuple-element....
            27-37 ENTRY %main.9 (x.1: f32[16]) -> f32[16] {
            1-37 HloModule jit_f, is_scheduled=true
        "#]],
        );
    }

    #[test]
    fn ranges_are_nested_at_any_place() {
        for text in [COMBINED, &run_on(), MODULE, "", "no dump\n"] {
            let fixture = Fixture::new(text);
            let Some(file) = fixture.dump.files.first() else {
                continue;
            };
            for offset in 0..=file.document.len() {
                let ranges = selection(&file.document, offset);
                assert_eq!(
                    ranges.last().map_or(0, |last| last.end),
                    file.document.len()
                );
                for pair in ranges.windows(2) {
                    assert!(pair[1].start <= pair[0].start && pair[0].end <= pair[1].end);
                }
            }
        }
    }
}
