//! What the C library and the system are told about memory, where they are glibc and Linux: the only code that Rust counts as unsafe.

pub use glibc::{between_steps, give_back, in_steps, keep, share};

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "there is no safe way to tell glibc")]
mod glibc {
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Whether [`keep`] has been called.
    static IS_KEPT: AtomicBool = AtomicBool::new(false);
    /// So many bytes at a time.
    const STEP: libc::c_int = 1 << 20;
    /// Pieces of fewer bytes are kept ...
    const PIECE: libc::c_int = 2 << 20;
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
        IS_KEPT.store(true, Ordering::Relaxed);
    }

    /// To be called between two steps of work on a large dump: gives back the code of the one, since that of the next is
    /// other code. So does it with what is free where that is [kept](keep); else whoever is at work would wait for it, and it
    /// goes back when there is no work.
    pub fn between_steps() {
        if IS_KEPT.load(Ordering::Relaxed) {
            give_back();
        } else {
            forget_code();
        }
    }

    /// Asks for memory in larger steps, each of which is a call of the system. Large pieces go back to it as soon as they
    /// are freed then, too: right for what lasts.
    pub fn in_steps() {
        // SAFETY: any thread may call it at any time; it is about what is yet to be asked for.
        unsafe { libc::mallopt(libc::M_TOP_PAD, STEP) };
    }

    /// Gives what is free back to the system, and the pages of the program's code, and of its libraries': it reads in again what
    /// is run again, and much runs seldom.
    pub fn give_back() {
        // SAFETY: any thread may call it at any time; it touches only what is free.
        unsafe { libc::malloc_trim(0) };
        forget_code();
    }

    /// What anybody has written into stays.
    fn forget_code() {
        let Ok(maps) = std::fs::read_to_string("/proc/self/smaps") else {
            return;
        };
        let (mut code, mut written) = (None, true);
        for line in maps.lines() {
            let mut words = line.split_ascii_whitespace();
            match (words.next(), words.next()) {
                (Some("Anonymous:"), bytes) => written = bytes != Some("0"),
                (Some("Swap:"), Some("0")) if !written => {
                    if let Some((start, end)) = code.take() {
                        let start: *mut _ = std::ptr::with_exposed_provenance_mut(start);
                        // SAFETY: it is code in a file, and no page of it another than in the file: what is read in again is what
                        // was there. Other threads that run it wait for that.
                        unsafe { libc::madvise(start, end - start.addr(), libc::MADV_DONTNEED) };
                    }
                }
                // `55d0c0a000-55d0caf000 r-xp 000b2000 fe:00 1234      /usr/bin/buflens`
                (Some(range), Some(rights)) if range.contains('-') => {
                    let is_of_file = words.nth(3).is_some_and(|path| path.starts_with('/'));
                    let range = range.split_once('-');
                    let range = range.filter(|_| rights == "r-xp" && is_of_file);
                    let place = |text| usize::from_str_radix(text, 16).ok();
                    code = range.and_then(|(start, end)| place(start).zip(place(end)));
                    written = true;
                }
                _ => {}
            }
        }
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod glibc {
    pub fn share() {}

    pub fn keep() {}

    pub fn in_steps() {}

    pub fn give_back() {}

    pub fn between_steps() {}
}
