//! What people and shells name beside dumps: the beginnings of names, and all that begins so.

use std::fs;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashSet;

use super::names::{program_path, stem_or_path};

/// What has a name that begins with that of `path`, in its folder: the files that a shell completes up to `path`, which
/// may be the number of a module or the stem of a dump; or, if it ends in `*`, the files and folders that a shell would name.
pub(super) fn begun_with(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let pattern = name.strip_suffix(b"*");
    let start = pattern.unwrap_or(name);
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let is_begun = |other: &[u8]| {
        let rest = other.strip_prefix(start);
        // `module_01` is no beginning of `module_0123`.
        let ends = |rest: &[u8]| {
            start.last().is_some_and(|byte| !is_word(byte)) || !rest.first().is_some_and(is_word)
        };
        rest.is_some_and(|rest| pattern.is_some() || (!start.is_empty() && ends(rest)))
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let is_here = folder.as_os_str().is_empty();
    let entries = fs::read_dir(if is_here { Path::new(".") } else { folder });
    let names = entries.into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name());
    let begun = names.filter(|name| is_begun(name.as_encoded_bytes()));
    let begun = begun.map(|name| folder.join(name));
    let is_meant = |path: &PathBuf| path.is_file() || (pattern.is_some() && path.is_dir());
    begun.filter(is_meant).collect()
}

/// The programs of which there are dumps.
#[derive(Debug)]
pub(super) struct Programs(FxHashSet<PathBuf>);

impl Programs {
    /// The programs of the dumps that have parts at `paths`, as far as their names tell.
    pub(super) fn of<'p>(paths: impl Iterator<Item = &'p Path>) -> Self {
        let program = |path: &Path| {
            let stem = stem_or_path(path);
            let program = program_path(&stem);
            (program != stem).then_some(program)
        };
        Self(paths.filter_map(program).collect())
    }

    /// Whether a file is called as what compilers write beside a dump of these.
    pub(super) fn have(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut heads = name.match_indices('.').map(|(dot, _)| &name[..dot]);
        heads.any(|head| self.0.contains(&path.with_file_name(head)))
    }
}
