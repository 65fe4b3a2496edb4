//! The platform inside loom: every schedule (up to a bound on preemptions) and every outcome that the memory model allows.
//!
//! What is modelled how, and why:
//! - **Waiting by address** is a table of sleepers beside loom. `wait_on` and `wake` meet in one relaxed RMW on an atomic
//!   that stands for the kernel: it makes loom try both orders and publishes nothing. The compare of `wait_on` is a relaxed
//!   RMW that changes nothing, because the kernel never compares with a stale value.
//! - **Waking publishes too much**: loom's `unpark` makes the waker's past visible to the sleeper, which a lock must not
//!   rely on. So models allow spurious returns: then the sleeper finds the new value by itself, without that edge.
//! - **Time** has no speed. Whether the deadline has come, whether the tick counter has leapt, whether a wait ends for no
//!   reason: each is a toss of a *coin* ([`LoomChoices`]), of which loom explores both sides. Heads stays heads for a thread that
//!   has seen it, and for one that has paused since it saw tails.
//! - **Pausing** is a yield, which loom needs to get out of a poll loop and which hides schedules, as it makes some other
//!   thread move. So a thread's first pause is nothing at all, and models with `may_spin` off pause less. Once a thread
//!   has paused [`PAUSES`] times, the rest of the execution is run but not explored: otherwise loom tries without end how
//!   two spinners can alternate while the holder is not scheduled.
//! - **A thread that ends in its sleep** is a panic without a message, which its property catches ([`EndInSleep`]): the wait ends
//!   as at a deadline, and what the lock does for such a thread has been done before.
//! - **The end of life** of an atomic is a write to a `loom::cell::UnsafeCell` that every access reads: an access that does
//!   not happen before the end is a causality violation. Locks and waiter records are checked by the same rule.
//!
//! Not modelled: wake order other than first in, first out; more than one clock; failure of a weak compare-exchange.

use crate::choices::LoomChoices;
use crate::depth;
use crate::futex::Futex;
use crate::harness::{CheckedCell, EndInSleep, Harness, Job};
use crate::reproduce::ReproductionLine;
use crate::steps;
use crate::witnessed_atomic::{Access, Witness, WitnessedAtomic};
use core::num::NonZeroU32;
use core::sync::atomic::Ordering::Relaxed;
use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};
use ondeck_core::{Platform, RunState, Step, ThreadId, WaitEnd};
use search::Search;
use std::any::Any;
use std::cell::RefCell;
use std::panic::resume_unwind;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

mod search;

/// A deadline for timed attempts in models: it comes when the clock's coin says so.
const DEADLINE_NS: u64 = 1_000_000_000;

/// Pauses of one thread in one execution that loom explores.
const PAUSES: u32 = 6;

/// How the tick counter of a model moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// Never: no patience ever ends.
    Stands,
    /// By so many nanoseconds at each reading.
    Leaps(u32),
    /// By so many nanoseconds at a reading, or not: both are explored.
    MayLeap(u32),
}

/// Whose addresses are too long for a state word, whatever they are here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Far {
    /// Nobody's.
    Nobody,
    /// Everybody's.
    Everybody,
    /// Every second one's, in the order in which locks first ask about them, from the first.
    EverySecond,
}

/// A loom model: the knobs of the modelled machine and the depth of the search.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// What [`Platform::may_spin`] answers.
    pub may_spin: bool,
    /// The tick counter.
    pub time: Time,
    /// Whether the deadline of timed attempts may come.
    pub may_expire: bool,
    /// Whether threads may end in the waits that allow for it, if those have no deadline.
    pub may_end: bool,
    /// How many waits of one execution may end for no reason.
    pub spurious_wakes: u32,
    /// Most preemptions in one execution.
    pub preemptions: usize,
    /// What [`Platform::fits`] answers.
    pub far: Far,
    /// What [`Platform::atomics_may_be_far`] answers.
    pub far_atomics: bool,
    /// Steps that executions must take, each at least one of them: what the model is there for.
    pub reach: &'static [&'static str],
}

impl Model {
    /// No spinning, time stands, one spurious wake, three preemptions.
    pub const fn new() -> Self {
        Model {
            may_spin: false,
            time: Time::Stands,
            may_expire: false,
            may_end: false,
            spurious_wakes: 1,
            preemptions: 3,
            far: Far::Nobody,
            far_atomics: false,
            reach: &[],
        }
    }

