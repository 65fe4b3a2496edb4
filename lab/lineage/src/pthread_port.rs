//! pthread-port: three values of one word, and a contender goes to sleep without spinning.
//!
//! # Idea
//! Spinning is a bet that the holder leaves soon. This lock never makes the bet: a contender that finds it held sets
//! the mark and sleeps. So no contender polls the line that the holder needs, and no core is burned. This has two
//! costs. First, a thread that would have had to wait 100 ns waits for a wake instead: some microseconds, or many more
//! on a core that sleeps deeply. Second, with short sections most releases find the mark, and the holder spends more
//! time in system calls than inside. The lock does not collapse with many contenders, because a release does not hand
//! it over: a thread that runs takes it.
//!
//! The original keeps more beside the word, for other kinds of mutex: who holds it, and how many use it. On each call
//! it also asks which kind this mutex is. A plain futex lock does not make these accesses to the line, so they are kept
//! here.
//!
//! # Lineage
//! The mutex of glibc 2.36 as one gets it from `PTHREAD_MUTEX_INITIALIZER`: `PTHREAD_MUTEX_TIMED_NP` in
//! nptl/pthread_mutex_lock.c, pthread_mutex_unlock.c and lowlevellock.c. Ulrich Drepper wrote its first form in 2002; the
//! word is that of the second mutex of his *Futexes Are Tricky* (2004). The order of accesses was compared with the machine code
//! of Debian's 2.36 for x86-64. Kept: the order and kind of every access to the struct, its fields and their places, and
//! the look that spares a contender the swap if somebody sleeps already. Changed: the owner is the platform's small number
//! of a thread, not the kernel's; a kind is 0 whatever the type, since a constant of the platforms here can only be that. Left out:
//! other kinds, elision, deadlines, and the plain stores of a process that has one thread only.
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
//! | 20..24 spins | - | nothing | nobody | exact |
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
//! | read_kind | unchanged | arrival, holder that leaves | 2 and 2 loads of kind, Relaxed; one of an arrival that will not wait |
//! | grab | FREE -> HELD | arrival, also one that will not wait | compare-exchange, Acquire (E1) |
//! | look | unchanged | contender that is ready to sleep; arrival that will not wait | load, Relaxed: to park at once if it says CROWDED; to grab if FREE |
//! | announce | any -> CROWDED | contender | swap, Acquire (E1); inside if it returns FREE |
//! | park | CROWDED, unchanged | contender | wait_on(word, CROWDED), Relaxed compare |
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
//! - E1 `vacate` -> `grab`, `announce`: everything the last holder wrote, its sign_out included. A look and the
//!   comparison in park admit nobody. Owner and n_users are the holder's, and kind is written before anybody knows the
//!   lock. So Relaxed is enough for all of these.
//!
//! # Promises
//! - Mutual exclusion: each way in is one RMW that found FREE. Conformance `exclusion`.
//! - No lost wake-up: only a vacate erases the mark, and it then wakes one sleeper, which has no way in and none back to
//!   sleep but to announce (I1). Conformance `exclusion`.
//! - Bypass: unbounded. A sleeper competes with every arrival each time it is woken, and may starve.
//!
//! # Cost
//! Alone: 2 RMWs, and 7 loads and 4 stores of the same line. Contended pass: a wake for each vacate that saw the mark, and two
//! system calls of the one that is woken in vain. Awake are arrivals until they have announced, which is two or three
//! accesses, and those just woken. Lock 40 bytes, in one line if aligned; no waiter record.
//!
//! # After release
//! Only by address: wake follows the releasing swap and never reads the word. Conformance `freeing`.
//!
//! # Limits
//! Not recursive; no deadline. A CROWDED that lingers costs one needless system call.

use crate::pthread::{Kind, PthreadMutex};
use crate::{Entry, Promises};
use ondeck_core::{Hardware, Platform};

/// The row of this lock in [`LOCKS`](crate::LOCKS).
pub const ENTRY: Entry = Entry {
    name: "pthread-port",
    idea: "glibc's default mutex: who finds it held goes to sleep without spinning",
    bytes: 40,
    rmws: 2,
    awake: "none but those just woken",
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

// -- 1, 3, 5, 8 to 11: pthread.rs. 2. Tuning: none, nothing is counted. -----------------------------------------------

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// The mutex of glibc that one gets without asking for another.
pub type RawPthreadPort<P> = PthreadMutex<P, Plain>;

const _: () = assert!(size_of::<RawPthreadPort<Hardware>>() == ENTRY.bytes);

// -- 6. acquire_slow: what is this lock's own. 7. Spin helper: none. --------------------------------------------------

/// A contender goes to sleep at once.
pub struct Plain;

impl<P: Platform> Kind<P> for Plain {
    const ENTRY: Entry = ENTRY;
    const READS_TO_ACQUIRE: u32 = 2;
    const READS_TO_RELEASE: u32 = 2;

    #[inline]
    fn acquire_slow(lock: &PthreadMutex<P, Self>) {
        lock.wait();
    }
}
