//! Cuts a text into blocks: runs of whole lines that are read on their own.
//!
//! A cut is a function of the lines behind the previous cut alone, so scanning from the start of
//! any block gives the same cuts again; and most cuts depend on one line's own text, so that after
//! an edit the old and the new cuts soon meet.

use crate::line::{LineKind, Mode, classify, is_heading, mode_after};

/// A block holds at most this many lines, and those that continue the last one ...
const MAX_LINES: u32 = 256;
/// ... and bytes, unless it is a single longer line.
const MAX_BYTES: usize = 64 * 1024;
/// A line of so many bytes is a block of its own, with the lines that continue it. Compilers repeat
/// the text of an instruction with a large tuple for every element of the tuple, and so equal
/// blocks are kept and read once.
pub(crate) const LONG_LINE: usize = 1024;
/// A cut that the text itself suggests is taken only behind so many lines, so that a line repeated
/// a million times does not make a million blocks.
const MIN_LINES: u32 = 32;

/// How the line behind a block matters to the block's last line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Follow {
    /// It does not.
    Nothing,
    /// It continues the block's last line (an instruction or a label over several lines).
    Continuation,
    /// It is ` positions:`, so the block's last line may end in a value's header.
    Positions,
}

/// Where the lines of a text begin. Most texts are so short that this takes two bytes a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Starts {
    Short(Box<[u16]>),
    Long(Box<[u32]>),
}

impl Starts {
    /// Of lines that begin at `starts`, which ascend.
    pub(crate) fn new(starts: &[u32]) -> Self {
        if starts.last().is_none_or(|&last| last <= u16::MAX.into()) {
            Self::Short(starts.iter().map(|&start| start as u16).collect())
        } else {
            Self::Long(starts.into())
        }
    }

    /// How many lines there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Short(starts) => starts.len(),
            Self::Long(starts) => starts.len(),
        }
    }

    /// Where line `line` begins, from 0.
    pub(crate) fn get(&self, line: usize) -> Option<usize> {
        match self {
            Self::Short(starts) => starts.get(line).map(|&start| start as usize),
            Self::Long(starts) => starts.get(line).map(|&start| start as usize),
        }
    }

    /// How many lines begin at `at` or before.
    pub(crate) fn up_to(&self, at: u32) -> usize {
        match self {
            Self::Short(starts) => starts.partition_point(|&start| u32::from(start) <= at),
            Self::Long(starts) => starts.partition_point(|&start| start <= at),
        }
    }
}

/// The lines of a block, as they were judged when it was cut.
#[derive(Clone, Copy)]
pub(crate) struct Lines<'b> {
    pub(crate) text: &'b str,
    /// Where they begin, and what they are.
    pub(crate) starts: &'b Starts,
    pub(crate) kinds: &'b [LineKind],
    /// The mode in which the first one begins.
    pub(crate) mode: Mode,
    /// What the line behind the last one means to it.
    pub(crate) follow: Follow,
}

impl<'b> Lines<'b> {
    /// Where line `line` begins; the end of the text for the one behind the last.
    pub(crate) fn start(self, line: usize) -> usize {
        self.starts.get(line).unwrap_or(self.text.len())
    }

    /// Line `line` without its line end.
    pub(crate) fn content(self, line: usize) -> &'b str {
        without_line_end(&self.text[self.start(line)..self.start(line + 1)])
    }

    /// The line behind the logical line that begins with `line`: an instruction or label can have several
    /// lines, and foreign text is one, however many it has.
    pub(crate) fn next_logical(self, line: usize) -> usize {
        let goes_on = match self.kinds[line] {
            LineKind::FromInstruction
            | LineKind::ModuleLine
            | LineKind::ComputationHeader
            | LineKind::Instruction
            | LineKind::TreeLine
            | LineKind::Continuation => LineKind::Continuation,
            LineKind::Unknown => LineKind::Unknown,
            _ => return line + 1,
        };
        let behind = &self.kinds[line + 1..];
        line + 1 + behind.iter().take_while(|&&kind| kind == goes_on).count()
    }

    /// The line with which the logical line begins that line `line` is part of.
    pub(crate) fn first_of_logical(self, line: usize) -> usize {
        let goes_on = |kind| matches!(kind, LineKind::Continuation | LineKind::Unknown);
        let mut first = self.kinds[..=line]
            .iter()
            .rposition(|&kind| !goes_on(kind))
            .unwrap_or(0);
        loop {
            let next = self.next_logical(first);
            if next > line {
                return first;
            }
            first = next;
        }
    }

    /// What `behind`, the line behind a logical line of `kind`, means to that.
    pub(crate) fn follow_of(self, kind: LineKind, behind: usize) -> Follow {
        if behind == self.kinds.len() {
            self.follow
        } else if matches!(kind, LineKind::FromInstruction | LineKind::Continuation)
            && is_heading(self.content(behind), " positions:")
        {
            Follow::Positions
        } else {
            Follow::Nothing
        }
    }
}

