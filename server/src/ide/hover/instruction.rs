//! Instructions: the opcode in plain words, operands and results with their bytes.

use std::ops::Range;

use buflens_syntax::ast::{self, AstNode};
use buflens_syntax::{Shape, SyntaxNode, SyntaxToken};

use super::shape::shown;
use super::source::Metadata;
use super::{Context, opcode, space, value};
use crate::ide::markdown::{Table, Text, code, cut, shorten};
use crate::model::bytes;
use crate::model::{Dump, NameId};

/// So many operands are listed.
const MAX_OPERANDS: usize = 8;

/// An instruction as its tree says. A tuple's shape can be hundreds of KB long, so texts are borrowed.
pub(super) struct Instruction<'d> {
    pub(super) name: &'d str,
    pub(super) opcode: &'d str,
    pub(super) shape: &'d str,
    /// The first operands: the shape where it is printed, and the name.
    pub(super) operands: Vec<(Option<&'d str>, &'d str)>,
    /// How many operands there are.
    pub(super) operand_count: usize,
    /// The number of a `parameter`.
    pub(super) parameter: Option<&'d str>,
    pub(super) metadata: Metadata,
}

impl<'d> Instruction<'d> {
    /// Takes the parts of `node`, which is in a block with this text.
    pub(super) fn read(dump: &Dump, text: &'d str, node: &ast::Instruction) -> Self {
        let shown = |range| text.get(Range::<usize>::from(range)).unwrap_or_default();
        let token = |token: Option<SyntaxToken>| token.map(|token| shown(token.text_range()));
        let shape = |node: Option<SyntaxNode>| node.map(|node| shown(node.text_range()));
        let mut operands = Vec::new();
        let mut operand_count = 0;
        for operand in node.operands() {
            operand_count += 1;
            if operands.len() < MAX_OPERANDS {
                let name = token(operand.name()).unwrap_or_default();
                operands.push((shape(operand.shape()), name));
            }
        }
        Self {
            name: token(node.name()).unwrap_or_default(),
            opcode: token(node.opcode()).unwrap_or_default(),
            shape: shape(node.shape()).unwrap_or_default(),
            operands,
            operand_count,
            parameter: token(node.parameter()),
            metadata: Metadata::read(dump, node),
        }
    }

    /// The instruction called `name`: as printed with one of its values, else in the HLO text.
    pub(super) fn named(context: &Context<'d>, name: NameId) -> Option<Self> {
        let dump = context.dump;
        let with_value = dump.values_of(name).next();
        let at = with_value
            .and_then(|at| dump.instruction(&dump.values[at as usize]))
            .or_else(|| dump.at(dump.instructions.get(&name)?.row))?;
        let document = &dump.files.get(at.file)?.document;
        let (_, name) = document.token_at(at.start + at.row.name.start)?;
        let node = ast::Instruction::around(&name)?;
        Some(Self::read(dump, at.block.text(), &node))
    }

    /// What the instruction does, in plain words.
    pub(super) fn plain(&self, context: &Context) -> String {
        let words = match self.opcode {
            "parameter" => match self.parameter {
                Some(number) => format!("parameter {number}"),
                None => "parameter".to_owned(),
            },
            "copy" => match self.layout_change(context) {
                Some(_) => "layout copy".to_owned(),
                None => "copy".to_owned(),
            },
            "copy-start" => match self.copied_spaces(context) {
                Some(between) => format!("asynchronous copy {between}"),
                None => "start of an asynchronous copy".to_owned(),
            },
            other if opcode::is_elementwise(other) => format!("elementwise {}", code(other)),
            other => opcode::plain(other).map_or_else(|| code(other), str::to_owned),
        };
        match context
            .dump
            .names
            .get(self.name)
            .and_then(|name| self.flight(context, name))
        {
            Some(flight) => format!("{words}, {flight}"),
            None => words,
        }
    }

