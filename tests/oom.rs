//! `buflens oom`, run as a process.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::support::root;

const SHORT: &str = "E: Ran out of memory on HBM, the total memory required for HLO temporaries \
                     (20.00G) exceeds available HBM (15.75G).\n";
/// As libtpu printed it in 2025, in a log with a prefix.
const LISTED: &str = "\
[rank0]: Ran out of memory in memory space hbm. Used 20.00G of 15.75G hbm. Exceeded hbm capacity by 4.25G.
[rank0]: Total hbm usage >= 20.25G:
[rank0]:     arguments        20.00G 
[rank0]:   Largest program allocations in hbm:
[rank0]:   1. Size: 512B
[rank0]:      Operator: op_name=\"jit(oom_args)/slice\" source_file=\"oom.py\" source_line=17
[rank0]:      Shape: f32[1,1]{1,0:T(1,128)}
[rank0]:      Unpadded size: 4B
[rank0]:      Extra memory due to padding: 508B (128.0x expansion)
[rank0]:      XLA label: slice.8 = slice(a.2), slice={[0:1], [0:1]}
[rank0]:      Allocation type: HLO temp
";
/// A folder with it.
const DUMPS: &str = "tests/fixtures/dumps/out-of-memory";
const DUMP: &str = "tests/fixtures/dumps/out-of-memory/module_0000.jit_oom_args.cl_933746096.after_optimizations-buffer-assignment.txt";

fn run(arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_buflens"));
    command.args(arguments).current_dir(root());
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program runs");
    // A program that does not read its input may be gone already.
    let _ = child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(input.as_bytes());
    child.wait_with_output().expect("the program ends")
}

#[track_caller]
fn check(arguments: &[&str], input: &str, code: i32) -> (String, String) {
    let output = run(arguments, input);
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let (out, err) = (text(output.stdout), text(output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}{err}");
    (out, err)
}

#[track_caller]
fn failure(arguments: &[&str], input: &str) -> Value {
    let (out, _) = check(arguments, input, 0);
    let answer: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(answer["schema"], 1);
    answer["texts"][0]["failures"][0].clone()
}

#[test]
fn the_short_message_is_told_what_it_counts() {
    let failure = failure(&["oom", "-", "--dump", DUMP, "--format", "json"], SHORT);
    assert_eq!(failure["form"], "total");
    assert_eq!(failure["wanted"]["text"], "20.00G");
    let dump = &failure["dump"];
    assert_eq!(dump["module"], "jit_oom_args");
    assert_eq!(dump["message_counts"], "reserved");
    assert_eq!(dump["parameter_bytes"], 5_u64 * 4 * (1 << 30));
    assert_eq!(dump["temp_bytes"], 512);
    assert_eq!(dump["listed_bytes"], 0);
    assert_eq!(dump["unlisted_bytes"], dump["peak"]["occupied_bytes"]);

    let (out, _) = check(&["oom", "-", "--dump", DUMP], SHORT, 0);
    let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        out.contains(
            "calls \"HLO temporaries\" are all of these together: the temporaries are 512 B"
        ),
        "{out}"
    );
    let equal = SHORT.replace("15.75G", "20.00G");
    let (out, _) = check(&["oom", "-", "--dump", DUMP], &equal, 0);
    let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        out.contains("20.00G wanted, 20.00G there The message"),
        "{out}"
    );
    assert!(
        out.contains("That is 1.0 KiB more than the 20.00G there, as far as that is exact."),
        "{out}"
    );
    let exact = "Allocation (size=251658240) would exceed memory (size=134217728) :: #allocation2 [shape = 'f32[60,1024,1024]{2,1,0:T(8,128)}', space=vmem, size = 0xf000000, tag = 'scratch operand'] :: scratch.1\n";
    let (out, _) = check(&["oom", "-"], exact, 0);
    let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(out.contains("128.0 MiB there, 112.0 MiB too much"), "{out}");
}

