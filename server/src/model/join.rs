//! Joining the files of one compilation by ids, names and shape indices.

use std::ops::{ControlFlow, Range};

use buflens_syntax::facts::{self, Heading, Span};
use buflens_syntax::{Block, Document};

use super::cancel;
use super::dump::{
    Allocation, Dump, File, FileId, Instruction, Part, Peak, Place, Platforms, Row, Step,
};
use super::names::{ByNumber, NameId};
use super::value::{Position, Printed, Use, Value, index_text};

/// Names are unique in a sound dump. In others so many values of one name are told apart, which keeps
/// a name that repeats a million times from taking a million times a million steps.
const SAME_NAME: usize = 16;

/// Reads the facts of all blocks on all cores. Can be cancelled.
pub fn read_facts(document: &Document) {
    cancel::map(document.blocks().collect(), |(_, block)| {
        block.facts();
    });
}

/// Reads what is wrong in all blocks on all cores, and their facts with it. Can be cancelled.
pub fn read_errors(document: &Document) {
    cancel::map(document.blocks().collect(), |(_, block)| {
        block.errors();
    });
}

impl Dump {
    /// Joins `files`, the files of one compilation. At most one of each part counts: the first.
    pub fn new(files: Vec<File>) -> Self {
        let mut dump = Self {
            files,
            ..Self::default()
        };
        let part = |file: &File| Part::from(file.document.kind());
        // Section A knows the values that the other sections speak of, so it is read first.
        let mut order: Vec<FileId> = (0..dump.files.len()).collect();
        order.sort_by_key(|&file| part(&dump.files[file]));
        order.dedup_by_key(|&mut file| part(&dump.files[file]));
        for &file in &order {
            let document = dump.files[file].document.clone();
            match part(&dump.files[file]) {
                Part::Module => dump.read_module(file, &document),
                Part::Report => read_facts(&document),
                Part::None => {}
                Part::Assignment | Part::Values | Part::LiveRange => {
                    dump.read_assignment(file, &document);
                }
            }
        }
        dump.shapes.finish();
        dump.values.shrink_to_fit();
        dump.positions.shrink_to_fit();
        dump.uses.shrink_to_fit();
        dump.steps.shrink_to_fit();
        dump.by_color = (0..dump.allocations.len() as u32).collect();
        let allocations = &dump.allocations;
        dump.by_color
            .sort_by_key(|&at| allocations[at as usize].color);
        // Values are joined by what sections A and C say, live ranges by name and index.
        dump.sort();
        for file in order {
            let document = dump.files[file].document.clone();
            if matches!(
                part(&dump.files[file]),
                Part::Assignment | Part::Values | Part::LiveRange
            ) {
                dump.join_live_ranges(file, &document);
            }
        }
        dump.platforms = dump.judge_platforms();
        dump
    }

    fn read_assignment(&mut self, file: FileId, document: &Document) {
        // Rows that belong to the value or allocation read last, maybe in an earlier block.
        let mut current: Option<u32> = None;
        let second = each_of_one_dump(document, |block, start, content| {
            let facts = content.facts();
            let text = content.text();
            let row = |row: usize| Row {
                file: file as u32,
                block: block as u32,
                number: row as u32,
            };
            let place = |span: Span| Place {
                file,
                range: start + span.start..start + span.end,
            };
            for &(heading, line) in &facts.headings {
                match heading {
                    Heading::LiveRange(max) if self.max.is_none() => {
                        self.max = Some((max, place(max.span)));
                    }
                    Heading::Peak(step) if self.peak.is_none() => {
                        self.peak = Some(Peak {
                            step,
                            place: place(step.span),
                            values: Vec::new(),
                        });
                    }
                    Heading::Tree(total) if self.tree.is_none() => {
                        self.tree = Some((total, place(total.span), Vec::new()));
                    }
                    _ => {}
                }
                self.headings.push((heading, place(line)));
            }
            if self.total.is_none() && !facts.totals.is_empty() {
                self.total = Some(row(0));
            }
            self.read_allocations(facts, text, &row);
            self.read_values(facts, text, &row, &mut current);
            for (number, step) in facts.steps.iter().enumerate() {
                let name = self.names.intern(step.name.text(text));
                if self.step_of.len() <= name.place() {
                    self.step_of.resize(name.place() + 1, u32::MAX);
                }
                let first = &mut self.step_of[name.place()];
                *first = (*first).min(self.steps.len() as u32);
                self.steps.push(Step {
                    row: row(number),
                    name,
                });
            }
            if let Some(peak) = &mut self.peak {
                peak.values.extend((0..facts.peak_values.len()).map(row));
            }
            if let Some((_, _, nodes)) = &mut self.tree {
                nodes.extend((0..facts.tree.len()).map(row));
            }
        });
        self.add_second(file, second);
    }

