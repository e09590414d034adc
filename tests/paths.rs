//! Which dumps files, folders and patterns on the command line name.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::cli::{PLANTED, STEM, check, findings, sound, texts};
use crate::support::root;

#[test]
fn a_named_file_that_is_no_dump_is_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    fs::write(&path, "What I did on Monday\n").unwrap();
    let path = path.to_str().unwrap();
    let found = findings(&[path], 1);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        (&found[0]["line"], &found[0]["file"]),
        (&Value::from(1), &Value::from(path))
    );
    let (out, _) = check(&["check", folder.path().to_str().unwrap()], 0);
    assert_eq!(out, "no dump was checked\n");
}

#[test]
fn a_folder_is_searched_for_dumps_alone() {
    let (good, bad) = texts();
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    for below in ["ignored", ".hidden/deep", "a b:7:7", "other"] {
        fs::create_dir_all(at(below)).unwrap();
    }
    fs::write(at(".gitignore"), "ignored\n*.txt\n").unwrap();
    fs::write(
        at("ignored/module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt"),
        &good,
    )
    .unwrap();
    fs::write(
        at(".hidden/deep/module_0002.jit_g.after_optimizations-buffer-assignment.txt"),
        &good,
    )
    .unwrap();
    fs::write(at("a b:7:7/renamed.txt"), &bad).unwrap();
    fs::write(at("other/second.txt"), &bad).unwrap();
    fs::write(at("other/binary.pb"), [0, 159, 146, 150, 10]).unwrap();
    fs::write(at("other/notes.txt"), "allocation is hard\n").unwrap();
    fs::write(at("other/quote.md"), &bad).unwrap();
    fs::write(at("other/empty.txt"), "").unwrap();
    #[cfg(unix)]
    {
        // Neither waited for, nor followed in circles, nor taken for lost dumps.
        let made = Command::new("mkfifo").arg(at("other/pipe.txt")).status();
        assert!(made.is_ok_and(|status| status.success()));
        std::os::unix::fs::symlink(folder.path(), at("other/circle")).unwrap();
        std::os::unix::fs::symlink("nowhere", at("other/link.txt")).unwrap();
    }
    let folder = folder.path().to_str().unwrap();
    let (out, err) = check(&["check", folder], 1);
    assert!(out.ends_with("\n2 errors in 4 dumps\n"), "{out}");
    assert_eq!(err, "");
    let found = findings(&[folder], 1);
    let files: Vec<&str> = found
        .iter()
        .map(|finding| finding["file"].as_str().unwrap())
        .collect();
    assert_eq!(
        files,
        [
            format!("{folder}/a b:7:7/renamed.txt"),
            format!("{folder}/other/second.txt")
        ]
    );
    // The same once more, whoever was the fastest.
    assert_eq!(check(&["check", folder], 1).0, out);
}

#[test]
fn stages_of_compilation_are_no_dumps() {
    let folder = tempfile::tempdir().unwrap();
    let fixtures = root().join("tests/fixtures/readme");
    for (from, to) in [
        ("-buffer-assignment", "-buffer-assignment"),
        ("", ""),
        ("", "_before_buffer_assignment"),
    ] {
        let to = folder.path().join(format!("{STEM}{to}.txt"));
        fs::copy(fixtures.join(format!("{STEM}{from}.txt")), to).unwrap();
    }
    let (out, _) = check(&["check", folder.path().to_str().unwrap()], 0);
    assert_eq!(out, "no findings in 1 dump and 1 HLO text\n");
}

#[test]
fn what_holds_no_dump_is_not_found_to_be_sound() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("a file");
        path.to_str().expect("a path").to_owned()
    };
    let message = "Ran out of memory in memory space hbm. Used 2.0K of 1.0K hbm.\n";
    for name in ["notes.md", "module_0001.jit_f.txt"] {
        let (out, err) = check(&["check", &file(name, message)], 2);
        assert_eq!(out, "no dump was checked\n");
        assert!(err.contains("`buflens oom` explains it"), "{err}");
    }
    let heading = file("a-buffer-assignment.txt", "BufferAssignment:\n");
    let (out, _) = check(&["check", &heading], 1);
    assert!(out.contains("ends before its first allocation"), "{out}");
}

