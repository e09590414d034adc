//! Occupied bytes, true peaks, what-if and padding, held against a second reckoning that reads the text
//! in its own way and goes step by step.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use buflens::audit::{Audit, padding, peak};
use buflens::checks::{self, Code};
use buflens::model::occupancy::{Moment, Occupancy, alive, by_kind};
use buflens::model::source::Libraries;
use buflens::model::{self, File};
use buflens_syntax::Document;
use rayon::prelude::*;

use crate::support::dumps::{self, Dump, beside, dumps_below, fixtures, fixtures_in};
use crate::support::occupancy::{self as slow, Block};
use crate::support::oracle::Facts;
use crate::support::{Random, generate, none_of, root};

/// Reads files of a dump into the model.
fn read(files: &[(PathBuf, &str)]) -> model::Dump {
    let files = files.iter().map(|(path, text)| File {
        path: path.clone(),
        document: Document::new(text).expect("a text below 4 GiB"),
        lossy: false,
    });
    model::Dump::new(files.collect())
}

fn model_of(facts: &Facts) -> model::Dump {
    let files = facts.files.iter();
    let files: Vec<_> = files
        .map(|file| (file.path.clone(), file.text.as_str()))
        .collect();
    read(&files)
}

fn pair(moment: Moment) -> (u64, u64) {
    (moment.step, moment.bytes)
}

