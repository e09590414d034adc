//! An answer for people: sentences and tables, on a terminal, as Markdown or as HTML.

use std::io::{self, Write};

use maud::{Markup, html};

use super::printable;
use super::table::{Table, cut, length, shown};

/// Sentences are not drawn out over wider terminals.
const MOST: usize = 100;

/// A table does not get any narrower, however few columns there are.
pub const NARROWEST: usize = 40;

/// A part of a page.
#[derive(Debug, Clone, PartialEq)]
enum Part {
    /// The answer in one sentence.
    Verdict(String),
    /// A sentence or two.
    Text(String),
    /// The title of what follows.
    Heading(String),
    /// A table.
    Table(Table),
}

/// An answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    parts: Vec<Part>,
}

impl Page {
    /// Adds the answer in one sentence.
    pub fn verdict(&mut self, text: impl Into<String>) {
        self.push(Part::Verdict, text);
    }

    /// Adds a sentence.
    pub fn text(&mut self, text: impl Into<String>) {
        self.push(Part::Text, text);
    }

    /// Adds a title.
    pub fn heading(&mut self, text: impl Into<String>) {
        self.push(Part::Heading, text);
    }

    fn push(&mut self, part: fn(String) -> Part, text: impl Into<String>) {
        self.parts.push(part(shown(&text.into()).into_owned()));
    }

    /// Adds a table, if it has rows.
    pub fn table(&mut self, table: Table) {
        if !table.rows.is_empty() {
            self.parts.push(Part::Table(table));
        }
    }

    /// Adds the parts of another page.
    pub fn append(&mut self, other: Self) {
        self.parts.extend(other.parts);
    }

    /// Writes the page for a terminal of `width` columns.
    pub fn write_text(&self, out: &mut impl Write, width: usize) -> io::Result<()> {
        for (number, part) in self.parts.iter().enumerate() {
            // Sentences stand together, tables apart.
            let before = number.checked_sub(1).map(|before| &self.parts[before]);
            let is_apart = match part {
                Part::Verdict(_) | Part::Heading(_) => before.is_some(),
                Part::Table(_) => !matches!(before, None | Some(Part::Heading(_))),
                Part::Text(_) => matches!(before, Some(Part::Table(_))),
            };
            if is_apart {
                writeln!(out)?;
            }
            match part {
                Part::Verdict(text) | Part::Heading(text) => {
                    wrapped(out, text, width, "\u{1b}[1m", "\u{1b}[0m")?;
                }
                Part::Text(text) => wrapped(out, text, width, "", "")?,
                Part::Table(table) => table.write_text(out, width)?,
            }
        }
        Ok(())
    }

    /// The page as a terminal of `width` columns shows it, without colours; of [`NARROWEST`] at least.
    pub fn plain_text(&self, width: usize) -> String {
        let mut out = anstream::StripStream::new(Vec::new());
        // Nothing goes wrong in memory.
        let _ = self.write_text(&mut out, width.max(NARROWEST));
        String::from_utf8_lossy(&out.into_inner()).into_owned()
    }

    /// Writes the page as Markdown.
    pub fn write_markdown(&self, out: &mut impl Write) -> io::Result<()> {
        for (number, part) in self.parts.iter().enumerate() {
            if number > 0 {
                writeln!(out)?;
            }
            match part {
                Part::Verdict(text) => writeln!(out, "**{}**", escaped(text))?,
                Part::Heading(text) => writeln!(out, "### {}", escaped(text))?,
                Part::Text(text) => writeln!(out, "{}", escaped(text))?,
                Part::Table(table) => table.write_markdown(out)?,
            }
        }
        Ok(())
    }

