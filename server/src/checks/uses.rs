//! The lines below `uses:`: which instruction reads a value, as which of its operands, and at which index.

use buflens_syntax::{InstructionParts, facts};
use rustc_hash::FxHashSet;

use super::structure::Section;
use super::{Code, Doubts, Finding, Findings};
use crate::model::bytes::counted;
use crate::model::{At, Dump, NameId, Place, Value, index_text};

/// The bytes of all instructions whose operands are looked at: each of thousands may be wrong, and be long.
const MOST_READ: usize = 1 << 24;
/// Of more positions of a value, and of more wrong lines of an instruction, these are looked at.
const MOST: usize = 64;

/// Whether the lines of section C may be wrong for what is told elsewhere: of what is missing, or named otherwise.
pub(super) fn are_in_doubt(doubts: &Doubts, findings: &Findings) -> bool {
    let told = [
        Code::UnresolvedName,
        Code::UnknownValue,
        Code::DuplicateValue,
        Code::ValueName,
    ];
    let sections = [Section::Allocations, Section::Values];
    !doubts.are_whole(&sections) || told.into_iter().any(|code| findings.has(code))
}

/// The texts of instructions whose lines may be wrong.
pub(super) struct Instructions<'d> {
    dump: &'d Dump,
    /// How many bytes may still be looked at.
    left: usize,
}

impl<'d> Instructions<'d> {
    pub(super) fn new(dump: &'d Dump) -> Self {
        Self {
            dump,
            left: MOST_READ,
        }
    }

    /// Empty where the instruction is not printed, or longer than may still be looked at.
    pub(super) fn text(&mut self, name: NameId) -> &'d str {
        let text = self.dump.instruction_text(name);
        let text = text.filter(|text| text.len() <= self.left);
        let text = text.unwrap_or_default();
        self.left -= text.len();
        text
    }
}

/// `value-use`: a value is read at an index at which some position shows it, and the operands that an instruction
/// reads are 0, 1, 2 ..., each once. Where they are not, the instruction's text tells which line is wrong.
pub(super) fn check_uses(dump: &Dump, doubts: &Doubts, findings: &mut Findings) {
    if are_in_doubt(doubts, findings) || findings.has(Code::ValuePosition) {
        return;
    }
    let mut instructions = Instructions::new(dump);
    let names = dump.odd_readers.iter();
    let odd: Vec<Reader> = names
        .map(|&name| Reader::new(dump, name, instructions.text(name)))
        .collect();
    let misread: Vec<Finding> = odd.iter().flat_map(Reader::misread).collect();
    // What one instruction lacks may be the line that another has too many of, or behind the end of a file, of which
    // only the allocations would tell.
    if misread.is_empty() && !dump.allocations.is_empty() {
        findings.extend(odd.iter().filter_map(Reader::misnumbered));
    }
    findings.extend(misread);
}

/// An instruction with the lines that say what it reads.
struct Reader<'d> {
    dump: &'d Dump,
    name: &'d str,
    /// The names of its operands; empty where the instruction is not printed, or too long.
    operands: Vec<&'d str>,
    lines: Vec<Line<'d>>,
}

struct Line<'d> {
    value: u32,
    at: At<'d, facts::Use>,
    index: Option<NameId>,
}

impl<'d> Reader<'d> {
    /// Of the instruction's text, which may be empty.
    fn new(dump: &'d Dump, name: NameId, text: &'d str) -> Self {
        let operands = InstructionParts::read(text).operands;
        let lines = dump.uses_by(name);
        Self {
            dump,
            name: &dump.names[name],
            operands: operands.iter().map(|it| it.name).collect(),
            lines: lines.filter_map(|number| Line::new(dump, number)).collect(),
        }
    }

