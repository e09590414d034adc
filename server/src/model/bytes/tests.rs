use std::sync::Arc;

use buflens_syntax::DocumentKind;

use super::*;
use crate::real_dumps::{self, compilations};

fn array(text: &str) -> Arc<ArrayShape> {
    match Shape::read(text) {
        Ok(Shape::Array(array)) => array,
        other => panic!("{text}: {other:?}"),
    }
}

const CPU: Platforms = Platforms {
    cpu: true,
    gpu: false,
    tpu: false,
};
const TPU: Platforms = Platforms {
    cpu: false,
    gpu: false,
    tpu: true,
};

#[test]
fn padded_bytes_of_real_layouts() {
    for (text, bytes) in [
        ("f32[64,64]{1,0:T(8,128)}", 32_768),
        ("f32[64,32]{0,1:T(8,128)}", 16_384),
        ("f32[4,1,5120]{2,1,0:T(1,128)}", 81_920),
        ("bf16[4,7,3,5120]{3,2,1,0:T(4,128)(2,1)}", 1_146_880),
        ("bf16[4,8,513,5120]{3,2,1,0:T(8,128)(2,1)}", 170_393_600),
        ("pred[32,513]{0,1:T(8,128)(4,1)}", 66_560),
        ("f32[4,4099,5120]{2,0,1:T(4,128)}", 335_790_080),
        ("f32[32,513,5120]{2,1,0:T(8,128)}", 340_787_200),
        ("f32[32,513,5120]{2,0,1:T(8,128)}", 336_199_680),
        ("f32[16]{0:T(128)}", 512),
        ("f32[]{:T(128)}", 512),
        ("bf16[]{:T(256)}", 512),
        ("bf16[1000]{0:T(1024)(128)(2,1)}", 2_048),
        ("s8[3,1,1,200]{3,0,2,1:T(4,128)(4,1)}", 1_024),
        ("s8[3000,1024,1024]{2,1,0:T(32,128)(4,1)}", 3_145_728_000),
        ("f4e2m1fn[3,1,1,200]{3,0,2,1:T(8,128)(8,1)E(4)}", 1_024),
        ("s4[64,128]{1,0:T(64,128)(8,1)E(4)}", 4_096),
        ("s2[64,128]{1,0:T(16,128)(16,1)E(2)}", 2_048),
        ("s4[]{:T(1024)E(4)}", 512),
        ("s64[17,300]{1,0:T(8,128)}", 73_728),
        ("c128[5,9]{1,0:T(8,128)}", 16_384),
        ("s32[128]{0:T(1)L(128)S(4)}", 512),
        ("f8e5m2[32,256]{1,0:T(8,128)(4,1)S(1)SC(0:16)}", 4_096),
        ("f32[9,129]{1,0:T(8,128)S(1)SC(0:8)}", 8_192),
        ("f32[0,4]{1,0}", 0),
        ("f32[0,4]{1,0:T(8,128)}", 0),
        ("s4[64,128]{1,0}", 8_192),
        ("s32[100]{0:L(128)}", 512),
        ("f32[3,5]{1,0:T(*,128)}", 512),
    ] {
        assert_eq!(padded_bytes(&array(text)), Some(bytes), "{text}");
        assert!(
            is_possible_size(&Shape::Array(array(text)), bytes, TPU) || !text.contains('T'),
            "{text}"
        );
    }
}

#[test]
fn logical_bytes_know_bounds_and_bit_widths() {
    for (text, bytes) in [
        ("f32[32,513,5120]{2,1,0:T(8,128)}", Some(336_199_680)),
        ("s4[64,128]{1,0:E(4)}", Some(4_096)),
        ("s64[<=300,2]{1,0}", Some(4_800)),
        ("(f32[2], (s32[], pred[8]), token[])", Some(24)),
        ("()", Some(0)),
        ("token[]", Some(0)),
        ("opaque[]", Some(8)),
        ("f32[?,2]", None),
        ("future7[2]", None),
        ("f32[9223372036854775807,2]", None),
        ("f32[9223372036854775807,9,0]", Some(0)),
    ] {
        assert_eq!(logical_bytes(&Shape::read(text).unwrap()), bytes, "{text}");
    }
}

