//! Programs before and after the patch, on this machine.

use super::trees::version;
use super::{Ground, ORIGINAL, Side, output, write};
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) const N_ROUNDS: usize = 5;
/// Where the rows are.
const FILE: &str = "target/patched.csv";
const PROGRAM: &str = include_str!("bench/program.rs.txt");
const WORKLOADS: [&str; 6] = [
    "mutex",
    "tokio-spawn-blocking",
    "tokio-spawn-blocking-20us",
    "moka-insert",
    "dashmap-rwlock-insert",
    "dashmap-insert",
];
const N_THREADS: &str = "16";
const SECONDS: f64 = 1.0;
/// A run that took longer by so much was stopped by somebody, and says nothing.
const LATEST: f64 = 1.2;
/// So often such a run is made again.
const N_ATTEMPTS: usize = 5;

/// Builds the program twice, runs both in turn, and writes a row for each run.
pub(super) fn run(root: &Path, ground: &Ground, n_rounds: usize) -> Result<(), String> {
    let programs = [build(ground, Side::Original)?, build(ground, Side::Patched)?];
    let mut rows = "workload,threads,parking_lot,round,seconds,ops,ops_per_s\n".to_owned();
    for round in 0..n_rounds {
        for workload in WORKLOADS {
            // Who goes first changes, so that what the one leaves behind meets the other as often.
            for idx in ondeck_rounds::order(programs.len(), round) {
                let (seconds, n_ops) = run_once(&programs[idx], workload)?;
                let per_second = n_ops / seconds;
                let name = Side::BOTH[idx].name();
                println!("round {round} {workload} {name}: {per_second:.0} per s");
                rows.push_str(&format!("{workload},{N_THREADS},{name},{round},{seconds},{n_ops},{per_second:.1}\n"));
            }
        }
    }
    write(&root.join(FILE), &rows)?;
    println!("{FILE} is written");
    Ok(())
}

/// Seconds and operations.
fn run_once(program: &Path, workload: &str) -> Result<(f64, f64), String> {
    for _ in 0..N_ATTEMPTS {
        let text = output(Command::new(program).args([workload, N_THREADS, &SECONDS.to_string()]))?;
        let (seconds, n_ops) = text.trim().split_once(' ').ok_or("the program printed no row")?;
        let number = |word: &str| word.parse::<f64>().map_err(|error| format!("{word}: {error}"));
        let (seconds, n_ops) = (number(seconds)?, number(n_ops)?);
        if seconds <= SECONDS * LATEST {
            return Ok((seconds, n_ops));
        }
        println!("{workload} took {seconds:.0} s: again");
    }
    Err(format!("{workload} never ends in time: is this machine stopped again and again?"))
}

fn build(ground: &Ground, side: Side) -> Result<PathBuf, String> {
    let name = format!("bench-{}", side.name());
    let directory = ground.directory.join(&name);
    let tables = format!(
        "[dependencies]\nparking_lot = \"={}\"\n\
         tokio = {{ version = \"={}\", features = [\"rt-multi-thread\", \"parking_lot\"] }}\n\
         moka = {{ version = \"={}\", features = [\"sync\"] }}\ndashmap = \"={}\"\n\
         dashmap-rwlock = {{ package = \"dashmap\", version = \"={}\" }}\n",
        ORIGINAL.version,
        version("tokio"),
        version("moka"),
        version("dashmap"),
        version("dashmap-rwlock"),
    );
    ground.manifest(&directory, &name, side, &tables)?;
    write(&directory.join("src/main.rs"), PROGRAM)?;
    output(&mut ground.cargo(&directory, &["build", "--release", "--quiet"]))?;
    if side == Side::Patched {
        ground.prove(&directory, "")?;
    }
    Ok(ground.directory.join("target/release").join(name))
}
