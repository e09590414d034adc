//! What the thing under the cursor means.
//!
//! The token's role chooses the subject, its line the rest: one file for each subject.

mod allocation;
mod computation;
mod instruction;
mod life;
mod name;
pub(super) mod opcode;
mod out_of_memory;
mod peak;
mod report;
mod role;
mod shape;
mod source;
mod space;
mod steps;
#[cfg(test)]
mod tests;
mod token;
mod tree;
mod value;

use std::ops::Range;

use buflens_syntax::ast::{self, AstNode};
use buflens_syntax::facts::{self, Pack, PackedRows, Row, Span};
use buflens_syntax::{Block, Document, SyntaxElement, SyntaxKind, SyntaxNode, SyntaxToken};
use rowan::TextSize;

use self::instruction::Instruction;
pub(super) use self::peak::of_value as peak_of_value;
pub use self::source::Sources;
use super::markdown::{Text, code, cut, percent};
use super::subject::marked;
use crate::model::bytes;
use crate::model::{At, Dump, FileId, Platforms, glossary};

/// An explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hover {
    /// Markdown; all text from the file is escaped.
    pub markdown: String,
    /// What it explains.
    pub range: Range<u32>,
}

/// Explains what is at `offset`.
pub fn hover(dump: &Dump, file: FileId, offset: u32, sources: &Sources) -> Option<Hover> {
    let document = &dump.files.get(file)?.document;
    let (tree, token) = document.token_at(offset)?;
    // Behind the last line end there is an empty line.
    let end = tree + u32::from(token.text_range().end());
    if token.kind() == SyntaxKind::Newline && offset == end {
        return None;
    }
    let token = marked(token);
    let (start, block) = document.block(document.block_at(tree)?)?;
    let line = token
        .parent_ancestors()
        .find(|node| node.kind().is_line())?;
    let context = Context {
        dump,
        sources,
        platforms: dump.platforms,
        computation: dump.computation_at(file, offset),
    };
    let cursor = Cursor {
        context: &context,
        file,
        document,
        block,
        start,
        tree,
        offset,
        token,
        line,
    };
    let (mut markdown, range) = cursor.explain()?;
    if let Some(stage) = computation::stage(dump, file, cursor.line.kind()) {
        markdown.extend(["\n\n", &stage]);
    }
    Some(Hover {
        markdown,
        // With the mark of a name.
        range: offset.min(tree + range.start)..tree + range.end,
    })
}

/// What every subject needs to know.
struct Context<'d> {
    dump: &'d Dump,
    sources: &'d Sources<'d>,
    platforms: Platforms,
    /// The computation of the HLO text that the cursor is in: names are looked up in it.
    computation: Option<u32>,
}

impl Context<'_> {
    /// By whose rules arrays take bytes. Stages to which no buffers are assigned have layouts, and tiles, that are
    /// not final.
    fn takers(&self) -> Platforms {
        if self.dump.allocations.is_empty() {
            Platforms::default()
        } else {
            self.platforms
        }
    }
}

/// The token under the cursor and what is around it.
struct Cursor<'c, 'd> {
    context: &'c Context<'d>,
    file: FileId,
    document: &'d Document,
    block: &'d Block,
    /// The first byte of the block.
    start: u32,
    /// The first byte of the tree.
    tree: u32,
    offset: u32,
    token: SyntaxToken,
    /// The line that the token is in.
    line: SyntaxNode,
}

/// Markdown, and the range that it explains, in bytes from the start of the tree.
type Explained = Option<(String, Range<u32>)>;

impl Cursor<'_, '_> {
    fn explain(&self) -> Explained {
        let own: Range<u32> = self.token.text_range().into();
        if let Some(node) =
            self.ancestor(|kind| matches!(kind, SyntaxKind::ArrayShape | SyntaxKind::TupleShape))
        {
            let shape = self.text_of(&node);
            let text = shape::hover(&self.token, &node, shape, self.context)?;
            let text = match self.header_layout(shape) {
                Some(layout) => format!("{text}\n\n{layout}"),
                None => text,
            };
            return Some((self.with_value(text), node.text_range().into()));
        }
        let by_token = match self.token.kind() {
            _ if self.line.kind().is_out_of_memory() => self.out_of_memory(),
            SyntaxKind::Color => Some(self.with_value(self.color())),
            SyntaxKind::Keyword => self.keyword(),
            SyntaxKind::Size if self.line.kind() == SyntaxKind::ValueLine => self.number("size"),
            SyntaxKind::Offset if self.line.kind() == SyntaxKind::ValueLine => {
                self.number("offset")
            }
            SyntaxKind::AttributeName
            | SyntaxKind::String
            | SyntaxKind::Number
            | SyntaxKind::Literal => self.attribute(),
            SyntaxKind::ComputationName => {
                Some(computation::hover(self.context, self.token.text()))
            }
            SyntaxKind::ModuleName => {
                computation::module(self.context.dump, self.file, self.token.text())
            }
            _ => None,
        };
        if let Some(text) = by_token {
            return Some((text, own));
        }
        let reference = self.ancestor(|kind| kind == SyntaxKind::ValueReference);
        let range = reference.map_or(own, |node| node.text_range().into());
        Some((self.by_line()?, range))
    }

