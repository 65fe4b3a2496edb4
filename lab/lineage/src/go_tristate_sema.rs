//! go-tristate-sema: the word leads to a stack of sleepers, each with a permit of its own; every release wakes one.
//!
//! # Idea
//! If the system has no queue for sleepers on a word, the lock has to keep one itself. Here it hangs from the word as a
//! stack, linked through records of the sleepers. So the word alone tells release whether anybody sleeps, and whom to
//! wake. One access both pops the sleeper and releases the lock. So nobody sees a lock that is free but whose sleepers
//! still have to be found. As in [`go_tristate_futex`](crate::go_tristate_futex), nothing limits the contenders that
//! are awake: every arrival spins, and every release that finds a sleeper adds one more.
//!
//! # Lineage
//! `lock2` and `unlock2` of Go 1.23 on macOS, Windows and the BSDs (runtime/lock_sema.go, kept in 1.24 as
//! lock_sema_tristate.go). Kept: the order and kind of every access to the word but one, the spin counts, that a
//! contender whose claim fails begins its spinning anew and that one which was woken begins one turn late. Left out:
//! the runtime's bookkeeping and its profile of contention. Changed:
//! - A node is on its thread's stack and gone after the wait; Go's are part of a thread record that is never freed.
//!   stack_node.rs says who may touch it when. Release reads a node's link before it knows that the pop will succeed;
//!   this is sound because only the holder takes nodes out, and the one that reads is the holder until its pop (I2).
//! - A wake gives one permit by a futex or its like; Go on those systems counts in a kernel semaphore or under a mutex
//!   and a condition variable of the C library.
//! - After a push that failed Go loads the word, and loads it once more if it saw it free; here one look does.
//! - Where neither pauses nor yields are wanted, a contender whose claim fails looks again. Go, which always yields
//!   once, would push on a free word there.
//!
//! Added: `try_acquire`, which the original lacks.
//!
//! # State word
//!
//! | bits | name | meaning when set | set by | cleared by | may be stale? |
//! |---|---|---|---|---|---|
//! | 0 | LOCKED | somebody inside | grab, claim | vacate, pop | exact |
//! | 1..64 | top | the newest node of the stack, 0 if there is none | push | pop | exact |
//!
//! # Life of a word
//!
//! ```text
//!   FREE --grab--> L --push A--> L+A --push B--> L+B+A --pop B--> A --claim--> L+A --pop A--> FREE
//!    ^             |
//!    +---vacate----+              B wakes, and claims or pushes itself again; whoever leaves next pops A
//! ```
//!
//! | step | from -> to | who | operation and ordering |
//! |---|---|---|---|
//! | grab | FREE, no sleepers -> LOCKED | arrival | compare-exchange, Acquire (E1) |
//! | look | unchanged | contender | load, Relaxed: an RMW follows before anything is believed |
//! | claim | free -> LOCKED, top as it is | contender, or a try that found sleepers | compare-exchange, Acquire (E1) |
//! | push | LOCKED -> LOCKED, top is mine | contender that retires | compare-exchange, Release (E2) |
//! | park | unchanged | sleeper | waits for the permit of its node |
//! | survey | unchanged | holder that leaves | load, Acquire (E2) |
//! | vacate | LOCKED, no sleepers -> FREE | holder | compare-exchange, Release (E1) |
//! | pop | LOCKED, top -> free, top is the one below | holder | compare-exchange, Release (E1) |
//! | wake | word untouched | ex-holder whose release was a pop | gives the permit of the node it took out |
//!
//! # Invariants
//! - I1 A release finds LOCKED. asserted: `release`; checked by: TLA+ `WordTellsOfHolder`, test `misuse_is_caught`.
//! - I2 Only the holder takes nodes out, so what it has seen of the stack stays there until its own pop, which fails
//!   only if somebody has pushed on top. asserted: `release_slow`; checked by: TLA+ `OnlyTheHolderPops` and
//!   `NodesAreAlive`, conformance `exclusion`.
//! - I3 While the lock is free and the stack is not empty, one of these is true: a pop has not yet given the permit; a
//!   woken waiter has not yet claimed or pushed. asserted: cannot be, locally; checked by: TLA+ `NoSleeperForgotten`,
//!   conformance `exclusion`.
//!
//! # Orderings
//! - E1 `vacate`, `pop` -> `grab`, `claim`: everything the last holder wrote. What it read of nodes happens before
//!   their end by the same edge: who pops a node has acquired the lock after everybody who looked at it.
//! - E2 `push` -> `survey`: the first values of the node and its `below`.
//!
//! Every write to the word is an RMW, so a push stays at the head of a release sequence: E2 leads to all nodes of the
//! stack, whatever was pushed, popped or claimed since. From the popper to the woken the permit is the edge. A look
//! leads to no node and to no protected data, so Relaxed is enough for it, and for a compare-exchange that fails.
//!
//! # Promises
//! - Mutual exclusion: each way in is one RMW that found LOCKED clear. Conformance `exclusion`.
//! - No lost wake-up: a push succeeds only while LOCKED, and the word that it changes is the one that the holder has to
//!   change to get out, so the release finds it and wakes somebody. A woken waiter claims, or pushes itself while
//!   LOCKED: either way a release is still to come, which pops the next (I3). Conformance `exclusion`.
//! - Nothing is left in the word when nobody is inside or waiting. Conformance `exclusion`.
//! - Bypass: unbounded, by arrivals and among sleepers: the newest is woken first, so the oldest may sleep as long as
//!   others come, and starve: TLA+ `Served` and `SleepersAreWoken` fail.
//!
//! # Cost
//! Alone: 2 RMWs and a load before the second, 1 line. Contended pass: a pop and a wake per release even when others
//! are awake, and every awake contender polls the word: there is no bound on how many do. Lock 8 bytes; node 32 bytes
//! of stack.
//!
//! # After release
//! No: the pop is the last access to the lock. What follows is the store into the popped node's permit, on the stack of
//! a thread that cannot return before it, and a wake of that address. Conformance `freeing`.
//!
//! # Limits
//! Not recursive; no deadline, since a node cannot be taken out of the middle. No release wakes more than one sleeper.
//!
//! Unsafe: 5 blocks, three of them in stack_node.rs, all to reach a node under the rules there.

