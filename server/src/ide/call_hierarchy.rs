//! The flow of data: who reads an instruction's result or one of its values, and what it reads. Of a computation: who
//! calls it, and whom its instructions call.

use std::ops::Range;

use buflens_syntax::ast::{self, AstNode};
use buflens_syntax::{SyntaxKind, SyntaxToken, facts};
use rustc_hash::FxHashMap;

use super::computations::{callees, callers, instruction_count};
use super::navigation::{self, Target, instruction_in, step_named, value_header};
use super::references::{Search, occurrences};
use super::subject::Subject;
use crate::model::bytes::counted;
use crate::model::{At, Dump, FileId, NameId, Place};

/// So many callers of a computation are looked for.
const MAX_CALLERS: usize = 1000;

/// What the hierarchy is of, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Node {
    /// An instruction; with its computation, as a number into [`Module::computations`](crate::model::Module::computations), if another one has an
    /// instruction of this name before.
    Instruction(NameId, Option<u32>),
    /// One of several values of an instruction, as a number into [`Dump::values`].
    Value(u32),
    /// A computation of the HLO text.
    Computation(NameId),
}

impl Node {
    /// The name of the instruction or computation.
    pub fn name(self, dump: &Dump) -> NameId {
        match self {
            Self::Instruction(name, _) | Self::Computation(name) => name,
            Self::Value(value) => dump.values[value as usize].name,
        }
    }

    /// The index of the value in the instruction's result.
    pub fn index(self, dump: &Dump) -> Option<&str> {
        match self {
            Self::Value(value) => Some(&dump.names[dump.values[value as usize].index]),
            Self::Instruction(..) | Self::Computation(_) => None,
        }
    }

    /// The value, which stands for its instruction if there is no other.
    pub fn of_value(dump: &Dump, value: u32) -> Self {
        let name = dump.values[value as usize].name;
        if dump.values_of(name).nth(1).is_some() {
            Self::Value(value)
        } else {
            Self::Instruction(name, None)
        }
    }

    /// The instruction, and its computation as above.
    fn instruction(self, dump: &Dump) -> Option<(NameId, Option<u32>)> {
        match self {
            Self::Instruction(name, computation) => Some((name, computation)),
            Self::Value(_) => Some((self.name(dump), None)),
            Self::Computation(_) => None,
        }
    }

    /// The instruction that `name` means at `place`.
    fn at(dump: &Dump, name: NameId, place: &Place) -> Self {
        let computation = dump.computation_at(place.file, place.range.start);
        let again = computation.filter(|&computation| dump.is_repeated_in(computation, name));
        Self::Instruction(name, again)
    }
}

/// An instruction or computation in the hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What it is.
    pub node: Node,
    /// Opcode and shape; of a computation how many instructions it has.
    pub detail: String,
    /// Its line, or its value's entry.
    pub place: Place,
    /// Its name there.
    pub selection: Range<u32>,
}

/// A neighbour in the hierarchy, with the ranges that make it one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The neighbour.
    pub item: Item,
    /// Where the reading is written, in the caller's file, as the protocol wants it.
    pub ranges: Vec<Range<u32>>,
}

/// The instruction or computation at `offset`.
pub fn prepare(dump: &Dump, file: FileId, offset: u32) -> Option<Item> {
    let (range, subject) = Subject::at(dump, file, offset)?;
    let here = Place { file, range };
    let instruction = |name: NameId| item(dump, Node::at(dump, name, &here));
    match &subject {
        Subject::Values { values, .. } => item(dump, Node::of_value(dump, *values.first()?)),
        Subject::Position { name, .. }
        | Subject::Instruction { name }
        | Subject::Definition { name } => instruction(dump.names.get(name)?),
        Subject::Computation { name } => computation(dump, dump.names.get(name)?),
        Subject::Step(_) | Subject::Allocation(_) | Subject::TableRow(_) => None,
    }
}

/// The instructions that read what an instruction makes or one value of it, or that call a computation.
pub fn incoming(dump: &Dump, node: Node) -> Vec<Call> {
    match node {
        Node::Instruction(..) | Node::Value(_) => readers(dump, node),
        Node::Computation(name) => {
            let mut found = Neighbours::default();
            let number = dump.computation_named(name);
            for caller in number.map_or_else(Vec::new, |number| {
                callers(dump, number, MAX_CALLERS, u32::MAX)
            }) {
                found.add(Node::at(dump, caller.name, &caller.place), caller.place);
            }
            // A caller stands for its line in the HLO text, where the computation is named.
            let call = |(node, places): (Node, Vec<Place>)| {
                let target = in_text(dump, node)?;
                let item = Item {
                    place: target.place,
                    selection: target.selection,
                    ..item(dump, node)?
                };
                Some(Call {
                    ranges: ranges_in(&item, places),
                    item,
                })
            };
            found.all.into_iter().filter_map(call).collect()
        }
    }
}

