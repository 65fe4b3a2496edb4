//! The measurements themselves: what one thread can find out alone, then what takes two.

use self::Run::{Alone, OnOneCore, OnTwoCores};
use crate::execution::Execution;
use ondeck_core::{Hardware, Platform, Token};
use ondeck_kit::stats::median;
use std::hint::black_box;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

/// A measurement; gives nanoseconds.
pub(super) struct Measure {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) run: Run,
}

/// How it is made, and on how many cores: two threads may share one.
pub(super) enum Run {
    Alone(fn() -> f64),
    OnOneCore(fn(u32, u32) -> Result<f64, String>),
    OnTwoCores(fn(u32, u32) -> Result<f64, String>),
}

impl Measure {
    /// Two of the cores on which it can be made; `None` if they are too few.
    pub(super) fn cores(&self, all: &[u32]) -> Option<(u32, u32)> {
        match self.run {
            Alone(_) => Some((0, 0)),
            OnOneCore(_) => all.first().map(|core| (*core, *core)),
            OnTwoCores(_) => all.first().copied().zip(all.get(1).copied()),
        }
    }

    pub(super) fn run(&self, (first, second): (u32, u32)) -> Result<f64, String> {
        match self.run {
            Alone(run) => Ok(run()),
            OnOneCore(run) | OnTwoCores(run) => run(first, second),
        }
    }
}

const fn measure(name: &'static str, what: &'static str, run: Run) -> Measure {
    Measure { name, what, run }
}

/// All but the passing of a line. What one thread can find out alone is first; its calls are so many that each round takes a
/// millisecond or so: long beside the clock's resolution, short beside a time slice.
pub(super) static MEASURES: [Measure; 20] = [
    measure("pause", "one pause of a spin loop", Alone(|| per_call(10_000, Hardware::pause))),
    measure(
        "ticks_read",
        "a read of the tick counter",
        Alone(|| per_call(50_000, || _ = black_box(Hardware::ticks()))),
    ),
    measure(
        "clock_read",
        "a read of the monotonic clock",
        Alone(|| per_call(20_000, || _ = black_box(Hardware::now_ns()))),
    ),
    measure("hit", "what a load adds to a read-modify-write, line in the cache", Alone(hit)),
    measure("store", "what a plain store adds to a read-modify-write, line in the cache", Alone(store)),
    measure("rmw", "an uncontended read-modify-write, line in the cache", Alone(rmw)),
    measure("barrier", "a plain store and a full barrier", Alone(barrier)),
    measure("work", "a unit of work: a turn of an empty loop", Alone(work)),
    measure("fib_call", "a call of the Fibonacci function by recursion", Alone(fib_call)),
    measure("yield", "sched_yield with nobody else to run", Alone(|| per_call(5_000, Hardware::yield_now))),
    measure("syscall", "a system call that does nothing", Alone(|| per_call(10_000, system_call))),
    measure("futex_wake_none", "a futex wake that finds no sleeper", Alone(futex_wake_none)),
    measure(
        "yield_to_other",
        "sched_yield on a core that another thread wants too, until that runs",
        OnOneCore(yield_to_other),
    ),
    measure(
        "futex_round_trip_same_core",
        "two threads on one core wake each other in turn, both ways",
        OnOneCore(futex_round_trip),
    ),
    measure("futex_round_trip_other_core", "the same on two cores", OnTwoCores(futex_round_trip)),
    measure(
        "wake_call",
        "a futex wake of a sleeper on another core, for the waker",
        OnTwoCores(|first, second| wake(first, second, LONG_SLEEP_NS).map(|wake| wake.call_ns)),
    ),
    measure(
        "wake_latency",
        "the same, until the sleeper runs, which has slept for 100 us",
        OnTwoCores(|first, second| wake(first, second, LONG_SLEEP_NS).map(|wake| wake.latency_ns)),
    ),
    measure(
        "wake_latency_spread",
        "the middle half of these differ by so much",
        OnTwoCores(|first, second| wake(first, second, LONG_SLEEP_NS).map(|wake| wake.spread_ns)),
    ),
    measure(
        "wake_latency_after_10_us",
        "until a sleeper runs that has slept for 10 us",
        OnTwoCores(|first, second| wake(first, second, SHORT_SLEEP_NS).map(|wake| wake.latency_ns)),
    ),
    measure(
        "second_line",
        "what a turn of two cores takes longer if it is about two cache lines",
        OnTwoCores(second_line),
    ),
];

