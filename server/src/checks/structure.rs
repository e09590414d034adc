//! Whether every line is one of its section, and whether the file is complete.

use std::ops::Range;

use buflens_syntax::facts::{self, Heading};
use buflens_syntax::{Document, DocumentKind, Mode, SyntaxKind};
use rustc_hash::FxHashMap;

use super::{Code, Doubts, Finding, Findings};
use crate::model::{Allocation, Dump, File, FileId, Part, Place, read_errors};

/// A part of a dump that is read on its own: what is broken in one says nothing of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Section {
    /// `BufferAssignment:`
    Allocations,
    /// `Used values:`
    Values,
    /// The schedule and the live ranges.
    LiveRanges,
    /// The peak list.
    Peak,
    /// The stack trace breakdown.
    Tree,
    /// The memory-usage report.
    Report,
    /// The HLO text.
    Module,
}

/// The section that the byte at `offset` of a file is in.
fn section_at(dump: &Dump, file: FileId, offset: u32) -> Section {
    let headings = &dump.headings;
    let behind = headings.partition_point(|(_, at)| (at.file, at.range.start) <= (file, offset));
    let before = behind.checked_sub(1).map(|at| &headings[at]);
    let before = before.filter(|(_, place)| place.file == file);
    match (before, dump.files[file].document.kind()) {
        (_, DocumentKind::Report) => Section::Report,
        (_, DocumentKind::Module) => Section::Module,
        (Some((Heading::Values, _)), _) | (None, DocumentKind::Values) => Section::Values,
        (Some((Heading::Peak(_) | Heading::PeakUnknown, _)), _) => Section::Peak,
        (Some((Heading::Tree(_), _)), _) => Section::Tree,
        (Some((Heading::Assignment, _)) | None, _) => Section::Allocations,
        (Some(_), _) => Section::LiveRanges,
    }
}

/// `syntax`, `truncated` where the error is the file's abrupt end, and `second-dump`.
pub(super) fn check_syntax(dump: &Dump, doubts: &mut Doubts, findings: &mut Findings) {
    if let Some(place) = &dump.second {
        let message = "another dump begins here, which is not read: expected one in a file";
        findings.push(Finding::new(Code::SecondDump, place.clone(), message));
    }
    for (file, content) in dump.files.iter().enumerate() {
        let document = &content.document;
        match document.kind() {
            DocumentKind::OutOfMemory | DocumentKind::Foreign => continue,
            DocumentKind::Unknown => {
                findings.push(not_a_dump(file, content));
                continue;
            }
            _ => {}
        }
        if content.lossy {
            let place = Place {
                file,
                range: replaced(document).unwrap_or(0..0),
            };
            let message = "the file is not UTF-8: bytes that are no text, the first of them here, are shown as `\u{fffd}`";
            findings.push(Finding::new(Code::Syntax, place, message));
        }
        let last_line = document
            .line_range(document.line_count() - 1)
            .unwrap_or(0..0);
        let mut has_broken_off = false;
        read_errors(document);
        for (range, message) in document.errors() {
            let section = section_at(dump, file, range.start);
            doubts.broken.insert(section);
            if section == Section::Allocations
                && let Some(allocation) = allocation_before(dump, file, range.start)
            {
                doubts.allocations.insert(allocation);
                doubts.headers.insert(allocation);
            }
            // Where bytes were replaced, that is what is wrong.
            let has_replaced = || {
                let line = document.line_range(document.line_at(range.start));
                line.is_some_and(|line| document.slice(line).contains(char::REPLACEMENT_CHARACTER))
            };
            if content.lossy && has_replaced() {
                continue;
            }
            // A last line without its line end breaks off in the middle, also where the error is told
            // before its end: what is cut inside quotes is read anew from the quote on.
            let breaks_off = !last_line.is_empty() && range.start >= last_line.start;
            if breaks_off && has_broken_off {
                continue;
            }
            let (code, message) = if breaks_off {
                has_broken_off = true;
                // Of which kind the last instruction is may not be known either.
                if section == Section::Values {
                    let used = (0..).zip(&dump.values).filter(|(_, it)| it.is_used());
                    let last = used.max_by_key(|(_, value)| value.id);
                    doubts.live_ranges.extend(last.map(|(at, _)| at));
                }
                (
                    Code::Truncated,
                    format!("the file ends in the middle of a line: {message}"),
                )
            } else {
                (Code::Syntax, message)
            };
            findings.push(Finding::new(code, Place { file, range }, message));
        }
    }
}

