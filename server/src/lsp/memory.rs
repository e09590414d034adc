//! Memory that nothing uses goes back to the system when the server comes to rest.
//!
//! glibc keeps what is freed for the thread that took it, and what lies below anything still in use;
//! and from the first large table on that is freed, it treats those up to twice that size alike. Of
//! a dump of 41 MB, 175 MB stayed after it was closed, of which less than 1 MB was in use, and the
//! next dump took more on top. Other C libraries give it back themselves.

use std::sync::Arc;
use std::time::Duration;

use super::session::Session;

/// So long nothing is computed before memory is given back: to take it again costs milliseconds.
const REST: Duration = Duration::from_secs(1);

/// Gives memory back after each time that a lot may have been freed, once the server rests.
pub fn start(session: &Arc<Session>) {
    allocator::give_tables_back();
    let session = Arc::clone(session);
    tokio::spawn(async move {
        loop {
            session.freed.notified().await;
            // What is freed within that time begins it anew.
            while tokio::time::timeout(REST, session.freed.notified())
                .await
                .is_ok()
                || session.is_busy()
            {}
            let _ = tokio::task::spawn_blocking(allocator::give_back).await;
        }
    });
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "there is no safe way to tell glibc")]
mod allocator {
    /// From so many bytes on, what is allocated comes from the system and goes back when it is freed.
    /// It is what glibc begins with; said aloud, it stays.
    const TABLE: libc::c_int = 128 << 10;

    pub fn give_tables_back() {
        // SAFETY: any thread may call it at any time; it is about what is allocated from now on.
        unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, TABLE) };
    }

    pub fn give_back() {
        // SAFETY: any thread may call it at any time; it touches only what is free.
        unsafe { libc::malloc_trim(0) };
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod allocator {
    pub fn give_tables_back() {}

    pub fn give_back() {}
}
