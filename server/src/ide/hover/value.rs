//! Values: where they lie, how long they live, who shares their bytes.

use buflens_syntax::{OperandParts, Shape};

use super::instruction::Instruction;
use super::life::{alive, neighbours, steps, written_over};
use super::shape::{self, shown};
use super::{Context, peak, percent, source};
use crate::ide::markdown::{Table, Text, code, cut};
use crate::model::bytes::{self, Padding};
use crate::model::origin::Origins;
use crate::model::{Allocation, Dump, Value};
use crate::model::{shapes, space};

/// So many values are listed.
pub(super) const MAX_LISTED: usize = 8;
/// A name is shown with so many characters.
pub(super) const NAME_LIMIT: usize = 100;

/// `copy.3`, `copy-start{0}`, as a code span.
pub(super) fn title(dump: &Dump, value: &Value) -> String {
    let (name, index) = (&dump.names[value.name], &dump.names[value.index]);
    code(&cut(
        &format!("{name}{}", if index == "{}" { "" } else { index }),
        NAME_LIMIT,
    ))
}

/// The shape printed with the value, else with its instruction; empty if there is none.
pub(super) fn shape_text<'d>(dump: &'d Dump, value: &Value) -> &'d str {
    let of_instruction = || {
        let instruction = dump.instruction(value)?;
        let is_whole = &dump.names[value.index] == "{}";
        is_whole.then(|| instruction.text(instruction.row.shape))
    };
    let printed = shapes::shape_text(dump, value).or_else(of_instruction);
    printed.unwrap_or_default()
}

/// The shape of an operand, if the dump prints it anywhere.
pub(super) fn shape_of_operand<'d>(
    context: &Context<'d>,
    operand: &OperandParts<'d>,
) -> Option<&'d str> {
    let dump = context.dump;
    if !operand.shape.is_empty() {
        return Some(operand.shape);
    }
    if !operand.element.is_empty() {
        return Some(shape_text(
            dump,
            &dump.values[dump.read_by(operand)? as usize],
        ));
    }
    let name = dump.names.get(operand.name)?;
    let of_module = || {
        let at = dump.at::<buflens_syntax::facts::Instruction>(
            dump.instruction_in(context.computation, name)?.row,
        )?;
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
    if let Some(allocation) = context.dump.allocation_of(value) {
        let is_placed = context.dump.is_placed(value);
        let size = is_placed.then(|| bytes::rounded(value.size));
        parts.extend(size);
        parts.push(format!(
            "{}, allocation {}",
            space::short(color(context.dump, value, allocation), context.platforms),
            allocation.index
        ));
    }
    if let Some(live_range) = context.dump.live_range_of(value) {
        parts.push(steps(live_range.steps));
    }
    parts.join(", ")
}

