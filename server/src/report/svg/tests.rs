use roxmltree::{Document, Node};

use super::*;
use crate::audit::Audit;
use crate::audit::fixture::{audited, real};
use crate::model::source::Libraries;
use crate::report::records::{self, MapAllocation, MapSpace, MapValues, Moment, Space};

fn map(stem: &str) -> Map {
    let dump = real(stem);
    records::map(&Audit::new(&dump, Libraries::default()), usize::MAX)
}

/// The rectangles of values.
fn rectangles<'d>(document: &'d Document) -> Vec<Node<'d, 'd>> {
    let nodes = document.descendants();
    let is_value = |node: &Node| {
        node.attribute("class")
            .is_some_and(|it| it.starts_with("v "))
    };
    nodes.filter(is_value).collect()
}

fn number(node: &Node, key: &str) -> f64 {
    node.attribute(key).unwrap().parse().unwrap()
}

fn tooltip(node: &Node) -> String {
    let title = node.first_element_child().unwrap();
    title.text().unwrap().to_owned()
}

/// How many values the notes say are drawn together, or are not alive.
fn noted(text: &str, what: &str) -> usize {
    let before = text.match_indices(what).map(|(at, _)| &text[..at]);
    let counts = before.map(|it| {
        let word = it.trim_end_matches(" value").trim_end_matches(" values");
        let word = word.rsplit(['>', ' ']).next().unwrap();
        word.replace(',', "").parse::<usize>().unwrap()
    });
    counts.sum()
}

#[test]
fn rectangles_are_the_bytes_and_steps_of_the_values() {
    let map = map("tpu-split/module_0017");
    let selection = Selection {
        space: Some(0),
        ..Selection::default()
    };
    let options = Options {
        selection,
        ..Options::default()
    };
    let text = svg(&map, "f", &options);
    let document = Document::parse(&text).unwrap();
    let rectangles = rectangles(&document);
    assert!(!rectangles.is_empty());
    let step = (1200.0 - LEFT - RIGHT) / map.steps.unwrap() as f64;
    for rectangle in &rectangles {
        let tooltip = tooltip(rectangle);
        let value = (0..map.values.len()).find(|&value| {
            let allocation = &map.allocations[map.values.allocation[value] as usize];
            let place = format!(
                "at {}+{}\n",
                allocation.allocation, map.values.offset[value]
            );
            tooltip.starts_with(&format!("{}\n", map.label(value))) && tooltip.contains(&place)
        });
        let value = value.unwrap();
        let (start, last) = (map.values.start[value], map.values.last[value]);
        let x = LEFT + start as f64 * step;
        let width = (last - start + 1) as f64 * step;
        assert!((number(rectangle, "x") - x).abs() < 0.02, "{tooltip}");
        assert!(
            (number(rectangle, "width") - width).abs() < 0.02,
            "{tooltip}"
        );
    }
    // Two values of one allocation have heights as their bytes.
    let bytes = |node: &Node| {
        let tooltip = tooltip(node);
        let line = tooltip
            .lines()
            .find(|it| it.contains(" at ") && it.contains('+'));
        let (bytes, place) = line.unwrap().rsplit_once(" at ").unwrap();
        let allocation = place.split('+').next().unwrap().to_owned();
        let exact = bytes.rsplit('(').next().unwrap();
        let digits: String = exact.chars().filter(char::is_ascii_digit).collect();
        (allocation, digits.parse::<f64>().unwrap())
    };
    for one in &rectangles {
        for other in &rectangles {
            let ((first, a), (second, b)) = (bytes(one), bytes(other));
            if first == second {
                let (a, b) = (a / number(one, "height"), b / number(other, "height"));
                assert!(
                    (a / b - 1.0).abs() < 0.05,
                    "{} {}",
                    tooltip(one),
                    tooltip(other)
                );
            }
        }
    }
}

