//! Everything about one dump in one document.

use std::io;

use maud::{Markup, PreEscaped, html};

use super::bar::bar;
use super::{STYLE, frame, glossary, write_json};
use crate::audit::Audit;
use crate::audit::attribution::By;
use crate::checks::{self, Severities, Thresholds};
use crate::model::bytes::{display, grouped, rounded};
use crate::model::device::Device;
use crate::model::{Platforms, space};
use crate::report::records::{
    self, Answer, Attributed, Audits, MOST_MAPPED, Map, Peak, PeakQuery, Source, Space, Summary,
};
use crate::report::{judged, pages, printable, svg};

/// How a report looks beyond what every document does.
const REPORT_STYLE: &str = include_str!("report.css");
const MAP_STYLE: &str = include_str!("map.css");
/// Tables that can be sorted, filtered and copied; the memory map; and the start of both.
const SCRIPTS: [&str; 7] = [
    include_str!("report.js"),
    include_str!("map-input.js"),
    include_str!("map-model.js"),
    include_str!("map-panel.js"),
    include_str!("map-view.js"),
    include_str!("map.js"),
    include_str!("start.js"),
];
/// The scripts of a report without a map.
const WITHOUT_MAP: usize = 1;

/// The map's data take so many bytes at most: a report is to be passed on.
const MOST_DATA: usize = 18_000_000;

/// So many rows each table of a report has, if no number is chosen.
pub const ROWS: usize = 100;

/// What a report is asked for.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// So many rows of each table at most.
    pub limit: usize,
    /// What the program is to run on.
    pub device: Option<Device>,
    /// From when on something is advice; the bytes that there are of each memory space.
    pub thresholds: Thresholds,
    /// How serious findings are.
    pub severities: Severities,
}

/// A part of the report.
struct Section {
    /// Where links lead.
    id: String,
    title: String,
    body: Markup,
}

impl Section {
    fn new(id: impl Into<String>, title: impl Into<String>, body: Markup) -> Self {
        let (id, title) = (id.into(), title.into());
        Self { id, title, body }
    }
}

/// What a memory space holds at its peak, and by what.
struct Held<L> {
    answer: Answer<Peak<L>>,
    attributed: Vec<(By, Vec<Attributed>)>,
}

/// Writes the report. The same dump gives the same bytes.
pub fn report<L>(source: &Source<'_, '_, L>, wanted: &Wanted) -> String {
    let audit = source.audit;
    let dump = audit.dump;
    let limit = wanted.limit;
    let (map, data) = mapped(audit, MOST_DATA);
    let module = map.module.as_str();
    let held: Vec<Held<L>> = colors(&map.content, dump.platforms)
        .into_iter()
        .map(|color| held(source, color, limit))
        .collect();
    let padding = Answer::new(dump, records::padding(source, None, limit));
    let padding = pages::padding::page(&padding, false).about(module);
    let audits: Answer<Audits<L>> = Answer::new(dump, records::audits(source, [true; 3], limit));
    let audits = pages::audit::page(&audits).about(module);
    let findings = checks::check_with(dump, &wanted.thresholds);
    let findings = judged(findings, &wanted.severities);
    let findings = pages::findings::page(module, dump, &findings, limit);
    let findings = findings.about(module);
    let spaces = spaces(source, wanted, &held);

    let mut sections = vec![
        Section::new("spaces", "Memory spaces", spaces.1),
        Section::new("map", "Memory map", memory_map(&map, data)),
    ];
    for Held { answer, attributed } in &held {
        let page = pages::peak::of_space(answer, attributed, limit).about(module);
        let Peak { space, name, .. } = &answer.content;
        let title = format!("The peak of {name}");
        sections.push(Section::new(format!("peak-{space}"), title, page.html()));
    }
    let verdicts = html! {
        ul.verdicts {
            @for sentence in &spaces.0 { li { a href="#spaces" { (printable(sentence)) } } }
            @for Held { answer, .. } in &held {
                @let page = pages::peak::verdicts(answer).about(module);
                (verdict(&format!("peak-{}", answer.content.space), page.sentences()))
            }
            (verdict("padding", padding.title().into_iter()))
            @for heading in audits.headings() { (verdict("audit", [heading].into_iter())) }
            (verdict("findings", findings.title().into_iter()))
        }
    };
    let colors: Vec<u64> = map.content.spaces.iter().map(|it| it.space.color).collect();
    sections.extend([
        Section::new("padding", "Padding", padding.html()),
        Section::new("audit", "Donation, copies, transfers", audits.html()),
        Section::new("findings", "Findings", findings.html()),
        Section::new(
            "glossary",
            "Glossary",
            glossary::glossary(&colors, dump.platforms),
        ),
    ]);
    let body = html! {
        header {
            h1 { (printable(module)) }
            p.quiet {
                "Where every tensor of this program lies in memory, as XLA planned it."
            }
        }
        (verdicts)
        nav aria-label="Contents" {
            ol { @for section in &sections {
                li { a href=(format!("#{}", section.id)) { (printable(&section.title)) } }
            } }
        }
        @for section in &sections {
            section id=(section.id) {
                h2 { (printable(&section.title)) }
                (section.body)
            }
        }
        footer { (files(source)) }
    };
    let has_map = !map.content.values.is_empty();
    let scripts = if has_map { SCRIPTS.len() } else { WITHOUT_MAP };
    let styles = [STYLE, REPORT_STYLE, MAP_STYLE];
    frame(module, &styles, &SCRIPTS[..scripts], &body).into_string()
}

