//! Section C: used values.

use super::{BLANK, MARK, Parser, Rule, instruction, shape};
use crate::SyntaxKind as K;
use crate::lexer::Token;
use crate::sink::Sink;

/// `<27 copy-start{} (phi) @0>`
pub(super) fn reference<S: Sink>(p: &mut Parser<S>) -> Rule {
    p.node(K::ValueReference, |p| {
        p.expect_mark(Token::Less, "`<` and a value's id")?;
        p.number(K::ValueId, "a value's id")?;
        p.expect(Token::Word, K::Name, "an instruction's name")?;
        if p.phrase(" @", [BLANK, MARK]) {
            p.number(K::Color, "a memory space number")?;
        } else {
            if p.at(Token::LBrace) {
                shape::index(p)?;
            }
            if p.eat(Token::LParen, K::Punctuation) {
                p.expect_word("phi")?;
                p.expect_mark(Token::RParen, "`)`")?;
            }
            if p.eat(Token::At, K::Punctuation) {
                p.number(K::Color, "a memory space number")?;
            }
        }
        p.expect_mark(Token::Greater, "`>`")
    })
}

/// `<31 constant.16 @0>`
pub(super) fn header<S: Sink>(p: &mut Parser<S>) -> Rule {
    reference(p)
}

/// `  copy-start {1}`
pub(super) fn position<S: Sink>(p: &mut Parser<S>) -> Rule {
    p.expect(Token::Word, K::Name, "an instruction's name")?;
    if p.at(Token::LBrace) {
        shape::index(p)
    } else {
        Ok(())
    }
}

/// `  copy-done, operand 0 {1}` or `  (none)`
pub(super) fn use_line<S: Sink>(p: &mut Parser<S>) -> Rule {
    if p.eat(Token::LParen, K::Punctuation) {
        p.expect_word("none")?;
        return p.expect_mark(Token::RParen, "`)`");
    }
    p.expect(Token::Word, K::Name, "an instruction's name")?;
    if !p.phrase(", operand ", [MARK, BLANK, (K::Keyword, 7), BLANK]) {
        p.expect_mark(Token::Comma, "`, operand`")?;
        p.expect_word("operand")?;
    }
    p.number(K::OperandNumber, "an operand's number")?;
    if p.at(Token::LBrace) {
        shape::index(p)
    } else {
        Ok(())
    }
}

/// ` from instruction: %a = f32[] add(%b, %c)`
pub(super) fn from_instruction<S: Sink>(p: &mut Parser<S>) -> Rule {
    let words = [BLANK, (K::Keyword, 4), BLANK, (K::Keyword, 11), MARK, BLANK];
    if !p.phrase(" from instruction: ", words) {
        p.expect_word("from")?;
        p.expect_word("instruction")?;
        p.expect_mark(Token::Colon, "`:`")?;
    }
    instruction(p)
}
