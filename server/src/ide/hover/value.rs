//! Values: where they lie, how long they live, who shares their bytes.

use std::ops::Range;

use buflens_syntax::{Shape, SyntaxKind};

use super::instruction::Instruction;
use super::shape::{self, shown};
use super::{Context, percent, space};
use crate::ide::markdown::{Table, Text, code, cut};
use crate::model::bytes::{self, Padding};
use crate::model::{Allocation, Dump, NameId, Value};

/// So many values are listed in one line, and so many in a list.
pub(super) const MAX_NEIGHBOURS: usize = 6;
pub(super) const MAX_LISTED: usize = 8;
/// Neighbours are looked for among so many values of the allocation before and behind the value.
const NEIGHBOURHOOD: usize = 20_000;
/// A name is shown with so many characters.
const NAME_LIMIT: usize = 100;

/// `copy.3`, `copy-start{0}`, as a code span.
pub(super) fn title(dump: &Dump, value: &Value) -> String {
    let (name, index) = (&dump.names[value.name], &dump.names[value.index]);
    code(&cut(
        &format!("{name}{}", if index == "{}" { "" } else { index }),
        NAME_LIMIT,
    ))
}

/// The shape printed with the value, empty if there is none.
pub(super) fn shape_text<'d>(dump: &'d Dump, value: &Value) -> &'d str {
    if let Some(placement) = dump.placement(value) {
        return placement.text(placement.row.shape);
    }
    match dump.instruction(value) {
        Some(instruction) if &dump.names[value.index] == "{}" => {
            instruction.text(instruction.row.shape)
        }
        _ => "",
    }
}

/// The value that `name` stands for where it is an operand, as a number into [`Dump::values`]: the
/// one it defines at `{}`, else the first that is visible there.
pub(super) fn named(dump: &Dump, name: NameId) -> Option<u32> {
    let whole = dump.names.get("{}")?;
    dump.values_at(name, whole).next().or_else(|| {
        let positions = dump
            .positions_at(name)
            .map(|at| &dump.positions[at as usize]);
        positions
            .filter(|position| position.index == whole)
            .map(|position| position.value)
            .next()
    })
}

/// The shape of the operand `name`, if the dump prints it anywhere.
pub(super) fn shape_of_name<'d>(context: &Context<'d>, name: &str) -> Option<&'d str> {
    let dump = context.dump;
    let name = dump.names.get(name)?;
    let of_module = || {
        let at =
            dump.at::<buflens_syntax::facts::Instruction>(dump.instructions.get(&name)?.row)?;
        Some(at.text(at.row.shape))
    };
    // A bitcast or an element shares the value, but maybe not its shape: only a definition tells.
    let of_value = || {
        let at = dump.values_at(name, dump.names.get("{}")?).next()?;
        Some(shape_text(dump, &dump.values[at as usize]))
    };
    of_value()
        .filter(|text| !text.is_empty())
        .or_else(of_module)
}

/// One line of a list: `copy.3` 325.0 MiB, HBM, allocation 6, steps 13-14.
pub(super) fn line(context: &Context, at: u32) -> String {
    let value = &context.dump.values[at as usize];
    let mut parts = vec![title(context.dump, value)];
    if let Some(allocation) = allocation(context.dump, value) {
        parts.push(format!(
            "{}, {}, allocation {}",
            bytes::rounded(value.size),
            space::short(color(context.dump, value, allocation), context.platforms),
            allocation.index
        ));
    }
    if value.live_range.is_some() {
        parts.push(format!("steps {}-{}", value.live.0, value.live.1));
    }
    parts.join(", ")
}

/// A list of values, or the one value in full.
pub(super) fn list(context: &Context, heading: &str, values: &[u32]) -> String {
    if let [only] = values {
        return format!("{heading}\n\n{}", hover(context, *only));
    }
    let mut text = Text::new(heading);
    for &at in values.iter().take(MAX_LISTED) {
        text.item(&line(context, at));
    }
    if let Some(more) = values
        .len()
        .checked_sub(MAX_LISTED)
        .filter(|&more| more > 0)
    {
        text.item(&format!("and {} more", bytes::grouped(more as u64)));
    }
    text.finish()
}

pub(super) fn allocation<'d>(dump: &'d Dump, value: &Value) -> Option<&'d Allocation> {
    dump.allocations.get(value.allocation? as usize)
}

/// The memory space printed with the value, else its allocation's.
fn color(dump: &Dump, value: &Value, allocation: &Allocation) -> u64 {
    let printed = dump
        .placement(value)
        .and_then(|placement| placement.row.value.color.get());
    printed.unwrap_or(allocation.color)
}

