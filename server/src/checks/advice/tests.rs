//! Advice on small dumps that show what it is about, and on real ones.
