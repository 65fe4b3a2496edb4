//! linux-mutex-base: contenders spin while the holder does not change, then sleep in a list, first come first woken.
//!
//! # Idea
//! To sleep and be woken costs more than most critical sections last, so a contender should spin. But spinning is waste
//! if the holder is off its core. So the holder leaves its identity in the lock. A contender spins as long as this one
//! holder is there and runs, and sleeps as soon as the lock goes to somebody else. Many contenders break this. Each of
//! them attacks the word with an RMW when it arrives, and with another whenever the holder leaves. On its way to sleep
//! it makes three more. Nearly all of these RMWs must fail.
//!
//! # Lineage
//! `mutex_lock` and `mutex_unlock` of Linux 3.7 on x86-64 with `MUTEX_SPIN_ON_OWNER` (kernel/mutex.c, arch/x86's
//! mutex_64.h): the kernel in which the AIM7 collapse of April 2013 was measured (Waiman Long, "mutex: Improve mutex
//! performance by doing less atomic-ops & better spinning"). Kept: the fast paths; that an arrival's failed claim sends
//! the next release to the wait list; every RMW of the slow paths, also the second of two swaps in a row that cannot
//! succeed; that a spinner gives up when the lock goes from one holder to another. Left out: signals, real-time
//! priorities, debugging. Changed:
//! - The word is the kernel's `count` subtracted from 1, so that a free lock is all zeros: 1 is 0 here, 0 is 1, and
//!   what is negative there is 2 or more.
//! - A waiter tries once before it goes into the list, not just after, under the queue latch either way. So only the
//!   first ever leaves, and the list needs one link per node.
//! - The kernel spins while the holder is on a core and the spinner need not be rescheduled. The platform is asked for both;
//!   where it knows nothing of who is on a core, as on hardware, a holder counts as running, and a budget in nanoseconds
//!   takes the place of the time slice, so nobody spins for ever on a holder that sleeps. Where one core runs us, nobody
//!   spins.
//! - `wait_lock` is a ticket lock that is held with preemption off. User space cannot do that, and would pay for the
//!   order of tickets with every preemption; see Cost.
//!
//! Shared code: `linux_mutex.rs`, `linux_mutex/list.rs` and `linux_mutex/state.rs`. It asks two questions, answered at
//! the end of this file: the word is written unread, and everybody may spin.
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
//!
//! ```text
//!          claim, try, grab              claim, take
//!   FREE ------------------> HELD ------------------------> CROWDED
//!    ^ ^                      | ^                             |  |
//!    | +------- vacate -------+ +---- settle (list empty) ----+  |
//!    +------------- reopen <--- latch <--- vacate ---------------+
//! ```
//!
//! | step | from -> to | who | operation and ordering |
//! |---|---|---|---|
//! | claim | word + 1 | arrival | fetch-add, Acquire (E1); inside if it was FREE |
//! | try | FREE -> HELD | arrival that will not wait | compare-exchange, Acquire (E1) |
//! | sign_in | owner 0 -> me | new holder | store, Relaxed: a hint |
//! | look | unchanged | spinner | load of owner, Relaxed: a hint; a grab follows before anything is believed |
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
//! - I1 FREE says that nobody is inside. asserted: cannot be, locally; checked by: conformance `exclusion`.
//! - I2 From CROWDED the word comes to FREE by a reopen only, that is under the queue latch: a vacate takes off 1, and
//!   whoever takes off a second 1 is not inside. asserted: cannot be; checked by: conformance `exclusion`.
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
//! All else is Relaxed. A settle overwrites claims, but whoever made them comes to the latch and takes again. That a
//! store follows all earlier values of the word in its own modification order is what settle and reopen need, not an
//! edge. From the waker to the woken goes the latch. A model in which each store is an RMW, and so continues the
//! release sequence of the vacate before, does not miss the reopen's end of E1.
//!
//! # Promises
//! - Mutual exclusion: each way in is one RMW that found FREE. Conformance `exclusion`.
//! - No lost wake-up: a sleeper has left the word CROWDED when it gave the latch back. Whoever is inside then, or
//!   between vacate and reopen, must pass the latch before the word is FREE again (I2), finds the list not empty, and
//!   wakes the first. Spinners and arrivals may get in first and make the word HELD; the woken waiter takes again,
//!   which makes it CROWDED again or gets it in, and then the word stays CROWDED while others are in the list (I6).
//!   Conformance `exclusion`.
//! - Bypass: unbounded. Spinners and arrivals get in before the woken waiter has come to the latch. The list itself is
//!   in order, so a sleeper is woken when all that came before it have got in.
//! - Polling: all who spin, and all who wait for the latch.
//!
//! # Cost
//! Alone: 2 RMWs, 1 line. A contender: 1 claim, 1 grab each time the owner field becomes empty; to sleep, 1 latch at
//! least and 2 takes, and 1 of each for every time it is woken. A release after which anybody has claimed: 1 latch
//! besides, and a wake if somebody sleeps. A thread that is preempted while it has the latch holds up every release
//! that has to look for waiters, and the lock stays shut meanwhile: those who wait for the latch pause, then yield. The
//! wake is done under the latch, which keeps the node alive, so the woken may find the latch taken. Lock 32 bytes, in
//! one line if aligned; node 32 bytes of stack.
//!
//! # After release
//! Yes: after a reopen the ex-holder still reads the list and writes the latch, and a spinner may have got in, left
//! again, and freed the lock. The kernel's mutex is known for it: such objects need a lock or count besides. So the
//! lock must outlive each call of release.
//!
//! # Limits
//! Not recursive; no deadline. The word wraps at 2^32 contenders. A release must come from the thread that acquired. Threads
//! at the queue latch yield to threads of their own priority only; in the kernel its holder cannot be preempted.
//!
//! Unsafe: 5 blocks in the shared code, all to reach a node under the queue latch (I3).

pub use crate::linux_mutex::Tuning;
use crate::linux_mutex::{LinuxMutex, State, Variant};
use crate::{Defaults, Entry, Promises, TuningSource};
use ondeck_core::{Hardware, Platform, StaticPlatform};

/// The row of this lock in [`LOCKS`](crate::LOCKS).
pub const ENTRY: Entry = Entry {
    name: "linux-mutex-base",
    idea: "Linux 3.7: contenders spin while the holder stays the same, others sleep in a list",
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

// -- 1 to 3, 5 to 11: linux_mutex.rs ----------------------------------------------------------------------------------

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// The mutex of Linux 3.7.
pub type RawLinuxMutexBase<P, T = Defaults> = LinuxMutex<P, Everybody, T>;

const _: () = assert!(size_of::<RawLinuxMutexBase<Hardware>>() == ENTRY.bytes);

impl<P: StaticPlatform, T> RawLinuxMutexBase<P, T> {
    /// A free lock, for statics.
    pub const INIT: Self = LinuxMutex::free(Everybody);
}

// -- 7. What is this lock's own ---------------------------------------------------------------------------------------

/// Everybody may spin, and nobody keeps count.
#[derive(Debug)]
pub struct Everybody;

impl<P: Platform> Variant<P> for Everybody {
    const ENTRY: Entry = ENTRY;

    fn new() -> Self {
        Everybody
    }

    /// The word is not read.
    fn is_worth_writing(_word: &P::U32, _hoped_for: fn(State) -> bool) -> bool {
        true
    }

    fn spin<T: TuningSource<Tuning>>(&self, lock: &LinuxMutex<P, Self, T>) -> bool {
        lock.watch_holders()
    }

    fn is_at_rest(&self) -> bool {
        true
    }
}
