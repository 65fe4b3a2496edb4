//! Condition variables: how long a round of `notify_all` takes, and a ping-pong of `notify_one`, both with the mutex held
//! by who notifies.
//!
//! `cargo run --release -p ondeck-workloads --example condvar [ROUNDS] [MS]`; the locks take turns within each round, and the
//! last column is the median over the rounds of the speed relative to `parking_lot` 0.13.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

/// A mutex around `T` and the condition variable that belongs to it.
trait Kind: 'static {
    const NAME: &'static str;
    type Mutex<T: Send>: Sync + Send;
    type Condvar: Sync + Send + Default;
    type Guard<'a, T: Send + 'a>;
    fn mutex<T: Send>(data: T) -> Self::Mutex<T>;
    fn lock<T: Send>(mutex: &Self::Mutex<T>) -> Self::Guard<'_, T>;
    fn data<'g, T: Send>(guard: &'g mut Self::Guard<'_, T>) -> &'g mut T;
    fn wait<'a, T: Send>(condvar: &Self::Condvar, guard: Self::Guard<'a, T>) -> Self::Guard<'a, T>;
    fn notify_one(condvar: &Self::Condvar);
    fn notify_all(condvar: &Self::Condvar);
}

struct Std;

impl Kind for Std {
    const NAME: &'static str = "std";
    type Mutex<T: Send> = std::sync::Mutex<T>;
    type Condvar = std::sync::Condvar;
    type Guard<'a, T: Send + 'a> = std::sync::MutexGuard<'a, T>;
    fn mutex<T: Send>(data: T) -> Self::Mutex<T> {
        std::sync::Mutex::new(data)
    }
    fn lock<T: Send>(mutex: &Self::Mutex<T>) -> Self::Guard<'_, T> {
        mutex.lock().expect("nobody panics")
    }
    fn data<'g, T: Send>(guard: &'g mut Self::Guard<'_, T>) -> &'g mut T {
        guard
    }
    fn wait<'a, T: Send>(condvar: &Self::Condvar, guard: Self::Guard<'a, T>) -> Self::Guard<'a, T> {
        condvar.wait(guard).expect("nobody panics")
    }
    fn notify_one(condvar: &Self::Condvar) {
        condvar.notify_one();
    }
    fn notify_all(condvar: &Self::Condvar) {
        condvar.notify_all();
    }
}

/// The kinds whose guards are waited with by reference.
macro_rules! by_reference {
    ($kind:ident, $name:literal, $library:ident) => {
        struct $kind;

        impl Kind for $kind {
            const NAME: &'static str = $name;
            type Mutex<T: Send> = $library::Mutex<T>;
            type Condvar = $library::Condvar;
            type Guard<'a, T: Send + 'a> = $library::MutexGuard<'a, T>;
            fn mutex<T: Send>(data: T) -> Self::Mutex<T> {
                $library::Mutex::new(data)
            }
            fn lock<T: Send>(mutex: &Self::Mutex<T>) -> Self::Guard<'_, T> {
                mutex.lock()
            }
            fn data<'g, T: Send>(guard: &'g mut Self::Guard<'_, T>) -> &'g mut T {
                guard
            }
            fn wait<'a, T: Send>(condvar: &Self::Condvar, mut guard: Self::Guard<'a, T>) -> Self::Guard<'a, T> {
                condvar.wait(&mut guard);
                guard
            }
            fn notify_one(condvar: &Self::Condvar) {
                condvar.notify_one();
            }
            fn notify_all(condvar: &Self::Condvar) {
                condvar.notify_all();
            }
        }
    };
}

by_reference!(ParkingLot, "parking_lot", parking_lot);
by_reference!(ParkingLot012, "parking_lot-0.12", parking_lot_012);
by_reference!(Ondeck, "ondeck", ondeck);

#[derive(Default)]
struct Shared {
    /// Rounds begun, or the number of the thread whose turn it is.
    turn: u64,
    n_waiting: u64,
    is_over: bool,
}

/// Every round, `n` threads wait, are notified all at once, and pass the mutex one after the other on their way back to
/// waiting; the last one tells the notifier. Gives the rounds and how long they took.
fn herd<K: Kind>(n: u64, work: u64, window: Duration) -> (u64, Duration) {
    let shared = K::mutex(Shared::default());
    let (begun, done) = (K::Condvar::default(), K::Condvar::default());
    let wait = || {
        let mut guard = K::lock(&shared);
        let mut seen = K::data(&mut guard).turn;
        loop {
            spend(work);
            K::data(&mut guard).n_waiting += 1;
            if K::data(&mut guard).n_waiting == n {
                K::notify_one(&done);
            }
            while K::data(&mut guard).turn == seen {
                guard = K::wait(&begun, guard);
            }
            seen = K::data(&mut guard).turn;
            if K::data(&mut guard).is_over {
                return;
            }
        }
    };
    thread::scope(|scope| {
        (0..n).for_each(|_| drop(scope.spawn(wait)));
        let (mut rounds, mut began) = (0, Instant::now());
        let mut guard = K::lock(&shared);
        loop {
            while K::data(&mut guard).n_waiting < n {
                guard = K::wait(&done, guard);
            }
            if rounds == 0 {
                began = Instant::now();
            }
            let is_over = began.elapsed() >= window;
            let data = K::data(&mut guard);
            (data.turn, data.n_waiting, data.is_over) = (data.turn + 1, 0, is_over);
            K::notify_all(&begun);
            if is_over {
                return (rounds, began.elapsed());
            }
            rounds += 1;
        }
    })
}

/// `n` threads in a ring give each other the turn, each with a condition variable of its own. Gives the turns.
fn ring<K: Kind>(n: u64, work: u64, window: Duration) -> (u64, Duration) {
    let shared = K::mutex(Shared::default());
    let changed: Vec<K::Condvar> = (0..n).map(|_| K::Condvar::default()).collect();
    let is_over = AtomicBool::new(false);
    let play = |me: u64| {
        let mut guard = K::lock(&shared);
        while !is_over.load(Relaxed) {
            let next = (K::data(&mut guard).turn + 1) % n;
            if K::data(&mut guard).turn % n == me {
                spend(work);
                K::data(&mut guard).turn += 1;
                K::notify_one(&changed[next as usize]);
            } else {
                guard = K::wait(&changed[me as usize], guard);
            }
        }
        changed.iter().for_each(K::notify_all);
    };
    let play = &play;
    thread::scope(|scope| {
        (0..n).for_each(|me| drop(scope.spawn(move || play(me))));
        thread::sleep(window / 4);
        let turns = || K::data(&mut K::lock(&shared)).turn;
        let (before, began) = (turns(), Instant::now());
        thread::sleep(window);
        let result = (turns() - before, began.elapsed());
        is_over.store(true, Relaxed);
        drop(K::lock(&shared));
        changed.iter().for_each(K::notify_all);
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
type Run = fn(Test, Duration) -> Figures;

#[derive(Clone, Copy)]
struct Test {
    name: &'static str,
    is_herd: bool,
    n: u64,
    work: u64,
}

fn run<K: Kind>(test: Test, window: Duration) -> Figures {
    let before = usage();
    let (rounds, took) = (if test.is_herd { herd::<K> } else { ring::<K> })(test.n, test.work, window);
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
    let kinds: [(&str, Run); 4] = [
        (ParkingLot::NAME, run::<ParkingLot>),
        (ParkingLot012::NAME, run::<ParkingLot012>),
        (Std::NAME, run::<Std>),
        (Ondeck::NAME, run::<Ondeck>),
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
                    row[idx] = kinds[idx].1(test, window);
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
