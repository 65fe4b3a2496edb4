//! The mutex with poison: a flag beside [`crate::Mutex`].

use super::{LockResult, MutexGuard, PoisonError, TryLockError, TryLockResult};
use std::fmt;
use std::mem;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A mutex around data, with the methods of `std::sync::Mutex`.
///
/// # Panics
/// The mutex never panics. If a thread panics while it holds a guard, the mutex is poisoned and released.
///
/// # Blocking, fairness
/// As [`crate::Mutex`].
///
/// # Example
/// ```
/// use ondeck::poison::Mutex;
///
/// let total = Mutex::new(1);
/// *total.lock().unwrap() += 1;
/// assert_eq!(total.into_inner().unwrap(), 2);
/// ```
pub struct Mutex<T: ?Sized> {
    /// Holders write and read it, and anybody may read it as a hint. Relaxed is enough everywhere, because the mutex
    /// orders it among holders.
    pub(super) is_poisoned: AtomicBool,
    inner: crate::Mutex<T>,
}

// A panic while the data was changed shows in the poison.
impl<T: ?Sized> UnwindSafe for Mutex<T> {}
impl<T: ?Sized> RefUnwindSafe for Mutex<T> {}

impl<T> Mutex<T> {
    /// Makes a free mutex around `t`.
    ///
    /// # Example
    /// ```
    /// static TOTAL: ondeck::poison::Mutex<u64> = ondeck::poison::Mutex::new(0);
    /// ```
    #[inline]
    pub const fn new(t: T) -> Mutex<T> {
        Mutex { is_poisoned: AtomicBool::new(false), inner: crate::Mutex::new(t) }
    }

    /// Consumes the mutex and returns the data.
    ///
    /// # Errors
    /// If the mutex is poisoned. The error contains the data.
    ///
    /// # Example
    /// ```
    /// assert_eq!(ondeck::poison::Mutex::new(7).into_inner().unwrap(), 7);
    /// ```
    #[inline]
    pub fn into_inner(self) -> LockResult<T> {
        let is_poisoned = self.is_poisoned();
        or_poison(self.inner.into_inner(), is_poisoned)
    }

    /// Returns a clone of the data. The mutex is held while the clone is made.
    ///
    /// # Errors
    /// If the mutex is poisoned. The error contains no clone.
    ///
    /// # Panics
    /// If `clone` panics. The mutex is poisoned then.
    ///
    /// # Blocking
    /// As [`lock`](Mutex::lock).
    ///
    /// # Example
    /// ```
    /// let names = ondeck::poison::Mutex::new(vec!["on", "deck"]);
    /// assert_eq!(names.get_cloned().unwrap(), ["on", "deck"]);
    /// ```
    pub fn get_cloned(&self) -> Result<T, PoisonError<()>>
    where
        T: Clone,
    {
        match self.lock() {
            Ok(guard) => Ok(T::clone(&guard)),
            Err(_) => Err(PoisonError::new(())),
        }
    }

    /// Replaces the data by `value`. The old data is dropped after the mutex has been released.
    ///
    /// # Errors
    /// If the mutex is poisoned. The data is then unchanged, and the error contains `value`.
    ///
    /// # Panics
    /// If dropping the old data panics. The mutex is released by then, and is not poisoned.
    ///
    /// # Blocking
    /// As [`lock`](Mutex::lock).
    ///
    /// # Example
    /// ```
    /// let limit = ondeck::poison::Mutex::new(10);
    /// limit.set(20).unwrap();
    /// assert_eq!(limit.get_cloned().unwrap(), 20);
    /// ```
    pub fn set(&self, value: T) -> Result<(), PoisonError<T>> {
        self.replace(value).map(drop)
    }

    /// Replaces the data by `value`, and returns the old data.
    ///
    /// # Errors
    /// If the mutex is poisoned. The data is then unchanged, and the error contains `value`, not the data.
    ///
    /// # Blocking
    /// As [`lock`](Mutex::lock).
    ///
    /// # Example
    /// ```
    /// let pending = ondeck::poison::Mutex::new(vec![1, 2]);
    /// assert_eq!(pending.replace(Vec::new()).unwrap(), [1, 2]);
    /// assert!(pending.lock().unwrap().is_empty());
    /// ```
    pub fn replace(&self, value: T) -> LockResult<T> {
        match self.lock() {
            Ok(mut guard) => Ok(mem::replace(&mut *guard, value)),
            Err(_) => Err(PoisonError::new(value)),
        }
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Locks the mutex. Waits while another thread holds it.
    ///
    /// # Errors
    /// If the mutex is poisoned. The error contains the guard, so the mutex is locked all the same.
    ///
    /// # Blocking
    /// May spin and sleep. A thread that holds the mutex already waits for ever.
    ///
    /// # Example
    /// ```
    /// let mutex = ondeck::poison::Mutex::new(0);
    /// *mutex.lock().unwrap() = 10;
    /// assert_eq!(*mutex.lock().unwrap(), 10);
    /// ```
    #[inline(always)]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        MutexGuard::new(self, self.inner.lock())
    }

