//! The reader-writer lock with poison: a flag beside [`crate::RwLock`], and guards of which the writer's poisons.

use super::guard::{PoisoningGuard, gives_data};
use super::mutex::or_poison;
use super::{LockResult, PoisonError, TryLockError, TryLockResult};
use std::fmt;
use std::mem;
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A lock around data that many threads may read at once, or one thread may write. It has the methods of
/// `std::sync::RwLock`.
///
/// # Panics
/// If a thread panics while it holds a write guard, the lock is poisoned and released. A panic with a read guard only
/// releases it. A lock that has 524,288 readers panics as [`crate::RwLock`] does.
///
/// # Blocking, fairness
/// As [`crate::RwLock`].
///
/// # Example
/// ```
/// use ondeck::poison::RwLock;
///
/// let total = RwLock::new(1);
/// *total.write().unwrap() += 1;
/// let (one, other) = (total.read().unwrap(), total.try_read().unwrap());
/// assert_eq!((*one, *other), (2, 2));
/// ```
pub struct RwLock<T: ?Sized> {
    /// Relaxed is enough everywhere, because the lock orders what counts. A sentry sets it while its thread has the
    /// lock for writing. Whoever acquires the lock later, to read or to write, acquires what that writer released, and
    /// so finds it set. A reader loads it while it has the lock. A writer that comes later acquires what the reader
    /// releases after the load, so no reader finds the poison of a later writer. Two things are not ordered:
    /// `clear_poison`, which anybody may call at any time, and a load without the lock, which is a hint.
    is_poisoned: AtomicBool,
    inner: crate::RwLock<T>,
}

// A panic while the data was changed shows in the poison.
impl<T: ?Sized> UnwindSafe for RwLock<T> {}
impl<T: ?Sized> RefUnwindSafe for RwLock<T> {}

impl<T> RwLock<T> {
    /// Makes a free lock around `t`.
    ///
    /// # Example
    /// ```
    /// static TOTAL: ondeck::poison::RwLock<u64> = ondeck::poison::RwLock::new(0);
    /// ```
    #[inline]
    pub const fn new(t: T) -> RwLock<T> {
        RwLock { is_poisoned: AtomicBool::new(false), inner: crate::RwLock::new(t) }
    }

    /// Consumes the lock and returns the data.
    ///
    /// # Errors
    /// If the lock is poisoned. The error contains the data.
    ///
    /// # Example
    /// As for [`get_mut`](RwLock::get_mut).
    #[inline]
    pub fn into_inner(self) -> LockResult<T> {
        let is_poisoned = self.is_poisoned();
        or_poison(self.inner.into_inner(), is_poisoned)
    }

    /// Returns a clone of the data. The lock is held for reading while the clone is made.
    ///
    /// # Errors
    /// If the lock is poisoned. The error contains no clone.
    ///
    /// # Blocking, panics
    /// As [`read`](RwLock::read), and if `clone` panics. The lock is released and not poisoned then.
    ///
    /// # Example
    /// As for [`replace`](RwLock::replace).
    pub fn get_cloned(&self) -> Result<T, PoisonError<()>>
    where
        T: Clone,
    {
        match self.read() {
            Ok(guard) => Ok(T::clone(&guard)),
            Err(_) => Err(PoisonError::new(())),
        }
    }

    /// Replaces the data by `value`. The old data is dropped after the lock has been released.
    ///
    /// # Panics
    /// If dropping the old data panics. The lock is released by then, and is not poisoned.
    ///
    /// # Errors, blocking, example
    /// As for [`replace`](RwLock::replace).
    pub fn set(&self, value: T) -> Result<(), PoisonError<T>> {
        self.replace(value).map(drop)
    }

    /// Replaces the data by `value`, and returns the old data.
    ///
    /// # Errors
    /// If the lock is poisoned. The data is then unchanged, and the error contains `value`, not the data.
    ///
    /// # Blocking
    /// As [`write`](RwLock::write).
    ///
    /// # Example
    /// ```
    /// let limit = ondeck::poison::RwLock::new(10);
    /// limit.set(20).unwrap();
    /// assert_eq!(limit.replace(30).unwrap(), 20);
    /// assert_eq!(limit.get_cloned().unwrap(), 30);
    /// ```
    pub fn replace(&self, value: T) -> LockResult<T> {
        match self.write() {
            Ok(mut guard) => Ok(mem::replace(&mut *guard, value)),
            Err(_) => Err(PoisonError::new(value)),
        }
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Locks for reading. Waits while a thread writes or waits to write.
    ///
    /// # Errors
    /// If the lock is poisoned. The error contains the guard, so the lock is locked all the same.
    ///
    /// # Blocking, panics
    /// As [`crate::RwLock::read`]: a thread that already reads must not call this.
    ///
    /// # Example
    /// See [`RwLock`].
    #[inline]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let inner = self.inner.read();
        or_poison(RwLockReadGuard { inner }, self.is_poisoned())
    }

