//! What a memory space holds at its peak.

use std::cmp::Ordering;

use rustc_hash::FxHashSet;

use super::{
    STATIC, counted, is_worth, live, missing, percent, range, short_source, space_line, step,
    whereabouts,
};
use crate::audit::attribution::By;
use crate::model::bytes::{display, grouped, rounded};
use crate::model::occupancy::{Kind, is_full};
use crate::report::page::Page;
use crate::report::records::{
    Answer, Attributed, Idle, Moment, Peak, PeakValue, PrintedPeak, Value,
};
use crate::report::table::{Cell, Column, Place, Table};

/// So many ranges of steps near the peak are named.
const RANGES: usize = 6;
/// So many other peaks are named.
const NEXT: usize = 3;
/// So many of the values that are left out are named.
const LEFT_OUT: usize = 6;

/// The whole answer, with the bytes by what is in `attributed`, at most `limit` rows of each.
pub fn page<L>(
    answer: &Answer<Peak<L>>,
    attributed: &[(By, Vec<Attributed>)],
    limit: usize,
) -> Page {
    let mut page = of_space(answer, attributed, limit);
    let peak = &answer.content;
    let others = peak
        .spaces
        .iter()
        .filter(|space| space.color != peak.space && space.reserved_bytes > 0);
    let others: Vec<String> = others.map(space_line).collect();
    if !others.is_empty() {
        page.heading("Other memory spaces");
        page.text(format!("{}.", others.join("; ")));
    }
    page
}

/// The same without a word about the other memory spaces.
pub fn of_space<L>(
    answer: &Answer<Peak<L>>,
    attributed: &[(By, Vec<Attributed>)],
    limit: usize,
) -> Page {
    let peak = &answer.content;
    let mut page = Page::default();
    page.verdict(verdict(&answer.module, peak));
    let missing = missing(peak.missing_live_ranges, peak.missing_bytes);
    if is_never_occupied(peak) {
        page.text(STATIC);
        for sentence in missing {
            page.text(sentence);
        }
        return page;
    }
    if let Some(bytes) = peak.reserved_bytes.filter(|&bytes| bytes > 0) {
        page.text(format!("{} are reserved. {STATIC}", display(bytes)));
    }
    if let Some(sentence) = idle(peak) {
        page.text(sentence);
    }
    if !peak.without_buffer.is_empty() {
        page.text(format!(
            "Before or after, the same bytes are those of {}: name these too for the peak without the \
             whole buffer.",
            enumerated(&peak.without_buffer)
        ));
    }
    for sentence in missing {
        page.text(sentence);
    }
    if let Some(kernels) = peak.kernels.filter(|&kernels| kernels > 0) {
        page.text(format!(
            "The program calls {}: what they take of VMEM and SMEM for themselves is in no \
             allocation, and not in these numbers.",
            counted(kernels, "kernel")
        ));
    }
    if peak.reason.is_some() && !peak.largest.is_empty() {
        page.heading("The largest values, whether they exist at the same time or not");
    }
    page.table(values(peak));
    if peak.values_left_out > 0 {
        let shown: u64 = peak.values.iter().map(|value| value.own_bytes).sum();
        let rest = peak.occupied_bytes.unwrap_or(0).saturating_sub(shown);
        page.text(format!(
            "... and {} of {} together.",
            counted(peak.values_left_out, "more value"),
            rounded(rest)
        ));
    }
    if peak.values.iter().any(|value| value.what_if.is_some()) {
        page.text(
            "If gone: where the peak moves to without this value; with others: without it and those of its \
             buffer, which hold the same bytes before or after it; with the schedule and the placement \
             as they are. 6+512: in allocation 6, from byte 512 on.",
        );
    }
    if let Some(occupied) = peak.occupied_bytes.filter(|&bytes| bytes > 0) {
        let most = true_peak(peak).map(|most| most.step);
        let is_other = peak.without.is_empty() && most != peak.step;
        page.heading(if is_other {
            "At this step"
        } else {
            "The peak and its neighbours"
        });
        if let Some(sentence) = by_kind(peak, occupied) {
            page.text(sentence);
        }
        if !is_other {
            around(&mut page, peak);
        }
        for (by, groups) in attributed.iter().filter(|(_, groups)| !groups.is_empty()) {
            let mut groups = telling(*by, groups, occupied);
            page.heading(format!("By {}", title(*by)));
            if *by == By::OpName && levels(groups.iter().copied()).next().is_some() {
                page.text("Levels hold the bytes of those below them.");
            }
            let more = groups.len().saturating_sub(limit);
            groups.truncate(limit);
            page.table(table(*by, &groups, occupied));
            if more > 0 {
                page.text(format!("... and {} more.", grouped(more as u64)));
            }
        }
        if is_other {
            page.heading("The true peak and its neighbours");
            around(&mut page, peak);
        }
    }
    page
}

