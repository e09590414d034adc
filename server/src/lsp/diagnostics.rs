//! Findings as diagnostics, and the pulling of them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use rustc_hash::FxHashMap;
use tower_lsp::ls_types as lsp;

use super::convert;
use super::view::View;
use crate::checks::{self, Finding, Severity, Standing, Thresholds};
use crate::model::bytes::counted;
use crate::model::cancel::{lock, on_few_threads};
use crate::model::{Dump, FileId};
use crate::workspace::{Loaded, Unavailable};

/// A document has at most so many diagnostics, which is what VS Code shows.
const LIMIT: usize = 1000;

const SOURCE: &str = "buflens";
const PAGES: &str = "https://github.com/buflens/buflens/blob/main/docs/diagnostics.md#";

/// The findings of the dumps at hand, so that a dump is checked once, whoever asks.
#[derive(Debug, Default)]
pub struct Checks(Mutex<FxHashMap<PathBuf, Arc<Checked>>>);

/// A dump and its findings.
#[derive(Debug)]
pub struct Checked {
    /// Only to know it again: it goes when nobody else has it, which after an edit is before the
    /// next one is made.
    dump: Weak<Dump>,
    thresholds: Thresholds,
    findings: OnceLock<Vec<Finding>>,
    /// What stands of an edit's findings behind the next one.
    standing: Arc<Standing>,
    /// No other dump has this number.
    id: u64,
}

impl Checks {
    /// The dump's, with advice from `thresholds` on.
    pub fn of(&self, dump: &Arc<Dump>, thresholds: &Thresholds) -> Arc<Checked> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let new = |standing| {
            let id = NEXT.fetch_add(1, Ordering::Relaxed);
            Arc::new(Checked {
                dump: Arc::downgrade(dump),
                thresholds: thresholds.clone(),
                findings: OnceLock::new(),
                standing,
                id,
            })
        };
        let Some(first) = dump.files.first() else {
            return new(Arc::default());
        };
        let mut checks = lock(&self.0);
        let entry = checks.entry(first.path.clone());
        let checked = entry.or_insert_with(|| new(Arc::default()));
        let is_known = checked.is_of(dump) && checked.thresholds == *thresholds;
        let next = (!is_known).then(|| new(Arc::clone(&checked.standing)));
        let before = next.map(|next| std::mem::replace(checked, next));
        let checked = Arc::clone(checked);
        // Thousands of findings take longer to drop than anybody should wait for the others.
        drop(checks);
        drop(before);
        checked
    }

    /// Forgets the dumps whose first files are these, and gives what is forgotten.
    pub fn forget(&self, paths: &[PathBuf]) -> Vec<Arc<Checked>> {
        let mut checks = lock(&self.0);
        let forgotten = checks.extract_if(|path, _| paths.contains(path));
        forgotten.map(|(_, checked)| checked).collect()
    }
}

impl Checked {
    fn is_of(&self, dump: &Arc<Dump>) -> bool {
        std::ptr::eq(self.dump.as_ptr(), Arc::as_ptr(dump))
    }

    /// The findings of its dump, which is `dump`; the first to ask has to wait.
    pub fn findings(&self, dump: &Dump) -> &[Finding] {
        let check =
            || on_few_threads(|| checks::check_next(dump, &self.thresholds, &self.standing));
        self.findings.get_or_init(check)
    }
}

/// The diagnostics of one file: all of them, or the worst ones and how many more there are.
pub fn of_file(
    view: &View,
    dump: &Dump,
    findings: &[Finding],
    file: FileId,
) -> Vec<lsp::Diagnostic> {
    let mut chosen: Vec<(Severity, &Finding)> = findings
        .iter()
        .filter(|finding| finding.place.file == file)
        .filter_map(|finding| Some((view.config.severity(finding.code)?, finding)))
        .collect();
    let mut more = 0;
    if chosen.len() > LIMIT {
        chosen.sort_by_key(|(severity, _)| std::cmp::Reverse(*severity));
        more = chosen.len() - (LIMIT - 1);
        chosen.truncate(LIMIT - 1);
    }
    let diagnostic =
        |(severity, finding): &(Severity, &Finding)| diagnostic(view, dump, finding, *severity);
    let mut diagnostics: Vec<lsp::Diagnostic> = chosen.iter().map(diagnostic).collect();
    if more > 0 {
        diagnostics.push(lsp::Diagnostic {
            severity: Some(lsp::DiagnosticSeverity::INFORMATION),
            source: Some(SOURCE.to_owned()),
            message: format!(
                "not shown: {}; `buflens check` tells them all",
                counted(more, "more finding")
            ),
            ..lsp::Diagnostic::default()
        });
    }
    diagnostics
}

fn diagnostic(view: &View, dump: &Dump, finding: &Finding, severity: Severity) -> lsp::Diagnostic {
    let code = finding.code.name();
    let page = view
        .capabilities
        .code_description
        .then(|| lsp::Uri::from_str(&format!("{PAGES}{code}")).ok());
    let related = finding.related.iter().filter_map(|(place, message)| {
        let location = view.location(dump, place)?;
        Some(lsp::DiagnosticRelatedInformation {
            location,
            message: message.to_string(),
        })
    });
    lsp::Diagnostic {
        range: view
            .range_in(dump, finding.place.file, &finding.place.range)
            .unwrap_or_default(),
        severity: Some(convert::severity(severity)),
        code: Some(lsp::NumberOrString::String(code.to_owned())),
        code_description: page.flatten().map(|href| lsp::CodeDescription { href }),
        source: Some(SOURCE.to_owned()),
        message: finding.message.clone(),
        related_information: view
            .capabilities
            .related_information
            .then(|| related.collect()),
        tags: None,
        data: None,
    }
}

/// Answers a pull for the document asked for, with its siblings if the client takes them.
pub fn pull(
    view: &View,
    previous: Option<&str>,
) -> Result<lsp::DocumentDiagnosticReport, Unavailable> {
    let Loaded {
        dump, file: asked, ..
    } = view.loaded()?;
    let checked = view.checks.of(&dump, &view.config.thresholds());
    let result_id = format!("{}.{}", checked.id, view.generation);
    if previous == Some(&result_id) {
        return Ok(lsp::DocumentDiagnosticReport::Unchanged(
            lsp::RelatedUnchangedDocumentDiagnosticReport {
                related_documents: None,
                unchanged_document_diagnostic_report: lsp::UnchangedDocumentDiagnosticReport {
                    result_id,
                },
            },
        ));
    }
    let report = |file| lsp::FullDocumentDiagnosticReport {
        result_id: None,
        items: of_file(view, &dump, checked.findings(&dump), file),
    };
    let related = |(file, content): (FileId, &crate::model::File)| {
        Some((view.uri(&content.path)?, report(file).into()))
    };
    let related_documents = view.capabilities.related_documents.then(|| {
        let others = dump
            .files
            .iter()
            .enumerate()
            .filter(|(file, _)| *file != asked);
        others.filter_map(related).collect::<HashMap<_, _>>()
    });
    let mut full_document_diagnostic_report = report(asked);
    full_document_diagnostic_report.result_id = Some(result_id);
    Ok(lsp::DocumentDiagnosticReport::Full(
        lsp::RelatedFullDocumentDiagnosticReport {
            related_documents,
            full_document_diagnostic_report,
        },
    ))
}
