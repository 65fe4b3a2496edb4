//! The condition variable for mutexes with poison: [`crate::Condvar`], whose waits take a guard and return it.

use super::{LockResult, MutexGuard, PoisonError};
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::{Duration, Instant};

/// Whether a wait of a [`Condvar`] timed out.
///
/// It takes the place of `std::sync::WaitTimeoutResult`, of which only the standard library can make a value.
///
/// # Example
/// ```
/// use ondeck::poison::{Condvar, Mutex, WaitTimeoutResult};
/// use std::time::Duration;
///
/// let (mutex, changed) = (Mutex::new(()), Condvar::new());
/// let (_guard, result) = changed.wait_timeout(mutex.lock().unwrap(), Duration::ZERO).unwrap();
/// let result: WaitTimeoutResult = result;
/// assert!(result.timed_out());
/// ```
#[derive(Debug, PartialEq, Eq, Copy, Clone)]
pub struct WaitTimeoutResult(pub(crate) bool);

impl WaitTimeoutResult {
    /// True if the wait timed out: no notification came in time, or the condition of the wait still held.
    ///
    /// # Example
    /// See [`WaitTimeoutResult`].
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

/// A condition variable for [`Mutex`](super::Mutex), with the methods of `std::sync::Condvar`.
///
/// A wait ends only with a notification or a timeout. Threads may wait with different mutexes at the same time.
///
/// # Errors
/// If the mutex is poisoned when a wait acquires it again, the wait returns the guard in a [`PoisonError`].
///
/// # Blocking, fairness
/// As [`crate::Condvar`].
///
/// # Example
/// ```
/// use ondeck::poison::{Condvar, Mutex};
///
/// let (is_ready, changed) = (Mutex::new(false), Condvar::new());
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         *is_ready.lock().unwrap() = true;
///         changed.notify_one();
///     });
///     let mut guard = is_ready.lock().unwrap();
///     while !*guard {
///         guard = changed.wait(guard).unwrap();
///     }
/// });
/// ```
pub struct Condvar {
    inner: crate::Condvar,
}

// Holds no data that a panic could leave half changed.
impl UnwindSafe for Condvar {}
impl RefUnwindSafe for Condvar {}

impl Condvar {
    /// Makes a condition variable that nobody waits for.
    ///
    /// # Example
    /// ```
    /// static CHANGED: ondeck::poison::Condvar = ondeck::poison::Condvar::new();
    /// ```
    #[inline]
    #[must_use]
    pub const fn new() -> Condvar {
        Condvar { inner: crate::Condvar::new() }
    }

    /// Releases the mutex, waits for a notification, and acquires the mutex again.
    ///
    /// # Errors
    /// If the mutex is poisoned when it is acquired again.
    ///
    /// # Example
    /// See [`Condvar`].
    pub fn wait<'a, T>(&self, mut guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.inner.wait(guard.inner());
        guard.or_poison()
    }

    /// Waits until `condition` is false. The condition is checked first, and again after each notification.
    ///
    /// # Errors
    /// If the mutex is poisoned after a wait.
    ///
    /// # Panics
    /// If `condition` panics. The mutex is poisoned and released then.
    ///
    /// # Example
    /// ```
    /// use ondeck::poison::{Condvar, Mutex};
    ///
    /// let (is_pending, changed) = (Mutex::new(true), Condvar::new());
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         *is_pending.lock().unwrap() = false;
    ///         changed.notify_one();
    ///     });
    ///     let guard = changed.wait_while(is_pending.lock().unwrap(), |is_pending| *is_pending).unwrap();
    ///     assert!(!*guard);
    /// });
    /// ```
    pub fn wait_while<'a, T, F>(&self, mut guard: MutexGuard<'a, T>, mut condition: F) -> LockResult<MutexGuard<'a, T>>
    where
        F: FnMut(&mut T) -> bool,
    {
        while condition(&mut *guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// As [`wait_timeout`](Condvar::wait_timeout), with the timeout in milliseconds. The flag is false if the wait
    /// timed out.
    ///
    /// # Errors
    /// If the mutex is poisoned after the wait.
    ///
    /// # Example
    /// ```
    /// # #![allow(deprecated)]
    /// use ondeck::poison::{Condvar, Mutex};
    ///
    /// let (mutex, changed) = (Mutex::new(()), Condvar::new());
    /// let (_guard, is_notified) = changed.wait_timeout_ms(mutex.lock().unwrap(), 1).unwrap();
    /// assert!(!is_notified);
    /// ```
    #[deprecated(since = "0.1.0", note = "as in the standard library; use `wait_timeout`")]
    pub fn wait_timeout_ms<'a, T>(&self, guard: MutexGuard<'a, T>, ms: u32) -> LockResult<(MutexGuard<'a, T>, bool)> {
        match self.wait_timeout(guard, Duration::from_millis(u64::from(ms))) {
            Ok((guard, result)) => Ok((guard, !result.timed_out())),
            Err(poison) => {
                let (guard, result) = poison.into_inner();
                Err(PoisonError::new((guard, !result.timed_out())))
            }
        }
    }

    /// Releases the mutex, waits for a notification for at most `dur`, and acquires the mutex again.
    ///
    /// To acquire the mutex again may take longer than `dur`.
    ///
    /// # Errors
    /// If the mutex is poisoned when it is acquired again.
    ///
    /// # Example
    /// ```
    /// use ondeck::poison::{Condvar, Mutex};
    /// use std::time::Duration;
    ///
    /// let (mutex, changed) = (Mutex::new(()), Condvar::new());
    /// let (_guard, result) = changed.wait_timeout(mutex.lock().unwrap(), Duration::ZERO).unwrap();
    /// assert!(result.timed_out());
    /// ```
    pub fn wait_timeout<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        dur: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let result = WaitTimeoutResult(self.inner.wait_for(guard.inner(), dur).timed_out());
        match guard.or_poison() {
            Ok(guard) => Ok((guard, result)),
            Err(poison) => Err(PoisonError::new((poison.into_inner(), result))),
        }
    }

    /// Waits until `condition` is false, for at most `dur`. The result is "timed out" if the condition is still true
    /// then.
    ///
    /// # Errors
    /// If the mutex is poisoned after a wait.
    ///
    /// # Panics
    /// If `condition` panics. The mutex is poisoned and released then.
    ///
    /// # Example
    /// ```
    /// use ondeck::poison::{Condvar, Mutex};
    /// use std::time::Duration;
    ///
    /// let (is_pending, changed) = (Mutex::new(true), Condvar::new());
    /// let guard = is_pending.lock().unwrap();
    /// let (guard, result) = changed.wait_timeout_while(guard, Duration::from_millis(1), |is_pending| *is_pending).unwrap();
    /// assert!(*guard && result.timed_out());
    /// ```
    pub fn wait_timeout_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        dur: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>
    where
        F: FnMut(&mut T) -> bool,
    {
        let start = Instant::now();
        loop {
            if !condition(&mut *guard) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            let Some(rest) = dur.checked_sub(start.elapsed()) else {
                return Ok((guard, WaitTimeoutResult(true)));
            };
            guard = self.wait_timeout(guard, rest)?.0;
        }
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
    /// ondeck::poison::Condvar::new().notify_all();
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
