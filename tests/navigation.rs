//! Every id and name leads where it should, whichever file it stands in.

use std::collections::BTreeSet;

use crate::support::client::{Server, path_of, uri};
use crate::support::dumps::{Dump, fixtures_in};
use crate::support::oracle::{Facts, Spot};
use crate::support::{Random, none_of};
use serde_json::{Value, json};

/// Places of each kind that are tried in a dump.
const PLACES: usize = 12;

/// An instruction with more operands prints them over and over; some are enough.
const OPERANDS: usize = 8;

const FOLDERS: [&str; 20] = [
    "cpu-no-space",
    "cpu-run-on",
    "cpu-combined",
    "cpu-tree",
    "cpu-split",
    "gpu-combined",
    "gpu-split",
    "tpu-run-on",
    "tpu-combined-v5p",
    "tpu-tree-v6e",
    "tpu-tree-v4",
    "tpu-split",
    "multiline-instruction",
    "page-attribute",
    "no-live-range",
    "tree-raw-labels",
    "async-collectives",
    "donation",
    "tensorflow",
    "torch-xla",
];

/// What a name under the cursor stands for.
#[derive(Debug, Clone)]
enum Meaning {
    /// The value with this number.
    Value(usize),
    /// A value's own header in C.
    Header(usize),
    /// A name without an index: one of the values that it defines, nobody can tell which.
    SomeValue(String),
    /// The name after `from instruction:`.
    Defining(String),
    /// A line below `positions:`, with its index.
    Position(String, String),
    /// A name elsewhere.
    Name(String),
    /// A name in the HLO text.
    InModule(String),
}

/// A place to put the cursor on.
#[derive(Debug, Clone)]
struct Cursor {
    spot: Spot,
    meaning: Meaning,
}

/// All places of a dump, by kind.
fn cursors(facts: &Facts) -> Vec<Vec<Cursor>> {
    let mut kinds = vec![Vec::new(); 11];
    let mut add = |kind: usize, spot, meaning| kinds[kind].push(Cursor { spot, meaning });
    for (at, value) in facts.values.iter().enumerate() {
        add(0, value.reference.id.spot, Meaning::Value(at));
        add(1, value.reference.name.spot, Meaning::Value(at));
        if let Some(used) = value.used {
            let header = &facts.used[used].header;
            add(2, header.id.spot, Meaning::Header(at));
            add(3, header.name.spot, Meaning::Header(at));
        }
        if let Some(live) = value.live {
            add(4, facts.live_ranges[live].name.spot, Meaning::Value(at));
        }
        for &peak in &value.peak {
            add(5, facts.peak[peak].name.spot, Meaning::Value(at));
        }
    }
    for line in facts.peak.iter().filter(|line| line.index.is_none()) {
        add(
            5,
            line.name.spot,
            Meaning::SomeValue(line.name.text.clone()),
        );
    }
    for used in &facts.used {
        let instruction = &used.instruction;
        add(
            6,
            instruction.name.spot,
            Meaning::Defining(instruction.name.text.clone()),
        );
        for (name, index) in &used.positions {
            add(
                7,
                name.spot,
                Meaning::Position(name.text.clone(), index.clone()),
            );
        }
        for name in used.uses.iter().map(|it| &it.name) {
            add(8, name.spot, Meaning::Name(name.text.clone()));
        }
        for name in instruction.operands.iter().take(OPERANDS) {
            add(9, name.spot, Meaning::Name(name.text.clone()));
        }
    }
    for (_, name) in &facts.sequence {
        add(10, name.spot, Meaning::Name(name.text.clone()));
    }
    kinds
}

/// Places in the HLO text: where instructions of the schedule are defined.
fn module_cursors(facts: &Facts) -> Vec<Cursor> {
    let of_step = |name: &String| {
        let spot = facts.instructions.get(name)?.0;
        Some(Cursor {
            spot,
            meaning: Meaning::InModule(name.clone()),
        })
    };
    facts
        .sequence
        .iter()
        .filter_map(|(_, name)| of_step(&name.text))
        .collect()
}

