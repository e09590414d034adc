//! `FILE:LINE:COL`, as `hover` and `definition` take it.

use std::path::PathBuf;
use std::str::FromStr;

use buflens_syntax::{Document, Encoding, LineColumn};

use super::{FINDINGS, UNREADABLE, complain};
use crate::model::{Dump, FileId};
use crate::workspace;

/// A position in a file, from 1, the column in characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    path: PathBuf,
    line: u32,
    column: u32,
}

impl FromStr for Position {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // From the right: a path can hold colons.
        let mut parts = text.rsplitn(3, ':');
        let column = parts.next().unwrap_or_default();
        let (Some(line), Some(path)) = (parts.next(), parts.next().filter(|path| !path.is_empty()))
        else {
            return Err("expected FILE:LINE:COL".to_owned());
        };
        let number = |text: &str, what: &str| match text.parse() {
            Ok(0) | Err(_) => Err(format!(
                "expected FILE:LINE:COL; the {what} `{text}` is no number from 1"
            )),
            Ok(number) => Ok(number),
        };
        Ok(Self {
            path: path.into(),
            line: number(line, "line")?,
            column: number(column, "column")?,
        })
    }
}

/// Why there is nothing to show: the exit code and what to say.
pub type Failure = (u8, String);

impl Position {
    /// What `answer` tells of the dump, the file in it that was named, and the place in bytes from its start; where it
    /// tells nothing there is no `what` here.
    pub fn told<T>(
        &self,
        what: &str,
        answer: impl FnOnce(&Dump, FileId, u32) -> Option<T>,
    ) -> Result<T, Failure> {
        let loaded =
            workspace::load(&self.path).map_err(|error| (UNREADABLE, error.to_string()))?;
        for note in loaded.notes.iter() {
            complain(note);
        }
        let offset = self.offset(&loaded.dump.files[loaded.file].document);
        let told = offset.map(|offset| answer(&loaded.dump, loaded.file, offset));
        if let Some(changed) = loaded.changed().next() {
            return Err((UNREADABLE, changed.to_string()));
        }
        let Self { path, line, column } = self;
        told?.ok_or_else(|| {
            let message = format!("{}:{line}:{column}: no {what} here", path.display());
            (FINDINGS, message)
        })
    }

    /// The place in bytes from the start of `document`.
    fn offset(&self, document: &Document) -> Result<u32, Failure> {
        let nothing = |what: String| (FINDINGS, format!("{}: {what}", self.path.display()));
        let position = LineColumn {
            line: self.line - 1,
            column: self.column - 1,
        };
        let Some(offset) = document.offset(position, Encoding::Utf32) else {
            return Err(nothing(format!(
                "there is no line {}; the last is {}",
                self.line,
                // What stands behind the last line end is no line to people.
                document.line_count()
                    - u32::from(
                        document.line_range(document.line_count() - 1)
                            == Some(document.len()..document.len())
                    )
            )));
        };
        // A column behind the end of its line has been moved there.
        let found = document.line_column(offset, Encoding::Utf32);
        if found != position {
            return Err(nothing(format!(
                "line {} has {} characters, no column {}",
                self.line, found.column, self.column
            )));
        }
        Ok(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: (&str, u32, u32)) {
        let (path, line, column) = expected;
        assert_eq!(
            text.parse(),
            Ok(Position {
                path: path.into(),
                line,
                column
            }),
            "{text}"
        );
    }

    #[test]
    fn paths_can_hold_colons_and_blanks() {
        check("a.txt:1:2", ("a.txt", 1, 2));
        check("C:\\dumps\\a b.txt:10:20", ("C:\\dumps\\a b.txt", 10, 20));
        check("a:1:2:3:4", ("a:1:2", 3, 4));
    }

    #[test]
    fn what_is_no_position_is_said() {
        for text in [
            "",
            "a.txt",
            "a.txt:1",
            ":1:2",
            "a.txt:0:1",
            "a.txt:1:0",
            "a.txt:x:1",
            "a.txt:1:99999999999",
        ] {
            let message = text.parse::<Position>().unwrap_err();
            assert!(message.contains("FILE:LINE:COL"), "{text}: {message}");
        }
    }
}
