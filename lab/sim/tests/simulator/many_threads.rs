//! A thousand threads fit into memory.

use crate::common::{Body, body, on, toy};
use ondeck_core::{Atomic, Platform};
use ondeck_sim::{SimU32, Simulated};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A lock of three values that one sleeps on.
#[repr(align(64))]
struct Lock(SimU32);

impl Lock {
    fn with(&self, section: impl FnOnce()) {
        if self.0.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            while self.0.swap(2, Acquire) != 0 {
                Simulated::wait_on(&self.0, 2, None);
            }
        }
        section();
        if self.0.swap(0, Release) == 2 {
            Simulated::wake(&raw const self.0, 1);
        }
    }
}

/// Most memory that this process has had, in MB; where the system does not say, none.
fn most_memory_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number of kB") / 1024
}

#[test]
fn a_thousand_threads_take_far_less_than_two_gigabytes() {
    let lock = Arc::new(Lock(SimU32::new(0)));
    let inside = Arc::new(AtomicU64::new(0));
    let works = || {
        let (lock, inside) = (lock.clone(), inside.clone());
        let body: Body = body(move || {
            for _ in 0..5 {
                lock.with(|| {
                    // Not an operation of the machine: nobody else is inside, or some of it would be lost.
                    let before = inside.load(Relaxed);
                    Simulated::work(100);
                    Simulated::now_ns();
                    inside.store(before + 1, Relaxed);
                });
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
