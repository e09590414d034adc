//! Links from metadata to source files.

use std::ops::Range;

use buflens_syntax::ast::{AstNode, MetadataEntry, TableRow};
use buflens_syntax::{SyntaxKind as K, SyntaxNode};
use memchr::memmem;
use rustc_hash::FxHashSet;

use crate::model::cancel::checkpoint;
use crate::model::source::{frame_at, frames, row_at, row_of, unescaped};
use crate::model::{Dump, FileId};

/// Text that names a source line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The text.
    pub range: Range<u32>,
    /// The file as the dump names it. Whether it exists is for the caller to see.
    pub path: String,
    /// The line, from 1, if it is named.
    pub line: Option<u32>,
}

/// After so many texts that lead nowhere no more are looked at.
const MOST_DEAD: usize = 10_000;

/// The links of a document that have a `target`, with it, at most so many.
pub fn links<T>(
    dump: &Dump,
    file: FileId,
    most: usize,
    mut target: impl FnMut(&Link) -> Option<T>,
) -> Vec<(Link, T)> {
    let Some(document) = dump.files.get(file).map(|file| &file.document) else {
        return Vec::new();
    };
    let mut links = Vec::new();
    // Of texts for which a tree need not be made again; and how many have led nowhere.
    let (mut dead, mut count): (FxHashSet<&[u8]>, usize) = (FxHashSet::default(), 0);
    let mut is_dead = |link: Link, links: &mut Vec<(Link, T)>| match target(&link) {
        Some(target) => {
            links.push((link, target));
            false
        }
        None => true,
    };
    for (start, block) in document.blocks() {
        // Metadata is found by its keys, and the tree tells which of them are keys.
        let text = block.text().as_bytes();
        let files = memmem::find_iter(text, b"source_file=");
        let frames = memmem::find_iter(text, b"stack_frame_id=");
        let mut known = None;
        for at in files.chain(frames) {
            checkpoint();
            let entry = entry_of(&text[at..]);
            if entry.is_some_and(|it| dead.contains(it)) {
                continue;
            }
            let Some((start, key)) = document.token_at(start + at as u32) else {
                continue;
            };
            let Some(around) = MetadataEntry::around(&key) else {
                continue;
            };
            let link = match key.text() {
                "source_file" => of_source_file(&around, start, &mut known),
                "stack_frame_id" => of_stack_frame(dump, &around, start),
                _ => continue,
            };
            if link.is_none_or(|link| is_dead(link, &mut links)) {
                dead.extend(entry);
                count += 1;
            }
        }
        for row in block.table_rows() {
            checkpoint();
            let at = start + row.row.span.start;
            let link = of_table_row(dump, file, at);
            count += usize::from(link.is_some_and(|link| is_dead(link, &mut links)));
        }
        if count >= MOST_DEAD || links.len() >= most {
            break;
        }
    }
    links.sort_unstable_by_key(|(link, _)| link.range.start);
    links.truncate(most);
    links
}

/// `source_file="/home/dev/model.py"` or `stack_frame_id=12`, which `text` begins with. `None` if its end is not found at once.
fn entry_of(text: &[u8]) -> Option<&[u8]> {
    let value = memchr::memchr(b'=', text)? + 1;
    let end = match text.get(value)? {
        b'"' => {
            let end = value + 1 + memchr::memchr2(b'"', b'\\', &text[value + 1..])?;
            (text[end] == b'"').then_some(end + 1)?
        }
        _ => value + text[value..].iter().position(|it| !it.is_ascii_digit())?,
    };
    Some(&text[..end])
}

/// `source_file="/home/dev/model.py" source_line=9`
///
/// `known` is the metadata looked at last and the line that it tells: it may have very many entries.
fn of_source_file(
    entry: &MetadataEntry,
    start: u32,
    known: &mut Option<(SyntaxNode, Option<u32>)>,
) -> Option<Link> {
    let path = entry.value().filter(|path| path.kind() == K::String)?;
    let metadata = entry.syntax().parent()?;
    let line_in = |metadata: &SyntaxNode| {
        let mut entries = metadata.children().filter_map(MetadataEntry::cast);
        let is_line = |it: &MetadataEntry| it.key().is_some_and(|key| key.text() == "source_line");
        entries.find(is_line)?.value()?.text().parse().ok()
    };
    let line = match known {
        Some((of, line)) if *of == metadata => *line,
        _ => {
            let line = line_in(&metadata);
            *known = Some((metadata, line));
            line
        }
    };
    let range = Range::<u32>::from(path.text_range());
    Some(Link {
        range: start + range.start + 1..start + range.end - 1,
        path: unescaped(path.text()),
        line,
    })
}

/// `stack_frame_id=2`, which names a row of the tables in the HLO text.
fn of_stack_frame(dump: &Dump, entry: &MetadataEntry, start: u32) -> Option<Link> {
    let id = entry.value()?.text().parse().ok()?;
    let innermost = frames(dump, id).next()?;
    let range = entry.range();
    Some(Link {
        range: start + range.start..start + range.end,
        path: innermost.file,
        line: innermost.line,
    })
}

