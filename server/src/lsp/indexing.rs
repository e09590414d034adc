//! Reading the dumps of the workspace's folders in the background, and again what changes on disk.
//!
//! One task does it, a piece at a time; a dump is begun only while no request is worked on. What is
//! open is left to the requests, and read when it is closed. What is opened while it is read is read no further, and
//! nothing is while a long message comes in: a large dump would be held twice.

use std::hash::BuildHasher;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use buflens_syntax::Encoding;
use rayon::prelude::*;
use rustc_hash::{FxBuildHasher, FxHashSet};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tower_lsp::ls_types as lsp;

use super::session::Session;
use crate::model::bytes::{grouped, rounded};
use crate::model::cancel::{self, Token, lock, on_few_threads};
use crate::model::source::Libraries;
use crate::workspace::{self, Found, Index, Record};

/// So many dumps are kept.
const MOST_DUMPS: usize = 10_000;
/// A dump of more bytes is not read for the index.
const LARGEST: u64 = 256 << 20;
/// So many files and folders are looked at.
const MOST_ENTRIES: usize = 1_000_000;
/// So many dumps are read at a time, if there are twice as many processors.
const MOST_READERS: usize = 4;
/// So much that cannot be read is named.
const MOST_PROBLEMS: usize = 20;
/// Compilers write several files of a dump one after the other.
const SETTLED: Duration = Duration::from_millis(200);
/// An editor that has just started opens its documents, whose dumps need not be read twice then.
const OPENED: Duration = Duration::from_secs(2);
/// How often a reader looks whether it is its turn, and how often progress is told.
const TURN: Duration = Duration::from_millis(2);
const TOLD: Duration = Duration::from_millis(100);

/// The index, and what has to be done for it.
#[derive(Debug, Default)]
pub struct Indexing {
    pub index: Arc<Index>,
    due: Mutex<Due>,
    woken: Notify,
    run: Mutex<Run>,
    reading: Mutex<Reading>,
}

/// Which dumps are being read, by their stems, and whether any may be.
#[derive(Debug, Default)]
struct Reading {
    dumps: Vec<(PathBuf, Token)>,
    /// So many long messages are coming in.
    held: usize,
}

/// While it is there no dump is read.
#[derive(Debug)]
pub struct Hold(Arc<Session>);

/// What has to be looked at.
#[derive(Debug, Default)]
struct Due {
    is_all: bool,
    paths: FxHashSet<PathBuf>,
}

/// The reading that is under way, or was last.
#[derive(Debug, Default)]
struct Run {
    number: i32,
    cancelled: CancellationToken,
}

/// How far a reading has come.
#[derive(Debug, Default)]
struct Progress {
    dumps: AtomicUsize,
    bytes: AtomicU64,
    all_dumps: AtomicUsize,
    all_bytes: AtomicU64,
    is_done: AtomicBool,
}

/// What is to be read, and what is not.
#[derive(Debug, Default)]
struct Plan {
    read: Vec<Found>,
    libraries: Libraries,
    problems: Vec<String>,
}

impl Indexing {
    /// Looks through all folders again, from the start. To be called when these or the settings
    /// have changed.
    pub fn refresh(&self) {
        lock(&self.run).cancelled.cancel();
        lock(&self.due).is_all = true;
        self.woken.notify_one();
    }

    /// Looks again at the dumps of these files, and at what was below folders of these names.
    pub fn touch(&self, paths: impl IntoIterator<Item = PathBuf>) {
        lock(&self.due).paths.extend(paths);
        self.woken.notify_one();
    }

    /// Reads the dump of `path` no further: it has been opened.
    pub fn leave(&self, path: &Path) {
        let stem = workspace::stem_or_path(path);
        lock(&self.reading).cancel(|it| it == stem);
    }

