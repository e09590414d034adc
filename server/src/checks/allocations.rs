//! Section A on its own: numbering, kinds, sizes and offsets.

use std::ops::Range;

use buflens_syntax::{Shape, facts};
use rustc_hash::{FxHashMap, FxHashSet};

use super::labels::cut;
use super::shapes;
use super::structure::Section;
use super::{Code, Context, Doubts, Finding, Findings};
use crate::model::shapes::index_numbers;
use crate::model::{Allocation, Dump, NameId, Value, bytes};

/// `allocation-index`: 0, 1, 2 ... in the order of the file.
pub(super) fn check_indices(dump: &Dump, doubts: &mut Doubts, findings: &mut Findings) {
    let is_whole = doubts.are_whole(&[Section::Allocations]);
    let numbered = dump.allocations.iter().zip(0_u64..);
    // Where several numbers are off, lines are missing or in another order.
    let is_single = numbered.filter(|(it, at)| it.index != *at).count() == 1;
    let mut expected = 0_u64;
    for (at, allocation) in dump.allocations.iter().enumerate() {
        if allocation.index == expected {
            expected = expected.saturating_add(1);
            continue;
        }
        let header = dump.header(allocation);
        // A broken header says enough.
        let header = header.filter(|header| header.row.index.is_read());
        // If the next one goes on from here, an allocation is missing; else one number is wrong.
        let next = dump.allocations.get(at + 1).map(|next| next.index);
        let is_missing =
            header.is_some() && next.is_some() && next == allocation.index.checked_add(1);
        // A line that is not understood may be the header of the one that is missing.
        let is_blamed = !is_whole && Some(allocation.index) == expected.checked_add(1);
        if let Some(header) = header.filter(|_| !is_blamed) {
            let place = header.place(header.row.index.span);
            let message = format!(
                "allocation {} stands where allocation {expected} is expected",
                allocation.index
            );
            let finding = Finding::new(Code::AllocationIndex, place, message);
            // Nothing behind the last one tells whether it is doubled, or the one before it missing.
            let is_neighbour = next.is_none() && allocation.index.abs_diff(expected) == 1;
            if is_missing || is_neighbour {
                // The values of the one that is missing seem to lie in the one before it.
                let before = at.saturating_sub(1) as u32;
                doubts.broken.insert(Section::Allocations);
                doubts.allocations.extend([before, at as u32]);
                doubts.headers.extend([before, at as u32]);
            }
            let is_certain = is_single && !is_missing && !is_neighbour;
            findings.push(finding.fixed_if(is_certain, expected.to_string()));
        }
        expected = if is_missing || is_blamed {
            allocation.index.saturating_add(1)
        } else {
            expected.saturating_add(1)
        };
    }
}

/// `allocation-kind`: each has a kind; values lie side by side in temporary buffers alone, a constant is one
/// value, and the buffer of a parameter that is not donated holds nothing else.
pub(super) fn check_kinds(dump: &Dump, doubts: &mut Doubts, findings: &mut Findings) {
    if !doubts.are_whole(&[Section::Allocations]) {
        return;
    }
    for (at, allocation) in (0..).zip(&dump.allocations) {
        let (kinds, index) = (allocation.kinds(), allocation.index);
        let values = dump.held_by(allocation);
        let end = values.iter().map(Value::end).max().unwrap_or(0);
        let largest = values.iter().map(|value| value.size).max().unwrap_or(0);
        let is_of_one = values.iter().all(|value| value.id == values[0].id);
        let message = if !has_kind(allocation) {
            format!(
                "allocation {index} is neither a parameter's nor `maybe-live-out`, `constant`, `thread-local` or `preallocated-temp`"
            )
        } else if !kinds.preallocated_temp && end == allocation.size && end > largest {
            format!(
                "the values of allocation {index} lie side by side, but it is no `preallocated-temp`"
            )
        } else if kinds.constant && !is_of_one {
            let values = values.len();
            format!("a `constant` is one value, but allocation {index} has {values}")
        } else if allocation.is_parameter() && !kinds.maybe_live_out && !is_of_one {
            let values = values.len();
            format!(
                "allocation {index} holds {values} values, as the buffer of a donated parameter does, but is not `maybe-live-out`"
            )
        } else {
            continue;
        };
        if let Some(header) = dump.header(allocation) {
            doubts.headers.insert(at);
            doubts.allocations.insert(at);
            let place = header.place(header.row.line);
            findings.push(Finding::new(Code::AllocationKind, place, message));
        }
    }
}