/// `syntax`: a heading, or the total, stands in its file a second time.
pub(super) fn check_headings(dump: &Dump, findings: &mut Findings) {
    let mut seen = FxHashMap::default();
    let mut push = |first: &Place, second: Place| {
        let content = dump.files[second.file].document.slice(second.range.clone());
        let message = format!("`{}` stands here a second time", content.trim());
        let finding = Finding::new(Code::Syntax, second, message);
        findings.push(finding.related(first.clone(), "the first one"));
    };
    for (heading, place) in &dump.headings {
        let key = (place.file, std::mem::discriminant(heading));
        if let Some(first) = seen.insert(key, place) {
            push(first, place.clone());
        }
    }
    let Some(first) = dump.total.and_then(|row| dump.at::<facts::Total>(row)) else {
        return;
    };
    let second = dump.second.as_ref().filter(|it| it.file == first.file);
    let blocks = dump.files[first.file].document.blocks();
    let totals = blocks.flat_map(|(start, block)| {
        let totals = block.totals().iter();
        totals.map(move |total| start + total.bytes.span.start..start + total.bytes.span.end)
    });
    let own = first.place(first.row.bytes.span);
    let mut others = totals.filter(|range| {
        range.start > own.range.start && second.is_none_or(|it| range.start < it.range.start)
    });
    if let Some(range) = others.next() {
        let line = |range: Range<u32>| {
            let document = &dump.files[first.file].document;
            let line = document.line_range(document.line_at(range.start));
            Place {
                file: first.file,
                range: line.unwrap_or(range),
            }
        };
        push(&line(own.range), line(range));
    }
}

/// The first character that stands for bytes that are no text.
fn replaced(document: &Document) -> Option<Range<u32>> {
    document.blocks().find_map(|(start, block)| {
        let at = start + block.text().find(char::REPLACEMENT_CHARACTER)? as u32;
        Some(at..at + char::REPLACEMENT_CHARACTER.len_utf8() as u32)
    })
}

/// The allocation whose header is the last one understood up to the byte at `offset` of a file.
fn allocation_before(dump: &Dump, file: FileId, offset: u32) -> Option<u32> {
    let starts_before = |allocation: &Allocation| {
        let header = dump.header(allocation);
        header.is_some_and(|at| at.file == file && at.start + at.row.line.start <= offset)
    };
    let behind = dump.allocations.partition_point(starts_before);
    behind.checked_sub(1).map(|at| at as u32)
}

fn not_a_dump(file: FileId, content: &File) -> Finding {
    let document = &content.document;
    let line = first_line(document);
    let found = match document.slice(line.clone()) {
        "" if document.is_empty() => "an empty file".to_owned(),
        "" => "only blank lines".to_owned(),
        text => {
            let start: String = text.chars().take(40).collect();
            format!(
                "`{start}{}`",
                if start.len() < text.len() { "..." } else { "" }
            )
        }
    };
    if is_compilers_message(document) {
        let message = "this is the compiler's message, not a dump: the dumps lie in the folder that \
                       the compiler was given with `--xla_dump_to`";
        return Finding::new(Code::Syntax, Place { file, range: line }, message);
    }
    let next = document.line_range(document.line_at(line.start) + 1);
    let next = next.map_or("", |next| document.slice(next));
    if let Some(message) = disguise(document.slice(line.clone()), next) {
        return Finding::new(Code::Syntax, Place { file, range: line }, message);
    }
    let message = format!(
        "this is no XLA buffer-assignment dump: expected a first line such as `BufferAssignment:`, \
         `Total bytes used: N`, `HloLiveRange (max N):`, `Memory Space: NAME (color=N)` or `HloModule NAME`, found {found}{}",
        if content.lossy {
            "; nor is it UTF-8"
        } else {
            ""
        }
    );
    Finding::new(Code::Syntax, Place { file, range: line }, message)
}

/// What to do to read a text of which this is the first line, and the one behind it, if it may be a dump in another
/// form. What is no UTF-8 has become `U+FFFD`.
fn disguise(line: &str, next: &str) -> Option<String> {
    const COMPRESSED: [(&str, &str); 5] = [
        ("\u{1f}\u{fffd}\u{8}", "gzip"),
        ("\u{fffd}7zXZ\0", "xz"),
        ("(\u{fffd}/\u{fffd}", "zstd"),
        ("BZh", "bzip2"),
        ("PK\u{3}\u{4}", "zip"),
    ];
    let mut formats = COMPRESSED.iter();
    if let Some((_, name)) = formats.find(|(magic, _)| line.starts_with(magic)) {
        return Some(format!(
            "this is compressed with {name}, to be unpacked first"
        ));
    }
    // By their byte order marks.
    let encoding = match line
        .trim_start_matches("\0\0")
        .strip_prefix("\u{fffd}\u{fffd}")
    {
        Some(rest) if line.starts_with('\0') || rest.starts_with("\0\0") => Some("UTF-32"),
        // Of a line end, the second byte stands in the next line.
        Some(rest) if rest.contains('\0') || next.starts_with('\0') => Some("UTF-16"),
        _ => None,
    };
    if let Some(encoding) = encoding {
        return Some(format!("this is {encoding}, to be saved as UTF-8 first"));
    }
    // `I0000 00:00:00.000000    1 buffer_assignment.cc:1] BufferAssignment:`.
    let (_, rest) = line.split_once("] ")?;
    let is_dump = Document::new(rest).is_ok_and(|rest| Part::from(rest.kind()) != Part::None);
    let message =
        "a logger's prefix stands before the lines of this; `sed 's/^[^]]*\\] //'` takes it away";
    is_dump.then(|| message.to_owned())
}

