//! What the token under the cursor denotes.

use std::ops::Range;

use buflens_syntax::ast::{AstNode, MetadataEntry, ValueReference};
use buflens_syntax::{
    Document, DocumentKind, SyntaxElement, SyntaxKind as K, SyntaxNode, SyntaxToken,
};

use super::breakdown::{self, Breakdown};
use super::slots;
use crate::audit::out_of_memory::{color_of_failure, values_of as values_of_entry};
use crate::model::failure::failure_at;
use crate::model::{Dump, FileId, Row, source};

/// What is meant by a token. Names are kept as text, for the dump need not know them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A value, by its id or its name and index. Several where an old peak list omits the index.
    Values {
        /// Numbers into [`Dump::values`].
        values: Vec<u32>,
        /// Whether this is the value's own header in section C.
        header: bool,
    },
    /// A line below `positions:`.
    Position {
        /// The instruction.
        name: String,
        /// The index in its result, `{}` where it is not printed.
        index: String,
    },
    /// An instruction that is read, runs or reads.
    Instruction {
        /// Its name.
        name: String,
    },
    /// An instruction where it is written down: behind `from instruction:` or in HLO text.
    Definition {
        /// Its name.
        name: String,
    },
    /// A computation of the HLO text.
    Computation {
        /// Its name.
        name: String,
    },
    /// A logical time.
    Step(u64),
    /// An allocation, by its printed number.
    Allocation(u64),
    /// A row of the tables of stack frames.
    TableRow(Row),
}

impl Subject {
    /// What is at `offset`, and the text that says so. The end of a word counts as the word.
    pub fn at(dump: &Dump, file: FileId, offset: u32) -> Option<(Range<u32>, Self)> {
        let document = &dump.files.get(file)?.document;
        let (start, token) = document.token_at(offset)?;
        let found = |token: SyntaxToken| {
            let part = token.parent().filter(|node| node.kind() == K::ShapeIndex);
            let range = part.map_or_else(|| token.text_range(), |index| index.text_range());
            let range = Range::<u32>::from(range);
            let range = start + range.start..start + range.end;
            let end = || {
                let mut lines = token.parent_ancestors();
                let row = lines.find(|node| node.kind() == K::ReportRow)?;
                Some(start + u32::from(row.text_range().end()))
            };
            let mut lines = token.parent_ancestors();
            let is_failure = lines.any(|node| node.kind().is_out_of_memory());
            // The rest of a label is about other instructions.
            let is_other = matches!(
                token.kind(),
                K::Keyword | K::Whitespace | K::Newline | K::Opcode | K::Text
            );
            let entry = (is_failure && !is_other).then(|| of_entry(dump, document, range.start));
            let subject = entry.flatten();
            let subject = subject.or_else(|| of_token(dump, file, start, &token));
            let subject = subject.or_else(|| match token.kind() {
                K::Offset | K::Count => of_slot(dump, document, end()?),
                _ => None,
            });
            Some((range, subject?))
        };
        // The place just behind a number belongs to it.
        let is_start = offset == start + u32::from(token.text_range().start());
        let before = is_start.then(|| token.prev_token()).flatten();
        found(marked(token)).or_else(|| found(before?))
    }

    /// The name of the instruction or computation that is meant, if it is meant by its name.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Position { name, .. }
            | Self::Instruction { name }
            | Self::Definition { name }
            | Self::Computation { name } => Some(name),
            Self::Values { .. } | Self::Step(_) | Self::Allocation(_) | Self::TableRow(_) => None,
        }
    }

    /// The values that are meant, in the order of section A, each once.
    pub fn values(&self, dump: &Dump) -> Vec<u32> {
        let mut values = match self {
            Self::Values { values, .. } => values.clone(),
            Self::Position { name, index } => values_visible_at(dump, name, index),
            Self::Instruction { name } => {
                let top = values_at(dump, name, "{}");
                if top.is_empty() {
                    values_of(dump, name)
                } else {
                    top
                }
            }
            Self::Definition { name } => values_of(dump, name),
            Self::Computation { .. } | Self::Step(_) | Self::Allocation(_) | Self::TableRow(_) => {
                Vec::new()
            }
        };
        values.sort_unstable();
        values.dedup();
        values
    }

    /// The allocation that is meant by its number.
    pub fn allocation(&self, dump: &Dump) -> Option<Row> {
        let &Self::Allocation(index) = self else {
            return None;
        };
        let place = dump.allocation_numbered(index)?;
        Some(dump.allocations[place as usize].header)
    }
}

