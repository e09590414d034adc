//! Inlay hints: numbers as people read them, behind the numbers of the text.

use std::ops::Range;

use buflens_syntax::facts::{self, Number, Span};
use buflens_syntax::{Block, Shape};

use crate::model::bytes::{grouped, is_possible_size, logical_bytes, padded_bytes, rounded};
use crate::model::occupancy::Space;
use crate::model::{Dump, FileId, Platforms, space};

/// So many hints are the answer to one request.
const LIMIT: usize = 2000;
/// Fewer bytes are read well as they stand.
const MIN_BYTES: u64 = 1024;
/// Padding of less than a twentieth is not told, nor is less than this: every scalar in a tile has some.
const MIN_PADDING: f64 = 1.05;
const MIN_PADDING_BYTES: u64 = 1024;
/// A longer shape is not looked at; arrays are shorter.
const MAX_SHAPE: u32 = 500;

/// So many memory spaces are told of at a step.
const MAX_SPACES: usize = 8;

/// What a hint tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Bytes for people, behind a size.
    Bytes,
    /// Where a value ends, behind its offset.
    Ends,
    /// How many times its data a padded array takes, behind its shape.
    Padding,
    /// The name of a memory space, behind its number.
    Spaces,
    /// The bytes occupied at a step, behind the step.
    Steps,
    /// That a value is alive at the peak, behind its live range.
    Peak,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Bytes,
        Self::Ends,
        Self::Padding,
        Self::Spaces,
        Self::Steps,
        Self::Peak,
    ];

    /// `bytes`, `ends`, `padding`, `spaces`, `steps`, `peak`
    pub fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Ends => "ends",
            Self::Padding => "padding",
            Self::Spaces => "spaces",
            Self::Steps => "steps",
            Self::Peak => "peak",
        }
    }

    /// Whether it is shown where nobody chose. Ends are not: one more number of nine digits on every
    /// line makes the others harder to read, and the hover has it.
    pub fn is_default(self) -> bool {
        self != Self::Ends
    }
}

/// A few words behind a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// The place, in bytes from the start of the file.
    pub offset: u32,
    /// What it tells.
    pub kind: Kind,
    /// The words.
    pub label: String,
    /// More of them, for who asks.
    pub tooltip: Option<String>,
}

/// The hints of the `wanted` kinds within `range` of a file, in the order of the text.
pub fn hints(dump: &Dump, file: FileId, range: Range<u32>, wanted: &[Kind]) -> Vec<Hint> {
    let Some(document) = dump.files.get(file).map(|file| &file.document) else {
        return Vec::new();
    };
    let mut hints = Vec::new();
    let first = document.block_at(range.start).unwrap_or(usize::MAX);
    for number in first..document.blocks().len() {
        let Some((start, block)) = document.block(number) else {
            break;
        };
        if start > range.end || hints.len() >= LIMIT {
            break;
        }
        let mut of_block = OfBlock {
            dump,
            block,
            start,
            range: range.clone(),
            wanted,
            hints: Vec::new(),
        };
        of_block.placements();
        of_block.instructions();
        of_block.times();
        // Blocks are in the order of the text, the kinds of rows in one are not.
        of_block.hints.sort_by_key(|hint| hint.offset);
        hints.append(&mut of_block.hints);
    }
    hints.truncate(LIMIT);
    hints
}

/// The hints of one block in the making.
struct OfBlock<'d> {
    dump: &'d Dump,
    block: &'d Block,
    start: u32,
    range: Range<u32>,
    wanted: &'d [Kind],
    hints: Vec<Hint>,
}

