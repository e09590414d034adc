//! Symbols, folds, selections and links: the shape of a document.

use std::fmt::Write as _;
use std::ops::Range;

use buflens_syntax::Document;
use rustc_hash::FxHashSet;
use tower_lsp::ls_types as lsp;

use super::convert;
use super::view::{View, dumps};
use crate::ide::links::{self, Link};
use crate::ide::symbols::{self, Symbol, SymbolKind};
use crate::ide::{folding, selection};
use crate::model::bytes::rounded;
use crate::model::{Part, Place, Rank, space};
use crate::workspace::{self, DumpHit, Hit, Index, Loaded, Unavailable};

const SYMBOLS: usize = 4000;
const FOLDS: usize = 5000;
const LINKS: usize = 5000;
const FOUND: usize = 500;

pub fn symbols(view: &View) -> Result<lsp::DocumentSymbolResponse, Unavailable> {
    let Loaded { dump, file, .. } = view.loaded()?;
    let symbols = symbols::document_symbols(&dump, file, SYMBOLS);
    let document = &dump.files[file].document;
    if view.capabilities.nested_symbols {
        let symbols = symbols
            .into_iter()
            .map(|symbol| nested(view, document, symbol))
            .collect();
        return Ok(lsp::DocumentSymbolResponse::Nested(symbols));
    }
    let uri = view
        .uri(&dump.files[file].path)
        .ok_or(Unavailable::Absent)?;
    let mut flat = Vec::new();
    for symbol in symbols {
        flatten(view, document, &uri, symbol, None, &mut flat);
    }
    Ok(lsp::DocumentSymbolResponse::Flat(flat))
}

#[allow(deprecated)]
fn nested(view: &View, document: &Document, symbol: Symbol) -> lsp::DocumentSymbol {
    let children = symbol
        .children
        .into_iter()
        .map(|child| nested(view, document, child))
        .collect();
    lsp::DocumentSymbol {
        name: symbol.name,
        detail: Some(symbol.detail).filter(|detail| !detail.is_empty()),
        kind: convert::symbol_kind(symbol.kind),
        tags: None,
        deprecated: None,
        range: view.range(document, &symbol.range),
        selection_range: view.range(document, &symbol.selection),
        children: Some(children),
    }
}

#[allow(deprecated)]
fn flat_symbol(
    name: String,
    kind: SymbolKind,
    location: lsp::Location,
    container_name: Option<String>,
) -> lsp::SymbolInformation {
    lsp::SymbolInformation {
        name,
        kind: convert::symbol_kind(kind),
        tags: None,
        deprecated: None,
        location,
        container_name,
    }
}

fn flatten(
    view: &View,
    document: &Document,
    uri: &lsp::Uri,
    symbol: Symbol,
    container: Option<&str>,
    flat: &mut Vec<lsp::SymbolInformation>,
) {
    flat.push(flat_symbol(
        symbol.name.clone(),
        symbol.kind,
        lsp::Location::new(uri.clone(), view.range(document, &symbol.range)),
        container.map(str::to_owned),
    ));
    for child in symbol.children {
        flatten(view, document, uri, child, Some(&symbol.name), flat);
    }
}

/// Symbols of all dumps of which a file is open, and of those in the index, the best first.
pub fn find(views: &[View], index: &Index, query: &str) -> lsp::WorkspaceSymbolResponse {
    let open: FxHashSet<_> = views.iter().map(View::stem).collect();
    let mut all = Vec::new();
    for (view, Loaded { dump, .. }) in dumps(views) {
        let module = workspace::program_name(&dump);
        let itself = Rank::of(&module, query).and_then(|rank| {
            let mut parts = dump.files.iter().map(|file| file.document.kind().into());
            let start = Place {
                file: parts.position(|part: Part| part != Part::None)?,
                range: 0..0,
            };
            let location = view.location(&dump, &start)?;
            let sizes = Some(sizes(&DumpHit::of(&dump)));
            let symbol = flat_symbol(module.clone(), SymbolKind::Section, location, sizes);
            Some((rank, symbol))
        });
        all.extend(itself);
        let found = symbols::workspace_symbols(&dump, query, FOUND);
        all.extend(found.into_iter().filter_map(|found| {
            let container = match found.container.as_str() {
                "" => module.clone(),
                container => format!("{module}, {container}"),
            };
            let location = view.location(&dump, &found.place)?;
            let symbol = flat_symbol(found.name, found.kind, location, Some(container));
            Some((found.rank, symbol))
        }));
    }
    let hits = index.search(query, FOUND, |stem| open.contains(stem));
    all.extend(hits.into_iter().filter_map(|hit| {
        let rank = hit.rank;
        Some((rank, indexed(hit)?))
    }));
    // Of equal rank, what is open comes first.
    all.sort_by_key(|(rank, _)| *rank);
    all.truncate(FOUND);
    lsp::WorkspaceSymbolResponse::Flat(all.into_iter().map(|(_, symbol)| symbol).collect())
}