use crate::stack_node;
use crate::{Defaults, Entry, Promises, RawLock, TuningSource};
use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use ondeck_core::{Atomic, Hardware, Platform, StaticPlatform, Step};

/// The row of this lock in [`LOCKS`](crate::LOCKS).
pub const ENTRY: Entry = Entry {
    name: "go-tristate-sema",
    idea: "Go before 1.24 without futexes: a stack of sleepers in the word; every release wakes the newest",
    bytes: 8,
    rmws: 2,
    awake: "all, for 4 rounds of 30 pauses and a yield",
    woken: "the newest sleeper, by every release",
    promises: Promises {
        timed: false,
        sleeps: true,
        reentrant: false,
        free_after_release: true,
        bypass: "unbounded",
        starves: "any sleeper, the oldest first",
    },
};

// -- 1. Steps ---------------------------------------------------------------------------------------------------------

const GRAB: Step = Step { lock: "go-tristate-sema", name: "grab" };
const LOOK: Step = Step { lock: "go-tristate-sema", name: "look" };
const CLAIM: Step = Step { lock: "go-tristate-sema", name: "claim" };
const PUSH: Step = Step { lock: "go-tristate-sema", name: "push" };
const PARK: Step = Step { lock: "go-tristate-sema", name: "park" };
const SURVEY: Step = Step { lock: "go-tristate-sema", name: "survey" };
const VACATE: Step = Step { lock: "go-tristate-sema", name: "vacate" };
const POP: Step = Step { lock: "go-tristate-sema", name: "pop" };
const WAKE: Step = Step { lock: "go-tristate-sema", name: "wake" };

// -- 2. Tuning --------------------------------------------------------------------------------------------------------

