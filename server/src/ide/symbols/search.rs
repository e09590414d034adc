//! Finding symbols by name, `op_name` and shape in a whole dump.

use std::cmp::Reverse;

use buflens_syntax::DocumentKind;
use buflens_syntax::facts::{self, Instruction};
use buflens_syntax::lexer::{self, Token};
use memchr::memmem::Finder;
use rustc_hash::FxHashSet;

use super::{Found, SymbolKind};
use crate::audit::Audit;
use crate::audit::made::made;
use crate::ide::navigation::{Target, allocation, computation, instruction_in, value_header};
use crate::model::cancel::checkpoint;
use crate::model::lines::Lines;
use crate::model::source::{Libraries, unescaped};
use crate::model::source_map::SourceMap;
use crate::model::{Dump, NameId, Place, Rank};

/// What matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Hit {
    Allocation(u32),
    Value(u32),
    Computation(NameId),
    /// With its computation, as a number into [`Module::computations`](crate::model::Module::computations).
    Instruction(NameId, Option<u32>),
}

/// An instruction by its name, and by its computation where it was found in the HLO text.
type Named = (NameId, Option<u32>);

/// So many characters of a shape are shown.
const SHAPE: usize = 200;
/// An `op_name` of more bytes is not looked into.
const MOST_OF_OP_NAME: usize = 4 << 10;

/// At most `limit` values, allocations and instructions whose name, `op_name` or shape contains
/// `query`. Upper and lower case are the same. The best come first: [`Rank`]. Before all of them are,
/// the largest first, the values that a line of source made, if the query is one: `model.py:12`.
pub fn workspace_symbols(dump: &Dump, query: &str, limit: usize) -> Vec<Found> {
    let mut found = by_line(dump, query, limit);
    let rest = limit - found.len();
    found.extend(by_name(dump, query, rest));
    found
}

/// What lines of source made. The editor filters by what it is shown, so the line becomes part of
/// the name.
fn by_line(dump: &Dump, query: &str, limit: usize) -> Vec<Found> {
    let Some(lines) = query.parse::<Lines>().ok().filter(|it| it.range.is_some()) else {
        return Vec::new();
    };
    // What is a library's makes no difference to what is found.
    let audit = Audit::new(dump, Libraries::default());
    let made = made(&audit, &lines, &SourceMap::EMPTY);
    let mut values: Vec<u32> = made.at(&lines).iter().map(|hit| hit.value).collect();
    values.sort_by_key(|&at| Reverse(dump.values[at as usize].size));
    let values = values.into_iter().take(limit);
    values
        .filter_map(|at| describe(dump, Hit::Value(at), Rank::Equal, Some(query)))
        .collect()
}

fn by_name(dump: &Dump, query: &str, limit: usize) -> Vec<Found> {
    let mut hits = Vec::new();
    for (number, allocation) in (0..).zip(&dump.allocations) {
        let name = format!("allocation {}", allocation.index);
        hits.extend(Rank::of(&name, query).map(|rank| (rank, Hit::Allocation(number))));
    }
    for (number, value) in (0..).zip(&dump.values) {
        let of_name = Rank::of(&dump.names[value.name], query);
        let of_name = of_name.or_else(|| {
            query
                .contains('{')
                .then(|| Rank::of(&dump.name_of(value), query))?
        });
        hits.extend(of_name.map(|rank| (rank, Hit::Value(number))));
    }
    for &row in &dump.module.computations {
        let name = dump
            .at::<facts::Computation>(row)
            .and_then(|at| dump.names.get(at.text(at.row.name)));
        let rank = name
            .and_then(|name| Some((Rank::of(&dump.names[name], query)?, Hit::Computation(name))));
        hits.extend(rank);
    }
    let mut instructions: Vec<_> = dump
        .all_instructions()
        .filter_map(|(name, instruction)| {
            let hit = Hit::Instruction(name, instruction.computation);
            Some((Rank::of(&dump.names[name], query)?, instruction.row, hit))
        })
        .collect();
    instructions.sort_unstable();
    hits.extend(instructions.into_iter().map(|(rank, _, hit)| (rank, hit)));
    // Of equal rank, the order of finding is that of the text.
    hits.sort_by_key(|&(rank, _)| rank);
    hits.truncate(limit);
    let mut found: Vec<Found> = hits
        .iter()
        .filter_map(|&(rank, hit)| describe(dump, hit, rank, None))
        .collect();
    if found.len() < limit && !query.is_empty() {
        let seen = hits.iter();
        let mut seen: FxHashSet<Named> = seen
            .filter_map(|&(_, hit)| instruction_of(dump, hit))
            .collect();
        by_op_name(dump, query, limit, &mut seen, &mut found);
        by_shape(dump, query, limit, &seen, &mut found);
    }
    found
}

