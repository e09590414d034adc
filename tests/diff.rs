//! `buflens diff` over real dumps.

use std::fs;
use std::path::Path;

use crate::support::answers::{json_of, output, run};
use crate::support::client::Server;
use crate::support::dumps::{dumps_below, fixtures};
use crate::support::{command, generate, root};
use serde_json::{Value, json};

/// The same program by two versions of a compiler.
const VERSIONS: [[&str; 2]; 3] = [
    [
        "tests/fixtures/dumps/cpu-no-space/module_0008.jit_attention_grad.cpu_after_optimizations-buffer-assignment.txt",
        "tests/fixtures/dumps/cpu-split/module_0016.jit_attention_grad.cpu_after_optimizations-live-range.txt",
    ],
    [
        "tests/fixtures/dumps/cpu-run-on/module_0006.jit_mlp_sgd.cpu_after_optimizations-buffer-assignment.txt",
        "tests/fixtures/dumps/cpu-split/module_0012.jit_mlp_sgd.cpu_after_optimizations-buffer-assignment.txt",
    ],
    [
        "tests/fixtures/readme/module_0022.jit_mlp_fwd.cl_804429027.after_optimizations-buffer-assignment.txt",
        "tests/fixtures/dumps/before-and-after/module_0022.jit_mlp_fwd.cl_878335365.after_optimizations-buffer-assignment.txt",
    ],
];

fn number(value: &Value) -> i64 {
    value.as_i64().expect("a number")
}

fn length(value: &Value) -> i64 {
    i64::try_from(value.as_array().expect("a list").len()).expect("a number")
}

/// Names of values, to compare lists by.
fn ids(list: &Value) -> Vec<i64> {
    let list = list.as_array().expect("a list").iter();
    list.map(|value| number(&value["id"])).collect()
}

#[test]
fn a_dump_is_the_same_as_itself() {
    for dump in dumps_below(&fixtures()) {
        let file = dump.files[0].to_str().expect("a path");
        let result = output(
            &["diff", file, file, "--format", "json", "--exit-code"],
            "80",
        );
        if result.status.code() == Some(2) {
            // The text of a program alone.
            continue;
        }
        assert_eq!(result.status.code(), Some(0), "{}", dump.name());
        let diff: Value = serde_json::from_slice(&result.stdout).expect("JSON");
        assert_eq!(diff["nothing_changed"], true, "{}", dump.name());
        assert_eq!(diff["matched"], diff["before"]["values"], "{}", dump.name());
        assert_eq!(diff["shifted"], 0, "{}", dump.name());
    }
    let file = VERSIONS[0][0];
    let (text, _) = run(&["diff", file, file], 0);
    assert!(
        text.starts_with("jit_attention_grad: nothing changed\n"),
        "{text}"
    );
}

#[test]
fn every_value_is_in_both_or_told() {
    for [before, after] in VERSIONS {
        let diff = json_of(&["diff", before, after]);
        let alone = length(&diff["added"]) + length(&diff["removed"]);
        let values = number(&diff["before"]["values"]) + number(&diff["after"]["values"]);
        assert_eq!(2 * number(&diff["matched"]) + alone, values, "{before}");
        let by: i64 = diff["matched_by"]
            .as_object()
            .expect("counts")
            .values()
            .map(number)
            .sum();
        assert_eq!(by, number(&diff["matched"]));
        assert!(
            number(&diff["matched"]) * 4 > values,
            "most are recognised: {before}"
        );
        run(&["diff", before, after], 0);
        run(&["diff", before, after, "--exit-code"], 1);
    }
}