#[test]
fn a_dump_is_checked_once_however_often_it_is_named() {
    let module = format!("tests/fixtures/readme/{STEM}.txt");
    let report = format!("tests/fixtures/readme/../readme/{STEM}-memory-usage-report.txt");
    let (out, _) = check(&["check", &sound(), &module, &report, &sound()], 0);
    assert_eq!(out, "no findings in 1 dump\n");
    let (out, _) = check(
        &[
            "check",
            "tests/fixtures/readme",
            PLANTED,
            "./tests/fixtures/readme/",
        ],
        1,
    );
    assert!(out.ends_with("1 error in 2 dumps\n"), "{out}");
}

#[test]
fn siblings_take_part() {
    let folder = tempfile::tempdir().unwrap();
    let name = |suffix: &str| folder.path().join(format!("{STEM}{suffix}.txt"));
    let fixtures = root().join("tests/fixtures/readme");
    for suffix in ["-buffer-assignment", "-memory-usage-report"] {
        fs::copy(fixtures.join(format!("{STEM}{suffix}.txt")), name(suffix)).unwrap();
    }
    let report = fs::read_to_string(name("-memory-usage-report")).unwrap();
    fs::write(
        name("-memory-usage-report"),
        report.replacen("3948076", "3948077", 1),
    )
    .unwrap();
    let found = findings(&[name("-buffer-assignment").to_str().unwrap()], 1);
    assert!(!found.is_empty());
    assert_eq!(
        found[0]["file"],
        name("-memory-usage-report").to_str().unwrap()
    );
}

#[test]
fn a_file_that_is_not_what_its_name_says_is_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let name = |suffix: &str| folder.path().join(format!("{STEM}{suffix}.txt"));
    fs::write(name("-buffer-assignment"), texts().0).unwrap();
    fs::write(name("-live-range"), "the disk was full").unwrap();
    let found = findings(&[folder.path().to_str().unwrap()], 1);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["file"], name("-live-range").to_str().unwrap());
}

/// A shell, or who has none that expands patterns, names more than parts of dumps.
#[test]
fn a_pattern_or_a_beginning_names_a_dump() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |suffix: &str| {
        let path = folder.path().join(format!("{STEM}{suffix}"));
        path.to_str().expect("a path").to_owned()
    };
    let (good, _) = texts();
    fs::write(at("-buffer-assignment.txt"), good).expect("a file");
    let program = STEM.split_once(".cl_").expect("a change list").0;
    let other = |suffix: &str| {
        let path = folder.path().join(format!("{program}.{suffix}"));
        path.to_str().expect("a path").to_owned()
    };
    fs::write(other("flagfile"), "--a=1\n").expect("a file");
    let module = root().join(format!("tests/fixtures/readme/{STEM}.txt"));
    fs::copy(module, other("before_optimizations.txt")).expect("a file");
    let expanded = [
        at("-buffer-assignment.txt"),
        other("before_optimizations.txt"),
        other("flagfile"),
    ];
    let beginning = folder.path().join("module_0022");
    let beginning = beginning.to_str().expect("a path");
    let pattern = format!("{beginning}*");
    for paths in [
        &expanded.each_ref().map(String::as_str)[..],
        &[beginning],
        &[&pattern],
        &[&at("")],
    ] {
        for command in ["summary", "ls", "peak", "padding", "audit"] {
            let (out, err) = check(&[&[command], paths].concat(), 0);
            assert!(
                out.contains("jit_mlp_fwd") && err.is_empty(),
                "{command}: {err}"
            );
        }
        let (out, err) = check(&[&["check"], paths].concat(), 0);
        assert!(
            out.starts_with("no findings in 1 dump") && err.is_empty(),
            "{out}{err}"
        );
    }
    let (out, _) = check(&["diff", beginning, &pattern], 0);
    assert!(out.contains("nothing changed"), "{out}");
    let (_, err) = check(&["summary", &beginning[..beginning.len() - 1]], 2);
    assert!(err.contains("No such file"), "{err}");
    // What somebody names alone is said to be no dump.
    check(&["summary", &expanded[1]], 2);
    check(&["check", &expanded[2]], 1);
}
