//! Navigation in real dumps, compared with what a plain reading of their lines says.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};

use buflens_syntax::{DocumentKind, SyntaxElement, SyntaxKind};

use super::navigation::{Navigation, declaration, definition, implementation, type_definition};
use super::{call_hierarchy, fixture, folding, links, references, selection, symbols, tokens};
use crate::model::{Dump, FileId};
use crate::real_dumps::{self, compilations};

/// Larger files are left to benchmarks.
const MAX_BYTES: u64 = 300_000;
/// The programs looked at where there are a hundred of them.
const PROGRAMS: [&str; 8] = [
    "cond_switch",
    "donated_inplace",
    "host_offload_outputs",
    "lstm_scan",
    "nested_loops",
    "odd_names",
    "sort_multi",
    "train_tiny",
];
/// What the lines of section C say, read without the syntax crate.
#[derive(Default)]
struct Reading {
    /// The headers by name and index.
    defined: HashMap<(String, String), Vec<String>>,
    /// The headers by name.
    of_name: HashMap<String, Vec<String>>,
    /// The headers by the name of a position.
    at_position: HashMap<String, Vec<String>>,
}

fn name_and_index(text: &str) -> (String, String) {
    let (name, index) = text.split_at(text.find('{').unwrap_or(text.len()));
    (
        name.trim().to_owned(),
        if index.is_empty() {
            "{}".to_owned()
        } else {
            index.to_owned()
        },
    )
}

/// A name to ask at: what its line is, where it stands, the line or name, the value's header.
struct Line<'t> {
    kind: &'static str,
    offset: usize,
    text: &'t str,
    header: String,
}

/// The lines of a file by their meaning.
fn lines_of(text: &str) -> Vec<Line<'_>> {
    let (mut section, mut header) = ("", String::new());
    let (mut start, mut before) = (0, 0);
    let mut found = Vec::new();
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches('\n');
        let indent = content.len() - content.trim_start().len();
        let mut add = |kind, at: usize, text, header: &str| {
            found.push(Line {
                kind,
                offset: start + at,
                text,
                header: header.to_owned(),
            });
        };
        match content {
            " positions:" => {
                let before = text[before..start].trim_end();
                let at = before.rfind('<').unwrap();
                header = before[at..].to_owned();
                let behind = start - 1 - before.len() + at + 1;
                found.push(Line {
                    kind: "header",
                    offset: behind,
                    text: "",
                    header: header.clone(),
                });
                section = "position";
            }
            " uses:" => section = "use",
            "  InstructionSequence:" => section = "step",
            "  BufferLiveRange:" => section = "live range",
            "  (none)" => {}
            _ if content.starts_with("  Live ranges at ") => section = "peak",
            _ if content.starts_with("  Stack trace") || content.is_empty() => section = "",
            _ if content.starts_with(" from instruction:") => {
                section = "";
                operands(content).for_each(|(at, name)| add("operand", at, name, &header));
            }
            _ if content.starts_with(" value: <") => {
                let reference = &content[" value: ".len()..=content.find('>').unwrap()];
                add("value", " value: <".len(), content, reference);
            }
            _ if section == "step" => add("step", content.find(':').unwrap() + 1, content, ""),
            _ if !section.is_empty() => add(section, indent, content, &header),
            _ if content.starts_with("  ") && content.contains(" = ") => {
                operands(content).for_each(|(at, name)| add("hlo operand", at, name, ""));
            }
            _ => {}
        }
        before = start;
        start += line.len();
    }
    found
}

/// The names with a mark between the brackets behind the opcode, with their columns.
fn operands(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let shape = line.find(" = ").map_or(line.len(), |at| at + 3);
    let bytes = line.as_bytes();
    let mut depth = 0;
    let closing = |from: usize| {
        (from..bytes.len()).find(|&at| {
            depth += i32::from(bytes[at] == b'(') - i32::from(bytes[at] == b')');
            depth == 0 && bytes[at] == b')'
        })
    };
    let mut closing = closing;
    let opcode = if bytes.get(shape) == Some(&b'(') {
        closing(shape)
    } else {
        line[shape..].find(' ').map(|at| at + shape)
    };
    let opcode = opcode.unwrap_or(line.len());
    let open = line[opcode..]
        .find('(')
        .map_or(line.len(), |at| at + opcode);
    let close = closing(open).unwrap_or(line.len());
    let names = line[open..close]
        .match_indices('%')
        .map(move |(at, _)| open + at + 1);
    names.map(|at| {
        let end = line[at..]
            .find([',', ')', '#'])
            .map_or(line.len(), |end| at + end);
        (at, &line[at..end])
    })
}

