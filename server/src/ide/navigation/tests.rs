//! Every cell of the table of requests, in every form of a dump.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::*;
use crate::ide::fixture::{COMBINED, Fixture, MODULE, run_on, split, with_cursor};

type Request = fn(&Dump, FileId, u32) -> Option<Navigation>;

/// `[origin] line of a target | selected there`
fn answer(text: &str, request: Request) -> String {
    let fixture = Fixture::new(text);
    let Some(answer) = request(&fixture.dump, fixture.file, fixture.offset) else {
        return "nothing".to_owned();
    };
    let mut text = format!("[{}]", fixture.text(fixture.file, answer.origin));
    for target in answer.targets {
        let place = fixture.text(target.place.file, target.place.range.clone());
        let selection = fixture.text(target.place.file, target.selection);
        write!(text, "\n  {place} | {selection}").unwrap();
    }
    text
}

/// Asks with each snippet's cursor in every form of the dump; all forms must agree.
fn check_beside(beside: &str, request: Request, snippets: &[&str], expected: &Expect) {
    let mut answers = String::new();
    for snippet in snippets {
        let [combined, others @ ..] = [COMBINED.to_owned(), run_on(), split()].map(|form| {
            let text = form + beside;
            let is_there = text.contains(&snippet.replace("$0", ""));
            is_there.then(|| answer(&with_cursor(&text, snippet), request))
        });
        for other in others.iter().flatten() {
            assert_eq!(Some(other), combined.as_ref(), "another form of {snippet}");
        }
        let answer = combined.expect("the snippet is in the combined form");
        writeln!(answers, "at {} {answer}", snippet.escape_debug()).unwrap();
    }
    expected.assert_eq(&answers);
}

fn check(request: Request, snippets: &[&str], expected: &Expect) {
    check_beside("", request, snippets, expected);
}

