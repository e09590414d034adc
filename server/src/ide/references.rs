//! Every place that names a value or an instruction.

use std::ops::Range;

use crate::model::{Dump, FileId, Place};

/// All places in all files that name what is at `offset`; with `declaration` also the one that
/// declares it.
pub fn references(dump: &Dump, file: FileId, offset: u32, declaration: bool) -> Vec<Place> {
    let _ = (dump, file, offset, declaration);
    Vec::new()
}

/// The places in this file that name what is at `offset`.
pub fn highlights(dump: &Dump, file: FileId, offset: u32) -> Vec<Range<u32>> {
    let _ = (dump, file, offset);
    Vec::new()
}
