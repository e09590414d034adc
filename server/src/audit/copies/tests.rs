use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::*;
use crate::audit::fixture::{audited, dump, real};
use crate::model::source::Libraries;
use crate::real_dumps::{compilations, read};

fn check(dump: &Dump, expected: &Expect) {
    let mut text = String::new();
    let copies = copies(&Audit::new(dump, Libraries::default()));
    for copy in &copies {
        let end = |end: &End| {
            let value = end
                .value
                .map(|at| &dump.names[dump.values[at as usize].name]);
            format!("{} {} {:?}", value.unwrap_or("?"), end.shape, end.color)
        };
        writeln!(
            text,
            "{} {} {} B, {} -> {}, steps {:?}{}{}{}",
            &dump.names[copy.name],
            copy.purpose.name(),
            copy.bytes.unwrap_or(0),
            end(&copy.from),
            end(&copy.to),
            copy.window,
            if copy.at_peak == Some(true) {
                ", at the peak"
            } else {
                ""
            },
            copy.round_trip
                .map(|earlier| format!(", takes back {}", &dump.names[earlier]))
                .unwrap_or_default(),
            copy.in_loop
                .map(|it| format!(", in {} {:?}", &dump.names[it.name], it.turns))
                .unwrap_or_default()
        )
        .unwrap();
    }
    expected.assert_eq(&text);
}

#[test]
fn of_large_copies_all_is_known_without_the_small_ones() {
    // There a large copy takes back what a small one did.
    let small = TEXT.replace("<2 copy.1 @0> (size=512", "<2 copy.1 @0> (size=256");
    let mut dumps = vec![audited(&small)];
    dumps.extend(compilations().iter().step_by(7).map(|files| read(files)));
    let (mut small, mut round_trips) = (0, 0);
    for dump in &dumps {
        let audit = Audit::new(dump, Libraries::default());
        let all = copies(&audit);
        let sizes: FxHashSet<u64> = all.iter().filter_map(|copy| copy.bytes).collect();
        for least in sizes.into_iter().flat_map(|size| [size, size + 1]) {
            let is_large = |copy: &&Copy| copy.bytes >= Some(least);
            let large = copies_from(&audit, least);
            let expected: Vec<&Copy> = all.iter().filter(is_large).collect();
            let found: Vec<&Copy> = large.iter().filter(is_large).collect();
            assert_eq!(found, expected, "{:?}: {least}", dump.files[0].path);
            small += usize::from(large.len() < all.len());
            let trips = found.iter().filter(|copy| copy.round_trip.is_some());
            round_trips += trips.count();
        }
    }
    assert!(small > 0 && round_trips > 0, "{small}, {round_trips}");
}

const TEXT: &str = r"BufferAssignment:
allocation 0: size 512, parameter 0, shape |f32[8,16]| at ShapeIndex {}:
 value: <1 p.1 @0> (size=512,offset=0): f32[8,16]{1,0}
allocation 1: size 4096, preallocated-temp:
 value: <2 copy.1 @0> (size=512,offset=0): f32[8,16]{0,1}
 value: <3 copy.2 @0> (size=512,offset=512): f32[8,16]{1,0}
 value: <4 copy.3 @0> (size=512,offset=1024): f32[8,16]{1,0}
 value: <5 transpose.1 @0> (size=512,offset=1536): f32[16,8]{1,0}
 value: <6 copy-start{} @0> (size=24,offset=2048): (f32[8,16]{1,0:S(5)}, f32[8,16]{1,0}, u32[])
 value: <8 copy.4 @0> (size=512,offset=2560): f32[8,16]{1,0}
 value: <9 copy.5 @0> (size=512,offset=3072): f32[128,1]{1,0}
allocation 2: size 512, color 5, preallocated-temp:
 value: <7 copy-start{0} @5> (size=512,offset=0): f32[8,16]{1,0:S(5)}

Total bytes used: 5120 (5.0KiB)

Used values:
<1 p.1 @0>
 positions:
  p.1
  bitcast.1
 uses:
  copy.1, operand 0
 from instruction: %p.1 = f32[8,16]{1,0} parameter(0)
<2 copy.1 @0>
 positions:
  copy.1
 uses:
  copy.2, operand 0
 from instruction: %copy.1 = f32[8,16]{0,1} copy(%p.1)
