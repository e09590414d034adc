//! Any bytes: nothing of their text is lost, and places lead there and back. Which places are tried
//! depends on the text, so that among many inputs it is all of them.

use std::ops::Range;

use buflens_syntax::facts::brief::{self, Reference, Text};
use buflens_syntax::facts::{
    Allocation, Heading, Instruction, LiveRange, Number, Placement, Position, ReportRow, Row, Span,
    Step, Use, UsedValue, ValueReference,
};
use buflens_syntax::{Block, Document, Encoding, lexer};

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
        are_in_brief(block);
        for span in spans(block) {
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

/// Rows in brief say what the lines say that they stand for.
fn are_in_brief(block: &Block) {
    fn on<T: Row>(block: &Block, line: u16) -> T {
        let row = block.row_with(line.into());
        let found: Option<T> = block.row_at(block.line_start(line));
        assert!(found.is_some(), "it is not found on its line");
        row.expect("a line that says what it is held for")
    }
    let (facts, text) = (block.facts(), block.text());
    let names: Vec<Span> = facts.names().collect();
    let shapes: Vec<Span> = facts.shapes().collect();
    assert_eq!(facts.text_counts(), (names.len(), shapes.len()));
    let text_of = |brief: Text, of: &[Span]| brief.place().map_or("", |at| of[at].text(text));
    let is = |brief: Text, span: Span| assert_eq!(text_of(brief, &names), span.text(text));
    let is_shape = |brief: Text, span: Span| assert_eq!(text_of(brief, &shapes), span.text(text));
    let is_value = |brief: &Reference, line: &ValueReference| {
        assert_eq!((brief.id, brief.phi), (line.id.value, line.phi));
        is(brief.name, line.name);
        is(brief.index, line.index);
        assert_eq!(
            brief.color.map(u64::from),
            line.color
                .get()
                .filter(|&color| u16::try_from(color).is_ok())
        );
    };
    for (line, row) in facts.rows() {
        match row {
            brief::Row::Allocation(brief) => {
                let line: Allocation = on(block, line);
                assert_eq!(
                    (brief.index, brief.size),
                    (line.index.value, line.size.value)
                );
                assert_eq!((brief.color, brief.kinds), (line.color.value, line.kinds));
                assert_eq!(brief.parameter, line.parameter.get());
                is_shape(brief.parameter_shape, line.parameter_shape);
                is(brief.parameter_index, line.parameter_index);
            }
            brief::Row::Placement(brief) => {
                let line: Placement = on(block, line);
                is_value(&brief.value, &line.value);
                assert_eq!(
                    (brief.size, brief.offset),
                    (line.size.value, line.offset.value)
                );
                is_shape(brief.shape, line.shape);
            }
            brief::Row::UsedValue(brief) => {
                is_value(&brief, &on::<UsedValue>(block, line).value);
            }
            brief::Row::Position(brief) => {
                let line: Position = on(block, line);
                is(brief.name, line.name);
                is(brief.index, line.index);
            }
            brief::Row::Use(brief) => {
                let line: Use = on(block, line);
                let operand = line.operand.get().unwrap_or(u64::MAX);
                assert_eq!(brief.operand, operand);
                is(brief.name, line.name);
                is(brief.index, line.index);
            }
            brief::Row::Instruction(brief) => {
                let line: Instruction = on(block, line);
                is(brief.name, line.name);
                is(brief.opcode, line.opcode);
                is_shape(brief.shape, line.shape);
            }
            brief::Row::Step(brief) => {
                let line: Step = on(block, line);
                let step = line.step.get().filter(|_| !line.name.is_empty());
                assert_eq!(brief.step, step.unwrap_or(u64::MAX));
                is(brief.name, line.name);
            }
            brief::Row::LiveRange(brief) => {
                let line: LiveRange = on(block, line);
                let is_read = line.start.is_read() && line.end.is_read();
                let steps = (line.start.value, line.end.value);
                let steps = if is_read { steps } else { (u64::MAX, u64::MAX) };
                assert_eq!((brief.start, brief.end), steps);
                is(brief.name, line.name);
                is(brief.index, line.index);
            }
        }
    }
}

/// The places of all that a block says.
fn spans(block: &Block) -> Vec<Span> {
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
            number(it.color),
            number(it.parameter),
            it.parameter_shape,
            it.parameter_index,
            it.output_shape,
        ]
    };
    for (heading, line) in block.headings() {
        spans.push(*line);
        match *heading {
            Heading::LiveRange(it) | Heading::Peak(it) | Heading::Tree(it) => spans.push(it.span),
            Heading::Module(name) => spans.push(name),
            _ => {}
        }
    }
    spans.extend(block.rows().flat_map(|it: Allocation| allocation(&it)));
    for it in block.rows::<Placement>() {
        spans.extend(value(&it.value));
        spans.extend([it.line, number(it.size), number(it.offset), it.shape]);
    }
    spans.extend(
        block
            .totals()
            .iter()
            .flat_map(|it| [number(it.bytes), it.human]),
    );
    spans.extend(block.rows::<UsedValue>().flat_map(|it| value(&it.value)));
    spans.extend(block.rows::<Position>().flat_map(|it| [it.name, it.index]));
    spans.extend(
        block
            .rows::<Use>()
            .flat_map(|it| [it.name, number(it.operand), it.index]),
    );
    spans.extend(
        block
            .rows::<Instruction>()
            .flat_map(|it| [it.span, it.name, it.shape, it.opcode, number(it.parameter)]),
    );
    spans.extend(
        block
            .rows::<Step>()
            .flat_map(|it| [number(it.step), it.name]),
    );
    spans.extend(
        block
            .rows::<LiveRange>()
            .flat_map(|it| [it.name, it.index, number(it.start), number(it.end)]),
    );
    spans.extend(
        block
            .peak_values()
            .iter()
            .flat_map(|it| [it.name, it.index, number(it.bytes), number(it.cumulative)]),
    );
    spans.extend(block.tree_nodes().iter().flat_map(|it| {
        [
            it.label,
            it.percentage,
            number(it.total),
            number(it.current),
            number(it.remaining),
        ]
    }));
    for row in block.report().iter() {
        match row {
            ReportRow::Space { label, color } => spans.extend([label, number(color)]),
            ReportRow::SpaceTotal(it) => spans.extend([number(it.bytes), it.human]),
            ReportRow::Table(span) => spans.push(span),
            ReportRow::Slot {
                cumulative,
                percentage,
                size,
                offset,
                values,
                shapes,
            } => {
                spans.extend([
                    cumulative,
                    percentage,
                    size,
                    number(offset),
                    number(values),
                    shapes,
                ]);
            }
            ReportRow::Allocation(it) => spans.extend([
                it.line,
                number(it.index),
                it.size,
                number(it.color),
                number(it.parameter),
            ]),
            ReportRow::Running {
                cumulative,
                percentage,
                rest,
                allocation,
            } => {
                spans.extend([cumulative, percentage, rest, number(allocation)]);
            }
            ReportRow::Rest(it) => spans.push(it.span),
        }
    }
    for it in block.out_of_memory() {
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
        block
            .table_rows()
            .iter()
            .flat_map(|it| [number(it.row), it.content]),
    );
    spans.extend(
        block
            .computations()
            .iter()
            .flat_map(|it| [it.name, it.line]),
    );
    spans
}