#[test]
fn going_back_is_the_mirror_image() {
    for [before, after] in VERSIONS {
        let there = json_of(&["diff", before, after]);
        let back = json_of(&["diff", after, before]);
        for (one, other) in [("added", "removed"), ("peak_entered", "peak_left")] {
            assert_eq!(ids(&there[one]), ids(&back[other]), "{before}");
            assert_eq!(ids(&there[other]), ids(&back[one]), "{before}");
        }
        assert_eq!(there["matched_by"], back["matched_by"]);
        assert_eq!(there["shifted"], back["shifted"]);
        let delta = |diff: &Value| number(&diff["totals"]["total_bytes"]["delta"]);
        assert_eq!(delta(&there), -delta(&back));
        let changed = |diff: &Value, side: &str| {
            let list = diff["changed"].as_array().expect("a list").iter();
            let mut ids: Vec<i64> = list.map(|it| number(&it[side]["id"])).collect();
            ids.sort_unstable();
            ids
        };
        assert_eq!(changed(&there, "before"), changed(&back, "after"));
        assert_eq!(
            length(&there["copies_added"]),
            length(&back["copies_removed"])
        );
    }
}

#[test]
fn totals_are_those_of_summary() {
    for [before, after] in VERSIONS {
        let diff = json_of(&["diff", before, after]);
        let modules = [before, after].map(|file| json_of(&["summary", file])["modules"][0].clone());
        assert_eq!(
            [&diff["before"], &diff["after"]],
            [&modules[0], &modules[1]]
        );
        for key in ["total_bytes", "allocations", "values", "steps"] {
            let [old, new] = [0, 1].map(|side: usize| number(&modules[side][key]));
            assert_eq!(
                diff["totals"][key],
                json!({ "before": old, "after": new, "delta": new - old })
            );
        }
        for space in diff["spaces"].as_array().expect("a list") {
            let of = |side: usize| {
                let spaces = modules[side]["spaces"].as_array().expect("a list").iter();
                spaces.clone().find(|it| it["color"] == space["color"])
            };
            for key in ["reserved_bytes", "thread_local_bytes", "padding_bytes"] {
                let [old, new] = [0, 1].map(|side| of(side).map_or(0, |space| number(&space[key])));
                assert_eq!(number(&space[key]["delta"]), new - old, "{key}");
            }
            // What is there at a peak stayed, or entered or left.
            for (side, alone, members) in [(0, "before", "peak_left"), (1, "after", "peak_entered")]
            {
                let Some(occupied) = of(side).map(|space| number(&space["peak"]["occupied_bytes"]))
                else {
                    continue;
                };
                let members = diff[members].as_array().expect("a list").iter();
                let members = members.filter(|it| it["space"] == space["color"]);
                let own: i64 = members.map(|it| number(&it["own_bytes"])).sum();
                let stayed = number(&space["stayed_bytes"][alone]);
                let replaced = number(&space["replaced_bytes"]);
                assert_eq!(own + stayed + replaced, occupied);
                let kinds = space["kinds"].as_array().expect("a list").iter();
                let kinds: i64 = kinds
                    .map(|kind| number(&kind["occupied_bytes"][alone]))
                    .sum();
                assert_eq!(kinds, occupied);
            }
        }
    }
}

fn text_of(path: &str) -> String {
    fs::read_to_string(root().join(path)).expect("a dump")
}

