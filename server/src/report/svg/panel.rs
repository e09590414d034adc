//! The values of some allocations as rectangles.

use std::fmt::Write as _;

use maud::{Markup, html};
use rustc_hash::FxHashSet;

use super::{CHARACTER, clean, cut_to, n};
use crate::model::bytes::{display, rounded};
use crate::report::chart::Chart;
use crate::report::table::cut;

/// Pixels below which a value gets no rectangle of its own.
const LEAST: f64 = 0.5;
/// So many bytes that two values share are hatched in one picture of a memory space.
const MOST_SHARED: usize = 400;
/// So many comparisons are made for them.
const MOST_COMPARED: usize = 1_000_000;
/// So many strokes draw the values that are too small, or they are drawn more coarsely.
const MOST_STROKES: usize = 20_000;
/// Characters of a shape or a path in a tooltip.
const TEXT: usize = 120;

/// A rectangle in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Area {
    fn pixels(&self) -> f64 {
        self.width * self.height
    }

    fn both(&self, other: &Self) -> Option<Self> {
        let (x, y) = (self.x.max(other.x), self.y.max(other.y));
        let right = (self.x + self.width).min(other.x + other.width);
        let bottom = (self.y + self.height).min(other.y + other.height);
        // Neighbours touch, and round to less than nothing.
        (right - x > 1e-6 && bottom - y > 1e-6).then_some(Self {
            x,
            y,
            width: right - x,
            height: bottom - y,
        })
    }

    /// What contains all numbers of pixels that tell it from others.
    fn key(&self) -> [i64; 4] {
        [self.x, self.y, self.width, self.height].map(|it| (it * 100.0).round() as i64)
    }
}

/// A value in the picture.
#[derive(Debug, Clone, Copy)]
struct Drawn {
    value: usize,
    panel: usize,
    area: Area,
}

/// A part of the picture with its own scale: one allocation, or small ones one above another.
#[derive(Debug)]
pub struct Panel {
    /// Places in the map's allocations.
    pub places: Vec<usize>,
    /// Where it is, from the top of the panels.
    pub area: Area,
}

/// All panels of a memory space, with what is drawn in them.
pub struct Values<'c> {
    chart: &'c Chart<'c>,
    /// With a rectangle of their own, the largest first.
    large: Vec<Drawn>,
    /// The others, which are drawn together.
    small: Vec<Drawn>,
    /// Not alive at the steps of the picture.
    pub elsewhere: usize,
}

impl<'c> Values<'c> {
    /// Places the values, `most` of them with a rectangle of their own.
    pub fn new(chart: &'c Chart<'c>, panels: &[Panel], most: usize) -> Self {
        let (mut all, mut elsewhere) = (Vec::new(), 0);
        for (number, panel) in panels.iter().enumerate() {
            let bytes = chart.bytes(&panel.places).max(1) as f64;
            let mut before = 0_u64;
            for &place in &panel.places {
                for value in chart.values(place) {
                    if !chart.is_alive(value) {
                        elsewhere += 1;
                        continue;
                    }
                    let (start, length) = chart.extent(value);
                    let scale = panel.area.height / bytes;
                    let (x, width) = x_of(chart, &panel.area, value);
                    let area = Area {
                        x,
                        // Offsets grow upwards, as the bytes of the curve do.
                        y: panel.area.y + panel.area.height
                            - before.saturating_add(start).saturating_add(length) as f64 * scale,
                        width,
                        height: length as f64 * scale,
                    };
                    all.push(Drawn {
                        value,
                        panel: number,
                        area,
                    });
                }
                before = before.saturating_add(chart.allocation(place).bytes);
            }
        }
        all.sort_by(|a, b| b.area.pixels().total_cmp(&a.area.pixels()));
        let is_large = |it: &Drawn| it.area.width >= LEAST && it.area.height >= LEAST;
        let (mut large, mut small): (Vec<Drawn>, Vec<Drawn>) = all.into_iter().partition(is_large);
        small.extend(large.drain(most.min(large.len())..));
        Self {
            chart,
            large,
            small,
            elsewhere,
        }
    }

    /// How many have no rectangle of their own.
    pub fn together(&self) -> usize {
        self.small.len()
    }

