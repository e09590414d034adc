//! Failures for want of memory.

use rustc_hash::FxHashMap;

use super::{STATIC, counted, live, short_source, step};
use crate::model::bytes::{display, grouped, rounded};
use crate::model::failure::{holds_values, is_semaphores};
use crate::model::space;
use crate::report::page::Page;
use crate::report::records::{
    EntryRecord, FailedDump, FailedText, FailureRecord, OutOfMemory, PeakValue, Size,
};
use crate::report::table::{Cell, Column, Place, Table};

/// So many places that say the same are named.
const MAX_PLACES: usize = 8;

/// Where something is said: the name of a text and a line in it, from 1.
type Said<'t> = (&'t str, u32);

/// All texts. What several ranks say, or an exception and its cause, is
/// explained once.
pub fn page<L>(answer: &OutOfMemory<L>) -> Page {
    let mut told: Vec<(String, Page, Vec<Said>)> = Vec::new();
    let mut by_message: FxHashMap<Option<&str>, Vec<usize>> = FxHashMap::default();
    for text in &answer.texts {
        for failure in &text.failures {
            let (verdict, explained) = (verdict(failure), failed(text, failure));
            let same = by_message.entry(failure.message.as_deref()).or_default();
            let place = (text.file.as_str(), failure.line);
            let is_same = |&&at: &&usize| told[at].0 == verdict && told[at].1 == explained;
            if let Some(&at) = same.iter().find(is_same) {
                told[at].2.push(place);
            } else {
                same.push(told.len());
                told.push((verdict, explained, vec![place]));
            }
        }
    }
    let mut page = Page::default();
    for (verdict, explained, places) in told {
        let Some((&(file, line), others)) = places.split_first() else {
            continue;
        };
        page.verdict(format!("{file}:{line}: {verdict}"));
        if !others.is_empty() {
            page.text(format!("The same is said {}.", at(file, others)));
        }
        page.append(explained);
    }
    page
}

/// `at line 3`, `at lines 3, 5 and 9`, `at rank1.log:1, rank2.log:1 and 40 more`; lines without a name are in
/// `file`.
fn at(file: &str, places: &[Said]) -> String {
    let is_here = places.iter().all(|place| place.0 == file);
    let named = places.iter().take(MAX_PLACES).map(|(file, line)| {
        if is_here {
            line.to_string()
        } else {
            format!("{file}:{line}")
        }
    });
    let mut named: Vec<String> = named.collect();
    let more = places.len() - named.len();
    if more > 0 {
        named.push(format!("{} more", grouped(more as u64)));
    }
    let what = match (is_here, places.len()) {
        (false, _) => "",
        (true, 1) => "line ",
        (true, _) => "lines ",
    };
    match named.split_last() {
        Some((last, [])) => format!("at {what}{last}"),
        Some((last, first)) => format!("at {what}{} and {last}", first.join(", ")),
        None => String::new(),
    }
}

/// What is said of a failure, wherever it stands.
fn failed<L>(text: &FailedText<L>, failure: &FailureRecord<L>) -> Page {
    let mut page = Page::default();
    if let Some(message) = &failure.message {
        page.text(format!("The message: {message}"));
    }
    if let Some(sentence) = form(failure) {
        page.text(sentence);
    }
    if is_scattered(failure) {
        page.text("More is free than was wanted, but not in one piece.");
    }
    page.table(amounts(failure));
    let count = listed(failure);
    if count == 0 && failure.form == Some("scoped") {
        // There is no list of such, and no dump tells of it.
        return page;
    }
    if count == 0 {
        // A warning never does.
        if failure.form != Some("rematerialization") {
            page.text("It lists no allocations.");
        }
    } else {
        page.heading(format!("It lists {}", counted(count, "allocation")));
        page.table(entries_of(text, failure));
        if failure.entries_left_out > 0 {
            let more = counted(failure.entries_left_out, "allocation");
            page.text(format!("... and {more} more."));
        }
    }
    if is_spilled(failure) {
        page.text(
            "The largest of them are registers that a kernel has spilled: with smaller blocks, or fewer values at work at \
             once, it needs less of them.",
        );
    }
    match (&failure.dump, &text.reason) {
        (Some(dump), _) => page.append(beside(failure, dump)),
        (None, Some(reason)) => page.text(format!("What it leaves out is not known: {reason}.")),
        (None, None) => {}
    }
    page
}

