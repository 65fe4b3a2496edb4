//! `ondeck completions` and `ondeck man`: what a shell and `man` know of the commands and flags.

use crate::args::Cli;
use clap::CommandFactory;
use ondeck_kit::exit::Exit;
use ondeck_kit::terminal::print;
use std::path::Path;

/// Prints the script that completes commands and flags.
pub(crate) fn completions(shell: clap_complete::Shell) -> Result<(), Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "ondeck", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// Writes a page for the program and one for each command.
pub(crate) fn man(directory: &Path) -> Result<(), Exit> {
    let fail = |error: std::io::Error| Exit::Usage(format!("{}: {error}", directory.display()));
    std::fs::create_dir_all(directory).map_err(fail)?;
    clap_mangen::generate_to(Cli::command(), directory).map_err(fail)
}
