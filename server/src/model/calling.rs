//! The instructions of the HLO text that call, and what runs a computation.

use buflens_syntax::{InstructionParts, facts};
use rustc_hash::{FxHashMap, FxHashSet};

use super::cancel::checkpoint;
use super::origin::{branches, called};
use super::{Dump, NameId, Row};

/// Opcodes of instructions of which some have to be found by what they call.
pub(super) const CALLING: [&str; 5] = ["async-start", "call", "conditional", "fusion", "while"];

/// An instruction of the HLO text with an opcode of [`CALLING`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Calling {
    pub(super) row: Row,
    pub(super) name: NameId,
    pub(super) opcode: NameId,
}

impl Dump {
    /// Hands over the instructions of the HLO text with one of these opcodes of [`CALLING`], in its order: the name and the text
    /// of each.
    pub(super) fn each_calling(&self, opcodes: &[&str], mut each: impl FnMut(NameId, &str)) {
        debug_assert!(opcodes.iter().all(|it| CALLING.contains(it)));
        let is_wanted = |it: &&Calling| opcodes.contains(&&self.names[it.opcode]);
        let is_beside = |one: &Calling, next: &Calling| one.row.block() == next.row.block();
        for in_block in self.module.calling.chunk_by(is_beside) {
            checkpoint();
            let mut wanted = in_block.iter().filter(is_wanted).peekable();
            let block = wanted.peek().and_then(|first| {
                let file = self.files.get(first.row.file())?;
                file.document.passing_block(first.row.block())
            });
            let Some((_, block)) = block else {
                continue;
            };
            for calling in wanted {
                if let Some(row) = block.row_with::<facts::Instruction>(calling.row.place()) {
                    each(calling.name, row.span.text(block.text()));
                }
            }
        }
    }

    /// The `while` that runs `computation` of the HLO text, as its body or its condition, the instruction that runs
    /// it asynchronously, or the `call`, as of a command buffer, or `conditional` that does, if nothing else runs it.
    pub fn runner_of(&self, computation: u32) -> Option<NameId> {
        let runners = self.module.runners.get_or_init(|| self.runners());
        runners.get(&computation).copied()
    }

    fn runners(&self) -> FxHashMap<u32, NameId> {
        const RUNNING: [&str; 4] = ["async-start", "call", "conditional", "while"];
        let (mut runners, mut others) = (FxHashMap::default(), FxHashSet::default());
        self.each_calling(&RUNNING, |name, text| {
            let parts = InstructionParts::read_up_to(text, 0);
            let keys: &[&str] = match parts.opcode {
                "async-start" => &["calls"],
                "call" => &["to_apply"],
                "while" => &["body", "condition"],
                _ => &[],
            };
            let is_loop = matches!(parts.opcode, "async-start" | "while");
            let named = |text: &&str| self.computation_named(self.names.get(text)?);
            let by_key = keys.iter().filter_map(|key| called(self, &parts, key));
            let branches = branches(&parts);
            for computation in by_key.chain(branches.iter().filter_map(named)) {
                let (first, is_loop) = *runners.entry(computation).or_insert((name, is_loop));
                if first != name && !is_loop {
                    others.insert(computation);
                }
            }
        });
        let only = runners.into_iter();
        let only = only.filter(|(computation, _)| !others.contains(computation));
        only.map(|(computation, (name, _))| (computation, name))
            .collect()
    }

    /// What [runs](Dump::runner_of) the computation that the instruction called `name` is in, what runs that, and so on: the
    /// loops around it among them, the innermost first.
    pub fn runners_of(&self, name: NameId) -> impl Iterator<Item = NameId> + '_ {
        /// No program has as many loops in loops, and some may go in circles.
        const MOST: usize = 16;
        let runner =
            |name: &NameId| self.runner_of(self.module.instructions.get(*name)?.computation?);
        std::iter::successors(runner(&name), runner).take(MOST)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::PathBuf;

    use buflens_syntax::Document;

    use super::*;
    use crate::model::{File, Located};

