//! Instructions: the opcode in plain words, operands and results with their bytes.

use buflens_syntax::facts::Use;
use buflens_syntax::{ArrayShape, OperandParts, Shape};

use super::life::steps;
use super::shape::{array_shape, shown};
use super::{Context, opcode, peak, source, value};
use crate::ide::markdown::{Table, Text, code, cut, shorten};
use crate::model::bytes;
use crate::model::origin::Origin;
use crate::model::shapes::shape_text;
use crate::model::source::unescaped;
use crate::model::space;
use crate::model::{Dump, NameId};

/// So many operands are listed.
const MAX_OPERANDS: usize = 8;

/// The head of the table of operands.
const HEAD: [&str; 4] = ["", "shape", "unpadded", "with padding"];

/// An instruction, and what it does.
pub(super) struct Instruction<'d> {
    pub(super) origin: Origin<'d>,
}

impl<'d> Instruction<'d> {
    /// Takes `text`, an instruction of `dump`, apart.
    pub(super) fn read(dump: &'d Dump, text: &'d str) -> Self {
        Self {
            origin: Origin::read(dump, text, MAX_OPERANDS),
        }
    }

    /// The instruction called `name`: as printed with one of its values, else in the HLO text.
    pub(super) fn named(context: &Context<'d>, name: NameId) -> Option<Self> {
        let dump = context.dump;
        let at = dump
            .printed_instruction(name)
            .or_else(|| dump.at(dump.instruction_in(context.computation, name)?.row))?;
        Some(Self::read(dump, at.text(at.row.span)))
    }