/// The hover on a value.
pub(super) fn hover(context: &Context, at: u32) -> String {
    let dump = context.dump;
    let Some(value) = dump.values.get(at as usize) else {
        return String::new();
    };
    let instruction = Instruction::named(context, value.name);
    let allocation = allocation(dump, value);
    let text = shape_text(dump, value);

    let mut hover = Text::new(&format!(
        "**{}** (value {}): {}",
        title(dump, value),
        value.id,
        verdict(context, value, instruction.as_ref())
    ));
    let mut facts = Vec::new();
    if !text.is_empty() {
        facts.push(shown(text));
    }
    if let Some(allocation) = allocation {
        let size = bytes::display(value.size);
        match facts.pop() {
            Some(shape) => facts.push(format!("{shape} {size}")),
            None => facts.push(size),
        }
        facts.push(space::short(
            color(dump, value, allocation),
            context.platforms,
        ));
        facts.push(format!(
            "allocation {} ({})",
            allocation.index,
            kind(allocation)
        ));
    }
    hover.paragraph(&facts.join(", "));

    let mut table = Table::default();
    if let Some(allocation) = allocation {
        table.fact("bytes", extent(value, allocation));
    }
    if allocation.is_none() {
        table.fact(
            "bytes",
            "unknown: the allocations (`...-buffer-assignment.txt`) are not there",
        );
    }
    if let Some(unpadded) = unpadded(context, value, text) {
        table.fact("unpadded", unpadded);
    }
    table.fact("alive", alive(dump, value, instruction.as_ref()));
    if let Some(step) = dump
        .peak
        .as_ref()
        .map(|peak| peak.step.value)
        .filter(|&step| is_alive(value, step))
    {
        table.fact(
            "XLA's peak",
            format!("alive at step {step}, which XLA prints as the peak"),
        );
    }
    if let Some((from, to)) = instruction
        .as_ref()
        .and_then(|instruction| instruction.layout_change(context))
    {
        table.fact(
            "layout",
            format!("operand `{from}` -> `{to}`: the data is rewritten"),
        );
    }
    if let Some(operand) = instruction
        .as_ref()
        .and_then(|instruction| written_over(dump, value, instruction))
    {
        table.fact("in place", format!("written over its operand {operand}"));
    }
    if let Some(neighbours) = neighbours(dump, at) {
        table.fact("same bytes, other steps", neighbours);
    }
    hover.paragraph(&table.to_string());
    // A parameter's metadata is its argument's name, which stands above.
    let source = instruction.filter(|instruction| instruction.argument().is_none());
    if let Some(source) = source.and_then(|instruction| instruction.metadata.summary()) {
        hover.paragraph(&source);
    }
    hover.finish()
}

/// Whether the value is marked `(phi)`.
fn is_phi(dump: &Dump, value: &Value) -> bool {
    dump.placement(value)
        .is_some_and(|placement| placement.row.value.phi)
        || dump.used(value).is_some_and(|used| used.row.value.phi)
}

/// What the value is, in a few words.
fn verdict(context: &Context, value: &Value, instruction: Option<&Instruction>) -> String {
    let dump = context.dump;
    let mut words = match instruction {
        Some(instruction) => match instruction.argument() {
            Some(argument) => format!("{}, {argument}", instruction.plain(context)),
            None => instruction.plain(context),
        },
        None => "value".to_owned(),
    };
    if is_phi(dump, value) {
        words = format!("merged by control flow (phi): {words}");
    }
    let is_table = shape_text(dump, value).starts_with('(');
    if is_table && !words.starts_with("a tuple") {
        words.push_str("; this is the table of pointers to its elements");
    } else if &dump.names[value.index] != "{}" {
        let index = code(&cut(&dump.names[value.index], NAME_LIMIT));
        words = format!("{words}; this is element {index} of its result");
    }
    words
}

/// What an allocation is for, as its header says it.
pub(super) fn kind(allocation: &Allocation) -> String {
    let kinds = allocation.kinds;
    let mut words = Vec::new();
    if let Some(parameter) = allocation.parameter {
        words.push(format!("parameter {parameter}"));
    }
    if allocation.has_output_shape {
        words.push("output".to_owned());
    }
    let marks = [
        (kinds.constant, "constant"),
        (kinds.thread_local, "thread-local"),
        (kinds.maybe_live_out, "maybe-live-out"),
        (kinds.preallocated_temp, "preallocated-temp"),
    ];
    words.extend(
        marks
            .into_iter()
            .filter(|(is_set, _)| *is_set)
            .map(|(_, word)| word.to_owned()),
    );
    if words.is_empty() {
        "of no printed kind".to_owned()
    } else {
        words.join(", ")
    }
}

