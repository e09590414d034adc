//! A dump with one number changed gives an error or a warning that names the changed line or
//! relates to it, wherever the format says that the number must hold: every kind of number, in every
//! fixture. Nearly always it stands at the number itself, and is the only one. A fix that is offered takes the change back.

use std::collections::BTreeMap;
use std::ops::Range;

use buflens::checks::{self, Finding, Severity};
use buflens::model::{Dump, File, Place};
use buflens_syntax::Document;
use rayon::prelude::*;

use crate::support::Random;
use crate::support::changes::{Kind, Site, Verdict, changed, sites};
use crate::support::dumps::{dumps_below, fixtures};
use crate::support::oracle::{Facts, Spot};

/// Changes of each kind in each dump.
const CHANGES: usize = 8;

/// Whether a changed number has been found.
struct Outcome {
    kind: Kind,
    verdict: Verdict,
    is_caught: bool,
    /// Whether a finding stands at the number itself, not at what it contradicts.
    is_there: bool,
    /// Whether there is no other finding.
    is_alone: bool,
    /// Whether the change is offered to be taken back; or another one, which would be wrong.
    mended: Vec<bool>,
    /// What has been changed and what else was found.
    told: String,
}

/// How many changes have been found.
#[derive(Default)]
struct Rate {
    of: usize,
    caught: usize,
    there: usize,
    alone: usize,
    mended: usize,
}

impl Rate {
    fn add(&mut self, outcome: &Outcome) {
        self.of += 1;
        self.caught += usize::from(outcome.is_caught);
        self.there += usize::from(outcome.is_there);
        self.alone += usize::from(outcome.is_alone);
        self.mended += usize::from(outcome.mended.contains(&true));
    }
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counts = [self.caught, self.there, self.alone, self.mended];
        let [caught, there, alone, mended] =
            counts.map(|count| 100.0 * count as f64 / self.of as f64);
        write!(
            f,
            "{:6} {caught:6.1}% {there:6.1}% {alone:6.1}% {mended:6.1}%",
            self.of
        )
    }
}

/// The files of a dump, each read once: what is changed shares with them all but a few lines.
fn files_of(facts: &Facts) -> Vec<File> {
    let read = |file: &crate::support::oracle::File| File {
        path: file.path.clone(),
        document: Document::new(&file.text).expect("a small text"),
        lossy: false,
    };
    facts.files.iter().map(read).collect()
}

/// The bytes of a spot in its file.
fn bytes_of(facts: &Facts, spot: Spot) -> Range<u32> {
    let lines = facts.files[spot.file].text.split_inclusive('\n');
    let start = lines.take(spot.line).map(str::len).sum::<usize>() + spot.column;
    start as u32..(start + spot.length) as u32
}

/// Puts `text` at the site, and looks whether a finding names the line.
fn outcome(facts: &Facts, files: &[File], site: &Site, text: &str, verdict: Verdict) -> Outcome {
    let spot = site.number.spot;
    let mut files = files.to_vec();
    let document = &mut files[spot.file].document;
    let bytes = bytes_of(facts, spot);
    *document = document
        .clone()
        .edit(bytes.clone(), text)
        .expect("a small text");
    let dump = Dump::new(files);
    let findings: Vec<Finding> = checks::check(&dump)
        .into_iter()
        .filter(|finding| finding.code.severity() >= Severity::Warning)
        .collect();
    let names = |place: &Place| place.file == spot.file && lines(&dump, place).contains(&spot.line);
    let end = bytes.start + text.len() as u32;
    let is_there = findings.iter().any(|finding| {
        let Place { file, range } = &finding.place;
        *file == spot.file && range.start < end && bytes.start < range.end
    });
    let offered = findings.iter().filter_map(|finding| finding.fix.as_ref());
    let mended = offered.map(|fix| {
        let document = &dump.files[fix.place.file].document;
        let text = document.clone().edit(fix.place.range.clone(), &fix.text);
        let original = &facts.files[fix.place.file].text;
        fix.place.file == spot.file && text.expect("a small text").text() == *original
    });
    let mended = mended.collect();
    let is_caught = findings.iter().any(|finding| {
        names(&finding.place) || finding.related.iter().any(|(place, _)| names(place))
    });
    let line: String = facts.line(spot).chars().take(160).collect();
    let elsewhere = findings.iter().take(3).map(|finding| {
        let line = lines(&dump, &finding.place).start + 1;
        format!("\n      {line}: {}: {}", finding.code, finding.message)
    });
    let told = format!(
        "{:?} {} -> {text}: {}:{}: {line}{}",
        site.kind,
        site.number.value,
        facts.path(spot).display(),
        spot.line + 1,
        elsewhere.collect::<String>()
    );
    Outcome {
        kind: site.kind,
        verdict,
        is_caught,
        is_there,
        is_alone: findings.len() == 1,
        mended,
        told,
    }
}

