//! go-spinbit-futex: one waiter holds the right to poll the word; all others sleep on the word itself.
//!
//! # Idea
//! [`go_tristate_futex`](crate::go_tristate_futex) collapses because every contender polls and every release wakes one
//! more. One bit of the word cures both: it is the right to poll. The waiter that has it is on deck. The others sleep,
//! and release wakes nobody while the bit is set. But the lock has no say in who is woken. The system keeps the
//! sleepers, in whatever order it likes.
//!
//! # Lineage
//! The first form of Go's new lock: CL 601597, patch set 1, as modelled in design/68578/spinbit.tla of golang/proposal
//! (Go issue 68578). Its successor with a stack of its own sleepers is [`go_spinbit`](crate::go_spinbit). Kept: the
//! flags, the wake rule, the spin counts, no yield (the model has none; whether the code had is not known to us), that
//! a waiter who gets in sets SLEEPING whether or not somebody sleeps, and that one on deck sets it again when a release
//! has cleared it. Changed, because Go swaps single *bytes* of a 64-bit word (locked and sleeping in the lowest,
//! spinning in the highest), and atomic accesses of different sizes to one place are undefined behaviour in Rust:
//! - A swap of the low byte that keeps the other is a fetch-or or fetch-and of its two flags. That is the same
//!   transition each time but one: Go's first attempt swaps in LOCKED alone, which clears SLEEPING, and it puts that
//!   back when it got in, or in the slow path. Here grab sets LOCKED and leaves SLEEPING alone: nothing has to be put
//!   back, and no release in between misses it.
//! - Release reads SPINNING in the access that frees the lock. Go's byte does not hold it, so there a load of the word
//!   follows, and the lock must outlive the release. A waiter that comes on deck between the two saves Go a wake, and
//!   one that retires there costs it one.
//! - Release is a fetch-and whose result is used, which x86-64 makes a load and a compare-exchange, where Go has one
//!   swap: a few nanoseconds more when alone.
//! - The word is 32 bits, for that is all a futex compares. Go's futex does not see the spinning byte; here it does, so
//!   a waiter does not fall asleep if the deck has been left or taken since its look, but looks again.
//! - One step per look: Go announces and claims without a look between, and each waiter tries to claim before it
//!   sleeps, even if it will not spin; here only one that will, and only while nobody is on deck.
//!
//! Added: `try_acquire`, which the original lacks.
//!
//! # State word
//!
//! | bits | name | meaning when set | set by | cleared by | may be stale? |
//! |---|---|---|---|---|---|
//! | 0 | LOCKED | somebody inside | grab, late_grab, deck_grab | vacate | exact |
//! | 1 | SLEEPING | release should wake a sleeper, if nobody is on deck | late_grab, deck_grab, announce | vacate | may linger; may be missing as I2 says |
//! | 8 | SPINNING | some waiter is on deck | claim_spin | deck_grab, retire | exact |
//!
//! # Life of a word
//!
//! ```text
//!   free --grab--> L --announce--> L+sleeping --claim_spin--> L+sleeping+spin --retire--> L+sleeping  (and park)
//!                                   |  vacate, wake                |  vacate, nobody woken
//!                                   v                              v
//!                                  free --late_grab--> L+sleeping  spin --deck_grab--> L+sleeping
//! ```
//!
//! | step | from -> to | who | operation and ordering |
//! |---|---|---|---|
//! | grab | any -> LOCKED | arrival | fetch-or, Acquire (E1); inside if it was not LOCKED |
//! | look | unchanged | waiter | load, Relaxed: an RMW follows before anything is believed |
//! | late_grab | any -> LOCKED and SLEEPING | waiter not on deck | fetch-or, Acquire (E1); inside if it was not LOCKED |
//! | deck_grab | free -> LOCKED and SLEEPING, SPINNING cleared | waiter on deck | compare-exchange, Acquire (E1) |
//! | announce | any -> SLEEPING too | waiter that does not see it | fetch-or, Relaxed |
//! | claim_spin | any -> SPINNING too | waiter | fetch-or, Relaxed; on deck if it was not SPINNING |
//! | retire | SPINNING cleared | waiter on deck | fetch-and, Relaxed |
//! | park | LOCKED and SLEEPING, unchanged | waiter | wait_on(word, as seen), Relaxed compare |
//! | vacate | LOCKED and SLEEPING cleared | holder | fetch-and, Release (E1) |
//! | wake | word untouched | ex-holder | wake one, only if vacate found SLEEPING and not SPINNING |
//!
//! # Invariants
//! - I1 SPINNING is set if and only if exactly one waiter is on deck. asserted: `acquire_slow`; checked by: TLA+
//!   `OneOnDeck`, conformance `exclusion`.
//! - I2 While anybody sleeps, one of these is true: SLEEPING; SPINNING; a vacate that found SLEEPING and not SPINNING
//!   has not yet waked; some waiter is awake. asserted: cannot be, locally; checked by: TLA+ `NoSleeperForgotten`,
//!   conformance `exclusion`.
//! - I3 A vacate finds LOCKED. asserted: `release`; checked by: TLA+ `WordTellsOfHolder`, test `misuse_is_caught`.
//!
//! # Orderings
//! - E1 `vacate` -> `grab`, `late_grab`, `deck_grab`: everything the last holder wrote.
//!
//! Every write to the word is an RMW, so a vacate stays at the head of a release sequence: the edge holds although
//! others announce, claim or retire in between. Those, looks, and the comparison in park admit nobody, so Relaxed is
//! enough for them.
//!
//! # Promises
//! - Mutual exclusion: each way in is one RMW that found LOCKED clear. Conformance `exclusion`.
//! - No lost wake-up: only a vacate clears SLEEPING. If it finds nobody on deck it wakes a sleeper; else the waiter on
//!   deck is awake. An awake waiter gets in, and leaves SLEEPING behind; or it falls asleep, but only while the word is
//!   LOCKED and SLEEPING, so that a vacate that finds the flag is still to come. The one on deck leaves the deck first
//!   and is then like any other (I2). Conformance `exclusion`.
//! - Nothing is left in the word when nobody is inside or waiting: whoever sets a flag gets in later, and the vacate
//!   after that clears it. Conformance `exclusion`.
//! - Bypass: unbounded. A sleeper competes with every arrival each time it is woken, and may starve: TLA+
//!   `Served` fails.
//! - Polling: the waiter on deck; besides, whoever finds the lock free, as long as it is. Conformance `few_poll`.
//!
//! # Cost
//! Alone: 2 RMWs, 1 line. Contended: while somebody is on deck, release is one RMW and wakes nobody, and the waiter on
//! deck announces once per pass that it sees; a waiter on its way to sleep looks and announces, and claims if it may.
//! The last of several holders makes one needless system call, for SLEEPING says nothing about whether anybody sleeps.
//! Lock 4 bytes, no waiter record.
//!
//! # After release
//! Only by address: wake follows the releasing RMW and never reads the word. A word freed in between can at worst give
//! a stranger one spurious wake. Conformance `freeing`.
//!
//! # Limits
//! Not recursive; no deadline.

