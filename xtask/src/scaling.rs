//! `cargo xtask scaling`: the flagship on simulated machines, against what is on record.
//!
//! A regression of a few percent cannot be seen on a noisy machine. In the simulator the same source gives the same figure
//! each time, so a small fixed sweep shows it. The records are in `results/sim`; after a change that is meant
//! to move them, `--write` makes them anew, and the difference is part of the change.

use ondeck_lab::output;
use ondeck_lab::row::Row;
use std::path::Path;
use std::process::{Command, Stdio};

/// Where the records are, a file per machine.
const RECORDS: &str = "results/sim";
/// Where a sweep is written.
const FRESH: &str = "target/scaling";
/// What is run on each machine.
const SWEEP: &str = "--lock ondeck --workload mutex-contention,sections/cs20-out60,sections/cs100-out400 \
    --threads 1,2,4,16,64 --seeds 2 --seconds 0.02";
const MACHINES: [&str; 3] = ["i7-13700h", "graviton3", "spr-2x56"];
/// How much less than on record is a failure.
const LEAST: f64 = 0.98;
/// How much longer than on record the longest wait may be.
const MOST: f64 = 1.25;
/// Below this the longest wait of so short a window says nothing.
const WAIT_NS: f64 = 1e6;

/// Runs the sweep and compares it, or with `--write` records it.
pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    let is_to_write = match words {
        [] => false,
        [flag] if flag == "--write" => true,
        _ => return Err("usage: cargo xtask scaling [--write]".into()),
    };
    let directory = root.join(if is_to_write { RECORDS } else { FRESH });
    std::fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut faults = Vec::new();
    for machine in MACHINES {
        let name = format!("flagship-{machine}.csv");
        sweep(root, machine, SWEEP, &directory.join(&name))?;
        if is_to_write {
            continue;
        }
        let (old, new) = (rows_of(&root.join(RECORDS).join(&name))?, rows_of(&directory.join(&name))?);
        let worse = compare(&old, &new);
        println!("{machine}: {} points, {} worse than on record", new.len(), worse.len());
        faults.extend(worse);
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// Runs a sweep on one machine.
pub(crate) fn sweep(root: &Path, machine: &str, flags: &str, out: &Path) -> Result<(), String> {
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["run", "--quiet", "--release", "--package", "ondeck-cli", "--", "sim", "--machine", machine])
        .args(flags.split_whitespace())
        .arg("--out")
        .arg(out)
        .current_dir(root)
        .stdout(Stdio::null())
        .status()
        .map_err(|error| format!("cannot run `ondeck sim`: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`ondeck sim --machine {machine}` failed")) }
}

fn rows_of(file: &Path) -> Result<Vec<Row>, String> {
    output::read(file).map(|(results, _)| results.rows).map_err(|error| error.to_string())
}

/// What is worse than on record, in words; a point that is missing on either side is too.
fn compare(old: &[Row], new: &[Row]) -> Vec<String> {
    let key = |row: &Row| (row.machine.clone(), row.workload.clone(), row.threads, row.round);
    let mut faults = Vec::new();
    for row in new {
        let name = format!("{} {} at {} threads, seed {}", row.machine, row.workload, row.threads, row.round + 1);
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
    fn a_point_that_is_missing_is_a_fault() {
        assert!(compare(&[], &[row(1.0, 1.0)])[0].contains("not on record"));
        assert!(compare(&[row(1.0, 1.0)], &[])[0].contains("1 points are on record, 0 were run"));
    }
}
