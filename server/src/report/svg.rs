//! The memory map as a picture for an issue or a paper: one SVG file, without script, that loads
//! nothing and reads on a light and on a dark page.

mod panel;
mod section;
#[cfg(test)]
mod tests;

use maud::{Markup, PreEscaped, html};

use self::section::Section;
use super::chart::{self, Selection};
use super::printable;
use super::records::Map;
use super::table;
use crate::model::bytes::rounded;
use crate::model::occupancy::Kind;

const STYLE: &str = include_str!("svg/style.css");
/// So many values get a rectangle with a tooltip; a file stays below 2 MB.
const MOST_RECTANGLES: usize = 3000;
/// Pixels from the left edge to step 0: names and sizes of allocations stand there.
const LEFT: f64 = 150.0;
/// Pixels between the last step and the right edge.
const RIGHT: f64 = 20.0;
/// The least width in pixels.
const LEAST_WIDTH: u64 = 400;
/// The largest width and height in pixels.
const MOST_PIXELS: u64 = 20_000;
/// The width of a character of small print in pixels, for what has to fit.
const CHARACTER: f64 = 6.2;

/// What is drawn, and how large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The memory space, the allocation and the steps.
    pub selection: Selection,
    /// The width in pixels.
    pub width: u64,
    /// The height of the picture in pixels, if its labels need no more; chosen if not given.
    pub height: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            selection: Selection::default(),
            width: 1200,
            height: None,
        }
    }
}

/// The picture as a file.
pub fn svg(map: &Map, title: &str, options: &Options) -> String {
    picture(map, title, options, Some("http://www.w3.org/2000/svg")).into_string()
}

/// The picture as a part of an HTML document. Its styles hold below its own class, `buflens-picture`.
pub fn markup(map: &Map, title: &str, options: &Options) -> Markup {
    picture(map, title, options, None)
}

/// The picture; the namespace is for files, a document knows it.
fn picture(map: &Map, title: &str, options: &Options, namespace: Option<&str>) -> Markup {
    let width = options.width.clamp(LEAST_WIDTH, MOST_PIXELS) as f64;
    let (charts, other) = chart::charts(map, &options.selection);
    let most = MOST_RECTANGLES / charts.len().max(1);
    let mut sections: Vec<Section> = charts
        .iter()
        .map(|it| Section::new(it, width, most))
        .collect();
    let head = 58.0;
    let foot = 16.0 * f64::from(u8::try_from(foot(map, &other, options).len()).unwrap_or(9)) + 10.0;
    if let Some(height) = options.height {
        let fixed: f64 = sections.iter().map(Section::fixed_height).sum();
        let panels: f64 = sections.iter().map(|it| it.panels_height).sum();
        let left = height.min(MOST_PIXELS) as f64 - head - foot - fixed;
        for section in &mut sections {
            section.scale_panels(left / panels.max(1.0));
        }
    }
    let mut y = head;
    let mut bodies = Vec::new();
    for section in &sections {
        bodies.push(section.markup(y));
        y += section.height();
    }
    let feet = foot_lines(map, &other, options, y);
    let height = y + foot;
    let kinds = Kind::OCCUPYING.map(Kind::name).into_iter();
    let drawn = kinds.filter(|kind| {
        let mut shown = charts.iter().flat_map(|chart| {
            let places = chart.allocations.iter();
            places.map(|&place| chart.allocation(place).kind)
        });
        shown.any(|it| it == *kind)
    });
    let drawn: Vec<&str> = drawn.collect();
    html! {
        svg.buflens-picture xmlns=[namespace] role="img" width=(n(width))
            height=(n(height)) viewBox=(format!("0 0 {} {}", n(width), n(height))) {
            title { (clean(title)) ": memory map" }
            style { (PreEscaped(STYLE)) }
            (patterns())
            rect.page width="100%" height="100%" {}
            text.head x="12" y="24" { (cut_to(title, width - 24.0, 9.5)) }
            @if charts.is_empty() {
                text x="12" y="46" { (clean(chart::nothing(map))) }
            } @else {
                (legend(&drawn))
            }
            @for body in &bodies { (body) }
            (feet)
        }
    }
}

