//! Files that are cut between two lines or in one, and lines that are missing, doubled or in another
//! place: one finding, and no fix that hides the damage.

use std::path::Path;

use super::{CONCAT, CONCAT_REPORT, Code, Finding, SUFFIXES, check, dump};
use crate::model::FileId;

/// The findings of `texts`, advice left out, as `line code: message`.
fn found(texts: &[&str]) -> Vec<Finding> {
    let mut findings = check(&dump(texts));
    findings.retain(|finding| !finding.code.name().starts_with("xla-"));
    findings
}

#[track_caller]
fn gives(texts: &[&str], code: &str, message: &str) -> Finding {
    let findings = found(texts);
    let shown: Vec<_> = findings
        .iter()
        .map(|it| format!("{}: {}", it.code, it.message))
        .collect();
    assert_eq!(findings.len(), 1, "{shown:#?}");
    assert_eq!(findings[0].code.name(), code, "{shown:#?}");
    assert!(findings[0].message.contains(message), "{shown:#?}");
    findings[0].clone()
}

/// The text in which `from`, which is there once, is `to`.
#[track_caller]
fn with(from: &str, to: &str) -> String {
    assert_eq!(CONCAT.matches(from).count(), 1, "`{from}` is there once");
    CONCAT.replacen(from, to, 1)
}

/// The dump as three files.
fn split() -> [&'static str; 3] {
    let total = CONCAT.find("\nTotal bytes used").expect("a total");
    let schedule = CONCAT.find("HloLiveRange").expect("a schedule");
    [
        &CONCAT[..total],
        &CONCAT[total..schedule],
        &CONCAT[schedule..],
    ]
}

#[test]
fn a_values_file_that_ends_between_two_entries() {
    let [assignment, values, schedule] = split();
    assert_eq!(found(&[assignment, values, schedule]).len(), 0);
    let cut = &values[..values.find("<13 ").expect("a value")];
    let finding = gives(
        &[assignment, cut, schedule],
        "truncated",
        "the first of them value 13",
    );
    assert_eq!(finding.place.file, 1);
    let heading = values.find('<').expect("a value");
    gives(
        &[assignment, &values[..heading], schedule],
        "truncated",
        "the file ends before the entries",
    );
    let last = values.rfind("\n<").expect("a value") + 1;
    gives(
        &[assignment, &values[..last], schedule],
        "truncated",
        "the file ends before the entry of value",
    );
}

#[test]
fn an_assignment_that_ends_between_two_lines() {
    let [assignment, values, schedule] = split();
    for end in ["allocation 4:", "allocation 3:", " value: <13 "] {
        let cut = &assignment[..assignment.find(end).expect("a line")];
        let texts = [cut, values, schedule, CONCAT_REPORT];
        let finding = gives(&texts, "truncated", "the file ends inside its allocations");
        assert_eq!(finding.place.file, 0);
        gives(&texts[..3], "truncated", "the file ends inside");
    }
}

#[test]
fn a_step_that_is_missing_doubled_or_in_another_place() {
    let (four, five) = ("    4:wrapped_convert.1\n", "    5:wrapped_convert.2\n");
    let finding = gives(
        &[&with(four, "")],
        "sequence",
        "step 5 where step 4 is expected",
    );
    assert_eq!(finding.fix, None);
    let finding = gives(
        &[&with(four, &format!("{four}{four}"))],
        "sequence",
        "step 4 where step 5",
    );
    assert_eq!(finding.fix, None);
    let lines = [four, five].concat();
    let finding = gives(
        &[&with(&lines, &[five, four].concat())],
        "sequence",
        "step 5 stands before step 4",
    );
    assert_eq!(finding.fix, None);
    // Lines that are not understood say enough.
    gives(&[&with(four, &four[4..])], "syntax", "4:wrapped_convert.1");
    gives(
        &[&with(four, &format!("    \n{four}"))],
        "syntax",
        "expected a step",
    );
    gives(
        &[&with(&lines, &[four.trim_end(), five].concat())],
        "syntax",
        "found `5`",
    );
    // A single wrong number is mended.
    let finding = gives(
        &[&with("    4:wrapped", "    7:wrapped")],
        "sequence",
        "step 7",
    );
    assert_eq!(finding.fix.expect("a fix").text, "4");
}