#[test]
fn sizes_that_a_backend_gives() {
    for (text, size, platforms, possible) in [
        ("f32[]", 4, CPU, true),
        ("f32[]", 4_096, CPU, false),
        ("f32[]", 4_096, TPU, true),
        ("f32[]", 4, TPU, false),
        ("pred[]", 1_024, TPU, true),
        ("s32[2]{0:S(4)}", 4_096, TPU, true),
        ("u32[]{:S(2)}", 4, TPU, true),
        ("s32[12]{0:S(8)}", 48, TPU, true),
        ("u32[]{:T(128)S(2)}", 4, TPU, true),
        ("s64[<=300,2]{1,0}", 4_808, CPU, true),
        ("s64[<=300,2]{1,0}", 4_800, CPU, false),
        ("f32[<=16,8]{0,1:T(8,128)}", 5_120, TPU, true),
        ("f32[<=16,8]{0,1:T(8,128)}", 4_096, TPU, false),
        ("(f32[], f32[], f32[])", 24, CPU, true),
        ("(f32[], f32[], f32[])", 32, CPU, false),
        ("(f32[], f32[], f32[])", 32, TPU, true),
        ("(f32[], f32[], f32[])", 512, TPU, true),
        ("(f32[], f32[], f32[])", 0, TPU, true),
        ("(f32[], f32[], f32[])", 24, TPU, false),
        ("()", 0, CPU, true),
        ("future7[2]", 99, CPU, true),
    ] {
        assert_eq!(
            is_possible_size(&Shape::read(text).unwrap(), size, platforms),
            possible,
            "{text} {size}"
        );
    }
}

#[test]
fn layouts_that_make_no_sense_have_no_size() {
    for text in [
        "f32[4,4]{1,1}",
        "f32[4,4]{2,0}",
        "f32[4,4]{0}",
        "f32[4]{0:T(0)}",
        "f32[4]{0:L(0)}",
        "f32[18446744073709551614]{0:T(128)}",
    ] {
        assert_eq!(padded_bytes(&array(text)), None, "{text}");
        assert_eq!(best_order(&array(text)), None, "{text}");
    }
}

#[test]
fn padding_names_the_dimension_to_blame() {
    let padding = Padding::of(&array("pred[32,513]{0,1:T(8,128)(4,1)}")).unwrap();
    let rows: Vec<_> = padding
        .dimensions
        .iter()
        .map(|row| (row.numbers.clone(), row.from, row.to, row.tile))
        .collect();
    assert_eq!(
        rows,
        [(vec![1], 513, 520, Some(8)), (vec![0], 32, 128, Some(128))]
    );
    assert_eq!(
        padding.blame().map(|row| row.numbers.clone()),
        Some(vec![0])
    );
    assert_eq!(padding.elements, 66_560);
    // The dimension that only the tile has.
    let padding = Padding::of(&array("f32[16]{0:T(8,128)}")).unwrap();
    assert_eq!(padding.dimensions[0].numbers, Vec::<u64>::new());
    assert_eq!((padding.dimensions[0].to, padding.bytes), (8, 4_096));
}

#[test]
fn best_order_is_the_smallest_and_nearest() {
    assert_eq!(
        best_order(&array("pred[32,513]{0,1:T(8,128)(4,1)}")),
        Some((vec![1, 0], 20_480))
    );
    assert_eq!(
        best_order(&array("f32[32,513,5120]{2,1,0:T(8,128)}")),
        Some((vec![2, 0, 1], 336_199_680))
    );
    assert_eq!(best_order(&array("f32[64,256]{1,0:T(8,128)}")), None);
    assert_eq!(best_order(&array("f32[64,256]{1,0}")), None);
    let wide = best_order(&array("f32[2,3,4,5,128]{0,4,3,2,1:T(8,128)}")).unwrap();
    assert_eq!(wide.0[0], 4);
}

