//! Markdown from text that may hold anything.
//!
//! Names, labels and metadata come from the program that was compiled and may hold Markdown, HTML
//! or `command:` links. They enter a text through [`escape`] or [`code`] only.

use std::fmt::Write;

use unicode_width::UnicodeWidthStr;

use crate::model::bytes::grouped;
use crate::model::is_hidden;

/// `text` as Markdown that shows it and nothing else: no markup, no HTML, no link, one line.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + text.len() / 4);
    for char in text.chars() {
        match char {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            // A backslash before it is not enough inside tables, where readers differ.
            '|' => escaped.push_str("&#124;"),
            '`' => escaped.push_str("&#96;"),
            '\\' => escaped.push_str("&#92;"),
            // The last ones keep addresses from becoming links by themselves.
            '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '#' | '+' | '-' | '!' | '~' | '^'
            | '$' | '.' | ':' | '@' => {
                escaped.push('\\');
                escaped.push(char);
            }
            _ => escaped.push(visible(char)),
        }
    }
    escaped
}

/// `text` as a code span, which no reader looks into. Text with the marks that end a span or a
/// table's cell is escaped instead.
pub fn code(text: &str) -> String {
    if text.trim().is_empty() || text.contains(['`', '|']) {
        return escape(text);
    }
    let text: String = text.chars().map(visible).collect();
    format!("`{text}`")
}

/// `markdown` as a link to `address`, a URI. What would end the link is escaped in it.
pub fn link(markdown: &str, address: &str) -> String {
    let mut escaped = String::with_capacity(address.len());
    for char in address.chars() {
        match char {
            '(' => escaped.push_str("%28"),
            ')' => escaped.push_str("%29"),
            char if char.is_ascii_graphic() && !matches!(char, '<' | '>' | '\\') => {
                escaped.push(char);
            }
            _ => {}
        }
    }
    format!("[{markdown}]({escaped})")
}

/// Line breaks and other control characters become blanks; marks that reorder text or hide in it
/// are shown as unknown.
fn visible(char: char) -> char {
    match char {
        char if char.is_control() => ' ',
        char if is_hidden(char) => '\u{FFFD}',
        char => char,
    }
}

/// `text` with at most about `limit` characters: the middle is left out, since names and paths
/// tell most at their ends.
pub fn shorten(text: &str, limit: usize) -> String {
    if text.len() <= limit || text.chars().nth(limit).is_none() {
        return text.to_owned();
    }
    let head = limit / 3;
    let tail = limit - head;
    let head_end = text
        .char_indices()
        .nth(head)
        .map_or(text.len(), |(at, _)| at);
    let tail_start = text
        .char_indices()
        .nth_back(tail - 1)
        .map_or(0, |(at, _)| at);
    format!("{}...{}", &text[..head_end], &text[tail_start..])
}

/// `text` with at most about `limit` characters, the end left out.
pub fn cut(text: &str, limit: usize) -> String {
    // Only as much of a long line is looked at as is shown.
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Markdown in the making: paragraphs and list items with the blank lines that they need.
#[derive(Debug, Default)]
pub struct Text {
    text: String,
    in_list: bool,
}

impl Text {
    /// A text that begins with the paragraph `first`.
    pub fn new(first: &str) -> Self {
        let mut text = Self::default();
        text.paragraph(first);
        text
    }

    /// Adds a block of Markdown of its own; nothing if it is empty.
    pub fn paragraph(&mut self, markdown: &str) {
        let markdown = markdown.trim_end();
        if markdown.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(markdown);
        self.in_list = false;
    }

    /// Adds an item to the list at the end, or begins one.
    pub fn item(&mut self, markdown: &str) {
        if self.in_list {
            self.text.push('\n');
        } else if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str("- ");
        self.text.push_str(markdown);
        self.in_list = true;
    }

    /// The Markdown, without a line end behind it.
    pub fn finish(self) -> String {
        self.text
    }
}

/// A table whose first row is its heading. Cells are Markdown already.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Adds a row of a label and what there is to say about it.
    pub fn fact(&mut self, label: &str, cell: impl Into<String>) {
        self.row([label.to_owned(), cell.into()]);
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Neovim, Helix and others show a table as it is written. The last column is left ragged: what
        // is longer than a line would break every row.
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns.saturating_sub(1))
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| shown_width(cell)).max().unwrap_or(0)
            })
            .collect();
        let padding = |column: usize, shown| widths.get(column).map_or(0, |width| width - shown);
        for (number, row) in self.rows.iter().enumerate() {
            f.write_char('|')?;
            for (column, cell) in row.iter().enumerate() {
                let padding = padding(column, shown_width(cell));
                write!(f, " {cell}{:padding$} |", "")?;
            }
            f.write_char('\n')?;
            if number == 0 {
                // Editors centre headings that nothing aligns, and this one is a row like the others.
                f.write_char('|')?;
                for column in 0..row.len() {
                    let dashes = 3.max(padding(column, 0) + 1);
                    write!(f, ":{:-<dashes$}|", "")?;
                }
                f.write_char('\n')?;
            }
        }
        Ok(())
    }
}

