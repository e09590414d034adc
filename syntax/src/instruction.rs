//! An instruction's text in its parts.

use std::fmt;

use crate::SyntaxKind;
use crate::grammar::{self, Parser};
use crate::shape::listed;
use crate::sink::{Sink, SyntaxError};

/// The parts of one instruction, borrowed from its text. What is not there, or behind a syntax
/// error, is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstructionParts<'t> {
    /// The name, without `%`.
    pub name: &'t str,
    /// The shape of the result, with layouts.
    pub shape: &'t str,
    /// The opcode.
    pub opcode: &'t str,
    /// The operands of an ordinary instruction, in order, as far as they were asked for.
    pub operands: Vec<OperandParts<'t>>,
    /// The text of the operands behind these.
    pub more_operands: &'t str,
    /// The number in `parameter(3)`.
    pub parameter: Option<u64>,
    /// Each attribute's name and what stands behind its `=`, in order; `metadata` is not among them.
    pub attributes: Vec<(&'t str, &'t str)>,
    /// The entries of `metadata={...}`, strings with their quotes and escapes.
    pub metadata: Vec<(&'t str, &'t str)>,
}

/// One operand of an instruction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OperandParts<'t> {
    /// The shape; empty where the compiler does not print it.
    pub shape: &'t str,
    /// The name of the instruction whose result it is, without `%`.
    pub name: &'t str,
    /// The element of that result that it is, from the outermost tuple in: `1#0` of `%tuple#1#0`. Empty where it is
    /// the whole.
    pub element: &'t str,
}

impl fmt::Display for OperandParts<'_> {
    /// As it is printed, without its shape and `%`: `tuple#1#0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        match self.element {
            "" => Ok(()),
            element => write!(f, "#{element}"),
        }
    }
}

impl<'t> InstructionParts<'t> {
    /// Takes `text` apart, by the grammar that reads it in a line.
    ///
    /// ```
    /// use buflens_syntax::InstructionParts;
    /// let text = r#"%a.1 = f32[2]{0} add(f32[2]{0} %b, %c), metadata={op_name="f/add" source_line=3}"#;
    /// let parts = InstructionParts::read(text);
    /// assert_eq!((parts.name, parts.shape, parts.opcode), ("a.1", "f32[2]{0}", "add"));
    /// assert_eq!((parts.operands[0].shape, parts.operands[1].name), ("f32[2]{0}", "c"));
    /// assert_eq!(parts.entry("source_line"), Some("3"));
    /// ```
    pub fn read(text: &'t str) -> Self {
        Self::read_up_to(text, usize::MAX)
    }

    /// The same with so many operands at most: there can be tens of thousands.
    pub fn read_up_to(text: &'t str, operands: usize) -> Self {
        let mut sink = PartsSink {
            text,
            most_operands: operands,
            parts: Self::default(),
            shapes: 0,
            start: 0,
            place: Place::Head,
        };
        let mut parser = Parser::new(text, &mut sink);
        parser.enter(0, text.len());
        let _ = grammar::instruction(&mut parser);
        sink.parts
    }

    /// How many operands the instruction has.
    pub fn operand_count(&self) -> usize {
        self.operands.len() + listed(self.more_operands)
    }

    /// What stands behind the `=` of an attribute.
    pub fn attribute(&self, key: &str) -> Option<&'t str> {
        find(&self.attributes, key)
    }

    /// What stands behind the `=` of an entry of the metadata.
    pub fn entry(&self, key: &str) -> Option<&'t str> {
        find(&self.metadata, key)
    }
}

fn find<'t>(entries: &[(&str, &'t str)], key: &str) -> Option<&'t str> {
    let mut entries = entries.iter();
    entries
        .find(|(other, _)| *other == key)
        .map(|(_, value)| *value)
}

/// Where in the instruction the grammar is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Head,
    Operands,
    Operand,
    /// Behind the operands.
    Tail,
    Attribute,
    Entry,
}

struct PartsSink<'t> {
    text: &'t str,
    most_operands: usize,
    parts: InstructionParts<'t>,
    /// How many shapes are open.
    shapes: u32,
    /// Where the outermost shape, or the value of the attribute or entry, begins.
    start: u32,
    place: Place,
}