#[test]
fn bytes_as_xla_prints_them() {
    for (bytes, text) in [
        (0, "0B"),
        (1_023, "1023B"),
        (1_024, "1.0KiB"),
        (1_280, "1.2KiB"),
        (36_864, "36.0KiB"),
        (5_308_448, "5.06MiB"),
        (1_348_651_528, "1.26GiB"),
        (1_048_575, "1024.0KiB"),
        (u64::MAX, "16.00EiB"),
    ] {
        assert_eq!(human(bytes), text);
    }
}

#[test]
fn bytes_as_people_read_them() {
    for (bytes, text) in [
        (0, "0 B"),
        (512, "512 B"),
        (1_024, "1.0 KiB (1,024 B)"),
        (66_560, "65.0 KiB (66,560 B)"),
        (340_787_200, "325.0 MiB (340,787,200 B)"),
        (1_348_651_528, "1.26 GiB (1,348,651,528 B)"),
        (1_048_575, "1.0 MiB (1,048,575 B)"),
        (u64::MAX, "16.00 EiB (18,446,744,073,709,551,615 B)"),
    ] {
        assert_eq!(display(bytes), text);
    }
}

/// Every size in a real dump is possible, except for values that share a buffer with a larger one.
#[test]
fn sizes_of_real_dumps_are_possible() {
    let mut failures = Vec::new();
    for paths in compilations() {
        let (path, dump) = (&paths[0], real_dumps::read(&paths[..1]));
        if dump.files[0].document.kind() != DocumentKind::Assignment {
            continue;
        }
        let platforms = dump.platforms;
        for allocation in &dump.allocations {
            let values = dump.held_by(allocation);
            for value in values {
                let placement = dump
                    .placement(value)
                    .expect("a value of an allocation has a line");
                let text = placement.text(placement.row.shape);
                let shape = Shape::read(text).expect("a shape");
                let shares = values
                    .iter()
                    .filter(|other| other.size == value.size)
                    .count()
                    > 1;
                if !shares && !is_possible_size(&shape, value.size, platforms) {
                    failures.push(format!(
                        "{}: <{}> {text} {}",
                        path.display(),
                        value.id,
                        value.size
                    ));
                }
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn bytes_with_their_units() {
    assert_eq!(read("15.75GiB"), Ok(16_911_433_728));
    assert_eq!(read(" 2 kib "), Ok(2048));
    assert_eq!(read("17B"), Ok(17));
    for wrong in [
        "",
        "GiB",
        "1.5",
        "1.5.2KiB",
        "-1KiB",
        "1e3",
        "99999999999TiB",
        "1.GiB",
        "1 GB",
    ] {
        assert_eq!(read(wrong), Err(EXPECTED.to_owned()), "{wrong}");
    }
}

#[test]
fn differences_have_signs() {
    let shown = [324 << 20, 0, -7, i64::MIN].map(|number| signed(number, rounded));
    assert_eq!(shown, ["+324.0 MiB", "0 B", "-7 B", "-8.00 EiB"]);
    assert_eq!(signed(-1234, grouped), "-1,234");
}

#[test]
fn one_of_a_kind_is_no_plural() {
    assert_eq!(counted(0_usize, "value"), "0 values");
    assert_eq!(counted(1_usize, "value"), "1 value");
    assert_eq!(counted(12_345_u64, "value"), "12,345 values");
}

#[test]
fn sizes_are_rounded_as_printf_does() {
    for rest in 1024..1024 * 1024 {
        let value = rest as f64 / 1024.0;
        assert_eq!(human(rest), format!("{value:.1}KiB"));
        assert_eq!(human(rest * 1024), format!("{value:.2}MiB"));
    }
}