/// `32,768 .. 340,819,968 of 677,019,648 (50.3 %)`
pub(super) fn extent(value: &Value, allocation: &Allocation) -> String {
    let end = u128::from(value.offset) + u128::from(value.size);
    let end = u64::try_from(end).map_or_else(|_| "more than 64 bits".to_owned(), bytes::grouped);
    let whole = if value.size == allocation.size && value.offset == 0 {
        "the whole allocation".to_owned()
    } else {
        percent(value.size, allocation.size)
    };
    format!(
        "{} .. {end} of {} ({whole})",
        bytes::grouped(value.offset),
        bytes::grouped(allocation.size)
    )
}

/// How many elements the tuple has whose shape is printed with the value. Counted in the tree, which
/// is kept, as the text can be hundreds of KB long.
fn tuple_elements(dump: &Dump, value: &Value) -> Option<u64> {
    let placement = dump.placement(value)?;
    let place = placement.place(placement.row.shape);
    let document = &dump.files.get(place.file)?.document;
    let (start, token) = document.token_at(place.range.start)?;
    let whole = token
        .parent_ancestors()
        .filter(|node| node.kind() == SyntaxKind::TupleShape);
    // An empty tuple's or a nested tuple's first token is the whole one's first token too.
    let whole = whole
        .last()
        .filter(|node| start + u32::from(node.text_range().start()) == place.range.start)?;
    Some(whole.children().count() as u64)
}

/// The bytes without padding, where they differ from those taken, and why.
fn unpadded(context: &Context, value: &Value, text: &str) -> Option<String> {
    value.placement?;
    if text.starts_with('(') {
        let elements = tuple_elements(context.dump, value)?;
        let logical = elements
            .checked_mul(8)
            .filter(|&logical| logical != value.size)?;
        return Some(format!(
            "{}: XLA's lists count 8 B for each of {elements} pointers",
            bytes::display(logical)
        ));
    }
    let shape = Shape::read(text).ok()?;
    let logical = bytes::logical_bytes(&shape).filter(|&logical| logical != value.size)?;
    let Shape::Array(array) = &shape else {
        return None;
    };
    let more = if value.size > logical {
        format!(
            "**{}**, +{} of padding",
            shape::ratio(value.size, logical),
            bytes::display(value.size - logical)
        )
    } else {
        format!(
            "{} more than it takes",
            bytes::display(logical - value.size)
        )
    };
    let padding = Padding::of(array)?;
    let is_dynamic = array.dimensions.iter().any(|dimension| dimension.dynamic);
    let why = if padding.bytes == value.size && value.size < logical {
        "split over several memories, the size is that of one".to_owned()
    } else if padding.bytes == value.size {
        shape::blame(&padding).unwrap_or_else(|| "alignment of the tail".to_owned())
    } else if context.platforms.tpu && bytes::untiled_tpu_bytes(array) == Some(value.size) {
        "without a tile a TPU takes blocks of 1,024 elements".to_owned()
    } else if is_dynamic {
        "with the run-time sizes of its dynamic dimensions".to_owned()
    } else {
        format!(
            "its shape alone would take {}; values of one shared buffer have one size",
            bytes::display(padding.bytes)
        )
    };
    let better = bytes::best_order(array)
        .filter(|(_, bytes)| *bytes <= value.size / 4 * 3)
        .map(|(order, bytes)| {
            let order: Vec<String> = order.iter().map(u64::to_string).collect();
            format!(
                "; in the order `{{{}}}` it would take {}",
                order.join(","),
                bytes::rounded(bytes)
            )
        });
    Some(format!(
        "{}: {more}: {why}{}",
        bytes::display(logical),
        better.unwrap_or_default()
    ))
}

pub(super) fn is_alive(value: &Value, step: u64) -> bool {
    value.live_range.is_some() && value.live.0 <= step && step <= value.live.1
}

/// `steps 13-14 of 0-17: defined by copy.3, last read by reshape.6`
pub(super) fn alive(dump: &Dump, value: &Value, instruction: Option<&Instruction>) -> String {
    if value.live_range.is_none() {
        return unknown_life(dump, value).to_owned();
    }
    let (start, end) = value.live;
    let max = dump.max.as_ref().map(|(max, _)| max.value);
    let of = max.map(|max| format!(" of 0-{max}")).unwrap_or_default();
    let name = code(&cut(&dump.names[value.name], NAME_LIMIT));
    let is_parameter = instruction.is_some_and(|instruction| instruction.opcode == "parameter");
    let defined = match dump.step_of(value.name).map(u64::from) {
        _ if is_parameter && start == 0 => "there from the start".to_owned(),
        Some(step) if is_parameter && step > start => {
            "there from the start of its computation".to_owned()
        }
        Some(step) if step != start => format!("defined by {name} at step {step}"),
        _ => format!("defined by {name}"),
    };
    let is_last = max == Some(end);
    let is_result =
        allocation(dump, value).is_some_and(|allocation| allocation.kinds.maybe_live_out);
    let kept = match (is_last, is_result) {
        (true, true) => ", kept to the end as a part of the result",
        (true, false) => ", kept to the end",
        (false, _) => "",
    };
    let read = match last_read(dump, value) {
        Some((reader, step)) if u64::from(step) == end => format!(", last read by {reader}"),
        Some((reader, step)) => format!(", last read by {reader} at step {step}"),
        None if is_last && is_result => String::new(),
        // Loops hand bytes from value to value without an instruction that reads them.
        None if is_phi(dump, value) => {
            ", not read itself: control flow hands its bytes on".to_owned()
        }
        None => ", never read".to_owned(),
    };
    format!("steps {start}-{end}{of}: {defined}{read}{kept}")
}