    /// Locks for reading if no thread writes or waits to write. Never waits.
    ///
    /// # Errors, panics
    /// As [`read`](RwLock::read). The error is `Poisoned`, or `WouldBlock` if the lock is taken.
    ///
    /// # Example
    /// ```
    /// use ondeck::poison::{RwLock, TryLockError};
    ///
    /// let lock = RwLock::new(1);
    /// let reads = lock.try_read().unwrap();
    /// assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
    /// # drop(reads);
    /// ```
    #[inline]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let inner = self.inner.try_read().ok_or(TryLockError::WouldBlock)?;
        Ok(or_poison(RwLockReadGuard { inner }, self.is_poisoned())?)
    }

    /// Locks for writing. Waits while any other thread has the lock.
    ///
    /// # Errors
    /// As [`read`](RwLock::read).
    ///
    /// # Blocking
    /// As [`crate::RwLock::write`].
    ///
    /// # Example
    /// See [`RwLock`].
    #[inline]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        self.writer(self.inner.write())
    }

    /// Locks for writing if no thread has the lock, and none waits for its readers to leave. Never waits.
    ///
    /// # Errors, example
    /// As for [`try_read`](RwLock::try_read).
    #[inline]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let guard = self.inner.try_write().ok_or(TryLockError::WouldBlock)?;
        Ok(self.writer(guard)?)
    }

    /// Returns whether the lock is poisoned. Another thread may change that at any time.
    ///
    /// # Example
    /// See [`RwLockWriteGuard`].
    #[inline]
    pub fn is_poisoned(&self) -> bool {
        self.is_poisoned.load(Relaxed)
    }

    /// Marks the lock as not poisoned. Call it when you have repaired the data.
    ///
    /// # Example
    /// See [`RwLockWriteGuard`].
    #[inline]
    pub fn clear_poison(&self) {
        self.is_poisoned.store(false, Relaxed);
    }

    /// Returns the data without locking. Nobody else can have a reference, so there is nothing to wait for.
    ///
    /// # Errors
    /// If the lock is poisoned. The error contains the reference.
    ///
    /// # Example
    /// ```
    /// let mut lock = ondeck::poison::RwLock::new(0);
    /// *lock.get_mut().unwrap() = 10;
    /// assert_eq!(lock.into_inner().unwrap(), 10);
    /// ```
    #[inline]
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let is_poisoned = self.is_poisoned();
        or_poison(self.inner.get_mut(), is_poisoned)
    }

    #[inline]
    fn writer<'a>(&'a self, inner: crate::RwLockWriteGuard<'a, T>) -> LockResult<RwLockWriteGuard<'a, T>> {
        or_poison(RwLockWriteGuard { guard: PoisoningGuard::new(&self.is_poisoned, inner) }, self.is_poisoned())
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(t: T) -> Self {
        RwLock::new(t)
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> RwLock<T> {
        RwLock::new(T::default())
    }
}

/// Shows the data, or `<locked>` if a thread writes. Never waits.
impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("RwLock");
        match self.inner.try_read_recursive() {
            Some(guard) => text.field("data", &&*guard),
            None => text.field("data", &format_args!("<locked>")),
        };
        text.field("poisoned", &self.is_poisoned()).finish_non_exhaustive()
    }
}

/// Access to the data of a [`RwLock`], for reading. Dropping the guard releases the lock, and never poisons it. A guard
/// stays on its thread.
///
/// # Example
/// As for [`RwLockWriteGuard::downgrade`].
#[must_use = "if unused the lock is released at once"]
#[clippy::has_significant_drop]
pub struct RwLockReadGuard<'a, T: ?Sized + 'a> {
    inner: crate::RwLockReadGuard<'a, T>,
}

// As `&T`, and as in the standard library: a reader that panics leaves no poison behind.
impl<T: ?Sized + RefUnwindSafe> UnwindSafe for RwLockReadGuard<'_, T> {}
impl<T: ?Sized + RefUnwindSafe> RefUnwindSafe for RwLockReadGuard<'_, T> {}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

/// Access to the data of a [`RwLock`], for writing. Dropping the guard releases the lock. If a panic drops it, the lock
/// is also poisoned. A guard stays on its thread.
///
/// # Example
/// ```
/// use ondeck::poison::{RwLock, RwLockWriteGuard};
///
/// let lock = RwLock::new(0);
/// std::thread::scope(|scope| {
///     let writer = scope.spawn(|| {
///         let _guard = lock.write().unwrap();
///         panic!("while writing");
///     });
///     assert!(writer.join().is_err());
/// });
/// assert!(lock.is_poisoned());
/// let mut guard: RwLockWriteGuard<'_, i32> = lock.write().unwrap_err().into_inner();
/// *guard = 1;
/// lock.clear_poison();
/// drop(guard);
/// assert_eq!(*lock.read().unwrap(), 1);
/// ```
#[must_use = "if unused the lock is released at once"]
#[clippy::has_significant_drop]
pub struct RwLockWriteGuard<'a, T: ?Sized + 'a> {
    guard: PoisoningGuard<'a, crate::RwLockWriteGuard<'a, T>>,
}

// A panic while the data was changed shows in the poison.
impl<T: ?Sized> UnwindSafe for RwLockWriteGuard<'_, T> {}
impl<T: ?Sized> RefUnwindSafe for RwLockWriteGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Goes on reading. No other thread writes in between. Readers that wait come in. From here on a panic does not
    /// poison. Call it as `RwLockWriteGuard::downgrade(guard)`: as it is no method, it hides no method of the data.
    ///
    /// # Example
    /// ```
    /// use ondeck::poison::{RwLock, RwLockReadGuard, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new(1);
    /// let guard: RwLockReadGuard<'_, i32> = RwLockWriteGuard::downgrade(lock.write().unwrap());
    /// assert_eq!(*guard, *lock.read().unwrap());
    /// ```
    #[inline]
    pub fn downgrade(s: Self) -> RwLockReadGuard<'a, T> {
        let PoisoningGuard { sentry, inner } = s.guard;
        // First, so that the readers that come in now find the poison if a panic brought the thread here.
        drop(sentry);
        RwLockReadGuard { inner: crate::RwLockWriteGuard::downgrade(inner) }
    }
}

gives_data!(RwLockWriteGuard);
crate::guard::shows_data!(RwLockReadGuard<'_, T>);
