//! parking-lot-012-port: sleepers wait in a queue beside the lock. Now and then a release hands the lock to the oldest.
//!
//! # Idea
//! The lock itself is two bits. The queue of its sleepers lies elsewhere, under a latch, and is only touched when
//! somebody sleeps. One of the two bits says so. A contender that finds the lock held spins briefly, and does not spin
//! if others sleep already. Arrivals go first, which is fast and starves sleepers. So there is a relief. A release that
//! comes a random time below a millisecond after the last relief keeps the lock locked, and hands it to the oldest
//! sleeper. Many contenders break this. Each release that finds a sleeper takes the latch before it lets anybody in.
//! Each contender that goes to sleep takes it too.
//!
//! # Lineage
//! `RawMutex` of parking_lot 0.12.5 with parking_lot_core 0.9.12 on Linux (Amanieu d'Antras and others; after WebKit's
//! `WTF::ParkingLot` by Filip Pizlo). Kept: the two bits and every access to them, weak compare-exchanges included; the spin
//! counts; that parking is validated under the bucket's lock; the order of a slow release: dequeue, word, token, permit,
//! unlatch, wake; the bucket's lock (`WordLock`) with its spinning, its stack of sleepers, and its rules of when nobody is
//! woken; the fair timeout with its generator of random numbers. Left out: deadlines, requeuing, `bump`, deadlock detection.
//! Changed:
//! - The word is a byte there. The platform has none below 32 bits; what is done to it costs the same.
//! - One hash table of the process holds all buckets there, at least three times as many as threads. Here each lock has a bucket
//!   of its own, on a line of its own elsewhere: a simulated run can share nothing with the next, and with few locks and so many
//!   buckets two locks that are contended at once hardly ever meet in one. The table's rebuilding when a thread first parks
//!   is not here, nor the look at it after each latching. That costs the lock a pointer, its use as a static, and the
//!   freedom that the original has: see After release.
//! - Sleepers' keys are kept and the second one's is read, as in a bucket that others may use; there is never a stranger.
//! - A sleeper's record is on its stack, on lines of its own; there it is in thread-local data.
//! - Each bucket's generator begins where the table's first one does. The first slow release hands over, there as here, as the
//!   timeout of a new bucket is over at once.
//! - Where spinning cannot pay the pauses are left out, a microsecond at most; the yields are made. The original asks nothing.
//! - `WordLock` of 0.9.12 walks its stack again after each failed exchange, which finds the oldest in the top node; here, as in
//!   0.10, it is walked again only if there is a new top. Its push acquires too, which nothing there needs.
//!
//! Shared code: `parking_lot.rs`, `parking_lot/state.rs`, `parking_lot/bucket.rs`, `parking_lot/latch.rs` and
//! `parking_lot/parker.rs`. They ask how a release leaves the word, which this file answers.
//!
//! # State word
//!
//! | place | name | meaning when set | set by | cleared by | may be stale? |
//! |---|---|---|---|---|---|
//! | word, bit 0 | LOCKED | somebody inside | grab, try, late_grab | vacate, reopen | exact |
//! | word, bit 1 | PARKED | release must look into the queue | announce | hand_off, reopen | may be set early and linger; never missing, see I2 |
//! | latch, bit 0 | LATCHED | somebody works on the bucket | latch, late_latch | unlatch | exact |
//! | latch, bit 1 | CLAIMED | somebody works on the latch's stack | claim_stack | leave_stack, pop_only, pop_oldest | exact |
//! | latch, bits 2..64 | top | the newest of those who sleep for the latch, 0 for none | push | pop_only | exact |
//! | first, last | - | the ends of the queue of sleepers, 0 if it is empty | enqueue, dequeue | dequeue | exact under the latch |
//! | due, seed | - | when relief is due next; the generator | hand_off | - | exact under the latch |
//!
//! # Life of a word
//!
//! ```text
//!         grab, try, late_grab              announce
//!   FREE ----------------------> LOCKED ---------------> LOCKED+PARKED --enqueue--> the same, somebody sleeps
//!    ^  <------- vacate --------   ^                        |    ^
//!    |                             +---- hand_off (last) ---+    | late_grab
//!    +------- reopen (last) --------------------------------+--reopen--> PARKED
//! ```
//!
//! | step | from -> to | who | operation and ordering |
//! |---|---|---|---|
//! | grab | FREE -> LOCKED | arrival | weak compare-exchange, Acquire (E1) |
//! | try | LOCKED set if it was not | arrival that will not wait | weak compare-exchange, Acquire (E1), after a look |
//! | look | unchanged | contender | load, Relaxed: an RMW follows before anything is believed |
//! | late_grab | LOCKED set if it was not | contender | weak compare-exchange, Acquire (E1) |
//! | announce | LOCKED -> PARKED too | contender that has spun | weak compare-exchange, Relaxed |
//! | validate | unchanged | contender with the latch | load, Relaxed; it sleeps only if both bits are set |
//! | enqueue | queue: behind the last | contender with the latch | stores, Relaxed |
//! | park | its parker | sleeper | load, Acquire (E3), and waits on it |
//! | vacate | LOCKED -> FREE | holder | compare-exchange, Release (E1) |
//! | dequeue | queue: without the first | holder with the latch, if vacate failed | stores, Relaxed |
//! | hand_off | PARKED cleared if nobody else sleeps | the same, if it took somebody out and relief is due | store, Relaxed: LOCKED stays, E3 has the data |
//! | reopen | LOCKED cleared, PARKED too if nobody else sleeps | the same, otherwise | store, Release (E1) |
//! | permit | parker of the node it took out | the same, with the latch | store, Release (E3) |
//! | wake | word untouched | ex-holder | wake one, by address, after the unlatch |
//! | latch | latch: FREE -> LATCHED | whoever wants the bucket | weak compare-exchange, Acquire (E2) |
//! | late_latch | latch: LATCHED set if it was not | the same, if that failed | weak compare-exchange, Acquire (E2) |
//! | push | latch: top is mine, if LATCHED | the same, after spinning, or at once if others sleep for the latch | weak compare-exchange, Release (E4) |
//! | await_latch | its parker | the same | load, Acquire (E3), and waits on it |
//! | unlatch | latch: LATCHED cleared | who has the latch | fetch-sub, Release (E2) |
//! | claim_stack | latch: CLAIMED set | who found it not claimed and somebody on the stack | weak compare-exchange, Acquire (E4, E5) |
//! | leave_stack | latch: CLAIMED cleared, if LATCHED | who has claimed it | weak compare-exchange, Release (E5); on failure Acquire (E4) |
//! | pop_only | latch: CLAIMED and top cleared, if not LATCHED | the same | weak compare-exchange, Release (E5); on failure Acquire (E4) |
//! | pop_oldest | latch: CLAIMED cleared | the same | fetch-and, Release (E5) |
//! | rouse | parker of the node it took out | the same | store, Release (E3); then wake one, by address |
//!
//! # Invariants
//! - I1 LOCKED says that somebody is inside, or has been handed the lock. asserted: cannot be, locally; checked by:
//!   conformance `exclusion`.
//! - I2 While the queue is not empty PARKED is set. It is cleared under the latch only, by whoever leaves the queue empty.
//!   asserted: cannot be; checked by: conformance `exclusion`.
//! - I3 While the queue is not empty, one of these is true: LOCKED; somebody that was taken out has not yet entered or gone to
//!   sleep again. asserted: cannot be; checked by: conformance `exclusion`.
//! - I4 The queue is touched under the latch only, and holds this lock's sleepers only. asserted: `pop`; checked by:
//!   conformance `exclusion`.
//! - I5 A vacate finds LOCKED, an unlatch LATCHED. asserted: `vacate`, `release` of the latch; checked by: test
//!   `misuse_is_caught`.
//! - I6 While the latch's stack is not empty, one of these is true: LATCHED; somebody has let go of it and not yet looked;
//!   CLAIMED; somebody that was taken out has not yet latched or pushed. asserted: cannot be; checked by:
//!   conformance `exclusion`.
//!
//! # Orderings
//! - E1 `vacate`, `reopen` -> `grab`, `try`, `late_grab`: everything the last holder wrote.
//! - E2 `unlatch` -> `latch`, `late_latch`: the queue, its nodes, and the fair timeout.
//! - E3 `permit`, `rouse` -> `park`, `await_latch`: the answer, with a hand-off everything the last holder wrote; and that
//!   the other is done with the node.
//! - E4 `push` -> `claim_stack`, `leave_stack`, `pop_only`: the first values of a node and what is below it.
//! - E5 `leave_stack`, `pop_only`, `pop_oldest` -> `claim_stack`: the links upwards and the note of the oldest. A
//!   model needs four threads to tell: two on the stack, one that takes the older out, and another that looks for the
//!   oldest then.
//!
//! The latch's word is written by RMWs only, so E4 and E5 hold whatever others do to it in between. All else is Relaxed: a look
//! and an announce lead to no data, and a validate is under the latch, where PARKED cannot go and who clears LOCKED must come.
//!
//! # Promises
//! - Mutual exclusion: each way in is an RMW that found LOCKED clear, or a hand-off, by a holder, to the one thread that it took
//!   out. Conformance `exclusion`.
//! - No lost wake-up: who enqueues has seen both bits under the latch. While PARKED is set no vacate succeeds, so the holder
//!   comes to the latch after it, finds the queue as it is, and takes the oldest out. That one enters, or sleeps again behind
//!   a holder, who will find PARKED (I3). Conformance `exclusion`.
//! - Bypass: a sleeper may be woken in vain and go to the end of the queue as often as arrivals are quicker, until it is the
//!   oldest when relief is due, which it is within a millisecond of the last relief, at the next release. Who that is then is a
//!   matter of a random time, so starvation is improbable, not impossible.
//! - Polling: all arrivals that find nobody asleep, for three rounds of pauses and seven yields; the same at the latch.
//!
//! # Cost
//! Alone: 2 RMWs, 1 line. A contender that sleeps: an announce, a latch and an unlatch; a release that finds PARKED: a failed
//! vacate, a latch and an unlatch, the clock, a store to the word, two to the sleeper's line, a read of the one's behind it,
//! and a system call. The lock stays locked until the queue has been latched and the clock read. Lock 16 bytes, for
//! the original's one, and a bucket of 64 elsewhere; node and latch's node 128 bytes of stack each.
//!
//! # After release
//! Yes: after the reopen the ex-holder gives the latch back and may work on its stack, and the bucket goes with the lock. So the
//! lock must outlive each call of release. The original's lock may be freed by the next holder: its buckets are never freed, and of
//! the lock itself a release touches nothing after the reopen.
//!
//! # Limits
//! Not recursive; no deadline. A thread that loses its core with the latch holds up all who sleep or want to. The random
//! numbers are the same for each lock.
//!
//! Unsafe: 17 blocks in the shared code, all to reach a node of the queue under the latch, one of the stack under the claim, or one
//! that was taken out and has no permit yet.

