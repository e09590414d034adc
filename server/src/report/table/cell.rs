//! What stands in one place of a table.

use std::borrow::Cow;

use maud::{Markup, html};

use super::{length, shown};
use crate::model::bytes::{grouped, rounded, signed};
use crate::report::printable;

/// So many characters are shown of words in a document, wherever they stand.
const SHORT: usize = 24;

/// What a table says in one place.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Nothing is known, or nothing is to be said.
    Empty,
    /// Words.
    Text(String),
    /// A number.
    Number(u64),
    /// Bytes.
    Bytes(u64),
    /// Bytes less than elsewhere.
    Saved(u64),
    /// Bytes more than before, or less.
    Delta(i64),
    /// A number more than before, or less.
    Difference(i64),
    /// How many times as large.
    Ratio(f64),
    /// Percent.
    Percent(f64),
    /// By how many percent it is more than before, or less.
    Growth(f64),
}

/// How many times as much there is after growth by so many percent, where percent no longer tell people how
/// much that is.
#[expect(clippy::cast_sign_loss, reason = "it is 11 at least")]
pub fn times(percent: f64) -> Option<String> {
    let times = percent / 100.0 + 1.0;
    (percent >= 1000.0).then(|| grouped(times.round() as u64))
}

impl Cell {
    /// Bytes, if they are known.
    pub fn bytes(bytes: Option<u64>) -> Self {
        bytes.map_or(Self::Empty, Self::Bytes)
    }

    /// A number, if it is known.
    pub fn number(number: Option<u64>) -> Self {
        number.map_or(Self::Empty, Self::Number)
    }

    /// Words, if there are any.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// For people.
    pub(super) fn shown(&self) -> Cow<'_, str> {
        match self {
            Self::Empty => "".into(),
            Self::Text(text) => match shown(text) {
                Cow::Borrowed(text) => line(text),
                Cow::Owned(text) => line(&text).into_owned().into(),
            },
            Self::Number(number) => grouped(*number).into(),
            Self::Bytes(bytes) => rounded(*bytes).into(),
            Self::Saved(0) => "0 B".into(),
            Self::Saved(bytes) => format!("-{}", rounded(*bytes)).into(),
            Self::Delta(bytes) => signed(*bytes, rounded).into(),
            Self::Difference(number) => signed(*number, grouped).into(),
            Self::Ratio(ratio) => format!("{ratio:.2}x").into(),
            Self::Growth(percent) => match times(*percent) {
                Some(times) => format!("{times}x").into(),
                None => Self::Percent(*percent).shown().into_owned().into(),
            },
            Self::Percent(percent) => format!("{percent:.1} %").into(),
        }
    }

    /// The same in a document, where a path may be broken after each of its steps.
    pub(super) fn html(&self) -> Markup {
        let shown = self.shown();
        html! {
            @for (at, part) in shown.split_inclusive('/').enumerate() {
                @if at > 0 && self.is_text() { wbr; }
                (part)
            }
        }
    }

    /// What turns the cell's colour on on a terminal: more is red, less is green.
    pub(super) fn colour(&self) -> Option<&'static str> {
        match self {
            Self::Delta(1..) | Self::Difference(1..) => Some("\u{1b}[31m"),
            Self::Delta(..=-1) | Self::Difference(..=-1) => Some("\u{1b}[32m"),
            _ => None,
        }
    }

    /// For programs.
    pub(super) fn exact(&self) -> Cow<'_, str> {
        match self {
            Self::Empty => "".into(),
            Self::Text(text) => line(text),
            Self::Number(number) | Self::Bytes(number) | Self::Saved(number) => {
                number.to_string().into()
            }
            Self::Delta(number) | Self::Difference(number) => number.to_string().into(),
            Self::Ratio(ratio) => ratio.to_string().into(),
            Self::Percent(percent) | Self::Growth(percent) => format!("{percent:.3}").into(),
        }
    }

    /// For programs, of which some take text for a formula and run it.
    pub(super) fn in_spreadsheet(&self) -> Cow<'_, str> {
        match (self, self.exact()) {
            (Self::Text(_), text) if text.starts_with(['=', '+', '-', '@']) => {
                format!("'{text}").into()
            }
            (_, text) => text,
        }
    }

    /// What is told to who points at it: bytes in full, and words that may be cut.
    pub(super) fn in_full(&self) -> Option<String> {
        match self {
            Self::Text(text) if length(text) > SHORT => Some(self.shown().into_owned()),
            Self::Bytes(bytes) => Some(format!("{} B", grouped(*bytes))),
            Self::Saved(bytes) => Some(format!("-{} B", grouped(*bytes))),
            Self::Delta(bytes) => Some(format!("{} B", signed(*bytes, grouped))),
            _ => None,
        }
    }

    /// The number to sort by, where people are shown something else.
    pub(super) fn sort_key(&self) -> Option<String> {
        let exact = self.exact();
        (!matches!(self, Self::Text(_)) && exact != self.shown()).then(|| exact.into_owned())
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }
}

impl<T: Into<String>> From<Option<T>> for Cell {
    fn from(text: Option<T>) -> Self {
        text.map_or(Self::Empty, |text| Self::Text(text.into()))
    }
}

/// `text` on one line and without control characters.
pub(super) fn line(text: &str) -> Cow<'_, str> {
    match printable(text) {
        clean if clean.contains(['\n', '\t']) => clean.replace(['\n', '\t'], " ").into(),
        clean => clean,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_from_next_to_nothing_is_a_factor() {
        for (percent, shown) in [
            (-50.0, "-50.0 %"),
            (999.9, "999.9 %"),
            (1000.0, "11x"),
            (614_400_000.0, "6,144,001x"),
        ] {
            assert_eq!(Cell::Growth(percent).shown(), shown);
        }
    }
}
