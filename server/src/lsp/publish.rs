//! The pushing of diagnostics.
//!
//! Every text that the editor has opened or changed gets exactly one answer, when its check is
//! complete, unless it has changed again by then. Other files of the dump, open or not, get one
//! only if their diagnostics have changed.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use buflens_syntax::{Document, DocumentKind};
use rustc_hash::FxHashMap;
use tower_lsp::ls_types as lsp;

use super::annotations;
use super::diagnostics;
use super::memory;
use super::session::Session;
use super::view::View;
use crate::model::cancel::{checkpoint, lock};
use crate::workspace::{self, Edition, Loaded, Note, Unavailable};

/// What was published.
#[derive(Debug, Default)]
pub struct Publisher {
    /// By what the files of a dump have in common.
    turns: Mutex<FxHashMap<PathBuf, Weak<Turn>>>,
    published: Mutex<FxHashMap<PathBuf, Published>>,
}

/// Held through a check of a dump and the publishing of it, so that these come in order.
type Turn = tokio::sync::Mutex<()>;

#[derive(Debug)]
struct Published {
    uri: lsp::Uri,
    revision: Option<u64>,
    told: Told,
}

/// The hash of diagnostics that were told, unless there were none: enough to know whether others are the same, and
/// small, where they take a megabyte.
type Told = Option<u64>;

/// What makes a check necessary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// The document was opened or changed.
    Edit,
    /// Something else did: a sibling, the configuration.
    Elsewhere,
}

/// The diagnostics of one file.
struct Report {
    path: PathBuf,
    uri: lsp::Uri,
    edition: Option<Edition>,
    told: Told,
    /// The notification that tells them.
    notice: Vec<u8>,
}

/// Checks the dump of the open document at `path`, later.
pub fn schedule(session: &Arc<Session>, path: PathBuf, trigger: Trigger) {
    let session = Arc::clone(session);
    tokio::spawn(async move { check(&session, &path, trigger).await });
}

/// Checks again the open documents that belong to one dump with the file at `path`.
pub fn schedule_related(session: &Arc<Session>, path: &Path) {
    let open = session.state().open_siblings(path);
    schedule_again(session, open);
}

/// Checks all open documents again.
pub fn schedule_all(session: &Arc<Session>) {
    let open = session.state().workspace.paths().cloned().collect();
    schedule_again(session, open);
}

fn schedule_again(session: &Arc<Session>, paths: Vec<PathBuf>) {
    let capabilities = session.capabilities();
    if !paths.is_empty() {
        // They tell of the same files.
        annotations::refresh(session);
    }
    if !capabilities.pulls_diagnostics {
        for path in paths {
            schedule(session, path, Trigger::Elsewhere);
        }
    } else if capabilities.refreshes_diagnostics && !paths.is_empty() {
        let client = session.client.clone();
        // The client may answer whenever it likes; nothing waits for this task.
        tokio::spawn(async move { client.workspace_diagnostic_refresh().await });
    }
}

/// Takes back what was published for the sake of a document that has been closed.
pub fn schedule_closing(session: &Arc<Session>, path: PathBuf) {
    let session = Arc::clone(session);
    tokio::spawn(async move {
        let turn = session.publisher.turn(&path);
        let _turn = turn.lock().await;
        let open = session.state().open_siblings(&path);
        if open.contains(&path) {
            // It was opened again, and will be answered.
            return;
        }
        let closed = if open.is_empty() {
            let siblings: Vec<PathBuf> = workspace::siblings(&path)
                .into_iter()
                .map(|file| file.path)
                .collect();
            memory::let_go(session.checks().forget(&siblings));
            siblings
        } else {
            vec![path]
        };
        for path in closed {
            let published = session.publisher.published().remove(&path);
            if let Some(published) = published.filter(|published| published.told.is_some()) {
                session.tell(notice(&published.uri, NONE, None)).await;
            }
        }
        // The text on disk may differ from the one that was closed.
        schedule_again(&session, open);
        session.freed.notify_one();
    });
}

