//! The one grammar of dumps. It drives a [`Sink`] and knows nothing of what the sink makes.
//!
//! Every rule reads (a part of) one logical line: a physical line, or several where an
//! instruction or a label holds line breaks.

mod allocations;
mod instruction;
mod live_range;
mod module;
mod out_of_memory;
mod plain;
mod report;
mod shape;
mod values;

use crate::SyntaxKind::{
    self, Continuation, Error, Newline, Punctuation, Text, TextLine, Whitespace,
};
use crate::lexer::{Token, simple};
use crate::line::{LineKind, Mode, is_name_byte, mode_after, run_on_header};
use crate::scan::{Follow, Lines, without_line_end};
use crate::sink::{Sink, SyntaxError};
use logos::Logos;

pub use instruction::COMPUTATION_ATTRIBUTES;
pub(crate) use instruction::instruction;
pub(crate) use live_range::tree_prefix;
pub(crate) use module::computation_header;
pub(crate) use shape::shape;

/// Any number of so many digits is below 2^64 - 1.
const MOST_DIGITS: usize = 19;

// Tokens of one byte, as `Parser::phrase` takes them.
const MARK: (SyntaxKind, usize) = (Punctuation, 1);
const BLANK: (SyntaxKind, usize) = (Whitespace, 1);

/// A rule gave up; the error is reported and the rest of the line is not read.
pub(crate) struct Failed;
pub(crate) type Rule = Result<(), Failed>;

/// Reads one block.
pub(crate) fn block<S: Sink>(lines: Lines, sink: &mut S) {
    let mut parser = Parser::new(lines.text, sink);
    let (mut mode, mut previous) = (lines.mode, None);
    parser.sink.open(SyntaxKind::Block, 0);
    let mut at = 0;
    while let Some(&kind) = lines.kinds.get(at) {
        if let Some(expected) = expected_instead(mode, previous, kind) {
            let content = lines.content(at);
            let message = format!("expected {expected}, found `{}`", shortened(content));
            let start = lines.start(at);
            parser.report(start, start + content.len(), message);
        }
        previous = Some(kind);
        let next = lines.next_logical(at);
        for line in at..next {
            mode = mode_after(mode, lines.kinds[line], lines.content(line));
        }
        parser.sink.line(at);
        parser.logical_line(lines, at, next);
        at = next;
    }
    parser
        .sink
        .close(SyntaxKind::Block, lines.text.len() as u32);
}

/// Reads the logical line of a block that begins with line `line`.
pub(crate) fn logical_line<S: Sink>(lines: Lines, line: usize, sink: &mut S) {
    Parser::new(lines.text, sink).logical_line(lines, line, lines.next_logical(line));
}

/// What stands where a line of a used value's entry has its heading twice, or misses it. Behind a line
/// that is not understood, which may be the heading, nothing is said.
fn expected_instead(
    mode: Mode,
    previous: Option<LineKind>,
    kind: LineKind,
) -> Option<&'static str> {
    match (kind, mode, previous) {
        (LineKind::PositionsHeading, Mode::Positions, _) => Some("a position"),
        (LineKind::UsesHeading, Mode::Uses, _) => Some("a use"),
        (LineKind::FromInstruction, Mode::Instruction, _) => Some("the end of the entry"),
        (LineKind::Use | LineKind::FromInstruction, _, Some(LineKind::Position)) => {
            Some("` uses:`")
        }
        _ => None,
    }
}

/// The line that begins at `start`, with its line end.
pub(crate) fn line_at(text: &str, start: usize) -> &str {
    let rest = &text[start..];
    memchr::memchr(b'\n', rest.as_bytes()).map_or(rest, |end| &rest[..=end])
}

/// Reads the tokens of one logical line.
pub(crate) struct Parser<'t, 's, S> {
    text: &'t str,
    pub(crate) sink: &'s mut S,
    lexer: logos::Lexer<'t, Token>,
    /// Where in the text the lexer is.
    lexer_at: usize,
    /// The next token, if it has been looked at; `None` at the end.
    next: Option<Token>,
    is_lexed: bool,
    /// Where what is not yet given to the sink begins, and where the next token ends if it has been looked at.
    next_start: usize,
    next_end: usize,
    /// The end of what may be read: the logical line without its last line end.
    end: usize,
    /// Up to here no string is closed. The first one that is not has looked at all quotes behind it, and found a
    /// backslash before each; so it is not looked for from each of these again.
    unclosed_to: usize,
    /// Whether the line's last instruction or label goes on in the next block.
    continued: bool,
}

