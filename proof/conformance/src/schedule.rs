//! The platform under shuttle: random schedules of more threads than loom can search, with adversarial time and wakes.
//!
//! Memory is sequentially consistent here; orderings are loom's business. Everything that is not decided by the
//! schedule is drawn from its random source, so a seed replays an execution exactly:
//! - a wait may end for no reason; a wait with a deadline may time out at any later moment;
//! - a wake takes any sleeper of the address, not the oldest, since no kernel promises an order;
//! - clocks advance by nanoseconds mostly and leap by up to half a millisecond now and then, so that every patience
//!   ends somewhere; a spinner's pause lets others run, once for any number of pauses without an access between, or a
//!   delay of thirty would be so long that nobody ever retires;
//! - whether spinning is allowed changes from one execution to the next;
//! - in one execution of eight, one address in two does not fit into a state word, or none does;
//! - where a test asks for it there is one core, and some threads keep it from the others: see priority.rs.

use crate::depth;
use crate::futex::Futex;
use crate::harness::{CheckedCell, Harness, Job};
use crate::monitor::{ExecutionObserver, Report};
use crate::priority::{self, PriorityScheduler};
use crate::reproduce::ReproductionLine;
use crate::steps;
use crate::witnessed_atomic::{Access, Witness, WitnessedAtomic};
use core::cell::Cell;
use core::num::NonZeroU32;
use core::sync::atomic::Ordering::SeqCst;
use ondeck_core::{Busy, Platform, RunState, Step, ThreadId, WaitEnd};
use shuttle::rand::{RngCore, thread_rng};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};
use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

/// Executions per seed. A batch, because the PCT scheduler learns the length of an execution from the one before.
const BATCH: usize = 250;
/// Priority changes per execution that the PCT scheduler makes. Bugs that need three threads in a certain order were
/// found with 3 where 2 missed them.
const PCT_DEPTH: usize = 3;
/// More steps than any of the tests takes; a livelock ends here.
const MAX_STEPS: usize = 200_000;

/// A search through random schedules.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// How many to run, unless the environment variable `ONDECK_EXECUTIONS` says otherwise, or the search is
    /// [cut short](depth).
    pub executions: usize,
}

impl Schedule {
    /// Runs `body` under many schedules and returns the worst that the monitors saw.
    ///
    /// Seeds are 0, 1, 2, ...; even ones use the random scheduler, odd ones PCT. `ONDECK_SEED` runs a single one. A
    /// failure panics and prints a line that reproduces it.
    pub fn check(self, body: impl Fn() + Send + Sync + 'static) -> Report {
        self.check_containing(&[], body)
    }

    /// As [`check_containing`](Schedule::check_containing), on one core and with some threads that have priority over the
    /// others there, so that a yield of theirs gives the others nothing. Only what sleeps lets those on; `body` must not
    /// wait for another thread in a loop of its own.
    pub fn check_under_priorities(
        self,
        patterns: &[&'static [&'static str]],
        body: impl Fn() + Send + Sync + 'static,
    ) -> Report {
        self.search(run_batch_by_priority, patterns, body)
    }

    /// As [`check`](Schedule::check), and demands that each of `patterns` occurs: that some execution takes its steps in
    /// this order, whatever else happens between.
    pub fn check_containing(
        self,
        patterns: &[&'static [&'static str]],
        body: impl Fn() + Send + Sync + 'static,
    ) -> Report {
        self.search(run_batch, patterns, body)
    }

    fn search(
        self,
        run_batch: fn(u64, Box<dyn Fn() + Send + Sync>),
        patterns: &[&'static [&'static str]],
        body: impl Fn() + Send + Sync + 'static,
    ) -> Report {
        let body = Arc::new(body);
        let seen = Arc::new(Mutex::new(SearchFindings { missing: patterns.to_vec(), ..SearchFindings::default() }));
        let whole = number("ONDECK_EXECUTIONS").map_or(self.executions, |n| n as usize);
        let few = if depth::is_whole() { whole } else { whole.min(depth::SCHEDULES) };
        let only = number("ONDECK_SEED");
        let seeds = only.map_or(0..whole.div_ceil(BATCH) as u64, |seed| seed..seed + 1);
        let mut executions = 0;
        for seed in seeds {
            // Steps that the body is there for may come later.
            if executions >= few && seen.lock().expect("nobody panics while holding it").missed().is_empty() {
                break;
            }
            let (body, seen) = (body.clone(), seen.clone());
            let batch = move || {
                steps::begin_execution();
                STATE.set(Some(Rc::new(State::new())));
                body();
                seen.lock().expect("nobody panics while holding it").note_execution();
            };
            run_batch(seed, Box::new(batch));
            executions += BATCH;
        }
        let seen = seen.lock().expect("nobody panics while holding it");
        let report = seen.report;
        eprintln!("schedule: {executions} executions, {report:?}, {:.2} pollers on average", report.mean_pollers());
        let is_cut = only.is_some() || executions < self.executions;
        assert!(is_cut || seen.missing.is_empty(), "no execution takes these steps in this order: {:?}", seen.missing);
        let missed = seen.missed();
        assert!(only.is_some() || missed.is_empty(), "no execution takes these steps: {missed:?}");
        report
    }
}