    fn read_allocations(&mut self, facts: &facts::Facts, text: &str, row: &impl Fn(usize) -> Row) {
        let mut next_allocation = 0;
        for (number, placement) in facts.placements.iter().enumerate() {
            while facts
                .allocations
                .get(next_allocation)
                .is_some_and(|header| header.placements as usize <= number)
            {
                self.push_allocation(&facts.allocations[next_allocation], row(next_allocation));
                next_allocation += 1;
            }
            let at = self.values.len() as u32;
            let value = self.new_value(&placement.value, text);
            if placement.value.is_whole(text) {
                self.by_id.entry(value.id).or_insert(at);
            }
            if let Some(allocation) = self.allocations.last_mut() {
                allocation.values.end = at + 1;
            }
            self.values.push(Value {
                placement: Some(row(number)),
                shape: Some(self.shapes.intern(placement.shape.text(text))),
                allocation: self
                    .allocations
                    .len()
                    .checked_sub(1)
                    .map(|last| last as u32),
                size: placement.size.value,
                offset: placement.offset.value,
                ..value
            });
        }
        for (number, header) in facts.allocations.iter().enumerate().skip(next_allocation) {
            self.push_allocation(header, row(number));
        }
    }

    fn push_allocation(&mut self, header: &facts::Allocation, row: Row) {
        let first = self.values.len() as u32;
        self.allocations.push(Allocation {
            header: row,
            index: header.index.value,
            size: header.size.value,
            color: header.color.value,
            parameter: header.parameter.get(),
            has_output_shape: !header.output_shape.is_empty(),
            kinds: header.kinds,
            values: first..first,
        });
    }

    fn new_value(&mut self, reference: &facts::ValueReference, text: &str) -> Value {
        Value {
            id: reference.id.value,
            name: self.names.intern(reference.name.text(text)),
            index: self.index_of(reference.index, text),
            placement: None,
            shape: None,
            allocation: None,
            size: 0,
            offset: 0,
            used: None,
            instruction: None,
            opcode: None,
            result: None,
            positions: 0..0,
            uses: 0..0,
            live_range: None,
            live: (0, 0),
            is_alike: false,
            printed: printed(reference),
        }
    }

    /// The index printed at `span`, or `{}`.
    fn index_of(&mut self, span: Span, text: &str) -> NameId {
        self.names.intern(index_text(span.text(text)))
    }

    /// The name `text`, which mostly is the `likely` one: to compare is faster than to look up.
    fn intern_likely(&mut self, text: &str, likely: Option<NameId>) -> NameId {
        likely
            .filter(|&likely| self.names[likely] == *text)
            .unwrap_or_else(|| self.names.intern(text))
    }

