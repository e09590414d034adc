//! The answers about memory on the command line.

use std::process::{Command, Stdio};

use crate::support::answers::{STEM, file, has_keys, json_of, output, run};
use crate::support::dumps::fixtures;
use crate::support::root;
use serde_json::{Value, json};

#[test]
fn a_summary_has_all_that_was_promised() {
    let summary = json_of(&["summary", &file()]);
    let promised = json!({ "modules": [{
        "module": "", "stem": "", "platform": "", "total_bytes": 0, "allocations": 0, "values": 0, "steps": 0,
        "spaces": [{ "color": 0, "name": "", "reserved_bytes": 0, "thread_local_bytes": 0, "padding_bytes": 0,
                     "peak": { "step": 0, "instruction": "", "occupied_bytes": 0 } }],
        "xla_peak": { "step": 0, "listed_bytes": 0 }
    }] });
    has_keys(&summary, &promised);
    let module = &summary["modules"][0];
    assert_eq!(module["module"], "jit_mlp_fwd");
    assert_eq!(module["stem"], STEM);
    assert_eq!(module["platform"], "tpu");
    assert_eq!(module["total_bytes"], 3_948_076);
    let peak = &json_of(&["peak", &file()]);
    assert_eq!(
        module["spaces"][0]["peak"]["occupied_bytes"],
        peak["occupied_bytes"]
    );
    assert_eq!(module["spaces"], peak["spaces"]);
}

#[test]
fn padding_names_dimension_and_order() {
    let padding = json_of(&["padding", &file()]);
    let promised = json!({
        "spaces": [{ "color": 0, "name": "", "padding_bytes": 0, "occupied_bytes": 0, "step": 0 }],
        "allocations": [{ "allocation": 0, "space": 0, "bytes": 0, "padding_bytes": 0 }],
        "values": [{ "id": 0, "padding_bytes": 0, "dimension": { "number": 0, "from": 0, "to": 0, "tile": 0 } }],
        "values_left_out": 0
    });
    has_keys(&padding, &promised);
    let value = padding["values"].as_array().expect("a list").iter();
    let mut value = value.filter(|value| value["id"] == 48);
    let value = value.next().expect("value 48");
    assert_eq!(
        (&value["padding_bytes"], &value["ratio"]),
        (&json!(6144), &json!(1.6))
    );
    assert_eq!(
        value["dimension"],
        json!({ "number": 1, "from": 10, "to": 16, "tile": 8 })
    );
    let limited = json_of(&["padding", &file(), "--limit", "1", "--space", "HBM"]);
    assert_eq!(limited["values"].as_array().map(Vec::len), Some(1));
    assert!(limited["values_left_out"].as_u64() > Some(0));
    assert_eq!(limited["spaces"].as_array().map(Vec::len), Some(1));
}

#[test]
fn audits_come_together_or_one_by_one() {
    let audit = json_of(&["audit", &file()]);
    let promised = json!({
        "module": "",
        "donation": { "parameters": [{ "parameter": 0, "index": "", "allocation": 0, "space": 0, "bytes": 0, "verdict": "" }],
                      "donated_bytes": 0, "could_match_bytes": 0, "dead_bytes": 0 },
        "copies": { "copies": [{ "name": "", "kind": "", "bytes": 0, "from": { "space": 0, "layout": "" } }] },
        "offload": { "traffic": [{ "from": 0, "to": 1, "copies": 0, "bytes": 0 }] }
    });
    has_keys(&audit, &promised);
    let one = json_of(&["audit", &file(), "--only", "copies"]);
    assert_eq!(one["copies"], audit["copies"]);
    assert!(one.get("donation").is_none() && one.get("offload").is_none());
    let (out, _) = run(
        &["audit", &file(), "--only", "donation", "--format", "csv"],
        0,
    );
    let parameters = audit["donation"]["parameters"].as_array().expect("a list");
    assert_eq!(out.lines().count(), 1 + parameters.len());
    let (_, err) = run(&["audit", &file(), "--format", "csv"], 2);
    assert!(err.contains("--only"), "{err}");
}

