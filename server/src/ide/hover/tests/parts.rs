//! Dumps of which a part is missing, and parts that explain each other.

use super::*;

#[test]
fn a_live_range_file_alone_tells_what_it_can() {
    let text = &DUMP[DUMP.find("HloLiveRange").unwrap()..];
    let live_range = hover_on(TPU, text, "    copy.3{}:6", "6-7")
        .unwrap()
        .markdown;
    expect![[r#"
        **`copy.3{}`**: alive at steps 6-7, 1 step (14.3 % of the program), alive to the end

        Its bytes are unknown: no allocation at hand holds this value."#]]
    .assert_eq(&live_range);
    let step = hover_on(TPU, text, "    6:copy.3", "copy.3")
        .unwrap()
        .markdown;
    expect!["**step 6** of 0-6: runs `copy.3`"].assert_eq(&step);
    let peak = hover_on(TPU, text, "    copy.3{}: ", "copy.3")
        .unwrap()
        .markdown;
    expect![[r#"
        **`copy.3{}`** at step 6, XLA's peak: 320.6 MiB (336,199,680 B) unpadded

        - 50.0 % of the 641.2 MiB (672,399,360 B) listed
        - up to this line 641.2 MiB (672,399,360 B) (100.0 %)"#]]
    .assert_eq(&peak);
}

#[test]
fn values_without_allocations_say_so() {
    let text = &DUMP[DUMP.find("Used values:").unwrap()..DUMP.find("HloLiveRange").unwrap()];
    expect![[r#"
        **`copy.3`** (value 4): layout copy of `Arg_0.1` (parameter 0)

        `f32[32,513,5120]{2,1,0:T(8,128)}`

        | bytes  | unknown: the allocations (`...-buffer-assignment.txt`) are not there |
        |:-------|:---|
        | alive  | unknown: the live ranges are not there (in newer dumps they are a file of their own, `...-live-range.txt`) |
        | layout | operand `{2,0,1}` -> `{2,1,0}`: the data is rewritten |

        jit\(f\)/café \[x\]\(command\:evil\) &#96;&#124;&lt;b&gt;, `linear.py:663` (library frame)"#]].assert_eq(&hover_on(TPU, text, "<4 copy.3", "copy.3").unwrap().markdown);
}

#[test]
fn without_allocations_no_parameter_is_called_the_programs() {
    // It may be the argument of a reducer.
    let text = &DUMP[DUMP.find("Used values:").unwrap()..DUMP.find("HloLiveRange").unwrap()];
    let of = |text: &str| {
        let hover = hover_on(TPU, text, "<1 Arg_0.1", "Arg_0.1");
        hover.unwrap().markdown
    };
    assert!(
        of(text).contains("parameter 0 of its computation"),
        "{}",
        of(text)
    );
    assert!(!of(DUMP).contains("of its computation"), "{}", of(DUMP));
}

#[test]
fn slots_of_a_report_name_their_values() {
    let report = "Memory Space: default (color=0)\nTotal bytes: 677086208 (645.72MiB)\n  cumulative_size;       size;       \
         offset; used_by_n_values; shapes_list\n  ------------------------------------------------------------\n   \
         325.00MiB(100%);  325.00MiB;        32768;                2; f32[], f32[32,513,5120]\n\n\n";
    let other = TPU.replace("buffer-assignment", "memory-usage-report");
    let dump = dump(&[(TPU, DUMP), (&other, report)]);
    let at = report.find("32768").unwrap() as u32;
    expect![[r#"
        **slot at offset 32,768** of allocation 3 (output, maybe-live-out): values that begin there, in time order; the row's size is that of the largest

        - `fusion`, 4.0 KiB, HBM (@0), allocation 3, step 5 (5-5)
        - `copy.3`, 325.0 MiB, HBM (@0), allocation 3, steps 6-7"#]]
    .assert_eq(&hover(&dump, 1, at).unwrap().markdown);
    assert!(
        hover(&dump, 1, 3)
            .unwrap()
            .markdown
            .starts_with("**memory space 0**: HBM")
    );
}

#[test]
fn without_live_ranges_the_reason_is_said() {
    let text = DUMP.split("\nHloLiveRange").next().unwrap();
    let hover = hover_on(TPU, text, "<4 copy.3", "copy.3").unwrap();
    assert!(
        hover
            .markdown
            .contains("the file ends before its live ranges"),
        "{}",
        hover.markdown
    );
    let text = DUMP.split("\nTotal bytes").next().unwrap();
    let hover = hover_on(TPU, text, " value: <4", "copy.3").unwrap();
    assert!(
        hover.markdown.contains("the live ranges are not there"),
        "{}",
        hover.markdown
    );
}

#[test]
fn a_peak_line_without_index_names_its_candidates() {
    let text = "BufferAssignment:\nallocation 0: size 24, preallocated-temp:\n \
         value: <1 t{} @0> (size=16,offset=0): (f32[], f32[])\n \
         value: <2 t{0} @0> (size=4,offset=16): f32[]\n\nHloLiveRange (max 1):\n  InstructionSequence:\n    0:t\n  \
         BufferLiveRange:\n    t{}:0-1\n    t{0}:0-1\n  Live ranges at 0 (peak):\n    t: 16 bytes\n    t: 16 bytes\n";
    let hover = hover_on(CPU, text, "    t: 16", "16").unwrap();
    assert!(
        hover.markdown.contains("any of 2 values"),
        "{}",
        hover.markdown
    );
    assert!(
        hover
            .markdown
            .contains("- `t{0}`, 4 B, host RAM (@0), allocation 0, steps 0-1"),
        "{}",
        hover.markdown
    );
}

#[test]
fn what_the_program_takes_is_a_shape() {
    let module = "HloModule jit_f, is_scheduled=true, entry_computation_layout={(bf16[100,3]{1,0:T(8,128)(2,1)}, \
                  /*index=1*/(s32[], f32[2]{0}))->f32[4]{0}}\n\nENTRY %main (x: f32[4]) -> f32[4] {\n  \
                  ROOT %x = f32[4]{0} parameter(0)\n}\n";
    let dump = dump(&[("module_0001.jit_f.cpu_after_optimizations.txt", module)]);
    let hover = hover(&dump, 0, module.find("100,3").unwrap() as u32).unwrap();
    expect![[r#"
        **dimension 0**: 100 elements, 104 in memory (tile 8)

        26.0 KiB (26,624 B) for 600 B of data: **44.37x**

        `bf16[100,3]{1,0:T(8,128)(2,1)}`

        - memory order, slowest first: dimension 0 (100), dimension 1 (3)
        - tile 8 x 128: dimension 0 100 -> 104, dimension 1 3 -> **128**
        - (2,1) packs 2 rows of 16-bit elements into 32-bit words, no padding
        - 13 x 1 tiles of 1,024 elements x 2 B
        - order `{0,1}` with the same tile: 2.0 KiB (2,048 B) (3.41x), if the operations around it allow"#]].assert_eq(&hover.markdown);
}

#[test]
fn stack_frames_lead_to_the_source() {
    let module = r#"HloModule jit_f, is_scheduled=true

FileNames
1 "/home/dev/train.py"
2 "/opt/venv/lib/python3.11/site-packages/flax/linear.py"

FunctionNames
1 "step"
2 "Dense.<locals>.call"

FileLocations
1 {file_name_id=1 function_name_id=1 line=12 end_line=12 column=0 end_column=3}
2 {file_name_id=2 function_name_id=2 line=663 end_line=663 column=0 end_column=3}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}

ENTRY %main (x: f32[4]) -> f32[4] {
  %x = f32[4]{0} parameter(0)
  ROOT %y = f32[4]{0} add(%x, %x), metadata={op_name="jit(f)/add" stack_frame_id=2}
}

"#;
    let dump = dump(&[("module_0001.jit_f.cpu_after_optimizations.txt", module)]);
    let at = |text: &str| {
        hover(&dump, 0, module.find(text).unwrap() as u32)
            .unwrap()
            .markdown
    };
    expect![[r#"
        **`y`**: elementwise `add`

        |             | shape     | unpadded | with padding |
        |:------------|:----------|:---------|:---|
        | result      | `f32[4]{0}` | 16 B     | same |
        | operand 0 `x` | `f32[4]{0}` | 16 B     | same |
        | operand 1 `x` | `f32[4]{0}` | 16 B     | same |

        `jit(f)/add`, `train.py:12` in `step`, + 1 library frame"#]]
    .assert_eq(&at("%y = "));
    expect![[r#"
        **op_name**: `jit(f)/add`

        `linear.py:663` in `Dense.<locals>.call` (library frame), called from, innermost first:

        - `train.py:12` in `step`"#]]
    .assert_eq(&at("op_name"));
}

#[test]
fn a_donated_buffer_is_written_in_place() {
    let text = "BufferAssignment:\nallocation 0: size 16, parameter 0, shape |f32[4]| at ShapeIndex {}, output shape is \
         |f32[4]|, maybe-live-out:\n value: <1 a @0> (size=16,offset=0): f32[4]{0}\n value: <2 b @0> \
         (size=16,offset=0): f32[4]{0}\n\nTotal bytes used: 16 (16B)\n\nUsed values:\n<1 a @0>\n positions:\n  a\n \
         uses:\n  b, operand 0\n from instruction: %a = f32[4]{0} parameter(0)\n<2 b @0>\n positions:\n  b\n uses:\n \
         from instruction: %b = f32[4]{0} negate(%a)\n\nHloLiveRange (max 2):\n  InstructionSequence:\n    0:a\n    \
         1:b\n  BufferLiveRange:\n    a{}:0-1\n    b{}:1-2\n";
    expect![[r#"
        **`b`** (value 2): elementwise `negate`

        `f32[4]{0}` 16 B, host RAM (@0), allocation 0 (parameter 0, output, maybe-live-out)

        | bytes      | 0 .. 16 of 16 (the whole allocation) |
        |:-----------|:---|
        | alive      | steps 1-2 of 0-2: defined by `b`, kept to the end as a part of the result |
        | in place   | written over its operand `a` |
        | same bytes | `a` 0-1 (until step 1) |"#]]
    .assert_eq(&hover_on(CPU, text, "<2 b", "2 b").unwrap().markdown);
}

#[test]
fn asynchronous_results_are_no_other_names() {
    let markdown = |line: &str, part: &str| hover_on(TPU, DUMP, line, part).unwrap().markdown;
    let first = |text: String| text.lines().next().unwrap_or_default().to_owned();
    expect!["**`copy-done`**. It shows the bytes of:"]
        .assert_eq(&first(markdown("  copy-done\n", "copy-done")));
    // With the HLO text it is known what the name stands for.
    let other = TPU.replace("-buffer-assignment", "");
    let module = "HloModule m\n\nENTRY %main (x: f32[]) -> f32[] {\n  ROOT %copy-done = f32[] copy-done(%copy-start)\n}\n";
    let dump = dump(&[(TPU, DUMP), (&other, module)]);
    let at = DUMP.find("  copy-done\n").unwrap() as u32 + 4;
    expect!["**`copy-done`**: end of the asynchronous copy `copy-start`. Its result is:"]
        .assert_eq(&first(hover(&dump, 0, at).unwrap().markdown));
    expect!["**`copy-start {1}`**: the source of the copy"]
        .assert_eq(&first(markdown("  copy-start {1}", "copy-start")));
    expect!["**`copy-done`** reads `copy-start` as operand 0 (step 4)"]
        .assert_eq(&first(markdown("  copy-done, operand 0 {}", "copy-done")));
}

#[test]
fn moves_between_spaces_and_operands_by_other_names_are_shown() {
    let text = DUMP
        .replace("copy-start(%constant.6)", "slice-start(%bitcast.6)")
        .replace(
            "= (pred[32,513]{0,1:T(8,128)(4,1)S(1)}, pred[32,513]{0,1:T(8,128)(4,1)}, u32[]{:S(2)}) slice",
            "= ((pred[32,513]{0,1:T(8,128)(4,1)}), pred[32,513]{0,1:T(8,128)(4,1)S(1)}, u32[]{:S(2)}) slice",
        );
    expect![[r#"
        **`copy-start`**: start of an asynchronous operation, HBM -> VMEM, in flight at steps 2-4

        |                                          | shape                                                                                  | unpadded                  | with padding |
        |:-----------------------------------------|:---------------------------------------------------------------------------------------|:--------------------------|:---|
        | result                                   | `((pred[32,513]{0,1:T(8,128)(4,1)}), pred[32,513]{0,1:T(8,128)(4,1)S(1)}, u32[]{:S(2)})` | 24 B (table)              |  |
        | operand 0 `bitcast.6`, which shows `Arg_0.1` | `f32[32,513,5120]{2,0,1:T(8,128)}`                                                       | 320.6 MiB (336,199,680 B) | same |

        Alive of its result: at the VMEM peak (step 2) 65.0 KiB."#]].assert_eq(
        &hover_on(TPU, &text, " from instruction: %copy-start", "slice-start")
            .unwrap()
            .markdown,
    );
}

#[test]
fn the_parameter_of_a_reducer_is_an_argument() {
    let text = "BufferAssignment:\nallocation 0: size 4, thread-local:\n value: <1 a @0> (size=4,offset=0): f32[]\n\n\
         Total bytes used: 4 (4B)\n\nUsed values:\n<1 a @0>\n positions:\n  a\n uses:\n  b, operand 0\n from instruction: \
         %a = f32[] parameter(0)\n";
    expect![[r#"
        **`a`** (value 1): argument 0 of a computation that an instruction calls

        `f32[]` 4 B, host RAM (@0), allocation 0 (thread-local)

        | bytes | 0 .. 4 of 4 (the whole allocation) |
        |:------|:---|
        | alive | during each call: thread-local scratch has no live range |"#]]
    .assert_eq(&hover_on(CPU, text, "<1 a", "1 a").unwrap().markdown);
}

#[test]
fn values_that_only_allocations_name_have_no_verdict() {
    let text = DUMP.split("\nTotal bytes").next().unwrap();
    let text = hover_on(TPU, text, " value: <4", "copy.3")
        .unwrap()
        .markdown;
    assert!(text.starts_with("**`copy.3`** (value 4)\n"), "{text}");
}

#[test]
fn frames_that_repeat_are_shown_once() {
    let module = "HloModule m\n\nFileNames\n1 \"a.py\"\n2 \"b.py\"\n\nFunctionNames\n1 \"f\"\n\nFileLocations\n1 \
         {file_name_id=1 function_name_id=1 line=1}\n2 {file_name_id=2 function_name_id=1 line=2}\n\nStackFrames\n1 \
         {file_location_id=1 parent_frame_id=1}\n2 {file_location_id=1 parent_frame_id=2}\n3 {file_location_id=2 \
         parent_frame_id=3}\n";
    let dump = dump(&[("module_0001.m.after_optimizations.txt", module)]);
    let at = module.find("3 {file_location").unwrap() as u32;
    expect![[r#"
        `b.py:2` in `f`, called from, innermost first:

        - `a.py:1` in `f`"#]]
    .assert_eq(&hover(&dump, 0, at).unwrap().markdown);
}

#[test]
fn an_asynchronous_operation_is_in_flight_through_its_updates() {
    let text = "BufferAssignment:
allocation 0: size 64, preallocated-temp:
 value: <1 a-start{} @0> (size=16,offset=0): ((), f32[4]{0}, u32[])
 value: <2 a-update{} @0> (size=16,offset=16): ((), f32[4]{0}, u32[])

Used values:
<1 a-start{} @0>
 positions:
  a-start {}
 uses:
  a-update, operand 0 {}
 from instruction: %a-start = ((), f32[4]{0}, u32[]) async-start(), calls=%a
<2 a-update{} @0>
 positions:
  a-update {}
 uses:
  a-done, operand 0 {}
 from instruction: %a-update = ((), f32[4]{0}, u32[]) custom-call-update(%a-start)

HloLiveRange (max 3):
  InstructionSequence:
    0:a-start
    1:a-update
    2:a-done
  BufferLiveRange:
    a-start{}:0-1
    a-update{}:1-2
";
    let told = hover_on(TPU, text, "  a-start {}", "a-start").unwrap();
    assert!(
        told.markdown.contains("in flight at steps 0-2"),
        "{}",
        told.markdown
    );
}

/// GPU: what is started is no tuple, but the result, which lives on.
#[test]
fn a_flight_ends_where_it_is_waited_for() {
    let text = r"BufferAssignment:
allocation 0: size 16, preallocated-temp:
 value: <1 all-reduce-start @0> (size=16,offset=0): f32[4]{0}

Total bytes used: 16 (16B)

Used values:
<1 all-reduce-start @0>
 positions:
  all-reduce-start
  all-reduce-done
 uses:
  all-reduce-done, operand 0
  last, operand 0
 from instruction: %all-reduce-start = f32[4]{0} all-reduce-start(%x), to_apply=%add
<2 all-reduce-done @0>
 positions:
  all-reduce-done
 uses:
 from instruction: %all-reduce-done = f32[4]{0} all-reduce-done(%all-reduce-start)

HloLiveRange (max 3):
  InstructionSequence:
    0:all-reduce-start
    1:all-reduce-done
    2:last
  BufferLiveRange:
    all-reduce-start{}:0-2
    all-reduce-done{}:1-1
";
    let told = hover_on(TPU, text, "  all-reduce-done, operand", "all-reduce-done").unwrap();
    let start = hover_on(
        TPU,
        text,
        " from instruction: %all-reduce-start",
        "%all-reduce-start ",
    );
    let markdown = format!("{}\n{}", told.markdown, start.unwrap().markdown);
    assert!(markdown.contains("in flight at steps 0-1"), "{markdown}");
}

#[test]
fn behind_the_last_line_there_is_nothing() {
    let dump = dump(&[(TPU, DUMP)]);
    assert!(DUMP.ends_with('\n'));
    assert_eq!(hover(&dump, 0, DUMP.len() as u32), None);
}

#[test]
fn an_output_is_laid_out_as_what_stays_in_it() {
    let text = "BufferAssignment:\nallocation 0: size 1024, output shape is |f32[16,16]|, maybe-live-out:\n value: \
                <1 early.1 @0> (size=1024,offset=0): f32[16,16]{0,1}\n value: <2 late.1 @0> (size=1024,offset=0): \
                f32[16,16]{1,0}\n\nTotal bytes used: 1024 (1.0KiB)\n\nHloLiveRange (max 4):\n  \
                InstructionSequence:\n    0:early.1\n    1:late.1\n  BufferLiveRange:\n    early.1{}:0-1\n    \
                late.1{}:1-4\n";
    let found = hover_on(CPU, text, "allocation 0", "f32[16,16]").expect("a hover");
    let expected = "laid out as `{1,0}` by `late.1`: 1.0 KiB (1,024 B), 1.00x";
    assert!(found.markdown.ends_with(expected), "{}", found.markdown);
}

#[test]
fn the_mark_of_a_name_belongs_to_it() {
    let name = DUMP.find("%Arg_0.1), metadata").expect("an operand") as u32;
    let dump = dump(&[(TPU, DUMP)]);
    let at = |offset| hover(&dump, 0, offset).expect("a hover");
    let (mark, name) = (at(name), at(name + 1));
    assert_eq!(mark.markdown, name.markdown);
    assert!(name.markdown.starts_with("**`Arg_0.1`** (value 1)"));
    assert_eq!(mark.range, name.range.start - 1..name.range.end);
}

/// With `xla_dump_compact_gte` no instruction takes an element out of a tuple.
#[test]
fn an_element_as_operand() {
    let assignment = r"BufferAssignment:
allocation 0: size 1024, preallocated-temp:
 value: <1 loop{1} @0> (size=512,offset=0): f32[8,16]{1,0}
 value: <2 copy.1 @0> (size=512,offset=512): f32[8,16]{0,1}

Used values:
<1 loop{1} @0>
 positions:
  loop {1}
 uses:
  copy.1, operand 0
 from instruction: %loop = (s32[], f32[8,16]{1,0}) while(%tuple)
<2 copy.1 @0>
 positions:
  copy.1
 uses:
 from instruction: %copy.1 = f32[8,16]{0,1} copy(%loop#1)
";
    let copy = |part| {
        hover_on(TPU, assignment, " from instruction: %copy.1", part)
            .unwrap()
            .markdown
    };
    let (of_copy, of_element) = (copy("copy.1 "), copy("#1)"));
    expect![[r#"
        **`copy.1`** (value 2): layout copy of `loop{1}`

        `f32[8,16]{0,1}` 512 B, HBM (@0), allocation 0 (preallocated-temp)

        | bytes  | 512 .. 1,024 of 1,024 (50.0 %) |
        |:-------|:---|
        | alive  | unknown: the file ends before its live ranges |
        | layout | operand `{1,0}` -> `{0,1}`: the data is rewritten |"#]]
    .assert_eq(&of_copy);
    expect![[r#"
        **`copy.1`**: layout copy of `loop{1}`

        |                  | shape          | unpadded | with padding |
        |:-----------------|:---------------|:---------|:---|
        | result           | `f32[8,16]{0,1}` | 512 B    | 4.0 KiB (4,096 B) |
        | operand 0 `loop#1` | `f32[8,16]{1,0}` | 512 B    | 4.0 KiB (4,096 B) |

        The data is rewritten from layout `{1,0}` to `{0,1}`."#]]
    .assert_eq(&of_element);
}

/// A scan's residuals: the loop names the scan, what is written names the layer.
#[test]
fn what_a_loop_fills_a_buffer_with() {
    let assignment = "BufferAssignment:\nallocation 0: size 16, preallocated-temp:\n value: <1 loop{1} @0> (size=16,offset=0): f32[4]{0}\n\nTotal bytes used: 16 (16B)\n\nUsed values:\n";
    let module = r#"HloModule m, is_scheduled=true

turn {
  state = (s32[], f32[4]{0}) parameter(0)
  at = s32[] get-tuple-element(state), index=0
  stack = f32[4]{0} get-tuple-element(state), index=1
  kept = f32[1]{0} iota(), iota_dimension=0, metadata={op_name="while/body/sin" source_file="layer.py" source_line=9}
  filled = f32[4]{0} dynamic-update-slice(stack, kept, at), metadata={source_file="scan.py" source_line=8}
  ROOT next = (s32[], f32[4]{0}) tuple(at, filled)
}

ENTRY e {
  start = (s32[], f32[4]{0}) parameter(0)
  ROOT loop = (s32[], f32[4]{0}) while(start), condition=until, body=turn, metadata={op_name="while" source_file="scan.py" source_line=8}
}
"#;
    let module_path = TPU.replace("-buffer-assignment.txt", ".txt");
    assert_ne!(module_path, TPU);
    let dump = dump(&[(TPU, assignment), (&module_path, module)]);
    let at = assignment.find("loop{1}").expect("the value") + 1;
    let markdown = hover(&dump, 0, at as u32).expect("a hover").markdown;
    expect![[r#"
        **`loop{1}`** (value 1): loop; its state is carried in place; this is element `{1}` of its result

        `f32[4]{0}` 16 B, HBM (@0), allocation 0 (preallocated-temp)

        | bytes | 0 .. 16 of 16 (the whole allocation) |
        |:------|:---|
        | alive | unknown: the file ends before its live ranges |

        `while`, `scan.py:8`

        A loop fills it, part by part: `while/body/sin`, `layer.py:9`"#]].assert_eq(&markdown);
}