/// The token that is meant where `token` is: the mark of a name belongs to it.
pub(super) fn marked(token: SyntaxToken) -> SyntaxToken {
    let behind = (token.text() == "%").then(|| token.next_token()).flatten();
    let name = behind.filter(|it| matches!(it.kind(), K::Name | K::ComputationName));
    name.unwrap_or(token)
}

/// Whether `file` is the text of an HLO module.
pub(super) fn is_module(dump: &Dump, file: FileId) -> bool {
    let file = dump.files.get(file);
    file.is_some_and(|file| file.document.kind() == DocumentKind::Module)
}

/// The values that the row of a report that ends at `end` stands for.
fn of_slot(dump: &Dump, document: &Document, end: u32) -> Option<Subject> {
    let values = slots::at(dump, document, end)?.values;
    (!values.is_empty()).then_some(Subject::Values {
        values,
        header: false,
    })
}

/// The values that the entry means, in the list of a failure's largest allocations, that `offset` is in.
fn of_entry(dump: &Dump, document: &Document, offset: u32) -> Option<Subject> {
    let failure = failure_at(document, offset)?;
    let entry = failure.entry_at(offset)?;
    let values = values_of_entry(dump, color_of_failure(&failure), entry).values;
    (!values.is_empty()).then_some(Subject::Values {
        values,
        header: false,
    })
}

/// What `token`, in the tree at `start` of `file`, denotes.
fn of_token(dump: &Dump, file: FileId, start: u32, token: &SyntaxToken) -> Option<Subject> {
    let parent = token.parent()?;
    let name = || token.text().to_owned();
    match token.kind() {
        K::AllocationIndex => token.text().parse().ok().map(Subject::Allocation),
        K::Step => token.text().parse().ok().map(Subject::Step),
        K::ComputationName => Some(Subject::Computation { name: name() }),
        K::ValueId => {
            let id = token.text().parse().ok()?;
            let value = dump.value_with_id(id)?;
            Some(Subject::Values {
                values: vec![value],
                header: is_header(&parent),
            })
        }
        K::Name => Some(of_name(dump, &parent, token)),
        K::ShapeIndexNumber | K::Punctuation if parent.kind() == K::ShapeIndex => {
            let line = parent.parent()?;
            let name = child(&line, K::Name)?;
            // The index of a use belongs to the operand, which is not named there.
            (line.kind() != K::UseLine).then(|| of_name(dump, &line, &name))
        }
        K::Label if parent.kind() == K::TreeLine => {
            let offset = start + u32::from(token.text_range().start());
            let node = breakdown::node_at(dump, file, offset)?;
            let values = Breakdown::of(dump)?.exactly(&node)?;
            (!values.is_empty()).then_some(Subject::Values {
                values,
                header: false,
            })
        }
        // `stack_frame_id=4`
        K::AttributeName | K::Number if parent.kind() == K::MetadataEntry => {
            let entry = MetadataEntry::cast(parent)?;
            let number = entry.value()?.text().parse().ok()?;
            source::row_of(dump, entry.key()?.text(), number).map(Subject::TableRow)
        }
        K::Count if parent.kind() == K::TableRow => {
            let offset = start + u32::from(token.text_range().start());
            source::row_at(dump, file, offset).map(Subject::TableRow)
        }
        // `%t#1#0`
        K::ShapeIndexNumber if parent.kind() == K::Operand => {
            let name = child(&parent, K::Name)?.text().to_owned();
            let index = element_up_to(&parent, token);
            let is_known = !values_visible_at(dump, &name, &index).is_empty();
            Some(if is_known {
                Subject::Position { name, index }
            } else {
                Subject::Instruction { name }
            })
        }
        _ => None,
    }
}

