use expect_test::expect;

use super::*;
use crate::audit::Audit;
use crate::audit::fixture::{audited, program, real};
use crate::model::source::Libraries;
use crate::report::records;

fn map(stem: &str) -> Map {
    let dump = real(stem);
    records::map(&Audit::new(&dump, Libraries::default()), usize::MAX)
}

#[test]
fn four_values_of_the_smallest() {
    expect![[r#"
        smallest: 256 B of host RAM (@0) occupied at the peak, 256 B reserved
        A step is 8 columns. A letter is the value with most bytes there, `.` is mostly
        idle. Static, this module only.

        256 B                                ████████
                                     ████████████████
                             ████████████████████████
        0 B          ████████████████████████████████
        step         0       1       2       3
        #2 temp      ................SSSSSSSSSSSSSSSS      128 B
                     ................SSSSSSSSSSSSSSSS
                     ................SSSSSSSSSSSSSSSS
                     ........MMMMMMMMMMMMMMMMMMMMMMMM
                     ........MMMMMMMMMMMMMMMMMMMMMMMM
                     ........MMMMMMMMMMMMMMMMMMMMMMMM
        #0 arg 0     XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX       64 B
                     XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX
                     XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX
        #1 output    ........................AAAAAAAA       64 B
                     ........................AAAAAAAA
                     ........................AAAAAAAA
        host RAM peak                            ^ step 3, add.4: 256 B

           value  bytes  steps  place
        X  x.1     64 B  0-4    0+0
        A  add.4   64 B  3-4    1+0
        M  mul.2   64 B  1-3    2+0
        S  sub.3   64 B  2-3    2+64
    "#]]
    .assert_eq(&text(&map("smallest/"), "smallest", &Options::default()));
}

#[test]
fn a_real_program() {
    let map = map("tpu-split/module_0017");
    expect![[r#"
        f: 64.0 MiB of HBM (@0) occupied at the peak, 64.0 MiB reserved
        A step is 5 columns. A letter is the value with most bytes there, `.` is mostly
        idle. Static, this module only.

        64.0 MiB                              ▁▁▁▁▁▁▁▁▁▁███████████████
                          ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁██████████████████████████████
                     ██████████████████████████████████████████████████
        0 B          ██████████████████████████████████████████████████
        step         0         2         4         6         8
        #4 temp      ....................FFFFFFFFFFFFFFFFFFFFFFFFFFFFFF   16.0 MiB
                     ....................FFFFFFFFFFFFFFFFFFFFFFFFFFFFFF
                     ....................FFFFFFFFFFFFFFFFFFFFFFFFFFFFFF
        #0 arg 1     BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB   16.0 MiB
                     BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB
        #1 output    ...................................CCCCCCCCCCCCCCC   16.0 MiB
                     ...................................CCCCCCCCCCCCCCC
        #2 arg 0     AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA   16.0 MiB
                     AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
               HBM peak at step 7: 64.0 MiB (XLA marks 9) ^

           value               bytes  steps  place
        B  b.1              16.0 MiB  0-10   0+0
        C  copy-start.1{0}  16.0 MiB  7-9    1+0
        A  a.1              16.0 MiB  0-10   2+0
        F  fusion.1         16.0 MiB  4-9    4+49152

        4 more values have no letter: too small, not alive at the fullest step of a
        column, or beside others in the same bytes.
        Peaks of other memory spaces: VMEM (@1) 16.0 MiB at step 1, sync flags (@2) 4 B
        at step 1, host memory (@5) 16.0 MiB at step 5.
    "#]]
    .assert_eq(&text(&map, "f", &Options::default()));
}

#[test]
fn no_line_is_wider_than_asked_or_ends_in_blanks() {
    for stem in [
        "tpu-split/module_0055",
        "loops/module_0061",
        "gpu-split/module_4649",
        "out-of-memory/module_0000",
        "tuple-heavy/module_0125",
    ] {
        let map = map(stem);
        for (width, height) in [(60, 20), (80, 40), (200, 60)] {
            for space in &map.spaces {
                let mut options = Options {
                    width,
                    height,
                    ..Options::default()
                };
                options.selection.space = Some(space.space.color);
                let text = text(&map, "f", &options);
                assert!(
                    text.lines().count() <= height + 12,
                    "{stem} {height}\n{text}"
                );
                for line in text.lines() {
                    assert!(line.chars().count() <= width, "{stem} {width} {line:?}");
                    assert_eq!(line.trim_end(), line, "{stem}");
                }
                // The same figure as the records'.
                if let Some(peak) = &space.space.peak {
                    assert!(text.contains(&rounded(peak.occupied_bytes)), "{text}");
                }
            }
        }
    }
}

/// Every value has a letter, is one of the others, or is counted.
#[test]
fn no_value_is_dropped_silently() {
    for stem in [
        "tpu-split/module_0017",
        "loops/module_0061",
        "gpu-split/module_4649",
        "cpu-combined/module_0015",
    ] {
        let map = map(stem);
        let (charts, _) = chart::charts(&map, &Selection::default());
        let chart = &charts[0];
        let drawn = TextMap::new(chart, &Options::default());
        let rows = drawn.rows.iter().flat_map(|it| &it.places);
        let places = rows.chain(drawn.small.iter().flatten()).count();
        assert_eq!(places, chart.allocations.len(), "{stem}");
        let alone = drawn.rows.iter().filter(|it| it.places.len() == 1);
        let values: usize = alone.map(|it| chart.values(it.places[0]).len()).sum();
        let notes = drawn.notes().join("\n");
        let hidden = notes.lines().find(|it| it.contains("no letter"));
        let hidden = hidden.map_or(0, |it| it.split(' ').next().unwrap().parse().unwrap());
        assert_eq!(drawn.letters.shown() + hidden, values, "{stem}\n{notes}");
    }
}

#[test]
fn without_live_ranges_it_says_why() {
    let dump = audited("BufferAssignment:\nallocation 0: size 8, maybe-live-out:\n");
    let map = records::map(&Audit::new(&dump, Libraries::default()), usize::MAX);
    let text = text(&map, "f", &Options::default());
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(line.contains(chart::nothing(&map)), "{text}");
}

#[test]
fn of_many_allocations_of_one_size_the_first_have_rows_of_their_own() {
    let allocations: Vec<String> = (0..60)
        .map(|at| format!("parameter {at}, shape |f32[2,2]| at ShapeIndex {{}}"))
        .collect();
    let allocations: Vec<&str> = allocations.iter().map(String::as_str).collect();
    let names: Vec<String> = (0..60).map(|at| format!("x.{at}")).collect();
    let values = names.iter().enumerate();
    let values: Vec<(usize, &str, [usize; 2], &str)> = values
        .map(|(at, name)| (at, name.as_str(), [0, 2], "parameter(0)"))
        .collect();
    let dump = program("cpu", &allocations, &values);
    let map = records::map(&Audit::new(&dump, Libraries::default()), usize::MAX);
    let text = text(&map, "many", &Options::default());
    for row in ["\n#0 arg 0 ", "\n#5 arg 5 ", "\n54 args "] {
        assert!(text.contains(row), "{text}");
    }
    assert!(!text.contains("#6 arg 6"), "{text}");
}
