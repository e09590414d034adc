// Expected texts are written by a tool.
#![allow(clippy::needless_raw_string_hashes)]

mod loops;
mod parts;
mod peak;
mod robust;

use expect_test::{Expect, expect};

use super::*;
use crate::model::File;
use crate::model::source::Libraries;

const TPU: &str = "module_0001.jit_f.cl_1.after_optimizations-buffer-assignment.txt";
const CPU: &str = "module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt";

/// A convolution on TPU with a layout copy, a padded constant and a prefetch.
const DUMP: &str = r#"BufferAssignment:
allocation 0: size 66560, constant:
 value: <6 constant.6 @0> (size=66560,offset=0): pred[32,513]{0,1:T(8,128)(4,1)}
allocation 1: size 336199680, parameter 0, shape |f32[32,513,5120]| at ShapeIndex {}, maybe-live-out:
 value: <1 Arg_0.1 @0> (size=336199680,offset=0): f32[32,513,5120]{2,0,1:T(8,128)}
allocation 2: size 66560, color 1, preallocated-temp:
 value: <3 copy-start{0} @1> (size=66560,offset=0): pred[32,513]{0,1:T(8,128)(4,1)S(1)}
allocation 3: size 340819968, output shape is |f32[32,513,5120]|, maybe-live-out:
 value: <2 copy-start{} @0> (size=32,offset=0): (pred[32,513]{0,1:T(8,128)(4,1)S(1)}, pred[32,513]{0,1:T(8,128)(4,1)}, u32[]{:S(2)})
 value: <4 copy.3 @0> (size=340787200,offset=32768): f32[32,513,5120]{2,1,0:T(8,128)}
 value: <5 fusion @0> (size=4096,offset=32768): f32[]

Total bytes used: 677152768 (645.78MiB)

Used values:
<1 Arg_0.1 @0>
 positions:
  Arg_0.1
  bitcast.6
 uses:
  copy.3, operand 0
 from instruction: %Arg_0.1 = f32[32,513,5120]{2,0,1:T(8,128)} parameter(0), metadata={op_name="params[\'w\']"}
<2 copy-start{} @0>
 positions:
  copy-start {}
 uses:
  copy-done, operand 0 {}
 from instruction: %copy-start = (pred[32,513]{0,1:T(8,128)(4,1)S(1)}, pred[32,513]{0,1:T(8,128)(4,1)}, u32[]{:S(2)}) copy-start(%constant.6)
<3 copy-start{0} @1>
 positions:
  copy-start {0}
  copy-done
 uses:
  fusion, operand 0
 from instruction: %copy-start = (pred[32,513]{0,1:T(8,128)(4,1)S(1)}, pred[32,513]{0,1:T(8,128)(4,1)}, u32[]{:S(2)}) copy-start(%constant.6)
<4 copy.3 @0>
 positions:
  copy.3
 uses:
 from instruction: %copy.3 = f32[32,513,5120]{2,1,0:T(8,128)} copy(%Arg_0.1), metadata={op_name="jit(f)/caf\303\251 [x](command:evil) `|<b>" source_file="/opt/venv/lib/python3.11/site-packages/jax/linear.py" source_line=663}
<5 fusion @0>
 positions:
  fusion
 uses:
 from instruction: %fusion = f32[] fusion(%copy-done), kind=kLoop, calls=%fused
<6 constant.6 @0>
 positions:
  constant.6
  copy-start {1}
 uses:
  copy-start, operand 0
 from instruction: %constant.6 = pred[32,513]{0,1:T(8,128)(4,1)} constant({...})

