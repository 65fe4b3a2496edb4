//! The flags of `check`.

use crate::choice::{self, Locks, Threads, Workloads};
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Machine to simulate: a file of `ondeck calibrate --out` from this machine
    /// [default: measure this machine first]
    ///
    /// It must have as many CPUs as this machine lets you use. A calibration takes a few seconds, and comes out slightly
    /// different each time. Use a file to find out how much of the error comes from that.
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) machine: Option<String>,

    /// Take about a quarter of an hour: more workloads, more rounds and seeds, and longer measurements
    #[arg(long)]
    pub(crate) full: bool,

    /// Workloads to compare (see `ondeck list workloads`)
    /// [default: one thread alone, a hand-off, and sections of several lengths]
    ///
    /// Parameters are part of the name: sections/cs20-out60 has 20 units of work inside the lock and 60 outside.
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = choice::workload)]
    pub(crate) workload: Vec<Workloads>,

    /// Locks to compare, `all`, or `peers` for mutexes in common use [default: ondeck,peers]
    ///
    /// For mutexes that are not ours, such as std, the real mutex is measured and our port of it is simulated. So their
    /// errors contain the errors of the port.
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = choice::lock)]
    pub(crate) lock: Vec<Locks>,

    /// Numbers of threads, such as 1,2,8, or 1-4, or 2x for twice the CPUs [default: 1,2,1x,2x,4x]
    #[arg(long, value_name = "N,M", value_delimiter = ',', value_parser = choice::threads, allow_negative_numbers = true)]
    pub(crate) threads: Vec<Threads>,

    /// Length of each measurement in seconds [default: 0.08; 0.15 with --full]
    ///
    /// It does not change the simulation, where each workload has its own length.
    #[arg(long, value_name = "S", value_parser = choice::seconds, allow_negative_numbers = true)]
    pub(crate) seconds: Option<f64>,

    /// How often everything is measured [default: 5; 9 with --full]
    ///
    /// A figure is the median of the rounds. If they differ by more than the simulation is off, the figure is marked as
    /// noisy.
    #[arg(long, value_name = "N", value_parser = choice::rounds, allow_negative_numbers = true)]
    pub(crate) rounds: Option<u32>,

    /// Number of seeds that are simulated [default: 3; 5 with --full]
    #[arg(long, value_name = "K", value_parser = choice::rounds, allow_negative_numbers = true)]
    pub(crate) seeds: Option<u32>,

    /// File for all rows, measured and simulated, .csv or .json
    ///
    /// `ondeck report` and `ondeck compare` read it. If the run is interrupted, its rows are in FILE.partial.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Also write a page with both curves in each chart: one HTML file that works offline
    #[arg(long, value_name = "PAGE.html")]
    pub(crate) report: Option<PathBuf>,

    /// Write one JSON file to attach to a report: rows, verdict, calibration, and what kind of machine this is
    ///
    /// It has no host name, no user name, no path and no command line. docs/results-format.md says what it has. If
    /// you wrote the file of --machine by hand, read it first: its text is in the JSON file.
    #[arg(long, value_name = "FILE.json")]
    pub(crate) contribute: Option<PathBuf>,
}
