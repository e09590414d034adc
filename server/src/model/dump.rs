//! The files of one compilation, joined by ids, names and shape indices.

use std::ops::Range;
use std::path::PathBuf;

use buflens_syntax::facts::{self, Heading, Span};
use buflens_syntax::{Block, Document, DocumentKind};
use rustc_hash::FxHashMap;

use super::names::{NameId, Names};

/// Names are unique in a sound dump. In others so many values of one name are told apart, which keeps
/// a name that repeats a million times from taking a million times a million steps.
const SAME_NAME: usize = 16;

/// The number of a file in [`Dump::files`].
pub type FileId = usize;

/// What a file contributes to its dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Allocations; in the combined form also all that the values and live-range files say.
    Assignment,
    /// The total and the used values.
    Values,
    /// The schedule, live ranges and the peak.
    LiveRange,
    /// The memory-usage report.
    Report,
    /// The HLO text.
    Module,
    /// Nothing: the file is no dump, or of a kind that is not read.
    None,
}

impl From<DocumentKind> for Part {
    fn from(kind: DocumentKind) -> Self {
        match kind {
            DocumentKind::Assignment => Self::Assignment,
            DocumentKind::Values => Self::Values,
            DocumentKind::LiveRange => Self::LiveRange,
            DocumentKind::Report => Self::Report,
            DocumentKind::Module => Self::Module,
            DocumentKind::Foreign | DocumentKind::Unknown => Self::None,
        }
    }
}

/// A file of a dump.
#[derive(Debug, Clone)]
pub struct File {
    /// Where it lies. A buffer that was never saved has a path of its own making.
    pub path: PathBuf,
    /// Its text.
    pub document: Document,
    /// Whether the text on disk was not UTF-8, so that characters were replaced.
    pub lossy: bool,
}

/// A range of bytes in a file of the dump.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// Which file.
    pub file: FileId,
    /// Bytes from the start of the file.
    pub range: Range<u32>,
}

/// Which row of which block of which file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Row {
    file: u32,
    block: u32,
    row: u32,
}

/// A row of facts with the block that its spans count from.
#[derive(Debug, Clone, Copy)]
pub struct At<'d, T> {
    /// The file.
    pub file: FileId,
    /// Where the block starts, in bytes from the start of the file.
    pub start: u32,
    /// The block.
    pub block: &'d Block,
    /// The row.
    pub row: &'d T,
}

impl<'d, T> At<'d, T> {
    /// Where `span` is in the file.
    pub fn place(&self, span: Span) -> Place {
        Place {
            file: self.file,
            range: self.start + span.start..self.start + span.end,
        }
    }

    /// The text of `span`.
    pub fn text(&self, span: Span) -> &'d str {
        span.text(self.block.text())
    }
}

/// An allocation.
#[derive(Debug, Clone)]
pub struct Allocation {
    /// Its header.
    pub header: Row,
    /// The number printed; equal to its place in [`Dump::allocations`] in every sound dump.
    pub index: u64,
    /// Size in bytes.
    pub size: u64,
    /// Memory space; 0 is not printed.
    pub color: u64,
    /// The entry parameter whose buffer this is.
    pub parameter: Option<u64>,
    /// Whether the root of the result lies here.
    pub has_output_shape: bool,
    /// What else the header says.
    pub kinds: facts::AllocationKinds,
    /// Its values, as numbers into [`Dump::values`].
    pub values: Range<u32>,
}

/// A value: what one instruction defines at one index of its result.
#[derive(Debug, Clone)]
pub struct Value {
    /// The id, unique in sections A and C of a sound dump.
    pub id: u64,
    /// The defining instruction.
    pub name: NameId,
    /// The shape index with its braces; `{}` also where it is not printed.
    pub index: NameId,
    /// The line of section A.
    pub placement: Option<Row>,
    /// The allocation that holds it, as a number into [`Dump::allocations`].
    pub allocation: Option<u32>,
    /// Size in bytes, padding included; 0 without placement.
    pub size: u64,
    /// Offset in bytes from the start of the allocation; 0 without placement.
    pub offset: u64,
    /// The header in section C.
    pub used: Option<Row>,
    /// The instruction printed in section C.
    pub instruction: Option<Row>,
    /// Its positions, as numbers into [`Dump::positions`].
    pub positions: Range<u32>,
    /// Its uses, as numbers into [`Dump::uses`].
    pub uses: Range<u32>,
    /// The line of section D.
    pub live_range: Option<Row>,
    /// First and last step alive, both included; 0 without live range.
    pub live: (u64, u64),
}