/// The memory spaces that have something to tell: those that hold anything at their peak, or
/// of which no peak is known: the first of them, if there are very many. At least one, to say why there is
/// nothing.
fn colors(map: &Map, platforms: Platforms) -> Vec<u64> {
    let is_telling = |space: &Space| {
        let is_full = space.peak.as_ref().is_none_or(|it| it.occupied_bytes > 0);
        is_full && space.reserved_bytes > 0 && !space::is_flags(space.color, platforms)
    };
    let spaces = map.spaces.iter().map(|it| &it.space);
    let telling = spaces.clone().filter(|space| is_telling(space));
    let telling = telling.take(records::MOST_SPACES);
    let mut colors: Vec<u64> = telling.map(|space| space.color).collect();
    if colors.is_empty() {
        colors.push(spaces.map(|space| space.color).next().unwrap_or(0));
    }
    colors
}

fn held<L>(source: &Source<'_, '_, L>, color: u64, limit: usize) -> Held<L> {
    let query = PeakQuery::true_peak(color, limit);
    let (peak, values) = records::peak(source, &query);
    let by = |by| (by, records::attribution(source.audit, &values, by));
    Held {
        answer: Answer::new(source.audit.dump, peak),
        attributed: [By::OpName, By::Source, By::Shape].map(by).into(),
    }
}

/// A few sentences that link to where there is more.
fn verdict<'s>(id: &str, mut sentences: impl Iterator<Item = &'s str>) -> Markup {
    html! {
        @if let Some(first) = sentences.next() {
            li {
                a href=(format!("#{id}")) { (printable(first)) }
                @for sentence in sentences { " " span { (printable(sentence)) } }
            }
        }
    }
}

/// What is reserved and occupied, in sentences where the device's bytes are known, and as a page.
fn spaces<L>(
    source: &Source<'_, '_, L>,
    wanted: &Wanted,
    held: &[Held<L>],
) -> (Vec<String>, Markup) {
    let audit = source.audit;
    let platforms = audit.dump.platforms;
    // The path is for programs only.
    let module = records::module(audit, std::path::Path::new(""));
    let name = module.module.clone();
    let spaces = module.spaces.clone();
    let page = pages::summary::page(&Summary::new(vec![module], 0), 0, 1).about(&name);
    let (mut sentences, mut bars) = (Vec::new(), Vec::new());
    for space in &spaces {
        if space.reserved_bytes == 0 || space::is_flags(space.color, platforms) {
            continue;
        }
        let capacity = wanted.thresholds.capacity_of(space.color, platforms);
        let device = wanted
            .device
            .filter(|it| space.color == 0 && Some(it.bytes) == capacity);
        let own = space.reserved_bytes;
        let (sentence, others) = match capacity {
            Some(capacity) => {
                let occupancy = audit.dump.occupancy();
                let (together, reserved) = occupancy.in_memory_of(space.color, platforms);
                let others = together.iter().filter(|it| it.color != space.color);
                let others: Vec<String> =
                    others.map(|it| space::named(it.color, platforms)).collect();
                let name = match others.join(" and ") {
                    none if none.is_empty() => space.name.clone(),
                    others => format!("{} with {others}", space.name),
                };
                let sentence = against(&name, reserved, capacity, device);
                (sentence, reserved.saturating_sub(own))
            }
            None => (format!("{}: {} are reserved", space.name, display(own)), 0),
        };
        let mut peaks = held.iter().map(|held| &held.answer.content);
        let kinds = peaks.find(|peak| peak.space == space.color);
        let kinds = kinds.and_then(|peak| peak.kinds.as_ref());
        let bar = bar(space, kinds, others, capacity);
        bars.push((sentence.clone(), bar));
        sentences.extend(capacity.map(|_| sentence));
    }
    let body = html! {
        (page.html())
        @for (sentence, bar) in &bars { p.bar { (printable(sentence)) } (bar) }
        @if held.iter().any(|held| held.answer.content.kinds.is_some()) {
            p.quiet { "By kind: what is occupied at the true peak. Idle: reserved, and empty then." }
        }
    };
    (sentences, body)
}

