//! Where instructions come from: their parts, and the lines of the user's program behind them.

use std::cell::RefCell;
use std::sync::Arc;

use buflens_syntax::InstructionParts;
use rustc_hash::FxHashMap;

use super::cancel::checkpoint;
use super::source::{
    Frame, Libraries, StackFrame, chain, frames, parent_shift, stack_frame, unescaped,
};
use super::{Dump, NameId, Value};

mod stacked;

/// An instruction, taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin<'d> {
    /// Its parts.
    pub parts: InstructionParts<'d>,
    /// The trace path, decoded: `jit(f)/while/body/add`; of a parameter the argument's path; where a fusion or a call has
    /// none, that of what is in it.
    pub op_name: Option<String>,
    /// The lines of source, the innermost first; where a fusion or a call has none, those of what is in it,
    /// and else those of `stands_for`.
    pub frames: Arc<[Frame]>,
    /// Of an instruction that tells nothing of itself the one whose result it hands on, or the loop whose
    /// state it is: compilers make copies and the parameters of computations without metadata.
    pub stands_for: Option<NameId>,
}

impl<'d> Origin<'d> {
    /// Takes `text`, an instruction of `dump`, apart, with so many operands at most.
    pub fn read(dump: &'d Dump, text: &'d str, operands: usize) -> Self {
        let frames = |id| frames(dump, id).collect();
        let told = Told {
            dump,
            frames: &frames,
            inside: &|body| Arc::new(Inside::of(dump, body, frames)),
            most_read: MOST_READ,
            hops: None,
        };
        told.origin(InstructionParts::read_up_to(text, operands))
    }

    /// The innermost line that is not a library's, else the innermost.
    pub fn source(&self, libraries: &Libraries) -> Option<&Frame> {
        let own = self
            .frames
            .iter()
            .find(|frame| !libraries.hold(&frame.file));
        own.or(self.frames.first())
    }
}

/// What there is to ask of a dump for the lines behind an instruction.
struct Told<'a, 'd> {
    dump: &'d Dump,
    /// Of a row of the tables.
    frames: &'a dyn Fn(u64) -> Arc<[Frame]>,
    /// Of a computation.
    inside: &'a dyn Fn(u32) -> Arc<Inside>,
    /// So long an instruction is read for the sake of another, in bytes.
    most_read: usize,
    /// What has been read: thousands of copies may be of one tuple.
    hops: Option<&'a Hops>,
}

type Hops = RefCell<FxHashMap<NameId, Arc<Hop>>>;

impl<'d> Told<'_, 'd> {
    fn origin(&self, parts: InstructionParts<'d>) -> Origin<'d> {
        let (op_name, mut frames) = self.own(&parts);
        let mut stands_for = None;
        if op_name.is_none()
            && frames.is_empty()
            && let Some((name, lines)) = self.behind(&parts)
        {
            (stands_for, frames) = (Some(name), lines);
        }
        Origin {
            parts,
            op_name,
            frames,
            stands_for,
        }
    }

    /// The trace path and the lines of an instruction's own, else of what is in it.
    fn own(&self, parts: &InstructionParts) -> (Option<String>, Arc<[Frame]>) {
        let (op_name, frames) = (op_name(parts), frames_of(parts, self.frames));
        if op_name.is_some() && !frames.is_empty() {
            return (op_name, frames);
        }
        let Some(body) = body(self.dump, parts) else {
            return (op_name, frames);
        };
        let inside = (self.inside)(body);
        let op_name = op_name.or_else(|| inside.op_name.clone());
        let frames = if frames.is_empty() {
            Arc::clone(&inside.frames)
        } else {
            frames
        };
        (op_name, frames)
    }

    /// The first instruction that tells of itself, or hands on no other's result, of those whose result
    /// this one hands on; and its lines.
    fn behind(&self, parts: &InstructionParts) -> Option<(NameId, Arc<[Frame]>)> {
        let (mut name, mut element) = handed_on(self.dump, parts)?;
        for _ in 0..MOST_COPIES {
            let Some(hop) = self.hop(name) else {
                break;
            };
            if !hop.lines.is_empty() || hop.has_op_name {
                return Some((name, Arc::clone(&hop.lines)));
            }
            let next = match &hop.next {
                Next::Nothing => None,
                Next::One(name, element) => Some((*name, *element)),
                Next::Elements(all) => all.get(element).copied().flatten(),
            };
            match next {
                Some(next) => (name, element) = next,
                None => break,
            }
        }
        Some((name, Arc::default()))
    }

    fn hop(&self, name: NameId) -> Option<Arc<Hop>> {
        let text = self.dump.instruction_text(name)?;
        let text = Some(text).filter(|text| text.len() <= self.most_read)?;
        let Some(known) = self.hops else {
            return Some(Arc::new(self.read_hop(text)));
        };
        if let Some(hop) = known.borrow().get(&name) {
            return Some(Arc::clone(hop));
        }
        let hop = Arc::new(self.read_hop(text));
        known.borrow_mut().insert(name, Arc::clone(&hop));
        Some(hop)
    }

    fn read_hop(&self, text: &str) -> Hop {
        checkpoint();
        let parts = InstructionParts::read_up_to(text, 1);
        let next = if parts.opcode == "tuple" {
            let parts = InstructionParts::read_up_to(text, usize::MAX);
            let all = (0..parts.operands.len()).map(|at| read_as(self.dump, &parts, at));
            Next::Elements(all.collect())
        } else {
            let one = handed_on(self.dump, &parts);
            one.map_or(Next::Nothing, |(name, element)| Next::One(name, element))
        };
        let (op_name, lines) = self.own(&parts);
        Hop {
            lines,
            has_op_name: op_name.is_some(),
            next,
        }
    }
}

