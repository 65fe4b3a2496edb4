//! swift: a bounded spin of few, long rounds, which nobody begins when four sleep already.
//!
//! # Idea
//! In a lock such as `go-tristate-futex` every arrival spins and every woken sleeper spins. So under many contenders
//! the holder loses its line to those who look. Here a second word counts the threads that have gone to sleep. An
//! arrival that finds the lock crowded and four of them counted goes to sleep at once. A spinner looks seldom, some
//! microseconds apart, and stops as soon as it sees that somebody sleeps. A woken sleeper does not spin at all. One
//! thing is still not limited: how many spin while the word is not crowded. And the word is not crowded any more as
//! soon as one spinner has got in.
//!
//! # Lineage
//! `Mutex` of Swift's module Synchronization on Linux since 2026 (stdlib/public/Synchronization/Mutex/LinuxImpl.swift; pull
//! request 88523 of swiftlang/swift by vsarunas, which answers issue 88440 and replaces a futex with priority
//! inheritance; read in the merged form, with its docs/SynchronizationMutexLinux.md). From the source, nothing guessed: the three
//! values of the word, the kind and order of every access to both words, the constants, when the gate is shut, what ends the
//! spinning, that the rounds' jitter is drawn once per slow path, and that the count goes up before the first sleep and down
//! after the last. Left out: the names kept for the sake of old programs. Changed:
//! - The gate reads both words with acquire there; it leads to no data, so it is Relaxed here.
//! - The jitter is the low bits of the cycle counter there, and none at all but on x86. Here it is the platform's tick counter
//!   everywhere, whose low bits may move in steps.
//! - Errors of the system call end the program there; the platform has none.
//!
//! Shared code: `tristate.rs`.
//!
//! # State word
//!
//! | place | name | meaning when set | set by | cleared by | may be stale? |
//! |---|---|---|---|---|---|
//! | word = 0 | FREE | nobody inside | vacate | grab, try, claim, announce | exact |
//! | word = 1 | HELD | somebody inside, release owes nothing | grab, try, claim | vacate, announce | exact as a debt |
//! | word = 2 | CROWDED | somebody inside, release owes one wake | announce | vacate | may linger: the last sleeper enters with it |
//! | depth | - | how many have gone to sleep and are not yet inside | count_in | count_out | may be behind: a hint for the gate |
//!
//! # Life of a word
//!
//! ```text
//!        grab, try, claim               announce
//! FREE ------------------> HELD -----------------------> CROWDED
//!  ^ | ^                     |                             ^  |
//!  | | +------- vacate ------+                             |  |
//!  | +------------------------ announce -------------------+  |
//!  +----------------------- vacate, then wake ----------------+
//! ```
//!
//! | step | from -> to | who | operation and ordering |
//! |---|---|---|---|
//! | grab | FREE -> HELD | arrival | compare-exchange, Acquire (E1) |
//! | try | FREE -> HELD | arrival that will not wait | compare-exchange, Acquire (E1) |
//! | gauge | unchanged | arrival that failed | loads of word and depth, Relaxed: a hint |
//! | look | unchanged | spinner | load, Relaxed: a claim follows before anything is believed |
//! | claim | FREE -> HELD | spinner | compare-exchange, Acquire (E1) |
//! | announce | any -> CROWDED | contender done spinning, or woken | swap, Acquire (E1); inside if it returns FREE |
//! | count_in | depth + 1 | contender that has announced for the first time, in vain | fetch-add, Relaxed: a hint |
//! | park | CROWDED, unchanged | contender | wait_on(word, CROWDED), Relaxed compare |
//! | count_out | depth - 1 | new holder that had counted itself | fetch-sub, Relaxed: a hint |
//! | vacate | HELD or CROWDED -> FREE | holder | swap, Release (E1) |
//! | wake | word untouched | ex-holder | wake one, only if vacate returned CROWDED |
//!
//! # Invariants
//! - I1 While anybody sleeps, one of these holds: the word is CROWDED; a vacate that saw CROWDED has not yet waked; a woken
//!   contender has not yet announced. asserted: cannot be, locally; checked by: TLA+ `NoSleeperForgotten`.
//! - I2 A vacate never finds FREE. asserted: `release`; checked by: test `misuse_is_caught`.
//! - I3 Who sleeps is counted, and whoever is counted has not come in yet or is about to count itself out. asserted: cannot
//!   be; checked by: TLA+ `DepthCountsTheSleepers`.
//!
//! # Orderings
//! - E1 `vacate` -> `grab`, `try`, `claim`, `announce`: everything the last holder wrote. A look, a gauge and the comparison
//!   in park admit nobody, and the depth is believed by nobody, so Relaxed is enough for them.
//!
//! # Promises
//! - Mutual exclusion: each way in is one RMW that found FREE. Conformance `exclusion`; TLA+ `MutualExclusion`.
//! - No lost wake-up: grab, try and claim change FREE only, so the mark is erased by nothing but a vacate, which then wakes one
//!   sleeper. That one puts the mark back before it enters or sleeps again (I1). Conformance `exclusion`; TLA+
//!   `NoSleeperForgotten`, `Termination`.
//! - Bypass: unbounded. A sleeper competes with every arrival and spinner each time it is woken, and may starve (TLA+
//!   `SleepersGetIn` fails).
//! - Polling: all arrivals that find the word not CROWDED or fewer than four counted, for 20 looks.
//!
//! # Cost
//! Alone: 2 RMWs, 1 line. A contender that sleeps: up to 20 looks with 64 to 127 pauses after each, two RMWs on the depth, which
//! shares the word's line, and one swap before each sleep. A wake for each vacate that saw the mark, also for the one that the last
//! sleeper entered with. Lock 8 bytes, no waiter record.
//!
//! # After release
//! Only by address: wake follows the releasing swap and never reads the words. A contender counts itself out while it is
//! inside. A word freed in between can at worst give a stranger one spurious wake. Conformance `freeing`.
//!
//! # Limits
//! Not recursive; no deadline. A thread on the only core spins as any other: the original does not ask how many there are.

