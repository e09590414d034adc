//! The outline, and names to jump to.

use std::ops::Range;

use buflens_syntax::facts::{self, Heading, ReportRow, Span};
use buflens_syntax::{Document, DocumentKind};

pub use search::workspace_symbols;

use super::entries::{is_section, sections as sections_of};
use crate::model::bytes::{counted, rounded};
use crate::model::{Dump, FileId, Place, Rank};

mod module;
mod out_of_memory;
mod parts;
mod search;

/// What a symbol is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolKind {
    /// A section.
    Section,
    /// An allocation.
    Allocation,
    /// A value.
    Value,
    /// A computation.
    Computation,
    /// An instruction.
    Instruction,
    /// A remark: how many more there are.
    More,
}

/// An entry of the outline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// Size, kind and the like.
    pub detail: String,
    /// What it is.
    pub kind: SymbolKind,
    /// All of it.
    pub range: Range<u32>,
    /// Its name's place, within the range.
    pub selection: Range<u32>,
    /// What is in it.
    pub children: Vec<Symbol>,
}

/// A symbol found by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// How well it fits.
    pub rank: Rank,
    /// Its name.
    pub name: String,
    /// Where it belongs: the allocation, the computation.
    pub container: String,
    /// What it is.
    pub kind: SymbolKind,
    /// Its place.
    pub place: Place,
}

/// The outline of a file, with about `limit` entries at most: the largest allocations and values,
/// and a last entry that says how many more there are.
pub fn document_symbols(dump: &Dump, file: FileId, limit: usize) -> Vec<Symbol> {
    let Some(document) = dump.files.get(file).map(|file| &file.document) else {
        return Vec::new();
    };
    let mut symbols = match document.kind() {
        DocumentKind::Module => module::symbols(document, limit),
        DocumentKind::Report => report(document, limit),
        DocumentKind::OutOfMemory => out_of_memory::symbols(document, limit),
        DocumentKind::Foreign | DocumentKind::Unknown => Vec::new(),
        DocumentKind::Assignment | DocumentKind::Values | DocumentKind::LiveRange => {
            sections(dump, file, document, limit)
        }
    };
    symbols.iter_mut().for_each(Symbol::complete);
    symbols
}

impl Symbol {
    /// Of a line that breaks off there may be no name and no place, but editors insist on both: one of them
    /// takes no symbol of a document in which one lacks them.
    fn complete(&mut self) {
        if self.name.is_empty() {
            "?".clone_into(&mut self.name);
        }
        let (range, selection) = (&self.range, &self.selection);
        if selection.start < range.start || range.end < selection.end {
            self.selection = range.start..range.start;
        }
        let is_within =
            |child: &Self| range.start <= child.range.start && child.range.end <= range.end;
        self.children.retain(is_within);
        self.children.iter_mut().for_each(Self::complete);
    }
}

/// The sections of a dump's file; the parts of the live ranges stand within theirs.
fn sections(dump: &Dump, file: FileId, document: &Document, limit: usize) -> Vec<Symbol> {
    let headings: Vec<(Heading, Range<u32>)> = headings(document).collect();
    let has_values = headings
        .iter()
        .any(|(heading, _)| *heading == Heading::Values);
    // The peak is short and wanted most; what it leaves goes to the other sections.
    let mut peak = parts::peak_values(dump, file, limit / 8);
    let mut tree = parts::tree(dump, file, limit / 8);
    let mut left = limit.saturating_sub(peak.len() + tree.len());
    let mut sections: Vec<Symbol> = Vec::new();
    let starts: Vec<u32> = document
        .blocks()
        .flat_map(|(start, block)| {
            sections_of(block)
                .into_iter()
                .map(move |(at, _)| start + at)
        })
        .collect();
    let lines: Vec<u32> = headings.iter().map(|(_, line)| line.start).collect();
    // Of headings that stand several times, one has what is below.
    let mut allocations = dump.allocations.iter();
    let allocation = allocations.find(|it| it.header.file() == file);
    let allocation = allocation.and_then(|it| dump.header(it));
    let allocation = allocation.map(|at| at.start + at.row.line.start);
    let entries = dump.values.iter().filter_map(|it| dump.used_value(it));
    let mut entries = entries.map(|it| it.header);
    let entry = entries.find(|it| it.file() == file);
    let entry = entry.and_then(|it| dump.at::<facts::UsedValue>(it));
    let entry = entry.map(|at| at.start + at.row.value.span.start);
    let untold = headings.len().saturating_sub(limit);
    for (heading, line) in headings.into_iter().take(limit) {
        let detail = match heading {
            Heading::Assignment => {
                let bytes = dump
                    .allocations
                    .iter()
                    .fold(0_u64, |sum, allocation| sum.saturating_add(allocation.size));
                format!(
                    "{}, {}",
                    counted(dump.allocations.len(), "allocation"),
                    rounded(bytes)
                )
            }
            Heading::Values => counted(dump.values.len(), "value"),
            Heading::Steps => counted(dump.steps.len(), "step"),
            _ => String::new(),
        };
        // A part also ends where the next part begins.
        let behind = |starts: &[u32]| {
            let next = starts.partition_point(|&at| at <= line.start);
            starts.get(next).copied().unwrap_or(document.len())
        };
        let is_part = !is_section(heading);
        let end = if is_part {
            behind(&starts).min(behind(&lines))
        } else {
            behind(&starts)
        };
        let range = line.start..end;
        let children = match heading {
            Heading::Assignment if allocation.is_some_and(|at| range.contains(&at)) => {
                let share = if has_values { left / 2 } else { left };
                parts::allocations(dump, file, share, range.end)
            }
            Heading::Values if entry.is_some_and(|at| range.contains(&at)) => {
                parts::used_values(dump, file, left, range.end)
            }
            Heading::Peak(_) => std::mem::take(&mut peak),
            Heading::Tree(_) => std::mem::take(&mut tree),
            _ => Vec::new(),
        };
        left = left.saturating_sub(children.iter().map(|child| 1 + child.children.len()).sum());
        let name = document
            .slice(line.clone())
            .trim()
            .trim_end_matches(':')
            .to_owned();
        let symbol = Symbol {
            name,
            detail,
            kind: SymbolKind::Section,
            range,
            selection: line,
            children,
        };
        match sections.last_mut() {
            Some(section) if is_part && symbol.range.end <= section.range.end => {
                section.children.push(symbol);
            }
            _ => sections.push(symbol),
        }
    }
    sections.extend(more(&[(untold, "section")], document.len()));
    sections
}

