//! A dump with one number changed gives an error or a warning that names the changed line or
//! relates to it, wherever the format says that the number must hold.

mod support;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use support::Random;
use support::changes::{Kind, Site, Verdict, changed, sites};
use support::command::{Finding, check};
use support::dumps::{Dump, dumps_below, fixtures};
use support::oracle::{Facts, Spot};

/// Changes of each kind in each dump.
const CHANGES: usize = 3;

/// A dump is changed when its files, HLO text aside, are smaller than this together.
const LARGEST: usize = 40_000;

/// A changed copy of a dump.
struct Mutant {
    site: Site,
    file: String,
    line: u64,
    text: String,
    verdict: Verdict,
}

/// Writes the files of a dump into `folder`, with `text` at `spot`.
fn write_mutant(
    dump: &Dump,
    facts: &Facts,
    folder: &Path,
    spot: Spot,
    text: &str,
) -> (String, u64) {
    fs::create_dir_all(folder).expect("a folder");
    let mut changed_file = String::new();
    for (file, path) in dump.files.iter().enumerate() {
        let name = path.file_name().expect("a name");
        let to = folder.join(name);
        if file == spot.file {
            let mut start = 0;
            let source = &facts.files[file].text;
            for _ in 0..spot.line {
                start += source[start..].find('\n').expect("a line") + 1;
            }
            let at = start + spot.column;
            let changed = format!("{}{text}{}", &source[..at], &source[at + spot.length..]);
            fs::write(&to, changed).expect("a file");
            changed_file = to.display().to_string();
        } else {
            fs::write(&to, &facts.files[file].text).expect("a file");
        }
    }
    (changed_file, spot.line as u64 + 1)
}

#[test]
fn a_changed_number_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a folder");
    let mut random = Random(7);
    let mut mutants: Vec<Mutant> = Vec::new();
    for dump in dumps_below(&fixtures()) {
        let facts = Facts::read(&dump);
        let is_module = |file: usize| facts.module == Some(file);
        let sizes = facts
            .files
            .iter()
            .enumerate()
            .filter(|(file, _)| !is_module(*file));
        if sizes.map(|(_, file)| file.text.len()).sum::<usize>() > LARGEST {
            continue;
        }
        let mut by_kind: BTreeMap<Kind, Vec<Site>> = BTreeMap::new();
        for site in sites(&facts) {
            by_kind.entry(site.kind).or_default().push(site);
        }
        for sites in by_kind.into_values() {
            let mut left = CHANGES;
            for site in random.choose(sites, usize::MAX) {
                let Some((text, verdict)) = changed(&facts, &site, &mut random) else {
                    continue;
                };
                let folder = root.join(format!("m{:05}", mutants.len()));
                let (file, line) = write_mutant(&dump, &facts, &folder, site.number.spot, &text);
                mutants.push(Mutant {
                    site,
                    file,
                    line,
                    text,
                    verdict,
                });
                left -= 1;
                if left == 0 {
                    break;
                }
            }
        }
    }
    let (output, findings) = check(&[&root]);
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    judge(&mutants, &by_mutant(findings));
}

/// Findings by the folder of their mutant.
fn by_mutant(findings: Vec<Finding>) -> HashMap<String, Vec<Finding>> {
    let mut groups: HashMap<String, Vec<Finding>> = HashMap::new();
    for finding in findings.into_iter().filter(Finding::is_serious) {
        let folder = Path::new(&finding.file)
            .parent()
            .expect("a folder")
            .display()
            .to_string();
        groups.entry(folder).or_default().push(finding);
    }
    groups
}

fn judge(mutants: &[Mutant], findings: &HashMap<String, Vec<Finding>>) {
    let mut table: BTreeMap<(Verdict, Kind), (usize, usize)> = BTreeMap::new();
    let mut misses = Vec::new();
    let mut found = 0;
    for mutant in mutants {
        let folder = Path::new(&mutant.file)
            .parent()
            .expect("a folder")
            .display()
            .to_string();
        let findings = findings.get(&folder).map(Vec::as_slice).unwrap_or_default();
        let is_caught = findings
            .iter()
            .any(|finding| finding.names(&mutant.file, mutant.line));
        let entry = table.entry((mutant.verdict, mutant.site.kind)).or_default();
        entry.0 += usize::from(is_caught);
        entry.1 += 1;
        found += findings.len();
        if !is_caught {
            let text = fs::read_to_string(&mutant.file).expect("a file");
            let line: String = text
                .lines()
                .nth(mutant.line as usize - 1)
                .unwrap_or_default()
                .chars()
                .take(160)
                .collect();
            let elsewhere: Vec<String> = findings
                .iter()
                .take(3)
                .map(|finding| format!("\n      {finding}"))
                .collect();
            let name = Path::new(&mutant.file)
                .file_name()
                .expect("a name")
                .display()
                .to_string();
            misses.push((
                mutant.verdict,
                format!(
                    "{:?} {} -> {}: {name}:{}: {line}{}",
                    mutant.site.kind,
                    mutant.site.number.value,
                    mutant.text,
                    mutant.line,
                    elsewhere.concat()
                ),
            ));
        }
    }
    let mut total = (0, 0);
    for ((verdict, kind), (caught, all)) in &table {
        println!("{verdict:?} {kind:?}: {caught} of {all}");
        if *verdict == Verdict::Caught {
            total = (total.0 + caught, total.1 + all);
        }
    }
    println!(
        "{found} errors and warnings on {} changed dumps",
        mutants.len()
    );
    for (verdict, miss) in &misses {
        println!("missed ({verdict:?}): {miss}");
    }
    println!("caught {} of {}", total.0, total.1);
    assert!(total.1 > 1000, "only {} changes", total.1);
    assert!(
        total.0 * 100 >= total.1 * 99,
        "caught {} of {}; run with --nocapture for the misses",
        total.0,
        total.1
    );
}
