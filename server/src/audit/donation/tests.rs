//! What becomes of parameters, of made-up and real dumps.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::*;
use crate::audit::fixture::{audited, dump, real};
use crate::model::source::Libraries;

/// The outputs that the parameters are matched with.
fn outputs(found: &Donation) -> Vec<Option<u32>> {
    let outputs = found.parameters.iter();
    let outputs = outputs.map(|it| it.matched.as_ref().map(|it| it.output));
    outputs.collect()
}

fn check(dump: &Dump, expected: &Expect) {
    let mut text = String::new();
    let told = |saving: Option<Saving>| {
        saving.map_or_else(String::new, |it| format!("{}/{:?}", it.reserved, it.peak))
    };
    let found = donation(&Audit::new(dump, Libraries::default()));
    for parameter in found.parameters {
        let name = |at: u32| &dump.names[dump.values[at as usize].name];
        let read = parameter
            .last_read
            .map(|(step, by)| (step, &dump.names[by]));
        writeln!(
            text,
            "{} ({}) {}, read {read:?}, at peak {}, outputs {:?}, saves {}",
            parameter.number,
            parameter.value.map_or("?", name),
            parameter.verdict.name(),
            parameter.at_peak == Some(true),
            parameter.outputs,
            told(parameter.matched.map(|it| it.saving))
        )
        .unwrap();
    }
    for (color, &saving) in &found.savings {
        writeln!(text, "all in @{color}: {}", told(Some(saving))).unwrap();
    }
    expected.assert_eq(&text);
}

const TEXT: &str = r"BufferAssignment:
allocation 0: size 64, parameter 0, shape |f32[16]| at ShapeIndex {}:
 value: <1 same.1 @0> (size=64,offset=0): f32[16]{0}
allocation 1: size 256, parameter 1, shape |f32[64]| at ShapeIndex {}, maybe-live-out:
 value: <2 donated.1 @0> (size=256,offset=0): f32[64]{0}
 value: <3 inplace.1 @0> (size=256,offset=0): f32[64]{0}
allocation 2: size 32, parameter 2, shape |f32[8]| at ShapeIndex {}:
 value: <4 dead.1 @0> (size=32,offset=0): f32[8]{0}
allocation 3: size 16, parameter 3, shape |f32[4]| at ShapeIndex {}:
 value: <5 late.1 @0> (size=16,offset=0): f32[4]{0}
allocation 4: size 8, parameter 4, shape |f32[2]| at ShapeIndex {}:
 value: <6 unread.1 @0> (size=8,offset=0): f32[2]{0}
allocation 5: size 64, maybe-live-out:
 value: <7 half.1 @0> (size=64,offset=0): s32[16]{0}
 value: <8 other.1 @0> (size=64,offset=0): s32[16]{0}
allocation 6: size 64, maybe-live-out:
 value: <9 out.1 @0> (size=64,offset=0): f32[16]{0}
allocation 7: size 16, output shape is |(f32[64], s32[16])|, maybe-live-out:
 value: <10 tuple.1{} @0> (size=16,offset=0): (f32[64]{0}, s32[16]{0})
allocation 8: size 64, parameter 5, shape |f32[16]| at ShapeIndex {}:
 value: <11 second.1 @0> (size=64,offset=0): f32[16]{0}
allocation 9: size 512, preallocated-temp:
 value: <12 temp.1 @0> (size=512,offset=0): f32[128]{0}

Total bytes used: 1096 (1.1KiB)

Used values:
<1 same.1 @0>
 positions:
  same.1
 uses:
  out.1, operand 0
 from instruction: %same.1 = f32[16]{0} parameter(0)
<2 donated.1 @0>
 positions:
  donated.1
 uses:
  inplace.1, operand 0
 from instruction: %donated.1 = f32[64]{0} parameter(1)
<4 dead.1 @0>
 positions:
  dead.1
 uses:
  half.1, operand 0
 from instruction: %dead.1 = f32[8]{0} parameter(2)
<5 late.1 @0>
 positions:
  late.1
 uses:
  half.1, operand 1
  while.1, operand 0 {2}
 from instruction: %late.1 = f32[4]{0} parameter(3)
