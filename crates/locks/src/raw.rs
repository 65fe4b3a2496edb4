//! What every lock here can do, and what may be asked of it from outside.

use core::fmt;
use ondeck_platform::Platform;

/// A lock without data.
///
/// # Fairness, blocking
/// Stated in the header of each algorithm's file, and in short in its [`Entry`](crate::Entry).
pub trait RawLock: Sized + Send + Sync + 'static {
    /// The machine it runs on.
    type Platform: Platform;

    /// The lock's row in the table of all locks.
    const ENTRY: crate::Entry;

    /// A free lock. Algorithms on hardware have a `const` constructor too.
    fn new() -> Self;

    /// Makes one attempt and never waits. May fail only if the lock is seen taken.
    fn try_acquire(&self) -> bool;

    /// Waits until the lock is the caller's.
    fn acquire(&self);

    /// Gives the lock up. Where the entry promises `free_after_release`, nothing touches the lock's memory after the
    /// write that lets the next thread in, so that thread may free it.
    ///
    /// # Safety
    /// The calling thread holds the lock.
    unsafe fn release(&self);

    /// Whether some thread sleeps in the lock; `None` where the algorithm cannot tell. For tests and workloads: the
    /// answer is stale at once.
    fn shows_sleeper(&self) -> Option<bool> {
        None
    }

    /// Whether no flag of contention is left: true after the last release. A release counter may differ.
    fn is_at_rest(&self) -> bool;
}

/// A lock whose acquisition can be given up.
pub trait RawTimedLock: RawLock {
    /// Waits until the lock is the caller's, which gives true, or until the platform's monotonic clock has reached
    /// `deadline_ns`, which gives false. May give true after the deadline if the lock came at that moment.
    fn try_acquire_until(&self, deadline_ns: u64) -> bool;
}

/// A lock that its holder may acquire again, and inside which a thread may wait for another to tell it something.
///
/// Threads that wait stand in a queue, first in first out, beside the contenders for the lock.
pub trait RawMonitor: RawTimedLock {
    /// Whether the calling thread holds the lock.
    fn is_held(&self) -> bool;

    /// Releases the lock, however often the caller has acquired it, sleeps until a pulse or until the platform's monotonic
    /// clock has reached `deadline_ns`, and acquires the lock as often as before. True if it was a pulse.
    fn wait(&self, deadline_ns: Option<u64>) -> Result<bool, NotHeld>;

    /// Ends the wait of the thread that has waited longest, which then wants the lock. False if nobody waits.
    fn pulse(&self) -> Result<bool, NotHeld>;

    /// Ends the wait of all threads that wait now; tells how many they were.
    fn pulse_all(&self) -> Result<usize, NotHeld> {
        let mut n_pulsed = 0;
        // Ended by an empty queue: nobody joins it while the caller holds the lock.
        while self.pulse()? {
            n_pulsed += 1;
        }
        Ok(n_pulsed)
    }

    /// Gives the lock its large form, if it has a small one too and has that now. It would happen by itself under
    /// contention; for measurements and tests.
    fn inflate(&self);
}

/// The calling thread does not hold the monitor that it wants to wait in or to pulse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotHeld;

impl fmt::Display for NotHeld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the calling thread does not hold the monitor; acquire it before you wait or pulse")
    }
}

impl core::error::Error for NotHeld {}
