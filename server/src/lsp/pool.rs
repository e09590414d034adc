//! Where computing happens: never in a handler, or another task, since all of these share one thread.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tower_lsp::jsonrpc::Error;

use crate::model::cancel::{self, Token};

/// Runs work on threads of its own, so many pieces at a time as there are processors.
#[derive(Debug, Clone)]
pub struct Pool {
    permits: Arc<Semaphore>,
    processors: usize,
}

impl Pool {
    pub fn new() -> Self {
        // With a single one, a check would keep all requests waiting.
        let processors = std::thread::available_parallelism().map_or(2, |count| count.get().max(2));
        Self {
            permits: Arc::new(Semaphore::new(processors)),
            processors,
        }
    }

    /// Whether some work is done, or waits for its turn.
    pub fn is_busy(&self) -> bool {
        self.permits.available_permits() < self.processors
    }

    /// Runs `work` when it is its turn. If the future is dropped, `work` ends at its next checkpoint,
    /// or never begins. A panic is logged and is an internal error, and the server lives on.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let dropped = Token::default();
        let _guard = dropped.guard();
        let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await else {
            return Err(Error::internal_error());
        };
        let handle = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            cancel::run(&dropped, work)
        });
        match handle.await {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(Error::request_cancelled()),
            Err(error) => {
                tracing::error!("a request failed: {error}");
                Err(Error::internal_error())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use buflens_syntax::Document;

    use super::*;
    use crate::audit::{Audit, donation};
    use crate::checks;
    use crate::model::source::Libraries;
    use crate::model::{Dump, File};

    #[tokio::test]
    async fn a_panic_is_an_error_and_gives_its_permit_back() {
        let pool = Pool::new();
        for _ in 0..64 {
            let outcome: Result<(), Error> = pool.run(|| panic!("a test of panics")).await;
            assert_eq!(outcome, Err(Error::internal_error()));
        }
        let busy = pool.clone();
        assert_eq!(pool.run(move || busy.is_busy()).await, Ok(true));
        assert_eq!(pool.run(|| 7).await, Ok(7));
    }

    #[test]
    fn reading_and_checking_a_dump_pass_checkpoints() {
        let file = || File {
            path: "x-buffer-assignment.txt".into(),
            document: Document::new(include_str!("../checks/testdata/concat.txt")).expect("a text"),
            lossy: false,
        };
        let dump = Dump::new(vec![file()]);
        let works: [&dyn Fn(); 3] = [
            &|| drop(Dump::new(vec![file()])),
            &|| drop(checks::check(&dump)),
            &|| drop(donation::donation(&Audit::new(&dump, Libraries::default()))),
        ];
        for work in works {
            let token = Token::default();
            let outcome = cancel::run(&token, || {
                token.cancel();
                work();
            });
            assert_eq!(outcome, None);
        }
    }

    #[tokio::test]
    async fn work_that_nobody_waits_for_ends() {
        let pool = Pool::new();
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let work = pool.run(move || {
            let _ = begun.send(());
            loop {
                cancel::checkpoint();
            }
        });
        tokio::select! {
            _ = work => unreachable!("it has no end"),
            _ = has_begun => {}
        }
        while pool.is_busy() {
            tokio::task::yield_now().await;
        }
    }
}
