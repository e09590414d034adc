//! Whatever the numbers are, what can be reckoned is, the rest is said in a sentence, and nothing
//! overflows or panics.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use buflens::audit::attribution::{By, attribution};
use buflens::audit::{Audit, copies, donation, offload, padding, peak};
use buflens::checks;
use buflens::model::occupancy::{Kind, Moment, Occupancy, alive, by_kind, exclusive};
use buflens::model::source::Libraries;
use buflens::model::{Dump, File};
use buflens_syntax::Document;

use crate::support::Random;
use crate::support::dumps::fixtures_in;
use crate::support::extremes::extremes;

fn read(text: &str) -> Dump {
    read_files(&[text.to_owned()])
}

fn read_files(texts: &[String]) -> Dump {
    let files = texts.iter().enumerate().map(|(number, text)| File {
        path: PathBuf::from(format!("{number}-buffer-assignment.txt")),
        document: Document::new(text).expect("a text below 4 GiB"),
        lossy: false,
    });
    Dump::new(files.collect())
}

/// Asks everything about memory that there is to ask, and checks what holds of any answer.
fn ask_everything(dump: &Dump) {
    let audit = Audit::new(dump, Libraries::default());
    let occupancy = dump.occupancy();
    for (number, allocation) in (0..).zip(&dump.allocations) {
        let is_filled = occupancy.reason.is_none() && allocation.kind() != Kind::ThreadLocal;
        assert_eq!(occupancy.fill(number).is_some(), is_filled);
    }
    // Of a hundred thousand spaces, some.
    let stride = 1 + occupancy.spaces.len() / 8;
    for space in occupancy.spaces.iter().step_by(stride) {
        assert_eq!(space.curve.is_none(), occupancy.reason.is_some());
        let peak = peak::peak(&audit, space.color, None, &[]);
        peak::printed(&audit, space.color);
        let Some(curve) = &space.curve else {
            assert_eq!(peak.err().as_deref(), occupancy.reason);
            continue;
        };
        let peak = peak.expect("a peak where there is a curve");
        assert!(
            curve
                .changes()
                .iter()
                .all(|change| change.bytes <= peak.moment.bytes)
        );
        assert!(curve.steps() > peak.moment.step);
        let last = Some(curve.steps() - 1);
        assert!(peak::peak(&audit, space.color, last, &[]).is_ok());
        assert!(peak::peak(&audit, space.color, Some(u64::MAX), &[]).is_err());
        let held: Vec<u32> = peak.values.iter().map(|held| held.value).collect();
        for &at in held.iter().take(20) {
            let gone = occupancy
                .if_gone(dump, at)
                .expect("the peak without a value at the peak");
            assert!(gone.bytes <= peak.moment.bytes);
        }
        assert!(peak::peak(&audit, space.color, None, &held).is_ok());
        exclusive(dump, &alive(dump, space.color, u64::MAX));
        by_kind(dump, &held);
        for by in [By::OpName, By::Source, By::Opcode, By::Shape] {
            attribution(&audit, &peak.values, by);
        }
        padding::padding(&audit, Some(space.color));
    }
    if occupancy.spaces.len() < 1000 {
        padding::padding(&audit, None);
    }
    for at in [0, 1, dump.values.len() as u32, u32::MAX] {
        occupancy.if_gone(dump, at);
        padding::of_value(&audit, at);
        exclusive(dump, &[at, at, 0]);
    }
    Occupancy::without(dump, &[0, 2, u32::MAX]);
    let copies = copies::copies(&audit);
    offload::offload(&audit, &copies);
    donation::donation(&audit);
    checks::check(dump);
}

/// A dump of one allocation, with lines of values in it and of live ranges.
fn dump_of(allocation: &str, values: &[&str], max: u64, ranges: &[&str]) -> String {
    let mut text = format!("BufferAssignment:\n{allocation}\n");
    for value in values {
        let _ = writeln!(text, " value: {value}: f32[]");
    }
    let _ = writeln!(
        text,
        "\n\nHloLiveRange (max {max}):\n  InstructionSequence:"
    );
    text += "    0:a\n    1:b\n    2:c\n  BufferLiveRange:\n";
    for range in ranges {
        let _ = writeln!(text, "    {range}");
    }
    text
}

const TEMP: &str = "allocation 0: size 64, preallocated-temp:";