/// An instruction on the way to the one that another stands for.
#[derive(Debug)]
struct Hop {
    lines: Arc<[Frame]>,
    has_op_name: bool,
    next: Next,
}

/// Whose result an instruction hands on.
#[derive(Debug)]
enum Next {
    Nothing,
    /// An instruction's, or so many-th element.
    One(NameId, usize),
    /// Those of a tuple.
    Elements(Box<[Option<(NameId, usize)>]>),
}

/// Of longer instructions nothing is read for the sake of another one that is asked for alone: no request waits
/// for a loop over thousands of arrays, whose line has hundreds of kilobytes.
const MOST_READ: usize = 32 * 1024;
/// So many copies of copies are followed: no program has as many, and some may go in circles.
const MOST_COPIES: usize = 16;

/// The instruction whose result, or a part of it, `parts` hands on as it is, and which element of it, if it is a tuple;
/// of the parameter of a loop's computation the loop.
fn handed_on(dump: &Dump, parts: &InstructionParts) -> Option<(NameId, usize)> {
    match parts.opcode {
        "get-tuple-element" if parts.operands.first()?.element.is_empty() => {
            let (name, _) = read_as(dump, parts, 0)?;
            Some((name, parts.attribute("index")?.parse().ok()?))
        }
        "parameter" => {
            let own = dump.module.instructions.get(dump.names.get(parts.name)?)?;
            let runner = dump.runner_of(own.computation?)?;
            match dump.opcode(runner) {
                Some("while") => return Some((runner, 0)),
                Some("conditional") => return None,
                _ => {}
            }
            let number = usize::try_from(parts.parameter?).ok()?;
            let text = dump.instruction_text(runner)?;
            let text = Some(text).filter(|text| text.len() <= MOST_READ)?;
            let caller = InstructionParts::read_up_to(text, number.saturating_add(1));
            read_as(dump, &caller, number)
        }
        "get-tuple-element" | "bitcast" | "copy" | "copy-start" | "copy-done" | "slice-start"
        | "slice-done" | "async-update" | "async-done" | "slice" | "dynamic-slice" => {
            read_as(dump, parts, 0)
        }
        "fusion" => {
            dump.copied_by(parts)?;
            read_as(dump, parts, 0)
        }
        // What was copied in slices.
        "custom-call" if parts.attribute("custom_call_target") == Some("\"ConcatBitcast\"") => {
            read_as(dump, parts, 0)
        }
        _ => None,
    }
}

/// The instruction that an operand of `parts` names, and which element of its result, if it is a tuple: of elements of
/// elements the outer one.
fn read_as(dump: &Dump, parts: &InstructionParts, operand: usize) -> Option<(NameId, usize)> {
    let operand = parts.operands.get(operand)?;
    let element = operand.element.split('#').next()?.parse();
    Some((dump.names.get(operand.name)?, element.unwrap_or(0)))
}

