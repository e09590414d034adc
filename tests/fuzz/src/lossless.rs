//! Any bytes: nothing of their text is lost, and places lead there and back. Which places are tried
//! depends on the text, so that among many inputs it is all of them.

use std::ops::Range;

use buflens_syntax::facts::{Allocation, Facts, Heading, Number, ReportRow, Span, ValueReference};
use buflens_syntax::{Document, Encoding, lexer};

/// About so many places of a text are looked at, besides its start and what is behind its end.
const PLACES: u32 = 8;

/// Reads the bytes as a text.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let document = Document::new(&text).expect("a small text");
    let tokens: String = lexer::tokens(&text).map(|(_, text)| text).collect();
    assert_eq!(tokens, text, "the tokens are another text");
    assert_eq!(document.text(), text, "the document is another text");
    assert_eq!(document.len() as usize, text.len());
    assert_eq!(document.root().text(), &*text, "the tree is another text");
    for (_, block) in document.blocks() {
        for span in spans(block.facts()) {
            assert!(
                inside(block.text(), &(span.start..span.end)),
                "{span:?} is out of the block"
            );
        }
        for error in block.errors() {
            assert!(
                inside(block.text(), &(error.start..error.end)),
                "{error:?} is out of the block"
            );
        }
        for mention in block.mentions() {
            let range = mention.span.start..mention.span.end;
            assert!(
                inside(block.text(), &range),
                "{mention:?} is out of the block"
            );
        }
    }
    for (range, message) in document.errors() {
        assert!(
            inside(&text, &range),
            "{range:?} is out of the text: {message}"
        );
    }
    lines(&document, &text);
    places(&document, &text);
}

fn inside(text: &str, range: &Range<u32>) -> bool {
    text.get(range.start as usize..range.end as usize).is_some()
}

/// Lines follow each other, and only line ends are between them.
fn lines(document: &Document, text: &str) {
    let mut end = 0;
    for line in 0..document.line_count() {
        let range = document.line_range(line).expect("a line");
        let between = text
            .get(end..range.start as usize)
            .expect("lines in their order");
        let is_line_end = matches!(between, "\n" | "\r\n" | "\r");
        assert!(
            is_line_end || line == 0 && between.is_empty(),
            "line {line}: {between:?}"
        );
        end = range.end as usize;
    }
    let rest = &text[end..];
    assert!(rest.is_empty(), "behind the last line: {rest:?}");
    assert_eq!(document.line_range(document.line_count()), None);
}

fn places(document: &Document, text: &str) {
    let length = document.len();
    let step = 1 + length / PLACES;
    let first = (super::hash(text.as_bytes()) % u64::from(step)) as u32;
    let offsets = (first..length).step_by(step as usize);
    for offset in [0, length, length + 1].into_iter().chain(offsets) {
        if let Some((start, token)) = document.token_at(offset) {
            let (first, end) = (
                start + u32::from(token.text_range().start()),
                start + u32::from(token.text_range().end()),
            );
            assert!(
                first <= offset && offset.min(length) <= end,
                "{offset}: {token:?}"
            );
        }
        for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
            let position = document.line_column(offset, encoding);
            let back = document
                .offset(position, encoding)
                .expect("a line of the text");
            assert!(
                text.is_char_boundary(back as usize),
                "{offset} leads to {back}"
            );
            let line = document
                .line_range(position.line)
                .expect("a line of the text");
            // The halves of a line end are no places.
            if text.is_char_boundary(offset as usize) && line.contains(&offset) {
                assert_eq!(back, offset, "{encoding:?} {position:?}");
            }
        }
    }
}

/// The places of all that a block says.
fn spans(facts: &Facts) -> Vec<Span> {
    let mut spans = Vec::new();
    let number = |number: Number| number.span;
    let value = |value: &ValueReference| {
        [
            value.span,
            number(value.id),
            value.name,
            value.index,
            number(value.color),
        ]
    };
    let allocation = |it: &Allocation| {
        [
            it.line,
            number(it.index),
            number(it.size),
            it.human_size,
            number(it.color),
            number(it.parameter),
            it.parameter_shape,
            it.parameter_index,
            it.output_shape,
        ]
    };
    for (heading, line) in &facts.headings {
        spans.push(*line);
        match *heading {
            Heading::LiveRange(it) | Heading::Peak(it) | Heading::Tree(it) => spans.push(it.span),
            Heading::Module(name) => spans.push(name),
            _ => {}
        }
    }
    spans.extend(facts.allocations.iter().flat_map(allocation));
    for it in &facts.placements {
        spans.extend(value(&it.value));
        spans.extend([it.line, number(it.size), number(it.offset), it.shape]);
    }
    spans.extend(
        facts
            .totals
            .iter()
            .flat_map(|it| [number(it.bytes), it.human]),
    );
    spans.extend(facts.values.iter().flat_map(|it| value(&it.value)));
    spans.extend(facts.positions.iter().flat_map(|it| [it.name, it.index]));
    spans.extend(
        facts
            .uses
            .iter()
            .flat_map(|it| [it.name, number(it.operand), it.index]),
    );
    spans.extend(
        facts
            .instructions
            .iter()
            .flat_map(|it| [it.span, it.name, it.shape, it.opcode, number(it.parameter)]),
    );
    spans.extend(facts.steps.iter().flat_map(|it| [number(it.step), it.name]));
    spans.extend(
        facts
            .live_ranges
            .iter()
            .flat_map(|it| [it.name, it.index, number(it.start), number(it.end)]),
    );
    spans.extend(
        facts
            .peak_values
            .iter()
            .flat_map(|it| [it.name, it.index, number(it.bytes), number(it.cumulative)]),
    );
    spans.extend(facts.tree.iter().flat_map(|it| {
        [
            it.label,
            it.percentage,
            number(it.total),
            number(it.current),
            number(it.remaining),
        ]
    }));
    for row in &facts.report {
        match row {
            ReportRow::Space { label, color } => spans.extend([*label, number(*color)]),
            ReportRow::SpaceTotal(it) => spans.extend([number(it.bytes), it.human]),
            ReportRow::Table(span) => spans.push(*span),
            ReportRow::Slot {
                cumulative,
                percentage,
                size,
                offset,
                values,
                shapes,
            } => {
                spans.extend([
                    *cumulative,
                    *percentage,
                    *size,
                    number(*offset),
                    number(*values),
                    *shapes,
                ]);
            }
            ReportRow::Allocation(it) => spans.extend(allocation(it)),
            ReportRow::Running {
                cumulative,
                percentage,
                rest,
                allocation,
            } => {
                spans.extend([*cumulative, *percentage, *rest, number(*allocation)]);
            }
            ReportRow::Rest(it) => spans.push(it.span),
        }
    }
    for it in &facts.out_of_memory {
        spans.extend([
            it.line,
            it.label,
            it.content,
            it.space,
            number(it.number),
            it.name,
        ]);
        spans.extend(it.sizes);
    }
    spans.extend(
        facts
            .table_rows
            .iter()
            .flat_map(|it| [number(it.row), it.content]),
    );
    spans.extend(facts.computations.iter().flat_map(|it| [it.name, it.line]));
    spans
}