/// Hatches: of idle bytes, and for each kind of bytes that two values have at the same step.
fn patterns() -> Markup {
    html! {
        defs {
            pattern #buflens-idle width="6" height="6" patternUnits="userSpaceOnUse"
                patternTransform="rotate(45)" {
                rect.idle-page width="6" height="6" {}
                rect.idle-line width="1" height="6" {}
            }
            @for kind in Kind::OCCUPYING.map(Kind::name) {
                pattern id=(format!("buflens-shared-{kind}")) width="8" height="8"
                    patternUnits="userSpaceOnUse" patternTransform="rotate(-45)" {
                    rect class=(kind) width="8" height="8" {}
                    rect class=(format!("{kind} deep")) width="4" height="8" {}
                }
            }
        }
    }
}

fn legend(kinds: &[&str]) -> Markup {
    let shared = kinds.last().map(|kind| format!("buflens-shared-{kind}"));
    let mut items: Vec<(String, String)> = Vec::new();
    for kind in kinds {
        items.push(((*kind).to_owned(), String::new()));
    }
    items.push(("idle".to_owned(), "buflens-idle".to_owned()));
    if let Some(shared) = shared {
        items.push(("two values at once".to_owned(), shared));
    }
    let mut x = 12.0;
    let placed = items.iter().map(|(name, fill)| {
        let at = x;
        x += 34.0 + name.len() as f64 * CHARACTER;
        (name, fill, at)
    });
    let placed: Vec<(&String, &String, f64)> = placed.collect();
    html! {
        @for (name, fill, at) in &placed {
            @if fill.is_empty() {
                rect class=(name) x=(n(*at)) y="36" width="14" height="11" {}
            } @else {
                rect fill=(format!("url(#{fill})")) x=(n(*at)) y="36" width="14" height="11" {}
            }
            text.small x=(n(at + 19.0)) y="45" { (name) }
        }
    }
}

/// What the whole picture does not show.
fn foot(map: &Map, other: &[&super::records::MapSpace], options: &Options) -> Vec<String> {
    let mut lines = Vec::new();
    let chosen = options.selection.space.is_some() || options.selection.allocation.is_some();
    let other = other.iter().filter_map(|space| {
        let peak = space.space.peak.as_ref()?;
        let bytes = rounded(peak.occupied_bytes);
        Some(format!("{} {bytes}", chart::label(space)))
    });
    let other: Vec<String> = other.collect();
    if !chosen && !other.is_empty() {
        lines.push(format!("Not drawn: {} at the peak.", other.join(", ")));
    }
    if map.values_left_out > 0 {
        lines.push(format!(
            "{} smaller values are left out.",
            map.values_left_out
        ));
    }
    if let Some(values) = map.missing_live_ranges.filter(|&values| values > 0) {
        lines.push(format!(
            "{values} values lack a live range or a place and are on no map: the true peak may be higher."
        ));
    }
    if let Some(bytes) = map.missing_bytes.filter(|&bytes| bytes > 0) {
        let bytes = rounded(bytes);
        lines.push(format!(
            "Allocations of {bytes} that the compiler counts are not there, as where a file is cut."
        ));
    }
    lines.push("Static, this module only. A rectangle is a value: its bytes in the allocation, and the steps at which it is alive.".to_owned());
    lines
}

fn foot_lines(map: &Map, other: &[&super::records::MapSpace], options: &Options, y: f64) -> Markup {
    html! {
        @for (number, line) in foot(map, other, options).iter().enumerate() {
            text.small.quiet x="12" y=(n(y + 16.0 * (number + 1) as f64)) { (clean(line)) }
        }
    }
}

/// A number of pixels, as short as it can be said to a hundredth.
fn n(pixels: f64) -> String {
    let text = format!("{pixels:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `text` as people are shown it, without what XML cannot hold.
fn clean(text: &str) -> String {
    let text = table::shown(text);
    printable(&text).replace(['\u{FFFE}', '\u{FFFF}'], "\u{FFFD}")
}

/// As much of `text` as fits, cut in the middle.
fn cut_to(text: &str, pixels: f64, character: f64) -> String {
    let most = chart::whole(pixels / character) as usize;
    clean(&table::cut(text, most))
}
