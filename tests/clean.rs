//! What a compiler wrote gives no error and no warning.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::client::Server;
use crate::support::command::{check, run};
use crate::support::dumps::{Dump, beside, dumps_below, files_below, fixtures, fixtures_in};
use crate::support::none_of;
use crate::support::oracle::Facts;
use crate::support::shapes::{Array, human};

/// Checks these folders in one process.
fn nothing_serious_in(folders: &[PathBuf]) {
    let folders: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
    let (output, findings) = check(&folders);
    let serious = findings.iter().filter(|finding| finding.is_serious());
    let failures: Vec<String> = serious.map(ToString::to_string).collect();
    none_of(&failures, "errors or warnings on sound dumps");
    assert_eq!(output.code, Some(0), "{}", output.stderr);
}

#[test]
fn fixtures_are_clean() {
    nothing_serious_in(&[fixtures()]);
}

#[test]
fn dumps_beside_the_project_are_clean() {
    let folders = beside();
    if folders.is_empty() {
        println!("no dumps beside the project; only its fixtures are checked");
        return;
    }
    let start = std::time::Instant::now();
    nothing_serious_in(&folders);
    println!("checked {folders:?} in {:?}", start.elapsed());
}

#[test]
fn seldom_line_ends_are_clean() {
    let folder = tempfile::tempdir().expect("a folder");
    for dump in fixtures_in(&[
        "cpu-run-on",
        "cpu-split",
        "multiline-instruction",
        "tree-raw-labels",
    ]) {
        for path in &dump.files {
            let text = fs::read_to_string(path).expect("text");
            let name = path.file_name().expect("a name");
            let put = |kind: &str, text: &str| {
                let folder = folder.path().join(kind);
                fs::create_dir_all(&folder).expect("a folder");
                fs::write(folder.join(name), text).expect("a file");
            };
            put("carriage-returns", &text.replace('\n', "\r\n"));
            put("no-last-line-end", text.trim_end_matches('\n'));
        }
    }
    nothing_serious_in(&[folder.path().to_path_buf()]);
}

/// What is not there makes answers poorer, never wrong.
#[test]
fn a_missing_file_is_no_finding() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut folders = Vec::new();
    for (number, dump) in dumps_below(&fixtures()).iter().enumerate() {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        for (place, missing) in dump.files.iter().enumerate() {
            // Of the assignment alone it is said that it is missing.
            if dump.files.len() == 1 || text(missing).ends_with("-buffer-assignment.txt") {
                continue;
            }
            let below = folder.path().join(format!("{number}-{place}"));
            fs::create_dir(&below).expect("a folder");
            for file in dump.files.iter().filter(|file| *file != missing) {
                fs::copy(file, below.join(file.file_name().expect("a name"))).expect("a copy");
            }
            folders.push(below);
        }
    }
    assert!(folders.len() > 50, "{}", folders.len());
    nothing_serious_in(&[folder.path().to_path_buf()]);
}

#[test]
fn a_file_stands_for_its_dump() {
    for dump in fixtures_in(&["cpu-split", "tpu-run-on"]) {
        for path in &dump.files {
            let (output, _) = check(&[path]);
            assert_eq!(
                output.code,
                Some(0),
                "{}: {}",
                path.display(),
                output.stderr
            );
        }
    }
}

#[test]
fn the_server_publishes_nothing_serious() {
    let mut server = Server::start();
    let mut failures = Vec::new();
    for dump in dumps_below(&fixtures()) {
        let path = &dump.files[0];
        let uri = server.open_file(path);
        for diagnostic in server.diagnostics(&uri) {
            if diagnostic["severity"]
                .as_u64()
                .is_none_or(|severity| severity <= 2)
            {
                failures.push(format!("{}: {diagnostic}", path.display()));
            }
        }
    }
    server.finish();
    none_of(&failures, "errors or warnings published on sound dumps");
}

#[test]
fn every_file_has_a_tree() {
    for dump in fixtures_in(&["cpu-no-space", "gpu-split", "out-of-memory"]) {
        for path in &dump.files {
            let output = run(
                ["parse".as_ref(), path.as_os_str()],
                std::time::Duration::from_secs(60),
            );
            assert_eq!(output.code, Some(0), "{}", output.stderr);
            let lines = fs::read_to_string(path).expect("text").lines().count();
            assert!(
                output.stdout.lines().count() >= lines,
                "{}: a tree of few lines",
                path.display()
            );
        }
    }
}