#[test]
fn a_listed_allocation_is_found_in_the_dump_beside() {
    let folder = tempfile::tempdir().expect("a folder");
    let below = folder.path().join("dumps");
    fs::create_dir(&below).expect("a folder");
    for file in fs::read_dir(root().join(DUMP).parent().expect("a folder")).expect("the fixture") {
        let file = file.expect("a file");
        if file
            .file_name()
            .to_string_lossy()
            .starts_with("module_0000")
        {
            fs::copy(file.path(), below.join(file.file_name())).expect("a copy");
        }
    }
    let text = folder.path().join("train.log");
    fs::write(&text, format!("step 1\n{LISTED}step 2\n")).expect("a file");
    let text = text.to_str().expect("a path");
    let found = failure(&["oom", text, "--format", "json"], "");
    assert_eq!(found["line"], 2);
    let entry = &found["entries"][0];
    assert_eq!(entry["name"], "slice.8");
    assert_eq!(entry["unpadded"]["bytes"], 4);
    assert_eq!(entry["source"], "oom.py:17");
    assert_eq!(
        (&entry["is_exact"], entry["values"].as_array().map(Vec::len)),
        (&Value::Bool(true), Some(1))
    );
    let bytes = |key: &str| found["dump"][key].as_u64().expect("bytes");
    assert_eq!(
        found["dump"]["peak"]["occupied_bytes"],
        bytes("listed_bytes") + bytes("unlisted_bytes")
    );
    // The text stands for the dump of its program.
    let (out, _) = check(&["hover", &format!("{text}:11:28")], "", 0);
    assert!(out.contains("slice.8"), "{out}");
    let (out, _) = check(&["definition", &format!("{text}:11:28")], "", 0);
    assert!(out.contains("buffer-assignment"), "{out}");
    let (out, err) = check(&["check", text], "", 0);
    assert!(!out.contains("train.log"), "{out}{err}");
}

#[test]
fn what_several_ranks_say_is_explained_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| {
        folder
            .path()
            .join(name)
            .to_str()
            .expect("a path")
            .to_owned()
    };
    let (one, other) = (path("rank0.log"), path("rank1.log"));
    let larger = SHORT.replace("20.00G", "30.00G");
    fs::write(&one, format!("{SHORT}The cause of\n{SHORT}{larger}{SHORT}")).expect("a file");
    fs::write(&other, SHORT).expect("a file");
    let (out, _) = check(&["oom", &one], "", 0);
    assert!(out.contains(":1: out of HBM: 20.00G wanted"), "{out}");
    assert!(
        out.contains("\nThe same is said at lines 3 and 5.\n"),
        "{out}"
    );
    assert!(out.contains(":4: out of HBM: 30.00G wanted"), "{out}");
    assert_eq!(out.matches(" wanted, ").count(), 2, "{out}");
    let (out, _) = check(&["oom", &one, &other, "--format", "markdown"], "", 0);
    assert_eq!(out.matches(" wanted, ").count(), 2, "{out}");
    assert!(out.contains("rank1"), "{out}");
    let (out, _) = check(&["oom", &one, "--format", "json"], "", 0);
    let answer: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(
        answer["texts"][0]["failures"].as_array().map(Vec::len),
        Some(4)
    );
}

#[test]
fn every_format_is_written_and_hostile_text_is_harmless() {
    let hostile = LISTED.replace("slice.8", "slice<script>\u{1b}[31m");
    for format in ["text", "json", "csv", "markdown", "html"] {
        let (out, _) = check(&["oom", "-", "--format", format], &hostile, 0);
        assert!(!out.contains("\u{1b}[31m"), "{format}");
        assert!(format != "html" || !out.contains("<script>"), "{format}");
        assert!(out.contains("512"), "{format}: {out}");
    }
}

#[test]
fn what_is_no_failure_is_said() {
    for (path, input) in [
        ("-", "all is well\n"),
        ("-", ""),
        (DUMP, ""),
        (DUMPS, ""),
        ("no/such.txt", ""),
    ] {
        let (out, err) = check(&["oom", path], input, 2);
        assert_eq!(out, "");
        let expected = match path {
            DUMP => "this is a dump, and no message",
            DUMPS => "this is a folder, and no message",
            "-" => "expected a line such as",
            _ => "no/such.txt: ",
        };
        assert!(err.contains(expected), "{err}");
    }
}

