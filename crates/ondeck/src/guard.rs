//! The guards: what a thread holds of a mutex that it has locked.

use crate::narrowing::narrows;
use crate::policy::{Mutex, RawMutex};
use ondeck_core::ondeck::{Balanced, Policy};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

/// A guard shows what its data shows.
macro_rules! shows_data {
    ($($guard:ident<$($lifetime:lifetime,)? T $(, $policy:ident)?>),*) => {$(
        impl<T: ?Sized + std::fmt::Debug $(, $policy: Policy)?> std::fmt::Debug
            for $guard<$($lifetime,)? T $(, $policy)?>
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + std::fmt::Display $(, $policy: Policy)?> std::fmt::Display
            for $guard<$($lifetime,)? T $(, $policy)?>
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                (**self).fmt(f)
            }
        }
    )*};
}
pub(crate) use shows_data;

/// Access to the data of a [`Mutex`]. Dropping the guard releases the mutex. A guard stays on its thread.
///
/// The functions are no methods, so they hide no method of the data. Call them as `MutexGuard::map(guard, f)`.
///
/// # Panics
/// Only if a function panics that you pass in. The guard is dropped then, if it was passed by value.
///
/// # Example
/// See [`crate::MutexGuard`].
#[must_use = "if unused the mutex is released at once"]
#[clippy::has_significant_drop]
pub struct MutexGuard<'a, T: ?Sized + 'a, P: Policy = Balanced> {
    /// Held by this thread for as long as the guard is alive.
    mutex: &'a Mutex<T, P>,
    /// As good as a `&mut T`, that stays on its thread.
    data: PhantomData<*mut T>,
}

// SAFETY: a shared guard gives `&T`, which threads may have if `T: Sync`. It also gives the mutex, with which another
// thread may have the data later: `T: Send`.
unsafe impl<T: ?Sized + Send + Sync, P: Policy> Sync for MutexGuard<'_, T, P> {}

impl<'a, T: ?Sized, P: Policy> MutexGuard<'a, T, P> {
    /// The guard of an acquisition.
    ///
    /// # Safety
    /// The calling thread holds the mutex, and this acquisition has no guard, nor a borrow through one.
    #[inline]
    pub(crate) unsafe fn new(mutex: &'a Mutex<T, P>) -> Self {
        MutexGuard { mutex, data: PhantomData }
    }

    /// Returns the mutex.
    ///
    /// # Example
    /// ```
    /// use ondeck::{Mutex, MutexGuard};
    ///
    /// let mutex = Mutex::new(1);
    /// assert!(std::ptr::eq(MutexGuard::mutex(&mutex.lock()), &mutex));
    /// ```
    #[inline]
    pub fn mutex(s: &Self) -> &'a Mutex<T, P> {
        s.mutex
    }

    /// Releases the mutex, calls `f`, and locks the mutex again, also if `f` panics. Other threads may change the data
    /// meanwhile.
    ///
    /// # Blocking
    /// As [`Mutex::lock`].
    ///
    /// # Panics
    /// If `f` panics. The caller still has the guard then.
    ///
    /// # Example
    /// ```
    /// use ondeck::{Mutex, MutexGuard};
    ///
    /// let mutex = Mutex::new(1);
    /// let mut guard = mutex.lock();
    /// MutexGuard::unlocked(&mut guard, || *mutex.lock() += 1);
    /// assert_eq!(*guard, 2);
    /// ```
    #[inline]
    pub fn unlocked<F, U>(s: &mut Self, f: F) -> U
    where
        F: FnOnce() -> U,
    {
        // SAFETY: the guard holds the mutex, and nothing is borrowed through it until the mutex is held again.
        unsafe { s.mutex.raw.unlocked(RawMutex::unlock, f) }
    }

    /// As [`unlocked`](MutexGuard::unlocked), but gives the mutex to a waiting thread, if there is one.
    ///
    /// # Blocking
    /// As [`Mutex::lock`].
    ///
    /// # Panics
    /// If `f` panics. The caller still has the guard then.
    ///
    /// # Example
    /// As for [`unlocked`](MutexGuard::unlocked).
    #[inline]
    pub fn unlocked_fair<F, U>(s: &mut Self, f: F) -> U
    where
        F: FnOnce() -> U,
    {
        // SAFETY: as in `unlocked`.
        unsafe { s.mutex.raw.unlocked(RawMutex::unlock_fair, f) }
    }

    /// Gives the mutex to a waiting thread, and locks it again. Does nothing if no thread waits.
    ///
    /// # Blocking
    /// As [`Mutex::lock`], if a thread waits.
    ///
    /// # Example
    /// See [`crate::MutexGuard`].
    #[inline]
    pub fn bump(s: &mut Self) {
        // SAFETY: as in `unlocked`.
        unsafe { s.mutex.raw.bump() };
    }

    /// Releases the mutex, and gives it to a waiting thread, if there is one. A plain drop may leave it to whoever comes
    /// first.
    ///
    /// # Example
    /// See [`crate::MutexGuard`].
    #[inline]
    pub fn unlock_fair(s: Self) {
        let s = ManuallyDrop::new(s);
        // SAFETY: the guard holds the mutex, and its drop, which would release it again, does not run.
        unsafe { s.mutex.raw.unlock_fair() };
    }

    /// Gives the data for as long as the mutex is borrowed. The mutex stays locked.
    ///
    /// # Example
    /// ```
    /// use ondeck::{Mutex, MutexGuard};
    ///
    /// let mutex = Mutex::new(1);
    /// *MutexGuard::leak(mutex.lock()) += 1;
    /// assert!(mutex.is_locked());
    /// ```
    #[inline]
    pub fn leak(s: Self) -> &'a mut T {
        let data = ManuallyDrop::new(s).mutex.data_ptr();
        // SAFETY: the mutex stays locked, so nobody else comes to the data while `'a` lasts.
        unsafe { &mut *data }
    }
}

