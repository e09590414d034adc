//! Findings: where a dump contradicts itself or the format, and advice where it does not.
//!
//! One file per family of checks; a check is a function from the dump to findings. What the
//! identities are and how far they were measured is written in `docs/format.md`.

mod advice;
mod allocations;
pub mod budgets;
mod calls;
mod code;
mod cuts;
mod inference;
mod labels;
mod live_ends;
mod live_ranges;
mod module;
mod overlap;
mod peak;
mod positions;
mod report;
mod schedule;
mod shapes;
mod standing;
mod strangers;
mod structure;
#[cfg(test)]
mod tests;
mod totals;
mod tree;
mod uses;
mod values;
mod words;

use std::borrow::Cow;
use std::sync::Arc;

use buflens_syntax::{DocumentKind, Shape};
use rustc_hash::{FxHashMap, FxHashSet};

use self::structure::Section;
use crate::allocator;
use crate::model::bytes::counted;
use crate::model::cancel::join;
use crate::model::shapes::Shapes;
use crate::model::{Dump, FileId, NameId, Part, Place};

pub use advice::Thresholds;
pub use code::{Code, Severities, Severity};
pub use standing::Standing;

/// Of each code at most so many findings are kept; the last one says how many more there are.
const MAX_OF_CODE: usize = 10_000;

/// A change that certainly mends a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What the change does, for the menu: `Change to 36864`.
    pub title: String,
    /// What is replaced.
    pub place: Place,
    /// By what.
    pub text: String,
}

/// Something that does not add up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is about.
    pub code: Code,
    /// The number or text that is off.
    pub place: Place,
    /// What was found and what was expected.
    pub message: String,
    /// Other places that take part, each with what it says: mostly the same of all findings of a kind.
    pub related: Vec<(Place, Cow<'static, str>)>,
    /// How to mend it, where that is certain: of few findings.
    pub fix: Option<Box<Fix>>,
}

impl Finding {
    fn new(code: Code, place: Place, message: impl Into<String>) -> Self {
        Self {
            code,
            place,
            message: message.into(),
            related: Vec::new(),
            fix: None,
        }
    }

    /// [Related](Self::related) to `place` if it is known.
    fn related_if(self, place: Option<Place>, message: impl Into<Cow<'static, str>>) -> Self {
        match place {
            Some(place) => self.related(place, message),
            None => self,
        }
    }

    fn related(mut self, place: Place, message: impl Into<Cow<'static, str>>) -> Self {
        // Most have one, and a dump may have thousands of findings.
        self.related.reserve_exact(1);
        self.related.push((place, message.into()));
        self
    }

    /// Counts its files from those of another dump, which has them as `files`.
    fn move_to(&mut self, files: &[FileId]) {
        let related = self.related.iter_mut().map(|(place, _)| place);
        let fix = self.fix.as_mut().map(|fix| &mut fix.place);
        for place in related.chain(fix).chain([&mut self.place]) {
            place.file = files[place.file];
        }
    }

    /// [`Finding::fixed_by`], if that is certain.
    fn fixed_if(self, is_certain: bool, text: impl Into<String>) -> Self {
        if is_certain {
            self.fixed_by(text)
        } else {
            self
        }
    }

    /// The text at the finding's place is certainly to be `text`. What is not printed is not mended:
    /// nothing tells where it belongs.
    fn fixed_by(mut self, text: impl Into<String>) -> Self {
        if self.place.range.is_empty() {
            return self;
        }
        let text = text.into();
        self.fix = Some(Box::new(Fix {
            title: format!("Change to {text}"),
            place: self.place.clone(),
            text,
        }));
        self
    }
}

/// All findings of a dump, in the order of its files and their text. Advice is as by default.
pub fn check(dump: &Dump) -> Vec<Finding> {
    check_with(dump, &Thresholds::default())
}

/// All findings of a dump, in the order of its files and their text, with advice from `thresholds`
/// on.
pub fn check_with(dump: &Dump, thresholds: &Thresholds) -> Vec<Finding> {
    check_state(dump, thresholds, &Standing::default()).0
}

