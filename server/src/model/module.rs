//! Finding one's way in the HLO text: computations and what is in them.

use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use buflens_syntax::ast::{AstNode, Attribute};
use buflens_syntax::facts::{self, Heading, Span};
use buflens_syntax::{Block, Document, Mention, MentionKind, SyntaxKind, SyntaxToken};
use rowan::NodeOrToken;
use rustc_hash::{FxHashMap, FxHashSet};

use super::allocation::Allocation;
use super::calling::Calling;
use super::cancel::checkpoint;
use super::dump::{At, Dump, FileId, Part};
use super::fused::{Fusion, Moved, Operands};
use super::names::NameId;
use super::row::Row;
use super::shapes::{ShapeId, index_numbers};
use super::signature::Signatures;

/// The HLO text, joined: what it says without the other files. States of a dump in which that text is the same share it.
#[derive(Debug, Default)]
pub struct Module {
    /// The instructions.
    pub instructions: Instructions,
    /// Instructions whose names another computation has before: no compiler writes such, people do. By computation and name;
    /// the first of equal names counts.
    pub(super) repeated: FxHashMap<(u32, NameId), Instruction>,
    /// The computations, in the order of the text.
    pub computations: Vec<Row>,
    /// The computations by name, as numbers into `computations`. The first of equal names counts.
    pub(super) computations_by_name: FxHashMap<NameId, u32>,
    /// What the computations take and give.
    pub signatures: Signatures,
    /// The tables in its header; a row's number is one more than its place.
    pub tables: Tables,
    /// The instructions with opcodes of [`CALLING`], in the order of the text.
    pub(super) calling: Vec<Calling>,
    /// The computations that may [only copy](Dump::copied_by), in the order of the text.
    pub(super) copying: Vec<u32>,
    /// Where another module begins in the text, if one does: it is not read.
    pub(super) second: Option<Range<u32>>,
    /// Computed when it is asked for first.
    donors: OnceLock<Donors>,
    /// What runs a computation on its own, found when it is asked for first.
    pub(super) runners: OnceLock<FxHashMap<u32, NameId>>,
    /// See [`Dump::copied_in`].
    pub(super) copied: OnceLock<FxHashMap<NameId, Moved>>,
    /// See [`Dump::operands_of`].
    pub(super) fused: Mutex<FxHashMap<Fusion, Arc<Operands>>>,
}

impl Module {
    /// Whether no two computations have one name.
    pub fn has_distinct_computations(&self) -> bool {
        self.computations_by_name.len() == self.computations.len()
    }
}

/// An instruction of the HLO text.
#[derive(Debug, Clone, Copy)]
pub struct Instruction {
    /// The line.
    pub row: Row,
    /// Its computation, as a number into [`Module::computations`].
    pub computation: Option<u32>,
    /// The shape of its result.
    pub shape: ShapeId,
}

/// A line of the HLO text with all its spans.
#[derive(Debug, Clone, Copy)]
pub struct Located {
    /// Which line.
    pub at: Row,
    /// Its computation, as a number into [`Module::computations`].
    pub computation: Option<u32>,
    /// What stands there.
    pub row: facts::Instruction,
}

/// The instructions of the HLO text by name. The first of equal names counts.
#[derive(Debug, Default)]
pub struct Instructions {
    all: Vec<Instruction>,
    /// By the place of a name: the number of the one that is called so, [`Self::NONE`] if none is.
    numbers: Vec<u32>,
}

impl Instructions {
    const NONE: u32 = u32::MAX;

    /// The one with this name.
    pub fn get(&self, name: NameId) -> Option<&Instruction> {
        let number = self.numbers.get(name.place())?;
        self.all.get(*number as usize)
    }

