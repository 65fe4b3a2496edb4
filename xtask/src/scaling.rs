//! `cargo xtask scaling [--write]`: the flagship on simulated machines, against what is on record.
//!
//! A regression of a few percent cannot be seen on a noisy machine. In the simulator the same source gives the same figure
//! each time, so a small fixed sweep shows it, and `ondeck compare`, which looks for more than noise, is too coarse for it. The
//! records are in `results/sim`; after a change that is meant to move them, `--write` makes them anew, and the difference is
//! part of the change. No record makes up for a wait that is longer than the lock promises: that is checked against the
//! promise itself, also with `--write`.

use crate::command;
use ondeck_report::output;
use ondeck_report::row::Row;
use ondeck_workloads::simulate::{self, Machine};
use ondeck_workloads::{lock, tuning};
use std::path::Path;
use std::process::Stdio;

/// Where the records are, a file per machine.
const RECORDS: &str = "results/sim";
/// Where a sweep is written.
const FRESH: &str = "target/scaling";
/// What is run on each machine. Waits are timed for half of the window, which must be longer than the bound on waiting at 64
/// threads or no wait could be seen to break it.
const FLAGS: &str = "--lock ondeck --seconds 0.05 --workload mutex-contention,sections/cs20-out60,sections/cs100-out400 \
                     --threads 1,2,4,16,64 --seeds 2";
const MACHINES: [&str; 3] = ["i7-13700h", "graviton3", "spr-2x56"];
/// How much less than on record is a failure.
const LEAST: f64 = 0.98;
/// How much longer than on record the longest wait may be.
const MOST: f64 = 1.25;
/// Below this the longest wait of so short a window says nothing.
const WAIT_NS: f64 = 1e6;

