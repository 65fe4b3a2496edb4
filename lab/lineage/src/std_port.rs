//! std-port: three values of one word; spinners stop as soon as the word says that somebody sleeps.
//!
//! # Idea
//! In [`go-tristate-futex`](crate::go_tristate_futex) every contender spins, whatever the word says. Here the third
//! value says more than that a wake is owed. It also tells a spinner that others have given up spinning already, and
//! the spinner goes to sleep at once. With short sections and few contenders, the lock is won by spinning. With many
//! contenders, the word soon has the mark, and the spinners vanish. But a woken sleeper cannot know whether it was the
//! last, so it must leave the mark when it enters. This is what breaks: with somebody asleep, each release makes a
//! system call, and each wake puts one more thread on its feet.
//!
//! # Lineage
//! The mutex of Rust's standard library where there is a futex (library/std/src/sys/sync/mutex/futex.rs, as of 1.95; by
//! Mara Bos in 2022), which descends from the third mutex of Drepper's *Futexes Are Tricky* (2004). Kept: the order, kind
//! and ordering of every access to the word, the number of pauses, and which of the paths are out of line. Changed: nothing
//! that this platform can tell. Like the original it pauses on a single core too, where that is in vain. Left out: deadlines,
//! which the original has not either, and poisoning, which lies above it.
//!
//! Shared code: `tristate.rs`.
//!
//! # State word
//!
//! | value | name | meaning | set by | cleared by | may be stale? |
//! |---|---|---|---|---|---|
//! | 0 | FREE | nobody inside | vacate | grab, claim, announce | exact |
//! | 1 | HELD | somebody inside, release owes nothing | grab, claim | vacate, announce | exact as a debt |
//! | 2 | CROWDED | somebody inside, release owes one wake, spinners go to sleep | announce | vacate | may linger: the last sleeper sets it too |
//!
//! # Life of a word
//!
//! ```text
//!        grab, claim          announce
//! FREE -------------> HELD -------------> CROWDED
//!  ^ ^ \               |                   ^  |
//!  | |  +--------------|---- announce -----+  |     (who announces on FREE is inside, and the mark stays)
//!  | +---- vacate -----+                      |
//!  +--------------- vacate, then wake --------+
//! ```
//!
//! | step | from -> to | who | operation and ordering |
//! |---|---|---|---|
//! | grab | FREE -> HELD | arrival, also one that will not wait | compare-exchange, Acquire (E1) |
//! | look | unchanged | spinner | load, Relaxed: nothing is believed before a claim or announce |
//! | claim | FREE -> HELD | arrival whose spinning ended with FREE | compare-exchange, Acquire (E1) |
//! | announce | any -> CROWDED | contender, unless it has just seen CROWDED | swap, Acquire (E1); inside if it returns FREE |
//! | park | CROWDED, unchanged | contender | wait_on(word, CROWDED), Relaxed compare |
//! | vacate | HELD or CROWDED -> FREE | holder | swap, Release (E1) |
//! | wake | word untouched | ex-holder | wake one, only if vacate returned CROWDED |
//!
//! # Invariants
//! - I1 While anybody sleeps, one of these holds: the word is CROWDED; a vacate that saw CROWDED has not yet waked; a
//!   contender that was woken is awake and has not yet announced. asserted: cannot be, locally; checked by:
//!   conformance `exclusion`.
//! - I2 A vacate never finds FREE. asserted: `release`; checked by: test `misuse_is_caught`.
//!
//! # Orderings
//! - E1 `vacate` -> `grab`, `claim`, `announce`: everything the last holder wrote. A look and the comparison in park admit
//!   nobody, so Relaxed is enough for them.
//!
//! # Promises
//! - Mutual exclusion: each way in is one RMW that found FREE. Conformance `exclusion`.
//! - No lost wake-up: only a vacate erases the mark, and it then wakes one sleeper, which cannot claim any more: its only
//!   way in or back to sleep is to announce, or to see a mark that is there (I1). Conformance `exclusion`.
//! - Bypass: unbounded. A sleeper competes with every arrival each time it is woken, and may starve.
//!
//! # Cost
//! Alone: 2 RMWs, 1 line. Contended pass: a wake for each vacate that saw the mark. Awake are the arrivals that have not
//! seen the mark, for 100 looks at most, and those just woken, as long as no other has announced. Lock 4 bytes, no
//! waiter record.
//!
//! # After release
//! Only by address: wake follows the releasing swap and never reads the word. Conformance `freeing`.
//!
//! # Limits
//! Not recursive; no deadline. A CROWDED that lingers costs one needless system call.

use crate::tristate::State;
use crate::{Defaults, Entry, Promises, RawLock, TuningSource};
use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use ondeck_core::{Atomic, Hardware, Platform, StaticPlatform, Step};

/// The row of this lock in [`LOCKS`](crate::LOCKS).
pub const ENTRY: Entry = Entry {
    name: "std-port",
    idea: "Rust's std on futexes: spins 100 pauses, unless somebody sleeps already",
    bytes: 4,
    rmws: 2,
    awake: "those that have not seen a sleeper's mark, for 100 pauses",
    woken: "one sleeper per release that finds the mark",
    promises: Promises {
        timed: false,
        sleeps: true,
        reentrant: false,
        free_after_release: true,
        bypass: "unbounded",
        starves: "any sleeper",
    },
};