/// Where a value is visible.
#[derive(Debug, Clone, Copy)]
pub struct Position {
    /// The line.
    pub row: Row,
    /// The value, as a number into [`Dump::values`].
    pub value: u32,
    /// The instruction.
    pub name: NameId,
    /// The index in its result.
    pub index: NameId,
}

/// Who reads a value.
#[derive(Debug, Clone, Copy)]
pub struct Use {
    /// The line.
    pub row: Row,
    /// The value, as a number into [`Dump::values`].
    pub value: u32,
    /// The instruction that reads it.
    pub name: NameId,
}

/// A step of the schedule.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// The line.
    pub row: Row,
    /// The instruction.
    pub name: NameId,
}

/// An instruction of the HLO sibling.
#[derive(Debug, Clone, Copy)]
pub struct Instruction {
    /// The line.
    pub row: Row,
    /// Its computation, as a number into [`Dump::computations`].
    pub computation: Option<u32>,
}

/// The peak that the compiler printed.
#[derive(Debug, Clone)]
pub struct Peak {
    /// The step printed.
    pub step: facts::Number,
    /// Where it is printed.
    pub place: Place,
    /// The lines of the list.
    pub values: Vec<Row>,
}

/// The platforms that a dump can come from, by its file name and contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Platforms {
    /// x86 or ARM.
    pub cpu: bool,
    /// CUDA or ROCm.
    pub gpu: bool,
    /// TPU of any generation.
    pub tpu: bool,
}

/// One compilation.
#[derive(Debug, Default)]
pub struct Dump {
    /// Its files: the assignment first, then its siblings.
    pub files: Vec<File>,
    /// All names.
    pub names: Names,
    /// Section A.
    pub allocations: Vec<Allocation>,
    /// The values of section A in its order, then those that only section C has.
    pub values: Vec<Value>,
    /// All lines below `positions:`, in the order of the text.
    pub positions: Vec<Position>,
    /// All lines below `uses:`, in the order of the text.
    pub uses: Vec<Use>,
    /// The schedule, by step.
    pub steps: Vec<Step>,
    /// `HloLiveRange (max N)`.
    pub max: Option<(facts::Number, Place)>,
    /// The list of live values at the step that the compiler takes for the peak.
    pub peak: Option<Peak>,
    /// Live ranges of no known value, or of one that has a live range already.
    pub stray_live_ranges: Vec<Row>,
    /// The stack trace breakdown: the total printed above it, and its nodes.
    pub tree: Option<(facts::Number, Place, Vec<Row>)>,
    /// `Total bytes used` in the assignment or values file.
    pub total: Option<Row>,
    /// Every section heading.
    pub headings: Vec<(Heading, Place)>,
    /// The instructions of the HLO sibling, by name. The first of equal names counts.
    pub instructions: FxHashMap<NameId, Instruction>,
    /// The computations of the HLO sibling.
    pub computations: Vec<Row>,
    /// By id: the first value with that id, as a number into `values`.
    by_id: FxHashMap<u64, u32>,
    /// Numbers of values, sorted by name and index.
    by_name: Vec<u32>,
    /// Numbers of positions, sorted by name and index.
    positions_by_name: Vec<u32>,
    /// Numbers of uses, sorted by name.
    uses_by_name: Vec<u32>,
    /// The step of an instruction.
    step_of: FxHashMap<NameId, u32>,
}

/// Gives access to one kind of facts' rows; see [`Dump::at`].
pub trait Rows: Sized {
    /// The table of these rows.
    fn of(facts: &facts::Facts) -> &[Self];
}

macro_rules! rows {
    ($($type:ident: $field:ident),* $(,)?) => {
        $(impl Rows for facts::$type {
            fn of(facts: &facts::Facts) -> &[Self] {
                &facts.$field
            }
        })*
    };
}

rows! {
    Allocation: allocations,
    Placement: placements,
    Total: totals,
    UsedValue: values,
    Position: positions,
    Use: uses,
    Instruction: instructions,
    Step: steps,
    LiveRange: live_ranges,
    PeakValue: peak_values,
    TreeNode: tree,
    Computation: computations,
}

