//! What a failure says beside the dump of the program that failed.

use crate::model::failure::{Entry, Failure, Printed};
use crate::model::shapes::shape_text;
use crate::model::space;
use crate::model::{Dump, Platforms};

/// The values that an entry may mean.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Match {
    /// Numbers into [`Dump::values`].
    pub values: Vec<u32>,
    /// Whether name, shape and size are those of the only one.
    pub is_exact: bool,
}

/// The memory space that `failure` is about, 0 where it does not say.
pub fn space_of(failure: &Failure) -> u64 {
    let tpu = Platforms {
        tpu: true,
        ..Platforms::default()
    };
    let name = failure.message.and_then(|message| message.space);
    let is_named = |known: &&str| name.is_some_and(|name| known.eq_ignore_ascii_case(name));
    let mut spaces = space::names(tpu);
    let space = spaces.find(|(_, known)| is_named(known));
    space.map_or(0, |(color, _)| color)
}

/// The values of memory space `color` that `entry` means: those of its instruction, or, where it
/// names none, all with its shape and its size.
pub fn values_of(dump: &Dump, color: u64, entry: &Entry) -> Match {
    let in_space = |at: &u32| {
        let allocation = dump
            .values
            .get(*at as usize)
            .and_then(|it| dump.allocation_of(it));
        allocation.is_some_and(|allocation| allocation.color == color)
    };
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
    let Some(name) = entry.name else {
        let all = 0..u32::try_from(dump.values.len()).unwrap_or(u32::MAX);
        let values: Vec<u32> = all.filter(in_space).filter(is_alike).collect();
        return Match {
            values,
            is_exact: false,
        };
    };
    let named = dump.names.get(name);
    let named: Vec<u32> = named
        .into_iter()
        .flat_map(|name| dump.values_of(name))
        .filter(in_space)
        .collect();
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
