//! `buflens report`, run as a process and read as a browser reads it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use scraper::{ElementRef, Html, Selector};
use serde_json::Value;

use crate::support::root;

const FIXTURES: &str = "tests/fixtures/dumps";
const TPU: &str = "tests/fixtures/dumps/tpu-split/\
                   module_0032.jit_mlp_fwd.cl_933746096.after_optimizations-buffer-assignment.txt";

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_buflens"))
        .args(arguments)
        .current_dir(root())
        .stdin(Stdio::null())
        .output()
        .expect("the program runs")
}

/// Runs `buflens report` with these arguments and gives what it writes to stdout.
#[track_caller]
fn report(arguments: &[&str]) -> String {
    let output = run(&[&["report", "-o", "-"], arguments].concat());
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}\n{err}");
    String::from_utf8(output.stdout).expect("text")
}

#[track_caller]
fn json(arguments: &[&str]) -> Value {
    let output = run(&[arguments, &["--format", "json"]].concat());
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[track_caller]
fn refused(arguments: &[&str]) -> String {
    let output = run(&[&["report"], arguments].concat());
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    String::from_utf8(output.stderr).expect("text")
}

fn all<'h>(html: &'h Html, selector: &str) -> Vec<ElementRef<'h>> {
    html.select(&Selector::parse(selector).expect("a selector"))
        .collect()
}

fn text(element: ElementRef) -> String {
    element.text().collect()
}

/// The numbers of the first column of the first table of a section.
fn first_column(html: &Html, section: &str) -> Vec<u64> {
    let cells = all(
        html,
        &format!("#{section} table:first-of-type > tbody > tr > td:first-child"),
    );
    let table = cells
        .first()
        .and_then(|cell| cell.ancestors().nth(2))
        .map(|it| it.id());
    let of_first = cells
        .iter()
        .filter(|cell| cell.ancestors().nth(2).map(|it| it.id()) == table);
    of_first
        .map(|cell| {
            cell.value()
                .attr("data-value")
                .expect("bytes")
                .parse()
                .expect("a number")
        })
        .collect()
}

/// A file of each dump among the fixtures.
fn dumps() -> Vec<String> {
    let root = root();
    let mut dumps = Vec::new();
    for folder in names(&root.join(FIXTURES)) {
        let folder = format!("{FIXTURES}/{folder}");
        let files = names(&root.join(&folder));
        let mut main: Vec<&String> = files
            .iter()
            .filter(|it| it.ends_with("-buffer-assignment.txt"))
            .collect();
        if main.is_empty() {
            main = files.iter().collect();
        }
        dumps.extend(main.into_iter().map(|file| format!("{folder}/{file}")));
    }
    dumps
}

#[test]
fn the_figures_are_those_of_the_command_line() {
    let mut compared = 0;
    for dump in dumps() {
        let path = dump.as_str();
        let peak = json(&["peak", path]);
        let Some(values) = peak["values"].as_array() else {
            continue;
        };
        if peak["step"].is_null() || values.is_empty() {
            continue;
        }
        let html = Html::parse_document(&report(&[path, "--limit", "1000000"]));
        let expected: Vec<u64> = values
            .iter()
            .map(|it| it["bytes"].as_u64().unwrap())
            .collect();
        assert_eq!(first_column(&html, "peak-0"), expected, "{path}");
        let spaces = json(&["summary", path]);
        let spaces = spaces["modules"][0]["spaces"].as_array().unwrap().clone();
        let occupied: Vec<u64> = spaces
            .iter()
            .map(|it| it["peak"]["occupied_bytes"].as_u64().unwrap())
            .collect();
        assert_eq!(first_column(&html, "spaces"), occupied, "{path}");
        let name = text(all(&html, "h1")[0]);
        assert_eq!(name, peak["module"].as_str().unwrap());
        let map = all(&html, "script#map-data");
        let map: Value = serde_json::from_str(&text(map[0])).expect("the map's data");
        assert_eq!(map["module"], peak["module"]);
        assert_eq!(map["values"], json(&["map", path])["values"], "{path}");
        compared += 1;
    }
    assert!(compared > 5, "{compared}");
}

