//! Sections A and C name the same values, and name them alike.

use std::cell::LazyCell;

use buflens_syntax::facts;

use super::structure::Section;
use super::{Code, Doubts, Finding, Findings};
use crate::model::{At, Dump, NameId, Place, Value};

/// `unresolved-name`: who shows and reads a value is an instruction of the HLO text. Not of the first line below
/// `positions:`, which is the value's own.
pub(super) fn check_lines(dump: &Dump, doubts: &Doubts, findings: &mut Findings) {
    let sections = [Section::Values, Section::Module];
    if dump.module.instructions.is_empty() || !doubts.are_whole(&sections) {
        return;
    }
    let hides_elements = LazyCell::new(|| dump.hides_elements());
    let is_unknown = |name: NameId| !dump.module.instructions.has(name) && !*hides_elements;
    let mut unknown = |place, name: NameId| {
        let message = format!("the HLO text has no instruction `{}`", &dump.names[name]);
        findings.push(Finding::new(Code::UnresolvedName, place, message));
    };
    let pairs = dump.positions.windows(2);
    let others = pairs.filter(|pair| pair[0].value == pair[1].value);
    for position in others.map(|pair| &pair[1]) {
        if is_unknown(position.name)
            && let Some(line) = dump.at::<facts::Position>(position.row)
        {
            unknown(line.place(line.row.name), position.name);
        }
    }
    for reader in &dump.uses {
        if is_unknown(reader.name)
            && let Some(line) = dump.at::<facts::Use>(reader.row)
        {
            unknown(line.place(line.row.name), reader.name);
        }
    }
}

/// `duplicate-value` and `unknown-value`: both sections have the same ids, each once.
pub(super) fn check_ids(dump: &Dump, doubts: &mut Doubts, findings: &mut Findings) {
    let has_allocations = !dump.allocations.is_empty();
    // What is missing behind a cut or in place of a broken line is no finding of its own.
    let is_whole = doubts.are_whole(&[Section::Allocations, Section::Values]);
    let are_unique = dump.ids_are_unique();
    for (at, value) in dump.values.iter().enumerate() {
        let is_outside = value.placement.is_some() && value.allocation().is_none() && is_whole;
        // Without section C there is nothing to hold it against.
        let is_alone = !value.is_used() && !dump.has_used_values();
        if (value.is_alike() || is_alone) && are_unique && !is_outside {
            continue;
        }
        let (placement, used) = (dump.placement(value), dump.used(value));
        if !are_whole(placement.as_ref(), used.as_ref()) {
            continue;
        }
        if let Some(placement) = placement.as_ref().filter(|_| is_outside) {
            let message = format!("value {} stands before the first allocation", value.id);
            let place = placement.place(placement.row.value.id.span);
            findings.push(Finding::new(Code::UnknownValue, place, message));
            doubts.values.insert(at as u32);
            doubts.values_unplaced = true;
            continue;
        }
        let first = dump
            .value_with_id(value.id)
            .filter(|&first| first as usize != at);
        match (&placement, &used) {
            (Some(placement), Some(used)) if used.row.value.id.value != value.id => {
                let (id, other) = (value.id, used.row.value.id.value);
                let (here, there) = (
                    placement.place(placement.row.value.id.span),
                    used.place(used.row.value.id.span),
                );
                let name = placement.text(placement.row.value.name);
                let [before, behind] = dump
                    .used_beside(value)
                    .map(|entry| Some(entry?.row.value.id.value));
                // The entries ascend, which tells if one of the two cannot be.
                let fits = |id| {
                    before.is_none_or(|before| before < id)
                        && behind.is_none_or(|behind| id < behind)
                };
                let finding = if fits(id) && !fits(other) {
                    let message =
                        format!("`{name}` has the id {other} here and {id} in its allocation");
                    Finding::new(Code::UnknownValue, there, message)
                        .related(here, format!("the id {id}"))
                        .fixed_by(id.to_string())
                } else {
                    let code = if first.is_some() {
                        Code::DuplicateValue
                    } else {
                        Code::UnknownValue
                    };
                    let message =
                        format!("`{name}` has the id {id} here and {other} below `Used values:`");
                    let is_certain =
                        fits(other) && !fits(id) && dump.value_with_id(other).is_none();
                    Finding::new(code, here, message)
                        .related(there, format!("the id {other}"))
                        .fixed_if(is_certain, other.to_string())
                };
                doubts.values.insert(at as u32);
                findings.push(finding);
            }
            // If the first one's id is wrong, this one is the only one.
            _ if first.is_some_and(|first| doubts.values.contains(&first)) => {}
            // An allocation or an entry that is doubled has been told.
            _ if first.is_some_and(|first| is_told(dump, doubts, value, first)) => {}
            _ if first.is_some() => {
                let Some(place) = id_place(placement.as_ref(), used.as_ref()) else {
                    continue;
                };
                let mut finding = Finding::new(
                    Code::DuplicateValue,
                    place,
                    format!("a second value has the id {}", value.id),
                );
                if let Some(first) = first.map(|first| &dump.values[first as usize])
                    && let Some(place) =
                        id_place(dump.placement(first).as_ref(), dump.used(first).as_ref())
                {
                    finding = finding.related(place, "the first one");
                }
                // What else the dump says of the value, it says of the first one.
                if let (Some(_), Some(allocation)) = (&placement, value.allocation()) {
                    doubts.values.insert(at as u32);
                    doubts.allocations.insert(allocation);
                }
                findings.push(finding);
            }
            (Some(placement), None) if dump.has_used_values() && is_whole => {
                let message = format!("value {} is not below `Used values:`", value.id);
                findings.push(Finding::new(
                    Code::UnknownValue,
                    placement.place(placement.row.value.id.span),
                    message,
                ));
            }
            (None, Some(used)) if has_allocations && is_whole => {
                doubts.values_unplaced = true;
                let message = format!("value {} lies in no allocation", value.id);
                findings.push(Finding::new(
                    Code::UnknownValue,
                    used.place(used.row.value.id.span),
                    message,
                ));
            }
            _ => {}
        }
    }
    if is_whole && !findings.has(Code::UnknownValue) && !findings.has(Code::DuplicateValue) {
        check_order(dump, findings);
    }
}