    fn name(&self) -> &'d str {
        self.origin.parts.name
    }

    pub(super) fn opcode(&self) -> &'d str {
        self.origin.parts.opcode
    }

    pub(super) fn shape(&self) -> &'d str {
        self.origin.parts.shape
    }

    /// The first operands.
    pub(super) fn operands(&self) -> &[OperandParts<'d>] {
        &self.origin.parts.operands
    }

    /// What the instruction does, in plain words.
    pub(super) fn plain(&self, context: &Context) -> String {
        let words = match self.opcode() {
            "parameter" if self.is_loop_state(context.dump) => "loop state".to_owned(),
            "parameter" => match self.origin.parts.parameter {
                Some(number) => format!("parameter {number}"),
                None => "parameter".to_owned(),
            },
            "copy" => {
                let spaces = self.spaces(context).filter(|(from, to)| from != to);
                let what = match self.layout_change(context) {
                    Some(_) if spaces.is_none() => "layout copy",
                    _ => "copy",
                };
                let source = self.source(context);
                let source = source.map_or_else(String::new, |source| format!(" of {source}"));
                let route = spaces.map(|(from, to)| format!(", {from} -> {to}"));
                format!("{what}{source}{}", route.unwrap_or_default())
            }
            "copy-start" => match self.spaces(context) {
                Some((from, to)) => format!("asynchronous copy {from} -> {to}"),
                None => "start of an asynchronous copy".to_owned(),
            },
            "copy-done" => match self.operands().first() {
                Some(OperandParts { name: start, .. }) => {
                    format!("end of the asynchronous copy {}", code(&cut(start, 60)))
                }
                None => "end of an asynchronous copy".to_owned(),
            },
            "custom-call" => self.custom_call(context),
            start if start.ends_with("-start") => {
                let words = opcode::plain(start).unwrap_or_default();
                match self.spaces(context).filter(|(from, to)| from != to) {
                    Some((from, to)) => format!("{words}, {from} -> {to}"),
                    None => words.to_owned(),
                }
            }
            other => match opcode::plain(other) {
                Some(opcode::ELEMENTWISE) => format!("{} {}", opcode::ELEMENTWISE, code(other)),
                Some(words) => words.to_owned(),
                None => code(other),
            },
        };
        match context
            .dump
            .names
            .get(self.name())
            .and_then(|name| self.flight(context, name))
        {
            Some(flight) => format!("{words}, {flight}"),
            None => words,
        }
    }

    /// What a custom call does. Some targets are XLA's own.
    pub(super) fn custom_call(&self, context: &Context) -> String {
        let target = self.origin.parts.attribute("custom_call_target");
        match target.map(unescaped).as_deref() {
            Some("AllocateBuffer") => match self.first_use(context) {
                Some(filler) => format!("room reserved without data; filled by {filler}"),
                None => "room reserved without data, filled later".to_owned(),
            },
            Some("ConcatBitcast") => {
                "operands that already lie side by side, seen as one array; no copy".to_owned()
            }
            Some(target) => format!("custom call {}", code(&cut(target, 100))),
            None => "custom call".to_owned(),
        }
    }

    /// `while.4` (operand 0, element `{4}`)
    fn first_use(&self, context: &Context) -> Option<String> {
        let dump = context.dump;
        let at = dump.shown(dump.names.get(self.name())?)?;
        let first = dump.uses_of(&dump.values[at as usize]).first()?;
        let at = dump.at::<Use>(first.row)?;
        let name = code(&cut(at.text(at.row.name), 60));
        let operand = at.row.operand.get()?;
        Some(match at.text(at.row.index) {
            "" | "{}" => format!("{name} (operand {operand})"),
            index => format!(
                "{name} (operand {operand}, element {})",
                code(&cut(index, 40))
            ),
        })
    }

    /// What a copy reads: the operand, or the value that the operand is another name of.
    fn source(&self, context: &Context) -> Option<String> {
        let dump = context.dump;
        let operand = self.operands().first()?;
        let value = dump.read_by(operand);
        let Some(value) = value.map(|at| &dump.values[at as usize]) else {
            return Some(code(&cut(&operand.to_string(), 60)));
        };
        // Of the head of the value's instruction the number of a parameter is known without its tree.
        let parameter = dump
            .instruction(value)
            .and_then(|at| at.row.parameter.get());
        let parameter = parameter
            .filter(|_| !value::is_phi(dump, value))
            .map(|number| format!(" (parameter {number})"));
        Some(format!(
            "{}{}",
            value::title(dump, value),
            parameter.unwrap_or_default()
        ))
    }

    /// From which memory space to which a copy or an asynchronous operation moves data. Of an asynchronous one the tuple
    /// tells: copies print the result first, others a tuple of their operands.
    fn spaces(&self, context: &Context) -> Option<(String, String)> {
        let space = |array: &ArrayShape| {
            let color = space::of_array(array)?;
            let name = space::name(color, context.platforms);
            Some(name.map_or_else(|| format!("@{color}"), str::to_owned))
        };
        let (from, to) = match Shape::read(self.shape()).ok()? {
            Shape::Array(to) if self.opcode() == "copy" => {
                let from =
                    array_shape(value::shape_of_operand(context, self.operands().first()?)?)?;
                return Some((space(&from)?, space(&to)?));
            }
            Shape::Array(_) => return None,
            Shape::Tuple(elements) => match elements.as_slice() {
                [Shape::Array(to), Shape::Array(from), ..] if self.opcode() == "copy-start" => {
                    (space(from), space(to))
                }
                [Shape::Tuple(operands), Shape::Array(to), ..] => match operands.first()? {
                    Shape::Array(from) => (space(from), space(to)),
                    Shape::Tuple(_) => return None,
                },
                _ => return None,
            },
        };
        Some((from?, to?))
    }

    /// Whether it is the parameter of a loop's condition or body.
    fn is_loop_state(&self, dump: &Dump) -> bool {
        let values = dump.names.get(self.name()).map(|name| dump.values_of(name));
        values
            .and_then(|mut values| values.next())
            .is_some_and(|at| value::is_phi(dump, &dump.values[at as usize]))
    }

    /// Whether the instruction is in a computation that has no memory of its own: it has no step and defines nothing.
    fn is_fused(&self, dump: &Dump) -> bool {
        let Some(name) = dump.names.get(self.name()) else {
            return false;
        };
        // Of a second program in a text nothing is known, though a name may be from before an edit.
        dump.module.instructions.has(name)
            && dump.has_used_values()
            && !dump.steps.is_empty()
            && dump.step_of(name).is_none()
            && dump.values_of(name).next().is_none()
            && dump.positions_at(name).next().is_none()
    }

    /// `, f32[4]{0}`: the result of a bitcast, where it is another name of one value that has another shape.
    pub(super) fn other_shape(&self, dump: &Dump, values: &[u32]) -> String {
        match values {
            &[only]
                if self.opcode() == "bitcast"
                    && array_shape(self.shape()).is_some()
                    && shape_text(dump, &dump.values[only as usize]) != Some(self.shape()) =>
            {
                format!(", {}", code(&cut(self.shape(), 100)))
            }
            _ => String::new(),
        }
    }

    /// `in flight at steps 1-10`, of an asynchronous operation.
    fn flight(&self, context: &Context, name: NameId) -> Option<String> {
        let is_start = self.opcode().ends_with("-start");
        let flight = context.dump.flight(name).filter(|_| is_start)?;
        Some(format!("in flight at {}", steps(flight)))
    }

    /// The layouts of the operand and the result of a copy, if they differ.
    pub(super) fn layout_change(&self, context: &Context) -> Option<(String, String)> {
        let [operand] = self.operands() else {
            return None;
        };
        let operand = array_shape(value::shape_of_operand(context, operand)?)?;
        let result = array_shape(self.shape())?;
        let (from, to) = (operand.layout.as_ref()?, result.layout.as_ref()?);
        // Tiles behind the first one are those of the element type.
        let with_tiles = from.tiles.first() != to.tiles.first();
        let is_same = from.minor_to_major == to.minor_to_major && !with_tiles;
        if operand.dimensions != result.dimensions || is_same {
            return None;
        }
        let text = |layout: &buflens_syntax::Layout, with_tiles: bool| {
            let order: Vec<String> = layout.minor_to_major.iter().map(u64::to_string).collect();
            let tile = layout.tiles.first().filter(|_| with_tiles).map(|tile| {
                let extents: Vec<String> = tile
                    .iter()
                    .map(|extent| match extent {
                        buflens_syntax::TileExtent::Elements(elements) => elements.to_string(),
                        buflens_syntax::TileExtent::Combined => "*".to_owned(),
                    })
                    .collect();
                format!(":T({})", extents.join(","))
            });
            format!("{{{}{}}}", order.join(","), tile.unwrap_or_default())
        };
        Some((text(from, with_tiles), text(to, with_tiles)))
    }

    /// What it reads, for a hover that says of its value what it is.
    pub(super) fn operands_table(&self, context: &Context) -> Option<String> {
        let dump = context.dump;
        let name = dump.names.get(self.name())?;
        let has_value =
            dump.values_of(name).next().is_some() || dump.positions_at(name).next().is_some();
        if !has_value || self.operands().is_empty() {
            return None;
        }
        let mut table = Table::default();
        table.row(HEAD.map(str::to_owned));
        self.add_operands(context, &mut table);
        let more = self.more_operands().unwrap_or_default();
        Some(format!("{table}\n{more}").trim_end().to_owned())
    }

    fn add_operands(&self, context: &Context, table: &mut Table) {
        for (number, operand) in self.operands().iter().enumerate() {
            let label = format!("operand {number} {}", code(&cut(&operand.to_string(), 60)));
            table.row(match value::shape_of_operand(context, operand) {
                Some(shape) => row(context, &label, shape),
                None => shown_value(context, &label, operand),
            });
        }
    }

    fn more_operands(&self) -> Option<String> {
        let more = self.origin.parts.operand_count() - self.operands().len();
        (more > 0).then(|| format!("and {}", bytes::counted(more, "more operand")))
    }

    /// The hover on the instruction itself.
    pub(super) fn hover(&self, context: &Context) -> String {
        let fused = if self.is_fused(context.dump) {
            "; inside a fused or applied computation: takes no memory of its own"
        } else {
            ""
        };
        let mut hover = Text::new(&format!(
            "**{}**: {}{fused}",
            code(&cut(self.name(), value::NAME_LIMIT)),
            self.plain(context)
        ));
        let mut table = Table::default();
        table.row(HEAD.map(str::to_owned));
        // People leave out the shape.
        if !self.shape().is_empty() {
            table.row(row(context, "result", self.shape()));
        }
        self.add_operands(context, &mut table);
        hover.paragraph(&table.to_string());
        if let Some(more) = self.more_operands() {
            hover.paragraph(&more);
        }
        if let Some((from, to)) = self.layout_change(context) {
            hover.paragraph(&format!(
                "The data is rewritten from layout `{from}` to `{to}`."
            ));
        }
        if let Some(peak) = peak::of_result(context, self.name()) {
            hover.paragraph(&peak);
        }
        if let Some(source) = self.summary(context) {
            hover.paragraph(&source);
        }
        hover.finish()
    }

    /// The trace path and the lines of source that it comes from.
    pub(super) fn summary(&self, context: &Context) -> Option<String> {
        source::summary(&self.origin, context.sources)
    }

    /// The argument's path, of a parameter: `params['w']`.
    pub(super) fn argument(&self) -> Option<String> {
        let name = self.origin.op_name.as_deref()?;
        (self.opcode() == "parameter").then(|| code(&shorten(name, 100)))
    }
}

