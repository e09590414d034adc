//! The texts of blocks as numbers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use buflens_syntax::Block;
use buflens_syntax::facts::Facts;
use buflens_syntax::facts::brief::Text;

use super::module::JoinedModule;
use crate::model::dump::Dump;
use crate::model::names::{NameId, Names};
use crate::model::shapes::{ShapeId, ShapeTexts};

/// The numbers by which dumps know the texts of their blocks: names, and shapes. The states of one dump, before and
/// after an edit, have one numbering, so that what has not changed is known by its numbers already.
#[derive(Debug)]
pub struct Numbering {
    /// Tells numberings apart.
    pub(super) id: u64,
    pub(super) names: Names,
    pub(super) shapes: ShapeTexts,
    /// The bytes of all of them when the first state was joined; 0 before that.
    pub(super) bytes: usize,
    /// The HLO text of the last state by these numbers.
    pub(super) module: Option<JoinedModule>,
    /// Empty, with the memory of the last state's tables, if nobody needs that any more: the next one's mostly take as much,
    /// and each new page of memory takes the system a while.
    pub(super) tables: Dump,
}

impl Default for Numbering {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            names: Names::default(),
            shapes: ShapeTexts::default(),
            bytes: 0,
            module: None,
            tables: Dump::default(),
        }
    }
}

impl Numbering {
    /// Names that edits have taken away stay, until they are as many as those that are there.
    pub(super) const SLACK: usize = 1 << 20;

    pub(super) fn size(&self) -> usize {
        self.names.bytes() + self.shapes.bytes()
    }

    /// Takes the last state, which is out of date.
    pub fn reuse(&mut self, state: Arc<Dump>) {
        self.tables = Arc::into_inner(state).map_or_else(Dump::default, Dump::emptied);
    }
}

impl Dump {
    /// An empty dump, with the memory of the longest tables of this one.
    fn emptied(self) -> Self {
        fn emptied<T>(mut table: Vec<T>) -> Vec<T> {
            table.clear();
            table
        }
        Self {
            allocations: emptied(self.allocations),
            values: emptied(self.values),
            used_values: emptied(self.used_values),
            live_ranges: emptied(self.live_ranges),
            positions: emptied(self.positions),
            uses: emptied(self.uses),
            steps: emptied(self.steps),
            step_of: emptied(self.step_of),
            ..Self::default()
        }
    }
}

/// The numbers of the texts of a block, of its names and then of its shapes. Those of most are known from the
/// state before an edit.
pub(super) fn numbers_of(
    id: u64,
    names: &mut Names,
    shapes: &mut ShapeTexts,
    block: &Block,
    facts: &Facts,
) -> Arc<[u32]> {
    block.numbers(id, || {
        let text = block.text();
        let (name_count, shape_count) = facts.text_counts();
        let mut numbers = Vec::with_capacity(name_count + shape_count);
        let of_names = facts.names().map(|span| names.intern(span.text(text)));
        numbers.extend(of_names.map(NameId::number));
        let of_shapes = facts.shapes().map(|span| shapes.intern(span.text(text)));
        numbers.extend(of_shapes.map(ShapeId::number));
        numbers.into()
    })
}

/// The texts of one block by their numbers.
pub(super) struct Texts {
    /// Names, and shapes behind them.
    pub(super) numbers: Arc<[u32]>,
    pub(super) names: usize,
    /// That of what is not printed.
    pub(super) none: NameId,
}

