//! Where every value lies and when: all that a picture of a compilation is drawn from. In columns,
//! since there may be a hundred thousand values, with each text once.

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::{PrintedPeak, Space, missing_live_ranges, source_line, spaces, summary};
use crate::audit::{Audit, peak};
use crate::model::occupancy::{self, Kind};
use crate::model::shapes::shape_text;
use crate::model::{Allocation, Dump, Value, space};

/// So many values are on a map if nothing else is asked for: what a browser draws at once.
pub const MOST_MAPPED: usize = 100_000;

/// A place in [`Map::texts`].
pub type TextId = u32;

/// Offsets and steps of the values of a compilation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Map {
    /// `tpu`, `gpu`, `cpu` or `unknown`.
    pub platform: &'static str,
    /// Why there are no curves and no values.
    pub reason: Option<&'static str>,
    /// How many steps there are, if the schedule is there.
    pub steps: Option<u64>,
    /// What runs at each step, from step 0. The last steps may have none.
    pub instructions: Vec<TextId>,
    /// The memory spaces, by number.
    pub spaces: Vec<MapSpace>,
    /// What the compiler prints; `occupied_bytes` are those of memory space 0.
    pub xla_peak: Option<PrintedPeak>,
    /// The allocations that take part, in the order of the dump.
    pub allocations: Vec<MapAllocation>,
    /// The values that take part, by allocation, then in the order of the dump.
    pub values: MapValues,
    /// How many more values there are, all of them smaller than those that are here.
    pub values_left_out: usize,
    /// Values that should have a live range and have none, or no readable place in an allocation: they are on no map.
    pub missing_live_ranges: Option<usize>,
    /// How many bytes the allocations lack of the total that the compiler prints, as where a file is cut;
    /// `None` where either is not known.
    pub missing_bytes: Option<u64>,
    /// Names, shapes and paths, each once.
    pub texts: Vec<String>,
}

/// A memory space with its bytes over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MapSpace {
    /// Its totals and its peak.
    #[serde(flatten)]
    pub space: Space,
    /// The steps from which on other bytes are occupied than before, each with these. The first step is 0.
    pub curve: Vec<(u64, u64)>,
}

/// An allocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MapAllocation {
    /// Its number.
    pub allocation: u64,
    /// Its memory space.
    pub space: u64,
    /// `parameter`, `output`, `constant` or `temp`.
    pub kind: &'static str,
    /// The number of the entry parameter whose buffer this is.
    pub parameter: Option<u64>,
    /// Whether the result takes over the buffer of a parameter.
    pub is_donated: bool,
    /// Its size.
    pub bytes: u64,
    /// The first step at which the most of its bytes are occupied, and these.
    pub fullest: Option<(u64, u64)>,
    /// Its bytes occupied at the peak of its memory space.
    pub at_peak_bytes: Option<u64>,
}

/// Values: one entry in each column for each of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct MapValues {
    /// The id.
    pub id: Vec<u64>,
    /// The defining instruction.
    pub name: Vec<TextId>,
    /// The shape index with its braces.
    pub index: Vec<TextId>,
    /// The place in [`Map::allocations`].
    pub allocation: Vec<u32>,
    /// Bytes from the start of the allocation.
    pub offset: Vec<u64>,
    /// Bytes, padding included.
    pub bytes: Vec<u64>,
    /// Bytes without padding.
    pub logical_bytes: Vec<Option<u64>>,
    /// The first step alive.
    pub start: Vec<u64>,
    /// The last step alive; one of the schedule.
    pub last: Vec<u64>,
    /// The last step of the live range as it is printed: what is there to the end ends one step behind
    /// the schedule.
    pub end: Vec<u64>,
    /// The shape with its layout.
    pub shape: Vec<Option<TextId>>,
    /// The opcode of the defining instruction.
    pub opcode: Vec<Option<TextId>>,
    /// The trace path, or of a parameter the argument's.
    pub op_name: Vec<Option<TextId>>,
    /// The line of source, `file.py:12`.
    pub source: Vec<Option<TextId>>,
}

impl Map {
    /// The text in this place.
    pub fn text(&self, id: TextId) -> &str {
        self.texts.get(id as usize).map_or("", String::as_str)
    }