/// Whether the header says what the allocation is for, as each does.
fn has_kind(allocation: &Allocation) -> bool {
    let kinds = allocation.kinds();
    allocation.is_parameter()
        || allocation.has_output_shape()
        || kinds.maybe_live_out
        || kinds.constant
        || kinds.thread_local
        || kinds.preallocated_temp
}

/// `output-shape`: a parameter's header says its shape, and each leaf has one allocation.
pub(super) fn check_parameters(context: &Context, doubts: &mut Doubts, findings: &mut Findings) {
    let dump = context.dump;
    let mut seen: FxHashMap<(u64, NameId), &Allocation> = FxHashMap::default();
    for (number, allocation) in dump.allocations.iter().enumerate() {
        let Some(leaf) = dump.parameter_leaf(allocation) else {
            continue;
        };
        if doubts.headers.contains(&(number as u32)) {
            continue;
        }
        // A header that breaks off before it says enough.
        let (parameter, Some(leaf_index)) = (leaf.number, leaf.index) else {
            continue;
        };
        let index = &dump.names[leaf_index];
        if allocation
            .values
            .clone()
            .any(|value| doubts.values.contains(&value))
        {
            continue;
        }
        // A donated parameter's buffer holds other values, too, also parameters of other computations.
        let parameters = parameters_of(dump, allocation);
        let its = parameters.iter().filter(|(_, own)| *own == parameter);
        let its: Vec<&Value> = its.map(|(value, _)| *value).collect();
        if let (Some((first, _)), true) = (parameters.first(), its.is_empty())
            && let Some(instruction) = dump.instruction(first)
            && let Some(at) = dump.header(allocation)
        {
            let message = format!(
                "parameter {} where the value is parameter {}",
                at.row.parameter.value, instruction.row.parameter.value
            );
            let finding = Finding::new(Code::OutputShape, at.place(at.row.parameter.span), message);
            findings.push(finding.related(
                instruction.place(instruction.row.parameter.span),
                "the instruction",
            ));
            doubts.headers.insert(number as u32);
            continue;
        }
        let has_index = its.iter().any(|value| value.index == leaf_index);
        if let (Some(value), false) = (its.first(), has_index)
            && let Some(placement) = dump.placement(value)
            && let Some(at) = dump.header(allocation)
        {
            let found = &dump.names[value.index];
            let message =
                format!("the leaf {index} of parameter {parameter} where the value is at {found}");
            let place = at.place(at.row.parameter_index);
            let finding = Finding::new(Code::OutputShape, place, message);
            findings.push(finding.related(placement.place(placement.row.value.span), "the value"));
            doubts.headers.insert(number as u32);
            continue;
        }
        if let Some(first) = seen.insert((parameter, leaf_index), allocation)
            && let (Some(first), Some(at)) = (dump.header(first), dump.header(allocation))
        {
            doubts.headers.insert(number as u32);
            let message = format!("parameter {parameter} at {index} has two allocations");
            let finding = Finding::new(Code::OutputShape, at.place(at.row.parameter.span), message);
            findings.push(finding.related(first.place(first.row.parameter.span), "the first one"));
            continue;
        }
        let Some(shape) = context.shapes.of_parameter(leaf) else {
            continue;
        };
        // Compilers of 2023 print the whole parameter's shape even for a leaf.
        let leaf = shape.at(&index_numbers(index)).filter(|_| index != "{}");
        let values = dump.held_by(allocation);
        let is_there = allocation.values.clone().any(|at| {
            context.placed(at).is_none_or(|value| {
                same_without_layout(value, shape)
                    || leaf.is_some_and(|leaf| same_without_layout(value, leaf))
            })
        });
        if !is_there
            && let Some(first) = values.first().and_then(|value| dump.placement(value))
            && let Some(at) = dump.header(allocation)
        {
            let message = format!(
                "no value of the allocation has the parameter's shape `{}`",
                cut(at.text(at.row.parameter_shape))
            );
            let finding =
                Finding::new(Code::OutputShape, at.place(at.row.parameter_shape), message);
            findings.push(finding.related(first.place(first.row.shape), "the first value's shape"));
            doubts.headers.insert(number as u32);
        }
    }
}

