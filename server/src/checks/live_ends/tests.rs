//! Ends of live ranges, of made-up dumps.

use crate::checks::tests::{dump, finds, lstm_scan};
use crate::checks::{Code, check};

/// `write` is said to write over `copy`, which `late` reads after that.
const OVERWRITTEN: [&str; 2] = [
    "\
HloModule m, is_scheduled=true

%f (a: f32[128]) -> f32[128] {
  ROOT %a = f32[128]{0} parameter(0)
}

ENTRY %main (x: f32[128]) -> f32[128] {
  %x = f32[128]{0} parameter(0)
  %copy = f32[128]{0} copy(%x)
  %write = f32[128]{0} fusion(%copy), kind=kCustom, output_to_operand_aliasing={{}: (0, {})}, calls=%f
  %negate = f32[128]{0} negate(%write)
  %late = f32[128]{0} add(%copy, %negate)
  ROOT %add = f32[128]{0} add(%late, %x)
}
",
    "\
BufferAssignment:
allocation 0: size 512, parameter 0, shape |f32[128]| at ShapeIndex {}:
 value: <0 x @0> (size=512,offset=0): f32[128]{0}
allocation 1: size 512, output shape is |f32[128]|, maybe-live-out:
 value: <5 add @0> (size=512,offset=0): f32[128]{0}
allocation 2: size 1536, preallocated-temp:
 value: <1 copy @0> (size=512,offset=0): f32[128]{0}
 value: <2 write @0> (size=512,offset=0): f32[128]{0}
 value: <3 negate @0> (size=512,offset=512): f32[128]{0}
 value: <4 late @0> (size=512,offset=1024): f32[128]{0}

Total bytes used: 2560 (2.5KiB)

Used values:
<0 x @0>
 positions:
  x
 uses:
  copy, operand 0
  add, operand 1
 from instruction: %x = f32[128]{0} parameter(0)
<1 copy @0>
 positions:
  copy
 uses:
  write, operand 0
  late, operand 0
 from instruction: %copy = f32[128]{0} copy(%x)
<2 write @0>
 positions:
  write
 uses:
  negate, operand 0
 from instruction: %write = f32[128]{0} fusion(%copy), kind=kCustom, output_to_operand_aliasing={{}: (0, {})}, calls=%f
<3 negate @0>
 positions:
  negate
 uses:
  late, operand 1
 from instruction: %negate = f32[128]{0} negate(%write)
<4 late @0>
 positions:
  late
 uses:
  add, operand 0
 from instruction: %late = f32[128]{0} add(%copy, %negate)
<5 add @0>
 positions:
  add
 uses:
 from instruction: %add = f32[128]{0} add(%late, %x)

HloLiveRange (max 6):
  InstructionSequence:
    0:x
    1:copy
    2:write
    3:negate
    4:late
    5:add
  BufferLiveRange:
    x{}:0-6
    copy{}:1-2
    write{}:2-4
    negate{}:3-4
    late{}:4-5
    add{}:5-6
  Live ranges at 5 (peak):
    x: 512 bytes
    late: 512 bytes
    add: 512 bytes
",
];

#[test]
fn what_is_written_over_goes_on_in_the_place_of_what_it_was() {
    let findings = check(&dump(&OVERWRITTEN));
    let told = findings.iter().filter(|it| it.code == Code::LiveRange);
    let told: Vec<_> = told.map(|it| &it.message).collect();
    assert!(told.is_empty(), "{told:?}");
    let [module, assignment] = OVERWRITTEN;
    for (from, to, problem) in [
        (
            "copy{}:1-2",
            "copy{}:1-3",
            "ends at step 3 where `write`, which writes over it, runs at step 2",
        ),
        (
            "write{}:2-4",
            "write{}:2-5",
            "ends at step 5 where `copy`, whose bytes it has taken, is read for the last time at step 4",
        ),
    ] {
        let found = finds(&[assignment, module], from, to, "live-range");
        assert_eq!(found.message, format!("the live range {problem}"));
    }
}