/// How many allocations it lists.
fn listed<L>(failure: &FailureRecord<L>) -> usize {
    failure.entries.len() + failure.entries_left_out
}

/// Whether the largest allocation is of spilled registers.
fn is_spilled<L>(failure: &FailureRecord<L>) -> bool {
    let label = failure
        .entries
        .first()
        .and_then(|entry| entry.label.as_deref());
    label.is_some_and(|label| label.starts_with("register allocator spill slots"))
}

/// Whether a request failed though there was enough.
fn is_scattered<L>(failure: &FailureRecord<L>) -> bool {
    let bytes = |size: &Option<Size>| size.as_ref()?.bytes;
    let sizes = bytes(&failure.wanted).zip(bytes(&failure.available));
    failure.form == Some("request") && sizes.is_some_and(|(wanted, free)| free >= wanted)
}

fn verdict<L>(failure: &FailureRecord<L>) -> String {
    let space = failure.space.as_deref().map_or("memory", space::spelled);
    match (&failure.wanted, &failure.available) {
        (Some(wanted), Some(available)) if failure.form == Some("request") => format!(
            "out of {space}: {} wanted, {} free",
            sized(wanted),
            sized(available)
        ),
        (Some(wanted), Some(limit)) if failure.form == Some("rematerialization") => {
            let more = wanted.bytes.zip(limit.bytes);
            let more = more.map_or(0, |(wanted, limit)| wanted.saturating_sub(limit));
            let (wanted, limit, more) = (sized(wanted), sized(limit), rounded(more));
            format!("over the compiler's limit: {wanted} at once, {limit} allowed, {more} too much")
        }
        (Some(wanted), Some(limit)) if failure.form == Some("scoped") => {
            let more = failure.exceeded.as_ref();
            let more = more.map_or_else(String::new, |more| format!(", {} too much", sized(more)));
            let (wanted, limit) = (sized(wanted), sized(limit));
            format!("over the limit of scoped {space}: {wanted} wanted, {limit} allowed{more}")
        }
        (Some(wanted), Some(available)) => {
            let difference = wanted.bytes.zip(available.bytes);
            let difference = difference.and_then(|(wanted, there)| wanted.checked_sub(there));
            let more = match (&failure.exceeded, difference) {
                (Some(more), _) => format!(", {} too much", sized(more)),
                (None, Some(more)) if more > 0 => {
                    let about = if is_exact(wanted) && is_exact(available) {
                        ""
                    } else {
                        "about "
                    };
                    format!(", {about}{} too much", rounded(more))
                }
                // Both are rounded, and the same.
                (None, _) => String::new(),
            };
            format!(
                "out of {space}: {} wanted, {} there{more}",
                sized(wanted),
                sized(available)
            )
        }
        (Some(wanted), None) => format!("out of {space}: {} wanted", sized(wanted)),
        _ if failure.message.is_some() => format!("out of {space}"),
        _ => "the largest allocations of a program that did not fit".to_owned(),
    }
}

/// As it is printed, or rounded where exact bytes are.
fn sized(size: &Size) -> String {
    match size.bytes {
        Some(bytes) if is_exact(size) => rounded(bytes),
        _ => size.text.clone(),
    }
}

/// Whether exact bytes are printed.
fn is_exact(size: &Size) -> bool {
    size.text.parse::<u64>().is_ok()
}