/// A value in one sentence, below the explanation of something else on its line.
pub(super) fn brief(context: &Context, at: u32) -> String {
    let Some(value) = context.dump.values.get(at as usize) else {
        return String::new();
    };
    let is_placed = context.dump.is_placed(value);
    let place = match context.dump.allocation_of(value) {
        Some(allocation) if is_placed => format!(
            ": {} B at {} .. {} of allocation {}",
            bytes::grouped(value.size),
            bytes::grouped(value.offset),
            bytes::grouped(value.end()),
            allocation.index
        ),
        Some(allocation) => format!(" of allocation {}", allocation.index),
        None => String::new(),
    };
    let live = match context.dump.live_range_of(value) {
        Some(live_range) => format!(", {}", steps(live_range.steps)),
        None => String::new(),
    };
    format!(
        "value {} {}{place}{live}",
        value.id,
        title(context.dump, value)
    )
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

/// The memory space printed with the value, else its allocation's.
pub(super) fn color(dump: &Dump, value: &Value, allocation: &Allocation) -> u64 {
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
    let allocation = dump.allocation_of(value);
    let text = shape_text(dump, value);
    let peak = peak::of_value(dump, value);

    let mut hover = Text::new(&format!(
        "**{}** (value {}){}",
        title(dump, value),
        value.id,
        verdict(context, value, instruction.as_ref(), peak.is_some())
            .map(|verdict| format!(": {verdict}"))
            .unwrap_or_default()
    ));
    let mut facts = Vec::new();
    if !text.is_empty() {
        facts.push(shown(text));
    }
    if let Some(allocation) = allocation {
        if dump.is_placed(value) {
            let size = bytes::display(value.size);
            match facts.pop() {
                Some(shape) => facts.push(format!("{shape} {size}")),
                None => facts.push(size),
            }
        }
        facts.push(space::short(
            color(dump, value, allocation),
            context.platforms,
        ));
        facts.push(format!(
            "allocation {} ({})",
            allocation.index,
            kind(dump, allocation)
        ));
    }
    hover.paragraph(&facts.join(", "));

    let mut table = Table::default();
    let bytes = match allocation {
        Some(allocation) => extent(dump, value, allocation),
        None if dump.allocations.is_empty() => {
            "unknown: the allocations (`...-buffer-assignment.txt`) are not there".to_owned()
        }
        None => "unknown: no allocation has the value".to_owned(),
    };
    table.fact("bytes", bytes);
    if let Some(unpadded) = unpadded(context, value, text) {
        table.fact("unpadded", unpadded);
    }
    table.fact("alive", alive(dump, value, instruction.as_ref()));
    if let Some(peak) = peak {
        table.fact("peak share", peak::share(dump, value, peak));
    }
    if let Some(step) = dump
        .peak
        .as_ref()
        .map(|printed| printed.step.value)
        .filter(|&step| dump.is_alive(value, step) && peak.is_none_or(|peak| peak.step != step))
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
        table.fact("same bytes", neighbours);
    }
    hover.paragraph(&table.to_string());
    if let Some(outcome) = peak.and_then(|peak| peak::if_gone(context, at, peak)) {
        hover.paragraph(&outcome);
    }
    // A parameter's metadata is its argument's name, which stands above.
    let source = instruction.filter(|instruction| instruction.argument().is_none());
    if let Some(source) = source.and_then(|instruction| instruction.summary(context)) {
        hover.paragraph(&source);
    }
    let filling = Origins::for_request(dump).filling(value);
    if let Some(filling) = filling.and_then(|it| source::summary(&it, context.sources)) {
        hover.paragraph(&format!("A loop fills it, part by part: {filling}"));
    }
    hover.finish()
}

/// Whether the value is marked `(phi)`.
pub(super) fn is_phi(dump: &Dump, value: &Value) -> bool {
    dump.placement(value)
        .is_some_and(|placement| placement.row.value.phi)
        || dump.used(value).is_some_and(|used| used.row.value.phi)
}