    /// Ends the reading that the client knows by this name, on the user's wish. What has been read
    /// stays.
    pub fn cancel(&self, token: &lsp::ProgressToken) {
        let run = lock(&self.run);
        if *token == name(run.number) {
            run.cancelled.cancel();
        }
    }
}

impl Reading {
    /// What is to be read now; its reading goes on until the token trips. `None` if nothing may be.
    fn begin(&mut self, stem: PathBuf) -> Option<Token> {
        let token = Token::default();
        let may_begin = self.held == 0;
        may_begin.then(|| self.dumps.push((stem, token.clone())))?;
        Some(token)
    }

    fn end(&mut self, stem: &Path) {
        self.dumps.retain(|(it, _)| it != stem);
    }

    /// Reads no further what `is_meant`.
    fn cancel(&self, is_meant: impl Fn(&Path) -> bool) {
        let meant = self.dumps.iter().filter(|(stem, _)| is_meant(stem));
        meant.for_each(|(_, token)| token.cancel());
    }

    /// Reads nothing for now. What is being read begins anew.
    fn hold(&mut self) {
        self.held += 1;
        self.cancel(|_| true);
    }
}

/// Reads nothing for the index while the hold is there.
pub fn hold(session: &Arc<Session>) -> Hold {
    lock(&session.indexing.reading).hold();
    Hold(Arc::clone(session))
}

impl Drop for Hold {
    fn drop(&mut self) {
        lock(&self.0.indexing.reading).held -= 1;
    }
}

/// Works off what is due.
pub fn start(session: &Arc<Session>) {
    let session = Arc::clone(session);
    tokio::spawn(async move {
        loop {
            let indexing = &session.indexing;
            indexing.woken.notified().await;
            let is_all = lock(&indexing.due).is_all;
            tokio::time::sleep(if is_all { OPENED } else { SETTLED }).await;
            let due = std::mem::take(&mut *lock(&indexing.due));
            if due.is_all || !due.paths.is_empty() {
                run(&session, due).await;
                session.freed.notify_one();
            }
        }
    });
}

async fn run(session: &Arc<Session>, due: Due) {
    let (number, cancelled) = {
        let mut run = lock(&session.indexing.run);
        run.number = run.number.wrapping_add(1);
        run.cancelled = CancellationToken::new();
        (run.number, run.cancelled.clone())
    };
    let progress = Arc::new(Progress::default());
    // A few files that change are nobody's business.
    let told = (due.is_all && session.capabilities().shows_progress).then(|| {
        let (session, progress) = (Arc::clone(session), Arc::clone(&progress));
        tokio::spawn(async move { tell(&session, &progress, number).await })
    });
    let work = {
        let (session, progress) = (Arc::clone(session), Arc::clone(&progress));
        move || {
            let plan = plan(&session, &due, &cancelled);
            read(&session, &plan, &progress, &cancelled);
            let mut problems = plan.problems;
            let more = problems.len().saturating_sub(MOST_PROBLEMS);
            problems.truncate(MOST_PROBLEMS);
            problems.extend((more > 0).then(|| {
                let more = grouped(more as u64);
                format!("of the files and folders {more} more cannot be read for the index")
            }));
            problems
        }
    };
    let outcome = tokio::task::spawn_blocking(work).await;
    progress.is_done.store(true, Ordering::Relaxed);
    match outcome {
        Ok(problems) => session.warn_once(problems).await,
        Err(error) => tracing::error!("the index is not complete: {error}"),
    }
    drop(told);
}

