//! What a second reader of dumps, plain enough to be checked by eye, finds in them. The tests hold
//! the answers of the first reader against it.
//!
//! Columns are bytes in the line.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

/// A piece of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Spot {
    pub file: usize,
    /// From 0.
    pub line: usize,
    /// In bytes, from 0.
    pub column: usize,
    /// In bytes.
    pub length: usize,
}

/// A printed number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Number {
    pub value: u64,
    pub spot: Spot,
}

/// A printed word.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word {
    pub text: String,
    pub spot: Spot,
}

impl Word {
    /// The number at the end of this name, behind its last dot.
    pub fn number_within(&self) -> Option<Number> {
        let digits = self.text.rsplit_once('.')?.1;
        let length = digits.len();
        let column = self.spot.column + self.spot.length - length;
        Some(Number {
            value: digits.parse().ok()?,
            spot: Spot {
                column,
                length,
                ..self.spot
            },
        })
    }

    /// The first number of the index that is printed directly behind this name.
    pub fn number_behind(&self, index: &str) -> Option<Number> {
        let digits = index[1..].bytes().take_while(u8::is_ascii_digit).count();
        let value = index[1..=digits].parse().ok()?;
        let column = self.spot.column + self.spot.length + 1;
        Some(Number {
            value,
            spot: Spot {
                column,
                length: digits,
                ..self.spot
            },
        })
    }
}

/// `<27 copy-start{0} (phi) @1>`
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reference {
    pub spot: Spot,
    pub id: Number,
    pub name: Word,
    /// `{}` where it is not printed.
    pub index: String,
    pub color: Option<Number>,
}

#[derive(Debug, Default)]
pub struct Allocation {
    pub line: Spot,
    pub index: Number,
    pub size: Number,
    pub color: Option<Number>,
    pub parameter: Option<Number>,
    /// What stands between the bars of `shape |f32[]|`.
    pub parameter_shape: Option<Word>,
    /// `{}` of `at ShapeIndex {}`.
    pub shape_index: Option<Word>,
    pub attributes: String,
    /// Numbers of its values.
    pub values: Vec<usize>,
}

impl Allocation {
    /// `{}` of `at ShapeIndex {}`.
    pub fn parameter_index(&self) -> Option<&str> {
        self.shape_index.as_ref().map(|index| index.text.as_str())
    }

    pub fn has(&self, attribute: &str) -> bool {
        self.attributes.contains(attribute)
    }
}

/// The instruction printed with a value.
#[derive(Debug, Clone, Default)]
pub struct Instruction {
    pub name: Word,
    pub shape: Word,
    pub opcode: String,
    /// `%name` in the brackets behind the opcode, without the mark.
    pub operands: Vec<Word>,
}

/// What section C says of a value.
#[derive(Debug, Default)]
pub struct Used {
    pub header: Reference,
    /// Name and index.
    pub positions: Vec<(Word, String)>,
    pub uses: Vec<Use>,
    pub instruction: Instruction,
}

/// A line below `uses:`.
#[derive(Debug)]
pub struct Use {
    pub name: Word,
    pub operand: Number,
    /// The first number of the index, if it has one.
    pub index: Option<Number>,
}

#[derive(Debug, Default)]
pub struct LiveRange {
    pub name: Word,
    pub index: String,
    pub start: Number,
    pub end: Number,
}

#[derive(Debug, Default)]
pub struct PeakLine {
    pub name: Word,
    /// Older compilers leave it out.
    pub index: Option<String>,
    pub bytes: Number,
    pub cumulative: Option<Number>,
}

/// A value, by its line in section A.
#[derive(Debug, Default)]
pub struct Value {
    pub line: Spot,
    pub reference: Reference,
    pub allocation: usize,
    pub size: Number,
    pub offset: Number,
    pub shape: Word,
    /// Its number in [`Facts::used`].
    pub used: Option<usize>,
    /// Its number in [`Facts::live_ranges`].
    pub live: Option<usize>,
    /// Its numbers in [`Facts::peak`].
    pub peak: Vec<usize>,
}

/// A file of the dump.
#[derive(Debug)]
pub struct File {
    pub path: PathBuf,
    pub text: String,
    pub lines: Vec<String>,
}

