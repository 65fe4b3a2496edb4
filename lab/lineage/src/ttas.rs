//! ttas: test-and-test-and-set. It looks before the swap, and looks ever more rarely.
//!
//! # Idea
//! A contender of [`tas`](crate::tas) pulls the line away from the holder with each attempt. Here it only reads while
//! the lock is held, and the gap between two looks doubles up to a bound. Without the look, every poll is a write.
//! Without the growing gap, all contenders see the vacate at the same moment, and all of them swap.
//!
//! # Lineage
//! Test-and-test-and-set of Rudolph and Segall (1984) with the bounded exponential backoff of Anderson (1990). Kept:
//! both. Changed: the gap is nanoseconds, not a count of pauses, because one pause is 10 ns on one processor and 80 on
//! another; it doubles after each look that finds the lock held, not only after each lost swap. Left out: the random
//! part of the gap; the simulator is to show whether contenders march in step without it. Added: an offer of the core
//! once the gap has reached its bound.
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
//! FREE ----> HELD ----> FREE        (a contender that looks and finds HELD writes nothing)
//! ```
//!
//! | step | from -> to | who | operation and ordering |
//! |---|---|---|---|
//! | look | unchanged | contender | load, Relaxed: a grab follows before anything is believed |
//! | grab | any -> HELD | contender | swap, Acquire (E1); inside if it returns FREE |
//! | vacate | HELD -> FREE | holder | store, Release (E1) |
//!
//! # Invariants
//! - I1 A vacate finds HELD. asserted: `release`; checked by: test `misuse_is_caught`.
//!
//! # Orderings
//! - E1 `vacate` -> `grab`: everything the last holder wrote. A look publishes nothing, so Relaxed is enough for it.
//!
//! # Promises
//! - Mutual exclusion: of the swaps between two vacates only the first returns FREE. Conformance `exclusion`.
//! - No lost wake-up: nobody sleeps. Conformance `exclusion`.
//! - Bypass: unbounded, and worse the longer a thread has waited, for it looks more rarely than an arrival. Any
//!   contender may starve.
//!
//! # Cost
//! Alone: 1 RMW and 1 store, 1 line. Contended: one line transfer per contender and gap. Every contender polls, so the
//! number of threads that do is not bounded, only the rate of each. Lock 4 bytes, no waiter record.
//!
//! # After release
//! No: `vacate` is the last access. Conformance `freeing`.
//!
//! # Limits
//! Not recursive. Contenders burn their core. A free lock may stay untaken for the longest gap. A deadline is noticed
//! between two looks, so late by the longest gap and, where threads outnumber cores, a time slice. Contenders yield to
//! threads of their own priority only: one with real-time priority that has taken the holder's core waits for ever.

use crate::{Defaults, Entry, Promises, RawLock, RawTimedLock, TuningSource};
use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use ondeck_core::{Atomic, Hardware, Platform, StaticPlatform, Step};

/// The row of this lock in [`LOCKS`](crate::LOCKS).
pub const ENTRY: Entry = Entry {
    name: "ttas",
    idea: "test-and-test-and-set: read until it looks free, ever more rarely",
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

const LOOK: Step = Step { lock: "ttas", name: "look" };
const GRAB: Step = Step { lock: "ttas", name: "grab" };
const VACATE: Step = Step { lock: "ttas", name: "vacate" };

// -- 2. Tuning --------------------------------------------------------------------------------------------------------

/// The constants of `ttas`.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Nanoseconds between the first failure and the first look. Default 100: about one transfer of a cache line
    /// between two cores; an earlier look could hardly bring news.
    pub first_gap_ns: u32,
    /// Most nanoseconds between two looks. Default 10,000: a sleeper takes longer than this to be woken, so at the
    /// bound spinning still answers sooner than sleeping would. Chosen, not measured.
    pub longest_gap_ns: u32,
}

impl TuningSource<Tuning> for Defaults {
    const TUNING: Tuning = Tuning { first_gap_ns: 100, longest_gap_ns: 10_000 };
}

