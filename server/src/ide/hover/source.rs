//! Metadata: where in the user's program an instruction comes from.

use buflens_syntax::facts::Heading;
use buflens_syntax::{SyntaxKind, SyntaxNode};

use super::{entries, node_at};
use crate::ide::markdown::{Text, code, shorten};
use crate::model::{Dump, Part};

/// More frames than this are not shown.
const MAX_FRAMES: usize = 6;
/// A trace path is shown with so many characters.
const PATH_LIMIT: usize = 150;

/// A line of source.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Frame {
    file: String,
    line: Option<String>,
    function: Option<String>,
}

/// The metadata of an instruction.
#[derive(Debug, Default)]
pub(super) struct Metadata {
    /// The trace path, decoded: `jit(f)/while/body/add`; of a parameter the argument's path.
    pub(super) op_name: Option<String>,
    /// The innermost frame first.
    frames: Vec<Frame>,
}

impl Metadata {
    /// Reads the metadata of `instruction`, with the tables of the HLO text if it is there.
    pub(super) fn read(dump: &Dump, instruction: &SyntaxNode) -> Self {
        let attributes = instruction
            .children()
            .filter(|node| node.kind() == SyntaxKind::Attribute);
        let mut metadata = Self::default();
        let (mut file, mut line) = (None, None);
        for attribute in attributes {
            let Some(name) = attribute
                .first_token()
                .filter(|name| name.text() == "metadata")
            else {
                continue;
            };
            let Some(group) = name.parent().and_then(|node| node.first_child()) else {
                continue;
            };
            for (key, value) in entries(&group) {
                match key.as_str() {
                    "op_name" => metadata.op_name = Some(decode(&value)),
                    "source_file" => file = Some(decode(&value)),
                    "source_line" => line = Some(value),
                    "stack_frame_id" => {
                        metadata.frames =
                            value.parse().map(|id| frames(dump, id)).unwrap_or_default();
                    }
                    _ => {}
                }
            }
        }
        if let Some(file) = file.filter(|_| metadata.frames.is_empty()) {
            metadata.frames.push(Frame {
                file,
                line,
                function: None,
            });
        }
        metadata
    }

    /// One line for the end of a hover: the `op_name` and the line of source, the user's own first.
    pub(super) fn summary(&self) -> Option<String> {
        let op_name = self
            .op_name
            .as_deref()
            .filter(|name| !name.is_empty())
            .map(|name| {
                // Old traces append the operation's parameters in brackets.
                let path = if name.len() > PATH_LIMIT {
                    name.split('[').next().unwrap_or(name)
                } else {
                    name
                };
                code(&shorten(
                    if path.is_empty() { name } else { path },
                    PATH_LIMIT,
                ))
            });
        let source = self.frames.first().map(|innermost| {
            let own = self.frames.iter().find(|frame| !is_library(&frame.file));
            match own {
                Some(own) if own != innermost => format!("{}, in {}", own.text(), innermost.text()),
                _ => innermost.text(),
            }
        });
        match (op_name, source) {
            (None, None) => None,
            (op_name, source) => Some(
                [op_name, source]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join(", "),
            ),
        }
    }

    /// The hover on a metadata entry: the whole stack.
    pub(super) fn hover(&self) -> Option<String> {
        let mut text = Text::default();
        if let Some(op_name) = &self.op_name {
            text.paragraph(&format!("**op_name**: {}", code(&shorten(op_name, 600))));
        }
        if !self.frames.is_empty() {
            text.paragraph("Called from, innermost first:");
            for frame in self.frames.iter().take(MAX_FRAMES) {
                text.item(&frame.text());
            }
            if let Some(more) = self
                .frames
                .len()
                .checked_sub(MAX_FRAMES)
                .filter(|&more| more > 0)
            {
                text.item(&format!("and {more} more"));
            }
        }
        Some(text.finish()).filter(|text| !text.is_empty())
    }
}

impl Frame {
    fn text(&self) -> String {
        let file = self.file.rsplit(['/', '\\']).next().unwrap_or(&self.file);
        let place = match &self.line {
            Some(line) => format!("{file}:{line}"),
            None => file.to_owned(),
        };
        let function = match self.function.as_deref() {
            None | Some("") => String::new(),
            Some(function) => format!(" in {}", code(&shorten(function, 80))),
        };
        let library = if is_library(&self.file) {
            " (library frame)"
        } else {
            ""
        };
        format!("{}{function}{library}", code(&shorten(&place, 120)))
    }
}

/// Whether a file belongs to an installed package or to Python itself.
fn is_library(file: &str) -> bool {
    const MARKS: [&str; 5] = [
        "site-packages/",
        "dist-packages/",
        "/lib/python3",
        "<frozen ",
        "\\site-packages\\",
    ];
    MARKS.iter().any(|mark| file.contains(mark))
}

