//! What the instructions of a module mention: what a check of whole modules looks up.

use crate::SyntaxKind;
use crate::facts::Span;
use crate::sink::{Sink, SyntaxError};

/// Something that a line of a module names, or says of its computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mention {
    /// What it is.
    pub kind: MentionKind,
    /// Where it stands, in bytes from the start of the block.
    pub span: Span,
}

/// What is mentioned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MentionKind {
    /// An operand, by its name; the span is empty where the operand has none.
    Operand,
    /// An instruction named by an operand that is an instruction itself: `tuple(%a)`
    InOperand,
    /// A computation: `calls=%c`
    Computation,
    /// An instruction that must run before: `control-predecessors={%a}`
    Predecessor,
    /// The number of a stack frame: `stack_frame_id=4`
    StackFrame,
    /// An attribute of an instruction, with its name: `dimensions={0}`
    Attribute,
    /// A layout whose minor-to-major list does not hold each dimension of its shape once.
    LayoutOrder,
}

/// Collects mentions from the grammar's events.
pub(crate) struct MentionSink<'t> {
    text: &'t str,
    pub(crate) mentions: Vec<Mention>,
    line: SyntaxKind,
    /// Whether the tokens are an operand's, and not those behind it.
    in_operand: bool,
    /// Whether they are in the parentheses of an operand that is an instruction.
    in_group: bool,
    /// The attribute or entry of the metadata that is being read.
    key: &'t str,
    /// Where the attribute begins.
    attribute: u32,
    /// The arrays around: a sparse array's layout can hold another.
    arrays: Vec<Array>,
}

#[derive(Default)]
struct Array {
    dimensions: usize,
    order: Vec<Option<usize>>,
    /// The minor-to-major list.
    span: Option<Span>,
}

impl Array {
    fn is_ordered(&self) -> bool {
        let mut seen = vec![false; self.dimensions];
        let each_once = self.order.iter().all(|number| {
            let place = number.and_then(|number| seen.get_mut(number));
            place.is_some_and(|seen| !std::mem::replace(seen, true))
        });
        each_once && self.order.len() == self.dimensions
    }
}

impl<'t> MentionSink<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            text,
            mentions: Vec::new(),
            line: SyntaxKind::Root,
            in_operand: false,
            in_group: false,
            key: "",
            attribute: 0,
            arrays: Vec::new(),
        }
    }

    fn add(&mut self, kind: MentionKind, start: u32, end: u32) {
        let span = Span { start, end };
        self.mentions.push(Mention { kind, span });
    }
}

impl Sink for MentionSink<'_> {
    const DETAIL: bool = true;

    fn open(&mut self, kind: SyntaxKind, at: u32) {
        match kind {
            SyntaxKind::ArrayShape => self.arrays.push(Array::default()),
            SyntaxKind::Operand => {
                self.in_operand = true;
                self.add(MentionKind::Operand, at, at);
            }
            SyntaxKind::Group => self.in_group = self.in_operand,
            SyntaxKind::Attribute => {
                self.key = "";
                self.attribute = at;
            }
            _ if kind.is_line() => self.line = kind,
            _ => {}
        }
    }

    fn token(&mut self, kind: SyntaxKind, start: u32, end: u32) {
        let span = Span { start, end };
        match kind {
            SyntaxKind::Dimension => {
                if let Some(array) = self.arrays.last_mut() {
                    array.dimensions += 1;
                }
            }
            SyntaxKind::MinorToMajor => {
                let number = span.text(self.text).parse().ok();
                if let Some(array) = self.arrays.last_mut() {
                    array.order.push(number);
                    array.span.get_or_insert(span).end = end;
                }
            }
            SyntaxKind::Name if self.in_group => self.add(MentionKind::InOperand, start, end),
            SyntaxKind::Name if self.in_operand => {
                if let Some(operand) = self.mentions.last_mut() {
                    operand.span = span;
                }
            }
            SyntaxKind::Name if self.key == "control-predecessors" => {
                self.add(MentionKind::Predecessor, start, end);
            }
            SyntaxKind::ComputationName if self.line == SyntaxKind::InstructionLine => {
                self.add(MentionKind::Computation, start, end);
            }
            SyntaxKind::AttributeName => self.key = span.text(self.text),
            SyntaxKind::Number if self.key == "stack_frame_id" => {
                self.add(MentionKind::StackFrame, start, end);
            }
            _ => {}
        }
    }

    fn close(&mut self, kind: SyntaxKind, at: u32) {
        match kind {
            SyntaxKind::Operand => {
                self.in_operand = false;
                self.in_group = false;
            }
            SyntaxKind::ArrayShape => {
                let array = self.arrays.pop().unwrap_or_default();
                // A layout without the list says nothing of the order.
                if let Some(span) = array.span
                    && !array.is_ordered()
                {
                    let kind = MentionKind::LayoutOrder;
                    let mention = Mention { kind, span };
                    // An operand is waiting for its name, which comes behind its shape.
                    let before = self.mentions.len() - usize::from(self.in_operand);
                    self.mentions.insert(before, mention);
                }
            }
            SyntaxKind::MetadataEntry => self.key = "",
            SyntaxKind::Attribute => {
                self.key = "";
                if self.line == SyntaxKind::InstructionLine {
                    self.add(MentionKind::Attribute, self.attribute, at);
                }
            }
            _ => {}
        }
    }

    fn error(&mut self, _: SyntaxError) {}
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::expect;

    use crate::Document;

    #[test]
    fn names_numbers_and_odd_layouts_are_mentioned() {
        let text = "HloModule m\n\nENTRY e (a: f32[2,3]) -> f32[] {\n  a = f32[2,3]{0,0} parameter(0), metadata={op_name=\"x\" stack_frame_id=4 source_line=3}\n  %b = (f32[2]{0}, f32[]) call(f32[2,3]{1,2} a, %c#1, null), to_apply=add, control-predecessors={%a, b}, x=%y\n  k = while(tuple(%a, b), f32[] negate(f32[] %b))\n  ROOT d = f32[] conditional(b), branch_computations={%p, %q}, sharding={maximal device=0}\n}\n";
        let document = Document::new(text).unwrap();
        let (_, block) = document.block(0).unwrap();
        let mut lines = String::new();
        for mention in block.mentions() {
            writeln!(lines, "{:?} {}", mention.kind, mention.span.text(text)).unwrap();
        }
        expect![[r#"
            LayoutOrder 0,0
            StackFrame 4
            Attribute metadata={op_name="x" stack_frame_id=4 source_line=3}
            LayoutOrder 1,2
            Operand a
            Operand c
            Operand null
            Computation add
            Attribute to_apply=add
            Predecessor a
            Predecessor b
            Attribute control-predecessors={%a, b}
            Attribute x=%y
            Operand 
            InOperand a
            Operand 
            InOperand b
            Operand b
            Computation p
            Computation q
            Attribute branch_computations={%p, %q}
            Attribute sharding={maximal device=0}
        "#]]
        .assert_eq(&lines);
    }
}
