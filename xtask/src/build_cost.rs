//! `cargo xtask build-cost`: what a new reader waits for before the first figure, and a contributor after each change.
//!
//! In a target directory of its own, which is emptied first. For figures that mean something, nothing else runs.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

const TARGET: &str = "target/build-cost";
/// A file that every lock's measurement is built from, but only one lock needs.
const LOCK_FILE: &str = "crates/locks/src/mcs.rs";
/// A measurement of a tenth of a second, so that the program has shown a figure.
const FIRST: [&str; 11] =
    ["bench", "--workload", "solo", "--lock", "ondeck", "--rounds", "1", "--seconds", "0.05", "--threads", "1"];

/// Wall and CPU time of a build.
struct Cost {
    wall: Duration,
    cpu: f64,
}

pub(crate) fn run(root: &Path) -> Result<(), String> {
    let target = root.join(TARGET);
    if target.exists() {
        fs::remove_dir_all(&target).map_err(|error| format!("{TARGET}: {error}"))?;
    }
    // With the crates there, or what is measured is the network.
    cargo(root, &["fetch", "--locked"])?;
    let clean = build(root)?;
    let program = target.join("release/ondeck");
    let bytes = fs::metadata(&program).map_err(|error| format!("{}: {error}", program.display()))?.len();
    let first = timed(Command::new(&program).args(FIRST).stdout(Stdio::null()).stderr(Stdio::null()))?;
    touch(&root.join(LOCK_FILE))?;
    let again = build(root)?;
    let seconds = |cost: &Cost| format!("{:.0} s, {:.0} s of CPU time", cost.wall.as_secs_f64(), cost.cpu);
    println!("clean release build: {}", seconds(&clean));
    println!("first measured figure: {:.0} s after the command", (clean.wall + first.wall).as_secs_f64());
    println!("rebuild after a change in {LOCK_FILE}: {}", seconds(&again));
    println!("the program: {:.1} MB", bytes as f64 / 1e6);
    Ok(())
}

fn build(root: &Path) -> Result<Cost, String> {
    let mut cargo = Command::new(cargo_path());
    cargo.args(["build", "--release", "--locked", "--quiet"]).current_dir(root).env("CARGO_TARGET_DIR", TARGET);
    timed(&mut cargo)
}

/// Runs it, and reads from the system's books what it and its children have used: nothing of ours runs besides.
fn timed(command: &mut Command) -> Result<Cost, String> {
    let began = (SystemTime::now(), cpu_of_children()?);
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|error| format!("{name}: {error}"))?;
    if !status.success() {
        return Err(format!("{name} failed: {status}"));
    }
    let wall = began.0.elapsed().map_err(|error| error.to_string())?;
    Ok(Cost { wall, cpu: cpu_of_children()? - began.1 })
}

/// CPU seconds of all children that are done, with theirs: fields 16 and 17 of `/proc/self/stat`, in ticks of 10 ms.
fn cpu_of_children() -> Result<f64, String> {
    let stat = fs::read_to_string("/proc/self/stat").map_err(|error| format!("/proc/self/stat: {error}"))?;
    let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let ticks: Option<u64> = after_name.split(' ').skip(13).take(2).map(|field| field.parse::<u64>().ok()).sum();
    ticks.map(|ticks| ticks as f64 / 100.0).ok_or_else(|| "/proc/self/stat: not as Linux writes it".to_owned())
}

fn cargo(root: &Path, words: &[&str]) -> Result<(), String> {
    timed(Command::new(cargo_path()).args(words).current_dir(root)).map(|_| ())
}

fn cargo_path() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// As an editor that saves it unchanged.
fn touch(file: &Path) -> Result<(), String> {
    let open = File::options().append(true).open(file);
    open.and_then(|file| file.set_modified(SystemTime::now())).map_err(|error| format!("{}: {error}", file.display()))
}