impl Tuning {
    /// The gap after `gap_ns`.
    fn next_gap_ns(self, gap_ns: u32) -> u32 {
        gap_ns.saturating_mul(2).min(self.longest_gap_ns)
    }
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

/// A test-and-test-and-set lock with bounded exponential backoff.
pub struct RawTtas<P: Platform, T = Defaults> {
    word: P::U32,
    tuning: PhantomData<T>,
}

const _: () = assert!(size_of::<RawTtas<Hardware>>() == ENTRY.bytes);

impl<P: StaticPlatform, T> RawTtas<P, T> {
    /// A free lock, for statics.
    pub const INIT: Self = RawTtas { word: P::U32_ZERO, tuning: PhantomData };
}

// -- 5. Public raw operations -----------------------------------------------------------------------------------------

impl<P: Platform, T: TuningSource<Tuning>> RawLock for RawTtas<P, T> {
    type Platform = P;
    const ENTRY: Entry = ENTRY;

    fn new() -> Self {
        RawTtas { word: P::U32::new(State::FREE.0), tuning: PhantomData }
    }

    /// Looks first, so that a failure does not take the line away from the holder.
    #[inline]
    fn try_acquire(&self) -> bool {
        self.looks_free() && self.grab()
    }

    /// Does not look first: an arrival at a free lock would pay for two line transfers instead of one.
    #[inline]
    fn acquire(&self) {
        if !self.grab() {
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

impl<P: Platform, T: TuningSource<Tuning>> RawTimedLock for RawTtas<P, T> {
    #[inline]
    fn try_acquire_until(&self, deadline_ns: u64) -> bool {
        self.grab() || self.acquire_slow(Some(deadline_ns))
    }
}

impl<P: Platform, T> RawTtas<P, T> {
    #[inline]
    fn looks_free(&self) -> bool {
        P::step(LOOK);
        State(self.word.load(Relaxed)).is_free()
    }

    #[inline]
    fn grab(&self) -> bool {
        P::step(GRAB);
        State(self.word.swap(State::HELD.0, Acquire)).is_free() // E1
    }
}

// -- 6. acquire_slow --------------------------------------------------------------------------------------------------

impl<P: Platform, T: TuningSource<Tuning>> RawTtas<P, T> {
    /// False only if the deadline has passed.
    #[cold]
    #[inline(never)]
    fn acquire_slow(&self, deadline_ns: Option<u64>) -> bool {
        let mut gap_ns = T::TUNING.first_gap_ns;
        // Ended by a grab that follows some holder's vacate, or by the deadline.
        loop {
            if deadline_ns.is_some_and(|deadline_ns| P::now_ns() >= deadline_ns) {
                return false;
            }
            Self::spin(gap_ns);
            if self.try_acquire() {
                return true;
            }
            gap_ns = T::TUNING.next_gap_ns(gap_ns);
        }
    }

    // -- 7. Spin helper -----------------------------------------------------------------------------------------------

    /// At the longest gap the holder is perhaps waiting for the very core we are pausing on, so the core is offered;
    /// the pause stays, because the offer returns at once where nobody else wants the core.
    #[inline(never)]
    fn spin(gap_ns: u32) {
        if gap_ns >= T::TUNING.longest_gap_ns || !P::may_spin() {
            P::yield_now();
        }
        P::pause_ns(gap_ns);
    }
}

// -- 8. release_slow: none, nobody sleeps. 9. Waiter record: none. ----------------------------------------------------

// -- 10. Inspect ------------------------------------------------------------------------------------------------------

impl<P: Platform, T> RawTtas<P, T> {
    fn state(&self) -> State {
        State(self.word.load(Relaxed))
    }
}

impl<P: Platform, T> fmt::Debug for RawTtas<P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.state().is_free() { "RawTtas(free)" } else { "RawTtas(held)" })
    }
}

// -- 11. Tests of section 3, and of the backoff -----------------------------------------------------------------------

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_one_value_is_free() {
        assert!(State::FREE.is_free());
        assert!(!State::HELD.is_free());
    }

    #[test]
    fn the_gap_grows_to_its_bound_and_stays() {
        let tuning = Tuning { first_gap_ns: 3, longest_gap_ns: 20 };
        let gaps: [u32; 5] = core::array::from_fn(|turn| (0..turn).fold(3, |gap_ns, _| tuning.next_gap_ns(gap_ns)));
        assert_eq!(gaps, [3, 6, 12, 20, 20]);
    }

    #[test]
    fn the_longest_possible_gap_does_not_overflow() {
        let tuning = Tuning { first_gap_ns: u32::MAX, longest_gap_ns: u32::MAX };
        assert_eq!(tuning.next_gap_ns(u32::MAX), u32::MAX);
    }
}
