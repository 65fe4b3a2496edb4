//! go-tristate-futex: three values of one word; every arrival spins a little, then sleeps on the word.
//!
//! # Idea
//! A flag alone cannot tell release whether anybody sleeps, so release would have to make a system call each time. A
//! third value says so, at no cost when alone. Many contenders break this, because the lock does not limit how many are
//! awake. Each release that saw the mark wakes a sleeper although others are already polling the word. So the number of
//! pollers only grows, and each of them takes the cache line away from the holder.
//!
//! # Lineage
//! `lock2` and `unlock2` of Go 1.23 on Linux (runtime/lock_futex.go, kept in later versions as
//! lock_futex_tristate.go). Kept: the order and kind of every access to the word, the spin counts, and that an
//! arrival's first swap writes HELD over CROWDED, so that the mark survives only in what the arrival remembers. Left
//! out: the runtime's bookkeeping. Added: `try_acquire`, which the original lacks.
//!
//! Shared code: `tristate.rs`.
//!
//! # State word
//!
//! | value | name | meaning | set by | cleared by | may be stale? |
//! |---|---|---|---|---|---|
//! | 0 | FREE | nobody inside | vacate | grab, try, claim, announce | exact |
//! | 1 | HELD | somebody inside, release owes nothing | grab, try, claim | vacate | exact as a debt |
//! | 2 | CROWDED | somebody inside, release owes one wake | announce, claim | vacate, grab | may linger; see I1 |
//!
//! # Life of a word
//!
//! ```text
//!        grab, try, claim                  announce
//! FREE ------------------> HELD ---------------------------> CROWDED
//!  ^ ^                      | ^                                | |
//!  | +------- vacate -------+ +-------- grab that fails -------+ |
//!  +----------------------- vacate, then wake -------------------+
//! ```
//!
//! | step | from -> to | who | operation and ordering |
//! |---|---|---|---|
//! | grab | any -> HELD | arrival | swap, Acquire (E1); inside if it returns FREE; it remembers a CROWDED that it erased |
//! | try | FREE -> HELD | arrival that will not wait | compare-exchange, Acquire (E1) |
//! | look | unchanged | spinner | load, Relaxed: a claim follows before anything is believed |
//! | claim | FREE -> as remembered | spinner | compare-exchange, Acquire (E1) |
//! | announce | any -> CROWDED | spinner that retires | swap, Acquire (E1); inside if it returns FREE |
//! | park | CROWDED, unchanged | contender | wait_on(word, CROWDED), Relaxed compare |
//! | vacate | HELD or CROWDED -> FREE | holder | swap, Release (E1) |
//! | wake | word untouched | ex-holder | wake one, only if vacate returned CROWDED |
//!
//! # Invariants
//! - I1 While anybody sleeps, one of these holds: the word is CROWDED; a vacate that saw CROWDED has not yet waked; an
//!   awake contender remembers CROWDED. asserted: cannot be, locally; checked by: TLA+ `NoSleeperForgotten`.
//! - I2 A vacate never finds FREE. asserted: `release`; checked by: test `misuse_is_caught`.
//!
//! # Orderings
//! - E1 `vacate` -> `grab`, `try`, `claim`, `announce`: everything the last holder wrote. A look and the comparison in
//!   park admit nobody, so Relaxed is enough for them.
//!
//! # Promises
//! - Mutual exclusion: each way in is one RMW that found FREE. Conformance `exclusion`; TLA+ `MutualExclusion`.
//! - No lost wake-up: the mark is erased by a vacate, which then wakes one sleeper; or by a grab, whose thread
//!   remembers it. The woken and the remembering thread put the mark back before they enter or sleep: they claim with
//!   what they remember, or announce (I1). Conformance `exclusion`; TLA+ `NoSleeperForgotten`, `Termination`.
//! - Bypass: unbounded. A sleeper competes with every arrival each time it is woken, and may starve (TLA+
//!   `SleepersGetIn` fails).
//!
//! # Cost
//! Alone: 2 RMWs, 1 line. Contended pass: a wake per vacate that saw the mark even when others are awake, and every
//! awake contender polls the word: there is no bound on how many do. Lock 4 bytes, no waiter record.
//!
//! # After release
//! Only by address: wake follows the releasing swap and never reads the word. A word freed in between can at worst give
//! a stranger one spurious wake. Conformance `freeing`.
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
    name: "go-tristate-futex",
    idea: "Go before 1.24: free, held, held with sleepers; every arrival spins, every release wakes",
    bytes: 4,
    rmws: 2,
    awake: "all, for 4 rounds of 30 pauses and a yield",
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

const GRAB: Step = Step { lock: "go-tristate-futex", name: "grab" };
const TRY: Step = Step { lock: "go-tristate-futex", name: "try" };
const LOOK: Step = Step { lock: "go-tristate-futex", name: "look" };
const CLAIM: Step = Step { lock: "go-tristate-futex", name: "claim" };
const ANNOUNCE: Step = Step { lock: "go-tristate-futex", name: "announce" };
const PARK: Step = Step { lock: "go-tristate-futex", name: "park" };
const VACATE: Step = Step { lock: "go-tristate-futex", name: "vacate" };
const WAKE: Step = Step { lock: "go-tristate-futex", name: "wake" };