/// The list as a terminal, a test runner, a launcher of many processes, a log of records, a picture
/// frame or a web page make of it.
#[test]
fn whatever_a_log_makes_of_a_message_it_says_the_same() {
    let plain = LISTED.replace("[rank0]: ", "");
    let told = |text: &str| {
        let mut failure = failure(&["oom", "-", "--dump", DUMP, "--format", "json"], text);
        let message = failure["message"].take();
        assert!(
            message.as_str().is_some_and(|it| it.contains("by 4.25G.")),
            "{message}"
        );
        failure
    };
    let each = |before: &str, behind: &str| {
        let lines = plain
            .lines()
            .map(|line| format!("{before}{line}{behind}\n"));
        lines.collect::<String>()
    };
    let expected = told(&plain);
    assert_eq!(expected["amounts"][0]["name"], "Total hbm usage");
    assert_eq!(expected["entries"][0]["is_exact"], true);
    assert_eq!(expected["entries"][0]["source"], "oom.py:17");
    for (before, behind) in [
        ("\u{1b}[31m", "\u{1b}[0m"),
        ("\u{1b}[1m\u{1b}[31mE   ", "\u{1b}[0m"),
        ("", " \\"),
        ("│", " │"),
        ("", " \t\r"),
        ("[default0]:", ""),
        ("[1,0]<stderr>:", ""),
        ("2026-01-01T00:00:00.0000000Z ##[error]", ""),
    ] {
        assert_eq!(told(&each(before, behind)), expected, "{before} {behind}");
    }
    for indent in ["\t", "\u{a0}\u{a0}"] {
        assert_eq!(told(&plain.replace("  ", indent)), expected, "{indent:?}");
    }
    let message = format!("{plain}     ==========================\n");
    let json = serde_json::json!({ "level": "error", "message": message });
    assert_eq!(told(&json.to_string()), expected);
}

#[test]
fn requests_at_run_time_say_what_is_wanted_and_what_is_free() {
    for (text, wanted, free, space) in [
        (
            "E: Error allocating device buffer: Attempting to allocate 8.00M. That was not possible. \
             There are 6.43M free.; (0x0x1_HBM0)",
            Some("8.00M"),
            Some("6.43M"),
            Some("HBM"),
        ),
        (
            "E: Error loading program 'jit_f': Attempting to reserve 29.49G at the bottom of memory. \
             That was not possible. There are 147.64M free, 0B reserved, and 147.64M reservable. Scope: ",
            Some("29.49G"),
            Some("147.64M"),
            None,
        ),
        (
            "E: Failed to allocate request for 32.00MiB (33554432B) on device ordinal 0",
            Some("32.00MiB"),
            None,
            None,
        ),
        (
            "W bfc_allocator.cc:501] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.00GiB \
             (rounded to 2147483648)requested by op ",
            Some("2147483648"),
            None,
            None,
        ),
        (
            "E: Out of memory while trying to allocate 8.00GiB.",
            Some("8.00GiB"),
            None,
            None,
        ),
        (
            "E: Out of memory while trying to allocate 33762398024 bytes.",
            Some("33762398024"),
            None,
            None,
        ),
        (
            "E: Out of memory while trying to allocate 3376",
            None,
            None,
            None,
        ),
    ] {
        let found = failure(&["oom", "-", "--format", "json"], text);
        assert_eq!(found["form"], "request", "{text}");
        let size = |key: &str| found[key]["text"].as_str().map(str::to_owned);
        assert_eq!(size("wanted").as_deref(), wanted, "{text}");
        assert_eq!(size("available").as_deref(), free, "{text}");
        assert_eq!(found["space"].as_str(), space, "{text}");
    }
    let (out, _) = check(
        &["oom", "-"],
        "Attempting to allocate 2.50G. That was not possible. There are 5.20G free. The largest \
         contiguous region of free memory is 1.20G due to fragmentation.",
        0,
    );
    assert!(
        out.contains("2.50G wanted, 5.20G free") && out.contains("not in one piece"),
        "{out}"
    );
    let warning = "Allocator (GPU_0_bfc) ran out of memory trying to allocate 3.37GiB with \
                   freed_by_count=0. The caller indicates that this is not a failure, but this may";
    check(&["oom", "-"], warning, 2);
}

