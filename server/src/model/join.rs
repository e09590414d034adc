//! Joining the files of one compilation by ids, names and shape indices.

mod allocations;
mod module;
mod numbering;
mod one_dump;
mod uses;

use std::num::NonZeroU32;
use std::ops::{ControlFlow, Range};

use buflens_syntax::facts::brief::{self, Text};
use buflens_syntax::facts::{Facts, Heading, Span};
use buflens_syntax::{Block, Document};

use super::cancel;
use super::dump::{Dump, File, FileId, Part, Peak, Place, Step};
use super::names::{ByNumber, NameId};
use super::platform::Platforms;
use super::row::Row;
use super::shapes::ShapeId;
use super::value::{LiveRange, Position, Printed, Use, UsedValue, Value, index_text};

pub use numbering::Numbering;

use module::ReadModule;
use numbering::{Texts, numbers_of};
use one_dump::OneDump;
use uses::Uses;

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

/// A dump in the making: the parts of one compilation joined as they are read. It has the names and shapes of its
/// numbering meanwhile.
#[derive(Debug)]
pub struct Join<'n> {
    dump: Dump,
    numbering: &'n mut Numbering,
    /// The blocks that have live ranges, each with its file: these are joined when all values are known.
    with_live_ranges: Vec<(FileId, usize)>,
    /// What each file so far contributes.
    parts: Vec<Part>,
    /// The file that is being joined.
    reading: Reading,
    uses: Uses,
    /// The index `{}`, which is mostly not printed.
    whole: Option<NameId>,
}

/// How far a file is joined.
#[derive(Debug)]
struct Reading {
    file: FileId,
    part: Part,
    one: OneDump,
    /// What the HLO text has said so far.
    module: ReadModule,
    /// The value that the next rows belong to, whose header may be in an earlier block.
    current: Option<u32>,
    /// The id in that header.
    current_id: u64,
    /// Whether another dump has begun, which is not read.
    is_over: bool,
}

impl Reading {
    fn new(file: FileId, part: Part) -> Self {
        Self {
            file,
            part,
            one: OneDump::default(),
            module: ReadModule::default(),
            current: None,
            current_id: 0,
            is_over: false,
        }
    }
}

impl<'n> Join<'n> {
    /// Nothing joined yet.
    pub fn new(numbering: &'n mut Numbering) -> Self {
        let is_joined = numbering.bytes > 0;
        if is_joined && numbering.size() > 2 * numbering.bytes + Numbering::SLACK {
            *numbering = Numbering::default();
        }
        let dump = Dump {
            names: std::mem::take(&mut numbering.names),
            shapes: std::mem::take(&mut numbering.shapes),
            ..std::mem::take(&mut numbering.tables)
        };
        Self {
            dump,
            numbering,
            with_live_ranges: Vec::new(),
            parts: Vec::new(),
            reading: Reading::new(0, Part::None),
            uses: Uses::default(),
            whole: None,
        }
    }

    /// Joins the next file, whose document this is, as file `file` of the dump. Section A knows the values that the
    /// other sections speak of, so the parts come in their order.
    pub fn document(&mut self, file: FileId, document: &Document) {
        self.begin(file, Part::from(document.kind()));
        match self.reading.part {
            Part::Assignment | Part::Values | Part::LiveRange => self.blocks_of(document),
            Part::Module => {
                if let Some(known) = self.known_module(document) {
                    return self.take_module(known);
                }
                self.blocks_of(document);
            }
            Part::Report => read_facts(document),
            Part::None => {}
        }
        self.end(document);
    }

    /// Begins the next file, whose blocks are joined one by one.
    pub fn begin(&mut self, file: FileId, part: Part) {
        self.parts.push(part);
        self.reading = Reading::new(file, part);
    }

    /// Joins the next block of that file, which is block `number` and begins at `start`.
    pub fn block(&mut self, number: usize, start: u32, block: &Block) {
        if self.reading.is_over {
            return;
        }
        if let Some(line) = self.reading.one.begins_another(block) {
            self.reading.is_over = true;
            let range = start + line.start..start + line.end;
            match self.reading.part {
                Part::Module => self.reading.module.set_second(range),
                _ => self.add_second(range),
            }
        } else if self.reading.part == Part::Module {
            self.read_module_block(number, block);
        } else {
            self.read_block(number, start, block);
        }
    }

