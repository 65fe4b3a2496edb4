//! The threads of one measurement: started together, counted from outside, stopped by a word.
//!
//! Nobody here may hang, whatever the lock under measurement does: the measurer that waits for the group watches its
//! counters, and gives it up when they have stood still for too long.

use crate::conditions::{Conditions, End};
use crate::execution::{CachePadded, Execution};
use crate::failure::Fault;
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

/// The threads wait at the door.
const SHUT: u32 = 0;
/// They may begin.
const OPEN: u32 = 1;
/// They go home without having done anything.
const CALLED_OFF: u32 = 2;

/// How often a sleeping measurer looks whether it was interrupted, and whether the group still moves.
const LOOK_NS: u64 = 50_000_000;

/// What a group and its measurer share.
pub(crate) struct GroupState<E: Execution> {
    /// Written a few times per measurement, read at every operation.
    control: CachePadded<Control>,
    /// Operations that each thread has done, written by that thread only.
    counters: Box<[CachePadded<AtomicU64>]>,
    /// [`SHUT`], then [`OPEN`] or [`CALLED_OFF`] for good.
    door: E::U32,
    arrived: E::U32,
    left: E::U32,
}

struct Control {
    phase: AtomicU32,
    /// Bounds of the phase [`TIME`] in ticks; `until` is the end of time while it is not known.
    timed_from: AtomicU64,
    timed_until: AtomicU64,
}

impl<E: Execution> GroupState<E> {
    fn new(threads: u32) -> Self {
        let control = Control {
            phase: AtomicU32::new(WARM_UP),
            timed_from: AtomicU64::new(u64::MAX),
            timed_until: AtomicU64::new(u64::MAX),
        };
        GroupState {
            control: CachePadded(control),
            counters: (0..threads).map(|_| CachePadded(AtomicU64::new(0))).collect(),
            door: E::U32::new(SHUT),
            arrived: E::U32::new(0),
            left: E::U32::new(0),
        }
    }

    /// What is being done at the moment.
    #[inline(always)]
    pub(crate) fn phase(&self) -> u32 {
        self.control.0.phase.load(Relaxed)
    }

    /// When the timed phase began and ended, in ticks; the end of time for what has not come yet. A thread that has
    /// seen a phase gets the bounds that come before it.
    pub(crate) fn timed_bounds(&self) -> (u64, u64) {
        // With the release in `enter`.
        fence(Acquire);
        (self.control.0.timed_from.load(Relaxed), self.timed_until())
    }

    /// The second of [`timed_bounds`](GroupState::timed_bounds), possibly a moment late.
    #[inline(always)]
    pub(crate) fn timed_until(&self) -> u64 {
        self.control.0.timed_until.load(Relaxed)
    }

    /// Where thread number `me` counts.
    pub(crate) fn counter(&self, me: u32) -> &AtomicU64 {
        &self.counters[me as usize].0
    }

    /// Reports the calling thread as started and sleeps until all may begin; false if it is called off.
    fn may_begin(&self) -> bool {
        count_one::<E>(&self.arrived, self.counters.len() as u32);
        while self.door.load(Acquire) == SHUT {
            E::wait_on(&self.door, SHUT, None);
        }
        self.door.load(Acquire) == OPEN
    }

    /// Lets the threads out, if they are still at the door.
    fn open_door(&self, how: u32) {
        if self.door.compare_exchange(SHUT, how, Release, Relaxed).is_ok() {
            E::wake(&self.door, u32::MAX);
        }
    }

    fn enter(&self, phase: u32) {
        match phase {
            TIME => self.control.0.timed_from.store(E::ticks(), Relaxed),
            STOP => self.control.0.timed_until.store(E::ticks(), Relaxed),
            _ => (),
        }
        self.control.0.phase.store(phase, Release);
    }
}

/// Counts one up and wakes the thread that waits for `all`.
pub(crate) fn count_one<E: Execution>(count: &E::U32, all: u32) {
    if count.fetch_add(1, Release) + 1 == all {
        E::wake(count, u32::MAX);
    }
}

/// What each thread of a group does, with the group's state and its number. A table of functions, so that a group is compiled once
/// for all locks.
pub(crate) type Body<E, R> = dyn Fn(&GroupState<E>, u32) -> R + Send + Sync;

/// Threads that share one state. Dropped without [`dismiss`](ThreadGroup::dismiss), it lets them go unwatched.
pub(crate) struct ThreadGroup<'a, E: Execution, R> {
    state: Arc<GroupState<E>>,
    threads: Vec<E::Thread>,
    reports: Arc<[Mutex<Option<R>>]>,
    conditions: &'a Conditions<'a>,
}