#[test]
fn every_dump_has_a_sound_report() {
    for dump in dumps() {
        let path = dump.as_str();
        if run(&["peak", path]).status.code() != Some(0) {
            continue;
        }
        let text = report(&[path]);
        let html = Html::parse_document(&text);
        assert_eq!(all(&html, "h1").len(), 1, "{path}");
        assert!(!all(&html, ".verdicts li").is_empty(), "{path}");
        for section in [
            "spaces", "map", "peak-0", "padding", "audit", "findings", "glossary",
        ] {
            let found = all(&html, &format!("section#{section}")).len();
            assert!(found == 1 || section == "peak-0", "{path}: {section}");
        }
        // One kind of element may run: scripts without address, each of which the policy names.
        let policy = all(&html, "meta[http-equiv=Content-Security-Policy]")[0];
        let policy = policy.value().attr("content").expect("a policy");
        let scripts = all(&html, "script:not([type])");
        assert_eq!(policy.matches("'sha256-").count(), scripts.len(), "{path}");
        assert!(policy.starts_with("default-src 'none';"), "{policy}");
        for outside in [
            "[src]", "link", "iframe", "object", "embed", "form", "img", "base",
        ] {
            assert!(all(&html, outside).is_empty(), "{path}: {outside}");
        }
        for link in all(&html, "[href]") {
            assert!(
                link.value().attr("href").unwrap().starts_with('#'),
                "{path}"
            );
        }
    }
}

#[test]
fn rows_beyond_the_limit_are_counted() {
    let path = &format!("{FIXTURES}/tpu-many-parameters");
    let html = Html::parse_document(&report(&[path, "--limit", "3"]));
    assert_eq!(first_column(&html, "peak-0").len(), 3);
    let section = text(all(&html, "#peak-0")[0]);
    assert!(section.contains("more value"), "{section}");
}

#[test]
fn hostile_names_stay_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("f.txt");
    let name = "</script><img/src=x/onerror=alert(1)>\u{2028}&lt;\"'";
    let dump = format!(
        "BufferAssignment:\n\
         allocation 0: size 64, parameter 0, shape |f32[16]| at ShapeIndex {{}}:\n \
         value: <0 {name} @0> (size=64,offset=0): f32[16]{{0}}\n\n\
         Total bytes used: 64 (64B)\n\n\
         Used values:\n<0 {name} @0>\n positions:\n  {name}\n uses:\n \
         from instruction: %{name} = f32[16]{{0}} parameter(0), metadata={{op_name=\"{name}\"}}\n\n\n\
         HloLiveRange (max 1):\n  InstructionSequence:\n    0:{name}\n  BufferLiveRange:\n    \
         {name}{{}}:0-1\n  Live ranges at 0 (peak):\n    {name}: 64 bytes\n"
    );
    fs::write(&path, dump).expect("written");
    let document = report(&[path.to_str().expect("a path")]);
    let html = Html::parse_document(&document);
    for element in ["img", "[onerror]", "[src]"] {
        assert!(all(&html, element).is_empty(), "{element}\n{document}");
    }
    let policy = all(&html, "meta[http-equiv]")[0]
        .value()
        .attr("content")
        .unwrap();
    let scripts = all(&html, "script:not([type])").len();
    assert_eq!(policy.matches("'sha256-").count(), scripts);
    assert!(document.contains("&lt;/script&gt;"), "{document}");
    for data in all(&html, "script[type]") {
        serde_json::from_str::<Value>(&text(data)).expect("the data are whole");
    }
}

