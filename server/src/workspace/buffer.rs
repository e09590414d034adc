//! A document that is open in an editor.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use buflens_syntax::{Document, Encoding, LineColumn};
use tokio_util::sync::CancellationToken;

use super::ahead::read_text;
use crate::model::cancel::{lock, on_few_threads, to_the_end};

/// A change of an open document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What is replaced; `None` for all of it.
    pub range: Option<Range<LineColumn>>,
    /// By what.
    pub text: String,
}

/// Why a document cannot be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unavailable {
    /// It has changed since.
    Outdated,
    /// It is neither open nor readable on disk, or still being read.
    Absent,
    /// A change could not be made, or it is too large, so that its text is not known any more.
    Broken(String),
}

/// An edition of a document that is open: its text between two changes.
#[derive(Debug, Clone)]
pub struct Edition {
    /// The editor's number for this text.
    pub version: i32,
    /// A number for this text that no other text of any document has.
    pub revision: u64,
    /// Trips when the document changes or is closed.
    pub moved: CancellationToken,
}

impl Edition {
    fn new(version: i32) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            version,
            revision: NEXT.fetch_add(1, Ordering::Relaxed),
            moved: CancellationToken::new(),
        }
    }
}

/// A document that is open. Changes only queue up; they are made when the text is asked for.
#[derive(Debug)]
pub struct Buffer {
    /// How the editor calls it.
    pub name: String,
    encoding: Encoding,
    /// Held for moments only, while `text` is held as long as a change takes.
    queue: Mutex<(Edition, Vec<Change>)>,
    text: Mutex<Result<Document, String>>,
}

impl Buffer {
    pub(super) fn new(name: String, encoding: Encoding, version: i32, text: String) -> Self {
        let queue = Mutex::new((Edition::new(version), vec![Change { range: None, text }]));
        Self {
            name,
            encoding,
            queue,
            text: Mutex::new(Err(String::new())),
        }
    }

    pub(super) fn change(&self, version: i32, changes: Vec<Change>) {
        let mut queue = self.queue();
        queue.0.moved.cancel();
        queue.0 = Edition::new(version);
        queue.1.extend(changes);
    }

    pub(super) fn close(&self) {
        self.queue().0.moved.cancel();
    }

    /// Whether it was closed: an edit has a new state follow the one it ends.
    pub(super) fn is_closed(&self) -> bool {
        self.queue().0.moved.is_cancelled()
    }

    /// The state now.
    pub fn edition(&self) -> Edition {
        self.queue().0.clone()
    }

    /// The text with number `revision`, if it is still the newest.
    pub fn document(&self, revision: u64) -> Result<Document, Unavailable> {
        let mut text = lock(&self.text);
        let changes = {
            let mut queue = self.queue();
            if queue.0.revision != revision {
                return Err(Unavailable::Outdated);
            }
            std::mem::take(&mut queue.1)
        };
        if !changes.is_empty() {
            // Should a change panic, the text is left broken, and not as if it had not happened.
            let before =
                std::mem::replace(&mut *text, Err("a change could not be made".to_owned()));
            // The text is everybody's, and not only the request's that happens to come first.
            *text = to_the_end(|| changed(before, changes, self.encoding));
        }
        text.clone().map_err(Unavailable::Broken)
    }

    fn queue(&self) -> MutexGuard<'_, (Edition, Vec<Change>)> {
        lock(&self.queue)
    }
}

