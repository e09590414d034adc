//! What the black-box tests share: the binary as a server and as a command, the dumps to run it on,
//! and a second reader of dumps that says what the right answers are.
//!
//! Nothing here uses the crates under test.

pub mod answers;
pub mod changes;
pub mod client;
pub mod command;
mod cut;
pub mod dumps;
pub mod extremes;
pub mod frames;
pub mod generate;
pub mod occupancy;
pub mod oracle;
mod reader;
pub mod requests;
pub mod schema;
pub mod shapes;

use std::path::{Path, PathBuf};

/// The root of the project.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()
        .expect("the project's folder")
}

/// A generator of numbers that are the same in every run (`SplitMix64`).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Up to `count` of `all`, without repetition.
    pub fn choose<T>(&mut self, mut all: Vec<T>, count: usize) -> Vec<T> {
        for at in 0..count.min(all.len()) {
            let other = at + self.below(all.len() - at);
            all.swap(at, other);
        }
        all.truncate(count);
        all
    }
}

/// `12345` as `12,345`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Fails with the first of `failures`, if there are any.
pub fn none_of(failures: &[String], what: &str) {
    let shown = &failures[..failures.len().min(40)];
    assert!(
        failures.is_empty(),
        "{} {what}, the first:\n{}",
        failures.len(),
        shown.join("\n")
    );
}
