//! ondeck's lock and condition variable without data.

use crate::recorded::{self, Machine};
use ondeck_core::ondeck::{Balanced, Policy, RawCondvar as Waiters, RawOndeck};
use ondeck_core::{Hardware, Platform};
use std::fmt;
use std::time::{Duration, Instant};

/// Whether a wait of a condition variable timed out.
///
/// # Example
/// ```
/// use ondeck::{Condvar, Mutex, WaitTimeoutResult};
/// use std::time::Duration;
///
/// let (mutex, changed) = (Mutex::new(()), Condvar::new());
/// let result: WaitTimeoutResult = changed.wait_for(&mut mutex.lock(), Duration::ZERO);
/// assert!(result.timed_out());
/// ```
#[derive(Debug, PartialEq, Eq, Copy, Clone)]
pub struct WaitTimeoutResult(pub(crate) bool);

impl WaitTimeoutResult {
    /// True if the wait timed out: no notification came in time, or the condition of the wait still held.
    ///
    /// # Example
    /// See [`WaitTimeoutResult`].
    #[inline]
    #[must_use]
    pub const fn timed_out(self) -> bool {
        self.0
    }
}

/// The lock under [`Mutex`](crate::Mutex), without data. It has 8 bytes.
///
/// Use it if your data is elsewhere. With the features `lock_api-04` and `lock_api-05` it implements the traits of
/// `lock_api`.
///
/// # Blocking, fairness
/// As [`Mutex`](crate::Mutex).
///
/// # Panics
/// Never.
///
/// # Example
/// ```
/// use ondeck::RawMutex;
///
/// static LOCK: RawMutex = RawMutex::new();
///
/// LOCK.lock();
/// assert!(LOCK.is_locked());
/// // SAFETY: acquired above, by this thread.
/// unsafe { LOCK.unlock() };
/// ```
#[repr(transparent)]
pub struct RawMutex<P: Policy = Balanced>(pub(crate) RawOndeck<Machine, P>);

impl<P: Policy> RawMutex<P> {
    /// Makes a free lock.
    ///
    /// # Example
    /// See [`RawMutex`].
    #[inline]
    #[must_use]
    pub const fn new() -> Self {
        RawMutex(RawOndeck::INIT)
    }

    /// Acquires the lock. Waits while another thread holds it.
    ///
    /// # Blocking
    /// May spin and sleep. A thread that holds the lock already waits for ever.
    ///
    /// # Example
    /// See [`RawMutex`].
    #[inline(always)]
    pub fn lock(&self) {
        recorded::acquire(&self.0);
    }

    /// Acquires the lock if it is free, and returns whether it was. Never waits.
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RawMutex::new();
    /// assert!(lock.try_lock() && !lock.try_lock());
    /// ```
    #[inline(always)]
    pub fn try_lock(&self) -> bool {
        recorded::try_acquire(&self.0)
    }

    /// Acquires the lock, and waits for at most `timeout`. Returns false if the timeout passed first.
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RawMutex::new();
    /// assert!(lock.try_lock_for(std::time::Duration::from_millis(1)));
    /// assert!(!lock.try_lock_for(std::time::Duration::from_millis(1)));
    /// ```
    #[inline]
    pub fn try_lock_for(&self, timeout: Duration) -> bool {
        self.try_lock() || recorded::try_acquire_until(&self.0, deadline_in(timeout))
    }

    /// Acquires the lock, and waits at most until `deadline`. Returns false if the deadline passed first.
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RawMutex::new();
    /// assert!(lock.try_lock_until(std::time::Instant::now()));
    /// ```
    #[inline]
    pub fn try_lock_until(&self, deadline: Instant) -> bool {
        self.try_lock() || recorded::try_acquire_until(&self.0, deadline_at(deadline))
    }

    /// Releases the lock.
    ///
    /// # Safety
    /// The calling thread holds the lock.
    ///
    /// # Example
    /// See [`RawMutex`].
    #[inline]
    pub unsafe fn unlock(&self) {
        // SAFETY: the caller holds the lock.
        unsafe { recorded::release(&self.0) };
    }

    /// Releases the lock, and gives it to a waiting thread, if there is one.
    ///
    /// # Safety
    /// The calling thread holds the lock.
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RawMutex::new();
    /// lock.lock();
    /// // SAFETY: acquired above, by this thread.
    /// unsafe { lock.unlock_fair() };
    /// ```
    #[inline]
    pub unsafe fn unlock_fair(&self) {
        // SAFETY: the caller holds the lock.
        unsafe { recorded::release_fair(&self.0) };
    }