    /// What the line is about, where the token has no meaning of its own.
    fn by_line(&self) -> Option<String> {
        let (context, dump) = (self.context, self.context.dump);
        let text = self.block.text();
        match self.line.kind() {
            SyntaxKind::ValueLine | SyntaxKind::ValueHeader => {
                Some(value::hover(context, self.value_of_line()?))
            }
            SyntaxKind::AllocationHeader | SyntaxKind::ReportAllocation => self.allocation(),
            SyntaxKind::ReportRow => self
                .allocation()
                .or_else(|| report::slot(context, self.document, self.start + self.end())),
            SyntaxKind::TotalLine => self.total(),
            SyntaxKind::PositionLine => self.position(),
            SyntaxKind::UseLine => self.reader(),
            SyntaxKind::FromInstruction | SyntaxKind::InstructionLine => self.instruction(),
            SyntaxKind::ComputationHeader if self.token.kind() == SyntaxKind::Name => {
                self.named(dump.names.get(self.token.text())?)
            }
            SyntaxKind::StepLine => steps::step(context, self.number_on_line(SyntaxKind::Step)?),
            SyntaxKind::LiveRangeLine => {
                let row = self.row::<facts::LiveRange>()?;
                let is_steps = self.in_block(self.token.text_range().start()) >= row.index.end;
                // Without its heading the line is of no dump, and its name may be none of one.
                let name = dump.names.get(row.name.text(text));
                let name = name.zip(dump.names.get(row.index.text(text)));
                let value = name.and_then(|(name, index)| dump.values_at(name, index).next());
                Some(match value {
                    Some(at) if is_steps => steps::live_range(context, at),
                    Some(at) => value::hover(context, at),
                    None => steps::stray_live_range(dump, text, &row),
                })
            }
            SyntaxKind::PeakLine => Some(steps::peak_line(
                context,
                text,
                &row_at(self.block.peak_values(), self.end(), |row| row.name)?,
            )),
            SyntaxKind::TreeLine => {
                let node = At {
                    file: self.file,
                    start: self.start,
                    block: self.block,
                    row: row_at(self.block.tree_nodes(), self.end(), |row| row.label)?,
                };
                Some(tree::node(context, &node))
            }
            SyntaxKind::SpaceHeading => Some(self.color()),
            SyntaxKind::TableRow => {
                let row = ast::TableRow::cast(self.line.clone())?;
                row.number("parent_frame_id")?;
                source::frame(
                    dump,
                    self.number_on_line(SyntaxKind::Count)?,
                    context.sources,
                )
            }
            SyntaxKind::Heading => match self.token.kind() {
                SyntaxKind::Step => steps::peak_heading(context, self.token.text().parse().ok()?),
                _ => self.heading(),
            },
            _ => None,
        }
    }

    fn ancestor(&self, is_wanted: impl Fn(SyntaxKind) -> bool) -> Option<SyntaxNode> {
        let below_line = self
            .token
            .parent_ancestors()
            .take_while(|node| !node.kind().is_line());
        below_line.into_iter().find(|node| is_wanted(node.kind()))
    }

    /// What the line says, if that is held in brief.
    fn row<T: Row>(&self) -> Option<T> {
        self.block
            .row_at(self.in_block(self.line.text_range().start()))
    }

    /// The text of a node of the tree.
    fn text_of(&self, node: &SyntaxNode) -> &str {
        let range = Range::<u32>::from(node.text_range());
        self.document
            .slice(self.tree + range.start..self.tree + range.end)
    }

    /// Where the line ends, in bytes from the start of the block.
    fn end(&self) -> u32 {
        self.in_block(self.line.text_range().end())
    }

