//! Published tables of locks: the rows that parameters were fitted on.

use super::published::{self, Line};
use super::{Declared, Group, Keep, Limit, Row, machine};
use ondeck_lab::plan::{Pin, Plan, Point};
use ondeck_lab::simulate::{self, MachinePlan};
use ondeck_lab::workload::WorkloadSpec;
use ondeck_report::stats::median;
use ondeck_sim::machine::Machine;
use std::sync::atomic::AtomicBool;

/// How long a row is simulated, and how often; it is the mean throughput.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    pub(super) seconds: f64,
    pub(super) seeds: u32,
}

/// For workloads in which 20 ms hold thousands of operations.
pub(super) const SHORT: Effort = Effort { seconds: 0.02, seeds: 3 };
/// For workloads in which threads come and go in milliseconds.
const LONG: Effort = Effort { seconds: 0.3, seeds: 1 };
/// The same where the workload has two states, and some seeds find from one into the other.
const BISTABLE: Effort = Effort { seconds: 0.3, seeds: 7 };

/// Nanoseconds per operation for each pair of a lock and a number of threads: the median of the seeds.
pub(super) fn simulate(
    machine: &Machine,
    workload: &str,
    pairs: &[(String, u32)],
    effort: Effort,
) -> Result<Vec<f64>, String> {
    let workload = WorkloadSpec::parse_name(workload).unwrap_or_else(|| panic!("there is no workload {workload}"));
    let point = |(lock, threads): &(String, u32)| Point {
        workload,
        lock: lock.parse().expect("a lock of the table"),
        threads: *threads,
    };
    let plan = Plan {
        points: pairs.iter().map(point).collect(),
        rounds: effort.seeds,
        seconds: Some(effort.seconds),
        seed: 1,
        pin: Pin::None,
        earlier: Vec::new(),
    };
    let plan = MachinePlan { plan, machine: machine.clone(), machine_words: machine.name.clone(), record: false };
    let computed = simulate::run(&plan, &AtomicBool::new(false), &mut |_| ()).map_err(|cut| cut.failure.to_string())?;
    let of_pair = |(lock, threads): &(String, u32)| {
        let rows = computed.rows.iter().filter(|row| row.lock == *lock && row.threads == *threads);
        median(&rows.filter_map(|row| row.ops_per_s).collect::<Vec<f64>>()).unwrap_or(f64::NAN)
    };
    Ok(pairs.iter().map(|pair| 1e9 / of_pair(pair)).collect())
}

/// What is to be simulated, a lock with a number of threads, and what it should give.
type Wanted = ((String, u32), f64);

/// What a group is of.
struct Table {
    title: &'static str,
    machine: &'static str,
    workload: &'static str,
    effort: Effort,
    unit: &'static str,
    /// From nanoseconds per operation to the unit.
    convert: fn(f64) -> f64,
    limit: Limit,
    declared: Declared,
}

fn group(table: &Table, wanted: Vec<Wanted>) -> Result<Group, String> {
    let (pairs, expected): (Vec<(String, u32)>, Vec<f64>) = wanted.into_iter().unzip();
    let simulated = simulate(&machine(table.machine), table.workload, &pairs, table.effort)?;
    let row = |(((lock, threads), expected), ns): (Wanted, f64)| Row {
        what: format!("{lock}, {threads} threads"),
        unit: table.unit,
        expected,
        simulated: (table.convert)(ns),
        limit: None,
    };
    let rows = pairs.into_iter().zip(expected).zip(simulated).map(row).collect();
    let title = format!("T3 {}, {}", table.title, table.machine);
    Ok(Group { title, expected: "published", limit: table.limit, declared: table.declared, rows })
}

pub(super) fn groups(keep: &mut Keep) -> Result<(), String> {
    let old = Limit::MedianAndMost(0.08, 0.2);
    let new = Limit::MedianAndMost(0.15, 0.35);
    keep(chan_contended("chan-contended before Go 1.24", "i7-13700h", "go-tristate-futex", old, Declared::Held)?);
    keep(chan_contended(
        "chan-contended, first form of Go's new lock",
        "i7-13700h",
        "go-spinbit-futex",
        new,
        Declared::Held,
    )?);
    keep(chan_contended("chan-contended before Go 1.24", "m1", "go-tristate-sema", old, Declared::Held)?);
    keep(monitors("i7-6700-linux")?);
    keep(monitors("i7-6700-windows")?);
    for name in ["westmere-1n", "westmere-2n", "westmere-8n"] {
        keep(aim7(name)?);
    }
    Ok(())
}

fn chan_contended(
    title: &'static str,
    machine: &'static str,
    lock: &str,
    limit: Limit,
    declared: Declared,
) -> Result<Group, String> {
    let lines = published::lines(published::CHAN_CONTENDED, &[("machine", machine), ("lock", lock)]);
    let wanted = |line: Line| ((lock.to_owned(), line.number("threads") as u32), line.number("us_per_op"));
    let wanted = lines.into_iter().map(wanted).collect();
    let workload = "chan-contended";
    let table =
        Table { title, machine, workload, effort: SHORT, unit: "us", convert: |ns| ns / 1000.0, limit, declared };
    group(&table, wanted)
}

fn monitors(machine: &'static str) -> Result<Group, String> {
    let mut wanted = Vec::new();
    for line in published::lines(published::MONITOR_THROUGHPUT, &[("machine", machine)]) {
        let (tuning, threads) = (line.text("tuning"), line.number("threads") as u32);
        for (lock, column) in
            [("coreclr-monitor-before", "before_locks_per_ms"), ("coreclr-monitor", "after_locks_per_ms")]
        {
            let lock = if tuning == "default" { lock.to_owned() } else { format!("{lock}[{tuning}]") };
            wanted.push(((lock, threads), line.number(column)));
        }
    }
    let table = Table {
        title: "monitor-throughput",
        machine,
        workload: "monitor-throughput",
        effort: LONG,
        unit: "locks/ms",
        convert: |ns| 1e6 / ns,
        limit: Limit::MedianAndMost(0.15, 0.35),
        declared: Declared::Missed,
    };
    group(&table, wanted)
}

/// With the fewest users of those that the published figure is of.
fn aim7(machine: &'static str) -> Result<Group, String> {
    let line = published::line(published::AIM7, &[("machine", machine)]);
    let users = line.number("users") as u32;
    let wanted = [("linux-mutex-base", "without_patch"), ("linux-mutex-patch1", "with_patch")]
        .map(|(lock, column)| ((lock.to_owned(), users), line.number(column)));
    let table = Table {
        title: "aim7",
        machine,
        workload: "aim7",
        effort: BISTABLE,
        unit: "jobs/min",
        convert: |ns| 60e9 / ns,
        limit: Limit::Each(0.15),
        declared: Declared::Held,
    };
    group(&table, wanted.into())
}
