//! The command line, run as a process.

use std::fs;
use std::io::Read;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::support::root;

pub const PLANTED: &str = "tests/fixtures/readme/planted-error.txt";
const BROKEN: &str =
    "tests/fixtures/broken/module_0001.unknown-line.cpu_after_optimizations-buffer-assignment.txt";
const SMALLEST: &str = "tests/fixtures/dumps/smallest/module_0001.smallest.cpu_after_optimizations-buffer-assignment.txt";
pub const STEM: &str = "module_0022.jit_mlp_fwd.cl_804429027.after_optimizations";

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_buflens"));
    command
        .args(arguments)
        .current_dir(root())
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE");
    command.stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the program runs")
}

#[track_caller]
pub fn check(arguments: &[&str], code: i32) -> (String, String) {
    let output = run(arguments);
    let (out, err) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    );
    assert_eq!(
        output.status.code(),
        Some(code),
        "{arguments:?}\n{out}\n{err}"
    );
    (out, err)
}

#[track_caller]
pub fn findings(arguments: &[&str], code: i32) -> Vec<Value> {
    let mut all = vec!["check", "--format", "json"];
    all.extend(arguments);
    let (out, _) = check(&all, code);
    let json: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(json["schema"], 1);
    json["findings"].as_array().expect("a list").clone()
}

pub fn sound() -> String {
    format!("tests/fixtures/readme/{STEM}-buffer-assignment.txt")
}

/// A number that is not read would else be missing in silence.
#[test]
fn lines_that_are_not_understood_are_told_with_every_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("f-buffer-assignment.txt");
    let text = fs::read_to_string(root().join(sound())).expect("a dump");
    let damaged = text.replacen("(size=", "(size=x", 1);
    assert_ne!(text, damaged);
    fs::write(&path, damaged).expect("a file");
    let path = path.to_str().expect("a path");
    for command in ["summary", "peak", "padding", "audit", "map", "export"] {
        let (out, err) = check(&[command, path, "--format", "json"], 0);
        let told = "a line is not understood, so that a number may be missing or wrong";
        assert!(!out.is_empty() && err.contains(told), "{command}: {err}");
        let (_, err) = check(&[command, &sound(), "--format", "json"], 0);
        assert_eq!(err, "", "{command}");
    }
}

/// A cut is told even where no total tells that bytes are missing.
#[test]
fn a_file_that_is_broken_off_is_told_with_every_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("f-buffer-assignment.txt");
    let text = fs::read_to_string(root().join(sound())).expect("a dump");
    let end = text.find("\nTotal bytes used").expect("a total") - 5;
    fs::write(&path, &text[..end]).expect("a file");
    let path = path.to_str().expect("a path");
    for command in ["summary", "peak", "padding", "audit", "map", "export", "ls"] {
        let (out, err) = check(&[command, path, "--format", "json"], 0);
        let told = "the file ends in the middle of a line: ";
        assert!(!out.is_empty() && err.contains(told), "{command}: {err}");
    }
}

#[test]
fn a_second_dump_in_a_file_is_told_with_every_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("f.txt");
    let text = fs::read_to_string(root().join(sound())).expect("a dump");
    let line = text.lines().count() + 1;
    fs::write(&path, text.repeat(2)).expect("a file");
    let path = path.to_str().expect("a path");
    for command in ["summary", "peak", "padding", "audit", "map", "export", "ls"] {
        let (out, err) = check(&[command, path, "--format", "json"], 0);
        let told = format!("{path}: another dump begins in line {line}, ");
        assert!(!out.is_empty() && err.contains(&told), "{command}: {err}");
    }
}

/// Text of a dump that is sound and one that is not.
pub fn texts() -> (String, String) {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    (read(&sound()), read(PLANTED))
}

#[test]
fn a_sound_dump_has_no_findings() {
    assert_eq!(check(&["check", &sound()], 0).0, "no findings in 1 dump\n");
    assert_eq!(findings(&[&sound()], 0), Vec::<Value>::new());
}