/// What differs between the two reckonings.
fn differences(dump: &Dump, random: &mut Random) -> Vec<String> {
    let facts = Facts::read(dump);
    let model = model_of(&facts);
    let occupancy = model.occupancy();
    let mut failures = Vec::new();
    let mut expect = |holds: bool, what: &dyn Fn() -> String| {
        if !holds {
            failures.push(format!("{}: {}", dump.name(), what()));
        }
    };
    let colors: Vec<u64> = occupancy.spaces.iter().map(|space| space.color).collect();
    expect(colors == slow::colors(&facts), &|| {
        format!("the memory spaces {colors:?}")
    });
    for space in &occupancy.spaces {
        let (color, reserved, local) = (space.color, space.reserved, space.thread_local);
        expect(reserved == slow::total(&facts, color, false), &|| {
            format!("@{color}: {reserved} reserved")
        });
        expect(local == slow::total(&facts, color, true), &|| {
            format!("@{color}: {local} thread-local")
        });
    }
    let Some(steps) = facts.max.map(|max| max.value) else {
        expect(occupancy.reason.is_some(), &|| {
            "no reason for no peak".to_owned()
        });
        let has_curve = occupancy.spaces.iter().any(|space| space.curve.is_some());
        expect(!has_curve, &|| "a curve without live ranges".to_owned());
        return failures;
    };
    expect(
        occupancy.reason.is_none() && occupancy.missing == 0,
        &|| format!("{:?}, {} missing", occupancy.reason, occupancy.missing),
    );
    let audit = Audit::new(&model, Libraries::default());
    for (space, color) in occupancy.spaces.iter().zip(colors) {
        let blocks = slow::blocks(&facts, color);
        let expected = slow::curve(&blocks, steps, |_| true);
        let Some(curve) = &space.curve else {
            expect(false, &|| format!("@{color}: no curve"));
            continue;
        };
        let actual: Vec<u64> = (0..steps).map(|step| curve.at(step)).collect();
        expect(actual == expected && curve.steps() == steps, &|| {
            format!("@{color}: the curve {actual:?} where {expected:?} is right")
        });
        let top = slow::peak(&expected);
        expect(pair(curve.peak()) == top, &|| {
            format!("@{color}: the peak {:?}, not {top:?}", curve.peak())
        });
        // Each allocation alone.
        for (at, allocation) in facts.allocations.iter().enumerate() {
            if slow::color(allocation) != color {
                continue;
            }
            let own = slow::curve(&blocks, steps, |block| block.allocation == at);
            let fullest = slow::peak(&own);
            expect(fullest.1 <= allocation.size.value, &|| {
                format!("allocation {at} holds more than its size")
            });
            let fill = occupancy
                .fill(at as u32)
                .map(|fill| (pair(fill.fullest), fill.at_peak));
            let is_local = slow::kind(allocation) == "thread-local";
            let right =
                (!is_local).then(|| (fullest, own.get(top.0 as usize).copied().unwrap_or(0)));
            expect(fill == right, &|| {
                format!("allocation {at}: {fill:?}, not {right:?}")
            });
        }
        // What is alive at the peak and at some other step, and of which kind it is.
        for step in [top.0, random.below(steps as usize) as u64] {
            let values = alive(&model, color, step);
            let expected = slow::KINDS.map(|kind| {
                let of_kind =
                    |block: &&Block| slow::kind(&facts.allocations[block.allocation]) == kind;
                slow::occupied(blocks.iter().filter(of_kind), step)
            });
            let kinds = by_kind(&model, &values);
            expect(kinds == expected, &|| {
                format!("@{color}, step {step}: {kinds:?}, not {expected:?}")
            });
            let shares = peak::peak(&audit, color, Some(step), &[]).map(|peak| {
                assert_eq!(peak.values.len(), values.len());
                peak.values.iter().map(|held| held.share).sum::<u64>()
            });
            expect(shares == Ok(slow::occupied(&blocks, step)), &|| {
                format!("@{color}, step {step}: the shares add up to {shares:?}")
            });
            let padding = padding::at_step(&audit, color, step);
            expect(padding <= curve.at(step), &|| {
                format!("@{color}: more padding than bytes")
            });
        }
        // Without one value, without some.
        let present: Vec<usize> = blocks.iter().map(|block| block.value).collect();
        let mut gone = random.choose(present, 4);
        for (count, &value) in gone.iter().enumerate() {
            let rest = slow::curve(&blocks, steps, |block| block.value != value);
            let left = slow::peak(&rest);
            let id = facts.values[value].reference.id.value;
            let at = model.value_with_id(id).expect("the value");
            let moved = occupancy.if_gone(&model, at).map(pair);
            expect(moved == Some(left), &|| {
                format!("without value {id}: {moved:?}, not {left:?}")
            });
            if count > 0 {
                continue;
            }
            let without = Occupancy::without(&model, &[at]);
            expect(without.peak(color).map(pair) == moved, &|| {
                format!("two answers without value {id}")
            });
        }
        gone.sort_unstable();
        let is_left = |block: &Block| gone.binary_search(&block.value).is_err();
        let left = slow::peak(&slow::curve(&blocks, steps, is_left));
        let ids = gone
            .iter()
            .map(|&value| facts.values[value].reference.id.value);
        let ids: Vec<u32> = ids.filter_map(|id| model.value_with_id(id)).collect();
        let moved = peak::peak(&audit, color, None, &ids).map(|peak| pair(peak.moment));
        expect(moved == Ok(left), &|| {
            format!("without the values {ids:?}: {moved:?}, not {left:?}")
        });
    }
    if let (Some(printed), Some(by_rule)) = (facts.peak_step, slow::printed_step(&facts)) {
        expect(printed.value == by_rule, &|| {
            format!(
                "the rule gives step {by_rule}, {} is printed",
                printed.value
            )
        });
        let is_blamed = checks::check(&model)
            .iter()
            .any(|finding| finding.code == Code::PeakStep);
        expect(!is_blamed, &|| {
            "the printed step is called an error".to_owned()
        });
    }
    failures
}

/// Compares both reckonings of all `dumps`.
fn compare(dumps: &[Dump]) {
    let start = Instant::now();
    let compare = |(at, dump)| differences(dump, &mut Random(at as u64));
    let failures: Vec<String> = dumps
        .par_iter()
        .enumerate()
        .flat_map_iter(compare)
        .collect();
    println!("{} dumps compared in {:?}", dumps.len(), start.elapsed());
    none_of(&failures, "differences between the two reckonings");
}

#[test]
fn fixtures_are_reckoned_alike() {
    let dumps = dumps_below(&fixtures());
    assert!(dumps.len() > 60, "only {} dumps found", dumps.len());
    compare(&dumps);
}

#[test]
fn dumps_beside_the_project_are_reckoned_alike() {
    let mut dumps: Vec<Dump> = Vec::new();
    for folder in beside() {
        dumps.extend(dumps_below(&folder));
    }
    dumps.extend(seeds());
    if dumps.is_empty() {
        println!("no dumps beside the project; only its fixtures are compared");
        return;
    }
    compare(&dumps);
}

/// Examples that may lie beside the project, under names of their own.
fn seeds() -> Vec<Dump> {
    let folder = root().join("../shared/seeds");
    if !folder.is_dir() {
        println!("the examples are not here; only the other dumps are read");
        return Vec::new();
    }
    let files = dumps::files_below(&folder).into_iter();
    files
        .map(|path| Dump {
            stem: path.with_extension(""),
            files: vec![path],
        })
        .collect()
}

