//! Releasing a contended lock, and everything that is done under the latch: calls and cancellations.

use super::dugout::Node;
use super::plan::{self, ReleasePlan};
use super::state::{DECK, LATCHED, LOCKED, NAPPING, QUIET, ROOM, RUSH, State};
use super::watch::{Tries, epoch_now};
use super::{CALL_UP, DETACH, HURRY, HUSH, LATCH, PASS, PASS_ON, Policy, ROUSE, RawOndeck, UNLATCH, VACATE};
use crate::yields::Yields;
use crate::{Atomic, Platform};
use core::cell::Cell;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// How long a holder stays off the word after a release if somebody asks for room: long enough for a line to come and go.
const ROOM_NS: u32 = 500;

/// Whether a called sleeper gets a seat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Seat {
    /// It gets one: at most one is taken, by somebody who has not been called or is being passed the lock.
    One,
    /// It gets one if both are empty. Else it acquires as any arrival, and nobody relies on it.
    IfBothAreEmpty,
}

impl<P: Platform, T: Policy> RawOndeck<P, T> {
    // -- 8. release_slow ----------------------------------------------------------------------------------------------

    /// Releases a lock that shows work to do. Takes a pointer because the lock may be freed while this runs, once the
    /// releasing write is done.
    #[cold]
    #[inline(never)]
    pub(super) fn release_slow(this: *const Self, is_fair: bool) {
        loop {
            // SAFETY: the caller holds the lock until one of the writes below succeeds, and they end this loop.
            let lock = unsafe { &*this };
            let state = lock.load();
            match plan::release(state, is_fair) {
                ReleasePlan::PassOn => {
                    P::step(PASS_ON);
                    // E1 E3
                    if lock.cas(state, state.passed().with(LATCHED), AcqRel) {
                        // SAFETY: as in `give_up`; the latch pins the sleepers, and they pin the lock (I6).
                        return unsafe { Self::call_a_sleeper(this) };
                    }
                }
                ReleasePlan::Pass => {
                    P::step(PASS);
                    // E1
                    if lock.cas(state, state.passed(), Release) {
                        if state.has(NAPPING) {
                            Self::wake_the_deck(this);
                        }
                        return;
                    }
                }
                ReleasePlan::Rouse => {
                    P::step(ROUSE);
                    // E1
                    if lock.cas(state, state.released().without(NAPPING), Release) {
                        return Self::wake_the_deck(this);
                    }
                }
                ReleasePlan::CallUp => {
                    P::step(CALL_UP);
                    // E1 E3
                    if lock.cas(state, state.released().with(LATCHED), AcqRel) {
                        // SAFETY: as above.
                        return unsafe { Self::call_a_sleeper(this) };
                    }
                }
                ReleasePlan::Rush => {
                    P::step(HURRY);
                    // E1 E3
                    if lock.cas(state, state.released().without(NAPPING | RUSH).with(LATCHED), AcqRel) {
                        if state.has(NAPPING) {
                            Self::wake_the_deck(this);
                        }
                        // SAFETY: as above.
                        return unsafe { Self::call(this, Seat::IfBothAreEmpty, true) };
                    }
                }
                ReleasePlan::Vacate if state.may_hush() && P::can_expel() => {
                    P::step(HUSH);
                    // E1
                    if lock.cas(state, State::quiet(), Release) {
                        return;
                    }
                }
                ReleasePlan::Vacate => {
                    P::step(VACATE);
                    // E1
                    if lock.cas(state, state.vacated(), Release) {
                        if state.has(ROOM) {
                            P::pause_ns(ROOM_NS);
                        }
                        return;
                    }
                }
            }
        }
    }

    /// Wakes the threads that nap on the word: one for each seat at most. By address only: the lock may be gone.
    #[cold]
    pub(super) fn wake_the_deck(this: *const Self) {
        P::wake_upper(this.cast::<P::U64>(), 2);
    }

    // -- 9. The dugout, under the latch; the list itself is in dugout.rs ---------------------------------------------

    /// Calls a sleeper to a seat and drops the latch.
    ///
    /// # Safety
    /// - The caller holds the latch, and there is a sleeper. Both keep `*this` alive until the latch is dropped (I6).
    pub(super) unsafe fn call_a_sleeper(this: *const Self) {
        // SAFETY: as the caller says.
        unsafe { Self::call(this, Seat::One, false) };
    }

    /// Calls a sleeper that nobody else would, with the lock free: to a seat unless one is taken.
    fn call_another(&self) {
        // SAFETY: the latch is the caller's, and somebody sleeps; `self` outlives the call.
        unsafe { Self::call(self, Seat::IfBothAreEmpty, false) };
    }

