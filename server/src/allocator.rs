//! What the C library and the system are told about memory, where they are glibc and Linux: the only code that Rust counts as unsafe.

pub use glibc::{forget_code, give_back, in_steps, keep, share};

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

    /// Gives the pages of the program's code, and of its libraries', back to the system, which reads in again what is run again:
    /// much runs seldom.
    pub fn forget_code() {
        let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else {
            return;
        };
        for line in maps.lines() {
            // `55d0c0a000-55d0caf000 r-xp 000b2000 fe:00 1234      /usr/bin/buflens`
            let mut words = line.split_ascii_whitespace();
            let (Some(range), Some("r-xp")) = (words.next(), words.next()) else {
                continue;
            };
            let is_of_file = words.nth(3).is_some_and(|path| path.starts_with('/'));
            let range = range.split_once('-').filter(|_| is_of_file);
            let place = |text| usize::from_str_radix(text, 16).ok();
            if let Some((start, end)) = range.and_then(|(start, end)| place(start).zip(place(end)))
            {
                let start = std::ptr::with_exposed_provenance_mut(start);
                // SAFETY: it is code in a file, which nothing writes to: what is read in again is what was there.
                unsafe { libc::madvise(start, end - start.addr(), libc::MADV_DONTNEED) };
            }
        }
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

    pub fn forget_code() {}

    pub fn give_back() {}
}
