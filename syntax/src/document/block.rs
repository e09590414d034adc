//! A block: a run of whole lines, and what is known of it.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

use rowan::GreenNode;

use super::cut::is_long;
use super::text::{Origin, Text};
use crate::SyntaxKind;
use crate::facts::{
    Computation, Facts, FactsSink, Gathered, Heading, Instruction, Instructions, KnownShapes, Line,
    OutOfMemory, PackedRows, PeakValue, Rare, ReportRow, Row, Rows, Span, TableRow, Total,
    TreeNode,
};
use crate::grammar;
use crate::line::{LineKind, Mode};
use crate::mentions::{Mention, MentionSink};
use crate::position::Units;
use crate::scan::{Follow, Lines, Starts};
use crate::sink::{Sink, SyntaxError, TreeSink};

/// A run of whole lines that is read on its own.
#[derive(Debug)]
pub struct Block {
    /// Distinguishes the blocks of all documents, for the cache of trees.
    pub(super) id: u64,
    pub(super) text: Text,
    pub(super) mode: Mode,
    pub(super) follow: Follow,
    /// Where its lines begin, and what they are.
    line_starts: Starts,
    kinds: Box<[LineKind]>,
    /// Where lines begin for an editor, if it takes other characters for line ends, too.
    editor_lines: Option<Box<Starts>>,
    units: OnceLock<Units>,
    facts: Mutex<Option<Facts>>,
    rare: OnceLock<Option<Box<Rare>>>,
    /// The numbers of its texts, and whose these are.
    numbers: Mutex<Option<(u64, Arc<[u32]>)>>,
    errors: OnceLock<Box<[SyntaxError]>>,
}