    /// Calls a sleeper and drops the latch; then, in a rush, others that have been notified, while the lock is free: what they
    /// want of it may be short, and each of them may have a core of its own. A rush that others had to leave to us, as we
    /// had the latch, is one too.
    ///
    /// # Safety
    /// As for [`call_a_sleeper`](Self::call_a_sleeper).
    unsafe fn call(this: *const Self, seat: Seat, mut is_rush: bool) {
        // SAFETY: alive, as the caller says; after that because of `called`, until that is granted (I6).
        let lock = unsafe { &*this };
        // SAFETY: as the caller says.
        let mut called = unsafe { lock.take_off(seat) };
        // Each turn takes a sleeper off the list. SAFETY: `called` is alive until its grant.
        while lock.goes_on_with_rush(unsafe { &*called }, is_rush) {
            is_rush = true;
            // SAFETY: latched, and somebody sleeps.
            let next = unsafe { lock.take_off(Seat::IfBothAreEmpty) };
            // SAFETY: called by us, and this is the only time. `next`, not granted yet, keeps the lock alive (I6).
            unsafe { Node::grant(called) };
            called = next;
        }
        // SAFETY: as above; the lock is not used after it.
        unsafe { Node::grant(called) };
    }

    /// After a call in a rush, or one after which RUSH is set: takes the latch for another one, if the last has been notified,
    /// somebody else sleeps, and the lock is free. Else the next release is left to go on with the rush, unless somebody is
    /// awake in a seat: then one who waits awake is enough.
    fn goes_on_with_rush(&self, called: &Node<P>, is_rush: bool) -> bool {
        // Each further turn is caused by another thread's step.
        loop {
            let state = self.load();
            if !state.has_sleepers() || state.has(LATCHED) || !(is_rush || state.has(RUSH)) {
                return false;
            }
            if called.is_notified() && !state.has(LOCKED) {
                P::step(LATCH);
                // E3
                if self.cas(state, state.with(LATCHED), Acquire) {
                    return true;
                }
            } else if state.is_anybody_up() || state.has(RUSH) || self.cas(state, state.with(RUSH), Relaxed) {
                return false;
            }
        }
    }

    /// Takes a sleeper off the list, calls it, and drops the latch. It is the caller's to grant, and keeps the lock alive until
    /// then.
    ///
    /// # Safety
    /// The caller holds the latch, and there is a sleeper.
    unsafe fn take_off(&self, seat: Seat) -> *const Node<P> {
        let epoch = epoch_now::<P>(T::tuning());
        let head = self.link();
        // SAFETY: we hold the latch and have linked from this head.
        let node = unsafe { Node::choose(head) };
        // SAFETY: in the list, and alive until its grant.
        let chosen = unsafe { &*node };
        chosen.call();
        // The kernel tends to put it behind its caller.
        let core = P::current_core();
        let is_alone = Cell::new(false);
        self.detach(chosen, |state| {
            is_alone.set(seat == Seat::IfBothAreEmpty && state.has(DECK));
            if is_alone.get() { state.without(LATCHED) } else { state.called(epoch, core) }
        });
        if is_alone.get() {
            chosen.call_alone();
        }
        node
    }

    /// Links the list and gives its head. The caller holds the latch, and there is a sleeper.
    pub(super) fn link(&self) -> *const Node<P> {
        let head = Node::<P>::head(State(self.word.load(Acquire))); // E2
        // SAFETY: the caller holds the latch.
        unsafe { Node::link(head) };
        head
    }

    /// Takes `node` off the list and changes the word by `then`, which drops the latch, in the same write. The caller
    /// holds the latch and has linked the list.
    pub(super) fn detach(&self, node: &Node<P>, then: impl Fn(State) -> State) {
        let mut is_unlinked = false;
        let mut tries = Tries::default();
        // Each further turn is caused by another thread's step: a push, a release, an acquisition.
        loop {
            let state = State(self.word.load(Acquire)); // E2
            P::step(DETACH);
            if is_unlinked {
                // E2 E3
                if self.get_through(state, then(state), AcqRel, &mut tries) {
                    return;
                }
            } else if core::ptr::eq(Node::head(state), node) {
                // SAFETY: we hold the latch, and a head that has been linked is the anchor.
                let older = unsafe { node.bequeath_anchor() };
                // E2 E3
                if self.get_through(state, then(state.with_head(older)), AcqRel, &mut tries) {
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
    pub(super) fn cancel(&self, node: &Node<P>) -> bool {
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
            self.call_another();
        }
        true
    }

    /// Takes the latch for a sleeper that wants to leave; false if it has been granted the seat meanwhile.
    pub(super) fn latch(&self, node: &Node<P>) -> bool {
        // Ends: a latch holder runs straight through, once it has a core.
        let mut yields = Yields::default();
        while !node.is_granted() {
            if self.load().has(LATCHED) {
                yields.make_way::<P>();
                continue;
            }
            P::step(LATCH);
            // E3
            let before = State(self.word.fetch_or(LATCHED, Acquire));
            if before.has(QUIET) {
                // Called alone, so there is no list to protect: the flag means nothing.
                yields.make_way::<P>();
            } else if !before.has(LATCHED) {
                return true;
            }
        }
        false
    }

    /// Drops the latch that a called sleeper has taken. If it has been called without a seat, or a rush is to go on, nobody else
    /// may be there to call the next: then it does so (I2).
    fn unlatch(&self) {
        // Each further turn is caused by another thread's step.
        loop {
            let state = self.load();
            let Some(next) = state.unlatched() else {
                return self.call_another();
            };
            P::step(UNLATCH);
            // E3
            if self.cas(state, next, Release) {
                return;
            }
        }
    }
}