/// The answer in a few sentences: the peak, what it is made of, and the compiler's own if that is
/// another.
pub fn verdicts<L>(answer: &Answer<Peak<L>>) -> Page {
    let peak = &answer.content;
    let mut page = Page::default();
    page.verdict(verdict(&answer.module, peak));
    if let Some(sentence) = peak.occupied_bytes.and_then(|it| by_kind(peak, it)) {
        page.text(sentence);
    }
    let is_other = |printed: &PrintedPeak| Some(printed.step) != peak.step;
    if peak.space == 0
        && peak.xla_peak.as_ref().is_some_and(is_other)
        && let Some(sentence) = printed(peak)
    {
        page.text(sentence);
    }
    page
}

/// What TPU v7 does with VMEM that it reserves for no value.
const KEPT: &str = "kept by the compiler as scratch of its instructions";

fn keeps_scratch<L>(peak: &Peak<L>) -> bool {
    peak.idle.iter().any(|it| it.is_scratch)
}

fn is_constant(it: &Idle) -> bool {
    it.kind == Kind::Constant.name()
}

/// Where the difference between reserved and occupied bytes lies.
fn idle<L>(peak: &Peak<L>) -> Option<String> {
    let reserved = peak.reserved_bytes?;
    let gap = reserved.saturating_sub(peak.occupied_bytes?);
    if !peak.without.is_empty() || !is_worth(gap, reserved) {
        return None;
    }
    let one = |it: &Idle| {
        let rest = it.bytes.saturating_sub(it.occupied_bytes);
        let kept = match it.scratch_bytes {
            None if it.occupied_bytes == 0 => KEPT.to_owned(),
            None => format!("the rest {KEPT}"),
            Some(0) => format!("the rest {KEPT}, of which this one takes nothing"),
            Some(bytes) if is_full(bytes, rest) => {
                "the rest scratch of this instruction".to_owned()
            }
            Some(bytes) => format!(
                "the rest {KEPT}, of which this one takes {}",
                rounded(bytes)
            ),
        };
        let holds = match (it.occupied_bytes, it.is_scratch) {
            (0, true) => kept,
            (0, false) if is_constant(it) => "read at other steps".to_owned(),
            (0, false) => "empty".to_owned(),
            (bytes, true) => format!("{} occupied, {kept}", rounded(bytes)),
            (_, false) if rounded(rest) == rounded(it.bytes) => "nearly all of it".to_owned(),
            (_, false) => format!("{} of it", rounded(rest)),
        };
        let (kind, number, bytes) = (it.kind, it.allocation, rounded(it.bytes));
        format!("{kind} allocation {number} ({bytes}, {holds})")
    };
    let of_idle = |it: &Idle| it.bytes.saturating_sub(it.occupied_bytes);
    let telling = peak.idle.iter();
    let telling = telling.filter(|it| is_worth(of_idle(it), gap));
    let mut named: Vec<String> = telling.clone().map(one).collect();
    let told = telling.clone().map(of_idle).fold(0, u64::saturating_add);
    if is_worth(gap.saturating_sub(told), gap) {
        named.push("others".to_owned());
    }
    // What the compiler keeps is not idle, nor is a constant.
    let are = if keeps_scratch(peak) || telling.clone().any(is_constant) {
        "in no value"
    } else {
        "idle"
    };
    Some(format!(
        "{} of the reserved are {are} then: {}.",
        rounded(gap),
        named.join(", ")
    ))
}

