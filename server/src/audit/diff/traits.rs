//! What a value can be recognised by in another compile of its program.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use buflens_syntax::Shape;
use rustc_hash::FxHashMap;

use crate::audit::{Audit, donation};
use crate::model::occupancy::Kind;
use crate::model::shapes::shape_text;
use crate::model::source::file_name;
use crate::model::{Allocation, Dump, NameId};

/// What is known of a value; texts as hashes, `None` for what the dump does not tell.
#[derive(Debug, Clone, Default)]
pub(super) struct Traits {
    /// The entry parameter that it is: its number and which leaf.
    pub parameter: Option<(u64, u64)>,
    /// Which part of the result it is.
    pub output: Option<u64>,
    /// The parameter that it is written over, if it is a part of the result.
    pub donor: Option<u32>,
    /// What its allocation is for.
    pub kind: Option<Kind>,
    /// The memory space.
    pub color: Option<u64>,
    /// The name of its instruction.
    pub name: u64,
    /// The same without numbers.
    pub base: u64,
    /// The same without `.clone` and `.remat` too.
    pub stem: u64,
    /// The same where it is not just the opcode, which is what compilers call most of what they make.
    pub own_name: Option<u64>,
    /// The shape index.
    pub index: u64,
    /// The opcode; of a constant with its literal.
    pub opcode: Option<u64>,
    /// The trace path without what only some versions print; of a copy that of what it copies.
    pub op_name: Option<u64>,
    /// Its last level, and whether it belongs to a gradient.
    pub primitive: Option<u64>,
    /// The line of source.
    pub source: Option<u64>,
    /// The shape with its layout.
    pub shape: Option<u64>,
    /// The element type and the dimensions; of a tuple how many elements.
    pub array: Option<u64>,
    /// The element type and how many dimensions.
    pub rank: Option<u64>,
    /// The dimensions; none of a tuple.
    pub dimensions: Option<u64>,
    /// Whether it is a tuple's table.
    pub is_tuple: bool,
    /// Bytes.
    pub size: u64,
    /// Where it lies, and from which step on.
    pub place: u64,
    /// The arrays that the instruction reads.
    pub reads: u64,
    /// Whether it reads none.
    pub is_source: bool,
    /// The place of the instruction in [`Side::operands`].
    pub instruction: u32,
}

/// All values of a dump.
#[derive(Debug)]
pub(super) struct Side<'d> {
    pub dump: &'d Dump,
    /// By value.
    pub traits: Vec<Traits>,
    /// Of each instruction the values that it reads.
    pub operands: Vec<Vec<u32>>,
    /// The values in the order of the schedule.
    pub order: Vec<u32>,
}

/// One number for `parts`.
pub(super) fn hash(parts: impl Hash) -> u64 {
    // Unlike the faster one for maps, it spreads every bit: keys are compared by it alone.
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

impl<'d> Side<'d> {
    /// The values of a dump; without what instructions tell where the other dump has none to compare.
    pub fn of(audit: &Audit<'d>, with_instructions: bool) -> Self {
        let dump = audit.dump;
        let mut side = Self {
            dump,
            traits: Vec::with_capacity(dump.values.len()),
            operands: Vec::new(),
            order: (0..dump.values.len() as u32).collect(),
        };
        let mut instructions: FxHashMap<NameId, (u32, u64)> = FxHashMap::default();
        for value in &dump.values {
            let origin = if with_instructions {
                audit.origins.of(value)
            } else {
                Arc::default()
            };
            let parts = &origin.parts;
            let next = side.operands.len() as u32;
            let (instruction, reads) = *instructions.entry(value.name).or_insert_with(|| {
                let read: Vec<u32> = parts
                    .operands
                    .iter()
                    .filter_map(|operand| dump.read_by(operand))
                    .collect();
                let arrays: Vec<Option<u64>> = read
                    .iter()
                    .map(|&at| array(audit.shapes.of(&dump.values[at as usize])?).into())
                    .collect();
                side.operands.push(read);
                (next, hash(arrays))
            });
            let name = &dump.names[value.name];
            let base = without_numbers(name);
            let stem = without_copies(&base);
            let shape = audit.shapes.of(value);
            let allocation = dump.allocation_of(value);
            let path = audit.origins.path(&origin);
            let path = path.as_deref();
            side.traits.push(Traits {
                parameter: None,
                output: None,
                donor: None,
                kind: allocation.map(Allocation::kind),
                color: allocation.map(|it| it.color),
                name: hash(name),
                base: hash(&base),
                stem: hash(stem),
                own_name: (stem != parts.opcode).then(|| hash(stem)),
                index: hash(&dump.names[value.index]),
                opcode: (!parts.opcode.is_empty())
                    .then(|| hash((parts.opcode, literal(dump, value.name, parts.opcode)))),
                op_name: path.map(|path| hash(levels(path))),
                primitive: path.map(|path| hash((path.contains("transpose("), levels(path).pop()))),
                source: origin
                    .source(&audit.libraries)
                    .map(|frame| hash((file_name(&frame.file), frame.line))),
                shape: shape_text(dump, value).map(hash),
                array: shape.map(array),
                rank: shape.map(rank),
                dimensions: shape.and_then(dimensions),
                is_tuple: matches!(shape, Some(Shape::Tuple(_))),
                size: value.size,
                place: hash((
                    (value.allocation(), value.offset),
                    value.has_live_range().then(|| dump.live(value).0),
                )),
                reads,
                is_source: side.operands[instruction as usize].is_empty(),
                instruction,
            });
        }
        for allocation in &dump.allocations {
            // Of the values of a donated parameter, instructions tell which it is.
            let number = dump.parameter_number(allocation);
            let Some(number) = number.filter(|_| with_instructions) else {
                continue;
            };
            let header = dump.header(allocation);
            let leaf = header.map_or("", |header| header.text(header.row.parameter_index));
            let own = donation::value_of(dump, allocation);
            if let Some(traits) = own.and_then(|at| side.traits.get_mut(at as usize)) {
                traits.parameter = Some((number, hash(leaf)));
            }
        }
        for (at, index) in outputs(dump) {
            if let Some(traits) = side.traits.get_mut(at as usize) {
                // Of a value that is several parts of the result the first counts.
                traits.output.get_or_insert(hash(&dump.names[index]));
                let allocation = dump.allocation_of(&dump.values[at as usize]);
                let donated = allocation.filter(|it| it.is_donated());
                let donor = donated.and_then(|it| donation::value_of(dump, it));
                traits.donor = donor.filter(|&donor| donor != at);
            }
        }
        // Values without live range stand behind the others, as they stand in the dump.
        side.order.sort_by_key(|&at| {
            let value = &dump.values[at as usize];
            (!value.has_live_range(), dump.live(value).0, at)
        });
        side
    }
}

/// The values that the result consists of, with their indices in it.
fn outputs(dump: &Dump) -> Vec<(u32, NameId)> {
    let Some(root) = dump.result() else {
        return Vec::new();
    };
    let positions = dump.positions_at(root);
    let positions = positions.filter_map(|at| dump.positions.get(at as usize));
    positions.map(|it| (it.value, it.index)).collect()
}

/// What a constant is: `0.125` of `constant(0.125)`.
fn literal<'d>(dump: &'d Dump, name: NameId, opcode: &str) -> Option<&'d str> {
    if opcode != "constant" {
        return None;
    }
    let text = dump.instruction_text(name)?;
    let (_, rest) = text.split_once("constant(")?;
    rest.split(')').next()
}