impl<'t, 's, S: Sink> Parser<'t, 's, S> {
    pub(crate) fn new(text: &'t str, sink: &'s mut S) -> Self {
        Self {
            text,
            sink,
            lexer: Token::lexer(""),
            lexer_at: usize::MAX,
            next: None,
            is_lexed: false,
            next_start: 0,
            next_end: 0,
            end: 0,
            unclosed_to: 0,
            continued: false,
        }
    }

    /// Makes `start..end` the text to be read.
    pub(crate) fn enter(&mut self, start: usize, end: usize) {
        self.end = end;
        self.unclosed_to = start;
        self.lexer_at = usize::MAX;
        self.go_to(start);
    }

    /// Reads the logical line that begins with line `first` and ends before line `behind`.
    fn logical_line(&mut self, lines: Lines<'t>, first: usize, behind: usize) {
        let (kind, start, end) = (lines.kinds[first], lines.start(first), lines.start(behind));
        let follow = lines.follow_of(kind, behind);
        let whole = &self.text[start..end];
        let content = start + without_line_end(whole).len();
        // A run-on header ends the instruction before the line does.
        let header = (kind == LineKind::FromInstruction || kind == LineKind::Continuation)
            .then_some(follow)
            .filter(|&follow| follow == Follow::Positions)
            .and_then(|_| run_on_header(&self.text[start..content]))
            .map(|at| start + at);
        self.continued = follow == Follow::Continuation;
        self.enter(start, header.unwrap_or(content));
        let node = node_of(kind);
        self.sink.open(node, start as u32);
        let result = self.line(kind);
        self.finish_line(kind, start, result.is_ok());
        if let Some(header) = header {
            self.sink.close(node, header as u32);
            self.enter(header, content);
            self.sink.open(SyntaxKind::ValueHeader, header as u32);
            let result = values::header(self);
            self.finish_line(LineKind::ValueHeader, header, result.is_ok());
            self.line_end(content, end);
            self.sink.close(SyntaxKind::ValueHeader, end as u32);
        } else {
            self.line_end(content, end);
            self.sink.close(node, end as u32);
        }
    }

    fn line_end(&mut self, content: usize, end: usize) {
        if content < end {
            self.sink.token(Newline, content as u32, end as u32);
        }
    }

    fn line(&mut self, kind: LineKind) -> Rule {
        match kind {
            LineKind::Blank => {
                self.peek();
                Ok(())
            }
            LineKind::AssignmentHeading
            | LineKind::ValuesHeading
            | LineKind::PositionsHeading
            | LineKind::UsesHeading
            | LineKind::StepsHeading
            | LineKind::RangesHeading
            | LineKind::LiveRangeUnavailable
            | LineKind::PeakUnknown
            | LineKind::TableHeading
            | LineKind::ReportHeading
            | LineKind::ReportText => {
                self.skip_blanks();
                self.rest(SyntaxKind::Keyword);
                Ok(())
            }
            LineKind::AllocationHeader | LineKind::ReportAllocation => allocations::header(self),
            LineKind::ValueLine => allocations::value_line(self),
            LineKind::Total => allocations::total(self),
            LineKind::ValueHeader => values::header(self),
            LineKind::Position => values::position(self),
            LineKind::Use => values::use_line(self),
            LineKind::FromInstruction => values::from_instruction(self),
            LineKind::LiveRangeHeading => live_range::heading(self),
            LineKind::Step => live_range::step(self),
            LineKind::Range => live_range::range(self),
            LineKind::PeakHeading => live_range::peak_heading(self),
            LineKind::PeakLine => live_range::peak_line(self),
            LineKind::TreeHeading => live_range::tree_heading(self),
            LineKind::TreeLine => live_range::tree_line(self),
            LineKind::SpaceHeading => report::space_heading(self),
            LineKind::SpaceTotal => report::space_total(self),
            LineKind::ReportRow => report::row(self),
            LineKind::ReportRest => report::rest(self),
            LineKind::ModuleLine => module::module_line(self),
            LineKind::TableRow => module::table_row(self),
            LineKind::ComputationHeader => computation_header(self),
            LineKind::Instruction => module::instruction_line(self),
            LineKind::ComputationEnd => module::computation_end(self),
            LineKind::OutOfMemoryMessage
            | LineKind::OutOfMemoryHeading
            | LineKind::OutOfMemoryAmount
            | LineKind::OutOfMemoryEntry
            | LineKind::OutOfMemoryProperty => {
                out_of_memory::line(self, kind);
                Ok(())
            }
            LineKind::Continuation | LineKind::Marker | LineKind::Foreign => {
                self.rest(Text);
                Ok(())
            }
            LineKind::Unknown => {
                self.peek();
                let (start, text) = (self.position(), self.remaining());
                let more = match text.lines().count() {
                    0 | 1 => String::new(),
                    2 => " and one more line".to_owned(),
                    lines => format!(" and {} more lines", lines - 1),
                };
                let found = shortened(text.lines().next().unwrap_or_default());
                let message =
                    format!("expected a line of a section of the dump, found `{found}`{more}");
                self.report(start, self.end, message);
                self.rest(Text);
                Ok(())
            }
        }
    }