/// What a search has seen so far.
#[derive(Default)]
struct SearchFindings {
    report: Report,
    missing: Vec<&'static [&'static str]>,
    steps: BTreeSet<&'static str>,
}

impl SearchFindings {
    fn note_execution(&mut self) {
        self.report.merge(State::current().monitor.borrow().report);
        self.missing.retain(|pattern| !steps::contain(pattern));
        self.steps.extend(steps::present());
    }

    /// Steps of missing patterns that no execution has taken.
    fn missed(&self) -> Vec<&'static str> {
        let steps = self.missing.iter().flat_map(|pattern| *pattern).copied();
        steps.filter(|step| !self.steps.contains(step)).collect()
    }
}

fn run_batch(seed: u64, body: Box<dyn Fn() + Send + Sync>) {
    priority::forget();
    if seed.is_multiple_of(2) {
        run_batch_with(RandomScheduler::new_from_seed(seed, BATCH), seed, body);
    } else {
        run_batch_with(PctScheduler::new_from_seed(seed, PCT_DEPTH, BATCH), seed, body);
    }
}

fn run_batch_by_priority(seed: u64, body: Box<dyn Fn() + Send + Sync>) {
    run_batch_with(PriorityScheduler::new(seed, BATCH), seed, body);
}

fn run_batch_with(scheduler: impl Scheduler + 'static, seed: u64, body: Box<dyn Fn() + Send + Sync>) {
    let _line = ReproductionLine::with(&format!("ONDECK_SEED={seed} "));
    let mut config = shuttle::Config::new();
    config.failure_persistence = shuttle::FailurePersistence::None;
    config.max_steps = shuttle::MaxSteps::FailAfter(MAX_STEPS);
    config.silence_warnings = true;
    config.ungraceful_shutdown_config.immediately_return_on_panic = true;
    shuttle::Runner::new(scheduler, config).run(body);
    STATE.set(None);
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is not a number")))
}

thread_local! {
    /// The execution that runs on this real thread; shuttle's threads are its coroutines.
    static STATE: RefCell<Option<Rc<State>>> = const { RefCell::new(None) };
}

struct State {
    may_spin: bool,
    clock_ns: Cell<u64>,
    /// The threads whose last act was a pause.
    paused: RefCell<BTreeSet<usize>>,
    /// One in so many addresses does not fit into a state word; 0: all do.
    far_in: u64,
    /// The addresses that locks have asked about, and the answers.
    fits: RefCell<BTreeMap<u64, bool>>,
    /// Each sleeper with its number.
    futex: RefCell<Futex<(usize, shuttle::thread::Thread)>>,
    monitor: RefCell<ExecutionObserver>,
    /// Memory of freed objects, kept so that a late access reads a witness instead of rubble.
    graveyard: RefCell<Vec<Box<dyn Any>>>,
}

impl State {
    fn new() -> Self {
        let may_spin = draw(4) != 0;
        let start_ns = 1 + draw(1 << 20);
        State {
            may_spin,
            clock_ns: Cell::new(start_ns),
            paused: RefCell::default(),
            far_in: if draw(8) == 0 { 1 + draw(2) } else { 0 },
            fits: RefCell::default(),
            futex: RefCell::new(Futex::new()),
            monitor: RefCell::default(),
            graveyard: RefCell::default(),
        }
    }

    fn current() -> Rc<State> {
        STATE.with(|state| state.borrow().clone()).expect("SchedulePlatform outside of Schedule::check")
    }

    fn advance(&self, ns: u64) -> u64 {
        self.clock_ns.set(self.clock_ns.get() + ns);
        self.clock_ns.get()
    }

