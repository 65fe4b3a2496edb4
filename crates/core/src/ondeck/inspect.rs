//! What others may ask of the flagship without touching it.

use super::state::{DECK, LOCKED, QUIET};
use super::{Policy, RawOndeck};
use crate::{Atomic, Platform};
use core::fmt;
use core::sync::atomic::Ordering::Relaxed;

impl<P: Platform, T: Policy> RawOndeck<P, T> {
    /// How often the lock was released or passed, modulo 1024. `None` while something is asked of its holder, after which it is
    /// counted anew, and while releases are not counted, as nobody has asked anything for long. Stale at once.
    pub fn n_releases(&self) -> Option<u64> {
        let state = self.load();
        (!state.is_alarmed() && !state.has(QUIET)).then(|| state.count())
    }

    /// Makes it free, and forgets who waits, of whom no thread of this process is one.
    pub(crate) fn make_free(&self) {
        self.word.store(0, Relaxed);
    }

    /// Whether some thread holds the lock; stale at once.
    #[inline]
    pub fn is_taken(&self) -> bool {
        self.load().has(LOCKED)
    }

    /// Whether some thread is known to wait for the lock; stale at once.
    #[inline]
    pub fn is_contended(&self) -> bool {
        !self.load().is_alone()
    }
}

impl<P: Platform, T: Policy> fmt::Debug for RawOndeck<P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.load();
        f.debug_struct("RawOndeck")
            .field("is_taken", &state.has(LOCKED))
            .field("has_deck", &state.has(DECK))
            .field("has_sleepers", &state.has_sleepers())
            .finish()
    }
}
