//! ondeck: draft
use crate::{Entry, Promises, RawLock, RawTimedLock};
use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release};
use dugout::{Node, Wanted};
use ondeck_platform::{Atomic, Hardware, Platform, StaticPlatform, Step, Waited};
use state::{DECK, FAIR, FLIGHT, HOT, LATCHED, LOCKED, NAPPING, PASSED, STANDIN, State, VACANT};
use watch::{Wait, Watch, epoch_now, may_barge};

mod condvar;
mod dugout;
mod state;
mod tuning;
mod watch;

pub use condvar::RawCondvar;
pub use tuning::{BALANCED, Balanced, LOW_LATENCY, LowLatency, Policy, THROUGHPUT, Throughput, Tuning};

/// The row of this lock in [`LOCKS`](crate::LOCKS).
pub const ENTRY: Entry = Entry {
    name: "ondeck",
    idea: "one waiter awake and patient, the rest asleep; a release counter tells it when to keep its hands off",
    bytes: 8,
    promises: Promises { timed: true, sleeps: true, free_after_release: true, bypass: "bounded in time" },
};

// -- 1. Steps ---------------------------------------------------------------------------------------------------------

const GRAB: Step = step("grab");
const CLAIM: Step = step("claim");
const STAND_IN: Step = step("stand_in");
const ENQUEUE: Step = step("enqueue");
const REVOKE: Step = step("revoke");
const ACCEPT: Step = step("accept");
const TAKE: Step = step("take");
const CEDE: Step = step("cede");
const ASK: Step = step("ask");
const NAP: Step = step("nap");
const RISE: Step = step("rise");
const LEAVE: Step = step("leave");
const HAND_DOWN: Step = step("hand_down");
const SHOW_UP: Step = step("show_up");
const BREAK_LINE: Step = step("break_line");
const VACATE: Step = step("vacate");
const ROUSE: Step = step("rouse");
const PASS: Step = step("pass");
const PASS_ON: Step = step("pass_on");
const CALL_UP: Step = step("call_up");
const DETACH: Step = step("detach");
const LATCH: Step = step("latch");
const UNLATCH: Step = step("unlatch");

const fn step(name: &'static str) -> Step {
    Step { lock: "ondeck", name }
}

// -- 2. Tuning: in tuning.rs. -- 3. State: in state.rs ----------------------------------------------------------------

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// The flagship: see the head of this file.
#[repr(transparent)]
pub struct RawOndeck<P: Platform, T: Policy = Balanced> {
    word: P::U64,
    policy: PhantomData<fn() -> T>,
}

const _: () = assert!(size_of::<RawOndeck<Hardware>>() == ENTRY.bytes);

impl<P: StaticPlatform, T: Policy> RawOndeck<P, T> {
    /// A free lock, for statics.
    pub const INIT: Self = RawOndeck { word: P::U64_ZERO, policy: PhantomData };
}

// -- 5. Public raw operations -----------------------------------------------------------------------------------------

impl<P: Platform, T: Policy> RawLock for RawOndeck<P, T> {
    type Platform = P;
    const ENTRY: Entry = ENTRY;

    #[inline]
    fn new() -> Self {
        RawOndeck { word: P::U64::new(0), policy: PhantomData }
    }

    #[inline(always)]
    fn try_acquire(&self) -> bool {
        !self.load().has(LOCKED) && self.grab()
    }

    #[inline(always)]
    fn acquire(&self) {
        if !self.grab() {
            self.acquire_slow(None);
        }
    }

    #[inline(always)]
    unsafe fn release(&self) {
        if self.load().has(FAIR | NAPPING | VACANT) {
            return Self::release_slow(self, false);
        }
        P::step(VACATE);
        let before = State(self.word.fetch_add(LOCKED, Release)); // E1
        debug_assert!(before.has(LOCKED), "I1: released by its holder");
        if before.has(NAPPING) {
            Self::wake_the_deck(self);
        }
    }