#[test]
fn every_value_is_drawn_or_counted() {
    for stem in [
        "tpu-split/module_0017",
        "loops/module_0061",
        "gpu-split/module_4649",
        "cpu-combined/module_0015",
        "out-of-memory/module_0000",
    ] {
        let map = map(stem);
        for space in &map.spaces {
            let steps = Some((0, map.steps.unwrap().saturating_sub(1) / 2));
            for steps in [None, steps] {
                let color = space.space.color;
                let selection = Selection {
                    space: Some(color),
                    allocation: None,
                    steps,
                };
                let options = Options {
                    selection,
                    ..Options::default()
                };
                let text = svg(&map, stem, &options);
                let document = Document::parse(&text).unwrap();
                let of_space = |&&place: &&u32| map.allocations[place as usize].space == color;
                let all = map.values.allocation.iter().filter(of_space).count();
                let drawn = rectangles(&document).len();
                let together = noted(&text, " too small for a rectangle");
                let elsewhere = noted(&text, " not alive at these steps");
                if space.space.peak.is_some() {
                    assert_eq!(
                        drawn + together + elsewhere,
                        all,
                        "{stem} {color} {steps:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn names_cannot_leave_their_place() {
    let name = "</title><script>alert(1)</script>&\"'\u{1b}\u{FFFF}";
    let mut map = synthetic(3);
    map.texts[0] = name.to_owned();
    map.values.bytes.fill(1 << 28);
    map.values.offset = vec![0, 1 << 28, 1 << 29];
    map.values.last.fill(4000);
    let text = svg(&map, name, &Options::default());
    assert!(!text.contains("<script") && !text.contains(['\u{1b}', '\u{FFFF}']));
    let document = Document::parse(&text).unwrap();
    assert_eq!(rectangles(&document).len(), 3);
}

#[test]
fn without_live_ranges_the_picture_says_why() {
    let dump = audited("BufferAssignment:\nallocation 0: size 8, maybe-live-out:\n");
    let map = records::map(&Audit::new(&dump, Libraries::default()), usize::MAX);
    let text = svg(&map, "f", &Options::default());
    Document::parse(&text).unwrap();
    assert!(text.contains(chart::nothing(&map)), "{text}");
}

#[test]
fn a_hundred_thousand_values_stay_below_two_megabytes() {
    let map = synthetic(100_000);
    let text = svg(&map, "f", &Options::default());
    let document = Document::parse(&text).unwrap();
    let drawn = rectangles(&document).len();
    assert_eq!(drawn + noted(&text, " too small for a rectangle"), 100_000);
    assert!(drawn > 0 && text.len() < 2_000_000, "{}", text.len());
}

/// One allocation with so many values all over it.
fn synthetic(count: u64) -> Map {
    let (steps, bytes) = (5000, 1 << 30);
    let peak = Moment {
        step: 7,
        instruction: None,
        occupied_bytes: bytes / 2,
    };
    let space = Space {
        color: 0,
        name: "HBM".to_owned(),
        reserved_bytes: bytes,
        thread_local_bytes: 0,
        padding_bytes: None,
        peak: Some(peak),
    };
    let mut values = MapValues::default();
    for id in 0..count {
        let start = id * 7919 % (steps - 40);
        values.id.push(id);
        values.name.push(0);
        values.index.push(1);
        values.allocation.push(0);
        values.offset.push(id * 104_729 * 512 % (bytes - (1 << 23)));
        values.bytes.push(1 << (10 + id % 14));
        values.logical_bytes.push(None);
        values.start.push(start);
        values.last.push(start + id % 40);
        values.end.push(start + id % 40);
        values.shape.push(Some(2));
        values.opcode.push(None);
        values.op_name.push(Some(2));
        values.source.push(None);
    }
    Map {
        platform: "tpu",
        reason: None,
        steps: Some(steps),
        instructions: Vec::new(),
        spaces: vec![MapSpace {
            space,
            curve: vec![(0, 1), (7, bytes / 2), (8, 5)],
        }],
        xla_peak: None,
        allocations: vec![MapAllocation {
            allocation: 6,
            space: 0,
            kind: "temp",
            parameter: None,
            is_donated: false,
            bytes,
            fullest: None,
            at_peak_bytes: None,
        }],
        values,
        values_left_out: 0,
        missing_live_ranges: Some(0),
        missing_bytes: Some(0),
        texts: [
            "fusion.1".to_owned(),
            "{}".to_owned(),
            "jit(f)/while/body/".repeat(9),
        ]
        .into(),
    }
}
