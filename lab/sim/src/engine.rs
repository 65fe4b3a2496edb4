//! The engine: one loop over what happens next, and the coroutines that it switches to.
//!
//! A thread's code runs ahead of the loop for as long as nobody could tell: what only it can see (work, pauses, reading
//! nothing shared) moves only its own clock, and an operation on a line that its core has is done at once if its clock is
//! not beyond the next thing that happens to anybody. Everything else suspends the thread and puts a time into its
//! slot. Thus all operations take effect in the order of their times, and most of them without a switch.
//!
//! Thread 0 is the observer: it has no CPU, its operations take no time and move no line.

mod access;
mod ahead;
mod balance;
mod check;
mod cpu;
mod eevdf;
mod futex;
mod idle;
mod kernel;
mod lines;
mod preempt;
pub(crate) mod random;
mod recent_share;
mod report;
mod schedule;
mod thread;
mod times;
mod turns;
mod value;

pub(crate) use thread::Phase;
pub(crate) use value::{Kind, Op, OpStart};

use crate::machine::Machine;
use crate::outcome::{Failure, Options, Outcome};
use crate::timeline::{Event, ThreadEvent, Timeline};
use corosensei::stack::DefaultStack;
use cpu::CpuState;
use lines::Lines;
use random::{Purpose, Random};
use std::any::Any;
use std::cell::{Cell, RefCell};
use thread::{Bucket, Request, Stack, Switch, Thread};
use times::{EventTimes, NEVER};

/// The observer's thread.
pub(crate) const OBSERVER: u32 = 0;
/// When a run begins: the clock is never zero.
pub(crate) const START_PS: u64 = 1_000_000_000;
/// Stack of a thread. Only the pages that are touched take memory.
const STACK_BYTES: usize = 256 * 1024;
/// Most events of a timeline: about 400 MB of it.
const MOST_EVENTS: usize = 10_000_000;

pub(crate) struct Engine {
    pub(crate) machine: Machine,
    pub(crate) now: u64,
    /// The thread whose code is running.
    pub(crate) current: u32,
    times: EventTimes,
    /// The slots before it are those of the CPUs and of the balancer.
    first_thread_slot: usize,
    pub(crate) threads: Vec<Thread>,
    /// Two per thread: its own, and its store buffer's.
    requests: Vec<Request>,
    lines: Lines,
    buckets: Vec<Bucket>,
    cpus: Vec<CpuState>,
    /// What a read-modify-write takes, by core.
    rmw_of_core: Vec<u32>,
    /// Threads that have stores under way.
    storing: Vec<u32>,
    /// When the last operation took effect.
    last_effect: u64,
    /// How many memory nodes the machine has.
    pub(crate) memory_nodes: u32,
    /// CPUs that have a thread, and threads in queues.
    n_busy: u32,
    n_ready: u32,
    placement: Random,
    seed: u64,
    pub(crate) cpu_ps: u64,
    pub(crate) n_switches: u64,
    pub(crate) hash: u64,
    pub(crate) atomics: u64,
    pub(crate) timeline: Option<Timeline>,
    panic: Option<String>,
    /// The thread whose code is to go on, after a step.
    turn: Option<u32>,
}

