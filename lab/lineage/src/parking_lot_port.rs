//! parking-lot-port: the lock is free before the sleepers are looked for, and nobody is handed anything.
//!
//! # Idea
//! In `parking-lot-012-port` a release that finds a sleeper keeps the lock until it has the latch of the queue. So
//! whenever somebody sleeps, each pass waits for that latch. Here a release first takes its bit off, whoever sleeps,
//! and looks for sleepers afterwards. An arrival may get in meanwhile. The new order breaks two things. The lock is
//! free already, so it cannot be handed over, and nothing ends a starvation. And the word is touched after it was
//! released.
//!
//! # Lineage
//! `RawMutex` of parking_lot 0.13.0 with parking_lot_core 0.10.0 on Linux (Amanieu d'Antras and others). Against 0.12, which
//! `parking_lot_012_port.rs` has:
//! - A release is one fetch-sub, and the slow one only clears PARKED, if nobody is left behind. Before, a compare-exchange
//!   failed if somebody slept, and the slow one stored the word.
//! - No fair timeout: no clock is read and no random number drawn. `unlock_fair` hands over still, when it is asked for; it is not
//!   here.
//! - Spinning begins with 1 pause and not with 2: 1, 2, 4, then 7 yields.
//! - `WordLock` walks its stack again only if there is a new top.
//!
//! Kept, left out and changed is otherwise what that file says, with the same reasons: above all that each lock has a
//! bucket of its own, on a line of its own elsewhere, where the original has one table for the process; that the word has 32
//! bits; and that sleepers' records are on their stacks.
//!
//! Shared code: `parking_lot.rs`, `parking_lot/state.rs`, `parking_lot/bucket.rs`, `parking_lot/latch.rs` and
//! `parking_lot/parker.rs`. They ask how a release leaves the word, which this file answers.
//!
//! # State word
//!
//! | place | name | meaning when set | set by | cleared by | may be stale? |
//! |---|---|---|---|---|---|
//! | word, bit 0 | LOCKED | somebody inside | grab, try, late_grab | vacate | exact |
//! | word, bit 1 | PARKED | release must look into the queue | announce | settle | may be set early and linger; never missing, see I2 |
//! | latch, bit 0 | LATCHED | somebody works on the bucket | latch, late_latch | unlatch | exact |
//! | latch, bit 1 | CLAIMED | somebody works on the latch's stack | claim_stack | leave_stack, pop_only, pop_oldest | exact |
//! | latch, bits 2..64 | top | the newest of those who sleep for the latch, 0 for none | push | pop_only | exact |
//! | first, last | - | the ends of the queue of sleepers, 0 if it is empty | enqueue, dequeue | dequeue | exact under the latch |
//!
//! # Life of a word
//!
//! ```text
//!         grab, try, late_grab              announce
//!   FREE ----------------------> LOCKED ---------------> LOCKED+PARKED --enqueue--> the same, somebody sleeps
//!    ^  <------- vacate --------                            |    ^
//!    |                                               vacate |    | late_grab
//!    +-------------------- settle (queue empty) ----------- PARKED
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
//! | vacate | LOCKED cleared | holder | fetch-sub, Release (E1) |
//! | dequeue | queue: without the first | ex-holder with the latch, if vacate found PARKED | stores, Relaxed |
//! | settle | PARKED cleared | the same, if nobody else sleeps | fetch-and, Relaxed |
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
//! - I1 LOCKED says that somebody is inside. asserted: cannot be, locally; checked by: conformance `exclusion`.
//! - I2 While the queue is not empty PARKED is set. It is cleared under the latch only, by whoever leaves the queue empty.
//!   asserted: cannot be; checked by: conformance `exclusion`.
//! - I3 While the queue is not empty, one of these is true: LOCKED; an ex-holder that found PARKED has not yet been to the
//!   queue; somebody that was taken out has not yet entered or gone to sleep again. asserted: cannot be; checked by:
//!   conformance `exclusion`.
//! - I4 The queue is touched under the latch only, and holds this lock's sleepers only. asserted: `pop`; checked by:
//!   conformance `exclusion`.
//! - I5 A vacate finds LOCKED, an unlatch LATCHED. asserted: `vacate`, `release` of the latch; checked by: test
//!   `misuse_is_caught`.
//! - I6 While the latch's stack is not empty, one of these is true: LATCHED; somebody has let go of it and not yet looked;
//!   CLAIMED; somebody that was taken out has not yet latched or pushed. asserted: cannot be; checked by:
//!   conformance `exclusion`.
//!
//! # Orderings
//! - E1 `vacate` -> `grab`, `try`, `late_grab`: everything the last holder wrote.
//! - E2 `unlatch` -> `latch`, `late_latch`: the queue and its nodes.
//! - E3 `permit`, `rouse` -> `park`, `await_latch`: the answer, and that the other is done with the node.
//! - E4 `push` -> `claim_stack`, `leave_stack`, `pop_only`: the first values of a node and what is below it.
//! - E5 `leave_stack`, `pop_only`, `pop_oldest` -> `claim_stack`: the links upwards and the note of the oldest. A
//!   model needs four threads to tell: two on the stack, one that takes the older out, and another that looks for the
//!   oldest then.
//!
//! Both words are written by RMWs only, so E1, E4 and E5 hold whatever others do to them in between. All else is Relaxed: a
//! look and an announce lead to no data; a settle and a validate are under the latch, where PARKED cannot come or go but by
//! an announce, whose thread comes to the latch after it.
//!
//! # Promises
//! - Mutual exclusion: each way in is an RMW that found LOCKED clear. Conformance `exclusion`.
//! - No lost wake-up: who enqueues has seen both bits under the latch, and PARKED stays while it is in the queue (I2). So the
//!   next vacate finds PARKED, and its thread comes to the latch and takes the oldest out, if another has not. That one
//!   enters, or sleeps again behind a holder, who will find PARKED (I3). Conformance `exclusion`.
//! - Bypass: unbounded. A sleeper competes with every arrival each time it is woken, at the end of the queue if it loses, and may
//!   starve.
//! - Polling: all arrivals that find nobody asleep, for three rounds of pauses and seven yields; the same at the latch.
//!
//! # Cost
//! Alone: 2 RMWs, 1 line. A contender that sleeps: an announce, a latch and an unlatch; a release that finds PARKED: a latch and
//! an unlatch, one more RMW if it leaves nobody, two stores to the sleeper's line, a read of the one's behind it, and a
//! system call; but others may be inside meanwhile. Several ex-holders may be on their way to the latch at once, and each wakes
//! one. Lock 16 bytes, for the original's one, and a bucket of 64 elsewhere; node and latch's node 128 bytes of stack each.
//!
//! # After release
//! Yes: an ex-holder that found PARKED goes to the bucket, and clears PARKED in the word if it leaves nobody there. The next
//! holders may all be through by then, and free the lock. In the original the bucket is outlived by nothing, but that write to the
//! word is there too. So the lock must outlive each call of release.
//!
//! # Limits
//! Not recursive; no deadline. A thread that loses its core with the latch holds up all who sleep or want to.
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
    name: "parking-lot-port",
    idea: "parking_lot 0.13: the lock is free before the sleepers beside it are looked for",
    bytes: 16,
    rmws: 2,
    awake: "all that come while nobody sleeps, for 3 rounds of pauses and 7 yields",
    woken: "the oldest sleeper, by every release while somebody sleeps",
    promises: Promises {
        timed: false,
        sleeps: true,
        reentrant: false,
        free_after_release: false,
        bypass: "unbounded",
        starves: "any sleeper",
    },
};