impl Reading {
    fn of(files: &[String]) -> Self {
        let mut reading = Self::default();
        for Line {
            kind,
            text: line,
            header,
            ..
        } in files.iter().flat_map(|text| lines_of(text))
        {
            match kind {
                "header" => {
                    let (name, index) = name_and_index(header.split([' ', '>']).nth(1).unwrap());
                    reading
                        .defined
                        .entry((name.clone(), index))
                        .or_default()
                        .push(header.clone());
                    reading.of_name.entry(name).or_default().push(header);
                }
                "position" => {
                    let (name, _) = name_and_index(line);
                    reading.at_position.entry(name).or_default().push(header);
                }
                _ => {}
            }
        }
        reading
    }

    /// The headers that a line leads to.
    fn expected(&self, kind: &str, line: &str, header: &str) -> Vec<String> {
        let defined = |name: &str, index: &str| {
            self.defined
                .get(&(name.to_owned(), index.to_owned()))
                .cloned()
                .unwrap_or_default()
        };
        let all = |map: &HashMap<String, Vec<String>>, name: &str| {
            map.get(name).cloned().unwrap_or_default()
        };
        let mut headers = match kind {
            "value" => vec![header.to_owned()],
            "position" => {
                let (name, index) = name_and_index(line);
                let found = defined(&name, &index);
                // Every position belongs to exactly one value.
                if found.is_empty() {
                    vec![header.to_owned()]
                } else {
                    found
                }
            }
            "live range" | "peak" => {
                let (reference, _) = line.split_once(':').unwrap();
                let (name, index) = name_and_index(reference);
                if reference.contains('{') {
                    defined(&name, &index)
                } else {
                    all(&self.of_name, &name)
                }
            }
            _ => {
                let name = line
                    .trim()
                    .split([',', ':'])
                    .nth(usize::from(kind == "step"))
                    .unwrap();
                let mut found = defined(name, "{}");
                for map in [&self.of_name, &self.at_position] {
                    if found.is_empty() {
                        found = all(map, name);
                    }
                }
                found
            }
        };
        headers.sort();
        headers.dedup();
        headers
    }
}

fn texts_of(dump: &Dump, navigation: Option<Navigation>) -> Vec<String> {
    let targets = navigation.map_or_else(Vec::new, |navigation| navigation.targets);
    let text = |place: &crate::model::Place| {
        dump.files[place.file]
            .document
            .slice(place.range.clone())
            .to_owned()
    };
    let mut texts: Vec<String> = targets.iter().map(|target| text(&target.place)).collect();
    texts.sort();
    texts
}

/// Asks at the first name of every line; gives the number of lines.
fn check_dump(paths: &[PathBuf], failures: &mut Vec<String>) -> usize {
    let texts: Vec<String> = paths
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let dump = real_dumps::read(paths);
    let reading = Reading::of(&texts);
    if reading.defined.is_empty() {
        return 0;
    }
    let mut asked = 0;
    for (file, text) in texts.iter().enumerate() {
        let document = &dump.files[file].document;
        if matches!(
            document.kind(),
            DocumentKind::Report | DocumentKind::Foreign
        ) {
            continue;
        }
        for line in lines_of(text) {
            asked += 1;
            check_line(&dump, file, &line, &reading, failures);
        }
        if document.len() < 50_000 {
            check_occurrences(&dump, file, failures);
        }
        check_whole(&dump, file, failures);
    }
    asked
}

fn check_line(
    dump: &Dump,
    file: FileId,
    line: &Line,
    reading: &Reading,
    failures: &mut Vec<String>,
) {
    let &Line {
        kind,
        offset,
        text: line,
        ref header,
    } = line;
    let path = dump.files[file].path.display();
    let offset = offset as u32;
    let found = texts_of(dump, definition(dump, file, offset));
    if kind == "header" || kind == "hlo operand" {
        let (name, _) = name_and_index(header.split([' ', '>']).nth(1).unwrap_or(line));
        let is_definition = |text: &String| {
            text.trim_start_matches('%')
                .starts_with(&format!("{name} = "))
        };
        if found.len() != 1 || !found.iter().all(is_definition) {
            failures.push(format!(
                "{path}: {kind} {header} {line} is defined by {found:?}"
            ));
        }
        if kind == "hlo operand" {
            return;
        }
    } else {
        let expected = reading.expected(kind, line, header);
        if found != expected && !(expected.is_empty() && kind == "step") {
            failures.push(format!(
                "{path}: {kind} {line:?} leads to {found:?}, not {expected:?}"
            ));
        }
    }
    for (what, request) in [
        (
            "declaration",
            declaration as fn(&Dump, FileId, u32) -> Option<Navigation>,
        ),
        ("type definition", type_definition),
        ("implementation", implementation),
    ] {
        // Tuples, domains and the like stand for no value.
        if request(dump, file, offset).is_none() && !(kind == "step" && found.is_empty()) {
            let is_known = kind == "header" || !reading.expected(kind, line, header).is_empty();
            if is_known {
                failures.push(format!("{path}: no {what} of {kind} {line:?}"));
            }
        }
    }
    if matches!(kind, "value" | "step")
        && references::references(dump, file, offset, true, usize::MAX).is_empty()
    {
        failures.push(format!("{path}: no reference to {line:?}"));
    }
}

