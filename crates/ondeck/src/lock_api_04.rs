//! The mutex for libraries that are generic over `lock_api` 0.4.
//!
//! [`RawMutex`](crate::RawMutex) implements the traits of version 0.4. The types here are version 0.4's wrappers around
//! it. [`Condvar`](crate::Condvar) works only with [`crate::Mutex`].
//!
//! # Soundness
//! Keep only data that is [`Send`] in these mutexes. With `lock_api` 0.4, a thread can get at the mutex through a
//! shared [`MutexGuard`], even if the data is not `Send`. [`crate::Mutex`] and version 0.5 prevent that.
//!
//! # Example
//! ```
//! use ondeck::lock_api_04::Mutex;
//!
//! static TOTAL: Mutex<u64> = Mutex::new(0);
//!
//! *TOTAL.lock() += 1;
//! assert_eq!(*TOTAL.lock(), 1);
//! ```

use crate::policy::{Policy, RawMutex};
use ::lock_api_04::{self as v04, GuardNoSend};
use std::time::{Duration, Instant};

crate::wrappers_of_lock_api!(v04, "lock_api_04");

// SAFETY: `RawOndeck` promises mutual exclusion, with acquire and release semantics. Nothing here unwinds, and a lock that
// is taken may be moved or dropped by its only owner: it registers nothing anywhere.
unsafe impl<P: Policy> v04::RawMutex for RawMutex<P> {
    // A lock of its own for each use, which is what an initial value is for.
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = RawMutex::new();

    type GuardMarker = GuardNoSend;

    #[inline]
    fn lock(&self) {
        self.lock();
    }

    #[inline]
    fn try_lock(&self) -> bool {
        self.try_lock()
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: the caller holds the lock.
        unsafe { self.unlock() };
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.is_locked()
    }
}

// SAFETY: as for `RawMutex`; a fair release differs in who comes next only.
unsafe impl<P: Policy> v04::RawMutexFair for RawMutex<P> {
    #[inline]
    unsafe fn unlock_fair(&self) {
        // SAFETY: the caller holds the lock.
        unsafe { self.unlock_fair() };
    }

    #[inline]
    unsafe fn bump(&self) {
        // SAFETY: the caller holds the lock.
        unsafe { self.bump() };
    }
}

// SAFETY: as for `RawMutex`; an attempt gives false only without the lock and after the deadline.
unsafe impl<P: Policy> v04::RawMutexTimed for RawMutex<P> {
    type Duration = Duration;
    type Instant = Instant;

    #[inline]
    fn try_lock_for(&self, timeout: Duration) -> bool {
        self.try_lock_for(timeout)
    }

    #[inline]
    fn try_lock_until(&self, timeout: Instant) -> bool {
        self.try_lock_until(timeout)
    }
}
