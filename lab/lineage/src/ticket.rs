//! ticket: draw a number, wait until it is called.
//!
//! # Idea
//! Test-and-set locks let chance decide who is next, and chance favours the thread whose cache holds the line. Here an
//! arrival draws the next number, and release calls the number after its own. So it is first come, first served, with
//! two counters. The cost is that *exactly one* thread may be next. If that thread is not on a core, nobody is inside
//! and everybody waits. So with more threads than cores, each pass waits for a time slice.
//!
//! # Lineage
//! The ticket lock of Reed and Kanodia (1979), with the proportional backoff of Mellor-Crummey and Scott (1991). Kept:
//! both. Changed: the pause is nanoseconds per contender ahead, not a count of pauses. Added: a contender offers its
//! core when those ahead of it cannot all be on cores, or when its turn has not come for many looks. That does not
//! cure the collapse under oversubscription, which is the design's own; it makes it bearable for a baseline.
//!
//! # State word
//!
//! | field | name | meaning | written by | may be stale? |
//! |---|---|---|---|---|
//! | 0..32 | next | the number that the next arrival draws | draw, grab | exact |
//! | 32..64 | serving | the number that may be inside; equal to next if nobody is | vacate | exact |
//!
//! Two separate 32-bit atomics, because release of a packed pair would have to keep the carry of one half out of the
//! other. Numbers wrap around; only differences count.
//!
//! # Life of a word
//!
//! ```text
//! (next, serving)   (5,5) --draw--> (6,5) --draw--> (7,5) --vacate--> (7,6) --vacate--> (7,7)
//!                   free            5 inside        6 waits           6 inside          free
//! ```
//!
//! | step | from -> to | who | operation and ordering |
//! |---|---|---|---|
//! | draw | next + 1 | arrival | fetch-add, Relaxed: a number by itself admits nobody |
//! | look | unchanged | contender | load of serving, Acquire (E1); inside if it is the number drawn |
//! | grab | next + 1 | arrival that will not wait | compare-exchange from the serving it has just looked at, Relaxed |
//! | vacate | serving + 1 | holder | store, Release (E1) |
//!
//! # Invariants
//! - I1 A vacate finds next ahead of serving. asserted: `release`; checked by: test `misuse_is_caught`.
//! - I2 Serving is written by the holder alone, so vacate may read and then store. asserted: nowhere, it follows from
//!   mutual exclusion; checked by: conformance `exclusion`.
//!
//! # Orderings
//! - E1 `vacate` -> `look`: everything the last holder wrote. Draw and grab only tell numbers apart, for which the
//!   atomicity of the RMW is enough, so they are Relaxed: a grab that succeeds follows a look at the same number.
//!
//! # Promises
//! - Mutual exclusion: numbers are drawn once, and one number is called at a time. Conformance `exclusion`.
//! - No lost wake-up: nobody sleeps. Conformance `exclusion`.
//! - Bypass: none after draw. A contender waits for those that drew before it and for nobody else.
//!
//! # Cost
//! Alone: 1 RMW, 2 loads and 1 store, 1 line. Contended: each vacate is read by every contender, N line transfers per
//! pass; backoff makes the distant ones look more rarely. Lock 8 bytes, no waiter record.
//!
//! # After release
//! No: `vacate` is the last access. Conformance `freeing`.
//!
//! # Limits
//! Fewer than 2^32 contenders at once. Not recursive; no deadline, since a number once drawn cannot be given back.
//! More threads than cores: each pass takes as long as the scheduler needs to run the one thread that is next; and if that
//! has lost its core to a contender with real-time priority, for ever, since a yield gives it nothing. Conformance
//! `is_noticed_where_all_yield`.

use crate::{Defaults, Entry, Promises, RawLock, TuningSource};
use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use ondeck_core::{Atomic, Hardware, Platform, StaticPlatform, Step};

/// The row of this lock in [`LOCKS`](crate::LOCKS).
pub const ENTRY: Entry = Entry {
    name: "ticket",
    idea: "first come, first served: draw a number and wait until it is called",
    bytes: 8,
    rmws: 1,
    awake: "all",
    woken: "nobody sleeps",
    promises: Promises {
        timed: false,
        sleeps: false,
        reentrant: false,
        free_after_release: true,
        bypass: "none after drawing a number",
        starves: "nobody",
    },
};

// -- 1. Steps ---------------------------------------------------------------------------------------------------------

const DRAW: Step = Step { lock: "ticket", name: "draw" };
const LOOK: Step = Step { lock: "ticket", name: "look" };
const GRAB: Step = Step { lock: "ticket", name: "grab" };
const VACATE: Step = Step { lock: "ticket", name: "vacate" };

// -- 2. Tuning --------------------------------------------------------------------------------------------------------

/// The constants of `ticket`.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Nanoseconds between two looks for each contender ahead. Default 100: about one transfer of the line between two
    /// cores and a very short section, so that the turn is seen within one pass of its coming. Chosen, not measured.
    pub gap_per_contender_ns: u32,
    /// Looks after which a contender offers its core before each further one, even if those ahead would fit on the
    /// cores. Default 200: some 20 us for the next in line, about what a trip through the scheduler costs. Chosen, not
    /// measured.
    pub looks_before_yield: u32,
}

impl TuningSource<Tuning> for Defaults {
    const TUNING: Tuning = Tuning { gap_per_contender_ns: 100, looks_before_yield: 200 };
}

// -- 3. State ---------------------------------------------------------------------------------------------------------

