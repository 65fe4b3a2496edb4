//! go-spinbit: one waiter holds the right to poll the word; all others sleep on a stack that hangs from the word.
//!
//! # Idea
//! A lock collapses when many contenders poll its word. Here one bit of the word is the right to poll. The waiter that
//! has it is on deck, and while somebody is, release wakes nobody. The others push themselves on a stack and sleep on a
//! permit of their own, so a wake is for one chosen thread. The newest sleeper is woken first, because its caches are
//! warm. Without a rule against it, the oldest would then sleep for ever. So one in sixteen of the releases that look
//! for sleepers wakes the oldest instead.
//!
//! # Lineage
//! `lock2` and `unlock2` of Go 1.24 and later (runtime/lock_spinbit.go, read in 1.26.8; Go issue 68578). Kept: the
//! flags and their places in the word, the wake rule, the coin, the order of spinning, yielding and sleeping, and that
//! a woken waiter starts its spinning one turn late. Left out: the contention profile, which may trade the release for
//! the queue latch; `sched.lock`, where all waiters may spin. Changed:
//! - Go swaps the *low byte* of the word. Atomic accesses of different sizes to one place are undefined behaviour in
//!   Rust, so all are on the whole word. A grab sets one bit and leaves SLEEPING alone; Go's clears it even when it
//!   fails, on which Go's release finds no hint and wakes nobody, relying on that contender. So here more releases
//!   look at the wake rule and toss the coin; nothing has to be repaired after a grab; and I1 holds. Release is a
//!   fetch-and, which x86-64 makes a load and a compare-exchange where Go has one swap: a few nanoseconds more when
//!   alone.
//! - A node is on its thread's stack and gone after the wait; Go's are part of a thread record that is never freed. Who
//!   may touch it when is in section 9.
//! - The pop begins with the word as the latch left it. Go's first attempt compares with the word before the latch, so
//!   it always fails once.
//! - Claiming the right to spin is a turn of its own, after which the word is read again.
//! - The coin is a hash of the tick counter; Go has a generator in each thread record.
//!
//! # State word
//!
//! | bits | name | meaning when set | set by | cleared by | may be stale? |
//! |---|---|---|---|---|---|
//! | 0 | LOCKED | somebody inside | grab, late_grab, deck_grab | vacate | exact |
//! | 1 | SLEEPING | release should look for sleepers | late_grab, deck_grab, push | vacate, deck_grab | may linger while locked, may be missing while SPINNING; see I4 |
//! | 8 | SPINNING | some waiter is on deck | claim_spin | deck_grab, push | exact |
//! | 9 | LATCHED | queue latch: some releaser picks a sleeper | latch | pop | exact |
//! | 10..64 | top | the newest node of the stack, 0 if there is none | push | pop | exact |
//!
//! # Life of a word
//!
//! ```text
//!   free --grab--> L --claim_spin--> L+spin --vacate--> spin --deck_grab--> L(+sleeping, if the stack is not empty)
//!                    --push--> L+sleeping+top --vacate--> top --latch--> latched+top --pop--> the node below
//! ```
//!
//! | step | from -> to | who | operation and ordering |
//! |---|---|---|---|
//! | grab | any -> LOCKED | arrival | fetch-or, Acquire (E1); inside if it was not LOCKED |
//! | look | unchanged | contender | load, Relaxed: an RMW follows before anything is believed |
//! | late_grab | any -> LOCKED and SLEEPING | waiter not on deck | fetch-or, Acquire (E1); inside if it was not LOCKED |
//! | deck_grab | free -> LOCKED, SPINNING cleared, SLEEPING as the stack says | waiter on deck | compare-exchange, Acquire (E1) |
//! | claim_spin | LOCKED -> SPINNING too | waiter | compare-exchange, Relaxed |
//! | push | LOCKED -> SLEEPING too, top is mine, SPINNING cleared if it was mine | waiter that retires | compare-exchange, Release (E2) |
//! | park | unchanged | sleeper | waits for the permit of its node |
//! | vacate | LOCKED and SLEEPING cleared | holder | fetch-and, Release (E1) |
//! | survey | unchanged | ex-holder, if vacate found SLEEPING | load, Relaxed |
//! | latch | top -> LATCHED too | ex-holder | compare-exchange, Acquire (E2, E3) |
//! | pop | LATCHED cleared, top to the one below if it is the newest that is woken | ex-holder | compare-exchange, Release (E3); on failure Acquire (E2) |
//! | wake | word untouched | ex-holder | gives the permit of the node it took out |
//!
//! # Invariants
//! - I1 SLEEPING implies LOCKED. asserted: `acquire_slow`; checked by: TLA+ `SleepingImpliesLocked`.
//! - I2 Only the holder of the queue latch takes nodes out, and it never finds the stack empty. asserted: `pop`;
//!   checked by: TLA+ `LatchIsExclusive`, `StackHoldsTheSleepers`.
//! - I3 SPINNING is set if and only if exactly one waiter is on deck. asserted: `acquire_slow`; checked by: TLA+
//!   `OneOnDeck`.
//! - I4 While the stack is not empty, one of these is true: SLEEPING; SPINNING; LATCHED; an ex-holder that found
//!   SLEEPING has neither latched nor given up yet; a waiter that was taken out has not yet entered, pushed, or claimed
//!   the spin. asserted: cannot be, locally; checked by: TLA+ `NoSleeperForgotten`.
//! - I5 A vacate finds LOCKED. asserted: `release`; checked by: test `misuse_is_caught`.
//!
//! # Orderings
//! - E1 `vacate` -> `grab`, `late_grab`, `deck_grab`: everything the last holder wrote.
//! - E2 `push` -> `latch`, `pop`: the first values of the node and its `below`.
//! - E3 `pop` -> `latch`: what the last holder of the queue latch wrote into nodes that are still on the stack.
//!
//! Every write to the word is an RMW, so each of these writes stays at the head of a release sequence: an edge holds
//! whatever others do to the word in between. From the popper to the woken the permit is the edge. Looks, survey and
//! claim_spin lead to no node and to no protected data, so Relaxed is enough. A model needs four threads to tell
//! whether the pop keeps E2 and E3: one inside, one with the queue latch, two on the stack.
//!
//! # Promises
//! - Mutual exclusion: each way in is one RMW that found LOCKED clear. Conformance `exclusion`; TLA+ `MutualExclusion`.
//! - No lost wake-up: a push succeeds only while LOCKED, and sets SLEEPING; so a vacate follows that finds it. That
//!   ex-holder wakes a sleeper, or sees SPINNING, or sees LATCHED. The waiter on deck enters and sets SLEEPING again if
//!   the stack is not empty, or retires by a push. The holder of the queue latch cannot let go of it but by a pop that
//!   wakes somebody or that sees, in the same RMW, SPINNING. A woken waiter takes the part of any other: it enters with
//!   SLEEPING, pushes, or claims the spin (I4). Conformance `exclusion`; TLA+ `NoSleeperForgotten`, `Termination`.
//! - Nothing is left in the word when nobody is inside or waiting. Conformance `exclusion`.
//! - Bypass: unbounded, also among sleepers: the newest is woken first, and the oldest only by a coin. Starvation is
//!   improbable, not impossible (TLA+ `SleepersAreWoken` fails). With a counter in place of the coin and three threads, at
//!   most Period + 2 releases look for sleepers before a given one is woken (TLA+ `BypassIsBounded`); with more threads
//!   a releaser whose turn it is to wake the oldest may find the queue latch taken.
//! - Polling: the waiter on deck, and a woken waiter that had been the oldest of the stack.
//!
//! # Cost
//! Alone: 2 RMWs, 1 line. Contended: while somebody is on deck, a release is one RMW as long as SLEEPING is missing,
//! and one more load when it is not; a wake is 2 RMWs besides. Waking the oldest walks the stack. At most one waiter
//! polls, besides those woken. Lock 8 bytes; node 1024 bytes of stack, nearly all of it for its alignment.
//!
//! # After release
//! Yes: a vacate that found SLEEPING goes on to read and write the word, though the next holder may be inside already,
//! may leave, and may free the lock. So the lock must outlive each call of release, as a lock behind a reference or an
//! `Arc` does. The original has this too. To latch in the vacate itself would not help: the next holder does not wait
//! for the latch before it leaves. (TLA+ `FreedIsLeftAlone` fails, with the shortest way there.)
//!
//! # Limits
//! Not recursive; no deadline, since a node cannot be taken out of the middle. A contended acquire needs some 2 KiB of
//! stack. No release wakes more than one sleeper.
//!
//! Unsafe: 8 blocks, three of them in stack_node.rs, all to reach a node under the rules of section 9.

