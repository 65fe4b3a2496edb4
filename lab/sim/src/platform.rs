//! The platform on the simulated machine.

use crate::atomics::{SimPtr, SimU32, SimU64};
use crate::engine::EngineHandle;
use crate::machine::CoreKind;
use crate::timeline::{Mark, ThreadEvent};
use ondeck_core::{CoreCounters, Platform, RunState, Step, ThreadId, WaitEnd};
use std::num::NonZeroU32;

/// The simulated machine that is running on the calling thread of the system.
///
/// Its atomics may be made, read and written outside of a run too; that costs nothing. Everything else panics there.
#[derive(Clone, Copy, Debug)]
pub struct Simulated;

/// A thread that [`Simulated::start_thread`] has started.
#[derive(Clone, Copy, Debug)]
pub struct Thread(u32);

/// Time that passes in a nanosecond, in picoseconds: ticks are these.
pub(crate) const PS_PER_NS: u64 = 1000;
/// Work is looked at anew this often where a sibling may slow it down.
const LOOK_PS: u64 = 5_000_000;

impl CoreCounters for Simulated {}

impl Platform for Simulated {
    type U32 = SimU32;
    type U64 = SimU64;
    type Ptr<T: 'static> = SimPtr<T>;

    fn wait_on(word: &Self::U32, expected: u32, deadline_ns: Option<u64>) -> WaitEnd {
        wait(word.address(), false, expected.into(), deadline_ns)
    }

    fn wake(word: *const Self::U32, n: u32) {
        wake(word as u64, n);
    }

    fn wait_on_upper(word: &Self::U64, expected: u64, deadline_ns: Option<u64>) -> WaitEnd {
        wait(word.address() + UPPER, false, expected >> 32, deadline_ns)
    }

    fn wake_upper(word: *const Self::U64, n: u32) {
        wake(word as u64 + UPPER, n);
    }

    fn pause() {
        Self::pauses(1);
    }

    fn pauses(n: u32) {
        EngineHandle::expect().with(|engine| engine.pause(n.into()));
    }

    fn pause_ns(ns: u32) {
        EngineHandle::expect().with(|engine| {
            let (ps, one) = (u64::from(ns) * PS_PER_NS, u64::from(engine.kind_of_current().pause_ps));
            // In pauses, as hardware does it; where one is next to nothing, in time.
            if one < PS_PER_NS { engine.pause_for(ps) } else { engine.pause(ps.div_ceil(one)) }
        });
    }

    fn yield_now() {
        let here = EngineHandle::expect();
        if here.with(|engine| engine.keeps_cpu()) {
            return Self::pause();
        }
        let yield_ps = here.with(|engine| engine.kind_of_current().yield_ps.into());
        if here.with(|engine| engine.machine.os.yield_sleeps) {
            here.drain();
            here.with(|engine| engine.begin_sleep(yield_ps, true));
            return here.switch();
        }
        here.with(|engine| engine.spend_kernel(yield_ps));
        here.catch_up();
        if here.with(|engine| engine.yield_cpu()) {
            here.switch();
        }
    }

    fn now_ns() -> u64 {
        read_clock(|kind| kind.clock_ps) / PS_PER_NS
    }

    fn ticks() -> u64 {
        read_clock(|kind| kind.ticks_ps)
    }

    fn ns_to_ticks(ns: u64) -> u64 {
        ns * PS_PER_NS
    }

    fn thread_id() -> ThreadId {
        ThreadId::new(EngineHandle::expect().with(|engine| u64::from(engine.current) + 1)).expect("counted from one")
    }

    fn thread_index() -> Option<NonZeroU32> {
        NonZeroU32::new(EngineHandle::expect().with(|engine| engine.current + 1))
    }

    fn current_core() -> u32 {
        let here = EngineHandle::expect();
        here.catch_up();
        here.with(|engine| engine.cpu_of_current())
    }

    fn parallelism() -> u32 {
        EngineHandle::expect().with(|engine| engine.machine.cpus.len() as u32)
    }

    fn may_spin() -> bool {
        Self::parallelism() > 1
    }

    fn memory_nodes() -> u32 {
        EngineHandle::expect().with(|engine| engine.memory_nodes)
    }

    fn atomics_may_be_far() -> bool {
        EngineHandle::expect().with(|engine| engine.machine.memory.far_atomics.is_some())
    }

    fn is_running(thread: ThreadId) -> RunState {
        let here = EngineHandle::expect();
        here.catch_up();
        let is_on = here.with(|engine| engine.is_on_cpu(thread.get() as u32 - 1));
        if is_on { RunState::Yes } else { RunState::No }
    }

    fn is_core_wanted() -> bool {
        let here = EngineHandle::expect();
        here.catch_up();
        here.with(|engine| engine.is_cpu_wanted())
    }

    fn step(step: Step) {
        record(ThreadEvent::Step(step));
    }
}

/// The running thread's time, read by a way that takes so long.
fn read_clock(cost_ps: fn(&CoreKind) -> u32) -> u64 {
    let here = EngineHandle::expect();
    here.with(|engine| engine.spend_work(cost_ps(engine.kind_of_current()).into()));
    here.catch_up();
    here.with(|engine| engine.clock())
}

