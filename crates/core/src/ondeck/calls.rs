//! Releasing a contended lock, and everything that is done under the latch: calls and cancellations.

use super::dugout::Node;
use super::plan::{self, ReleasePlan};
use super::state::{DECK, LATCHED, NAPPING, ROOM, State};
use super::watch::{Tries, epoch_now};
use super::{CALL_UP, DETACH, LATCH, PASS, PASS_ON, Policy, ROUSE, RawOndeck, UNLATCH, VACATE};
use crate::yields::Yields;
use crate::{Atomic, Platform};
use core::cell::Cell;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Release};

/// How long a holder stays off the word after a release if somebody asks for room: long enough for a line to come and go.
const ROOM_NS: u32 = 500;

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

    /// Calls a sleeper to the deck and drops the latch.
    ///
    /// # Safety
    /// - The caller holds the latch, and there is a sleeper. Both keep `*this` alive until the latch is dropped (I6).
    pub(super) unsafe fn call_a_sleeper(this: *const Self) {
        let epoch = epoch_now::<P>(T::tuning());
        // SAFETY: alive, as the caller says; not used after `detach`, which drops the latch.
        let lock = unsafe { &*this };
        let head = lock.link();
        // SAFETY: we hold the latch and have linked from this head.
        let node = unsafe { Node::choose(head) };
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
            // SAFETY: the latch is still ours, the lock is free, and somebody sleeps; `self` outlives the call.
            unsafe { Self::call_a_sleeper(self) };
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
            if self.word.fetch_or(LATCHED, Acquire) & LATCHED == 0 {
                return true;
            }
        }
        false
    }

    /// Drops the latch that a called sleeper has taken. The seat is kept for it, so nobody need be called (I4).
    pub(super) fn unlatch(&self) {
        P::step(UNLATCH);
        let before = State(self.word.fetch_and(!LATCHED, Release)); // E3
        debug_assert!(before.has(LATCHED) && before.has(DECK), "I4: the seat waits for the one that was called");
    }
}
