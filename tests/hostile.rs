//! Whatever a file is, there is a clear message, the rest of it is read, and nothing dies.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::client::Server;
use crate::support::command::{Finding, check, run};
use crate::support::dumps::{broken, files_below, fixtures_in};
use crate::support::extremes::extremes;
use crate::support::{Random, none_of};

/// What is broken in a file, which codes may say so, and a piece of the line that is off.
/// The last says whether nothing else is to be found.
const BROKEN: [(&str, &[&str], &str, bool); 19] = [
    ("total", &["total-bytes"], "Total bytes", true),
    ("human-bytes", &["human-bytes"], "Total bytes", true),
    (
        "repeated-id",
        &["duplicate-value"],
        " value: <2 sub.3",
        false,
    ),
    ("unknown-value", &["unknown-value"], "<9 sub.3", false),
    (
        "outside-allocation",
        &["value-outside-allocation"],
        "offset=128",
        true,
    ),
    ("overlapping", &["bytes-overlap"], " value: <3 sub.3", true),
    (
        "allocation-index",
        &["allocation-index"],
        "allocation 3:",
        true,
    ),
    ("unknown-line", &["syntax"], "what is this?", true),
    (
        "cut-in-a-line",
        &["truncated", "syntax"],
        "from instruction: %mul.2",
        false,
    ),
    (
        "cut-behind-a-heading",
        &["truncated"],
        "InstructionSequence",
        false,
    ),
    ("beyond-64-bits", &["syntax"], "18446744073709551616", false),
    ("negative-size", &["syntax"], "size=-64", false),
    (
        "live-range-backwards",
        &["live-range"],
        "mul.2{}:3-1",
        false,
    ),
    ("sequence", &["sequence"], "7:sub.3", true),
    ("peak-members", &["peak-members"], "sub.3{}:2-3", false),
    ("cumulative", &["cumulative-bytes"], "cumulative: 190", true),
    (
        "color",
        &["color-mismatch", "value-mismatch"],
        "<3 sub.3 @1>",
        false,
    ),
    ("shape", &["value-shape", "value-size"], "f32[17]", false),
    ("closing-mark-missing", &["syntax"], "mul.2 @0 (size", false),
];

/// Files that are broken as a whole.
const BROKEN_AS_A_WHOLE: [&str; 4] = ["empty", "no-dump", "binary", "not-utf-8"];

/// Commands that explain a dump, whatever it is.
const EXPLAINING: [&str; 9] = [
    "summary",
    "peak",
    "padding",
    "audit",
    "map",
    "export --format json",
    "export --format csv",
    "export --format perfetto",
    "report",
];

fn broken_file(name: &str) -> PathBuf {
    broken().join(format!(
        "module_0001.{name}.cpu_after_optimizations-buffer-assignment.txt"
    ))
}

fn serious(findings: &[Finding]) -> Vec<&Finding> {
    findings
        .iter()
        .filter(|finding| finding.is_serious())
        .collect()
}

fn show(findings: &[&Finding]) -> String {
    let shown: Vec<String> = findings
        .iter()
        .take(5)
        .map(|finding| format!("\n  {finding}"))
        .collect();
    shown.concat()
}

#[test]
fn what_is_broken_is_named() {
    let (output, findings) = check(&[&broken()]);
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    let mut failures = Vec::new();
    for (name, codes, piece, is_alone) in BROKEN {
        let path = broken_file(name);
        let text = fs::read_to_string(&path).expect("text");
        let line = text
            .lines()
            .position(|line| line.contains(piece))
            .expect("the line") as u64
            + 1;
        let path = path.display().to_string();
        let of_file: Vec<Finding> = findings
            .iter()
            .filter(|finding| finding.file == path)
            .cloned()
            .collect();
        let serious = serious(&of_file);
        let is_named = serious.iter().any(|finding| {
            // What is missing behind the last line may be told there.
            let is_truncated = finding.code == "truncated";
            codes.contains(&finding.code.as_str()) && (is_truncated || finding.names(&path, line))
        });
        if !is_named {
            failures.push(format!(
                "{name}: no {codes:?} at line {line}:{}",
                show(&serious)
            ));
        } else if is_alone && serious.len() > 1 {
            failures.push(format!(
                "{name}: one cause, {} findings:{}",
                serious.len(),
                show(&serious)
            ));
        }
    }
    none_of(&failures, "broken files not named rightly");
}

