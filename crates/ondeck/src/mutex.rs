//! The mutex: ondeck's lock beside the data that it guards.

use crate::policy::{MutexGuard, RawMutex};
use ondeck_core::ondeck::{Balanced, Policy};
use std::cell::UnsafeCell;
use std::fmt;
use std::time::{Duration, Instant};

/// A mutex around data, with the policy as a parameter. [`crate::Mutex`] is the one with the default policy.
///
/// # Panics
/// The mutex never panics. If a thread panics while it holds a guard, the mutex is released.
///
/// # Blocking, fairness
/// The [crate's page](crate) describes how threads wait, and who gets the mutex next.
///
/// # Example
/// ```
/// use ondeck::policy::{LowLatency, Mutex};
///
/// let total: Mutex<u64, LowLatency> = Mutex::new(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub struct Mutex<T: ?Sized, P: Policy = Balanced> {
    /// Released only by guards, and by the caller of an unsafe method.
    pub(crate) raw: RawMutex<P>,
    data: UnsafeCell<T>,
}

// SAFETY: a shared mutex gives `&mut T` to one thread at a time, each of which sees what those before did. So the data
// is sent from thread to thread. The mutex does not share it; a guard that is shared asks for `T: Sync` itself.
unsafe impl<T: ?Sized + Send, P: Policy> Sync for Mutex<T, P> {}

impl<T, P: Policy> Mutex<T, P> {
    /// Makes a free mutex around `data`.
    ///
    /// # Example
    /// ```
    /// static TOTAL: ondeck::Mutex<u64> = ondeck::Mutex::new(0);
    /// ```
    #[inline]
    pub const fn new(data: T) -> Self {
        Mutex::from_raw(RawMutex::new(), data)
    }

    /// Makes a mutex of a lock and its data.
    ///
    /// # Example
    /// ```
    /// use ondeck::{Mutex, RawMutex};
    ///
    /// let mutex = Mutex::from_raw(RawMutex::new(), 7);
    /// assert_eq!(*mutex.lock(), 7);
    /// ```
    #[inline]
    pub const fn from_raw(raw: RawMutex<P>, data: T) -> Self {
        Mutex { raw, data: UnsafeCell::new(data) }
    }

    /// Consumes the mutex and returns the data.
    ///
    /// # Example
    /// ```
    /// assert_eq!(ondeck::Mutex::new(7).into_inner(), 7);
    /// ```
    #[inline]
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }

    /// Consumes the mutex and returns the lock and the data.
    ///
    /// # Example
    /// ```
    /// let (raw, data) = ondeck::Mutex::new(7).into_inner_with_raw();
    /// assert!(!raw.is_locked() && data == 7);
    /// ```
    #[inline]
    pub fn into_inner_with_raw(self) -> (RawMutex<P>, T) {
        (self.raw, self.data.into_inner())
    }
}

