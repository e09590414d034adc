//! What a document consists of: its sections and their entries, in the order of the text.

use buflens_syntax::facts::{Heading, ReportRow};
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
    let facts = block.facts();
    let mut entries: Vec<(u32, Level)> = Vec::new();
    entries.extend(facts.headings.iter().map(|(heading, line)| {
        let level = match heading {
            Heading::Assignment
            | Heading::Values
            | Heading::LiveRange(_)
            | Heading::LiveRangeUnavailable
            | Heading::Report
            | Heading::Module(_) => Level::Section,
            Heading::Steps
            | Heading::Ranges
            | Heading::Peak(_)
            | Heading::PeakUnknown
            | Heading::Tree(_)
            | Heading::Table => Level::Entry,
        };
        (line.start, level)
    }));
    let line_of = |at: u32| {
        block.text()[..at as usize]
            .rfind('\n')
            .map_or(0, |end| end as u32 + 1)
    };
    entries.extend(
        facts
            .allocations
            .iter()
            .map(|row| (row.line.start, Level::Entry)),
    );
    entries.extend(
        facts
            .totals
            .iter()
            .map(|row| (line_of(row.bytes.span.start), Level::Section)),
    );
    entries.extend(
        facts
            .values
            .iter()
            .map(|row| (row.value.span.start, Level::Entry)),
    );
    entries.extend(
        facts
            .computations
            .iter()
            .map(|row| (row.line.start, Level::Entry)),
    );
    entries.extend(facts.report.iter().filter_map(|row| match row {
        ReportRow::Space { label, .. } => Some((line_of(label.start), Level::Section)),
        ReportRow::Table(line) => Some((line.start, Level::Entry)),
        ReportRow::Allocation(row) => Some((row.line.start, Level::Entry)),
        ReportRow::SpaceTotal(_) | ReportRow::Slot { .. } => None,
    }));
    entries.sort_unstable();
    entries.dedup_by_key(|entry| entry.0);
    entries
}

/// The range of bytes of the innermost thing of exactly this `level` around `offset`.
pub(super) fn around(
    document: &Document,
    offset: u32,
    level: Level,
) -> Option<std::ops::Range<u32>> {
    let first = document.block_at(offset)?;
    // Blocks hold hundreds of lines, so even the largest section is few of them.
    let before = (0..=first).rev().find_map(|number| {
        let (start, block) = document.block(number)?;
        let mut entries = entries(block)
            .into_iter()
            .rev()
            .map(|(at, found)| (start + at, found));
        entries.find(|&(at, found)| at <= offset && found <= level)
    });
    let start = before.filter(|&(_, found)| found == level)?.0;
    let behind = (first..document.blocks().len()).find_map(|number| {
        let (start, block) = document.block(number)?;
        let mut entries = entries(block)
            .into_iter()
            .map(|(at, found)| (start + at, found));
        entries.find(|&(at, found)| at > offset && found <= level)
    });
    let end = behind.map_or(document.len(), |(at, _)| at);
    Some(start..end)
}
