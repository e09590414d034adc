//! Files of another compilation than the rest of their dump: the wrong one was copied, or two compiles
//! wrote into one folder.
//!
//! In a sound dump every value of the assignment is a used value, has a live range and has an
//! instruction of its name and shape in the HLO text, and every row of the report is one of the
//! assignment's. Damage takes one of them, or all behind a cut; where most are missing, and on both
//! sides, the files never belonged together.

use buflens_syntax::facts::{self, ReportRow};
use rustc_hash::FxHashMap;

use super::structure::{Section, ends_openly, first_line};
use super::{Code, Doubts, Finding};
use crate::model::{Dump, FileId, Part, Place, Value, bytes};

/// So many rows tell whether two files belong together. All are counted only where they do not.
const SAMPLE: usize = 256;

/// `other-compilation`: the files that do not belong to the others, each with one finding.
pub(super) fn strangers(dump: &Dump, doubts: &Doubts) -> Vec<Finding> {
    if dump.files.len() < 2 {
        return Vec::new();
    }
    let mut pairs = Pairs::new(dump, doubts).disagreeing();
    let mut findings = Vec::new();
    // Whoever disagrees with the most is the stranger, and no witness against the others.
    while let Some(file) = most_disagreeing(dump, &pairs) {
        if let Some(pair) = pairs.iter().find(|pair| pair.files.contains(&file)) {
            findings.push(pair.finding(dump, file));
        }
        pairs.retain(|pair| !pair.files.contains(&file));
    }
    findings
}

/// The file that is in the most of these pairs; of equal ones the one that the least depends on.
fn most_disagreeing(dump: &Dump, pairs: &[Pair]) -> Option<FileId> {
    let count = |file| pairs.iter().filter(|it| it.files.contains(&file)).count();
    let rank = |file: FileId| match part_of(dump, file) {
        Part::Report => 4,
        Part::LiveRange => 3,
        Part::Values => 2,
        Part::Module => 1,
        Part::Assignment | Part::None => 0,
    };
    let files = pairs.iter().flat_map(|pair| pair.files);
    files.max_by_key(|&file| (count(file), rank(file)))
}

fn part_of(dump: &Dump, file: FileId) -> Part {
    Part::from(dump.files[file].document.kind())
}

/// Two files that do not belong together.
struct Pair {
    files: [FileId; 2],
    /// How many of which rows are not in the other file.
    evidence: String,
    /// The first of them.
    first: Place,
}

impl Pair {
    fn finding(&self, dump: &Dump, stranger: FileId) -> Finding {
        let other = self.files.iter().find(|&&file| file != stranger);
        let [own, other] = [Some(&stranger), other].map(|file| {
            match file.map_or(Part::None, |&file| part_of(dump, file)) {
                Part::Assignment | Part::None => "buffer assignment",
                Part::Values => "file of used values",
                Part::LiveRange => "file of live ranges",
                Part::Report => "memory-usage report",
                Part::Module => "HLO text",
            }
        });
        let message = format!(
            "this {own} is of another compilation than the {other}: {}",
            self.evidence
        );
        let place = Place {
            file: stranger,
            range: first_line(&dump.files[stranger].document),
        };
        let finding = Finding::new(Code::OtherCompilation, place, message);
        finding.related(self.first.clone(), "the first of them")
    }
}

/// Rows of one file that are not in another one.
struct Absent {
    count: usize,
    of: usize,
    first: usize,
}

impl Absent {
    /// Of the rows up to `count`, those of which `is_there` says no; it says nothing of rows that
    /// need not be there. `None` unless most are absent: one alone is damage, and a finding of its own.
    fn of(count: usize, is_there: impl Fn(usize) -> Option<bool>) -> Option<Self> {
        Self::of_every(count.div_ceil(SAMPLE).max(1), count, &is_there)?;
        Self::of_every(1, count, &is_there)
    }

    /// The same of every so many rows.
    fn of_every(
        step: usize,
        count: usize,
        is_there: impl Fn(usize) -> Option<bool>,
    ) -> Option<Self> {
        let (mut of, mut absent) = (0, Vec::new());
        for at in (0..count).step_by(step) {
            match is_there(at) {
                Some(true) => of += 1,
                Some(false) => absent.push(at),
                None => {}
            }
        }
        of += absent.len();
        (absent.len() > 1 && absent.len() * 2 > of).then(|| Self {
            count: absent.len(),
            of,
            first: absent[0],
        })
    }
}

/// Finds how two files do not belong together, and the first row that says so.
type Check<'a> = fn(&Pairs<'a>) -> Option<(String, Place)>;