/// Runs the sweep and compares it, or with `--write` records it.
pub(crate) fn run(root: &Path, is_to_write: bool) -> Result<(), String> {
    // Relative, as the command is kept with the rows.
    let directory = Path::new(if is_to_write { RECORDS } else { FRESH });
    let mut faults = Vec::new();
    for machine in MACHINES {
        let name = format!("flagship-{machine}.csv");
        let new = sweep(root, machine, FLAGS, &directory.join(&name))?;
        let broken = broken_promises(&new, run_ns(&simulate::machine(machine, None)?))?;
        let worse = compare(&rows_of(&root.join(RECORDS).join(&name))?, &new);
        println!(
            "{machine}: {} points, {} worse than on record, {} beyond the bound on waiting",
            new.len(),
            worse.len(),
            broken.len()
        );
        faults.extend(broken.into_iter().chain(worse));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// Runs a sweep on one machine, and gives its rows.
pub(crate) fn sweep(root: &Path, machine: &str, flags: &str, out: &Path) -> Result<Vec<Row>, String> {
    let file = root.join(out);
    std::fs::create_dir_all(file.parent().unwrap_or(root)).map_err(|error| format!("{}: {error}", out.display()))?;
    // A sweep that was interrupted may have left rows of an older program.
    output::OutFile::check(&file)?.forget()?;
    let ondeck = ["run", "--quiet", "--release", "--package", "ondeck-cli", "--", "sim", "--machine", machine, "--out"];
    let mut cargo = command::cargo(root);
    command::succeed(cargo.args(ondeck).arg(out).args(flags.split_whitespace()).stdout(Stdio::null()))?;
    rows_of(&file)
}

fn rows_of(file: &Path) -> Result<Vec<Row>, String> {
    output::read(file).map(|(results, _)| results.rows).map_err(|error| error.to_string())
}

/// How long a machine takes until it runs a thread that is woken, with a core free: the waker's call, the deepest idle
/// state, the way out of the kernel.
fn run_ns(machine: &Machine) -> u64 {
    let os = &machine.os;
    let parts = [os.syscall_ps, os.wake_call_ps, os.bucket_ps, os.wake_latency_ps, os.wake_deepest_ps];
    parts.into_iter().chain([os.switch_ps, os.resume_ps]).map(u64::from).sum::<u64>() / 1000
}

/// The longest waits that are longer than the lock promises, in words.
///
/// The longest hold is not in a row; the mean time from one operation to the next is, and in these workloads all
/// sections are alike and shorter than that.
fn broken_promises(rows: &[Row], run_ns: u64) -> Result<Vec<String>, String> {
    let mut faults = Vec::new();
    for row in rows {
        let (Some(is), Some(hold_ns)) = (row.wait_max_ns, row.ns_per_op) else { continue };
        let tuning = tuning::parse(lock::split(&row.lock).1.unwrap_or("default"))?;
        let most = tuning.longest_wait_ns(row.threads.saturating_sub(1), hold_ns as u64, run_ns) as f64;
        if is > most {
            let (is, most) = (is / 1e6, most / 1e6);
            faults.push(format!("{}: longest wait {is:.3} ms, the lock promises {most:.3} ms", name_of(row)));
        }
    }
    Ok(faults)
}

/// What a message calls a point.
fn name_of(row: &Row) -> String {
    format!("{} {} at {} threads, seed {}", row.machine, row.workload, row.threads, row.round + 1)
}

/// What is worse than on record, in words; a point that is missing on either side is too.
fn compare(old: &[Row], new: &[Row]) -> Vec<String> {
    let key = |row: &Row| (row.machine.clone(), row.workload.clone(), row.threads, row.round);
    let mut faults = Vec::new();
    for row in new {
        let name = name_of(row);
        let Some(record) = old.iter().find(|old| key(old) == key(row)) else {
            faults.push(format!("{name}: it is not on record; cargo xtask scaling --write records it"));
            continue;
        };
        if let (Some(was), Some(is)) = (record.ops_per_s, row.ops_per_s)
            && is < LEAST * was
        {
            faults.push(format!("{name}: {:.2} M/s, on record {:.2} M/s", is / 1e6, was / 1e6));
        }
        if let (Some(was), Some(is)) = (record.wait_max_ns, row.wait_max_ns)
            && is > WAIT_NS
            && is > MOST * was
        {
            faults.push(format!("{name}: longest wait {:.2} ms, on record {:.2} ms", is / 1e6, was / 1e6));
        }
    }
    if new.len() < old.len() {
        faults.push(format!("{} points are on record, {} were run", old.len(), new.len()));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ops_per_s: f64, wait_max_ns: f64) -> Row {
        Row { machine: "m".into(), ops_per_s: Some(ops_per_s), wait_max_ns: Some(wait_max_ns), ..Row::default() }
    }

    #[test]
    fn less_throughput_or_a_longer_wait_is_a_fault() {
        let old = [row(100e6, 2e6)];
        assert!(compare(&old, &[row(98.5e6, 2.4e6)]).is_empty());
        assert!(compare(&old, &[row(97e6, 2e6)])[0].contains("97.00 M/s, on record 100.00 M/s"));
        assert!(compare(&old, &[row(100e6, 3e6)])[0].contains("longest wait 3.00 ms"));
        assert!(compare(&[row(100e6, 1e5)], &[row(100e6, 5e5)]).is_empty(), "too short to say anything");
    }

    #[test]
    fn a_wait_beyond_the_promise_is_a_fault() {
        let waits = |lock: &str, threads, wait_max_ns| {
            let row = Row { lock: lock.into(), threads, ns_per_op: Some(50.0), ..row(20e6, wait_max_ns) };
            broken_promises(&[row], 30_000).unwrap()
        };
        let tuning = tuning::parse("default").unwrap();
        for threads in [2, 3, 64] {
            let most = tuning.longest_wait_ns(threads - 1, 50, 30_000) as f64;
            assert!(waits("ondeck", threads, most).is_empty());
            assert!(waits("ondeck", threads, most + 1.0)[0].contains("the lock promises"), "{threads} threads");
        }
        let patient = f64::from(tuning.patience_ns) + 1_000_000.0;
        assert_eq!(waits("ondeck", 2, patient).len(), 1);
        assert!(waits("ondeck[patience_ns=1000000]", 2, patient).is_empty(), "the row's own tuning counts");
        assert!(
            broken_promises(&[Row { lock: "ondeck[x]".into(), ..row(1.0, 1.0) }], 0).is_ok(),
            "no operation, no hold"
        );
    }

    #[test]
    fn a_slow_machine_may_take_longer() {
        let mut machine = simulate::machine("mesh", None).unwrap();
        let before = run_ns(&machine);
        machine.os.wake_deepest_ps += 5_000_000;
        assert_eq!(run_ns(&machine), before + 5_000);
    }

    #[test]
    fn a_point_that_is_missing_is_a_fault() {
        assert!(compare(&[], &[row(1.0, 1.0)])[0].contains("not on record"));
        assert!(compare(&[row(1.0, 1.0)], &[])[0].contains("1 points are on record, 0 were run"));
    }
}
