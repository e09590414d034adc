//! Which row of which file.

use std::num::NonZeroU64;

use super::FileId;

/// Which row of which block of which file: by its line in the block, or by its number among those of its kind, as
/// [`buflens_syntax::Block::row_with`] has it. Rows of one kind are ordered as in the text.
///
/// In one number, since there are several for every value: the file, the block and the place in it take 8, 32 and 24
/// bits. No dump has so many files, and no block so many rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row(NonZeroU64);

impl Row {
    pub(super) fn new(file: usize, block: usize, place: usize) -> Self {
        let packed = (file as u64) << 56 | (block as u64) << 24 | place as u64;
        Self(NonZeroU64::MIN.saturating_add(packed))
    }

    /// The file.
    pub fn file(self) -> FileId {
        ((self.0.get() - 1) >> 56) as usize
    }

    pub(super) fn block(self) -> usize {
        ((self.0.get() - 1) >> 24) as u32 as usize
    }

    pub(super) fn place(self) -> usize {
        ((self.0.get() - 1) & 0xff_ffff) as usize
    }
}
