//! What is damaged gives one finding, on its line or with it related, however much depends on it.

use std::path::PathBuf;

use super::{CONCAT, CONCAT_REPORT, Code, check, dump, finds};

#[test]
fn a_step_of_a_wrong_name() {
    let finding = finds(
        &[CONCAT],
        "    4:wrapped_convert.1\n",
        "    4:other.1\n",
        "sequence",
    );
    assert!(
        finding.message.contains("`wrapped_convert.1` is expected"),
        "{}",
        finding.message
    );
    // A parameter lives from the first step on, so its own is known by what is strange.
    finds(&[CONCAT], "    1:args_1_.1\n", "    1:other\n", "sequence");
    // The wrong one of two equal names is that at which the other begins to live.
    finds(
        &[CONCAT],
        "    4:wrapped_convert.1\n",
        "    4:concatenate.1\n",
        "sequence",
    );
    finds(
        &[CONCAT],
        "    6:concatenate.1\n",
        "    6:wrapped_convert.1\n",
        "sequence",
    );
}

#[test]
fn a_value_of_a_wrong_name_or_index() {
    finds(
        &[CONCAT],
        "value: <13 wrapped_convert.2 @0>",
        "value: <13 other.2 @0>",
        "value-mismatch",
    );
    finds(
        &[CONCAT],
        "value: <13 wrapped_convert.2 @0>",
        "value: <13 wrapped_convert.2{0} @0>",
        "value-mismatch",
    );
    // The name of another value: the first position tells that the id is right.
    finds(
        &[CONCAT],
        "\n<13 wrapped_convert.2 @0>",
        "\n<13 concatenate.1 @0>",
        "value-mismatch",
    );
}

#[test]
fn headings_and_headers_that_are_damaged() {
    for (from, to) in [
        ("  BufferLiveRange:\n", "  BufferLiveRnge:\n"),
        ("  InstructionSequence:\n", "  InstructionSequenc:\n"),
        (
            "  Live ranges at 7 (peak):\n",
            "  Live rnges at 7 (peak):\n",
        ),
        ("Used values:\n", "Used vlues:\n"),
        ("allocation 4: size 23040", "allocation x: size 23040"),
        ("allocation 4: size 23040", " allocation 4: size 23040"),
        ("    args_1_.1{}:0-8\n", "    args_1_.1{}:-8\n"),
        ("    args_1_.1{}:0-8\n", "    args_1_.1{}:0-\n"),
        (
            "    args_1_.1{}:0-8\n",
            "    args_1_.1{}:18446744073709551616-8\n",
        ),
        (
            "    5:wrapped_convert.2\n",
            "    55555555555555555555:wrapped_convert.2\n",
        ),
        ("value: <13 wrapped", "value: <99999999999999999999 wrapped"),
    ] {
        finds(&[CONCAT, CONCAT_REPORT], from, to, "syntax");
    }
    // Blanks behind a heading are none of it.
    for heading in [
        "BufferAssignment:",
        "Used values:",
        "  InstructionSequence:",
        "  BufferLiveRange:",
    ] {
        let text = CONCAT.replacen(&format!("{heading}\n"), &format!("{heading} \n"), 1);
        let found: Vec<_> = check(&dump(&[&text]))
            .into_iter()
            .map(|it| it.code.name())
            .collect();
        assert_eq!(found, ["xla-peak-step"], "{heading}");
    }
}

#[test]
fn allocations_of_another_kind() {
    let finding = finds(
        &[CONCAT, CONCAT_REPORT],
        "size 23040, preallocated-temp:",
        "size 23040, preallocated-tem:",
        "allocation-kind",
    );
    assert_eq!(finding.fix, None);
    finds(
        &[CONCAT],
        "|bf16[4,864]|, maybe-live-out:",
        "|bf16[4,864]|, maybe-live-out, constant:",
        "allocation-kind",
    );
    let texts = fixture(DONATED, &["buffer-assignment"]);
    let header = texts[0].lines().find(|line| is_donated(line));
    let header = header.expect("a donated parameter");
    let finding = finds(
        &[&texts[0]],
        header,
        &header.replace(", maybe-live-out", ""),
        "allocation-kind",
    );
    assert!(finding.message.contains("donated"), "{}", finding.message);
    finds(
        &[CONCAT],
        "size 23040, preallocated-temp:",
        "size 23040:",
        "allocation-kind",
    );
}

