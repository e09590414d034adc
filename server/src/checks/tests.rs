//! One changed number in a real dump gives one finding, on that number's line or with it related.

mod branches;
mod causes;
mod cuts;

use std::path::PathBuf;

use buflens_syntax::Document;

use super::{Code, Finding, Findings, check};
use crate::model::{Dump, File, Place};

pub(super) const CONCAT: &str = include_str!("testdata/concat.txt");
pub(super) const CONCAT_REPORT: &str = include_str!("testdata/concat-report.txt");
const TPU_CONCAT: &str = include_str!("testdata/tpu-concat.txt");

/// What stands behind the stem in the names of the files of a dump, the assignment first and the HLO text last.
pub(super) const SUFFIXES: [&str; 5] = [
    "-buffer-assignment.txt",
    "-buffer-assignment-values.txt",
    "-live-range.txt",
    "-memory-usage-report.txt",
    ".txt",
];

/// A program with a loop: the texts of its files, by [`SUFFIXES`] without the report.
pub(super) fn lstm_scan() -> [String; 4] {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/dumps/loops");
    [0, 1, 2, 4].map(|part| {
        let stem = "module_0043.jit_lstm_scan.cpu_after_optimizations";
        let path = folder.join(format!("{stem}{}", SUFFIXES[part]));
        std::fs::read_to_string(path).expect("a fixture")
    })
}

pub(super) fn dump(texts: &[&str]) -> Dump {
    let file = |text: &&str| File {
        path: PathBuf::from("dump.txt"),
        document: Document::new(text).expect("a small text"),
        lossy: false,
    };
    Dump::new(texts.iter().map(file).collect())
}

fn line(dump: &Dump, place: &Place) -> u32 {
    dump.files[place.file].document.line_at(place.range.start) + 1
}

/// Changes `from` to `to` in the first of `texts`, which has it once, and expects one finding.
#[track_caller]
pub(super) fn finds(texts: &[&str], from: &str, to: &str, expected: &str) -> Finding {
    let text = texts[0];
    assert_eq!(text.matches(from).count(), 1, "`{from}` is there once");
    let changed = text.replacen(from, to, 1);
    let at = text.find(from).unwrap_or_default();
    let difference = from
        .bytes()
        .zip(to.bytes())
        .take_while(|(from, to)| from == to)
        .count();
    let changed_line = text[..at + difference].matches('\n').count() as u32 + 1;
    let texts: Vec<&str> = std::iter::once(&*changed)
        .chain(texts[1..].iter().copied())
        .collect();
    let dump = dump(&texts);
    let findings = check(&dump);
    let shown: Vec<_> = findings
        .iter()
        .map(|finding| {
            format!(
                "{} {}: {}",
                line(&dump, &finding.place),
                finding.code,
                finding.message
            )
        })
        .collect();
    assert_eq!(findings.len(), 1, "{shown:#?}");
    assert_eq!(findings[0].code.name(), expected, "{shown:#?}");
    let places = std::iter::once(&findings[0].place)
        .chain(findings[0].related.iter().map(|(place, _)| place));
    let lines: Vec<_> = places
        .filter(|place| place.file == 0)
        .map(|place| line(&dump, place))
        .collect();
    assert!(
        lines.contains(&changed_line),
        "line {changed_line} is not among {lines:?}: {shown:#?}"
    );
    if let Some(fix) = &findings[0].fix {
        assert_eq!(fix.place.file, 0);
        let mut mended = changed.clone();
        mended.replace_range(
            fix.place.range.start as usize..fix.place.range.end as usize,
            &fix.text,
        );
        assert_eq!(mended, text, "the fix mends the dump");
    }
    findings[0].clone()
}

#[test]
fn real_dumps_have_nothing_but_advice() {
    let codes = |texts: &[&str]| -> Vec<Code> {
        let findings = check(&dump(texts));
        findings.iter().map(|finding| finding.code).collect()
    };
    // The compiler's rule misses the true peak here by a step.
    assert_eq!(codes(&[CONCAT]), [Code::XlaPeakStep]);
    assert_eq!(codes(&[CONCAT, CONCAT_REPORT]), [Code::XlaPeakStep]);
    assert_eq!(codes(&[TPU_CONCAT]), []);
}

