//! The guards of the whole data: for reading, for writing, and for reading upgradably.

use super::unlocked::lets_others_in;
use super::upgraded::{become_others, writes_meanwhile};
use super::{MappedRwLockReadGuard, MappedRwLockWriteGuard, RawRwLock, RwLock};
use crate::guard::shows_data;
use crate::narrowing::narrows;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

// None of these guards gives the lock. One that is shared is with another thread, which could lock for writing and have
// `&mut T` there; `T: Sync` alone does not allow that.

/// A guard `$guard` of the whole data, which `$get` gets in an example, and whose lock is given up by these functions of the raw lock.
macro_rules! holds {
    ($(#[$doc:meta])* $guard:ident, $get:literal, $unlock:ident($($way:ident)?) $unlock_fair:ident) => {
        $(#[$doc])*
        #[must_use = "if unused the lock is released at once"]
        #[clippy::has_significant_drop]
        pub struct $guard<'a, T: ?Sized + 'a> {
            /// Held by this thread as the guard says, for as long as the guard is alive.
            lock: &'a RwLock<T>,
            /// As good as a reference that stays on its thread.
            data: PhantomData<*mut T>,
            $(
                /// Whether it is known that the word of the lock counts it.
                $way: bool,
            )?
        }

        // SAFETY: a shared guard gives `&T`, and nothing else: it does not give the lock, and what changes the hold takes the guard.
        unsafe impl<T: ?Sized + Sync> Sync for $guard<'_, T> {}

        impl<'a, T: ?Sized> $guard<'a, T> {
            /// The guard of an acquisition.
            ///
            /// # Safety
            /// The calling thread has the lock as the guard says, and this acquisition has no guard, nor a borrow through one.
            #[inline]
            pub(super) unsafe fn new(lock: &'a RwLock<T>) -> Self {
                $guard { lock, data: PhantomData $(, $way: false)? }
            }

            /// The lock, which stays held.
            #[inline]
            fn into_held(s: Self) -> &'a RwLock<T> {
                ManuallyDrop::new(s).lock
            }

            /// Releases the lock, and threads that wait go before those that come.
            ///
            /// # Blocking
            #[doc = concat!("As [`RawRwLock::", stringify!($unlock_fair), "`].")]
            ///
            /// # Example
            /// ```
            #[doc = concat!("use ondeck::{RwLock, ", stringify!($guard), "};")]
            ///
            /// let lock = RwLock::new(1);
            #[doc = concat!(stringify!($guard), "::unlock_fair(", $get, ");")]
            /// assert!(!lock.is_locked());
            /// ```
            #[inline]
            pub fn unlock_fair(s: Self) {
                // SAFETY: the guard has the lock, and its drop does not run.
                unsafe { Self::into_held(s).raw.$unlock_fair() };
            }
        }

        impl<T: ?Sized> Deref for $guard<'_, T> {
            type Target = T;

            #[inline]
            fn deref(&self) -> &T {
                // SAFETY: the guard has the lock, so nobody else writes the data.
                unsafe { &*self.lock.data_ptr() }
            }
        }

        impl<T: ?Sized> Drop for $guard<'_, T> {
            #[inline]
            fn drop(&mut self) {
                // SAFETY: the guard has the lock as it says.
                unsafe { self.lock.raw.$unlock($(self.$way)?) };
            }
        }
    };
}

holds! {
    /// Access to the data of a [`RwLock`], for reading. Dropping the guard releases the lock. A guard stays on its thread.
    ///
    /// The functions are no methods, so they hide no method of the data. Call them as `RwLockReadGuard::map(guard, f)`.
    ///
    /// # Example
    /// ```
    /// use ondeck::{RwLock, RwLockReadGuard};
    ///
    /// let lock = RwLock::new(1);
    /// let guard: RwLockReadGuard<'_, i32> = lock.read();
    /// assert_eq!(*guard, 1);
    /// ```
    ///
    /// Guards are not [`Send`]:
    /// ```compile_fail,E0277
    /// let lock = ondeck::RwLock::new(1);
    /// let guard = lock.read();
    /// std::thread::scope(|scope| scope.spawn(move || drop(guard)).join());
    /// ```
    RwLockReadGuard, "lock.read()", unlock_shared_by(is_in_word) unlock_shared_fair
}

