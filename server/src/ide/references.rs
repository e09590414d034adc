//! Every place that names a value or an instruction.

use std::ops::Range;

use buflens_syntax::facts::{self, Instruction, ReportRow, Span, TreeNode};
use buflens_syntax::{Block, Document, DocumentKind, InstructionParts, SyntaxKind, is_name_byte};
use memchr::memmem::Finder;
use rustc_hash::FxHashSet;

use super::frames;
use super::navigation::{Target, computation, declarations, instruction_in, table_row};
use super::subject::Subject;
use crate::model::cancel::checkpoint;
use crate::model::origin::op_name;
use crate::model::{Dump, FileId, Place};

/// The first places in all files, at most `limit`, that name what is at `offset`; with `declaration` also the one that
/// declares it.
pub fn references(
    dump: &Dump,
    file: FileId,
    offset: u32,
    declaration: bool,
    limit: usize,
) -> Vec<Place> {
    let Some((origin, subject)) = Subject::at(dump, file, offset) else {
        return Vec::new();
    };
    let mut declaring = Vec::new();
    let around = dump.computation_at(file, origin.start);
    if !declaration {
        declaring = declarations(dump, &subject);
        if let Subject::Computation { name } = &subject {
            declaring.extend(computation(dump, name));
        } else if let Subject::TableRow(row) = &subject {
            declaring.extend(table_row(dump, *row));
        } else {
            // Beside a dump, an instruction is declared there and defined here.
            let name = subject.name();
            declaring.extend(name.and_then(|name| instruction_in(dump, around, name)));
        }
    }
    let name = |it: &Target| (it.place.file, it.selection.start, it.selection.end);
    let mut declared: Vec<_> = declaring.iter().map(name).collect();
    declared.sort_unstable();
    let is_meant = |place: &Place| {
        let Place { file, ref range } = *place;
        let next = declared.partition_point(|&it| it < (file, range.start, 0));
        let is_within = |&(other, _, end): &_| other == file && end <= range.end;
        !declared.get(next).is_some_and(is_within)
    };
    let search = Search {
        only: None,
        limit,
        is_meant: &is_meant,
    };
    first_places(dump, &subject, around, &search)
}

/// The first places in this file, at most `limit`, that name what is at `offset`.
pub fn highlights(dump: &Dump, file: FileId, offset: u32, limit: usize) -> Vec<Range<u32>> {
    let Some((origin, subject)) = Subject::at(dump, file, offset) else {
        return Vec::new();
    };
    let around = dump.computation_at(file, origin.start);
    let search = Search {
        limit,
        ..Search::of_all_in(file)
    };
    first_places(dump, &subject, around, &search)
        .into_iter()
        .map(|place| place.range)
        .collect()
}

/// The places that name `subject`, which is named in the computation `around` of the HLO text, in the order of the files.
fn first_places(
    dump: &Dump,
    subject: &Subject,
    around: Option<u32>,
    search: &Search,
) -> Vec<Place> {
    // People give instructions of several computations the same name.
    let name = subject.name().and_then(|name| dump.names.get(name));
    let is_computation = matches!(subject, Subject::Computation { .. });
    let is_repeated = name.is_some_and(|name| dump.is_repeated(name));
    let is_of_one = !is_computation && around.is_some() && is_repeated;
    let is_meant = |place: &Place| {
        (search.is_meant)(place) && {
            let other = || dump.computation_at(place.file, place.range.start);
            !is_of_one || other().is_none_or(|other| Some(other) == around)
        }
    };
    let search = &Search {
        is_meant: &is_meant,
        ..*search
    };
    let named = |name, kind| occurrences(dump, name, kind, search);
    let mut places = match subject {
        Subject::Values { values, .. } => places_of_values(dump, values),
        Subject::Allocation(index) => places_of_allocation(dump, *index),
        Subject::Step(_) => Vec::new(),
        Subject::TableRow(row) => frames::places(dump, *row, search),
        Subject::Computation { name } => named(name, SyntaxKind::ComputationName),
        Subject::Position { name, .. }
        | Subject::Instruction { name }
        | Subject::Definition { name } => {
            let mut places = named(name, SyntaxKind::Name);
            places.extend(labels_of(dump, name));
            places
        }
    };
    places.retain(|place| search.is_in(place.file) && is_meant(place));
    places.sort_unstable_by_key(|place| (place.file, place.range.start));
    places.dedup();
    places.truncate(search.limit);
    places
}

