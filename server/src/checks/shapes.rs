//! Shapes, the sizes that follow from them, and memory spaces.

use buflens_syntax::{Shape, facts};

use super::allocations::{Sizes, shortened};
use super::{Code, Context, Finding, Findings, index_numbers};
use crate::model::{Allocation, At, bytes};

/// `color-mismatch`: the memory space of a value, of its allocation and of its layout are one.
pub(super) fn check_colors(context: &Context, findings: &mut Findings) {
    let dump = context.dump;
    for allocation in &dump.allocations {
        let Some(header) = dump.at::<facts::Allocation>(allocation.header) else { continue };
        let values = &dump.values[allocation.values.start as usize..allocation.values.end as usize];
        let placements: Vec<_> = values.iter().filter_map(|value| dump.placement(value)).collect();
        let differing: Vec<_> = placements.iter().filter(|placement| !agrees(allocation, placement)).collect();
        // Where the layouts side with the values, or all values differ, the header is wrong.
        let header_is_off = !differing.is_empty()
            && differing.len() == placements.len()
            && differing.iter().all(|placement| {
                layout_space(context, placement).is_none_or(|space| Some(space) == placement.row.value.color.get())
            });
        if header_is_off {
            let place = header.place(if header.row.color.span.is_empty() { header.row.index.span } else { header.row.color.span });
            let color = differing[0].row.value.color.value;
            let message = format!("the allocation is in memory space {}, its values in {color}", allocation.color);
            let finding = Finding::new(Code::ColorMismatch, place, message);
            findings.push(finding.related(differing[0].place(differing[0].row.value.color.span), "a value's memory space"));
            continue;
        }
        for placement in differing {
            let color = placement.row.value.color;
            let message = format!("memory space {} in an allocation of memory space {}", color.value, allocation.color);
            let finding = Finding::new(Code::ColorMismatch, placement.place(color.span), message);
            findings.push(finding.related(header.place(header.row.line), "the allocation"));
        }
        for placement in placements.iter().filter(|placement| agrees(allocation, placement)) {
            let color = placement.row.value.color;
            if let Some(space) = layout_space(context, placement)
                && color.get().is_some_and(|color| color != space)
            {
                let message = format!("a layout in memory space {space} for a value in memory space {}", color.value);
                let finding = Finding::new(Code::ColorMismatch, placement.place(placement.row.shape), message);
                findings.push(finding.related(placement.place(color.span), "the value's memory space"));
            }
        }
    }
}

/// A value and its allocation have the same memory space. Only GPU temporary buffers may have one
/// of their own, while their values stay in space 0.
fn agrees(allocation: &Allocation, placement: &At<facts::Placement>) -> bool {
    placement.row.value.color.get().is_none_or(|color| {
        color == allocation.color || (color == 0 && allocation.color != 0 && allocation.kinds.preallocated_temp)
    })
}

/// The memory space in an array's layout.
fn layout_space<'d>(context: &Context<'d>, placement: &At<'d, facts::Placement>) -> Option<u64> {
    match &*context.shape(placement.text(placement.row.shape))? {
        Shape::Array(array) => Some(array.layout.as_ref().map_or(0, |layout| layout.memory_space)),
        Shape::Tuple(_) => None,
    }
}

/// `value-shape`: an array's shape in A is the part of its instruction's shape in C.
pub(super) fn check_shapes(context: &Context, findings: &mut Findings) {
    let dump = context.dump;
    for value in &dump.values {
        let (Some(placement), Some(instruction)) = (dump.placement(value), dump.instruction(value)) else { continue };
        let printed = placement.text(placement.row.shape);
        let whole = instruction.text(instruction.row.shape);
        if printed == whole || printed.starts_with('(') {
            continue;
        }
        let (Some(shape), Some(result)) = (context.shape(printed), context.shape(whole)) else { continue };
        let index = &dump.names[value.index];
        let part = result.at(&index_numbers(index));
        if part == Some(&*shape) {
            continue;
        }
        let message = match part {
            Some(_) => format!("`{}` is not the shape of `{}{}`", shortened(printed), &dump.names[value.name], index),
            None => format!("the result of `{}` has no part {index}", &dump.names[value.name]),
        };
        let finding = Finding::new(Code::ValueShape, placement.place(placement.row.shape), message);
        findings.push(finding.related(instruction.place(instruction.row.shape), "the instruction's shape"));
    }
}

/// `value-size`: some rule gives the size on some platform, or the value shares the size of others.
pub(super) fn check_sizes(context: &Context, sizes: &Sizes, findings: &mut Findings) {
    let dump = context.dump;
    let platforms = dump.platforms();
    for (number, allocation) in dump.allocations.iter().enumerate() {
        if sizes.blamed.contains(&(number as u32)) {
            continue;
        }
        let values = &dump.values[allocation.values.start as usize..allocation.values.end as usize];
        for value in values {
            let Some(placement) = dump.placement(value) else { continue };
            let Some(shape) = context.shape(placement.text(placement.row.shape)) else { continue };
            if bytes::is_possible_size(&shape, value.size, platforms) {
                continue;
            }
            // Values that must share one buffer have one size, whatever their shapes.
            if values.iter().filter(|other| other.size == value.size).count() > 1 {
                continue;
            }
            let expected = match &*shape {
                Shape::Array(array) => bytes::padded_bytes(array),
                Shape::Tuple(_) => None,
            };
            let printed = shortened(placement.text(placement.row.shape));
            let message = match expected {
                Some(expected) => format!("size {} where `{printed}` takes {expected} bytes", value.size),
                None => format!("no rule gives the size {} for `{printed}`", value.size),
            };
            let finding = Finding::new(Code::ValueSize, placement.place(placement.row.size.span), message);
            findings.push(finding.related(placement.place(placement.row.shape), "the shape"));
        }
    }
}
