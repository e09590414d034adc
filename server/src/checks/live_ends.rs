//! The ends of live ranges: a value is alive until it is read for the last time.

use std::cell::LazyCell;

use buflens_syntax::{InstructionParts, facts};
use rustc_hash::{FxHashMap, FxHashSet};

use super::live_ranges::is_asynchronous;
use super::structure::Section;
use super::{Code, Doubts, Finding, Findings};
use crate::model::origin::called;
use crate::model::{Dump, NameId, Place, Value, index_text, is_async_call};

/// Of instructions with so many bytes it is not asked what they read, as thousands of findings may ask.
const MOST_READ: usize = 1 << 16;
/// So many values are tried that may have the bytes of one before or after it.
const MOST_TRIED: usize = 10_000;
/// So many values are looked at that had the place of one before it.
const MOST_TAKEN: usize = 1_000;
/// Opcodes that hand values on to computations whose ends nobody prints.
const HIDING: [&str; 3] = ["async-done", "async-update", "conditional"];

/// `live-range`: each ends at the last step at which its value is read or shown, that of what a computation gives at
/// the end of it, and that of what a loop changes where the loop begins (`HloLiveRange`). Where an instruction has to
/// write over a value that is read later, its own goes on in the place of that. Nothing is said of values that loops
/// and branches merge: their ranges are cut where others take their place.
pub(super) fn check_ends(dump: &Dump, doubts: &mut Doubts, findings: &mut Findings) {
    let sections = [Section::Values, Section::LiveRanges, Section::Module];
    // Where a value is seen, and by which name, may be wrong.
    let told = [
        Code::Sequence,
        Code::UnresolvedName,
        Code::ValueMismatch,
        Code::ValuePosition,
    ];
    if dump.module.instructions.is_empty()
        || doubts.steps_shifted
        || !doubts.are_whole(&sections)
        || told.into_iter().any(|code| findings.has(code))
    {
        return;
    }
    let computations = LazyCell::new(|| dump.steps_of_computations());
    let mut ends = Ends {
        dump,
        loops: FxHashMap::default(),
        misread: dump.odd_readers.iter().copied().collect(),
        root: entry_root(dump),
        computations: &|at| *computations.get(at as usize)?,
    };
    for (number, value) in (0..).zip(&dump.values) {
        let is_in_doubt = || {
            let place = value.allocation();
            doubts.values.contains(&number)
                || doubts.live_ranges.contains(&number)
                || place.is_some_and(|at| doubts.allocations.contains(&at))
        };
        if value.has_live_range()
            && value.is_used()
            && !is_in_doubt()
            && let Some(finding) = ends.problem(value, doubts)
        {
            doubts.live_ranges.insert(number);
            findings.push(finding);
        }
    }
}

/// The instruction that gives the result of the program.
fn entry_root(dump: &Dump) -> Option<NameId> {
    let is_entry = |&row: &_| {
        let header = dump.at::<facts::Computation>(row);
        header.is_some_and(|header| header.row.entry)
    };
    let entry = dump.module.computations.iter().position(is_entry)?;
    let mut rows = dump.instructions_of(entry as u32).rev();
    let (block, root) = rows.find(|(block, row)| row.is_root(block.text()))?;
    dump.names.get(root.name.text(block.text()))
}

struct Ends<'d> {
    dump: &'d Dump,
    /// Of the entry computation.
    root: Option<NameId>,
    /// The first and last steps of a computation.
    computations: &'d dyn Fn(u32) -> Option<(u32, u32)>,
    /// What reads something else than the lines of values say.
    misread: FxHashSet<NameId>,
    /// The first steps of loops, by their `while`: each may be handed thousands of values.
    loops: FxHashMap<NameId, Option<u64>>,
}

/// Where a live range has to end.
struct End {
    step: u64,
    /// The same where calls do not count as readers, as for newer compilers.
    without_calls: u64,
    reason: Reason,
}

enum Reason {
    /// The last that reads, shows or makes the value.
    Seen,
    /// The end of a computation whose result it is, or a part of it.
    Given,
    /// The start of a loop, by its `while`.
    Loop(NameId),
    /// The last that reads or shows the value whose bytes it has taken.
    Taken(NameId),
    /// The start of the value that takes its bytes.
    Lost(NameId),
}