/// The passing of a line, for each pair of cores.
pub(super) static LINE_TRANSFER: Measure =
    measure("line transfer", "a cache line moves from one core to another", OnTwoCores(line_transfer));

/// How long a sleeper has slept when it is woken: long enough for its CPU to be idle, and ten times as long.
const SHORT_SLEEP_NS: u32 = 10_000;
const LONG_SLEEP_NS: u32 = 100_000;

/// Nanoseconds per call of `f`, loop included.
fn per_call(calls: u32, mut f: impl FnMut()) -> f64 {
    let start = Hardware::now_ns();
    for _ in 0..calls {
        f();
    }
    (Hardware::now_ns() - start) as f64 / f64::from(calls)
}

/// The shortest of a few rounds: what comes between only makes one longer, and differences are taken of these.
fn shortest(round: impl FnMut() -> f64) -> f64 {
    std::iter::repeat_with(round).take(5).fold(f64::INFINITY, f64::min)
}

/// A word that is changed, and another one on its line.
#[repr(align(64))]
#[derive(Default)]
struct Words {
    changed: AtomicU64,
    other: AtomicU64,
}

/// A read-modify-write, and with it what `beside` does to the other word.
fn rmw_and(beside: impl Fn(&AtomicU64)) -> f64 {
    let words = Words::default();
    shortest(|| {
        per_call(50_000, || {
            black_box(&words.changed).fetch_add(1, Ordering::AcqRel);
            beside(black_box(&words.other));
        })
    })
}

fn rmw() -> f64 {
    rmw_and(|_| ())
}

/// As much of a cycle as an instruction takes at least, of which the widest processors make a few at once.
const LEAST_NS: f64 = 0.1;

/// Where locks load: beside a read-modify-write, and nothing but a branch waits for the value. How much of the load's latency
/// that costs depends on the processor.
fn hit() -> f64 {
    let load = |word: &AtomicU64| {
        black_box(word.load(Ordering::Relaxed));
    };
    (rmw_and(load) - rmw()).max(LEAST_NS)
}

fn store() -> f64 {
    (rmw_and(|word| word.store(1, Ordering::Relaxed)) - rmw()).max(LEAST_NS)
}

fn barrier() -> f64 {
    let words = Words::default();
    shortest(|| {
        per_call(20_000, || {
            // Barriers with nothing between them are one to the compiler.
            black_box(&words.other).store(1, Ordering::Relaxed);
            std::sync::atomic::fence(Ordering::SeqCst);
        })
    })
}

fn work() -> f64 {
    const UNITS: u32 = 100_000;
    per_call(10, || Hardware::spend(UNITS)) / f64::from(UNITS)
}

fn fib_call() -> f64 {
    /// Calls that it takes to compute the ninth number.
    const CALLS: f64 = 109.0;
    per_call(2_000, || {
        black_box(Hardware::fib(black_box(9)));
    }) / CALLS
}

fn system_call() {
    // SAFETY: asks for a number that no library remembers; no memory.
    black_box(unsafe { libc::getppid() });
}

/// Nanoseconds from one thread's yield until the other one on its core runs.
fn yield_to_other(first: u32, second: u32) -> Result<f64, String> {
    const YIELDS: u32 = 2_000;
    let yields = || per_call(YIELDS, Hardware::yield_now);
    on_cores(first, second, yields, move || {
        yields();
    })
}

