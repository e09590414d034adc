//! What may come next in an HLO text that somebody writes by hand: names, opcodes, types, attributes.

use std::ops::Range;

use buflens_syntax::lexer::{Token, tokens};
use buflens_syntax::{COMPUTATION_ATTRIBUTES, DocumentKind, ElementType, facts, is_name_byte};

use super::hover::opcode;
use super::markdown::cut;
use crate::model::glossary;
use crate::model::{Dump, FileId, opcodes};

/// In a longer line nothing is proposed: nobody writes such by hand.
const MAX_LINE: u32 = 64 << 10;
/// So many instructions before the line are looked at.
const MAX_SEEN: usize = 20_000;
/// So much of a shape or signature is shown.
const DETAIL: usize = 80;

/// What a proposal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemKind {
    /// An instruction.
    Instruction,
    /// A computation.
    Computation,
    /// An opcode.
    Opcode,
    /// An element type.
    Type,
    /// The name of an attribute.
    Attribute,
}

/// A proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What is put in, for the completion's range.
    pub text: String,
    /// A shape, or a few words; may be empty.
    pub detail: String,
    /// What it is.
    pub kind: ItemKind,
}

/// Proposals for one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The beginning of a word that they replace.
    pub range: Range<u32>,
    /// The best first.
    pub items: Vec<Item>,
    /// Whether there are more that begin so.
    pub incomplete: bool,
}

/// At most `limit` proposals at `offset` of an HLO text.
pub fn completion(dump: &Dump, file: FileId, offset: u32, limit: usize) -> Option<Completion> {
    let document = &dump.files.get(file)?.document;
    if document.kind() != DocumentKind::Module {
        return None;
    }
    let line = document.line_range(document.line_at(offset))?;
    if offset < line.start || offset - line.start > MAX_LINE {
        return None;
    }
    let head = document.slice(line.start..offset);
    let word = head.bytes().rev().take_while(|&byte| is_name_byte(byte));
    let word = word.count();
    let (before, word) = head.split_at(head.len() - word);
    let wanted = Wanted::behind(before)?;
    let place = Place {
        dump,
        file,
        line: line.start,
        word,
        is_marked: before.ends_with('%'),
    };
    let opcodes = opcodes::all().map(|name| Item {
        text: name.to_owned(),
        detail: opcode::plain(name).unwrap_or_default().to_owned(),
        kind: ItemKind::Opcode,
    });
    let types = ElementType::names().map(|name| Item {
        text: name.to_owned(),
        detail: String::new(),
        kind: ItemKind::Type,
    });
    let all: Box<dyn Iterator<Item = Item>> = match wanted {
        Wanted::Instruction => Box::new(place.instructions()),
        Wanted::Computation => Box::new(place.computations()),
        Wanted::ShapeOrOpcode => Box::new(types.chain(opcodes)),
        Wanted::Opcode => Box::new(opcodes),
        Wanted::Type => Box::new(types),
        Wanted::Attribute { opcode } => Box::new(opcodes::attributes(opcode).map(|name| Item {
            text: format!("{name}="),
            detail: glossary::attribute(name).unwrap_or_default().to_owned(),
            kind: ItemKind::Attribute,
        })),
    };
    let begins = |item: &Item| {
        let name = item.text.strip_prefix('%').unwrap_or(&item.text);
        let start = name.as_bytes().get(..word.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
    };
    let mut items: Vec<Item> = all.filter(begins).take(limit + 1).collect();
    let incomplete = items.len() > limit;
    items.truncate(limit);
    Some(Completion {
        range: offset - word.len() as u32..offset,
        items,
        incomplete,
    })
}

/// What may come next in the line of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted<'t> {
    /// In old texts the shape may be left out.
    ShapeOrOpcode,
    Type,
    Opcode,
    Instruction,
    Computation,
    Attribute {
        opcode: &'t str,
    },
}