    /// The same with spinning allowed and the given tick counter.
    pub const fn spinning(self, time: Time) -> Self {
        Model { may_spin: true, time, ..self }
    }

    /// The same with deadlines that may come at any moment.
    pub const fn expiring(self) -> Self {
        Model { may_expire: true, ..self }
    }

    /// The same with threads that may end in their sleep.
    pub const fn ending(self) -> Self {
        Model { may_expire: true, may_end: true, ..self }
    }

    /// The same with another bound on preemptions.
    pub const fn preemptions(self, preemptions: usize) -> Self {
        Model { preemptions, ..self }
    }

    /// The same where some addresses are too long.
    pub const fn far(self, far: Far) -> Self {
        Model { far, ..self }
    }

    /// The same on a processor whose atomics may be far.
    pub const fn far_atomics(self) -> Self {
        Model { far_atomics: true, ..self }
    }

    /// The same, and fails if no execution of a whole search takes one of these steps.
    pub const fn reaching(self, reach: &'static [&'static str]) -> Self {
        Model { reach, ..self }
    }

    /// The deadline to give to timed attempts in a model.
    pub const fn deadline_ns() -> u64 {
        DEADLINE_NS
    }

    /// Explores `body`. A failure panics, or, for a deadlock, aborts; either prints a line that reproduces it.
    pub fn check(self, body: impl Fn() + Send + Sync + 'static) {
        self.check_containing(&[], body);
    }

    /// As [`check`](Model::check), and demands that each of `patterns` occurs: that some execution takes its steps in
    /// this order, whatever else happens between. A model that is named after a race must contain it.
    /// A search that was cut short is not held to that.
    pub fn check_containing(self, patterns: &[&'static [&'static str]], body: impl Fn() + Send + Sync + 'static) {
        let _line = ReproductionLine::with("");
        let body = Arc::new(body);
        let mut most = (!depth::is_whole()).then_some(depth::MODEL);
        let mut search = self.explore(most, patterns, body.clone());
        while search.is_cut && !search.missed(self.reach).is_empty() && most < Some(depth::MOST_OF_MODEL) {
            // What it is there for may come later.
            most = most.map(|most| 4 * most);
            search = self.explore(most, patterns, body.clone());
        }
        if search.is_cut {
            return;
        }
        assert!(search.missing.is_empty(), "no execution takes these steps in this order: {:?}", search.missing);
        let missed = search.missed(self.reach);
        assert!(missed.is_empty(), "no execution takes these steps: {missed:?}");
    }

    fn explore(
        self,
        most: Option<usize>,
        patterns: &[&'static [&'static str]],
        body: Arc<impl Fn() + Send + Sync + 'static>,
    ) -> Search {
        let search = Arc::new(Mutex::new(Search { missing: patterns.to_vec(), ..Search::default() }));
        let search_inside = search.clone();
        let mut builder = loom::model::Builder::new();
        // Beyond loom's default because a poll loop takes several branches per turn; a livelock still hits it.
        builder.max_branches = 20_000;
        builder.preemption_bound = builder.preemption_bound.or(Some(self.preemptions));
        if let Some(most) = most {
            builder.max_permutations = Some(most);
            // Loom looks at the limit this often.
            builder.checkpoint_interval = most;
        }
        builder.check(move || {
            steps::begin_execution();
            STATE.set(Some(Rc::new(State::new(self))));
            body();
            let threads = State::current().plain.borrow().threads.len();
            search_inside.lock().expect("nobody panics while holding it").note_execution(threads);
        });
        STATE.set(None);
        let mut search = std::mem::take(&mut *search.lock().expect("nobody panics while holding it"));
        // Loom counts from one.
        search.is_cut = most.is_some_and(|most| search.executions + 1 >= most as u64);
        eprintln!("loom: {search}, {self:?}{}", if search.is_cut { ", cut short" } else { "" });
        search
    }
}

impl Default for Model {
    fn default() -> Self {
        Self::new()
    }
}

thread_local! {
    /// The execution that runs on this real thread; loom's threads are its coroutines.
    static STATE: RefCell<Option<Rc<State>>> = const { RefCell::new(None) };
}