impl OfBlock<'_> {
    /// Sizes, offsets, shapes and memory spaces of allocations and values.
    fn placements(&mut self) {
        let block = self.block;
        for row in block.rows::<facts::Allocation>() {
            self.size(row.size);
            self.color(row.color);
        }
        for row in block.rows::<facts::Placement>() {
            self.color(row.value.color);
            self.size(row.size);
            if let (Some(size), Some(offset)) = (row.size.get(), row.offset.get())
                && let Some(end) = offset.checked_add(size).filter(|_| size > 0)
            {
                self.push(Kind::Ends, row.offset.span, || {
                    (format!(".. {}", grouped(end)), None)
                });
            }
            self.padding(row.shape, row.size.get());
        }
        for row in block.rows::<facts::UsedValue>() {
            self.color(row.value.color);
        }
    }

    /// Shapes of results.
    fn instructions(&mut self) {
        for row in self.block.rows::<facts::Instruction>() {
            self.padding(row.shape, None);
        }
    }

    /// Steps and live ranges.
    fn times(&mut self) {
        let (dump, text) = (self.dump, self.block.text());
        let block = self.block;
        let main = main_space(dump);
        for row in block.rows::<facts::Step>() {
            if let Some((label, tooltip)) = self
                .is_asked(Kind::Steps, row.name)
                .then(|| at_step(dump, main?, row.step.value))
                .flatten()
            {
                self.push(Kind::Steps, row.name, || (label, Some(tooltip)));
            }
        }
        for row in block.rows::<facts::LiveRange>() {
            if !self.is_asked(Kind::Peak, row.end.span) {
                continue;
            }
            let names = dump.names.get(row.name.text(text));
            let names = names.zip(dump.names.get(row.index.text(text)));
            let value = names.and_then(|(name, index)| dump.values_at(name, index).next());
            if let Some(label) = value.and_then(|at| at_peak(dump, at)) {
                self.push(Kind::Peak, row.end.span, || label);
            }
        }
    }

    fn size(&mut self, size: Number) {
        if let Some(bytes) = size.get().filter(|&bytes| bytes >= MIN_BYTES) {
            self.push(Kind::Bytes, size.span, || (rounded(bytes), None));
        }
    }

    fn color(&mut self, color: Number) {
        let name = color.get().filter(|&color| color != 0);
        if let Some(name) = name.and_then(|color| space::name(color, self.dump.platforms)) {
            self.push(Kind::Spaces, color.span, || (name.to_owned(), None));
        }
    }

    /// Padding of the array at `shape` which takes `size` bytes.
    fn padding(&mut self, shape: Span, size: Option<u64>) {
        if shape.end - shape.start > MAX_SHAPE || !self.is_asked(Kind::Padding, shape) {
            return;
        }
        let text = shape.text(self.block.text());
        if let Some((ratio, tooltip)) = padding(text, size, self.dump.platforms) {
            self.push(Kind::Padding, shape, || {
                (format!("pad {ratio:.2}x"), Some(tooltip))
            });
        }
    }

    /// Whether a hint of `kind` behind `span` is wanted.
    fn is_asked(&self, kind: Kind, span: Span) -> bool {
        let at = self.start + span.end;
        !span.is_empty()
            && self.range.start <= at
            && at <= self.range.end
            && self.wanted.contains(&kind)
            && self.hints.len() < LIMIT
    }

    fn push(&mut self, kind: Kind, span: Span, words: impl FnOnce() -> (String, Option<String>)) {
        if self.is_asked(kind, span) {
            let (label, tooltip) = words();
            self.hints.push(Hint {
                offset: self.start + span.end,
                kind,
                label,
                tooltip,
            });
        }
    }
}

/// How many times its data a tiled array takes, and both in bytes.
fn padding(text: &str, size: Option<u64>, platforms: Platforms) -> Option<(f64, String)> {
    if text.starts_with('(') {
        return None;
    }
    let shape = Shape::read(text).ok()?;
    let Shape::Array(array) = &shape else {
        return None;
    };
    array
        .layout
        .as_ref()
        .filter(|layout| !layout.tiles.is_empty())?;
    let logical = logical_bytes(&shape).filter(|&logical| logical > 0)?;
    let taken = match size {
        Some(size) if is_possible_size(&shape, size, platforms) => size,
        // The size is that of a buffer which the value shares.
        Some(_) => return None,
        None => padded_bytes(array)?,
    };
    let ratio = taken as f64 / logical as f64;
    let tooltip = format!("{} for {} of data", rounded(taken), rounded(logical));
    let is_told = ratio > MIN_PADDING && taken - logical >= MIN_PADDING_BYTES;
    is_told.then_some((ratio, tooltip))
}

/// The main memory, which is the first; or where nothing lies there, the memory space with the highest peak.
fn main_space(dump: &Dump) -> Option<&Space> {
    let peak = |space: &Space| space.peak().map_or(0, |peak| peak.bytes);
    let spaces = dump.occupancy().spaces.iter();
    spaces.max_by_key(|space| {
        let is_main = space.color == 0 && peak(space) > 0;
        (is_main, peak(space), std::cmp::Reverse(space.color))
    })
}

