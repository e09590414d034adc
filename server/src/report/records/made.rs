//! What lines of source made, over many dumps.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::{Moment, SCHEMA, Source, Value, value};
use crate::audit::made::{Hit, held, made as made_in};
use crate::model::lines::Lines;
use crate::model::source_map::SourceMap;
use crate::model::{Dump, space};
use crate::workspace::{program_name, stem_or_path};

/// So many other lines are named where the ones asked for made nothing.
const NEAREST: usize = 5;
/// So many other files are named where no dump knows the one asked for.
const MOST_FILES: usize = 20;

/// What lines of source made.
#[derive(Debug, Clone, Serialize)]
pub struct Made<L> {
    schema: u32,
    /// The file asked for.
    pub file: String,
    /// The lines asked for, both ends included; `null` for all.
    pub lines: Option<[u32; 2]>,
    /// The memory space asked for, as it was called; `null` for all.
    pub space: Option<String>,
    /// The files that it was taken for, as dumps name them: more than one if their paths are as
    /// much alike it.
    pub files: Vec<String>,
    /// How many dumps were looked at, ...
    pub dumps_read: usize,
    /// So many more may hold values of the file, and were not read.
    pub dumps_left_out: usize,
    /// ... and how many of them tell of any value which lines made it.
    pub dumps_with_source: usize,
    /// The dumps with such values, that with the most bytes at a peak first.
    pub dumps: Vec<MadeDump>,
    /// The lines, that with the most bytes at a peak first.
    pub by_line: Vec<MadeLine>,
    /// The values, the largest first.
    pub values: Vec<MadeValue<L>>,
    /// How many more there are.
    pub values_left_out: usize,
    /// The lines of the file next to those asked for that made values, where these made none.
    pub nearest: Vec<MadeLine>,
    /// Files of the user's own that made values, where no dump knows the one asked for.
    pub other_files: Vec<String>,
}

/// A dump with such values.
#[derive(Debug, Clone, Serialize)]
pub struct MadeDump {
    /// What the program is called.
    pub module: String,
    /// The path that its files have in common.
    pub stem: String,
    /// How many values.
    pub values: usize,
    /// Why no peaks are known.
    pub reason: Option<&'static str>,
    /// The memory spaces with such values.
    pub spaces: Vec<MadeSpace>,
}

/// A memory space with such values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MadeSpace {
    /// Its number.
    pub color: u64,
    /// Its name.
    pub name: String,
    /// Bytes that the values occupy together at its true peak; those in which several lie count
    /// once.
    pub at_peak_bytes: Option<u64>,
    /// Its true peak.
    pub peak: Option<Moment>,
}

/// A line with values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MadeLine {
    /// The file as dumps name it.
    pub file: String,
    /// The line, if it is known.
    pub line: Option<u32>,
    /// The function, if it is named.
    pub function: Option<String>,
    /// How many dumps have such values.
    pub dumps: usize,
    /// How many values.
    pub values: usize,
    /// Bytes of the largest.
    pub largest_bytes: Option<u64>,
    /// Bytes that they occupy together at the true peak of a memory space: the most in any dump.
    pub at_peak_bytes: Option<u64>,
    /// The name of that memory space.
    pub space_name: Option<String>,
}

/// A value that a line made.
#[derive(Debug, Clone, Serialize)]
pub struct MadeValue<L> {
    /// The value.
    #[serde(flatten)]
    pub value: Value<L>,
    /// The program.
    pub module: String,
    /// The line: the innermost of those asked for.
    pub line: Option<u32>,
    /// Whether that line itself made it, and not another of the user's own that it calls.
    pub is_direct: bool,
    /// The number of its memory space; `null` of one that lies in no allocation.
    pub space: Option<u64>,
    /// Its name.
    pub space_name: Option<String>,
    /// Whether it is alive at the true peak of its memory space; `null` where none is known.
    pub at_peak: Option<bool>,
}