mod stack;
mod state;

use self::stack::Node;
use self::state::State;
use crate::{Defaults, Entry, Promises, RawLock, TuningSource};
use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use ondeck_core::{Atomic, Hardware, Platform, StaticPlatform, Step};

/// The row of this lock in [`LOCKS`](crate::LOCKS).
pub const ENTRY: Entry = Entry {
    name: "go-spinbit",
    idea: "Go since 1.24: one waiter may poll, the others sleep on a stack in the word",
    bytes: 8,
    rmws: 2,
    awake: "one",
    woken: "the newest sleeper, unless one is on deck; 1 time in 16 the oldest",
    promises: Promises {
        timed: false,
        sleeps: true,
        reentrant: false,
        free_after_release: false,
        bypass: "unbounded; of the releases that look for sleepers 1 in 16 wakes the oldest",
        starves: "any sleeper, improbably",
    },
};

// -- 1. Steps ---------------------------------------------------------------------------------------------------------

const GRAB: Step = Step { lock: "go-spinbit", name: "grab" };
const LOOK: Step = Step { lock: "go-spinbit", name: "look" };
const LATE_GRAB: Step = Step { lock: "go-spinbit", name: "late_grab" };
const DECK_GRAB: Step = Step { lock: "go-spinbit", name: "deck_grab" };
const CLAIM_SPIN: Step = Step { lock: "go-spinbit", name: "claim_spin" };
const PUSH: Step = Step { lock: "go-spinbit", name: "push" };
const PARK: Step = Step { lock: "go-spinbit", name: "park" };
const VACATE: Step = Step { lock: "go-spinbit", name: "vacate" };
const SURVEY: Step = Step { lock: "go-spinbit", name: "survey" };
const LATCH: Step = Step { lock: "go-spinbit", name: "latch" };
const POP: Step = Step { lock: "go-spinbit", name: "pop" };
const WAKE: Step = Step { lock: "go-spinbit", name: "wake" };

