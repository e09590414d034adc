//! One memory space: its occupancy over the steps, and below it its allocations.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::panel::{Area, Panel, Values};
use super::{CHARACTER, LEFT, RIGHT, cut_to, n};
use crate::model::bytes::{grouped, rounded};
use crate::report::chart::{self, Chart};

/// Heading and the lines with the peaks.
const HEAD: f64 = 62.0;
const CURVE: f64 = 90.0;
/// Two lines below the steps, and a gap.
const NOTES: f64 = 40.0;
/// Between the curve and the panels, and between panels.
const GAP: f64 = 6.0;
/// A panel holds one line of text.
const FLOOR: f64 = 16.0;
/// Allocations that get a panel: so many, and none below one part in so many of all.
const MOST_PANELS: usize = 20;
const SHARE: u64 = 250;
/// Characters of an instruction below the steps.
const NAME: usize = 24;
/// Pixels between steps with an instruction below them: where all have one, and elsewhere.
const DENSE: f64 = 13.0;
const SPARSE: f64 = 44.0;

/// One memory space.
pub struct Section<'c> {
    chart: &'c Chart<'c>,
    /// In pixels.
    width: f64,
    /// The places of each panel.
    groups: Vec<Vec<usize>>,
    /// All panels with the gaps between them, in pixels.
    pub panels_height: f64,
    /// So many values have a rectangle of their own.
    most: usize,
    /// So many steps from one label to the next.
    every: u64,
}

impl<'c> Section<'c> {
    pub fn new(chart: &'c Chart<'c>, width: f64, most: usize) -> Self {
        let groups = chart.groups(MOST_PANELS, SHARE);
        let step = (width - LEFT - RIGHT) / chart.steps() as f64;
        let every = if step >= DENSE {
            1
        } else {
            chart::nice(chart::whole((SPARSE / step).ceil()))
        };
        let places = chart.allocations.iter();
        let values: usize = places.map(|&place| chart.values(place).len()).sum();
        let floors = groups.len() as f64 * (FLOOR + GAP);
        Self {
            chart,
            width,
            // Many values need room to be told apart.
            panels_height: floors + (60.0 * groups.len() as f64 + values as f64 / 2.0).min(340.0),
            groups,
            most,
            every,
        }
    }

    /// Everything but the panels.
    pub fn fixed_height(&self) -> f64 {
        HEAD + CURVE + GAP + self.axis_height() + NOTES
    }

    pub fn height(&self) -> f64 {
        self.fixed_height() + self.panels_height
    }

    /// Makes the panels higher or lower, but no lower than one line each.
    pub fn scale_panels(&mut self, by: f64) {
        let least = self.groups.len() as f64 * (FLOOR + GAP);
        self.panels_height = (self.panels_height * by).max(least);
    }

    /// The section, from `y` pixels on.
    pub fn markup(&self, y: f64) -> Markup {
        let curve = self.area(y + HEAD, CURVE);
        let panels = self.panels(y + HEAD + CURVE + GAP);
        let values = Values::new(self.chart, &panels, self.most);
        let bottom = y + HEAD + CURVE + GAP + self.panels_height;
        let verdict = self.chart.verdict();
        let notes = bottom + self.axis_height() + 19.0;
        html! {
            g {
                text.space x="12" y=(n(y + 20.0)) { (cut_to(&verdict, self.width - 24.0, 7.6)) }
                (self.curve(&curve))
                @for panel in &panels { (self.frame(panel)) }
                (values.markup(&panels))
                (self.peaks(&curve, bottom - GAP))
                (self.axis(bottom))
                @for (number, line) in Self::notes(values.together(), values.elsewhere).iter().enumerate() {
                    text.small.quiet x=(n(LEFT)) y=(n(notes + 15.0 * number as f64)) { (line) }
                }
            }
        }
    }

