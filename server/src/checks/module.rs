//! The HLO text: names that lead nowhere or twice, operands that are missing, shapes that do not
//! follow from them, layouts that are no order, and tables that do not lead to a line of source.

use std::sync::Arc;

use buflens_syntax::ast::{AstNode, MetadataEntry, TableRow};
use buflens_syntax::facts::{self, Heading, Span};
use buflens_syntax::{Block, Document, Mention, MentionKind};
use rustc_hash::FxHashSet;

use super::calls::{Call, Declared, Odd, Shaped, Signature};
use super::inference::Operation;
use super::labels::cut;
use super::structure::Section;
use super::words::check_words;
use super::{Code, Context, Doubts, Finding, Findings};
use crate::model::bytes::counted;
use crate::model::cancel::checkpoint;
use crate::model::signature::Parameter;
use crate::model::{
    At, Dump, FileId, Instruction, Located, Part, Place, Row, cancel, opcodes, source,
};
pub use seen::Seen;
use seen::{Comparison, Interface};

/// All checks of the HLO text. A line that was not understood may hold whatever seems to be missing,
/// so the text must be whole.
pub(super) fn check_module(context: &Context, doubts: &Doubts, findings: &mut Findings) {
    let dump = context.dump;
    let Some(file) = dump.file_of(Part::Module) else {
        return;
    };
    if !doubts.are_whole(&[Section::Module]) {
        return;
    }
    findings.join(context.standing.of_module(&dump.module, || {
        let mut found = Findings::default();
        check_text(context, file, &mut found);
        found
    }));
}

fn check_text(context: &Context, file: FileId, findings: &mut Findings) {
    let dump = context.dump;
    let document = &dump.files[file].document;
    let blocks = document.blocks().take(one_module(document));
    let blocks: Vec<&Block> = blocks.map(|(_, block)| block).collect();
    let before = context.standing.seen();
    let comparison = Comparison::new(&before, &blocks);
    // A block needs no other one, only names and signatures: so all cores can take part.
    let read = |numbers: Vec<usize>| {
        cancel::map(numbers, |number| {
            (number, InBlock::read(context, file, number))
        })
    };
    let mut all = read(comparison.new_blocks().collect());
    let interfaces = all.iter().map(|(_, it)| &it.interface);
    all.extend(read(comparison.others(dump, file, interfaces)));
    all.sort_unstable_by_key(|(number, _)| *number);
    let mut seen: Vec<Option<Arc<Seen>>> = (0..blocks.len())
        .map(|number| comparison.seen(number).cloned())
        .collect();
    let (mut odd, mut contradicted) = (Vec::new(), Vec::new());
    for (number, in_block) in all {
        let is_sound = in_block.is_sound();
        findings.extend(in_block.findings);
        odd.extend(in_block.odd);
        contradicted.extend(in_block.contradicted);
        let block = Seen::new(blocks[number], in_block.interface, is_sound);
        seen[number] = Some(Arc::new(block));
    }
    context.standing.see(seen.into_iter().flatten().collect());
    check_roots(dump, findings);
    for parameters in dump.module.signatures.parameters() {
        check_parameters(dump, parameters, findings);
    }
    let told: FxHashSet<Row> = odd
        .iter()
        .flat_map(|it| it.others.iter().copied())
        .collect();
    for number in contradicted {
        let header = dump.at::<facts::Computation>(dump.module.computations[number as usize]);
        let problems =
            header.map(|it| header_problems(context, &it, number, |row| told.contains(&row)));
        odd.extend(problems.into_iter().flatten());
    }
    findings.extend(Odd::first(odd));
    check_computations(dump, findings);
    check_tables(dump, findings);
}

/// `instruction-shape` and `operand-count`: what the header of computation `number`, or for the entry that of the module, says of
/// it is not so.
fn header_problems<'d>(
    context: &Context<'d>,
    header: &At<'d, facts::Computation>,
    number: u32,
    is_doubted: impl Fn(Row) -> bool,
) -> Vec<Odd> {
    let Some(signature) = Signature::of(context.dump, number) else {
        return Vec::new();
    };
    let of_program = header.row.entry.then(|| Declared::of_program(context.dump));
    let declared = [Declared::in_header(header), of_program.flatten()];
    let declared: Vec<Declared> = declared.into_iter().flatten().collect();
    signature.problems(context, &declared, is_doubted)
}