impl Texts {
    pub(super) fn name(&self, text: Text) -> NameId {
        let number = text.place().map(|place| self.numbers[place]);
        number.map_or(self.none, NameId::of_number)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use buflens_syntax::Document;

    use super::*;
    use crate::model::{Dump, File};

    fn state(document: &Document, numbering: &mut Numbering) -> Dump {
        state_of(&[document], numbering)
    }

    fn state_of(documents: &[&Document], numbering: &mut Numbering) -> Dump {
        let file = |document: &&Document| File {
            path: PathBuf::from("m-buffer-assignment.txt"),
            document: Document::clone(document),
            lossy: false,
        };
        Dump::numbered(documents.iter().map(file).collect(), numbering)
    }

    fn names(dump: &Dump) -> Vec<&str> {
        let names = dump.values.iter().map(|value| &dump.names[value.name]);
        names.collect()
    }

    fn assignment() -> Document {
        let lines = (0..2000).map(|id| {
            format!(
                "allocation {id}: size 4, thread-local:\n value: <{id} a.{id} @0> (size=4,offset=0): f32[]\n"
            )
        });
        let text = "BufferAssignment:\n".to_owned() + &lines.collect::<String>();
        Document::new(&text).expect("a short text")
    }

    fn renamed(document: &Document, from: &str, to: &str) -> Document {
        let at = document.text().find(from).expect("a name") as u32;
        let range = at..at + from.len() as u32;
        document.clone().edit(range, to).expect("a short text")
    }

    #[test]
    fn states_of_a_dump_have_one_numbering() {
        let mut numbering = Numbering::default();
        let document = assignment();
        let before = state(&document, &mut numbering);
        let document = renamed(&document, " a.1000 ", " b ");
        let after = state(&document, &mut numbering);
        let id = |dump: &Dump, name| dump.names.get(name);
        assert_eq!(id(&before, "a.1999"), id(&after, "a.1999"));
        assert_eq!((id(&before, "b"), id(&after, "b").is_some()), (None, true));
        assert_eq!(names(&before)[1000], "a.1000");
        assert_eq!(names(&after), names(&Dump::new(after.files.clone())));
    }

    #[test]
    fn values_of_one_name_are_in_an_order_that_no_earlier_state_tells() {
        let element = |id, index| {
            format!(
                " value: <{id} a{{{index}}} @0> (size=4,offset={}): f32[]\n",
                4 * id
            )
        };
        let heading = "BufferAssignment:\nallocation 0: size 16, thread-local:\n";
        let lines = [heading, &element(0, 10), &element(1, 2)].concat();
        let mut numbering = Numbering::default();
        let document = Document::new(&lines).expect("a short text");
        state(&document, &mut numbering);
        let at = heading.len() as u32;
        let document = document.edit(at..at, &element(2, 1)).expect("a short text");
        let states = [
            state(&document, &mut numbering),
            state(&document, &mut Numbering::default()),
        ];
        for dump in states {
            let name = dump.names.get("a").expect("it stands there");
            let ids = dump.values_of(name).map(|at| dump.values[at as usize].id);
            assert_eq!(ids.collect::<Vec<_>>(), [2, 1, 0]);
            let third = dump.names.get("{10}").expect("it stands there");
            assert_eq!(dump.values_at(name, third).collect::<Vec<_>>(), [1]);
        }
    }

    #[test]
    fn the_hlo_text_is_joined_again_only_where_it_has_changed() {
        let mut numbering = Numbering::default();
        let text = "HloModule m\n\nENTRY e {\n  a = f32[] parameter(0)\n  ROOT b = f32[2]{0} broadcast(a), dimensions={}\n}\n";
        let module = Document::new(text).expect("a short text");
        let assignment = assignment();
        let first = state_of(&[&assignment, &module], &mut numbering);
        let assignment = renamed(&assignment, " a.1000 ", " b ");
        let second = state_of(&[&assignment, &module], &mut numbering);
        assert!(Arc::ptr_eq(&first.module, &second.module));
        let module = renamed(&module, "  a = f32[]", "  c = f32[7]");
        let third = state_of(&[&assignment, &module], &mut numbering);
        let shape = |dump: &Dump, name| {
            let found = dump.module.instructions.get(dump.names.get(name)?)?;
            Some(dump.shapes[found.shape].to_owned())
        };
        assert_eq!(shape(&second, "a").as_deref(), Some("f32[]"));
        assert_eq!(
            (shape(&third, "a"), shape(&third, "c").as_deref()),
            (None, Some("f32[7]"))
        );
        // As another file of the dump its rows are others.
        let moved = state_of(&[&module, &assignment], &mut numbering);
        let b = moved.names.get("b").expect("a name");
        let b = moved.module.instructions.get(b).expect("an instruction");
        assert_eq!(b.row.file(), 0);
    }

    #[test]
    fn what_edits_have_taken_away_is_forgotten() {
        let mut numbering = Numbering::default();
        let mut document = assignment();
        state(&document, &mut numbering);
        let mut name = "a.1000".to_owned();
        for round in 0..40 {
            let next = format!("b{round}{}", "_".repeat(60_000));
            document = renamed(&document, &format!(" {name} "), &format!(" {next} "));
            name = next;
            let dump = state(&document, &mut numbering);
            assert_eq!(names(&dump)[1000], name);
            assert_eq!(names(&dump)[1999], "a.1999");
            assert!(numbering.size() < 2 * numbering.bytes + Numbering::SLACK + 200_000);
        }
        let dump = state(&document, &mut numbering);
        assert!(
            dump.names
                .get(&format!("b0{}", "_".repeat(60_000)))
                .is_none()
        );
    }
}