#[test]
fn a_warning_of_rematerialization_tells_what_is_alive_at_once() {
    let warning = "2026-11-28 14:01:55.217373: W external/xla/xla/hlo/transforms/simplifiers/hlo_rematerialization.cc:3021] \
                   Can't reduce memory use below 43.05GiB (46222624381 bytes) by rematerialization; only reduced to \
                   181.00GiB (194347270464 bytes), down from 333.00GiB (357556027712 bytes) originally";
    let broken = warning.as_bytes().chunks(80);
    let broken = broken.map(|line| str::from_utf8(line).expect("ASCII"));
    let broken = broken.collect::<Vec<_>>().join("\n");
    for text in [warning, &broken] {
        let found = failure(&["oom", "-", "--format", "json"], text);
        assert_eq!(found["form"], "rematerialization", "{text}");
        assert_eq!(found["wanted"]["bytes"], 194_347_270_464_u64, "{text}");
        assert_eq!(found["available"]["bytes"], 46_222_624_381_u64, "{text}");
    }
    let (out, _) = check(&["oom", "-"], warning, 0);
    let out = out.replace('\n', " ");
    assert!(
        out.contains("181.00 GiB at once, 43.05 GiB allowed, 137.95 GiB too much")
            && out.contains("That is a warning")
            && !out.contains("It lists no allocations"),
        "{out}"
    );
}

#[test]
fn one_value_that_is_more_than_the_memory_is_no_kernels() {
    let message = |space: &str| {
        format!(
            "RESOURCE_EXHAUSTED: Allocation (size=153600000000) would exceed memory (size=17179869184) :: \
             #allocation10 [shape = 'f32[300000000,3]{{1,0:T(8,128)}}', space={space}, tag = 'output of reshape.1@{{}}']\n"
        )
    };
    let (of_main, _) = check(&["oom", "-"], &message("hbm"), 0);
    assert!(
        of_main.contains("one value alone") && !of_main.contains("kernel"),
        "{of_main}"
    );
    let (of_host, _) = check(&["oom", "-"], &message("host"), 0);
    assert!(
        of_host.contains("one value alone") && !of_host.contains("kernel"),
        "{of_host}"
    );
    let (of_flags, _) = check(&["oom", "-"], &message("sflag"), 0);
    assert!(of_flags.contains("semaphores of a kernel"), "{of_flags}");
    let (of_kernel, _) = check(&["oom", "-"], &message("vmem"), 0);
    assert!(of_kernel.contains("scratch of a kernel"), "{of_kernel}");
    // The dump has the value that the tag names.
    let tag = |tag: &str| message("hbm").replace("reshape.1@{}", tag);
    let dump = "tests/fixtures/dumps/out-of-memory-peak-not-listed/module_0008.jit_oom_padded.cl_933746096.after_optimizations-buffer-assignment.txt";
    let json = ["oom", "-", "--dump", dump, "--format", "json"];
    let tagged = &failure(&json, &tag("sort.6@{0}"))["dump"]["tagged"];
    assert_eq!(tagged["id"], 41, "{tagged:#}");
    let (text, _) = check(&["oom", "-", "--dump", dump], &tag("sort.6@{0}"), 0);
    let text = text.replace('\n', " ");
    assert!(
        text.contains("tag names is sort.6{0}: output, 256.0 MiB, alive at"),
        "{text}"
    );
    assert!(failure(&json, &tag("gone.1@{}"))["dump"]["tagged"].is_null());
}