impl<'a, E: Execution, R: Send + 'static> ThreadGroup<'a, E, R> {
    /// Starts `n` threads, which sleep at the door. Each then does `body` with the group's state and its number.
    pub(crate) fn start(conditions: &'a Conditions<'a>, n: u32, body: Arc<Body<E, R>>) -> Result<Self, End> {
        let state = Arc::new(GroupState::<E>::new(n));
        E::keep(state.clone());
        E::keep(body.clone());
        let reports: Arc<[Mutex<Option<R>>]> = (0..n).map(|_| Mutex::new(None)).collect();
        let mut group = ThreadGroup { state, threads: Vec::with_capacity(n as usize), reports, conditions };
        for me in 0..n {
            let (state, body, reports) = (group.state.clone(), body.clone(), group.reports.clone());
            let work = move || {
                if state.may_begin() {
                    let report = body(&state, me);
                    *slot(&reports[me as usize]) = Some(report);
                }
                count_one::<E>(&state.left, reports.len() as u32);
            };
            let thread = E::start_thread(conditions.core_of(me), Box::new(work));
            group.threads.push(thread.map_err(|reason| conditions.failed(Fault::CannotStart { started: me, reason }))?);
        }
        group.wait_for_all(&group.state.arrived, "threads did not start")?;
        Ok(group)
    }

    /// Lets the threads begin.
    pub(crate) fn begin(&self) {
        self.state.open_door(OPEN);
    }

    /// Goes on to `phase`.
    pub(crate) fn enter(&self, phase: u32) {
        self.state.enter(phase);
    }

    /// How many threads it has.
    pub(crate) fn size(&self) -> u32 {
        self.state.counters.len() as u32
    }

    /// Operations of each thread so far.
    pub(crate) fn counts(&self) -> impl Iterator<Item = u64> {
        self.state.counters.iter().map(|counter| counter.0.load(Relaxed))
    }

    /// Stops the threads, waits until they are gone and returns what they report, in their order.
    pub(crate) fn dismiss(mut self) -> Result<Vec<R>, End> {
        self.enter(STOP);
        self.begin();
        self.wait_for_all(&self.state.left, "threads did not come back")?;
        std::mem::take(&mut self.threads).into_iter().for_each(E::join);
        Ok(self.reports.iter().filter_map(|report| slot(report).take()).collect())
    }

    /// Waits until `count` has reached the number of threads; `otherwise` says of those that are missing what they did
    /// not do.
    pub(crate) fn wait_for_all(&self, count: &E::U32, otherwise: &str) -> Result<(), End> {
        let all = self.size();
        let mut motion = StallDetector::new(&[self]);
        loop {
            let seen = count.load(Acquire);
            if seen == all {
                return Ok(());
            }
            motion.check(&[self]).map_err(|end| end.because(&format!("{} of {all} {otherwise}", all - seen)))?;
            E::wait_on(count, seen, Some(E::now_ns() + LOOK_NS));
        }
    }
}

impl<E: Execution, R> Drop for ThreadGroup<'_, E, R> {
    /// Lets the threads go, so that an error on the way leaves nobody at the door or at work. Those at the door do not even
    /// begin: the error may be that the machine has not enough for them.
    fn drop(&mut self) {
        self.state.enter(STOP);
        self.state.open_door(CALLED_OFF);
    }
}

/// Sleeps for `ns` while the groups work; ends early if the run is interrupted, or if no thread of them moves.
pub(crate) fn watch<E: Execution, R: Send + 'static>(groups: &[&ThreadGroup<E, R>], ns: u64) -> Result<(), End> {
    let Some(conditions) = groups.first().map(|group| group.conditions) else { return Ok(()) };
    let end_ns = E::now_ns() + ns;
    let mut motion = StallDetector::new(groups);
    loop {
        let now = E::now_ns();
        if now >= end_ns {
            return Ok(());
        }
        if conditions.stop.load(Relaxed) {
            return Err(End::Interrupted);
        }
        motion.check(groups)?;
        E::sleep_ns((end_ns - now).min(LOOK_NS));
    }
}

/// Notices when nothing has moved for too long.
struct StallDetector {
    moves: u64,
    since_ns: u64,
}

impl StallDetector {
    fn new<E: Execution, R>(groups: &[&ThreadGroup<E, R>]) -> Self {
        StallDetector { moves: moves(groups), since_ns: E::now_ns() }
    }

    fn check<E: Execution, R: Send + 'static>(&mut self, groups: &[&ThreadGroup<E, R>]) -> Result<(), End> {
        let (moves, now) = (moves(groups), E::now_ns());
        if moves != self.moves {
            *self = StallDetector { moves, since_ns: now };
        }
        let (still_ns, conditions) = (now - self.since_ns, groups[0].conditions);
        if still_ns < conditions.patience_ns {
            return Ok(());
        }
        let counts = || groups.iter().flat_map(|group| group.counts());
        let (fewest, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
        let standstill = E::standstill().map_or(String::new(), |text| format!("\n{}", text.trim_end()));
        let detail = format!("{} operations done, {fewest} to {most} per thread{standstill}", counts().sum::<u64>());
        Err(conditions.failed(Fault::Stuck { seconds: still_ns as f64 / 1e9, detail }))
    }
}

/// Everything that a live group changes now and then, as one number.
fn moves<E: Execution, R>(groups: &[&ThreadGroup<E, R>]) -> u64 {
    let of_group = |group: &&ThreadGroup<E, R>| {
        let state = &group.state;
        let operations: u64 = state.counters.iter().map(|counter| counter.0.load(Relaxed)).sum();
        operations + u64::from(state.arrived.load(Relaxed)) + u64::from(state.left.load(Relaxed))
    };
    groups.iter().map(of_group).sum()
}

/// The report's place. A thread that panicked while it held this has nothing to report, so poison says nothing.
fn slot<R>(report: &Mutex<Option<R>>) -> std::sync::MutexGuard<'_, Option<R>> {
    report.lock().unwrap_or_else(PoisonError::into_inner)
}
