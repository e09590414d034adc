//! One compilation: what its files say, joined, and how to find it.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use buflens_syntax::facts::{self, Heading, ReportRow, Span};
use buflens_syntax::{Block, Document, DocumentKind};

use super::allocation::{Allocation, ParameterLeaf};
use super::branches::Branches;
use super::cancel::checkpoint;
use super::extents::Extents;
use super::module::Module;
use super::names::{ByNumber, NameId, Names};
use super::occupancy::Occupancy;
use super::platform::Platforms;
use super::row::Row;
use super::shapes::ShapeTexts;
use super::value::{ById, LiveRange, Position, Use, UsedValue, Value};

/// From so many bytes of text on, memory counts for more than a fraction of a millisecond.
pub const LARGE: u64 = 4 << 20;

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

impl Part {
    /// Whether it says anything about memory.
    pub fn tells_of_memory(self) -> bool {
        !matches!(self, Self::Module | Self::None)
    }
}

impl From<DocumentKind> for Part {
    fn from(kind: DocumentKind) -> Self {
        match kind {
            DocumentKind::Assignment => Self::Assignment,
            DocumentKind::Values => Self::Values,
            DocumentKind::LiveRange => Self::LiveRange,
            DocumentKind::Report => Self::Report,
            DocumentKind::Module => Self::Module,
            DocumentKind::OutOfMemory | DocumentKind::Foreign | DocumentKind::Unknown => Self::None,
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

impl Place {
    /// Whether `other` lies within it.
    pub fn contains(&self, other: &Self) -> bool {
        self.file == other.file
            && self.range.start <= other.range.start
            && other.range.end <= self.range.end
    }
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
    pub row: T,
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

/// A step of the schedule.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// The line.
    pub row: Row,
    /// The number printed; 2^32 - 1 where it is that or larger, or cannot be told.
    pub(super) number: u32,
    /// The instruction.
    pub name: NameId,
}

// One for each instruction.
const _: () = assert!(size_of::<Step>() <= 16);

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

/// Which sections are there, as every value asks.
#[derive(Debug, Clone, Default)]
pub(super) struct Sections {
    pub(super) used_values: bool,
    pub(super) live_ranges: bool,
}

/// One compilation.
#[derive(Debug, Default)]
pub struct Dump {
    /// Its files, in any order.
    pub files: Vec<File>,
    /// All names.
    pub names: Names,
    /// The shapes of values and of the results of their instructions.
    pub shapes: ShapeTexts,
    /// Section A.
    pub allocations: Vec<Allocation>,
    /// What those of parameters are the buffers of; see [`Dump::parameter_leaf`].
    pub(super) parameter_leaves: Vec<ParameterLeaf>,
    /// Allocations by memory space, as numbers into `allocations`; empty where these stand so. See
    /// [`Dump::allocations_in`].
    pub(super) by_color: Vec<u32>,
    /// The values of section A in its order, then those that only section C has.
    pub values: Vec<Value>,
    /// Section C, in the order of the text; see [`Dump::used_value`].
    pub(super) used_values: Vec<UsedValue>,
    /// Section D, where the values are known; see [`Dump::live_range_of`].
    pub(super) live_ranges: Vec<LiveRange>,
    /// All lines below `positions:`, in the order of the text.
    pub positions: Vec<Position>,
    /// All lines below `uses:`, in the order of the text.
    pub uses: Vec<Use>,
    /// Instructions that read, by the uses, a value at an index at which no position shows it, or whose operands are
    /// not 0, 1, 2 ..., each once.
    pub odd_readers: Vec<NameId>,
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
    /// Whether some entry of section C stands behind one with a larger id.
    pub used_ids_descend: bool,
    /// Whether some instruction of section C calls a computation asynchronously.
    pub has_async_calls: bool,
    /// The platforms that it can come from.
    pub platforms: Platforms,
    /// Where another dump begins in one of the files, if one does: it is not read.
    pub second: Option<Place>,
    /// Every section heading, in the order of the files and their text.
    pub headings: Vec<(Heading, Place)>,
    pub(super) has: Sections,
    /// The HLO text.
    pub module: Arc<Module>,
    /// Values by id.
    pub(super) by_id: ById,
    /// Values by name, those of one name sorted by index.
    pub(super) by_name: ByNumber,
    /// Positions by name, those of one name sorted by index.
    pub(super) positions_by_name: ByNumber,
    /// Uses by name.
    pub(super) uses_by_name: ByNumber,
    /// The step of each instruction, by the place of its name; `u32::MAX` for what is none.
    pub(super) step_of: Vec<u32>,
    /// Computed when it is asked for first.
    pub(super) occupancy: OnceLock<Occupancy>,
    /// Values by the first and by the last step at which they are alive, those behind the last step of
    /// the schedule, or without live range, behind all others. Computed when it is asked for first.
    pub(super) by_step: OnceLock<[ByNumber; 2]>,
    /// Computed when it is asked for first.
    pub(super) extents: OnceLock<Extents>,
    /// Computed when it is asked for first.
    pub(super) branches: OnceLock<Branches>,
    /// See [`Dump::parameters`].
    pub(super) parameters: OnceLock<Box<[u32]>>,
    /// See [`Dump::outputs`].
    pub(super) outputs: OnceLock<Box<[u32]>>,
}

impl Dump {
    /// Whether its texts have together [so many bytes](LARGE) or more.
    pub fn is_large(&self) -> bool {
        let lengths = self.files.iter().map(|it| it.document.len());
        lengths.map(u64::from).sum::<u64>() >= LARGE
    }

    // Looking things up.

    /// The row of facts that `row` stands for. The type must be the one that the row was made for.
    /// A checkpoint for work that may be cancelled, as nearly every loop comes by here.
    pub fn at<T: facts::Row>(&self, row: Row) -> Option<At<'_, T>> {
        checkpoint();
        let file = self.files.get(row.file())?;
        let (start, block) = file.document.block(row.block())?;
        Some(At {
            file: row.file(),
            start,
            block,
            row: block.row_with(row.place())?,
        })
    }

    /// An allocation's line in section A.
    pub fn header(&self, allocation: &Allocation) -> Option<At<'_, facts::Allocation>> {
        self.at(allocation.header)
    }

    /// A value's line in section A.
    pub fn placement(&self, value: &Value) -> Option<At<'_, facts::Placement>> {
        self.at(value.placement?)
    }

