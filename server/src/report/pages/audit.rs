//! Donation, copies, and what moves between memory spaces.

use super::{STATIC, counted, range, short_source};
use crate::audit::donation::Verdict;
use crate::model::bytes::{display, grouped, rounded};
use crate::report::page::Page;
use crate::report::records::{
    Answer, Audits, Copies, CopyRecord, Donation, DonationParameter, DonationSpace, Offload,
};
use crate::report::table::{Cell, Column, Place, Table};

/// From so many bytes on something is worth a sentence, whatever else there is; below, from 1 % of
/// the peak.
const MIN_TOLD: u64 = 1 << 20;

/// The audits that were asked for.
pub fn page<L>(answer: &Answer<Audits<L>>) -> Page {
    let audits = &answer.content;
    let mut page = Page::default();
    page.verdict(format!("{}: what could be spared", answer.module));
    page.text(STATIC);
    if let Some(donation) = &audits.donation {
        donation_page(&mut page, donation);
    }
    if let Some(copies) = &audits.copies {
        copies_page(&mut page, copies);
    }
    if let Some(offload) = &audits.offload {
        offload_page(&mut page, offload);
    }
    page
}

fn donation_page<L>(page: &mut Page, donation: &Donation<L>) {
    let spaces = donation.spaces.iter();
    let spaces: Vec<&DonationSpace> = spaces.filter(|it| it.parameter_bytes > 0).collect();
    if spaces.is_empty() {
        let count = donation.parameters.len() + donation.parameters_left_out;
        page.heading(match donation.reason {
            _ if count > 0 => "Donation: the parameters take no bytes".to_owned(),
            Some(reason) => format!("Donation: no parameter is known: {reason}"),
            None => "Donation: the program has no parameters".to_owned(),
        });
        return;
    }
    let of_space = |space: &&DonationSpace| {
        format!(
            "of {} of parameters{} {} donated{}",
            display(space.parameter_bytes),
            within(space, &spaces),
            match space.donated_bytes {
                0 => "none is".to_owned(),
                bytes => format!("{} are", rounded(bytes)),
            },
            match space.could_match_bytes {
                0 => String::new(),
                bytes => format!(", {} could be", rounded(bytes)),
            }
        )
    };
    let told: Vec<String> = spaces.iter().map(of_space).collect();
    page.heading(format!("Donation: {}", told.join("; ")));
    if let Some(reason) = donation.reason {
        page.text(format!(
            "Of some it is not known when they are read: {reason}."
        ));
    }
    let is_told = |bytes: u64, space: &DonationSpace| {
        let is_worth = u128::from(bytes) * 100 >= u128::from(space.whole_bytes);
        bytes > 0 && (bytes >= MIN_TOLD || is_worth)
    };
    for space in spaces.iter().filter(|it| is_told(it.not_usable_bytes, it)) {
        page.text(format!(
            "not-usable: {}{} are donated in vain: no output is written over them (`buffer_donor` in the HLO \
             text). None has their size and number of elements, or the compiler took another buffer for it.",
            rounded(space.not_usable_bytes),
            within(space, &spaces)
        ));
    }
    for space in spaces.iter().filter(|it| is_told(it.could_match_bytes, it)) {
        page.text(could_match_text(space, &within(space, &spaces)));
    }
    for space in &spaces {
        if let Some(dead) = space.dead_bytes.filter(|&bytes| is_told(bytes, space)) {
            page.text(format!(
                "dead: {}{} are not read any more at the peak and occupied all the same. No output has their \
                 size and number of elements; where one has (`not matched with`), another parameter is worth more \
                 there, or XLA would copy both.",
                rounded(dead),
                within(space, &spaces)
            ));
        }
    }
    page.table(parameters(donation));
    let left_out = donation.parameters_left_out;
    if left_out > 0 {
        page.text(format!("... and {}.", counted(left_out, "more parameter")));
    }
}