    /// Gives the lock to a waiting thread and acquires it again. Does nothing if no thread waits.
    ///
    /// # Safety
    /// The calling thread holds the lock.
    ///
    /// # Blocking
    /// As [`lock`](RawMutex::lock), if a thread waits.
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RawMutex::new();
    /// lock.lock();
    /// // SAFETY: acquired above, by this thread.
    /// unsafe { lock.bump() };
    /// assert!(lock.is_locked());
    /// ```
    #[inline]
    pub unsafe fn bump(&self) {
        if self.0.is_contended() {
            // SAFETY: the caller holds the lock.
            unsafe { self.unlocked(RawMutex::unlock_fair, || ()) };
        }
    }

    /// Returns whether a thread holds the lock. Other threads may change that at any time.
    ///
    /// # Example
    /// See [`RawMutex`].
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.0.is_taken()
    }

    /// Releases the lock by `release`, calls `f`, and acquires the lock again, also if either of them unwinds: the caller has a
    /// guard, which may outlive that. `release` does not unwind, but no guard is to rest on that.
    ///
    /// # Safety
    /// The calling thread holds the lock, and `release` owes its callee no more than that.
    #[inline]
    pub(crate) unsafe fn unlocked<U>(&self, release: unsafe fn(&Self), f: impl FnOnce() -> U) -> U {
        struct Locks<'a, P: Policy>(&'a RawMutex<P>);
        impl<P: Policy> Drop for Locks<'_, P> {
            #[inline]
            fn drop(&mut self) {
                self.0.lock();
            }
        }
        // Before the release.
        let _locks = Locks(self);
        // SAFETY: the caller's.
        unsafe { release(self) };
        f()
    }
}

impl<P: Policy> Default for RawMutex<P> {
    fn default() -> Self {
        RawMutex::new()
    }
}

impl<P: Policy> fmt::Debug for RawMutex<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The condition variable under [`Condvar`](crate::Condvar). It has 16 bytes.
///
/// A wait ends with a notification or with its deadline, never for no reason. So what the notifications return is
/// exact: whether they ended a wait, or how many. Threads may wait with different locks at the same time.
///
/// # Panics
/// Never.
///
/// # Example
/// ```
/// use ondeck::RawCondvar;
///
/// static CHANGED: RawCondvar = RawCondvar::new();
/// assert_eq!(CHANGED.notify_all(), 0);
/// ```
pub struct RawCondvar<P: Policy = Balanced>(Waiters<Machine, P>);

impl<P: Policy> RawCondvar<P> {
    /// Makes a condition variable that nobody waits for.
    ///
    /// # Example
    /// See [`RawCondvar`].
    #[inline]
    #[must_use]
    pub const fn new() -> Self {
        RawCondvar(Waiters::INIT)
    }

    /// Releases `lock`, waits for a notification, and acquires `lock` again.
    ///
    /// # Safety
    /// - The calling thread holds `lock`.
    /// - Nothing is borrowed from the data of the lock: other threads change it meanwhile.
    ///
    /// # Blocking
    /// Sleeps until the thread is notified and has the lock again.
    ///
    /// # Example
    /// ```
    /// use ondeck::{RawCondvar, RawMutex};
    /// use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    ///
    /// let (lock, changed) = (RawMutex::new(), RawCondvar::new());
    /// let is_ready = AtomicBool::new(false);
    /// let set = || {
    ///     lock.lock();
    ///     is_ready.store(true, Relaxed);
    ///     changed.notify_one();
    ///     // SAFETY: acquired above, by this thread.
    ///     unsafe { lock.unlock() };
    /// };
    /// std::thread::scope(|scope| {
    ///     lock.lock();
    ///     scope.spawn(set);
    ///     while !is_ready.load(Relaxed) {
    ///         // SAFETY: this thread holds the lock, and an atomic may be shared.
    ///         unsafe { changed.wait(&lock) };
    ///     }
    ///     // SAFETY: `wait` has acquired it again.
    ///     unsafe { lock.unlock() };
    /// });
    /// ```
    #[inline]
    pub unsafe fn wait(&self, lock: &RawMutex<P>) {
        // SAFETY: the caller holds the lock.
        unsafe { recorded::wait(&self.0, &lock.0, None) };
    }

