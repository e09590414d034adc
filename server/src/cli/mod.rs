//! The command line.

use std::process::ExitCode;

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("lsp") => crate::lsp::run(),
        _ => ExitCode::SUCCESS,
    }
}