pub use crate::parking_lot::Spins;
use crate::parking_lot::{ParkingLot, State, Variant};
use crate::{Defaults, Entry, Promises, TuningSource};
use core::sync::atomic::Ordering::{Relaxed, Release};
use ondeck_core::{Atomic, Hardware, Platform, Step};

/// The row of this lock in [`LOCKS`](crate::LOCKS).
pub const ENTRY: Entry = Entry {
    name: "parking-lot-012-port",
    idea: "parking_lot 0.12: sleepers in a queue beside the lock; now and then it is handed to the oldest",
    bytes: 16,
    rmws: 2,
    awake: "all that come while nobody sleeps, for 3 rounds of pauses and 7 yields",
    woken: "the oldest sleeper per release; within 1 ms of the last relief one is handed the lock",
    promises: Promises {
        timed: false,
        sleeps: true,
        reentrant: false,
        free_after_release: false,
        bypass: "unbounded; in each millisecond or so the oldest sleeper is handed the lock",
        starves: "any sleeper, improbably",
    },
};

// -- 1. Steps; those of both ports: parking_lot.rs ------------------------------------------------------------------------

const HAND_OFF: Step = Step { lock: "parking-lot-012-port", name: "hand_off" };
const REOPEN: Step = Step { lock: "parking-lot-012-port", name: "reopen" };

