//! Section F: the text of an HLO module.

use super::{Parser, Rule, instruction, shape};
use crate::SyntaxKind as K;
use crate::lexer::Token;
use crate::line::before_comment;
use crate::sink::Sink;

/// `HloModule jit_f, is_scheduled=true, entry_computation_layout={...}`
pub(super) fn module_line<S: Sink>(p: &mut Parser<S>) -> Rule {
    p.expect_word("HloModule")?;
    p.peek();
    let text = p.remaining();
    // People break the line behind the comma.
    let ends = memchr::memchr_iter(b',', text.as_bytes());
    let mut ends = ends.filter(|&at| text[at + 1..].starts_with([' ', '\r', '\n']));
    let name = text[..ends.next().unwrap_or(text.len())].trim_end();
    p.raw(K::ModuleName, name.len());
    if S::DETAIL {
        instruction::attributes(p)
    } else {
        p.rest(K::Text);
        Ok(())
    }
}

/// `1 "/home/user/model.py"` or `1 {file_location_id=1 parent_frame_id=1}`
pub(super) fn table_row<S: Sink>(p: &mut Parser<S>) -> Rule {
    p.number(K::Count, "a row number")?;
    if p.eat(Token::String, K::String) {
        return Ok(());
    }
    p.expect_mark(Token::LBrace, "a string or `{`")?;
    while p.at(Token::Word) {
        p.node(K::MetadataEntry, |p| {
            p.bump(K::AttributeName);
            p.expect_mark(Token::Eq, "`=`")?;
            p.number(K::Number, "a number")
        })?;
    }
    p.expect_mark(Token::RBrace, "`}`")
}

/// `ENTRY %main.4 (x.1: f32[]) -> f32[] {`, older: `ENTRY main.4 {`
pub(crate) fn computation_header<S: Sink>(p: &mut Parser<S>) -> Rule {
    if p.at_word("ENTRY") && p.byte_behind() == Some(b' ') {
        p.bump(K::Keyword);
    }
    p.eat(Token::Percent, K::Punctuation);
    p.expect(Token::Word, K::ComputationName, "a computation's name")?;
    if p.at(Token::LParen) {
        p.node(K::Signature, |p| {
            if !S::DETAIL {
                let text = before_comment(p.remaining());
                let text = text.strip_suffix('{').unwrap_or(text).trim_end();
                p.raw(K::Text, text.len());
                return Ok(());
            }
            p.bump(K::Punctuation);
            while p.at(Token::Word) {
                p.bump(K::Name);
                p.expect_mark(Token::Colon, "`:` and the parameter's shape")?;
                shape(p)?;
                if !p.eat(Token::Comma, K::Punctuation) {
                    break;
                }
            }
            p.expect_mark(Token::RParen, "`)` at the end of the parameters")?;
            p.expect_mark(Token::Arrow, "`->`")?;
            shape(p)
        })?;
    }
    p.expect_mark(Token::LBrace, "`{`")
}

/// `  ROOT %add.3 = f32[] add(%a, %b)`
pub(super) fn instruction_line<S: Sink>(p: &mut Parser<S>) -> Rule {
    if p.at_word("ROOT") {
        p.bump(K::Keyword);
    }
    instruction(p)
}

/// `}`, `}, execution_thread="sparsecore"`, `} // fused_computation`
pub(super) fn computation_end<S: Sink>(p: &mut Parser<S>) -> Rule {
    p.expect_mark(Token::RBrace, "`}`")?;
    instruction::attributes(p)
}