#[test]
fn allocations() {
    finds(
        &[CONCAT],
        "allocation 2: ",
        "allocation 3: ",
        "allocation-index",
    );
    finds(
        &[CONCAT],
        "allocation 4: size 23040",
        "allocation 4: size 23041",
        "allocation-size",
    );
    finds(
        &[CONCAT],
        "allocation 4: size 23040",
        "allocation 4: size 2304",
        "allocation-size",
    );
    finds(
        &[CONCAT],
        "(size=4608,offset=18432)",
        "(size=4608,offset=18496)",
        "value-outside-allocation",
    );
    finds(
        &[CONCAT],
        "(size=4608,offset=18432)",
        "(size=4608,offset=18431)",
        "value-offset",
    );
    finds(
        &[CONCAT],
        "<8 args_0_.1 @0> (size=2304,offset=0)",
        "<8 args_0_.1 @0> (size=2304,offset=64)",
        "value-offset",
    );
    finds(
        &[CONCAT],
        "output shape is |bf16[4,864]|",
        "output shape is |bf16[4,865]|",
        "output-shape",
    );
    finds(
        &[CONCAT],
        "parameter 1, shape",
        "parameter 5, shape",
        "output-shape",
    );
    finds(
        &[CONCAT],
        "parameter 1, shape |bf16[4,288]|",
        "parameter 1, shape |bf16[5,288]|",
        "output-shape",
    );
}

#[test]
fn totals() {
    finds(&[CONCAT], "used: 36864 (", "used: 36865 (", "total-bytes");
    finds(&[CONCAT], "(36.0KiB)", "(36.1KiB)", "human-bytes");
    finds(
        &[CONCAT_REPORT, CONCAT],
        "Total bytes: 36864",
        "Total bytes: 36863",
        "report-total",
    );
    finds(
        &[CONCAT_REPORT, CONCAT],
        "(36.0KiB)",
        "(37.0KiB)",
        "human-bytes",
    );
    let offset = "       13824;";
    finds(
        &[CONCAT_REPORT, CONCAT],
        offset,
        "       13825;",
        "report-total",
    );
    finds(
        &[CONCAT, CONCAT_REPORT],
        "(size=4608,offset=13824)",
        "(size=4608,offset=13760)",
        "report-total",
    );
}

#[test]
fn values() {
    finds(&[CONCAT], " value: <13 ", " value: <12 ", "duplicate-value");
    finds(&[CONCAT], " value: <13 ", " value: <93 ", "unknown-value");
    finds(&[CONCAT], "\n<13 ", "\n<93 ", "unknown-value");
    finds(
        &[CONCAT],
        "\n<13 wrapped_convert.2 @0>",
        "\n<13 wrapped_convert.2 @1>",
        "value-mismatch",
    );
    finds(
        &[CONCAT],
        "positions:\n  wrapped_convert.2",
        "positions:\n  wrapped_convert.7",
        "value-name",
    );
    finds(
        &[CONCAT],
        "instruction: %wrapped_convert.2",
        "instruction: %wrapped_convert.7",
        "value-name",
    );
    finds(
        &[CONCAT],
        "value: <13 wrapped_convert.2 @0>",
        "value: <13 wrapped_convert.2 @1>",
        "color-mismatch",
    );
}

#[test]
fn shapes() {
    finds(
        &[CONCAT],
        "offset=18432): f32[4,288]",
        "offset=18432): f32[4,287]",
        "value-shape",
    );
    finds(
        &[CONCAT],
        "%concatenate.1 = f32[4,864]",
        "%concatenate.1 = f32[4,863]",
        "value-shape",
    );
    finds(
        &[CONCAT],
        "(size=4608,offset=13824)",
        "(size=4600,offset=13824)",
        "value-size",
    );
}

