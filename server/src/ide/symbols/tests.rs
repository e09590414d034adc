//! Outlines and searches of the fixture in its forms.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::*;
use crate::ide::fixture::{COMBINED, Fixture, MODULE, run_on, split};

fn show(symbols: &[Symbol], depth: usize, lines: &mut String) {
    for symbol in symbols {
        let indent = "  ".repeat(depth);
        writeln!(
            lines,
            "{indent}{:?} {} | {}",
            symbol.kind, symbol.name, symbol.detail
        )
        .unwrap();
        show(&symbol.children, depth + 1, lines);
    }
}

/// Ranges are nested, as the protocol demands.
fn assert_nested(symbols: &[Symbol], within: Range<u32>) {
    for symbol in symbols {
        let (range, selection) = (&symbol.range, &symbol.selection);
        assert!(
            within.start <= range.start && range.end <= within.end,
            "{symbol:?} in {within:?}"
        );
        assert!(
            range.start <= selection.start && selection.end <= range.end,
            "{symbol:?}"
        );
        assert_nested(&symbol.children, range.clone());
    }
}

fn check(text: &str, file: FileId, limit: usize, expected: &Expect) {
    let fixture = Fixture::new(text);
    let symbols = document_symbols(&fixture.dump, file, limit);
    assert_nested(&symbols, 0..fixture.dump.files[file].document.len());
    let mut lines = String::new();
    show(&symbols, 0, &mut lines);
    expected.assert_eq(&lines);
}

/// Each has a name.
fn assert_named(symbols: &[Symbol]) {
    for symbol in symbols {
        assert!(!symbol.name.is_empty(), "{symbol:?}");
        assert_named(&symbol.children);
    }
}

#[test]
fn what_breaks_off_has_names_and_places_all_the_same() {
    let report = "Total bytes used: 8 (8B)\n\nMemory Space: \n";
    for whole in [COMBINED, MODULE, report] {
        for (end, _) in whole.char_indices() {
            let fixture = Fixture::new(&whole[..end]);
            let symbols = document_symbols(&fixture.dump, fixture.file, 100);
            assert_nested(&symbols, 0..end as u32);
            assert_named(&symbols);
        }
    }
}