use crate::{Defaults, Entry, Promises, RawLock, TuningSource};
use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use ondeck_core::{Atomic, Hardware, Platform, StaticPlatform, Step};

/// The row of this lock in [`LOCKS`](crate::LOCKS).
pub const ENTRY: Entry = Entry {
    name: "go-spinbit-futex",
    idea: "the first form of Go's new lock: one waiter has the right to poll, the others sleep on the word",
    bytes: 4,
    rmws: 2,
    awake: "one waiter, for 4 rounds of 30 pauses, and those just woken",
    woken: "one sleeper per release that finds the mark and nobody on deck",
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

const GRAB: Step = Step { lock: "go-spinbit-futex", name: "grab" };
const LOOK: Step = Step { lock: "go-spinbit-futex", name: "look" };
const LATE_GRAB: Step = Step { lock: "go-spinbit-futex", name: "late_grab" };
const DECK_GRAB: Step = Step { lock: "go-spinbit-futex", name: "deck_grab" };
const ANNOUNCE: Step = Step { lock: "go-spinbit-futex", name: "announce" };
const CLAIM_SPIN: Step = Step { lock: "go-spinbit-futex", name: "claim_spin" };
const RETIRE: Step = Step { lock: "go-spinbit-futex", name: "retire" };
const PARK: Step = Step { lock: "go-spinbit-futex", name: "park" };
const VACATE: Step = Step { lock: "go-spinbit-futex", name: "vacate" };
const WAKE: Step = Step { lock: "go-spinbit-futex", name: "wake" };

// -- 2. Tuning --------------------------------------------------------------------------------------------------------

/// The constants of `go-spinbit-futex`. The defaults are those of runtime/lock_futex.go in Go 1.23, on which the change
/// was made.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Rounds of pauses of the waiter on deck before it retires; none where spinning cannot pay. Default 4
    /// (`active_spin`).
    pub active_spins: u32,
    /// Pauses in each of these rounds. Default 30 (`active_spin_cnt`).
    pub pauses_per_spin: u32,
}