    /// A value's name as it is printed: that of its instruction and, where this defines several
    /// values, the index.
    pub fn name_of(&self, value: &Value) -> String {
        let at = self.placement(value).map(|at| at.text(at.row.value.index));
        let printed = at.or_else(|| self.used(value).map(|at| at.text(at.row.value.index)));
        format!("{}{}", &self.names[value.name], printed.unwrap_or_default())
    }

    /// The first value with this id.
    pub fn value_with_id(&self, id: u64) -> Option<u32> {
        self.by_id.get(id)
    }

    /// The values that `name` defines at `index`, in a sound dump at most one.
    pub fn values_at(&self, name: NameId, index: NameId) -> impl Iterator<Item = u32> + '_ {
        let values = self.by_name.of(name.place());
        self.with_index(values, index, |at| self.values[at as usize].index)
    }

    /// The values that lie in an allocation, in the order of the text.
    pub fn held_by(&self, allocation: &Allocation) -> &[Value] {
        let values = allocation.values.start as usize..allocation.values.end as usize;
        self.values.get(values).unwrap_or_default()
    }

    /// All values that `name` defines, sorted by [index](Names::index_order).
    pub fn values_of(&self, name: NameId) -> impl Iterator<Item = u32> + '_ {
        self.by_name.of(name.place()).iter().copied()
    }

    /// All positions at `name`, whatever their index, as numbers into [`Dump::positions`].
    pub fn positions_at(&self, name: NameId) -> impl Iterator<Item = u32> + '_ {
        self.positions_by_name.of(name.place()).iter().copied()
    }

    /// The positions at `name` and `index`, as numbers into [`Dump::positions`].
    pub fn positions_at_index(
        &self,
        name: NameId,
        index: NameId,
    ) -> impl Iterator<Item = u32> + '_ {
        let positions = self.positions_by_name.of(name.place());
        self.with_index(positions, index, |at| self.positions[at as usize].index)
    }

    /// All uses by `name`, as numbers into [`Dump::uses`].
    pub fn uses_by(&self, name: NameId) -> impl Iterator<Item = u32> + '_ {
        self.uses_by_name.of(name.place()).iter().copied()
    }

    /// Whether no two values have one id.
    pub fn ids_are_unique(&self) -> bool {
        self.by_id.count() == self.values.len()
    }

    /// The step at which `name` runs.
    pub fn step_of(&self, name: NameId) -> Option<u32> {
        let step = self.step_of.get(name.place()).copied();
        step.filter(|&step| step != u32::MAX)
    }

    /// The first file that contributes `part`.
    pub fn file_of(&self, part: Part) -> Option<FileId> {
        self.files
            .iter()
            .position(|file| Part::from(file.document.kind()) == part)
    }

    /// Whether a section of used values is there.
    pub fn has_used_values(&self) -> bool {
        self.has.used_values
    }

    /// Whether live ranges are there.
    pub fn has_live_ranges(&self) -> bool {
        self.has.live_ranges
    }

    /// The values whose live ranges begin at `step` of the schedule, and those whose end there.
    pub fn begin_and_end_at(&self, step: usize) -> [impl Iterator<Item = &Value>; 2] {
        let by_step = self.by_step.get_or_init(|| {
            let behind = self.steps.len();
            let at = |step: fn(&LiveRange) -> u64| {
                let step = move |value: &Value| {
                    let live_range = self.live_range_of(value);
                    let step = live_range.and_then(|it| usize::try_from(step(it)).ok());
                    step.map_or(behind, |step| step.min(behind))
                };
                ByNumber::new(self.values.iter().map(step), |_| ())
            };
            [at(|it| it.steps.0), at(|it| it.steps.1)]
        });
        // What is behind the last step is in no order.
        let is_step = step < self.steps.len();
        [0, 1].map(|side| {
            let values = by_step[side].of(step).iter();
            let values = values.filter(move |_| is_step);
            values.map(|&at| &self.values[at as usize])
        })
    }

    /// How many bytes of each memory space are occupied at each step. The first call computes it.
    pub fn occupancy(&self) -> &Occupancy {
        self.occupancy.get_or_init(|| Occupancy::without(self, &[]))
    }

    /// The number printed on line `at` of the schedule, equal to `at` in every sound dump. `None` where that or the name is
    /// missing or cut, or it has more than 64 bits.
    pub fn step_number(&self, at: usize) -> Option<u64> {
        let step = self.steps.get(at)?;
        if step.number != u32::MAX {
            return Some(step.number.into());
        }
        self.at::<facts::Step>(step.row)?.row.number()
    }

    /// The name of the instruction that runs at `step`.
    pub fn instruction_at(&self, step: u64) -> Option<&str> {
        let step = self.steps.get(usize::try_from(step).ok()?)?;
        Some(&self.names[step.name])
    }

    /// The place in [`Dump::allocations`] of the one that is printed with the number `index`.
    pub fn allocation_numbered(&self, index: u64) -> Option<u32> {
        let is_it = |&at: &usize| self.allocations.get(at).is_some_and(|it| it.index == index);
        // In a sound dump the number is the place.
        let place = usize::try_from(index).ok().filter(is_it);
        let place = place.or_else(|| (0..self.allocations.len()).find(is_it))?;
        Some(place as u32)
    }

    /// The allocation that holds `value`.
    pub fn allocation_of(&self, value: &Value) -> Option<&Allocation> {
        self.allocations.get(value.allocation()? as usize)
    }

    /// The memory space of value `at`; `None` for one that lies in no allocation.
    pub fn color_of(&self, at: u32) -> Option<u64> {
        let value = self.values.get(at as usize)?;
        Some(self.allocation_of(value)?.color)
    }

    /// The text of the instruction called `name`.
    pub fn instruction_text(&self, name: NameId) -> Option<&str> {
        let at = self.instruction_named(name)?;
        Some(at.text(at.row.span))
    }

    /// The opcode of the instruction called `name`.
    pub fn opcode(&self, name: NameId) -> Option<&str> {
        if let Some(opcode) = self.printed_with(name).and_then(|value| value.opcode) {
            return Some(&self.names[opcode]);
        }
        let at: At<facts::Instruction> = self.at(self.module.instructions.get(name)?.row)?;
        Some(at.text(at.row.opcode))
    }

    /// The instruction called `name`: as printed with one of its values, else in the HLO text.
    pub fn instruction_named(&self, name: NameId) -> Option<At<'_, facts::Instruction>> {
        self.printed_instruction(name)
            .or_else(|| self.at(self.module.instructions.get(name)?.row))
    }

    /// The instruction called `name` as section C prints it with one of its values.
    pub fn printed_instruction(&self, name: NameId) -> Option<At<'_, facts::Instruction>> {
        let any = || Some(&self.values[self.values_of(name).next()? as usize]);
        self.instruction(self.printed_with(name).or_else(any)?)
    }

    /// The number of the parameter that the instruction called `name` is.
    pub fn parameter_of(&self, name: NameId) -> Option<u64> {
        if let Some(used) = self
            .printed_with(name)
            .and_then(|value| self.used_value(value))
        {
            return used.parameter();
        }
        self.instruction_named(name)?.row.parameter.get()
    }

    /// A value with which section C prints the instruction called `name`, with its opcode: in a sound dump any.
    fn printed_with(&self, name: NameId) -> Option<&Value> {
        if self.used_values.is_empty() {
            return None;
        }
        let mut values = self.values_of(name).map(|at| &self.values[at as usize]);
        values.find(|value| value.opcode.is_some())
    }

    /// The bytes of all allocations as the memory-usage report prints them: in all, or by memory space.
    pub fn reported_bytes(&self) -> Option<u64> {
        let document = &self.files[self.file_of(Part::Report)?].document;
        let totals = document.blocks().flat_map(|(_, block)| {
            let spaces = block.report().iter().filter_map(|row| match row {
                ReportRow::SpaceTotal(total) => Some(total),
                _ => None,
            });
            block.totals().iter().copied().chain(spaces)
        });
        totals
            .map(|total| total.bytes.value)
            .reduce(u64::saturating_add)
    }

    /// The bytes of all allocations as the compiler prints them, as the total or else in the report.
    pub fn printed_bytes(&self) -> Option<u64> {
        match self.total.and_then(|row| self.at::<facts::Total>(row)) {
            Some(total) => total.row.bytes.get(),
            None => self.reported_bytes(),
        }
    }

    /// How many bytes the allocations lack of those that the compiler prints, as where a file is cut; `None`
    /// where either is not known.
    pub fn missing_bytes(&self) -> Option<u64> {
        let sizes = self.allocations.iter().map(|allocation| allocation.size);
        let there = sizes.reduce(u64::saturating_add)?;
        Some(self.printed_bytes()?.saturating_sub(there))
    }

    /// The bytes that the compiler's peak list adds up to: unpadded, all memory spaces mixed.
    pub fn listed_bytes(&self) -> Option<u64> {
        if let Some((total, ..)) = &self.tree {
            return Some(total.value);
        }
        let rows = self.peak.as_ref()?.values.iter();
        let lines = rows.filter_map(|&row| self.at::<facts::PeakValue>(row));
        let last = lines.clone().next_back()?.row;
        let sum = || lines.map(|line| line.row.bytes.value);
        Some(
            last.cumulative
                .get()
                .unwrap_or_else(|| sum().fold(0, u64::saturating_add)),
        )
    }

    /// The last step at which an instruction reads the value, and that instruction. `None` if none is
    /// known to. A call stands behind its body in the schedule, whose readers are readers of the value, too,
    /// and counts only without them. A loop stands there as well, but reads again.
    pub fn last_read(&self, value: &Value) -> Option<(u64, NameId)> {
        let own = self.reads(value).filter(|&(_, name)| !self.is_call(name));
        own.max().or_else(|| self.reads(value).max())
    }

    /// Whether `name` is a call; without the HLO text only its name tells.
    pub fn is_call(&self, name: NameId) -> bool {
        match self.opcode(name) {
            Some(opcode) => opcode == "call",
            None => self.names[name]
                .strip_prefix("call")
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.')),
        }
    }

    /// The steps at which instructions read the value, each with the instruction, as far as they are known.
    pub(super) fn reads(&self, value: &Value) -> impl Iterator<Item = (u64, NameId)> + '_ {
        let uses = self.uses_of(value).iter();
        uses.filter_map(|entry| Some((u64::from(self.step_of(entry.name)?), entry.name)))
    }

    /// Whether it is known which instructions there are: from used values or the HLO text.
    pub fn knows_instructions(&self) -> bool {
        self.has_used_values() || !self.module.instructions.is_empty()
    }

    /// Those of `rows`, sorted by index, that have this one.
    fn with_index<'r>(
        &'r self,
        rows: &'r [u32],
        index: NameId,
        index_of: impl Fn(u32) -> NameId + 'r,
    ) -> impl Iterator<Item = u32> {
        let order = |index| self.names.index_order(index);
        let start = rows.partition_point(|&at| order(index_of(at)) < order(index));
        let rows = rows[start..].iter().copied();
        rows.take_while(move |&at| index_of(at) == index)
    }
}