    /// A place in the tree, in bytes from the start of the block.
    fn in_block(&self, at: TextSize) -> u32 {
        self.tree - self.start + u32::from(at)
    }

    /// The number in the first token of `kind` on the line.
    fn number_on_line(&self, kind: SyntaxKind) -> Option<u64> {
        let mut tokens = self
            .line
            .descendants_with_tokens()
            .filter_map(SyntaxElement::into_token);
        tokens
            .find(|token| token.kind() == kind)?
            .text()
            .parse()
            .ok()
    }

    /// `text`, and a sentence on the value of the line below it if the line places one.
    fn with_value(&self, text: String) -> String {
        match self.value_of_line() {
            Some(at) if self.line.kind() == SyntaxKind::ValueLine => {
                format!("{}\n\n---\n\n{}", text, value::brief(self.context, at))
            }
            _ => text,
        }
    }

    /// How the shape in an allocation's header, which has no layout, is laid out.
    fn header_layout(&self, shape: &str) -> Option<String> {
        if self.line.kind() != SyntaxKind::AllocationHeader {
            return None;
        }
        let at = self.allocation_of_line()?;
        allocation::layout(
            self.context,
            &self.context.dump.allocations[at as usize],
            shape,
        )
    }

    /// The value that the line's reference names, as a number into [`Dump::values`].
    fn value_of_line(&self) -> Option<u32> {
        let dump = self.context.dump;
        let reference = self.line.children().find_map(ast::ValueReference::cast)?;
        let by_id = dump.value_with_id(reference.id()?.text().parse().ok()?)?;
        // Where ids repeat, the value is the one that this very line places.
        let at = self.tree + reference.range().start;
        let is_here = |value: u32| {
            let value = &dump.values[value as usize];
            dump.placement(value)
                .is_some_and(|row| row.start + row.row.value.span.start == at)
                || dump
                    .used(value)
                    .is_some_and(|row| row.start + row.row.value.span.start == at)
        };
        if is_here(by_id) {
            return Some(by_id);
        }
        let name = reference
            .name()
            .and_then(|name| dump.names.get(name.text()));
        name.and_then(|name| dump.values_of(name).find(|&value| is_here(value)))
            .or(Some(by_id))
    }

    /// The size or offset on a value's line.
    fn number(&self, what: &str) -> Option<String> {
        let dump = self.context.dump;
        let at = self.value_of_line()?;
        let number = allocation::number(dump, what, dump.values.get(at as usize)?);
        Some(format!(
            "{number}\n\n---\n\n{}",
            value::hover(self.context, at)
        ))
    }

    fn color(&self) -> String {
        let color = self.number_on_line_or_token(SyntaxKind::Color);
        let in_report = self.line.kind() == SyntaxKind::SpaceHeading;
        space::hover(self.context, color.unwrap_or(0), in_report)
    }

    fn number_on_line_or_token(&self, kind: SyntaxKind) -> Option<u64> {
        if self.token.kind() == kind {
            self.token.text().parse().ok()
        } else {
            self.number_on_line(kind)
        }
    }

    fn keyword(&self) -> Option<String> {
        let word = self.token.text();
        match (self.line.kind(), word) {
            (
                SyntaxKind::AllocationHeader | SyntaxKind::ReportAllocation,
                "allocation" | "size",
            ) => return self.allocation(),
            (SyntaxKind::ValueLine, "value") => return self.by_line(),
            (SyntaxKind::ValueLine, "size" | "offset") => return self.number(word),
            (SyntaxKind::TotalLine, _) => return self.total(),
            (SyntaxKind::SpaceHeading, _) => return Some(self.color()),
            (SyntaxKind::TreeLine | SyntaxKind::PeakLine, _) => {
                let sentence = glossary::sentence(self.line.kind(), word)?;
                return Some(format!(
                    "**{word}**: {sentence}\n\n---\n\n{}",
                    self.by_line()?
                ));
            }
            _ => {}
        }
        if self.line.kind() == SyntaxKind::Heading {
            return self.heading_with(word);
        }
        // The heading of a report's table is one token.
        let word_start = self.tree + u32::from(self.token.text_range().start());
        let in_word = self.offset.saturating_sub(word_start);
        if let Some((column, sentence)) = glossary::column(word, in_word as usize) {
            return Some(format!("**{}**: {sentence}", code(column)));
        }
        let sentence = glossary::sentence(self.line.kind(), word)?;
        let word = glossary::phrase(self.line.kind(), word);
        Some(self.with_value(format!("**{}**: {sentence}", code(&cut(word, 60)))))
    }

