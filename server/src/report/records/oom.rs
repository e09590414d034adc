//! What failures say, and what the dump of the program says besides.

use std::collections::BTreeSet;
use std::rc::Rc;

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::{Moment, Peak, PeakQuery, PeakValue, SCHEMA, Source, Value, peak, source_line, value};
use crate::audit::out_of_memory::{color_of_failure, values_of};
use crate::audit::{Audit, padding};
use crate::model::failure::{self, Form, Printed};
use crate::model::occupancy::reserved_by_kind;
use crate::model::origin::Origin;
use crate::model::source::frames;
use crate::model::space;
use crate::workspace::{program_name, stem_or_path};

/// So many values that an entry may mean are told: each entry of a long list may mean a hundred thousand.
const MAX_MEANT: usize = 100;

/// The answer about one or several texts.
#[derive(Debug, Clone, Serialize)]
pub struct OutOfMemory<L> {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The texts, in the order in which they were named.
    pub texts: Vec<FailedText<L>>,
}

impl<L> OutOfMemory<L> {
    /// The answer.
    pub fn new(texts: Vec<FailedText<L>>) -> Self {
        Self {
            schema: SCHEMA,
            texts,
        }
    }
}

/// A text with failures in it.
#[derive(Debug, Clone, Serialize)]
pub struct FailedText<L> {
    /// The path as given, `-` for what was piped in.
    pub file: String,
    /// Why there is no dump beside it.
    pub reason: Option<String>,
    /// The failures.
    pub failures: Vec<FailureRecord<L>>,
}

/// A size as it is printed and in bytes, as far as its digits tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Size {
    /// `15.75G`
    pub text: String,
    /// Bytes.
    pub bytes: Option<u64>,
}

/// One failure.
#[derive(Debug, Clone, Serialize)]
pub struct FailureRecord<L> {
    /// The line, from 1.
    pub line: u32,
    /// The sentence that says what ran out.
    pub message: Option<String>,
    /// `used`, `scoped`, `total`, `allocation`, `request` or `rematerialization`.
    pub form: Option<&'static str>,
    /// The memory space's name, as printed.
    pub space: Option<String>,
    /// What was wanted.
    pub wanted: Option<Size>,
    /// What there is; of a request, what is free; of a rematerialization, what the compiler allows.
    pub available: Option<Size>,
    /// By how much more is wanted than there is, where the message says so.
    pub exceeded: Option<Size>,
    /// The sums.
    pub amounts: Vec<AmountRecord>,
    /// The largest allocations, as listed.
    pub entries: Vec<EntryRecord>,
    /// How many more it lists.
    pub entries_left_out: usize,
    /// What the dump says; `null` without one, and where it was about the scratch of one instruction, of which no dump
    /// tells. Of failures alike it is the same.
    pub dump: Option<Rc<FailedDump<L>>>,
}

/// A line of the sums.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AmountRecord {
    /// What it is the sum of.
    pub name: String,
    /// The sum, and what else the line has: unpadded, padded, fragmentation. Empty if it is not known.
    pub sizes: Vec<Size>,
    /// Whether the sum is the least that it can be.
    pub at_least: bool,
}

/// One of the largest allocations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EntryRecord {
    /// Its number in the list.
    pub number: u64,
    /// Bytes that it takes.
    pub size: Option<Size>,
    /// Bytes without padding.
    pub unpadded: Option<Size>,
    /// Bytes of padding.
    pub padding: Option<Size>,
    /// The instruction's name.
    pub name: Option<String>,
    /// What XLA calls it.
    pub label: Option<String>,
    /// `HLO temp` and the like.
    pub kind: Option<String>,
    /// What a kernel has it for.
    pub tag: Option<String>,
    /// The shape.
    pub shape: Option<String>,
    /// The trace path.
    pub op_name: Option<String>,
    /// The line of source.
    pub source: Option<String>,
    /// Whether `values` is the one that is meant, by name, shape and size.
    pub is_exact: bool,
    /// The ids of the values in the dump that may be meant, the first 100. Of entries alike they are the same.
    pub values: Rc<[u64]>,
    /// How many more there are.
    pub values_left_out: usize,
}

/// What the dump of the program says.
#[derive(Debug, Clone, Serialize)]
pub struct FailedDump<L> {
    /// The program.
    pub module: String,
    /// The path without what tells the files of a dump apart.
    pub stem: String,
    /// The memory space.
    pub color: u64,
    /// Its name.
    pub name: String,
    /// The sizes of its allocations.
    pub reserved_bytes: u64,
    /// Of these, of parameters.
    pub parameter_bytes: u64,
    /// Of parts of the result that share nothing with a parameter.
    pub output_bytes: u64,
    /// Of literals.
    pub constant_bytes: u64,
    /// Of all that comes and goes.
    pub temp_bytes: u64,
    /// The value that the message's tag names: it alone is more than there is.
    pub tagged: Option<Value<L>>,
    /// What of this the message's first number is: `reserved`, `temp`, `arguments`, or `without_outputs` for what is
    /// reserved but for outputs; `null` if none of them.
    pub message_counts: Option<&'static str>,
    /// The true peak.
    pub peak: Option<Moment>,
    /// Why none is known.
    pub reason: Option<String>,
    /// Padding among the bytes occupied then.
    pub padding_bytes: Option<u64>,
    /// Of the bytes occupied then, those of values in the list.
    pub listed_bytes: u64,
    /// And those that are not in it.
    pub unlisted_bytes: Option<u64>,
    /// The values at the peak that are not in the list, the largest first.
    pub unlisted: Vec<PeakValue<L>>,
    /// How many more there are.
    pub unlisted_left_out: usize,
}

