//! The HLO text: names that lead nowhere or twice, operands that are missing, layouts that are no
//! order, and tables that do not lead to a line of source.

use buflens_syntax::ast::{AstNode, MetadataEntry, TableRow};
use buflens_syntax::facts::{self, Heading, Span};
use buflens_syntax::{Block, Document, Mention, MentionKind};
use rustc_hash::FxHashMap;

use super::labels::cut;
use super::structure::Section;
use super::{Code, Doubts, Finding, Findings};
use crate::model::bytes::counted;
use crate::model::{At, Dump, FileId, Part, Place, Row, cancel, opcodes, source};

/// All checks of the HLO text. A line that was not understood may hold whatever seems to be missing,
/// so the text must be whole.
pub(super) fn check_module(dump: &Dump, doubts: &Doubts, findings: &mut Findings) {
    let Some(file) = dump.file_of(Part::Module) else {
        return;
    };
    if !doubts.are_whole(&[Section::Module]) {
        return;
    }
    let document = &dump.files[file].document;
    let blocks: Vec<(u32, &Block)> = document.blocks().take(one_module(document)).collect();
    // A block needs no other one, only names: so all cores can take part.
    let all = cancel::map(blocks, |(start, block)| {
        InBlock::read(dump, file, start, block)
    });
    let (mut parameters, mut roots) = (FxHashMap::default(), FxHashMap::default());
    for in_block in all {
        findings.extend(in_block.findings);
        for (computation, number, place) in in_block.parameters {
            let all: &mut Vec<(u64, Place)> = parameters.entry(computation).or_default();
            all.push((number, place));
        }
        for (computation, place) in in_block.roots {
            match roots.entry(computation) {
                std::collections::hash_map::Entry::Vacant(first) => {
                    first.insert(place);
                }
                std::collections::hash_map::Entry::Occupied(first) => {
                    let message = "a second `ROOT` in its computation";
                    let finding = Finding::new(Code::DuplicateRoot, place, message);
                    findings.push(finding.related(first.get().clone(), "the first one"));
                }
            }
        }
    }
    for numbers in parameters.into_values() {
        check_parameters(numbers, findings);
    }
    check_computations(dump, findings);
    check_tables(dump, findings);
}

/// How many blocks of a document belong to its first module, as far as the dump has read it.
fn one_module(document: &Document) -> usize {
    let has_module = |block: &Block| {
        let mut headings = block.facts().headings.iter();
        headings.any(|(heading, _)| matches!(heading, Heading::Module(_)))
    };
    let mut modules = document.blocks().enumerate();
    let second = modules
        .by_ref()
        .filter(|(_, (_, block))| has_module(block))
        .nth(1);
    second.map_or(usize::MAX, |(number, _)| number)
}

/// What one block says.
#[derive(Default)]
struct InBlock {
    findings: Vec<Finding>,
    /// The numbers of parameters, with their computation.
    parameters: Vec<(Option<u32>, u64, Place)>,
    roots: Vec<(Option<u32>, Place)>,
}

impl InBlock {
    fn read(dump: &Dump, file: FileId, start: u32, block: &Block) -> Self {
        let mut found = Self::default();
        let place = |span: Span| Place {
            file,
            range: start + span.start..start + span.end,
        };
        let mentions = block.mentions();
        let mut mentions = mentions.iter().peekable();
        for row in &block.facts().instructions {
            let at = At {
                file,
                start,
                block,
                row,
            };
            let computation = dump.computation_at(file, start + row.span.start);
            let instruction = InModule {
                dump,
                computation,
                at,
            };
            found.findings.extend(instruction.duplicate());
            if let Some(number) = row.parameter.get() {
                let place = place(row.parameter.span);
                found.parameters.push((computation, number, place));
            }
            let mut operands = 0;
            while let Some(mention) = mentions.next_if(|next| next.span.start < row.span.end) {
                match mention.kind {
                    MentionKind::Operand => operands += 1,
                    MentionKind::Root => found.roots.push((computation, place(mention.span))),
                    _ => {}
                }
                found.findings.extend(instruction.check(mention));
            }
            found.findings.extend(instruction.operand_count(operands));
        }
        // Headers of computations hold shapes as well.
        found.findings.extend(
            mentions
                .filter(|mention| mention.kind == MentionKind::LayoutOrder)
                .map(|mention| layout_order(place(mention.span), mention.span.text(block.text()))),
        );
        found
    }
}