#[test]
fn a_finding_is_shown_with_its_line() {
    let (out, err) = check(&["check", PLANTED], 1);
    assert!(out.starts_with("error[bytes-overlap]: "), "{out}");
    assert!(
        out.contains("--> tests/fixtures/readme/planted-error.txt:22:50\n"),
        "{out}"
    );
    assert!(
        out.contains("\n 22 |  value: <52 copy-start.2{0} @1> (size=512,offset=1617920)"),
        "{out}"
    );
    assert!(out.ends_with("\n1 error in 1 dump\n"), "{out}");
    assert_eq!(err, "");
    assert!(!out.contains('\u{1b}'), "colours in a pipe");
}

/// What follows would else look like a line of the program's own.
#[cfg(unix)]
#[test]
fn a_path_is_shown_on_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a\nb\tc.txt");
    fs::write(&path, texts().1).expect("a file");
    let (out, _) = check(&["check", path.to_str().expect("a path")], 1);
    assert!(out.contains("/a\u{FFFD}b\u{FFFD}c.txt:22:50\n"), "{out}");
}

#[test]
fn json_has_all_that_was_promised() {
    let findings = findings(&[PLANTED], 1);
    assert_eq!(findings.len(), 1);
    let keys: Vec<&str> = findings[0]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let mut promised = [
        "file",
        "line",
        "column",
        "end_line",
        "end_column",
        "code",
        "severity",
        "message",
        "related",
    ];
    promised.sort_unstable();
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, promised);
    assert_eq!(findings[0]["file"], PLANTED);
    let numbers =
        ["line", "column", "end_line", "end_column"].map(|key| findings[0][key].as_u64().unwrap());
    assert_eq!(numbers, [22, 50, 22, 57]);
    assert_eq!(findings[0]["code"], "bytes-overlap");
    assert_eq!(findings[0]["severity"], "error");
    let related = findings[0]["related"].as_array().unwrap();
    assert!(
        related
            .iter()
            .any(|place| place["line"] == 21 && place["message"].is_string()),
        "{related:?}"
    );
}

#[test]
fn severities_and_what_is_denied_decide_the_exit_code() {
    check(&["check", PLANTED, "--deny", "error"], 1);
    check(&["check", PLANTED, "--deny", "never"], 0);
    let hint = "bytes-overlap=hint";
    let (out, _) = check(&["check", PLANTED, "--severity", hint], 0);
    assert!(
        out.starts_with("hint[bytes-overlap]") && out.ends_with("1 hint in 1 dump\n"),
        "{out}"
    );
    check(&["check", PLANTED, "--severity", hint, "--deny", "hint"], 1);
    check(
        &[
            "check",
            PLANTED,
            "--severity",
            hint,
            "--deny",
            "information",
        ],
        0,
    );
    let (out, _) = check(
        &[
            "check",
            PLANTED,
            "--severity",
            "bytes-overlap=off",
            "--deny",
            "hint",
        ],
        0,
    );
    assert_eq!(out, "no findings in 1 dump\n");
    for (code, instead) in [
        ("bites-overlap", "is it `bytes-overlap`?"),
        ("no-such-code", "there are syntax, "),
    ] {
        let (_, err) = check(&["check", PLANTED, "--severity", &format!("{code}=off")], 2);
        let told = format!("no code `{code}`; {instead}");
        assert!(err.contains(&told), "{err}");
    }
}

#[test]
fn what_is_not_shown_is_counted_all_the_same() {
    let hint = ["--severity", "bytes-overlap=hint", "--deny", "hint"];
    let shown = |level| {
        check(
            &[&["check", PLANTED][..], &hint, &["--show", level]].concat(),
            1,
        )
    };
    let (out, _) = shown("information");
    assert_eq!(out, "1 hint in 1 dump\n");
    let (out, _) = shown("hint");
    assert!(out.starts_with("hint[bytes-overlap]"), "{out}");
    let (_, err) = check(&["check", PLANTED, "--show", "never"], 2);
    assert!(
        err.contains("[possible values: error, warning, information, hint]"),
        "{err}"
    );
}

