use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use buflens_syntax::Document;
use expect_test::{Expect, expect};

use crate::checks::{Finding, Standing, Thresholds, check, check_next};
use crate::model::{Dump, File, Numbering};

const SOUND: &str = r#"HloModule jit_f, is_scheduled=true

FileNames
1 "model.py"

FunctionNames
1 "step"

FileLocations
1 {file_name_id=1 function_name_id=1 line=9 end_line=9 column=6 end_column=23}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=1 parent_frame_id=2}
3 {file_location_id=1 parent_frame_id=3}

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT add = f32[] add(a, b)
}

ENTRY %main (a: f32[2,3]) -> f32[] {
  %a = f32[2,3]{1,0} parameter(0), metadata={op_name="a"}
  // People write such lines.
    %zero = f32[] constant(0)
  %copy = f32[2,3]{0,1} copy(f32[2,3]{1,0} %a), control-predecessors={%zero}
  ROOT %sum = f32[] reduce(%copy, zero), dimensions={0,1}, to_apply=add, metadata={op_name="s" stack_frame_id=3}
}
"#;

fn findings(text: &str) -> String {
    let file = File {
        path: PathBuf::from("m.txt"),
        document: Document::new(text).expect("short"),
        lossy: false,
    };
    let mut lines = String::new();
    for finding in check(&Dump::new(vec![file])) {
        let line = text[..finding.place.range.start as usize].lines().count();
        let at = &text[finding.place.range.start as usize..finding.place.range.end as usize];
        let related: Vec<_> = finding.related.iter().map(|related| &related.1).collect();
        writeln!(
            lines,
            "{line} {} `{at}` {} {related:?}",
            finding.code, finding.message
        )
        .expect("text");
    }
    lines
}

fn changed(from: &str, to: &str, expected: &Expect) {
    assert_eq!(SOUND.matches(from).count(), 1, "{from}");
    expected.assert_eq(&findings(&SOUND.replace(from, to)));
}

#[test]
fn a_sound_text_has_no_finding() {
    assert_eq!(findings(SOUND), "");
}