fn true_peak<L>(peak: &Peak<L>) -> Option<&Moment> {
    let mut spaces = peak.spaces.iter();
    spaces
        .find(|space| space.color == peak.space)?
        .peak
        .as_ref()
}

/// Whether no value of the memory space takes any bytes at any step.
fn is_never_occupied<L>(peak: &Peak<L>) -> bool {
    peak.without.is_empty() && true_peak(peak).is_some_and(|most| most.occupied_bytes == 0)
}

fn verdict<L>(module: &str, peak: &Peak<L>) -> String {
    let name = &peak.name;
    if is_never_occupied(peak) {
        let mut spaces = peak.spaces.iter();
        let space = spaces.find(|space| space.color == peak.space);
        let thread_local = space.map_or(0, |space| space.thread_local_bytes);
        let reserved = match (peak.reserved_bytes.unwrap_or(0), thread_local) {
            (0, 0) => "what lies there takes no bytes".to_owned(),
            (0, bytes) => format!(
                "{} are thread-local, scratch of computations that instructions call",
                display(bytes)
            ),
            (bytes, _) if keeps_scratch(peak) => format!("{} are {KEPT}", display(bytes)),
            (bytes, _) => format!("{} are reserved", display(bytes)),
        };
        return format!("{module}: nothing of {name} is occupied at any step; {reserved}");
    }
    let (Some(number), Some(occupied)) = (peak.step, peak.occupied_bytes) else {
        let reason = peak.reason.as_deref().unwrap_or("the dump does not tell");
        return format!("{module}: the peak of {name} is not known: {reason}");
    };
    let moment = Moment {
        step: number,
        instruction: peak.instruction.clone(),
        occupied_bytes: occupied,
    };
    let at = step(&moment);
    let occupied_bytes = format!("{} of {name}", display(occupied));
    let most = true_peak(peak);
    if let Some(before) = &peak.before {
        let gone = enumerated(&peak.without_names);
        let they = match peak.without.len() {
            1 => "it",
            _ => "them",
        };
        let less = match before.occupied_bytes.saturating_sub(occupied) {
            0 => "as many as".to_owned(),
            bytes => format!("{} less than", display(bytes)),
        };
        let whole = match most {
            Some(most) if most.step == before.step => "at the true peak".to_owned(),
            _ => format!("with {they}"),
        };
        return format!(
            "{module}: without {gone}, {occupied_bytes} are occupied at {at}, {less} {whole}, with \
             the schedule and the placement as they are"
        );
    }
    match most.filter(|most| most.step != number) {
        None => format!("{module}: {occupied_bytes} are occupied at {at}, its true peak"),
        Some(most) => format!(
            "{module}: {occupied_bytes} are occupied at {at}; at the true peak, {}, {}",
            step(most),
            rounded(most.occupied_bytes)
        ),
    }
}

/// `a`, `a and b`, `a, b and 3 more`
fn enumerated(names: &[String]) -> String {
    let mut words: Vec<String> = names.iter().take(LEFT_OUT).cloned().collect();
    let more = names.len() - words.len();
    if more > 0 {
        words.push(format!("{} more", grouped(more as u64)));
    }
    let last = words.pop().unwrap_or_default();
    match words.as_slice() {
        [] => last,
        before => format!("{} and {last}", before.join(", ")),
    }
}

/// Near the peak, other peaks, the compiler's own.
fn around<L>(page: &mut Page, peak: &Peak<L>) {
    if let Some(near) = peak.near.as_deref().filter(|near| !near.is_empty()) {
        let named: Vec<String> = near
            .iter()
            .take(RANGES)
            .map(|&steps| range(steps))
            .collect();
        let more = match near.len().saturating_sub(RANGES) {
            0 => String::new(),
            more => format!(" and {}", counted(more, "more range")),
        };
        let steps = match near {
            [(first, last)] if first == last => "step",
            _ => "steps",
        };
        page.text(format!(
            "Within 5 % of it: {steps} {}{more}.",
            named.join(", ")
        ));
    }
    if let Some(next) = peak.next.as_deref().filter(|next| !next.is_empty()) {
        let next: Vec<String> = next
            .iter()
            .take(NEXT)
            .map(|moment| format!("{} at {}", rounded(moment.occupied_bytes), step(moment)))
            .collect();
        page.text(format!("Next peaks: {}.", next.join(", ")));
    }
    // The compiler's step is of all memory spaces, and of the whole program.
    if peak.space == 0
        && peak.without.is_empty()
        && let Some(sentence) = printed(peak)
    {
        page.text(sentence);
    }
}