/// A training step, whose parameters are donated.
const DONATED: &str = "cpu-split/module_0012.jit_mlp_sgd.cpu_after_optimizations";

fn is_donated(header: &str) -> bool {
    header.contains(", parameter ") && header.contains("maybe-live-out")
}

#[test]
fn headers_of_parameters_and_outputs() {
    for (from, to) in [
        (
            "parameter 1, shape |bf16[4,288]| at ShapeIndex {}",
            "parameter 1, shape |bf16[4,288]| at ShapeIndex {1}",
        ),
        (
            "size 23040, preallocated-temp:",
            "size 23040, output shape is |bf16[4,9]|, preallocated-temp:",
        ),
    ] {
        finds(&[CONCAT], from, to, "output-shape");
    }
}

#[test]
fn values_in_another_order_or_in_no_allocation() {
    let lines = " value: <11 wrapped_convert.1 @0> (size=4608,offset=13824): f32[4,288]{1,0}\n value: <13 wrapped_convert.2 @0> (size=4608,offset=18432): f32[4,288]{1,0}\n";
    let (first, second) = lines.split_at(lines.find('\n').expect("two lines") + 1);
    finds(
        &[CONCAT],
        lines,
        &format!("{second}{first}"),
        "unknown-value",
    );
    let from = "allocation 0: size 6912, output shape is |bf16[4,864]|, maybe-live-out:\n value: <9 wrapped_convert @0> (size=4608,offset=0): f32[4,288]{1,0}\n";
    let (header, value) = from.split_at(from.find('\n').expect("two lines") + 1);
    finds(
        &[CONCAT],
        from,
        &format!("{value}{header}"),
        "unknown-value",
    );
}

#[test]
fn lines_of_the_peak_list() {
    finds(
        &[CONCAT],
        "    args_1_.1{}: 2304 bytes",
        "    wrapped_convert{}: 2304 bytes",
        "peak-members",
    );
    let text = CONCAT.replacen(
        "    wrapped_convert.3{}: 6912 bytes (cumulative: 20736 bytes)\n",
        "",
        1,
    );
    let found: Vec<_> = check(&dump(&[&text]))
        .into_iter()
        .map(|it| it.code.name())
        .collect();
    assert_eq!(found, ["peak-members"]);
}

#[test]
fn what_a_file_lacks_or_has_twice() {
    let codes = |texts: &[&str]| -> Vec<_> {
        check(&dump(texts))
            .into_iter()
            .map(|it| it.code.name())
            .collect()
    };
    let total = CONCAT.replacen("Total bytes used: 36864 (36.0KiB)\n", "", 1);
    assert_eq!(codes(&[&total]), ["truncated"]);
    let (assignment, report) = (
        CONCAT
            .replacen(
                "allocation 3: size 2304,",
                "allocation 3: size 2304, color 1,",
                1,
            )
            .replacen("<12 args_2_.1 @0> (size", "<12 args_2_.1 @1> (size", 1)
            .replacen("<12 args_2_.1 @0>\n", "<12 args_2_.1 @1>\n", 1)
            .replacen(
                "(size=2304,offset=0): bf16[4,288]{1,0}\nallocation 4",
                "(size=2304,offset=0): bf16[4,288]{1,0:S(1)}\nallocation 4",
                1,
            )
            .replacen(
                "%args_2_.1 = bf16[4,288]{1,0}",
                "%args_2_.1 = bf16[4,288]{1,0:S(1)}",
                1,
            ),
        CONCAT_REPORT.replacen(
            "Total bytes: 36864 (36.0KiB)",
            "Total bytes: 34560 (33.8KiB)",
            1,
        ),
    );
    let end = report.rfind("\n  cumulative_size").expect("tables");
    assert_eq!(
        codes(&[&assignment, &report[..end]]),
        ["truncated"],
        "space 1 is missing"
    );
    let older = "Total bytes used: 36864 (36.0KiB)\n\nAllocations sorted by size:\n\ncumulative_size; total_size - cumulative_size; allocation\n------------------------------------------------------------------------------\n";
    assert_eq!(codes(&[CONCAT, older]), ["truncated"]);
}