#[test]
fn a_dump_that_is_piped_in_is_read() {
    let ask = |arguments: &[&str]| {
        let dump = fs::File::open(root().join(PLANTED)).expect("a dump");
        let result = command(arguments).stdin(dump).output();
        let result = result.expect("the program runs");
        (
            result.status.code(),
            String::from_utf8(result.stdout).expect("UTF-8"),
            String::from_utf8(result.stderr).expect("UTF-8"),
        )
    };
    let (code, out, err) = ask(&["check", "-", "--format", "json"]);
    assert_eq!((code, &*err), (Some(1), ""));
    let told: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(
        (&told["findings"][0]["code"], &told["findings"][0]["file"]),
        (&"bytes-overlap".into(), &"-".into()),
        "{told}"
    );
    // Nothing but the file's name tells what the program is called.
    let (named, _) = check(&["peak", PLANTED], 0);
    let named = named.replacen("planted-error", "-", 1);
    assert_eq!(ask(&["peak", "-"]), (Some(0), named, String::new()));
    let (named, _) = check(&["summary", PLANTED, "--format", "csv"], 0);
    let (code, out, err) = ask(&["summary", "-", "--format", "csv"]);
    let count = named.lines().count();
    assert_eq!((code, &*err, out.lines().count()), (Some(0), "", count));
    let (code, out, _) = ask(&["diff", PLANTED, "-"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("nothing changed"), "{out}");
}

#[test]
fn a_dump_under_any_name_counts_where_one_is_wanted() {
    for command in [
        &["peak"][..],
        &["padding"],
        &["audit"],
        &["map"],
        &["export", "--format", "json"],
        &["report", "-o", "-"],
    ] {
        for paths in [["-", &sound()], [&sound(), "-"], [PLANTED, &sound()]] {
            let (out, err) = check(&[command, &paths].concat(), 2);
            let told = "there are 2 dumps where one is wanted";
            assert!(out.is_empty() && err.contains(told), "{paths:?}: {err}");
        }
    }
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_done() {
    let (out, err) = check(&["check", "no/such.txt", PLANTED], 2);
    assert!(
        err.contains("no/such.txt: ") && err.contains("No such file"),
        "{err}"
    );
    assert!(out.ends_with("1 error in 1 dump\n"), "{out}");
    for arguments in [
        ["hover", "no/such.txt:1:1"],
        ["definition", "no/such.txt:1:1"],
        ["parse", "no/such.txt"],
    ] {
        let (out, err) = check(&arguments, 2);
        assert!(out.is_empty() && err.contains("no/such.txt: "), "{err}");
    }
    check(&["check"], 2);
    check(&["check", PLANTED, "--format", "xml"], 2);
}

#[test]
fn what_is_reserved_is_compared_with_the_device() {
    let with = |capacity: &str, code| {
        let capacity = ["--capacity", capacity, "--severity", "capacity=error"];
        findings(&[&[sound().as_str()], &capacity[..]].concat(), code)
    };
    assert!(with("HBM=1GiB", 0).is_empty());
    let found = with("hbm=1MiB", 1);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["code"], "capacity");
    // A device is for programs of its platform; what is said of its memory goes before what is known.
    let with = |arguments: &[&str], code| {
        let found = findings(&[&[sound().as_str()], arguments].concat(), code);
        found
            .into_iter()
            .filter(|it| it["code"] == "capacity")
            .count()
    };
    assert_eq!(with(&["--device", "v5e"], 0), 0);
    let small = ["--capacity", "hbm=1MiB"];
    assert_eq!(with(&[&["--device", "v5e"], &small[..]].concat(), 1), 1);
    let folder = tempfile::tempdir().unwrap();
    for platform in ["cl_1", "gpu", "cpu"] {
        let name = match platform {
            "cl_1" => "module_0001.m.cl_1.after_optimizations-buffer-assignment.txt".to_owned(),
            other => format!("module_0001.m.{other}_after_optimizations-buffer-assignment.txt"),
        };
        let text = "BufferAssignment:\nallocation 0: size 18253611008, output shape is |f32[4563402752]|, maybe-live-out:\n value: <0 x.1 @0> (size=18253611008,offset=0): f32[4563402752]{0}\n\nTotal bytes used: 18253611008 (17.00GiB)\n\nUsed values:\n<0 x.1 @0>\n positions:\n  x.1\n uses:\n from instruction: %x.1 = f32[4563402752]{0} iota(), iota_dimension=0\n\n\nHloLiveRange (max 1):\n  InstructionSequence:\n    0:x.1\n  BufferLiveRange:\n    x.1{}:0-1\n  Live ranges at 0 (peak):\n    x.1{}: 18253611008 bytes\n";
        fs::write(folder.path().join(name), text).unwrap();
    }
    let above = |device: &str| {
        let folder = folder.path().to_str().unwrap();
        let found = findings(&[folder, "--device", device], 1);
        let found = found.into_iter().filter(|it| it["code"] == "capacity");
        let file = |it: Value| it["file"].as_str().unwrap().to_owned();
        let files = found.map(file).collect::<Vec<_>>();
        assert_eq!(files.len(), 1, "{files:?}");
        files.concat()
    };
    assert!(above("v5e").contains(".cl_1."));
    assert!(above("T4").contains(".gpu_"));
    let (_, err) = check(&["check", &sound(), "--device", "v55"], 2);
    assert!(err.contains("'v55'") && err.contains("v5e"), "{err}");
    // No CPU has such a memory space.
    let path = "tests/fixtures/dumps/cpu-split/module_0012.jit_mlp_sgd.cpu_after_optimizations-buffer-assignment.txt";
    let cpu = ["check", path, "--capacity", "hbm=1"];
    let (_, err) = check(&cpu, 2);
    assert!(err.contains("memory space `hbm`, so its capacity"), "{err}");
    let (_, err) = check(&["check", path, "--device", "v5e"], 2);
    assert!(err.contains("for a TPU, so the capacity of v5e"), "{err}");
    let (_, err) = check(&["check", &sound(), "--capacity", "HBM=much"], 2);
    assert!(err.contains("expected a number of bytes"), "{err}");
}

#[test]
fn a_place_is_explained() {
    let (out, err) = check(&["hover", &format!("{PLANTED}:21:12")], 0);
    assert!(out.contains("16,384") && out.ends_with('\n'), "{out}");
    assert_eq!(err, "");
}

#[test]
fn arguments_of_equal_keys_are_told_apart_in_the_breakdown() {
    let name = "module_0125.jit_train_tiny.cl_933746096.after_optimizations-live-range.txt";
    let path = format!("tests/fixtures/dumps/tuple-heavy/{name}");
    for (line, value) in [(751, "m__emb__"), (759, "v__emb__")] {
        let (out, _) = check(&["definition", &format!("{path}:{line}:17")], 0);
        assert!(out.contains(value), "{line}: {out}");
    }
}

#[test]
fn a_definition_is_a_place_with_its_line() {
    let (out, _) = check(&["definition", &format!("{PLANTED}:21:12")], 0);
    assert_eq!(out, format!("{PLANTED}:107:5: <48 copy-start.1{{0}} @1>\n"));
}

#[test]
fn a_path_can_hold_colons_and_blanks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a b:3:4.txt");
    fs::write(&path, texts().1).unwrap();
    let path = path.to_str().unwrap();
    let (out, _) = check(&["definition", &format!("{path}:21:12")], 0);
    assert_eq!(out, format!("{path}:107:5: <48 copy-start.1{{0}} @1>\n"));
}