    /// The name of the operand that a line gives the number of.
    fn operand_of(&self, line: &Line) -> Option<&'d str> {
        self.operands
            .get(usize::try_from(line.number()).ok()?)
            .copied()
    }

    /// Whether `operand` shows what `line` says that is read.
    fn shows(&self, operand: &str, line: &Line) -> bool {
        let (Some(operand), Some(index)) = (self.dump.names.get(operand), line.index) else {
            return false;
        };
        self.dump.shows_value(operand, index, line.value)
    }

    /// The lines that name another operand than the one that shows their value.
    fn misread(&self) -> Vec<Finding> {
        if self.operands.is_empty() {
            return self.unshown();
        }
        let is_right = |line: &&Line| {
            let operand = self.operand_of(line);
            operand.is_some_and(|operand| self.shows(operand, line))
        };
        let (right, wrong): (Vec<&Line>, Vec<&Line>) = self.lines.iter().partition(is_right);
        let whole = right.iter().filter(|line| line.is_whole());
        let taken: FxHashSet<u64> = whole.map(|line| line.number()).collect();
        let wrong = wrong.into_iter().take(MOST);
        wrong.map(|line| self.wrong_operand(line, &taken)).collect()
    }

    /// That the operand that `line` names does not show its value there, where other lines are right about those in `taken`.
    fn wrong_operand(&self, line: &Line, taken: &FxHashSet<u64>) -> Finding {
        let (name, number) = (self.name, line.number());
        let operands = (0_u64..).zip(&self.operands);
        let fitting = operands.filter(|(_, operand)| self.shows(operand, line));
        let fitting: Vec<u64> = fitting.map(|(number, _)| number).collect();
        let is_free = |number: &&u64| !line.is_whole() || !taken.contains(number);
        let mut free = fitting.iter().filter(is_free);
        let first_free = free.next();
        let only = first_free.filter(|_| free.next().is_none());
        // Where the operand on the line shows the value too, the index may be wrong instead.
        let named = self.operand_of(line);
        let elsewhere = named.and_then(|operand| line.elsewhere(self.dump, name, operand));
        let only = only.filter(|_| elsewhere.is_none());
        let message = match (first_free.or(fitting.first()), named) {
            (Some(right), _) => format!("the value is operand {right} of `{name}`, not {number}"),
            (None, Some(operand)) => {
                if let Some(finding) = elsewhere {
                    return finding;
                }
                format!(
                    "operand {number} of `{name}` is `{operand}`, which does not show the value"
                )
            }
            (None, None) => {
                let operands = counted(self.operands.len(), "operand");
                format!("`{name}` has {operands}, none of which shows the value")
            }
        };
        let finding = Finding::new(Code::ValueUse, line.place(), message);
        match only {
            Some(right) => finding.fixed_by(right.to_string()),
            None => finding,
        }
    }

    /// The lines that read their value where nothing shows it, where the instruction is not printed.
    fn unshown(&self) -> Vec<Finding> {
        let of_line = |line: &Line| {
            let positions = self.dump.positions_of(line.value(self.dump));
            let is_shown = positions.iter().any(|it| Some(it.index) == line.index);
            let first = positions.first().filter(|_| !is_shown)?;
            let finding = line.elsewhere(self.dump, self.name, &self.dump.names[first.name]);
            finding.map(|finding| Finding {
                fix: None,
                ..finding
            })
        };
        self.lines.iter().filter_map(of_line).collect()
    }

    /// A second line with the same operand, else one behind an operand that no line has.
    fn misnumbered(&self) -> Option<Finding> {
        let name = self.name;
        let key = |line: &Line| (line.number(), line.index);
        let mut lines: Vec<&Line> = self.lines.iter().collect();
        lines.sort_by_key(|line| key(line));
        let mut pairs = lines.windows(2);
        if let Some(pair) = pairs.find(|pair| key(pair[0]) == key(pair[1])) {
            let number = pair[0].number();
            let message = format!("a second line says what operand {number} of `{name}` is");
            let finding = Finding::new(Code::ValueUse, pair[1].place(), message);
            return Some(finding.related(pair[0].place(), "the first one"));
        }
        let whole = lines.iter().filter(|line| line.is_whole());
        let numbers = whole.map(|line| line.number());
        let ascending = (0..).zip(numbers).take_while(|(at, number)| at == number);
        let missing = ascending.count() as u64;
        let last = lines.last().filter(|last| last.number() >= missing)?;
        let number = last.number();
        let message = format!(
            "operand {number} of `{name}`, of which no line says what operand {missing} is"
        );
        Some(Finding::new(Code::ValueUse, last.place(), message))
    }
}

impl<'d> Line<'d> {
    fn new(dump: &'d Dump, number: u32) -> Option<Self> {
        let reading = dump.uses.get(number as usize)?;
        let at = dump.at::<facts::Use>(reading.row)?;
        Some(Self {
            value: reading.value,
            index: dump.names.get(index_text(at.text(at.row.index))),
            at,
        })
    }

    /// The number of the operand.
    fn number(&self) -> u64 {
        self.at.row.operand.value
    }

