//! `cargo xtask ports`: our texts of other libraries' mutexes beside the originals, on this machine.
//!
//! What is simulated under the name of an original is our text of it, so each must cost what its original costs: within a
//! tenth in every workload. All are measured in turn in one run; the rows are in `results/ports.csv`, and
//! `cargo xtask docs` makes `results/ports.md` of them. Some ten minutes, in which nothing else should run.

use crate::docs;
use crate::docs::ports::{FILE, PAIRS};
use std::path::Path;
use std::process::Command;

/// Workloads, with the flag for their numbers of threads: all that take a mutex.
const RUNS: [(&str, &str); 3] = [
    ("solo,handoff-fast,handoff-slow,monitor-try-enter", ""),
    (
        "mutex-contention,chan-contended,sections/cs20-out60,sections/cs100-out400,sections/cs2000-out2000",
        "--threads 2,4,16",
    ),
    ("mutex-capture,lock-bench,monitor-throughput,monitor-latency,spike", "--threads 4"),
];
const BENCH: &str = "run --quiet --release --package ondeck-cli -- bench --rounds 5 --seconds 0.15";

/// Measures and writes rows and page.
pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    if !words.is_empty() {
        return Err("usage: cargo xtask ports".into());
    }
    let locks: Vec<String> = PAIRS.iter().flat_map(|name| [(*name).to_owned(), format!("{name}-port")]).collect();
    let locks = locks.join(",");
    let mut parts = Vec::new();
    for (workloads, threads) in RUNS {
        let out = format!("target/ports-{}.csv", parts.len());
        let words = format!("{BENCH} --lock {locks} --workload {workloads} --out {out} {threads}");
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(words.split_whitespace());
        let status = cargo.current_dir(root).status().map_err(|error| format!("cannot run cargo: {error}"))?;
        if !status.success() {
            return Err(format!("`ondeck bench --workload {workloads}` failed"));
        }
        parts.push(out);
    }
    docs::ports::gather(root, &parts)?;
    println!("{FILE} is written");
    docs::run(root, &[])
}
