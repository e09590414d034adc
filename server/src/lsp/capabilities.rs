//! What the client can do, resolved once, and what the server offers it.

use buflens_syntax::Encoding;
use tower_lsp::ls_types as lsp;

/// What the client can do. A client that says nothing can do nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)]
pub struct Capabilities {
    pub encoding: Encoding,
    pub markdown_hover: bool,
    pub definition_links: bool,
    pub declaration_links: bool,
    pub type_definition_links: bool,
    pub implementation_links: bool,
    pub nested_symbols: bool,
    pub fold_limit: Option<u32>,
    pub related_information: bool,
    pub code_description: bool,
    /// Diagnostics are pulled, and then not pushed as well.
    pub pulls_diagnostics: bool,
    pub related_documents: bool,
    pub refreshes_diagnostics: bool,
    pub refreshes_lenses: bool,
    pub refreshes_hints: bool,
    pub code_actions: bool,
    pub versioned_edits: bool,
    pub answers_configuration: bool,
    pub registers_configuration: bool,
    pub registers_watchers: bool,
    pub shows_progress: bool,
}

impl Capabilities {
    pub fn new(client: &lsp::ClientCapabilities) -> Self {
        let text = client.text_document.clone().unwrap_or_default();
        let workspace = client.workspace.clone().unwrap_or_default();
        let links = |goto: Option<lsp::GotoCapability>| {
            goto.and_then(|goto| goto.link_support).unwrap_or_default()
        };
        let diagnostic = text.diagnostic.as_ref();
        let publish = text.publish_diagnostics.as_ref();
        let either = |pull: Option<Option<bool>>, push: Option<Option<bool>>| {
            pull.flatten().or(push.flatten()).unwrap_or_default()
        };
        Self {
            encoding: encoding(client),
            markdown_hover: text
                .hover
                .and_then(|hover| hover.content_format)
                .is_some_and(|formats| formats.contains(&lsp::MarkupKind::Markdown)),
            definition_links: links(text.definition),
            declaration_links: links(text.declaration),
            type_definition_links: links(text.type_definition),
            implementation_links: links(text.implementation),
            nested_symbols: text
                .document_symbol
                .and_then(|symbol| symbol.hierarchical_document_symbol_support)
                .unwrap_or_default(),
            fold_limit: text.folding_range.and_then(|folding| folding.range_limit),
            related_information: either(
                diagnostic.map(|diagnostic| diagnostic.related_information),
                publish.map(|publish| publish.related_information),
            ),
            code_description: either(
                diagnostic.map(|diagnostic| diagnostic.code_description_support),
                publish.map(|publish| publish.code_description_support),
            ),
            pulls_diagnostics: diagnostic.is_some(),
            related_documents: diagnostic
                .and_then(|diagnostic| diagnostic.related_document_support)
                .unwrap_or_default(),
            refreshes_diagnostics: workspace
                .diagnostics
                .and_then(|diagnostics| diagnostics.refresh_support)
                .unwrap_or_default(),
            refreshes_lenses: workspace
                .code_lens
                .and_then(|lenses| lenses.refresh_support)
                .unwrap_or_default(),
            refreshes_hints: workspace
                .inlay_hint
                .and_then(|hints| hints.refresh_support)
                .unwrap_or_default(),
            code_actions: text
                .code_action
                .is_some_and(|action| action.code_action_literal_support.is_some()),
            versioned_edits: workspace
                .workspace_edit
                .and_then(|edit| edit.document_changes)
                .unwrap_or_default(),
            answers_configuration: workspace.configuration.unwrap_or_default(),
            registers_configuration: workspace
                .did_change_configuration
                .and_then(|configuration| configuration.dynamic_registration)
                .unwrap_or_default(),
            registers_watchers: workspace
                .did_change_watched_files
                .and_then(|watched| watched.dynamic_registration)
                .unwrap_or_default(),
            shows_progress: client
                .window
                .as_ref()
                .and_then(|window| window.work_done_progress)
                .unwrap_or_default(),
        }
    }
}

/// UTF-8 costs nothing to convert; UTF-16 is what a client means that says nothing.
fn encoding(client: &lsp::ClientCapabilities) -> Encoding {
    let offered = client
        .general
        .as_ref()
        .and_then(|general| general.position_encodings.as_deref())
        .unwrap_or_default();
    if offered.contains(&lsp::PositionEncodingKind::UTF8) {
        Encoding::Utf8
    } else if offered.contains(&lsp::PositionEncodingKind::UTF16) || offered.is_empty() {
        Encoding::Utf16
    } else if offered.contains(&lsp::PositionEncodingKind::UTF32) {
        Encoding::Utf32
    } else {
        Encoding::Utf16
    }
}