#[test]
fn an_output_that_is_not_made_in_place_is_told() {
    let folder = fixtures().join("tpu-tree-v6e");
    let file = folder.join(
        "module_1785.jit_pallas_flash.cl_804429027.after_optimizations-buffer-assignment.txt",
    );
    let file = file.display().to_string();
    let audit = json_of(&["audit", &file]);
    let parameters = audit["donation"]["parameters"].as_array();
    let verdicts = parameters
        .expect("a list")
        .iter()
        .map(|it| (it["verdict"].as_str().unwrap_or(""), &it["in_place"]));
    // A custom call makes the output, and reads all three; the first of them is matched with it.
    let expected = [
        ("could-match", &json!(false)),
        ("kept", &json!(null)),
        ("kept", &json!(null)),
    ];
    assert_eq!(verdicts.collect::<Vec<_>>(), expected);
    let (out, _) = run(&["audit", &file], 0);
    assert!(out.contains(", not in place"), "{out}");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for fixture in [
        "tests/fixtures/dumps/out-of-memory",
        "tests/fixtures/dumps/donation",
        "tests/fixtures/dumps/odd-names",
        "tests/fixtures/dumps/async-collectives",
        "tests/fixtures/dumps/tpu-combined-v5p",
    ] {
        let summary = json_of(&["summary", fixture]);
        let modules = summary["modules"].as_array().expect("a list");
        assert!(!modules.is_empty(), "{fixture}");
        for columns in ["72", "80", "120"] {
            let stem = modules[0]["stem"].as_str().expect("a stem");
            let file = ["-buffer-assignment.txt", "-live-range.txt", ".txt", ""]
                .map(|suffix| format!("{stem}{suffix}"));
            let file = file
                .iter()
                .find(|file| root().join(file).exists())
                .expect("a file");
            for arguments in [
                &["summary", fixture][..],
                &["peak", file],
                &["padding", file],
                &["audit", file],
                &["where", "gen.py", file],
            ] {
                let output = output(arguments, columns);
                // That a dump does not tell its source ends with 1.
                let is_fine = output.status.success() || arguments[0] == "where";
                let text = String::from_utf8(output.stdout).expect("text");
                assert!(is_fine && !text.contains('\u{1b}'), "{arguments:?}");
                let widest = text.lines().map(|line| line.chars().count()).max();
                assert!(
                    widest <= columns.parse().ok(),
                    "{arguments:?} {columns}:\n{text}"
                );
            }
        }
    }
}

#[test]
fn many_dumps_are_one_table() {
    let summary = json_of(&["summary", "tests/fixtures/dumps"]);
    let modules = summary["modules"].as_array().expect("a list");
    assert!(modules.len() > 20);
    let peaks: Vec<Option<u64>> = modules
        .iter()
        .map(|module| {
            let spaces = module["spaces"].as_array().expect("spaces");
            let space = spaces.iter().find(|space| space["color"] == 0)?;
            space["peak"]["occupied_bytes"].as_u64()
        })
        .collect();
    assert!(peaks.is_sorted_by(|left, right| left >= right), "{peaks:?}");
    assert_eq!(
        summary,
        json_of(&["summary", "tests/fixtures/dumps"]),
        "whoever was the fastest"
    );
    let (out, _) = run(&["summary", "tests/fixtures/dumps", "--format", "csv"], 0);
    assert!(out.lines().count() > modules.len());
    assert!(
        out.starts_with("module,stem,platform,total_bytes,"),
        "{out}"
    );
    let by_name = json_of(&["summary", "tests/fixtures/dumps", "--space", "VMEM"]);
    assert_eq!(
        by_name,
        json_of(&["summary", "tests/fixtures/dumps", "--space", "1"])
    );
    let (_, err) = run(&["summary", "tests/fixtures/dumps", "--space", "HDD"], 2);
    assert!(err.contains("HBM"), "{err}");
    let (out, _) = run(&["summary", "tests/../tests/fixtures/dumps"], 0);
    let folder = root().join("tests/fixtures/dumps").canonicalize();
    let folder = folder.expect("a folder").display().to_string();
    let joined = out.replace('\n', " ");
    assert!(joined.contains(&format!("below {folder}.")), "{out}");
    let (out, _) = run(&["summary", "tests/fixtures/dumps", "--limit", "3"], 0);
    assert!(
        out.contains(&format!(
            "... and {} more dumps, none larger.",
            modules.len() - 3
        )),
        "{out}"
    );
    let (out, _) = run(
        &["summary", "tests/fixtures/dumps", "--format", "markdown"],
        0,
    );
    assert!(out.contains("|--:|--:|--:|"), "{out}");
}

