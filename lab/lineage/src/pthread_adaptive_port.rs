//! pthread-adaptive-port: pthread-port with a spin before the sleep, as long as spinning used to take.
//!
//! # Idea
//! How long a spin pays depends on how long sections are, and a lock can learn that. This one keeps a running mean of
//! the pauses that its contenders spent, whether that got them in or not. The next contender may spend twice the mean
//! and ten, 100 at most. Between two looks the number of pauses doubles up to 16. A random part keeps contenders out of
//! step. Three things break:
//!
//! - All contenders spin, as in [`go-tristate-futex`](crate::go_tristate_futex).
//! - A spin in vain counts like one that paid, so contention itself drives the mean up to its bound.
//! - All contenders write the mean to the line that the holder uses.
//!
//! # Lineage
//! The mutex of glibc 2.36 for x86-64 that was initialised as `PTHREAD_MUTEX_ADAPTIVE_NP`: nptl/pthread_mutex_lock.c and
//! sysdeps/x86_64/nptl/pthread_mutex_backoff.h, where the back-off is the work of Wangyang Guo (2022), added in this very
//! version. Its sources were at hand in later versions, where these files say the same; the order of accesses was compared
//! with the machine code of Debian's 2.36. Kept: the order and kind of every access, all constants, a fast clock as
//! random number, drawn once per acquisition, and the grab before the sleep. Changed and left out: as in
//! [`pthread-port`](crate::pthread_port). On other processors the original has neither back-off nor random part; a
//! `most_backoff` of 1 is that.
//!
//! Shared code: `pthread.rs` and `tristate.rs`.
//!
//! # State word
//! The first row is of the state word, at the bytes 0..4; the others are the fields behind it. 4..8 and 24..40 are for
//! kinds that are not ported.
//!
//! | bytes, value | name | meaning | set by | may be stale? |
//! |---|---|---|---|---|
//! | 0..4 = 0 | FREE | nobody inside | vacate | exact |
//! | 0..4 = 1 | HELD | somebody inside, release owes nothing | grab | exact as a debt |
//! | 0..4 = 2 | CROWDED | somebody inside, release owes one wake | announce | may linger: the last sleeper sets it too |
//! | 8..12 owner | - | number of the holder's thread, 0 for none | sign_in, sign_out | set late; nothing depends on it |
//! | 12..16 n_users | - | 1 while somebody is inside | sign_in, sign_out | set late; nothing depends on it |
//! | 16..20 kind | AS_TYPED | which kind of mutex it is | nobody | exact |
//! | 20..24 spins | - | about how many pauses it took to get in | learn | exact for its writer, a hint for others |
//!
//! # Life of a word
//!
//! ```text
//!        grab          announce
//! FREE ------> HELD -------------> CROWDED
//!  ^ ^ \        |                   ^  |
//!  | |  +-------|---- announce -----+  |
//!  | +- vacate -+                      |
//!  +----------- vacate, then wake -----+
//! ```
//!
//! | step | from -> to | who | operation and ordering |
//! |---|---|---|---|
//! | read_kind | unchanged | arrival, holder that leaves | 3 and 4 loads of kind, Relaxed; one of an arrival that will not wait |
//! | grab | FREE -> HELD | arrival, also one that will not wait, spinner that has seen FREE, spinner that retires | compare-exchange, Acquire (E1) |
//! | peek | unchanged | spinner | load, Relaxed: a grab follows if it says FREE |
//! | look | unchanged | contender that is ready to sleep; arrival that will not wait | load, Relaxed: to park at once if it says CROWDED; to grab if FREE |
//! | announce | any -> CROWDED | contender | swap, Acquire (E1); inside if it returns FREE |
//! | park | CROWDED, unchanged | contender | wait_on(word, CROWDED), Relaxed compare |
//! | learn | spins: by an eighth towards the pauses that it took | new holder that has spun | load, then store, Relaxed: a hint |
//! | sign_in | owner, n_users | new holder | stores, Relaxed |
//! | sign_out | owner, n_users | holder | stores, Relaxed |
//! | vacate | HELD or CROWDED -> FREE | holder | swap, Release (E1) |
//! | wake | word untouched | ex-holder | wake one, only if vacate returned CROWDED |
//!
//! # Invariants
//! - I1 While anybody sleeps, one of these holds: the word is CROWDED; a vacate that saw CROWDED has not yet waked; a
//!   contender that was woken is awake and has not yet announced. asserted: cannot be, locally; checked by:
//!   conformance `exclusion`.
//! - I2 A vacate never finds FREE. asserted: `release_there`; checked by: test `misuse_is_caught`.
//! - I3 The kind never changes. asserted: `read_kind`; checked by: conformance `exclusion`.
//! - I4 Between vacate and the next sign_in the owner is 0 and n_users is 0. asserted: `acquire_there`, of the owner; checked by:
//!   conformance `exclusion`.
//!
//! # Orderings
//! - E1 `vacate` -> `grab`, `announce`: everything the last holder wrote, its sign_out included. A peek, a look and the
//!   comparison in park admit nobody. Owner and n_users are the holder's, and kind is written before anybody knows the
//!   lock. Spins is a hint. So Relaxed is enough for all of these.
//!
//! # Promises
//! - Mutual exclusion: each way in is one RMW that found FREE. Conformance `exclusion`.
//! - No lost wake-up: only a vacate erases the mark, and it then wakes one sleeper, which has no way in and none back to
//!   sleep but to announce (I1). Conformance `exclusion`.
//! - Bypass: unbounded. A sleeper competes with every arrival each time it is woken, and may starve.
//!
//! # Cost
//! Alone: 2 RMWs, and 10 loads and 4 stores of the same line. A contender: 2 or 3 peeks while the lock has learned nothing, up
//! to 9 when it has learned the most, with up to 31 pauses between two; then as `pthread-port`, and two accesses more when
//! it is inside. Everybody awake polls, without a limit to
//! how many do. Lock 40 bytes, in one line if aligned; no waiter record.
//!
//! # After release
//! Only by address: wake follows the releasing swap and never reads the word. Conformance `freeing`.
//!
//! # Limits
//! Not recursive; no deadline. A CROWDED that lingers costs one needless system call. A single core does not keep it from
//! spinning, as in the original.