    /// A heading away from its words.
    fn heading(&self) -> Option<String> {
        let mut tokens = self
            .line
            .descendants_with_tokens()
            .filter_map(SyntaxElement::into_token);
        let word = tokens.find(|token| token.kind() == SyntaxKind::Keyword)?;
        self.heading_with(word.text())
    }

    /// A heading, explained by one of its words.
    fn heading_with(&self, word: &str) -> Option<String> {
        let sentence = glossary::sentence(SyntaxKind::Heading, word)?;
        Some(format!(
            "**{}**: {sentence}",
            code(&cut(
                self.line.text().to_string().trim().trim_end_matches(':'),
                60
            ))
        ))
    }

    fn allocation(&self) -> Option<String> {
        Some(allocation::hover(self.context, self.allocation_of_line()?))
    }

    /// The allocation of this line, as a number into the dump's table.
    fn allocation_of_line(&self) -> Option<u32> {
        let index = self.number_on_line(SyntaxKind::AllocationIndex)?;
        self.context.dump.allocation_numbered(index)
    }

    fn total(&self) -> Option<String> {
        let size = self.number_on_line(SyntaxKind::Size)?;
        let all = allocation::total(self.context.dump);
        let is_whole = self.line.text().to_string().starts_with("Total bytes used");
        let (word, share) = if is_whole {
            (
                "Total bytes used",
                format!(
                    " in {} allocations",
                    bytes::grouped(self.context.dump.allocations.len() as u64)
                ),
            )
        } else {
            (
                "Total bytes",
                format!(", {} of all {}", percent(size, all), bytes::display(all)),
            )
        };
        let sentence = glossary::sentence(SyntaxKind::TotalLine, word)?;
        let mut text = Text::new(&format!("**{word}**: {}{share}", bytes::display(size)));
        text.paragraph(sentence);
        if is_whole {
            space::totals(self.context, &mut text);
        }
        Some(text.finish())
    }

    /// A name, or anything else of an instruction.
    fn instruction(&self) -> Option<String> {
        let dump = self.context.dump;
        let is_name = self.token.kind() == SyntaxKind::Name;
        let name = dump.names.get(self.token.text()).filter(|_| is_name);
        if let Some(mut text) = name.and_then(|name| self.named(name)) {
            // Where it is written down, what it reads is a part of it.
            if self.line.kind() == SyntaxKind::InstructionLine
                && let Some(node) = self.token.parent().and_then(ast::Instruction::cast)
                && let Some(own) = self.read(&node).operands_table(self.context)
            {
                text.extend(["\n\n", &own]);
            }
            return Some(text);
        }
        let node = ast::Instruction::around(&self.token);
        // Before the instruction, at `from instruction:`, it is meant too.
        let node = node.or_else(|| self.line.children().find_map(ast::Instruction::cast))?;
        Some(self.read(&node).hover(self.context))
    }

    fn read(&self, node: &ast::Instruction) -> Instruction<'_> {
        Instruction::read(self.context.dump, self.text_of(node.syntax()))
    }

    /// An attribute's name, and all of the metadata.
    fn attribute(&self) -> Option<String> {
        let attribute = self.ancestor(|kind| kind == SyntaxKind::Attribute);
        let key = attribute.as_ref().and_then(SyntaxNode::first_token);
        if let Some(key) = key.filter(|key| key.text() == "metadata")
            && let Some(node) = ast::Instruction::around(&key)
            && let Some(text) = source::hover(&self.read(&node).origin, self.context.sources)
        {
            return Some(text);
        }
        if key_is(attribute.as_ref(), "custom_call_target")
            && let Some(node) = ast::Instruction::around(&self.token)
        {
            let called = self.read(&node).custom_call(self.context);
            return Some(format!("**`custom_call_target`**: {called}"));
        }
        if self.token.kind() != SyntaxKind::AttributeName {
            return None;
        }
        let key = self.token.text();
        Some(format!("**{}**: {}", code(key), glossary::attribute(key)?))
    }
}

fn key_is(attribute: Option<&SyntaxNode>, wanted: &str) -> bool {
    let key = attribute.and_then(SyntaxNode::first_token);
    key.is_some_and(|key| key.text() == wanted)
}

/// The row of the line that ends at `end`: the last one that begins before.
fn row_at<T: Pack>(rows: &PackedRows<T>, end: u32, span: impl Fn(&T) -> Span) -> Option<T> {
    rows.last_before(|row| span(row).start < end)
}