/// Whether the `reserved` bytes of a memory space fit, with those of others in its memory.
fn against(name: &str, reserved: u64, capacity: u64, device: Option<Device>) -> String {
    let of = device.map_or_else(String::new, |device| format!(" of {}", device.name));
    let bytes = rounded(reserved);
    let whole = format!("the {}{of}", rounded(capacity));
    match reserved.checked_sub(capacity) {
        None | Some(0) => format!(
            "{name}: {bytes} of {whole} are reserved, {} are left",
            display(capacity - reserved)
        ),
        Some(more) => format!(
            "{name}: {bytes} are reserved, {} more than {whole}",
            display(more)
        ),
    }
}

/// Why there is nothing to draw.
fn nothing(map: &Map) -> String {
    match map.reason {
        Some(reason) => format!("When bytes are occupied is not known: {reason}."),
        None if map.values_left_out > 0 => {
            "The map is too large for this page: `buflens map` draws any part of it.".to_owned()
        }
        None => "Nothing is occupied at any step.".to_owned(),
    }
}

/// The map of so many values that its JSON has at most `most` bytes, with this JSON: the smallest values
/// are left out for it, all of them where steps and allocations alone are too much. No JSON of a map
/// without values, which is not drawn.
fn mapped(audit: &Audit, most: usize) -> (Answer<Map>, Option<String>) {
    let of_largest = |limit| Answer::new(audit.dump, records::map(audit, limit));
    let mut map = of_largest(MOST_MAPPED);
    let mut empty = None;
    while !map.content.values.is_empty() {
        let bytes = json_bytes(&map);
        if bytes <= most {
            break;
        }
        let empty = *empty.get_or_insert_with(|| json_bytes(&of_largest(0)));
        let room = most.saturating_sub(empty) as u128;
        // Fewer than before, as it was too much.
        let of_values = (bytes - empty).max(1) as u128;
        let fitting = map.content.values.len() as u128 * room / of_values;
        map = of_largest(usize::try_from(fitting).unwrap_or(0) * 9 / 10);
    }
    let data = (!map.content.values.is_empty()).then(|| json(&map));
    (map, data.flatten())
}

/// The map as JSON.
fn json(map: &Answer<Map>) -> Option<String> {
    let mut text = Vec::new();
    write_json(&mut text, map).ok()?;
    String::from_utf8(text).ok()
}

/// How long the map is as JSON, which may be too long to be had.
fn json_bytes(map: &Answer<Map>) -> usize {
    struct Counted(usize);
    impl io::Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counted = Counted(0);
    // Counting has no errors, and names are texts.
    write_json(&mut counted, map).map_or(usize::MAX, |()| counted.0)
}

/// The memory map with its data, and the same as a picture for print and for who runs no scripts; or
/// why there is none.
fn memory_map(map: &Answer<Map>, data: Option<String>) -> Markup {
    let (title, map) = (map.module.as_str(), &map.content);
    html! {
        @if let Some(data) = data {
            div id="memory-map" {}
            div.picture { (svg::markup(map, title, &svg::Options::default())) }
            @if map.values_left_out > 0 {
                p.quiet {
                    "The " (grouped(map.values.len() as u64)) " largest values; "
                    (grouped(map.values_left_out as u64)) " smaller ones are left out."
                }
            }
            script type="application/json" id="map-data" { (PreEscaped(data)) }
        } @else {
            p { (nothing(map)) }
        }
    }
}

