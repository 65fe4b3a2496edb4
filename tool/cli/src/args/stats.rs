//! The flags of `ondeck run` for statistics.

use crate::choice;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// Write statistics of the program's locks into this file, again and again, for Prometheus
    ///
    /// The file is for the textfile collector of node_exporter, which reads files that end in .prom. It has lines for each
    /// lock that threads waited for: how many waits, how long, how many threads wait now. FILE.prom is replaced in one step,
    /// and written a last time when the program has ended.
    ///
    /// --lock is then ondeck or glibc. `ondeck` stays the program's parent, passes signals on, and ends with the program's exit
    /// code. docs/stats.md says what is counted and what is estimated.
    ///
    /// Example: ondeck run --stats /var/lib/node_exporter/locks.prom --lock glibc -- ./server
    #[arg(long = "stats", value_name = "FILE.prom")]
    pub(crate) file: Option<PathBuf>,

    /// With --stats: write the file at this interval, such as 500ms, 10s or 2m [default: 15s]
    #[arg(long, value_name = "TIME", value_parser = choice::duration)]
    pub(crate) every: Option<Duration>,
}
