//! `buflens ls`, run as a process.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::support::command::{Output, run};
use crate::support::dumps::fixtures;

const LIMIT: Duration = Duration::from_secs(60);

fn ls(arguments: &[&str]) -> Output {
    run(["ls"].iter().chain(arguments), LIMIT)
}

fn json(path: &Path) -> (Value, Output) {
    let output = ls(&[&path.to_string_lossy(), "--format", "json"]);
    let answer = serde_json::from_str(&output.stdout).expect("JSON");
    (answer, output)
}

#[test]
fn fixtures_are_listed_without_problems() {
    let (answer, output) = json(&fixtures());
    assert_eq!((output.code, answer["schema"].as_u64()), (Some(0), Some(1)));
    let all = answer["compilations"].as_array().expect("a list");
    assert!(all.len() > 40, "{}", all.len());
    for listed in all {
        assert_eq!(listed["problems"], Value::Array(vec![]), "{listed:#}");
        assert!(listed["file_bytes"].as_u64() > Some(0), "{listed:#}");
        let count = |key: &str| listed[key].as_array().expect("a list").len();
        assert_eq!(count("there") + count("missing"), 5, "{listed:#}");
    }
    let stems: Vec<&str> = all.iter().filter_map(|it| it["stem"].as_str()).collect();
    assert!(stems.is_sorted());
}

#[test]
fn every_format_has_every_compilation_and_peaks_sort() {
    let folder = fixtures().join("tpu-split");
    let folder = folder.to_string_lossy();
    let count = json(Path::new(&*folder)).0["compilations"]
        .as_array()
        .expect("a list")
        .len();
    for format in ["text", "csv", "markdown", "html"] {
        let output = ls(&[&folder, "--format", format, "--sort", "peak"]);
        assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
        let modules = output.stdout.matches("jit_").count();
        assert!(modules >= count, "{format}: {modules}");
        if format == "text" {
            let widest = output.stdout.lines().map(|it| it.chars().count()).max();
            assert!(widest <= Some(80), "{}", output.stdout);
        }
    }
    let output = ls(&[
        &folder, "--format", "json", "--sort", "peak", "--limit", "2",
    ]);
    let answer: Value = serde_json::from_str(&output.stdout).expect("JSON");
    let peak = |at: usize| {
        let listed = &answer["compilations"][at];
        listed["spaces"][0]["peak"]["occupied_bytes"]
            .as_u64()
            .expect("a peak")
    };
    assert!(peak(0) >= peak(1));
    assert_eq!(answer["compilations"].as_array().map(Vec::len), Some(2));
}

#[test]
fn what_is_wrong_with_files_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(format!("module_0001.{name}.txt"));
        fs::write(path, text).expect("a file");
    };
    let assignment = "BufferAssignment:\nallocation 0: size 8, preallocated-temp:\n value: <0 b @0> (size=4,offset=0): f32[]\n value: <1 c @0> (size=4,offset=4): f32[]\n";
    write("jit_twice.x-buffer-assignment", &assignment.repeat(2));
    write(
        "jit_values.x-buffer-assignment-values",
        "Total bytes used: 4 (4B)\n\nUsed values:\n",
    );
    write("jit_stage.x-buffer-assignment", assignment);
    write(
        "jit_stage.x",
        "HloModule f\n\nENTRY e {\n  d = f32[] constant(1)\n}\n",
    );
    write("jit_stage.before_optimizations", "HloModule f\n");
    write("jit_alone.before_optimizations", "HloModule f\n");
    let (answer, output) = json(folder.path());
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let of = |name: &str| {
        let mut all = answer["compilations"].as_array().expect("a list").iter();
        let is_it = |listed: &&Value| listed["stem"].as_str().is_some_and(|it| it.contains(name));
        all.find(is_it).expect("it is listed").clone()
    };
    let problem = |name: &str| {
        of(name)["problems"][0]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert!(problem("jit_twice").contains("2 assignments"));
    assert!(problem("jit_values").contains("no assignment beside the values"));
    assert!(problem("jit_stage").contains("HLO text"));
    assert_eq!(of("jit_stage")["stage_texts"], 1);
    let alone = answer["texts_alone"].as_array().expect("a list");
    assert_eq!(alone.len(), 1);
    let text = ls(&[&folder.path().to_string_lossy()]).stdout;
    assert!(text.contains("3 compilations, 3 with problems"), "{text}");
    assert!(
        text.contains("Problems") && text.contains("1 HLO text"),
        "{text}"
    );
}