/// The values that a name under the cursor stands for.
fn values_of(facts: &Facts, meaning: &Meaning) -> Vec<usize> {
    let first_of = |choices: [Vec<usize>; 3]| {
        choices
            .into_iter()
            .find(|values| !values.is_empty())
            .unwrap_or_default()
    };
    match meaning {
        Meaning::Value(at) | Meaning::Header(at) => vec![*at],
        Meaning::SomeValue(name) | Meaning::Defining(name) => facts.defined_by(name),
        Meaning::Position(name, index) => first_of([
            facts.defined_at(name, index),
            facts.positioned_at(name, Some(index)),
            Vec::new(),
        ]),
        Meaning::Name(name) => first_of([
            facts.defined_at(name, "{}"),
            facts.defined_by(name),
            facts.positioned_at(name, None),
        ]),
        // Where the text defines an instruction, it stands for all that it defines, as after
        // `from instruction:`.
        Meaning::InModule(name) => first_of([
            facts.defined_by(name),
            facts.positioned_at(name, None),
            Vec::new(),
        ]),
    }
}

/// The instruction that defines `name`: in the HLO text, else behind `from instruction:` of `value`.
fn instruction_of(facts: &Facts, name: &str, value: usize) -> Option<Spot> {
    let in_values = || Some(facts.used[facts.values[value].used?].instruction.name.spot);
    facts
        .instructions
        .get(name)
        .map(|(spot, _)| *spot)
        .or_else(in_values)
}

/// Where a request leads from a place; `None` when the table leaves it open.
fn targets(facts: &Facts, request: &str, meaning: &Meaning) -> Option<Vec<Spot>> {
    let values = values_of(facts, meaning);
    // One line of several is meant, and any of them will do.
    if values.is_empty() || (matches!(meaning, Meaning::SomeValue(_)) && values.len() > 1) {
        return None;
    }
    let of_value = |at: usize| -> Option<Spot> {
        let value = &facts.values[at];
        match (request, meaning) {
            ("textDocument/definition", Meaning::Header(_)) => {
                instruction_of(facts, &value.reference.name.text, at)
            }
            ("textDocument/definition", Meaning::InModule(name)) => {
                Some(facts.instructions.get(name)?.0)
            }
            ("textDocument/definition", _) => match value.used {
                Some(used) => Some(facts.used[used].header.spot),
                None => Some(value.reference.spot),
            },
            ("textDocument/declaration", _) => Some(value.reference.spot),
            ("textDocument/typeDefinition", _) => Some(facts.allocations[value.allocation].line),
            (
                _,
                Meaning::Position(name, _)
                | Meaning::Name(name)
                | Meaning::InModule(name)
                | Meaning::Defining(name),
            ) => instruction_of(facts, name, at),
            _ => instruction_of(facts, &value.reference.name.text, at),
        }
    };
    values.into_iter().map(of_value).collect()
}

/// An answer of one of the four requests that lead somewhere: file, line, and the columns selected.
fn answered(facts: &Facts, answer: &Value) -> Vec<(usize, usize, [usize; 2])> {
    let links = match answer {
        Value::Array(links) => links.clone(),
        Value::Null => Vec::new(),
        one => vec![one.clone()],
    };
    links.iter().map(|link| place(facts, link)).collect()
}

/// A `Location` or `LocationLink`.
fn place(facts: &Facts, link: &Value) -> (usize, usize, [usize; 2]) {
    let (uri, range) = match link.get("targetUri") {
        Some(uri) => (uri, &link["targetSelectionRange"]),
        None => (&link["uri"], &link["range"]),
    };
    let path = path_of(uri.as_str().expect("a URI"));
    let file = facts
        .files
        .iter()
        .position(|file| file.path.display().to_string() == path);
    let number = |value: &Value| value.as_u64().expect("a number") as usize;
    let columns = [
        number(&range["start"]["character"]),
        number(&range["end"]["character"]),
    ];
    (
        file.unwrap_or(usize::MAX),
        number(&range["start"]["line"]),
        columns,
    )
}

