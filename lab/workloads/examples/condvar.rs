//! Condition variables: how long a round of `notify_all` takes, and a ping-pong of `notify_one`, both with the mutex held
//! by who notifies.
//!
//! `cargo run --release -p ondeck-workloads --example condvar [ROUNDS] [MS]`; the locks take turns within each round, and the
//! last column is the median over the rounds of the speed relative to `parking_lot` 0.13.

use ondeck_workloads::condvars::{CondvarLock, PthreadLock};
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

/// Every round, `n` threads wait, are notified all at once, and pass the mutex one after the other on their way
/// back to waiting; the last one tells the notifier. Gives the rounds and how long they took.
fn herd<L: CondvarLock<Shared>>(n: u64, work: u64, window: Duration) -> (u64, Duration) {
    let shared = L::new(Shared::default());
    let (begun, done) = (L::Condvar::default(), L::Condvar::default());
    let comes_back = || {
        let mut guard = shared.lock();
        let mut seen = guard.turn;
        loop {
            spend(work);
            guard.n_waiting += 1;
            if guard.n_waiting == n {
                L::notify_one(&done);
            }
            while guard.turn == seen {
                guard = L::wait(&begun, guard);
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
        let mut guard = shared.lock();
        loop {
            while guard.n_waiting < n {
                guard = L::wait(&done, guard);
            }
            if rounds == 0 {
                began = Instant::now();
            }
            let is_over = began.elapsed() >= window;
            *guard = Shared { turn: guard.turn + 1, n_waiting: 0, is_over };
            L::notify_all(&begun);
            if is_over {
                return (rounds, began.elapsed());
            }
            rounds += 1;
        }
    })
}

/// `n` threads in a ring give each other the turn, each with a condition variable of its own. Gives the turns.
fn ring<L: CondvarLock<Shared>>(n: u64, work: u64, window: Duration) -> (u64, Duration) {
    let shared = L::new(Shared::default());
    let changed: Vec<L::Condvar> = (0..n).map(|_| L::Condvar::default()).collect();
    let notify_all = || changed.iter().for_each(L::notify_all);
    let is_over = AtomicBool::new(false);
    let play = |me: u64| {
        let mut guard = shared.lock();
        while !is_over.load(Relaxed) {
            let next = (guard.turn + 1) % n;
            if guard.turn % n == me {
                spend(work);
                guard.turn += 1;
                L::notify_one(&changed[next as usize]);
            } else {
                guard = L::wait(&changed[me as usize], guard);
            }
        }
        notify_all();
    };
    let play = &play;
    thread::scope(|scope| {
        (0..n).for_each(|me| drop(scope.spawn(move || play(me))));
        thread::sleep(window / 4);
        let turns = || shared.lock().turn;
        let (before, began) = (turns(), Instant::now());
        thread::sleep(window);
        let result = (turns() - before, began.elapsed());
        is_over.store(true, Relaxed);
        drop(shared.lock());
        notify_all();
        result
    })
}

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

/// The two tests with a lock.
fn runs<L: CondvarLock<Shared>>() -> [Run; 2] {
    [herd::<L>, ring::<L>]
}

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
    let kinds: [(&str, [Run; 2]); 5] = [
        ("parking_lot", runs::<parking_lot::Mutex<Shared>>()),
        ("parking_lot-0.12", runs::<parking_lot_012::Mutex<Shared>>()),
        ("std", runs::<std::sync::Mutex<Shared>>()),
        ("pthread", runs::<PthreadLock<Shared, false>>()),
        ("ondeck", runs::<ondeck::Mutex<Shared>>()),
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
