//! The threads of one measurement: started together, counted from outside, stopped by a word.
//!
//! Nobody here may hang, whatever the lock under measurement does: whoever waits for the crew watches its counters, and
//! gives it up when they have stood still for too long.

use crate::conditions::{Conditions, End};
use crate::world::{Alone, World};
use ondeck_core::Atomic;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64, fence};
use std::sync::{Arc, Mutex, PoisonError};

/// Threads run, nothing is measured yet.
pub(crate) const WARM_UP: u32 = 0;
/// Operations are counted between two snapshots; the loops are bare.
pub(crate) const COUNT: u32 = 1;
/// Every acquisition is timed.
pub(crate) const TIME: u32 = 2;
/// Threads leave.
pub(crate) const STOP: u32 = 3;

/// The threads wait at the gate.
const SHUT: u32 = 0;
/// They may begin.
const OPEN: u32 = 1;
/// They go home without having done anything.
const CALLED_OFF: u32 = 2;

/// How often a sleeping measurer looks whether it was interrupted, and whether the crew still moves.
const LOOK_NS: u64 = 50_000_000;

/// What a crew and its measurer share.
pub(crate) struct Stage<W: World> {
    /// Written a few times per measurement, read at every operation.
    script: Alone<Script>,
    /// Operations that each thread has done, written by that thread only.
    counters: Box<[Alone<AtomicU64>]>,
    /// [`SHUT`], then [`OPEN`] or [`CALLED_OFF`] for good.
    gate: W::U32,
    arrived: W::U32,
    left: W::U32,
}

struct Script {
    phase: AtomicU32,
    /// Bounds of the phase [`TIME`] in ticks; `until` is the end of time while it is not known.
    timed_from: AtomicU64,
    timed_until: AtomicU64,
}

impl<W: World> Stage<W> {
    fn new(threads: u32) -> Self {
        let script = Script {
            phase: AtomicU32::new(WARM_UP),
            timed_from: AtomicU64::new(u64::MAX),
            timed_until: AtomicU64::new(u64::MAX),
        };
        Stage {
            script: Alone(script),
            counters: (0..threads).map(|_| Alone(AtomicU64::new(0))).collect(),
            gate: W::U32::new(SHUT),
            arrived: W::U32::new(0),
            left: W::U32::new(0),
        }
    }

    /// What is being done at the moment.
    #[inline(always)]
    pub(crate) fn phase(&self) -> u32 {
        self.script.0.phase.load(Relaxed)
    }

    /// When the timed phase began and ended, in ticks; the end of time for what has not come yet. A thread that has
    /// seen a phase gets the bounds that come before it.
    pub(crate) fn timed_bounds(&self) -> (u64, u64) {
        // With the release in `enter`.
        fence(Acquire);
        (self.script.0.timed_from.load(Relaxed), self.timed_until())
    }

    /// The second of [`timed_bounds`](Stage::timed_bounds), possibly a moment late.
    #[inline(always)]
    pub(crate) fn timed_until(&self) -> u64 {
        self.script.0.timed_until.load(Relaxed)
    }

    /// Where thread number `me` counts.
    pub(crate) fn counter(&self, me: u32) -> &AtomicU64 {
        &self.counters[me as usize].0
    }

    /// Reports the calling thread as started and sleeps until all may begin; false if it is called off.
    fn may_begin(&self) -> bool {
        count_one::<W>(&self.arrived, self.counters.len() as u32);
        while self.gate.load(Acquire) == SHUT {
            W::wait_on(&self.gate, SHUT, None);
        }
        self.gate.load(Acquire) == OPEN
    }

    /// Lets the threads out, if they are still at the gate.
    fn end_wait_at_gate(&self, how: u32) {
        if self.gate.compare_exchange(SHUT, how, Release, Relaxed).is_ok() {
            W::wake(&self.gate, u32::MAX);
        }
    }

    fn enter(&self, phase: u32) {
        match phase {
            TIME => self.script.0.timed_from.store(W::ticks(), Relaxed),
            STOP => self.script.0.timed_until.store(W::ticks(), Relaxed),
            _ => (),
        }
        self.script.0.phase.store(phase, Release);
    }
}

/// Counts one up and wakes whoever waits for `all`.
pub(crate) fn count_one<W: World>(count: &W::U32, all: u32) {
    if count.fetch_add(1, Release) + 1 == all {
        W::wake(count, u32::MAX);
    }
}

/// What each thread of a crew does, with the stage and its number. A table of functions, so that a crew is compiled once
/// for all locks.
pub(crate) type Body<W, R> = dyn Fn(&Stage<W>, u32) -> R + Send + Sync;

/// Threads that are at work on one stage. Dropped without [`dismiss`](Crew::dismiss), it lets them go unwatched.
pub(crate) struct Crew<'a, W: World, R> {
    stage: Arc<Stage<W>>,
    threads: Vec<W::Thread>,
    reports: Arc<[Mutex<Option<R>>]>,
    conditions: &'a Conditions<'a>,
}