/// The operands of an instruction, or the computations that a computation's instructions call, with the
/// ranges in `file`, which is that of the item asked for. There are none if it is written elsewhere.
pub fn outgoing(dump: &Dump, node: Node, file: FileId) -> Vec<Call> {
    let found = match node {
        Node::Instruction(..) | Node::Value(_) => operands(dump, node, file),
        Node::Computation(name) => {
            let mut found = Neighbours::default();
            let number = dump.computation_named(name);
            for (name, place) in number.map_or_else(Vec::new, |number| callees(dump, number)) {
                found.add(Node::Computation(name), place);
            }
            found
        }
    };
    let call = |(node, places): (Node, Vec<Place>)| {
        Some(Call {
            item: item(dump, node)?,
            ranges: in_file(file, places),
        })
    };
    found.all.into_iter().filter_map(call).collect()
}

/// The instructions that read what the instruction `node` makes, or the value.
fn readers(dump: &Dump, node: Node) -> Vec<Call> {
    let name = node.name(dump);
    let mut readers = Neighbours::default();
    let mut values: Vec<u32> = dump.values_of(name).collect();
    let in_module = in_text(dump, node);
    if values.is_empty() && in_module.is_none() {
        values.extend(
            dump.positions_at(name)
                .map(|at| dump.positions[at as usize].value),
        );
    }
    if values
        .iter()
        .any(|&value| dump.values[value as usize].is_used())
    {
        if let Node::Value(value) = node {
            values = vec![value];
        }
        for value in values {
            for reading in dump.uses_of(&dump.values[value as usize]) {
                if let Some(at) = dump.at::<facts::Use>(reading.row) {
                    readers.add(Node::Instruction(reading.name, None), at.place(at.row.name));
                }
            }
        }
    } else if let Some(target) = in_module {
        for place in occurrences(
            dump,
            &dump.names[name],
            SyntaxKind::Name,
            &Search::of_all_in(target.place.file),
        ) {
            if Node::at(dump, name, &place).instruction(dump) != node.instruction(dump) {
                continue;
            }
            if let Some(reader) = reader_at(dump, &place) {
                readers.add(Node::at(dump, reader, &place), place);
            }
        }
    }
    let call = |(reader, places): (Node, Vec<Place>)| {
        let item = item(dump, reader)?;
        Some(Call {
            ranges: ranges_in(&item, places),
            item,
        })
    };
    readers.all.into_iter().filter_map(call).collect()
}

/// The operands of an instruction, as `file` has it if it does.
fn operands(dump: &Dump, node: Node, file: FileId) -> Neighbours {
    let mut operands = Neighbours::default();
    let here = in_module(dump, node).filter(|at| at.file == file);
    match here.or_else(|| instruction(dump, node)) {
        Some(at) => {
            for place in operand_names(dump, &at) {
                let text = dump.files[place.file].document.slice(place.range.clone());
                if let Some(operand) = dump.names.get(text) {
                    operands.add(Node::at(dump, operand, &place), place);
                }
            }
        }
        // A bitcast or the like without HLO text: it reads the values that are visible at it.
        None => {
            for at in dump.positions_at(node.name(dump)) {
                let position = &dump.positions[at as usize];
                if let Some(at) = dump.at::<facts::Position>(position.row) {
                    let name = dump.values[position.value as usize].name;
                    operands.add(Node::Instruction(name, None), at.place(at.row.name));
                }
            }
        }
    }
    operands
}

/// Neighbours in the order found, each once, with the places that make them such.
#[derive(Default)]
struct Neighbours {
    all: Vec<(Node, Vec<Place>)>,
    by_node: FxHashMap<Node, usize>,
}

impl Neighbours {
    fn add(&mut self, node: Node, place: Place) {
        let at = *self.by_node.entry(node).or_insert_with(|| {
            self.all.push((node, Vec::new()));
            self.all.len() - 1
        });
        self.all[at].1.push(place);
    }
}

/// The ranges of `places`, if they are in the caller's file; else the caller's own name.
fn ranges_in(caller: &Item, places: Vec<Place>) -> Vec<Range<u32>> {
    let ranges = in_file(caller.place.file, places);
    if ranges.is_empty() {
        vec![caller.selection.clone()]
    } else {
        ranges
    }
}

