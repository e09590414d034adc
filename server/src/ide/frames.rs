//! The tables of stack frames in an HLO text: who names their rows.

use std::ops::Range;

use buflens_syntax::ast::{AstNode, MetadataEntry};
use buflens_syntax::{Block, Document, InstructionParts, SyntaxKind, facts};
use memchr::memmem::Finder;

use super::navigation::table_row;
use super::references::Search;
use crate::model::{Dump, Place, Row, source};

/// The number of `row`, and of each key the numbers that select it, in the tables and in metadata, which are looked for.
pub(super) fn places(dump: &Dump, row: Row, search: &Search) -> Vec<Place> {
    let own = table_row(dump, row).map(|target| Place {
        range: target.selection,
        ..target.place
    });
    let mut places: Vec<Place> = own.into_iter().collect();
    let Some(at) = dump.at::<facts::TableRow>(row) else {
        return places;
    };
    for key in source::TABLE_KEYS {
        let shift = source::table_of(dump, key).map_or(0, |(_, shift)| shift);
        let printed = at.row.row.value.saturating_add(shift);
        if source::row_of(dump, key, printed) != Some(row) {
            continue;
        }
        let number = printed.to_string();
        let entry = format!("{key}={number}");
        let finder = Finder::new(&entry);
        let find = |document: &_, start, block: &_, hit, (): &mut _| {
            let at = start + hit + key.len() as u32 + 1;
            let range = at..at + number.len() as u32;
            is_in_metadata(block, hit, &finder, key, &number)
                .unwrap_or_else(|| is_in_tree(document, &range, key))
                .then_some(range)
        };
        places.extend(search.places(dump, &entry, |_| true, find));
    }
    places
}

/// Whether what `finder` has found at `hit` is the entry `key=number` of an instruction's metadata. `None` where that is in
/// doubt: in no instruction, or in one that says so twice, as in a string.
fn is_in_metadata(
    block: &Block,
    hit: u32,
    finder: &Finder,
    key: &str,
    number: &str,
) -> Option<bool> {
    let instruction = block.instruction_at(hit)?.span.text(block.text());
    if finder.find_iter(instruction.as_bytes()).nth(1).is_some() {
        return None;
    }
    let parts = InstructionParts::read_up_to(instruction, 0);
    Some(parts.entry(key) == Some(number))
}

/// Whether `range` is the number behind `key=`, in metadata or in a table.
fn is_in_tree(document: &Document, range: &Range<u32>, key: &str) -> bool {
    let Some((start, token)) = document.token_at(range.start) else {
        return false;
    };
    let own = Range::<u32>::from(token.text_range());
    let entry = MetadataEntry::around(&token).and_then(|entry| entry.key());
    token.kind() == SyntaxKind::Number
        && (start + own.start..start + own.end) == *range
        && entry.is_some_and(|found| found.text() == key)
}

#[cfg(test)]
mod tests {
    use crate::ide::fixture::{Fixture, MODULE, with_cursor};
    use crate::ide::{navigation, references};

    fn lines(text: &str) -> (Option<String>, Vec<String>) {
        let fixture = Fixture::new(text);
        let (dump, file, offset) = (&fixture.dump, fixture.file, fixture.offset);
        let definition = navigation::definition(dump, file, offset);
        let definition =
            definition.map(|found| fixture.text(file, found.targets[0].place.range.clone()));
        let places = references::references(dump, file, offset, true, usize::MAX);
        let place = |place: &crate::model::Place| {
            let line = fixture.place(place.file, place.range.start);
            format!("{line} {}", fixture.text(place.file, place.range.clone()))
        };
        (definition, places.iter().map(place).collect())
    }

    #[test]
    fn frames_lead_to_frames_locations_and_names() {
        let to = |snippet: &str| lines(&with_cursor(MODULE, snippet));
        let frame = "2 {file_location_id=2 parent_frame_id=2}".to_owned();
        let uses = ["16 2", "34 2"].map(str::to_owned).to_vec();
        assert_eq!(
            to("stack_frame_id=$02}"),
            (Some(frame.clone()), uses.clone())
        );
        assert_eq!(
            to("stack_frame$0_id=2}"),
            (Some(frame.clone()), uses.clone())
        );
        assert_eq!(to("\n$02 {file_location_id"), (Some(frame), uses));
        // A parent is printed one too high.
        let (definition, uses) = to("2 parent_frame_id=$02");
        assert_eq!(
            definition.as_deref(),
            Some("1 {file_location_id=1 parent_frame_id=1}")
        );
        assert_eq!(uses, ["15 1", "16 2"]);
        let (definition, uses) = to("file_name_id=$02");
        assert_eq!(definition.as_deref(), Some("2 \"/home/dev/lib.py\""));
        assert_eq!(uses, ["5 2", "12 2"]);
        assert_eq!(
            to("file_name_id=2 function_name_id=$01").1,
            ["8 1", "11 1", "12 1"]
        );
        assert_eq!(to(" line=$070").0, None);
    }

    #[test]
    fn what_a_string_says_selects_no_frame() {
        let uses = |entries: &str| {
            let metadata = "op_name=\"jit(f)/add\" stack_frame_id=2";
            assert!(MODULE.contains(metadata));
            lines(
                &MODULE
                    .replace(metadata, entries)
                    .replace("\n2 {file_location_id", "\n$02 {file_location_id"),
            )
            .1
        };
        assert_eq!(uses("stack_frame_id=2"), ["16 2", "34 2"]);
        assert_eq!(
            uses("op_name=\"stack_frame_id=2\" stack_frame_id=2"),
            ["16 2", "34 2"]
        );
        assert_eq!(
            uses("op_name=\"stack_frame_id=2\" stack_frame_id=1"),
            ["16 2"]
        );
        assert_eq!(uses("op_name=\"stack_frame_id=2\""), ["16 2"]);
        assert_eq!(uses("stack_frame_id=20"), ["16 2"]);
    }
}