/// The lines of source that an instruction's own metadata names, where `frames` tells the rows of the tables.
fn frames_of(parts: &InstructionParts, frames: impl Fn(u64) -> Arc<[Frame]>) -> Arc<[Frame]> {
    let by_id = parts.entry("stack_frame_id").and_then(|id| id.parse().ok());
    let by_id = by_id.map(frames).filter(|frames| !frames.is_empty());
    let by_file = || {
        Some(Arc::from([Frame {
            file: unescaped(parts.entry("source_file")?),
            line: parts
                .entry("source_line")
                .and_then(|line| line.parse().ok())
                .filter(|&line| line > 0),
            function: None,
        }]))
    };
    by_id.or_else(by_file).unwrap_or_default()
}

/// The name of the computation that an instruction names behind `key=`.
pub fn called_name<'t>(parts: &InstructionParts<'t>, key: &str) -> Option<&'t str> {
    Some(without_percent(parts.attribute(key)?))
}

/// The computation of the HLO text that an instruction names behind `key=`.
pub fn called(dump: &Dump, parts: &InstructionParts, key: &str) -> Option<u32> {
    dump.computation_named(dump.names.get(called_name(parts, key)?)?)
}

/// The names of the computations of which a `conditional` runs one.
pub fn branches<'t>(parts: &InstructionParts<'t>) -> Vec<&'t str> {
    let listed = parts.attribute("branch_computations").into_iter();
    let listed = listed.flat_map(|list| list.trim_matches(['{', '}']).split(','));
    let two = ["true_computation", "false_computation"];
    let two = two.into_iter().filter_map(|key| parts.attribute(key));
    listed.chain(two).map(without_percent).collect()
}

/// A computation's name as instructions mention it, with `%` or in old HLO text without.
fn without_percent(name: &str) -> &str {
    name.trim().trim_start_matches('%')
}

/// The computation of the HLO text that says what a fusion or a call is made of: compilers leave the
/// metadata out of many, and keep that of what is in them.
fn body(dump: &Dump, parts: &InstructionParts) -> Option<u32> {
    let key = match parts.opcode {
        "fusion" => "calls",
        "call" => "to_apply",
        _ => return None,
    };
    called(dump, parts, key)
}

/// What a computation tells of itself: the root, which stands last, else the first of its instructions that does.
#[derive(Debug, Default)]
struct Inside {
    /// The lines of source.
    frames: Arc<[Frame]>,
    /// The trace path; not that of a parameter, which is an argument's.
    op_name: Option<String>,
}

impl Inside {
    fn of(dump: &Dump, body: u32, frames: impl Fn(u64) -> Arc<[Frame]>) -> Self {
        let mut rows = dump.instructions_of(body);
        let root = rows.next_back();
        let mut inside = Self::default();
        for (block, row) in root.into_iter().chain(rows) {
            checkpoint();
            let parts = InstructionParts::read_up_to(row.span.text(block.text()), 0);
            if inside.frames.is_empty() {
                inside.frames = frames_of(&parts, &frames);
            }
            if inside.op_name.is_none() && parts.opcode != "parameter" {
                inside.op_name = op_name(&parts);
            }
            if inside.op_name.is_some() && !inside.frames.is_empty() {
                break;
            }
        }
        inside
    }
}

/// The trace path of an instruction, decoded; `None` where it is not there or empty.
pub fn op_name(parts: &InstructionParts) -> Option<String> {
    let op_name = parts.entry("op_name").map(unescaped);
    op_name.filter(|op_name| !op_name.is_empty())
}

/// The instructions of a dump as far as they have been asked for, each read once.
#[derive(Debug)]
pub struct Origins<'d> {
    dump: &'d Dump,
    /// So long an instruction is read, in bytes.
    most_read: usize,
    by_name: RefCell<FxHashMap<NameId, Arc<Origin<'d>>>>,
    by_frame: RefCell<FxHashMap<u64, Arc<[Frame]>>>,
    /// By computation: several instructions may call one.
    by_body: RefCell<FxHashMap<u32, Arc<Inside>>>,
    hops: Hops,
    /// Rows of the table of stack frames: many frames have the same callers.
    rows: RefCell<FxHashMap<u64, Option<StackFrame>>>,
}