#[test]
fn numbers_that_are_cut_off_are_not_known() {
    for (text, wanted, available) in [
        (
            "Allocation (size=16777216) would exceed memory (size=1",
            true,
            false,
        ),
        (
            "Allocation (size=16777216) would exceed memory (size=1)",
            true,
            true,
        ),
        (
            "Ran out of memory in memory space hbm. Used 20.00G of 15.",
            true,
            false,
        ),
    ] {
        let found = failure(&["oom", "-", "--format", "json"], text);
        assert_eq!(found["wanted"].is_object(), wanted, "{text}");
        assert_eq!(found["available"].is_object(), available, "{text}");
    }
    let (start, _) = LISTED.split_once("7\n").expect("a line of source");
    let found = failure(&["oom", "-", "--format", "json"], start);
    assert_eq!(found["entries"][0]["source"], "oom.py", "of line 17 the 1");
}

/// By where the program takes and gives them, as newer compilers list them.
#[test]
fn arguments_and_outputs_of_a_list_are_values_of_the_dump() {
    let entry = |size: &str, shape: &str, label: &str| {
        format!(
            "  1. Size: {size}\n     Shape: {shape}\n     XLA label: {label}\n     ==========================\n"
        )
    };
    let argument = "f32[65536,16384]{1,0:T(8,128)}";
    let text = [
        "Ran out of memory in memory space hbm. Used 20.00G of 15.75G hbm.\n".to_owned(),
        entry("4.00G", argument, "Argument 2 index {}"),
        entry("4.00G", argument, "Argument 9 index {}"),
        entry("512B", "f32[1,1]{1,0:T(1,128)}", "Output index {}"),
    ]
    .concat();
    let dump = "tests/fixtures/dumps/out-of-memory/module_0001.jit_oom_args.after_optimizations-buffer-assignment.txt";
    let found = failure(&["oom", "-", "--dump", dump, "--format", "json"], &text);
    let entry = |at: usize| {
        (
            &found["entries"][at]["is_exact"],
            &found["entries"][at]["values"],
        )
    };
    assert_eq!(entry(0), (&Value::from(true), &Value::from([5])));
    assert_eq!(entry(1).0, &Value::from(false), "there is no such argument");
    assert_eq!(entry(2), (&Value::from(true), &Value::from([13])));
    let unlisted = found["dump"]["unlisted"].as_array().expect("values");
    assert!(
        unlisted
            .iter()
            .all(|value| value["id"] != 5 && value["id"] != 13)
    );
}

/// No value of the dump is in the scratch of an instruction, and none would make room for it.
#[test]
fn scratch_of_an_instruction_is_told_of_without_the_dump() {
    let text = "Ran out of memory in memory space vmem while allocating on stack for %two.1 = f32[8]{0:T(128)} custom-call(%x), \
                custom_call_target=\"tpu_custom_call\". Scoped allocation with size 64.00M and limit 16.00M exceeded scoped vmem \
                limit by 48.00M. It should not be possible to run out of scoped vmem\n";
    let found = failure(&["oom", "-", "--dump", DUMP, "--format", "json"], text);
    assert_eq!(
        (&found["form"], &found["dump"]),
        (&"scoped".into(), &Value::Null)
    );
    // Which of several dumps is of the program makes no difference.
    let folder = "tests/fixtures/dumps/tpu-split";
    check(&["oom", "-", "--dump", folder], text, 0);
    let (out, _) = check(&["oom", "-", "--dump", DUMP], text, 0);
    assert!(
        out.contains("over the limit of scoped VMEM: 64.00M wanted, 16.00M allowed, 48.00M too"),
        "{out}"
    );
    assert!(
        out.contains("xla_tpu_scoped_vmem_limit_kib") && !out.contains("leaves out"),
        "{out}"
    );
}