/// A search for a name must find exactly the tokens that the whole tree has.
fn check_occurrences(dump: &Dump, file: FileId, failures: &mut Vec<String>) {
    let mut tokens: BTreeMap<(SyntaxKind, String), Vec<Range<u32>>> = BTreeMap::new();
    let root = dump.files[file].document.root();
    for token in root
        .descendants_with_tokens()
        .filter_map(SyntaxElement::into_token)
    {
        if matches!(token.kind(), SyntaxKind::Name | SyntaxKind::ComputationName) {
            let of_name = tokens
                .entry((token.kind(), token.text().to_owned()))
                .or_default();
            of_name.push(token.text_range().into());
        }
    }
    for ((kind, name), ranges) in tokens {
        let found =
            references::occurrences(dump, &name, kind, &references::Search::of_all_in(file));
        if !found.into_iter().map(|place| place.range).eq(ranges) {
            failures.push(format!(
                "{}: other occurrences of {kind:?} {name}",
                dump.files[file].path.display()
            ));
        }
    }
}

fn check_whole(dump: &Dump, file: FileId, failures: &mut Vec<String>) {
    let document = &dump.files[file].document;
    if symbols::document_symbols(dump, file, 100).is_empty()
        || folding::folds(document, 100).is_empty()
    {
        failures.push(format!(
            "{}: no outline or no folds",
            dump.files[file].path.display()
        ));
    }
    let middle = selection::selection(document, document.len() / 2);
    assert_eq!(middle.last(), Some(&(0..document.len())));
}

#[test]
fn every_line_of_real_dumps_leads_where_it_says() {
    let is_small = |path: &PathBuf| path.metadata().is_ok_and(|it| it.len() <= MAX_BYTES);
    let is_chosen = |paths: &Vec<PathBuf>| {
        let folder = paths[0].parent().and_then(Path::file_name);
        let program = folder.is_some_and(|folder| PROGRAMS.iter().any(|name| folder == *name));
        program
            || paths[0]
                .components()
                .any(|part| part.as_os_str() == "fixtures")
    };
    let mut dumps = compilations();
    dumps.retain(is_chosen);
    for paths in &mut dumps {
        paths.retain(is_small);
    }
    let mut failures = Vec::new();
    let asked: usize = dumps
        .iter()
        .map(|paths| check_dump(paths, &mut failures))
        .sum();
    println!("{asked} lines of {} dumps", dumps.len());
    assert!(
        failures.is_empty(),
        "{} failures, the first:\n{}",
        failures.len(),
        failures[..failures.len().min(20)].join("\n")
    );
}

#[test]
fn no_request_panics_on_a_dump_cut_or_broken_anywhere() {
    let whole = format!("{}{}", fixture::split(), fixture::MODULE);
    let broken = [
        whole.replace("%copy-start", "%f32"),
        whole.replace(['<', '='], ""),
        whole.replace(" = ", " = \u{e9}\u{1F600}"),
        whole.replace("\n//- ", "\r\n//- ").replace(": ", "{"),
    ];
    let cuts = (0..whole.len())
        .step_by(41)
        .filter(|&at| whole.is_char_boundary(at))
        .map(|at| whole[..at].to_owned());
    for text in cuts.chain(broken) {
        let fixture = fixture::Fixture::new(&text);
        let dump = &fixture.dump;
        for (file, content) in dump.files.iter().enumerate() {
            let document = &content.document;
            let length = document.len();
            for offset in (0..=length)
                .step_by(53)
                .chain(length.saturating_sub(3)..=length + 1)
            {
                for request in [definition, declaration, type_definition, implementation] {
                    let _ = request(dump, file, offset);
                }
                let _ = references::references(dump, file, offset, false, usize::MAX);
                let _ = selection::selection(document, offset);
                if let Some(item) = call_hierarchy::prepare(dump, file, offset) {
                    let _ = call_hierarchy::incoming(dump, item.node);
                    let _ = call_hierarchy::outgoing(dump, item.node, item.place.file);
                }
            }
            let _ = symbols::document_symbols(dump, file, 7);
            let _ = folding::folds(document, 7);
            let _ = links::links(dump, file, usize::MAX, |_| Some(()));
            let _ = tokens::tokens(document, 0..length, 40);
        }
        let _ = symbols::workspace_symbols(dump, "f32", 5);
    }
}
