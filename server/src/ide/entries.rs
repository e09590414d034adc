//! What a document consists of: its sections and their entries, in the order of the text.

use buflens_syntax::facts::{Heading, OutOfMemoryKind, ReportRow, UsedValue, brief};
use buflens_syntax::{Block, Document};

/// How far out an entry stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// A section, a module, a memory space of the report.
    Section,
    /// An allocation, a used value, a part of the live ranges, a computation, a report's table.
    Entry,
}

/// Where the sections and entries of a block begin, in bytes from the start of the block. An entry
/// ends where the next one of its level or of one further out begins.
pub(super) fn entries(block: &Block) -> Vec<(u32, Level)> {
    let mut entries = sections(block);
    let mut add = |at: u32| entries.push((at, Level::Entry));
    block
        .headings()
        .iter()
        .filter(|(heading, _)| !is_section(*heading))
        .for_each(|(_, line)| add(line.start));
    let facts = block.facts();
    for (line, row) in facts.rows() {
        if matches!(row, brief::Row::Allocation(_)) {
            add(block.line_start(line));
        }
    }
    block
        .rows::<UsedValue>()
        .for_each(|row| add(row.value.span.start));
    block
        .computations()
        .iter()
        .for_each(|row| add(row.line.start));
    for row in block.report().iter() {
        match row {
            ReportRow::Table(line) => add(line.start),
            ReportRow::Allocation(row) => add(row.line.start),
            ReportRow::Space { .. }
            | ReportRow::SpaceTotal(_)
            | ReportRow::Slot { .. }
            | ReportRow::Running { .. }
            | ReportRow::Rest(_) => {}
        }
    }
    let listed = block.out_of_memory().iter();
    let listed = listed.filter(|row| row.kind == OutOfMemoryKind::Entry);
    entries.extend(listed.map(|row| (row.line.start, Level::Entry)));
    entries.sort_unstable();
    entries.dedup_by_key(|entry| entry.0);
    entries
}

/// The sections alone; most blocks have none.
pub(super) fn sections(block: &Block) -> Vec<(u32, Level)> {
    let line_of = |at: u32| {
        block.text()[..at as usize]
            .rfind('\n')
            .map_or(0, |end| end as u32 + 1)
    };
    let headings = block
        .headings()
        .iter()
        .filter(|(heading, _)| is_section(*heading));
    let totals = block
        .totals()
        .iter()
        .map(|row| line_of(row.bytes.span.start));
    let spaces = block.report().iter().filter_map(|row| match row {
        ReportRow::Space { label, .. } => Some(line_of(label.start)),
        _ => None,
    });
    let failures = block.out_of_memory().iter();
    let failures = failures.filter(|row| row.kind == OutOfMemoryKind::Message);
    let failures = failures.map(|row| row.line.start);
    let starts = headings
        .map(|(_, line)| line.start)
        .chain(totals)
        .chain(failures)
        .chain(spaces);
    let mut sections: Vec<(u32, Level)> = starts.map(|at| (at, Level::Section)).collect();
    sections.sort_unstable();
    sections
}

/// Whether a heading opens a section, not a part of one.
pub(super) fn is_section(heading: Heading) -> bool {
    match heading {
        Heading::Assignment
        | Heading::Values
        | Heading::LiveRange(_)
        | Heading::LiveRangeUnavailable
        | Heading::Report
        | Heading::Module(_) => true,
        Heading::Steps
        | Heading::Ranges
        | Heading::Peak(_)
        | Heading::PeakUnknown
        | Heading::Tree(_)
        | Heading::Table => false,
    }
}

/// The range of bytes of the innermost thing of exactly this `level` around `offset`.
pub(super) fn around(
    document: &Document,
    offset: u32,
    level: Level,
) -> Option<std::ops::Range<u32>> {
    let first = document.block_at(offset)?;
    let starts = |block: &Block| {
        if level == Level::Section {
            sections(block)
        } else {
            entries(block)
        }
    };
    // Blocks hold hundreds of lines, so even the largest section is few of them.
    let before = (0..=first).rev().find_map(|number| {
        let (start, block) = document.block(number)?;
        let mut entries = starts(block)
            .into_iter()
            .rev()
            .map(|(at, found)| (start + at, found));
        entries.find(|&(at, found)| at <= offset && found <= level)
    });
    let start = before.filter(|&(_, found)| found == level)?.0;
    let behind = (first..document.blocks().len()).find_map(|number| {
        let (start, block) = document.block(number)?;
        let mut entries = starts(block)
            .into_iter()
            .map(|(at, found)| (start + at, found));
        entries.find(|&(at, found)| at > offset && found <= level)
    });
    let end = behind.map_or(document.len(), |(at, _)| at);
    Some(start..end)
}
