use expect_test::expect;

use super::*;
use crate::audit::Audit;
use crate::audit::fixture::{audited, real};
use crate::model::source::Libraries;
use crate::report::records;

fn map(stem: &str) -> Map {
    let dump = real(stem);
    records::map(&Audit::new(&dump, Libraries::default()), usize::MAX)
}

#[test]
fn four_values_of_the_smallest() {
    expect![[r#""#]].assert_eq(&text(&map("smallest/"), "smallest", &Options::default()));
}

#[test]
fn a_real_program() {
    let map = map("tpu-split/module_0017");
    expect![[r#""#]].assert_eq(&text(&map, "f", &Options::default()));
}

#[test]
fn no_line_is_wider_than_asked_or_ends_in_blanks() {
    for stem in [
        "tpu-split/module_0055",
        "loops/",
        "gpu-split/",
        "out-of-memory/",
        "tuple-heavy/",
    ] {
        let map = map(stem);
        for (width, height) in [(40, 20), (80, 40), (200, 60)] {
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
        "loops/",
        "gpu-split/",
        "cpu-combined/",
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