/// The ranges of those `places` that are in `file`.
fn in_file(file: FileId, places: Vec<Place>) -> Vec<Range<u32>> {
    let places = places.into_iter().filter(|place| place.file == file);
    places.map(|place| place.range).collect()
}

/// Where an instruction stands in the HLO text.
fn in_text(dump: &Dump, node: Node) -> Option<Target> {
    let (name, computation) = node.instruction(dump)?;
    instruction_in(dump, computation, &dump.names[name])
}

fn item(dump: &Dump, node: Node) -> Option<Item> {
    let Some((name, computation)) = node.instruction(dump) else {
        return computation(dump, node.name(dump));
    };
    let of_value = || {
        if let Node::Value(value) = node {
            return value_header(dump, value);
        }
        let mut values = dump.values_of(name).filter(|_| computation.is_none());
        values.find_map(|value| value_header(dump, value))
    };
    let target = of_value()
        .or_else(|| in_text(dump, node))
        .or_else(|| position_line(dump, name))
        .or_else(|| step_named(dump, &dump.names[name]))?;
    let detail = instruction(dump, node).map(|at| {
        let shape: String = at.text(at.row.shape).chars().take(80).collect();
        format!("{} {shape}", at.text(at.row.opcode))
    });
    Some(Item {
        node,
        detail: detail.unwrap_or_default(),
        place: target.place,
        selection: target.selection,
    })
}

fn computation(dump: &Dump, name: NameId) -> Option<Item> {
    let target = navigation::computation(dump, &dump.names[name])?;
    let count = instruction_count(dump, dump.computation_named(name)?);
    Some(Item {
        node: Node::Computation(name),
        detail: counted(count, "instruction"),
        place: target.place,
        selection: target.selection,
    })
}

/// The first line below `positions:` that names the instruction.
fn position_line(dump: &Dump, name: NameId) -> Option<Target> {
    let first = dump.positions_at(name).next()?;
    let at = dump.at::<facts::Position>(dump.positions[first as usize].row)?;
    let place = at.place(at.row.name);
    Some(Target {
        selection: place.range.clone(),
        place,
    })
}

/// The instruction as section C prints it, else as the HLO text does.
fn instruction(dump: &Dump, node: Node) -> Option<At<'_, facts::Instruction>> {
    let (name, computation) = node.instruction(dump)?;
    let mut values = dump.values_of(name).filter(|_| computation.is_none());
    let printed = values.find_map(|value| dump.instruction(&dump.values[value as usize]));
    printed.or_else(|| in_module(dump, node))
}

/// The instruction as the HLO text has it.
fn in_module(dump: &Dump, node: Node) -> Option<At<'_, facts::Instruction>> {
    let (name, computation) = node.instruction(dump)?;
    dump.at(dump.instruction_in(computation, name)?.row)
}

/// Where the names of an instruction's operands are.
fn operand_names(dump: &Dump, at: &At<facts::Instruction>) -> Vec<Place> {
    let document = &dump.files[at.file].document;
    let Some((start, name)) = document.token_at(at.start + at.row.name.start) else {
        return Vec::new();
    };
    let instruction = ast::Instruction::around(&name);
    let operands = instruction
        .into_iter()
        .flat_map(|instruction| instruction.operands());
    let names = operands.filter_map(|operand| operand.name());
    let place = |name: SyntaxToken| {
        let range = Range::<u32>::from(name.text_range());
        Place {
            file: at.file,
            range: start + range.start..start + range.end,
        }
    };
    names.map(place).collect()
}

