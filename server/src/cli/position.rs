//! `FILE:LINE:COL`, as `hover` and `definition` take it.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use buflens_syntax::{Encoding, LineColumn};

use super::{FINDINGS, UNREADABLE, complain};
use crate::model::{Dump, FileId};
use crate::workspace::{self, Texts};

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

/// A position in a dump that has been read.
pub struct Located {
    /// The dump.
    pub dump: Arc<Dump>,
    /// The file that was named.
    pub file: FileId,
    /// Bytes from its start.
    pub offset: u32,
}

/// Why there is nothing to show: the exit code and what to say.
pub type Failure = (u8, String);

impl Position {
    /// Reads the dump and finds the position.
    pub fn locate(&self) -> Result<Located, Failure> {
        let loaded = workspace::load(&self.path, Texts::Held)
            .map_err(|error| (UNREADABLE, error.to_string()))?;
        for note in loaded.notes.iter() {
            complain(note);
        }
        let (dump, file) = (loaded.dump, loaded.file);
        let nothing = |what: String| (FINDINGS, format!("{}: {what}", self.path.display()));
        let document = &dump.files[file].document;
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
        Ok(Located { dump, file, offset })
    }

    /// The failure that there is no `what` at this position.
    pub fn without(&self, what: &str) -> Failure {
        (
            FINDINGS,
            format!(
                "{}:{}:{}: no {what} here",
                self.path.display(),
                self.line,
                self.column
            ),
        )
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
