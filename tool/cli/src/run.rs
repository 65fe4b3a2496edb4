//! `ondeck run`.

use crate::args::LaunchArgs;
use crate::exit::Exit;
use ondeck_launch::{Launch, become_it};

/// Returns only if the program could not be started.
pub(crate) fn run(args: &LaunchArgs) -> Result<(), Exit> {
    let launch = Launch {
        command: args.command.clone(),
        lock: args.lock.clone(),
        library: args.library.clone(),
        recording: None,
        verbose: args.verbose,
        no_children: args.no_children,
    };
    let refusal = become_it(&launch);
    Err(Exit::OfProgram(refusal.to_string(), refusal.exit_code()))
}