    /// Whether there is one with this name.
    pub fn has(&self, name: NameId) -> bool {
        self.get(name).is_some()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All of them, each with its name, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (NameId, &Instruction)> {
        let numbers = self.numbers.iter().enumerate();
        numbers.filter_map(|(place, &number)| {
            Some((NameId::at(place), self.all.get(number as usize)?))
        })
    }

    /// The first one with this name, which is `instruction` if there has been none.
    pub(super) fn first(&mut self, name: NameId, instruction: Instruction) -> Instruction {
        if let Some(first) = self.get(name) {
            return *first;
        }
        if self.numbers.len() <= name.place() {
            self.numbers.resize(name.place() + 1, Self::NONE);
        }
        self.numbers[name.place()] = self.all.len() as u32;
        self.all.push(instruction);
        instruction
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.all.shrink_to_fit();
        self.numbers.shrink_to_fit();
    }
}

/// The tables that lead from a `stack_frame_id` to a line of source.
#[derive(Debug, Clone, Default)]
pub struct Tables {
    /// `1 "/home/user/model.py"`
    pub file_names: Vec<Row>,
    /// `1 "train_step"`
    pub function_names: Vec<Row>,
    /// `1 {file_name_id=1 function_name_id=1 line=9 ...}`
    pub file_locations: Vec<Row>,
    /// `1 {file_location_id=1 parent_frame_id=1}`
    pub stack_frames: Vec<Row>,
}

impl Tables {
    /// All of them, in the order of the text.
    pub fn all(&self) -> [&[Row]; 4] {
        [
            &self.file_names,
            &self.function_names,
            &self.file_locations,
            &self.stack_frames,
        ]
    }

    /// The table under the heading `title`.
    pub(super) fn under(&mut self, title: &str) -> Option<&mut Vec<Row>> {
        match title {
            "FileNames" => Some(&mut self.file_names),
            "FunctionNames" => Some(&mut self.function_names),
            "FileLocations" => Some(&mut self.file_locations),
            "StackFrames" => Some(&mut self.stack_frames),
            _ => None,
        }
    }
}

/// A parameter of the entry computation, and the index of a leaf of it.
type Leaf = (u64, Vec<u64>);

/// Who donates what, by the header of the HLO text.
#[derive(Debug, Clone, Default)]
pub struct Donors {
    /// Those in `buffer_donor={ (0, {}), (2, {1}) }`.
    leaves: FxHashSet<Leaf>,
    /// Whether XLA chooses the output for a donated parameter, and asks for its bytes alone: JAX, which asks for the number of
    /// elements, leaves that to it in programs of several devices where it does not know how the outputs are sharded.
    pub take_any_output: bool,
}

/// The leaves among the tokens of a `buffer_donor`: each a parameter's number and an index, in parentheses.
fn leaves(tokens: impl Iterator<Item = SyntaxToken>) -> FxHashSet<Leaf> {
    let mut leaves: Vec<Leaf> = Vec::new();
    let mut is_index = false;
    for token in tokens {
        let number = || token.text().parse().ok();
        match (token.kind(), token.text()) {
            (SyntaxKind::Punctuation, "(") => is_index = false,
            (SyntaxKind::Number, _) if is_index => {
                leaves
                    .last_mut()
                    .into_iter()
                    .for_each(|(_, index)| index.extend(number()));
            }
            (SyntaxKind::Number, _) => {
                leaves.extend(number().map(|parameter| (parameter, Vec::new())));
                is_index = true;
            }
            _ => {}
        }
    }
    leaves.into_iter().collect()
}

impl Dump {
    /// Whether the caller donates the parameter whose buffer this is, and no output is written over it. Those that
    /// one is written over the compiler takes out of the `buffer_donor` in the header of the HLO text.
    pub fn is_donated_in_vain(&self, allocation: &Allocation) -> bool {
        let leaf = self.parameter_leaf(allocation);
        let Some(leaf) = leaf.filter(|_| !allocation.is_donated()) else {
            return false;
        };
        let leaves = &self.donors().leaves;
        let index = leaf.index.map(|index| &self.names[index]);
        !leaves.is_empty()
            && leaves.contains(&(leaf.number, index_numbers(index.unwrap_or_default())))
    }

