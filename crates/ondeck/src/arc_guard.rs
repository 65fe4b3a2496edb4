//! The guard that owns an `Arc` of its mutex.

use crate::guard::shows_data;
use crate::policy::{Mutex, RawMutex};
use ondeck_core::ondeck::{Balanced, Policy};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Access to the data of a [`Mutex`] in an `Arc`. The guard owns a clone of the `Arc`, and stays on its thread.
///
/// The functions are no methods, so they hide no method of the data. Call them as `ArcMutexGuard::bump(&mut guard)`.
///
/// # Example
/// See [`crate::ArcMutexGuard`].
#[must_use = "if unused the mutex is released at once"]
#[clippy::has_significant_drop]
pub struct ArcMutexGuard<T: ?Sized, P: Policy = Balanced> {
    /// Held by this thread for as long as the guard is alive.
    mutex: Arc<Mutex<T, P>>,
    /// As good as a `&mut T`, that stays on its thread.
    data: PhantomData<*mut T>,
}

// SAFETY: as for `MutexGuard`; the mutex may be had from the guard here too.
unsafe impl<T: ?Sized + Send + Sync, P: Policy> Sync for ArcMutexGuard<T, P> {}

impl<T: ?Sized, P: Policy> ArcMutexGuard<T, P> {
    /// The guard of an acquisition.
    ///
    /// # Safety
    /// The calling thread holds the mutex, and this acquisition has no guard, nor a borrow through one.
    #[inline]
    pub(crate) unsafe fn new(mutex: &Arc<Mutex<T, P>>) -> Self {
        ArcMutexGuard { mutex: mutex.clone(), data: PhantomData }
    }

    /// The mutex, which stays held.
    #[inline]
    fn into_held(s: Self) -> Arc<Mutex<T, P>> {
        let s = ManuallyDrop::new(s);
        // SAFETY: moved out once, as the guard is not dropped.
        unsafe { ptr::read(&s.mutex) }
    }

    /// Returns the mutex.
    ///
    /// # Example
    /// ```
    /// use ondeck::{ArcMutexGuard, Mutex};
    /// use std::sync::Arc;
    ///
    /// let mutex = Arc::new(Mutex::new(1));
    /// assert!(Arc::ptr_eq(ArcMutexGuard::mutex(&mutex.lock_arc()), &mutex));
    /// ```
    #[inline]
    pub fn mutex(s: &Self) -> &Arc<Mutex<T, P>> {
        &s.mutex
    }

    /// Releases the mutex and returns it.
    ///
    /// # Example
    /// ```
    /// use ondeck::{ArcMutexGuard, Mutex};
    ///
    /// let guard = std::sync::Arc::new(Mutex::new(1)).lock_arc();
    /// assert!(!ArcMutexGuard::into_arc(guard).is_locked());
    /// ```
    #[inline]
    pub fn into_arc(s: Self) -> Arc<Mutex<T, P>> {
        let mutex = Self::into_held(s);
        // SAFETY: the guard held the mutex, and is gone.
        unsafe { mutex.force_unlock() };
        mutex
    }

    /// As [`into_arc`](ArcMutexGuard::into_arc), and gives the mutex to a waiting thread, if there is one.
    ///
    /// # Example
    /// As for [`into_arc`](ArcMutexGuard::into_arc).
    #[inline]
    pub fn into_arc_fair(s: Self) -> Arc<Mutex<T, P>> {
        let mutex = Self::into_held(s);
        // SAFETY: as in `into_arc`.
        unsafe { mutex.force_unlock_fair() };
        mutex
    }