/// Where the printed step is not the true peak.
#[test]
fn seeds_peak_where_they_should() {
    for (name, color, peak, printed) in [
        ("000_", 0, (6, 34_560), Some((7, 27_648))),
        ("004_", 0, (13, 1_012_613_120), None),
    ] {
        let Some(seed) = seeds().into_iter().find(|seed| seed.name().contains(name)) else {
            println!("seed {name} does not lie beside the project");
            continue;
        };
        let facts = Facts::read(&seed);
        let model = model_of(&facts);
        assert_eq!(model.occupancy().peak(color).map(pair), Some(peak));
        if let Some(printed) = printed {
            let audit = Audit::new(&model, Libraries::default());
            let found = peak::printed(&audit, color).expect("a printed peak");
            assert_eq!((found.step, found.listed), printed);
        }
    }
}

/// What is alive at the true peak of memory space 0, the largest first: names, sizes in bytes, and
/// whether the printed list has them.
fn held_at_peak(facts: &Facts) -> (u64, Vec<(String, u64, bool)>) {
    let model = model_of(facts);
    let audit = Audit::new(&model, Libraries::default());
    let peak = peak::peak(&audit, 0, None, &[]).expect("a peak");
    let held = peak.values.iter().map(|held| {
        let value = &model.values[held.value as usize];
        let (name, index) = (&model.names[value.name], &model.names[value.index]);
        let is_listed = facts.peak.iter().any(|line| {
            line.name.text == *name && line.index.as_deref().is_none_or(|listed| listed == index)
        });
        (name.to_owned(), value.size, is_listed)
    });
    (peak.moment.step, held.collect())
}