<6 unread.1 @0>
 positions:
  unread.1
 uses:
 from instruction: %unread.1 = f32[2]{0} parameter(4)

HloLiveRange (max 12):
  InstructionSequence:
    0:same.1
    1:donated.1
    2:dead.1
    3:late.1
    4:unread.1
    5:second.1
    6:half.1
    7:temp.1
    8:while.1
    9:other.1
    10:out.1
    11:tuple.1
  BufferLiveRange:
    same.1{}:0-12
    donated.1{}:0-9
    inplace.1{}:9-12
    dead.1{}:0-12
    late.1{}:0-12
    unread.1{}:0-12
    half.1{}:6-7
    other.1{}:9-12
    out.1{}:10-12
    tuple.1{}:11-12
    second.1{}:0-12
    temp.1{}:7-8
  Live ranges at 7 (peak):
    temp.1{}: 512 bytes
";

/// Three parameters of one shape, read at steps 2, 1 and 3, and two outputs.
/// The outputs for a parameter of 64 bytes, beside one of as many bytes and twice as many elements, where the HLO text has
/// `attributes` in its header.
fn outputs_beside(attributes: &str) -> Vec<u32> {
    let assignment = "BufferAssignment:\n\
        allocation 0: size 64, parameter 0, shape |f32[16]| at ShapeIndex {}:\n \
        value: <1 p.1 @0> (size=64,offset=0): f32[16]{0}\n\
        allocation 1: size 64, output shape is |bf16[32]|, maybe-live-out:\n \
        value: <2 out.1 @0> (size=64,offset=0): bf16[32]{0}\n";
    let text = format!("HloModule f, is_scheduled=true{attributes}\n\nENTRY %main {{\n}}\n");
    let file = |suffix: &str, text: &str| {
        let path = format!("module_0001.f.cpu_after_optimizations{suffix}.txt");
        (path.into(), text.to_owned())
    };
    let dump = dump(vec![
        file("-buffer-assignment", assignment),
        file("", &text),
    ]);
    let audit = Audit::new(&dump, Libraries::default());
    let found = donation(&audit).parameters.remove(0);
    assert_eq!(
        outputs_for(&audit, 0).1,
        found.outputs,
        "as where one is asked for"
    );
    found.outputs
}

#[test]
fn xla_pairs_by_bytes_alone() {
    assert_eq!(outputs_beside(""), [0; 0]);
    assert_eq!(outputs_beside(", num_partitions=4"), [0; 0]);
    let propagated = ", allow_spmd_sharding_propagation_to_output={false,true}";
    assert_eq!(outputs_beside(propagated), [0; 0]);
    assert_eq!(
        outputs_beside(&format!("{propagated}, num_partitions=4")),
        [1]
    );
    let known = ", allow_spmd_sharding_propagation_to_output={false,false}, num_partitions=4";
    assert_eq!(outputs_beside(known), [0; 0]);
}

#[test]
fn outputs_go_to_the_parameters_that_are_free_the_earliest() {
    let mut text = "BufferAssignment:\n".to_owned();
    for (at, name) in ["a", "b", "c"].into_iter().enumerate() {
        write!(
            text,
            "allocation {at}: size 64, parameter {at}, shape |f32[16]| at ShapeIndex {{}}:\n \
             value: <{at} {name} @0> (size=64,offset=0): f32[16]{{0}}\n"
        )
        .unwrap();
    }
    for (at, name) in [(3, "x"), (4, "y")] {
        write!(
            text,
            "allocation {at}: size 64, maybe-live-out:\n \
             value: <{at} {name} @0> (size=64,offset=0): f32[16]{{0}}\n"
        )
        .unwrap();
    }
    text += "\nUsed values:\n";
    for (at, name, reader) in [(0, "a", "y"), (1, "b", "x"), (2, "c", "z")] {
        write!(
            text,
            "<{at} {name} @0>\n positions:\n  {name}\n uses:\n  {reader}, operand 0\n from instruction: \
             %{name} = f32[16]{{0}} parameter({at})\n"
        )
        .unwrap();
    }
    text += "\nHloLiveRange (max 4):\n  InstructionSequence:\n    0:a\n    1:x\n    2:y\n    3:z\n  \
             BufferLiveRange:\n    a{}:0-4\n    b{}:0-4\n    c{}:0-4\n    x{}:1-4\n    y{}:2-4\n";
    let dump = audited(&text);
    let found = donation(&Audit::new(&dump, Libraries::default()));
    let matched = outputs(&found);
    assert_eq!(matched, [Some(3), Some(4), None]);
    let one = text.replace(", maybe-live-out:\n value: <4", ":\n value: <4");
    let dump = audited(&one);
    let found = donation(&Audit::new(&dump, Libraries::default()));
    let matched = outputs(&found);
    assert_eq!(
        matched,
        [None, Some(3), None],
        "b is read for the last time before a"
    );
}