impl<'t> Wanted<'t> {
    /// What may come behind `head`, the line so far without the word that is being written.
    fn behind(head: &'t str) -> Option<Self> {
        let mut tokens = tokens(head).filter(|(token, _)| *token != Token::Comment);
        // `ROOT %name =`
        tokens.find(|(token, _)| *token == Token::Eq)?;
        let (mut depth, mut last) = (0_u32, Token::Eq);
        let (mut opcode, mut key, mut word) = ("", "", "");
        let mut part = Part::Shape;
        for (token, text) in tokens {
            match (part, token) {
                (Part::Shape, Token::Space) if depth == 0 && last != Token::Eq => {
                    part = Part::Opcode;
                }
                (Part::Opcode, Token::Word) => opcode = text,
                // The shape is left out.
                (Part::Shape, Token::LParen) if depth == 0 && last == Token::Word => {
                    (part, opcode) = (Part::Operands, word);
                }
                (Part::Opcode, Token::LParen) => part = Part::Operands,
                (Part::Operands, Token::RParen) if depth == 1 => part = Part::Attributes,
                (Part::Attributes, Token::Comma) if depth == 0 => key = "",
                (Part::Attributes, Token::Eq) if depth == 0 => key = word,
                _ => {}
            }
            match token {
                Token::LParen | Token::LBrace | Token::LBracket => depth += 1,
                Token::RParen | Token::RBrace | Token::RBracket => depth = depth.checked_sub(1)?,
                Token::Word => word = text,
                _ => {}
            }
            if token != Token::Space {
                last = token;
            }
        }
        let opens = matches!(last, Token::LParen | Token::Comma | Token::Eq);
        match part {
            Part::Shape if last == Token::Eq => Some(Self::ShapeOrOpcode),
            Part::Shape if opens && !head.ends_with(']') => Some(Self::Type),
            Part::Opcode if opcode.is_empty() => Some(Self::Opcode),
            Part::Operands if matches!(opcode, "constant" | "parameter") => None,
            // Behind an operand's shape, its name.
            Part::Operands
                if depth == 1
                    && (opens
                        || last == Token::Percent
                        || head.ends_with(' ')
                            && matches!(last, Token::RBracket | Token::RBrace)) =>
            {
                Some(Self::Instruction)
            }
            Part::Attributes if depth == 0 && last == Token::Comma && key.is_empty() => {
                Some(Self::Attribute { opcode })
            }
            Part::Attributes => {
                let begins = opens || matches!(last, Token::Percent | Token::LBrace);
                Self::value_of(key, opcode).filter(|_| begins && depth <= 1)
            }
            Part::Shape | Part::Opcode | Part::Operands => None,
        }
    }

    /// What the value of an attribute is made of.
    fn value_of(key: &str, opcode: &str) -> Option<Self> {
        match key {
            "control-predecessors" => Some(Self::Instruction),
            "select" | "scatter" if opcode != "select-and-scatter" => None,
            key => COMPUTATION_ATTRIBUTES
                .contains(&key)
                .then_some(Self::Computation),
        }
    }
}

/// The parts of an instruction's line behind its `=`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Shape,
    Opcode,
    Operands,
    Attributes,
}

/// Where something is to be put in.
#[derive(Clone, Copy)]
struct Place<'d> {
    dump: &'d Dump,
    file: FileId,
    /// Where the line begins.
    line: u32,
    /// The word that is being written.
    word: &'d str,
    /// Whether its `%` stands there already.
    is_marked: bool,
}