// -- 2. Tuning --------------------------------------------------------------------------------------------------------

/// The constants of `go-tristate-futex`. The defaults are those of runtime/lock_futex.go in Go 1.23.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Rounds of pauses before the yields; none where spinning cannot pay. Default 4 (`active_spin`).
    pub active_spins: u32,
    /// Pauses in each of these rounds. Default 30 (`active_spin_cnt`).
    pub pauses_per_spin: u32,
    /// Offers of the core before retiring. Default 1 (`passive_spin`).
    pub passive_spins: u32,
}

impl TuningSource<Tuning> for Defaults {
    const TUNING: Tuning = Tuning { active_spins: 4, pauses_per_spin: 30, passive_spins: 1 };
}

// -- 3. State: tristate.rs --------------------------------------------------------------------------------------------

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// The mutex of the Go runtime before Go 1.24, on Linux.
pub struct RawGoTristateFutex<P: Platform, T = Defaults> {
    word: P::U32,
    tuning: PhantomData<T>,
}

const _: () = assert!(size_of::<RawGoTristateFutex<Hardware>>() == ENTRY.bytes);

impl<P: StaticPlatform, T> RawGoTristateFutex<P, T> {
    /// A free lock, for statics.
    pub const INIT: Self = RawGoTristateFutex { word: P::U32_ZERO, tuning: PhantomData };
}

// -- 5. Public raw operations -----------------------------------------------------------------------------------------

impl<P: Platform, T: TuningSource<Tuning>> RawLock for RawGoTristateFutex<P, T> {
    type Platform = P;
    const ENTRY: Entry = ENTRY;

    fn new() -> Self {
        RawGoTristateFutex { word: P::U32::new(State::FREE.0), tuning: PhantomData }
    }

    /// Not by a swap: a failure would erase CROWDED, and nobody would remember it.
    #[inline]
    fn try_acquire(&self) -> bool {
        P::step(TRY);
        self.word.compare_exchange(State::FREE.0, State::HELD.0, Acquire, Relaxed).is_ok() // E1
    }

    #[inline]
    fn acquire(&self) {
        P::step(GRAB);
        let found = State(self.word.swap(State::HELD.0, Acquire)); // E1
        if !found.is_free() {
            self.acquire_slow(found);
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

    /// May claim a sleeper that is gone, or miss one whose mark an arrival has just erased.
    fn shows_sleeper(&self) -> Option<bool> {
        Some(self.state().is_crowded())
    }

    fn is_at_rest(&self) -> bool {
        self.state().is_free()
    }
}

// -- 6. acquire_slow --------------------------------------------------------------------------------------------------

impl<P: Platform, T: TuningSource<Tuning>> RawGoTristateFutex<P, T> {
    /// `remembered` is what we leave behind when we get in: CROWDED if we have erased it or may have left sleepers.
    #[cold]
    #[inline(never)]
    fn acquire_slow(&self, mut remembered: State) {
        // Ended by a claim or announce that finds FREE. A sleeper is woken by a vacate that found its mark (I1).
        loop {
            if self.spin(remembered) {
                return;
            }
            P::step(ANNOUNCE);
            // E1
            if State(self.word.swap(State::CROWDED.0, Acquire)).is_free() {
                return;
            }
            remembered = State::CROWDED; // I1: from here on we may have left sleepers behind us.
            P::step(PARK);
            P::wait_on(&self.word, State::CROWDED.0, None);
        }
    }

    // -- 7. Spin helper -----------------------------------------------------------------------------------------------

    /// Whether one of a bounded number of looks led to a claim.
    #[inline(never)]
    fn spin(&self, remembered: State) -> bool {
        let n_active = if P::may_spin() { T::TUNING.active_spins } else { 0 };
        (0..n_active + T::TUNING.passive_spins).any(|turn| {
            if self.claim_while_free(remembered) {
                return true;
            }
            if turn < n_active {
                Self::pause()
            } else {
                P::yield_now()
            }
            false
        })
    }

    /// Claims as long as the word looks free.
    fn claim_while_free(&self, remembered: State) -> bool {
        // Ended by a look that finds the lock held; a claim fails only if another contender has just got in.
        while self.looks_free() {
            P::step(CLAIM);
            // E1
            if self.word.compare_exchange(State::FREE.0, remembered.0, Acquire, Relaxed).is_ok() {
                return true;
            }
        }
        false
    }

    fn looks_free(&self) -> bool {
        P::step(LOOK);
        self.state().is_free()
    }

    fn pause() {
        P::pauses(T::TUNING.pauses_per_spin);
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

impl<P: Platform, T> RawGoTristateFutex<P, T> {
    fn state(&self) -> State {
        State(self.word.load(Relaxed))
    }
}

impl<P: Platform, T> fmt::Debug for RawGoTristateFutex<P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawGoTristateFutex({:?})", self.state())
    }
}