impl Block {
    /// A block of lines that end with `\n`, begin at `line_starts`, and are `kinds`.
    pub(super) fn new(
        text: Text,
        mode: Mode,
        follow: Follow,
        line_starts: &[u32],
        kinds: &[LineKind],
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let has_returns = memchr::memchr(b'\r', text.as_bytes()).is_some();
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            mode,
            follow,
            line_starts: Starts::new(line_starts),
            kinds: kinds.into(),
            editor_lines: has_returns.then(|| Box::new(editor_lines(&text))),
            text,
            units: OnceLock::new(),
            facts: Mutex::default(),
            rare: OnceLock::new(),
            numbers: Mutex::default(),
            errors: OnceLock::new(),
        }
    }

    /// Text that is not cut into blocks yet, of which only lines and characters are asked.
    pub(super) fn piece(text: Text) -> Self {
        let (mode, follow) = (Mode::Start, Follow::Nothing);
        Self {
            line_starts: editor_lines(&text),
            ..Self::new(text, mode, follow, &[], &[])
        }
    }

    /// A number that no other block of any document has. Equal lines of a document may be one block.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The text of the block.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The length of its text in bytes.
    pub fn length(&self) -> u32 {
        self.text.len() as u32
    }

    /// Where in the format the block begins.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// What the block says. Computed at the first call, with the errors unless the block begins with
    /// a long line; the inside of such lines is read only when it is asked for.
    pub fn facts(&self) -> Facts {
        let mut known = lock(&self.facts);
        if let Some(facts) = &*known {
            return facts.clone();
        }
        // Nobody else fills the others in but for the same text.
        let facts = if self.is_long() {
            let (facts, rare, _) = self.read::<false>();
            let _ = self.rare.set(rare);
            facts
        } else {
            let (facts, rare, errors) = self.read::<true>();
            let _ = (self.rare.set(rare), self.errors.set(errors));
            facts
        };
        known.insert(facts).clone()
    }

    /// The rows of kinds that most blocks have none of. Computed with the facts.
    fn rare(&self) -> &Rare {
        static NONE: LazyLock<Rare> = LazyLock::new(Rare::default);
        if self.rare.get().is_none() {
            self.facts();
        }
        let rare = self.rare.get().and_then(Option::as_deref);
        rare.unwrap_or_else(|| &NONE)
    }

    /// Section headings, each with its line.
    pub fn headings(&self) -> &[(Heading, Span)] {
        &self.rare().headings
    }

    /// `Total bytes used:` lines.
    pub fn totals(&self) -> &[Total] {
        &self.rare().totals
    }

    /// The peak list.
    pub fn peak_values(&self) -> &PackedRows<PeakValue> {
        &self.rare().peak_values
    }

    /// The stack trace breakdown.
    pub fn tree_nodes(&self) -> &PackedRows<TreeNode> {
        &self.rare().tree
    }

    /// The memory-usage report.
    pub fn report(&self) -> &PackedRows<ReportRow> {
        &self.rare().report
    }

    /// The text of a failure for want of memory.
    pub fn out_of_memory(&self) -> &[OutOfMemory] {
        &self.rare().out_of_memory
    }

    /// Tables of a module's header.
    pub fn table_rows(&self) -> &[TableRow] {
        &self.rare().table_rows
    }

    /// Computations of a module.
    pub fn computations(&self) -> &[Computation] {
        &self.rare().computations
    }

    /// Whether [`Block::facts`] has been computed. Waits for nobody who computes them.
    pub fn has_facts(&self) -> bool {
        self.facts.try_lock().is_ok_and(|facts| facts.is_some())
    }

    /// Whether the block's text stays where it is. Else it is read again where it is asked for.
    pub fn is_held(&self) -> bool {
        !self.text.is_released()
    }

    /// The block with its text, to be read through once: where that is not held, it is read again and goes with what is returned.
    pub(super) fn passing(self: &Arc<Self>) -> Arc<Self> {
        let Some(released) = self.text.elsewhere() else {
            return Arc::clone(self);
        };
        if let Some(block) = released.origin.passing(self.id) {
            return block;
        }
        let block = Arc::new(Self {
            id: self.id,
            text: Text::from(&*released.read()),
            mode: self.mode,
            follow: self.follow,
            line_starts: self.line_starts.clone(),
            kinds: self.kinds.clone(),
            editor_lines: self.editor_lines.clone(),
            units: OnceLock::new(),
            facts: Mutex::new(lock(&self.facts).clone()),
            rare: self.rare.clone(),
            numbers: Mutex::default(),
            errors: self.errors.clone(),
        });
        released.origin.keep(&block);
        block
    }

    /// Lets go of the facts and of the numbers of their texts, if the block's text is not held either: what has been
    /// joined and will not be edited needs neither. They are read again where they are asked for.
    pub fn forget_facts(&self) {
        if !self.is_held() {
            *lock(&self.facts) = None;
            *lock(&self.numbers) = None;
        }
    }

    /// The numbers that `number` gives the texts of the block's [`Facts`], kept as those of `numbering` until another
    /// asks. Whoever gives numbers sees to it that one of `numbering` is never that of another text.
    pub fn numbers(&self, numbering: u64, number: impl FnOnce() -> Arc<[u32]>) -> Arc<[u32]> {
        if let Some((of, numbers)) = &*lock(&self.numbers)
            && *of == numbering
        {
            return Arc::clone(numbers);
        }
        let numbers = number();
        *lock(&self.numbers) = Some((numbering, Arc::clone(&numbers)));
        numbers
    }

    /// What is wrong in the block. Computed at the first call.
    pub fn errors(&self) -> &[SyntaxError] {
        if self.errors.get().is_none() && !self.is_long() {
            self.facts();
        }
        self.errors.get_or_init(|| self.read::<true>().2)
    }

    /// A pass over the text: with `DETAIL` over every token.
    fn read<const DETAIL: bool>(&self) -> (Facts, Option<Box<Rare>>, Box<[SyntaxError]>) {
        let mut rows = GATHERED.take();
        let errors =
            self.read_into::<_, DETAIL>(&mut rows, |lines, sink| grammar::block(lines, sink));
        let (facts, rare) = rows.take();
        GATHERED.set(rows);
        (facts, rare, errors.into())
    }

    /// What the logical line that begins with line `line` says.
    pub(crate) fn line_rows(&self, line: usize) -> impl Iterator<Item = Line> {
        let mut rows = Vec::new();
        if self.is_long() {
            self.read_into::<_, false>(&mut rows, |lines, sink| {
                grammar::logical_line(lines, line, sink);
            });
        } else {
            self.read_into::<_, true>(&mut rows, |lines, sink| {
                grammar::logical_line(lines, line, sink);
            });
        }
        rows.into_iter()
    }

    /// Adds what `grammar` reads of the text to `rows`, and returns what is wrong in it.
    fn read_into<R: Rows, const DETAIL: bool>(
        &self,
        rows: &mut R,
        grammar: impl FnOnce(Lines, &mut FactsSink<R, DETAIL>),
    ) -> Vec<SyntaxError> {
        let mut shapes = KNOWN_SHAPES.take();
        let mut sink = FactsSink::new(&self.text, rows, &mut shapes);
        grammar(self.lines(), &mut sink);
        let errors = sink.errors;
        KNOWN_SHAPES.set(shapes);
        errors
    }

    /// Where line `line` of the block begins.
    pub fn line_start(&self, line: u16) -> u32 {
        self.lines().start(line as usize) as u32
    }

    /// The row that stands on line `place` if rows of this kind are held [in brief](crate::facts::brief); else the one with this
    /// number.
    pub fn row_with<T: Row>(&self, place: usize) -> Option<T> {
        T::at(self, place)
    }

    /// All rows of a kind, with all their spans. Reads a line of the text for each, if rows of this kind are held in
    /// brief.
    pub fn rows<T: Row>(&self) -> impl DoubleEndedIterator<Item = T> + '_ {
        let places = T::places(self).into_iter();
        places.filter_map(|place| T::at(self, place))
    }

    /// Those on these lines of the block, of a kind that is held in brief. Reads no other.
    pub fn rows_on<T: Row>(&self, lines: Range<usize>) -> impl DoubleEndedIterator<Item = T> + '_ {
        let lines = lines.start..lines.end.min(self.kinds.len());
        lines.filter_map(|line| T::on_line(self, line))
    }

    /// The same, each with the block, which goes with the last of them.
    pub fn into_rows_on<T: Row>(
        self: Arc<Self>,
        lines: Range<usize>,
    ) -> impl DoubleEndedIterator<Item = (Arc<Self>, T)> {
        let lines = lines.start..lines.end.min(self.kinds.len());
        lines.filter_map(move |line| Some((Arc::clone(&self), T::on_line(&self, line)?)))
    }

    /// How many rows of a kind that is held in brief there are on these lines of the block.
    pub fn count_on<T: Row>(&self, lines: &Range<usize>) -> usize {
        let places = T::places(self).into_iter();
        places.filter(|line| lines.contains(line)).count()
    }

    /// The row of a kind, one that is held in brief, on the logical line that holds the byte at `at`.
    pub fn row_at<T: Row>(&self, at: u32) -> Option<T> {
        T::on_line(self, self.line_at(at)?)
    }

    /// The instruction that holds the byte at `at`.
    pub fn instruction_at(&self, at: u32) -> Option<Instruction> {
        let row: Option<Instruction> = self.row_at(at);
        row.filter(|row| (row.span.start..row.span.end).contains(&at))
    }

    /// The names of instructions, and in its header of a computation, that rows of the logical line that holds the byte at
    /// `at` tell of, each with its kind. Reads the line.
    pub fn names_on_line(&self, at: u32) -> impl Iterator<Item = (Span, SyntaxKind)> {
        let rows = self.line_at(at).map(|line| self.line_rows(line));
        let names = rows.into_iter().flatten().filter_map(|row| {
            Some(match row {
                Line::Placement(row) => (row.value.name, SyntaxKind::Name),
                Line::UsedValue(row) => (row.value.name, SyntaxKind::Name),
                Line::Position(row) => (row.name, SyntaxKind::Name),
                Line::Use(row) => (row.name, SyntaxKind::Name),
                Line::Instruction(row) => (row.name, SyntaxKind::Name),
                Line::Step(row) => (row.name, SyntaxKind::Name),
                Line::LiveRange(row) => (row.name, SyntaxKind::Name),
                Line::PeakValue(row) => (row.name, SyntaxKind::Name),
                Line::Computation(row) => (row.name, SyntaxKind::ComputationName),
                _ => return None,
            })
        });
        names.filter(|(name, _)| !name.is_empty())
    }

    /// The logical line that holds the byte at `at`, with its line ends; empty behind the last one.
    pub fn logical_line_at(&self, at: u32) -> Range<u32> {
        self.line_at(at)
            .map_or(0..0, |first| self.logical_line(first))
    }

    /// The logical line that begins with line `first`.
    fn logical_line(&self, first: usize) -> Range<u32> {
        let lines = self.lines();
        lines.start(first) as u32..lines.start(lines.next_logical(first)) as u32
    }

    /// The first line of the logical line that holds the byte at `at`, from 0.
    fn line_at(&self, at: u32) -> Option<usize> {
        let line = self.line_of(at)?;
        (line < self.kinds.len()).then(|| self.lines().first_of_logical(line))
    }

    /// The line of the block that holds the byte at `at`, from 0. Does without the text.
    pub fn line_of(&self, at: u32) -> Option<usize> {
        self.line_starts.up_to(at).checked_sub(1)
    }

    /// What line `line` of the block is.
    pub(crate) fn line_kind(&self, line: usize) -> Option<LineKind> {
        self.kinds.get(line).copied()
    }

    /// The same without its text, which begins at `start` of `origin`, and without its facts, but for live ranges: those
    /// are joined when all values are known.
    pub(super) fn release(self, origin: &Arc<Origin>, start: u32) -> Self {
        let is_joined = !self.facts().has_live_ranges();
        let block = Self {
            text: self.text.release(origin, start),
            ..self
        };
        if is_joined {
            block.forget_facts();
        }
        block
    }

    fn lines(&self) -> Lines<'_> {
        Lines {
            text: &self.text,
            starts: &self.line_starts,
            kinds: &self.kinds,
            mode: self.mode,
            follow: self.follow,
        }
    }

    /// Where lines begin for an editor.
    pub(super) fn editor_lines(&self) -> &Starts {
        self.editor_lines.as_deref().unwrap_or(&self.line_starts)
    }

    /// Whether the block begins with a long line.
    pub(super) fn is_long(&self) -> bool {
        is_long(self.text.len(), self.line_starts.get(1))
    }

    /// The block's instructions, each with the line by which [`Block::row_with`] knows it, and what they
    /// [mention](Block::mentions). A pass over every token at every call.
    pub fn instructions_and_mentions(&self) -> (Vec<(usize, Instruction)>, Vec<Mention>) {
        let (mut instructions, mut shapes) = (Instructions::default(), KNOWN_SHAPES.take());
        let facts = FactsSink::<_, true>::new(&self.text, &mut instructions, &mut shapes);
        let mut sink = (facts, MentionSink::new(&self.text));
        grammar::block(self.lines(), &mut sink);
        let mentions = sink.1.mentions;
        KNOWN_SHAPES.set(shapes);
        (instructions.rows, mentions)
    }

    /// What the block's instructions mention, in the order of the text. A pass over every token at
    /// every call.
    pub fn mentions(&self) -> Vec<Mention> {
        let mut sink = MentionSink::new(&self.text);
        grammar::block(self.lines(), &mut sink);
        sink.mentions
    }

    /// The lossless tree of the block, built anew at every call.
    pub fn tree(&self) -> GreenNode {
        let mut sink = TreeSink::new(&self.text);
        grammar::block(self.lines(), &mut sink);
        sink.finish()
    }

    /// The part of it that is the logical line with the byte at `at`, below a root of its own, and where that line
    /// begins. Built anew at every call, in a small part of the time.
    pub(super) fn tree_of_line(&self, at: u32) -> Option<(u32, GreenNode)> {
        let first = self.line_at(at)?;
        let Range { start, end } = self.logical_line(first);
        let mut sink = TreeSink::new(&self.text);
        sink.open(SyntaxKind::Block, start);
        grammar::logical_line(self.lines(), first, &mut sink);
        sink.close(SyntaxKind::Block, end);
        Some((start, sink.finish()))
    }

    pub(super) fn units(&self) -> &Units {
        self.units.get_or_init(|| Units::new(&self.text))
    }
}