#[test]
fn what_is_missing_is_not_gone() {
    let [before, after] = VERSIONS[0];
    let text = text_of(before);
    let folder = tempfile::tempdir().expect("a folder");
    let cut = folder.path().join("cut-buffer-assignment.txt");
    // In the middle of the allocations.
    let lines: Vec<&str> = text.lines().take(12).collect();
    fs::write(&cut, lines.join("\n")).expect("a file");
    let cut = cut.to_str().expect("a path");
    let of_cut = |arguments: &[&str]| -> Value {
        let (out, err) = run(&[arguments, &["--format", "json"]].concat(), 0);
        assert!(err.contains("the file ends"), "{err}");
        serde_json::from_str(&out).expect("JSON")
    };
    let diff = json_of(&["diff", after, cut]);
    assert_eq!(
        (&diff["removed"], &diff["totals"]["total_bytes"]["delta"]),
        (&json!([]), &Value::Null)
    );
    assert!(number(&diff["not_known"]["before"]) > 0);
    assert!(
        diff["notes"]
            .to_string()
            .contains("the allocations may not all be there"),
        "{}",
        diff["notes"]
    );
    let (text, _) = run(&["diff", after, cut], 0);
    assert!(!text.contains("Values that are gone"), "{text}");
    let text = text.replace('\n', " ");
    assert!(text.contains("it cannot be known"), "{text}");
    // In the middle of the used values, and of the live ranges.
    for (section, note) in [
        ("Used values:", "instructions are missing"),
        ("BufferLiveRange:", "lack a live range"),
    ] {
        let at = text_of(before).find(section).expect("the section") + 300;
        fs::write(cut, &text_of(before)[..at]).expect("a file");
        let diff = of_cut(&["diff", before, cut]);
        for list in [
            "added",
            "removed",
            "peak_left",
            "donation",
            "copies_removed",
        ] {
            assert_eq!(diff[list], json!([]), "{section} {list}");
        }
        assert!(
            diff["notes"].to_string().contains(note),
            "{}",
            diff["notes"]
        );
    }
    run(&["diff", after, "no such file"], 2);
}

#[test]
fn programs_that_are_not_the_same_are_told_first() {
    let [cpu, tpu] = [VERSIONS[0][1], VERSIONS[2][0]];
    let (text, _) = run(&["diff", cpu, tpu], 0);
    let text = text.replace('\n', " ");
    assert!(
        text.contains("of a CPU program, the second of a TPU program: sizes are not comparable"),
        "{text}"
    );
    assert!(
        text.contains("are called jit_attention_grad and jit_mlp_fwd"),
        "{text}"
    );
    assert!(text.contains("may be different programs"), "{text}");
}

#[test]
fn folders_are_compared_program_by_program() {
    let [old, new] =
        ["cpu-no-space", "cpu-split"].map(|name| format!("tests/fixtures/dumps/{name}"));
    let diffs = json_of(&["diff", &old, &new]);
    assert_eq!(
        (length(&diffs["pairs"]), &diffs["pairs"][0]["module"]),
        (1, &json!("jit_attention_grad"))
    );
    assert_eq!(
        (length(&diffs["only_before"]), length(&diffs["only_after"])),
        (3, 4)
    );
    let (text, _) = run(&["diff", &old, &new], 0);
    assert!(
        text.starts_with("1 dump in both, 1 of them changed"),
        "{text}"
    );
    let (text, _) = run(&["diff", &old, &old, "--exit-code"], 0);
    assert!(text.starts_with("4 dumps: nothing changed"), "{text}");
    let (text, _) = run(&["diff", &old, "tests/fixtures/dumps/tpu-split"], 0);
    assert!(
        text.starts_with("0 dumps in both") && text.contains("recognised by their name"),
        "{text}"
    );
    let empty = tempfile::tempdir().expect("a folder");
    run(&["diff", &old, empty.path().to_str().expect("a path")], 2);
}

