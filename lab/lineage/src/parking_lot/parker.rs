//! What one thread sleeps on: a word that says whether it should.
//!
//! Unlike [`Token`](ondeck_core::Token) it is looked at by loads and not taken by a swap, as the original's is. Its
//! thread arms it while the lock that guards its node is its own; the thread that has taken the node out gives the
//! permit, once, and after that works by address only, so the node may be gone by then.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use ondeck_core::{Atomic, Platform};

const UP: u32 = 0;
const DOWN: u32 = 1;

pub(super) struct Parker<P: Platform>(P::U32);

impl<P: Platform> Parker<P> {
    pub(super) fn new() -> Self {
        Parker(P::U32::new(UP))
    }

    /// By its thread, before others can see it.
    #[inline]
    pub(super) fn arm(&self) {
        self.0.store(DOWN, Relaxed);
    }

    /// By its thread: sleeps until there is a permit.
    #[inline]
    pub(super) fn park(&self) {
        // Ended by the permit; a wait that ends otherwise was woken by nobody.
        // E3
        while self.0.load(Acquire) == DOWN {
            P::wait_on(&self.0, DOWN, None);
        }
    }

    /// Gives the permit. The thread may go on, and the parker with its node be gone, before this returns.
    ///
    /// # Safety
    /// `parker` is alive, and nobody else gives it a permit.
    #[inline]
    pub(super) unsafe fn permit(parker: *const Self) -> Call<P> {
        // SAFETY: alive until the store below, as the caller says.
        let word = unsafe { &raw const (*parker).0 };
        // SAFETY: as above; nothing is read of it afterwards.
        unsafe { (*word).store(UP, Release) }; // E3
        Call(word)
    }
}

/// The system call that is still owed to a thread that has its permit.
#[must_use = "a thread with a permit may still sleep"]
pub(crate) struct Call<P: Platform>(*const P::U32);

impl<P: Platform> Call<P> {
    /// By address: a stranger that has got the memory meanwhile may be woken for no reason, once.
    #[inline]
    pub(crate) fn make(self) {
        P::wake(self.0, 1);
    }
}