/// The constants of `go-tristate-sema`. The defaults are those of runtime/lock_sema.go in Go 1.23.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Turns of pauses before the yields; none where spinning cannot pay. Default 4 (`active_spin`).
    pub active_spins: u32,
    /// Pauses in each of these turns. Default 30 (`active_spin_cnt`).
    pub pauses_per_spin: u32,
    /// Offers of the core before retiring. Default 1 (`passive_spin`).
    pub passive_spins: u32,
}

impl TuningSource<Tuning> for Defaults {
    const TUNING: Tuning = Tuning { active_spins: 4, pauses_per_spin: 30, passive_spins: 1 };
}

// -- 3. State ---------------------------------------------------------------------------------------------------------

/// The word. Nodes appear as addresses; 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State(u64);

impl State {
    const LOCKED: u64 = 1;
    const FREE: State = State(0);
    /// Nobody sleeps.
    const HELD: State = State(State::LOCKED);

    fn is_locked(self) -> bool {
        self.0 & State::LOCKED != 0
    }

    fn top(self) -> u64 {
        self.0 & !State::LOCKED
    }

    fn has_sleepers(self) -> bool {
        self.top() != 0
    }

    fn claimed(self) -> State {
        State(self.0 | State::LOCKED)
    }

    /// With `node` on top of the stack. For a held lock only: a push that locked a free one would have no holder.
    fn pushed(self, node: u64) -> State {
        State(node | self.0 & State::LOCKED)
    }

    /// Free, with `below` on top of the stack.
    fn popped(below: u64) -> State {
        State(below)
    }
}

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// The mutex of the Go runtime before Go 1.24, on systems without futexes.
pub struct RawGoTristateSema<P: Platform, T = Defaults> {
    word: P::U64,
    tuning: PhantomData<T>,
}

const _: () = assert!(size_of::<RawGoTristateSema<Hardware>>() == ENTRY.bytes);

impl<P: StaticPlatform, T> RawGoTristateSema<P, T> {
    /// A free lock, for statics.
    pub const INIT: Self = RawGoTristateSema { word: P::U64_ZERO, tuning: PhantomData };
}

// -- 5. Public raw operations -----------------------------------------------------------------------------------------

impl<P: Platform, T: TuningSource<Tuning>> RawLock for RawGoTristateSema<P, T> {
    type Platform = P;
    const ENTRY: Entry = ENTRY;

    fn new() -> Self {
        RawGoTristateSema { word: P::U64::new(State::FREE.0), tuning: PhantomData }
    }

    /// A lock that is free while somebody sleeps fails the grab, which is for a word without sleepers. If the claim
    /// fails too, some other thread has got in since the grab.
    #[inline]
    fn try_acquire(&self) -> bool {
        match self.grab() {
            Ok(()) => true,
            Err(found) => !found.is_locked() && self.claim(found),
        }
    }

    #[inline]
    fn acquire(&self) {
        if self.grab().is_err() {
            self.acquire_slow();
        }
    }

