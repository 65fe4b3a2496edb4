//! The text that the five Linux mutexes share.
//!
//! Each of the five has its own file with the whole story in its header, beginning with
//! [`linux_mutex_base`](crate::linux_mutex_base). They differ in two answers, which [`Variant`] asks for: whether the
//! word is read before it is written, and who may spin. Labels as E1 and I1 are those of the headers; what is cited
//! here means the same in all five.

mod list;
mod state;

use self::list::{List, Node};
pub(crate) use self::state::State;
use crate::{Defaults, Entry, RawLock, TuningSource};
use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use ondeck_core::{Atomic, Platform, RunState, StaticPlatform, Step, ThreadId};

// -- 1. Steps, and what makes one of the five -------------------------------------------------------------------------

/// The answers in which the five mutexes differ. A value of it is the part of the lock that only this one has.
pub trait Variant<P: Platform>: Sized + Send + Sync + 'static {
    /// The row of this lock in [`LOCKS`](crate::LOCKS).
    const ENTRY: Entry;

    /// An arrival adds itself to the word.
    const CLAIM: Step = Step { lock: Self::ENTRY.name, name: "claim" };
    /// One attempt that does not wait.
    const TRY: Step = Step { lock: Self::ENTRY.name, name: "try" };
    /// The holder writes its name down.
    const SIGN_IN: Step = Step { lock: Self::ENTRY.name, name: "sign_in" };
    /// A spinner reads who the holder is.
    const LOOK: Step = Step { lock: Self::ENTRY.name, name: "look" };
    /// A spinner tries to get in.
    const GRAB: Step = Step { lock: Self::ENTRY.name, name: "grab" };
    /// The queue latch is tried.
    const LATCH: Step = Step { lock: Self::ENTRY.name, name: "latch" };
    /// A waiter says that it is there, and is in if nobody was.
    const TAKE: Step = Step { lock: Self::ENTRY.name, name: "take" };
    /// A waiter goes behind the others.
    const ENQUEUE: Step = Step { lock: Self::ENTRY.name, name: "enqueue" };
    /// A waiter sleeps.
    const PARK: Step = Step { lock: Self::ENTRY.name, name: "park" };
    /// The first waiter has got in.
    const DEQUEUE: Step = Step { lock: Self::ENTRY.name, name: "dequeue" };
    /// Nobody is left to be woken.
    const SETTLE: Step = Step { lock: Self::ENTRY.name, name: "settle" };
    /// The queue latch is given back.
    const UNLATCH: Step = Step { lock: Self::ENTRY.name, name: "unlatch" };
    /// The holder strikes its name out.
    const SIGN_OUT: Step = Step { lock: Self::ENTRY.name, name: "sign_out" };
    /// The holder takes itself out of the word.
    const VACATE: Step = Step { lock: Self::ENTRY.name, name: "vacate" };
    /// An ex-holder lets others in.
    const REOPEN: Step = Step { lock: Self::ENTRY.name, name: "reopen" };
    /// The first waiter gets its permit.
    const WAKE: Step = Step { lock: Self::ENTRY.name, name: "wake" };

    /// That of a free lock.
    fn new() -> Self;

    /// Whether to write the word, when that leads to something only if what is there is `hoped_for`.
    fn is_worth_writing(word: &P::U32, hoped_for: fn(State) -> bool) -> bool;

    /// Spins if the caller may, with [`LinuxMutex::watch_holder`]; true if that got the caller in. Asked only where
    /// spinning can pay.
    fn spin<T: TuningSource<Tuning>>(&self, lock: &LinuxMutex<P, Self, T>) -> bool;

    /// Whether nobody spins.
    fn is_at_rest(&self) -> bool;
}

// -- 2. Tuning --------------------------------------------------------------------------------------------------------

/// The constants of the Linux mutexes. The kernel has none: it asks the scheduler.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// The longest time that a contender spins in one acquisition, in nanoseconds, where the platform cannot tell who is
    /// on a core. Default 50,000: about what going to sleep and being woken costs on the Xeon of `docs/experiments.md`,
    /// so that who spins in vain waits at most twice as long as who sleeps at once. The kernel spins while the
    /// holder is on a core and the spinner's own time slice lasts; user space mostly cannot know the one and is not told
    /// the other.
    pub spin_budget_ns: u32,
    /// Looks in vain at the queue latch, or at one's place in a queue of spinners, one pause apart, after which a
    /// contender offers its core before each further one. Default 100: 1 to 8 us, many times what is done under the
    /// latch but for the wake. A thread that has waited longer probably waits for a thread that is off its core.
    /// Chosen, not measured.
    pub tries_before_yield: u32,
}

impl TuningSource<Tuning> for Defaults {
    const TUNING: Tuning = Tuning { spin_budget_ns: 50_000, tries_before_yield: 100 };
}

