//! linux-mutex-patch2: as linux-mutex-patch1, but only one contender spins; the others sleep at once.
//!
//! # Idea
//! With reads before writes, spinners no longer take the word from the holder without need. But all of them read the
//! same line, all see it free at once, and all but one of their RMWs fail. Here one field says whether somebody spins
//! already. A contender that finds it set has no good chance against that spinner, and sleeps at once. The cost is that
//! contenders sleep that would have got in soon, and each of them must be woken.
//!
//! # Lineage
//! The second patch of the first version of Waiman Long's series "mutex: Improve mutex performance by doing less
//! atomic-ops & better spinning", April 2013. Version 2 of 15 April (lkml.iu.edu, kernel/1304.1/04797) replaced it and
//! the third by the queue of [`linux_mutex_mcs`](crate::linux_mutex_mcs), as the reply to the first had asked. We know
//! of its text only that a `spinner` field in the mutex lets at most one task spin on it; so what it did beyond that is
//! not ported, and these are our choices: the field is a flag; it is read before it is claimed, in the spirit of the
//! first patch; it is claimed before the first look at the holder and given back when the spinning ends, however it
//! ends, so not kept between the grab and the critical section's end. All else is as in
//! [`linux_mutex_patch1`](crate::linux_mutex_patch1), with what [`linux_mutex_base`](crate::linux_mutex_base) changed.
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
//! | spinner | SPINNING | somebody spins | claim_spin | end_spin | may linger: the one who spun may be inside already |
//!
//! # Life of a word
//! That of linux-mutex-patch1; the spinner's steps stand between two more:
//!
//! | step | from -> to | who | operation and ordering |
//! |---|---|---|---|
//! | claim | word + 1 | arrival | fetch-add, Acquire (E1); inside if it was FREE |
//! | try | FREE -> HELD | arrival that will not wait | compare-exchange, Acquire (E1) |
//! | sign_in | owner 0 -> me | new holder | store, Relaxed: a hint |
//! | claim_spin | spinner 0 -> 1 | contender | load, Relaxed, then, if it found 0, compare-exchange, Relaxed |
//! | look | unchanged | spinner | load of owner, Relaxed: a hint |
//! | peek | unchanged | spinner before grab, waiter before take | load, Relaxed; grab follows if FREE, take if not CROWDED |
//! | grab | FREE -> HELD | spinner that sees no owner | compare-exchange, Acquire (E1) |
//! | end_spin | spinner 1 -> 0 | spinner, before it enters or sleeps | store, Relaxed |
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
//! - I7 SPINNING is set if and only if exactly one thread is between its claim_spin and its end_spin; all looks and
//!   grabs are there. asserted: `end_spin`; checked by: conformance `few_poll`.
//!
//! # Orderings
//! - E1 `vacate`, `reopen` -> `claim`, `try`, `grab`, `take`: everything the last holder wrote.
//! - E2 `unlatch` -> `latch`: the list, the nodes' links, and what the word was when it was left.
//!
//! All else is Relaxed, for the reasons of linux-mutex-patch1. The spinner field publishes nothing: it only decides who
//! looks.
//!
//! # Promises
//! - Mutual exclusion: each way in is one RMW that found FREE. Conformance `exclusion`.
//! - No lost wake-up: as in linux-mutex-patch1; nobody relies on the spinner. Conformance `exclusion`.
//! - Bypass: unbounded. Arrivals and the spinner get in before the woken waiter has come to the latch.
//! - Polling: one spinner, and those who wait for the latch. Conformance `few_poll`.
//!
//! # Cost
//! Alone: 2 RMWs, 1 line. A contender: 1 claim; the spinner 1 claim_spin and 1 grab for each time it has seen the word
//! FREE; all others go to the list as in linux-mutex-patch1, at 1 latch each. The spinning is bounded by the holder,
//! which must stay the same, and by the budget, as in linux-mutex-base. Lock 40 bytes, in one line if aligned; node 32
//! bytes of stack.
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
    name: "linux-mutex-patch2",
    idea: "Linux 3.7 with reads before writes and one spinner",
    bytes: 40,
    rmws: 2,
    awake: "one, as long as the holder stays the same and 50 us are not over",
    woken: "the oldest sleeper, on each release after which somebody has come",
    promises: Promises {
        timed: false,
        sleeps: true,
        reentrant: false,
        free_after_release: false,
        bypass: "unbounded: the spinner and arrivals go before sleepers",
        starves: "any sleeper",
    },
};

// -- 1. Steps: linux_mutex.rs, and three more -------------------------------------------------------------------------

const PEEK: Step = Step { lock: "linux-mutex-patch2", name: "peek" };
const CLAIM_SPIN: Step = Step { lock: "linux-mutex-patch2", name: "claim_spin" };
const END_SPIN: Step = Step { lock: "linux-mutex-patch2", name: "end_spin" };

// -- 2, 3, 5, 6, 8 to 11: linux_mutex.rs ------------------------------------------------------------------------------

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// The mutex of Linux 3.7 with the first two patches of April 2013.
pub type RawLinuxMutexPatch2<P, T = Defaults> = LinuxMutex<P, OneSpinner<P>, T>;

const _: () = assert!(size_of::<RawLinuxMutexPatch2<Hardware>>() == ENTRY.bytes);

impl<P: StaticPlatform, T> RawLinuxMutexPatch2<P, T> {
    /// A free lock, for statics.
    pub const INIT: Self = LinuxMutex::free(OneSpinner { spinner: P::U32_ZERO });
}

// -- 7. What is this lock's own ---------------------------------------------------------------------------------------

const FREE: u32 = 0;
const SPINNING: u32 = 1;

/// One contender at a time may spin.
pub struct OneSpinner<P: Platform> {
    spinner: P::U32,
}

impl<P: Platform> Variant<P> for OneSpinner<P> {
    const ENTRY: Entry = ENTRY;

    fn new() -> Self {
        OneSpinner { spinner: P::U32::new(FREE) }
    }

    fn is_worth_writing(word: &P::U32, hoped_for: fn(State) -> bool) -> bool {
        P::step(PEEK);
        hoped_for(State::of(word.load(Relaxed)))
    }

    fn spin<T: TuningSource<Tuning>>(&self, lock: &LinuxMutex<P, Self, T>) -> bool {
        if !self.claim_spin() {
            return false;
        }
        let is_in = lock.watch_holders();
        self.end_spin();
        is_in
    }

    fn is_at_rest(&self) -> bool {
        self.spinner.load(Relaxed) == FREE
    }
}

impl<P: Platform> OneSpinner<P> {
    fn claim_spin(&self) -> bool {
        P::step(CLAIM_SPIN);
        self.spinner.load(Relaxed) == FREE && self.spinner.compare_exchange(FREE, SPINNING, Relaxed, Relaxed).is_ok()
    }

    fn end_spin(&self) {
        debug_assert_eq!(self.spinner.load(Relaxed), SPINNING, "I7");
        P::step(END_SPIN);
        self.spinner.store(FREE, Relaxed);
    }
}
