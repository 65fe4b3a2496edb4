//! The flags of `compare`.

use clap::{Args, ValueEnum};
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