/// Which memory space is meant, where parameters are in several.
fn within(space: &DonationSpace, spaces: &[&DonationSpace]) -> String {
    match spaces {
        [_] => String::new(),
        _ => format!(" in {}", space.name),
    }
}

/// What donating the parameters of a memory space that match outputs would save.
fn could_match_text(space: &DonationSpace, within: &str) -> String {
    let bytes = rounded(space.could_match_bytes);
    let falls = |what: &str, saved: u64| match saved {
        0 => format!("the {what} does not fall"),
        saved => format!("the {what} falls by at most {}", rounded(saved)),
    };
    let reserved = falls("reserved memory", space.could_match_reserved_bytes);
    let saving = match (
        space.could_match_reserved_bytes,
        space.could_match_peak_bytes,
    ) {
        (_, None) => reserved,
        (0, Some(0)) => "neither the reserved memory nor the occupied peak falls".to_owned(),
        (_, Some(saved)) => format!("{reserved}, {}", falls("occupied peak", saved)),
    };
    format!(
        "could-match: {bytes}{within} have the size of an output that no parameter is donated to, each \
         output counted once, in the order in which JAX pairs them. If the caller does not need them any \
         more and donates them (in JAX: `donate_argnums` of `jax.jit`), {saving}, with the \
         schedule as it is. Copies that XLA has to make where an output cannot be written over its \
         parameter (`not in place`) are counted.",
    )
}

/// The parameters.
pub fn parameters<L>(donation: &Donation<L>) -> Table {
    let mut table = Table::new(&[
        Column::new("bytes", "bytes", Place::Row),
        Column::new("verdict", "verdict", Place::Row),
        Column::new("at peak", "alive_at_peak", Place::Row),
        Column::new("parameter", "", Place::Cut),
        Column::new("last read", "", Place::Row),
        Column::new("by", "", Place::Cut),
        Column::new("argument", "op_name", Place::Below),
        Column::new("outputs", "", Place::Below),
        Column::new("", "parameter", Place::Exact),
        Column::new("", "index", Place::Exact),
        Column::new("", "name", Place::Exact),
        Column::new("", "allocation", Place::Exact),
        Column::new("", "space", Place::Exact),
        Column::new("", "last_read_step", Place::Exact),
        Column::new("", "last_read_by", Place::Exact),
        Column::new("", "output_allocations", Place::Exact),
        Column::new("", "saved_reserved_bytes", Place::Exact),
        Column::new("", "saved_peak_bytes", Place::Exact),
    ]);
    table.rows = donation.parameters.iter().map(parameter).collect();
    table
}

fn parameter<L>(parameter: &DonationParameter<L>) -> Vec<Cell> {
    let DonationParameter { index, outputs, .. } = parameter;
    let index = if index == "{}" { "" } else { index };
    let label = match &parameter.name {
        Some(name) => format!("{}{index} {name}", parameter.parameter),
        None => format!("{}{index}", parameter.parameter),
    };
    let numbers: Vec<String> = outputs.iter().map(u64::to_string).collect();
    let takes = if parameter.verdict == Verdict::CouldMatch.name() {
        "could be"
    } else {
        "not matched with"
    };
    let apart = match (parameter.in_place, parameter.only_with.len()) {
        (Some(false), _) => ", not in place",
        (_, 0) => "",
        (_, 1) => ", with the parameter before it",
        _ => ", with those before it",
    };
    let could_take = match (&parameter.copied_over_by, numbers.as_slice()) {
        (Some(copy), _) => Cell::text(format!("{copy} copies the output over it")),
        (None, []) => Cell::Empty,
        (None, [output]) => Cell::text(format!("{takes} output allocation {output}{apart}")),
        (None, [first, ..]) => Cell::text(format!(
            "{takes} output allocation {first}, one of several{apart}"
        )),
    };
    let last_read = parameter.last_read.as_ref();
    vec![
        Cell::Bytes(parameter.bytes),
        Cell::text(parameter.verdict),
        yes_or_no(parameter.alive_at_peak),
        Cell::text(label),
        number_if_any(last_read.map(|read| read.step)),
        last_read.map(|read| read.instruction.clone()).into(),
        parameter.op_name.clone().into(),
        could_take,
        Cell::Number(parameter.parameter),
        Cell::text(&parameter.index),
        parameter.name.clone().into(),
        Cell::Number(parameter.allocation),
        Cell::Number(parameter.space),
        number_if_any(last_read.map(|read| read.step)),
        last_read.map(|read| read.instruction.clone()).into(),
        Cell::text(numbers.join(" ")),
        number_if_any(parameter.saved_reserved_bytes),
        number_if_any(parameter.saved_peak_bytes),
    ]
}