    /// Time passes while a clock is read: nanoseconds, or for one reading in eight up to half a millisecond.
    fn read_clock(&self) -> u64 {
        let most = if draw(8) == 0 { 1 << (6 + draw(14)) } else { 64 };
        self.advance(1 + draw(most))
    }

    fn wait(&self, address: usize, is_unchanged: impl FnOnce() -> bool, deadline_ns: Option<u64>) -> WaitEnd {
        self.monitor.borrow_mut().sleeps(me());
        let is_spurious = draw(8) == 0;
        if !is_unchanged() || is_spurious {
            return WaitEnd::Woken;
        }
        let ticket = self.futex.borrow_mut().enter(address, (me(), shuttle::thread::current()));
        let sleeps = || self.futex.borrow().sleeps(ticket);
        if let Some(deadline_ns) = deadline_ns.filter(|_| draw(2) == 0) {
            sleep_for_a_time();
            for _ in 0..draw(4) {
                shuttle::thread::yield_now();
            }
            if !self.futex.borrow_mut().leave(ticket) {
                return WaitEnd::Woken;
            }
            self.clock_ns.set(self.clock_ns.get().max(deadline_ns));
            return WaitEnd::TimedOut;
        }
        while sleeps() {
            // Shuttle's threads end their parking for no reason.
            priority::fall_asleep(me(), u64::MAX);
            shuttle::thread::park();
        }
        WaitEnd::Woken
    }

    fn wake(&self, address: usize, n: u32) {
        for _ in 0..n {
            let thread = self.futex.borrow_mut().take(address, |sleepers| draw(sleepers as u64) as usize);
            match thread {
                Some((number, thread)) => {
                    priority::wake(number);
                    thread.unpark();
                }
                None => return,
            }
        }
    }
}

/// A number from 0 to `bound - 1` that the seed determines.
fn draw(bound: u64) -> u64 {
    thread_rng().next_u64() % bound
}

fn me() -> usize {
    usize::from(shuttle::current::me())
}

/// Whatever the calling thread's priority is, others may run a little.
fn sleep_for_a_time() {
    priority::fall_asleep(me(), 1 + draw(32));
    shuttle::thread::yield_now();
}

/// A point where the scheduler may choose another thread.
fn switch() {
    AtomicU32::new(0).load(SeqCst);
}

/// The machine inside a random schedule. Works only within [`Schedule::check`].
#[derive(Clone, Copy, Debug)]
pub struct SchedulePlatform;

/// Witness of an atomic's life, and the monitors' informer.
pub struct ScheduleWitness {
    is_over: Cell<bool>,
}

// SAFETY: all threads of an execution are coroutines of one real thread.
unsafe impl Send for ScheduleWitness {}
// SAFETY: as above.
unsafe impl Sync for ScheduleWitness {}

impl Witness for ScheduleWitness {
    fn new() -> Self {
        ScheduleWitness { is_over: Cell::new(false) }
    }

    fn before(&self) {}

    fn after(&self, address: usize, access: Access) {
        assert!(!self.is_over.get(), "an atomic was touched after the end of its life");
        let state = State::current();
        state.paused.borrow_mut().remove(&me());
        state.monitor.borrow_mut().access(me(), address, access);
    }
}

impl Drop for ScheduleWitness {
    fn drop(&mut self) {
        self.is_over.set(true);
    }
}

impl Platform for SchedulePlatform {
    type U32 = WitnessedAtomic<AtomicU32, ScheduleWitness>;
    type U64 = WitnessedAtomic<AtomicU64, ScheduleWitness>;
    type Ptr<T: 'static> = WitnessedAtomic<AtomicPtr<T>, ScheduleWitness>;

    fn wait_on(word: &Self::U32, expected: u32, deadline_ns: Option<u64>) -> WaitEnd {
        let address = core::ptr::from_ref(word).addr();
        State::current().wait(address, || word.inner().load(SeqCst) == expected, deadline_ns)
    }

    fn wake(word: *const Self::U32, n: u32) {
        switch();
        State::current().wake(word.addr(), n);
    }

    fn wait_on_upper(word: &Self::U64, expected: u64, deadline_ns: Option<u64>) -> WaitEnd {
        let address = core::ptr::from_ref(word).addr();
        let is_unchanged = || word.inner().load(SeqCst) >> 32 == expected >> 32;
        State::current().wait(address, is_unchanged, deadline_ns)
    }

    fn wake_upper(word: *const Self::U64, n: u32) {
        switch();
        State::current().wake(word.addr(), n);
    }

    fn pause() {
        let is_first = State::current().paused.borrow_mut().insert(me());
        if is_first {
            shuttle::thread::yield_now();
        }
    }