    fn shows_sleeper(&self) -> Option<bool> {
        let state = self.load();
        Some(state.has_sleepers() || state.has(NAPPING))
    }

    fn is_at_rest(&self) -> bool {
        self.load().is_at_rest()
    }
}

impl<P: Platform, T: Policy> RawTimedLock for RawOndeck<P, T> {
    #[inline]
    fn try_acquire_until(&self, deadline_ns: u64) -> bool {
        self.grab() || self.acquire_slow(Some(deadline_ns))
    }
}

impl<P: Platform, T: Policy> RawOndeck<P, T> {
    /// As [`release`](RawLock::release), but if somebody waits the lock is given to a waiter instead of being freed:
    /// to the occupant of the deck, else to a sleeper that is called up for it.
    ///
    /// Costs a futile pause of the lock when the waiter has to be woken first: fairness is paid for in throughput.
    ///
    /// # Safety
    /// The calling thread holds the lock.
    #[inline]
    pub unsafe fn release_fair(&self) {
        if self.load().is_alone() {
            // SAFETY: the caller holds the lock.
            unsafe { self.release() };
        } else {
            Self::release_slow(self, true);
        }
    }

    /// Whether some thread holds the lock; stale at once.
    #[inline]
    pub fn is_taken(&self) -> bool {
        self.load().has(LOCKED)
    }

    /// Whether some thread is known to wait for the lock; stale at once.
    #[inline]
    pub fn is_contended(&self) -> bool {
        !self.load().is_alone()
    }

    #[inline(always)]
    fn load(&self) -> State {
        State(self.word.load(Relaxed))
    }

    #[inline(always)]
    fn grab(&self) -> bool {
        P::step(GRAB);
        self.word.fetch_or(LOCKED, Acquire) & LOCKED == 0 // E1
    }

    #[inline(always)]
    fn cas(&self, from: State, to: State, order: Ordering) -> bool {
        self.word.compare_exchange(from.0, to.0, order, Relaxed).is_ok()
    }

    // -- 6. acquire_slow ----------------------------------------------------------------------------------------------

    #[cold]
    #[inline(never)]
    fn acquire_slow(&self, deadline: Option<u64>) -> bool {
        let is_hot = self.load().has(HOT);
        let spins = P::may_spin();
        if spins && self.first_look() {
            return true;
        }
        let mut may_stand_in = spins;
        let node = Node::<P>::new();
        let wait = Wait::<P>::new();
        loop {
            let state = self.load();
            let turn = if !state.has(LOCKED) && may_barge(state) {
                if self.grab() {
                    return true;
                }
                Turn::Again
            } else if is_past::<P>(deadline) {
                return false;
            } else if spins && state.has(PASSED) && !state.has(STANDIN | NAPPING) {
                // Awake contenders only: a lock passed to a napping deck is not taken back (I5).
                self.give_way(state, &wait)
            } else if !state.has(DECK) {
                self.claim(is_hot, deadline)
            } else if may_stand_in && state.has(FLIGHT) && !state.has(STANDIN) && !state.is_coming_to(P::current_core())
            {
                P::step(STAND_IN);
                if self.cas(state, state.with(STANDIN), Relaxed) { self.on_deck(is_hot, deadline) } else { Turn::Again }
            } else {
                self.enqueue(state, &node, deadline)
            };
            match turn {
                Turn::AtBat => return true,
                Turn::Left => return false,
                Turn::Ceded => may_stand_in = false,
                Turn::Again => {}
            }
        }
    }

    /// The lock is on its way to the deck: a moment later the seat is vacant. If nothing happens, takes the lock back.
    fn give_way(&self, state: State, wait: &Wait<P>) -> Turn {
        if !wait.longer_than(T::tuning().revoke_ns) {
            wait.briefly();
            return Turn::Again;
        }
        P::step(REVOKE);
        if self.cas(state, state.without(PASSED), Acquire) { Turn::AtBat } else { Turn::Again } // E1
    }

