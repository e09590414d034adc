//! The lines below `positions:`: which instruction shows a value, and at which index of its result.

use buflens_syntax::{InstructionParts, Shape, facts};
use rustc_hash::FxHashSet;

use super::uses::{Instructions, are_in_doubt};
use super::{Code, Context, Doubts, Finding, Findings, keep_single_fix};
use crate::model::shapes::{index_numbers, index_of};
use crate::model::{Dump, NameId, Place, Position, index_before};

/// Of more positions of a value these are looked at.
const MOST: usize = 64;

/// `value-position`: an instruction shows one value at each index of its result, and all of them; and what reads a value or
/// stands in the schedule shows one.
pub(super) fn check_positions(context: &Context, doubts: &mut Doubts, findings: &mut Findings) {
    if are_in_doubt(doubts, findings) {
        return;
    }
    let mut results = Results {
        context,
        instructions: Instructions::new(context.dump),
        wrong: Vec::new(),
        holes: Vec::new(),
    };
    for name in context.dump.oddly_shown() {
        results.look_at(name);
    }
    if results.wrong.is_empty() {
        results.look_for_strangers();
    }
    if !results.wrong.is_empty() {
        let values = results.wrong.iter().map(|it| it.position.value);
        doubts.live_ranges.extend(values);
        doubts.steps.extend(results.holes.iter().map(|it| it.name));
    }
    findings.extend(results.told());
}

/// What is found of the results that are shown oddly.
struct Results<'c, 'd> {
    context: &'c Context<'d>,
    instructions: Instructions<'d>,
    wrong: Vec<Wrong>,
    holes: Vec<Hole>,
}

/// A line that shows a value where it is not.
struct Wrong {
    position: Position,
    why: Why,
}

enum Why {
    /// Another line shows a value there, and is right.
    Taken(Position),
    /// Another line shows a value there, and is the first of several that may be right.
    Doubled(Position),
    /// The result has no such part.
    NoPart,
    /// No line shows the whole result.
    NoWhole,
    /// No other line has the instruction.
    Alone,
}

/// A part of a result that no line shows.
struct Hole {
    name: NameId,
    index: String,
}