HloLiveRange (max 7):
  InstructionSequence:
    0:Arg_0.1
    1:constant.6
    2:copy-start
    3:bitcast.6
    4:copy-done
    5:fusion
    6:copy.3
  BufferLiveRange:
    Arg_0.1{}:0-6
    copy-start{}:2-4
    copy-start{0}:2-5
    copy.3{}:6-7
    fusion{}:5-5
    constant.6{}:1-4
  Live ranges at 6 (peak):
    Arg_0.1{}: 336199680 bytes (cumulative: 336199680 bytes)
    copy.3{}: 336199680 bytes (cumulative: 672399360 bytes)
  Stack trace breakdown for peak usage: 672 399 360 bytes
    main.4 (100.0%, total: 672 399 360 bytes, current: 0 bytes, remaining: 672 399 360 bytes)
      ├── jit(f)/add (50.0%, total: 336 199 680 bytes, current: 336 199 680 bytes, remaining: 336 199 680 bytes)
      └── params['w'] (50.0%, total: 336 199 680 bytes, current: 336 199 680 bytes, remaining: 0 bytes)
"#;

/// The hover of somebody who has named no libraries.
fn hover(dump: &Dump, file: FileId, offset: u32) -> Option<Hover> {
    super::hover(dump, file, offset, &(&Libraries::default()).into())
}

fn dump(files: &[(&str, &str)]) -> Dump {
    let file = |&(path, text): &(&str, &str)| File {
        path: path.into(),
        document: Document::new(text).expect("a short text"),
        lossy: false,
    };
    Dump::new(files.iter().map(file).collect())
}

/// The hover in the middle of `part` of the first line of the dump that begins with `line`.
fn hover_on(path: &str, text: &str, line: &str, part: &str) -> Option<Hover> {
    let start = if text.starts_with(line) {
        0
    } else {
        text.find(&format!("\n{line}")).expect("the line") + 1
    };
    let at = start + text[start..].find(part).expect("the part") + part.len() / 2;
    hover(&dump(&[(path, text)]), 0, at as u32)
}

fn check(line: &str, part: &str, expect: &Expect) {
    let hover = hover_on(TPU, DUMP, line, part).map(|hover| {
        format!(
            "[{}]\n{}\n",
            &DUMP[hover.range.start as usize..hover.range.end as usize],
            hover.markdown
        )
    });
    expect.assert_eq(&hover.unwrap_or_else(|| "none\n".to_owned()));
}