fn futex_wake_none() -> f64 {
    let word = AtomicU32::new(0);
    per_call(5_000, || Hardware::wake(&word, 1))
}

/// Nanoseconds of a round trip: wake the other one, sleep until woken by it.
fn futex_round_trip(first: u32, second: u32) -> Result<f64, String> {
    const TRIPS: u32 = 500;
    let tokens = Arc::new([Token::<Hardware>::new(), Token::<Hardware>::new()]);
    let others = Arc::clone(&tokens);
    let there = move || {
        per_call(TRIPS, || {
            give(&tokens[1]);
            tokens[0].park(None);
        })
    };
    let back = move || {
        for _ in 0..TRIPS {
            others[1].park(None);
            give(&others[0]);
        }
    };
    on_cores(first, second, there, back)
}

/// From the first quartile to the third.
fn spread(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = |quarter: usize| values[(values.len() - 1) * quarter / 4];
    (at(3) - at(1)).max(LEAST_NS)
}

/// Gives the token its permit.
fn give(token: &Token<Hardware>) {
    // SAFETY: the reference keeps the token alive during the call, which is all that `unpark` asks for.
    unsafe { Token::unpark(token) };
}

/// What waking a sleeper costs.
struct Wake {
    call_ns: f64,
    latency_ns: f64,
    /// From the first quartile of the latencies to the third.
    spread_ns: f64,
}

/// Medians over a number of wakes of a thread that has slept for a while: a sleeper that has only just gone to sleep
/// is still on its core.
fn wake(first: u32, second: u32, asleep_ns: u32) -> Result<Wake, String> {
    const WAKES: usize = 60;
    let shared = Arc::new((Token::<Hardware>::new(), AtomicU64::new(0)));
    let sleeper = Arc::clone(&shared);
    let waker = move || {
        let (mut calls, mut latencies) = (Vec::new(), Vec::new());
        for _ in 0..WAKES {
            let (token, awake_at) = &*shared;
            awake_at.store(0, Ordering::Release);
            Hardware::pause_ns(asleep_ns);
            let start = Hardware::now_ns();
            give(token);
            calls.push((Hardware::now_ns() - start) as f64);
            let awake_ns = wait_while_zero(awake_at);
            latencies.push(awake_ns.saturating_sub(start) as f64);
        }
        let of = |values: &[f64]| median(values).expect("there was at least one wake");
        Wake { call_ns: of(&calls), latency_ns: of(&latencies), spread_ns: spread(latencies) }
    };
    let sleeping = move || {
        for _ in 0..WAKES {
            let (token, awake_at) = &*sleeper;
            token.park(None);
            awake_at.store(Hardware::now_ns(), Ordering::Release);
        }
    };
    on_cores(first, second, waker, sleeping)
}

fn wait_while_zero(word: &AtomicU64) -> u64 {
    // Ends when the woken thread has stored the time.
    loop {
        match word.load(Ordering::Acquire) {
            0 => Hardware::pause(),
            value => return value,
        }
    }
}

/// Nanoseconds from a write on one core until the other core has read it.
fn line_transfer(first: u32, second: u32) -> Result<f64, String> {
    const TRIPS: u32 = 5_000;
    /// Alone on its line and on the neighbour that some processors fetch with it.
    #[repr(align(128))]
    struct Line(AtomicU32);
    let line = Arc::new(Line(AtomicU32::new(0)));
    let other = Arc::clone(&line);
    // Each waits for the other's value without pausing: a pause would be measured too. Ends as the other one answers.
    let there = move || {
        let mut turn = 0;
        per_call(TRIPS, || {
            turn += 2;
            line.0.store(turn - 1, Ordering::Release);
            while line.0.load(Ordering::Acquire) != turn {}
        })
    };
    let back = move || {
        for turn in (2..=2 * TRIPS).step_by(2) {
            while other.0.load(Ordering::Acquire) != turn - 1 {}
            other.0.store(turn, Ordering::Release);
        }
    };
    on_cores(first, second, there, back).map(|round_trip| round_trip / 2.0)
}

