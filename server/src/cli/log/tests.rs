//! Messages out of the logs that people have.

use super::*;

const TEXT: &str = "E: Ran out of memory in memory space hbm. Used 2.0K of 1.0K hbm.\n\n\
                    Largest program allocations in hbm:\n  1. Size: 512B\n     \
                    Operator: op_name=\"jit(f)/\\\"a\\\"\" source_file=\"C:\\\\new\\\\it.py\" source_line=3";

#[track_caller]
fn check(line: &str, expected: &str) {
    let log = Log::new(&format!("start\n{line}\nend\n")).expect("a small text");
    assert_eq!(
        log.document.text(),
        format!("start\n{expected}\nend\n"),
        "{line}"
    );
    let at = |words: &str| {
        let offset = log.document.text().find(words).expect("the words");
        log.line_at(offset as u32)
    };
    assert_eq!((at("Ran out"), at("source_line")), (1, 1));
    assert_eq!(at("end\n"), 2);
}

#[test]
fn a_message_has_its_lines_again() {
    let json = |text: &str| serde_json::to_string(text).expect("JSON");
    let record = |text: &str| format!("{{\"level\":\"error\",\"message\":{}}}", json(text));
    let once = record(TEXT);
    check(
        &once,
        &format!("{{\"level\":\"error\",\"message\":\"{TEXT}\"}}"),
    );
    let log = Log::new(&record(&once)).expect("a small text");
    assert!(log.document.text().contains(TEXT), "a record in a record");
    let python = TEXT.replace('\\', "\\\\").replace('\n', "\\n");
    check(
        &format!("raise XlaRuntimeError('{python}')"),
        &format!("raise XlaRuntimeError('{TEXT}')"),
    );
}

#[test]
fn records_of_one_line_each_are_lines() {
    let record = |line: &str| {
        let record =
            serde_json::json!({ "log": line, "stream": "stderr", "time": "2026-11-28T11:35:00Z" });
        format!("{record}\n")
    };
    let records: String = TEXT.split_inclusive('\n').map(record).collect();
    let log = Log::new(&format!("{{}}\n{{\"a\":1}}\n{records}")).expect("a small text");
    let text = log.document.text();
    assert_eq!(text, format!("{{}}\n{{\"a\":1}}\n{TEXT}\n"));
    let at = text.find("source_line").expect("the words");
    assert_eq!(log.line_at(at as u32), 6);
    // A message may stand in another part of the record.
    let record = serde_json::json!({ "message": "the step failed", "exc_info": TEXT }).to_string();
    let log = Log::new(&record).expect("a small text");
    assert!(
        log.document.text().contains(TEXT),
        "{}",
        log.document.text()
    );
}

#[test]
fn how_much_is_too_much_may_stand_on_the_next_line() {
    let broken = "E: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 84.05G of 15.75G hbm. Exceeded hbm\n\
                  capacity by 68.30G.\n\nTotal hbm usage >= 84.55G:\n";
    let log = Log::new(broken).expect("a small text");
    let failures = failures(&log.document);
    let message = failures[0].message.expect("a message");
    assert!(message.exceeded.is_some(), "{}", message.text);
}

#[test]
fn a_number_that_is_broken_is_one_again() {
    let whole = "E: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 41.88G of 15.75G hbm. Exceeded hbm \
                 capacity by 26.13G.";
    for prefix in ["", "> "] {
        for at in 40..whole.len() {
            let (one, other) = whole.split_at(at);
            let broken = format!("{prefix}{one}\n{prefix}{other}\n\nTotal hbm usage >= 42.00G:\n");
            let log = Log::new(&broken).expect("a small text");
            let failures = failures(&log.document);
            let sizes = failures[0]
                .message
                .map(|it| (it.wanted, it.available, it.exceeded));
            let [wanted, available, exceeded] =
                ["41.88G", "15.75G", "26.13G"].map(|it| Some(Printed(it)));
            assert_eq!(sizes, Some((wanted, available, exceeded)), "{broken}");
        }
    }
}