fn array(shape: &Shape) -> u64 {
    match shape {
        Shape::Array(array) => hash((&array.element, &array.dimensions)),
        Shape::Tuple(elements) => hash(("tuple", elements.len())),
    }
}

fn rank(shape: &Shape) -> u64 {
    match shape {
        Shape::Array(array) => hash((&array.element, array.dimensions.len())),
        Shape::Tuple(_) => hash("tuple"),
    }
}

fn dimensions(shape: &Shape) -> Option<u64> {
    match shape {
        Shape::Array(array) => Some(hash(&array.dimensions)),
        Shape::Tuple(_) => None,
    }
}

/// The levels of a trace path, without `jit(main)` and the parameters in brackets that older
/// versions print. What tells arguments apart stays: `params['layers'][0]` is one level.
fn levels(path: &str) -> Vec<String> {
    let (mut levels, mut level, mut rest) = (Vec::new(), String::new(), path);
    while let Some(at) = rest.find(['/', '[']) {
        let (head, tail) = rest.split_at(at);
        level.push_str(head);
        rest = if let Some(rest) = tail.strip_prefix('/') {
            levels.push(std::mem::take(&mut level));
            rest
        } else {
            let (brackets, rest) = tail.split_at(end_of_brackets(tail));
            if !has_parameters(brackets) {
                level.push_str(brackets);
            }
            rest
        };
    }
    level.push_str(rest);
    levels.push(level);
    levels.retain(|level| level != "jit(main)");
    levels
}

/// Where the brackets end that `text` begins with.
fn end_of_brackets(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, char) in text.char_indices() {
        match char {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    text.len()
}

/// Whether these brackets hold what a primitive was called with, as `[axes=(0,) x=1]`.
fn has_parameters(brackets: &str) -> bool {
    let inner = brackets.trim_start_matches('[').trim_start();
    let end = inner.find(|char: char| !char.is_ascii_alphanumeric() && char != '_');
    end.is_some_and(|end| end > 0 && inner[end..].starts_with('='))
}

/// The name without the numbers that tell equal ones apart: `fusion.clone` of `fusion.12.clone.3`.
pub(super) fn without_numbers(name: &str) -> String {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = name
        .split('.')
        .enumerate()
        .filter(|(at, part)| *at == 0 || !is_number(part))
        .map(|it| it.1)
        .collect();
    parts.join(".")
}

/// The name without what is added to copies of an instruction: `fusion` of `fusion.clone.remat2`.
fn without_copies(name: &str) -> &str {
    let mut rest = name;
    while let Some((head, tail)) = rest.rsplit_once('.') {
        let word = tail.trim_end_matches(|char: char| char.is_ascii_digit());
        if !matches!(word, "clone" | "remat") || head.is_empty() {
            break;
        }
        rest = head;
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_numbers() {
        let names = [
            "fusion.12",
            "fusion.12.clone.3",
            "copy-start",
            "2.5",
            "x.1y",
        ];
        assert_eq!(
            names.map(without_numbers),
            ["fusion", "fusion.clone", "copy-start", "2", "x.1y"]
        );
        assert_eq!(without_copies("fusion.clone.remat2"), "fusion");
        assert_eq!(without_copies("clone"), "clone");
        assert_eq!(without_copies(".remat"), ".remat");
    }

    #[test]
    fn paths_of_two_versions_are_one() {
        let old = levels("jit(f)/jit(main)/reduce_max[axes=(3,) x=a/b]");
        assert_eq!(old, ["jit(f)", "reduce_max"]);
        assert_eq!(old, levels("jit(f)/reduce_max"));
        assert_eq!(levels("]a[/"), ["]a[/"]);
        assert_eq!(levels("f/sort[\n  key=[1]\n]/b"), ["f", "sort", "b"]);
        for argument in [
            "a[199]",
            "params['layers'][0]['a/b']",
            "x['a=b']",
            "x[<flat index 0>]",
        ] {
            assert_eq!(levels(argument), [argument]);
        }
    }
}