/// The same, where `standing` may know some from an earlier state of the dump, and all if nothing was wrong with one that had
/// the same text.
pub fn check_next(dump: &Dump, thresholds: &Thresholds, standing: &Standing) -> Vec<Finding> {
    let texts = standing::texts_of(dump);
    if let Some(findings) = standing.of_sound(&texts, thresholds) {
        // As behind all other checks, it is there when it is asked for.
        dump.occupancy();
        return findings;
    }
    let (findings, is_sound) = check_state(dump, thresholds, standing);
    if is_sound {
        standing.keep_sound(texts, thresholds, &findings);
    }
    findings
}

/// All findings, and whether nothing is wrong.
fn check_state(dump: &Dump, thresholds: &Thresholds, standing: &Standing) -> (Vec<Finding>, bool) {
    let next = || {
        if dump.is_large() {
            allocator::between_steps();
        }
    };
    next();
    // Only advice asks for occupancy.
    let (mut findings, _) = join(|| contradictions(dump, standing), || dump.occupancy());
    // Numbers that contradict each other are nothing to build advice on. A file that is nothing has none.
    let says_nothing = |finding: &Finding| {
        let file = &dump.files[finding.place.file].document;
        finding.code == Code::SecondDump || file.kind() == DocumentKind::Unknown
    };
    let is_sound = findings.list.iter().all(says_nothing);
    if is_sound {
        next();
        advice::advise(dump, thresholds, &mut findings);
    }
    (findings.finish(), is_sound)
}

/// The files that are of another compilation than the rest of their dump, each with one finding.
pub fn strangers(dump: &Dump) -> Vec<Finding> {
    // Damage takes something for a stranger that is none. It is looked for where there may be one.
    if strangers::strangers(dump, &Doubts::default()).is_empty() {
        return Vec::new();
    }
    strangers::strangers(dump, &damage(dump).1)
}

/// Where files that tell of memory are broken off: `truncated`, at the end of each.
pub fn cuts(dump: &Dump) -> Vec<Finding> {
    let (mut findings, mut doubts) = damage(dump);
    cuts::check_values_end(dump, &mut doubts, &mut findings);
    cuts::check_assignment_end(dump, &mut doubts, &mut findings);
    findings.retain(|finding| {
        let document = &dump.files[finding.place.file].document;
        let part = Part::from(document.kind());
        finding.code == Code::Truncated && part.tells_of_memory()
    });
    findings.list
}

/// Lines that are not understood and parts that are missing, which all other checks have to know of.
fn damage(dump: &Dump) -> (Findings, Doubts) {
    let (mut findings, mut doubts) = (Findings::default(), Doubts::default());
    structure::check_syntax(dump, &mut doubts, &mut findings);
    structure::check_completeness(dump, &mut doubts, &mut findings);
    (findings, doubts)
}