    /// Everything in the panels.
    pub fn markup(&self, panels: &[Panel]) -> Markup {
        let shared = self.shared();
        html! {
            @for (number, panel) in panels.iter().enumerate() {
                @let small: Vec<&Drawn> = self.small.iter().filter(|it| it.panel == number).collect();
                @if !small.is_empty() {
                    (strokes(&small, &panel.area, self.kind(small[0].value)))
                }
            }
            @for drawn in &self.large { (self.rectangle(drawn)) }
            @for (area, one, other) in &shared {
                @let kind = self.kind(*one);
                rect fill=(format!("url(#buflens-shared-{kind})")) x=(n(area.x)) y=(n(area.y))
                    width=(n(area.width)) height=(n(area.height)) {
                    title { (clean(&format!("bytes of both\n{}\nand\n{}",
                        self.tooltip(*one), self.tooltip(*other)))) }
                }
            }
            (self.names())
        }
    }

    fn rectangle(&self, drawn: &Drawn) -> Markup {
        let Drawn { value, area, .. } = drawn;
        // Neighbours in the order of the dump get two shades.
        let shade = if value % 2 == 0 { "" } else { " b" };
        let class = format!("v {}{shade}", self.kind(*value));
        html! {
            rect class=(class) x=(n(area.x)) y=(n(area.y)) width=(n(area.width))
                height=(n(area.height)) {
                title { (clean(&self.tooltip(*value))) }
            }
        }
    }

