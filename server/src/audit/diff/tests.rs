//! Each kind of evidence, with two small programs that only it can tell.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::*;
use crate::audit::fixture::{audited, dump, real, texts};
use crate::model::source::Libraries;

/// A value of a test program: name, shape, what stands behind the shape, and its allocation.
type Line = (&'static str, &'static str, &'static str, Home);

#[derive(Clone, Copy)]
enum Home {
    Parameter(u64),
    Temp,
    Output,
}
use Home::{Output, Parameter, Temp};

/// A dump with these values, one in each allocation, in the order of the schedule.
fn program(lines: &[Line]) -> Dump {
    let mut text = "BufferAssignment:\n".to_owned();
    let mut total = 0;
    let size = |shape: &str| {
        let digits: String = shape
            .chars()
            .skip(4)
            .take_while(char::is_ascii_digit)
            .collect();
        4 * digits.parse::<u64>().unwrap()
    };
    for (number, (name, shape, _, home)) in lines.iter().enumerate() {
        let bytes = size(shape);
        total += bytes;
        let kind = match home {
            Parameter(at) => format!("parameter {at}, shape |{shape}| at ShapeIndex {{}}"),
            Temp => "preallocated-temp".to_owned(),
            Output => format!("output shape is |{shape}|, maybe-live-out"),
        };
        writeln!(text, "allocation {number}: size {bytes}, {kind}:").unwrap();
        writeln!(
            text,
            " value: <{number} {name} @0> (size={bytes},offset=0): {shape}{{0}}"
        )
        .unwrap();
    }
    writeln!(
        text,
        "\nTotal bytes used: {total} ({total}B)\n\nUsed values:"
    )
    .unwrap();
    for (number, (name, shape, rest, _)) in lines.iter().enumerate() {
        writeln!(text, "<{number} {name} @0>\n positions:\n  {name}\n uses:").unwrap();
        for (reader, _, rest, _) in lines {
            let operands = rest
                .split(['(', ',', ' ', ')'])
                .filter(|it| it.starts_with('%'));
            for (at, _) in operands.enumerate().filter(|it| it.1[1..] == **name) {
                writeln!(text, "  {reader}, operand {at}").unwrap();
            }
        }
        writeln!(text, " from instruction: %{name} = {shape}{{0}} {rest}").unwrap();
    }
    writeln!(text, "\nHloLiveRange (max {}):", lines.len()).unwrap();
    text.push_str("  InstructionSequence:\n");
    for (number, (name, ..)) in lines.iter().enumerate() {
        writeln!(text, "    {number}:{name}").unwrap();
    }
    text.push_str("  BufferLiveRange:\n");
    for (number, (name, ..)) in lines.iter().enumerate() {
        writeln!(text, "    {name}{{}}:{number}-{}", lines.len()).unwrap();
    }
    audited(&text)
}

fn compared(before: &Dump, after: &Dump) -> Diff {
    let audits = [before, after].map(|dump| Audit::new(dump, Libraries::default()));
    diff([&audits[0], &audits[1]])
}

fn check(before: &[Line], after: &[Line], expected: &Expect) {
    let dumps = [program(before), program(after)];
    let found = compared(&dumps[0], &dumps[1]);
    let name = |side: usize, at: u32| &dumps[side].names[dumps[side].values[at as usize].name];
    let mut text = String::new();
    for pair in &found.pairs {
        let changed = found.changed.iter().find(|it| it.pair == *pair);
        let (old, new) = (name(0, pair.before), name(1, pair.after));
        write!(text, "{old} = {new} by {}", pair.by.name()).unwrap();
        if let Some(cause) = changed.and_then(|it| it.resized) {
            write!(text, ", other {}", cause.name()).unwrap();
        }
        if changed.is_some_and(|it| it.is_moved) {
            text.push_str(", moved");
        }
        text.push('\n');
    }
    for (side, word) in ["gone", "new"].into_iter().enumerate() {
        for &at in &found.alone[side] {
            writeln!(text, "{word} {}", name(side, at)).unwrap();
        }
    }
    expected.assert_eq(&text);
    let mirrored = compared(&dumps[1], &dumps[0]);
    assert_mirrored(&found, &mirrored);
}

/// Whoever goes back finds the same the other way round.
fn assert_mirrored(found: &Diff, mirrored: &Diff) {
    let mut pairs: Vec<(u32, u32, Evidence)> = mirrored
        .pairs
        .iter()
        .map(|pair| (pair.after, pair.before, pair.by))
        .collect();
    pairs.sort_unstable();
    let own = found.pairs.iter();
    let own: Vec<(u32, u32, Evidence)> =
        own.map(|pair| (pair.before, pair.after, pair.by)).collect();
    assert_eq!(own, pairs);
    assert_eq!(found.alone[0], mirrored.alone[1]);
    assert_eq!(found.alone[1], mirrored.alone[0]);
    assert_eq!(found.changed.len(), mirrored.changed.len());
    assert_eq!(found.copies_alone[0], mirrored.copies_alone[1]);
    assert_eq!(found.copies_alone[1], mirrored.copies_alone[0]);
    for (own, other) in found.peaks.iter().zip(&mirrored.peaks) {
        assert_eq!(own.alone[0], other.alone[1]);
        assert_eq!(own.alone[1], other.alone[0]);
    }
}

#[test]
fn parameters_are_what_the_caller_gives() {
    // `mask` comes first now, `w` is larger, and the last one has another name.
    check(
        &[
            (
                "x.1",
                "f32[16]",
                r#"parameter(0), metadata={op_name="x"}"#,
                Parameter(0),
            ),
            (
                "w.1",
                "f32[32]",
                r#"parameter(1), metadata={op_name="w"}"#,
                Parameter(1),
            ),
        ],
        &[
            (
                "mask.1",
                "f32[8]",
                r#"parameter(0), metadata={op_name="mask"}"#,
                Parameter(0),
            ),
            (
                "x.1",
                "f32[16]",
                r#"parameter(1), metadata={op_name="x"}"#,
                Parameter(1),
            ),
            (
                "w.1",
                "f32[32]",
                r#"parameter(2), metadata={op_name="w"}"#,
                Parameter(2),
            ),
        ],
        &expect![[r#"
            x.1 = x.1 by parameter
            w.1 = w.1 by parameter
            new mask.1
        "#]],
    );
    check(
        &[("Arg_0.1", "f32[16]", "parameter(0)", Parameter(0))],
        &[("q.1", "f32[64]", "parameter(0)", Parameter(0))],
        &expect![[r#"
            Arg_0.1 = q.1 by parameter, other shape
        "#]],
    );
}

#[test]
fn a_parameter_that_grew_and_moved_is_known_by_its_name() {
    let argument = |path: &str, number: usize| -> &'static str {
        Box::leak(format!("parameter({number}), metadata={{op_name=\"{path}\"}}").into_boxed_str())
    };
    check(
        &[
            ("p.1", "f32[16]", argument("p['a'][0]", 0), Parameter(0)),
            ("p.2", "f32[16]", argument("p['a'][1]", 1), Parameter(1)),
        ],
        &[
            ("p.1", "f32[16]", argument("mask", 0), Parameter(0)),
            ("p.2", "f32[32]", argument("p['a'][0]", 1), Parameter(1)),
            ("p.3", "f32[64]", argument("p['a'][1]", 2), Parameter(2)),
        ],
        &expect![[r#"
            p.1 = p.2 by parameter, other shape
            p.2 = p.3 by parameter, other shape
            new p.1
        "#]],
    );
}

#[test]
fn parameters_that_are_called_otherwise_are_known_by_their_arrays() {
    let argument = |path: &str, number: u64| -> &'static str {
        Box::leak(format!("parameter({number}), metadata={{op_name=\"{path}\"}}").into_boxed_str())
    };
    check(
        &[
            ("k.1", "f32[16]", argument("p['wk']", 0), Parameter(0)),
            ("o.1", "f32[8]", argument("p['wo']", 1), Parameter(1)),
            ("q.1", "f32[16]", argument("p['wq']", 2), Parameter(2)),
        ],
        &[
            ("k.2", "f32[16]", argument("p['attn.k']", 0), Parameter(0)),
            ("q.2", "f32[16]", argument("p['attn.q']", 1), Parameter(1)),
            ("o.2", "f32[8]", argument("p['out']", 2), Parameter(2)),
        ],
        &expect![[r#"
            k.1 = k.2 by parameter
            o.1 = o.2 by parameter
            q.1 = q.2 by parameter
        "#]],
    );
    // What has another name and another array is another parameter.
    check(
        &[("a.1", "f32[16]", argument("a", 0), Parameter(0))],
        &[("b.1", "f32[8]", argument("b", 0), Parameter(0))],
        &expect![[r#"
            gone a.1
            new b.1
        "#]],
    );
}

#[test]
fn trace_paths_tell_before_names_do() {
    check(
        &[
            (
                "add.1",
                "f32[16]",
                r#"add(), metadata={op_name="jit(f)/jit(main)/a[n=1]"}"#,
                Temp,
            ),
            (
                "add.2",
                "f32[16]",
                r#"add(), metadata={op_name="jit(f)/jit(main)/b"}"#,
                Temp,
            ),
            (
                "add.3",
                "f32[16]",
                r#"add(), metadata={op_name="jit(f)/jit(main)/c"}"#,
                Temp,
            ),
        ],
        &[
            (
                "add.1",
                "f32[16]",
                r#"add(), metadata={op_name="jit(f)/b"}"#,
                Temp,
            ),
            (
                "add.2",
                "f32[16]",
                r#"add(), metadata={op_name="jit(f)/a"}"#,
                Temp,
            ),
            (
                "add.3",
                "f32[64]",
                r#"add(), metadata={op_name="jit(f)/c"}"#,
                Output,
            ),
        ],
        &expect![[r#"
            add.1 = add.2 by op_name
            add.2 = add.1 by op_name
            add.3 = add.3 by resized, other shape, moved
        "#]],
    );
}

#[test]
fn another_element_type_is_told_by_the_dimensions() {
    let path = r#"add(), metadata={op_name="jit(f)/transpose(jvp())/conv"}"#;
    check(
        &[
            ("fusion.7", "f32[64]", path, Temp),
            ("fusion.28", "f32[16]", path, Temp),
        ],
        &[
            ("fusion.19", "s32[16]", path, Temp),
            ("fusion.5", "s32[64]", path, Temp),
        ],
        &expect![[r#"
            fusion.7 = fusion.5 by resized
            fusion.28 = fusion.19 by resized
        "#]],
    );
    // A name that is the opcode tells nothing.
    check(
        &[("fusion.1", "f32[16]", "fusion()", Temp)],
        &[("fusion.2", "f32[64]", "fusion()", Temp)],
        &expect![[r#"
            gone fusion.1
            new fusion.2
        "#]],
    );
}

#[test]
fn a_table_of_addresses_is_no_array() {
    let path = r#"fusion(), metadata={op_name="jit(f)/a"}"#;
    let lines = [("fusion.1", "f32[128]", path, Temp)];
    let before = program(&lines).files[0].document.text().clone();
    let tuple = "(f32[8]{0}, f32[8]{0}";
    let after = before.replace("f32[128]{0}", &format!("{tuple})"));
    assert!(after.contains(tuple));
    let [before, after] = [before, after].map(|text| audited(&text));
    let found = compared(&before, &after);
    assert_eq!(
        (found.pairs.len(), &found.alone[..]),
        (0, &[vec![0], vec![0]][..])
    );
}

#[test]
fn what_makes_the_difference_between_two_peaks_is_told() {
    let parameter = (
        "x.1",
        "f32[16]",
        r#"parameter(0), metadata={op_name="x"}"#,
        Parameter(0),
    );
    let step = |shape, name| (name, shape, r#"add(), metadata={op_name="jit(f)/a"}"#, Temp);
    let dumps = [
        program(&[parameter, step("f32[64]", "a.1")]),
        program(&[parameter, step("f32[256]", "a.9")]),
    ];
    let [peaks] = &compared(&dumps[0], &dumps[1]).peaks[..] else {
        unreachable!("one memory space")
    };
    let shares: Vec<[u64; 2]> = peaks
        .changed
        .iter()
        .map(|it| it.map(|held| held.share))
        .collect();
    assert_eq!((shares, peaks.stayed), (vec![[256, 1024]], 2));
    assert_eq!((peaks.stayed_bytes, peaks.replaced_bytes), ([320, 1088], 0));
    // What is written over a donated parameter takes the bytes that it took.
    let text = dumps[0].files[0].document.text();
    let donated = text
        .replace("ShapeIndex {}:\n", "ShapeIndex {}, maybe-live-out:\n value: <7 new.1 @0> (size=64,offset=0): f32[16]{0}\n")
        .replace("\nHloLiveRange", "<7 new.1 @0>\n positions:\n  new.1\n uses:\n from instruction: %new.1 = f32[16]{0} subtract()\n\nHloLiveRange")
        .replace("max 2", "max 3")
        .replace("    1:a.1\n", "    1:new.1\n    2:a.1\n")
        .replace("    x.1{}:0-2\n    a.1{}:1-2", "    x.1{}:0-0\n    new.1{}:1-3\n    a.1{}:2-3");
    let donated = audited(&donated);
    let [peaks] = &compared(&dumps[0], &donated).peaks[..] else {
        unreachable!("one memory space")
    };
    assert_eq!(peaks.alone, [vec![], vec![]]);
    assert_eq!(
        (peaks.stayed, peaks.stayed_bytes, peaks.replaced_bytes),
        (1, [256; 2], 64)
    );
}

#[test]
fn operands_lead_from_one_pair_to_the_next() {
    let op = r#"fusion(), metadata={op_name="jit(f)/a"}"#;
    let other = r#"fusion(), metadata={op_name="jit(f)/b"}"#;
    check(
        &[
            ("a.1", "f32[16]", op, Temp),
            ("b.1", "f32[16]", other, Temp),
            ("negate.1", "f32[16]", "negate(%b.1)", Temp),
            ("negate.2", "f32[16]", "negate(%a.1)", Temp),
        ],
        &[
            ("a.1", "f32[16]", op, Temp),
            ("b.1", "f32[16]", other, Temp),
            ("negate.7", "f32[16]", "negate(%a.1)", Temp),
        ],
        &expect![[r#"
            a.1 = a.1 by same
            b.1 = b.1 by same
            negate.2 = negate.7 by operands
            gone negate.1
        "#]],
    );
}

/// Of two sizes, without a trace path, and called what all copies are.
#[test]
fn operands_lead_to_what_has_grown_with_them() {
    let of = |shape: &'static str| -> [Line; 4] {
        [
            ("x.1", "f32[8]", "parameter(0)", Parameter(0)),
            ("fill.1", shape, "broadcast(%x.1), dimensions={}", Temp),
            ("copy.1", shape, "copy(%fill.1)", Temp),
            ("out.1", "f32[8]", "negate(%x.1)", Output),
        ]
    };
    check(
        &of("f32[16]"),
        &of("f32[32]"),
        &expect![[r#"
        x.1 = x.1 by parameter
        fill.1 = fill.1 by name, other shape
        copy.1 = copy.1 by operands, other shape
        out.1 = out.1 by operands
    "#]],
    );
}

#[test]
fn readers_lead_to_what_reads_nothing_and_has_grown() {
    let of = |shape: &'static str| -> [Line; 4] {
        [
            (
                "custom-call.1",
                shape,
                r#"custom-call(), custom_call_target="AllocateBuffer""#,
                Temp,
            ),
            ("iota.1", shape, "iota(), iota_dimension=0", Temp),
            ("copy-start.1", shape, "copy-start(%iota.1)", Temp),
            (
                "fusion.1",
                "f32[8]",
                r#"fusion(%custom-call.1, %copy-start.1), metadata={op_name="jit(f)/a"}"#,
                Output,
            ),
        ]
    };
    check(
        &of("f32[16]"),
        &of("f32[32]"),
        &expect![[r#"
            custom-call.1 = custom-call.1 by readers, other shape
            iota.1 = iota.1 by readers, other shape
            copy-start.1 = copy-start.1 by readers, other shape
            fusion.1 = fusion.1 by output
        "#]],
    );
}

/// A step that updates donated parameters of these names, each a part of the result.
fn update(names: &[&str]) -> Dump {
    const SHAPE: &str = "f32[16]{0}";
    let (mut allocations, mut values) = (String::new(), String::new());
    for (at, name) in names.iter().enumerate() {
        let (own, new) = (2 * at, 2 * at + 1);
        write!(
            allocations,
            "allocation {at}: size 64, parameter {at}, shape |f32[16]| at ShapeIndex {{}}, maybe-live-out:\n \
             value: <{own} p.{at} @0> (size=64,offset=0): {SHAPE}\n \
             value: <{new} new.{at} @0> (size=64,offset=0): {SHAPE}\n"
        )
        .unwrap();
        write!(
            values,
            "<{own} p.{at} @0>\n positions:\n  p.{at}\n uses:\n from instruction: \
             %p.{at} = {SHAPE} parameter({at}), metadata={{op_name=\"{name}\"}}\n\
             <{new} new.{at} @0>\n positions:\n  new.{at}\n  tuple.1 {{{at}}}\n uses:\n from instruction: \
             %new.{at} = {SHAPE} fusion(), metadata={{op_name=\"jit(f)/sub\"}}\n"
        )
        .unwrap();
    }
    let (count, id) = (names.len(), 2 * names.len());
    let shapes = vec![SHAPE; count].join(", ");
    audited(&format!(
        "BufferAssignment:\n{allocations}allocation {count}: size {0}, output shape is |({shapes})|, maybe-live-out:\n \
         value: <{id} tuple.1{{}} @0> (size={0},offset=0): ({shapes})\n\n\
         Used values:\n{values}<{id} tuple.1{{}} @0>\n positions:\n  tuple.1 {{}}\n uses:\n \
         from instruction: %tuple.1 = ({shapes}) tuple()\n",
        8 * count
    ))
}

#[test]
fn what_is_written_over_a_parameter_is_its_update() {
    let dumps = [update(&["w[0]", "m[0]"]), update(&["w[0]", "w[1]", "m[0]"])];
    let found = compared(&dumps[0], &dumps[1]);
    let name = |side: usize, at: u32| &dumps[side].names[dumps[side].values[at as usize].name];
    let pairs = found.pairs.iter();
    let pairs = pairs.map(|it| (name(0, it.before), name(1, it.after), it.by));
    let updates: Vec<_> = pairs.filter(|it| it.0.starts_with("new")).collect();
    let output = Evidence::Output;
    assert_eq!(
        updates,
        [("new.0", "new.0", output), ("new.1", "new.2", output)]
    );
}

#[test]
fn the_result_has_its_parts_whatever_makes_them() {
    check(
        &[("fusion.1", "f32[16]", "fusion()", Output)],
        &[("custom.9", "f32[16]", "custom-call()", Output)],
        &expect![[r#"
            fusion.1 = custom.9 by output
        "#]],
    );
}

#[test]
fn lines_of_source_names_and_shapes_come_last() {
    let line = r#"metadata={source_file="m.py" source_line=7}"#;
    let lines: [&'static str; 2] = [
        Box::leak(format!("add(), {line}").into_boxed_str()),
        Box::leak(format!("fusion(), {line}").into_boxed_str()),
    ];
    check(
        &[
            ("add.1", "f32[16]", lines[0], Temp),
            ("fusion.3.clone", "f32[8]", lines[1], Temp),
            ("while.1", "f32[4]", "while()", Temp),
        ],
        &[
            ("sum.1", "f32[16]", lines[0], Temp),
            ("fusion.9.remat2", "f32[8]", "multiply()", Temp),
            ("loop.1", "f32[4]", "call()", Temp),
            ("loop.2", "f32[4]", "call()", Temp),
        ],
        &expect![[r#"
            add.1 = sum.1 by source
            fusion.3.clone = fusion.9.remat2 by name
            while.1 = loop.1 by shape
            new loop.2
        "#]],
    );
}

#[test]
fn constants_are_their_literals() {
    check(
        &[
            ("constant.1", "f32[1]", "constant({1})", Temp),
            ("constant.2", "f32[1]", "constant({2})", Temp),
        ],
        &[
            ("constant.1", "f32[1]", "constant({2})", Temp),
            ("constant.2", "f32[1]", "constant({1})", Temp),
        ],
        &expect![[r#"
            constant.1 = constant.2 by structure
            constant.2 = constant.1 by structure
        "#]],
    );
}

#[test]
fn a_dump_is_as_itself() {
    for stem in [
        "gpu-combined/",
        "tpu-split/",
        "cpu-split/module_0012",
        "loops/",
        "donation/",
    ] {
        let dump = real(stem);
        let found = compared(&dump, &dump);
        assert!(found.alone.iter().all(Vec::is_empty), "{stem}");
        assert!(
            found.changed.is_empty() && found.shifted == 0 && found.relaid == 0,
            "{stem}"
        );
        assert!(
            found.donation.is_empty() && found.copies_changed.is_empty(),
            "{stem}"
        );
        assert!(found.copies_alone.iter().all(Vec::is_empty), "{stem}");
        assert!(
            found.pairs.iter().all(|pair| pair.before == pair.after),
            "{stem}"
        );
        assert_eq!(found.pairs.len(), dump.values.len(), "{stem}");
    }
}

/// A TPU's program of arrays of 512 bytes: name, memory space and what makes it.
fn of_spaces(lines: &[(&str, u64, &str)]) -> Dump {
    let mut text = "BufferAssignment:\n".to_owned();
    let shape = |color: u64| match color {
        0 => "f32[128]{0:T(128)}".to_owned(),
        color => format!("f32[128]{{0:T(128)S({color})}}"),
    };
    for (number, (name, color, _)) in lines.iter().enumerate() {
        let space = match color {
            0 => String::new(),
            color => format!("color {color}, "),
        };
        let kind = format!("{space}preallocated-temp");
        let shape = shape(*color);
        write!(
            text,
            "allocation {number}: size 512, {kind}:\n value: <{number} {name} @{color}> (size=512,offset=0): {shape}\n"
        )
        .unwrap();
    }
    text.push_str("\nUsed values:\n");
    for (number, (name, color, made)) in lines.iter().enumerate() {
        writeln!(
            text,
            "<{number} {name} @{color}>\n positions:\n  {name}\n uses:"
        )
        .unwrap();
        let operand = format!("%{name})");
        for (reader, ..) in lines.iter().filter(|it| it.2.contains(&operand)) {
            writeln!(text, "  {reader}, operand 0").unwrap();
        }
        let shape = shape(*color);
        writeln!(text, " from instruction: %{name} = {shape} {made}").unwrap();
    }
    let count = lines.len();
    writeln!(
        text,
        "\nHloLiveRange (max {count}):\n  InstructionSequence:"
    )
    .unwrap();
    for (number, (name, ..)) in lines.iter().enumerate() {
        writeln!(text, "    {number}:{name}").unwrap();
    }
    text.push_str("  BufferLiveRange:\n");
    for (number, (name, ..)) in lines.iter().enumerate() {
        writeln!(text, "    {name}{{}}:{number}-{count}").unwrap();
    }
    audited(&text)
}

#[test]
fn copies_for_the_same_come_before_copies_of_the_same() {
    let before = of_spaces(&[
        ("iota.1", 0, "iota(), iota_dimension=0"),
        ("negate.1", 5, "negate(%iota.1)"),
        ("copy.1", 0, "copy(%negate.1)"),
        ("cosine.1", 0, "cosine(%iota.1)"),
        ("copy.2", 5, "copy(%cosine.1)"),
    ]);
    let after = of_spaces(&[
        ("iota.1", 0, "iota(), iota_dimension=0"),
        ("negate.1", 0, "negate(%iota.1)"),
        ("copy.1", 5, "copy(%negate.1)"),
    ]);
    let purposes = |copies: &[Copy]| copies.iter().map(|it| it.purpose).collect::<Vec<_>>();
    let found = compared(&before, &after);
    let reload = vec![Purpose::Reload];
    assert_eq!(purposes(&found.copies_alone[0]), reload);
    assert!(found.copies_alone[1].is_empty() && found.copies_changed.is_empty());
    // Where there is no other, it is the same copy, for something else now.
    let before = of_spaces(&[
        ("iota.1", 0, "iota(), iota_dimension=0"),
        ("negate.1", 5, "negate(%iota.1)"),
        ("copy.1", 0, "copy(%negate.1)"),
    ]);
    let found = compared(&before, &after);
    let [old, new] = &found.copies_changed[0];
    assert_eq!(
        (old.purpose, new.purpose),
        (Purpose::Reload, Purpose::Offload)
    );
    assert_mirrored(&found, &compared(&after, &before));
}

#[test]
fn what_is_cut_short_is_not_known() {
    let whole = program(&[
        ("a.1", "f32[16]", "add()", Temp),
        ("b.1", "f32[8]", "add()", Temp),
    ]);
    let text = "BufferAssignment:\nallocation 0: size 64, preallocated-temp:\n value: <0 a.1 @0> (size=64,offset=0): f32[16]{0}\n";
    let cut = audited(text);
    let found = compared(&whole, &cut);
    assert_eq!(found.is_whole, [true, false]);
    assert_eq!((found.pairs.len(), &found.alone[0][..]), (1, &[1][..]));
    assert!(!found.is_sure(0, &whole, 1) && found.is_sure(1, &cut, 0));
    // A value whose allocation stood behind the cut may be any of the other dump's.
    let used = "\nUsed values:\n<9 c.1 @0>\n positions:\n  c.1\n uses:\n from instruction: %c.1 = f32[8]{0} add()\n";
    let more = audited(&format!("{text}{used}"));
    let found = compared(&whole, &more);
    assert_eq!(more.values.len(), 2);
    assert!(!found.is_sure(1, &more, 1));
    assert!(found.peaks.is_empty());
    let values = "Used values:\n<0 a.1 @0>\n positions:\n  a.1\n uses:\n from instruction: %a.1 = f32[16]{0} add()\n";
    let other = audited(values);
    let found = compared(&whole, &other);
    assert!(!found.is_sure(0, &whole, 1) && !found.is_sure(1, &other, 0));
}

/// With other numbers in all names outside of strings: `add.2` is `add.3`, and `add.3` is `add.2`.
fn renumbered(text: &str) -> String {
    let is_of_name = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '-');
    let mut changed = String::new();
    for (number, part) in text.split('"').enumerate() {
        if number > 0 {
            changed.push('"');
        }
        if number % 2 == 1 {
            changed.push_str(part);
            continue;
        }
        for word in part.split_inclusive(|char| !is_of_name(char)) {
            let end = word.find(|char| !is_of_name(char)).unwrap_or(word.len());
            let (name, rest) = word.split_at(end);
            let number = name.rsplit_once('.').filter(|(head, _)| {
                head.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
            });
            match number.and_then(|(head, number)| Some((head, number.parse::<u32>().ok()?))) {
                Some((head, number)) => write!(changed, "{head}.{}{rest}", number ^ 1).unwrap(),
                None => changed.push_str(word),
            }
        }
    }
    changed
}

/// What a compiler calls `fusion.12` may be its `fusion.9` the next time.
#[test]
fn numbers_in_names_tell_nothing() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/dumps");
    let mut count = 0;
    for folder in std::fs::read_dir(root).unwrap() {
        let folder = folder.unwrap();
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            // Strings of these hold quotes.
            let Some(stem) = name
                .strip_suffix("-buffer-assignment.txt")
                .filter(|it| !it.contains("odd_names"))
            else {
                continue;
            };
            let files = texts(&format!("{}/{stem}", folder.file_name().to_str().unwrap()));
            let other = files
                .iter()
                .map(|(path, text)| (path.clone(), renumbered(text)));
            let dumps = [dump(files.clone()), dump(other.collect())];
            let found = compared(&dumps[0], &dumps[1]);
            let wrong = found.pairs.iter().filter(|pair| pair.before != pair.after);
            let wrong: Vec<_> = wrong.collect();
            assert!(wrong.is_empty(), "{stem}: {wrong:?}");
            assert_eq!(found.pairs.len(), dumps[0].values.len(), "{stem}");
            assert!(found.changed.is_empty() && found.shifted == 0, "{stem}");
            count += 1;
        }
    }
    assert!(count > 40, "{count} dumps");
}