#[test]
fn where_there_is_nothing_it_is_said() {
    for (position, expected) in [
        ("1:400", "line 1 has 17 characters"),
        ("9999:1", "there is no line 9999"),
        ("24:1", "no definition here"),
    ] {
        let (out, err) = check(&["definition", &format!("{PLANTED}:{position}")], 1);
        assert!(
            out.is_empty() && err.contains(expected),
            "{position}: {out}{err}"
        );
    }
    for position in ["", ":1", ":0:1", ":1:0", ":1:x"] {
        let (_, err) = check(&["hover", &format!("{PLANTED}{position}")], 2);
        assert!(err.contains("FILE:LINE:COL"), "{err}");
    }
}

#[test]
fn a_closed_pipe_is_no_reason_to_panic() {
    for (arguments, code, is_read) in [
        (&["parse", PLANTED][..], 0, true),
        (&["hover", "--help"], 0, true),
        // What it has found it says all the same.
        (&["check", "--format", "json", PLANTED], 1, true),
        (&["parse", "--errors", BROKEN], 1, false),
        (&["diff", "--exit-code", PLANTED, SMALLEST], 1, false),
        (&["where", "none.py", PLANTED], 1, false),
    ] {
        let mut child = command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = child.stdout.take().unwrap();
        if is_read {
            out.read_exact(&mut [0; 16]).unwrap();
        }
        drop(out);
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
    }
}

