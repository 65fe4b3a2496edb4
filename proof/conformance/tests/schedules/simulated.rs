//! What no real machine can be asked to do: locks on simulated cores that never write twice while another wants the line.

use ondeck_core::{Atomic, Platform};
use ondeck_lineage::ondeck::{BALANCED, Balanced, LOW_LATENCY, LowLatency, Policy, RawOndeck};
use ondeck_lineage::{RawLock, RawTimedLock};
use ondeck_sim::machine::{self, Machine};
use ondeck_sim::{Options, SimU64, Simulated};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

const RUN_NS: u64 = 10_000_000;

/// Cycles of work in a section, and between two.
type Work = (u32, u32);

const SHORT: Work = (20, 60);

#[repr(align(128))]
struct CachePadded<T>(T);

/// A lock that is wanted again and again, and what became of it.
struct ContendedLock<T: Policy = Balanced> {
    lock: CachePadded<RawOndeck<Simulated, T>>,
    count: CachePadded<SimU64>,
    is_over: CachePadded<AtomicBool>,
    longest_wait_ns: AtomicU64,
    /// Deadlines that have passed, and the longest time by which one was.
    given_up: AtomicU64,
    longest_overrun_ns: AtomicU64,
}

impl<T: Policy> ContendedLock<T> {
    fn new() -> Arc<ContendedLock<T>> {
        Arc::new(ContendedLock {
            lock: CachePadded(RawOndeck::new()),
            count: CachePadded(Atomic::new(0)),
            is_over: CachePadded(AtomicBool::new(false)),
            longest_wait_ns: AtomicU64::new(0),
            given_up: AtomicU64::new(0),
            longest_overrun_ns: AtomicU64::new(0),
        })
    }

    fn acquire(&self, deadline: Option<u64>) -> bool {
        let Some(deadline) = deadline else {
            self.lock.0.acquire();
            return true;
        };
        self.lock.0.try_acquire_until(deadline)
    }

    /// Wants the lock until all is over, each time for `patience_ns` at most if there is one.
    fn want(&self, (inside, outside): Work, patience_ns: Option<u64>) {
        while !self.is_over.0.load(Relaxed) {
            let asked_at = Simulated::now_ns();
            let deadline = patience_ns.map(|ns| asked_at + ns);
            let is_in = self.acquire(deadline);
            let now = Simulated::now_ns();
            self.longest_overrun_ns.fetch_max(now.saturating_sub(deadline.unwrap_or(u64::MAX)), Relaxed);
            if !is_in {
                self.given_up.fetch_add(1, Relaxed);
                continue;
            }
            self.longest_wait_ns.fetch_max(now - asked_at, Relaxed);
            let count = self.count.0.load(Relaxed);
            Simulated::work(inside);
            self.count.0.store(count + 1, Relaxed);
            // SAFETY: acquired above.
            unsafe { self.lock.0.release() };
            Simulated::work(outside);
        }
    }

    fn count(&self) -> u64 {
        self.count.0.load(Relaxed)
    }
}

/// One thread for each element, with deadlines where it says so.
fn contend(machine: &Machine, work: Work, patience_ns: &[Option<u64>]) -> Arc<ContendedLock> {
    contend_by_seed(1, machine, work, patience_ns)
}

fn contend_by_seed<T: Policy>(
    seed: u64,
    machine: &Machine,
    work: Work,
    patience_ns: &[Option<u64>],
) -> Arc<ContendedLock<T>> {
    let outcome = ondeck_sim::run(machine, &Options { seed, record: false }, || {
        let wanted = ContendedLock::new();
        let start = |&patience_ns: &Option<u64>| {
            let wanted = wanted.clone();
            Simulated::start_thread(None, Box::new(move || wanted.want(work, patience_ns)))
        };
        let threads: Vec<_> = patience_ns.iter().map(start).collect();
        Simulated::sleep_ns(RUN_NS);
        wanted.is_over.0.store(true, Relaxed);
        threads.into_iter().for_each(Simulated::join);
        wanted
    });
    outcome.expect("the run ends").value
}

