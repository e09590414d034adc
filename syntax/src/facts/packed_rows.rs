//! Rows of the kinds that come in lists, packed: a text has one on nearly every line, each of up to eight spans and
//! numbers.

use std::marker::PhantomData;

use super::packed::{Bytes, pack_fields, pack_number};
use super::{PeakValue, ReportAllocation, ReportRow, Total, TreeNode};
use crate::scan::Starts;

/// A row that can be packed.
pub trait Pack: Sized {
    #[doc(hidden)]
    fn pack(&self, bytes: &mut Vec<u8>);
    #[doc(hidden)]
    fn unpack(bytes: Bytes) -> Self;
}

/// The rows of one kind that a block has, in the order of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedRows<T> {
    bytes: Box<[u8]>,
    /// Where in these each row begins.
    starts: Starts,
    rows: PhantomData<T>,
}

impl<T> Default for PackedRows<T> {
    fn default() -> Self {
        NewRows::default().take()
    }
}

impl<T> PackedRows<T> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Pack> PackedRows<T> {
    /// Row `number`, from 0; `None` behind the last.
    pub fn get(&self, number: usize) -> Option<T> {
        let start = self.starts.get(number)?;
        Some(T::unpack(Bytes(&self.bytes[start..])))
    }

    /// All of them.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = T> + Clone {
        (0..self.len()).filter_map(|number| self.get(number))
    }

    /// The last of those at the start for which `is_before` holds. A block has few rows.
    pub fn last_before(&self, is_before: impl Fn(&T) -> bool) -> Option<T> {
        self.iter().take_while(is_before).last()
    }
}

/// Packs the rows of a block one after the other.
pub(super) struct NewRows<T> {
    bytes: Vec<u8>,
    starts: Vec<u32>,
    rows: PhantomData<T>,
}

impl<T> Default for NewRows<T> {
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            starts: Vec::new(),
            rows: PhantomData,
        }
    }
}

impl<T> NewRows<T> {
    /// The rows in no more memory than they take. There is nothing then, with room for more.
    pub(super) fn take(&mut self) -> PackedRows<T> {
        let rows = PackedRows {
            bytes: self.bytes.as_slice().into(),
            starts: Starts::new(&self.starts),
            rows: PhantomData,
        };
        self.bytes.clear();
        self.starts.clear();
        rows
    }
}

impl<T: Pack> NewRows<T> {
    pub(super) fn push(&mut self, row: &T) {
        self.starts.push(self.bytes.len() as u32);
        row.pack(&mut self.bytes);
    }
}

impl Pack for PeakValue {
    fn pack(&self, bytes: &mut Vec<u8>) {
        let numbers = [self.bytes, self.cumulative];
        pack_fields(bytes, [self.name, self.index], numbers);
    }

    fn unpack(mut from: Bytes) -> Self {
        let ([name, index], [bytes, cumulative]) = from.fields();
        Self {
            name,
            index,
            bytes,
            cumulative,
        }
    }
}

impl Pack for TreeNode {
    fn pack(&self, bytes: &mut Vec<u8>) {
        pack_number(bytes, self.depth.into());
        let numbers = [self.total, self.current, self.remaining];
        pack_fields(bytes, [self.label, self.percentage], numbers);
    }

    fn unpack(mut from: Bytes) -> Self {
        let depth = from.number() as u32;
        let ([label, percentage], [total, current, remaining]) = from.fields();
        Self {
            depth,
            label,
            percentage,
            total,
            current,
            remaining,
        }
    }
}

// What a row of a report begins with.
const SPACE: u64 = 0;
const SPACE_TOTAL: u64 = 1;
const TABLE: u64 = 2;
const SLOT: u64 = 3;
const ALLOCATION: u64 = 4;
const RUNNING: u64 = 5;
const REST: u64 = 6;

