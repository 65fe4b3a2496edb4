//! linux-mutex-patch1: as linux-mutex-base, but a contender reads the word before it writes it.
//!
//! # Idea
//! An RMW that fails still takes the cache line away from everybody. The holder needs the line too, so its release then
//! waits for it. A contender in [`linux_mutex_base`](crate::linux_mutex_base) does one RMW whenever the owner field is
//! empty, and two on its way to sleep. At most one of these changes anything. A read shares the line. So here a
//! contender reads first, and writes only if the value that it found makes a write worth while.
//!
//! # Lineage
//! The first patch of Waiman Long's series "mutex: Improve mutex performance by doing less atomic-ops & better
//! spinning" of April 2013: "mutex: Make more scalable by doing less atomic operations", merged for Linux 3.10. On 80
//! cores it made the AIM7 workload high_systime 3.4 times as fast, on 10 and 20 it changed nothing. Kept: the two
//! places of the test, before the compare-exchange of a spinner and before each swap of a waiter
//! (`MUTEX_SHOULD_XCHG_COUNT`, later `MUTEX_SHOW_NO_WAITER`). The arrival's claim stays unread, as there. All else is
//! as in linux-mutex-base, with what was changed there.
//!
//! Shared code: `linux_mutex.rs`, `linux_mutex/list.rs` and `linux_mutex/state.rs`. This file adds one answer to it.
//!
//! # State word
//!
//! | place | name | meaning when set | set by | cleared by | may be stale? |
//! |---|---|---|---|---|---|
//! | word = 0 | FREE | nobody inside | vacate, reopen | claim, try, grab, take | exact |
//! | word = 1 | HELD | somebody inside, or between vacate and reopen; if inside, release has nothing to look for | claim, try, grab, settle, vacate | vacate, claim, take | exact as a debt |
//! | word >= 2 | CROWDED | the same, but release must look at the list | claim, take | vacate, reopen, settle | may linger: the list may be empty |
//! | latch | LATCHED | somebody works on the list | latch | unlatch | exact |
//! | owner | - | who is inside, 0 for nobody | sign_in | sign_out | may be set late: a hint for spinners |
//! | first, last | - | the oldest and the youngest node of the list, 0 if it is empty | enqueue | dequeue | exact under the latch |
//!
//! # Life of a word
//! That of linux-mutex-base, with one step before two of the others:
//!
//! | step | from -> to | who | operation and ordering |
//! |---|---|---|---|
//! | claim | word + 1 | arrival | fetch-add, Acquire (E1); inside if it was FREE |
//! | try | FREE -> HELD | arrival that will not wait | compare-exchange, Acquire (E1) |
//! | sign_in | owner 0 -> me | new holder | store, Relaxed: a hint |
//! | look | unchanged | spinner | load of owner, Relaxed: a hint |
//! | peek | unchanged | spinner before grab, waiter before take | load, Relaxed; grab follows if FREE, take if not CROWDED |
//! | grab | FREE -> HELD | spinner that sees no owner | compare-exchange, Acquire (E1) |
//! | latch | latch 0 -> 1 | waiter; ex-holder that found CROWDED | swap, Acquire (E2); tried again until it was 0 |
//! | take | any -> CROWDED | waiter with the latch | swap, Acquire (E1); inside if it was FREE |
//! | enqueue | list: behind the last | waiter with the latch | stores, Relaxed |
//! | park | unchanged | sleeper | waits for the permit of its node |
//! | dequeue | list: without the first | new holder with the latch, if it was in the list | stores, Relaxed |
//! | settle | CROWDED -> HELD | new holder with the latch, if the list is empty | store, Relaxed |
//! | unlatch | latch 1 -> 0 | who has the latch | store, Release (E2) |
//! | sign_out | owner me -> 0 | holder | store, Relaxed: a hint |
//! | vacate | word - 1 | holder | fetch-sub, Release (E1); free if it was HELD |
//! | reopen | any -> FREE | ex-holder with the latch | store, Release (E1) |
//! | wake | word untouched | ex-holder with the latch | gives the permit of the first node |
//!
//! # Invariants
//! As in linux-mutex-base. I2 carries more here: it is why a waiter may go to sleep on what it has merely read.
//! - I1 FREE says that nobody is inside. asserted: cannot be, locally; checked by: conformance `exclusion`.
//! - I2 From CROWDED the word comes to FREE by a reopen only, that is under the queue latch. asserted: cannot be;
//!   checked by: conformance `exclusion`.
//! - I3 The list and its nodes are touched under the queue latch only, and a waiter that leaves the list was its first.
//!   asserted: `remove_first`; checked by: conformance `exclusion`.
//! - I4 From sign_in to sign_out the owner field names the holder, else it is 0. asserted: `sign_in`, `sign_out`;
//!   checked by: test `misuse_is_caught`.
//! - I5 A vacate never finds FREE. asserted: `release`; checked by: test `misuse_is_caught`.
//! - I6 While the list is not empty, one of these is true: the word is CROWDED; a vacate that found it CROWDED has yet
//!   to reopen; the first waiter is awake, or its permit is there. asserted: cannot be; checked by: conformance
//!   `exclusion`.
//!
//! # Orderings
//! - E1 `vacate`, `reopen` -> `claim`, `try`, `grab`, `take`: everything the last holder wrote.
//! - E2 `unlatch` -> `latch`: the list, the nodes' links, and what the word was when it was left.
//!
//! All else is Relaxed, peek too. A waiter that peeks has the latch, so by E2 it sees nothing older than the last
//! reopen; a CROWDED from after that can have gone only through a vacate whose reopen needs the latch and is yet to
//! come (I2). A spinner believes nothing before its grab.
//!
//! # Promises
//! - Mutual exclusion: each way in is one RMW that found FREE. Conformance `exclusion`.
//! - No lost wake-up: as in linux-mutex-base. A waiter that sleeps without a take has read CROWDED under the latch, so
//!   either the holder's vacate is to come and will find CROWDED, or it has come, has found that, and waits for the
//!   latch; in both cases a reopen follows that wakes the first of the list. Conformance `exclusion`.
//! - Bypass: unbounded, as in linux-mutex-base; a waiter that reads first has even less chance against arrivals.
//! - Polling: all who spin, and all who wait for the latch.
//!
//! # Cost
//! Alone: 2 RMWs, 1 line. A contender: 1 claim, 1 grab for each time it has seen the word FREE; to sleep, 1 latch and,
//! mostly, no take, since the claims have made the word CROWDED. A release, the latch and the sizes are as in
//! linux-mutex-base: lock 32 bytes, node 32 bytes of stack.
//!
//! # After release
//! Yes, as in linux-mutex-base: after a reopen the ex-holder still reads the list and writes the latch.
//!
//! # Limits
//! As in linux-mutex-base: not recursive; no deadline; a release comes from the thread that acquired.

