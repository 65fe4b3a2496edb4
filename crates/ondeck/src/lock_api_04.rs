//! The mutex and the reader-writer lock for libraries that are generic over `lock_api` 0.4.
//!
//! [`RawMutex`](crate::RawMutex) and [`RawRwLock`] implement the traits of version 0.4. The types here are version 0.4's
//! wrappers around them. [`Condvar`](crate::Condvar) works only with [`crate::Mutex`].
//!
//! # Soundness
//! Keep only data that is [`Send`] in these locks. With `lock_api` 0.4, a thread can get at the lock through a shared
//! guard, even if the data is not `Send`. [`crate::Mutex`], [`crate::RwLock`] and version 0.5 prevent that.
//!
//! # Aborts
//! A [`RwLock`] has room for 524,288 readers. An acquisition that waits and finds no room ends the process, where
//! [`crate::RwLock`] panics: version 0.4 could not tell a guard that it has lost its lock.
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

use crate::RawRwLock;
use crate::policy::{Policy, RawMutex};
use crate::rwlock::or_abort;
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

/// Methods that are those of the lock itself.
macro_rules! forwards {
    ($(fn $name:ident($($time:ident: $type:ty)?) $(-> $answer:ty)?;)*) => {$(
        #[inline]
        fn $name(&self $(, $time: $type)?) $(-> $answer)? {
            self.$name($($time)?)
        }
    )*};
    ($(unsafe fn $name:ident($($time:ident: $type:ty)?) $(-> $answer:ty)?;)*) => {$(
        #[inline]
        unsafe fn $name(&self $(, $time: $type)?) $(-> $answer)? {
            // SAFETY: the caller has the lock as this method asks for it, and that of the lock itself asks for the same.
            unsafe { self.$name($($time)?) }
        }
    )*};
}

/// Acquisitions that wait. The wrapper's `unlocked` has a guard while it calls them, and drops it if they panic.
macro_rules! acquires {
    ($($name:ident)*) => {$(
        #[inline]
        fn $name(&self) {
            or_abort(|| self.$name());
        }
    )*};
}

// SAFETY: `RawOndeckRwLock` promises that a writer is alone, with acquire and release semantics. An attempt that panics has
// not got the lock. A lock that is taken may be moved or dropped by its only owner: what its address is noted for is a hint,
// and a counter goes with its word.
unsafe impl v04::RawRwLock for RawRwLock {
    // As for `RawMutex`.
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = RawRwLock::new();

    type GuardMarker = GuardNoSend;

    acquires!(lock_shared lock_exclusive);
    forwards! {
        fn try_lock_shared() -> bool;
        fn try_lock_exclusive() -> bool;
        fn is_locked() -> bool;
        fn is_locked_exclusive() -> bool;
    }
    forwards! {
        unsafe fn unlock_shared();
        unsafe fn unlock_exclusive();
    }
}

// SAFETY: as for `RawRwLock`; a fair release differs in who comes next only, and no bump panics.
unsafe impl v04::RawRwLockFair for RawRwLock {
    forwards! {
        unsafe fn unlock_shared_fair();
        unsafe fn unlock_exclusive_fair();
        unsafe fn bump_shared();
        unsafe fn bump_exclusive();
    }
}

// SAFETY: as for `RawRwLock`; the writer becomes a reader by one write.
unsafe impl v04::RawRwLockDowngrade for RawRwLock {
    forwards! {
        unsafe fn downgrade();
    }
}

// SAFETY: as for `RawRwLock`; an attempt gives false only without the lock and after the deadline.
unsafe impl v04::RawRwLockTimed for RawRwLock {
    type Duration = Duration;
    type Instant = Instant;

    forwards! {
        fn try_lock_shared_for(timeout: Duration) -> bool;
        fn try_lock_shared_until(timeout: Instant) -> bool;
        fn try_lock_exclusive_for(timeout: Duration) -> bool;
        fn try_lock_exclusive_until(timeout: Instant) -> bool;
    }
}

// SAFETY: as for `RawRwLock`; such a reader waits for nobody but a writer that is in, which there is not beside a reader.
unsafe impl v04::RawRwLockRecursive for RawRwLock {
    acquires!(lock_shared_recursive);
    forwards! {
        fn try_lock_shared_recursive() -> bool;
    }
}

// SAFETY: as for `RawRwLockTimed` and `RawRwLockRecursive`.
unsafe impl v04::RawRwLockRecursiveTimed for RawRwLock {
    forwards! {
        fn try_lock_shared_recursive_for(timeout: Duration) -> bool;
        fn try_lock_shared_recursive_until(timeout: Instant) -> bool;
    }
}

// SAFETY: as for `RawRwLock`; an upgrade that gives false or panics has left the caller the upgradable reader.
unsafe impl v04::RawRwLockUpgrade for RawRwLock {
    acquires!(lock_upgradable);
    forwards! {
        fn try_lock_upgradable() -> bool;
    }
    forwards! {
        unsafe fn unlock_upgradable();
        unsafe fn upgrade();
        unsafe fn try_upgrade() -> bool;
    }
}

// SAFETY: as for `RawRwLockFair`.
unsafe impl v04::RawRwLockUpgradeFair for RawRwLock {
    forwards! {
        unsafe fn unlock_upgradable_fair();
        unsafe fn bump_upgradable();
    }
}

// SAFETY: as for `RawRwLockDowngrade`.
unsafe impl v04::RawRwLockUpgradeDowngrade for RawRwLock {
    forwards! {
        unsafe fn downgrade_upgradable();
        unsafe fn downgrade_to_upgradable();
    }
}

// SAFETY: as for `RawRwLockTimed` and `RawRwLockUpgrade`.
unsafe impl v04::RawRwLockUpgradeTimed for RawRwLock {
    forwards! {
        fn try_lock_upgradable_for(timeout: Duration) -> bool;
        fn try_lock_upgradable_until(timeout: Instant) -> bool;
    }
    forwards! {
        unsafe fn try_upgrade_for(timeout: Duration) -> bool;
        unsafe fn try_upgrade_until(timeout: Instant) -> bool;
    }
}