/// A number that was drawn or is being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Number(u32);

impl Number {
    const FIRST: Number = Number(0);

    fn next(self) -> Number {
        Number(self.0.wrapping_add(1))
    }

    /// How many hold numbers from `serving` up to but without this one: zero if it is this one's turn.
    fn n_ahead(self, serving: Number) -> u32 {
        self.0.wrapping_sub(serving.0)
    }
}

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// A ticket lock.
#[repr(C)]
pub struct RawTicket<P: Platform, T = Defaults> {
    next: P::U32,
    serving: P::U32,
    tuning: PhantomData<T>,
}

const _: () = assert!(size_of::<RawTicket<Hardware>>() == ENTRY.bytes);

impl<P: StaticPlatform, T> RawTicket<P, T> {
    /// A free lock, for statics.
    pub const INIT: Self = RawTicket { next: P::U32_ZERO, serving: P::U32_ZERO, tuning: PhantomData };
}

// -- 5. Public raw operations -----------------------------------------------------------------------------------------

impl<P: Platform, T: TuningSource<Tuning>> RawLock for RawTicket<P, T> {
    type Platform = P;
    const ENTRY: Entry = ENTRY;

    fn new() -> Self {
        RawTicket { next: P::U32::new(Number::FIRST.0), serving: P::U32::new(Number::FIRST.0), tuning: PhantomData }
    }

    /// The exchange fails exactly if somebody has drawn the number that was being served, that is, if the lock was
    /// taken when we looked or has been since.
    #[inline]
    fn try_acquire(&self) -> bool {
        let serving = self.look();
        P::step(GRAB);
        self.next.compare_exchange(serving.0, serving.next().0, Relaxed, Relaxed).is_ok()
    }

    #[inline]
    fn acquire(&self) {
        P::step(DRAW);
        let mine = Number(self.next.fetch_add(1, Relaxed));
        if self.look() != mine {
            self.acquire_slow(mine);
        }
    }

    #[inline]
    unsafe fn release(&self) {
        debug_assert!(!self.is_at_rest(), "I1: release of a free lock");
        let mine = Number(self.serving.load(Relaxed)); // I2: nobody else writes it.
        P::step(VACATE);
        self.serving.store(mine.next().0, Release); // E1
    }

    fn is_at_rest(&self) -> bool {
        self.n_inside_or_waiting() == 0
    }
}

impl<P: Platform, T> RawTicket<P, T> {
    #[inline]
    fn look(&self) -> Number {
        P::step(LOOK);
        Number(self.serving.load(Acquire)) // E1
    }
}

// -- 6. acquire_slow --------------------------------------------------------------------------------------------------

impl<P: Platform, T: TuningSource<Tuning>> RawTicket<P, T> {
    #[cold]
    #[inline(never)]
    fn acquire_slow(&self, mine: Number) {
        // Without leave to spin nobody ahead is on a core, as far as we are concerned.
        let n_cores = if P::may_spin() { P::parallelism() } else { 1 };
        let mut n_looks = 1;
        // Ended by the vacate of the number before ours; each holder's vacate calls the next number, whoever that is.
        loop {
            let n_ahead = mine.n_ahead(self.look());
            if n_ahead == 0 {
                return;
            }
            Self::spin(n_ahead, n_cores, n_looks);
            n_looks = n_looks.saturating_add(1);
        }
    }

    // -- 7. Spin helper -----------------------------------------------------------------------------------------------

    /// With `n_cores` contenders ahead, us beside them, one of these is off its core, perhaps waiting for ours.
    #[inline(never)]
    fn spin(n_ahead: u32, n_cores: u32, n_looks: u32) {
        if n_ahead >= n_cores || n_looks > T::TUNING.looks_before_yield {
            P::yield_now();
        } else {
            P::pause_ns(n_ahead.saturating_mul(T::TUNING.gap_per_contender_ns));
        }
    }
}

// -- 8. release_slow: none, nobody sleeps. 9. Waiter record: none. ----------------------------------------------------

// -- 10. Inspect ------------------------------------------------------------------------------------------------------

impl<P: Platform, T> RawTicket<P, T> {
    fn n_inside_or_waiting(&self) -> u32 {
        let serving = Number(self.serving.load(Relaxed));
        Number(self.next.load(Relaxed)).n_ahead(serving)
    }
}

impl<P: Platform, T> fmt::Debug for RawTicket<P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.n_inside_or_waiting() {
            0 => f.write_str("RawTicket(free)"),
            n => write!(f, "RawTicket(held, {} waiting)", n - 1),
        }
    }
}

// -- 11. Tests of section 3 -------------------------------------------------------------------------------------------

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ends of the range, where the numbers wrap around.
    fn numbers() -> impl Iterator<Item = Number> {
        (0..300).chain(u32::MAX - 300..=u32::MAX).map(Number)
    }

    #[test]
    fn the_next_number_has_one_ahead_of_it() {
        for number in numbers() {
            assert_eq!(number.n_ahead(number), 0);
            assert_eq!(number.next().n_ahead(number), 1);
        }
    }

    #[test]
    fn a_number_is_called_after_as_many_vacates_as_there_are_ahead() {
        for first in numbers() {
            for n_ahead in 0..100 {
                let mine = Number(first.0.wrapping_add(n_ahead));
                let called = (0..mine.n_ahead(first)).fold(first, |serving, _| serving.next());
                assert_eq!(called, mine);
            }
        }
    }
}