pub use crate::linux_mutex::Tuning;
use crate::linux_mutex::{LinuxMutex, State, Variant};
use crate::{Defaults, Entry, Promises, TuningSource};
use core::sync::atomic::Ordering::Relaxed;
use ondeck_core::{Atomic, Hardware, Platform, StaticPlatform, Step};

/// The row of this lock in [`LOCKS`](crate::LOCKS).
pub const ENTRY: Entry = Entry {
    name: "linux-mutex-patch1",
    idea: "Linux 3.7 with reads before writes",
    bytes: 32,
    rmws: 2,
    awake: "all, as long as the holder stays the same and 50 us are not over",
    woken: "the oldest sleeper, on each release after which somebody has come",
    promises: Promises {
        timed: false,
        sleeps: true,
        reentrant: false,
        free_after_release: false,
        bypass: "unbounded: spinners and arrivals go before sleepers",
        starves: "any sleeper",
    },
};

// -- 1. Steps: linux_mutex.rs, and one more ---------------------------------------------------------------------------

const PEEK: Step = Step { lock: "linux-mutex-patch1", name: "peek" };

// -- 2, 3, 5, 6, 8 to 11: linux_mutex.rs ------------------------------------------------------------------------------

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// The mutex of Linux 3.7 with the first patch of April 2013.
pub type RawLinuxMutexPatch1<P, T = Defaults> = LinuxMutex<P, EverybodyReading, T>;

const _: () = assert!(size_of::<RawLinuxMutexPatch1<Hardware>>() == ENTRY.bytes);

impl<P: StaticPlatform, T> RawLinuxMutexPatch1<P, T> {
    /// A free lock, for statics.
    pub const INIT: Self = LinuxMutex::free(EverybodyReading);
}

// -- 7. What is this lock's own ---------------------------------------------------------------------------------------

/// Everybody may spin, but reads before it writes.
#[derive(Debug)]
pub struct EverybodyReading;

impl<P: Platform> Variant<P> for EverybodyReading {
    const ENTRY: Entry = ENTRY;

    fn new() -> Self {
        EverybodyReading
    }

    fn is_worth_writing(word: &P::U32, hoped_for: fn(State) -> bool) -> bool {
        P::step(PEEK);
        hoped_for(State::of(word.load(Relaxed)))
    }

    fn spin<T: TuningSource<Tuning>>(&self, lock: &LinuxMutex<P, Self, T>) -> bool {
        lock.watch_holders()
    }

    fn is_at_rest(&self) -> bool {
        true
    }
}
