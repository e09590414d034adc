//! Findings with the lines in question, for people.

use std::io::{self, Write};
use std::ops::Range;

use annotate_snippets::{
    Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet, Title,
};
use buflens_syntax::{Document, Encoding};

use super::{Counts, Judged, Spot, path_on_a_line, printable};
use crate::checks::Severity;
use crate::model::bytes::{counted, grouped};
use crate::model::{Dump, Place};

/// So many findings of a dump are shown; the JSON output has them all.
const MOST_FINDINGS: usize = 1_000;
/// So many related places of a finding are shown with their lines.
const MOST_RELATED: usize = 4;

/// Writes findings as they come, and a summary behind the last.
pub struct Writer<W> {
    out: W,
    renderer: Renderer,
    width: usize,
}

impl<W: Write> Writer<W> {
    /// Writes to `out`, which takes the colours away where they are not wanted. `width` is that
    /// of the terminal, in columns.
    pub fn new(out: W, width: usize) -> Self {
        Self {
            out,
            renderer: Renderer::styled().term_width(width),
            width,
        }
    }

    /// Writes the findings of a dump.
    pub fn findings(&mut self, dump: &Dump, findings: &[Judged]) -> io::Result<()> {
        for judged in findings.iter().take(MOST_FINDINGS) {
            let report = report(dump, judged, self.width);
            writeln!(self.out, "{}\n", self.renderer.render(&report))?;
        }
        if let Some(file) = dump.files.first()
            && findings.len() > MOST_FINDINGS
        {
            let more = counted(findings.len() - MOST_FINDINGS, "more finding");
            let path = path_on_a_line(&file.path);
            writeln!(self.out, "{path}: {more}; --format json has the rest\n")?;
        }
        // What is drawn on stderr in between must not stand in the middle of a finding.
        self.out.flush()
    }

    /// Writes the summary.
    pub fn finish(mut self, counts: &Counts) -> io::Result<()> {
        writeln!(self.out, "{}", summary(counts))?;
        self.out.flush()
    }
}

/// `2 errors, 1 warning`, `no findings`
pub(super) fn found(counts: &Counts) -> String {
    let found: Vec<String> = [
        Severity::Error,
        Severity::Warning,
        Severity::Information,
        Severity::Hint,
    ]
    .into_iter()
    .map(|severity| (severity, counts.of(severity)))
    .filter(|&(_, count)| count > 0)
    .map(|(severity, count)| match severity {
        Severity::Information => format!("{} information", grouped(count as u64)),
        _ => counted(count, severity.name()),
    })
    .collect();
    if found.is_empty() {
        return "no findings".to_owned();
    }
    found.join(", ")
}

/// `2 errors, 1 warning in 3 dumps`
pub(super) fn summary(counts: &Counts) -> String {
    let texts = match counts.texts {
        0 if counts.dumps == 0 => return "no dump was checked".to_owned(),
        0 => String::new(),
        texts => format!(" and {}", counted(texts, "HLO text")),
    };
    let dumps = counted(counts.dumps, "dump");
    format!("{} in {dumps}{texts}", found(counts))
}

fn report<'d>(dump: &'d Dump, judged: &'d Judged, width: usize) -> Vec<Group<'d>> {
    let finding = &judged.finding;
    let level = match judged.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Information => Level::INFO,
        Severity::Hint => Level::HELP,
    };
    let level = level.with_name(judged.severity.name());
    let title = title_of(&level, &finding.message).id(finding.code.name());
    let mut excerpt = Excerpt::new(dump, &finding.place, width);
    let mut notes = Vec::new();
    for (place, message) in &finding.related {
        // On the same line one picture shows both.
        if let Some(excerpt) = &mut excerpt
            && let Some(span) = excerpt.span_of(place)
        {
            excerpt.others.push((span, message));
        } else {
            notes.push((place, message));
        }
    }
    let mut groups = vec![Group::with_title(title)];
    if let Some(excerpt) = excerpt {
        excerpt.show(&level, &mut groups);
    }
    for &(place, message) in notes.iter().take(MOST_RELATED) {
        groups.push(Group::with_title(title_of(&Level::NOTE, message)));
        if let Some(excerpt) = Excerpt::new(dump, place, width) {
            excerpt.show(&Level::NOTE, &mut groups);
        }
    }
    if notes.len() > MOST_RELATED {
        let more = counted(notes.len() - MOST_RELATED, "more related place");
        groups.push(Group::with_title(Level::NOTE.secondary_title(more)));
    }
    groups
}

