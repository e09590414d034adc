//! Which files belong together, and open documents over files on disk.
