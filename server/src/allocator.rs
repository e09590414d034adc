//! What the C library is told about memory, where it is glibc: the only code that Rust counts as unsafe.

pub use glibc::{give_back, in_steps, share};

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "there is no safe way to tell glibc")]
mod glibc {
    /// So many bytes at a time.
    const STEP: libc::c_int = 1 << 20;

    /// Has all threads take memory from one place, so that one uses what another has freed. To be
    /// called before there are any.
    pub fn share() {
        // SAFETY: any thread may call it at any time; it is about threads that are yet to come. Small
        // pieces are kept for each thread still, so that threads seldom wait for each other.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }

    /// Asks for memory in larger steps, each of which is a call of the system. It has large pieces go back to the system
    /// as soon as they are freed, too: right for what lasts, while a command that reads a file of a gigabyte piece by
    /// piece would take half as long again.
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

    pub fn in_steps() {}

    pub fn give_back() {}
}
