//! The server's log, on standard error.
//!
//! Whoever started the server may never read it. So a thread writes it, for which nobody waits, and
//! what comes while it waits itself is lost.

use std::io::{self, Write};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::Duration;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// So many lines wait.
const WAITING: usize = 1024;
/// At the end the last lines get so long to be written.
const GRACE: Duration = Duration::from_millis(200);

/// The log, until it is finished.
#[derive(Debug)]
pub struct Log {
    lines: Lines,
    written: Receiver<()>,
}

/// What takes lines. An empty one asks whether all before it have been written.
#[derive(Debug, Clone)]
struct Lines(SyncSender<Vec<u8>>);

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let _ = self.0.try_send(line.to_vec());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Begins to log what the environment's `BUFLENS_LOG` says, such as `info` or `buflens=debug`; `warn` if it says nothing.
pub fn begin() -> Log {
    let (sender, lines) = mpsc::sync_channel::<Vec<u8>>(WAITING);
    let (done, written) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        for line in lines {
            if line.is_empty() {
                let _ = done.try_send(());
            } else {
                let _ = io::stderr().write_all(&line);
            }
        }
    });
    let lines = Lines(sender);
    let asked = std::env::var("BUFLENS_LOG").unwrap_or_default();
    let asked = match asked.trim_matches([' ', ',']) {
        "" => "warn",
        asked => asked,
    };
    let warnings = || Targets::new().with_default(LevelFilter::WARN);
    let (filter, problem) = match asked.parse() {
        Ok(filter) => (filter, None),
        Err(problem) => (warnings(), Some(problem)),
    };
    let writer = lines.clone();
    let layer = fmt::layer()
        .with_writer(move || writer.clone())
        .with_ansi(false);
    // Fails only if the process logs already.
    let _ = tracing_subscriber::registry()
        .with(layer)
        .with(filter)
        .try_init();
    if let Some(problem) = problem {
        tracing::warn!("`BUFLENS_LOG` is no filter such as `info`: {problem}");
    }
    Log { lines, written }
}

impl Log {
    /// Waits for the last lines to be written, though not for long.
    pub fn finish(self) {
        let Lines(lines) = self.lines;
        if lines.try_send(Vec::new()).is_ok() {
            let _ = self.written.recv_timeout(GRACE);
        }
    }
}