/// What one execution of a model consists of, besides loom's own objects.
struct State {
    model: Model,
    /// The order of wait and wake calls; see the module's text.
    kernel: AtomicU32,
    coins: Arc<LoomChoices>,
    plain: RefCell<Plain>,
}

struct Plain {
    futex: Futex<loom::thread::Thread>,
    /// In the order of their first appearance here.
    threads: Vec<Thread>,
    spurious_left: u32,
    now_ns: u64,
    ticks: u64,
    /// Those that locks have asked about, in the order of the first question.
    addresses: Vec<u64>,
    longest_nap_ns: u32,
    /// Memory of freed objects, kept so that a late access reads a witness instead of rubble.
    graveyard: Vec<Box<dyn Any>>,
}

struct Thread {
    id: loom::thread::ThreadId,
    /// Pauses with an access before each: a delay of thirty pauses is one.
    pauses: u32,
    has_paused: bool,
}

impl State {
    fn new(model: Model) -> Self {
        let plain = Plain {
            futex: Futex::new(),
            threads: Vec::new(),
            spurious_left: model.spurious_wakes,
            now_ns: 1,
            ticks: 1,
            addresses: Vec::new(),
            longest_nap_ns: 0,
            graveyard: Vec::new(),
        };
        State { model, kernel: AtomicU32::new(0), coins: LoomChoices::mint(), plain: RefCell::new(plain) }
    }

    fn current() -> Rc<State> {
        STATE.with(|state| state.borrow().clone()).expect("LoomPlatform outside of Model::check")
    }

    fn has_expired(&self) -> bool {
        self.model.may_expire && LoomChoices::toss(&self.coins.expiry)
    }

    fn is_spurious(&self) -> bool {
        // No borrow is held while the coin is tossed: that is where loom may run another thread.
        let may = self.plain.borrow().spurious_left > 0;
        let is = may && LoomChoices::toss(&self.coins.spurious);
        if is {
            let mut plain = self.plain.borrow_mut();
            plain.spurious_left = plain.spurious_left.saturating_sub(1);
        }
        is
    }

    /// A point where loom tries this thread before and after the other threads' waits and wakes.
    fn enter_kernel(&self) {
        self.kernel.fetch_add(1, Relaxed);
    }

    fn wait(&self, address: usize, is_unchanged: impl FnOnce() -> bool, deadline_ns: Option<u64>) -> WaitEnd {
        self.enter_kernel();
        let expires = deadline_ns.is_some() && self.has_expired();
        if self.is_spurious() || !is_unchanged() {
            return WaitEnd::Woken;
        }
        let ticket = self.plain.borrow_mut().futex.enter(address, loom::thread::current());
        if expires {
            // Asleep until the deadline: a wake may come first, and is then ours.
            self.enter_kernel();
            let mut plain = self.plain.borrow_mut();
            plain.now_ns = plain.now_ns.max(deadline_ns.unwrap_or(0));
            return if plain.futex.leave(ticket) { WaitEnd::TimedOut } else { WaitEnd::Woken };
        }
        while self.plain.borrow().futex.sleeps(ticket) {
            loom::thread::park();
        }
        WaitEnd::Woken
    }

    /// Waits, or ends this thread.
    fn or_end(&self, deadline_ns: Option<u64>, leave: impl Fn(), wait: impl Fn(Option<u64>) -> WaitEnd) -> WaitEnd {
        let may_end = self.model.may_end && deadline_ns.is_none();
        let waited = wait(if may_end { Some(DEADLINE_NS) } else { deadline_ns });
        if may_end && waited == WaitEnd::TimedOut {
            leave();
            resume_unwind(Box::new(EndInSleep));
        }
        waited
    }

    fn pause(&self) {
        let me = self.thread_index();
        {
            let thread = &mut self.plain.borrow_mut().threads[me];
            if thread.has_paused {
                return;
            }
            thread.has_paused = true;
            thread.pauses += 1;
            if thread.pauses == 1 {
                return;
            }
            if thread.pauses > PAUSES {
                loom::skip_branch();
            }
        }
        loom::thread::yield_now();
    }

    fn notes_access(&self) {
        let me = self.thread_index();
        self.plain.borrow_mut().threads[me].has_paused = false;
    }

