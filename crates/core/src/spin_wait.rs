//! spin_wait: waiting for another thread's write without a lock: on the core for a bounded time, then off it.
//!
//! # Idea
//! A thread waits for a state that another thread will soon leave. It wants to stay on its core. But the other thread
//! may have lost its core, and may now be waiting for ours. So spinning has a budget in nanoseconds. When the budget is
//! spent, the thread yields its core. After a yield the budget is smaller, because a wait that has lasted so long is
//! likely to go on.
//!
//! # Lineage
//! The two waits of Go's collector, `casgstatus` and `scang`, since golang/go commit 475d113b (CL 21503). They yielded at
//! every turn before; the commit found 5 and 10 us of spinning best, from how long the states are kept. We keep the
//! budgets, and half of them after each yield. The original reads the state ten times per look at the clock, and we
//! once, as our clock is a counter of the core. Naps are ours. The methods are those of `crossbeam_utils::Backoff`,
//! which counts pauses instead of nanoseconds; a pause is 10 cycles long on one processor and 140 on another.
//!
//! # Promises
//! None but to come back. What is waited for, and with what ordering it is read, is the caller's.
//!
//! # Cost
//! A turn of the spinning is a look at the counter and one pause (10 to 80 ns). Nothing shared is written.
//!
//! # Limits
//! A wait is as long as its cause: without naps the core is used throughout, if nobody else wants it. A thread of lower
//! priority under a real-time scheduler gets nothing from a yield; there only naps help.

use crate::Platform;
use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;

/// How long a [`SpinWait`] spins before it yields or sleeps.
///
/// # Example
///
/// ```
/// use ondeck_core::spin_wait::{Nap, SpinPolicy};
///
/// // Hard on the scheduler at first, easy on the battery in the end.
/// let policy = SpinPolicy { nap: Some(Nap { after_ns: 1_000_000, length_ns: 100_000 }), ..SpinPolicy::SCAN_WAIT };
/// assert_eq!(SpinPolicy { nap: None, ..policy }, SpinPolicy::yield_after(10_000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpinPolicy {
    /// How long the wait spins before its first yield, in nanoseconds.
    pub yield_after_ns: u32,
    /// How long the wait spins before each further yield, in nanoseconds.
    pub yield_again_ns: u32,
    /// From when on the wait sleeps instead of yielding. With `None` it never sleeps.
    pub nap: Option<Nap>,
}

/// From when on a [`SpinWait`] sleeps between two looks, and for how long each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nap {
    /// The age from which on the wait naps, in nanoseconds.
    pub after_ns: u64,
    /// The length of a nap, in nanoseconds. The system may end a nap later. Linux does so by up to 50 us by default.
    pub length_ns: u32,
}

impl SpinPolicy {
    /// The policy for a state that usually ends within microseconds: 5 us of spinning, then 2.5 us between two yields.
    /// The figures are those of Go's wait for a goroutine's status.
    pub const STATUS_WAIT: SpinPolicy = SpinPolicy::yield_after(5_000);

    /// The policy for a state that lasts some tens of microseconds: 10 us of spinning, then 5 us between two yields.
    /// The figures are those of Go's wait for the scan of a goroutine's stack.
    pub const SCAN_WAIT: SpinPolicy = SpinPolicy::yield_after(10_000);

    /// Spins for `ns` nanoseconds before the first yield, and for half as long before each further one. Never naps.
    pub const fn yield_after(ns: u32) -> Self {
        SpinPolicy { yield_after_ns: ns, yield_again_ns: ns / 2, nap: None }
    }
}

/// The most pauses of one [`SpinWait::spin`], as a power of two: 64, as `Backoff` has it.
const MOST_DOUBLINGS: u32 = 6;