/// The peak of memory space 0, after everything else has been asked.
fn peak_of(text: &str) -> Option<(u64, u64)> {
    let dump = read(text);
    ask_everything(&dump);
    let Moment { step, bytes } = dump.occupancy().peak(0)?;
    Some((step, bytes))
}

#[test]
fn what_is_not_there_is_said() {
    let sound = fs::read_to_string(&fixtures_in(&["cpu-combined"])[0].files[0]).expect("text");
    let ranges = sound.find("HloLiveRange").expect("live ranges");
    for (text, reason) in [
        (&sound[..ranges], "live ranges"),
        (&sound[ranges..], "allocations"),
        ("", "allocations"),
        (
            dump_of(TEMP, &["<1 a @0> (size=4,offset=0)"], 0, &["a{}:0-0"]).as_str(),
            "no steps",
        ),
    ] {
        let dump = read(text);
        ask_everything(&dump);
        let actual = dump.occupancy().reason.expect("a reason");
        assert!(actual.contains(reason), "{actual}");
    }
    // The sizes of allocations are known all the same.
    assert!(read(&sound[..ranges]).occupancy().spaces[0].reserved > 0);
}

#[test]
fn without_values_nothing_is_occupied() {
    assert_eq!(peak_of(&dump_of(TEMP, &[], 3, &[])), Some((0, 0)));
    let local = dump_of(
        "allocation 0: size 64, thread-local:",
        &["<1 a @0> (size=64,offset=0)"],
        3,
        &["a{}:0-2"],
    );
    assert_eq!(peak_of(&local), Some((0, 0)));
    let dump = read(&local);
    let space = &dump.occupancy().spaces[0];
    assert_eq!((space.reserved, space.thread_local), (0, 64));
    assert_eq!(dump.occupancy().if_gone(&dump, 0), None);
    assert_eq!(dump.occupancy().missing, 0);
}

#[test]
fn overlapping_nonsense_counts_each_byte_once() {
    // Outside of the allocation, over each other, alive before they begin and after the end.
    let text = dump_of(
        TEMP,
        &[
            "<1 a @0> (size=40,offset=0)",
            "<2 b @0> (size=40,offset=20)",
            "<3 c @0> (size=40,offset=10)",
            "<3 c @0> (size=100,offset=1000)",
            "<4 d @0> (size=8,offset=500)",
        ],
        3,
        &["a{}:0-1", "b{}:1-99", "c{}:2-1", "d{}:7-9"],
    );
    assert_eq!(peak_of(&text), Some((1, 60)));
}

#[test]
fn huge_numbers_overflow_nothing() {
    for size in [
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551614",
    ] {
        let header = format!("allocation 0: size {size}, preallocated-temp:");
        let values = [
            format!("<1 a @0> (size={size},offset=0)"),
            format!("<2 b @0> (size={size},offset={size})"),
            format!("<18446744073709551615 c @18446744073709551615> (size=1,offset={size})"),
        ];
        let values = values.each_ref().map(String::as_str);
        for max in [3, u64::MAX - 1, u64::MAX] {
            // What is larger is not read.
            let end = format!("b{{}}:0-{}", max.min(u64::MAX - 1));
            let text = dump_of(&header, &values, max, &["a{}:0-2", &end, "c{}:1-2"]);
            let (step, bytes) = peak_of(&text).expect("a peak");
            assert!(step <= 1 && bytes >= 1 << 62, "{bytes} at {step}");
        }
        // Two allocations whose sum no number holds.
        let twice = dump_of(&header, &values[..1], 3, &["a{}:0-2"])
            .replace("\n\n\n", &format!("\nallocation 1: size {size}, preallocated-temp:\n value: <7 b @0> (size={size},offset=0): f32[]\n\n\n"))
            .replace("a{}:0-2", "a{}:0-2\n    b{}:0-2");
        let (_, bytes) = peak_of(&twice).expect("a peak");
        assert!(bytes >= (1 << 63) - 1, "{bytes}");
    }
}