/// How many blocks of a document belong to its first module, as far as the dump has read it.
fn one_module(document: &Document) -> usize {
    let has_module = |block: &Block| {
        let mut headings = block.headings().iter();
        headings.any(|(heading, _)| matches!(heading, Heading::Module(_)))
    };
    let mut modules = document.blocks().enumerate();
    let second = modules
        .by_ref()
        .filter(|(_, (_, block))| has_module(block))
        .nth(1);
    second.map_or(document.blocks().len(), |(number, _)| number)
}

/// What one block says.
#[derive(Default)]
struct InBlock {
    findings: Vec<Finding>,
    /// Instructions whose shapes do not follow.
    odd: Vec<Odd>,
    /// Computations that are not as their headers say.
    contradicted: Vec<u32>,
    interface: Interface,
}

impl InBlock {
    /// Reads block `number` of the HLO text, file `file` of the dump.
    fn read(context: &Context, file: FileId, number: usize) -> Self {
        let dump = context.dump;
        let mut found = Self::default();
        let Some((start, block)) = dump.files[file].document.passing_block(number) else {
            return found;
        };
        let block = &*block;
        let place = |span: Span| Place {
            file,
            range: start + span.start..start + span.end,
        };
        let (instructions, mentions) = dump.instructions_and_mentions(file, number, block);
        let before = dump.computations_before(file, number);
        found.interface = Interface::of(block, &instructions, before);
        let mut mentions = mentions.as_slice();
        let (mut operands, mut attributes) = (Vec::new(), Vec::new());
        for located in instructions {
            checkpoint();
            let Located {
                computation, row, ..
            } = located;
            let at = At {
                file,
                start,
                block,
                row,
            };
            let instruction = InModule {
                dump,
                computation,
                row: located.at,
                at,
            };
            found.findings.extend(instruction.duplicate());
            operands.clear();
            attributes.clear();
            let is_own = |mention: &&Mention| mention.span.start < row.span.end;
            let (own, rest) = mentions.split_at(mentions.iter().take_while(is_own).count());
            mentions = rest;
            for mention in own {
                let named = instruction.named_by(mention);
                match mention.kind {
                    MentionKind::Operand => operands.push(instruction.operand(mention, named)),
                    MentionKind::Attribute => attributes.push(at.text(mention.span)),
                    _ => {}
                }
                found.findings.extend(instruction.check(mention, named));
            }
            found
                .findings
                .extend(instruction.operand_count(operands.len()));
            found.findings.extend(check_words(&at, own));
            found
                .odd
                .extend(instruction.shapes(context, &operands, &attributes));
            found.odd.extend(instruction.call(context, &operands));
        }
        for (computation, &header) in dump.computations_in(file, number, block) {
            let header = At {
                file,
                start,
                block,
                row: header,
            };
            let problems = header_problems(context, &header, computation, |_| false);
            let is_contradicted = !problems.is_empty();
            found
                .contradicted
                .extend(is_contradicted.then_some(computation));
        }
        // Headers of computations hold shapes as well.
        found.findings.extend(
            mentions
                .iter()
                .filter(|mention| mention.kind == MentionKind::LayoutOrder)
                .map(|mention| layout_order(place(mention.span), mention.span.text(block.text()))),
        );
        found
    }

    /// Whether nothing is wrong.
    fn is_sound(&self) -> bool {
        self.findings.is_empty() && self.odd.is_empty() && self.contradicted.is_empty()
    }
}

/// An instruction, and where its names are looked up.
struct InModule<'d> {
    dump: &'d Dump,
    computation: Option<u32>,
    row: Row,
    at: At<'d, facts::Instruction>,
}