#[test]
fn the_last_step_is_missing() {
    let last = CONCAT.find("  BufferLiveRange:").expect("live ranges");
    let start = CONCAT[..last - 1].rfind('\n').expect("a step") + 1;
    let text = [&CONCAT[..start], &CONCAT[last..]].concat();
    let finding = &found(&[&text])[0];
    assert_eq!(finding.code.name(), "sequence");
    assert_eq!(finding.fix, None);
    assert!(
        !found(&[&text])
            .iter()
            .any(|it| it.message.contains("the end of the schedule"))
    );
}

#[test]
fn a_file_that_ends_inside_quotes() {
    let [assignment, values, schedule] = split();
    let at = values.rfind("op_name=\"").expect("metadata") + 12;
    let texts = [assignment, &values[..at], schedule];
    let finding = gives(&texts, "truncated", "in the middle of a line");
    assert_eq!(finding.place.file, 1);
}

#[test]
fn what_follows_from_a_broken_line_is_no_finding() {
    let line = "    args_1_.1{}: 2304 bytes";
    let start = CONCAT.find(line).expect("a line of the peak list");
    gives(&[&CONCAT[..start + 12]], "truncated", "in the middle");
    gives(&[&CONCAT[..start + 18]], "truncated", "in the middle");
    gives(&[&with(line, line.trim_start())], "syntax", "args_1_.1");
    let text = with(
        "|bf16[4,288]| at ShapeIndex {}:\n value: <10",
        "|bf16[4,288]|\n value: <10",
    );
    assert!(found(&[&text]).iter().all(|it| it.code.name() == "syntax"));
    let text = with(
        " positions:\n  wrapped_convert.2\n",
        " positions:\n    \n  wrapped_convert.2\n",
    );
    assert!(found(&[&text]).iter().all(|it| it.code.name() == "syntax"));
}

/// Two neighbouring lines, the first of which begins with `start`, in the other order; or the first one
/// twice, or not at all.
fn moved(start: &str) -> [String; 3] {
    assert_eq!(CONCAT.matches(start).count(), 1, "`{start}` is there once");
    let at = CONCAT.find(start).expect("a line");
    let mut lines = CONCAT[at..].split_inclusive('\n');
    let (first, second) = (lines.next().expect("a line"), lines.next().expect("a line"));
    let rest: String = lines.collect();
    let before = &CONCAT[..at];
    [
        format!("{before}{second}{first}{rest}"),
        format!("{before}{first}{first}{second}{rest}"),
        format!("{before}{second}{rest}"),
    ]
}

#[test]
fn lines_that_are_missing_doubled_or_in_another_order_are_not_mended_by_other_numbers() {
    for start in [
        "    concatenate.1{}: ",
        "    wrapped_convert.3{}: ",
        "      ├── jit(seed",
        "      ├── wrapped_convert.3",
        "      ├── args[1]",
        "    4:wrapped_convert.1",
        "    6:concatenate.1",
        "allocation 2: ",
        "allocation 4: ",
    ] {
        for text in moved(start) {
            let findings = found(&[&text]);
            assert!(!findings.is_empty(), "`{start}`");
            let fixed = findings.iter().find(|finding| finding.fix.is_some());
            assert_eq!(fixed, None, "`{start}`");
        }
    }
}

#[test]
fn a_number_that_is_wrong_alone_is_mended() {
    for (from, to) in [
        ("(cumulative: 20736 bytes)", "(cumulative: 20737 bytes)"),
        ("{}: 6912 bytes", "{}: 6913 bytes"),
        ("total: 6 912", "total: 6 913"),
        ("current: 6 912", "current: 6 913"),
        ("remaining: 6 912", "remaining: 6 913"),
        ("(100.0%, total: 27 648", "(100.0%, total: 27 649"),
        ("used: 36864 (", "used: 36865 ("),
        ("allocation 2: ", "allocation 7: "),
        ("HloLiveRange (max 8)", "HloLiveRange (max 9)"),
    ] {
        let text = with(from, to);
        let findings = found(&[&text]);
        assert_eq!(findings.len(), 1, "{from}");
        let fix = findings[0].fix.as_ref().expect(from);
        let mut mended = text.clone();
        let range = fix.place.range.start as usize..fix.place.range.end as usize;
        mended.replace_range(range, &fix.text);
        assert_eq!(mended, CONCAT, "{from}");
    }
}

