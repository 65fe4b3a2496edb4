//! What a property needs of the harness it is run in, besides the lock's platform.

use ondeck_core::CoreCounters;

/// What one thread of a property does.
pub type Job = Box<dyn FnOnce() + Send>;

/// What a thread panics with that ends in its sleep, where the harness lets threads do so.
#[derive(Clone, Copy, Debug)]
pub struct EndInSleep;

/// A place where locks can be run and watched.
pub trait Harness: 'static {
    /// The platform that locks have here.
    type Platform: CoreCounters;
    /// Data that only the lock protects.
    type Cell: CheckedCell;

    /// Whether locks are quiet before the jobs begin: where they become so with the second release.
    const STARTS_QUIET: bool = false;

    /// Runs all jobs, each on a thread of its own, and returns when the last has finished.
    fn run(jobs: Vec<Job>);

    /// Drops what `object` points to and gives its memory back, or makes later accesses noticed.
    ///
    /// # Safety
    /// `object` came from `Box::into_raw`, and the caller has the last reference.
    unsafe fn free<T: 'static>(object: *mut T);
}

/// A number without any synchronisation of its own, in a place where the harness notices unsynchronised access.
pub trait CheckedCell: Send + Sync + 'static {
    /// A cell that holds `value`.
    fn new(value: u64) -> Self;

    /// Replaces the value by `change` of it and returns the new one.
    ///
    /// # Safety
    /// The lock under test claims that the calling thread is alone here. A lock that lies causes a data race, which
    /// the modelled harnesses report and which on hardware shows as a lost update.
    unsafe fn update(&self, change: impl FnOnce(u64) -> u64) -> u64;

    /// Reads the value, beside others that do.
    ///
    /// # Safety
    /// The lock under test claims that nobody replaces the value meanwhile. One that lies is noticed as in `update`.
    unsafe fn read(&self) -> u64;
}
