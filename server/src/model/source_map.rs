//! Where the files of source that dumps name lie on this machine.

use std::borrow::Cow;
use std::str::FromStr;

/// Folders of the machine that compiled, each with the folder that is the same here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceMap(Vec<Folders>);

/// A folder, or the beginning of several, there and here: `/app=/home/dev/project`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    from: String,
    to: String,
}

impl Folders {
    /// A folder as dumps name it, and the same one here.
    ///
    /// # Errors
    /// Where one of them is empty.
    pub fn new(from: &str, to: &str) -> Result<Self, String> {
        let trimmed = |path: &str| path.trim_end_matches(['/', '\\']).to_owned();
        if from.is_empty() || to.is_empty() {
            return Err("expected a folder as the dump names it, and the same one here".to_owned());
        }
        let (from, to) = (trimmed(from), trimmed(to));
        Ok(Self { from, to })
    }
}

impl FromStr for Folders {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text
            .split_once('=')
            .filter(|(from, to)| !from.is_empty() && !to.is_empty());
        let (from, to) = parts
            .ok_or("expected FROM=TO: a folder as the dump names it, and the same one here")?;
        Self::new(from, to)
    }
}

impl SourceMap {
    /// Every file is where the dump says.
    pub const EMPTY: Self = Self(Vec::new());

    /// A map of these. Of those that fit, the longest is taken.
    pub fn new(folders: impl IntoIterator<Item = Folders>) -> Self {
        let mut folders: Vec<Folders> = folders.into_iter().collect();
        folders.sort_by_key(|it| std::cmp::Reverse(it.from.len()));
        Self(folders)
    }

    /// The path on this machine of `file`, as a dump names it; as it is if no folder fits.
    pub fn here<'f>(&self, file: &'f str) -> Cow<'f, str> {
        let fitting = self
            .0
            .iter()
            .find_map(|it| Some((rest(file, &it.from)?, &it.to)));
        let Some((rest, to)) = fitting else {
            return file.into();
        };
        let separator = if to.contains('\\') { "\\" } else { "/" };
        let rest = rest.replace(['/', '\\'], separator);
        format!("{to}{separator}{rest}").into()
    }
}

/// What of `file` is below `folder`, whichever way separators are written.
fn rest<'f>(file: &'f str, folder: &str) -> Option<&'f str> {
    let is_separator = |byte: u8| matches!(byte, b'/' | b'\\');
    let (head, rest) = file.split_at_checked(folder.len())?;
    let is_same = head
        .bytes()
        .zip(folder.bytes())
        .all(|(one, other)| one == other || (is_separator(one) && is_separator(other)));
    let rest = rest
        .strip_prefix(['/', '\\'])
        .filter(|rest| !rest.is_empty())?;
    is_same.then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[&str]) -> SourceMap {
        SourceMap::new(pairs.iter().map(|pair| pair.parse().unwrap()))
    }

    #[test]
    fn the_longest_folder_is_taken() {
        let map = map(&["/app=/home/dev", "/app/lib/=/opt/lib", "/=/root"]);
        assert_eq!(map.here("/app/m.py"), "/home/dev/m.py");
        assert_eq!(map.here("/app/lib/m.py"), "/opt/lib/m.py");
        assert_eq!(map.here("/application/m.py"), "/root/application/m.py");
        assert_eq!(map.here("m.py"), "m.py");
        assert_eq!(map.here(""), "");
    }

    #[test]
    fn separators_are_those_of_the_folder_here() {
        let windows = map(&[r"C:\build\=/home/dev", r"/app=D:\dev"]);
        assert_eq!(windows.here(r"C:\build\pkg\m.py"), "/home/dev/pkg/m.py");
        assert_eq!(windows.here("C:/build/pkg/m.py"), "/home/dev/pkg/m.py");
        assert_eq!(windows.here("/app/pkg/m.py"), r"D:\dev\pkg\m.py");
    }

    #[test]
    fn what_is_no_pair_is_told() {
        for wrong in ["", "/a", "=/b", "/a="] {
            let problem = wrong.parse::<Folders>().expect_err(wrong);
            assert!(problem.starts_with("expected FROM=TO"), "{problem}");
        }
    }
}