#[test]
fn a_log_with_several_dumps_is_no_contradiction() {
    const REPORT: &str = "Total bytes used: 36864 (36.0KiB)\n\nAllocations sorted by size:\n";
    const HLO: &str =
        "HloModule jit_f\n\nENTRY %main () -> f32[] {\n  ROOT %a = f32[] constant(1)\n}\n";
    // As compilers write their files to standard output: also those that are no part of a dump.
    let wrapped = format!(
        "*** Begin a.before_optimizations.txt ***\n{HLO}*** End a.before_optimizations.txt ***\n\
         loss: 0.5\n\
         *** Begin a.ir-no-opt.ll ***\ndefine i32 @main() {{\n}}\n*** End a.ir-no-opt.ll ***\n\
         *** Begin a-buffer-assignment.txt ***\n{CONCAT}*** End a-buffer-assignment.txt ***\n\
         *** Begin a-memory-usage-report.txt ***\n{REPORT}*** End a-memory-usage-report.txt ***\n\
         allocation 7: of memory failed\n"
    );
    let codes = |text: &str| -> Vec<Code> {
        let findings = check(&dump(&[text]));
        findings.iter().map(|finding| finding.code).collect()
    };
    assert_eq!(codes(&wrapped), [Code::XlaPeakStep]);
    // But it is told that the others are not read.
    assert_eq!(
        codes(&format!("{wrapped}{wrapped}")),
        [Code::XlaPeakStep, Code::SecondDump]
    );
}

/// The files of a real dump, by what stands behind its stem.
fn fixture(stem: &str, suffixes: &[&str]) -> Vec<String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/dumps");
    let read = |suffix: &&str| {
        let path = folder.join(format!("{stem}-{suffix}.txt"));
        std::fs::read_to_string(path).expect("a fixture")
    };
    suffixes.iter().map(read).collect()
}

const LOOP: &str = "cpu-split/module_0047.jit_scan_cumsum.cpu_after_optimizations";

/// Whatever name or index of a value the assignment has, its live range is that of those below `Used values:`.
#[test]
fn a_wrong_name_in_the_assignment_leaves_no_live_range_over() {
    let suffixes = [
        "buffer-assignment",
        "buffer-assignment-values",
        "live-range",
    ];
    let texts = fixture(LOOP, &suffixes);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    for (from, to, code) in [
        (
            "<54 while.6{2} (phi)",
            "<54 while.6{1} (phi)",
            "value-mismatch",
        ),
        (
            "<33 constant.11 @0>",
            "<33 xonstant.11 @0>",
            "value-mismatch",
        ),
        ("<40 tuple.5{} @0>", "<40 tuple.7{} @0>", "value-mismatch"),
    ] {
        finds(&texts, from, to, code);
    }
}

#[test]
fn a_value_at_the_offset_of_others_is_one_finding_in_the_report() {
    let texts = fixture(LOOP, &["buffer-assignment", "memory-usage-report"]);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let finding = finds(
        &texts,
        "<52 while.6{0} (phi) @0> (size=4,offset=4224)",
        "<52 while.6{0} (phi) @0> (size=4,offset=4160)",
        "report-total",
    );
    let related: Vec<&str> = finding.related.iter().map(|it| &*it.1).collect();
    assert!(
        related.contains(&"5 values at offset 4224 where the assignment has 4"),
        "{related:?}"
    );
}