/// A thread's wait for something that another thread will do. The thread looks again and again.
///
/// A value belongs to one thread and one wait. [`reset`](SpinWait::reset) begins another wait. The crate `ondeck` has
/// this type for hardware, under the same name.
///
/// # Example
///
/// ```
/// use ondeck_core::SpinWait;
/// use ondeck_core::Hardware;
/// use std::sync::atomic::{AtomicBool, Ordering::{Acquire, Release}};
///
/// let is_ready = AtomicBool::new(false);
/// std::thread::scope(|scope| {
///     scope.spawn(|| is_ready.store(true, Release));
///     SpinWait::<Hardware>::new().wait_until(|| is_ready.load(Acquire));
/// });
/// ```
pub struct SpinWait<P: Platform> {
    policy: SpinPolicy,
    /// The next [`spin`](SpinWait::spin) makes two to the power of this many pauses.
    doublings: Cell<u32>,
    /// `None` before the first turn.
    course: Cell<Option<WaitProgress>>,
    platform: PhantomData<P>,
}

/// How far a wait has come; times in ticks.
#[derive(Clone, Copy)]
struct WaitProgress {
    began: u64,
    yield_at: u64,
    has_yielded: bool,
}

impl<P: Platform> SpinWait<P> {
    /// Makes a wait that has not begun, with the policy [`SpinPolicy::STATUS_WAIT`].
    pub const fn new() -> Self {
        Self::with_policy(SpinPolicy::STATUS_WAIT)
    }

    /// Makes a wait that has not begun, with this policy.
    pub const fn with_policy(policy: SpinPolicy) -> Self {
        SpinWait { policy, doublings: Cell::new(0), course: Cell::new(None), platform: PhantomData }
    }

    /// Begins a new wait: forgets how long this one has lasted.
    #[inline]
    pub fn reset(&self) {
        self.doublings.set(0);
        self.course.set(None);
    }

    /// Pauses after an attempt that failed because another thread succeeded, as in a compare-exchange loop.
    ///
    /// The first call pauses once, the second twice, and so on up to 64 times. It never yields.
    #[inline]
    pub fn spin(&self) {
        let doublings = self.doublings.get();
        P::pauses(1 << doublings);
        self.doublings.set((doublings + 1).min(MOST_DOUBLINGS));
    }

    /// Waits for one turn: it pauses while the budget lasts, and yields or naps when the budget is spent.
    ///
    /// The budget is 0 if spinning is switched off, or if there is one core.
    #[inline]
    pub fn snooze(&self) {
        let now = P::ticks();
        let course = self.course.get().unwrap_or_else(|| self.begin(now));
        if now < course.yield_at {
            P::pause();
        } else {
            self.give_way(now, course);
        }
    }

    /// Returns whether the wait has begun to yield. A thread that can be woken should then sleep.
    #[inline]
    pub fn is_completed(&self) -> bool {
        self.course.get().is_some_and(|course| course.has_yielded)
    }

    /// Waits until `is_over` returns true. Begins a new wait.
    pub fn wait_until(&self, mut is_over: impl FnMut() -> bool) {
        self.reset();
        while !is_over() {
            self.snooze();
        }
    }

    /// Waits until `is_over` returns true, for at most `timeout`. Begins a new wait.
    ///
    /// Returns false if the timeout passed first. This may come late, by a yield or a nap. `is_over` is called at least
    /// once.
    pub fn wait_for(&self, timeout: Duration, mut is_over: impl FnMut() -> bool) -> bool {
        let timeout_ns = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        let deadline_ns = P::now_ns().saturating_add(timeout_ns);
        let until = P::ticks().saturating_add(P::ns_to_ticks(timeout_ns));
        self.reset();
        loop {
            if is_over() {
                return true;
            }
            // The counter is cheap, but its rate has been measured, and may be a little off.
            if P::ticks() >= until && P::now_ns() >= deadline_ns {
                return false;
            }
            self.snooze();
        }
    }

    #[cold]
    fn begin(&self, now: u64) -> WaitProgress {
        let yield_at = now + Self::budget(self.policy.yield_after_ns);
        let course = WaitProgress { began: now, yield_at, has_yielded: false };
        self.course.set(Some(course));
        course
    }

    #[cold]
    fn give_way(&self, now: u64, course: WaitProgress) {
        // Saturating, as the counter of this core may be a little behind that of the core we came from.
        let age = now.saturating_sub(course.began);
        match self.policy.nap {
            Some(nap) if age >= P::ns_to_ticks(nap.after_ns) => P::nap_ns(nap.length_ns),
            _ => P::yield_now(),
        }
        let yield_at = P::ticks() + Self::budget(self.policy.yield_again_ns);
        self.course.set(Some(WaitProgress { yield_at, has_yielded: true, ..course }));
    }

