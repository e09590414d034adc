//! Slots: the rows of the memory-usage report, and the values that each stands for.

use buflens_syntax::Document;
use buflens_syntax::facts::{Number, ReportRow};

use crate::model::{Allocation, Dump};

/// The values of one allocation that share an offset.
pub(super) struct Slot<'d> {
    /// The allocation, if the dump has it.
    pub(super) allocation: Option<&'d Allocation>,
    /// Bytes from its start.
    pub(super) offset: u64,
    /// How many values the row counts.
    pub(super) count: u64,
    /// The values, as numbers into [`Dump::values`].
    pub(super) values: Vec<u32>,
}

/// The slot whose row ends at `end`, in bytes from the start of the document.
pub(super) fn at<'d>(dump: &'d Dump, document: &Document, end: u32) -> Option<Slot<'d>> {
    let (table, offset, count) = find(document, end)?;
    let allocation = table.allocation(dump);
    let values = allocation.map_or(0..0, |allocation| allocation.values.clone());
    let lies_there = |&at: &u32| {
        let value = dump.values.get(at as usize);
        value.is_some_and(|value| value.offset == offset.value)
    };
    Some(Slot {
        allocation,
        offset: offset.value,
        count: count.value,
        values: values.filter(lies_there).collect(),
    })
}

/// Which table of the report a row is in. Newer reports do not name the allocation.
#[derive(Default)]
struct Table {
    color: Option<u64>,
    /// Tables before it in its memory space.
    before: usize,
    /// The allocation named in front of it.
    named: Option<u64>,
}

impl Table {
    fn allocation<'d>(&self, dump: &'d Dump) -> Option<&'d Allocation> {
        if let Some(index) = self.named {
            let place = dump.allocation_numbered(index)?;
            return Some(&dump.allocations[place as usize]);
        }
        let color = self.color?;
        let of_color = dump.allocations_in(color).map(|(_, allocation)| allocation);
        let mut of_color: Vec<&Allocation> = of_color.collect();
        // Tables stand in the order of size.
        of_color.sort_by_key(|allocation| (std::cmp::Reverse(allocation.size), allocation.index));
        of_color.get(self.before.checked_sub(1)?).copied()
    }
}

/// The table, the offset and the number of values of the slot whose row ends at `end`.
fn find(document: &Document, end: u32) -> Option<(Table, Number, Number)> {
    let mut table = Table::default();
    let mut found = None;
    for (start, block) in document.blocks() {
        if start >= end {
            break;
        }
        for row in block.report().iter() {
            match row {
                ReportRow::Space { color, .. } if start + color.span.start < end => {
                    table = Table {
                        color: Some(color.value),
                        ..Table::default()
                    };
                    found = None;
                }
                ReportRow::Table(line) if start + line.start < end => {
                    table.before += 1;
                    found = None;
                }
                ReportRow::Allocation(allocation) if start + allocation.line.start < end => {
                    table.named = Some(allocation.index.value);
                    found = None;
                }
                ReportRow::Slot { offset, values, .. } if start + offset.span.start < end => {
                    found = Some((offset, values));
                }
                _ => {}
            }
        }
    }
    found.map(|(offset, values)| (table, offset, values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ide::fixture::{COMBINED, Fixture};
    use crate::ide::navigation::{declaration, definition};

    /// The slots of two allocations of [`COMBINED`], as the newer form lists them.
    const REPORT: &str = "\
//- r.txt
Memory Space: default (color=0)
Total bytes: 17472 (17.1KiB)
  cumulative_size;       size;       offset; used_by_n_values; shapes_list
  ------------------------------------------------------------
        64B(100%);        64B;        16384;                1; f32[16]

";

    #[test]
    fn a_row_leads_to_its_values() {
        let fixture = Fixture::new(&format!("{COMBINED}\n{REPORT}"));
        let file = fixture.dump.files.len() - 1;
        let document = &fixture.dump.files[file].document;
        let offset = document.text().find("16384;").expect("the row") as u32;
        let slot = at(&fixture.dump, document, document.len()).expect("a slot");
        assert_eq!(slot.allocation.map(|allocation| allocation.index), Some(3));
        assert_eq!((slot.offset, slot.count, slot.values.len()), (16384, 1, 1));
        let line = declaration(&fixture.dump, file, offset).expect("a line");
        let [target] = &line.targets[..] else {
            panic!("{line:?}");
        };
        let text = fixture.text(target.place.file, target.place.range.clone());
        assert!(text.contains("<8 while.4{1}"), "{text}");
        assert!(definition(&fixture.dump, file, offset).is_some());
    }
}
