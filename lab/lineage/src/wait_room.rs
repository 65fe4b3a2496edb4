//! The wait room of a monitor: threads that wait for a pulse, oldest first.
//!
//! A ring of nodes, each on the stack of its thread, that the monitor itself guards: who waits, pulses or gives up is
//! inside. So the room needs no lock and no ordering of its own: whatever one holder of the monitor writes here, the
//! next one sees, by the edge on which the monitor passes. All accesses are Relaxed; they are atomics so that a model
//! checker sees each of them. The permit alone goes from thread to thread without the monitor, and [`Token`] orders it.
//!
//! # Life of a node
//! Its thread enqueues it inside, leaves the monitor, parks on it, enters again, and then asks whether it is still
//! queued: then nobody has pulsed it, and it takes itself out. The answer of the park says nothing that counts.
//!
//! | field | before | queued | popped, until unparked | then |
//! |---|---|---|---|---|
//! | permit | its thread | its thread parks on it | its thread parks on it; the popper gives it, once | its thread |
//! | next, prev | its thread | holder of the monitor | nobody | its thread |
//! | is_queued | its thread | holder of the monitor | its thread, inside | its thread |
//!
//! A node is alive while it is queued, because its thread takes it out before it goes. A popped one is alive until its
//! popper leaves the monitor, because its thread must come inside to learn that it was popped. So the popper unparks it
//! before it leaves, and after that nobody but its thread knows it. A room whose threads never go on without the permit
//! of a popped node, as that of an event, leaves the popper more time: until it has unparked it.
//!
//! Unsafe: 9 blocks, all to follow a link to a node that is queued, or to unpark one that was popped.

use core::fmt;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use ondeck_core::{Atomic, AtomicPointer, Hardware, Platform, StaticPlatform, Token};

/// The threads that wait for a pulse of one monitor.
pub struct WaitRoom<P: Platform> {
    /// Address of the node that has waited longest, 0 if there is none. Its `prev` is the newest. A number, since
    /// pointers of a platform cannot be built in a constant.
    oldest: P::U64,
}

/// The record of one wait, on the stack of its thread; never across two lines.
#[repr(align(32))]
pub struct WaitNode<P: Platform> {
    permit: Token<P>,
    next: P::Ptr<WaitNode<P>>,
    prev: P::Ptr<WaitNode<P>>,
    is_queued: P::U32,
}

const _: () = assert!(size_of::<WaitNode<Hardware>>() == align_of::<WaitNode<Hardware>>());

/// A node that has been taken out of its room and must be unparked.
#[must_use = "the thread of a popped node sleeps until somebody unparks it"]
pub struct PoppedNode<P: Platform>(*const WaitNode<P>);

impl<P: StaticPlatform> WaitRoom<P> {
    /// An empty room, for statics.
    pub const INIT: Self = WaitRoom { oldest: P::U64_ZERO };
}

impl<P: Platform> WaitRoom<P> {
    /// An empty room.
    pub fn new() -> Self {
        WaitRoom { oldest: P::U64::new(0) }
    }

    /// Whether nobody waits.
    ///
    /// # Safety
    /// - The caller holds the monitor that guards this room.
    #[inline]
    pub unsafe fn is_empty(&self) -> bool {
        self.oldest().is_null()
    }

    /// Puts `node` behind all others.
    ///
    /// # Safety
    /// - The caller holds the monitor that guards this room.
    /// - `node` is in no room, and stays where it is until [`remove`](WaitRoom::remove) has been called for it.
    pub unsafe fn enqueue(&self, node: &WaitNode<P>) {
        node.is_queued.store(1, Relaxed);
        // SAFETY: null or the oldest of the room, and the caller holds the monitor.
        let Some(oldest) = (unsafe { self.oldest().as_ref() }) else {
            node.link_behind(node);
            return self.set_oldest(node);
        };
        // SAFETY: as above: the room is a ring of queued nodes.
        node.link_behind(unsafe { &*oldest.prev.load(Relaxed) });
        oldest.link_behind(node);
    }

    /// Ends the wait of `node`: takes it out if it is still queued, which gives true. False if it was popped.
    ///
    /// # Safety
    /// - The caller holds the monitor that guards this room.
    /// - `node` has been enqueued in this room.
    pub unsafe fn remove(&self, node: &WaitNode<P>) -> bool {
        let is_queued = node.is_queued.load(Relaxed) == 1;
        if is_queued {
            // SAFETY: queued, and the caller holds the monitor.
            unsafe { self.unlink(node) };
        }
        is_queued
    }

    /// Takes out the node that has waited longest; `None` if nobody waits.
    ///
    /// # Safety
    /// - The caller holds the monitor that guards this room.
    pub unsafe fn pop_oldest(&self) -> Option<PoppedNode<P>> {
        // SAFETY: null or the oldest of the room, and the caller holds the monitor.
        let node = unsafe { self.oldest().as_ref() }?;
        // SAFETY: queued, and the caller holds the monitor.
        unsafe { self.unlink(node) };
        Some(PoppedNode(node))
    }