fn indexed(hit: Hit) -> Option<lsp::SymbolInformation> {
    let range = lsp::Range::new(
        lsp::Position::new(hit.range.start.line, hit.range.start.column),
        lsp::Position::new(hit.range.end.line, hit.range.end.column),
    );
    let kind = match hit.dump {
        Some(_) => SymbolKind::Section,
        None => SymbolKind::Value,
    };
    let location = lsp::Location::new(convert::uri(&hit.path)?, range);
    let container = hit.dump.as_ref().map_or(hit.module, sizes);
    Some(flat_symbol(hit.name, kind, location, Some(container)))
}

/// `tpu, HBM 1.3 GiB reserved, 966 MiB at its peak, no values`
fn sizes(dump: &DumpHit) -> String {
    let mut text = space::platform(dump.platforms).to_owned();
    if let Some(first) = dump.spaces.first() {
        let name = space::short(first.color, dump.platforms);
        let _ = write!(text, ", {name} {} reserved", rounded(first.reserved));
        if let Some(peak) = first.peak {
            let _ = write!(text, ", {} at its peak", rounded(peak));
        }
    }
    if !dump.missing.is_empty() {
        let _ = write!(text, ", no {}", dump.missing.join(", "));
    }
    text
}

pub fn folds(view: &View) -> Result<Vec<lsp::FoldingRange>, Unavailable> {
    let limit = view
        .capabilities
        .fold_limit
        .map_or(FOLDS, |limit| FOLDS.min(limit as usize));
    let fold = |fold: folding::Fold| lsp::FoldingRange {
        start_line: fold.start,
        end_line: fold.end,
        ..lsp::FoldingRange::default()
    };
    Ok(folding::folds(&view.document()?, limit)
        .into_iter()
        .map(fold)
        .collect())
}

/// One selection for every position, as the client counts on.
pub fn selections(
    view: &View,
    positions: &[lsp::Position],
) -> Result<Vec<lsp::SelectionRange>, Unavailable> {
    let document = view.document()?;
    let selection = |position: &lsp::Position| {
        let offset = document.offset(convert::line_column(*position), view.capabilities.encoding);
        let offset = offset.unwrap_or(document.len());
        let ranges = selection::selection(&document, offset);
        let outer = |parent: Option<lsp::SelectionRange>, range: &Range<u32>| {
            let range = view.range(&document, range);
            Some(lsp::SelectionRange {
                range,
                parent: parent.map(Box::new),
            })
        };
        ranges
            .iter()
            .rev()
            .fold(None, outer)
            .unwrap_or_else(|| lsp::SelectionRange {
                range: view.range(&document, &(offset..offset)),
                parent: None,
            })
    };
    Ok(positions.iter().map(selection).collect())
}

/// Links to the source files that exist, and to no other kind of thing.
pub fn links(view: &View) -> Result<Vec<lsp::DocumentLink>, Unavailable> {
    let Loaded { dump, file, .. } = view.loaded()?;
    let document = &dump.files[file].document;
    let target = |link: &Link| view.source(&dump, file, &link.path, link.line);
    let links = links::links(&dump, file, LINKS, target).into_iter();
    let links = links.map(|(link, target)| lsp::DocumentLink {
        range: view.range(document, &link.range),
        target: Some(target),
        tooltip: None,
        data: None,
    });
    Ok(links.collect())
}