/// Where values are named as such: in section A, above their entry, with their live range and in
/// the peak list. Each place reaches from the id or name to the index.
fn places_of_values(dump: &Dump, values: &[u32]) -> Vec<Place> {
    let mut places = Vec::new();
    for &value in values {
        let value = &dump.values[value as usize];
        let reference = |it: &facts::ValueReference| it.id.span.to(it.name).to(it.index);
        places.extend(
            dump.placement(value)
                .map(|at| at.place(reference(&at.row.value))),
        );
        places.extend(
            dump.used(value)
                .map(|at| at.place(reference(&at.row.value))),
        );
        places.extend(
            dump.live_range(value)
                .map(|at| at.place(at.row.name.to(at.row.index))),
        );
    }
    let keys: FxHashSet<_> = values
        .iter()
        .map(|&value| &dump.values[value as usize])
        .flat_map(|value| [(value.name, Some(value.index)), (value.name, None)])
        .collect();
    let key = |name: &str, index: &str| {
        // Without an index the line may stand for any value of the name.
        let index = if index.is_empty() {
            None
        } else {
            Some(dump.names.get(index)?)
        };
        Some((dump.names.get(name)?, index))
    };
    for &row in dump.peak.iter().flat_map(|peak| &peak.values) {
        if let Some(at) = dump.at::<facts::PeakValue>(row)
            && key(at.text(at.row.name), at.text(at.row.index))
                .is_some_and(|key| keys.contains(&key))
        {
            places.push(at.place(at.row.name.to(at.row.index)));
        }
    }
    places
}

/// Where the stack trace breakdown has the name of an instruction: in the labels of nodes without a trace path. Those of
/// others are paths, which may read as a name does.
fn labels_of<'d>(dump: &'d Dump, name: &'d str) -> impl Iterator<Item = Place> + 'd {
    let text = dump
        .names
        .get(name)
        .and_then(|id| dump.instruction_text(id));
    let has_path = |text| op_name(&InstructionParts::read_up_to(text, 0)).is_some();
    // Once for all nodes: the instruction may be a tuple of a megabyte.
    let is_label = text.is_some_and(|text| !has_path(text));
    let trees = dump.tree.iter().filter(move |_| is_label);
    let nodes = trees.flat_map(|(_, _, nodes)| nodes);
    nodes.filter_map(move |&node| {
        let at = dump.at::<TreeNode>(node)?;
        let label = at.text(at.row.label).split('{').next();
        let start = at.row.label.start;
        let end = start + name.len() as u32;
        (label == Some(name)).then(|| at.place(Span { start, end }))
    })
}

/// An allocation's header, and its lines in the memory-usage report.
fn places_of_allocation(dump: &Dump, index: u64) -> Vec<Place> {
    let header = Subject::Allocation(index).allocation(dump);
    let header = header.and_then(|row| dump.at::<facts::Allocation>(row));
    let mut places: Vec<Place> = header
        .map(|at| at.place(at.row.index.span))
        .into_iter()
        .collect();
    for (file, content) in dump.files.iter().enumerate() {
        if content.document.kind() != DocumentKind::Report {
            continue;
        }
        for (start, block) in content.document.blocks() {
            places.extend(block.report().iter().filter_map(|row| match row {
                ReportRow::Allocation(allocation) if allocation.index.get() == Some(index) => {
                    let span = allocation.index.span;
                    Some(Place {
                        file,
                        range: start + span.start..start + span.end,
                    })
                }
                _ => None,
            }));
        }
    }
    places
}

/// Which places are looked for.
pub(super) struct Search<'s> {
    /// In one file, or in all.
    pub only: Option<FileId>,
    /// So many at most, the first.
    pub limit: usize,
    /// Those that are meant.
    pub is_meant: &'s dyn Fn(&Place) -> bool,
}