impl Dump {
    /// Joins `files`, the files of one compilation. At most one of each part counts: the first.
    pub fn new(files: Vec<File>) -> Self {
        let mut dump = Self {
            files,
            ..Self::default()
        };
        let mut seen = Vec::new();
        for file in 0..dump.files.len() {
            let document = dump.files[file].document.clone();
            let part = Part::from(document.kind());
            if part == Part::None || seen.contains(&part) {
                continue;
            }
            seen.push(part);
            document.read_facts();
            if part == Part::Module {
                dump.read_module(file, &document);
            } else if part != Part::Report {
                dump.read_assignment(file, &document);
            }
        }
        // Values are joined by what sections A and C say, live ranges by name and index.
        dump.sort();
        for file in 0..dump.files.len() {
            let document = dump.files[file].document.clone();
            if matches!(
                Part::from(document.kind()),
                Part::Assignment | Part::Values | Part::LiveRange
            ) {
                dump.join_live_ranges(file, &document);
            }
        }
        dump
    }

    fn read_assignment(&mut self, file: FileId, document: &Document) {
        // Rows that belong to the value or allocation read last, maybe in an earlier block.
        let mut current: Option<u32> = None;
        for (block, (start, content)) in document.blocks().enumerate() {
            let facts = content.facts();
            let text = content.text();
            let row = |row: usize| Row {
                file: file as u32,
                block: block as u32,
                row: row as u32,
            };
            let place = |span: Span| Place {
                file,
                range: start + span.start..start + span.end,
            };
            for &(heading, line) in &facts.headings {
                match heading {
                    Heading::LiveRange(max) if self.max.is_none() => {
                        self.max = Some((max, place(max.span)))
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
                self.step_of.entry(name).or_insert(self.steps.len() as u32);
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
        }
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
            self.by_id.entry(value.id).or_insert(at);
            if let Some(allocation) = self.allocations.last_mut() {
                allocation.values.end = at + 1;
            }
            self.values.push(Value {
                placement: Some(row(number)),
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
            allocation: None,
            size: 0,
            offset: 0,
            used: None,
            instruction: None,
            positions: 0..0,
            uses: 0..0,
            live_range: None,
            live: (0, 0),
        }
    }

    /// The index printed at `span`, or `{}`.
    fn index_of(&mut self, span: Span, text: &str) -> NameId {
        self.names.intern(if span.is_empty() {
            "{}"
        } else {
            span.text(text)
        })
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
            let value = self.value_of_header(&header.value, text);
            self.values[value as usize].used = Some(row(number));
            *current = Some(value);
        }
    }

    /// The value of section A that a header of section C means: the one with the same id and name,
    /// else the one with the same name (one of the ids is wrong), else the one with the same id
    /// (one of the names is wrong), else a new one.
    fn value_of_header(&mut self, header: &facts::ValueReference, text: &str) -> u32 {
        let value = self.new_value(header, text);
        let is_free = |dump: &Self, at: u32| dump.values[at as usize].used.is_none();
        let by_id = self
            .by_id
            .get(&value.id)
            .copied()
            .filter(|&at| is_free(self, at));
        if let Some(at) = by_id
            && self.values[at as usize].name == value.name
            && self.values[at as usize].index == value.index
        {
            return at;
        }
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
            self.by_id.entry(value.id).or_insert(at);
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
            let name = self.names.intern(position.name.text(text));
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
        }
        if entry.uses.is_empty() {
            entry.uses.start = uses;
        }
        entry.positions.end = self.positions.len() as u32;
        entry.uses.end = self.uses.len() as u32;
        if entry.instruction.is_none() && start.2 < end.2 {
            entry.instruction = Some(row(start.2 as usize));
        }
    }

    fn read_module(&mut self, file: FileId, document: &Document) {
        let mut computation = None;
        for (block, (_, content)) in document.blocks().enumerate() {
            let facts = content.facts();
            let row = |row: usize| Row {
                file: file as u32,
                block: block as u32,
                row: row as u32,
            };
            let mut next = 0;
            for (number, instruction) in facts.instructions.iter().enumerate() {
                while facts
                    .computations
                    .get(next)
                    .is_some_and(|header| header.instructions as usize <= number)
                {
                    computation = Some(self.computations.len() as u32);
                    self.computations.push(row(next));
                    next += 1;
                }
                let name = self.names.intern(instruction.name.text(content.text()));
                self.instructions.entry(name).or_insert(Instruction {
                    row: row(number),
                    computation,
                });
            }
            for number in next..facts.computations.len() {
                computation = Some(self.computations.len() as u32);
                self.computations.push(row(number));
            }
        }
    }

    fn sort(&mut self) {
        self.by_name = (0..self.values.len() as u32).collect();
        self.by_name.sort_unstable_by_key(|&at| {
            let value = &self.values[at as usize];
            (value.name, value.index, at)
        });
        self.positions_by_name = (0..self.positions.len() as u32).collect();
        self.positions_by_name.sort_unstable_by_key(|&at| {
            let position = &self.positions[at as usize];
            (position.name, position.index, at)
        });
        self.uses_by_name = (0..self.uses.len() as u32).collect();
        self.uses_by_name
            .sort_unstable_by_key(|&at| (self.uses[at as usize].name, at));
    }

    fn join_live_ranges(&mut self, file: FileId, document: &Document) {
        for (block, (_, content)) in document.blocks().enumerate() {
            for (number, live_range) in content.facts().live_ranges.iter().enumerate() {
                let row = Row {
                    file: file as u32,
                    block: block as u32,
                    row: number as u32,
                };
                let name = self.names.intern(live_range.name.text(content.text()));
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
        }
    }

    // Looking things up.

    /// The row of facts that `row` stands for. The type must be the one that the row was made for.
    pub fn at<T: Rows>(&self, row: Row) -> Option<At<'_, T>> {
        let file = self.files.get(row.file as usize)?;
        let (start, block) = file.document.block(row.block as usize)?;
        let content = T::of(block.facts()).get(row.row as usize)?;
        Some(At {
            file: row.file as usize,
            start,
            block,
            row: content,
        })
    }

    /// A value's line in section A.
    pub fn placement(&self, value: &Value) -> Option<At<'_, facts::Placement>> {
        self.at(value.placement?)
    }

    /// A value's header in section C.
    pub fn used(&self, value: &Value) -> Option<At<'_, facts::UsedValue>> {
        self.at(value.used?)
    }