    /// Ends the file, whose document this is.
    pub fn end(&mut self, document: &Document) {
        if self.reading.part == Part::Module {
            self.end_module(document);
        }
    }

    fn blocks_of(&mut self, document: &Document) {
        each_in_turn(document, |number, start, block| {
            self.block(number, start, block);
            if self.reading.is_over {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
    }

    /// Whether what has been joined are these files, with one of each part.
    pub fn is_of(&self, files: &[File]) -> bool {
        let parts = files.iter().map(|file| Part::from(file.document.kind()));
        let known: Vec<Part> = self
            .parts
            .iter()
            .copied()
            .filter(|&it| it != Part::None)
            .collect();
        parts.eq(self.parts.iter().copied()) && known.is_sorted_by(|one, next| one < next)
    }

    /// The dump of `files`, of which all have been joined.
    pub fn finish(mut self, files: Vec<File>) -> Dump {
        self.dump.files = files;
        let dump = &mut self.dump;
        dump.allocations.shrink_to_fit();
        dump.values.shrink_to_fit();
        dump.used_values.shrink_to_fit();
        dump.positions.shrink_to_fit();
        dump.uses.shrink_to_fit();
        dump.steps.shrink_to_fit();
        let allocations = &dump.allocations;
        if !allocations.is_sorted_by_key(|it| it.color) {
            dump.by_color = (0..allocations.len() as u32).collect();
            dump.by_color
                .sort_by_key(|&at| allocations[at as usize].color);
        }
        // Values are joined by what sections A and C say, live ranges by name and index.
        dump.sort();
        dump.odd_readers = std::mem::take(&mut self.uses).odd_readers(dump);
        for (file, block) in std::mem::take(&mut self.with_live_ranges) {
            let document = self.dump.files[file].document.clone();
            let known = document.block(block).filter(|(_, it)| it.has_facts());
            if let Some((_, content)) = known {
                self.join_live_ranges(file, block, content);
            } else if let Some((_, content)) = document.passing_block(block) {
                self.join_live_ranges(file, block, &content);
            }
        }
        self.dump.live_ranges.shrink_to_fit();
        self.dump.platforms = self.dump.judge_platforms();
        self.dump.shapes.complete(self.dump.platforms);
        let dump = std::mem::take(&mut self.dump);
        (self.dump.names, self.dump.shapes) = (dump.names.clone(), dump.shapes.clone());
        if self.numbering.bytes == 0 {
            self.numbering.bytes = dump.names.bytes() + dump.shapes.bytes();
        }
        dump
    }
}

impl Drop for Join<'_> {
    /// Also when the work is cancelled: what has been numbered keeps its numbers.
    fn drop(&mut self) {
        self.numbering.names = std::mem::take(&mut self.dump.names);
        self.numbering.shapes = std::mem::take(&mut self.dump.shapes);
    }
}

impl Join<'_> {
    fn texts_of(&mut self, block: &Block, facts: &Facts) -> Texts {
        let Dump { names, shapes, .. } = &mut self.dump;
        Texts {
            numbers: numbers_of(self.numbering.id, names, shapes, block, facts),
            names: facts.text_counts().0,
            none: names.intern(""),
        }
    }

    fn shape(&mut self, texts: &Texts, text: Text) -> ShapeId {
        match text.place() {
            Some(place) => ShapeId::of_number(texts.numbers[texts.names + place]),
            None => self.dump.shapes.intern(""),
        }
    }

    fn read_block(&mut self, number: usize, start: u32, content: &Block) {
        let file = self.reading.file;
        let facts = content.facts();
        let row = |row: usize| Row::new(file, number, row);
        let place = |span: Span| Place {
            file,
            range: start + span.start..start + span.end,
        };
        let dump = &mut self.dump;
        for &(heading, line) in content.headings() {
            match heading {
                Heading::LiveRange(max) if dump.max.is_none() => {
                    dump.max = Some((max, place(max.span)));
                }
                Heading::Peak(step) if dump.peak.is_none() => {
                    dump.peak = Some(Peak {
                        step,
                        place: place(step.span),
                        values: Vec::new(),
                    });
                }
                Heading::Tree(total) if dump.tree.is_none() => {
                    dump.tree = Some((total, place(total.span), Vec::new()));
                }
                Heading::Values => dump.has.used_values = true,
                Heading::Ranges => dump.has.live_ranges = true,
                _ => {}
            }
            dump.headings.push((heading, place(line)));
        }
        if dump.total.is_none() && !content.totals().is_empty() {
            dump.total = Some(row(0));
        }
        if let Some(peak) = &mut dump.peak {
            peak.values
                .extend((0..content.peak_values().len()).map(row));
        }
        if let Some((_, _, nodes)) = &mut dump.tree {
            nodes.extend((0..content.tree_nodes().len()).map(row));
        }
        let texts = self.texts_of(content, &facts);
        // A header or a step that has strayed among the allocations of a block is of no value that comes behind it.
        let (has_allocations, has_others) = facts.has_allocations_and_others();
        if has_allocations {
            for (line, brief) in facts.rows() {
                let row = row(line.into());
                match brief {
                    brief::Row::Allocation(header) => self.push_allocation(&header, &texts, row),
                    brief::Row::Placement(placement) => {
                        self.push_placement(&placement, &texts, row);
                    }
                    _ => {}
                }
            }
        }
        let mut rows = facts.rows();
        while has_others && let Some((line, brief)) = rows.next() {
            let row = row(line.into());
            match brief {
                brief::Row::UsedValue(header) => {
                    let own = rows.clone().map_while(|(_, row)| {
                        (!matches!(row, brief::Row::UsedValue(_))).then_some(row)
                    });
                    let value = self.value_of_header(&header, own, &texts);
                    self.push_used_value(value, row);
                    self.dump.used_ids_descend |= header.id < self.reading.current_id;
                    (self.reading.current, self.reading.current_id) = (Some(value), header.id);
                }
                brief::Row::Position(position) => self.push_position(position, &texts, row),
                brief::Row::Use(reading) => self.push_use(reading, &texts, row),
                brief::Row::Instruction(instruction) => {
                    self.add_instruction(&instruction, &texts, row);
                }
                brief::Row::Step(step) => self.push_step(step, &texts, row),
                brief::Row::Allocation(_) | brief::Row::Placement(_) | brief::Row::LiveRange(_) => {
                }
            }
        }
        if facts.has_live_ranges() {
            self.with_live_ranges.push((file, number));
        }
    }

    fn push_used_value(&mut self, value: u32, header: Row) {
        let dump = &mut self.dump;
        dump.used_values.push(UsedValue {
            header,
            instruction: None,
            result: None,
            parameter: u32::MAX,
            positions: dump.positions.len() as u32,
            uses: dump.uses.len() as u32,
        });
        dump.values[value as usize].used = NonZeroU32::new(dump.used_values.len() as u32);
    }

    fn push_step(&mut self, step: brief::Step, texts: &Texts, row: Row) {
        let dump = &mut self.dump;
        let name = texts.name(step.name);
        if dump.step_of.len() <= name.place() {
            dump.step_of.resize(name.place() + 1, u32::MAX);
        }
        let first = &mut dump.step_of[name.place()];
        *first = (*first).min(dump.steps.len() as u32);
        dump.steps.push(Step {
            row,
            number: u32::try_from(step.step).unwrap_or(u32::MAX),
            name,
        });
    }

    fn new_value(&mut self, reference: &brief::Reference, texts: &Texts) -> Value {
        Value {
            id: reference.id,
            name: texts.name(reference.name),
            index: self.index(texts, reference.index),
            placement: None,
            shape: None,
            holder: None,
            size: 0,
            offset: 0,
            opcode: None,
            used: None,
            live_range: None,
            printed: Printed::new(reference),
        }
    }

    /// The index `text`, or `{}` where none is printed.
    fn index(&mut self, texts: &Texts, text: Text) -> NameId {
        if text != Text::NONE {
            return texts.name(text);
        }
        let names = &mut self.dump.names;
        *self
            .whole
            .get_or_insert_with(|| names.intern(index_text("")))
    }

    /// The value of section A that a header of section C means: the one with the same id and name, which
    /// may stand in the first position of `own`, the rows below it; else the one with the same name (one of the ids is
    /// wrong), else the one with the same id (one of the names is wrong), else a new one.
    fn value_of_header(
        &mut self,
        header: &brief::Reference,
        own: impl Iterator<Item = brief::Row>,
        texts: &Texts,
    ) -> u32 {
        let is_free = |dump: &Dump, at: u32| dump.values[at as usize].used.is_none();
        let value = self.new_value(header, texts);
        let by_id = self
            .dump
            .value_with_id(header.id)
            .filter(|&at| is_free(&self.dump, at) && header.is_whole);
        if let Some(at) = by_id {
            let known = &mut self.dump.values[at as usize];
            let names = (known.name, known.index);
            if names == (value.name, value.index) {
                known.set_alike(known.placement.is_some() && known.printed.is_same(value.printed));
                return at;
            }
            let mut positions = own.filter_map(|row| match row {
                brief::Row::Position(position) => Some(position),
                _ => None,
            });
            if positions.next().is_some_and(|position| {
                names == (texts.name(position.name), self.index(texts, position.index))
            }) {
                return at;
            }
        }
        if self.dump.by_name.is_empty() {
            self.dump.sort();
        }
        if let Some(at) = self
            .dump
            .values_at(value.name, value.index)
            .take(SAME_NAME)
            .find(|&at| is_free(&self.dump, at))
        {
            return at;
        }
        by_id.unwrap_or_else(|| {
            let at = self.dump.values.len() as u32;
            if header.is_whole {
                self.dump.by_id.add(value.id, at);
            }
            self.dump.values.push(value);
            at
        })
    }

    // What stands before the first header belongs to no value.

    fn push_position(&mut self, position: brief::Position, texts: &Texts, row: Row) {
        let Some(value) = self.reading.current else {
            return;
        };
        let (name, index) = (texts.name(position.name), self.index(texts, position.index));
        let dump = &mut self.dump;
        let first = dump.used_values.last().map(|used| used.positions);
        if first == Some(dump.positions.len() as u32) {
            let entry = &mut dump.values[value as usize];
            let has_index = position.index != Text::NONE;
            let is_first = (name, index) == (entry.name, entry.index)
                && has_index == entry.printed.has_index();
            entry.set_alike(entry.is_alike() && is_first);
        }
        self.uses.show(index, dump.used_values.len());
        dump.positions.push(Position {
            row,
            value,
            name,
            index,
        });
    }

    /// The first instruction below a header is the value's.
    fn add_instruction(&mut self, instruction: &brief::Instruction, texts: &Texts, row: Row) {
        let Some(value) = self.reading.current else {
            return;
        };
        let shape = self.shape(texts, instruction.shape);
        let dump = &mut self.dump;
        let used = dump.used_values.last_mut();
        let Some(used) = used.filter(|used| used.instruction.is_none()) else {
            return;
        };
        let opcode = texts.name(instruction.opcode);
        used.instruction = Some(row);
        used.result = Some(shape);
        used.parameter = u32::try_from(instruction.parameter).unwrap_or(u32::MAX);
        let entry = &mut dump.values[value as usize];
        entry.opcode = Some(opcode).filter(|&opcode| opcode != texts.none);
        let is_its_own = texts.name(instruction.name) == entry.name
            && instruction.is_tuple == entry.printed.has_index();
        entry.set_alike(entry.is_alike() && is_its_own);
        dump.has_async_calls |= is_async_call(&dump.names[opcode]);
    }

    fn join_live_ranges(&mut self, file: FileId, block: usize, content: &Block) {
        let facts = content.facts();
        let texts = self.texts_of(content, &facts);
        for (line, row) in facts.rows() {
            let brief::Row::LiveRange(live_range) = row else {
                continue;
            };
            // When the value is alive it does not say.
            if live_range.start == u64::MAX {
                continue;
            }
            let row = Row::new(file, block, line.into());
            let name = texts.name(live_range.name);
            let index = self.index(&texts, live_range.index);
            let dump = &mut self.dump;
            let value = dump
                .values_at(name, index)
                .take(SAME_NAME)
                .find(|&at| dump.values[at as usize].live_range.is_none());
            match value {
                Some(at) => {
                    let steps = (live_range.start, live_range.end);
                    dump.live_ranges.push(LiveRange { row, steps });
                    let number = NonZeroU32::new(dump.live_ranges.len() as u32);
                    dump.values[at as usize].live_range = number;
                }
                None => dump.stray_live_ranges.push(row),
            }
        }
        content.forget_facts();
    }

    /// Another dump begins there in the file that is being joined.
    fn add_second(&mut self, range: Range<u32>) {
        let file = self.reading.file;
        self.dump.second.get_or_insert(Place { file, range });
    }
}

impl Dump {
    /// Joins `files`, the files of one compilation. At most one of each part counts: the first.
    pub fn new(files: Vec<File>) -> Self {
        Self::numbered(files, &mut Numbering::default())
    }