/// Where a line that others wait for is always gone after one operation, no compare-exchange that was prepared by a load
/// ever meets the value that the load saw, as long as a holder writes all the time.
fn without_luck() -> Machine {
    let mut machine = machine::find("epyc-2x48", None).expect("a machine that there is");
    machine.memory.write_again = 0;
    machine
}

#[test]
fn nobody_needs_luck_against_the_holder() {
    let machine = without_luck();
    let alone = contend(&machine, SHORT, &[None]).count();
    for n_threads in [4, 16] {
        let wanted = contend(&machine, SHORT, &vec![None; n_threads as usize]);
        let (count, wait_ns) = (wanted.count(), wanted.longest_wait_ns.load(Relaxed));
        assert!(count * 100 > alone * 85, "{n_threads} threads: {count} acquisitions, one alone {alone}");
        let promised_ns = BALANCED.longest_wait_ns(n_threads - 1, 1_000, 50_000);
        assert!(wait_ns < promised_ns, "{n_threads} threads: waited {wait_ns} ns of {promised_ns}");
    }
}

/// Seats are given up, lines broken and sleepers unlinked against such a holder too.
#[test]
fn a_deadline_needs_no_luck_either() {
    const PATIENCE_NS: u64 = 30_000;
    // With 24 seeds it was 0.45 ms at most.
    const LATE_NS: u64 = 1_000_000;
    let timed = [Some(PATIENCE_NS); 3];
    let wanted = contend(&without_luck(), SHORT, &[&[None], timed.as_slice()].concat());
    let (given_up, overrun_ns) = (wanted.given_up.load(Relaxed), wanted.longest_overrun_ns.load(Relaxed));
    assert!(given_up > 100, "{given_up} deadlines have passed");
    assert!(overrun_ns < LATE_NS, "a deadline was overrun by {overrun_ns} ns");
}

/// What no mistake of judgement on deck may cost: one thread's throughput is kept but for a quarter, more is had where the
/// work outside allows it, and nobody waits longer than is promised.
fn contention_costs_little(machine: &str) {
    /// One run may lie some per cent off.
    const N_SEEDS: u64 = 4;
    let machine = machine::find(machine, None).expect("a machine that there is");
    for (work, least_percent) in [(SHORT, 75), ((100, 400), 75), ((400, 100), 75), ((2_000, 8_000), 160)] {
        let alone = contend(&machine, work, &[None]).count();
        for n_threads in [2, 4, 16] {
            let by_seed = |seed| contend_by_seed::<Balanced>(seed, &machine, work, &vec![None; n_threads as usize]);
            let runs: Vec<_> = (1..=N_SEEDS).map(by_seed).collect();
            let percent = runs.iter().map(|run| run.count()).sum::<u64>() * 100 / (alone * N_SEEDS);
            let wait_ns = runs.iter().map(|run| run.longest_wait_ns.load(Relaxed)).max().expect("there are runs");
            assert!(percent > least_percent, "{work:?} by {n_threads} threads: {percent} % of one");
            let promised_ns = BALANCED.longest_wait_ns(n_threads - 1, 1_000, 50_000);
            assert!(wait_ns < promised_ns, "{work:?} by {n_threads} threads: waited {wait_ns} ns of {promised_ns}");
        }
    }
}

#[test]
fn contention_costs_little_where_cores_differ() {
    contention_costs_little("i7-13700h");
}

#[test]
fn contention_costs_little_where_lines_are_near() {
    contention_costs_little("graviton3");
}

#[test]
fn contention_costs_little_where_lines_are_far() {
    contention_costs_little("spr-2x56");
}

/// Where a line takes long to come, a lock that is not hot may look free at each poll and be taken again by the time of the
/// compare-exchange. The thread on deck asks for it all the same.
#[test]
fn a_lock_that_looks_free_is_asked_for_in_time() {
    let machine = machine::find("epyc-2x48", None).expect("a machine that there is");
    let promised_ns = LOW_LATENCY.longest_wait_ns(1, 1_000, 5_000);
    for seed in 1..=4 {
        let wanted = contend_by_seed::<LowLatency>(seed, &machine, (100, 300), &[None; 2]);
        let wait_ns = wanted.longest_wait_ns.load(Relaxed);
        assert!(wait_ns < promised_ns, "seed {seed}: waited {wait_ns} ns of {promised_ns}");
    }
}