/// All that a dump says.
#[derive(Debug, Default)]
pub struct Facts {
    pub files: Vec<File>,
    pub allocations: Vec<Allocation>,
    pub values: Vec<Value>,
    /// The total and its text for people, in the assignment or values file.
    pub total: Option<(Number, Word)>,
    pub used: Vec<Used>,
    pub max: Option<Number>,
    /// The step printed and the instruction.
    pub sequence: Vec<(Number, Word)>,
    pub live_ranges: Vec<LiveRange>,
    pub peak_step: Option<Number>,
    pub peak: Vec<PeakLine>,
    pub tree_total: Option<Number>,
    /// Total, current and remaining of each node.
    pub tree: Vec<[Number; 3]>,
    /// `Total bytes` of the memory-usage report.
    pub report_totals: Vec<Number>,
    /// The file with the HLO text.
    pub module: Option<usize>,
    /// Instructions of the HLO text: where the name stands, and in which computation.
    pub instructions: HashMap<String, (Spot, String)>,
    pub computations: HashSet<String>,
    /// Computations that run beside the schedule.
    pub asynchronous: HashSet<String>,
    /// The computation that the program begins with.
    pub entry: String,
    /// Instructions that give the results of their computations.
    pub roots: HashSet<String>,
    /// The opcodes of instructions of the HLO text.
    pub opcodes: HashMap<String, String>,
    /// Where each instruction is named.
    pub names: HashMap<String, Vec<Spot>>,
    /// Words that may be taken for names: labels of the tree, signatures of computations.
    pub words: HashMap<String, Vec<Spot>>,
}

impl Facts {
    // Looking things up.

    pub fn path(&self, spot: Spot) -> &PathBuf {
        &self.files[spot.file].path
    }

    /// The line of a place.
    pub fn line(&self, spot: Spot) -> &str {
        &self.files[spot.file].lines[spot.line]
    }

    /// The column in UTF-16 units.
    pub fn utf16(&self, spot: Spot) -> usize {
        self.line(spot)[..spot.column].encode_utf16().count()
    }

    /// `FILE:LINE:COLUMN` from 1, for messages and for the command line.
    pub fn position(&self, spot: Spot) -> String {
        let column = self.line(spot)[..spot.column].chars().count() + 1;
        format!("{}:{}:{column}", self.path(spot).display(), spot.line + 1)
    }

    /// Values that `name` defines.
    pub fn defined_by(&self, name: &str) -> Vec<usize> {
        self.filter(|value| value.reference.name.text == name)
    }

    /// The value that `name` defines at `index`.
    pub fn defined_at(&self, name: &str, index: &str) -> Vec<usize> {
        self.filter(|value| value.reference.name.text == name && value.reference.index == index)
    }

    /// Values that are visible at `name`, at `index` if one is given.
    pub fn positioned_at(&self, name: &str, index: Option<&str>) -> Vec<usize> {
        self.filter(|value| {
            value.used.is_some_and(|used| {
                self.used[used].positions.iter().any(|(position, at)| {
                    position.text == name && index.is_none_or(|index| index == at)
                })
            })
        })
    }

    fn filter(&self, choose: impl Fn(&Value) -> bool) -> Vec<usize> {
        (0..self.values.len())
            .filter(|&at| choose(&self.values[at]))
            .collect()
    }

    /// Lines that name a value, but for peak lists without indices.
    pub fn lines_of(&self, value: &Value) -> BTreeSet<(usize, usize)> {
        let mut spots = vec![value.line];
        spots.extend(value.used.map(|used| self.used[used].header.spot));
        spots.extend(value.live.map(|live| self.live_ranges[live].name.spot));
        spots.extend(value.peak.iter().map(|&peak| self.peak[peak].name.spot));
        spots
            .into_iter()
            .map(|spot| (spot.file, spot.line))
            .collect()
    }

    /// Lines of the peak list that name an instruction without an index.
    pub fn bare_peak_lines(&self, name: &str) -> BTreeSet<(usize, usize)> {
        let of_name = |line: &&PeakLine| line.index.is_none() && line.name.text == name;
        self.peak
            .iter()
            .filter(of_name)
            .map(|line| (line.name.spot.file, line.name.spot.line))
            .collect()
    }

    /// Lines that name an instruction.
    pub fn lines_with(&self, name: &str) -> BTreeSet<(usize, usize)> {
        lines(self.names.get(name))
    }

    /// Further lines that may be taken to name an instruction.
    pub fn lines_like(&self, name: &str) -> BTreeSet<(usize, usize)> {
        lines(self.words.get(name))
    }

    /// Whether a value with this size, offset and live range (its own if none is given) would be at
    /// work on bytes of another one for more than a moment.
    pub fn collides(&self, at: usize, size: u64, offset: u64, live: Option<(u64, u64)>) -> bool {
        let range = |value: &Value| {
            let live = &self.live_ranges[value.live?];
            Some((live.start.value, live.end.value))
        };
        let value = &self.values[at];
        let Some((start, end)) = live.or_else(|| range(value)) else {
            return false;
        };
        self.allocations[value.allocation]
            .values
            .iter()
            .any(|&other| {
                let other_value = &self.values[other];
                let (other_size, other_offset) = (other_value.size.value, other_value.offset.value);
                range(other_value).is_some_and(|(other_start, other_end)| {
                    other != at
                        && size > 0
                        && other_size > 0
                        && offset < other_offset + other_size
                        && other_offset < offset + size
                        && end.min(other_end) > start.max(other_start)
                })
            })
    }
}

fn lines(spots: Option<&Vec<Spot>>) -> BTreeSet<(usize, usize)> {
    spots
        .into_iter()
        .flatten()
        .map(|spot| (spot.file, spot.line))
        .collect()
}
