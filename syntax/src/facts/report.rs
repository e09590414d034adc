//! The rows of a memory-usage report, packed: it has one on nearly every line, each of up to eight spans and numbers.

use super::packed::{Bytes, pack_number, pack_span};
use super::{Number, ReportAllocation, ReportRow, Span, Total};

/// Packs the rows of a block one after the other.
#[derive(Default)]
pub(super) struct ReportPacker {
    /// Where the last span ends.
    end: u32,
}

/// The rows of a block in `packed`, the bytes that they have been packed to.
pub(crate) fn report_rows(packed: &[u8]) -> impl Iterator<Item = ReportRow> + Clone + '_ {
    let mut unpacker = Unpacker {
        bytes: Bytes(packed),
        end: 0,
    };
    std::iter::from_fn(move || (!unpacker.bytes.is_empty()).then(|| unpacker.row()))
}

// What a row begins with.
const SPACE: u64 = 0;
const SPACE_TOTAL: u64 = 1;
const TABLE: u64 = 2;
const SLOT: u64 = 3;
const ALLOCATION: u64 = 4;
const RUNNING: u64 = 5;
const REST: u64 = 6;

impl ReportPacker {
    /// Adds `row` to `bytes`, which have the rows before it.
    pub(super) fn push(&mut self, bytes: &mut Vec<u8>, row: &ReportRow) {
        match *row {
            ReportRow::Space { label, color } => self.add(bytes, SPACE, [label], [color]),
            ReportRow::SpaceTotal(Total {
                bytes: total,
                human,
            }) => {
                self.add(bytes, SPACE_TOTAL, [human], [total]);
            }
            ReportRow::Table(line) => self.add(bytes, TABLE, [line], []),
            ReportRow::Slot {
                cumulative,
                percentage,
                size,
                offset,
                values,
                shapes,
            } => {
                let spans = [cumulative, percentage, size, shapes];
                self.add(bytes, SLOT, spans, [offset, values]);
            }
            ReportRow::Allocation(ReportAllocation {
                line,
                index,
                size,
                color,
                parameter,
            }) => self.add(bytes, ALLOCATION, [line, size], [index, color, parameter]),
            ReportRow::Running {
                cumulative,
                percentage,
                rest,
                allocation,
            } => {
                let spans = [cumulative, percentage, rest];
                self.add(bytes, RUNNING, spans, [allocation]);
            }
            ReportRow::Rest(number) => self.add(bytes, REST, [], [number]),
        }
    }

    fn add<const S: usize, const N: usize>(
        &mut self,
        bytes: &mut Vec<u8>,
        kind: u64,
        spans: [Span; S],
        numbers: [Number; N],
    ) {
        pack_number(bytes, kind);
        for span in spans {
            pack_span(bytes, &mut self.end, span);
        }
        for number in numbers {
            pack_span(bytes, &mut self.end, number.span);
            pack_number(bytes, number.value);
        }
    }
}

#[derive(Clone)]
struct Unpacker<'p> {
    bytes: Bytes<'p>,
    end: u32,
}

impl Unpacker<'_> {
    fn row(&mut self) -> ReportRow {
        match self.bytes.number() {
            SPACE => {
                let ([label], [color]) = self.take();
                ReportRow::Space { label, color }
            }
            SPACE_TOTAL => {
                let ([human], [bytes]) = self.take();
                ReportRow::SpaceTotal(Total { bytes, human })
            }
            TABLE => {
                let ([line], []) = self.take();
                ReportRow::Table(line)
            }
            SLOT => {
                let ([cumulative, percentage, size, shapes], [offset, values]) = self.take();
                ReportRow::Slot {
                    cumulative,
                    percentage,
                    size,
                    offset,
                    values,
                    shapes,
                }
            }
            ALLOCATION => {
                let ([line, size], [index, color, parameter]) = self.take();
                ReportRow::Allocation(ReportAllocation {
                    line,
                    index,
                    size,
                    color,
                    parameter,
                })
            }
            RUNNING => {
                let ([cumulative, percentage, rest], [allocation]) = self.take();
                ReportRow::Running {
                    cumulative,
                    percentage,
                    rest,
                    allocation,
                }
            }
            _ => {
                let ([], [number]) = self.take();
                ReportRow::Rest(number)
            }
        }
    }

    fn take<const S: usize, const N: usize>(&mut self) -> ([Span; S], [Number; N]) {
        let Self { bytes, end } = self;
        let spans = std::array::from_fn(|_| bytes.span(end));
        let numbers = std::array::from_fn(|_| Number {
            span: bytes.span(end),
            value: bytes.number(),
        });
        (spans, numbers)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn span() -> impl Strategy<Value = Span> {
        (0..5000_u32, 0..2000_u32).prop_map(|(start, length)| Span {
            start,
            end: start + length,
        })
    }

    fn number() -> impl Strategy<Value = Number> {
        let value = prop_oneof![0..300_u64, any::<u64>(), Just(u64::MAX)];
        (span(), value).prop_map(|(span, value)| Number { span, value })
    }

    fn row() -> impl Strategy<Value = ReportRow> {
        let four_spans = || (span(), span(), span(), span());
        prop_oneof![
            (span(), number()).prop_map(|(label, color)| ReportRow::Space { label, color }),
            (span(), number())
                .prop_map(|(human, bytes)| ReportRow::SpaceTotal(Total { bytes, human })),
            span().prop_map(ReportRow::Table),
            (four_spans(), number(), number()).prop_map(
                |((cumulative, percentage, size, shapes), offset, values)| ReportRow::Slot {
                    cumulative,
                    percentage,
                    size,
                    offset,
                    values,
                    shapes,
                }
            ),
            (span(), span(), number(), number(), number()).prop_map(
                |(line, size, index, color, parameter)| {
                    ReportRow::Allocation(ReportAllocation {
                        line,
                        index,
                        size,
                        color,
                        parameter,
                    })
                }
            ),
            (four_spans(), number()).prop_map(|((cumulative, percentage, rest, _), allocation)| {
                ReportRow::Running {
                    cumulative,
                    percentage,
                    rest,
                    allocation,
                }
            }),
            number().prop_map(ReportRow::Rest),
        ]
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_back(rows in prop::collection::vec(row(), 0..40)) {
            let (mut packer, mut packed) = (ReportPacker::default(), Vec::new());
            for row in &rows {
                packer.push(&mut packed, row);
            }
            prop_assert_eq!(report_rows(&packed).collect::<Vec<_>>(), rows);
        }
    }
}