    /// Locks the mutex if it is free. Never waits.
    ///
    /// # Errors
    /// `WouldBlock` if the mutex is taken. `Poisoned`, with the guard, if the mutex is poisoned.
    ///
    /// # Example
    /// ```
    /// use ondeck::poison::{Mutex, TryLockError};
    ///
    /// let mutex = Mutex::new(0);
    /// let guard = mutex.try_lock().unwrap();
    /// assert!(matches!(mutex.try_lock(), Err(TryLockError::WouldBlock)));
    /// # drop(guard);
    /// ```
    #[inline(always)]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let guard = self.inner.try_lock().ok_or(TryLockError::WouldBlock)?;
        Ok(MutexGuard::new(self, guard)?)
    }

    /// Returns whether the mutex is poisoned. Another thread may change that at any time.
    ///
    /// # Example
    /// ```
    /// use ondeck::poison::Mutex;
    ///
    /// let mutex = Mutex::new(0);
    /// std::thread::scope(|scope| {
    ///     let holder = scope.spawn(|| {
    ///         let _guard = mutex.lock().unwrap();
    ///         panic!("while holding the mutex");
    ///     });
    ///     assert!(holder.join().is_err());
    /// });
    /// assert!(mutex.is_poisoned());
    /// ```
    #[inline]
    pub fn is_poisoned(&self) -> bool {
        self.is_poisoned.load(Relaxed)
    }

    /// Marks the mutex as not poisoned. Call it when you have repaired the data.
    ///
    /// # Example
    /// ```
    /// use ondeck::poison::Mutex;
    ///
    /// let mutex = Mutex::new(0);
    /// # std::thread::scope(|scope| {
    /// #     let holder = scope.spawn(|| {
    /// #         let _guard = mutex.lock().unwrap();
    /// #         panic!("while holding the mutex");
    /// #     });
    /// #     assert!(holder.join().is_err());
    /// # });
    /// let mut guard = mutex.lock().unwrap_or_else(|poison| {
    ///     let mut guard = poison.into_inner();
    ///     *guard = 1;
    ///     mutex.clear_poison();
    ///     guard
    /// });
    /// *guard += 1;
    /// assert!(!mutex.is_poisoned());
    /// ```
    #[inline]
    pub fn clear_poison(&self) {
        self.is_poisoned.store(false, Relaxed);
    }

    /// Returns the data without locking. Nobody else can have a reference, so there is nothing to wait for.
    ///
    /// # Errors
    /// If the mutex is poisoned. The error contains the reference.
    ///
    /// # Example
    /// ```
    /// let mut mutex = ondeck::poison::Mutex::new(0);
    /// *mutex.get_mut().unwrap() = 10;
    /// assert_eq!(*mutex.lock().unwrap(), 10);
    /// ```
    #[inline]
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let is_poisoned = self.is_poisoned();
        or_poison(self.inner.get_mut(), is_poisoned)
    }

    /// Returns the address of the data. Code that dereferences it must make sure that nobody else accesses the data
    /// meanwhile, and that the mutex still exists.
    ///
    /// # Example
    /// ```
    /// let mutex = ondeck::poison::Mutex::new(1);
    /// let guard = mutex.lock().unwrap();
    /// assert_eq!(mutex.data_ptr(), std::ptr::from_ref(&*guard).cast_mut());
    /// ```
    #[inline]
    pub fn data_ptr(&self) -> *mut T {
        self.inner.data_ptr()
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(t: T) -> Self {
        Mutex::new(t)
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Mutex");
        match self.try_lock() {
            Ok(guard) => text.field("data", &&*guard),
            Err(TryLockError::Poisoned(poison)) => text.field("data", &&**poison.get_ref()),
            Err(TryLockError::WouldBlock) => text.field("data", &format_args!("<locked>")),
        };
        text.field("poisoned", &self.is_poisoned()).finish_non_exhaustive()
    }
}

#[inline]
pub(super) fn or_poison<T>(value: T, is_poisoned: bool) -> LockResult<T> {
    if is_poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
}