/// What the server offers to a client.
pub fn server(client: &Capabilities) -> lsp::ServerCapabilities {
    let encoding = match client.encoding {
        Encoding::Utf8 => lsp::PositionEncodingKind::UTF8,
        Encoding::Utf16 => lsp::PositionEncodingKind::UTF16,
        Encoding::Utf32 => lsp::PositionEncodingKind::UTF32,
    };
    let sync = lsp::TextDocumentSyncOptions {
        open_close: Some(true),
        change: Some(lsp::TextDocumentSyncKind::INCREMENTAL),
        ..lsp::TextDocumentSyncOptions::default()
    };
    let diagnostics = lsp::DiagnosticOptions {
        identifier: Some("buflens".to_owned()),
        inter_file_dependencies: true,
        ..lsp::DiagnosticOptions::default()
    };
    let actions = lsp::CodeActionOptions {
        code_action_kinds: Some(vec![lsp::CodeActionKind::QUICKFIX]),
        ..lsp::CodeActionOptions::default()
    };
    lsp::ServerCapabilities {
        position_encoding: Some(encoding),
        text_document_sync: Some(sync.into()),
        hover_provider: Some(true.into()),
        definition_provider: Some(lsp::OneOf::Left(true)),
        declaration_provider: Some(lsp::DeclarationCapability::Simple(true)),
        type_definition_provider: Some(true.into()),
        implementation_provider: Some(true.into()),
        references_provider: Some(lsp::OneOf::Left(true)),
        document_highlight_provider: Some(lsp::OneOf::Left(true)),
        document_symbol_provider: Some(lsp::OneOf::Left(true)),
        workspace_symbol_provider: Some(lsp::OneOf::Left(true)),
        folding_range_provider: Some(true.into()),
        selection_range_provider: Some(true.into()),
        semantic_tokens_provider: Some(
            lsp::SemanticTokensOptions {
                legend: super::tokens::legend(),
                range: Some(true),
                full: Some(lsp::SemanticTokensFullOptions::Bool(true)),
                ..lsp::SemanticTokensOptions::default()
            }
            .into(),
        ),
        completion_provider: Some(lsp::CompletionOptions {
            trigger_characters: Some(vec!["%".to_owned(), "=".to_owned()]),
            ..lsp::CompletionOptions::default()
        }),
        document_link_provider: Some(lsp::DocumentLinkOptions {
            resolve_provider: Some(false),
            work_done_progress_options: lsp::WorkDoneProgressOptions::default(),
        }),
        call_hierarchy_provider: Some(true.into()),
        code_lens_provider: Some(lsp::CodeLensOptions {
            resolve_provider: Some(false),
        }),
        inlay_hint_provider: Some(lsp::OneOf::Left(true)),
        execute_command_provider: Some(lsp::ExecuteCommandOptions {
            commands: super::commands::COMMANDS.map(str::to_owned).into(),
            work_done_progress_options: lsp::WorkDoneProgressOptions::default(),
        }),
        code_action_provider: client.code_actions.then(|| actions.into()),
        diagnostic_provider: client
            .pulls_diagnostics
            .then_some(lsp::DiagnosticServerCapabilities::Options(diagnostics)),
        workspace: Some(lsp::WorkspaceServerCapabilities {
            workspace_folders: Some(lsp::WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(lsp::OneOf::Left(true)),
            }),
            file_operations: None,
        }),
        ..lsp::ServerCapabilities::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(client: serde_json::Value) -> Capabilities {
        Capabilities::new(&serde_json::from_value(client).expect("capabilities"))
    }

    #[test]
    fn a_client_that_says_nothing_can_nothing() {
        let client = of(serde_json::json!({}));
        assert_eq!(client, Capabilities::default());
        let server = server(&client);
        assert_eq!(
            server.position_encoding,
            Some(lsp::PositionEncodingKind::UTF16)
        );
        assert_eq!(
            (server.diagnostic_provider, server.code_action_provider),
            (None, None)
        );
    }

    #[test]
    fn the_encoding_is_one_that_the_client_offers() {
        let encoding = |offered: &[&str]| {
            of(serde_json::json!({ "general": { "positionEncodings": offered } })).encoding
        };
        assert_eq!(encoding(&["utf-16", "utf-8"]), Encoding::Utf8);
        assert_eq!(encoding(&["utf-32", "utf-16"]), Encoding::Utf16);
        assert_eq!(encoding(&["utf-32"]), Encoding::Utf32);
        assert_eq!(encoding(&["utf-7"]), Encoding::Utf16);
        assert_eq!(encoding(&[]), Encoding::Utf16);
    }
}