    /// The same, with the numbering of an earlier state of the dump.
    pub fn numbered(files: Vec<File>, numbering: &mut Numbering) -> Self {
        let part = |file: FileId| Part::from(files[file].document.kind());
        let mut order: Vec<FileId> = (0..files.len()).collect();
        order.sort_by_key(|&file| part(file));
        order.dedup_by_key(|&mut file| part(file));
        let mut join = Join::new(numbering);
        for file in order {
            join.document(file, &files[file].document);
        }
        join.finish(files)
    }

    fn sort(&mut self) {
        let (values, positions, uses) = (&self.values, &self.positions, &self.uses);
        let order = |index| self.names.index_order(index);
        let by_name = || {
            let names = values.iter().map(|value| value.name.place());
            ByNumber::new(names, |at| order(values[at as usize].index))
        };
        let positions_by_name = || {
            let names = positions.iter().map(|position| position.name.place());
            ByNumber::new(names, |at| order(positions[at as usize].index))
        };
        let uses_by_name = || ByNumber::new(uses.iter().map(|entry| entry.name.place()), |_| ());
        ((self.by_name, self.uses_by_name), self.positions_by_name) =
            cancel::join(|| (by_name(), uses_by_name()), positions_by_name);
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
        let mut shapes: Vec<ShapeId> = self.values.iter().filter_map(|it| it.shape).collect();
        shapes.sort_unstable();
        shapes.dedup();
        let is_tiled = shapes.into_iter().any(|shape| {
            let shape = &self.shapes[shape];
            !shape.starts_with('(') && shape.contains(":T(")
        });
        if is_tiled {
            only(false, false, true)
        } else {
            only(true, true, true)
        }
    }
}

/// Calls `each` with the number, offset and content of each block of a document, whose facts are read ahead on all
/// cores. Those of a text that is not held are read one by one, and go when they have been joined.
fn each_in_turn(document: &Document, mut each: impl FnMut(usize, u32, &Block) -> ControlFlow<()>) {
    if document.is_released() {
        for (number, (start, block)) in document.passing_blocks().enumerate() {
            if each(number, start, &block).is_break() {
                return;
            }
        }
        return;
    }
    let blocks: Vec<(u32, &Block)> = document.blocks().collect();
    cancel::for_each_prepared(
        &blocks,
        |(_, block)| block.has_facts(),
        |(_, block)| {
            block.facts();
        },
        |number, &(start, block)| each(number, start, block),
    );
}

/// Whether an opcode starts the asynchronous run of a computation: `async-start`, or the short form
/// `OPCODE-start` for a computation of one instruction. Copies and collectives have starts of their own.
pub(crate) fn is_async_call(opcode: &str) -> bool {
    const OWN: [&str; 4] = ["copy", "all-gather", "all-reduce", "collective-permute"];
    opcode
        .strip_suffix("-start")
        .is_some_and(|what| !OWN.contains(&what))
}
