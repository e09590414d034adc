//! What budgets are held against over a whole run: which programs were met, and what they took.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::audit::Audit;
use crate::checks::budgets::{self, Baseline, Budgets, Key, Space};
use crate::checks::{Code, Finding};
use crate::cli::config::Module;
use crate::cli::one_dump::{is_dump, without};
use crate::model::source::Libraries;
use crate::model::{Dump, space};
use crate::workspace::{Loaded, program_name};

/// So many modules are named in a note.
const NAMED: usize = 10;

/// The budgets of a run, and what has been measured so far.
#[derive(Debug, Default)]
pub struct Account {
    /// The limits of the project.
    base: Budgets,
    /// Limits of some modules.
    modules: Vec<Module>,
    /// The limits of this run, which go before all others.
    own: Budgets,
    /// What growth is measured against.
    pub before: Option<Baseline>,
    /// Whether the measures are wanted in any case.
    is_written: bool,
    /// What was measured.
    pub now: Baseline,
    /// The names of memory spaces that are limited, and whether some dump can have them.
    spaces: BTreeMap<String, bool>,
    /// By the order of `modules`: whether one was met.
    met: Vec<bool>,
    /// Whether some program was held against a limit.
    is_asked: bool,
    /// Those that the baseline does not know.
    unknown: Vec<Key>,
}

/// What there is to say at the end.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What is worth knowing.
    pub notes: Vec<String>,
    /// Why the budgets mean nothing.
    pub problems: Vec<String>,
}

/// What a program takes.
#[derive(Debug)]
pub struct Measured {
    /// What it is called.
    module: String,
    /// The memory spaces.
    spaces: Vec<Space>,
}

/// What the program of a dump takes, by the files that are not of another compilation by what was
/// `found`; `None` if they say nothing about memory.
pub fn measure(loaded: &Loaded, found: &[Finding]) -> Option<Measured> {
    let strangers = found.iter();
    let strangers = strangers.filter(|finding| finding.code == Code::OtherCompilation);
    let strangers: Vec<Finding> = strangers.cloned().collect();
    let own = without(loaded.clone(), &strangers);
    is_dump(&own.dump).then(|| Measured {
        module: program_name(&own.dump),
        spaces: budgets::spaces(&Audit::new(&own.dump, Libraries::default())),
    })
}

impl Account {
    /// Nothing measured yet; measured is if something is limited, or for the sake of a baseline that
    /// `is_written`.
    pub fn new(base: Budgets, modules: Vec<Module>, own: Budgets, is_written: bool) -> Self {
        Self {
            met: vec![false; modules.len()],
            base,
            modules,
            own,
            is_written,
            ..Self::default()
        }
    }

    /// Whether there is a reason to measure anything.
    pub fn is_open(&self) -> bool {
        self.is_written || self.is_limited()
    }

    fn is_limited(&self) -> bool {
        let modules = self.modules.iter().map(|it| &it.budgets);
        let mut all = modules.chain([&self.base, &self.own]);
        all.any(|budgets| !budgets.is_empty())
    }

    /// Whether growth is limited for some module.
    pub fn limits_growth(&self) -> bool {
        let modules = self.modules.iter().map(|it| &it.budgets);
        let mut all = modules.chain([&self.base, &self.own]);
        all.any(|budgets| budgets.growth.is_some())
    }

    /// The budgets that a dump does not keep, in which all of this was `found`. Dumps have to come in
    /// the order of their paths.
    pub fn findings(&mut self, dump: &Dump, found: &[Finding], measured: Measured) -> Vec<Finding> {
        let Measured { module, spaces } = measured;
        let mut budgets = self.base.clone();
        for (section, is_met) in self.modules.iter().zip(&mut self.met) {
            if section.name.is_match(&module) {
                budgets = section.budgets.over(&budgets);
                *is_met = true;
            }
        }
        let budgets = self.own.over(&budgets);
        self.is_asked |= !budgets.is_empty();
        for name in budgets.names() {
            *self.spaces.entry(name.to_owned()).or_default() |= dump.can_have(name);
        }
        let platform = space::platform(dump.platforms);
        let key = self.now.add(&module, platform, spaces.clone());
        let before = self.before.as_ref().map(|before| before.get(&key));
        let findings = budgets::check(dump, found, &budgets, &spaces, before.flatten());
        if before == Some(None) {
            self.unknown.push(key);
        }
        findings
    }

    /// What there is to say when all dumps have been met.
    pub fn finish(&self) -> Outcome {
        let mut outcome = Outcome::default();
        if self.now.is_empty() {
            if self.is_open() {
                outcome.problems.push(
                    "there is no dump whose memory could be measured; a program that comes out of \
                     a compilation cache writes none"
                        .to_owned(),
                );
            }
            return outcome;
        }
        let unmet: Vec<&str> = self
            .spaces
            .iter()
            .filter(|it| !it.1)
            .map(|it| it.0.as_str())
            .collect();
        for name in &unmet {
            outcome.notes.push(format!(
                "no dump has a memory space `{name}`, so its budget was not asked about"
            ));
        }
        if !unmet.is_empty() && unmet.len() == self.spaces.len() {
            outcome
                .problems
                .push("no budget is of a memory space of these dumps".to_owned());
        }
        if self.is_limited() && !self.is_asked {
            outcome.problems.push(
                "there are budgets for some modules alone, and none of these is there".to_owned(),
            );
        }
        let sections = self.modules.iter().zip(&self.met);
        for (section, _) in sections.filter(|(_, is_met)| !**is_met) {
            let name = section.name.glob();
            outcome.notes.push(format!(
                "no module is called `{name}`, for which budgets are set"
            ));
        }
        let Some(before) = &self.before else {
            return outcome;
        };
        if self.now.keys().all(|key| before.get(key).is_none()) {
            outcome.problems.push(
                "no module is in the baseline, so no growth could be measured; --write-baseline \
                 writes one anew"
                    .to_owned(),
            );
        } else if !self.unknown.is_empty() {
            let names = named(self.unknown.iter());
            outcome.notes.push(format!("not in the baseline: {names}"));
        }
        let gone: Vec<&Key> = before
            .keys()
            .filter(|key| self.now.get(key).is_none())
            .collect();
        if !gone.is_empty() {
            let names = named(gone.into_iter());
            outcome
                .notes
                .push(format!("in the baseline, but not there: {names}"));
        }
        outcome
    }
}

/// `jit_f (tpu), jit_g (cpu, number 2) and 3 more`
fn named<'k>(keys: impl ExactSizeIterator<Item = &'k Key>) -> String {
    let more = keys.len().saturating_sub(NAMED);
    let name = |key: &Key| match key.position {
        1 => format!("{} ({})", key.module, key.platform),
        position => format!("{} ({}, number {position})", key.module, key.platform),
    };
    let names: Vec<String> = keys.take(NAMED).map(name).collect();
    let mut text = names.join(", ");
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
    text
}
