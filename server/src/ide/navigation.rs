//! Definition, declaration, type definition, implementation.

use std::ops::Range;

use buflens_syntax::facts::{self, Span};

use super::subject::{Subject, is_module};
use crate::model::{At, Dump, FileId, Place, Row};

/// Somewhere to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The whole of it: the line.
    pub place: Place,
    /// What to put the cursor on, within the place.
    pub selection: Range<u32>,
}

impl Target {
    fn new<T>(at: &At<T>, whole: Span, selection: Span) -> Self {
        Self {
            place: at.place(whole),
            selection: at.place(selection).range,
        }
    }
}

/// Where a request leads, and from which text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Navigation {
    /// The name or number under the cursor.
    pub origin: Range<u32>,
    /// Where it leads.
    pub targets: Vec<Target>,
}

impl Navigation {
    /// The targets in the order of the files and their text, each once; `None` without any.
    fn new(origin: Range<u32>, mut targets: Vec<Target>) -> Option<Self> {
        targets.sort_unstable_by_key(|target| (target.place.file, target.selection.start));
        targets.dedup();
        (!targets.is_empty()).then_some(Self { origin, targets })
    }
}

/// The value's header in section C, or from there the instruction that defines it.
pub fn definition(dump: &Dump, file: FileId, offset: u32) -> Option<Navigation> {
    let (origin, subject) = Subject::at(dump, file, offset)?;
    let targets = match &subject {
        Subject::Values {
            values,
            header: true,
        } => defining_instructions(dump, values),
        Subject::Step(step) => step_line(dump, *step).into_iter().collect(),
        Subject::Allocation(_) => allocation(dump, subject.allocation(dump)?)
            .into_iter()
            .collect(),
        Subject::Computation { name } => computation(dump, name).into_iter().collect(),
        Subject::Instruction { name } | Subject::Definition { name } if is_module(dump, file) => {
            hlo_instruction(dump, name).into_iter().collect()
        }
        _ => subject
            .values(dump)
            .into_iter()
            .filter_map(|value| value_header(dump, value))
            .collect(),
    };
    // A name that stands for no value (of a fusion's inside, of a dump without its other files).
    let by_name = || {
        subject
            .name()
            .and_then(|name| hlo_instruction(dump, name).or_else(|| step_named(dump, name)))
    };
    let targets = if targets.is_empty() {
        by_name().into_iter().collect()
    } else {
        targets
    };
    Navigation::new(origin, targets)
}

/// The line in section A.
pub fn declaration(dump: &Dump, file: FileId, offset: u32) -> Option<Navigation> {
    let (origin, subject) = Subject::at(dump, file, offset)?;
    Navigation::new(origin, declarations(dump, &subject))
}

/// The lines in section A of the values that are meant.
pub(super) fn declarations(dump: &Dump, subject: &Subject) -> Vec<Target> {
    subject
        .values(dump)
        .into_iter()
        .filter_map(|value| value_line(dump, value))
        .collect()
}

/// The header of the allocation.
pub fn type_definition(dump: &Dump, file: FileId, offset: u32) -> Option<Navigation> {
    let (origin, subject) = Subject::at(dump, file, offset)?;
    let of_values = subject.values(dump).into_iter().filter_map(|value| {
        let number = dump.values[value as usize].allocation?;
        Some(dump.allocations[number as usize].header)
    });
    let headers = of_values.chain(subject.allocation(dump));
    Navigation::new(
        origin,
        headers.filter_map(|row| allocation(dump, row)).collect(),
    )
}

/// The instruction in the HLO text, else behind `from instruction:`.
pub fn implementation(dump: &Dump, file: FileId, offset: u32) -> Option<Navigation> {
    let (origin, subject) = Subject::at(dump, file, offset)?;
    if let Subject::Computation { name } = &subject {
        return Navigation::new(origin, computation(dump, name).into_iter().collect());
    }
    let named = subject.name().and_then(|name| hlo_instruction(dump, name));
    let targets = named.map_or_else(
        || defining_instructions(dump, &subject.values(dump)),
        |target| vec![target],
    );
    Navigation::new(origin, targets)
}

