//! What the runs have shown.

use super::metric::MetricValues;
use super::output::Difference;
use ondeck_report::stats::Round;

/// Whose locks a run has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Glibc,
    Ondeck,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Glibc => "glibc",
            Kind::Ondeck => "ondeck",
        }
    }
}

/// The runs of a round.
pub(super) const RUNS: [Kind; 3] = [Kind::Glibc, Kind::Ondeck, Kind::Glibc];
/// Where a program writes, and what that is called.
pub(super) const STREAMS: [(&str, &str); 2] = [("out", "standard output"), ("err", "standard error")];

/// What one place of output says of the locks.
#[derive(Clone, Debug, Default)]
pub(super) struct OutputDifferences {
    /// The first difference between two runs with glibc's locks.
    pub(super) by_itself: Option<Difference>,
    /// The first difference between glibc's locks and ondeck's.
    pub(super) by_locks: Option<Difference>,
}

/// All that is told of.
#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) wall: Vec<Round>,
    pub(super) cpu: Vec<Round>,
    /// With `--metric`.
    pub(super) metric: Option<MetricValues>,
    pub(super) printed: [OutputDifferences; 2],
    /// A pattern for a number that the program prints, if one was seen.
    pub(super) pattern: Option<String>,
}
