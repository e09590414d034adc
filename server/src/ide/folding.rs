//! Folds: sections, allocations, runs of values.

use buflens_syntax::{Document, facts};

use super::entries::{Level, entries};
use crate::model::cancel::checkpoint;

/// The lines from `start` to `end`, both included, fold into the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fold {
    /// First line.
    pub start: u32,
    /// Last line.
    pub end: u32,
}

/// At most `limit` folds, the outermost first.
pub fn folds(document: &Document, limit: usize) -> Vec<Fold> {
    let (mut sections, mut folds, mut inner) = (Vec::new(), Vec::new(), Vec::new());
    let (mut section, mut entry) = (None, None);
    for (block_start, block) in document.blocks() {
        checkpoint();
        for (at, level) in entries(block) {
            // Where a value's header ends another value's line, that line belongs to the header.
            let start = document.line_at(block_start + at);
            folds.extend(entry.take().and_then(|entry| fold(document, entry, start)));
            match level {
                Level::Section => {
                    sections.extend(
                        section
                            .replace(start)
                            .and_then(|section| fold(document, section, start)),
                    );
                }
                Level::Entry => entry = Some(start),
            }
        }
        // Raw JSON makes an instruction several lines long.
        for row in block.rows::<facts::Instruction>() {
            if memchr::memchr(b'\n', row.span.text(block.text()).as_bytes()).is_some() {
                inner.push(Fold {
                    start: document.line_at(block_start + row.span.start),
                    end: document.line_at(block_start + row.span.end - 1),
                });
            }
        }
        if sections.len() >= limit {
            break;
        }
    }
    let behind = document.line_count();
    folds.extend(entry.and_then(|start| fold(document, start, behind)));
    sections.extend(section.and_then(|start| fold(document, start, behind)));
    sections.extend(folds);
    sections.extend(inner);
    sections.truncate(limit);
    sections
}

