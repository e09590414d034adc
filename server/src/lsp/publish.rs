//! The pushing of diagnostics.
//!
//! Every text that the editor has opened or changed gets exactly one answer, when its check is
//! complete, unless it has changed again by then. Other files of the dump, open or not, get one
//! only if their diagnostics have changed: those that an edit has put into it, and those that it has taken out of it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use buflens_syntax::{Document, DocumentKind};
use rustc_hash::{FxHashMap, FxHashSet};
use tower_lsp::ls_types as lsp;

use super::annotations;
use super::diagnostics;
use super::memory;
use super::session::Session;
use super::view::View;
use crate::model::File;
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
    members: Members,
}

/// The files of a dump.
type Members = Arc<[PathBuf]>;

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
    /// The dump that tells them.
    members: Members,
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
    let Some(edition) = view.edition().cloned() else {
        return;
    };
    if trigger == Trigger::Edit && session.publisher.is_published(path, edition.revision) {
        return;
    }
    let answer = {
        let session = Arc::clone(session);
        move || Answer::new(&session, &view)
    };
    let outcome = tokio::select! {
        biased;
        // Whoever changed the text has its check scheduled.
        () = edition.moved.cancelled() => return,
        outcome = session.checking.run(answer) => outcome,
    };
    let answer = match outcome {
        Ok(Ok(answer)) => answer,
        Ok(Err(Unavailable::Outdated)) => {
            // If it is a sibling that has changed, this text still waits for its answer.
            let now = session.view(path).edition().map(|now| now.revision);
            if now == Some(edition.revision) {
                schedule(session, path.to_owned(), trigger);
            }
            Answer::default()
        }
        Ok(Err(Unavailable::Absent | Unavailable::Broken(_))) | Err(_) => Answer::default(),
    };
    let Answer {
        reports,
        members,
        messages,
        document,
    } = answer;
    let gone = if members.is_empty() {
        Vec::new()
    } else {
        session.publisher.take_back(path, &members)
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
    if trigger == Trigger::Edit && !session.state().has_only_open(path) {
        // What is told beside the lines of other files hangs on this one.
        annotations::refresh(session);
    }
    if let Some(document) = document {
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

/// What comes of a check.
#[derive(Default)]
struct Answer {
    reports: Vec<Report>,
    /// The files that belong to a dump of an open file; none where nothing came of it.
    members: FxHashSet<PathBuf>,
    messages: Vec<String>,
    /// The text that was checked. Not the dump, which the next edit replaces.
    document: Option<Document>,
}

impl Answer {
    fn new(session: &Session, view: &View) -> Result<Self, Unavailable> {
        let mut answer = Self::default();
        // A client that pulls gets nothing, but its first request finds everything read.
        let pulls = view.capabilities.pulls_diagnostics;
        let path = &view.snapshot.path;
        let is_broken = match view.loaded() {
            Ok(loaded) => {
                if !pulls {
                    answer.add(view, &loaded);
                }
                answer.messages = loaded.notes.iter().map(Note::to_string).collect();
                let file = loaded.dump.files.get(loaded.file);
                answer.document = file.map(|file| file.document.clone());
                false
            }
            // The text is not known any more, so nothing can be said about it.
            Err(Unavailable::Broken(reason)) => {
                answer.messages.push(format!(
                    "{}: {reason}; open it again, or replace all of it",
                    path.display()
                ));
                let (edition, uri) = (view.edition().cloned(), view.uri(path));
                let of_broken = |uri| Report::new(path.clone(), uri, edition, &[], Arc::default());
                let report = uri.filter(|_| !pulls).map(of_broken);
                answer.reports.extend(report.and_then(Result::ok));
                answer.members.insert(path.clone());
                true
            }
            Err(unavailable) => return Err(unavailable),
        };
        if pulls {
            return Ok(answer);
        }
        let open = session.state().open_siblings(path);
        for sibling in open {
            if sibling == *path || answer.members.contains(&sibling) {
                continue;
            }
            // It belongs to another dump. Where it has until now belonged to this one, nobody else answers for it.
            let view = session.view(&sibling);
            let Ok(members) = view.snapshot.members() else {
                continue;
            };
            let before = session.publisher.members_of(&sibling);
            let is_other = before.is_some_and(|before| is_broken || *before != members);
            if is_other && let Ok(loaded) = view.loaded() {
                answer.add(&view, &loaded);
            } else {
                answer.members.extend(members);
            }
        }
        Ok(answer)
    }

    /// Adds the files of a dump that are not there yet.
    fn add(&mut self, view: &View, loaded: &Loaded) {
        let dump = &loaded.dump;
        let checked = view.checks.of(dump, &view.config.thresholds());
        let findings = checked.findings(dump);
        let members: Members = dump.files.iter().map(|file| file.path.clone()).collect();
        // A failure has the dump of its program beside it, which answers for itself.
        let asked = dump.files.get(loaded.file);
        let is_failure =
            asked.is_some_and(|file| file.document.kind() == DocumentKind::OutOfMemory);
        let report = |(file, content): (usize, &File)| {
            let path = content.path.clone();
            let edition = view.edition_of(&path).cloned();
            let diagnostics = diagnostics::of_file(view, dump, findings, file);
            let uri = view.uri(&path)?;
            Report::new(path, uri, edition, &diagnostics, Arc::clone(&members)).ok()
        };
        let files = dump.files.iter().enumerate();
        let files = files.filter(|(file, content)| {
            (!is_failure || *file == loaded.file)
                && !self.members.contains(&content.path)
                && !view.is_broken(&content.path)
        });
        self.reports.extend(files.filter_map(report));
        self.members.extend(members.iter().cloned());
    }
}

impl Report {
    /// Takes as long as the diagnostics are many.
    fn new(
        path: PathBuf,
        uri: lsp::Uri,
        edition: Option<Edition>,
        diagnostics: &[lsp::Diagnostic],
        members: Members,
    ) -> serde_json::Result<Self> {
        let text = serde_json::to_string(diagnostics)?;
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let version = edition.as_ref().map(|edition| edition.version);
        Ok(Self {
            told: (text != NONE).then(|| hasher.finish()),
            notice: notice(&uri, &text, version),
            members,
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

    /// The dump that told what was published of a file.
    fn members_of(&self, path: &Path) -> Option<Members> {
        let published = self.published();
        Some(Arc::clone(&published.get(path)?.members))
    }

    /// Takes back what was published of files that are not open, and of no dump of an open file any more: of all that
    /// could belong to one with the file at `path`, `members` do. Gives the URIs of those that something was told of.
    fn take_back(&self, path: &Path, members: &FxHashSet<PathBuf>) -> Vec<lsp::Uri> {
        let Some(stem) = workspace::stem(path) else {
            return Vec::new();
        };
        let mut published = self.published();
        let gone = published.extract_if(|path, published| {
            published.revision.is_none()
                && !members.contains(path)
                && workspace::stem(path).as_ref() == Some(&stem)
        });
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
            members,
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
            members,
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
        Report::new(path, uri, edition.cloned(), &diagnostics, Arc::default()).expect("JSON")
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
    fn what_was_told_of_a_file_that_is_of_no_dump_any_more_is_taken_back() {
        let publisher = Publisher::default();
        let path = |name: &str| PathBuf::from(format!("/d/m.after_optimizations-{name}.txt"));
        let open = edition(1);
        let of = |name, edition| report_of(path(name), edition, &["a"]);
        let names = ["buffer-assignment", "live-range", "memory-usage-report"];
        for name in names {
            publisher.admit(of(name, None));
        }
        publisher.admit(of("buffer-assignment-values", Some(&open)));
        publisher.admit(report(None, &["another dump"]));
        let take_back = |members: &[&str]| {
            let members = members.iter().map(|name| path(name)).collect();
            publisher.take_back(&path("buffer-assignment"), &members)
        };
        assert!(take_back(&names).is_empty());
        let [first, gone, last] = names;
        assert_eq!(take_back(&[first, last]), [of(gone, None).uri]);
        assert!(take_back(&[first, last]).is_empty());
    }
}
