//! Shapes, the sizes that follow from them, and memory spaces.

use buflens_syntax::{Shape, facts};

use rustc_hash::FxHashMap;

use super::labels::cut;
use super::{Code, Context, Doubts, Finding, Findings};
use crate::model::shapes::{ShapeId, index_numbers};
use crate::model::{Allocation, At, Dump, Platforms, Value, bytes, is_async_call};

/// `color-mismatch`: the memory space of a value, of its allocation and of its layout are one.
pub(super) fn check_colors(context: &Context, doubts: &mut Doubts, findings: &mut Findings) {
    let dump = context.dump;
    let platforms = dump.platforms;
    for (number, allocation) in dump.allocations.iter().enumerate() {
        // A line that is not understood may have been the header of some of its values.
        if doubts.headers.contains(&(number as u32)) {
            continue;
        }
        let values = dump.held_by(allocation);
        let is_plain = |value: &Value| {
            value.color() == Some(allocation.color)
                && layout_space(dump, value).is_none_or(|space| space == allocation.color)
        };
        // As nearly all are; their lines need not be looked at.
        if values.iter().all(is_plain) {
            continue;
        }
        let Some(header) = dump.header(allocation) else {
            continue;
        };
        let placements: Vec<_> = (allocation.values.start..)
            .zip(values)
            .filter_map(|(at, value)| Some((at, dump.placement(value)?)))
            .collect();
        let (agreeing, differing): (Vec<_>, Vec<_>) = placements
            .into_iter()
            .partition(|(_, placement)| agrees(allocation, placement, platforms));
        // Where the layouts side with the values, or all values differ, the header is wrong.
        let header_is_off = !differing.is_empty()
            && agreeing.is_empty()
            && differing.iter().all(|(at, placement)| {
                let value = &dump.values[*at as usize];
                let witness = layout_space(dump, value).or_else(|| color_in_values(context, value));
                witness.is_none_or(|space| Some(space) == placement.row.value.color.get())
            });
        if header_is_off {
            let place = header.place(if header.row.color.span.is_empty() {
                header.row.index.span
            } else {
                header.row.color.span
            });
            let first = &differing[0].1;
            let color = first.row.value.color.value;
            let message = format!(
                "the allocation is in memory space {}, its values in {color}",
                allocation.color
            );
            let finding = Finding::new(Code::ColorMismatch, place, message);
            findings.push(finding.related(
                first.place(first.row.value.color.span),
                "a value's memory space",
            ));
            doubts.headers.insert(number as u32);
            continue;
        }
        for (at, placement) in differing {
            doubts.values.insert(at);
            let color = placement.row.value.color;
            let message = format!(
                "memory space {} in an allocation of memory space {}",
                color.value, allocation.color
            );
            let finding = Finding::new(Code::ColorMismatch, placement.place(color.span), message);
            let finding = finding.related(header.place(header.row.line), "the allocation");
            let value = &dump.values[at as usize];
            let is_certain = color_in_values(context, value) == Some(allocation.color);
            findings.push(finding.fixed_if(is_certain, allocation.color.to_string()));
        }
        for (at, placement) in agreeing {
            let color = placement.row.value.color;
            if let Some(space) = layout_space(dump, &dump.values[at as usize])
                && color.get().is_some_and(|color| color != space)
            {
                doubts.values.insert(at);
                let message = format!(
                    "a layout in memory space {space} for a value in memory space {}",
                    color.value
                );
                let finding = Finding::new(
                    Code::ColorMismatch,
                    placement.place(placement.row.shape),
                    message,
                );
                findings
                    .push(finding.related(placement.place(color.span), "the value's memory space"));
            }
        }
    }
}

/// A value and its allocation have the same memory space. Only GPU temporary buffers may have one
/// of their own, while their values stay in space 0.
fn agrees(allocation: &Allocation, placement: &At<facts::Placement>, platforms: Platforms) -> bool {
    placement.row.value.color.get().is_none_or(|color| {
        color == allocation.color
            || (platforms.gpu && color == 0 && allocation.kinds().preallocated_temp)
    })
}

/// The memory space of a value in section C.
fn color_in_values(context: &Context, value: &Value) -> Option<u64> {
    context.dump.used(value)?.row.value.color.get()
}

/// The memory space in the layout of the value, if that is an array.
fn layout_space(dump: &Dump, value: &Value) -> Option<u64> {
    dump.shapes.memory_space(value.shape?)
}