/// An instruction, and where its names are looked up.
struct InModule<'d> {
    dump: &'d Dump,
    computation: Option<u32>,
    at: At<'d, facts::Instruction>,
}

impl InModule<'_> {
    /// What a mention of the instruction says that is not so.
    fn check(&self, mention: &Mention) -> Option<Finding> {
        let (place, text) = (self.at.place(mention.span), self.at.text(mention.span));
        match mention.kind {
            // An operand that is not there is printed as `null`.
            MentionKind::Operand if text.is_empty() || text == "null" => None,
            MentionKind::Operand => self.unresolved(place, text, true),
            MentionKind::Predecessor => self.unresolved(place, text, false),
            MentionKind::Computation => {
                let name = self.dump.names.get(text);
                let is_known = name.is_some_and(|name| self.dump.computation_named(name).is_some());
                let message = || format!("the module has no computation `{}`", cut(text));
                (!is_known).then(|| Finding::new(Code::UnresolvedName, place, message()))
            }
            MentionKind::StackFrame => {
                let frames = self.dump.tables.stack_frames.len();
                let number: u64 = text.parse().ok()?;
                // A text without tables says nothing of frames.
                let is_out = frames > 0 && number > frames as u64;
                let message = || format!("stack frame {number} of {frames}");
                is_out.then(|| Finding::new(Code::StackFrame, place, message()))
            }
            MentionKind::LayoutOrder => Some(layout_order(place, text)),
            MentionKind::Root => None,
        }
    }

    /// `unresolved-name`: no instruction before this one, in its computation, is called so.
    fn unresolved(&self, place: Place, text: &str, is_operand: bool) -> Option<Finding> {
        let dump = self.dump;
        let found = dump.names.get(text);
        let found = found.and_then(|name| dump.instruction_in(self.computation, name));
        let shown = cut(text);
        let Some(found) = found else {
            let message = format!("there is no instruction `{shown}`");
            return Some(Finding::new(Code::UnresolvedName, place, message));
        };
        let other = dump.at::<facts::Instruction>(found.row)?;
        let is_before = other.row.name != self.at.row.name || other.start != self.at.start;
        let is_before = is_before
            && (other.start, other.row.name.start) < (self.at.start, self.at.row.name.start);
        if found.computation == self.computation && (is_before || !is_operand) {
            return None;
        }
        let message = if found.computation == self.computation {
            format!("`{shown}` is read before it is defined")
        } else {
            format!("the computation has no instruction `{shown}`")
        };
        let finding = Finding::new(Code::UnresolvedName, place, message);
        Some(finding.related(other.place(other.row.name), "the instruction of that name"))
    }

    /// `duplicate-name`: an instruction before this one, in its computation, is called the same.
    fn duplicate(&self) -> Option<Finding> {
        let (dump, own) = (self.dump, &self.at);
        let text = own.text(own.row.name);
        let first = dump.instruction_in(self.computation, dump.names.get(text)?)?;
        let other = dump.at::<facts::Instruction>(first.row)?;
        let is_same = (other.start, other.row.name) == (own.start, own.row.name);
        if is_same || first.computation != self.computation {
            return None;
        }
        let message = format!("`{}` is defined twice in its computation", cut(text));
        let finding = Finding::new(Code::DuplicateName, own.place(own.row.name), message);
        Some(finding.related(other.place(other.row.name), "the first one"))
    }

    /// `operand-count`: so many operands are not what the opcode takes.
    fn operand_count(&self, found: usize) -> Option<Finding> {
        let opcode = self.at.text(self.at.row.opcode);
        let expected = opcodes::arity(opcode).filter(|&expected| expected != found)?;
        let takes = counted(expected, "operand");
        let message = format!("`{opcode}` takes {takes}, found {found}");
        let place = self.at.place(self.at.row.opcode);
        Some(Finding::new(Code::OperandCount, place, message))
    }
}

fn layout_order(place: Place, text: &str) -> Finding {
    let message = format!(
        "the order `{}` does not hold each dimension of the shape once",
        cut(text)
    );
    Finding::new(Code::LayoutOrder, place, message)
}

