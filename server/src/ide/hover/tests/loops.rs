//! Values that loops take over, and roots whose only reader is the loop itself.

use super::*;

const HLO: &str = "module_0001.jit_f.cl_1.after_optimizations.txt";

/// A loop that fills room reserved by a custom call, and adds a fused constant.
const LOOP: &str = r#"BufferAssignment:
allocation 0: size 4096, parameter 0, shape |f32[1024]| at ShapeIndex {}:
 value: <1 x.1 @0> (size=4096,offset=0): f32[1024]{0:T(1024)}
allocation 1: size 4096, output shape is |f32[1024]|, maybe-live-out:
 value: <2 custom-call.1 @0> (size=4096,offset=0): f32[1024]{0:T(1024)}
 value: <5 arg.2{0} (phi) @0> (size=4096,offset=0): f32[1024]{0:T(1024)}
 value: <7 arg.1{0} (phi) @0> (size=4096,offset=0): f32[1024]{0:T(1024)}
 value: <8 fusion.3 @0> (size=4096,offset=0): f32[1024]{0:T(1024)}
 value: <11 while.4{0} (phi) @0> (size=4096,offset=0): f32[1024]{0:T(1024)}
allocation 2: size 5120, preallocated-temp:
 value: <3 tuple.2{} @0> (size=512,offset=0): (f32[1024]{0:T(1024)})
 value: <4 arg.2{} (phi) @0> (size=512,offset=0): (f32[1024]{0:T(1024)})
 value: <12 lt.1 @0> (size=512,offset=512): pred[]{:T(512)}
 value: <6 arg.1{} (phi) @0> (size=512,offset=0): (f32[1024]{0:T(1024)})
 value: <9 tuple.5{} @0> (size=512,offset=0): (f32[1024]{0:T(1024)})
 value: <10 while.4{} (phi) @0> (size=512,offset=0): (f32[1024]{0:T(1024)})
 value: <13 copy.7 @0> (size=4096,offset=1024): f32[1024]{0:T(1024)}

Total bytes used: 13312 (13.0KiB)

Used values:
<1 x.1 @0>
 positions:
  x.1
 uses:
  copy.7, operand 0
 from instruction: %x.1 = f32[1024]{0:T(1024)} parameter(0)
<2 custom-call.1 @0>
 positions:
  custom-call.1
  tuple.2 {0}
 uses:
  while.4, operand 0 {0}
 from instruction: %custom-call.1 = f32[1024]{0:T(1024)} custom-call(), custom_call_target="AllocateBuffer"
<3 tuple.2{} @0>
 positions:
  tuple.2 {}
 uses:
  while.4, operand 0 {}
 from instruction: %tuple.2 = (f32[1024]{0:T(1024)}) tuple(%custom-call.1)
<4 arg.2{} (phi) @0>
 positions:
  arg.2 {}
 uses:
  (none)
 from instruction: %arg.2 = (f32[1024]{0:T(1024)}) parameter(0)
<5 arg.2{0} (phi) @0>
 positions:
  arg.2 {0}
 uses:
  (none)
 from instruction: %arg.2 = (f32[1024]{0:T(1024)}) parameter(0)
<6 arg.1{} (phi) @0>
 positions:
  arg.1 {}
 uses:
  gte.1, operand 0 {}
 from instruction: %arg.1 = (f32[1024]{0:T(1024)}) parameter(0)
<7 arg.1{0} (phi) @0>
 positions:
  arg.1 {0}
  gte.1
 uses:
  fusion.3, operand 0
 from instruction: %arg.1 = (f32[1024]{0:T(1024)}) parameter(0)
<8 fusion.3 @0>
 positions:
  fusion.3
  tuple.5 {0}
 uses:
  tuple.5, operand 0
 from instruction: %fusion.3 = f32[1024]{0:T(1024)} fusion(%gte.1), kind=kLoop, calls=%fused
<9 tuple.5{} @0>
 positions:
  tuple.5 {}
 uses:
  (none)
 from instruction: %tuple.5 = (f32[1024]{0:T(1024)}) tuple(%fusion.3)
<10 while.4{} (phi) @0>
 positions:
  while.4 {}
 uses:
  gte.6, operand 0 {}
 from instruction: %while.4 = (f32[1024]{0:T(1024)}) while(%tuple.2), condition=%region_1, body=%region_0