#[test]
fn what_a_log_says_between_the_lines_is_no_part_of_them() {
    let sums = [
        "Total hbm usage >= 42.00G:",
        "    reserved        258.00M ",
        "    program          41.88G ",
    ];
    let said = [
        "I0501 12:00:00.000001 77 foo.cc:1] 12.5G",
        "2026-05-01 12:00:00 INFO mem 12.5G",
        "step 7, mem 12.5G",
    ];
    for said in said {
        let text = format!("{}\n{said}\n", sums.join("\n"));
        let log = Log::new(&text).expect("a small text");
        assert_eq!(log.document.text(), text);
        let label = format!("     XLA label: a = b(c), \n{said}\n");
        let log = Log::new(&label).expect("a small text");
        assert_eq!(log.document.text() == label, !said.starts_with("step"));
    }
}

#[test]
fn a_message_about_one_allocation_is_one_again() {
    let whole = "E: RESOURCE_EXHAUSTED: Allocation (size=153600000000) would exceed memory (size=17179869184) :: \
                 #allocation10 [shape = 'f32[300000000,3]{1,0:T(8,128)}', space=hbm, tag = 'output of reshape.1@{}'] :: \
                 <no-hlo-instruction>";
    for width in [60, 72, 80, 100] {
        let lines: Vec<&str> = (0..whole.len())
            .step_by(width)
            .map(|at| &whole[at..whole.len().min(at + width)])
            .collect();
        let log = Log::new(&format!("start\n{}\nSee the end.\n", lines.join("\n")));
        let text = log.expect("a small text").document.text();
        assert!(
            text.contains("tag = 'output of reshape.1@{}']"),
            "{width}: {text}"
        );
    }
}