/// `parameter-number`: the parameters of a computation are numbered 0, 1, 2 ... in any order.
fn check_parameters(mut numbers: Vec<(u64, Place)>, findings: &mut Findings) {
    numbers.sort_by_key(|(number, place)| (*number, place.range.start));
    let twice = numbers.windows(2).find(|pair| pair[0].0 == pair[1].0);
    if let Some([(_, first), (number, second)]) = twice {
        let message = format!("parameter {number} stands twice in its computation");
        let finding = Finding::new(Code::ParameterNumber, second.clone(), message);
        findings.push(finding.related(first.clone(), "the first one"));
        return;
    }
    let count = numbers.len();
    let wrong = (0..)
        .zip(&numbers)
        .find(|(place, (number, _))| place != number);
    if let Some((missing, (number, place))) = wrong {
        let message =
            format!("parameter {number} of {count}, while there is no parameter {missing}");
        findings.push(Finding::new(Code::ParameterNumber, place.clone(), message));
    }
}

/// `duplicate-name`: two computations of the module are called the same, or both are the entry.
fn check_computations(dump: &Dump, findings: &mut Findings) {
    let header = |row: Row| dump.at::<facts::Computation>(row);
    let headers = dump.computations.iter().filter_map(|at| header(*at));
    let mut entries = headers.filter(|own| own.row.entry);
    if let (Some(first), Some(second)) = (entries.next(), entries.next()) {
        let message = "the module has two `ENTRY` computations";
        let finding = Finding::new(Code::DuplicateName, second.place(second.row.name), message);
        findings.push(finding.related(first.place(first.row.name), "the first one"));
    }
    for (number, at) in (0..).zip(&dump.computations) {
        let Some(own) = header(*at) else { continue };
        let text = own.text(own.row.name);
        let first = dump.names.get(text);
        let first = first.and_then(|name| dump.computation_named(name));
        let first = first.filter(|&first| first != number);
        if let Some(other) = first.and_then(|first| header(dump.computations[first as usize])) {
            let message = format!("the module has two computations `{}`", cut(text));
            let finding = Finding::new(Code::DuplicateName, own.place(own.row.name), message);
            findings.push(finding.related(other.place(other.row.name), "the first one"));
        }
    }
}

/// `stack-frame`: the tables number their rows 1, 2, 3 ..., name rows that are there, and callers stand
/// before the frames that they call.
fn check_tables(dump: &Dump, findings: &mut Findings) {
    let tables = &dump.tables;
    for table in [
        &tables.file_names,
        &tables.function_names,
        &tables.file_locations,
        &tables.stack_frames,
    ] {
        let numbers = table
            .iter()
            .filter_map(|&row| dump.at::<facts::TableRow>(row));
        let wrong = (1..)
            .zip(numbers)
            .find(|(place, at)| at.row.row.value != *place);
        if let Some((expected, at)) = wrong {
            let found = at.row.row.value;
            let message = format!("row {found} stands where row {expected} is expected");
            let place = at.place(at.row.row.span);
            findings.push(Finding::new(Code::StackFrame, place, message));
            return;
        }
    }
    let rows = |table| (1_u64..).zip::<&Vec<Row>>(table);
    for (own, &row) in rows(&tables.file_locations).chain(rows(&tables.stack_frames)) {
        for (key, number, place) in entries(dump, row) {
            let Some((table, shift)) = source::table_of(dump, &key) else {
                continue;
            };
            let selected = number.saturating_sub(shift);
            if selected > table.len() as u64 {
                let message = format!("row {number} of {}", table.len() as u64 + shift);
                findings.push(Finding::new(Code::StackFrame, place, message));
            } else if key == "parent_frame_id" && selected >= own {
                let message =
                    format!("frame {own} is called from frame {selected}: callers stand before");
                findings.push(Finding::new(Code::StackFrame, place, message));
            }
        }
    }
}