// -- 2. Tuning --------------------------------------------------------------------------------------------------------

/// The constants of `go-spinbit`. The defaults are those of runtime/lock_spinbit.go in Go 1.26.8.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Turns of pauses before the yields; none where spinning cannot pay. Default 4 (`mutexActiveSpinCount`).
    pub active_spins: u32,
    /// Pauses in each of these turns. Default 30 (`mutexActiveSpinSize`).
    pub pauses_per_spin: u32,
    /// Offers of the core before retiring. Default 1 (`mutexPassiveSpinCount`).
    pub passive_spins: u32,
    /// Of so many releases that look for sleepers one wakes the oldest, on average. At least 1, which makes it each.
    /// Default 16 (`mutexTailWakePeriod`).
    pub tail_wake_period: u32,
}

impl TuningSource<Tuning> for Defaults {
    const TUNING: Tuning = Tuning { active_spins: 4, pauses_per_spin: 30, passive_spins: 1, tail_wake_period: 16 };
}

impl Tuning {
    /// A coin that comes up once in `tail_wake_period` times: the upper half of a multiplicative hash, scaled. The
    /// factor is 2^64 divided by the golden ratio (Knuth, *The Art of Computer Programming*, section 6.4). One is added
    /// because a clock that stands at zero, as a model's may, would hash to a coin that always comes up.
    fn wakes_oldest(self, ticks: u64) -> bool {
        let hash = ticks.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        (hash * u64::from(self.tail_wake_period)) >> 32 == 0
    }
}

// -- 3. State: go_spinbit/state.rs ------------------------------------------------------------------------------------

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// The mutex of the Go runtime since Go 1.24.
pub struct RawGoSpinbit<P: Platform, T = Defaults> {
    word: P::U64,
    tuning: PhantomData<T>,
}

const _: () = assert!(size_of::<RawGoSpinbit<Hardware>>() == ENTRY.bytes);

impl<P: StaticPlatform, T> RawGoSpinbit<P, T> {
    /// A free lock, for statics.
    pub const INIT: Self = RawGoSpinbit { word: P::U64_ZERO, tuning: PhantomData };
}