impl<'c> Results<'c, '_> {
    /// What is wrong with the positions at `name`.
    fn look_at(&mut self, name: NameId) {
        let dump = self.context.dump;
        let at = |number: u32| dump.positions[number as usize];
        let shown: Vec<Position> = dump.positions_at(name).map(at).collect();
        let hole = |index: String| Hole { name, index };
        let whole = shown.first().filter(|it| &dump.names[it.index] == "{}");
        let Some(whole) = whole else {
            let is_known = dump.step_of(name).is_some() || dump.uses_by(name).next().is_some();
            if !is_known {
                let wrong = |position| Wrong {
                    position,
                    why: Why::NoWhole,
                };
                self.wrong.extend(shown.into_iter().map(wrong));
            } else if !self.is_unknown(name) {
                self.holes.push(hole("{}".to_owned()));
            }
            return;
        };
        let shape = self.shape_of(*whole);
        let part = |index: &[u64]| shape.and_then(|shape| shape.at(index));
        for same in shown.chunk_by(|one, other| one.index == other.index) {
            let index = &dump.names[same[0].index];
            let numbers = index_numbers(index);
            if shape.is_some() && part(&numbers).is_none() {
                self.wrong.extend(same.iter().map(|&position| Wrong {
                    position,
                    why: Why::NoPart,
                }));
                continue;
            }
            self.choose(same);
            if shape.is_none() {
                let before = index_before(index);
                let before = before.filter(|before| !dump.shows(name, before));
                self.holes.extend(before.map(hole));
                continue;
            }
            for next in next_to(&numbers) {
                if part(&next).is_some() {
                    let next = index_of(&next);
                    if !dump.shows(name, &next) {
                        self.holes.push(hole(next));
                    }
                }
            }
        }
    }

    /// Of lines that show values at one index all but one are wrong.
    fn choose(&mut self, same: &[Position]) {
        if same.len() < 2 {
            return;
        }
        let source = Source::new(self.context.dump, self.instructions.text(same[0].name));
        let mut fitting = same.iter().filter(|it| source.shows(it));
        let only = fitting.next().filter(|_| fitting.next().is_none());
        // No two define one value.
        let right = same.iter().find(|it| self.is_own(it)).or(only);
        let why = |other| match right {
            Some(_) => Why::Taken(other),
            None => Why::Doubled(other),
        };
        let other = *right.unwrap_or(&same[0]);
        let wrong = same.iter().filter(|it| it.row != other.row);
        self.wrong.extend(wrong.map(|&position| Wrong {
            position,
            why: why(other),
        }));
    }

    /// Whether the line says which instruction defines its value.
    fn is_own(&self, position: &Position) -> bool {
        let value = &self.context.dump.values[position.value as usize];
        let first = self.context.dump.positions_of(value).first();
        first.is_some_and(|first| first.row == position.row)
    }

    /// The shape of the value that `position` shows.
    fn shape_of(&self, position: Position) -> Option<&'c Shape> {
        self.context.placed(position.value).or_else(|| {
            let value = &self.context.dump.values[position.value as usize];
            let index = index_numbers(&self.context.dump.names[value.index]);
            self.context.result(position.value)?.at(&index)
        })
    }

    /// Whether the HLO text is there, and has no such instruction.
    fn is_unknown(&self, name: NameId) -> bool {
        let instructions = &self.context.dump.module.instructions;
        !instructions.is_empty() && !instructions.has(name)
    }

    /// Where an instruction is shown nowhere, and nothing else is wrong: the one line with an instruction that no other
    /// line has.
    fn look_for_strangers(&mut self) {
        let dump = self.context.dump;
        if self.holes.is_empty() {
            return;
        }
        let is_alone = |name: NameId| {
            dump.positions_at(name).nth(1).is_none()
                && dump.uses_by(name).next().is_none()
                && dump.step_of(name).is_none()
                && !dump.module.instructions.has(name)
        };
        let mut strangers = dump.positions.iter().filter(|position| {
            let value = &dump.values[position.value as usize];
            position.name != value.name
                && is_alone(position.name)
                && (dump.steps.is_empty() || value.has_live_range())
        });
        let position = strangers.next().filter(|_| strangers.next().is_none());
        self.wrong.extend(position.map(|&position| Wrong {
            position,
            why: Why::Alone,
        }));
    }

    /// All that is wrong; else what is missing.
    fn told(&self) -> Vec<Finding> {
        if self.wrong.is_empty() {
            let missing = self.holes.iter();
            return missing.filter_map(|hole| self.missing(hole)).collect();
        }
        let only = self.holes.first().filter(|_| self.holes.len() == 1);
        let wrong = self.wrong.iter();
        let mut findings: Vec<Finding> = wrong.filter_map(|it| self.wrong_line(it, only)).collect();
        keep_single_fix(&mut findings);
        findings
    }

    /// That a line is wrong, where `hole` is the only part of a result that is not shown.
    fn wrong_line(&self, wrong: &Wrong, hole: Option<&Hole>) -> Option<Finding> {
        let dump = self.context.dump;
        let Wrong { position, why } = wrong;
        let line = dump.at::<facts::Position>(position.row)?;
        let (name, index) = (&dump.names[position.name], line.text(line.row.index));
        let shown = format!("{name}{index}");
        let mut message = match why {
            Why::Taken(_) | Why::Doubled(_) => format!("`{shown}` shows another value"),
            Why::NoPart => format!("the result of `{name}` has no part `{index}`"),
            Why::NoWhole => format!("nothing shows `{name}`, of which this is a part"),
            Why::Alone => format!("nothing else names `{name}`"),
        };
        let mut place = line.place(line.row.name.to(line.row.index));
        let mut fix = None;
        if let Some(hole) = hole {
            let right = &dump.names[hole.name];
            let part = if index.is_empty() { "" } else { &*hole.index };
            message = format!("{message}, where nothing shows `{right}{part}`");
            if hole.name == position.name {
                place = line.place(line.row.index);
                fix = Some(part);
            } else if index.is_empty() || hole.index == index {
                place = line.place(line.row.name);
                fix = Some(right);
            }
        }
        let mut finding = Finding::new(Code::ValuePosition, place, message);
        finding = match (why, hole) {
            (Why::Taken(other) | Why::Doubled(other), _) => {
                finding.related_if(self.place(*other), "the other value")
            }
            (_, Some(hole)) => finding.related_if(self.reader(hole.name), "what shows none"),
            _ => finding,
        };
        Some(match fix.filter(|_| !matches!(why, Why::Doubled(_))) {
            Some(fix) => finding.fixed_by(fix),
            None => finding,
        })
    }

    /// That nothing shows a part of a result, unless only the schedule has its instruction, which may be wrong itself.
    fn missing(&self, hole: &Hole) -> Option<Finding> {
        let dump = self.context.dump;
        let Hole { name, index } = hole;
        let name_text = &dump.names[*name];
        let (place, message) = if let Some(shown) = dump.positions_at(*name).next() {
            let message = format!("`{name_text}` shows no value at `{index}`");
            (self.place(dump.positions[shown as usize])?, message)
        } else {
            dump.uses_by(*name).next()?;
            let message = format!("`{name_text}` reads the value, and shows none itself");
            (self.reader(*name)?, message)
        };
        Some(Finding::new(Code::ValuePosition, place, message))
    }

    /// Where an instruction reads a value, else where it runs.
    fn reader(&self, name: NameId) -> Option<Place> {
        let dump = self.context.dump;
        if let Some(reading) = dump.uses_by(name).next() {
            let line = dump.at::<facts::Use>(dump.uses[reading as usize].row)?;
            return Some(line.place(line.row.name));
        }
        let line = dump.at::<facts::Step>(dump.steps[dump.step_of(name)? as usize].row)?;
        Some(line.place(line.row.name))
    }

    fn place(&self, position: Position) -> Option<Place> {
        let line = self.context.dump.at::<facts::Position>(position.row)?;
        Some(line.place(line.row.name.to(line.row.index)))
    }
}

