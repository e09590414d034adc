//! Whether every line is one of its section, and whether the file is complete.

use buflens_syntax::facts::Heading;
use buflens_syntax::{Document, DocumentKind, SyntaxKind};

use super::{Code, Finding, Findings};
use crate::model::{Dump, FileId, Part, Place};

/// `syntax`, and `truncated` where the error is the file's abrupt end.
pub(super) fn check_syntax(dump: &Dump, findings: &mut Findings) {
    for (file, content) in dump.files.iter().enumerate() {
        let document = &content.document;
        if content.lossy {
            let place = Place { file, range: 0..0 };
            let message = "the file is not UTF-8; the bytes that are none are shown as `\u{fffd}`";
            findings.push(Finding::new(Code::Syntax, place, message));
        }
        match document.kind() {
            DocumentKind::Foreign => continue,
            DocumentKind::Unknown => {
                findings.push(not_a_dump(file, document));
                continue;
            }
            _ => {}
        }
        let last_line = document
            .line_range(document.line_count() - 1)
            .unwrap_or(0..0);
        for (range, message) in document.errors() {
            // A last line without its line end that breaks off in the middle.
            let breaks_off = !last_line.is_empty()
                && range.end == document.len()
                && range.start >= last_line.start;
            let (code, message) = if breaks_off {
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

fn not_a_dump(file: FileId, document: &Document) -> Finding {
    let line = (0..document.line_count())
        .filter_map(|line| document.line_range(line))
        .find(|range| !range.is_empty())
        .unwrap_or(0..0);
    let found = match document.slice(line.clone()) {
        "" => "an empty file".to_owned(),
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
    let message = format!(
        "this is no XLA buffer-assignment dump: expected a first line such as `BufferAssignment:`, \
         `Total bytes used: N`, `HloLiveRange (max N):`, `Memory Space: NAME (color=N)` or `HloModule NAME`, found {found}"
    );
    Finding::new(Code::Syntax, Place { file, range: line }, message)
}

/// Whether the first block looks like what a compiler prints when it runs out of memory.
fn is_compilers_message(document: &Document) -> bool {
    const MARKS: [&str; 3] = [
        "RESOURCE_EXHAUSTED",
        "Largest program allocations in",
        "Ran out of memory",
    ];
    document
        .block(0)
        .is_some_and(|(_, block)| MARKS.iter().any(|mark| block.text().contains(mark)))
}

/// `truncated`: a part that must follow is missing.
pub(super) fn check_completeness(dump: &Dump, findings: &mut Findings) {
    if findings.has(Code::Truncated) {
        return;
    }
    for (file, content) in dump.files.iter().enumerate() {
        match Part::from(content.document.kind()) {
            Part::Assignment | Part::Values | Part::LiveRange => {
                check_sections(dump, file, findings);
            }
            Part::Module => check_module(file, &content.document, findings),
            Part::Report | Part::None => {}
        }
    }
}

/// A combined file goes on to its peak, a values file to its last instruction.
fn check_sections(dump: &Dump, file: FileId, findings: &mut Findings) {
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
        .and_then(|row| dump.at::<buflens_syntax::facts::Total>(row))
        .is_some_and(|at| at.file == file);
    let has_values = has(|heading| matches!(heading, Heading::Values));
    let has_live_range = has(|heading| matches!(heading, Heading::LiveRange(_)));
    let unavailable = has(|heading| matches!(heading, Heading::LiveRangeUnavailable));
    let has_steps = has(|heading| matches!(heading, Heading::Steps));
    let has_ranges = has(|heading| matches!(heading, Heading::Ranges));
    let has_peak = has(|heading| matches!(heading, Heading::Peak(_) | Heading::PeakUnknown));

    let missing = if has_total && !has_values {
        Some("`Used values:`")
    } else if is_combined && has_values && !has_live_range && !unavailable {
        Some("`HloLiveRange (max N):`")
    } else if has_live_range && !has_steps {
        Some("`  InstructionSequence:`")
    } else if has_live_range && !has_ranges {
        Some("`  BufferLiveRange:`")
    } else if has_live_range && !has_peak {
        Some("`  Live ranges at N (peak):`")
    } else {
        None
    };
    if let Some(missing) = missing {
        // A complete last value says that the cut is at a line's end.
        let place = end_of(file, &dump.files[file].document);
        findings.push(Finding::new(
            Code::Truncated,
            place,
            format!("the file ends before {missing}"),
        ));
        return;
    }
    for value in &dump.values {
        if let Some(header) = dump.used(value)
            && header.file == file
            && (value.instruction.is_none() || value.positions.is_empty())
        {
            let name = header.text(header.row.value.name);
            let part = if value.positions.is_empty() {
                "positions"
            } else {
                "from instruction"
            };
            let message = format!(
                "the entry of value {} (`{name}`) ends before its ` {part}:`",
                value.id
            );
            findings.push(Finding::new(
                Code::Truncated,
                header.place(header.row.value.span),
                message,
            ));
        }
    }
}

fn check_module(file: FileId, document: &Document, findings: &mut Findings) {
    let has_entry = document
        .blocks()
        .any(|(_, block)| block.facts().computations.iter().any(|header| header.entry));
    let last_line = document.blocks().len().checked_sub(1).and_then(|block| {
        let (_, tree) = document.tree(block)?;
        let lines = tree.children().map(|line| line.kind());
        lines.filter(|&kind| kind != SyntaxKind::BlankLine).last()
    });
    if !has_entry {
        let message = "the module ends before its `ENTRY` computation";
        findings.push(Finding::new(
            Code::Truncated,
            end_of(file, document),
            message,
        ));
    } else if last_line != Some(SyntaxKind::ComputationEnd) {
        findings.push(Finding::new(
            Code::Truncated,
            end_of(file, document),
            "the module ends inside a computation",
        ));
    }
}

/// The last line that holds text.
fn end_of(file: FileId, document: &Document) -> Place {
    let range = (0..document.line_count())
        .rev()
        .filter_map(|line| document.line_range(line))
        .find(|range| !range.is_empty())
        .unwrap_or(0..0);
    Place { file, range }
}