    fn area(&self, y: f64, height: f64) -> Area {
        Area {
            x: LEFT,
            y,
            width: self.width - LEFT - RIGHT,
            height,
        }
    }

    fn panels(&self, mut y: f64) -> Vec<Panel> {
        let sizes: Vec<u64> = self.groups.iter().map(|it| self.chart.bytes(it)).collect();
        let gaps = GAP * self.groups.len() as f64;
        let heights = chart::shared(&sizes, self.panels_height - gaps, FLOOR);
        let groups = self.groups.iter().zip(heights);
        let panels = groups.map(|(places, height)| {
            let area = self.area(y, height);
            y += height + GAP;
            Panel {
                places: places.clone(),
                area,
            }
        });
        panels.collect()
    }

    /// The background of a panel, idle where no value is drawn over it, and what it is.
    fn frame(&self, panel: &Panel) -> Markup {
        let Area {
            x,
            y,
            width,
            height,
        } = panel.area;
        let bytes = rounded(self.chart.bytes(&panel.places));
        let name = self.chart.group_name(&panel.places);
        html! {
            rect fill="url(#buflens-idle)" x=(n(x)) y=(n(y)) width=(n(width)) height=(n(height)) {
                title { "idle: " (name) ", " (bytes) }
            }
            rect.frame x=(n(x)) y=(n(y)) width=(n(width)) height=(n(height)) {}
            @if height >= 30.0 {
                text.small x="12" y=(n(y + 12.0)) { (name) }
                text.small.quiet x="12" y=(n(y + 26.0)) { (bytes) }
            } @else {
                text.small x="12" y=(n(y + 12.0)) { (name) }
                text.small.quiet x=(n(x - 6.0)) y=(n(y + 12.0)) text-anchor="end" { (bytes) }
            }
        }
    }

    fn curve(&self, area: &Area) -> Markup {
        let chart = self.chart;
        let top = chart.fullest(chart.first, chart.last).1.max(1);
        let columns = chart.steps().min(chart::whole(area.width)).max(1);
        let (bottom, mut path) = (area.y + area.height, String::new());
        let _ = write!(path, "M{} {}", n(area.x), n(bottom));
        for column in 0..columns {
            let (from, to) = part(chart, column, columns);
            let bytes = chart.fullest(from, to).1;
            let height = area.height * bytes as f64 / top as f64;
            let right = area.x + area.width * (column + 1) as f64 / columns as f64;
            let _ = write!(path, "V{}H{}", n(bottom - height), n(right));
        }
        let _ = write!(path, "V{}Z", n(bottom));
        let ticks = ticks(top);
        html! {
            @for bytes in ticks {
                @let y = bottom - area.height * bytes as f64 / top as f64;
                path.grid d=(format!("M{} {}h{}", n(area.x), n(y), n(area.width))) {}
                text.small.quiet x=(n(area.x - 6.0)) y=(n(y + 4.0)) text-anchor="end" {
                    (rounded(bytes))
                }
            }
            path.curve d=(path) { title { "bytes occupied at each step" } }
        }
    }

    /// The true peak, and what the compiler prints as the peak, from the curve to the last panel.
    fn peaks(&self, curve: &Area, bottom: f64) -> Markup {
        let (chart, peak) = (self.chart, self.chart.peak);
        let bytes = rounded(peak.occupied_bytes);
        let mut text = format!("true peak: {}, {bytes}", chart.peak_step());
        let printed = chart.printed_peak();
        if printed == Some(peak.step) {
            text.push_str(" (XLA prints it as the peak, too)");
        }
        let printed = printed.filter(|&step| step != peak.step);
        html! {
            @if chart.has(peak.step) {
                (self.mark("peak", "peak-text", peak.step, curve.y - 19.0, bottom, &text))
            } @else {
                text.small.peak-text x=(n(LEFT)) y=(n(curve.y - 19.0)) {
                    (cut_to(&format!("{text}, not among these steps"), curve.width, CHARACTER))
                }
            }
            @if let Some(step) = printed.filter(|&step| chart.has(step)) {
                (self.mark("xla", "quiet", step, curve.y - 4.0, bottom, &format!("XLA prints step {step} as the peak")))
            }
        }
    }

