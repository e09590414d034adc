//! What is kept of dumps that nobody has open: what they are called and hold, and names to jump to.
//!
//! No text is kept and no dump, only numbers and interned names, so many for each dump at most.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use buflens_syntax::{Encoding, LineColumn};
use rustc_hash::{FxHashMap, FxHashSet};

use super::compilation::{PARTS, has_part, program_name};
use super::load::Loaded;
use super::names::{SUFFIXES, siblings};
use crate::model::cancel::lock;
use crate::model::lines::{Lines, likeness};
use crate::model::origin::Origins;
use crate::model::source::Libraries;
use crate::model::{Dump, NameId, Names, Place, Platforms, Rank, Value};

/// So many values of a dump are kept, the largest.
const MOST_VALUES: usize = 1000;
/// So many bytes of a name are kept.
const MOST_NAME: usize = 512;
/// When all names take so many bytes, further dumps are kept without their values.
const MOST_NAMES: usize = 256 << 20;

/// What is kept of a dump.
#[derive(Debug)]
pub struct Record {
    /// What the program is called.
    module: String,
    dump: DumpHit,
    names: Names,
    kept: Vec<Kept>,
}

/// What is kept of a memory space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpaceRecord {
    /// Its number.
    pub color: u64,
    /// The sizes of its allocations in bytes, without thread-local ones.
    pub reserved: u64,
    /// Bytes occupied at the true peak, if it is known.
    pub peak: Option<u64>,
}

/// A value, with names as ids.
#[derive(Debug, Clone, Copy)]
struct Kept {
    name: NameId,
    op_name: NameId,
    shape: NameId,
    /// The file and the line of source, the user's own if there is one; line 0 where it is not known.
    source: NameId,
    source_line: u32,
    bytes: u64,
    /// The place of its file among the siblings.
    file: u8,
    line: u32,
    columns: (u32, u32),
}

/// Something found in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// How well it fits.
    pub rank: Rank,
    /// What it is called, and in what else the query was found.
    pub name: String,
    /// What the program is called.
    pub module: String,
    /// What is known of the dump, if it is this that was found, and not a value of it.
    pub dump: Option<DumpHit>,
    /// The file.
    pub path: PathBuf,
    /// The name's place there, in columns of the encoding that the dump was read for.
    pub range: Range<LineColumn>,
}

/// A dump that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DumpHit {
    /// The platforms that it can come from.
    pub platforms: Platforms,
    /// Its memory spaces.
    pub spaces: Box<[SpaceRecord]>,
    /// The parts that are not there.
    pub missing: Box<[&'static str]>,
}

/// The dumps of folders, by the path that their files have in common.
#[derive(Debug, Default)]
pub struct Index(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    entries: BTreeMap<PathBuf, Entry>,
    names: Names,
    kept: usize,
    /// Values that were kept since `names` was made, and are no more.
    dropped: usize,
}

#[derive(Debug)]
struct Entry {
    stamp: u64,
    bytes: u64,
    records: Vec<Record>,
}

impl Record {
    /// What is kept of a dump; columns are counted in `encoding`, and a value is the user's line's rather than one of
    /// `libraries`.
    pub fn new(loaded: &Loaded, encoding: Encoding, libraries: &Libraries) -> Self {
        let dump = &*loaded.dump;
        let mut order: Vec<&Value> = dump.values.iter().collect();
        // Of equal size, the order is that of the text.
        order.sort_by_key(|value| Reverse(value.size));
        order.truncate(MOST_VALUES);
        let mut names = Names::default();
        let origins = Origins::new(dump);
        let kept = order
            .into_iter()
            .filter_map(|value| kept(dump, (&origins, libraries), value, encoding, &mut names));
        let kept = kept.collect();
        Self {
            module: short(&program_name(dump)).to_owned(),
            dump: DumpHit::of(dump),
            names,
            kept,
        }
    }
}

impl DumpHit {
    /// What is known of `dump`.
    pub fn of(dump: &Dump) -> Self {
        let spaces = dump.occupancy().spaces.iter().map(|space| SpaceRecord {
            color: space.color,
            reserved: space.reserved,
            peak: space.peak().map(|peak| peak.bytes),
        });
        let missing = PARTS.iter().filter(|(part, _)| !has_part(dump, *part));
        Self {
            platforms: dump.platforms,
            spaces: spaces.collect(),
            missing: missing.map(|(_, name)| *name).collect(),
        }
    }
}