/// What the name `token`, a child of `parent`, denotes.
fn of_name(dump: &Dump, parent: &SyntaxNode, token: &SyntaxToken) -> Subject {
    let name = token.text();
    let index = || {
        let node = parent
            .children()
            .find(|node| node.kind() == K::ShapeIndex)?;
        Some(node.text().to_string())
    };
    match parent.kind() {
        K::ValueReference => {
            let reference = ValueReference::cast(parent.clone());
            let id = reference.and_then(|reference| reference.id()?.text().parse().ok());
            let by_id = id.and_then(|id| dump.value_with_id(id));
            let by_id = by_id.filter(|&at| dump.names[dump.values[at as usize].name] == *name);
            let by_name = || values_at(dump, name, index().as_deref().unwrap_or("{}"));
            let values = by_id.map_or_else(by_name, |at| vec![at]);
            Subject::Values {
                values,
                header: is_header(parent),
            }
        }
        K::LiveRangeLine | K::PeakLine => {
            let values = match index() {
                Some(index) => values_at(dump, name, &index),
                None => values_of_exactly(dump, name),
            };
            Subject::Values {
                values,
                header: false,
            }
        }
        K::PositionLine => {
            let index = index().unwrap_or_else(|| "{}".to_owned());
            Subject::Position {
                name: name.to_owned(),
                index,
            }
        }
        K::Instruction => Subject::Definition {
            name: name.to_owned(),
        },
        _ => Subject::Instruction {
            name: name.to_owned(),
        },
    }
}

/// The index of the element that an operand names up to `number`: `{1}` at the `1` of `%t#1#0`.
fn element_up_to(operand: &SyntaxNode, number: &SyntaxToken) -> String {
    let tokens = operand.children_with_tokens();
    let numbers = tokens.filter_map(SyntaxElement::into_token).filter(|it| {
        it.kind() == K::ShapeIndexNumber && it.text_range().end() <= number.text_range().end()
    });
    let numbers: Vec<String> = numbers.map(|it| it.text().to_owned()).collect();
    format!("{{{}}}", numbers.join(","))
}

fn child(node: &SyntaxNode, kind: K) -> Option<SyntaxToken> {
    node.children_with_tokens()
        .filter_map(SyntaxElement::into_token)
        .find(|token| token.kind() == kind)
}

fn is_header(reference: &SyntaxNode) -> bool {
    reference
        .parent()
        .is_some_and(|line| line.kind() == K::ValueHeader)
}

/// The value that `name` defines at `index`.
fn values_at(dump: &Dump, name: &str, index: &str) -> Vec<u32> {
    let ids = dump.names.get(name).zip(dump.names.get(index));
    ids.map_or_else(Vec::new, |(name, index)| {
        dump.values_at(name, index).collect()
    })
}

fn values_of_exactly(dump: &Dump, name: &str) -> Vec<u32> {
    dump.names
        .get(name)
        .map_or_else(Vec::new, |name| dump.values_of(name).collect())
}

/// All values that `name` defines; if it defines none (a get-tuple-element, a bitcast ...), all
/// that are visible at it.
fn values_of(dump: &Dump, name: &str) -> Vec<u32> {
    let defined = values_of_exactly(dump, name);
    if !defined.is_empty() {
        return defined;
    }
    let Some(name) = dump.names.get(name) else {
        return Vec::new();
    };
    dump.positions_at(name)
        .map(|at| dump.positions[at as usize].value)
        .collect()
}

/// The value defined as (`name`, `index`); if there is none, all that are visible there.
fn values_visible_at(dump: &Dump, name: &str, index: &str) -> Vec<u32> {
    let defined = values_at(dump, name, index);
    if !defined.is_empty() {
        return defined;
    }
    let ids = dump.names.get(name).zip(dump.names.get(index));
    ids.map_or_else(Vec::new, |(name, index)| {
        dump.positions_at_index(name, index)
            .map(|at| dump.positions[at as usize].value)
            .collect()
    })
}