/// A name, a size in GiB, and whether the printed list has it.
type Culprit = (&'static str, u64, bool);

/// What filled the memory is not even in the list that the compiler prints.
#[test]
fn culprits_of_a_failed_compile_are_named() {
    // Steps: the true peak, the printed one. Then the culprits.
    let expected: [(&str, u64, u64, &[Culprit]); 2] = [
        (
            "jit_oom_attention_grad",
            25,
            30,
            &[
                ("multiply_reduce_fusion.remat3", 16, false),
                ("fusion.18.remat7", 8, false),
            ],
        ),
        ("jit_oom_padded", 4, 5, &[("reshape.1", 8, false)]),
    ];
    for dump in fixtures_in(&["out-of-memory-peak-not-listed"]) {
        let (_, step, printed, culprits) = expected
            .iter()
            .find(|expected| dump.name().contains(expected.0))
            .expect("a known dump");
        let facts = Facts::read(&dump);
        let (actual, held) = held_at_peak(&facts);
        assert_eq!(
            (actual, facts.peak_step.map(|step| step.value)),
            (*step, Some(*printed))
        );
        let large = held.iter().take_while(|(_, bytes, _)| *bytes >= 1 << 30);
        let large: Vec<_> = large
            .map(|(name, bytes, listed)| (name.as_str(), bytes >> 30, *listed))
            .collect();
        assert_eq!(large, *culprits, "{}", dump.name());
    }
}

/// The instructions that the text of an out-of-memory error names with at least a gibibyte each.
fn blamed(error: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut is_large = false;
    for line in error.lines() {
        if let Some((_, size)) = line.split_once(". Size: ") {
            is_large = size.trim().ends_with('G');
        } else if let Some((_, label)) = line.split_once("XLA label: ")
            && let Some((name, _)) = label.split_once(" = ")
            && is_large
        {
            names.push(name);
        }
    }
    names
}

/// Where the error names the largest allocations, their bytes are in use at the true peak.
#[test]
fn errors_beside_the_project_blame_what_is_at_the_peak() {
    let folder = root().join("../shared/corpus/oom");
    if !folder.is_dir() {
        println!("no failed compiles beside the project; only a fixture is looked at");
        return;
    }
    let dumps = dumps_below(&folder);
    let (mut found, mut failures) = (0, Vec::new());
    for path in dumps::files_below(&folder) {
        let program = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let beside = path.parent().expect("a folder").join("dumps");
        let mut of_program = dumps.iter().filter(|dump| {
            dump.stem.parent() == Some(&beside) && dump.name().contains(&format!(".jit_{program}."))
        });
        // The last compile is the one that the error is about.
        let Some(dump) = of_program.next_back() else {
            continue;
        };
        let error = fs::read_to_string(&path).expect("text");
        let facts = Facts::read(dump);
        let Some(steps) = facts.max else { continue };
        let blocks = slow::blocks(&facts, 0);
        let (step, _) = slow::peak(&slow::curve(&blocks, steps.value, |_| true));
        let (actual, _) = held_at_peak(&facts);
        assert_eq!(actual, step, "{}", dump.name());
        for name in blamed(&error) {
            found += 1;
            let named = |block: &&Block| facts.values[block.value].reference.name.text == name;
            let is_in_use = blocks.iter().filter(named).any(|own| {
                blocks.iter().any(|other| {
                    other.allocation == own.allocation
                        && (other.low, other.high) == (own.low, own.high)
                        && (other.start..=other.end).contains(&step)
                })
            });
            if !is_in_use {
                failures.push(format!(
                    "{}: {name} is not at the peak, step {step}",
                    dump.name()
                ));
            }
        }
    }
    assert!(found > 10, "the errors name {found} values");
    none_of(&failures, "values blamed that are not at the peak");
}

/// The example of `docs/occupancy.md` is a sound dump, and its table is right.
#[test]
fn the_example_in_the_docs_is_right() {
    let docs = fs::read_to_string(root().join("docs/occupancy.md")).expect("the document");
    let text = docs.split("```text\n").nth(1).expect("an example");
    let (text, rest) = text.split_once("```").expect("the end of the example");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder
        .path()
        .join("module_0001.example.cpu_after_optimizations-buffer-assignment.txt");
    fs::write(&path, text).expect("a file");
    let dump = Dump {
        stem: path.with_extension(""),
        files: vec![path],
    };
    none_of(
        &differences(&dump, &mut Random(1)),
        "differences in the example",
    );
    let facts = Facts::read(&dump);
    let model = model_of(&facts);
    // Its printed peak is not the true one: that is what it is an example of.
    let findings = checks::check(&model);
    let codes: Vec<Code> = findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, [Code::XlaPeakStep]);
    let curve = model.occupancy().spaces[0].curve.as_ref().expect("a curve");
    let mut rows = 0;
    for line in rest.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let (Ok(step), [_, runs, occupied, sum, _]) = (cells[0].parse(), cells.as_slice()) else {
            continue;
        };
        assert_eq!(Some(*runs), model.instruction_at(step));
        assert_eq!(*occupied, curve.at(step).to_string(), "step {step}");
        let sizes = alive(&model, 0, step)
            .into_iter()
            .map(|at| model.values[at as usize].size);
        assert_eq!(*sum, sizes.sum::<u64>().to_string(), "step {step}");
        rows += 1;
    }
    assert_eq!(rows, curve.steps());
    assert_eq!(
        curve.peak(),
        Moment {
            step: 3,
            bytes: 3072
        }
    );
    assert_eq!(model.occupancy().spaces[0].reserved, 3584);
    for (left_out, step, bytes) in [(&[1][..], 3, 2304), (&[1, 2], 5, 2048), (&[3], 2, 2048)] {
        let left_out: Vec<u32> = left_out
            .iter()
            .filter_map(|&id| model.value_with_id(id))
            .collect();
        let rest = Occupancy::without(&model, &left_out);
        assert_eq!(rest.peak(0), Some(Moment { step, bytes }));
    }
}

/// The dumps that the benchmarks make are as sound as real ones.
#[test]
fn generated_dumps_are_sound() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [
        ("dense", generate::dense(60_000)),
        ("huge", generate::huge_lines(60_000)),
    ] {
        let path = folder.path().join(format!(
            "module_0001.{name}.after_optimizations-buffer-assignment.txt"
        ));
        fs::write(&path, &text).expect("a file");
        assert!(
            (40_000..120_000).contains(&text.len()),
            "{name}: {} bytes",
            text.len()
        );
        let model = read(&[(path.clone(), &text)]);
        let mut findings = checks::check(&model);
        findings.retain(|finding| finding.code != Code::XlaPeakStep);
        assert!(findings.is_empty(), "{name}: {:?}", findings.first());
        let (stem, files) = (path.with_extension(""), vec![path]);
        none_of(&differences(&Dump { stem, files }, &mut Random(5)), name);
    }
}
