//! Sizes in bytes: of shapes, with and without padding, and as people read them.