// -- 1. Steps ---------------------------------------------------------------------------------------------------------

const GRAB: Step = Step { lock: "std-port", name: "grab" };
const LOOK: Step = Step { lock: "std-port", name: "look" };
const CLAIM: Step = Step { lock: "std-port", name: "claim" };
const ANNOUNCE: Step = Step { lock: "std-port", name: "announce" };
const PARK: Step = Step { lock: "std-port", name: "park" };
const VACATE: Step = Step { lock: "std-port", name: "vacate" };
const WAKE: Step = Step { lock: "std-port", name: "wake" };

// -- 2. Tuning --------------------------------------------------------------------------------------------------------

/// The constants of `std-port`. The default is that of library/std/src/sys/sync/mutex/futex.rs in Rust 1.95.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Pauses between looks at a lock that is held and has no mark. Default 100.
    pub pauses: u32,
}

impl TuningSource<Tuning> for Defaults {
    const TUNING: Tuning = Tuning { pauses: 100 };
}

// -- 3. State: tristate.rs --------------------------------------------------------------------------------------------

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// The mutex of Rust's standard library on systems with futexes.
pub struct RawStdPort<P: Platform, T = Defaults> {
    word: P::U32,
    tuning: PhantomData<T>,
}

const _: () = assert!(size_of::<RawStdPort<Hardware>>() == ENTRY.bytes);

impl<P: StaticPlatform, T> RawStdPort<P, T> {
    /// A free lock, for statics.
    pub const INIT: Self = RawStdPort { word: P::U32_ZERO, tuning: PhantomData };
}

// -- 5. Public raw operations -----------------------------------------------------------------------------------------

impl<P: Platform, T: TuningSource<Tuning>> RawLock for RawStdPort<P, T> {
    type Platform = P;
    const ENTRY: Entry = ENTRY;

    fn new() -> Self {
        RawStdPort { word: P::U32::new(State::FREE.0), tuning: PhantomData }
    }

    #[inline]
    fn try_acquire(&self) -> bool {
        P::step(GRAB);
        self.word.compare_exchange(State::FREE.0, State::HELD.0, Acquire, Relaxed).is_ok() // E1
    }

    #[inline]
    fn acquire(&self) {
        if !self.try_acquire() {
            self.acquire_slow();
        }
    }

    #[inline]
    unsafe fn release(&self) {
        // Taken before the releasing write: `self` may be gone when the wake is sent.
        let address = &raw const self.word;
        P::step(VACATE);
        let found = State(self.word.swap(State::FREE.0, Release)); // E1
        debug_assert!(!found.is_free(), "I2: release of a free lock");
        if found.is_crowded() {
            Self::release_slow(address);
        }
    }

    /// May claim a sleeper that is gone.
    fn shows_sleeper(&self) -> Option<bool> {
        Some(self.state().is_crowded())
    }

    fn is_at_rest(&self) -> bool {
        self.state().is_free()
    }
}

// -- 6. acquire_slow --------------------------------------------------------------------------------------------------

impl<P: Platform, T: TuningSource<Tuning>> RawStdPort<P, T> {
    #[cold]
    #[inline(never)]
    fn acquire_slow(&self) {
        let mut seen = self.spin();
        if seen.is_free() {
            // Without the mark, as this thread has slept nowhere yet and leaves nobody behind.
            P::step(CLAIM);
            // E1
            match self.word.compare_exchange(State::FREE.0, State::HELD.0, Acquire, Relaxed) {
                Ok(_) => return,
                Err(found) => seen = State(found),
            }
        }
        // Ended by an announce that finds FREE. A sleeper is woken by a vacate that found the mark (I1).
        loop {
            if !seen.is_crowded() && self.announce().is_free() {
                return;
            }
            P::step(PARK);
            P::wait_on(&self.word, State::CROWDED.0, None);
            seen = self.spin();
        }
    }

    /// A woken thread may have left sleepers behind, so from then on this is the only way in.
    fn announce(&self) -> State {
        P::step(ANNOUNCE);
        State(self.word.swap(State::CROWDED.0, Acquire)) // E1
    }

    // -- 7. Spin helper -----------------------------------------------------------------------------------------------

    /// What the word said at last: FREE, or CROWDED, or HELD after all pauses.
    fn spin(&self) -> State {
        let mut pauses_left = T::TUNING.pauses;
        // Ended by the count at the latest.
        loop {
            P::step(LOOK);
            let seen = self.state();
            if seen != State::HELD || pauses_left == 0 {
                return seen;
            }
            P::pause();
            pauses_left -= 1;
        }
    }

    // -- 8. release_slow ----------------------------------------------------------------------------------------------

    /// Wakes by address only: the lock may be free, taken again, or gone.
    #[cold]
    #[inline(never)]
    fn release_slow(address: *const P::U32) {
        P::step(WAKE);
        P::wake(address, 1);
    }
}

// -- 9. Waiter record: none, the kernel keeps the queue. --------------------------------------------------------------

// -- 10. Inspect ------------------------------------------------------------------------------------------------------

impl<P: Platform, T> RawStdPort<P, T> {
    fn state(&self) -> State {
        State(self.word.load(Relaxed))
    }
}

impl<P: Platform, T> fmt::Debug for RawStdPort<P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawStdPort({:?})", self.state())
    }
}