    /// Ends the logical line of this kind, which begins at `line`.
    fn finish_line(&mut self, kind: LineKind, line: usize, is_complete: bool) {
        if is_complete && self.peek().is_some() {
            // The rule is complete, but the line is not.
            let read = &self.text[line..self.position()];
            let expected = if kind == LineKind::Instruction && read.contains('\n') {
                // What is no line of a computation continues the one before.
                "an instruction, `name = shape opcode(operands)`, or `}` at the end of the computation"
            } else {
                "the end of the line"
            };
            let _ = self.fail(expected);
        }
        let start = self.position();
        if start < self.end {
            self.sink.open(Error, start as u32);
            self.sink.token(Text, start as u32, self.end as u32);
            self.sink.close(Error, self.end as u32);
            self.go_to(self.end);
        }
    }

    // Moving through the line.

    /// Goes on at `at`. Nothing is looked at yet.
    #[inline]
    fn go_to(&mut self, at: usize) {
        (self.next_start, self.is_lexed) = (at, false);
    }

    /// The next token that is not blank; the blanks before it go to the sink.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<Token> {
        if !self.is_lexed {
            self.look();
        }
        self.next
    }

    /// Looks at the next token that is not blank.
    fn look(&mut self) {
        loop {
            // As the lexer would.
            let rest = &self.text.as_bytes()[self.next_start..self.end];
            let blanks = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t'));
            self.raw(Whitespace, blanks.count());
            self.lex();
            let kind = match self.next {
                Some(Token::Comment) => SyntaxKind::Comment,
                // Inside a logical line of several physical ones.
                Some(Token::Newline) => Newline,
                _ => break,
            };
            self.give(kind);
        }
        self.is_lexed = true;
    }

    /// Finds what token comes next, and where it ends.
    #[inline]
    fn lex(&mut self) {
        self.next_end = self.next_start;
        if self.next_start == self.end {
            self.next = None;
            return;
        }
        let rest = &self.text.as_bytes()[self.next_start..self.end];
        if let Some((token, length)) = simple(rest) {
            self.next_end += length;
            self.next = Some(token);
            return;
        }
        let is_quote = rest[0] == b'"';
        if is_quote && self.next_start < self.unclosed_to {
            self.next_end += 1;
            self.next = Some(Token::Other);
            return;
        }
        if self.lexer_at != self.next_start {
            let before = self.text.as_bytes()[..self.next_start].last().copied();
            let text = &self.text[self.next_start..self.end];
            self.lexer = Token::lexer_with_extras(text, before);
        }
        // A pattern that stops half-way is ordinary text.
        self.next = self.lexer.next().map(|token| {
            self.next_end += self.lexer.slice().len();
            token.unwrap_or(Token::Other)
        });
        self.lexer_at = self.next_end;
        if is_quote && self.next == Some(Token::Other) {
            let line_end = memchr::memchr(b'\n', rest);
            self.unclosed_to = line_end.map_or(self.end, |at| self.next_start + at);
        }
    }

    /// Gives the next token, which has been looked at, to the sink.
    #[inline]
    fn give(&mut self, kind: SyntaxKind) {
        let (start, end) = (self.next_start, self.next_end);
        self.sink.token(kind, start as u32, end as u32);
        self.go_to(end);
    }

    /// Gives the blanks that come next to the sink.
    #[inline]
    pub(crate) fn skip_blanks(&mut self) {
        let next = self.text.as_bytes()[..self.end].get(self.next_start);
        if matches!(next, Some(b' ' | b'\t' | b'/' | b'\n' | b'\r')) {
            self.peek();
        }
    }

    /// Whether `text` comes next, which are these whole tokens with their lengths: they go to the sink then. What
    /// compilers print alike in every line of a kind is read so, in one step; the tokens one by one say what is
    /// wrong where it is not so.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "each phrase becomes a comparison and what the sink does with these kinds"
    )]
    pub(crate) fn phrase<const N: usize>(
        &mut self,
        text: &str,
        tokens: [(SyntaxKind, usize); N],
    ) -> bool {
        let rest = &self.text.as_bytes()[self.next_start..self.end];
        let Some(behind) = rest.strip_prefix(text.as_bytes()) else {
            return false;
        };
        let goes_on = |last: u8, next: u8| match last {
            b' ' => matches!(next, b' ' | b'\t'),
            last => is_name_byte(last) && is_name_byte(next),
        };
        if let (Some(&last), Some(&next)) = (text.as_bytes().last(), behind.first())
            && goes_on(last, next)
        {
            return false;
        }
        let mut at = self.next_start;
        for (kind, length) in tokens {
            self.sink.token(kind, at as u32, (at + length) as u32);
            at += length;
        }
        self.go_to(at);
        true
    }

    #[inline]
    pub(crate) fn at(&mut self, token: Token) -> bool {
        self.peek() == Some(token)
    }

    /// Whether the next token is the word `word`.
    pub(crate) fn at_word(&mut self, word: &str) -> bool {
        self.at(Token::Word) && self.word() == word
    }

    /// The text of the next token, which has been looked at.
    pub(crate) fn word(&self) -> &'t str {
        &self.text[self.next_start..self.next_end]
    }

    /// The byte behind the next token, which has been looked at.
    pub(crate) fn byte_behind(&self) -> Option<u8> {
        self.text.as_bytes()[..self.end].get(self.next_end).copied()
    }

    /// Where the next token begins, in bytes from the start of the block.
    pub(crate) fn position(&self) -> usize {
        self.next_start
    }

    /// Whether only blanks stand before the next token on its physical line.
    pub(crate) fn begins_line(&self) -> bool {
        let before = self.text[..self.position()].trim_end_matches([' ', '\t', '\r']);
        before.ends_with('\n')
    }

    /// What is left of the line.
    pub(crate) fn remaining(&self) -> &'t str {
        &self.text[self.position()..self.end]
    }

    /// Whether the line's last instruction or label goes on in the next block.
    pub(crate) fn is_continued(&self) -> bool {
        self.continued
    }

    /// Gives the next token that is not blank to the sink as `kind`.
    pub(crate) fn bump(&mut self, kind: SyntaxKind) {
        if self.peek().is_some() {
            self.give(kind);
        }
    }

    /// Gives the next `length` bytes to the sink as one token.
    #[inline]
    pub(crate) fn raw(&mut self, kind: SyntaxKind, length: usize) {
        let start = self.position();
        if length > 0 {
            self.sink.token(kind, start as u32, (start + length) as u32);
            self.go_to(start + length);
        }
    }

    /// Gives all that is left of the line to the sink as one token.
    pub(crate) fn rest(&mut self, kind: SyntaxKind) {
        self.raw(kind, self.end - self.position());
    }

    pub(crate) fn eat(&mut self, token: Token, kind: SyntaxKind) -> bool {
        let found = self.at(token);
        if found {
            self.give(kind);
        }
        found
    }

    pub(crate) fn expect(&mut self, token: Token, kind: SyntaxKind, expected: &str) -> Rule {
        if self.eat(token, kind) {
            Ok(())
        } else {
            Err(self.fail(expected))
        }
    }

    pub(crate) fn expect_mark(&mut self, token: Token, expected: &str) -> Rule {
        self.expect(token, Punctuation, expected)
    }

    pub(crate) fn expect_word(&mut self, word: &str) -> Rule {
        if self.at_word(word) {
            self.give(SyntaxKind::Keyword);
            Ok(())
        } else {
            Err(self.fail(&format!("`{word}`")))
        }
    }

    /// A number below 2^64 - 1: the facts have that for one that is too large, and no size comes near it.
    pub(crate) fn number(&mut self, kind: SyntaxKind, expected: &str) -> Rule {
        if !self.at(Token::Int) {
            return Err(self.fail(expected));
        }
        let word = self.word();
        if word.len() > MOST_DIGITS && word.parse().unwrap_or(u64::MAX) == u64::MAX {
            let (start, end) = (self.position(), self.position() + word.len());
            self.report(
                start,
                end,
                format!("expected {expected}, found a number of 2^64 - 1 or more"),
            );
        }
        self.give(kind);
        Ok(())
    }

    /// Wraps what `rule` reads in a node.
    pub(crate) fn node(&mut self, kind: SyntaxKind, rule: impl FnOnce(&mut Self) -> Rule) -> Rule {
        self.skip_blanks();
        self.sink.open(kind, self.position() as u32);
        let result = rule(self);
        self.sink.close(kind, self.position() as u32);
        result
    }

    /// Reports that `expected` is not what comes next.
    pub(crate) fn fail(&mut self, expected: &str) -> Failed {
        self.peek();
        let start = self.position();
        let found = self.word();
        let (end, found) = if found.is_empty() {
            (start, "the end of the line".to_owned())
        } else {
            (start + found.len(), format!("`{}`", shortened(found)))
        };
        self.report(start, end, format!("expected {expected}, found {found}"));
        Failed
    }

    fn report(&mut self, start: usize, end: usize, message: String) {
        self.sink.error(SyntaxError {
            start: start as u32,
            end: end as u32,
            message,
        });
    }
}

