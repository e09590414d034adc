//! Semantic tokens: what to colour how.

use std::ops::Range;

use buflens_syntax::{Document, SyntaxKind as K, SyntaxToken};

/// How a token is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A fixed word of the format.
    Keyword,
    /// An instruction's name.
    Name,
    /// A computation's name.
    Computation,
    /// An opcode.
    Opcode,
    /// An element type.
    Type,
    /// A number.
    Number,
    /// A string.
    String,
    /// The name of an attribute.
    Attribute,
    /// A comment.
    Comment,
}

/// A coloured piece of one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The piece.
    pub range: Range<u32>,
    /// How it is coloured.
    pub kind: TokenKind,
    /// Whether it is the name in the line that defines it.
    pub definition: bool,
}

/// The tokens within `range`, in order. Of a line longer than `columns` bytes only that many are
/// looked at.
pub fn tokens(document: &Document, range: Range<u32>, columns: u32) -> Vec<Token> {
    let mut tokens = Vec::new();
    let end = range.end.min(document.len());
    if range.start >= end {
        return tokens;
    }
    for line in document.line_at(range.start)..=document.line_at(end - 1) {
        let Some(line) = document.line_range(line) else {
            continue;
        };
        let cut = line.end.min(end).min(line.start.saturating_add(columns));
        of_line(
            document,
            line.start,
            range.start.max(line.start)..cut,
            &mut tokens,
        );
    }
    tokens
}

/// Adds the tokens in `range`, a part of the line that begins at `line`. A token that goes beyond
/// the line (a label with a line break) is cut at its ends.
fn of_line(document: &Document, line: u32, range: Range<u32>, tokens: &mut Vec<Token>) {
    if range.is_empty() {
        return;
    }
    let Some((start, first)) = document.token_at(line) else {
        return;
    };
    let following = std::iter::successors(Some(first), SyntaxToken::next_token);
    for token in following {
        let whole = Range::<u32>::from(token.text_range());
        let whole = start + whole.start..start + whole.end;
        if whole.start >= range.end {
            return;
        }
        let mut piece = whole.start.max(range.start)..whole.end.min(range.end);
        // The last of the columns may be within a character.
        while !token
            .text()
            .is_char_boundary((piece.end - whole.start) as usize)
        {
            piece.end -= 1;
        }
        if let Some(kind) = kind_of(token.kind()).filter(|_| !piece.is_empty()) {
            tokens.push(Token {
                range: piece,
                kind,
                definition: is_definition(&token),
            });
        }
    }
}

fn kind_of(kind: K) -> Option<TokenKind> {
    Some(match kind {
        K::Keyword | K::LayoutKeyword => TokenKind::Keyword,
        K::Name => TokenKind::Name,
        K::ComputationName | K::ModuleName => TokenKind::Computation,
        K::Opcode => TokenKind::Opcode,
        K::ElementType => TokenKind::Type,
        K::AllocationIndex
        | K::Size
        | K::Offset
        | K::Color
        | K::ParameterNumber
        | K::ValueId
        | K::OperandNumber
        | K::ShapeIndexNumber
        | K::Step
        | K::Bytes
        | K::CumulativeBytes
        | K::GroupedBytes
        | K::HumanBytes
        | K::Percentage
        | K::Count
        | K::Number
        | K::Dimension
        | K::MinorToMajor
        | K::TileSize
        | K::MemorySpace => TokenKind::Number,
        K::String | K::Label => TokenKind::String,
        K::AttributeName => TokenKind::Attribute,
        K::Comment => TokenKind::Comment,
        _ => return None,
    })
}

