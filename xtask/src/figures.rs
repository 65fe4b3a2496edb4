//! `cargo xtask figures`: computes what docs/scaling.md shows, and draws it.
//!
//! Every lock on three simulated machines, as one command each; the rows are in `results/sim`, and `cargo xtask docs`
//! makes the page and its pictures from them. A few minutes on two cores.

use crate::docs::scaling::{MACHINES, WORKLOADS, file};
use crate::{docs, scaling};
use std::path::Path;

/// Numbers of threads, by machine: up to two or four times as many as it has CPUs.
const THREADS: [&str; MACHINES.len()] = ["1,2,4,8,16,20,40,80", "1,2,4,8,16,32,64,128", "1,2,4,8,16,56,112,224,448"];
/// Length of a row: a few slices of the scheduler, for where there are more threads than CPUs.
const SECONDS: &str = "0.02";

/// Computes the rows and writes the page.
pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    if !words.is_empty() {
        return Err("usage: cargo xtask figures".into());
    }
    for (machine, threads) in MACHINES.into_iter().zip(THREADS) {
        let workloads = WORKLOADS.join(",");
        let flags = format!("--workload {workloads} --lock all --threads {threads} --seconds {SECONDS}");
        scaling::sweep(root, machine, &flags, Path::new(&file(machine)))?;
        println!("{} is written", file(machine));
    }
    docs::run(root, &[])
}