fn kept(
    dump: &Dump,
    (origins, libraries): (&Origins, &Libraries),
    value: &Value,
    encoding: Encoding,
    names: &mut Names,
) -> Option<Kept> {
    let placement = dump.placement(value);
    let header = dump.used(value).map(|at| at.place(at.row.value.name));
    let header = header.or_else(|| Some(placement?.place(placement?.row.value.name)));
    let Place { file, range } = header?;
    let file = dump.files.get(file)?;
    let start = file.document.line_column(range.start, encoding);
    let end = file.document.line_column(range.end, encoding);
    let place = siblings(&file.path)
        .iter()
        .position(|sibling| sibling.path == file.path)?;
    let origin = origins.of(value);
    let source = origin.source(libraries);
    let shape = placement.map_or("", |at| at.text(at.row.shape));
    Some(Kept {
        name: names.intern(short(&dump.name_of(value))),
        op_name: names.intern(short(origin.op_name.as_deref().unwrap_or_default())),
        source: names.intern(short(source.map_or("", |frame| &frame.file))),
        source_line: source.and_then(|frame| frame.line).unwrap_or(0),
        bytes: value.size,
        shape: names.intern(short(shape)),
        file: place as u8,
        line: start.line,
        columns: (start.column, end.column),
    })
}

/// As much of a name as is kept.
fn short(name: &str) -> &str {
    let mut end = name.len().min(MOST_NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

impl Kept {
    fn line_of_source(&self) -> Option<u32> {
        Some(self.source_line).filter(|&line| line > 0)
    }
}

impl Index {
    /// Whether the dump at `stem` is there as `stamp` tells.
    pub fn has(&self, stem: &Path, stamp: u64) -> bool {
        let state = lock(&self.0);
        state.entries.get(stem).is_some_and(|it| it.stamp == stamp)
    }

    /// Keeps a dump, whose files have `bytes`, instead of what was kept of it before.
    pub fn insert(&self, stem: PathBuf, stamp: u64, bytes: u64, mut records: Vec<Record>) {
        let mut state = lock(&self.0);
        state.remove(&stem);
        for record in &mut records {
            let local = std::mem::take(&mut record.names);
            if state.names.bytes() > MOST_NAMES {
                record.kept = Vec::new();
            }
            record.kept.shrink_to_fit();
            let State { names, kept, .. } = &mut *state;
            *kept += record.kept.len();
            rename(&mut record.kept, &local, names);
        }
        let entry = Entry {
            stamp,
            bytes,
            records,
        };
        state.entries.insert(stem, entry);
        state.compact();
    }

    /// Forgets the dump at `stem`, and those in a folder of that name.
    pub fn remove(&self, stem: &Path) {
        self.retain(|path| !path.starts_with(stem));
    }

    /// Keeps only the dumps whose paths are `wanted`.
    pub fn retain(&self, wanted: impl Fn(&Path) -> bool) {
        let mut state = lock(&self.0);
        let all = state.entries.keys();
        let gone: Vec<PathBuf> = all.filter(|path| !wanted(path)).cloned().collect();
        for path in gone {
            state.remove(&path);
        }
        state.compact();
    }

    /// How many dumps there are besides those that are `left_out`, and the bytes of their files.
    pub fn size_without(&self, left_out: impl Fn(&Path) -> bool) -> (usize, u64) {
        let state = lock(&self.0);
        let entries = state.entries.iter().filter(|(stem, _)| !left_out(stem));
        entries.fold((0, 0), |(dumps, bytes): (usize, u64), (_, entry)| {
            (dumps + 1, bytes.saturating_add(entry.bytes))
        })
    }

    /// One file of each dump that holds a value made by a file of source that is called as that of
    /// `lines` is: first those with values of just these lines, then those whose paths are most alike.
    pub fn dumps_made_by(&self, lines: &Lines) -> Vec<PathBuf> {
        let state = lock(&self.0);
        let mut known: FxHashMap<NameId, Option<usize>> = FxHashMap::default();
        let mut alike = |name: NameId| {
            let likeness = || likeness(&state.names[name], &lines.file);
            *known.entry(name).or_insert_with(likeness)
        };
        let mut found = Vec::new();
        for (stem, entry) in &state.entries {
            let kept = entry.records.iter().flat_map(|record| &record.kept);
            let judged = kept.filter_map(|kept| {
                let is_there = lines.hold(kept.line_of_source());
                Some(((is_there, alike(kept.source)?), kept.file))
            });
            if let Some((judgement, file)) = judged.max() {
                found.extend(path_at(stem, file.into()).map(|path| (judgement, path)));
            }
        }
        found.sort_by_key(|&(judgement, _)| Reverse(judgement));
        found.into_iter().map(|(_, path)| path).collect()
    }

    /// The files of source that made values.
    pub fn files_of_source(&self) -> Vec<String> {
        let state = lock(&self.0);
        let records = state.entries.values().flat_map(|entry| &entry.records);
        let kept = records.flat_map(|record| &record.kept);
        let names: FxHashSet<NameId> = kept.map(|kept| kept.source).collect();
        let files = names.into_iter().map(|name| state.names[name].to_owned());
        files.filter(|file| !file.is_empty()).collect()
    }

    /// At most `limit` dumps and values, the best first, whose name, `op_name` or shape contains
    /// `query`, or which `query`, a line of source, made; without the dumps that are `left_out`.
    ///
    /// Each distinct name is looked at once, whatever the number of values that have it.
    pub fn search(&self, query: &str, limit: usize, left_out: impl Fn(&Path) -> bool) -> Vec<Hit> {
        let state = lock(&self.0);
        let ranks: Vec<Option<Rank>> = state
            .names
            .iter()
            .map(|(_, name)| Rank::of(name, query))
            .collect();
        let of = |name: NameId| ranks[name.place()];
        let lines = query.parse::<Lines>().ok().filter(|it| it.range.is_some());
        let mut made: Vec<Found> = Vec::new();
        let mut found: [Vec<Found>; 4] = Default::default();
        for (stem, entry) in &state.entries {
            if left_out(stem) {
                continue;
            }
            for record in &entry.records {
                let itself = Rank::of(&record.module, query).map(|rank| (rank, None, None));
                let values = record.kept.iter().filter_map(|kept| {
                    let aside = || {
                        let mut others = [kept.op_name, kept.shape].into_iter();
                        let other = others.find(|&name| of(name).is_some())?;
                        Some((Rank::Aside, Some(kept), Some(&state.names[other])))
                    };
                    of(kept.name)
                        .map(|rank| (rank, Some(kept), None))
                        .or_else(aside)
                });
                if let Some(lines) = &lines {
                    let of_lines = record.kept.iter().filter(|kept| {
                        let is_there = lines.hold(kept.line_of_source());
                        is_there && lines.are_of(&state.names[kept.source])
                    });
                    let found = |kept| (Rank::Equal, stem, record, Some(kept), Some(query));
                    made.extend(of_lines.map(found));
                }
                for (rank, kept, aside) in itself.into_iter().chain(values) {
                    let of_rank = &mut found[rank as usize];
                    if of_rank.len() < limit {
                        of_rank.push((rank, stem, record, kept, aside));
                    }
                }
            }
        }
        made.sort_by_key(|(.., kept, _)| Reverse(kept.map(|kept| kept.bytes)));
        let best = made.iter().chain(found.iter().flatten()).take(limit);
        best.filter_map(|found| hit(&state.names, found)).collect()
    }
}

/// How well, the dump, what is kept of it, the value unless it is the dump itself, and what else
/// the query was found in.
type Found<'i> = (
    Rank,
    &'i PathBuf,
    &'i Record,
    Option<&'i Kept>,
    Option<&'i str>,
);

/// The file of a dump at a place among its siblings.
fn path_at(stem: &Path, place: usize) -> Option<PathBuf> {
    let (suffix, _) = SUFFIXES.get(place)?;
    let name = stem.file_name()?.to_string_lossy();
    Some(stem.with_file_name(format!("{name}{suffix}.txt")))
}

fn hit(names: &Names, &(rank, stem, record, kept, aside): &Found) -> Option<Hit> {
    let module = record.module.clone();
    let Some(kept) = kept else {
        let start = LineColumn { line: 0, column: 0 };
        let first = PARTS
            .iter()
            .position(|(_, name)| !record.dump.missing.contains(name));
        return Some(Hit {
            rank,
            name: module.clone(),
            module,
            dump: Some(record.dump.clone()),
            path: path_at(stem, first?)?,
            range: start..start,
        });
    };
    let at = |column| LineColumn {
        line: kept.line,
        column,
    };
    let name = &names[kept.name];
    Some(Hit {
        rank,
        name: aside.map_or_else(|| name.to_owned(), |aside| format!("{name}: {aside}")),
        module,
        dump: None,
        path: path_at(stem, kept.file.into())?,
        range: at(kept.columns.0)..at(kept.columns.1),
    })
}

impl State {
    fn remove(&mut self, stem: &Path) {
        let Some(entry) = self.entries.remove(stem) else {
            return;
        };
        let gone: usize = entry.records.iter().map(|record| record.kept.len()).sum();
        self.kept -= gone;
        self.dropped += gone;
    }

    /// Drops the names of what is gone, if that is the most.
    fn compact(&mut self) {
        if self.dropped <= self.kept {
            return;
        }
        self.dropped = 0;
        let old = std::mem::take(&mut self.names);
        let records = self.entries.values_mut().flat_map(|it| &mut it.records);
        for record in records {
            rename(&mut record.kept, &old, &mut self.names);
        }
    }
}

/// Gives the names of `kept`, which are those of `from`, the ids that they have in `to`.
fn rename(kept: &mut [Kept], from: &Names, to: &mut Names) {
    for kept in kept {
        for id in [
            &mut kept.name,
            &mut kept.op_name,
            &mut kept.shape,
            &mut kept.source,
        ] {
            *id = to.intern(&from[*id]);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::workspace::find;

    /// An index of dumps, each with values of these names.
    fn index(folder: &Path, dumps: &[(&str, &[&str])]) -> Index {
        let index = Index::default();
        for (name, values) in dumps {
            write(folder, name, values);
        }
        let (found, problems) = find(&[folder.to_owned()]);
        assert_eq!(problems, Vec::<String>::new());
        for found in found {
            let records =
                found.load(&|loaded| Record::new(&loaded, Encoding::Utf16, &Libraries::default()));
            let records = records.into_iter().map(|it| it.expect("a dump")).collect();
            index.insert(found.stem(), found.stamp, found.bytes, records);
        }
        index
    }

    fn write(folder: &Path, name: &str, values: &[&str]) {
        let mut text = format!(
            "BufferAssignment:\nallocation 0: size {}, maybe-live-out:\n",
            values.len() * 4
        );
        for (id, value) in values.iter().enumerate() {
            let offset = id * 4;
            writeln!(
                text,
                " value: <{id} {value} @0> (size=4,offset={offset}): f32[{id}]"
            )
            .expect("a string");
        }
        let name = format!("module_0001.{name}.after_optimizations-buffer-assignment.txt");
        std::fs::write(folder.join(name), text).expect("a file");
    }

    fn names(index: &Index, query: &str) -> Vec<String> {
        let hits = index.search(query, 5, |_| false);
        hits.into_iter().map(|hit| hit.name).collect()
    }

    #[test]
    fn names_of_what_was_there_before_do_not_pile_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let bytes = |index: &Index| lock(&index.0).names.bytes();
        let index = Index::default();
        for round in 0..20 {
            let names = [0, 1, 2].map(|at| format!("a_name_of_round_{round}_{at}"));
            write(
                folder.path(),
                "jit_f",
                &names.each_ref().map(String::as_str),
            );
            let (found, _) = find(&[folder.path().to_owned()]);
            let records = found[0]
                .load(&|loaded| Record::new(&loaded, Encoding::Utf16, &Libraries::default()));
            let records = records.into_iter().map(|it| it.expect("a dump")).collect();
            index.insert(found[0].stem(), found[0].stamp, found[0].bytes, records);
            assert!(bytes(&index) < 500, "round {round}: {}", bytes(&index));
        }
        assert_eq!(names(&index, "round_19").len(), 3);
    }

    #[test]
    fn a_line_of_source_finds_what_it_made() {
        let index = Index::default();
        let dump = "../tests/fixtures/readme/planted-error.txt";
        let loaded = super::super::load(Path::new(dump)).expect("a dump");
        index.insert(
            dump.into(),
            0,
            0,
            vec![Record::new(&loaded, Encoding::Utf8, &Libraries::default())],
        );
        let found = names(&index, "gen.py:94");
        assert!(!found.is_empty());
        assert!(
            found.iter().all(|name| name.ends_with(": gen.py:94")),
            "{found:?}"
        );
        assert_eq!(names(&index, "gen.py:9"), Vec::<String>::new());
        assert_eq!(names(&index, "en.py:94"), Vec::<String>::new());
        let dumps = |lines: &str| index.dumps_made_by(&lines.parse().expect("lines")).len();
        assert_eq!(
            (
                dumps("/here/gen.py:94"),
                dumps("gen.py:1"),
                dumps("en.py:94")
            ),
            (1, 1, 0)
        );
    }

    #[test]
    fn the_best_come_first_and_no_more_than_asked_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let index = index(
            folder.path(),
            &[
                ("jit_f", &["my_add", "add.1", "x"]),
                ("jit_g", &["add", "y"]),
            ],
        );
        assert_eq!(names(&index, "ADD"), ["add", "add.1", "my_add"]);
        assert_eq!(names(&index, "f32[2]"), ["x: f32[2]"]);
        assert_eq!(names(&index, "jit_"), ["jit_f", "jit_g"]);
        assert_eq!(names(&index, "nowhere"), Vec::<String>::new());
        assert_eq!(names(&index, "").len(), 5);
        let hit = &index.search("add.1", 5, |_| false)[0];
        assert_eq!(hit.module, "jit_f");
        assert_eq!((hit.range.start.line, hit.range.start.column), (3, 11));
        assert!(hit.path.is_file(), "{:?}", hit.path);
        let module = &index.search("jit_g", 5, |_| false)[0];
        let dump = module.dump.as_ref().expect("a dump");
        assert_eq!(dump.missing[..], ["values", "live-range", "report", "hlo"]);
        assert_eq!((dump.spaces[0].reserved, dump.spaces[0].peak), (8, None));
        let others = index.search("add", 5, |stem| {
            stem.ends_with("module_0001.jit_g.after_optimizations")
        });
        assert_eq!(others.len(), 2);
    }

    #[test]
    fn what_is_gone_is_not_found_and_takes_no_memory() {
        let folder = tempfile::tempdir().expect("a folder");
        let many: Vec<String> = (0..50).map(|number| format!("value.{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let index = index(folder.path(), &[("jit_f", &["a"]), ("jit_g", &many)]);
        let all = lock(&index.0).names.count();
        let stem = folder.path().join("module_0001.jit_g.after_optimizations");
        assert!(!index.has(&stem, 0));
        let (dumps, bytes) = index.size_without(|_| false);
        let (others, of_others) = index.size_without(|it| it == stem);
        assert!((dumps, others) == (2, 1) && of_others < bytes);
        index.remove(&stem);
        assert_eq!(
            (index.size_without(|_| false).0, names(&index, "value")),
            (1, vec![])
        );
        assert_eq!(names(&index, "a"), ["a"]);
        assert!(lock(&index.0).names.count() < all / 10);
        index.remove(folder.path());
        assert_eq!(index.size_without(|_| false), (0, 0));
    }

    #[test]
    fn a_dump_is_kept_in_bounds() {
        let folder = tempfile::tempdir().expect("a folder");
        let long = "x".repeat(2 * MOST_NAME);
        let many = vec![long.as_str(); MOST_VALUES + 10];
        let index = index(folder.path(), &[("jit_f", &many)]);
        let state = lock(&index.0);
        assert_eq!(state.kept, MOST_VALUES);
        assert!(state.names.iter().all(|(_, name)| name.len() <= MOST_NAME));
    }
}
