//! Which row of which file.

use std::cmp::Ordering;
use std::num::NonZeroU32;

use super::FileId;

/// Which row of which block of which file: by its line in the block, or by its number among those of its kind, as
/// [`buflens_syntax::Block::row_with`] has it. Rows of one kind are ordered as in the text.
///
/// In eight bytes of any alignment to four, since there are several for every value. No dump has 256 files, and no block
/// 2^24 rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Row {
    block: u32,
    /// One more than the file in the highest 8 bits and the place in the others.
    file_and_place: NonZeroU32,
}

impl Row {
    pub(super) fn new(file: usize, block: usize, place: usize) -> Self {
        let file_and_place = (file as u32) << 24 | place as u32;
        Self {
            block: block as u32,
            file_and_place: NonZeroU32::MIN.saturating_add(file_and_place),
        }
    }

    /// The file.
    pub fn file(self) -> FileId {
        ((self.file_and_place.get() - 1) >> 24) as usize
    }

    pub(super) fn block(self) -> usize {
        self.block as usize
    }

    pub(super) fn place(self) -> usize {
        ((self.file_and_place.get() - 1) & 0xff_ffff) as usize
    }
}

impl Ord for Row {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |row: &Self| (row.file(), row.block, row.place());
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Row {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
