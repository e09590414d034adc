//! What the thing under the cursor means.
//!
//! The token's role chooses the subject, its line the rest: one file for each subject.

mod allocation;
mod glossary;
mod instruction;
mod life;
mod opcode;
mod report;
mod shape;
mod source;
mod space;
mod steps;
#[cfg(test)]
mod tests;
mod token;
mod value;

use std::ops::Range;

use buflens_syntax::ast::{self, AstNode};
use buflens_syntax::facts::Span;
use buflens_syntax::{Block, Document, SyntaxElement, SyntaxKind, SyntaxNode, SyntaxToken};

use self::instruction::Instruction;
use super::markdown::{code, cut};
use crate::model::bytes;
use crate::model::{Dump, FileId, Platforms};

/// An explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hover {
    /// Markdown; all text from the file is escaped.
    pub markdown: String,
    /// What it explains.
    pub range: Range<u32>,
}

/// Explains what is at `offset`.
pub fn hover(dump: &Dump, file: FileId, offset: u32) -> Option<Hover> {
    let document = &dump.files.get(file)?.document;
    let (start, token) = document.token_at(offset)?;
    let block = document.block(document.block_at(start)?)?.1;
    let line = token
        .parent_ancestors()
        .find(|node| node.kind().is_line())?;
    let context = Context {
        dump,
        platforms: dump.platforms,
    };
    let cursor = Cursor {
        context: &context,
        document,
        block,
        start,
        token,
        line,
    };
    let (markdown, range) = cursor.explain()?;
    Some(Hover {
        markdown,
        range: start + range.start..start + range.end,
    })
}

/// What every subject needs to know.
struct Context<'d> {
    dump: &'d Dump,
    platforms: Platforms,
}

/// The token under the cursor and what is around it.
struct Cursor<'c, 'd> {
    context: &'c Context<'d>,
    document: &'d Document,
    block: &'d Block,
    /// The first byte of the block.
    start: u32,
    token: SyntaxToken,
    /// The line that the token is in.
    line: SyntaxNode,
}

/// Markdown, and the range that it explains, in bytes from the start of the block.
type Explained = Option<(String, Range<u32>)>;