impl<'d> Origins<'d> {
    /// None asked for yet.
    pub fn new(dump: &'d Dump) -> Self {
        Self {
            dump,
            most_read: usize::MAX,
            by_name: RefCell::default(),
            by_frame: RefCell::default(),
            by_body: RefCell::default(),
            hops: RefCell::default(),
            rows: RefCell::default(),
        }
    }

    /// For a request: of an instruction of more than some bytes nothing is known.
    pub fn for_request(dump: &'d Dump) -> Self {
        Self {
            most_read: MOST_READ,
            ..Self::new(dump)
        }
    }

    /// The instruction that defines `value`; empty if the dump does not print it. Of a buffer that a loop fills, part by
    /// part, the lines are those of what is written.
    pub fn of(&self, value: &Value) -> Arc<Origin<'d>> {
        let own = self.named(value.name);
        let Some(written) = self.stacked(value, &own) else {
            return own;
        };
        let origin = self.named(written);
        Arc::new(Origin {
            parts: own.parts.clone(),
            op_name: own.op_name.clone(),
            frames: Arc::clone(&origin.frames),
            stands_for: origin.stands_for.or(Some(written)),
        })
    }

    /// The instruction whose results a loop writes, part by part, into the buffer that `value` is; with the trace path of
    /// what it stands for.
    pub fn filling(&self, value: &Value) -> Option<Origin<'d>> {
        let own = self.named(value.name);
        let written = self.named(self.stacked(value, &own)?);
        Some(Origin {
            op_name: self.path(&written),
            ..Origin::clone(&written)
        })
    }

    /// The instruction called `name`; empty if the dump does not print it.
    pub fn named(&self, name: NameId) -> Arc<Origin<'d>> {
        if let Some(known) = self.by_name.borrow().get(&name) {
            return Arc::clone(known);
        }
        let origin = Arc::new(self.read(name).unwrap_or_default());
        self.by_name.borrow_mut().insert(name, Arc::clone(&origin));
        origin
    }

    /// The trace path of an instruction; of one that tells nothing of itself that of what it stands for,
    /// as with the lines of source.
    pub fn path(&self, origin: &Origin<'d>) -> Option<String> {
        match origin.stands_for {
            Some(name) => self.named(name).op_name.clone(),
            None => origin.op_name.clone(),
        }
    }

    fn read(&self, name: NameId) -> Option<Origin<'d>> {
        let text = self.dump.instruction_text(name)?;
        let text = Some(text).filter(|text| text.len() <= self.most_read)?;
        let inside = |body| {
            let mut known = self.by_body.borrow_mut();
            let inside = || Arc::new(Inside::of(self.dump, body, |id| self.frames(id)));
            Arc::clone(known.entry(body).or_insert_with(inside))
        };
        let told = Told {
            dump: self.dump,
            frames: &|id| self.frames(id),
            inside: &inside,
            most_read: self.most_read,
            hops: Some(&self.hops),
        };
        Some(told.origin(InstructionParts::read(text)))
    }

    fn frames(&self, id: u64) -> Arc<[Frame]> {
        let mut known = self.by_frame.borrow_mut();
        let frames = known.entry(id).or_insert_with(|| {
            let shift = parent_shift(self.dump);
            let mut rows = self.rows.borrow_mut();
            let read = |id| {
                let row = rows.entry(id);
                let row = row.or_insert_with(|| stack_frame(self.dump, id, shift));
                row.clone()
            };
            chain(id, read).collect()
        });
        Arc::clone(frames)
    }
}

#[cfg(test)]
mod tests {
    use buflens_syntax::Document;

    use super::*;
    use crate::model::File;

