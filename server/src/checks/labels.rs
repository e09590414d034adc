//! What findings call values, steps and memory spaces, and where these stand.

use buflens_syntax::facts;

use crate::model::{Dump, Place, Value, space};

/// Longer names are cut.
const MAX_NAME: usize = 80;

/// `copy-start{0}`, or `copy.3`, in backquotes. `at` is a number into [`Dump::values`].
pub(super) fn title(dump: &Dump, at: u32) -> String {
    title_of(dump, &dump.values[at as usize])
}

/// The same of the value itself.
pub(super) fn title_of(dump: &Dump, value: &Value) -> String {
    let index = match &dump.names[value.index] {
        "{}" => "",
        index => index,
    };
    let name = cut(&dump.names[value.name]);
    format!("`{name}{index}`")
}

/// The id and name of a value on its line.
pub(super) fn value_place(dump: &Dump, at: u32) -> Option<Place> {
    let line = dump.placement(dump.values.get(at as usize)?)?;
    Some(line.place(line.row.value.span))
}

/// The size in an allocation's header.
pub(super) fn size_place(dump: &Dump, allocation: u32) -> Option<Place> {
    let allocation = dump.allocations.get(allocation as usize)?;
    let header = dump.header(allocation)?;
    Some(header.place(header.row.size.span))
}

/// `step 13 (copy.3)`
pub(super) fn step_title(dump: &Dump, step: u64) -> String {
    match dump.instruction_at(step) {
        Some(name) => format!("step {step} (`{}`)", cut(name)),
        None => format!("step {step}"),
    }
}

/// The instruction on a step's line of the schedule.
pub(super) fn step_place(dump: &Dump, step: u64) -> Option<Place> {
    let step = dump.steps.get(usize::try_from(step).ok()?)?;
    let line = dump.at::<facts::Step>(step.row)?;
    Some(line.place(line.row.name))
}

/// `HBM`, `memory space 0`
pub(super) fn space_title(dump: &Dump, color: u64) -> String {
    space::named(color, dump.platforms)
}

/// At most so many characters of a name or a shape.
pub(super) fn cut(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}