/// The renderer draws a line too many below titles of its primary kind when the place stands in
/// a group of its own. From the others it takes no control characters away.
fn title_of<'d>(level: &Level<'d>, message: &'d str) -> Title<'d> {
    level.clone().secondary_title(printable(message))
}

/// The part of a line around a place. Lines can have hundreds of thousands of characters, of
/// which a picture shows a hundred, so the renderer gets no more than it can show.
struct Excerpt<'d> {
    spot: Spot<'d>,
    place: Place,
    text: &'d str,
    /// The bytes of the file that `text` is.
    range: Range<u32>,
    others: Vec<(Range<usize>, &'d str)>,
}

impl<'d> Excerpt<'d> {
    fn new(dump: &'d Dump, place: &Place, width: usize) -> Option<Self> {
        let spot = Spot::new(dump, place)?;
        let document = &dump.files.get(place.file)?.document;
        let line = document.line_range(spot.line - 1)?;
        let start = place.range.start.clamp(line.start, line.end);
        let end = place.range.end.clamp(start, line.end);
        let reach = width as u32;
        let left = cut(document, &line, start.saturating_sub(reach));
        let right = cut(
            document,
            &line,
            end.min(start.saturating_add(reach)).saturating_add(reach),
        );
        let text = document.slice(left..right);
        let place = Place {
            file: place.file,
            range: start..end.min(right),
        };
        Some(Self {
            spot,
            place,
            text,
            range: left..right,
            others: Vec::new(),
        })
    }

    /// Where `place` is in what is shown of the text, if all of it is there.
    fn span_of(&self, place: &Place) -> Option<Range<usize>> {
        let is_here = place.file == self.place.file
            && self.range.start <= place.range.start
            && place.range.end <= self.range.end;
        let before = |offset: u32| {
            let before = self.text.get(..(offset - self.range.start) as usize)?;
            Some(printable(before).len())
        };
        let Range { start, end } = is_here.then_some(&place.range)?;
        Some(before(*start)?..before(*end)?)
    }

    /// Adds the place to `groups`.
    fn show(self, level: &Level<'d>, groups: &mut Vec<Group<'d>>) {
        let origin = Origin::path(path_on_a_line(self.spot.path))
            .line(self.spot.line as usize)
            .char_column(self.spot.column as usize);
        let mut snippet: Snippet<'d, Annotation<'d>> = Snippet::source(printable(self.text))
            .line_start(self.spot.line as usize)
            .fold(false);
        if let Some(span) = self.span_of(&self.place) {
            snippet = snippet.annotation(AnnotationKind::Primary.span(span));
        }
        let others = self.others.into_iter();
        snippet =
            snippet.annotations(others.map(|(span, message)| {
                AnnotationKind::Context.span(span).label(printable(message))
            }));
        // A snippet's own path would come with the column in the part that is left of the line.
        groups.push(Group::with_level(level.clone()).element(origin));
        groups.push(Group::with_level(level.clone()).element(snippet));
    }
}

/// The start of the character at `offset`, brought into `line`.
fn cut(document: &Document, line: &Range<u32>, offset: u32) -> u32 {
    if offset <= line.start {
        return line.start;
    }
    if offset >= line.end {
        return line.end;
    }
    // The way through characters and back ends on the start of one.
    let position = document.line_column(offset, Encoding::Utf32);
    document
        .offset(position, Encoding::Utf32)
        .unwrap_or(line.end)
}

#[cfg(test)]
pub(super) mod tests;
