//! Reading a dump from line to line: the second reader.

use std::collections::HashMap;
use std::fs;

use super::cut::{Line, is_word, total, word_length};
use super::dumps::Dump;
use super::oracle::{Allocation, Facts, File, LiveRange, PeakLine, Use, Used, Value, Word};

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
                || facts.files[file].text.starts_with("BufferAssignment:")
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
            let line = Line { text, file, number };
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
            let name = line.word(2, 2 + word_length(&text[2..]));
            let operand = line.number(", operand ").expect("an operand");
            let index = line.number(" {");
            used.uses.push(Use {
                name,
                operand,
                index,
            });
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
            let line = Line { text, file, number };
            if text.starts_with("Total bytes: ") || text.starts_with("Total bytes used: ") {
                self.report_totals.extend(total(&line).map(|total| total.0));
            }
        }
    }

    fn read_module(&mut self, file: usize, lines: &[String]) {
        self.module = Some(file);
        let mut computation = String::new();
        for (number, text) in lines.iter().enumerate() {
            let line = Line { text, file, number };
            if text.ends_with('{') && !text.starts_with(' ') && !text.starts_with("HloModule") {
                let name = text.trim_start_matches("ENTRY ").trim_start_matches('%');
                name[..word_length(name)].clone_into(&mut computation);
                if text.starts_with("ENTRY ") {
                    self.entry.clone_from(&computation);
                }
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
                if text.starts_with("  ROOT ") {
                    self.roots.insert(name.text.clone());
                }
                self.opcodes.insert(name.text.clone(), instruction.opcode);
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
            named.extend(used.uses.iter().map(|it| it.name.clone()));
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
}
