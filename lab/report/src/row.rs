//! One measurement: the unit of every result file, and the contract with its readers.
//!
//! A row is what one lock did in one workload at one thread count in one round. The order of [`Row`]'s fields is the
//! order of the CSV header; the JSON has the same names. Readers elsewhere depend on both, so a field is only ever
//! added at the end.

use ondeck_kit::histogram::Histogram;
use serde::{Deserialize, Serialize};

/// What stands beside numbers of threads with the mark of more than there are CPUs.
pub const QUEUES: &str = "more threads than simulated CPUs: the order in which a system runs them decides, and few such \
                          figures were ever compared with a real system";

/// What one lock did in one workload at one thread count in one round. A figure that the workload does not have is
/// `None`, and empty in the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What ran the locks: `hardware`, or `sim`.
    pub platform: String,
    /// Slug of the machine, see [`Fingerprint::machine`](crate::fingerprint::Fingerprint::machine).
    pub machine: String,
    /// Name of the workload with its parameters, as it tells it apart from its other settings.
    pub workload: String,
    /// Name of the lock, as the command line spells it.
    pub lock: String,
    /// Threads that want the lock.
    pub threads: u32,
    /// Which repetition, from 0. All locks at all points are measured once per round, so ratios belong within one.
    pub round: u32,
    /// Length of the measured window, without warm-up.
    pub seconds: f64,
    /// Operations of all threads in the window.
    pub ops: Option<u64>,
    /// Operations per second.
    pub ops_per_s: Option<f64>,
    /// Nanoseconds per operation: of wall time, or what the workload defines (a hand-off, say).
    pub ns_per_op: Option<f64>,
    /// CPU seconds used per second of the window.
    pub cpus: Option<f64>,
    /// Context switches, voluntary or not, per second.
    pub ctx_switches_per_s: Option<f64>,
    /// Jain's index of the operations per thread: 1 if all had the same, 1/threads if one had all.
    pub jain: Option<f64>,
    /// Operations of the thread that had fewest, as a part of an even share.
    pub min_share: Option<f64>,
    /// Median wait for the lock.
    pub wait_p50_ns: Option<f64>,
    /// Wait that 99 of 100 did not exceed.
    pub wait_p99_ns: Option<f64>,
    /// Wait that 999 of 1000 did not exceed.
    pub wait_p999_ns: Option<f64>,
    /// Longest wait.
    pub wait_max_ns: Option<f64>,
    /// Streaks of acquisitions by one thread: length in time that 9 of 10 did not exceed.
    pub streak_p90_ns: Option<f64>,
    /// Gaps between two acquisitions of one thread, as long as others acquired: what 9 of 10 did not exceed.
    pub starve_p90_ns: Option<f64>,
    /// Longest such gap.
    pub starve_max_ns: Option<f64>,
    /// Names of those of the columns above whose figures are lower bounds, with a space between two: the window was over
    /// before the wait was, or the wait had begun before the window.
    #[serde(default)]
    pub at_least: String,
    /// Of a simulated run: its seed. In JSON only.
    #[serde(skip_serializing)]
    pub seed: Option<u64>,
    /// Of a simulated run: hash of everything that happened in it, in hexadecimal. In JSON only.
    #[serde(skip_serializing)]
    pub trace_hash: Option<String>,
    /// All waits by their length in nanoseconds, of a workload that is about them. Not in the files.
    #[serde(skip)]
    pub waits: Option<Histogram>,
}

/// Names of the columns, in their order in the file.
pub const COLUMNS: [&str; 22] = [
    "platform",
    "machine",
    "workload",
    "lock",
    "threads",
    "round",
    "seconds",
    "ops",
    "ops_per_s",
    "ns_per_op",
    "cpus",
    "ctx_switches_per_s",
    "jain",
    "min_share",
    "wait_p50_ns",
    "wait_p99_ns",
    "wait_p999_ns",
    "wait_max_ns",
    "streak_p90_ns",
    "starve_p90_ns",
    "starve_max_ns",
    "at_least",
];

impl Row {
    /// Whether the figure is a lower bound.
    pub fn is_at_least(&self, metric: Metric) -> bool {
        self.at_least.split(' ').any(|name| name == metric.name)
    }

    /// Says of the figure that it is a lower bound.
    pub fn set_at_least(&mut self, metric: Metric) {
        if !self.at_least.is_empty() {
            self.at_least.push(' ');
        }
        self.at_least += metric.name;
    }
}

/// Whether no hardware has run this.
pub(crate) fn is_simulated(row: &Row) -> bool {
    row.platform == "sim"
}

/// The machine of a row, said to be simulated if it is.
pub(crate) fn machine(row: &Row) -> String {
    if is_simulated(row) { simulated(&row.machine) } else { row.machine.clone() }
}

/// A machine that is simulated.
pub(crate) fn simulated(machine: &str) -> String {
    format!("simulated {machine}")
}

/// Names of what a simulated row has beyond the columns, in JSON.
pub const RUN_FIELDS: [&str; 2] = ["seed", "trace_hash"];

/// A figure of a row that results are compared by.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Name of the column.
    pub name: &'static str,
    /// Reads it from a row.
    pub of: fn(&Row) -> Option<f64>,
    /// Whether more of it is better.
    pub more_is_better: bool,
}

/// Operations per second.
pub const OPS_PER_S: Metric = Metric { name: "ops_per_s", of: |row| row.ops_per_s, more_is_better: true };
/// Nanoseconds per operation.
pub const NS_PER_OP: Metric = Metric { name: "ns_per_op", of: |row| row.ns_per_op, more_is_better: false };
/// CPU seconds used per second.
pub const CPUS: Metric = Metric { name: "cpus", of: |row| row.cpus, more_is_better: false };
/// Context switches per second.
pub const CTX_SWITCHES_PER_S: Metric =
    Metric { name: "ctx_switches_per_s", of: |row| row.ctx_switches_per_s, more_is_better: false };