#[test]
fn where_there_is_no_peak_it_is_said_why() {
    let folder = "tests/fixtures/dumps/no-live-range";
    let summary = json_of(&["summary", folder]);
    let stem = summary["modules"][0]["stem"].as_str().expect("a stem");
    let file = format!("{stem}-buffer-assignment.txt");
    let peak = json_of(&["peak", &file]);
    assert_eq!(
        (&peak["step"], &peak["occupied_bytes"], &peak["values"]),
        (&Value::Null, &Value::Null, &json!([]))
    );
    assert!(
        peak["reason"]
            .as_str()
            .is_some_and(|reason| reason.contains("live ranges")),
        "{peak}"
    );
    let (out, _) = run(&["peak", &file], 0);
    assert!(
        out.contains("is not known") && out.contains("The largest values"),
        "{out}"
    );
    for command in ["padding", "audit", "summary"] {
        run(&[command, &file], 0);
    }
}

#[test]
fn what_is_no_dump_and_what_is_several_is_told() {
    let (out, err) = run(&["peak", "tests/fixtures/dumps"], 2);
    assert!(
        out.is_empty()
            && err.contains("dumps where one is wanted")
            && err.contains("-buffer-assignment"),
        "{err}"
    );
    for command in ["peak", "summary"] {
        let (_, err) = run(&[command, "README.md"], 2);
        assert!(
            err.contains("README.md: this is no XLA buffer-assignment dump"),
            "{err}"
        );
    }
    // What people have at hand when a compile has failed.
    let folder = tempfile::tempdir().expect("a folder");
    let message = folder.path().join("error.txt");
    std::fs::write(
        &message,
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. \
         Ran out of memory in memory space hbm.\n",
    )
    .expect("a file");
    for command in ["peak", "audit", "summary"] {
        let (_, err) = run(&[command, message.to_str().expect("a path")], 2);
        assert!(
            err.contains("the compiler's message") && err.contains("--xla_dump_to"),
            "{err}"
        );
    }
    let (out, err) = run(&["summary", "no/such.txt", &file()], 2);
    assert!(
        err.contains("no/such.txt: ") && out.contains("jit_mlp_fwd"),
        "{out}{err}"
    );
    // What a shell makes of `module_0022*`.
    let files = ["-buffer-assignment.txt", "-memory-usage-report.txt", ".txt"]
        .map(|suffix| format!("{STEM}{suffix}"));
    let (out, _) = run(&["peak", &files[0], &files[1], &files[2]], 0);
    assert_eq!(out, run(&["peak", &file()], 0).0);
}

#[test]
fn the_end_of_a_pipe_is_no_reason_to_panic() {
    use std::io::Read;
    for arguments in [
        &["summary", "tests/fixtures/dumps"][..],
        &["peak", &file(), "--format", "csv"],
        &["audit", &file(), "--format", "json"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_buflens"))
            .args(arguments)
            .current_dir(root())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut some = [0; 4];
        child
            .stdout
            .as_mut()
            .expect("a pipe")
            .read_exact(&mut some)
            .expect("some bytes");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("an end");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
        assert!(output.status.success(), "{arguments:?}");
    }
}

#[test]
fn who_closes_the_pipe_is_told_of_what_was_left_out_all_the_same() {
    let text = std::fs::read_to_string(root().join(file())).expect("a dump");
    let (folder, path) = folder(&[("m-buffer-assignment.txt", &text)]);
    std::fs::create_dir(folder.path().join("m-live-range.txt")).expect("a folder");
    let assignment = format!("{path}/m-buffer-assignment.txt");
    for arguments in [
        &["export", "--format", "json", &assignment][..],
        &["report", "-o", "-", &assignment],
        &["map", &assignment],
    ] {
        let (end, writer) = std::io::pipe().expect("a pipe");
        drop(end);
        let output = Command::new(env!("CARGO_BIN_EXE_buflens"))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(writer)
            .output()
            .expect("the program runs");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(err.contains("is left out"), "{arguments:?}: {err}");
    }
}

/// A folder with nothing but these texts.
fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    let path = folder.path().to_str().expect("a path").to_owned();
    (folder, path)
}