/// What has to be read, after what is gone has been forgotten.
fn plan(session: &Session, due: &Due, cancelled: &CancellationToken) -> Plan {
    let index = &session.indexing.index;
    let (folders, config) = {
        let state = session.state();
        (Arc::clone(&state.folders), Arc::clone(state.config()))
    };
    // A folder that is not on disk is nowhere.
    let folders: Vec<PathBuf> = folders
        .iter()
        .filter(|it| it.is_absolute())
        .cloned()
        .collect();
    if !config.index() || folders.is_empty() {
        index.retain(|_| false);
        return Plan::default();
    }
    let (mut found, mut problems) = if due.is_all {
        let entries = AtomicUsize::new(0);
        let is_within = || entries.fetch_add(1, Ordering::Relaxed) < MOST_ENTRIES;
        let goes_on = || !cancelled.is_cancelled() && is_within();
        let (found, mut problems) = workspace::find_while(&folders, &goes_on);
        if entries.into_inner() > MOST_ENTRIES {
            problems.push(format!(
                "the folders hold more than {} files, and dumps behind these are not in the index",
                grouped(MOST_ENTRIES as u64)
            ));
        } else if !cancelled.is_cancelled() {
            let stems: FxHashSet<PathBuf> = found.iter().map(Found::stem).collect();
            index.retain(|stem| stems.contains(stem));
        }
        (found, problems)
    } else {
        touched(index, &folders, &due.paths)
    };
    // What is kept of a dump depends on these as it does on its files.
    let libraries = config.libraries();
    let of_libraries = FxBuildHasher.hash_one(&libraries);
    for found in &mut found {
        found.stamp ^= of_libraries;
    }
    found.retain(|found| {
        found.is_compilation && !index.has(&found.stem(), found.stamp) && !is_open(session, found)
    });
    // What is read again takes the place of what was kept of it, and what finds none is not kept.
    let stems: FxHashSet<PathBuf> = found.iter().map(Found::stem).collect();
    let others = index.size_without(|stem| stems.contains(stem));
    problems.extend(within_bounds(&mut found, others, config.index_bytes()));
    let kept: FxHashSet<PathBuf> = found.iter().map(Found::stem).collect();
    if kept.len() < stems.len() {
        index.retain(|stem| kept.contains(stem) || !stems.contains(stem));
    }
    Plan {
        read: found,
        libraries,
        problems,
    }
}

/// The dumps of single files, those in `folders`.
fn touched(
    index: &Index,
    folders: &[PathBuf],
    paths: &FxHashSet<PathBuf>,
) -> (Vec<Found>, Vec<String>) {
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    let mut seen = FxHashSet::default();
    for path in paths {
        let stem = workspace::stem_or_path(path);
        let is_inside = folders.iter().any(|folder| path.starts_with(folder));
        if !is_inside || !seen.insert(stem.clone()) {
            continue;
        }
        let files = workspace::siblings(path).into_iter().map(|it| it.path);
        let files: Vec<PathBuf> = files
            .filter(|path| path.is_file() && workspace::is_part(path))
            .collect();
        if files.is_empty() {
            index.remove(path);
            index.remove(&stem);
            continue;
        }
        let (of_stem, unread) = workspace::find_while(&files, &|| true);
        if !of_stem.iter().any(|found| found.is_compilation) {
            index.remove(&stem);
        }
        found.extend(of_stem);
        problems.extend(unread);
    }
    (found, problems)
}

/// Takes out what is beyond the bounds, and says how much.
fn within_bounds(found: &mut Vec<Found>, size: (usize, u64), most_bytes: u64) -> Vec<String> {
    let (mut dumps, mut bytes) = size;
    let (mut left_out, mut bytes_left_out) = (0_u64, 0_u64);
    found.retain(|found| {
        let is_within = found.bytes <= LARGEST
            && dumps < MOST_DUMPS
            && bytes.saturating_add(found.bytes) <= most_bytes;
        if is_within {
            dumps += 1;
            bytes = bytes.saturating_add(found.bytes);
        } else {
            left_out += 1;
            bytes_left_out = bytes_left_out.saturating_add(found.bytes);
        }
        is_within
    });
    let message = format!(
        "left out of the index: {} of {} dumps, with {}; it holds {} dumps of at most {} each and {} \
         together (`buflens.indexBytes`), and others are read when they are opened",
        grouped(left_out),
        grouped(left_out + dumps as u64),
        rounded(bytes_left_out),
        grouped(MOST_DUMPS as u64),
        rounded(LARGEST),
        rounded(most_bytes)
    );
    (left_out > 0).then_some(message).into_iter().collect()
}

