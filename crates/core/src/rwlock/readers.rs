//! Readers who remember how the lock counts them, and readers who wait for a writer for a while only.

use super::RawOndeckRwLock;
use super::state::{CLOSED, State};
use crate::ondeck::Policy;
use crate::{CoreCounters, Counted};

impl<P: CoreCounters, T: Policy> RawOndeckRwLock<P, T> {
    /// As [`read`](Self::read). Returns whether the caller is counted in the word; then
    /// [`release_read_by_word`](Self::release_read_by_word) releases it in less time.
    ///
    /// # Panics
    /// As [`read`](Self::read).
    #[inline]
    pub fn read_by_word(&self) -> bool {
        self.enter(CLOSED)
    }

    /// As [`release_read`](Self::release_read), without a look at whether readers count by core: it takes away what the caller has added,
    /// so the word does not run over by it.
    ///
    /// # Safety
    /// [`read_by_word`](Self::read_by_word) of the calling thread has returned true, and it has the lock as it had it then.
    #[inline]
    pub unsafe fn release_read_by_word(&self) {
        self.leave_by_word();
    }

    /// As [`read`](Self::read), but after `patience_ns` as [`read_recursive`](Self::read_recursive): for callers who may have something
    /// else that a reader waits for.
    ///
    /// # Panics
    /// As [`read`](Self::read).
    #[inline]
    pub fn read_patiently(&self, patience_ns: u64) {
        if self.counts(Counted::ENTER) {
            return;
        }
        let before = self.add_one();
        if before.has(CLOSED) || before.is_looked_at() {
            self.enter_or_go_first(before, patience_ns);
        }
    }

    #[cold]
    fn enter_or_go_first(&self, before: State, patience_ns: u64) {
        let deadline = before.has(CLOSED).then(|| P::now_ns().saturating_add(patience_ns));
        if !self.enter_slow(before, CLOSED, deadline) {
            self.read_recursive();
        }
    }
}
