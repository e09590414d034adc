//! Findings as people read them.

use expect_test::{Expect, expect};

use super::*;
use crate::checks::{Code, Finding};
use crate::model::File;

const TEXT: &str = "BufferAssignment:\n\
    allocation 0: size 512, constant:\n value: <3 é.1 @0> (size=512,offset=64): f32[128]{0}\n";

fn dump(text: &str) -> Dump {
    let document = Document::new(text).unwrap();
    Dump::new(vec![File {
        path: "a dir/x.txt".into(),
        document,
        lossy: false,
    }])
}

fn place(text: &str, wanted: &str) -> Place {
    let start = text.find(wanted).unwrap() as u32;
    Place {
        file: 0,
        range: start..start + wanted.len() as u32,
    }
}

fn judged(severity: Severity, place: Place, message: &str, related: &[(Place, &str)]) -> Judged {
    let related = related
        .iter()
        .map(|(place, message)| (place.clone(), (*message).to_owned().into()))
        .collect();
    let finding = Finding {
        code: Code::Syntax,
        place,
        message: message.to_owned(),
        related,
        fix: None,
    };
    Judged { severity, finding }
}

/// A dump with two findings, one with all that a finding can have.
pub fn planted() -> (Dump, Vec<Judged>) {
    let related = [
        (place(TEXT, "size=512"), "the size"),
        (place(TEXT, "size 512"), "the allocation"),
    ];
    let findings = vec![
        judged(
            Severity::Error,
            place(TEXT, "64"),
            "the value ends at 576",
            &related,
        ),
        judged(
            Severity::Hint,
            place(TEXT, "BufferAssignment:"),
            "a \u{1b}[31m heading",
            &[],
        ),
    ];
    (dump(TEXT), findings)
}

fn check(dump: &Dump, findings: &[Judged], width: usize, expected: &Expect) {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, width);
    writer.renderer = Renderer::plain().term_width(width);
    writer.findings(dump, findings).unwrap();
    expected.assert_eq(&String::from_utf8(out).unwrap());
}

#[test]
fn a_finding_shows_its_line_and_its_related_places() {
    let (dump, findings) = planted();
    check(
        &dump,
        &findings,
        100,
        &expect![[r#"
        error[syntax]: the value ends at 576
         --> a dir/x.txt:3:37
          |
        3 |  value: <3 é.1 @0> (size=512,offset=64): f32[128]{0}
          |                     --------        ^^
          |                     |
          |                     the size
        note: the allocation
         --> a dir/x.txt:2:15
          |
        2 | allocation 0: size 512, constant:
          |               ^^^^^^^^

        hint[syntax]: a �[31m heading
         --> a dir/x.txt:1:1
          |
        1 | BufferAssignment:
          | ^^^^^^^^^^^^^^^^^

    "#]],
    );
}

#[test]
fn a_long_line_is_cut_around_the_place() {
    let text = format!(
        "BufferAssignment:\nallocation 0: {}size x{}\n",
        "é, ".repeat(90_000),
        ", a".repeat(90_000)
    );
    let finding = judged(Severity::Warning, place(&text, "size x"), "no number", &[]);
    check(
        &dump(&text),
        &[finding],
        60,
        &expect![[r#"
        warning[syntax]: no number
         --> a dir/x.txt:2:270015
          |
        2 | ... é, é, é, é, é, é, é, size x, a, a, a, a, a, a, a,...
          |                          ^^^^^^

    "#]],
    );
}

#[test]
fn a_place_of_many_lines_shows_the_first() {
    let finding = judged(
        Severity::Information,
        Place {
            file: 0,
            range: 0..90,
        },
        "all of it",
        &[],
    );
    check(
        &dump(TEXT),
        &[finding],
        60,
        &expect![[r#"
        information[syntax]: all of it
         --> a dir/x.txt:1:1
          |
        1 | BufferAssignment:
          | ^^^^^^^^^^^^^^^^^

    "#]],
    );
}

#[test]
fn the_end_of_a_text_can_be_shown() {
    let end = TEXT.len() as u32;
    let finding = judged(
        Severity::Error,
        Place {
            file: 0,
            range: end..end,
        },
        "ends here",
        &[],
    );
    check(
        &dump(TEXT),
        std::slice::from_ref(&finding),
        60,
        &expect![[r#"
        error[syntax]: ends here
         --> a dir/x.txt:4:1
          |
        4 |
          | ^

    "#]],
    );
    check(
        &dump(""),
        &[judged(
            Severity::Error,
            Place {
                file: 0,
                range: 0..0,
            },
            "empty",
            &[],
        )],
        60,
        &expect![[r#"
        error[syntax]: empty
         --> a dir/x.txt:1:1
          |
        1 |
          | ^

    "#]],
    );
}

#[test]
fn many_findings_and_places_are_counted() {
    let related: Vec<_> = (0..6).map(|_| (place(TEXT, "constant"), "here")).collect();
    let one = judged(Severity::Error, place(TEXT, "64"), "wrong", &related);
    let (dump, mut out) = (dump(TEXT), Vec::new());
    Writer::new(&mut out, 100)
        .findings(&dump, &vec![one; 1_003])
        .unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.matches("wrong").count(), 1_000);
    assert_eq!(text.matches("2 more related places").count(), 1_000);
    assert!(
        text.contains("a dir/x.txt: 3 more findings"),
        "{}",
        &text[text.len() - 100..]
    );
}

#[test]
fn the_summary_counts() {
    let mut counts = Counts {
        dumps: 12,
        ..Counts::default()
    };
    assert_eq!(summary(&Counts::default()), "no dump was checked");
    assert_eq!(summary(&counts), "no findings in 12 dumps");
    let with_texts = Counts { texts: 1, ..counts };
    assert_eq!(
        summary(&with_texts),
        "no findings in 12 dumps and 1 HLO text"
    );
    counts.dumps = 1;
    for severity in [
        Severity::Error,
        Severity::Hint,
        Severity::Error,
        Severity::Warning,
    ] {
        counts.add(severity);
    }
    assert_eq!(summary(&counts), "2 errors, 1 warning, 1 hint in 1 dump");
}