#[test]
fn live_ranges() {
    finds(&[CONCAT], "    4:wrapped", "    5:wrapped", "sequence");
    finds(&[CONCAT], "(max 8)", "(max 9)", "sequence");
    finds(
        &[CONCAT],
        "wrapped_convert.1{}:4-6",
        "wrapped_convert.1{}:5-6",
        "live-range",
    );
    finds(
        &[CONCAT],
        "wrapped_convert.1{}:4-6",
        "wrapped_convert.1{}:4-3",
        "live-range",
    );
    finds(
        &[CONCAT],
        "args_1_.1{}:0-8",
        "args_1_.1{}:0-9",
        "live-range",
    );
    finds(
        &[CONCAT],
        "args_1_.1{}:0-8",
        "args_1_.1{}:1-8",
        "live-range",
    );
    finds(
        &[CONCAT],
        "wrapped_convert.1{}:4-6",
        "wrapped_convert.1{}:4-7",
        "peak-members",
    );
    finds(
        &[CONCAT],
        "    wrapped_convert.2{}:5",
        "    wrapped_convert.9{}:5",
        "live-range",
    );
}

/// What it is said to be tells what its live range has to be: where that is broken off, nothing is known.
#[test]
fn a_broken_instruction_makes_no_other_mistake() {
    let own = "%args_1_.1 = bf16[4,288]{1,0} parameter(1)";
    let broken = own.replace("{1,0}", "{1,-1}");
    finds(&[CONCAT], own, &broken, "syntax");
}

#[test]
fn overlapping_values_are_both_named() {
    let finding = finds(
        &[CONCAT],
        "(size=4608,offset=18432)",
        "(size=4608,offset=13888)",
        "value-offset",
    );
    assert!(finding.message.contains("from 18432 on"));
    // The same bytes at the same steps, with the allocation's end still used.
    let finding = finds(
        &[CONCAT],
        "<11 wrapped_convert.1 @0> (size=4608,offset=13824)",
        "<11 wrapped_convert.1 @0> (size=4608,offset=13888)",
        "bytes-overlap",
    );
    assert!(
        finding.message.contains("bytes 18432 .. 18496"),
        "{}",
        finding.message
    );
    assert!(finding.message.contains("steps 5-6"), "{}", finding.message);
}

#[test]
fn every_value_that_lies_over_others_is_named() {
    let over = |text: &str| -> Vec<String> {
        let findings = check(&dump(&[text])).into_iter();
        let overlaps = findings.filter(|finding| finding.code.name() == "bytes-overlap");
        let named = |message: String| message.split('`').nth(1).unwrap_or_default().to_owned();
        overlaps.map(|finding| named(finding.message)).collect()
    };
    // Two values moved into the bytes of a third, which is alive all the time.
    let text = CONCAT
        .replace("(size=4608,offset=13824)", "(size=64,offset=64)")
        .replace("(size=4608,offset=18432)", "(size=64,offset=1024)")
        .replace("concatenate.1{}:6-7", "concatenate.1{}:3-7")
        .replace("allocation 4: size 23040", "allocation 4: size 13824");
    // The wrong live range of the third excuses nothing but itself.
    assert_eq!(over(&text), [""; 0]);
    let text = text
        .replace("    3:wrapped_convert\n", "    3:concatenate.1\n")
        .replace("    6:concatenate.1\n", "    6:wrapped_convert\n");
    assert_eq!(over(&text), ["wrapped_convert.1", "wrapped_convert.2"]);
}

#[test]
fn peak() {
    finds(
        &[CONCAT],
        "Live ranges at 7",
        "Live ranges at 6",
        "peak-step",
    );
    finds(
        &[CONCAT],
        "args_1_.1{}: 2304 bytes",
        "args_1_.1{}: 2305 bytes",
        "peak-bytes",
    );
    finds(
        &[CONCAT],
        "cumulative: 20736",
        "cumulative: 20737",
        "cumulative-bytes",
    );
    finds(
        &[CONCAT],
        "    args_1_.1{}: 2304",
        "    args_7_.1{}: 2304",
        "peak-members",
    );
}

#[test]
fn tree() {
    finds(&[CONCAT], "usage: 27 648", "usage: 27 649", "tree-bytes");
    finds(&[CONCAT], "total: 13 824", "total: 13 825", "tree-bytes");
    finds(&[CONCAT], "current: 6 912", "current: 6 913", "tree-bytes");
    finds(
        &[CONCAT],
        "remaining: 4 608",
        "remaining: 4 609",
        "tree-bytes",
    );
    finds(&[CONCAT], "(50.0%", "(51.0%", "tree-bytes");
}