/// Adds what has `query` in its `op_name`. The editor filters by what it is shown, so that
/// becomes part of the name.
fn by_op_name(
    dump: &Dump,
    query: &str,
    limit: usize,
    seen: &mut FxHashSet<Named>,
    found: &mut Vec<Found>,
) {
    let finder = Finder::new("op_name=\"");
    for (number, file) in dump.files.iter().enumerate() {
        let document = &file.document;
        let kind = document.kind();
        if !matches!(
            kind,
            DocumentKind::Assignment | DocumentKind::Values | DocumentKind::Module
        ) {
            continue;
        }
        for (start, block) in document.blocks() {
            checkpoint();
            let text = block.text();
            // The one looked at last: metadata may have very many entries.
            let mut instruction: Option<Instruction> = None;
            for at in finder.find_iter(text.as_bytes()) {
                checkpoint();
                let behind = at + "op_name=".len();
                let mut end = text.len().min(behind + MOST_OF_OP_NAME);
                while !text.is_char_boundary(end) {
                    end -= 1;
                }
                let string = lexer::tokens(&text[behind..end]).next();
                let Some((Token::String, string)) = string else {
                    continue;
                };
                let op_name = unescaped(string.trim_matches('"'));
                if Rank::of(&op_name, query).is_none() {
                    continue;
                }
                let at = at as u32;
                if instruction.is_none_or(|row| !(row.span.start..row.span.end).contains(&at)) {
                    instruction = block.instruction_at(at);
                }
                let name = instruction.and_then(|row| dump.names.get(row.name.text(text)));
                let Some(name) = name.filter(|&name| !seen.contains(&(name, None))) else {
                    continue;
                };
                // Other computations may have instructions of that name.
                let is_module = kind == DocumentKind::Module;
                let computation = is_module.then(|| dump.computation_at(number, start + at));
                let computation = computation.flatten();
                if !seen.insert((name, computation)) {
                    continue;
                }
                let hits: Vec<Hit> = if is_module {
                    vec![Hit::Instruction(name, computation)]
                } else {
                    dump.values_of(name).map(Hit::Value).collect()
                };
                found.extend(
                    hits.into_iter()
                        .filter_map(|hit| describe(dump, hit, Rank::Aside, Some(&op_name))),
                );
                if found.len() >= limit {
                    found.truncate(limit);
                    return;
                }
            }
        }
    }
}

/// Adds the values that have `query` in their shape, which becomes part of the name as well.
fn by_shape(
    dump: &Dump,
    query: &str,
    limit: usize,
    seen: &FxHashSet<Named>,
    found: &mut Vec<Found>,
) {
    let values = (0..).zip(&dump.values);
    let new = values.filter(|(_, value)| !seen.contains(&(value.name, None)));
    let shaped = new.filter_map(|(number, value)| {
        let at = dump.placement(value)?;
        let shape = at.text(at.row.shape);
        Rank::of(shape, query)?;
        let shape: String = shape.chars().take(SHAPE).collect();
        describe(dump, Hit::Value(number), Rank::Aside, Some(&shape))
    });
    found.extend(shaped.take(limit.saturating_sub(found.len())));
}

/// The instruction that a hit is about.
fn instruction_of(dump: &Dump, hit: Hit) -> Option<Named> {
    match hit {
        Hit::Value(value) => Some((dump.values[value as usize].name, None)),
        Hit::Instruction(name, computation) => Some((name, computation)),
        Hit::Allocation(_) | Hit::Computation(_) => None,
    }
}

/// What is shown of a hit; `aside` is what it was found by if not by its name.
fn describe(dump: &Dump, hit: Hit, rank: Rank, aside: Option<&str>) -> Option<Found> {
    let (name, container, kind, target): (String, String, SymbolKind, Option<Target>) = match hit {
        Hit::Allocation(number) => {
            let of_number = &dump.allocations[number as usize];
            let name = format!("allocation {}", of_number.index);
            (
                name,
                String::new(),
                SymbolKind::Allocation,
                allocation(dump, of_number.header),
            )
        }
        Hit::Value(number) => {
            let value = &dump.values[number as usize];
            let holder = value
                .allocation()
                .map(|holder| dump.allocations[holder as usize].index);
            let container = holder.map_or_else(String::new, |index| format!("allocation {index}"));
            (
                dump.name_of(value),
                container,
                SymbolKind::Value,
                value_header(dump, number),
            )
        }
        Hit::Computation(name) => {
            let name = &dump.names[name];
            (
                name.to_owned(),
                String::new(),
                SymbolKind::Computation,
                computation(dump, name),
            )
        }
        Hit::Instruction(name, holder) => {
            let holder = dump.instruction_in(holder, name)?.computation;
            let container = holder.and_then(|holder| dump.computation_name(holder));
            let name = &dump.names[name];
            (
                name.to_owned(),
                container.unwrap_or_default().to_owned(),
                SymbolKind::Instruction,
                instruction_in(dump, holder, name),
            )
        }
    };
    let name = aside.map_or_else(|| name.clone(), |aside| format!("{name}: {aside}"));
    // Its name will do: an instruction can be half a megabyte long.
    let target = target?;
    let place = Place {
        file: target.place.file,
        range: target.selection,
    };
    Some(Found {
        rank,
        name,
        container,
        kind,
        place,
    })
}