/// Where a dump contradicts itself or the format.
fn contradictions(dump: &Dump, standing: &Standing) -> Findings {
    let (mut findings, mut doubts) = damage(dump);
    let strangers = strangers::strangers(dump, &doubts);
    if !strangers.is_empty() {
        return apart(dump, strangers);
    }
    structure::check_headings(dump, &mut findings);
    allocations::check_indices(dump, &mut doubts, &mut findings);
    allocations::check_kinds(dump, &mut doubts, &mut findings);
    cuts::check_values_end(dump, &mut doubts, &mut findings);
    cuts::check_assignment_end(dump, &mut doubts, &mut findings);
    values::check_ids(dump, &mut doubts, &mut findings);
    let context = Context {
        dump,
        shapes: Shapes::new(dump),
        standing,
    };
    shapes::check_colors(&context, &mut doubts, &mut findings);
    values::check_references(dump, &mut doubts, &mut findings);
    values::check_lines(dump, &doubts, &mut findings);
    positions::check_positions(&context, &mut doubts, &mut findings);
    uses::check_uses(dump, &doubts, &mut findings);
    shapes::check_shapes(&context, &mut doubts, &mut findings);
    allocations::check_parameters(&context, &mut doubts, &mut findings);
    allocations::check_output(&context, &mut doubts, &mut findings);
    allocations::check_sizes(&context, &mut doubts, &mut findings);
    totals::check_total(dump, &doubts, &mut findings);
    // What is left asks what has been found so far. What the values are and when they live ask nothing of each other.
    let (mut of_values, mut of_lives) = (findings.fork(), findings.fork());
    let mut doubts_of_lives = doubts.clone();
    let check_lives = || {
        schedule::check_sequence(dump, &mut doubts_of_lives, &mut of_lives);
        live_ranges::check_ranges(dump, &mut doubts_of_lives, &mut of_lives);
        live_ends::check_ends(dump, &mut doubts_of_lives, &mut of_lives);
    };
    join(check_lives, || {
        report::check_report(&context, &mut doubts, &mut of_values);
    });
    doubts.live_ranges.clone_from(&doubts_of_lives.live_ranges);
    let check_peak = || {
        peak::check_peak(&context, &doubts_of_lives, &mut of_lives);
        tree::check_tree(dump, &doubts_of_lives, &mut of_lives);
    };
    join(check_peak, || {
        shapes::check_sizes(&context, &mut doubts, &mut of_values);
        module::check_module(&context, &doubts, &mut of_values);
        overlap::check_overlap(dump, &doubts, &mut of_values);
    });
    findings.join(of_values);
    findings.join(of_lives);
    structure::forget_last_lines(dump, &mut findings);
    findings
}

/// The findings of a dump some of whose files do not belong to it: each of them is checked on its own,
/// and the others as if they were not there.
fn apart(dump: &Dump, strangers: Vec<Finding>) -> Findings {
    let all = || 0..dump.files.len();
    let is_strange = |file: &FileId| strangers.iter().any(|it| it.place.file == *file);
    let others = all().filter(|file| !is_strange(file)).collect();
    let alone = all().filter(is_strange).map(|file| vec![file]);
    let parts: Vec<Vec<FileId>> = std::iter::once(others).chain(alone).collect();
    let mut findings = Findings::default();
    findings.extend(strangers);
    for files in parts {
        let part = Dump::new(files.iter().map(|&file| dump.files[file].clone()).collect());
        let mut of_part = contradictions(&part, &Standing::default());
        for finding in &mut of_part.list {
            finding.move_to(&files);
        }
        findings.join(of_part);
    }
    findings
}

/// What several checks need.
struct Context<'d> {
    dump: &'d Dump,
    shapes: Shapes<'d>,
    standing: &'d Standing,
}

impl Context<'_> {
    /// The shape that section A prints with the dump's value `at`.
    fn placed(&self, at: u32) -> Option<&Shape> {
        self.shapes.of(&self.dump.values[at as usize])
    }

    /// The shape of the result of the instruction that section C prints with the dump's value `at`.
    fn result(&self, at: u32) -> Option<&Shape> {
        self.shapes.of_result(&self.dump.values[at as usize])
    }

    /// The shape that `text` is, if it is one.
    fn shape(&self, text: &str) -> Option<Arc<Shape>> {
        self.shapes.read(text)
    }
}

/// What earlier checks have found wrong, so that what only follows from it is not reported again.
/// Values and allocations are numbers into the dump's tables.
#[derive(Default, Clone)]
struct Doubts {
    /// Sections with a broken line, or cut.
    broken: FxHashSet<Section>,
    /// Allocations whose size or values' places are wrong.
    allocations: FxHashSet<u32>,
    /// Allocations whose header is wrong in something else than the size.
    headers: FxHashSet<u32>,
    /// Allocations whose printed size is certainly wrong, with what it should be.
    sizes: FxHashMap<u32, u64>,
    /// Values whose id, name, shape or memory space is wrong in one of the sections.
    values: FxHashSet<u32>,
    /// Values that are larger than their shapes.
    too_large: FxHashSet<u32>,
    /// Whether a value of section C lies in no allocation.
    values_unplaced: bool,
    /// Whether lines of the schedule are missing, doubled or in another order, so that their places in
    /// the list are not their steps.
    steps_shifted: bool,
    /// Instructions whose steps are wrong.
    steps: FxHashSet<NameId>,
    /// Values whose live range is wrong.
    live_ranges: FxHashSet<u32>,
    /// Whether a live range is missing or belongs to no value.
    live_ranges_incomplete: bool,
}

