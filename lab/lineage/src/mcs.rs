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

use crate::{Defaults, Entry, Promises, RawLock, TuningSource};
use core::fmt;
use core::marker::PhantomData;
use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use ondeck_core::{Atomic, Hardware, Platform, StaticPlatform, Step};

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

// -- 1. Steps ---------------------------------------------------------------------------------------------------------

const GRAB: Step = Step { lock: "mcs", name: "grab" };
const ENQUEUE: Step = Step { lock: "mcs", name: "enqueue" };
const LINK: Step = Step { lock: "mcs", name: "link" };
const LOOK: Step = Step { lock: "mcs", name: "look" };
const READ_LINK: Step = Step { lock: "mcs", name: "read_link" };
const SETTLE: Step = Step { lock: "mcs", name: "settle" };
const VACATE: Step = Step { lock: "mcs", name: "vacate" };
const GRANT: Step = Step { lock: "mcs", name: "grant" };

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

// -- 3. State ---------------------------------------------------------------------------------------------------------

/// The address of a node or of a link, as the words hold it; or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Address(u64);

impl Address {
    const NONE: Address = Address(0);

    /// Exposes the provenance of `place`, so that `Address::pointer` may get it back in another thread.
    fn of<Place>(place: &Place) -> Address {
        Address(ptr::from_ref(place).expose_provenance() as u64)
    }

    fn pointer<Place>(self) -> *const Place {
        ptr::with_exposed_provenance(self.0 as usize)
    }

    fn is_none(self) -> bool {
        self == Address::NONE
    }
}

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// A queue lock whose nodes live only while their threads wait.
#[repr(C)]
pub struct RawMcs<P: Platform, T = Defaults> {
    tail: P::U64,
    first: P::U64,
    tuning: PhantomData<T>,
}

const _: () = assert!(size_of::<RawMcs<Hardware>>() == ENTRY.bytes);

impl<P: StaticPlatform, T> RawMcs<P, T> {
    /// A free lock, for statics.
    pub const INIT: Self = RawMcs { tail: P::U64_ZERO, first: P::U64_ZERO, tuning: PhantomData };
}

// -- 5. Public raw operations -----------------------------------------------------------------------------------------

impl<P: Platform, T: TuningSource<Tuning>> RawLock for RawMcs<P, T> {
    type Platform = P;
    const ENTRY: Entry = ENTRY;

    fn new() -> Self {
        RawMcs { tail: P::U64::new(Address::NONE.0), first: P::U64::new(Address::NONE.0), tuning: PhantomData }
    }

    #[inline]
    fn try_acquire(&self) -> bool {
        P::step(GRAB);
        self.tail.compare_exchange(Address::NONE.0, self.own_link().0, Acquire, Relaxed).is_ok() // E1
    }

    #[inline]
    fn acquire(&self) {
        if !self.try_acquire() {
            self.acquire_slow();
        }
    }

    #[inline]
    unsafe fn release(&self) {
        debug_assert!(!self.is_at_rest(), "I1: release of a free lock");
        if !(read_link::<P>(&self.first).is_none() && self.vacate()) {
            self.release_slow();
        }
    }

    fn is_at_rest(&self) -> bool {
        Address(self.tail.load(Relaxed)).is_none()
    }
}

impl<P: Platform, T: TuningSource<Tuning>> RawMcs<P, T> {
    #[inline]
    fn own_link(&self) -> Address {
        Address::of(&self.first)
    }

    /// False if an arrival has enqueued behind the holder.
    #[inline]
    fn vacate(&self) -> bool {
        P::step(VACATE);
        self.tail.compare_exchange(self.own_link().0, Address::NONE.0, Release, Relaxed).is_ok() // E1
    }

    // -- 6. acquire_slow ----------------------------------------------------------------------------------------------

    #[cold]
    #[inline(never)]
    fn acquire_slow(&self) {
        let node = Node::<P>::new();
        P::step(ENQUEUE);
        let last = Address(self.tail.swap(Address::of(&node.link).0, AcqRel)); // E1, E3
        if !last.is_none() {
            link::<P>(last, &node);
            Self::await_grant(&node);
        }
        self.settle(&node);
    }

    /// Moves what the node knows of the queue into the lock: the node is about to go. Only the holder is here.
    fn settle(&self, node: &Node<P>) {
        let mut successor = read_link::<P>(&node.link);
        if successor.is_none() {
            // Before the settle, or an arrival could link itself to `first` and be overwritten.
            self.first.store(Address::NONE.0, Relaxed);
            let mine = Address::of(&node.link).0;
            P::step(SETTLE);
            // E3
            if self.tail.compare_exchange(mine, self.own_link().0, Release, Relaxed).is_ok() {
                return;
            }
            successor = Self::await_link(&node.link);
        }
        self.first.store(successor.0, Relaxed);
    }

    // -- 7. Spin helpers ----------------------------------------------------------------------------------------------