// -- 2. Tuning --------------------------------------------------------------------------------------------------------

/// The constants of `parking-lot-012-port`. The defaults are those of parking_lot_core 0.9.12.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Default: rounds of 2, 4 and 8 pauses, then 7 yields (`SpinWait::spin`).
    pub spins: Spins,
    /// Relief is due a random time after the last one, shorter than this, in nanoseconds. At least 1. Default 1,000,000
    /// (`FairTimeout`).
    pub longest_fair_gap_ns: u32,
}

impl TuningSource<Tuning> for Defaults {
    const TUNING: Tuning =
        Tuning { spins: Spins { first_pauses: 2, pause_rounds: 3, yields: 7 }, longest_fair_gap_ns: 1_000_000 };
}

// -- 3. State: parking_lot/state.rs -----------------------------------------------------------------------------------

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// The mutex of parking_lot 0.12.
pub type RawParkingLot012Port<P, T = Defaults> = ParkingLot<P, Relief<P>, T>;

/// When the lock is handed over next. Under the latch.
#[repr(C)]
#[derive(Debug)]
pub struct Relief<P: Platform> {
    due_ns: P::U64,
    /// State of the generator.
    seed: P::U32,
}

const FIRST_SEED: u32 = 1;

const _: () = assert!(size_of::<RawParkingLot012Port<Hardware>>() == ENTRY.bytes);