#[test]
fn structure() {
    let codes = |text: &str| -> Vec<_> {
        check(&dump(&[text]))
            .iter()
            .map(|finding| finding.code.name())
            .collect()
    };
    assert_eq!(codes("no dump\n"), ["syntax"]);
    assert_eq!(codes(""), ["syntax"]);
    assert_eq!(
        codes(&CONCAT.replace(
            "allocation 2: size 2304",
            "allocation 2: size 99999999999999999999999"
        )),
        ["syntax"]
    );
    assert_eq!(
        codes(&CONCAT.replace(" uses:\n  wrapped_convert, operand 0\n", "garbage\n")),
        ["syntax"]
    );
    // Behind the allocations, the file may end; behind anything else, something is missing.
    assert_eq!(
        codes(&CONCAT[..CONCAT.find("\nTotal").unwrap_or_default()]),
        [""; 0]
    );
    for (end, name) in [
        ("Used values:\n", "below the values' heading"),
        ("HloLiveRange", "before the live ranges"),
        ("  BufferLiveRange", "before the ranges"),
        ("  Live ranges at", "before the peak"),
        (" uses:\n  wrapped_convert.2", "in a value"),
        ("%concatenate", "in an instruction"),
    ] {
        assert_eq!(
            codes(&CONCAT[..CONCAT.find(end).unwrap_or_default()]),
            ["truncated"],
            "{name}"
        );
    }
}

#[test]
fn a_tpu_dump_is_checked_by_its_own_sizes() {
    assert!(TPU_CONCAT.contains(":T("));
    let from = TPU_CONCAT
        .lines()
        .find(|line| line.contains("(size=") && line.contains("offset=0)"))
        .unwrap_or_default();
    let size: u64 = from
        .split("(size=")
        .nth(1)
        .and_then(|rest| rest.split(',').next())
        .and_then(|size| size.parse().ok())
        .unwrap_or_default();
    let to = from.replace(&format!("size={size}"), &format!("size={}", size + 1));
    let changed = TPU_CONCAT.replace(from, &to);
    assert!(!check(&dump(&[&changed])).is_empty());
}

#[test]
fn a_broken_section_says_nothing_of_the_others() {
    let texts = |text: &str| -> Vec<_> {
        let findings = check(&dump(&[text]));
        findings.iter().map(|finding| finding.code.name()).collect()
    };
    let broken = CONCAT.replace(" uses:\n  wrapped_convert, operand 0\n", "garbage\n");
    let also = broken.replace("remaining: 4 608", "remaining: 4 609");
    assert_eq!(texts(&also), ["syntax", "tree-bytes"]);
    let also = broken.replace("cumulative: 20736", "cumulative: 20737");
    assert_eq!(texts(&also), ["syntax", "cumulative-bytes"]);
    let also = broken.replace("used: 36864 (", "used: 36865 (");
    assert_eq!(texts(&also), ["total-bytes", "syntax"]);
    // A number for people is no certain fix while nothing confirms the number beside it.
    let values = &CONCAT
        [CONCAT.find("\nTotal").unwrap_or_default()..CONCAT.find("\n\nHlo").unwrap_or_default()];
    let findings = check(&dump(&[&values.replace("(36.0KiB)", "(36.1KiB)")]));
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].fix, None);
}

#[test]
fn a_wrong_number_of_bytes_is_found_without_shapes() {
    let live_range = &CONCAT[CONCAT.find("HloLiveRange").unwrap_or_default()..];
    assert_eq!(check(&dump(&[live_range])), []);
    finds(
        &[live_range],
        "wrapped_convert.3{}: 6912",
        "wrapped_convert.3{}: 6913",
        "peak-bytes",
    );
    finds(
        &[live_range],
        "cumulative: 20736",
        "cumulative: 20737",
        "cumulative-bytes",
    );
    finds(
        &[live_range],
        "cumulative: 27648",
        "cumulative: 27649",
        "cumulative-bytes",
    );
}

