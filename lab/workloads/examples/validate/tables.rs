//! Published tables of locks: the rows that parameters were fitted on.

use super::published::{self, Line};
use super::{Declared, Group, Limit, Row, machine};
use ondeck_report::stats::median;
use ondeck_sim::machine::Machine;
use ondeck_workloads::plan::{Pin, Plan, Point};
use ondeck_workloads::simulate::{self, MachinePlan};
use ondeck_workloads::workload::WorkloadSpec;
use std::sync::atomic::AtomicBool;

/// How long a row is simulated, and with how many seeds.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    seconds: f64,
    seeds: u32,
}

/// For workloads in which 20 ms hold thousands of operations.
pub(super) const SHORT: Effort = Effort { seconds: 0.02, seeds: 3 };
/// For workloads in which threads come and go in milliseconds.
const LONG: Effort = Effort { seconds: 0.3, seeds: 1 };
/// The same where the workload has two states, and some seeds find from one into the other.
const BISTABLE: Effort = Effort { seconds: 0.3, seeds: 7 };

/// A lock, and how many threads.
pub(super) type Pair = (String, u32);

/// Nanoseconds per operation for each pair: the median of the seeds.
pub(super) fn simulate(machine: &Machine, workload: &str, pairs: &[Pair], effort: Effort) -> Result<Vec<f64>, String> {
    let workload = WorkloadSpec::parse_name(workload).unwrap_or_else(|| panic!("there is no workload {workload}"));
    let point = |(lock, threads): &Pair| Point {
        workload,
        lock: lock.parse().expect("a lock of the table"),
        threads: *threads,
    };
    let plan = Plan {
        points: pairs.iter().map(point).collect(),
        rounds: effort.seeds,
        seconds: Some(effort.seconds),
        seed: 1,
        load: 0,
        pin: Pin::None,
    };
    let plan = MachinePlan { plan, machine: machine.clone(), machine_words: machine.name.clone(), record: false };
    let computed = simulate::run(&plan, &AtomicBool::new(false), &mut |_| ()).map_err(|cut| cut.failure.to_string())?;
    let of_pair = |(lock, threads): &Pair| {
        let rows = computed.rows.iter().filter(|row| row.lock == *lock && row.threads == *threads);
        median(&rows.filter_map(|row| row.ops_per_s).collect::<Vec<f64>>()).unwrap_or(f64::NAN)
    };
    Ok(pairs.iter().map(|pair| 1e9 / of_pair(pair)).collect())
}

/// What a table is of.
struct Load {
    workload: &'static str,
    effort: Effort,
    unit: &'static str,
    /// From nanoseconds per operation to the unit.
    convert: fn(f64) -> f64,
}

const CHAN: Load = Load { workload: "chan-contended", effort: SHORT, unit: "us", convert: |ns| ns / 1000.0 };
const MONITOR: Load = Load { workload: "monitor-throughput", effort: LONG, unit: "locks/ms", convert: |ns| 1e6 / ns };
const AIM7: Load = Load { workload: "aim7", effort: BISTABLE, unit: "jobs/min", convert: |ns| 60e9 / ns };

pub(super) fn groups() -> Result<Vec<Group>, String> {
    let old = Limit::MedianAndMost(0.08, 0.2);
    let new = Limit::MedianAndMost(0.15, 0.35);
    Ok(vec![
        chan("chan-contended before Go 1.24", "i7-13700h", "go-tristate-futex", old)?,
        chan("chan-contended, first form of Go's new lock", "i7-13700h", "go-spinbit-futex", new)?,
        chan("chan-contended before Go 1.24", "m1", "go-tristate-sema", old)?,
        monitors("i7-6700-linux")?,
        monitors("i7-6700-windows")?,
        aim7("westmere-1n")?,
        aim7("westmere-2n")?,
        aim7("westmere-8n")?,
    ])
}

fn chan(title: &str, machine: &str, lock: &str, limit: Limit) -> Result<Group, String> {
    let lines = published::lines("chan_contended", &[("machine", machine), ("lock", lock)]);
    let wanted = lines.iter().map(|line| ((lock.to_owned(), line.threads()), line.number("us_per_op"))).collect();
    group(&CHAN, title, machine, wanted, (limit, Declared::Held))
}

fn monitors(machine: &str) -> Result<Group, String> {
    let columns = [("coreclr-monitor-before", "before_locks_per_ms"), ("coreclr-monitor", "after_locks_per_ms")];
    let of_line = |line: &Line| {
        columns.map(|(lock, column)| {
            let tuning = line.text("tuning");
            let lock = if tuning == "default" { lock.to_owned() } else { format!("{lock}[{tuning}]") };
            ((lock, line.threads()), line.number(column))
        })
    };
    let wanted = published::lines("monitor_throughput", &[("machine", machine)]).iter().flat_map(of_line).collect();
    let limit = Limit::MedianAndMost(0.15, 0.35);
    group(&MONITOR, "monitor-throughput", machine, wanted, (limit, Declared::Missed))
}

/// With the fewest users of those that the published figure is of.
fn aim7(machine: &str) -> Result<Group, String> {
    let line = published::line("aim7", &[("machine", machine)]);
    let wanted = [("linux-mutex-base", "without_patch"), ("linux-mutex-patch1", "with_patch")]
        .map(|(lock, column)| ((lock.to_owned(), line.number("users") as u32), line.number(column)));
    group(&AIM7, "aim7", machine, wanted.into(), (Limit::Each(0.15), Declared::Held))
}

/// Simulates the pairs, and puts what comes out beside what each should give.
fn group(
    load: &Load,
    title: &str,
    name: &str,
    wanted: Vec<(Pair, f64)>,
    (limit, declared): (Limit, Declared),
) -> Result<Group, String> {
    let (pairs, expected): (Vec<Pair>, Vec<f64>) = wanted.into_iter().unzip();
    let simulated = simulate(&machine(name), load.workload, &pairs, load.effort)?;
    let row = |(((lock, threads), expected), ns): ((Pair, f64), f64)| Row {
        what: format!("{lock}, {threads} threads"),
        unit: load.unit,
        expected,
        simulated: (load.convert)(ns),
        limit: None,
    };
    let rows = pairs.into_iter().zip(expected).zip(simulated).map(row).collect();
    Ok(Group { title: format!("T3 {title}, {name}"), expected: "published", limit, declared, rows })
}