/// What is left of the time in which a contender may spin.
pub(crate) struct SpinBudget<P> {
    /// When it began, and how much there was of it. `None` where the platform knows who is on a core: there, as in the
    /// kernel, it is what is left of the time slice.
    in_ticks: Option<(u64, u64)>,
    platform: PhantomData<P>,
}

impl<P: Platform> SpinBudget<P> {
    /// A whole one, which begins to run now.
    pub(crate) fn new(tuning: Tuning) -> Self {
        let is_blind = P::is_running(P::thread_id()) == RunState::Unknown;
        let in_ticks = is_blind.then(|| (P::ticks(), P::ns_to_ticks(u64::from(tuning.spin_budget_ns))));
        SpinBudget { in_ticks, platform: PhantomData }
    }

    /// Saturates: the counters of two cores may disagree a little.
    fn is_spent(&self) -> bool {
        P::is_core_wanted() || self.in_ticks.is_some_and(|(start, most)| P::ticks().saturating_sub(start) > most)
    }
}

// -- 3. State: linux_mutex/state.rs -----------------------------------------------------------------------------------

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// A Linux mutex of the kind `V`.
#[repr(C)]
pub struct LinuxMutex<P: Platform, V, T = Defaults> {
    word: P::U32,
    /// 0, or 1 while somebody has it. Guards the list.
    latch: P::U32,
    /// The holder's identity, 0 for none.
    owner: P::U64,
    list: List<P>,
    spinners: V,
    tuning: PhantomData<T>,
}

impl<P: StaticPlatform, V, T> LinuxMutex<P, V, T> {
    /// A free lock, for statics.
    pub(crate) const fn free(spinners: V) -> Self {
        LinuxMutex {
            word: P::U32_ZERO,
            latch: P::U32_ZERO,
            owner: P::U64_ZERO,
            list: List::EMPTY,
            spinners,
            tuning: PhantomData,
        }
    }
}

// -- 5. Public raw operations -----------------------------------------------------------------------------------------

impl<P: Platform, V: Variant<P>, T: TuningSource<Tuning>> RawLock for LinuxMutex<P, V, T> {
    type Platform = P;
    const ENTRY: Entry = V::ENTRY;

    fn new() -> Self {
        LinuxMutex {
            word: P::U32::new(State::FREE.0),
            latch: P::U32::new(UNLATCHED),
            owner: P::U64::new(NOBODY),
            list: List::new(),
            spinners: V::new(),
            tuning: PhantomData,
        }
    }

    /// Not by a claim: a failure would send the next release to look for waiters.
    #[inline]
    fn try_acquire(&self) -> bool {
        P::step(V::TRY);
        // E1
        let is_in = self.word.compare_exchange(State::FREE.0, State::HELD.0, Acquire, Relaxed).is_ok();
        if is_in {
            self.sign_in();
        }
        is_in
    }

    #[inline]
    fn acquire(&self) {
        P::step(V::CLAIM);
        // E1
        if !State(self.word.fetch_add(1, Acquire)).is_free() {
            self.acquire_slow();
        }
        self.sign_in();
    }

    #[inline]
    unsafe fn release(&self) {
        self.sign_out();
        P::step(V::VACATE);
        let found = State(self.word.fetch_sub(1, Release)); // E1
        debug_assert!(!found.is_free(), "I5: release of a free lock");
        if found.is_crowded() {
            self.release_slow();
        }
    }

    fn shows_sleeper(&self) -> Option<bool> {
        Some(!self.list.is_empty())
    }

    fn is_at_rest(&self) -> bool {
        let is_unlatched = self.latch.load(Relaxed) == UNLATCHED;
        self.state().is_free() && self.list.is_empty() && is_unlatched && self.spinners.is_at_rest()
    }
}

// -- 6. acquire_slow --------------------------------------------------------------------------------------------------

const UNLATCHED: u32 = 0;
const LATCHED: u32 = 1;
const NOBODY: u64 = 0;

impl<P: Platform, V: Variant<P>, T: TuningSource<Tuning>> LinuxMutex<P, V, T> {
    #[cold]
    #[inline(never)]
    fn acquire_slow(&self) {
        if !(P::may_spin() && self.spinners.spin(self)) {
            self.wait_in_list();
        }
    }

    fn wait_in_list(&self) {
        let node = Node::new();
        self.latch();
        if !self.take() {
            P::step(V::ENQUEUE);
            // SAFETY: the queue latch is ours, and the node is here until `remove_first` below.
            unsafe { self.list.append(&node) };
            // Ended by a take that finds the lock free; until then each release that looks for waiters wakes the first
            // of them (I6). The first turn cannot end it, as nobody reopens without the latch; it is in the original.
            while !self.take() {
                self.unlatch();
                P::step(V::PARK);
                node.permit.park(None);
                self.latch();
            }
            P::step(V::DEQUEUE);
            self.list.remove_first(&node);
        }
        if self.list.is_empty() {
            P::step(V::SETTLE);
            self.word.store(State::HELD.0, Relaxed);
        }
        self.unlatch();
    }

