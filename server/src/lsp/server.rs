//! The methods of the protocol, each handed on to where it is answered.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::Serialize;
use tokio::sync::mpsc;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::ls_types as lsp;
use tower_lsp::ls_types::request::{
    GotoDeclarationParams, GotoDeclarationResponse, GotoImplementationParams,
    GotoImplementationResponse, GotoTypeDefinitionParams, GotoTypeDefinitionResponse,
};
use tower_lsp::{Client, LanguageServer};

use super::session::Session;
use super::transport::answer::{self, Written};
use super::view::View;
use super::{
    actions, annotations, calls, commands, completion, diagnostics, navigation, outline, sync,
    tokens, r#where,
};
use crate::ide::{self, navigation::Navigation};
use crate::model::{Dump, FileId};
use crate::workspace::Unavailable;

/// The server as the protocol sees it.
#[derive(Debug)]
pub struct Buflens(pub Arc<Session>);

impl Buflens {
    pub fn new(client: Client, notices: mpsc::Sender<Vec<u8>>) -> Self {
        Self(Session::new(client, notices))
    }

    /// `tower-lsp` has no method for this one.
    #[expect(clippy::unused_async, reason = "methods are asynchronous")]
    pub async fn cancel_progress(&self, params: lsp::WorkDoneProgressCancelParams) {
        self.0.indexing.cancel(&params.token);
    }

    /// Answers as [`Session::ask`] does. The answer becomes text where it is computed and is left for
    /// the client, so nothing is returned.
    async fn answer<T: Serialize, R>(
        &self,
        uri: &lsp::Uri,
        answer: impl FnOnce(&View) -> std::result::Result<T, Unavailable> + Send + 'static,
    ) -> Result<Option<R>> {
        let text = move |view: &View| answer(view).map(|it| Written::new(&it));
        if let Some(text) = self.0.ask(uri, text).await? {
            answer::leave(text)?;
        }
        Ok(None)
    }

    /// Answers what is asked about a place.
    async fn answer_at<T: Serialize, R>(
        &self,
        at: lsp::TextDocumentPositionParams,
        answer: impl FnOnce(&View, lsp::Position) -> std::result::Result<T, Unavailable>
        + Send
        + 'static,
    ) -> Result<Option<R>> {
        let position = at.position;
        self.answer(&at.text_document.uri, move |view| answer(view, position))
            .await
    }

    /// The four ways to go somewhere have the same parameters and answers.
    async fn goto(
        &self,
        params: lsp::GotoDefinitionParams,
        links: bool,
        lookup: fn(&Dump, FileId, u32) -> Option<Navigation>,
    ) -> Result<Option<lsp::GotoDefinitionResponse>> {
        let at = params.text_document_position_params;
        let answer = move |view: &_, position| navigation::goto(view, position, links, lookup);
        self.answer_at(at, answer).await
    }
}

impl LanguageServer for Buflens {
    async fn initialize(&self, params: lsp::InitializeParams) -> Result<lsp::InitializeResult> {
        Ok(self.0.initialize(&params))
    }

    async fn initialized(&self, _: lsp::InitializedParams) {
        sync::initialized(&self.0);
    }

    async fn shutdown(&self) -> Result<()> {
        self.0.is_shut_down.store(true, Ordering::SeqCst);
        Ok(())
    }

    // What opens and changes documents goes past the service (`transport`).

    async fn did_close(&self, params: lsp::DidCloseTextDocumentParams) {
        sync::closed(&self.0, &params);
    }

    async fn did_save(&self, _: lsp::DidSaveTextDocumentParams) {
        // What is open wins over what is on disk, so nothing has changed.
    }

    async fn did_change_configuration(&self, params: lsp::DidChangeConfigurationParams) {
        sync::configuration_changed(&self.0, &params);
    }

    async fn did_change_watched_files(&self, params: lsp::DidChangeWatchedFilesParams) {
        sync::files_changed(&self.0, &params);
    }

    async fn did_change_workspace_folders(&self, params: lsp::DidChangeWorkspaceFoldersParams) {
        sync::folders_changed(&self.0, &params);
    }

    async fn hover(&self, params: lsp::HoverParams) -> Result<Option<lsp::Hover>> {
        self.answer_at(params.text_document_position_params, navigation::hover)
            .await
    }

    async fn goto_definition(
        &self,
        params: lsp::GotoDefinitionParams,
    ) -> Result<Option<lsp::GotoDefinitionResponse>> {
        let links = self.0.capabilities().definition_links;
        self.goto(params, links, ide::navigation::definition).await
    }

    async fn goto_declaration(
        &self,
        params: GotoDeclarationParams,
    ) -> Result<Option<GotoDeclarationResponse>> {
        let links = self.0.capabilities().declaration_links;
        self.goto(params, links, ide::navigation::declaration).await
    }

    async fn goto_type_definition(
        &self,
        params: GotoTypeDefinitionParams,
    ) -> Result<Option<GotoTypeDefinitionResponse>> {
        let links = self.0.capabilities().type_definition_links;
        self.goto(params, links, ide::navigation::type_definition)
            .await
    }

    async fn goto_implementation(
        &self,
        params: GotoImplementationParams,
    ) -> Result<Option<GotoImplementationResponse>> {
        let links = self.0.capabilities().implementation_links;
        self.goto(params, links, ide::navigation::implementation)
            .await
    }

    async fn completion(
        &self,
        params: lsp::CompletionParams,
    ) -> Result<Option<lsp::CompletionResponse>> {
        self.answer_at(params.text_document_position, completion::completion)
            .await
    }

    async fn references(&self, params: lsp::ReferenceParams) -> Result<Option<Vec<lsp::Location>>> {
        let at = params.text_document_position;
        let declaration = params.context.include_declaration;
        let answer = move |view: &_, at| navigation::references(view, at, declaration);
        self.answer_at(at, answer).await
    }