fn form<L>(failure: &FailureRecord<L>) -> Option<&'static str> {
    match failure.form? {
        "allocation" => match failure.space.as_deref()? {
            space if holds_values(space) => Some(
                "That is one value alone, and more than the whole memory has: the message's tag says which.",
            ),
            space if is_semaphores(space) => Some(
                "Those are semaphores of a kernel, which are in no buffer assignment: it asks for too many.",
            ),
            _ => Some(match failure.message.as_deref()? {
                message if message.contains("tag = 'prefetched SMEM operand") => {
                    "That is an operand that a kernel has whole before it starts (`num_scalar_prefetch`), which is in no \
                     buffer assignment: make it smaller, or let blocks of it come."
                }
                message if message.contains("tag = 'scratch operand") => {
                    "That is scratch that a kernel asks for (`scratch_shapes`), which is in no buffer assignment: make \
                     it smaller."
                }
                _ => {
                    "That is one block or scratch of a kernel, which is in no buffer assignment: make the \
                     kernel's blocks smaller."
                }
            }),
        },
        "scoped" => Some(
            "That is the scratch of the one instruction that the message names, which is in no buffer assignment: make \
             the blocks of a kernel smaller, or the limit larger with `xla_tpu_scoped_vmem_limit_kib`.",
        ),
        "request" => {
            Some("That is a request at run time, beside whatever else the device held then.")
        }
        "rematerialization" => Some(
            "That is a warning, and the compiler goes on: so much is alive at once after it has chosen what to compute \
             again. The limit is a part of the device's memory, less arguments and results.",
        ),
        _ => None,
    }
}

fn amounts<L>(failure: &FailureRecord<L>) -> Table {
    let mut table = Table::new(&[
        Column::new("size", "", Place::Row),
        Column::new("of", "", Place::Cut),
    ]);
    table.rows = failure
        .amounts
        .iter()
        .map(|amount| {
            let Some((first, others)) = amount.sizes.split_first() else {
                let what = match amount.name.as_str() {
                    "Output size" => "output",
                    name => name,
                };
                return vec![Cell::text("unknown"), Cell::text(what)];
            };
            let least = if amount.at_least { "at least " } else { "" };
            let others: Vec<&str> = others.iter().map(|size| size.text.as_str()).collect();
            let what = match (&others[..], amount.name.as_str()) {
                ([], name) => name.to_owned(),
                ([unpadded, padded, idle], name) => {
                    format!("{name}: {unpadded} unpadded, {padded} padded, {idle} fragmented")
                }
                ([shared], "Output size") => {
                    format!("output, {shared} of it shared with arguments")
                }
                (_, name) => format!("{name} ({})", others.join(", ")),
            };
            vec![
                Cell::text(format!("{least}{}", first.text)),
                Cell::text(what),
            ]
        })
        .collect();
    table
}

fn entries_of<L>(text: &FailedText<L>, failure: &FailureRecord<L>) -> Table {
    let mut table = Table::new(&[
        Column::new("size", "", Place::Row),
        Column::new("padding", "", Place::Row),
        Column::new("type", "kind", Place::Row),
        Column::new("value", "", Place::Row),
        Column::new("name", "name", Place::Cut),
        Column::new("shape", "shape", Place::Own),
        Column::new("tag", "", Place::Own),
        Column::new("source", "", Place::Below),
        Column::new("op_name", "op_name", Place::Spare),
        Column::new("", "bytes", Place::Exact),
        Column::new("", "unpadded_bytes", Place::Exact),
        Column::new("", "tag", Place::Exact),
        Column::new("", "source", Place::Exact),
        Column::new("", "is_exact", Place::Exact),
        Column::new("", "values", Place::Exact),
        Column::new("", "values_left_out", Place::Exact),
        Column::new("", "file", Place::Exact),
    ]);
    table.rows = failure
        .entries
        .iter()
        .map(|entry| row(entry, &text.file))
        .collect();
    table
}

/// The listed allocations of all texts, exact enough for programs.
pub fn entries<L>(answer: &OutOfMemory<L>) -> Table {
    let mut table: Option<Table> = None;
    for text in &answer.texts {
        for failure in &text.failures {
            let more = entries_of(text, failure);
            match &mut table {
                Some(table) => table.rows.extend(more.rows),
                None => table = Some(more),
            }
        }
    }
    table.unwrap_or_else(|| Table::new(&[]))
}