    /// Says that there is a waiter, unless the word says so already; true if nobody was inside: then we are.
    fn take(&self) -> bool {
        if !V::is_worth_writing(&self.word, State::is_uncrowded) {
            return false;
        }
        P::step(V::TAKE);
        State(self.word.swap(State::CROWDED.0, Acquire)).is_free() // E1
    }

    /// Waits for the queue latch.
    fn latch(&self) {
        let mut n_tries = 0;
        // Ended by the unlatch of the thread that has it, which comes after a few accesses and at most one wake.
        while !self.try_latch() {
            n_tries = Self::pause(n_tries);
        }
    }

    fn try_latch(&self) -> bool {
        P::step(V::LATCH);
        self.latch.swap(LATCHED, Acquire) == UNLATCHED // E2
    }

    fn unlatch(&self) {
        P::step(V::UNLATCH);
        self.latch.store(UNLATCHED, Release); // E2
    }

    // -- 7. Spin helpers ----------------------------------------------------------------------------------------------

    /// Spins until one of the attempts gets us in, which gives true, or spinning no longer pays.
    #[inline(never)]
    pub(crate) fn watch_holders(&self) -> bool {
        let budget = SpinBudget::new(T::TUNING);
        // Ended by the budget at the latest. Where that is the time slice, a spinner that can be preempted is off its core
        // when it is over, and the thread that it waits for gets to run.
        loop {
            match self.watch_holder(&budget) {
                Outcome::Inside => return true,
                Outcome::InVain => return false,
                Outcome::Again => P::pause(),
            }
        }
    }

    /// Waits until the holder has signed out, then tries once.
    pub(crate) fn watch_holder(&self, budget: &SpinBudget<P>) -> Outcome {
        let watched = self.look();
        let mut owner = watched;
        // Ended by the holder's sign_out, by its leaving its core, or by the budget.
        while owner == watched {
            let Some(holder) = owner else { break };
            if P::is_running(holder) == RunState::No || budget.is_spent() {
                return Outcome::InVain;
            }
            P::pause();
            owner = self.look();
        }
        if owner.is_some() {
            Outcome::InVain // Another has got in before us: there are too many for spinning to pay.
        } else if self.grab() {
            Outcome::Inside
        } else if budget.is_spent() {
            Outcome::InVain
        } else {
            Outcome::Again
        }
    }

    /// Whom a spinner would wait for.
    pub(crate) fn look(&self) -> Option<ThreadId> {
        P::step(V::LOOK);
        ThreadId::new(self.owner.load(Relaxed))
    }

    fn grab(&self) -> bool {
        if !V::is_worth_writing(&self.word, State::is_free) {
            return false;
        }
        P::step(V::GRAB);
        self.word.compare_exchange(State::FREE.0, State::HELD.0, Acquire, Relaxed).is_ok() // E1
    }

    /// Lets a little time pass after `n_tries` tries in vain; returns how many there will be after the next.
    pub(crate) fn pause(n_tries: u32) -> u32 {
        if n_tries >= T::TUNING.tries_before_yield || !P::may_spin() {
            P::yield_now();
        } else {
            P::pause();
        }
        n_tries.saturating_add(1)
    }

    // -- 8. release_slow ----------------------------------------------------------------------------------------------

    /// Somebody has laid claim to the lock besides us. The lock is not free yet, but nobody is inside.
    #[cold]
    #[inline(never)]
    fn release_slow(&self) {
        self.latch();
        P::step(V::REOPEN);
        self.word.store(State::FREE.0, Release); // E1
        // SAFETY: the queue latch is ours.
        unsafe { self.list.wake_first(|| P::step(V::WAKE)) };
        self.unlatch();
    }

    // -- 9. Waiter record: linux_mutex/list.rs ------------------------------------------------------------------------

    #[inline]
    fn sign_in(&self) {
        debug_assert_eq!(self.owner.load(Relaxed), NOBODY, "I4: the last holder has not signed out");
        P::step(V::SIGN_IN);
        self.owner.store(P::thread_id().get(), Relaxed);
    }

    #[inline]
    fn sign_out(&self) {
        debug_assert_eq!(self.owner.load(Relaxed), P::thread_id().get(), "I4: release by somebody else");
        P::step(V::SIGN_OUT);
        self.owner.store(NOBODY, Relaxed);
    }
}

/// How a turn of spinning ended.
pub(crate) enum Outcome {
    /// With the lock.
    Inside,
    /// Somebody else was quicker, and it is worth while to watch that one too.
    Again,
    /// With the insight that sleeping is better.
    InVain,
}

// -- 10. Inspect ------------------------------------------------------------------------------------------------------

impl<P: Platform, V, T> LinuxMutex<P, V, T> {
    fn state(&self) -> State {
        State(self.word.load(Relaxed))
    }
}

impl<P: Platform, V: Variant<P>, T> fmt::Debug for LinuxMutex<P, V, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({:?})", V::ENTRY.name, self.state())
    }
}