/// What one dump has of it.
#[derive(Debug, Clone)]
pub struct MadePart<L> {
    likeness: usize,
    is_told: bool,
    files: Vec<String>,
    dump: MadeDump,
    lines: Vec<MadeLine>,
    values: Vec<MadeValue<L>>,
}

/// What `lines` made in one dump, which was read for the sake of the file at `path`; at most
/// `limit` values, the largest; if a memory space is called for, those in it.
pub fn made<L>(
    source: &Source<'_, '_, L>,
    path: &Path,
    lines: &Lines,
    space: Option<&str>,
    map: &SourceMap,
    limit: usize,
) -> MadePart<L> {
    let (audit, dump) = (source.audit, source.audit.dump);
    let mut found = made_in(audit, lines, map);
    if let Some(text) = space {
        let color = space::called(text, dump.platforms);
        found
            .hits
            .retain(|hit| color.is_some() && dump.color_of(hit.value) == color);
    }
    let module = program_name(dump);
    let mut hits = found.at(lines);
    hits.sort_by_key(|hit| std::cmp::Reverse(dump.values[hit.value as usize].size));
    let all: Vec<u32> = hits.iter().map(|hit| hit.value).collect();
    let spaces = held(dump, &all).into_iter().map(|held| MadeSpace {
        color: held.color,
        name: space::named(held.color, dump.platforms),
        at_peak_bytes: held.at_peak,
        peak: dump
            .occupancy()
            .peak(held.color)
            .map(|peak| Moment::new(dump, peak)),
    });
    let record = |hit: &&Hit| {
        let color = dump.color_of(hit.value);
        Some(MadeValue {
            value: value(source, hit.value)?,
            module: module.clone(),
            line: hit.frame().line,
            is_direct: hit.is_direct,
            space: color,
            space_name: color.map(|color| space::named(color, dump.platforms)),
            at_peak: dump.is_at_peak(&dump.values[hit.value as usize]),
        })
    };
    MadePart {
        likeness: found.likeness,
        is_told: found.is_told,
        values: hits.iter().take(limit).filter_map(record).collect(),
        lines: by_line(dump, &found.hits),
        dump: MadeDump {
            module: module.clone(),
            stem: stem_or_path(path).to_string_lossy().into_owned(),
            values: all.len(),
            reason: dump.occupancy().reason,
            spaces: spaces.collect(),
        },
        files: found.files,
    }
}

/// What each line made, whatever was asked for.
fn by_line(dump: &Dump, hits: &[Hit]) -> Vec<MadeLine> {
    let mut lines: BTreeMap<(&str, Option<u32>), Vec<&Hit>> = BTreeMap::new();
    for hit in hits {
        let frame = hit.frame();
        let of_line = lines.entry((&frame.file, frame.line)).or_default();
        // A function that is mapped is on the stack several times.
        if of_line.last().is_none_or(|last| last.value != hit.value) {
            of_line.push(hit);
        }
    }
    let record = |hits: Vec<&Hit>| {
        let frame = hits.first()?.frame();
        let values: Vec<u32> = hits.iter().map(|hit| hit.value).collect();
        let held = held(dump, &values).into_iter();
        let fullest = held.rev().max_by_key(|held| held.at_peak);
        let fullest = fullest.and_then(|held| Some((held.color, held.at_peak?)));
        let placed = values.iter().map(|&at| &dump.values[at as usize]);
        let placed = placed.filter(|value| dump.is_placed(value));
        let sizes = placed.map(|value| value.size);
        Some(MadeLine {
            file: frame.file.clone(),
            line: frame.line,
            function: frame.function.clone(),
            dumps: 1,
            values: values.len(),
            largest_bytes: sizes.max(),
            at_peak_bytes: fullest.map(|(_, bytes)| bytes),
            space_name: fullest.map(|(color, _)| space::named(color, dump.platforms)),
        })
    };
    lines.into_values().filter_map(record).collect()
}

