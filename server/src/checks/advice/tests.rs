//! Advice on small dumps that show what it is about, and on real ones.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::*;
use crate::audit::copies::{Purpose, copies};
use crate::audit::fixture::{audited, dump, program, real};
use crate::checks::check_with;

/// Everything from the first byte on.
fn small() -> Thresholds {
    Thresholds {
        min_bytes: 1,
        ..Thresholds::default()
    }
}

fn shown(dump: &Dump, findings: &[Finding]) -> String {
    let mut text = String::new();
    let line = |place: &Place| dump.files[place.file].document.line_at(place.range.start) + 1;
    for finding in findings {
        let at = dump.files[finding.place.file]
            .document
            .slice(finding.place.range.clone());
        let (code, message) = (finding.code, &finding.message);
        writeln!(text, "{} `{at}` {code}: {message}", line(&finding.place)).unwrap();
        for (place, message) in &finding.related {
            writeln!(text, "    {} {message}", line(place)).unwrap();
        }
    }
    text
}

/// The advice alone: what is a sound dump in all else is not asked of a small one.
fn advice(dump: &Dump, thresholds: &Thresholds) -> Vec<Finding> {
    let mut findings = Findings::default();
    advise(dump, thresholds, &mut findings);
    findings.finish()
}

fn check(text: &str, thresholds: &Thresholds, expected: &Expect) {
    let dump = audited(text);
    expected.assert_eq(&shown(&dump, &advice(&dump, thresholds)));
}

/// The advice of these codes on a real dump, in which nothing is wrong.
fn check_real(stem: &str, thresholds: &Thresholds, expected: &Expect) {
    let dump = real(stem);
    let findings = check_with(&dump, thresholds);
    assert!(
        findings
            .iter()
            .all(|it| it.code.severity() < crate::checks::Severity::Warning)
    );
    expected.assert_eq(&shown(&dump, &findings));
}

const PARAMETERS: &str = r#"BufferAssignment:
allocation 0: size 400, parameter 0, shape |f32[100]| at ShapeIndex {}:
 value: <1 p.1 @0> (size=400,offset=0): f32[100]{0}
allocation 1: size 800, parameter 1, shape |f32[200]| at ShapeIndex {}:
 value: <2 p.2 @0> (size=800,offset=0): f32[200]{0}
allocation 2: size 400, maybe-live-out:
 value: <3 out.1 @0> (size=400,offset=0): f32[100]{0}
allocation 3: size 1200, maybe-live-out:
 value: <4 out.2 @0> (size=1200,offset=0): f32[300]{0}
allocation 4: size 40, constant:
 value: <5 constant.1 @0> (size=40,offset=0): f32[10]{0}
allocation 5: size 4000, preallocated-temp:
 value: <6 a.1 @0> (size=1000,offset=0): f32[250]{0}
 value: <7 b.1 @0> (size=1000,offset=3000): f32[250]{0}

Total bytes used: 6840 (6.7KiB)

Used values:
<1 p.1 @0>
 positions:
  p.1
 uses:
  out.1, operand 0
 from instruction: %p.1 = f32[100]{0} parameter(0), metadata={op_name="params[\'w\']"}
<2 p.2 @0>
 positions:
  p.2
 uses:
  a.1, operand 0
 from instruction: %p.2 = f32[200]{0} parameter(1)
<5 constant.1 @0>
 positions:
  constant.1
 uses:
  a.1, operand 1
 from instruction: %constant.1 = f32[10]{0} constant({...}), metadata={op_name="c" source_file="/home/dev/model.py" source_line=4}

HloLiveRange (max 8):
  InstructionSequence:
    0:p.1
    1:p.2
    2:constant.1
    3:a.1
    4:c.1
    5:b.1
    6:out.1
    7:out.2
  BufferLiveRange:
    p.1{}:0-8
    p.2{}:0-8
    out.1{}:7-8
    out.2{}:7-8
    constant.1{}:0-8
    a.1{}:2-6
    b.1{}:6-6
  Live ranges at 7 (peak):
    p.1: 400 bytes
"#;