/// The instruction of the HLO text that has an operand at `place`.
fn reader_at(dump: &Dump, place: &Place) -> Option<NameId> {
    let document = &dump.files[place.file].document;
    let (_, token) = document.token_at(place.range.start)?;
    ast::Operand::around(&token)?;
    let (start, block) = document.block(document.block_at(place.range.start)?)?;
    let reader = block.instruction_at(place.range.start - start)?;
    dump.names.get(reader.name.text(block.text()))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::{Expect, expect};

    use super::*;
    use crate::ide::fixture::{COMBINED, Fixture, MODULE, run_on, split, with_cursor};

    fn answer(text: &str) -> String {
        let fixture = Fixture::new(text);
        let dump = &fixture.dump;
        let Some(item) = prepare(dump, fixture.file, fixture.offset) else {
            return "nothing\n".to_owned();
        };
        let show = |item: &Item| {
            let place = fixture.text(item.place.file, item.place.range.clone());
            format!(
                "{}{} [{}] at {place}",
                &dump.names[item.node.name(dump)],
                item.node.index(dump).unwrap_or_default(),
                item.detail
            )
        };
        let mut lines = show(&item);
        lines.push('\n');
        for call in incoming(dump, item.node) {
            let ranges: Vec<_> = call
                .ranges
                .iter()
                .map(|range| fixture.text(call.item.place.file, range.clone()))
                .collect();
            writeln!(lines, "  read by {} in {ranges:?}", show(&call.item)).unwrap();
        }
        for call in outgoing(dump, item.node, item.place.file) {
            let ranges: Vec<_> = call
                .ranges
                .iter()
                .map(|range| fixture.text(item.place.file, range.clone()))
                .collect();
            writeln!(lines, "  reads {} in {ranges:?}", show(&call.item)).unwrap();
        }
        lines
    }

    /// All forms must agree.
    fn check(snippet: &str, expected: &Expect) {
        let answers = [COMBINED.to_owned(), run_on(), split()]
            .map(|form| answer(&with_cursor(&form, snippet)));
        expected.assert_eq(&answers[0]);
        assert_eq!(answers[1], answers[0], "run-on form");
        assert_eq!(answers[2], answers[0], "split form");
    }

    #[test]
    fn data_flows_from_operands_to_readers() {
        check(
            "<5 copy-$0start{0} @1> (",
            &expect![[r#"
                copy-start{0} [copy-start (f32[16]{0:T(128)S(1)}, f32[16]{0:T(128)}, u32[]{:S(2)})] at <5 copy-start{0} @1>
                  read by copy-done [] at copy-done in ["copy-done"]
                  read by while.4 [while (s32[], f32[16]{0:T(128)})] at <7 while.4{} (phi) @0> in ["while.4"]
                  reads x.1 [parameter f32[16]{0:T(128)}] at <3 x.1 @0> in ["x.1"]
            "#]],
        );
        check(
            "    3:whi$0le.4",
            &expect![[r#"
            while.4 [while (s32[], f32[16]{0:T(128)})] at <7 while.4{} (phi) @0>
              read by add.2 [add f32[16]{0:T(128)}] at <9 add.2 @0> in ["add.2"]
              reads copy-done [] at copy-done in ["copy-done"]
        "#]],
        );
        check(
            "    6:ad$0d.2",
            &expect![[r#"
            add.2 [add f32[16]{0:T(128)}] at <9 add.2 @0>
              reads bitcast.6 [] at bitcast.6 in ["bitcast.6"]
              reads get-tuple-element.5 [] at get-tuple-element.5 in ["get-tuple-element.5"]
        "#]],
        );
        check(
            "    x.1{}$0:0-7",
            &expect![[r#"
            x.1 [parameter f32[16]{0:T(128)}] at <3 x.1 @0>
              read by copy-start [copy-start (f32[16]{0:T(128)S(1)}, f32[16]{0:T(128)}, u32[]{:S(2)})] at <4 copy-start{} @0> in ["copy-start"]
              read by copy-done [] at copy-done in ["copy-done"]
        "#]],
        );
    }

    #[test]
    fn a_name_without_values_flows_through_its_positions() {
        check(
            "  get-tuple-element.5\n  bitc$0ast.6\n",
            &expect![[r#"
            bitcast.6 [] at bitcast.6
              read by add.2 [add f32[16]{0:T(128)}] at <9 add.2 @0> in ["add.2"]
              reads while.4 [while (s32[], f32[16]{0:T(128)})] at <7 while.4{} (phi) @0> in ["bitcast.6"]
        "#]],
        );
    }

    #[test]
    fn hlo_text_alone_tells_the_flow() {
        expect![[r#"
            get-tuple-element.5 [get-tuple-element f32[16]{0:T(128)}] at %get-tuple-element.5 = f32[16]{0:T(128)} get-tuple-element(%...
              read by bitcast.6 [bitcast f32[16]{0:T(128)}] at %bitcast.6 = f32[16]{0:T(128)} bitcast(%get-tuple-element.5) in ["get-tuple-element.5"]
              read by add.2 [add f32[16]{0:T(128)}] at %add.2 = f32[16]{0:T(128)} add(%bitcast.6, %get-tuple-elemen... in ["get-tuple-element.5"]
              reads while.4 [while (s32[], f32[16]{0:T(128)})] at %while.4 = (s32[], f32[16]{0:T(128)}) while(%copy-done), con... in ["while.4"]
        "#]].assert_eq(&answer(&with_cursor(MODULE, "%get-tuple-e$0lement.5 = ")));
        expect![[r#"
            arg.2 [parameter (s32[], f32[16]{0:T(128)})] at %arg.2 = (s32[], f32[16]{0:T(128)}) parameter(0)
              read by lt.1 [custom-call pred[]] at %lt.1 = pred[] custom-call(%arg.2), custom_call_target="arg.... in ["arg.2"]
        "#]].assert_eq(&answer(&with_cursor(MODULE, "custom-call(%arg$0.2)")));
        expect![[r#"
            nothing
        "#]]
        .assert_eq(&answer(&with_cursor(MODULE, "HloMo$0dule jit_f")));
    }

    #[test]
    fn hlo_text_adds_what_section_c_leaves_out() {
        let text = split() + MODULE;
        expect![[r#"
            bitcast.6 [bitcast f32[16]{0:T(128)}] at %bitcast.6 = f32[16]{0:T(128)} bitcast(%get-tuple-element.5)
              read by add.2 [add f32[16]{0:T(128)}] at <9 add.2 @0> in ["add.2"]
              reads get-tuple-element.5 [get-tuple-element f32[16]{0:T(128)}] at %get-tuple-element.5 = f32[16]{0:T(128)} get-tuple-element(%... in ["get-tuple-element.5"]
        "#]].assert_eq(&answer(&with_cursor(&text, "%bitcast.$06 = ")));
        expect![[r#"
            add.2 [add f32[16]{0:T(128)}] at <9 add.2 @0>
              reads bitcast.6 [bitcast f32[16]{0:T(128)}] at %bitcast.6 = f32[16]{0:T(128)} bitcast(%get-tuple-element.5) in ["bitcast.6"]
              reads get-tuple-element.5 [get-tuple-element f32[16]{0:T(128)}] at %get-tuple-element.5 = f32[16]{0:T(128)} get-tuple-element(%... in ["get-tuple-element.5"]
        "#]].assert_eq(&answer(&with_cursor(&text, "    6:ad$0d.2")));
    }

    #[test]
    fn a_computation_is_called_and_calls() {
        let text = MODULE.replace(
            "ROOT %lt.1 = pred[] custom-call(%arg.2)",
            "ROOT %lt.1 = pred[] custom-call(%arg.2), called_computations={%region_0.3, %region_0.3}",
        );
        expect![[r#"
            region_1.7 [2 instructions] at %region_1.7 (arg.2: (s32[], f32[16])) -> pred[] {
              read by while.4 [while (s32[], f32[16]{0:T(128)})] at %while.4 = (s32[], f32[16]{0:T(128)}) while(%copy-done), con... in ["region_1.7"]
              reads region_0.3 [1 instruction] at %region_0.3 (arg.1: (s32[], f32[16])) -> (s32[], f32[16]) { in ["region_0.3", "region_0.3"]
        "#]].assert_eq(&answer(&with_cursor(&text, "%region_1.$07 (arg")));
        expect![[r#"
            main.9 [7 instructions] at ENTRY %main.9 (x.1: f32[16]) -> f32[16] {
              reads region_1.7 [2 instructions] at %region_1.7 (arg.2: (s32[], f32[16])) -> pred[] { in ["region_1.7"]
              reads region_0.3 [1 instruction] at %region_0.3 (arg.1: (s32[], f32[16])) -> (s32[], f32[16]) { in ["region_0.3"]
        "#]].assert_eq(&answer(&with_cursor(&text, "%main.9$0 (x")));
    }

    /// No compiler repeats a name, people do.
    #[test]
    fn a_name_means_the_instruction_of_its_own_computation() {
        let text = "-- m.txt\nHloModule m\n\nfirst {\n  x = f32[] parameter(0)\n  ROOT sum = f32[] negate(x)\n}\n\nENTRY main {\n  x = f32[4] parameter(0)\n  y = f32[4] abs(x)\n  ROOT sum = f32[4] map(y), to_apply=first\n}\n";
        expect![[r#"
            x [parameter f32[4]] at x = f32[4] parameter(0)
              read by y [abs f32[4]] at y = f32[4] abs(x) in ["x"]
        "#]]
        .assert_eq(&answer(&with_cursor(text, "  x$0 = f32[4]")));
        expect![[r#"
            sum [negate f32[]] at sum = f32[] negate(x)
              reads x [parameter f32[]] at x = f32[] parameter(0) in ["x"]
        "#]]
        .assert_eq(&answer(&with_cursor(text, "  ROOT su$0m = f32[] negate")));
    }
}