/// Where the upper half of a 64-bit word is.
const UPPER: u64 = if cfg!(target_endian = "little") { 4 } else { 0 };

fn wait(address: u64, is_wide: bool, expected: u64, deadline_ns: Option<u64>) -> WaitEnd {
    let here = EngineHandle::expect();
    here.drain();
    here.with(|engine| engine.enter_kernel());
    here.catch_up();
    let deadline = deadline_ns.map(|ns| ns.saturating_mul(PS_PER_NS));
    if !here.with(|engine| engine.begin_wait(address, is_wide, expected, deadline)) {
        return WaitEnd::Woken;
    }
    here.switch();
    if here.with(|engine| engine.end_wait()) { WaitEnd::TimedOut } else { WaitEnd::Woken }
}

fn wake(address: u64, n: u32) {
    let here = EngineHandle::expect();
    here.drain();
    if here.with(|engine| engine.begin_wake(address, n)) {
        here.catch_up();
        here.with(|engine| engine.ask_to_wake(address, n));
        here.switch();
    }
}

fn record(what: ThreadEvent) {
    let Some(here) = EngineHandle::find() else { return };
    here.with(|engine| {
        if engine.timeline.is_some() {
            engine.record_at(engine.current, engine.clock(), what);
        }
    });
}

impl Simulated {
    /// Starts a thread, on hardware thread `cpu` only if one is given.
    pub fn start_thread(cpu: Option<u32>, body: Box<dyn FnOnce() + Send>) -> Thread {
        let here = EngineHandle::expect();
        here.catch_up();
        Thread(here.start(cpu, body))
    }

    /// Sleeps until the thread is gone.
    pub fn join(thread: Thread) {
        let here = EngineHandle::expect();
        here.drain();
        if here.with(|engine| engine.begin_join(thread.0)) {
            here.switch();
        }
    }

    /// Does `units` units of work, which touch no memory.
    pub fn work(units: u32) {
        let here = EngineHandle::expect();
        let ps = here.with(|engine| u64::from(units) * u64::from(engine.kind_of_current().work_ps));
        work_for(here, ps);
    }

    /// Spends what computing the Fibonacci number `n` by naive recursion takes, and gives it.
    pub fn fib(n: u32) -> u32 {
        // Calls for n are 1 more than those for n - 1 and n - 2 together, and the numbers begin with 1, 1.
        let (mut number, mut next, mut calls, mut next_calls) = (1u32, 1u32, 1u64, 1u64);
        for _ in 0..n {
            (number, next) = (next, number.wrapping_add(next));
            (calls, next_calls) = (next_calls, calls + next_calls + 1);
        }
        let here = EngineHandle::expect();
        let ps = here.with(|engine| calls * u64::from(engine.kind_of_current().fib_call_ps));
        work_for(here, ps);
        number
    }

    /// A full barrier: waits until the stores of the thread are seen by all.
    pub fn barrier() {
        let here = EngineHandle::expect();
        here.drain();
        here.with(|engine| engine.spend_work(engine.kind_of_current().barrier_ps.into()));
    }

    /// Does `code` as a kernel does what it must not be preempted in: the thread leaves its core where it sleeps, and else
    /// when the code is done, if its time slice ended meanwhile. A yield is a pause there.
    pub fn unpreempted<R>(code: impl FnOnce() -> R) -> R {
        let here = EngineHandle::expect();
        here.catch_up();
        let kept = here.with(|engine| engine.keep_cpu(true));
        let result = code();
        here.catch_up();
        here.with(|engine| engine.keep_cpu(kept));
        if here.with(|engine| engine.make_up_for_keeping()) {
            here.switch();
        }
        result
    }

    /// Sleeps for `ns` nanoseconds.
    pub fn sleep_ns(ns: u64) {
        let here = EngineHandle::expect();
        here.drain();
        here.with(|engine| engine.begin_sleep(ns * PS_PER_NS, false));
        here.switch();
    }

    /// CPU time of all threads in nanoseconds, and how often a CPU has switched threads.
    pub fn usage() -> (u64, u64) {
        let here = EngineHandle::expect();
        here.catch_up();
        here.with(|engine| (engine.cpu_ps_so_far() / PS_PER_NS, engine.n_switches))
    }

    /// Says something about the calling thread; it takes no time.
    pub fn mark(mark: Mark) {
        record(ThreadEvent::Marked(mark));
    }

    /// What every thread is at: who sleeps on which word with which value, and the last operations of the others.
    pub fn standstill() -> String {
        EngineHandle::expect().with(|engine| engine.standstill())
    }
}

/// Work of the running thread, in pieces where its sibling may begin or end to slow it down meanwhile.
fn work_for(here: EngineHandle, ps: u64) {
    let mut left = ps;
    let piece_ps = if here.with(|engine| engine.has_sibling()) { LOOK_PS } else { ps.max(1) };
    while left > piece_ps {
        here.with(|engine| engine.spend_work(piece_ps));
        here.catch_up();
        left -= piece_ps;
    }
    here.with(|engine| engine.spend_work(left));
}