    /// The answer in one sentence, if there is one.
    pub fn title(&self) -> Option<&str> {
        self.parts.iter().find_map(|part| match part {
            Part::Verdict(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The page for a place where everything is about `subject`: what begins with its name and a
    /// colon says the rest alone.
    #[must_use]
    pub fn about(mut self, subject: &str) -> Self {
        for part in &mut self.parts {
            if let Part::Verdict(text) = part
                && let Some(rest) = text
                    .strip_prefix(subject)
                    .and_then(|text| text.strip_prefix(": "))
            {
                let mut rest = rest.chars();
                let first = rest.next().into_iter().flat_map(char::to_uppercase);
                *text = first.chain(rest).collect();
            }
        }
        self
    }

    /// The sentences and titles, without tables.
    pub fn sentences(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Verdict(text) | Part::Text(text) | Part::Heading(text) => Some(text.as_str()),
            Part::Table(_) => None,
        })
    }

    /// The titles.
    pub fn headings(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Heading(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The page as a part of an HTML document.
    pub fn html(&self) -> Markup {
        html! {
            @for part in &self.parts {
                @match part {
                    Part::Verdict(text) => p.verdict { (printable(text)) },
                    Part::Heading(text) => h3 { (printable(text)) },
                    Part::Text(text) => p { (marked(text)) },
                    Part::Table(table) => (table.html()),
                }
            }
        }
    }
}

/// A word of so many characters is not cut, whatever the width.
const LONGEST: usize = 500;

/// Text in which what stands between backticks is code.
fn marked(text: &str) -> Markup {
    let text = printable(text);
    let is_paired = text.matches('`').count().is_multiple_of(2);
    html! {
        @if is_paired {
            @for (at, part) in text.split('`').enumerate() {
                @if at % 2 == 1 { code { (part) } } @else { (part) }
            }
        } @else { (text) }
    }
}

/// Text with whatever Markdown or HTML would make of it taken away. What is harmless where it
/// stands stays as it is: editors show Markdown as text.
fn escaped(text: &str) -> String {
    let text = printable(text);
    let mut escaped = String::with_capacity(text.len());
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let is_in_word = |char: Option<char>| char.is_some_and(char::is_alphanumeric);
        let is_markup = match char {
            '\\' | '`' | '*' | '[' | ']' | '<' | '&' | '#' | '|' | '~' => true,
            '_' => !(is_in_word(before) && is_in_word(chars.peek().copied())),
            '>' => before.is_none(),
            _ => false,
        };
        if is_markup {
            escaped.push('\\');
        }
        escaped.push(char);
        before = Some(char);
    }
    escaped
}

/// The words of a text, a number with its unit as one.
fn words(text: &str) -> impl Iterator<Item = String> {
    let is_number = |word: &str| {
        word.contains(|it: char| it.is_ascii_digit())
            && word
                .chars()
                .all(|it| it.is_ascii_digit() || "(+-.,".contains(it))
    };
    let is_unit = |word: &str| {
        let word = word.trim_end_matches(|it: char| it.is_ascii_punctuation() && it != '%');
        matches!(
            word,
            "%" | "byte" | "bytes" | "B" | "KiB" | "MiB" | "GiB" | "TiB"
        )
    };
    let mut words = text.split_whitespace().peekable();
    std::iter::from_fn(move || {
        let word = words.next()?;
        let unit = words.next_if(|unit| is_number(word) && is_unit(unit));
        Some(unit.map_or_else(|| word.to_owned(), |unit| format!("{word} {unit}")))
    })
}

/// Writes `text` in lines of at most `width` characters, unless a word is longer.
fn wrapped(out: &mut impl Write, text: &str, width: usize, on: &str, off: &str) -> io::Result<()> {
    let width = width.min(MOST);
    let text = printable(text);
    let (mut line, mut used) = (String::new(), 0);
    for word in words(&text) {
        // Who copies a path wants all of it.
        let word = cut(&word, width.max(LONGEST));
        let own = length(&word);
        if used > 0 && used + 1 + own > width {
            writeln!(out, "{on}{line}{off}")?;
            line.clear();
            used = 0;
        }
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        line.push_str(&word);
        used += own;
    }
    writeln!(out, "{on}{line}{off}")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::report::table::{Cell, Column, Place};

    fn page() -> Page {
        let mut table = Table::new(&[Column::new("bytes", "bytes", Place::Row)]);
        table.rows.push(vec![Cell::Bytes(7)]);
        let mut page = Page::default();
        page.verdict("jit_f: *much* \u{1b}[31m is occupied");
        page.text("One sentence that is too long for the line.");
        page.table(table.clone());
        page.heading("By what");
        page.table(table);
        page.table(Table::new(&[]));
        page.text("The end.");
        page
    }

    #[test]
    fn on_a_terminal() {
        let mut out = Vec::new();
        page().write_text(&mut out, 30).unwrap();
        let text = String::from_utf8(out).unwrap().replace('\u{1b}', "^");
        expect![[r#"
            ^[1mjit_f: *much* �[31m is^[0m
            ^[1moccupied^[0m
            One sentence that is too long
            for the line.

            ^[1mbytes^[0m
              7 B

            ^[1mBy what^[0m
            ^[1mbytes^[0m
              7 B

            The end.
        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        let text = "it takes (1,024 bytes), 3.76 MiB, 12 % of 7 values";
        let words: Vec<String> = words(text).collect();
        assert_eq!(
            words,
            [
                "it",
                "takes",
                "(1,024 bytes),",
                "3.76 MiB,",
                "12 %",
                "of",
                "7",
                "values"
            ]
        );
    }

    #[test]
    fn more_is_red_and_less_is_green() {
        let mut table = Table::new(&[Column::new("delta", "delta", Place::Row)]);
        let cells = [Cell::Delta(2048), Cell::Delta(0), Cell::Difference(-7)];
        table.rows = cells.map(|cell| vec![cell]).into();
        let mut page = Page::default();
        page.table(table);
        let mut out = Vec::new();
        page.write_text(&mut out, 80).unwrap();
        let text = String::from_utf8(out).unwrap().replace('\u{1b}', "^");
        assert_eq!(
            text,
            "^[1m   delta^[0m\n^[31m+2.0 KiB^[0m\n     0 B\n^[32m      -7^[0m\n"
        );
    }

    #[test]
    fn as_markdown() {
        let mut out = Vec::new();
        page().write_markdown(&mut out).unwrap();
        expect![[r#"
            **jit_f: \*much\* �\[31m is occupied**

            One sentence that is too long for the line.

            | bytes |
            |--:|
            | 7 B |

            ### By what

            | bytes |
            |--:|
            | 7 B |

            The end.
        "#]]
        .assert_eq(&String::from_utf8(out).unwrap());
    }

    #[test]
    fn about_one_subject() {
        let page = page().about("jit_f");
        assert_eq!(page.title(), Some("*much* \u{1b}[31m is occupied"));
        let same = page.clone().about("jit_g");
        assert_eq!(same, page);
        assert_eq!(page.headings().collect::<Vec<_>>(), ["By what"]);
        assert_eq!(page.sentences().count(), 4);
        let mut page = Page::default();
        page.verdict("f: no value");
        assert_eq!(page.about("f").title(), Some("No value"));
    }

    /// Of a name of many megabytes, which stands in several places of a page.
    #[test]
    fn long_texts_are_cut_in_every_form() {
        let mut page = Page::default();
        let long = "a".repeat(1 << 20);
        page.verdict(&*long);
        page.text(&*long);
        let mut table = Table::new(&[Column::new("value", "name", Place::Whole)]);
        table.rows = vec![vec![Cell::text(&*long)]];
        page.table(table.clone());
        let mut markdown = Vec::new();
        page.write_markdown(&mut markdown).unwrap();
        for bytes in [
            page.html().into_string().len(),
            markdown.len(),
            page.plain_text(80).len(),
        ] {
            assert!((1000..100_000).contains(&bytes), "{bytes}");
        }
        let mut csv = Vec::new();
        table.write_csv(&mut csv).unwrap();
        assert!(csv.len() > long.len(), "programs get all of it");
    }

    #[test]
    fn as_html() {
        let mut page = page();
        page.text("</p><script> of `a_b` is ` not code");
        page.text("</p><script> of `a_b` is `code`");
        expect![[r#"
            <p class="verdict">jit_f: *much* �[31m is occupied</p>
            <p>One sentence that is too long for the line.</p>
            <div class="table">
            <table>
            <thead>
            <tr>
            <th class="number">bytes</th>
            </tr>
            </thead>
            <tbody>
            <tr>
            <td class="number" data-value="7" title="7 B">7 B</td>
            </tr>
            </tbody>
            </table>
            </div>
            <h3>By what</h3>
            <div class="table">
            <table>
            <thead>
            <tr>
            <th class="number">bytes</th>
            </tr>
            </thead>
            <tbody>
            <tr>
            <td class="number" data-value="7" title="7 B">7 B</td>
            </tr>
            </tbody>
            </table>
            </div>
            <p>The end.</p>
            <p>&lt;/p&gt;&lt;script&gt; of `a_b` is ` not code</p>
            <p>&lt;/p&gt;&lt;script&gt; of <code>a_b</code> is <code>code</code>
            </p>"#]]
        .assert_eq(&page.html().into_string().replace("><", ">\n<"));
    }
}