/// What the report was made of, and by what.
fn files<L>(source: &Source<'_, '_, L>) -> Markup {
    let files = &source.audit.dump.files;
    html! {
        p { "Made by buflens " (env!("CARGO_PKG_VERSION")) " of" }
        ul { @for file in files {
            @let name = file.path.file_name().unwrap_or_default().to_string_lossy();
            @let bytes = u64::from(file.document.len());
            li { (printable(&name)) ", " span title=(format!("{} B", grouped(bytes))) { (rounded(bytes)) } }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::fixture::{audited, dump, real};
    use crate::model::source::Libraries;
    use crate::model::{Dump, Place};

    fn reported(dump: &Dump, capacity: &[(&str, u64)]) -> String {
        let audit = Audit::new(dump, Libraries::default());
        let source = Source {
            audit: &audit,
            locate: &|_: &Place| None::<()>,
        };
        let capacity = capacity
            .iter()
            .map(|&(space, bytes)| (space.to_owned(), bytes));
        let wanted = Wanted {
            limit: 10,
            device: None,
            thresholds: Thresholds {
                capacity: capacity.collect(),
                ..Thresholds::default()
            },
            severities: Severities::default(),
        };
        report(&source, &wanted)
    }

    /// The text with neither scripts nor their data.
    fn drawn(document: &str) -> String {
        let mut parts = document.split("<script");
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            text += part.split("</script>").nth(1).unwrap_or_default();
        }
        text
    }

    #[test]
    fn a_device_has_to_hold_what_its_program_has_apart() {
        let text = "BufferAssignment:\nallocation 0: size 100, preallocated-temp:\n\
                    allocation 1: size 60, color 1, preallocated-temp:\n\
                    allocation 2: size 40, color 2, preallocated-temp:\n";
        let path = "module_0001.f.sm_9.0_gpu_after_optimizations-buffer-assignment.txt";
        let told = reported(
            &dump(vec![(path.into(), text.to_owned())]),
            &[("device", 250)],
        );
        let sentence = "device memory with collective memory and separate temp space: \
                        200 B of the 250 B are reserved, 50 B are left";
        assert!(told.contains(sentence), "{told}");
    }

    #[test]
    fn every_link_leads_somewhere() {
        let text = reported(&real("tpu-split/module_0032"), &[]);
        let links: Vec<&str> = text
            .split("href=\"#")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .collect();
        assert!(links.len() > 10, "{links:?}");
        for link in links {
            assert_eq!(
                text.matches(&format!(" id=\"{link}\"")).count(),
                1,
                "{link}"
            );
        }
    }

    #[test]
    fn nothing_is_loaded() {
        // Patterns of the picture are in the picture.
        let text = drawn(&reported(&real("tpu-split/module_0032"), &[])).replace("url(#", "");
        for outside in [
            "http:", "https:", " src=", "url(", "@import", "<link", "<iframe",
        ] {
            assert!(!text.contains(outside), "{outside}");
        }
        for script in SCRIPTS {
            for outside in ["fetch(", "XMLHttpRequest", "import(", "http:", "https:"] {
                assert!(!script.contains(outside), "{outside}");
            }
            assert!(!script.contains("</script"));
        }
    }

    #[test]
    fn a_device_that_is_too_small_is_the_first_that_is_said() {
        let dump = real("tpu-split/module_0032");
        let text = reported(&dump, &[("@0", 1024)]);
        let verdicts = text.split("<ul class=\"verdicts\">").nth(1).unwrap();
        let first = verdicts.split("</li>").next().unwrap();
        assert!(
            first.contains(" are reserved, ") && first.contains(" more than the 1.0 KiB"),
            "{first}"
        );
        assert!(text.contains(">capacity<"), "the check has no finding");
        let text = reported(&dump, &[("HBM", 1 << 40)]);
        assert!(text.contains("are left") && text.contains("class=\"left\""));
    }

    #[test]
    fn the_map_leaves_out_what_does_not_fit() {
        let dump = real("tpu-split/module_0032");
        let audit = Audit::new(&dump, Libraries::default());
        let (whole, data) = mapped(&audit, MOST_DATA);
        let bytes = data.unwrap().len();
        assert_eq!(whole.content.values_left_out, 0);
        let (part, data) = mapped(&audit, bytes - 1);
        let content = &part.content;
        assert!(data.unwrap().len() < bytes && !content.values.is_empty());
        let all = whole.content.values.len();
        assert_eq!(content.values.len() + content.values_left_out, all);
        let (none, _) = mapped(&audit, 1);
        assert!(none.content.values.is_empty());
        assert!(nothing(&none.content).contains("too large for this page"));
    }

    #[test]
    fn without_live_ranges_it_is_said_why() {
        let text = reported(&real("no-live-range/"), &[]);
        assert!(
            !text.contains("buflensMap(") && !text.contains("id=\"map-data"),
            "a map of nothing"
        );
        assert!(text.contains("When bytes are occupied is not known: "));
        assert!(text.contains("is not known: "));
    }

    #[test]
    fn next_to_nothing_is_reported_too() {
        let text = reported(&audited("BufferAssignment:\n"), &[]);
        assert!(text.contains("<h1>dump</h1>"), "{text}");
        assert!(text.ends_with("</html>"));
    }

    #[test]
    fn names_stay_names() {
        let hostile = "BufferAssignment:\nallocation 0: size 8, constant:\n \
                       value: <1 </script><img onerror=alert(1)> @0> (size=8,offset=0): f32[2]{0}\n";
        let text = drawn(&reported(&audited(hostile), &[]));
        assert!(!text.contains("<img"), "{text}");
    }
}