/// What the occupied bytes are of.
fn by_kind<L>(peak: &Peak<L>, occupied: u64) -> Option<String> {
    let mut kinds = peak.kinds.as_ref()?.named();
    kinds.sort_by_key(|&(_, bytes)| std::cmp::Reverse(bytes));
    let kinds = kinds.iter().filter(|(_, bytes)| *bytes > 0);
    let kinds: Vec<String> = kinds
        .map(|&(name, bytes)| {
            let share = percent(bytes, occupied);
            let others = peak.written_over_parameters.filter(|&others| others > 0);
            let others = others.filter(|_| name == Kind::Parameter.name());
            let others = others.map_or_else(String::new, |others| {
                format!(", {} of it written over donated ones", rounded(others))
            });
            format!("{name} {} ({share:.1} %{others})", rounded(bytes))
        })
        .collect();
    (!kinds.is_empty()).then(|| format!("By kind: {}.", kinds.join(", ")))
}

/// What the compiler prints, next to the true peak.
fn printed<L>(peak: &Peak<L>) -> Option<String> {
    let printed = peak.xla_peak.as_ref()?;
    let most = true_peak(peak)?;
    let listed = rounded(printed.listed_bytes);
    let list = format!("its list counts {listed}, unpadded and over all memory spaces");
    let occupied = printed.occupied_bytes?;
    let step = printed.step;
    Some(match most.occupied_bytes.saturating_sub(occupied) {
        _ if step == most.step => format!("XLA prints the same step as its peak; {list}."),
        0 => format!("XLA prints step {step} as its peak, where as much is occupied; {list}."),
        less => format!(
            "XLA prints step {step} as its peak, where {} are occupied, {} less than at the true \
             peak; {list}.",
            rounded(occupied),
            rounded(less)
        ),
    })
}

/// The values, exact enough for programs.
pub fn values<L>(peak: &Peak<L>) -> Table {
    let mut table = Table::new(&[
        Column::new("bytes", "bytes", Place::Row),
        Column::new("if gone", "peak_if_gone_bytes", Place::Row),
        Column::new("saved", "saved_bytes", Place::Row),
        Column::new("at step", "peak_if_gone_step", Place::Row),
        Column::new("alive", "", Place::Row),
        Column::new("value", "value", Place::Cut),
        Column::new("kind", "kind", Place::Below),
        Column::new("where", "", Place::Below),
        Column::new("shape", "shape", Place::Own),
        Column::new("source", "", Place::Below),
        Column::new("notes", "", Place::Below),
        Column::new("op_name", "op_name", Place::Spare),
        Column::new("", "source", Place::Exact),
        Column::new("", "id", Place::Exact),
        Column::new("", "allocation", Place::Exact),
        Column::new("", "offset", Place::Exact),
        Column::new("", "logical_bytes", Place::Exact),
        Column::new("", "own_bytes", Place::Exact),
        Column::new("", "first_step", Place::Exact),
        Column::new("", "last_step", Place::Exact),
        Column::new("", "opcode", Place::Exact),
        Column::new("", "others_gone", Place::Exact),
    ]);
    let most = true_peak(peak).map_or(0, |most| most.occupied_bytes);
    table.rows = if peak.reason.is_none() {
        let values = peak.values.iter();
        values.map(|value| row(value, most)).collect()
    } else {
        let largest = peak.largest.iter();
        let no_peak = || [const { Cell::Empty }; 3];
        let cells = |value| cells(value, no_peak(), None, None, String::new());
        largest.map(cells).collect()
    };
    table
}