#[test]
fn the_version_is_told() {
    assert_eq!(
        check(&["--version"], 0).0,
        format!("buflens {}\n", env!("CARGO_PKG_VERSION"))
    );
}

/// Runs the program on a terminal of its own, where the machine has the means.
#[cfg(target_os = "linux")]
fn on_a_terminal(arguments: &str, colour: &str) -> Option<Output> {
    let line = format!("{colour} {} {arguments}", env!("CARGO_BIN_EXE_buflens"));
    let mut script = Command::new("script");
    script
        .args(["-qec", &line, "/dev/null"])
        .current_dir(root())
        .env_remove("NO_COLOR")
        .env("TERM", "xterm");
    script.stdin(Stdio::null()).output().ok()
}

#[cfg(target_os = "linux")]
#[test]
fn the_server_explains_itself_on_a_terminal() {
    let Some(output) = on_a_terminal("lsp", "") else {
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("language server") && text.contains("editor"),
        "{text}"
    );
    assert_eq!(output.status.code(), Some(2));
}

#[cfg(target_os = "linux")]
#[test]
fn colours_are_for_terminals_that_want_them() {
    let Some(coloured) = on_a_terminal(&format!("check {PLANTED}"), "") else {
        return;
    };
    assert!(String::from_utf8_lossy(&coloured.stdout).contains("\u{1b}["));
    let plain = on_a_terminal(&format!("check {PLANTED}"), "NO_COLOR=1").expect("as before");
    let plain = String::from_utf8_lossy(&plain.stdout);
    assert!(
        plain.contains("bytes-overlap") && !plain.contains('\u{1b}'),
        "{plain}"
    );
}

#[test]
fn a_map_is_drawn_or_it_is_said_what_there_is() {
    let peak: Value =
        serde_json::from_str(&check(&["peak", &sound(), "--format", "json"], 0).0).expect("JSON");
    let (text, _) = check(&["map", &sound()], 0);
    let (said, _) = check(&["peak", &sound()], 0);
    let figure = said.split(": ").nth(1).and_then(|it| it.split(" (").next());
    assert!(text.contains(figure.expect("bytes")), "{text}\n{said}");
    let step = peak["step"].as_u64().expect("a step");
    assert!(text.contains(&format!("^ step {step}")) || text.contains(&format!("at step {step}")));

    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("map.svg");
    let name = path.to_str().expect("a path");
    let (out, _) = check(&["map", &sound(), "--format", "svg", "-o", name], 0);
    assert_eq!(out, "");
    let svg = fs::read_to_string(&path).expect("a file");
    let document = roxmltree::Document::parse(&svg).expect("XML");
    assert!(
        document
            .root_element()
            .has_tag_name(("http://www.w3.org/2000/svg", "svg"))
    );

    for (arguments, problem) in [
        (
            ["--space", "77"],
            "there is no memory space 77; the dump has ",
        ),
        (
            ["--allocation", "4711"],
            "there is no allocation 4711 on the map, which leaves out thread-local ones: the last one is ",
        ),
        (
            ["--steps", "0..999999"],
            "there is no step 999999: the last one is ",
        ),
        (
            ["--steps", "12"],
            "two step numbers are expected, as in `10..20`",
        ),
    ] {
        let mut all = vec!["map".to_owned(), sound()];
        all.extend(arguments.map(str::to_owned));
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let (_, err) = check(&all, 2);
        assert!(err.contains(problem), "{err}");
    }
}

#[cfg(unix)]
#[test]
fn a_shell_completes_commands_and_options() {
    let complete = r#"
        source <("$0" completions bash)
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _buflens buflens "${!#}" && echo "${COMPREPLY[@]}""#;
    let bash = |words: &[&str]| {
        let mut bash = Command::new("bash");
        bash.args(["-c", complete, env!("CARGO_BIN_EXE_buflens"), "buflens"]);
        let output = bash.args(words).output().expect("bash runs");
        String::from_utf8(output.stdout).expect("text")
    };
    assert_eq!(bash(&["pea"]), "peak\n");
    assert_eq!(bash(&["where", "--spa"]), "--space\n");
}