/// At most 40 characters of `text`.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

fn node_of(kind: LineKind) -> SyntaxKind {
    match kind {
        LineKind::Blank => SyntaxKind::BlankLine,
        LineKind::AssignmentHeading
        | LineKind::ValuesHeading
        | LineKind::PositionsHeading
        | LineKind::UsesHeading
        | LineKind::LiveRangeHeading
        | LineKind::LiveRangeUnavailable
        | LineKind::StepsHeading
        | LineKind::RangesHeading
        | LineKind::PeakHeading
        | LineKind::PeakUnknown
        | LineKind::TreeHeading
        | LineKind::ReportHeading
        | LineKind::TableHeading => SyntaxKind::Heading,
        LineKind::AllocationHeader => SyntaxKind::AllocationHeader,
        LineKind::ValueLine => SyntaxKind::ValueLine,
        LineKind::Total | LineKind::SpaceTotal => SyntaxKind::TotalLine,
        LineKind::ValueHeader => SyntaxKind::ValueHeader,
        LineKind::Position => SyntaxKind::PositionLine,
        LineKind::Use => SyntaxKind::UseLine,
        LineKind::FromInstruction => SyntaxKind::FromInstruction,
        LineKind::Continuation => Continuation,
        LineKind::Step => SyntaxKind::StepLine,
        LineKind::Range => SyntaxKind::LiveRangeLine,
        LineKind::PeakLine => SyntaxKind::PeakLine,
        LineKind::TreeLine => SyntaxKind::TreeLine,
        LineKind::SpaceHeading => SyntaxKind::SpaceHeading,
        LineKind::ReportText | LineKind::ReportRest => SyntaxKind::ReportText,
        LineKind::ReportAllocation => SyntaxKind::ReportAllocation,
        LineKind::ReportRow => SyntaxKind::ReportRow,
        LineKind::ModuleLine => SyntaxKind::ModuleLine,
        LineKind::TableRow => SyntaxKind::TableRow,
        LineKind::ComputationHeader => SyntaxKind::ComputationHeader,
        LineKind::Instruction => SyntaxKind::InstructionLine,
        LineKind::ComputationEnd => SyntaxKind::ComputationEnd,
        LineKind::Marker => SyntaxKind::MarkerLine,
        LineKind::OutOfMemoryMessage => SyntaxKind::OutOfMemoryMessage,
        LineKind::OutOfMemoryHeading => SyntaxKind::OutOfMemoryHeading,
        LineKind::OutOfMemoryAmount => SyntaxKind::OutOfMemoryAmount,
        LineKind::OutOfMemoryEntry => SyntaxKind::OutOfMemoryEntry,
        LineKind::OutOfMemoryProperty => SyntaxKind::OutOfMemoryProperty,
        LineKind::Foreign => TextLine,
        LineKind::Unknown => Error,
    }
}