    #[inline]
    unsafe fn release(&self) {
        let seen = self.survey();
        debug_assert!(seen.is_locked(), "I1: release of a free lock");
        if seen.has_sleepers() || !self.vacate() {
            self.release_slow(seen);
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

impl<P: Platform, T: TuningSource<Tuning>> RawGoTristateSema<P, T> {
    #[cold]
    #[inline(never)]
    fn acquire_slow(&self) {
        let node = Node::<P>::new();
        // Turns since we began, were woken, or lost a race for the free lock.
        let mut turn = 0;
        // Ended by a claim. A claim or push fails only if another thread's RMW has succeeded, the number of turns that
        // spin is bounded, and a sleeper is woken because of I3.
        loop {
            P::step(LOOK);
            let seen = self.state();
            if !seen.is_locked() {
                if self.claim(seen) {
                    return;
                }
                turn = 0;
            }
            if Self::spin(turn) {
                turn += 1;
            } else if seen.is_locked() && self.push(seen, &node) {
                P::step(PARK);
                node.park();
                turn = 1;
            }
        }
    }

    /// What the word held instead of FREE.
    fn grab(&self) -> Result<(), State> {
        P::step(GRAB);
        let found = self.word.compare_exchange(State::FREE.0, State::HELD.0, Acquire, Relaxed); // E1
        found.map(drop).map_err(State)
    }

    fn claim(&self, seen: State) -> bool {
        P::step(CLAIM);
        self.word.compare_exchange(seen.0, seen.claimed().0, Acquire, Relaxed).is_ok() // E1
    }

    fn push(&self, seen: State, node: &Node<P>) -> bool {
        node.place_on(seen.top());
        P::step(PUSH);
        self.word.compare_exchange(seen.0, seen.pushed(node.address()).0, Release, Relaxed).is_ok() // E2
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

    fn survey(&self) -> State {
        P::step(SURVEY);
        State(self.word.load(Acquire)) // E2
    }

    fn vacate(&self) -> bool {
        P::step(VACATE);
        self.word.compare_exchange(State::HELD.0, State::FREE.0, Release, Relaxed).is_ok() // E1
    }

    /// Somebody sleeps, or has come to sleep since `seen` was.
    #[cold]
    #[inline(never)]
    fn release_slow(&self, mut seen: State) {
        // Ended by the pop, which fails only if somebody has pushed meanwhile (I2).
        loop {
            if seen.has_sleepers() && self.pop(seen) {
                return;
            }
            seen = self.survey();
            debug_assert!(seen.is_locked() && seen.has_sleepers(), "I2");
        }
    }

    /// Releases the lock and wakes the newest sleeper, if it still is what `seen` says.
    fn pop(&self, seen: State) -> bool {
        let top = Node::<P>::at(seen.top());
        // SAFETY: we hold the lock, so nobody else takes nodes out (I2), and `seen` is what we read since we hold it;
        // E2 leads to the node.
        let below = unsafe { Node::below(top) };
        P::step(POP);
        // E1
        if self.word.compare_exchange(seen.0, State::popped(below.addr() as u64).0, Release, Relaxed).is_err() {
            return false;
        }
        P::step(WAKE);
        // SAFETY: the pop has taken the node out, and it was given to us alone. The lock may be gone by now, but the
        // node waits for us.
        unsafe { Node::wake(top) };
        true
    }
}

// -- 9. Waiter record and its stack: stack_node.rs. The popper there is the holder. -----------------------------------

type Node<P> = stack_node::Node<P>;

const _: () = assert!(align_of::<Node<Hardware>>() as u64 > State::LOCKED);

// -- 10. Inspect ------------------------------------------------------------------------------------------------------

impl<P: Platform, T> RawGoTristateSema<P, T> {
    fn state(&self) -> State {
        State(self.word.load(Relaxed))
    }
}

impl<P: Platform, T> fmt::Debug for RawGoTristateSema<P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.write_str(if state.is_locked() { "RawGoTristateSema(held" } else { "RawGoTristateSema(free" })?;
        f.write_str(if state.has_sleepers() { ", sleepers)" } else { ")" })
    }
}

// -- 11. Tests of section 3 -------------------------------------------------------------------------------------------

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: [u64; 4] = [0, 2, 6, !State::LOCKED];

    fn states() -> impl Iterator<Item = State> {
        NODES.into_iter().flat_map(|top| [State(top), State(top | State::LOCKED)])
    }

    #[test]
    fn a_claim_leaves_the_stack_alone() {
        for state in states() {
            assert_eq!((state.claimed().is_locked(), state.claimed().top()), (true, state.top()));
        }
    }

    #[test]
    fn a_push_replaces_the_top_and_gives_nobody_the_lock() {
        for state in states() {
            let next = state.pushed(10);
            assert_eq!((next.top(), next.is_locked()), (10, state.is_locked()));
        }
    }

    #[test]
    fn a_pop_frees_the_lock() {
        for below in NODES {
            let next = State::popped(below);
            assert_eq!((next.top(), next.is_locked()), (below, false));
        }
    }

    #[test]
    fn without_sleepers_the_word_is_one_of_two() {
        for state in states().filter(|state| !state.has_sleepers()) {
            assert_eq!(state, if state.is_locked() { State::HELD } else { State::FREE });
        }
    }
}