    /// A value's line in section D.
    pub fn live_range(&self, value: &Value) -> Option<At<'_, facts::LiveRange>> {
        self.at(value.live_range?)
    }

    /// The instruction printed with a value in section C.
    pub fn instruction(&self, value: &Value) -> Option<At<'_, facts::Instruction>> {
        self.at(value.instruction?)
    }

    /// The first value with this id.
    pub fn value_with_id(&self, id: u64) -> Option<u32> {
        self.by_id.get(&id).copied()
    }

    /// The values that `name` defines at `index`, in a sound dump at most one.
    pub fn values_at(&self, name: NameId, index: NameId) -> impl Iterator<Item = u32> + '_ {
        self.values_of(name)
            .filter(move |&at| self.values[at as usize].index == index)
    }

    /// All values that `name` defines.
    pub fn values_of(&self, name: NameId) -> impl Iterator<Item = u32> + '_ {
        let start = self
            .by_name
            .partition_point(|&at| self.values[at as usize].name < name);
        self.by_name[start..]
            .iter()
            .copied()
            .take_while(move |&at| self.values[at as usize].name == name)
    }

    /// All positions at `name`, whatever their index, as numbers into [`Dump::positions`].
    pub fn positions_at(&self, name: NameId) -> impl Iterator<Item = u32> + '_ {
        let start = self
            .positions_by_name
            .partition_point(|&at| self.positions[at as usize].name < name);
        let of_name = move |&at: &u32| self.positions[at as usize].name == name;
        self.positions_by_name[start..]
            .iter()
            .copied()
            .take_while(of_name)
    }

    /// All uses by `name`, as numbers into [`Dump::uses`].
    pub fn uses_by(&self, name: NameId) -> impl Iterator<Item = u32> + '_ {
        let start = self
            .uses_by_name
            .partition_point(|&at| self.uses[at as usize].name < name);
        self.uses_by_name[start..]
            .iter()
            .copied()
            .take_while(move |&at| self.uses[at as usize].name == name)
    }

    /// The step at which `name` runs.
    pub fn step_of(&self, name: NameId) -> Option<u32> {
        self.step_of.get(&name).copied()
    }

    /// The first file that contributes `part`.
    pub fn file_of(&self, part: Part) -> Option<FileId> {
        self.files
            .iter()
            .position(|file| Part::from(file.document.kind()) == part)
    }

    /// Whether a section of used values is there.
    pub fn has_used_values(&self) -> bool {
        self.headings
            .iter()
            .any(|(heading, _)| *heading == Heading::Values)
    }

    /// Whether live ranges are there.
    pub fn has_live_ranges(&self) -> bool {
        self.headings
            .iter()
            .any(|(heading, _)| *heading == Heading::Ranges)
    }

    /// The platforms that the dump can come from.
    pub fn platforms(&self) -> Platforms {
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
