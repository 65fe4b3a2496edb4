//! The mutex, and the raw lock under it.

use lock_api::RawMutex as _;
use std::time::{Duration, Instant};

/// The lock under [`Mutex`]: `ondeck`'s. It has 8 bytes.
///
/// # Example
/// ```
/// use parking_lot::RawMutex;
/// use parking_lot::lock_api::RawMutex as _;
///
/// static LOCK: RawMutex = RawMutex::INIT;
///
/// LOCK.lock();
/// assert!(!LOCK.try_lock());
/// // SAFETY: acquired above.
/// unsafe { LOCK.unlock() };
/// ```
#[repr(transparent)]
pub struct RawMutex(pub(crate) ondeck::RawMutex);

// SAFETY: `ondeck`'s lock promises mutual exclusion with acquire and release semantics, and does not know who holds it: a
// release by another thread than the one that acquired it, as `GuardSend` allows, is like any other.
unsafe impl lock_api::RawMutex for RawMutex {
    // A lock of its own for each use, which is what an initial value is for.
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = RawMutex(ondeck::RawMutex::new());

    type GuardMarker = crate::GuardMarker;

    #[inline]
    fn lock(&self) {
        self.0.lock();
    }

    #[inline]
    fn try_lock(&self) -> bool {
        self.0.try_lock()
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: the caller holds the lock.
        unsafe { self.0.unlock() };
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

// SAFETY: as above; a fair release differs in who comes next only.
unsafe impl lock_api::RawMutexFair for RawMutex {
    #[inline]
    unsafe fn unlock_fair(&self) {
        // SAFETY: the caller holds the lock.
        unsafe { self.0.unlock_fair() };
    }

    #[inline]
    unsafe fn bump(&self) {
        // SAFETY: the caller holds the lock.
        unsafe { self.0.bump() };
    }
}

// SAFETY: as above; an attempt gives false only without the lock.
unsafe impl lock_api::RawMutexTimed for RawMutex {
    type Duration = Duration;
    type Instant = Instant;

    #[inline]
    fn try_lock_for(&self, timeout: Duration) -> bool {
        self.0.try_lock_for(timeout)
    }

    #[inline]
    fn try_lock_until(&self, timeout: Instant) -> bool {
        self.0.try_lock_until(timeout)
    }
}

/// A mutex around data.
///
/// # Example
/// ```
/// use parking_lot::Mutex;
///
/// let total = Mutex::new(0);
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| *total.lock() += 1);
///     }
/// });
/// assert_eq!(total.into_inner(), 4);
/// ```
pub type Mutex<T> = lock_api::Mutex<RawMutex, T>;

/// Access to the data of a [`Mutex`]. Dropping the guard releases the mutex.
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, RawMutex, T>;

/// Access to a part of the data of a [`Mutex`]. `MutexGuard::map` makes it.
pub type MappedMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, RawMutex, T>;

/// Makes a mutex around `val`, for constants. [`Mutex::new`](lock_api::Mutex::new) is `const` too.
pub const fn const_mutex<T>(val: T) -> Mutex<T> {
    Mutex::const_new(RawMutex::INIT, val)
}