    /// As [`wait`](RawCondvar::wait), but waits for a notification for at most `timeout`.
    ///
    /// # Safety
    /// As [`wait`](RawCondvar::wait).
    ///
    /// # Example
    /// ```
    /// use ondeck::{RawCondvar, RawMutex};
    /// use std::time::Duration;
    ///
    /// let (lock, changed) = (RawMutex::new(), RawCondvar::new());
    /// lock.lock();
    /// // SAFETY: this thread holds the lock.
    /// let result = unsafe { changed.wait_for(&lock, Duration::from_millis(1)) };
    /// assert!(result.timed_out());
    /// ```
    #[inline]
    pub unsafe fn wait_for(&self, lock: &RawMutex<P>, timeout: Duration) -> WaitTimeoutResult {
        // SAFETY: the caller holds the lock.
        WaitTimeoutResult(!unsafe { recorded::wait(&self.0, &lock.0, Some(deadline_in(timeout))) })
    }

    /// As [`wait`](RawCondvar::wait), but waits for a notification at most until `deadline`.
    ///
    /// # Safety
    /// As [`wait`](RawCondvar::wait).
    ///
    /// # Example
    /// As for [`wait_for`](RawCondvar::wait_for).
    #[inline]
    pub unsafe fn wait_until(&self, lock: &RawMutex<P>, deadline: Instant) -> WaitTimeoutResult {
        // SAFETY: the caller holds the lock.
        WaitTimeoutResult(!unsafe { recorded::wait(&self.0, &lock.0, Some(deadline_at(deadline))) })
    }

    /// Ends the wait of the thread that has waited longest. Returns whether there was one.
    ///
    /// # Example
    /// See [`wait`](RawCondvar::wait).
    #[inline]
    pub fn notify_one(&self) -> bool {
        recorded::notify_one(&self.0)
    }

    /// Ends the waits of all threads that wait now, and returns their number.
    ///
    /// # Example
    /// See [`RawCondvar`].
    #[inline]
    pub fn notify_all(&self) -> usize {
        recorded::notify_all(&self.0)
    }
}

impl<P: Policy> Default for RawCondvar<P> {
    fn default() -> Self {
        RawCondvar::new()
    }
}

impl<P: Policy> fmt::Debug for RawCondvar<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The point of the platform's clock that is `timeout` from now. The clock's end, after 584 years, stands for any later
/// one.
#[cold]
pub(crate) fn deadline_in(timeout: Duration) -> u64 {
    Hardware::now_ns().saturating_add(u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX))
}

/// The same moment on the platform's clock. An `Instant` does not tell its origin, so its distance from now is used.
/// The platform's clock is read second: a deadline may come late by the moment between, but not early.
#[cold]
pub(crate) fn deadline_at(instant: Instant) -> u64 {
    deadline_in(instant.saturating_duration_since(Instant::now()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(size_of::<RawMutex>(), 8);
        assert_eq!(size_of::<RawCondvar>(), 16);
        assert_eq!(size_of::<crate::Mutex<u64>>(), 16);
    }

    #[test]
    fn a_guard_holds_its_lock_also_after_a_release_that_unwinds() {
        /// # Safety
        /// The calling thread holds the lock.
        unsafe fn release_and_panic(lock: &RawMutex) {
            // SAFETY: the caller's.
            unsafe { lock.unlock() };
            panic!("in a release");
        }
        let lock = RawMutex::new();
        lock.lock();
        let calls = std::cell::Cell::new(0);
        let call = || calls.set(calls.get() + 1);
        // SAFETY: acquired above, by this thread.
        let unlocked = || unsafe { lock.unlocked(release_and_panic, call) };
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(unlocked));
        assert!(result.is_err() && lock.is_locked());
        assert_eq!(calls.get(), 0);
    }

    #[test]
    fn deadlines_do_not_overflow_and_are_not_early() {
        assert_eq!(deadline_in(Duration::MAX), u64::MAX);
        let before = Hardware::now_ns();
        assert!(deadline_in(Duration::ZERO) >= before);
        let second = Duration::from_secs(1);
        let (deadline, instant) = (deadline_in(second), Instant::now() + second);
        assert!(deadline_at(instant) >= deadline);
        assert!(deadline_at(Instant::now()) >= before, "a moment that has passed is now");
    }
}