use crate::pthread::{Kind, PthreadMutex};
use crate::{Defaults, Entry, Promises, TuningSource};
use core::marker::PhantomData;
use core::sync::atomic::Ordering::Relaxed;
use ondeck_core::{Atomic, Hardware, Platform, Step};

/// The row of this lock in [`LOCKS`](crate::LOCKS).
pub const ENTRY: Entry = Entry {
    name: "pthread-adaptive-port",
    idea: "glibc's adaptive mutex: spins twice as long as it used to take, then sleeps",
    bytes: 40,
    rmws: 2,
    awake: "all, for up to 100 pauses, fewer where fewer were enough",
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

// -- 1. Steps: pthread.rs, and two more -------------------------------------------------------------------------------

const PEEK: Step = Step { lock: "pthread-adaptive-port", name: "peek" };
const LEARN: Step = Step { lock: "pthread-adaptive-port", name: "learn" };

// -- 2. Tuning --------------------------------------------------------------------------------------------------------

/// The constants of `pthread-adaptive-port`. The defaults are those of glibc 2.36 for x86-64.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Most pauses of one contender. Default 100 (`DEFAULT_ADAPTIVE_COUNT`; the tunable `mutex_spin_count`).
    pub most_pauses: u32,
    /// Pauses that a contender may spend beyond twice what the lock has learned. Default 10.
    pub more_pauses: u32,
    /// Most pauses between two looks, without the random part. A power of two. Default 16 (`MAX_BACKOFF`).
    pub most_backoff: u32,
}

impl TuningSource<Tuning> for Defaults {
    const TUNING: Tuning = Tuning { most_pauses: 100, more_pauses: 10, most_backoff: 16 };
}

impl Tuning {
    /// How many pauses are too many, of a lock whose contenders used to spend `spins`.
    fn budget(self, spins: u32) -> u32 {
        spins.saturating_mul(2).saturating_add(self.more_pauses).min(self.most_pauses)
    }

    /// The back-off after `backoff`.
    fn next_backoff(self, backoff: u32) -> u32 {
        if backoff < self.most_backoff { backoff * 2 } else { backoff }
    }
}