#[test]
fn an_outline_of_the_combined_form() {
    check(
        COMBINED,
        0,
        100,
        &expect![[r#"
            Section BufferAssignment | 5 allocations, 17.6 KiB
              Allocation allocation 0: 512 B parameter 0 | 1 value
                Value x.1 | 512 B f32[16]{0:T(128)}
              Allocation allocation 1: 512 B maybe-live-out | 1 value
                Value add.2 | 512 B f32[16]{0:T(128)}
              Allocation allocation 2: 512 B preallocated-temp, color 1 | 1 value
                Value copy-start{0} | 512 B f32[16]{0:T(128)S(1)}
              Allocation allocation 3: 16.1 KiB preallocated-temp | 3 values
                Value copy-start{} | 32 B (f32[16]{0:T(128)S(1)}, f32[16]{0:T(128)}, u32[]{:S(2)})
                Value while.4{} | 32 B (s32[], f32[16]{0:T(128)})
                Value while.4{1} | 64 B f32[16]{0:T(128)}
              Allocation allocation 4: 4 B preallocated-temp, color 2 | 1 value
                Value copy-start{2} | 4 B u32[]{:S(2)}
            Section Used values | 7 values
              Value x.1 | 512 B f32[16]{0:T(128)}
              Value copy-start{} | 32 B (f32[16]{0:T(128)S(1)}, f32[16]{0:T(128)}, u32[]{:S(2)})
              Value copy-start{0} | 512 B f32[16]{0:T(128)S(1)}
              Value copy-start{2} | 4 B u32[]{:S(2)}
              Value while.4{} | 32 B (s32[], f32[16]{0:T(128)})
              Value while.4{1} | 64 B f32[16]{0:T(128)}
              Value add.2 | 512 B f32[16]{0:T(128)}
            Section HloLiveRange (max 7) | 
              Section InstructionSequence | 7 steps
              Section BufferLiveRange | 
              Section Live ranges at 1 (peak) | 
                Value x.1{} | 64 B
                Value copy-start{0} | 64 B
                Value copy-start{} | 24 B
                Value copy-start{2} | 4 B
              Section Stack trace breakdown for peak usage: 156 bytes | 
                Section main.9 | 156 B (100.0 %)
                  Section x | 64 B (41.0 %)
                  Section copy-start | 92 B (59.0 %)
        "#]],
    );
}

#[test]
fn outlines_of_the_run_on_and_split_forms() {
    check(
        &run_on().replace("\n  BufferLiveRange:", "\n\n  BufferLiveRange:"),
        0,
        8,
        &expect![[r#"
            Section BufferAssignment | 5 allocations, 17.6 KiB
              Allocation allocation 0: 512 B parameter 0 | 1 value
              Allocation allocation 3: 16.1 KiB preallocated-temp | 3 values
              More 3 allocations and 7 values more | search the symbols of the workspace by name or op_name
            Section Used values | 7 values
              Value x.1 | 512 B f32[16]{0:T(128)}
              Value add.2 | 512 B f32[16]{0:T(128)}
              More 5 values more | search the symbols of the workspace by name or op_name
            Section HloLiveRange (max 7) | 
              Section InstructionSequence | 7 steps
              Section BufferLiveRange | 
              Section Live ranges at 1 (peak) | 
                Value x.1 | 64 B
                More 3 values more | search the symbols of the workspace by name or op_name
              Section Stack trace breakdown for peak usage: 156 bytes | 
                Section main.9 | 156 B (100.0 %)
        "#]],
    );
    check(
        &split(),
        0,
        100,
        &expect![[r#"
            Section BufferAssignment | 5 allocations, 17.6 KiB
              Allocation allocation 0: 512 B parameter 0 | 1 value
                Value x.1 | 512 B f32[16]{0:T(128)}
              Allocation allocation 1: 512 B maybe-live-out | 1 value
                Value add.2 | 512 B f32[16]{0:T(128)}
              Allocation allocation 2: 512 B preallocated-temp, color 1 | 1 value
                Value copy-start{0} | 512 B f32[16]{0:T(128)S(1)}
              Allocation allocation 3: 16.1 KiB preallocated-temp | 3 values
                Value copy-start{} | 32 B (f32[16]{0:T(128)S(1)}, f32[16]{0:T(128)}, u32[]{:S(2)})
                Value while.4{} | 32 B (s32[], f32[16]{0:T(128)})
                Value while.4{1} | 64 B f32[16]{0:T(128)}
              Allocation allocation 4: 4 B preallocated-temp, color 2 | 1 value
                Value copy-start{2} | 4 B u32[]{:S(2)}
        "#]],
    );
    check(
        &split(),
        1,
        4,
        &expect![[r#"
        Section Used values | 7 values
          Value x.1 | 512 B f32[16]{0:T(128)}
          Value copy-start{0} | 512 B f32[16]{0:T(128)S(1)}
          Value while.4{1} | 64 B f32[16]{0:T(128)}
          Value add.2 | 512 B f32[16]{0:T(128)}
          More 3 values more | search the symbols of the workspace by name or op_name
    "#]],
    );
    check(
        &split(),
        2,
        100,
        &expect![[r#"
        Section HloLiveRange (max 7) | 
          Section InstructionSequence | 7 steps
          Section BufferLiveRange | 
          Section Live ranges at 1 (peak) | 
            Value x.1{} | 64 B
            Value copy-start{0} | 64 B
            Value copy-start{} | 24 B
            Value copy-start{2} | 4 B
          Section Stack trace breakdown for peak usage: 156 bytes | 
            Section main.9 | 156 B (100.0 %)
              Section x | 64 B (41.0 %)
              Section copy-start | 92 B (59.0 %)
    "#]],
    );
}

#[test]
fn a_limited_outline_has_the_largest_and_says_how_many_more() {
    check(
        &split(),
        0,
        5,
        &expect![[r#"
            Section BufferAssignment | 5 allocations, 17.6 KiB
              Allocation allocation 0: 512 B parameter 0 | 1 value
                Value x.1 | 512 B f32[16]{0:T(128)}
              Allocation allocation 1: 512 B maybe-live-out | 1 value
                Value add.2 | 512 B f32[16]{0:T(128)}
              Allocation allocation 3: 16.1 KiB preallocated-temp | 3 values
              More 2 allocations and 5 values more | search the symbols of the workspace by name or op_name
        "#]],
    );
    check(
        &split(),
        0,
        2,
        &expect![[r#"
            Section BufferAssignment | 5 allocations, 17.6 KiB
              Allocation allocation 0: 512 B parameter 0 | 1 value
              Allocation allocation 3: 16.1 KiB preallocated-temp | 3 values
              More 3 allocations and 7 values more | search the symbols of the workspace by name or op_name
        "#]],
    );
}

#[test]
fn an_outline_of_a_module() {
    check(
        MODULE,
        0,
        100,
        &expect![[r#"
        Computation region_0.3 | 1 instruction
          Instruction arg.1 | parameter (s32[], f32[16]{0:T(128)})
        Computation region_1.7 | 2 instructions
          Instruction arg.2 | parameter (s32[], f32[16]{0:T(128)})
          Instruction lt.1 | custom-call pred[]
        Computation main.9 | entry, 7 instructions
          Instruction x.1 | parameter f32[16]{0:T(128)}
          Instruction copy-start | copy-start (f32[16]{0:T(128)S(1)}, f32[16]{0:T(128)}, u32[]{:S(2)})
          Instruction copy-done | copy-done f32[16]{0:T(128)S(1)}
          Instruction while.4 | while (s32[], f32[16]{0:T(128)})
          Instruction get-tuple-element.5 | get-tuple-element f32[16]{0:T(128)}
          Instruction bitcast.6 | bitcast f32[16]{0:T(128)}
          Instruction add.2 | add f32[16]{0:T(128)}
    "#]],
    );
    check(
        MODULE,
        0,
        6,
        &expect![[r#"
        Computation region_0.3 | 1 instruction
        Computation region_1.7 | 2 instructions
        Computation main.9 | entry, 7 instructions
          Instruction x.1 | parameter f32[16]{0:T(128)}
          Instruction copy-start | copy-start (f32[16]{0:T(128)S(1)}, f32[16]{0:T(128)}, u32[]{:S(2)})
          Instruction copy-done | copy-done f32[16]{0:T(128)S(1)}
        More 7 instructions more | search the symbols of the workspace by name or op_name
    "#]],
    );
}

#[test]
fn outlines_of_reports() {
    check(
        "Memory Space: default (color=0)\nTotal bytes: 2298880 (2.19MiB)\n\nMemory Space: vmem (color=1)\nTotal bytes: 0 (0B)\n\n",
        0,
        9,
        &expect![[r#"
            Section default | 2.2 MiB
            Section vmem | 0 B
        "#]],
    );
    check(
        "Total bytes used: 512 (512B)\n\nAllocations sorted by size:\n\ncumulative_size; total_size - cumulative_size; allocation\n------------------------------------------------------------------------------\n      512B(100%);         0B; allocation 3: size 512B, constant:\n\n\nAllocations sorted by size with their values:\nallocation 3: size 512B, constant:\n",
        0,
        9,
        &expect![[r#"
            Section Allocations sorted by size | 
              Allocation allocation 3 | 512B
            Section Allocations sorted by size with their values | 
              Allocation allocation 3 | 512B
        "#]],
    );
}

#[test]
fn a_memory_space_begins_with_its_line() {
    let text = "Memory Space: default (color=0)\nTotal bytes: 8 (8B)\n\nMemory Space: vmem (color=1)\nTotal bytes: 0 (0B)\n\n";
    let symbols = document_symbols(&Fixture::new(text).dump, 0, 9);
    let starts: Vec<&str> = symbols
        .iter()
        .map(|symbol| &text[symbol.range.start as usize..symbol.selection.end as usize])
        .collect();
    assert_eq!(starts, ["Memory Space: default", "Memory Space: vmem"]);
}

fn search(text: &str, query: &str, limit: usize) -> String {
    let fixture = Fixture::new(text);
    let mut lines = format!("{query:?}\n");
    for found in workspace_symbols(&fixture.dump, query, limit) {
        let at = fixture.place(found.place.file, found.place.range.start);
        writeln!(
            lines,
            "  {:?} {} ({}) at {at}",
            found.kind, found.name, found.container
        )
        .unwrap();
    }
    lines
}

#[test]
fn each_instruction_of_a_repeated_name_is_found() {
    let text = "-- m.txt\nHloModule m\n\nfirst {\n  ROOT x = f32[] parameter(0)\n}\n\nENTRY main {\n  ROOT x = f32[] parameter(0)\n}\n";
    expect![[r#"
        "x"
          Instruction x (first) at 5
          Instruction x (main) at 9
    "#]]
    .assert_eq(&search(text, "x", 10));
}

#[test]
fn an_op_name_leads_to_its_instruction_among_those_of_one_name() {
    let text = "-- m.txt\nHloModule m\n\nfirst {\n  ROOT x = f32[] parameter(0), metadata={op_name=\"one/thing\"}\n}\n\nENTRY main {\n  ROOT x = f32[] parameter(0), metadata={op_name=\"two/things\"}\n}\n";
    expect![[r#"
        "two/"
          Instruction x: two/things (main) at 9
        "thing"
          Instruction x: one/thing (first) at 5
          Instruction x: two/things (main) at 9
    "#]]
    .assert_eq(&(search(text, "two/", 10) + &search(text, "thing", 10)));
}

#[test]
fn symbols_are_found_by_name_and_op_name() {
    let text = split() + MODULE;
    let answers = [
        "ADD.2",
        "while",
        "copy-start{0",
        "allocation 3",
        "region",
        "jit(F)/ADD",
        "f32[16]{0:t(128)s(1)}",
        "nowhere",
    ]
    .map(|query| search(&text, query, 10));
    expect![[r#"
        "ADD.2"
          Value add.2 (allocation 1) at v.txt:46
          Instruction add.2 (main.9) at m.txt:34
        "while"
          Value while.4{} (allocation 3) at v.txt:33
          Value while.4{1} (allocation 3) at v.txt:38
          Instruction while.4 (main.9) at m.txt:31
        "copy-start{0"
          Value copy-start{0} (allocation 2) at v.txt:19
        "allocation 3"
          Allocation allocation 3 () at a.txt:8
        "region"
          Computation region_0.3 () at m.txt:18
          Computation region_1.7 () at m.txt:22
        "jit(F)/ADD"
          Value add.2: jit(f)/add.2 x.1 (allocation 1) at v.txt:46
        "f32[16]{0:t(128)s(1)}"
          Value copy-start{0}: f32[16]{0:T(128)S(1)} (allocation 2) at v.txt:19
          Value copy-start{}: (f32[16]{0:T(128)S(1)}, f32[16]{0:T(128)}, u32[]{:S(2)}) (allocation 3) at v.txt:13
        "nowhere"
    "#]]
    .assert_eq(&answers.concat());
    expect![[r#"
        ""
          Allocation allocation 0 () at a.txt:2
          Allocation allocation 1 () at a.txt:4
          Allocation allocation 2 () at a.txt:6
    "#]]
    .assert_eq(&search(&text, "", 3));
}

/// However many headings there are, an outline is no longer than it may be.
#[test]
fn sections_are_bounded() {
    for (heading, more) in [
        ("BufferAssignment:\n", "800 sections more"),
        ("Memory Space: a (color=1)\n", "800 sections more"),
    ] {
        let fixture = Fixture::new(&heading.repeat(1_000));
        let symbols = document_symbols(&fixture.dump, 0, 200);
        assert_eq!(symbols.len(), 201, "{heading}");
        assert_eq!(symbols.last().map(|it| it.name.as_str()), Some(more));
        assert_nested(&symbols, 0..fixture.dump.files[0].document.len());
    }
}