/// Compares where an answer leads with where it should.
fn compare(facts: &Facts, expected: &[Spot], answer: &Value) -> Result<(), String> {
    let answered = answered(facts, answer);
    let lines = |places: &[(usize, usize)]| places.iter().copied().collect::<BTreeSet<_>>();
    let expected_lines: Vec<_> = expected.iter().map(|spot| (spot.file, spot.line)).collect();
    let answered_lines: Vec<_> = answered.iter().map(|place| (place.0, place.1)).collect();
    let show = |lines: &BTreeSet<(usize, usize)>| {
        lines
            .iter()
            .map(|(file, line)| format!("file {file} line {}", line + 1))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let (expected_lines, answered_lines) = (lines(&expected_lines), lines(&answered_lines));
    if expected_lines != answered_lines {
        return Err(format!(
            "expected {}, got {}",
            show(&expected_lines),
            show(&answered_lines)
        ));
    }
    // On a run-on line a header and an instruction stand in one line.
    for spot in expected {
        let start = facts.utf16(*spot);
        let meets = |place: &&(usize, usize, [usize; 2])| {
            (place.0, place.1) == (spot.file, spot.line)
                && place.2[0] < start + spot.length
                && place.2[1] > start
        };
        if answered.iter().find(meets).is_none() {
            return Err(format!(
                "the right line, but not the columns of {}: {answered:?}",
                facts.position(*spot)
            ));
        }
    }
    Ok(())
}

/// Lines that references must hold, and lines that they may hold too.
fn referring(facts: &Facts, meaning: &Meaning) -> Option<[BTreeSet<(usize, usize)>; 2]> {
    match meaning {
        Meaning::Value(at) | Meaning::Header(at) => {
            let value = &facts.values[*at];
            Some([
                facts.lines_of(value),
                facts.bare_peak_lines(&value.reference.name.text),
            ])
        }
        Meaning::SomeValue(_) => None,
        Meaning::Defining(name)
        | Meaning::Position(name, _)
        | Meaning::Name(name)
        | Meaning::InModule(name) => {
            // `calls=%name` names a computation.
            if facts.computations.contains(name) {
                return None;
            }
            Some([facts.lines_with(name), facts.lines_like(name)])
        }
    }
}

/// Compares the lines of references or highlights.
fn compare_lines(
    found: &BTreeSet<(usize, usize)>,
    must: &BTreeSet<(usize, usize)>,
    may: &BTreeSet<(usize, usize)>,
) -> Result<(), String> {
    let show = |lines: Vec<&(usize, usize)>| {
        lines
            .iter()
            .take(8)
            .map(|(file, line)| format!("file {file} line {}", line + 1))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let missing: Vec<_> = must.difference(found).collect();
    let wrong: Vec<_> = found
        .iter()
        .filter(|line| !must.contains(line) && !may.contains(line))
        .collect();
    if missing.is_empty() && wrong.is_empty() {
        return Ok(());
    }
    Err(format!("missing {}; wrong {}", show(missing), show(wrong)))
}

const LEADING: [&str; 4] = [
    "textDocument/definition",
    "textDocument/declaration",
    "textDocument/typeDefinition",
    "textDocument/implementation",
];

fn parameters(facts: &Facts, spot: Spot) -> Value {
    let uri = uri(facts.path(spot));
    let position = json!({ "line": spot.line, "character": facts.utf16(spot) });
    json!({ "textDocument": { "uri": uri }, "position": position, "context": { "includeDeclaration": true } })
}

/// Asks everything at these places of a dump, with the files in `open` open in the editor.
fn navigate(
    facts: &Facts,
    name: &str,
    cursors: &[Cursor],
    open: &[usize],
    failures: &mut Vec<String>,
) -> usize {
    let mut server = Server::start();
    for &file in open {
        server.open(&facts.files[file].path, &facts.files[file].text);
    }
    let mut requests = Vec::new();
    for cursor in cursors {
        let parameters = parameters(facts, cursor.spot);
        for request in LEADING
            .into_iter()
            .chain(["textDocument/references", "textDocument/documentHighlight"])
        {
            requests.push((request, parameters.clone()));
        }
    }
    let answers = server.requests(&requests);
    server.finish();
    let asked = cursors
        .iter()
        .flat_map(|cursor| std::iter::repeat_n(cursor, LEADING.len() + 2));
    for ((cursor, (request, _)), answer) in asked.zip(&requests).zip(answers) {
        let verdict = match answer {
            Err(error) => Err(format!("error {error}")),
            Ok(answer) => judge(facts, cursor, request, &answer),
        };
        if let Err(message) = verdict {
            failures.push(format!(
                "{name}: {request} at {} ({:?}): {message}",
                facts
                    .position(cursor.spot)
                    .rsplit('/')
                    .next()
                    .unwrap_or_default(),
                cursor.meaning
            ));
        }
    }
    requests.len()
}

fn judge(facts: &Facts, cursor: &Cursor, request: &str, answer: &Value) -> Result<(), String> {
    if LEADING.contains(&request) {
        return match targets(facts, request, &cursor.meaning) {
            Some(expected) => compare(facts, &expected, answer),
            None => Ok(()),
        };
    }
    let Some([mut must, may]) = referring(facts, &cursor.meaning) else {
        return Ok(());
    };
    let file = cursor.spot.file;
    let places = answer.as_array().map(Vec::as_slice).unwrap_or_default();
    let found = if request == "textDocument/references" {
        places
            .iter()
            .map(|location| place(facts, location))
            .map(|place| (place.0, place.1))
            .collect()
    } else {
        must.retain(|line| line.0 == file);
        let line = |highlight: &Value| {
            highlight["range"]["start"]["line"]
                .as_u64()
                .expect("a line") as usize
        };
        places
            .iter()
            .map(|highlight| (file, line(highlight)))
            .collect()
    };
    compare_lines(&found, &must, &may)
}

/// Some places of each kind.
fn some_cursors(facts: &Facts, random: &mut Random) -> Vec<Cursor> {
    let mut kinds = cursors(facts);
    kinds.push(module_cursors(facts));
    kinds
        .into_iter()
        .flat_map(|kind| random.choose(kind, PLACES))
        .collect()
}

#[test]
fn every_name_leads_where_it_should() {
    let mut random = Random(11);
    let mut failures = Vec::new();
    let mut asked = 0;
    for dump in fixtures_in(&FOLDERS) {
        let facts = Facts::read(&dump);
        let cursors = some_cursors(&facts, &mut random);
        let all: Vec<usize> = (0..facts.files.len()).collect();
        asked += navigate(&facts, &dump.name(), &cursors, &all, &mut failures);
    }
    println!("{asked} requests");
    assert!(asked > 10_000, "only {asked} requests");
    none_of(&failures, "wrong answers");
}

/// A file is opened alone; what it refers to is on disk.
#[test]
fn siblings_are_read_from_disk() {
    let mut random = Random(12);
    let mut failures = Vec::new();
    for dump in fixtures_in(&["cpu-split", "tpu-split", "gpu-split", "tpu-run-on"]) {
        let facts = Facts::read(&dump);
        let cursors = some_cursors(&facts, &mut random);
        for file in 0..facts.files.len() {
            let of_file = cursors
                .iter()
                .filter(|cursor| cursor.spot.file == file)
                .cloned();
            let of_file = random.choose(of_file.collect(), PLACES);
            if !of_file.is_empty() {
                navigate(&facts, &dump.name(), &of_file, &[file], &mut failures);
            }
        }
    }
    none_of(&failures, "wrong answers");
}

/// The command line answers as the server does.
#[test]
fn the_command_line_leads_there_too() {
    let dumps: Vec<Dump> = fixtures_in(&["tpu-run-on", "gpu-split"]);
    let mut random = Random(13);
    for dump in dumps.iter().take(4) {
        let facts = Facts::read(dump);
        for cursor in random.choose(cursors(&facts).swap_remove(1), 3) {
            let position = facts.position(cursor.spot);
            let limit = std::time::Duration::from_secs(60);
            let output = crate::support::command::run(["definition", &position], limit);
            assert_eq!(output.code, Some(0), "{position}: {}", output.stderr);
            let expected = targets(&facts, LEADING[0], &cursor.meaning).expect("a header");
            let place = format!(
                "{}:{}",
                facts.path(expected[0]).display(),
                expected[0].line + 1
            );
            assert!(
                output.stdout.contains(&place),
                "{position}: {} without {place}",
                output.stdout
            );
        }
    }
}