#[test]
fn what_is_not_in_the_files_is_no_number() {
    const STEM: &str = "module_0017.jit_host_offload_outputs.cl_933746096.after_optimizations";
    let from = root().join("tests/fixtures/dumps/tpu-split");
    for (part, total, values, steps) in [
        ("live-range", None, None, Some(10)),
        (
            "buffer-assignment-values",
            Some(100_712_452),
            Some(13),
            None,
        ),
        ("memory-usage-report", Some(100_712_452), None, None),
    ] {
        let name = format!("{STEM}-{part}.txt");
        let text = std::fs::read_to_string(from.join(&name)).expect("a fixture");
        let (_folder, path) = folder(&[(&name, &text)]);
        let why = "the allocations are not there";
        let summary = &json_of(&["summary", &path])["modules"][0];
        assert_eq!(summary["total_bytes"], json!(total), "{part}");
        assert_eq!(summary["values"], json!(values), "{part}");
        assert_eq!(summary["steps"], json!(steps), "{part}");
        for key in ["allocations", "missing_live_ranges"] {
            assert_eq!(summary[key], Value::Null, "{part} {key}");
        }
        let peak = json_of(&["peak", &path]);
        for key in ["reserved_bytes", "occupied_bytes", "missing_live_ranges"] {
            assert_eq!(peak[key], Value::Null, "{part} {key}");
        }
        assert_eq!(peak["kernels"], json!(values.map(|_| 0)), "{part}");
        assert_eq!(json_of(&["map", &path])["steps"], json!(steps), "{part}");
        let audit = json_of(&["audit", &path]);
        for key in ["parameter", "donated", "could_match", "dead"] {
            let key = format!("{key}_bytes");
            assert_eq!(audit["donation"][&key], Value::Null, "{part} {key}");
        }
        let copies = audit["copies"]["copies"].as_array().expect("a list");
        assert_eq!(copies.is_empty(), values.is_none());
        let spaces = audit["copies"]["spaces"].as_array().expect("a list");
        let traffic = audit["offload"]["traffic"].as_array().expect("a list");
        assert!(copies.iter().chain(traffic).all(|it| it["bytes"].is_null()));
        assert!(spaces.iter().all(|it| it["copied_bytes"].is_null()));
        for command in ["summary", "peak", "padding", "audit", "map", "ls"] {
            let (out, _) = run(&[command, &path], 0);
            let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(
                words.contains(why) || command == "ls",
                "{command} of {part}: {out}"
            );
            let zeros = words.split(' ').filter(|word| *word == "0").count();
            assert_eq!(zeros, 0, "{command} of {part}: {out}");
        }
        let (_, err) = run(&["peak", &path, "--allocation", "3"], 2);
        assert!(err.contains(why), "{err}");
    }
}

#[test]
fn a_memory_space_that_is_not_there_is_an_error_everywhere() {
    for command in ["peak", "padding", "map"] {
        for format in ["text", "json"] {
            let (out, err) = run(&[command, &file(), "--space", "9", "--format", format], 2);
            let problem = "there is no pinned HBM (@9); the dump has HBM (@0), VMEM (@1)";
            assert!(out.is_empty() && err.contains(problem), "{out}{err}");
            run(
                &[command, &file(), "--space", "host", "--format", format],
                2,
            );
        }
    }
}

#[test]
fn a_memory_space_without_bytes_has_no_table() {
    let dump = "tests/fixtures/dumps/tpu-split/module_0654.jit_pure_callback.cl_933746096.\
                after_optimizations-buffer-assignment.txt";
    let (out, _) = run(&["peak", dump, "--space", "VMEM"], 0);
    assert_eq!(
        out.split("\n\n").next(),
        Some(
            "jit_pure_callback: nothing of VMEM is occupied at any step; what lies there\n\
             takes no bytes\nStatic, this module only."
        )
    );
}

