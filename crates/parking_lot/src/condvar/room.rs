//! How many wait, and with which mutex: what a condition variable knows so as to refuse a second one.
//!
//! `ondeck`'s condition variable takes any number of mutexes and has no use for this. `parking_lot` documents a panic, on
//! which tests of programs rely.
//!
//! A waiter that is notified does not count any more, though it may not have returned yet: the thread that has notified
//! all may wait with another mutex at once. So the notifier takes it off the count, and as it cannot do so before it
//! has notified, others may find a count that is too high meanwhile; therefore nobody is refused while somebody
//! notifies.
//!
//! Everything is in one word, so that no two fields are seen at different times, and all of it is relaxed: it decides about
//! a panic and about not looking for waiters. A notifier that must find a waiter has acquired the mutex after the waiter
//! released it, and sees what was written before.

use crate::RawMutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bits of each count. Linux has no more than 2^22 threads.
const COUNT_BITS: u32 = 22;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;
const ONE_WAITER: u64 = 1;
const ONE_NOTIFIER: u64 = 1 << COUNT_BITS;
/// The mutex has what is left.
const MUTEX_SHIFT: u32 = 2 * COUNT_BITS;

/// One moment of a [`Room`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State(u64);

impl State {
    const fn n_waiters(self) -> u64 {
        self.0 & COUNT_MASK
    }

    const fn n_notifiers(self) -> u64 {
        self.0 >> COUNT_BITS & COUNT_MASK
    }

    const fn mutex(self) -> u64 {
        self.0 >> MUTEX_SHIFT
    }

    /// With one waiter more, for this mutex; `None` if others wait for another one. Where a notifier may have notified
    /// them already, the newest mutex is the one: they do not come back to compare.
    const fn entered(self, mutex: u64) -> Option<State> {
        if self.n_waiters() > 0 && self.n_notifiers() == 0 && self.mutex() != mutex {
            return None;
        }
        let counts = self.0 & ((1 << MUTEX_SHIFT) - 1);
        Some(State((counts + ONE_WAITER) | mutex << MUTEX_SHIFT))
    }
}

/// The count of one condition variable.
pub(super) struct Room(AtomicU64);

impl Room {
    pub(super) const fn new() -> Self {
        Room(AtomicU64::new(0))
    }

    /// Whether there is nobody to notify.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        State(self.0.load(Relaxed)).n_waiters() == 0
    }

    /// Counts a waiter that holds `mutex`, before it waits.
    ///
    /// # Panics
    /// If others wait with another mutex.
    pub(super) fn enter(&self, mutex: &RawMutex) {
        let mutex = short_name(std::ptr::from_ref(mutex).addr());
        let mut state = State(self.0.load(Relaxed));
        // Ends unless others come and go all the time.
        loop {
            let next = state.entered(mutex);
            // A refusal is written too, though it changes nothing: what was loaded may be from before a notification that this
            // thread was woken by.
            match self.0.compare_exchange_weak(state.0, next.unwrap_or(state).0, Relaxed, Relaxed) {
                Ok(_) if next.is_some() => return,
                Ok(_) => panic!("threads wait for this condition variable with another mutex"),
                Err(other) => state = State(other),
            }
        }
    }

    /// Takes a waiter off the count that nobody has notified.
    pub(super) fn leave(&self) {
        self.0.fetch_sub(ONE_WAITER, Relaxed);
    }

    /// Takes off the count as many waiters as `notify` says that it has notified, which is also the result.
    pub(super) fn call(&self, notify: impl FnOnce() -> usize) -> usize {
        self.0.fetch_add(ONE_NOTIFIER, Relaxed);
        let n_notified = notify();
        self.0.fetch_sub(ONE_NOTIFIER + n_notified as u64 * ONE_WAITER, Relaxed);
        n_notified
    }
}

/// What stands for a mutex at this address: the upper bits of a product with 2^64 over the golden ratio, in which all bits
/// of the address have a part.
fn short_name(address: usize) -> u64 {
    (address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> MUTEX_SHIFT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(n_waiters: u64, n_notifiers: u64, mutex: u64) -> State {
        State(n_waiters | n_notifiers << COUNT_BITS | mutex << MUTEX_SHIFT)
    }

    #[test]
    fn one_mutex_at_a_time() {
        assert_eq!(state(0, 0, 0).entered(5), Some(state(1, 0, 5)));
        assert_eq!(state(1, 0, 5).entered(5), Some(state(2, 0, 5)));
        assert_eq!(state(1, 0, 5).entered(6), None);
        assert_eq!(state(0, 0, 5).entered(6), Some(state(1, 0, 6)));
    }

    #[test]
    fn nobody_is_refused_while_somebody_notifies() {
        assert_eq!(state(3, 1, 5).entered(6), Some(state(4, 1, 6)));
    }

    #[test]
    fn fields_do_not_touch_each_other() {
        let most = state(COUNT_MASK - 1, COUNT_MASK, (1 << 20) - 1);
        let full = most.entered(0).expect("somebody notifies");
        assert_eq!((full.n_waiters(), full.n_notifiers(), full.mutex()), (COUNT_MASK, COUNT_MASK, 0));
    }

    #[test]
    fn counts_go_back_to_nothing() {
        let (room, mutex) = (Room::new(), crate::Mutex::new(()));
        for _ in 0..3 {
            // SAFETY: its address is all that is looked at.
            room.enter(unsafe { mutex.raw() });
        }
        assert_eq!(room.call(|| 2), 2);
        assert!(!room.is_empty());
        room.leave();
        assert!(room.is_empty());
    }
}
