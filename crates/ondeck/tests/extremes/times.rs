//! Times at their ends, and waits that last for those that are far away. Another crate's tests use this too.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

/// The last that can be.
fn last_instant() -> Instant {
    (0..63).rev().fold(Instant::now(), |last, bit| last.checked_add(Duration::from_secs(1 << bit)).unwrap_or(last))
}

/// A lock counts in nanoseconds of 64 bits from some moment on, the system in seconds.
pub(crate) fn long() -> Vec<Duration> {
    let (end, one) = (Duration::from_nanos(u64::MAX), Duration::from_nanos(1));
    let mut all = vec![Duration::MAX, Duration::MAX - one, end, end + one, end - one];
    all.extend([30, 100, 1_000_000, 1_000_000_000].map(|days| Duration::from_secs(days * 86_400)));
    all.extend([i64::MAX as u64, i64::MAX as u64 + 1, i64::MAX as u64 / 1_000_000_000].map(Duration::from_secs));
    // Near to where the sum with the time since the system's start overflows.
    all.extend([1, 60, 3_600, 86_400, 864_000].map(|seconds| end - Duration::from_secs(seconds)));
    all
}

pub(crate) fn far() -> Vec<Instant> {
    let now = Instant::now();
    long().into_iter().filter_map(|time| now.checked_add(time)).chain([last_instant()]).collect()
}

pub(crate) fn past() -> Vec<Instant> {
    let now = Instant::now();
    let ages = [0, 1, 1_000_000, u64::MAX].map(Duration::from_nanos);
    ages.into_iter().chain([Duration::MAX]).filter_map(|age| now.checked_sub(age)).collect()
}

pub(crate) fn short() -> Vec<Duration> {
    [0, 1, 2, 999, 1_000_000].map(Duration::from_nanos).to_vec()
}

/// Runs each wait in a thread of its own: none is over before `end` is called, and all are true soon after.
pub(crate) fn all_last_until(waits: Vec<Box<dyn Fn() -> bool + Send + '_>>, end: impl FnOnce()) {
    let (n_begun, n_over) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
    thread::scope(|scope| {
        let threads: Vec<_> = waits
            .into_iter()
            .map(|wait| {
                scope.spawn(move || {
                    n_begun.fetch_add(1, SeqCst);
                    let is_well = wait();
                    n_over.fetch_add(1, SeqCst);
                    is_well
                })
            })
            .collect();
        while n_begun.load(SeqCst) < threads.len() {
            thread::yield_now();
        }
        thread::sleep(Duration::from_millis(50));
        let n_early = n_over.load(SeqCst);
        end();
        let are_well: Vec<bool> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert_eq!(n_early, 0, "over before they were ended");
        assert!(are_well.iter().all(|&is_well| is_well), "{are_well:?}");
    });
}