    const TEXT: &str = r#"HloModule m

root {
  a = f32[] parameter(0), metadata={source_file="a.py" source_line=1}
  ROOT b = f32[] negate(a), metadata={source_file="b.py" source_line=2}
}

body {
  c = f32[] parameter(0)
  d = f32[] negate(c), metadata={op_name="jit(f)/d" source_file="d.py" source_line=3}
  e = f32[] negate(d), metadata={source_file="e.py" source_line=4}
  ROOT f = f32[] negate(e)
}

bare {
  ROOT g = f32[] parameter(0)
}

ENTRY main {
  p = f32[] parameter(0)
  by_root = f32[] fusion(p), kind=kLoop, calls=root
  by_body = f32[] call(by_root), to_apply=body
  again = f32[] fusion(by_body), kind=kLoop, calls=body, metadata={op_name="jit(f)/neg"}
  own = f32[] fusion(again), kind=kLoop, calls=body, metadata={source_file="own.py" source_line=5}
  nothing = f32[] fusion(own), kind=kLoop, calls=bare
  nowhere = f32[] fusion(nothing), kind=kLoop, calls=gone
  copied = (f32[], f32[], u32[]) copy-start(f32[]{0} %own)
  done = f32[] copy-done(copied)
  pair = (f32[], f32[]) tuple(p, done)
  element = f32[] get-tuple-element(pair), index=1
  argument = f32[] get-tuple-element(pair), index=0
  inline = f32[] copy(pair#1)
  named = f32[] copy(again)
  loop = (f32[], f32[]) while(pair), condition=until, body=turn, metadata={source_file="loop.py" source_line=6}
  one = f32[] copy(other)
  other = f32[] bitcast(one)
  part.start = ((f32[], f32[]), f32[], s32[]) async-start(nothing, own), calls=part
  part.done = f32[] async-done(part.start)
  parts = f32[] custom-call(part.done, part.done), custom_call_target="ConcatBitcast"
  whole = f32[] custom-call(own), custom_call_target="Sharding"
  ROOT last = f32[] copy(gone)
}

part {
  unused = f32[] parameter(0)
  of = f32[] parameter(1)
  ROOT slice = f32[] slice(of), slice={}
}

turn {
  state = (f32[], f32[]) parameter(0)
  carried = f32[] get-tuple-element(state), index=1
  moved = f32[] copy(carried)
  ROOT next = (f32[], f32[]) tuple(moved, moved)
}
"#;

    #[test]
    fn what_has_no_line_has_that_of_what_it_stands_for() {
        let dump = Dump::new(vec![File {
            path: "m.txt".into(),
            document: Document::new(TEXT).expect("a small text"),
            lossy: false,
        }]);
        let origins = Origins::new(&dump);
        let source = |origin: &Origin| {
            let frame = origin.source(&Libraries::default())?;
            Some((frame.file.clone(), frame.line?))
        };
        for (name, file) in [
            ("by_root", Some(("b.py", 2))),
            ("by_body", Some(("d.py", 3))),
            ("again", Some(("d.py", 3))),
            ("own", Some(("own.py", 5))),
            ("nothing", None),
            ("nowhere", None),
            ("done", Some(("own.py", 5))),
            ("element", Some(("own.py", 5))),
            ("argument", None),
            ("inline", Some(("own.py", 5))),
            ("named", Some(("d.py", 3))),
            ("state", Some(("loop.py", 6))),
            ("moved", Some(("loop.py", 6))),
            ("next", None),
            ("one", None),
            ("slice", Some(("own.py", 5))),
            ("whole", None),
            ("last", None),
        ] {
            let name = dump.names.get(name).expect("a name");
            let expected = file.map(|(file, line)| (file.to_owned(), line));
            assert_eq!(source(&origins.named(name)), expected);
            let text = dump.instruction_text(name).expect("an instruction");
            let alone = Origin::read(&dump, text, 1);
            assert_eq!(source(&alone), expected, "{text}");
        }
        let path = |name: &str| {
            let name = dump.names.get(name).expect("a name");
            origins.named(name).op_name.clone()
        };
        assert_eq!(path("by_body").as_deref(), Some("jit(f)/d"));
        assert_eq!(path("again").as_deref(), Some("jit(f)/neg"), "its own");
        assert_eq!(path("by_root"), None);
        let stands_for = |name: &str| {
            let name = dump.names.get(name).expect("a name");
            Some(&dump.names[origins.named(name).stands_for?])
        };
        assert_eq!(stands_for("argument"), Some("p"));
        assert_eq!(stands_for("named"), Some("again"), "its op_name");
        assert_eq!(stands_for("again"), None);
        assert_eq!(stands_for("parts"), Some("part.start"));
    }
}
