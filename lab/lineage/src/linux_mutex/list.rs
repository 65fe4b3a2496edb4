//! Section 9 of the Linux mutexes: the waiter record and the list of waiters, oldest first.
//!
//! | phase | permit | next |
//! |---|---|---|
//! | new | its thread | its thread |
//! | in the list | its thread waits for it or is awake; a releaser that has the queue latch gives it to the first | who has the queue latch |
//! | out | nobody | nobody |
//!
//! A node is in the list from its thread's enqueue to its dequeue, and its thread leaves `acquire_slow` after that.
//! Both are done under the queue latch, so the thread that has the latch finds the nodes of the list alive. Only the
//! first node is ever taken out, by its own thread: only the first is woken, and nothing is put before it (I3).

use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use ondeck_core::{Atomic, Hardware, Platform, StaticPlatform, Token};

const NONE: u64 = 0;

/// What a sleeper hangs into the list. On its stack, and never across two lines.
#[repr(align(32))]
pub(super) struct Node<P: Platform> {
    pub(super) permit: Token<P>,
    /// Address of the next younger node.
    next: P::U64,
}

const _: () = assert!(size_of::<Node<Hardware>>() == align_of::<Node<Hardware>>());

impl<P: Platform> Node<P> {
    pub(super) fn new() -> Self {
        Node { permit: Token::new(), next: P::U64::new(NONE) }
    }

    /// Exposes the provenance, so that `at` may get it back in another thread.
    fn address(&self) -> u64 {
        ptr::from_ref(self).expose_provenance() as u64
    }

    fn at(address: u64) -> *const Self {
        ptr::with_exposed_provenance(address as usize)
    }
}

/// The ends of the list. All accesses but `is_empty` are under the queue latch; E2 orders them, so all are relaxed.
#[repr(C)]
pub(super) struct List<P: Platform> {
    first: P::U64,
    last: P::U64,
}

impl<P: StaticPlatform> List<P> {
    pub(super) const EMPTY: Self = List { first: P::U64_ZERO, last: P::U64_ZERO };
}

impl<P: Platform> List<P> {
    pub(super) fn new() -> Self {
        List { first: P::U64::new(NONE), last: P::U64::new(NONE) }
    }

    /// Exact under the queue latch, a guess without it.
    pub(super) fn is_empty(&self) -> bool {
        self.first.load(Relaxed) == NONE
    }

    /// Puts `node` behind all others.
    ///
    /// # Safety
    /// The queue latch is the caller's, and `node` stays alive until it has been taken out.
    pub(super) unsafe fn append(&self, node: &Node<P>) {
        let last = Node::<P>::at(self.last.load(Relaxed));
        // SAFETY: null, which `as_ref` tells from a node, or the last of the list, alive while the latch is ours (I3).
        let link = unsafe { last.as_ref() }.map_or(&self.first, |last| &last.next);
        link.store(node.address(), Relaxed);
        self.last.store(node.address(), Relaxed);
    }

    /// Takes out the first node, which is `node`. The queue latch is the caller's.
    pub(super) fn remove_first(&self, node: &Node<P>) {
        debug_assert_eq!(self.first.load(Relaxed), node.address(), "I3");
        let next = node.next.load(Relaxed);
        self.first.store(next, Relaxed);
        if next == NONE {
            self.last.store(NONE, Relaxed);
        }
    }

    /// Gives the first node its permit; `mark` is called before. False if there is none.
    ///
    /// # Safety
    /// The queue latch is the caller's.
    pub(super) unsafe fn wake_first(&self, mark: impl FnOnce()) {
        let first = Node::<P>::at(self.first.load(Relaxed));
        // SAFETY: null, or the first of the list, alive as long as the queue latch is ours (I3).
        if let Some(first) = unsafe { first.as_ref() } {
            mark();
            // SAFETY: as above; that it may be woken twice costs it a futile turn.
            unsafe { Token::unpark(&first.permit) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_in_first_out() {
        let list = List::<Hardware>::new();
        let nodes = [Node::new(), Node::new(), Node::new()];
        assert!(list.is_empty());
        for node in &nodes {
            // SAFETY: one thread only, and the nodes outlive the list's use of them.
            unsafe { list.append(node) };
        }
        for node in &nodes {
            assert!(!list.is_empty());
            list.remove_first(node);
        }
        assert!(list.is_empty());
    }

    #[test]
    fn the_first_is_woken() {
        let list = List::<Hardware>::new();
        let nodes = [Node::new(), Node::new()];
        for node in &nodes {
            // SAFETY: as above.
            unsafe { list.append(node) };
        }
        // SAFETY: as above.
        unsafe { list.wake_first(|| ()) };
        assert!(nodes[0].permit.park(None));
        assert!(!nodes[1].permit.park(Some(1)));
    }
}