fn is_definition(token: &SyntaxToken) -> bool {
    let Some(parent) = token.parent() else {
        return false;
    };
    match (token.kind(), parent.kind()) {
        (K::Name, K::ValueReference) => parent
            .parent()
            .is_some_and(|line| line.kind() == K::ValueHeader),
        (K::Name, K::Instruction) | (K::ComputationName, K::ComputationHeader) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::ide::fixture::{COMBINED, MODULE, run_on};

    fn show(document: &Document, tokens: &[Token]) -> String {
        let text = document.text();
        let show = |token: &Token| {
            let mark = if token.definition { "!" } else { "" };
            let at = document.line_at(token.range.start) + 1;
            let text = &text[token.range.start as usize..token.range.end as usize];
            format!("{at} {:?}{mark} {text}\n", token.kind)
        };
        tokens.iter().map(show).collect()
    }

    /// The tokens of the lines of `text` that hold `part`.
    fn check(text: &str, part: &str, expected: &Expect) {
        let document = Document::new(text).unwrap();
        let start = text.find(part).unwrap() as u32;
        let range = start..start + part.len() as u32;
        expected.assert_eq(&show(&document, &tokens(&document, range, 1000)));
    }

    #[test]
    fn tokens_have_the_colour_of_their_role() {
        check(
            COMBINED,
            "allocation 2: size 512, color 1, preallocated-temp:\n value: <5 copy-start{0} @1> (size=512,offset=0): f32[16]{0:T(128)S(1)}\n",
            &expect![[r#"
                7 Keyword allocation
                7 Number 2
                7 Keyword size
                7 Number 512
                7 Keyword color
                7 Number 1
                7 Keyword preallocated-temp
                8 Keyword value
                8 Number 5
                8 Name copy-start
                8 Number 0
                8 Number 1
                8 Keyword size
                8 Number 512
                8 Keyword offset
                8 Number 0
                8 Type f32
                8 Number 16
                8 Number 0
                8 Keyword T
                8 Number 128
                8 Keyword S
                8 Number 1
            "#]],
        );
        check(
            COMBINED,
            "<9 add.2 @0>\n positions:\n  add.2\n uses:\n  (none)\n",
            &expect![[r#"
                60 Number 9
                60 Name! add.2
                60 Number 0
                61 Keyword positions:
                62 Name add.2
                63 Keyword uses:
                64 Keyword none
            "#]],
        );
        check(
            COMBINED,
            " from instruction: %add.2 = f32[16]{0:T(128)} add(%bitcast.6, %get-tuple-element.5), metadata={op_name=\"jit(f)/add.2 x.1\" source_file=\"/home/dev/caf\\303\\251.py\" source_line=7}",
            &expect![[r#"
                65 Keyword from
                65 Keyword instruction
                65 Name! add.2
                65 Type f32
                65 Number 16
                65 Number 0
                65 Keyword T
                65 Number 128
                65 Opcode add
                65 Name bitcast.6
                65 Name get-tuple-element.5
                65 Attribute metadata
                65 Attribute op_name
                65 String "jit(f)/add.2 x.1"
                65 Attribute source_file
                65 String "/home/dev/caf\303\251.py"
                65 Attribute source_line
                65 Number 7
            "#]],
        );
        check(
            &run_on(),
            "parameter(0), metadata={op_name=\"x\"}<4 copy-start{} @0>",
            &expect![[r#"
                26 Opcode parameter
                26 Number 0
                26 Attribute metadata
                26 Attribute op_name
                26 String "x"
                26 Number 4
                26 Name! copy-start
                26 Number 0
            "#]],
        );
        check(
            MODULE,
            "body=%region_0.3",
            &expect![[r#"
            32 Attribute body
            32 Computation region_0.3
        "#]],
        );
    }

    #[test]
    fn only_the_range_and_so_many_columns_are_looked_at() {
        let document = Document::new(COMBINED).unwrap();
        let line = COMBINED.find("allocation 2").unwrap() as u32;
        expect![[r#"
            7 Keyword allocation
            7 Number 2
            8 Keyword value
            8 Number 5
            8 Name c
            9 Keyword allocation
            9 Number 3
            10 Keyword value
            10 Number 4
            10 Name c
        "#]]
        .assert_eq(&show(&document, &tokens(&document, line..line + 200, 12)));
        let part = COMBINED.find("copy-start{0}").unwrap() as u32;
        expect![[r#"
            8 Name -start
        "#]]
        .assert_eq(&show(
            &document,
            &tokens(&document, part + 4..part + 11, 100),
        ));
        assert_eq!(
            tokens(&document, document.len()..document.len() + 9, 100),
            []
        );
    }

    #[test]
    fn no_token_ends_within_a_character() {
        let text = "HloModule m\n\nENTRY e {\n  k = f32[] custom-call(), custom_call_target=\n\"\u{fffd}\u{e9}\"\n}\n";
        let document = Document::new(text).unwrap();
        let line = text.find('"').unwrap() as u32;
        let cut = |columns| {
            let tokens = tokens(&document, line..document.len(), columns);
            let string = tokens.into_iter().find(|token| token.range.start == line);
            string.map(|token| text[line as usize..token.range.end as usize].to_owned())
        };
        let shown: Vec<Option<String>> = (1..=6).map(cut).collect();
        let shown: Vec<Option<&str>> = shown.iter().map(Option::as_deref).collect();
        let (one, two) = (Some("\""), Some("\"\u{fffd}"));
        assert_eq!(shown, [one, one, one, two, two, Some("\"\u{fffd}\u{e9}")]);
    }

    #[test]
    fn no_token_spans_lines() {
        let text = "HloLiveRange (max 1):\n  InstructionSequence:\n    0:a\n  BufferLiveRange:\n    a{}:0-1\n  Live ranges at 0 (peak):\n    a{}: 4 bytes (cumulative: 4 bytes)\n  Stack trace breakdown for peak usage: 4 bytes\n    back\\slash\ttab\nnewline (100.0%, total: 4 bytes, current: 4 bytes, remaining: 0 bytes)\n";
        check(
            text,
            "    back\\slash\ttab\nnewline (",
            &expect![[r#"
            9 String back\slash	tab
            10 String newline
        "#]],
        );
    }
}
