//! Section A: allocations and the values in them.

use std::num::NonZeroU32;

use buflens_syntax::facts::brief::{self, Text};

use super::Join;
use super::numbering::Texts;
use crate::model::{Allocation, ParameterLeaf, Row, Value};

impl Join<'_> {
    pub(super) fn push_placement(&mut self, placement: &brief::Placement, texts: &Texts, row: Row) {
        let at = self.dump.values.len() as u32;
        let value = self.new_value(&placement.value, texts);
        let shape = self.shape(texts, placement.shape);
        let is_read = placement.is_read;
        let dump = &mut self.dump;
        if placement.value.is_whole {
            dump.by_id.add(value.id, at);
        }
        if let Some(allocation) = dump.allocations.last_mut() {
            allocation.add(at, is_read);
        }
        dump.values.push(Value {
            placement: Some(row),
            shape: Some(shape),
            holder: NonZeroU32::new(dump.allocations.len() as u32),
            size: if is_read { placement.size } else { 0 },
            offset: if is_read { placement.offset } else { 0 },
            ..value
        });
    }

    pub(super) fn push_allocation(&mut self, header: &brief::Allocation, texts: &Texts, row: Row) {
        let is_printed = |text: &Text| *text != Text::NONE;
        let shape = Some(header.parameter_shape).filter(is_printed);
        let index = Some(header.parameter_index).filter(is_printed);
        let shape = shape.map(|shape| self.shape(texts, shape));
        let index = index.map(|index| texts.name(index));
        let dump = &mut self.dump;
        if let Some(number) = header.parameter {
            let leaf = ParameterLeaf {
                number,
                shape,
                index,
            };
            dump.parameter_leaves.push(leaf);
        }
        let (leaves, values) = (dump.parameter_leaves.len(), dump.values.len() as u32);
        dump.allocations
            .push(Allocation::new(row, header, leaves, values));
    }
}

#[cfg(test)]
mod tests {
    use buflens_syntax::Document;

    use crate::model::{Dump, File};

    fn dump(text: &str) -> Dump {
        Dump::new(vec![File {
            path: "m-buffer-assignment.txt".into(),
            document: Document::new(text).expect("a short text"),
            lossy: false,
        }])
    }

    #[test]
    fn a_header_that_has_strayed_among_allocations_is_of_a_value_of_theirs() {
        let text = "BufferAssignment:\n<1 b @0>\nallocation 0: size 4, thread-local:\n \
                    value: <1 b @0> (size=4,offset=0): f32[]\n";
        let dump = dump(text);
        let [value] = &*dump.values else {
            panic!("one value, found {:?}", dump.values);
        };
        assert!(value.placement.is_some() && value.is_used());
    }

    #[test]
    fn each_allocation_has_the_leaf_of_its_own_header() {
        let text = "BufferAssignment:\n\
                    allocation 0: size 4, parameter 4294967299, shape |f32[]| at ShapeIndex {1}:\n\
                    allocation 1: size 4, thread-local:\n\
                    allocation 2: size 4, parameter 0, shape |s32[]| at ShapeIndex {}:\n";
        let dump = dump(text);
        let leaves = dump.allocations.iter().map(|allocation| {
            let leaf = dump.parameter_leaf(allocation)?;
            let shape = leaf.shape.map(|shape| &dump.shapes[shape]);
            Some((leaf.number, shape, leaf.index.map(|it| &dump.names[it])))
        });
        let expected = [
            Some((4_294_967_299, Some("f32[]"), Some("{1}"))),
            None,
            Some((0, Some("s32[]"), Some("{}"))),
        ];
        assert_eq!(leaves.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_first_value_with_an_id_is_found_however_large_the_id() {
        let small = 1 << 22;
        let ids = [
            7,
            0,
            small - 1,
            small,
            u64::MAX - 1,
            7,
            u64::MAX - 1,
            small - 1,
        ];
        let values = ids.map(|id| format!(" value: <{id} b.{id} @0> (size=4,offset=0): f32[]\n"));
        let text = "BufferAssignment:\nallocation 0: size 4, thread-local:\n".to_owned();
        let dump = dump(&(text + &values.concat()));
        let found = [0, 7, small - 1, small, u64::MAX - 1].map(|id| dump.value_with_id(id));
        assert_eq!(found, [1, 0, 2, 3, 4].map(Some));
        assert_eq!([1, small + 1].map(|id| dump.value_with_id(id)), [None; 2]);
        assert!(!dump.ids_are_unique());
    }
}