thread_local! {
    /// The engine of the run that this thread of the system is in.
    static ENGINE: Cell<*mut Engine> = const { Cell::new(std::ptr::null_mut()) };
    /// Stacks of threads that are gone, for those to come.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// The way to the engine of the run in progress. Nothing borrowed from it may be kept over a switch.
#[derive(Clone, Copy)]
pub(crate) struct EngineHandle(*mut Engine);

impl EngineHandle {
    #[inline]
    pub(crate) fn find() -> Option<EngineHandle> {
        let engine = ENGINE.get();
        (!engine.is_null()).then_some(EngineHandle(engine))
    }

    /// # Panics
    /// Outside of a run.
    #[inline]
    pub(crate) fn expect() -> EngineHandle {
        EngineHandle::find().expect("this is for threads of a simulated machine, within ondeck_sim::run")
    }

    #[inline]
    pub(crate) fn with<R>(self, look: impl FnOnce(&mut Engine) -> R) -> R {
        // SAFETY: `run` keeps the engine alive while the pointer is set. Only one thread of the system is in the run, no
        // caller switches or calls `with` within `look`, and no reference outlives it.
        look(unsafe { &mut *self.0 })
    }

    /// Goes back to the loop until the running thread's time has come.
    pub(crate) fn switch(self) {
        let switch = self.with(|engine| engine.threads[engine.current as usize].switch);
        // SAFETY: the switch belongs to the coroutine that is running, which is the one that called this.
        unsafe { (*switch).suspend(()) };
    }

    /// Brings everybody up to the running thread's clock.
    #[inline]
    pub(crate) fn catch_up(self) {
        while self.with(|engine| engine.is_ahead()) {
            self.with(Engine::wait_for_turn);
            self.switch();
        }
        // Nothing else happens before it: what it does now may count from its own time.
        self.with(|engine| engine.now = engine.now.max(engine.clock()));
    }

    /// Does an operation.
    #[inline]
    pub(crate) fn atomic(self, op: Op) -> u64 {
        loop {
            match self.with(|engine| engine.begin(op)) {
                OpStart::Done(before) => return before,
                OpStart::Later => self.switch(),
                OpStart::Asked => {
                    self.switch();
                    return self.with(|engine| engine.threads[engine.current as usize].result);
                }
            }
        }
    }

    /// Starts a thread.
    pub(crate) fn start(self, pin: Option<u32>, body: Box<dyn FnOnce() + Send>) -> u32 {
        let stack = STACKS
            .with_borrow_mut(Vec::pop)
            .unwrap_or_else(|| DefaultStack::new(STACK_BYTES).expect("memory for a stack"));
        let index = self.with(Engine::add_thread);
        let code = move |switch: &Switch, (): ()| {
            self.with(|engine| engine.threads[index as usize].switch = switch);
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
            // The payload is dropped here, not within `with`: it may own a word.
            let panic = done.err().map(text_of);
            self.drain();
            self.with(|engine| engine.end_thread(index, panic));
        };
        // SAFETY: the body may borrow what `run` was called with. A coroutine is only ever resumed by `run`, which does
        // not return before; one that is left over is leaked with what it owns.
        let coroutine = unsafe { Stack::with_stack_unchecked(stack, code) };
        let stack = Box::into_raw(Box::new(coroutine));
        self.with(|engine| engine.launch(index, pin, stack));
        index
    }

    /// Waits until the stores of the running thread are granted.
    pub(crate) fn drain(self) {
        self.catch_up();
        while self.with(|engine| engine.has_stores()) {
            self.with(Engine::wait_for_stores);
            self.switch();
        }
    }
}

impl Engine {
    pub(crate) fn new(machine: &Machine, options: &Options) -> Self {
        let n_cpus = machine.cpus.len();
        let timeline = Timeline { cpus: n_cpus as u32, ..Timeline::default() };
        let mut rmw_of_core = vec![0; machine.cores as usize];
        for (index, cpu) in machine.cpus.iter().enumerate() {
            rmw_of_core[cpu.core as usize] = machine.kind_of(index as u32).rmw_ps;
        }
        let mut engine = Engine {
            now: START_PS,
            current: OBSERVER,
            times: EventTimes::new(options.seed),
            first_thread_slot: n_cpus + 1,
            threads: Vec::new(),
            requests: Vec::new(),
            lines: Lines::new(machine.line_bytes),
            buckets: (0..machine.os.buckets).map(|_| Bucket::default()).collect(),
            cpus: CpuState::of(machine),
            rmw_of_core,
            storing: Vec::new(),
            last_effect: 0,
            n_busy: 0,
            n_ready: 0,
            memory_nodes: machine.memory_nodes(),
            placement: Random::of(options.seed, Purpose::Placement, 0),
            seed: options.seed,
            cpu_ps: 0,
            n_switches: 0,
            hash: 0,
            atomics: 0,
            timeline: options.record.then_some(timeline),
            panic: None,
            turn: None,
            machine: machine.clone(),
        };
        engine.times.reserve(n_cpus + 1);
        engine.times.set(n_cpus, START_PS + machine.os.balance_ps);
        engine
    }

    /// Whether the running thread's clock is beyond the next thing that happens.
    #[inline]
    pub(crate) fn is_ahead(&self) -> bool {
        self.threads[self.current as usize].clock > self.times.next()
    }

    pub(crate) fn has_stores(&self) -> bool {
        !self.threads[self.current as usize].stores.is_empty()
    }

    /// The running thread's own time.
    #[inline]
    pub(crate) fn clock(&self) -> u64 {
        self.threads[self.current as usize].clock
    }

    fn add_thread(&mut self) -> u32 {
        let index = self.threads.len() as u32;
        self.threads.push(Thread::new(self.seed, index, self.now));
        self.requests.extend([Request::nothing(); 2]);
        self.times.reserve(self.first_thread_slot + self.requests.len());
        index
    }

    fn launch(&mut self, index: u32, pin: Option<u32>, stack: *mut Stack) {
        let thread = &mut self.threads[index as usize];
        (thread.stack, thread.pin) = (stack, pin);
        if index == OBSERVER {
            thread.phase = Phase::Resume;
            self.set_thread(OBSERVER, self.now);
        } else {
            self.place_new(index);
        }
    }

    #[inline]
    fn set_thread(&mut self, thread: u32, time: u64) {
        self.times.set(self.first_thread_slot + 2 * thread as usize, time);
    }

    #[inline]
    fn clear_thread(&mut self, thread: u32) {
        self.times.clear(self.first_thread_slot + 2 * thread as usize);
    }

    /// The code of a thread has returned, or panicked.
    fn end_thread(&mut self, index: u32, panic: Option<String>) {
        self.panic = panic;
        let at = self.threads[index as usize].clock;
        self.record_at(index, at, ThreadEvent::Ends);
        self.threads[index as usize].phase = Phase::Gone;
        for joiner in std::mem::take(&mut self.threads[index as usize].joiners) {
            self.rouse(joiner, index, at);
        }
        if index != OBSERVER {
            self.leave_cpu(index, at);
        }
    }

    /// Does what comes next. Gives the thread to switch to, if it is one's turn, and `None` after something else.
    fn step(&mut self) -> Result<Option<u32>, Failure> {
        let Some((time, slot)) = self.times.first() else { return Err(self.deadlock()) };
        debug_assert!(time >= self.now, "time goes back");
        self.now = time;
        if let Some(request) = slot.checked_sub(self.first_thread_slot) {
            let (thread, is_store) = (request as u32 / 2, request % 2 == 1);
            if is_store || self.threads[thread as usize].phase == Phase::Asks {
                // Takes its time out of the slot, or puts another in.
                self.request_event(request as u32);
            } else {
                self.times.clear(slot);
                self.thread_event(thread);
            }
        } else if slot + 1 == self.first_thread_slot {
            self.times.clear(slot);
            if self.times.next() == NEVER {
                return Err(self.deadlock());
            }
            self.balance();
            self.times.set(slot, time + self.machine.os.balance_ps);
        } else {
            self.times.clear(slot);
            self.slice_is_over(slot as u32);
        }
        Ok(self.turn.take())
    }

    /// Writes an event of a thread into the timeline.
    pub(crate) fn record_at(&mut self, thread: u32, at: u64, what: ThreadEvent) {
        let Some(timeline) = &mut self.timeline else { return };
        if timeline.events.len() == MOST_EVENTS {
            timeline.is_cut = true;
        } else if let Some(thread) = thread.checked_sub(1) {
            timeline.events.push(Event { at_ps: at - START_PS, thread, what });
        }
    }
}

/// What a panic says.
fn text_of(payload: Box<dyn Any + Send>) -> String {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "it does not say why".to_string())
}