/// The row of an operand that is another name of a value, maybe under another shape: that value's.
fn shown_value(context: &Context, label: &str, operand: &OperandParts) -> [String; 4] {
    let dump = context.dump;
    let value = dump.read_by(operand);
    match value.map(|at| &dump.values[at as usize]) {
        Some(value) => row(
            context,
            &format!("{label}, which shows {}", value::title(dump, value)),
            value::shape_text(dump, value),
        ),
        None => row(context, label, ""),
    }
}

fn row(context: &Context, label: &str, text: &str) -> [String; 4] {
    if let Some(elements) = Shape::tuple_elements(text) {
        let table = bytes::display(8 * elements as u64);
        return [
            label.to_owned(),
            shown(text),
            format!("{table} (table)"),
            String::new(),
        ];
    }
    let shape = Shape::read(text).ok();
    let logical = shape.as_ref().and_then(bytes::logical_bytes);
    let padded = match &shape {
        Some(Shape::Array(array)) => bytes::taken(array, context.takers()),
        _ => None,
    };
    let logical_text = logical.map_or_else(String::new, bytes::display);
    let padded = match padded {
        Some(padded) if Some(padded) == logical => "same".to_owned(),
        Some(padded) => bytes::display(padded),
        None => String::new(),
    };
    [
        label.to_owned(),
        if text.is_empty() {
            String::new()
        } else {
            shown(text)
        },
        logical_text,
        padded,
    ]
}