// -- 1. Steps; those of both ports: parking_lot.rs ------------------------------------------------------------------------

const SETTLE: Step = Step { lock: "parking-lot-port", name: "settle" };

// -- 2. Tuning --------------------------------------------------------------------------------------------------------

/// The constants of `parking-lot-port`. The defaults are those of parking_lot_core 0.10.0.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Default: rounds of 1, 2 and 4 pauses, then 7 yields (`SpinWait::spin`).
    pub spins: Spins,
}

impl TuningSource<Tuning> for Defaults {
    const TUNING: Tuning = Tuning { spins: Spins { first_pauses: 1, pause_rounds: 3, yields: 7 } };
}

// -- 3. State: parking_lot/state.rs -----------------------------------------------------------------------------------

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// The mutex of parking_lot 0.13.
pub type RawParkingLotPort<P, T = Defaults> = ParkingLot<P, NoRelief, T>;

/// A bucket of this mutex has nothing but its latch and its queue.
#[derive(Debug)]
pub struct NoRelief;

const _: () = assert!(size_of::<RawParkingLotPort<Hardware>>() == ENTRY.bytes);

// -- 5 to 7, 9 to 11: parking_lot.rs --------------------------------------------------------------------------------------

impl<P: Platform> Variant<P> for NoRelief {
    const ENTRY: Entry = ENTRY;
    type Tuning = Tuning;

    fn new() -> Self {
        NoRelief
    }

    fn spins(tuning: Tuning) -> Spins {
        tuning.spins
    }

    #[inline]
    fn vacate<T: TuningSource<Tuning>>(lock: &ParkingLot<P, Self, T>) {
        P::step(<Self as Variant<P>>::VACATE);
        let found = State(lock.word.fetch_sub(State::LOCKED.0, Release)); // E1
        debug_assert!(found.is_locked(), "I5: release of a free lock");
        if found.has_parked() {
            release_slow(lock);
        }
    }
}

// -- 8. release_slow --------------------------------------------------------------------------------------------------

/// Somebody slept, or was about to. We are outside already, and others may be in.
#[cold]
#[inline(never)]
fn release_slow<P: Platform, T: TuningSource<Tuning>>(lock: &ParkingLot<P, NoRelief, T>) {
    let bucket = lock.latch();
    let popped = lock.dequeue(bucket);
    if popped.as_ref().is_none_or(|popped| !popped.has_more) {
        P::step(SETTLE);
        lock.word.fetch_and(!State::PARKED.0, Relaxed);
    }
    match popped {
        Some(popped) => lock.wake(bucket, popped, false),
        None => bucket.unlatch(),
    }
}