/// Runs `root` as the observer until it returns.
pub(crate) fn run<R>(machine: &Machine, options: &Options, root: impl FnOnce() -> R) -> Result<Outcome<R>, Failure> {
    assert!(EngineHandle::find().is_none(), "a run cannot be started from within a run");
    let mut engine = Box::new(Engine::new(machine, options));
    let here = EngineHandle(&raw mut *engine);
    let mut value = None;
    let body: Box<dyn FnOnce() + '_> = Box::new(|| value = Some(root()));
    // SAFETY: the body is run before this function returns, or never: whatever is left then is leaked, see `EngineGuard`.
    let body: Box<dyn FnOnce() + Send> = unsafe { std::mem::transmute(body) };
    let guard = EngineGuard::enter(here);
    here.start(None, body);
    let end = drive(here);
    drop(guard);
    end?;
    let value = value.expect("the observer has returned");
    Ok(engine.outcome(value))
}

/// Steps until the observer is gone.
fn drive(here: EngineHandle) -> Result<(), Failure> {
    loop {
        let Some(thread) = here.with(Engine::step)? else { continue };
        let stack = here.with(|engine| engine.take_turn(thread));
        // SAFETY: the stack was made by `start`, and is freed below and in `EngineGuard` only, when its thread is gone.
        unsafe { (*stack).resume(()) };
        if here.with(|engine| engine.threads[thread as usize].phase == Phase::Gone) {
            here.with(|engine| engine.threads[thread as usize].stack = std::ptr::null_mut());
            // SAFETY: as above; the pointer was taken out of the thread, so nobody frees it again.
            let stack = unsafe { Box::from_raw(stack) };
            STACKS.with_borrow_mut(|stacks| stacks.push(stack.into_stack()));
            if let Some(text) = here.with(|engine| engine.panic.take()) {
                return Err(Failure::Panicked(text));
            }
            if thread == OBSERVER {
                return Ok(());
            }
        }
    }
}

/// Sets the engine of this thread of the system, for as long as it lives. Stacks of threads that have not ended are
/// leaked: what they own may be in the middle of anything.
struct EngineGuard;

impl EngineGuard {
    fn enter(here: EngineHandle) -> Self {
        ENGINE.set(here.0);
        EngineGuard
    }
}

impl Drop for EngineGuard {
    fn drop(&mut self) {
        ENGINE.set(std::ptr::null_mut());
    }
}

impl Engine {
    /// The thread's code is about to go on.
    fn take_turn(&mut self, thread: u32) -> *mut Stack {
        self.current = thread;
        self.threads[thread as usize].clock = self.now;
        self.threads[thread as usize].stack
    }

    fn outcome<R>(mut self: Box<Self>, value: R) -> Outcome<R> {
        let timeline = self.timeline.take().map(|mut timeline| {
            timeline.threads = self.threads.len() as u32 - 1;
            timeline.events.sort_by_key(|event| event.at_ps);
            timeline
        });
        let (trace_hash, virtual_ps, atomics) = (self.hash, self.now - START_PS, self.atomics);
        Outcome { value, trace_hash, virtual_ps, atomics, timeline }
    }
}