fn unknown_life(dump: &Dump, value: &Value) -> &'static str {
    let kinds = allocation(dump, value)
        .map(|allocation| allocation.kinds)
        .unwrap_or_default();
    if kinds.thread_local {
        "during each call: thread-local scratch has no live range"
    } else if !dump.has_live_ranges() {
        "unknown: the live ranges are not there (in newer dumps they are a file of their own, `...-live-range.txt`)"
    } else if kinds.constant {
        "always: a constant of a computation outside of the schedule, without live range"
    } else {
        "unknown: no live range is printed for it"
    }
}

/// Who is the last to read the value within its live range, or to pass it on, and when.
fn last_read(dump: &Dump, value: &Value) -> Option<(String, u32)> {
    let uses = slice(&dump.uses, &value.uses)
        .iter()
        .map(|entry| (entry.name, true));
    let positions = slice(&dump.positions, &value.positions)
        .iter()
        .map(|entry| (entry.name, false));
    let others = positions.filter(|(name, _)| *name != value.name);
    let (step, _, name) = uses
        .chain(others)
        .filter_map(|(name, is_use)| Some((dump.step_of(name)?, is_use, name)))
        .filter(|(step, ..)| u64::from(*step) <= value.live.1)
        .max()?;
    Some((code(&cut(&dump.names[name], NAME_LIMIT)), step))
}

fn slice<'d, T>(all: &'d [T], range: &Range<u32>) -> &'d [T] {
    all.get(range.start as usize..range.end as usize)
        .unwrap_or_default()
}

/// The operand that ends where the value begins, with the very same bytes: no copy was made.
fn written_over(dump: &Dump, value: &Value, instruction: &Instruction) -> Option<String> {
    let same_bytes = |other: &Value| {
        (other.allocation, other.offset, other.size) == (value.allocation, value.offset, value.size)
    };
    let operands = instruction
        .operands
        .iter()
        .filter_map(|(_, name)| named(dump, dump.names.get(name)?));
    let mut others = operands.map(|at| &dump.values[at as usize]);
    let other = others.find(|other| {
        value.size > 0
            && other.id != value.id
            && other.live_range.is_some()
            && value.live_range.is_some()
            && other.live.1 == value.live.0
            && same_bytes(other)
    })?;
    Some(title(dump, other))
}

/// The values that have the same bytes at other times: those nearest in time, in time order.
fn neighbours(dump: &Dump, at: u32) -> Option<String> {
    let value = &dump.values[at as usize];
    if value.size == 0 || value.live_range.is_none() {
        return None;
    }
    let all = allocation(dump, value)?.values.clone();
    let from = at.saturating_sub(NEIGHBOURHOOD as u32).max(all.start);
    let to = at.saturating_add(NEIGHBOURHOOD as u32).min(all.end);
    let end = |value: &Value| u128::from(value.offset) + u128::from(value.size);
    let mut found: Vec<&Value> = (from..to)
        .filter(|&other| other != at)
        .filter_map(|other| dump.values.get(other as usize))
        .filter(|other| other.size > 0 && other.live_range.is_some())
        .filter(|other| {
            u128::from(other.offset) < end(value) && u128::from(value.offset) < end(other)
        })
        .collect();
    let count = found.len();
    if count > MAX_NEIGHBOURS {
        let distance = |other: &Value| {
            if other.live.1 <= value.live.0 {
                value.live.0 - other.live.1
            } else {
                other.live.0.saturating_sub(value.live.1)
            }
        };
        found.select_nth_unstable_by_key(MAX_NEIGHBOURS, |other| {
            (distance(other), other.live, other.id)
        });
        found.truncate(MAX_NEIGHBOURS);
    }
    found.sort_unstable_by_key(|other| (other.live, other.id));
    let mut texts: Vec<String> = found
        .iter()
        .map(|other| format!("{} {}-{}", title(dump, other), other.live.0, other.live.1))
        .collect();
    let more = count - found.len();
    if more > 0 || (from, to) != (all.start, all.end) {
        let more = bytes::grouped(more as u64);
        texts.push(if to - from < all.end - all.start {
            format!("at least {more} more")
        } else {
            format!("{more} more")
        });
    }
    (!texts.is_empty()).then(|| texts.join(", "))
}