#[test]
fn a_value_leads_to_its_header_from_everywhere() {
    check(
        definition,
        &[
            " value: <$05 copy-start{0} @1> (",
            " value: <5$0 copy-start{0} @1> (",
            " value: <5 copy-st$0art{0} @1> (",
            "    copy-start{0}$0:1-3",
            "    copy-st$0art{0}:1-3",
            "    while.4{1$0}:3-6",
            "    copy-start{0$0}: 64 bytes",
            "    x.1$0{}: 64 bytes",
        ],
        &expect![[r#"
            at  value: <$05 copy-start{0} @1> ( [5]
              <5 copy-start{0} @1> | copy-start
            at  value: <5$0 copy-start{0} @1> ( [5]
              <5 copy-start{0} @1> | copy-start
            at  value: <5 copy-st$0art{0} @1> ( [copy-start]
              <5 copy-start{0} @1> | copy-start
            at     copy-start{0}$0:1-3 [{0}]
              <5 copy-start{0} @1> | copy-start
            at     copy-st$0art{0}:1-3 [copy-start]
              <5 copy-start{0} @1> | copy-start
            at     while.4{1$0}:3-6 [{1}]
              <8 while.4{1} (phi) @0> | while.4
            at     copy-start{0$0}: 64 bytes [{0}]
              <5 copy-start{0} @1> | copy-start
            at     x.1$0{}: 64 bytes [x.1]
              <3 x.1 @0> | x.1
        "#]],
    );
}

#[test]
fn a_header_leads_to_the_instruction_that_defines_it() {
    let snippets = [
        "<8 wh$0ile.4{1} (phi) @0>\n positions:",
        "<$09 add.2 @0>\n positions:",
    ];
    check(
        definition,
        &snippets,
        &expect![[r#"
            at <8 wh$0ile.4{1} (phi) @0>\n positions: [while.4]
              %while.4 = (s32[], f32[16]{0:T(128)}) while(%copy-done), con... | while.4
            at <$09 add.2 @0>\n positions: [9]
              %add.2 = f32[16]{0:T(128)} add(%bitcast.6, %get-tuple-elemen... | add.2
        "#]],
    );
    check_beside(
        MODULE,
        definition,
        &snippets,
        &expect![[r#"
            at <8 wh$0ile.4{1} (phi) @0>\n positions: [while.4]
              %while.4 = (s32[], f32[16]{0:T(128)}) while(%copy-done), con... | while.4
            at <$09 add.2 @0>\n positions: [9]
              %add.2 = f32[16]{0:T(128)} add(%bitcast.6, %get-tuple-elemen... | add.2
        "#]],
    );
}

#[test]
fn a_position_leads_to_the_value_defined_there_or_visible_there() {
    check(
        definition,
        &[
            "  x.1\n  copy-$0start {1}\n",
            "  x.1\n  copy-start {$01}\n",
            "  copy-st$0art {}\n uses",
            "  copy-start {0}\n  $0copy-done\n",
            "  while.4 $0{1}\n  get",
            "  get-tuple-element.5\n  bitc$0ast.6\n",
        ],
        &expect![[r#"
            at   x.1\n  copy-$0start {1}\n [copy-start]
              <3 x.1 @0> | x.1
            at   x.1\n  copy-start {$01}\n [{1}]
              <3 x.1 @0> | x.1
            at   copy-st$0art {}\n uses [copy-start]
              <4 copy-start{} @0> | copy-start
            at   copy-start {0}\n  $0copy-done\n [copy-done]
              <5 copy-start{0} @1> | copy-start
            at   while.4 $0{1}\n  get [{1}]
              <8 while.4{1} (phi) @0> | while.4
            at   get-tuple-element.5\n  bitc$0ast.6\n [bitcast.6]
              <8 while.4{1} (phi) @0> | while.4
        "#]],
    );
}

#[test]
fn a_use_means_its_reader_not_the_index_of_its_operand() {
    check(
        definition,
        &[
            "  copy-done$0, operand 0 {1}",
            "  copy-done, operand 0 {$01}",
            "  copy-st$0art, operand 0\n",
            "  while.4$0, operand 1",
            "  ad$0d.2, operand 0",
        ],
        &expect![[r#"
            at   copy-done$0, operand 0 {1} [copy-done]
              <5 copy-start{0} @1> | copy-start
            at   copy-done, operand 0 {$01} nothing
            at   copy-st$0art, operand 0\n [copy-start]
              <4 copy-start{} @0> | copy-start
            at   while.4$0, operand 1 [while.4]
              <7 while.4{} (phi) @0> | while.4
            at   ad$0d.2, operand 0 [add.2]
              <9 add.2 @0> | add.2
        "#]],
    );
}

#[test]
fn an_operand_or_a_step_means_what_the_name_defines() {
    check(
        definition,
        &[
            "add(%bit$0cast.6, %",
            "add($0%bitcast.6, %",
            "copy-start(%x.1$0), stray",
            "while(%copy-done$0), condition=%region_1.7, body=%region_0.3, x=1",
            "    1:copy-$0start\n",
            "    4:get-tuple-$0element.5\n",
        ],
        &expect![[r#"
            at add(%bit$0cast.6, % [bitcast.6]
              <8 while.4{1} (phi) @0> | while.4
            at add($0%bitcast.6, % [bitcast.6]
              <8 while.4{1} (phi) @0> | while.4
            at copy-start(%x.1$0), stray [x.1]
              <3 x.1 @0> | x.1
            at while(%copy-done$0), condition=%region_1.7, body=%region_0.3, x=1 [copy-done]
              <5 copy-start{0} @1> | copy-start
            at     1:copy-$0start\n [copy-start]
              <4 copy-start{} @0> | copy-start
            at     4:get-tuple-$0element.5\n [get-tuple-element.5]
              <8 while.4{1} (phi) @0> | while.4
        "#]],
    );
}

/// Where copy-start stands behind `from instruction:`.
const DEFINING: &str = "%copy-st$0art = (f32[16]{0:T(128)S(1)}, f32[16]{0:T(128)}, u32[]{:S(2)}) copy-start(%x.1), stray";

#[test]
fn the_name_behind_from_instruction_means_all_that_it_defines() {
    check(
        definition,
        &[DEFINING],
        &expect![[r#"
            at %copy-st$0art = (f32[16]{0:T(128)S(1)}, f32[16]{0:T(128)}, u32[]{:S(2)}) copy-start(%x.1), stray [copy-start]
              <4 copy-start{} @0> | copy-start
              <5 copy-start{0} @1> | copy-start
              <6 copy-start{2} @2> | copy-start
        "#]],
    );
    check(
        declaration,
        &[DEFINING],
        &expect![[r#"
            at %copy-st$0art = (f32[16]{0:T(128)S(1)}, f32[16]{0:T(128)}, u32[]{:S(2)}) copy-start(%x.1), stray [copy-start]
               value: <5 copy-start{0} @1> (size=512,offset=0): f32[16]{0:... | copy-start
               value: <4 copy-start{} @0> (size=32,offset=0): (f32[16]{0:T... | copy-start
               value: <6 copy-start{2} @2> (size=4,offset=0): u32[]{:S(2)} | copy-start
        "#]],
    );
}

#[test]
fn steps_and_allocations_are_places_too() {
    check(
        definition,
        &[
            "    while.4{1}:3$0-6",
            "    while.4{1}:3-$06",
            "    x.1{}:0-7$0\n",
            "Live ranges at 1$0 (peak)",
            "allocation $03: size",
        ],
        &expect![[r#"
            at     while.4{1}:3$0-6 [3]
              3:while.4 | while.4
            at     while.4{1}:3-$06 [6]
              6:add.2 | add.2
            at     x.1{}:0-7$0\n nothing
            at Live ranges at 1$0 (peak) [1]
              1:copy-start | copy-start
            at allocation $03: size [3]
              allocation 3: size 16448, preallocated-temp: | 3
        "#]],
    );
}

#[test]
fn declaration_and_type_definition_lead_to_section_a() {
    let snippets = [
        "<8 while.4$0{1} (phi) @0>\n positions:",
        "  get-tuple-element.5\n  bitc$0ast.6\n",
        "  copy-done$0, operand 0 {1}",
        "    copy-start{2$0}:1-2",
    ];
    check(
        declaration,
        &snippets,
        &expect![[r#"
            at <8 while.4$0{1} (phi) @0>\n positions: [while.4]
               value: <8 while.4{1} (phi) @0> (size=64,offset=16384): f32[... | while.4
            at   get-tuple-element.5\n  bitc$0ast.6\n [bitcast.6]
               value: <8 while.4{1} (phi) @0> (size=64,offset=16384): f32[... | while.4
            at   copy-done$0, operand 0 {1} [copy-done]
               value: <5 copy-start{0} @1> (size=512,offset=0): f32[16]{0:... | copy-start
            at     copy-start{2$0}:1-2 [{2}]
               value: <6 copy-start{2} @2> (size=4,offset=0): u32[]{:S(2)} | copy-start
        "#]],
    );
    check(
        type_definition,
        &snippets,
        &expect![[r#"
            at <8 while.4$0{1} (phi) @0>\n positions: [while.4]
              allocation 3: size 16448, preallocated-temp: | 3
            at   get-tuple-element.5\n  bitc$0ast.6\n [bitcast.6]
              allocation 3: size 16448, preallocated-temp: | 3
            at   copy-done$0, operand 0 {1} [copy-done]
              allocation 2: size 512, color 1, preallocated-temp: | 2
            at     copy-start{2$0}:1-2 [{2}]
              allocation 4: size 4, color 2, preallocated-temp: | 4
        "#]],
    );
    check(
        type_definition,
        &[DEFINING, "allocation $03: size"],
        &expect![[r#"
            at %copy-st$0art = (f32[16]{0:T(128)S(1)}, f32[16]{0:T(128)}, u32[]{:S(2)}) copy-start(%x.1), stray [copy-start]
              allocation 2: size 512, color 1, preallocated-temp: | 2
              allocation 3: size 16448, preallocated-temp: | 3
              allocation 4: size 4, color 2, preallocated-temp: | 4
            at allocation $03: size [3]
              allocation 3: size 16448, preallocated-temp: | 3
        "#]],
    );
}

#[test]
fn a_peak_line_without_index_means_all_that_the_name_defines() {
    let text = with_cursor(&run_on(), "    copy-st$0art: 24 bytes");
    expect![[r#"
        [copy-start]
           value: <5 copy-start{0} @1> (size=512,offset=0): f32[16]{0:... | copy-start
           value: <4 copy-start{} @0> (size=32,offset=0): (f32[16]{0:T... | copy-start
           value: <6 copy-start{2} @2> (size=4,offset=0): u32[]{:S(2)} | copy-start"#]]
    .assert_eq(&answer(&text, declaration));
}

#[test]
fn implementation_leads_to_the_instruction() {
    let snippets = [
        "    while.4{1}$0:3-6",
        "<8 while.4$0{1} (phi) @0>\n positions:",
        "  get-tuple-element.5\n  bitc$0ast.6\n",
    ];
    check(
        implementation,
        &snippets,
        &expect![[r#"
            at     while.4{1}$0:3-6 [{1}]
              %while.4 = (s32[], f32[16]{0:T(128)}) while(%copy-done), con... | while.4
            at <8 while.4$0{1} (phi) @0>\n positions: [while.4]
              %while.4 = (s32[], f32[16]{0:T(128)}) while(%copy-done), con... | while.4
            at   get-tuple-element.5\n  bitc$0ast.6\n [bitcast.6]
              %while.4 = (s32[], f32[16]{0:T(128)}) while(%copy-done), con... | while.4
        "#]],
    );
    check_beside(
        MODULE,
        implementation,
        &snippets,
        &expect![[r#"
            at     while.4{1}$0:3-6 [{1}]
              %while.4 = (s32[], f32[16]{0:T(128)}) while(%copy-done), con... | while.4
            at <8 while.4$0{1} (phi) @0>\n positions: [while.4]
              %while.4 = (s32[], f32[16]{0:T(128)}) while(%copy-done), con... | while.4
            at   get-tuple-element.5\n  bitc$0ast.6\n [bitcast.6]
              %bitcast.6 = f32[16]{0:T(128)} bitcast(%get-tuple-element.5) | bitcast.6
        "#]],
    );
}

#[test]
fn in_hlo_text_a_name_leads_to_its_line_and_from_there_to_the_value() {
    check_beside(
        MODULE,
        definition,
        &[
            "%get-tup$0le-element.5), metadata={op_name=\"jit(f)/add\"",
            "%bitcast$0.6 = ",
            "custom-call(%arg$0.2)",
            "custom-call(%arg.2), custom_call_target=\"ar$0g.2\"",
            "condition=%region_1.7, body=%regi$0on_0.3\n  %",
            "condition=%region_1.7, body=%regio$0n_0.3, x=1",
            "ENTRY %ma$0in.9",
        ],
        &expect![[r#"
            at %get-tup$0le-element.5), metadata={op_name=\"jit(f)/add\" [get-tuple-element.5]
              %get-tuple-element.5 = f32[16]{0:T(128)} get-tuple-element(%... | get-tuple-element.5
            at %bitcast$0.6 =  [bitcast.6]
              %bitcast.6 = f32[16]{0:T(128)} bitcast(%get-tuple-element.5) | bitcast.6
            at custom-call(%arg$0.2) [arg.2]
              %arg.2 = (s32[], f32[16]{0:T(128)}) parameter(0) | arg.2
            at custom-call(%arg.2), custom_call_target=\"ar$0g.2\" nothing
            at condition=%region_1.7, body=%regi$0on_0.3\n  % [region_0.3]
              %region_0.3 (arg.1: (s32[], f32[16])) -> (s32[], f32[16]) { | region_0.3
            at condition=%region_1.7, body=%regio$0n_0.3, x=1 [region_0.3]
              %region_0.3 (arg.1: (s32[], f32[16])) -> (s32[], f32[16]) { | region_0.3
            at ENTRY %ma$0in.9 [main.9]
              ENTRY %main.9 (x.1: f32[16]) -> f32[16] { | main.9
        "#]],
    );
    let snippets = ["%bitcast$0.6 = ", "copy-done(%copy-start$0)"];
    check_beside(
        MODULE,
        declaration,
        &snippets,
        &expect![[r#"
            at %bitcast$0.6 =  [bitcast.6]
               value: <8 while.4{1} (phi) @0> (size=64,offset=16384): f32[... | while.4
            at copy-done(%copy-start$0) [copy-start]
               value: <4 copy-start{} @0> (size=32,offset=0): (f32[16]{0:T... | copy-start
        "#]],
    );
    check_beside(
        MODULE,
        type_definition,
        &snippets,
        &expect![[r#"
            at %bitcast$0.6 =  [bitcast.6]
              allocation 3: size 16448, preallocated-temp: | 3
            at copy-done(%copy-start$0) [copy-start]
              allocation 3: size 16448, preallocated-temp: | 3
        "#]],
    );
}

#[test]
fn without_section_c_the_definition_is_in_section_a() {
    let (a, rest) = COMBINED.split_once("\nTotal").unwrap();
    let (_, d) = rest.split_once("HloLiveRange").unwrap();
    let text = format!("{a}\n//- d.txt\nHloLiveRange{d}");
    let answers = [
        "    copy-st$0art{0}:1-3",
        "    1:copy-$0start\n",
        "    2:copy-$0done\n",
        "<$09 add.2 @0> (",
    ]
    .map(|snippet| answer(&with_cursor(&text, snippet), definition));
    expect![[r#"
        [copy-start]
           value: <5 copy-start{0} @1> (size=512,offset=0): f32[16]{0:... | copy-start
        [copy-start]
           value: <4 copy-start{} @0> (size=32,offset=0): (f32[16]{0:T... | copy-start
        [copy-done]
          2:copy-done | copy-done
        [9]
           value: <9 add.2 @0> (size=512,offset=0): f32[16]{0:T(128)} | add.2"#]]
    .assert_eq(&answers.join("\n"));
}

#[test]
fn a_position_anywhere_in_a_broken_dump_is_answered() {
    let text = "BufferAssignment:\n value: <1 a{ @0> (size=\n\nUsed values:\n<1 a\n positions:\n  \
                a {\n uses:\n  b, operand\n from instruction: %";
    let fixture = Fixture::new(text);
    for offset in 0..=text.len() as u32 + 2 {
        for request in [definition, declaration, type_definition, implementation] {
            let _ = request(&fixture.dump, 0, offset);
        }
    }
}

#[test]
fn an_entry_of_a_failure_leads_to_the_value_that_has_its_size() {
    let failure = "\n//- oom.txt\nRan out of memory in memory space hbm. Used 2.0K of 1.0K hbm.\n  Largest program allocations in hbm:\n  1. Size: 64B\n     Shape: f32[16]{0:T(128)}\n     XLA label: while.4 = while(copy-done)\n     Allocation type: HLO temp\n";
    check_beside(
        failure,
        definition,
        &[
            "label: whi$0le.4",
            "Size: 6$04B",
            "Shape: f3$02[16]",
            "XLA la$0bel",
            "while(copy-d$0one)",
        ],
        &expect![[r#"
            at label: whi$0le.4 [while.4]
              <8 while.4{1} (phi) @0> | while.4
            at Size: 6$04B [64B]
              <8 while.4{1} (phi) @0> | while.4
            at Shape: f3$02[16] [f32]
              <8 while.4{1} (phi) @0> | while.4
            at XLA la$0bel nothing
            at while(copy-d$0one) nothing
        "#]],
    );
}