/// A value's header in section C; where there is none, its line in section A.
pub(super) fn value_header(dump: &Dump, value: u32) -> Option<Target> {
    let header = dump.used(&dump.values[value as usize]);
    let header = header.map(|at| Target::new(&at, at.row.value.span, at.row.value.name));
    header.or_else(|| value_line(dump, value))
}

fn value_line(dump: &Dump, value: u32) -> Option<Target> {
    let at = dump.placement(&dump.values[value as usize])?;
    Some(Target::new(&at, at.row.line, at.row.value.name))
}

fn allocation(dump: &Dump, header: Row) -> Option<Target> {
    let at = dump.at::<facts::Allocation>(header)?;
    Some(Target::new(&at, at.row.line, at.row.index.span))
}

/// The instructions that define `values`: in the HLO text, else behind `from instruction:`.
fn defining_instructions(dump: &Dump, values: &[u32]) -> Vec<Target> {
    let of_value = |&value: &u32| {
        let value = &dump.values[value as usize];
        hlo_instruction(dump, &dump.names[value.name]).or_else(|| {
            dump.instruction(value)
                .map(|at| Target::new(&at, at.row.span, at.row.name))
        })
    };
    values.iter().filter_map(of_value).collect()
}

/// The line of an instruction in the HLO text.
pub(super) fn hlo_instruction(dump: &Dump, name: &str) -> Option<Target> {
    let instruction = dump.instructions.get(&dump.names.get(name)?)?;
    let at = dump.at::<facts::Instruction>(instruction.row)?;
    Some(Target::new(&at, at.row.span, at.row.name))
}

fn computation(dump: &Dump, name: &str) -> Option<Target> {
    let number = dump.computation_named(dump.names.get(name)?)?;
    let at = dump.at::<facts::Computation>(dump.computations[number as usize])?;
    Some(Target::new(&at, at.row.line, at.row.name))
}

/// The line of a step in the sequence.
fn step_line(dump: &Dump, step: u64) -> Option<Target> {
    let is_it = |at: &At<facts::Step>| at.row.step.value == step;
    let row = dump.steps.get(usize::try_from(step).ok()?)?.row;
    let at = dump.at(row).filter(is_it)?;
    Some(step_target(&at))
}

/// The line of an instruction in the sequence.
pub(super) fn step_named(dump: &Dump, name: &str) -> Option<Target> {
    let step = dump.step_of(dump.names.get(name)?)?;
    Some(step_target(&dump.at(dump.steps[step as usize].row)?))
}

