//! Findings as people and programs read them: [`text`] with the lines in question, [`json`].

pub mod json;
pub mod text;

use std::borrow::Cow;
use std::path::Path;

use buflens_syntax::{Encoding, LineColumn};
use rustc_hash::FxHashMap;

use crate::checks::{Code, Finding, Severity};
use crate::model::{Dump, Place};

/// What the user has chosen instead of the codes' own severities.
#[derive(Debug, Clone, Default)]
pub struct Severities {
    /// `None` turns a code off.
    chosen: FxHashMap<Code, Option<Severity>>,
}

impl Severities {
    /// Gives `code` another severity, or turns it off with `None`.
    pub fn choose(&mut self, code: Code, severity: Option<Severity>) {
        self.chosen.insert(code, severity);
    }

    /// The severity of `code`; `None` if it is turned off.
    pub fn of(&self, code: Code) -> Option<Severity> {
        self.chosen
            .get(&code)
            .copied()
            .unwrap_or(Some(code.severity()))
    }
}

/// A finding with the severity that it has for this user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The severity.
    pub severity: Severity,
    /// What was found.
    pub finding: Finding,
}

/// How many findings there are of each severity, and in how many dumps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// By severity, in the order of [`Severity`].
    findings: [usize; 4],
    /// Dumps looked at, those without findings included.
    pub dumps: usize,
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

/// The name of a severity, as it is printed and as it is given in arguments.
pub fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Hint => "hint",
        Severity::Information => "information",
        Severity::Warning => "warning",
        Severity::Error => "error",
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

/// `text` without control characters: text from a file must not be able to steer a terminal.
pub fn printable(text: &str) -> Cow<'_, str> {
    let harmful = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    if text.contains(harmful) {
        Cow::Owned(text.replace(harmful, "\u{FFFD}"))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_severities_go_before_the_codes_own() {
        let mut severities = Severities::default();
        assert_eq!(severities.of(Code::Syntax), Some(Severity::Error));
        severities.choose(Code::Syntax, Some(Severity::Hint));
        assert_eq!(severities.of(Code::Syntax), Some(Severity::Hint));
        severities.choose(Code::Syntax, None);
        assert_eq!(severities.of(Code::Syntax), None);
    }

    #[test]
    fn control_characters_do_not_reach_a_terminal() {
        assert_eq!(
            printable("a\u{1b}[31mb\r\n\tc"),
            "a\u{FFFD}[31mb\u{FFFD}\n\tc"
        );
        assert!(matches!(printable("a\n\tb"), Cow::Borrowed(_)));
    }
}
