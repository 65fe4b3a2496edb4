//! The flags of `compare` and `report`, which read files.

use clap::{ArgGroup, Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Results before the change: a CSV or JSON file, or a profile in JSON
    ///
    /// Result files come from `ondeck bench --out` or `ondeck sim --out`. A profile comes from `ondeck profile --format
    /// json --out FILE`.
    pub(crate) old: PathBuf,
    /// Results after the change (a profile if OLD is one)
    pub(crate) new: PathBuf,

    /// Exit with code 1 if NEW is worse by more than 5 %, and by more than noise (for CI)
    ///
    /// The figures are throughput, time per operation, the 99th percentile of waits, and the CPUs in use. This flag is
    /// for result files. It does not accept profiles.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) fail_on: Option<FailOn>,
}

/// What makes `compare` fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// A figure is worse by more than 5 %, and by more than noise
    Regression,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("form").required(true).multiple(true))]
pub(crate) struct ReportArgs {
    /// Result files of `ondeck bench` or `ondeck sim`, traces, or one profile in JSON
    ///
    /// Several result files share the charts. For CSV, the machine, the command and the warnings come from
    /// FILE.fingerprint.json beside the file, if that file is about the same rows.
    ///
    /// A trace of `ondeck sim --trace` becomes a timeline: who holds the lock, who is awake and wants it, and who
    /// sleeps.
    ///
    /// A profile of `ondeck profile -o FILE.json` has a page of its own, with its locks, stacks and flame graphs. You
    /// cannot combine it with other files.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Page to write: one HTML file that works offline, or - for standard output
    #[arg(short, long, group = "form", value_name = "PAGE.html")]
    pub(crate) output: Option<PathBuf>,

    /// Directory for the charts as SVG files, created if it does not exist
    #[arg(long, group = "form", value_name = "DIR")]
    pub(crate) svg: Option<PathBuf>,

    /// Print the tables as Markdown, for an issue or a pull request
    #[arg(long, group = "form")]
    pub(crate) markdown: bool,
}