/// What the value is, in a few words, and whether it is alive at the peak; `None` where the dump
/// does not tell.
fn verdict(
    context: &Context,
    value: &Value,
    instruction: Option<&Instruction>,
    is_at_peak: bool,
) -> Option<String> {
    let allocation = context.dump.allocation_of(value).filter(|_| is_at_peak);
    let at_peak =
        allocation.map(|allocation| format!("alive at {}", peak::name(context, allocation.color)));
    let words = [description(context, value, instruction), at_peak];
    let words: Vec<String> = words.into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// What the value is, in a few words; `None` where the dump does not tell.
fn description(
    context: &Context,
    value: &Value,
    instruction: Option<&Instruction>,
) -> Option<String> {
    let dump = context.dump;
    let index = Some(&dump.names[value.index])
        .filter(|&index| index != "{}")
        .map(|index| code(&cut(index, NAME_LIMIT)));
    let is_opcode = |wanted| instruction.is_some_and(|instruction| instruction.opcode() == wanted);
    let is_parameter = is_opcode("parameter");
    let allocation = dump.allocation_of(value);
    let is_scratch = allocation.is_some_and(|allocation| allocation.kinds().thread_local);
    let is_table = shape_text(dump, value).starts_with('(');
    let table = "the table of pointers to its elements";
    if is_phi(dump, value) && (is_parameter || is_opcode("while")) {
        let words = if is_parameter {
            "loop state"
        } else {
            "loop result"
        };
        return Some(match index {
            Some(index) => format!("{words} {index} (phi)"),
            None if is_table => format!("{words} (phi): {table}"),
            None => format!("{words} (phi)"),
        });
    }
    let mut words = match instruction {
        Some(instruction) if is_parameter && is_scratch => {
            let number = instruction.origin.parts.parameter;
            let number = number.map_or_else(String::new, |number| format!(" {number}"));
            format!("argument{number} of a computation that an instruction calls")
        }
        Some(instruction) => {
            // The allocation would tell whether that is the program.
            let of = if is_parameter && allocation.is_none() {
                " of its computation"
            } else {
                ""
            };
            let words = format!("{}{of}", instruction.plain(context));
            match instruction.argument() {
                Some(argument) => format!("{words}, {argument}"),
                None => words,
            }
        }
        None => String::new(),
    };
    if is_phi(dump, value) {
        let colon = if words.is_empty() { "" } else { ": " };
        words = format!("merged by control flow (phi){colon}{words}");
    }
    let part = match index {
        _ if is_table && words.starts_with("a tuple") => None,
        _ if is_table => Some(table.to_owned()),
        Some(index) => Some(format!("element {index} of its result")),
        None => None,
    };
    match part {
        None => {}
        Some(part) if words.is_empty() => words = part,
        Some(part) => words = format!("{words}; this is {part}"),
    }
    Some(words).filter(|words| !words.is_empty())
}

/// What an allocation is for, as its header says it.
pub(super) fn kind(dump: &Dump, allocation: &Allocation) -> String {
    let mut words = dump.words(allocation);
    if allocation.has_output_shape() {
        let behind = usize::from(allocation.is_parameter());
        words.insert(behind, "output".to_owned());
    }
    if words.is_empty() {
        "of no printed kind".to_owned()
    } else {
        words.join(", ")
    }
}

/// Behind the value's last byte; a broken dump's numbers may add up to more than 64 bits.
fn end(value: &Value) -> u128 {
    u128::from(value.offset) + u128::from(value.size)
}

/// `32,768 .. 340,819,968 of 677,019,648 (50.3 %)`
pub(super) fn extent(dump: &Dump, value: &Value, allocation: &Allocation) -> String {
    if !dump.is_placed(value) {
        return "unknown: its line is not understood".to_owned();
    }
    let end = end(value);
    let behind = end.saturating_sub(u128::from(allocation.size));
    let end = u64::try_from(end).map_or_else(|_| "more than 64 bits".to_owned(), bytes::grouped);
    let whole = if behind > 0 {
        let behind = u64::try_from(behind).map_or_else(|_| "far".to_owned(), bytes::display);
        format!("**ends {behind} behind the allocation**")
    } else if value.size == allocation.size && value.offset == 0 {
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

/// The bytes without padding, where they differ from those taken, and why.
fn unpadded(context: &Context, value: &Value, text: &str) -> Option<String> {
    context.dump.is_placed(value).then_some(())?;
    if text.starts_with('(') {
        let elements = Shape::tuple_elements(text)? as u64;
        let logical = elements
            .checked_mul(8)
            .filter(|&logical| logical != value.size)?;
        return Some(format!(
            "{}: XLA's lists count 8 B for each of {}",
            bytes::display(logical),
            bytes::counted(elements, "pointer")
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
    let why = if padding.bytes == value.size && value.size < logical {
        "split over several memories, the size is that of one".to_owned()
    } else if padding.bytes == value.size {
        shape::blame(&padding).unwrap_or_else(|| "alignment of the tail".to_owned())
    } else if context.platforms.tpu && bytes::untiled_tpu_bytes(array) == Some(value.size) {
        "without a tile a TPU takes blocks of 1,024 elements".to_owned()
    } else if array.is_dynamic() {
        "with the run-time sizes of its dynamic dimensions".to_owned()
    } else if context
        .dump
        .allocation_of(value)
        .is_some_and(|allocation| end(value) > u128::from(allocation.size))
    {
        format!("its shape would take {}", bytes::display(padding.bytes))
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
                "; in the order `{{{}}}` with the same tile it would take {}",
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
