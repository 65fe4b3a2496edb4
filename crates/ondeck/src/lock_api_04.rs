//! The mutex for libraries that are generic over `lock_api` 0.4.
//!
//! [`RawMutex`] implements the traits of version 0.4 and of version 0.5. The types here are version 0.4's wrappers
//! around it. [`Condvar`](crate::Condvar) works only with [`crate::Mutex`].
//!
//! # Soundness
//! Keep only data that is [`Send`] in these mutexes. With `lock_api` 0.4, a thread can get at the mutex through a
//! shared [`MutexGuard`], even if the data is not `Send`. Version 0.5, which [`crate::Mutex`] uses, prevents that.
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

use crate::RawMutex;
use crate::raw::{deadline_at, deadline_in};
use crate::recorded;
use ::lock_api_04::{self as v04, GuardNoSend};
use ondeck_core::ondeck::Policy;
use std::time::{Duration, Instant};

/// [`crate::Mutex`] with the wrapper of `lock_api` 0.4.
///
/// # Example
/// ```
/// let mutex = ondeck::lock_api_04::Mutex::new(1);
/// assert!(mutex.try_lock().is_some());
/// ```
pub type Mutex<T> = v04::Mutex<RawMutex, T>;

/// The guard of [`Mutex`].
///
/// # Example
/// ```
/// use ondeck::lock_api_04::{Mutex, MutexGuard};
///
/// let mutex = Mutex::new((1, 2));
/// let guard: MutexGuard<'_, (i32, i32)> = mutex.lock();
/// assert_eq!(guard.0, 1);
/// ```
pub type MutexGuard<'a, T> = v04::MutexGuard<'a, RawMutex, T>;

/// The guard of a part of a [`Mutex`]'s data.
///
/// # Example
/// ```
/// use ondeck::lock_api_04::{MappedMutexGuard, Mutex, MutexGuard};
///
/// let mutex = Mutex::new((1, 2));
/// let second: MappedMutexGuard<'_, i32> = MutexGuard::map(mutex.lock(), |pair| &mut pair.1);
/// assert_eq!(*second, 2);
/// ```
pub type MappedMutexGuard<'a, T> = v04::MappedMutexGuard<'a, RawMutex, T>;

// SAFETY: as for the newer generation of the trait, in `raw.rs`.
unsafe impl<P: Policy> v04::RawMutex for RawMutex<P> {
    // A lock of its own for each use, which is what an initial value is for.
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = <Self as lock_api::RawMutex>::INIT;

    type GuardMarker = GuardNoSend;

    #[inline]
    fn lock(&self) {
        recorded::acquire(&self.0);
    }

    #[inline]
    fn try_lock(&self) -> bool {
        recorded::try_acquire(&self.0)
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: the caller holds the lock.
        unsafe { recorded::release(&self.0) };
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.0.is_taken()
    }
}

// SAFETY: as above.
unsafe impl<P: Policy> v04::RawMutexFair for RawMutex<P> {
    #[inline]
    unsafe fn unlock_fair(&self) {
        // SAFETY: the caller holds the lock.
        unsafe { recorded::release_fair(&self.0) };
    }

    #[inline]
    unsafe fn bump(&self) {
        if self.0.is_contended() {
            // SAFETY: the caller holds the lock.
            unsafe { recorded::release_fair(&self.0) };
            recorded::acquire(&self.0);
        }
    }
}

// SAFETY: as above.
unsafe impl<P: Policy> v04::RawMutexTimed for RawMutex<P> {
    type Duration = Duration;
    type Instant = Instant;

    #[inline]
    fn try_lock_for(&self, timeout: Duration) -> bool {
        recorded::try_acquire(&self.0) || recorded::try_acquire_until(&self.0, deadline_in(timeout))
    }

    #[inline]
    fn try_lock_until(&self, timeout: Instant) -> bool {
        recorded::try_acquire(&self.0) || recorded::try_acquire_until(&self.0, deadline_at(timeout))
    }
}