<11 while.4{0} (phi) @0>
 positions:
  while.4 {0}
  gte.6
 uses:
  (none)
 from instruction: %while.4 = (f32[1024]{0:T(1024)}) while(%tuple.2), condition=%region_1, body=%region_0
<12 lt.1 @0>
 positions:
  lt.1
 uses:
  (none)
 from instruction: %lt.1 = pred[]{:T(512)} custom-call(), custom_call_target="Flip"
<13 copy.7 @0>
 positions:
  copy.7
 uses:
  (none)
 from instruction: %copy.7 = f32[1024]{0:T(1024)} copy(%x.1)

HloLiveRange (max 12):
  InstructionSequence:
    0:x.1
    1:custom-call.1
    2:tuple.2
    3:arg.2
    4:lt.1
    5:copy.7
    6:arg.1
    7:gte.1
    8:fusion.3
    9:tuple.5
    10:while.4
    11:gte.6
  BufferLiveRange:
    x.1{}:0-12
    custom-call.1{}:1-3
    tuple.2{}:2-3
    arg.2{}:3-5
    arg.2{0}:3-5
    arg.1{}:5-7
    arg.1{0}:5-8
    fusion.3{}:8-10
    tuple.5{}:9-10
    while.4{}:10-11
    while.4{0}:10-12
    lt.1{}:4-5
    copy.7{}:5-5
  Live ranges at 3 (peak):
    arg.2{0}: 4096 bytes (cumulative: 4096 bytes)
    custom-call.1{}: 4096 bytes (cumulative: 8192 bytes)
    x.1{}: 4096 bytes (cumulative: 12288 bytes)
    arg.2{}: 8 bytes (cumulative: 12296 bytes)
    tuple.2{}: 8 bytes (cumulative: 12304 bytes)
"#;

const MODULE: &str = r#"HloModule jit_f, is_scheduled=true

%fused (p.1: f32[1024]) -> f32[1024] {
  %p.1 = f32[1024]{0:T(1024)} parameter(0)
  ROOT %neg.1 = f32[1024]{0:T(1024)} negate(%p.1)
}

%region_0 (arg.1: (f32[1024])) -> (f32[1024]) {
  %copy.7 = f32[1024]{0:T(1024)} copy(%x.1)
  %arg.1 = (f32[1024]{0:T(1024)}) parameter(0)
  %gte.1 = f32[1024]{0:T(1024)} get-tuple-element(%arg.1), index=0
  %fusion.3 = f32[1024]{0:T(1024)} fusion(%gte.1), kind=kLoop, calls=%fused
  ROOT %tuple.5 = (f32[1024]{0:T(1024)}) tuple(%fusion.3)
}

%region_1 (arg.2: (f32[1024])) -> pred[] {
  %arg.2 = (f32[1024]{0:T(1024)}) parameter(0)
  ROOT %lt.1 = pred[]{:T(512)} custom-call(), custom_call_target="Flip"
}

ENTRY %main (x.1: f32[1024]) -> f32[1024] {
  %x.1 = f32[1024]{0:T(1024)} parameter(0)
  %custom-call.1 = f32[1024]{0:T(1024)} custom-call(), custom_call_target="AllocateBuffer"
  %tuple.2 = (f32[1024]{0:T(1024)}) tuple(%custom-call.1)
  %while.4 = (f32[1024]{0:T(1024)}) while(%tuple.2), condition=%region_1, body=%region_0
  ROOT %gte.6 = f32[1024]{0:T(1024)} get-tuple-element(%while.4), index=0
}
"#;

/// The hover on `part` behind `line` in the first of `files`.
fn on(files: &[(&str, &str)], line: &str, part: &str) -> String {
    let text = files[0].1;
    let start = text.find(line).expect("the line");
    let at = start + text[start..].find(part).expect("the part") + part.len() / 2;
    hover(&dump(files), 0, at as u32).expect("a hover").markdown
}

fn of_value(files: &[(&str, &str)], id: u32, row: &str) -> String {
    let text = on(files, &format!(" value: <{id} "), &id.to_string());
    let wanted = format!("| {row} | ");
    let found = text.lines().find_map(|line| line.strip_prefix(&wanted));
    let title = text.lines().next().unwrap_or_default();
    format!("{title}\n{}", found.unwrap_or("-"))
}

