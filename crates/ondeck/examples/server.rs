//! A server that runs until a line comes: one thread sleeps with the lock that others want. With the feature `record` it can be
//! looked at while it runs, as often as one likes:
//!
//! ```text
//! cargo run --release --features record --example server &
//! ondeck profile --pid $! --for 10s
//! ```

use ondeck::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::sleep;
use std::time::Duration;

static TABLE: Mutex<u64> = Mutex::new(0);
static FREE: Mutex<u64> = Mutex::new(0);
static IS_OVER: AtomicBool = AtomicBool::new(false);

#[inline(never)]
fn rebuild() {
    let mut table = TABLE.lock();
    sleep(Duration::from_millis(2));
    *table += 1;
}

#[inline(never)]
fn look_up() {
    *TABLE.lock() += 1;
    for _ in 0..10 {
        *FREE.lock() += 1;
    }
}

fn repeat(act: impl Fn(), pause: Duration) {
    while !IS_OVER.load(Relaxed) {
        act();
        sleep(pause);
    }
}

fn main() {
    ondeck::name(&TABLE, "table");
    std::thread::scope(|scope| {
        scope.spawn(|| repeat(rebuild, Duration::from_millis(1)));
        for _ in 0..2 {
            scope.spawn(|| repeat(look_up, Duration::from_micros(100)));
        }
        println!("begun");
        let _ = std::io::stdin().read_line(&mut String::new());
        IS_OVER.store(true, Relaxed);
    });
    println!("ended");
}