/// `a` and `b` are handed to `call`, whose computation is in the schedule before it.
const CALLED: [&str; 2] = [
    "\
HloModule m, is_scheduled=true

%command_buffer (p: f32[128], q: f32[128]) -> f32[128] {
  %p = f32[128]{0} parameter(0)
  %q = f32[128]{0} parameter(1)
  ROOT %subtract = f32[128]{0} subtract(%p, %q)
}

ENTRY %main (x: f32[128]) -> f32[128] {
  %x = f32[128]{0} parameter(0)
  %a = f32[128]{0} sine(%x)
  %b = f32[128]{0} cosine(%x)
  ROOT %call = f32[128]{0} call(%a, %b), to_apply=%command_buffer
}
",
    "\
BufferAssignment:
allocation 0: size 512, parameter 0, shape |f32[128]| at ShapeIndex {}:
 value: <0 x @0> (size=512,offset=0): f32[128]{0}
allocation 1: size 512, output shape is |f32[128]|, maybe-live-out:
 value: <3 subtract @0> (size=512,offset=0): f32[128]{0}
allocation 2: size 1024, preallocated-temp:
 value: <1 a @0> (size=512,offset=0): f32[128]{0}
 value: <2 b @0> (size=512,offset=512): f32[128]{0}

Total bytes used: 2048 (2.0KiB)

Used values:
<0 x @0>
 positions:
  x
 uses:
  a, operand 0
  b, operand 0
 from instruction: %x = f32[128]{0} parameter(0)
<1 a @0>
 positions:
  a
  p
 uses:
  call, operand 0
  subtract, operand 0
 from instruction: %a = f32[128]{0} sine(%x)
<2 b @0>
 positions:
  b
  q
 uses:
  call, operand 1
  subtract, operand 1
 from instruction: %b = f32[128]{0} cosine(%x)
<3 subtract @0>
 positions:
  call
  subtract
 uses:
 from instruction: %subtract = f32[128]{0} subtract(%p, %q)

HloLiveRange (max 7):
  InstructionSequence:
    0:x
    1:a
    2:b
    3:p
    4:q
    5:subtract
    6:call
  BufferLiveRange:
    x{}:0-7
    a{}:1-5
    b{}:2-5
    subtract{}:5-7
  Live ranges at 5 (peak):
    x: 512 bytes
    a: 512 bytes
    b: 512 bytes
    subtract: 512 bytes
",
];

#[test]
fn what_a_call_is_handed_may_end_with_a_parameter() {
    let told = |to: &str| {
        let assignment = CALLED[1].replace("a{}:1-5", to);
        let findings = check(&dump(&[CALLED[0], &assignment]));
        findings.into_iter().any(|it| it.code == Code::LiveRange)
    };
    for (range, is_told) in [
        ("a{}:1-5", false),
        ("a{}:1-4", false),
        ("a{}:1-3", false),
        ("a{}:1-2", true),
        ("a{}:1-7", true),
    ] {
        assert_eq!(told(range), is_told, "{range}");
    }
}

#[test]
fn a_live_range_ends_with_the_last_that_has_to_do_with_its_value() {
    let parts = lstm_scan();
    let mut texts = parts.each_ref().map(String::as_str);
    texts.rotate_left(2);
    for (from, to, problem) in [
        (
            "ynn_fusion{}:27-33",
            "ynn_fusion{}:27-34",
            "ends at step 34 where `tanh_multiply_fusion`, the last to read it, runs at step 33",
        ),
        (
            "while.7{0}:36-36",
            "while.7{0}:36-40",
            "ends at step 40 where `while.7`, which nobody reads later, runs at step 36",
        ),
        (
            "copy.15{}:10-13",
            "copy.15{}:10-12",
            "ends at step 12 where the loop `while.7` begins at step 13",
        ),
        (
            "while.7{1}:36-41",
            "while.7{1}:36-39",
            "ends at step 39 where the computation that gives it ends at step 41",
        ),
    ] {
        let found = finds(&texts, from, to, "live-range");
        assert_eq!(found.message, format!("the live range {problem}"));
        let fixed = found.fix.unwrap_or_else(|| panic!("no fix of {from}")).text;
        assert!(from.ends_with(&format!("-{fixed}")), "{fixed}");
    }
}