/// Reads dumps, some at a time, on threads of their own, so that no request waits for them.
fn read(session: &Session, plan: &Plan, progress: &Progress, cancelled: &CancellationToken) {
    let found = &plan.read;
    let bytes = found.iter().map(|found| found.bytes);
    progress.all_dumps.store(found.len(), Ordering::Relaxed);
    progress
        .all_bytes
        .store(bytes.fold(0, u64::saturating_add), Ordering::Relaxed);
    let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let readers = rayon::ThreadPoolBuilder::new()
        .num_threads((processors / 2).clamp(1, MOST_READERS))
        .thread_name(|_| "buflens-index".to_owned())
        .build();
    let readers = match readers {
        Ok(readers) => readers,
        Err(error) => {
            tracing::error!("no threads to read dumps for the index: {error}");
            return;
        }
    };
    let encoding = session.capabilities().encoding;
    readers.install(|| {
        found.par_iter().for_each(|found| {
            let indexing = &session.indexing;
            while is_turn(session, cancelled) {
                let stem = found.stem();
                let Some(token) = lock(&indexing.reading).begin(stem.clone()) else {
                    continue;
                };
                // It may have been opened while others were read. From here on that trips the token.
                let read = || {
                    if !is_open(session, found) {
                        on_few_threads(|| {
                            read_one(&indexing.index, found, encoding, &plan.libraries);
                        });
                    }
                };
                let done = cancel::run(&token, read);
                lock(&indexing.reading).end(&stem);
                if done.is_some() {
                    progress.dumps.fetch_add(1, Ordering::Relaxed);
                    progress.bytes.fetch_add(found.bytes, Ordering::Relaxed);
                    break;
                }
            }
        });
    });
}

/// Whether a document of the dump is open, which then knows more than the disk.
fn is_open(session: &Session, found: &Found) -> bool {
    let first = found.paths.first();
    first.is_some_and(|path| !session.state().open_siblings(path).is_empty())
}

/// Waits until nothing else is worked on. `false` if there is nothing to wait for any more.
fn is_turn(session: &Session, cancelled: &CancellationToken) -> bool {
    let is_held = || lock(&session.indexing.reading).held > 0;
    while !cancelled.is_cancelled() && (session.is_busy() || is_held()) {
        std::thread::sleep(TURN);
    }
    !cancelled.is_cancelled()
}

fn read_one(index: &Index, found: &Found, encoding: Encoding, libraries: &Libraries) {
    let mut records = Vec::new();
    for record in found.load(&|loaded| {
        for note in loaded.notes.iter() {
            tracing::info!("in the index without a file: {note}");
        }
        let record = Record::new(&loaded, encoding, libraries);
        for note in loaded.later_notes() {
            tracing::info!("in the index as it was, or less: {note}");
        }
        record
    }) {
        match record {
            Ok(record) => records.push(record),
            // It may be gone by now.
            Err(error) => tracing::info!("not in the index: {error}"),
        }
    }
    if !records.is_empty() {
        index.insert(found.stem(), found.stamp, found.bytes, records);
    }
}

/// What the client calls a reading.
fn name(number: i32) -> lsp::ProgressToken {
    lsp::ProgressToken::String(format!("buflens-index-{number}"))
}

/// Tells the client how far a reading has come until it is done. The client may never answer.
async fn tell(session: &Session, progress: &Progress, number: i32) {
    let client = &session.client;
    if let Err(error) = client.create_work_done_progress(name(number)).await {
        tracing::warn!("the client shows no progress: {error}");
        return;
    }
    let shown = client
        .progress(name(number), "Indexing dumps")
        .with_percentage(0)
        .with_cancel_button()
        .begin()
        .await;
    let mut before = 0;
    while !progress.is_done.load(Ordering::Relaxed) {
        let (done, percent) = progress.reached();
        if percent > before {
            shown.report_with_message(done, percent, None).await;
            before = percent;
        }
        tokio::time::sleep(TOLD).await;
    }
    shown.finish_with_message(progress.reached().0).await;
}

