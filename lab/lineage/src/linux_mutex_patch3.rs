//! linux-mutex-patch3: as linux-mutex-patch1, but contenders spin only while there are cores to spare for it.
//!
//! # Idea
//! [`linux_mutex_patch2`](crate::linux_mutex_patch2) allows one spinner. On a busy machine one is enough. On an idle
//! machine the sleepers could spin too. So the load should decide. Spinning is free while a core would otherwise be
//! idle. It takes the core from somebody's work when there are more threads than cores. So the lock counts its
//! spinners, and compares the count with the number of cores.
//!
//! # Lineage
//! The third patch of the first version of Waiman Long's series "mutex: Improve mutex performance by doing less
//! atomic-ops & better spinning", April 2013, as an alternative to the second; version 2 of 15 April (lkml.iu.edu,
//! kernel/1304.1/04797) replaced both. We know of its text only that it limits spinning by the load of the system,
//! which the kernel knows: how many threads want to run, on how many cores. The platform knows the cores only, so this is
//! our reading: the load is what the lock itself can see, its holder and its spinners, each of them a thread on a core;
//! a contender that would be one more than there are cores does not spin. Threads that have nothing to do with this
//! lock are not seen, so on a machine that is busy with others there is more spinning than the patch meant. All else is
//! as in [`linux_mutex_patch1`](crate::linux_mutex_patch1), with what [`linux_mutex_base`](crate::linux_mutex_base)
//! changed.
//!
//! Shared code: `linux_mutex.rs`, `linux_mutex/list.rs` and `linux_mutex/state.rs`.
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
//! | n_spinners | - | how many spin, and who is about to see that they are too many | count_in | count_out | may linger: who spun may be inside already |
//!
//! # Life of a word
//! That of linux-mutex-patch1; the spinner's steps stand between two more:
//!
//! | step | from -> to | who | operation and ordering |
//! |---|---|---|---|
//! | claim | word + 1 | arrival | fetch-add, Acquire (E1); inside if it was FREE |
//! | try | FREE -> HELD | arrival that will not wait | compare-exchange, Acquire (E1) |
//! | sign_in | owner 0 -> me | new holder | store, Relaxed: a hint |
//! | count_in | n_spinners + 1 | contender | load, Relaxed, then, if there was room, fetch-add, Relaxed; may spin if there was room before it |
//! | look | unchanged | spinner | load of owner, Relaxed: a hint |
//! | peek | unchanged | spinner before grab, waiter before take | load, Relaxed; grab follows if FREE, take if not CROWDED |
//! | grab | FREE -> HELD | spinner that sees no owner | compare-exchange, Acquire (E1) |
//! | count_out | n_spinners - 1 | spinner, before it enters or sleeps; contender that found no room | fetch-sub, Relaxed |
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
//! Those of linux-mutex-patch1, and one more.
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
//! - I7 n_spinners is the number of threads between count_in and count_out, so at most as many spin as there was room
//!   for. asserted: `count_out`; checked by: conformance `few_poll`.
//!
//! # Orderings
//! - E1 `vacate`, `reopen` -> `claim`, `try`, `grab`, `take`: everything the last holder wrote.
//! - E2 `unlatch` -> `latch`: the list, the nodes' links, and what the word was when it was left.
//!
//! All else is Relaxed, for the reasons of linux-mutex-patch1. The number of spinners publishes nothing: it only
//! decides who looks.
//!
//! # Promises
//! - Mutual exclusion: each way in is one RMW that found FREE. Conformance `exclusion`.
//! - No lost wake-up: as in linux-mutex-patch1; nobody relies on the spinners. Conformance `exclusion`.
//! - Bypass: unbounded. Arrivals and spinners get in before the woken waiter has come to the latch.
//! - Polling: one spinner less than there are cores, and those who wait for the latch. Conformance `few_poll`.
//!
//! # Cost
//! Alone: 2 RMWs, 1 line. A contender: 1 claim; a spinner 1 count_in, 1 count_out, and 1 grab for each time it has seen
//! the word FREE; all others go to the list as in linux-mutex-patch1, at 1 latch each. The spinning is bounded by the
//! holder, which must stay the same, and by the budget, as in linux-mutex-base. With two cores this is
//! linux-mutex-patch2 with a dearer field. Lock 40 bytes, in one line if aligned; node 32 bytes of stack.
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
    name: "linux-mutex-patch3",
    idea: "Linux 3.7 with reads before writes and no more spinners than idle cores",
    bytes: 40,
    rmws: 2,
    awake: "one less than cores, as long as the holder stays the same and 50 us are not over",
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

// -- 1. Steps: linux_mutex.rs, and three more -------------------------------------------------------------------------

const PEEK: Step = Step { lock: "linux-mutex-patch3", name: "peek" };
const COUNT_IN: Step = Step { lock: "linux-mutex-patch3", name: "count_in" };
const COUNT_OUT: Step = Step { lock: "linux-mutex-patch3", name: "count_out" };

// -- 2, 3, 5, 6, 8 to 11: linux_mutex.rs ------------------------------------------------------------------------------

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// The mutex of Linux 3.7 with the first and the third patch of April 2013.
pub type RawLinuxMutexPatch3<P, T = Defaults> = LinuxMutex<P, SomeSpinners<P>, T>;

const _: () = assert!(size_of::<RawLinuxMutexPatch3<Hardware>>() == ENTRY.bytes);

impl<P: StaticPlatform, T> RawLinuxMutexPatch3<P, T> {
    /// A free lock, for statics.
    pub const INIT: Self = LinuxMutex::free(SomeSpinners { n_spinners: P::U32_ZERO });
}

// -- 7. What is this lock's own ---------------------------------------------------------------------------------------

/// As many contenders may spin as have a core besides the holder's.
pub struct SomeSpinners<P: Platform> {
    n_spinners: P::U32,
}

impl<P: Platform> Variant<P> for SomeSpinners<P> {
    const ENTRY: Entry = ENTRY;

    fn new() -> Self {
        SomeSpinners { n_spinners: P::U32::new(0) }
    }

    fn is_worth_writing(word: &P::U32, hoped_for: fn(State) -> bool) -> bool {
        P::step(PEEK);
        hoped_for(State::of(word.load(Relaxed)))
    }

    fn spin<T: TuningSource<Tuning>>(&self, lock: &LinuxMutex<P, Self, T>) -> bool {
        // One core is the holder's.
        let n_idle = P::parallelism().saturating_sub(1);
        P::step(COUNT_IN);
        if self.n_spinners.load(Relaxed) >= n_idle {
            return false;
        }
        let is_in = self.n_spinners.fetch_add(1, Relaxed) < n_idle && lock.watch_holders();
        self.count_out();
        is_in
    }

    fn is_at_rest(&self) -> bool {
        self.n_spinners.load(Relaxed) == 0
    }
}

impl<P: Platform> SomeSpinners<P> {
    fn count_out(&self) {
        P::step(COUNT_OUT);
        let found = self.n_spinners.fetch_sub(1, Relaxed);
        debug_assert_ne!(found, 0, "I7");
    }
}
