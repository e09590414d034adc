//! Which compilations there are, and which of their files.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::SCHEMA;
use super::summary::{Module, module, sort_by_peak};
use crate::audit::Audit;
use crate::model::Dump;
use crate::workspace::{self, PARTS};

/// Compilations, in the order of their paths.
#[derive(Debug, Clone, Serialize)]
pub struct Listing {
    schema: u32,
    /// The compilations.
    pub compilations: Vec<Listed>,
    /// How many more there are.
    pub compilations_left_out: usize,
    /// HLO texts that are of no compilation in the list.
    pub texts_alone: Vec<String>,
}

/// A compilation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Listed {
    /// What it reserves and occupies.
    #[serde(flatten)]
    pub module: Module,
    /// The bytes of its files.
    pub file_bytes: u64,
    /// Its files.
    pub files: Vec<String>,
    /// Its parts that are there, as files of their own or within the assignment.
    pub there: Vec<&'static str>,
    /// Those that are not.
    pub missing: Vec<&'static str>,
    /// How many HLO texts of other stages of the same program lie beside it.
    pub stage_texts: usize,
    /// What is wrong with its files.
    pub problems: Vec<String>,
}

impl Listing {
    /// The compilations with the HLO texts found beside them, by their stems.
    pub fn new(mut compilations: Vec<Listed>, texts: Vec<PathBuf>) -> Self {
        let mut of_program: FxHashMap<PathBuf, Vec<usize>> = FxHashMap::default();
        compilations.sort_by(|left, right| left.module.stem.cmp(&right.module.stem));
        for (number, listed) in compilations.iter().enumerate() {
            let program = workspace::program_path(Path::new(&listed.module.stem));
            of_program.entry(program).or_default().push(number);
        }
        let mut texts_alone = Vec::new();
        for text in texts {
            match of_program.get(&workspace::program_path(&text)) {
                Some(numbers) => numbers
                    .iter()
                    .for_each(|&number| compilations[number].stage_texts += 1),
                None => texts_alone.push(text.to_string_lossy().into_owned()),
            }
        }
        texts_alone.sort();
        Self {
            schema: SCHEMA,
            compilations,
            compilations_left_out: 0,
            texts_alone,
        }
    }

    /// Sorts by the peak of memory space 0, the highest first.
    pub fn sort_by_peak(&mut self) {
        sort_by_peak(&mut self.compilations, |listed| &listed.module, 0);
    }
}

/// The record of a compilation that was read for the sake of the file at `path`, with all the files of
/// `dump`, of which `audit` is without those of another compilation.
pub fn listed(audit: &Audit, dump: &Dump, path: &Path) -> Listed {
    let (there, missing): (Vec<_>, Vec<_>) = PARTS
        .iter()
        .partition(|(part, _)| workspace::has_part(dump, *part));
    let names = |parts: Vec<&(_, &'static str)>| parts.into_iter().map(|(_, name)| *name).collect();
    let files = dump.files.iter();
    Listed {
        module: module(audit, path),
        file_bytes: files
            .clone()
            .map(|file| u64::from(file.document.len()))
            .sum(),
        files: files
            .map(|file| file.path.to_string_lossy().into_owned())
            .collect(),
        there: names(there),
        missing: names(missing),
        stage_texts: 0,
        problems: workspace::problems(audit.dump),
    }
}