    fn read_values(
        &mut self,
        facts: &facts::Facts,
        text: &str,
        row: &impl Fn(usize) -> Row,
        current: &mut Option<u32>,
    ) {
        // A value's rows are those behind its header and before the next header.
        let ends = |next: Option<&facts::UsedValue>| match next {
            Some(next) => (next.positions, next.uses, next.instructions),
            None => (
                facts.positions.len() as u32,
                facts.uses.len() as u32,
                facts.instructions.len() as u32,
            ),
        };
        let mut start = (0, 0, 0);
        for number in 0..=facts.values.len() {
            // What stands before header `number` belongs to the value before it.
            let end = ends(facts.values.get(number));
            if let Some(value) = *current {
                self.add_rows(value, facts, text, row, start, end);
            }
            start = end;
            let Some(header) = facts.values.get(number) else {
                break;
            };
            let next = ends(facts.values.get(number + 1)).0;
            let defined = &facts.positions[end.0 as usize..next as usize];
            let value = self.value_of_header(&header.value, defined.first(), text);
            self.values[value as usize].used = Some(row(number));
            *current = Some(value);
        }
    }

    /// The value of section A that a header of section C means: the one with the same id and name, which
    /// may stand in `defined`, its first position; else the one with the same name (one of the ids is
    /// wrong), else the one with the same id (one of the names is wrong), else a new one.
    fn value_of_header(
        &mut self,
        header: &facts::ValueReference,
        defined: Option<&facts::Position>,
        text: &str,
    ) -> u32 {
        let is_free = |dump: &Self, at: u32| dump.values[at as usize].used.is_none();
        let by_id = self
            .by_id
            .get(&header.id.value)
            .copied()
            .filter(|&at| is_free(self, at) && header.is_whole(text));
        if let Some(at) = by_id {
            let known = &mut self.values[at as usize];
            let is_named = |name: Span, index: Span| {
                self.names[known.name] == *name.text(text)
                    && self.names[known.index] == *index_text(index.text(text))
            };
            if is_named(header.name, header.index) {
                known.is_alike = known.placement.is_some() && known.printed == printed(header);
                return at;
            }
            if defined.is_some_and(|position| is_named(position.name, position.index)) {
                return at;
            }
        }
        let value = self.new_value(header, text);
        if self.by_name.is_empty() {
            self.sort();
        }
        if let Some(at) = self
            .values_at(value.name, value.index)
            .take(SAME_NAME)
            .find(|&at| is_free(self, at))
        {
            return at;
        }
        by_id.unwrap_or_else(|| {
            let at = self.values.len() as u32;
            if header.is_whole(text) {
                self.by_id.entry(value.id).or_insert(at);
            }
            self.values.push(value);
            at
        })
    }

    fn add_rows(
        &mut self,
        value: u32,
        facts: &facts::Facts,
        text: &str,
        row: &impl Fn(usize) -> Row,
        start: (u32, u32, u32),
        end: (u32, u32, u32),
    ) {
        let (positions, uses) = (self.positions.len() as u32, self.uses.len() as u32);
        for number in start.0 as usize..end.0 as usize {
            let position = &facts.positions[number];
            // Mostly it is where the value is defined.
            let defined = self.values[value as usize].name;
            let name = self.intern_likely(position.name.text(text), Some(defined));
            let index = self.index_of(position.index, text);
            self.positions.push(Position {
                row: row(number),
                value,
                name,
                index,
            });
        }
        for number in start.1 as usize..end.1 as usize {
            let name = self.names.intern(facts.uses[number].name.text(text));
            self.uses.push(Use {
                row: row(number),
                value,
                name,
            });
        }
        let entry = &mut self.values[value as usize];
        // A value that goes on in the next block goes on where it ended.
        if entry.positions.is_empty() {
            entry.positions.start = positions;
            if let Some(first) = self.positions.get(positions as usize) {
                let has_index = !facts.positions[start.0 as usize].index.is_empty();
                entry.is_alike &= first.name == entry.name
                    && first.index == entry.index
                    && has_index == entry.printed.has_index;
            }
        }
        if entry.uses.is_empty() {
            entry.uses.start = uses;
        }
        entry.positions.end = self.positions.len() as u32;
        entry.uses.end = self.uses.len() as u32;
        if entry.instruction.is_none() && start.2 < end.2 {
            entry.instruction = Some(row(start.2 as usize));
            let instruction = &facts.instructions[start.2 as usize];
            let (opcode, shape) = (instruction.opcode.text(text), instruction.shape.text(text));
            entry.opcode = Some(self.names.intern(opcode));
            entry.result = Some(self.shapes.intern(shape));
            self.has_async_calls |= is_async_call(opcode);
            let is_tuple = shape.starts_with('(');
            entry.is_alike &= *instruction.name.text(text) == self.names[entry.name]
                && is_tuple == entry.printed.has_index;
        }
    }