#[test]
fn parameters_outputs_constants_and_gaps() {
    check(
        PARAMETERS,
        &small(),
        &expect![[r#"
            2 `400` missed-donation: parameter 0 (`params['w']`) is not donated, and allocation 2 holds a part of the result that takes the same 400 B: if the caller needs the parameter no longer, donating it reserves up to 400 B less, and lowers the peak of memory space 0 by up to 400 B
                6 the output
            4 `800` dead-parameter: parameter 1 is read for the last time at step 3, by `a.1`, but keeps its 800 B at the peak of memory space 0, step 6 (`out.1`): no output could take its place, so its bytes are free before the end only in a program that is split there
            8 `1200` idle-output: this output reserves 1.2 KiB, but is empty at the peak of memory space 0, step 6 (`out.1`): reserved for a result that does not exist yet, and no parameter is matched with it
            10 `40` large-constant: the constant `constant.1` (model.py:4) takes 40 B, and as much in the compiled program: if it were an argument, it would not be compiled in
            12 `4000` fragmentation: never more than 50.0 % full: 2.0 KiB of 3.9 KiB are occupied at the fullest, step 6 (`out.1`), so at least 2.0 KiB are gaps at every step
            56 `7` xla-peak-step: the compiler takes step 7 (`out.2`) for the peak, but memory space 0 holds the most at step 6 (`out.1`): 3.2 KiB (3,240 B), which is 400 B more than at step 7
                46 here memory space 0 holds the most
        "#]],
    );
    check(
        PARAMETERS,
        &Thresholds::default(),
        &expect![[r#"
        56 `7` xla-peak-step: the compiler takes step 7 (`out.2`) for the peak, but memory space 0 holds the most at step 6 (`out.1`): 3.2 KiB (3,240 B), which is 400 B more than at step 7
            46 here memory space 0 holds the most
    "#]],
    );
    // Without live ranges nothing is said about time.
    let (without, _) = PARAMETERS.split_once("\nHloLiveRange").unwrap();
    check(
        without,
        &small(),
        &expect![[r#"
            2 `400` missed-donation: parameter 0 (`params['w']`) is not donated, and allocation 2 holds a part of the result that takes the same 400 B: if the caller needs the parameter no longer, donating it reserves up to 400 B less
                6 the output
            10 `40` large-constant: the constant `constant.1` (model.py:4) takes 40 B, and as much in the compiled program: if it were an argument, it would not be compiled in
        "#]],
    );
}

#[test]
fn thresholds_count() {
    let has = |thresholds: &Thresholds, code: Code| {
        let findings = advice(&audited(PARAMETERS), thresholds);
        findings.iter().any(|finding| finding.code == code)
    };
    let at = |percent: u64| Thresholds {
        full_percent: percent,
        dead_percent: percent,
        ..small()
    };
    assert!(has(&at(51), Code::Fragmentation) && !has(&at(50), Code::Fragmentation));
    assert!(has(&at(50), Code::DeadParameter) && !has(&at(49), Code::DeadParameter));
    let at = |bytes: u64| Thresholds {
        capacity: vec![("@0".to_owned(), bytes)],
        ..Thresholds::default()
    };
    assert!(has(&at(6839), Code::Capacity) && !has(&at(6840), Code::Capacity));
    let hbm = ("hbm".to_owned(), 1);
    let vmem = ("VMEM".to_owned(), 1);
    let capacity = |capacity| Thresholds {
        capacity,
        ..small()
    };
    assert!(has(&capacity(vec![hbm]), Code::Capacity));
    assert!(!has(&capacity(vec![vmem]), Code::Capacity));
}

#[test]
fn what_a_gpu_has_apart_lies_in_its_memory() {
    let text = "BufferAssignment:\nallocation 0: size 100, preallocated-temp:\nallocation 1: size 60, color 1, preallocated-temp:\n\
                allocation 2: size 40, color 2, preallocated-temp:\nallocation 3: size 999, color 5, preallocated-temp:\n";
    let path = "module_0001.f.sm_9.0_gpu_after_optimizations-buffer-assignment.txt";
    let dump = dump(vec![(path.into(), text.to_owned())]);
    let above = |capacity: u64| {
        let thresholds = Thresholds {
            capacity: vec![("device".to_owned(), capacity)],
            ..Thresholds::default()
        };
        shown(&dump, &advice(&dump, &thresholds))
    };
    assert_eq!(above(200), "");
    expect![[r#"
        2 `100` capacity: the allocations in device memory, those in collective memory and separate temp space included, take 200 B together, 1 B more than the 199 B that the device has; this is the largest
    "#]].assert_eq(&above(199));
}

/// `count` values of one shape, all alive at once.
fn repeated(count: u64, shape: &str, size: u64) -> String {
    let mut text = format!(
        "BufferAssignment:\nallocation 0: size {}, preallocated-temp:\n",
        size * count
    );
    for at in 0..count {
        let offset = at * size;
        writeln!(
            text,
            " value: <{at} v.{at} @0> (size={size},offset={offset}): {shape}"
        )
        .unwrap();
    }
    write!(
        text,
        "\nHloLiveRange (max {count}):\n  InstructionSequence:\n"
    )
    .unwrap();
    (0..count).for_each(|at| writeln!(text, "    {at}:v.{at}").unwrap());
    text += "  BufferLiveRange:\n";
    (0..count).for_each(|at| writeln!(text, "    v.{at}{{}}:0-{count}").unwrap());
    text + "  Live ranges at 0 (peak):\n"
}

#[test]
fn what_is_not_written_over_its_operand_needs_another_place() {
    let said = |instruction: &str| {
        let used = format!(
            "<3 out.1 @0>\n positions:\n  out.1\n uses:\n from instruction: %out.1 = f32[100]{{0}} {instruction}\n"
        );
        let text = PARAMETERS.replace("<5 constant.1 @0>\n", &format!("{used}<5 constant.1 @0>\n"));
        let findings = advice(&audited(&text), &small());
        let of_donation = findings.iter().find(|it| it.code == Code::MissedDonation);
        let message = &of_donation.unwrap().message;
        message
            .split_once("; beside it, as ")
            .map(|(_, told)| told.to_owned())
    };
    let told = "`out.1` makes that without writing over what it reads";
    assert_eq!(said("dot(%p.1, %p.2)").as_deref(), Some(told));
    assert_eq!(
        said("custom-call(%p.1), custom_call_target=\"x\"").as_deref(),
        Some(told)
    );
    let aliased =
        "custom-call(%p.1), custom_call_target=\"x\", output_to_operand_aliasing={{}: (0, {})}";
    assert_eq!(said(aliased), None);
    assert_eq!(said("add(%p.1, %p.1)"), None);
}

/// What a scan keeps for its backward pass: the loop names the scan, what is written names the layer.
#[test]
fn what_a_loop_of_the_forward_pass_keeps() {
    let assignment = r"BufferAssignment:
allocation 0: size 96, preallocated-temp:
 value: <1 loop{1} @0> (size=64,offset=0): f32[16]{0}
 value: <2 loop{2} @0> (size=16,offset=64): f32[4]{0}
 value: <3 loop{3} @0> (size=16,offset=80): f32[4]{0}

Total bytes used: 96 (96B)

Used values:

HloLiveRange (max 1):
  InstructionSequence:
    0:loop
  BufferLiveRange:
    loop{1}:0-1
    loop{2}:0-1
    loop{3}:0-1
";
    let module = r#"HloModule m, is_scheduled=true

turn {
  state = (s32[], f32[16]{0}, f32[4]{0}, f32[4]{0}) parameter(0)
  at = s32[] get-tuple-element(state), index=0
  stack = f32[16]{0} get-tuple-element(state), index=1
  other = f32[4]{0} get-tuple-element(state), index=2
  carry = f32[4]{0} get-tuple-element(state), index=3
  kept = f32[4]{0} sine(carry), metadata={op_name="jit(f)/jvp()/while/body/sin" source_file="layer.py" source_line=9}
  one = f32[1]{0} slice(kept), slice={[0:1]}, metadata={op_name="jit(f)/jvp()/while/body/slice" source_file="layer.py" source_line=10}
  filled = f32[16]{0} dynamic-update-slice(stack, kept, at), metadata={source_file="scan.py" source_line=8}
  also = f32[4]{0} dynamic-update-slice(other, one, at), metadata={source_file="scan.py" source_line=8}
  ROOT next = (s32[], f32[16]{0}, f32[4]{0}, f32[4]{0}) tuple(at, filled, also, kept)
}

ENTRY e {
  start = (s32[], f32[16]{0}, f32[4]{0}, f32[4]{0}) parameter(0)
  ROOT loop = (s32[], f32[16]{0}, f32[4]{0}, f32[4]{0}) while(start), condition=until, body=turn, metadata={op_name="jit(f)/jvp()/while" source_file="scan.py" source_line=8}
}
"#;
    let with = |module: &str| {
        let files = [("m-buffer-assignment.txt", assignment), ("m.txt", module)];
        let files = files.map(|(path, text)| (path.into(), text.to_owned()));
        let dump = dump(files.into());
        let findings = advice(&dump, &small());
        let of_loops = findings.iter().filter(|it| it.code == Code::LoopResiduals);
        let of_loops: Vec<Finding> = of_loops.cloned().collect();
        shown(&dump, &of_loops)
    };
    expect![[r#"
        3 `f32[16]{0}` loop-residuals: at least 80 B of the 96 B at the peak of memory space 0, step 0 (`loop`), are 2 buffers that a loop of the forward pass fills part by part, this one with `jit(f)/jvp()/while/body/sin` (layer.py:9): if the backward pass reads them, `jax.checkpoint` of the loop's body keeps less and computes it again there
            4 likewise `loop{2}`
    "#]].assert_eq(&with(module));
    // Gradients, programs without any, and those with `jax.checkpoint` have none of it.
    for (path, other) in [
        ("jvp()", "transpose(jvp())"),
        ("jvp()", "vmap()"),
        ("while/body/sin", "while/body/rematted_computation/sin"),
    ] {
        let module = module.replace("/slice\"", "/sin\"").replace(path, other);
        assert_eq!(with(&module), "", "{other}");
    }
    let again = module.replace(
        "jvp()/while\"",
        "transpose(jvp())/rematted_computation/while\"",
    );
    assert_eq!(with(&again), "");
}

#[test]
fn values_of_one_shape_give_one_finding() {
    check(
        &repeated(12, "f32[16,8]{1,0}", 512),
        &small(),
        &expect![[r#"
            3 `f32[16,8]{1,0}` repeated-shape: 12 values of this shape are alive at the peak of memory space 0, step 0 (`v.0`), 6.0 KiB together: if they are kept for a backward pass, computing them again there would free most of it
                4 likewise `v.1`
                5 likewise `v.2`
                6 likewise `v.3`
                7 likewise `v.4`
                8 likewise `v.5`
                9 likewise `v.6`
                10 likewise `v.7`
                11 likewise `v.8`
        "#]],
    );
    check(
        &repeated(7, "f32[16,8]{1,0}", 512),
        &small(),
        &expect![[r#""#]],
    );
    check(
        &repeated(3, "f32[64,16]{1,0:T(8,128)}", 32768),
        &small(),
        &expect![[r#"
            3 `f32[64,16]{1,0:T(8,128)}` padding: `v.0` takes 32.0 KiB for 4.0 KiB of data, 8.00x: the tile rounds dimension 1 up from 16 to 128; it is alive at the peak. If its layout were {0,1} with the same tile, it would take 8.0 KiB (2 more values of this shape)
                4 likewise `v.1`
                5 likewise `v.2`
        "#]],
    );
}

#[test]
fn what_the_backward_pass_makes_is_not_kept_for_it() {
    let said_of = |first: &str, path: &str| {
        let (mut used, shape) = ("\nUsed values:\n".to_owned(), "f32[16,8]{1,0}");
        for at in 0..12 {
            let path = if at < 6 { first } else { path };
            writeln!(
                used,
                "<{at} v.{at} @0>\n positions:\n  v.{at}\n uses:\n from instruction: \
                 %v.{at} = {shape} custom-call(), metadata={{op_name=\"{path}\"}}"
            )
            .unwrap();
        }
        let text =
            repeated(12, shape, 512).replace("\nHloLiveRange", &format!("{used}\nHloLiveRange"));
        let findings = advice(&audited(&text), &small());
        let of_shapes = findings.iter().filter(|it| it.code == Code::RepeatedShape);
        let hints = of_shapes.map(|it| it.message.split_once("together").unwrap().1.to_owned());
        hints.collect::<Vec<_>>()
    };
    let said = |path: &str| said_of(path, path);
    let kept =
        ": if they are kept for a backward pass, computing them again there would free most of it";
    assert_eq!(said("jit(f)/jvp(layer)/tanh"), [kept]);
    assert_eq!(said("jit(f)/transpose(jvp(layer))/mul"), [""; 0]);
    assert_eq!(said("gradient_tape/layer/mul"), [""; 0]);
    assert_eq!(said("model/layer/mul"), [kept]);
    assert_eq!(said("jit(f)/mul"), [""], "no gradient is taken");
    let again = ": they have been computed again for the backward pass, but all of them before it needs them";
    let path = "jit(f)/transpose(jvp(layer))/checkpoint/rematted_computation/tanh";
    assert_eq!(said(path), [again]);
    let some = ": some have been computed again for the backward pass; if others are kept for it, computing these again there \
                would free theirs";
    assert_eq!(said_of(path, "jit(f)/jvp(layer)/tanh"), [some]);
}

#[test]
fn a_code_has_a_bounded_number_of_findings() {
    let mut text = "BufferAssignment:\n".to_owned();
    for at in 0..30 {
        let size = 1000 - at;
        writeln!(text, "allocation {at}: size {size}, constant:").unwrap();
        writeln!(
            text,
            " value: <{at} c.{at} @0> (size={size},offset=0): u8[{size}]{{0}}"
        )
        .unwrap();
    }
    let findings = advice(&audited(&text), &small());
    assert_eq!(findings.len(), MAX_OF_CODE);
    let last = &findings[MAX_OF_CODE - 1].message;
    assert!(last.ends_with("(and 10 more constants)"), "{last}");
}

#[test]
fn a_dump_that_contradicts_itself_gets_no_advice() {
    let text = include_str!("../testdata/concat.txt");
    let codes = |text: &str| -> Vec<Code> {
        let findings = check_with(&audited(text), &small());
        findings.iter().map(|finding| finding.code).collect()
    };
    assert!(
        codes(text).contains(&Code::XlaPeakStep),
        "{:?}",
        codes(text)
    );
    let wrong = text.replace("allocation 4: size 23040", "allocation 4: size 23041");
    assert_eq!(codes(&wrong), [Code::AllocationSize]);
}

#[test]
fn real_dumps() {
    let default = Thresholds::default();
    check_real(
        "host-parameters/module_1403.",
        &default,
        &expect![[r#"
            2 `4194304` missed-donation: parameter 1 (`b`) is not donated, and allocation 1 holds a part of the result that takes the same 4.0 MiB: if the caller needs the parameter no longer, donating it reserves up to 4.0 MiB less, and lowers the peak of HBM by up to 4.0 MiB
                4 the output
            6 `4194304` host-offload: parameter 0 (`a`) lies in host memory, but all of it is copied back: `copy-start{0}` takes 4.0 MiB of HBM at steps 3-6. If parts of it were read one after the other, less would be there at a time
                12 the copy
        "#]],
    );
    check_real(
        "cpu-tree/module_0240.",
        &default,
        &expect![[r#"
            8 `3211264` missed-donation: parameter 0 (`x`) is not donated, and allocation 0 holds a part of the result that takes the same 3.1 MiB: if the caller needs the parameter no longer, donating it reserves up to 3.1 MiB less, and lowers the peak of host RAM by up to 3.1 MiB
                2 the output
            39 `<86 convert @0>` widened: `convert` is `x.1` in 32 bits, and both are alive at the peak: if what reads it could read 16 bits, 6.1 MiB would go
                9 the 16-bit value
            291 `16` xla-peak-step: the compiler takes step 16 (`conv_general_dilated.4`) for the peak, but host RAM holds the most at step 13 (`dot`): 15.6 MiB (16,400,900 B), which is 4.6 MiB (4,833,280 B) more than at step 16
                253 here host RAM holds the most
        "#]],
    );
    check_real(
        "cpu-no-space/module_0008.",
        &default,
        &expect![[r#"
            2 `1048576` idle-output: this output reserves 1.0 MiB, but is empty at the peak of host RAM, step 48 (`dot.7`): reserved for a result that does not exist yet, and no parameter is matched with it
            4 `<18 copy.7.clone @0>` layout-copy: `copy.7.clone` (gen.py:123) writes 1.0 MiB only to change the layout, from `f32[1,512,4,128]{1,3,2,0}` to `f32[1,512,4,128]{3,2,1,0}`. If what makes the data and what reads it agreed on a layout, it would go
                56 what it copies
            11 `<17 copy.6.clone @0>` layout-copy: `copy.6.clone` (gen.py:121) writes 1.0 MiB only to change the layout, from `f32[1,512,4,128]{3,1,2,0}` to `f32[1,512,4,128]{3,2,1,0}`. If what makes the data and what reads it agreed on a layout, it would go (1 more like it)
                5 what it copies
                14 likewise `copy.5.clone`
            12 `<94 fusion.13.clone @0>` layout-copy: `fusion.13.clone` writes 1.0 MiB only to change the layout, from `f32[1,4,512,128]{3,1,2,0}` to `f32[1,4,512,128]{3,2,1,0}`; it is alive at the peak. If what makes the data and what reads it agreed on a layout, it would go (1 more like it)
                23 what it copies
                7 likewise `fusion.5.clone`
            15 `<90 fusion.12.clone @0>` layout-copy: `fusion.12.clone` writes 1.0 MiB only to change the layout, from `f32[1,4,128,512]{2,1,3,0}` to `f32[1,4,128,512]{3,2,1,0}`. If what makes the data and what reads it agreed on a layout, it would go (1 more like it)
                25 what it copies
                16 likewise `fusion.14.clone`
            22 `1048576` missed-donation: parameter 0 is not donated, and allocation 2 holds a part of the result that takes the same 1.0 MiB: if the caller needs the parameter no longer, donating it reserves up to 1.0 MiB less, and lowers the peak of host RAM by up to 1.0 MiB
                13 the output
            26 `1048576` missed-donation: parameter 2 is not donated, and allocation 1 holds a part of the result that takes the same 1.0 MiB: if the caller needs the parameter no longer, donating it reserves up to 1.0 MiB less, and lowers the peak of host RAM by up to 1.0 MiB
                10 the output
        "#]],
    );
}

#[test]
fn a_copy_that_does_more_than_change_the_layout_gives_no_advice() {
    let text = "BufferAssignment:
allocation 0: size 512, parameter 0, shape |f32[8,16]| at ShapeIndex {}:
 value: <1 p.1 @0> (size=512,offset=0): f32[8,16]{1,0}
allocation 1: size 512, preallocated-temp:
 value: <2 copy.1 @0> (size=512,offset=0): f32[8,16]{0,1}

Used values:
<1 p.1 @0>
 positions:
  p.1
 uses:
  copy.1, operand 0
 from instruction: %p.1 = f32[8,16]{1,0} parameter(0)
<2 copy.1 @0>
 positions:
  copy.1
 uses:
 from instruction: %copy.1 = f32[8,16]{0,1} copy(%p.1)
";
    let is_advised = |text: &str| {
        let dump = audited(text);
        let copies = copies(&Audit::new(&dump, Libraries::default()));
        assert_eq!(copies[0].purpose, Purpose::Layout);
        let findings = advice(&dump, &small());
        findings.iter().any(|it| it.code == Code::LayoutCopy)
    };
    assert!(is_advised(text));
    assert!(!is_advised(
        &text.replace("f32[8,16]{0,1}", "bf16[8,16]{0,1}")
    ));
    assert!(!is_advised(&text.replace("copy.1", "p.1.remat_compressed")));
}

#[test]
fn a_donation_that_no_output_takes() {
    let text = "BufferAssignment:
allocation 0: size 64, parameter 0, shape |f32[16]| at ShapeIndex {}:
 value: <1 p.1 @0> (size=64,offset=0): f32[16]{0}
";
    let module = "HloModule m, buffer_donor={ (0, {}) }\n\nENTRY e {\n  ROOT p.1 = f32[16] parameter(0)\n}\n";
    let files = [("a.txt", text), ("m.txt", module)];
    let dump = dump(
        files
            .map(|(path, text)| (path.into(), text.to_owned()))
            .into(),
    );
    expect![[r#"
        2 `64` missed-donation: parameter 0 is donated, but no output is written over its 64 B
    "#]]
    .assert_eq(&shown(&dump, &advice(&dump, &small())));
}

/// A cache that is copied since it is not donated, a result that is copied over a parameter, and one of two that are paired in
/// their order.
#[test]
fn donation_tells_of_copies_and_pairs() {
    let parameter = |number: u64, is_donated: bool| {
        let end = if is_donated { ", maybe-live-out" } else { "" };
        format!("parameter {number}, shape |f32[2,2]| at ShapeIndex {{}}{end}")
    };
    let told = |are_donated: bool, values: &[_]| {
        let [p, q] = [0, 1].map(|number| parameter(number, are_donated));
        let out = "maybe-live-out";
        let dump = program("cpu", &[&p, &q, out, out], values);
        let findings = advice(&dump, &small());
        let findings = findings.iter().filter(|it| it.code == Code::MissedDonation);
        let messages: Vec<&str> = findings.map(|it| it.message.as_str()).collect();
        messages.join("\n")
    };
    let parameters = [
        (0, "p.1", [0, 7], "parameter(0)"),
        (1, "q.1", [1, 7], "parameter(1)"),
    ];
    let with = |others: [(usize, &'static str, [usize; 2], &'static str); 2]| {
        [parameters, others].concat()
    };
    let cache = with([
        (2, "copy.1", [2, 4], "copy(%p.1)"),
        (2, "update.1", [4, 7], "dynamic-update-slice(%copy.1, %q.1)"),
    ]);
    expect!["parameter 0 is not donated, and allocation 2 holds a part of the result that takes the same 16 B: if the caller needs the parameter no longer, donating it reserves up to 16 B less, and lowers the peak of host RAM by up to 16 B; `copy.1`, the copy that becomes the output, is not needed then (2 parameters that are not donated have this size, and 1 such output)"].assert_eq(&told(false, &cache));
    let pairs = with([
        (2, "sine.1", [2, 7], "sine(%p.1)"),
        (3, "cosine.1", [3, 7], "cosine(%q.1)"),
    ]);
    expect![[r#"
        parameter 0 is not donated, and allocation 2 holds a part of the result that takes the same 16 B: if the caller needs the parameter no longer, donating it reserves up to 16 B less, and lowers the peak of host RAM by up to 16 B
        parameter 1 is not donated, and allocation 3 holds a part of the result that takes the same 16 B: if the caller needs the parameter no longer, donating it reserves up to 16 B less, and lowers the peak of host RAM by up to 16 B; only with parameter 0 donated as well: JAX pairs it with another output otherwise"#]].assert_eq(&told(false, &pairs));
    let mut sorted = with([
        (2, "sort.1", [2, 4], "sort(%p.1)"),
        (0, "copy.1", [4, 7], "copy(%sort.1)"),
    ]);
    sorted[0].2 = [0, 3];
    expect!["parameter 0 is donated, but the result is made elsewhere, and copied over it by `copy.1` at step 4: until then it takes another 16 B; `sort.1`, which makes it, reads the parameter"].assert_eq(&told(true, &sorted));
}

#[test]
fn a_parameter_that_is_never_read_can_be_left_out() {
    let text = "BufferAssignment:\n\
        allocation 0: size 64, parameter 0, shape |f32[16]| at ShapeIndex {}:\n value: <1 x.1 @0> (size=64,offset=0): f32[16]{0}\n\
        allocation 1: size 2048, parameter 1, shape |f32[512]| at ShapeIndex {}:\n value: <2 y.1 @0> (size=2048,offset=0): f32[512]{0}\n\
        allocation 2: size 64, output shape is |f32[16]|, maybe-live-out:\n value: <3 neg.1 @0> (size=64,offset=0): f32[16]{0}\n\
        \nTotal bytes used: 2176 (2.1KiB)\n\nUsed values:\n\
        <1 x.1 @0>\n positions:\n  x.1\n uses:\n  neg.1, operand 0\n from instruction: %x.1 = f32[16]{0} parameter(0)\n\
        <2 y.1 @0>\n positions:\n  y.1\n uses:\n from instruction: %y.1 = f32[512]{0} parameter(1)\n\
        <3 neg.1 @0>\n positions:\n  neg.1\n uses:\n from instruction: %neg.1 = f32[16]{0} negate(%x.1)\n\
        \nHloLiveRange (max 3):\n  InstructionSequence:\n    0:x.1\n    1:y.1\n    2:neg.1\n  BufferLiveRange:\n    \
        x.1{}:0-3\n    y.1{}:0-3\n    neg.1{}:2-3\n";
    let findings = advice(&audited(text), &small());
    let dead = findings.iter().filter(|it| it.code == Code::DeadParameter);
    let messages: Vec<&str> = dead.map(|it| it.message.as_str()).collect();
    let [message] = messages[..] else {
        panic!("one finding, found {messages:?}");
    };
    assert!(
        message.contains("is never read") && message.contains("left out of the call"),
        "{message}"
    );
}