<3 copy.2 @0>
 positions:
  copy.2
 uses:
  copy.3, operand 0
 from instruction: %copy.2 = f32[8,16]{1,0} copy(%copy.1)
<4 copy.3 @0>
 positions:
  copy.3
 uses:
  transpose.1, operand 0
 from instruction: %copy.3 = f32[8,16]{1,0} copy(f32[8,16]{1,0} %copy.2)
<5 transpose.1 @0>
 positions:
  transpose.1
 uses:
  copy-start, operand 0
 from instruction: %transpose.1 = f32[16,8]{1,0} transpose(%copy.3), dimensions={1,0}
<6 copy-start{} @0>
 positions:
  copy-start {}
 uses:
  copy-done, operand 0 {}
 from instruction: %copy-start = (f32[8,16]{1,0:S(5)}, f32[8,16]{1,0}, u32[]) copy-start(%copy.3)
<7 copy-start{0} @5>
 positions:
  copy-start {0}
  copy-done
 uses:
  copy.4, operand 0
 from instruction: %copy-start = (f32[8,16]{1,0:S(5)}, f32[8,16]{1,0}, u32[]) copy-start(%copy.3)
<8 copy.4 @0>
 positions:
  copy.4
 uses:
 from instruction: %copy.4 = f32[8,16]{1,0} copy(f32[8,16]{1,0:S(5)} %copy-done)
<9 copy.5 @0>
 positions:
  copy.5
 uses:
 from instruction: %copy.5 = f32[128,1]{1,0} copy(%bitcast.1)

HloLiveRange (max 10):
  InstructionSequence:
    0:p.1
    1:copy.1
    2:copy.2
    3:copy.3
    4:transpose.1
    5:copy-start
    6:bitcast.1
    7:copy-done
    8:copy.4
    9:copy.5
  BufferLiveRange:
    p.1{}:0-10
    copy.1{}:1-2
    copy.2{}:2-3
    copy.3{}:3-7
    transpose.1{}:4-5
    copy-start{}:5-7
    copy-start{0}:5-8
    copy.4{}:8-10
    copy.5{}:9-10
  Live ranges at 5 (peak):
    p.1{}: 512 bytes
";

