//! `cargo xtask figures`: computes what docs/scaling.md shows, and draws it.
//!
//! Every lock on three simulated machines, as one command each; the rows are in `results/sim`, and `cargo xtask docs`
//! makes the page and its pictures from them. A few minutes on two cores.

use crate::{docs, scaling};
use std::path::Path;

/// A machine, and the numbers of threads that are run on it: up to two or four times as many as it has CPUs.
pub(crate) struct Column {
    pub(crate) machine: &'static str,
    threads: &'static str,
}

pub(crate) const COLUMNS: [Column; 3] = [
    Column { machine: "i7-13700h", threads: "1,2,4,8,16,20,40,80" },
    Column { machine: "graviton3", threads: "1,2,4,8,16,32,64,128" },
    Column { machine: "spr-2x56", threads: "1,2,4,8,16,56,112,224,448" },
];

/// Nothing outside the lock, where who keeps it to himself is fastest; and work outside, where he is not.
pub(crate) const WORKLOADS: [&str; 2] = ["mutex-contention", "sections/cs100-out400"];

/// Length of a row: a few slices of the scheduler, for where there are more threads than CPUs.
const SECONDS: &str = "0.02";

/// Where the rows of a machine are.
pub(crate) fn file(machine: &str) -> String {
    format!("results/sim/locks-{machine}.csv")
}

/// Computes the rows and writes the page.
pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    if !words.is_empty() {
        return Err("usage: cargo xtask figures".into());
    }
    for Column { machine, threads } in &COLUMNS {
        let workloads = WORKLOADS.join(",");
        let flags = format!("--workload {workloads} --lock all --threads {threads} --seconds {SECONDS}");
        scaling::sweep(root, machine, &flags, Path::new(&file(machine)))?;
        println!("{} is written", file(machine));
    }
    docs::run(root, &[])
}