impl<'d> InModule<'d> {
    /// The shape of the result, to be told of at `span`.
    fn shaped(&self, span: Span) -> Shaped<'d> {
        let shape = self.at.text(self.at.row.shape);
        Shaped::new(self.at.place(span), Some((self.row, shape)))
    }

    /// The instruction that `text` names: the one of this computation, else the first one called so.
    fn named(&self, text: &str) -> Option<Instruction> {
        let name = self.dump.names.get(text)?;
        self.dump.instruction_in(self.computation, name)
    }

    /// The instruction that a mention names, if it is of one.
    fn named_by(&self, mention: &Mention) -> Option<Instruction> {
        match mention.kind {
            MentionKind::Operand | MentionKind::InOperand | MentionKind::Predecessor => {
                self.named(self.at.text(mention.span))
            }
            _ => None,
        }
    }

    /// The shape that is printed with an operand's instruction. Of `%t#1`, an element, it is not known.
    fn operand(&self, mention: &Mention, named: Option<Instruction>) -> Shaped<'d> {
        let is_part = self.at.block.text()[mention.span.end as usize..].starts_with('#');
        let found = named.filter(|found| found.computation == self.computation && !is_part);
        let found = found.map(|found| (found.row, &self.dump.shapes[found.shape]));
        Shaped::new(self.at.place(mention.span), found)
    }

    /// `instruction-shape`: what follows from the operands and attributes is another shape.
    fn shapes(
        &self,
        context: &Context<'d>,
        operands: &[Shaped<'d>],
        attributes: &[&'d str],
    ) -> Option<Odd> {
        let own = &self.at;
        let result = self.shaped(own.row.shape);
        let known: Option<Vec<&str>> = operands.iter().map(|operand| operand.shape).collect();
        let operation = Operation {
            shapes: &context.shapes,
            opcode: own.text(own.row.opcode),
            result: result.shape?,
            operands: &known?,
            attributes,
        };
        let problem = operation.problem()?;
        let wrong = problem.operand.and_then(|number| operands.get(number));
        let place = wrong.unwrap_or(&result).place.clone();
        let others = operands.iter().filter_map(|operand| operand.instruction);
        // Which of the two is wrong with an element of a tuple, its readers do not know.
        let is_doubted = wrong.is_none() || operation.opcode == "tuple";
        Some(Odd {
            finding: Finding::new(Code::InstructionShape, place, problem.message),
            result: result.instruction.filter(|_| is_doubted),
            others: others.collect(),
        })
    }

    /// What does not agree with a computation that the instruction runs, if it does.
    fn call(&self, context: &Context<'d>, operands: &[Shaped<'d>]) -> Option<Odd> {
        let own = &self.at;
        let opcode = own.text(own.row.opcode);
        let call = Call::runs(opcode).then(|| Call {
            opcode,
            place: own.place(own.row.opcode),
            text: own.text(own.row.span),
            result: self.shaped(own.row.shape),
            operands,
        });
        call?.problem(context)
    }

    /// What a mention of the instruction, which names `named`, says that is not so.
    fn check(&self, mention: &Mention, named: Option<Instruction>) -> Option<Finding> {
        let (place, text) = (self.at.place(mention.span), self.at.text(mention.span));
        match mention.kind {
            // An operand that is not there is printed as `null`.
            MentionKind::Operand if text.is_empty() || text == "null" => None,
            MentionKind::Operand | MentionKind::InOperand | MentionKind::Predecessor => {
                self.unresolved(place, text, named)
            }
            MentionKind::Computation => {
                let name = self.dump.names.get(text);
                let named = name.and_then(|name| self.dump.computation_named(name));
                let message = match named {
                    None => format!("the module has no computation `{}`", cut(text)),
                    // So that none runs itself, be it by others.
                    Some(named) if self.computation.is_some_and(|own| named >= own) => {
                        format!("`{}` is named before it is defined", cut(text))
                    }
                    Some(_) => return None,
                };
                Some(Finding::new(Code::UnresolvedName, place, message))
            }
            MentionKind::StackFrame => {
                let frames = self.dump.module.tables.stack_frames.len();
                let number: u64 = text.parse().ok()?;
                // A text without tables says nothing of frames.
                let is_out = frames > 0 && number > frames as u64;
                let message = || format!("stack frame {number} of {frames}");
                is_out.then(|| Finding::new(Code::StackFrame, place, message()))
            }
            MentionKind::LayoutOrder => Some(layout_order(place, text)),
            MentionKind::Attribute => None,
        }
    }

    /// `unresolved-name`: no instruction before this one, in its computation, is called so.
    fn unresolved(&self, place: Place, text: &str, named: Option<Instruction>) -> Option<Finding> {
        let shown = cut(text);
        let Some(found) = named else {
            let message = format!("there is no instruction `{shown}`");
            return Some(Finding::new(Code::UnresolvedName, place, message));
        };
        let message = if found.computation != self.computation {
            format!("the computation has no instruction `{shown}`")
        } else if found.row >= self.row {
            format!("`{shown}` is named before it is defined")
        } else {
            return None;
        };
        let finding = Finding::new(Code::UnresolvedName, place, message);
        let other = self.dump.at::<facts::Instruction>(found.row)?;
        Some(finding.related(other.place(other.row.name), "the instruction of that name"))
    }

    /// `duplicate-name`: an instruction before this one, in its computation, is called the same.
    fn duplicate(&self) -> Option<Finding> {
        let own = &self.at;
        let text = own.text(own.row.name);
        let first = self.named(text)?;
        if first.row == self.row || first.computation != self.computation {
            return None;
        }
        let other = self.dump.at::<facts::Instruction>(first.row)?;
        let message = format!("`{}` is defined twice in its computation", cut(text));
        let finding = Finding::new(Code::DuplicateName, own.place(own.row.name), message);
        Some(finding.related(other.place(other.row.name), "the first one"))
    }

    /// `operand-count`: so many operands are not what the opcode takes.
    fn operand_count(&self, found: usize) -> Option<Finding> {
        let opcode = self.at.text(self.at.row.opcode);
        let expected = opcodes::arity(opcode).filter(|&expected| expected != found)?;
        let takes = counted(expected, "operand");
        let message = format!("`{opcode}` takes {takes}, found {found}");
        let place = self.at.place(self.at.row.opcode);
        Some(Finding::new(Code::OperandCount, place, message))
    }
}

