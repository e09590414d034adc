//! What the thing under the cursor means.

use std::ops::Range;

use crate::model::{Dump, FileId};

/// An explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hover {
    /// Markdown; all text from the file is escaped.
    pub markdown: String,
    /// What it explains.
    pub range: Range<u32>,
}

/// Explains what is at `offset`.
pub fn hover(dump: &Dump, file: FileId, offset: u32) -> Option<Hover> {
    let _ = (dump, file, offset);
    None
}