#[test]
fn changed_pairs_of_folders_come_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let sides = ["before", "after"].map(|side| folder.path().join(side));
    // In the second alone of three programs a value is gone, which moves no total.
    let text = |is_changed: bool| {
        let gone = " value: <2 b @0> (size=64,offset=0): f32[16]{0}\n";
        let gone = if is_changed { "" } else { gone };
        format!(
            "BufferAssignment:\nallocation 0: size 64, preallocated-temp:\n \
             value: <1 a @0> (size=64,offset=0): f32[16]{{0}}\n{gone}\nTotal bytes used: 64 (64B)\n"
        )
    };
    for (side, path) in sides.iter().enumerate() {
        fs::create_dir(path).expect("a folder");
        for number in 1..=3 {
            let name = format!(
                "module_000{number}.jit_p{number}.cpu_after_optimizations-buffer-assignment.txt"
            );
            fs::write(path.join(name), text(side == 1 && number == 2)).expect("a file");
        }
    }
    let [before, after] = sides.map(|side| side.display().to_string());
    let (text, _) = run(&["diff", &before, &after, "--limit", "1"], 0);
    let table = text.find("jit_p2").expect("the changed one");
    assert!(text[table..].contains("... and 2 more."), "{text}");
    assert!(
        !text.contains("jit_p1") && !text.contains("jit_p3"),
        "{text}"
    );
    let (csv, _) = run(&["diff", &before, &after, "--format", "csv"], 0);
    let rows: Vec<&str> = csv.lines().collect();
    let stem = |side: &str| format!("{side}/module_0002.jit_p2.cpu_after_optimizations");
    let files = format!("jit_p2,{},{},gone,", stem(&before), stem(&after));
    assert!(rows.len() == 2 && rows[1].starts_with(&files), "{csv}");
}

#[test]
fn another_donation_is_told_before_the_numbers() {
    let whole = "tests/fixtures/readme/module_0022.jit_mlp_fwd.cl_804429027.after_optimizations-buffer-assignment.txt";
    let text = text_of(whole);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x-buffer-assignment.txt");
    let header = text
        .lines()
        .find(|line| line.contains(", parameter ") && line.ends_with("ShapeIndex {}:"))
        .expect("a parameter");
    let donated = header.replace("{}:", "{}, maybe-live-out:");
    fs::write(&path, text.replace(header, &donated)).expect("a file");
    let path = path.to_str().expect("a path");
    let diff = json_of(&["diff", whole, path]);
    assert_eq!(length(&diff["donation"]), 1, "{diff}");
    assert_eq!(diff["donation"][0]["after"]["verdict"], "donated");
    let (out, _) = run(&["diff", whole, path], 0);
    let place = |words: &str| out.find(words).expect(words);
    assert!(
        place("1 parameter with another donation") < place("total bytes"),
        "{out}"
    );
}

#[test]
fn an_unknown_time_is_not_another_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let dump =
        "tests/fixtures/dumps/tpu-split/module_0055.jit_attention.cl_933746096.after_optimizations";
    let mut without = None;
    for part in ["-buffer-assignment.txt", "-buffer-assignment-values.txt"] {
        let from = Path::new(&format!("{dump}{part}")).to_owned();
        let to = folder.path().join(from.file_name().expect("a name"));
        fs::copy(root().join(&from), &to).expect("copied");
        without.get_or_insert(to);
    }
    let without = without.expect("a file").display().to_string();
    let with = root()
        .join(format!("{dump}-buffer-assignment.txt"))
        .display()
        .to_string();
    let (out, _) = run(&["diff", &with, &without, "--format", "json"], 0);
    let diff: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(
        (number(&diff["shifted"]), number(&diff["matched"]) > 0),
        (0, true),
        "{diff}"
    );
}

#[test]
fn what_only_calls_itself_a_dump_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let sides = ["before", "after"].map(|side| folder.path().join(side));
    for side in &sides {
        fs::create_dir(side).expect("a folder");
        let name = "module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt";
        let dump = root().join("tests/fixtures/readme/planted-error.txt");
        fs::copy(dump, side.join(name)).expect("copied");
    }
    let broken = sides[0].join("module_0002.jit_g.cpu_after_optimizations-buffer-assignment.txt");
    fs::write(&broken, "\u{1}\u{2} no dump").expect("written");
    let [before, after] = sides.map(|side| side.display().to_string());
    let (_, err) = run(&["diff", &before, &after], 2);
    assert!(
        err.contains("module_0002") && err.contains("does not begin as a dump"),
        "{err}"
    );
    for command in ["summary", "ls"] {
        let (out, err) = run(&[command, &before], 2);
        assert!(err.contains("module_0002") && !out.is_empty(), "{out}{err}");
    }
}

