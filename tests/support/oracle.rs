//! A second reader of dumps, plain enough to be checked by eye: it goes from line to line and cuts
//! strings. The tests hold the answers of the first reader against it.
//!
//! Columns are bytes in the line.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::PathBuf;

use super::dumps::Dump;
use super::shapes::shape_end;

/// A piece of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Spot {
    pub file: usize,
    /// From 0.
    pub line: usize,
    /// In bytes, from 0.
    pub column: usize,
    /// In bytes.
    pub length: usize,
}

/// A printed number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Number {
    pub value: u64,
    pub spot: Spot,
}

/// A printed word.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word {
    pub text: String,
    pub spot: Spot,
}

impl Word {
    /// The first number of the index that is printed directly behind this name.
    pub fn number_behind(&self, index: &str) -> Option<Number> {
        let digits = index[1..].bytes().take_while(u8::is_ascii_digit).count();
        let value = index[1..1 + digits].parse().ok()?;
        let column = self.spot.column + self.spot.length + 1;
        Some(Number {
            value,
            spot: Spot {
                column,
                length: digits,
                ..self.spot
            },
        })
    }
}

/// `<27 copy-start{0} (phi) @1>`
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reference {
    pub spot: Spot,
    pub id: Number,
    pub name: Word,
    /// `{}` where it is not printed.
    pub index: String,
    pub color: Option<Number>,
}

#[derive(Debug, Default)]
pub struct Allocation {
    pub line: Spot,
    pub index: Number,
    pub size: Number,
    pub color: Option<Number>,
    pub parameter: Option<Number>,
    /// What stands between the bars of `shape |f32[]|`.
    pub parameter_shape: Option<Word>,
    /// `{}` of `at ShapeIndex {}`.
    pub shape_index: Option<Word>,
    pub attributes: String,
    /// Numbers of its values.
    pub values: Vec<usize>,
}

impl Allocation {
    /// `{}` of `at ShapeIndex {}`.
    pub fn parameter_index(&self) -> Option<&str> {
        self.shape_index.as_ref().map(|index| index.text.as_str())
    }

    pub fn has(&self, attribute: &str) -> bool {
        self.attributes.contains(attribute)
    }
}

/// The instruction printed with a value.
#[derive(Debug, Clone, Default)]
pub struct Instruction {
    pub name: Word,
    pub shape: Word,
    pub opcode: String,
    /// `%name` in the brackets behind the opcode, without the mark.
    pub operands: Vec<Word>,
}

/// What section C says of a value.
#[derive(Debug, Default)]
pub struct Used {
    pub header: Reference,
    /// Name and index.
    pub positions: Vec<(Word, String)>,
    pub uses: Vec<Word>,
    pub instruction: Instruction,
}

#[derive(Debug, Default)]
pub struct LiveRange {
    pub name: Word,
    pub index: String,
    pub start: Number,
    pub end: Number,
}

#[derive(Debug, Default)]
pub struct PeakLine {
    pub name: Word,
    /// Older compilers leave it out.
    pub index: Option<String>,
    pub bytes: Number,
    pub cumulative: Option<Number>,
}

/// A value, by its line in section A.
#[derive(Debug, Default)]
pub struct Value {
    pub line: Spot,
    pub reference: Reference,
    pub allocation: usize,
    pub size: Number,
    pub offset: Number,
    pub shape: Word,
    /// Its number in [`Facts::used`].
    pub used: Option<usize>,
    /// Its number in [`Facts::live_ranges`].
    pub live: Option<usize>,
    /// Its numbers in [`Facts::peak`].
    pub peak: Vec<usize>,
}

/// A file of the dump.
#[derive(Debug)]
pub struct File {
    pub path: PathBuf,
    pub text: String,
    pub lines: Vec<String>,
}

