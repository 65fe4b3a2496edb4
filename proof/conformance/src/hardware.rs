//! This machine as a [`Harness`], and two small tools of the stress tests.

use crate::harness::{CheckedCell, Harness, Job};
use core::cell::UnsafeCell;
use ondeck_core::{Hardware, Platform};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Real threads.
#[derive(Debug)]
pub struct HardwareHarness;

/// A plain number. Without exclusion updates get lost, and ThreadSanitizer reports the race.
pub struct HardwareCell(UnsafeCell<u64>);

// SAFETY: access goes through `update`, whose caller holds the lock under test. If that lock is broken this is a data
// race: the test program misbehaves, which is what it is for.
unsafe impl Sync for HardwareCell {}

impl CheckedCell for HardwareCell {
    fn new(value: u64) -> Self {
        HardwareCell(UnsafeCell::new(value))
    }

    unsafe fn update(&self, change: impl FnOnce(u64) -> u64) -> u64 {
        // SAFETY: the caller is alone here.
        let before = unsafe { *self.0.get() };
        let after = change(before);
        // SAFETY: the caller is still alone here.
        unsafe { *self.0.get() = after };
        after
    }

    unsafe fn read(&self) -> u64 {
        // SAFETY: nobody writes here now.
        let looks = [(); 2].map(|()| unsafe { self.0.get().read_volatile() });
        assert_eq!(looks[0], looks[1], "somebody writes beside a reader");
        looks[0]
    }
}

impl Harness for HardwareHarness {
    type Platform = Hardware;
    type Cell = HardwareCell;

    fn run(jobs: Vec<Job>) {
        // All begin together: a thread takes longer to start than most jobs take to run. Counted in an atomic, since
        // ThreadSanitizer cannot see into the standard library's barrier.
        let missing = Arc::new(AtomicUsize::new(jobs.len()));
        let begin = |job: Job| {
            let missing = missing.clone();
            std::thread::spawn(move || {
                missing.fetch_sub(1, Relaxed);
                while missing.load(Relaxed) > 0 {
                    Hardware::yield_now();
                }
                job();
            })
        };
        let threads: Vec<_> = jobs.into_iter().map(begin).collect();
        for thread in threads {
            thread.join().expect("a thread of the property panicked");
        }
    }

    unsafe fn free<T: 'static>(object: *mut T) {
        // SAFETY: the caller has the last reference to what `Box::into_raw` gave.
        drop(unsafe { Box::from_raw(object) });
    }
}

/// A stream of random numbers: one per thread, no shared state.
#[derive(Clone, Debug)]
pub struct Random(ondeck_sim::Random);

impl Random {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Self {
        Random(ondeck_sim::Random::new(seed))
    }

    /// A number from 0 to `bound - 1`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.next() % bound
    }
}

/// Runs `body`. Ends the whole process, with the name of its test, if that takes longer than `limit`: the only way out of a
/// lost wake-up.
pub fn within<R>(limit: Duration, what: &str, body: impl FnOnce() -> R) -> R {
    let (done, watch) = channel::<()>();
    let test = std::thread::current().name().unwrap_or("a thread").to_owned();
    let what = what.to_owned();
    let watchdog = std::thread::spawn(move || {
        if watch.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            let words = format!("{test}: {what}: no end after {limit:?}; a wake-up is lost, or a thread cannot run\n");
            // What is printed by macros is kept by the test runner, and lost with the process.
            let _ = std::io::stderr().write_all(words.as_bytes());
            std::process::abort();
        }
    });
    let result = body();
    drop(done);
    watchdog.join().expect("the watchdog does not panic");
    result
}
