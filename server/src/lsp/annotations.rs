//! What the server writes between and behind the lines: code lenses and inlay hints.

use std::sync::Arc;

use serde_json::json;
use tower_lsp::ls_types as lsp;

use super::convert;
use super::session::Session;
use super::view::View;
use crate::ide::hints::{self, Hint};
use crate::ide::lenses::{self, Lens};
use crate::workspace::{Loaded, Unavailable};

/// The command that a lens runs.
const PEAK: &str = "buflens.peak";

pub fn lenses(view: &View) -> Result<Vec<lsp::CodeLens>, Unavailable> {
    if !view.config.code_lens() {
        return Ok(Vec::new());
    }
    let Loaded { dump, file, .. } = view.loaded()?;
    let uri = view.uri(&dump.files[file].path);
    let uri = uri.ok_or(Unavailable::Absent)?;
    let lens = |lens: Lens| {
        let mut argument = json!({ "uri": uri, "space": lens.space });
        if let Some(step) = lens.step {
            argument["step"] = step.into();
        }
        Some(lsp::CodeLens {
            range: view.range_in(&dump, file, &lens.range)?,
            command: Some(lsp::Command {
                title: lens.title,
                command: PEAK.to_owned(),
                arguments: Some(vec![argument]),
            }),
            data: None,
        })
    };
    let lenses = lenses::lenses(&dump, file);
    Ok(lenses.into_iter().filter_map(lens).collect())
}

pub fn hints(view: &View, range: lsp::Range) -> Result<Vec<lsp::InlayHint>, Unavailable> {
    let wanted = view.config.hints();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let Loaded { dump, file, .. } = view.loaded()?;
    let encoding = view.capabilities.encoding;
    let document = &dump.files[file].document;
    let range = convert::bytes(document, range, encoding);
    let hint = |hint: Hint| lsp::InlayHint {
        position: convert::position(document, hint.offset, encoding),
        label: hint.label.into(),
        kind: None,
        text_edits: None,
        tooltip: hint.tooltip.map(lsp::InlayHintTooltip::String),
        padding_left: Some(true),
        padding_right: None,
        data: None,
    };
    let hints = hints::hints(&dump, file, range, &wanted);
    Ok(hints.into_iter().map(hint).collect())
}

/// Has the client ask again, if it can. It may answer whenever it likes: nothing waits for it.
pub fn refresh(session: &Arc<Session>) {
    let capabilities = session.capabilities();
    if capabilities.refreshes_lenses {
        let client = session.client.clone();
        tokio::spawn(async move { client.code_lens_refresh().await });
    }
    if capabilities.refreshes_hints {
        let client = session.client.clone();
        tokio::spawn(async move { client.inlay_hint_refresh().await });
    }
}
