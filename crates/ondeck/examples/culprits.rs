//! Programs with a known culprit, by name, for `ondeck profile`: what it is to say first is in the list of the tests.
//!
//! ```text
//! cargo build --release -p ondeck --example culprits --features record
//! ondeck profile -- target/release/examples/culprits sweep
//! ```

use ondeck::Mutex;
use std::hint::black_box;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

const LENGTH: Duration = Duration::from_millis(1200);

fn compute(us: u64) {
    let end = Instant::now() + Duration::from_micros(us);
    while Instant::now() < end {
        black_box(us);
    }
}

fn repeat(mut act: impl FnMut(u64)) {
    let end = Instant::now() + LENGTH;
    (0..).take_while(|_| Instant::now() < end).for_each(&mut act);
}

/// Sessions that are looked up often, and swept now and then.
struct Sessions<T> {
    all: Mutex<Vec<T>>,
}

impl<T: Copy + Into<u64>> Sessions<T> {
    #[inline(never)]
    fn look_up(&self, n: u64) -> u64 {
        let all = self.all.lock();
        all[n as usize % all.len()].into()
    }

    #[inline(never)]
    fn sweep(&self) {
        let all = self.all.lock();
        compute(2000);
        black_box(all.len());
    }
}

static SESSIONS: Sessions<u32> = Sessions { all: Mutex::new(Vec::new()) };

fn sweep() {
    *SESSIONS.all.lock() = (0..1000).collect();
    scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                repeat(|turn| {
                    black_box(SESSIONS.look_up(turn));
                    if turn % 5000 == 4999 {
                        SESSIONS.sweep();
                    }
                });
            });
        }
    });
}

static SETTINGS: Mutex<u64> = Mutex::new(0);

/// A guard that lives while its function sleeps.
#[inline(never)]
fn reload() {
    let mut settings = SETTINGS.lock();
    sleep(Duration::from_millis(3));
    *settings += 1;
}

#[inline(never)]
fn setting() -> u64 {
    *SETTINGS.lock()
}

fn settings() {
    scope(|scope| {
        scope.spawn(|| repeat(|_| (reload(), sleep(Duration::from_micros(500))).1));
        for _ in 0..3 {
            scope.spawn(|| repeat(|_| (black_box(setting()), compute(20)).1));
        }
    });
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("sweep") => sweep(),
        Some("settings") => settings(),
        other => panic!("sweep or settings, not {other:?}"),
    }
}
