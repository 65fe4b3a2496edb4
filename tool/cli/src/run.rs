//! `ondeck run`.

mod beside;
mod labels;
mod stats;

use crate::args::LaunchArgs;
use ondeck_kit::exit::Exit;
use ondeck_launch::{Launch, Recording, become_it};

/// Returns only if the program could not be started, or statistics are written beside it.
pub(crate) fn run(args: &LaunchArgs) -> Result<(), Exit> {
    match (&args.stats.file, args.stats.every) {
        (Some(path), every) => stats::run(args, path, every),
        (None, _) if !args.stats.labels.is_empty() => {
            let what =
                "--label needs a file to write; accepted: ondeck run --stats FILE.prom --label shop=berlin -- PROGRAM";
            Err(Exit::Usage(what.to_owned()))
        }
        (None, _) if args.stats.warn_after.is_some() => {
            let what = "--warn-after needs --stats; accepted: ondeck run --stats FILE.prom --warn-after 2s -- PROGRAM, or \
                ondeck profile --pid PID --warn-after 2s";
            Err(Exit::Usage(what.to_owned()))
        }
        (None, Some(_)) => {
            let what = "--every needs a file to write; accepted: ondeck run --stats FILE.prom --every 15s -- PROGRAM";
            Err(Exit::Usage(what.to_owned()))
        }
        (None, None) => {
            let refusal = become_it(&launch(args, None));
            Err(Exit::OfProgram(refusal.to_string(), refusal.exit_code()))
        }
    }
}

fn launch(args: &LaunchArgs, recording: Option<Recording>) -> Launch {
    Launch {
        command: args.command.clone(),
        lock: args.lock.clone(),
        library: args.library.path.clone(),
        recording,
        verbose: args.verbose,
        no_children: args.no_children,
    }
}
