//! One HLO instruction: as it stands behind `from instruction:` and in the text of a module.

use super::{BLANK, Failed, MARK, Parser, Rule, plain, shape};
use crate::SyntaxKind as K;
use crate::lexer::Token;
use crate::line::is_name_byte;
use crate::sink::Sink;

/// Attributes whose values name computations. `select` and `scatter` do so on select-and-scatter only.
pub const COMPUTATION_ATTRIBUTES: [&str; 10] = [
    "calls",
    "to_apply",
    "condition",
    "body",
    "true_computation",
    "false_computation",
    "branch_computations",
    "called_computations",
    "select",
    "scatter",
];

/// `%a = f32[] add(%b, %c), metadata={op_name="f"}`
pub(crate) fn instruction<S: Sink>(p: &mut Parser<S>) -> Rule {
    p.node(K::Instruction, |p| {
        p.eat(Token::Percent, K::Punctuation);
        p.expect(Token::Word, K::Name, "an instruction's name")?;
        if !p.phrase(" = ", [BLANK, MARK, BLANK]) {
            p.expect_mark(Token::Eq, "`=`")?;
            p.skip_blanks();
        }
        let length = |p: &mut Parser<S>| {
            let blank = memchr::memchr(b' ', p.remaining().as_bytes());
            blank.unwrap_or(0)
        };
        let likely = length(p);
        if !S::INSIDE && p.sink.knows_shape(&p.remaining()[..likely]) {
            shape::unread(p, likely)?;
        } else if is_call(p) {
            // People leave out the shape where the operands tell it.
        } else if S::SHAPES {
            // Blanks have been passed.
            let length = length(p);
            shape::up_to(p, length)?;
        } else {
            unread_shape(p)?;
        }
        p.peek();
        let opcode = p.word();
        p.expect(Token::Word, K::Opcode, "an opcode")?;
        if !p.at(Token::LParen) {
            return Err(p.fail("`(` and the operands"));
        }
        if !S::DETAIL {
            if opcode == "parameter" {
                p.bump(K::Punctuation);
                p.number(K::ParameterNumber, "a parameter number")?;
            }
            p.rest(K::Text);
            return Ok(());
        }
        p.node(K::Operands, |p| {
            p.bump(K::Punctuation);
            match opcode {
                "parameter" => p.number(K::ParameterNumber, "a parameter number")?,
                "constant" => values(p, Token::RParen, "")?,
                _ => operands(p)?,
            }
            p.expect_mark(Token::RParen, "`)` at the end of the operands")
        })?;
        attributes(p)
    })
}

/// Whether a word with a parenthesis comes next, as an opcode and its operands; not a buffer's type, `b(f32[4])`.
fn is_call<S: Sink>(p: &mut Parser<S>) -> bool {
    p.at(Token::Word) && p.byte_behind() == Some(b'(') && p.word() != "b"
}

/// A shape whose end is found without reading it.
fn unread_shape<S: Sink>(p: &mut Parser<S>) -> Rule {
    let text = p.remaining();
    let length = if let Some(elements) = text.strip_prefix('(') {
        text.len().min(closing(elements) + 2)
    } else {
        let end = text.find(' ').unwrap_or(text.len());
        // People put blanks into it, `f32[2, 3]`.
        if !text[..end].ends_with([']', '}']) {
            return shape(p);
        }
        end
    };
    shape::unread(p, length)
}

/// Where the parenthesis is that none in `text` opens; its end if there is none.
fn closing(text: &str) -> usize {
    let mut depth = 0_u32;
    for at in memchr::memchr2_iter(b'(', b')', text.as_bytes()) {
        if text.as_bytes()[at] == b'(' {
            depth += 1;
        } else if depth == 0 {
            return at;
        } else {
            depth -= 1;
        }
    }
    text.len()
}

fn operands<S: Sink>(p: &mut Parser<S>) -> Rule {
    if !S::INSIDE
        && let Some(length) = plain::operands(p.remaining(), |shape| p.sink.knows_shape(shape))
    {
        p.raw(K::Text, length);
        return Ok(());
    }
    while !p.at(Token::RParen) && p.peek().is_some() {
        if !p.sink.wants_operand() {
            p.raw(K::Text, closing(p.remaining()));
            break;
        }
        p.node(K::Operand, operand)?;
        if !p.eat(Token::Comma, K::Punctuation) {
            break;
        }
    }
    Ok(())
}

/// `%b`, `f32[] %b`, `b`, `f32[] b`, `%t#0`, or whatever else a compiler prints there; by people a whole
/// instruction without name, `f32[] negate(b)`.
fn operand<S: Sink>(p: &mut Parser<S>) -> Rule {
    let is_shape = match p.peek() {
        Some(Token::LParen) => true,
        Some(Token::Word) => matches!(p.byte_behind(), Some(b'[' | b'(')) && !is_call(p),
        _ => false,
    };
    if is_shape && p.at(Token::LParen) && !S::SHAPES {
        unread_shape(p)?;
    } else if is_shape {
        shape(p)?;
    }
    if is_call(p) {
        p.bump(K::Literal);
        return bracketed(p, "");
    }
    p.eat(Token::Percent, K::Punctuation);
    p.eat(Token::Word, K::Name);
    while p.at(Token::Hash) {
        p.bump(K::Punctuation);
        p.number(K::ShapeIndexNumber, "an element's number")?;
    }
    if matches!(p.peek(), Some(Token::Comma | Token::RParen)) {
        Ok(())
    } else {
        values(p, Token::RParen, "")
    }
}