/// Whether the first block looks like what a compiler prints when it runs out of memory.
fn is_compilers_message(document: &Document) -> bool {
    document
        .block(0)
        .is_some_and(|(_, block)| block.text().contains("RESOURCE_EXHAUSTED"))
}

/// `truncated`: a part that must follow is missing.
pub(super) fn check_completeness(dump: &Dump, doubts: &mut Doubts, findings: &mut Findings) {
    for (file, content) in dump.files.iter().enumerate() {
        let end = end_of(file, &content.document);
        // A broken last line says enough.
        if findings.has_at_or_behind(&end) {
            continue;
        }
        let message = match Part::from(content.document.kind()) {
            Part::Assignment | Part::Values | Part::LiveRange => {
                // A line that is not understood may be the heading that is missing.
                let missing = missing_section(dump, file)
                    .filter(|(before, ..)| !doubts.broken.contains(before));
                missing.map(|(_, missing, message)| format!("the file {message} {missing}"))
            }
            Part::Module => module_end(&content.document).map(str::to_owned),
            Part::Report | Part::None => None,
        };
        if let Some(message) = message {
            doubts
                .broken
                .insert(section_at(dump, file, end.range.start));
            findings.push(Finding::new(Code::Truncated, end, message));
        } else {
            check_entries(dump, file, doubts, findings);
        }
    }
}

/// The section before what is missing, that, and how: a combined file goes on to its peak, a values file to its values.
fn missing_section(dump: &Dump, file: FileId) -> Option<(Section, &'static str, &'static str)> {
    let headings: Vec<_> = dump
        .headings
        .iter()
        .filter(|(_, place)| place.file == file)
        .map(|(heading, _)| *heading)
        .collect();
    let has = |wanted: fn(&Heading) -> bool| headings.iter().any(wanted);
    let is_combined = has(|heading| matches!(heading, Heading::Assignment));
    let has_total = dump
        .total
        .and_then(|row| dump.at::<facts::Total>(row))
        .is_some_and(|at| at.file == file);
    let has_values = has(|heading| matches!(heading, Heading::Values));
    let has_live_range = has(|heading| matches!(heading, Heading::LiveRange(_)));
    let unavailable = has(|heading| matches!(heading, Heading::LiveRangeUnavailable));
    let has_steps = has(|heading| matches!(heading, Heading::Steps));
    let has_ranges = has(|heading| matches!(heading, Heading::Ranges));
    let has_peak = has(|heading| matches!(heading, Heading::Peak(_) | Heading::PeakUnknown));

    let (before, missing, behind) =
        if is_combined && headings.len() == 1 && dump.allocations.is_empty() {
            (Section::Allocations, "its first allocation", false)
        } else if is_combined && has_values && !has_total {
            (Section::Allocations, "`Total bytes used: N`", true)
        } else if has_total && !has_values {
            (Section::Allocations, "`Used values:`", has_live_range)
        } else if is_combined && has_values && !has_live_range && !unavailable {
            (Section::Values, "`HloLiveRange (max N):`", false)
        } else if has_live_range && !has_steps {
            (Section::LiveRanges, "`  InstructionSequence:`", has_ranges)
        } else if has_live_range && !has_ranges {
            (Section::LiveRanges, "`  BufferLiveRange:`", has_peak)
        } else if has_live_range && !has_peak {
            (Section::LiveRanges, "`  Live ranges at N (peak):`", false)
        } else {
            return None;
        };
    let message = if behind { "has no" } else { "ends before" };
    Some((before, missing, message))
}

