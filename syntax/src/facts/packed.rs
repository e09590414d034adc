//! What a block says, in as few bytes as it takes: dumps have such rows by the million, and most of their numbers are
//! small. A number takes seven bits a byte, the lowest first, and the eighth bit says that more follow.

use std::sync::Arc;

use super::brief::{
    Allocation, Instruction, LiveRange, Placement, Position, Reference, Row, Step, Text, Use,
};
use super::{AllocationKinds, Number, Span};

/// What one block says, but for rows of kinds that most blocks have none of: those are the block's own. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The rows, then the places of the names, then those of the shapes.
    bytes: Arc<[u8]>,
    names_at: u32,
    shapes_at: u32,
    names: u16,
    shapes: u16,
    /// A bit for each kind of rows that is there.
    kinds: u8,
}

impl Facts {
    /// What the block's lines say, each with the number of the line, from 0.
    pub fn rows(&self) -> impl Iterator<Item = (u16, Row)> + Clone {
        Rows {
            bytes: Bytes(&self.bytes[..self.names_at as usize]),
            line: 0,
        }
    }

    /// The names, shape indices and opcodes that these have, each once.
    pub fn names(&self) -> impl Iterator<Item = Span> {
        spans(&self.bytes[self.names_at as usize..self.shapes_at as usize])
    }

    /// The shapes that these have, each once.
    pub fn shapes(&self) -> impl Iterator<Item = Span> {
        spans(&self.bytes[self.shapes_at as usize..])
    }

    /// How many names and how many shapes there are.
    pub fn text_counts(&self) -> (usize, usize) {
        (self.names.into(), self.shapes.into())
    }

    /// Whether live ranges are among the rows.
    pub fn has_live_ranges(&self) -> bool {
        self.kinds & bit(LIVE_RANGE) != 0
    }

    /// Whether rows of section A are there, and whether others are.
    pub fn has_allocations_and_others(&self) -> (bool, bool) {
        let of_allocations = bit(ALLOCATION) | bit(PLACEMENT);
        (
            self.kinds & of_allocations != 0,
            self.kinds & !of_allocations != 0,
        )
    }
}

#[derive(Debug, Clone)]
struct Rows<'f> {
    bytes: Bytes<'f>,
    line: u16,
}

impl Iterator for Rows<'_> {
    type Item = (u16, Row);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let bytes = &mut self.bytes;
        if bytes.0.is_empty() {
            return None;
        }
        let head = bytes.number();
        self.line = self.line.wrapping_add((head >> KIND_BITS) as u16);
        let row = match head & KINDS {
            ALLOCATION => Row::Allocation(bytes.allocation()),
            PLACEMENT => {
                let (value, is_read) = bytes.reference();
                Row::Placement(Placement {
                    value,
                    size: bytes.number(),
                    offset: bytes.number(),
                    shape: bytes.text(),
                    is_read,
                })
            }
            USED_VALUE => Row::UsedValue(bytes.reference().0),
            POSITION => Row::Position(Position {
                name: bytes.text(),
                index: bytes.text(),
            }),
            USE => Row::Use(Use {
                name: bytes.text(),
                operand: bytes.number().wrapping_sub(1),
                index: bytes.text(),
            }),
            INSTRUCTION => {
                let [is_tuple, is_root] = unpacked(bytes.number());
                Row::Instruction(Instruction {
                    name: bytes.text(),
                    shape: bytes.text(),
                    opcode: bytes.text(),
                    parameter: bytes.number().wrapping_sub(1),
                    is_tuple,
                    is_root,
                })
            }
            STEP => Row::Step(Step {
                step: bytes.number().wrapping_sub(1),
                name: bytes.text(),
            }),
            _ => Row::LiveRange(LiveRange {
                start: bytes.number(),
                end: bytes.number(),
                name: bytes.text(),
                index: bytes.text(),
            }),
        };
        Some((self.line, row))
    }
}

// What a row begins with: how many lines it stands behind the row before it, and in the lowest bits its kind.
const KIND_BITS: u32 = 3;
const KINDS: u64 = (1 << KIND_BITS) - 1;
const ALLOCATION: u64 = 0;
const PLACEMENT: u64 = 1;
const USED_VALUE: u64 = 2;
const POSITION: u64 = 3;
const USE: u64 = 4;
const INSTRUCTION: u64 = 5;
const STEP: u64 = 6;
const LIVE_RANGE: u64 = 7;

