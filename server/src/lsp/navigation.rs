//! Hover, going places, references and highlights.

use tower_lsp::ls_types as lsp;

use super::convert;
use super::view::View;
use crate::ide::hover::{self, Sources};
use crate::ide::markdown;
use crate::ide::navigation::{Navigation, Target};
use crate::ide::references;
use crate::model::source::Frame;
use crate::model::{Dump, FileId, Place};
use crate::workspace::{Loaded, Note, Unavailable};

/// So many places at most are the answer to one request.
const LIMIT: usize = 10_000;

pub fn hover(view: &View, position: lsp::Position) -> Result<lsp::Hover, Unavailable> {
    let (Loaded { dump, file, notes }, offset) = view.cursor(position)?;
    // A client that shows plain text has no links.
    let address = |frame: &Frame| {
        let is_shown = view.capabilities.markdown_hover;
        let uri = is_shown.then(|| view.source(&dump, file, &frame.file, frame.line))?;
        Some(uri?.as_str().to_owned())
    };
    let sources = Sources {
        libraries: &view.config.libraries(),
        address: &address,
    };
    let mut hover = hover::hover(&dump, file, offset, &sources).ok_or(Unavailable::Absent)?;
    for note in notes
        .iter()
        .filter(|note| matches!(note, Note::Reading { .. }))
    {
        // A path may hold anything, and only code is safe from being read as Markdown.
        let note = markdown::code(&note.to_string());
        hover.markdown.extend(["\n\n", &note]);
    }
    let (kind, value) = if view.capabilities.markdown_hover {
        (lsp::MarkupKind::Markdown, hover.markdown)
    } else {
        (
            lsp::MarkupKind::PlainText,
            convert::plain_text(&hover.markdown),
        )
    };
    let contents = lsp::HoverContents::Markup(lsp::MarkupContent { kind, value });
    Ok(lsp::Hover {
        contents,
        range: view.range_in(&dump, file, &hover.range),
    })
}

/// Goes where `lookup` leads; with `links` the answer says from which text and to which whole.
pub fn goto(
    view: &View,
    position: lsp::Position,
    links: bool,
    lookup: fn(&Dump, FileId, u32) -> Option<Navigation>,
) -> Result<lsp::GotoDefinitionResponse, Unavailable> {
    let (Loaded { dump, file, .. }, offset) = view.cursor(position)?;
    let Navigation { origin, targets } = lookup(&dump, file, offset).ok_or(Unavailable::Absent)?;
    let targets = targets.iter().take(LIMIT);
    let locate = view.locations(&dump);
    if links {
        let origin = view.range_in(&dump, file, &origin);
        let link = |target: &Target| {
            let location = locate(target.place.file, &target.place.range)?;
            Some(lsp::LocationLink {
                origin_selection_range: origin,
                target_uri: location.uri,
                target_range: location.range,
                target_selection_range: view.range_in(
                    &dump,
                    target.place.file,
                    &target.selection,
                )?,
            })
        };
        Ok(lsp::GotoDefinitionResponse::Link(
            targets.filter_map(link).collect(),
        ))
    } else {
        let location = |target: &Target| locate(target.place.file, &target.selection);
        Ok(lsp::GotoDefinitionResponse::Array(
            targets.filter_map(location).collect(),
        ))
    }
}

pub fn references(
    view: &View,
    position: lsp::Position,
    declaration: bool,
) -> Result<Vec<lsp::Location>, Unavailable> {
    let (Loaded { dump, file, .. }, offset) = view.cursor(position)?;
    let places = references::references(&dump, file, offset, declaration, LIMIT);
    let locate = view.locations(&dump);
    let location = |place: &Place| locate(place.file, &place.range);
    Ok(places.iter().filter_map(location).collect())
}

pub fn highlights(
    view: &View,
    position: lsp::Position,
) -> Result<Vec<lsp::DocumentHighlight>, Unavailable> {
    let (Loaded { dump, file, .. }, offset) = view.cursor(position)?;
    let ranges = references::highlights(&dump, file, offset, LIMIT);
    let range = |range| {
        Some(lsp::DocumentHighlight {
            range: view.range_in(&dump, file, range)?,
            kind: None,
        })
    };
    Ok(ranges.iter().filter_map(range).collect())
}