    fn read_module(&mut self, file: FileId, document: &Document) {
        let mut computation = None;
        let mut table = "";
        let second = each_of_one_dump(document, |block, _, content| {
            let facts = content.facts();
            let row = |row: usize| Row {
                file: file as u32,
                block: block as u32,
                number: row as u32,
            };
            let mut titles = facts
                .headings
                .iter()
                .filter(|(heading, _)| *heading == Heading::Table)
                .peekable();
            for (number, content_row) in facts.table_rows.iter().enumerate() {
                let start = content_row.row.span.start;
                while let Some((_, title)) = titles.next_if(|(_, title)| title.start < start) {
                    table = title.text(content.text());
                }
                if let Some(rows) = self.tables.under(table) {
                    rows.push(row(number));
                }
            }
            if let Some((_, title)) = titles.last() {
                table = title.text(content.text());
            }
            let mut next = 0;
            for (number, instruction) in facts.instructions.iter().enumerate() {
                while facts
                    .computations
                    .get(next)
                    .is_some_and(|header| header.instructions as usize <= number)
                {
                    let header = &facts.computations[next];
                    computation = Some(self.push_computation(header, content.text(), row(next)));
                    next += 1;
                }
                let name = self.names.intern(instruction.name.text(content.text()));
                let entry = Instruction {
                    row: row(number),
                    computation,
                };
                let first = self.instructions.entry(name).or_insert(entry);
                if first.computation != computation
                    && let Some(computation) = computation
                {
                    self.repeated.entry((computation, name)).or_insert(entry);
                }
            }
            for number in next..facts.computations.len() {
                let header = &facts.computations[number];
                computation = Some(self.push_computation(header, content.text(), row(number)));
            }
        });
        self.add_second(file, second);
    }

    fn add_second(&mut self, file: FileId, line: Option<Range<u32>>) {
        let place = line.map(|range| Place { file, range });
        self.second = self.second.take().or(place);
    }

    fn push_computation(&mut self, header: &facts::Computation, text: &str, row: Row) -> u32 {
        let number = self.computations.len() as u32;
        let name = self.names.intern(header.name.text(text));
        self.computations_by_name.entry(name).or_insert(number);
        self.computations.push(row);
        number
    }

    fn sort(&mut self) {
        let (values, positions, uses) = (&self.values, &self.positions, &self.uses);
        let by_name = || {
            let names = values.iter().map(|value| value.name.place());
            ByNumber::new(names, |at| values[at as usize].index)
        };
        let positions_by_name = || {
            let names = positions.iter().map(|position| position.name.place());
            ByNumber::new(names, |at| positions[at as usize].index)
        };
        let uses_by_name = || ByNumber::new(uses.iter().map(|entry| entry.name.place()), |_| ());
        ((self.by_name, self.uses_by_name), self.positions_by_name) =
            cancel::join(|| (by_name(), uses_by_name()), positions_by_name);
    }

    fn join_live_ranges(&mut self, file: FileId, document: &Document) {
        each_of_one_dump(document, |block, _, content| {
            for (number, live_range) in content.facts().live_ranges.iter().enumerate() {
                let row = Row {
                    file: file as u32,
                    block: block as u32,
                    number: number as u32,
                };
                // Mostly it begins where the value is defined.
                let first = usize::try_from(live_range.start.value).ok();
                let defined = first.and_then(|step| Some(self.steps.get(step)?.name));
                let name = self.intern_likely(live_range.name.text(content.text()), defined);
                let index = self.index_of(live_range.index, content.text());
                let value = self
                    .values_at(name, index)
                    .take(SAME_NAME)
                    .find(|&at| self.values[at as usize].live_range.is_none());
                match value {
                    Some(at) => {
                        let value = &mut self.values[at as usize];
                        value.live_range = Some(row);
                        value.live = (live_range.start.value, live_range.end.value);
                    }
                    None => self.stray_live_ranges.push(row),
                }
            }
        });
    }