    fn claim(&self, is_hot: bool, deadline: Option<u64>) -> Turn {
        P::step(CLAIM);
        let before = State(self.word.fetch_or(DECK, Relaxed));
        if before.has(DECK) {
            return Turn::Again;
        }
        if before.has(VACANT) {
            // Ours to clear: nobody sets it while the deck is taken (I3).
            P::step(CLAIM);
            self.word.fetch_and(!VACANT, Relaxed);
        }
        self.on_deck(is_hot, deadline)
    }

    /// Retires to the dugout and comes back from it with the seat, the lock, or neither.
    fn enqueue(&self, state: State, node: &Node<P>, deadline: Option<u64>) -> Turn {
        let Some(next) = node.on_top_of(state) else {
            // An address beyond 48 bits: this thread cannot be written into the word, so it looks in now and then.
            let (word, waiting) = node.grant_word();
            P::wait_on(word, waiting, Some(P::now_ns() + u64::from(T::tuning().rotate_ns)));
            return Turn::Again;
        };
        P::step(ENQUEUE);
        if !self.cas(state, next, Release) {
            // E2
            return Turn::Again;
        }
        let (word, waiting) = node.grant_word();
        while !node.is_granted() {
            if P::wait_on(word, waiting, deadline) == Waited::TimedOut && self.cancel(node) {
                return Turn::Left;
            }
        }
        self.show_up(deadline)
    }

    /// A called sleeper takes its seat, or lines up behind whoever stands in for it.
    fn show_up(&self, deadline: Option<u64>) -> Turn {
        P::step(SHOW_UP);
        let before = State(self.word.fetch_and(!FLIGHT, Relaxed));
        debug_assert!(before.has(FLIGHT) && before.has(DECK), "I4: the seat waits for the one that was called");
        if before.has(STANDIN) {
            let turn = self.wait_in_line(deadline);
            if turn != Turn::Ceded {
                return turn;
            }
        }
        self.on_deck(before.has(HOT), deadline)
    }

    /// Waits until the stand-in has gone: `Ceded` if the seat is ours. A stand-in that does not answer is not running;
    /// then we may take the lock past it, which leaves it the seat.
    fn wait_in_line(&self, deadline: Option<u64>) -> Turn {
        const GAP_NS: u32 = 2_000;
        let mut has_waked = false;
        let wait = Wait::<P>::new();
        loop {
            let state = self.load();
            if !state.has(STANDIN) {
                return Turn::Ceded;
            }
            if state.has(NAPPING) && !has_waked {
                // It fell asleep before it was made a stand-in.
                Self::wake_the_deck(self);
                has_waked = true;
            }
            let is_late = wait.longer_than(T::tuning().revoke_ns);
            let (next, turn) = if !state.has(LOCKED) && (is_late || !state.has(HOT)) {
                (state.with(LOCKED).without(STANDIN), Turn::AtBat)
            } else if state.has(PASSED) && is_late {
                (state.without(PASSED | STANDIN), Turn::AtBat)
            } else if is_past::<P>(deadline) {
                (state.without(STANDIN), Turn::Left)
            } else {
                if is_late {
                    P::yield_now()
                } else {
                    P::pause_ns(GAP_NS)
                }
                continue;
            };
            P::step(BREAK_LINE);
            if self.cas(state, next, Acquire) {
                // E1
                return turn;
            }
        }
    }

    // -- 7. Spinning --------------------------------------------------------------------------------------------------