/// All that a dump says.
#[derive(Debug, Default)]
pub struct Facts {
    pub files: Vec<File>,
    pub allocations: Vec<Allocation>,
    pub values: Vec<Value>,
    /// The total and its text for people, in the assignment or values file.
    pub total: Option<(Number, Word)>,
    pub used: Vec<Used>,
    pub max: Option<Number>,
    /// The step printed and the instruction.
    pub sequence: Vec<(Number, Word)>,
    pub live_ranges: Vec<LiveRange>,
    pub peak_step: Option<Number>,
    pub peak: Vec<PeakLine>,
    pub tree_total: Option<Number>,
    /// Total, current and remaining of each node.
    pub tree: Vec<[Number; 3]>,
    /// `Total bytes` of the memory-usage report.
    pub report_totals: Vec<Number>,
    /// The file with the HLO text.
    pub module: Option<usize>,
    /// Instructions of the HLO text: where the name stands, and in which computation.
    pub instructions: HashMap<String, (Spot, String)>,
    pub computations: HashSet<String>,
    /// Computations that run beside the schedule.
    pub asynchronous: HashSet<String>,
    /// Where each instruction is named.
    names: HashMap<String, Vec<Spot>>,
    /// Words that may be taken for names: labels of the tree, signatures of computations.
    words: HashMap<String, Vec<Spot>>,
}

/// A place in a line that is being cut.
struct Line<'t> {
    text: &'t str,
    file: usize,
    line: usize,
}