/// What a turn takes longer if not only one line comes from the other core with it, but two.
fn second_line(first: u32, second: u32) -> Result<f64, String> {
    const TRIES: usize = 3;
    let mut shortest = [f64::INFINITY; 2];
    // In turn, as all may be slower for a moment.
    for _ in 0..TRIES {
        for (lines, shortest) in (1..).zip(&mut shortest) {
            *shortest = shortest.min(turn(first, second, lines)?);
        }
    }
    Ok((shortest[1] - shortest[0]).max(LEAST_NS))
}

/// What a turn takes in which a core changes a word with a read-modify-write, if `lines` is two another one without, and
/// gives the other core its turn.
fn turn(first: u32, second: u32, lines: u32) -> Result<f64, String> {
    const TURNS: u64 = 4_000;
    #[derive(Default)]
    #[repr(align(128))]
    struct Line(AtomicU64);
    let all = Arc::new([Line::default(), Line::default(), Line::default()]);
    let others = Arc::clone(&all);
    let play = move |[baton, word, other]: &[Line; 3], first: u64| {
        for turn in (first..TURNS).step_by(2) {
            // Ends as the other one has its turns.
            while baton.0.load(Ordering::Acquire) != turn {}
            word.0.fetch_add(1, Ordering::AcqRel);
            if lines > 1 {
                other.0.store(other.0.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            }
            baton.0.store(turn + 1, Ordering::Release);
        }
    };
    let there = move || {
        let start = Hardware::now_ns();
        play(&all, 0);
        (Hardware::now_ns() - start) as f64 / TURNS as f64
    };
    on_cores(first, second, there, move || play(&others, 1))
}

/// What the starting line says.
const WAIT: u32 = 0;
const GO: u32 = 1;
const GO_HOME: u32 = 2;

/// Runs both at once, each on its core, and gives what the left one returns.
fn on_cores<T: Send + 'static>(
    first: u32,
    second: u32,
    left: impl FnOnce() -> T + Send + 'static,
    right: impl FnOnce() + Send + 'static,
) -> Result<T, String> {
    let line = Arc::new(AtomicU32::new(WAIT));
    let (sender, receiver) = mpsc::channel();
    let (left_line, right_line) = (Arc::clone(&line), Arc::clone(&line));
    let left = move || {
        if may_go(&left_line) {
            let _ = sender.send(left());
        }
    };
    let right = move || {
        if may_go(&right_line) {
            right();
        }
    };
    let left = Hardware::start_thread(Some(first), Box::new(left))?;
    let right = Hardware::start_thread(Some(second), Box::new(right));
    line.store(if right.is_ok() { GO } else { GO_HOME }, Ordering::Release);
    Hardware::join(left);
    Hardware::join(right?);
    receiver.recv().map_err(|_| "a measuring thread panicked".to_string())
}

/// Waits at the starting line until both threads are on their cores; false if one of them could not be started.
fn may_go(line: &AtomicU32) -> bool {
    // Ends when `on_cores`, which never blocks in between, has started or failed to start the second thread.
    while line.load(Ordering::Acquire) == WAIT {
        Hardware::yield_now();
    }
    line.load(Ordering::Acquire) == GO
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_takes_time() {
        let all = Hardware::cores();
        for measure in MEASURES.iter().chain([&LINE_TRANSFER]) {
            let ns = measure.cores(&all).map(|cores| measure.run(cores).unwrap());
            assert!(ns.is_none_or(|ns| ns > 0.0), "{}", measure.name);
        }
    }

    #[test]
    fn a_core_that_does_not_exist_is_an_error() {
        assert!(futex_round_trip(Hardware::cores()[0], 1000).is_err());
    }
}
