//! The mutex whose releases are all fair.

use crate::RawMutex;
use lock_api::{RawMutex as _, RawMutexFair as _};
use std::time::{Duration, Instant};

/// The lock under [`FairMutex`]: a [`RawMutex`] whose every release gives it to a waiting thread, if there is one.
#[repr(transparent)]
pub struct RawFairMutex(RawMutex);

// SAFETY: as for `RawMutex`; a fair release differs in who comes next only.
unsafe impl lock_api::RawMutex for RawFairMutex {
    // As for `RawMutex`.
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = RawFairMutex(RawMutex::INIT);

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
        unsafe { self.0.unlock_fair() };
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

// SAFETY: as above.
unsafe impl lock_api::RawMutexFair for RawFairMutex {
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

// SAFETY: as above.
unsafe impl lock_api::RawMutexTimed for RawFairMutex {
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

/// A [`Mutex`](crate::Mutex) whose every release gives it to a waiting thread, if there is one.
///
/// So no thread acquires it twice in a row while another waits. It is slower: while a sleeping thread wakes up to take
/// the mutex, nobody is inside.
///
/// # Example
/// ```
/// use parking_lot::FairMutex;
///
/// static TURNS: FairMutex<u32> = FairMutex::new(0);
/// *TURNS.lock() += 1;
/// ```
pub type FairMutex<T> = lock_api::Mutex<RawFairMutex, T>;

/// Access to the data of a [`FairMutex`].
pub type FairMutexGuard<'a, T> = lock_api::MutexGuard<'a, RawFairMutex, T>;

/// Access to a part of the data of a [`FairMutex`].
pub type MappedFairMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, RawFairMutex, T>;

/// Makes a fair mutex around `val`, for constants.
pub const fn const_fair_mutex<T>(val: T) -> FairMutex<T> {
    FairMutex::const_new(RawFairMutex::INIT, val)
}
