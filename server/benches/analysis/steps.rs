//! What is measured: passes over whole texts, and requests about places in them.

use std::hint::black_box;
use std::time::Duration;

use buflens::audit::attribution::{By, attribution};
use buflens::audit::{Audit, copies, donation, offload, padding, peak};
use buflens::checks::{self, Standing, Thresholds};
use buflens::ide::hover::{Sources, hover};
use buflens::ide::navigation::definition;
use buflens::ide::references::references;
use buflens::ide::symbols::document_symbols;
use buflens::model::occupancy::{self, Occupancy};
use buflens::model::source::Libraries;
use buflens::model::{Dump, Numbering, read_errors, read_facts};
use buflens_syntax::{Document, lexer};

use crate::clock::{Cost, cost, each};
use crate::input::Input;

/// Requests are made at so many places.
const PLACES: u64 = 1000;
/// So many entries of the outline, as the server sends.
const SYMBOLS: usize = 4000;

/// A step over whole texts.
pub struct Step {
    pub name: &'static str,
    pub cost: Cost,
    /// It may take so many times as long as the finding of all line ends: in short lines, in huge ones.
    pub target: Option<(u32, u32)>,
}

/// A request and the processor time that each took.
pub struct Request {
    pub name: &'static str,
    pub times: Vec<Duration>,
}

/// The starts of all lines, as `memchr` finds them: what everything else is compared with.
pub fn line_starts(texts: &[impl AsRef<str>]) -> Vec<u32> {
    let ends = texts
        .iter()
        .flat_map(|text| memchr::memchr_iter(b'\n', text.as_ref().as_bytes()));
    ends.map(|at| at as u32 + 1).collect()
}

/// Measures all passes; the first is that of [`line_starts`].
pub fn steps(input: &Input) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut push = |name, target, cost| steps.push(Step { name, cost, target });
    let texts: Vec<&str> = input.files.iter().map(|(_, text)| text.as_str()).collect();
    push(
        "line ends (`memchr`)",
        None,
        cost(|| (), |()| line_starts(&texts)),
    );
    push(
        "blocks: lines looked at, text cut",
        None,
        cost(|| (), |()| input.documents()),
    );
    push(
        "tokens, without grammar",
        None,
        cost(
            || (),
            |()| {
                let counts = texts.iter().map(|text| lexer::tokens(text).count());
                counts.sum::<usize>()
            },
        ),
    );
    push(
        "facts, from the text",
        Some((25, 6)),
        cost(|| (), |()| with_facts(input)),
    );
    let documents = with_facts(input);
    push(
        "join of the facts",
        None,
        cost(|| documents.clone(), |documents| input.dump(documents)),
    );
    push(
        "reading: text, facts, join",
        None,
        cost(|| (), |()| input.dump(input.read())),
    );
    push(
        "facts and errors: every token, by the grammar",
        None,
        cost(|| (), |()| with_errors(input)),
    );
    push(
        "findings of what is read",
        None,
        cost(
            || input.dump(input.read()),
            |dump| (checks::check(&dump), dump),
        ),
    );
    push(
        "all analysis: reading, findings",
        Some((40, 20)),
        cost(
            || (),
            |()| {
                let dump = input.dump(input.read());
                (checks::check(&dump), dump)
            },
        ),
    );
    push(
        "trees of all blocks, one at a time",
        None,
        cost(|| (), |()| all_trees(&documents)),
    );
    push(
        "one tree of the whole document",
        None,
        cost(|| (), |()| documents[input.file].root()),
    );
    let dump = input.dump(documents);
    checks::check(&dump);
    edits(input, &dump, &mut push);
    answers(&dump, &mut push);
    steps
}

fn with_facts(input: &Input) -> Vec<Document> {
    let documents = input.read();
    documents.iter().for_each(read_facts);
    documents
}

fn with_errors(input: &Input) -> Vec<Document> {
    let documents = input.read();
    documents.iter().for_each(read_errors);
    documents
}

fn all_trees(documents: &[Document]) {
    for document in documents {
        for (_, block) in document.blocks() {
            black_box(block.tree());
        }
    }
}

