//! The guards that own an `Arc` of their reader-writer lock.

use super::unlocked::lets_others_in;
use super::upgraded::{become_others, writes_meanwhile};
use super::{RawRwLock, RwLock};
use crate::guard::shows_data;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A guard `$guard`, which `$get` gives, and whose lock is given up by these functions of the raw lock.
macro_rules! owns_an_arc {
    ($(#[$doc:meta])* $guard:ident, $get:ident, $unlock:ident $unlock_fair:ident) => {
        $(#[$doc])*
        #[must_use = "if unused the lock is released at once"]
        #[clippy::has_significant_drop]
        pub struct $guard<T: ?Sized> {
            /// Held by this thread for as long as the guard is alive.
            lock: Arc<RwLock<T>>,
            /// As good as a reference that stays on its thread.
            data: PhantomData<*mut T>,
        }

        // SAFETY: a shared guard gives `&T`, and the lock, by which another thread may write: `T: Send`.
        unsafe impl<T: ?Sized + Send + Sync> Sync for $guard<T> {}

        impl<T: ?Sized> $guard<T> {
            /// The guard of an acquisition.
            ///
            /// # Safety
            /// The calling thread has the lock as the guard says, and this acquisition has no guard, nor a borrow through one.
            #[inline]
            unsafe fn new(lock: Arc<RwLock<T>>) -> Self {
                $guard { lock, data: PhantomData }
            }

            /// The lock, which stays held.
            #[inline]
            fn into_held(s: Self) -> Arc<RwLock<T>> {
                let s = ManuallyDrop::new(s);
                // SAFETY: moved out once, as the guard is not dropped.
                unsafe { ptr::read(&s.lock) }
            }

            /// Returns the lock.
            ///
            /// # Example
            /// ```
            #[doc = concat!("use ondeck::{RwLock, ", stringify!($guard), "};")]
            /// use std::sync::Arc;
            ///
            /// let lock = Arc::new(RwLock::new(1));
            #[doc = concat!("let guard = lock.", stringify!($get), "();")]
            #[doc = concat!("assert!(Arc::ptr_eq(", stringify!($guard), "::rwlock(&guard), &lock));")]
            /// ```
            #[inline]
            pub fn rwlock(s: &Self) -> &Arc<RwLock<T>> {
                &s.lock
            }

            /// Releases the lock and returns it.
            ///
            /// # Example
            /// ```
            #[doc = concat!("use ondeck::{RwLock, ", stringify!($guard), "};")]
            ///
            #[doc = concat!("let guard = std::sync::Arc::new(RwLock::new(1)).", stringify!($get), "();")]
            #[doc = concat!("assert!(!", stringify!($guard), "::into_arc(guard).is_locked());")]
            /// ```
            #[inline]
            pub fn into_arc(s: Self) -> Arc<RwLock<T>> {
                let lock = Self::into_held(s);
                // SAFETY: the guard had the lock, and is gone.
                unsafe { lock.raw.$unlock() };
                lock
            }

            /// As [`into_arc`](Self::into_arc), and threads that wait go before those that come.
            ///
            /// # Blocking
            #[doc = concat!("As [`RawRwLock::", stringify!($unlock_fair), "`](crate::RawRwLock::", stringify!($unlock_fair), ").")]
            ///
            /// # Example
            /// As for [`into_arc`](Self::into_arc).
            #[inline]
            pub fn into_arc_fair(s: Self) -> Arc<RwLock<T>> {
                let lock = Self::into_held(s);
                // SAFETY: as in `into_arc`.
                unsafe { lock.raw.$unlock_fair() };
                lock
            }

            /// Releases the lock, and threads that wait go before those that come.
            ///
            /// # Blocking
            /// As [`into_arc_fair`](Self::into_arc_fair).
            ///
            /// # Example
            /// As for [`into_arc`](Self::into_arc).
            #[inline]
            pub fn unlock_fair(s: Self) {
                drop(Self::into_arc_fair(s));
            }
        }

        impl<T: ?Sized> Deref for $guard<T> {
            type Target = T;

            #[inline]
            fn deref(&self) -> &T {
                // SAFETY: the guard has the lock, so nobody else writes the data.
                unsafe { &*self.lock.data_ptr() }
            }
        }

        impl<T: ?Sized> Drop for $guard<T> {
            #[inline]
            fn drop(&mut self) {
                // SAFETY: the guard has the lock. The `Arc` is dropped afterwards.
                unsafe { self.lock.raw.$unlock() };
            }
        }
    };
}

owns_an_arc! {
    /// Access to the data of a [`RwLock`] in an `Arc`, for reading. The guard owns a clone of the `Arc`, and stays on its
    /// thread.
    ///
    /// # Example
    /// ```
    /// use ondeck::{ArcRwLockReadGuard, RwLock};
    ///
    /// let lock = std::sync::Arc::new(RwLock::new(1));
    /// let guard: ArcRwLockReadGuard<i32> = lock.read_arc();
    /// drop(lock);
    /// assert_eq!(*guard, 1);
    /// ```
    ArcRwLockReadGuard, read_arc, unlock_shared unlock_shared_fair
}
owns_an_arc! {
    /// Access to the data of a [`RwLock`] in an `Arc`, for writing. The guard owns a clone of the `Arc`, and stays on its
    /// thread.
    ///
    /// # Example
    /// ```
    /// use ondeck::{ArcRwLockWriteGuard, RwLock};
    ///
    /// let lock = std::sync::Arc::new(RwLock::new(1));
    /// let mut guard: ArcRwLockWriteGuard<i32> = lock.write_arc();
    /// *guard += 1;
    /// assert_eq!(*ArcRwLockWriteGuard::downgrade(guard), 2);
    /// ```
    ArcRwLockWriteGuard, write_arc, unlock_exclusive unlock_exclusive_fair
}
owns_an_arc! {
    /// Access to the data of a [`RwLock`] in an `Arc`, for reading, that can become access for writing. The guard owns a
    /// clone of the `Arc`, and stays on its thread.
    ///
    /// # Example
    /// ```
    /// use ondeck::{ArcRwLockUpgradableReadGuard, RwLock};
    ///
    /// let lock = std::sync::Arc::new(RwLock::new(1));
    /// let guard: ArcRwLockUpgradableReadGuard<i32> = lock.upgradable_read_arc();
    /// *ArcRwLockUpgradableReadGuard::upgrade(guard) += 1;
    /// assert_eq!(*lock.read(), 2);
    /// ```
    ArcRwLockUpgradableReadGuard, upgradable_read_arc, unlock_upgradable unlock_upgradable_fair
}

lets_others_in!(ArcRwLockReadGuard<T>, "std::sync::Arc::new(RwLock::new(1))", "read_arc",
    lock_shared unlock_shared unlock_shared_fair bump_shared);
lets_others_in!(ArcRwLockWriteGuard<T>, "std::sync::Arc::new(RwLock::new(1))", "write_arc",
    lock_exclusive unlock_exclusive unlock_exclusive_fair bump_exclusive);
lets_others_in!(ArcRwLockUpgradableReadGuard<T>, "std::sync::Arc::new(RwLock::new(1))", "upgradable_read_arc",
    lock_upgradable unlock_upgradable unlock_upgradable_fair bump_upgradable);

become_others!(<T> ArcRwLockReadGuard ArcRwLockWriteGuard ArcRwLockUpgradableReadGuard,
    "std::sync::Arc::new(RwLock::new(1))", "_arc");

shows_data!(ArcRwLockReadGuard<T>, ArcRwLockWriteGuard<T>, ArcRwLockUpgradableReadGuard<T>);

/// Acquisitions by `$raw` of the raw lock, those that wait and attempts, and `$make`, which does without.
macro_rules! acquires {
    (
        $guard:ident $make:ident as $make_plain:ident
        waits { $($name:ident as $plain:ident by $raw:ident;)* }
        attempts { $($try_name:ident as $try_plain:ident by $try_raw:ident($($time:ident: $type:ty)?);)* }
    ) => {
        impl<T: ?Sized> RwLock<T> {
            $(
                #[doc = concat!("As [`", stringify!($plain), "`](RwLock::", stringify!($plain), "). The guard owns a clone of the `Arc`.")]
                ///
                /// # Example
                #[doc = concat!("See [`", stringify!($guard), "`].")]
                #[inline]
                pub fn $name(self: &Arc<Self>) -> $guard<T> {
                    self.raw.$raw();
                    // SAFETY: locked just now.
                    unsafe { $guard::new(self.clone()) }
                }
            )*
            $(
                #[doc = concat!("As [`", stringify!($try_plain), "`](RwLock::", stringify!($try_plain), "). The guard owns a clone of the `Arc`.")]
                ///
                /// # Example
                #[doc = concat!("As for [`", stringify!($try_plain), "`](RwLock::", stringify!($try_plain), ").")]
                #[inline]
                pub fn $try_name(self: &Arc<Self> $(, $time: $type)?) -> Option<$guard<T>> {
                    // SAFETY: locked just now.
                    self.raw.$try_raw($($time)?).then(|| unsafe { $guard::new(self.clone()) })
                }
            )*

            #[doc = concat!("As [`", stringify!($make_plain), "`](RwLock::", stringify!($make_plain), "). The guard owns a clone of the `Arc`.")]
            ///
            /// # Safety
            #[doc = concat!("As [`", stringify!($make_plain), "`](RwLock::", stringify!($make_plain), ").")]
            ///
            /// # Example
            #[doc = concat!("As for [`", stringify!($make_plain), "`](RwLock::", stringify!($make_plain), ").")]
            #[inline]
            pub unsafe fn $make(self: &Arc<Self>) -> $guard<T> {
                // SAFETY: the caller's.
                unsafe { $guard::new(self.clone()) }
            }
        }
    };
}

acquires! {
    ArcRwLockReadGuard make_arc_read_guard_unchecked as make_read_guard_unchecked
    waits {
        read_arc as read by lock_shared;
        read_arc_recursive as read_recursive by lock_shared_recursive;
    }
    attempts {
        try_read_arc as try_read by try_lock_shared();
        try_read_arc_for as try_read_for by try_lock_shared_for(timeout: Duration);
        try_read_arc_until as try_read_until by try_lock_shared_until(deadline: Instant);
        try_read_recursive_arc as try_read_recursive by try_lock_shared_recursive();
        try_read_arc_recursive_for as try_read_recursive_for by try_lock_shared_recursive_for(timeout: Duration);
        try_read_arc_recursive_until as try_read_recursive_until by try_lock_shared_recursive_until(deadline: Instant);
    }
}
acquires! {
    ArcRwLockWriteGuard make_arc_write_guard_unchecked as make_write_guard_unchecked
    waits {
        write_arc as write by lock_exclusive;
    }
    attempts {
        try_write_arc as try_write by try_lock_exclusive();
        try_write_arc_for as try_write_for by try_lock_exclusive_for(timeout: Duration);
        try_write_arc_until as try_write_until by try_lock_exclusive_until(deadline: Instant);
    }
}
acquires! {
    ArcRwLockUpgradableReadGuard make_upgradable_arc_guard_unchecked as make_upgradable_guard_unchecked
    waits {
        upgradable_read_arc as upgradable_read by lock_upgradable;
    }
    attempts {
        try_upgradable_read_arc as try_upgradable_read by try_lock_upgradable();
        try_upgradable_read_arc_for as try_upgradable_read_for by try_lock_upgradable_for(timeout: Duration);
        try_upgradable_read_arc_until as try_upgradable_read_until by try_lock_upgradable_until(deadline: Instant);
    }
}

writes_meanwhile!(ArcRwLockUpgradableReadGuard<T>, "std::sync::Arc::new(RwLock::new(1))", "upgradable_read_arc");
