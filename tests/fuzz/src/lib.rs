//! What has to hold for any input, a check in each file. Fuzz targets run them on what libFuzzer makes
//! up, `tests/fuzzing.rs` on the inputs that are kept.

pub mod arguments;
pub mod edits;
pub mod lossless;
pub mod requests;
pub mod shell;

/// Never part of a text: what stands between the parts of an input.
const SEPARATOR: u8 = 0xFF;

fn parts(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    data.split(|&byte| byte == SEPARATOR)
}

fn boundary(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
