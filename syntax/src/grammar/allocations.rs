//! Section A (allocations) and section B (the total).

use super::{BLANK, MARK, Parser, Rule, shape, values};
use crate::SyntaxKind as K;
use crate::lexer::Token;
use crate::sink::Sink;

/// `allocation 0: size 512, color 1, parameter 0, shape |f32[]| at ShapeIndex {}, maybe-live-out:`,
/// also with the size as `4.1KiB`, as the memory-usage report prints it.
pub(super) fn header<S: Sink>(p: &mut Parser<S>) -> Rule {
    if !p.phrase("allocation ", [(K::Keyword, 10), BLANK]) {
        p.expect_word("allocation")?;
    }
    p.number(K::AllocationIndex, "an allocation's number")?;
    if !p.phrase(": size ", [MARK, BLANK, (K::Keyword, 4), BLANK]) {
        p.expect_mark(Token::Colon, "`:`")?;
        p.expect_word("size")?;
    }
    if p.at(Token::Int)
        && p.byte_behind()
            .is_some_and(|byte| byte == b'.' || byte.is_ascii_alphabetic())
    {
        human_bytes(p)?;
    } else {
        p.number(K::Size, "a size in bytes")?;
    }
    while p.eat(Token::Comma, K::Punctuation) {
        p.node(K::AllocationAttribute, attribute)?;
    }
    p.expect_mark(
        Token::Colon,
        "`,` and an attribute, or `:` at the end of the line",
    )
}

fn attribute<S: Sink>(p: &mut Parser<S>) -> Rule {
    if !p.at(Token::Word) {
        return Err(p.fail("an attribute of the allocation"));
    }
    match p.word() {
        "color" => {
            p.bump(K::Keyword);
            p.number(K::Color, "a memory space number")
        }
        "parameter" => {
            p.bump(K::Keyword);
            p.number(K::ParameterNumber, "a parameter number")?;
            p.expect_mark(Token::Comma, "`, shape |...|`")?;
            p.expect_word("shape")?;
            quoted_shape(p)?;
            p.expect_word("at")?;
            p.expect_word("ShapeIndex")?;
            shape::index(p)
        }
        "output" => {
            p.bump(K::Keyword);
            p.expect_word("shape")?;
            p.expect_word("is")?;
            quoted_shape(p)
        }
        "constant" | "thread-local" | "maybe-live-out" | "preallocated-temp" => {
            p.bump(K::Keyword);
            Ok(())
        }
        // Compilers add attributes (`page 0` since libtpu 0.0.51): any phrase will do.
        _ => {
            p.bump(K::Keyword);
            while let Some(token) = p.peek() {
                match token {
                    Token::Comma | Token::Colon => break,
                    Token::Int => p.number(K::Number, "a number")?,
                    _ => p.bump(K::Text),
                }
            }
            Ok(())
        }
    }
}

/// `|f32[4,288]|`
fn quoted_shape<S: Sink>(p: &mut Parser<S>) -> Rule {
    p.expect_mark(Token::Bar, "`|`")?;
    p.peek();
    if p.remaining().starts_with("<unknown shape>") {
        p.raw(K::Text, "<unknown shape>".len());
    } else {
        let length = p.remaining().find('|').unwrap_or(p.remaining().len());
        if S::DETAIL {
            shape::up_to(p, length)?;
        } else {
            shape::unread(p, length)?;
        }
    }
    p.expect_mark(Token::Bar, "`|`")
}

/// ` value: <31 constant.16 @0> (size=512,offset=0): bf16[]{:T(256)}`
pub(super) fn value_line<S: Sink>(p: &mut Parser<S>) -> Rule {
    if !p.phrase(" value: ", [BLANK, (K::Keyword, 5), MARK, BLANK]) {
        p.expect_word("value")?;
        p.expect_mark(Token::Colon, "`:`")?;
    }
    values::reference(p)?;
    if !p.phrase(" (size=", [BLANK, MARK, (K::Keyword, 4), MARK]) {
        p.expect_mark(Token::LParen, "`(size=`")?;
        p.expect_word("size")?;
        p.expect_mark(Token::Eq, "`=`")?;
    }
    p.number(K::Size, "a size in bytes")?;
    if !p.phrase(",offset=", [MARK, (K::Keyword, 6), MARK]) {
        p.expect_mark(Token::Comma, "`,offset=`")?;
        p.expect_word("offset")?;
        p.expect_mark(Token::Eq, "`=`")?;
    }
    p.number(K::Offset, "an offset in bytes")?;
    if !p.phrase("): ", [MARK, MARK, BLANK]) {
        p.expect_mark(Token::RParen, "`)`")?;
        p.expect_mark(Token::Colon, "`:`")?;
        p.skip_blanks();
    }
    if S::DETAIL {
        shape::up_to(p, p.remaining().len())
    } else {
        shape::unread(p, p.remaining().len())
    }
}

/// `Total bytes used: 36864 (36.0KiB)`
pub(super) fn total<S: Sink>(p: &mut Parser<S>) -> Rule {
    p.raw(K::Keyword, "Total bytes used".len());
    total_bytes(p)
}

/// `: 36864 (36.0KiB)`
pub(super) fn total_bytes<S: Sink>(p: &mut Parser<S>) -> Rule {
    p.expect_mark(Token::Colon, "`:`")?;
    p.number(K::Size, "a size in bytes")?;
    p.expect_mark(Token::LParen, "`(` and the size for people")?;
    human_bytes(p)?;
    p.expect_mark(Token::RParen, "`)`")
}

/// `36.0KiB`, `512B`
pub(super) fn human_bytes<S: Sink>(p: &mut Parser<S>) -> Rule {
    p.peek();
    let text = p.remaining();
    let number = text
        .bytes()
        .take_while(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-'))
        .count();
    let unit = text[number..]
        .bytes()
        .take_while(u8::is_ascii_alphabetic)
        .count();
    if number == 0 || !text[number..number + unit].ends_with('B') {
        return Err(p.fail("a size such as `36.0KiB`"));
    }
    p.raw(K::HumanBytes, number + unit);
    Ok(())
}