impl<'d> Place<'d> {
    /// The instructions of the computation before the line, the nearest first.
    fn instructions(self) -> impl Iterator<Item = Item> + 'd {
        let computation = self.dump.computation_at(self.file, self.line);
        let blocks = computation.into_iter();
        let blocks = blocks.flat_map(move |number| self.dump.blocks_of(number).rev());
        let rows = blocks.flat_map(move |(start, block, lines)| {
            let rows = block.into_rows_on::<facts::Instruction>(lines).rev();
            rows.filter(move |(_, row)| start + row.span.start < self.line)
        });
        rows.take(MAX_SEEN).map(move |(block, row)| {
            let text = block.text();
            Item {
                text: self.named(row.name.text(text), row.span.text(text)),
                detail: cut(row.shape.text(text), DETAIL),
                kind: ItemKind::Instruction,
            }
        })
    }

    /// The computations of the module, the nearest before the line first, then those behind it.
    fn computations(self) -> impl Iterator<Item = Item> + 'd {
        let own = self.dump.computation_at(self.file, self.line);
        let own = own.unwrap_or_default() as usize;
        let all = &self.dump.module.computations;
        let before = all.get(..own).unwrap_or_default().iter().rev();
        let behind = all.get(own + 1..).unwrap_or_default().iter();
        let headers = before
            .chain(behind)
            .filter_map(move |&row| self.dump.at::<facts::Computation>(row))
            .filter(|at| !at.row.entry);
        headers.map(move |at| {
            let line = at.text(at.row.line);
            let signature = line
                .split_once(" (")
                .map(|(_, rest)| rest.trim_end_matches(" {"));
            let detail = signature.map(|signature| cut(&format!("({signature}"), DETAIL));
            Item {
                text: self.named(at.text(at.row.name), line),
                detail: detail.unwrap_or_default(),
                kind: ItemKind::Computation,
            }
        })
    }

    /// The name as the text writes names: with `%` where its `definition` has it.
    fn named(self, name: &str, definition: &str) -> String {
        // A word that was begun without it goes on without it.
        let has_mark = definition.starts_with('%') && self.word.is_empty() && !self.is_marked;
        if has_mark {
            format!("%{name}")
        } else {
            name.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::ide::fixture::{COMBINED, Fixture};

    const TEXT: &str = "HloModule m\n\n%add (a: f32[], b: f32[]) -> f32[] {\n  %a = f32[] parameter(0)\n  %b = f32[] parameter(1)\n  ROOT %s = f32[] add(%a, %b)\n}\n\nlt {\n  a = f32[] parameter(0)\n  ROOT l = pred[] compare(a, a), direction=LT\n}\n\nENTRY %main (x: f32[4]) -> f32[4] {\n  %x = f32[4]{0} parameter(0)\n  %xy = (f32[4]{0}, f32[]) tuple(%x, %x)\n";

    fn check(line: &str, expected: &Expect) {
        let fixture = Fixture::new(&format!(
            "{TEXT}{line}$0\n  %after = f32[] constant(0)\n}}\n"
        ));
        let found = completion(&fixture.dump, fixture.file, fixture.offset, 4);
        let text = match found {
            None => "nothing\n".to_owned(),
            Some(found) => {
                let range = fixture.text(0, found.range);
                let items = found.items.iter();
                let items = items.map(|item| format!("{} | {}\n", item.text, item.detail));
                let more = if found.incomplete { "...\n" } else { "" };
                format!("for `{range}`\n{}{more}", items.collect::<String>())
            }
        };
        expected.assert_eq(&text);
    }

    #[test]
    fn operands_are_instructions_of_the_computation() {
        let both = expect![[r#"
            for ``
            xy | (f32[4]{0}, f32[])
            x | f32[4]{0}
        "#]];
        check("  %z = f32[4]{0} add(%x, %", &both);
        check(
            "  %z = f32[4]{0} add(%x, ",
            &expect![[r#"
                for ``
                %xy | (f32[4]{0}, f32[])
                %x | f32[4]{0}
            "#]],
        );
        check(
            "  %z = f32[] add(f32[4]{0} %XY",
            &expect![[r#"
                for `XY`
                xy | (f32[4]{0}, f32[])
            "#]],
        );
        check("  z = f32[4]{0} add(x), control-predecessors={%", &both);
        // The shape is left out.
        check("  z = add(x, %", &both);
        check("  %z = f32[] constant(", &expect!["nothing\n"]);
        check("  %z = f32[] parameter(", &expect!["nothing\n"]);
    }

    #[test]
    fn computations_are_called() {
        check(
            "  %z = f32[] reduce(%x, %x), dimensions={0}, to_apply=",
            &expect![[r#"
                for ``
                lt | 
                %add | (a: f32[], b: f32[]) -> f32[]
            "#]],
        );
        check(
            "  %z = f32[] conditional(%x), branch_computations={%add, %a",
            &expect![[r#"
                for `a`
                add | (a: f32[], b: f32[]) -> f32[]
            "#]],
        );
        check("  %z = f32[] add(%x), scatter=", &expect!["nothing\n"]);
    }

    #[test]
    fn types_opcodes_and_attributes() {
        check(
            "  ROOT %z = bf",
            &expect![[r#"
                for `bf`
                bf16 | 
            "#]],
        );
        check(
            "  %z = (f32[4]{0}, f6",
            &expect![[r#"
                for `f6`
                f64 | 
            "#]],
        );
        check(
            "  %z = f32[4]{0} opt",
            &expect![[r#"
                for `opt`
                opt-barrier | barrier that optimisations do not move code across
            "#]],
        );
        // The shape is left out.
        check(
            "  %z = opt",
            &expect![[r#"
                for `opt`
                opt-barrier | barrier that optimisations do not move code across
            "#]],
        );
        check(
            "  %z = f32[4]{0} while(%x), ",
            &expect![[r#"
                for ``
                condition= | The computation that tells whether the loop goes on.
                body= | The computation of one iteration of the loop.
                metadata= | Where the instruction comes from in the traced program.
                sharding= | How the array is divided over devices.
                ...
            "#]],
        );
        for nothing in [
            "",
            "  ",
            "  %z",
            "  %z = f32[",
            "  %z = f32[4]{",
            "  %z = f32[] add(%x)",
            "  z = f32[] add(x), metadata={op_name=\"",
        ] {
            check(nothing, &expect!["nothing\n"]);
        }
    }

    #[test]
    fn nothing_is_proposed_in_a_dump() {
        let fixture = Fixture::new(&COMBINED.replace("add(%bitcast.6, %", "add(%bitcast.6, %$0"));
        assert_eq!(
            completion(&fixture.dump, fixture.file, fixture.offset, 9),
            None
        );
    }
}
