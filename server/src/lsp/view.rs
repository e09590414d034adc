//! What a request looks at: the dump at one moment, and how to put places into the protocol's
//! words.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use buflens_syntax::Document;
use rustc_hash::FxHashSet;
use tower_lsp::ls_types as lsp;

use super::capabilities::Capabilities;
use super::config::Config;
use super::convert;
use super::diagnostics::Checks;
use super::source_files::SourceFiles;
use crate::model::{Dump, FileId, Place};
use crate::workspace::{self, Edition, Loaded, Snapshot, Unavailable};

/// What a request looks at.
#[derive(Debug)]
pub struct View {
    pub snapshot: Snapshot,
    pub capabilities: Arc<Capabilities>,
    pub config: Arc<Config>,
    /// Grows with every change of the configuration.
    pub generation: u64,
    pub folders: Arc<[PathBuf]>,
    pub checks: Arc<Checks>,
    pub source_files: Arc<SourceFiles>,
}

impl View {
    /// What the files of the dump have in common, or the file itself.
    pub fn stem(&self) -> PathBuf {
        workspace::stem_or_path(&self.snapshot.path)
    }

    /// The state of the document asked for, if it is open.
    pub fn edition(&self) -> Option<&Edition> {
        self.edition_of(&self.snapshot.path)
    }

    /// The state of a file of the dump, if it is open.
    pub fn edition_of(&self, path: &Path) -> Option<&Edition> {
        self.snapshot.buffer(path).map(|(_, edition)| edition)
    }

    /// Whether a file of the dump is open, but its text not known any more: the dump has the one on disk then.
    pub fn is_broken(&self, path: &Path) -> bool {
        let buffer = self.snapshot.buffer(path);
        buffer.is_some_and(|(buffer, edition)| {
            let document = buffer.document(edition.revision);
            matches!(document, Err(Unavailable::Broken(_)))
        })
    }

    /// The text of the document asked for. Much cheaper than its whole dump.
    pub fn document(&self) -> Result<Document, Unavailable> {
        self.snapshot.document()
    }

    pub fn loaded(&self) -> Result<Loaded, Unavailable> {
        self.snapshot.load()
    }

    /// The dump and the offset of a position in the file asked for.
    pub fn cursor(&self, position: lsp::Position) -> Result<(Loaded, u32), Unavailable> {
        let loaded = self.loaded()?;
        let document = &loaded.dump.files[loaded.file].document;
        let offset = document.offset(convert::line_column(position), self.capabilities.encoding);
        let offset = offset.ok_or(Unavailable::Absent)?;
        Ok((loaded, offset))
    }

    pub fn range(&self, document: &Document, range: &Range<u32>) -> lsp::Range {
        convert::range(document, range, self.capabilities.encoding)
    }

    /// The range in a file of the dump.
    pub fn range_in(&self, dump: &Dump, file: FileId, range: &Range<u32>) -> Option<lsp::Range> {
        Some(self.range(&dump.files.get(file)?.document, range))
    }

    /// The URI of a file of the dump, as the editor writes it if it is open there.
    pub fn uri(&self, path: &Path) -> Option<lsp::Uri> {
        match self.snapshot.buffer(path) {
            Some((buffer, _)) => lsp::Uri::from_str(&buffer.name).ok(),
            None => convert::uri(path),
        }
    }

    /// Tells the locations of many ranges in the files of the dump, whose URIs are made once.
    pub fn locations<'v>(
        &'v self,
        dump: &'v Dump,
    ) -> impl Fn(FileId, &Range<u32>) -> Option<lsp::Location> + 'v {
        let uris = dump.files.iter().map(|file| self.uri(&file.path));
        let uris: Vec<_> = uris.collect();
        move |file, range| {
            let uri = uris.get(file)?.clone()?;
            Some(lsp::Location::new(uri, self.range_in(dump, file, range)?))
        }
    }

    /// The URI of a line of source that `file` of the dump names, if it is on this machine.
    pub fn source(
        &self,
        dump: &Dump,
        file: FileId,
        named: &str,
        line: Option<u32>,
    ) -> Option<lsp::Uri> {
        let folder = dump.files.get(file)?.path.parent();
        let folder = folder.filter(|folder| folder.is_absolute());
        let map = self.config.source_map();
        let source = self.source_files.find(named, map, &self.folders, folder)?;
        convert::uri_of_line(&source, line)
    }

    pub fn location(&self, dump: &Dump, place: &Place) -> Option<lsp::Location> {
        let file = dump.files.get(place.file)?;
        Some(lsp::Location::new(
            self.uri(&file.path)?,
            self.range(&file.document, &place.range),
        ))
    }
}

/// The dumps of `views`, each once with one of its views: several of its files may be open. A dump
/// is known by its first file, since it is joined anew when another request has it at another moment.
pub fn dumps(views: &[View]) -> impl Iterator<Item = (&View, Loaded)> {
    let mut seen: FxHashSet<PathBuf> = FxHashSet::default();
    views.iter().filter_map(move |view| {
        let loaded = view.loaded().ok()?;
        let first = loaded.dump.files.first()?;
        seen.insert(first.path.clone()).then_some((view, loaded))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;

    #[test]
    fn a_dump_with_several_open_files_is_one_though_it_is_joined_twice() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = [
            ("m-buffer-assignment.txt", "BufferAssignment:\n"),
            ("m-live-range.txt", "HloLiveRange (max 0):\n"),
        ];
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).expect("a file");
        }
        let view = |(name, _)| View {
            snapshot: Workspace::new(|_| {}).snapshot(&folder.path().join(name)),
            capabilities: Arc::default(),
            config: Arc::default(),
            generation: 0,
            folders: Arc::default(),
            checks: Arc::default(),
            source_files: Arc::default(),
        };
        let views = files.map(view);
        let dumps: Vec<(&View, Loaded)> = dumps(&views).collect();
        assert_eq!(dumps.len(), 1);
        assert_eq!(dumps[0].1.dump.files.len(), 2);
    }
}
