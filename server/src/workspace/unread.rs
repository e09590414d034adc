//! What lies where dumps are looked for, and is none that can be read.

use std::path::{Path, PathBuf};

use ignore::{DirEntry, WalkBuilder};

/// What programs that compress a file put behind its name.
const COMPRESSED: [&str; 8] = ["gz", "bz2", "xz", "zst", "lz4", "zip", "tgz", "tar"];
/// So the compiler names a program, its assignment within, that is not to be text.
const PROTOCOL_BUFFERS: [&str; 2] = [".hlo.pb", ".hlo_proto.pb"];

/// What would be a dump at and below `paths` if it were text, and how to make text of it; `None`
/// if there is nothing of the kind. To be asked where no dump was found: it goes by names.
pub fn unread(paths: &[PathBuf]) -> Option<String> {
    let (mut compressed, mut protocol_buffers) = (Files::default(), Files::default());
    for path in paths {
        let entries = WalkBuilder::new(path).standard_filters(false).build();
        let files = entries.flatten().map(DirEntry::into_path);
        for path in files.filter(|path| path.is_file()) {
            if is_compressed(&path) {
                compressed.add(path);
            } else if is_protocol_buffer(&path) {
                protocol_buffers.add(path);
            }
        }
    }
    let problems = [
        compressed.problem("compressed, to be unpacked first"),
        protocol_buffers
            .problem("no text, which the compiler writes with `--xla_dump_hlo_as_text`"),
    ];
    let problems: Vec<String> = problems.into_iter().flatten().collect();
    (!problems.is_empty()).then(|| problems.join("; "))
}

/// Whether the file's name says that it is compressed.
pub(super) fn is_compressed(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| COMPRESSED.contains(&extension))
}

fn is_protocol_buffer(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    PROTOCOL_BUFFERS.iter().any(|end| name.ends_with(end))
}

/// Files that have something in common: the first of them by name, and how many they are.
#[derive(Debug, Default)]
struct Files {
    first: Option<PathBuf>,
    count: usize,
}

impl Files {
    fn add(&mut self, path: PathBuf) {
        self.count += 1;
        if self.first.as_ref().is_none_or(|first| path < *first) {
            self.first = Some(path);
        }
    }

    /// `A.gz and 2 more files are WHAT`.
    fn problem(&self, what: &str) -> Option<String> {
        let first = self.first.as_ref()?.display();
        Some(match self.count {
            1 => format!("{first} is {what}"),
            2 => format!("{first} and one more file are {what}"),
            count => format!("{first} and {} more files are {what}", count - 1),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_would_be_a_dump_if_it_were_text_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let within = |name: &str| folder.path().join(name);
        let told = |path: &Path| {
            let told = unread(&[path.to_owned()]);
            told.map(|told| told.replace(&format!("{}/", folder.path().display()), ""))
        };
        fs::write(within("notes.txt"), "notes\n").expect("a file");
        assert_eq!(told(folder.path()), None);
        fs::create_dir(within("b")).expect("a folder");
        for name in [
            "b/m-buffer-assignment.txt.gz",
            "b/m.hlo_proto.pb",
            "dumps.tar.zst",
        ] {
            fs::write(within(name), "").expect("a file");
        }
        let told_of_all = "b/m-buffer-assignment.txt.gz and one more file are compressed, to be unpacked first; \
                           b/m.hlo_proto.pb is no text, which the compiler writes with `--xla_dump_hlo_as_text`";
        assert_eq!(told(folder.path()).as_deref(), Some(told_of_all));
        let one = "dumps.tar.zst is compressed, to be unpacked first";
        assert_eq!(told(&within("dumps.tar.zst")).as_deref(), Some(one));
    }
}
