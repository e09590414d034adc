//! What a failure says beside the dump of the program that failed.

use super::donation::value_of;
use crate::model::failure::{Entry, Failure, Printed, is_semaphores};
use crate::model::shapes::shape_text;
use crate::model::space;
use crate::model::{Allocation, Dump, Platforms};

/// The values that an entry may mean.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Match {
    /// Numbers into [`Dump::values`].
    pub values: Vec<u32>,
    /// Whether name, shape and size are those of the only one, or shape and size those of the only parameter.
    pub is_exact: bool,
}

/// The memory space that `failure` is about, 0 where it does not say.
pub fn color_of_failure(failure: &Failure) -> u64 {
    let tpu = Platforms {
        tpu: true,
        ..Platforms::default()
    };
    match failure.message.and_then(|message| message.space) {
        Some(name) if is_semaphores(name) => space::TPU_FLAGS[0],
        name => name.and_then(|name| space::called(name, tpu)).unwrap_or(0),
    }
}

/// The values that `label` names by where the program takes or gives them: `Argument 3 index {0}`, `Output index {1}`.
fn values_at(dump: &Dump, label: &str) -> Option<Vec<u32>> {
    let argument = label.strip_prefix("Argument ");
    if let Some((number, index)) = argument.and_then(|it| it.split_once(" index ")) {
        let number: u64 = number.parse().ok()?;
        let index = dump.names.get(index);
        let is_it = |it: &&Allocation| {
            dump.parameter_leaf(it).is_some_and(|leaf| {
                leaf.number == number && leaf.index.or(dump.names.get("{}")) == index
            })
        };
        let values = dump.allocations.iter().find(is_it)?.values.clone();
        // Others may lie there when nobody needs it any more.
        let is_argument =
            |&at: &u32| dump.parameter_of(dump.values[at as usize].name) == Some(number);
        let arguments: Vec<u32> = values.clone().filter(is_argument).collect();
        // Without used values nothing tells it apart.
        return Some(if arguments.is_empty() {
            values.collect()
        } else {
            arguments
        });
    }
    let index = dump.names.get(label.strip_prefix("Output index ")?)?;
    let values = dump.positions_at_index(dump.result()?, index);
    let values = values.filter_map(|at| dump.positions.get(at as usize));
    Some(values.map(|it| it.value).collect())
}

/// The values of memory space `color` that `entry` means: those of its instruction, its argument or its output, or,
/// where it names none, all with its shape and its size.
pub fn values_of(dump: &Dump, color: u64, entry: &Entry) -> Match {
    let in_space = |at: &u32| dump.color_of(*at) == Some(color);
    let sizes = entry.size.and_then(Printed::range);
    // Some are listed without their layout.
    let is_shape = |own: &str, listed: &str| {
        let layout = own.strip_prefix(listed);
        layout.is_some_and(|it| it.is_empty() || it.starts_with('{') && !listed.contains('{'))
    };
    let is_alike = |at: &u32| {
        let value = dump.values.get(*at as usize);
        value.is_some_and(|value| {
            let has_size = sizes
                .as_ref()
                .is_some_and(|sizes| sizes.contains(&value.size));
            let shapes = shape_text(dump, value).zip(entry.shape);
            has_size && shapes.is_some_and(|(own, listed)| is_shape(own, listed))
        })
    };
    let by_place = entry.label.and_then(|label| values_at(dump, label));
    let by_place = by_place.filter(|values| !values.is_empty());
    let named = match (by_place, entry.name) {
        (Some(values), _) => Some(values),
        (None, Some(name)) => {
            let name = dump.names.get(name);
            let values = name.into_iter().flat_map(|name| dump.values_of(name));
            Some(values.collect())
        }
        (None, None) => None,
    };
    let Some(named) = named else {
        let all = 0..u32::try_from(dump.values.len()).unwrap_or(u32::MAX);
        let is_parameter = |&at: &u32| {
            let allocation = dump.allocation_of(&dump.values[at as usize]);
            let allocation = allocation.filter(|it| it.is_parameter());
            !entry.is_parameter || allocation.and_then(|it| value_of(dump, it)) == Some(at)
        };
        let values = all.filter(in_space).filter(is_alike);
        let values: Vec<u32> = values.filter(is_parameter).collect();
        return Match {
            is_exact: entry.is_parameter && values.len() == 1,
            values,
        };
    };
    let mut named: Vec<u32> = named.into_iter().filter(in_space).collect();
    if entry.kind == Some("HLO temp") {
        // What is written over a parameter is none.
        let is_temp = |at: &u32| {
            let allocation = dump.allocation_of(&dump.values[*at as usize]);
            allocation.is_some_and(|allocation| !allocation.is_parameter())
        };
        if named.iter().any(is_temp) {
            named.retain(is_temp);
        }
    }
    let alike: Vec<u32> = named.iter().copied().filter(is_alike).collect();
    match alike.len() {
        0 => Match {
            values: named,
            is_exact: false,
        },
        count => Match {
            values: alike,
            is_exact: count == 1,
        },
    }
}