#[test]
fn a_heading_that_stands_twice() {
    for heading in [
        "BufferAssignment:\n",
        "Used values:\n",
        "HloLiveRange (max 8):\n",
        "  InstructionSequence:\n",
        "  BufferLiveRange:\n",
        "  Live ranges at 7 (peak):\n",
        "Total bytes used: 36864 (36.0KiB)\n",
    ] {
        let text = with(heading, &heading.repeat(2));
        let finding = gives(&[&text, CONCAT_REPORT], "syntax", "a second time");
        let line = heading.trim_end();
        let second = text.rfind(line).expect("the heading");
        assert_eq!(
            finding.place.range,
            second as u32..(second + line.len()) as u32
        );
    }
    let header = "<13 wrapped_convert.2 @0>\n positions:\n  wrapped_convert.2\n uses:\n";
    for (from, to) in [
        (" positions:\n", " positions:\n positions:\n"),
        (" uses:\n", " uses:\n uses:\n"),
        (" uses:\n", ""),
    ] {
        let text = with(header, &header.replacen(from, to, 1));
        gives(&[&text, CONCAT_REPORT], "syntax", "expected ");
    }
}

#[test]
fn a_header_or_line_of_the_assignment_that_stands_twice_or_is_missing() {
    let allocation = "allocation 2: ";
    for text in &moved(allocation)[1..] {
        gives(&[text, CONCAT_REPORT], "allocation-index", "is expected");
    }
    let start = CONCAT.find(allocation).expect("an allocation");
    let end = CONCAT.find("allocation 3: ").expect("the next one");
    let whole = &CONCAT[start..end];
    for times in [0, 2] {
        let text = with(whole, &whole.repeat(times));
        gives(&[&text, CONCAT_REPORT], "allocation-index", "is expected");
    }
    for value in [" value: <13 ", " value: <10 "] {
        let doubled = &moved(value)[1];
        gives(
            &[doubled, CONCAT_REPORT],
            "duplicate-value",
            "a second value",
        );
    }
}

#[test]
fn a_row_of_the_report_that_is_missing_or_stands_twice() {
    let rows = CONCAT_REPORT.lines().filter(|line| line.contains("%);"));
    for row in rows {
        for to in [String::new(), format!("{row}\n{row}\n")] {
            let text = CONCAT_REPORT.replacen(&format!("{row}\n"), &to, 1);
            gives(&[&text, CONCAT], "report-total", "");
        }
    }
}

/// Of a dump that is cut anywhere, in one file or in two, each cut is one finding.
#[test]
fn each_cut_is_one_finding() {
    let dumps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/dumps");
    let (mut cuts, mut misses) = (0, Vec::new());
    for stem in [
        "tpu-split/module_0032.jit_mlp_fwd.cl_933746096.after_optimizations",
        "cpu-split/module_0047.jit_scan_cumsum.cpu_after_optimizations",
    ] {
        let read = |suffix| std::fs::read_to_string(dumps.join(format!("{stem}{suffix}")));
        let texts = SUFFIXES.map(|suffix| read(suffix).expect("a fixture"));
        for (file, text) in texts.iter().enumerate() {
            // A file that ends within its first line may be anything.
            let start = text.trim_start().find('\n').expect("lines") + 2;
            for at in (start..text.len() - 1).step_by(11) {
                let other = at / 11 % 5;
                let mut files = texts.each_ref().map(String::as_str);
                files[file] = &text[..text.floor_char_boundary(at)];
                let mut expected = vec![file];
                if other != file {
                    let text = &texts[other];
                    let end = text.len() / 2 + at % (text.len() / 3);
                    files[other] = &text[..text.floor_char_boundary(end)];
                    expected.push(other);
                    expected.sort_unstable();
                }
                cuts += 1;
                let findings = found(&files);
                let mut places: Vec<FileId> = findings.iter().map(|it| it.place.file).collect();
                places.sort_unstable();
                // What one file lacks may be all that tells of the other's cut.
                let is_told = !places.is_empty()
                    && places.is_sorted_by(|one, next| one < next)
                    && places.iter().all(|file| expected.contains(file));
                if !is_told || findings.iter().any(|it| it.code != Code::Truncated) {
                    let line = files[file].lines().next_back().unwrap_or_default();
                    let shown = findings
                        .iter()
                        .map(|it| format!("{}: {}", it.code, it.message));
                    misses.push(format!(
                        "{expected:?} {line}: {:?}",
                        shown.collect::<Vec<_>>()
                    ));
                }
            }
        }
    }
    println!("{} of {cuts} cuts are not one finding each", misses.len());
    for miss in &misses {
        println!("{miss}");
    }
    // The attributes of the last instruction may end anywhere, and a number is one with fewer digits too.
    assert!(misses.len() * 200 <= cuts, "{} of {cuts}", misses.len());
}
