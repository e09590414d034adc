//! What is damaged gives one finding, on its line or with it related, however much depends on it.

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
        ["report-total"],
        "space 1 is missing"
    );
    let older = "Total bytes used: 36864 (36.0KiB)\n\nAllocations sorted by size:\n\ncumulative_size; total_size - cumulative_size; allocation\n------------------------------------------------------------------------------\n";
    assert_eq!(codes(&[CONCAT, older]), ["truncated"]);
}

#[test]
fn a_log_with_several_dumps_is_no_contradiction() {
    let wrapped = format!("*** Begin a.txt ***\n{CONCAT}*** End a.txt ***\n");
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