/// The files that say something of the same things.
struct Pairs<'a> {
    dump: &'a Dump,
    doubts: &'a Doubts,
    /// The files that the parts are in; the combined form has several in one.
    assignment: Option<FileId>,
    values: Option<FileId>,
    live_ranges: Option<FileId>,
    /// How many values the assignment has: the first of all.
    placed: usize,
}

impl<'a> Pairs<'a> {
    fn new(dump: &'a Dump, doubts: &'a Doubts) -> Self {
        let assignment = dump.file_of(Part::Assignment);
        let values = dump.file_of(Part::Values).or(assignment);
        let is_placed = |value: &Value| value.placement.is_some();
        Self {
            dump,
            doubts,
            assignment,
            values,
            live_ranges: dump.file_of(Part::LiveRange).or(values),
            placed: dump.values.partition_point(is_placed),
        }
    }

    /// Those that do not belong together.
    fn disagreeing(&self) -> Vec<Pair> {
        let module = self.dump.file_of(Part::Module);
        let module = module.filter(|_| self.doubts.are_whole(&[Section::Module]));
        let report = self.dump.file_of(Part::Report);
        let checks: [(_, _, Check<'a>); 7] = [
            (self.assignment, self.values, Self::used_values),
            (self.assignment, self.live_ranges, Self::live_ranges),
            (self.values, self.live_ranges, Self::live_ranges_of_used),
            (self.assignment, module, Self::placed_in_module),
            (self.values, module, Self::used_in_module),
            (self.live_ranges, module, Self::steps_in_module),
            (self.assignment, report, Self::report),
        ];
        let mut pairs: Vec<Pair> = Vec::new();
        for (one, other, check) in checks {
            let (Some(one), Some(other)) = (one, other) else {
                continue;
            };
            let files = [one, other];
            if one != other
                && !pairs.iter().any(|pair| pair.files == files)
                && let Some((evidence, first)) = check(self)
            {
                pairs.push(Pair {
                    files,
                    evidence,
                    first,
                });
            }
        }
        pairs
    }

    /// Whether both the allocations and the used values may go on behind the ends of their files, which are cut or
    /// end in the middle of a line: what only one of them has may stand behind the cut of the other.
    fn are_cut(&self) -> bool {
        let is_open = |file: FileId| ends_openly(&self.dump.files[file].document);
        let is_cut = |file: Option<FileId>, section| {
            !self.doubts.are_whole(&[section]) || file.is_some_and(is_open)
        };
        is_cut(self.assignment, Section::Allocations) && is_cut(self.values, Section::Values)
    }

    fn placement(&self, at: usize) -> Option<Place> {
        let placement = self.dump.placement(&self.dump.values[at])?;
        Some(placement.place(placement.row.value.span))
    }

    fn used(&self, at: usize) -> Option<Place> {
        let used = self.dump.used(&self.dump.values[at])?;
        Some(used.place(used.row.value.span))
    }

    /// What is behind a cut is missing on one side alone.
    fn used_values(&self) -> Option<(String, Place)> {
        let values = &self.dump.values;
        let are_cut = self.are_cut();
        let is_in_both = |value: &Value| value.placement.is_some() && value.is_used();
        let is_same = |at: usize| {
            let value = &values[at];
            let counts = !are_cut || is_in_both(value);
            counts.then(|| value.is_alike() && self.has_its_shape(value))
        };
        let absent = Absent::of(self.placed, is_same)?;
        let is_used = |at: usize| values[at].is_used().then(|| is_same(at)).flatten();
        // The entries may be few, and none of them in a sample.
        Absent::of_every(1, values.len(), is_used)?;
        let evidence = format!(
            "{} of {} values of the assignment are not below `Used values:` with their id, name and shape",
            absent.count, absent.of
        );
        Some((evidence, self.placement(absent.first)?))
    }

    /// Whether the assignment prints an array with the shape of its instruction's result.
    fn has_its_shape(&self, value: &Value) -> bool {
        let shapes = &self.dump.shapes;
        match (value.shape, self.dump.result_shape(value)) {
            (Some(shape), Some(result)) if &self.dump.names[value.index] == "{}" => {
                is_same_shape(&shapes[shape], &shapes[result])
            }
            _ => true,
        }
    }

    fn live_ranges(&self) -> Option<(String, Place)> {
        let dump = self.dump;
        let (values, strays) = (&dump.values, &dump.stray_live_ranges);
        if !self.doubts.are_whole(&[Section::LiveRanges]) || !self.has_some() {
            return None;
        }
        let has_one = |at: usize| {
            let kinds = dump.allocation_of(&values[at])?.kinds();
            let needs_one = !kinds.thread_local && !kinds.constant;
            needs_one.then_some(values[at].has_live_range())
        };
        if let Some(absent) = Absent::of(self.placed, has_one) {
            let evidence = format!(
                "{} of {} values of the assignment have no live range",
                absent.count, absent.of
            );
            return Some((evidence, self.placement(absent.first)?));
        }
        // Strays may be values behind a cut, unless the used values have none.
        let is_cut = !dump.has_used_values() || values.len() > self.placed || self.are_cut();
        if strays.len() < 2 || is_cut {
            return None;
        }
        let evidence = self.strays()?;
        Some((
            format!("{} are of no value of the assignment", evidence.0),
            evidence.1,
        ))
    }

    /// How many live ranges are of no value, if most are.
    fn strays(&self) -> Option<(String, Place)> {
        let dump = self.dump;
        let strays = &dump.stray_live_ranges;
        let first = dump.at::<facts::LiveRange>(*strays.first()?)?;
        let values = dump.values.iter();
        let known = values.filter(|it| it.has_live_range()).count();
        let of = known + strays.len();
        let evidence = format!("{} of {of} live ranges", strays.len());
        (strays.len() > known).then(|| (evidence, first.place(first.row.name)))
    }

    /// Whether there are live ranges at all.
    fn has_some(&self) -> bool {
        let mut values = self.dump.values.iter();
        !self.dump.stray_live_ranges.is_empty() || values.any(Value::has_live_range)
    }

    /// What is behind a cut is missing on one side alone.
    fn live_ranges_of_used(&self) -> Option<(String, Place)> {
        let dump = self.dump;
        let is_whole = self.doubts.are_whole(&[Section::LiveRanges]);
        if dump.stray_live_ranges.len() < 2 || !is_whole || self.used_values().is_some() {
            return None;
        }
        let (evidence, first) = self.strays()?;
        Absent::of_every(1, dump.values.len(), |at| {
            let value = &dump.values[at];
            let is_constant = value
                .opcode
                .is_some_and(|opcode| &dump.names[opcode] == "constant");
            (value.is_used() && !is_constant).then_some(value.has_live_range())
        })?;
        Some((
            format!("{evidence} are of no value below `Used values:`"),
            first,
        ))
    }

    fn placed_in_module(&self) -> Option<(String, Place)> {
        let dump = self.dump;
        let absent = Absent::of(self.placed, |at| {
            let value = &dump.values[at];
            let shape = Some(&dump.shapes[value.shape?]);
            let shape = shape.filter(|_| &dump.names[value.index] == "{}");
            Some(self.is_in_module(value, shape))
        })?;
        let evidence = format!(
            "{} of {} values of the assignment have no instruction of their name and shape in the HLO text",
            absent.count, absent.of
        );
        Some((evidence, self.placement(absent.first)?))
    }

    fn used_in_module(&self) -> Option<(String, Place)> {
        let dump = self.dump;
        // Entries with the ids of other values are taken for these.
        if self.used_values().is_some() {
            return None;
        }
        let absent = Absent::of(dump.values.len(), |at| {
            let value = &dump.values[at];
            let result = self
                .dump
                .result_shape(value)
                .map(|result| &dump.shapes[result]);
            value.is_used().then(|| self.is_in_module(value, result))
        })?;
        let evidence = format!(
            "the instructions of {} of {} used values are not in the HLO text",
            absent.count, absent.of
        );
        Some((evidence, self.used(absent.first)?))
    }

    /// Whether the HLO text has the instruction of a value, and it gives `shape` if that is known.
    fn is_in_module(&self, value: &Value, shape: Option<&str>) -> bool {
        let instruction = self.dump.module.instructions.get(value.name);
        instruction.is_some_and(|instruction| {
            shape.is_none_or(|shape| is_same_shape(shape, &self.dump.shapes[instruction.shape]))
        })
    }

    fn steps_in_module(&self) -> Option<(String, Place)> {
        let dump = self.dump;
        let is_there = |at: usize| Some(dump.module.instructions.has(dump.steps[at].name));
        // Most of a schedule may be what takes elements out of tuples.
        let absent = Absent::of(dump.steps.len(), is_there).filter(|_| !dump.hides_elements())?;
        let first = dump.at::<facts::Step>(dump.steps[absent.first].row)?;
        let evidence = format!(
            "{} of {} instructions of the schedule are not in the HLO text",
            absent.count, absent.of
        );
        Some((evidence, first.place(first.row.name)))
    }

    /// Neither the total nor the allocations are the assignment's. What is behind a cut is missing on
    /// one side alone.
    fn report(&self) -> Option<(String, Place)> {
        let dump = self.dump;
        if !self
            .doubts
            .are_whole(&[Section::Allocations, Section::Report])
        {
            return None;
        }
        let file = dump.file_of(Part::Report)?;
        let blocks = || dump.files[file].document.blocks();
        let sizes = dump.allocations.iter().map(|it| it.size);
        let sum = sizes.reduce(u64::saturating_add);
        let reported = dump.reported_bytes();
        if reported == sum {
            return None;
        }
        let numbered = dump.allocations.iter().rev();
        let numbered: FxHashMap<u64, _> = numbered.map(|it| (it.index, it)).collect();
        let mut slots = self.slots();
        let slot_count = slots.values().sum::<usize>();
        // Whether each row is the assignment's, and where it stands.
        let mut rows: Vec<(bool, Place)> = Vec::new();
        let mut do_headers_fit = true;
        let mut color = 0;
        for (start, block) in blocks() {
            let place = |span: facts::Span| Place {
                file,
                range: start + span.start..start + span.end,
            };
            for row in block.report().iter() {
                match row {
                    ReportRow::Space { color: space, .. } => color = space.value,
                    ReportRow::Slot {
                        size,
                        offset,
                        values,
                        ..
                    } => {
                        let size = size.text(block.text()).to_owned();
                        let key = (color, offset.value, size, values.value);
                        let left = slots.get_mut(&key).filter(|left| **left > 0);
                        rows.push((left.is_some(), place(offset.span)));
                        if let Some(left) = left {
                            *left -= 1;
                        }
                    }
                    ReportRow::Allocation(header) => {
                        color = header.color.value;
                        if let Some(its) = numbered.get(&header.index.value) {
                            let is_its = its.color == header.color.value
                                && dump.parameter_number(its) == header.parameter.get()
                                && bytes::human(its.size) == header.size.text(block.text());
                            do_headers_fit &= is_its;
                            rows.push((is_its, place(header.line)));
                        }
                    }
                    _ => {}
                }
            }
        }
        let absent = rows.iter().filter(|(is_its, _)| !is_its).count();
        if absent < 2 {
            return None;
        }
        // An assignment that adds up to its own total is whole.
        let own = dump.total.and_then(|row| dump.at::<facts::Total>(row));
        let is_whole = own.is_some_and(|own| Some(own.row.bytes.value) == sum);
        let is_known = (rows.len() - absent) * 2 >= slot_count.min(rows.len());
        // Of one that is cut, used values lie in no allocation, and rows of the report are of these.
        let is_cut = || {
            let mut values = dump.values.iter();
            values.any(|value| value.is_used() && value.allocation().is_none())
        };
        if !is_whole && (is_known || do_headers_fit && is_cut()) {
            return None;
        }
        let rows_of = format!(
            "{absent} of {} rows of the report are of no allocation as it is in the assignment",
            rows.len()
        );
        // Few rows say little where the totals say all.
        let evidence = match reported.zip(sum) {
            Some((reported, sum)) => format!(
                "it has {reported} bytes in all where the allocations have {sum}, and {rows_of}"
            ),
            None => rows_of,
        };
        let first = rows.into_iter().find(|(is_its, _)| !is_its)?;
        Some((evidence, first.1))
    }

    /// How often the values at one offset of an allocation are so many with this largest size, by
    /// memory space, offset, size and number.
    fn slots(&self) -> FxHashMap<(u64, u64, String, u64), usize> {
        let mut slots = FxHashMap::default();
        for allocation in &self.dump.allocations {
            let mut by_offset: FxHashMap<u64, (u64, u64)> = FxHashMap::default();
            for value in self.dump.held_by(allocation) {
                let (size, count) = by_offset.entry(value.offset).or_default();
                *size = value.size.max(*size);
                *count += 1;
            }
            for (offset, (size, count)) in by_offset {
                let key = (allocation.color, offset, bytes::human(size), count);
                *slots.entry(key).or_default() += 1;
            }
        }
        slots
    }
}

/// Whether two printed shapes are equal without their layouts. Of tuples, which may be very long, it is
/// enough that both are.
fn is_same_shape(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(|shape| match shape.split('{').next() {
        Some(array) if !shape.starts_with('(') => array,
        _ => "(",
    });
    one == other
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use buflens_syntax::Document;

    use crate::checks::tests::SUFFIXES;
    use crate::checks::{Code, Finding, Severity, check};
    use crate::model::{Dump, File};

    const MLP: &str = "tpu-split/module_0032.jit_mlp_fwd.cl_933746096.after_optimizations";
    const ATTENTION: &str = "tpu-split/module_0055.jit_attention.cl_933746096.after_optimizations";

    fn text(stem: &str, suffix: &str) -> String {
        let dumps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/dumps");
        std::fs::read_to_string(dumps.join(format!("{stem}{suffix}"))).expect("a fixture")
    }

    /// The errors of a dump of these texts.
    fn errors(texts: impl IntoIterator<Item = String>) -> Vec<Finding> {
        let file = |text: String| File {
            path: PathBuf::from("module_0001.f.cl_1.after_optimizations.txt"),
            document: Document::new(&text).expect("a small text"),
            lossy: false,
        };
        let mut findings = check(&Dump::new(texts.into_iter().map(file).collect()));
        findings.retain(|finding| finding.code.severity() == Severity::Error);
        findings
    }

    #[test]
    fn a_file_of_another_program_is_one_finding() {
        for (place, kind) in SUFFIXES.iter().enumerate() {
            for (own, other) in [(MLP, ATTENTION), (ATTENTION, MLP)] {
                let texts = (0..).zip(SUFFIXES);
                let texts =
                    texts.map(|(at, suffix)| text(if at == place { other } else { own }, suffix));
                let found = errors(texts);
                let shown: Vec<_> = found.iter().map(|it| (it.code, &it.message)).collect();
                assert_eq!(found.len(), 1, "{kind}: {shown:?}");
                assert_eq!(found[0].code, Code::OtherCompilation);
                // A file of used values begins with an empty line.
                let at = &found[0].place;
                assert_eq!((at.file, at.range.start), (place, u32::from(place == 1)));
            }
        }
    }

    /// Of two files nothing tells which one is the stranger; the assignment is what the dump is about.
    #[test]
    fn of_two_files_the_assignment_stays() {
        for suffix in &SUFFIXES[1..] {
            let found = errors([text(MLP, SUFFIXES[0]), text(ATTENTION, suffix)]);
            assert_eq!(found.len(), 1, "{suffix}");
            assert_eq!(
                (found[0].code, found[0].place.file),
                (Code::OtherCompilation, 1)
            );
        }
    }

    #[test]
    fn a_stranger_is_checked_on_its_own() {
        let values = text(ATTENTION, SUFFIXES[1]).replacen(" positions:\n", "", 1);
        let found = errors([text(MLP, SUFFIXES[0]), values]);
        let found: Vec<_> = found.iter().map(|it| (it.place.file, it.code)).collect();
        assert_eq!(found, [(1, Code::OtherCompilation), (1, Code::Syntax)]);
    }

    /// One line is damage of its own, and what is behind a cut says nothing.
    #[test]
    fn a_damaged_file_is_no_stranger() {
        let texts = SUFFIXES.map(|suffix| text(ATTENTION, suffix));
        let is_other = |texts: [String; 5]| {
            let found = errors(texts);
            assert!(!found.is_empty());
            found.iter().any(|it| it.code == Code::OtherCompilation)
        };
        for (at, whole) in texts.iter().enumerate().take(4) {
            let lines: Vec<&str> = whole.split_inclusive('\n').collect();
            for end in [lines.len() / 5, lines.len() / 2, lines.len() - 4] {
                let mut cut = texts.clone();
                cut[at] = lines[..end].concat();
                // A report may end behind any of its tables.
                if at != 3 {
                    assert!(!is_other(cut), "{} up to line {end}", SUFFIXES[at]);
                }
            }
        }
        // Between two allocations the cut is not to be seen; rows of the report are of those behind it. It lists the
        // largest alone, which mostly are the temporaries at the end.
        let mut texts_of_cut = texts.clone();
        let is_of_temporaries = |line: &&str| !line.contains(";            0;");
        let report = texts[3].split_inclusive('\n').filter(is_of_temporaries);
        texts_of_cut[3] = report.collect();
        for (end, _) in texts[0].match_indices("\nallocation ").skip(1) {
            let mut cut = texts_of_cut.clone();
            cut[0].truncate(end + 1);
            assert!(!is_other(cut), "the assignment up to byte {end}");
        }
        let mut named = texts.clone();
        named[0] = named[0].replacen("allocation 2: size ", "allocation 2: size 1", 1);
        assert!(!is_other(named));
    }
}