/// What is guarded is whole whatever panicked while it was held.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    /// Rows are gathered here.
    static GATHERED: RefCell<Gathered> = RefCell::default();
    /// Shapes that one block has, many have.
    static KNOWN_SHAPES: RefCell<KnownShapes> = RefCell::default();
}

/// Where lines begin for an editor, to which a lone `\r` is a line end too.
fn editor_lines(text: &str) -> Starts {
    let bytes = text.as_bytes();
    let mut line_starts = vec![0];
    for end in memchr::memchr2_iter(b'\n', b'\r', bytes) {
        let is_half = bytes[end] == b'\r' && bytes.get(end + 1) == Some(&b'\n');
        if !is_half && end + 1 < bytes.len() {
            line_starts.push(end as u32 + 1);
        }
    }
    Starts::new(&line_starts)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::SyntaxNode;
    use crate::document::Document;
    use crate::document::cut::Cutter;

    /// The documents of the fixtures.
    fn fixtures() -> impl Iterator<Item = Document> {
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/dumps");
        let folders = std::fs::read_dir(fixtures).expect("the fixtures");
        let files = folders.flat_map(|folder| {
            std::fs::read_dir(folder.expect("a folder").path()).expect("a folder")
        });
        files.map(|file| {
            let text = std::fs::read(file.expect("a file").path()).expect("a file");
            Document::new(&String::from_utf8_lossy(&text)).expect("below 4 GiB")
        })
    }

    /// Only what is wrong may be understood otherwise when more of it is read.
    #[test]
    fn rows_are_the_same_with_and_without_the_inside_of_lines() {
        let mut blocks = 0;
        for document in fixtures() {
            for (_, block) in document.blocks() {
                let (facts, rare, errors) = block.read::<true>();
                let (same_facts, same_rare, _) = block.read::<false>();
                assert!(
                    (facts, rare) == (same_facts, same_rare) || !errors.is_empty(),
                    "{}",
                    block.text()
                );
                blocks += 1;
            }
        }
        assert!(blocks > 800, "{blocks}");
    }

    #[test]
    fn trees_of_lines_are_the_parts_of_the_blocks_tree() {
        let mut lines = 0;
        for document in fixtures() {
            for (_, block) in document.blocks() {
                let tree = SyntaxNode::new_root(block.tree());
                let mut nodes = tree.children();
                let mut at = 0;
                while at < block.length() {
                    let (start, line) = block.tree_of_line(at).expect("a line");
                    let end = at + u32::from(line.text_len());
                    assert_eq!((start, block.line_at(end - 1)), (at, block.line_at(at)));
                    for node in SyntaxNode::new_root(line).children() {
                        let same = nodes.next().expect("a node of the block");
                        assert_eq!(node.green(), same.green());
                    }
                    at = end;
                    lines += 1;
                }
                assert_eq!(nodes.next(), None);
            }
        }
        assert!(lines > 10_000, "{lines}");
    }

    /// Who wants to do something else meanwhile can.
    #[test]
    fn the_question_for_facts_waits_for_nobody_who_computes_them() {
        let document = Document::new("BufferAssignment:\n").expect("a short text");
        let block = &document.blocks[0];
        let computing = lock(&block.facts);
        let answer = thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            scope.spawn(move || sender.send(block.has_facts()));
            let answer = receiver.recv_timeout(Duration::from_secs(20));
            drop(computing);
            answer
        });
        assert_eq!(answer, Ok(false));
        block.facts();
        assert!(block.has_facts());
    }

    /// What is wrong, by a reading of every token.
    #[derive(Default)]
    struct AllErrors(Vec<SyntaxError>);

    impl Sink for AllErrors {
        const DETAIL: bool = true;

        fn open(&mut self, _: SyntaxKind, _: u32) {}
        fn token(&mut self, _: SyntaxKind, _: u32, _: u32) {}
        fn close(&mut self, _: SyntaxKind, _: u32) {}
        fn error(&mut self, error: SyntaxError) {
            self.0.push(error);
        }
    }

    /// What is passed over, since it is in its usual form or known, is as sound as the rules say. Whole blocks
    /// of real dumps are broken in some places each.
    #[test]
    fn what_is_passed_over_has_the_errors_that_a_reading_of_every_token_finds() {
        const PIECES: [&str; 26] = [
            "{",
            "}",
            "(",
            ")",
            "[",
            "]",
            "\"",
            "%",
            ",",
            ", ",
            "=",
            " ",
            "  ",
            "/",
            "/*",
            "//",
            "\\",
            "<",
            ">",
            "-",
            "@",
            "0",
            "18446744073709551616",
            "a",
            "\u{e9}",
            "\n",
        ];
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/dumps");
        let mut state = 1_u32;
        let mut random = move |below: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize % below.max(1)
        };
        let (mut sound, mut broken) = (0, 0);
        for file in std::fs::read_dir(fixtures).expect("the fixtures") {
            let text = std::fs::read_to_string(file.expect("a file").path()).expect("UTF-8");
            let document = Document::new(&text).expect("a short text");
            for (_, block) in document.blocks() {
                for round in 0..560 {
                    let mut text = block.text().to_owned();
                    for _ in 0..round % 4 {
                        let mut at = [0, 1].map(|_| random(text.len() + 1));
                        while !at.iter().all(|&at| text.is_char_boundary(at)) {
                            at = [0, 1].map(|_| random(text.len() + 1));
                        }
                        let end = if random(2) == 0 {
                            at[0]
                        } else {
                            at[1].min(at[0] + random(3))
                        };
                        if end >= at[0] && text.is_char_boundary(end) {
                            text.replace_range(at[0]..end, PIECES[random(PIECES.len())]);
                        }
                    }
                    let (blocks, _) = Cutter::new(block.mode).finish(&text, None);
                    for block in blocks {
                        let mut all = AllErrors::default();
                        grammar::block(block.lines(), &mut all);
                        assert_eq!(block.errors(), all.0, "{}", block.text());
                        if all.0.is_empty() {
                            sound += 1;
                        } else {
                            broken += 1;
                        }
                    }
                }
            }
        }
        assert!(
            sound > 9000 && broken > 9000,
            "{sound} sound, {broken} broken"
        );
    }
}