fn row(entry: &EntryRecord, file: &str) -> Vec<Cell> {
    let text = |size: &Option<Size>| size.as_ref().map(|size| size.text.clone());
    let bytes = |size: &Option<Size>| Cell::number(size.as_ref().and_then(|size| size.bytes));
    let values: Vec<String> = entry.values.iter().map(u64::to_string).collect();
    let value = match (&values[..], entry.is_exact) {
        ([], _) => None,
        ([id], true) => Some(id.clone()),
        ([one], false) => Some(format!("{one}?")),
        ([first, rest @ ..], _) => {
            Some(format!("{first}? +{}", rest.len() + entry.values_left_out))
        }
    };
    // Behind its first sentence is how to read the shape.
    let tag = entry.tag.as_deref().and_then(|tag| tag.split(". ").next());
    vec![
        text(&entry.size).into(),
        text(&entry.padding).into(),
        entry.kind.clone().into(),
        value.into(),
        entry.name.clone().or_else(|| entry.label.clone()).into(),
        entry.shape.clone().into(),
        tag.map(str::to_owned).into(),
        short_source(entry.source.as_deref()).into(),
        entry.op_name.clone().into(),
        bytes(&entry.size),
        bytes(&entry.unpadded),
        entry.tag.clone().into(),
        entry.source.clone().into(),
        Cell::text(if entry.is_exact { "true" } else { "false" }),
        Cell::text(values.join(" ")),
        Cell::number(Some(entry.values_left_out as u64)),
        Cell::text(file),
    ]
}

/// What a message that rounds both sizes to the same does not tell: by how much one is more.
fn barely<L>(failure: &FailureRecord<L>, dump: &FailedDump<L>) -> Option<String> {
    let (wanted, there) = (failure.wanted.as_ref()?, failure.available.as_ref()?);
    let more = dump.reserved_bytes.checked_sub(there.bytes?)?;
    (wanted.bytes == there.bytes && more > 0).then(|| {
        format!(
            "That is {} more than the {} there, as far as that is exact.",
            rounded(more),
            sized(there)
        )
    })
}

/// What the dump says besides.
fn beside<L>(failure: &FailureRecord<L>, dump: &FailedDump<L>) -> Page {
    let mut page = Page::default();
    page.heading(format!("What it leaves out: the dump of {}", dump.module));
    page.text(format!(
        "The dump is {}-*; `buflens check` advises on it, `peak`, `padding`, `audit` and `report` tell more.",
        dump.stem
    ));
    if dump.reserved_bytes == 0 {
        page.text(format!(
            "The buffer assignment reserves nothing of {}.",
            dump.name
        ));
        return page;
    }
    let kinds = [
        ("arguments", dump.parameter_bytes),
        ("outputs", dump.output_bytes),
        ("constants", dump.constant_bytes),
        ("temporaries", dump.temp_bytes),
    ];
    let kinds: Vec<String> = kinds
        .into_iter()
        .filter(|(_, bytes)| *bytes > 0)
        .map(|(name, bytes)| format!("{} of {name}", rounded(bytes)))
        .collect();
    page.text(format!(
        "{}: {} reserved{}{}.",
        dump.name,
        display(dump.reserved_bytes),
        if kinds.is_empty() { "" } else { ": " },
        kinds.join(", ")
    ));
    if let Some(sentence) = barely(failure, dump) {
        page.text(sentence);
    }
    if let Some(sentence) = counts(failure, dump) {
        page.text(sentence);
    }
    if let Some(value) = &dump.tagged {
        let told = [
            value.kind.map(str::to_owned),
            value.bytes.map(rounded),
            value
                .live
                .map(|[first, last]| format!("alive at steps {first}-{last}")),
            value.shape.clone(),
            short_source(value.source.as_deref()),
            value.op_name.clone(),
        ];
        let told: Vec<String> = told.into_iter().flatten().collect();
        page.text(format!(
            "The value that the message's tag names is {}: {}.",
            value.label(),
            told.join(", ")
        ));
    }
    match &dump.peak {
        Some(peak) => page.text(format!(
            "At the true peak, {}, {} are occupied, {} of it padding.",
            step(peak),
            display(peak.occupied_bytes),
            rounded(dump.padding_bytes.unwrap_or(0))
        )),
        None => page.text(format!(
            "The true peak is not known: {}.",
            dump.reason.as_deref().unwrap_or("the dump does not tell")
        )),
    }
    page.text(STATIC);
    if let Some(unlisted) = dump.unlisted_bytes.filter(|&bytes| bytes > 0) {
        page.text(if listed(failure) == 0 {
            "The values there:".to_owned()
        } else {
            format!(
                "{} of that are values that are certainly in the list, {} are others:",
                rounded(dump.listed_bytes),
                rounded(unlisted)
            )
        });
        page.table(unlisted_values(dump));
        if dump.unlisted_left_out > 0 {
            page.text(format!(
                "... and {}, none larger; `buflens peak` shows all.",
                counted(dump.unlisted_left_out, "more value")
            ));
        }
    }
    page
}