#[test]
fn rows_below_the_header_of_another_allocation_are_not_compared_with_its_values() {
    let stem = "cpu-combined/module_0015.jit_attention.cpu_after_optimizations";
    let texts = fixture(stem, &["memory-usage-report", "buffer-assignment"]);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    finds(
        &texts,
        "\nallocation 0: size",
        "\nallocation 12: size",
        "report-total",
    );
}

#[test]
fn a_missing_or_doubled_line_of_the_breakdown() {
    let texts = fixture(LOOP, &["live-range"]);
    let lines: Vec<&str> = texts[0].split_inclusive('\n').collect();
    // One without bytes of its own is missed by nobody.
    let is_node =
        |at: &usize| lines[*at].contains("remaining: ") && !lines[*at].contains("current: 0 bytes");
    for at in (0..lines.len()).filter(is_node) {
        for times in [0, 2] {
            let text: String = lines
                .iter()
                .enumerate()
                .flat_map(|(other, line)| vec![*line; if other == at { times } else { 1 }])
                .collect();
            let findings = check(&dump(&[&text]));
            let codes: Vec<Code> = findings.iter().map(|finding| finding.code).collect();
            // What is missing behind the last line stands behind the end of the file.
            let is_cut = times == 0 && lines[at..].iter().skip(1).all(|it| it.trim().is_empty());
            let code = if is_cut {
                Code::Truncated
            } else {
                Code::TreeBytes
            };
            assert_eq!(codes, [code], "{times} of {}", lines[at]);
            assert_eq!(findings[0].fix, None);
        }
    }
}

#[test]
fn a_step_that_is_no_instruction_of_the_hlo_text() {
    let mut texts = fixture(LOOP, &["live-range"]);
    let module = format!("{LOOP}.txt");
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/dumps");
    texts.push(std::fs::read_to_string(folder.join(module)).expect("a fixture"));
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let finding = finds(
        &texts,
        "    13:get-tuple-element.19\n",
        "    13:get-tuple-element.91\n",
        "sequence",
    );
    assert!(
        finding
            .message
            .contains("`get-tuple-element.91` runs at step 13"),
        "{}",
        finding.message
    );
}

#[test]
fn numbers_of_more_than_32_bits_are_told_whole() {
    for number in [u64::from(u32::MAX), 1 << 32, 5_000_000_000] {
        let step = format!("    {number}:wrapped_convert.1\n");
        let finding = finds(&[CONCAT], "    4:wrapped_convert.1\n", &step, "sequence");
        let expected = format!("step {number} where step 4 is expected");
        assert!(finding.message.contains(&expected), "{}", finding.message);
        let header = format!("parameter {number}, shape");
        let finding = finds(&[CONCAT], "parameter 0, shape", &header, "output-shape");
        let expected = format!("parameter {number} where");
        assert!(finding.message.contains(&expected), "{}", finding.message);
    }
}

/// With `xla_tpu_buffer_isolation_config` a buffer has 16 KiB for itself.
#[test]
fn a_buffer_that_the_compiler_isolates() {
    let codes = |size: u64, total: u64| -> Vec<_> {
        let text = format!(
            "BufferAssignment:\nallocation 0: size {size}, preallocated-temp:\n value: <1 a @0> (size=512,offset=16384): \
             s32[]{{:T(128)}}\n\nTotal bytes used: {total} (32.0KiB)\n\nUsed values:\n"
        );
        let findings = check(&dump(&[&text]));
        let codes = findings.into_iter().map(|it| it.code.name());
        codes.filter(|&code| code == "allocation-size").collect()
    };
    assert_eq!(codes(32768, 32768), [""; 0]);
    assert_eq!(
        codes(32768, 16896),
        ["allocation-size"],
        "the total counts no room"
    );
    assert_eq!(codes(32767, 32767), ["allocation-size"]);
}