/// `output-shape`: one allocation holds the result, of which a value is the root, maybe seen through a bitcast.
pub(super) fn check_output(context: &Context, doubts: &mut Doubts, findings: &mut Findings) {
    let dump = context.dump;
    let mut strange = FxHashSet::default();
    for (number, allocation) in (0..)
        .zip(&dump.allocations)
        .filter(|(_, allocation)| allocation.has_output_shape())
    {
        let Some(header) = dump.header(allocation) else {
            continue;
        };
        let printed = header.text(header.row.output_shape);
        let (Some(output), true) = (
            context.shape(printed),
            allocation
                .values
                .clone()
                .all(|value| !doubts.values.contains(&value)),
        ) else {
            continue;
        };
        let is_there = allocation.values.is_empty()
            || allocation.values.clone().any(|at| {
                context.placed(at).is_none_or(|shape| {
                    same_without_layout(shape, &output)
                        || matches!((shape, &*output), (Shape::Array(_), Shape::Array(_)))
                            && bytes::logical_bytes(shape) == bytes::logical_bytes(&output)
                })
            });
        if !is_there {
            let message = format!(
                "no value of the allocation can be the output `{}`",
                cut(printed)
            );
            let place = header.place(header.row.output_shape);
            let mut finding = Finding::new(Code::OutputShape, place, message);
            let first = dump.held_by(allocation).first();
            if let Some(first) = first.and_then(|value| dump.placement(value)) {
                finding = finding.related(first.place(first.row.shape), "the first value's shape");
            }
            strange.insert(number);
            findings.push(finding);
            doubts.headers.insert(number);
        }
    }
    check_output_kind(dump, &strange, doubts, findings);
}

/// One allocation holds the result, and may be live out. No value of the `strange` ones can be the output.
fn check_output_kind(
    dump: &Dump,
    strange: &FxHashSet<u32>,
    doubts: &mut Doubts,
    findings: &mut Findings,
) {
    let mut output: Option<&Allocation> = None;
    for (number, allocation) in (0..).zip(&dump.allocations) {
        let is_doubted = output.is_some() && doubts.headers.contains(&number);
        if !allocation.has_output_shape() || strange.contains(&number) || is_doubted {
            continue;
        }
        let Some(at) = dump.header(allocation) else {
            continue;
        };
        if !allocation.kinds().maybe_live_out {
            let message = format!(
                "allocation {} holds the output, but is not `maybe-live-out`",
                allocation.index
            );
            findings.push(Finding::new(
                Code::OutputShape,
                at.place(at.row.output_shape),
                message,
            ));
            doubts.headers.insert(number);
        }
        if let Some(first) = output.and_then(|first| dump.header(first)) {
            let message = "a second allocation claims the root of the output";
            let finding = Finding::new(Code::OutputShape, at.place(at.row.output_shape), message);
            findings.push(finding.related(first.place(first.row.output_shape), "the first one"));
            doubts.headers.insert(number);
        }
        output = output.or(Some(allocation));
    }
    if let (None, Some(first)) = (output, dump.allocations.first())
        && strange.is_empty()
        && let Some(at) = dump.header(first)
        && doubts.are_whole(&[Section::Allocations])
    {
        let message = "no allocation holds the output: one `output shape is |...|` is expected";
        findings.push(Finding::new(
            Code::OutputShape,
            at.place(at.row.index.span),
            message,
        ));
    }
}

/// The values of an allocation that are parameters, each with its number. None where the instruction of one of the
/// values is not known.
fn parameters_of<'d>(dump: &'d Dump, allocation: &Allocation) -> Vec<(&'d Value, u64)> {
    let values = dump.held_by(allocation);
    if values.iter().any(|value| value.opcode.is_none()) {
        return Vec::new();
    }
    let number = |value: &Value| dump.used_value(value)?.parameter();
    let parameters = values
        .iter()
        .filter_map(|value| Some((value, number(value)?)));
    parameters.collect()
}

