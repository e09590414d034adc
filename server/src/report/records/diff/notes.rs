//! What has to be known to read a diff.

use crate::audit::diff::{self as compare, Both, Evidence};
use crate::model::Dump;
use crate::report::records::Module;

/// In sentences: other platforms and programs, and what a dump does not tell.
pub(super) fn notes(
    modules: &Both<Module>,
    found: &compare::Diff,
    dumps: Both<&Dump>,
) -> Vec<String> {
    let [before, after] = modules;
    let mut notes = Vec::new();
    if !compare::is_same_platform(dumps) {
        notes.push(format!(
            "The first dump is of a {} program, the second of a {} program: sizes are not comparable, since \
             tiles, alignment and memory spaces differ.",
            before.platform.to_uppercase(),
            after.platform.to_uppercase()
        ));
    }
    if before.module != after.module {
        notes.push(format!(
            "The programs are called {} and {}.",
            before.module, after.module
        ));
    }
    let recognised = found
        .pairs
        .iter()
        .filter(|pair| pair.by != Evidence::Shape)
        .count();
    if let (Some(old), Some(new)) = (before.values, after.values)
        && found.is_whole == [true; 2]
        && recognised.saturating_mul(2) < old.min(new)
    {
        notes.push(format!(
            "Only {recognised} of {old} and {new} values were recognised by more than their shape: these may be \
             different programs."
        ));
    }
    let names = ["first", "second"];
    let mut about = |is_so: Both<bool>, what: &str| match is_so {
        [true, true] => notes.push(format!("In both dumps {what}.")),
        [false, false] => {}
        [is_first, _] => notes.push(format!(
            "In the {} dump {what}.",
            names[usize::from(!is_first)]
        )),
    };
    let is_empty = dumps.map(|dump| dump.allocations.is_empty());
    about(
        is_empty,
        "there are no allocations: no bytes are compared, and what is only in one of the dumps cannot be known to be new or gone",
    );
    let is_cut = [0, 1].map(|side| !found.is_whole[side] && !is_empty[side]);
    let has_total = dumps.map(|dump| dump.total.is_some());
    about(
        [0, 1].map(|side| is_cut[side] && has_total[side]),
        "the allocations do not add up to the printed total: no totals and peaks are compared, and what is only in the other one cannot be known to be new or gone",
    );
    about(
        [0, 1].map(|side| is_cut[side] && !has_total[side]),
        "the allocations may not all be there: no totals and peaks are compared, and what is only in the other one cannot be known to be new or gone",
    );
    about(
        dumps.map(|dump| !compare::has_instructions(dump)),
        "some or all instructions are missing: values are recognised by name and shape, and neither donation nor copies are compared",
    );
    about(
        [0, 1].map(|side| dumps[side].occupancy().reason.is_some() && found.is_whole[side]),
        "no peak is known, since the live ranges are not there or have no steps",
    );
    about(
        dumps.map(|dump| dump.occupancy().missing > 0),
        "values lack a live range or a place in an allocation: the true peak may be higher, so that peaks are not compared",
    );
    notes
}
