//! Hostile and broken text, and every real dump at hand.

use buflens_syntax::Shape;

use super::*;
use crate::model::Numbering;
use crate::real_dumps::{compilations, fixture, read};

/// Hovers at every place of a hostile text hold nothing that a reader of Markdown acts on.
#[test]
fn text_from_the_file_stays_text() {
    let evil = r#"[x](command:evil) <img src=x> `|` **b** http://evil.example"#;
    let tree =
        format!("    {evil} (100.0%, total: 8 bytes, current: 8 bytes, remaining: 0 bytes)\n");
    let text = DUMP.replace("jit(f)/caf", &format!("jit(f)/{evil} caf"))
        + "  Stack trace breakdown for peak usage: 8 bytes\n"
        + &tree;
    let dump = dump(&[(TPU, &text)]);
    for at in (0..text.len() as u32).step_by(3) {
        let Some(hover) = hover(&dump, 0, at) else {
            continue;
        };
        // What is left when code spans are taken out.
        let outside: String = hover.markdown.split('`').step_by(2).collect();
        for mark in ["](", "<img", "<b>", "http:", "**b**", "command:"] {
            assert!(
                !outside.contains(mark),
                "{mark} at {at}:\n{}",
                hover.markdown
            );
        }
    }
}

/// What a damaged line does not tell is not told as 0.
#[test]
fn what_is_not_understood_is_unknown() {
    let line = " value: <4 copy.3 @0> (size=340787200,offset=32768)";
    let header = "allocation 3: size 340819968, output";
    for (from, to, at, part, told) in [
        (
            line,
            " value: <4 copy.3 @0> (size=,offset=32768)",
            "<4 copy.3 @0>",
            "copy.3",
            "unknown: its line is not understood",
        ),
        (
            line,
            " value: <4 copy.3 @0> (size=340787200,offset=)",
            "<4 copy.3 @0>",
            "copy.3",
            "unknown: its line is not understood",
        ),
        (
            " value: <5 fusion @0> (size=4096,offset=32768): f32[]\n",
            "",
            "<5 fusion @0>",
            "fusion",
            "unknown: no allocation has the value",
        ),
        (
            header,
            "allocation 3: size , output",
            "allocation 3",
            "allocation",
            "its size is unknown",
        ),
    ] {
        assert_eq!(DUMP.matches(from).count(), 1, "{from}");
        let text = DUMP.replace(from, to);
        let hover = hover_on(TPU, &text, at, part).expect("a hover").markdown;
        assert!(hover.contains(told), "{to}:\n{hover}");
        assert!(
            !hover.contains(" 0 B") && !hover.trim_end().ends_with(':'),
            "{to}:\n{hover}"
        );
    }
    // Whose other name it is stood there: nothing is left to tell.
    let text = DUMP.replace("<1 Arg_0.1 @0>\n", "");
    assert!(hover_on(TPU, &text, "  bitcast.6\n", "bitcast.6").is_none());
}

/// Where one entry lacks it: which of two values comes first hangs on what was read before.
#[test]
fn an_instruction_is_that_of_all_its_values() {
    let instruction =
        " from instruction: %c = (f32[2]{0:S(1)}, f32[2]{0}, u32[]{:S(2)}) copy-start(%p)\n";
    let whole = ("<40 c{} @0>", "<41 c{0} @1>");
    for (before, behind) in [(instruction, ""), ("", instruction)] {
        let text = format!(
            "Used values:\n{}\n positions:\n  c {{}}\n uses:\n{before}{}\n positions:\n  c {{0}}\n uses:\n{behind}",
            whole.0, whole.1
        );
        for line in [whole.0, whole.1] {
            let hover = hover_on(TPU, &text, line, "c").expect("a hover").markdown;
            assert!(
                hover.contains("asynchronous copy HBM -> VMEM"),
                "{line}:\n{hover}"
            );
        }
    }
}

/// On a value's line a hover always tells its bytes, where they end, its unpadded bytes where they
/// differ, and its live range.
#[test]
fn values_of_real_dumps_are_told_in_full() {
    let dumps = compilations();
    for paths in dumps.iter().step_by(dumps.len() / 60 + 1) {
        let dump = read(paths);
        for value in &dump.values {
            let Some(line) = dump.placement(value) else {
                continue;
            };
            let told = hover(&dump, 0, line.place(line.row.size.span).range.start)
                .expect("a hover")
                .markdown;
            let mut wanted = vec![
                bytes::display(value.size),
                format!(".. {} of", bytes::grouped(value.end())),
            ];
            let logical = Shape::read(line.text(line.row.shape))
                .ok()
                .and_then(|shape| bytes::logical_bytes(&shape));
            wanted.extend(
                logical
                    .filter(|&logical| logical != value.size)
                    .map(bytes::display),
            );
            if value.has_live_range() {
                let (start, end) = dump.live(value);
                wanted.push(if start == end {
                    format!("step {start} ({start}-{end}) of")
                } else {
                    format!("steps {start}-{end} of")
                });
            }
            for wanted in wanted {
                assert!(
                    told.contains(&wanted),
                    "{}: <{}>: no {wanted} in\n{told}",
                    paths[0].display(),
                    value.id
                );
            }
        }
    }
}

#[test]
fn every_place_of_a_dump_has_a_hover_or_none() {
    let short = DUMP
        .replace("(8,128)", "(8,0)")
        .replace("513", "99999999999999999999")
        .replace("size=", "size=7");
    for text in [DUMP, &short] {
        let dump = dump(&[(TPU, text)]);
        for at in 0..=text.len() as u32 {
            if let Some(hover) = hover(&dump, 0, at) {
                assert!(hover.range.end as usize <= text.len() && !hover.markdown.is_empty());
            }
        }
    }
}

/// A dump numbers its names as its states before did, some of which have names that are not there any more.
#[test]
fn what_an_earlier_state_named_changes_no_hover() {
    let mut compared = 0;
    for stem in ["jit_cnn_fwd.cpu", "module_0061.jit_nested_loops"] {
        let whole = read(&fixture(stem)).files;
        for broken in 0..whole.len() {
            let document = &whole[broken].document;
            // Headings stand at the start of a file more often than behind.
            for line in (0..12).chain((12..document.line_count()).step_by(13)) {
                let Some(Range { start, .. }) = document.line_range(line) else {
                    continue;
                };
                let mut files = whole.clone();
                files[broken].document = document.clone().edit(start..start, "x").expect("short");
                let mut numbering = Numbering::default();
                Dump::numbered(whole.clone(), &mut numbering);
                let edited = Dump::numbered(files.clone(), &mut numbering);
                let fresh = Dump::new(files);
                let document = &fresh.files[broken].document;
                for row in (0..document.line_count()).step_by(3) {
                    let at = document.line_range(row).expect("a line").start + 8;
                    let hovers = [&edited, &fresh].map(|dump| hover(dump, broken, at));
                    assert_eq!(hovers[0], hovers[1], "x at line {line}, hover at {row}");
                    compared += usize::from(hovers[0].is_some());
                }
            }
        }
    }
    println!("{compared} hovers compared");
    assert!(compared > 5_000, "{compared} hovers compared");
}