impl Doubts {
    /// Whether every line of these sections was understood.
    fn are_whole(&self, sections: &[Section]) -> bool {
        !sections.iter().any(|section| self.broken.contains(section))
    }
}

/// Findings in the making.
#[derive(Debug, Default, Clone)]
struct Findings {
    list: Vec<Finding>,
    counts: FxHashMap<Code, usize>,
}

impl Findings {
    fn push(&mut self, finding: Finding) {
        let count = self.counts.entry(finding.code).or_default();
        *count += 1;
        if *count <= MAX_OF_CODE {
            self.list.push(finding);
        }
    }

    fn extend(&mut self, more: impl IntoIterator<Item = Finding>) {
        for finding in more {
            self.push(finding);
        }
    }

    /// None, made where these have been found.
    fn fork(&self) -> Self {
        let counts = self.counts.keys().map(|&code| (code, 0)).collect();
        let list = Vec::new();
        Self { list, counts }
    }

    /// Adds those of a fork.
    fn join(&mut self, fork: Self) {
        for (code, count) in fork.counts {
            *self.counts.entry(code).or_default() += count;
        }
        // There may be ten thousands, most often nearly all of one: these stay where they are.
        if self.list.len() < fork.list.len() {
            let first = std::mem::replace(&mut self.list, fork.list);
            self.list.splice(0..0, first);
        } else {
            self.list.extend(fork.list);
        }
    }

    fn has(&self, code: Code) -> bool {
        self.counts.contains_key(&code)
    }

    /// Whether a finding is at `place` or behind it in its file.
    fn has_at_or_behind(&self, place: &Place) -> bool {
        let is_there = |finding: &Finding| {
            finding.place.file == place.file && finding.place.range.end >= place.range.start
        };
        self.list.iter().any(is_there)
    }

    /// Without those that `keep` says no of.
    fn retain(&mut self, keep: impl Fn(&Finding) -> bool) {
        let counts = &mut self.counts;
        self.list.retain(|finding| {
            let is_kept = keep(finding);
            if !is_kept && let Some(count) = counts.get_mut(&finding.code) {
                *count -= 1;
            }
            is_kept
        });
    }

    /// In the order of the text, at most [`MAX_OF_CODE`] of each code; the last of these says how many more there are.
    fn finish(mut self) -> Vec<Finding> {
        self.list
            .sort_by_key(|finding| (finding.place.file, finding.place.range.start, finding.code));
        let mut kept: FxHashMap<Code, usize> = FxHashMap::default();
        self.list.retain(|finding| {
            let count = kept.entry(finding.code).or_default();
            *count += 1;
            *count <= MAX_OF_CODE
        });
        for (&code, &count) in &self.counts {
            let mut from_the_end = self.list.iter_mut().rev();
            if count > MAX_OF_CODE
                && let Some(last) = from_the_end.find(|finding| finding.code == code)
            {
                let more = counted(count - MAX_OF_CODE, "more finding");
                last.message = format!("{} (and {more} of this kind)", last.message);
            }
        }
        self.list
    }
}

/// Takes the fixes back if there are several: each change on its own would mend one finding, and what
/// gives several is more often a line that is missing, doubled or in another place.
fn keep_single_fix(findings: &mut [Finding]) {
    if findings.len() > 1 {
        for finding in findings {
            finding.fix = None;
        }
    }
}
