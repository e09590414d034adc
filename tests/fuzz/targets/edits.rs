#![no_main]

mod one_thread;

use std::sync::atomic::{AtomicU64, Ordering};

static EDITS: AtomicU64 = AtomicU64::new(0);
/// Each time that so many more edits have been tried, it is told.
const TOLD: u64 = 1_000_000;

libfuzzer_sys::fuzz_target!(init: one_thread::set_up(), |data: &[u8]| {
    let edits = buflens_fuzz::edits::check(data);
    let before = EDITS.fetch_add(edits, Ordering::Relaxed);
    if before / TOLD < (before + edits) / TOLD {
        eprintln!("{} edits gave what is read fresh", before + edits);
    }
});