    fn thread_index(&self) -> usize {
        let me = loom::thread::current().id();
        let threads = &mut self.plain.borrow_mut().threads;
        threads.iter().position(|thread| thread.id == me).unwrap_or_else(|| {
            threads.push(Thread { id: me, pauses: 0, has_paused: false });
            threads.len() - 1
        })
    }

    fn is_far(&self, address: u64) -> bool {
        let known = &mut self.plain.borrow_mut().addresses;
        let position = known.iter().position(|&of| of == address).unwrap_or_else(|| {
            known.push(address);
            known.len() - 1
        });
        match self.model.far {
            Far::Nobody => false,
            Far::Everybody => true,
            Far::EverySecond => position % 2 == 0,
        }
    }

    fn wake(&self, address: usize, n: u32) {
        self.enter_kernel();
        for _ in 0..n {
            let thread = self.plain.borrow_mut().futex.take(address, |_sleepers| 0);
            match thread {
                Some(thread) => thread.unpark(),
                None => return,
            }
        }
    }
}

/// The machine inside a loom model. Works only within [`Model::check`].
#[derive(Clone, Copy, Debug)]
pub struct LoomPlatform;

/// Witness of an atomic's life under loom.
pub struct LoomWitness {
    end: loom::cell::UnsafeCell<()>,
    is_over: std::sync::atomic::AtomicBool,
}

// SAFETY: loom checks at run time what `Sync` would promise, and all its threads are coroutines of one real thread.
unsafe impl Sync for LoomWitness {}

impl Witness for LoomWitness {
    fn new() -> Self {
        LoomWitness { end: loom::cell::UnsafeCell::new(()), is_over: false.into() }
    }

    // The end must come after every access, so the access is noted before it happens: noted later, it would look
    // concurrent with the end that the releasing access itself permits.
    fn before(&self) {
        State::current().notes_access();
        if !std::thread::panicking() {
            assert!(!self.is_over.load(Relaxed), "an atomic was touched after the end of its life");
            self.end.with(|_| ());
        }
    }

    fn after(&self, _address: usize, _access: Access) {}
}

impl Drop for LoomWitness {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        if !std::thread::panicking() {
            self.end.with_mut(|_| ());
        }
    }
}

impl LoomPlatform {
    /// The longest nap that any thread of this execution has asked for.
    pub fn longest_nap_ns() -> u32 {
        State::current().plain.borrow().longest_nap_ns
    }
}

impl Platform for LoomPlatform {
    type U32 = WitnessedAtomic<AtomicU32, LoomWitness>;
    type U64 = WitnessedAtomic<AtomicU64, LoomWitness>;
    type Ptr<T: 'static> = WitnessedAtomic<AtomicPtr<T>, LoomWitness>;

    fn wait_on(word: &Self::U32, expected: u32, deadline_ns: Option<u64>) -> WaitEnd {
        let address = core::ptr::from_ref(word).addr();
        State::current().wait(address, || word.inner().fetch_or(0, Relaxed) == expected, deadline_ns)
    }

    fn wake(word: *const Self::U32, n: u32) {
        State::current().wake(word.addr(), n);
    }

    fn wait_on_upper(word: &Self::U64, expected: u64, deadline_ns: Option<u64>) -> WaitEnd {
        let address = core::ptr::from_ref(word).addr();
        let is_unchanged = || word.inner().fetch_or(0, Relaxed) >> 32 == expected >> 32;
        State::current().wait(address, is_unchanged, deadline_ns)
    }

    fn wake_upper(word: *const Self::U64, n: u32) {
        State::current().wake(word.addr(), n);
    }

    fn wait_on_or_leave(word: &Self::U32, expected: u32, deadline_ns: Option<u64>, leave: impl Fn()) -> WaitEnd {
        State::current().or_end(deadline_ns, leave, |deadline_ns| Self::wait_on(word, expected, deadline_ns))
    }

    fn wait_on_upper_or_leave(word: &Self::U64, expected: u64, deadline_ns: Option<u64>, leave: impl Fn()) -> WaitEnd {
        State::current().or_end(deadline_ns, leave, |deadline_ns| Self::wait_on_upper(word, expected, deadline_ns))
    }

    fn pause() {
        State::current().pause();
    }

