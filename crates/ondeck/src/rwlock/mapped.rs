//! The guards of a part of the data.

use super::RawRwLock;
use crate::guard::shows_data;
use crate::narrowing::narrows;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

/// A guard `$guard` of a part of the data, kept as `[$pointer]`. `$get` gets it in an example, and its lock is given up by these functions
/// of the raw lock.
macro_rules! holds_part {
    (
        $(#[$doc:meta])* $guard:ident, [$($pointer:tt)+],
        $get:literal, $unlock:ident $unlock_fair:ident
    ) => {
        $(#[$doc])*
        #[must_use = "if unused the lock is released at once"]
        #[clippy::has_significant_drop]
        pub struct $guard<'a, T: ?Sized + 'a> {
            /// Held by this thread as the guard says, for as long as the guard is alive.
            raw: &'a RawRwLock,
            /// No reference, as it would have to be valid until a function ends that drops the guard.
            data: $($pointer)+ T,
        }

        // SAFETY: a shared guard gives `&T`, and nothing else: it does not give the lock.
        unsafe impl<T: ?Sized + Sync> Sync for $guard<'_, T> {}

        impl<'a, T: ?Sized> $guard<'a, T> {
            /// The guard of an acquisition.
            ///
            /// # Safety
            /// The calling thread has the lock as the guard says, not upgradably, and this acquisition has no guard. `data` is
            /// made of a reference into what the lock guards, or of one that outlives `'a`. For writing, nothing else is
            /// borrowed from there.
            #[inline]
            pub(super) unsafe fn new(raw: &'a RawRwLock, data: $($pointer)+ T) -> Self {
                $guard { raw, data }
            }

            /// Releases the lock, and threads that wait go before those that come.
            ///
            /// # Blocking
            #[doc = concat!("As [`RawRwLock::", stringify!($unlock_fair), "`].")]
            ///
            /// # Example
            /// ```
            /// use ondeck::*;
            ///
            /// let lock = RwLock::new((1, 2));
            #[doc = concat!(stringify!($guard), "::unlock_fair(", $get, ");")]
            /// assert!(!lock.is_locked());
            /// ```
            #[inline]
            pub fn unlock_fair(s: Self) {
                // SAFETY: the guard has the lock, and its drop does not run.
                unsafe { ManuallyDrop::new(s).raw.$unlock_fair() };
            }
        }

        impl<T: ?Sized> Deref for $guard<'_, T> {
            type Target = T;

            #[inline]
            fn deref(&self) -> &T {
                // SAFETY: made of a reference that the guard has borrowed from the data; and the lock is held.
                unsafe { &*self.data }
            }
        }

        impl<T: ?Sized> Drop for $guard<'_, T> {
            #[inline]
            fn drop(&mut self) {
                // SAFETY: the guard has the lock as it says.
                unsafe { self.raw.$unlock() };
            }
        }
    };
}

holds_part! {
    /// Access to a part of the data of a [`RwLock`](crate::RwLock), for reading.
    /// [`RwLockReadGuard::map`](crate::RwLockReadGuard::map) makes it. Dropping it releases the lock. It stays on its
    /// thread.
    ///
    /// # Example
    /// ```
    /// use ondeck::{MappedRwLockReadGuard, RwLock, RwLockReadGuard};
    ///
    /// let lock = RwLock::new((1, "two"));
    /// let second: MappedRwLockReadGuard<'_, &str> = RwLockReadGuard::map(lock.read(), |pair| &pair.1);
    /// assert_eq!(*second, "two");
    /// ```
    MappedRwLockReadGuard, [*const],
    "RwLockReadGuard::map(lock.read(), |pair| &pair.1)", unlock_shared unlock_shared_fair
}

holds_part! {
    /// Access to a part of the data of a [`RwLock`](crate::RwLock), for writing.
    /// [`RwLockWriteGuard::map`](crate::RwLockWriteGuard::map) makes it. Dropping it releases the lock. It stays on its
    /// thread.
    ///
    /// It has no `downgrade`. The part may be the inside of a `Cell`, and other readers could change that cell then.
    ///
    /// # Example
    /// ```
    /// use ondeck::{MappedRwLockWriteGuard, RwLock, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new((1, 2));
    /// let mut second: MappedRwLockWriteGuard<'_, i32> = RwLockWriteGuard::map(lock.write(), |pair| &mut pair.1);
    /// *second = 3;
    /// # drop(second);
    /// assert_eq!(lock.into_inner(), (1, 3));
    /// ```
    MappedRwLockWriteGuard, [*mut],
    "RwLockWriteGuard::map(lock.write(), |pair| &mut pair.1)", unlock_exclusive unlock_exclusive_fair
}

impl<T: ?Sized> DerefMut for MappedRwLockWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`; and the guard, for writing, is borrowed alone.
        unsafe { &mut *self.data }
    }
}

narrows!(MappedRwLockReadGuard<'a, T> to MappedRwLockReadGuard, [&] as [*const], |s| s.raw,
    "RwLock", "RwLockReadGuard::map(lock.read(), |all| all)");
narrows!(MappedRwLockWriteGuard<'a, T> to MappedRwLockWriteGuard, [&mut] as [*mut], |s| s.raw,
    "RwLock", "RwLockWriteGuard::map(lock.write(), |all| all)");

shows_data!(MappedRwLockReadGuard<'_, T>, MappedRwLockWriteGuard<'_, T>);
