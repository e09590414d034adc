//! The files of source that dumps name, as far as they are on this machine.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use crate::model::cancel::lock;
use crate::model::source_map::SourceMap;
use crate::workspace;

/// So long it is believed that a file is there, or is not.
const BELIEVED: Duration = Duration::from_secs(10);
/// So many paths are remembered.
const MOST: usize = 10_000;

/// Which files are there, remembered for a while: a dump names the same few on every line.
#[derive(Debug, Default)]
pub struct SourceFiles {
    known: Mutex<FxHashMap<PathBuf, (Instant, bool)>>,
}

impl SourceFiles {
    /// The regular file that a dump in `folder` means by `named`: the path that `map` makes of it,
    /// from the root, or from one of `folders`, or from where the dump lies.
    pub fn find(
        &self,
        named: &str,
        map: &SourceMap,
        folders: &[PathBuf],
        folder: Option<&Path>,
    ) -> Option<PathBuf> {
        let here = map.here(named);
        // Looking for a network path would send the user's credentials to whoever the dump names.
        // One that the user has named is another matter.
        let is_network = matches!(here.as_bytes(), [b'/' | b'\\', b'/' | b'\\', ..]);
        if here == named && is_network {
            return None;
        }
        let path = Path::new(here.as_ref());
        let from = |folder: &Path| workspace::normalized(&folder.join(path));
        if path.is_absolute() {
            return Some(workspace::normalized(path)).filter(|path| self.is_file(path));
        }
        let folders = folders.iter().map(PathBuf::as_path).chain(folder);
        folders.map(from).find(|path| self.is_file(path))
    }

    /// Whether a regular file is there. Nobody opens it.
    fn is_file(&self, path: &Path) -> bool {
        let known = || lock(&self.known);
        if let Some(&(at, is_file)) = known().get(path)
            && at.elapsed() < BELIEVED
        {
            return is_file;
        }
        // Not under the lock: a folder of the network may take its time.
        let is_file = path.is_file();
        let mut known = known();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(path.to_owned(), (Instant::now(), is_file));
        is_file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_sources() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        std::fs::create_dir(root.join("pkg")).expect("a folder");
        std::fs::write(root.join("pkg/f.py"), "").expect("a file");
        let (files, map) = (SourceFiles::default(), SourceMap::default());
        let folders = [root.to_owned()];
        let find = |named: &str| files.find(named, &map, &folders, None);
        assert_eq!(find("pkg/f.py"), Some(root.join("pkg/f.py")));
        assert_eq!(
            find(&root.join("pkg/f.py").to_string_lossy()),
            Some(root.join("pkg/f.py"))
        );
        assert_eq!(
            files.find("f.py", &map, &[], Some(&root.join("pkg"))),
            Some(root.join("pkg/f.py"))
        );
        for other in [
            "pkg",
            "pkg/g.py",
            "",
            "<string>",
            "https://example.org/f.py",
            "command:f",
            "//host/share/f.py",
        ] {
            assert_eq!(find(other), None, "{other}");
        }
    }

    #[test]
    fn a_folder_of_another_machine_is_one_of_this() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        std::fs::write(root.join("f.py"), "").expect("a file");
        let pair = |from: &str| {
            format!("{from}={}", root.display())
                .parse()
                .expect("a pair")
        };
        let map = SourceMap::new([pair("/app"), pair(r"C:\build"), pair("//host/share")]);
        let files = SourceFiles::default();
        let find = |named: &str| files.find(named, &map, &[], None);
        for named in ["/app/f.py", r"C:\build\f.py", "//host/share/f.py"] {
            assert_eq!(find(named), Some(root.join("f.py")), "{named}");
        }
        assert_eq!(find("/app/g.py"), None);
    }
}