impl Search<'_> {
    /// For all places in one file.
    pub(super) fn of_all_in(file: FileId) -> Self {
        Self {
            only: Some(file),
            limit: usize::MAX,
            is_meant: &|_| true,
        }
    }

    fn is_in(&self, file: FileId) -> bool {
        self.only.is_none_or(|only| only == file)
    }

    /// The places that are looked for among those that `find` makes of the hits of `text` in blocks of the documents `has`
    /// chooses; with what it knows of a block from the hits before.
    pub(super) fn places<K: Default>(
        &self,
        dump: &Dump,
        text: &str,
        has: impl Fn(DocumentKind) -> bool,
        find: impl Fn(&Document, u32, &Block, u32, &mut K) -> Option<Range<u32>>,
    ) -> Vec<Place> {
        let mut places = Vec::new();
        let finder = Finder::new(text);
        for (file, content) in dump.files.iter().enumerate() {
            let document = &content.document;
            if !self.is_in(file) || !has(document.kind()) {
                continue;
            }
            for (start, block) in document.blocks() {
                checkpoint();
                let mut known = K::default();
                for hit in finder.find_iter(block.text().as_bytes()) {
                    checkpoint();
                    let range = find(document, start, block, hit as u32, &mut known);
                    let place = range.map(|range| Place { file, range });
                    places.extend(place.filter(|place| (self.is_meant)(place)));
                    if places.len() == self.limit {
                        return places;
                    }
                }
            }
        }
        places
    }
}

/// The tokens of `kind` that are exactly `name`.
pub(super) fn occurrences(
    dump: &Dump,
    name: &str,
    kind: SyntaxKind,
    search: &Search,
) -> Vec<Place> {
    if name.is_empty() {
        return Vec::new();
    }
    let has_names = |kind| {
        !matches!(
            kind,
            DocumentKind::Report | DocumentKind::Foreign | DocumentKind::Unknown
        )
    };
    search.places(
        dump,
        name,
        has_names,
        |document, start, block, at, known| {
            let is_it = is_token(document, start, block, at, name, kind, known);
            let at = start + at;
            is_it.then(|| at..at + name.len() as u32)
        },
    )
}

/// What is known of the names in the logical line looked at last. Found once for all places in it: an instruction may
/// have a million operands.
#[derive(Default)]
pub(super) struct Known {
    line: Range<u32>,
    /// Where a row tells of a name, and of which kind it is.
    names: Vec<(u32, SyntaxKind)>,
    instruction: Option<Instruction>,
    /// Where the plain operands of the instruction end: at the first string or attribute.
    operands_end: u32,
}

impl Known {
    fn read(block: &Block, at: u32) -> Self {
        let names = block.names_on_line(at);
        let instruction: Option<Instruction> = block.row_at(at);
        let operands_end = instruction.map_or(0, |instruction| {
            let (opcode, end) = (instruction.opcode.start, instruction.span.end);
            let text = &block.text().as_bytes()[opcode as usize..end as usize];
            memchr::memchr2(b'"', b'=', text).map_or(end, |at| opcode + at as u32)
        });
        Self {
            line: block.logical_line_at(at),
            names: names.map(|(name, kind)| (name.start, kind)).collect(),
            instruction,
            operands_end,
        }
    }

    fn kind_at(&self, at: u32) -> Option<SyntaxKind> {
        let mut names = self.names.iter();
        names
            .find(|&&(start, _)| start == at)
            .map(|&(_, kind)| kind)
    }

    /// The instruction that holds the byte at `at`, in the line looked at last.
    pub(super) fn instruction_at(&self, at: u32) -> Option<Instruction> {
        let is_around = |it: &Instruction| (it.span.start..it.span.end).contains(&at);
        self.instruction.filter(is_around)
    }

    fn is_computation_header(&self) -> bool {
        let mut names = self.names.iter();
        names.any(|&(_, kind)| kind == SyntaxKind::ComputationName)
    }
}