fn number_if_any(number: Option<u64>) -> Cell {
    number.map_or(Cell::Empty, Cell::Number)
}

fn yes_or_no(answer: Option<bool>) -> Cell {
    answer.map(|yes| if yes { "yes" } else { "no" }).into()
}

fn copies_page<L>(page: &mut Page, copies: &Copies<L>) {
    let count = copies.copies.len() + copies.copies_left_out;
    if count == 0 {
        page.heading(match copies.reason {
            Some(reason) => format!("Copies: none is known: {reason}"),
            None => "Copies: none".to_owned(),
        });
        return;
    }
    let is = if count == 1 {
        "copy writes"
    } else {
        "copies write"
    };
    let known = copies.spaces.iter().filter_map(|space| space.copied_bytes);
    let total = known.reduce(u64::saturating_add);
    page.heading(match total {
        Some(bytes) => format!("Copies: {count} {is} {}", display(bytes)),
        None => format!("Copies: {count}, of how many bytes is not known"),
    });
    if let Some(reason) = copies.reason {
        page.text(format!("Not everything is known of them: {reason}."));
    }
    let by_space: Vec<String> = copies
        .spaces
        .iter()
        .filter_map(|space| {
            let written = format!("{} to {}", rounded(space.copied_bytes?), space.name);
            Some(match space.at_peak_bytes {
                Some(0) if copies.reason.is_none() => {
                    format!("{written}, none of it alive at the peak there")
                }
                Some(bytes) if bytes > 0 => {
                    format!(
                        "{written}, {} of it alive at the peak there",
                        rounded(bytes)
                    )
                }
                _ => written,
            })
        })
        .collect();
    if !by_space.is_empty() {
        page.text(format!("{}.", by_space.join("; ")));
    }
    if let Some(sentence) = in_loops(copies) {
        page.text(sentence);
    }
    page.table(copy_table(copies));
    if copies.copies_left_out > 0 {
        let more = grouped(copies.copies_left_out as u64);
        page.text(format!("... and {more} more."));
    }
}

/// What those cost that are made again and again.
fn in_loops<L>(copies: &Copies<L>) -> Option<String> {
    let (is, all) = match copies.in_loops {
        0 => return None,
        1 => ("One of them is in a loop".to_owned(), "its turns"),
        more => (format!("{more} of them are in loops"), "their turns"),
    };
    Some(match copies.bytes_of_all_turns {
        Some(bytes) => format!(
            "{is}, and made in each turn: with all {all} it is {}.",
            display(bytes)
        ),
        None => format!("{is}, and made in each turn, here counted once."),
    })
}

/// The copies.
pub fn copy_table<L>(copies: &Copies<L>) -> Table {
    let mut table = Table::new(&[
        Column::new("bytes", "bytes", Place::Row),
        Column::new("kind", "kind", Place::Row),
        Column::new("at peak", "", Place::Row),
        Column::new("", "alive_at_peak", Place::Exact),
        Column::new("steps", "", Place::Row),
        Column::new("copy", "name", Place::Cut),
        Column::new("of", "operand", Place::Cut),
        Column::new("change", "", Place::Own),
        Column::new("round trip", "", Place::Below),
        Column::new("loop", "", Place::Below),
        Column::new("source", "", Place::Below),
        Column::new("op_name", "op_name", Place::Below),
        Column::new("", "source", Place::Exact),
        Column::new("", "from_space", Place::Exact),
        Column::new("", "from_layout", Place::Exact),
        Column::new("", "to_space", Place::Exact),
        Column::new("", "to_layout", Place::Exact),
        Column::new("", "first_step", Place::Exact),
        Column::new("", "last_step", Place::Exact),
        Column::new("", "takes_back", Place::Exact),
        Column::new("", "in_loop", Place::Exact),
        Column::new("", "turns", Place::Exact),
    ]);
    table.rows = copies.copies.iter().map(copy).collect();
    table
}

