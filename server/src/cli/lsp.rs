//! `buflens lsp`: the language server.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use clap::Args;

use super::UNREADABLE;
use crate::lsp;

/// Run the language server on standard input and output, for editors.
#[derive(Debug, Args)]
pub struct Lsp {
    /// Standard input and output, which is the only way there is; many clients say so.
    #[arg(long)]
    stdio: bool,
}

const EXPLANATION: &str = "\
buflens lsp is a language server: it speaks the Language Server Protocol
on standard input and output, and is started by an editor, not by hand.
Tell your editor to run `buflens lsp` for `*-buffer-assignment.txt` and its
sibling files; `docs/lsp.md` and the README say how for some editors.
On the command line, try `buflens check PATH` instead.";

impl Lsp {
    pub fn run(&self) -> ExitCode {
        // There is no other way than this one to be asked for.
        let Self { stdio: _ } = self;
        if io::stdin().is_terminal() {
            let _ = writeln!(io::stderr(), "{EXPLANATION}");
            return ExitCode::from(UNREADABLE);
        }
        lsp::run()
    }
}
