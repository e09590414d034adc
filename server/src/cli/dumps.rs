//! How many dumps are read at a time.

use std::io;

use indicatif::ProgressBar;
use rayon::prelude::*;

use crate::model::cancel::on_few_threads;
use crate::workspace::{Found, LoadError, Loaded, Texts};

/// Dumps of so many bytes are held at a time; a larger one is held alone.
const BATCH_BYTES: u64 = 256 << 20;
/// So many dumps are held at a time, however small they are.
const BATCH: usize = 64;

/// Reads dumps in parallel, a batch at a time, and hands what `work` makes of each to `take`, in
/// the order of `found`. Memory is that of a batch, however many dumps there are.
pub fn for_each<T: Send>(
    found: &[Found],
    texts: Texts,
    work: impl Fn(Loaded) -> T + Sync,
    mut take: impl FnMut(Result<T, LoadError>) -> io::Result<()>,
) -> io::Result<()> {
    // Shown on stderr, if that is a terminal.
    let progress = if found.len() > BATCH {
        ProgressBar::new(found.len() as u64)
    } else {
        ProgressBar::hidden()
    };
    let mut rest = found;
    while !rest.is_empty() {
        let batch;
        (batch, rest) = rest.split_at(batch_length(rest));
        let loaded = batch
            .par_iter()
            .flat_map_iter(|found| found.load(texts, &work));
        // A dump that is alone would be read on this thread.
        let done: Vec<Result<T, LoadError>> = on_few_threads(|| loaded.collect());
        progress.suspend(|| done.into_iter().try_for_each(&mut take))?;
        progress.inc(batch.len() as u64);
    }
    progress.finish_and_clear();
    Ok(())
}

/// Gives the memory of a dump back aside. Nobody waits for that, least of all the end of the process.
pub fn drop_aside(loaded: Loaded) {
    rayon::spawn(move || drop(loaded));
}

/// How many of the dumps, of which there is at least one, are held at the same time.
fn batch_length(found: &[Found]) -> usize {
    let mut bytes = 0;
    let fitting = found.iter().take(BATCH).take_while(|found| {
        bytes += found.bytes;
        bytes <= BATCH_BYTES
    });
    fitting.count().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_bounded_in_number_and_bytes() {
        let dump = |bytes| Found {
            paths: vec!["x".into()],
            bytes,
            ..Found::default()
        };
        assert_eq!(batch_length(&vec![dump(1); 200]), BATCH);
        assert_eq!(batch_length(&[dump(BATCH_BYTES - 1), dump(1), dump(1)]), 2);
        assert_eq!(batch_length(&[dump(BATCH_BYTES + 1), dump(1)]), 1);
    }
}
