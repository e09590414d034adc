//! Metadata that names lines of the user's program: escaped strings and tables of stack frames.

use std::{fmt, iter};

use buflens_syntax::ast::{AstNode, TableRow};
use buflens_syntax::facts;

use super::{Dump, FileId, Row};

/// A chain of callers longer than this is cut; a broken table may go in circles.
const MAX_FRAMES: usize = 64;

/// Where TensorFlow makes every operation, whoever asks for it: the only file that its dumps tell.
pub const OF_ALL_OPERATIONS: &str = "tensorflow/python/framework/ops.py";

/// A line of source on the stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The file as the dump names it.
    pub file: String,
    /// The line, from 1, if it is known.
    pub line: Option<u32>,
    /// The function, if it is named.
    pub function: Option<String>,
}

impl fmt::Display for Frame {
    /// `/home/dev/model.py:12`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.file),
            None => f.write_str(&self.file),
        }
    }
}

/// `model.py` of `/home/dev/model.py`, of a path of either kind of system.
pub fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Which files of source are not the user's own but an installed library's.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Libraries(Vec<String>);

impl Default for Libraries {
    fn default() -> Self {
        let known = [
            "site-packages/",
            "dist-packages/",
            "/lib/python3",
            "<frozen ",
            "jax/_src/",
            "jax/experimental/",
            "flax/linen/",
            "flax/nnx/",
            "flax/core/",
            "haiku/_src/",
            "optax/_src/",
            "torch/nn/modules/",
            "torch_xla/core/",
            "tensorflow/python/",
            "keras/src/",
        ];
        Self(known.map(str::to_owned).into())
    }
}

impl Libraries {
    /// These, and every file whose path holds one of `marks`.
    #[must_use]
    pub fn with(mut self, marks: impl IntoIterator<Item = String>) -> Self {
        self.0
            .extend(marks.into_iter().filter(|mark| !mark.is_empty()));
        self
    }

    /// Whether `file` is a library's.
    pub fn hold(&self, file: &str) -> bool {
        let file = file.replace('\\', "/");
        self.0.iter().any(|mark| file.contains(mark.as_str()))
    }
}

/// The frames of `stack_frame_id` `id`, the innermost first, by the tables of the HLO text. Rows
/// are numbered from 1.
pub fn frames(dump: &Dump, id: u64) -> impl Iterator<Item = Frame> + '_ {
    let shift = parent_shift(dump);
    chain(id, move |id| stack_frame(dump, id, shift))
}

/// The frames from row `id` outwards, where `read` is [`stack_frame`], or knows what it tells.
pub(super) fn chain(
    mut id: u64,
    mut read: impl FnMut(u64) -> Option<StackFrame>,
) -> impl Iterator<Item = Frame> {
    let rows = iter::from_fn(move || {
        let row = read(id)?;
        id = row.parent;
        Some(row.frame)
    });
    rows.take(MAX_FRAMES).flatten()
}

/// A row of the table of stack frames.
#[derive(Debug, Clone)]
pub(super) struct StackFrame {
    /// The line of source, if the tables tell it.
    frame: Option<Frame>,
    /// The row of the caller; 0 if there is none.
    parent: u64,
}

/// Row `id` of the table of stack frames, whose parents are printed too high by [`parent_shift`].
pub(super) fn stack_frame(dump: &Dump, id: u64, shift: u64) -> Option<StackFrame> {
    let row = row(dump, &dump.module.tables.stack_frames, id)?;
    let location = row.number("file_location_id");
    let parent = row.number("parent_frame_id").unwrap_or(0);
    let parent = parent.saturating_sub(shift);
    Some(StackFrame {
        frame: location.and_then(|location| frame_at(dump, location)),
        // A parent comes before its children; anything else would be a circle.
        parent: if parent < id { parent } else { 0 },
    })
}

/// How much too high `parent_frame_id` is printed: by one, as the first row tells, which nobody calls, but
/// which names a caller. If it does not, the numbers are meant as they are.
pub fn parent_shift(dump: &Dump) -> u64 {
    let first = row(dump, &dump.module.tables.stack_frames, 1);
    let parent = first.and_then(|first| first.number("parent_frame_id"));
    u64::from(parent.is_some_and(|parent| parent > 0))
}

/// The keys for which [`table_of`] has a table.
pub const TABLE_KEYS: [&str; 5] = [
    "stack_frame_id",
    "parent_frame_id",
    "file_location_id",
    "file_name_id",
    "function_name_id",
];