impl Pack for ReportRow {
    fn pack(&self, bytes: &mut Vec<u8>) {
        match *self {
            Self::Space { label, color } => {
                pack_number(bytes, SPACE);
                pack_fields(bytes, [label], [color]);
            }
            Self::SpaceTotal(total) => {
                pack_number(bytes, SPACE_TOTAL);
                pack_fields(bytes, [total.human], [total.bytes]);
            }
            Self::Table(line) => {
                pack_number(bytes, TABLE);
                pack_fields(bytes, [line], []);
            }
            Self::Slot {
                cumulative,
                percentage,
                size,
                offset,
                values,
                shapes,
            } => {
                pack_number(bytes, SLOT);
                let spans = [cumulative, percentage, size, shapes];
                pack_fields(bytes, spans, [offset, values]);
            }
            Self::Allocation(ReportAllocation {
                line,
                index,
                size,
                color,
                parameter,
            }) => {
                pack_number(bytes, ALLOCATION);
                pack_fields(bytes, [line, size], [index, color, parameter]);
            }
            Self::Running {
                cumulative,
                percentage,
                rest,
                allocation,
            } => {
                pack_number(bytes, RUNNING);
                pack_fields(bytes, [cumulative, percentage, rest], [allocation]);
            }
            Self::Rest(number) => {
                pack_number(bytes, REST);
                pack_fields(bytes, [], [number]);
            }
        }
    }

    fn unpack(mut bytes: Bytes) -> Self {
        match bytes.number() {
            SPACE => {
                let ([label], [color]) = bytes.fields();
                Self::Space { label, color }
            }
            SPACE_TOTAL => {
                let ([human], [bytes]) = bytes.fields();
                Self::SpaceTotal(Total { bytes, human })
            }
            TABLE => {
                let ([line], []) = bytes.fields();
                Self::Table(line)
            }
            SLOT => {
                let ([cumulative, percentage, size, shapes], [offset, values]) = bytes.fields();
                Self::Slot {
                    cumulative,
                    percentage,
                    size,
                    offset,
                    values,
                    shapes,
                }
            }
            ALLOCATION => {
                let ([line, size], [index, color, parameter]) = bytes.fields();
                Self::Allocation(ReportAllocation {
                    line,
                    index,
                    size,
                    color,
                    parameter,
                })
            }
            RUNNING => {
                let ([cumulative, percentage, rest], [allocation]) = bytes.fields();
                Self::Running {
                    cumulative,
                    percentage,
                    rest,
                    allocation,
                }
            }
            _ => {
                let ([], [number]) = bytes.fields();
                Self::Rest(number)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::facts::{Number, Span};

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

    fn peak_value() -> impl Strategy<Value = PeakValue> {
        (span(), span(), number(), number()).prop_map(|(name, index, bytes, cumulative)| {
            PeakValue {
                name,
                index,
                bytes,
                cumulative,
            }
        })
    }

    fn tree_node() -> impl Strategy<Value = TreeNode> {
        (any::<u32>(), span(), span(), number(), number(), number()).prop_map(
            |(depth, label, percentage, total, current, remaining)| TreeNode {
                depth,
                label,
                percentage,
                total,
                current,
                remaining,
            },
        )
    }

    fn comes_back<T: Pack + Clone + PartialEq + std::fmt::Debug>(rows: &[T]) {
        let mut new = NewRows::default();
        for _ in 0..2 {
            for row in rows {
                new.push(row);
            }
            let packed = new.take();
            assert_eq!(packed.len(), rows.len());
            assert_eq!(packed.get(rows.len()), None);
            assert_eq!(packed.iter().collect::<Vec<_>>(), rows);
        }
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_back(
            report in prop::collection::vec(row(), 0..40),
            peak_values in prop::collection::vec(peak_value(), 0..40),
            tree in prop::collection::vec(tree_node(), 0..40),
        ) {
            comes_back(&report);
            comes_back(&peak_values);
            comes_back(&tree);
        }
    }

    #[test]
    fn the_last_row_before_a_place_is_found() {
        let mut new = NewRows::default();
        for start in [10, 20, 30] {
            let label = Span {
                start,
                end: start + 5,
            };
            new.push(&TreeNode {
                label,
                ..TreeNode::default()
            });
        }
        let rows = new.take();
        let found = [5, 11, 30, 31].map(|end| {
            let row = rows.last_before(|row| row.label.start < end);
            row.map(|row| row.label.start)
        });
        assert_eq!(found, [None, Some(10), Some(20), Some(30)]);
    }
}