    /// What the header of the HLO text tells of donation.
    pub fn donors(&self) -> &Donors {
        self.module.donors.get_or_init(|| self.read_donors())
    }

    fn read_donors(&self) -> Donors {
        let tokens = |key: &str| {
            let nodes = self.in_module_header(key).into_iter();
            let tokens = nodes.flat_map(|(it, _)| it.syntax().descendants_with_tokens());
            tokens.filter_map(NodeOrToken::into_token)
        };
        let number = |token: &SyntaxToken| token.text().parse::<u64>().ok();
        let is_partitioned =
            tokens("num_partitions").any(|it| number(&it).is_some_and(|it| it > 1));
        let propagation = "allow_spmd_sharding_propagation_to_output";
        Donors {
            leaves: leaves(tokens("buffer_donor")),
            take_any_output: is_partitioned && tokens(propagation).any(|it| it.text() == "true"),
        }
    }

    /// An attribute of the line that begins the HLO text, `HloModule jit_f, is_scheduled=true`, and where it stands.
    pub fn in_module_header(&self, key: &str) -> Option<(Attribute, At<'_, Span>)> {
        let file = self.file_of(Part::Module)?;
        let document = &self.files[file].document;
        let (start, block, line) = document.blocks().find_map(|(start, block)| {
            let mut headings = block.headings().iter();
            let module = headings.find(|(heading, _)| matches!(heading, Heading::Module(_)))?;
            Some((start, block, module.1))
        })?;
        if !line.text(block.text()).contains(key) {
            return None;
        }
        let (tree, token) = document.token_at(start + line.start)?;
        let line = token.parent_ancestors().last()?;
        let mut attributes = line.descendants().filter_map(Attribute::cast);
        let attribute = attributes.find(|it| it.key().is_some_and(|it| it.text() == key))?;
        let (range, before) = (attribute.syntax().text_range(), tree - start);
        let row = Span {
            start: before + u32::from(range.start()),
            end: before + u32::from(range.end()),
        };
        Some((
            attribute,
            At {
                file,
                start,
                block,
                row,
            },
        ))
    }

    /// The first computation of this name, as a number into [`Module::computations`].
    pub fn computation_named(&self, name: NameId) -> Option<u32> {
        self.module.computations_by_name.get(&name).copied()
    }

    /// The computation of the HLO text that the byte at `offset` of `file` is in, or behind.
    pub fn computation_at(&self, file: FileId, offset: u32) -> Option<u32> {
        let document = &self.files.get(file)?.document;
        if Part::from(document.kind()) != Part::Module {
            return None;
        }
        let block = document.block_at(offset)?;
        let (start, content) = document.block(block)?;
        let headers = content.computations();
        let before = headers.partition_point(|header| start + header.line.start <= offset);
        let behind = Row::new(file, block, before);
        let number = self
            .module
            .computations
            .partition_point(|&row| row < behind);
        Some(number.checked_sub(1)? as u32)
    }

    /// The instructions of `block`, block `number` of the HLO text, which is file `file`, in its order, and what they mention.
    /// A pass over every token.
    pub fn instructions_and_mentions(
        &self,
        file: FileId,
        number: usize,
        block: &Block,
    ) -> (Vec<Located>, Vec<Mention>) {
        let (rows, mentions) = block.instructions_and_mentions();
        let mut computation = self.computations_before(file, number).checked_sub(1);
        let mut headers = self.computations_in(file, number, block).peekable();
        let located = rows.into_iter().map(|(line, row)| {
            let is_before = |header: &facts::Computation| header.line.start <= row.span.start;
            while let Some((own, _)) = headers.next_if(|(_, header)| is_before(header)) {
                computation = Some(own);
            }
            Located {
                at: Row::new(file, number, line),
                computation,
                row,
            }
        });
        (located.collect(), mentions)
    }

