//! The mutex with poison: a flag beside [`crate::Mutex`].

use super::{LockResult, MutexGuard, PoisonError, TryLockError, TryLockResult};
use std::fmt;
use std::mem;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A mutual exclusion lock around data, with the methods of `std::sync::Mutex`.
///
/// # Panics
/// The mutex never does. A panic of the caller while it holds a guard poisons the mutex.
///
/// # Blocking, fairness
/// As for [`crate::Mutex`].
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
    /// Written and read by holders, and read by anybody as a hint, so Relaxed is enough everywhere: among holders the
    /// mutex orders it.
    pub(super) is_poisoned: AtomicBool,
    inner: crate::Mutex<T>,
}

// A panic while the data was changed shows in the poison.
impl<T: ?Sized> UnwindSafe for Mutex<T> {}
impl<T: ?Sized> RefUnwindSafe for Mutex<T> {}

impl<T> Mutex<T> {
    /// A free mutex around `t`.
    ///
    /// # Example
    /// ```
    /// static TOTAL: ondeck::poison::Mutex<u64> = ondeck::poison::Mutex::new(0);
    /// ```
    #[inline]
    pub const fn new(t: T) -> Mutex<T> {
        Mutex { is_poisoned: AtomicBool::new(false), inner: crate::Mutex::new(t) }
    }

    /// Takes the data out; an error that contains the data if the mutex is poisoned.
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

    /// A clone of the data, made while the mutex is held.
    ///
    /// # Errors
    /// If the mutex is poisoned; there is no clone in the error.
    ///
    /// # Panics
    /// If `clone` does, which poisons the mutex.
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

    /// Puts `value` in the place of the data, which is dropped after the mutex has been released.
    ///
    /// # Errors
    /// If the mutex is poisoned: the data is as it was, and `value` is in the error.
    ///
    /// # Panics
    /// If dropping the old data does; the mutex is released then, and not poisoned.
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

    /// Puts `value` in the place of the data, and gives the old data.
    ///
    /// # Errors
    /// If the mutex is poisoned: the data is as it was, and it is `value` that is in the error.
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
    /// Waits until the mutex is the caller's; an error that contains the guard if it is poisoned.
    ///
    /// # Blocking
    /// May spin and sleep. If the calling thread holds the mutex already, it waits for ever.
    ///
    /// # Example
    /// ```
    /// let mutex = ondeck::poison::Mutex::new(0);
    /// *mutex.lock().unwrap() = 10;
    /// assert_eq!(*mutex.lock().unwrap(), 10);
    /// ```
    #[inline]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        MutexGuard::new(self, self.inner.lock())
    }

    /// Acquires the mutex if it is free, without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if it is taken, `Poisoned`, with the guard, if it is poisoned.
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
    #[inline]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let guard = self.inner.try_lock().ok_or(TryLockError::WouldBlock)?;
        Ok(MutexGuard::new(self, guard)?)
    }

    /// Whether the mutex is poisoned; another thread may change that at any time.
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

    /// Takes the poison away, for callers that have set the data right.
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

    /// The data, without acquiring anything: the caller's is the only reference.
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

    /// The address of the data. Whoever follows it sees to it that nobody else has access meanwhile, and that the mutex is
    /// still there.
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
        match self.inner.try_lock() {
            Some(guard) => text.field("data", &&*guard),
            None => text.field("data", &format_args!("<locked>")),
        };
        text.field("poisoned", &self.is_poisoned()).finish_non_exhaustive()
    }
}

#[inline]
pub(super) fn or_poison<T>(value: T, is_poisoned: bool) -> LockResult<T> {
    if is_poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
}