/// The memory spaces of a report, or its tables of allocations, which are sorted by size.
fn report(document: &Document, limit: usize) -> Vec<Symbol> {
    let mut symbols: Vec<Symbol> = Vec::new();
    let section = |name: &str, line: Range<u32>| Symbol {
        name: name.to_owned(),
        detail: String::new(),
        kind: SymbolKind::Section,
        range: line.start..document.len(),
        selection: line,
        children: Vec::new(),
    };
    let mut titles = headings(document).peekable();
    for (start, block) in document.blocks() {
        let at = |span: Span| start + span.start..start + span.end;
        for row in block.report().iter() {
            let place = match row {
                ReportRow::Space { label, .. } => at(label),
                ReportRow::Allocation(allocation) => at(allocation.line),
                ReportRow::SpaceTotal(total) => {
                    if let Some(space) = symbols.last_mut() {
                        space.detail = rounded(total.bytes.value);
                    }
                    continue;
                }
                ReportRow::Table(_)
                | ReportRow::Slot { .. }
                | ReportRow::Running { .. }
                | ReportRow::Rest(_) => continue,
            };
            while let Some((_, line)) = titles.next_if(|(_, line)| line.start < place.start) {
                symbols.push(section(
                    document.slice(line.clone()).trim_end_matches(':'),
                    line,
                ));
            }
            let ReportRow::Allocation(allocation) = row else {
                // The label stands behind `Memory Space: `.
                let before = &block.text()[..(place.start - start) as usize];
                let line = start + before.rfind('\n').map_or(0, |end| end as u32 + 1);
                let space = section(document.slice(place.clone()), place);
                let range = line..space.range.end;
                symbols.push(Symbol { range, ..space });
                continue;
            };
            let last = symbols.last_mut();
            if let Some(section) = last.filter(|section| section.children.len() < limit) {
                section.children.push(Symbol {
                    name: format!("allocation {}", allocation.index.value),
                    detail: allocation.size.text(block.text()).to_owned(),
                    kind: SymbolKind::Allocation,
                    range: place,
                    selection: at(allocation.index.span),
                    children: Vec::new(),
                });
            }
        }
    }
    for at in 1..symbols.len() {
        symbols[at - 1].range.end = symbols[at].range.start;
    }
    let untold = symbols.len().saturating_sub(limit);
    symbols.truncate(limit);
    symbols.extend(more(&[(untold, "section")], document.len()));
    symbols
}

/// The section headings of a document, each with its line.
fn headings(document: &Document) -> impl Iterator<Item = (Heading, Range<u32>)> {
    document.blocks().flat_map(|(start, block)| {
        let in_document = move |line: Span| start + line.start..start + line.end;
        block
            .headings()
            .iter()
            .map(move |&(heading, line)| (heading, in_document(line)))
    })
}

/// The remark at `end` that there are more: `2 allocations and 1,234 values more`.
fn more(what: &[(usize, &str)], end: u32) -> Option<Symbol> {
    let what = what.iter().filter(|(number, _)| *number > 0);
    let what: Vec<String> = what.map(|&(number, noun)| counted(number, noun)).collect();
    (!what.is_empty()).then(|| Symbol {
        name: format!("{} more", what.join(" and ")),
        detail: "search the symbols of the workspace by name or op_name".to_owned(),
        kind: SymbolKind::More,
        range: end..end,
        selection: end..end,
        children: Vec::new(),
    })
}

#[cfg(test)]
mod tests;