#[test]
fn the_one_dump_of_a_folder_is_taken_unless_the_text_is_of_another_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = Path::new(DUMP).file_name().expect("a name");
    let below = folder.path().join("run/1");
    fs::create_dir_all(&below).expect("a folder");
    fs::copy(root().join(DUMP), below.join(name)).expect("a copy");
    let first = "Ran out of memory in memory space hbm. Used 7.00G of 6.00G hbm.\n";
    let text = folder.path().join("first.txt");
    fs::write(&text, first).expect("a file");
    let folder_path = folder.path();
    let (folder, text) = (
        folder_path.to_str().expect("a path"),
        text.to_str().expect("a path"),
    );
    let found = failure(&["oom", text, "--dump", folder, "--format", "json"], "");
    assert_eq!(found["dump"]["module"], "jit_oom_args");
    assert_eq!(found["dump"]["message_counts"], Value::Null);
    fs::rename(below.join(name), folder_path.join(name)).expect("moved");
    let (out, _) = check(&["oom", text, "--format", "json"], "", 0);
    assert!(out.contains("it is not known whether "), "{out}");
    let other = LISTED.replace("jit(oom_args)", "jit(other)");
    // The message is explained all the same.
    let (out, _) = check(
        &["oom", "-", "--dump", folder, "--format", "json"],
        &other,
        2,
    );
    assert!(out.contains("the text is of jit_other"), "{out}");
    check(&["oom", "-", "--dump", DUMP], &other, 0);
    // It fits, so it is taken.
    fs::write(text, first.replace("7.00G", "20.00G")).expect("a file");
    let found = failure(&["oom", text, "--format", "json"], "");
    assert_eq!(found["dump"]["message_counts"], "reserved");
}

/// Every text of a failed compile that is there is understood, with every size in it, and what
/// it counts is found in its dump.
#[test]
fn the_corpus_is_understood() {
    let corpus = root().join("../shared/corpus/oom");
    if !corpus.is_dir() {
        println!("skipped: the corpus is not here");
        return;
    }
    let mut read = 0;
    for folder in fs::read_dir(corpus).expect("a folder").flatten() {
        let files = fs::read_dir(folder.path()).expect("a folder").flatten();
        for file in files.filter(|file| file.path().is_file()) {
            let path = file.path();
            if path.extension().is_none_or(|extension| extension != "txt") {
                continue;
            }
            let path = path.to_str().expect("a path");
            let found = failure(&["oom", path, "--format", "json"], "");
            let text = fs::read_to_string(path).expect("a text");
            let shown = found.to_string();
            let words = text.split(|char: char| char.is_whitespace() || "();,".contains(char));
            for word in words {
                let word = word.trim_end_matches(['.', ':']);
                let number = word.trim_end_matches(['B', 'K', 'M', 'G']);
                if number.len() + 1 == word.len() && number.parse::<f64>().is_ok() {
                    assert!(
                        shown.contains(&format!("\"{word}\""))
                            || found["message"]
                                .as_str()
                                .is_some_and(|it| it.contains(word)),
                        "{path}: {word} is not read"
                    );
                }
            }
            let dump = &found["dump"];
            assert!(dump.is_object(), "{path}: no dump: {found}");
            if found["form"] != "allocation" {
                assert!(dump["message_counts"].is_string(), "{path}: {dump}");
            }
            for entry in found["entries"].as_array().expect("a list") {
                assert!(entry["size"]["bytes"].is_u64(), "{path}: {entry}");
                assert!(entry["shape"].is_string(), "{path}: {entry}");
            }
            read += 1;
        }
    }
    assert!(read > 0);
    println!("{read} texts read");
}

