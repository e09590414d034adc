//! The dumps that are measured.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use buflens::model::{Dump, File, Numbering};
use buflens::workspace::{load, read_text};
use buflens_syntax::{Document, TooLarge};

use crate::generate;

/// A line of so many bytes is a huge one.
const HUGE: usize = 1000;

/// A dump to measure.
pub struct Input {
    pub name: String,
    /// Paths and texts.
    pub files: Vec<(PathBuf, Arc<String>)>,
    /// The file that requests are about.
    pub file: usize,
}

impl Input {
    /// Bytes of all files.
    pub fn bytes(&self) -> usize {
        self.files.iter().map(|(_, text)| text.len()).sum()
    }

    /// The text that requests are about.
    pub fn text(&self) -> &str {
        &self.files[self.file].1
    }

    /// Whether most of the dump is in huge lines.
    pub fn has_huge_lines(&self) -> bool {
        let lines = self.files.iter().flat_map(|(_, text)| text.lines());
        let huge = lines.map(str::len).filter(|&length| length >= HUGE);
        huge.sum::<usize>() * 2 > self.bytes()
    }

    /// The texts in blocks, nothing read.
    pub fn documents(&self) -> Vec<Document> {
        self.documents_by(|text| Document::cut(text, usize::MAX, |_| ()))
    }

    /// The texts as the server and the command line read them.
    pub fn read(&self) -> Vec<Document> {
        self.documents_by(read_text)
    }

    fn documents_by(
        &self,
        read: impl Fn(&Arc<String>) -> Result<Document, TooLarge>,
    ) -> Vec<Document> {
        let texts = self.files.iter().map(|(_, text)| text);
        texts
            .map(|text| read(text).expect("a text below 4 GiB"))
            .collect()
    }

    /// The files joined.
    pub fn dump(&self, documents: Vec<Document>) -> Dump {
        self.state(documents, &mut Numbering::default())
    }

    /// The same, as a state of a dump that is edited.
    pub fn state(&self, documents: Vec<Document>, numbering: &mut Numbering) -> Dump {
        let files = self.files.iter().zip(documents);
        let files = files.map(|((path, _), document)| File {
            path: path.clone(),
            document,
            lossy: false,
        });
        Dump::numbered(files.collect(), numbering)
    }
}

/// The dumps that the environment names, `BUFLENS_BENCH_DUMP=FILE:FILE`, with their siblings; else
/// made-up ones of both kinds, of `BUFLENS_BENCH_MB=1,10` megabytes, by default of ten.
pub fn inputs() -> Vec<Input> {
    if let Some(paths) = std::env::var_os("BUFLENS_BENCH_DUMP") {
        return std::env::split_paths(&paths)
            .map(|path| real(&path))
            .collect();
    }
    let sizes = std::env::var("BUFLENS_BENCH_MB").unwrap_or_else(|_| "10".to_owned());
    let sizes: Vec<usize> = sizes
        .split(',')
        .map(|size| size.parse().expect("BUFLENS_BENCH_MB: whole numbers"))
        .collect();
    let of_size = |&megabytes: &usize| made(megabytes).map(move |made| (megabytes, made));
    let made = sizes.iter().flat_map(of_size);
    let input = made.map(|(megabytes, (kind, name, text))| Input {
        name: format!("{kind}, {megabytes} MB, made up"),
        files: vec![(PathBuf::from(name), Arc::new(text))],
        file: 0,
    });
    input.collect()
}

/// Dumps of both kinds of about so many megabytes: what they are, the names of their files, and
/// their texts.
pub fn made(megabytes: usize) -> [(&'static str, &'static str, String); 2] {
    let bytes = megabytes * 1_000_000;
    [
        (
            "short lines",
            "module_0001.dense.after_optimizations-buffer-assignment.txt",
            generate::dense(bytes),
        ),
        (
            "huge lines",
            "module_0001.huge_lines.after_optimizations-buffer-assignment.txt",
            generate::huge_lines(bytes),
        ),
    ]
}

fn real(path: &Path) -> Input {
    let loaded = load(path).unwrap_or_else(|error| panic!("{error}"));
    let files = loaded.dump.files.iter();
    let files: Vec<_> = files
        .map(|file| (file.path.clone(), Arc::new(file.document.text())))
        .collect();
    let bytes: usize = files.iter().map(|(_, text)| text.len()).sum();
    // Folders have people's names in them.
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Input {
        name: format!("{name}, {:.1} MB with its siblings", bytes as f64 / 1e6),
        files,
        file: loaded.file,
    }
}
