//! `gc-wait`, after golang/go commit 475d113b (CL 21503): how long does a thread spin, before it yields, for a state
//! that another thread keeps for some microseconds?
//!
//! Each thread stands for a goroutine and its part in the collector's work at once. It puts its own status word into a
//! passing state and works for a time drawn from the commit's histogram, leaves the state, and looks at the status of
//! another thread, drawn at random. If that is in its passing state, the thread waits until it has left it, with
//! [`SpinWait`]; this wait is the operation. Then it works outside for another time from the histogram. A thread that
//! waits is not in the passing state itself, so no two wait for each other.
//!
//! Two rows: `gc-wait/status`, the passing states as long as `casgstatus` found them, and `gc-wait/scan`, as `scang` did.
//! Work is work, not waiting for a clock: a thread that loses its core keeps its state the longer, and that is what
//! oversubscription does. There is no lock, and nothing under one that could be lost; the column `lock` names the policy.

use crate::conditions::{Conditions, End};
use crate::execution::{CachePadded, Execution};
use crate::measure::{Timings, measure_counting, units_per_ns};
use crate::thread_group::{COUNT, GroupState, STOP};
use ondeck_core::Atomic;
use ondeck_lineage::{SpinPolicy, SpinWait};
use ondeck_report::row::Row;
use ondeck_sim::Random;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// How long a passing state lasts: the histogram that the commit shows, of bins of equal width, in nanoseconds.
struct Holds {
    name: &'static str,
    from: f64,
    to: f64,
    counts: [u32; 30],
}

/// What `casgstatus` waited for, up to 140 us.
static STATUS: Holds = Holds {
    name: "status",
    from: 631.0,
    to: 140_000.0,
    counts: [3, 5, 2, 6, 5, 6, 6, 2, 1, 3, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1],
};

/// What `scang` waited for, the part below 200 us. The commit shows waits up to 54 ms too: those of goroutines that had
/// lost their core, which happens here by itself.
static SCAN: Holds = Holds {
    name: "scan",
    from: 13_707.0,
    to: 200_000.0,
    counts: [2, 2, 9, 8, 12, 10, 5, 6, 5, 6, 6, 4, 1, 1, 2, 0, 2, 2, 1, 1, 0, 2, 1, 1, 0, 0, 1, 1, 2, 0],
};

impl Holds {
    /// A time: a bin by its count, and in it any moment.
    fn draw_ns(&self, random: &mut Random) -> f64 {
        let bin = random.weighted(&self.counts);
        let width = (self.to - self.from) / self.counts.len() as f64;
        let part = f64::from(random.below(1 << 20)) / f64::from(1 << 20);
        self.from + width * (bin as f64 + part)
    }
}

struct Statuses<E: Execution> {
    /// One per thread: odd while in the passing state, and never twice the same.
    words: Box<[CachePadded<E::U64>]>,
    holds: &'static Holds,
    policy: SpinPolicy,
    units_per_ns: f64,
}

impl<E: Execution> Statuses<E> {
    fn new(threads: u32, holds: &'static Holds, policy: SpinPolicy, units_per_ns: f64) -> Self {
        let words = (0..threads).map(|_| CachePadded(E::U64::new(0))).collect();
        Statuses { words, holds, policy, units_per_ns }
    }

    /// All that a thread does; gives its waits in the counting window, in nanoseconds.
    fn work(&self, state: &GroupState<E>, me: u32) -> Timings {
        let (mut random, mut n_waits, mut waited) = (E::random(me), 0, Timings::default());
        while state.phase() != STOP {
            self.pass_through(me, &mut random);
            if let Some(ticks) = self.wait_for(self.other(me, &mut random)) {
                n_waits += 1;
                state.counter(me).store(n_waits, Relaxed);
                if state.phase() == COUNT {
                    waited.record((ticks as f64 * E::ns_per_tick()) as u64);
                }
            }
            self.spend(&mut random);
        }
        waited
    }

    /// Takes on the passing state and leaves it.
    fn pass_through(&self, me: u32, random: &mut Random) {
        let word = &self.words[me as usize].0;
        let before = word.load(Relaxed);
        word.store(before + 1, Relaxed);
        self.spend(random);
        word.store(before + 2, Release);
    }

