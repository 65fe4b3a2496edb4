//! The flags of `ondeck try`.

use super::LibraryArgs;
use crate::choice;
use clap::Args;
use regex_lite::Regex;
use std::ffi::OsString;

#[derive(Debug, Args)]
pub(crate) struct TryArgs {
    /// Number of rounds; fewer than 3 are too few to tell
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,

    /// Compare a number that the program prints, such as its throughput; more is better
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
    /// Example: ondeck try --metric 'ops/s: ([0-9.,]+)' -- ./bench
    #[arg(long, value_name = "REGEX", conflicts_with = "metric_less",
          value_parser = choice::pattern, allow_hyphen_values = true)]
    pub(crate) metric: Option<Regex>,

    /// The same as --metric, but less is better, as of a latency
    #[arg(long, value_name = "REGEX", value_parser = choice::pattern, allow_hyphen_values = true)]
    pub(crate) metric_less: Option<Regex>,

    #[command(flatten)]
    pub(crate) library: LibraryArgs,

    /// The program to run, and its arguments
    ///
    /// Put -- before the program.
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub(crate) command: Vec<OsString>,
}
