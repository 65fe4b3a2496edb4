//! How long a `lock` and its release take where nobody else wants the lock, in ns: the median of some runs, and the fastest.
//! Build it without features, with `record`, and with `stats`. With `stats`, the word `started` begins to count.
//!
//! ```text
//! cargo run --release -p ondeck --features stats --example uncontended started
//! ```

use ondeck::Mutex;
use std::hint::black_box;
use std::time::Instant;

static LOCK: Mutex<u64> = Mutex::new(0);

fn run() -> f64 {
    const N: u32 = 20_000_000;
    let began = Instant::now();
    for _ in 0..N {
        *black_box(&LOCK).lock() += 1;
    }
    began.elapsed().as_nanos() as f64 / f64::from(N)
}

fn main() {
    const RUNS: usize = 5;
    if std::env::args().nth(1).as_deref() == Some("started") {
        #[cfg(feature = "stats")]
        assert!(ondeck::stats::start());
        #[cfg(not(feature = "stats"))]
        panic!("started needs the feature stats");
    }
    let mut ns: Vec<f64> = (0..RUNS).map(|_| run()).collect();
    ns.sort_by(f64::total_cmp);
    println!("{:.2} {:.2}", ns[RUNS / 2], ns[0]);
}
