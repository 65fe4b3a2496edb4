//! The flags of `ondeck profile --try`.

use super::values;
use clap::Args;
use regex_lite::Regex;

/// What makes sense only where something is recorded.
const OF_RECORDINGS: [&str; 17] = [
    "lock",
    "rate",
    "exact",
    "order",
    "budget",
    "max_mb",
    "output",
    "report",
    "flamegraph",
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
    /// runs with glibc's locks. Use it for a program that does the same work in each run and then ends. For a program
    /// that runs for a fixed time, add --metric.
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

    /// With --try: compare a number that the program prints, such as its throughput; more is better
    ///
    /// Use it for a program that runs for a fixed time, as its run time shows nothing. REGEX is a regular expression in
    /// the syntax of Rust's crate `regex-lite`. It is matched with each line of standard output, and the last match of a run
    /// counts. If nothing there matches, standard error is searched. The number is what the first group in parentheses
    /// has matched, or else the first number in the match.
    ///
    /// Accepted are numbers above 0 such as 1234, 0.5, 1.2e6, and 1,234.5 with a comma before each three digits. A unit
    /// may follow, such as 12.3k or 80 ms, but it must be the same in all runs. Output that differs between the locks
    /// is reported, and is no failure.
    ///
    /// Example: ondeck profile --try --metric 'ops/s: ([0-9.,]+)' -- ./bench
    #[arg(long, value_name = "REGEX", requires = "is_wanted", conflicts_with = "metric_less",
          value_parser = values::pattern, allow_hyphen_values = true)]
    pub(crate) metric: Option<Regex>,

    /// With --try: the same as --metric, but less is better, as of a latency
    #[arg(long, value_name = "REGEX", requires = "is_wanted", value_parser = values::pattern, allow_hyphen_values = true)]
    pub(crate) metric_less: Option<Regex>,
}