#[test]
fn what_a_text_leaves_open_is_told_as_such() {
    let text = "\
Ran out of memory in memory space hbm. Used 20.00G of 15.75G hbm. Exceeded hbm capacity by 4.25G.
Total hbm usage >= 20.25G:
    reserved        258.00M
    arguments       unknown size

Output size unknown.

  Largest program allocations in hbm:

  1. Size: 512B
     Operator: op_name=\"jit(oom_args)/slice\" stack_frame_id=3
     Shape: f32[1,1]{1,0:T(1,128)}
     XLA label: slice.8 = slice(a.2), slice={[0:1], [0:1]}
     Allocation type: HLO temp
";
    let json = ["oom", "-", "--dump", DUMP, "--format", "json"];
    let (out, _) = check(&json, text, 0);
    let answer: Value = serde_json::from_str(&out).expect("JSON");
    let failure = &answer["texts"][0]["failures"][0];
    let amounts = failure["amounts"].as_array().expect("a list");
    let told = amounts.iter().map(|amount| {
        let size = amount["sizes"][0]["text"].as_str();
        (amount["name"].as_str(), size, amount["at_least"].as_bool())
    });
    let told: Vec<_> = told.collect();
    assert_eq!(
        told,
        [
            (Some("Total hbm usage"), Some("20.25G"), Some(true)),
            (Some("reserved"), Some("258.00M"), Some(false)),
            (Some("arguments"), None, Some(false)),
            (Some("Output size"), None, Some(false)),
        ]
    );
    // The tables of the HLO text tell the line.
    let source = failure["entries"][0]["source"].as_str().expect("a source");
    assert!(source.ends_with("oom.py:17"), "{source}");
    let (out, _) = check(&["oom", "-", "--dump", DUMP], text, 0);
    for row in [
        "at least 20.25G  Total hbm usage",
        "unknown          arguments",
        "unknown          output",
    ] {
        assert!(out.contains(row), "{out}");
    }
}

#[test]
fn of_very_many_values_that_may_be_meant_the_first_are_told() {
    use std::fmt::Write;
    const COUNT: usize = 250;
    let (mut values, mut used) = (String::new(), String::new());
    for id in 0..COUNT {
        let offset = 512 * id;
        let value = format!("<{id} v.{id} @0>");
        let _ = writeln!(
            values,
            " value: {value} (size=512,offset={offset}): f32[128]{{0}}"
        );
        let _ = writeln!(
            used,
            "{value}\n positions:\n  v.{id}\n uses:\n from instruction: %v.{id} = f32[128]{{0}} constant(0)"
        );
    }
    let size = 512 * COUNT;
    let dump = format!(
        "BufferAssignment:\nallocation 0: size {size}, preallocated-temp:\n{values}\n\
         Total bytes used: {size} (125.0KiB)\n\nUsed values:\n{used}"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("module_0000.m-buffer-assignment.txt");
    fs::write(&path, dump).expect("a file");
    let path = path.to_str().expect("a path");
    let text = "\
Ran out of memory in memory space hbm. Used 20.00G of 15.75G hbm. Exceeded hbm capacity by 4.25G.
  Largest program allocations in hbm:
  1. Size: 512B
     Shape: f32[128]
     Allocation type: HLO temp
  2. Size: 512B
     Shape: f32[128]{0}
     Allocation type: HLO temp
  3. Size: 513B
     Shape: f32[128]
     Allocation type: HLO temp
  4. Size: 512B
     Shape: f32[12]
     Allocation type: HLO temp
";
    let found = failure(&["oom", "-", "--dump", path, "--format", "json"], text);
    let entries = found["entries"].as_array().expect("a list");
    let told = entries.iter().map(|entry| {
        let values = entry["values"].as_array().map(Vec::len);
        (values, entry["values_left_out"].as_u64())
    });
    let (some, none) = ((Some(100), Some(150)), (Some(0), Some(0)));
    assert_eq!(told.collect::<Vec<_>>(), [some, some, none, none]);
    let (out, _) = check(&["oom", "-", "--dump", path], text, 0);
    assert_eq!(out.matches("0? +249").count(), 2, "{out}");
}

#[test]
fn a_memory_space_has_one_spelling_and_a_list_of_dumps_its_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = folder.path().join("error.txt");
    fs::write(&text, LISTED.replace("jit(oom_args)/slice", "")).expect("a file");
    for number in 0..7 {
        let name = format!("module_000{number}.jit_f.after_optimizations-buffer-assignment.txt");
        fs::write(folder.path().join(name), "BufferAssignment:\n").expect("a file");
    }
    let (out, _) = check(&["oom", text.to_str().expect("a path")], "", 0);
    assert!(out.contains("out of HBM:"), "{out}");
    let out = out.replace('\n', " ");
    assert!(out.contains("assignment.txt and 2 more."), "{out}");
}
