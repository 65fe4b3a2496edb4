//! What contention does to a mutex: acquisitions per second of `std::sync::Mutex` and of `ondeck::Mutex`, with 1 to 64
//! threads that do nothing else. `cargo run --release --example collapse -p ondeck`
//!
//! ```text
//! threads   std::sync::Mutex      ondeck::Mutex   (millions a second)
//!       1               42.0               37.0
//!       2                6.3               36.6
//!       4                6.4               38.8
//!      16                7.6               37.8
//!      64                7.8               35.4
//! ```
//!
//! One run on a virtual machine with two cores; `ondeck bench` measures properly.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

const LENGTH: Duration = Duration::from_millis(300);

/// Millions of calls of `section` a second, by `threads` threads together.
fn rate(threads: usize, section: impl Fn() + Sync) -> f64 {
    let (is_over, total) = (AtomicBool::new(false), AtomicU64::new(0));
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut mine = 0;
                while !is_over.load(Relaxed) {
                    section();
                    mine += 1;
                }
                total.fetch_add(mine, Relaxed);
            });
        }
        thread::sleep(LENGTH);
        is_over.store(true, Relaxed);
    });
    total.load(Relaxed) as f64 / start.elapsed().as_secs_f64() / 1e6
}

fn main() {
    println!("threads   std::sync::Mutex      ondeck::Mutex   (millions a second)");
    for threads in [1, 2, 4, 16, 64] {
        let std = std::sync::Mutex::new(0_u64);
        let ondeck = ondeck::Mutex::new(0_u64);
        let theirs = rate(threads, || *black_box(std.lock().unwrap()) += 1);
        let ours = rate(threads, || *black_box(ondeck.lock()) += 1);
        println!("{threads:7} {theirs:18.1} {ours:18.1}");
    }
}