    /// Looks at a taken lock for a little while without writing to the word.
    #[inline(never)]
    fn first_look(&self) -> bool {
        let tuning = T::tuning();
        let first = self.load();
        if first.has(HOT | PASSED) {
            return false;
        }
        let wait = Wait::<P>::new();
        let mut state = first;
        let mut gap = tuning.look_gap_ns;
        // Ends by the clock, if not before.
        loop {
            if !state.has(LOCKED) && self.grab() {
                return true;
            }
            let is_captured = state.releases_since(first) > u64::from(tuning.look_releases);
            if state.has(PASSED) || is_captured || wait.longer_than(tuning.look_ns) {
                return false;
            }
            P::pause_ns(gap);
            gap = gap.saturating_mul(2);
            state = self.load();
        }
    }

    /// Sits on deck until at bat, or gives the seat up.
    #[inline(never)]
    fn on_deck(&self, is_hot: bool, deadline: Option<u64>) -> Turn {
        let tuning = T::tuning();
        let spins = P::may_spin();
        let mut watch = Watch::<P>::new(self.load(), is_hot, tuning);
        // One step a turn; ends when the lock comes, the deadline passes, or the seat's rightful owner shows up.
        loop {
            let state = self.load();
            watch.observe(state, tuning);
            if state.has(PASSED) {
                P::step(ACCEPT);
                if self.cas(state, state.at_bat(), Acquire) {
                    // E1
                    return Turn::AtBat;
                }
            } else if !state.has(LOCKED)
                && (!spins || watch.has_asked || watch.may_take(tuning) || is_past::<P>(deadline))
            {
                let cooled = if watch.is_hot { state } else { state.without(HOT) };
                P::step(TAKE);
                if self.cas(state, cooled.at_bat(), Acquire) {
                    // E1
                    return Turn::AtBat;
                }
            } else if is_past::<P>(deadline) {
                if self.give_up(state) {
                    return Turn::Left;
                }
            } else if state.has(STANDIN) && (!state.has(FLIGHT) || !spins || watch.is_still_for(tuning.nap_after_ns)) {
                P::step(CEDE);
                if self.cas(state, state.ceded(), Relaxed) {
                    return Turn::Ceded;
                }
            } else if !watch.has_asked && (spins || watch.naps > 0) && watch.is_due(state, tuning) {
                self.ask(&mut watch, tuning);
            } else if state.has(LOCKED) && (!spins || watch.is_still_for(tuning.nap_after_ns)) {
                self.nap(state, &mut watch, deadline);
            } else if watch.is_still_for(tuning.quiet_ns) {
                P::yield_now();
            } else {
                P::pause_ns(watch.next_gap_ns(tuning));
            }
        }
    }

    /// Asks that the next release pass the lock.
    fn ask(&self, watch: &mut Watch<P>, tuning: &Tuning) {
        watch.has_asked = true;
        P::step(ASK);
        self.word.fetch_or(if watch.is_hot { FAIR | HOT } else { FAIR }, Relaxed);
        P::pause_ns(watch.next_gap_ns(tuning));
    }

    /// Sleeps on the word until the next release.
    fn nap(&self, state: State, watch: &mut Watch<P>, deadline: Option<u64>) {
        let napping = state.napping(watch.naps > 0);
        P::step(NAP);
        if !self.cas(state, napping, Relaxed) {
            return;
        }
        P::wait_on_upper(&self.word, napping.0, deadline);
        loop {
            let state = self.load();
            // Together with PASSED the flag stays until the lock is accepted (I5).
            if !state.has(NAPPING) || state.has(PASSED) {
                break;
            }
            P::step(RISE);
            if self.cas(state, state.without(NAPPING), Relaxed) {
                break;
            }
        }
        watch.rise(self.load(), T::tuning());
    }

    /// The deadline has passed and `state` shows the lock taken and not passed: true if the seat is given up.
    fn give_up(&self, state: State) -> bool {
        if state.has(STANDIN) {
            P::step(CEDE);
            return self.cas(state, state.ceded(), Relaxed);
        }
        if !state.has_sleepers() {
            P::step(LEAVE);
            return self.cas(state, state.left(), Relaxed);
        }
        if state.has(LATCHED) {
            P::yield_now();
            return false;
        }
        P::step(HAND_DOWN);
        if !self.cas(state, state.handed_down(), Acquire) {
            // E3
            return false;
        }
        // SAFETY: we hold the latch over a list that was not empty, and `self` outlives the call.
        unsafe { Self::call_a_sleeper(self, Wanted::ElsewhereIfPossible) };
        true
    }

