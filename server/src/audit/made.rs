//! Which values a line of source made: those of instructions with the line among their frames.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Audit;
use crate::model::Dump;
use crate::model::lines::{Lines, likeness};
use crate::model::occupancy::exclusive;
use crate::model::source::Frame;
use crate::model::source_map::SourceMap;

/// What a file of source made in a dump.
#[derive(Debug, Clone, Default)]
pub struct Made {
    /// How much the paths of its files are alike the one asked for.
    pub likeness: usize,
    /// Each value with each of the frames that are in the file, the innermost first; values in the
    /// order of the dump. More than one file has that path if they are all as much alike.
    pub hits: Vec<Hit>,
    /// All files of the user's own that made values, in the order of their names; none if the dump
    /// does not tell which lines made its values.
    pub files: Vec<String>,
    /// Whether the dump tells of any value which lines made it.
    pub is_told: bool,
}

/// A value, and a frame of its instruction.
#[derive(Debug, Clone)]
pub struct Hit {
    /// The value, as a number into [`crate::model::Dump::values`].
    pub value: u32,
    frames: Arc<[Frame]>,
    at: usize,
    /// Whether the frame is the innermost of the user's own: the line itself made the value, not
    /// what it calls.
    pub is_direct: bool,
}

impl Hit {
    /// The frame.
    pub fn frame(&self) -> &Frame {
        &self.frames[self.at]
    }
}

/// What the file of `lines` made, at whatever line. Dumps name files as they were on the machine
/// that compiled; `map` says where they are here, and of the files of the same name those are meant
/// whose paths are most alike.
pub fn made(audit: &Audit, lines: &Lines, map: &SourceMap) -> Made {
    let dump = audit.dump;
    let mut made = Made::default();
    let mut known: FxHashMap<String, Option<usize>> = FxHashMap::default();
    for (number, value) in (0..).zip(&dump.values) {
        let origin = audit.origins.of(value);
        made.is_told |= !origin.frames.is_empty();
        let source = origin.source(&audit.libraries);
        for (at, frame) in origin.frames.iter().enumerate() {
            let alike = known.get(&frame.file).copied().unwrap_or_else(|| {
                let alike = likeness(&map.here(&frame.file), &lines.file);
                let alike = alike.max(likeness(&frame.file, &lines.file));
                known.insert(frame.file.clone(), alike);
                alike
            });
            let Some(alike) = alike.filter(|&alike| alike >= made.likeness) else {
                continue;
            };
            if alike > made.likeness {
                made.hits.clear();
                made.likeness = alike;
            }
            made.hits.push(Hit {
                value: number,
                frames: Arc::clone(&origin.frames),
                at,
                is_direct: source.is_some_and(|source| std::ptr::eq(source, frame)),
            });
        }
    }
    let own = known.into_keys().filter(|file| !audit.libraries.hold(file));
    made.files = own.collect();
    made.files.sort_unstable();
    made
}

impl Made {
    /// The values that `lines` made, each once with the innermost of its frames there.
    pub fn at(&self, lines: &Lines) -> Vec<&Hit> {
        let mut hits: Vec<&Hit> = self
            .hits
            .iter()
            .filter(|hit| lines.hold(hit.frame().line))
            .collect();
        hits.dedup_by_key(|hit| hit.value);
        hits
    }
}

/// What some values hold of a memory space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// The memory space.
    pub color: u64,
    /// Bytes that they occupy together at its true peak; `None` where no peak is known.
    pub at_peak: Option<u64>,
}

/// What `values` occupy together at the true peak of each memory space that some of them is in, by its number.
/// Bytes in which several lie count once.
pub fn held(dump: &Dump, values: &[u32]) -> Vec<Held> {
    let mut of_spaces: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for &at in values {
        if let Some(color) = dump.color_of(at) {
            let there = of_spaces.entry(color).or_default();
            if dump.is_at_peak(&dump.values[at as usize]) == Some(true) {
                there.push(at);
            }
        }
    }
    let held = |(color, there): (u64, Vec<u32>)| {
        let shares = exclusive(dump, &there);
        let bytes = shares
            .iter()
            .fold(0_u64, |sum, (_, own)| sum.saturating_add(*own));
        Held {
            color,
            at_peak: dump.occupancy().peak(color).map(|_| bytes),
        }
    };
    of_spaces.into_iter().map(held).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::{Expect, expect};

    use super::*;
    use crate::audit::fixture::audited;
    use crate::model::source::Libraries;

    /// Two values share bytes at the peak; frames as tables.
    const TEXT: &str = r#"BufferAssignment:
allocation 0: size 256, preallocated-temp:
 value: <2 a @0> (size=128,offset=0): f32[32]{0}
 value: <3 b @0> (size=128,offset=64): f32[32]{0}
 value: <4 c @0> (size=64,offset=192): f32[16]{0}

Total bytes used: 256 (256B)

Used values:
<2 a @0>
 positions:
  a
 uses:
 from instruction: %a = f32[32]{0} iota(), metadata={op_name="f" source_file="/app/m/net.py" source_line=3}
<3 b @0>
 positions:
  b
 uses:
 from instruction: %b = f32[32]{0} iota(), metadata={op_name="f" source_file="/app/m/net.py" source_line=4}
<4 c @0>
 positions:
  c
 uses:
 from instruction: %c = f32[16]{0} iota(), metadata={op_name="f" source_file="/app/other/net.py" source_line=3}

HloLiveRange (max 3):
  InstructionSequence:
    0:a
    1:b
    2:c
  BufferLiveRange:
    a{}:0-2
    b{}:1-2
    c{}:2-3
  Live ranges at 2 (peak):
    a{}: 128 bytes
"#;

    fn check(lines: &str, map: &[&str], expected: &Expect) {
        let dump = audited(TEXT);
        let audit = Audit::new(&dump, Libraries::default());
        let map = SourceMap::new(map.iter().map(|pair| pair.parse().unwrap()));
        let lines: Lines = lines.parse().unwrap();
        let made = made(&audit, &lines, &map);
        let hits = made.at(&lines);
        let mut text = String::new();
        for hit in &hits {
            let frame = hit.frame();
            let name = &dump.names[dump.values[hit.value as usize].name];
            writeln!(
                text,
                "{name} {}:{:?} {}",
                frame.file, frame.line, hit.is_direct
            )
            .unwrap();
        }
        let values: Vec<u32> = hits.iter().map(|hit| hit.value).collect();
        for held in held(&dump, &values) {
            writeln!(text, "@{} {:?}", held.color, held.at_peak).unwrap();
        }
        expected.assert_eq(&text);
    }

    #[test]
    fn bytes_that_several_hold_count_once() {
        check(
            "net.py:3-4",
            &[],
            &expect![[r#"
            a /app/m/net.py:Some(3) true
            b /app/m/net.py:Some(4) true
            c /app/other/net.py:Some(3) true
            @0 Some(256)
        "#]],
        );
    }

    #[test]
    fn the_file_whose_path_is_most_alike_is_meant() {
        check(
            "m/net.py:3",
            &[],
            &expect![[r#"
            a /app/m/net.py:Some(3) true
            @0 Some(128)
        "#]],
        );
        check(
            "/here/net.py:4",
            &["/app/m=/here"],
            &expect![[r#"
            b /app/m/net.py:Some(4) true
            @0 Some(128)
        "#]],
        );
        check("other.py", &[], &expect![""]);
        check("net.py:5", &[], &expect![""]);
    }
}
