//! The state of the server, and how a request is answered from it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use rustc_hash::FxHashSet;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;
use tower_lsp::Client;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::ls_types as lsp;

use super::capabilities::Capabilities;
use super::config::Config;
use super::diagnostics::Checks;
use super::indexing::Indexing;
use super::pool::Pool;
use super::publish::{self, Publisher};
use super::source_files::SourceFiles;
use super::view::View;
use super::{convert, parent};
use crate::model::cancel::lock;
use crate::workspace::{Unavailable, Workspace};

/// So many messages are remembered. A change that cannot be made makes a new one each time.
const MOST_TOLD: usize = 1000;

/// One run of the server.
#[derive(Debug)]
pub struct Session {
    pub client: Client,
    /// Takes the bodies of notifications to the client that are large. The client's own way makes a
    /// tree of values of them first.
    notices: mpsc::Sender<Vec<u8>>,
    /// For requests.
    pub pool: Pool,
    /// For checks that nobody has asked for, so that no request waits for them.
    pub checking: Pool,
    pub publisher: Publisher,
    pub indexing: Indexing,
    /// Told when something large may have been freed.
    pub freed: Notify,
    /// Trips when the process that started the server has ended.
    pub orphaned: CancellationToken,
    pub is_shut_down: AtomicBool,
    /// How often the client was asked for its settings.
    pub asked: AtomicU64,
    capabilities: OnceLock<Arc<Capabilities>>,
    checks: Arc<Checks>,
    source_files: Arc<SourceFiles>,
    state: Mutex<State>,
    told: Mutex<FxHashSet<String>>,
}

/// What changes while the server runs. Locked for moments only.
#[derive(Debug)]
pub struct State {
    pub workspace: Workspace,
    pub folders: Arc<[PathBuf]>,
    /// From `initializationOptions`.
    initial: Config,
    /// What was wrong there. Before `initialized` nothing may be said.
    pub problems: Vec<String>,
    config: Arc<Config>,
    generation: u64,
}

impl Session {
    /// To be called on the runtime.
    pub fn new(client: Client, notices: mpsc::Sender<Vec<u8>>) -> Arc<Self> {
        let runtime = tokio::runtime::Handle::current();
        Arc::new_cyclic(|session: &std::sync::Weak<Self>| {
            let session = session.clone();
            let workspace = Workspace::new(move |path| {
                let Some(session) = session.upgrade() else {
                    return;
                };
                let _guard = runtime.enter();
                publish::schedule_related(&session, path);
            });
            let state = State {
                workspace,
                folders: Arc::default(),
                initial: Config::default(),
                problems: Vec::new(),
                config: Arc::default(),
                generation: 0,
            };
            Self {
                client,
                notices,
                pool: Pool::new(),
                checking: Pool::new(),
                publisher: Publisher::default(),
                indexing: Indexing::default(),
                freed: Notify::new(),
                orphaned: CancellationToken::new(),
                is_shut_down: AtomicBool::new(false),
                asked: AtomicU64::new(0),
                capabilities: OnceLock::new(),
                checks: Arc::default(),
                source_files: Arc::default(),
                state: Mutex::new(state),
                told: Mutex::default(),
            }
        })
    }