fn bit(kind: u64) -> u8 {
    1 << kind
}

/// Rows and texts as they are packed, one after the other.
#[derive(Debug, Default)]
pub(super) struct Packer {
    bytes: Vec<u8>,
    line: u16,
    kinds: u8,
}

impl Packer {
    /// Adds what line `line` of the block says.
    #[inline]
    pub(super) fn push(&mut self, line: u16, row: &Row) {
        let kind = match row {
            Row::Allocation(_) => ALLOCATION,
            Row::Placement(_) => PLACEMENT,
            Row::UsedValue(_) => USED_VALUE,
            Row::Position(_) => POSITION,
            Row::Use(_) => USE,
            Row::Instruction(_) => INSTRUCTION,
            Row::Step(_) => STEP,
            Row::LiveRange(_) => LIVE_RANGE,
        };
        self.kinds |= bit(kind);
        let lines = line.wrapping_sub(self.line);
        self.line = line;
        self.number(u64::from(lines) << KIND_BITS | kind);
        match *row {
            Row::Allocation(row) => self.allocation(&row),
            Row::Placement(row) => {
                self.reference(&row.value, row.is_read);
                self.number(row.size);
                self.number(row.offset);
                self.text(row.shape);
            }
            Row::UsedValue(value) => self.reference(&value, false),
            Row::Position(row) => {
                self.text(row.name);
                self.text(row.index);
            }
            Row::Use(row) => {
                self.text(row.name);
                self.number(row.operand.wrapping_add(1));
                self.text(row.index);
            }
            Row::Instruction(row) => {
                self.number(packed([row.is_tuple, row.is_root]));
                self.text(row.name);
                self.text(row.shape);
                self.text(row.opcode);
                self.number(row.parameter.wrapping_add(1));
            }
            Row::Step(row) => {
                self.number(row.step.wrapping_add(1));
                self.text(row.name);
            }
            Row::LiveRange(row) => {
                self.number(row.start);
                self.number(row.end);
                self.text(row.name);
                self.text(row.index);
            }
        }
    }

    fn allocation(&mut self, row: &Allocation) {
        let AllocationKinds {
            constant,
            thread_local,
            maybe_live_out,
            preallocated_temp,
        } = row.kinds;
        // Most are of none.
        let parts = [row.parameter_shape, row.parameter_index];
        let has_parameter = row.parameter.is_some() || parts != [Text::NONE; 2];
        self.number(packed([
            constant,
            thread_local,
            maybe_live_out,
            preallocated_temp,
            row.has_output_shape,
            row.is_read,
            has_parameter,
        ]));
        self.number(row.index);
        self.number(row.size);
        self.number(row.color);
        if has_parameter {
            for part in parts {
                self.text(part);
            }
            self.number(packed([row.parameter.is_some()]));
            if let Some(number) = row.parameter {
                self.number(number);
            }
        }
    }

    /// A reference, and whether the numbers behind it are read.
    fn reference(&mut self, value: &Reference, is_read: bool) {
        self.number(value.id);
        self.text(value.name);
        self.text(value.index);
        let color = value.color.map_or(0, |color| u64::from(color) + 1);
        let flags = [is_read, value.phi, value.is_whole];
        self.number(color << flags.len() | packed(flags));
    }

    fn text(&mut self, text: Text) {
        self.number(text.0.wrapping_add(1).into());
    }

    #[inline]
    fn number(&mut self, number: u64) {
        pack_number(&mut self.bytes, number);
    }

    /// The rows with their texts. There is nothing then, with room for more.
    pub(super) fn take(&mut self, names: &[Span], shapes: &[Span]) -> Facts {
        let names_at = self.bytes.len() as u32;
        self.spans(names);
        let shapes_at = self.bytes.len() as u32;
        self.spans(shapes);
        let facts = Facts {
            bytes: self.bytes.as_slice().into(),
            names_at,
            shapes_at,
            names: names.len() as u16,
            shapes: shapes.len() as u16,
            kinds: self.kinds,
        };
        self.bytes.clear();
        (self.line, self.kinds) = (0, 0);
        facts
    }

    fn spans(&mut self, spans: &[Span]) {
        let mut end = 0;
        for &span in spans {
            pack_span(&mut self.bytes, &mut end, span);
        }
    }
}

/// Set in a byte behind which a number goes on.
const MORE: u8 = 1 << 7;