    fn pause_ns(ns: u32) {
        State::current().advance(u64::from(ns));
        shuttle::thread::yield_now();
    }

    fn yield_now() {
        shuttle::thread::yield_now();
    }

    fn nap_ns(ns: u32) {
        let state = State::current();
        state.monitor.borrow_mut().sleeps(me());
        state.advance(u64::from(ns));
        sleep_for_a_time();
    }

    fn now_ns() -> u64 {
        State::current().read_clock()
    }

    fn ticks() -> u64 {
        State::current().read_clock()
    }

    fn ns_to_ticks(ns: u64) -> u64 {
        ns
    }

    fn thread_id() -> ThreadId {
        ThreadId::MIN.saturating_add(me() as u64)
    }

    fn thread_index() -> Option<NonZeroU32> {
        NonZeroU32::MIN.checked_add(me() as u32)
    }

    fn current_core() -> u32 {
        (me() % 2) as u32
    }

    fn parallelism() -> u32 {
        if Self::may_spin() { 2 } else { 1 }
    }

    fn may_spin() -> bool {
        State::current().may_spin
    }

    fn fits(address: u64, bits: u32) -> bool {
        assert!(address >> bits == 0, "a schedule's own stacks are near");
        let state = State::current();
        *state.fits.borrow_mut().entry(address).or_insert_with(|| state.far_in == 0 || draw(state.far_in) != 0)
    }

    fn busy() -> Busy {
        [Busy::Nobody, Busy::Nobody, Busy::Ours, Busy::Others][draw(4) as usize]
    }

    fn is_running(_thread: ThreadId) -> RunState {
        RunState::Unknown
    }

    fn step(step: Step) {
        steps::record(me(), step);
        State::current().monitor.borrow_mut().steps(me(), step.name);
    }
}

/// Shuttle's threads.
#[derive(Debug)]
pub struct ScheduleHarness;

impl ScheduleHarness {
    /// The calling thread begins an acquisition; for [`Report::bypasses`].
    pub fn arrives() {
        State::current().monitor.borrow_mut().arrives(me());
    }

    /// The acquisition that has begun is over.
    pub fn enters() {
        State::current().monitor.borrow_mut().enters(me());
    }

    /// The modelled monotonic clock, without passing of time.
    pub fn now_ns() -> u64 {
        State::current().clock_ns.get()
    }
}

/// A number with a switch of threads between reading and writing, and a flag that notices a second visitor.
pub struct ScheduleCell {
    value: Cell<u64>,
    is_visited: Cell<bool>,
    n_reading: Cell<u32>,
}

// SAFETY: all threads of an execution are coroutines of one real thread.
unsafe impl Send for ScheduleCell {}
// SAFETY: as above.
unsafe impl Sync for ScheduleCell {}

impl CheckedCell for ScheduleCell {
    fn new(value: u64) -> Self {
        ScheduleCell { value: Cell::new(value), is_visited: Cell::new(false), n_reading: Cell::new(0) }
    }

    unsafe fn update(&self, change: impl FnOnce(u64) -> u64) -> u64 {
        assert!(!self.is_visited.replace(true), "two threads are inside");
        let after = change(self.value.get());
        switch();
        self.value.set(after);
        self.is_visited.set(false);
        assert_eq!(self.n_reading.get(), 0, "somebody reads beside a writer");
        after
    }

    unsafe fn read(&self) -> u64 {
        self.n_reading.set(self.n_reading.get() + 1);
        switch();
        assert!(!self.is_visited.get(), "somebody writes beside a reader");
        self.n_reading.set(self.n_reading.get() - 1);
        self.value.get()
    }
}

impl Harness for ScheduleHarness {
    type Platform = SchedulePlatform;
    type Cell = ScheduleCell;

    fn run(jobs: Vec<Job>) {
        let threads: Vec<_> = jobs.into_iter().map(shuttle::thread::spawn).collect();
        for thread in threads {
            thread.join().expect("a thread of the schedule panicked");
        }
    }

    unsafe fn free<T: 'static>(object: *mut T) {
        // SAFETY: the caller has the last reference.
        unsafe { core::ptr::drop_in_place(object) };
        // SAFETY: made by `Box::into_raw`; `ManuallyDrop` has the same layout and will not drop it twice.
        let memory = unsafe { Box::from_raw(object.cast::<core::mem::ManuallyDrop<T>>()) };
        State::current().graveyard.borrow_mut().push(memory);
    }
}
