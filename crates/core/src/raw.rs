//! The traits of the locks: what each can do, and what code outside may ask of it.

use crate::Platform;
use core::fmt;

/// A lock without data.
///
/// # Fairness, blocking
/// The header of each algorithm's file states both. Its [`Entry`](crate::Entry) has them in short.
pub trait RawLock: Sized + Send + Sync + 'static {
    /// The machine that the lock runs on.
    type Platform: Platform;

    /// What this lock is, in short.
    const ENTRY: crate::Entry;

    /// Whether the lock has a small form, and takes on a large one for good once it is contended.
    const HAS_LARGE_FORM: bool = false;

    /// Makes a free lock. On hardware, the algorithms also have a `const` constructor.
    fn new() -> Self;

    /// Makes one attempt to acquire the lock. Never waits. It may fail only if the lock is seen taken.
    fn try_acquire(&self) -> bool;

    /// Acquires the lock. Waits while another thread holds it.
    fn acquire(&self);

    /// Releases the lock.
    ///
    /// If the lock's entry promises `free_after_release`, nothing touches the lock's memory after the write that lets
    /// the next thread in. So that thread may free the lock.
    ///
    /// # Safety
    /// The calling thread holds the lock.
    unsafe fn release(&self);

    /// Whether some thread sleeps in the lock, or `None` if the algorithm cannot tell.
    ///
    /// This is for tests and workloads. The answer may be out of date as soon as it is returned.
    fn shows_sleeper(&self) -> Option<bool> {
        None
    }

    /// Gives the lock its large form, if it has one. This is for measurements and tests.
    fn inflate(&self) {}

    /// Whether the lock is free and no flag of contention is left. True after the last release. A release counter may
    /// have any value.
    fn is_at_rest(&self) -> bool;
}

/// A lock whose acquisition can be given up.
pub trait RawTimedLock: RawLock {
    /// Acquires the lock, and waits at most until the platform's monotonic clock has reached `deadline_ns`.
    ///
    /// Returns whether the calling thread has the lock. This may be true after the deadline, if the lock came at that
    /// moment.
    fn try_acquire_until(&self, deadline_ns: u64) -> bool;
}

/// A lock that its holder may acquire again, and inside which a thread may wait for another one's pulse.
///
/// The threads that wait for a pulse are in a queue, first in, first out. The contenders for the lock are not in it.
pub trait RawMonitor: RawTimedLock {
    /// Whether the calling thread holds the lock.
    fn is_held(&self) -> bool;

    /// Releases the lock, waits for a pulse, and acquires the lock again.
    ///
    /// It releases all levels, however often the caller has acquired the lock, and acquires as many again. The wait
    /// also ends when the platform's monotonic clock has reached `deadline_ns`. Returns true if a pulse ended it.
    fn wait(&self, deadline_ns: Option<u64>) -> Result<bool, NotHeld>;

    /// Ends the wait of the thread that has waited longest. This thread then wants the lock. Returns false if nobody
    /// waits.
    fn pulse(&self) -> Result<bool, NotHeld>;

    /// Ends the waits of all threads that wait now, and returns their number.
    fn pulse_all(&self) -> Result<usize, NotHeld> {
        let mut n_pulsed = 0;
        // Ended by an empty queue: nobody joins it while the caller holds the lock.
        while self.pulse()? {
            n_pulsed += 1;
        }
        Ok(n_pulsed)
    }
}

/// The error of a wait or a pulse: the calling thread does not hold the monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotHeld;

impl fmt::Display for NotHeld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the calling thread does not hold the monitor; acquire it before you wait or pulse")
    }
}

impl core::error::Error for NotHeld {}