fn copy<L>(copy: &CopyRecord<L>) -> Vec<Cell> {
    let round_trip = copy.round_trip.as_deref();
    // The peak of the memory space that it writes to: another one than the main memory is named.
    let peak = copy.peak_of.as_deref();
    let peak = peak.filter(|_| copy.alive_at_peak == Some(true) && copy.to.space != Some(0));
    vec![
        Cell::bytes(copy.bytes),
        Cell::text(copy.kind),
        peak.map_or_else(|| yes_or_no(copy.alive_at_peak), Cell::text),
        yes_or_no(copy.alive_at_peak),
        copy.window.map(range).into(),
        Cell::text(&copy.name),
        Cell::text(&copy.operand),
        change(copy).into(),
        round_trip.map(|name| format!("takes {name} back")).into(),
        copy.in_loop
            .as_ref()
            .map(|name| match copy.turns {
                Some(turns) => format!("{} of {name}", counted(turns, "turn")),
                None => format!("turns of {name}"),
            })
            .into(),
        short_source(copy.source.as_deref()).into(),
        copy.op_name.clone().into(),
        copy.source.clone().into(),
        Cell::number(copy.from.space),
        copy.from.layout.clone().into(),
        Cell::number(copy.to.space),
        copy.to.layout.clone().into(),
        Cell::number(copy.window.map(|window| window.0)),
        Cell::number(copy.window.map(|window| window.1)),
        round_trip.into(),
        copy.in_loop.clone().into(),
        Cell::number(copy.turns),
    ]
}

/// What the copy changes: `f32[8,128]{1,0} -> {0,1}`.
fn change<L>(copy: &CopyRecord<L>) -> Option<String> {
    let from = copy.from.shape.as_deref()?;
    let to = copy.to.shape.as_deref()?;
    if from == to {
        return Some(from.to_owned());
    }
    let same_array = |from: &str, to: &str| {
        let bare = |shape: &str, layout: &str| shape.strip_suffix(layout).map(str::to_owned);
        let (before, behind) = (copy.from.layout.as_deref()?, copy.to.layout.as_deref()?);
        (bare(from, before)? == bare(to, behind)?).then(|| format!("{from} -> {behind}"))
    };
    Some(same_array(from, to).unwrap_or_else(|| format!("{from} -> {to}")))
}

fn offload_page(page: &mut Page, offload: &Offload) {
    if offload.traffic.is_empty() {
        page.heading(match offload.reason {
            Some(reason) => format!("Between memory spaces: nothing is known: {reason}"),
            None => "Between memory spaces: nothing moves".to_owned(),
        });
        return;
    }
    let traffic_of = offload.traffic.iter();
    let copies: usize = traffic_of.clone().map(|it| it.copies).sum();
    let bytes = traffic_of
        .filter_map(|it| it.bytes)
        .reduce(u64::saturating_add);
    let moves = if copies == 1 {
        "copy moves"
    } else {
        "copies move"
    };
    page.heading(format!(
        "Between memory spaces: {} {moves} {}",
        grouped(copies as u64),
        bytes.map_or_else(|| "bytes that are not known".to_owned(), display)
    ));
    page.table(traffic(offload));
    for back in &offload.comes_back {
        let parameter = match back.parameter {
            Some(number) => format!("Parameter {number}"),
            None => format!("Allocation {}", back.allocation),
        };
        let by = back.copy.as_deref().unwrap_or("a copy");
        page.text(format!(
            "{parameter}, {} in host memory, comes back whole with {by}: while that copy is alive, \
             keeping it on the host saves nothing.",
            rounded(back.bytes)
        ));
    }
}

