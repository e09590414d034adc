//! Findings: where a dump contradicts itself or the format.

use crate::model::{Dump, Place};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Advice for the editor only.
    Hint,
    /// Worth knowing.
    Information,
    /// Probably wrong.
    Warning,
    /// Wrong.
    Error,
}

/// What a finding is about. Each code has a section in `docs/diagnostics.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// A line that is no line of its section.
    Syntax,
}

impl Code {
    /// Every code.
    pub const ALL: [Self; 1] = [Self::Syntax];

    /// The code's name, in kebab-case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
        }
    }

    /// The severity where the user has not chosen another.
    pub fn severity(self) -> Severity {
        match self {
            Self::Syntax => Severity::Error,
        }
    }
}

/// A change that certainly mends a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What the change does, for the menu: `Change the total to 36864`.
    pub title: String,
    /// What is replaced.
    pub place: Place,
    /// By what.
    pub text: String,
}

/// Something that does not add up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is about.
    pub code: Code,
    /// The number or text that is off.
    pub place: Place,
    /// What was found and what was expected.
    pub message: String,
    /// Other places that take part, each with what it says.
    pub related: Vec<(Place, String)>,
    /// How to mend it, where that is certain.
    pub fix: Option<Fix>,
}

/// All findings of a dump, in the order of its files and their text.
pub fn check(dump: &Dump) -> Vec<Finding> {
    let _ = dump;
    Vec::new()
}