/// Whether a finding has told of the allocation, or of the entry, with which a value stands twice.
fn is_told(dump: &Dump, doubts: &Doubts, value: &Value, first: u32) -> bool {
    let Some(own) = dump.allocation_of(value) else {
        return !doubts.are_whole(&[Section::Values]);
    };
    let first = dump.allocation_of(&dump.values[first as usize]);
    let is_doubled =
        first.is_some_and(|first| first.index == own.index && first.header != own.header);
    is_doubled && !doubts.are_whole(&[Section::Allocations])
}

/// `unknown-value`: the values of an allocation, and the entries below `Used values:`, ascend by id. To be
/// asked where the ids are right.
fn check_order(dump: &Dump, findings: &mut Findings) {
    // A printed id with its place.
    type Id = (u64, Place);
    let mut push = |[before, id]: [Id; 2], order: &str, what: &'static str| {
        let message = format!("value {} stands behind value {}: {order}", id.0, before.0);
        let finding = Finding::new(Code::UnknownValue, id.1, message);
        findings.push(finding.related(before.1, what));
    };
    for allocation in &dump.allocations {
        let values = dump.held_by(allocation);
        for pair in values.windows(2).filter(|pair| pair[1].id < pair[0].id) {
            let ids = [&pair[0], &pair[1]].map(|value| {
                let line = dump.placement(value)?;
                Some((value.id, line.place(line.row.value.id.span)))
            });
            if let [Some(before), Some(id)] = ids {
                let order = "the values of an allocation ascend";
                push([before, id], order, "the value before");
            }
        }
    }
    if !dump.used_ids_descend {
        return;
    }
    for value in &dump.values {
        let [before, _] = dump.used_beside(value);
        let ids = [before, dump.used(value)].map(|entry| {
            let entry = entry?;
            let id = entry.row.value.id;
            Some((id.value, entry.place(id.span)))
        });
        if let [Some(before), Some(id)] = ids
            && id.0 < before.0
        {
            push([before, id], "the entries ascend", "the entry before");
        }
    }
}