fn size(printed: Printed) -> Size {
    Size {
        text: printed.0.to_owned(),
        bytes: printed.bytes(),
    }
}

/// The records of failures, each with its line, and with what the dump says if there is one. A log may tell of
/// thousands: what they have in common is looked up once.
pub fn failed<'f, L: Clone>(
    failures: impl Iterator<Item = (u32, &'f failure::Failure<'f>)>,
    source: Option<&Source<'_, '_, L>>,
    limit: usize,
) -> Vec<FailureRecord<L>> {
    let mut known = FxHashMap::default();
    let (mut peaks, mut dumps) = (FxHashMap::default(), FxHashMap::default());
    let record = |(line, failure): (u32, &'f failure::Failure<'f>)| {
        let color = color_of_failure(failure);
        let meant = |entry: &'f failure::Entry<'f>| {
            let size = entry.size.map(|size| size.0);
            let meant = known.entry((
                color,
                entry.label,
                entry.kind,
                entry.shape,
                entry.is_parameter,
                size,
            ));
            meant
                .or_insert_with(|| Meant::of(source, color, entry))
                .clone()
        };
        let meant: Vec<Meant> = failure.entries.iter().map(meant).collect();
        let is_scoped = failure.message.is_some_and(|it| it.form == Form::Scoped);
        let dump = source.filter(|_| !is_scoped).map(|source| {
            let fullest = peaks.entry(color).or_insert_with(|| fullest(source, color));
            let told = dumps.entry(Told::of(failure, &meant));
            let told =
                told.or_insert_with_key(|told| Rc::new(failed_dump(source, told, fullest, limit)));
            Rc::clone(told)
        });
        let entries = failure.entries.iter().zip(&meant).take(limit);
        let audit = source.map(|it| it.audit);
        let entries = entries.map(|(entry, meant)| entry_record(audit, entry, meant));
        failure_record(failure, line, entries.collect(), dump)
    };
    failures.map(record).collect()
}

/// The values that an entry may mean.
#[derive(Clone)]
struct Meant {
    is_exact: bool,
    /// The first [`MAX_MEANT`].
    ids: Rc<[u64]>,
    left_out: usize,
}

impl Meant {
    fn of<L>(source: Option<&Source<'_, '_, L>>, color: u64, entry: &failure::Entry) -> Self {
        let found = source.map(|it| values_of(it.audit.dump, color, entry));
        let found = found.unwrap_or_default();
        let id = |&at: &u32| Some(source?.audit.dump.values.get(at as usize)?.id);
        Self {
            is_exact: found.is_exact,
            ids: found.values.iter().take(MAX_MEANT).filter_map(id).collect(),
            left_out: found.values.len().saturating_sub(MAX_MEANT),
        }
    }
}

/// A memory space when it is fullest.
struct Fullest<L> {
    /// With the values that have the most bytes of their own first.
    peak: Peak<L>,
    padding_bytes: Option<u64>,
}

fn fullest<L>(source: &Source<'_, '_, L>, color: u64) -> Fullest<L> {
    let query = PeakQuery::true_peak(color, usize::MAX);
    let (mut peak, _) = peak(source, &query);
    peak.values
        .sort_by_key(|held| std::cmp::Reverse(held.own_bytes));
    let padding = |step| padding::at_step(source.audit, color, step);
    Fullest {
        padding_bytes: peak.step.map(padding),
        peak,
    }
}

/// All of a failure that it depends on what a dump says of it.
#[derive(PartialEq, Eq, Hash)]
struct Told<'f> {
    color: u64,
    /// The ids of the values that are certainly listed.
    listed: BTreeSet<u64>,
    wanted: Option<&'f str>,
    /// The name and index in the message's tag.
    tagged: Option<(&'f str, &'f str)>,
}

impl<'f> Told<'f> {
    fn of(failure: &failure::Failure<'f>, meant: &[Meant]) -> Self {
        let exact = meant.iter().filter(|meant| meant.is_exact);
        let message = failure.message;
        Self {
            color: color_of_failure(failure),
            listed: exact.flat_map(|meant| meant.ids.iter().copied()).collect(),
            wanted: message.and_then(|message| Some(message.wanted?.0)),
            tagged: message.and_then(|message| message.tagged()),
        }
    }
}