    fn kind(&self, value: usize) -> &'static str {
        let place = self.chart.map.values.allocation[value] as usize;
        self.chart.allocation(place).kind
    }

    fn tooltip(&self, value: usize) -> String {
        let (map, values) = (self.chart.map, &self.chart.map.values);
        let text = |id: Option<u32>| id.map(|id| cut(map.text(id), TEXT).into_owned());
        let mut lines = vec![cut(&map.label(value), TEXT).into_owned()];
        lines.extend(text(values.shape[value]));
        let allocation = self
            .chart
            .allocation(values.allocation[value] as usize)
            .allocation;
        lines.push(format!(
            "{} at {allocation}+{}",
            display(values.bytes[value]),
            values.offset[value]
        ));
        lines.push(match (values.start[value], values.end[value]) {
            (start, end) if start == end => format!("step {start}"),
            (start, end) => format!("steps {start}-{end}"),
        });
        lines.extend(text(values.op_name[value]));
        lines.extend(text(values.source[value]));
        lines.join("\n")
    }

    /// Bytes that two values have at the same step, the largest first.
    fn shared(&self) -> Vec<(Area, usize, usize)> {
        let mut order: Vec<&Drawn> = self.large.iter().collect();
        order.sort_by(|a, b| {
            let key = |it: &Drawn| (it.panel, it.area.x);
            let (a, b) = (key(a), key(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        let (mut shared, mut seen) = (Vec::new(), FxHashSet::default());
        let mut compared = 0_usize;
        for (at, one) in order.iter().enumerate() {
            let right = one.area.x + one.area.width;
            for other in &order[at + 1..] {
                compared += 1;
                if other.panel != one.panel || other.area.x >= right || compared > MOST_COMPARED {
                    break;
                }
                let both = one.area.both(&other.area);
                let both = both.filter(|it| it.width >= 1.0 && it.height >= 1.0);
                if let Some(both) = both.filter(|it| seen.insert(it.key())) {
                    shared.push((both, one.value, other.value));
                }
            }
        }
        shared.sort_by(|a, b| b.0.pixels().total_cmp(&a.0.pixels()));
        shared.truncate(MOST_SHARED);
        shared
    }

    /// Names where they fit and no other stands.
    fn names(&self) -> Markup {
        let mut taken: Vec<Area> = Vec::new();
        let mut texts = Vec::new();
        for Drawn { value, area, .. } in &self.large {
            let is_upright = area.width < 40.0 && area.height > 60.0 && area.width >= 12.0;
            let (length, thickness) = if is_upright {
                (area.height, area.width)
            } else {
                (area.width, area.height)
            };
            let label = self.chart.map.label(*value);
            let fits = (length - 6.0) / CHARACTER;
            if thickness < 12.0 || fits < label.chars().count().min(8) as f64 {
                continue;
            }
            let own = Area {
                width: area.width.min(if is_upright { 14.0 } else { length }),
                height: area.height.min(if is_upright { length } else { 30.0 }),
                ..*area
            };
            if taken.iter().any(|it| it.both(&own).is_some()) {
                continue;
            }
            taken.push(own);
            let name = cut_to(&label, length - 6.0, CHARACTER);
            texts.push(if is_upright {
                let (x, y) = (area.x + area.width / 2.0 + 4.0, area.y + 4.0);
                let turn = format!("rotate(90 {} {})", n(x - 8.0), n(y));
                html! { text.name x=(n(x - 8.0)) y=(n(y)) transform=(turn) { (name) } }
            } else {
                let (x, y) = (
                    area.x + 3.0,
                    area.y + 10.5_f64.max(thickness.min(14.0) - 2.0),
                );
                let bytes = rounded(self.chart.map.values.bytes[*value]);
                html! {
                    text.name x=(n(x)) y=(n(y)) { (name) }
                    @if thickness >= 28.0 && fits >= bytes.len() as f64 {
                        text.name x=(n(x)) y=(n(y + 13.0)) { (bytes) }
                    }
                }
            });
        }
        html! { @for text in &texts { (text) } }
    }
}

/// Where the steps of a value begin, and how wide they are.
fn x_of(chart: &Chart, area: &Area, value: usize) -> (f64, f64) {
    let values = &chart.map.values;
    let start = values.start[value].max(chart.first) - chart.first;
    let end = values.last[value].min(chart.last) - chart.first + 1;
    let step = area.width / chart.steps() as f64;
    (area.x + start as f64 * step, (end - start) as f64 * step)
}

/// Values in one path, to the nearest pixel or more coarsely.
fn strokes(small: &[&Drawn], panel: &Area, kind: &str) -> Markup {
    let mut unit = 1.0;
    let runs = loop {
        match runs(small, panel, unit) {
            Some(runs) => break runs,
            None => unit *= 2.0,
        }
    };
    let mut path = String::new();
    for (row, from, to) in runs {
        let y = (row as f64 + 0.5) * unit;
        let (x, width) = (from as f64 * unit, (to - from) as f64 * unit);
        let _ = write!(path, "M{} {}h{}", n(x), n(y), n(width));
    }
    let class = format!("lines {kind}");
    let place = format!("translate({} {})", n(panel.x), n(panel.y));
    html! {
        path class=(class) stroke-width=(n(unit)) transform=(place) d=(path) {}
    }
}

/// Rows of `unit` pixels, each with the columns from the one to before the other that are taken; `None` if these are
/// more than [`MOST_STROKES`].
fn runs(small: &[&Drawn], panel: &Area, unit: f64) -> Option<Vec<(i64, i64, i64)>> {
    let mut runs = Vec::new();
    // No row hangs out at the bottom, no column at the right.
    let (last_row, end) = (
        ((panel.height / unit).floor() as i64 - 1).max(0),
        (panel.width / unit).ceil() as i64,
    );
    for Drawn { area, .. } in small.iter().filter(|it| it.area.pixels() > 0.0) {
        let cell = |pixels: f64| (pixels / unit).floor() as i64;
        let from = cell(area.x - panel.x);
        let to = ((area.x - panel.x + area.width) / unit).ceil() as i64;
        let bottom = cell(area.y - panel.y + area.height - 1e-6).min(last_row);
        for row in cell(area.y - panel.y).min(last_row)..=bottom {
            runs.push((row, from, to.min(end).max(from + 1)));
        }
        // Not at the end alone, as values one over another may have thousands of rows each.
        if runs.len() > 16 * MOST_STROKES {
            join(&mut runs);
            if runs.len() > 8 * MOST_STROKES {
                return None;
            }
        }
    }
    join(&mut runs);
    (runs.len() <= MOST_STROKES).then_some(runs)
}

/// Makes one of those that touch.
fn join(runs: &mut Vec<(i64, i64, i64)>) {
    runs.sort_unstable();
    runs.dedup_by(|next, run| {
        let joins = next.0 == run.0 && next.1 <= run.2;
        if joins {
            run.2 = run.2.max(next.2);
        }
        joins
    });
}