/// Whether the references of a value are read to their ends. What breaks off is a finding of its own.
fn are_whole(
    placement: Option<&At<facts::Placement>>,
    used: Option<&At<facts::UsedValue>>,
) -> bool {
    let is_whole = |reference: &facts::ValueReference, text: &str| {
        reference.is_whole(text) && reference.id.is_read()
    };
    placement.is_none_or(|at| is_whole(&at.row.value, at.block.text()))
        && used.is_none_or(|at| is_whole(&at.row.value, at.block.text()))
}

fn id_place(
    placement: Option<&At<facts::Placement>>,
    used: Option<&At<facts::UsedValue>>,
) -> Option<Place> {
    placement
        .map(|placement| placement.place(placement.row.value.id.span))
        .or_else(|| used.map(|used| used.place(used.row.value.id.span)))
}

/// `value-mismatch`: A and C print a value alike. `value-name`: C names it after its instruction.
pub(super) fn check_references(dump: &Dump, doubts: &mut Doubts, findings: &mut Findings) {
    for (at, value) in dump.values.iter().enumerate() {
        if value.is_alike() || doubts.values.contains(&(at as u32)) {
            continue;
        }
        let Some(used) = dump.used(value) else {
            continue;
        };
        let placement = dump.placement(value);
        if !are_whole(placement.as_ref(), Some(&used)) {
            continue;
        }
        let mut is_off = false;
        if let Some(placement) = &placement {
            is_off = check_alike(dump, value, placement, &used, findings);
        }
        if is_off {
            doubts.values.insert(at as u32);
            // It got the one of another.
            doubts.live_ranges.insert(at as u32);
        } else {
            check_name(dump, value, &used, findings);
        }
    }
}

/// Whether the two references to a value differ.
fn check_alike(
    dump: &Dump,
    value: &Value,
    placement: &At<facts::Placement>,
    used: &At<facts::UsedValue>,
    findings: &mut Findings,
) -> bool {
    let (here, there) = (&placement.row.value, &used.row.value);
    let differs = if placement.text(here.name) != used.text(there.name) {
        Some(("name", here.name, there.name))
    } else if placement.text(here.index) != used.text(there.index) {
        Some(("shape index", here.index, there.index))
    } else if here.phi != there.phi {
        Some(("`(phi)`", here.span, there.span))
    } else if here.color.get() != there.color.get() {
        Some(("memory space", here.color.span, there.color.span))
    } else {
        None
    };
    let Some((what, here_span, there_span)) = differs else {
        return false;
    };
    // The defining position, or the allocation's memory space, tells which of the two is right.
    let first = dump.positions_of(value).first();
    let allocation = value
        .allocation()
        .and_then(|number| dump.allocations.get(number as usize));
    let here_is_right = match what {
        "memory space" => {
            allocation.is_some_and(|allocation| here.color.get() == Some(allocation.color))
        }
        _ => first.is_some_and(|first| first.name == value.name && first.index == value.index),
    };
    let (here_text, there_text) = (
        placement.text(here_span).to_owned(),
        used.text(there_span).to_owned(),
    );
    let quoted = |text: &str| {
        if text.is_empty() {
            "nothing".to_owned()
        } else {
            format!("`{text}`")
        }
    };
    let (here_place, there_place) = (
        placement.place(if here_span.is_empty() {
            here.span
        } else {
            here_span
        }),
        used.place(if there_span.is_empty() {
            there.span
        } else {
            there_span
        }),
    );
    let id = value.id;
    let finding = if here_is_right {
        let message = format!(
            "the {what} of value {id} is {} here and {} in its allocation",
            quoted(&there_text),
            quoted(&here_text)
        );
        Finding::new(Code::ValueMismatch, there_place, message)
            .related(here_place, "in its allocation")
            .fixed_if(!there_span.is_empty(), here_text)
    } else {
        let message = format!(
            "the {what} of value {id} is {} here and {} below `Used values:`",
            quoted(&here_text),
            quoted(&there_text)
        );
        Finding::new(Code::ValueMismatch, here_place, message)
            .related(there_place, "below `Used values:`")
    };
    findings.push(finding);
    true
}

