//! What the answers about memory cost, beside the reading of the dump that they are about.
//!
//! `BUFLENS_BENCH_MB=100` sets the size of the dumps made up for this; `BUFLENS_BENCH_DUMP=FILE` takes a
//! real one, with its siblings. What was measured is written in `docs/performance.md`.

use std::fmt;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use buflens::audit::attribution::{By, attribution};
use buflens::audit::{Audit, copies, donation, offload, padding, peak};
use buflens::checks;
use buflens::model::occupancy::{self, Occupancy};
use buflens::model::source::Libraries;
use buflens::model::{Dump, File};
use buflens::workspace::load;
use buflens_syntax::Document;
use divan::Bencher;
use divan::counter::BytesCount;

#[path = "../../tests/support/generate.rs"]
mod generate;

fn main() {
    divan::main();
}

/// A dump to measure.
struct Input {
    name: String,
    files: Vec<(PathBuf, String)>,
    dump: LazyLock<Dump, Box<dyn Fn() -> Dump + Send>>,
}

impl Input {
    fn new(name: String, files: Vec<(PathBuf, String)>) -> Self {
        let texts = files.clone();
        let dump = LazyLock::new(Box::new(move || read(&texts)) as Box<_>);
        Self { name, files, dump }
    }

    fn bytes(&self) -> BytesCount {
        BytesCount::new(self.files.iter().map(|(_, text)| text.len()).sum::<usize>())
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

static INPUTS: LazyLock<Vec<Input>> = LazyLock::new(|| {
    if let Some(path) = std::env::var_os("BUFLENS_BENCH_DUMP") {
        let loaded = load(Path::new(&path)).expect("a dump");
        let files = loaded.dump.files.iter();
        let files = files
            .map(|file| (file.path.clone(), file.document.text()))
            .collect();
        return vec![Input::new("given".to_owned(), files)];
    }
    let size = std::env::var("BUFLENS_BENCH_MB")
        .ok()
        .and_then(|size| size.parse().ok());
    let megabytes: usize = size.unwrap_or(10);
    let made = |name: &str, text: String| {
        let path = PathBuf::from(format!(
            "module_0001.{name}.after_optimizations-buffer-assignment.txt"
        ));
        Input::new(format!("{name} {megabytes} MB"), vec![(path, text)])
    };
    vec![
        made("dense", generate::dense(megabytes * 1_000_000)),
        made("huge_lines", generate::huge_lines(megabytes * 1_000_000)),
    ]
});

fn inputs() -> impl Iterator<Item = &'static Input> {
    INPUTS.iter()
}

fn read(files: &[(PathBuf, String)]) -> Dump {
    let files = files.iter().map(|(path, text)| File {
        path: path.clone(),
        document: Document::new(text).expect("a text below 4 GiB"),
        lossy: false,
    });
    Dump::new(files.collect())
}

/// Measures what `answer` says about the dump; shapes and instructions are read anew each time.
fn measure(bencher: Bencher, input: &'static Input, answer: impl Fn(&Audit) + Sync) {
    let dump = &*input.dump;
    dump.occupancy();
    bencher
        .counter(input.bytes())
        .bench(|| answer(&Audit::new(dump, Libraries::default())));
}

#[divan::bench(args = inputs(), sample_count = 10)]
fn a_line_ends(bencher: Bencher, input: &'static Input) {
    bencher.counter(input.bytes()).bench(|| {
        let texts = input.files.iter();
        texts
            .map(|(_, text)| memchr::memchr_iter(b'\n', text.as_bytes()).count())
            .sum::<usize>()
    });
}

#[divan::bench(args = inputs(), sample_count = 10)]
fn b_reading(bencher: Bencher, input: &'static Input) {
    bencher.counter(input.bytes()).bench(|| read(&input.files));
}

#[divan::bench(args = inputs(), sample_count = 10)]
fn c_occupancy(bencher: Bencher, input: &'static Input) {
    let dump = &*input.dump;
    bencher
        .counter(input.bytes())
        .bench(|| Occupancy::without(dump, &[]));
}

#[divan::bench(args = inputs(), sample_count = 10)]
fn d_peak(bencher: Bencher, input: &'static Input) {
    measure(bencher, input, peaks);
}

#[divan::bench(args = inputs(), sample_count = 10)]
fn e_padding(bencher: Bencher, input: &'static Input) {
    measure(bencher, input, |audit| {
        drop(black_box(padding::padding(audit, None)));
    });
}

#[divan::bench(args = inputs(), sample_count = 10)]
fn f_audits(bencher: Bencher, input: &'static Input) {
    measure(bencher, input, audits);
}

/// Of the hundred largest values at the peak, each.
#[divan::bench(args = inputs(), sample_count = 10)]
fn g_what_if(bencher: Bencher, input: &'static Input) {
    measure(bencher, input, what_if);
}

#[divan::bench(args = inputs(), sample_count = 10)]
fn h_all_answers(bencher: Bencher, input: &'static Input) {
    let dump = &*input.dump;
    bencher.counter(input.bytes()).bench(|| {
        let audit = Audit::new(dump, Libraries::default());
        black_box(Occupancy::without(dump, &[]));
        peaks(&audit);
        drop(black_box(padding::padding(&audit, None)));
        audits(&audit);
        what_if(&audit);
    });
}

#[divan::bench(args = inputs(), sample_count = 10)]
fn i_check(bencher: Bencher, input: &'static Input) {
    bencher
        .counter(input.bytes())
        .bench(|| checks::check(&input.dump));
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