#[test]
fn names_that_lead_nowhere() {
    changed(
        "reduce(%copy,",
        "reduce(%copz,",
        &expect![[r#"
                28 unresolved-name `copz` there is no instruction `copz` []
            "#]],
    );
    changed(
        "reduce(%copy,",
        "reduce(%b,",
        &expect![[r#"
                28 unresolved-name `b` the computation has no instruction `b` ["the instruction of that name"]
            "#]],
    );
    changed(
        "{1,0} %a)",
        "{1,0} %sum)",
        &expect![[r#"
            27 instruction-shape `f32[2,3]{0,1}` `copy` gives `f32[]` here, not `f32[2,3]` []
            27 unresolved-name `sum` `sum` is named before it is defined ["the instruction of that name"]
        "#]],
    );
    changed(
        "={%zero}",
        "={%one}",
        &expect![[r#"
                27 unresolved-name `one` there is no instruction `one` []
            "#]],
    );
    changed(
        "to_apply=add",
        "to_apply=sum",
        &expect![[r#"
                28 unresolved-name `sum` the module has no computation `sum` []
            "#]],
    );
}

/// An HLO parser takes all of it.
#[test]
fn what_people_write_has_no_finding() {
    let text = "  HloModule m,\n    is_scheduled=true\n\n  /* one line */\n  add {\n    x = f32[] parameter(0)\n    \
                    y = f32[] parameter(1)\n    ROOT\ts = add(x, y)\n    }\n\nmain (a: f32[2],\n    b: f32[2]) -> f32[]\n{\n\
                    %a = f32[2] parameter(0)\nb = f32[2] parameter(1), frontend_attributes={\n  k=\"}\"\n  }\n\
                    c = add(a, f32[2] negate(b)) // the sum {\nd = negate(c), backend_config=\"{\n  \\\"a\\\": {\n  }\n}\"\nROOT r = reduce(c, f32[] constant(0)),\n  dimensions={0}, to_apply=add\n}\n";
    assert_eq!(findings(text), "");
    // Compilers print the layout on the first line, and the entry last.
    let cut = SOUND[..SOUND.find("ENTRY").expect("an entry")].replace(
        "=true",
        "=true, entry_computation_layout={(f32[2,3]{1,0})->f32[]}",
    );
    expect![[r#"
            20 truncated `}` the module ends before its `ENTRY` computation []
        "#]]
    .assert_eq(&findings(&cut));
    let twice = SOUND.replace("add {", "ENTRY add {");
    expect![[r#"
            23 duplicate-name `main` the module has two `ENTRY` computations ["the first one"]
        "#]]
    .assert_eq(&findings(&twice));
}

#[test]
fn names_that_lead_twice() {
    changed(
        "%zero = ",
        "%a = ",
        &expect![[r#"
                26 duplicate-name `a` `a` is defined twice in its computation ["the first one"]
                27 unresolved-name `zero` there is no instruction `zero` []
                28 unresolved-name `zero` there is no instruction `zero` []
            "#]],
    );
    changed(
        "ENTRY %main (",
        "ENTRY %add (",
        &expect![[r#"
                23 duplicate-name `add` the module has two computations `add` ["the first one"]
            "#]],
    );
}

#[test]
fn operands_parameters_and_roots() {
    changed(
        "add(a, b)",
        "add(a)",
        &expect![[r#"
                20 operand-count `add` `add` takes 2 operands, found 1 []
            "#]],
    );
    changed(
        "b = f32[] parameter(1)",
        "b = f32[] parameter(0)",
        &expect![[r#"
                19 parameter-number `0` parameter 0 stands twice in its computation ["the first one"]
            "#]],
    );
    changed(
        "b = f32[] parameter(1)",
        "b = f32[] parameter(7)",
        &expect![[r#"
                19 parameter-number `7` parameter 7 of 2, while there is no parameter 1 []
            "#]],
    );
    changed(
        "  %copy =",
        "  ROOT %copy =",
        &expect![[r#"
            28 duplicate-root `ROOT` a second `ROOT` in its computation ["the first one"]
        "#]],
    );
}

#[test]
fn layouts_that_are_no_order() {
    for (from, to) in [
        ("]{0,1} copy", "]{0,0} copy"),
        ("]{0,1} copy", "]{0,2} copy"),
    ] {
        let text = findings(&SOUND.replace(from, to));
        assert!(text.starts_with("27 layout-order `0,"), "{text}");
        assert_eq!(text.lines().count(), 1);
    }
    changed(
        "(f32[2,3]{1,0} %a",
        "(f32[2,3]{0} %a",
        &expect![[r#"
                27 layout-order `0` the order `0` does not hold each dimension of the shape once []
            "#]],
    );
    changed(
        "(a: f32[2,3])",
        "(a: f32[2,3]{2,1})",
        &expect![[r#"
                23 layout-order `2,1` the order `2,1` does not hold each dimension of the shape once []
            "#]],
    );
}

#[test]
fn frames_that_lead_nowhere() {
    changed(
        "stack_frame_id=3",
        "stack_frame_id=4",
        &expect![[r#"
                28 stack-frame `4` stack frame 4 of 3 []
            "#]],
    );
    changed(
        "file_name_id=1",
        "file_name_id=2",
        &expect![[r#"
                10 stack-frame `2` row 2 of 1 []
            "#]],
    );
    changed(
        "2 {file_location_id=1 parent_frame_id=2}",
        "2 {file_location_id=1 parent_frame_id=4}",
        &expect![[r#"
                14 stack-frame `4` frame 2 is called from frame 3: callers stand before []
            "#]],
    );
    changed(
        "2 {file_location_id=1 parent_frame_id=2}",
        "2 {file_location_id=1 parent_frame_id=5}",
        &expect![[r#"
                14 stack-frame `5` row 5 of 4 []
            "#]],
    );
    changed(
        "3 {file_location_id",
        "4 {file_location_id",
        &expect![[r#"
                14 stack-frame `4` row 4 stands where row 3 is expected []
            "#]],
    );
}

#[test]
fn a_broken_line_keeps_names_from_being_looked_up() {
    let text = findings(&SOUND.replace("%copy = f32[2,3]{0,1} copy(", "%copy = f32[2,3]{0,1} ("));
    assert!(
        text.contains("syntax") && !text.contains("unresolved"),
        "{text}"
    );
}

/// A sound module around `line`, which stands in its entry.
fn around(line: &str) -> String {
    format!(
        "HloModule m\n\nadd {{\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT s = f32[] add(x, y)\n}}\n\n\
         less {{\n  i = (s32[], f32[2,3]) parameter(0)\n  n = s32[] get-tuple-element(i), index=0\n  \
         ten = s32[] constant(10)\n  ROOT l = pred[] compare(n, ten), direction=LT\n}}\n\n\
         next {{\n  i = (s32[], f32[2,3]) parameter(0)\n  n = s32[] get-tuple-element(i), index=0\n  \
         v = f32[2,3] get-tuple-element(i), index=1\n  one = s32[] constant(1)\n  m = s32[] add(n, one)\n  \
         ROOT t = (s32[], f32[2,3]) tuple(m, v)\n}}\n\n\
         more {{\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT g = pred[] compare(x, y), direction=GT\n}}\n\n\
         both {{\n  w = f32[] parameter(0)\n  x = f32[] parameter(1)\n  y = f32[] parameter(2)\n  v = f32[] parameter(3)\n  \
         ROOT t = (f32[], f32[]) tuple(x, v)\n}}\n\n\
         ENTRY main {{\n  a = f32[2,3] parameter(0)\n  b = bf16[3,4] parameter(1)\n  i = s32[] parameter(2)\n  \
         z = f32[] constant(0)\n  p = pred[2,3] compare(a, a), direction=EQ\n  d = f32[<=8,?] parameter(3)\n  \
         t = (s32[], f32[2,3]) tuple(i, a)\n  {line}\n  ROOT r = f32[] copy(z)\n}}\n"
    )
}

#[test]
fn shapes_that_follow_from_operands() {
    for line in [
        "c = f32[2,3]{0,1} add(a, a)",
        "c = bf16[2,3] multiply(a, a)",
        "c = s32[2,3] convert(a)",
        "c = f32[2,3]{1,0:T(8,128)} select(p, a, a)",
        "c = f32[2,3] clamp(z, a, z)",
        "c = f32[2,4,3] broadcast(a), dimensions={0,2}",
        "c = f32[5] broadcast(z), dimensions={}",
        "c = f32[3, 2] transpose(a), dimensions={1,0}",
        "c = f32[6,1] reshape(a)",
        "c = f32[2,7] concatenate(a, f32[2,1] reshape(a), a), dimensions={1}",
        "c = f32[2,6] concatenate(a, a), dimensions={1}",
        "c = f32[1,2] slice(a), slice={[1:2], [0:3:2]}",
        "c = f32[1,3] dynamic-slice(a, i, i), dynamic_slice_sizes={1,3}",
        "c = f32[2,3] dynamic-update-slice(a, a, i, i)",
        "c = f32[4,5] pad(a, z), padding=1_1x-1_1_1",
        "c = f32[3] reduce(a, z), dimensions={0}, to_apply=add",
        "c = (f32[2], f32[2]) reduce(a, a, z, z), dimensions={1}, to_apply=both",
        "c = bf16[3] reduce(b, z), dimensions={1}, to_apply=add",
        "c = f32[1,3] reduce-window(a, z), window={size=2x1}, to_apply=add",
        "c = f32[2,3] map(a, a), dimensions={0,1}, to_apply=add",
        "c = f32[2,3] sort(a), dimensions={1}, to_apply=more",
        "c = f32[2,3] scatter(a, i, a), update_window_dims={0,1}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=add",
        "c = f32[2,3] select-and-scatter(a, a, z), window={size=1x1}, select=more, scatter=add",
        "c = (s32[], f32[2,3]) conditional(i, t, t), branch_computations={next, %next}",
        "c = (s32[], f32[2,3]) conditional(p, t, t), true_computation=next, false_computation=%next",
        "c = f32[2,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "c = f32[2,3,3] dot(a, a), lhs_batch_dims={0}, rhs_batch_dims={0}",
        "c = f32[2,3] get-tuple-element(t), index=1",
        "c = f32[2,3] negate(t#1)",
        "c = ((s32[], f32[2,3]), f32[]) tuple(t, z)",
        "c = f32[8,9] negate(d)",
        "c = f32[] call(z, z), to_apply=add",
        "c = f32[] fusion(z, z), kind=kLoop, calls=add",
        // The window of parameter 1, which is prefetched, and its semaphore.
        "c = f32[] fusion(z, z, a, i), kind=kLoop, calls=add, backend_config={\"inputs\":[{\"buffer_index\":\"2\",\"parameter_index\":\"1\"}]}",
        "c = (s32[], f32[2,3]) while(t), condition=less, body=next",
        "c = (s32[], f32[2,3]) while(tuple(%i, %a)), condition=less, body=next",
        "c = f32[7] custom-call(a), custom_call_target=\"x\"",
        "c = f32[9,9] bitcast(a)",
        "c = add(a, a)",
    ] {
        assert_eq!(findings(&around(line)), "", "{line}");
    }
}

#[test]
fn shapes_that_do_not_follow_from_operands() {
    let mut told = String::new();
    for line in [
        "c = f32[2,4] add(a, a)",
        "c = f32[2,3] add(a, b)",
        "c = f32[3,4] add(a, b)",
        "c = s32[2,3] negate(a)",
        "c = s32[2,3] compare(a, a), direction=EQ",
        "c = s32[3,2] convert(a)",
        "c = f32[2,3] copy(t)",
        "c = f32[2,3] select(p, a, b)",
        "c = f32[3,4] select(p, b, b)",
        "c = f32[3,4] clamp(a, b, b)",
        "c = f32[2,4,3] broadcast(a), dimensions={0,1}",
        "c = f32[2,4,3] broadcast(a), dimensions={0,3}",
        "c = f32[2,3] transpose(a), dimensions={1,0}",
        "c = f32[3,2] transpose(a), dimensions={1,2}",
        "c = f32[2,2] transpose(a), dimensions={0,0}",
        "c = f32[7] reshape(a)",
        "c = f32[2,5] concatenate(a, a), dimensions={1}",
        "c = f32[5,3] concatenate(a, b), dimensions={0}",
        "c = f32[1,2] slice(a), slice={[1:2], [0:3]}",
        "c = f32[1,4] slice(a), slice={[1:2], [0:4]}",
        "c = f32[1,3] dynamic-slice(a, i, i), dynamic_slice_sizes={2,3}",
        "c = f32[3,3] dynamic-slice(a, i, i), dynamic_slice_sizes={3,3}",
        "c = f32[2,3] select(a, a, a)",
        "c = f32[2,3] clamp(i, a, z)",
        "c = f32[2,4,3] broadcast(a)",
        "c = f32[2,3] broadcast(d), dimensions={0,0}",
        "c = f32[1,3] dynamic-slice(a, i), dynamic_slice_sizes={1,3}",
        "c = f32[2,3] dynamic-update-slice(a, b, i, i)",
        "c = f32[2,3] dynamic-update-slice(a, d, i, i)",
        "c = f32[2,3] dynamic-update-slice(a, a, i)",
        "c = f32[4,3] pad(a, i), padding=1_1x0_0",
        "c = f32[2] reduce(a, a), dimensions={1}, to_apply=add",
        "c = f32[2] reduce(a, z), dimensions={1,1}, to_apply=add",
        "c = f32[2,3] pad(a, z), padding=1_1x0_0",
        "c = f32[2] reduce(a, z), dimensions={0}, to_apply=add",
        "c = f32[2] reduce(a, z), dimensions={2}, to_apply=add",
        "c = f32[2,3] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "c = f32[3,4] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
        "c = f32[2,3] get-tuple-element(t), index=0",
        "c = f32[2,3] get-tuple-element(t), index=2",
        "c = f32[2,3] get-tuple-element(a), index=0",
        "c = (s32[], f32[2,3]) tuple(a, i)",
        "c = (s32[]) tuple(i, a)",
        "c = s32[] tuple(i)",
        "c = f32[] call(z), to_apply=add",
        "c = f32[] call(z, i), to_apply=add",
        "c = s32[] fusion(z, z), kind=kLoop, calls=add",
        "c = (s32[], f32[3]) while(t), condition=less, body=next",
        "c = (s32[], f32[2,3]) while(t), condition=next, body=next",
        "c = f32[3] reduce(a, z), dimensions={0}, to_apply=both",
        "c = f32[3] reduce(a, z), dimensions={0}, to_apply=more",
        "c = s32[] reduce(i, i), dimensions={}, to_apply=add",
        "c = f32[2,3] map(a, i), dimensions={0,1}, to_apply=add",
        "c = f32[2,3] sort(a), dimensions={1}, to_apply=add",
        "c = s32[] scatter(i, i, i), update_window_dims={}, inserted_window_dims={}, scatter_dims_to_operand_dims={}, index_vector_dim=0, to_apply=add",
        "c = f32[2,3] select-and-scatter(a, a, z), select=add, scatter=add",
        "c = (s32[], f32[2,3]) conditional(i, t, a), branch_computations={next, next}",
        "c = f32[2,3] conditional(i, t, t), branch_computations={%next, %next}",
    ] {
        let found = findings(&around(line));
        assert_ne!(found, "", "{line}");
        for finding in found.lines() {
            let (_, rest) = finding.split_once(' ').expect("a line");
            writeln!(told, "{line}\n  {rest}").expect("text");
        }
    }
    expect![[r#"
        c = f32[2,4] add(a, a)
          instruction-shape `f32[2,4]` `add` gives `f32[2,3]` here, not `f32[2,4]` []
        c = f32[2,3] add(a, b)
          instruction-shape `b` `bf16[3,4]`, while the other operand is `f32[2,3]` []
        c = f32[3,4] add(a, b)
          instruction-shape `a` `f32[2,3]`, while the other operand is `bf16[3,4]` []
        c = s32[2,3] negate(a)
          instruction-shape `s32[2,3]` `negate` gives `f32[2,3]` here, not `s32[2,3]` []
        c = s32[2,3] compare(a, a), direction=EQ
          instruction-shape `s32[2,3]` `compare` gives `pred[2,3]` here, not `s32[2,3]` []
        c = s32[3,2] convert(a)
          instruction-shape `s32[3,2]` `convert` gives `s32[2,3]` here, not `s32[3,2]` []
        c = f32[2,3] copy(t)
          instruction-shape `f32[2,3]` `copy` gives a tuple of 2 elements here, not `f32[2,3]` []
        c = f32[2,3] select(p, a, b)
          instruction-shape `b` `bf16[3,4]`, while the other operand is `f32[2,3]` []
        c = f32[3,4] select(p, b, b)
          instruction-shape `p` `pred[2,3]` selects among `bf16[3,4]` []
        c = f32[3,4] clamp(a, b, b)
          instruction-shape `a` `f32[2,3]` is a bound of `bf16[3,4]` []
        c = f32[2,4,3] broadcast(a), dimensions={0,1}
          instruction-shape `f32[2,4,3]` `f32[2,3]` is not the dimensions {0,1} of `f32[2,4,3]` []
        c = f32[2,4,3] broadcast(a), dimensions={0,3}
          instruction-shape `f32[2,4,3]` `dimensions={0,3}`, where there are 3 dimensions []
        c = f32[2,3] transpose(a), dimensions={1,0}
          instruction-shape `f32[2,3]` `transpose` gives `f32[3,2]` here, not `f32[2,3]` []
        c = f32[3,2] transpose(a), dimensions={1,2}
          instruction-shape `f32[3,2]` `dimensions={1,2}`, where there are 2 dimensions []
        c = f32[2,2] transpose(a), dimensions={0,0}
          instruction-shape `f32[2,2]` `dimensions={0,0}` names a dimension of `f32[2,3]` twice []
        c = f32[7] reshape(a)
          instruction-shape `f32[7]` `f32[2,3]` has 6 elements, `f32[7]` has 7 []
        c = f32[2,5] concatenate(a, a), dimensions={1}
          instruction-shape `f32[2,5]` `concatenate` gives `f32[2,6]` here, not `f32[2,5]` []
        c = f32[5,3] concatenate(a, b), dimensions={0}
          instruction-shape `b` `bf16[3,4]`, while the first operand is `f32[2,3]` []
        c = f32[1,2] slice(a), slice={[1:2], [0:3]}
          instruction-shape `f32[1,2]` `slice` gives `f32[1,3]` here, not `f32[1,2]` []
        c = f32[1,4] slice(a), slice={[1:2], [0:4]}
          instruction-shape `f32[1,4]` `[0:4]` is no range of dimension 1 of `f32[2,3]` []
        c = f32[1,3] dynamic-slice(a, i, i), dynamic_slice_sizes={2,3}
          instruction-shape `f32[1,3]` `dynamic-slice` gives `f32[2,3]` here, not `f32[1,3]` []
        c = f32[3,3] dynamic-slice(a, i, i), dynamic_slice_sizes={3,3}
          instruction-shape `a` `f32[3,3]` is no part of `f32[2,3]` []
        c = f32[2,3] select(a, a, a)
          instruction-shape `a` `f32[2,3]` selects among `f32[2,3]` []
        c = f32[2,3] clamp(i, a, z)
          instruction-shape `i` `s32[]` is a bound of `f32[2,3]` []
        c = f32[2,4,3] broadcast(a)
          instruction-shape `a` `f32[2,3]` needs `dimensions`: only a scalar does without []
        c = f32[2,3] broadcast(d), dimensions={0,0}
          instruction-shape `f32[2,3]` `dimensions={0,0}` names a dimension of `f32[2,3]` twice []
        c = f32[1,3] dynamic-slice(a, i), dynamic_slice_sizes={1,3}
          instruction-shape `a` 1 index operand into `f32[2,3]`: one for each dimension is expected []
        c = f32[2,3] dynamic-update-slice(a, b, i, i)
          instruction-shape `b` `bf16[3,4]` is no part of `f32[2,3]` []
        c = f32[2,3] dynamic-update-slice(a, d, i, i)
          instruction-shape `d` `f32[8,?]` is no part of `f32[2,3]` []
        c = f32[2,3] dynamic-update-slice(a, a, i)
          instruction-shape `a` 1 index operand into `f32[2,3]`: one for each dimension is expected []
        c = f32[4,3] pad(a, i), padding=1_1x0_0
          instruction-shape `i` `s32[]` pads `f32[2,3]` []
        c = f32[2] reduce(a, a), dimensions={1}, to_apply=add
          instruction-shape `a` `f32[2,3]` is no scalar to begin with []
        c = f32[2] reduce(a, z), dimensions={1,1}, to_apply=add
          instruction-shape `f32[2]` `dimensions={1,1}` names a dimension of `f32[2,3]` twice []
        c = f32[2,3] pad(a, z), padding=1_1x0_0
          instruction-shape `f32[2,3]` `pad` gives `f32[4,3]` here, not `f32[2,3]` []
        c = f32[2] reduce(a, z), dimensions={0}, to_apply=add
          instruction-shape `f32[2]` `reduce` gives `f32[3]` here, not `f32[2]` []
        c = f32[2] reduce(a, z), dimensions={2}, to_apply=add
          instruction-shape `f32[2]` `dimensions={2}`, where there are 2 dimensions []
        c = f32[2,3] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
          instruction-shape `f32[2,3]` `dot` gives `f32[2,4]` here, not `f32[2,3]` []
        c = f32[3,4] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}
          instruction-shape `b` the contracting dimensions are [3], and [2] of the other operand []
        c = f32[2,3] get-tuple-element(t), index=0
          instruction-shape `f32[2,3]` element 0 of the tuple is `s32[]`, not `f32[2,3]` []
        c = f32[2,3] get-tuple-element(t), index=2
          instruction-shape `t` a tuple of 2 elements has no element 2 []
        c = f32[2,3] get-tuple-element(a), index=0
          instruction-shape `a` `f32[2,3]` is no tuple []
        c = (s32[], f32[2,3]) tuple(a, i)
          instruction-shape `a` `f32[2,3]`, while element 0 is `s32[]` []
        c = (s32[]) tuple(i, a)
          instruction-shape `(s32[])` a tuple of 1 element, of 2 operands []
        c = s32[] tuple(i)
          instruction-shape `s32[]` `s32[]` is no tuple []
        c = f32[] call(z), to_apply=add
          operand-count `call` `add` has 2 parameters, `call` gives it 1 []
        c = f32[] call(z, i), to_apply=add
          instruction-shape `i` `s32[]`, while parameter 1 of `add` is `f32[]` ["the parameter"]
        c = s32[] fusion(z, z), kind=kLoop, calls=add
          instruction-shape `s32[]` `s32[]`, while `add` gives `f32[]` ["its result"]
        c = (s32[], f32[3]) while(t), condition=less, body=next
          instruction-shape `(s32[], f32[3])` `while` gives a tuple with `f32[2,3]` at {1} here, not a tuple with `f32[3]` at {1} []
        c = (s32[], f32[2,3]) while(t), condition=next, body=next
          instruction-shape `while` `next` gives a tuple of 2 elements, not `pred[]` ["its result"]
        c = f32[3] reduce(a, z), dimensions={0}, to_apply=both
          operand-count `reduce` `both` has 4 parameters, `reduce` gives it 2 []
        c = f32[3] reduce(a, z), dimensions={0}, to_apply=more
          instruction-shape `reduce` `more` gives `pred[]`, not an element of `f32[3]` ["its result"]
        c = s32[] reduce(i, i), dimensions={}, to_apply=add
          instruction-shape `i` `s32[]`, while parameter 0 of `add` is `f32[]` ["the parameter"]
        c = f32[2,3] map(a, i), dimensions={0,1}, to_apply=add
          instruction-shape `i` `s32[]`, while parameter 1 of `add` is `f32[]` ["the parameter"]
        c = f32[2,3] sort(a), dimensions={1}, to_apply=add
          instruction-shape `sort` `add` gives `f32[]`, not `pred[]` ["its result"]
        c = s32[] scatter(i, i, i), update_window_dims={}, inserted_window_dims={}, scatter_dims_to_operand_dims={}, index_vector_dim=0, to_apply=add
          instruction-shape `i` `s32[]`, while parameter 0 of `add` is `f32[]` ["the parameter"]
        c = f32[2,3] select-and-scatter(a, a, z), select=add, scatter=add
          instruction-shape `select-and-scatter` `add` gives `f32[]`, not `pred[]` ["its result"]
        c = (s32[], f32[2,3]) conditional(i, t, a), branch_computations={next, next}
          instruction-shape `a` `f32[2,3]`, while parameter 0 of `next` is a tuple of 2 elements ["the parameter"]
        c = f32[2,3] conditional(i, t, t), branch_computations={%next, %next}
          instruction-shape `f32[2,3]` `f32[2,3]`, while `next` gives a tuple of 2 elements ["its result"]
    "#]].assert_eq(&told);
}

#[test]
fn a_header_says_what_the_parameters_are() {
    changed(
        "(a: f32[2,3])",
        "(a: f32[2,4])",
        &expect![[r#"
            23 instruction-shape `f32[2,4]` `f32[2,4]`, while parameter 0 is `f32[2,3]` ["parameter 0"]
        "#]],
    );
    let text = "HloModule m\n\n%f (x: f32[2], y: (f32[2], /*index=1*/s32[])) -> f32[2] {\n  %x = f32[2] parameter(0)\n  \
                %y = (f32[2]{0}, s32[]) parameter(1)\n  %g = f32[2] get-tuple-element(%y), index=0\n  \
                ROOT %s = f32[2] add(%x, %g)\n}\n\nENTRY %e (a: f32[2], b: (f32[2], s32[])) -> f32[2] {\n  \
                %a = f32[2] parameter(0)\n  %b = (f32[2], s32[]) parameter(1)\n  \
                ROOT %c = f32[2] call(%a, %b), to_apply=%f\n}\n";
    assert_eq!(findings(text), "");
    // What reads the parameter, and what calls, agree with the header.
    let parameter = text.replace("%x = f32[2] parameter", "%x = f32[3] parameter");
    expect![[r#"
        4 instruction-shape `0` `f32[3]`, while the header has `f32[2]` ["in the header"]
    "#]]
    .assert_eq(&findings(&parameter));
    let header = text.replace("/*index=1*/s32[]", "/*index=1*/s32[4]");
    expect![[r#"
        3 instruction-shape `(f32[2], /*index=1*/s32[4])` a tuple with `s32[4]` at {1}, while parameter 1 is a tuple with `s32[]` at {1} ["parameter 1"]
    "#]].assert_eq(&findings(&header));
}

#[test]
fn the_header_of_the_module_says_what_the_entry_takes_and_gives() {
    let text = "HloModule m, entry_computation_layout={(f32[2,3]{1,0}, /*index=1*/(f32[2]{0}, s32[]))->(f32[2,3]{1,0:T(8,128)}, \
                /*index=1*/s32[])}, num_partitions=1\n\nENTRY %e (a: f32[2,3], b: (f32[2], s32[])) -> (f32[2,3], s32[]) {\n  \
                %a = f32[2,3]{1,0} parameter(0)\n  %b = (f32[2]{0}, s32[]) parameter(1)\n  \
                %n = s32[] get-tuple-element(%b), index=1\n  ROOT %r = (f32[2,3]{1,0}, s32[]) tuple(%a, %n)\n}\n";
    assert_eq!(findings(text), "");
    let mut told = String::new();
    for (before, after) in [
        ("{(f32[2,3]{1,0}", "{(f32[2,4]{1,0}"),
        ("{(f32[2,3]{1,0}", "{(f32[2,3]{1,1}"),
        ("(f32[2]{0}, s32[]))->", "(f32[2]{0}, s16[]))->"),
        ("/*index=1*/s32[])}", "/*index=1*/s32[1])}"),
        ("(a: f32[2,3]", "(a: f32[2,5]"),
        ("(f32[2,3]{1,0}, ", "("),
        ("(a: f32[2,3], ", "(a: f32[2,3], a.1: f32[], "),
        // All else is against it.
        ("%a = f32[2,3]", "%a = f32[6,3]"),
        ("ROOT %r = (f32[2,3]{1,0}", "ROOT %r = (f32[2,7]{1,0}"),
    ] {
        let changed = text.replacen(before, after, 1);
        assert_ne!(changed, text, "{before}");
        writeln!(told, "{}\n{}", after.trim(), findings(&changed).trim_end()).expect("text");
    }
    expect![[r#"
        {(f32[2,4]{1,0}
        1 instruction-shape `f32[2,4]{1,0}` `f32[2,4]`, while parameter 0 is `f32[2,3]` ["parameter 0"]
        {(f32[2,3]{1,1}
        1 layout-order `1,1` the order `1,1` does not hold each dimension of the shape once []
        (f32[2]{0}, s16[]))->
        1 instruction-shape `(f32[2]{0}, s16[])` a tuple with `s16[]` at {1}, while parameter 1 is a tuple with `s32[]` at {1} ["parameter 1"]
        /*index=1*/s32[1])}
        1 instruction-shape `(f32[2,3]{1,0:T(8,128)}, /*index=1*/s32[1])` a tuple with `s32[1]` at {1}, while the root gives a tuple with `s32[]` at {1} ["the root"]
        (a: f32[2,5]
        3 instruction-shape `f32[2,5]` `f32[2,5]`, while parameter 0 is `f32[2,3]` ["parameter 0"]
        (
        1 operand-count `(f32[2]{0}, s32[])` `entry_computation_layout` has 1 parameter, the computation 2 []
        (a: f32[2,3], a.1: f32[],
        3 operand-count `(f32[2], s32[])` the header has 3 parameters, the computation 2 []
        %a = f32[6,3]
        4 instruction-shape `0` `f32[6,3]`, while the header has `f32[2,3]` ["in the header", "in `entry_computation_layout`"]
        ROOT %r = (f32[2,7]{1,0}
        7 instruction-shape `a` `f32[2,3]`, while element 0 is `f32[2,7]` []
    "#]].assert_eq(&told);
}

#[test]
fn what_comes_of_a_wrong_result_is_told_there_alone() {
    let mut told = String::new();
    let call = "c = f32[2] call(z, z), to_apply=add\n  e = (f32[]) tuple(c)";
    for text in [
        around("c = f32[2,9] negate(a)\n  e = f32[2,3] sine(c)\n  u = (f32[2,3]) tuple(c)"),
        around(call),
        // An element of a tuple, and what takes it out.
        around("c = (f32[2,9], s32[]) tuple(a, i)\n  e = f32[2,3] get-tuple-element(c), index=0"),
        // The root of what is called.
        around("c = f32[] call(z, z), to_apply=add").replace("s = f32[] add", "s = f32[2] add"),
    ] {
        told += &findings(&text);
    }
    expect![[r#"
        47 instruction-shape `f32[2,9]` `negate` gives `f32[2,3]` here, not `f32[2,9]` []
        47 instruction-shape `f32[2]` `f32[2]`, while `add` gives `f32[]` ["its result"]
        47 instruction-shape `a` `f32[2,3]`, while element 0 is `f32[2,9]` []
        6 instruction-shape `f32[2]` `add` gives `f32[]` here, not `f32[2]` []
    "#]]
    .assert_eq(&told);
}

#[test]
fn words_that_are_misspelt_missing_or_there_twice() {
    let mut told = String::new();
    for (from, to) in [
        ("dimensions={0,1}", "dimenions={0,1}"),
        ("dimensions={0,1}", "dimension = {0,1}"),
        ("dimensions={0,1}, ", ""),
        (", to_apply=add", ""),
        (", to_apply=add", ", to_aply=add"),
        ("dimensions={0,1}", "dimensions={0,1}, dimensions={0,1}"),
        ("= f32[] reduce(", "= f32[] redcue("),
        // A newer compiler may know these.
        ("= f32[] reduce(", "= f32[] reduce-much("),
        ("dimensions={0,1}", "dimensions={0,1}, accuracy=high"),
        // The one that is like it is there already.
        ("dimensions={0,1}", "dimensions={0,1}, dimension={1}"),
        // Of another opcode.
        ("dimensions={0,1}", "dimensions={0,1}, index=1"),
    ] {
        assert_eq!(SOUND.matches(from).count(), 1, "{from}");
        let found = findings(&SOUND.replace(from, to));
        writeln!(told, "{to}").expect("text");
        for finding in found.lines() {
            writeln!(told, "  {finding}").expect("text");
        }
    }
    expect![[r#"
        dimenions={0,1}
          28 misspelling `dimenions` `dimenions` is not an attribute of `reduce`; is it `dimensions`? []
        dimension = {0,1}
          28 misspelling `dimension` `dimension` is not an attribute of `reduce`; is it `dimensions`? []

          28 missing-attribute `reduce` `reduce` needs the attribute `dimensions` []

          28 missing-attribute `reduce` `reduce` needs the attribute `to_apply` []
        , to_aply=add
          28 misspelling `to_aply` `to_aply` is not an attribute of `reduce`; is it `to_apply`? []
        dimensions={0,1}, dimensions={0,1}
          28 duplicate-name `dimensions` the attribute `dimensions` stands twice ["the first one"]
        = f32[] redcue(
          28 misspelling `redcue` `redcue` is not an opcode; is it `reduce`? []
        = f32[] reduce-much(
        dimensions={0,1}, accuracy=high
        dimensions={0,1}, dimension={1}
        dimensions={0,1}, index=1
    "#]].assert_eq(&told);
}

#[test]
fn a_header_says_what_its_root_gives() {
    changed(
        "-> f32[] {",
        "-> f32[2] {",
        &expect![[r#"
        23 instruction-shape `f32[2]` `f32[2]`, while the root gives `f32[]` ["the root"]
    "#]],
    );
    // The root is what is wrong.
    changed(
        "ROOT %sum = f32[]",
        "ROOT %sum = f32[2]",
        &expect![[r#"
        28 instruction-shape `f32[2]` `reduce` gives `f32[]` here, not `f32[2]` []
    "#]],
    );
}

#[test]
fn control_predecessors_come_before() {
    changed(
        "control-predecessors={%zero}",
        "control-predecessors={%sum}",
        &expect![[r#"
            27 unresolved-name `sum` `sum` is named before it is defined ["the instruction of that name"]
        "#]],
    );
}

/// As long as the text is the same, what was found in it stands; where it has changed, it is looked for again.
#[test]
fn what_was_found_stands_until_the_text_changes() {
    let wrong = SOUND.replacen("-> f32[] {", "-> f32[2] {", 1);
    let document = |text: &str| Document::new(text).expect("a short text");
    let file = |document: &Document| File {
        path: PathBuf::from("m.txt"),
        document: document.clone(),
        lossy: false,
    };
    let (mut numbering, standing) = (Numbering::default(), Standing::default());
    let mut found = |assignment: &Document, module: &Document| {
        let dump = Dump::numbered(vec![file(assignment), file(module)], &mut numbering);
        let found = check_next(&dump, &Thresholds::default(), &standing);
        assert_eq!(found, check(&dump));
        let is_of_module = |it: &Finding| it.place.file == 1;
        (
            Arc::clone(&dump.module),
            found.iter().filter(|it| is_of_module(it)).count(),
        )
    };
    let assignment = document("BufferAssignment:\nallocation 0: size 4, thread-local:\n");
    let module = document(&wrong);
    let (first, count) = found(&assignment, &module);
    assert_eq!(count, 1);
    let size = "BufferAssignment:\nallocation 0: size ".len() as u32;
    let longer = assignment.edit(size..size, "1").expect("a short text");
    let (second, count) = found(&longer, &module);
    assert!(Arc::ptr_eq(&first, &second) && count == 1);
    let at = wrong.find("-> f32[2] {").expect("it is there") as u32 + "-> f32[".len() as u32;
    let mended = module.edit(at..at + 1, "").expect("a short text");
    assert_eq!(found(&longer, &mended).1, 0);
}