    /// The platforms that the dump can come from.
    fn judge_platforms(&self) -> Platforms {
        let only = |cpu, gpu, tpu| Platforms { cpu, gpu, tpu };
        for file in &self.files {
            let name = file
                .path
                .file_name()
                .map(|name| name.to_string_lossy())
                .unwrap_or_default();
            if name.contains("cpu_after_optimizations") {
                return only(true, false, false);
            } else if name.contains("gpu_after_optimizations") {
                return only(false, true, false);
            } else if name.contains(".cl_") {
                return only(false, false, true);
            }
        }
        // Only TPU layouts have tiles.
        let is_tiled = self.values.iter().any(|value| {
            self.placement(value).is_some_and(|placement| {
                let shape = placement.text(placement.row.shape);
                !shape.starts_with('(') && shape.contains(":T(")
            })
        });
        if is_tiled {
            only(false, false, true)
        } else {
            only(true, true, true)
        }
    }
}

/// The index printed at `span`, or `{}`.
fn printed(reference: &facts::ValueReference) -> Printed {
    let color = reference.color.get();
    Printed {
        has_index: !reference.index.is_empty(),
        phi: reference.phi,
        color: color.and_then(|color| color.try_into().ok()),
    }
}

/// Calls `each` with the number, offset and content of each block of the first dump of a document, whose
/// facts are read ahead on all cores: a log can hold several dumps, and the values of one are not those of
/// another. A section always begins a block. Tells where the second dump begins.
fn each_of_one_dump<'d>(
    document: &'d Document,
    mut each: impl FnMut(usize, u32, &'d Block),
) -> Option<Range<u32>> {
    let mut seen = Vec::new();
    let mut second = None;
    let blocks: Vec<(u32, &Block)> = document.blocks().collect();
    cancel::for_each_prepared(
        &blocks,
        |(_, block)| block.has_facts(),
        |(_, block)| {
            block.facts();
        },
        |number, &(start, block)| {
            let begins_another = block.facts().headings.iter().find(|(heading, _)| {
                let opens_dump = matches!(
                    heading,
                    Heading::Assignment
                        | Heading::Values
                        | Heading::LiveRange(_)
                        | Heading::Module(_)
                );
                let kind = std::mem::discriminant(heading);
                // A heading that stands twice, with nothing between, opens no other dump.
                let is_doubled = || {
                    let before = number.checked_sub(1).map(|before| blocks[before].1);
                    before.is_some_and(|before| {
                        let mut headings = before.facts().headings.iter();
                        headings.any(|(it, _)| std::mem::discriminant(it) == kind)
                            && before.text().trim_end().lines().count() == 1
                    })
                };
                let repeats = opens_dump && seen.contains(&kind) && !is_doubled();
                seen.push(kind);
                repeats
            });
            if let Some((_, line)) = begins_another {
                second = Some(start + line.start..start + line.end);
                return ControlFlow::Break(());
            }
            each(number, start, block);
            ControlFlow::Continue(())
        },
    );
    second
}

/// Whether an opcode starts the asynchronous run of a computation: `async-start`, or the short form
/// `OPCODE-start` for a computation of one instruction. Copies and collectives have starts of their own.
pub(crate) fn is_async_call(opcode: &str) -> bool {
    const OWN: [&str; 4] = ["copy", "all-gather", "all-reduce", "collective-permute"];
    opcode
        .strip_suffix("-start")
        .is_some_and(|what| !OWN.contains(&what))
}
