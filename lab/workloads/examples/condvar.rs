//! Condition variables: how long a round of `notify_all` takes, and a ping-pong of `notify_one`, both with the mutex held
//! by who notifies.
//!
//! `cargo run --release -p ondeck-workloads --example condvar [ROUNDS] [MS]`; the locks take turns within each round, and the
//! last column is the median over the rounds of the speed relative to `parking_lot` 0.13.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

#[derive(Default)]
struct Shared {
    /// Rounds begun, or the number of the thread whose turn it is.
    turn: u64,
    n_waiting: u64,
    is_over: bool,
}

/// The two tests with a library's mutex and condition variable, whose guards go through a wait as each library wants it.
macro_rules! library {
    ($module:ident, $library:path, |$mutex:ident| $lock:expr, |$condvar:ident, $guard:ident| $wait:expr) => {
        mod $module {
            use super::*;
            use $library::{Condvar, Mutex, MutexGuard};

            fn lock($mutex: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
                $lock
            }

            #[allow(unused_mut, reason = "not where a wait takes the guard")]
            fn wait<'a>($condvar: &Condvar, mut $guard: MutexGuard<'a, Shared>) -> MutexGuard<'a, Shared> {
                $wait
            }

            /// Every round, `n` threads wait, are notified all at once, and pass the mutex one after the other on their way
            /// back to waiting; the last one tells the notifier. Gives the rounds and how long they took.
            pub(crate) fn herd(n: u64, work: u64, window: Duration) -> (u64, Duration) {
                let shared = Mutex::new(Shared::default());
                let (begun, done) = (Condvar::default(), Condvar::default());
                let comes_back = || {
                    let mut guard = lock(&shared);
                    let mut seen = guard.turn;
                    loop {
                        spend(work);
                        guard.n_waiting += 1;
                        if guard.n_waiting == n {
                            done.notify_one();
                        }
                        while guard.turn == seen {
                            guard = wait(&begun, guard);
                        }
                        seen = guard.turn;
                        if guard.is_over {
                            return;
                        }
                    }
                };
                thread::scope(|scope| {
                    (0..n).for_each(|_| drop(scope.spawn(comes_back)));
                    let (mut rounds, mut began) = (0, Instant::now());
                    let mut guard = lock(&shared);
                    loop {
                        while guard.n_waiting < n {
                            guard = wait(&done, guard);
                        }
                        if rounds == 0 {
                            began = Instant::now();
                        }
                        let is_over = began.elapsed() >= window;
                        *guard = Shared { turn: guard.turn + 1, n_waiting: 0, is_over };
                        begun.notify_all();
                        if is_over {
                            return (rounds, began.elapsed());
                        }
                        rounds += 1;
                    }
                })
            }

            /// `n` threads in a ring give each other the turn, each with a condition variable of its own. Gives the turns.
            pub(crate) fn ring(n: u64, work: u64, window: Duration) -> (u64, Duration) {
                let shared = Mutex::new(Shared::default());
                let changed: Vec<Condvar> = (0..n).map(|_| Condvar::default()).collect();
                let notify_all = || changed.iter().for_each(|condvar| _ = condvar.notify_all());
                let is_over = AtomicBool::new(false);
                let play = |me: u64| {
                    let mut guard = lock(&shared);
                    while !is_over.load(Relaxed) {
                        let next = (guard.turn + 1) % n;
                        if guard.turn % n == me {
                            spend(work);
                            guard.turn += 1;
                            changed[next as usize].notify_one();
                        } else {
                            guard = wait(&changed[me as usize], guard);
                        }
                    }
                    notify_all();
                };
                let play = &play;
                thread::scope(|scope| {
                    (0..n).for_each(|me| drop(scope.spawn(move || play(me))));
                    thread::sleep(window / 4);
                    let turns = || lock(&shared).turn;
                    let (before, began) = (turns(), Instant::now());
                    thread::sleep(window);
                    let result = (turns() - before, began.elapsed());
                    is_over.store(true, Relaxed);
                    drop(lock(&shared));
                    notify_all();
                    result
                })
            }
        }
    };
}

