//! The record of a sleeper on a stack that hangs from a lock's word, for the locks whose waiters stack up.
//!
//! It stands on the stack of its waiting thread. Each of these locks has one thread at a time that may take nodes out,
//! here called the popper; who that is, and what makes it exclusive, the lock's own text says.
//!
//! | phase | permit | below |
//! |---|---|---|
//! | new, until pushed | its thread | its thread writes |
//! | on the stack | its thread waits for it | the popper |
//! | out, from the pop to the wake | the thread that popped gives it, once | nobody |
//! | awake, until the next push | its thread | its thread reads, writes |
//!
//! A thread leaves its wait, and its node goes, only when new or awake. Awake it is only after the last access of the
//! thread that popped it, which is the store that gives the permit; what `Token::unpark` does then needs the address
//! only. So a node that can be reached from the word, or that has been popped and not waked, is alive, and no node is
//! touched after its thread may have left.
//!
//! A pusher does not follow the pointer it finds on top, so it does not matter to it if that node has been taken out
//! and pushed again meanwhile: if the word is the same, it is the top again. For the popper the top cannot go and
//! return, because nobody else takes nodes out.

use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use ondeck_core::{AtomicPointer, Hardware, Platform, Token};

/// What a sleeper hangs on the stack, aligned as `A` is, to make room for the word's flags below its address. Never across
/// two lines, wherever a compiler puts it: who pops it reads the link and gives the permit.
#[repr(align(32))]
pub(crate) struct Node<P: Platform, A: 'static = ()> {
    permit: Token<P>,
    /// The next older node, or null. Its accesses are Relaxed: an edge of the lock leads from the push to the popper,
    /// the permit's from there back to the thread.
    below: P::Ptr<Node<P, A>>,
    _align: [A; 0],
}

const _: () = assert!(size_of::<Node<Hardware>>() == align_of::<Node<Hardware>>());

impl<P: Platform, A: 'static> Node<P, A> {
    pub(crate) fn new() -> Self {
        Node { permit: Token::new(), below: AtomicPointer::new(ptr::null_mut()), _align: [] }
    }

    /// Exposes the provenance, so that `Node::at` may get it back in another thread.
    pub(crate) fn address(&self) -> u64 {
        ptr::from_ref(self).expose_provenance() as u64
    }

    pub(crate) fn at(address: u64) -> *mut Self {
        ptr::with_exposed_provenance_mut(address as usize)
    }

    /// Puts it on top of the node at address `top`, 0 for none. By its thread, before the push.
    pub(crate) fn place_on(&self, top: u64) {
        self.below.store(Self::at(top), Relaxed);
    }

    /// By its thread, when awake.
    pub(crate) fn is_lowest(&self) -> bool {
        self.below.load(Relaxed).is_null()
    }

    /// Sleeps until it has been popped and waked.
    pub(crate) fn park(&self) {
        self.permit.park(None);
    }

    /// Makes it the lowest: the node below it has been cut out. By the popper.
    pub(crate) fn cut(&self) {
        self.below.store(ptr::null_mut(), Relaxed);
    }

    /// The next older node, or null.
    ///
    /// # Safety
    /// `node` is on the stack, and the caller is the popper.
    pub(crate) unsafe fn below(node: *const Self) -> *mut Self {
        // SAFETY: a node on the stack is alive as long as nobody pops it, and only the caller could.
        let node = unsafe { &*node };
        node.below.load(Relaxed)
    }

    /// Gives a node its permit. It may be gone when this returns, or before.
    ///
    /// # Safety
    /// The caller has taken the node out of the stack and not given it its permit yet.
    pub(crate) unsafe fn wake(popped: *const Self) {
        // SAFETY: its thread waits for the permit that nobody but the caller gives, so the node is alive.
        let permit = unsafe { &raw const (*popped).permit };
        // SAFETY: as above; from here on the node is not ours to look at.
        unsafe { Token::unpark(permit) };
    }
}