impl Line<'_> {
    fn spot(&self, start: usize, end: usize) -> Spot {
        Spot {
            file: self.file,
            line: self.line,
            column: start,
            length: end - start,
        }
    }

    fn word(&self, start: usize, end: usize) -> Word {
        Word {
            text: self.text[start..end].to_owned(),
            spot: self.spot(start, end),
        }
    }

    /// The number that starts at `start`, with blanks between groups of digits if `grouped`.
    fn number_at(&self, start: usize, grouped: bool) -> Option<Number> {
        let is_part = |byte: &u8| byte.is_ascii_digit() || (grouped && *byte == b' ');
        let length = self.text.as_bytes()[start..]
            .iter()
            .take_while(|byte| is_part(byte))
            .count();
        let text = self.text[start..start + length].trim_end();
        let value = text.replace(' ', "").parse().ok()?;
        Some(Number {
            value,
            spot: self.spot(start, start + text.len()),
        })
    }

    /// The number behind the first `mark`.
    fn number(&self, mark: &str) -> Option<Number> {
        self.number_at(self.text.find(mark)? + mark.len(), false)
    }

    /// The reference that starts at `start` and ends in `>`.
    fn reference(&self, start: usize) -> Option<Reference> {
        let end = start + self.text[start..].find('>')? + 1;
        let inside = self.text[start..end].strip_prefix('<')?.strip_suffix('>')?;
        let mut words = inside.split(' ');
        let id = words.next()?;
        let name = words.next()?;
        let id_start = start + 1;
        let name_start = id_start + id.len() + 1;
        let (name, index) = name.split_at(name.find('{').unwrap_or(name.len()));
        let mut reference = Reference {
            spot: self.spot(start, end),
            id: self.number_at(id_start, false)?,
            name: self.word(name_start, name_start + name.len()),
            index: if index.is_empty() {
                "{}".to_owned()
            } else {
                index.to_owned()
            },
            color: None,
        };
        for word in words {
            if word.starts_with('@') {
                let at = start + self.text[start..end].rfind('@')? + 1;
                reference.color = self.number_at(at, false);
            } else if word != "(phi)" {
                return None;
            }
        }
        (reference.id.spot.length == id.len()).then_some(reference)
    }

    /// The instruction whose `%` stands at `start`.
    fn instruction(&self, start: usize, end: usize) -> Instruction {
        let text = &self.text[..end];
        let name_start = start + 1;
        let Some(equals) = text[start..].find(" = ").map(|at| start + at) else {
            return Instruction::default();
        };
        let shape_start = equals + 3;
        let shape_stop = shape_end(text, shape_start);
        let opcode_start = (shape_stop + 1).min(text.len());
        let open = text[opcode_start..]
            .find('(')
            .map_or(text.len(), |at| opcode_start + at);
        let opcode = text[opcode_start..open].to_owned();
        let mut operands = Vec::new();
        let is_marked = text[start..].starts_with('%');
        if opcode != "constant" && opcode != "parameter" {
            let mut depth = 0;
            for (at, character) in text[open..].char_indices() {
                let at = open + at;
                match character {
                    '(' | '[' | '{' => depth += 1,
                    ')' | ']' | '}' => depth -= 1,
                    '%' => operands.push(self.word(at + 1, at + 1 + word_length(&text[at + 1..]))),
                    _ if depth == 1 && !is_marked && is_first_of_word(text, at) => {
                        operands.push(self.word(at, at + word_length(&text[at..])));
                    }
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
            }
        }
        Instruction {
            name: self.word(name_start, equals),
            shape: self.word(shape_start, shape_stop),
            opcode,
            operands,
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_.-".contains(&byte)
}

/// Whether a name starts at `at`: behind the bracket, a blank or a comment.
fn is_first_of_word(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    (bytes[at].is_ascii_alphabetic() || bytes[at] == b'_')
        && matches!(bytes[at - 1], b'(' | b' ' | b'/')
}

fn word_length(text: &str) -> usize {
    text.bytes().take_while(|&byte| is_word(byte)).count()
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Nothing,
    Allocations,
    Positions,
    Uses,
    Instruction,
    Steps,
    Ranges,
    Peak,
    Tree,
}

impl Facts {
    /// Reads the files of a dump.
    pub fn read(dump: &Dump) -> Self {
        let mut facts = Self::default();
        for path in &dump.files {
            let text = fs::read_to_string(path).expect("a file of text");
            let lines = text.lines().map(str::to_owned).collect();
            facts.files.push(File {
                path: path.clone(),
                text,
                lines,
            });
        }
        for file in 0..facts.files.len() {
            let lines = std::mem::take(&mut facts.files[file].lines);
            let path = facts.files[file].path.display().to_string();
            if path.ends_with("-memory-usage-report.txt") {
                facts.read_report(file, &lines);
            } else if path.ends_with("-buffer-assignment.txt")
                || path.ends_with("-values.txt")
                || path.ends_with("-live-range.txt")
            {
                facts.read_assignment(file, &lines);
            } else {
                facts.read_module(file, &lines);
            }
            facts.files[file].lines = lines;
        }
        facts.join();
        facts
    }

    fn read_assignment(&mut self, file: usize, lines: &[String]) {
        let mut part = Part::Nothing;
        for (number, text) in lines.iter().enumerate() {
            let line = Line {
                text,
                file,
                line: number,
            };
            let next_is_positions = lines
                .get(number + 1)
                .is_some_and(|next| next == " positions:");
            if text.starts_with("HloLiveRange (max ") {
                self.max = line.number("(max ");
                part = Part::Nothing;
            } else if text == "BufferAssignment:" {
                part = Part::Allocations;
            } else if text.starts_with("Total bytes used: ") {
                self.total = total(&line);
                part = Part::Nothing;
            } else if text == "Used values:" {
                part = Part::Instruction;
            } else if text == "  InstructionSequence:" {
                part = Part::Steps;
            } else if text == "  BufferLiveRange:" {
                part = Part::Ranges;
            } else if text.starts_with("  Live ranges at ") {
                self.peak_step = line.number("Live ranges at ");
                part = Part::Peak;
            } else if text.starts_with("  Stack trace breakdown for peak usage: ") {
                self.tree_total = line.number_at(text.find(": ").expect("a colon") + 2, true);
                part = Part::Tree;
            } else if next_is_positions {
                // A header, alone or run on behind the last character of an instruction.
                let start = text.rfind('<').expect("a header in front of its positions");
                if start > 0 {
                    self.read_value_line(&line, part, start);
                }
                let header = line.reference(start).expect("a header");
                self.used.push(Used {
                    header,
                    ..Used::default()
                });
            } else if text == " positions:" {
                part = Part::Positions;
            } else if text == " uses:" {
                part = Part::Uses;
            } else if text.starts_with(" from instruction:") {
                self.read_value_line(&line, part, text.len());
                part = Part::Instruction;
            } else {
                match part {
                    Part::Allocations => self.read_allocation(&line),
                    Part::Positions | Part::Uses => self.read_value_line(&line, part, text.len()),
                    Part::Steps => {
                        let step = line.number_at(4, false).expect("a step");
                        let start = text.find(':').expect("a colon") + 1;
                        self.sequence.push((step, line.word(start, text.len())));
                    }
                    Part::Ranges => self.read_live_range(&line),
                    Part::Peak => self.read_peak_line(&line),
                    Part::Tree => self.read_tree_line(&line),
                    // A further line of an instruction, an empty line.
                    Part::Nothing | Part::Instruction => {}
                }
            }
            if part == Part::Tree {
                self.add_words(&line);
            } else if part != Part::Allocations && part != Part::Peak {
                self.add_marked_names(&line);
            }
        }
    }

    fn read_allocation(&mut self, line: &Line) {
        let text = line.text;
        if text.starts_with("allocation ") {
            let shape_index = text.find("at ShapeIndex {").map(|at| {
                let start = at + "at ShapeIndex ".len();
                line.word(
                    start,
                    start + text[start..].find('}').expect("a closing brace") + 1,
                )
            });
            let parameter_shape = text.find(", shape |").map(|at| {
                let start = at + ", shape |".len();
                line.word(
                    start,
                    start + text[start..].find('|').expect("a closing bar"),
                )
            });
            self.allocations.push(Allocation {
                parameter_shape,
                line: line.spot(0, text.len()),
                index: line.number("allocation ").expect("an index"),
                size: line.number(": size ").expect("a size"),
                color: line.number(", color "),
                parameter: line.number(", parameter "),
                shape_index,
                attributes: text.to_owned(),
                values: Vec::new(),
            });
        } else if text.starts_with(" value: <") {
            let allocation = self.allocations.len() - 1;
            self.allocations[allocation].values.push(self.values.len());
            let shape = text.find("): ").expect("a shape") + 3;
            self.values.push(Value {
                line: line.spot(0, text.len()),
                reference: line.reference(" value: ".len()).expect("a value"),
                allocation,
                size: line.number("(size=").expect("a size"),
                offset: line.number(",offset=").expect("an offset"),
                shape: line.word(shape, text.len()),
                ..Value::default()
            });
        }
    }

    /// Reads a line of a used value, up to `end`.
    fn read_value_line(&mut self, line: &Line, part: Part, end: usize) {
        let text = &line.text[..end];
        let Some(used) = self.used.last_mut() else {
            return;
        };
        if let Some(rest) = text.strip_prefix(" from instruction:") {
            let start = end - rest.trim_start().len();
            used.instruction = line.instruction(start, end);
        } else if part == Part::Positions {
            let name = line.word(2, 2 + word_length(&text[2..]));
            let index = text[2 + name.text.len()..].trim();
            let index = if index.is_empty() { "{}" } else { index };
            used.positions.push((name, index.to_owned()));
        } else if part == Part::Uses && text != "  (none)" {
            used.uses.push(line.word(2, 2 + word_length(&text[2..])));
        }
    }

    fn read_live_range(&mut self, line: &Line) {
        let text = line.text;
        let open = text.find('{').expect("an index");
        let close = text.find("}:").expect("the end of an index") + 1;
        let start = line.number_at(close + 1, false).expect("a start");
        let end = line
            .number_at(close + 2 + start.spot.length, false)
            .expect("an end");
        let name = line.word(4, open);
        self.live_ranges.push(LiveRange {
            name,
            index: text[open..close].to_owned(),
            start,
            end,
        });
    }

    fn read_peak_line(&mut self, line: &Line) {
        let text = line.text;
        let Some(colon) = text.find(": ") else { return };
        let open = text[..colon].find('{');
        self.peak.push(PeakLine {
            name: line.word(4, open.unwrap_or(colon)),
            index: open.map(|open| text[open..colon].to_owned()),
            bytes: line.number(": ").expect("bytes"),
            cumulative: line.number("(cumulative: "),
        });
    }

    fn read_tree_line(&mut self, line: &Line) {
        // A label may hold a line end, so a line may lack the numbers.
        if !line.text.ends_with(" bytes)") {
            return;
        }
        let behind = |mark: &str| {
            let start = line.text.rfind(mark).expect("a number of a node") + mark.len();
            line.number_at(start, true).expect("a number of a node")
        };
        self.tree.push([
            behind("%, total: "),
            behind(" bytes, current: "),
            behind(" bytes, remaining: "),
        ]);
    }

    fn read_report(&mut self, file: usize, lines: &[String]) {
        for (number, text) in lines.iter().enumerate() {
            let line = Line {
                text,
                file,
                line: number,
            };
            if text.starts_with("Total bytes: ") || text.starts_with("Total bytes used: ") {
                self.report_totals.extend(total(&line).map(|total| total.0));
            }
        }
    }

    fn read_module(&mut self, file: usize, lines: &[String]) {
        self.module = Some(file);
        let mut computation = String::new();
        for (number, text) in lines.iter().enumerate() {
            let line = Line {
                text,
                file,
                line: number,
            };
            if text.ends_with('{') && !text.starts_with(' ') && !text.starts_with("HloModule") {
                let name = text.trim_start_matches("ENTRY ").trim_start_matches('%');
                computation = name[..word_length(name)].to_owned();
                self.computations.insert(computation.clone());
                self.add_words(&line);
            } else if text.starts_with("  ") && text.contains(" = ") {
                let start = 2 + if text[2..].starts_with("ROOT ") { 5 } else { 0 };
                let start = start + usize::from(text[start..].starts_with('%'));
                let name = line.word(start, start + word_length(&text[start..]));
                let instruction = line.instruction(start - 1, text.len());
                if instruction.opcode.ends_with("-start")
                    && let Some(at) = text.find("calls=")
                {
                    let called = text[at + 6..].trim_start_matches('%');
                    self.asynchronous
                        .insert(called[..word_length(called)].to_owned());
                }
                if text.contains(&format!("%{} = ", name.text)) {
                    self.add_marked_names(&line);
                } else {
                    // Old texts mark nothing.
                    self.add_name(&name);
                    for operand in &instruction.operands {
                        self.add_name(operand);
                    }
                }
                self.instructions
                    .entry(name.text)
                    .or_insert((name.spot, computation.clone()));
            }
        }
    }

    /// Notes all words of a line.
    fn add_words(&mut self, line: &Line) {
        let mut start = None;
        for (at, character) in line.text.char_indices().chain([(line.text.len(), ' ')]) {
            if character.is_ascii() && is_word(character as u8) {
                start = start.or(Some(at));
            } else if let Some(start) = start.take() {
                let word = line.word(start, at);
                self.words.entry(word.text).or_default().push(word.spot);
            }
        }
    }

    /// Notes the words behind a `%`, outside of strings.
    fn add_marked_names(&mut self, line: &Line) {
        let mut is_string = false;
        let mut is_escaped = false;
        for (at, character) in line.text.char_indices() {
            if character == '%' && !is_string {
                let word = line.word(at + 1, at + 1 + word_length(&line.text[at + 1..]));
                self.names.entry(word.text).or_default().push(word.spot);
            }
            is_string ^= character == '"' && !is_escaped;
            is_escaped = character == '\\' && !is_escaped;
        }
    }

    fn add_name(&mut self, word: &Word) {
        self.names
            .entry(word.text.clone())
            .or_default()
            .push(word.spot);
    }

    fn join(&mut self) {
        let mut named: Vec<Word> = self
            .values
            .iter()
            .map(|value| value.reference.name.clone())
            .collect();
        for used in &self.used {
            named.push(used.header.name.clone());
            named.extend(used.positions.iter().map(|(name, _)| name.clone()));
            named.extend(used.uses.iter().cloned());
        }
        named.extend(self.sequence.iter().map(|(_, name)| name.clone()));
        named.extend(self.live_ranges.iter().map(|range| range.name.clone()));
        named.extend(self.peak.iter().map(|line| line.name.clone()));
        for name in &named {
            self.add_name(name);
        }
        let mut by_id = HashMap::new();
        let mut by_name = HashMap::new();
        for (at, value) in self.values.iter().enumerate() {
            by_id.insert(value.reference.id.value, at);
            by_name.insert(
                (
                    value.reference.name.text.clone(),
                    value.reference.index.clone(),
                ),
                at,
            );
        }
        for (used, header) in self.used.iter().enumerate() {
            if let Some(&at) = by_id.get(&header.header.id.value) {
                self.values[at].used = Some(used);
            }
        }
        for (live, range) in self.live_ranges.iter().enumerate() {
            if let Some(&at) = by_name.get(&(range.name.text.clone(), range.index.clone())) {
                self.values[at].live = Some(live);
            }
        }
        for (peak, line) in self.peak.iter().enumerate() {
            if let Some(index) = &line.index
                && let Some(&at) = by_name.get(&(line.name.text.clone(), index.clone()))
            {
                self.values[at].peak.push(peak);
            }
        }
    }

    // Looking things up.

    pub fn path(&self, spot: Spot) -> &PathBuf {
        &self.files[spot.file].path
    }

    /// The line of a place.
    pub fn line(&self, spot: Spot) -> &str {
        &self.files[spot.file].lines[spot.line]
    }

    /// The column in UTF-16 units.
    pub fn utf16(&self, spot: Spot) -> usize {
        self.line(spot)[..spot.column].encode_utf16().count()
    }

    /// `FILE:LINE:COLUMN` from 1, for messages and for the command line.
    pub fn position(&self, spot: Spot) -> String {
        let column = self.line(spot)[..spot.column].chars().count() + 1;
        format!("{}:{}:{column}", self.path(spot).display(), spot.line + 1)
    }

    /// Values that `name` defines.
    pub fn defined_by(&self, name: &str) -> Vec<usize> {
        self.filter(|value| value.reference.name.text == name)
    }

    /// The value that `name` defines at `index`.
    pub fn defined_at(&self, name: &str, index: &str) -> Vec<usize> {
        self.filter(|value| value.reference.name.text == name && value.reference.index == index)
    }

    /// Values that are visible at `name`, at `index` if one is given.
    pub fn positioned_at(&self, name: &str, index: Option<&str>) -> Vec<usize> {
        self.filter(|value| {
            value.used.is_some_and(|used| {
                self.used[used].positions.iter().any(|(position, at)| {
                    position.text == name && index.is_none_or(|index| index == at)
                })
            })
        })
    }

    fn filter(&self, choose: impl Fn(&Value) -> bool) -> Vec<usize> {
        (0..self.values.len())
            .filter(|&at| choose(&self.values[at]))
            .collect()
    }

    /// Lines that name a value, but for peak lists without indices.
    pub fn lines_of(&self, value: &Value) -> BTreeSet<(usize, usize)> {
        let mut spots = vec![value.line];
        spots.extend(value.used.map(|used| self.used[used].header.spot));
        spots.extend(value.live.map(|live| self.live_ranges[live].name.spot));
        spots.extend(value.peak.iter().map(|&peak| self.peak[peak].name.spot));
        spots
            .into_iter()
            .map(|spot| (spot.file, spot.line))
            .collect()
    }

    /// Lines of the peak list that name an instruction without an index.
    pub fn bare_peak_lines(&self, name: &str) -> BTreeSet<(usize, usize)> {
        let of_name = |line: &&PeakLine| line.index.is_none() && line.name.text == name;
        self.peak
            .iter()
            .filter(of_name)
            .map(|line| (line.name.spot.file, line.name.spot.line))
            .collect()
    }

    /// Lines that name an instruction.
    pub fn lines_with(&self, name: &str) -> BTreeSet<(usize, usize)> {
        lines(self.names.get(name))
    }

    /// Further lines that may be taken to name an instruction.
    pub fn lines_like(&self, name: &str) -> BTreeSet<(usize, usize)> {
        lines(self.words.get(name))
    }

    /// Whether a value with this size, offset and live range (its own if none is given) would be at
    /// work on bytes of another one for more than a moment.
    pub fn collides(&self, at: usize, size: u64, offset: u64, live: Option<(u64, u64)>) -> bool {
        let range = |value: &Value| {
            let live = &self.live_ranges[value.live?];
            Some((live.start.value, live.end.value))
        };
        let value = &self.values[at];
        let Some((start, end)) = live.or_else(|| range(value)) else {
            return false;
        };
        self.allocations[value.allocation]
            .values
            .iter()
            .any(|&other| {
                let other_value = &self.values[other];
                let (other_size, other_offset) = (other_value.size.value, other_value.offset.value);
                range(other_value).is_some_and(|(other_start, other_end)| {
                    other != at
                        && size > 0
                        && other_size > 0
                        && offset < other_offset + other_size
                        && other_offset < offset + size
                        && end.min(other_end) > start.max(other_start)
                })
            })
    }
}

fn lines(spots: Option<&Vec<Spot>>) -> BTreeSet<(usize, usize)> {
    spots
        .into_iter()
        .flatten()
        .map(|spot| (spot.file, spot.line))
        .collect()
}

/// `Total bytes used: 512 (512B)`
fn total(line: &Line) -> Option<(Number, Word)> {
    let number = line.number(": ")?;
    let open = line.text.find('(')? + 1;
    Some((number, line.word(open, line.text.find(')')?)))
}
