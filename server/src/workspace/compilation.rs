//! What a compilation is called, which of its files are there, and whether they belong together.

use buflens_syntax::facts::Heading;

use super::names::{module_name, stem_or_path};
use crate::model::bytes::rounded;
use crate::model::{Dump, Part};

/// The parts that a compilation consists of, in the order of [`super::SUFFIXES`], with what they
/// are called.
pub const PARTS: [(Part, &str); 5] = [
    (Part::Assignment, "assignment"),
    (Part::Values, "values"),
    (Part::LiveRange, "live-range"),
    (Part::Report, "report"),
    (Part::Module, "hlo"),
];

/// What the program is called: by its HLO text, else by the names of its files, else the name of
/// its first file.
pub fn program_name(dump: &Dump) -> String {
    if let Some(name) = dump.file_of(Part::Module).and_then(|file| {
        let (_, block) = dump.files.get(file)?.document.blocks().next()?;
        let mut headings = block.headings().iter();
        headings.find_map(|(heading, _)| match heading {
            Heading::Module(name) => Some(name.text(block.text())),
            _ => None,
        })
    }) {
        return name.to_owned();
    }
    let Some(file) = dump.files.first() else {
        return String::new();
    };
    if let Some(name) = module_name(&file.path) {
        return name;
    }
    let stem = stem_or_path(&file.path);
    let name = stem.file_name().unwrap_or(stem.as_os_str());
    name.to_string_lossy().into_owned()
}

/// Whether a dump has `part`, as a file of its own or within the assignment, where compilers before
/// 2026 print all but the report and the HLO text.
pub fn has_part(dump: &Dump, part: Part) -> bool {
    let mut headings = dump.headings.iter().map(|(heading, _)| heading);
    dump.file_of(part).is_some()
        || match part {
            Part::Values => dump.has_used_values(),
            Part::LiveRange => headings.any(|heading| {
                matches!(
                    heading,
                    Heading::LiveRange(_) | Heading::LiveRangeUnavailable
                )
            }),
            _ => false,
        }
}

/// Why the files of a dump do not belong together as their names say, each in a sentence.
pub fn problems(dump: &Dump) -> Vec<String> {
    let mut problems = Vec::new();
    // The dump itself ends where a second one begins in a file.
    let blocks = dump.files.iter().flat_map(|file| file.document.blocks());
    let headings: Vec<Heading> = blocks
        .flat_map(|(_, block)| block.headings().iter().map(|(heading, _)| *heading))
        .collect();
    let count = |is_one: fn(&Heading) -> bool| headings.iter().filter(|it| is_one(it)).count();
    let sections = [
        ("assignments", count(|it| *it == Heading::Assignment)),
        ("lists of used values", count(|it| *it == Heading::Values)),
        ("schedules", count(|it| *it == Heading::Steps)),
    ];
    let repeated = sections.iter().find(|(_, count)| *count > 1);
    if let Some((what, count)) = repeated {
        problems.push(format!(
            "the files hold {count} {what}: several compilations were written under one name"
        ));
    }
    let has = |part| has_part(dump, part);
    if !has(Part::Assignment) {
        let there = PARTS.iter().filter(|(part, _)| has(*part));
        let there: Vec<&str> = there.map(|(_, name)| *name).collect();
        problems.push(format!(
            "there is no assignment beside the {}: where values lie is not known",
            there.join(", ")
        ));
    }
    if let Some(bytes) = dump.missing_bytes().filter(|&bytes| bytes > 0) {
        problems.push(format!(
            "allocations of {} that the compiler counts are not there, as where a file is cut",
            rounded(bytes)
        ));
    }
    problems
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use buflens_syntax::Document;
    use expect_test::{Expect, expect};

    use super::*;
    use crate::model::File;

    const ASSIGNMENT: &str = "BufferAssignment:\nallocation 0: size 8, maybe-live-out:\n value: <0 a @0> (size=4,offset=0): f32[]\n value: <1 b @0> (size=4,offset=4): f32[]\n\n";
    const VALUES: &str = "Total bytes used: 8 (8B)\n\nUsed values:\n<0 a @0>\n positions:\n  a\n uses:\n from instruction: a = f32[] parameter(0)\n<1 b @0>\n positions:\n  b\n uses:\n from instruction: b = f32[] negate(a)\n";
    const RANGES: &str = "HloLiveRange (max 1):\n  InstructionSequence:\n    0:a\n    1:b\n  BufferLiveRange:\n    a{}:0-1\n    b{}:1-1\n";
    const MODULE: &str = "HloModule jit_f, is_scheduled=true\n\nENTRY main {\n  a = f32[] parameter(0)\n  ROOT b = f32[] negate(a)\n}\n";

    fn dump(files: &[(&str, &str)]) -> Dump {
        let file = |(name, text): &(&str, &str)| File {
            path: PathBuf::from(format!(
                "/d/module_0001.jit_g.after_optimizations{name}.txt"
            )),
            document: Document::new(text).expect("a small text"),
            lossy: false,
        };
        Dump::new(files.iter().map(file).collect())
    }

    fn check(files: &[(&str, &str)], expected: &Expect) {
        expected.assert_eq(&(problems(&dump(files)).join("\n") + "\n"));
    }

    #[test]
    fn a_sound_compilation_has_no_problems() {
        let all = [
            ("-buffer-assignment", ASSIGNMENT),
            ("-buffer-assignment-values", VALUES),
            ("-live-range", RANGES),
            ("", MODULE),
        ];
        for count in 1..=4 {
            assert_eq!(problems(&dump(&all[..count])), Vec::<String>::new());
        }
        let dump = dump(&all);
        assert_eq!(program_name(&dump), "jit_f");
        let has: Vec<bool> = PARTS
            .iter()
            .map(|(part, _)| has_part(&dump, *part))
            .collect();
        assert_eq!(has, [true, true, true, false, true]);
    }

    #[test]
    fn parts_within_the_assignment_are_there() {
        let combined = [ASSIGNMENT, VALUES, RANGES].concat();
        let dump = dump(&[("-buffer-assignment", &combined)]);
        let has: Vec<bool> = PARTS
            .iter()
            .map(|(part, _)| has_part(&dump, *part))
            .collect();
        assert_eq!(has, [true, true, true, false, false]);
        assert_eq!(program_name(&dump), "jit_g");
    }

    #[test]
    fn files_that_do_not_belong_together_are_told() {
        check(
            &[
                ("-buffer-assignment-values", VALUES),
                ("-live-range", RANGES),
            ],
            &expect![[r#"
                there is no assignment beside the values, live-range: where values lie is not known
            "#]],
        );
        let twice = ASSIGNMENT.repeat(2);
        check(
            &[("-buffer-assignment", &twice)],
            &expect![[r#"
            the files hold 2 assignments: several compilations were written under one name
        "#]],
        );
        let combined = [ASSIGNMENT, VALUES].concat();
        check(
            &[
                ("-buffer-assignment", &combined),
                ("-buffer-assignment-values", VALUES),
            ],
            &expect![[r#"
                the files hold 2 lists of used values: several compilations were written under one name
            "#]],
        );
    }
}
