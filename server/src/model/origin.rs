//! Where instructions come from: their parts, and the lines of the user's program behind them.

use std::cell::RefCell;
use std::sync::Arc;

use buflens_syntax::InstructionParts;
use rustc_hash::FxHashMap;

use super::source::{
    Frame, Libraries, StackFrame, chain, frames, parent_shift, stack_frame, unescaped,
};
use super::{Dump, NameId, Value};

/// An instruction, taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin<'d> {
    /// Its parts.
    pub parts: InstructionParts<'d>,
    /// The trace path, decoded: `jit(f)/while/body/add`; of a parameter the argument's path.
    pub op_name: Option<String>,
    /// The lines of source, the innermost first.
    pub frames: Arc<[Frame]>,
}

impl<'d> Origin<'d> {
    /// Takes `text`, an instruction of `dump`, apart, with so many operands at most.
    pub fn read(dump: &Dump, text: &'d str, operands: usize) -> Self {
        let parts = InstructionParts::read_up_to(text, operands);
        Self::with(parts, |id| frames(dump, id).collect())
    }

    fn with(parts: InstructionParts<'d>, frames: impl FnOnce(u64) -> Arc<[Frame]>) -> Self {
        let op_name = op_name(&parts);
        let frames = match parts.entry("stack_frame_id").and_then(|id| id.parse().ok()) {
            Some(id) => frames(id),
            None => Arc::default(),
        };
        let frames = match parts.entry("source_file") {
            Some(file) if frames.is_empty() => Arc::from([Frame {
                file: unescaped(file),
                line: parts
                    .entry("source_line")
                    .and_then(|line| line.parse().ok())
                    .filter(|&line| line > 0),
                function: None,
            }]),
            _ => frames,
        };
        Self {
            parts,
            op_name,
            frames,
        }
    }

    /// The innermost line that is not a library's, else the innermost.
    pub fn source(&self, libraries: &Libraries) -> Option<&Frame> {
        let own = self
            .frames
            .iter()
            .find(|frame| !libraries.hold(&frame.file));
        own.or(self.frames.first())
    }
}

/// The trace path of an instruction, decoded; `None` where it is not there or empty.
pub fn op_name(parts: &InstructionParts) -> Option<String> {
    let op_name = parts.entry("op_name").map(unescaped);
    op_name.filter(|op_name| !op_name.is_empty())
}

/// The instructions of a dump as far as they have been asked for, each read once.
#[derive(Debug)]
pub struct Origins<'d> {
    dump: &'d Dump,
    by_name: RefCell<FxHashMap<NameId, Arc<Origin<'d>>>>,
    by_frame: RefCell<FxHashMap<u64, Arc<[Frame]>>>,
    /// Rows of the table of stack frames: many frames have the same callers.
    rows: RefCell<FxHashMap<u64, Option<StackFrame>>>,
}

impl<'d> Origins<'d> {
    /// None asked for yet.
    pub fn new(dump: &'d Dump) -> Self {
        Self {
            dump,
            by_name: RefCell::default(),
            by_frame: RefCell::default(),
            rows: RefCell::default(),
        }
    }

    /// The instruction that defines `value`; empty if the dump does not print it.
    pub fn of(&self, value: &Value) -> Arc<Origin<'d>> {
        self.named(value.name)
    }

    /// The instruction called `name`; empty if the dump does not print it.
    pub fn named(&self, name: NameId) -> Arc<Origin<'d>> {
        if let Some(known) = self.by_name.borrow().get(&name) {
            return Arc::clone(known);
        }
        let origin = Arc::new(self.read(name).unwrap_or_default());
        self.by_name.borrow_mut().insert(name, Arc::clone(&origin));
        origin
    }

    fn read(&self, name: NameId) -> Option<Origin<'d>> {
        let text = self.dump.instruction_text(name)?;
        let parts = InstructionParts::read(text);
        Some(Origin::with(parts, |id| self.frames(id)))
    }

    fn frames(&self, id: u64) -> Arc<[Frame]> {
        let mut known = self.by_frame.borrow_mut();
        let frames = known.entry(id).or_insert_with(|| {
            let shift = parent_shift(self.dump);
            let mut rows = self.rows.borrow_mut();
            let read = |id| {
                let row = rows.entry(id);
                let row = row.or_insert_with(|| stack_frame(self.dump, id, shift));
                row.clone()
            };
            chain(id, read).collect()
        });
        Arc::clone(frames)
    }
}