#[test]
fn where_nothing_is_occupied_for_want_of_live_ranges_that_is_said() {
    let dump = "BufferAssignment:
allocation 0: size 8, preallocated-temp:
 value: <0 a @0> (size=8,offset=0): f32[2]{0}

HloLiveRange (max 1):
  InstructionSequence:
    0:a
  BufferLiveRange:
    x{}:0-1
";
    let (_folder, path) = folder(&[("m-buffer-assignment.txt", dump)]);
    let (out, _) = run(&["peak", &path], 0);
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.ends_with(
            "nothing of memory space 0 is occupied at any step; 8 B are reserved Static, this module only. \
             1 value lacks a live range or a place in an allocation: it is left out, and the true peak may be higher."
        ),
        "{words}"
    );
}

#[test]
fn what_the_compiler_keeps_of_vmem_is_not_idle() {
    let dump = "BufferAssignment:
allocation 0: size 512, parameter 0, shape |f32[128]| at ShapeIndex {}:
 value: <1 x.1 @0> (size=512,offset=0): f32[128]{0:T(128)}
allocation 1: size 33554432, color 1, preallocated-temp:
 value: <2 copy.1 @1> (size=4096,offset=0): f32[128]{0:T(1024)S(1)}

Total bytes used: 33554944 (32.00MiB)

HloLiveRange (max 2):
  InstructionSequence:
    0:x.1
    1:copy.1
  BufferLiveRange:
    x.1{}:0-2
    copy.1{}:1-2
  Live ranges at 1 (peak):
    x.1: 512 bytes
    copy.1: 512 bytes
";
    let name = "module_0001.jit_f.cl_1.after_optimizations-buffer-assignment.txt";
    let (_folder, path) = folder(&[(name, dump)]);
    let (out, _) = run(&["peak", &path, "--space", "1"], 0);
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains(
            "32.0 MiB of the reserved are in no value then: temp allocation 1 (32.0 MiB, 4.0 KiB \
             occupied, the rest kept by the compiler as scratch of its instructions)."
        ),
        "{words}"
    );
    assert!(!words.contains("idle"), "{words}");
    // It may lie anywhere; what lies between values is not kept.
    let told = |dump: &str, text: &str| {
        let text_name = name.replace("-buffer-assignment", "");
        let (_folder, path) = folder(&[(name, dump), (&text_name, text)]);
        let (out, _) = run(&["peak", &path, "--space", "1"], 0);
        out.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let at = |offset: u64| {
        dump.replace(
            "(size=4096,offset=0)",
            &format!("(size=4096,offset={offset})"),
        )
    };
    let first = told(&at(33_550_336), "");
    assert!(first.contains("the rest kept by the compiler"), "{first}");
    let around = told(&at(60_000), "");
    assert!(around.contains("the rest kept by the compiler"), "{around}");
    let small = at(60_000).replace("33554432", "131072");
    let small = told(&small, "");
    assert!(small.contains("idle"), "{small}");
    // The HLO text tells how much of it the instruction takes.
    let scratch = |bytes: u64| {
        let text = format!(
            "HloModule jit_f, is_scheduled=true\n\nENTRY %main (x.1: f32[128]) -> f32[128] {{\n  \
             %x.1 = f32[128]{{0:T(128)}} parameter(0), backend_config={{\"scoped_memory_configs\":\
             [{{\"memory_space\":\"0\",\"offset\":\"0\",\"size\":\"1\"}},{{\"memory_space\":\"1\",\"offset\":\"4096\",\"size\":\"{bytes}\"}}]}}\n  \
             ROOT %copy.1 = f32[128]{{0:T(1024)S(1)}} copy(%x.1), backend_config={{\"scoped_memory_configs\":\
             [{{\"memory_space\":\"1\",\"offset\":\"4096\",\"size\":\"{bytes}\"}}]}}\n}}\n"
        );
        told(dump, &text)
    };
    for (bytes, words) in [
        (0, "of which this one takes nothing)."),
        (8 << 20, "of which this one takes 8.0 MiB)."),
        (
            33_550_336,
            "occupied, the rest scratch of this instruction).",
        ),
    ] {
        let out = scratch(bytes);
        assert!(out.contains(words), "{out}");
    }
}
