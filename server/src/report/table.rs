//! Tables for terminals, documents and spreadsheets. A cell knows what it is, so that people get
//! rounded bytes and programs exact ones.

mod below;
mod cell;

use std::borrow::Cow;
use std::io::{self, Write};

use maud::{Markup, html};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use self::below::below_lines;
pub use self::cell::{Cell, times};

/// Blanks between columns.
const GAP: usize = 2;
/// Blanks before what stands below a row.
const INDENT: usize = 6;
/// What can be cut is not cut below so many characters.
const LEAST: usize = 12;

/// People are shown so many columns of a text at most: names are as long as whoever wrote them likes.
const LONGEST: usize = 10_000;

/// Where a column stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the row, as wide as its cells.
    Row,
    /// In the row; long cells are cut in the middle.
    Cut,
    /// In the row if nothing has to be cut for it, else below the row and never cut.
    Whole,
    /// In the row if that fits then, however much is cut for it; else below the row.
    Loose,
    /// On a terminal below the row, with others of its kind, long ones cut in the middle.
    Below,
    /// Below the row and not cut for the sake of the others: on a line of its own where they would have
    /// no room beside it.
    Own,
    /// Below the row if the others leave room.
    Spare,
    /// Only where programs read it.
    Exact,
}

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// What people read above it.
    pub title: &'static str,
    /// What programs call it; empty if it is for people only.
    pub key: &'static str,
    /// Where it stands.
    pub place: Place,
}