    /// The headers of computations in `block`, block `number` of the HLO text, which is file `file`, each with the computation's
    /// number.
    pub fn computations_in<'b>(
        &self,
        file: FileId,
        number: usize,
        block: &'b Block,
    ) -> impl Iterator<Item = (u32, &'b facts::Computation)> + use<'b> {
        (self.computations_before(file, number)..).zip(block.computations())
    }

    /// How many computations begin before block `block` of the HLO text.
    pub fn computations_before(&self, file: FileId, block: usize) -> u32 {
        let first = Row::new(file, block, 0);
        let computations = &self.module.computations;
        computations.partition_point(|&row| row < first) as u32
    }

    /// The lines of the headers of a computation and of the next one; without one of the first alone.
    fn headers_of(&self, computation: Option<u32>) -> [Option<Row>; 2] {
        let header = |number: u32| self.module.computations.get(number as usize).copied();
        let next = computation.map_or(0, |it| it.saturating_add(1));
        [computation.and_then(header), header(next)]
    }

    /// The numbers of the blocks of the HLO text that a computation reaches into; without one those before the first.
    pub fn block_numbers_of(&self, computation: Option<u32>) -> Range<usize> {
        let [first, next] = self.headers_of(computation);
        let file = self.file_of(Part::Module);
        let blocks = file.map_or(0, |file| self.files[file].document.blocks().len());
        first.map_or(0, Row::block)..next.map_or(blocks, |row| row.block() + 1)
    }

    /// The instruction called `name` in `computation` of the HLO text; without a computation, or if
    /// it has none of that name, the first one called so.
    pub fn instruction_in(&self, computation: Option<u32>, name: NameId) -> Option<Instruction> {
        let first = self.module.instructions.get(name)?;
        let in_it = || self.module.repeated.get(&(computation?, name));
        let own = (first.computation != computation).then(in_it).flatten();
        Some(*own.unwrap_or(first))
    }

    /// The name of a computation, by its number into [`Module::computations`].
    pub fn computation_name(&self, number: u32) -> Option<&str> {
        let at = self.at::<facts::Computation>(*self.module.computations.get(number as usize)?)?;
        Some(at.text(at.row.name))
    }

    /// Whether the instruction called `name` gives the result of its computation; `None` without the HLO text's line.
    pub fn is_root(&self, name: NameId) -> Option<bool> {
        let line = self.at::<facts::Instruction>(self.module.instructions.get(name)?.row)?;
        Some(line.row.is_root(line.block.text()))
    }

    /// Whether the HLO text prints elements of tuples as `%tuple#1`, and not the instructions that take them out.
    pub fn hides_elements(&self) -> bool {
        let is_element = |text: &str, mention: &Mention| {
            let behind = &text.as_bytes()[mention.span.end as usize..];
            mention.kind == MentionKind::Operand && behind.starts_with(b"#")
        };
        self.module_blocks().any(|block| {
            checkpoint();
            let text = block.text();
            text.contains('#') && block.mentions().iter().any(|it| is_element(text, it))
        })
    }

    /// The blocks of the HLO text, for a pass over all of it: one that is not held is read again, and goes with what is handed out.
    pub fn module_blocks(&self) -> impl Iterator<Item = Arc<Block>> {
        let document = self
            .file_of(Part::Module)
            .map(|file| &self.files[file].document);
        let second = self.module.second.as_ref().map(|line| line.start);
        let blocks = document.into_iter().flat_map(Document::passing_blocks);
        blocks
            .take_while(move |(start, _)| second.is_none_or(|second| *start < second))
            .map(|(_, block)| block)
    }

    /// All instructions of the HLO text, with their names, in no order.
    pub fn all_instructions(&self) -> impl Iterator<Item = (NameId, &Instruction)> {
        let repeated = self.module.repeated.iter();
        let repeated = repeated.map(|(&(_, name), it)| (name, it));
        self.module.instructions.iter().chain(repeated)
    }

    /// Whether `computation` of the HLO text has an instruction called `name`, and one before it has as well.
    pub fn is_repeated_in(&self, computation: u32, name: NameId) -> bool {
        self.module.repeated.contains_key(&(computation, name))
    }

    /// Whether several computations of the HLO text have an instruction called `name`.
    pub fn is_repeated(&self, name: NameId) -> bool {
        !self.module.repeated.is_empty() && self.module.repeated.keys().any(|key| key.1 == name)
    }

    /// The instructions of a computation of the HLO text, each with the block that its spans count in.
    pub fn instructions_of(
        &self,
        computation: u32,
    ) -> impl DoubleEndedIterator<Item = (Arc<Block>, facts::Instruction)> {
        let blocks = self.blocks_of(computation);
        blocks.flat_map(|(_, block, lines)| block.into_rows_on(lines))
    }

    /// The blocks of the HLO text that a computation reaches into, each with where it begins and with its lines that are
    /// the computation's. As with [`Dump::module_blocks`], what is not held goes with what is handed out.
    pub fn blocks_of(
        &self,
        computation: u32,
    ) -> impl DoubleEndedIterator<Item = (u32, Arc<Block>, Range<usize>)> {
        let headers = self.headers_of(Some(computation));
        let numbers = headers[0].map(|_| self.block_numbers_of(Some(computation)));
        let file = headers[0].and_then(|first| self.files.get(first.file()));
        numbers.unwrap_or_default().filter_map(move |number| {
            let document = &file?.document;
            let (_, block) = document.block(number)?;
            let [from, to] = headers.map(|row| {
                let row = row.filter(|row| row.block() == number)?;
                block.line_of(block.computations().get(row.place())?.line.start)
            });
            let lines = from.unwrap_or(0)..to.unwrap_or(usize::MAX);
            if lines.is_empty() {
                return None;
            }
            let (start, block) = document.passing_block(number)?;
            Some((start, block, lines))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::PathBuf;

    use buflens_syntax::Document;

    use super::*;
    use crate::model::File;

    #[test]
    fn a_name_is_that_of_its_computation() {
        let mut text = "HloModule m\n\nf {\n  x = f32[] parameter(0)\n".to_owned();
        for number in 0..2000 {
            writeln!(text, "  y.{number} = f32[] negate(x)").expect("a string");
        }
        text += "}\n\ng {\n}\n\nENTRY e {\n  x = f32[] parameter(0)\n  z = f32[] call(x), to_apply=f\n}\n";
        let file = File {
            path: PathBuf::from("m.txt"),
            document: Document::new(&text).expect("short"),
            lossy: false,
        };
        let dump = Dump::new(vec![file]);
        assert!(dump.files[0].document.blocks().len() > 2);
        let count = |computation| -> usize {
            let blocks = dump.blocks_of(computation);
            let counts =
                blocks.map(|(_, block, lines)| block.count_on::<facts::Instruction>(&lines));
            counts.sum()
        };
        assert_eq!((count(0), count(1), count(2), count(3)), (2001, 0, 2, 0));
        let at = |text_in_it: &str| {
            let offset = text.find(text_in_it).expect("in the text") as u32;
            dump.computation_at(0, offset)
        };
        assert_eq!(at("HloModule"), None);
        assert_eq!(at("f {"), Some(0));
        assert_eq!(at("y.1999"), Some(0));
        assert_eq!(at("g {"), Some(1));
        assert_eq!(at("z = "), Some(2));
        let x = dump.names.get("x").expect("a name");
        let offset = |computation| {
            let row = dump
                .instruction_in(computation, x)
                .expect("an instruction")
                .row;
            let at = dump.at::<facts::Instruction>(row).expect("a row");
            at.start + at.row.name.start
        };
        assert_eq!(offset(Some(0)) as usize, text.find("x = ").expect("x"));
        assert_eq!(offset(Some(1)), offset(Some(0)));
        assert_eq!(offset(Some(2)) as usize, text.rfind("x = ").expect("x"));
        assert!(dump.is_repeated(x));
        assert!(!dump.is_repeated(dump.names.get("z").expect("a name")));
    }
}