#[test]
fn a_loop_takes_its_state_over() {
    let alone = [(TPU, LOOP)];
    let both = [(TPU, LOOP), (HLO, MODULE)];
    expect![[r#"
        **`custom-call.1`** (value 2): room reserved without data; filled by `while.4` (operand 0, element `{0}`)
        -"#]].assert_eq(&of_value(&alone, 2, "alive"));
    expect![[r#"
        **`custom-call.1`** (value 2): room reserved without data; filled by `while.4` (operand 0, element `{0}`)
        `arg.2{0}` 3-5 (takes over at step 3), `arg.1{0}` 5-8, `fusion.3` 8-10, `while.4{0}` 10-12 |"#]].assert_eq(&of_value(&alone, 2, "same bytes"));
    expect![[r#"
        **`arg.2{0}`** (value 5): loop state `{0}` (phi), alive at the HBM peak
        -"#]]
    .assert_eq(&of_value(&alone, 5, "alive"));
    expect![[r#"
        **`fusion.3`** (value 8): several operations compiled into one kernel
        -"#]]
    .assert_eq(&of_value(&both, 8, "alive"));
    expect![[r#"
        **`tuple.5`** (value 9): a tuple: a table of pointers to its elements
        -"#]]
    .assert_eq(&of_value(&both, 9, "alive"));
    expect![[r#"
        **`lt.1`** (value 12): custom call `Flip`, alive at the HBM peak
        -"#]]
    .assert_eq(&of_value(&both, 12, "alive"));
    expect![[r#"
        **`lt.1`** (value 12): custom call `Flip`, alive at the HBM peak
        -"#]]
    .assert_eq(&of_value(&alone, 12, "alive"));
    expect![[r#"
        **`copy.7`** (value 13): copy of `x.1` (parameter 0), alive at the HBM peak
        -"#]]
    .assert_eq(&of_value(&both, 13, "alive"));
    expect![[r#"
        **`while.4{0}`** (value 11): loop result `{0}` (phi)
        -"#]]
    .assert_eq(&of_value(&both, 11, "alive"));
}

#[test]
fn a_step_tells_new_bytes_from_those_taken_over() {
    expect![[r#"
        **step 3** of 0-11: runs `arg.2`, loop state

        | born here                     | nothing |
        |:------------------------------|:---|
        | taken over in place           | 4.5 KiB (4,608 B): `custom-call.1` -> `arg.2{0}`, `tuple.2` -> `arg.2` |
        | needed here for the last time | nothing |
        | occupied                      | HBM 8.5 KiB, 65.4 % of the peak |"#]].assert_eq(&on(&[(TPU, LOOP)], "    3:arg.2", "arg"));
    expect![[r#"
        **step 6** of 0-11: runs `arg.1`, loop state

        | born here                     | nothing: its value begins at step 5 |
        |:------------------------------|:---|
        | needed here for the last time | nothing |
        | occupied                      | HBM 8.5 KiB, 65.4 % of the peak |"#]]
    .assert_eq(&on(&[(TPU, LOOP)], "    6:arg.1", "arg"));
}

#[test]
fn bytes_that_are_listed_twice_are_named() {
    expect![[r#"
        **`arg.2{0}`** at step 3, XLA's peak: 4.0 KiB (4,096 B) unpadded

        - 33.3 % of the 12.0 KiB (12,304 B) listed
        - up to this line 4.0 KiB (4,096 B) (33.3 %)
        - same bytes as `custom-call.1`, also listed
        - XLA's step 3 is not the maximum of HBM: step 5 (`copy.7`) holds 13.0 KiB, +4.5 KiB.

        **`arg.2{0}`** (value 5): loop state `{0}` (phi), alive at the HBM peak

        `f32[1024]{0:T(1024)}` 4.0 KiB (4,096 B), HBM (@0), allocation 1 (output, maybe-live-out)

        | bytes      | 0 .. 4,096 of 4,096 (the whole allocation) |
        |:-----------|:---|
        | alive      | steps 3-5 of 0-12: defined by `arg.2`, not read itself: control flow hands its bytes on |
        | peak share | 30.8 % of 13.0 KiB at step 5 |
        | XLA's peak | alive at step 3, which XLA prints as the peak |
        | same bytes | `custom-call.1` 1-3 (until step 3), `arg.1{0}` 5-8 (takes over at step 5), `fusion.3` 8-10, `while.4{0}` 10-12 |

        If its buffer (also `custom-call.1`, `arg.1{0}`, `fusion.3`, `while.4{0}`) went away the peak stays at step 5: 9.0 KiB (-4.0 KiB), with the schedule and placement as they are."#]].assert_eq(&on(&[(TPU, LOOP)], "    arg.2{0}: ", "arg.2"));
    let small = LOOP
        .replace("size 4096", "size 3072")
        .replace("size 5120", "size 3072");
    let heading = on(&[(TPU, &small)], "  Live ranges at 3", "3");
    assert!(
        heading.contains(
            "12.0 KiB (12,304 B); more than the 9.0 KiB reserved: values that take each other's place are counted twice"
        ),
        "{heading}"
    );
    let heading = on(&[(TPU, LOOP)], "  Live ranges at 3", "3");
    assert!(!heading.contains("twice"), "{heading}");
}

#[test]
fn targets_of_custom_calls_are_shown() {
    expect!["**`custom_call_target`**: custom call `Flip`"].assert_eq(&on(
        &[(HLO, MODULE)],
        "%lt.1",
        "Flip",
    ));
    expect!["**`custom_call_target`**: room reserved without data; filled by `while.4` (operand 0, element `{0}`)"].assert_eq(&on(&[(TPU, LOOP)], "%custom-call.1 =", "AllocateBuffer"));
}

#[test]
fn an_element_has_its_line_though_another_of_the_tuple_is_of_nothing() {
    let text = "HloModule m\n\nENTRY e {\n  q = f32[4]{0} parameter(0)\n  \
                e = f32[4]{0} exponential(q), metadata={source_file=\"a.py\" source_line=3}\n  \
                t = (f32[4]{0}, f32[4]{0}) tuple(gone, e)\n  ROOT g = f32[4]{0} get-tuple-element(t), index=1\n}\n";
    let hover = on(&[(HLO, text)], "  ROOT g", "g");
    assert!(hover.contains("a.py:3"), "{hover}");
}

#[test]
fn a_bitcast_tells_its_own_shape() {
    let module = "HloModule m, is_scheduled=true\n\nENTRY e {\n  a = f32[8]{0} parameter(0)\n  \
                  b = f32[2,4]{1,0} bitcast(a)\n  ROOT c = f32[2,4]{1,0} negate(b)\n}\n";
    let assignment = "BufferAssignment:\nallocation 0: size 32, parameter 0, shape |f32[8]| at ShapeIndex {}:\n \
                      value: <0 a @0> (size=32,offset=0): f32[8]{0}\n\nTotal bytes used: 32 (32B)\n\n\
                      Used values:\n<0 a @0>\n positions:\n  a\n  b\n uses:\n  c, operand 0\n from instruction: \
                      a = f32[8]{0} parameter(0)\n";
    let hover = on(&[(HLO, module), (TPU, assignment)], "  b = ", "b");
    let heading = hover.lines().next().unwrap_or_default();
    expect!["**`b`**: the same bytes under another shape, `f32[2,4]{1,0}`. Not a copy, but another name of:"]
        .assert_eq(heading);
}

#[test]
fn fused_instructions_take_nothing() {
    expect![[r#"
        **`neg.1`**: elementwise `negate`; inside a fused or applied computation: takes no memory of its own

        |               | shape                | unpadded          | with padding |
        |:--------------|:---------------------|:------------------|:---|
        | result        | `f32[1024]{0:T(1024)}` | 4.0 KiB (4,096 B) | same |
        | operand 0 `p.1` | `f32[1024]{0:T(1024)}` | 4.0 KiB (4,096 B) | same |"#]].assert_eq(&on(&[(HLO, MODULE), (TPU, LOOP)], "%neg.1", "neg.1"));
}

#[test]
fn many_values_are_shown_by_slot() {
    let mut text = LOOP.to_owned();
    let line = " value: <13 copy.7";
    let at = text.find(line).unwrap();
    text.insert_str(at, " value: <14 lt.2 @0> (size=512,offset=512): pred[]{:T(512)}\n value: <15 lt.3 @0> (size=512,offset=512): pred[]{:T(512)}\n");
    expect![[r#"
        **allocation 2**: the arena of temporaries in this memory space (preallocated-temp)

        5.0 KiB (5,120 B), HBM (@0), 38.5 % of the 13.0 KiB reserved in HBM (static, this module only)

        - full at the HBM peak (step 5), by `copy.7` 4.0 KiB, `arg.2` 512 B, `arg.1` 512 B, `lt.1` 512 B

        9 values in 3 slots, the largest first, each in time order:

        | offset .. end  | bytes   | values |
        |:---------------|:--------|:---|
        | 1,024 .. 5,120 | 4.0 KiB | `copy.7` 5-5 |
        | 0 .. 512       | 512 B   | `tuple.2` 2-3, `arg.2` 3-5, `arg.1` 5-7, `tuple.5` 9-10, `while.4` 10-11 |
        | 512 .. 1,024   | 512 B   | `lt.1` 4-5, `lt.2`, `lt.3` |"#]].assert_eq(&on(&[(TPU, &text)], "allocation 2", "2"));
}

#[test]
fn slots_in_use_at_the_peak_are_shown_before_larger_ones() {
    use std::fmt::Write as _;

    // Nine large values, one after the other, and then six small ones at once.
    let mut text = "BufferAssignment:\nallocation 0: size 10200, preallocated-temp:\n".to_owned();
    let sizes = || {
        (0..15).map(|at: u64| {
            if at < 9 {
                (at * 1000, 1000)
            } else {
                (at * 200 + 7200, 200)
            }
        })
    };
    for (at, (offset, size)) in sizes().enumerate() {
        writeln!(
            text,
            " value: <{at} v.{at} @0> (size={size},offset={offset}): u8[{size}]{{0}}"
        )
        .unwrap();
    }
    text += "\nHloLiveRange (max 15):\n  InstructionSequence:\n";
    (0..15).for_each(|at| writeln!(text, "    {at}:v.{at}").unwrap());
    text += "  BufferLiveRange:\n";
    for at in 0..15 {
        let end = if at < 9 { at } else { 14 };
        writeln!(text, "    v.{at}{{}}:{at}-{end}").unwrap();
    }
    expect![[r#"
        **allocation 0**: the arena of temporaries in this memory space (preallocated-temp)

        10.0 KiB (10,200 B), HBM (@0), 100.0 % of the 10.0 KiB reserved in HBM (static, this module only)

        - at the HBM peak (step 14), its fullest: 1.2 KiB (1,200 B), 11.8 %, by `v.9` 200 B, `v.10` 200 B, `v.11` 200 B, `v.12` 200 B, 2 more

        15 values in 15 slots (8 of them: in use at the peak or the fullest step, else the largest), the largest first, each in time order:

        | offset .. end    | bytes  | values |
        |:-----------------|:-------|:---|
        | 0 .. 1,000       | 1000 B | `v.0` 0-0 |
        | 1,000 .. 2,000   | 1000 B | `v.1` 1-1 |
        | 9,000 .. 9,200   | 200 B  | `v.9` 9-14 |
        | 9,200 .. 9,400   | 200 B  | `v.10` 10-14 |
        | 9,400 .. 9,600   | 200 B  | `v.11` 11-14 |
        | 9,600 .. 9,800   | 200 B  | `v.12` 12-14 |
        | 9,800 .. 10,000  | 200 B  | `v.13` 13-14 |
        | 10,000 .. 10,200 | 200 B  | `v.14` 14-14 |"#]].assert_eq(&on(&[(TPU, &text)], "allocation 0", "0"));
}

#[test]
fn broken_numbers_are_named() {
    let text = LOOP
        .replace("allocation 1: size 4096", "allocation 1: size 4095")
        .replace("custom-call.1{}:1-3", "custom-call.1{}:1-14")
        .replace("fusion.3{}:8-10", "fusion.3{}:8-7");
    expect![[r#"
        **`custom-call.1`** (value 2): room reserved without data; filled by `while.4` (operand 0, element `{0}`), alive at the HBM peak
        -"#]].assert_eq(&of_value(&[(TPU, &text)], 2, "bytes"));
    expect![[r#"
        **`custom-call.1`** (value 2): room reserved without data; filled by `while.4` (operand 0, element `{0}`), alive at the HBM peak
        -"#]].assert_eq(&of_value(&[(TPU, &text)], 2, "alive"));
    expect![[r#"
        **`fusion.3`** (value 8): several operations compiled into one kernel
        -"#]]
    .assert_eq(&of_value(&[(TPU, &text)], 8, "alive"));
}