/// A place where one block ends and the next begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    /// The mode in which the next block begins.
    pub(crate) mode: Mode,
    /// What the next block begins with.
    pub(crate) follow: Follow,
}

/// Decides line by line where blocks end.
#[derive(Debug)]
pub(crate) struct Scanner {
    mode: Mode,
    lines: u32,
    bytes: usize,
    is_behind_long: bool,
}

impl Scanner {
    /// A scanner at the start of a block that begins in `mode`.
    pub(crate) fn new(mode: Mode) -> Self {
        Self {
            mode,
            lines: 0,
            bytes: 0,
            is_behind_long: false,
        }
    }

    /// Takes the next line (with its line end), which is followed by `next`, and tells what it is and
    /// whether a new block begins with it.
    pub(crate) fn cut_before(&mut self, line: &str, next: &str) -> (LineKind, Option<Cut>) {
        let text = without_line_end(line);
        let kind = classify(self.mode, text);
        let follow = match kind {
            LineKind::Continuation => Follow::Continuation,
            LineKind::PositionsHeading if self.mode == Mode::Instruction => Follow::Positions,
            _ => Follow::Nothing,
        };
        let is_long = line.len() >= LONG_LINE;
        let continues = kind == LineKind::Continuation;
        let cut = self.lines > 0
            && (!continues && (self.lines >= MAX_LINES || is_long || self.is_behind_long)
                || self.bytes + line.len() > MAX_BYTES
                || opens_section(kind)
                || (self.lines >= MIN_LINES && suggests_cut(kind, follow, text, next)));
        let cut = cut.then_some(Cut {
            mode: self.mode,
            follow,
        });
        if cut.is_some() {
            self.lines = 0;
            self.bytes = 0;
        }
        self.lines += 1;
        self.bytes += line.len();
        // What is behind a cut must not depend on what is before it.
        self.is_behind_long = is_long || (continues && self.is_behind_long && cut.is_none());
        self.mode = mode_after(self.mode, kind, text);
        (kind, cut)
    }
}

/// The line without `\n` or `\r\n`.
pub(crate) fn without_line_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

fn opens_section(kind: LineKind) -> bool {
    matches!(
        kind,
        LineKind::AssignmentHeading
            | LineKind::ValuesHeading
            | LineKind::LiveRangeHeading
            | LineKind::ModuleLine
            | LineKind::OutOfMemoryMessage
            | LineKind::OutOfMemoryHeading
            | LineKind::Marker
    )
}

/// One line in so many is a cut, chosen by its text: lines that begin something more often.
fn suggests_cut(kind: LineKind, follow: Follow, line: &str, next: &str) -> bool {
    let (one_in, text) = match kind {
        LineKind::ValueHeader => (32, line),
        // Where the header stands run-on in the line before, the defining position is as telling.
        LineKind::PositionsHeading if follow == Follow::Positions => (32, next),
        LineKind::ComputationHeader => (8, line),
        LineKind::AllocationHeader | LineKind::Instruction | LineKind::SpaceHeading => (128, line),
        LineKind::ValueLine | LineKind::ReportRow | LineKind::ReportAllocation => (256, line),
        LineKind::Step
        | LineKind::Range
        | LineKind::PeakLine
        | LineKind::TreeLine
        | LineKind::TableRow
        | LineKind::OutOfMemoryEntry
        | LineKind::Foreign
        | LineKind::Unknown => (512, line),
        _ => return false,
    };
    hash(text).is_multiple_of(one_in)
}

/// A hash of the first bytes of a line.
fn hash(line: &str) -> u32 {
    let mut first = [0; 32];
    let length = line.len().min(first.len());
    first[..length].copy_from_slice(&line.as_bytes()[..length]);
    let hash = first.chunks_exact(8).fold(0_u64, |hash, word| {
        let word = word.try_into().map_or(0, u64::from_le_bytes);
        (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
    });
    (hash >> 32) as u32
}
