//! Dumps for the tests of audits and of the advice made from them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use buflens_syntax::Document;

use crate::model::{Dump, File};

/// A dump of one file.
pub(crate) fn audited(text: &str) -> Dump {
    dump(vec![(PathBuf::from("dump.txt"), text.to_owned())])
}

/// A real dump: every file whose path below the fixtures begins with `stem`.
pub(crate) fn real(stem: &str) -> Dump {
    dump(texts(stem))
}

/// The files of it.
pub(crate) fn texts(stem: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/dumps");
    let (folder, name) = stem.split_once('/').unwrap();
    let entries = std::fs::read_dir(root.join(folder)).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| {
        path.file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with(name)
    });
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        (path, text)
    };
    paths.into_iter().map(read).collect()
}

/// A dump of these files, by their paths.
pub(crate) fn dump(files: Vec<(PathBuf, String)>) -> Dump {
    let file = |(path, text): (PathBuf, String)| File {
        path,
        document: Document::new(&text).unwrap(),
        lossy: false,
    };
    Dump::new(files.into_iter().map(file).collect())
}

/// A dump of a program whose arrays take 16 bytes each. `allocations` are told as in their lines behind the size, `values` as
/// allocation, name with index, steps and what makes it, with `%` before the values that it reads. Each runs at its first step.
pub(crate) fn program(
    target: &str,
    allocations: &[&str],
    values: &[(usize, &str, [usize; 2], &str)],
) -> Dump {
    const SHAPE: &str = "f32[2,2]{1,0}";
    let mut text = "BufferAssignment:\n".to_owned();
    for (number, kind) in allocations.iter().enumerate() {
        writeln!(text, "allocation {number}: size 16, {kind}:").unwrap();
        for (id, (_, name, ..)) in values.iter().enumerate().filter(|(_, it)| it.0 == number) {
            writeln!(text, " value: <{id} {name} @0> (size=16,offset=0): {SHAPE}").unwrap();
        }
    }
    text.push_str("\nUsed values:\n");
    let instruction = |name: &str| name.split('{').next().unwrap_or(name).to_owned();
    for (id, (_, name, _, made)) in values.iter().enumerate() {
        let own = instruction(name);
        writeln!(
            text,
            "<{id} {name} @0>\n positions:\n  {}\n uses:",
            name.replace('{', " {")
        )
        .unwrap();
        for (_, reader, _, made) in values {
            let operands = made.split('%').skip(1);
            let operands = operands.map(|it| it.trim_end_matches([',', ' ', ')']));
            for (number, _) in operands.enumerate().filter(|(_, it)| it == name) {
                writeln!(text, "  {}, operand {number}", instruction(reader)).unwrap();
            }
        }
        writeln!(text, " from instruction: %{own} = {SHAPE} {made}").unwrap();
    }
    let end = values.iter().map(|it| it.2[1]).max().unwrap_or(0);
    writeln!(text, "\nHloLiveRange (max {end}):\n  InstructionSequence:").unwrap();
    for step in 0..end {
        let runs = values.iter().find(|it| it.2[0] == step);
        let name = runs.map_or_else(|| format!("other.{step}"), |it| instruction(it.1));
        writeln!(text, "    {step}:{name}").unwrap();
    }
    text.push_str("  BufferLiveRange:\n");
    for (_, name, [start, end], _) in values {
        let index = if name.contains('{') { "" } else { "{}" };
        writeln!(text, "    {name}{index}:{start}-{end}").unwrap();
    }
    let path = format!("module_0001.jit_f.{target}_after_optimizations-buffer-assignment.txt");
    dump(vec![(path.into(), text)])
}