#[test]
fn what_is_no_dump_is_said_once() {
    for name in BROKEN_AS_A_WHOLE {
        let path = broken_file(name);
        let (output, findings) = check(&[&path]);
        assert!(
            matches!(output.code, Some(0 | 1)),
            "{name}: {:?} {}",
            output.code,
            output.stderr
        );
        assert!(!findings.is_empty(), "{name}: no finding");
        let says_encoding = findings
            .iter()
            .any(|finding| finding.message.contains("UTF-8"));
        let (most, is_text) = match name {
            // A binary file is no text either, which is another thing to say.
            "binary" => (2, false),
            // What stands for the lost letters fits into no name.
            "not-utf-8" => (usize::MAX, false),
            _ => (1, true),
        };
        assert_eq!(says_encoding, !is_text, "{name}: the encoding");
        let all: Vec<&Finding> = findings.iter().collect();
        assert!(findings.len() <= most, "{name}:{}", show(&all));
    }
    let output = run(
        ["check", "no/such/file-buffer-assignment.txt"],
        Duration::from_secs(60),
    );
    assert_eq!(output.code, Some(2), "{}", output.stdout);
    assert!(
        output.stderr.contains("no/such/file-buffer-assignment.txt"),
        "{}",
        output.stderr
    );
}

#[test]
fn what_may_be_a_dump_in_another_form_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "BufferAssignment:
allocation 0: size 4, thread-local:
 value: <0 a @0> (size=4,offset=0): f32[]

";
    let marked = format!("\u{feff}{text}");
    let utf_16: Vec<u8> = marked.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let blank_first = marked.replacen('\u{feff}', "\u{feff}\n", 1);
    let utf_16_blank = blank_first.encode_utf16().flat_map(u16::to_le_bytes);
    let utf_16_blank: Vec<u8> = utf_16_blank.collect();
    let utf_16_big: Vec<u8> = marked.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let points = || marked.chars().map(u32::from);
    let utf_32: Vec<u8> = points().flat_map(u32::to_le_bytes).collect();
    let utf_32_big: Vec<u8> = points().flat_map(u32::to_be_bytes).collect();
    let prefix = "I0000 00:00:00.000001   12 buffer_assignment.cc:7] ";
    let logged = format!("{prefix}{}", text.replace('\n', &format!("\n{prefix}")));
    let forms: [(&str, &[u8], &str); 9] = [
        (
            "a.txt.gz",
            b"\x1f\x8b\x08\x00\x00\x00\x00\x00",
            "compressed with gzip",
        ),
        ("a.txt.xz", b"\xfd7zXZ\x00\x00\x04", "compressed with xz"),
        (
            "a.txt.zst",
            b"\x28\xb5\x2f\xfd\x24\x0c",
            "compressed with zstd",
        ),
        ("b.txt", &utf_16, "this is UTF-16"),
        ("g.txt", &utf_16_blank, "this is UTF-16"),
        ("d.txt", &utf_16_big, "this is UTF-16"),
        ("e.txt", &utf_32, "this is UTF-32"),
        ("f.txt", &utf_32_big, "this is UTF-32"),
        ("c.txt", logged.as_bytes(), "a logger's prefix"),
    ];
    for (name, bytes, told) in forms {
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("a file");
        let (_, findings) = check(&[&path]);
        assert_eq!(findings.len(), 1, "{name}");
        assert!(
            findings[0].message.contains(told),
            "{}",
            findings[0].message
        );
        for command in [&["peak"][..], &["summary"], &["ls"], &["where", "a.py:1"]] {
            let path = path.to_str().expect("UTF-8");
            let output = run(
                command.iter().copied().chain([path]),
                Duration::from_secs(60),
            );
            assert_eq!(output.code, Some(2), "{command:?} {name}");
            assert!(
                output.stderr.contains(told),
                "{command:?}: {}",
                output.stderr
            );
        }
    }
    // Where nothing else is.
    for command in ["peak", "summary", "ls", "check"] {
        let output = run(
            [OsStr::new(command), folder.path().as_os_str()],
            Duration::from_secs(60),
        );
        assert_eq!(output.code, Some(2), "{command}");
        let told = "a.txt.gz and 2 more files are compressed";
        assert!(output.stderr.contains(told), "{command}: {}", output.stderr);
    }
}

