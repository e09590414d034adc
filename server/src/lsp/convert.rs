//! Between the protocol's types and plain ones.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use buflens_syntax::{Document, Encoding, LineColumn};
use tower_lsp::ls_types as lsp;

use crate::checks::Severity;
use crate::ide::symbols::SymbolKind;
use crate::workspace;

/// The key of the document at `uri`: its path, or the URI itself if it is not on disk (`untitled:`
/// and the like), which is no absolute path and so is never looked for there.
pub fn path(uri: &lsp::Uri) -> PathBuf {
    let is_file = uri.scheme().as_str().eq_ignore_ascii_case("file");
    match uri.to_file_path().filter(|_| is_file) {
        Some(path) => workspace::normalized(&path),
        None => PathBuf::from(uri.as_str()),
    }
}

/// The URI of a file that is not open. (Open ones go by the name that the editor gave them.)
pub fn uri(path: &Path) -> Option<lsp::Uri> {
    // A relative path would be looked for below the working folder.
    path.is_absolute()
        .then(|| lsp::Uri::from_file_path(path))
        .flatten()
}

/// The URI of a line, from 1, of a file.
pub fn uri_of_line(path: &Path, line: Option<u32>) -> Option<lsp::Uri> {
    let uri = uri(path)?;
    match line {
        Some(line) => lsp::Uri::from_str(&format!("{}#L{line}", uri.as_str())).ok(),
        None => Some(uri),
    }
}

pub fn line_column(position: lsp::Position) -> LineColumn {
    LineColumn {
        line: position.line,
        column: position.character,
    }
}

pub fn position(document: &Document, offset: u32, encoding: Encoding) -> lsp::Position {
    let LineColumn { line, column } = document.line_column(offset, encoding);
    lsp::Position::new(line, column)
}

pub fn range(document: &Document, range: &Range<u32>, encoding: Encoding) -> lsp::Range {
    lsp::Range::new(
        position(document, range.start, encoding),
        position(document, range.end, encoding),
    )
}

/// The bytes of a range. What lies behind the text is cut off.
pub fn bytes(document: &Document, range: lsp::Range, encoding: Encoding) -> Range<u32> {
    let offset = |position| {
        document
            .offset(line_column(position), encoding)
            .unwrap_or(document.len())
    };
    let (start, end) = (offset(range.start), offset(range.end));
    start..end.max(start)
}

pub fn severity(severity: Severity) -> lsp::DiagnosticSeverity {
    match severity {
        Severity::Error => lsp::DiagnosticSeverity::ERROR,
        Severity::Warning => lsp::DiagnosticSeverity::WARNING,
        Severity::Information => lsp::DiagnosticSeverity::INFORMATION,
        Severity::Hint => lsp::DiagnosticSeverity::HINT,
    }
}

/// Only kinds that clients know since the protocol's beginning.
pub fn symbol_kind(kind: SymbolKind) -> lsp::SymbolKind {
    match kind {
        SymbolKind::Section => lsp::SymbolKind::MODULE,
        SymbolKind::Allocation => lsp::SymbolKind::ARRAY,
        SymbolKind::Value => lsp::SymbolKind::VARIABLE,
        SymbolKind::Computation => lsp::SymbolKind::FUNCTION,
        SymbolKind::Instruction => lsp::SymbolKind::METHOD,
        SymbolKind::More => lsp::SymbolKind::STRING,
    }
}

/// What hovers write for characters that Markdown would take for its own, behind `&`.
const ENTITIES: [(&str, char); 7] = [
    ("lt;", '<'),
    ("gt;", '>'),
    ("amp;", '&'),
    ("nbsp;", ' '),
    ("#124;", '|'),
    ("#96;", '`'),
    ("#92;", '\\'),
];

