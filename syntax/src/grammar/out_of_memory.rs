//! The text that a compiler or a runtime prints when memory runs out.

use super::{Parser, Rule, instruction, shape};
use crate::SyntaxKind as K;
use crate::lexer::Token;
use crate::line::LineKind;
use crate::line::out_of_memory::{end, part};
use crate::sink::Sink;

/// Before these words stands what the log adds, behind them a memory space's name.
const SPACES: [&str; 4] = ["memory space ", "memory on ", "space=", "allocations in "];

/// A line of `kind`. No rule sees what the log put behind it.
pub(super) fn line<S: Sink>(p: &mut Parser<S>, kind: LineKind) {
    let (start, whole) = (p.position(), p.end);
    p.enter(start, start + end(p.remaining()));
    let result = match kind {
        LineKind::OutOfMemoryEntry => entry(p),
        LineKind::OutOfMemoryProperty => property(p),
        _ => {
            sentence(p);
            Ok(())
        }
    };
    p.finish_line(kind, start, result.is_ok());
    p.enter(p.end, whole);
    p.peek();
    p.rest(K::Text);
}

/// A line with sizes in it: the message itself, a heading, an amount.
fn sentence<S: Sink>(p: &mut Parser<S>) {
    let line = p.remaining();
    let label = label(p);
    p.raw(K::Keyword, label);
    let at = line.len() - p.remaining().len();
    sizes(p, line, at);
}

/// `  1. Size: 16.00G`, `Buffer 1:`
fn entry<S: Sink>(p: &mut Parser<S>) -> Rule {
    label(p);
    if p.at(Token::Word) {
        p.bump(K::Keyword);
        p.number(K::Count, "a number")?;
        return p.expect_mark(Token::Colon, "`:`");
    }
    p.number(K::Count, "a number")?;
    p.expect_mark(Token::Dot, "`.`")?;
    p.expect_word("Size")?;
    p.expect_mark(Token::Colon, "`:`")?;
    sizes(p, p.remaining(), 0);
    Ok(())
}

/// `     Shape: f32[1,1]{1,0:T(1,128)}` and what else an entry says.
fn property<S: Sink>(p: &mut Parser<S>) -> Rule {
    let length = label(p);
    let name = &p.remaining()[..length];
    p.raw(K::Keyword, length);
    p.expect_mark(Token::Colon, "`:`")?;
    p.peek();
    match name {
        "Operator" => instruction::entries(p),
        "Shape" | "Entry Parameter Subshape" if S::DETAIL => shape(p),
        "Shape" | "Entry Parameter Subshape" => shape::unread(p, p.remaining().len()),
        "XLA label" | "XLA Label" => instruction_label(p),
        "Allocation type" | "Tag" => {
            p.rest(K::Literal);
            Ok(())
        }
        _ => {
            sizes(p, p.remaining(), 0);
            Ok(())
        }
    }
}

/// `fusion.3 = fusion(a, b), kind=kLoop`, with the shape before the opcode in older versions; the
/// opcode alone of a GPU; or words such as `deduplicated constant`.
fn instruction_label<S: Sink>(p: &mut Parser<S>) -> Rule {
    let text = p.remaining();
    if !text.contains(" = ") {
        let is_opcode = !text.trim_end().contains(' ');
        p.rest(if is_opcode { K::Opcode } else { K::Literal });
        return Ok(());
    }
    p.eat(Token::Percent, K::Punctuation);
    p.expect(Token::Word, K::Name, "an instruction's name")?;
    p.expect_mark(Token::Eq, "`=`")?;
    if p.at(Token::Word) && p.byte_behind() == Some(b'(') {
        p.bump(K::Opcode);
    }
    // Operands and attributes are cut and abbreviated at will.
    p.rest(K::Text);
    Ok(())
}