impl TuningSource<Tuning> for Defaults {
    const TUNING: Tuning = Tuning { active_spins: 4, pauses_per_spin: 30 };
}

// -- 3. State ---------------------------------------------------------------------------------------------------------

#[derive(Clone, Copy, PartialEq, Eq)]
struct State(u32);

impl State {
    const FREE: State = State(0);
    const LOCKED: u32 = 0x001;
    const SLEEPING: u32 = 0x002;
    const SPINNING: u32 = 0x100;

    fn is_locked(self) -> bool {
        self.0 & State::LOCKED != 0
    }

    fn hints_at_sleepers(self) -> bool {
        self.0 & State::SLEEPING != 0
    }

    fn has_spinner(self) -> bool {
        self.0 & State::SPINNING != 0
    }

    /// Whether the vacate that found this word owes a wake.
    fn owes_wake(self) -> bool {
        self.hints_at_sleepers() && !self.has_spinner()
    }

    /// Held by the waiter that was on deck, which cannot know whether somebody sleeps.
    fn grabbed_from_deck(self) -> State {
        State(self.0 & !State::SPINNING | State::LOCKED | State::SLEEPING)
    }
}

const _: () = assert!(State::LOCKED | State::SLEEPING | State::SPINNING == 0x103);

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// The mutex with which Go issue 68578 began.
pub struct RawGoSpinbitFutex<P: Platform, T = Defaults> {
    word: P::U32,
    tuning: PhantomData<T>,
}

const _: () = assert!(size_of::<RawGoSpinbitFutex<Hardware>>() == ENTRY.bytes);

impl<P: StaticPlatform, T> RawGoSpinbitFutex<P, T> {
    /// A free lock, for statics.
    pub const INIT: Self = RawGoSpinbitFutex { word: P::U32_ZERO, tuning: PhantomData };
}

// -- 5. Public raw operations -----------------------------------------------------------------------------------------

impl<P: Platform, T: TuningSource<Tuning>> RawLock for RawGoSpinbitFutex<P, T> {
    type Platform = P;
    const ENTRY: Entry = ENTRY;

    fn new() -> Self {
        RawGoSpinbitFutex { word: P::U32::new(State::FREE.0), tuning: PhantomData }
    }

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
        // Taken before the releasing write: `self` may be gone when the wake is sent.
        let address = &raw const self.word;
        P::step(VACATE);
        let found = State(self.word.fetch_and(!(State::LOCKED | State::SLEEPING), Release)); // E1
        debug_assert!(found.is_locked(), "I3: release of a free lock");
        if found.owes_wake() {
            Self::release_slow(address);
        }
    }

    /// May claim a sleeper that is gone, or one that is not there yet; misses those that rely on the waiter on deck.
    fn shows_sleeper(&self) -> Option<bool> {
        Some(self.state().hints_at_sleepers())
    }

    fn is_at_rest(&self) -> bool {
        self.state() == State::FREE
    }
}

// -- 6. acquire_slow --------------------------------------------------------------------------------------------------

