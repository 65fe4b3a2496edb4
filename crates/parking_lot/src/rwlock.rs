//! The reader-writer lock: ondeck's.

use std::time::{Duration, Instant};

/// The lock under [`RwLock`]: `ondeck`'s. It has 16 bytes.
///
/// # Example
/// ```
/// use parking_lot::RawRwLock;
/// use parking_lot::lock_api::RawRwLock as _;
///
/// static LOCK: RawRwLock = RawRwLock::INIT;
///
/// LOCK.lock_shared();
/// assert!(LOCK.try_lock_shared() && !LOCK.try_lock_exclusive());
/// ```
#[repr(transparent)]
pub struct RawRwLock(ondeck::RawRwLock);

/// Methods of the trait `$of`, as ondeck's lock has them. Those of the trait, not its own: they end the process where a guard that
/// was unlocked could not have its lock again.
macro_rules! forwards {
    ($of:ident: $(fn $name:ident($($time:ident: $type:ty)?) $(-> $answer:ty)?;)*) => {$(
        #[inline]
        fn $name(&self $(, $time: $type)?) $(-> $answer)? {
            lock_api::$of::$name(&self.0 $(, $time)?)
        }
    )*};
    ($of:ident: $(unsafe fn $name:ident($($time:ident: $type:ty)?) $(-> $answer:ty)?;)*) => {$(
        #[inline]
        unsafe fn $name(&self $(, $time: $type)?) $(-> $answer)? {
            // SAFETY: the caller's: this method asks for no more.
            unsafe { lock_api::$of::$name(&self.0 $(, $time)?) }
        }
    )*};
}

// SAFETY: `ondeck`'s lock is one by its own implementation of the trait. It does not know who has it: a release by another thread
// than the one that acquired it, as `GuardSend` allows, is like any other.
unsafe impl lock_api::RawRwLock for RawRwLock {
    // A lock of its own for each use, which is what an initial value is for.
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = RawRwLock(ondeck::RawRwLock::new());

    type GuardMarker = crate::GuardMarker;

    forwards! { RawRwLock:
        fn lock_shared();
        fn try_lock_shared() -> bool;
        fn lock_exclusive();
        fn try_lock_exclusive() -> bool;
        fn is_locked() -> bool;
        fn is_locked_exclusive() -> bool;
    }

    forwards! { RawRwLock:
        unsafe fn unlock_shared();
        unsafe fn unlock_exclusive();
    }
}

// SAFETY: as above.
unsafe impl lock_api::RawRwLockFair for RawRwLock {
    forwards! { RawRwLockFair:
        unsafe fn unlock_shared_fair();
        unsafe fn unlock_exclusive_fair();
        unsafe fn bump_shared();
        unsafe fn bump_exclusive();
    }
}

// SAFETY: as above.
unsafe impl lock_api::RawRwLockDowngrade for RawRwLock {
    forwards! { RawRwLockDowngrade:
        unsafe fn downgrade();
    }
}

// SAFETY: as above.
unsafe impl lock_api::RawRwLockTimed for RawRwLock {
    type Duration = Duration;
    type Instant = Instant;

    forwards! { RawRwLockTimed:
        fn try_lock_shared_for(timeout: Duration) -> bool;
        fn try_lock_shared_until(timeout: Instant) -> bool;
        fn try_lock_exclusive_for(timeout: Duration) -> bool;
        fn try_lock_exclusive_until(timeout: Instant) -> bool;
    }
}

// SAFETY: as above.
unsafe impl lock_api::RawRwLockRecursive for RawRwLock {
    forwards! { RawRwLockRecursive:
        fn lock_shared_recursive();
        fn try_lock_shared_recursive() -> bool;
    }
}

// SAFETY: as above.
unsafe impl lock_api::RawRwLockRecursiveTimed for RawRwLock {
    forwards! { RawRwLockRecursiveTimed:
        fn try_lock_shared_recursive_for(timeout: Duration) -> bool;
        fn try_lock_shared_recursive_until(timeout: Instant) -> bool;
    }
}

// SAFETY: as above.
unsafe impl lock_api::RawRwLockUpgrade for RawRwLock {
    forwards! { RawRwLockUpgrade:
        fn lock_upgradable();
        fn try_lock_upgradable() -> bool;
    }

    forwards! { RawRwLockUpgrade:
        unsafe fn unlock_upgradable();
        unsafe fn upgrade();
        unsafe fn try_upgrade() -> bool;
    }
}

// SAFETY: as above.
unsafe impl lock_api::RawRwLockUpgradeFair for RawRwLock {
    forwards! { RawRwLockUpgradeFair:
        unsafe fn unlock_upgradable_fair();
        unsafe fn bump_upgradable();
    }
}

// SAFETY: as above.
unsafe impl lock_api::RawRwLockUpgradeDowngrade for RawRwLock {
    forwards! { RawRwLockUpgradeDowngrade:
        unsafe fn downgrade_upgradable();
        unsafe fn downgrade_to_upgradable();
    }
}

// SAFETY: as above.
unsafe impl lock_api::RawRwLockUpgradeTimed for RawRwLock {
    forwards! { RawRwLockUpgradeTimed:
        fn try_lock_upgradable_for(timeout: Duration) -> bool;
        fn try_lock_upgradable_until(timeout: Instant) -> bool;
    }

    forwards! { RawRwLockUpgradeTimed:
        unsafe fn try_upgrade_for(timeout: Duration) -> bool;
        unsafe fn try_upgrade_until(timeout: Instant) -> bool;
    }
}

/// A lock around data that lets in many readers or one writer.
///
/// Readers and writers take turns. A reader that comes while a writer waits goes after it, and all readers that wait as a
/// writer leaves go before the next one.
///
/// # Example
/// ```
/// use parking_lot::RwLock;
///
/// let names = RwLock::new(vec!["first"]);
/// names.write().push("second");
/// let (one, another) = (names.read(), names.read());
/// assert_eq!(one.len(), another.len());
/// ```
pub type RwLock<T> = lock_api::RwLock<RawRwLock, T>;

/// A reader's access to the data of a [`RwLock`].
pub type RwLockReadGuard<'a, T> = lock_api::RwLockReadGuard<'a, RawRwLock, T>;

/// The writer's access to the data of a [`RwLock`].
pub type RwLockWriteGuard<'a, T> = lock_api::RwLockWriteGuard<'a, RawRwLock, T>;

/// The access of a reader that may become the writer. There is at most one such reader.
pub type RwLockUpgradableReadGuard<'a, T> = lock_api::RwLockUpgradableReadGuard<'a, RawRwLock, T>;

/// A reader's access to a part of the data of a [`RwLock`].
pub type MappedRwLockReadGuard<'a, T> = lock_api::MappedRwLockReadGuard<'a, RawRwLock, T>;

/// The writer's access to a part of the data of a [`RwLock`].
pub type MappedRwLockWriteGuard<'a, T> = lock_api::MappedRwLockWriteGuard<'a, RawRwLock, T>;

/// Makes a reader-writer lock around `val`, for constants.
pub const fn const_rwlock<T>(val: T) -> RwLock<T> {
    RwLock::new(val)
}