/// Whether the text `name` at `at` in the block at `start` is a token of `kind`. The facts know
/// most tokens; a tree is built only where they leave a doubt. `known` is of the same block.
pub(super) fn is_token(
    document: &Document,
    start: u32,
    block: &Block,
    at: u32,
    name: &str,
    kind: SyntaxKind,
    known: &mut Known,
) -> bool {
    let text = block.text().as_bytes();
    let end = at as usize + name.len();
    let is_name = |at: usize| text.get(at).is_some_and(|&byte| is_name_byte(byte));
    let behind_mark = at > 0 && text[at as usize - 1] == b'%';
    if at > 0 && is_name(at as usize - 1) || is_name(end) {
        return false;
    }
    if !known.line.contains(&at) {
        *known = Known::read(block, at);
    }
    if let Some(known) = known.kind_at(at) {
        return known == kind;
    }
    let in_tree = || {
        let token = document.token_at(start + at);
        token.is_some_and(|(_, token)| token.kind() == kind && token.text() == name)
    };
    let Some(around) = known.instruction_at(at) else {
        // The parameters of a computation's header are the other names that no row tells.
        return known.is_computation_header() && in_tree();
    };
    let has_marks = text[around.span.start as usize] == b'%';
    let is_operand = at < known.operands_end;
    if at <= around.opcode.start || has_marks && !behind_mark && !is_operand {
        // A shape or the opcode; and behind operands with marks, any other word without one.
        return false;
    }
    // A mark outside of a string is that of an instruction, unless an attribute's name is before it.
    kind == SyntaxKind::Name && behind_mark && is_operand || in_tree()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::{Expect, expect};

    use super::*;
    use crate::ide::fixture::{COMBINED, Fixture, MODULE, split, with_cursor};

    const ALL: usize = usize::MAX;

    fn check_text(text: &str, expected: &Expect) {
        let fixture = Fixture::new(text);
        let without = references(&fixture.dump, fixture.file, fixture.offset, false, ALL);
        let mut lines = String::new();
        for place in references(&fixture.dump, fixture.file, fixture.offset, true, ALL) {
            let mark = if without.contains(&place) {
                ""
            } else {
                " (declares)"
            };
            let at = fixture.place(place.file, place.range.start);
            writeln!(
                lines,
                "{at} {}{mark}",
                fixture.text(place.file, place.range)
            )
            .unwrap();
        }
        let highlights = highlights(&fixture.dump, fixture.file, fixture.offset, ALL).len();
        writeln!(lines, "{highlights} in this file").unwrap();
        expected.assert_eq(&lines);
    }

    fn check(text: &str, snippet: &str, expected: &Expect) {
        check_text(&with_cursor(text, snippet), expected);
    }

    #[test]
    fn a_value_is_named_in_a_c_and_d() {
        check(
            &split(),
            "<5$0 copy-start{0} @1> (",
            &expect![[r#"
            a.txt:7 5 copy-start{0} (declares)
            v.txt:19 5 copy-start{0}
            d.txt:13 copy-start{0}
            d.txt:20 copy-start{0}
            1 in this file
        "#]],
        );
        check(
            &split(),
            "    copy-start{0$0}:1-3",
            &expect![[r#"
            a.txt:7 5 copy-start{0} (declares)
            v.txt:19 5 copy-start{0}
            d.txt:13 copy-start{0}
            d.txt:20 copy-start{0}
            2 in this file
        "#]],
        );
    }

    #[test]
    fn an_instruction_is_named_by_whole_tokens_outside_of_strings() {
        // Not the opcodes, not in the op_name.
        check(
            COMBINED,
            "  copy-start {0}\n  copy-done$0\n",
            &expect![[r#"
            24 copy-done
            30 copy-done
            35 copy-done
            37 copy-done
            44 copy-done
            50 copy-done
            58 copy-done
            70 copy-done
            8 in this file
        "#]],
        );
        check(
            COMBINED,
            "copy-start(%x.1$0), stray",
            &expect![[r#"
            3 x.1 (declares)
            18 x.1
            20 x.1
            25 x.1
            31 x.1
            39 x.1
            45 x.1
            68 x.1
            76 x.1
            84 x.1
            10 in this file
        "#]],
        );
    }

    #[test]
    fn no_more_than_the_first_places_are_looked_for() {
        let text = split() + MODULE;
        let operand = "custom-call(%arg.$02)";
        let computation = "condition=%region_1.7$0, body=%region_0.3\n  %";
        for snippet in [operand, computation, "stack_frame_id=$02}"] {
            let Fixture {
                dump, file, offset, ..
            } = Fixture::new(&with_cursor(&text, snippet));
            for declaration in [false, true] {
                let all = references(&dump, file, offset, declaration, ALL);
                for limit in 1..=all.len() {
                    let first = references(&dump, file, offset, declaration, limit);
                    assert_eq!(first, all[..limit], "{snippet}, {declaration}");
                }
            }
            let all = highlights(&dump, file, offset, ALL);
            assert_eq!(highlights(&dump, file, offset, 1), all[..1]);
        }
    }

    #[test]
    fn a_node_of_the_breakdown_has_the_name_of_what_has_no_path() {
        let (named, path) = ("└── copy-start (59", "├── x (41");
        let line = |part: &str| {
            let before = &COMBINED[..COMBINED.find(part).expect("a node")];
            // Above the text stands the name of its file.
            before.lines().count() - 1
        };
        let lines = |snippet| {
            let fixture = Fixture::new(&with_cursor(COMBINED, snippet));
            let places = references(&fixture.dump, fixture.file, fixture.offset, true, ALL);
            let places = places.iter();
            let places = places.map(|place| fixture.place(place.file, place.range.start));
            places.collect::<Vec<_>>()
        };
        let found = lines("    1:copy-start$0");
        assert!(found.contains(&line(named).to_string()), "{found:?}");
        // A value's are the lines that tell of it alone.
        assert!(!lines("    copy-start{$0}:1-2").contains(&line(named).to_string()));
        // `x` is what the program calls the argument.
        assert!(!lines("    0:x.1$0").contains(&line(path).to_string()));
    }

    #[test]
    fn an_instruction_is_named_in_all_files() {
        let text = split() + MODULE;
        check(
            &text,
            "%add$0.2 = f32[16]{0:T(128)} add(%bitcast.6, %get-tuple-element.5), metadata={op_name=\"jit(f)/add\"",
            &expect![[r#"
                a.txt:5 add.2 (declares)
                v.txt:44 add.2
                v.txt:46 add.2
                v.txt:48 add.2
                v.txt:51 add.2
                d.txt:9 add.2
                d.txt:17 add.2
                m.txt:34 add.2 (declares)
                1 in this file
            "#]],
        );
        check(
            &text,
            "custom-call(%arg.$02)",
            &expect![[r#"
            m.txt:22 arg.2
            m.txt:23 arg.2 (declares)
            m.txt:24 arg.2
            3 in this file
        "#]],
        );
    }

    #[test]
    fn a_computation_is_named_where_it_is_called() {
        check(
            &(split() + MODULE),
            "condition=%region_1.7$0, body=%region_0.3\n  %",
            &expect![[r#"
                v.txt:37 region_1.7
                v.txt:45 region_1.7
                m.txt:22 region_1.7 (declares)
                m.txt:31 region_1.7
                2 in this file
            "#]],
        );
        check(
            &(split() + MODULE),
            "%region_1$0.7 (arg",
            &expect![[r#"
                v.txt:37 region_1.7
                v.txt:45 region_1.7
                m.txt:22 region_1.7 (declares)
                m.txt:31 region_1.7
                2 in this file
            "#]],
        );
    }

    #[test]
    fn names_without_marks_are_found_by_their_role() {
        let text = "HloModule m\n\nadd {\n  add = f32[] parameter(0)\n  ROOT add.1 = f32[] add(add$0, add), x=add\n} // add\n\nENTRY e {\n  b = f32[] parameter(0)\n  ROOT c = f32[] map(b), to_apply=add\n}\n";
        check_text(
            text,
            &expect![[r#"
            4 add (declares)
            5 add
            5 add
            3 in this file
        "#]],
        );
        check_text(
            &text.replace("$0", "").replace("apply=add", "apply=ad$0d"),
            &expect![[r#"
                3 add (declares)
                10 add
                2 in this file
            "#]],
        );
    }

    #[test]
    fn names_with_and_without_marks_are_one() {
        check_text(
            "HloModule m\n\nENTRY e {\n  %b = f32[] parameter(0)\n  ROOT %c = f32[] add(b, %b$0), x={b}, y=\"b\"\n}\n",
            &expect![[r#"
                4 b (declares)
                5 b
                5 b
                3 in this file
            "#]],
        );
    }

    #[test]
    fn an_allocation_is_named_in_the_report() {
        let report = "//- r.txt\nTotal bytes used: 512 (512B)\n\nAllocations sorted by size:\n\ncumulative_size; total_size - cumulative_size; allocation\n------------------------------------------------------------------------------\n      512B(100%);         0B; allocation 3: size 512B, constant:\n";
        check(
            &(COMBINED.to_owned() + report),
            "allocation $03: size 16",
            &expect![[r#"
                a.txt:8 3
                r.txt:7 3
                1 in this file
            "#]],
        );
    }
}
