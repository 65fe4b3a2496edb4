//! The condition variable for the mutexes of this crate.

use crate::WaitTimeoutResult;
use crate::policy::{MutexGuard, RawCondvar};
use ondeck_core::ondeck::{Balanced, Policy};
use std::fmt;
use std::time::{Duration, Instant};

/// A condition variable for [`Mutex`](crate::policy::Mutex), with the policy as a parameter. [`crate::Condvar`] is the
/// one with the default policy.
///
/// A wait ends with a notification or with its deadline, never for no reason. Threads may wait with different mutexes at
/// the same time.
///
/// # Blocking, fairness
/// As [`crate::Condvar`].
///
/// # Example
/// ```
/// use ondeck::policy::{Condvar, LowLatency, Mutex};
/// use std::time::Duration;
///
/// let (mutex, changed) = (Mutex::<_, LowLatency>::new(()), Condvar::new());
/// assert!(changed.wait_for(&mut mutex.lock(), Duration::from_millis(1)).timed_out());
/// ```
pub struct Condvar<P: Policy = Balanced> {
    raw: RawCondvar<P>,
}

impl<P: Policy> Condvar<P> {
    /// Makes a condition variable that nobody waits for.
    ///
    /// # Example
    /// ```
    /// static CHANGED: ondeck::Condvar = ondeck::Condvar::new();
    /// ```
    #[inline]
    #[must_use]
    pub const fn new() -> Self {
        Condvar { raw: RawCondvar::new() }
    }

    /// Returns the condition variable without guards.
    ///
    /// # Example
    /// ```
    /// assert!(!ondeck::Condvar::new().raw().notify_one());
    /// ```
    #[inline]
    pub fn raw(&self) -> &RawCondvar<P> {
        &self.raw
    }

    /// Ends the wait of the thread that has waited longest. Returns whether there was one.
    ///
    /// # Example
    /// See [`crate::Condvar`].
    #[inline]
    pub fn notify_one(&self) -> bool {
        self.raw.notify_one()
    }

    /// Ends the waits of all threads that wait now, and returns their number.
    ///
    /// # Example
    /// See [`crate::Condvar`].
    #[inline]
    pub fn notify_all(&self) -> usize {
        self.raw.notify_all()
    }

    /// Releases the mutex, waits for a notification, and locks the mutex again.
    ///
    /// # Blocking
    /// Sleeps until the thread is notified and has the mutex again.
    ///
    /// # Example
    /// ```
    /// use ondeck::{Condvar, Mutex};
    ///
    /// let (is_ready, changed) = (Mutex::new(false), Condvar::new());
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         *is_ready.lock() = true;
    ///         changed.notify_one();
    ///     });
    ///     let mut guard = is_ready.lock();
    ///     while !*guard {
    ///         changed.wait(&mut guard);
    ///     }
    /// });
    /// ```
    #[inline]
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T, P>) {
        // SAFETY: the guard holds the mutex, and nothing is borrowed through it until the mutex is held again.
        unsafe { self.raw.wait(&MutexGuard::mutex(guard).raw) };
    }

    /// As [`wait`](Condvar::wait), but waits for a notification for at most `timeout`.
    ///
    /// To lock the mutex again may take longer than that.
    ///
    /// # Example
    /// See [`WaitTimeoutResult`].
    #[inline]
    pub fn wait_for<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T, P>, timeout: Duration) -> WaitTimeoutResult {
        // SAFETY: as in `wait`.
        unsafe { self.raw.wait_for(&MutexGuard::mutex(guard).raw, timeout) }
    }

    /// As [`wait`](Condvar::wait), but waits for a notification at most until `deadline`.
    ///
    /// To lock the mutex again may take longer than that.
    ///
    /// # Example
    /// ```
    /// use std::time::{Duration, Instant};
    ///
    /// let (mutex, changed) = (ondeck::Mutex::new(()), ondeck::Condvar::new());
    /// let deadline = Instant::now() + Duration::from_millis(1);
    /// assert!(changed.wait_until(&mut mutex.lock(), deadline).timed_out());
    /// ```
    #[inline]
    pub fn wait_until<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T, P>, deadline: Instant) -> WaitTimeoutResult {
        // SAFETY: as in `wait`.
        unsafe { self.raw.wait_until(&MutexGuard::mutex(guard).raw, deadline) }
    }

    /// Waits until `condition` is false. The condition is checked first, and again after each notification.
    ///
    /// # Blocking
    /// As [`wait`](Condvar::wait).
    ///
    /// # Panics
    /// If `condition` panics. The caller still has the guard then.
    ///
    /// # Example
    /// See [`crate::Condvar`].
    #[inline]
    pub fn wait_while<T: ?Sized, F>(&self, guard: &mut MutexGuard<'_, T, P>, mut condition: F)
    where
        F: FnMut(&mut T) -> bool,
    {
        while condition(guard) {
            self.wait(guard);
        }
    }

    /// As [`wait_while`](Condvar::wait_while), but waits for at most `timeout` in all. The result is "timed out" if the
    /// condition is still true then.
    ///
    /// # Panics
    /// If `condition` panics. The caller still has the guard then.
    ///
    /// # Example
    /// ```
    /// use std::time::Duration;
    ///
    /// let (is_pending, changed) = (ondeck::Mutex::new(true), ondeck::Condvar::new());
    /// let mut guard = is_pending.lock();
    /// let result = changed.wait_while_for(&mut guard, |is_pending| *is_pending, Duration::from_millis(1));
    /// assert!(*guard && result.timed_out());
    /// ```
    #[inline]
    pub fn wait_while_for<T: ?Sized, F>(
        &self,
        guard: &mut MutexGuard<'_, T, P>,
        condition: F,
        timeout: Duration,
    ) -> WaitTimeoutResult
    where
        F: FnMut(&mut T) -> bool,
    {
        match Instant::now().checked_add(timeout) {
            Some(deadline) => self.wait_while_until(guard, condition, deadline),
            // What no clock reaches is no deadline.
            None => {
                self.wait_while(guard, condition);
                WaitTimeoutResult(false)
            }
        }
    }

    /// As [`wait_while`](Condvar::wait_while), but waits at most until `deadline`. The result is "timed out" if the
    /// condition is still true then.
    ///
    /// # Panics
    /// If `condition` panics. The caller still has the guard then.
    ///
    /// # Example
    /// As for [`wait_while_for`](Condvar::wait_while_for).
    #[inline]
    pub fn wait_while_until<T: ?Sized, F>(
        &self,
        guard: &mut MutexGuard<'_, T, P>,
        mut condition: F,
        deadline: Instant,
    ) -> WaitTimeoutResult
    where
        F: FnMut(&mut T) -> bool,
    {
        let mut is_late = false;
        while condition(guard) {
            // The condition is checked once more after the deadline.
            if is_late {
                return WaitTimeoutResult(true);
            }
            is_late = self.wait_until(guard, deadline).timed_out();
        }
        WaitTimeoutResult(false)
    }
}

impl<P: Policy> Default for Condvar<P> {
    #[inline]
    fn default() -> Self {
        Condvar::new()
    }
}

impl<P: Policy> fmt::Debug for Condvar<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}