/// The columns that `markdown` takes where it is shown without the marks of its code spans and escapes.
fn shown_width(markdown: &str) -> usize {
    let marks = markdown.matches(['`', '\\']).count();
    markdown.width().saturating_sub(marks)
}

/// `50.3 %`
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "0 %".to_owned();
    }
    let share = part as f64 * 100.0 / whole as f64;
    if part > 0 && share < 0.1 {
        "less than 0.1 %".to_owned()
    } else if part < whole && share >= 99.95 {
        "more than 99.9 %".to_owned()
    } else {
        format!("{share:.1} %")
    }
}

/// The first `most` of `items` as `text` names them, and how many more there are: `a, b, 3 more`.
pub fn listed<T>(items: &[T], most: usize, text: impl Fn(&T) -> String) -> String {
    let mut texts: Vec<String> = items.iter().take(most).map(text).collect();
    let more = items.len() - texts.len();
    if more > 0 {
        texts.push(format!("{} more", grouped(more as u64)));
    }
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_text() {
        for (text, escaped) in [
            ("[x](command:evil)", r"\[x\]\(command\:evil\)"),
            ("<img src=x onerror=y>", "&lt;img src=x onerror=y&gt;"),
            ("a|b`c\\d", "a&#124;b&#96;c&#92;d"),
            ("# x\n---\n- y", r"\# x \-\-\- \- y"),
            (
                "https://example.org www.example.org",
                r"https\://example\.org www\.example\.org",
            ),
            ("&lt;&#124;", r"&amp;lt;&amp;\#124;"),
            (
                "**a** __b__ ~~c~~ $d$",
                r"\*\*a\*\* \_\_b\_\_ \~\~c\~\~ \$d\$",
            ),
            ("caf\u{e9}\u{202e}x\0", "caf\u{e9}\u{fffd}x "),
        ] {
            assert_eq!(escape(text), escaped);
        }
    }

    #[test]
    fn code_never_ends_early() {
        assert_eq!(code("jit(f)/add"), "`jit(f)/add`");
        assert_eq!(code("a`b"), "a&#96;b");
        assert_eq!(code("a|b"), "a&#124;b");
        assert_eq!(code("a\r\n\r\n# b"), "`a    # b`");
        assert_eq!(code(r"a\"), r"`a\`");
        assert_eq!(code(" "), " ");
        assert_eq!(code("[x](command:evil)<b>"), "`[x](command:evil)<b>`");
    }

    #[test]
    fn long_text_loses_its_middle() {
        assert_eq!(shorten("abcdefghij", 10), "abcdefghij");
        assert_eq!(shorten("abcdefghijk", 6), "ab...hijk");
        assert_eq!(
            shorten("\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}", 3),
            "\u{e9}...\u{e9}\u{e9}"
        );
        assert_eq!(cut("abcdef", 3), "abc...");
        assert_eq!(cut("abc", 3), "abc");
    }

    #[test]
    fn blocks_are_set_apart_and_items_are_not() {
        let mut text = Text::new("first");
        text.item("one");
        text.item("two");
        text.paragraph("");
        text.paragraph("last\n");
        assert_eq!(text.finish(), "first\n\n- one\n- two\n\nlast");
    }

    #[test]
    fn a_table_has_its_first_row_as_heading_and_is_legible_as_it_is_written() {
        let mut table = Table::default();
        table.row(["v".into(), code("a"), "1".into()]);
        table.row(["value".into(), escape("a*"), "the last\u{e9}".into()]);
        assert_eq!(
            table.to_string(),
            "| v     | `a`  | 1 |\n\
             |:------|:---|:---|\n\
             | value | a\\* | the last\u{e9} |\n"
        );
    }
}
