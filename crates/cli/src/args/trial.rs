//! The flags of `ondeck profile --try`.

use clap::Args;

/// What makes sense only where something is recorded.
const OF_RECORDINGS: [&str; 16] = [
    "lock",
    "rate",
    "max_mb",
    "output",
    "report",
    "flamegraph",
    "folded",
    "firefox",
    "format",
    "out",
    "every",
    "usdt",
    "no_prediction",
    "futex",
    "pid",
    "length",
];

#[derive(Debug, Args)]
pub(crate) struct TrialArgs {
    /// Measure whether your program is faster with ondeck's locks, instead of recording it
    ///
    /// It runs the program three times in each round: twice with glibc's locks, once with ondeck's. Then it compares
    /// run time, CPU time, standard output and exit code, and says whether the difference is larger than that between
    /// runs with glibc's locks. Use it for a program that does the same work in each run and then ends.
    ///
    /// The program's output is not shown. If standard input is a file, each run reads it from the same place.
    /// Otherwise the program's standard input is empty. Ctrl-C ends the program too. If the output or the exit code is
    /// another with ondeck's locks, the exit code of `ondeck` is 1.
    #[arg(long = "try", conflicts_with_all = OF_RECORDINGS)]
    pub(crate) is_wanted: bool,

    /// With --try: number of rounds; fewer than 3 are too few to tell
    #[arg(long, value_name = "N", requires = "is_wanted", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
}