/// A digit typed into the middle of a dump that has been read and checked.
fn edits(
    input: &Input,
    dump: &Dump,
    push: &mut impl FnMut(&'static str, Option<(u32, u32)>, Cost),
) {
    let document = &dump.files[input.file].document;
    let text = input.text().as_bytes();
    let middle = text.len() / 2;
    let digit = text[middle..].iter().position(u8::is_ascii_digit);
    let at = (middle + digit.unwrap_or(0)) as u32;
    let edited = || {
        document
            .clone()
            .edit(at..at, "1")
            .expect("a text below 4 GiB")
    };
    push(
        "edit in the middle: the text",
        None,
        cost(|| (), |()| edited()),
    );
    let (mut numbering, standing) = (Numbering::default(), Standing::default());
    let thresholds = Thresholds::default();
    let mut state = |edited: Option<Document>| {
        let files = dump.files.iter();
        let mut documents: Vec<Document> = files.map(|file| file.document.clone()).collect();
        documents[input.file] = edited.unwrap_or_else(|| document.clone());
        input.state(documents, &mut numbering)
    };
    drop(state(None));
    push(
        "edit in the middle: to findings",
        None,
        cost(
            || (),
            |()| {
                let dump = state(Some(edited()));
                (checks::check_next(&dump, &thresholds, &standing), dump)
            },
        ),
    );
}

/// What people ask about memory. Shapes and instructions are read anew each time.
fn answers(dump: &Dump, push: &mut impl FnMut(&'static str, Option<(u32, u32)>, Cost)) {
    let audit = || Audit::new(dump, Libraries::default());
    push(
        "occupancy of all memory spaces, true peaks",
        None,
        cost(|| (), |()| Occupancy::without(dump, &[])),
    );
    push(
        "values at the peaks, by op_name, source, opcode and shape",
        None,
        cost(|| (), |()| peaks(&audit())),
    );
    push(
        "padding of all values",
        None,
        cost(
            || (),
            |()| {
                black_box(padding::padding(&audit(), None));
            },
        ),
    );
    push(
        "donation, copies, offload",
        None,
        cost(|| (), |()| audits(&audit())),
    );
    push(
        "what-if of the hundred largest values at the peaks",
        None,
        cost(|| (), |()| what_if(&audit())),
    );
    push(
        "all these answers together",
        None,
        cost(
            || (),
            |()| {
                let audit = audit();
                black_box(Occupancy::without(dump, &[]));
                peaks(&audit);
                black_box(padding::padding(&audit, None));
                audits(&audit);
                what_if(&audit);
            },
        ),
    );
}

fn peaks(audit: &Audit) {
    for space in &audit.dump.occupancy().spaces {
        let Ok(peak) = peak::peak(audit, space.color, None, &[]) else {
            continue;
        };
        for by in [By::OpName, By::Source, By::Opcode, By::Shape] {
            black_box(attribution(audit, &peak.values, by));
        }
    }
}

fn audits(audit: &Audit) {
    let copies = copies::copies(audit);
    black_box(offload::offload(audit, &copies));
    black_box(donation::donation(audit));
}

fn what_if(audit: &Audit) {
    let (dump, occupancy) = (audit.dump, audit.dump.occupancy());
    for space in &occupancy.spaces {
        let mut values = space.peak().map_or_else(Vec::new, |peak| {
            occupancy::alive(dump, space.color, peak.step)
        });
        values.sort_by_key(|&at| std::cmp::Reverse(dump.values[at as usize].size));
        for &at in values.iter().take(100) {
            black_box(occupancy.if_gone(dump, at));
        }
    }
}

/// Measures requests at places that are the same in every run.
pub fn requests(input: &Input) -> Vec<Request> {
    let dump = input.dump(input.read());
    let (file, document) = (input.file, &dump.files[input.file].document);
    let places = places(input.text());
    let libraries = Libraries::default();
    let sources = Sources::from(&libraries);
    let request = |name, times| Request { name, times };
    vec![
        request(
            "tree of the block at a place",
            each(&places, |at| {
                let (_, block) = document.block(document.block_at(at)?)?;
                Some(block.tree())
            }),
        ),
        request(
            "definition",
            each(&places, |at| definition(&dump, file, at)),
        ),
        request(
            "hover",
            each(&places, |at| hover(&dump, file, at, &sources)),
        ),
        request(
            "references",
            each(&places, |at| references(&dump, file, at, true, 10_000)),
        ),
        request(
            "symbols of the document",
            each(&places[..10.min(places.len())], |_| {
                document_symbols(&dump, file, SYMBOLS)
            }),
        ),
    ]
}

/// Words at random places of the text.
fn places(text: &str) -> Vec<u32> {
    let bytes = text.as_bytes();
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let places = (0..PLACES).filter_map(|_| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let from = (random % bytes.len().max(1) as u64) as usize;
        let word = bytes[from..].iter().position(u8::is_ascii_alphanumeric)?;
        Some((from + word) as u32)
    });
    places.collect()
}