/// Whether two shapes have the same types and dimensions.
pub(super) fn same_without_layout(one: &Shape, other: &Shape) -> bool {
    use Shape::{Array, Tuple};
    match (one, other) {
        (Array(one), Array(other)) => {
            one.element == other.element && one.dimensions == other.dimensions
        }
        (Tuple(one), Tuple(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| same_without_layout(one, other))
        }
        _ => false,
    }
}

/// Where libtpu isolates a buffer (`xla_tpu_buffer_isolation_config`), it has this many bytes for itself, or a multiple.
const ISOLATED: u128 = 16 * 1024;

/// Whether the compiler keeps the rest of the allocation for the value that it ends with, at `end`.
fn isolates(allocation: &Allocation, last: &Value, end: u128) -> bool {
    u128::from(last.offset).is_multiple_of(ISOLATED)
        && u128::from(allocation.size) == end.next_multiple_of(ISOLATED)
}

/// `value-offset`, `value-outside-allocation` and `allocation-size`.
pub(super) fn check_sizes(context: &Context, doubts: &mut Doubts, findings: &mut Findings) {
    let dump = context.dump;
    let sum: u128 = dump
        .allocations
        .iter()
        .map(|allocation| u128::from(allocation.size))
        .sum();
    let total = dump
        .total
        .and_then(|row| dump.at::<facts::Total>(row))
        .map(|total| u128::from(total.row.bytes.value));
    for (number, allocation) in dump.allocations.iter().enumerate() {
        let number = number as u32;
        let values = dump.held_by(allocation);
        // A number that is missing, or has more than 64 bits, is a finding of its own.
        let is_whole = doubts.are_whole(&[Section::Allocations]);
        if !is_whole && !allocation.is_read() {
            doubts.allocations.insert(number);
        }
        if doubts.allocations.contains(&number) {
            continue;
        }
        // Only the temporary buffers hold values side by side.
        let is_temp = allocation.kinds().preallocated_temp;
        // Several offsets, or a value that is too large, are another allocation's, whose header is missing.
        let is_single = values.iter().filter(|value| value.offset != 0).count() == 1;
        let mut largest_end = 0_u128;
        let mut last = None;
        for value in values {
            if !is_temp && value.offset != 0 {
                let Some(placement) = dump.placement(value) else {
                    continue;
                };
                let message = format!(
                    "offset {} in an allocation that is no `preallocated-temp`: all values of it begin at 0",
                    value.offset
                );
                let place = placement.place(placement.row.offset.span);
                let finding = Finding::new(Code::ValueOffset, place, message);
                let is_certain = is_single && value.size <= allocation.size;
                findings.push(finding.fixed_if(is_certain, "0"));
                doubts.allocations.insert(number);
                continue;
            }
            let end = u128::from(value.offset) + u128::from(value.size);
            if end > largest_end || last.is_none() {
                (largest_end, last) = (end, Some(value));
            }
        }
        let Some(last) = last else { continue };
        if doubts.allocations.contains(&number) || largest_end == u128::from(allocation.size) {
            continue;
        }
        let is_isolated = total == Some(sum) && isolates(allocation, last, largest_end);
        let is_behind = |scratch: Range<u64>| scratch.end == allocation.size;
        if dump.scratch_of(allocation).is_some_and(is_behind) || is_isolated {
            continue;
        }
        let header = dump.header(allocation);
        let (Some(header), Some(last)) = (header, dump.placement(last)) else {
            continue;
        };
        doubts.allocations.insert(number);
        // The total tells whether the header or a value is wrong.
        let mended =
            total.is_some_and(|total| total == sum - u128::from(allocation.size) + largest_end);
        if mended {
            let message = format!(
                "size {} where the values end at {largest_end}, which also agrees with the total",
                allocation.size
            );
            let finding = Finding::new(
                Code::AllocationSize,
                header.place(header.row.size.span),
                message,
            )
            .related(
                last.place(last.row.line),
                format!("this value ends at {largest_end}"),
            )
            .fixed_by(largest_end.to_string());
            findings.push(finding);
            doubts.sizes.insert(number, largest_end as u64);
        } else if largest_end > u128::from(allocation.size) {
            let message = format!(
                "the value ends at {largest_end} ({} + {}), behind the end of its allocation of {} bytes",
                last.row.offset.value, last.row.size.value, allocation.size
            );
            // The shape tells whether the size is wrong or the offset.
            let shape = context.shape(last.text(last.row.shape));
            let size_is_off = shape.is_some_and(|shape| {
                !bytes::is_possible_size(&shape, last.row.size.value, dump.platforms)
            });
            let span = if size_is_off {
                last.row.size.span
            } else {
                last.row.offset.span
            };
            let finding = Finding::new(Code::ValueOutsideAllocation, last.place(span), message)
                .related(
                    header.place(header.row.size.span),
                    format!("the allocation has {} bytes", allocation.size),
                );
            findings.push(finding);
        } else if let Some(finding) = too_short(dump, allocation) {
            let size = header.place(header.row.size.span);
            findings.push(finding.related(size, "the size of the allocation"));
        } else {
            let message = format!(
                "size {} where the values end at {largest_end}",
                allocation.size
            );
            let mut finding = Finding::new(
                Code::AllocationSize,
                header.place(header.row.size.span),
                message,
            )
            .related(
                last.place(last.row.line),
                format!("this value ends at {largest_end}"),
            );
            for (place, message) in suspects(dump, allocation) {
                finding = finding.related(place, message);
            }
            findings.push(finding);
        }
    }
}