/// `value-shape`: an array's shape in A is the part of its instruction's shape in C.
pub(super) fn check_shapes(context: &Context, doubts: &mut Doubts, findings: &mut Findings) {
    let dump = context.dump;
    for (at, value) in (0..).zip(&dump.values) {
        let ids = (value.shape, dump.result_shape(value));
        // As nearly all are: they need not be read.
        if let (Some(shape), Some(result)) = ids
            && is_part(dump, shape, result, &dump.names[value.index])
        {
            continue;
        }
        let (Some(shape), Some(result)) = (context.placed(at), context.result(at)) else {
            continue;
        };
        // Contexts of asynchronous calls have shapes of their own.
        let opcode = || value.opcode.map_or("", |opcode| &dump.names[opcode]);
        let is_context = || matches!(shape, Shape::Tuple(_)) && is_async_call(opcode());
        if doubts.values.contains(&at) || is_context() {
            continue;
        }
        let index = &dump.names[value.index];
        let part = result.at(&index_numbers(index));
        if part == Some(shape) {
            continue;
        }
        let (Some(placement), Some(instruction)) = (dump.placement(value), dump.instruction(value))
        else {
            continue;
        };
        let name = &dump.names[value.name];
        let (here, there) = (
            placement.place(placement.row.shape),
            instruction.place(instruction.row.shape),
        );
        // The size tells which of the two is wrong, and so does a layout that makes no sense.
        let fits = |shape: &Shape| {
            let is_sound = match shape {
                Shape::Array(array) => bytes::padded_bytes(array).is_some(),
                Shape::Tuple(_) => true,
            };
            is_sound && bytes::is_possible_size(shape, value.size, dump.platforms)
        };
        let is_whole = std::ptr::eq(result, part.unwrap_or(shape));
        let finding = match part {
            Some(part) if fits(shape) && !fits(part) => {
                let message = format!(
                    "`{}` is not the shape of `{name}{index}` in its allocation",
                    cut(instruction.text(instruction.row.shape))
                );
                Finding::new(Code::ValueShape, there, message)
                    .related(here, "the shape in its allocation, which fits its size")
                    .fixed_if(is_whole, placement.text(placement.row.shape))
            }
            Some(part) => {
                let message = format!(
                    "`{}` is not the shape of `{name}{index}`",
                    cut(placement.text(placement.row.shape))
                );
                let is_certain = is_whole && fits(part) && !fits(shape);
                Finding::new(Code::ValueShape, here, message)
                    .related(there, "the instruction's shape")
                    .fixed_if(is_certain, instruction.text(instruction.row.shape))
            }
            None => {
                let message = format!("the result of `{name}` has no part {index}");
                let place = placement.place(placement.row.value.index);
                Finding::new(Code::ValueShape, place, message)
                    .related(there, "the instruction's shape")
            }
        };
        doubts.values.insert(at);
        findings.push(finding);
    }
    check_results(context, doubts, findings);
}

/// Whether `shape` has the text of all of `result`, or of its element with this index.
fn is_part(dump: &Dump, shape: ShapeId, result: ShapeId, index: &str) -> bool {
    let element = || match index_numbers(index)[..] {
        [number] => dump.shapes.element(result, number),
        _ => None,
    };
    shape == result || element() == Some(&dump.shapes[shape])
}

/// `value-shape`: an instruction with several values is printed alike with each of them.
fn check_results(context: &Context, doubts: &mut Doubts, findings: &mut Findings) {
    let dump = context.dump;
    let result = |at: u32| dump.result_shape(&dump.values[at as usize]);
    for (at, value) in (0..).zip(&dump.values) {
        // The first few of thousands tell.
        let is_other = |other: &u32| *other != at && !doubts.values.contains(other);
        let mut others = dump.values_of(value.name).take(8).filter(is_other);
        let Some(other) = others.next().filter(|_| !doubts.values.contains(&at)) else {
            continue;
        };
        let (Some(own), Some(its)) = (result(at), result(other)) else {
            continue;
        };
        // Of what is no shape, nothing is said.
        let are_shapes = || [at, other].iter().all(|&at| context.result(at).is_some());
        if own == its || !are_shapes() {
            continue;
        }
        let is_in_module = || {
            let in_module = dump.module.instructions.get(value.name)?.row;
            let in_module = dump.at::<facts::Instruction>(in_module)?;
            let here = dump.instruction(value)?;
            Some(here.text(here.row.shape) == in_module.text(in_module.row.shape))
        };
        // Of two, the one that the HLO text has not is wrong; of more, the one that is alone.
        let is_right = match others.next() {
            Some(third) => Some(result(third) != Some(its)),
            None => is_in_module(),
        };
        if is_right == Some(true) {
            continue;
        }
        let [here, there] = [at, other].map(|at| dump.instruction(&dump.values[at as usize]));
        let Some((here, there)) = here.zip(there) else {
            continue;
        };
        let name = &dump.names[value.name];
        let index = &dump.names[dump.values[other as usize].index];
        let message = format!("`{name}` is printed with another shape for `{name}{index}`");
        let text = there.text(there.row.shape);
        let finding = Finding::new(Code::ValueShape, here.place(here.row.shape), message);
        let finding = finding.related(there.place(there.row.shape), "the other shape");
        doubts.values.insert(at);
        findings.push(finding.fixed_if(is_right.is_some(), text));
    }
}