#[test]
fn names_cannot_do_harm() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, value: &str| {
        let path = folder.path().join(name);
        let text = format!(
            "BufferAssignment:\nallocation 0: size 4, preallocated-temp:\n value: <0 {value} @0> (size=4,offset=0): f32[1]{{0}}\n\nTotal bytes used: 4 (4B)\n"
        );
        fs::write(&path, text).expect("a file");
        path.to_str().expect("a path").to_owned()
    };
    let before = write("a.txt", "plain.1");
    let after = write("b.txt", "<script>|`\u{1b}[31m");
    for format in ["text", "markdown", "html", "csv", "json"] {
        let (text, _) = run(&["diff", &before, &after, "--format", format], 0);
        assert!(!text.contains('\u{1b}'), "{format}: {text}");
        assert!(format != "html" || !text.contains("<script>|"), "{text}");
    }
}

#[test]
fn every_format_fits() {
    let [before, after] = VERSIONS[1];
    let (text, _) = run(&["diff", before, after], 0);
    let long: Vec<&str> = text
        .lines()
        .filter(|line| line.chars().count() > 80)
        .collect();
    assert_eq!(long, [""; 0]);
    let (csv, _) = run(&["diff", before, after, "--format", "csv"], 0);
    let diff = json_of(&["diff", before, after]);
    let rows = length(&diff["added"]) + length(&diff["removed"]) + length(&diff["changed"]);
    assert_eq!(i64::try_from(csv.lines().count()), Ok(rows + 1));
    let (html, _) = run(&["diff", before, after, "--format", "html"], 0);
    assert!(html.starts_with("<!DOCTYPE html>"), "{html}");
    let limited = json_of(&["diff", before, after, "--limit", "1"]);
    assert_eq!(length(&limited["added"]), 1);
    assert_eq!(
        number(&limited["added_left_out"]),
        length(&diff["added"]) - 1
    );
}

#[test]
fn the_server_compares_with_another_dump() {
    let [before, after] =
        VERSIONS[0].map(|file| root().canonicalize().expect("a folder").join(file));
    let mut server = Server::start();
    let uri = server.open_file(&after);
    let other = format!("file://{}", before.display());
    let mut ask = |argument: Value| {
        let params = json!({ "command": "buflens.diff", "arguments": [argument] });
        server.request("workspace/executeCommand", &params)
    };
    let diff = ask(json!({ "uri": uri, "other": other })).expect("an answer");
    let told = json_of(&["diff", VERSIONS[0][0], VERSIONS[0][1]]);
    for key in ["matched_by", "totals", "spaces", "shifted", "notes"] {
        assert_eq!(diff[key], told[key], "{key}");
    }
    assert_eq!(ids(&diff["added"]), ids(&told["added"]));
    assert_eq!(diff["removed"][0]["location"]["uri"], other);
    let markdown = diff["markdown"].as_str().expect("text");
    assert!(markdown.starts_with("**jit_attention_grad: "), "{markdown}");
    // For editors that show no Markdown, as the command line prints it.
    let plain = ask(json!({ "uri": uri, "other": other, "width": 80 })).expect("an answer");
    let (printed, _) = run(&["diff", VERSIONS[0][0], VERSIONS[0][1]], 0);
    assert_eq!(plain["text"], printed);
    assert_eq!(plain["markdown"], Value::Null);
    let same = ask(json!({ "uri": uri, "other": uri })).expect("an answer");
    assert_eq!(same["nothing_changed"], true);
    let nowhere =
        ask(json!({ "uri": uri, "other": "file:///nowhere.txt" })).expect_err("no such file");
    assert!(
        nowhere["message"]
            .as_str()
            .expect("a message")
            .contains("/nowhere.txt cannot be compared: there is no such file")
    );
    assert!(Path::new(&before).exists());
}