    /// The name of a value, with the index where there is more than one: `copy-start.1{0}`.
    pub fn label(&self, value: usize) -> String {
        let [name, index] = [&self.values.name, &self.values.index].map(|of| self.text(of[value]));
        super::label(name, index)
    }
}

/// Texts, each with its place.
#[derive(Default)]
struct Texts {
    places: FxHashMap<String, TextId>,
    texts: Vec<String>,
}

impl Texts {
    fn id(&mut self, text: &str) -> TextId {
        if let Some(&known) = self.places.get(text) {
            return known;
        }
        let id = self.texts.len() as TextId;
        self.places.insert(text.to_owned(), id);
        self.texts.push(text.to_owned());
        id
    }
}

/// The map of a dump, with the `limit` largest of its values.
pub fn map(audit: &Audit, limit: usize) -> Map {
    let dump = audit.dump;
    let occupancy = dump.occupancy();
    let mut texts = Texts::default();
    let steps = summary::steps(dump);
    let drawn = steps.filter(|_| occupancy.reason.is_none()).unwrap_or(0);
    let instructions = dump.steps.iter().zip(0..drawn);
    let instructions = instructions.map(|(step, _)| texts.id(&dump.names[step.name]));
    let instructions = instructions.collect();
    let mut found = found(audit, drawn);
    let values_left_out = found.len().saturating_sub(limit);
    if values_left_out > 0 {
        found.sort_by_key(|(_, _, value)| std::cmp::Reverse(value.size));
        found.truncate(limit);
        found.sort_by_key(|(allocation, at, _)| (*allocation, *at));
    }
    let (mut allocations, mut values) = (Vec::new(), MapValues::default());
    let mut places = vec![None; dump.allocations.len()];
    for (at, allocation) in (0..).zip(&dump.allocations) {
        if allocation.kind() != Kind::ThreadLocal {
            places[at as usize] = Some(allocations.len() as u32);
            allocations.push(map_allocation(dump, allocation, occupancy.fill(at)));
        }
    }
    for (allocation, _, value) in found {
        if let Some(place) = places[allocation as usize] {
            values.push(audit, value, place, drawn, &mut texts);
        }
    }
    let spaces = spaces(audit).into_iter().zip(&occupancy.spaces);
    let spaces = spaces.map(|(space, found)| MapSpace {
        space,
        curve: found.curve.as_ref().map_or_else(Vec::new, |curve| {
            let changes = curve.changes().iter();
            changes.map(|moment| (moment.step, moment.bytes)).collect()
        }),
    });
    Map {
        platform: space::platform(dump.platforms),
        reason: occupancy.reason,
        steps,
        instructions,
        spaces: spaces.collect(),
        xla_peak: peak::printed(audit, 0).map(PrintedPeak::from),
        allocations,
        values,
        values_left_out,
        missing_live_ranges: missing_live_ranges(dump),
        missing_bytes: dump.missing_bytes(),
        texts: texts.texts,
    }
}

/// The values that take part, each with its allocation and its number.
fn found<'d>(audit: &Audit<'d>, steps: u64) -> Vec<(u32, u32, &'d Value)> {
    let dump = audit.dump;
    let allocations = (0..).zip(&dump.allocations);
    let allocations = allocations.filter(|(_, it)| it.kind() != Kind::ThreadLocal);
    let values = allocations.flat_map(|(place, it)| it.values.clone().map(move |at| (place, at)));
    values
        .filter_map(|(place, at)| {
            let value = dump.values.get(at as usize)?;
            occupancy::steps_of(dump, value, steps)?;
            Some((place, at, value))
        })
        .collect()
}

fn map_allocation(
    dump: &Dump,
    allocation: &Allocation,
    fill: Option<occupancy::Fill>,
) -> MapAllocation {
    MapAllocation {
        allocation: allocation.index,
        space: allocation.color,
        kind: allocation.kind().name(),
        parameter: dump.parameter_number(allocation),
        is_donated: allocation.is_donated(),
        bytes: allocation.size,
        fullest: fill.map(|fill| (fill.fullest.step, fill.fullest.bytes)),
        at_peak_bytes: fill.map(|fill| fill.at_peak),
    }
}

