//! Links from metadata to source files.

use std::ops::Range;
use std::path::PathBuf;

use crate::model::{Dump, FileId};

/// Text that names a source line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The text.
    pub range: Range<u32>,
    /// The file as the dump names it. Whether it exists is for the caller to see.
    pub path: PathBuf,
    /// The line, from 1, if it is named.
    pub line: Option<u32>,
}

/// The links within `range`.
pub fn links(dump: &Dump, file: FileId, range: Range<u32>) -> Vec<Link> {
    let _ = (dump, file, range);
    Vec::new()
}
