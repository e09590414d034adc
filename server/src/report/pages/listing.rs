//! Which compilations there are, and which of their files.

use super::counted;
use super::summary::files;
use crate::model::bytes::grouped;
use crate::report::page::Page;
use crate::report::records::{Listed, Listing};
use crate::report::table::{Cell, Column, Place, Table};
use crate::workspace::PARTS;

/// So many problems are told at most.
const MOST_PROBLEMS: usize = 50;
/// The letters of [`PARTS`], in their order.
const LETTERS: [char; 5] = ['A', 'V', 'L', 'R', 'H'];

/// At most `limit` compilations, with what is wrong with their files.
pub fn page(listing: &Listing, limit: usize) -> Page {
    let all = &listing.compilations;
    let mut page = Page::default();
    let (whole, files) = files(all.iter().map(|it| (&*it.module.stem, &*it.module.module)));
    let wrong = all.iter().filter(|it| !it.problems.is_empty()).count();
    page.verdict(match wrong {
        0 => counted(all.len(), "compilation"),
        _ => format!(
            "{}, {wrong} with problems",
            counted(all.len(), "compilation")
        ),
    });
    page.text(format!(
        "Bytes are of memory space 0, static, each of one module only. Parts are A assignment, \
         V values, L live ranges, R report and H HLO text; stages counts HLO texts of other stages.{whole}"
    ));
    let mut table = Table::new(&[
        Column::new("occupied", "", Place::Row),
        Column::new("reserved", "", Place::Row),
        Column::new("values", "", Place::Row),
        Column::new("steps", "", Place::Row),
        Column::new("files", "", Place::Row),
        Column::new("parts", "", Place::Row),
        Column::new("stages", "", Place::Row),
        Column::new("platform", "", Place::Loose),
        Column::new("module", "", Place::Whole),
        Column::new("path", "", Place::Whole),
    ]);
    let rows = all.iter().zip(&files).take(limit);
    table.rows = rows
        .map(|(listed, files)| row(listed, files.clone()))
        .collect();
    page.table(table);
    if all.len() > limit {
        page.text(format!(
            "... and {} more.",
            grouped((all.len() - limit) as u64)
        ));
    }
    if !listing.texts_alone.is_empty() {
        let texts = counted(listing.texts_alone.len(), "HLO text");
        page.text(format!("Besides, there is no compilation to {texts}."));
    }
    let problems = all.iter().zip(&files).flat_map(|(listed, files)| {
        let problems = listed.problems.iter();
        problems.map(move |problem| format!("{files}: {problem}."))
    });
    let problems: Vec<String> = problems.collect();
    if !problems.is_empty() {
        page.heading("Problems");
    }
    for problem in problems.iter().take(MOST_PROBLEMS) {
        page.text(problem);
    }
    if problems.len() > MOST_PROBLEMS {
        let more = counted(problems.len() - MOST_PROBLEMS, "problem");
        page.text(format!("... and {more} in JSON."));
    }
    page
}

fn row(listed: &Listed, pattern: String) -> Vec<Cell> {
    let module = &listed.module;
    let letter = |((_, name), letter): (&(_, &'static str), char)| {
        if listed.there.contains(name) {
            letter
        } else {
            '-'
        }
    };
    let parts: String = PARTS.iter().zip(LETTERS).map(letter).collect();
    vec![
        Cell::bytes(module.peak_bytes(0)),
        Cell::bytes(module.space(0).map(|space| space.reserved_bytes)),
        Cell::number(module.values.map(|count| count as u64)),
        Cell::number(module.steps),
        Cell::Bytes(listed.file_bytes),
        Cell::text(&parts),
        match listed.stage_texts {
            0 => Cell::Empty,
            texts => Cell::Number(texts as u64),
        },
        Cell::text(module.platform),
        Cell::text(&module.module),
        Cell::text(pattern),
    ]
}

/// A line for each compilation, for programs.
pub fn table(listing: &Listing) -> Table {
    let keys = [
        "module",
        "stem",
        "platform",
        "total_bytes",
        "reserved_bytes",
        "peak_bytes",
        "values",
        "steps",
        "file_bytes",
        "there",
        "missing",
        "stage_texts",
        "problems",
    ];
    let mut table = Table::new(&keys.map(|key| Column::new("", key, Place::Exact)));
    let rows = listing.compilations.iter().map(|listed| {
        let module = &listed.module;
        vec![
            Cell::text(&module.module),
            Cell::text(&module.stem),
            Cell::text(module.platform),
            Cell::number(module.total_bytes),
            Cell::number(module.space(0).map(|space| space.reserved_bytes)),
            Cell::number(module.peak_bytes(0)),
            Cell::number(module.values.map(|count| count as u64)),
            Cell::number(module.steps),
            Cell::Number(listed.file_bytes),
            Cell::text(listed.there.join(" ")),
            Cell::text(listed.missing.join(" ")),
            Cell::Number(listed.stage_texts as u64),
            Cell::text(listed.problems.join("; ")),
        ]
    });
    table.rows = rows.collect();
    table
}
