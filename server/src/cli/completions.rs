//! `buflens completions`: what a shell completes its commands and options with.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

/// Write the script with which a shell completes the commands and options.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub fn run(&self, mut command: Command) -> io::Result<ExitCode> {
        let name = command.get_name().to_owned();
        // Written here: to a closed pipe it would panic there.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, name, &mut script);
        io::stdout().lock().write_all(&script)?;
        Ok(ExitCode::SUCCESS)
    }
}