/// The lines of a place, from 0.
fn lines(dump: &Dump, place: &Place) -> Range<usize> {
    let document = &dump.files[place.file].document;
    let line = |offset| document.line_at(offset) as usize;
    line(place.range.start)..line(place.range.end) + 1
}

/// Changes some numbers of each kind, one at a time.
fn outcomes(facts: &Facts, random: &mut Random) -> Vec<Outcome> {
    let mut by_kind: BTreeMap<Kind, Vec<Site>> = BTreeMap::new();
    for site in sites(facts) {
        by_kind.entry(site.kind).or_default().push(site);
    }
    let files = files_of(facts);
    let mut outcomes = Vec::new();
    for sites in by_kind.into_values() {
        let changes = random.choose(sites, usize::MAX).into_iter();
        let changes = changes.filter_map(|site| Some((site, changed(facts, &site, random)?)));
        for (site, (text, verdict)) in changes.take(CHANGES) {
            outcomes.push(outcome(facts, &files, &site, &text, verdict));
        }
    }
    outcomes
}

#[test]
fn a_changed_number_is_found() {
    let dumps = dumps_below(&fixtures());
    let all: Vec<Outcome> = dumps
        .par_iter()
        .enumerate()
        .flat_map_iter(|(seed, dump)| outcomes(&Facts::read(dump), &mut Random(seed as u64)))
        .collect();
    println!("{} changes in {} fixtures", all.len(), dumps.len());
    let mut rates: BTreeMap<(Verdict, Kind), Rate> = BTreeMap::new();
    for outcome in &all {
        let rate = rates.entry((outcome.verdict, outcome.kind)).or_default();
        rate.add(outcome);
    }
    println!(
        "{:17} {:>6} {:>7} {:>7} {:>7} {:>7}",
        "kind", "of", "found", "there", "alone", "mended"
    );
    for ((verdict, kind), rate) in &rates {
        // What only overlap tells, or the peak list, is no identity.
        let apart = match verdict {
            Verdict::Apart => "  (counted apart)",
            Verdict::Caught | Verdict::Sound => "",
        };
        let name = format!("{kind:?}");
        println!("{name:17} {rate}{apart}");
    }
    for outcome in all.iter().filter(|outcome| !outcome.is_caught) {
        println!("missed ({:?}): {}", outcome.verdict, outcome.told);
    }
    let is_wrongly_mended = |it: &&Outcome| it.mended.contains(&false);
    for outcome in all.iter().filter(is_wrongly_mended) {
        println!("wrongly mended ({:?}): {}", outcome.verdict, outcome.told);
    }
    for outcome in all.iter().filter(|it| it.is_caught && !it.is_there) {
        println!("elsewhere ({:?}): {}", outcome.verdict, outcome.told);
    }
    let bound = rates
        .iter()
        .filter(|((verdict, _), _)| *verdict == Verdict::Caught);
    let total = |are_names: bool| {
        let mut total = Rate::default();
        let of_these =
            |it: &&Outcome| it.verdict == Verdict::Caught && it.kind.is_name() == are_names;
        all.iter().filter(of_these).for_each(|it| total.add(it));
        total
    };
    let (numbers, names) = (total(false), total(true));
    println!("all numbers {numbers}\nall names   {names}");
    let missed: Vec<Kind> = Kind::ALL
        .into_iter()
        .filter(|kind| !rates.contains_key(&(Verdict::Caught, *kind)))
        .collect();
    assert!(missed.is_empty(), "never changed: {missed:?}");
    let hint = "run with --nocapture for those that are not";
    for ((_, kind), rate) in bound {
        // An instruction's text alone tells that its last operand is now that of another; and where elements are not
        // printed, no line has all names.
        let floor = match kind {
            Kind::UseName => 97,
            Kind::PositionName | Kind::StepName => 98,
            _ => 99,
        };
        assert!(
            rate.caught * 100 >= rate.of * floor,
            "{kind:?}: {rate}; {hint}"
        );
    }
    let wrongly_mended = all.iter().filter(is_wrongly_mended).count();
    assert_eq!(wrongly_mended, 0, "{hint}");
    // A use of a wrong name is told at its operand; and nothing tells which of two names of one thing is right.
    for (total, there, mended) in [(numbers, 98, 70), (names, 94, 35)] {
        assert!(total.there * 100 >= total.of * there, "{total}; {hint}");
        assert!(total.mended * 100 >= total.of * mended, "{total}; {hint}");
        assert!(total.alone * 100 >= total.of * 99, "{total}; {hint}");
    }
}
