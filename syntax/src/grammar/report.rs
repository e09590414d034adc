//! Section E: the memory-usage report, in both forms.

use super::{Parser, Rule, allocations, shape};
use crate::SyntaxKind as K;
use crate::lexer::Token;
use crate::sink::Sink;

/// `Memory Space: default (color=0)`
pub(super) fn space_heading<S: Sink>(p: &mut Parser<S>) -> Rule {
    p.expect_word("Memory")?;
    p.expect_word("Space")?;
    p.expect_mark(Token::Colon, "`:`")?;
    p.expect(Token::Word, K::Label, "a memory space's name")?;
    p.expect_mark(Token::LParen, "`(color=`")?;
    p.expect_word("color")?;
    p.expect_mark(Token::Eq, "`=`")?;
    p.number(K::Color, "a memory space number")?;
    p.expect_mark(Token::RParen, "`)`")
}

/// `Total bytes: 196952 (192.3KiB)`
pub(super) fn space_total<S: Sink>(p: &mut Parser<S>) -> Rule {
    p.raw(K::Keyword, "Total bytes".len());
    allocations::total_bytes(p)
}

/// `  The rest 3 values are less than 5% of the total size and not shown.`
pub(super) fn rest<S: Sink>(p: &mut Parser<S>) -> Rule {
    p.expect_word("The")?;
    p.expect_word("rest")?;
    p.number(K::Count, "a number of values or allocations")?;
    p.peek();
    p.rest(K::Keyword);
    Ok(())
}

/// `    64.0KiB(100%);    64.0KiB;          128;                2; f32[64,256], pred[]`, or
/// `   3.58MiB( 51%);    3.47MiB; allocation 35: size 3.58MiB, color 3, preallocated-temp:`
pub(super) fn row<S: Sink>(p: &mut Parser<S>) -> Rule {
    allocations::human_bytes(p)?;
    p.expect_mark(Token::LParen, "`(` and a percentage")?;
    p.peek();
    let percentage = p.remaining().find('%').unwrap_or(0);
    p.raw(K::Percentage, percentage);
    p.expect_mark(Token::Percent, "a percentage")?;
    p.expect_mark(Token::RParen, "`)`")?;
    p.expect_mark(Token::Semicolon, "`;`")?;
    allocations::human_bytes(p)?;
    p.expect_mark(Token::Semicolon, "`;`")?;
    if p.at_word("allocation") {
        return allocations::header(p);
    }
    p.number(K::Offset, "an offset in bytes")?;
    p.expect_mark(Token::Semicolon, "`;`")?;
    p.number(K::Count, "a number of values")?;
    p.expect_mark(Token::Semicolon, "`;`")?;
    p.node(K::ShapeList, shapes)
}

/// `5×f32[64,256], pred[]`
fn shapes<S: Sink>(p: &mut Parser<S>) -> Rule {
    if !S::DETAIL {
        p.rest(K::Text);
        return Ok(());
    }
    loop {
        // `5×s32[]`: five values of this shape.
        if p.at(Token::Int) {
            p.number(K::Count, "a number of values")?;
            p.expect(Token::Other, K::Punctuation, "`×`")?;
        }
        shape(p)?;
        if !p.eat(Token::Comma, K::Punctuation) {
            return Ok(());
        }
    }
}