/// The table whose rows the numbers behind `key=` select, in metadata and in the tables themselves,
/// and how much too high these are printed.
pub fn table_of<'d>(dump: &'d Dump, key: &str) -> Option<(&'d [Row], u64)> {
    let tables = &dump.module.tables;
    Some(match key {
        "stack_frame_id" => (tables.stack_frames.as_slice(), 0),
        "parent_frame_id" => (tables.stack_frames.as_slice(), parent_shift(dump)),
        "file_location_id" => (tables.file_locations.as_slice(), 0),
        "file_name_id" => (tables.file_names.as_slice(), 0),
        "function_name_id" => (tables.function_names.as_slice(), 0),
        _ => return None,
    })
}

/// The row of a table that `number` behind `key=` selects.
pub fn row_of(dump: &Dump, key: &str, number: u64) -> Option<Row> {
    let (table, shift) = table_of(dump, key)?;
    let place = number.checked_sub(shift)?.checked_sub(1)?;
    table.get(usize::try_from(place).ok()?).copied()
}

/// The row of a table whose number stands at `offset` of `file`.
pub fn row_at(dump: &Dump, file: FileId, offset: u32) -> Option<Row> {
    dump.module.tables.all().into_iter().find_map(|table| {
        let start = |row: Row| {
            let at = dump.at::<facts::TableRow>(row)?;
            Some((at.file, at.start + at.row.row.span.start))
        };
        // The rows of a table stand in the order of the text.
        let place = table.partition_point(|&row| start(row) < Some((file, offset)));
        let row = *table.get(place)?;
        (start(row) == Some((file, offset))).then_some(row)
    })
}

/// A line of source: row `location` of the table of locations.
pub fn frame_at(dump: &Dump, location: u64) -> Option<Frame> {
    let tables = &dump.module.tables;
    let location = row(dump, &tables.file_locations, location)?;
    let text = |table: &[Row], key| {
        Some(unescaped(
            row(dump, table, location.number(key)?)?.string()?.text(),
        ))
    };
    Some(Frame {
        file: text(&tables.file_names, "file_name_id")?,
        line: location
            .number("line")
            .and_then(|line| u32::try_from(line).ok())
            .filter(|&line| line > 0),
        function: text(&tables.function_names, "function_name_id").filter(|name| !name.is_empty()),
    })
}

/// Row `number` of a table.
fn row(dump: &Dump, table: &[Row], number: u64) -> Option<TableRow> {
    let row = *table.get(usize::try_from(number.checked_sub(1)?).ok()?)?;
    let at = dump
        .at::<facts::TableRow>(row)
        .filter(|at| at.row.row.value == number)?;
    let document = &dump.files.get(at.file)?.document;
    TableRow::around(&document.token_at(at.start + at.row.row.span.start)?.1)
}

/// The text of a string with C, JSON or Python escapes, with or without its quotes. Octal ones are
/// bytes: `"caf\303\251"` stands for `café`.
pub fn unescaped(string: &str) -> String {
    let inner = string.strip_prefix('"').unwrap_or(string);
    let inner = inner.strip_suffix('"').unwrap_or(inner);
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
        } else if let Some((char, behind)) = hexadecimal(rest) {
            bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
            rest = behind;
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

/// The character of `x1b` or `u001b`, and what stands behind it.
fn hexadecimal(text: &[u8]) -> Option<(char, &[u8])> {
    let digits = match text.first()? {
        b'x' => 2,
        b'u' => 4,
        _ => return None,
    };
    let (code, behind) = text.get(1..)?.split_at_checked(digits)?;
    let is_code = code.iter().all(u8::is_ascii_hexdigit);
    let number = u32::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok()?;
    // Half a pair is no character.
    let char = char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER);
    is_code.then_some((char, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installed_packages_are_libraries() {
        let libraries = Libraries::default();
        assert!(libraries.hold("/opt/venv/lib/python3.11/site-packages/jax/numpy.py"));
        assert!(libraries.hold("C:\\venv\\Lib\\site-packages\\jax\\numpy.py"));
        assert!(!libraries.hold("/home/dev/models/train.py"));
        let own = libraries.with(["dev/models/".to_owned(), String::new()]);
        assert!(own.hold("/home/dev/models/train.py"));
        assert!(!own.hold("/home/dev/train.py"));
    }

    #[test]
    fn strings_are_decoded_as_bytes() {
        assert_eq!(
            unescaped(r#""caf\303\251 \"q\" it\'s a\\b\n""#),
            "caf\u{e9} \"q\" it's a\\b\n"
        );
        assert_eq!(unescaped(r#""\377""#), "\u{fffd}");
        assert_eq!(
            unescaped(r"\u001b[1m\x1b[0m\ud83d \u00e9 \u1 \x+1"),
            "\u{1b}[1m\u{1b}[0m\u{fffd} \u{e9} u1 x+1"
        );
        assert_eq!(unescaped(r#""a\"#), "a");
        assert_eq!(unescaped(""), "");
    }
}