    /// `HBM -> VMEM`, of a copy between memory spaces.
    fn copied_spaces(&self, context: &Context) -> Option<String> {
        let Ok(Shape::Tuple(elements)) = Shape::read(self.shape) else {
            return None;
        };
        let [Shape::Array(to), Shape::Array(from), ..] = elements.as_slice() else {
            return None;
        };
        let space = |array: &buflens_syntax::ArrayShape| {
            let color = array
                .layout
                .as_ref()
                .map_or(0, |layout| layout.memory_space);
            space::name(color, context.platforms).map_or_else(|| format!("@{color}"), str::to_owned)
        };
        Some(format!("{} -> {}", space(from), space(to)))
    }

    /// `in flight at steps 1-10`, of an asynchronous operation: as long as its tuple is alive.
    fn flight(&self, context: &Context, name: NameId) -> Option<String> {
        if !self.opcode.ends_with("-start") {
            return None;
        }
        let whole = context
            .dump
            .values_at(name, context.dump.names.get("{}")?)
            .next()?;
        let value = &context.dump.values[whole as usize];
        value.live_range?;
        Some(format!(
            "in flight at steps {}-{}",
            value.live.0, value.live.1
        ))
    }

    /// The layouts of the operand and the result of a copy, if they differ.
    pub(super) fn layout_change(&self, context: &Context) -> Option<(String, String)> {
        let [(printed, name)] = self.operands.as_slice() else {
            return None;
        };
        let from = printed.or_else(|| value::shape_of_name(context, name))?;
        let layout = |text: &str| match Shape::read(text) {
            Ok(Shape::Array(array)) => Some((array.dimensions, array.layout?)),
            _ => None,
        };
        let (from_dimensions, from) = layout(from)?;
        let (to_dimensions, to) = layout(self.shape)?;
        let is_same = from.minor_to_major == to.minor_to_major && from.tiles == to.tiles;
        if from_dimensions != to_dimensions || is_same {
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
        let with_tiles = from.tiles != to.tiles;
        Some((text(&from, with_tiles), text(&to, with_tiles)))
    }

    /// The hover on the instruction itself.
    pub(super) fn hover(&self, context: &Context) -> String {
        let mut hover = Text::new(&format!("**{}**: {}", code(self.name), self.plain(context)));
        let mut table = Table::default();
        table.row([
            String::new(),
            "shape".into(),
            "unpadded".into(),
            "with padding".into(),
        ]);
        table.row(row("result", self.shape));
        for (number, (printed, name)) in self.operands.iter().enumerate() {
            let shape = printed
                .or_else(|| value::shape_of_name(context, name))
                .unwrap_or_default();
            table.row(row(
                &format!("operand {number} {}", code(&cut(name, 60))),
                shape,
            ));
        }
        hover.paragraph(&table.to_string());
        if self.operand_count > self.operands.len() {
            let more = self.operand_count - self.operands.len();
            hover.paragraph(&format!(
                "and {} more operands",
                bytes::grouped(more as u64)
            ));
        }
        if let Some((from, to)) = self.layout_change(context) {
            hover.paragraph(&format!(
                "The data is rewritten from layout `{from}` to `{to}`."
            ));
        }
        if let Some(source) = self.metadata.summary() {
            hover.paragraph(&source);
        }
        hover.finish()
    }

    /// The argument's path, of a parameter: `params['w']`.
    pub(super) fn argument(&self) -> Option<String> {
        let name = self
            .metadata
            .op_name
            .as_deref()
            .filter(|name| !name.is_empty())?;
        (self.opcode == "parameter").then(|| code(&shorten(name, 100)))
    }
}

fn row(label: &str, text: &str) -> [String; 4] {
    let (logical, padded) = match Shape::read(text) {
        Ok(shape @ Shape::Array(_)) => {
            let padded = match &shape {
                Shape::Array(array) => bytes::padded_bytes(array),
                Shape::Tuple(_) => None,
            };
            (bytes::logical_bytes(&shape), padded)
        }
        Ok(shape @ Shape::Tuple(_)) => (bytes::logical_bytes(&shape), None),
        Err(_) => (None, None),
    };
    let logical_text = match (logical, text.starts_with('(')) {
        (Some(bytes), true) => format!("{} (table)", bytes::display(bytes)),
        (Some(bytes), false) => bytes::display(bytes),
        (None, _) => String::new(),
    };
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