#[test]
fn a_sibling_that_cannot_be_read_is_done_without() {
    let folder = tempfile::tempdir().expect("a folder");
    let dump = &fixtures_in(&["cpu-split"])[0];
    let stem = dump.stem.file_name().expect("a name").display().to_string();
    let assignment = folder.path().join(format!("{stem}-buffer-assignment.txt"));
    fs::copy(&dump.files[0], &assignment).expect("a copy");
    fs::create_dir(folder.path().join(format!("{stem}-live-range.txt"))).expect("a folder");
    let (output, findings) = check(&[&assignment]);
    assert!(matches!(output.code, Some(0..=2)), "{:?}", output.code);
    assert!(
        serious(&findings)
            .iter()
            .all(|finding| !finding.file.ends_with("-assignment.txt")),
        "{findings:?}"
    );
    let mut server = Server::start();
    let uri = server.open_file(&assignment);
    server.diagnostics(&uri);
    server.finish();
}

/// However the dump is named: the commands about one dump and those about many.
#[cfg(unix)]
#[test]
fn a_sibling_that_is_a_link_to_nothing_is_told_once_and_the_rest_is_done() {
    let dump = &fixtures_in(&["cpu-split"])[0];
    let name = |path: &Path| path.file_name().expect("a name").to_owned();
    let name_of_ranges = name(&dump.path("-live-range.txt"));
    for (to, reason) in [
        ("nowhere.txt", "it is a link to a file that is not there"),
        ("", "Too many levels of symbolic links"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let ranges = folder.path().join(&name_of_ranges);
        for file in &dump.files {
            let copy = folder.path().join(name(file));
            if copy == ranges {
                let to = if to.is_empty() {
                    name_of_ranges.as_os_str()
                } else {
                    to.as_ref()
                };
                std::os::unix::fs::symlink(to, copy).expect("a link");
            } else {
                fs::copy(file, copy).expect("a copy");
            }
        }
        let of_dump = |file: &PathBuf| folder.path().join(name(file));
        let all: Vec<PathBuf> = dump.files.iter().map(of_dump).collect();
        let told = format!("buflens: {} is left out: {reason}", ranges.display());
        let forms = [
            vec![folder.path().into()],
            vec![folder.path().join(name(&dump.stem))],
            all.clone(),
            vec![all[0].clone()],
        ];
        for command in [
            &["peak"][..],
            &["padding"],
            &["audit"],
            &["map", "--format", "json"],
            &["export", "--format", "json"],
            &["report", "-o", "-"],
            &["summary"],
            &["ls"],
            &["check"],
        ] {
            let run = |paths: &[PathBuf]| {
                let paths = paths.iter().map(|path| path.as_os_str());
                let command = command.iter().map(OsStr::new);
                run(command.chain(paths), Duration::from_secs(60))
            };
            for paths in &forms {
                let output = run(paths);
                assert_eq!(output.code, Some(2), "{command:?} {paths:?}");
                assert!(!output.stdout.is_empty(), "{command:?} {paths:?}");
                let err: Vec<&str> = output.stderr.lines().collect();
                let [line] = err[..] else {
                    panic!("{command:?} {paths:?}: {err:?}");
                };
                assert!(line.starts_with(&told), "{command:?}: {line}");
            }
            // What is named alone is no sibling.
            let output = run(std::slice::from_ref(&ranges));
            let err = output.stderr;
            assert_eq!(output.code, Some(2), "{command:?}");
            assert!(
                err.contains(&*ranges.to_string_lossy()),
                "{command:?}: {err}"
            );
            assert!(!err.contains("left out"), "{command:?}: {err}");
        }
    }
}

/// Cuts of a dump, all in one folder.
#[test]
fn a_file_cut_anywhere_is_said_to_be() {
    let mut random = Random(31);
    let mut missed = Vec::new();
    let mut all = 0;
    let dumps = fixtures_in(&["smallest", "cpu-run-on", "cpu-tree", "tpu-split"]);
    let of = |folder: &str| {
        dumps
            .iter()
            .find(|dump| dump.name().starts_with(folder))
            .expect("a dump")
    };
    for dump in ["smallest", "cpu-run-on", "cpu-tree", "tpu-split"].map(of) {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a folder");
        let mut cuts = Vec::new();
        let mut names = Vec::new();
        let files: Vec<String> = dump
            .files
            .iter()
            .map(|path| fs::read_to_string(path).expect("text"))
            .collect();
        for number in 0..100 {
            let sections = files
                .iter()
                .take(if dump.name().contains("split") { 3 } else { 1 })
                .count();
            let file = random.below(sections);
            let mut cut = 1 + random.below(files[file].len() - 2);
            while !files[file].is_char_boundary(cut) {
                cut -= 1;
            }
            let folder = root.join(format!("c{number:03}"));
            fs::create_dir(&folder).expect("a folder");
            for (other, path) in dump.files.iter().enumerate() {
                let text = if other == file {
                    &files[other][..cut]
                } else {
                    &files[other]
                };
                fs::write(folder.join(path.file_name().expect("a name")), text).expect("a file");
            }
            names.push(folder.display().to_string());
            cuts.push((file, cut));
        }
        let (output, findings) = check(&[&root]);
        assert!(
            matches!(output.code, Some(0 | 1)),
            "{:?}: {}",
            output.code,
            output.stderr
        );
        let serious = serious(&findings);
        for (name, (file, cut)) in names.iter().zip(cuts) {
            all += 1;
            if !serious
                .iter()
                .any(|finding| finding.file.starts_with(&format!("{name}/")))
            {
                let text = &files[file];
                let last = text[..cut].lines().next_back().unwrap_or_default();
                missed.push(format!(
                    "{} file {file} cut at {cut} of {}: {last}",
                    dump.name(),
                    text.len()
                ));
            }
        }
    }
    println!("{} of {all} cuts not told", missed.len());
    for miss in &missed {
        println!("not told: {miss}");
    }
    // A combined file cut behind a section is a sound file of the split form, a lone line end at the
    // end is nobody's loss, and what is behind a missing line of the tree may be short of nothing.
    assert!(
        missed.len() * 20 <= all,
        "{} of {all} cuts not told",
        missed.len()
    );
}

#[test]
fn too_much_of_something_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in extremes() {
        let suffix = if text.starts_with("HloLiveRange") {
            "live-range"
        } else {
            "buffer-assignment"
        };
        let path = folder.path().join(format!(
            "module_0001.{name}.cpu_after_optimizations-{suffix}.txt"
        ));
        fs::write(&path, &text).expect("a file");
    }
    let (output, findings) = check(&[folder.path()]);
    assert!(
        matches!(output.code, Some(0 | 1)),
        "{:?}: {}",
        output.code,
        output.stderr
    );
    for name in [
        "repeated-ids",
        "deep-open-shape",
        "long-number",
        "huge-numbers",
    ] {
        let of_file = |finding: &&Finding| finding.is_serious() && finding.file.contains(name);
        let found = findings.iter().filter(of_file).count();
        assert!(found > 0, "{name}: no finding");
        assert!(found <= 100_001, "{name}: {found} findings");
    }
    let dumps = files_below(folder.path());
    for (path, command) in dumps
        .iter()
        .flat_map(|path| EXPLAINING.map(|it| (path, it)))
    {
        let page = folder.path().join("report.html");
        let page: [&OsStr; 2] = ["--output".as_ref(), page.as_ref()];
        let page = page.into_iter().filter(|_| command == "report");
        let arguments = command.split(' ').map(OsStr::new);
        let arguments = arguments.chain(page).chain([path.as_os_str()]);
        let output = run(arguments, Duration::from_secs(120));
        let is_whole = path.to_string_lossy().contains("at-the-peak");
        let worst = if is_whole { 0 } else { 2 };
        assert!(
            matches!(output.code, Some(code) if code <= worst),
            "{command} {}: {:?} {}",
            path.display(),
            output.code,
            output.stderr
        );
    }
    for path in dumps {
        let text = fs::metadata(&path).expect("a file").len();
        // A tree of millions of tokens is for nobody.
        if text < 2_000_000 {
            let output = run(
                ["parse".as_ref(), path.as_os_str()],
                Duration::from_secs(120),
            );
            assert_eq!(
                output.code,
                Some(0),
                "{}: {}",
                path.display(),
                output.stderr
            );
        }
    }
}