/// What `changes` make of `text`.
fn changed(
    text: Result<Document, String>,
    mut changes: Vec<Change>,
    encoding: Encoding,
) -> Result<Document, String> {
    // Whatever was before a new text does not matter, not even that it was broken.
    let whole = changes.iter().rposition(|change| change.range.is_none());
    let (text, edits) = match whole {
        Some(whole) => {
            let edits = changes.split_off(whole + 1);
            let new = changes.swap_remove(whole).text;
            let document = on_few_threads(|| read_text(&Arc::new(new)));
            (document.map_err(|error| error.to_string())?, edits)
        }
        None => (text?, changes),
    };
    if edits.is_empty() {
        return Ok(text);
    }
    let mut draft = text.draft();
    for Change { range, text } in edits {
        let Some(Range { start, end }) = range else {
            continue;
        };
        if start > end {
            return Err(format!(
                "a change from {}:{} to {}:{} ends before it starts",
                start.line, start.column, end.line, end.column
            ));
        }
        // A line behind the last one means the end of the text (LSP, `Position`).
        let offset = |position| draft.offset(position, encoding).unwrap_or(draft.length());
        let range = offset(start)..offset(end);
        draft
            .edit(range, &text)
            .map_err(|error| error.to_string())?;
    }
    Ok(draft.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::cancel::{Token, run};

    fn at(line: u32, column: u32) -> LineColumn {
        LineColumn { line, column }
    }

    fn edit(start: LineColumn, end: LineColumn, text: &str) -> Change {
        Change {
            range: Some(start..end),
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_request_that_is_cancelled_leaves_the_text_whole() {
        let buffer = Buffer::new("x".to_owned(), Encoding::Utf16, 1, "a\n".to_owned());
        let token = Token::default();
        run(&token, || {
            token.cancel();
            text(&buffer)
        });
        assert_eq!(text(&buffer).as_deref(), Ok("a\n"));
    }

    fn text(buffer: &Buffer) -> Result<String, Unavailable> {
        buffer
            .document(buffer.edition().revision)
            .map(|document| document.text())
    }

    #[test]
    fn changes_are_made_in_order_and_count_in_the_encoding() {
        let buffer = Buffer::new("x".to_owned(), Encoding::Utf16, 1, "a😀b\nc".to_owned());
        buffer.change(
            2,
            vec![edit(at(0, 3), at(0, 4), "B"), edit(at(1, 0), at(1, 1), "C")],
        );
        buffer.change(3, vec![edit(at(0, 0), at(0, 1), "")]);
        assert_eq!(text(&buffer).as_deref(), Ok("😀B\nC"));
        assert_eq!(buffer.edition().version, 3);
    }

    /// The place of each counts in the text that those before it have made.
    #[test]
    fn changes_at_once_are_as_one_after_the_other() {
        let dump = "BufferAssignment:\r\nallocation 0: size 4, maybe-live-out:\n".repeat(300);
        let at_once = Buffer::new("x".to_owned(), Encoding::Utf16, 1, dump.clone());
        let in_turn = Buffer::new("x".to_owned(), Encoding::Utf16, 1, dump);
        let texts = ["", "\n", "\r", "é😀", " value: <1 a @0>\n", "x\ny\rz"];
        let edits = (0..400_u32).map(|number| {
            let (line, column) = (number * 7_919 % 700, number * 31 % 50);
            let end = at(line + number % 3, column + number % 5);
            edit(at(line, column), end, texts[number as usize % texts.len()])
        });
        for edit in edits.clone() {
            in_turn.change(2, vec![edit]);
            text(&in_turn).expect("a text");
        }
        at_once.change(2, edits.collect());
        assert_eq!(text(&at_once), text(&in_turn));
    }

    #[test]
    fn a_change_that_ends_before_it_starts_breaks_the_text_until_a_whole_one_comes() {
        let buffer = Buffer::new("x".to_owned(), Encoding::Utf16, 1, "a\nb".to_owned());
        buffer.change(
            2,
            vec![edit(at(1, 0), at(0, 0), "x"), edit(at(0, 0), at(0, 0), "y")],
        );
        assert!(matches!(text(&buffer), Err(Unavailable::Broken(_))));
        buffer.change(3, vec![edit(at(0, 0), at(0, 0), "y")]);
        assert!(matches!(text(&buffer), Err(Unavailable::Broken(_))));
        buffer.change(
            4,
            vec![
                Change {
                    range: None,
                    text: "new".to_owned(),
                },
                edit(at(0, 3), at(0, 3), "er"),
            ],
        );
        assert_eq!(text(&buffer).as_deref(), Ok("newer"));
    }

    #[test]
    fn a_line_behind_the_last_one_is_the_end() {
        let buffer = Buffer::new("x".to_owned(), Encoding::Utf16, 1, "a\nb".to_owned());
        buffer.change(2, vec![edit(at(0, 1), at(999_999, 0), "x")]);
        assert_eq!(text(&buffer).as_deref(), Ok("ax"));
        buffer.change(3, vec![edit(at(7, 3), at(9, 0), "\nnew\n")]);
        assert_eq!(text(&buffer).as_deref(), Ok("ax\nnew\n"));
    }

    #[test]
    fn an_edition_trips_when_the_text_moves_on() {
        let buffer = Buffer::new("x".to_owned(), Encoding::Utf16, 1, String::new());
        let (first, revision) = (buffer.edition().moved, buffer.edition().revision);
        assert!(!first.is_cancelled());
        buffer.change(2, Vec::new());
        assert!(first.is_cancelled());
        assert_eq!(buffer.document(revision).err(), Some(Unavailable::Outdated));
        let second = buffer.edition().moved;
        buffer.close();
        assert!(second.is_cancelled());
    }
}
