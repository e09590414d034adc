//! Whose bytes they are: those of a set of values, by what made them.

use rustc_hash::FxHashMap;

use super::Audit;
use super::peak::Held;
use crate::model::shapes::shape_text;
use crate::model::source::Frame;
use crate::model::{Allocation, Value};

/// What bytes are added up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The trace path, level by level: `jit(f)`, `jit(f)/while`, ...
    OpName,
    /// The line of source, the user's own before a library's.
    Source,
    /// The opcode of the defining instruction.
    Opcode,
    /// The shape with its layout.
    Shape,
}

/// The bytes of one such thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The path, line, opcode or shape; empty for what the dump does not tell.
    pub name: String,
    /// Bytes: shares, so that no byte counts twice.
    pub bytes: u64,
    /// How many values.
    pub values: usize,
    /// The value with the most bytes, as a number into [`crate::model::Dump::values`].
    pub largest: u32,
}

/// The bytes of `values` added up, the most first. By trace path, a level holds the bytes of all
/// levels below it, and stands before them where the bytes are the same.
pub fn attribution(audit: &Audit, values: &[Held], by: By) -> Vec<Group> {
    let mut groups: FxHashMap<String, (Group, u64)> = FxHashMap::default();
    let mut add = |name: &str, held: Held| {
        if !groups.contains_key(name) {
            let group = Group {
                name: name.to_owned(),
                bytes: 0,
                values: 0,
                largest: held.value,
            };
            groups.insert(name.to_owned(), (group, 0));
        }
        let Some((group, largest)) = groups.get_mut(name) else {
            return;
        };
        group.bytes = group.bytes.saturating_add(held.share);
        group.values += 1;
        if (held.share, std::cmp::Reverse(held.value))
            > (*largest, std::cmp::Reverse(group.largest))
        {
            (group.largest, *largest) = (held.value, held.share);
        }
    };
    for &held in values {
        let Some(value) = audit.dump.values.get(held.value as usize) else {
            continue;
        };
        match by {
            By::OpName => {
                let path = audit.origins.path(&audit.origins.of(value));
                let path = path.unwrap_or_default();
                level_ends(&path).for_each(|end| add(&path[..end], held));
            }
            By::Source => add(&source(audit, value).unwrap_or_default(), held),
            By::Opcode => add(audit.origins.of(value).parts.opcode, held),
            By::Shape => add(shape_text(audit.dump, value).unwrap_or_default(), held),
        }
    }
    let mut groups: Vec<Group> = groups.into_values().map(|(group, _)| group).collect();
    groups.sort_unstable_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
    groups
}

/// The line of source that `value` comes from: `/home/dev/model.py:12`.
pub fn source(audit: &Audit, value: &Value) -> Option<String> {
    let origin = audit.origins.of(value);
    origin.source(&audit.libraries).map(Frame::to_string)
}

/// Whether `value` is a parameter of the program, or a copy of one, that comes from no line of source,
/// which is no gap in the dump. Parameters of its computations are another thing.
pub fn is_argument(audit: &Audit, value: &Value) -> bool {
    let origin = audit.origins.of(value);
    let dump = audit.dump;
    let is_argument = |value: &Value| {
        dump.opcode(value.name) == Some("parameter")
            && dump
                .allocation_of(value)
                .is_some_and(Allocation::is_parameter)
    };
    origin.frames.is_empty()
        && match origin.stands_for {
            Some(name) => dump
                .values_of(name)
                .any(|at| is_argument(&dump.values[at as usize])),
            None => is_argument(value),
        }
}

/// So many levels of a trace path are told apart; what is below is of the last. Real ones have at most 15.
const LEVELS: usize = 32;

/// Where each level of a trace path ends. A `/` in brackets, as in `params['a/b'].w` and
/// `jit(f/g)`, parts nothing; a path of nothing has one level.
fn level_ends(path: &str) -> impl Iterator<Item = usize> + '_ {
    let (mut depth, mut quote) = (0_u32, None);
    let slashes = path.bytes().enumerate().filter_map(move |(at, byte)| {
        match byte {
            byte if quote == Some(byte) => quote = None,
            _ if quote.is_some() => return None,
            b'\'' | b'"' if depth > 0 => quote = Some(byte),
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'/' if depth == 0 && at > 0 => return Some(at),
            _ => {}
        }
        None
    });
    slashes.chain([path.len()]).take(LEVELS)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::{Expect, expect};

    use super::*;
    use crate::audit::fixture::{audited, real};
    use crate::audit::peak::peak;

    fn check(audit: &Audit, by: By, expected: &Expect) {
        let peak = peak(audit, 0, None, &[]).unwrap();
        let groups = attribution(audit, &peak.values, by);
        let mut text = String::new();
        for group in &groups {
            let largest = &audit.dump.names[audit.dump.values[group.largest as usize].name];
            writeln!(
                text,
                "{} B {} x {:?}, largest {largest}",
                group.bytes, group.values, group.name
            )
            .unwrap();
        }
        expected.assert_eq(&text);
        if by != By::OpName {
            let sum: u64 = groups.iter().map(|group| group.bytes).sum();
            assert_eq!(sum, peak.moment.bytes, "no byte twice, none left out");
        }
    }

    const TEXT: &str = r#"BufferAssignment:
