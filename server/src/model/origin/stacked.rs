//! What a loop stacks: a buffer into which each turn writes a part, as `lax.scan` keeps what its backward pass needs.
//!
//! Compilers give the loop, and the update that writes the part, the line of the loop; what is written comes from another.

use std::sync::Arc;

use super::{Origin, Origins, called, handed_on, read_as};
use crate::model::shapes::index_numbers;
use crate::model::source::Frame;
use crate::model::{NameId, Value};

/// So many instructions are followed from a loop's state to what is written into it.
const MOST_FOLLOWED: usize = 32;

/// A result that is followed: of an instruction, or an element of it.
type Followed = (NameId, usize);

impl<'d> Origins<'d> {
    /// The instruction whose result a loop writes into `value`, a buffer, part by part; `own` is that which defines it.
    /// `None` where there is none, or it tells no other line than the loop.
    pub(super) fn stacked(&self, value: &Value, own: &Origin) -> Option<NameId> {
        let computation = || self.dump.module.instructions.get(value.name)?.computation;
        let looping = match own.parts.opcode {
            "while" => value.name,
            "parameter" | "fusion" | "dynamic-update-slice" => {
                let runner = self.dump.runner_of(computation()?)?;
                (self.dump.opcode(runner) == Some("while")).then_some(runner)?
            }
            _ => return None,
        };
        let index = index_numbers(&self.dump.names[value.index]);
        let element = || Some(usize::try_from(*index.first()?).ok()).flatten();
        let of_loop = self.loop_named(looping);
        let start = match own.parts.opcode {
            "while" | "parameter" => {
                let body = called(self.dump, &of_loop.parts, "body")?;
                self.result_of(body, element()?)?
            }
            // Who writes the update knows the line.
            _ if !is_of_loop(own, &of_loop) && has_other_lines(own, &of_loop) => return None,
            _ => (value.name, element().unwrap_or(0)),
        };
        self.written(start, of_loop, tells_nothing(&self.named(looping)))
    }

    /// The instruction whose result is written into the buffer that `start` hands on or updates; where another loop fills
    /// what is written, what that writes. Of a loop that `is_silent`, without metadata, at least the update.
    fn written(
        &self,
        start: Followed,
        mut of_loop: Arc<Origin<'d>>,
        is_silent: bool,
    ) -> Option<NameId> {
        let (mut name, mut element) = start;
        let (mut is_updated, mut caller, mut told) = (false, None, None);
        for _ in 0..MOST_FOLLOWED {
            let origin = self.named(name);
            let parts = &origin.parts;
            if parts.opcode == "dynamic-update-slice" {
                is_updated = true;
                // It has the line of the loop.
                told = told.or(is_silent.then_some(name));
            }
            if is_updated && parts.opcode == "while" {
                let body = called(self.dump, parts, "body");
                let Some(next) = body.and_then(|body| self.result_of(body, element)) else {
                    return Some(name);
                };
                (is_updated, told, of_loop) = (false, Some(name), self.loop_named(name));
                (name, element) = next;
                continue;
            }
            if is_updated && tells_more(&origin, &of_loop) {
                told = Some(name);
                // An element of what another loop fills has the line of that loop.
                if parts.opcode != "get-tuple-element" {
                    break;
                }
            }
            let next = match parts.opcode {
                "dynamic-update-slice" => read_as(self.dump, parts, 1),
                "tuple" => read_as(self.dump, parts, element),
                "convert" | "reshape" | "broadcast" | "transpose" => read_as(self.dump, parts, 0),
                "fusion" => {
                    caller = Some(name);
                    let body = called(self.dump, parts, "calls");
                    body.and_then(|body| self.result_of(body, element))
                }
                "parameter" => parts.parameter.and_then(|number| {
                    let number = usize::try_from(number).ok()?;
                    read_as(self.dump, &self.named(caller.take()?).parts, number)
                }),
                _ => handed_on(self.dump, parts),
            };
            match next {
                Some(next) => (name, element) = next,
                None => break,
            }
        }
        told
    }

