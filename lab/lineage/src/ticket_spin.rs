//! ticket-spin: the numbers of ticket, whose contenders poll and do nothing else.
//!
//! # Idea
//! A contender of [`ticket`](crate::ticket) keeps off the line as long as its turn is far, and offers its core when its
//! turn does not come. Books leave both out. Here a contender looks, pauses once, and looks again, until its number is
//! called or its time slice is over. This shows two things that the other lock hides. The first is what a vacate costs
//! when every contender reads it at once. The second is what becomes of first come, first served when threads outnumber
//! cores by one. Sooner or later a thread without a core has the number that is called. Nobody gives it a core before a
//! time slice is over.
//!
//! # Lineage
//! The ticket lock of Reed and Kanodia (1979), as it was used by Linux from 2.6.25 to 4.1 on x86 and is printed in most
//! textbooks. Kept: two counters, one draw, one pause between two looks. Changed: the counters are of 32 bits each
//! whatever the number of cores. Left out: the back-off of [`ticket`](crate::ticket), and its yields. Added: a
//! try. The type of its numbers is that of ticket.
//!
//! # State word
//!
//! | field | name | meaning | written by | may be stale? |
//! |---|---|---|---|---|
//! | 0..32 | next | the number that the next arrival draws | draw, grab | exact |
//! | 32..64 | serving | the number that may be inside; equal to next if nobody is | vacate | exact |
//!
//! # Life of a word
//! That of ticket:
//!
//! | step | from -> to | who | operation and ordering |
//! |---|---|---|---|
//! | draw | next + 1 | arrival | fetch-add, Relaxed: a number by itself admits nobody |
//! | look | unchanged | contender | load of serving, Acquire (E1); inside if it is the number drawn |
//! | grab | next + 1 | arrival that will not wait | compare-exchange from the serving it has just looked at, Relaxed |
//! | vacate | serving + 1 | holder | store, Release (E1) |
//!
//! # Invariants
//! Those of ticket.
//! - I1 A vacate finds next ahead of serving. asserted: `release`; checked by: test `misuse_is_caught`.
//! - I2 Serving is written by the holder alone, so vacate may read and then store. asserted: nowhere, it follows from
//!   mutual exclusion; checked by: conformance `exclusion`.
//!
//! # Orderings
//! - E1 `vacate` -> `look`: everything the last holder wrote. Draw and grab are Relaxed for the reasons of ticket: they
//!   only tell numbers apart.
//!
//! # Promises
//! - Mutual exclusion: numbers are drawn once, and one number is called at a time. Conformance `exclusion`.
//! - No lost wake-up: nobody sleeps. Conformance `exclusion`.
//! - Bypass: none after draw. Nobody starves as long as the scheduler runs each thread again and again.
//!
//! # Cost
//! Alone: 1 RMW, 2 loads and 1 store, 1 line. Contended: all contenders poll one line, so each vacate is N line transfers,
//! and each draw one more for all of them, as both counters share the line. Lock 8 bytes, no waiter record.
//!
//! # After release
//! No: `vacate` is the last access. Conformance `freeing`.
//!
//! # Limits
//! Made to be measured, not to be used. More threads than cores: a time slice for each pass, and with a contender of
//! real-time priority on the core of whoever is next, for ever. Fewer than 2^32 contenders at once. Not recursive; no
//! deadline.

use crate::ticket::Number;
use crate::{Entry, Promises, RawLock};
use core::fmt;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use ondeck_core::{Atomic, Hardware, Platform, StaticPlatform, Step};

/// The row of this lock in [`LOCKS`](crate::LOCKS).
pub const ENTRY: Entry = Entry {
    name: "ticket-spin",
    idea: "ticket as in the textbook: polls and never yields",
    bytes: 8,
    rmws: 1,
    awake: "all, without ever offering their cores",
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

const DRAW: Step = Step { lock: "ticket-spin", name: "draw" };
const LOOK: Step = Step { lock: "ticket-spin", name: "look" };
const GRAB: Step = Step { lock: "ticket-spin", name: "grab" };
const VACATE: Step = Step { lock: "ticket-spin", name: "vacate" };

// -- 2. Tuning: none, one pause is the least there is. 3. State: ticket.rs --------------------------------------------

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// A ticket lock whose contenders only poll.
#[repr(C)]
pub struct RawTicketSpin<P: Platform> {
    next: P::U32,
    serving: P::U32,
}

const _: () = assert!(size_of::<RawTicketSpin<Hardware>>() == ENTRY.bytes);

impl<P: StaticPlatform> RawTicketSpin<P> {
    /// A free lock, for statics.
    pub const INIT: Self = RawTicketSpin { next: P::U32_ZERO, serving: P::U32_ZERO };
}

// -- 5. Public raw operations -----------------------------------------------------------------------------------------

impl<P: Platform> RawLock for RawTicketSpin<P> {
    type Platform = P;
    const ENTRY: Entry = ENTRY;

    fn new() -> Self {
        RawTicketSpin { next: P::U32::new(Number::FIRST.0), serving: P::U32::new(Number::FIRST.0) }
    }

    /// The exchange fails exactly if somebody has drawn the number that was being served.
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

impl<P: Platform> RawTicketSpin<P> {
    #[inline]
    fn look(&self) -> Number {
        P::step(LOOK);
        Number(self.serving.load(Acquire)) // E1
    }
}

// -- 6. acquire_slow --------------------------------------------------------------------------------------------------

impl<P: Platform> RawTicketSpin<P> {
    #[cold]
    #[inline(never)]
    fn acquire_slow(&self, mine: Number) {
        // Ended by the vacate of the number before ours; each holder's vacate calls the next number, whoever that is.
        loop {
            P::pause();
            if self.look() == mine {
                return;
            }
        }
    }
}

// -- 7. Spin helper: none, it is all of acquire_slow. 8. release_slow: none, nobody sleeps. 9. Waiter record: none. ---

// -- 10. Inspect ------------------------------------------------------------------------------------------------------

impl<P: Platform> RawTicketSpin<P> {
    fn n_inside_or_waiting(&self) -> u32 {
        let serving = Number(self.serving.load(Relaxed));
        Number(self.next.load(Relaxed)).n_ahead(serving)
    }
}

impl<P: Platform> fmt::Debug for RawTicketSpin<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.n_inside_or_waiting() {
            0 => f.write_str("RawTicketSpin(free)"),
            n => write!(f, "RawTicketSpin(held, {} waiting)", n - 1),
        }
    }
}

// -- 11. Tests of section 3: ticket.rs --------------------------------------------------------------------------------