/// `value-size`: some rule gives the size on some platform, or the value shares the size of others.
pub(super) fn check_sizes(context: &Context, doubts: &mut Doubts, findings: &mut Findings) {
    let dump = context.dump;
    for (number, allocation) in dump.allocations.iter().enumerate() {
        if doubts.allocations.contains(&(number as u32)) {
            continue;
        }
        let values = dump.held_by(allocation);
        let mut counts: Option<FxHashMap<u64, u32>> = None;
        for (at, value) in (allocation.values.start..).zip(values) {
            let is_possible = |id: ShapeId| dump.shapes.is_possible_size(id, value.size);
            if value.shape.is_none_or(is_possible) || doubts.values.contains(&at) {
                continue;
            }
            // Values that must share one buffer have one size, whatever their shapes.
            let counts = counts.get_or_insert_with(|| {
                let mut counts = FxHashMap::default();
                for value in values {
                    *counts.entry(value.size).or_default() += 1;
                }
                counts
            });
            let is_alone = counts[&value.size] == 1;
            let Some(placement) = is_alone.then(|| dump.placement(value)).flatten() else {
                continue;
            };
            let shape = context.placed(at);
            let expected = shape.and_then(|shape| expected_size(dump, shape));
            // What is too large seems to lie in others.
            if expected.is_some_and(|expected| expected < value.size) {
                doubts.too_large.insert(at);
            }
            findings.push(wrong_size(value.size, expected, &placement));
        }
    }
}

/// `value-size` of a value that has another size than `told` elsewhere, where its shape allows that alone.
pub(super) fn size_denied(dump: &Dump, at: u32, told: u64) -> Option<Finding> {
    let value = &dump.values[at as usize];
    let shape = value.shape?;
    let is_possible = |size| dump.shapes.is_possible_size(shape, size);
    let is_denied = is_possible(told) && !is_possible(value.size);
    let placement = dump.placement(value).filter(|_| is_denied)?;
    Some(wrong_size(value.size, Some(told), &placement).fixed_by(told.to_string()))
}

/// The size that a shape gives a value; `None` for a tuple, and where [`bytes::taken`] is.
pub(super) fn expected_size(dump: &Dump, shape: &Shape) -> Option<u64> {
    match shape {
        Shape::Array(array) => bytes::taken(array, dump.platforms),
        Shape::Tuple(_) => None,
    }
}

fn wrong_size(size: u64, expected: Option<u64>, placement: &At<facts::Placement>) -> Finding {
    let printed = cut(placement.text(placement.row.shape));
    let message = match expected {
        Some(expected) => format!("size {size} where `{printed}` takes {expected} bytes"),
        None => format!("no rule gives the size {size} for `{printed}`"),
    };
    let place = placement.place(placement.row.size.span);
    let finding = Finding::new(Code::ValueSize, place, message);
    finding.related(placement.place(placement.row.shape), "the shape")
}

#[cfg(test)]
mod tests {
    use crate::checks::tests::{finds, lstm_scan};

    /// The table of a tuple, and a part of a result that is another value's.
    #[test]
    fn all_parts_of_a_tuple_are_those_of_its_instruction() {
        let parts = lstm_scan();
        let mut texts = parts.each_ref().map(String::as_str);
        let from = "(size=24,offset=0): (f32[8,128]{1,0}, f32[8,128]{1,0},";
        let to = "(size=24,offset=0): (f32[8,128]{1,0}, f32[8,129]{1,0},";
        finds(&texts, from, to, "value-shape");
        texts.rotate_left(1);
        let at = texts[0]
            .find("<109 while.7{1} (phi) @0>")
            .expect("the value");
        let line = texts[0][at..]
            .find(" from instruction: ")
            .expect("its instruction");
        let end = at + line + texts[0][at + line..].find('\n').expect("its end");
        let from = &texts[0][at..end];
        let found = finds(
            &texts,
            from,
            &from.replace("f32[20,8,64]", "f32[20,8,65]"),
            "value-shape",
        );
        assert!(found.fix.expect("a fix").text.contains("f32[20,8,64]"));
    }
}
