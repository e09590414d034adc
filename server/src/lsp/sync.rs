//! What the client tells about documents, files, folders and settings.
//!
//! All of it changes the state at once and leaves the work to a task of its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustc_hash::FxHashSet;
use tokio::task::JoinHandle;
use tower_lsp::ls_types as lsp;

use super::config::SECTION;
use super::publish::{self, Trigger};
use super::session::Session;
use super::{convert, indexing, memory};
use crate::workspace::{self, Change, SUFFIXES};

/// How long the index waits for a client to tell its settings.
const ANSWERED: Duration = Duration::from_secs(2);

pub fn opened(session: &Arc<Session>, params: lsp::DidOpenTextDocumentParams) {
    let lsp::TextDocumentItem {
        uri, version, text, ..
    } = params.text_document;
    let path = convert::path(&uri);
    let closed =
        session
            .state()
            .workspace
            .open(path.clone(), uri.as_str().to_owned(), version, text);
    if let Some(closed) = closed {
        memory::let_go(closed);
    }
    session.indexing.leave(&path);
    publish::schedule(session, path, Trigger::Edit);
}

pub fn changed(session: &Arc<Session>, params: lsp::DidChangeTextDocumentParams) {
    let path = convert::path(&params.text_document.uri);
    let changes = params.content_changes.into_iter().map(|change| Change {
        range: change
            .range
            .map(|range| convert::line_column(range.start)..convert::line_column(range.end)),
        text: change.text,
    });
    if session
        .state()
        .workspace
        .change(&path, params.text_document.version, changes.collect())
    {
        publish::schedule(session, path, Trigger::Edit);
    } else {
        tracing::warn!("a change of {}, which is not open", path.display());
    }
}

pub fn closed(session: &Arc<Session>, params: &lsp::DidCloseTextDocumentParams) {
    let path = convert::path(&params.text_document.uri);
    let closed = session.state().workspace.close(&path);
    if let Some(closed) = closed {
        memory::let_go(closed);
    }
    session.indexing.touch([path.clone()]);
    publish::schedule_closing(session, path);
}

/// Files are looked at whenever a dump is asked for, so this only has to start new checks, and to
/// have the index look again.
pub fn files_changed(session: &Arc<Session>, params: &lsp::DidChangeWatchedFilesParams) {
    let mut stems = FxHashSet::default();
    let paths = params.changes.iter().map(|it| convert::path(&it.uri));
    session.indexing.touch(paths.clone());
    for path in paths {
        if stems.insert(workspace::stem_or_path(&path)) {
            publish::schedule_related(session, &path);
        }
    }
}

pub fn folders_changed(session: &Arc<Session>, params: &lsp::DidChangeWorkspaceFoldersParams) {
    let of = |folders: &[lsp::WorkspaceFolder]| -> Vec<PathBuf> {
        folders
            .iter()
            .map(|folder| convert::path(&folder.uri))
            .collect()
    };
    let (added, removed) = (of(&params.event.added), of(&params.event.removed));
    let mut state = session.state();
    let kept = state
        .folders
        .iter()
        .filter(|folder| !removed.contains(folder))
        .cloned();
    state.folders = kept.chain(added).collect();
    drop(state);
    session.indexing.refresh();
}

pub fn configuration_changed(session: &Arc<Session>, params: &lsp::DidChangeConfigurationParams) {
    if session.capabilities().answers_configuration {
        ask_configuration(session);
    } else {
        session.configure(&params.settings);
    }
}

/// Asks the client for its settings and registers for news of them and of files. No request waits
/// for the answers, which may come late or never.
pub fn initialized(session: &Arc<Session>) {
    let problems = std::mem::take(&mut session.state().problems);
    if !problems.is_empty() {
        let session = Arc::clone(session);
        tokio::spawn(async move { session.warn_once(problems).await });
    }
    let answers = session.capabilities().answers_configuration;
    let asked = answers.then(|| ask_configuration(session));
    indexing::start(session);
    memory::start(session);
    let indexed = Arc::clone(session);
    tokio::spawn(async move {
        // The settings may be against it.
        if let Some(asked) = asked {
            let _ = tokio::time::timeout(ANSWERED, asked).await;
        }
        indexed.indexing.refresh();
    });
    let registrations = registrations(session);
    if !registrations.is_empty() {
        let client = session.client.clone();
        tokio::spawn(async move {
            if let Err(error) = client.register_capability(registrations).await {
                tracing::warn!("the client does not register what it said it could: {error}");
            }
        });
    }
}

/// Asks the client for its settings. An answer that comes when it has been asked again is out of date.
fn ask_configuration(session: &Arc<Session>) -> JoinHandle<()> {
    let session = Arc::clone(session);
    let number = session.asked.fetch_add(1, Ordering::SeqCst) + 1;
    tokio::spawn(async move {
        let item = lsp::ConfigurationItem {
            scope_uri: None,
            section: Some(SECTION.to_owned()),
        };
        match session.client.configuration(vec![item]).await {
            Ok(settings) if session.asked.load(Ordering::SeqCst) == number => {
                session.configure(&settings.into_iter().next().unwrap_or_default());
            }
            Ok(_) => {}
            Err(error) => tracing::warn!("the client does not tell its settings: {error}"),
        }
    })
}

fn registrations(session: &Session) -> Vec<lsp::Registration> {
    let capabilities = session.capabilities();
    let mut registrations = Vec::new();
    if capabilities.registers_configuration {
        registrations.push(lsp::Registration {
            id: "buflens-configuration".to_owned(),
            method: "workspace/didChangeConfiguration".to_owned(),
            register_options: Some(serde_json::json!({ "section": SECTION })),
        });
    }
    if capabilities.registers_watchers {
        // HLO texts have no suffix of their own, but a beginning.
        let globs = SUFFIXES.iter().map(|(suffix, _)| {
            if suffix.is_empty() {
                "**/*module_*.txt".to_owned()
            } else {
                format!("**/*{suffix}.txt")
            }
        });
        let watchers: Vec<_> = globs
            .map(|glob| serde_json::json!({ "globPattern": glob }))
            .collect();
        registrations.push(lsp::Registration {
            id: "buflens-files".to_owned(),
            method: "workspace/didChangeWatchedFiles".to_owned(),
            register_options: Some(serde_json::json!({ "watchers": watchers })),
        });
    }
    registrations
}
