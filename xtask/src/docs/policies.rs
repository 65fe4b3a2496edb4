//! The tables of docs/policies.md: what the three policies of the flagship do on a few simulated machines.

use super::scaling::{cpus, over_seeds, throughput};
use super::table;
use ondeck_report::output;
use ondeck_report::row::{Row, WAIT_MAX_NS};
use ondeck_report::wording::{count, duration_ns, three_digits, times};
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
        let (results, _) = output::read(&root.join(file(machine))).map_err(|error| error.to_string())?;
        let fingerprint = results.fingerprint.as_ref();
        let fingerprint = fingerprint.ok_or_else(|| format!("{} has no fingerprint beside it", file(machine)))?;
        let rows = over_seeds(&results.rows);
        text += &format!("\n### {machine}\n\n{}: {} CPUs. Simulated.\n", fingerprint.cpu, fingerprint.cpus_online);
        text += &format!("\n{}\n{}", waits(&rows), passes(&rows));
        text += &format!("\n```sh\n{}\n```\n", broken(&results.command));
    }
    Ok(text + "\n")
}

/// Throughput and longest wait of each policy, a line for each workload and number of threads.
fn waits(rows: &[Row]) -> String {
    let head = POLICIES.map(|(name, _)| format!("{name}: ops/s, of one thread, longest wait"));
    let mut lines = vec![[vec!["workload".into(), "threads".into()], head.to_vec(), vec!["CPUs".into()]].concat()];
    for workload in WORKLOADS {
        for threads in shared(rows, workload) {
            let cells = POLICIES.map(|(_, lock)| {
                let (Some(row), alone) = (find(rows, workload, lock, threads), find(rows, workload, lock, 1)) else {
                    return "-".to_owned();
                };
                let kept = alone.map_or("-".to_owned(), |alone| times(throughput(row) / throughput(alone)));
                format!("{}, {kept}, {}", count(throughput(row)), longest_wait(row))
            });
            lines.push(
                [
                    vec![format!("`{workload}`"), threads.to_string()],
                    cells.to_vec(),
                    vec![awake(rows, workload, threads)],
                ]
                .concat(),
            );
        }
    }
    table(&lines)
}

/// Throughput and passes of each policy, a line for each number of threads.
fn passes(rows: &[Row]) -> String {
    let head = POLICIES.map(|(name, _)| format!("{name}: ops/s, passes/s, longest wait"));
    let mut lines = vec![[vec!["threads".into()], head.to_vec(), vec!["CPUs".into()]].concat()];
    for threads in shared(rows, PASSES) {
        let cells =
            POLICIES.map(|(_, lock)| match (find(rows, TURNS, lock, threads), find(rows, PASSES, lock, threads)) {
                (Some(turns), Some(passes)) => {
                    format!("{}, {}, {}", count(throughput(turns)), count(throughput(passes)), longest_wait(passes))
                }
                _ => "-".to_owned(),
            });
        lines.push([vec![threads.to_string()], cells.to_vec(), vec![awake(rows, PASSES, threads)]].concat());
    }
    table(&lines)
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
        POLICIES.map(|(_, lock)| find(rows, workload, lock, threads).map_or("-".into(), |row| three_digits(cpus(row))));
    used.join(", ")
}

fn longest_wait(row: &Row) -> String {
    let ns = (WAIT_MAX_NS.of)(row).map_or("-".to_owned(), duration_ns);
    if row.is_at_least(WAIT_MAX_NS) { format!("> {ns}") } else { ns }
}

/// A command in lines of at most 120 characters.
fn broken(command: &str) -> String {
    command
        .replace(" --workload", " \\\n    --workload")
        .replace(" --lock", " \\\n    --lock")
        .replace(" --seconds", " \\\n    --seconds")
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
