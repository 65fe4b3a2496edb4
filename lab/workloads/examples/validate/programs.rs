//! Programs of a few operations, whose times on real machines are published; run on the simulated one.

use ondeck_core::{Atomic, Platform};
use ondeck_sim::machine::Machine;
use ondeck_sim::{Options, SimU64, Simulated};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU64, Ordering};

/// A thread of a program; gives the picoseconds that it has taken.
type Body = Box<dyn FnOnce() -> u64 + Send>;

/// A word that shares its line with nothing on any machine.
#[repr(align(256))]
struct Line(SimU64);

impl Line {
    fn new(value: u64) -> Arc<Line> {
        Arc::new(Line(SimU64::new(value)))
    }
}

/// Runs bodies on hardware threads of their own, and gives what each returned. Whatever they share is alive until all are
/// gone.
fn on_cpus(machine: &Machine, bodies: Vec<(u32, Body)>) -> Result<Vec<u64>, String> {
    let results: Arc<Vec<AtomicU64>> = Arc::new(bodies.iter().map(|_| AtomicU64::new(0)).collect());
    let outcome = ondeck_sim::run(machine, &Options { seed: 1, record: false }, || {
        let start = |(index, (cpu, body)): (usize, (u32, Body))| {
            let results = results.clone();
            let body = move || results[index].store(body(), Ordering::Relaxed);
            Simulated::start_thread(Some(cpu), Box::new(body))
        };
        let threads: Vec<_> = bodies.into_iter().enumerate().map(start).collect();
        threads.into_iter().for_each(Simulated::join);
    });
    outcome.map_err(|failure| format!("{}: {failure}", machine.name))?;
    Ok(results.iter().map(|result| result.load(Ordering::Relaxed)).collect())
}

/// How long the caller's loop takes.
fn timed(body: impl FnOnce()) -> u64 {
    let start = Simulated::ticks();
    body();
    Simulated::ticks() - start
}

/// Nanoseconds per turn.
fn per_turn(ps: u64, turns: u64) -> f64 {
    ps as f64 / turns as f64 / 1000.0
}

/// Two threads hand a word to and fro, each by compare-exchange until it succeeds: half of a round trip.
pub(super) fn ping_pong(machine: &Machine, cpus: [u32; 2]) -> Result<f64, String> {
    const ROUNDS: u64 = 2000;
    let word = Line::new(0);
    let side = |from: u64, cpu: u32| -> (u32, Body) {
        let word = word.clone();
        let turns = move || {
            for _ in 0..ROUNDS {
                while word.0.compare_exchange(from, 1 - from, SeqCst, SeqCst).is_err() {}
            }
        };
        (cpu, Box::new(move || timed(turns)))
    };
    let times = on_cpus(machine, vec![side(0, cpus[0]), side(1, cpus[1])])?;
    Ok(per_turn(times[0], 2 * ROUNDS))
}

/// How threads count together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    /// By atomic addition, whose result nobody takes.
    Add,
    /// By compare-exchange until it succeeds, each time with the value that the last one has found.
    Exchange,
}

/// `n` threads on as many hardware threads, those that the system fills first, count in one word: nanoseconds that one
/// count takes a thread on average.
pub(super) fn contended(machine: &Machine, n: u32, how: Count) -> Result<f64, String> {
    const TURNS: u64 = 2000;
    let word = Line::new(0);
    let all = u64::from(n) * TURNS;
    let body = |cpu: u32| -> (u32, Body) {
        let word = word.clone();
        let turns = move || match how {
            // Each does its part, as nobody knows how many there are. The load comes after all that the thread has added.
            Count::Add => {
                (0..TURNS).for_each(|_| word.0.count(1));
                word.0.load(Relaxed);
            }
            Count::Exchange => while exchange(&word.0) < all {},
        };
        (cpu, Box::new(move || timed(turns)))
    };
    let times = on_cpus(machine, by_rank(machine, n).into_iter().map(body).collect())?;
    Ok(per_turn(times.iter().sum::<u64>() / u64::from(n), TURNS))
}

/// Counts one, and gives how many there are.
fn exchange(word: &SimU64) -> u64 {
    let mut seen = word.load(Relaxed);
    while let Err(now) = word.compare_exchange(seen, seen + 1, SeqCst, SeqCst) {
        seen = now;
    }
    seen + 1
}

/// The hardware threads that the system fills first.
fn by_rank(machine: &Machine, n: u32) -> Vec<u32> {
    let mut cpus: Vec<u32> = (0..machine.cpus.len() as u32).collect();
    cpus.sort_by_key(|&cpu| (machine.cpus[cpu as usize].rank, cpu));
    cpus.truncate(n as usize);
    cpus
}

/// A call and the loop around it, in units of work (turns of an empty loop).
const CALL: u32 = 6;
const CALLS: u64 = 1000;

/// A call in a loop.
fn calls(machine: &Machine, cpu: u32, call: impl Fn() + Send + 'static) -> Result<f64, String> {
    let turn = move || {
        Simulated::work(CALL);
        call();
    };
    let times = on_cpus(machine, vec![(cpu, Box::new(move || timed(|| (0..CALLS).for_each(|_| turn()))))])?;
    Ok(per_turn(times[0], CALLS))
}

/// Go's `procyield(pauses)`.
pub(super) fn procyield(machine: &Machine, cpu: u32, pauses: u32) -> Result<f64, String> {
    calls(machine, cpu, move || (0..pauses).for_each(|_| Simulated::pause()))
}

/// Go's `osyield`.
pub(super) fn osyield(machine: &Machine, cpu: u32) -> Result<f64, String> {
    calls(machine, cpu, Simulated::yield_now)
}

/// A ticket lock whose waiters look at the ticket being served all the time: what a thread does in turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tickets {
    /// Threads.
    pub(super) n: u32,
    /// Units of work outside, on average; the lengths are drawn from an exponential distribution.
    pub(super) outside: u32,
    /// Units of work inside.
    pub(super) inside: u32,
}

/// Nanoseconds per acquisition, of all threads together.
pub(super) fn tickets(machine: &Machine, tickets: Tickets) -> Result<f64, String> {
    const TURNS: u64 = 600;
    let (next, serving) = (Line::new(0), Line::new(0));
    let body = |cpu: u32| -> (u32, Body) {
        let (next, serving) = (next.clone(), serving.clone());
        let turn = move |random: &mut u64| {
            Simulated::work(exponential(random, tickets.outside));
            let mine = next.0.fetch_add(1, SeqCst);
            while serving.0.load(SeqCst) != mine {
                Simulated::work(2);
            }
            Simulated::work(tickets.inside);
            serving.0.store(mine + 1, Ordering::Release);
        };
        let mut random = u64::from(cpu) + 1;
        (cpu, Box::new(move || timed(|| (0..TURNS).for_each(|_| turn(&mut random)))))
    };
    let times = on_cpus(machine, by_rank(machine, tickets.n).into_iter().map(body).collect())?;
    let mean = times.iter().sum::<u64>() / u64::from(tickets.n);
    Ok(per_turn(mean, TURNS * u64::from(tickets.n)))
}

/// A draw from an exponential distribution of this mean.
fn exponential(random: &mut u64, mean: u32) -> u32 {
    *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let uniform = ((*random >> 33) as f64 + 1.0) / (1u64 << 31) as f64;
    (-uniform.ln() * f64::from(mean)) as u32
}
