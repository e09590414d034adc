//! What has to hold for any input, a check in each file. Fuzz targets run them on what libFuzzer makes
//! up, `tests/fuzzing.rs` on the inputs that are kept.

pub mod arguments;
pub mod edits;
pub mod lossless;
pub mod requests;
pub mod shell;

/// Never part of a text: what stands between the parts of an input.
const SEPARATOR: u8 = 0xFF;

/// Whether what takes long is to be done for this input: for one in `one_in`, chosen by its bytes, so that
/// an input that fails once fails always.
fn is_chosen(data: &[u8], one_in: u64) -> bool {
    hash(data).is_multiple_of(one_in)
}

/// FNV-1a: the same on all machines and with all compilers.
fn hash(data: &[u8]) -> u64 {
    data.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

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
