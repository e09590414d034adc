//! The text of a block: held, or read again when it is asked for.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::hash::BuildHasher;
use std::ops::{Deref, Range};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use rustc_hash::FxBuildHasher;

use super::block::{Block, lock};

/// Where a document's text can be read again.
pub trait Source: Debug + Send + Sync {
    /// The bytes of the document in `range`; `None` if they cannot be read.
    fn read(&self, range: Range<u32>) -> Option<String>;
}

/// A source, and whether it has turned out to be another text than it was.
#[derive(Debug)]
pub(super) struct Origin {
    source: Box<dyn Source>,
    is_lost: AtomicBool,
    /// The blocks that have been handed out with their text last: who has read one computation reads the next one.
    passing: Mutex<VecDeque<Arc<Block>>>,
}

/// So many blocks are kept of those that have been handed out, one for each of a few threads, ...
const MOST_PASSING: usize = 4;
/// ... and none of them with more text than so many bytes.
const MOST_PASSING_BYTES: usize = 64 << 10;

impl Origin {
    pub(super) fn new(source: Box<dyn Source>) -> Self {
        Self {
            source,
            is_lost: AtomicBool::new(false),
            passing: Mutex::default(),
        }
    }

    /// The block with this number, if it has been handed out lately.
    pub(super) fn passing(&self, id: u64) -> Option<Arc<Block>> {
        let passing = lock(&self.passing);
        passing.iter().find(|block| block.id == id).cloned()
    }

    /// Keeps a block that is handed out, as long as few others are.
    pub(super) fn keep(&self, block: &Arc<Block>) {
        if block.text.len() > MOST_PASSING_BYTES {
            return;
        }
        let mut passing = lock(&self.passing);
        if passing.len() == MOST_PASSING {
            passing.pop_front();
        }
        passing.push_back(Arc::clone(block));
    }

    /// Whether some text could not be read again.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }
}

/// A text that may have been released. Where it cannot be read again it is blanks, and its origin lost.
#[derive(Debug)]
pub(super) struct Text {
    held: OnceLock<Held>,
    released: Option<Box<Released>>,
}

#[derive(Debug)]
enum Held {
    Own(Box<str>),
    /// So many bytes of a larger text from a place on.
    Part(Arc<String>, u32, u32),
}

impl Deref for Held {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Own(text) => text,
            Self::Part(whole, start, length) => {
                let start = *start as usize;
                &whole[start..start + *length as usize]
            }
        }
    }
}

/// Where a text is that has been released.
#[derive(Debug)]
pub(super) struct Released {
    pub(super) origin: Arc<Origin>,
    start: u32,
    length: u32,
    hash: u64,
}

impl Released {
    pub(super) fn read(&self) -> Box<str> {
        let text = self
            .origin
            .source
            .read(self.start..self.start + self.length);
        let is_same = |text: &String| text.len() == self.length as usize && hash(text) == self.hash;
        if let Some(text) = text.filter(is_same) {
            return text.into();
        }
        self.origin.is_lost.store(true, Ordering::Relaxed);
        " ".repeat(self.length as usize).into()
    }
}

impl Text {
    pub(super) fn len(&self) -> usize {
        match &self.released {
            Some(released) => released.length as usize,
            None => match self.held.get() {
                Some(Held::Own(text)) => text.len(),
                Some(Held::Part(.., length)) => *length as usize,
                None => 0,
            },
        }
    }

    /// The bytes that are held for it: of a part of a larger text all of that.
    pub(super) fn held(&self) -> usize {
        match self.held.get() {
            Some(Held::Own(text)) => text.len(),
            Some(Held::Part(whole, ..)) => whole.len(),
            None => 0,
        }
    }

    /// The part of `whole` in `range`, without a copy of it.
    pub(super) fn part(whole: &Arc<String>, range: Range<usize>) -> Self {
        let length = (range.end - range.start) as u32;
        let part = Held::Part(Arc::clone(whole), range.start as u32, length);
        Self {
            held: OnceLock::from(part),
            released: None,
        }
    }

    /// The text as a string of its own, which leaves none here.
    pub(super) fn take(&mut self) -> String {
        match self.held.take() {
            Some(Held::Own(text)) => text.into(),
            Some(part) => part.to_owned(),
            None => String::new(),
        }
    }

    /// Where the text is, if it is not here.
    pub(super) fn elsewhere(&self) -> Option<&Released> {
        let released = self.released.as_deref();
        released.filter(|_| self.held.get().is_none())
    }

    /// Whether it need not be held.
    pub(super) fn is_released(&self) -> bool {
        self.released.is_some()
    }

    /// The text without itself. It begins at `start` of its origin.
    pub(super) fn release(self, origin: &Arc<Origin>, start: u32) -> Self {
        let released = Released {
            origin: Arc::clone(origin),
            start,
            length: self.len() as u32,
            hash: hash(&self),
        };
        Self {
            held: OnceLock::new(),
            released: Some(Box::new(released)),
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self {
            held: OnceLock::from(Held::Own(text.into())),
            released: None,
        }
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self {
            held: OnceLock::from(Held::Own(text.into())),
            released: None,
        }
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.held.get_or_init(|| {
            let released = self.released.as_ref();
            Held::Own(released.map_or_else(Box::default, |released| released.read()))
        })
    }
}

fn hash(text: &str) -> u64 {
    FxBuildHasher.hash_one(text.as_bytes())
}