impl<'a, W: World, R: Send + 'static> Crew<'a, W, R> {
    /// Starts `n` threads, which sleep at the gate. Each then does `body` with the stage and its number.
    pub(crate) fn start(conditions: &'a Conditions<'a>, n: u32, body: Arc<Body<W, R>>) -> Result<Self, End> {
        let stage = Arc::new(Stage::<W>::new(n));
        W::keep(stage.clone());
        W::keep(body.clone());
        let reports: Arc<[Mutex<Option<R>>]> = (0..n).map(|_| Mutex::new(None)).collect();
        let mut crew = Crew { stage, threads: Vec::with_capacity(n as usize), reports, conditions };
        for me in 0..n {
            let (stage, body, reports) = (crew.stage.clone(), body.clone(), crew.reports.clone());
            let work = move || {
                if stage.may_begin() {
                    let report = body(&stage, me);
                    *slot(&reports[me as usize]) = Some(report);
                }
                count_one::<W>(&stage.left, reports.len() as u32);
            };
            let thread = W::start_thread(conditions.core_of(me), Box::new(work));
            crew.threads.push(thread.map_err(|reason| conditions.cannot_start(me, reason))?);
        }
        crew.wait_for_all(&crew.stage.arrived, "threads did not start")?;
        Ok(crew)
    }

    /// Lets the threads begin.
    pub(crate) fn begin(&self) {
        self.stage.end_wait_at_gate(OPEN);
    }

    /// Goes on to `phase`.
    pub(crate) fn enter(&self, phase: u32) {
        self.stage.enter(phase);
    }

    /// How many threads it has.
    pub(crate) fn size(&self) -> u32 {
        self.stage.counters.len() as u32
    }

    /// Operations of each thread so far.
    pub(crate) fn counts(&self) -> impl Iterator<Item = u64> {
        self.stage.counters.iter().map(|counter| counter.0.load(Relaxed))
    }

    /// Stops the threads, waits until they are gone and returns what they report, in their order.
    pub(crate) fn dismiss(mut self) -> Result<Vec<R>, End> {
        self.enter(STOP);
        self.begin();
        self.wait_for_all(&self.stage.left, "threads did not come back")?;
        std::mem::take(&mut self.threads).into_iter().for_each(W::join);
        Ok(self.reports.iter().filter_map(|report| slot(report).take()).collect())
    }

    /// Waits until `count` has reached the number of threads; `otherwise` says of those that are missing what they did
    /// not do.
    pub(crate) fn wait_for_all(&self, count: &W::U32, otherwise: &str) -> Result<(), End> {
        let all = self.size();
        let mut motion = Motion::new(&[self]);
        loop {
            let seen = count.load(Acquire);
            if seen == all {
                return Ok(());
            }
            motion.check(&[self]).map_err(|end| end.because(&format!("{} of {all} {otherwise}", all - seen)))?;
            W::wait_on(count, seen, Some(W::now_ns() + LOOK_NS));
        }
    }
}

impl<W: World, R> Drop for Crew<'_, W, R> {
    /// Lets the threads go, so that an error on the way leaves nobody at the gate or at work. Those at the gate do not even
    /// begin: the error may be that the machine has not enough for them.
    fn drop(&mut self) {
        self.stage.enter(STOP);
        self.stage.end_wait_at_gate(CALLED_OFF);
    }
}

/// Sleeps for `ns` while the crews work; ends early if the run is interrupted, or if no thread of them moves.
pub(crate) fn watch<W: World, R: Send + 'static>(crews: &[&Crew<W, R>], ns: u64) -> Result<(), End> {
    let Some(conditions) = crews.first().map(|crew| crew.conditions) else { return Ok(()) };
    let end_ns = W::now_ns() + ns;
    let mut motion = Motion::new(crews);
    loop {
        let now = W::now_ns();
        if now >= end_ns {
            return Ok(());
        }
        if conditions.stop.load(Relaxed) {
            return Err(End::Interrupted);
        }
        motion.check(crews)?;
        W::sleep_ns((end_ns - now).min(LOOK_NS));
    }
}

/// Notices when nothing has moved for too long.
struct Motion {
    moves: u64,
    since_ns: u64,
}

impl Motion {
    fn new<W: World, R>(crews: &[&Crew<W, R>]) -> Self {
        Motion { moves: moves(crews), since_ns: W::now_ns() }
    }

    fn check<W: World, R: Send + 'static>(&mut self, crews: &[&Crew<W, R>]) -> Result<(), End> {
        let (moves, now) = (moves(crews), W::now_ns());
        if moves != self.moves {
            *self = Motion { moves, since_ns: now };
        }
        let (still_ns, conditions) = (now - self.since_ns, crews[0].conditions);
        if still_ns < conditions.patience_ns {
            return Ok(());
        }
        let counts = || crews.iter().flat_map(|crew| crew.counts());
        let (fewest, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
        let standstill = W::standstill().map_or(String::new(), |text| format!("\n{}", text.trim_end()));
        let detail = format!("{} operations done, {fewest} to {most} per thread{standstill}", counts().sum::<u64>());
        Err(conditions.stuck(still_ns, detail))
    }
}

/// Everything that a live crew changes now and then, as one number.
fn moves<W: World, R>(crews: &[&Crew<W, R>]) -> u64 {
    let of_crew = |crew: &&Crew<W, R>| {
        let stage = &crew.stage;
        let operations: u64 = stage.counters.iter().map(|counter| counter.0.load(Relaxed)).sum();
        operations + u64::from(stage.arrived.load(Relaxed)) + u64::from(stage.left.load(Relaxed))
    };
    crews.iter().map(of_crew).sum()
}

/// The report's place. A thread that panicked while it held this has nothing to report, so poison says nothing.
fn slot<R>(report: &Mutex<Option<R>>) -> std::sync::MutexGuard<'_, Option<R>> {
    report.lock().unwrap_or_else(PoisonError::into_inner)
}
