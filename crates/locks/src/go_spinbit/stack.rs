//! Section 9 of go-spinbit: the waiter record and its stack.
//!
//! | phase | permit | below |
//! |---|---|---|
//! | new, until push | its thread | its thread |
//! | on the stack | its thread waits for it | the holder of the queue latch reads; writes, if it cuts the node below |
//! | cut, until that holder's pop | its thread waits for it | nobody |
//! | out, from the pop to the wake | the popper gives it, once | nobody |
//! | awake, until the next push | its thread | its thread |
//!
//! A thread leaves acquire_slow only when new or awake. Awake it is only after the popper's one access to its node,
//! which is the store that gives the permit; what `Token::unpark` does then needs the address only. So a node that can
//! be reached from the word, or that a popper has chosen, is alive, and no node is touched after its thread may have
//! left.
//!
//! A pusher does not follow the pointer it finds on top, so it does not matter to it if that node has been taken out
//! and pushed again meanwhile: if the word is the same, it is the top again. For the holder of the queue latch the top
//! cannot go and return, because nobody else takes nodes out.

use super::WAKE;
use super::state::State;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use ondeck_platform::{AtomicPointer, Hardware, Platform, Token};

/// What a sleeper hangs on the stack. The alignment makes room for the flags in its address.
#[repr(align(1024))]
pub(super) struct Node<P: Platform> {
    pub(super) permit: Token<P>,
    /// The next older node, or null.
    pub(super) below: P::Ptr<Node<P>>,
}

const _: () = assert!(align_of::<Node<Hardware>>() as u64 > State::FLAGS);

impl<P: Platform> Node<P> {
    pub(super) fn new() -> Self {
        Node { permit: Token::new(), below: AtomicPointer::new(ptr::null_mut()) }
    }

    /// Exposes the provenance, so that `Node::at` may get it back in another thread.
    pub(super) fn address(&self) -> u64 {
        ptr::from_ref(self).expose_provenance() as u64
    }

    pub(super) fn at(address: u64) -> *mut Self {
        ptr::with_exposed_provenance_mut(address as usize)
    }

    pub(super) fn is_lowest(&self) -> bool {
        self.below.load(Relaxed).is_null()
    }
}

/// The next older node, or null.
///
/// # Safety
/// `node` is on the stack, and the queue latch is the caller's.
pub(super) unsafe fn below<P: Platform>(node: *const Node<P>) -> *mut Node<P> {
    // SAFETY: a node on the stack is alive as long as nobody pops it, and only the caller could.
    let node = unsafe { &*node };
    node.below.load(Relaxed)
}

/// Takes the oldest node out of the stack, unless it is the newest too. The walk ends because each node was pushed on
/// top of older ones.
///
/// # Safety
/// `top` is the top of the stack, and the queue latch is the caller's.
pub(super) unsafe fn cut_oldest<P: Platform>(top: *const Node<P>) -> Option<*const Node<P>> {
    let mut above = ptr::null();
    let mut oldest = top;
    loop {
        // SAFETY: `oldest` was reached from the top of the stack, and the queue latch is ours.
        let next = unsafe { below(oldest) };
        if next.is_null() {
            break;
        }
        above = oldest;
        oldest = next;
    }
    // SAFETY: null, or a node of the stack that is kept alive as above; null is told from a node by `as_ref`.
    let above = unsafe { above.as_ref() }?;
    above.below.store(ptr::null_mut(), Relaxed);
    Some(oldest)
}

/// Gives a node its permit. It may be gone when this returns, or before.
///
/// # Safety
/// The caller has taken the node out of the stack and not given it its permit yet.
pub(super) unsafe fn wake<P: Platform>(chosen: *const Node<P>) {
    // SAFETY: its thread waits for the permit that nobody but the caller gives, so the node is alive.
    let permit = unsafe { &raw const (*chosen).permit };
    P::step(WAKE);
    // SAFETY: as above; from here on the node is not ours to look at.
    unsafe { Token::unpark(permit) };
}