    /// A time on the core, in ticks. Asked anew for each, as the number of cores may change.
    fn budget(ns: u32) -> u64 {
        if P::may_spin() { P::ns_to_ticks(u64::from(ns)) } else { 0 }
    }
}

impl<P: Platform> Default for SpinWait<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform> fmt::Debug for SpinWait<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpinWait")
            .field("policy", &self.policy)
            .field("is_completed", &self.is_completed())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_types)]
mod tests {
    use super::*;
    use crate::{RunState, Step, ThreadId, WaitEnd};
    use std::cell::RefCell;
    use std::num::NonZeroU32;
    use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

    const PAUSE_NS: u64 = 50;
    const YIELD_NS: u64 = 1_000;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Action {
        Pause,
        Yield,
        Sleep(u64),
    }

    /// What the wait did on this thread, and when: a clock that moves only by what it does. A tick is taken for a nanosecond.
    struct Script {
        now: u64,
        ticks_per_ns: u64,
        may_spin: bool,
        acts: Vec<(u64, Action)>,
    }

    thread_local! {
        static SCRIPT: RefCell<Script> = const { RefCell::new(Script { now: 1, ticks_per_ns: 1, may_spin: true, acts: Vec::new() }) };
    }

    fn act(act: Action, takes_ns: u64) {
        SCRIPT.with_borrow_mut(|script| {
            script.acts.push((script.now, act));
            script.now += takes_ns;
        });
    }

    /// What was done since the last call, without the pauses.
    fn take_long_acts() -> Vec<(u64, Action)> {
        let acts = SCRIPT.with_borrow_mut(|script| std::mem::take(&mut script.acts));
        acts.into_iter().filter(|(_, act)| *act != Action::Pause).collect()
    }

    fn n_pauses() -> usize {
        SCRIPT.with_borrow_mut(|script| std::mem::take(&mut script.acts).len())
    }

    #[derive(Clone, Copy, Debug)]
    struct ScriptedPlatform;

    impl Platform for ScriptedPlatform {
        type U32 = AtomicU32;
        type U64 = AtomicU64;
        type Ptr<T: 'static> = AtomicPtr<T>;

        fn wait_on(_: &AtomicU32, _: u32, deadline_ns: Option<u64>) -> WaitEnd {
            let ns = deadline_ns.unwrap() - Self::now_ns();
            act(Action::Sleep(ns), ns);
            WaitEnd::TimedOut
        }

        fn pause() {
            act(Action::Pause, PAUSE_NS);
        }

        fn yield_now() {
            act(Action::Yield, YIELD_NS);
        }

        fn now_ns() -> u64 {
            SCRIPT.with_borrow(|script| script.now)
        }

        fn ticks() -> u64 {
            SCRIPT.with_borrow(|script| script.now * script.ticks_per_ns)
        }

        fn ns_to_ticks(ns: u64) -> u64 {
            ns
        }

        fn may_spin() -> bool {
            SCRIPT.with_borrow(|script| script.may_spin)
        }

        fn step(_: Step) {}

        fn wake(_: *const AtomicU32, _: u32) {
            unreachable!("nobody is woken")
        }

        fn wait_on_upper(_: &AtomicU64, _: u64, _: Option<u64>) -> WaitEnd {
            unreachable!("it waits on nothing wide")
        }

        fn wake_upper(_: *const AtomicU64, _: u32) {
            unreachable!("nobody is woken")
        }

        fn pause_ns(_: u32) {
            unreachable!("it looks after every pause")
        }

        fn thread_id() -> ThreadId {
            unreachable!("it does not ask who waits")
        }

        fn thread_index() -> Option<NonZeroU32> {
            unreachable!("it does not ask who waits")
        }

        fn current_core() -> u32 {
            unreachable!("it does not ask where it waits")
        }

        fn parallelism() -> u32 {
            unreachable!("it asks whether it may spin")
        }

        fn is_running(_: ThreadId) -> RunState {
            unreachable!("it knows nobody")
        }
    }

