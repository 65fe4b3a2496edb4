//! The tables of docs/policies.md: what the three policies of the flagship do on a few simulated machines.

use super::scaling::{Sweep, cpus, throughput, wait};
use super::table::{code, or_dash, table};
use ondeck_report::fingerprint::Fingerprint;
use ondeck_report::row::{Row, WAIT_MAX_NS};
use ondeck_report::wording::{count, three_digits, times};
use std::collections::BTreeSet;
use std::path::Path;

pub(super) const PATH: &str = "docs/policies.md";

pub(crate) const MACHINES: [&str; 3] = ["i7-13700h", "graviton3", "epyc-2x48"];

/// From long turns to short ones: name of the policy, and of the lock that has it.
const POLICIES: [(&str, &str); 3] =
    [("Throughput", "ondeck[throughput]"), ("Balanced", "ondeck"), ("LowLatency", "ondeck[low-latency]")];
/// Where throughput and waits are shown.
const WORKLOADS: [&str; 3] = ["mutex-contention", "sections/cs100-out400", "sections/cs2000-out2000"];
/// The program that counts passes, and the same one counting all operations.
const PASSES: &str = "monitor-latency";
const TURNS: &str = "monitor-throughput";

/// Where the rows of a machine are.
pub(crate) fn file(machine: &str) -> String {
    format!("results/sim/policies-{machine}.csv")
}

/// What is run on each machine. The commas of a list of locks are no spaces, so no word is torn.
#[cfg(feature = "lab")]
pub(crate) fn flags(threads: &str, seconds: &str, seeds: u32) -> String {
    let locks = POLICIES.map(|(_, lock)| lock).join(",");
    let workloads = [WORKLOADS.as_slice(), &[TURNS, PASSES]].concat().join(",");
    format!("--workload {workloads} --lock {locks} --threads {threads} --seconds {seconds} --seeds {seeds}")
}

/// The tables of all machines.
pub(super) fn part(root: &Path) -> Result<String, String> {
    let mut text = String::new();
    for machine in MACHINES {
        let sweep = Sweep::read(root, &file(machine))?;
        let Fingerprint { cpu, cpus_online, .. } = &sweep.fingerprint;
        text += &format!("\n### {machine}\n\n{cpu}: {cpus_online} CPUs. Simulated.\n");
        text += &format!("\n{}\n{}", waits(&sweep.rows), passes(&sweep.rows));
        text += &sweep.shown(&["--workload", "--lock", "--seconds"]);
    }
    Ok(text + "\n")
}

/// Throughput and longest wait of each policy, a line for each workload and number of threads.
fn waits(rows: &[Row]) -> String {
    let cell = |workload: &str, lock: &str, threads| {
        let row = find(rows, workload, lock, threads)?;
        let alone = find(rows, workload, lock, 1);
        let kept = or_dash(alone.map(|alone| times(throughput(row) / throughput(alone))));
        Some(format!("{}, {kept}, {}", count(throughput(row)), wait(row, WAIT_MAX_NS)))
    };
    let settings = WORKLOADS.iter().flat_map(|workload| shared(rows, workload).into_iter().map(move |n| (workload, n)));
    let mut table =
        table(settings).column("workload", |(workload, _)| code(workload)).column("threads", |(_, threads)| *threads);
    for (policy, lock) in POLICIES {
        let head = format!("{policy}: ops/s, of one thread, longest wait");
        table = table.column(head, |(workload, threads)| or_dash(cell(workload, lock, *threads)));
    }
    table.column("CPUs", |(workload, threads)| awake(rows, workload, *threads)).text()
}

/// Throughput and passes of each policy, a line for each number of threads.
fn passes(rows: &[Row]) -> String {
    let cell = |lock: &str, threads| {
        let (turns, passes) = (find(rows, TURNS, lock, threads)?, find(rows, PASSES, lock, threads)?);
        Some(format!("{}, {}, {}", count(throughput(turns)), count(throughput(passes)), wait(passes, WAIT_MAX_NS)))
    };
    let mut table = table(shared(rows, PASSES)).column("threads", |threads| *threads);
    for (policy, lock) in POLICIES {
        let head = format!("{policy}: ops/s, passes/s, longest wait");
        table = table.column(head, |threads| or_dash(cell(lock, *threads)));
    }
    table.column("CPUs", |threads| awake(rows, PASSES, *threads)).text()
}

/// The numbers of threads above one of a workload.
fn shared(rows: &[Row], workload: &str) -> BTreeSet<u32> {
    rows.iter().filter(|row| row.workload == workload && row.threads > 1).map(|row| row.threads).collect()
}

fn find<'a>(rows: &'a [Row], workload: &str, lock: &str, threads: u32) -> Option<&'a Row> {
    rows.iter().find(|row| row.workload == workload && row.lock == lock && row.threads == threads)
}

/// The CPUs that the policies keep busy, in their order.
fn awake(rows: &[Row], workload: &str, threads: u32) -> String {
    let used =
        POLICIES.map(|(_, lock)| or_dash(find(rows, workload, lock, threads).map(|row| three_digits(cpus(row)))));
    used.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_policies_in_their_order() {
        let row = |workload: &str, lock: &str, threads, ops_per_s, wait_max_ns| Row {
            workload: workload.to_owned(),
            lock: lock.to_owned(),
            threads,
            ops_per_s: Some(ops_per_s),
            cpus: Some(f64::from(threads)),
            wait_max_ns: Some(wait_max_ns),
            ..Row::default()
        };
        let mut late = row(WORKLOADS[0], "ondeck", 2, 8e6, 3e6);
        late.set_at_least(WAIT_MAX_NS);
        let rows = [
            row(WORKLOADS[0], "ondeck", 1, 10e6, 1.0),
            late,
            row(WORKLOADS[0], "ondeck[throughput]", 2, 9e6, 5e6),
            row(TURNS, "ondeck", 2, 5e6, 1e3),
            row(PASSES, "ondeck", 2, 4e3, 2e3),
        ];
        let waits = waits(&rows);
        assert!(waits.contains("| 2 | 9.00 M, -, 5.00 ms | 8.00 M, 0.80, > 3.00 ms | - | 2.00, 2.00, - |"), "{waits}");
        let passes = passes(&rows);
        assert!(passes.contains("| 2 | - | 5.00 M, 4.00 k, 2.00 us | - | -, 2.00, - |"), "{passes}");
    }
}