#[inline]
pub(super) fn pack_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= MORE.into() {
        bytes.push(number as u8 | MORE);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// A span by how far it begins from the `end` of the one before, and its length.
#[inline]
fn pack_span(bytes: &mut Vec<u8>, end: &mut u32, span: Span) {
    let ahead = span.start.wrapping_sub(*end).cast_signed();
    // The sign is the lowest bit, so that small distances back are small numbers, too.
    let ahead = ((ahead << 1) ^ (ahead >> 31)).cast_unsigned();
    pack_number(bytes, ahead.into());
    pack_number(bytes, (span.end - span.start).into());
    *end = span.end;
}

/// A row's spans and numbers, the numbers with their spans, one after the other.
pub(super) fn pack_fields<const S: usize, const N: usize>(
    bytes: &mut Vec<u8>,
    spans: [Span; S],
    numbers: [Number; N],
) {
    let mut end = 0;
    for span in spans {
        pack_span(bytes, &mut end, span);
    }
    for Number { span, value } in numbers {
        pack_span(bytes, &mut end, span);
        pack_number(bytes, value);
    }
}

fn packed<const N: usize>(flags: [bool; N]) -> u64 {
    let bits = flags.into_iter().enumerate();
    bits.fold(0, |bits, (at, flag)| bits | u64::from(flag) << at)
}

fn unpacked<const N: usize>(bits: u64) -> [bool; N] {
    std::array::from_fn(|at| bits >> at & 1 != 0)
}

fn spans(bytes: &[u8]) -> impl Iterator<Item = Span> {
    let (mut bytes, mut end) = (Bytes(bytes), 0_u32);
    std::iter::from_fn(move || (!bytes.is_empty()).then(|| bytes.span(&mut end)))
}

/// Numbers as [`pack_number`] packs them, from some place on.
#[derive(Debug, Clone)]
pub struct Bytes<'f>(pub(super) &'f [u8]);