    /// The index at which the operand is read.
    fn index_text(&self) -> &str {
        index_text(self.at.text(self.at.row.index))
    }

    /// Whether all of the operand is read.
    fn is_whole(&self) -> bool {
        self.index_text() == "{}"
    }

    fn value(&self, dump: &'d Dump) -> &'d Value {
        &dump.values[self.value as usize]
    }

    fn place(&self) -> Place {
        self.at.place(self.at.row.operand.span)
    }

    /// That `operand` shows the value, but not at the index at which `reader` reads it.
    fn elsewhere(&self, dump: &Dump, reader: &str, operand: &str) -> Option<Finding> {
        let positions = dump.positions_of(self.value(dump)).iter().take(MOST);
        let mut shown = positions.filter(|it| &dump.names[it.name] == operand);
        let (first, is_only) = (shown.next()?, shown.next().is_none());
        let printed = self.at.row.index;
        let (found, index) = (self.index_text(), &dump.names[first.index]);
        let message = format!(
            "`{reader}` reads the value at `{found}` where `{operand}` shows it at `{index}`"
        );
        let place = if printed.is_empty() {
            self.place()
        } else {
            self.at.place(printed)
        };
        let position = dump.at::<facts::Position>(first.row)?;
        let there = position.place(position.row.name.to(position.row.index));
        let finding = Finding::new(Code::ValueUse, place, message).related(there, "its position");
        Some(finding.fixed_if(is_only && !printed.is_empty(), index))
    }
}

#[cfg(test)]
mod tests {
    use crate::checks::check;
    use crate::checks::tests::{dump, finds, lstm_scan};

    #[test]
    fn a_use_says_which_operand_shows_the_value_at_which_index() {
        let parts = lstm_scan();
        let mut texts = parts.each_ref().map(String::as_str);
        texts.rotate_left(1);
        for (from, to, problem, fix) in [
            (
                "  multiply_add_fusion, operand 2\n",
                "  multiply_add_fusion, operand 5\n",
                "the value is operand 2 of `multiply_add_fusion`, not 5",
                Some("2"),
            ),
            (
                "  while.7, operand 0 {1}\n",
                "  while.7, operand 0 {5}\n",
                "`while.7` reads the value at `{5}` where `tuple.2` shows it at `{1}`",
                Some("{1}"),
            ),
            (
                "  while.7, operand 0 {1}\n",
                "  while.7, operand 1 {1}\n",
                "the value is operand 0 of `while.7`, not 1",
                Some("0"),
            ),
            (
                "  ynn_fusion, operand 0\n",
                "  ynn_fusion.1, operand 0\n",
                "operand 0 of `ynn_fusion.1` is `dynamic-slice_bitcast_fusion`, which does not show the value",
                None,
            ),
            (
                "  copy.5, operand 0\n",
                "  copy.5, operand 0\n  copy.5, operand 0\n",
                "a second line says what operand 0 of `copy.5` is",
                None,
            ),
        ] {
            let found = finds(&texts, from, to, "value-use");
            assert_eq!(found.message, problem);
            assert_eq!(found.fix.as_ref().map(|fix| &*fix.text), fix, "{problem}");
        }
    }

    #[test]
    fn a_reader_that_is_not_printed_reads_what_is_shown() {
        let parts = lstm_scan();
        let [assignment, values, live_ranges, _] = parts.each_ref().map(String::as_str);
        let found = finds(
            &[values, live_ranges, assignment],
            "  get-tuple-element.36, operand 0 {}\n",
            "  get-tuple-element.36, operand 0 {3}\n",
            "value-use",
        );
        let problem =
            "`get-tuple-element.36` reads the value at `{3}` where `arg_tuple.1` shows it at `{}`";
        assert_eq!((&*found.message, found.fix), (problem, None));
    }

    #[test]
    fn an_operand_of_which_no_line_says_what_it_is() {
        let parts = lstm_scan();
        let mut texts = parts.each_ref().map(String::as_str);
        texts.rotate_left(1);
        let text = texts[0].replacen("  tuple.6, operand 2\n", "", 1);
        texts[0] = &text;
        let findings = check(&dump(&texts));
        let messages: Vec<&str> = findings.iter().map(|it| &*it.message).collect();
        assert_eq!(
            messages,
            ["operand 7 of `tuple.6`, of which no line says what operand 2 is"]
        );
    }
}