impl<T: ?Sized, P: Policy> Mutex<T, P> {
    /// Locks the mutex. Waits while another thread holds it.
    ///
    /// # Blocking
    /// May spin and sleep. A thread that holds the mutex already waits for ever.
    ///
    /// # Example
    /// ```
    /// let mutex = ondeck::Mutex::new(0);
    /// *mutex.lock() = 10;
    /// assert_eq!(*mutex.lock(), 10);
    /// ```
    #[inline(always)]
    pub fn lock(&self) -> MutexGuard<'_, T, P> {
        self.raw.lock();
        // SAFETY: locked just now.
        unsafe { MutexGuard::new(self) }
    }

    /// Locks the mutex if it is free. Returns `None` if it is taken. Never waits.
    ///
    /// # Example
    /// ```
    /// let mutex = ondeck::Mutex::new(0);
    /// let guard = mutex.try_lock().unwrap();
    /// assert!(mutex.try_lock().is_none());
    /// # drop(guard);
    /// ```
    #[inline(always)]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T, P>> {
        // SAFETY: locked just now.
        self.raw.try_lock().then(|| unsafe { MutexGuard::new(self) })
    }

    /// Locks the mutex, and waits for at most `timeout`. Returns `None` if the timeout passed first.
    ///
    /// # Blocking
    /// As [`lock`](Mutex::lock), until the timeout. A thread that holds the mutex already waits until then.
    ///
    /// # Example
    /// ```
    /// use std::time::Duration;
    ///
    /// let mutex = ondeck::Mutex::new(0);
    /// let guard = mutex.try_lock_for(Duration::from_millis(1)).unwrap();
    /// assert!(mutex.try_lock_for(Duration::from_millis(1)).is_none());
    /// # drop(guard);
    /// ```
    #[inline]
    pub fn try_lock_for(&self, timeout: Duration) -> Option<MutexGuard<'_, T, P>> {
        // SAFETY: locked just now.
        self.raw.try_lock_for(timeout).then(|| unsafe { MutexGuard::new(self) })
    }

    /// Locks the mutex, and waits at most until `deadline`. Returns `None` if the deadline passed first.
    ///
    /// # Blocking
    /// As [`try_lock_for`](Mutex::try_lock_for).
    ///
    /// # Example
    /// ```
    /// use std::time::{Duration, Instant};
    ///
    /// let deadline = Instant::now() + Duration::from_millis(1);
    /// let mutex = ondeck::Mutex::new(0);
    /// let guard = mutex.try_lock_until(deadline).unwrap();
    /// assert!(mutex.try_lock_until(deadline).is_none());
    /// # drop(guard);
    /// ```
    #[inline]
    pub fn try_lock_until(&self, deadline: Instant) -> Option<MutexGuard<'_, T, P>> {
        // SAFETY: locked just now.
        self.raw.try_lock_until(deadline).then(|| unsafe { MutexGuard::new(self) })
    }

    /// Returns the data without locking. Nobody else can have a reference, so there is nothing to wait for.
    ///
    /// # Example
    /// ```
    /// let mut mutex = ondeck::Mutex::new(0);
    /// *mutex.get_mut() = 10;
    /// assert_eq!(*mutex.lock(), 10);
    /// ```
    #[inline]
    pub const fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }

    /// Returns whether a thread holds the mutex. Other threads may change that at any time.
    ///
    /// # Example
    /// ```
    /// let mutex = ondeck::Mutex::new(0);
    /// let guard = mutex.lock();
    /// assert!(mutex.is_locked());
    /// # drop(guard);
    /// ```
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }

    /// Returns the address of the data. Code that dereferences it must make sure that nobody else accesses the data
    /// meanwhile, and that the mutex still exists.
    ///
    /// # Example
    /// ```
    /// let mutex = ondeck::Mutex::new(1);
    /// let guard = mutex.lock();
    /// assert_eq!(mutex.data_ptr(), std::ptr::from_ref(&*guard).cast_mut());
    /// ```
    #[inline]
    pub const fn data_ptr(&self) -> *mut T {
        self.data.get()
    }

    /// Returns the lock.
    ///
    /// # Safety
    /// The caller releases this lock only where the calling thread holds it. Afterwards no guard of this acquisition is used
    /// or dropped, and nothing is used that was borrowed through it, as by [`MutexGuard::leak`].
    ///
    /// # Example
    /// ```
    /// let mutex = ondeck::Mutex::new(1);
    /// // SAFETY: the lock is not released here.
    /// assert!(!unsafe { mutex.raw() }.is_locked());
    /// ```
    #[inline]
    pub unsafe fn raw(&self) -> &RawMutex<P> {
        &self.raw
    }

    /// Makes a guard for an acquisition that has none.
    ///
    /// # Safety
    /// The calling thread holds the mutex. There is no other guard for this acquisition, and nothing is used any more that
    /// was borrowed through one, as by [`MutexGuard::leak`].
    ///
    /// # Example
    /// ```
    /// let mutex = ondeck::Mutex::new(1);
    /// std::mem::forget(mutex.lock());
    /// // SAFETY: locked above by this thread, and the guard is forgotten.
    /// let guard = unsafe { mutex.make_guard_unchecked() };
    /// assert_eq!(*guard, 1);
    /// ```
    #[inline]
    pub unsafe fn make_guard_unchecked(&self) -> MutexGuard<'_, T, P> {
        // SAFETY: the caller's duty is the same.
        unsafe { MutexGuard::new(self) }
    }

    /// Releases the mutex whose guard has been forgotten.
    ///
    /// # Safety
    /// The calling thread holds the mutex. No guard of this acquisition is used or dropped afterwards, and nothing is used
    /// that was borrowed through one.
    ///
    /// # Example
    /// ```
    /// let mutex = ondeck::Mutex::new(1);
    /// std::mem::forget(mutex.lock());
    /// // SAFETY: locked above by this thread, and the guard is forgotten.
    /// unsafe { mutex.force_unlock() };
    /// assert!(!mutex.is_locked());
    /// ```
    #[inline]
    pub unsafe fn force_unlock(&self) {
        // SAFETY: the caller holds the mutex.
        unsafe { self.raw.unlock() };
    }

    /// As [`force_unlock`](Mutex::force_unlock), and gives the mutex to a waiting thread, if there is one.
    ///
    /// # Safety
    /// As [`force_unlock`](Mutex::force_unlock).
    ///
    /// # Example
    /// As for [`force_unlock`](Mutex::force_unlock).
    #[inline]
    pub unsafe fn force_unlock_fair(&self) {
        // SAFETY: the caller holds the mutex.
        unsafe { self.raw.unlock_fair() };
    }
}

impl<T, P: Policy> From<T> for Mutex<T, P> {
    #[inline]
    fn from(data: T) -> Self {
        Mutex::new(data)
    }
}

impl<T: Default, P: Policy> Default for Mutex<T, P> {
    #[inline]
    fn default() -> Self {
        Mutex::new(T::default())
    }
}

/// Shows the data, or `<locked>` if the mutex is taken. Never waits.
impl<T: ?Sized + fmt::Debug, P: Policy> fmt::Debug for Mutex<T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Mutex");
        match self.try_lock() {
            Some(guard) => text.field("data", &&*guard).finish(),
            None => text.field("data", &format_args!("<locked>")).finish(),
        }
    }
}