    fn pause_ns(_ns: u32) {
        State::current().pause();
    }

    fn yield_now() {
        State::current().pause();
    }

    fn nap_ns(ns: u32) {
        let state = State::current();
        {
            let longest = &mut state.plain.borrow_mut().longest_nap_ns;
            *longest = ns.max(*longest);
        }
        state.pause();
    }

    fn now_ns() -> u64 {
        let state = State::current();
        let expired = state.has_expired();
        let mut plain = state.plain.borrow_mut();
        if expired {
            plain.now_ns = plain.now_ns.max(DEADLINE_NS);
        }
        plain.now_ns
    }

    fn ticks() -> u64 {
        let state = State::current();
        let leap = match state.model.time {
            Time::Stands => 0,
            Time::Leaps(ns) => ns,
            Time::MayLeap(ns) => ns * u32::from(LoomChoices::toss(&state.coins.leap)),
        };
        let mut plain = state.plain.borrow_mut();
        plain.ticks += u64::from(leap);
        plain.ticks
    }

    fn ns_to_ticks(ns: u64) -> u64 {
        ns
    }

    fn thread_id() -> ThreadId {
        ThreadId::MIN.saturating_add(State::current().thread_index() as u64)
    }

    fn thread_index() -> Option<NonZeroU32> {
        NonZeroU32::MIN.checked_add(State::current().thread_index() as u32)
    }

    fn current_core() -> u32 {
        // Two cores, so that rules about cores see both cases.
        (Self::thread_id().get() % 2) as u32
    }

    fn parallelism() -> u32 {
        if Self::may_spin() { 2 } else { 1 }
    }

    fn may_spin() -> bool {
        State::current().model.may_spin
    }

    fn atomics_may_be_far() -> bool {
        State::current().model.far_atomics
    }

    fn fits(address: u64, bits: u32) -> bool {
        assert!(address >> bits == 0, "a model's own stacks are near");
        !State::current().is_far(address)
    }

    fn is_running(_thread: ThreadId) -> RunState {
        RunState::Unknown
    }

    fn step(step: Step) {
        let state = State::current();
        steps::record(state.thread_index(), step);
    }
}

/// Loom's threads and cells. At most four threads at once.
#[derive(Debug)]
pub struct LoomHarness;

/// A number in a `loom::cell::UnsafeCell`: two accesses that no edge orders are a causality violation.
pub struct LoomCell(loom::cell::UnsafeCell<u64>);

// SAFETY: loom checks at run time what `Sync` would promise, and all its threads are coroutines of one real thread.
unsafe impl Sync for LoomCell {}
// SAFETY: as above.
unsafe impl Send for LoomCell {}

impl CheckedCell for LoomCell {
    fn new(value: u64) -> Self {
        LoomCell(loom::cell::UnsafeCell::new(value))
    }

    unsafe fn update(&self, change: impl FnOnce(u64) -> u64) -> u64 {
        self.0.with_mut(|value| {
            // SAFETY: loom has just checked that nobody else is inside.
            let value = unsafe { &mut *value };
            *value = change(*value);
            *value
        })
    }

    unsafe fn read(&self) -> u64 {
        // SAFETY: loom has just checked that nobody writes.
        self.0.with(|value| unsafe { *value })
    }
}

impl Harness for LoomHarness {
    type Platform = LoomPlatform;
    type Cell = LoomCell;

    fn run(mut jobs: Vec<Job>) {
        // The model's first thread takes the last job: loom is limited to five threads, and the coins took one.
        let own = jobs.pop();
        let threads: Vec<_> = jobs.into_iter().map(loom::thread::spawn).collect();
        if let Some(job) = own {
            job();
        }
        for thread in threads {
            thread.join().expect("a thread of the model panicked");
        }
    }

    unsafe fn free<T: 'static>(object: *mut T) {
        // SAFETY: the caller has the last reference.
        unsafe { core::ptr::drop_in_place(object) };
        // SAFETY: made by `Box::into_raw`; `ManuallyDrop` has the same layout and will not drop it twice.
        let memory = unsafe { Box::from_raw(object.cast::<core::mem::ManuallyDrop<T>>()) };
        State::current().plain.borrow_mut().graveyard.push(memory);
    }
}
