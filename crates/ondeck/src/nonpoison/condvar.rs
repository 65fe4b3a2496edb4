//! The condition variable: [`crate::Condvar`] with the standard library's names.

use super::{MutexGuard, WaitTimeoutResult};
use std::fmt;
use std::time::Duration;

/// A condition variable for [`Mutex`](super::Mutex), with the methods of `std::sync::nonpoison::Condvar`.
///
/// A wait ends only with a notification or a timeout. Threads may wait with different mutexes at the same time.
///
/// # Blocking, fairness
/// As [`crate::Condvar`].
///
/// # Example
/// ```
/// use ondeck::nonpoison::{Condvar, Mutex};
///
/// let (is_ready, changed) = (Mutex::new(false), Condvar::new());
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         is_ready.set(true);
///         changed.notify_one();
///     });
///     let mut guard = is_ready.lock();
///     while !*guard {
///         changed.wait(&mut guard);
///     }
/// });
/// ```
pub struct Condvar {
    inner: crate::Condvar,
}

impl Condvar {
    /// Makes a condition variable that nobody waits for.
    ///
    /// # Example
    /// ```
    /// static CHANGED: ondeck::nonpoison::Condvar = ondeck::nonpoison::Condvar::new();
    /// ```
    #[inline]
    #[must_use]
    pub const fn new() -> Condvar {
        Condvar { inner: crate::Condvar::new() }
    }

    /// Releases the mutex, waits for a notification, and acquires the mutex again.
    ///
    /// # Blocking
    /// Sleeps until the thread is notified and has the mutex again.
    ///
    /// # Example
    /// See [`Condvar`].
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        self.inner.wait(&mut guard.inner);
    }

    /// Waits until `condition` is false. The condition is checked first, and again after each notification.
    ///
    /// # Panics
    /// If `condition` panics. The caller still has the guard then.
    ///
    /// # Example
    /// ```
    /// use ondeck::nonpoison::{Condvar, Mutex};
    ///
    /// let (is_pending, changed) = (Mutex::new(true), Condvar::new());
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         is_pending.set(false);
    ///         changed.notify_one();
    ///     });
    ///     let mut guard = is_pending.lock();
    ///     changed.wait_while(&mut guard, |is_pending| *is_pending);
    ///     assert!(!*guard);
    /// });
    /// ```
    pub fn wait_while<T, F>(&self, guard: &mut MutexGuard<'_, T>, condition: F)
    where
        F: FnMut(&mut T) -> bool,
    {
        self.inner.wait_while(&mut guard.inner, condition);
    }

    /// Releases the mutex, waits for a notification for at most `dur`, and acquires the mutex again.
    ///
    /// To acquire the mutex again may take longer than `dur`.
    ///
    /// # Example
    /// ```
    /// use ondeck::nonpoison::{Condvar, Mutex};
    /// use std::time::Duration;
    ///
    /// let (mutex, changed) = (Mutex::new(()), Condvar::new());
    /// assert!(changed.wait_timeout(&mut mutex.lock(), Duration::from_millis(1)).timed_out());
    /// ```
    pub fn wait_timeout<T>(&self, guard: &mut MutexGuard<'_, T>, dur: Duration) -> WaitTimeoutResult {
        self.inner.wait_for(&mut guard.inner, dur)
    }

    /// Waits until `condition` is false, for at most `dur`. The result is "timed out" if the condition is still true
    /// then.
    ///
    /// # Panics
    /// If `condition` panics. The caller still has the guard then.
    ///
    /// # Example
    /// ```
    /// use ondeck::nonpoison::{Condvar, Mutex};
    /// use std::time::Duration;
    ///
    /// let (is_pending, changed) = (Mutex::new(true), Condvar::new());
    /// let mut guard = is_pending.lock();
    /// let result = changed.wait_timeout_while(&mut guard, Duration::from_millis(1), |is_pending| *is_pending);
    /// assert!(*guard && result.timed_out());
    /// ```
    pub fn wait_timeout_while<T, F>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        dur: Duration,
        condition: F,
    ) -> WaitTimeoutResult
    where
        F: FnMut(&mut T) -> bool,
    {
        self.inner.wait_while_for(&mut guard.inner, condition, dur)
    }

    /// Ends the wait of the thread that has waited longest, if there is one.
    ///
    /// # Example
    /// See [`Condvar`].
    #[inline]
    pub fn notify_one(&self) {
        self.inner.notify_one();
    }

    /// Ends the waits of all threads that wait now.
    ///
    /// # Example
    /// ```
    /// ondeck::nonpoison::Condvar::new().notify_all();
    /// ```
    #[inline]
    pub fn notify_all(&self) {
        self.inner.notify_all();
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

impl Default for Condvar {
    fn default() -> Condvar {
        Condvar::new()
    }
}