library!(by_std, std::sync, |mutex| mutex.lock().expect("nobody panics"), |condvar, guard| condvar
    .wait(guard)
    .expect("nobody panics"));
library!(by_parking_lot, parking_lot, |mutex| mutex.lock(), |condvar, guard| {
    condvar.wait(&mut guard);
    guard
});
library!(by_parking_lot_012, parking_lot_012, |mutex| mutex.lock(), |condvar, guard| {
    condvar.wait(&mut guard);
    guard
});
library!(by_ondeck, ondeck, |mutex| mutex.lock(), |condvar, guard| {
    condvar.wait(&mut guard);
    guard
});

fn spend(turns: u64) {
    for turn in 0..turns {
        std::hint::black_box(turn);
    }
}

/// Voluntary and involuntary switches of the process, and its seconds on processors.
fn usage() -> [f64; 3] {
    // SAFETY: all zeros is a value of this plain structure.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: it is ours to write.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    [usage.ru_nvcsw as f64, usage.ru_nivcsw as f64, seconds(usage.ru_utime) + seconds(usage.ru_stime)]
}

/// Microseconds a round, and of each round: switches of both kinds and microseconds of processors.
type Figures = [f64; 4];
type Run = fn(u64, u64, Duration) -> (u64, Duration);

#[derive(Clone, Copy)]
struct Test {
    name: &'static str,
    is_herd: bool,
    n: u64,
    work: u64,
}

fn run(test: Test, [herd, ring]: [Run; 2], window: Duration) -> Figures {
    let before = usage();
    let (rounds, took) = (if test.is_herd { herd } else { ring })(test.n, test.work, window);
    let after = usage();
    let rounds = rounds.max(1) as f64;
    let [voluntary, forced, cpu_s] = [0, 1, 2].map(|idx| (after[idx] - before[idx]) / rounds);
    [took.as_secs_f64() * 1e6 / rounds, voluntary, forced, cpu_s * 1e6]
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() {
    let mut words = std::env::args().skip(1).map(|word| word.parse::<u64>().expect("a number"));
    let (rounds, ms) = (words.next().unwrap_or(9), words.next().unwrap_or(200));
    let kinds: [(&str, [Run; 2]); 4] = [
        ("parking_lot", [by_parking_lot::herd, by_parking_lot::ring]),
        ("parking_lot-0.12", [by_parking_lot_012::herd, by_parking_lot_012::ring]),
        ("std", [by_std::herd, by_std::ring]),
        ("ondeck", [by_ondeck::herd, by_ondeck::ring]),
    ];
    let test = |name, is_herd, n, work| Test { name, is_herd, n, work };
    let tests = [
        test("notify_all", true, 1, 0),
        test("notify_all", true, 4, 0),
        test("notify_all", true, 32, 0),
        test("notify_all, 2 us inside", true, 32, 5_000),
        test("notify_one, ring", false, 2, 0),
        test("notify_one, ring", false, 8, 0),
    ];
    println!("| test | waiters | lock | us a round | switches | forced | CPU us | x parking_lot |");
    println!("|---|---|---|---|---|---|---|---|");
    for test in tests {
        let window = Duration::from_millis(ms);
        let figures: Vec<Vec<Figures>> = (0..rounds)
            .map(|round| {
                let mut row = vec![[0.0; 4]; kinds.len()];
                for turn in 0..kinds.len() {
                    let idx = (turn + round as usize) % kinds.len();
                    row[idx] = run(test, kinds[idx].1, window);
                }
                row
            })
            .collect();
        for (idx, (name, _)) in kinds.iter().enumerate() {
            let [us, voluntary, forced, cpu] =
                [0, 1, 2, 3].map(|what| median(figures.iter().map(|row| row[idx][what]).collect()));
            let ratio = median(figures.iter().map(|row| row[0][0] / row[idx][0]).collect());
            println!(
                "| {} | {} | {name} | {us:.1} | {voluntary:.1} | {forced:.1} | {cpu:.1} | {ratio:.2} |",
                test.name, test.n
            );
        }
    }
}
