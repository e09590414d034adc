//! Where computing happens: never in a handler, since all handlers, reading and writing share one
//! task.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tower_lsp::jsonrpc::Error;

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

    /// Runs `work` when it is its turn. If the future is dropped before, `work` never begins. A
    /// panic is logged and is an internal error, and the server lives on.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let dropped = CancellationToken::new();
        let _guard = dropped.clone().drop_guard();
        let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await else {
            return Err(Error::internal_error());
        };
        let handle = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            // Between the permit and the thread the request may have been cancelled.
            (!dropped.is_cancelled()).then(work)
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
    use super::*;

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
}
