//! Which value of one compile is which of the other: passes from the strongest evidence to the
//! weakest. Each puts values into groups by a key, and pairs those of a group in the order of the
//! schedule. Nothing depends on which of the two comes first.

use buflens_syntax::facts;
use rustc_hash::FxHashMap;

use super::traits::{Side, Traits, hash};
use crate::model::cancel::checkpoint;
use crate::model::index_text;
use crate::model::occupancy::Kind;

/// Rounds in which pairs of operands pair what reads them: each can lead one instruction further.
const ROUNDS: usize = 8;

/// What two values have been recognised by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
    /// The same entry parameter, by name or by number.
    Parameter,
    /// The same name, shape, opcode and trace path.
    Same,
    /// The same part of the result.
    Output,
    /// The trace path and the shape.
    OpName,
    /// Instructions that read the same values.
    Operands,
    /// The same operand of the same instruction.
    Readers,
    /// The same kind of instruction over the same shapes.
    Structure,
    /// The line of source and the shape.
    Source,
    /// The trace path; the shape is another.
    Resized,
    /// The name without numbers.
    Name,
    /// Nothing but the shape.
    Shape,
}

impl Evidence {
    /// `parameter`, `same`, `output`, `op_name`, `operands`, `readers`, `structure`, `source`, `resized`, `name`, `shape`
    pub fn name(self) -> &'static str {
        match self {
            Self::Parameter => "parameter",
            Self::Same => "same",
            Self::Output => "output",
            Self::OpName => "op_name",
            Self::Operands => "operands",
            Self::Readers => "readers",
            Self::Structure => "structure",
            Self::Source => "source",
            Self::Resized => "resized",
            Self::Name => "name",
            Self::Shape => "shape",
        }
    }
}

/// A value that is in both compiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// Its number in the first dump.
    pub before: u32,
    /// Its number in the second dump.
    pub after: u32,
    /// What it was recognised by.
    pub by: Evidence,
}

/// What values must have in common; `None` for a value that does not have it.
type Key = fn(&Traits) -> Option<u64>;

/// How many of a group there must be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Number {
    /// As many on both sides, so that none can be taken for another.
    Equal,
    /// Any; the last are left over.
    Any,
    /// One on both sides.
    One,
}
use Number::{Any, Equal, One};

/// By number first if the name is the same, then by name, and by number or array alone at last: an argument
/// that is added in front of others moves their numbers, and one that is called otherwise may move as well. Some frameworks call all
/// of them the same.
const PARAMETERS: [(Number, Key); 6] = [
    (Any, |it| {
        Some(hash((it.parameter?, it.op_name, it.base, it.array?)))
    }),
    (Any, |it| {
        Some(hash((it.parameter?.1, it.op_name?, it.array?)))
    }),
    (One, |it| Some(hash((it.parameter?.1, it.op_name?)))),
    (Any, |it| Some(hash((it.parameter?, it.array?)))),
    (Equal, |it| Some(hash((it.parameter?.1, it.array?)))),
    (Any, |it| Some(hash((it.parameter?, it.op_name, it.rank?)))),
];

/// What instructions that read the same values must have in common at first.
const ALIKE: Key = |it| {
    Some(hash((
        it.opcode, it.index, it.shape, it.op_name, it.base, it.kind, it.color,
    )))
};

/// And later.
const SAME_ARRAY: Key = |it| Some(hash((it.opcode, it.index, it.array)));

/// At last, as of a copy or a constant of another size, which have no trace path.
const SAME_RANK: Key = |it| Some(hash((it.opcode?, it.index, it.rank?)));

/// The same of what reads nothing; what does has to do the same, too, or to be called the same where no trace path tells.
const SAME_RANK_OR_MORE: Key = |it| {
    let does = (!it.is_source).then_some((it.primitive, it.primitive.is_none().then_some(it.base)));
    Some(hash((SAME_RANK(it)?, does)))
};

/// What is all the same but for the number in its name, which tells less than where it lies.
const PLACED: Key = |it| {
    Some(hash((
        (it.base, it.index, it.opcode, it.op_name, it.shape),
        (it.kind, it.color, it.reads, it.place),
    )))
};

/// Behind the walk over the operands of parameters and of what reads nothing.
const FIRST: [(Evidence, Number, Key); 7] = [
    (Evidence::Same, Any, PLACED),
    (Evidence::Same, Any, |it| {
        Some(hash((
            it.name, it.index, it.opcode, it.op_name, it.shape, it.kind, it.color, it.reads,
        )))
    }),
    (Evidence::Output, Any, |it| {
        Some(hash((it.output?, it.op_name, it.opcode, it.array?)))
    }),
    (Evidence::OpName, Any, |it| {
        Some(hash((
            it.op_name?,
            it.source,
            it.base,
            it.index,
            it.opcode,
            it.shape?,
            it.reads,
        )))
    }),
    (Evidence::OpName, Any, |it| {
        Some(hash((
            it.op_name?,
            it.index,
            it.opcode,
            it.array?,
            it.reads,
        )))
    }),
    (Evidence::OpName, Equal, |it| {
        Some(hash((it.op_name?, it.index, it.opcode, it.array?)))
    }),
    (Evidence::Structure, Equal, |it| {
        Some(hash((
            it.base, it.index, it.opcode?, it.array?, it.reads, it.kind,
        )))
    }),
];