/// What an instruction has its parts from.
struct Source<'d> {
    dump: &'d Dump,
    /// Its parts; empty where it is not printed, or too long.
    parts: InstructionParts<'d>,
    operands: FxHashSet<NameId>,
}

impl<'d> Source<'d> {
    fn new(dump: &'d Dump, text: &'d str) -> Self {
        let parts = InstructionParts::read(text);
        let operands = parts.operands.iter();
        let operands = operands.filter_map(|it| dump.names.get(it.name));
        Self {
            dump,
            operands: operands.collect(),
            parts,
        }
    }

    /// Whether the instruction has the value of `position` there from an operand; where it is not printed, whether it
    /// reads that at all.
    fn shows(&self, position: &Position) -> bool {
        let dump = self.dump;
        let value = &dump.values[position.value as usize];
        let index = index_numbers(&dump.names[position.index]);
        let first = |index: &[u64]| self.is_of_operand(0, index, position.value);
        match (self.parts.opcode, &index[..]) {
            ("tuple", &[number, ref index @ ..]) => {
                self.is_of_operand(number, index, position.value)
            }
            ("get-tuple-element", _) => {
                let number = self.parts.attribute("index");
                let number = number.and_then(|number| number.parse().ok());
                number.is_some_and(|number: u64| first(&[&[number], &index[..]].concat()))
            }
            ("while" | "optimization-barrier", _) => first(&index),
            ("", _) => {
                let mut uses = dump.uses_of(value).iter().take(MOST);
                uses.any(|it| it.name == position.name)
            }
            _ => {
                let mut shown = dump.positions_of(value).iter().take(MOST);
                shown.any(|it| self.operands.contains(&it.name))
            }
        }
    }

