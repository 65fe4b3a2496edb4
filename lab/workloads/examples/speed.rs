//! How fast the simulator is: simulated atomic operations in a second of one core of this machine, and memory.
//!
//! `cargo run --release -p ondeck-workloads --example speed`. At commit 1d68f17 on one core of a virtual machine with 2 CPUs
//! (Intel Xeon, Linux 6.18), in millions a second:
//!
//! | lock | 1 thread | 2 threads | 20 threads |
//! |---|---|---|---|
//! | tas | 61.6 | 33.8 | 3.5 |
//! | mcs | 60.2 | 10.1 | 6.8 |
//! | go-tristate-futex | 62.9 | 58.3 | 3.5 |
//! | go-spinbit | 64.3 | 53.6 | 24.7 |
//! | ondeck | 62.6 | 60.0 | 56.7 |
//!
//! A lock is slow to simulate if most of its operations move a cache line. A move takes two or three events, and a pause takes one
//! more. 1024 threads on 64 cores need 13 MB.

use ondeck_core::Atomic;
use ondeck_lineage::{RawGoSpinbit, RawGoTristateFutex, RawLock, RawMcs, RawOndeck, RawTas};
use ondeck_sim::{Options, SimU64, Simulated, machine};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// Simulated time of a run: some tenths of a second for this machine.
const RUN_NS: u64 = 20_000_000;
/// Of so many the fastest counts: whatever comes between makes a run slower.
const RUNS: usize = 3;

/// The lock, and a counter that it guards, on lines of their own.
#[repr(align(128))]
struct CachePadded<T>(T);

/// Atomic operations of a run, and how long it took.
fn run<L: RawLock>(name: &str, cores: Option<u32>, threads: u32) -> (u64, f64) {
    let machine = machine::find(name, cores).expect("it is built in");
    let began = Instant::now();
    let outcome = ondeck_sim::run(&machine, &Options { seed: 1, record: false }, || {
        let shared = Arc::new((CachePadded(L::new()), CachePadded(SimU64::new(0)), AtomicBool::new(false)));
        let start = |_| {
            let shared = shared.clone();
            let work = move || {
                let (CachePadded(lock), CachePadded(count), stop) = &*shared;
                while !stop.load(Relaxed) {
                    lock.acquire();
                    count.store(count.load(Relaxed) + 1, Relaxed);
                    // SAFETY: this thread has acquired it two lines above.
                    unsafe { lock.release() };
                }
            };
            Simulated::start_thread(None, Box::new(work))
        };
        let running: Vec<_> = (0..threads).map(start).collect();
        Simulated::sleep_ns(RUN_NS);
        shared.2.store(true, Relaxed);
        running.into_iter().for_each(Simulated::join);
    });
    (outcome.expect("no lock fails").atomics, began.elapsed().as_secs_f64())
}

/// Millions of operations per second, of the fastest run.
fn speed<L: RawLock>(threads: u32) -> f64 {
    let runs = (0..RUNS).map(|_| run::<L>("i7-13700h", None, threads));
    runs.map(|(atomics, seconds)| atomics as f64 / seconds / 1e6).fold(0.0, f64::max)
}

fn line<L: RawLock>(name: &str) {
    let [one, two, twenty] = [1, 2, 20].map(speed::<L>);
    println!("| {name} | {one:.1} | {two:.1} | {twenty:.1} |");
}

/// Most memory that this process has had, in MB; where the system does not say, none.
fn most_memory_mb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kb = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(kb.trim().trim_end_matches(" kB").parse::<u64>().ok()? / 1024)
}

fn main() {
    // First, because what is told is the most that there has been.
    let (atomics, seconds) = run::<RawOndeck<Simulated>>("mesh", Some(64), 1024);
    let memory = most_memory_mb().map_or("unknown".to_owned(), |mb| format!("{mb} MB"));
    println!("1024 threads on 64 cores (ondeck): {memory} at most, {atomics} operations in {seconds:.1} s\n");
    println!("Millions of simulated atomic operations a second, i7-13700h\n");
    println!("| lock | 1 thread | 2 threads | 20 threads |\n|---|---|---|---|");
    line::<RawTas<Simulated>>("tas");
    line::<RawMcs<Simulated>>("mcs");
    line::<RawGoTristateFutex<Simulated>>("go-tristate-futex");
    line::<RawGoSpinbit<Simulated>>("go-spinbit");
    line::<RawOndeck<Simulated>>("ondeck");
}