/// The bytes that the main memory space occupies at a step, and those of all spaces.
fn at_step(dump: &Dump, main: &Space, step: u64) -> Option<(String, String)> {
    let name = |space: &Space| space::named(space.color, dump.platforms);
    let curve = main.curve.as_ref().filter(|curve| step < curve.steps())?;
    let peak = curve.peak();
    let mark = if peak.step == step && peak.bytes > 0 {
        ", the peak"
    } else {
        ""
    };
    let spaces = dump.occupancy().spaces.iter().take(MAX_SPACES);
    let all: Vec<String> = spaces
        .filter_map(|space| {
            let bytes = rounded(space.curve.as_ref()?.at(step));
            Some(format!("{} {bytes}", name(space)))
        })
        .collect();
    let bytes = rounded(curve.at(step));
    // Several memory spaces have their peaks at several steps: which one is this?
    let label = if all.len() > 1 {
        format!("{} {bytes}{mark}", name(main))
    } else {
        format!("{bytes}{mark}")
    };
    Some((label, format!("occupied: {}", all.join(", "))))
}

/// `at HBM peak`, of a value that is alive at the peak of its memory space.
fn at_peak(dump: &Dump, at: u32) -> Option<(String, Option<String>)> {
    let value = dump.values.get(at as usize)?;
    let allocation = dump.allocation_of(value)?;
    let peak = super::hover::peak_of_value(dump, value)?;
    let label = match space::name(allocation.color, dump.platforms) {
        Some(name) => format!("at {name} peak"),
        None if allocation.color == 0 => "at peak".to_owned(),
        None => format!("at peak of @{}", allocation.color),
    };
    let tooltip = format!(
        "{} of the {} at step {}",
        rounded(value.size),
        rounded(peak.bytes),
        peak.step
    );
    Some((label, Some(tooltip)))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::super::fixture::{COMBINED, Fixture, split};
    use super::*;

    /// The lines in `range` with their hints in angle quotes.
    fn shown(text: &str, file: FileId, part: &str, wanted: &[Kind]) -> String {
        let fixture = Fixture::new(text);
        let document = fixture.dump.files[file].document.text();
        let start = document.find(part).expect("the part") as u32;
        let range = start..start + part.len() as u32;
        let mut text = part.to_owned();
        let hints = hints(&fixture.dump, file, range, wanted);
        for hint in hints.iter().rev() {
            let at = (hint.offset - start) as usize;
            text.insert_str(at, &format!("«{}»", hint.label));
        }
        text
    }

    fn check(part: &str, wanted: &[Kind], expect: &Expect) {
        // In brackets, since blanks at the start of what is expected do not count.
        expect.assert_eq(&format!("[{}]", shown(COMBINED, 0, part, wanted)));
    }

    #[test]
    fn values_have_bytes_ends_padding_and_spaces() {
        let part = "allocation 3: size 16448, preallocated-temp:\n";
        check(
            part,
            &Kind::ALL,
            &expect![[r#"
                [allocation 3: size 16448«16.1 KiB», preallocated-temp:
                ]"#]],
        );
        let part = " value: <5 copy-start{0} @1> (size=512,offset=0): f32[16]{0:T(128)S(1)}\n";
        check(
            part,
            &Kind::ALL,
            &expect![[r#"
                [ value: <5 copy-start{0} @1«VMEM»> (size=512,offset=0«.. 512»): f32[16]{0:T(128)S(1)}
                ]"#]],
        );
        let part = " value: <8 while.4{1} (phi) @0> (size=64,offset=16384): f32[16]{0:T(128)}";
        check(
            part,
            &[Kind::Ends],
            &expect![
                "[ value: <8 while.4{1} (phi) @0> (size=64,offset=16384«.. 16,448»): f32[16]{0:T(128)}]"
            ],
        );
        check(
            part,
            &[],
            &expect!["[ value: <8 while.4{1} (phi) @0> (size=64,offset=16384): f32[16]{0:T(128)}]"],
        );
    }

    #[test]
    fn steps_and_live_ranges_tell_the_peak() {
        let part = "    0:x.1\n    1:copy-start\n    2:copy-done\n    3:while.4\n";
        check(
            part,
            &Kind::ALL,
            &expect![[r#"
                [    0:x.1«HBM 512 B»
                    1:copy-start«HBM 544 B»
                    2:copy-done«HBM 544 B»
                    3:while.4«HBM 608 B»
                ]"#]],
        );
        // A TPU v7 reserves all of VMEM.
        let reserved = COMBINED.replace("size 512, color 1", "size 33554432, color 1");
        assert_eq!(
            shown(&reserved, 0, part, &Kind::ALL),
            shown(COMBINED, 0, part, &Kind::ALL)
        );
        let part = "    x.1{}:0-7\n    copy-start{}:1-2\n    copy-start{0}:1-3\n    copy-start{2}:1-2\n    while.4{}:3-4\n";
        check(
            part,
            &Kind::ALL,
            &expect![[r#"
                [    x.1{}:0-7«at HBM peak»
                    copy-start{}:1-2
                    copy-start{0}:1-3«at VMEM peak»
                    copy-start{2}:1-2
                    while.4{}:3-4
                ]"#]],
        );
        assert_eq!(
            shown(&split(), 2, part, &Kind::ALL),
            shown(COMBINED, 0, part, &Kind::ALL)
        );
    }

    #[test]
    fn instructions_tell_padding_and_nothing_is_made_up_without_live_ranges() {
        let text = COMBINED.replace(
            "%add.2 = f32[16]{0:T(128)}",
            "%add.2 = f32[16,8]{1,0:T(8,128)}",
        );
        let part = " from instruction: %add.2 = f32[16,8]{1,0:T(8,128)} add(";
        assert_eq!(
            shown(&text, 0, part, &Kind::ALL),
            " from instruction: %add.2 = f32[16,8]{1,0:T(8,128)}«pad 16.00x» add("
        );
        let text = "HloLiveRange (max 2):\n  InstructionSequence:\n    0:a\n    1:b\n  BufferLiveRange:\n    a{}:0-2\n";
        assert_eq!(shown(text, 0, text, &Kind::ALL), text);
    }

    #[test]
    fn sizes_that_are_not_the_shapes_own_have_no_padding() {
        let tpu = Platforms {
            tpu: true,
            ..Platforms::default()
        };
        let ratio = |text, size| padding(text, size, tpu).map(|(ratio, _)| format!("{ratio:.2}"));
        let tiled = "pred[32,513]{0,1:T(8,128)(4,1)}";
        assert_eq!(ratio(tiled, Some(66560)).as_deref(), Some("4.05"));
        assert_eq!(ratio(tiled, None).as_deref(), Some("4.05"));
        assert_eq!(ratio(tiled, Some(66561)), None);
        assert_eq!(ratio("f32[1024]{0:T(1024)}", None), None);
        assert_eq!(ratio("f32[3]{0}", Some(4096)), None, "there is no tile");
        assert_eq!(ratio("f32[]{:T(128)}", None), None, "508 bytes");
        assert_eq!(ratio("(f32[3]{0:T(128)})", None), None);
    }

    #[test]
    fn an_answer_is_bounded_and_stays_within_its_range() {
        let steps: Vec<String> = (0..9000)
            .map(|step| format!("    {step}:a.{step}\n"))
            .collect();
        let text = format!(
            "BufferAssignment:\nallocation 0: size 4096, preallocated-temp:\n value: <1 a.0 @0> (size=4096,offset=0): f32[1024]{{0}}\n\n\
             HloLiveRange (max 9000):\n  InstructionSequence:\n{}  BufferLiveRange:\n    a.0{{}}:0-9000\n",
            steps.concat()
        );
        let fixture = Fixture::new(&text);
        let all = hints(&fixture.dump, 0, 0..text.len() as u32, &Kind::ALL);
        assert_eq!(all.len(), LIMIT);
        let at = text.find("    5000:").unwrap() as u32;
        let some = hints(&fixture.dump, 0, at..at + 20, &Kind::ALL);
        assert_eq!(some.len(), 1);
        assert_eq!(some[0].label, "4.0 KiB");
        assert_eq!(hints(&fixture.dump, 0, u32::MAX..u32::MAX, &Kind::ALL), []);
        assert_eq!(hints(&fixture.dump, 7, 0..9, &Kind::ALL), []);
    }
}