/// Gives what the log put before the line to the sink, and tells the length of the label.
fn label<S: Sink>(p: &mut Parser<S>) -> usize {
    let text = p.remaining();
    let Some(part) = part(text) else {
        return 0;
    };
    let is_blank = text[..part.start].trim().is_empty();
    p.raw(if is_blank { K::Whitespace } else { K::Text }, part.start);
    part.label
}

/// The rest of the line, `text` from `at` on: sizes, percentages and memory spaces between words.
fn sizes<S: Sink>(p: &mut Parser<S>, text: &str, mut at: usize) {
    while let Some((kind, from, to)) = next(text, at) {
        p.raw(K::Text, from - at);
        p.raw(kind, to - from);
        at = to;
    }
    p.rest(K::Text);
}

/// The next token with a meaning at or behind `from`.
fn next(text: &str, from: usize) -> Option<(K, usize, usize)> {
    let bytes = text.as_bytes();
    let mut at = from;
    while at < bytes.len() {
        let before = &text.as_bytes()[..at];
        let is_free = before.last().is_none_or(|&byte| !is_word(byte));
        if is_free && bytes[at].is_ascii_digit() {
            if let Some((kind, end)) = number(text, at) {
                return Some((kind, at, end));
            }
            let word = run(&bytes[at..], is_word);
            if let Some((from, to)) = memory_of_core(&text[at..at + word]) {
                return Some((K::Label, at + from, at + to));
            }
            at += word;
        } else if bytes[at].is_ascii_alphabetic()
            && SPACES.iter().any(|word| before.ends_with(word.as_bytes()))
        {
            let end = at
                + run(&bytes[at..], |byte| {
                    byte.is_ascii_alphanumeric() || byte == b'_'
                });
            return Some((K::Label, at, end));
        } else {
            at += 1;
        }
    }
    None
}

/// Where the memory's name stands in what a runtime calls the memory of one core: `0x0x1_HBM0`.
fn memory_of_core(word: &str) -> Option<(usize, usize)> {
    let (core, memory) = word.split_once('_')?;
    let is_place = core.contains('x') && core.bytes().all(|it| it == b'x' || it.is_ascii_digit());
    let name = memory.trim_end_matches(|last: char| last.is_ascii_digit());
    let from = core.len() + 1;
    (is_place && !name.is_empty()).then_some((from, from + name.len()))
}

/// What the number at `at` is, and where it ends.
fn number(text: &str, at: usize) -> Option<(K, usize)> {
    let bytes = text.as_bytes();
    let mut end = at + run(&bytes[at..], |byte| byte.is_ascii_digit());
    let mut is_whole = true;
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        is_whole = false;
        end += 1;
        end += run(&bytes[end..], |byte| byte.is_ascii_digit());
    }
    let unit = run(&bytes[end..], |byte| byte.is_ascii_alphabetic());
    let behind = bytes.get(end + unit);
    if is_unit(&text[end..end + unit]) && behind.is_none_or(|&byte| !is_word(byte) || byte == b'.')
    {
        return Some((K::HumanBytes, end + unit));
    }
    match &text[end..end + unit] {
        "" if bytes.get(end) == Some(&b'%') => Some((K::Percentage, end)),
        // What ends with the text may have been longer.
        "" if is_whole
            && ["(size=", "(rounded to "]
                .iter()
                .any(|before| text[..at].ends_with(before))
            && text[end..].starts_with(')') =>
        {
            Some((K::Size, end))
        }
        "" if is_whole && text[end..].starts_with(" bytes") => Some((K::Size, end)),
        "x" if behind == Some(&b' ') => Some((K::Number, end)),
        _ => None,
    }
}

fn is_unit(unit: &str) -> bool {
    match unit.as_bytes() {
        [b'B' | b'K' | b'M' | b'G' | b'T' | b'P' | b'E'] => true,
        [b'K' | b'M' | b'G' | b'T' | b'P' | b'E', rest @ ..] => matches!(rest, b"B" | b"iB"),
        _ => false,
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.')
}

fn run(bytes: &[u8], is_in: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|&&byte| is_in(byte)).count()
}
