//! What stands below a row on a terminal.

use std::borrow::Cow;

use super::{GAP, LEAST, Place, cut, length, shares};

/// A cell, and where its column stands.
type Below<'c> = (Place, Cow<'c, str>);

/// What stands below a row: in one line if the others can still be read beside what is not cut
/// for them; else that stands above them.
pub(super) fn below_lines(cells: &[Below], width: usize) -> Vec<String> {
    let needed = cells.iter().map(|(place, cell)| match place {
        Place::Own => length(cell) + GAP,
        Place::Spare => 0,
        _ => length(cell).min(LEAST) + GAP,
    });
    let mut lines = Vec::new();
    let is_own = |(place, _): &&Below| *place == Place::Own;
    let mut rest = Cow::Borrowed(cells);
    if needed.sum::<usize>() > width + GAP {
        for (_, cell) in cells.iter().filter(is_own) {
            // What a change leads to stands below what it comes from.
            let parts: Vec<&str> = if length(cell) > width {
                cell.split_inclusive("-> ").collect()
            } else {
                vec![cell]
            };
            let parts = parts.iter().map(|part| cut(part.trim_end(), width));
            lines.extend(parts.map(Cow::into_owned));
        }
        rest.to_mut().retain(|cell| !is_own(&cell));
    }
    let text = below_text(&rest, width);
    lines.extend((!text.is_empty()).then_some(text));
    lines
}

/// Cells side by side: long ones are cut to equal parts, and the last are left out where they would
/// be cut beyond recognition. What is to be whole stays whole, and spare cells take what is left.
pub(super) fn below_text(cells: &[Below], width: usize) -> String {
    let of = |is_meant: fn(Place) -> bool| cells.iter().filter(move |(place, _)| is_meant(*place));
    let own = of(|place| place == Place::Own).map(|(_, cell)| length(cell) + GAP);
    let room = width.saturating_sub(own.sum());
    let needs = of(|place| !matches!(place, Place::Own | Place::Spare));
    let needs: Vec<usize> = needs.map(|(_, cell)| length(cell)).collect();
    let mut count = needs.len();
    let mut parts = shares(&needs, room.saturating_sub(GAP * count.saturating_sub(1)));
    while count > 1 && parts.iter().sum::<usize>() + GAP * (count - 1) > room {
        count -= 1;
        parts = shares(&needs[..count], room.saturating_sub(GAP * (count - 1)));
    }
    let mut parts = parts.into_iter();
    let mut text = String::new();
    for (place, cell) in of(|place| place != Place::Spare) {
        if *place == Place::Own {
            push_cell(&mut text, cell);
        } else if let Some(part) = parts.next() {
            let is_whole = *place == Place::Whole;
            let part = if is_whole {
                usize::MAX
            } else {
                part.min(width)
            };
            push_cell(&mut text, &cut(cell, part));
        }
    }
    for (_, cell) in of(|place| place == Place::Spare) {
        let gap = if text.is_empty() { 0 } else { GAP };
        let left = width.saturating_sub(length(&text) + gap);
        if left >= length(cell).min(LEAST) {
            push_cell(&mut text, &cut(cell, left));
        }
    }
    text
}

fn push_cell(text: &mut String, cell: &str) {
    if !text.is_empty() {
        text.push_str("  ");
    }
    text.push_str(cell);
}
