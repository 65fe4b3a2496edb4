//! A thousand threads fit into memory.

use crate::common::{Body, Lock, body, on, toy};
use ondeck_core::Platform;
use ondeck_sim::Simulated;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Most memory that this process has had, in MB; where the system does not say, none.
fn most_memory_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number of kB") / 1024
}

#[test]
fn a_thousand_threads_take_far_less_than_two_gigabytes() {
    let lock = Lock::new();
    let inside = Arc::new(AtomicU64::new(0));
    let works = || {
        let (lock, inside) = (lock.clone(), inside.clone());
        let body: Body = body(move || {
            for _ in 0..5 {
                lock.acquire();
                // Not an operation of the machine: nobody else is inside, or some of it would be lost.
                let before = inside.load(Relaxed);
                Simulated::work(100);
                Simulated::now_ns();
                inside.store(before + 1, Relaxed);
                lock.release();
                Simulated::work(1_000);
            }
            0
        });
        (None, body)
    };
    on(&toy(64), 1, (0..1024).map(|_| works()).collect()).unwrap();
    assert_eq!(inside.load(Relaxed), 5 * 1024);
    let mb = most_memory_mb();
    println!("{mb} MB at most");
    assert!(mb < 200, "{mb} MB");
}