    /// Whether an operand shows a value at an index.
    fn is_of_operand(&self, number: u64, index: &[u64], value: u32) -> bool {
        let dump = self.dump;
        let operand = self.parts.operands.get(number as usize);
        let name = operand.and_then(|it| dump.names.get(it.name));
        let place = name.zip(dump.names.get(&index_of(index)));
        place.is_some_and(|(name, index)| dump.shows_value(name, index, value))
    }
}

/// The indices that may follow on `index`: its first part, and the one behind it in its tuple.
fn next_to(index: &[u64]) -> Vec<Vec<u64>> {
    let mut first = index.to_vec();
    first.push(0);
    let mut behind = index.to_vec();
    let last = behind.last_mut();
    let behind = last
        .map(|last| *last = last.saturating_add(1))
        .map(|()| behind);
    std::iter::once(first).chain(behind).collect()
}

#[cfg(test)]
mod tests {
    use super::Code;
    use crate::checks::check;
    use crate::checks::tests::{dump, finds, lstm_scan};

    #[test]
    fn an_instruction_shows_one_value_at_each_index() {
        let parts = lstm_scan();
        let [assignment, values, live_ranges, text] = parts.each_ref().map(String::as_str);
        let all = [values, live_ranges, assignment, text];
        let other = ("  get-tuple-element.36\n", "  get-tuple-element.37\n");
        let other_is_wrong = "`get-tuple-element.37` shows another value, where nothing shows `get-tuple-element.36`";
        for (has_text, (from, to), problem, fix) in [
            (
                true,
                ("  tuple.6 {0}\n", "  tuple.6 {2}\n"),
                "`tuple.6{2}` shows another value, where nothing shows `tuple.6{0}`",
                Some("{0}"),
            ),
            (
                true,
                ("  tuple.6 {0}\n", "  tuple.6 {9}\n"),
                "the result of `tuple.6` has no part `{9}`, where nothing shows `tuple.6{0}`",
                Some("{0}"),
            ),
            (
                true,
                ("  tuple.6 {0}\n", "  tuple.2 {0}\n"),
                "`tuple.2{0}` shows another value, where nothing shows `tuple.6{0}`",
                Some("tuple.6"),
            ),
            (true, other, other_is_wrong, Some("get-tuple-element.36")),
            // Nothing tells which of the two it is.
            (false, other, other_is_wrong, None),
            (
                false,
                ("  get-tuple-element.36\n", "  get-tuple-element.99\n"),
                "nothing else names `get-tuple-element.99`, where nothing shows `get-tuple-element.36`",
                Some("get-tuple-element.36"),
            ),
            (
                false,
                ("  while.7 {4}\n", "  while.8 {4}\n"),
                "nothing shows `while.8`, of which this is a part, where nothing shows `while.7{4}`",
                Some("while.7"),
            ),
        ] {
            let texts = if has_text { &all[..] } else { &all[..3] };
            let found = finds(texts, from, to, "value-position");
            assert_eq!(found.message, problem);
            let found = found.fix.as_ref().map(|fix| &*fix.text);
            assert_eq!(found, fix, "{problem}");
        }
    }

    #[test]
    fn a_line_that_is_missing_leaves_a_part_of_a_result_without_a_value() {
        let parts = lstm_scan();
        for (line, problem) in [
            (
                "  get-tuple-element.36\n",
                "`get-tuple-element.36` reads the value, and shows none itself",
            ),
            ("  while.7 {4}\n", "`while.7` shows no value at `{4}`"),
            ("  tuple.6 {0}\n", "`tuple.6` shows no value at `{0}`"),
        ] {
            let values = parts[1].replacen(line, "", 1);
            let mut texts = parts.each_ref().map(String::as_str);
            texts[1] = &values;
            let findings = check(&dump(&texts));
            let found: Vec<_> = findings.iter().map(|it| (it.code, &*it.message)).collect();
            assert_eq!(found, [(Code::ValuePosition, problem)]);
        }
    }
}
