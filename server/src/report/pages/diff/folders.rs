//! What changed between two folders of dumps.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{left_out, page as page_of};
use crate::report::page::Page;
use crate::report::pages::counted;
use crate::report::pages::summary::{below, files, folder};
use crate::report::records::{Answer, Change, Diff, Diffs, Module};
use crate::report::table::{Cell, Column, Place, Table};
use crate::workspace::module_name;

/// What changed between folders of dumps; details of at most `limit` of them.
pub fn pages<L>(diffs: &Diffs<L>, limit: usize) -> Page {
    let mut page = Page::default();
    let mut changed: Vec<&Answer<Diff<L>>> = diffs
        .pairs
        .iter()
        .filter(|pair| !pair.content.nothing_changed)
        .collect();
    page.verdict(match changed.len() {
        0 if diffs.nothing_changed() => {
            format!("{}: nothing changed", counted(diffs.pairs.len(), "dump"))
        }
        some => format!(
            "{} in both, {some} of them changed",
            counted(diffs.pairs.len(), "dump")
        ),
    });
    for (which, only) in [("first", &diffs.only_before), ("second", &diffs.only_after)] {
        if !only.is_empty() {
            let stems: Vec<&str> = only.iter().map(String::as_str).collect();
            let (common, _) = folder(&stems);
            let stems = stems.iter().take(limit);
            let mut names: Vec<String> = stems.map(|stem| below(stem, &common)).collect();
            if only.len() > limit {
                names.push(format!("and {} more", only.len() - limit));
            }
            page.text(format!(
                "Only in the {which} folder: {}: {}.",
                counted(only.len(), "dump"),
                names.join(", ")
            ));
        }
    }
    if diffs.pairs.is_empty() {
        page.text("Programs are recognised by their name and platform; two files are compared whatever they are of.");
    }
    let mut table = Table::new(&[
        Column::new("peak", "", Place::Row),
        Column::new("delta", "", Place::Row),
        Column::new("reserved", "", Place::Row),
        Column::new("delta", "", Place::Row),
        Column::new("new", "", Place::Row),
        Column::new("gone", "", Place::Row),
        Column::new("changed", "", Place::Row),
        Column::new("module", "", Place::Whole),
    ]);
    // What changed the most comes first.
    let change = |pair: &&Answer<Diff<L>>| {
        let space = pair.content.spaces.first();
        let delta = |change: &Change| change.delta.unwrap_or(0).unsigned_abs();
        let most =
            space.map(|space| delta(&space.occupied_bytes).max(delta(&space.reserved_bytes)));
        (!pair.content.nothing_changed, most)
    };
    let mut pairs: Vec<(&Answer<Diff<L>>, String)> =
        diffs.pairs.iter().zip(labels(diffs)).collect();
    pairs.sort_by_key(|(pair, _)| Reverse(change(pair)));
    changed.sort_by_key(|pair| Reverse(change(pair)));
    let more = pairs.len().saturating_sub(limit);
    let rows = pairs.into_iter().take(limit);
    table.rows = rows.map(|(pair, label)| pair_row(pair, label)).collect();
    page.table(table);
    left_out(&mut page, more);
    for pair in changed.iter().take(limit) {
        page.append(page_of(pair));
    }
    if changed.len() > limit {
        page.text(format!(
            "... and {} that changed.",
            counted(changed.len() - limit, "more dump")
        ));
    }
    page
}

/// What each pair is called: its module, with the files where there are several of that name.
fn labels<L>(diffs: &Diffs<L>) -> Vec<String> {
    let of_side = |side: fn(&Diff<L>) -> &Module| {
        let pairs = diffs.pairs.iter();
        files(pairs.map(move |pair| (&*side(&pair.content).stem, &*pair.module))).1
    };
    let (before, after) = (of_side(|diff| &diff.before), of_side(|diff| &diff.after));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for pair in &diffs.pairs {
        *counts.entry(&pair.module).or_default() += 1;
    }
    let only = diffs.only_before.iter().chain(&diffs.only_after);
    let only = only.filter_map(|stem| module_name(Path::new(&format!("{stem}.txt"))));
    let only: BTreeSet<String> = only.collect();
    let pairs = diffs.pairs.iter().zip(before.into_iter().zip(after));
    let label = |(pair, (before, after)): (&Answer<Diff<L>>, (String, String))| {
        let module = &pair.module;
        if counts[module.as_str()] == 1 && !only.contains(module) {
            module.clone()
        } else if before == after {
            format!("{module} ({before})")
        } else {
            format!("{module} ({before} and {after})")
        }
    };
    pairs.map(label).collect()
}

fn pair_row<L>(pair: &Answer<Diff<L>>, label: String) -> Vec<Cell> {
    let diff = &pair.content;
    let space = diff.spaces.first();
    let count = |shown: usize, left_out: usize| match shown + left_out {
        0 => Cell::Empty,
        number => Cell::Number(number as u64),
    };
    let change = |change: Option<&Change>| {
        let delta = change.and_then(|it| it.delta).filter(|&delta| delta != 0);
        [
            change
                .and_then(|it| it.after)
                .map_or(Cell::Empty, Cell::Bytes),
            delta.map_or(Cell::Empty, Cell::Delta),
        ]
    };
    let [peak, peak_delta] = change(space.map(|space| &space.occupied_bytes));
    let [reserved, reserved_delta] = change(space.map(|space| &space.reserved_bytes));
    vec![
        peak,
        peak_delta,
        reserved,
        reserved_delta,
        count(diff.added.len(), diff.added_left_out),
        count(diff.removed.len(), diff.removed_left_out),
        count(diff.changed.len(), diff.changed_left_out),
        Cell::text(label),
    ]
}