    // -- 8. release_slow ----------------------------------------------------------------------------------------------

    /// Releases a lock that shows work to do. Takes a pointer because the lock may be freed while this runs, once the
    /// releasing write is done.
    #[cold]
    #[inline(never)]
    fn release_slow(this: *const Self, is_fair: bool) {
        loop {
            // SAFETY: the caller holds the lock until one of the writes below succeeds, and they end this loop.
            let lock = unsafe { &*this };
            let state = lock.load();
            let gives = state.has(FAIR) || is_fair;
            let may_call = state.has_sleepers() && !state.has(LATCHED | FLIGHT | STANDIN | NAPPING);
            if gives && may_call {
                P::step(PASS_ON);
                if lock.cas(state, state.passed().with(LATCHED), AcqRel) {
                    // E1 E3
                    // SAFETY: as in `give_up`; the latch pins the sleepers, and they pin the lock (I6).
                    return unsafe { Self::call_a_sleeper(this, Wanted::HereIfPossible) };
                }
            } else if gives && state.has(DECK) {
                P::step(PASS);
                if lock.cas(state, state.passed(), Release) {
                    // E1
                    if state.has(NAPPING) {
                        Self::wake_the_deck(this);
                    }
                    return;
                }
            } else if state.has(NAPPING) {
                P::step(ROUSE);
                if lock.cas(state, state.released().without(NAPPING), Release) {
                    // E1
                    return Self::wake_the_deck(this);
                }
            } else if state.has(VACANT) && !state.has(DECK | LATCHED) {
                P::step(CALL_UP);
                if lock.cas(state, state.released().with(LATCHED), AcqRel) {
                    // E1 E3
                    // SAFETY: as above.
                    return unsafe { Self::call_a_sleeper(this, Wanted::HereIfPossible) };
                }
            } else {
                P::step(VACATE);
                if lock.cas(state, state.released(), Release) {
                    // E1
                    return;
                }
            }
        }
    }

    /// Wakes a deck that naps on the word. By address only: the lock may be gone.
    #[cold]
    fn wake_the_deck(this: *const Self) {
        P::wake_upper(this.cast::<P::U64>(), 1);
    }

    // -- 9. The dugout, under the latch; the list itself is in dugout.rs ---------------------------------------------

    /// Calls a sleeper to the deck and drops the latch.
    ///
    /// # Safety
    /// - The caller holds the latch, and there is a sleeper. Both keep `*this` alive until the latch is dropped (I6).
    unsafe fn call_a_sleeper(this: *const Self, wanted: Wanted) {
        let tuning = T::tuning();
        let epoch = epoch_now::<P>(tuning);
        // SAFETY: alive, as the caller says; not used after `detach`, which drops the latch.
        let lock = unsafe { &*this };
        let head = lock.link();
        // SAFETY: we hold the latch and have linked from this head.
        let node = unsafe { Node::choose(head, wanted, tuning.prefer_core_among) };
        // SAFETY: in the list, and alive until its grant.
        let chosen = unsafe { &*node };
        chosen.call();
        // The kernel tends to put it behind its caller.
        let core = P::current_core();
        lock.detach(chosen, |state| state.called(epoch, core));
        // SAFETY: called by us, just now.
        unsafe { Node::grant(node) };
    }

    /// Links the list and gives its head. The caller holds the latch, and there is a sleeper.
    fn link(&self) -> *const Node<P> {
        let head = Node::<P>::head(State(self.word.load(Acquire))); // E2
        // SAFETY: the caller holds the latch.
        unsafe { Node::link(head) };
        head
    }