/// The numbers of a table's row: what they are called, and where they stand.
fn entries(dump: &Dump, row: Row) -> Vec<(String, u64, Place)> {
    let token = dump.at::<facts::TableRow>(row).and_then(|at| {
        let document = &dump.files.get(at.file)?.document;
        let (start, token) = document.token_at(at.start + at.row.row.span.start)?;
        Some((at.file, start, TableRow::around(&token)?))
    });
    let Some((file, start, row)) = token else {
        return Vec::new();
    };
    let entries = row.syntax().children().filter_map(MetadataEntry::cast);
    let entry = |entry: MetadataEntry| {
        let value = entry.value()?;
        let range = std::ops::Range::<u32>::from(value.text_range());
        let place = Place {
            file,
            range: start + range.start..start + range.end,
        };
        Some((
            entry.key()?.text().to_owned(),
            value.text().parse().ok()?,
            place,
        ))
    };
    entries.filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::PathBuf;

    use expect_test::{Expect, expect};

    use crate::checks::check;
    use crate::model::{Dump, File};

    const SOUND: &str = r#"HloModule jit_f, is_scheduled=true

FileNames
1 "model.py"

FunctionNames
1 "step"

FileLocations
1 {file_name_id=1 function_name_id=1 line=9 end_line=9 column=6 end_column=23}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=1 parent_frame_id=2}
3 {file_location_id=1 parent_frame_id=3}

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT add = f32[] add(a, b)
}

