//! `cargo xtask ports`: our texts of other libraries' mutexes beside the originals, on this machine.
//!
//! What is simulated under the name of an original is our text of it, so each must cost what its original costs: within a
//! tenth in every workload. All are measured in turn in one run; the rows are in `results/ports.csv`, and
//! `cargo xtask docs` makes `results/ports.md` of them. Some ten minutes, in which nothing else should run.

use crate::docs;
use crate::docs::ports::{FILE, PAIRS};
use std::path::Path;
use std::process::Command;

/// Workloads with their numbers of threads: all that take a mutex.
const RUNS: [(&str, &str); 3] = [
    ("solo,handoff-fast,handoff-slow,monitor-try-enter", ""),
    ("mutex-contention,chan-contended,sections/cs20-out60,sections/cs100-out400,sections/cs2000-out2000", "2,4,16"),
    ("mutex-capture,lock-bench,monitor-throughput,monitor-latency,spike", "4"),
];
const ROUNDS: &str = "5";
const SECONDS: &str = "0.15";

/// Measures and writes rows and page.
pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    if !words.is_empty() {
        return Err("usage: cargo xtask ports".into());
    }
    let locks: Vec<String> = PAIRS.iter().flat_map(|name| [(*name).to_owned(), format!("{name}-port")]).collect();
    let mut parts = Vec::new();
    for (part, (workloads, threads)) in RUNS.iter().enumerate() {
        let out = format!("target/ports-{part}.csv");
        bench(root, &locks.join(","), workloads, threads, &out)?;
        parts.push(out);
    }
    docs::ports::gather(root, &parts)?;
    println!("{FILE} is written");
    docs::run(root, &[])
}

fn bench(root: &Path, locks: &str, workloads: &str, threads: &str, out: &str) -> Result<(), String> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["run", "--quiet", "--release", "--package", "ondeck-cli", "--", "bench", "--lock", locks]);
    command.args(["--workload", workloads, "--rounds", ROUNDS, "--seconds", SECONDS, "--out", out]);
    if !threads.is_empty() {
        command.args(["--threads", threads]);
    }
    let status = command.current_dir(root).status().map_err(|error| format!("cannot run cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`ondeck bench --workload {workloads}` failed")) }
}