// -- 5. Public raw operations -----------------------------------------------------------------------------------------

impl<P: Platform, T: TuningSource<Tuning>> RawLock for RawGoSpinbit<P, T> {
    type Platform = P;
    const ENTRY: Entry = ENTRY;

    fn new() -> Self {
        RawGoSpinbit { word: P::U64::new(State::FREE.0), tuning: PhantomData }
    }

    /// One bit is set and the same bit looked at, which x86-64 does in one `lock bts`.
    #[inline]
    fn try_acquire(&self) -> bool {
        P::step(GRAB);
        !State(self.word.fetch_or(State::LOCKED, Acquire)).is_locked() // E1
    }

    #[inline]
    fn acquire(&self) {
        if !self.try_acquire() {
            self.acquire_slow();
        }
    }

    #[inline]
    unsafe fn release(&self) {
        P::step(VACATE);
        let found = State(self.word.fetch_and(!(State::LOCKED | State::SLEEPING), Release)); // E1
        debug_assert!(found.is_locked(), "I5: release of a free lock");
        if found.hints_at_sleepers() {
            self.release_slow();
        }
    }

    fn shows_sleeper(&self) -> Option<bool> {
        Some(self.state().has_sleepers())
    }

    fn is_at_rest(&self) -> bool {
        self.state() == State::FREE
    }
}

// -- 6. acquire_slow --------------------------------------------------------------------------------------------------

/// What a waiter knows of itself.
struct Waiter {
    /// The right to poll is ours (I3).
    is_on_deck: bool,
    /// Nobody was below us when we were woken, so we were the next to starve: we may poll without the right.
    was_oldest: bool,
    /// Turns since we began or were woken.
    turn: u32,
}

impl<P: Platform, T: TuningSource<Tuning>> RawGoSpinbit<P, T> {
    #[cold]
    #[inline(never)]
    fn acquire_slow(&self) {
        let node = Node::<P>::new();
        let mut me = Waiter { is_on_deck: false, was_oldest: false, turn: 0 };
        // Ended by a grab that finds the lock free. A turn that does not wait fails only if another thread's RMW has
        // succeeded, and the number of turns that spin is bounded; after them we sleep, and are woken because of I4.
        loop {
            P::step(LOOK);
            let seen = self.state();
            debug_assert!(seen.is_locked() || !seen.hints_at_sleepers(), "I1");
            debug_assert!(seen.has_spinner() || !me.is_on_deck, "I3");
            if !seen.is_locked() {
                if self.grab_again(seen, me.is_on_deck) {
                    return;
                }
            } else if !seen.has_spinner() && self.claim_spin(seen) {
                me.is_on_deck = true;
                continue; // A claim is not counted as a turn.
            } else if (me.is_on_deck || me.was_oldest) && Self::spin(me.turn) {
                // The turn went by in waiting.
            } else if self.push(seen, &node, me.is_on_deck) {
                P::step(PARK);
                node.park();
                me = Waiter { is_on_deck: false, was_oldest: node.is_lowest(), turn: 0 };
            }
            me.turn = me.turn.saturating_add(1);
        }
    }

    /// Leaves SLEEPING behind whenever there may be sleepers: they rely on it (I4).
    fn grab_again(&self, seen: State, is_on_deck: bool) -> bool {
        if is_on_deck {
            P::step(DECK_GRAB);
            self.word.compare_exchange(seen.0, seen.grabbed_from_deck().0, Acquire, Relaxed).is_ok() // E1
        } else {
            P::step(LATE_GRAB);
            !State(self.word.fetch_or(State::LOCKED | State::SLEEPING, Acquire)).is_locked() // E1
        }
    }

    fn claim_spin(&self, seen: State) -> bool {
        P::step(CLAIM_SPIN);
        self.word.compare_exchange(seen.0, seen.with_spinner().0, Relaxed, Relaxed).is_ok()
    }

    fn push(&self, seen: State, node: &Node<P>, from_deck: bool) -> bool {
        node.place_on(seen.top());
        let next = seen.pushed(node.address(), from_deck);
        P::step(PUSH);
        self.word.compare_exchange(seen.0, next.0, Release, Relaxed).is_ok() // E2
    }

