//! What the C library is told about memory, where it is glibc: the only code that Rust counts as unsafe.

pub use glibc::{give_back, in_steps, keep, share};

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "there is no safe way to tell glibc")]
mod glibc {
    /// So many bytes at a time.
    const STEP: libc::c_int = 1 << 20;
    /// Pieces of fewer bytes are kept ...
    const PIECE: libc::c_int = 4 << 20;
    /// ... up to so many that are free.
    const KEPT: libc::c_int = 16 << 20;

    /// Has all threads take memory from one place, so that one uses what another has freed. To be
    /// called before there are any.
    pub fn share() {
        // SAFETY: any thread may call it at any time; it is about threads that are yet to come. Small
        // pieces are kept for each thread still, so that threads seldom wait for each other.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }

    /// Keeps what is freed for what is taken next, rather than to give it back and take it again: right for a command,
    /// which reads files piece by piece and ends.
    pub fn keep() {
        // SAFETY: any thread may call it at any time; it is about what is yet to be taken.
        unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, PIECE) };
        // SAFETY: likewise, about what is yet to be freed.
        unsafe { libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT) };
    }

    /// Asks for memory in larger steps, each of which is a call of the system. Large pieces go back to it as soon as they
    /// are freed then, too: right for what lasts.
    pub fn in_steps() {
        // SAFETY: any thread may call it at any time; it is about what is yet to be asked for.
        unsafe { libc::mallopt(libc::M_TOP_PAD, STEP) };
    }

    /// Gives what is free back to the system.
    pub fn give_back() {
        // SAFETY: any thread may call it at any time; it touches only what is free.
        unsafe { libc::malloc_trim(0) };
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod glibc {
    pub fn share() {}

    pub fn keep() {}

    pub fn in_steps() {}

    pub fn give_back() {}
}