/// The fold from line `start` to the last line before `behind` that is not blank.
fn fold(document: &Document, start: u32, behind: u32) -> Option<Fold> {
    let is_blank = |line: u32| {
        document
            .line_range(line)
            .is_none_or(|range| range.is_empty())
    };
    let end = (start + 1..behind).rev().find(|&line| !is_blank(line))?;
    Some(Fold { start, end })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::{Expect, expect};

    use super::*;
    use crate::ide::fixture::{COMBINED, Fixture, MODULE, run_on};

    fn check(text: &str, expected: &Expect) {
        let fixture = Fixture::new(text);
        let document = &fixture.dump.files[0].document;
        let mut lines = String::new();
        for fold in folds(document, 100) {
            let first = fixture.text(0, document.line_range(fold.start).unwrap());
            let last = fixture.text(0, document.line_range(fold.end).unwrap());
            writeln!(
                lines,
                "{}-{} {first} ... {last}",
                fold.start + 1,
                fold.end + 1
            )
            .unwrap();
        }
        expected.assert_eq(&lines);
    }

    #[test]
    fn sections_come_before_their_entries() {
        check(
            COMBINED,
            &expect![[r#"
            1-13 BufferAssignment: ...  value: <6 copy-start{2} @2> (size=4,offset=0): u32[]{:S(2)}
            17-64 Used values: ...  from instruction: %add.2 = f32[16]{0:T(128)} add(%bitcast.6...
            66-91 HloLiveRange (max 7): ...       └── copy-start (59.0%, total: 92 bytes, current: 92 by...
            2-3 allocation 0: size 512, parameter 0, shape |f32[16]| at Shap... ...  value: <3 x.1 @0> (size=512,offset=0): f32[16]{0:T(128)}
            4-5 allocation 1: size 512, maybe-live-out: ...  value: <9 add.2 @0> (size=512,offset=0): f32[16]{0:T(128)}
            6-7 allocation 2: size 512, color 1, preallocated-temp: ...  value: <5 copy-start{0} @1> (size=512,offset=0): f32[16]{0:...
            8-11 allocation 3: size 16448, preallocated-temp: ...  value: <8 while.4{1} (phi) @0> (size=64,offset=16384): f32[...
            12-13 allocation 4: size 4, color 2, preallocated-temp: ...  value: <6 copy-start{2} @2> (size=4,offset=0): u32[]{:S(2)}
            18-25 <3 x.1 @0> ...  from instruction: %x.1 = f32[16]{0:T(128)} parameter(0), me...
            26-31 <4 copy-start{} @0> ...  from instruction: %copy-start = (f32[16]{0:T(128)S(1)}, f32...
            32-39 <5 copy-start{0} @1> ...  from instruction: %copy-start = (f32[16]{0:T(128)S(1)}, f32...
            40-45 <6 copy-start{2} @2> ...  from instruction: %copy-start = (f32[16]{0:T(128)S(1)}, f32...
            46-50 <7 while.4{} (phi) @0> ...  from instruction: %while.4 = (s32[], f32[16]{0:T(128)}) whi...
            51-58 <8 while.4{1} (phi) @0> ...  from instruction: %while.4 = (s32[], f32[16]{0:T(128)}) whi...
            59-64 <9 add.2 @0> ...  from instruction: %add.2 = f32[16]{0:T(128)} add(%bitcast.6...
            67-74   InstructionSequence: ...     6:add.2
            75-82   BufferLiveRange: ...     add.2{}:6-7
            83-87   Live ranges at 1 (peak): ...     copy-start{2}: 4 bytes (cumulative: 156 bytes)
            88-91   Stack trace breakdown for peak usage: 156 bytes ...       └── copy-start (59.0%, total: 92 bytes, current: 92 by...
        "#]],
        );
    }

    #[test]
    fn a_run_on_header_is_not_hidden_by_the_value_before() {
        check(
            &run_on()[..run_on().find("<5 copy-start{0} @1>\n").unwrap() + 40],
            &expect![[r#"
                1-13 BufferAssignment: ...  value: <6 copy-start{2} @2> (size=4,offset=0): u32[]{:S(2)}
                17-32 Used values: ...   copy-
                2-3 allocation 0: size 512, parameter 0, shape |f32[16]| at Shap... ...  value: <3 x.1 @0> (size=512,offset=0): f32[16]{0:T(128)}
                4-5 allocation 1: size 512, maybe-live-out: ...  value: <9 add.2 @0> (size=512,offset=0): f32[16]{0:T(128)}
                6-7 allocation 2: size 512, color 1, preallocated-temp: ...  value: <5 copy-start{0} @1> (size=512,offset=0): f32[16]{0:...
                8-11 allocation 3: size 16448, preallocated-temp: ...  value: <8 while.4{1} (phi) @0> (size=64,offset=16384): f32[...
                12-13 allocation 4: size 4, color 2, preallocated-temp: ...  value: <6 copy-start{2} @2> (size=4,offset=0): u32[]{:S(2)}
                18-24 <3 x.1 @0> ...   copy-done, operand 0 {1}
                25-29  from instruction: %x.1 = f32[16]{0:T(128)} parameter(0), me... ...   copy-done, operand 0 {}
                30-32  from instruction: %copy-start = (f32[16]{0:T(128)S(1)}, f32... ...   copy-
            "#]],
        );
    }

    #[test]
    fn modules_and_reports_fold() {
        check(
            MODULE,
            &expect![[r#"
            1-35 HloModule jit_f, is_scheduled=true ... }
            3-5 FileNames ... 2 "/home/dev/lib.py"
            7-8 FunctionNames ... 1 "step"
            10-12 FileLocations ... 2 {file_name_id=2 function_name_id=1 line=70 end_line=70 col...
            14-16 StackFrames ... 2 {file_location_id=2 parent_frame_id=2}
            18-20 %region_0.3 (arg.1: (s32[], f32[16])) -> (s32[], f32[16]) { ... }
            22-25 %region_1.7 (arg.2: (s32[], f32[16])) -> pred[] { ... }
            27-35 ENTRY %main.9 (x.1: f32[16]) -> f32[16] { ... }
        "#]],
        );
        check(
            "Memory Space: default (color=0)\nTotal bytes: 8 (8B)\n  cumulative_size;       size;       offset; used_by_n_values; shapes_list\n  ------------------------------------------------------------\n         8B(100%);         8B;            0;                1; f32[2]\n\n\nMemory Space: vmem (color=1)\nTotal bytes: 0 (0B)\n\n",
            &expect![[r#"
                1-5 Memory Space: default (color=0) ...          8B(100%);         8B;            0;                ...
                8-9 Memory Space: vmem (color=1) ... Total bytes: 0 (0B)
                3-5   cumulative_size;       size;       offset; used_by_n_value... ...          8B(100%);         8B;            0;                ...
            "#]],
        );
    }

    #[test]
    fn an_instruction_of_several_lines_folds() {
        check(
            "HloModule m\n\nENTRY e {\n  k = f32[] custom-call(), frontend_attributes={kernel_metadata={\n\"a\":1\n}}, x=1\n  ROOT r = f32[] negate(k)\n}\n",
            &expect![[r#"
                1-8 HloModule m ... }
                3-8 ENTRY e { ... }
                4-6   k = f32[] custom-call(), frontend_attributes={kernel_metad... ... }}, x=1
            "#]],
        );
    }

    #[test]
    fn the_limit_keeps_the_outermost() {
        let fixture = Fixture::new(COMBINED);
        let document = &fixture.dump.files[0].document;
        assert_eq!(folds(document, 3), folds(document, 100)[..3]);
    }
}
