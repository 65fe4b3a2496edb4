//! The reader-writer lock: that of `parking_lot` 0.13 behind the traits of `lock_api` 0.4.
//!
//! Version 0.12 has one lock with two ways to read. Version 0.13 has two types: in one of them, readers are recursive
//! and do not wait for a writer that waits itself. Both types are one word with one meaning, and differ in what their
//! readers do. So the lock here is the one type, and recursive readers treat it as the other.

use parking_lot_013 as v13;
use std::time::{Duration, Instant};
use v13::lock_api::{
    RawRwLock as _, RawRwLockDowngrade as _, RawRwLockFair as _, RawRwLockTimed as _, RawRwLockUpgrade as _,
    RawRwLockUpgradeDowngrade as _, RawRwLockUpgradeFair as _, RawRwLockUpgradeTimed as _,
};

/// The lock under [`RwLock`]: that of `parking_lot` 0.13. It has 8 bytes.
#[repr(transparent)]
pub struct RawRwLock(v13::RawRwLock);

impl RawRwLock {
    /// The same lock, whose readers pass by waiting writers.
    #[inline]
    fn recursive(&self) -> &v13::RawRwLockRecursive {
        const {
            assert!(size_of::<v13::RawRwLock>() == size_of::<usize>());
            assert!(size_of::<v13::RawRwLockRecursive>() == size_of::<usize>());
            assert!(align_of::<v13::RawRwLock>() == align_of::<v13::RawRwLockRecursive>());
        }
        let lock: *const v13::RawRwLock = &self.0;
        // SAFETY: both are instances of one generic struct whose only field is an `AtomicUsize`, which fills it as asserted
        // above; and its methods read and write the same states of that word, whichever instance they belong to. Another
        // version of the crate may change either, which is why exactly one is required in Cargo.toml.
        unsafe { &*lock.cast() }
    }
}

/// What 0.13 hands out with the lock and wants back. It carries no state, so any will do.
#[inline]
fn token<T: Default>() -> T {
    T::default()
}

/// Functions that give up a hold, or exchange it for another.
macro_rules! releases {
    ($($name:ident)*) => {$(
        #[inline]
        unsafe fn $name(&self) {
            // SAFETY: the caller has the hold that this function asks for, and the token carries no state.
            let _ = unsafe { self.0.$name(token()) };
        }
    )*};
}

/// Functions that let others in for a moment.
macro_rules! bumps {
    ($($name:ident)*) => {$(
        #[inline]
        unsafe fn $name(&self) {
            // SAFETY: the caller has the hold that this function asks for, and the token carries no state.
            unsafe { self.0.$name(&mut token()) };
        }
    )*};
}

/// Attempts, with and without a deadline; what they hand out carries no state.
macro_rules! attempts {
    ($($name:ident($($time:ident: $type:ty)?))*) => {$(
        #[inline]
        fn $name(&self $(, $time: $type)?) -> bool {
            self.0.$name($($time)?).is_some()
        }
    )*};
}

// SAFETY: what 0.13 promises of its lock, with the guards' state, of which there is none, left out.
unsafe impl lock_api::RawRwLock for RawRwLock {
    // A lock of its own for each use, which is what an initial value is for.
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = RawRwLock(v13::RawRwLock::INIT);

    type GuardMarker = crate::GuardMarker;

    #[inline]
    fn lock_shared(&self) {
        self.0.lock_shared();
    }

    #[inline]
    fn lock_exclusive(&self) {
        self.0.lock_exclusive();
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }

    #[inline]
    fn is_locked_exclusive(&self) -> bool {
        self.0.is_locked_exclusive()
    }

    attempts!(try_lock_shared() try_lock_exclusive());
    releases!(unlock_shared unlock_exclusive);
}

// SAFETY: as above.
unsafe impl lock_api::RawRwLockFair for RawRwLock {
    releases!(unlock_shared_fair unlock_exclusive_fair);
    bumps!(bump_shared bump_exclusive);
}

// SAFETY: as above.
unsafe impl lock_api::RawRwLockDowngrade for RawRwLock {
    releases!(downgrade);
}

// SAFETY: as above.
unsafe impl lock_api::RawRwLockTimed for RawRwLock {
    type Duration = Duration;
    type Instant = Instant;

    attempts!(
        try_lock_shared_for(timeout: Duration)
        try_lock_shared_until(timeout: Instant)
        try_lock_exclusive_for(timeout: Duration)
        try_lock_exclusive_until(timeout: Instant)
    );
}

// SAFETY: as above; such a reader is one among the readers of the same word.
unsafe impl lock_api::RawRwLockRecursive for RawRwLock {
    #[inline]
    fn lock_shared_recursive(&self) {
        self.recursive().lock_shared();
    }

    #[inline]
    fn try_lock_shared_recursive(&self) -> bool {
        self.recursive().try_lock_shared().is_some()
    }
}

// SAFETY: as above.
unsafe impl lock_api::RawRwLockRecursiveTimed for RawRwLock {
    #[inline]
    fn try_lock_shared_recursive_for(&self, timeout: Duration) -> bool {
        self.recursive().try_lock_shared_for(timeout).is_some()
    }

    #[inline]
    fn try_lock_shared_recursive_until(&self, timeout: Instant) -> bool {
        self.recursive().try_lock_shared_until(timeout).is_some()
    }
}

// SAFETY: as above.
unsafe impl lock_api::RawRwLockUpgrade for RawRwLock {
    #[inline]
    fn lock_upgradable(&self) {
        self.0.lock_upgradable();
    }

    attempts!(try_lock_upgradable());
    releases!(unlock_upgradable upgrade);

    #[inline]
    unsafe fn try_upgrade(&self) -> bool {
        // SAFETY: the caller has an upgradable hold, and the token carries no state.
        unsafe { self.0.try_upgrade(token()) }.is_ok()
    }
}

// SAFETY: as above.
unsafe impl lock_api::RawRwLockUpgradeFair for RawRwLock {
    releases!(unlock_upgradable_fair);
    bumps!(bump_upgradable);
}

// SAFETY: as above.
unsafe impl lock_api::RawRwLockUpgradeDowngrade for RawRwLock {
    releases!(downgrade_upgradable downgrade_to_upgradable);
}

// SAFETY: as above.
unsafe impl lock_api::RawRwLockUpgradeTimed for RawRwLock {
    attempts!(
        try_lock_upgradable_for(timeout: Duration)
        try_lock_upgradable_until(timeout: Instant)
    );

    #[inline]
    unsafe fn try_upgrade_for(&self, timeout: Duration) -> bool {
        // SAFETY: the caller has an upgradable hold, and the token carries no state.
        unsafe { self.0.try_upgrade_for(token(), timeout) }.is_ok()
    }

    #[inline]
    unsafe fn try_upgrade_until(&self, timeout: Instant) -> bool {
        // SAFETY: the caller has an upgradable hold, and the token carries no state.
        unsafe { self.0.try_upgrade_until(token(), timeout) }.is_ok()
    }
}

/// A lock around data that lets in many readers or one writer.
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
    RwLock::const_new(RawRwLock(v13::RawRwLock::INIT), val)
}