impl<P: Platform, T: TuningSource<Tuning>> RawGoSpinbitFutex<P, T> {
    #[cold]
    #[inline(never)]
    fn acquire_slow(&self) {
        let budget = if P::may_spin() { T::TUNING.active_spins } else { 0 };
        // The right to poll is ours (I1).
        let mut is_on_deck = false;
        // Rounds of pauses since we began or last slept.
        let mut rounds = 0;
        // Ended by a grab that finds the lock free. Between two parks there are `budget` rounds at most; any other turn
        // makes the next one go on, unless another thread has changed the word meanwhile. A sleeper is woken by I2.
        loop {
            P::step(LOOK);
            let seen = self.state();
            debug_assert!(seen.has_spinner() || !is_on_deck, "I1");
            if !seen.is_locked() {
                if self.grab_again(seen, is_on_deck) {
                    return;
                }
            } else if !seen.hints_at_sleepers() {
                self.announce();
            } else if is_on_deck && rounds < budget {
                Self::pause();
                rounds += 1;
            } else if is_on_deck {
                self.retire();
                is_on_deck = false;
            } else if !seen.has_spinner() && rounds < budget {
                is_on_deck = self.claim_spin();
            } else {
                P::step(PARK);
                P::wait_on(&self.word, seen.0, None);
                rounds = 0;
            }
        }
    }

    /// Leaves SLEEPING behind, for there may be sleepers that rely on it (I2).
    fn grab_again(&self, seen: State, is_on_deck: bool) -> bool {
        if is_on_deck {
            P::step(DECK_GRAB);
            self.word.compare_exchange(seen.0, seen.grabbed_from_deck().0, Acquire, Relaxed).is_ok() // E1
        } else {
            P::step(LATE_GRAB);
            !State(self.word.fetch_or(State::LOCKED | State::SLEEPING, Acquire)).is_locked() // E1
        }
    }

    /// On deck too, where the next release need not know: the one after it may (see Lineage).
    fn announce(&self) {
        P::step(ANNOUNCE);
        self.word.fetch_or(State::SLEEPING, Relaxed);
    }

    fn claim_spin(&self) -> bool {
        P::step(CLAIM_SPIN);
        !State(self.word.fetch_or(State::SPINNING, Relaxed)).has_spinner()
    }

    /// From here on a release wakes somebody again. One that has counted on us is made good before we sleep: we look,
    /// and get in or announce (I2).
    fn retire(&self) {
        P::step(RETIRE);
        self.word.fetch_and(!State::SPINNING, Relaxed);
    }

    // -- 7. Spin helper -----------------------------------------------------------------------------------------------

    #[inline(never)]
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

impl<P: Platform, T> RawGoSpinbitFutex<P, T> {
    fn state(&self) -> State {
        State(self.word.load(Relaxed))
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_locked() { "held" } else { "free" })?;
        let notes = [(self.hints_at_sleepers(), ", sleeping"), (self.has_spinner(), ", spinning")];
        notes.iter().filter(|(holds, _)| *holds).try_for_each(|(_, note)| f.write_str(note))
    }
}

impl<P: Platform, T> fmt::Debug for RawGoSpinbitFutex<P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawGoSpinbitFutex({:?})", self.state())
    }
}

// -- 11. Tests of section 3 -------------------------------------------------------------------------------------------

#[cfg(test)]
mod tests {
    use super::*;

    /// Every combination of the flags.
    fn states() -> impl Iterator<Item = State> {
        (0..=0x103).filter(|bits| bits & !0x103 == 0).map(State)
    }

    #[test]
    fn a_grab_from_deck_ends_the_spin_and_leaves_the_hint() {
        for state in states() {
            let next = state.grabbed_from_deck();
            assert!(next.is_locked() && next.hints_at_sleepers() && !next.has_spinner());
        }
    }

    #[test]
    fn a_wake_is_owed_to_sleepers_without_a_spinner() {
        for state in states() {
            assert_eq!(state.owes_wake(), state.0 & 0x102 == State::SLEEPING);
        }
    }

    #[test]
    fn free_is_the_word_without_any_bit() {
        for state in states() {
            assert_eq!(state == State::FREE, state.0 == 0);
        }
    }
}