async fn check(session: &Arc<Session>, path: &Path, trigger: Trigger) {
    let turn = session.publisher.turn(path);
    let turn = turn.lock().await;
    let view = session.view(path);
    let pulls = view.capabilities.pulls_diagnostics;
    let Some(edition) = view.edition().cloned() else {
        return;
    };
    if trigger == Trigger::Edit && session.publisher.is_published(path, edition.revision) {
        return;
    }
    let uri = view.uri(path);
    // A client that pulls gets nothing, but its first request finds everything read.
    let work = move || {
        let loaded = view.loaded()?;
        let reports = if pulls {
            Vec::new()
        } else {
            reports(&view, &loaded)
        };
        let messages = loaded.notes.iter().map(Note::to_string).collect();
        // Not the dump, which the next edit replaces.
        let file = loaded.dump.files.get(loaded.file);
        let document = file.map(|file| file.document.clone());
        Ok((reports, messages, document))
    };
    let outcome = tokio::select! {
        biased;
        // Whoever changed the text has its check scheduled.
        () = edition.moved.cancelled() => return,
        outcome = session.checking.run(work) => outcome,
    };
    let (mut answered, mut gone) = (None, Vec::new());
    let (reports, messages): (Vec<Report>, Vec<String>) = match outcome {
        Ok(Ok((reports, messages, document))) => {
            answered = document;
            let closed = session.publisher.closed(path);
            if !closed.is_empty() {
                let session = Arc::clone(session);
                let work = move || session.publisher.take_gone(closed);
                // If it fails, the next check takes them back.
                gone = tokio::task::spawn_blocking(work).await.unwrap_or_default();
            }
            (reports, messages)
        }
        // The text is not known any more, so nothing can be said about it.
        Ok(Err(Unavailable::Broken(reason))) => {
            let report = |uri| Report::new(path.to_owned(), uri, Some(edition), &[]).ok();
            let message = format!(
                "{}: {reason}; open it again, or replace all of it",
                path.display()
            );
            (
                uri.filter(|_| !pulls)
                    .and_then(report)
                    .into_iter()
                    .collect(),
                vec![message],
            )
        }
        Ok(Err(Unavailable::Outdated)) => {
            // If it is a sibling that has changed, this text still waits for its answer.
            let now = session.view(path).edition().map(|now| now.revision);
            if now == Some(edition.revision) {
                schedule(session, path.to_owned(), trigger);
            }
            (Vec::new(), Vec::new())
        }
        Ok(Err(Unavailable::Absent)) | Err(_) => (Vec::new(), Vec::new()),
    };
    for uri in gone {
        session.tell(notice(&uri, NONE, None)).await;
    }
    for report in reports {
        for notice in session.publisher.admit(report) {
            session.tell(notice).await;
        }
    }
    drop(turn);
    session.warn_once(messages).await;
    if let Some(document) = answered {
        let work = move || make_long_trees(&document);
        // If it is not done, requests do it.
        let _ = session.checking.run(work).await;
    }
    session.freed.notify_one();
}

/// The JSON of no diagnostics.
const NONE: &str = "[]";

