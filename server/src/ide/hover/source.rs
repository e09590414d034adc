//! Metadata: where in the user's program an instruction comes from.

use buflens_syntax::ast::Instruction;

use crate::ide::markdown::{Text, code, shorten};
use crate::model::Dump;
use crate::model::source::{Frame, Libraries, frames, unescaped};

/// More frames than this are not shown.
const MAX_FRAMES: usize = 6;
/// A trace path is shown with so many characters.
const PATH_LIMIT: usize = 150;

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
    pub(super) fn read(dump: &Dump, instruction: &Instruction) -> Self {
        let mut metadata = Self::default();
        let (mut file, mut line) = (None, None);
        for entry in instruction.metadata() {
            let (Some(key), Some(value)) = (entry.key(), entry.value()) else {
                continue;
            };
            match key.text() {
                "op_name" => metadata.op_name = Some(unescaped(value.text())),
                "source_file" => file = Some(unescaped(value.text())),
                "source_line" => line = value.text().parse().ok(),
                "stack_frame_id" => {
                    let id = value.text().parse();
                    metadata.frames = id.map(|id| frames(dump, id)).unwrap_or_default();
                }
                _ => {}
            }
        }
        if let Some(file) = file.filter(|_| metadata.frames.is_empty()) {
            let function = None;
            metadata.frames.push(Frame {
                file,
                line,
                function,
            });
        }
        metadata
    }

    /// One line for the end of a hover: the `op_name` and the line of source, the user's own first.
    pub(super) fn summary(&self, libraries: &Libraries) -> Option<String> {
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
            let own = self
                .frames
                .iter()
                .find(|frame| !libraries.hold(&frame.file));
            match own {
                Some(own) if own != innermost => {
                    format!(
                        "{}, in {}",
                        shown(own, libraries),
                        shown(innermost, libraries)
                    )
                }
                _ => shown(innermost, libraries),
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
    pub(super) fn hover(&self, libraries: &Libraries) -> Option<String> {
        let mut text = Text::default();
        if let Some(op_name) = &self.op_name {
            text.paragraph(&format!("**op_name**: {}", code(&shorten(op_name, 600))));
        }
        let mut frames = self.frames.clone();
        // A scanned or mapped function is on the stack several times in a row.
        frames.dedup();
        if let Some((innermost, callers)) = frames.split_first() {
            let called = if callers.is_empty() {
                ""
            } else {
                ", called from, innermost first:"
            };
            text.paragraph(&format!("{}{called}", shown(innermost, libraries)));
            for frame in callers.iter().take(MAX_FRAMES) {
                text.item(&shown(frame, libraries));
            }
            let more = callers.len().saturating_sub(MAX_FRAMES);
            if more > 0 {
                text.item(&format!("and {more} more"));
            }
        }
        Some(text.finish()).filter(|text| !text.is_empty())
    }
}

/// The file, the line and the function of a frame.
fn shown(frame: &Frame, libraries: &Libraries) -> String {
    let file = frame.file.rsplit(['/', '\\']).next().unwrap_or(&frame.file);
    let place = match &frame.line {
        Some(line) => format!("{file}:{line}"),
        None => file.to_owned(),
    };
    let function = match frame.function.as_deref() {
        None | Some("") => String::new(),
        Some(function) => format!(" in {}", code(&shorten(function, 80))),
    };
    let library = if libraries.hold(&frame.file) {
        " (library frame)"
    } else {
        ""
    };
    format!("{}{function}{library}", code(&shorten(&place, 120)))
}

/// The hover on row `id` of the table of frames.
pub(super) fn frame(dump: &Dump, id: u64, libraries: &Libraries) -> Option<String> {
    Metadata {
        op_name: None,
        frames: frames(dump, id),
    }
    .hover(libraries)
}
