//! The mutex and the condition variable for libraries that are generic over `lock_api` 0.5.
//!
//! [`RawMutex`](crate::RawMutex) and [`RawCondvar`](crate::RawCondvar) implement the traits of version 0.5. The types
//! here are version 0.5's wrappers around them. This needs Rust 1.95. The raw types have methods of their own with the
//! same names: where the type is known, write `lock_api::RawMutex::lock(&mutex)` for the trait's.
//!
//! # Example
//! ```
//! use ondeck::lock_api_05::{Condvar, Mutex};
//!
//! static TOTAL: Mutex<u64> = Mutex::new(0);
//! static CHANGED: Condvar = Condvar::new();
//!
//! *TOTAL.lock() += 1;
//! CHANGED.notify_all();
//! assert_eq!(*TOTAL.lock(), 1);
//! ```

use crate::policy::{Policy, RawCondvar, RawMutex};
use ::lock_api_05::{self as v05, GuardNoSend};
use std::time::{Duration, Instant};

crate::wrappers_of_lock_api!(v05, "lock_api_05");

/// [`crate::Condvar`] with the wrapper of `lock_api` 0.5.
///
/// # Example
/// ```
/// assert!(!ondeck::lock_api_05::Condvar::new().notify_one());
/// ```
pub type Condvar = v05::Condvar<crate::RawCondvar>;

// SAFETY: `RawOndeck` promises mutual exclusion, with acquire and release semantics; `Guard` carries no state. Nothing
// here unwinds, and a lock that is taken may be moved or dropped by its only owner: it registers nothing anywhere.
unsafe impl<P: Policy> v05::RawMutex for RawMutex<P> {
    // A lock of its own for each use, which is what an initial value is for.
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = RawMutex::new();

    type Guard = GuardNoSend;

    #[inline]
    fn lock(&self) -> GuardNoSend {
        self.lock();
        GuardNoSend::new()
    }

    #[inline]
    fn try_lock(&self) -> Option<GuardNoSend> {
        self.try_lock().then(GuardNoSend::new)
    }

    #[inline]
    unsafe fn unlock(&self, _guard: GuardNoSend) {
        // SAFETY: the caller holds the lock.
        unsafe { self.unlock() };
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.is_locked()
    }
}

// SAFETY: as for `RawMutex`; a fair release differs in who comes next only.
unsafe impl<P: Policy> v05::RawMutexFair for RawMutex<P> {
    #[inline]
    unsafe fn unlock_fair(&self, _guard: GuardNoSend) {
        // SAFETY: the caller holds the lock.
        unsafe { self.unlock_fair() };
    }

    #[inline]
    unsafe fn bump(&self, _guard: &mut GuardNoSend) {
        // SAFETY: the caller holds the lock.
        unsafe { self.bump() };
    }
}

// SAFETY: as for `RawMutex`; an attempt gives `None` only without the lock and after the deadline.
unsafe impl<P: Policy> v05::RawMutexTimed for RawMutex<P> {
    type Duration = Duration;
    type Instant = Instant;

    #[inline]
    fn try_lock_for(&self, timeout: Duration) -> Option<GuardNoSend> {
        self.try_lock_for(timeout).then(GuardNoSend::new)
    }

    #[inline]
    fn try_lock_until(&self, timeout: Instant) -> Option<GuardNoSend> {
        self.try_lock_until(timeout).then(GuardNoSend::new)
    }
}

// SAFETY: a waiter is in the list before its lock is released, and holds the lock again when `wait` returns. Nothing
// unwinds. Each waiter knows its own lock, so several locks at once are fine.
unsafe impl<P: Policy> v05::RawCondvar for RawCondvar<P> {
    // As for `RawMutex`.
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = RawCondvar::new();

    type RawMutex = RawMutex<P>;

    #[inline]
    unsafe fn wait(&self, mutex: &RawMutex<P>, _guard: &mut GuardNoSend) {
        // SAFETY: the caller holds the lock.
        unsafe { self.wait(mutex) };
    }

    #[inline]
    fn notify_one(&self) -> bool {
        self.notify_one()
    }

    #[inline]
    fn notify_all(&self) -> usize {
        self.notify_all()
    }
}

// SAFETY: as for `RawCondvar`; a wait times out only after the deadline and without having taken a notification.
unsafe impl<P: Policy> v05::RawCondvarTimed for RawCondvar<P> {
    #[inline]
    fn checked_duration_to_instant(timeout: &Duration) -> Option<Instant> {
        Instant::now().checked_add(*timeout)
    }

    #[inline]
    unsafe fn wait_until(&self, mutex: &RawMutex<P>, _guard: &mut GuardNoSend, timeout: &Instant) -> bool {
        // SAFETY: the caller holds the lock.
        unsafe { self.wait_until(mutex, *timeout) }.timed_out()
    }

    #[inline]
    unsafe fn wait_for(&self, mutex: &RawMutex<P>, _guard: &mut GuardNoSend, timeout: &Duration) -> bool {
        // SAFETY: the caller holds the lock.
        unsafe { self.wait_for(mutex, *timeout) }.timed_out()
    }
}
