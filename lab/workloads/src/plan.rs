//! What is to be run, and what comes of it: the same for hardware and for a simulated machine.

pub use crate::failure::{Failure, Fault};

use crate::lock::LockSpec;
use crate::workload::WorkloadSpec;
use ondeck_report::row::Row;
use ondeck_sim::timeline::Timeline;

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The points, each run once per round.
    pub points: Vec<Point>,
    /// How often each point is run. A simulated round is a seed.
    pub rounds: u32,
    /// Length of each row's window; without one, 0.15 s of hardware, and of a simulated machine what
    /// [is enough](crate::simulate::MachinePlan::seconds_of). Warm-up and the timing of waits come on top: up to three
    /// quarters more.
    pub seconds: Option<f64>,
    /// Decides the order of the locks on hardware. On a simulated machine, the seed of the first round; each round has the
    /// next one.
    pub seed: u64,
    /// Where the threads run.
    pub pin: Pin,
    /// How many other processes compute meanwhile, on hardware.
    pub load: u32,
}

/// One lock in one workload at one number of threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The workload.
    pub workload: WorkloadSpec,
    /// The lock, or the policy of a workload that [compares waits](WorkloadSpec::compares_waits).
    pub lock: LockSpec,
    /// Number of threads.
    pub threads: u32,
}

#[cfg(test)]
impl Point {
    pub(crate) fn of(workload: &str, lock: &str, threads: u32) -> Point {
        Point { workload: WorkloadSpec::parse_name(workload).unwrap(), lock: lock.parse().unwrap(), threads }
    }

    pub(crate) fn all(points: &[(&str, &str, u32)]) -> Vec<Point> {
        points.iter().map(|(workload, lock, threads)| Point::of(workload, lock, *threads)).collect()
    }
}

/// Where the threads run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pin {
    /// Wherever the system puts them.
    #[default]
    None,
    /// Thread i on the i-th of the cores that the process may use, starting again after the last.
    Alternate,
}

/// What a run tells while it goes on.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A row is ready.
    Row {
        /// The row.
        row: &'a Row,
        /// How many are ready, with this one.
        done: usize,
        /// How many there will be.
        total: usize,
    },
    /// Something makes the figures worth less, or means something else than it seems.
    Warning(String),
}

/// What a plan has given.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The rows, in the order of the plan.
    pub rows: Vec<Row>,
    /// What happened in the first run, if that was simulated and to be recorded.
    pub timeline: Option<Timeline>,
}

/// A run that a failure has ended.
#[derive(Debug)]
pub struct PartialRun {
    /// What ended it.
    pub failure: Box<Failure>,
    /// The command that shows it again, where there is one.
    pub replay: Option<String>,
    /// The rows before it in the order of the plan.
    pub rows: Vec<Row>,
}

/// Longest window: an hour.
pub const MAX_SECONDS: f64 = 3600.0;

impl Plan {
    /// Refuses windows that are shorter than `least`, or too long.
    pub(crate) fn check_seconds(&self, least: f64) -> Result<(), Failure> {
        let fault = |seconds: &f64| !(least..=MAX_SECONDS).contains(seconds);
        self.seconds.filter(fault).map_or(Ok(()), |seconds| {
            Err(Failure::Plan(format!("{seconds} seconds are not possible; accepted: {least} to {MAX_SECONDS}")))
        })
    }
}

/// A plan that was refused.
impl From<Failure> for PartialRun {
    fn from(failure: Failure) -> Self {
        PartialRun { failure: Box::new(failure), replay: None, rows: Vec::new() }
    }
}