    // -- 7. Spin helper -----------------------------------------------------------------------------------------------

    /// False if the patience for spinning has run out before this turn.
    #[inline(never)]
    fn spin(turn: u32) -> bool {
        let n_active = if P::may_spin() { T::TUNING.active_spins } else { 0 };
        if turn < n_active {
            P::pauses(T::TUNING.pauses_per_spin);
        } else if turn < n_active + T::TUNING.passive_spins {
            P::yield_now();
        } else {
            return false;
        }
        true
    }

    // -- 8. release_slow ----------------------------------------------------------------------------------------------

    /// The lock is free or somebody else's by now; what is left to do concerns the sleepers only.
    #[cold]
    #[inline(never)]
    fn release_slow(&self) {
        P::step(SURVEY);
        let seen = self.state();
        let wakes_oldest = T::TUNING.wakes_oldest(P::ticks());
        if seen.has_spinner() && !wakes_oldest {
            return; // The waiter on deck is awake and will look after the sleepers (I4).
        }
        if let Some(chosen) = self.latch(seen).and_then(|latched| self.pop(latched, wakes_oldest)) {
            P::step(WAKE);
            // SAFETY: the pop has taken the node out, and it was given to us alone.
            unsafe { Node::wake(chosen) };
        }
    }

    /// None if nobody sleeps, or if somebody else has the queue latch: that thread has yet to judge this very word.
    fn latch(&self, mut seen: State) -> Option<State> {
        // Ended by success, or by a word with nothing to do; each failure is another thread's success.
        while let Some(latched) = seen.latched() {
            P::step(LATCH);
            // E2, E3
            match self.word.compare_exchange(seen.0, latched.0, Acquire, Relaxed) {
                Ok(_) => return Some(latched),
                Err(now) => seen = State(now),
            }
        }
        None
    }

    /// Gives the queue latch back, and takes one node out of the stack unless a waiter on deck makes that needless.
    /// Whoever gets the node owes it a wake.
    fn pop(&self, mut seen: State, wakes_oldest: bool) -> Option<*const Node<P>> {
        let mut cut = None;
        // Ended by success; each failure is another thread's success. A cut is not undone: it is owed a wake already.
        loop {
            debug_assert!(seen.is_latched() && seen.has_sleepers(), "I2");
            let top = Node::<P>::at(seen.top());
            if wakes_oldest && cut.is_none() {
                // SAFETY: the queue latch is ours and `top` is the top of the stack; E2 leads to all nodes of it.
                cut = unsafe { stack::cut_oldest(top) };
            }
            let takes_top = cut.is_none() && (wakes_oldest || !seen.has_spinner());
            let next = if takes_top {
                // SAFETY: as above.
                unsafe { Node::below(top) }.addr() as u64
            } else {
                seen.top()
            };
            P::step(POP);
            // E2, E3
            match self.word.compare_exchange(seen.0, seen.popped(next).0, Release, Acquire) {
                Ok(_) if takes_top => return Some(top),
                Ok(_) => return cut,
                Err(now) => seen = State(now),
            }
        }
    }
}

// -- 9. Waiter record and its stack: go_spinbit/stack.rs, stack_node.rs -----------------------------------------------

// -- 10. Inspect ------------------------------------------------------------------------------------------------------

impl<P: Platform, T> RawGoSpinbit<P, T> {
    fn state(&self) -> State {
        State(self.word.load(Relaxed))
    }
}

impl<P: Platform, T> fmt::Debug for RawGoSpinbit<P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawGoSpinbit({:?})", self.state())
    }
}

// -- 11. Tests of the coin; those of section 3 are beside it ---------------------------------------------------------

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coin_comes_up_about_as_often_as_it_should() {
        for (period, least, most) in [(1, 16_000, 16_000), (16, 900, 1100), (u32::MAX, 0, 1)] {
            let tuning = Tuning { tail_wake_period: period, ..<Defaults as TuningSource<Tuning>>::TUNING };
            // A counter that advances by 26 from one release to the next, as a virtual machine's may.
            let n_wakes = (0..16_000).filter(|release| tuning.wakes_oldest(release * 26)).count();
            assert!((least..=most).contains(&n_wakes), "{n_wakes} of 16,000 for a period of {period}");
        }
    }
}