impl Cursor<'_, '_> {
    fn explain(&self) -> Explained {
        let own: Range<u32> = self.token.text_range().into();
        if let Some(node) =
            self.ancestor(|kind| matches!(kind, SyntaxKind::ArrayShape | SyntaxKind::TupleShape))
        {
            let text = shape::hover(&self.token, &node, self.context.platforms)?;
            return Some((self.with_value(text), node.text_range().into()));
        }
        let by_token = match self.token.kind() {
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
            SyntaxKind::ComputationName => Some(format!(
                "**{}**: a computation, to be called or fused by an instruction",
                code(&cut(self.token.text(), 100))
            )),
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
        let (text, facts) = (self.block.text(), self.block.facts());
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
                let row = row_at(&facts.live_ranges, self.end(), |row| row.name)?;
                let (name, index) = (
                    dump.names.get(row.name.text(text))?,
                    dump.names.get(row.index.text(text))?,
                );
                let is_steps = self.token.text_range().start() >= row.index.end.into();
                Some(match dump.values_at(name, index).next() {
                    Some(at) if is_steps => steps::live_range(context, at),
                    Some(at) => value::hover(context, at),
                    None => steps::stray_live_range(dump, text, row),
                })
            }
            SyntaxKind::PeakLine => Some(steps::peak_line(
                context,
                text,
                row_at(&facts.peak_values, self.end(), |row| row.name)?,
            )),
            SyntaxKind::TreeLine => Some(steps::tree_node(
                context,
                text,
                row_at(&facts.tree, self.end(), |row| row.label)?,
            )),
            SyntaxKind::SpaceHeading => Some(self.color()),
            SyntaxKind::TableRow => {
                let row = ast::TableRow::cast(self.line.clone())?;
                row.number("parent_frame_id")?;
                source::frame(dump, self.number_on_line(SyntaxKind::Count)?)
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

    /// Where the line ends, in bytes from the start of the block.
    fn end(&self) -> u32 {
        self.line.text_range().end().into()
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

    /// `text`, and the value of the line below it if the line places one.
    fn with_value(&self, text: String) -> String {
        match self.value_of_line() {
            Some(at) if self.line.kind() == SyntaxKind::ValueLine => {
                format!("{}\n\n---\n\n{}", text, value::hover(self.context, at))
            }
            _ => text,
        }
    }

    /// The value that the line's reference names, as a number into [`Dump::values`].
    fn value_of_line(&self) -> Option<u32> {
        let dump = self.context.dump;
        let reference = self.line.children().find_map(ast::ValueReference::cast)?;
        let by_id = dump.value_with_id(reference.id()?.text().parse().ok()?)?;
        // Where ids repeat, the value is the one that this very line places.
        let at = self.start + reference.range().start;
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
        let value = dump.values.get(self.value_of_line()? as usize)?;
        Some(self.with_value(allocation::number(dump, what, value)))
    }

    fn color(&self) -> String {
        let color = self.number_on_line_or_token(SyntaxKind::Color);
        let in_report = self.line.kind() == SyntaxKind::SpaceHeading;
        space::hover(color.unwrap_or(0), in_report, self.context.platforms)
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
        let sentence = glossary::sentence(self.line.kind(), word)?;
        // The heading of a report's table is one token.
        let word = word.split(';').next().unwrap_or(word).trim_end_matches(':');
        Some(self.with_value(format!("**{}**: {sentence}", code(&cut(word, 60)))))
    }

    /// A heading away from its words.
    fn heading(&self) -> Option<String> {
        let mut tokens = self
            .line
            .descendants_with_tokens()
            .filter_map(SyntaxElement::into_token);
        let word = tokens.find(|token| token.kind() == SyntaxKind::Keyword)?;
        let sentence = glossary::sentence(SyntaxKind::Heading, word.text())?;
        Some(format!(
            "**{}**: {sentence}",
            code(&cut(
                self.line.text().to_string().trim().trim_end_matches(':'),
                60
            ))
        ))
    }

    fn allocation(&self) -> Option<String> {
        let index = self.number_on_line(SyntaxKind::AllocationIndex)?;
        let allocations = &self.context.dump.allocations;
        // In a sound dump the number is the place.
        let by_place = usize::try_from(index)
            .ok()
            .and_then(|at| allocations.get(at));
        let found = by_place.filter(|found| found.index == index);
        let found = found.or_else(|| allocations.iter().find(|other| other.index == index))?;
        Some(allocation::hover(self.context, found))
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
        Some(format!(
            "**{word}**: {}{share}\n\n{sentence}",
            bytes::display(size)
        ))
    }

    /// A line below `positions:`: the value defined there, else those visible there.
    fn position(&self) -> Option<String> {
        let (context, dump) = (self.context, self.context.dump);
        let text = self.block.text();
        let row = row_at(&self.block.facts().positions, self.end(), |row| row.name)?;
        let index = if row.index.is_empty() {
            "{}"
        } else {
            row.index.text(text)
        };
        let (name, index) = (dump.names.get(row.name.text(text))?, dump.names.get(index)?);
        if let Some(at) = dump.values_at(name, index).next() {
            return Some(value::hover(context, at));
        }
        let here = dump
            .positions_at(name)
            .map(|at| &dump.positions[at as usize]);
        let values = distinct(
            here.filter(|position| position.index == index)
                .map(|position| position.value),
        );
        let title = code(&cut(
            &format!("{} {}", &dump.names[name], &dump.names[index]),
            100,
        ));
        let plain =
            Instruction::named(context, name).map(|found| format!(": {}", found.plain(context)));
        Some(value::list(
            context,
            &format!(
                "**{title}**{}. Not a copy, but another name of:",
                plain.unwrap_or_default()
            ),
            &values,
        ))
    }

    /// A line below `uses:`.
    fn reader(&self) -> Option<String> {
        let dump = self.context.dump;
        let row = row_at(&self.block.facts().uses, self.end(), |row| row.name)?;
        let name = row.name.text(self.block.text());
        let operand = row
            .operand
            .get()
            .map(|operand| format!(" as operand {operand}"))
            .unwrap_or_default();
        let heading = format!(
            "**{}** reads the value above{operand}",
            code(&cut(name, 100))
        );
        match dump.names.get(name).and_then(|name| self.named(name)) {
            Some(text) => Some(format!("{heading}\n\n---\n\n{text}")),
            None => Some(heading),
        }
    }

    /// What `name` stands for: its values, or those that are visible there, or the bare instruction.
    fn named(&self, name: crate::model::NameId) -> Option<String> {
        let (context, dump) = (self.context, self.context.dump);
        let values: Vec<u32> = dump.values_of(name).collect();
        let title = code(&cut(&dump.names[name], 100));
        let plain = || {
            Instruction::named(context, name)
                .map(|found| format!(": {}", found.plain(context)))
                .unwrap_or_default()
        };
        match values.as_slice() {
            [] => {}
            [only] => return Some(value::hover(context, *only)),
            many => {
                return Some(value::list(
                    context,
                    &format!("**{title}**{}", plain()),
                    many,
                ));
            }
        }
        let visible = distinct(
            dump.positions_at(name)
                .map(|at| dump.positions[at as usize].value),
        );
        if !visible.is_empty() {
            return Some(value::list(
                context,
                &format!("**{title}**{}. Not a copy, but another name of:", plain()),
                &visible,
            ));
        }
        Some(Instruction::named(context, name)?.hover(context))
    }

    /// A name, or anything else of an instruction.
    fn instruction(&self) -> Option<String> {
        let node = ast::Instruction::around(&self.token);
        if self.token.kind() == SyntaxKind::Name {
            let found = self
                .context
                .dump
                .names
                .get(self.token.text())
                .and_then(|name| self.named(name));
            if found.is_some() {
                return found;
            }
        }
        // Before the instruction, at `from instruction:`, it is meant too.
        let node = node.or_else(|| self.line.children().find_map(ast::Instruction::cast))?;
        Some(Instruction::read(self.context.dump, self.block.text(), &node).hover(self.context))
    }

    /// An attribute's name, and all of the metadata.
    fn attribute(&self) -> Option<String> {
        let attribute = self.ancestor(|kind| kind == SyntaxKind::Attribute);
        let key = attribute.as_ref().and_then(SyntaxNode::first_token);
        if let Some(key) = key.filter(|key| key.text() == "metadata")
            && let Some(instruction) = ast::Instruction::around(&key)
            && let Some(text) = source::Metadata::read(self.context.dump, &instruction).hover()
        {
            return Some(text);
        }
        if self.token.kind() != SyntaxKind::AttributeName {
            return None;
        }
        let key = self.token.text();
        Some(format!("**{}**: {}", code(key), glossary::attribute(key)?))
    }
}

/// The row of the line that ends at `end`: the last one that begins before.
fn row_at<T>(rows: &[T], end: u32, span: impl Fn(&T) -> Span) -> Option<&T> {
    rows[..rows.partition_point(|row| span(row).start < end)].last()
}

fn distinct(values: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut values: Vec<u32> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// `50.3 %`
fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "0 %".to_owned();
    }
    let share = part as f64 * 100.0 / whole as f64;
    if part > 0 && share < 0.1 {
        "less than 0.1 %".to_owned()
    } else {
        format!("{share:.1} %")
    }
}