/// Control characters, and such as reorder text or hide in it.
fn steers(char: char) -> bool {
    (char.is_control() && !matches!(char, '\n' | '\t'))
        || matches!(
            char,
            '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
                | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}'
        )
}

/// Whatever stands in a dump and in the name of its file.
#[test]
fn nothing_steers_a_terminal() {
    let all: String = (0..=0x000E_007F)
        .filter_map(char::from_u32)
        .filter(|&char| steers(char) && !matches!(char, '\r'))
        .collect();
    let text = format!(
        "BufferAssignment:
allocation 0: size 4, {all}, thread-local:
allocation 1: size 8, preallocated-temp:
 value: <0 a{all} @0> (size=8,offset=0): f32[]

Total bytes used: 12 (12B)

Used values:
<0 a{all} @0>
 positions:
  a{all}
 uses:
 from instruction: %a{all} = f32[] sine(%p), metadata={{op_name=\"{all}\" source_file=\"{all}.py\" source_line=1}}

HloLiveRange (max 1):
  InstructionSequence:
    0:a{all}
  BufferLiveRange:
    a{all}{{}}:0-1
"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let name = if cfg!(unix) {
        "\u{1b}[31m\u{9b}31m\u{202e}\u{200b}\u{7f}"
    } else {
        "\u{9b}\u{202e}"
    };
    let path = folder.path().join(format!(
        "module_0001.{name}.cpu_after_optimizations-buffer-assignment.txt"
    ));
    fs::write(&path, &text).expect("a file");
    let mut told = 0;
    let place = format!("{}:4:12", path.display());
    let path = path.to_str().expect("a path");
    for arguments in [
        &["check", path][..],
        &["ls", path],
        &["summary", path],
        &["peak", path],
        &["padding", path],
        &["audit", path],
        &["map", path],
        &["diff", path, path],
        &["where", "a.py", path],
        &["hover", &place],
        &["definition", &place],
        &["parse", "--errors", path],
    ] {
        let output = run(arguments, Duration::from_secs(60));
        told += usize::from(!output.stdout.is_empty());
        for text in [&output.stdout, &output.stderr] {
            let char = text.chars().find(|&char| steers(char));
            assert_eq!(char, None, "{arguments:?}: {text}");
        }
    }
    assert!(told > 6, "{told} of these tell something");
}