fn layout_order(place: Place, text: &str) -> Finding {
    let message = format!(
        "the order `{}` does not hold each dimension of the shape once",
        cut(text)
    );
    Finding::new(Code::LayoutOrder, place, message)
}

/// `duplicate-root`
fn check_roots(dump: &Dump, findings: &mut Findings) {
    let place = |row: Row| {
        let at = dump.at::<facts::Instruction>(row)?;
        Some(at.place(at.row.root(at.block.text())?))
    };
    for second in dump.module.signatures.second_roots() {
        let Some(own) = place(second.instruction) else {
            continue;
        };
        let message = "a second `ROOT` in its computation";
        let finding = Finding::new(Code::DuplicateRoot, own, message);
        findings.push(finding.related_if(place(second.first), "the first one"));
    }
}

/// `parameter-number`: the parameters of a computation are numbered 0, 1, 2 ... in any order.
fn check_parameters(dump: &Dump, parameters: &[Parameter], findings: &mut Findings) {
    let place = |row: Row| {
        let at = dump.at::<facts::Instruction>(row)?;
        Some(at.place(at.row.parameter.span))
    };
    let numbers = parameters.iter().map(|it| (it.number, it.instruction));
    let mut numbers: Vec<(u64, Row)> = numbers.collect();
    numbers.sort_unstable();
    let twice = numbers.windows(2).find(|pair| pair[0].0 == pair[1].0);
    if let Some(&[(_, first), (number, second)]) = twice {
        let Some(second) = place(second) else { return };
        let message = format!("parameter {number} stands twice in its computation");
        let finding = Finding::new(Code::ParameterNumber, second, message);
        findings.push(finding.related_if(place(first), "the first one"));
        return;
    }
    let count = numbers.len();
    let wrong = (0..).zip(numbers).find(|(place, it)| *place != it.0);
    if let Some((missing, (number, row))) = wrong
        && let Some(place) = place(row)
    {
        let message =
            format!("parameter {number} of {count}, while there is no parameter {missing}");
        findings.push(Finding::new(Code::ParameterNumber, place, message));
    }
}