ENTRY %main (a: f32[2,3]) -> f32[] {
  %a = f32[2,3]{1,0} parameter(0), metadata={op_name="a"}
  // People write such lines.
    %zero = f32[] constant(0)
  %copy = f32[2,3]{0,1} copy(f32[2,3]{1,0} %a), control-predecessors={%zero}
  ROOT %sum = f32[] reduce(%copy, zero), dimensions={0,1}, to_apply=add, metadata={op_name="s" stack_frame_id=3}
}
"#;

    fn findings(text: &str) -> String {
        let file = File {
            path: PathBuf::from("m.txt"),
            document: buflens_syntax::Document::new(text).expect("short"),
            lossy: false,
        };
        let mut lines = String::new();
        for finding in check(&Dump::new(vec![file])) {
            let line = text[..finding.place.range.start as usize].lines().count();
            let at = &text[finding.place.range.start as usize..finding.place.range.end as usize];
            let related: Vec<_> = finding.related.iter().map(|related| &related.1).collect();
            writeln!(
                lines,
                "{line} {} `{at}` {} {related:?}",
                finding.code, finding.message
            )
            .expect("text");
        }
        lines
    }

    fn changed(from: &str, to: &str, expected: &Expect) {
        assert_eq!(SOUND.matches(from).count(), 1, "{from}");
        expected.assert_eq(&findings(&SOUND.replace(from, to)));
    }

    #[test]
    fn a_sound_text_has_no_finding() {
        assert_eq!(findings(SOUND), "");
    }

    #[test]
    fn names_that_lead_nowhere() {
        changed(
            "reduce(%copy,",
            "reduce(%copz,",
            &expect![[r#"
                28 unresolved-name `copz` there is no instruction `copz` []
            "#]],
        );
        changed(
            "reduce(%copy,",
            "reduce(%b,",
            &expect![[r#"
                28 unresolved-name `b` the computation has no instruction `b` ["the instruction of that name"]
            "#]],
        );
        changed(
            "{1,0} %a)",
            "{1,0} %sum)",
            &expect![[r#"
                27 unresolved-name `sum` `sum` is read before it is defined ["the instruction of that name"]
            "#]],
        );
        changed(
            "={%zero}",
            "={%one}",
            &expect![[r#"
                27 unresolved-name `one` there is no instruction `one` []
            "#]],
        );
        changed(
            "to_apply=add",
            "to_apply=sum",
            &expect![[r#"
                28 unresolved-name `sum` the module has no computation `sum` []
            "#]],
        );
    }

    /// An HLO parser takes all of it.
    #[test]
    fn what_people_write_has_no_finding() {
        let text = "  HloModule m,\n    is_scheduled=true\n\n  /* one line */\n  add {\n    x = f32[] parameter(0)\n    \
                    y = f32[] parameter(1)\n    ROOT s = add(x, y)\n    }\n\nmain (a: f32[2],\n    b: f32[2]) -> f32[]\n{\n\
                    %a = f32[2] parameter(0)\nb = f32[2] parameter(1), frontend_attributes={\n  k=\"}\"\n  }\n\
                    c = add(a, f32[2] negate(b))\nROOT r = reduce(c, f32[] constant(0)),\n  dimensions={0}, to_apply=add\n}\n";
        assert_eq!(findings(text), "");
        // Compilers print the layout on the first line, and the entry last.
        let cut = SOUND[..SOUND.find("ENTRY").expect("an entry")].replace(
            "=true",
            "=true, entry_computation_layout={(f32[2,3]{1,0})->f32[]}",
        );
        expect![[r#"
            20 truncated `}` the module ends before its `ENTRY` computation []
        "#]]
        .assert_eq(&findings(&cut));
        let twice = SOUND.replace("add {", "ENTRY add {");
        expect![[r#"
            23 duplicate-name `main` the module has two `ENTRY` computations ["the first one"]
        "#]]
        .assert_eq(&findings(&twice));
    }

    #[test]
    fn names_that_lead_twice() {
        changed(
            "%zero = ",
            "%a = ",
            &expect![[r#"
                26 duplicate-name `a` `a` is defined twice in its computation ["the first one"]
                27 unresolved-name `zero` there is no instruction `zero` []
                28 unresolved-name `zero` there is no instruction `zero` []
            "#]],
        );
        changed(
            "ENTRY %main (",
            "ENTRY %add (",
            &expect![[r#"
                23 duplicate-name `add` the module has two computations `add` ["the first one"]
            "#]],
        );
    }

    #[test]
    fn operands_parameters_and_roots() {
        changed(
            "add(a, b)",
            "add(a)",
            &expect![[r#"
                20 operand-count `add` `add` takes 2 operands, found 1 []
            "#]],
        );
        changed(
            "b = f32[] parameter(1)",
            "b = f32[] parameter(0)",
            &expect![[r#"
                19 parameter-number `0` parameter 0 stands twice in its computation ["the first one"]
            "#]],
        );
        changed(
            "b = f32[] parameter(1)",
            "b = f32[] parameter(7)",
            &expect![[r#"
                19 parameter-number `7` parameter 7 of 2, while there is no parameter 1 []
            "#]],
        );
        changed(
            "  %copy =",
            "  ROOT %copy =",
            &expect![[r#"
                28 duplicate-root `ROOT` a second `ROOT` in its computation ["the first one"]
            "#]],
        );
    }

    #[test]
    fn layouts_that_are_no_order() {
        for (from, to) in [
            ("]{0,1} copy", "]{0,0} copy"),
            ("]{0,1} copy", "]{0,2} copy"),
        ] {
            let text = findings(&SOUND.replace(from, to));
            assert!(text.starts_with("27 layout-order `0,"), "{text}");
            assert_eq!(text.lines().count(), 1);
        }
        changed(
            "(f32[2,3]{1,0} %a",
            "(f32[2,3]{0} %a",
            &expect![[r#"
                27 layout-order `0` the order `0` does not hold each dimension of the shape once []
            "#]],
        );
        changed(
            "(a: f32[2,3])",
            "(a: f32[2,3]{2,1})",
            &expect![[r#"
                23 layout-order `2,1` the order `2,1` does not hold each dimension of the shape once []
            "#]],
        );
    }

    #[test]
    fn frames_that_lead_nowhere() {
        changed(
            "stack_frame_id=3",
            "stack_frame_id=4",
            &expect![[r#"
                28 stack-frame `4` stack frame 4 of 3 []
            "#]],
        );
        changed(
            "file_name_id=1",
            "file_name_id=2",
            &expect![[r#"
                10 stack-frame `2` row 2 of 1 []
            "#]],
        );
        changed(
            "2 {file_location_id=1 parent_frame_id=2}",
            "2 {file_location_id=1 parent_frame_id=4}",
            &expect![[r#"
                14 stack-frame `4` frame 2 is called from frame 3: callers stand before []
            "#]],
        );
        changed(
            "2 {file_location_id=1 parent_frame_id=2}",
            "2 {file_location_id=1 parent_frame_id=5}",
            &expect![[r#"
                14 stack-frame `5` row 5 of 4 []
            "#]],
        );
        changed(
            "3 {file_location_id",
            "4 {file_location_id",
            &expect![[r#"
                14 stack-frame `4` row 4 stands where row 3 is expected []
            "#]],
        );
    }

    #[test]
    fn a_broken_line_keeps_names_from_being_looked_up() {
        let text =
            findings(&SOUND.replace("%copy = f32[2,3]{0,1} copy(", "%copy = f32[2,3]{0,1} ("));
        assert!(
            text.contains("syntax") && !text.contains("unresolved"),
            "{text}"
        );
    }
}
