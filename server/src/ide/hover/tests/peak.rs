//! True peaks in hovers: what is alive there, what would be without it, what parameters are for.

use super::*;
use crate::ide::navigation::definition;

/// A parameter that is read early and not donated, two values that hand their bytes on, a constant
/// that is gone before the peak and an output that comes behind it.
const SMALL: &str = r#"BufferAssignment:
allocation 0: size 2048, parameter 0, shape |f32[512]| at ShapeIndex {}:
 value: <1 p @0> (size=2048,offset=0): f32[512]{0}
allocation 1: size 2048, output shape is |f32[512]|, maybe-live-out:
 value: <4 out @0> (size=2048,offset=0): f32[512]{0}
 value: <6 early @0> (size=1024,offset=0): f32[256]{0}
allocation 2: size 16384, preallocated-temp:
 value: <2 a @0> (size=8192,offset=0): f32[2048]{0}
 value: <3 b @0> (size=8192,offset=0): f32[2048]{0}
allocation 3: size 512, constant:
 value: <5 c @0> (size=512,offset=0): f32[128]{0}

Total bytes used: 20992 (20.5KiB)

Used values:
<1 p @0>
 positions:
  p
 uses:
  early, operand 0
 from instruction: %p = f32[512]{0} parameter(0)
<2 a @0>
 positions:
  a
 uses:
  b, operand 0
 from instruction: %a = f32[2048]{0} broadcast(%early), metadata={op_name="jit(f)/a" source_file="/home/dev/vendor/net.py" source_line=3}
<3 b @0>
 positions:
  b
 uses:
  out, operand 0
 from instruction: %b = f32[2048]{0} negate(%a), metadata={op_name="jit(f)/b"}
<4 out @0>
 positions:
  out
 uses:
 from instruction: %out = f32[512]{0} slice(%b)
<5 c @0>
 positions:
  c
 uses:
  early, operand 1
 from instruction: %c = f32[128]{0} constant({...})
<6 early @0>
 positions:
  early
 uses:
  a, operand 0
 from instruction: %early = f32[256]{0} fusion(%p, %c), kind=kLoop, calls=%fused

HloLiveRange (max 7):
  InstructionSequence:
    0:p
    1:c
    2:early
    3:a
    4:b
    5:after
    6:out
  BufferLiveRange:
    p{}:0-7
    c{}:1-2
    early{}:2-2
    a{}:3-4
    b{}:4-5
    out{}:6-7
  Live ranges at 2 (peak):
    p{}: 2048 bytes (cumulative: 2048 bytes)
    early{}: 1024 bytes (cumulative: 3072 bytes)
    c{}: 512 bytes (cumulative: 3584 bytes)
  Stack trace breakdown for peak usage: 3584 bytes
    main.1 (100.0%, total: 3 584 bytes, current: 0 bytes, remaining: 3 584 bytes)
      ├── p (57.1%, total: 2 048 bytes, current: 2 048 bytes, remaining: 1 536 bytes)
      ├── early (28.6%, total: 1 024 bytes, current: 1 024 bytes, remaining: 512 bytes)
      └── c (14.3%, total: 512 bytes, current: 512 bytes, remaining: 0 bytes)
"#;