#[test]
fn indices_and_colors_may_be_anything() {
    let mut text = String::from("BufferAssignment:\n");
    let mut ranges = String::new();
    for number in 0..100_000_u64 {
        // Every index twice, and colors up to the largest there is.
        let color = u64::MAX - number;
        let _ = write!(
            text,
            "allocation {}: size 4, color {color}, preallocated-temp:\n value: <{number} v.{number} @{color}> (size=4,offset=0): f32[]\n",
            number / 2
        );
        let _ = writeln!(ranges, "    v.{number}{{}}:0-1");
    }
    let dump = read(&format!(
        "{text}\n\nHloLiveRange (max 2):\n  InstructionSequence:\n    0:a\n    1:b\n  BufferLiveRange:\n{ranges}"
    ));
    ask_everything(&dump);
    let occupancy = dump.occupancy();
    assert_eq!(occupancy.spaces.len(), 100_000);
    assert_eq!(occupancy.peak(u64::MAX), Some(Moment { step: 0, bytes: 4 }));
    assert_eq!(occupancy.peak(0), None);
}

#[test]
fn live_ranges_that_break_off_are_counted() {
    let files = &fixtures_in(&["cpu-combined"])[0].files;
    let text = fs::read_to_string(&files[0]).expect("text");
    let whole = read(&text);
    assert_eq!(whole.occupancy().missing, 0);
    let ranges = text.find("  BufferLiveRange:\n").expect("live ranges");
    let peak = text.find("  Live ranges at").expect("a peak");
    let middle = ranges + (peak - ranges) / 2;
    let middle = middle + text[middle..].find('\n').expect("a line end") + 1;
    let cut = read(&text[..middle]);
    ask_everything(&cut);
    let occupancy = cut.occupancy();
    assert!(occupancy.missing > 0 && occupancy.missing < cut.values.len());
    assert!(
        occupancy.peak(0).expect("a peak").bytes
            <= whole.occupancy().peak(0).expect("a peak").bytes
    );
}

/// Small dumps of all kinds, each as the texts of its files.
fn small_dumps() -> Vec<Vec<String>> {
    let dumps = fixtures_in(&[
        "smallest",
        "out-of-memory",
        "donation",
        "sub-byte-types",
        "gpu-split",
    ]);
    let texts = dumps.iter().map(|dump| {
        let texts = dump
            .files
            .iter()
            .map(|path| fs::read_to_string(path).expect("text"));
        texts.collect::<Vec<_>>()
    });
    texts
        .filter(|texts| texts.iter().map(String::len).sum::<usize>() < 40_000)
        .collect()
}

#[test]
fn dumps_cut_anywhere_are_reckoned() {
    let mut cuts = 0;
    for texts in small_dumps() {
        for (file, text) in texts.iter().enumerate().take(3) {
            for (end, _) in text.match_indices('\n') {
                let mut texts = texts.clone();
                // In front of the line end, behind it, and in the middle of the line.
                for end in [
                    end,
                    end + 1,
                    end - (end - text[..end].rfind('\n').unwrap_or(0)) / 2,
                ] {
                    if text.is_char_boundary(end) {
                        text[..end].clone_into(&mut texts[file]);
                        ask_everything(&read_files(&texts));
                        cuts += 1;
                    }
                }
            }
        }
    }
    println!("{cuts} cuts");
}

#[test]
fn changed_numbers_are_reckoned() {
    let mut random = Random(64);
    let large = [
        "0",
        "9223372036854775807",
        "18446744073709551615",
        "4294967296",
    ];
    for texts in small_dumps() {
        for _ in 0..60 {
            let mut texts = texts.clone();
            let file = random.below(texts.len());
            for _ in 0..=random.below(6) {
                let text = &mut texts[file];
                let digits: Vec<usize> = (0..text.len())
                    .filter(|&at| text.as_bytes()[at].is_ascii_digit())
                    .collect();
                let at = digits[random.below(digits.len())];
                if random.below(3) == 0 {
                    let end = text[at..]
                        .find(|c: char| !c.is_ascii_digit())
                        .map_or(text.len(), |length| at + length);
                    let start = text[..at]
                        .rfind(|c: char| !c.is_ascii_digit())
                        .map_or(0, |at| at + 1);
                    let start = if text.is_char_boundary(start) {
                        start
                    } else {
                        at
                    };
                    text.replace_range(start..end, large[random.below(large.len())]);
                } else {
                    text.replace_range(at..=at, &random.below(10).to_string());
                }
            }
            ask_everything(&read_files(&texts));
        }
    }
}

#[test]
fn too_much_of_something_is_reckoned() {
    for (_, text) in extremes() {
        ask_everything(&read(&text));
    }
}