fn row<L>(value: &PeakValue<L>, most: u64) -> Vec<Cell> {
    let what_if = value.buffer_what_if.as_ref().or(value.what_if.as_ref());
    let if_gone = what_if.map_or([const { Cell::Empty }; 3], |moment| {
        let saved = most.saturating_sub(moment.occupied_bytes);
        [
            Cell::Bytes(moment.occupied_bytes),
            Cell::Saved(saved),
            Cell::Number(moment.step),
        ]
    });
    let mut notes = Vec::new();
    let shared = value
        .value
        .bytes
        .unwrap_or(0)
        .saturating_sub(value.own_bytes);
    if shared > 0 {
        notes.push(format!("{} shared", rounded(shared)));
    }
    let others = value.buffer_what_if.as_ref().map(|_| value.buffer.len());
    if let Some(others) = others {
        notes.insert(0, format!("with {}", counted(others, "other")));
    }
    let others = others.map(|others| others as u64);
    let own = Some(value.own_bytes);
    cells(&value.value, if_gone, others, own, notes.join(", "))
}

fn cells<L>(
    value: &Value<L>,
    [if_gone, saved, at]: [Cell; 3],
    others_gone: Option<u64>,
    own: Option<u64>,
    notes: String,
) -> Vec<Cell> {
    vec![
        Cell::bytes(value.bytes),
        if_gone,
        saved,
        at,
        live(value).into(),
        Cell::text(value.label()),
        value.kind.into(),
        whereabouts(value).into(),
        value.shape.clone().into(),
        short_source(value.source.as_deref()).into(),
        Some(notes).filter(|notes| !notes.is_empty()).into(),
        value.op_name.clone().into(),
        value.source.clone().into(),
        Cell::Number(value.id),
        Cell::number(value.allocation),
        Cell::number(value.offset),
        Cell::number(value.logical_bytes),
        Cell::number(own),
        Cell::number(value.live.map(|[start, _]| start)),
        Cell::number(value.live.map(|[_, end]| end)),
        value.opcode.clone().into(),
        Cell::number(others_gone),
    ]
}

/// What bytes are added up by.
pub fn title(by: By) -> &'static str {
    match by {
        By::OpName => "op_name",
        By::Source => "source",
        By::Opcode => "opcode",
        By::Shape => "shape",
    }
}

/// The groups, equal ones in the order of their names as people count. Of levels of a trace path
/// that hold the same values, the deepest says most; one that holds everything says nothing.
fn telling(by: By, groups: &[Attributed], occupied: u64) -> Vec<&Attributed> {
    let mut told = FxHashSet::default();
    if by == By::OpName {
        // A level holds the values of those below it: as many as the next below, or one further down.
        for (group, below) in levels(groups.iter()) {
            if below.values == group.values || group.bytes == occupied {
                told.insert(name(group));
            }
        }
    }
    let mut groups: Vec<&Attributed> = groups
        .iter()
        .filter(|group| group.name.is_none() || !told.contains(name(group)))
        .collect();
    groups.sort_by(|a, b| {
        let names = || natural(name(a), name(b));
        b.bytes.cmp(&a.bytes).then_with(names)
    });
    groups
}

/// Each level of a trace path that has one below it, with those next below.
fn levels<'g>(
    groups: impl Iterator<Item = &'g Attributed>,
) -> impl Iterator<Item = (&'g Attributed, &'g Attributed)> {
    let mut groups: Vec<&Attributed> = groups.filter(|group| group.name.is_some()).collect();
    // Whatever is below a level follows it.
    groups.sort_by(|a, b| name(a).split('/').cmp(name(b).split('/')));
    let mut above: Vec<&Attributed> = Vec::new();
    groups.into_iter().filter_map(move |group| {
        while above.pop_if(|level| !is_above(level, group)).is_some() {}
        let level = above.last().copied();
        above.push(group);
        Some((level?, group))
    })
}

fn name(group: &Attributed) -> &str {
    group.name.as_deref().unwrap_or_default()
}

