//! The command line: one file per subcommand.

mod audit;
mod check;
mod completions;
mod config;
mod definition;
mod diff;
mod dumps;
mod export;
mod hover;
mod log;
mod ls;
mod lsp;
mod map;
mod one_dump;
mod oom;
mod output;
mod padding;
mod parse;
mod peak;
mod position;
mod report;
mod summary;
mod r#where;

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::allocator;
use crate::report::printable;
use crate::workspace;

/// The exit code for findings, or for nothing found where something was asked for.
const FINDINGS: u8 = 1;
/// The exit code for input that cannot be read; clap's for arguments that make no sense as well.
const UNREADABLE: u8 = 2;

/// Says where every tensor of a program compiled by XLA lies in memory: reads the compiler's
/// buffer-assignment dumps, explains and checks them.
#[derive(Debug, Parser)]
#[command(name = "buflens", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Ls(ls::Ls),
    Summary(summary::Summary),
    Peak(peak::Peak),
    Padding(padding::Padding),
    Audit(audit::Audit),
    Map(map::Map),
    Diff(diff::Diff),
    Export(export::Export),
    Report(report::Report),
    Oom(oom::Oom),
    Where(r#where::Where),
    Check(check::Check),
    Hover(hover::Hover),
    Definition(definition::Definition),
    Parse(parse::Parse),
    Lsp(lsp::Lsp),
    Completions(completions::Completions),
}

/// Runs the program with these arguments, the first of which is its name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    allocator::share();
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        // Help and the version are no error, and go to stdout.
        Err(answer) => {
            let _ = answer.print();
            return if answer.use_stderr() {
                ExitCode::from(UNREADABLE)
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    if !matches!(arguments.command, Command::Lsp(_)) {
        allocator::keep();
    }
    let result = match arguments.command {
        Command::Ls(ls) => ls.run(),
        Command::Summary(summary) => summary.run(),
        Command::Peak(peak) => peak.run(),
        Command::Padding(padding) => padding.run(),
        Command::Audit(audit) => audit.run(),
        Command::Map(map) => map.run(),
        Command::Diff(diff) => diff.run(),
        Command::Export(export) => export.run(),
        Command::Report(report) => report.run(),
        Command::Oom(oom) => oom.run(),
        Command::Where(lines) => lines.run(),
        Command::Check(check) => check.run(),
        Command::Hover(hover) => hover.run(),
        Command::Definition(definition) => definition.run(),
        Command::Parse(parse) => parse.run(),
        Command::Lsp(lsp) => Ok(lsp.run()),
        Command::Completions(completions) => completions.run(Arguments::command()),
    };
    match result {
        Ok(code) => code,
        // Who reads the output has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            complain(format_args!("the output cannot be written: {error}"));
            ExitCode::from(UNREADABLE)
        }
    }
}

/// Says on stderr what went wrong. Unlike `eprintln!`, a closed stderr is no reason to panic.
fn complain(message: impl Display) {
    let message = message.to_string();
    let _ = writeln!(io::stderr(), "buflens: {}", printable(&message));
}

/// Says that there is no dump at `paths`; gives what is said of that which would be one if it were text.
fn complain_of_none(paths: &[PathBuf]) -> Option<String> {
    complain("there is no dump at the given paths");
    let unread = workspace::unread(paths);
    if let Some(unread) = &unread {
        complain(unread);
    }
    unread
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }
}