holds! {
    /// Access to the data of a [`RwLock`], for writing. Dropping the guard releases the lock. A guard stays on its thread.
    ///
    /// The functions are no methods, so they hide no method of the data. Call them as `RwLockWriteGuard::map(guard, f)`.
    ///
    /// # Example
    /// ```
    /// use ondeck::{RwLock, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new(1);
    /// let mut guard: RwLockWriteGuard<'_, i32> = lock.write();
    /// *guard += 1;
    /// assert_eq!(*RwLockWriteGuard::downgrade(guard), 2);
    /// ```
    ///
    /// Guards are not [`Send`]:
    /// ```compile_fail,E0277
    /// let lock = ondeck::RwLock::new(1);
    /// let guard = lock.write();
    /// std::thread::scope(|scope| scope.spawn(move || drop(guard)).join());
    /// ```
    RwLockWriteGuard, "lock.write()", unlock_exclusive() unlock_exclusive_fair
}

holds! {
    /// Access to the data of a [`RwLock`], for reading, that can become access for writing. Other threads may read
    /// meanwhile, but only one thread at a time has such a guard. A guard stays on its thread.
    ///
    /// The functions are no methods, so they hide no method of the data. Call them as
    /// `RwLockUpgradableReadGuard::upgrade(guard)`.
    ///
    /// # Example
    /// ```
    /// use ondeck::{RwLock, RwLockUpgradableReadGuard};
    ///
    /// let names = RwLock::new(vec!["first"]);
    /// let guard = names.upgradable_read();
    /// if !guard.contains(&"second") {
    ///     // No other thread can have added it since the look.
    ///     RwLockUpgradableReadGuard::upgrade(guard).push("second");
    /// }
    /// assert_eq!(names.read().len(), 2);
    /// ```
    ///
    /// Guards are not [`Send`]:
    /// ```compile_fail,E0277
    /// let lock = ondeck::RwLock::new(1);
    /// let guard = lock.upgradable_read();
    /// std::thread::scope(|scope| scope.spawn(move || drop(guard)).join());
    /// ```
    RwLockUpgradableReadGuard, "lock.upgradable_read()", unlock_upgradable() unlock_upgradable_fair
}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    /// As [`new`](Self::new), of an acquisition of which the lock has said how it counts it.
    ///
    /// # Safety
    /// As [`new`](Self::new); and [`RawRwLock::lock_shared_by_word`] has said so.
    #[inline]
    pub(super) unsafe fn with_way(lock: &'a RwLock<T>, is_in_word: bool) -> Self {
        RwLockReadGuard { lock, data: PhantomData, is_in_word }
    }
}

become_others!(<'a, T> RwLockReadGuard RwLockWriteGuard RwLockUpgradableReadGuard, "RwLock::new(1)", "");

narrows!(RwLockReadGuard<'a, T> to MappedRwLockReadGuard, [&] as [*const], |s| &s.lock.raw, "RwLock", "lock.read()");
narrows!(RwLockWriteGuard<'a, T> to MappedRwLockWriteGuard, [&mut] as [*mut], |s| &s.lock.raw, "RwLock", "lock.write()");

shows_data!(RwLockReadGuard<'_, T>, RwLockWriteGuard<'_, T>, RwLockUpgradableReadGuard<'_, T>);

lets_others_in!(RwLockReadGuard<'a, T>, "RwLock::new(1)", "read",
    lock_shared unlock_shared unlock_shared_fair bump_shared, is_in_word);
lets_others_in!(RwLockWriteGuard<'a, T>, "RwLock::new(1)", "write",
    lock_exclusive unlock_exclusive unlock_exclusive_fair bump_exclusive);
lets_others_in!(RwLockUpgradableReadGuard<'a, T>, "RwLock::new(1)", "upgradable_read",
    lock_upgradable unlock_upgradable unlock_upgradable_fair bump_upgradable);

writes_meanwhile!(RwLockUpgradableReadGuard<'a, T>, "RwLock::new(1)", "upgradable_read");