/// The entry of each used value goes on to its instruction.
fn check_entries(dump: &Dump, file: FileId, doubts: &mut Doubts, findings: &mut Findings) {
    if doubts.broken.contains(&Section::Values) {
        return;
    }
    for value in &dump.values {
        let has_position = !dump.positions_of(value).is_empty();
        let used = dump.used_value(value);
        let has_instruction = used.is_some_and(|used| used.instruction.is_some());
        if (!has_instruction || !has_position)
            && let Some(header) = dump.used(value)
            && header.file == file
        {
            let name = header.text(header.row.value.name);
            let part = if has_position {
                "from instruction"
            } else {
                "positions"
            };
            let message = format!(
                "the entry of value {} (`{name}`) ends before its ` {part}:`",
                value.id
            );
            let place = header.place(header.row.value.span);
            doubts.broken.insert(Section::Values);
            findings.push(Finding::new(Code::Truncated, place, message));
        }
    }
}

/// What is missing at the end of a module.
fn module_end(document: &Document) -> Option<&'static str> {
    let has_entry = document
        .blocks()
        .any(|(_, block)| block.computations().iter().any(|header| header.entry));
    let has_computation = || {
        document
            .blocks()
            .any(|(_, it)| !it.computations().is_empty())
    };
    if !has_computation() && is_on_last_line(document, first_line(document).start) {
        return Some("the module ends before its first computation");
    }
    // Of a text without, as people write it, the last computation is the entry. Compilers print the entry's
    // layout on the first line, and the entry last.
    if !has_entry && first_line_has_layout(document) {
        return Some("the module ends before its `ENTRY` computation");
    }
    let tree = document.tree(document.blocks().len().checked_sub(1)?)?.1;
    let is_inside = tree.children().map(|line| line.kind()).fold(
        // What a block begins with, its first line tells, unless it goes on with a computation.
        matches!(
            document.block(document.blocks().len() - 1)?.1.mode(),
            Mode::Computation | Mode::Group(_) | Mode::Signature
        ),
        |is_inside, kind| match kind {
            SyntaxKind::ComputationHeader => true,
            SyntaxKind::ComputationEnd => false,
            _ => is_inside,
        },
    );
    is_inside.then_some("the module ends inside a computation")
}

fn first_line_has_layout(document: &Document) -> bool {
    let line = document.slice(first_line(document));
    line.contains("entry_computation_layout=")
}

/// The first line that holds text.
pub(super) fn first_line(document: &Document) -> Range<u32> {
    let at = document
        .blocks()
        .find_map(|(start, block)| Some(start + text_start(block.text())?));
    at.and_then(|at| document.line_range(document.line_at(at)))
        .unwrap_or(0..0)
}

fn text_start(text: &str) -> Option<u32> {
    text.find(|character: char| !character.is_whitespace())
        .map(|at| at as u32)
}

/// Takes back what was found on the last line of a file that is cut in the middle of it: what stands there
/// may not be all of it.
pub(super) fn forget_last_lines(dump: &Dump, findings: &mut Findings) {
    let is_cut = |finding: &&Finding| finding.code == Code::Truncated;
    let cut = findings.list.iter().filter(is_cut);
    let last_line = |finding: &Finding| {
        let file = finding.place.file;
        let document = &dump.files[file].document;
        // Behind a line end there is one more, an empty one.
        let range = document.line_range(document.line_count() - 1)?;
        (!range.is_empty()).then_some(Place { file, range })
    };
    let lines: Vec<Place> = cut.filter_map(last_line).collect();
    let is_there = |finding: &Finding| lines.iter().any(|line| line.contains(&finding.place));
    findings.retain(|finding| finding.code == Code::Truncated || !is_there(finding));
}

/// Whether the last line has no end, as every line of a compiler's file has: it may be cut.
pub(super) fn ends_openly(document: &Document) -> bool {
    let last = document.blocks().len().checked_sub(1);
    let last = last.and_then(|at| document.block(at));
    last.is_some_and(|(_, last)| !last.text().ends_with('\n'))
}

/// What it is called that something is missing behind the byte at `offset`: where the file ends there, it was
/// cut.
pub(super) fn code_behind(document: &Document, offset: u32, otherwise: Code) -> Code {
    if is_on_last_line(document, offset) {
        Code::Truncated
    } else {
        otherwise
    }
}

/// Whether the byte at `offset` of a document is on the last line that holds text.
pub(super) fn is_on_last_line(document: &Document, offset: u32) -> bool {
    end_of(0, document).range.contains(&offset)
}

/// The last line that holds text.
pub(super) fn end_of(file: FileId, document: &Document) -> Place {
    let mut blocks: Vec<_> = document.blocks().collect();
    blocks.reverse();
    let at = blocks.into_iter().find_map(|(start, block)| {
        let text = block.text().trim_end();
        Some(start + text.len().checked_sub(1)? as u32)
    });
    let range = at.and_then(|at| document.line_range(document.line_at(at)));
    Place {
        file,
        range: range.unwrap_or(0..0),
    }
}