    /// Waits for the grant.
    #[inline(never)]
    fn await_grant(node: &Node<P>) {
        let mut n_looks = 0;
        // Ended by the grant of the holder before us, which finds us through the link we have just filled.
        while !node.is_granted() {
            n_looks = Self::pause(n_looks);
        }
    }

    /// Waits for the arrival that has enqueued behind `link` to fill it.
    #[inline(never)]
    fn await_link(link: &P::U64) -> Address {
        let mut n_looks = 0;
        // Ended by that arrival's next step, which is to link.
        loop {
            let successor = read_link::<P>(link);
            if !successor.is_none() {
                return successor;
            }
            n_looks = Self::pause(n_looks);
        }
    }

    /// Lets a little time pass after `n_looks` looks; returns how many looks there will be after the next.
    fn pause(n_looks: u32) -> u32 {
        if n_looks >= T::TUNING.looks_before_yield || !P::may_spin() {
            P::yield_now();
        } else {
            P::pause();
        }
        n_looks.saturating_add(1)
    }

    // -- 8. release_slow ----------------------------------------------------------------------------------------------

    /// Somebody has enqueued behind the holder, and nobody but the holder can let it in.
    #[cold]
    #[inline(never)]
    fn release_slow(&self) {
        grant::<P>(Self::await_link(&self.first));
    }
}

// -- 9. Waiter record -------------------------------------------------------------------------------------------------
//
// | phase | link | granted |
// |---|---|---|
// | new, until enqueue | its thread writes 0 | its thread writes WAITING |
// | last, until the next enqueue | nobody | its thread reads |
// | not last, until linked | the arrival behind it stores once | its thread reads, the holder before it stores once |
// | linked | nobody | as above |
// | granted, until its thread leaves | its thread reads; the arrival behind it may be yet to store once | nobody |
//
// The thread leaves in two ways: its settle was the last change of the tail, so no arrival knows the link; or it has
// read the link, so the one arrival that knew it has done its store (I3).

const WAITING: u32 = 0;
const GRANTED: u32 = 1;

/// What a contender puts into the queue. On its stack, while it is in `acquire_slow`. 128 bytes: two lines, for
/// processors that fetch lines in pairs.
#[repr(align(128))]
struct Node<P: Platform> {
    link: P::U64,
    granted: P::U32,
}

impl<P: Platform> Node<P> {
    fn new() -> Self {
        Node { link: P::U64::new(Address::NONE.0), granted: P::U32::new(WAITING) }
    }

    fn is_granted(&self) -> bool {
        P::step(LOOK);
        self.granted.load(Acquire) == GRANTED // E2
    }
}

/// Lets the next in the queue in. Its node is gone as soon as it has seen this, so there is never a reference to all of
/// it, only to the field that is stored to.
fn grant<P: Platform>(successor: Address) {
    let node = successor.pointer::<Node<P>>();
    // SAFETY: the node was linked and is initialised (E4). It has not been granted, for only the holder before it does
    // that, and that is us: its thread is in `await_grant` and the node alive on that thread's stack.
    let granted = unsafe { &(*node).granted };
    P::step(GRANT);
    granted.store(GRANTED, Release); // E2
}

/// Fills the link that our enqueue returned.
fn link<P: Platform>(last: Address, node: &Node<P>) {
    debug_assert_ne!(last, Address::of(&node.link), "I3: a node stands behind itself");
    let last = last.pointer::<P::U64>();
    P::step(LINK);
    // SAFETY: the address came out of the tail, where it stood for a link whose thread cannot be gone: it is the
    // lock's own, or its node's thread has to read this store before it may leave (I3). E3 says that it is initialised.
    let last = unsafe { &*last };
    last.store(Address::of(node).0, Release); // E4
}

#[inline]
fn read_link<P: Platform>(link: &P::U64) -> Address {
    P::step(READ_LINK);
    Address(link.load(Acquire)) // E4
}

// -- 10. Inspect ------------------------------------------------------------------------------------------------------

impl<P: Platform, T> fmt::Debug for RawMcs<P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match Address(self.tail.load(Relaxed)) {
            Address::NONE => "free",
            tail if tail == Address::of(&self.first) => "held",
            _ => "held, waiters",
        };
        write!(f, "RawMcs({state})")
    }
}

// -- 11. Tests of section 3 -------------------------------------------------------------------------------------------

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_back_to_its_place() {
        let place = 7_u64;
        let address = Address::of(&place);
        assert!(!address.is_none());
        assert_eq!(address.pointer::<u64>(), &raw const place);
    }

    #[test]
    fn node_and_link_of_a_node_may_share_an_address_but_two_nodes_never_do() {
        let nodes = [Node::<Hardware>::new(), Node::<Hardware>::new()];
        assert_ne!(Address::of(&nodes[0].link), Address::of(&nodes[1].link));
        assert_eq!(Address::of(&nodes[0]).0 % 128, 0);
    }
}