/// Whether `group` is a level of a trace path above `other`.
fn is_above(group: &Attributed, other: &Attributed) -> bool {
    let rest = name(other).strip_prefix(name(group));
    rest.is_some_and(|rest| rest.starts_with('/'))
}

/// `a[2]` before `a[10]`: numbers in names are compared as numbers.
fn natural(left: &str, right: &str) -> Ordering {
    let (mut left_rest, mut right_rest) = (left, right);
    loop {
        let (a, b) = (run(left_rest), run(right_rest));
        if a.is_empty() || b.is_empty() {
            return a.len().cmp(&b.len()).then_with(|| left.cmp(right));
        }
        let is_number = |run: &str| run.starts_with(|char: char| char.is_ascii_digit());
        let runs = if is_number(a) && is_number(b) {
            let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
            a.len().cmp(&b.len()).then_with(|| a.cmp(b))
        } else {
            a.cmp(b)
        };
        if runs != Ordering::Equal {
            return runs;
        }
        (left_rest, right_rest) = (&left_rest[a.len()..], &right_rest[b.len()..]);
    }
}

/// The digits, or what is none, that `text` begins with.
fn run(text: &str) -> &str {
    let is_digit = |char: char| char.is_ascii_digit();
    let begins = text.starts_with(is_digit);
    let end = text.find(|char| is_digit(char) != begins);
    &text[..end.unwrap_or(text.len())]
}

fn table(by: By, groups: &[&Attributed], occupied: u64) -> Table {
    let mut table = Table::new(&[
        Column::new("bytes", "bytes", Place::Row),
        Column::new("share", "percent", Place::Row),
        Column::new("values", "values", Place::Row),
        Column::new(title(by), "name", Place::Cut),
    ]);
    // A file's name alone, where it is the only one of that name.
    let names = groups.iter().filter_map(|group| group.name.as_deref());
    let short = |name: &str| {
        let short = short_source(Some(name)).unwrap_or_default();
        let is_same = |other: &&str| short_source(Some(other)).as_ref() == Some(&short);
        match names.clone().filter(is_same).count() {
            1 => short,
            _ => name.to_owned(),
        }
    };
    table.rows = groups
        .iter()
        .map(|group| {
            vec![
                Cell::Bytes(group.bytes),
                Cell::Percent(percent(group.bytes, occupied)),
                Cell::Number(group.values as u64),
                match &group.name {
                    Some(name) if by == By::Source => Cell::text(short(name)),
                    Some(name) => Cell::text(name),
                    None if group.parameters => Cell::text("parameters and their copies"),
                    None => Cell::text("(the dump does not tell)"),
                },
            ]
        })
        .collect();
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str, bytes: u64, values: usize) -> Attributed {
        Attributed {
            name: Some(name.to_owned()),
            parameters: false,
            bytes,
            values,
            largest: None,
        }
    }

    fn names(by: By, groups: &[Attributed], occupied: u64) -> Vec<&str> {
        let telling = telling(by, groups, occupied);
        telling.into_iter().map(name).collect()
    }

    #[test]
    fn equal_bytes_are_in_the_order_that_people_count_in() {
        let groups = ["a[10]", "a[2]", "a[02]b", "a", "b1"].map(|name| group(name, 8, 1));
        assert_eq!(
            names(By::Shape, &groups, 40),
            ["a", "a[2]", "a[02]b", "a[10]", "b1"]
        );
    }

    #[test]
    fn levels_that_say_nothing_of_their_own_are_left_out() {
        let groups = [
            group("jit(f)", 10, 4),
            group("jit(f)/while", 8, 3),
            group("jit(f)/while/body", 8, 3),
            group("jit(f)/while/body/sin", 5, 2),
            group("jit(f)/add", 2, 1),
        ];
        let levels = ["jit(f)/while/body", "jit(f)/while/body/sin", "jit(f)/add"];
        assert_eq!(names(By::OpName, &groups, 10), levels);
        let all = names(By::OpName, &groups, 11);
        assert_eq!(all[0], "jit(f)");
        // A level that is everything is all there is to say if nothing is below it.
        assert_eq!(names(By::OpName, &groups[..1], 10), ["jit(f)"]);
    }
}
