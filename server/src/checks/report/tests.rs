//! One changed number in a report gives one finding.

use std::path::PathBuf;

use crate::checks::check;
use crate::checks::tests::{CONCAT, CONCAT_REPORT, dump, finds};

#[test]
fn a_table_adds_up() {
    for (from, to) in [
        ("   18.0KiB( 80%)", "   18.1KiB( 80%)"),
        ("( 60%)", "( 61%)"),
        ("; f32[4,864]", "; f32[4,865]"),
        ("; bf16[4,864], f32[4,288]", "; bf16[4,863], f32[4,288]"),
    ] {
        finds(&[CONCAT_REPORT, CONCAT], from, to, "report-total");
    }
}

/// What follows from a memory space's wrong number, or from a value that is missing, is no finding of its own.
#[test]
fn one_cause_is_one_finding() {
    let found = finds(
        &[CONCAT_REPORT, CONCAT],
        "color=0",
        "color=1",
        "report-total",
    );
    assert_eq!(found.fix.expect("a fix").text, "0");
    let line = " value: <12 args_2_.1 @0> (size=2304,offset=0): bf16[4,288]{1,0}\n";
    let found = check(&dump(&[&CONCAT.replace(line, ""), CONCAT_REPORT]));
    let codes: Vec<&str> = found.iter().map(|finding| finding.code.name()).collect();
    assert_eq!(codes, ["unknown-value"]);
}

/// An allocation that grew since the report was written has another place among the tables, and moves those between.
#[test]
fn an_allocation_that_grew_is_one_finding() {
    let folder =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/dumps/new-report");
    let read = |part: &str| {
        let name = format!("module_0085.jit_reductions.cpu_after_optimizations-{part}.txt");
        std::fs::read_to_string(folder.join(name)).expect("a fixture")
    };
    let (assignment, report) = (read("buffer-assignment"), read("memory-usage-report"));
    let mut grown = assignment;
    for (from, to) in [
        ("allocation 2: size 4096,", "allocation 2: size 65536,"),
        (
            "ynn_fusion.2 @0> (size=4096,offset=0): f32[16,64]",
            "ynn_fusion.2 @0> (size=65536,offset=0): f32[256,64]",
        ),
        (
            "Total bytes used: 285742 (279.0KiB)",
            "Total bytes used: 347182 (339.0KiB)",
        ),
    ] {
        assert!(grown.contains(from), "{from}");
        grown = grown.replacen(from, to, 1);
    }
    let found = check(&dump(&[&grown, &report]));
    let of_report = found.iter().filter(|it| it.place.file == 1);
    let messages: Vec<&str> = of_report.map(|it| it.message.as_str()).collect();
    assert_eq!(
        messages,
        ["total of 285742 bytes where the allocations of memory space 0 add up to 347182"]
    );
}

/// The older form, with what it does not show, and a table of the newer that leaves out values.
#[test]
fn what_a_report_adds_up() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/dumps");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a fixture");
    let old = "old-report/module_0131.jit_many_params.cpu_after_optimizations";
    let (report, assignment) = (
        read(&format!("{old}-memory-usage-report.txt")),
        read(&format!("{old}-buffer-assignment.txt")),
    );
    for (from, to) in [
        (
            "   95.0KiB( 95%);     5.5KiB;",
            "   95.5KiB( 95%);     5.5KiB;",
        ),
        (
            "   95.0KiB( 95%);     5.5KiB;",
            "   95.0KiB( 94%);     5.5KiB;",
        ),
        (
            "   95.0KiB( 95%);     5.5KiB;",
            "   95.0KiB( 95%);     6.5KiB;",
        ),
        ("The rest 10 allocations", "The rest 11 allocations"),
        // A header is the assignment's, and there once.
        (
            "\nallocation 17: size 512B, parameter 183, shape |f32[8,16]|",
            "\nallocation 17: size 512B, parameter 183, shape |f32[8,17]|",
        ),
        (
            "\nallocation 17: size 512B, parameter 183,",
            "\nallocation 16: size 512B, parameter 184,",
        ),
        (
            "91.5KiB; allocation 17: size 512B, parameter 183,",
            "91.5KiB; allocation 16: size 512B, parameter 184,",
        ),
    ] {
        finds(&[&report, &assignment], from, to, "report-total");
    }
    let new = "tuple-heavy/module_0125.jit_train_tiny.cl_933746096.after_optimizations";
    let (report, assignment) = (
        read(&format!("{new}-memory-usage-report.txt")),
        read(&format!("{new}-buffer-assignment.txt")),
    );
    let rest = ("The rest 4 values", "The rest 5 values");
    finds(&[&report, &assignment], rest.0, rest.1, "report-total");
}

/// A value's size that its shape contradicts, and the report or the allocation with it, is wrong where it stands.
#[test]
fn a_size_that_two_others_contradict_is_the_values() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/dumps/donation");
    let read = |part: &str| {
        let name =
            format!("module_0669.jit_donated_inplace.cl_933746096.after_optimizations{part}.txt");
        std::fs::read_to_string(folder.join(name)).expect("a fixture")
    };
    let parts = ["-buffer-assignment", "-memory-usage-report", "-live-range"].map(read);
    let texts = parts.each_ref().map(String::as_str);
    for (from, size, changed) in [
        ("select_n.1 @0> (size=512,", "512", "513"),
        ("select_n.1 @0> (size=512,", "512", "256"),
        ("select_n.1 @0> (size=512,", "512", "4096"),
        // It ends with its allocation.
        ("and_reduce_fusion @0> (size=512,", "512", "256"),
        ("broadcast_select_fusion @1> (size=4096,", "4096", "2048"),
    ] {
        let found = finds(&texts, from, &from.replace(size, changed), "value-size");
        assert_eq!(found.place.file, 0);
        assert_eq!(found.related.len(), 2);
    }
}

#[test]
fn a_memory_space_stands_in_a_report_once_also_without_bytes() {
    let mut lines = CONCAT_REPORT.lines();
    let heading = lines
        .find(|line| line.contains("color=0"))
        .expect("a heading");
    let twice = CONCAT_REPORT.replacen(heading, &format!("{heading}\n{heading}"), 1);
    let found = check(&dump(&[&twice, CONCAT]));
    let messages: Vec<&str> = found.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(messages, ["this memory space stands here twice"]);
}