/// A cheap source of numbers that are the same in every run.
fn next_random(state: &mut u64) -> usize {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

#[test]
fn findings_of_an_edited_dump_are_those_of_one_read_fresh() {
    let mut state = 1;
    let mut found = 0;
    for round in 0..500 {
        let mut text = [CONCAT, TPU_CONCAT][round % 2].to_owned();
        let mut document = Document::new(&text).expect("a small text");
        for _ in 0..20 {
            // Mostly digits, so that the dump stays one and the checks have something to say.
            let at = next_random(&mut state) % text.len();
            let digits = text
                .bytes()
                .enumerate()
                .skip(at)
                .find(|(_, byte)| byte.is_ascii_digit());
            let Some((at, _)) = digits else { continue };
            let (end, with) = match next_random(&mut state) % 8 {
                0 => (at, "1"),
                1 => (at + 1, ""),
                2 => (at, "\n"),
                _ => (
                    at + 1,
                    ["0", "2", "4", "7", "8"][next_random(&mut state) % 5],
                ),
            };
            text.replace_range(at..end, with);
            document = document
                .edit(at as u32..end as u32, with)
                .expect("a small text");
            let of = |document: Document| {
                let file = File {
                    path: PathBuf::from("dump.txt"),
                    document,
                    lossy: false,
                };
                check(&Dump::new(vec![file]))
            };
            let edited = of(document.clone());
            assert_eq!(edited, of(Document::new(&text).expect("a small text")));
            found += usize::from(!edited.is_empty());
        }
    }
    assert!(
        found > 9_000,
        "the edits break the dumps: {found} of 10,000"
    );
}

/// As libtpu 0.0.51 prints a computation that runs asynchronously: `s` is its root, and lives from
/// the step of the call's start on.
const ASYNCHRONOUS: &str = "\
BufferAssignment:
allocation 0: size 8, parameter 0, shape |f32[2]| at ShapeIndex {}:
 value: <0 p @0> (size=8,offset=0): f32[2]{0}
allocation 1: size 8, output shape is |f32[2]|, maybe-live-out:
 value: <1 s @0> (size=8,offset=0): f32[2]{0}
allocation 2: size 16, preallocated-temp:
 value: <2 slice-start{} @0> (size=16,offset=0): (f32[2]{0}, f32[2]{0})

Total bytes used: 32 (32B)

Used values:
<0 p @0>
 positions:
  p
  slice-start {0}
 uses:
  s, operand 0
 from instruction: %p = f32[2]{0} parameter(0)
<1 s @0>
 positions:
  s
  slice-start {1}
  slice-done
 uses:
 from instruction: %s = f32[2]{0} slice(%p), slice={[0:2]}
<2 slice-start{} @0>
 positions:
  slice-start {}
 uses:
  slice-done, operand 0 {}
 from instruction: %slice-start = (f32[2]{0}, f32[2]{0}) slice-start(%p), slice={[0:2]}


HloLiveRange (max 4):
  InstructionSequence:
    0:p
    1:s
    2:slice-start
    3:slice-done
  BufferLiveRange:
    p{}:0-4
    s{}:2-4
    slice-start{}:2-3
  Live ranges at 2 (peak):
    slice-start{}: 16 bytes (cumulative: 16 bytes)
    p{}: 8 bytes (cumulative: 24 bytes)
    s{}: 8 bytes (cumulative: 32 bytes)
";

#[test]
fn values_of_asynchronous_computations_may_begin_at_the_call() {
    assert_eq!(check(&dump(&[ASYNCHRONOUS])), []);
    // Without the call, the same live range is wrong.
    let other = ASYNCHRONOUS.replace(" slice-start(%p)", " copy-start(%p)");
    let findings = check(&dump(&[&other]));
    let codes: Vec<_> = findings.iter().map(|finding| finding.code.name()).collect();
    assert_eq!(codes, ["live-range"]);
}

/// However many there are, and wherever they were found.
#[test]
fn of_a_code_no_more_are_kept_than_are_told() {
    let mut findings = Findings::default();
    // The later of two parts is found first.
    for start in [8_000, 0] {
        let mut part = findings.fork();
        for at in start..start + 8_000 {
            let place = Place {
                file: 0,
                range: at..at + 1,
            };
            part.push(Finding::new(Code::Syntax, place, "junk".to_owned()));
        }
        findings.join(part);
    }
    let findings = findings.finish();
    assert_eq!(findings.len(), 10_000);
    let told = "(and 6,000 more findings of this kind)";
    let telling = findings.iter().map(|it| it.message.ends_with(told));
    assert_eq!(telling.filter(|it| *it).count(), 1);
    let last = findings
        .last()
        .map(|it| (it.place.range.start, &*it.message));
    assert_eq!(last, Some((9_999, &*format!("junk {told}"))));
}
