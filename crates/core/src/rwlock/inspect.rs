//! What others may ask a reader-writer lock. It is stale at once.

use super::RawOndeckRwLock;
use super::state::{CLOSED, WRITER};
use crate::ondeck::Policy;
use crate::{CoreCounters, RawLock};
use core::fmt;

impl<P: CoreCounters, T: Policy> RawOndeckRwLock<P, T> {
    /// Whether somebody has the lock; stale at once.
    pub fn is_taken(&self) -> bool {
        let state = self.load();
        state.has(WRITER) || self.n_readers() > 0
    }

    /// Whether it is known, without a look at the counters, that nobody reads; stale at once.
    pub fn is_surely_unread(&self) -> bool {
        let state = self.load();
        state.has(WRITER) || !state.has_counter() && state.n_active() == 0
    }

    /// Whether somebody has the lock for writing; stale at once.
    pub fn is_taken_for_writing(&self) -> bool {
        self.load().has(WRITER)
    }

    /// Whether some thread is known to wait for the lock; stale at once. One that has given up beside a quiet hold counts until the
    /// release.
    #[inline]
    pub fn is_contended(&self) -> bool {
        let state = self.load();
        // A reader beside a quiet hold waits nowhere else.
        let is_knocked = state.is_quiet_hold() && state.n_active() > 0;
        state.has(CLOSED & !WRITER) || state.n_waiting() > 0 || is_knocked || !self.turn.is_at_rest()
    }

    /// Whether nobody has the lock or waits for it, and nobody's turn it is: true after the last release.
    pub fn is_at_rest(&self) -> bool {
        let state = self.load();
        let is_unread = || !state.has(CLOSED) && state.n_waiting() == 0 && self.n_readers() == 0;
        (state.is_idle() || state.has_counter() && is_unread()) && self.turn.is_at_rest()
    }
}

impl<P: CoreCounters, T: Policy> fmt::Debug for RawOndeckRwLock<P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.load();
        f.debug_struct("RawOndeckRwLock")
            .field("n_readers", &self.n_readers())
            .field("has_writer", &state.has(WRITER))
            .field("n_waiting_readers", &state.n_waiting())
            .finish()
    }
}