/// What moves between memory spaces.
pub fn traffic(offload: &Offload) -> Table {
    let mut table = Table::new(&[
        Column::new("bytes", "bytes", Place::Row),
        Column::new("copies", "copies", Place::Row),
        Column::new("route", "route", Place::Row),
        Column::new("most in flight", "most_in_flight_bytes", Place::Row),
        Column::new("at step", "most_in_flight_step", Place::Row),
        Column::new("", "from_space", Place::Exact),
        Column::new("", "to_space", Place::Exact),
    ]);
    table.rows = offload
        .traffic
        .iter()
        .map(|traffic| {
            let most = traffic.most_in_flight.as_ref();
            vec![
                Cell::bytes(traffic.bytes),
                Cell::Number(traffic.copies as u64),
                Cell::text(&traffic.route),
                most.map_or(Cell::Empty, |most| Cell::Bytes(most.bytes)),
                Cell::number(most.map(|most| most.step)),
                Cell::number(traffic.from),
                Cell::number(traffic.to),
            ]
        })
        .collect();
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_donation_saves_is_said_of_both_numbers() {
        let mut space = DonationSpace {
            color: 0,
            name: "HBM".into(),
            parameter_bytes: 8 << 20,
            donated_bytes: 0,
            not_usable_bytes: 0,
            could_match_bytes: 4 << 20,
            could_match_reserved_bytes: 3 << 20,
            could_match_peak_bytes: Some(0),
            dead_bytes: Some(0),
            whole_bytes: 64 << 20,
        };
        let text = |spaces: &[&DonationSpace]| {
            let mut page = Page::default();
            let donation: Donation<()> = Donation {
                reason: None,
                parameters: Vec::new(),
                parameters_left_out: 0,
                parameter_bytes: None,
                donated_bytes: None,
                not_usable_bytes: None,
                could_match_bytes: None,
                could_match_reserved_bytes: None,
                could_match_peak_bytes: None,
                dead_bytes: None,
                spaces: spaces.iter().map(|&space| space.clone()).collect(),
            };
            donation_page(&mut page, &donation);
            let mut out = Vec::new();
            page.write_text(&mut out, 400).expect("written");
            let out = String::from_utf8(out).expect("text");
            // Lines may break anywhere.
            out.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let says = text(&[&space]);
        assert!(
            says.contains("reserved memory falls by at most 3.0 MiB"),
            "{says}"
        );
        assert!(says.contains("peak does not fall"), "{says}");
        space.could_match_peak_bytes = Some(1 << 20);
        let says = text(&[&space]);
        assert!(
            says.contains("the occupied peak falls by at most 1.0 MiB"),
            "{says}"
        );
        space.could_match_peak_bytes = None;
        assert!(!text(&[&space]).contains("occupied peak"));
        space.not_usable_bytes = 2 << 20;
        assert!(text(&[&space]).contains("not-usable: 2.0 MiB are donated in vain"));
        // A few bytes are not worth a sentence.
        (space.could_match_bytes, space.dead_bytes) = (4, Some(4));
        assert!(!text(&[&space]).contains("could-match"));
        assert!(!text(&[&space]).contains("dead"));
        space.whole_bytes = 400;
        assert!(text(&[&space]).contains("could-match: 4 B"));
        // Bytes of several memory spaces are not added up.
        let host = DonationSpace {
            color: 5,
            name: "host memory".into(),
            ..space.clone()
        };
        let says = text(&[&space, &host]);
        for part in [
            "of parameters in HBM none is donated, 4 B could be; of 8.0 MiB",
            "of parameters in host memory none is donated, 4 B could be",
            "could-match: 4 B in HBM have",
            "dead: 4 B in host memory are",
        ] {
            assert!(says.contains(part), "{says}");
        }
    }
}