/// Behind a walk over the operands of all that.
const SECOND: [(Evidence, Number, Key); 16] = [
    (Evidence::OpName, Any, |it| {
        Some(hash((it.op_name?, it.index, it.opcode, it.array?)))
    }),
    (Evidence::Structure, Any, |it| {
        Some(hash((
            it.stem, it.index, it.opcode?, it.array?, it.reads, it.kind,
        )))
    }),
    (Evidence::OpName, Any, |it| {
        Some(hash((it.primitive?, it.index, it.opcode, it.array?)))
    }),
    (Evidence::Source, Any, |it| {
        Some(hash((it.source?, it.index, it.opcode, it.array?)))
    }),
    (Evidence::Output, Any, |it| {
        Some(hash((it.output?, it.array?)))
    }),
    // Another element type first: of several arrays on a path each has its own dimensions.
    (Evidence::Resized, Equal, |it| {
        Some(hash((
            it.op_name?,
            it.source,
            it.index,
            it.opcode,
            it.dimensions?,
        )))
    }),
    (Evidence::Resized, Equal, |it| {
        Some(hash((it.op_name?, it.index, it.opcode, it.dimensions?)))
    }),
    (Evidence::Resized, Equal, |it| {
        Some(hash((it.op_name?, it.source, it.dimensions?)))
    }),
    (Evidence::Resized, Equal, |it| {
        Some(hash((
            it.op_name?,
            it.source,
            it.index,
            it.opcode,
            it.rank?,
        )))
    }),
    (Evidence::Resized, Equal, |it| {
        Some(hash((it.op_name?, it.index, it.opcode)))
    }),
    (Evidence::Resized, Equal, |it| {
        Some(hash((it.primitive?, it.source, it.index, it.opcode)))
    }),
    (Evidence::Output, Any, |it| Some(hash(it.output?))),
    // Fused now, or no longer.
    (Evidence::OpName, Any, |it| {
        Some(hash((it.op_name?, it.array?)))
    }),
    (Evidence::OpName, Any, |it| {
        Some(hash((it.primitive?, it.array?)))
    }),
    (Evidence::Name, Any, |it| {
        Some(hash((it.stem, it.index, it.array?)))
    }),
    (Evidence::Name, Equal, |it| {
        Some(hash((it.own_name?, it.index, it.opcode?, it.rank?)))
    }),
];

/// Behind another one. What is left did something else before; as far as memory goes, it is the
/// same if it has the same shape and role.
const LAST: [(Evidence, Number, Key); 3] = [
    (Evidence::Shape, Any, |it| {
        Some(hash((it.opcode?, it.index, it.array?, it.kind)))
    }),
    (Evidence::Shape, Any, |it| {
        Some(hash((it.array?, it.kind, it.color)))
    }),
    (Evidence::Shape, Any, |it| Some(hash((it.array?, it.size)))),
];

/// The pairs of all values that can be recognised, in the order of the first dump.
pub(super) fn pairs(before: &Side<'_>, after: &Side<'_>) -> Vec<Pair> {
    let mut matching = Matching {
        sides: [before, after],
        partners: [before, after].map(|side| vec![None; side.traits.len()]),
        pairs: Vec::new(),
    };
    for (number, key) in PARAMETERS {
        matching.pass(Evidence::Parameter, number, |_, _, it| key(it));
    }
    matching.beside(Evidence::Output, Matching::donor, SAME_ARRAY);
    let sources: Key = |it| PLACED(it).filter(|_| it.is_source);
    matching.passes(&[(Evidence::Same, Any, sources)]);
    matching.walk(ALIKE);
    matching.passes(&FIRST);
    matching.walk(SAME_ARRAY);
    matching.beside(Evidence::Output, Matching::donor, |it| it.array);
    matching.passes(&SECOND);
    matching.walk(SAME_ARRAY);
    matching.walk(SAME_RANK);
    matching.walk_back(SAME_RANK_OR_MORE);
    matching.passes(&LAST);
    let mut pairs = matching.pairs;
    pairs.sort_unstable_by_key(|pair| pair.before);
    pairs
}

struct Matching<'s> {
    sides: [&'s Side<'s>; 2],
    /// Of each value its place in `pairs`.
    partners: [Vec<Option<u32>>; 2],
    pairs: Vec<Pair>,
}

