//! Quick fixes of findings.

use std::collections::HashMap;

use tower_lsp::ls_types as lsp;

use super::convert;
use super::view::View;
use crate::checks::{Finding, Fix};
use crate::model::Dump;
use crate::workspace::{Loaded, Unavailable};

const LIMIT: usize = 100;

/// The fixes of findings that touch `range`.
pub fn quick_fixes(
    view: &View,
    range: lsp::Range,
    context: &lsp::CodeActionContext,
) -> Result<lsp::CodeActionResponse, Unavailable> {
    let wants = |only: &Vec<lsp::CodeActionKind>| {
        only.iter().any(|kind| {
            *kind == lsp::CodeActionKind::QUICKFIX || *kind == lsp::CodeActionKind::EMPTY
        })
    };
    if !view.capabilities.code_actions || !context.only.as_ref().is_none_or(wants) {
        return Ok(Vec::new());
    }
    let Loaded { dump, file, .. } = view.loaded()?;
    let checked = view.checks.of(&dump, &view.config.thresholds());
    let range = convert::bytes(
        &dump.files[file].document,
        range,
        view.capabilities.encoding,
    );
    let touches = |place: &crate::model::Place| {
        place.file == file && place.range.start <= range.end && range.start <= place.range.end
    };
    let fixes = checked.findings(&dump).iter().filter_map(|finding| {
        let fix = finding.fix.as_ref()?;
        let is_here = touches(&finding.place) || touches(&fix.place);
        (is_here && view.config.severity(finding.code).is_some()).then_some((finding, fix))
    });
    Ok(fixes
        .filter_map(|(finding, fix)| action(view, &dump, finding, fix, context))
        .take(LIMIT)
        .collect())
}

fn action(
    view: &View,
    dump: &Dump,
    finding: &Finding,
    fix: &Fix,
    context: &lsp::CodeActionContext,
) -> Option<lsp::CodeActionOrCommand> {
    let lsp::Location { uri, range } = view.location(dump, &fix.place)?;
    let place = view.range_in(dump, finding.place.file, &finding.place.range)?;
    let mended = context.diagnostics.iter().filter(|diagnostic| {
        let code = lsp::NumberOrString::String(finding.code.name().to_owned());
        diagnostic.code == Some(code) && diagnostic.range == place
    });
    let edit = lsp::TextEdit::new(range, fix.text.clone());
    let version = view
        .edition_of(&dump.files[fix.place.file].path)
        .map(|edition| edition.version);
    let edit = if view.capabilities.versioned_edits {
        let edit = lsp::TextDocumentEdit {
            text_document: lsp::OptionalVersionedTextDocumentIdentifier { uri, version },
            edits: vec![lsp::OneOf::Left(edit)],
        };
        lsp::WorkspaceEdit {
            document_changes: Some(lsp::DocumentChanges::Edits(vec![edit])),
            ..lsp::WorkspaceEdit::default()
        }
    } else {
        lsp::WorkspaceEdit::new(HashMap::from([(uri, vec![edit])]))
    };
    Some(lsp::CodeActionOrCommand::CodeAction(lsp::CodeAction {
        title: fix.title.clone(),
        kind: Some(lsp::CodeActionKind::QUICKFIX),
        diagnostics: Some(mended.cloned().collect()),
        edit: Some(edit),
        is_preferred: Some(true),
        ..lsp::CodeAction::default()
    }))
}
