//! `cargo xtask figures`: computes what docs/scaling.md and docs/policies.md show, and draws it; with `--policies` only what
//! the second shows.
//!
//! Every lock on four simulated machines, as one command each, and a few locks for longer, so that their longest waits fit
//! into the window; the rows are in `results/sim`, and `cargo xtask docs` makes the page and its pictures from them. A
//! quarter of an hour on two cores. The policies of the flagship on three machines: some minutes more.

use crate::docs::policies;
use crate::docs::scaling::{MACHINES, WORKLOADS, file, waits_file};
use crate::{docs, scaling};
use std::path::Path;

/// Numbers of threads, by machine: up to two or four times as many as it has CPUs.
const THREADS: [&str; MACHINES.len()] =
    ["1,2,4,10,20,40,80", "1,2,4,16,64,128", "1,2,8,48,192,384", "1,2,8,56,224,448"];
/// Those at which waits are measured: as many as there are CPUs, and twice as many.
const WAITERS: [&str; MACHINES.len()] = ["20,40", "64,128", "192,384", "224,448"];
/// Length of a row: a few slices of the scheduler, for where there are more threads than CPUs.
const SECONDS: &str = "0.012";
/// Length of a row of waits; half of it is timed.
const WAIT_SECONDS: &str = "0.2";
const SEEDS: u32 = 2;
/// Of the policies; their waits are in the same rows.
const POLICY_THREADS: &str = "1,2,16,64";
const POLICY_SECONDS: &str = "0.2";

/// Computes the rows and writes the page.
pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    let only_policies = match words {
        [] => false,
        [flag] if flag == "--policies" => true,
        _ => return Err("usage: cargo xtask figures [--policies]".into()),
    };
    if !only_policies {
        locks(root)?;
    }
    for machine in policies::MACHINES {
        let file = policies::file(machine);
        scaling::sweep(root, machine, &policies::flags(POLICY_THREADS, POLICY_SECONDS, SEEDS), Path::new(&file))?;
        println!("{file} is written");
    }
    docs::run(root, &[])
}

/// The rows of docs/scaling.md.
fn locks(root: &Path) -> Result<(), String> {
    let workloads = WORKLOADS.join(",");
    for ((machine, threads), waiters) in MACHINES.into_iter().zip(THREADS).zip(WAITERS) {
        let all = format!("--workload {workloads} --lock all --threads {threads} --seconds {SECONDS} --seeds {SEEDS}");
        let few = format!(
            "--workload {workloads} --lock ondeck,peers,go-spinbit --threads {waiters} --seconds {WAIT_SECONDS} --seeds {SEEDS}"
        );
        for (flags, file) in [(all, file(machine)), (few, waits_file(machine))] {
            scaling::sweep(root, machine, &flags, Path::new(&file))?;
            println!("{file} is written");
        }
    }
    Ok(())
}