    /// Any thread but `me`.
    fn other(&self, me: u32, random: &mut Random) -> u32 {
        let n = self.words.len() as u32;
        (me + 1 + random.below(n - 1)) % n
    }

    /// Waits until the thread has left the passing state; for how many ticks, if it was in it.
    fn wait_for(&self, other: u32) -> Option<u64> {
        let word = &self.words[other as usize].0;
        let seen = word.load(Acquire);
        if seen.is_multiple_of(2) {
            return None;
        }
        let began = E::ticks();
        SpinWait::<E>::with_policy(self.policy).wait_until(|| word.load(Acquire) != seen);
        Some(E::ticks().saturating_sub(began))
    }

    fn spend(&self, random: &mut Random) {
        E::spend((self.holds.draw_ns(random) * self.units_per_ns) as u32);
    }
}

pub(crate) fn run<E: Execution>(conditions: &Conditions, policy: SpinPolicy) -> Result<Vec<Row>, End> {
    [&STATUS, &SCAN].into_iter().map(|holds| measure::<E>(conditions, holds, policy)).collect()
}

fn measure<E: Execution>(conditions: &Conditions, holds: &'static Holds, policy: SpinPolicy) -> Result<Row, End> {
    let pace = units_per_ns::<E>(conditions)?;
    let statuses = Statuses::<E>::new(conditions.threads, holds, policy, pace);
    let body = Arc::new(move |state: &GroupState<E>, me| statuses.work(state, me));
    let (mut row, all) = measure_counting(conditions, conditions.threads, body)?;
    row.workload = format!("{}/{}", conditions.workload, holds.name);
    let mut waited = Timings::default();
    all.iter().for_each(|theirs| waited.merge(theirs));
    // How many waits there are is a matter of chance.
    waited.fill(1.0, &mut row);
    row.waits = Some(waited.spread);
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ondeck_core::Hardware;

    #[test]
    fn times_are_distributed_as_in_the_source() {
        let mut random = Random::new(1);
        for (holds, mean_ns) in [(&STATUS, 30_000.0), (&SCAN, 70_000.0)] {
            let draws: Vec<f64> = (0..10_000).map(|_| holds.draw_ns(&mut random)).collect();
            assert!(draws.iter().all(|ns| (holds.from..=holds.to).contains(ns)), "{}", holds.name);
            let mean = draws.iter().sum::<f64>() / draws.len() as f64;
            assert!((mean - mean_ns).abs() < 0.15 * mean_ns, "{}: {mean}", holds.name);
        }
    }

    /// Whether a thread has waited for a status that passed for so long.
    fn has_waited(pause_ns: u64) -> bool {
        let statuses = Arc::new(Statuses::<Hardware>::new(2, &STATUS, SpinPolicy::STATUS_WAIT, 1.0));
        assert_eq!(statuses.wait_for(1), None);
        statuses.words[1].0.store(1, Relaxed);
        let theirs = statuses.clone();
        let waiter = std::thread::spawn(move || theirs.wait_for(1));
        Hardware::sleep_ns(pause_ns);
        assert!(!waiter.is_finished());
        statuses.words[1].0.store(2, Release);
        waiter.join().unwrap().is_some()
    }

    #[test]
    fn a_settled_status_is_not_waited_for_and_a_passing_one_is() {
        // A thread that gets no core for all the pause comes when the status is settled.
        let waited = (0..13).map(|turn| 10_000_000 << turn).any(has_waited);
        assert!(waited, "no thread has waited for a status, though one passed for 40 s");
    }

    #[test]
    fn another_thread_is_never_oneself() {
        let statuses = Statuses::<Hardware>::new(3, &STATUS, SpinPolicy::STATUS_WAIT, 1.0);
        let mut random = Random::new(1);
        let mut others: Vec<u32> = (0..100).map(|_| statuses.other(1, &mut random)).collect();
        others.sort_unstable();
        others.dedup();
        assert_eq!(others, [0, 2]);
    }
}
