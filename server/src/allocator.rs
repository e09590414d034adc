//! What the C library and the system are told about memory, where they are glibc and Linux: the only code that Rust counts as unsafe.

pub use glibc::{between_steps, give_back, in_steps, keep, share};

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "there is no safe way to tell glibc")]
mod glibc {
    use std::fs::{self, File};
    use std::io;
    use std::os::unix::fs::FileExt;
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
        let Ok(maps) = fs::read_to_string("/proc/self/maps") else {
            return;
        };
        for (start, end) in maps.lines().filter_map(code) {
            if is_as_in_file(start, end).unwrap_or(false) {
                let code: *mut _ = std::ptr::with_exposed_provenance_mut(start);
                // SAFETY: it is code in a file, and no page of it another than in the file: what is read in again is what
                // was there. Other threads that run it wait for that.
                unsafe { libc::madvise(code, end - start, libc::MADV_DONTNEED) };
            }
        }
    }

    /// Where the code of a file begins and ends, if `line` is of such:
    /// `55d0c0a000-55d0caf000 r-xp 000b2000 fe:00 1234      /usr/bin/buflens`
    fn code(line: &str) -> Option<(usize, usize)> {
        let mut words = line.split_ascii_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let is_code = words.next()? == "r-xp" && words.nth(3)?.starts_with('/');
        let place = |text| usize::from_str_radix(text, 16).ok();
        place(start).zip(place(end)).filter(|_| is_code)
    }

    /// Whether no page between `start` and `end` is another than in the file that it is of.
    fn is_as_in_file(start: usize, end: usize) -> io::Result<bool> {
        // A number of 64 bits for each page: see pagemap.rst of the kernel.
        const PRESENT: u64 = 1 << 63;
        const SWAPPED: u64 = 1 << 62;
        const OF_FILE: u64 = 1 << 61;
        // SAFETY: any thread may call it at any time.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let page = usize::try_from(page).map_err(io::Error::other)?;
        let mut pages = vec![0; (end - start) / page * size_of::<u64>()];
        let first = start / page * size_of::<u64>();
        File::open("/proc/self/pagemap")?.read_exact_at(&mut pages, first as u64)?;
        let mut pages = pages
            .as_chunks()
            .0
            .iter()
            .map(|&page| u64::from_ne_bytes(page));
        Ok(pages.all(|page| page & (PRESENT | SWAPPED) == 0 || page & OF_FILE != 0))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_code_of_files_goes_and_is_read_in_again() {
            let maps = fs::read_to_string("/proc/self/maps").expect("Linux");
            let own = |&(start, end): &(usize, usize)| {
                let here = code as *const () as usize;
                (start..end).contains(&here)
            };
            let (start, end) = maps.lines().filter_map(code).find(own).expect("this code");
            assert!(is_as_in_file(start, end).expect("a map of pages"));
            forget_code();
            assert!(is_as_in_file(start, end).expect("a map of pages"));
            // What is written into is another page than in the file.
            let written = vec![1_u8; 1 << 17];
            let start = written.as_ptr().addr().next_multiple_of(1 << 16);
            assert!(!is_as_in_file(start, start + (1 << 16)).expect("a map of pages"));
            assert_eq!(
                code("7f00-8000 rw-p 00000000 fe:00 12   /usr/bin/buflens"),
                None
            );
            assert_eq!(code("7f00-8000 r-xp 00000000 00:00 0    [vdso]"), None);
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