impl Progress {
    /// `12 of 1,149 dumps`, and the share of the bytes in percent.
    fn reached(&self) -> (String, u32) {
        let dumps = |of: &AtomicUsize| grouped(of.load(Ordering::Relaxed) as u64);
        let bytes = self.bytes.load(Ordering::Relaxed);
        let all = self.all_bytes.load(Ordering::Relaxed).max(1);
        let percent = u128::from(bytes) * 100 / u128::from(all);
        let text = format!("{} of {} dumps", dumps(&self.dumps), dumps(&self.all_dumps));
        (text, u32::try_from(percent).unwrap_or(100).min(100))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, bytes: u64) -> Found {
        Found {
            paths: vec![PathBuf::from("/d").join(name)],
            bytes,
            ..Found::default()
        }
    }

    #[test]
    fn what_is_beyond_the_bounds_is_counted() {
        let mut all = vec![
            found("a", 60),
            found("b", LARGEST + 1),
            found("c", 50),
            found("d", 30),
        ];
        let messages = within_bounds(&mut all, (2, 10), 100);
        assert_eq!(all, [found("a", 60), found("d", 30)]);
        assert_eq!(messages.len(), 1);
        assert!(
            messages[0].contains(": 2 of 6 dumps, with 256"),
            "{messages:?}"
        );
        let none = within_bounds(&mut all, (0, 0), 100);
        assert_eq!(none, Vec::<String>::new());
        within_bounds(&mut all, (MOST_DUMPS - 1, 0), u64::MAX);
        assert_eq!(all.len(), 1);
    }

    #[test]
    fn what_is_opened_and_what_is_held_is_read_no_further() {
        let mut reading = Reading::default();
        let stems = ["a", "b"].map(PathBuf::from);
        let tokens = stems.clone().map(|stem| reading.begin(stem));
        let [Some(a), Some(b)] = tokens else {
            panic!("nothing is held");
        };
        reading.cancel(|stem| stem == stems[0]);
        assert_eq!((a.is_cancelled(), b.is_cancelled()), (true, false));
        reading.end(&stems[0]);
        reading.hold();
        assert!(b.is_cancelled());
        assert!(reading.begin(stems[0].clone()).is_none());
        reading.held -= 1;
        let again = reading.begin(stems[0].clone());
        assert_eq!(again.map(|token| token.is_cancelled()), Some(false));
        assert_eq!(reading.dumps.len(), 2);
    }

    #[test]
    fn progress_is_that_of_the_bytes() {
        let progress = Progress::default();
        assert_eq!(progress.reached(), ("0 of 0 dumps".to_owned(), 0));
        progress.all_dumps.store(2000, Ordering::Relaxed);
        progress.all_bytes.store(3000, Ordering::Relaxed);
        progress.bytes.store(1000, Ordering::Relaxed);
        progress.dumps.store(1999, Ordering::Relaxed);
        assert_eq!(progress.reached(), ("1,999 of 2,000 dumps".to_owned(), 33));
    }

    #[test]
    fn what_is_no_part_of_a_dump_is_not_indexed_when_it_is_closed() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("a file");
            path
        };
        let notes = write("notes.txt", "nothing\n");
        let dump = write("mine.txt", "BufferAssignment:\n");
        let paths = FxHashSet::from_iter([notes, dump.clone()]);
        let (found, problems) = touched(&Index::default(), &[folder.path().to_owned()], &paths);
        assert_eq!((found.len(), problems), (1, Vec::new()));
        assert_eq!(found[0].paths, [dump]);
    }
}