#[test]
fn what_becomes_of_parameters() {
    check(
        &audited(TEXT),
        &expect![[r#"
            1 (donated.1) donated, read None, at peak true, outputs [], saves 
            0 (same.1) could-match, read Some((10, "out.1")), at peak true, outputs [6, 5], saves 64/Some(0)
            5 (second.1) could-match, read None, at peak true, outputs [5, 6], saves 64/None
            2 (dead.1) dead, read Some((6, "half.1")), at peak true, outputs [], saves 
            3 (late.1) kept, read Some((8, "while.1")), at peak true, outputs [], saves 
            4 (unread.1) dead, read None, at peak true, outputs [], saves 
            all in @0: 128/None
        "#]],
    );
    // Without live ranges sizes are all that is known.
    let (without, _) = TEXT.split_once("\nHloLiveRange").unwrap();
    check(
        &audited(without),
        &expect![[r#"
            1 (donated.1) donated, read None, at peak false, outputs [], saves 
            0 (same.1) could-match, read None, at peak false, outputs [6, 5], saves 64/None
            5 (second.1) could-match, read None, at peak false, outputs [5, 6], saves 64/None
            2 (dead.1) unknown, read None, at peak false, outputs [], saves 
            3 (late.1) unknown, read None, at peak false, outputs [], saves 
            4 (unread.1) unknown, read None, at peak false, outputs [], saves 
            all in @0: 128/None
        "#]],
    );
}

/// A call stands behind its body in the schedule; what its body has read is not needed until then.
#[test]
fn a_call_reads_where_its_body_does() {
    let text = |reader: &str| {
        format!(
            "BufferAssignment:
allocation 0: size 64, parameter 0, shape |f32[16]| at ShapeIndex {{}}:
 value: <0 p.1 @0> (size=64,offset=0): f32[16]{{0}}
allocation 1: size 64, output shape is |f32[16]|, maybe-live-out:
 value: <1 out.1 @0> (size=64,offset=0): f32[16]{{0}}

Total bytes used: 128 (128B)

Used values:
<0 p.1 @0>
 positions:
  p.1
 uses:
  out.1, operand 0
  {reader}, operand 0
 from instruction: %p.1 = f32[16]{{0}} parameter(0)
<1 out.1 @0>
 positions:
  out.1
 uses:
 from instruction: %out.1 = f32[16]{{0}} negate(%p.1)

HloLiveRange (max 3):
  InstructionSequence:
    0:p.1
    1:out.1
    2:{reader}
  BufferLiveRange:
    p.1{{}}:0-3
    out.1{{}}:1-3
  Live ranges at 1 (peak):
    p.1{{}}: 64 bytes
"
        )
    };
    let saved = |reader| {
        let dump = audited(&text(reader));
        donation(&Audit::new(&dump, Libraries::default())).savings
    };
    let all = Saving {
        reserved: 64,
        peak: Some(64),
    };
    assert_eq!(saved("call.2")[&0], all);
    // A loop reads again.
    let none = Saving {
        reserved: 0,
        peak: Some(0),
    };
    assert_eq!(saved("while.2")[&0], none);
}

#[test]
fn an_output_is_promised_once() {
    let mut text = "BufferAssignment:\n".to_owned();
    for at in 0..3 {
        writeln!(
            text,
            "allocation {at}: size 64, parameter {at}, shape |f32[16]| at ShapeIndex {{}}:\n value: \
             <{at} p.{at} @0> (size=64,offset=0): f32[16]{{0}}"
        )
        .unwrap();
    }
    text += "allocation 3: size 64, maybe-live-out:\n value: <3 out.1 @0> (size=64,offset=0): \
             f32[16]{0}\n";
    check(
        &audited(&text),
        &expect![[r#"
            0 (p.0) could-match, read None, at peak false, outputs [3], saves 64/None
            1 (p.1) unknown, read None, at peak false, outputs [3], saves 
            2 (p.2) unknown, read None, at peak false, outputs [3], saves 
            all in @0: 64/None
        "#]],
    );
}

#[test]
fn a_buffer_donor_that_no_output_is_written_over_is_donated_in_vain() {
    let mut text = "BufferAssignment:\n".to_owned();
    for (at, leaf) in ["{}", "{}", "{1,0}", "{0}"].iter().enumerate() {
        writeln!(
            text,
            "allocation {at}: size 64, parameter {at}, shape |f32[16]| at ShapeIndex {leaf}:\n value: \
             <{at} p.{at} @0> (size=64,offset=0): f32[16]{{0}}"
        )
        .unwrap();
    }
    text += "allocation 4: size 64, maybe-live-out:\n value: <4 out.1 @0> (size=64,offset=0): \
             f32[16]{0}\n";
    let module = "HloModule jit_f, is_scheduled=true, buffer_donor={ (0, {}), (2, {1, 0}), (3, {1}) }, \
                  replica_count=1\n\nENTRY main {\n  ROOT p.0 = f32[16]{0} parameter(0)\n}\n";
    let files = [("a.txt", text.as_str()), ("m.txt", module)];
    check(
        &dump(
            files
                .map(|(path, text)| (path.into(), text.to_owned()))
                .into(),
        ),
        &expect![[r#"
            0 (p.0) not-usable, read None, at peak false, outputs [], saves 
            1 (p.1) could-match, read None, at peak false, outputs [4], saves 64/None
            2 (p.2) not-usable, read None, at peak false, outputs [], saves 
            3 (p.3) unknown, read None, at peak false, outputs [4], saves 
            all in @0: 64/None
        "#]],
    );
}

#[test]
fn without_used_values_the_hlo_text_tells_which_value_is_the_parameter() {
    let assignment = "BufferAssignment:\nallocation 0: size 4, parameter 0, shape |f32[]| at ShapeIndex {}, \
                      maybe-live-out:\n value: <1 new.1 @0> (size=4,offset=0): f32[]\n value: <2 old.1 @0> \
                      (size=4,offset=0): f32[]\n";
    let module = "HloModule jit_f, is_scheduled=true\n\nENTRY main {\n  old.1 = f32[] parameter(0)\n  \
                  ROOT new.1 = f32[] negate(old.1)\n}\n";
    let files = [("m-buffer-assignment.txt", assignment), ("m.txt", module)];
    let files = files.map(|(path, text)| (path.into(), text.to_owned()));
    check(
        &dump(files.into()),
        &expect![[r#"
            0 (old.1) donated, read None, at peak false, outputs [], saves 
        "#]],
    );
}

#[test]
fn a_real_dump() {
    check(
        &real("donation/module_0669."),
        &expect![[r#"
            0 (a.1) donated, read Some((15, "dynamic-update-slice.1")), at peak true, outputs [], saves 
            2 (v.1) kept, read Some((14, "broadcast_select_fusion")), at peak true, outputs [], saves 
            1 (i.1) dead, read Some((7, "copy.3")), at peak true, outputs [], saves 
        "#]],
    );
    check(
        &real("tpu-combined-v5p/module_1690."),
        &expect![[r#"
            0 (Arg_0.1) dead, read Some((4, "fusion.1")), at peak true, outputs [1], saves 
            1 (Arg_1.2) could-match, read Some((3, "copy-done.2")), at peak true, outputs [1], saves 16777216/Some(16777216)
            all in @0: 16777216/Some(16777216)
        "#]],
    );
}

/// `tanh(y) * 2, (x @ x)[:8]`: both are read before the output is made, but only `y` because it has to be.
#[test]
fn a_parameter_is_given_to_the_output_that_depends_on_all_its_readers() {
    let line = |id: u64, name: &str, shape: &str, size: u64| {
        format!(" value: <{id} {name} @0> (size={size},offset=0): {shape}\n")
    };
    let value = |id: u64, name: &str, at: &str, uses: &str, made: &str| {
        format!(
            "<{id} {name} @0>\n positions:\n  {name}\n{at} uses:\n{uses} from instruction: %{name} = {made}\n"
        )
    };
    let array = "f32[2,2]{1,0}";
    let text = [
        "BufferAssignment:\nallocation 0: size 16, parameter 0, shape |f32[2,2]| at ShapeIndex {}:\n",
        &line(1, "x.1", array, 16),
        "allocation 1: size 16, parameter 1, shape |f32[2,2]| at ShapeIndex {}:\n",
        &line(2, "y.1", array, 16),
        "allocation 2: size 16, maybe-live-out:\n",
        &line(3, "fusion.1", array, 16),
        "allocation 3: size 8, maybe-live-out:\n",
        &line(4, "dot.1", "f32[1,2]{1,0}", 8),
        "allocation 4: size 16, output shape is |(f32[2,2], f32[1,2])|, maybe-live-out:\n",
        &line(5, "tuple.1{}", "(f32[2,2]{1,0}, f32[1,2]{1,0})", 16),
        "\nTotal bytes used: 72 (72B)\n\nUsed values:\n",
        &value(1, "x.1", "", "  dot.1, operand 0\n", &format!("{array} parameter(0)")),
        &value(2, "y.1", "", "  fusion.1, operand 0\n", &format!("{array} parameter(1)")),
        &value(3, "fusion.1", "  tuple.1 {0}\n", "  tuple.1, operand 0\n",
            &format!("{array} fusion(%y.1), kind=kLoop, calls=%fused")),
        &value(4, "dot.1", "  tuple.1 {1}\n", "  tuple.1, operand 1\n", "f32[1,2]{1,0} dot(%x.1, %x.1)"),
        "<5 tuple.1{} @0>\n positions:\n  tuple.1 {}\n uses:\n from instruction: %tuple.1 = \
         (f32[2,2]{1,0}, f32[1,2]{1,0}) tuple(%fusion.1, %dot.1)\n",
        "\nHloLiveRange (max 5):\n  InstructionSequence:\n    0:x.1\n    1:y.1\n    2:dot.1\n    3:fusion.1\n    \
         4:tuple.1\n  BufferLiveRange:\n    x.1{}:0-5\n    y.1{}:0-5\n    dot.1{}:2-5\n    fusion.1{}:3-5\n    \
         tuple.1{}:4-5\n",
    ]
    .concat();
    let of = |target: &str, text: &str| {
        let path = format!("module_0001.jit_f.{target}after_optimizations-buffer-assignment.txt");
        let dump = dump(vec![(path.as_str().into(), text.to_owned())]);
        let found = donation(&Audit::new(&dump, Libraries::default()));
        let parameters = found.parameters.iter();
        let obstacles = parameters.filter_map(|it| {
            let matched = it.matched.as_ref()?;
            Some((it.number, matched.pairing.obstacle))
        });
        obstacles.collect::<Vec<_>>()
    };
    assert_eq!(of("cpu_", &text), [(1, None)]);
    // Where the other is donated already, the first alone is left: what makes the output does not depend on it, so a copy is
    // made of either.
    let donated = text.replace(
        "parameter 1, shape |f32[2,2]| at ShapeIndex {}:",
        "parameter 1, shape |f32[2,2]| at ShapeIndex {}, maybe-live-out:",
    );
    assert_eq!(of("cpu_", &donated), []);
    assert_eq!(of("sm_9.0_gpu_", &donated), []);
    assert_eq!(of("", &donated), [(0, None)]);
}
