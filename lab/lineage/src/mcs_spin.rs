//! mcs-spin: the queue of mcs, whose contenders poll and do nothing else.
//!
//! # Idea
//! A contender of [`mcs`](crate::mcs) offers its core when a grant does not come. So with more threads than cores, that
//! lock is slow and not hopeless. Books leave the offer out, and so do most programs that print what such locks do.
//! Here a contender pauses once between two looks, and keeps its core until its time slice is over. As long as each
//! thread has a core of its own, this is the shortest way to see a grant. With one thread more, a release sooner or
//! later grants to a thread that has no core. The others poll until the scheduler takes their cores from them.
//! Throughput falls from millions of passes a second to one for each time slice.
//!
//! # Lineage
//! The queue lock of Mellor-Crummey and Scott (1991), in the form of [`mcs`](crate::mcs), whose header names its origin.
//! Kept: all of it. Left out: the yields, which the algorithm as published has not.
//!
//! Shared code: `mcs_queue.rs`.
//!
//! # State word
//!
//! | word | name | meaning | written by | may be stale? |
//! |---|---|---|---|---|
//! | 0 | tail | address of the link that the next arrival fills: the lock's own `first`, or that of the last node; 0 when free | grab, enqueue, settle, vacate | exact |
//! | 1 | first | while held and settled, the node that comes after the holder, 0 for none or not linked yet | link, settle | lingers after grant, until the next settle |
//!
//! # Life of a word
//! That of mcs:
//!
//! | step | from -> to | who | operation and ordering |
//! |---|---|---|---|
//! | grab | tail 0 -> &first | arrival | compare-exchange, Acquire (E1) |
//! | enqueue | tail any -> &mine.link | arrival | swap, AcqRel (E1, E3); 0 means inside |
//! | link | the link found: 0 -> mine | arrival | store, Release (E4) |
//! | look | unchanged | contender | load of its own node, Acquire (E2) |
//! | read_link | unchanged | holder | load of a link, Acquire (E4) |
//! | settle | tail &mine.link -> &first | new holder, if last | compare-exchange, Release (E3) |
//! | vacate | tail &first -> 0 | holder, if alone | compare-exchange, Release (E1) |
//! | grant | node WAITING -> GRANTED | holder | store, Release (E2) |
//!
//! # Invariants
//! Those of mcs.
//! - I1 A vacate or grant finds tail not 0. asserted: `release`; checked by: test `misuse_is_caught`.
//! - I2 While tail is 0 or &first, `first` is 0, so what a holder finds there was put there behind itself. asserted:
//!   nowhere, it speaks of two words; checked by: conformance `exclusion`.
//! - I3 The last link is filled once, and nobody leaves while another may still write to its node. asserted: `link`;
//!   checked by: conformance `exclusion`.
//!
//! # Orderings
//! Those of mcs, for its reasons.
//! - E1 `vacate` -> `grab`, `enqueue`: everything the last holder wrote, and `first` being 0.
//! - E2 `grant` -> `look`: everything the last holder wrote.
//! - E3 `enqueue`, `settle` -> `enqueue`: the link whose address is handed on is 0 before somebody fills it.
//! - E4 `link` -> `read_link`: the node's first values, before anybody grants it.
//!
//! # Promises
//! - Mutual exclusion: as mcs. Conformance `exclusion`.
//! - No lost wake-up: nobody sleeps. Conformance `exclusion`.
//! - Bypass: none after enqueue. Nobody starves as long as the scheduler runs each thread again and again.
//!
//! # Cost
//! As mcs, without its yields: alone 2 RMWs, 1 line; a contended pass the enqueue, the link and the grant. All contenders
//! poll, each a line of its own, one pause apart. Lock 16 bytes; node 16 bytes of stack, aligned to 128.
//!
//! # After release
//! No: `vacate` is the last access, or `grant`, which writes to the next holder's node. Conformance `freeing`.
//!
//! # Limits
//! Made to be measured, not to be used. More threads than cores: a time slice for each pass, and with a contender of
//! real-time priority on the core of whoever is next, for ever. Not recursive; no deadline. To be moved only while free.

use crate::mcs_queue::{McsQueue, PausePolicy};
use crate::{Entry, Promises};
use ondeck_core::{Hardware, Platform};

/// The row of this lock in [`LOCKS`](crate::LOCKS).
pub const ENTRY: Entry = Entry {
    name: "mcs-spin",
    idea: "mcs as in the textbook: polls and never yields",
    bytes: 16,
    rmws: 2,
    awake: "all, without ever offering their cores",
    woken: "nobody sleeps",
    promises: Promises {
        timed: false,
        sleeps: false,
        reentrant: false,
        free_after_release: true,
        bypass: "none after joining the queue",
        starves: "nobody",
    },
};

// -- 1, 3, 5, 6, 8 to 11: mcs_queue.rs. 2. Tuning: none, one pause is the least there is. -----------------------------

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// A queue lock whose contenders only poll.
pub type RawMcsSpin<P> = McsQueue<P, PauseOnly>;

const _: () = assert!(size_of::<RawMcsSpin<Hardware>>() == ENTRY.bytes);

// -- 7. What is this lock's own ---------------------------------------------------------------------------------------

/// A contender pauses, whatever happens.
pub struct PauseOnly;

impl PausePolicy for PauseOnly {
    const ENTRY: Entry = ENTRY;

    fn pause<P: Platform>(n_looks: u32) -> u32 {
        P::pause();
        n_looks
    }
}