impl MapValues {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.id.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.id.is_empty()
    }

    fn push(&mut self, audit: &Audit, value: &Value, place: u32, steps: u64, texts: &mut Texts) {
        let dump = audit.dump;
        let Some((start, last)) = occupancy::steps_of(dump, value, steps) else {
            return;
        };
        let origin = audit.origins.of(value);
        self.id.push(value.id);
        self.name.push(texts.id(&dump.names[value.name]));
        self.index.push(texts.id(&dump.names[value.index]));
        self.allocation.push(place);
        self.offset.push(value.offset);
        self.bytes.push(value.size);
        let logical_bytes = audit.shapes.logical_bytes(value);
        self.logical_bytes.push(logical_bytes);
        self.start.push(start);
        self.last.push(last);
        self.end.push(dump.live(value).1);
        let mut id = |text: Option<&str>| text.map(|text| texts.id(text));
        self.shape.push(id(shape_text(dump, value)));
        self.opcode.push(id(dump.opcode(value.name)));
        self.op_name
            .push(id(audit.origins.path(&origin).as_deref()));
        self.source.push(id(source_line(&origin, audit).as_deref()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::fixture::{audited, real};
    use crate::audit::padding::at_step;
    use crate::model::Dump;
    use crate::model::source::Libraries;

    fn of(dump: &Dump, limit: usize) -> Map {
        map(&Audit::new(dump, Libraries::default()), limit)
    }

    /// Everything that a picture shows can be reckoned from the record alone.
    #[test]
    fn the_bytes_of_the_values_add_up_to_the_curve() {
        let dump = real("tpu-split/module_0017");
        let map = of(&dump, usize::MAX);
        assert!(map.spaces.len() > 1 && map.values.len() > 10);
        for space in &map.spaces {
            let of_space = |&at: &usize| {
                let allocation = map.values.allocation[at] as usize;
                map.allocations[allocation].space == space.space.color
            };
            let values: Vec<usize> = (0..map.values.len()).filter(of_space).collect();
            let mut curve = vec![(0, 0)];
            for step in 0..map.steps.unwrap() {
                let mut alive: Vec<(u32, u64, u64)> = Vec::new();
                for &at in &values {
                    if (map.values.start[at]..=map.values.last[at]).contains(&step) {
                        let (offset, bytes) = (map.values.offset[at], map.values.bytes[at]);
                        alive.push((map.values.allocation[at], offset, offset + bytes));
                    }
                }
                alive.sort_unstable();
                let (mut bytes, mut covered) = (0, (u32::MAX, 0));
                for (allocation, start, end) in alive {
                    if covered.0 != allocation {
                        covered = (allocation, 0);
                    }
                    bytes += end.saturating_sub(start.max(covered.1));
                    covered.1 = covered.1.max(end);
                }
                if step == 0 {
                    curve[0].1 = bytes;
                } else if curve.last().is_some_and(|last| last.1 != bytes) {
                    curve.push((step, bytes));
                }
            }
            assert_eq!(space.curve, curve, "memory space {}", space.space.color);
        }
        let audit = Audit::new(&dump, Libraries::default());
        let space = &map.spaces[0].space;
        let step = space.peak.as_ref().unwrap().step;
        assert_eq!(space.padding_bytes, Some(at_step(&audit, 0, step)));
    }

    #[test]
    fn the_smallest_values_are_left_out_and_counted() {
        let dump = real("tpu-split/module_0017");
        let (all, some) = (of(&dump, usize::MAX), of(&dump, 5));
        assert_eq!(some.values.len(), 5);
        assert_eq!(some.values_left_out, all.values.len() - 5);
        let smallest = some.values.bytes.iter().min().unwrap();
        let larger = all.values.bytes.iter().filter(|bytes| *bytes > smallest);
        assert!(larger.count() < 5);
        assert_eq!(some.spaces, all.spaces);
    }

    #[test]
    fn without_live_ranges_it_is_said_why() {
        let text = "BufferAssignment:\nallocation 0: size 64, preallocated-temp:\n value: <1 a @0> (size=64,offset=0): f32[16]{0}\n";
        let map = of(&audited(text), usize::MAX);
        assert!(map.reason.is_some() && map.values.is_empty() && map.steps.is_none());
        assert_eq!(map.allocations[0].bytes, 64);
    }
}