/// The finding on the value that would fill its allocation with a size of its shape, and has another; or with a
/// better aligned offset.
fn too_short(dump: &Dump, allocation: &Allocation) -> Option<Finding> {
    let by_size = allocation.values.clone().find_map(|at| {
        let offset = dump.values[at as usize].offset;
        shapes::size_denied(dump, at, allocation.size.checked_sub(offset)?)
    });
    by_size.or_else(|| {
        let value = least_aligned(dump.held_by(allocation))?;
        let filling = allocation.size.checked_sub(value.size)?;
        let placement = dump.placement(value)?;
        let is_better = alignment(filling) > alignment(value.offset);
        is_better.then(|| {
            let message = format!(
                "offset {} is less aligned than all others; from {filling} on, the value would end with its allocation",
                value.offset
            );
            let place = placement.place(placement.row.offset.span);
            Finding::new(Code::ValueOffset, place, message)
        })
    })
}

/// The value whose offset is less aligned than those of all others.
fn least_aligned(values: &[Value]) -> Option<&Value> {
    let by_alignment = |value: &&Value| alignment(value.offset);
    let least = values.iter().min_by_key(by_alignment)?;
    let mut others = values.iter().filter(|value| !std::ptr::eq(*value, least));
    let is_least =
        values.len() > 1 && others.all(|value| alignment(value.offset) > alignment(least.offset));
    is_least.then_some(least)
}

/// How many times the offset can be halved.
pub(super) fn alignment(offset: u64) -> u32 {
    offset.trailing_zeros()
}

/// The values that may be to blame for an allocation that its values do not fill: those whose size
/// is not their shape's, or whose offset is less aligned than all others.
fn suspects(dump: &Dump, allocation: &Allocation) -> Vec<(crate::model::Place, String)> {
    let values = dump.held_by(allocation);
    let least = least_aligned(values);
    let suspect = |value: &Value| {
        let placement = dump.placement(value)?;
        let is_denied = |id| !dump.shapes.is_possible_size(id, value.size);
        if value.shape.is_some_and(is_denied) {
            let size = placement.place(placement.row.size.span);
            Some((size, "this size is not its shape's".to_owned()))
        } else if least.is_some_and(|least| std::ptr::eq(value, least)) {
            let offset = placement.place(placement.row.offset.span);
            Some((offset, "this offset is the least aligned".to_owned()))
        } else {
            None
        }
    };
    values.iter().filter_map(suspect).take(8).collect()
}

#[cfg(test)]
mod tests {
    use crate::checks::tests::{CONCAT, finds};

    #[test]
    fn a_number_that_is_missing_is_one_finding() {
        for (from, to) in [
            ("allocation 3: size 2304,", "allocation }: size 2304,"),
            ("allocation 1: size 2304,", "allocation 1: size },"),
            (
                "<10 args_1_.1 @0> (size=2304,",
                "<10 args_1_.1 @0> (size=},",
            ),
            ("(size=4608,offset=18432)", "(size=4608,offset=})"),
        ] {
            assert_eq!(finds(&[CONCAT], from, to, "syntax").fix, None);
        }
    }
}