    /// HLO texts of real compilers, and what people may write.
    fn texts() -> Vec<String> {
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/dumps");
        let folders = std::fs::read_dir(fixtures).expect("the fixtures");
        let folders = folders.map(|folder| folder.expect("a folder").path());
        let files = folders.flat_map(|it| std::fs::read_dir(it).expect("a folder"));
        let texts = files.map(|it| std::fs::read_to_string(it.expect("a file").path()));
        let texts = texts.map(|text| text.expect("a text"));
        let is_module = |text: &String| text.starts_with("HloModule");
        let mut texts: Vec<String> = texts.filter(is_module).collect();
        assert!(texts.len() > 20, "{}", texts.len());
        let copy = |bitcasts: usize| {
            let mut text = "  p = f32[] parameter(0)\n".to_owned();
            for number in 0..bitcasts {
                writeln!(text, "  b.{number} = f32[] bitcast(p)").expect("a string");
            }
            text + "  c = f32[] copy(p)\n}\n\n"
        };
        let stray = "  x = f32[] copy(x)\n";
        let entry = "ENTRY e {\n  z = f32[] fusion(y), kind=kLoop, calls=f\n}\n";
        for bitcasts in [0, 6, 7] {
            let copy = copy(bitcasts);
            let module =
                format!("HloModule m\n\n{stray}f {{\n{copy}g {{\n{copy}f {{\n{copy}{entry}");
            texts.extend([module.replace('\n', "\r\n"), format!("{module}\n{module}")]);
            let name = "f".repeat(3000);
            texts.push(module.replace("f {", &format!("{name} {{")));
        }
        texts
    }

    #[test]
    fn the_join_notes_what_calls_and_what_may_copy() {
        let (mut calling, mut copying) = (0, 0);
        for text in texts() {
            let file = File {
                path: PathBuf::from("m.txt"),
                document: Document::new(&text).expect("short"),
                lossy: false,
            };
            let dump = Dump::new(vec![file]);
            let end = dump.module.second.as_ref().map_or(u32::MAX, |it| it.start);
            let blocks = dump.files[0].document.blocks().enumerate();
            let blocks = blocks.filter(|(_, (start, _))| *start < end);
            let all: Vec<(Located, &str)> = blocks
                .flat_map(|(number, (_, block))| {
                    let (rows, _) = dump.instructions_and_mentions(0, number, block);
                    let opcode = |row: &Located| row.row.opcode.text(block.text());
                    rows.into_iter().map(move |row| (row, opcode(&row)))
                })
                .collect();
            let calls = all.iter().filter(|(_, opcode)| CALLING.contains(opcode));
            let calls: Vec<Row> = calls.map(|(row, _)| row.at).collect();
            let noted: Vec<Row> = dump.module.calling.iter().map(|it| it.row).collect();
            assert_eq!(noted, calls);
            calling += calls.len();
            let own = |computation| {
                let own = all
                    .iter()
                    .filter(move |(row, _)| row.computation == Some(computation));
                own.map(|&(_, opcode)| opcode).collect::<Vec<&str>>()
            };
            let computations = 0..dump.module.computations.len() as u32;
            let may_copy = |&computation: &u32| {
                let opcodes = own(computation);
                let moves = ["copy", "transpose"];
                opcodes.len() <= 8
                    && opcodes.iter().any(|it| moves.contains(it))
                    && opcodes
                        .iter()
                        .all(|it| moves.contains(it) || ["bitcast", "parameter"].contains(it))
            };
            let copies: Vec<u32> = computations.clone().filter(may_copy).collect();
            assert_eq!(dump.module.copying, copies);
            copying += copies.len();
            // What stands behind the end of the module is the last one's.
            let last = computations.end.saturating_sub(1);
            for computation in computations.filter(|&it| it < last || end == u32::MAX) {
                let rows = dump.instructions_of(computation);
                let opcodes = rows.map(|(block, row)| row.opcode.text(block.text()).to_owned());
                let opcodes: Vec<String> = opcodes.collect();
                assert_eq!(opcodes, own(computation));
            }
        }
        assert!(calling > 100 && copying > 10, "{calling} {copying}");
    }
}