    /// A loop. Older compilers give it no metadata, but the instruction that counts its turns has that of its line.
    fn loop_named(&self, name: NameId) -> Arc<Origin<'d>> {
        let own = self.named(name);
        if !tells_nothing(&own) {
            return own;
        }
        let body = called(self.dump, &own.parts, "body");
        let counter = body.and_then(|body| self.result_of(body, 0));
        let counter = counter.map(|(counter, _)| self.named(counter));
        let Some(counter) = counter else { return own };
        let path = counter.op_name.as_deref();
        match path.and_then(|path| path.strip_suffix("/body/add")) {
            Some(path) => Arc::new(Origin {
                op_name: Some(path.to_owned()),
                frames: Arc::clone(&counter.frames),
                ..Origin::clone(&own)
            }),
            None => own,
        }
    }

    /// The root of a computation of the HLO text, which stands last; of a tuple so many-th element.
    fn result_of(&self, computation: u32, element: usize) -> Option<Followed> {
        let (block, root) = self.dump.instructions_of(computation).next_back()?;
        let root = self.dump.names.get(root.name.text(block.text()))?;
        let parts = &self.named(root).parts;
        match parts.opcode {
            "tuple" => read_as(self.dump, parts, element),
            _ => Some((root, element)),
        }
    }
}

/// Whether an instruction has no metadata.
fn tells_nothing(origin: &Origin) -> bool {
    origin.op_name.is_none() && origin.frames.is_empty()
}

/// Whether an instruction in a loop tells more of where it comes from than the loop: another line, or, where all of the body
/// is in one line, what the body does. What updates the buffer is the loop's own.
fn tells_more(origin: &Origin, of_loop: &Origin) -> bool {
    const OF_LOOPS: [&str; 5] = [
        "broadcast_in_dim",
        // What the body is given: a copy of the state.
        "closed_call",
        "dynamic_update_slice",
        "reshape",
        "squeeze",
    ];
    let is_named = below(origin, of_loop)
        .is_some_and(|it| !OF_LOOPS.contains(&it.rsplit('/').next().unwrap_or(it)));
    !is_of_loop(origin, of_loop) && (is_named || has_other_lines(origin, of_loop))
}

/// The trace path of an instruction in the body of a loop, from there on.
fn below<'o>(origin: &'o Origin, of_loop: &Origin) -> Option<&'o str> {
    let path = of_loop.op_name.as_ref()?;
    let own = origin.op_name.as_ref()?.strip_prefix(path.as_str())?;
    own.strip_prefix("/body/")
}

/// Whether an instruction is what `lax.scan` itself takes a part out of an array with, or writes one into it, by its trace path. Where
/// JAX has traced the body before, for another caller, the stack of such names that caller's lines.
fn is_of_loop(origin: &Origin, of_loop: &Origin) -> bool {
    below(origin, of_loop).is_some_and(|it| {
        it.starts_with("jit(dynamic_update_index_in_dim)")
            || it.starts_with("jit(dynamic_index_in_dim)")
    })
}

