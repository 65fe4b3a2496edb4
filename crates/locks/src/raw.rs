//! What every lock here can do, and what may be asked of it from outside.

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