#[test]
fn a_sentence_that_is_broken_into_lines_is_one_again() {
    let whole = "E: RESOURCE_EXHAUSTED: E1000: Ran out of memory on HBM, the total memory required for \
                 HLO temporaries (80.63G) exceeds available HBM (15.75G). HLO module: jit_long_name.";
    let check = |prefix: &str, lines: &[&str], expected: &str| {
        let broken: Vec<String> = lines
            .iter()
            .map(|line| format!("{prefix}{line}\n"))
            .collect();
        let log = Log::new(&format!("start\n{}See the end.\n", broken.concat()));
        let log = log.expect("a small text");
        let text = log.document.text();
        assert_eq!(text, format!("start\n{prefix}{expected}\nSee the end.\n"));
        let at = |words: &str| log.line_at(text.find(words).expect("the words") as u32) as usize;
        assert_eq!((at(&expected[..7]), at("See the")), (1, 1 + lines.len()));
    };
    for width in [40, 55, 60, 70, 80, 100, 120] {
        let mut words: Vec<String> = Vec::new();
        for word in whole.split(' ') {
            match words
                .last_mut()
                .filter(|line| line.len() + word.len() < width)
            {
                Some(line) => {
                    line.push(' ');
                    line.push_str(word);
                }
                None => words.push(word.to_owned()),
            }
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        for prefix in [
            "",
            "> ",
            "[rank0]: ",
            "I1123 05:41:12.345 3 train.py:3] ",
            "[1,3]<stderr>:",
            "trainer-1  | ",
            "2025-11-28 11:35:00,123 - train - ERROR - ",
            "2025-11-28T11:35:00.123Z stderr F ",
        ] {
            check(prefix, &words, whole);
        }
    }
    for width in [40, 60, 72, 80] {
        let letters: Vec<&[u8]> = whole.as_bytes().chunks(width).collect();
        let letters = letters
            .into_iter()
            .map(|line| str::from_utf8(line).expect("ASCII"));
        check("", &letters.collect::<Vec<_>>(), whole);
    }
    let request = "Attempting to allocate 2.50G. That was not possible. There are 1.20G free.";
    let (first, other) = request.split_at(request.find("There").expect("the words"));
    check("", &[first.trim_end(), other], request);
    // Of two messages each has its own line, and what is no message has them all.
    check(
        "",
        &["RESOURCE_EXHAUSTED: a quota,", whole],
        &format!("RESOURCE_EXHAUSTED: a quota,\n{whole}"),
    );
    check(
        "",
        &["Ran out of", "disk (2.0G)."],
        "Ran out of\ndisk (2.0G).",
    );
}

#[test]
fn lines_of_the_list_that_a_terminal_broke_are_whole_again() {
    let path = format!("op_name=\"jit(f)/{}\"", "a".repeat(64));
    let (start, end) = path.split_at(TERMINAL);
    let broken = format!(
        "  1. Size: 512B\n     Operator: \n{start}\n{end} source_file=\"a.py\" \nsource_line=3\n     \
         Shape: (f32[8]{{0}}, \nf32[8]{{0}})\n     ==========\n\n  2. Size: 4B \nend\n"
    );
    let whole = format!(
        "  1. Size: 512B\n     Operator: {path} source_file=\"a.py\" source_line=3\n     \
         Shape: (f32[8]{{0}}, f32[8]{{0}})\n     ==========\n\n  2. Size: 4B \nend\n"
    );
    let log = Log::new(&broken).expect("a small text");
    assert_eq!(log.document.text(), whole);
    let at = |words: &str| log.line_at(whole.find(words).expect("the words") as u32);
    assert_eq!((at("source_line"), at("Shape"), at("end")), (1, 5, 10));
    let log = Log::new(&whole).expect("a small text");
    assert_eq!(log.document.text(), whole);
}

#[test]
fn a_terminal_of_any_width_is_found_by_what_it_broke() {
    let whole = "E: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 20.00G of 15.75G hbm. Exceeded hbm capacity by \
                 4.25G.\n\nTotal hbm usage >= 20.25G:\n    reserved        258.00M \n    HLO temp         20.00G (100.0% \
                 utilization: Unpadded (19.00G) Padded (19.00G), 1.0% fragmentation (384.06M))\n\n  Largest program \
                 allocations in hbm:\n\n  1. Size: 10.00G\n     Operator: op_name=\"jit(f)/transpose(jvp(bhqk,bkhd->bqhd))/\
                 dot_general/a\" source_file=\"/home/a/model.py\" source_line=30\n     Shape: f32[40,16384]{1,0:T(8,128)}\n     \
                 XLA label: custom-call.1 = custom-call(), custom_call_target=\"AllocateBuffer\", operands={a, b, c, d}\n";
    let said = |text: &str| {
        let log = Log::new(text).expect("a small text");
        let failures = failures(&log.document);
        let message = failures[0].message.map(|it| {
            (
                it.wanted.map(|it| it.0.to_owned()),
                it.exceeded.map(|it| it.0.to_owned()),
            )
        });
        let amounts: Vec<_> = failures[0]
            .amounts
            .iter()
            .map(|it| it.sizes.len())
            .collect();
        let entry = &failures[0].entries[0];
        (
            message,
            amounts,
            entry.source.clone(),
            entry.shape.map(str::to_owned),
            entry.name.map(str::to_owned),
        )
    };
    // Wider ones break one line alone.
    for width in 60..=120 {
        let lines = whole.lines().flat_map(|line| {
            let parts = line
                .as_bytes()
                .chunks(width)
                .map(|it| str::from_utf8(it).expect("ASCII"));
            parts.chain(line.is_empty().then_some(""))
        });
        let broken = lines.collect::<Vec<_>>().join("\n");
        assert_eq!(said(&broken), said(whole), "{width}:\n{broken}");
    }
}

#[test]
fn what_several_processes_say_line_by_line_is_read_one_after_the_other() {
    for (one, other) in [
        ("[rank0]: ", "[rank1]: "),
        ("0: ", "1: "),
        ("[1,0]<stderr>:", "[1,1]<stderr>:"),
        ("trainer-1  | ", "trainer-2  | "),
        ("(W pid=4, ip=10.0.0.2) ", "(W pid=5, ip=10.0.0.3) "),
        ("(pid=4) ", "(pid=5) "),
        ("[pod/trainer-0/main] ", "[pod/trainer-1/main] "),
        (
            "2026-11-28 10:00:00,120 [rank0]: ",
            "2026-11-28 10:00:00,121 [rank1]: ",
        ),
        ("2026-11-28T10:00:00Z 0: ", "2026-11-28T10:00:00Z 1: "),
    ] {
        let lines = [
            "Ran out of memory in memory space hbm. Used 24.00G of 15.75G hbm. Exceeded hbm capacity by 8.25G.",
            "  1. Size: 4B",
            "     Shape: f32[1]",
        ];
        let both = lines
            .map(|line| format!("{one}{line}\n{other}{line}\n"))
            .concat();
        let log = Log::new(&format!("start\n{both}end\n")).expect("a small text");
        let of = |before: &str| lines.map(|line| format!("{before}{line}\n")).concat();
        let text = log.document.text();
        assert_eq!(text, format!("start\n{}{}end\n", of(one), of(other)));
        let at = text.find(&format!("{other}  1.")).expect("the words");
        assert_eq!(log.line_at(at as u32), 4);
    }
    for line in [
        "[2026-11-28 11:00]: a",
        "a: b",
        "12:00: a",
        "a | b",
        "step \u{2713} | loss 0.5",
        "\u{2588}7 | 50%",
        "\u{e9}-\u{e9}: 7",
        "(a) b",
        "",
        "[x] a",
    ] {
        assert_eq!(process(line), None, "{line}");
    }
}

#[test]
fn what_a_terminal_or_a_collector_adds_is_taken_off() {
    for (line, expected) in [
        (
            "\u{1b}[36m(W pid=4)\u{1b}[0m Size: \u{1b}[1;36m15.31\u{1b}[0mG",
            "(W pid=4) Size: 15.31G",
        ),
        (
            "\u{1b}[01;31m\u{1b}[KRan out\u{1b}[m\u{1b}[K of memory",
            "Ran out of memory",
        ),
        (
            "at \u{1b}]8;;file:///a.py\u{1b}\\a.py:12\u{1b}]8;;\u{1b}\\.",
            "at a.py:12.",
        ),
        (
            "at \u{1b}]8;;file:///a.py\u{7}a.py:12\u{1b}]8;;\u{7}.",
            "at a.py:12.",
        ),
        (
            "(pid=4) Size: 4B [repeated 7x across cluster]",
            "(pid=4) Size: 4B",
        ),
        (
            "(pid=4) Size: 4B\u{1b}[32m [repeated 7x across cluster]\u{1b}[0m",
            "(pid=4) Size: 4B",
        ),
        ("a [repeated 7x]", "a [repeated 7x]"),
        ("\u{1b}", ""),
        ("a \u{1b}[", "a "),
        ("a \u{1b}]8;;b", "a "),
    ] {
        let log = Log::new(&format!("start\n{line}\nend\n")).expect("a small text");
        assert_eq!(
            log.document.text(),
            format!("start\n{expected}\nend\n"),
            "{line}"
        );
    }
}

#[test]
fn a_notebook_has_lines() {
    let lines: Vec<String> = TEXT.split_inclusive('\n').map(str::to_owned).collect();
    let stream = serde_json::json!({ "output_type": "stream", "name": "stderr", "text": lines });
    let notebook = serde_json::json!({ "cells": [{ "outputs": [stream] }] });
    let whole = serde_json::to_string_pretty(&notebook).expect("JSON");
    let log = Log::new(&whole).expect("a small text");
    assert!(
        log.document.text().contains(TEXT),
        "{}",
        log.document.text()
    );
    let at = log.document.text().find("source_line").expect("the words");
    let line = whole.lines().position(|line| line.contains("source_line"));
    assert_eq!(Some(log.line_at(at as u32) as usize), line);
    // Without line ends of its own.
    let log = Log::new(&notebook.to_string()).expect("a small text");
    assert_eq!(log.document.text(), format!("{TEXT}\n"));
}

#[test]
fn escapes_of_escapes_have_an_end() {
    let escapes = "134".repeat(100_000);
    let line = format!("Ran out of memory on HBM, the total \\{escapes}n");
    assert!(Log::new(&line).is_ok_and(|log| log.document.len() > 200_000));
    let line = format!("Ran out of memory on HBM, the total \\n\\{escapes}n");
    assert!(Log::new(&line).is_ok_and(|log| log.document.len() > 200_000));
}

#[test]
fn other_lines_stay() {
    for text in [
        TEXT,
        "loaded C:\\new\n",
        "{\"message\":\"a\\nb\"}",
        "",
        "no end",
        "    arguments            0B \nOutput size 0B; shares 0B with arguments.\n",
        "C:\\new Ran out of disk",
    ] {
        let log = Log::new(text).expect("a small text");
        assert_eq!(log.document.text(), text);
    }
}
