//! What compilers print inside of instructions, passed over where nobody wants it: operands and attributes in their
//! usual form, of which it is known that the rules in `instruction.rs` find nothing wrong in them. Whatever is
//! printed in another form is left to those rules. A test holds that they agree.

use super::MOST_DIGITS;
use crate::lexer::{Token, simple};
use crate::line::is_name_byte;

/// So many brackets can be open at once.
const MAX_DEPTH: usize = 16;

/// The length of the operands that `text` begins with, up to their `)`: `%a, f32[2]{0} %b`. The shapes are those
/// that `is_shape` knows.
pub(super) fn operands(text: &str, mut is_shape: impl FnMut(&str) -> bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    if bytes.first() == Some(&b')') {
        return Some(0);
    }
    loop {
        if bytes.get(at) != Some(&b'%') {
            let shape = memchr::memchr(b' ', &bytes[at..])?;
            if !is_shape(&text[at..at + shape]) {
                return None;
            }
            at += shape + 1;
        }
        at += 1 + word(bytes.get(at..)?.strip_prefix(b"%")?)?;
        match bytes.get(at..)? {
            [b',', b' ', ..] => at += 2,
            [b')', ..] => return Some(at),
            _ => return None,
        }
    }
}

/// Whether `text` is attributes up to its end: `, kind=kLoop, metadata={op_name="f" stack_frame_id=4}`
pub(super) fn are_attributes(text: &str) -> bool {
    let mut bytes = text.as_bytes();
    while !bytes.is_empty() {
        let Some(rest) = attribute(bytes) else {
            return false;
        };
        bytes = rest;
    }
    true
}

/// What stands behind the attribute that `bytes` begin with.
fn attribute(bytes: &[u8]) -> Option<&[u8]> {
    let bytes = bytes.strip_prefix(b", ")?;
    let key = word(bytes)?;
    let (key, value) = (&bytes[..key], bytes[key..].strip_prefix(b"=")?);
    let length = match value.first()? {
        b'{' if key == b"metadata" => metadata(value)?,
        b'{' => group(value)?,
        _ => value
            .iter()
            .take_while(|&&byte| is_name_byte(byte) || matches!(byte, b'%' | b'>'))
            .count(),
    };
    let behind = &value[length..];
    (length > 0 && (behind.is_empty() || behind.starts_with(b", "))).then_some(behind)
}

/// The length of the word that `bytes` begin with.
fn word(bytes: &[u8]) -> Option<usize> {
    match simple(bytes)? {
        (Token::Word, length) => Some(length),
        _ => None,
    }
}

/// The length of the string that `bytes` begin with, with its quotes.
fn string(bytes: &[u8]) -> Option<usize> {
    bytes.strip_prefix(b"\"")?;
    let mut at = 1;
    loop {
        at += memchr::memchr3(b'"', b'\\', b'\n', bytes.get(at..)?)?;
        match bytes[at] {
            b'"' => return Some(at + 1),
            b'\\' if !matches!(bytes.get(at + 1)?, b'\n' | b'\r' | 0x80..) => at += 2,
            _ => return None,
        }
    }
}

/// The length of `{op_name="f" stack_frame_id=4}`.
fn metadata(bytes: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += word(&bytes[at..])?;
        let value = bytes[at..].strip_prefix(b"=")?;
        at += 1 + match simple(value) {
            Some((Token::Int, digits)) if digits <= MOST_DIGITS => digits,
            _ => string(value)?,
        };
        match bytes.get(at)? {
            b' ' => at += 1,
            b'}' => return Some(at + 1),
            _ => return None,
        }
    }
}

/// The length of what stands in brackets, with them: `{"a":["2"]}`
fn group(bytes: &[u8]) -> Option<usize> {
    let mut open = [0; MAX_DEPTH];
    let (mut depth, mut at) = (0, 0);
    loop {
        let byte = *bytes.get(at)?;
        match byte {
            b'{' | b'[' | b'(' => {
                *open.get_mut(depth)? = byte;
                depth += 1;
            }
            b'}' | b']' | b')' => {
                depth -= 1;
                let is_matching = matches!(
                    (open[depth], byte),
                    (b'{', b'}') | (b'[', b']') | (b'(', b')')
                );
                if !is_matching {
                    return None;
                }
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            b'"' => {
                at += string(&bytes[at..])?;
                continue;
            }
            // A comment, a line end, and whatever is not ASCII.
            b'/' | b'\n' | b'\r' | 0x80.. => return None,
            _ => {}
        }
        at += 1;
    }
}