#[test]
fn a_memory_space_that_no_dump_has_sorts_nothing() {
    let dumps = fixtures().join("tpu-split").display().to_string();
    let summary = |space| {
        run(
            ["summary", &dumps, "--space", space],
            Duration::from_secs(60),
        )
    };
    let output = summary("9");
    assert_eq!(output.code, Some(2));
    let told = "no dump has memory space 9";
    assert!(output.stderr.contains(told), "{}", output.stderr);
    assert_eq!(summary("VMEM").code, Some(0));
}

#[test]
fn many_files_that_are_no_dumps_and_folders_that_are_closed() {
    let folder = tempfile::tempdir().expect("a folder");
    for number in 0..100 {
        let below = folder.path().join(number.to_string());
        fs::create_dir(&below).expect("a folder");
        for file in 0..100 {
            fs::write(below.join(format!("{file}.txt")), "notes\n").expect("a file");
        }
    }
    let output = ls(&[&folder.path().to_string_lossy()]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), ""));
    assert!(output.stderr.contains("no dump"), "{}", output.stderr);
    let nowhere = folder.path().join("nowhere");
    let output = ls(&[&nowhere.to_string_lossy()]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("nowhere"), "{}", output.stderr);
}

#[test]
fn a_file_of_another_compilation_is_told_and_left_out() {
    const PARTS: [&str; 5] = [
        "-buffer-assignment",
        "-buffer-assignment-values",
        "-live-range",
        "-memory-usage-report",
        "",
    ];
    let of = |program: &str, part: &str| {
        let name = format!("{program}.cpu_after_optimizations{part}.txt");
        let text = fs::read_to_string(fixtures().join("cpu-split").join(name));
        text.expect("a fixture")
    };
    for strange in &PARTS[1..] {
        let [mixed, sound] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let write = |folder: &Path, part: &str, text: &str| {
            let path = folder.join(format!(
                "module_0001.jit_f.cpu_after_optimizations{part}.txt"
            ));
            fs::write(path, text).expect("a file");
        };
        for part in PARTS {
            let own = of("module_0012.jit_mlp_sgd", part);
            if part == *strange {
                let other = of("module_0016.jit_attention_grad", part);
                write(mixed.path(), part, &other);
            } else {
                write(mixed.path(), part, &own);
                write(sound.path(), part, &own);
            }
        }
        let (answer, output) = json(mixed.path());
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        let problems = &answer["compilations"][0]["problems"];
        let problems = problems.as_array().expect("a list");
        let name = format!("optimizations{strange}.txt");
        let told = |text: &str| text.contains(&name) && text.contains("of another compilation");
        assert!(
            matches!(&problems[..], [one] if one.as_str().is_some_and(told)),
            "{problems:#?}"
        );
        // In whatever order the files are found, all answers are those without the stranger.
        for command in ["summary", "peak", "padding", "audit", "export"] {
            let of = |folder: &Path| {
                let path = folder.to_string_lossy().into_owned();
                let output = run([command, &path, "--format", "json"], LIMIT);
                (output.stdout.replace(&path, "DIR"), output)
            };
            let ((mixed, output), (sound, _)) = (of(mixed.path()), of(sound.path()));
            assert_eq!(mixed, sound, "{command} {strange}");
            assert_eq!(output.code, Some(2), "{command}: {}", output.stderr);
            assert!(told(&output.stderr), "{command}: {}", output.stderr);
        }
    }
}

#[test]
fn texts_without_a_compilation_are_counted_and_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "HloModule m\n\nENTRY main {\n  ROOT a = f32[2] parameter(0)\n}\n";
    fs::write(folder.path().join("kept.hlo"), text).expect("a file");
    let wrong = text.replace("ROOT a = f32[2] parameter(0)", "ROOT a = f32[2] negate(b)");
    fs::write(folder.path().join("wrong.hlo"), wrong).expect("a file");
    let path = folder.path().to_string_lossy();
    let output = ls(&[&path]);
    assert_eq!(output.code, Some(0));
    assert!(
        output
            .stderr
            .contains("`buflens check` reads the 2 HLO texts there"),
        "{}",
        output.stderr
    );
    let checked = run(["check", &path], LIMIT);
    assert_eq!(checked.code, Some(1), "{}", checked.stdout);
    assert!(
        checked.stdout.contains("unresolved-name"),
        "{}",
        checked.stdout
    );
    assert!(
        checked.stdout.contains("wrong.hlo:4:"),
        "{}",
        checked.stdout
    );
}