    /// A line at a step with its text at its upper end.
    fn mark(&self, line: &str, class: &str, step: u64, y: f64, bottom: f64, text: &str) -> Markup {
        let width = self.width - LEFT - RIGHT;
        let at = (step - self.chart.first) as f64 + 0.5;
        let x = LEFT + width * at / self.chart.steps() as f64;
        let is_left = x > LEFT + width / 2.0;
        let (anchor, shift, room) = if is_left {
            ("end", -5.0, x - 12.0)
        } else {
            ("start", 5.0, self.width - x)
        };
        html! {
            path class=(line) d=(format!("M{} {}V{}", n(x), n(y - 10.0), n(bottom))) pointer-events="none" {}
            text class=(format!("small mark {class}")) x=(n(x + shift)) y=(n(y)) text-anchor=(anchor) {
                (cut_to(text, room - 10.0, CHARACTER))
            }
        }
    }

    fn axis(&self, y: f64) -> Markup {
        let chart = self.chart;
        let step = (self.width - LEFT - RIGHT) / chart.steps() as f64;
        html! {
            @for label in self.labels() {
                @let x = LEFT + (label.0 - chart.first) as f64 * step + step / 2.0;
                path.grid d=(format!("M{} {}v5", n(x), n(y - GAP))) {}
                text.small.quiet x=(n(x)) y=(n(y + 10.0)) text-anchor="end"
                    transform=(format!("rotate(-50 {} {})", n(x), n(y + 10.0))) { (label.1) }
            }
        }
    }

    /// Steps, and what stands below them.
    fn labels(&self) -> Vec<(u64, String)> {
        let chart = self.chart;
        let first = chart.first.div_ceil(self.every).saturating_mul(self.every);
        let steps = (first..=chart.last).step_by(usize::try_from(self.every).unwrap_or(usize::MAX));
        let label = |step: u64| match chart.instruction(step) {
            Some(name) => format!("{} {step}", cut_to(name, NAME as f64, 1.0)),
            None => step.to_string(),
        };
        steps.map(|step| (step, label(step))).collect()
    }

    fn axis_height(&self) -> f64 {
        let labels = self.labels();
        let longest = labels.iter().map(|(_, text)| text.chars().count()).max();
        18.0 + longest.unwrap_or(0) as f64 * CHARACTER * 0.77
    }

    /// What is not to be seen in the picture.
    fn notes(together: usize, elsewhere: usize) -> Vec<String> {
        let count = |count: usize| match count {
            1 => "1 value".to_owned(),
            _ => format!("{} values", grouped(count as u64)),
        };
        let mut notes = Vec::new();
        if together > 0 {
            let own = if together == 1 {
                "its own is"
            } else {
                "their own are"
            };
            notes.push(format!(
                "{} too small for a rectangle of {own} drawn without a name.",
                count(together)
            ));
        }
        if elsewhere > 0 {
            notes.push(format!("{} not alive at these steps.", count(elsewhere)));
        }
        notes
    }
}

/// The first and the last step of a column.
fn part(chart: &Chart, column: u64, columns: u64) -> (u64, u64) {
    let at = |column: u64| {
        let step = u128::from(chart.steps()) * u128::from(column) / u128::from(columns.max(1));
        chart.first + step as u64
    };
    (at(column), at(column + 1).saturating_sub(1).max(at(column)))
}

/// Round numbers of bytes from 0 to `top`.
fn ticks(top: u64) -> Vec<u64> {
    let unit = (top / 2).max(1);
    let unit = 1_u64 << unit.ilog2();
    (0..=top / unit).map(|it| it * unit).collect()
}
