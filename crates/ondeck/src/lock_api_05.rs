//! The locks and the condition variable for libraries that are generic over `lock_api` 0.5.
//!
//! [`RawMutex`](crate::RawMutex), [`RawRwLock`] and [`RawCondvar`](crate::RawCondvar) implement the traits of version
//! 0.5. The types here are version 0.5's wrappers around them. This needs Rust 1.95. The raw types have methods of their
//! own with the same names: where the type is known, write `lock_api::RawMutex::lock(&mutex)` for the trait's.
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

use crate::RawRwLock;
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

/// Acquisitions that wait.
macro_rules! acquires {
    ($($name:ident)*) => {$(
        #[inline]
        fn $name(&self) -> GuardNoSend {
            self.$name();
            GuardNoSend::new()
        }
    )*};
}

/// Attempts to acquire the lock.
macro_rules! attempts {
    ($(fn $name:ident($($time:ident: $type:ty)?);)*) => {$(
        #[inline]
        fn $name(&self $(, $time: $type)?) -> Option<GuardNoSend> {
            self.$name($($time)?).then(GuardNoSend::new)
        }
    )*};
}

/// Releases.
macro_rules! releases {
    ($($name:ident)*) => {$(
        #[inline]
        unsafe fn $name(&self, _guard: GuardNoSend) {
            // SAFETY: the caller has the lock as the guard says.
            unsafe { self.$name() };
        }
    )*};
}

/// Releases that acquire again, and end the process if they cannot.
macro_rules! bumps {
    ($($name:ident)*) => {$(
        #[inline]
        unsafe fn $name(&self, _guard: &mut GuardNoSend) {
            // SAFETY: the caller has the lock as the guard says, and so it has afterwards.
            unsafe { self.$name() };
        }
    )*};
}

/// Changes from what the caller has to what it has then, which do not panic.
macro_rules! downgrades {
    ($($name:ident)*) => {$(
        #[inline]
        unsafe fn $name(&self, _guard: GuardNoSend) -> GuardNoSend {
            // SAFETY: the caller has the lock as the guard says.
            unsafe { self.$name() };
            GuardNoSend::new()
        }
    )*};
}

/// Attempts of the upgradable reader to become the writer.
macro_rules! upgrades {
    ($(fn $name:ident($($time:ident: $type:ty)?);)*) => {$(
        #[inline]
        unsafe fn $name(&self, guard: GuardNoSend $(, $time: $type)?) -> Result<GuardNoSend, GuardNoSend> {
            // SAFETY: the caller has the lock upgradably.
            let is_writer = releasing(self, || unsafe { self.$name($($time)?) });
            if is_writer { Ok(GuardNoSend::new()) } else { Err(guard) }
        }
    )*};
}

/// Calls `upgrade`, and releases the lock for the upgradable reader if that panics, as the caller has no guard then.
#[inline]
fn releasing<U>(lock: &RawRwLock, upgrade: impl FnOnce() -> U) -> U {
    struct Releases<'a>(&'a RawRwLock);
    impl Drop for Releases<'_> {
        #[cold]
        fn drop(&mut self) {
            // SAFETY: whoever upgrades has the lock upgradably, and has it still after a panic.
            unsafe { self.0.unlock_upgradable() };
        }
    }
    let releases = Releases(lock);
    let upgraded = upgrade();
    std::mem::forget(releases);
    upgraded
}

// SAFETY: `RawOndeckRwLock` promises that a writer is alone, with acquire and release semantics; `Guard` carries no state. An
// acquisition that panics has not got the lock. A release that panics, beside too many readers, leaves a reader in for good, and
// so lets no writer in. A lock that is taken may be moved or dropped by its
// only owner: what its address is noted for is a hint, and a counter goes with its word.
unsafe impl v05::RawRwLock for RawRwLock {
    // As for `RawMutex`.
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = RawRwLock::new();

    type SharedGuard = GuardNoSend;
    type ExclusiveGuard = GuardNoSend;

    acquires!(lock_shared lock_exclusive);
    attempts! {
        fn try_lock_shared();
        fn try_lock_exclusive();
    }
    releases!(unlock_shared unlock_exclusive);

    #[inline]
    fn is_locked(&self) -> bool {
        self.is_locked()
    }

    #[inline]
    fn is_locked_exclusive(&self) -> bool {
        self.is_locked_exclusive()
    }
}

// SAFETY: as for `RawRwLock`; a fair release differs in who comes next only, and no bump panics.
unsafe impl v05::RawRwLockFair for RawRwLock {
    releases!(unlock_shared_fair unlock_exclusive_fair);
    bumps!(bump_shared bump_exclusive);
}

// SAFETY: as for `RawRwLock`; the writer becomes a reader by one write, which releases.
unsafe impl v05::RawRwLockDowngrade for RawRwLock {
    downgrades!(downgrade);
}

// SAFETY: as for `RawRwLock`; an attempt gives `None` only without the lock and after the deadline.
unsafe impl v05::RawRwLockTimed for RawRwLock {
    type Duration = Duration;
    type Instant = Instant;

    attempts! {
        fn try_lock_shared_for(timeout: Duration);
        fn try_lock_shared_until(timeout: Instant);
        fn try_lock_exclusive_for(timeout: Duration);
        fn try_lock_exclusive_until(timeout: Instant);
    }
}

// SAFETY: as for `RawRwLock`; an upgrade acquires what the readers before have released. One that panics has released the
// lock.
unsafe impl v05::RawRwLockUpgrade for RawRwLock {
    type UpgradableGuard = GuardNoSend;

    acquires!(lock_upgradable);
    attempts! {
        fn try_lock_upgradable();
    }
    releases!(unlock_upgradable);
    upgrades! {
        fn try_upgrade();
    }

    #[inline]
    unsafe fn upgrade(&self, _guard: GuardNoSend) -> GuardNoSend {
        // SAFETY: the caller has the lock upgradably.
        releasing(self, || unsafe { self.upgrade() });
        GuardNoSend::new()
    }
}

// SAFETY: as for `RawRwLockFair`.
unsafe impl v05::RawRwLockUpgradeFair for RawRwLock {
    releases!(unlock_upgradable_fair);
    bumps!(bump_upgradable);
}

// SAFETY: as for `RawRwLockDowngrade`.
unsafe impl v05::RawRwLockUpgradeDowngrade for RawRwLock {
    downgrades!(downgrade_upgradable downgrade_to_upgradable);
}

// SAFETY: as for `RawRwLockTimed` and `RawRwLockUpgrade`.
unsafe impl v05::RawRwLockUpgradeTimed for RawRwLock {
    attempts! {
        fn try_lock_upgradable_for(timeout: Duration);
        fn try_lock_upgradable_until(timeout: Instant);
    }
    upgrades! {
        fn try_upgrade_for(timeout: Duration);
        fn try_upgrade_until(timeout: Instant);
    }
}