    pub fn initialize(&self, params: &lsp::InitializeParams) -> lsp::InitializeResult {
        let capabilities = Capabilities::new(&params.capabilities);
        let (config, problems) = params
            .initialization_options
            .as_ref()
            .map(Config::read)
            .unwrap_or_default();
        {
            let mut state = self.state();
            state.workspace.set_encoding(capabilities.encoding);
            state.folders = folders(params);
            state.initial = config.clone();
            state.config = Arc::new(config);
            state.problems = problems;
        }
        if let Some(process) = params.process_id {
            parent::watch(process, self.orphaned.clone());
        }
        let answer = super::capabilities::server(&capabilities);
        // A second `initialize` does not get here.
        let _ = self.capabilities.set(Arc::new(capabilities));
        lsp::InitializeResult {
            capabilities: answer,
            server_info: Some(lsp::ServerInfo {
                name: "Buflens".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
            offset_encoding: None,
        }
    }

    /// Whether the client has greeted and not taken its leave.
    pub fn is_running(&self) -> bool {
        self.capabilities.get().is_some() && !self.is_shut_down.load(Ordering::SeqCst)
    }

    pub fn capabilities(&self) -> &Arc<Capabilities> {
        self.capabilities.get_or_init(Arc::default)
    }

    pub fn checks(&self) -> &Checks {
        &self.checks
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// What there is at this moment of the dump of the file at `path`.
    pub fn view(&self, path: &Path) -> View {
        let state = self.state();
        View {
            snapshot: state.workspace.snapshot(path),
            capabilities: Arc::clone(self.capabilities()),
            config: Arc::clone(&state.config),
            generation: state.generation,
            folders: Arc::clone(&state.folders),
            checks: Arc::clone(&self.checks),
            source_files: Arc::clone(&self.source_files),
        }
    }

    /// What there is of every open document.
    pub fn views(&self) -> Vec<View> {
        let mut paths: Vec<PathBuf> = self.state().workspace.paths().cloned().collect();
        // Answers do not depend on what was opened first.
        paths.sort_unstable();
        paths.iter().map(|path| self.view(path)).collect()
    }

    /// Whether something is computed, or waits for its turn.
    pub fn is_busy(&self) -> bool {
        self.pool.is_busy() || self.checking.is_busy()
    }

    /// Answers a request about the document at `uri` on the pool: `None` if there is nothing to
    /// say, an error if the document has changed since the request came.
    pub async fn ask<T: Send + 'static>(
        &self,
        uri: &lsp::Uri,
        answer: impl FnOnce(&View) -> std::result::Result<T, Unavailable> + Send + 'static,
    ) -> Result<Option<T>> {
        let view = self.view(&convert::path(uri));
        let moved = view
            .edition()
            .map(|edition| edition.moved.clone())
            .unwrap_or_default();
        let work = self.pool.run(move || answer(&view));
        let outcome = tokio::select! {
            biased;
            () = moved.cancelled() => return Err(Error::content_modified()),
            outcome = work => outcome?,
        };
        match outcome {
            Ok(answer) => Ok(Some(answer)),
            Err(Unavailable::Outdated) => Err(Error::content_modified()),
            Err(Unavailable::Absent | Unavailable::Broken(_)) => Ok(None),
        }
    }

    /// Takes over the settings of the editor, at once: those that come last count.
    pub fn configure(self: &Arc<Self>, settings: &serde_json::Value) {
        let (config, problems) = Config::read(settings);
        let (is_new, is_other_index) = {
            let mut state = self.state();
            let config = config.over(&state.initial);
            let is_new = *state.config != config;
            let of_index =
                |config: &Config| (config.index(), config.index_bytes(), config.libraries());
            let is_other_index = of_index(&state.config) != of_index(&config);
            if is_new {
                state.config = Arc::new(config);
                state.generation += 1;
            }
            (is_new, is_other_index)
        };
        if is_other_index {
            self.indexing.refresh();
        }
        if is_new {
            publish::schedule_all(self);
        }
        let session = Arc::clone(self);
        tokio::spawn(async move { session.warn_once(problems).await });
    }

    /// Sends the body of a notification to the client, once it has room for it.
    pub async fn tell(&self, notice: Vec<u8>) {
        // Fails only when the server ends.
        let _ = self.notices.send(notice).await;
    }

    /// Shows messages that have not been shown before.
    pub async fn warn_once(&self, messages: impl IntoIterator<Item = String> + Send) {
        let messages: Vec<String> = {
            let mut told = lock(&self.told);
            if told.len() >= MOST_TOLD {
                told.clear();
            }
            messages
                .into_iter()
                .filter(|message| told.insert(message.clone()))
                .collect()
        };
        for message in messages {
            tracing::warn!("{message}");
            self.client
                .log_message(lsp::MessageType::WARNING, message)
                .await;
        }
    }
}

impl State {
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// Whether no other open document could belong to one dump with the file at `path`.
    pub fn has_only_open(&self, path: &Path) -> bool {
        self.open_siblings(path).iter().all(|open| open == path)
    }

    /// The open documents that belong to one dump with the file at `path`.
    pub fn open_siblings(&self, path: &Path) -> Vec<PathBuf> {
        let siblings = crate::workspace::siblings(path)
            .into_iter()
            .map(|sibling| sibling.path);
        siblings
            .filter(|path| self.workspace.buffer(path).is_some())
            .collect()
    }
}

/// The folders that are open in the editor, against which relative paths are read. Older clients
/// know only one.
#[allow(deprecated)]
fn folders(params: &lsp::InitializeParams) -> Arc<[PathBuf]> {
    let folders = params
        .workspace_folders
        .iter()
        .flatten()
        .map(|folder| convert::path(&folder.uri));
    let folders: Vec<PathBuf> = folders.collect();
    if !folders.is_empty() {
        return folders.into();
    }
    let root = params
        .root_uri
        .as_ref()
        .map(convert::path)
        .or_else(|| params.root_path.as_ref().map(PathBuf::from));
    root.into_iter().collect()
}