impl Column {
    /// A column with these names.
    pub const fn new(title: &'static str, key: &'static str, place: Place) -> Self {
        Self { title, key, place }
    }
}

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, each with a cell for each column.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: &[Column]) -> Self {
        Self {
            columns: columns.into(),
            rows: Vec::new(),
        }
    }

    /// Writes the table for a terminal of `width` columns. No line is longer, unless the numbers
    /// alone need more, or what is never cut.
    pub fn write_text(&self, out: &mut impl Write, width: usize) -> io::Result<()> {
        let widths = self.widths(width);
        let is_below = |at: usize| match self.columns[at].place {
            Place::Below | Place::Own | Place::Spare => true,
            Place::Whole | Place::Loose => widths[at] == 0,
            _ => false,
        };
        let layout = widths.iter().enumerate();
        let layout: Vec<(usize, bool)> = layout
            .map(|(at, &width)| (width, self.is_words(at)))
            .collect();
        let titles: Vec<Cow<str>> = self.columns.iter().map(|it| it.title.into()).collect();
        let title = row_text(&titles, &[], &layout);
        if !title.trim().is_empty() {
            writeln!(out, "\u{1b}[1m{title}\u{1b}[0m")?;
        }
        for row in &self.rows {
            let cells: Vec<Cow<str>> = row.iter().map(Cell::shown).collect();
            writeln!(out, "{}", row_text(&cells, row, &layout))?;
            let below = cells.into_iter().enumerate();
            let below = below.filter(|(at, cell)| is_below(*at) && !cell.is_empty());
            let below: Vec<(Place, Cow<str>)> = below
                .map(|(at, cell)| (self.columns[at].place, cell))
                .collect();
            for text in below_lines(&below, width.saturating_sub(INDENT)) {
                writeln!(out, "{:INDENT$}\u{1b}[2m{text}\u{1b}[0m", "")?;
            }
        }
        Ok(())
    }

    /// The width of each column; 0 for what is not in the row.
    fn widths(&self, width: usize) -> Vec<usize> {
        let sum = |widths: &[usize]| widths.iter().sum::<usize>() + Self::gaps(widths);
        if sum(&self.widths_without(&[], usize::MAX)) <= width {
            return self.widths_without(&[], width);
        }
        let widths = self.widths_without(&[Place::Whole], width);
        if sum(&widths) <= width {
            return widths;
        }
        self.widths_without(&[Place::Whole, Place::Loose], width)
    }

    /// Blanks between the columns of a row.
    fn gaps(widths: &[usize]) -> usize {
        let in_row = widths.iter().filter(|&&width| width > 0).count();
        GAP * in_row.saturating_sub(1)
    }

    /// The width of each column, where those of these places are below the row.
    fn widths_without(&self, below: &[Place], width: usize) -> Vec<usize> {
        let is_in_row = |at: usize| self.is_in_row(at) && !below.contains(&self.columns[at].place);
        let natural = self.columns.iter().enumerate().map(|(at, column)| {
            let cells = self.rows.iter().map(|row| length(&row[at].shown()));
            if is_in_row(at) {
                // A column of blanks takes part as well.
                cells.max().unwrap_or(0).max(length(column.title)).max(1)
            } else {
                0
            }
        });
        let mut widths: Vec<usize> = natural.collect();
        let gaps = Self::gaps(&widths);
        let is_cut = |at: &usize| is_in_row(*at) && self.columns[*at].place == Place::Cut;
        let (cuts, fixed): (Vec<usize>, Vec<usize>) = (0..widths.len()).partition(is_cut);
        let fixed: usize = fixed.into_iter().map(|at| widths[at]).sum();
        let natural: Vec<usize> = cuts.iter().map(|&at| widths[at]).collect();
        let left = width.saturating_sub(fixed + gaps);
        for (at, share) in cuts.iter().zip(shares(&natural, left)) {
            widths[*at] = share;
        }
        widths
    }

    fn is_in_row(&self, column: usize) -> bool {
        let place = self.columns[column].place;
        let is_below = matches!(
            place,
            Place::Below | Place::Own | Place::Spare | Place::Exact
        );
        !is_below && self.is_filled(column)
    }

    /// The columns of a document.
    fn columns_shown(&self) -> Vec<usize> {
        let shown = |at: &usize| self.columns[*at].place != Place::Exact && self.is_filled(*at);
        (0..self.columns.len()).filter(shown).collect()
    }

    /// A column in which nothing stands is not shown.
    fn is_filled(&self, column: usize) -> bool {
        self.rows.iter().any(|row| row[column] != Cell::Empty)
    }

    fn is_words(&self, column: usize) -> bool {
        let mut cells = self.rows.iter().map(|row| &row[column]);
        cells.clone().any(Cell::is_text) || cells.all(|cell| *cell == Cell::Empty)
    }

    /// Writes the table as Markdown, each cell in a cell.
    pub fn write_markdown(&self, out: &mut impl Write) -> io::Result<()> {
        let columns = self.columns_shown();
        let titles: Vec<&str> = columns.iter().map(|&at| self.columns[at].title).collect();
        writeln!(out, "| {} |", titles.join(" | "))?;
        let rule = |&at: &usize| if self.is_words(at) { "---" } else { "--:" };
        let rules = columns.iter().map(rule);
        writeln!(out, "|{}|", rules.collect::<Vec<_>>().join("|"))?;
        for row in &self.rows {
            let cells = columns.iter().map(|&at| match &row[at] {
                Cell::Empty => String::new(),
                cell @ Cell::Text(_) => code(&cell.shown()),
                cell => cell.shown().into_owned(),
            });
            writeln!(out, "| {} |", cells.collect::<Vec<_>>().join(" | "))?;
        }
        Ok(())
    }

    /// The table as a part of an HTML document. Rounded numbers tell the exact ones to who points at
    /// them.
    pub fn html(&self) -> Markup {
        let columns = self.columns_shown();
        html! {
            div.table { table {
                thead { tr {
                    @for &at in &columns {
                        th.number[!self.is_words(at)] { (self.columns[at].title) }
                    }
                } }
                tbody { @for row in &self.rows { tr {
                    @for &at in &columns {
                        @let cell = &row[at];
                        td.number[!cell.is_text()] data-value=[cell.sort_key()] title=[cell.in_full()] {
                            (cell.html())
                        }
                    }
                } } }
            } }
        }
    }

    /// Writes the table as comma-separated values, with the keys in the first line.
    pub fn write_csv(&self, out: impl Write) -> io::Result<()> {
        // It looks through the rest of a field for quotes each time this is full, and shapes may take megabytes.
        let mut writer = csv::WriterBuilder::new();
        let mut writer = writer.buffer_capacity(1 << 20).from_writer(out);
        let columns = self.columns.iter().enumerate();
        let columns: Vec<(usize, &Column)> = columns.filter(|(_, it)| !it.key.is_empty()).collect();
        let keys = columns.iter().map(|(_, column)| column.key);
        writer.write_record(keys).map_err(cause)?;
        for row in &self.rows {
            let cells = columns.iter().map(|(at, _)| row[*at].in_spreadsheet());
            writer
                .write_record(cells.map(Cow::into_owned))
                .map_err(cause)?;
        }
        writer.flush()
    }
}

