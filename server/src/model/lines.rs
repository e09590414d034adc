//! Lines of a file of source, as people ask for them, and which files that dumps name are meant.

use std::ops::RangeInclusive;
use std::str::FromStr;

/// `model.py`, `model.py:12` or `model.py:10-20`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    /// The file; a part of its path will do.
    pub file: String,
    /// The lines, from 1; `None` for all.
    pub range: Option<RangeInclusive<u32>>,
}

impl Lines {
    /// Whether they hold `line`. What stands at no known line is in the file alone.
    pub fn hold(&self, line: Option<u32>) -> bool {
        match (&self.range, line) {
            (None, _) => true,
            (Some(range), Some(line)) => range.contains(&line),
            (Some(_), None) => false,
        }
    }

    /// Whether the path of `file` is theirs or ends with it.
    pub fn are_of(&self, file: &str) -> bool {
        likeness(file, &self.file) >= Some(components(&self.file).count())
    }

    /// How far `line` is from them; 0 for one of them.
    pub fn distance(&self, line: u32) -> u32 {
        self.range.as_ref().map_or(0, |range| {
            let before = range.start().saturating_sub(line);
            before.max(line.saturating_sub(*range.end()))
        })
    }
}

impl FromStr for Lines {
    type Err = String;

    /// # Errors
    /// Says what was expected if there is no file, or a line is none.
    fn from_str(text: &str) -> Result<Self, String> {
        const EXPECTED: &str = "expected FILE.py, FILE.py:LINE or FILE.py:FIRST-LAST";
        // From the right: a path can hold colons.
        let (file, range) = match text
            .rsplit_once(':')
            .map(|(file, tail)| (file, tail.trim()))
        {
            Some((file, tail)) if tail.starts_with(|char: char| char.is_ascii_digit()) => {
                // Messages have a column behind the line.
                let (file, tail) = match file.rsplit_once(':') {
                    Some((before, line)) if line.parse::<u32>().is_ok() => (before, line),
                    _ => (file, tail),
                };
                let (first, last) = tail.split_once('-').unwrap_or((tail, tail));
                let (first, last): (u32, u32) = match (first.parse(), last.parse()) {
                    (Ok(first), Ok(last)) if 0 < first && first <= last => (first, last),
                    _ => {
                        return Err(format!(
                            "{EXPECTED}; `{tail}` is no line from 1, and no range of lines"
                        ));
                    }
                };
                (file, Some(first..=last))
            }
            _ => (text, None),
        };
        if components(file).next().is_none() {
            return Err(EXPECTED.to_owned());
        }
        let file = file.to_owned();
        Ok(Self { file, range })
    }
}

/// How much alike two paths are, the more the better: `usize::MAX` if they are the same, else how
/// many components at their ends are. `None` if not even the names are. A dump comes from another
/// machine, where the folders above were others.
pub fn likeness(one: &str, other: &str) -> Option<usize> {
    let (ones, others) = (components(one), components(other));
    let common = ones.zip(others).take_while(|(one, other)| one == other);
    let common = common.count();
    let is_all = || components(one).eq(components(other));
    let is_rooted = |path: &str| path.starts_with(['/', '\\']);
    match common {
        0 => None,
        _ if is_all() && is_rooted(one) == is_rooted(other) => Some(usize::MAX),
        common => Some(common),
    }
}

/// The components of a path of either kind of system, the last one first.
fn components(path: &str) -> impl Iterator<Item = &str> {
    let parts = path.rsplit(['/', '\\']);
    parts.filter(|part| !part.is_empty() && *part != ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let read = |text: &str| {
            let lines: Lines = text.parse().unwrap();
            let range = lines.range.map(|range| (*range.start(), *range.end()));
            (lines.file, range)
        };
        assert_eq!(read("model.py"), ("model.py".to_owned(), None));
        assert_eq!(read("a/b.py:12"), ("a/b.py".to_owned(), Some((12, 12))));
        assert_eq!(read("b.py:10-20"), ("b.py".to_owned(), Some((10, 20))));
        assert_eq!(read("b.py:10:7"), ("b.py".to_owned(), Some((10, 10))));
        assert_eq!(
            read(r"C:\m\b.py:3"),
            (r"C:\m\b.py".to_owned(), Some((3, 3)))
        );
        assert_eq!(read(r"C:\m\b.py"), (r"C:\m\b.py".to_owned(), None));
        assert_eq!(read("<string>"), ("<string>".to_owned(), None));
        for wrong in [
            "",
            ":3",
            "/",
            "b.py:0",
            "b.py:9-3",
            "b.py:3-",
            "b.py:99999999999",
        ] {
            let problem = wrong.parse::<Lines>().expect_err(wrong);
            assert!(problem.starts_with("expected FILE.py"), "{problem}");
        }
    }

    #[test]
    fn lines_hold_and_are_near() {
        let lines: Lines = "b.py:10-20".parse().unwrap();
        assert!(lines.hold(Some(10)) && lines.hold(Some(20)) && !lines.hold(Some(21)));
        assert!(!lines.hold(None));
        assert_eq!(
            [1, 10, 15, 20, 25].map(|line| lines.distance(line)),
            [9, 0, 0, 0, 5]
        );
        let all: Lines = "b.py".parse().unwrap();
        assert!(all.hold(None) && all.distance(7) == 0);
    }

    #[test]
    fn paths_are_alike_from_their_ends() {
        assert_eq!(likeness("/a/b.py", "/a/b.py"), Some(usize::MAX));
        assert_eq!(likeness(r"\a\b.py", "/a/./b.py"), Some(usize::MAX));
        assert_eq!(likeness("b.py", "/b.py"), Some(1));
        assert_eq!(likeness("m/b.py", "/home/dev/m/b.py"), Some(2));
        assert_eq!(likeness("/srv/m/b.py", r"C:\dev\m\b.py"), Some(2));
        assert_eq!(likeness("ab.py", "b.py"), None);
        assert_eq!(likeness("", ""), None);
    }
}