/// Jain's index of the operations per thread.
pub const JAIN: Metric = Metric { name: "jain", of: |row| row.jain, more_is_better: true };
/// Operations of the thread that had fewest, as a part of an even share.
pub const MIN_SHARE: Metric = Metric { name: "min_share", of: |row| row.min_share, more_is_better: true };
/// Median wait.
pub const WAIT_P50_NS: Metric = Metric { name: "wait_p50_ns", of: |row| row.wait_p50_ns, more_is_better: false };
/// Wait that 999 of 1000 did not exceed.
pub const WAIT_P999_NS: Metric = Metric { name: "wait_p999_ns", of: |row| row.wait_p999_ns, more_is_better: false };
/// Streak that 9 of 10 did not exceed.
pub const STREAK_P90_NS: Metric = Metric { name: "streak_p90_ns", of: |row| row.streak_p90_ns, more_is_better: false };
/// Starve gap that 9 of 10 did not exceed.
pub const STARVE_P90_NS: Metric = Metric { name: "starve_p90_ns", of: |row| row.starve_p90_ns, more_is_better: false };
/// Longest starve gap.
pub const STARVE_MAX_NS: Metric = Metric { name: "starve_max_ns", of: |row| row.starve_max_ns, more_is_better: false };
/// Wait that 99 of 100 did not exceed.
pub const WAIT_P99_NS: Metric = Metric { name: "wait_p99_ns", of: |row| row.wait_p99_ns, more_is_better: false };
/// Longest wait.
pub const WAIT_MAX_NS: Metric = Metric { name: "wait_max_ns", of: |row| row.wait_max_ns, more_is_better: false };

/// What the figure of [`main_metric`] is shown in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// As it stands beside a figure.
    pub name: &'static str,
    /// In words.
    pub meaning: &'static str,
    /// The metric's own units in one of this.
    pub size: f64,
}

/// The unit in which a workload's main figure is shown; that of its original where there is one.
pub fn main_unit(workload: &str) -> Unit {
    if workload.starts_with("gc-wait") {
        return Unit { name: "ns", meaning: "nanoseconds that 99 of 100 waits did not exceed", size: 1.0 };
    }
    if workload.starts_with("pool") {
        return Unit {
            name: "us",
            meaning: "microseconds that 99 of 100 dispatches or bursts did not exceed",
            size: 1e3,
        };
    }
    if workload.starts_with("aim7") {
        return Unit { name: "/min", meaning: "tests a minute", size: 1.0 / 60.0 };
    }
    if !main_metric(workload).more_is_better {
        return Unit { name: "ns", meaning: "nanoseconds of one operation", size: 1.0 };
    }
    if workload.starts_with("monitor-") {
        return Unit { name: "/ms", meaning: "operations a millisecond", size: 1e3 };
    }
    Unit { name: "M/s", meaning: "million operations a second", size: 1e6 }
}

/// The figure that a workload is about: a time where one operation at a time is what matters, the tail where waits are,
/// else the throughput.
pub fn main_metric(workload: &str) -> Metric {
    let is = |name: &str| workload.starts_with(name);
    match () {
        _ if is("gc-wait") || is("pool") => WAIT_P99_NS,
        _ if is("solo") || is("handoff-") || is("monitor-try-enter") => NS_PER_OP,
        _ => OPS_PER_S,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header is a published contract; this is its text.
    const HEADER: &str = "platform,machine,workload,lock,threads,round,seconds,ops,ops_per_s,ns_per_op,cpus,\
        ctx_switches_per_s,jain,min_share,wait_p50_ns,wait_p99_ns,wait_p999_ns,wait_max_ns,streak_p90_ns,\
        starve_p90_ns,starve_max_ns,at_least";

    #[test]
    fn the_header_is_the_published_one() {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.serialize(Row::default()).unwrap();
        let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
        assert_eq!(text.lines().next(), Some(HEADER));
        assert_eq!(COLUMNS.join(","), HEADER);
    }

    #[test]
    fn figures_are_shown_in_the_units_of_their_originals() {
        let names = [
            "solo",
            "sections/cs1-out2",
            "monitor-latency",
            "monitor-try-enter/fat",
            "gc-wait/scan",
            "aim7",
            "pool/burst",
        ];
        assert_eq!(names.map(|name| main_unit(name).name), ["ns", "M/s", "/ms", "ns", "ns", "/min", "us"]);
    }

    #[test]
    fn lower_bounds_are_named() {
        let mut row = Row::default();
        [WAIT_P99_NS, WAIT_MAX_NS].into_iter().for_each(|metric| row.set_at_least(metric));
        assert_eq!(row.at_least, "wait_p99_ns wait_max_ns");
        assert_eq!([WAIT_P99_NS, WAIT_P999_NS].map(|metric| row.is_at_least(metric)), [true, false]);
    }

    #[test]
    fn absent_figures_are_empty_cells() {
        let row = Row { platform: "hardware".into(), threads: 2, ops: Some(7), cpus: Some(1.5), ..Row::default() };
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.serialize(&row).unwrap();
        let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
        assert_eq!(text.lines().nth(1), Some("hardware,,,,2,0,0.0,7,,,1.5,,,,,,,,,,,"));
        let back: Row = csv::Reader::from_reader(text.as_bytes()).deserialize().next().unwrap().unwrap();
        assert_eq!(back, row);
    }
}
