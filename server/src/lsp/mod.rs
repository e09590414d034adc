//! The language server: the only place that knows the editor's protocol.
//!
//! Rules that hold here, each with a test that fails when it is broken (`tests/lsp_sentinels.rs`):
//! - a handler changes the state, or takes its snapshot, before its first await;
//! - no handler awaits the client: what asks it is spawned;
//! - everything that takes time runs elsewhere, most on the pool: tasks have one thread.

mod actions;
mod annotations;
mod calls;
mod capabilities;
mod commands;
mod completion;
mod config;
mod convert;
mod diagnostics;
mod indexing;
mod log;
mod memory;
mod navigation;
mod outline;
mod parent;
mod pool;
mod publish;
mod server;
mod session;
mod source_files;
mod sync;
mod tokens;
mod transport;
mod view;
mod r#where;

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tower_lsp::LspService;

use crate::allocator;

use server::Buflens;

/// After standard input has closed, answers get so long to be finished.
const GRACE: Duration = Duration::from_secs(2);

/// A thread that has nothing to do ends after so long, as it holds the stack that its deepest work has taken.
const IDLE: Duration = Duration::from_secs(1);

/// Serves an editor on standard input and output until it says `exit`, closes standard input or
/// dies.
pub fn run() -> ExitCode {
    let log = log::begin();
    allocator::in_steps();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .thread_keep_alive(IDLE)
        .build();
    let code = match runtime {
        Ok(runtime) => {
            let code = runtime.block_on(serve(io::stdin(), io::stdout()));
            // A thread still waits for standard input, which the client may never close.
            runtime.shutdown_background();
            code
        }
        Err(error) => {
            tracing::error!("the language server cannot start: {error}");
            ExitCode::FAILURE
        }
    };
    log.finish();
    code
}

/// Serves an editor at the other end of `input` and `output`, to be called on a runtime. For the
/// program itself and for tests.
#[doc(hidden)]
pub async fn serve(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> ExitCode {
    let (sender, notices) = mpsc::channel(1);
    let (service, socket) = LspService::build(|client| Buflens::new(client, sender))
        .custom_method("window/workDoneProgress/cancel", Buflens::cancel_progress)
        .finish();
    let session = Arc::clone(&service.inner().0);
    let closed = CancellationToken::new();
    let server = transport::serve(service, socket, notices, input, output, closed.clone());
    let graced = async {
        closed.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        () = server => {}
        () = graced => {}
        () = session.orphaned.cancelled() => tracing::warn!("the parent process is gone"),
    }
    if session.is_shut_down.load(Ordering::SeqCst) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