#[test]
fn what_copies_are_for() {
    check(
        &audited(TEXT),
        &expect![[r#"
        copy.1 layout 512 B, p.1 f32[8,16]{1,0} Some(0) -> copy.1 f32[8,16]{0,1} Some(0), steps Some((1, 1))
        copy.2 layout 512 B, copy.1 f32[8,16]{0,1} Some(0) -> copy.2 f32[8,16]{1,0} Some(0), steps Some((2, 2)), takes back copy.1
        copy.3 plain 512 B, copy.2 f32[8,16]{1,0} Some(0) -> copy.3 f32[8,16]{1,0} Some(0), steps Some((3, 3)), at the peak
        transpose.1 transpose 512 B, copy.3 f32[8,16]{1,0} Some(0) -> transpose.1 f32[16,8]{1,0} Some(0), steps Some((4, 4)), at the peak
        copy-start offload 512 B, copy.3 f32[8,16]{1,0} Some(0) -> copy-start f32[8,16]{1,0:S(5)} Some(5), steps Some((5, 7)), at the peak
        copy.4 reload 512 B, copy-start f32[8,16]{1,0:S(5)} Some(5) -> copy.4 f32[8,16]{1,0} Some(0), steps Some((8, 8)), takes back copy-start
        copy.5 unknown 512 B, p.1  Some(0) -> copy.5 f32[128,1]{1,0} Some(0), steps Some((9, 9))
    "#]],
    );
    let (without, _) = TEXT.split_once("\nHloLiveRange").unwrap();
    let dump = audited(without);
    let copies = copies(&Audit::new(&dump, Libraries::default()));
    assert_eq!(copies.len(), 7);
    assert!(
        copies
            .iter()
            .all(|copy| copy.window.is_none() && copy.at_peak.is_none())
    );
}

#[test]
fn slices_have_the_bytes_that_are_shown_and_results_are_written_back() {
    check(
        &audited(
            r"BufferAssignment:
allocation 0: size 1024, parameter 0, shape |f32[16,16]| at ShapeIndex {}:
 value: <1 p.1 @0> (size=1024,offset=0): f32[16,16]{1,0}
allocation 1: size 512, color 1, preallocated-temp:
 value: <2 slice.1 @1> (size=512,offset=0): f32[8,16]{1,0:S(1)}
allocation 2: size 1024, preallocated-temp:
 value: <3 slice-start{} @0> (size=24,offset=0): ((f32[16,16]{1,0}), f32[8,16]{1,0:S(1)}, s32[])
 value: <4 copy-start{} @0> (size=24,offset=32): (f32[8,16]{1,0}, f32[8,16]{1,0:S(1)}, u32[])
 value: <5 copy-start{0} @0> (size=512,offset=512): f32[8,16]{1,0}

Total bytes used: 2560 (2.5KiB)

Used values:
<1 p.1 @0>
 positions:
  p.1
  slice-start {0,0}
 uses:
  slice-start, operand 0
 from instruction: %p.1 = f32[16,16]{1,0} parameter(0)
<2 slice.1 @1>
 positions:
  slice.1
  slice-start {1}
  slice-done
 uses:
  copy-start, operand 0
 from instruction: %slice.1 = f32[8,16]{1,0:S(1)} slice(%param_0.1), slice={[0:8], [0:16]}
<3 slice-start{} @0>
 positions:
  slice-start {}
 uses:
  slice-done, operand 0 {}
 from instruction: %slice-start = ((f32[16,16]{1,0}), f32[8,16]{1,0:S(1)}, s32[]) slice-start(%p.1), slice={[0:8], [0:16]}
<4 copy-start{} @0>
 positions:
  copy-start {}
 uses:
  copy-done, operand 0 {}
 from instruction: %copy-start = (f32[8,16]{1,0}, f32[8,16]{1,0:S(1)}, u32[]) copy-start(%slice-done)
<5 copy-start{0} @0>
 positions:
  copy-start {0}
  copy-done
 uses:
 from instruction: %copy-start = (f32[8,16]{1,0}, f32[8,16]{1,0:S(1)}, u32[]) copy-start(%slice-done)
",
        ),
        &expect![[r#"
            slice-start prefetch 512 B, p.1 f32[16,16]{1,0} Some(0) -> slice.1 f32[8,16]{1,0:S(1)} Some(1), steps None
            copy-start write-back 512 B, slice.1  Some(1) -> copy-start f32[8,16]{1,0} Some(0), steps None
        "#]],
    );
}

#[test]
fn real_dumps() {
    check(
        &real("tpu-split/module_0055."),
        &expect![[r#"
        copy-start prefetch 524288 B, q.1 bf16[2,256,8,64]{1,3,2,0:T(8,128)(2,1)} Some(0) -> copy-start bf16[2,256,8,64]{1,3,2,0:T(8,128)(2,1)S(1)} Some(1), steps Some((1, 5)), at the peak
        copy-start.1 prefetch 524288 B, v.1 bf16[2,256,8,64]{1,3,2,0:T(8,128)(2,1)} Some(0) -> copy-start.1 bf16[2,256,8,64]{1,3,2,0:T(8,128)(2,1)S(1)} Some(1), steps Some((6, 11)), at the peak
    "#]],
    );
    check(
        &real("tpu-combined-v5p/module_1690."),
        &expect![[r#"
        copy-start.2 prefetch 16777216 B, Arg_1.2 f32[2048,2048]{1,0:T(8,128)} Some(0) -> copy-start.2 f32[2048,2048]{1,0:T(8,128)S(1)} Some(1), steps Some((1, 3)), at the peak
        copy-start offload 16777216 B, fusion.1 f32[2048,2048]{1,0:T(8,128)} Some(0) -> copy-start f32[2048,2048]{1,0:T(8,128)S(5)} Some(5), steps Some((5, 6)), at the peak
        copy-start.1 reload 16777216 B, copy-start f32[2048,2048]{1,0:T(8,128)S(5)} Some(5) -> copy-start.1 f32[2048,2048]{1,0:T(8,128)} Some(0), steps Some((7, 8)), at the peak, takes back copy-start
    "#]],
    );
}

const UPDATE_IN_HOST_MEMORY: &str = r"BufferAssignment:
allocation 0: size 2048, color 5, preallocated-temp:
 value: <1 buffer.1 @5> (size=2048,offset=0): f32[2,8,32]{2,1,0:T(8,128)S(5)}
allocation 1: size 5120, preallocated-temp:
 value: <2 update.1 @0> (size=4096,offset=0): f32[1,8,32]{2,1,0:T(8,128)}
 value: <3 update-start{} @0> (size=512,offset=4096): ((f32[2,8,32]{2,1,0:T(8,128)S(5)}, f32[1,8,32]{2,1,0:T(8,128)}, s32[]), f32[2,8,32]{2,1,0:T(8,128)S(5)}, u32[])
 value: <4 slice.1 @0> (size=4096,offset=4608): f32[1,8,32]{2,1,0:T(8,128)}

Total bytes used: 7168 (7.0KiB)

Used values:
<1 buffer.1 @5>
 positions:
  buffer.1
  update-start {0,0}
  update-start {1}
  update-done
 uses:
  update-start, operand 0
 from instruction: %buffer.1 = f32[2,8,32]{2,1,0:T(8,128)S(5)} broadcast(%zero)
<2 update.1 @0>
 positions:
  update.1
  update-start {0,1}
 uses:
  update-start, operand 1
 from instruction: %update.1 = f32[1,8,32]{2,1,0:T(8,128)} sine(%x)
<3 update-start{} @0>
 positions:
  update-start {}
 uses:
  update-done, operand 0 {}
 from instruction: %update-start = ((f32[2,8,32]{2,1,0:T(8,128)S(5)}, f32[1,8,32]{2,1,0:T(8,128)}, s32[]), f32[2,8,32]{2,1,0:T(8,128)S(5)}, u32[]) dynamic-update-slice-start(%buffer.1, %update.1, %at)
<4 slice.1 @0>
 positions:
  slice.1
  slice-start {1}
 uses:
 from instruction: %slice.1 = f32[1,8,32]{2,1,0:T(8,128)} dynamic-slice(%p.0, %p.1)
<5 slice-start{} @0>
 positions:
  slice-start {}
 uses:
 from instruction: %slice-start = ((f32[2,8,32]{2,1,0:T(8,128)S(5)}, s32[]), f32[1,8,32]{2,1,0:T(8,128)}, u32[]) dynamic-slice-start(%update-done, %at)
";

/// What `update-start` calls where its opcode does not say what it does.
const CALLED: &str = r"HloModule m, is_scheduled=true

%called (p.0: f32[2,8,32], p.1: f32[1,8,32], p.2: s32[]) -> f32[2,8,32] {
  %p.0 = f32[2,8,32]{2,1,0:T(8,128)S(5)} parameter(0)
  %p.1 = f32[1,8,32]{2,1,0:T(8,128)} parameter(1)
  %p.2 = s32[] parameter(2)
  ROOT %update.2 = f32[2,8,32]{2,1,0:T(8,128)S(5)} dynamic-update-slice(%p.0, %p.1, %p.2)
}
";

#[test]
fn an_update_moves_what_it_writes_into_the_buffer() {
    // What is read back may be another part, and is no way back.
    let expected = expect![[r#"
        update-start offload 4096 B, update.1 f32[1,8,32]{2,1,0:T(8,128)} Some(0) -> buffer.1 f32[2,8,32]{2,1,0:T(8,128)S(5)} Some(5), steps None
        slice-start reload 4096 B, buffer.1  Some(5) -> slice.1 f32[1,8,32]{2,1,0:T(8,128)} Some(0), steps None
    "#]];
    check(&audited(UPDATE_IN_HOST_MEMORY), &expected);
    let called = "async-start(%buffer.1, %update.1, %at), calls=%called";
    let wrapped = UPDATE_IN_HOST_MEMORY.replace(
        "dynamic-update-slice-start(%buffer.1, %update.1, %at)",
        called,
    );
    let files = [("m-buffer-assignment.txt", &*wrapped), ("m.txt", CALLED)];
    let files = files.map(|(path, text)| (path.into(), text.to_owned()));
    check(&dump(files.into()), &expected);
    // In one memory space it is what the program asks for.
    let here = UPDATE_IN_HOST_MEMORY.replace("S(5)", "");
    let dump = audited(&here);
    let copies = copies(&Audit::new(&dump, Libraries::default()));
    let is_update = |copy: &Copy| &dump.names[copy.name] == "update-start";
    assert!(!copies.iter().any(is_update));
}

#[test]
fn a_copy_in_a_fusion_of_its_own_is_one() {
    let text = r"BufferAssignment:
allocation 0: size 512, parameter 0, shape |f32[8,16]| at ShapeIndex {}:
 value: <1 p @0> (size=512,offset=0): f32[8,16]{1,0}
allocation 1: size 4096, preallocated-temp:
 value: <2 wrapped_copy @0> (size=512,offset=0): f32[8,16]{0,1}
 value: <3 bitcast_copy_fusion @0> (size=512,offset=512): f32[8,16]{1,0}
 value: <4 wrapped_transpose @0> (size=512,offset=1024): f32[16,8]{1,0}
 value: <5 copy_negate_fusion @0> (size=512,offset=1536): f32[8,16]{0,1}
 value: <6 dead_copy_fusion @0> (size=512,offset=2048): f32[128]{0}
 value: <7 turned_copy_fusion @0> (size=512,offset=2560): f32[16,8]{1,0}
 value: <8 copy_copy_fusion @0> (size=512,offset=3072): f32[4,32]{1,0}
 value: <9 turned_fusion @0> (size=512,offset=3584): f32[16,8]{0,1}

Total bytes used: 4608 (4.5KiB)
";
    let module = r"HloModule m, is_scheduled=true

%c0 (q0: f32[8,16]) -> f32[8,16] {
  %q0 = f32[8,16]{1,0} parameter(0)
  ROOT %copy.0 = f32[8,16]{0,1} copy(%q0)
}

%c1 (q1: f32[8,16]) -> f32[8,16] {
  %q1 = f32[8,16]{0,1} parameter(0)
  %b.1 = f32[16,8]{1,0} bitcast(%q1)
  %copy.1 = f32[16,8]{0,1} copy(%b.1)
  ROOT %b.2 = f32[8,16]{1,0} bitcast(%copy.1)
}

%c2 (q2: f32[8,16]) -> f32[16,8] {
  %q2 = f32[8,16]{1,0} parameter(0)
  ROOT %transpose.2 = f32[16,8]{1,0} transpose(%q2), dimensions={1,0}
}

%c3 (q3: f32[8,16]) -> f32[8,16] {
  %q3 = f32[8,16]{1,0} parameter(0)
  %copy.3 = f32[8,16]{0,1} copy(%q3)
  ROOT %negate.3 = f32[8,16]{0,1} negate(%copy.3)
}

%c4 (q4: f32[8,16]) -> f32[128] {
  %q4 = f32[8,16]{1,0} parameter(0)
  %copy.4 = f32[8,16]{0,1} copy(%q4)
  ROOT %b.4 = f32[128]{0} bitcast(%q4)
}

%c5 (q5: f32[8,16]) -> f32[16,8] {
  %q5 = f32[8,16]{1,0} parameter(0)
  %transpose.5 = f32[16,8]{0,1} transpose(%q5), dimensions={1,0}
  ROOT %copy.5 = f32[16,8]{1,0} copy(%transpose.5)
}

%c6 (q6: f32[8,16]) -> f32[4,32] {
  %q6 = f32[8,16]{1,0} parameter(0)
  %copy.6 = f32[8,16]{0,1} copy(%q6)
  %b.6 = f32[4,32]{0,1} bitcast(%copy.6)
  ROOT %copy.7 = f32[4,32]{1,0} copy(%b.6)
}

%c7 (q7: f32[8,16]) -> f32[16,8] {
  %q7 = f32[8,16]{1,0} parameter(0)
  ROOT %transpose.7 = f32[16,8]{0,1} transpose(%q7), dimensions={1,0}
}

ENTRY %main (p: f32[8,16]) -> f32[8,16] {
  %p = f32[8,16]{1,0} parameter(0)
  %dead_copy_fusion = f32[128]{0} fusion(%p), kind=kLoop, calls=%c4
  %wrapped_copy = f32[8,16]{0,1} fusion(%p), kind=kLoop, calls=%c0
  %bitcast_copy_fusion = f32[8,16]{1,0} fusion(%wrapped_copy), kind=kLoop, calls=%c1
  %wrapped_transpose = f32[16,8]{1,0} fusion(%bitcast_copy_fusion), kind=kInput, calls=%c2
  %turned_copy_fusion = f32[16,8]{1,0} fusion(%p), kind=kLoop, calls=%c5
  %copy_copy_fusion = f32[4,32]{1,0} fusion(%p), kind=kLoop, calls=%c6
  %turned_fusion = f32[16,8]{0,1} fusion(%p), kind=kLoop, calls=%c7
  ROOT %copy_negate_fusion = f32[8,16]{0,1} fusion(%p), kind=kLoop, calls=%c3
}
";
    let files = [("m-buffer-assignment.txt", text), ("m.txt", module)];
    let files = files.map(|(path, text)| (path.into(), text.to_owned()));
    check(
        &dump(files.into()),
        &expect![[r#"
        wrapped_copy layout 512 B, p f32[8,16]{1,0} Some(0) -> wrapped_copy f32[8,16]{0,1} Some(0), steps None
        bitcast_copy_fusion layout 512 B, wrapped_copy f32[16,8]{1,0} Some(0) -> bitcast_copy_fusion f32[16,8]{0,1} Some(0), steps None
        wrapped_transpose transpose 512 B, bitcast_copy_fusion f32[8,16]{1,0} Some(0) -> wrapped_transpose f32[16,8]{1,0} Some(0), steps None, takes back bitcast_copy_fusion
        turned_copy_fusion layout 512 B, p f32[16,8]{0,1} Some(0) -> turned_copy_fusion f32[16,8]{1,0} Some(0), steps None
        copy_copy_fusion transpose 512 B, p f32[8,16]{1,0} Some(0) -> copy_copy_fusion f32[4,32]{1,0} Some(0), steps None
        turned_fusion transpose 512 B, p f32[8,16]{1,0} Some(0) -> turned_fusion f32[16,8]{0,1} Some(0), steps None
    "#]],
    );
}

#[test]
fn what_a_loop_calls_and_chooses_is_in_it() {
    let text = r"BufferAssignment:
allocation 0: size 32, preallocated-temp:
 value: <1 copy.1 @0> (size=16,offset=0): f32[4]{0}
 value: <2 copy.2 @0> (size=16,offset=16): f32[4]{0}
 value: <3 copy.3 @0> (size=16,offset=32): f32[4]{0}

Total bytes used: 48 (48B)
";
    let module = r#"HloModule m, is_scheduled=true

%buffer (a: f32[4]) -> f32[4] {
  %a = f32[4]{0} parameter(0)
  ROOT %copy.1 = f32[4]{0} copy(%a)
}

%branch (b: f32[4]) -> f32[4] {
  %b = f32[4]{0} parameter(0)
  ROOT %copy.2 = f32[4]{0} copy(%b)
}

%twice (c: f32[4]) -> f32[4] {
  %c = f32[4]{0} parameter(0)
  ROOT %copy.3 = f32[4]{0} copy(%c)
}

%body (s: f32[4]) -> f32[4] {
  %s = f32[4]{0} parameter(0)
  %d = f32[4]{0} call(%s), to_apply=%buffer
  %e = f32[4]{0} call(%d), to_apply=%twice
  %p = pred[] constant(true)
  ROOT %f = f32[4]{0} conditional(%p, %e, %e), branch_computations={%branch, %branch}
}

%condition (t: f32[4]) -> pred[] {
  %t = f32[4]{0} parameter(0)
  ROOT %q = pred[] constant(true)
}

ENTRY %main (x: f32[4]) -> f32[4] {
  %x = f32[4]{0} parameter(0)
  %y = f32[4]{0} call(%x), to_apply=%twice
  ROOT %z = f32[4]{0} while(%y), condition=%condition, body=%body, backend_config={"known_trip_count":{"n":"5"}}
}
"#;
    let files = [("m-buffer-assignment.txt", text), ("m.txt", module)];
    let files = files.map(|(path, text)| (path.into(), text.to_owned()));
    // What runs the third of them besides runs it once.
    check(
        &dump(files.into()),
        &expect![[r#"
            copy.1 plain 16 B, ? f32[4]{0} Some(0) -> copy.1 f32[4]{0} Some(0), steps None, in z Some(5)
            copy.2 plain 16 B, ? f32[4]{0} Some(0) -> copy.2 f32[4]{0} Some(0), steps None, in z None
            copy.3 plain 16 B, ? f32[4]{0} Some(0) -> copy.3 f32[4]{0} Some(0), steps None
        "#]],
    );
}

/// With `xla_dump_compact_gte` no instruction takes an element out of a tuple.
#[test]
fn a_copy_of_an_element() {
    let text = r"BufferAssignment:
allocation 0: size 1024, preallocated-temp:
 value: <1 loop{1} @0> (size=512,offset=0): f32[8,16]{1,0}
 value: <2 copy.1 @0> (size=512,offset=512): f32[8,16]{0,1}

Total bytes used: 1024 (1.0KiB)

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
    let printed = audited(text);
    let copies = copies(&Audit::new(&printed, Libraries::default()));
    assert_eq!(copies[0].operand, "loop#1");
    let expected = expect![[r#"
        copy.1 layout 512 B, loop f32[8,16]{1,0} Some(0) -> copy.1 f32[8,16]{0,1} Some(0), steps None
    "#]];
    check(&printed, &expected);

    // The values may still name the instruction that the HLO text hides.
    let text = text.replace("copy(%loop#1)", "copy(%element)");
    let text = text.replace("  loop {1}\n", "  loop {1}\n  element\n");
    let module = "HloModule m, is_scheduled=true\n\nENTRY %e {\n  ROOT %copy.1 = f32[8,16]{0,1} copy(%loop#1)\n}\n";
    let files = [("m-buffer-assignment.txt", &*text), ("m.txt", module)];
    let files = files.map(|(path, text)| (path.into(), text.to_owned()));
    check(&dump(files.into()), &expected);
}

#[test]
fn a_copy_in_a_loop_is_made_in_each_turn() {
    let assignment = "BufferAssignment:\nallocation 0: size 32, preallocated-temp:\n \
                      value: <1 copy.1 @0> (size=16,offset=0): f32[4]{0}\n \
                      value: <2 copy.2 @0> (size=16,offset=16): f32[4]{0}\n";
    let module = r#"HloModule m, is_scheduled=true

turn {
  state = (f32[4]{0}) parameter(0)
  of = f32[4]{0} get-tuple-element(state), index=0
  copy.1 = f32[4]{0} copy(of)
  ROOT next = (f32[4]{0}) tuple(copy.1)
}

outer_turn {
  outer_state = (f32[4]{0}) parameter(0)
  inner = (f32[4]{0}) while(outer_state), condition=until, body=turn, backend_config={"known_trip_count":{"n":"5"}}
  ROOT outer_next = (f32[4]{0}) tuple(inner)
}

until {
  now = (f32[4]{0}) parameter(0)
  ROOT go = pred[] constant(true)
}

ENTRY e {
  start = (f32[4]{0}) parameter(0)
  copy.2 = f32[4]{0} copy(start)
  ROOT loop = (f32[4]{0}) while(start), condition=until, body=outer_turn, backend_config={"known_trip_count":{"n":"3"}}
}
"#;
    let in_loops = |module: &str| {
        let dump = dump(vec![
            ("m-buffer-assignment.txt".into(), assignment.to_owned()),
            ("m.txt".into(), module.to_owned()),
        ]);
        let found = copies(&Audit::new(&dump, Libraries::default()));
        let in_loop = |it: Loop| (dump.names[it.name].to_owned(), it.turns);
        let found = found
            .iter()
            .map(|it| (dump.names[it.name].to_owned(), it.in_loop.map(in_loop)));
        let mut found: Vec<_> = found.collect();
        found.sort();
        found
    };
    let expected = |turns| {
        let inner = Some(("inner".to_owned(), turns));
        [("copy.1".to_owned(), inner), ("copy.2".to_owned(), None)]
    };
    assert_eq!(in_loops(module), expected(Some(15)));
    let unknown = module.replace(", backend_config={\"known_trip_count\":{\"n\":\"3\"}}", "");
    assert_eq!(in_loops(&unknown), expected(None));
}
