//! Cutting single lines, the plain way.

use super::oracle::{Instruction, Number, Reference, Spot, Word};
use super::shapes::shape_end;

/// A line that is being cut.
pub struct Line<'t> {
    pub text: &'t str,
    pub file: usize,
    /// From 0.
    pub number: usize,
}

impl Line<'_> {
    pub fn spot(&self, start: usize, end: usize) -> Spot {
        Spot {
            file: self.file,
            line: self.number,
            column: start,
            length: end - start,
        }
    }

    pub fn word(&self, start: usize, end: usize) -> Word {
        Word {
            text: self.text[start..end].to_owned(),
            spot: self.spot(start, end),
        }
    }

    /// The number that starts at `start`, with blanks between groups of digits if `grouped`.
    pub fn number_at(&self, start: usize, grouped: bool) -> Option<Number> {
        let is_part = |byte: &u8| byte.is_ascii_digit() || (grouped && *byte == b' ');
        let length = self.text.as_bytes()[start..]
            .iter()
            .take_while(|byte| is_part(byte))
            .count();
        let text = self.text[start..start + length].trim_end();
        let value = text.replace(' ', "").parse().ok()?;
        Some(Number {
            value,
            spot: self.spot(start, start + text.len()),
        })
    }

    /// The number behind the first `mark`.
    pub fn number(&self, mark: &str) -> Option<Number> {
        self.number_at(self.text.find(mark)? + mark.len(), false)
    }

    /// The reference that starts at `start` and ends in `>`.
    pub fn reference(&self, start: usize) -> Option<Reference> {
        let end = start + self.text[start..].find('>')? + 1;
        let inside = self.text[start..end].strip_prefix('<')?.strip_suffix('>')?;
        let mut words = inside.split(' ');
        let id = words.next()?;
        let name = words.next()?;
        let id_start = start + 1;
        let name_start = id_start + id.len() + 1;
        let (name, index) = name.split_at(name.find('{').unwrap_or(name.len()));
        let mut reference = Reference {
            spot: self.spot(start, end),
            id: self.number_at(id_start, false)?,
            name: self.word(name_start, name_start + name.len()),
            index: if index.is_empty() {
                "{}".to_owned()
            } else {
                index.to_owned()
            },
            color: None,
        };
        for word in words {
            if word.starts_with('@') {
                let at = start + self.text[start..end].rfind('@')? + 1;
                reference.color = self.number_at(at, false);
            } else if word != "(phi)" {
                return None;
            }
        }
        (reference.id.spot.length == id.len()).then_some(reference)
    }

    /// The instruction whose `%` stands at `start`.
    pub fn instruction(&self, start: usize, end: usize) -> Instruction {
        let text = &self.text[..end];
        let name_start = start + 1;
        let Some(equals) = text[start..].find(" = ").map(|at| start + at) else {
            return Instruction::default();
        };
        let shape_start = equals + 3;
        let shape_stop = shape_end(text, shape_start);
        let opcode_start = (shape_stop + 1).min(text.len());
        let open = text[opcode_start..]
            .find('(')
            .map_or(text.len(), |at| opcode_start + at);
        let opcode = text[opcode_start..open].to_owned();
        let mut operands = Vec::new();
        let is_marked = text[start..].starts_with('%');
        if opcode != "constant" && opcode != "parameter" {
            let mut depth = 0;
            for (at, character) in text[open..].char_indices() {
                let at = open + at;
                match character {
                    '(' | '[' | '{' => depth += 1,
                    ')' | ']' | '}' => depth -= 1,
                    '%' => operands.push(self.word(at + 1, at + 1 + word_length(&text[at + 1..]))),
                    _ if depth == 1 && !is_marked && is_first_of_word(text, at) => {
                        operands.push(self.word(at, at + word_length(&text[at..])));
                    }
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
            }
        }
        Instruction {
            name: self.word(name_start, equals),
            shape: self.word(shape_start, shape_stop),
            opcode,
            operands,
        }
    }
}

pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_.-".contains(&byte)
}

/// Whether a name starts at `at`: behind the bracket, a blank or a comment.
fn is_first_of_word(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    (bytes[at].is_ascii_alphabetic() || bytes[at] == b'_')
        && matches!(bytes[at - 1], b'(' | b' ' | b'/')
}

pub fn word_length(text: &str) -> usize {
    text.bytes().take_while(|&byte| is_word(byte)).count()
}

/// `Total bytes used: 512 (512B)`
pub fn total(line: &Line) -> Option<(Number, Word)> {
    let number = line.number(": ")?;
    let open = line.text.find('(')? + 1;
    Some((number, line.word(open, line.text.find(')')?)))
}
