//! Allocations: what the bytes are for and who lies in them.

use super::instruction::Instruction;
use super::life::alive;
use super::value::{self, MAX_LISTED, extent, kind, title};
use super::{Context, percent, space};
use crate::ide::markdown::{Table, Text, code, cut};
use crate::model::bytes;
use crate::model::{Allocation, Dump, Value};

/// The bytes of all allocations: as printed, else their sum.
pub(super) fn total(dump: &Dump) -> u64 {
    let printed = dump
        .total
        .and_then(|row| dump.at::<buflens_syntax::facts::Total>(row));
    match printed {
        Some(total) => total.row.bytes.value,
        None => dump.allocations.iter().fold(0, |sum: u64, allocation| {
            sum.saturating_add(allocation.size)
        }),
    }
}

/// The hover on an allocation's header.
pub(super) fn hover(context: &Context, allocation: &Allocation) -> String {
    let dump = context.dump;
    let total = total(dump);
    let mut hover = Text::new(&format!(
        "**allocation {}**: {}\n\n{}, {}, {} of all {}",
        allocation.index,
        purpose(context, allocation),
        bytes::display(allocation.size),
        space::short(allocation.color, context.platforms),
        percent(allocation.size, total),
        bytes::display(total),
    ));
    let values = dump
        .values
        .get(allocation.values.start as usize..allocation.values.end as usize)
        .unwrap_or_default();
    match values {
        [] => hover.paragraph("No value lies in it: reserved, or never used."),
        [only] => {
            let mut table = Table::default();
            table.fact("value", title(dump, only));
            table.fact("bytes", extent(only, allocation));
            let instruction = Instruction::named(context, only.name);
            table.fact("alive", alive(dump, only, instruction.as_ref()));
            hover.paragraph(&table.to_string());
            // A parameter's metadata is its argument's name, which stands above.
            let source = instruction.filter(|_| allocation.parameter.is_none());
            if let Some(source) = source.and_then(|instruction| instruction.metadata.summary()) {
                hover.paragraph(&source);
            }
        }
        many => hover.paragraph(&values_in_time_order(dump, many)),
    }
    hover.finish()
}

/// The largest values, in time order.
fn values_in_time_order(dump: &Dump, values: &[Value]) -> String {
    let mut largest: Vec<&Value> = values.iter().collect();
    if largest.len() > MAX_LISTED {
        largest.select_nth_unstable_by_key(MAX_LISTED, |value| {
            (std::cmp::Reverse(value.size), value.id)
        });
        largest.truncate(MAX_LISTED);
    }
    largest.sort_by_key(|value| (value.live_range.is_none(), value.live, value.id));
    let count = bytes::grouped(values.len() as u64);
    let which = if values.len() > largest.len() {
        format!("The {} largest of {count} values", largest.len())
    } else {
        format!("{count} values")
    };
    let mut table = Table::default();
    table.row([
        "steps".into(),
        "value".into(),
        "bytes".into(),
        "offset .. end".into(),
    ]);
    for value in largest {
        let steps = match value.live_range {
            Some(_) => format!("{}-{}", value.live.0, value.live.1),
            None => String::new(),
        };
        let end = bytes::grouped(value.offset.saturating_add(value.size));
        table.row([
            steps,
            title(dump, value),
            bytes::rounded(value.size),
            format!("{} .. {end}", bytes::grouped(value.offset)),
        ]);
    }
    let order = if dump.has_live_ranges() {
        ", in time order"
    } else {
        ""
    };
    format!("{which}{order}:\n\n{table}")
}

/// What the allocation is for, in plain words.
fn purpose(context: &Context, allocation: &Allocation) -> String {
    let dump = context.dump;
    let kinds = allocation.kinds;
    let argument = || {
        let first = dump
            .values
            .get(allocation.values.start as usize)
            .filter(|_| !allocation.values.is_empty())?;
        Instruction::named(context, first.name)?.argument()
    };
    let leaf = || {
        let header = dump.at::<buflens_syntax::facts::Allocation>(allocation.header)?;
        let index = header.text(header.row.parameter_index);
        (index != "{}" && !index.is_empty()).then(|| format!(" at {}", code(&cut(index, 40))))
    };
    let words = match allocation.parameter {
        Some(number) => {
            let name = argument()
                .map(|argument| format!(", {argument}"))
                .unwrap_or_default();
            let donated = if kinds.maybe_live_out {
                "; donated: the result, or a part of it, is written over it"
            } else {
                "; not donated, so it is kept for the whole run"
            };
            format!(
                "buffer of entry parameter {number}{}{name}{donated}",
                leaf().unwrap_or_default()
            )
        }
        None if allocation.has_output_shape => "holds the program's result".to_owned(),
        None if kinds.maybe_live_out => "holds a part of the program's result".to_owned(),
        None if kinds.constant => "a constant of the program".to_owned(),
        None if kinds.thread_local => {
            "scratch of a computation called per element; in no live range and no peak".to_owned()
        }
        None if kinds.preallocated_temp => {
            "the arena of temporaries in this memory space".to_owned()
        }
        None => "memory of a kind that is not printed".to_owned(),
    };
    format!("{words} ({})", kind(allocation))
}

/// The hover on an offset or size of a value's line: exact, for people, the end and the share.
pub(super) fn number(dump: &Dump, what: &str, value: &Value) -> String {
    let share = match value::allocation(dump, value) {
        Some(allocation) => format!("; bytes {}", extent(value, allocation)),
        None => String::new(),
    };
    let number = if what == "offset" {
        value.offset
    } else {
        value.size
    };
    let text = if what == "offset" {
        format!(
            "{} from the start of the allocation",
            bytes::display(number)
        )
    } else {
        bytes::display(number)
    };
    format!("**{what}**: {text}{share}")
}