/// Pauses before the next look: `backoff`, which is a power of two, and less than as many again.
fn pauses(backoff: u32, jitter: u32) -> u32 {
    backoff + (jitter & (backoff - 1))
}

/// What a lock that had learned `spins` has learned after `spent` pauses.
fn learned(spins: u32, spent: u32) -> u32 {
    // Rounded towards zero: a difference below eight teaches nothing.
    spins.wrapping_add_signed((spent as i32).wrapping_sub(spins as i32) / 8)
}

// -- 3, 5, 8 to 11: pthread.rs ----------------------------------------------------------------------------------------

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// The mutex of glibc that spins before it sleeps.
pub type RawPthreadAdaptivePort<P, T = Defaults> = PthreadMutex<P, Adaptive<T>>;

const _: () = assert!(size_of::<RawPthreadAdaptivePort<Hardware>>() == ENTRY.bytes);

// -- 6. acquire_slow: what is this lock's own -------------------------------------------------------------------------

/// A contender spins for a time that the lock has learned.
pub struct Adaptive<T>(PhantomData<T>);

impl<P: Platform, T: TuningSource<Tuning>> Kind<P> for Adaptive<T> {
    const ENTRY: Entry = ENTRY;
    const READS_TO_ACQUIRE: u32 = 3;
    const READS_TO_RELEASE: u32 = 4;

    #[cold]
    #[inline(never)]
    fn acquire_slow(lock: &PthreadMutex<P, Self>) {
        let spent = spin(lock, T::TUNING);
        P::step(LEARN);
        lock.spins.store(learned(lock.spins.load(Relaxed), spent), Relaxed);
    }
}

// -- 7. Spin helper ---------------------------------------------------------------------------------------------------

/// Gets the lock, if need be by sleeping; how many pauses that took, or would have taken.
fn spin<P: Platform, T: TuningSource<Tuning>>(lock: &PthreadMutex<P, Adaptive<T>>, tuning: Tuning) -> u32 {
    let budget = tuning.budget(lock.spins.load(Relaxed));
    // The lowest bits, as they are: where a clock keeps some of them still, so does the original.
    let jitter = P::ticks() as u32;
    let (mut spent, mut backoff) = (0, 1);
    // Ended by the budget at the latest: each turn spends a pause or more.
    loop {
        let n_pauses = pauses(backoff, jitter);
        spent += n_pauses;
        if spent >= budget {
            if !lock.grab() {
                lock.wait();
            }
            return spent;
        }
        P::pauses(n_pauses);
        backoff = tuning.next_backoff(backoff);
        P::step(PEEK);
        if lock.looks_free() && lock.grab() {
            return spent;
        }
    }
}

// -- 11. Tests of section 2 -------------------------------------------------------------------------------------------

#[cfg(test)]
mod tests {
    use super::*;

    const TUNING: Tuning = <Defaults as TuningSource<Tuning>>::TUNING;

    #[test]
    fn the_budget_is_twice_what_was_learned_and_ten_up_to_its_bound() {
        assert_eq!([0, 1, 44, 45, 46, u32::MAX].map(|spins| TUNING.budget(spins)), [10, 12, 98, 100, 100, 100]);
    }

    #[test]
    fn the_gap_doubles_to_its_bound_and_varies_below_as_much_again() {
        let backoffs: [u32; 6] = core::array::from_fn(|turn| (0..turn).fold(1, |gap, _| TUNING.next_backoff(gap)));
        assert_eq!(backoffs, [1, 2, 4, 8, 16, 16]);
        for jitter in 0..64 {
            assert!(backoffs.into_iter().all(|gap| (gap..2 * gap).contains(&pauses(gap, jitter))));
        }
        let without = Tuning { most_backoff: 1, ..TUNING };
        assert_eq!((without.next_backoff(1), pauses(1, 12345)), (1, 1));
    }

    #[test]
    fn it_learns_an_eighth_of_the_difference_in_either_direction() {
        assert_eq!([learned(0, 7), learned(0, 8), learned(0, 100)], [0, 1, 12]);
        assert_eq!([learned(50, 43), learned(50, 42), learned(50, 1)], [50, 49, 44]);
        let settled = (0..100).fold(0, |spins, _| learned(spins, 100));
        assert!((93..=100).contains(&settled), "{settled}");
    }
}
