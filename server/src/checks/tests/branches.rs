//! Bytes that are shared in branches of conditionals and in loops, of which the printed live ranges know nothing.

use super::{check, dump};

/// Two branches read what they are `handed`; in the first one `reused` takes its bytes then.
const ASSIGNMENT: &str = "BufferAssignment:
allocation 0: size 64, color 1, preallocated-temp:
 value: <0 handed @1> (size=64,offset=0): f32[16]{0}
 value: <1 reused @1> (size=64,offset=0): f32[16]{0}

Total bytes used: 64 (64B)

Used values:
<0 handed @1>
 positions:
  handed
 uses:
  read.1, operand 0
  read.2, operand 0
  cond, operand 1
 from instruction: %handed = f32[16]{0} iota(), iota_dimension=0
<1 reused @1>
 positions:
  reused
 uses:
  root.1, operand 0
 from instruction: %reused = f32[16]{0} negate(%read.1)
<2 cond (phi) @0>
 positions:
  cond
 uses:
 from instruction: %cond = f32[16]{0} conditional(%p, %handed, %handed), true_computation=%one, false_computation=%other

HloLiveRange (max 9):
  InstructionSequence:
    0:p
    1:handed
    2:arg.1
    3:read.1
    4:reused
    5:root.1
    6:arg.2
    7:read.2
    8:cond
  BufferLiveRange:
    handed{}:1-8
    reused{}:4-5
";

const MODULE: &str = "HloModule jit_f, is_scheduled=true

%one (arg.1: f32[16]) -> f32[16] {
  %arg.1 = f32[16]{0} parameter(0)
  %read.1 = f32[16]{0} exponential(%arg.1)
  %reused = f32[16]{0} negate(%read.1)
  ROOT %root.1 = f32[16]{0} sine(%reused)
}

%other (arg.2: f32[16]) -> f32[16] {
  %arg.2 = f32[16]{0} parameter(0)
  ROOT %read.2 = f32[16]{0} cosine(%arg.2)
}

ENTRY %main (p: pred[]) -> f32[16] {
  %p = pred[] parameter(0)
  %handed = f32[16]{0} iota(), iota_dimension=0
  ROOT %cond = f32[16]{0} conditional(%p, %handed, %handed), true_computation=%one, false_computation=%other
}
";

fn overlap(texts: &[&str]) -> bool {
    let findings = check(&dump(texts));
    findings.iter().any(|it| it.code.name() == "bytes-overlap")
}

#[test]
fn a_branch_takes_the_bytes_of_what_it_has_read() {
    assert!(!overlap(&[ASSIGNMENT, MODULE]));
    // The same in main memory, which is given out by the printed ranges.
    let main = ASSIGNMENT.replace("@1>", "@0>").replace(", color 1", "");
    assert!(overlap(&[&main, MODULE]));
    // Both in one branch.
    let (line, one) = (
        "  %handed = f32[16]{0} iota(), iota_dimension=0\n",
        "%one (arg.1: f32[16]) -> f32[16] {\n",
    );
    let module = MODULE
        .replace(line, "")
        .replace(one, &format!("{one}{line}"));
    let steps = ASSIGNMENT.replace("    1:handed\n    2:arg.1\n", "    1:arg.1\n    2:handed\n");
    let assignment = steps.replace("handed{}:1-8", "handed{}:2-8");
    assert!(overlap(&[&assignment, &module]));
}

#[test]
fn without_the_module_all_before_a_conditional_may_be_in_a_branch() {
    assert!(!overlap(&[ASSIGNMENT]));
    let call = ASSIGNMENT.replace("conditional(%p, ", "custom-call(%p, ");
    assert!(overlap(&[&call]));
}

#[test]
fn what_is_read_for_the_last_time_is_free() {
    let call = ASSIGNMENT.replace("conditional(%p, ", "custom-call(%p, ");
    let read = call.replace("  read.2, operand 0\n  cond, operand 1\n", "");
    assert!(!overlap(&[&read]));
}

#[test]
fn what_nobody_reads_is_free() {
    let call = |text: &str| text.replace("conditional(%p, ", "custom-call(%p, ");
    let uses = "  read.1, operand 0\n  read.2, operand 0\n  cond, operand 1\n";
    let (unread, module) = (call(ASSIGNMENT).replace(uses, ""), call(MODULE));
    assert!(!overlap(&[&unread, &module]));
    // Without the HLO text it may be a result; and so it may where another shows it.
    assert!(overlap(&[&unread]));
    let shown = unread.replace(
        "positions:\n  handed\n",
        "positions:\n  handed\n  cond {0}\n",
    );
    assert!(overlap(&[&shown, &module]));
    let root = module.replace("  %handed = ", "  ROOT %handed = ");
    assert!(overlap(&[&unread, &root]));
}