/// `1 "/home/dev/model.py"`, or the whole of a row that names a line of it.
fn of_table_row(dump: &Dump, file: FileId, at: u32) -> Option<Link> {
    let (start, number) = dump.files.get(file)?.document.token_at(at)?;
    let row = TableRow::around(&number)?;
    let place = number.text().parse().ok()?;
    let here = row_at(dump, file, at);
    let is_file = here.is_some() && row_of(dump, "file_name_id", place) == here;
    let (range, path, line) = match row.string() {
        // Functions are named by strings as well.
        Some(path) if is_file => {
            let range = Range::<u32>::from(path.text_range());
            (range.start + 1..range.end - 1, unescaped(path.text()), None)
        }
        Some(_) => return None,
        None => {
            row.number("file_name_id")?;
            let frame = frame_at(dump, place)?;
            let parts = row.syntax().children().filter_map(MetadataEntry::cast);
            let is_place = |part: &MetadataEntry| {
                let key = part.key();
                key.is_some_and(|key| matches!(key.text(), "line" | "file_name_id"))
            };
            // A link on the number of the file would keep the cursor from going to its row.
            let line = parts.filter(is_place).last()?;
            (line.range(), frame.file, frame.line)
        }
    };
    Some(Link {
        range: start + range.start..start + range.end,
        path,
        line,
    })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::{Expect, expect};

    use super::*;
    use crate::ide::fixture::{COMBINED, Fixture, MODULE};

    fn check(text: &str, file: FileId, expected: &Expect) {
        check_where(text, file, &mut |_| true, expected);
    }

    fn check_where(
        text: &str,
        file: FileId,
        is_there: &mut dyn FnMut(&Link) -> bool,
        expected: &Expect,
    ) {
        let fixture = Fixture::new(text);
        let mut lines = String::new();
        for (link, ()) in links(&fixture.dump, file, 100, |link| {
            is_there(link).then_some(())
        }) {
            let place = fixture.place(file, link.range.start);
            let text = fixture.text(file, link.range);
            let line = link
                .line
                .map_or_else(String::new, |line| format!(":{line}"));
            writeln!(lines, "{place} {text} -> {}{line}", link.path).unwrap();
        }
        expected.assert_eq(&lines);
    }

    #[test]
    fn a_source_file_and_line_are_a_link() {
        check(
            COMBINED,
            0,
            &expect![[r#"
            64 /home/dev/caf\303\251.py -> /home/dev/café.py:7
        "#]],
        );
    }

    #[test]
    fn a_stack_frame_leads_through_the_tables() {
        check(
            MODULE,
            0,
            &expect![[r#"
            4 /home/dev/model.py -> /home/dev/model.py
            5 /home/dev/lib.py -> /home/dev/lib.py
            11 line=9 -> /home/dev/model.py:9
            12 line=70 -> /home/dev/lib.py:70
            34 stack_frame_id=2 -> /home/dev/lib.py:70
        "#]],
        );
        // From another file of the dump; without the tables there is no link.
        let values = COMBINED.replace("source_line=7", "stack_frame_id=1");
        check(
            &(values.clone() + MODULE),
            0,
            &expect![[r#"
            a.txt:64 /home/dev/caf\303\251.py -> /home/dev/café.py
            a.txt:64 stack_frame_id=1 -> /home/dev/model.py:9
        "#]],
        );
        check(
            &values,
            0,
            &expect![[r#"
            64 /home/dev/caf\303\251.py -> /home/dev/café.py
        "#]],
        );
        check(
            &values.replace("frame_id=1", "frame_id=3"),
            0,
            &expect![[r#"
                64 /home/dev/caf\303\251.py -> /home/dev/café.py
            "#]],
        );
    }

    #[test]
    fn of_files_that_are_not_there_each_is_asked_for_once() {
        let line = |at: u32, file: &str| {
            format!(
                "  a.{at} = f32[] constant(1), metadata={{source_file=\"{file}\" source_line={at}}}\n"
            )
        };
        let quoted = ["/q\\\".py", "/q\\\"b.py"];
        let files = [
            "/gone.py", "/here.py", "/gone.py", quoted[0], "/here.py", quoted[1],
        ];
        let lines: String = (1..).zip(files).map(|(at, file)| line(at, file)).collect();
        let text = format!("HloModule m\n\nENTRY e {{\n{lines}}}\n");
        let mut asked = Vec::new();
        let mut is_there = |link: &Link| {
            asked.push(link.path.clone());
            link.path == "/here.py" || link.path == "/q\"b.py"
        };
        check_where(
            &text,
            0,
            &mut is_there,
            &expect![[r#"
                5 /here.py -> /here.py:2
                8 /here.py -> /here.py:5
                9 /q\"b.py -> /q"b.py:6
            "#]],
        );
        assert_eq!(asked.len(), 5, "{asked:?}");
    }

    #[test]
    fn no_more_than_the_most_are_told() {
        let fixture = Fixture::new(MODULE);
        let links = |most| links(&fixture.dump, 0, most, |_| Some(())).len();
        assert_eq!([links(0), links(3), links(9)], [0, 3, 5]);
    }

    #[test]
    fn text_that_looks_like_metadata_is_none() {
        let text = "HloModule m\n\nENTRY e {\n  a = f32[] constant(1), metadata={op_name=\"source_file=\\\"x\\\" stack_frame_id=1\"}\n}\n";
        check(text, 0, &expect![""]);
    }

    #[test]
    fn c_escapes_are_undone() {
        assert_eq!(
            unescaped(r#"caf\303\251 \"q\" \'s\' \\ \n|\0"#),
            "café \"q\" 's' \\ \n|\0"
        );
        assert_eq!(unescaped(r"\777\"), "\u{fffd}");
    }
}
