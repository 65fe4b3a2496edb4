//! The flags of `ondeck top`.

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// What makes sense only for a program that is started here.
const OF_PROGRAMS: [&str; 5] = ["output", "lock", "rate", "library", "command"];

#[derive(Debug, Args)]
pub(crate) struct TopArgs {
    /// Watch a process that runs already, from the kernel
    ///
    /// It sees what `ondeck profile --pid` sees, and needs the same rights: every lock whose waiting threads sleep, in any
    /// language. The process runs on when you quit.
    ///
    /// Example: sudo ondeck top --pid $(pidof server)
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all = OF_PROGRAMS)]
    pub(crate) pid: Option<u32>,

    /// File for the program's standard output and standard error [default: they are thrown away]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Locks that the program runs with: its own (glibc), or ondeck's (ondeck)
    #[arg(long, value_name = "NAME", default_value = "glibc")]
    pub(crate) lock: String,

    /// Measure one hold in N, and record every wait of N microseconds or more
    ///
    /// Shorter waits are recorded in proportion. A smaller N records more, and slows the program more.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rate: u32,

    /// Size in MB of the file into which each process writes its samples
    ///
    /// With --pid, the kernel has an eighth of this for the samples of each CPU.
    #[arg(long, value_name = "MB", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=16384))]
    pub(crate) max_mb: u32,

    /// Path of libondeck_pthread.so, if `ondeck` does not find it
    ///
    /// Without this flag, the library must be beside `ondeck` or in ../lib/ondeck. Its path must have no spaces and no
    /// colons.
    #[arg(long, value_name = "PATH")]
    pub(crate) library: Option<PathBuf>,

    /// The program to run, and its arguments
    ///
    /// Put -- before the program.
    #[arg(
        required_unless_present = "pid",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    pub(crate) command: Vec<OsString>,
}