impl<L> Made<L> {
    /// What `parts`, one for each dump, have of `lines`, if a memory space is called for, in that; at
    /// most `limit` values.
    pub fn new(lines: &Lines, space: Option<&str>, parts: Vec<MadePart<L>>, limit: usize) -> Self {
        let dumps_read = parts.len();
        let dumps_with_source = parts.iter().filter(|part| part.is_told).count();
        // A file that is less alike than that of another dump is another file.
        let likeness = parts.iter().map(|part| part.likeness).max().unwrap_or(0);
        let all_files = parts.iter().flat_map(|part| part.files.iter().cloned());
        let all_files: BTreeSet<String> = all_files.collect();
        let (mut dumps, mut values) = (Vec::new(), Vec::new());
        let mut known: FxHashMap<(String, Option<u32>), MadeLine> = FxHashMap::default();
        for part in parts.into_iter().filter(|part| part.likeness == likeness) {
            if part.dump.values > 0 {
                dumps.push(part.dump);
            }
            values.extend(part.values);
            for line in part.lines {
                let key = (line.file.clone(), line.line);
                match known.get_mut(&key) {
                    Some(known) => known.add(&line),
                    None => drop(known.insert(key, line)),
                }
            }
        }
        let all: usize = dumps.iter().map(|dump| dump.values).sum();
        dumps.sort_by_cached_key(|dump| {
            let most = dump.spaces.iter().filter_map(|space| space.at_peak_bytes);
            (std::cmp::Reverse(most.max()), dump.stem.clone())
        });
        values.sort_by_key(|value| std::cmp::Reverse(value.value.bytes));
        values.truncate(limit);
        let (mut by_line, mut nearest): (Vec<MadeLine>, Vec<MadeLine>) =
            known.into_values().partition(|line| lines.hold(line.line));
        let name = |line: &MadeLine| (line.file.clone(), line.line);
        by_line.sort_by_cached_key(|line| {
            (
                std::cmp::Reverse((line.at_peak_bytes, line.largest_bytes)),
                name(line),
            )
        });
        let mut files: Vec<String> = by_line
            .iter()
            .chain(&nearest)
            .map(|it| it.file.clone())
            .collect();
        files.sort_unstable();
        files.dedup();
        if all > 0 {
            nearest.clear();
        }
        nearest.sort_by_cached_key(|line| {
            let distance = line.line.map_or(u32::MAX, |line| lines.distance(line));
            (distance, name(line))
        });
        nearest.truncate(NEAREST);
        // What a file made may lie in other memory spaces alone.
        let other_files = if likeness == 0 {
            all_files.into_iter().take(MOST_FILES).collect()
        } else {
            Vec::new()
        };
        Self {
            schema: SCHEMA,
            file: lines.file.clone(),
            lines: lines
                .range
                .as_ref()
                .map(|range| [*range.start(), *range.end()]),
            space: space.map(str::to_owned),
            files,
            dumps_read,
            dumps_left_out: 0,
            dumps_with_source,
            dumps,
            by_line,
            values_left_out: all - values.len(),
            values,
            nearest,
            other_files,
        }
    }

    /// Names more files that made values.
    pub fn add_other_files(&mut self, files: impl IntoIterator<Item = String>) {
        let own = std::mem::take(&mut self.other_files);
        let all: BTreeSet<String> = own.into_iter().chain(files).collect();
        self.other_files = all.into_iter().take(MOST_FILES).collect();
    }
}

impl MadeLine {
    /// The same line in another dump.
    fn add(&mut self, other: &Self) {
        self.dumps += other.dumps;
        self.values += other.values;
        // Older dumps do not name it.
        self.function = self.function.take().or_else(|| other.function.clone());
        self.largest_bytes = self.largest_bytes.max(other.largest_bytes);
        if other.at_peak_bytes > self.at_peak_bytes {
            self.at_peak_bytes = other.at_peak_bytes;
            self.space_name.clone_from(&other.space_name);
        }
    }
}