/// What the message's number really is.
fn counts<L>(failure: &FailureRecord<L>, dump: &FailedDump<L>) -> Option<String> {
    let wanted = &failure.wanted.as_ref()?.text;
    let others = dump.reserved_bytes.saturating_sub(dump.temp_bytes);
    match (failure.form?, dump.message_counts) {
        ("total", Some("reserved")) if others > 0 => Some(format!(
            "The {wanted} that the message calls \"HLO temporaries\" are all of these together: the \
             temporaries are {}.",
            rounded(dump.temp_bytes)
        )),
        ("used", Some("temp")) if others > 0 => Some(format!(
            "The {wanted} that the message counts are the temporaries alone: {} more are reserved.",
            rounded(others)
        )),
        ("used" | "total", Some("without_outputs")) => Some(format!(
            "The {wanted} that the message counts are these without the outputs."
        )),
        ("used" | "total", Some("arguments")) => Some(format!(
            "The {wanted} that the message counts are the arguments alone."
        )),
        ("used" | "total", None) if is_scratch(failure) => Some(format!(
            "Nearly all of the {wanted} of the message are memory of kernels (`scoped`), which is in no buffer assignment."
        )),
        // What the list has of it, it is of.
        ("used" | "total", None) if dump.listed_bytes == 0 => Some(format!(
            "The {wanted} of the message are neither all of these nor the temporaries: it may be \
             of another compilation, or count more."
        )),
        _ => None,
    }
}

/// Whether the message's first size is that of kernels, but for a hundredth.
fn is_scratch<L>(failure: &FailureRecord<L>) -> bool {
    let bytes = |size: &Size| size.bytes;
    let scoped = failure.amounts.iter().find(|it| it.name == "scoped");
    let scoped = scoped.and_then(|it| it.sizes.first().and_then(bytes));
    let wanted = failure.wanted.as_ref().and_then(bytes);
    wanted
        .zip(scoped)
        .is_some_and(|(wanted, scoped)| scoped >= wanted - wanted / 100)
}

fn unlisted_values<L>(dump: &FailedDump<L>) -> Table {
    let mut table = Table::new(&[
        Column::new("bytes", "", Place::Row),
        Column::new("kind", "", Place::Row),
        Column::new("alive", "", Place::Row),
        Column::new("value", "", Place::Cut),
        Column::new("shape", "", Place::Own),
        Column::new("source", "", Place::Below),
        Column::new("op_name", "", Place::Spare),
    ]);
    let row = |held: &PeakValue<L>| {
        let value = &held.value;
        vec![
            Cell::Bytes(held.own_bytes),
            value.kind.map(str::to_owned).into(),
            live(value).into(),
            Cell::text(value.label()),
            value.shape.clone().into(),
            short_source(value.source.as_deref()).into(),
            value.op_name.clone().into(),
        ]
    };
    table.rows = dump.unlisted.iter().map(row).collect();
    table
}