/// Whether an instruction in a loop names a line that the loop does not: what loops are made of has the stack of the loop,
/// often twice.
fn has_other_lines(origin: &Origin, of_loop: &Origin) -> bool {
    let is_of_loop = |frame: &Frame| {
        let mut frames = of_loop.frames.iter();
        frames.any(|other| (&other.file, other.line) == (&frame.file, frame.line))
    };
    !origin.frames.iter().all(is_of_loop)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use buflens_syntax::Document;

    use super::*;
    use crate::model::source::Libraries;
    use crate::model::{Dump, File};

    const MODULE: &str = r#"HloModule m, is_scheduled=true

put {
  buffer = f32[4]{0} parameter(0)
  part = f32[] parameter(1)
  row = f32[1]{0} bitcast(part)
  ROOT update = f32[4]{0} dynamic-update-slice(buffer, row), metadata={source_file="scan.py" source_line=8}
}

turn {
  state = (f32[], f32[4]{0}, f32[4]{0}, f32[4]{0}, f32[4]{0}) parameter(0)
  carry = f32[] get-tuple-element(state), index=0
  stack = f32[4]{0} get-tuple-element(state), index=1
  own = f32[4]{0} get-tuple-element(state), index=2
  read = f32[4]{0} get-tuple-element(state), index=3
  cached = f32[4]{0} get-tuple-element(state), index=4
  kept = f32[] sine(carry), metadata={op_name="while/body/sin" source_file="layer.py" source_line=9}
  filled = f32[4]{0} fusion(stack, kept), kind=kLoop, calls=put, metadata={source_file="scan.py" source_line=8}
  set = f32[4]{0} dynamic-update-slice(own, kept), metadata={source_file="layer.py" source_line=10}
  laid = f32[4]{0} dynamic-update-slice(cached, kept), metadata={op_name="while/body/jit(dynamic_update_index_in_dim)/dynamic_update_slice" source_file="train.py" source_line=14}
  again = f32[] add(carry, kept), metadata={source_file="layer.py" source_line=11}
  ROOT next = (f32[], f32[4]{0}, f32[4]{0}, f32[4]{0}, f32[4]{0}) tuple(again, filled, set, read, laid)
}

until {
  now = (f32[], f32[4]{0}, f32[4]{0}, f32[4]{0}, f32[4]{0}) parameter(0)
  ROOT go = pred[] constant(true)
}

ENTRY e {
  start = (f32[], f32[4]{0}, f32[4]{0}, f32[4]{0}, f32[4]{0}) parameter(0)
  ROOT loop = (f32[], f32[4]{0}, f32[4]{0}, f32[4]{0}, f32[4]{0}) while(start), condition=until, body=turn, metadata={op_name="while" source_file="scan.py" source_line=8}
}
"#;

    #[test]
    fn what_a_loop_stacks_comes_from_who_made_it() {
        let expected = [
            // The carry is no buffer that is filled part by part.
            ("loop{0}", "scan.py:8", "while"),
            ("loop{1}", "layer.py:9", "while/body/sin"),
            // The program's own update knows its line.
            ("loop{2}", "layer.py:10", ""),
            // What is only handed on is the loop's.
            ("loop{3}", "scan.py:8", "while"),
            // The stack of a body that another caller had traced before has that caller's line.
            ("loop{4}", "layer.py:9", "while/body/sin"),
            ("laid", "layer.py:9", "while/body/sin"),
            ("state{1}", "layer.py:9", "while/body/sin"),
            ("now{1}", "layer.py:9", "while/body/sin"),
            ("filled", "layer.py:9", "while/body/sin"),
            ("set", "layer.py:10", ""),
            ("kept", "layer.py:9", "while/body/sin"),
        ];
        assert_origins(MODULE, &expected);
        // A loop without metadata has the line in which its turns are counted.
        let untold = MODULE.replace(
            r#", metadata={op_name="while" source_file="scan.py" source_line=8}"#,
            "",
        );
        let untold = untold.replace(
            r#"{source_file="layer.py" source_line=11}"#,
            r#"{op_name="while/body/add" source_file="scan.py" source_line=8}"#,
        );
        let of_elements = [&expected[1..3], &expected[4..]].concat();
        assert_origins(&untold, &of_elements);
    }

    /// The line of source and the trace path of each value, which `module` defines.
    fn assert_origins(module: &str, expected: &[(&str, &str, &str)]) {
        let mut assignment =
            String::from("BufferAssignment:\nallocation 0: size 16, preallocated-temp:\n");
        for (id, (name, ..)) in expected.iter().enumerate() {
            let _ = writeln!(
                assignment,
                " value: <{id} {name} @0> (size=4,offset=0): f32[]"
            );
        }
        let file = |path: &str, text: &str| File {
            path: path.into(),
            document: Document::new(text).expect("a small text"),
            lossy: false,
        };
        let dump = Dump::new(vec![
            file("m-buffer-assignment.txt", &assignment),
            file("m.txt", module),
        ]);
        let origins = Origins::new(&dump);
        for (value, (name, line, path)) in dump.values.iter().zip(expected) {
            let origin = origins.of(value);
            let source = origin.source(&Libraries::default()).expect("a line");
            assert_eq!(source.to_string(), *line, "{name}");
            assert_eq!(origins.path(&origin).unwrap_or_default(), *path, "{name}");
        }
    }

    const NESTED: &str = r#"HloModule m, is_scheduled=true

turn {
  state = (f32[], f32[4]{0}) parameter(0)
  carry = f32[] get-tuple-element(state), index=0
  stack = f32[4]{0} get-tuple-element(state), index=1
  kept = f32[] sine(carry), metadata={op_name="f/while/body/while/body/sin" source_file="scan.py" source_line=8}
  row = f32[1]{0} reshape(kept), metadata={op_name="f/while/body/while/body/broadcast_in_dim" source_file="scan.py" source_line=8}
  filled = f32[4]{0} dynamic-update-slice(stack, row), metadata={op_name="f/while/body/while/body/dynamic_update_slice" source_file="scan.py" source_line=8}
  ROOT next = (f32[], f32[4]{0}) tuple(kept, filled)
}

outer_turn {
  outer_state = (f32[], f32[2,4]{1,0}, f32[4]{0}) parameter(0)
  begin = f32[] get-tuple-element(outer_state), index=0
  rows = f32[2,4]{1,0} get-tuple-element(outer_state), index=1
  zeros = f32[4]{0} get-tuple-element(outer_state), index=2
  started = (f32[], f32[4]{0}) tuple(begin, zeros)
  inner = (f32[], f32[4]{0}) while(started), condition=until, body=turn, metadata={op_name="f/while/body/while" source_file="scan.py" source_line=8}
  made = f32[4]{0} get-tuple-element(inner), index=1
  wide = f32[1,4]{1,0} reshape(made)
  put = f32[2,4]{1,0} dynamic-update-slice(rows, wide), metadata={op_name="f/while/body/dynamic_update_slice" source_file="scan.py" source_line=8}
  ROOT outer_next = (f32[], f32[2,4]{1,0}, f32[4]{0}) tuple(begin, put, zeros)
}

until {
  now = (f32[], f32[4]{0}) parameter(0)
  ROOT go = pred[] constant(true)
}

ENTRY e {
  start = (f32[], f32[2,4]{1,0}, f32[4]{0}) parameter(0)
  ROOT loop = (f32[], f32[2,4]{1,0}, f32[4]{0}) while(start), condition=until, body=outer_turn, metadata={op_name="f/while" source_file="scan.py" source_line=8}
}
"#;

    /// As where a lambda stands in the line of the scan: the trace path tells what the line does not.
    #[test]
    fn what_loops_in_one_line_stack_is_told_by_its_path_through_all_of_them() {
        let assignment = "BufferAssignment:\nallocation 0: size 16, preallocated-temp:\n \
                          value: <0 inner{1} @0> (size=4,offset=0): f32[]\n \
                          value: <1 loop{1} @0> (size=4,offset=0): f32[]\n \
                          value: <2 loop{0} @0> (size=4,offset=0): f32[]\n";
        let file = |path: &str, text: &str| File {
            path: path.into(),
            document: Document::new(text).expect("a small text"),
            lossy: false,
        };
        let dump = Dump::new(vec![
            file("m-buffer-assignment.txt", assignment),
            file("m.txt", NESTED),
        ]);
        let origins = Origins::new(&dump);
        let paths = dump
            .values
            .iter()
            .map(|value| origins.path(&origins.of(value)));
        let paths: Vec<String> = paths.map(Option::unwrap_or_default).collect();
        let sine = "f/while/body/while/body/sin";
        assert_eq!(paths, [sine, sine, "f/while"]);
        // A loop that runs itself has an end.
        let circle = NESTED.replace("body=turn", "body=outer_turn");
        let dump = Dump::new(vec![
            file("m-buffer-assignment.txt", assignment),
            file("m.txt", &circle),
        ]);
        let origins = Origins::new(&dump);
        for value in &*dump.values {
            origins.of(value);
        }
    }
}