/// The body of `textDocument/publishDiagnostics` with these diagnostics, which are JSON.
fn notice(uri: &lsp::Uri, diagnostics: &str, version: Option<i32>) -> Vec<u8> {
    let uri = serde_json::Value::from(uri.as_str());
    let version = version.map_or_else(String::new, |it| format!(r#","version":{it}"#));
    format!(
        r#"{{"jsonrpc":"2.0","method":"textDocument/publishDiagnostics","params":{{"uri":{uri},"diagnostics":{diagnostics}{version}}}}}"#
    )
    .into_bytes()
}

/// Makes the trees that take longest, before a request has to.
fn make_long_trees(document: &Document) {
    for block in document.long_blocks() {
        checkpoint();
        document.tree(block);
    }
}

fn reports(view: &View, loaded: &Loaded) -> Vec<Report> {
    let checked = view.checks.of(&loaded.dump, &view.config.thresholds());
    let findings = checked.findings(&loaded.dump);
    let report = |(file, content): (usize, &crate::model::File)| {
        let path = content.path.clone();
        let edition = view.edition_of(&path).cloned();
        let diagnostics = diagnostics::of_file(view, &loaded.dump, findings, file);
        Report::new(path, view.uri(&content.path)?, edition, &diagnostics).ok()
    };
    // A failure has the dump of its program beside it, which answers for itself.
    let is_failure = loaded
        .dump
        .files
        .get(loaded.file)
        .is_some_and(|file| file.document.kind() == DocumentKind::OutOfMemory);
    let files = loaded.dump.files.iter().enumerate();
    let files = files.filter(|&(file, _)| !is_failure || file == loaded.file);
    files.filter_map(report).collect()
}

impl Report {
    /// Takes as long as the diagnostics are many.
    fn new(
        path: PathBuf,
        uri: lsp::Uri,
        edition: Option<Edition>,
        diagnostics: &[lsp::Diagnostic],
    ) -> serde_json::Result<Self> {
        let text = serde_json::to_string(diagnostics)?;
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let version = edition.as_ref().map(|edition| edition.version);
        Ok(Self {
            told: (text != NONE).then(|| hasher.finish()),
            notice: notice(&uri, &text, version),
            path,
            uri,
            edition,
        })
    }
}

impl Publisher {
    fn published(&self) -> std::sync::MutexGuard<'_, FxHashMap<PathBuf, Published>> {
        lock(&self.published)
    }

    /// The turn of the dump that the file at `path` belongs to.
    fn turn(&self, path: &Path) -> Arc<Turn> {
        let stem = workspace::stem_or_path(path);
        let mut turns = lock(&self.turns);
        if let Some(turn) = turns.get(&stem).and_then(Weak::upgrade) {
            return turn;
        }
        turns.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::default();
        turns.insert(stem, Arc::downgrade(&turn));
        turn
    }

    fn is_published(&self, path: &Path, revision: u64) -> bool {
        self.published()
            .get(path)
            .is_some_and(|published| published.revision == Some(revision))
    }

    /// The files of the dump with the file at `path` that something was published of, and that are
    /// not open.
    fn closed(&self, path: &Path) -> Vec<PathBuf> {
        let Some(stem) = workspace::stem(path) else {
            return Vec::new();
        };
        let published = self.published();
        let closed = published.iter().filter(|(path, published)| {
            published.revision.is_none() && workspace::stem(path).as_ref() == Some(&stem)
        });
        closed.map(|(path, _)| path.clone()).collect()
    }

    /// Those of `closed` that are not there any more.
    fn take_gone(&self, mut closed: Vec<PathBuf>) -> Vec<lsp::Uri> {
        // A file system may be slow, and nobody waits for it to publish.
        closed.retain(|path| !path.exists());
        let mut published = self.published();
        let gone = published
            .extract_if(|path, published| published.revision.is_none() && closed.contains(path));
        let told = gone.filter(|(_, published)| published.told.is_some());
        told.map(|(_, published)| published.uri).collect()
    }

    /// The notifications that have to be sent of a report, which is taken as sent from now on.
    fn admit(&self, report: Report) -> Vec<Vec<u8>> {
        let Report {
            path,
            uri,
            edition,
            told,
            notice: owed,
        } = report;
        let mut sent = Vec::new();
        if edition
            .as_ref()
            .is_some_and(|edition| edition.moved.is_cancelled())
        {
            return sent;
        }
        let revision = edition.map(|edition| edition.revision);
        let mut all = self.published();
        let before = all.remove(&path);
        let is_owed =
            revision.is_some() && before.as_ref().map(|before| before.revision) != Some(revision);
        let is_same = match &before {
            Some(before) => before.told == told && before.uri == uri,
            None => told.is_none(),
        };
        // The editor may have come to write the file's URI in another way.
        sent.extend(
            before
                .filter(|before| before.uri != uri && before.told.is_some())
                .map(|before| notice(&before.uri, NONE, None)),
        );
        if is_owed || !is_same {
            sent.push(owed);
        }
        let published = Published {
            uri,
            revision,
            told,
        };
        all.insert(path, published);
        sent
    }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    fn report_of(path: PathBuf, edition: Option<&Edition>, messages: &[&str]) -> Report {
        let diagnostic = |message: &&str| lsp::Diagnostic {
            message: (*message).to_owned(),
            ..Default::default()
        };
        let diagnostics: Vec<_> = messages.iter().map(diagnostic).collect();
        let uri = format!("file://{}", path.display());
        let uri = lsp::Uri::from_str(&uri).expect("a URI");
        Report::new(path, uri, edition.cloned(), &diagnostics).expect("JSON")
    }

    fn report(edition: Option<&Edition>, messages: &[&str]) -> Report {
        report_of(PathBuf::from("/d/x.txt"), edition, messages)
    }

    fn edition(revision: u64) -> Edition {
        Edition {
            version: 1,
            revision,
            moved: tokio_util::sync::CancellationToken::new(),
        }
    }

    #[test]
    fn an_open_text_is_answered_once_even_with_nothing() {
        let publisher = Publisher::default();
        let (first, second) = (edition(1), edition(2));
        assert_eq!(publisher.admit(report(Some(&first), &[])).len(), 1);
        assert_eq!(publisher.admit(report(Some(&first), &[])).len(), 0);
        assert!(publisher.is_published(Path::new("/d/x.txt"), 1));
        assert_eq!(publisher.admit(report(Some(&second), &[])).len(), 1);
        assert_eq!(
            publisher.admit(report(Some(&second), &["a"])).len(),
            1,
            "a sibling has changed"
        );
        let third = edition(3);
        third.moved.cancel();
        assert_eq!(
            publisher.admit(report(Some(&third), &["b"])).len(),
            0,
            "it has changed meanwhile"
        );
    }

    #[test]
    fn a_notice_is_what_the_protocol_says() {
        let notices = Publisher::default().admit(report(Some(&edition(1)), &["a \"b\""]));
        let [notice] = &*notices else {
            panic!("{notices:?}")
        };
        let notice: serde_json::Value = serde_json::from_slice(notice).expect("JSON");
        let start = serde_json::json!({ "line": 0, "character": 0 });
        let diagnostic = serde_json::json!({
            "range": { "start": start, "end": start }, "message": "a \"b\""
        });
        let params = serde_json::json!({
            "uri": "file:///d/x.txt", "version": 1, "diagnostics": [diagnostic]
        });
        assert_eq!(notice["method"], "textDocument/publishDiagnostics");
        assert_eq!(notice["params"], params);
        let nothing = super::notice(&report(None, &[]).uri, NONE, None);
        let nothing: serde_json::Value = serde_json::from_slice(&nothing).expect("JSON");
        let params = serde_json::json!({ "uri": "file:///d/x.txt", "diagnostics": [] });
        assert_eq!(nothing["params"], params);
    }

    #[test]
    fn a_file_that_is_not_open_is_told_of_only_when_it_changes() {
        let publisher = Publisher::default();
        assert_eq!(publisher.admit(report(None, &[])).len(), 0);
        assert_eq!(publisher.admit(report(None, &["a"])).len(), 1);
        assert_eq!(publisher.admit(report(None, &["a"])).len(), 0);
        assert_eq!(publisher.admit(report(None, &[])).len(), 1);
    }

    #[test]
    fn what_was_told_of_a_file_that_is_gone_is_taken_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let publisher = Publisher::default();
        let path = |name: &str| {
            let name = format!("m.after_optimizations-{name}.txt");
            folder.path().join(name)
        };
        let open = edition(1);
        let of = |name, edition| report_of(path(name), edition, &["a"]);
        for name in ["buffer-assignment", "live-range", "memory-usage-report"] {
            std::fs::write(path(name), "").expect("a file");
            publisher.admit(of(name, None));
        }
        publisher.admit(of("buffer-assignment-values", Some(&open)));
        publisher.admit(report(None, &["another dump"]));
        let take_gone = || publisher.take_gone(publisher.closed(&path("buffer-assignment")));
        assert!(take_gone().is_empty());
        std::fs::remove_file(path("live-range")).expect("a file");
        assert_eq!(take_gone(), [of("live-range", None).uri]);
        assert!(take_gone().is_empty());
    }
}
