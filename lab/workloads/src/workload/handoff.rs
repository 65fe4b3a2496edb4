//! `handoff-fast` and `handoff-slow`, after Go's `BenchmarkMutexHandoff`: how long does the lock take to pass from a
//! thread that releases it to the one that waits for it?
//!
//! The *giver* acquires, tells the *taker* to come, waits a while, reads the clock and releases. The taker acquires and
//! reads the clock. The difference of the two readings is one pass. In the fast kind the giver does not wait, so the
//! taker is still on its core; in the slow kind it waits until the taker sleeps in the lock.

use crate::bench_lock::BenchLock;
use crate::conditions::{Conditions, End};
use crate::execution::{CachePadded, Execution};
use crate::measure::{Timings, measure_counting};
use crate::thread_group::{COUNT, GroupState, STOP};
use ondeck_core::Atomic;
use ondeck_report::row::Row;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// How long the giver holds the lock after it has told the taker to come.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Hold {
    /// Not at all.
    Short,
    /// Until the taker sleeps.
    UntilAsleep,
}

/// Added wait after the lock shows a sleeper: it may be on its way into the system only. The original's figure.
const FALL_ASLEEP_NS: u64 = 10_000;
/// Wait where the lock cannot show its sleepers, or has shown none in this time: a lock may keep a waiter awake for
/// good. All peers sleep well before.
const UNKNOWN_NS: u64 = 100_000;

/// Whose turn it is, in `turn`.
const GIVER: u64 = 0;
const TAKER: u64 = 1;

struct Handoff<L, E: Execution> {
    lock: CachePadded<L>,
    /// Acquisitions of both.
    count: CachePadded<E::U64>,
    baton: CachePadded<Baton<E>>,
    hold: Hold,
}

struct Baton<E: Execution> {
    turn: E::U64,
    /// When the taker acquired, in ticks; written after its release, for the giver to read on its turn.
    taken: E::U64,
}

impl<E: Execution> Baton<E> {
    /// Stays on the core until it is `whose` turn, or until all is over, which gives false. Yields now and then: the
    /// two may share one core.
    fn wait_for_turn(&self, whose: u64, state: &GroupState<E>) -> bool {
        let mut pauses = 0u32;
        while self.turn.load(Acquire) != whose {
            if state.phase() == STOP {
                return false;
            }
            pauses += 1;
            if pauses.is_multiple_of(10_000) { E::yield_now() } else { E::pause() }
        }
        true
    }
}

/// What the two bring home.
#[derive(Default)]
struct PassReport {
    /// Acquisitions made.
    acquired: u64,
    /// Passes in the counting window, in ticks. The giver's only.
    timed: Timings,
}

impl<L: BenchLock, E: Execution> Handoff<L, E> {
    fn new(hold: Hold) -> Self {
        let baton = Baton { turn: E::U64::new(GIVER), taken: E::U64::new(0) };
        Handoff { lock: CachePadded(L::new()), count: CachePadded(E::U64::new(0)), baton: CachePadded(baton), hold }
    }
}

/// The two parts, whatever the lock is.
trait HandoffRoles<E: Execution>: Send + Sync {
    /// The giver's.
    fn give(&self, state: &GroupState<E>) -> PassReport;
    /// The taker's.
    fn take(&self, state: &GroupState<E>) -> PassReport;
    /// Acquisitions of both.
    fn updates(&self) -> u64;
}

impl<L: BenchLock, E: Execution> HandoffRoles<E> for Handoff<L, E> {
    fn give(&self, state: &GroupState<E>) -> PassReport {
        let mut passes = PassReport::default();
        while state.phase() != STOP {
            let released = self.lock.0.with(|| {
                let count = self.count.0.load(Relaxed) + 1;
                self.count.0.store(count, Relaxed);
                self.baton.0.turn.store(TAKER, Release);
                self.wait_for_sleeper();
                // Once more: should the taker be inside already, its update is lost and will be missed. The line is
                // still here, so this costs the pass nothing.
                self.count.0.store(count, Relaxed);
                E::ticks()
            });
            passes.acquired += 1;
            if !self.baton.0.wait_for_turn(GIVER, state) {
                break;
            }
            if state.phase() == COUNT {
                passes.timed.record(self.baton.0.taken.load(Relaxed).saturating_sub(released));
            }
            state.counter(0).store(passes.acquired, Relaxed);
        }
        passes
    }

    fn take(&self, state: &GroupState<E>) -> PassReport {
        let mut passes = PassReport::default();
        while self.baton.0.wait_for_turn(TAKER, state) {
            let taken = self.lock.0.with(|| {
                let taken = E::ticks();
                E::add_one(&self.count.0);
                taken
            });
            passes.acquired += 1;
            self.baton.0.taken.store(taken, Relaxed);
            self.baton.0.turn.store(GIVER, Release);
        }
        passes
    }

    fn updates(&self) -> u64 {
        self.count.0.load(Relaxed)
    }
}

impl<L: BenchLock, E: Execution> Handoff<L, E> {
    fn wait_for_sleeper(&self) {
        if self.hold == Hold::Short {
            return;
        }
        let began = E::now_ns();
        while self.lock.0.shows_sleeper() != Some(true) {
            if E::now_ns() - began >= UNKNOWN_NS {
                return;
            }
            E::pause();
        }
        E::pause_ns(FALL_ASLEEP_NS as u32);
    }
}

pub(crate) fn run<L: BenchLock, E: Execution>(conditions: &Conditions, hold: Hold) -> Result<Row, End> {
    measure::<E>(conditions, Arc::new(Handoff::<L, E>::new(hold)))
}

fn measure<E: Execution>(conditions: &Conditions, parts: Arc<dyn HandoffRoles<E>>) -> Result<Row, End> {
    let theirs = parts.clone();
    let body = move |state: &GroupState<E>, me| if me == 0 { theirs.give(state) } else { theirs.take(state) };
    let (mut row, passes) = measure_counting(conditions, 2, Arc::new(body))?;
    conditions.check_updates(passes.iter().map(|of| of.acquired).sum(), parts.updates())?;
    // A round is mostly the giver's hold time, so its rate says nothing, and the two threads take turns by construction.
    passes[0].timed.fill(E::ns_per_tick(), &mut row);
    Ok(row)
}
