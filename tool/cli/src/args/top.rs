//! The flags of `ondeck top`.

use super::recorder::RecorderArgs;
use clap::Args;
use std::ffi::OsString;

/// What makes sense only for a program that is started here.
const OF_PROGRAMS: [&str; 4] = ["lock", "order", "library", "command"];

#[derive(Debug, Args)]
pub(crate) struct TopArgs {
    /// Watch a process that runs already, or several
    ///
    /// It sees what `ondeck profile --pid` sees, and needs the same rights. If the process was started by `ondeck run`, or
    /// its locks are ondeck's with the feature `record`, its recorder is switched on until you quit. Any other process
    /// is watched from the kernel as root, and looked at from outside otherwise: every lock whose waiting threads sleep, in any
    /// language. The process runs on when you quit. Put spaces or commas between several numbers.
    ///
    /// Example: ondeck top --pid $(pidof server)
    #[arg(
        long,
        value_name = "PID",
        value_parser = clap::value_parser!(u32).range(1..),
        value_delimiter = ',',
        num_args = 1..,
        conflicts_with_all = OF_PROGRAMS
    )]
    pub(crate) pid: Vec<u32>,

    #[command(flatten)]
    pub(crate) recorder: RecorderArgs,

    /// The program to run, and its arguments
    ///
    /// Put -- before the program.
    #[arg(required_unless_present = "pid", trailing_var_arg = true, value_name = "PROGRAM")]
    pub(crate) command: Vec<OsString>,
}
