//! `handoff-fast` and `handoff-slow`, after Go's `BenchmarkMutexHandoff`: how long does the lock take to pass from a
//! thread that releases it to the one that waits for it?
//!
//! The *giver* acquires, tells the *taker* to come, waits a while, reads the clock and releases. The taker acquires and
//! reads the clock. The difference of the two readings is one pass. In the fast kind the giver does not wait, so the
//! taker is still on its core; in the slow kind it waits until the taker sleeps in the lock.

use crate::bench_lock::BenchLock;
use crate::conditions::{Conditions, End};
use crate::crew::{COUNT, Crew, STOP, Stage, watch};
use crate::measure::{Timings, count_window};
use crate::world::{Alone, World};
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

struct Handoff<L, W: World> {
    lock: Alone<L>,
    /// Acquisitions of both.
    count: Alone<W::U64>,
    baton: Alone<Baton<W>>,
    hold: Hold,
}

struct Baton<W: World> {
    turn: W::U64,
    /// When the taker acquired, in ticks; written after its release, for the giver to read on its turn.
    taken: W::U64,
}

impl<W: World> Baton<W> {
    /// Stays on the core until it is `whose` turn, or until all is over, which gives false. Yields now and then: the
    /// two may share one core.
    fn wait_for_turn(&self, whose: u64, stage: &Stage<W>) -> bool {
        let mut pauses = 0u32;
        while self.turn.load(Acquire) != whose {
            if stage.phase() == STOP {
                return false;
            }
            pauses += 1;
            if pauses.is_multiple_of(10_000) { W::yield_now() } else { W::pause() }
        }
        true
    }
}

/// What the two bring home.
#[derive(Default)]
struct Passes {
    /// Acquisitions made.
    acquired: u64,
    /// Passes in the counting window, in ticks. The giver's only.
    timed: Timings,
}

impl<L: BenchLock, W: World> Handoff<L, W> {
    fn new(hold: Hold) -> Self {
        let baton = Baton { turn: W::U64::new(GIVER), taken: W::U64::new(0) };
        Handoff { lock: Alone(L::new()), count: Alone(W::U64::new(0)), baton: Alone(baton), hold }
    }
}

/// The two parts, whatever the lock is.
trait Parts<W: World>: Send + Sync {
    /// The giver's.
    fn give(&self, stage: &Stage<W>) -> Passes;
    /// The taker's.
    fn take(&self, stage: &Stage<W>) -> Passes;
    /// Acquisitions of both.
    fn updates(&self) -> u64;
}

impl<L: BenchLock, W: World> Parts<W> for Handoff<L, W> {
    fn give(&self, stage: &Stage<W>) -> Passes {
        let mut passes = Passes::default();
        while stage.phase() != STOP {
            let released = self.lock.0.with(|| {
                let count = self.count.0.load(Relaxed) + 1;
                self.count.0.store(count, Relaxed);
                self.baton.0.turn.store(TAKER, Release);
                self.wait_for_sleeper();
                // Once more: should the taker be inside already, its update is lost and will be missed. The line is
                // still here, so this costs the pass nothing.
                self.count.0.store(count, Relaxed);
                W::ticks()
            });
            passes.acquired += 1;
            if !self.baton.0.wait_for_turn(GIVER, stage) {
                break;
            }
            if stage.phase() == COUNT {
                passes.timed.record(self.baton.0.taken.load(Relaxed).saturating_sub(released));
            }
            stage.counter(0).store(passes.acquired, Relaxed);
        }
        passes
    }

    fn take(&self, stage: &Stage<W>) -> Passes {
        let mut passes = Passes::default();
        while self.baton.0.wait_for_turn(TAKER, stage) {
            let taken = self.lock.0.with(|| {
                let taken = W::ticks();
                W::add_one(&self.count.0);
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

impl<L: BenchLock, W: World> Handoff<L, W> {
    fn wait_for_sleeper(&self) {
        if self.hold == Hold::Short {
            return;
        }
        let began = W::now_ns();
        while self.lock.0.shows_sleeper() != Some(true) {
            if W::now_ns() - began >= UNKNOWN_NS {
                return;
            }
            W::pause();
        }
        W::pause_ns(FALL_ASLEEP_NS as u32);
    }
}

pub(crate) fn run<L: BenchLock, W: World>(conditions: &Conditions, hold: Hold) -> Result<Row, End> {
    measure::<W>(conditions, Arc::new(Handoff::<L, W>::new(hold)))
}

fn measure<W: World>(conditions: &Conditions, parts: Arc<dyn Parts<W>>) -> Result<Row, End> {
    let theirs = parts.clone();
    let body = move |stage: &Stage<W>, me| if me == 0 { theirs.give(stage) } else { theirs.take(stage) };
    let crew = Crew::start(conditions, 2, Arc::new(body))?;
    crew.begin();
    watch(&[&crew], conditions.warm_up_ns())?;
    let mut row = conditions.row();
    count_window(&crew, conditions, 1, &mut row)?;
    let passes = crew.dismiss()?;
    conditions.check_updates(passes.iter().map(|of| of.acquired).sum(), parts.updates())?;
    // A round is mostly the giver's hold time, so its rate says nothing, and the two threads take turns by construction.
    passes[0].timed.fill(W::ns_per_tick(), &mut row);
    Ok(row)
}
