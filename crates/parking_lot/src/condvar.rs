//! The condition variable: `ondeck`'s, with a count that refuses a second mutex.

mod room;

use crate::{MutexGuard, RawMutex};
use ondeck::RawCondvar;
use room::Room;
use std::fmt;
use std::time::{Duration, Instant};

/// Whether a wait timed out.
#[derive(Debug, PartialEq, Eq, Copy, Clone)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// True if the deadline passed before anybody notified this thread.
    #[inline]
    pub fn timed_out(self) -> bool {
        self.0
    }
}

/// When a wait gives up.
#[derive(Clone, Copy)]
enum Deadline {
    Never,
    In(Duration),
    At(Instant),
}

/// A condition variable for [`Mutex`](crate::Mutex): 24 bytes.
///
/// A notification moves threads to those that sleep for the mutex. They wake one by one as the mutex becomes free. A
/// wait ends with a notification or its deadline, never for no reason. `notify_one` ends the wait of the thread that
/// has waited longest.
///
/// # Panics
/// A wait panics if another thread waits here with a different mutex, as in the original. Two cases are not noticed: a
/// notification is under way, or the addresses of the two mutexes look alike, which happens once in a million. The wait
/// works then all the same.
///
/// # Example
/// ```
/// use parking_lot::{Condvar, Mutex};
/// use std::time::Duration;
///
/// let (is_ready, changed) = (Mutex::new(false), Condvar::new());
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         *is_ready.lock() = true;
///         changed.notify_all();
///     });
///     let mut guard = is_ready.lock();
///     changed.wait_while(&mut guard, |is_ready| !*is_ready);
///     assert!(changed.wait_for(&mut guard, Duration::from_millis(1)).timed_out());
/// });
/// ```
pub struct Condvar {
    raw: RawCondvar,
    room: Room,
}

impl Condvar {
    /// Makes a condition variable that nobody waits for.
    #[inline]
    pub const fn new() -> Self {
        Condvar { raw: RawCondvar::new(), room: Room::new() }
    }

    /// Ends the wait of the thread that has waited longest. Returns whether there was one.
    #[inline]
    pub fn notify_one(&self) -> bool {
        !self.room.is_empty() && self.room.call(|| usize::from(self.raw.notify_one())) == 1
    }

    /// Ends the waits of all threads that wait now, and returns their number.
    #[inline]
    pub fn notify_all(&self) -> usize {
        if self.room.is_empty() { 0 } else { self.room.call(|| self.raw.notify_all()) }
    }

    /// Releases the mutex, sleeps until a notification comes, and acquires the mutex again.
    ///
    /// # Panics
    /// If another thread waits here with a different mutex.
    #[inline]
    pub fn wait<T: ?Sized>(&self, mutex_guard: &mut MutexGuard<'_, T>) {
        self.wait_once(mutex_guard, Deadline::Never);
    }

    /// As [`wait`](Condvar::wait), but waits for a notification at most until `timeout`.
    ///
    /// # Panics
    /// As [`wait`](Condvar::wait).
    #[inline]
    pub fn wait_until<T: ?Sized>(&self, mutex_guard: &mut MutexGuard<'_, T>, timeout: Instant) -> WaitTimeoutResult {
        self.wait_once(mutex_guard, Deadline::At(timeout))
    }

    /// As [`wait`](Condvar::wait), but waits for a notification for at most `timeout`.
    ///
    /// # Panics
    /// As [`wait`](Condvar::wait).
    #[inline]
    pub fn wait_for<T: ?Sized>(&self, mutex_guard: &mut MutexGuard<'_, T>, timeout: Duration) -> WaitTimeoutResult {
        self.wait_once(mutex_guard, Deadline::In(timeout))
    }

    /// Waits until `condition` is false for the data.
    ///
    /// # Panics
    /// As [`wait`](Condvar::wait).
    #[inline]
    pub fn wait_while<T, F>(&self, mutex_guard: &mut MutexGuard<'_, T>, condition: F)
    where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        self.wait_again(mutex_guard, condition, Deadline::Never);
    }

    /// As [`wait_while`](Condvar::wait_while), but waits at most until `timeout`.
    ///
    /// # Panics
    /// As [`wait`](Condvar::wait).
    #[inline]
    pub fn wait_while_until<T, F>(
        &self,
        mutex_guard: &mut MutexGuard<'_, T>,
        condition: F,
        timeout: Instant,
    ) -> WaitTimeoutResult
    where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        self.wait_again(mutex_guard, condition, Deadline::At(timeout))
    }

    /// As [`wait_while`](Condvar::wait_while), but waits for at most `timeout` in all.
    ///
    /// # Panics
    /// As [`wait`](Condvar::wait).
    #[inline]
    pub fn wait_while_for<T: ?Sized, F>(
        &self,
        mutex_guard: &mut MutexGuard<'_, T>,
        condition: F,
        timeout: Duration,
    ) -> WaitTimeoutResult
    where
        F: FnMut(&mut T) -> bool,
    {
        // What no clock reaches is no deadline.
        let deadline = Instant::now().checked_add(timeout).map_or(Deadline::Never, Deadline::At);
        self.wait_again(mutex_guard, condition, deadline)
    }

    fn wait_again<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
        deadline: Deadline,
    ) -> WaitTimeoutResult {
        let mut result = WaitTimeoutResult(false);
        // Ends with the condition or the deadline.
        while !result.timed_out() && condition(guard) {
            result = self.wait_once(guard, deadline);
        }
        result
    }

    fn wait_once<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, deadline: Deadline) -> WaitTimeoutResult {
        let mutex = MutexGuard::mutex(guard);
        // SAFETY: the guard stands for a lock that is held, and `wait_raw` returns with it held, by this thread.
        let raw = unsafe { mutex.raw() };
        self.wait_raw(raw, deadline)
    }

    /// Called with `mutex` held. Compiled once, whatever the data.
    fn wait_raw(&self, mutex: &RawMutex, deadline: Deadline) -> WaitTimeoutResult {
        // If this panics, the guard is dropped with the mutex held, which is as it should be.
        self.room.enter(mutex);
        let mutex = &mutex.0;
        let is_late = match deadline {
            Deadline::Never => {
                // SAFETY: the caller holds the lock.
                unsafe { self.raw.wait(mutex) };
                false
            }
            // SAFETY: as above.
            Deadline::In(timeout) => unsafe { self.raw.wait_for(mutex, timeout) }.timed_out(),
            // SAFETY: as above.
            Deadline::At(timeout) => unsafe { self.raw.wait_until(mutex, timeout) }.timed_out(),
        };
        if is_late {
            self.room.leave();
        }
        WaitTimeoutResult(is_late)
    }
}

impl Default for Condvar {
    #[inline]
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}
