//! Large files whose texts are not held.

use std::fs::File as DiskFile;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;

use buflens_syntax::{Block, Source};

use super::ahead::read_once;
use super::load::{Form, ReadError, length, pieces, read};
use crate::allocator;
use crate::model::cancel::lock;
use crate::model::{self, File, FileId, Join, Part};

/// Smaller files are held. (Tests make do with less.)
const LARGE: u64 = if cfg!(test) { 1 << 12 } else { model::LARGE };

/// A file of which blocks are read again.
#[derive(Debug)]
struct OnDisk(Mutex<DiskFile>);

impl Source for OnDisk {
    fn read(&self, range: Range<u32>) -> Option<String> {
        let mut file = lock(&self.0);
        file.seek(SeekFrom::Start(range.start.into())).ok()?;
        let mut bytes = vec![0; range.len()];
        file.read_exact(&mut bytes).ok()?;
        String::from_utf8(bytes).ok()
    }
}

/// Whether the file at `path` is large, and none that cannot be read twice, as a pipe.
pub(super) fn is_large(path: &Path) -> bool {
    length(path).is_ok_and(|(length, _)| length >= LARGE)
}

/// Reads a file alone without holding its text. It is joined as file `file`; no more is joined if that cannot be
/// done so.
pub(super) fn read_large(
    path: &Path,
    part: Part,
    file: FileId,
    joining: &mut Option<Join>,
) -> Result<File, ReadError> {
    tracing::debug!("reading {} once", path.display());
    allocator::between_steps();
    let mut source = DiskFile::open(path).map_err(ReadError::Io)?;
    let again = DiskFile::open(path).map_err(ReadError::Io)?;
    let again = Box::new(OnDisk(Mutex::new(again)));
    let mut form = Form::default();
    if let Some(join) = joining {
        join.begin(file, part);
    }
    let join = |number, start, block: &Block| {
        if let Some(join) = joining.as_mut() {
            join.block(number, start, block);
        }
    };
    let document = read_once(again, join, |take| pieces(&mut source, &mut form, take))?;
    if form.is_plain() {
        if let Some(join) = joining {
            join.end(&document);
        }
        allocator::between_steps();
        return Ok(File {
            path: path.to_owned(),
            document,
            lossy: false,
        });
    }
    // Its bytes are not where those of the text are.
    *joining = None;
    read(path)
}
