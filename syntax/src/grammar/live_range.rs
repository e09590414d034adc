//! Section D: schedule, live ranges, peak list, stack trace breakdown.

use super::{Parser, Rule, shape};
use crate::SyntaxKind as K;
use crate::lexer::Token;
use crate::sink::Sink;

/// `HloLiveRange (max 38):`
pub(super) fn heading<S: Sink>(p: &mut Parser<S>) -> Rule {
    p.expect_word("HloLiveRange")?;
    p.expect_mark(Token::LParen, "`(max`")?;
    p.expect_word("max")?;
    p.number(K::Count, "the number of steps")?;
    p.expect_mark(Token::RParen, "`)`")?;
    p.expect_mark(Token::Colon, "`:`")
}

/// `    12:fusion.3`
pub(super) fn step<S: Sink>(p: &mut Parser<S>) -> Rule {
    p.number(K::Step, "a step")?;
    p.expect_mark(Token::Colon, "`:`")?;
    p.expect(Token::Word, K::Name, "an instruction's name")
}

/// `    fusion.3{}:12-14`
pub(super) fn range<S: Sink>(p: &mut Parser<S>) -> Rule {
    p.expect(Token::Word, K::Name, "an instruction's name")?;
    shape::index(p)?;
    p.expect_mark(Token::Colon, "`:`")?;
    p.number(K::Step, "the first step")?;
    p.expect_mark(Token::Minus, "`-`")?;
    p.number(K::Step, "the last step")
}

/// `  Live ranges at 7 (peak):`
pub(super) fn peak_heading<S: Sink>(p: &mut Parser<S>) -> Rule {
    for word in ["Live", "ranges", "at"] {
        p.expect_word(word)?;
    }
    p.number(K::Step, "a step")?;
    p.expect_mark(Token::LParen, "`(peak)`")?;
    p.expect_word("peak")?;
    p.expect_mark(Token::RParen, "`)`")?;
    p.expect_mark(Token::Colon, "`:`")
}

/// `    fusion.3{}: 512 bytes (cumulative: 1024 bytes)`; older: without the sum, without the index.
pub(super) fn peak_line<S: Sink>(p: &mut Parser<S>) -> Rule {
    p.expect(Token::Word, K::Name, "an instruction's name")?;
    if p.at(Token::LBrace) {
        shape::index(p)?;
    }
    p.expect_mark(Token::Colon, "`:`")?;
    p.number(K::Bytes, "a number of bytes")?;
    p.expect_word("bytes")?;
    if p.eat(Token::LParen, K::Punctuation) {
        p.expect_word("cumulative")?;
        p.expect_mark(Token::Colon, "`:`")?;
        p.number(K::CumulativeBytes, "a number of bytes")?;
        p.expect_word("bytes")?;
        p.expect_mark(Token::RParen, "`)`")?;
    }
    Ok(())
}

/// `  Stack trace breakdown for peak usage: 27 648 bytes`
pub(super) fn tree_heading<S: Sink>(p: &mut Parser<S>) -> Rule {
    for word in ["Stack", "trace", "breakdown", "for", "peak", "usage"] {
        p.expect_word(word)?;
    }
    p.expect_mark(Token::Colon, "`:`")?;
    grouped_bytes(p)
}

/// `      ├── args[0] (8.3%, total: 2 304 bytes, current: 2 304 bytes, remaining: 0 bytes)`
///
/// Labels are printed raw, so the line is read from its end.
pub(super) fn tree_line<S: Sink>(p: &mut Parser<S>) -> Rule {
    let text = p.remaining();
    let connector = tree_prefix(text);
    p.peek();
    let indent = text.len() - p.remaining().len();
    if connector > indent {
        p.raw(K::Punctuation, connector - indent);
    }
    let label = p.remaining();
    let Some(length) = label.rfind(" (") else {
        p.rest(K::Label);
        if p.is_continued() {
            return Ok(());
        }
        return Err(p.fail("` (N%, total: N bytes, current: N bytes, remaining: N bytes)`"));
    };
    // A label may begin with a blank, and the lexer would take that for white space.
    p.raw(K::Label, length);
    p.expect_mark(Token::LParen, "`(`")?;
    p.peek();
    let percentage = p.remaining().find('%').unwrap_or(0);
    p.raw(K::Percentage, percentage);
    p.expect_mark(Token::Percent, "a percentage")?;
    for word in ["total", "current", "remaining"] {
        p.expect_mark(Token::Comma, "`,`")?;
        p.expect_word(word)?;
        p.expect_mark(Token::Colon, "`:`")?;
        grouped_bytes(p)?;
    }
    p.expect_mark(Token::RParen, "`)`")
}

/// The length of the indent and the connector of a line of the tree.
pub(crate) fn tree_prefix(line: &str) -> usize {
    line.find(|char: char| !matches!(char, ' ' | '│' | '├' | '└' | '─'))
        .unwrap_or(line.len())
}

/// `27 648 bytes`
fn grouped_bytes<S: Sink>(p: &mut Parser<S>) -> Rule {
    p.peek();
    let text = p.remaining().as_bytes();
    let digits = text
        .iter()
        .enumerate()
        .take_while(|&(at, byte)| {
            byte.is_ascii_digit()
                || (*byte == b' ' && text.get(at + 1).is_some_and(u8::is_ascii_digit))
        })
        .count();
    if digits == 0 {
        return Err(p.fail("a number of bytes"));
    }
    p.raw(K::GroupedBytes, digits);
    p.expect_word("bytes")
}