    async fn document_highlight(
        &self,
        params: lsp::DocumentHighlightParams,
    ) -> Result<Option<Vec<lsp::DocumentHighlight>>> {
        let at = params.text_document_position_params;
        self.answer_at(at, navigation::highlights).await
    }

    async fn document_symbol(
        &self,
        params: lsp::DocumentSymbolParams,
    ) -> Result<Option<lsp::DocumentSymbolResponse>> {
        self.answer(&params.text_document.uri, outline::symbols)
            .await
    }

    async fn symbol(
        &self,
        params: lsp::WorkspaceSymbolParams,
    ) -> Result<Option<lsp::WorkspaceSymbolResponse>> {
        let views = self.0.views();
        let index = Arc::clone(&self.0.indexing.index);
        let work = move || Written::new(&outline::find(&views, &index, &params.query));
        answer::leave(self.0.pool.run(work).await?)?;
        Ok(None)
    }

    async fn folding_range(
        &self,
        params: lsp::FoldingRangeParams,
    ) -> Result<Option<Vec<lsp::FoldingRange>>> {
        self.answer(&params.text_document.uri, outline::folds).await
    }

    async fn selection_range(
        &self,
        params: lsp::SelectionRangeParams,
    ) -> Result<Option<Vec<lsp::SelectionRange>>> {
        let positions = params.positions;
        self.answer(&params.text_document.uri, move |view| {
            outline::selections(view, &positions)
        })
        .await
    }

    async fn semantic_tokens_full(
        &self,
        params: lsp::SemanticTokensParams,
    ) -> Result<Option<lsp::SemanticTokensResult>> {
        let answer = |view: &_| tokens::full(view).map(lsp::SemanticTokensResult::Tokens);
        self.answer(&params.text_document.uri, answer).await
    }

    async fn semantic_tokens_range(
        &self,
        params: lsp::SemanticTokensRangeParams,
    ) -> Result<Option<lsp::SemanticTokensRangeResult>> {
        let range = params.range;
        let answer =
            move |view: &_| tokens::range(view, range).map(lsp::SemanticTokensRangeResult::Tokens);
        self.answer(&params.text_document.uri, answer).await
    }

    async fn document_link(
        &self,
        params: lsp::DocumentLinkParams,
    ) -> Result<Option<Vec<lsp::DocumentLink>>> {
        self.answer(&params.text_document.uri, outline::links).await
    }

    async fn prepare_call_hierarchy(
        &self,
        params: lsp::CallHierarchyPrepareParams,
    ) -> Result<Option<Vec<lsp::CallHierarchyItem>>> {
        self.answer_at(params.text_document_position_params, calls::prepare)
            .await
    }

    async fn incoming_calls(
        &self,
        params: lsp::CallHierarchyIncomingCallsParams,
    ) -> Result<Option<Vec<lsp::CallHierarchyIncomingCall>>> {
        let item = params.item;
        self.answer(&item.uri.clone(), move |view| calls::incoming(view, &item))
            .await
    }

    async fn outgoing_calls(
        &self,
        params: lsp::CallHierarchyOutgoingCallsParams,
    ) -> Result<Option<Vec<lsp::CallHierarchyOutgoingCall>>> {
        let item = params.item;
        self.answer(&item.uri.clone(), move |view| calls::outgoing(view, &item))
            .await
    }

    async fn code_lens(&self, params: lsp::CodeLensParams) -> Result<Option<Vec<lsp::CodeLens>>> {
        self.answer(&params.text_document.uri, annotations::lenses)
            .await
    }

    async fn inlay_hint(
        &self,
        params: lsp::InlayHintParams,
    ) -> Result<Option<Vec<lsp::InlayHint>>> {
        let range = params.range;
        self.answer(&params.text_document.uri, move |view| {
            annotations::hints(view, range)
        })
        .await
    }

    async fn code_action(
        &self,
        params: lsp::CodeActionParams,
    ) -> Result<Option<lsp::CodeActionResponse>> {
        let lsp::CodeActionParams {
            text_document,
            range,
            context,
            ..
        } = params;
        self.answer(&text_document.uri, move |view| {
            actions::quick_fixes(view, range, &context)
        })
        .await
    }

    async fn execute_command(
        &self,
        params: lsp::ExecuteCommandParams,
    ) -> Result<Option<lsp::LSPAny>> {
        let text = if params.command == r#where::COMMAND {
            let question = r#where::read(params.arguments)?;
            let (session, views) = (Arc::clone(&self.0), self.0.views());
            let work = move || r#where::answer(&session, &views, &question);
            Some(self.0.pool.run(work).await?)
        } else {
            let question = commands::read(params)?;
            let uri = question.uri.clone();
            let other = question
                .other()
                .map(|uri| self.0.view(&super::convert::path(uri)));
            let work = move |view: &_| commands::answer(view, other.as_ref(), &question);
            self.0.ask(&uri, work).await?
        };
        if let Some(text) = text {
            answer::leave(Ok(text.map_err(Error::invalid_params)?))?;
        }
        Ok(None)
    }

    async fn diagnostic(
        &self,
        params: lsp::DocumentDiagnosticParams,
    ) -> Result<lsp::DocumentDiagnosticReportResult> {
        let previous = params.previous_result_id;
        let answer = move |view: &_| diagnostics::pull(view, previous.as_deref());
        let _: Option<()> = self.answer(&params.text_document.uri, answer).await?;
        // Of a document that is not known nothing is left, and there is nothing to report.
        let nothing = lsp::RelatedFullDocumentDiagnosticReport::default();
        Ok(lsp::DocumentDiagnosticReport::from(nothing).into())
    }
}