/// The first position and the instruction carry the value's name, and the index is printed for a
/// tuple's parts alone.
fn check_name(dump: &Dump, value: &Value, used: &At<facts::UsedValue>, findings: &mut Findings) {
    let header = &used.row.value;
    let name = used.text(header.name);
    let first = dump.positions_of(value).first();
    if let Some(first) = first
        && let Some(position) = dump.at::<facts::Position>(first.row)
        // A line without a name is a finding of its own.
        && !position.row.name.is_empty()
        && (position.text(position.row.name) != name
            || position.text(position.row.index) != used.text(header.index))
    {
        let message = format!(
            "the defining position is `{}{}` where the value is `{name}{}`",
            position.text(position.row.name),
            position.text(position.row.index),
            used.text(header.index)
        );
        let has_index = position.text(position.row.index) == used.text(header.index);
        let (wrong, right, is_certain) = if position.text(position.row.name) != name {
            (position.row.name, header.name, has_index)
        } else if position.row.index.is_empty() {
            (position.row.name, header.name, false)
        } else {
            (position.row.index, header.index, true)
        };
        let finding = Finding::new(Code::ValueName, position.place(wrong), message)
            .related(used.place(header.span), "the value")
            // The assignment names it as this entry does.
            .fixed_if(is_certain && value.placement.is_some(), used.text(right));
        findings.push(finding);
    }
    let Some(instruction) = dump.instruction(value) else {
        return;
    };
    if !instruction.row.name.is_empty() && instruction.text(instruction.row.name) != name {
        let found = instruction.text(instruction.row.name);
        let message = format!("the instruction is `{found}` where the value is `{name}`");
        let finding = Finding::new(
            Code::ValueName,
            instruction.place(instruction.row.name),
            message,
        );
        findings.push(finding.related(used.place(header.span), "the value"));
    }
    let is_tuple = instruction.text(instruction.row.shape).starts_with('(');
    if is_tuple == header.index.is_empty() && !instruction.row.shape.is_empty() {
        let message = if is_tuple {
            "the instruction's result is a tuple, so the value has an index"
        } else {
            "the instruction's result is an array, so the value has no index"
        };
        let finding = Finding::new(Code::ValueName, used.place(header.span), message);
        findings.push(finding.related(instruction.place(instruction.row.name), "the instruction"));
    }
}

#[cfg(test)]
mod tests {
    use crate::checks::tests::{CONCAT, finds, lstm_scan};

    /// Its id may be that of another value, as a part of it or as none.
    #[test]
    fn a_reference_that_breaks_off_is_one_finding() {
        let line = " value: <10 args_1_.1 @0> (size=2304,offset=0): bf16[4,288]{1,0}\n";
        for end in [" value:", "<", "<1", "<10", " args", "_.1", "@", "@0"] {
            let at = line.find(end).expect("a part") + end.len();
            finds(&[CONCAT], line, &format!("{}\n", &line[..at]), "syntax");
        }
        let header = "<10 args_1_.1 @0>\n positions";
        for to in [
            "<10 \n positions",
            "<10 args\n positions",
            "<10 args_1_.1 @\n positions",
        ] {
            finds(&[CONCAT], header, to, "syntax");
        }
    }

    #[test]
    fn who_shows_and_reads_a_value_is_an_instruction() {
        let parts = lstm_scan();
        let mut texts = parts.each_ref().map(String::as_str);
        texts.rotate_left(1);
        for (from, to, name) in [
            (
                "  while.9\n  tuple.5 {0}",
                "  while.9\n  tuple.55 {0}",
                "tuple.55",
            ),
            (
                "  ynn_fusion, operand 1\n",
                "  ynn_fusiom, operand 1\n",
                "ynn_fusiom",
            ),
        ] {
            let found = finds(&texts, from, to, "unresolved-name");
            let problem = format!("the HLO text has no instruction `{name}`");
            assert_eq!(found.message, problem);
        }
    }
}