/// `, key=value` until the end of the line.
pub(super) fn attributes<S: Sink>(p: &mut Parser<S>) -> Rule {
    if !S::INSIDE && plain::are_attributes(p.remaining()) {
        p.rest(K::Text);
        return Ok(());
    }
    while p.eat(Token::Comma, K::Punctuation) {
        p.node(K::Attribute, attribute)?;
    }
    Ok(())
}

fn attribute<S: Sink>(p: &mut Parser<S>) -> Rule {
    let key = if p.at(Token::Word) { p.word() } else { "" };
    p.expect(Token::Word, K::AttributeName, "an attribute")?;
    if !p.eat(Token::Eq, K::Punctuation) {
        return Ok(());
    }
    if key == "metadata" && p.at(Token::LBrace) {
        metadata(p)
    } else {
        values(p, Token::Comma, key)
    }
}

/// `{op_name="jit(f)/add" source_line=3}`
fn metadata<S: Sink>(p: &mut Parser<S>) -> Rule {
    p.node(K::Group, |p| {
        p.bump(K::Punctuation);
        entries(p)?;
        p.expect_mark(Token::RBrace, "`}` at the end of the metadata")
    })
}

/// `op_name="jit(f)/add" source_line=3`
pub(super) fn entries<S: Sink>(p: &mut Parser<S>) -> Rule {
    while p.at(Token::Word) {
        p.node(K::MetadataEntry, |p| {
            p.bump(K::AttributeName);
            p.expect_mark(Token::Eq, "`=`")?;
            match p.peek() {
                Some(Token::String) => p.bump(K::String),
                Some(Token::Int) => p.number(K::Number, "a number")?,
                Some(Token::LBrace) => bracketed(p, "")?,
                _ => p.bump(K::Literal),
            }
            Ok(())
        })?;
        p.eat(Token::Comma, K::Punctuation);
    }
    Ok(())
}

/// Free text until `end` or a comma outside of brackets. Brackets must match, strings are closed.
fn values<S: Sink>(p: &mut Parser<S>, end: Token, key: &str) -> Rule {
    let mut is_first = true;
    while let Some(token) = p.peek() {
        if end == Token::Comma && !std::mem::take(&mut is_first) {
            // People break lines behind commas; what begins a line otherwise is no part of the value.
            if p.begins_line() {
                break;
            }
            if token == Token::Word && p.byte_behind() == Some(b'=') {
                return Err(p.fail("`,` before the next attribute"));
            }
        }
        match token {
            Token::Comma if end == Token::Comma => {
                // A list without brackets: `calls=%a, %b`.
                if !COMPUTATION_ATTRIBUTES.contains(&key) || !p.remaining().starts_with(", %") {
                    break;
                }
                p.bump(K::Punctuation);
            }
            _ if token == end => break,
            Token::LBrace | Token::LBracket | Token::LParen => bracketed(p, key)?,
            Token::RBrace | Token::RBracket | Token::RParen => {
                return Err(p.fail("`,` and an attribute"));
            }
            _ => value(p, token, key),
        }
    }
    Ok(())
}

/// The attribute whose value is the shapes of the program's parameters and of its result: `{(f32[2]{0}, s32[])->f32[2]{0}}`
const PROGRAM_SHAPE: &str = "entry_computation_layout";

/// A bracketed run. It is flat, however deep its brackets are.
fn bracketed<S: Sink>(p: &mut Parser<S>, key: &str) -> Rule {
    p.node(K::Group, |p| {
        let mut open = Vec::new();
        while let Some(token) = p.peek() {
            match token {
                Token::LBrace => open.push(Token::RBrace),
                Token::LBracket => open.push(Token::RBracket),
                Token::LParen => open.push(Token::RParen),
                Token::RBrace | Token::RBracket | Token::RParen => {
                    if open.pop() != Some(token) {
                        return Err(mismatch(p));
                    }
                    p.bump(K::Punctuation);
                    if open.is_empty() {
                        return Ok(());
                    }
                    continue;
                }
                Token::Word if key == PROGRAM_SHAPE && p.byte_behind() == Some(b'[') => {
                    shape(p)?;
                    continue;
                }
                _ => {
                    value(p, token, key);
                    continue;
                }
            }
            p.bump(K::Punctuation);
        }
        // The rest may be in the next block.
        if p.is_continued() {
            Ok(())
        } else {
            Err(p.fail("a closing bracket"))
        }
    })
}

fn mismatch<S: Sink>(p: &mut Parser<S>) -> Failed {
    p.fail("the bracket that closes the last one opened")
}

fn value<S: Sink>(p: &mut Parser<S>, token: Token, key: &str) {
    let names_computations = COMPUTATION_ATTRIBUTES.contains(&key);
    let kind = match token {
        Token::String => K::String,
        Token::Int => K::Number,
        Token::Percent if p.byte_behind().is_some_and(is_name_byte) => {
            p.bump(K::Punctuation);
            if names_computations {
                K::ComputationName
            } else {
                K::Name
            }
        }
        // In old HLO text names have no `%`.
        Token::Word if names_computations => K::ComputationName,
        Token::Word if key == "control-predecessors" => K::Name,
        Token::Word => K::Literal,
        Token::Other => K::Text,
        _ => K::Punctuation,
    };
    p.bump(kind);
}