fn step_target(at: &At<facts::Step>) -> Target {
    let whole = Span {
        start: at.row.step.span.start,
        end: at.row.name.end,
    };
    Target::new(at, whole, at.row.name)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::ide::fixture::{COMBINED, Fixture, MODULE, run_on, split, with_cursor};

    type Request = fn(&Dump, FileId, u32) -> Option<Navigation>;

    fn answer(text: &str, request: Request) -> String {
        let fixture = Fixture::new(text);
        let Some(answer) = request(&fixture.dump, fixture.file, fixture.offset) else {
            return "nothing\n".to_owned();
        };
        let mut lines = format!("from {}\n", fixture.text(fixture.file, answer.origin));
        for target in answer.targets {
            let place = fixture.text(target.place.file, target.place.range.clone());
            let selection = fixture.text(target.place.file, target.selection);
            lines.push_str(&format!("{place} | {selection}\n"));
        }
        lines
    }

    /// Asks in every form of the dump with the cursor of `snippet` in it; all must agree.
    fn check(snippet: &str, request: Request, expected: Expect) {
        let combined = answer(&with_cursor(COMBINED, snippet), request);
        expected.assert_eq(&combined);
        if run_on().contains(&snippet.replace("$0", "")) {
            assert_eq!(
                answer(&with_cursor(&run_on(), snippet), request),
                combined,
                "run-on form"
            );
        }
        assert_eq!(
            answer(&with_cursor(&split(), snippet), request),
            combined,
            "split form"
        );
    }

    fn check_with_module(snippet: &str, request: Request, expected: Expect) {
        let answers = [COMBINED.to_owned(), run_on(), split()].map(|form| {
            let text = form + MODULE;
            answer(&with_cursor(&text, snippet), request)
        });
        expected.assert_eq(&answers[0]);
        assert_eq!(answers[1], answers[0], "run-on form");
        assert_eq!(answers[2], answers[0], "split form");
    }

    #[test]
    fn a_value_leads_to_its_header_from_everywhere() {
        for snippet in [
            " value: <$05 copy-start{0} @1> (",
            " value: <5$0 copy-start{0} @1> (",
        ] {
            check(snippet, definition, expect![[r#"
                from 5
                <5 copy-start{0} @1> | copy-start
            "#]#"
                from 5
                <5 copy-start{0} @1> | copy-start
            "#]]);
        }
        check(" value: <5 copy-st$0art{0} @1> (", definition, expect![[r#"
            from copy-start
            <5 copy-start{0} @1> | copy-start
        "#]]);
        check(
            "    copy-start{0}$0:1-3",
            definition,
            expect![[r#"
                from {0}
                <5 copy-start{0} @1> | copy-start
            "#]],
        );
        check(
            "    copy-st$0art{0}:1-3",
            definition,
            expect![[r#"
            from copy-start
            <5 copy-start{0} @1> | copy-start
        "#]],
        );
        check(
            "    while.4{1$0}:3-6",
            definition,
            expect![[r#"
                from {1}
                <8 while.4{1} (phi) @0> | while.4
            "#]],
        );
        check(
            "    copy-start{0$0}: 64 bytes",
            definition,
            expect![[r#"
                from {0}
                <5 copy-start{0} @1> | copy-start
            "#]],
        );
        check(
            "    x.1$0{}: 64 bytes",
            definition,
            expect![[r#"
            from x.1
            <3 x.1 @0> | x.1
        "#]],
        );
    }

    #[test]
    fn a_header_leads_to_the_instruction_that_defines_it() {
        check(
            "<8 wh$0ile.4{1} (phi) @0>\n positions:",
            definition,
            expect![[r#"
            from while.4
            %while.4 = (s32[], f32[16]{0:T(128)}) while(%copy-done), con... | while.4
        "#]],
        );
        check(
            "<$09 add.2 @0>\n positions:",
            definition,
            expect![[r#"
            from 9
            %add.2 = f32[16]{0:T(128)} add(%bitcast.6, %get-tuple-elemen... | add.2
        "#]],
        );
        check_with_module(
            "<8$0 while.4{1} (phi) @0>\n positions:",
            definition,
            expect![[r#"
            from 8
            %while.4 = (s32[], f32[16]{0:T(128)}) while(%copy-done), con... | while.4
        "#]],
        );
    }

    #[test]
    fn a_position_leads_to_the_value_defined_there_or_visible_there() {
        check(
            "  x.1\n  copy-$0start {1}\n",
            definition,
            expect![[r#"
            from copy-start
            <3 x.1 @0> | x.1
        "#]],
        );
        check(
            "  x.1\n  copy-start {$01}\n",
            definition,
            expect![[r#"
                from {1}
                <3 x.1 @0> | x.1
            "#]],
        );
        check(
            "  copy-st$0art {}\n uses",
            definition,
            expect![[r#"
            from copy-start
            <4 copy-start{} @0> | copy-start
        "#]],
        );
        check(
            "  copy-start {0}\n  $0copy-done\n",
            definition,
            expect![[r#"
            from copy-done
            <5 copy-start{0} @1> | copy-start
        "#]],
        );
        check(
            "  while.4 $0{1}\n  get",
            definition,
            expect![[r#"
                from {1}
                <8 while.4{1} (phi) @0> | while.4
            "#]],
        );
        check(
            "  get-tuple-element.5\n  bitc$0ast.6\n",
            definition,
            expect![[r#"
            from bitcast.6
            <8 while.4{1} (phi) @0> | while.4
        "#]],
        );
    }

    #[test]
    fn a_use_means_its_reader_not_the_index_of_its_operand() {
        check(
            "  copy-done$0, operand 0 {1}",
            definition,
            expect![[r#"
            from copy-done
            <5 copy-start{0} @1> | copy-start
        "#]],
        );
        check(
            "  copy-done, operand 0 {$01}",
            definition,
            expect![[r#"
            nothing
        "#]],
        );
        check(
            "  copy-st$0art, operand 0\n",
            definition,
            expect![[r#"
            from copy-start
            <4 copy-start{} @0> | copy-start
        "#]],
        );
        check(
            "  while.4$0, operand 1",
            definition,
            expect![[r#"
            from while.4
            <7 while.4{} (phi) @0> | while.4
        "#]],
        );
        check(
            "  ad$0d.2, operand 0",
            definition,
            expect![[r#"
            from add.2
            <9 add.2 @0> | add.2
        "#]],
        );
    }

    #[test]
    fn an_operand_or_a_step_means_what_the_name_defines() {
        check(
            "add(%bit$0cast.6, %",
            definition,
            expect![[r#"
            from bitcast.6
            <8 while.4{1} (phi) @0> | while.4
        "#]],
        );
        check(
            "add($0%bitcast.6, %",
            definition,
            expect![[r#"
            from bitcast.6
            <8 while.4{1} (phi) @0> | while.4
        "#]],
        );
        check(
            "copy-start(%x.1$0), stray",
            definition,
            expect![[r#"
            from x.1
            <3 x.1 @0> | x.1
        "#]],
        );
        check(
            "while(%copy-done$0), condition=%region_1.7, body=%region_0.3\n<8",
            definition,
            expect![[r#"
            from copy-done
            <5 copy-start{0} @1> | copy-start
        "#]],
        );
        check(
            "    1:copy-$0start\n",
            definition,
            expect![[r#"
            from copy-start
            <4 copy-start{} @0> | copy-start
        "#]],
        );
        check(
            "    4:get-tuple-$0element.5\n",
            definition,
            expect![[r#"
            from get-tuple-element.5
            <8 while.4{1} (phi) @0> | while.4
        "#]],
        );
    }

    #[test]
    fn the_name_behind_from_instruction_means_all_that_it_defines() {
        check(
            "%copy-st$0art = (f32[16]{0:T(128)S(1)}, f32[16]{0:T(128)}, u32[]{:S(2)}) copy-start(%x.1), stray",
            definition,
            expect![[r#"
            from copy-start
            <4 copy-start{} @0> | copy-start
            <5 copy-start{0} @1> | copy-start
            <6 copy-start{2} @2> | copy-start
        "#]],
        );
    }

    #[test]
    fn steps_and_allocations_are_places_too() {
        check(
            "    while.4{1}:3$0-6",
            definition,
            expect![[r#"
            from 3
            3:while.4 | while.4
        "#]],
        );
        check(
            "    while.4{1}:3-$06",
            definition,
            expect![[r#"
            from 6
            6:add.2 | add.2
        "#]],
        );
        check(
            "    x.1{}:0-7$0\n",
            definition,
            expect![[r#"
            nothing
        "#]],
        );
        check(
            "Live ranges at 1$0 (peak)",
            definition,
            expect![[r#"
            from 1
            1:copy-start | copy-start
        "#]],
        );
        check(
            "allocation $03: size",
            definition,
            expect![[r#"
            from 3
            allocation 3: size 16448, preallocated-temp: | 3
        "#]],
        );
    }

    #[test]
    fn declaration_and_type_definition_lead_to_section_a() {
        check(
            "<8 while.4$0{1} (phi) @0>\n positions:",
            declaration,
            expect![[r#"
            from while.4
             value: <8 while.4{1} (phi) @0> (size=64,offset=16384): f32[... | while.4
        "#]],
        );
        check(
            "  get-tuple-element.5\n  bitc$0ast.6\n",
            declaration,
            expect![[r#"
            from bitcast.6
             value: <8 while.4{1} (phi) @0> (size=64,offset=16384): f32[... | while.4
        "#]],
        );
        let old_peak_line = with_cursor(&run_on(), "    copy-st$0art: 24 bytes");
        expect![[r#"
            from copy-start
             value: <5 copy-start{0} @1> (size=512,offset=0): f32[16]{0:... | copy-start
             value: <4 copy-start{} @0> (size=32,offset=0): (f32[16]{0:T... | copy-start
             value: <6 copy-start{2} @2> (size=4,offset=0): u32[]{:S(2)} | copy-start
        "#]].assert_eq(&answer(&old_peak_line, declaration));
        check(
            "<8 while.4$0{1} (phi) @0>\n positions:",
            type_definition,
            expect![[r#"
                from while.4
                allocation 3: size 16448, preallocated-temp: | 3
            "#]],
        );
        check("  copy-done$0, operand 0 {1}", type_definition, expect![[r#"
            from copy-done
            allocation 2: size 512, color 1, preallocated-temp: | 2
        "#]]);
        check(
            "%copy-st$0art = (f32[16]{0:T(128)S(1)}, f32[16]{0:T(128)}, u32[]{:S(2)}) copy-start(%x.1), stray",
            type_definition,
            expect![[r#"
                from copy-start
                allocation 2: size 512, color 1, preallocated-temp: | 2
                allocation 3: size 16448, preallocated-temp: | 3
                allocation 4: size 4, color 2, preallocated-temp: | 4
            "#]],
        );
    }

    #[test]
    fn implementation_leads_to_the_instruction() {
        check(
            "    while.4{1}$0:3-6",
            implementation,
            expect![[r#"
                from {1}
                %while.4 = (s32[], f32[16]{0:T(128)}) while(%copy-done), con... | while.4
            "#]],
        );
        check(
            "add(%bit$0cast.6, %",
            implementation,
            expect![[r#"
            from bitcast.6
            %while.4 = (s32[], f32[16]{0:T(128)}) while(%copy-done), con... | while.4
        "#]],
        );
        check_with_module(
            "    while.4$0{1}:3-6",
            implementation,
            expect![[r#"
            from while.4
            %while.4 = (s32[], f32[16]{0:T(128)}) while(%copy-done), con... | while.4
        "#]],
        );
        check_with_module(
            "  get-tuple-element.5\n  bitc$0ast.6\n",
            implementation,
            expect![[r#"
            from bitcast.6
            %bitcast.6 = f32[16]{0:T(128)} bitcast(%get-tuple-element.5) | bitcast.6
        "#]],
        );
    }

    #[test]
    fn in_hlo_text_a_name_leads_to_its_line_and_from_there_to_the_value() {
        check_with_module(
            "add(%bitcast.6, %get-tup$0le-element.5), metadata={op_name=\"jit(f)/add\"",
            definition,
            expect![[r#"
            from get-tuple-element.5
            %get-tuple-element.5 = f32[16]{0:T(128)} get-tuple-element(%... | get-tuple-element.5
        "#]],
        );
        check_with_module(
            "%bitcast$0.6 = ",
            definition,
            expect![[r#"
            from bitcast.6
            %bitcast.6 = f32[16]{0:T(128)} bitcast(%get-tuple-element.5) | bitcast.6
        "#]],
        );
        check_with_module(
            "%bitcast$0.6 = ",
            declaration,
            expect![[r#"
            from bitcast.6
             value: <8 while.4{1} (phi) @0> (size=64,offset=16384): f32[... | while.4
        "#]],
        );
        check_with_module(
            "%bitcast$0.6 = ",
            type_definition,
            expect![[r#"
            from bitcast.6
            allocation 3: size 16448, preallocated-temp: | 3
        "#]],
        );
        check_with_module(
            "  %copy-start$0 = (f32[16]{0:T(128)S(1)}, f32[16]{0:T(128)}, u32[]{:S(2)}) copy-start(%x.1)\n  %",
            declaration,
            expect![[r#"
            from copy-start
             value: <5 copy-start{0} @1> (size=512,offset=0): f32[16]{0:... | copy-start
             value: <4 copy-start{} @0> (size=32,offset=0): (f32[16]{0:T... | copy-start
             value: <6 copy-start{2} @2> (size=4,offset=0): u32[]{:S(2)} | copy-start
        "#]],
        );
        check_with_module(
            "custom-call(%arg$0.2)",
            definition,
            expect![[r#"
            from arg.2
            %arg.2 = (s32[], f32[16]{0:T(128)}) parameter(0) | arg.2
        "#]],
        );
        check_with_module(
            "body=%regi$0on_0.3\n  %",
            definition,
            expect![[r#"
            from region_0.3
            %region_0.3 (arg.1: (s32[], f32[16])) -> (s32[], f32[16]) { | region_0.3
        "#]],
        );
        check_with_module(
            "condition=%region_1.7, body=%regio$0n_0.3, x=1",
            definition,
            expect![[r#"
            from region_0.3
            %region_0.3 (arg.1: (s32[], f32[16])) -> (s32[], f32[16]) { | region_0.3
        "#]],
        );
        check_with_module(
            "ENTRY %ma$0in.9",
            definition,
            expect![[r#"
            from main.9
            ENTRY %main.9 (x.1: f32[16]) -> f32[16] { | main.9
        "#]],
        );
    }

    #[test]
    fn without_section_c_the_definition_is_in_section_a() {
        let (a, rest) = COMBINED.split_once("\nTotal").unwrap();
        let (_, d) = rest.split_once("HloLiveRange").unwrap();
        let text = format!("{a}\n//- d.txt\nHloLiveRange{d}");
        let ask = |snippet| answer(&with_cursor(&text, snippet), definition);
        expect![[r#"
            from copy-start
             value: <5 copy-start{0} @1> (size=512,offset=0): f32[16]{0:... | copy-start
        "#]]
        .assert_eq(&ask("    copy-st$0art{0}:1-3"));
        expect![[r#"
            from copy-start
             value: <4 copy-start{} @0> (size=32,offset=0): (f32[16]{0:T... | copy-start
        "#]]
        .assert_eq(&ask("    1:copy-$0start\n"));
        expect![[r#"
            from copy-done
            2:copy-done | copy-done
        "#]]
        .assert_eq(&ask("    2:copy-$0done\n"));
        expect![[r#"
            from 9
             value: <9 add.2 @0> (size=512,offset=0): f32[16]{0:T(128)} | add.2
        "#]]
        .assert_eq(&ask("<$09 add.2 @0> ("));
    }

    #[test]
    fn a_position_anywhere_in_a_broken_dump_is_answered() {
        let text = "BufferAssignment:\n value: <1 a{ @0> (size=\n\nUsed values:\n<1 a\n positions:\n  a {\n uses:\n  b, operand\n from instruction: %";
        let fixture = Fixture::new(text);
        for offset in 0..=text.len() as u32 + 2 {
            for request in [definition, declaration, type_definition, implementation] {
                let _ = request(&fixture.dump, 0, offset);
            }
        }
    }
}