/// `duplicate-name`: two computations of the module are called the same, or both are the entry.
fn check_computations(dump: &Dump, findings: &mut Findings) {
    let header = |row: Row| dump.at::<facts::Computation>(row);
    let headers = dump.module.computations.iter().filter_map(|at| header(*at));
    let mut entries = headers.filter(|own| own.row.entry);
    if let (Some(first), Some(second)) = (entries.next(), entries.next()) {
        let message = "the module has two `ENTRY` computations";
        let finding = Finding::new(Code::DuplicateName, second.place(second.row.name), message);
        findings.push(finding.related(first.place(first.row.name), "the first one"));
    }
    if dump.module.has_distinct_computations() {
        return;
    }
    for (number, at) in (0..).zip(&dump.module.computations) {
        let Some(own) = header(*at) else { continue };
        let text = own.text(own.row.name);
        let first = dump.names.get(text);
        let first = first.and_then(|name| dump.computation_named(name));
        let first = first.filter(|&first| first != number);
        if let Some(other) =
            first.and_then(|first| header(dump.module.computations[first as usize]))
        {
            let message = format!("the module has two computations `{}`", cut(text));
            let finding = Finding::new(Code::DuplicateName, own.place(own.row.name), message);
            findings.push(finding.related(other.place(other.row.name), "the first one"));
        }
    }
}

/// `stack-frame`: the tables number their rows 1, 2, 3 ..., name rows that are there, and callers stand
/// before the frames that they call.
fn check_tables(dump: &Dump, findings: &mut Findings) {
    let tables = &dump.module.tables;
    for table in tables.all() {
        let numbers = table
            .iter()
            .filter_map(|&row| dump.at::<facts::TableRow>(row));
        let wrong = (1..)
            .zip(numbers)
            .find(|(place, at)| at.row.row.value != *place);
        if let Some((expected, at)) = wrong {
            let found = at.row.row.value;
            let message = format!("row {found} stands where row {expected} is expected");
            let place = at.place(at.row.row.span);
            findings.push(Finding::new(Code::StackFrame, place, message));
            return;
        }
    }
    let rows = |table| (1_u64..).zip::<&Vec<Row>>(table);
    for (own, &row) in rows(&tables.file_locations).chain(rows(&tables.stack_frames)) {
        for (key, number, place) in entries(dump, row) {
            let Some((table, shift)) = source::table_of(dump, &key) else {
                continue;
            };
            let selected = number.saturating_sub(shift);
            if selected > table.len() as u64 {
                let message = format!("row {number} of {}", table.len() as u64 + shift);
                findings.push(Finding::new(Code::StackFrame, place, message));
            } else if key == "parent_frame_id" && selected >= own {
                let message =
                    format!("frame {own} is called from frame {selected}: callers stand before");
                findings.push(Finding::new(Code::StackFrame, place, message));
            }
        }
    }
}

/// The numbers of a table's row: what they are called, and where they stand.
fn entries(dump: &Dump, row: Row) -> Vec<(String, u64, Place)> {
    let token = dump.at::<facts::TableRow>(row).and_then(|at| {
        let document = &dump.files.get(at.file)?.document;
        let (start, token) = document.token_at(at.start + at.row.row.span.start)?;
        Some((at.file, start, TableRow::around(&token)?))
    });
    let Some((file, start, row)) = token else {
        return Vec::new();
    };
    let entries = row.syntax().children().filter_map(MetadataEntry::cast);
    let entry = |entry: MetadataEntry| {
        let value = entry.value()?;
        let range = std::ops::Range::<u32>::from(value.text_range());
        let place = Place {
            file,
            range: start + range.start..start + range.end,
        };
        Some((
            entry.key()?.text().to_owned(),
            value.text().parse().ok()?,
            place,
        ))
    };
    entries.filter_map(entry).collect()
}

mod seen;
#[cfg(test)]
mod tests;
