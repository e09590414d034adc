//! Which names the files of one compilation have.

use std::path::{Path, PathBuf};

use buflens_syntax::Document;

use crate::model::Part;

/// What stands between the stem and `.txt`, and which part of a dump such a file is, in the order
/// in which a dump lists its files.
pub const SUFFIXES: [(&str, Part); 5] = [
    ("-buffer-assignment", Part::Assignment),
    ("-buffer-assignment-values", Part::Values),
    ("-live-range", Part::LiveRange),
    ("-memory-usage-report", Part::Report),
    ("", Part::Module),
];

/// A name that a file of a compilation may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sibling {
    /// The path.
    pub path: PathBuf,
    /// The part of the dump that the name promises; `None` for a name that promises nothing.
    pub part: Part,
}

/// Whether the path stands for what is piped in.
pub fn is_piped(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The path without suffix and extension, which the files of one compilation have in common.
/// `None` for a file that is named like no dump.
pub fn stem(path: &Path) -> Option<PathBuf> {
    Some(path.with_file_name(split(path)?.0))
}

/// The same; of a file that is named like no dump its path.
pub fn stem_or_path(path: &Path) -> PathBuf {
    stem(path).unwrap_or_else(|| path.to_owned())
}

/// The paths that the files of the compilation of `path` have, itself among them, whether they
/// exist or not. Only the stem relates files: `X_before_buffer_assignment.txt` is the text of
/// another program than `X.txt`, without the copies that were inserted since.
pub fn siblings(path: &Path) -> Vec<Sibling> {
    let Some((stem, _)) = split(path) else {
        return vec![Sibling {
            path: path.to_owned(),
            part: Part::None,
        }];
    };
    let sibling = |(suffix, part)| Sibling {
        path: path.with_file_name(format!("{stem}{suffix}.txt")),
        part,
    };
    SUFFIXES.map(sibling).into()
}

/// The name of the program that a dump's file is called after: `jit_f` of
/// `module_0001.jit_f.cl_804429027.after_optimizations-live-range.txt`. Compilers replace odd
/// characters in it, and leave it out where a name would be too long.
pub fn module_name(path: &Path) -> Option<String> {
    let (stem, _) = split(path)?;
    program(stem).1
}

/// The path without what tells the stages of a compilation apart: `d/module_0001.jit_f` of
/// `d/module_0001.jit_f.before_optimizations`, which is a stem.
pub fn program_path(stem: &Path) -> PathBuf {
    let name = stem.file_name().unwrap_or_default().to_string_lossy();
    stem.with_file_name(program(&name).0)
}

/// What the dumps of a program are called in every run: `jit_f.cpu_after_optimizations` of
/// `module_0022.jit_f.cpu_after_optimizations.txt`. Times, the numbers of modules and change lists, and chips go.
pub fn name_in_every_run(path: &Path) -> String {
    let stem = stem_or_path(path);
    let name = stem.file_name().unwrap_or_default().to_string_lossy();
    let is_of_run = |part: &str| {
        let number = part.strip_prefix("module_").unwrap_or(part);
        is_number(number) || is_change_list(part)
    };
    let parts = name.split('.').filter(|part| !is_of_run(part));
    // The chip's number may hold a dot: `sm_9.0a_gpu_after_optimizations`.
    let parts = parts.filter_map(|part| match part.find("gpu_after_") {
        Some(at) => Some(&part[at..]),
        None => (!is_chip(part)).then_some(part),
    });
    parts.collect::<Vec<_>>().join(".")
}

fn is_number(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_change_list(part: &str) -> bool {
    part.strip_prefix("cl_").is_some_and(is_number)
}

/// Whether a part of a name begins with what a GPU is called: `sm_8`, `gfx942_gpu_after_optimizations`.
fn is_chip(part: &str) -> bool {
    part.starts_with("sm_") || part.starts_with("gfx")
}

/// How much of a stem the compilations of a program have in common in all stages, and the name of
/// the program.
fn program(stem: &str) -> (&str, Option<String>) {
    let head = |rest: &str| stem[..stem.len() - rest.len()].trim_end_matches('.');
    let Some((mut first, mut rest)) = stem.split_once('.') else {
        return (stem, None);
    };
    if is_number(first) {
        let Some(parts) = rest.split_once('.') else {
            return (stem, None);
        };
        (first, rest) = parts;
    }
    if !first.starts_with("module_") {
        return (stem, None);
    }
    // Both the name and the stage may hold dots.
    let is_stage = |part: &str| {
        is_change_list(part)
            || is_chip(part)
            || part.ends_with("after_optimizations")
            || part.starts_with("before_")
            || part.starts_with("after_")
    };
    let parts: Vec<&str> = rest.split('.').collect();
    // `0004.PIPELINE.after_PASS`, where a name's number would be followed by a stage. Pipelines may be called like one.
    let is_pass = |at: usize, part: &str| {
        let is_pipeline = |next: &&str| {
            let behind = parts.get(at + 2);
            !is_stage(next) || behind.is_some_and(|pass| pass.starts_with("after_"))
        };
        part.len() >= 4 && is_number(part) && parts.get(at + 1).is_some_and(is_pipeline)
    };
    let mut stages = parts.iter().enumerate();
    let stage = stages.find(|&(at, part)| is_stage(part) || is_pass(at, part));
    let stage = stage.map(|(at, _)| at);
    let name = parts[..stage.unwrap_or(parts.len() - 1)].join(".");
    let head = head(&rest[name.len()..]);
    (head, (!name.is_empty()).then_some(name))
}

/// The part of a dump that the end of a file's name promises, whatever stands before it.
pub fn part_of_suffix(path: &Path) -> Option<Part> {
    Some(split(path)?.1)
}

/// The part of a dump that a file is, if it is named as a compiler names an assignment, a values, a
/// live-range file or a report: `[TIMESTAMP.]module_NNNN[.MODULE].STAGE-SUFFIX.txt`. Names without
/// suffix are not enough: compilers write many other `module_NNNN.*.txt`; see [`part_of_head`].
pub(super) fn part_of_name(path: &Path) -> Option<Part> {
    let (stem, part) = split(path)?;
    let stem = match stem.split_once('.') {
        Some((timestamp, rest)) if is_number(timestamp) => rest,
        _ => stem,
    };
    let (number, stage) = stem.strip_prefix("module_")?.split_once('.')?;
    let is_named =
        part != Part::Module && number.len() >= 4 && is_number(number) && !stage.is_empty();
    is_named.then_some(part)
}

/// The part of a dump that a text beginning with `head` (some KiB are enough) is, by its headings:
/// dumps get renamed.
pub(super) fn part_of_head(head: &[u8]) -> Part {
    let text = String::from_utf8_lossy(head);
    let unmarked = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Document::new(unmarked).map_or(Part::None, |document| Part::from(document.kind()))
}

fn split(path: &Path) -> Option<(&str, Part)> {
    let name = path.file_name()?.to_str()?.strip_suffix(".txt")?;
    let (stem, part) = SUFFIXES
        .iter()
        .find_map(|&(suffix, part)| Some((name.strip_suffix(suffix)?, part)))?;
    (!stem.is_empty()).then_some((stem, part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siblings_share_their_stem() {
        let stem_of =
            |name: &str| stem(Path::new(name)).map(|stem| stem.to_string_lossy().into_owned());
        let stem = Some("d/module_0001.jit_f.cpu_after_optimizations".to_owned());
        for (suffix, _) in SUFFIXES {
            assert_eq!(
                stem_of(&format!(
                    "d/module_0001.jit_f.cpu_after_optimizations{suffix}.txt"
                )),
                stem
            );
        }
        assert_ne!(
            stem_of("d/module_0001.jit_f.cpu_after_optimizations_before_buffer_assignment.txt"),
            stem
        );
        assert_eq!(stem_of("d/dump.log"), None);
        assert_eq!(stem_of("d/-live-range.txt"), None);

        let siblings = siblings(Path::new("d/x-live-range.txt"));
        let names: Vec<_> = siblings
            .iter()
            .map(|sibling| sibling.path.to_string_lossy())
            .collect();
        assert_eq!(
            names,
            [
                "d/x-buffer-assignment.txt",
                "d/x-buffer-assignment-values.txt",
                "d/x-live-range.txt",
                "d/x-memory-usage-report.txt",
                "d/x.txt"
            ]
        );
    }

    #[test]
    fn names_of_programs() {
        let name = |file: &str| module_name(Path::new(file));
        for (file, expected) in [
            (
                "module_0001.jit_f.cpu_after_optimizations-live-range.txt",
                "jit_f",
            ),
            (
                "d/module_0001.jit_f.cl_804429027.after_optimizations.txt",
                "jit_f",
            ),
            (
                "17.module_0001.jit_f.sm_9.0a_gpu_after_optimizations.txt",
                "jit_f",
            ),
            (
                "module_0001.a_f__.126.cpu_after_optimizations.txt",
                "a_f__.126",
            ),
            (
                "module_0001.jit_f.after_codegen-buffer-assignment.txt",
                "jit_f",
            ),
            ("module_0001.jit_f.total-buffer-assignment.txt", "jit_f"),
            (
                "module_0001.Graph.358.0036.after_layout_assignment.after_pipeline-start.before_pipeline-end.txt",
                "Graph.358",
            ),
        ] {
            assert_eq!(name(file).as_deref(), Some(expected), "{file}");
        }
        assert_eq!(name("module_0001.cpu_after_optimizations.txt"), None);
        assert_eq!(name("notes.of.mine.txt"), None);
    }

    #[test]
    fn stages_of_a_program_have_their_start_in_common() {
        let path = |stem: &str| program_path(Path::new(stem)).to_string_lossy().into_owned();
        for stage in [
            "cl_8.after_optimizations",
            "before_optimizations",
            "sm_9.0a_gpu_after_optimizations",
        ] {
            assert_eq!(
                path(&format!("d/module_0001.jit_f.{stage}")),
                "d/module_0001.jit_f"
            );
            assert_eq!(
                path(&format!("d/17.module_0001.{stage}")),
                "d/17.module_0001"
            );
        }
        assert_eq!(path("d/notes"), "d/notes");
        assert_eq!(path("d/1.2"), "d/1.2");
    }

    #[test]
    fn names_in_every_run() {
        for (path, name) in [
            (
                "d/module_0022.jit_f.cpu_after_optimizations-live-range.txt",
                "jit_f.cpu_after_optimizations",
            ),
            (
                "17.module_0022.jit_f.cl_804429027.after_optimizations.txt",
                "jit_f.after_optimizations",
            ),
            (
                "module_0022.a.b.126.sm_9.0a_gpu_after_optimizations.txt",
                "a.b.gpu_after_optimizations",
            ),
            (
                "module_0022.jit_f.gfx942.gpu_after_optimizations.txt",
                "jit_f.gpu_after_optimizations",
            ),
            ("mine.txt", "mine"),
        ] {
            assert_eq!(name_in_every_run(Path::new(path)), name, "{path}");
        }
    }

    #[test]
    fn names_of_dumps() {
        let is_dump = |name: &str| part_of_name(Path::new(name)).is_some();
        assert!(is_dump(
            "a/module_0093.jit_f.cl_933746096.after_optimizations-buffer-assignment-values.txt"
        ));
        assert!(is_dump(
            "1700000000123456.module_10093.sm_9.0a_gpu_after_optimizations-live-range.txt"
        ));
        assert!(is_dump(
            "module_0126.a_inference_f_46__.126.cpu_after_optimizations-memory-usage-report.txt"
        ));
        assert!(
            !is_dump("module_0093.jit_f.before_optimizations.txt"),
            "its first line tells"
        );
        assert!(!is_dump("module_93.jit_f.x-buffer-assignment.txt"));
        assert!(!is_dump("module_0093.jit_f.thunk_sequence.txt"));
        assert!(!is_dump("notes-live-range.txt"));
        assert!(!is_dump("module_0093.jit_f.x-buffer-assignment.pb"));
    }

    #[test]
    fn heads_of_dumps() {
        let is_dump_head = |head: &[u8]| part_of_head(head) != Part::None;
        assert!(is_dump_head(b"BufferAssignment:\nallocation 0: si"));
        assert!(is_dump_head(
            b"\nTotal bytes used: 4 (4B)\n\nUsed values:\n"
        ));
        assert!(is_dump_head(b"HloModule jit_f, is_scheduled=true"));
        assert!(is_dump_head(b"Memory Space: HBM (color=0)\n"));
        assert!(is_dump_head(
            b"\xef\xbb\xbfHloModule jit_f, is_scheduled=true"
        ));
        assert!(!is_dump_head(b""));
        assert!(!is_dump_head(b"\x7fELF\xff\xfe"));
        assert!(!is_dump_head(b"import jax\n"));
    }
}