use crate::tristate::State;
use crate::{Defaults, Entry, Promises, RawLock, TuningSource};
use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use ondeck_core::{Atomic, Hardware, Platform, StaticPlatform, Step};

/// The row of this lock in [`LOCKS`](crate::LOCKS).
pub const ENTRY: Entry = Entry {
    name: "swift",
    idea: "Swift's Mutex on Linux since 2026: arrivals spin seldom and long, unless four sleep already",
    bytes: 8,
    rmws: 2,
    awake: "all for 20 looks some us apart, while the word is not crowded or fewer than four sleep",
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

const GRAB: Step = Step { lock: "swift", name: "grab" };
const TRY: Step = Step { lock: "swift", name: "try" };
const GAUGE: Step = Step { lock: "swift", name: "gauge" };
const LOOK: Step = Step { lock: "swift", name: "look" };
const CLAIM: Step = Step { lock: "swift", name: "claim" };
const ANNOUNCE: Step = Step { lock: "swift", name: "announce" };
const COUNT_IN: Step = Step { lock: "swift", name: "count_in" };
const PARK: Step = Step { lock: "swift", name: "park" };
const COUNT_OUT: Step = Step { lock: "swift", name: "count_out" };
const VACATE: Step = Step { lock: "swift", name: "vacate" };
const WAKE: Step = Step { lock: "swift", name: "wake" };

// -- 2. Tuning --------------------------------------------------------------------------------------------------------

/// The constants of `swift`. The defaults are those of LinuxImpl.swift as merged in 2026.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Looks before sleeping, each followed by pauses. Default 20 (`spinTries`).
    pub looks: u32,
    /// Pauses after each look, to which up to as many again less one are added. A power of two. Default 64 (`pauseBase`).
    pub pauses_per_look: u32,
    /// Threads gone to sleep from which on arrivals do not spin. Default 4 (`maxActiveSpinners`).
    pub most_depth: u32,
}

impl TuningSource<Tuning> for Defaults {
    const TUNING: Tuning = Tuning { looks: 20, pauses_per_look: 64, most_depth: 4 };
}

impl Tuning {
    /// Whether an arrival goes to sleep at once.
    fn shuts_gate(self, seen: State, depth: u32) -> bool {
        seen.is_crowded() && depth >= self.most_depth
    }

    /// How many pauses a spinner makes after each look.
    fn pauses(self, ticks: u64) -> u32 {
        self.pauses_per_look + (ticks as u32 & self.pauses_per_look.wrapping_sub(1))
    }
}

// -- 3. State: tristate.rs --------------------------------------------------------------------------------------------

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// The mutex of Swift's module Synchronization, on Linux since 2026.
#[repr(C, align(8))]
pub struct RawSwift<P: Platform, T = Defaults> {
    word: P::U32,
    depth: P::U32,
    tuning: PhantomData<T>,
}

const _: () = assert!(size_of::<RawSwift<Hardware>>() == ENTRY.bytes);

impl<P: StaticPlatform, T> RawSwift<P, T> {
    /// A free lock, for statics.
    pub const INIT: Self = RawSwift { word: P::U32_ZERO, depth: P::U32_ZERO, tuning: PhantomData };
}

