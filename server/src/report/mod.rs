//! What people and programs read. Findings: [`text`] with the lines in question, [`json`],
//! [`sarif`] for code scanning, [`markdown`] for comments. Answers about memory: [`records`] for
//! programs, [`pages`] made of them for people, [`html`] around these, [`chart`]s drawn as [`svg`]
//! or [`text_map`], and [`export`] for other programs.

pub mod chart;
pub mod export;
pub mod html;
pub mod json;
pub mod markdown;
pub mod page;
pub mod pages;
pub mod records;
pub mod sarif;
pub mod svg;
pub mod table;
pub mod text;
pub mod text_map;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::path::Path;

use buflens_syntax::{Encoding, LineColumn};

use crate::checks::{Finding, Severities, Severity};
use crate::model::{Dump, Place, is_hidden};

/// A finding with the severity that it has for this user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The severity.
    pub severity: Severity,
    /// What was found.
    pub finding: Finding,
}

/// Findings with their severities, without those that are off.
pub fn judged(findings: impl IntoIterator<Item = Finding>, severities: &Severities) -> Vec<Judged> {
    let judge = |finding: Finding| {
        Some(Judged {
            severity: severities.of(finding.code)?,
            finding,
        })
    };
    findings.into_iter().filter_map(judge).collect()
}

/// How many findings there are of each severity, and in how many dumps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// By severity, in the order of [`Severity`].
    findings: [usize; 4],
    /// Dumps looked at, those without findings included.
    pub dumps: usize,
    /// HLO texts without dumps.
    pub texts: usize,
}

impl Counts {
    /// Counts a finding.
    pub fn add(&mut self, severity: Severity) {
        self.findings[severity as usize] += 1;
    }

    /// How many findings have this severity.
    pub fn of(&self, severity: Severity) -> usize {
        self.findings[severity as usize]
    }
}

/// The worst of many findings in some form: budgets first, then by severity, then as they came.
struct Worst<T> {
    most: usize,
    /// With what they are sorted by.
    kept: Vec<((bool, Reverse<Severity>), T)>,
    pushed: usize,
}

impl<T> Worst<T> {
    /// At most so many.
    fn new(most: usize) -> Self {
        Self {
            most,
            kept: Vec::new(),
            pushed: 0,
        }
    }

    /// Adds the form of a finding.
    fn push(&mut self, judged: &Judged, form: T) {
        let rank = (!judged.finding.code.is_budget(), Reverse(judged.severity));
        self.kept.push((rank, form));
        self.pushed += 1;
        if self.kept.len() >= self.most.saturating_mul(2) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        self.kept.sort_by_key(|(rank, _)| *rank);
        self.kept.truncate(self.most);
    }

    /// The worst, and how many others there were.
    fn finish(mut self) -> (Vec<T>, usize) {
        self.cut();
        let left_out = self.pushed - self.kept.len();
        (
            self.kept.into_iter().map(|(_, form)| form).collect(),
            left_out,
        )
    }
}

/// A place as people count it: lines and columns from 1, columns in characters.
struct Spot<'d> {
    path: &'d Path,
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
}

impl<'d> Spot<'d> {
    /// `None` if the dump has no such file.
    fn new(dump: &'d Dump, place: &Place) -> Option<Self> {
        let file = dump.files.get(place.file)?;
        let of = |offset: u32| file.document.line_column(offset, Encoding::Utf32);
        let (LineColumn { line, column }, end) = (of(place.range.start), of(place.range.end));
        let (end_line, end_column) = (end.line + 1, end.column + 1);
        Some(Self {
            path: &file.path,
            line: line + 1,
            column: column + 1,
            end_line,
            end_column,
        })
    }
}

/// `text` without control characters and [`is_hidden`] marks: text from a file must not be able to steer a
/// terminal, nor to show as another one.
pub fn printable(text: &str) -> Cow<'_, str> {
    let harmful =
        |char: char| (char.is_control() && !matches!(char, '\n' | '\t')) || is_hidden(char);
    if text.contains(harmful) {
        Cow::Owned(text.replace(harmful, "\u{FFFD}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// A path on one line: whatever its characters are, it is followed by a place or a message there.
pub fn path_on_a_line(path: &Path) -> String {
    printable(&path.to_string_lossy()).replace(['\n', '\t'], "\u{FFFD}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Such as reorder text, or take no room.
    #[test]
    fn control_characters_do_not_reach_a_terminal() {
        assert_eq!(
            printable("a\u{1b}[31mb\r\n\tc\u{202e}d"),
            "a\u{FFFD}[31mb\u{FFFD}\n\tc\u{FFFD}d"
        );
        for char in
            "\u{7f}\u{9b}\u{ad}\u{61c}\u{180e}\u{200b}\u{2029}\u{2064}\u{206f}\u{fffb}\u{e0041}"
                .chars()
        {
            assert_eq!(printable(&char.to_string()), "\u{FFFD}", "{char:?}");
        }
        assert!(matches!(printable("a\n\tb"), Cow::Borrowed(_)));
    }
}
