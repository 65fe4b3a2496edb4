//! mcs: a queue in which each contender polls a place of its own.
//!
//! # Idea
//! In [`ticket`](crate::ticket) a vacate is one write that every contender reads. Here a contender puts a node of its
//! own into a queue and polls this node. A release writes to one node, so a pass costs the same with two contenders as
//! with two hundred. In the usual form the node must live until release, and every user of the lock has to carry it
//! there. Here it lives only while its thread waits: a thread that leaves the queue to go inside moves the queue's head
//! into the lock.
//!
//! # Lineage
//! The queue lock of Mellor-Crummey and Scott (1991), in the form called K42 after the operating system for which
//! Auslander, Edelsohn, Krieger, Rosenburg and Wisniewski found it (2003; told in Scott, *Shared-Memory
//! Synchronization*, section 4.3). Kept: the node that lives only during the wait, the head in the lock. Changed: an
//! arrival that meets contention enters with a swap, as in the first MCS lock, not with a compare-exchange that may
//! fail again and again; it may then find that the lock was free, holds it, and only has its node to put away. Changed
//! too: the tail names the *link* that the next arrival fills, so that the lock's own link and a node's look alike.
//! Added: yields.
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
//!
//! ```text
//! tail:  0 --grab--> &first --enqueue--> &A.link --enqueue--> &B.link
//!                    holder              holder, A            holder, A, B
//!
//! holder: release finds first = A, grants;   A: awake, settles: first = B (tail stays &B.link)
//! B, at its own settle, is the last:         tail &B.link --settle--> &first;   release: --vacate--> 0
//! ```
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
//! - I1 A vacate or grant finds tail not 0. asserted: `release`; checked by: test `misuse_is_caught`.
//! - I2 While tail is 0 or &first, `first` is 0, so what a holder finds there was put there behind itself. asserted:
//!   nowhere, it speaks of two words; checked by: conformance `exclusion`.
//! - I3 The last link is filled once, by the arrival whose enqueue returned its address, and whoever has to read it
//!   after a failed settle or vacate waits for that: nobody leaves while another may still write to its node.
//!   asserted: `link`; checked by: conformance `exclusion`.
//!
//! # Orderings
//! - E1 `vacate` -> `grab`, `enqueue`: everything the last holder wrote, and `first` being 0.
//! - E2 `grant` -> `look`: everything the last holder wrote.
//! - E3 `enqueue`, `settle` -> `enqueue`: the link whose address is handed on is 0 before somebody fills it.
//! - E4 `link` -> `read_link`: the node's first values, before anybody grants it. Stores to `first` are by the holder
//!   for itself and need no order; the RMWs of tail continue each other's release sequences. A model in which stores to
//!   one place cannot overtake each other does not miss the settle's end of E3.
//!
//! # Promises
//! - Mutual exclusion: one thread turns tail from 0, and each holder lets in one node or nobody. Conformance
//!   `exclusion`.
//! - No lost wake-up: nobody sleeps. Conformance `exclusion`.
//! - Bypass: none after enqueue. Before it, an arrival does one compare-exchange and one swap.
//! - Release may have to wait for an arrival that has enqueued and is preempted before it links.
//!
//! # Cost
//! Alone: 2 RMWs, 1 line. Contended pass: the enqueue, the link, the grant, at the end of the queue a settle; each
//! contender polls its own line, so one line transfer tells one thread. Lock 16 bytes; node 16 bytes of stack, aligned
//! to 128 so that two nodes never share a line or an adjacent pair.
//!
//! # After release
//! No: `vacate` is the last access, or `grant`, which writes to the next holder's node and not to the lock. Conformance
//! `freeing`.
//!
//! # Limits
//! The lock may be moved only while free: tail may hold its own address. Not recursive; no deadline. More threads than
//! cores: as for `ticket`, each pass waits for one particular thread, which must not have lost its core to one with real-time
//! priority.
//!
//! Unsafe: 2 blocks, both to follow an address to a node or link that I3 keeps alive.

use crate::mcs_queue::{McsQueue, PausePolicy};
use crate::{Defaults, Entry, Promises, TuningSource};
use core::marker::PhantomData;
use ondeck_core::{Hardware, Platform};

/// The row of this lock in [`LOCKS`](crate::LOCKS).
pub const ENTRY: Entry = Entry {
    name: "mcs",
    idea: "a queue: each contender polls its own cache line",
    bytes: 16,
    rmws: 2,
    awake: "all",
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

// -- 1, 3, 5, 6, 8 to 11: mcs_queue.rs ---------------------------------------------------------------------------------

// -- 2. Tuning --------------------------------------------------------------------------------------------------------

/// The constants of `mcs`.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Looks, one pause apart, after which a contender offers its core before each further one. Default 100: 1 to 8 us
    /// of pauses, several passes of a lock with short sections. A contender that has waited longer probably waits for a
    /// thread that is off its core, and with more threads than cores each pass takes at least this long. Chosen, not
    /// measured.
    pub looks_before_yield: u32,
}

impl TuningSource<Tuning> for Defaults {
    const TUNING: Tuning = Tuning { looks_before_yield: 100 };
}

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// A queue lock whose nodes live only while their threads wait.
pub type RawMcs<P, T = Defaults> = McsQueue<P, PauseThenYield<T>>;

const _: () = assert!(size_of::<RawMcs<Hardware>>() == ENTRY.bytes);

// -- 7. What is this lock's own ---------------------------------------------------------------------------------------

/// A contender pauses, and after so many looks offers its core.
pub struct PauseThenYield<T>(PhantomData<T>);

impl<T: TuningSource<Tuning>> PausePolicy for PauseThenYield<T> {
    const ENTRY: Entry = ENTRY;

    fn pause<P: Platform>(n_looks: u32) -> u32 {
        if n_looks >= T::TUNING.looks_before_yield || !P::may_spin() {
            P::yield_now();
        } else {
            P::pause();
        }
        n_looks.saturating_add(1)
    }
}