#[test]
fn value() {
    check(
        "<4 copy.3",
        "copy.3",
        &expect![[r#"
            [<4 copy.3 @0>]
            **`copy.3`** (value 4): layout copy of `Arg_0.1` (parameter 0), alive at the HBM peak

            `f32[32,513,5120]{2,1,0:T(8,128)}` 325.0 MiB (340,787,200 B), HBM (@0), allocation 3 (output, maybe-live-out)

            | bytes      | 32,768 .. 340,819,968 of 340,819,968 (more than 99.9 %) |
            |:-----------|:---|
            | unpadded   | 320.6 MiB (336,199,680 B): **1.01x**, +4.4 MiB (4,587,520 B) of padding: dimension 1, 513 -> 520 |
            | alive      | steps 6-7 of 0-7: defined by `copy.3`, kept to the end as a part of the result |
            | peak share | 50.3 % of 645.6 MiB at step 6, which XLA prints as its peak too |
            | layout     | operand `{2,0,1}` -> `{2,1,0}`: the data is rewritten |
            | same bytes | `fusion` 5-5 (4.0 KiB of them) |

            If it went away the peak moves to `copy-start` at step 2: 320.7 MiB (-324.9 MiB), with the schedule and placement as they are.

            jit\(f\)/café \[x\]\(command\:evil\) &#96;&#124;&lt;b&gt;, `linear.py:663` (library frame)
        "#]],
    );
}

#[test]
fn parameter_that_is_donated() {
    check(
        "allocation 1:",
        "allocation",
        &expect![[r#"
            [allocation]
            **allocation 1**: buffer of entry parameter 0, `params['w']`; donated: the result, or a part of it, is written over it (parameter 0, maybe-live-out)

            320.6 MiB (336,199,680 B), HBM (@0), 49.7 % of the 645.7 MiB reserved in HBM (static, this module only)

            - full at the HBM peak (step 6)

            | value | `Arg_0.1` |
            |:------|:---|
            | bytes | 0 .. 336,199,680 of 336,199,680 (the whole allocation) |
            | alive | steps 0-6 of 0-7: there from the start, last read by `copy.3` |
        "#]],
    );
}

#[test]
fn arena() {
    check(
        "allocation 3:",
        "3",
        &expect![[r#"
            [3]
            **allocation 3**: holds the program's result; before the result smaller temporaries lie in it too (output, maybe-live-out)

            325.0 MiB (340,819,968 B), HBM (@0), 50.3 % of the 645.7 MiB reserved in HBM (static, this module only)

            - full at the HBM peak (step 6), by `copy.3` 325.0 MiB

            3 values, in time order:

            | steps | value      | bytes     | offset .. end |
            |:------|:-----------|:----------|:---|
            | 2-4   | `copy-start` | 32 B      | 0 .. 32 |
            | 5-5   | `fusion`     | 4.0 KiB   | 32,768 .. 36,864 |
            | 6-7   | `copy.3`     | 325.0 MiB | 32,768 .. 340,819,968 |
        "#]],
    );
}

#[test]
fn tiled_shape() {
    check(
        " value: <6",
        "{0,1",
        &expect![[r#"
            [pred[32,513]{0,1:T(8,128)(4,1)}]
            **dimension 0** varies fastest: its elements are neighbours in memory

            65.0 KiB (66,560 B) for 16.0 KiB (16,416 B) of data: **4.05x**

            `pred[32,513]{0,1:T(8,128)(4,1)}`

            - memory order, slowest first: dimension 1 (513), dimension 0 (32)
            - tile 8 x 128: dimension 1 513 -> 520, dimension 0 32 -> **128**
            - (4,1) packs 4 rows of 8-bit elements into 32-bit words, no padding
            - 65 x 1 tiles of 1,024 elements x 1 B
            - order `{1,0}` with the same tile: 20.0 KiB (20,480 B) (1.25x), if the operations around it allow

            ---

            value 6 `constant.6`: 66,560 B at 0 .. 66,560 of allocation 0, steps 1-4
        "#]],
    );
}

#[test]
fn dimension() {
    check(
        "<6 constant.6",
        ">",
        &expect![[r#"
            [0]
            **memory space 0**: HBM (TPU)

            The chip's main memory; running out of it is what fails a compile.

            In this dump: 645.7 MiB reserved, 645.6 MiB occupied at the peak, step 6 (`copy.3`) (static, this module only).
        "#]],
    );
    check(
        "allocation 1:",
        "5120",
        &expect![[r#"
            [f32[32,513,5120]]
            **dimension 2**: 5,120 elements

            `f32[32,513,5120]`: 320.6 MiB (336,199,680 B) of data; no layout is printed here, so padding is not told

            laid out as `{2,0,1:T(8,128)}` by `Arg_0.1`: 320.6 MiB (336,199,680 B), 1.00x
        "#]],
    );
}

#[test]
fn offset() {
    check(
        " value: <4",
        "32768",
        &expect![[r#"
            [32768]
            **offset**: 32.0 KiB (32,768 B) after the start of the allocation; bytes 32,768 .. 340,819,968 of 340,819,968 (more than 99.9 %)

            ---

            **`copy.3`** (value 4): layout copy of `Arg_0.1` (parameter 0), alive at the HBM peak

            `f32[32,513,5120]{2,1,0:T(8,128)}` 325.0 MiB (340,787,200 B), HBM (@0), allocation 3 (output, maybe-live-out)

            | bytes      | 32,768 .. 340,819,968 of 340,819,968 (more than 99.9 %) |
            |:-----------|:---|
            | unpadded   | 320.6 MiB (336,199,680 B): **1.01x**, +4.4 MiB (4,587,520 B) of padding: dimension 1, 513 -> 520 |
            | alive      | steps 6-7 of 0-7: defined by `copy.3`, kept to the end as a part of the result |
            | peak share | 50.3 % of 645.6 MiB at step 6, which XLA prints as its peak too |
            | layout     | operand `{2,0,1}` -> `{2,1,0}`: the data is rewritten |
            | same bytes | `fusion` 5-5 (4.0 KiB of them) |

            If it went away the peak moves to `copy-start` at step 2: 320.7 MiB (-324.9 MiB), with the schedule and placement as they are.

            jit\(f\)/café \[x\]\(command\:evil\) &#96;&#124;&lt;b&gt;, `linear.py:663` (library frame)
        "#]],
    );
}

#[test]
fn array_without_tile() {
    check(
        " value: <5",
        "fusion",
        &expect![[r#"
            [<5 fusion @0>]
            **`fusion`** (value 5): several operations compiled into one kernel

            `f32[]` 4.0 KiB (4,096 B), HBM (@0), allocation 3 (output, maybe-live-out)

            | bytes      | 32,768 .. 36,864 of 340,819,968 (less than 0.1 %) |
            |:-----------|:---|
            | unpadded   | 4 B: **1024.00x**, +4.0 KiB (4,092 B) of padding: without a tile a TPU takes blocks of 1,024 elements |
            | alive      | step 5 (5-5) of 0-7: defined by `fusion`, no use is printed |
            | same bytes | `copy.3` 6-7 |
        "#]],
    );
}

#[test]
fn position_and_use() {
    check(
        "  bitcast.6",
        "bitcast.6",
        &expect![[r#"
            [bitcast.6]
            **`bitcast.6`**. It shows the bytes of:

            **`Arg_0.1`** (value 1): parameter 0, `params['w']`, alive at the HBM peak

            `f32[32,513,5120]{2,0,1:T(8,128)}` 320.6 MiB (336,199,680 B), HBM (@0), allocation 1 (parameter 0, maybe-live-out)

            | bytes      | 0 .. 336,199,680 of 336,199,680 (the whole allocation) |
            |:-----------|:---|
            | alive      | steps 0-6 of 0-7: there from the start, last read by `copy.3` |
            | peak share | 49.7 % of 645.6 MiB at step 6, which XLA prints as its peak too |

            If it went away the peak stays at step 6: 325.0 MiB (-320.6 MiB), with the schedule and placement as they are.
        "#]],
    );
    check(
        "  copy-start, operand 0",
        "copy-start",
        &expect![[r#"
            [copy-start]
            **`copy-start`** reads `constant.6` as operand 0 (step 2)

            ---

            **`copy-start`**: asynchronous copy HBM -> VMEM, in flight at steps 2-4

            - `copy-start`, 32 B, HBM (@0), allocation 3, steps 2-4
            - `copy-start{0}`, 65.0 KiB, VMEM (@1), allocation 2, steps 2-5
        "#]],
    );
}

#[test]
fn instruction() {
    check(
        " from instruction: %copy.3",
        " copy(",
        &expect![[r#"
            [copy]
            **`copy.3`**: layout copy of `Arg_0.1` (parameter 0)

            |                   | shape                            | unpadded                  | with padding |
            |:------------------|:---------------------------------|:--------------------------|:---|
            | result            | `f32[32,513,5120]{2,1,0:T(8,128)}` | 320.6 MiB (336,199,680 B) | 325.0 MiB (340,787,200 B) |
            | operand 0 `Arg_0.1` | `f32[32,513,5120]{2,0,1:T(8,128)}` | 320.6 MiB (336,199,680 B) | same |

            The data is rewritten from layout `{2,0,1}` to `{2,1,0}`.

            Alive of its result: at the HBM peak (step 6) 325.0 MiB.

            jit\(f\)/café \[x\]\(command\:evil\) &#96;&#124;&lt;b&gt;, `linear.py:663` (library frame)
        "#]],
    );
    check(
        " from instruction: %copy.3",
        "Arg_0.1",
        &expect![[r#"
            [Arg_0.1]
            **`Arg_0.1`** (value 1): parameter 0, `params['w']`, alive at the HBM peak

            `f32[32,513,5120]{2,0,1:T(8,128)}` 320.6 MiB (336,199,680 B), HBM (@0), allocation 1 (parameter 0, maybe-live-out)

            | bytes      | 0 .. 336,199,680 of 336,199,680 (the whole allocation) |
            |:-----------|:---|
            | alive      | steps 0-6 of 0-7: there from the start, last read by `copy.3` |
            | peak share | 49.7 % of 645.6 MiB at step 6, which XLA prints as its peak too |

            If it went away the peak stays at step 6: 325.0 MiB (-320.6 MiB), with the schedule and placement as they are.
        "#]],
    );
    check(
        " from instruction: %copy.3",
        "source_line",
        &expect![[r#"
            [source_line]
            **op_name**: jit\(f\)/café \[x\]\(command\:evil\) &#96;&#124;&lt;b&gt;

            `linear.py:663` (library frame)
        "#]],
    );
}

#[test]
fn step() {
    check(
        "    6:copy.3",
        "copy.3",
        &expect![[r#"
            [copy.3]
            **step 6** of 0-6: runs `copy.3`, layout copy of `Arg_0.1` (parameter 0)

            | born here                     | `copy.3` 325.0 MiB (340,787,200 B) |
            |:------------------------------|:---|
            | needed here for the last time | `Arg_0.1` 320.6 MiB (336,199,680 B) |
            | occupied                      | HBM 645.6 MiB, the most of 7 steps; VMEM 0 B |

            jit\(f\)/café \[x\]\(command\:evil\) &#96;&#124;&lt;b&gt;, `linear.py:663` (library frame)
        "#]],
    );
    check(
        "    3:bitcast.6",
        "3",
        &expect![[r#"
            [3]
            **step 3** of 0-6: runs `bitcast.6`

            | born here                     | nothing |
            |:------------------------------|:---|
            | needed here for the last time | nothing |
            | occupied                      | HBM 320.7 MiB, 49.7 % of the peak; VMEM 65.0 KiB, as much as at the peak, step 2 |

            It takes no bytes of its own: it shows `Arg_0.1`, 320.6 MiB, HBM (@0), allocation 1, steps 0-6.
        "#]],
    );
}

#[test]
fn live_range() {
    check(
        "    copy-start{0}:2-5",
        "2-5",
        &expect![[r#"
            [-]
            **live range**: 4 steps (57.1 % of the program), both ends included, at the VMEM peak (step 2)

            **`copy-start{0}`** (value 3): asynchronous copy HBM -> VMEM, in flight at steps 2-4; this is element `{0}` of its result, alive at the VMEM peak

            `pred[32,513]{0,1:T(8,128)(4,1)S(1)}` 65.0 KiB (66,560 B), VMEM (@1), allocation 2 (preallocated-temp)

            | bytes      | 0 .. 66,560 of 66,560 (the whole allocation) |
            |:-----------|:---|
            | unpadded   | 16.0 KiB (16,416 B): **4.05x**, +49.0 KiB (50,144 B) of padding: dimension 0, 32 -> 128; in the order `{1,0}` with the same tile it would take 20.0 KiB |
            | alive      | steps 2-5 of 0-7: defined by `copy-start`, last read by `fusion` |
            | peak share | 100.0 % of 65.0 KiB at step 2 |

            If it went away nothing of VMEM would be occupied.
        "#]],
    );
}

#[test]
fn peak() {
    check(
        "    copy.3{}: ",
        "336199680",
        &expect![[r#"
            [336199680]
            **`copy.3{}`** at step 6, XLA's peak: 320.6 MiB (336,199,680 B) unpadded, **325.0 MiB (340,787,200 B)** allocated

            - 50.0 % of the 641.2 MiB (672,399,360 B) listed
            - up to this line 641.2 MiB (672,399,360 B) (100.0 %)
            - XLA's step 6 is the maximum of HBM too: 645.6 MiB occupied.

            **`copy.3`** (value 4): layout copy of `Arg_0.1` (parameter 0), alive at the HBM peak

            `f32[32,513,5120]{2,1,0:T(8,128)}` 325.0 MiB (340,787,200 B), HBM (@0), allocation 3 (output, maybe-live-out)

            | bytes      | 32,768 .. 340,819,968 of 340,819,968 (more than 99.9 %) |
            |:-----------|:---|
            | unpadded   | 320.6 MiB (336,199,680 B): **1.01x**, +4.4 MiB (4,587,520 B) of padding: dimension 1, 513 -> 520 |
            | alive      | steps 6-7 of 0-7: defined by `copy.3`, kept to the end as a part of the result |
            | peak share | 50.3 % of 645.6 MiB at step 6, which XLA prints as its peak too |
            | layout     | operand `{2,0,1}` -> `{2,1,0}`: the data is rewritten |
            | same bytes | `fusion` 5-5 (4.0 KiB of them) |

            If it went away the peak moves to `copy-start` at step 2: 320.7 MiB (-324.9 MiB), with the schedule and placement as they are.

            jit\(f\)/café \[x\]\(command\:evil\) &#96;&#124;&lt;b&gt;, `linear.py:663` (library frame)
        "#]],
    );
    check(
        "  Live ranges at 6",
        "6",
        &expect![[r#"
            [6]
            **step 6** is what XLA takes for the peak, where it lists 641.2 MiB (672,399,360 B)

            XLA chooses it by unpadded bytes, all memory spaces mixed, and counts the table of pointers for every element of a tuple. XLA's step 6 is the maximum of HBM too: 645.6 MiB occupied.

            **step 6** of 0-6: runs `copy.3`, layout copy of `Arg_0.1` (parameter 0)

            | born here                     | `copy.3` 325.0 MiB (340,787,200 B) |
            |:------------------------------|:---|
            | needed here for the last time | `Arg_0.1` 320.6 MiB (336,199,680 B) |
            | occupied                      | HBM 645.6 MiB, the most of 7 steps; VMEM 0 B |

            jit\(f\)/café \[x\]\(command\:evil\) &#96;&#124;&lt;b&gt;, `linear.py:663` (library frame)
        "#]],
    );
}

#[test]
fn tree_node() {
    check(
        "      ├── jit(f)/add",
        "jit(f)",
        &expect![[r#"
            [jit(f)/add]
            **`jit(f)/add`**: 320.6 MiB (336,199,680 B) unpadded at XLA's peak, 50.0 % of 641.2 MiB (672,399,360 B)

            | total     | 320.6 MiB (336,199,680 B): this node and all below it |
            |:----------|:---|
            | current   | 320.6 MiB (336,199,680 B): exactly here |
            | remaining | 320.6 MiB (336,199,680 B) (50.0 %): neither in this line nor in one above it |
        "#]],
    );
}

#[test]
fn words() {
    check(
        "allocation 2:",
        "preallocated-temp",
        &expect![[r#"
        [preallocated-temp]
        **`preallocated-temp`**: Everything that is neither parameter, constant, thread-local nor result: one arena for each memory space in which values take turns. What fills it when it is fullest is what to shrink.
    "#]],
    );
    check(
        "allocation 2:",
        "color",
        &expect![[r#"
        [color]
        **`color`**: The memory space. Its meaning is the backend's; 0 is not printed.
    "#]],
    );
    check(
        "allocation 2:",
        " 1",
        &expect![[r#"
            [1]
            **memory space 1**: VMEM (TPU)

            On-chip vector memory, apart from HBM: holds prefetched data and results that XLA keeps on chip.

            In this dump: 65.0 KiB reserved, 65.0 KiB occupied at the peak, step 2 (`copy-start`) (static, this module only).
        "#]],
    );
    check(
        "Total bytes used",
        "677152768",
        &expect![[r#"
            [677152768]
            **Total bytes used**: 645.8 MiB (677,152,768 B) in 4 allocations

            The sum of all allocations: every memory space, parameters, constants and thread-local scratch. It is what is reserved, not what is in use at any one time.

            - HBM: 645.7 MiB reserved, 645.6 MiB occupied at the peak, step 6 (`copy.3`)
            - VMEM: 65.0 KiB reserved, 65.0 KiB occupied at the peak, step 2 (`copy-start`)

            All of it static, this module only.
        "#]],
    );
    check(
        "HloLiveRange",
        "max",
        &expect![[r#"
            [max]
            **`HloLiveRange (max 7)`**: When each value is alive. `max` is the number of steps; a live range that ends there lasts to the end of the program.
        "#]],
    );
    check(
        "Used values:",
        "Used",
        &expect![[r#"
            [Used values:]
            **`Used values`**: For each value where it is visible, who reads it, and the instruction that defines it.
        "#]],
    );
}