    /// Releases the mutex, and gives it to a waiting thread, if there is one.
    ///
    /// # Example
    /// ```
    /// use ondeck::{ArcMutexGuard, Mutex};
    ///
    /// let mutex = std::sync::Arc::new(Mutex::new(1));
    /// ArcMutexGuard::unlock_fair(mutex.lock_arc());
    /// assert!(!mutex.is_locked());
    /// ```
    #[inline]
    pub fn unlock_fair(s: Self) {
        drop(Self::into_arc_fair(s));
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
    /// use ondeck::{ArcMutexGuard, Mutex};
    ///
    /// let mutex = std::sync::Arc::new(Mutex::new(1));
    /// let mut guard = mutex.lock_arc();
    /// ArcMutexGuard::unlocked(&mut guard, || *mutex.lock() += 1);
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

    /// As [`unlocked`](ArcMutexGuard::unlocked), but gives the mutex to a waiting thread, if there is one.
    ///
    /// # Blocking
    /// As [`Mutex::lock`].
    ///
    /// # Panics
    /// If `f` panics. The caller still has the guard then.
    ///
    /// # Example
    /// As for [`unlocked`](ArcMutexGuard::unlocked).
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
    /// ```
    /// use ondeck::{ArcMutexGuard, Mutex};
    ///
    /// let mutex = std::sync::Arc::new(Mutex::new(1));
    /// let mut guard = mutex.lock_arc();
    /// ArcMutexGuard::bump(&mut guard);
    /// assert!(mutex.is_locked());
    /// # drop(guard);
    /// ```
    #[inline]
    pub fn bump(s: &mut Self) {
        // SAFETY: as in `unlocked`.
        unsafe { s.mutex.raw.bump() };
    }
}

impl<T: ?Sized, P: Policy> Mutex<T, P> {
    /// As [`lock`](Mutex::lock). The guard owns a clone of the `Arc`.
    ///
    /// # Example
    /// See [`ArcMutexGuard`].
    #[inline]
    pub fn lock_arc(self: &Arc<Self>) -> ArcMutexGuard<T, P> {
        self.raw.lock();
        // SAFETY: locked just now.
        unsafe { ArcMutexGuard::new(self) }
    }

    /// As [`try_lock`](Mutex::try_lock). The guard owns a clone of the `Arc`.
    ///
    /// # Example
    /// ```
    /// let mutex = std::sync::Arc::new(ondeck::Mutex::new(0));
    /// let guard = mutex.try_lock_arc().unwrap();
    /// assert!(mutex.try_lock_arc().is_none());
    /// # drop(guard);
    /// ```
    #[inline]
    pub fn try_lock_arc(self: &Arc<Self>) -> Option<ArcMutexGuard<T, P>> {
        // SAFETY: locked just now.
        self.raw.try_lock().then(|| unsafe { ArcMutexGuard::new(self) })
    }

    /// As [`try_lock_for`](Mutex::try_lock_for). The guard owns a clone of the `Arc`.
    ///
    /// # Example
    /// As for [`try_lock_arc`](Mutex::try_lock_arc).
    #[inline]
    pub fn try_lock_arc_for(self: &Arc<Self>, timeout: Duration) -> Option<ArcMutexGuard<T, P>> {
        // SAFETY: locked just now.
        self.raw.try_lock_for(timeout).then(|| unsafe { ArcMutexGuard::new(self) })
    }

    /// As [`try_lock_until`](Mutex::try_lock_until). The guard owns a clone of the `Arc`.
    ///
    /// # Example
    /// As for [`try_lock_arc`](Mutex::try_lock_arc).
    #[inline]
    pub fn try_lock_arc_until(self: &Arc<Self>, deadline: Instant) -> Option<ArcMutexGuard<T, P>> {
        // SAFETY: locked just now.
        self.raw.try_lock_until(deadline).then(|| unsafe { ArcMutexGuard::new(self) })
    }

    /// As [`make_guard_unchecked`](Mutex::make_guard_unchecked). The guard owns a clone of the `Arc`.
    ///
    /// # Safety
    /// As [`make_guard_unchecked`](Mutex::make_guard_unchecked).
    ///
    /// # Example
    /// As for [`make_guard_unchecked`](Mutex::make_guard_unchecked).
    #[inline]
    pub unsafe fn make_arc_guard_unchecked(self: &Arc<Self>) -> ArcMutexGuard<T, P> {
        // SAFETY: the caller's duty is the same.
        unsafe { ArcMutexGuard::new(self) }
    }
}

impl<T: ?Sized, P: Policy> Deref for ArcMutexGuard<T, P> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard holds the mutex, so nobody else comes to the data.
        unsafe { &*self.mutex.data_ptr() }
    }
}

impl<T: ?Sized, P: Policy> DerefMut for ArcMutexGuard<T, P> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`; and the guard is borrowed alone.
        unsafe { &mut *self.mutex.data_ptr() }
    }
}

impl<T: ?Sized, P: Policy> Drop for ArcMutexGuard<T, P> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard holds the mutex. The `Arc` is dropped afterwards.
        unsafe { self.mutex.raw.unlock() };
    }
}

shows_data!(ArcMutexGuard<T, P>);
