//! What checks have found.

use super::counted;
use crate::model::{Dump, Place as DumpPlace};
use crate::report::page::Page;
use crate::report::table::{Cell, Column, Place, Table};
use crate::report::{Counts, Judged, Spot, text};

/// Longer lines are not shown.
const LINE: u32 = 160;
/// So many related places are named.
const RELATED: usize = 4;

/// The findings of a dump, the worst first; at most `limit` of them.
pub fn page(module: &str, dump: &Dump, findings: &[Judged], limit: usize) -> Page {
    let mut page = Page::default();
    let mut counts = Counts::default();
    for judged in findings {
        counts.add(judged.severity);
    }
    let found = if findings.is_empty() {
        "none".to_owned()
    } else {
        text::found(&counts)
    };
    page.verdict(format!("{module}: findings: {found}"));
    let mut sorted: Vec<&Judged> = findings.iter().collect();
    // Stable: those of a severity stay in the order of their places.
    sorted.sort_by_key(|judged| std::cmp::Reverse(judged.severity));
    let mut table = Table::new(&[
        Column::new("severity", "severity", Place::Row),
        Column::new("code", "code", Place::Row),
        Column::new("message", "message", Place::Cut),
        Column::new("place", "place", Place::Below),
        Column::new("line", "", Place::Below),
        Column::new("see also", "", Place::Below),
    ]);
    table.rows = sorted.iter().take(limit).map(|it| row(dump, it)).collect();
    page.table(table);
    if findings.len() > limit {
        page.text(format!(
            "... and {} more.",
            counted(findings.len() - limit, "finding")
        ));
    }
    page
}

fn row(dump: &Dump, judged: &Judged) -> Vec<Cell> {
    let finding = &judged.finding;
    let related = finding
        .related
        .iter()
        .take(RELATED)
        .map(|(place, message)| {
            let at = spot(dump, place).unwrap_or_default();
            format!("{message} ({at})")
        });
    let mut related: Vec<String> = related.collect();
    let more = finding.related.len().saturating_sub(RELATED);
    if more > 0 {
        related.push(format!("and {more} more"));
    }
    vec![
        Cell::text(judged.severity.name()),
        Cell::text(finding.code.name()),
        Cell::text(&finding.message),
        spot(dump, &finding.place).into(),
        line(dump, &finding.place).into(),
        match &related[..] {
            [] => Cell::Empty,
            related => Cell::text(related.join("; ")),
        },
    ]
}

/// `file.txt:22:50`, without the folders.
fn spot(dump: &Dump, place: &DumpPlace) -> Option<String> {
    let spot = Spot::new(dump, place)?;
    let name = spot.path.file_name().unwrap_or_default().to_string_lossy();
    Some(format!("{name}:{}:{}", spot.line, spot.column))
}

/// The text of the line that `place` begins on, if it is short.
fn line(dump: &Dump, place: &DumpPlace) -> Option<String> {
    let document = &dump.files.get(place.file)?.document;
    let range = document.line_range(document.line_at(place.range.start))?;
    if range.end.saturating_sub(range.start) > LINE {
        return None;
    }
    let text = document.slice(range).trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::report::text::tests::planted;

    #[test]
    fn the_worst_comes_first_with_its_line() {
        let (dump, findings) = planted();
        let mut out = Vec::new();
        page("jit_f", &dump, &findings, 1)
            .write_markdown(&mut out)
            .unwrap();
        expect![[r#"
            **jit_f: findings: 1 error, 1 hint**

            | severity | code | message | place | line | see also |
            |---|---|---|---|---|---|
            | `error` | `syntax` | `the value ends at 576` | `x.txt:3:37` | `value: <3 é.1 @0> (size=512,offset=64): f32[128]{0}` | `the size (x.txt:3:21); the allocation (x.txt:2:15)` |

            ... and 1 finding more.
        "#]].assert_eq(&String::from_utf8(out).unwrap());
        let none = page("jit_f", &dump, &[], 1);
        assert_eq!(none.title(), Some("jit_f: findings: none"));
    }
}