/// The hover on row `id` of the table of frames.
pub(super) fn frame(dump: &Dump, id: u64) -> Option<String> {
    Metadata {
        op_name: None,
        frames: frames(dump, id),
    }
    .hover()
}

/// The frames of `stack_frame_id` `id`, the innermost first.
fn frames(dump: &Dump, id: u64) -> Vec<Frame> {
    // Since frames are printed with their parent's number plus one, the first row names itself.
    let shift = match row(dump, "StackFrames", 1)
        .as_deref()
        .and_then(|first| number(first, "parent_frame_id"))
    {
        Some(1) => 1,
        _ => 0,
    };
    let mut frames = Vec::new();
    let mut id = id;
    // Bounded, as a broken table may go in circles.
    while id > 0 && frames.len() < 64 {
        let Some(frame) = row(dump, "StackFrames", id) else {
            break;
        };
        let location =
            number(&frame, "file_location_id").and_then(|at| row(dump, "FileLocations", at));
        if let Some(location) = location {
            let text = |table, key| {
                let entry = row(dump, table, number(&location, key)?)?;
                entry.into_iter().next().map(|(_, value)| decode(&value))
            };
            if let Some(file) = text("FileNames", "file_name_id") {
                let line = number(&location, "line")
                    .filter(|&line| line > 0)
                    .map(|line| line.to_string());
                frames.push(Frame {
                    file,
                    line,
                    function: text("FunctionNames", "function_name_id"),
                });
            }
        }
        let parent = number(&frame, "parent_frame_id")
            .unwrap_or(0)
            .saturating_sub(shift);
        // A parent comes before its children; anything else would be a circle.
        id = if parent < id { parent } else { 0 };
    }
    frames
}

fn number(entries: &[(String, String)], key: &str) -> Option<u64> {
    entries.iter().find(|(name, _)| name == key)?.1.parse().ok()
}

/// Row `number` of a table in the header of the HLO text: its entries, or its string alone.
fn row(dump: &Dump, table: &str, number: u64) -> Option<Vec<(String, String)>> {
    let document = &dump.files.get(dump.file_of(Part::Module)?)?.document;
    let mut current = "";
    for (start, block) in document.blocks() {
        let facts = block.facts();
        let mut headings = facts
            .headings
            .iter()
            .filter(|(heading, _)| *heading == Heading::Table)
            .peekable();
        let mut from = 0;
        loop {
            // The rows up to the next heading of this block belong to the current table.
            let to = headings.peek().map_or(facts.table_rows.len(), |(_, line)| {
                facts
                    .table_rows
                    .partition_point(|row| row.row.span.start < line.start)
            });
            if current == table {
                let rows = &facts.table_rows[from..to.max(from)];
                let at = rows.partition_point(|row| row.row.value < number);
                if let Some(row) = rows.get(at).filter(|row| row.row.value == number) {
                    let node = node_at(document, start + row.row.span.start, SyntaxKind::TableRow)?;
                    return Some(
                        match node
                            .children_with_tokens()
                            .find(|child| child.kind() == SyntaxKind::String)
                        {
                            Some(string) => vec![(String::new(), string.to_string())],
                            None => entries(&node),
                        },
                    );
                }
            }
            let Some((_, line)) = headings.next() else {
                break;
            };
            current = line.text(block.text());
            from = to;
        }
        // The tables stand before the first computation.
        if !facts.computations.is_empty() {
            break;
        }
    }
    None
}

/// The text of a C-escaped string with its quotes; what is not escaped stays as it is.
pub(super) fn decode(string: &str) -> String {
    let inner = string.strip_prefix('"').unwrap_or(string);
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    // Escapes are bytes: a letter beyond ASCII is two or more octal numbers.
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let octal = rest
            .iter()
            .take(3)
            .take_while(|byte| (b'0'..=b'7').contains(byte))
            .count();
        if octal > 0 {
            let value = rest[..octal]
                .iter()
                .fold(0_u32, |value, digit| value * 8 + u32::from(digit - b'0'));
            bytes.push(value as u8);
            rest = &rest[octal..];
        } else if let Some((&escaped, behind)) = rest.split_first() {
            bytes.push(match escaped {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                other => other,
            });
            rest = behind;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_decoded_as_bytes() {
        assert_eq!(
            decode(r#""caf\303\251 \"q\" it\'s a\\b\n""#),
            "caf\u{e9} \"q\" it's a\\b\n"
        );
        assert_eq!(decode(r#""\377""#), "\u{fffd}");
        assert_eq!(decode(r#""a\"#), "a");
        assert_eq!(decode(""), "");
    }

    #[test]
    fn installed_packages_are_libraries() {
        assert!(is_library(
            "/opt/venv/lib/python3.11/site-packages/jax/numpy.py"
        ));
        assert!(!is_library("/home/dev/models/train.py"));
    }
}
