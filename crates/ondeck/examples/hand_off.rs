//! A thread that holds a mutex nearly all the time, and one that needs it now and then: how long does the second wait?
//! Once with plain releases, which let the first thread come back at once, and once with `unlock_fair`, which gives the
//! mutex to the waiter. `cargo run --release --example hand_off -p ondeck`
//!
//! ```text
//! plain release   longest wait    539 us   turns of the busy thread   11790
//! unlock_fair     longest wait     33 us   turns of the busy thread   10731
//! ```
//!
//! One run on a virtual machine with two cores.

use ondeck::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

const TURNS: u32 = 200;

/// Works for about `us` microseconds without leaving the core.
fn work(us: u64) {
    let start = Instant::now();
    while start.elapsed() < Duration::from_micros(us) {
        std::hint::spin_loop();
    }
}

fn run(name: &str, release: impl Fn(MutexGuard<'_, u64>) + Sync) {
    let (turns, is_over) = (Mutex::new(0), AtomicBool::new(false));
    let mut longest = Duration::ZERO;
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                let mut guard = turns.lock();
                *guard += 1;
                work(20);
                release(guard);
            }
        });
        for _ in 0..TURNS {
            thread::sleep(Duration::from_millis(1));
            let start = Instant::now();
            drop(turns.lock());
            longest = longest.max(start.elapsed());
        }
        is_over.store(true, Relaxed);
    });
    println!("{name:15} longest wait {:6} us   turns of the busy thread {:7}", longest.as_micros(), turns.into_inner());
}

fn main() {
    run("plain release", |guard| drop(guard));
    run("unlock_fair", |guard| {
        MutexGuard::unlock_fair(guard);
    });
}
