//! The text that the two queue locks share.
//!
//! Each has its own file with the whole story in its header, [`mcs`](crate::mcs) first. They differ in what a contender
//! does between two looks, which [`PausePolicy`] asks for. Labels as E1 and I1 are those of the headers; what is cited here
//! means the same in both.

use crate::{Entry, RawLock};
use core::fmt;
use core::marker::PhantomData;
use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use ondeck_core::{Atomic, Platform, StaticPlatform, Step};

// -- 1. Steps, and what makes one of the two --------------------------------------------------------------------------

/// The answer in which the two differ.
pub trait PausePolicy: Send + Sync + 'static {
    /// The row of this lock in [`LOCKS`](crate::LOCKS).
    const ENTRY: Entry;

    /// An arrival turns the tail from 0.
    const GRAB: Step = Step { lock: Self::ENTRY.name, name: "grab" };
    /// An arrival puts its node behind the last.
    const ENQUEUE: Step = Step { lock: Self::ENTRY.name, name: "enqueue" };
    /// It tells the one before it where its node is.
    const LINK: Step = Step { lock: Self::ENTRY.name, name: "link" };
    /// A contender reads its own node.
    const LOOK: Step = Step { lock: Self::ENTRY.name, name: "look" };
    /// The holder reads who comes next.
    const READ_LINK: Step = Step { lock: Self::ENTRY.name, name: "read_link" };
    /// The last in the queue puts its node away.
    const SETTLE: Step = Step { lock: Self::ENTRY.name, name: "settle" };
    /// The holder frees the lock.
    const VACATE: Step = Step { lock: Self::ENTRY.name, name: "vacate" };
    /// The holder lets the next in.
    const GRANT: Step = Step { lock: Self::ENTRY.name, name: "grant" };

    /// Lets a little time pass after `n_looks` looks; returns how many looks there will be after the next.
    fn pause<P: Platform>(n_looks: u32) -> u32;
}

// -- 2. Tuning: each lock's own ---------------------------------------------------------------------------------------

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

/// A queue lock whose nodes live only while their threads wait, and whose contenders wait in the manner `M`.
#[repr(C)]
pub struct McsQueue<P: Platform, M> {
    tail: P::U64,
    first: P::U64,
    manner: PhantomData<M>,
}

impl<P: StaticPlatform, M> McsQueue<P, M> {
    /// A free lock, for statics.
    pub const INIT: Self = McsQueue { tail: P::U64_ZERO, first: P::U64_ZERO, manner: PhantomData };
}

// -- 5. Public raw operations -----------------------------------------------------------------------------------------

impl<P: Platform, M: PausePolicy> RawLock for McsQueue<P, M> {
    type Platform = P;
    const ENTRY: Entry = M::ENTRY;

    fn new() -> Self {
        McsQueue { tail: P::U64::new(Address::NONE.0), first: P::U64::new(Address::NONE.0), manner: PhantomData }
    }

    #[inline]
    fn try_acquire(&self) -> bool {
        P::step(M::GRAB);
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
        if !(read_link::<P, M>(&self.first).is_none() && self.vacate()) {
            self.release_slow();
        }
    }

    fn is_at_rest(&self) -> bool {
        Address(self.tail.load(Relaxed)).is_none()
    }
}

impl<P: Platform, M: PausePolicy> McsQueue<P, M> {
    #[inline]
    fn own_link(&self) -> Address {
        Address::of(&self.first)
    }

    /// False if an arrival has enqueued behind the holder.
    #[inline]
    fn vacate(&self) -> bool {
        P::step(M::VACATE);
        self.tail.compare_exchange(self.own_link().0, Address::NONE.0, Release, Relaxed).is_ok() // E1
    }

    // -- 6. acquire_slow ----------------------------------------------------------------------------------------------

    #[cold]
    #[inline(never)]
    fn acquire_slow(&self) {
        let node = Node::<P>::new();
        P::step(M::ENQUEUE);
        let last = Address(self.tail.swap(Address::of(&node.link).0, AcqRel)); // E1, E3
        if !last.is_none() {
            link::<P, M>(last, &node);
            Self::await_grant(&node);
        }
        self.settle(&node);
    }

    /// Moves what the node knows of the queue into the lock: the node is about to go. Only the holder is here.
    fn settle(&self, node: &Node<P>) {
        let mut successor = read_link::<P, M>(&node.link);
        if successor.is_none() {
            // Before the settle, or an arrival could link itself to `first` and be overwritten.
            self.first.store(Address::NONE.0, Relaxed);
            let mine = Address::of(&node.link).0;
            P::step(M::SETTLE);
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
        while !node.is_granted::<M>() {
            n_looks = M::pause::<P>(n_looks);
        }
    }

    /// Waits for the arrival that has enqueued behind `link` to fill it.
    #[inline(never)]
    fn await_link(link: &P::U64) -> Address {
        let mut n_looks = 0;
        // Ended by that arrival's next step, which is to link.
        loop {
            let successor = read_link::<P, M>(link);
            if !successor.is_none() {
                return successor;
            }
            n_looks = M::pause::<P>(n_looks);
        }
    }

    // -- 8. release_slow ----------------------------------------------------------------------------------------------

    /// Somebody has enqueued behind the holder, and nobody but the holder can let it in.
    #[cold]
    #[inline(never)]
    fn release_slow(&self) {
        grant::<P, M>(Self::await_link(&self.first));
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

    fn is_granted<M: PausePolicy>(&self) -> bool {
        P::step(M::LOOK);
        self.granted.load(Acquire) == GRANTED // E2
    }
}

/// Lets the next in the queue in. Its node is gone as soon as it has seen this, so there is never a reference to all of
/// it, only to the field that is stored to.
fn grant<P: Platform, M: PausePolicy>(successor: Address) {
    let node = successor.pointer::<Node<P>>();
    // SAFETY: the node was linked and is initialised (E4). It has not been granted, for only the holder before it does
    // that, and that is us: its thread is in `await_grant` and the node alive on that thread's stack.
    let granted = unsafe { &(*node).granted };
    P::step(M::GRANT);
    granted.store(GRANTED, Release); // E2
}

/// Fills the link that our enqueue returned.
fn link<P: Platform, M: PausePolicy>(last: Address, node: &Node<P>) {
    debug_assert_ne!(last, Address::of(&node.link), "I3: a node stands behind itself");
    let last = last.pointer::<P::U64>();
    P::step(M::LINK);
    // SAFETY: the address came out of the tail, where it stood for a link whose thread cannot be gone: it is the
    // lock's own, or its node's thread has to read this store before it may leave (I3). E3 says that it is initialised.
    let last = unsafe { &*last };
    last.store(Address::of(node).0, Release); // E4
}

#[inline]
fn read_link<P: Platform, M: PausePolicy>(link: &P::U64) -> Address {
    P::step(M::READ_LINK);
    Address(link.load(Acquire)) // E4
}

// -- 10. Inspect ------------------------------------------------------------------------------------------------------

impl<P: Platform, M: PausePolicy> fmt::Debug for McsQueue<P, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match Address(self.tail.load(Relaxed)) {
            Address::NONE => "free",
            tail if tail == Address::of(&self.first) => "held",
            _ => "held, waiters",
        };
        write!(f, "{}({state})", M::ENTRY.name)
    }
}

// -- 11. Tests of section 3 -------------------------------------------------------------------------------------------

#[cfg(test)]
mod tests {
    use super::*;
    use ondeck_core::Hardware;

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
