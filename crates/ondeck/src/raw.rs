//! ondeck's lock and condition variable, as implementations of `lock_api`'s traits.

use crate::recorded::{self, Machine};
use lock_api::GuardNoSend;
use ondeck_core::ondeck::{Balanced, Policy, RawCondvar as Waiters, RawOndeck};
use ondeck_core::{Hardware, Platform};
use std::fmt;
use std::time::{Duration, Instant};

/// The lock under [`Mutex`](crate::Mutex), without data. It has 8 bytes.
///
/// Use it in code that is generic over [`lock_api::RawMutex`], or that keeps its data elsewhere.
///
/// # Example
/// ```
/// use lock_api::RawMutex as _;
/// use ondeck::RawMutex;
///
/// static LOCK: RawMutex = RawMutex::INIT;
///
/// let guard = LOCK.lock();
/// assert!(LOCK.is_locked());
/// // SAFETY: acquired above, by this thread.
/// unsafe { LOCK.unlock(guard) };
/// ```
#[repr(transparent)]
pub struct RawMutex<P: Policy = Balanced>(pub(crate) RawOndeck<Machine, P>);

// SAFETY: `RawOndeck` promises mutual exclusion, with acquire and release semantics; `Guard` carries no state. Nothing
// here unwinds, and a lock that is taken may be moved or dropped by its only owner: it registers nothing anywhere.
unsafe impl<P: Policy> lock_api::RawMutex for RawMutex<P> {
    // A lock of its own for each use, which is what an initial value is for.
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = RawMutex(RawOndeck::INIT);

    type Guard = GuardNoSend;

    #[inline]
    fn lock(&self) -> GuardNoSend {
        recorded::acquire(&self.0);
        GuardNoSend::new()
    }

    #[inline]
    fn try_lock(&self) -> Option<GuardNoSend> {
        recorded::try_acquire(&self.0).then(GuardNoSend::new)
    }

    #[inline]
    unsafe fn unlock(&self, _guard: GuardNoSend) {
        // SAFETY: the caller holds the lock.
        unsafe { recorded::release(&self.0) };
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.0.is_taken()
    }
}

// SAFETY: as for `RawMutex`; a fair release differs in who comes next only.
unsafe impl<P: Policy> lock_api::RawMutexFair for RawMutex<P> {
    #[inline]
    unsafe fn unlock_fair(&self, _guard: GuardNoSend) {
        // SAFETY: the caller holds the lock.
        unsafe { recorded::release_fair(&self.0) };
    }

    #[inline]
    unsafe fn bump(&self, _guard: &mut GuardNoSend) {
        if self.0.is_contended() {
            // SAFETY: the caller holds the lock.
            unsafe { recorded::release_fair(&self.0) };
            recorded::acquire(&self.0);
        }
    }
}

// SAFETY: as for `RawMutex`; `try_acquire_until` gives false only without the lock and after the deadline.
unsafe impl<P: Policy> lock_api::RawMutexTimed for RawMutex<P> {
    type Duration = Duration;
    type Instant = Instant;

    #[inline]
    fn try_lock_for(&self, timeout: Duration) -> Option<GuardNoSend> {
        (recorded::try_acquire(&self.0) || recorded::try_acquire_until(&self.0, deadline_in(timeout)))
            .then(GuardNoSend::new)
    }

    #[inline]
    fn try_lock_until(&self, timeout: Instant) -> Option<GuardNoSend> {
        (recorded::try_acquire(&self.0) || recorded::try_acquire_until(&self.0, deadline_at(timeout)))
            .then(GuardNoSend::new)
    }
}

impl<P: Policy> fmt::Debug for RawMutex<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The condition variable under [`Condvar`](crate::Condvar). It has 16 bytes.
///
/// A wait ends with a notification or with its deadline, never for no reason. So what the notifications return is
/// exact: whether they ended a wait, or how many.
///
/// # Example
/// ```
/// use lock_api::RawCondvar as _;
/// use ondeck::RawCondvar;
///
/// static CHANGED: RawCondvar = RawCondvar::INIT;
/// assert_eq!(CHANGED.notify_all(), 0);
/// ```
pub struct RawCondvar<P: Policy = Balanced>(Waiters<Machine, P>);

// SAFETY: a waiter is in the list before its lock is released, and holds the lock again when `wait` returns. Nothing
// unwinds. Each waiter knows its own lock, so several locks at once are fine.
unsafe impl<P: Policy> lock_api::RawCondvar for RawCondvar<P> {
    // As for `RawMutex`.
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = RawCondvar(Waiters::INIT);

    type RawMutex = RawMutex<P>;

    #[inline]
    unsafe fn wait(&self, mutex: &RawMutex<P>, _guard: &mut GuardNoSend) {
        // SAFETY: the caller holds the lock.
        unsafe { recorded::wait(&self.0, &mutex.0, None) };
    }

    #[inline]
    fn notify_one(&self) -> bool {
        recorded::notify_one(&self.0)
    }

    #[inline]
    fn notify_all(&self) -> usize {
        recorded::notify_all(&self.0)
    }
}

// SAFETY: as for `RawCondvar`; `wait` gives false only after the deadline and without having taken a notification.
unsafe impl<P: Policy> lock_api::RawCondvarTimed for RawCondvar<P> {
    #[inline]
    fn checked_duration_to_instant(timeout: &Duration) -> Option<Instant> {
        Instant::now().checked_add(*timeout)
    }

    #[inline]
    unsafe fn wait_until(&self, mutex: &RawMutex<P>, _guard: &mut GuardNoSend, timeout: &Instant) -> bool {
        // SAFETY: the caller holds the lock.
        !unsafe { recorded::wait(&self.0, &mutex.0, Some(deadline_at(*timeout))) }
    }

    #[inline]
    unsafe fn wait_for(&self, mutex: &RawMutex<P>, _guard: &mut GuardNoSend, timeout: &Duration) -> bool {
        // SAFETY: the caller holds the lock.
        !unsafe { recorded::wait(&self.0, &mutex.0, Some(deadline_in(*timeout))) }
    }
}

impl<P: Policy> fmt::Debug for RawCondvar<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The point of the platform's clock that is `timeout` from now. The clock's end, after 584 years, stands for any later
/// one.
#[cold]
pub(crate) fn deadline_in(timeout: Duration) -> u64 {
    Hardware::now_ns().saturating_add(u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX))
}

/// The same moment on the platform's clock. An `Instant` does not tell its origin, so its distance from now is used.
/// The platform's clock is read second: a deadline may come late by the moment between, but not early.
#[cold]
pub(crate) fn deadline_at(instant: Instant) -> u64 {
    deadline_in(instant.saturating_duration_since(Instant::now()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(size_of::<RawMutex>(), 8);
        assert_eq!(size_of::<RawCondvar>(), 16);
        assert_eq!(size_of::<crate::Mutex<u64>>(), 16);
    }

    #[test]
    fn deadlines_do_not_overflow_and_are_not_early() {
        assert_eq!(deadline_in(Duration::MAX), u64::MAX);
        let before = Hardware::now_ns();
        assert!(deadline_in(Duration::ZERO) >= before);
        let second = Duration::from_secs(1);
        let (deadline, instant) = (deadline_in(second), Instant::now() + second);
        assert!(deadline_at(instant) >= deadline);
        assert!(deadline_at(Instant::now()) >= before, "a moment that has passed is now");
    }
}
