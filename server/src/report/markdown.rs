//! Findings as Markdown, for a comment on a pull request: budgets first, then the worst.

use std::io::{self, Write};

use super::page::Page;
use super::table::{Cell, Column, Place, Table};
use super::text::summary;
use super::{Counts, Judged, Spot, Worst};
use crate::checks::Code;
use crate::model::Dump;
use crate::model::bytes::counted;

/// So many findings are shown: a comment on GitHub has at most 65,536 characters.
const MOST: usize = 50;
/// So many characters of a message are shown.
const MOST_OF_MESSAGE: usize = 500;

/// Collects findings; the worst are written.
pub struct Writer {
    rows: Worst<(Code, Vec<Cell>)>,
}

impl Default for Writer {
    fn default() -> Self {
        Self {
            rows: Worst::new(MOST),
        }
    }
}

impl Writer {
    /// Takes the findings of a dump.
    pub fn findings(&mut self, dump: &Dump, findings: &[Judged]) {
        for judged in findings {
            let Some(spot) = Spot::new(dump, &judged.finding.place) else {
                continue;
            };
            let mut message: String = judged
                .finding
                .message
                .chars()
                .take(MOST_OF_MESSAGE)
                .collect();
            if message.len() < judged.finding.message.len() {
                message.push_str("...");
            }
            let row = vec![
                Cell::text(judged.severity.name()),
                Cell::text(judged.finding.code.name()),
                Cell::text(message),
                Cell::text(format!("{}:{}", spot.path.display(), spot.line)),
            ];
            self.rows.push(judged, (judged.finding.code, row));
        }
    }

    /// Writes everything; `notes` are about the whole run.
    pub fn finish(self, mut out: impl Write, counts: &Counts, notes: &[String]) -> io::Result<()> {
        let (rows, left_out) = self.rows.finish();
        let (budgets, others): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|(code, _)| code.is_budget());
        let mut page = Page::default();
        page.verdict(format!("buflens check: {}", summary(counts)));
        for (title, rows) in [("Budgets", budgets), ("Findings", others)] {
            if !rows.is_empty() {
                page.heading(title);
                page.table(table(rows));
            }
        }
        if left_out > 0 {
            page.text(format!("Not shown: {}.", counted(left_out, "more finding")));
        }
        for note in notes {
            page.text(format!("Note: {note}."));
        }
        page.write_markdown(&mut out)?;
        out.flush()
    }
}

fn table(rows: Vec<(Code, Vec<Cell>)>) -> Table {
    let mut table = Table::new(&[
        Column::new("severity", "severity", Place::Row),
        Column::new("code", "code", Place::Row),
        Column::new("finding", "message", Place::Row),
        Column::new("where", "file", Place::Row),
    ]);
    table.rows = rows.into_iter().map(|(_, row)| row).collect();
    table
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::report::text::tests::planted;

    #[test]
    fn budgets_come_first_and_nothing_of_a_dump_is_markup() {
        let (dump, mut findings) = planted();
        findings[1].finding.code = Code::MaxPeak;
        findings[1].finding.message = "<img src=x> | [a](b) `c`".to_owned();
        let mut writer = Writer::default();
        writer.findings(&dump, &findings);
        let mut counts = Counts {
            dumps: 1,
            ..Counts::default()
        };
        for judged in &findings {
            counts.add(judged.severity);
        }
        let mut out = Vec::new();
        writer
            .finish(&mut out, &counts, &["not in the baseline: a_b".to_owned()])
            .unwrap();
        expect![[r#"
            **buflens check: 1 error, 1 hint in 1 dump**

            ### Budgets

            | severity | code | finding | where |
            |---|---|---|---|
            | `hint` | `max-peak` | `` <img src=x> \| [a](b) `c` `` | `a dir/x.txt:1` |

            ### Findings

            | severity | code | finding | where |
            |---|---|---|---|
            | `error` | `syntax` | `the value ends at 576` | `a dir/x.txt:3` |

            Note: not in the baseline: a_b.
        "#]]
        .assert_eq(&String::from_utf8(out).unwrap());
    }

    #[test]
    fn a_comment_is_limited() {
        let (dump, findings) = planted();
        let mut long = findings[0].clone();
        long.finding.message = "|".repeat(10_000);
        let mut writer = Writer::default();
        writer.findings(&dump, &vec![long; 1000]);
        let mut out = Vec::new();
        writer.finish(&mut out, &Counts::default(), &[]).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("Not shown: 950 more findings."));
        assert!(text.len() < 65_536, "{}", text.len());
    }
}