allocation 0: size 64, parameter 0, shape |f32[16]| at ShapeIndex {}:
 value: <1 p.1 @0> (size=64,offset=0): f32[16]{0}
allocation 1: size 256, preallocated-temp:
 value: <2 a.1 @0> (size=64,offset=0): f32[16]{0}
 value: <3 b.1 @0> (size=64,offset=0): f32[16]{0}
 value: <4 c.1 @0> (size=128,offset=128): f32[32]{0}

Total bytes used: 320 (320B)

Used values:
<1 p.1 @0>
 positions:
  p.1
 uses:
  a.1, operand 0
 from instruction: %p.1 = f32[16]{0} parameter(0), metadata={op_name="params[\'layers/0\'].w"}
<2 a.1 @0>
 positions:
  a.1
 uses:
  b.1, operand 0
 from instruction: %a.1 = f32[16]{0} sine(%p.1), metadata={op_name="jit(f)/while/body/sin" source_file="/home/dev/model.py" source_line=3}
<3 b.1 @0>
 positions:
  b.1
 uses:
  c.1, operand 0
 from instruction: %b.1 = f32[16]{0} cosine(%a.1), metadata={op_name="jit(f)/while" source_file="/home/dev/model.py" source_line=3}
<4 c.1 @0>
 positions:
  c.1
 uses:
 from instruction: %c.1 = f32[32]{0} sine(%b.1)

HloLiveRange (max 4):
  InstructionSequence:
    0:p.1
    1:a.1
    2:b.1
    3:c.1
  BufferLiveRange:
    p.1{}:0-4
    a.1{}:1-2
    b.1{}:2-3
    c.1{}:2-4
  Live ranges at 2 (peak):
    p.1{}: 64 bytes
"#;

    #[test]
    fn bytes_by_what_made_them() {
        let dump = audited(TEXT);
        let audit = Audit::new(&dump, crate::model::source::Libraries::default());
        check(
            &audit,
            By::OpName,
            &expect![[r#"
                128 B 1 x "", largest c.1
                64 B 2 x "jit(f)", largest a.1
                64 B 2 x "jit(f)/while", largest a.1
                64 B 1 x "jit(f)/while/body", largest a.1
                64 B 1 x "jit(f)/while/body/sin", largest a.1
                64 B 1 x "params['layers/0'].w", largest p.1
            "#]],
        );
        check(
            &audit,
            By::Source,
            &expect![[r#"
                192 B 2 x "", largest c.1
                64 B 2 x "/home/dev/model.py:3", largest a.1
            "#]],
        );
        check(
            &audit,
            By::Opcode,
            &expect![[r#"
                192 B 2 x "sine", largest c.1
                64 B 1 x "parameter", largest p.1
                0 B 1 x "cosine", largest b.1
            "#]],
        );
        check(
            &audit,
            By::Shape,
            &expect![[r#"
                128 B 3 x "f32[16]{0}", largest p.1
                128 B 1 x "f32[32]{0}", largest c.1
            "#]],
        );
    }

    #[test]
    fn a_real_dump() {
        let dump = real("tpu-split/module_0055.");
        let audit = Audit::new(&dump, crate::model::source::Libraries::default());
        check(
            &audit,
            By::OpName,
            &expect![[r#"
                524288 B 1 x "jit(attention)", largest fusion.5
                524288 B 1 x "jit(attention)/bhqk,bkhd->bqhd", largest fusion.5
                524288 B 1 x "jit(attention)/bhqk,bkhd->bqhd/dot_general", largest fusion.5
                524288 B 1 x "k", largest k.1
                524288 B 1 x "q", largest q.1
                524288 B 1 x "v", largest v.1
            "#]],
        );
        check(
            &audit,
            By::Source,
            &expect![[r#"
                1572864 B 3 x "", largest v.1
                524288 B 1 x "/home/dev/models/gen.py:116", largest fusion.5
            "#]],
        );
    }

    #[test]
    fn paths_part_outside_of_brackets() {
        let levels = |path: &str| {
            level_ends(path)
                .map(|end| path[..end].to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(levels("a/b/c"), ["a", "a/b", "a/b/c"]);
        assert_eq!(levels("params['a/b].c'].w"), ["params['a/b].c'].w"]);
        assert_eq!(
            levels("jit(f)/transpose(jvp(a/b))/é"),
            [
                "jit(f)",
                "jit(f)/transpose(jvp(a/b))",
                "jit(f)/transpose(jvp(a/b))/é"
            ]
        );
        assert_eq!(levels("it's/all"), ["it's", "it's/all"]);
        assert_eq!(levels(")/("), [")", ")/("]);
        assert_eq!(levels("/a"), ["/a"]);
        assert_eq!(levels(""), [""]);
        assert_eq!(levels(&"a/".repeat(1_000_000)).len(), LEVELS);
        // A path that goes on below that of another is of the same level: the other's bytes are no part of its.
        let deep = "a/".repeat(LEVELS);
        assert_eq!(levels(&format!("{deep}b")), levels(&format!("{deep}b/c")));
    }
}