    fn snooze_until(wait: &SpinWait<ScriptedPlatform>, end: u64) {
        while ScriptedPlatform::ticks() < end {
            wait.snooze();
        }
    }

    #[test]
    fn yields_after_the_budget_and_again_after_half_of_it() {
        let wait = SpinWait::<ScriptedPlatform>::new();
        snooze_until(&wait, 5_001);
        assert!(!wait.is_completed() && take_long_acts().is_empty(), "the whole budget is spent on the core");
        snooze_until(&wait, 13_000);
        assert!(wait.is_completed());
        // 5 us from the beginning; 1 us of yield and 2.5 us of spinning later; and so on.
        assert_eq!(take_long_acts(), [(5_001, Action::Yield), (8_501, Action::Yield), (12_001, Action::Yield)]);
    }

    #[test]
    fn a_reset_wait_has_its_whole_budget() {
        let wait = SpinWait::<ScriptedPlatform>::with_policy(SpinPolicy::SCAN_WAIT);
        snooze_until(&wait, 12_000);
        assert_eq!(take_long_acts(), [(10_001, Action::Yield)]);
        wait.reset();
        assert!(!wait.is_completed());
        let began = ScriptedPlatform::ticks();
        snooze_until(&wait, began + 10_500);
        assert_eq!(take_long_acts(), [(began + 10_000, Action::Yield)]);
    }

    #[test]
    fn a_long_wait_naps() {
        let nap = Some(Nap { after_ns: 8_000, length_ns: 20_000 });
        let wait = SpinWait::<ScriptedPlatform>::with_policy(SpinPolicy { nap, ..SpinPolicy::STATUS_WAIT });
        snooze_until(&wait, 40_000);
        let naps = [(8_501, Action::Sleep(20_000)), (31_001, Action::Sleep(20_000))];
        assert_eq!(take_long_acts(), [&[(5_001, Action::Yield)][..], &naps].concat());
    }

    #[test]
    fn without_spinning_every_turn_yields() {
        SCRIPT.with_borrow_mut(|script| script.may_spin = false);
        let wait = SpinWait::<ScriptedPlatform>::new();
        wait.snooze();
        assert!(wait.is_completed());
        wait.snooze();
        assert_eq!(take_long_acts(), [(1, Action::Yield), (1_001, Action::Yield)]);
        assert_eq!(n_pauses(), 0);
    }

    #[test]
    fn spins_double_up_to_64_and_never_yield() {
        let wait = SpinWait::<ScriptedPlatform>::default();
        let pauses: Vec<usize> = (0..9).map(|_| (wait.spin(), n_pauses()).1).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 64, 64]);
        assert!(!wait.is_completed());
        wait.reset();
        wait.spin();
        assert_eq!(n_pauses(), 1);
    }

    #[test]
    fn a_condition_ends_the_wait_and_is_asked_before_anything_is_done() {
        let wait = SpinWait::<ScriptedPlatform>::new();
        wait.wait_until(|| true);
        assert!(wait.wait_for(Duration::ZERO, || true));
        assert_eq!(n_pauses(), 0);
        let mut looks = 0;
        wait.wait_until(|| (looks += 1, looks == 4).1);
        assert_eq!(n_pauses(), 3);
    }

    #[test]
    fn a_timeout_ends_the_wait() {
        let wait = SpinWait::<ScriptedPlatform>::new();
        assert!(!wait.wait_for(Duration::ZERO, || false));
        assert!(!wait.wait_for(Duration::from_nanos(300), || false));
        assert_eq!((n_pauses(), ScriptedPlatform::ticks()), (6, 301));
        let mut looks = 0;
        assert!(wait.wait_for(Duration::MAX, || (looks += 1, looks == 1_000).1));
    }

    #[test]
    fn a_counter_that_runs_fast_ends_no_wait_early() {
        SCRIPT.with_borrow_mut(|script| script.ticks_per_ns = 2);
        let begin = ScriptedPlatform::now_ns();
        assert!(!SpinWait::<ScriptedPlatform>::new().wait_for(Duration::from_nanos(300), || false));
        assert_eq!(ScriptedPlatform::now_ns() - begin, 300);
    }
}