/// The cells of a row side by side, each in the width of its column, words on the left and numbers on the
/// right: `layout` has each column's width, 0 if it is not in the row, and whether it has words. `row` has
/// the colours, if there are any.
fn row_text(cells: &[Cow<str>], row: &[Cell], layout: &[(usize, bool)]) -> String {
    let mut text = String::new();
    let mut is_first = true;
    for (at, &(width, is_words)) in layout.iter().enumerate() {
        if width == 0 {
            continue;
        }
        if !is_first {
            text.push_str("  ");
        }
        is_first = false;
        let cell = cut(&cells[at], width);
        let pad = " ".repeat(width.saturating_sub(length(&cell)));
        let colour = row.get(at).and_then(Cell::colour);
        let parts: [&str; 4] = match colour {
            Some(on) => [on, &pad, &cell, "\u{1b}[0m"],
            None if is_words => [&cell, &pad, "", ""],
            None => [&pad, &cell, "", ""],
        };
        text.extend(parts);
    }
    text.truncate(text.trim_end().len());
    text
}

/// The error beneath, by which a closed pipe is known.
fn cause(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// Words of a dump in Markdown: as code, since names are full of what Markdown takes for marks.
fn code(text: &str) -> String {
    let longest = text.split(|char| char != '`').map(str::len).max();
    let fence = "`".repeat(longest.unwrap_or(0) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    // A bar ends a cell even in code.
    let text = text.replace('|', "\\|");
    if text.is_empty() {
        return text;
    }
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// How many columns of a terminal the text takes. Of control characters there are none left.
pub fn length(text: &str) -> usize {
    text.width()
}

/// `text` in at most `width` columns, cut in the middle: both ends of a name tell something.
pub fn cut(text: &str, width: usize) -> Cow<'_, str> {
    if length(text) <= width {
        return text.into();
    }
    let kept = width.saturating_sub(3);
    let (head, tail) = (kept.div_ceil(2), kept / 2);
    let start = fitting(text.chars(), head);
    let end = fitting(text.chars().rev(), tail);
    let (start, end) = (&text[..start], &text[text.len() - end..]);
    format!("{start}{}{end}", &"..."[..width.min(3)]).into()
}

/// `text` as people are shown it, wherever that is.
pub fn shown(text: &str) -> Cow<'_, str> {
    cut(text, LONGEST)
}

/// The bytes of as many of the `chars` as `width` columns have room for.
fn fitting(chars: impl Iterator<Item = char>, width: usize) -> usize {
    let mut left = width;
    chars
        .map_while(|char| {
            left = left.checked_sub(char.width().unwrap_or(0))?;
            Some(char.len_utf8())
        })
        .sum()
}

/// Shares `available` out to those who need so much: the modest get all they need, the others
/// equal parts of the rest.
fn shares(needs: &[usize], available: usize) -> Vec<usize> {
    let mut shares = vec![0; needs.len()];
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_by_key(|&at| needs[at]);
    let mut rest = available;
    for (place, &at) in order.iter().enumerate() {
        let part = rest / (needs.len() - place);
        shares[at] = needs[at].min(part.max(LEAST));
        rest = rest.saturating_sub(shares[at]);
    }
    shares
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::below::below_text;
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&[
            Column::new("bytes", "bytes", Place::Row),
            Column::new("ratio", "ratio", Place::Row),
            Column::new("value", "name", Place::Cut),
            Column::new("shape", "shape", Place::Below),
            Column::new("path", "path", Place::Below),
            Column::new("", "id", Place::Exact),
        ]);
        table.rows.push(vec![
            Cell::Bytes(340_787_200),
            Cell::Ratio(1.0136),
            Cell::text("a|b\u{1b}[31m\n, \"c\""),
            Cell::text("f32[32,513,5120]"),
            Cell::text("jit(conv_general_dilated)/jit(main)/conv_general_dilated"),
            Cell::Number(41),
        ]);
        table.rows.push(vec![
            Cell::Bytes(12),
            Cell::Empty,
            Cell::text("a_name_that_is_much_longer_than_what_is_left_of_the_line"),
            Cell::Empty,
            Cell::Empty,
            Cell::Number(1_234_567),
        ]);
        table
    }

    fn written(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>, expected: &Expect) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let text = text
            .replace("\u{1b}[0m", "")
            .replace("\u{1b}[1m", "")
            .replace("\u{1b}[2m", "");
        expected.assert_eq(&text);
        text
    }

    #[test]
    fn a_table_fits_the_terminal() {
        let text = written(
            |out| table().write_text(out, 50),
            &expect![[r#"
                bytes  ratio  value
            325.0 MiB  1.01x  a|b�[31m , "c"
                  f32[32,513,5120]  jit(conv_gen...ral_dilated
                 12 B         a_name_that_is_...ft_of_the_line
        "#]],
        );
        assert!(text.lines().all(|line| length(line) <= 50), "{text}");
    }

    #[test]
    fn markdown_shows_names_as_they_are() {
        written(
            |out| table().write_markdown(out),
            &expect![[r#"
            | bytes | ratio | value | shape | path |
            |--:|--:|---|---|---|
            | 325.0 MiB | 1.01x | `a\|b�[31m , "c"` | `f32[32,513,5120]` | `jit(conv_general_dilated)/jit(main)/conv_general_dilated` |
            | 12 B |  | `a_name_that_is_much_longer_than_what_is_left_of_the_line` |  |  |
        "#]],
        );
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`a"), "`` `a ``");
    }

    #[test]
    fn programs_get_exact_numbers() {
        written(
            |out| table().write_csv(out),
            &expect![[r#"
            bytes,ratio,name,shape,path,id
            340787200,1.0136,"a|b�[31m , ""c""","f32[32,513,5120]",jit(conv_general_dilated)/jit(main)/conv_general_dilated,41
            12,,a_name_that_is_much_longer_than_what_is_left_of_the_line,,,1234567
        "#]],
        );
    }

    #[test]
    fn shapes_are_not_cut_for_what_stands_beside_them() {
        let mut table = table();
        table.columns[3].place = Place::Own;
        let lines = |table: &Table, width: usize| {
            let mut out = anstream::StripStream::new(Vec::new());
            table.write_text(&mut out, width).unwrap();
            let out = String::from_utf8(out.into_inner()).unwrap();
            out.lines().skip(2).map(str::to_owned).collect::<Vec<_>>()
        };
        let (shape, path) = (
            "f32[32,513,5120]{2,1,0:T(8,128)}",
            "jit(f)/transpose(jvp(g))/dot_general",
        );
        table.rows.truncate(1);
        table.rows[0][3] = Cell::text(shape);
        table.rows[0][4] = Cell::text(path);
        assert_eq!(
            lines(&table, 60),
            [format!("      {shape}  jit(f)/tr..._general")]
        );
        assert_eq!(
            lines(&table, 44),
            [format!("      {shape}"), format!("      {path}")]
        );
        table.rows[0][3] = Cell::text(format!("{shape} -> {{0,1,2}}"));
        assert_eq!(
            lines(&table, 44)[..2],
            [format!("      {shape} ->"), "      {0,1,2}".to_owned()]
        );
    }

    #[test]
    fn names_are_cut_in_the_middle() {
        assert_eq!(cut("abcdefghij", 10), "abcdefghij");
        assert_eq!(cut("abcdefghij", 8), "abc...ij");
        assert_eq!(cut("abcdefghij", 2), "..");
        assert_eq!(cut("äöüßäöüß", 7), "äö...üß");
        // Each takes two columns.
        assert_eq!(cut("模型/訓練/損失.py", 17), "模型/訓練/損失.py");
        assert_eq!(cut("模型/訓練/損失.py", 14), "模型/...失.py");
    }

    #[test]
    fn what_is_loose_stands_below_where_the_row_would_be_too_wide() {
        let mut table = Table::new(&[
            Column::new("bytes", "", Place::Row),
            Column::new("dimension", "", Place::Loose),
            Column::new("value", "", Place::Cut),
        ]);
        table.rows.push(vec![
            Cell::Bytes(1024),
            Cell::text("1: 546875 -> 546944"),
            Cell::text("a_name_that_is_rather_long"),
        ]);
        written(
            |out| table.write_text(out, 42),
            &expect![[r#"
                  bytes  dimension            value
                1.0 KiB  1: 546875 -> 546944  a_nam...long
            "#]],
        );
        written(
            |out| table.write_text(out, 40),
            &expect![[r#"
                  bytes  value
                1.0 KiB  a_name_that_is_rather_long
                      1: 546875 -> 546944
            "#]],
        );
    }

    #[test]
    fn what_stands_below_is_left_out_before_it_is_unreadable() {
        let cells = [
            (Place::Below, Cow::from("temp")),
            (Place::Below, "f32[4,16,8192,8192]{2,3,1,0:T(8,128)}".into()),
            (Place::Below, "oom.py:30".into()),
            (Place::Below, "512.0 KiB shared".into()),
            (Place::Spare, "jit(f)/while/body/dot_general".into()),
        ];
        let check = |width: usize, expected: &str| {
            let text = below_text(&cells, width);
            assert_eq!(text, expected);
            assert!(length(&text) <= width);
        };
        check(
            108,
            "temp  f32[4,16,8192,8192]{2,3,1,0:T(8,128)}  oom.py:30  512.0 KiB shared  \
             jit(f)/while/body/dot_general",
        );
        check(
            88,
            "temp  f32[4,16,8192,8192]{2,3,1,0:T(8,128)}  oom.py:30  512.0 KiB shared  \
             jit(f)...neral",
        );
        check(
            80,
            "temp  f32[4,16,8192,8192]{2,3,1,0:T(8,128)}  oom.py:30  512.0 KiB shared",
        );
        check(
            60,
            "temp  f32[4,16,81...0:T(8,128)}  oom.py:30  512.0 KiB shared",
        );
        check(40, "temp  f32[4,16,8...:T(8,128)}  oom.py:30");
        check(9, "temp");
    }

    #[test]
    fn what_is_to_be_whole_is_never_cut() {
        let mut table = Table::new(&[
            Column::new("bytes", "", Place::Row),
            Column::new("module", "", Place::Cut),
            Column::new("files", "", Place::Whole),
        ]);
        table.rows.push(vec![
            Cell::Bytes(7),
            Cell::text("jit_oom_attention_grad"),
            Cell::text("dumps/module_0006*"),
        ]);
        written(
            |out| table.write_text(out, 60),
            &expect![[r#"
            bytes  module                  files
              7 B  jit_oom_attention_grad  dumps/module_0006*
        "#]],
        );
        written(
            |out| table.write_text(out, 40),
            &expect![[r#"
            bytes  module
              7 B  jit_oom_attention_grad
                  dumps/module_0006*
        "#]],
        );
    }

    #[test]
    fn the_modest_get_what_they_need() {
        assert_eq!(shares(&[5, 100, 40], 95), [5, 50, 40]);
        assert_eq!(shares(&[5, 100, 80], 95), [5, 45, 45]);
        assert!(shares(&[], 95).is_empty());
    }
}