// -- 5. Public raw operations -----------------------------------------------------------------------------------------

impl<P: Platform, T: TuningSource<Tuning>> RawLock for RawSwift<P, T> {
    type Platform = P;
    const ENTRY: Entry = ENTRY;

    fn new() -> Self {
        RawSwift { word: P::U32::new(State::FREE.0), depth: P::U32::new(0), tuning: PhantomData }
    }

    #[inline]
    fn try_acquire(&self) -> bool {
        P::step(TRY);
        self.word.compare_exchange(State::FREE.0, State::HELD.0, Acquire, Relaxed).is_ok() // E1
    }

    #[inline]
    fn acquire(&self) {
        P::step(GRAB);
        // E1
        if self.word.compare_exchange(State::FREE.0, State::HELD.0, Acquire, Relaxed).is_err() {
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

    /// May claim a sleeper that is awake already, or miss one that is about to count itself.
    fn shows_sleeper(&self) -> Option<bool> {
        Some(self.depth.load(Relaxed) != 0)
    }

    fn is_at_rest(&self) -> bool {
        self.state().is_free() && self.depth.load(Relaxed) == 0
    }
}

// -- 6. acquire_slow --------------------------------------------------------------------------------------------------

impl<P: Platform, T: TuningSource<Tuning>> RawSwift<P, T> {
    #[cold]
    #[inline(never)]
    fn acquire_slow(&self) {
        P::step(GAUGE);
        let is_shut = T::TUNING.shuts_gate(self.state(), self.depth.load(Relaxed));
        if !is_shut && self.spin() {
            return;
        }
        let mut is_counted = false;
        // Ended by an announce that finds FREE. A sleeper is woken by a vacate that found its mark (I1).
        while !self.announce() {
            if !is_counted {
                P::step(COUNT_IN);
                self.depth.fetch_add(1, Relaxed);
                is_counted = true;
            }
            P::step(PARK);
            P::wait_on(&self.word, State::CROWDED.0, None);
        }
        if is_counted {
            P::step(COUNT_OUT);
            self.depth.fetch_sub(1, Relaxed);
        }
    }

    /// Leaves the mark, whether we get in, which gives true, or are to sleep: others may sleep already.
    fn announce(&self) -> bool {
        P::step(ANNOUNCE);
        State(self.word.swap(State::CROWDED.0, Acquire)).is_free() // E1
    }

    // -- 7. Spin loop -------------------------------------------------------------------------------------------------

    /// Whether one of a bounded number of looks led to a claim that succeeded.
    #[inline]
    fn spin(&self) -> bool {
        let n_pauses = T::TUNING.pauses(P::ticks());
        for _ in 0..T::TUNING.looks {
            P::step(LOOK);
            let seen = self.state();
            if seen.is_free() && self.claim() {
                return true;
            }
            if seen.is_crowded() {
                return false; // A sleeper is about to be woken: the lock is left to it.
            }
            P::pauses(n_pauses);
        }
        false
    }

    fn claim(&self) -> bool {
        P::step(CLAIM);
        self.word.compare_exchange(State::FREE.0, State::HELD.0, Acquire, Relaxed).is_ok() // E1
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

impl<P: Platform, T> RawSwift<P, T> {
    fn state(&self) -> State {
        State(self.word.load(Relaxed))
    }
}

impl<P: Platform, T> fmt::Debug for RawSwift<P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawSwift({:?})", self.state())
    }
}

// -- 11. Tests of section 2 -------------------------------------------------------------------------------------------

#[cfg(test)]
mod tests {
    use super::*;

    const TUNING: Tuning = <Defaults as TuningSource<Tuning>>::TUNING;

    #[test]
    fn the_gate_is_shut_when_the_word_is_crowded_and_enough_sleep() {
        for state in [State::FREE, State::HELD, State::CROWDED] {
            let shut = [0, 3, 4, 5, u32::MAX].map(|depth| TUNING.shuts_gate(state, depth));
            let crowded = state == State::CROWDED;
            assert_eq!(shut, [false, false, crowded, crowded, crowded]);
        }
    }

    #[test]
    fn rounds_last_once_to_nearly_twice_the_base() {
        assert!((0..1000).all(|ticks| (64..128).contains(&TUNING.pauses(ticks))));
        assert_eq!([0, 63, 64, u64::MAX].map(|ticks| TUNING.pauses(ticks)), [64, 127, 64, 127]);
        assert_eq!(Tuning { pauses_per_look: 1, ..TUNING }.pauses(u64::MAX), 1);
        assert_eq!(Tuning { pauses_per_look: 0, ..TUNING }.pauses(0), 0);
    }
}