fn failure_record<L>(
    failure: &failure::Failure,
    line: u32,
    entries: Vec<EntryRecord>,
    dump: Option<Rc<FailedDump<L>>>,
) -> FailureRecord<L> {
    let message = failure.message;
    FailureRecord {
        line,
        message: message.map(|message| message.text.trim().to_owned()),
        form: message.map(|message| match message.form {
            Form::Used => "used",
            Form::Scoped => "scoped",
            Form::Total => "total",
            Form::Allocation => "allocation",
            Form::Request => "request",
            Form::Rematerialization => "rematerialization",
        }),
        space: message.and_then(|message| message.space).map(str::to_owned),
        wanted: message.and_then(|message| message.wanted).map(size),
        available: message.and_then(|message| message.available).map(size),
        exceeded: message.and_then(|message| message.exceeded).map(size),
        amounts: failure
            .amounts
            .iter()
            .map(|amount| AmountRecord {
                name: amount.label.to_owned(),
                sizes: amount.sizes.iter().copied().map(size).collect(),
                at_least: amount.is_at_least,
            })
            .collect(),
        entries_left_out: failure.entries.len() - entries.len(),
        entries,
        dump,
    }
}

fn entry_record(audit: Option<&Audit>, entry: &failure::Entry, meant: &Meant) -> EntryRecord {
    let by_frame = || {
        let (audit, frame) = audit.zip(entry.stack_frame)?;
        let origin = Origin {
            frames: frames(audit.dump, frame).collect(),
            ..Origin::default()
        };
        source_line(&origin, audit)
    };
    EntryRecord {
        number: entry.number,
        size: entry.size.map(size),
        unpadded: entry.unpadded.map(size),
        padding: entry.padding.map(size),
        name: entry.name.map(str::to_owned),
        label: entry.label.map(str::to_owned),
        kind: entry.kind.map(str::to_owned),
        tag: entry.tag.map(str::to_owned),
        shape: entry.shape.map(str::to_owned),
        op_name: entry.op_name.clone(),
        source: entry.source.clone().or_else(by_frame),
        is_exact: meant.is_exact,
        values: Rc::clone(&meant.ids),
        values_left_out: meant.left_out,
    }
}

fn failed_dump<L: Clone>(
    source: &Source<'_, '_, L>,
    told: &Told,
    fullest: &Fullest<L>,
    limit: usize,
) -> FailedDump<L> {
    let (audit, color) = (source.audit, told.color);
    let dump = audit.dump;
    let kinds = reserved_by_kind(audit.dump, color);
    let sum = kinds
        .iter()
        .fold(0_u64, |sum, &bytes| sum.saturating_add(bytes));
    let [parameter_bytes, output_bytes, constant_bytes, temp_bytes] = kinds;
    let (mut listed_bytes, mut unlisted_bytes) = (0_u64, 0_u64);
    let (mut unlisted, mut unlisted_left_out) = (Vec::new(), 0);
    let found = &fullest.peak;
    for held in &found.values {
        // The list names the first of those that hold the same bytes one after the other.
        let mut names = held.buffer.iter().chain([&held.value.id]);
        if names.any(|id| told.listed.contains(id)) {
            listed_bytes = listed_bytes.saturating_add(held.own_bytes);
            continue;
        }
        unlisted_bytes = unlisted_bytes.saturating_add(held.own_bytes);
        if held.own_bytes > 0 && unlisted.len() < limit {
            unlisted.push(held.clone());
        } else {
            unlisted_left_out += usize::from(held.own_bytes > 0);
        }
    }
    let is = |bytes| told.wanted.is_some_and(|text| Printed(text).is_of(bytes));
    let path = dump.files.first().map(|file| stem_or_path(&file.path));
    FailedDump {
        module: program_name(dump),
        stem: path.map_or_else(String::new, |path| path.to_string_lossy().into_owned()),
        color,
        name: space::named(color, dump.platforms),
        reserved_bytes: sum,
        parameter_bytes,
        output_bytes,
        constant_bytes,
        temp_bytes,
        tagged: told.tagged.and_then(|(name, index)| {
            let (name, index) = (dump.names.get(name)?, dump.names.get(index)?);
            value(source, dump.values_at(name, index).next()?)
        }),
        message_counts: if is(sum) {
            Some("reserved")
        } else {
            let without_outputs = sum.saturating_sub(output_bytes);
            let is_without = output_bytes > 0 && is(without_outputs);
            let counted = is_without.then_some("without_outputs");
            let are_arguments = parameter_bytes > 0 && is(parameter_bytes);
            let counted = counted.or(are_arguments.then_some("arguments"));
            is(temp_bytes).then_some("temp").or(counted)
        },
        padding_bytes: fullest.padding_bytes,
        unlisted_bytes: found.step.map(|_| unlisted_bytes),
        peak: found
            .step
            .zip(found.occupied_bytes)
            .map(|(step, occupied_bytes)| Moment {
                step,
                instruction: found.instruction.clone(),
                occupied_bytes,
            }),
        reason: found.reason.clone(),
        listed_bytes,
        unlisted,
        unlisted_left_out,
    }
}