impl<'t> PartsSink<'t> {
    fn text(&self, start: u32, end: u32) -> &'t str {
        self.text
            .get(start as usize..end as usize)
            .unwrap_or_default()
            .trim()
    }
}

impl Sink for PartsSink<'_> {
    const DETAIL: bool = true;
    const SHAPES: bool = false;

    fn wants_operand(&self) -> bool {
        self.parts.operands.len() < self.most_operands
    }

    fn open(&mut self, kind: SyntaxKind, at: u32) {
        match kind {
            SyntaxKind::ArrayShape | SyntaxKind::TupleShape => {
                if self.shapes == 0 && matches!(self.place, Place::Head | Place::Operand) {
                    self.start = at;
                }
                self.shapes += 1;
            }
            SyntaxKind::Operands => self.place = Place::Operands,
            SyntaxKind::Operand => {
                self.place = Place::Operand;
                self.parts.operands.push(OperandParts::default());
            }
            SyntaxKind::Attribute => self.place = Place::Attribute,
            SyntaxKind::MetadataEntry => self.place = Place::Entry,
            _ => {}
        }
    }

    fn token(&mut self, kind: SyntaxKind, start: u32, end: u32) {
        if self.shapes > 0 {
            return;
        }
        let text = self.text(start, end);
        match (self.place, kind) {
            (Place::Head, SyntaxKind::Name) => self.parts.name = text,
            (Place::Head, SyntaxKind::Opcode) => self.parts.opcode = text,
            (Place::Operands, SyntaxKind::ParameterNumber) => {
                self.parts.parameter = text.parse().ok();
            }
            (Place::Operands, SyntaxKind::Text) if !self.wants_operand() => {
                self.parts.more_operands = text;
            }
            (Place::Operand, SyntaxKind::Name) => {
                if let Some(operand) = self
                    .parts
                    .operands
                    .last_mut()
                    .filter(|it| it.name.is_empty())
                {
                    operand.name = text;
                }
            }
            (Place::Operand, SyntaxKind::ShapeIndexNumber) => {
                if let Some(operand) = self.parts.operands.last_mut() {
                    if operand.element.is_empty() {
                        self.start = start;
                    }
                    operand.element = self
                        .text
                        .get(self.start as usize..end as usize)
                        .unwrap_or_default();
                }
            }
            (Place::Attribute, SyntaxKind::AttributeName) => {
                self.parts.attributes.push((text, ""));
                self.start = end + 1;
            }
            (Place::Entry, SyntaxKind::AttributeName) => {
                self.parts.metadata.push((text, ""));
                self.start = end + 1;
            }
            _ => {}
        }
    }

    fn close(&mut self, kind: SyntaxKind, at: u32) {
        let part = self.text(self.start, at);
        match kind {
            SyntaxKind::ArrayShape | SyntaxKind::TupleShape => {
                self.shapes = self.shapes.saturating_sub(1);
                match self.place {
                    _ if self.shapes > 0 => {}
                    Place::Head => self.parts.shape = part,
                    Place::Operand => {
                        if let Some(operand) = self.parts.operands.last_mut() {
                            operand.shape = part;
                        }
                    }
                    _ => {}
                }
            }
            SyntaxKind::Operand => self.place = Place::Operands,
            SyntaxKind::Operands => self.place = Place::Tail,
            SyntaxKind::MetadataEntry => {
                if let Some(entry) = self.parts.metadata.last_mut() {
                    entry.1 = part;
                }
                self.place = Place::Attribute;
            }
            SyntaxKind::Attribute => {
                self.place = Place::Tail;
                match self.parts.attributes.last_mut() {
                    Some(("metadata", _)) => {
                        self.parts.attributes.pop();
                    }
                    Some(attribute) => attribute.1 = part,
                    None => {}
                }
            }
            _ => {}
        }
    }

    fn error(&mut self, _: SyntaxError) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_an_instruction() {
        let text = "%w = (s32[]{:T(128)}, /*index=1*/f32[2]{0}) while(%t.1), condition=%c, \
                    body=%b, metadata={op_name=\"jit(f)/{a, b}\" stack_frame_id=7}, \
                    backend_config={\"k\":[\"x, y\"]}";
        let parts = InstructionParts::read(text);
        assert_eq!(parts.name, "w");
        assert_eq!(parts.shape, "(s32[]{:T(128)}, /*index=1*/f32[2]{0})");
        assert_eq!(parts.opcode, "while");
        assert_eq!(
            parts.operands,
            [OperandParts {
                name: "t.1",
                ..OperandParts::default()
            }]
        );
        assert_eq!(parts.attribute("condition"), Some("%c"));
        assert_eq!(parts.attribute("metadata"), None);
        assert_eq!(
            parts.attribute("backend_config"),
            Some("{\"k\":[\"x, y\"]}")
        );
        assert_eq!(parts.entry("op_name"), Some("\"jit(f)/{a, b}\""));
        assert_eq!(parts.entry("stack_frame_id"), Some("7"));
    }

    #[test]
    fn operands_that_nobody_asks_for_are_counted_only() {
        let text = "%t = (f32[2]{0}, (s32[], f32[])) tuple(%a, %b, (f32[2]{0}, s32[2,3]{1,0:T(2,128)}) %c, \
                    /*index=3*/s32[2,3]{1,0:T(2,128)} %d), metadata={op_name=\"f\"}";
        let all = InstructionParts::read(text);
        let names: Vec<&str> = all.operands.iter().map(|operand| operand.name).collect();
        assert_eq!(names, ["a", "b", "c", "d"]);
        assert_eq!(all.operands[2].shape, "(f32[2]{0}, s32[2,3]{1,0:T(2,128)})");
        for most in 0..6 {
            let some = InstructionParts::read_up_to(text, most);
            assert_eq!(some.operands, all.operands[..most.min(4)]);
            assert_eq!(some.operand_count(), 4, "{most}");
            assert_eq!(some.entry("op_name"), Some("\"f\""));
            assert_eq!(some.shape, all.shape);
        }
        let cut_off = InstructionParts::read_up_to("%t = f32[] add(%a, %b, (%c", 2);
        assert_eq!((cut_off.operands.len(), cut_off.operand_count()), (2, 3));
        let constant = InstructionParts::read_up_to("%k = f32[2]{0} constant({1, 2})", 0);
        assert_eq!(constant.operand_count(), 0);
    }

    #[test]
    fn elements_as_operands() {
        let parts = InstructionParts::read("%a = f32[] add(%t#1#0, (f32[], s32[]) %u#12, %v)");
        let operands: Vec<_> = parts
            .operands
            .iter()
            .map(|it| (it.name, it.element))
            .collect();
        assert_eq!(operands, [("t", "1#0"), ("u", "12"), ("v", "")]);
        assert_eq!(parts.operands[1].shape, "(f32[], s32[])");
    }

    #[test]
    fn shapes_with_blanks() {
        for shape in ["f32[2, 3]", "f32[ 2, 3 ]{1, 0}", "(f32[2, 3], s32[])"] {
            let text = format!("a = {shape} dot(b, c), lhs_contracting_dims={{1}}");
            let parts = InstructionParts::read(&text);
            assert_eq!((parts.shape, parts.opcode), (shape, "dot"));
            assert_eq!(parts.operands[1].name, "c");
            assert_eq!(
                parts.attribute("lhs_contracting_dims"),
                Some("{1}"),
                "{shape}"
            );
        }
    }

    #[test]
    fn old_texts_and_broken_ones() {
        let parts =
            InstructionParts::read("a = f32[2]{0} add((f32[2]{0}, s32[]) b, c), to_apply=r.1");
        assert_eq!(parts.operands[0].shape, "(f32[2]{0}, s32[])");
        assert_eq!(parts.operands[1].name, "c");
        assert_eq!(parts.attribute("to_apply"), Some("r.1"));
        assert_eq!(
            InstructionParts::read("%p = f32[] parameter(3)").parameter,
            Some(3)
        );
        assert_eq!(
            InstructionParts::read("%p = f32[] add(%a, ").operands[0].name,
            "a"
        );
        assert_eq!(InstructionParts::read(""), InstructionParts::default());
    }
}