    /// # Safety
    /// - The caller holds the monitor that guards this room, and `node` is queued.
    unsafe fn unlink(&self, node: &WaitNode<P>) {
        node.is_queued.store(0, Relaxed);
        let (next, prev) = (node.next.load(Relaxed), node.prev.load(Relaxed));
        if ptr::eq(next, node) {
            return self.set_oldest(ptr::null());
        }
        // SAFETY: the neighbours of a queued node are queued, and the caller holds the monitor.
        let next = unsafe { &*next };
        // SAFETY: as above.
        next.link_behind(unsafe { &*prev });
        if ptr::eq(self.oldest(), node) {
            self.set_oldest(next);
        }
    }

    fn oldest(&self) -> *const WaitNode<P> {
        ptr::with_exposed_provenance(self.oldest.load(Relaxed) as usize)
    }

    fn set_oldest(&self, node: *const WaitNode<P>) {
        self.oldest.store(node.expose_provenance() as u64, Relaxed);
    }
}

impl<P: Platform> WaitNode<P> {
    /// A node of the calling thread, in no room.
    pub fn new() -> Self {
        let null = || AtomicPointer::new(ptr::null_mut());
        WaitNode { permit: Token::new(), next: null(), prev: null(), is_queued: P::U32::new(0) }
    }

    /// Sleeps until the node has been popped and unparked; false if `deadline_ns` came first. To be called outside of
    /// the monitor, by the node's thread.
    pub fn park(&self, deadline_ns: Option<u64>) -> bool {
        self.permit.park(deadline_ns)
    }

    /// Makes `self` the one that comes after `older`.
    fn link_behind(&self, older: &Self) {
        self.prev.store(ptr::from_ref(older).cast_mut(), Relaxed);
        older.next.store(ptr::from_ref(self).cast_mut(), Relaxed);
    }
}

impl<P: Platform> PoppedNode<P> {
    /// Wakes the thread of the node, which then wants the monitor.
    ///
    /// # Safety
    /// - The caller popped the node, and has not left the monitor since; or the node's thread does not go on before it has
    ///   this permit.
    pub unsafe fn unpark(self) {
        // SAFETY: alive until the caller leaves the monitor, or until it has its permit, see the file's head.
        let permit = unsafe { &raw const (*self.0).permit };
        // SAFETY: as above; not touched after this.
        unsafe { Token::unpark(permit) };
    }
}

impl<P: Platform> Default for WaitRoom<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform> Default for WaitNode<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform> fmt::Debug for WaitRoom<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitRoom").field("is_empty", &self.oldest().is_null()).finish()
    }
}

impl<P: Platform> fmt::Debug for WaitNode<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitNode").field("is_queued", &(self.is_queued.load(Relaxed) == 1)).finish()
    }
}

impl<P: Platform> fmt::Debug for PoppedNode<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Popped").field(&self.0).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // One thread has each room and its nodes to itself, which is what the monitor would see to.

    fn room_of(nodes: &[WaitNode<Hardware>]) -> WaitRoom<Hardware> {
        let room = WaitRoom::new();
        for node in nodes {
            // SAFETY: as above.
            unsafe { room.enqueue(node) };
        }
        room
    }

    fn nodes<const N: usize>() -> [WaitNode<Hardware>; N] {
        std::array::from_fn(|_| WaitNode::new())
    }

    /// Pops everybody, oldest first, and gives their indices.
    fn drain(room: &WaitRoom<Hardware>, nodes: &[WaitNode<Hardware>]) -> Vec<usize> {
        // SAFETY: as above.
        let popped = std::iter::from_fn(|| unsafe { room.pop_oldest() });
        let indices = popped.map(|popped| {
            let index = nodes.iter().position(|node| ptr::eq(node, popped.0)).expect("one of ours");
            // SAFETY: popped above.
            unsafe { popped.unpark() };
            assert!(nodes[index].park(None));
            index
        });
        indices.collect()
    }

    #[test]
    fn first_in_first_out() {
        let nodes = nodes::<3>();
        let room = room_of(&nodes);
        assert_eq!(drain(&room, &nodes), [0, 1, 2]);
        // SAFETY: as above.
        assert!(unsafe { room.is_empty() });
        // SAFETY: as above.
        unsafe { room.enqueue(&nodes[1]) };
        assert_eq!(drain(&room, &nodes), [1]);
    }

    #[test]
    fn whoever_leaves_is_not_popped_and_whoever_was_popped_is_told() {
        for (gone, rest) in [(0, [1, 2]), (1, [0, 2]), (2, [0, 1])] {
            let nodes = nodes::<3>();
            let room = room_of(&nodes);
            assert!(!nodes[gone].park(Some(0)), "nobody unparks it");
            // SAFETY: as above.
            assert!(unsafe { room.remove(&nodes[gone]) });
            assert_eq!(drain(&room, &nodes), rest);
            for popped in rest {
                // SAFETY: as above.
                assert!(!unsafe { room.remove(&nodes[popped]) });
            }
        }
    }

    #[test]
    fn the_last_one_leaves_an_empty_room() {
        let nodes = nodes::<1>();
        let room = room_of(&nodes);
        // SAFETY: as above.
        assert!(unsafe { room.remove(&nodes[0]) });
        // SAFETY: as above.
        assert!(unsafe { room.pop_oldest() }.is_none());
        // SAFETY: as above.
        assert!(!unsafe { room.remove(&nodes[0]) }, "not queued any more");
    }
}