/// The second reader is worth something only if what it reads adds up by the specification.
#[test]
fn the_second_reader_adds_up() {
    let mut failures = Vec::new();
    let dumps = dumps_below(&fixtures());
    assert!(dumps.len() > 60, "only {} dumps found", dumps.len());
    for dump in &dumps {
        let facts = Facts::read(dump);
        let mut expect = |holds: bool, what: &str| {
            if !holds {
                failures.push(format!("{}: {what}", dump.name()));
            }
        };
        expect(
            !facts.allocations.is_empty() && !facts.values.is_empty(),
            "no allocations or values",
        );
        expect(
            facts
                .allocations
                .iter()
                .enumerate()
                .all(|(at, found)| found.index.value == at as u64),
            "indices",
        );
        for allocation in &facts.allocations {
            let end = |at: &usize| facts.values[*at].size.value + facts.values[*at].offset.value;
            let ends = allocation.values.iter().map(end).max();
            expect(
                ends.is_none_or(|end| end == allocation.size.value),
                "a size",
            );
        }
        if let Some((total, text)) = &facts.total {
            let sum: u64 = facts
                .allocations
                .iter()
                .map(|allocation| allocation.size.value)
                .sum();
            expect(sum == total.value && human(sum) == text.text, "total");
            expect(
                facts.used.len() == facts.values.len(),
                "as many used values as values",
            );
            expect(
                facts.values.iter().all(|value| value.used.is_some()),
                "a value without header",
            );
        }
        for value in &facts.values {
            if let Some(used) = value.used {
                let used = &facts.used[used];
                expect(used.header.name.text == value.reference.name.text, "a name");
                expect(
                    used.header.color.map(|color| color.value)
                        == value.reference.color.map(|color| color.value),
                    "a color",
                );
                expect(
                    used.instruction.name.text == value.reference.name.text,
                    "an instruction's name",
                );
                expect(
                    used.positions.first().is_some_and(|first| {
                        first.0.text == used.header.name.text && first.1 == used.header.index
                    }),
                    "a first position",
                );
                if !used.instruction.shape.text.starts_with('(') {
                    expect(used.instruction.shape.text == value.shape.text, "a shape");
                }
            }
            if let Some(array) = Array::read(&value.shape.text) {
                let color = value.reference.color.map_or(0, |color| color.value);
                expect(array.property("S").unwrap_or(0) == color, "a memory space");
            }
        }
        if let Some(max) = facts.max {
            expect(max.value == facts.sequence.len() as u64, "max");
            expect(
                facts.live_ranges.len() <= facts.values.len(),
                "more live ranges than values",
            );
            let live = facts
                .values
                .iter()
                .filter(|value| value.live.is_some())
                .count();
            expect(live == facts.live_ranges.len(), "a live range of no value");
            let peak = facts.peak_step.expect("a peak").value;
            let is_alive = |range: &&crate::support::oracle::LiveRange| {
                range.start.value <= peak && peak <= range.end.value
            };
            expect(
                facts.live_ranges.iter().filter(is_alive).count() == facts.peak.len(),
                "peak list",
            );
            let sum: u64 = facts.peak.iter().map(|line| line.bytes.value).sum();
            let last = facts.peak.last().and_then(|line| line.cumulative);
            expect(
                last.is_none_or(|last| last.value == sum),
                "cumulative bytes",
            );
            expect(
                facts.tree_total.is_none_or(|total| total.value == sum),
                "total of the tree",
            );
            expect(
                facts.tree.first().is_none_or(|root| root[0].value == sum),
                "root of the tree",
            );
            expect(
                facts.tree.last().is_none_or(|last| last[2].value == 0),
                "last node of the tree",
            );
            // Where elements of tuples are `%tuple#1`, what takes them out is not printed.
            let is_compact = dump.name().starts_with("compact-elements/");
            for (name, line) in facts.sequence.iter().map(|step| (&step.1.text, step)) {
                expect(
                    facts.module.is_none() || is_compact || facts.instructions.contains_key(name),
                    &format!("step {line:?} is no instruction"),
                );
            }
        }
        let report: u64 = facts.report_totals.iter().map(|total| total.value).sum();
        let sum: u64 = facts
            .allocations
            .iter()
            .map(|allocation| allocation.size.value)
            .sum();
        expect(
            facts.report_totals.is_empty() || report == sum,
            "total of the report",
        );
    }
    none_of(&failures, "contradictions of the second reader");
}

/// Files of a dump are told by their names, whatever folder they are in.
#[test]
fn fixtures_are_whole() {
    let dumps = dumps_below(&fixtures());
    let of_dumps: usize = dumps.iter().map(|dump: &Dump| dump.files.len()).sum();
    let rest: Vec<PathBuf> = files_below(&fixtures())
        .into_iter()
        .filter(|path| !dumps.iter().any(|dump| dump.files.contains(path)))
        .collect();
    // The HLO text before buffer assignment and behind it belong to no assignment.
    assert_eq!(rest.len(), 2, "{of_dumps} files of dumps, others: {rest:?}");
    let bytes: u64 = files_below(&fixtures())
        .iter()
        .map(|path| fs::metadata(path).expect("a file").len())
        .sum();
    assert!(bytes < 5_000_000, "fixtures of {bytes} bytes");
}
