//! The lexer: what a run of characters is, before any grammar.

use logos::{Lexer, Logos};
use memchr::memchr2;

use crate::line::is_name_byte;

/// A lexical token of any line of a dump. What a token *means* (an offset, a step, an opcode) is
/// decided by the grammar, which gives it a [`SyntaxKind`](crate::SyntaxKind).
#[derive(Logos, Debug, Clone, Copy, PartialEq, Eq)]
#[logos(extras = Option<u8>)]
pub enum Token {
    /// Blanks and tabs.
    #[regex(r"[ \t]+")]
    Space,
    /// `/*index=5*/` inside long tuples and operand lists, `/*i0=0*/` inside literals; `// ...` to the end of the
    /// line, as people write it.
    #[regex(r"/\*[^*\n]*\*/")]
    #[token("//", line_comment)]
    Comment,
    /// A line end, `\n` or `\r\n`.
    #[regex(r"\r?\n")]
    Newline,
    /// Decimal digits.
    #[regex(r"[0-9]+")]
    Int,
    /// An instruction name, keyword, opcode or element type.
    #[regex(r"[A-Za-z_][A-Za-z0-9_.\-]*")]
    Word,
    /// A double-quoted string with backslash escapes, closed on its line. Of one that is not, the quote is
    /// [`Other`](Self::Other), and what is behind it is read on its own.
    #[regex(r#""([^"\\\n]|\\[^\n])*""#)]
    String,
    /// `{`
    #[token("{")]
    LBrace,
    /// `}`
    #[token("}")]
    RBrace,
    /// `(`
    #[token("(")]
    LParen,
    /// `)`
    #[token(")")]
    RParen,
    /// `[`
    #[token("[")]
    LBracket,
    /// `]`
    #[token("]")]
    RBracket,
    /// `<`
    #[token("<")]
    Less,
    /// `<=`, the mark of a bounded dynamic dimension.
    #[token("<=")]
    LessEq,
    /// `>`
    #[token(">")]
    Greater,
    /// `->`
    #[token("->")]
    Arrow,
    /// `,`
    #[token(",")]
    Comma,
    /// `:`
    #[token(":")]
    Colon,
    /// `;`
    #[token(";")]
    Semicolon,
    /// `=`
    #[token("=")]
    Eq,
    /// `%`
    #[token("%")]
    Percent,
    /// `@`
    #[token("@")]
    At,
    /// `|`
    #[token("|")]
    Bar,
    /// `.`
    #[token(".")]
    Dot,
    /// `-`
    #[token("-")]
    Minus,
    /// `*`
    #[token("*")]
    Star,
    /// `#`
    #[token("#")]
    Hash,
    /// `?`, an unbounded dynamic dimension.
    #[token("?")]
    Question,
    /// Any other character.
    #[regex(r".", priority = 0)]
    Other,
}

/// The token that `bytes` begin with, and its length, if its first byte tells: words, numbers and marks of one
/// character, of which dumps mostly consist. What others are, the automaton knows.
#[inline]
pub(crate) fn simple(bytes: &[u8]) -> Option<(Token, usize)> {
    let token = match bytes.first()? {
        b'A'..=b'Z' | b'a'..=b'z' | b'_' => {
            let word = bytes.iter().take_while(|&&byte| is_name_byte(byte));
            return Some((Token::Word, word.count()));
        }
        b'0'..=b'9' => {
            let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit());
            return Some((Token::Int, digits.count()));
        }
        b'{' => Token::LBrace,
        b'}' => Token::RBrace,
        b'(' => Token::LParen,
        b')' => Token::RParen,
        b'[' => Token::LBracket,
        b']' => Token::RBracket,
        b'<' if bytes.get(1) != Some(&b'=') => Token::Less,
        b'>' => Token::Greater,
        b'-' if bytes.get(1) != Some(&b'>') => Token::Minus,
        b',' => Token::Comma,
        b':' => Token::Colon,
        b';' => Token::Semicolon,
        b'=' => Token::Eq,
        b'%' => Token::Percent,
        b'@' => Token::At,
        b'|' => Token::Bar,
        _ => return None,
    };
    Some((token, 1))
}

/// Takes in the line behind `//`, unless that is in the middle of a text, as in `http://x`. The lexer's extra is the
/// byte before what it reads, if there is one.
fn line_comment(lexer: &mut Lexer<'_, Token>) -> bool {
    let before = match lexer.span().start {
        0 => lexer.extras,
        start => Some(lexer.source().as_bytes()[start - 1]),
    };
    let is_comment = before.is_none_or(|before| b" \t\n{}[]()<>,;".contains(&before));
    if is_comment {
        let rest = lexer.remainder().as_bytes();
        lexer.bump(memchr2(b'\n', b'\r', rest).unwrap_or(rest.len()));
    }
    is_comment
}

/// Splits `text` into tokens; their lengths add up to the length of the text.
///
/// ```
/// use buflens_syntax::lexer::{Token, tokens};
/// let kinds: Vec<_> = tokens("size=4,").map(|(token, text)| (token, text)).collect();
/// assert_eq!(kinds, [(Token::Word, "size"), (Token::Eq, "="), (Token::Int, "4"), (Token::Comma, ",")]);
/// ```
pub fn tokens(text: &str) -> impl Iterator<Item = (Token, &str)> {
    // A pattern that stops half-way (a lone `"` or `/`) yields an error for the characters it
    // looked at; they are ordinary text here.
    Token::lexer(text)
        .spanned()
        .map(move |(token, span)| (token.unwrap_or(Token::Other), &text[span]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_first_byte_tells_is_what_the_automaton_finds() {
        let behind = [
            "", " ", "a", "0", "-", ".", ">", "=", "/", "*/", "\"", "\n", "\u{e9}", "_1.-x y",
        ];
        let mut simple_ones = 0;
        for first in (0..=255).map(char::from) {
            for second in behind {
                for third in behind {
                    let text = format!("{first}{second}{third}");
                    let Some((token, length)) = simple(text.as_bytes()) else {
                        continue;
                    };
                    assert_eq!(
                        tokens(&text).next(),
                        Some((token, &text[..length])),
                        "{text}"
                    );
                    simple_ones += 1;
                }
            }
        }
        assert!(simple_ones > 10_000, "{simple_ones}");
    }
}