impl Matching<'_> {
    fn passes(&mut self, passes: &[(Evidence, Number, Key)]) {
        for &(by, number, key) in passes {
            self.pass(by, number, |_, _, it| {
                // A parameter is what the caller gives, scratch is no buffer of the schedule, and a tuple's
                // table holds addresses: none of them turns into anything else.
                let class = (it.kind == Some(Kind::ThreadLocal), it.is_tuple);
                key(it)
                    .filter(|_| it.parameter.is_none())
                    .map(|key| hash((class, key)))
            });
        }
    }

    /// Pairs what reads the same values and has a key in common, as long as there is more.
    fn walk(&mut self, key: Key) {
        self.repeat(|matching| {
            // One number for each instruction: those with many results have as many operands.
            let reads = [0, 1].map(|side: usize| {
                let operands = matching.sides[side].operands.iter();
                let read = |operands: &Vec<u32>| {
                    checkpoint();
                    let pairs: Option<Vec<u32>> = operands
                        .iter()
                        .map(|&at| matching.partners[side][at as usize])
                        .collect();
                    pairs.filter(|pairs| !pairs.is_empty()).map(hash)
                };
                operands.map(read).collect::<Vec<_>>()
            });
            let reads = |side: usize, _, it: &Traits| reads[side][it.instruction as usize];
            matching.pass_with(Evidence::Operands, reads, key);
        });
    }

    /// Pairs what is the same operand of instructions that are paired and has a key in common, as long as there is more:
    /// what reads nothing itself, as a constant or the room for what a loop keeps.
    fn walk_back(&mut self, key: Key) {
        self.repeat(|matching| matching.beside(Evidence::Readers, Self::reader, key));
    }

    /// Does `step` as long as it pairs something, some times at most.
    fn repeat(&mut self, step: impl Fn(&mut Self)) {
        for _ in 0..ROUNDS {
            let known = self.pairs.len();
            step(self);
            if self.pairs.len() == known {
                break;
            }
        }
    }

    /// Pairs what has a key in common and stands to what is paired as `to` tells.
    fn beside(&mut self, by: Evidence, to: fn(&Self, usize, u32) -> Option<u64>, key: Key) {
        let known = [0, 1].map(|side: usize| {
            let all = (0..).zip(&self.partners[side]);
            let to = |(at, partner): (u32, &Option<u32>)| match partner {
                Some(_) => None,
                None => to(self, side, at),
            };
            all.map(to).collect::<Vec<_>>()
        });
        self.pass_with(by, |side, at, _| known[side][at as usize], key);
    }

    /// Pairs what has a key in common, and what is `known` of it from pairs.
    fn pass_with(
        &mut self,
        by: Evidence,
        known: impl Fn(usize, u32, &Traits) -> Option<u64>,
        key: Key,
    ) {
        self.pass(by, Any, |side, at, it| {
            let known = known(side, at, it)?;
            let is_free = it.parameter.is_none() && it.kind != Some(Kind::ThreadLocal);
            key(it).filter(|_| is_free).map(|key| hash((known, key)))
        });
    }

    /// The parameter that this part of the result is written over.
    fn donor(&self, side: usize, at: u32) -> Option<u64> {
        let donor = self.sides[side].traits[at as usize].donor?;
        self.partners[side][donor as usize].map(u64::from)
    }

    /// Which operand a value is of an instruction that is paired, by what that makes of it: of a loop the element of this index.
    fn reader(&self, side: usize, at: u32) -> Option<u64> {
        checkpoint();
        let dump = self.sides[side].dump;
        let pair = |at: u32| self.partners[side][at as usize];
        let mut uses = dump.uses_of(&dump.values[at as usize]).iter();
        uses.find_map(|it| {
            let any = dump.values_of(it.name).find_map(pair)?;
            let line = dump.at::<facts::Use>(it.row)?;
            let printed = index_text(line.text(line.row.index));
            let index = dump.names.get(printed)?;
            let same_index = dump.values_at(it.name, index).find_map(pair);
            Some(hash((
                same_index.unwrap_or(any),
                line.row.operand.value,
                printed,
            )))
        })
    }

    fn pass(
        &mut self,
        by: Evidence,
        number: Number,
        key: impl Fn(usize, u32, &Traits) -> Option<u64>,
    ) {
        let mut groups: FxHashMap<u64, [Vec<u32>; 2]> = FxHashMap::default();
        for side in [0, 1] {
            let free = self.sides[side].order.iter().copied();
            for at in free.filter(|&at| self.partners[side][at as usize].is_none()) {
                checkpoint();
                if let Some(key) = key(side, at, &self.sides[side].traits[at as usize]) {
                    groups.entry(key).or_default()[side].push(at);
                }
            }
        }
        for [before, after] in groups.into_values() {
            let sizes = [before.len(), after.len()];
            if number == Equal && sizes[0] != sizes[1] || number == One && sizes != [1; 2] {
                continue;
            }
            for (before, after) in before.into_iter().zip(after) {
                let place = self.pairs.len() as u32;
                self.partners[0][before as usize] = Some(place);
                self.partners[1][after as usize] = Some(place);
                self.pairs.push(Pair { before, after, by });
            }
        }
    }
}