/// A program that donates its parameter, and the same without.
const DONATED: &str = r#"BufferAssignment:
allocation 0: size 64, parameter 0, shape |f32[16]| at ShapeIndex {}, output shape is |f32[16]|, maybe-live-out:
 value: <1 params__encoder____layer_0____attention____query____kernel__.1 @0> (size=64,offset=0): f32[16]{0}
 value: <2 a.1 @0> (size=64,offset=0): f32[16]{0}

Total bytes used: 64 (64B)

Used values:
<1 params__encoder____layer_0____attention____query____kernel__.1 @0>
 positions:
  params__encoder____layer_0____attention____query____kernel__.1
 uses:
  a.1, operand 0
 from instruction: %params__encoder____layer_0____attention____query____kernel__.1 = f32[16]{0} parameter(0), metadata={op_name="params[\'encoder\'][\'layer_0\'][\'attention\'][\'query\'][\'kernel\']"}
<2 a.1 @0>
 positions:
  a.1
 uses:
 from instruction: %a.1 = f32[16]{0} sine(%params__encoder____layer_0____attention____query____kernel__.1)

HloLiveRange (max 2):
  InstructionSequence:
    0:params__encoder____layer_0____attention____query____kernel__.1
    1:a.1
  BufferLiveRange:
    params__encoder____layer_0____attention____query____kernel__.1{}:0-1
    a.1{}:1-2
  Live ranges at 1 (peak):
    a.1: 64 bytes
    params__encoder____layer_0____attention____query____kernel__.1: 64 bytes
"#;

#[test]
fn arguments_with_another_donation_are_told_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = DONATED
        .replace(", output shape is |f32[16]|, maybe-live-out:", ":")
        .replace(
            " value: <2",
            "allocation 1: size 64, output shape is |f32[16]|, maybe-live-out:\n value: <2",
        )
        .replace("64 (64B)", "128 (128B)");
    let paths = [("before.txt", DONATED), ("after.txt", &kept)].map(|(name, text)| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("a file");
        path.to_str().expect("a path").to_owned()
    });
    let result = output(&["diff", &paths[0], &paths[1]], "80");
    let text = String::from_utf8(result.stdout).expect("UTF-8");
    let whole = "      params['encoder']['layer_0']['attention']['query']['kernel']\n";
    assert!(text.contains(whole), "{text}");
}

/// What is told of a text that is read again must be of the text that was read.
#[cfg(unix)]
#[test]
fn a_file_that_changes_before_all_is_told_of_it_is_named() {
    use std::ffi::OsStr;
    use std::io::Write as _;
    use std::time::Duration;

    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (before, after) = (at("a-buffer-assignment.txt"), at("b-buffer-assignment.txt"));
    // So large that it is not held.
    let text = generate::dense(5_000_000);
    fs::write(&before, &text).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&after).status();
    assert!(made.is_ok_and(|status| status.success()));
    let compared = |is_changed: bool| {
        std::thread::scope(|scope| {
            let diff = [OsStr::new("diff"), before.as_os_str(), after.as_os_str()];
            let diff = scope.spawn(move || command::run(diff, Duration::from_secs(60)));
            // Opens when the other side does, which has read the first dump by then.
            let mut pipe = fs::File::options().write(true).open(&after).unwrap();
            if is_changed {
                fs::write(&before, text.replace("f32[", "f16[")).unwrap();
            }
            pipe.write_all(text.as_bytes()).unwrap();
            drop(pipe);
            diff.join().unwrap()
        })
    };
    let same = compared(false);
    assert_eq!((same.code, same.stderr.as_str()), (Some(0), ""));
    let changed = compared(true);
    assert_eq!(changed.code, Some(2), "{}", changed.stdout);
    let told = "a-buffer-assignment.txt changed while it was read";
    assert!(changed.stderr.contains(told), "{}", changed.stderr);
}