impl Bytes<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What [`pack_span`] has packed behind one that ends at `end`.
    #[inline]
    fn span(&mut self, end: &mut u32) -> Span {
        let ahead = self.number() as u32;
        let start = end.wrapping_add((ahead >> 1) ^ (ahead & 1).wrapping_neg());
        *end = start.wrapping_add(self.number() as u32);
        Span { start, end: *end }
    }

    /// What [`pack_fields`] has packed.
    pub(super) fn fields<const S: usize, const N: usize>(&mut self) -> ([Span; S], [Number; N]) {
        let mut end = 0;
        let spans = std::array::from_fn(|_| self.span(&mut end));
        let numbers = std::array::from_fn(|_| Number {
            span: self.span(&mut end),
            value: self.number(),
        });
        (spans, numbers)
    }

    #[inline]
    pub(super) fn number(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        while let Some((&byte, rest)) = self.0.split_first() {
            self.0 = rest;
            number |= u64::from(byte & !MORE) << shift;
            if byte < MORE {
                break;
            }
            shift += 7;
        }
        number
    }

    #[inline]
    fn text(&mut self) -> Text {
        Text((self.number() as u16).wrapping_sub(1))
    }

    fn reference(&mut self) -> (Reference, bool) {
        let (id, name, index) = (self.number(), self.text(), self.text());
        let flags = self.number();
        let [is_read, phi, is_whole] = unpacked(flags);
        let color = (flags >> 3).checked_sub(1);
        let value = Reference {
            id,
            name,
            index,
            color: color.map(|color| color as u16),
            phi,
            is_whole,
        };
        (value, is_read)
    }

    fn allocation(&mut self) -> Allocation {
        let [
            constant,
            thread_local,
            maybe_live_out,
            preallocated_temp,
            has_output_shape,
            is_read,
            has_parameter,
        ] = unpacked(self.number());
        let (index, size, color) = (self.number(), self.number(), self.number());
        let (mut parts, mut parameter) = ([Text::NONE; 2], None);
        if has_parameter {
            parts = parts.map(|_| self.text());
            let [is_numbered] = unpacked(self.number());
            parameter = is_numbered.then(|| self.number());
        }
        let [parameter_shape, parameter_index] = parts;
        Allocation {
            index,
            size,
            color,
            parameter,
            parameter_shape,
            parameter_index,
            kinds: AllocationKinds {
                constant,
                thread_local,
                maybe_live_out,
                preallocated_temp,
            },
            has_output_shape,
            is_read,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number() -> impl Strategy<Value = u64> {
        prop_oneof![0..300_u64, any::<u64>(), Just(u64::MAX)]
    }

    fn text() -> impl Strategy<Value = Text> {
        prop_oneof![(0..300_u16).prop_map(Text), Just(Text::NONE)]
    }

    fn reference() -> impl Strategy<Value = Reference> {
        let color = prop_oneof![Just(None), Just(Some(0)), any::<Option<u16>>()];
        (number(), text(), text(), color, any::<[bool; 2]>()).prop_map(
            |(id, name, index, color, [phi, is_whole])| Reference {
                id,
                name,
                index,
                color,
                phi,
                is_whole,
            },
        )
    }

    fn allocation() -> impl Strategy<Value = Allocation> {
        let numbers = [number(), number(), number(), number()];
        (numbers, text(), text(), any::<[bool; 7]>()).prop_map(
            |([index, size, color, parameter], parameter_shape, parameter_index, flags)| {
                Allocation {
                    index,
                    size,
                    color,
                    parameter: flags[6].then_some(parameter),
                    parameter_shape,
                    parameter_index,
                    kinds: AllocationKinds {
                        constant: flags[0],
                        thread_local: flags[1],
                        maybe_live_out: flags[2],
                        preallocated_temp: flags[3],
                    },
                    has_output_shape: flags[4],
                    is_read: flags[5],
                }
            },
        )
    }

    fn row() -> impl Strategy<Value = Row> {
        let placement = (reference(), number(), number(), text(), any::<bool>());
        let placement = placement.prop_map(|(value, size, offset, shape, is_read)| Placement {
            value,
            size,
            offset,
            shape,
            is_read,
        });
        let flags = any::<[bool; 2]>();
        let instruction = (text(), text(), text(), number(), flags);
        let instruction =
            instruction.prop_map(|(name, shape, opcode, parameter, flags)| Instruction {
                name,
                shape,
                opcode,
                parameter,
                is_tuple: flags[0],
                is_root: flags[1],
            });
        let live_range = (number(), number(), text(), text());
        prop_oneof![
            allocation().prop_map(Row::Allocation),
            placement.prop_map(Row::Placement),
            reference().prop_map(Row::UsedValue),
            (text(), text()).prop_map(|(name, index)| Row::Position(Position { name, index })),
            (text(), number(), text()).prop_map(|(name, operand, index)| {
                Row::Use(Use {
                    name,
                    operand,
                    index,
                })
            }),
            instruction.prop_map(Row::Instruction),
            (number(), text()).prop_map(|(step, name)| Row::Step(Step { step, name })),
            live_range.prop_map(|(start, end, name, index)| {
                Row::LiveRange(LiveRange {
                    start,
                    end,
                    name,
                    index,
                })
            }),
        ]
    }

    fn span() -> impl Strategy<Value = Span> {
        let start = prop_oneof![0..3000_u32, 0..u32::MAX >> 1];
        (start, 0..2000_u32).prop_map(|(start, length)| Span {
            start,
            end: start + length,
        })
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_back(
            rows in prop::collection::vec((0..40_u16, row()), 0..40),
            names in prop::collection::vec(span(), 0..40),
            shapes in prop::collection::vec(span(), 0..40),
        ) {
            let mut packer = Packer::default();
            // Nothing of one block is left to the next.
            for _ in 0..2 {
                let mut line = 0;
                let mut numbered = Vec::new();
                for (lines, row) in &rows {
                    line += lines;
                    packer.push(line, row);
                    numbered.push((line, *row));
                }
                let facts = packer.take(&names, &shapes);
                prop_assert_eq!(facts.rows().collect::<Vec<_>>(), &*numbered);
                prop_assert_eq!(facts.names().collect::<Vec<_>>(), &*names);
                prop_assert_eq!(facts.shapes().collect::<Vec<_>>(), &*shapes);
                prop_assert_eq!(facts.text_counts(), (names.len(), shapes.len()));
                let has = |is_it: fn(&Row) -> bool| rows.iter().any(|(_, row)| is_it(row));
                prop_assert_eq!(facts.has_live_ranges(), has(|row| matches!(row, Row::LiveRange(_))));
                let of_allocations = has(|row| matches!(row, Row::Allocation(_) | Row::Placement(_)));
                let others = has(|row| !matches!(row, Row::Allocation(_) | Row::Placement(_)));
                prop_assert_eq!(facts.has_allocations_and_others(), (of_allocations, others));
            }
        }
    }
}