impl Ends<'_> {
    fn problem(&mut self, value: &Value, doubts: &Doubts) -> Option<Finding> {
        let dump = self.dump;
        let (start, found) = dump.live(value);
        // A parameter that is not donated is there to the end.
        let stays = found == dump.steps.len() as u64;
        let is_kept = || stays && dump.opcode(value.name) == Some("parameter");
        // Nearly all are only read and shown.
        if start > found || self.last_seen(value) == Some(found) || is_kept() {
            return None;
        }
        // What is wrong there is told already.
        let mut readers = dump.uses_of(value).iter();
        if readers.any(|it| self.misread.contains(&it.name)) {
            return None;
        }
        let end = self.end(value)?;
        if [end.step, end.without_calls].contains(&found) {
            return None;
        }
        let (end, is_known) = self.normalized(value, end, doubts);
        if end.step == found || (!is_known && end.step < found) || self.is_handed_on(found) {
            return None;
        }
        let step = end.step;
        let (why, there) = match end.reason {
            Reason::Seen => self.seen_at(value, step)?,
            Reason::Given => ("the computation that gives it ends".to_owned(), None),
            Reason::Loop(name) => (format!("the loop `{}` begins", &dump.names[name]), None),
            Reason::Taken(name) => {
                let name = &dump.names[name];
                (
                    format!("`{name}`, whose bytes it has taken, is read for the last time"),
                    None,
                )
            }
            Reason::Lost(name) => (
                format!("`{}`, which writes over it, runs", &dump.names[name]),
                None,
            ),
        };
        let line = dump.live_range(value)?;
        let place = line.place(line.row.end.span);
        let message = format!("the live range ends at step {found} where {why} at step {step}");
        let finding = Finding::new(Code::LiveRange, place, message);
        let at_end = dump.steps.get(found as usize).map(|step| step.name);
        let is_line_missing = at_end.is_some_and(|name| self.reads_untold(name, value));
        // Where somebody reads something else than the lines say, any of them may be wrong.
        let is_certain = step == end.without_calls && !is_line_missing && self.misread.is_empty();
        let finding = finding.fixed_if(is_certain, step.to_string());
        Some(finding.related_if(there, "the line that says so"))
    }

    /// The last step at which an instruction reads or shows the value; of a part of the program's result the end of
    /// the schedule.
    fn last_seen(&self, value: &Value) -> Option<u64> {
        let dump = self.dump;
        let positions = dump.positions_of(value).iter().map(|it| it.name);
        if positions.clone().any(|name| Some(name) == self.root) {
            return Some(dump.steps.len() as u64);
        }
        let uses = dump.uses_of(value).iter().map(|it| it.name);
        let steps = positions.chain(uses).filter_map(|name| dump.step_of(name));
        steps.chain(dump.step_of(value.name)).max().map(u64::from)
    }

    /// Where the live range has to end, if its lines tell.
    fn end(&mut self, value: &Value) -> Option<End> {
        let dump = self.dump;
        let own = dump.step_of(value.name)?;
        // What a loop gives is cut nowhere, unless a branch gives it on.
        let is_cut = || dump.opcode(value.name) != Some("while") || dump.is_in_branch(own);
        if (dump.used(value)?.row.value.phi && is_cut()) || is_asynchronous(dump, value) {
            return None;
        }
        let own = u64::from(own);
        let mut end = End {
            step: own,
            without_calls: own,
            reason: Reason::Seen,
        };
        let is_hiding = |opcode: &str| HIDING.contains(&opcode) || is_async_call(opcode);
        let mut goes_through = FxHashSet::default();
        for position in dump.positions_of(value) {
            let opcode = dump.opcode(position.name).filter(|it| !is_hiding(it))?;
            if opcode == "while" {
                goes_through.insert((position.name, position.index));
            }
            let (step, reason) = self.shown_until(position.name)?;
            end.extend(step, reason, true);
        }
        let mut first_loop: Option<(u64, NameId)> = None;
        for reader in dump.uses_of(value) {
            let opcode = dump.opcode(reader.name).filter(|it| !is_hiding(it))?;
            if opcode == "while" {
                let line = dump.at::<facts::Use>(reader.row)?;
                let index = dump.names.get(index_text(line.text(line.row.index)));
                let part = index.map(|index| (reader.name, index));
                if part.is_none_or(|part| !goes_through.contains(&part)) {
                    let begin = (self.begin_of(reader.name)?, reader.name);
                    first_loop = Some(first_loop.map_or(begin, |first| first.min(begin)));
                }
            } else {
                let step = dump.step_of(reader.name).map(u64::from);
                end.extend(step, Reason::Seen, opcode != "call");
            }
        }
        Some(match first_loop {
            // The loop's own takes its place.
            Some((step, name)) => End {
                step,
                without_calls: step,
                reason: Reason::Loop(name),
            },
            None => end,
        })
    }

    /// The end where `output_to_operand_aliasing` makes one buffer of several values: where one that reads the value
    /// begins in its bytes, or as late as one is read whose place it has taken (`HloLiveRange::NormalizeAliasedBuffers`);
    /// and whether it is known how late that is.
    fn normalized(&mut self, value: &Value, mut end: End, doubts: &Doubts) -> (End, bool) {
        let dump = self.dump;
        let mut is_known = true;
        let place = |it: &Value| (it.allocation(), it.offset);
        let (start, _) = dump.live(value);
        // What the value has its place from, and what that had it from.
        let mut takers = vec![value];
        let mut seen = FxHashSet::default();
        while let Some(taker) = takers.pop() {
            let (taken, _) = dump.live(taker);
            for number in self.operands(taker.name) {
                let other = &dump.values[number as usize];
                let (begins, ends) = dump.live(other);
                if place(other) != place(value) || begins > taken || !seen.insert(number) {
                    continue;
                }
                is_known &= !doubts.live_ranges.contains(&number);
                match self.end(other) {
                    Some(cut) if ends < cut.step => {
                        end.extend(Some(cut.step), Reason::Taken(other.name), true);
                    }
                    Some(_) => {}
                    None => is_known &= ends > taken,
                }
                takers.push(other);
            }
            if seen.len() > MOST_TAKEN {
                is_known = false;
                break;
            }
        }
        let readers = dump.uses_of(value).iter().map(|it| it.name);
        let mut seen = FxHashSet::default();
        let written = readers
            .filter(|&reader| seen.insert(reader))
            .flat_map(|reader| dump.values_of(reader));
        let written = written.take(MOST_TRIED).map(|at| &dump.values[at as usize]);
        let written = written.filter(|it| place(it) == place(value) && it.has_live_range());
        let written = written.map(|it| (dump.live(it).0, it.name));
        let first = written.min_by_key(|&(step, _)| step);
        let end = match first {
            Some((step, name)) if start < step && step < end.step => End {
                step,
                without_calls: step,
                reason: Reason::Lost(name),
            },
            _ => end,
        };
        (end, is_known)
    }

    /// The values that the instruction `name` may read, by number.
    fn operands(&self, name: NameId) -> Vec<u32> {
        let dump = self.dump;
        let text = dump.instruction_text(name);
        let Some(text) = text.filter(|text| text.len() <= MOST_READ) else {
            return Vec::new();
        };
        let operands = InstructionParts::read(text).operands;
        let names = operands.iter().filter_map(|it| dump.names.get(it.name));
        let positions = names.flat_map(|name| dump.positions_at(name));
        let values = positions
            .take(MOST_TRIED)
            .map(|at| dump.positions[at as usize].value);
        values
            .filter(|&at| dump.values[at as usize].has_live_range())
            .collect()
    }

    /// To which step the instruction `name` shows what it has: its own, if it has one, or, where it is a root, the end
    /// of its computation. `None` where nobody knows, as of branches, which all end with their conditional.
    fn shown_until(&self, name: NameId) -> Option<(Option<u64>, Reason)> {
        let dump = self.dump;
        if Some(name) == self.root {
            return Some((Some(dump.steps.len() as u64), Reason::Given));
        }
        if !dump.is_root(name)? {
            return Some((dump.step_of(name).map(u64::from), Reason::Seen));
        }
        let computation = dump.module.instructions.get(name)?.computation?;
        let (_, last) = (self.computations)(computation)?;
        let end = (Some(u64::from(last) + 1), Reason::Given);
        (!dump.is_in_branch(last)).then_some(end)
    }

    /// The first step of a loop's condition and body.
    fn begin_of(&mut self, name: NameId) -> Option<u64> {
        let (dump, computations) = (self.dump, self.computations);
        let read = || {
            let parts = InstructionParts::read(dump.instruction_text(name)?);
            let begin = |key| Some(computations(called(dump, &parts, key)?)?.0);
            let begins = [begin("condition"), begin("body")];
            begins.into_iter().flatten().min().map(u64::from)
        };
        *self.loops.entry(name).or_insert_with(read)
    }

    /// Whether a parameter of a computation that a `call` runs stands at `step`. What the call is handed may end there, be
    /// it the parameter of another value (the command buffers of jax-cuda12-plugin 0.6.0), and no line tells why.
    fn is_handed_on(&self, step: u64) -> bool {
        let dump = self.dump;
        let computation = |name| dump.module.instructions.get(name)?.computation;
        let at = dump.steps.get(step as usize).map(|it| it.name);
        at.filter(|&name| dump.opcode(name) == Some("parameter"))
            .and_then(computation)
            .is_some_and(|it| {
                let runner = dump.runner_of(it).and_then(|it| dump.opcode(it));
                runner.is_none_or(|it| matches!(it, "call" | "conditional"))
                    && self.root.and_then(computation) != Some(it)
            })
    }

    /// Which instruction reads, shows or makes the value at `step`, and where that is said.
    fn seen_at(&self, value: &Value, step: u64) -> Option<(String, Option<Place>)> {
        let dump = self.dump;
        let runs = |name| dump.step_of(name).map(u64::from) == Some(step);
        let told = |name, what, place| {
            let name = &dump.names[name];
            (format!("`{name}`, {what}, runs"), Some(place))
        };
        if let Some(last) = dump.uses_of(value).iter().find(|it| runs(it.name)) {
            let line = dump.at::<facts::Use>(last.row)?;
            return Some(told(
                last.name,
                "the last to read it",
                line.place(line.row.name),
            ));
        }
        let mut positions = dump.positions_of(value).iter();
        let last = positions.find(|it| runs(it.name))?;
        let line = dump.at::<facts::Position>(last.row)?;
        let what = if last.name == value.name {
            "which nobody reads later"
        } else {
            "the last to show it"
        };
        Some(told(last.name, what, line.place(line.row.name)))
    }

    /// Whether the instruction `name` has, or may have, the value for an operand, though no line of the value says so.
    fn reads_untold(&self, name: NameId, value: &Value) -> bool {
        let dump = self.dump;
        let positions = dump.positions_of(value).iter();
        let uses = dump.uses_of(value).iter().map(|it| it.name);
        let mut told = positions.clone().map(|it| it.name).chain(uses);
        let Some(text) = dump
            .instruction_text(name)
            .filter(|_| !told.any(|it| it == name))
        else {
            return false;
        };
        if text.len() > MOST_READ {
            return true;
        }
        let parts = InstructionParts::read(text);
        // Of a tuple, anything may be read; one element alone by this.
        let is_element = parts.opcode == "get-tuple-element";
        let read = positions.filter(|it| !is_element || &dump.names[it.index] == "{}");
        let mut read = read.map(|it| &dump.names[it.name]);
        read.any(|name| parts.operands.iter().any(|operand| operand.name == name))
    }
}

impl End {
    /// At least to `step`.
    fn extend(&mut self, step: Option<u64>, reason: Reason, is_certain: bool) {
        let Some(step) = step else { return };
        if step > self.step {
            (self.step, self.reason) = (step, reason);
        }
        if is_certain {
            self.without_calls = self.without_calls.max(step);
        }
    }
}

#[cfg(test)]
mod tests;
