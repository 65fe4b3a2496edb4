//! Section 9 of the ports of parking_lot: the bucket, which is the latch and the sleepers behind it, oldest first.
//!
//! | phase | key, next | answer | parker |
//! |---|---|---|---|
//! | new | its thread | nobody | its thread |
//! | in the queue | who has the queue latch | nobody | its thread waits |
//! | out, until the permit | who took it out, under the latch still | the same one writes | the same one gives the permit, once |
//! | with its permit | nobody | its thread reads | its thread |
//!
//! A node is alive until it has its permit, and the permit is given under the latch; so the thread that has the latch
//! finds the nodes of the queue alive. What is written under the latch the next one to have it sees, by E2: all
//! accesses but those of the parker are Relaxed.

use super::Variant;
use super::latch::Latch;
use super::parker::{Call, Parker};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use ondeck_core::{Atomic, AtomicPointer, Platform};

const NONE: u64 = 0;

/// The latch, the ends of the queue, and what only one of the mutexes has.
#[repr(C, align(64))]
pub(crate) struct Bucket<P: Platform, V> {
    pub(super) latch: Latch<P>,
    first: P::U64,
    last: P::U64,
    pub(crate) kind: V,
}

/// A sleeper's record. On its stack, alone on its lines: the original's lies with its thread's own data.
#[repr(align(128))]
pub(super) struct Node<P: Platform> {
    key: P::U64,
    next: P::Ptr<Node<P>>,
    answer: P::U32,
    parker: Parker<P>,
}

const WOKEN: u32 = 0;
const HANDED: u32 = 1;

impl<P: Platform> Node<P> {
    #[inline]
    pub(super) fn new() -> Self {
        Node {
            key: P::U64::new(NONE),
            next: AtomicPointer::new(ptr::null_mut()),
            answer: P::U32::new(WOKEN),
            parker: Parker::new(),
        }
    }

    /// Sleeps until it has been taken out and given its permit. True if the lock came with it.
    #[inline]
    pub(super) fn park(&self) -> bool {
        self.parker.park();
        self.answer.load(Relaxed) == HANDED
    }
}

/// A node that has been taken out and is owed its permit.
#[must_use = "whoever was taken out sleeps until it has its permit"]
pub(crate) struct PoppedNode<P: Platform> {
    node: *const Node<P>,
    /// Whether others sleep for the same lock.
    pub(crate) has_more: bool,
}

impl<P: Platform> PoppedNode<P> {
    /// Gives the permit, and with it the lock or not.
    ///
    /// # Safety
    /// The queue latch has been the caller's since it took the node out.
    #[inline]
    pub(super) unsafe fn permit(self, is_handed: bool) -> Call<P> {
        // SAFETY: its thread waits for the permit that nobody but the caller gives.
        let answer = unsafe { &(*self.node).answer };
        answer.store(if is_handed { HANDED } else { WOKEN }, Relaxed);
        // SAFETY: as above.
        let parker = unsafe { &raw const (*self.node).parker };
        // SAFETY: as above; the node is not touched after this.
        unsafe { Parker::permit(parker) }
    }
}

impl<P: Platform, V> Bucket<P, V> {
    pub(super) fn new(kind: V) -> Self {
        Bucket { latch: Latch::new(), first: P::U64::new(NONE), last: P::U64::new(NONE), kind }
    }

    /// Gives the latch back, which is the caller's.
    #[inline]
    pub(crate) fn unlatch(&self)
    where
        V: Variant<P>,
    {
        self.latch.release::<V>();
    }

    /// Exact under the latch, a guess without it.
    pub(super) fn is_empty(&self) -> bool {
        self.first.load(Relaxed) == NONE
    }

    pub(super) fn is_at_rest(&self) -> bool {
        self.is_empty() && self.latch.is_at_rest()
    }

    /// Puts `node` behind all others, ready to be woken.
    ///
    /// # Safety
    /// The queue latch is the caller's, and `node` stays alive until it has its permit.
    #[inline]
    pub(super) unsafe fn append(&self, node: &Node<P>, key: u64) {
        node.next.store(ptr::null_mut(), Relaxed);
        node.key.store(key, Relaxed);
        node.parker.arm();
        let address = ptr::from_ref(node).expose_provenance();
        if self.is_empty() {
            self.first.store(address as u64, Relaxed);
        } else {
            // SAFETY: in the queue, so alive while the latch is ours.
            let last = unsafe { &*at::<P>(self.last.load(Relaxed)) };
            last.next.store(ptr::from_ref(node).cast_mut(), Relaxed);
        }
        self.last.store(address as u64, Relaxed);
    }

    /// Takes out the oldest sleeper with this key, which is the oldest of all, and looks whether the one behind it has it
    /// too: in the original both may be another lock's.
    ///
    /// # Safety
    /// The queue latch is the caller's.
    #[inline]
    pub(super) unsafe fn pop(&self, key: u64) -> Option<PoppedNode<P>> {
        let node = at::<P>(self.first.load(Relaxed));
        // SAFETY: null, or in the queue and alive while the latch is ours.
        let first = unsafe { node.as_ref() }?;
        debug_assert_eq!(first.key.load(Relaxed), key, "I4: a stranger in the queue");
        let next = first.next.load(Relaxed);
        self.first.store(next.expose_provenance() as u64, Relaxed);
        if self.last.load(Relaxed) == node.addr() as u64 {
            self.last.store(NONE, Relaxed);
            return Some(PoppedNode { node, has_more: false });
        }
        // SAFETY: not the last, so there is a next one in the queue.
        let next = unsafe { &*next };
        Some(PoppedNode { node, has_more: next.key.load(Relaxed) == key })
    }
}

fn at<P: Platform>(address: u64) -> *const Node<P> {
    ptr::with_exposed_provenance(address as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ondeck_core::Hardware;

    #[test]
    fn first_in_first_out_and_the_last_one_says_so() {
        let bucket = Bucket::<Hardware, ()>::new(());
        let nodes = [Node::new(), Node::new(), Node::new()];
        for _ in 0..2 {
            for node in &nodes {
                // SAFETY: one thread only, and the nodes outlive the queue's use of them.
                unsafe { bucket.append(node, 7) };
            }
            for (index, node) in nodes.iter().enumerate() {
                // SAFETY: as above.
                let popped = unsafe { bucket.pop(7) }.expect("somebody is there");
                assert_eq!((popped.node, popped.has_more), (ptr::from_ref(node), index < 2));
                // SAFETY: as above.
                unsafe { popped.permit(index == 1) }.make();
                assert_eq!(node.park(), index == 1);
            }
            // SAFETY: as above.
            assert!(unsafe { bucket.pop(7) }.is_none() && bucket.is_at_rest());
        }
    }
}