/// The lines that tell of the peak, of the hover on `part` of the first line that begins with `line`.
fn told(text: &str, line: &str, part: &str) -> String {
    let markdown = hover_on(CPU, text, line, part).unwrap().markdown;
    let lines = markdown.lines();
    let marks = ["peak", "occupied", "maximum of"];
    let wanted = lines.filter(|line| marks.iter().any(|mark| line.contains(mark)));
    wanted.flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn a_value_goes_with_all_that_have_its_bytes() {
    expect![[r#"
        **`a`** (value 2): the operand repeated along new dimensions, alive at the host RAM peak
        | peak share | 80.0 % of 10.0 KiB at step 3 |
        If its buffer (also `b`) went away the peak moves to `out` at step 6: 4.0 KiB (-6.0 KiB), with the schedule and placement as they are.
    "#]].assert_eq(&told(SMALL, "<2 a", "a"));
    let together = SMALL.replace("b{}:4-5", "b{}:3-5");
    expect![[r#"
        **`a`** (value 2): the operand repeated along new dimensions, alive at the host RAM peak
        | peak share | 80.0 % of 10.0 KiB at step 3 |
        If its buffer (also `b`) went away the peak moves to `out` at step 6: 4.0 KiB (-6.0 KiB), with the schedule and placement as they are.
    "#]].assert_eq(&told(&together, "<2 a", "a"));
    // Behind the peak there is nothing to say.
    expect![[""]].assert_eq(&told(SMALL, "<4 out", "out"));
}

#[test]
fn values_that_do_not_take_part_are_owned_up_to() {
    let text = SMALL.replace("    b{}:4-5\n", "");
    expect![[r#"
        **`a`** (value 2): the operand repeated along new dimensions, alive at the host RAM peak
        | peak share | 80.0 % of 10.0 KiB at step 3; one value without live range or place is not counted |
        If it went away the peak moves to `out` at step 6: 4.0 KiB (-6.0 KiB), with the schedule and placement as they are.
    "#]].assert_eq(&told(&text, "<2 a", "a"));
    let text = text.replace("    p{}:0-7\n", "");
    expect![[r#"
        | occupied                      | host RAM 8.0 KiB, the most of 7 steps; 2 values without live range or place are not counted |
    "#]].assert_eq(&told(&text, "    3:a", "a"));
}

#[test]
fn a_step_of_tpu_v7_tells_its_scratch() {
    let scoped = |bytes: &str| {
        let text = format!(
            "HloModule f, is_scheduled=true\n\nENTRY %main (p: f32[512]) -> f32[2048] {{\n  \
             ROOT %a = f32[2048]{{0}} copy(%p), backend_config={{\"scoped_memory_configs\":[{{\"memory_space\":\"1\",\
             \"offset\":\"0\",\"size\":\"{bytes}\"}}],\"used\":[]}}\n}}\n"
        );
        let stem = "module_0001.f.cl_1.after_optimizations";
        let names = [
            format!("{stem}-buffer-assignment.txt"),
            format!("{stem}.txt"),
        ];
        let dump = dump(&[(&names[0], SMALL), (&names[1], &text)]);
        let at = SMALL.find("    3:a").expect("the step") + 4;
        let hover = hover(&dump, 0, at as u32).expect("a hover");
        let mut lines = hover.markdown.lines();
        lines
            .find(|line| line.contains("scratch"))
            .map(str::to_owned)
    };
    let told = scoped("33554432").expect("a line");
    assert!(
        told.contains("| 32.0 MiB (33,554,432 B) of VMEM, in no value |"),
        "{told}"
    );
    assert_eq!(scoped("0"), None);
    assert_eq!(scoped("many"), None);
}

#[test]
fn the_printed_step_is_compared_with_the_maximum() {
    expect![[r#"
        **`early{}`** at step 2, XLA's peak: 1.0 KiB (1,024 B) unpadded
        - XLA's step 2 is not the maximum of host RAM: step 3 (`a`) holds 10.0 KiB, +6.5 KiB.
        | XLA's peak | alive at step 2, which XLA prints as the peak |
    "#]]
    .assert_eq(&told(SMALL, "    early{}: ", "1024"));
    expect![[r#"
        **step 2** is what XLA takes for the peak, where it lists 3.5 KiB (3,584 B)
        XLA chooses it by unpadded bytes, all memory spaces mixed, and counts the table of pointers for every element of a tuple. XLA's step 2 is not the maximum of host RAM: step 3 (`a`) holds 10.0 KiB, +6.5 KiB.
        | occupied                      | host RAM 3.5 KiB, 35.0 % of the peak |
    "#]]
    .assert_eq(&told(SMALL, "  Live ranges at", "2"));
    let behind = SMALL.replace("Live ranges at 2", "Live ranges at 7");
    expect![[r#"
        **step 7** is what XLA takes for the peak, where it lists 3.5 KiB (3,584 B)
    "#]]
    .assert_eq(&told(&behind, "  Live ranges at", "7"));
}

#[test]
fn a_live_range_tells_whether_it_is_at_the_peak_or_near() {
    let first = |line| told(SMALL, line, ":").lines().next().map(str::to_owned);
    expect![[r#"
        Some(
            "**live range**: 2 steps (28.6 % of the program), both ends included, at the host RAM peak (step 3)",
        )
    "#]].assert_debug_eq(&first("    a{}:3"));
    expect![[r#"
        Some(
            "**live range**: 2 steps (28.6 % of the program), both ends included, at step 4, which holds as much as the host RAM peak (step 3)",
        )
    "#]].assert_debug_eq(&first("    b{}:4"));
    let near = SMALL.replace(
        "(size=8192,offset=0): f32[2048]{0}\nallocation 3",
        "(size=8000,offset=0): f32[2000]{0}\nallocation 3",
    );
    expect![[r#"
        **live range**: 2 steps (28.6 % of the program), both ends included, at step 4, which holds as much as the host RAM peak (step 3)
    "#]].assert_eq(&told(&near, "    b{}:4", ":"));
    expect![[r#"
        Some(
            "| XLA's peak | alive at step 2, which XLA prints as the peak |",
        )
    "#]]
    .assert_debug_eq(&first("    early{}:2"));
}

#[test]
fn allocations_tell_what_they_hold_at_the_peak() {
    expect![[r#"
        - **Empty at the host RAM peak (step 3)**
    "#]]
    .assert_eq(&told(SMALL, "allocation 1:", "allocation"));
    expect![[r#"
        - at the host RAM peak (step 3), its fullest: 8.0 KiB (8,192 B), 50.0 %, by `a` 8.0 KiB
    "#]]
    .assert_eq(&told(SMALL, "allocation 2:", "allocation"));
    expect![[r#"
        - not in use at the host RAM peak (step 3)
    "#]]
    .assert_eq(&told(SMALL, "allocation 3:", "allocation"));
}

#[test]
fn a_parameter_that_is_not_donated_tells_what_it_could_be_for() {
    expect![[r#"
        - full at the host RAM peak (step 3)
        - not donated: last read at step 2 by `early`, before the host RAM peak; the output in allocation 1 has its size
    "#]].assert_eq(&told(SMALL, "allocation 0:", "allocation"));
    let other = SMALL
        .replace("size 2048, output", "size 2100, output")
        .replace("<4 out @0> (size=2048", "<4 out @0> (size=2100")
        .replace("early, operand 0\n", "out, operand 0\n");
    let donation = |text: &str, line: &str| -> String {
        let markdown = hover_on(CPU, text, line, "allocation").unwrap().markdown;
        let lines = markdown.lines();
        lines.filter(|line| line.contains("donated")).collect()
    };
    expect!["- not donated: last read at step 6 by `out`; no output has its size, that in allocation 1 comes nearest (2.1 KiB)"].assert_eq(&donation(&other, "allocation 0:"));
    let twin = "allocation 4: size 2048, parameter 1, shape |f32[512]| at ShapeIndex {}:
 value: <7 q @0> (size=2048,offset=0): f32[512]{0}

Total";
    let twins = SMALL.replace("\nTotal", twin);
    expect!["- not donated: last read at step 2 by `early`, before the host RAM peak; the output in allocation 1 has its size"].assert_eq(&donation(&twins, "allocation 0:"));
    expect!["- not donated; the outputs of its size are matched with other parameters, or made without it"]
        .assert_eq(&donation(&twins, "allocation 4:"));
    let apart = SMALL
        .replace("early, operand 0\n", "out, operand 0\n")
        .replace("slice(%b)", "dot(%p, %b)");
    expect!["- not donated: last read at step 6 by `out`; the output in allocation 1 has its size, but `out` makes that without writing over what it reads"].assert_eq(&donation(&apart, "allocation 0:"));
    let donated = SMALL.replace("at ShapeIndex {}:", "at ShapeIndex {}, maybe-live-out:");
    assert!(!told(&donated, "allocation 0:", "allocation").contains("not donated"));
}

#[test]
fn nodes_of_the_tree_tell_where_their_values_lie() {
    let text = SMALL.replace("<6 early @0> (size=1024", "<6 early @0> (size=1028");
    let node = |line| {
        let markdown = hover_on(CPU, &text, line, "total").unwrap().markdown;
        let row = markdown.lines().find(|line| line.contains("with padding"));
        row.map(str::to_owned)
    };
    expect![[r#"
        Some(
            "| with padding | host RAM 1.0 KiB (1,028 B) |",
        )
    "#]]
    .assert_debug_eq(&node("      ├── early"));
    expect![[r#"
        Some(
            "| with padding | host RAM 3.5 KiB (3,588 B) |",
        )
    "#]]
    .assert_debug_eq(&node("    main.1"));
    let markdown = hover_on(CPU, &text, "      ├── early", "total").unwrap();
    assert!(markdown.markdown.contains("| values       | `early` |"));
    let at = (text.find("├── early").unwrap() + "├── e".len()) as u32;
    let dump = dump(&[(CPU, &text)]);
    let value = definition(&dump, 0, at).expect("a value");
    let place = &value.targets[0].place.range;
    assert!(text[place.start as usize..].starts_with("<6 early @0>"));
    // Another node of the same label would have other bytes.
    let text = text.replace("current: 1 024", "current: 1 023");
    let markdown = hover_on(CPU, &text, "      ├── early", "total").unwrap();
    assert!(!markdown.markdown.contains("with padding"));
}

#[test]
fn libraries_are_the_users_to_name() {
    let dump = dump(&[(CPU, SMALL)]);
    let at = SMALL.find("<2 a @0>\n").unwrap() as u32 + 1;
    let last = |libraries: &Libraries| {
        let markdown = super::super::hover(&dump, 0, at, &libraries.into())
            .unwrap()
            .markdown;
        markdown.lines().last().unwrap_or_default().to_owned()
    };
    assert_eq!(last(&Libraries::default()), "`jit(f)/a`, `net.py:3`");
    let libraries = Libraries::default().with(["/vendor/".to_owned()]);
    assert_eq!(last(&libraries), "`jit(f)/a`, `net.py:3` (library frame)");
}

#[test]
fn nothing_is_left_without_the_only_value() {
    let text = DUMP.replace("    copy-start{0}:2-5\n", "    copy-start{0}:2-3\n");
    let markdown = hover_on(TPU, &text, "<3 copy-start", "copy")
        .unwrap()
        .markdown;
    assert!(
        markdown.contains("nothing of VMEM would be occupied"),
        "{markdown}"
    );
}