#[test]
fn the_same_dump_gives_the_same_bytes_wherever_it_lies() {
    let folder = tempfile::tempdir().expect("a folder");
    let from = root().join(FIXTURES).join("tpu-split");
    for entry in fs::read_dir(&from).expect("the fixture") {
        let entry = entry.expect("a file");
        fs::copy(entry.path(), folder.path().join(entry.file_name())).expect("copied");
    }
    let elsewhere = folder
        .path()
        .join(Path::new(TPU).file_name().expect("a name"));
    let first = report(&[TPU]);
    assert_eq!(first, report(&[TPU]));
    assert_eq!(first, report(&[elsewhere.to_str().expect("a path")]));
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("a file")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let dump = TPU;
    let path = folder.path().join("out.html");
    let out = path.to_str().expect("a path");
    let output = run(&["report", dump, "-o", out]);
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.is_empty() && output.stderr.is_empty());
    let written = fs::read_to_string(&path).expect("a report");
    assert_eq!(written, report(&[dump]));
    assert_eq!(names(folder.path()), ["out.html"]);

    let err = refused(&[dump, "-o", folder.path().to_str().expect("a path")]);
    assert!(err.contains("cannot be written"), "{err}");
    let missing = folder.path().join("no/out.html");
    let err = refused(&[dump, "-o", missing.to_str().expect("a path")]);
    assert!(
        err.contains("cannot be written") && err.contains("out.html"),
        "{err}"
    );
    assert!(!err.contains(".buflens-"), "{err}");
    assert_eq!(names(folder.path()), ["out.html"]);

    // Nothing takes the place of what it is about.
    let own = folder.path().join("f.txt");
    fs::copy(root().join(SMALLEST), &own).expect("copied");
    let before = fs::read(&own).expect("the dump");
    let err = refused(&[own.to_str().unwrap(), "-o", own.to_str().unwrap()]);
    assert!(err.contains("is not overwritten"), "{err}");
    for command in [
        "map",
        "export --format csv",
        "export --format json",
        "map --format svg",
    ] {
        let arguments: Vec<&str> = command.split(' ').collect();
        let link = folder.path().join("./f.txt");
        let files = [own.to_str().unwrap(), "-o", link.to_str().unwrap()];
        let output = run(&[&arguments[..], &files].concat());
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert!(err.contains("is not overwritten"), "{command}: {err}");
    }
    assert_eq!(fs::read(&own).expect("the dump"), before);
}

const SMALLEST: &str = "tests/fixtures/readme/planted-error.txt";

#[test]
fn arguments_that_make_no_sense_are_told() {
    let tpu = TPU;
    let err = refused(&[tpu]);
    assert!(err.contains("--output"), "{err}");
    let err = refused(&[tpu, "-o", "-", "--device", "v99"]);
    assert!(err.contains("'v99'") && err.contains("v5e"), "{err}");
    let err = refused(&[tpu, "-o", "-", "--device", "H100-80GB"]);
    assert!(
        err.contains("is a GPU") && err.contains("for a TPU"),
        "{err}"
    );
    let err = refused(&[tpu, "-o", "-", "--capacity", "HDD=1GiB"]);
    assert!(err.contains("HDD"), "{err}");
    let err = refused(&[FIXTURES, "-o", "-"]);
    assert!(err.contains("where one is wanted"), "{err}");
}

#[test]
fn a_capacity_goes_before_what_is_known_of_the_device() {
    let tpu = TPU;
    let spaces = |arguments: &[&str]| {
        let html = Html::parse_document(&report(arguments));
        text(all(&html, ".verdicts li")[0])
    };
    let device = spaces(&[tpu, "--device", "v5e"]);
    assert!(
        device.contains("of the 15.75 GiB of v5e are reserved"),
        "{device}"
    );
    let chosen = spaces(&[tpu, "--device", "v5e", "--capacity", "HBM=1KiB"]);
    assert!(chosen.contains(" more than the 1.0 KiB"), "{chosen}");
}