    /// Takes `node` off the list and changes the word by `then`, which drops the latch, in the same write. The caller
    /// holds the latch and has linked the list.
    fn detach(&self, node: &Node<P>, then: impl Fn(State) -> State) {
        let mut is_unlinked = false;
        // Each further turn is caused by another thread's step: a push, a release, an acquisition.
        loop {
            let state = State(self.word.load(Acquire)); // E2
            P::step(DETACH);
            if is_unlinked {
                if self.cas(state, then(state), AcqRel) {
                    // E2 E3
                    return;
                }
            } else if core::ptr::eq(Node::head(state), node) {
                // SAFETY: we hold the latch, and a head that has been linked is the anchor.
                let older = unsafe { node.bequeath_anchor() };
                if self.cas(state, then(state.with_head(older)), AcqRel) {
                    // E2 E3
                    return;
                }
                // SAFETY: as above.
                unsafe { node.keep_anchor() };
            } else {
                let head = self.link();
                // SAFETY: we hold the latch, and `node` is not the head.
                unsafe { node.unlink(head) };
                is_unlinked = true;
            }
        }
    }

    /// The deadline of a sleeper has passed: true if it has left the list, false if it has been called already.
    #[cold]
    fn cancel(&self, node: &Node<P>) -> bool {
        if !self.latch(node) {
            return false;
        }
        if node.is_called() {
            self.unlatch();
            let (word, waiting) = node.grant_word();
            // Ends: the caller grants right after it has dropped the latch.
            while !node.is_granted() {
                P::wait_on(word, waiting, None);
            }
            return false;
        }
        self.link();
        let must_call = Cell::new(false);
        self.detach(node, |state| {
            let next = state.unlatched();
            must_call.set(next.is_none());
            next.unwrap_or(state)
        });
        if must_call.get() {
            // SAFETY: the latch is still ours, the lock is free, and somebody sleeps; `self` outlives the call.
            unsafe { Self::call_a_sleeper(self, Wanted::ElsewhereIfPossible) };
        }
        true
    }

    /// Takes the latch for a sleeper that wants to leave; false if it has been granted the seat meanwhile.
    fn latch(&self, node: &Node<P>) -> bool {
        // Ends: a latch holder runs straight through.
        while !node.is_granted() {
            let state = self.load();
            if state.has(LATCHED) {
                P::yield_now();
                continue;
            }
            P::step(LATCH);
            if self.cas(state, state.with(LATCHED), Acquire) {
                // E3
                return true;
            }
        }
        false
    }

    fn unlatch(&self) {
        loop {
            let state = self.load();
            let Some(next) = state.unlatched() else {
                // SAFETY: we hold the latch and somebody sleeps; `self` outlives the call.
                return unsafe { Self::call_a_sleeper(self, Wanted::ElsewhereIfPossible) };
            };
            P::step(UNLATCH);
            if self.cas(state, next, Release) {
                // E3
                return;
            }
        }
    }
}

/// How a stay in the dugout or on deck ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Turn {
    /// The lock is ours.
    AtBat,
    /// The deadline has passed and nothing is left of us.
    Left,
    /// The seat has been given to the one it was kept for.
    Ceded,
    /// Nothing was gained: look again.
    Again,
}

fn is_past<P: Platform>(deadline: Option<u64>) -> bool {
    deadline.is_some_and(|deadline_ns| P::now_ns() >= deadline_ns)
}

// -- 10. Inspect ------------------------------------------------------------------------------------------------------

impl<P: Platform, T: Policy> fmt::Debug for RawOndeck<P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.load();
        f.debug_struct("RawOndeck")
            .field("is_taken", &state.has(LOCKED))
            .field("has_deck", &state.has(DECK))
            .field("has_sleepers", &state.has_sleepers())
            .finish()
    }
}