impl<P: Platform> Relief<P> {
    /// Whether the time has come; if so, draws when it comes next. The latch is the caller's.
    fn is_due(&self, longest_gap_ns: u32) -> bool {
        let now = P::now_ns();
        if now <= self.due_ns.load(Relaxed) {
            return false;
        }
        let drawn = xorshift(self.seed.load(Relaxed));
        self.seed.store(drawn, Relaxed);
        self.due_ns.store(now + u64::from(drawn % longest_gap_ns), Relaxed);
        true
    }
}

/// The generator of 32 bits with the shifts 13, 17 and 5 (George Marsaglia, "Xorshift RNGs", 2003). Never zero.
fn xorshift(mut state: u32) -> u32 {
    state ^= state << 13;
    state ^= state >> 17;
    state ^ state << 5
}

// -- 5 to 7, 9 to 11: parking_lot.rs --------------------------------------------------------------------------------------

impl<P: Platform> Variant<P> for Relief<P> {
    const ENTRY: Entry = ENTRY;
    type Tuning = Tuning;

    fn new() -> Self {
        Relief { due_ns: P::U64::new(0), seed: P::U32::new(FIRST_SEED) }
    }

    fn spins(tuning: Tuning) -> Spins {
        tuning.spins
    }

    #[inline]
    fn vacate<T: TuningSource<Tuning>>(lock: &ParkingLot<P, Self, T>) {
        P::step(Self::VACATE);
        // E1
        if let Err(found) = lock.word.compare_exchange(State::LOCKED.0, State::FREE.0, Release, Relaxed) {
            debug_assert!(State(found).is_locked(), "I5: release of a free lock");
            release_slow(lock);
        }
    }
}

// -- 8. release_slow --------------------------------------------------------------------------------------------------

/// Somebody sleeps, or is about to. We are inside until the word says otherwise.
#[cold]
#[inline(never)]
fn release_slow<P: Platform, T: TuningSource<Tuning>>(lock: &ParkingLot<P, Relief<P>, T>) {
    let bucket = lock.latch();
    let Some(popped) = lock.dequeue(bucket) else {
        reopen(lock, State::FREE);
        return bucket.unlatch();
    };
    let is_handed = bucket.kind.is_due(T::TUNING.longest_fair_gap_ns);
    if !is_handed {
        reopen(lock, if popped.has_more { State::PARKED } else { State::FREE });
    } else {
        P::step(HAND_OFF);
        if !popped.has_more {
            lock.word.store(State::LOCKED.0, Relaxed); // E3 takes the data along.
        }
    }
    lock.wake(bucket, popped, is_handed);
}

/// Lets others in. The word is ours to store to: while it has both bits, nobody changes it without the latch.
fn reopen<P: Platform, T: TuningSource<Tuning>>(lock: &ParkingLot<P, Relief<P>, T>, left: State) {
    P::step(REOPEN);
    lock.word.store(left.0, Release); // E1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relief_is_due_at_once_and_then_after_less_than_the_gap() {
        let relief = <Relief<Hardware> as Variant<Hardware>>::new();
        assert!(relief.is_due(u32::MAX));
        let drawn = xorshift(FIRST_SEED);
        let gap_ns = relief.due_ns.load(Relaxed) - Hardware::now_ns().min(relief.due_ns.load(Relaxed));
        assert!(gap_ns <= u64::from(drawn) && relief.seed.load(Relaxed) == drawn);
        relief.due_ns.store(u64::MAX, Relaxed);
        assert!(!relief.is_due(1), "not before its time");
    }

    #[test]
    fn the_generator_is_that_of_the_paper() {
        // What follows on the seed 1, by the shifts.
        let drawn: Vec<u32> = std::iter::successors(Some(1), |&state| Some(xorshift(state))).skip(1).take(2).collect();
        assert_eq!(drawn, [270_369, 67_634_689]);
    }
}
