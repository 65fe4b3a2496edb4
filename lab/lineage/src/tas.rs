//! tas: test-and-set; the thread that swaps the flag from free to held is inside.
//!
//! # Idea
//! There is one flag, and one swap that sets it and tells whether it was clear. The lock is correct, tiny, and the
//! fastest there is when nobody else wants it. It lacks everything else. Each attempt of each contender writes to the
//! word. So each attempt takes the cache line away from the holder, who needs it to leave.
//!
//! # Lineage
//! The test-and-set lock of the textbooks (Herlihy and Shavit, *The Art of Multiprocessor Programming*, chapter 7).
//! Kept: a swap per attempt. Added: a pause between attempts, and an offer of the core after many failures, without
//! which a preempted holder waits until every contender has used up its time slice.
//!
//! # State word
//!
//! | value | name | meaning | set by | cleared by | may be stale? |
//! |---|---|---|---|---|---|
//! | 0 | FREE | nobody inside | vacate | grab | exact |
//! | 1 | HELD | somebody inside | grab | vacate | exact |
//!
//! # Life of a word
//!
//! ```text
//!      grab             vacate
//! FREE ----> HELD ----> FREE        (a grab of a held lock writes HELD over HELD)
//! ```
//!
//! | step | from -> to | who | operation and ordering |
//! |---|---|---|---|
//! | grab | any -> HELD | contender | swap, Acquire (E1); inside if it returns FREE |
//! | vacate | HELD -> FREE | holder | store, Release (E1) |
//!
//! # Invariants
//! - I1 A vacate finds HELD. asserted: `release`; checked by: test `misuse_is_caught`.
//!
//! # Orderings
//! - E1 `vacate` -> `grab`: everything the last holder wrote. Nothing else is shared, so nothing else is ordered.
//!
//! # Promises
//! - Mutual exclusion: of the swaps between two vacates only the first returns FREE. Conformance `exclusion`.
//! - No lost wake-up: nobody sleeps. Conformance `exclusion`.
//! - Bypass: unbounded. Any contender may starve.
//!
//! # Cost
//! Alone: 1 RMW and 1 store, 1 line. Contended: every contender polls by writing, so one line transfer per contender
//! and pause; this is the collapse in its purest form. Lock 4 bytes, no waiter record.
//!
//! # After release
//! No: `vacate` is the last access. Conformance `freeing`.
//!
//! # Limits
//! Not recursive. Contenders burn their core. A deadline is noticed between two attempts, so up to a time slice late
//! where threads outnumber cores. Contenders yield to threads of their own priority only: one with real-time priority
//! that has taken the holder's core waits for ever.

use crate::{Defaults, Entry, Promises, RawLock, RawTimedLock, TuningSource};
use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use ondeck_core::{Atomic, Hardware, Platform, StaticPlatform, Step};

/// The row of this lock in [`LOCKS`](crate::LOCKS).
pub const ENTRY: Entry = Entry {
    name: "tas",
    idea: "test-and-set: every attempt swaps the flag",
    bytes: 4,
    rmws: 2,
    awake: "all",
    woken: "nobody sleeps",
    promises: Promises {
        timed: true,
        sleeps: false,
        reentrant: false,
        free_after_release: true,
        bypass: "unbounded",
        starves: "any waiter",
    },
};

// -- 1. Steps ---------------------------------------------------------------------------------------------------------

const GRAB: Step = Step { lock: "tas", name: "grab" };
const VACATE: Step = Step { lock: "tas", name: "vacate" };

// -- 2. Tuning --------------------------------------------------------------------------------------------------------

/// The constants of `tas`.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Failed attempts, one pause apart, after which a contender offers its core before each further one. Default
    /// 1000: 10 to 80 us of pauses, about what a trip through the scheduler costs. Chosen, not measured.
    pub tries_before_yield: u32,
}

impl TuningSource<Tuning> for Defaults {
    const TUNING: Tuning = Tuning { tries_before_yield: 1000 };
}

// -- 3. State ---------------------------------------------------------------------------------------------------------

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State(u32);

impl State {
    const FREE: State = State(0);
    const HELD: State = State(1);

    fn is_free(self) -> bool {
        self == State::FREE
    }
}

const _: () = assert!(State::FREE.0 != State::HELD.0);

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// A test-and-set lock.
pub struct RawTas<P: Platform, T = Defaults> {
    word: P::U32,
    tuning: PhantomData<T>,
}

const _: () = assert!(size_of::<RawTas<Hardware>>() == ENTRY.bytes);

impl<P: StaticPlatform, T> RawTas<P, T> {
    /// A free lock, for statics.
    pub const INIT: Self = RawTas { word: P::U32_ZERO, tuning: PhantomData };
}

// -- 5. Public raw operations -----------------------------------------------------------------------------------------

impl<P: Platform, T: TuningSource<Tuning>> RawLock for RawTas<P, T> {
    type Platform = P;
    const ENTRY: Entry = ENTRY;

    fn new() -> Self {
        RawTas { word: P::U32::new(State::FREE.0), tuning: PhantomData }
    }

    #[inline]
    fn try_acquire(&self) -> bool {
        P::step(GRAB);
        State(self.word.swap(State::HELD.0, Acquire)).is_free() // E1
    }

    #[inline]
    fn acquire(&self) {
        if !self.try_acquire() {
            self.acquire_slow(None);
        }
    }

    #[inline]
    unsafe fn release(&self) {
        debug_assert!(!self.state().is_free(), "I1: release of a free lock");
        P::step(VACATE);
        self.word.store(State::FREE.0, Release); // E1
    }

    fn is_at_rest(&self) -> bool {
        self.state().is_free()
    }
}

impl<P: Platform, T: TuningSource<Tuning>> RawTimedLock for RawTas<P, T> {
    #[inline]
    fn try_acquire_until(&self, deadline_ns: u64) -> bool {
        self.try_acquire() || self.acquire_slow(Some(deadline_ns))
    }
}

// -- 6. acquire_slow --------------------------------------------------------------------------------------------------

impl<P: Platform, T: TuningSource<Tuning>> RawTas<P, T> {
    /// False only if the deadline has passed.
    #[cold]
    #[inline(never)]
    fn acquire_slow(&self, deadline_ns: Option<u64>) -> bool {
        let mut failures = 1;
        // Ended by a grab that follows some holder's vacate, or by the deadline.
        loop {
            if deadline_ns.is_some_and(|deadline_ns| P::now_ns() >= deadline_ns) {
                return false;
            }
            Self::spin(failures);
            if self.try_acquire() {
                return true;
            }
            failures = failures.saturating_add(1);
        }
    }

    // -- 7. Spin helper -----------------------------------------------------------------------------------------------

    #[inline(never)]
    fn spin(failures: u32) {
        if failures > T::TUNING.tries_before_yield || !P::may_spin() {
            P::yield_now();
        } else {
            P::pause();
        }
    }
}

// -- 8. release_slow: none, nobody sleeps. 9. Waiter record: none. ----------------------------------------------------

// -- 10. Inspect ------------------------------------------------------------------------------------------------------

impl<P: Platform, T> RawTas<P, T> {
    fn state(&self) -> State {
        State(self.word.load(Relaxed))
    }
}

impl<P: Platform, T> fmt::Debug for RawTas<P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.state().is_free() { "RawTas(free)" } else { "RawTas(held)" })
    }
}

// -- 11. Tests of section 3 -------------------------------------------------------------------------------------------

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_one_value_is_free() {
        assert!(State::FREE.is_free());
        assert!(!State::HELD.is_free());
    }
}