/// Markdown as a client shows it that only knows plain text.
pub fn plain_text(markdown: &str) -> String {
    let mut plain = String::with_capacity(markdown.len());
    for line in markdown.lines() {
        let is_rule = line.starts_with('|') && line.bytes().all(|byte| b"|-: ".contains(&byte));
        if is_rule || line.starts_with("```") {
            continue;
        }
        let line = line
            .strip_prefix('|')
            .map_or(line, |row| row.strip_suffix('|').unwrap_or(row).trim());
        let mut chars = line.chars();
        let mut is_code = false;
        while let Some(char) = chars.next() {
            let rest = chars.as_str();
            match char {
                '`' => is_code = !is_code,
                '\\' if !is_code && rest.starts_with(|next: char| next.is_ascii_punctuation()) => {
                    plain.extend(chars.next());
                }
                '*' if !is_code && rest.starts_with('*') => {
                    chars.next();
                }
                '&' if !is_code => {
                    let entity = ENTITIES.iter().find(|(entity, _)| rest.starts_with(entity));
                    plain.push(entity.map_or('&', |&(_, char)| char));
                    chars = rest[entity.map_or(0, |(entity, _)| entity.len())..].chars();
                }
                _ => plain.push(char),
            }
        }
        plain.push('\n');
    }
    plain.truncate(plain.trim_end().len());
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ide::markdown;

    fn parsed(uri: &str) -> lsp::Uri {
        lsp::Uri::from_str(uri).expect("a URI")
    }

    #[cfg(unix)]
    #[test]
    fn uris_and_paths() {
        for (text, name) in [
            ("file:///d/with%20space.txt", "/d/with space.txt"),
            ("file:///d/a%23b.txt", "/d/a#b.txt"),
            ("file:///d/100%25.txt", "/d/100%.txt"),
            ("file:///d/caf%C3%A9.txt", "/d/café.txt"),
            ("file:///c%3A/x.txt", "/c:/x.txt"),
        ] {
            assert_eq!(path(&parsed(text)), Path::new(name));
            assert_eq!(uri(Path::new(name)).expect("a URI").as_str(), text);
        }
        assert_eq!(
            path(&parsed("file:///c:/x.txt")),
            Path::new("/c:/x.txt"),
            "another spelling of the same"
        );
        assert_eq!(
            path(&parsed("FILE:///d/./e/../x.txt")),
            Path::new("/d/x.txt")
        );
        assert_eq!(
            path(&parsed("untitled:Untitled-1")),
            Path::new("untitled:Untitled-1")
        );
        assert_eq!(
            path(&parsed("git:/d/x.txt?ref")),
            Path::new("git:/d/x.txt?ref")
        );
        assert_eq!(uri(Path::new("untitled:Untitled-1")), None);
        let line = uri_of_line(Path::new("/d/a#b.py"), Some(12)).expect("a URI");
        assert_eq!(line.as_str(), "file:///d/a%23b.py#L12");
    }

    #[test]
    fn positions_count_in_the_encoding() {
        let document = Document::new("a😀b\né").expect("a text");
        for (encoding, column) in [
            (Encoding::Utf8, 5),
            (Encoding::Utf16, 3),
            (Encoding::Utf32, 2),
        ] {
            let found = range(&document, &(5..9), encoding);
            assert_eq!(found.start, lsp::Position::new(0, column));
            assert_eq!(bytes(&document, found, encoding), 5..9);
        }
        let behind = lsp::Range::new(lsp::Position::new(0, 99), lsp::Position::new(99, 0));
        assert_eq!(bytes(&document, behind, Encoding::Utf16), 6..9);
    }

    #[test]
    fn plain_text_is_what_was_escaped() {
        let odd = r"a<b>|c`d\e&f*g_h &lt; i";
        assert_eq!(plain_text(&markdown::escape(odd)), odd);
        assert_eq!(plain_text(&markdown::code("x&lt;y")), "x&lt;y");
        assert_eq!(plain_text(&markdown::code("x|y")), "x|y");
    }

    #[test]
    fn markdown_becomes_plain_text() {
        let markdown = "**a\\_b**: `f32[2]{0:T(2)*2\\}` &lt;x\n| bytes | 1 \\* 2 |\n|---|---|\n```mlir\ncode\n```\n";
        assert_eq!(
            plain_text(markdown),
            "a_b: f32[2]{0:T(2)*2\\} <x\nbytes | 1 * 2\ncode"
        );
    }
}