impl<T: ?Sized, P: Policy> Deref for MutexGuard<'_, T, P> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard holds the mutex, so nobody else comes to the data.
        unsafe { &*self.mutex.data_ptr() }
    }
}

impl<T: ?Sized, P: Policy> DerefMut for MutexGuard<'_, T, P> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`; and the guard is borrowed alone.
        unsafe { &mut *self.mutex.data_ptr() }
    }
}

impl<T: ?Sized, P: Policy> Drop for MutexGuard<'_, T, P> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard holds the mutex.
        unsafe { self.mutex.raw.unlock() };
    }
}

/// Access to a part of the data of a [`Mutex`]. [`MutexGuard::map`] makes it. Dropping it releases the mutex. It stays on
/// its thread.
///
/// A [`Condvar`](crate::Condvar) does not accept this guard: while it waits, another thread could replace the part.
///
/// # Example
/// See [`crate::MappedMutexGuard`].
#[must_use = "if unused the mutex is released at once"]
#[clippy::has_significant_drop]
pub struct MappedMutexGuard<'a, T: ?Sized + 'a, P: Policy = Balanced> {
    /// Held by this thread for as long as the guard is alive.
    raw: &'a RawMutex<P>,
    /// No reference, as it would have to be valid until a function ends that drops the guard.
    data: *mut T,
}

// SAFETY: a shared guard gives `&T`, and nothing else: it does not give the mutex.
unsafe impl<T: ?Sized + Sync, P: Policy> Sync for MappedMutexGuard<'_, T, P> {}

impl<'a, T: ?Sized, P: Policy> MappedMutexGuard<'a, T, P> {
    /// The guard of an acquisition.
    ///
    /// # Safety
    /// The calling thread holds the mutex, and this acquisition has no guard. `data` is made of a reference into what the mutex
    /// guards, or of one that outlives `'a`, and nothing else is borrowed from there.
    #[inline]
    unsafe fn new(raw: &'a RawMutex<P>, data: *mut T) -> Self {
        MappedMutexGuard { raw, data }
    }

    /// Releases the mutex, and gives it to a waiting thread, if there is one.
    ///
    /// # Example
    /// ```
    /// use ondeck::{MappedMutexGuard, Mutex, MutexGuard};
    ///
    /// let mutex = Mutex::new((1, 2));
    /// MappedMutexGuard::unlock_fair(MutexGuard::map(mutex.lock(), |pair| &mut pair.1));
    /// assert!(!mutex.is_locked());
    /// ```
    #[inline]
    pub fn unlock_fair(s: Self) {
        let s = ManuallyDrop::new(s);
        // SAFETY: as in `MutexGuard::unlock_fair`.
        unsafe { s.raw.unlock_fair() };
    }
}

impl<T: ?Sized, P: Policy> Deref for MappedMutexGuard<'_, T, P> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: made of a reference that the guard has borrowed from the data; and the mutex is held.
        unsafe { &*self.data }
    }
}

impl<T: ?Sized, P: Policy> DerefMut for MappedMutexGuard<'_, T, P> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`; and the guard is borrowed alone.
        unsafe { &mut *self.data }
    }
}

impl<T: ?Sized, P: Policy> Drop for MappedMutexGuard<'_, T, P> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard holds the mutex.
        unsafe { self.raw.unlock() };
    }
}

narrows!(MutexGuard<'a, T, P> to MappedMutexGuard, [&mut] as [*mut], |s| &s.mutex.raw, "Mutex", "lock.lock()");
narrows!(MappedMutexGuard<'a, T, P> to MappedMutexGuard, [&mut] as [*mut], |s| s.raw,
    "Mutex", "MutexGuard::map(lock.lock(), |all| all)");

shows_data!(MutexGuard<'_, T, P>, MappedMutexGuard<'_, T, P>);
